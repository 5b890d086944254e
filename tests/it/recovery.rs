//! Torn, damaged and full: what was acknowledged is served, what cannot be read is reported and kept.

use std::fs;
use std::thread;

use crate::support::{Calls, Store, files_below, lines_of, sealed};

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
    let last = lines_of(added).pop().unwrap();
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
    origin.fill(199);
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
                // What the texts mean is worked out anew at each of the many openings, and does not matter here.
                store.configure("[recall]\nmodel = \"off\"\n");
                (first..=whole.len()).step_by(threads).for_each(|cut| serve_cut(&store, whole, ends, cut));
            });
        }
    });
}

#[test]
fn a_torn_tail_is_reported() {
    let store = Store::new();
    store.fill(5);
    let bytes = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), &bytes[..bytes.len() - 20]).unwrap();
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert!(!engine.health().ok, "half a line at the end is not worth a word");
}

#[test]
fn damage_in_bulk_leaves_what_can_be_read() {
    let origin = Store::new();
    origin.fill(40);
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
        let found = store.engine().health();
        assert_eq!(store.engine().counts().active, active + 1, "{what}, then one more");
        store.engine().compact(false).unwrap();
        assert_eq!(store.engine().counts().active, active + 1, "{what}, compacted");
        assert_eq!(found.ok, files_below(&store.home().join("quarantine")).is_empty(), "{what}: {found:?}");
    }
}

#[test]
fn conflict_markers_in_a_journal_hide_neither_side() {
    let store = Store::new();
    let ids = store.fill(2);
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
    assert_eq!(engine.health().findings.len(), 3, "{:?}", engine.health());
}

#[test]
fn reading_writes_nothing() {
    let store = Store::new();
    for command in [&["recall", "tea"][..], &["stats"], &["where"], &["inspect", "health"], &["faded"]] {
        store.ok(command);
        assert!(!store.home().exists() && !store.vault().exists(), "{command:?} made something");
    }
    store.fill(2);
    let names = || files_below(store.root()).into_keys().collect::<Vec<_>>();
    let before = names();
    store.ok(&["recall", "shelf", "--no-reinforce"]);
    store.ok(&["open", &store.engine().hits("shelf")[0].id]);
    assert_eq!(names(), before);
}
