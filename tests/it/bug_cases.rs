//! What went wrong for people who use systems like this one, case by case. The numbers are those of a collection of
//! public reports; each test says what is right, for all inputs of its kind.
//!
//! Here: the journal, and what a memory means. Full disks are in `bug_disk.rs`, the index and stale answers in
//! `bug_index.rs`, clocks in `bug_clocks.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use ebbmark::engine::{Engine, ForgetRequest, NewMemory, Outcome, RecallRequest, RememberRequest};
use ebbmark::error::Error;

use crate::support::{Calls, Store, files_below, holds, lines_of, sealed};

/// What recall says about its answer, beside the hits, and beside the modes of files that a test laid out.
pub(crate) fn notice(engine: &Engine, query: &str) -> Option<String> {
    let answer = engine.recall(&RecallRequest { reinforce: Some(false), ..RecallRequest::of(query) }).unwrap();
    answer.notice.filter(|notice| !notice.contains("its mode 0"))
}

/// Says, whatever the harness swallows, what this machine did not let us test.
pub(crate) fn say(what: &str) {
    std::io::stderr().write_all(format!("{what}\n").as_bytes()).unwrap();
}

// B02: a missing final newline.

#[test]
fn b02_a_missing_final_newline_does_not_glue_the_next_record() {
    let store = Store::new();
    let ids = store.fill(3);
    let mut bytes = fs::read(store.journal()).unwrap();
    assert_eq!(bytes.pop(), Some(b'\n'));
    store.write_journal(&bytes);
    store.ok(&["remember", "After the gap"]);
    let after = fs::read(store.journal()).unwrap();
    assert_eq!(after.strip_prefix(&bytes[..]).map(|rest| rest[0]), Some(b'\n'), "the gap was not closed first");
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert_eq!(engine.whole(&ids[2]).memory.text, "Shelf 2");
    assert_eq!(engine.texts("gap"), ["After the gap"]);
    assert!(engine.health().ok, "{:?}", engine.health());
}

#[test]
fn b02_what_another_program_appends_without_a_newline_costs_nothing_but_itself() {
    let store = Store::new();
    store.fill(3);
    let append = |bytes: &[u8]| {
        fs::OpenOptions::new().append(true).open(store.journal()).unwrap().write_all(bytes).unwrap();
    };
    append(br#"{"x":1}"#);
    store.ok(&["remember", "After the stranger"]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    let found = engine.health();
    assert!(!found.ok && found.findings[0].what.contains("line 5"), "{found:?}");

    // A running process meets it too.
    append(br#"{"y":2}"#);
    engine.save("After another stranger");
    assert_eq!(engine.counts().active, 5);
    assert_eq!(store.engine().counts().active, 5);
    assert_eq!(store.engine().health().findings.len(), 2);
    assert!(holds(&fs::read(store.journal()).unwrap(), b"{\"x\":1}\n"));
    assert!(holds(&fs::read(store.journal()).unwrap(), b"{\"y\":2}\n"));
}

// B03: one bad line.

/// A journal of 1,000 memories, split at the line of number 500.
struct Thousand {
    before: Vec<u8>,
    line: String,
    after: Vec<u8>,
}

impl Thousand {
    const LINE: usize = 500;

    fn new() -> Self {
        let origin = Store::new();
        origin.fill(1000);
        let whole = fs::read(origin.journal()).unwrap();
        // The first line is the journal's own.
        let good = lines_of(&whole);
        let line = std::str::from_utf8(good[Self::LINE]).unwrap().to_owned();
        assert!(line.contains("\"Shelf 499\""), "{line}");
        Thousand { before: good[..Self::LINE].concat(), line, after: good[Self::LINE + 1..].concat() }
    }

    /// The line's fields, without checksum and closing brace.
    fn unsealed(&self) -> &str {
        self.line.split_once(",\"crc\":").unwrap().0
    }

    /// A store whose journal has `bad` in the line's place.
    fn with(&self, bad: &[u8]) -> Store {
        let store = Store::in_memory();
        store.write_journal([&self.before[..], bad, &self.after].concat());
        store
    }

    /// How health names the place.
    fn place(&self) -> String {
        format!("line {} (byte {})", Self::LINE + 1, self.before.len())
    }
}

#[test]
fn b03_one_bad_line_costs_itself_is_named_and_is_kept() {
    let thousand = Thousand::new();
    let wrong_sum = format!("{},\"crc\":\"00000000\"}}\n", thousand.unsealed().replace("Shelf 499", "Shelf of lies"));
    let half = format!("{}\n", &thousand.line[..thousand.line.len() / 2]);
    let mut high_bytes = thousand.line.clone().into_bytes();
    high_bytes[60] = 0xe9;
    let cases: [(&str, &[u8]); 12] = [
        ("an opening brace", b"{\n"),
        ("64 zeros", &[&[0; 64][..], b"\n"].concat()),
        ("a list", b"[]\n"),
        ("null", b"null\n"),
        ("a string", b"\"text\"\n"),
        ("no UTF-8", b"\xff\xfe\x00\n"),
        ("a byte of Latin-1", &high_bytes),
        ("30 MB", &[&vec![b'x'; 30_000_000][..], b"\n"].concat()),
        ("3 MB of brackets", &[&vec![b'['; 3_000_000][..], b"\n"].concat()),
        ("a wrong checksum", wrong_sum.as_bytes()),
        ("half of itself", half.as_bytes()),
        ("nothing that is known", b"{\"v\":1,\"n\":500}\n"),
    ];
    for (what, bad) in cases {
        let store = thousand.with(bad);
        let engine = store.engine();
        assert_eq!(engine.counts().active, 999, "{what}");
        assert!(!engine.texts("lies").iter().any(|text| text.contains("lies")), "{what} is served");
        engine.save("A later thought");
        assert_eq!(store.engine().counts().active, 1000, "{what}, then one more");
        let named = |text: &str| text.contains(&thousand.place()) && text.contains("aaaa1111.jsonl");
        for found in [engine.health(), store.engine().health()] {
            assert!(found.findings.iter().any(|finding| named(&finding.what)), "{what}: {found:?}");
        }
        let run = store.run(&["inspect", "health"]);
        let place = thousand.place().replace(" (", ", ").replace(')', "");
        let is_named = run.stdout.contains(&place) && run.stdout.contains("aaaa1111.jsonl");
        assert!(run.code != 0 && is_named, "{what}: {run}");
        assert!(holds(&fs::read(store.journal()).unwrap(), bad), "{what} was overwritten");
    }
}

#[test]
fn b03_compaction_keeps_the_bytes_of_bad_lines() {
    let thousand = Thousand::new();
    let store = thousand.with(b"{\"first\n");
    let quarantine = store.home().join("quarantine");
    let in_quarantine = |needle: &[u8]| files_below(&quarantine).values().any(|bytes| holds(bytes, needle));
    assert_eq!(store.engine().compact(true).unwrap().quarantined, 1);
    assert!(!quarantine.exists(), "a trial run moved something");
    assert_eq!(store.engine().compact(false).unwrap().quarantined, 1);
    assert!(in_quarantine(b"{\"first\n"));
    assert!(store.engine().health().ok, "{:?}", store.engine().health());

    // Later ones are put beside it, never over it.
    for bad in [&b"{\"second\n"[..], &[&vec![b'y'; 30_000_000][..], b"\n"].concat(), b"caf\xe9\n"] {
        let journal = fs::read(store.journal()).unwrap();
        store.write_journal([&journal[..], bad].concat());
        assert_eq!(store.engine().compact(false).unwrap().quarantined, 1);
        assert_eq!(store.engine().compact(false).unwrap().quarantined, 0);
        assert!(in_quarantine(bad), "{:.40}", bad.escape_ascii().to_string());
        assert!(in_quarantine(b"{\"first\n"));
    }
    assert_eq!(store.engine().counts().active, 999);
}

#[test]
fn b03_an_empty_line_is_no_damage() {
    let thousand = Thousand::new();
    for empty in [&b"\n"[..], b"\n\n\n", b"\r\n", b"  \t \n"] {
        let store = thousand.with(empty);
        assert_eq!(store.engine().counts().active, 999, "{empty:?}");
        store.engine().save("A later thought");
        assert_eq!(store.engine().counts().active, 1000, "{empty:?}");
    }
}

#[test]
fn b03_a_line_of_a_newer_format_is_skipped_named_and_never_dropped() {
    let thousand = Thousand::new();
    let newer = sealed(&thousand.unsealed().replacen("{\"v\":1,", "{\"v\":99,", 1));
    let store = thousand.with(newer.as_bytes());
    let engine = store.engine();
    assert_eq!(engine.counts().active, 999);
    let found = engine.health();
    assert!(found.findings.iter().any(|finding| finding.what.contains(&thousand.place())), "{found:?}");
    // What a newer Ebbmark wrote is not for this one to add to, nor to drop.
    let before = fs::read(store.journal()).unwrap();
    let told = engine.remember(&RememberRequest::of(&[NewMemory { text: "Later".into(), ..NewMemory::default() }]));
    for error in [told.unwrap_err(), store.engine().compact(false).unwrap_err()] {
        assert!(matches!(error, Error::Newer { .. }), "{error}");
        assert!(error.hint().contains("update Ebbmark"), "{}", error.hint());
    }
    assert!(fs::read(store.journal()).unwrap() == before && holds(&before, newer.as_bytes()));
    assert_eq!(store.engine().counts().active, 999);
}

#[test]
fn b03_a_line_with_an_operation_that_nobody_knows_is_kept() {
    let thousand = Thousand::new();
    let unknown = sealed(&thousand.unsealed().replacen("\"op\":\"remember\"", "\"op\":\"juggle\"", 1));
    let store = thousand.with(unknown.as_bytes());
    assert_eq!(store.engine().counts().active, 999);
    drop(store.engine().compact(false));
    assert!(holds(&fs::read(store.journal()).unwrap(), unknown.as_bytes()));
    assert_eq!(store.engine().counts().active, 999);
}

#[test]
fn b03_half_a_record_before_a_whole_one_on_its_line_costs_itself() {
    let thousand = Thousand::new();
    // As a program leaves it that does not look for a torn tail before it appends.
    let half = &thousand.line[..thousand.line.len() / 2];
    let twin = sealed(&thousand.unsealed().replace("Shelf 499", "Shelf beside").replacen("\"n\":501", "\"n\":1002", 1));
    let store = thousand.with(format!("{half}{twin}").as_bytes());
    let engine = store.engine();
    let active = engine.counts().active;
    assert!((999..=1000).contains(&active), "{active}");
    assert!(!engine.health().ok);
    engine.save("A later thought");
    engine.compact(false).unwrap();
    assert_eq!(store.engine().counts().active, active + 1);
    let kept = files_below(&store.home().join("quarantine"));
    assert!(kept.values().any(|bytes| holds(bytes, half.as_bytes())), "the bytes are gone");
}

#[test]
fn b03_two_records_on_one_line_are_both_served() {
    let thousand = Thousand::new();
    let twin = sealed(
        &thousand.unsealed().replace("Shelf 499", "Shelf beside").replacen("\"n\":501", "\"n\":1002", 1).replacen(
            &format!("\"id\":\"{}\"", id_of(&thousand.line)),
            "\"id\":\"bes1desbes1d\"",
            1,
        ),
    );
    for glued in [format!("{}{twin}", thousand.line.trim_end()), format!("{} {twin}", thousand.line.trim_end())] {
        let store = thousand.with(glued.as_bytes());
        let engine = store.engine();
        let later = engine.save("A later thought");
        assert_eq!(engine.whole(&later).memory.text, "A later thought");
        assert_eq!(engine.counts().active, 1002, "{:?}", engine.health());
        assert_eq!(engine.whole("bes1desbes1d").memory.text, "Shelf beside");
        drop(engine.compact(false));
        assert_eq!(store.engine().counts().active, 1002);
    }
}

/// The id in a journal line.
fn id_of(line: &str) -> &str {
    line.split_once("\"id\":\"").unwrap().1.split_once('"').unwrap().0
}

// B05: damage must be noticed.

#[test]
fn b05_a_flipped_bit_is_noticed_by_every_door_and_nothing_is_served_as_true() {
    let store = Store::new();
    let ids = store.fill(5);
    assert_eq!(store.run(&["inspect", "health"]).code, 0);
    let text = fs::read_to_string(store.journal()).unwrap();
    // One bit apart, and still JSON.
    store.write_journal(text.replace("Shelf 3", "Shelf 2"));
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert!(engine.find(&ids[3]).is_none());
    assert!(!engine.texts("shelf").contains(&"Shelf 3".to_owned()));
    assert_eq!(engine.texts("shelf").iter().filter(|text| *text == "Shelf 2").count(), 1);
    assert!(!engine.health().ok);
    let said = notice(&engine, "shelf");
    assert!(said.is_some(), "recall is silent about a line that it cannot read");
    assert!(notice(&engine, "nothing like that").is_some(), "recall is silent where it finds nothing");
    let run = store.run(&["inspect", "health"]);
    assert!(run.code != 0 && run.stdout.contains("line 5"), "{run}");
    let run = store.run(&["recall", "shelf"]).exits(0);
    assert!(run.stdout.contains(&said.unwrap()) || !run.stderr.is_empty(), "{run}");
}

#[test]
fn b05_damage_while_the_process_runs_is_noticed_when_it_next_looks_at_the_file() {
    let store = Store::new();
    store.fill(5);
    let engine = store.engine();
    engine.refresh().unwrap();
    let text = fs::read_to_string(store.journal()).unwrap();
    store.write_journal(text.replace("Shelf 3", "Shelf 2"));
    // The next process sees it at once; this one at the latest when it reads the file anew.
    assert!(!store.engine().health().ok);
    engine.save("A later thought");
    engine.compact(false).unwrap();
    let kept = files_below(&store.home().join("quarantine"));
    assert!(kept.values().any(|bytes| holds(bytes, b"Shelf 2")), "the damaged bytes are gone");
    let active = store.engine().counts().active;
    assert_eq!(engine.counts().active, active);
    // Five were saved and one later; the damaged one is known to none.
    assert_eq!(active, 5);
}

// Meaning (after mem0): the same again, the contrary, and all of one scope.

#[test]
fn mem0_1674_the_same_sentence_three_times_is_one_memory() {
    let mut store = Store::new();
    let id = store.engine().save("Works from the library on Fridays");
    for _ in 0..2 {
        store.pass_hours(1);
        let memory = NewMemory { text: "Works from the library on Fridays".into(), ..NewMemory::default() };
        let told = store.engine().tell(memory);
        assert_eq!((told.outcome, told.id.as_ref()), (Outcome::Reinforced, Some(&id)));
    }
    let engine = store.engine();
    assert_eq!((engine.counts().active, engine.counts().forgotten), (1, 0));
    let memory = engine.whole(&id);
    // Told once, used twice.
    assert_eq!((memory.uses, memory.history.len()), (2, 3), "{memory:?}");
    assert_eq!(engine.texts("library Fridays"), ["Works from the library on Fridays"]);
}

#[test]
fn mem0_4580_the_contrary_deletes_nothing() {
    let store = Store::new();
    let old = store.engine().save("Likes tea");
    let memory =
        |supersedes: Vec<String>| NewMemory { text: "No longer likes tea".into(), supersedes, ..NewMemory::default() };
    // Said by itself: both are kept, and the reply names the other one.
    let told = store.engine().tell(memory(vec![]));
    assert_ne!(told.outcome, Outcome::Reinforced, "{told:?}");
    let new = told.id.unwrap();
    assert_ne!(new, old);
    let both = store.engine().counts();
    assert_eq!((both.active + both.superseded, both.forgotten), (2, 0));
    // Said to take its place: the old one steps back, with a link.
    store.engine().tell(memory(vec![old.clone()]));
    let engine = store.engine();
    assert_eq!(engine.texts("likes tea"), ["No longer likes tea"]);
    let (old, new) = (engine.whole(&old), engine.whole(&new));
    assert_eq!((old.memory.status.as_str(), old.memory.superseded_by.as_ref()), ("superseded", Some(&new.memory.id)));
    assert_eq!(old.memory.text, "Likes tea");
    assert_eq!(new.memory.previously[0].id, old.memory.id);
    assert!(!old.history.is_empty() && !new.history.is_empty());
}

#[test]
fn mem0_3695_forgetting_all_of_one_scope_leaves_the_other() {
    let store = Store::new();
    let mut ids = BTreeMap::new();
    for scope in ["falcon", "heron"] {
        for n in 0..10 {
            let memory = NewMemory {
                text: format!("Nest {n} of the {scope} is in the old oak"),
                scope: Some(scope.into()),
                ..NewMemory::default()
            };
            ids.entry(scope).or_insert_with(Vec::new).push(store.engine().tell(memory).id.unwrap());
        }
    }
    store.engine().clean();
    let of = |engine: &Engine, scope: &str| {
        let request = RecallRequest {
            scope: vec![scope.into()],
            limit: Some(50),
            reinforce: Some(false),
            ..RecallRequest::of("nest in the old oak")
        };
        let mut ids: Vec<String> = engine.recall(&request).unwrap().hits.into_iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    };
    for ids in ids.values_mut() {
        ids.sort();
    }
    assert_eq!(of(&store.engine(), "falcon"), ids["falcon"]);
    let answer =
        store.engine().forget(&ForgetRequest { ids: ids["falcon"].clone(), ..ForgetRequest::default() }).unwrap();
    assert_eq!(answer.forgotten.len(), 10);
    for is_tidied in [false, true] {
        if is_tidied {
            store.engine().clean();
        }
        let engine = store.engine();
        assert_eq!(of(&engine, "falcon"), Vec::<String>::new());
        assert_eq!(of(&engine, "heron"), ids["heron"]);
        assert!(ids["falcon"].iter().all(|id| engine.find(id).is_none()));
        assert!(ids["heron"].iter().all(|id| engine.find(id).is_some()));
        assert_eq!((engine.counts().active, engine.counts().forgotten), (10, 10));
    }
}
