//! Readers that follow a file while it is compacted know what a fresh reader knows, and read nothing twice.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::{Change, Identity, Journal};
use crate::clock::{HOUR_MS, Timestamp};
use crate::config::Durability;
use crate::id::{MemoryId, Randomness};
use crate::memory::{Line, Memory, Op, State};

const NOW: Timestamp = Timestamp::FORMAT_BIRTH;

fn journal(home: &Path) -> Journal {
    let identity = Identity { machine: "m".into(), replica: Some("r".into()), randomness: Randomness::Seeded(1) };
    Journal::new(home, identity, Durability::Interval)
}

/// What one process folded, and how it came to it.
#[derive(Default)]
struct Seen {
    state: State,
    lines_read: usize,
    times_anew: usize,
}

impl Seen {
    fn refresh(&mut self, journal: &Journal) {
        let mut reading = journal.reading();
        let mut told = Vec::new();
        match reading.look().unwrap() {
            Change::None => return,
            Change::Added if reading.read(NOW, |line| told.push(line)).unwrap() => {}
            _ => {
                told.clear();
                self.state = State::default();
                self.times_anew += 1;
                reading.read_all(NOW, |line| told.push(line)).unwrap();
            }
        }
        self.lines_read += told.len();
        for told in told {
            self.state.apply(told.line, &told.replica, told.number, told.crc);
        }
        self.state.settle();
    }

    fn append(&mut self, journal: &Journal, line: Line) {
        let mut guard = journal.lock().unwrap();
        self.refresh(journal);
        guard.ensure_read().unwrap();
        let newest = line.id.and_then(|id| self.state.newest_order(id));
        guard.append(vec![line], NOW, |_| newest).unwrap();
        self.refresh(journal);
    }

    fn compact(&self, journal: &Journal) {
        journal.compact(NOW, false, |id| self.state.ended(id, Some(NOW))).unwrap();
    }

    fn memories(&self) -> BTreeMap<MemoryId, Memory> {
        self.state.memories().map(|memory| (memory.id, memory.clone())).collect()
    }
}

/// `round` tells the memories of one name apart: what is forgotten never comes again under its id.
fn line(what: u8, pick: u8, round: usize, place: usize) -> Line {
    let id = MemoryId::from_source(&format!("{} {round}", pick % 5));
    let text = Some(format!("text {place}"));
    match what {
        0..3 => Line { text, ..Line::about(Op::Remember, id) },
        3..6 => Line { text, ..Line::about(Op::Revise, id) },
        6..8 => Line { hours: vec![NOW.plus_millis(place as i64 * HOUR_MS).hour()], ..Line::about(Op::Use, id) },
        _ => Line::about(Op::Forget, id),
    }
}

#[test]
fn a_call_that_panicked_in_its_turn_leaves_the_turn_to_others() {
    let home = tempfile::tempdir().unwrap();
    let journal = journal(home.path());
    let mut seen = Seen::default();
    seen.append(&journal, line(0, 0, 0, 0));
    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = journal.lock().unwrap();
        panic!("on purpose");
    }));
    assert!(broken.is_err());
    assert!(journal.try_lock().unwrap().is_some());
    let (done, calls) = crate::files::rehearsal::noted(|| journal.sync());
    done.unwrap();
    assert_eq!(calls.len(), 1, "what waits for its sync is synced: {calls:?}");
}

#[test]
fn what_was_read_by_a_reading_that_panicked_is_read_again() {
    let home = tempfile::tempdir().unwrap();
    let (ours, followed) = (journal(home.path()), journal(home.path()));
    let mut theirs = journal(home.path());
    theirs.identity.replica = Some("s".into());
    let (mut seen, mut other) = (Seen::default(), Seen::default());
    // One line in each of two files: whichever is read first, the other breaks the reading off.
    for round in 0..2 {
        seen.append(&ours, line(0, round, 0, 0));
        seen.append(&theirs, line(0, round + 2, 0, 0));
        if round == 0 {
            other.refresh(&followed);
        }
    }
    seen.refresh(&ours);
    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut count = 0;
        drop(followed.reading().read(NOW, |_| {
            count += 1;
            assert!(count < 2, "on purpose");
        }));
    }));
    assert!(broken.is_err());
    other.refresh(&followed);
    assert_eq!(other.memories(), seen.memories());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_that_follows_knows_what_a_fresh_one_knows(
        steps in prop::collection::vec((0u8..16, any::<u8>()), 5..60),
    ) {
        let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let (writing, reading) = (journal(home.path()), journal(home.path()));
        let (mut writer, mut reader) = (Seen::default(), Seen::default());
        let mut rounds = [0; 5];
        for (place, (what, pick)) in steps.into_iter().enumerate() {
            match what {
                0..10 => {
                    let round = &mut rounds[usize::from(pick % 5)];
                    writer.append(&writing, line(what, pick, *round, place));
                    *round += usize::from(what >= 8);
                }
                10..13 => reader.refresh(&reading),
                _ => writer.compact(&writing),
            }
        }
        reader.refresh(&reading);
        writer.refresh(&writing);
        let fresh_journal = journal(home.path());
        let mut fresh = Seen::default();
        fresh.refresh(&fresh_journal);
        prop_assert_eq!(reader.memories(), fresh.memories());
        prop_assert_eq!(writer.memories(), fresh.memories());
        prop_assert!(writer.times_anew <= 1, "the writer read all anew {} times", writer.times_anew);
        prop_assert_eq!(reading.files(), fresh_journal.files());
        let numbers = |journal: &Journal| journal.tails().greatest_number("r");
        prop_assert_eq!(numbers(&reading), numbers(&fresh_journal));
    }
}

/// A line without its newline is read at once and once, whatever comes behind it.
#[test]
fn a_reader_goes_on_behind_a_line_without_its_newline() {
    let home = tempfile::tempdir().unwrap();
    let (writing, reading) = (journal(home.path()), journal(home.path()));
    let (mut writer, mut reader) = (Seen::default(), Seen::default());
    let path = home.path().join("short-term/r.jsonl");
    let by_hand = br#"{"v":1,"at":"2026-11-29T20:00:00Z","op":"remember","id":"m3m0ryb1h4nd","text":"x"}"#;
    for (place, behind) in [&b"\n"[..], b"\r\n", b" rest\n", by_hand, b""].into_iter().enumerate() {
        writer.append(&writing, line(0, place as u8, place, place));
        let whole = crate::files::read(&path).unwrap();
        let unended = whole.trim_ascii_end();
        crate::files::write_atomic(&path, unended).unwrap();
        reader.refresh(&reading);
        assert_eq!(reader.memories().len(), place + 1);
        crate::files::write_atomic(&path, &[unended, behind].concat()).unwrap();
        reader.refresh(&reading);
        writer.refresh(&writing);
        writer.append(&writing, line(3, place as u8, place, 100 + place));
        reader.refresh(&reading);
        let fresh_journal = journal(home.path());
        let mut fresh = Seen::default();
        fresh.refresh(&fresh_journal);
        assert_eq!(reader.memories(), fresh.memories(), "{place}");
        assert_eq!(reading.files(), fresh_journal.files(), "{place}");
        assert_eq!(reading.bad_lines().len(), fresh_journal.bad_lines().len(), "{place}");
    }
    assert_eq!(reader.times_anew, 1, "only the first time");
}

/// Whoever had read everything before a compaction reads only what is new after it.
#[test]
fn a_reader_goes_on_behind_a_compaction() {
    let home = tempfile::tempdir().unwrap();
    let (writing, reading) = (journal(home.path()), journal(home.path()));
    let (mut writer, mut reader) = (Seen::default(), Seen::default());
    for place in 0..50 {
        writer.append(&writing, line(3 * u8::from(place > 4), place as u8, 0, place));
    }
    reader.refresh(&reading);
    writer.compact(&writing);
    writer.append(&writing, line(3, 0, 0, 99));
    let before = reader.lines_read;
    reader.refresh(&reading);
    assert_eq!((reader.times_anew, reader.lines_read - before), (1, 1));
    assert_eq!(reader.memories(), writer.memories_after(&writing));

    // Read past the end of what was compacted, by more than a line.
    for place in 100..110 {
        writer.append(&writing, line(3, place as u8, 0, place));
    }
    reader.refresh(&reading);
    writer.compact(&writing);
    reader.refresh(&reading);
    assert_eq!(reader.times_anew, 1);
    assert_eq!(reader.memories(), writer.memories_after(&writing));

    // Another file under the same name is read from its beginning.
    let path = home.path().join("short-term/r.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    crate::files::write_atomic(&path, &bytes[..first]).unwrap();
    reader.refresh(&reading);
    assert_eq!((reader.times_anew, reader.memories().len()), (2, 0));
}

impl Seen {
    fn memories_after(&mut self, journal: &Journal) -> BTreeMap<MemoryId, Memory> {
        self.refresh(journal);
        self.memories()
    }
}
