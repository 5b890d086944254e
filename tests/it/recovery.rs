//! Torn, damaged and full: what was acknowledged is served, what cannot be read is reported and kept.

use std::fs;
use std::io::Write;
use std::thread;

use ebbmark::engine::{Engine, Health, InspectRequest, NewMemory, RecallRequest, RememberRequest, View};
use ebbmark::error::Error;

use crate::support::{Calls, Store, files_below};

fn health(engine: &Engine) -> Health {
    engine.inspect(&InspectRequest { view: Some(View::Health), limit: None }).unwrap().health.unwrap()
}

/// A store whose journal holds a first line and `count` memories, and their ids.
fn filled(store: &Store, count: usize) -> Vec<String> {
    let memories: Vec<NewMemory> =
        (0..count).map(|n| NewMemory { text: format!("Shelf {n}"), ..NewMemory::default() }).collect();
    let answer = store.engine().remember(&RememberRequest::of(&memories)).unwrap();
    answer.results.into_iter().map(|told| told.id.unwrap()).collect()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Gives a line without its closing brace the checksum that the format promises.
fn sealed(line: &str) -> String {
    format!("{line},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(line.as_bytes()))
}

/// What a journal cut at `cut` serves, before and after the next memory is told.
fn serve_cut(store: &Store, whole: &[u8], ends: &[usize], cut: usize) {
    fs::write(store.journal(), &whole[..cut]).unwrap();
    // The first line is the journal's own.
    let served = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1) as u64;
    let lacks_only_its_newline = cut > ends[0] && ends.contains(&(cut + 1));
    let engine = store.engine();
    let before = engine.counts().active;
    assert!((served..=served + u64::from(lacks_only_its_newline)).contains(&before), "cut at {cut}: {before}");

    let id = engine.save("A later thought");
    let after = fs::read(store.journal()).unwrap();
    let added = after.strip_prefix(&whole[..cut]).expect("what was there stays");
    let added = if cut == 0 || ends.contains(&cut) { added } else { added.strip_prefix(b"\n").expect("a line end") };
    let last = lines(added).pop().unwrap();
    assert!(last.starts_with(b"{\"v\":1,") && last.ends_with(b"}\n"), "cut at {cut}: {}", last.escape_ascii());
    assert!(last.windows(id.len()).any(|window| window == id.as_bytes()), "cut at {cut}");

    // Reading all of it again is most of the cost: not at every byte of a text.
    let is_near_an_end = ends.iter().any(|end| cut.abs_diff(*end) < 4);
    if is_near_an_end || cut.is_multiple_of(16) {
        let reopened = store.engine();
        let expected = served + u64::from(lacks_only_its_newline) + 1;
        assert_eq!(reopened.counts().active, expected, "cut at {cut}, then one more");
        assert_eq!(reopened.whole(&id).memory.text, "A later thought", "cut at {cut}");
    }
}

#[test]
fn a_journal_cut_at_any_byte_serves_its_whole_lines_and_takes_the_next_one() {
    let origin = Store::new();
    filled(&origin, 199);
    let whole = fs::read(origin.journal()).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(ends.len(), 200);

    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for first in 0..threads {
            let (whole, ends) = (&whole, &ends);
            scope.spawn(move || {
                let store = Store::in_memory();
                fs::create_dir_all(store.home().join("short-term")).unwrap();
                (first..=whole.len()).step_by(threads).for_each(|cut| serve_cut(&store, whole, ends, cut));
            });
        }
    });
}

#[test]
fn a_memory_whose_newline_is_missing_is_served_beside_the_next() {
    let store = Store::new();
    filled(&store, 3);
    let mut bytes = fs::read(store.journal()).unwrap();
    assert_eq!(bytes.pop(), Some(b'\n'));
    fs::write(store.journal(), &bytes).unwrap();
    store.ok(&["remember", "After the gap"]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert!(health(&engine).ok, "{:?}", health(&engine));
}

#[test]
fn what_another_program_appended_costs_nothing_but_itself() {
    let store = Store::new();
    filled(&store, 3);
    fs::OpenOptions::new().append(true).open(store.journal()).unwrap().write_all(br#"{"x":1}"#).unwrap();
    store.ok(&["remember", "After the stranger"]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    let found = health(&engine);
    assert!(!found.ok && found.findings[0].what.contains("line 5"), "{found:?}");
}

/// What a newer Ebbmark wrote is not for us to add to, nor to drop.
fn only_read(store: &Store, engine: &Engine, newer: &[u8]) {
    let before = fs::read(store.journal()).unwrap();
    let told = engine.remember(&RememberRequest::of(&[NewMemory { text: "Later".into(), ..NewMemory::default() }]));
    for error in [told.unwrap_err(), store.engine().compact(false).unwrap_err()] {
        assert!(matches!(error, Error::Newer { line: 51, .. }), "{error}");
        assert!(error.hint().contains("update Ebbmark"), "{}", error.hint());
    }
    let after = fs::read(store.journal()).unwrap();
    assert!(after == before && before.windows(newer.len()).any(|window| window == newer));
    let answer = engine.recall(&RecallRequest { reinforce: Some(false), ..RecallRequest::of("shelf") }).unwrap();
    assert!(!answer.hits.is_empty());
    let found = health(engine);
    assert!(found.findings.iter().any(|finding| finding.next.contains("update Ebbmark")), "{found:?}");
}

#[test]
fn one_bad_line_costs_itself_is_named_and_is_kept() {
    let origin = Store::new();
    filled(&origin, 100);
    let whole = fs::read(origin.journal()).unwrap();
    let good = lines(&whole);
    let target = 50;
    let (before, victim, after) = (good[..target].concat(), good[target], good[target + 1..].concat());
    let victim = std::str::from_utf8(victim).unwrap();
    let unsealed = victim.split_once(",\"crc\":").unwrap().0;
    let newer = sealed(&unsealed.replacen("{\"v\":1,", "{\"v\":99,", 1));
    let fields = unsealed.replace("Shelf 49", "Shelf of lies");
    let wrong_sum = format!("{fields},\"crc\":\"00000000\"}}\n");
    let cases: [(&str, Vec<u8>, bool); 11] = [
        ("an opening brace", b"{\n".to_vec(), true),
        ("an empty line", b"\n".to_vec(), false),
        ("zeros", [vec![0; 64], b"\n".to_vec()].concat(), true),
        ("a list", b"[]\n".to_vec(), true),
        ("null", b"null\n".to_vec(), true),
        ("a string", b"\"text\"\n".to_vec(), true),
        ("no UTF-8", b"\xff\xfe\x00\n".to_vec(), true),
        ("30 MB", [vec![b'x'; 30_000_000], b"\n".to_vec()].concat(), true),
        ("a newer format", newer.into_bytes(), true),
        ("a wrong checksum", wrong_sum.into_bytes(), true),
        ("half of itself", victim.as_bytes()[..victim.len() / 2].iter().copied().chain(*b"\n").collect(), true),
    ];
    for (what, bad, is_reported) in cases {
        let store = Store::new();
        fs::create_dir_all(store.home().join("short-term")).unwrap();
        fs::write(store.journal(), [&before[..], &bad, &after].concat()).unwrap();
        let engine = store.engine();
        assert_eq!(engine.counts().active, 99, "{what}");
        assert!(engine.texts("lies").is_empty(), "{what} is served");
        if what == "a newer format" {
            only_read(&store, &engine, &bad);
            continue;
        }
        engine.save("A later thought");
        assert_eq!(store.engine().counts().active, 100, "{what}, then one more");
        if !is_reported {
            continue;
        }
        let found = health(&engine);
        let place = format!("line {} (byte {})", target + 1, before.len());
        let named = |text: &str| text.contains(&place) && text.contains("aaaa1111.jsonl");
        assert!(found.findings.iter().any(|finding| named(&finding.what)), "{what}: {found:?}");

        let compacted = store.engine().compact(false).unwrap();
        assert_eq!(compacted.quarantined, 1, "{what}");
        store.engine().compact(false).unwrap();
        assert_eq!(store.engine().counts().active, 100, "{what}, compacted");
        let kept = files_below(&store.home().join("quarantine"));
        let bad = &bad[..bad.len() - 1];
        let is_kept = kept.values().any(|bytes| bytes.windows(bad.len()).any(|window| window == bad));
        // Bytes that are no UTF-8 may be kept in another writing, but not dropped.
        assert!(is_kept || std::str::from_utf8(bad).is_err() && !kept.is_empty(), "{what} is not in quarantine");
    }
}

#[test]
fn two_records_on_one_line_are_both_served_or_the_line_is_kept() {
    let store = Store::new();
    filled(&store, 10);
    let whole = fs::read_to_string(store.journal()).unwrap();
    let glued = whole.replacen("}\n{\"v\":1,\"n\":6,", "}{\"v\":1,\"n\":6,", 1);
    assert_ne!(whole, glued);
    fs::write(store.journal(), glued).unwrap();
    let engine = store.engine();
    let active = engine.counts().active;
    assert!(active == 10 || active == 8 && !health(&engine).ok, "{active}: {:?}", health(&engine));
    assert_eq!(engine.whole(&engine.save("A later thought")).memory.text, "A later thought");
}

#[test]
fn a_flipped_bit_is_found_and_its_memory_not_served_as_true() {
    let store = Store::new();
    filled(&store, 5);
    let text = fs::read_to_string(store.journal()).unwrap();
    // One bit apart, and still JSON.
    fs::write(store.journal(), text.replace("Shelf 3", "Shelf 2")).unwrap();
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert!(!health(&engine).ok);
}

#[test]
fn recall_says_that_the_store_has_damage() {
    let store = Store::new();
    filled(&store, 5);
    let text = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), text.replace("Shelf 3", "Shelf 2")).unwrap();
    let answer = store.engine().recall(&RecallRequest::of("shelf")).unwrap();
    assert!(answer.notice.is_some(), "recall is silent about a line that it cannot read");
}

#[test]
fn health_exits_with_another_code_where_lines_cannot_be_read() {
    let store = Store::new();
    filled(&store, 5);
    assert_eq!(store.run(&["inspect", "health"]).code, 0);
    let text = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), text.replace("Shelf 3", "Shelf 2")).unwrap();
    let run = store.run(&["inspect", "health"]);
    assert!(run.stdout.contains("line 5"), "{run}");
    assert_ne!(run.code, 0, "{run}");
}

#[test]
fn a_torn_tail_is_reported() {
    let store = Store::new();
    filled(&store, 5);
    let bytes = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), &bytes[..bytes.len() - 20]).unwrap();
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert!(!health(&engine).ok, "half a line at the end is not worth a word");
}

#[test]
fn damage_in_bulk_leaves_what_can_be_read() {
    let origin = Store::new();
    filled(&origin, 40);
    let whole = fs::read(origin.journal()).unwrap();
    let mut zeroed = whole.clone();
    zeroed[1000..1512].fill(0);
    let tail = whole[whole.len() / 2..].to_vec();
    let utf16: Vec<u8> = String::from_utf8(whole.clone()).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let crlf = String::from_utf8(whole.clone()).unwrap().replace('\n', "\r\n").into_bytes();
    let cases: [(&str, Vec<u8>, u64); 7] = [
        ("a zeroed block", zeroed, 34),
        ("zeros at the end", [&whole[..], &[0; 512]].concat(), 40),
        ("its own tail again", [&whole[..], &tail].concat(), 40),
        ("itself again", [&whole[..], &whole].concat(), 40),
        ("Windows line ends", crlf, 40),
        ("a byte order mark", [b"\xef\xbb\xbf", &whole[..]].concat(), 40),
        ("UTF-16", utf16, 0),
    ];
    for (what, bytes, at_least) in cases {
        let store = Store::new();
        fs::create_dir_all(store.home().join("short-term")).unwrap();
        fs::write(store.journal(), bytes).unwrap();
        let active = store.engine().counts().active;
        assert!((at_least..=40).contains(&active), "{what}: {active}");
        store.engine().save("A later thought");
        let found = health(&store.engine());
        assert_eq!(store.engine().counts().active, active + 1, "{what}, then one more");
        store.engine().compact(false).unwrap();
        assert_eq!(store.engine().counts().active, active + 1, "{what}, compacted");
        assert_eq!(found.ok, files_below(&store.home().join("quarantine")).is_empty(), "{what}: {found:?}");
    }
}

#[test]
fn conflict_markers_in_a_journal_hide_neither_side() {
    let store = Store::new();
    let ids = filled(&store, 2);
    let text = fs::read_to_string(store.journal()).unwrap();
    let revised = |order: i64, text: &str| {
        sealed(&format!(
            "{{\"v\":1,\"n\":4,\"at\":\"2026-11-29T12:00:00.000Z\",\"o\":{order},\"op\":\"revise\",\"id\":\"{}\",\"text\":\"{text}\"",
            ids[1]
        ))
    };
    let ours = revised(1_795_953_700_000, "Shelf in the cellar");
    let theirs = revised(1_795_953_700_001, "Shelf in the attic");
    let conflicted = format!("{text}<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> laptop\n");
    fs::write(store.journal(), conflicted).unwrap();
    let engine = store.engine();
    let opened = engine.whole(&ids[1]);
    assert_eq!(opened.memory.text, "Shelf in the attic");
    let told: Vec<String> = opened.history.into_iter().filter_map(|entry| entry.text).collect();
    assert!(told.contains(&"Shelf in the cellar".to_owned()), "{told:?}");
    assert_eq!(health(&engine).findings.len(), 3, "{:?}", health(&engine));
}

/// A limit on file sizes fails a write half-way, as a full disk does.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_half_way_keeps_the_old_and_takes_the_next() {
    let store = Store::new();
    store.ok(&["remember", "First"]);
    let before = fs::read(store.journal()).unwrap();
    let long = "word ".repeat(4000);
    // 16 blocks of 512 bytes, or of 1024 where the shell counts so.
    let script = format!("trap '' XFSZ; ulimit -f 16; exec \"$EBBMARK\" remember '{long}' --json");
    let run = store.shell(&script).exits(3);
    assert_eq!(run.json()["kind"], "environment", "{run}");
    assert_eq!(fs::read(store.journal()).unwrap(), before, "half a line stayed");
    store.ok(&["remember", "Second"]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, 2);
    assert!(health(&engine).ok);
}

#[test]
fn reading_writes_nothing() {
    let store = Store::new();
    for command in [&["recall", "tea"][..], &["stats"], &["where"], &["inspect", "health"], &["faded"]] {
        store.ok(command);
        assert!(!store.home().exists() && !store.vault().exists(), "{command:?} made something");
    }
    filled(&store, 2);
    let names = || files_below(store.root()).into_keys().collect::<Vec<_>>();
    let before = names();
    store.ok(&["recall", "shelf", "--no-reinforce"]);
    store.ok(&["open", &store.engine().hits("shelf")[0].id]);
    assert_eq!(names(), before);
}
