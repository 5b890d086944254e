//! Reading the journals without a lock: complete lines from where the last reading ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::codec::{self, Fault, MARK, Read};
use crate::clock::{DAY_MS, Timestamp};
use crate::error::{Error, Result};
use crate::files::{self, OpenFile};
use crate::memory::{Compacted, Line, Op};

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// A line that could not be read: where it is and why. Its bytes stay where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The journal file.
    pub path: PathBuf,
    /// Its line, counted from 1.
    pub line: u64,
    /// Where it begins, bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub why: &'static str,
    /// Whether a newer Ebbmark wrote it.
    pub is_newer: bool,
    /// Whether it says nothing: a mark of an editor.
    pub is_empty: bool,
}

impl BadLine {
    pub(super) fn of(path: &Path, line: u64, offset: u64, fault: Fault) -> Self {
        BadLine {
            path: path.to_owned(),
            line,
            offset,
            why: fault.as_str(),
            is_newer: fault == Fault::Newer,
            is_empty: fault == Fault::ByteOrderMark,
        }
    }
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The journal file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
    /// Whether its mode, or that of a folder above, is in the way.
    pub is_denied: bool,
}

/// Whose a file is that does not say so.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// A line as read, and whose it is.
#[derive(Debug)]
pub struct Told {
    /// The line.
    pub line: Line,
    /// The replica that wrote it.
    pub replica: String,
    /// Its number, or its place in the file where it was written by hand.
    pub number: u64,
    /// Its checksum.
    pub crc: u32,
}

/// How far one file was read.
#[derive(Debug, Default)]
struct FileTail {
    replica: String,
    offset: u64,
    /// The last bytes read: if they are not there any more, the file is another one.
    mark: Vec<u8>,
    lines: u64,
    /// The last line read has no newline yet.
    is_unended: bool,
    greatest_number: u64,
    /// Number and time of the first line, if it is the journal's own.
    begun: Option<(u64, Timestamp)>,
    /// The latest time that a numbered line says it was written.
    newest: Option<Timestamp>,
    /// Lines whose operation is not known.
    unknown: u64,
    bad: Vec<BadLine>,
}

/// How the journals changed since they were last read.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing new.
    None,
    /// Some files grew, or came.
    Added,
    /// A file was replaced, cut back or removed: everything must be read again.
    Replaced,
}

/// How far all journals of a folder were read.
#[derive(Debug)]
pub(super) struct Tails {
    folder: PathBuf,
    files: BTreeMap<PathBuf, FileTail>,
    /// Greatest order read that is not from the future.
    order: i64,
    /// Greatest order read.
    newest_order: i64,
    has_read: bool,
    /// Lines read whose stamp is more than a day ahead.
    future_lines: u64,
    /// Files that could not be read at the last reading, and why.
    unreadable: Vec<Unreadable>,
    /// Greatest number ever read of each replica, whatever became of its files since.
    had: BTreeMap<String, u64>,
}

impl Tails {
    pub(super) fn new(folder: PathBuf) -> Self {
        Tails {
            folder,
            files: BTreeMap::new(),
            order: i64::MIN,
            newest_order: i64::MIN,
            has_read: false,
            future_lines: 0,
            unreadable: Vec::new(),
            had: BTreeMap::new(),
        }
    }

    pub(super) fn journals(&self) -> Result<Vec<PathBuf>> {
        Ok(self.listed()?.into_iter().filter(|(_, is_file)| *is_file).map(|(path, _)| path).collect())
    }

    /// What is named like a journal and is none: folders, pipes, sockets, devices.
    pub(super) fn no_files(&self) -> Result<Vec<PathBuf>> {
        Ok(self.listed()?.into_iter().filter(|(_, is_file)| !is_file).map(|(path, _)| path).collect())
    }

    /// All that is named like a journal, and whether it is a file or a link that may lead to one. Nothing else is ever
    /// opened: a pipe would keep every reader waiting.
    fn listed(&self) -> Result<Vec<(PathBuf, bool)>> {
        let entries = match files::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("list", &self.folder)(error)),
        };
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("list", &self.folder))?;
            let path = entry.path();
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden || path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let is_file = match entry.file_type() {
                // Where the link leads nowhere, reading it says so.
                Ok(kind) if kind.is_symlink() => std::fs::metadata(&path).map_or(true, |facts| facts.is_file()),
                Ok(kind) => kind.is_file(),
                Err(_) => path.is_file(),
            };
            listed.push((path, is_file));
        }
        Ok(listed)
    }

    /// Looks whether anything changed since the last reading. Some microseconds a file.
    pub(super) fn look(&self) -> Result<Change> {
        if !self.has_read {
            return Ok(Change::Replaced);
        }
        let paths = self.journals()?;
        if self.files.keys().any(|known| !paths.contains(known)) {
            return Ok(Change::Replaced);
        }
        let mut change = Change::None;
        for path in paths {
            let Some(tail) = self.files.get(&path) else {
                change = Change::Added;
                continue;
            };
            // A file that cannot be read now costs only itself; one that vanished means that all is read again.
            let mut file = match files::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound && tail.offset > 0 => return Ok(Change::Replaced),
                Err(_) => continue,
            };
            let Ok(length) = file.metadata().map(|facts| facts.len()) else { continue };
            let is_same = length >= tail.offset && tail.is_marked(&mut file).unwrap_or(true);
            if !is_same && tail.compacted(&mut file).is_none() {
                return Ok(Change::Replaced);
            }
            if !is_same || length > tail.offset {
                change = Change::Added;
            }
        }
        Ok(change)
    }

    /// Forgets how far was read, so that everything is read again.
    pub(super) fn restart(&mut self) {
        let had = std::mem::take(&mut self.had);
        *self = Tails { had, ..Tails::new(std::mem::take(&mut self.folder)) };
    }

    /// Reads what is new and hands each line to `fold`. `false` where a file was replaced meanwhile: then everything
    /// must be read again.
    pub(super) fn read(&mut self, now: Timestamp, mut fold: impl FnMut(Told)) -> Result<bool> {
        self.unreadable.clear();
        let mut is_same = true;
        for path in self.journals()? {
            let mut tail = self.files.remove(&path).unwrap_or_default();
            let read = tail.read(&path, |told| {
                let order = told.line.order();
                self.newest_order = self.newest_order.max(order);
                if order <= now.millis() + DAY_MS {
                    self.order = self.order.max(order);
                } else {
                    self.future_lines += 1;
                }
                fold(told);
            });
            match read {
                Ok(still) => is_same &= still,
                Err(error) => {
                    let is_denied =
                        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied);
                    self.unreadable.push(Unreadable { path: path.clone(), why: error.to_string(), is_denied });
                }
            }
            if tail.greatest_number > 0 {
                let had = self.had.entry(tail.replica.clone()).or_default();
                *had = tail.greatest_number.max(*had);
            }
            self.files.insert(path, tail);
        }
        self.has_read = true;
        Ok(is_same)
    }

    /// Files that could not be read at the last reading, and why.
    pub(super) fn unreadable(&self) -> Vec<Unreadable> {
        self.unreadable.clone()
    }

    /// Whether the file was read to its last whole line.
    pub(super) fn has_read_all(&self, path: &Path, file: &OpenFile) -> Result<bool> {
        let nothing = FileTail::default();
        let tail = self.files.get(path).unwrap_or(&nothing);
        let rest = file.read_from(tail.offset - tail.mark.len() as u64)?;
        Ok(rest.strip_prefix(tail.mark.as_slice()).is_some_and(|unread| !unread.contains(&b'\n')))
    }

    /// The first line of the file that a newer Ebbmark wrote.
    pub(super) fn newer_line(&self, path: &Path) -> Option<u64> {
        let bad = self.files.get(path)?.bad.iter();
        bad.filter(|line| line.is_newer).map(|line| line.line).next()
    }

    /// Greatest order read so far that is not more than a day ahead.
    pub(super) fn order(&self) -> i64 {
        self.order
    }

    /// Greatest order read so far.
    pub(super) fn newest_order(&self) -> i64 {
        self.newest_order
    }

    /// When the newest numbered line of that replica was written, by its own clock.
    pub(super) fn newest_line_of(&self, replica: &str) -> Option<Timestamp> {
        self.files.values().filter(|tail| tail.replica == replica).filter_map(|tail| tail.newest).max()
    }

    /// Greatest line number of that replica in any file.
    pub(super) fn greatest_number(&self, replica: &str) -> u64 {
        let own = self.files.values().filter(|tail| tail.replica == replica);
        own.map(|tail| tail.greatest_number).max().unwrap_or(0)
    }

    /// Greatest line number of that replica that was ever read, also from files that are gone.
    pub(super) fn had(&self, replica: &str) -> u64 {
        self.had.get(replica).copied().unwrap_or(0)
    }

    /// Replicas of which lines were read and no file has any now.
    pub(super) fn vanished(&self) -> Vec<String> {
        self.had.keys().filter(|replica| self.greatest_number(replica) == 0).cloned().collect()
    }

    /// With which number, and when, the oldest file of that replica was begun, as far as files say.
    pub(super) fn begun(&self, replica: &str) -> Option<(u64, Timestamp)> {
        self.files.values().filter(|tail| tail.replica == replica).filter_map(|tail| tail.begun).min()
    }

    /// Lines that could not be read.
    pub(super) fn bad_lines(&self) -> Vec<BadLine> {
        self.files.values().flat_map(|tail| tail.bad.iter().cloned()).collect()
    }

    /// Lines whose stamp is more than a day ahead of the clock.
    pub(super) fn future_lines(&self) -> u64 {
        self.future_lines
    }

    /// How far the file was read, bytes, and how many lines.
    pub(super) fn extent(&self, path: &Path) -> (u64, u64) {
        self.files.get(path).map_or((0, 0), |tail| (tail.offset, tail.lines))
    }

    /// Files with lines whose operation is not known, and how many those are.
    pub(super) fn unknown(&self) -> Vec<(PathBuf, u64)> {
        let with = self.files.iter().filter(|(_, tail)| tail.unknown > 0);
        with.map(|(path, tail)| (path.clone(), tail.unknown)).collect()
    }

    /// Files whose last line was read without a newline, and which line that is.
    pub(super) fn unended(&self) -> Vec<(PathBuf, u64)> {
        let unended = self.files.iter().filter(|(_, tail)| tail.is_unended);
        unended.map(|(path, tail)| (path.clone(), tail.lines)).collect()
    }

    /// Files read, with their replica, bytes and lines.
    pub(super) fn files(&self) -> Vec<(PathBuf, String, u64, u64)> {
        self.files.iter().map(|(path, tail)| (path.clone(), tail.replica.clone(), tail.offset, tail.lines)).collect()
    }
}

impl FileTail {
    fn is_marked(&self, file: &mut File) -> std::io::Result<bool> {
        let mut there = vec![0; self.mark.len()];
        file.seek(SeekFrom::Start(self.offset - self.mark.len() as u64))?;
        match file.read_exact(&mut there) {
            Ok(()) => Ok(there == self.mark),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where this tail stands in the file that compaction made of the one it was reading; `None` where the file is
    /// another one, or where more was compacted than was read.
    fn compacted(&self, file: &mut File) -> Option<FileTail> {
        let mut first = Vec::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        BufReader::new(&*file).take(codec::MAX_LINE as u64).read_until(b'\n', &mut first).ok()?;
        let compacted = codec::parse(first.trim_ascii()).ok()?.line.compacted?;
        let Compacted { bytes_before, bytes_after, lines_before, lines_after, mark } = compacted;
        if mark.is_empty() {
            return None;
        }
        let read_since = self.offset.checked_sub(bytes_before)?;
        let offset = (first.len() as u64).checked_add(bytes_after)?.checked_add(read_since)?;
        let moved = FileTail {
            replica: self.replica.clone(),
            offset,
            mark: self.mark.clone(),
            is_unended: self.is_unended,
            lines: lines_after.checked_add(self.lines.checked_sub(lines_before)?)?,
            greatest_number: self.greatest_number,
            begun: self.begun,
            newest: self.newest,
            unknown: self.unknown,
            bad: Vec::new(),
        };
        if read_since == 0 {
            // What was read last is gone from the file, or stands elsewhere in it.
            let is_same = format!("{:08x}", crc32c::crc32c(&self.mark)) == mark;
            let mut there = vec![0; offset.min(MARK as u64) as usize];
            file.seek(SeekFrom::Start(offset - there.len() as u64)).ok()?;
            file.read_exact(&mut there).ok()?;
            return is_same.then_some(FileTail { mark: there, ..moved });
        }
        let is_same = read_since >= self.mark.len() as u64 && moved.is_marked(file).ok()?;
        let since = self.bad.iter().filter(|bad| bad.offset >= bytes_before);
        let bad = since.map(|bad| BadLine {
            line: bad.line - lines_before + lines_after,
            offset: bad.offset - bytes_before + (offset - read_since),
            ..bad.clone()
        });
        is_same.then(|| FileTail { bad: bad.collect(), ..moved })
    }

    fn read(&mut self, path: &Path, mut fold: impl FnMut(Told)) -> Result<bool> {
        let mut file = files::open(path).map_err(Error::io("open", path))?;
        if !self.is_marked(&mut file).map_err(Error::io("read", path))? {
            let Some(moved) = self.compacted(&mut file) else { return Ok(false) };
            *self = moved;
        }
        file.seek(SeekFrom::Start(self.offset)).map_err(Error::io("read", path))?;
        if self.replica.is_empty() {
            self.replica = stem(path);
        }
        let mut pending = Vec::new();
        // Mostly one line is new: room for that, not for a chunk that must be zeroed first.
        let unread = file.metadata().map_err(Error::io("read", path))?.len().saturating_sub(self.offset);
        let mut chunk = vec![0; usize::try_from(unread).unwrap_or(CHUNK).clamp(1, CHUNK)];
        loop {
            let count = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io("read", path)(error)),
            };
            let known = pending.len();
            pending.extend_from_slice(&chunk[..count]);
            // Only in what is new: a line may be many chunks long.
            let Some(last) = chunk[..count].iter().rposition(|byte| *byte == b'\n') else { continue };
            let last = known + last;
            let whole = &pending[..=last];
            for line in whole.split_inclusive(|byte| *byte == b'\n') {
                self.take(path, line, &mut fold);
            }
            self.mark_end(whole);
            pending.drain(..=last);
        }
        let whole = &pending[..codec::whole_length(&pending)];
        if !whole.is_empty() {
            self.take(path, whole, &mut fold);
            self.mark_end(whole);
        }
        Ok(true)
    }

    /// Remembers the last bytes read, of which `whole` are the newest.
    fn mark_end(&mut self, whole: &[u8]) {
        self.mark.extend_from_slice(&whole[whole.len().saturating_sub(MARK)..]);
        self.mark.drain(..self.mark.len().saturating_sub(MARK));
    }

    fn take(&mut self, path: &Path, bytes: &[u8], fold: &mut impl FnMut(Told)) {
        // What comes behind a line without a newline stands on that line.
        let is_behind = self.is_unended;
        let (offset, place) = (self.offset, self.lines + u64::from(!is_behind));
        self.offset += bytes.len() as u64;
        self.lines = place;
        self.is_unended = !bytes.ends_with(b"\n");
        let each = |begin: usize, _: &[u8], read: Result<Read, Fault>| match read {
            Ok(Read { line, crc }) => {
                if line.op == Op::Journal
                    && place == 1
                    && let Some(replica) = &line.replica
                {
                    self.replica.clone_from(replica);
                    self.begun = line.n.map(|number| (number, line.at));
                }
                if let Some(number) = line.n {
                    self.greatest_number = self.greatest_number.max(number);
                    self.newest = self.newest.max(Some(line.at));
                }
                self.unknown += u64::from(line.op == Op::Unknown);
                let number = line.n.unwrap_or(place);
                fold(Told { number, replica: self.replica.clone(), crc, line });
            }
            Err(fault) => self.bad.push(BadLine::of(path, place, offset + begin as u64, fault)),
        };
        if is_behind { codec::read_glued(bytes, Fault::NotALine, each) } else { codec::read(bytes, each) }
    }
}
