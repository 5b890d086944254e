//! A second look at the journals: each file once more from its first byte, with the place of every line.
//!
//! What was read when a process opened may be damaged on disk since. And only with every line's number side by side
//! can be seen whether lines are missing, or whether two programs wrote under one replica id.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::codec;
use super::tail::{self, BadLine};
use super::{Journal, Tails};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::files;
use crate::id::MemoryId;
use crate::memory::{Line, Op};

/// A line that could be read, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedLine {
    /// Its line, counted from 1.
    pub line: u64,
    /// Where it begins, bytes.
    pub offset: u64,
    /// Its number; absent on a line by hand.
    pub number: Option<u64>,
    /// When it was written.
    pub at: Timestamp,
    /// Its order, milliseconds since 1970.
    pub order: i64,
    /// Its checksum.
    crc: u32,
    op: Op,
    id: Option<MemoryId>,
}

impl AuditedLine {
    /// Whether both are one line, as it was written or as compaction left it: that changes neither.
    fn is_same(&self, other: &AuditedLine) -> bool {
        (self.at, self.op, self.id) == (other.at, other.op, other.id)
    }
}

/// One file, read anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audited {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub replica: String,
    /// Its readable lines, in their order.
    pub lines: Vec<AuditedLine>,
    /// Its other lines.
    pub bad: Vec<BadLine>,
    /// Where the bytes behind the last whole line begin, and how many they are.
    pub torn: Option<(u64, u64)>,
    /// Up to which byte the file was compacted; absent where it cannot say, for want of the first line.
    pub compacted_to: Option<u64>,
}

impl Audited {
    /// Up to which number compaction may have taken lines.
    fn compacted_number(&self) -> u64 {
        let behind = self.compacted_to.unwrap_or(0);
        if behind == 0 {
            return 0;
        }
        let numbers = |is_behind: bool| {
            let lines = self.lines.iter().filter(move |line| (line.offset >= behind) == is_behind);
            lines.filter_map(|line| line.number)
        };
        let first_since = numbers(true).min().map(|first| first.saturating_sub(1));
        first_since.or_else(|| numbers(false).max()).unwrap_or(0)
    }

    /// How many lines of `copy` this file lacks: neither has it them word for word, nor what compaction left of them.
    pub fn lacks(&self, copy: &Audited) -> u64 {
        let compacted_to = self.compacted_to.unwrap_or(0);
        let mut known: BTreeMap<Option<u64>, Vec<&AuditedLine>> = BTreeMap::new();
        for line in &self.lines {
            known.entry(line.number).or_default().push(line);
        }
        let has = |line: &AuditedLine| {
            let mut own = known.get(&line.number).into_iter().flatten();
            own.any(|own| own.crc == line.crc || own.offset < compacted_to && own.is_same(line))
        };
        copy.lines.iter().filter(|line| !has(line)).count() as u64
    }
}

/// Numbers that no file of a replica has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The file that jumps over them.
    pub path: PathBuf,
    /// The line behind the gap, counted from 1.
    pub line: u64,
    /// Where that line begins, bytes.
    pub offset: u64,
    /// The first number that is missing.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Whether the file could say how far it was compacted; else compaction may have taken them.
    pub is_certain: bool,
}

/// Two lines that one replica gave one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The replica.
    pub replica: String,
    /// The number.
    pub number: u64,
    /// The file with the second of them.
    pub path: PathBuf,
    /// Its line there, counted from 1.
    pub line: u64,
    /// Where it begins there, bytes.
    pub offset: u64,
    /// The file with the first of them.
    pub other: PathBuf,
    /// When the later of both was written.
    pub at: Timestamp,
}

impl Journal {
    /// Reads every file from its first byte, whatever was read before. A file that cannot be read is left out: see
    /// [`Journal::unreadable_files`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) when the folder cannot be listed.
    pub fn audit(&self) -> Result<Vec<Audited>> {
        let paths = Tails::new(self.home.join("short-term")).journals()?;
        Ok(paths.iter().filter_map(|path| Some(audited(path, &files::read(path).ok()?))).collect())
    }
}

fn audited(path: &Path, bytes: &[u8]) -> Audited {
    let mut audited = Audited {
        path: path.to_owned(),
        replica: tail::stem(path),
        lines: Vec::new(),
        bad: Vec::new(),
        torn: None,
        compacted_to: None,
    };
    let mut offset = 0;
    for (mut bytes, line) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1u64..) {
        if !bytes.ends_with(b"\n") {
            let (whole, torn) = bytes.split_at(codec::whole_length(bytes));
            if !torn.is_empty() {
                audited.torn = Some((offset + whole.len() as u64, torn.len() as u64));
            }
            bytes = whole;
        }
        codec::read(bytes, |begin, _, read| {
            let offset = offset + begin as u64;
            match read {
                Ok(read) => {
                    let (order, crc) = (read.line.order(), read.crc);
                    let Line { n: number, at, op, id, replica, compacted, .. } = read.line;
                    if op == Op::Journal && line == 1 {
                        audited.replica = replica.unwrap_or(std::mem::take(&mut audited.replica));
                        let left = compacted.map_or(0, |compacted| bytes.len() as u64 + compacted.bytes_after);
                        audited.compacted_to = Some(left);
                    }
                    audited.lines.push(AuditedLine { line, offset, number, at, order, crc, op, id });
                }
                Err(fault) => audited.bad.push(BadLine::of(path, line, offset, fault)),
            }
        });
        offset += bytes.len() as u64;
    }
    audited
}

/// Numbers that are missing in each replica's files behind what was compacted. As many as there are lines that cannot be
/// read may be missing from a file.
pub fn gaps(files: &[Audited]) -> Vec<Gap> {
    let mut known: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for file in files {
        known.entry(&file.replica).or_default().extend(file.lines.iter().filter_map(|line| line.number));
    }
    let mut gone_to: BTreeMap<&str, u64> = BTreeMap::new();
    for file in files {
        let to = gone_to.entry(&file.replica).or_default();
        *to = file.compacted_number().max(*to);
    }
    let mut gaps = Vec::new();
    for file in files {
        let behind = file.compacted_to.unwrap_or(0);
        let is_open = |line: &&AuditedLine| line.offset >= behind && line.number.is_some();
        let mut open: Vec<&AuditedLine> = file.lines.iter().filter(is_open).collect();
        open.sort_by_key(|line| line.number);
        let numbers = &known[file.replica.as_str()];
        let gone_to = gone_to[file.replica.as_str()];
        // A file that was never compacted begins with its first line.
        let mut before = if behind == 0 { Some(0) } else { None };
        let (mut own, mut missing) = (Vec::new(), 0u64);
        for line in open {
            let number = line.number.unwrap_or(0);
            let from = before.replace(number).map_or(number, |before| before.saturating_add(1));
            // What compaction took from one file, a purge takes from its copies.
            let from = from.max(gone_to.saturating_add(1)).min(number);
            // Counted by what is known: a number by hand may be far away.
            let between = || numbers.range(from..number);
            let absent = number - from - between().count() as u64;
            if absent > 0 {
                missing = missing.saturating_add(absent);
                let first = between().zip(from..).take_while(|(known, at)| *known == at).count() as u64 + from;
                let behind = between().rev().zip((from..number).rev()).take_while(|(known, at)| *known == at).count();
                own.push(Gap {
                    path: file.path.clone(),
                    line: line.line,
                    offset: line.offset,
                    first,
                    last: number - 1 - behind as u64,
                    is_certain: file.compacted_to.is_some(),
                });
            }
        }
        if missing > file.bad.len() as u64 {
            gaps.extend(own);
        }
    }
    gaps
}

/// Lines that say different things under one number of one replica: two programs wrote as the same machine.
pub fn clashes(files: &[Audited]) -> Vec<Clash> {
    let mut seen: BTreeMap<(&str, u64), (&Audited, &AuditedLine)> = BTreeMap::new();
    let mut clashes = Vec::new();
    for file in files {
        for line in &file.lines {
            let Some(number) = line.number else { continue };
            let (other, first) = *seen.entry((&file.replica, number)).or_insert((file, line));
            if !first.is_same(line) {
                clashes.push(Clash {
                    replica: file.replica.clone(),
                    number,
                    path: file.path.clone(),
                    line: line.line,
                    offset: line.offset,
                    other: other.path.clone(),
                    at: line.at.max(first.at),
                });
            }
        }
    }
    clashes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Compacted;

    fn line(number: u64, op: Op) -> Vec<u8> {
        let at = Timestamp::from_millis(number.cast_signed() * 1000);
        codec::render(&Line { n: Some(number), at, ..Line::new(op) }).unwrap()
    }

    fn file(name: &str, bytes: &[u8]) -> Audited {
        audited(Path::new(name), bytes)
    }

    fn head(compacted: Option<&[u8]>) -> Vec<u8> {
        let compacted = compacted.map(|rest| Compacted {
            bytes_before: 1000,
            bytes_after: rest.len() as u64,
            lines_before: 10,
            lines_after: 3,
            mark: String::new(),
        });
        let at = Timestamp::from_millis(1000);
        codec::render(&Line { n: Some(1), at, compacted, ..Line::new(Op::Journal) }).unwrap()
    }

    fn lines(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| line(*number, Op::Use)).collect()
    }

    #[test]
    fn missing_numbers_are_named_with_the_line_behind_them() {
        let whole = file("a.jsonl", &[head(None), lines(&[2, 3])].concat());
        assert_eq!(gaps(std::slice::from_ref(&whole)), []);
        let holed = file("a.jsonl", &[head(None), lines(&[2, 6])].concat());
        let offset = holed.lines[2].offset;
        let path = PathBuf::from("a.jsonl");
        let gap = Gap { path, line: 3, offset, first: 3, last: 5, is_certain: true };
        assert_eq!(gaps(std::slice::from_ref(&holed)), [gap]);
        let copy = Audited { replica: "a".into(), ..file("a 2.jsonl", &lines(&[3, 4, 5])) };
        assert_eq!(gaps(&[holed, copy]), []);
        let far = gaps(&[file("a.jsonl", &[head(None), lines(&[2, u64::MAX >> 20])].concat())]);
        assert!(matches!(far[..], [Gap { first: 3, .. }]), "{far:?}");
        let headless = gaps(&[file("b.jsonl", &lines(&[2]))]);
        assert!(matches!(headless[..], [Gap { first: 1, is_certain: false, .. }]), "{headless:?}");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_not_missing() {
        let damaged = file("a.jsonl", &[head(None), lines(&[2]), b"{damaged}\n".to_vec(), lines(&[4])].concat());
        assert_eq!(gaps(&[damaged]), []);
    }

    #[test]
    fn what_was_compacted_may_jump() {
        let compacted = lines(&[2, 9]);
        let jumps = |after: &[u64]| {
            gaps(&[file("a.jsonl", &[head(Some(&compacted)), compacted.clone(), lines(after)].concat())])
        };
        assert_eq!(jumps(&[12, 13]), []);
        let found = jumps(&[12, 14]);
        assert!(matches!(found[..], [Gap { line: 5, first: 13, last: 13, is_certain: true, .. }]), "{found:?}");
    }

    #[test]
    fn what_was_compacted_in_one_file_may_be_missing_from_its_copy() {
        let compacted = lines(&[2, 5]);
        let own = file("a.jsonl", &[head(Some(&compacted)), compacted.clone(), lines(&[9])].concat());
        let copy = |numbers: &[u64]| Audited {
            path: "a (1).jsonl".into(),
            ..file("a.jsonl", &[head(None), lines(numbers)].concat())
        };
        assert_eq!(gaps(&[own.clone(), copy(&[2, 3, 5, 7])]), []);
        let beyond = gaps(&[own, copy(&[2, 3, 5, 12])]);
        assert!(matches!(beyond[..], [Gap { first: 10, last: 11, .. }]), "{beyond:?}");
    }

    #[test]
    fn a_copy_is_compared_line_by_line() {
        let said = |number: u64, op: Op, text: &str| {
            let at = Timestamp::from_millis(number.cast_signed() * 1000);
            codec::render(&Line { n: Some(number), at, text: Some(text.into()), ..Line::new(op) }).unwrap()
        };
        let (first, second) = (said(2, Op::Revise, "first"), said(2, Op::Remember, "second"));
        let own = file("a.jsonl", &[head(None), first.clone()].concat());
        let copy = file("a.jsonl", &[head(None), second].concat());
        assert_eq!((own.lacks(&copy), own.lacks(&own)), (1, 0));
        // Compaction takes from a line what later ones say.
        let rest =
            codec::render(&Line { n: Some(2), at: Timestamp::from_millis(2000), ..Line::new(Op::Revise) }).unwrap();
        let compacted = file("a.jsonl", &[head(Some(&rest)), rest.clone()].concat());
        assert_eq!(compacted.lacks(&file("a.jsonl", &[head(None), first].concat())), 0);
    }

    #[test]
    fn two_lines_of_one_number_clash_unless_compaction_shortened_one() {
        let ours = file("a.jsonl", &[line(1, Op::Use), line(2, Op::Use)].concat());
        let copy = Audited { path: "a 2.jsonl".into(), ..ours.clone() };
        assert_eq!(clashes(&[ours.clone(), copy]), []);
        let twin =
            Audited { replica: "a".into(), ..file("b.jsonl", &[line(1, Op::Use), line(2, Op::Forget)].concat()) };
        let found = clashes(&[ours, twin]);
        assert!(matches!(&found[..], [Clash { number: 2, line: 2, .. }]), "{found:?}");
    }
}
