//! Vectors of the memories' meanings, by slot, and the file that keeps them: making one takes some twenty microseconds,
//! reading one a tenth of one.
//!
//! A record is the hash of the analysed text, a checksum, a scale, the components and a newline, each file for one
//! table. A record that does not fit its checksum is passed over; a file that does not end with a whole one is written
//! anew.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::embedding::{Model, Vector, products};
use crate::error::Result;
use crate::files::{self, Appender, Lock};
use crate::lexical::Slot;

/// Bytes of a record beside the components: hash, checksum, scale, newline.
const FRAME: usize = 17;
/// Goes up with what of a memory is turned into a vector.
const MEANT_VERSION: u32 = 2;
/// Records of what is gone that are not worth writing the file anew.
const SLACK: usize = 1_000;
/// Marks a slot whose vector is not known.
const UNKNOWN: f32 = -1.0;

/// Vectors by slot.
#[derive(Debug, Default)]
pub struct Vectors {
    dimensions: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
    known: usize,
}

impl Vectors {
    /// An empty table of vectors.
    pub fn new(dimensions: usize) -> Self {
        Vectors { dimensions, ..Vectors::default() }
    }

    /// Sets the vector of a slot. One of other dimensions is passed over.
    pub fn set(&mut self, slot: Slot, scale: f32, values: impl ExactSizeIterator<Item = i8>) {
        if values.len() != self.dimensions || self.dimensions == 0 {
            return;
        }
        let (place, start) = (slot as usize, slot as usize * self.dimensions);
        if place >= self.scales.len() {
            self.scales.resize(place + 1, UNKNOWN);
            self.values.resize(start + self.dimensions, 0);
        }
        self.known += usize::from(self.scales[place] < 0.0);
        self.scales[place] = scale;
        for (own, value) in self.values[start..start + self.dimensions].iter_mut().zip(values) {
            *own = value;
        }
    }

    /// Forgets the vector of a slot.
    pub fn remove(&mut self, slot: Slot) {
        if let Some(scale) = self.scales.get_mut(slot as usize) {
            self.known -= usize::from(*scale >= 0.0);
            *scale = UNKNOWN;
            let start = slot as usize * self.dimensions;
            self.values[start..start + self.dimensions].fill(0);
        }
    }

    /// The vector of a slot, where it is known.
    pub fn get(&self, slot: Slot) -> Option<(f32, &[i8])> {
        let scale = *self.scales.get(slot as usize)?;
        let start = slot as usize * self.dimensions;
        (scale >= 0.0).then(|| (scale, &self.values[start..start + self.dimensions]))
    }

    /// Whether the vector of a slot is known.
    #[inline]
    pub fn is_known(&self, slot: Slot) -> bool {
        self.scales.get(slot as usize).is_some_and(|scale| *scale >= 0.0)
    }

    /// How many are known.
    pub fn known(&self) -> usize {
        self.known
    }

    /// The cosine of each with `asked`, in the order of the slots; [`f32::NAN`] for what is not known, none at all for a
    /// vector of other dimensions.
    pub fn cosines(&self, asked: &Vector) -> Vec<f32> {
        let is_comparable = asked.values.len() == self.dimensions;
        let products = if is_comparable { products(&self.values, &asked.values) } else { Vec::new() };
        let cosine = |(product, scale): (i32, &f32)| {
            if *scale < 0.0 { f32::NAN } else { product as f32 * scale * asked.scale }
        };
        products.into_iter().zip(&self.scales).map(cosine).collect()
    }
}

/// The file with the vectors of one table.
#[derive(Debug)]
pub struct VectorFile {
    path: PathBuf,
    dimensions: usize,
}

/// What is to be saved.
#[derive(Debug)]
pub struct Lacking {
    known: Cached,
    /// Starts of the records that are still of use.
    kept: Vec<usize>,
    /// Records that are not in the file.
    new: Vec<u8>,
}

/// What was read of it.
#[derive(Debug, Default)]
pub struct Cached {
    bytes: Vec<u8>,
    size: usize,
    /// Start of the record of each hash.
    places: HashMap<u64, usize>,
}

impl Cached {
    /// The vector of an analysed text: scale and components.
    pub fn get(&self, hash: u64) -> Option<(f32, impl ExactSizeIterator<Item = i8>)> {
        let start = *self.places.get(&hash)?;
        let (scale, values) = parts(self.bytes.get(start..start + self.size)?)?;
        Some((scale, values.iter().map(|value| value.cast_signed())))
    }

    /// Records, those of the same text counted once.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// Scale and components of a record.
fn parts(record: &[u8]) -> Option<(f32, &[u8])> {
    let scale = f32::from_le_bytes(record.get(12..16)?.try_into().ok()?);
    Some((scale, record.get(16..record.len() - 1)?))
}

fn checksum(record: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&record[..8]), &record[12..record.len() - 1])
}

impl VectorFile {
    /// The file of a table in the folder of what is derived.
    pub fn new(cache: &Path, model: &Model) -> Self {
        let path = cache.join(format!("vectors-{MEANT_VERSION}-{}", model.id()));
        VectorFile { path, dimensions: model.dimensions() }
    }

    fn size(&self) -> usize {
        self.dimensions + FRAME
    }

    /// Reads all records whose checksum is right. What cannot be read is no error: vectors can be made anew.
    pub fn read(&self) -> Cached {
        let bytes = files::read_if_there(&self.path).ok().flatten().unwrap_or_default();
        let size = self.size();
        let mut places = HashMap::new();
        for (number, record) in bytes.chunks_exact(size).enumerate() {
            let (Ok(hash), Ok(sum)) = (record[..8].try_into(), record[8..12].try_into()) else { continue };
            if u32::from_le_bytes(sum) == checksum(record) {
                places.insert(u64::from_le_bytes(hash), number * size);
            }
        }
        Cached { bytes, size, places }
    }

    fn record(&self, hash: u64, scale: f32, values: &[i8]) -> Vec<u8> {
        let mut record = Vec::with_capacity(self.size());
        record.extend(hash.to_le_bytes());
        record.extend([0; 4]);
        record.extend(scale.to_le_bytes());
        record.extend(values.iter().map(|value| value.cast_unsigned()));
        record.push(b'\n');
        let sum = checksum(&record);
        record[8..12].copy_from_slice(&sum.to_le_bytes());
        record
    }

    /// What of `all` (hash, scale, components) the file lacked when `known` was read.
    pub fn lacking<'a>(&self, known: Cached, all: impl Iterator<Item = (u64, f32, &'a [i8])>) -> Lacking {
        let mut lacking = Lacking { known, kept: Vec::new(), new: Vec::new() };
        for (hash, scale, values) in all {
            match lacking.known.places.get(&hash) {
                Some(start) => lacking.kept.push(*start),
                None => lacking.new.extend(self.record(hash, scale, values)),
            }
        }
        lacking
    }

    /// Appends what was lacking; writes the file anew where much of it is of no use any more. Nothing happens while
    /// another process is at it, or was in between.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io): nothing is lost but time.
    pub fn save(&self, lacking: Lacking) -> Result<()> {
        let Lacking { known, kept, new } = lacking;
        let (size, length) = (self.size(), known.bytes.len());
        let is_whole = length % size == 0 && known.bytes.last().is_none_or(|last| *last == b'\n');
        let count = kept.len() + new.len() / size;
        let is_lean = is_whole && length / size <= 2 * count + SLACK;
        if is_lean && new.is_empty() {
            return Ok(());
        }
        let Some(folder) = self.path.parent() else { return Ok(()) };
        files::create_folder(folder)?;
        let Some(_lock) = Lock::try_acquire(&folder.join("vectors.lock"))? else { return Ok(()) };
        let now = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if now != length as u64 {
            return Ok(());
        }
        if is_lean {
            return Appender::open(&self.path)?.append(&new, false);
        }
        let mut bytes = Vec::with_capacity(count * size);
        for start in kept {
            bytes.extend_from_slice(&known.bytes[start..start + size]);
        }
        bytes.extend(new);
        files::write_atomic(&self.path, &bytes)
    }

    /// Removes the files of all tables: what was purged leaves no vector.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io).
    pub fn remove_all(cache: &Path) -> Result<()> {
        let Ok(entries) = files::read_dir(cache) else { return Ok(()) };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("vectors-")) {
                files::remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests damage files")]

    use super::*;

    fn file(folder: &Path) -> VectorFile {
        VectorFile { path: folder.join("cache/vectors-x"), dimensions: 4 }
    }

    fn save<'a>(file: &VectorFile, all: impl Iterator<Item = (u64, f32, &'a [i8])>) {
        file.save(file.lacking(file.read(), all)).unwrap();
    }

    fn read(file: &VectorFile, hash: u64) -> Option<(f32, Vec<i8>)> {
        let cached = file.read();
        cached.get(hash).map(|(scale, values)| (scale, values.collect()))
    }

    #[test]
    fn vectors_follow_their_slots() {
        let mut vectors = Vectors::new(4);
        vectors.set(2, 0.5, [1, 2, 3, -4].into_iter());
        vectors.set(0, 0.0, [0; 4].into_iter());
        vectors.set(1, 0.5, [1, 2].into_iter());
        assert_eq!(vectors.get(2), Some((0.5, &[1, 2, 3, -4][..])));
        assert_eq!((vectors.get(0), vectors.get(1), vectors.get(9)), (Some((0.0, &[0; 4][..])), None, None));
        let asked = Vector { scale: 0.5, values: Box::new([2, 0, 0, 0]) };
        let cosines = vectors.cosines(&asked);
        assert_eq!((cosines[0], cosines[1].is_nan(), cosines[2], cosines.len()), (0.0, true, 0.5, 3));
        assert!(vectors.cosines(&Vector { scale: 1.0, values: Box::new([1]) }).is_empty());
        assert_eq!(vectors.known(), 2);
        vectors.remove(2);
        vectors.remove(7);
        assert_eq!((vectors.get(2), vectors.known()), (None, 1));
        assert!(vectors.cosines(&asked)[2].is_nan());
        let none = Vectors::default();
        assert_eq!((none.get(0), none.cosines(&asked).len()), (None, 0));
    }

    #[test]
    fn what_was_saved_is_read_and_damage_costs_only_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        assert!(file.read().is_empty());
        let first = [(1, 0.5, &[1, -2, 3, 4][..]), (2, 0.25, &[10, 13, 0, -128])];
        save(&file, first.into_iter());
        save(&file, first.into_iter().chain([(3, 1.0, &[0, 0, 0, 1][..])]));
        assert_eq!(std::fs::metadata(&file.path).unwrap().len(), 3 * 21);
        assert_eq!(read(&file, 1), Some((0.5, vec![1, -2, 3, 4])));
        assert_eq!((read(&file, 3), read(&file, 4)), (Some((1.0, vec![0, 0, 0, 1])), None));
        let whole = std::fs::read(&file.path).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            std::fs::write(&file.path, &bytes).unwrap();
            let is_newline = place % 21 == 20;
            assert_eq!(file.read().len(), if is_newline { 3 } else { 2 }, "{place}");
        }
        // A record that was cut off: the file is written anew.
        std::fs::write(&file.path, &whole[..30]).unwrap();
        assert_eq!(file.read().len(), 1);
        save(&file, first.into_iter());
        assert_eq!(std::fs::read(&file.path).unwrap(), whole[..42]);
        VectorFile::remove_all(&folder.path().join("cache")).unwrap();
        assert!(file.read().is_empty());
    }

    #[test]
    fn a_file_full_of_what_is_gone_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        let values = [1i8, 2, 3, 4];
        save(&file, (0..1_500).map(|hash| (hash, 1.0, &values[..])));
        save(&file, (0..10).map(|hash| (hash, 1.0, &values[..])));
        assert_eq!(file.read().len(), 10);
    }

    #[test]
    fn one_process_writes_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        files::create_folder(&folder.path().join("cache")).unwrap();
        let lock = Lock::try_acquire(&folder.path().join("cache/vectors.lock")).unwrap();
        save(&file, [(1, 1.0, &[1i8, 2, 3, 4][..])].into_iter());
        assert!(file.read().is_empty());
        drop(lock);
        save(&file, [(1, 1.0, &[1i8, 2, 3, 4][..])].into_iter());
        assert_eq!(file.read().len(), 1);
    }
}
