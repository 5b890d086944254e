//! A good journal file with any bytes spliced into it at any places.
//!
//! - Opening it writes nothing; every untouched line is read, and the rest is read or counted as damaged.
//! - What is served is the fold of the lines that can be read.
//! - A later save works, is appended behind all that was there, and is found after reopening.
//! - Compaction keeps what was served, puts what could not be read into quarantine, and has nothing to do the second
//!   time. Lines of a newer Ebbmark stop it, and nothing is changed then.
//! - Opening once more shows the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::OnceLock;

use ebbmark::engine::{
    Engine, ForgetRequest, NewMemory, Opened, ReinforceRequest, RememberRequest, RestoreRequest, ReviseRequest,
    SourceInput,
};
use ebbmark::error::Error;
use ebbmark::journal::Told;
use ebbmark::memory::State;

use super::home::{Choices, Home, files_in, findings, opened, seal};

/// Each splice: what it does, where, and its bytes.
pub fn check(bytes: &[u8]) {
    let good = good_journal();
    let mut choices = Choices::new(bytes);
    let mut file = good.to_vec();
    for _ in 0..8 {
        if choices.is_empty() {
            break;
        }
        splice(&mut file, &mut choices);
    }

    let mut home = Home::new();
    home.now = home.now.plus_millis(3_600_000 * 24);
    fs::write(home.journal(), &file).unwrap();
    let (told, bad) = home.lines();
    let whole = file.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = file[..whole].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    // Several may be glued together on one, and the last one may lack only its end.
    assert!(told.len() + bad.len() >= lines.clone().count(), "each line is read or counted");
    let goods: BTreeSet<&[u8]> = good.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let untouched = lines.filter(|line| goods.contains(line)).count();
    assert!(told.len() >= untouched, "{untouched} lines are untouched, {} were read", told.len());

    let engine = home.engine();
    let served = serve(&engine, &told);
    let found = findings(&engine);
    let counted = found.iter().filter(|what| what.contains("(byte ") && what.contains("cannot be read")).count();
    assert_eq!(counted, bad.len(), "{found:?}");
    assert_eq!(fs::read(home.journal()).unwrap(), file, "looking changed the file");

    let text = "The lighthouse keeper counts the gulls at noon.";
    let answer = engine.remember(&RememberRequest::of(&[NewMemory { text: text.into(), ..NewMemory::default() }]));
    if bad.iter().any(|bad| bad.is_newer) {
        for error in [answer.unwrap_err(), engine.compact(false).unwrap_err()] {
            assert!(matches!(error, Error::Newer { .. }), "{error}");
        }
        assert_eq!(fs::read(home.journal()).unwrap(), file, "what a newer Ebbmark writes was written to");
        return;
    }
    let id = answer.unwrap().results.remove(0).id.unwrap();
    let saved = fs::read(home.journal()).unwrap();
    assert!(saved.starts_with(&file), "saving changed what was there");
    drop(engine);

    let engine = home.engine();
    let (told, bad) = home.lines();
    let with_new = serve(&engine, &told);
    assert_eq!(with_new.get(&id).map(|memory| memory.memory.text.as_str()), Some(text), "the new memory is not there");
    if whole == file.len() {
        for (known, memory) in served.iter().filter(|(known, _)| **known != id) {
            assert_eq!(with_new.get(known), Some(memory), "a save changed another memory");
        }
    }

    // Whatever the lines said, the memories they left can be used.
    let ids: Vec<String> = with_new.keys().cloned().collect();
    let used = engine.reinforce(&ReinforceRequest { ids: ids.clone(), ..ReinforceRequest::default() }).unwrap();
    assert_eq!(used.results.iter().map(|used| used.id.clone()).collect::<Vec<_>>(), ids);
    let with_new = serve(&engine, &home.lines().0);

    let answer = engine.compact(false).unwrap();
    assert_eq!(answer.quarantined, bad.len());
    assert_eq!(files_in(&home.path().join("quarantine")).len(), usize::from(!bad.is_empty()));
    let compacted = fs::read(home.journal()).unwrap();
    assert_eq!(compacted.len(), answer.bytes_after, "{answer:?}");
    let (told, bad) = home.lines();
    assert_eq!((told.len(), bad), (answer.lines_after, Vec::new()));
    assert_same(&with_new, &serve(&engine, &told), "compaction");
    drop(engine);
    let engine = home.engine();
    assert_same(&with_new, &serve(&engine, &told), "opening after compaction");
    engine.compact(false).unwrap();
    let again = fs::read(home.journal()).unwrap();
    assert_eq!(again.escape_ascii().to_string(), compacted.escape_ascii().to_string(), "compacted twice");
    let engine = home.engine();
    assert_same(&with_new, &serve(&engine, &home.lines().0), "opening once more");
    let found: Vec<String> = findings(&engine).into_iter().filter(|what| what.contains("cannot be read")).collect();
    assert_eq!(found, [] as [&str; 0]);
}

fn splice(file: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let (what, place) = (choices.below(8), choices.below(1 << 16) % (file.len() + 1));
    let line_start = |file: &[u8]| file[..place].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    match what {
        // Bytes in between.
        0 => drop(file.splice(place..place, choices.some_bytes().iter().copied())),
        // Bytes over others.
        1 => {
            for (at, byte) in choices.some_bytes().iter().enumerate().take(file.len() - place) {
                file[place + at] = *byte;
            }
        }
        // Bytes gone.
        2 => drop(file.drain(place..(place + choices.below(1 << 16)).min(file.len()))),
        // A piece of the file once more.
        3 => {
            let from = choices.below(1 << 16) % (file.len() + 1);
            let piece = file[from..(from + choices.below(1 << 16)).min(file.len())].to_vec();
            drop(file.splice(place..place, piece));
        }
        // The end gone.
        4 => file.truncate(place),
        // Zeros, as a file has that grew and was never written.
        5 => drop(file.splice(place..place, vec![0; choices.below(1 << 16) % 5000])),
        // A line that somebody wrote with a right checksum.
        6 => {
            let start = line_start(file);
            let body: Vec<u8> = choices.some_bytes().iter().copied().filter(|byte| *byte != b'\n').collect();
            let line = [seal(body.strip_suffix(b"}").unwrap_or(&body)), b"\n".to_vec()].concat();
            drop(file.splice(start..start, line));
        }
        // A line by hand.
        _ => {
            let start = line_start(file);
            let line = [choices.some_bytes(), b"\n"].concat();
            drop(file.splice(start..start, line));
        }
    }
}

/// What the engine serves of the memories that the lines tell. It is the fold of the lines, and nothing else.
fn serve(engine: &Engine, told: &[Told]) -> BTreeMap<String, Opened> {
    let mut state = State::default();
    for told in told {
        state.apply(told.line.clone(), &told.replica, told.number, told.crc);
    }
    state.settle();
    let ids: BTreeSet<String> = told.iter().filter_map(|told| Some(told.line.id?.to_string())).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let served: BTreeMap<String, Opened> =
        opened(engine, &ids).into_iter().map(|memory| (memory.memory.id.clone(), memory)).collect();
    let folded: BTreeMap<String, &ebbmark::memory::Memory> =
        state.memories().map(|memory| (memory.id.to_string(), memory)).collect();
    assert_eq!(served.keys().collect::<Vec<_>>(), folded.keys().collect::<Vec<_>>());
    for (id, memory) in &folded {
        let shown = &served[id];
        assert_eq!(
            (&shown.memory.text, &shown.memory.title, &shown.memory.tags, shown.uses, shown.pinned),
            (&memory.text, &memory.title, &memory.tags, memory.uses.counted(1), memory.is_pinned)
        );
        assert_eq!(shown.memory.superseded_by, memory.superseded.map(|superseded| superseded.by.to_string()));
    }
    served
}

#[track_caller]
fn assert_same(before: &BTreeMap<String, Opened>, after: &BTreeMap<String, Opened>, what: &str) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{what}");
    for (id, memory) in before {
        assert_eq!(memory, &after[id], "{what}");
    }
}

/// A journal with a line of every operation that short-term memories have.
fn good_journal() -> &'static [u8] {
    static JOURNAL: OnceLock<Vec<u8>> = OnceLock::new();
    JOURNAL.get_or_init(|| {
        let mut home = Home::new();
        let engine = home.engine();
        let told = |text: &str| NewMemory { text: text.into(), ..NewMemory::default() };
        let answer = engine.remember(&RememberRequest {
            op_key: Some("sync-1".into()),
            ..RememberRequest::of(&[
                told("Prefers tea over coffee in the morning."),
                NewMemory {
                    tags: vec!["ops/ports".into()],
                    entities: vec!["Billing API".into()],
                    scope: Some("falcon".into()),
                    source: Some(SourceInput { who: Some("agent".into()), ..SourceInput::default() }),
                    ..told("The billing API listens on port 8080.")
                },
                NewMemory { pinned: Some(true), strength: Some(1.5), ..told("Owns a red bicycle from 1998.") },
                told("Rents a garage by the canal."),
            ])
        });
        let ids: Vec<String> = answer.unwrap().results.into_iter().map(|told| told.id.unwrap()).collect();
        home.now = home.now.plus_millis(3_600_000);
        let engine = home.engine();
        let newer = NewMemory { supersedes: vec![ids[0].clone()], ..told("Drinks only water since the spring.") };
        engine.remember(&RememberRequest::of(&[newer])).unwrap();
        let title = Some("Billing port".into());
        engine.revise(&ReviseRequest { id: ids[1].clone(), title, ..ReviseRequest::default() }).unwrap();
        engine.reinforce(&ReinforceRequest { ids: ids[1..3].to_vec(), ..ReinforceRequest::default() }).unwrap();
        engine.forget(&ForgetRequest { ids: ids[2..4].to_vec(), ..ForgetRequest::default() }).unwrap();
        home.now = home.now.plus_millis(3_600_000);
        let engine = home.engine();
        engine.restore(&RestoreRequest { ids: ids[2..3].to_vec() }).unwrap();
        engine.remember(&RememberRequest::of(&[told("The billing API listens on port 8080.")])).unwrap();
        engine.reinforce(&ReinforceRequest { ids: ids[2..3].to_vec(), ..ReinforceRequest::default() }).unwrap();
        fs::read(home.journal()).unwrap()
    })
}
