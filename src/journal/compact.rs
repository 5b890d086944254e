//! Compaction: a filter over one machine's own file, judged by that file alone.
//!
//! A line stays, with its time, order and number, as long as it still says something that no later line of the
//! same file overrules. What it no longer says is removed from it. So any other file may be missing, stale or
//! restored tomorrow, and the fold over all files is the same before and after.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::{Map, Value};

use super::codec::{self, Read};
use crate::clock::{DAY_MS, Timestamp};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::{By, Compacted, Ended, Line, OP_KEY_DAYS, Op};
use crate::redact::redact_json;

/// Hours of use that are kept one by one; older ones become a number.
const KEPT_HOURS: usize = 512;
/// Tombstones in one line: together far below the longest line that is read.
const TOMBSTONES_A_LINE: usize = 50_000;

/// The fields of content, each won by the last line that says it.
const CONTENT: [&str; 13] = [
    "text",
    "title",
    "kind",
    "level",
    "tags",
    "entities",
    "keywords",
    "scope",
    "happened",
    "valid_until",
    "strength",
    "pinned",
    "trusted",
];

/// What compaction would do, or did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Lines before.
    pub lines_before: usize,
    /// Lines after.
    pub lines_after: usize,
    /// Bytes before.
    pub bytes_before: usize,
    /// Bytes after.
    pub bytes_after: usize,
    /// Memories whose text left the file, because they were forgotten long enough ago.
    pub forgotten: usize,
    /// Lines that could not be read, moved to quarantine.
    pub quarantined: usize,
    /// Memories that were purged while the file still held something of them.
    pub purged: usize,
}

/// A tombstone: order of the newest forget, and the salted hash of the text where it was purged.
type Tombstone = (i64, Option<String>);

/// What the new file will hold.
pub(super) struct Plan {
    /// The lines that stay.
    pub(super) bytes: Vec<u8>,
    /// What the line of packed tombstones is to hold; empty where none is needed.
    pub(super) tombstones: BTreeMap<MemoryId, Tombstone>,
    pub(super) bad: Vec<Vec<u8>>,
    /// Memories whose lines are gone.
    pub(super) gone: Vec<MemoryId>,
    /// Greatest line number of the old file.
    pub(super) greatest_number: u64,
    pub(super) report: Compaction,
}

impl Plan {
    /// Whether it differs from the file it was made for.
    pub(super) fn changes(&self, file: &[u8]) -> bool {
        self.bytes != file || !self.tombstones.is_empty()
    }

    /// The lines that stay of `file`, the first one saying what they were made of. A file whose first line is not the
    /// journal's own does not say it.
    pub(super) fn marked(&self, file: &[u8]) -> Result<Vec<u8>> {
        let first = self.bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_journal = codec::parse(first.trim_ascii()).is_ok_and(|read| read.line.op == Op::Journal);
        if !is_journal {
            return Ok(self.bytes.clone());
        }
        let rest = &self.bytes[first.len()..];
        let count = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let mark = &file[file.len().saturating_sub(codec::MARK)..];
        // Whoever read what is set aside before it was damaged must read anew.
        let mark = if self.bad.is_empty() { format!("{:08x}", crc32c::crc32c(mark)) } else { String::new() };
        let compacted = Compacted {
            bytes_before: file.len() as u64,
            bytes_after: rest.len() as u64,
            lines_before: count(file),
            lines_after: count(rest) + 1,
            mark,
        };
        let mut marked = rewritten(first.trim_ascii(), |line| {
            line.insert("compacted".into(), serde_json::to_value(&compacted).map_err(|error| broken(&error))?);
            Ok(())
        })?;
        marked.extend_from_slice(rest);
        Ok(marked)
    }
}

/// The lines of packed tombstones, numbered from `number` on; nothing where there are none.
pub(super) fn packed(tombstones: BTreeMap<MemoryId, Tombstone>, mut number: u64, now: Timestamp) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let tombstones: Vec<(MemoryId, Tombstone)> = tombstones.into_iter().collect();
    for part in tombstones.chunks(TOMBSTONES_A_LINE) {
        let ids = part.iter().map(|(id, (order, _))| (*id, *order)).collect();
        let hashes = part.iter().filter_map(|(id, (_, hash))| Some((*id, hash.clone()?))).collect();
        let line = Line { n: Some(number), at: now, ids, hashes, ..Line::new(Op::Forgotten) };
        bytes.extend_from_slice(&codec::render(&line)?);
        number = number.saturating_add(1);
    }
    Ok(bytes)
}

struct Entry<'a> {
    bytes: &'a [u8],
    read: Read,
    /// Line number, or place in the file where it was written by hand.
    number: u64,
}

impl Entry<'_> {
    /// Whether its content only fills gaps.
    fn fills(&self) -> bool {
        self.read.line.again || self.read.line.op == Op::Restore
    }

    /// When it happened, as the fold orders the lines of one replica.
    fn age(&self) -> (i64, u64, u32) {
        (self.read.line.order(), self.number, self.read.crc)
    }

    fn says_alive(&self) -> bool {
        match self.read.line.op {
            Op::Remember | Op::Restore => true,
            Op::Note => self.read.line.by == Some(By::Person) && !self.read.line.gone,
            _ => false,
        }
    }
}

/// Plans the compaction of a file's whole lines; `path` is for errors. `ended` answers where a memory's lines may go
/// for good.
pub(super) fn plan(
    path: &Path,
    file: &[u8],
    now: Timestamp,
    ended: impl Fn(MemoryId) -> Option<Ended>,
) -> Result<Plan> {
    let (mut entries, mut bad, mut newer) = (Vec::new(), Vec::new(), None);
    for (place, bytes) in file.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let place = place as u64 + 1;
        codec::read(bytes, |_, bytes, read| match read {
            Ok(read) => entries.push(Entry { bytes, number: read.line.n.unwrap_or(place), read }),
            Err(codec::Fault::Newer) => newer = newer.or(Some(place)),
            // It says nothing: there is nothing to keep of it.
            Err(codec::Fault::ByteOrderMark) => {}
            Err(_) => bad.push(bytes.to_vec()),
        });
    }
    if let Some(line) = newer {
        return Err(Error::Newer { path: path.to_owned(), line });
    }
    let mut by_memory: HashMap<MemoryId, Vec<usize>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if let Some(id) = entry.read.line.id {
            by_memory.entry(id).or_default().push(index);
        }
    }
    let mut kept: Vec<Option<Vec<u8>>> = vec![None; entries.len()];
    let mut tombstones = BTreeMap::new();
    let (mut gone, mut purged) = (Vec::new(), 0);
    for (id, indexes) in &by_memory {
        // The caller may not have folded the newest line of this file yet: a restore in it counts.
        let is_back = |order: i64| {
            let mut lines = indexes.iter().map(|index| &entries[*index]);
            lines.any(|entry| entry.says_alive() && entry.read.line.order() > order)
        };
        let Some(ended) = ended(*id).filter(|ended| ended.newer_stay || !is_back(ended.order)) else {
            filter_memory(&entries, indexes, now, &mut kept)?;
            continue;
        };
        // Told again after its purge: what came before goes all the same.
        let (goes, stays): (Vec<usize>, Vec<usize>) =
            indexes.iter().partition(|index| !ended.newer_stay || entries[**index].read.line.order() <= ended.order);
        keep_edges(&entries, &goes, &mut kept)?;
        filter_memory(&entries, &stays, now, &mut kept)?;
        // What a newer version says of it stays, and is not ours to judge.
        let is_unchanged = |index: &usize| {
            let Entry { bytes, read, .. } = &entries[*index];
            read.line.op == Op::Unknown || kept[*index].as_deref() == Some(&whole(bytes))
        };
        purged += usize::from(ended.hash.is_some() && !goes.iter().all(is_unchanged));
        if !ended.newer_stay {
            gone.push(*id);
        }
        tombstones.insert(*id, (ended.order, ended.hash));
    }
    keep_the_rest(&entries, &mut tombstones, &mut kept, |id| ended(id).is_some_and(|ended| ended.hash.is_some()))?;
    let mut bytes: Vec<u8> = Vec::with_capacity(file.len() / 2);
    let mut lines_after = 0;
    for line in kept.into_iter().flatten() {
        bytes.extend_from_slice(&line);
        lines_after += 1;
    }
    gone.sort_unstable();
    let report = Compaction {
        lines_before: entries.len() + bad.len(),
        lines_after: lines_after + tombstones.len().div_ceil(TOMBSTONES_A_LINE),
        bytes_before: file.len(),
        bytes_after: file.len(),
        forgotten: gone.len(),
        quarantined: bad.len(),
        purged,
    };
    let greatest_number = entries.iter().filter_map(|entry| entry.read.line.n).max().unwrap_or(0);
    Ok(Plan { bytes, tombstones, bad, gone, greatest_number, report })
}

/// Plans to take out what cannot be read, and nothing else: every other byte stays.
pub(super) fn without_bad(path: &Path, file: &[u8]) -> Result<Plan> {
    let (mut bytes, mut bad) = (Vec::with_capacity(file.len()), Vec::new());
    let (mut lines_before, mut lines_after, mut greatest_number) = (0, 0, 0);
    for (line, place) in file.split_inclusive(|byte| *byte == b'\n').zip(1u64..) {
        let (mut good, faults, mut is_newer) = (Vec::new(), bad.len(), false);
        codec::read(line, |_, part, read| match read {
            Ok(read) => {
                greatest_number = greatest_number.max(read.line.n.unwrap_or(0));
                good.extend_from_slice(&whole(part));
                lines_after += 1;
            }
            Err(codec::Fault::Newer) => is_newer = true,
            Err(codec::Fault::ByteOrderMark) => {}
            Err(_) => bad.push(part.to_vec()),
        });
        if is_newer {
            return Err(Error::Newer { path: path.to_owned(), line: place });
        }
        lines_before += 1;
        bytes.extend_from_slice(if bad.len() == faults { line } else { &good });
    }
    if lines_after == 0 && !bad.is_empty() {
        return Err(Error::invalid(
            path.display().to_string(),
            "not one of its lines can be read",
            "restore it from a backup, or move it out of the folder: nothing was changed",
        ));
    }
    let report = Compaction {
        lines_before,
        lines_after,
        bytes_before: file.len(),
        bytes_after: bytes.len(),
        forgotten: 0,
        quarantined: bad.len(),
        purged: 0,
    };
    Ok(Plan { bytes, tombstones: BTreeMap::new(), bad, gone: Vec::new(), greatest_number, report })
}

/// Of a memory that goes, only what it was said to supersede stays: ids, no content.
fn keep_edges(entries: &[Entry<'_>], indexes: &[usize], kept: &mut [Option<Vec<u8>>]) -> Result<()> {
    for &index in indexes {
        let line = &entries[index].read.line;
        if !line.supersedes.is_empty() {
            let bare = Line {
                n: line.n,
                at: line.at,
                o: line.o,
                again: line.again,
                supersedes: line.supersedes.clone(),
                id: line.id,
                ..Line::new(line.op)
            };
            kept[index] = Some(codec::render(&bare)?);
        }
    }
    Ok(())
}

/// Lines that are about no single memory: the newest of each relation and publication, what is not known, packed
/// tombstones (united). A relation of what was purged keeps no hash of its text.
fn keep_the_rest(
    entries: &[Entry<'_>],
    tombstones: &mut BTreeMap<MemoryId, Tombstone>,
    kept: &mut [Option<Vec<u8>>],
    is_purged: impl Fn(MemoryId) -> bool,
) -> Result<()> {
    let mut newest_relation: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut newest_publish: Option<usize> = None;
    let (mut packed_lines, mut known) = (Vec::new(), BTreeMap::new());
    for (index, entry) in entries.iter().enumerate() {
        let line = &entry.read.line;
        match line.op {
            Op::Relate | Op::Unrelate => {
                let key = (text(line.from.as_ref()), text(line.to.as_ref()), text(line.relation.as_ref()));
                let newest = newest_relation.entry(key).or_insert(index);
                if entries[*newest].age() <= entry.age() {
                    *newest = index;
                }
            }
            Op::Publish if newest_publish.is_none_or(|newest| entries[newest].age() <= entry.age()) => {
                newest_publish = Some(index);
            }
            Op::Forgotten => {
                packed_lines.push(index);
                for (id, order) in &line.ids {
                    for tombstones in [&mut known, &mut *tombstones] {
                        let (greatest, hash) = tombstones.entry(*id).or_insert((*order, None));
                        *greatest = (*greatest).max(*order);
                        *hash = std::mem::take(hash).max(line.hashes.get(id).cloned());
                    }
                }
            }
            Op::Journal | Op::Undo | Op::Unknown => kept[index] = Some(whole(entry.bytes)),
            _ => {}
        }
    }
    if *tombstones == known && packed_lines.len() == known.len().div_ceil(TOMBSTONES_A_LINE) {
        for index in packed_lines {
            kept[index] = Some(whole(entries[index].bytes));
        }
        tombstones.clear();
    }
    for index in newest_relation.into_values().chain(newest_publish) {
        let Entry { bytes, read, .. } = &entries[index];
        let mut ends = read.line.from.iter().chain(&read.line.to).filter_map(|end| end.parse().ok());
        let tells = read.line.hash.is_some() && ends.any(&is_purged);
        kept[index] = Some(if tells {
            rewritten(bytes, |line| {
                line.shift_remove("hash");
                Ok(())
            })?
        } else {
            whole(bytes)
        });
    }
    Ok(())
}

fn text(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}

fn whole(bytes: &[u8]) -> Vec<u8> {
    let mut line = bytes.to_vec();
    line.push(b'\n');
    line
}

/// The fields of content that a line says.
fn said(line: &Line) -> impl Iterator<Item = &'static str> + '_ {
    let has_content = matches!(line.op, Op::Remember | Op::Restore | Op::Revise | Op::Note);
    CONTENT.into_iter().filter(move |field| {
        let is_set = match *field {
            "text" => line.text.is_some(),
            "title" => line.title.is_some(),
            "kind" => line.kind.is_some(),
            "level" => line.level.is_some(),
            "tags" => line.tags.is_some(),
            "entities" => line.entities.is_some(),
            "keywords" => line.keywords.is_some(),
            "scope" => line.scope.is_some(),
            "happened" => line.happened.is_some(),
            "valid_until" => line.valid_until.is_some(),
            "strength" => line.strength.is_some(),
            "pinned" => line.pinned.is_some(),
            _ => line.trusted.is_some(),
        };
        has_content && (is_set || line.clear.iter().any(|cleared| cleared == field))
    })
}

/// Newest line of each thing that only one line can say.
#[derive(Default)]
struct Winners<'a> {
    fields: HashMap<(bool, &'static str), usize>,
    alive: Option<usize>,
    forget: Option<usize>,
    note: Option<usize>,
    note_path: Option<usize>,
    note_hash: Option<usize>,
    first_told: Option<usize>,
    first_promote: HashMap<&'a str, usize>,
}

impl<'a> Winners<'a> {
    fn of(entries: &'a [Entry<'_>], indexes: &[usize]) -> Self {
        let mut winners = Winners::default();
        for &index in indexes {
            let entry = &entries[index];
            let line = &entry.read.line;
            let raise = |slot: &mut Option<usize>| {
                if slot.is_none_or(|known| entries[known].age() <= entry.age()) {
                    *slot = Some(index);
                }
            };
            for field in said(line) {
                let newest = winners.fields.entry((entry.fills(), field)).or_insert(index);
                if entries[*newest].age() <= entry.age() {
                    *newest = index;
                }
            }
            if entry.says_alive() {
                raise(&mut winners.alive);
            }
            match line.op {
                Op::Forget | Op::Purge => raise(&mut winners.forget),
                Op::Restore if line.created.is_none() => {}
                Op::Remember | Op::Restore => {
                    let told = |index: usize| {
                        let line = &entries[index].read.line;
                        (line.created.unwrap_or(line.at), entries[index].age())
                    };
                    if winners.first_told.is_none_or(|known| told(index) < told(known)) {
                        winners.first_told = Some(index);
                    }
                }
                Op::Promote => {
                    let first = winners.first_promote.entry(text(line.path.as_ref())).or_insert(index);
                    if entries[*first].age() > entry.age() {
                        *first = index;
                    }
                }
                Op::Note => raise(&mut winners.note),
                _ => {}
            }
            if matches!(line.op, Op::Promote | Op::Note) {
                if line.path.is_some() {
                    raise(&mut winners.note_path);
                }
                if line.hash.is_some() || line.gone {
                    raise(&mut winners.note_hash);
                }
            }
        }
        winners
    }
}

fn filter_memory(entries: &[Entry<'_>], indexes: &[usize], now: Timestamp, kept: &mut [Option<Vec<u8>>]) -> Result<()> {
    let winners = Winners::of(entries, indexes);
    let mut uses: Vec<usize> = Vec::new();
    for &index in indexes {
        let entry = &entries[index];
        let line = &entry.read.line;
        let has_key = line.op_key.is_some() && now.millis() - line.at.millis() < OP_KEY_DAYS * DAY_MS;
        if line.op == Op::Use && !has_key {
            uses.push(index);
            continue;
        }
        let is_one = |slot: Option<usize>| slot == Some(index);
        let lost: Vec<&str> = said(line).filter(|field| winners.fields[&(entry.fills(), *field)] != index).collect();
        let has_field = said(line).count() > lost.len();
        let stays = has_field
            || has_key
            || is_one(winners.alive)
            || is_one(winners.forget)
            || is_one(winners.note)
            || is_one(winners.note_path)
            || is_one(winners.note_hash)
            || is_one(winners.first_told)
            || (line.op == Op::Promote && winners.first_promote[text(line.path.as_ref())] == index)
            || matches!(line.op, Op::Purge | Op::Unknown)
            || !line.supersedes.is_empty();
        if stays {
            kept[index] = Some(without(entry, &lost)?);
        } else if !line.hours.is_empty() || line.mentions > 0 || line.source.is_some() || !line.sources.is_empty() {
            uses.push(index);
        }
    }
    if let [only] = uses[..]
        && entries[only].read.line.op == Op::Use
        && entries[only].read.line.hours.len() <= KEPT_HOURS
    {
        kept[only] = Some(whole(entries[only].bytes));
    } else if let Some(last) = uses.iter().copied().max_by_key(|index| entries[*index].age()) {
        kept[last] = Some(codec::render(&united_uses(entries, &uses, last))?);
    }
    Ok(())
}

/// One line for many uses, with the greatest number and order among them.
fn united_uses(entries: &[Entry<'_>], uses: &[usize], last: usize) -> Line {
    let last = &entries[last].read.line;
    let mut united = Line { n: last.n, at: last.at, o: last.o, id: last.id, ..Line::new(Op::Use) };
    for &index in uses {
        let line = &entries[index].read.line;
        united.hours.extend_from_slice(&line.hours);
        united.contexts.extend_from_slice(&line.contexts);
        united.sources.extend(line.source.iter().chain(&line.sources).cloned());
        united.mentions = united.mentions.max(line.mentions);
        united.older = united.older.max(line.older);
    }
    united.hours.sort_unstable();
    united.hours.dedup();
    united.contexts.sort_unstable();
    united.contexts.dedup();
    united.sources.sort_unstable();
    united.sources.dedup();
    let older = united.hours.len().saturating_sub(KEPT_HOURS);
    united.hours.drain(..older);
    united.older = united.older.saturating_add(older as u32);
    united
}

/// The line without the fields that later lines overruled; byte for byte the same where nothing was lost.
fn without(entry: &Entry<'_>, lost: &[&str]) -> Result<Vec<u8>> {
    if lost.is_empty() {
        return Ok(whole(entry.bytes));
    }
    rewritten(entry.bytes, |line| {
        for field in lost {
            line.shift_remove(*field);
        }
        if let Some(Value::Array(cleared)) = line.get_mut("clear") {
            cleared.retain(|name| !lost.iter().any(|field| name == field));
            if cleared.is_empty() {
                line.shift_remove("clear");
            }
        }
        Ok(())
    })
}

fn broken(error: &serde_json::Error) -> Error {
    Error::Internal(format!("journal line: {error}"))
}

/// A line with some fields changed; those that this version does not know stay.
fn rewritten(bytes: &[u8], change: impl FnOnce(&mut Map<String, Value>) -> Result<()>) -> Result<Vec<u8>> {
    let mut map: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| broken(&error))?;
    let is_sealed = map.shift_remove("crc").is_some();
    change(&mut map)?;
    let json = redact_json(&serde_json::to_string(&map).map_err(|error| broken(&error))?).0;
    Ok(if is_sealed { codec::seal(json) } else { whole(json.as_str().as_bytes()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: Vec<Line>) -> Vec<u8> {
        let numbered = lines.into_iter().zip(1i64..);
        numbered
            .flat_map(|(line, number)| {
                let at = Timestamp::from_millis(number * 1000);
                codec::render(&Line { n: Some(number as u64), at, ..line }).unwrap()
            })
            .collect()
    }

    fn about(op: Op) -> Line {
        Line { text: Some("text".into()), ..Line::about(op, MemoryId::from_source("m")) }
    }

    const NOW: Timestamp = Timestamp::FORMAT_BIRTH;

    #[test]
    fn a_restore_that_the_caller_has_not_folded_yet_counts() {
        let forget = Line::about(Op::Forget, MemoryId::from_source("m"));
        let restored = file(vec![about(Op::Remember), forget.clone(), about(Op::Restore)]);
        let ended = Ended { order: 2000, ..Ended::default() };
        let plan_of = |file: &[u8]| plan(Path::new("j"), file, NOW, |_| Some(ended.clone())).unwrap();
        assert!(plan_of(&restored).gone.is_empty());
        let forgotten = file(vec![about(Op::Remember), forget]);
        assert_eq!(plan_of(&forgotten).gone.len(), 1);
        assert!(plan_of(&forgotten).bytes.is_empty());
    }

    #[test]
    fn what_a_newer_operation_says_overrules_nothing() {
        let lines = file(vec![about(Op::Remember)]);
        let unknown = br#"{"v":1,"at":"2026-11-29T20:00:00Z","op":"dream","id":"ID","text":"vivid"}"#;
        let unknown = String::from_utf8_lossy(unknown).replace("ID", &MemoryId::from_source("m").to_string());
        let both = [lines.as_slice(), unknown.as_bytes(), b"\n"].concat();
        assert_eq!(plan(Path::new("j"), &both, NOW, |_| None).unwrap().bytes, both);
    }

    #[test]
    fn many_tombstones_take_several_lines() {
        let ids: BTreeMap<MemoryId, Tombstone> =
            (0..120_000).map(|bits| (MemoryId::from_bits(bits), (1, None))).collect();
        let bytes = packed(ids, 7, NOW).unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() < codec::MAX_LINE));
        assert!(
            !plan(Path::new("j"), &bytes, NOW, |_| None).unwrap().changes(&bytes),
            "packed tombstones stay as they are"
        );
    }
}
