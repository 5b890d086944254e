//! Journals as people, editors, sync programs and bad disks leave them: nothing that can be read is lost, nothing
//! that cannot is thrown away, and the next write is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ebbmark::engine::{
    Engine, Health, NewMemory, OpenRequest, Opened, ReinforceRequest, RememberRequest, ReviseRequest, TidyRequest,
};

use crate::support::{Calls, Dice, Store, files_below, holds, lines_of, sealed};

/// Everything about some memories, as the store tells it.
fn state(store: &Store, ids: &[String]) -> Vec<Opened> {
    let engine = store.engine();
    let mut opened = Vec::new();
    for ids in ids.chunks(100) {
        let request = OpenRequest { ids: ids.to_vec(), history: Some(true), relations: None };
        opened.extend(engine.open_memories(&request).unwrap().memories);
    }
    opened
}

/// As [`state`] tells it, without the steps that led there.
fn facts(opened: &[Opened]) -> Vec<Opened> {
    opened.iter().map(|memory| Opened { history: Vec::new(), ..memory.clone() }).collect()
}

/// A store with a bit of everything: revised, used, pinned, superseded, forgotten, restored; the ids of all.
fn lived_in(store: &mut Store) -> Vec<String> {
    let mut ids = store.fill(12);
    let engine = store.engine();
    engine.change(ReviseRequest { id: ids[1].clone(), text: Some("Shelf of oak".into()), ..ReviseRequest::default() });
    engine.change(ReviseRequest { id: ids[2].clone(), pinned: Some(true), ..ReviseRequest::default() });
    let newer = NewMemory { text: "Shelf of glass".into(), supersedes: vec![ids[3].clone()], ..NewMemory::default() };
    ids.push(engine.tell(newer).id.unwrap());
    engine.drop_memory(&ids[4]);
    engine.drop_memory(&ids[5]);
    engine.bring_back(&ids[5]);
    drop(engine);
    for _ in 0..3 {
        store.pass_hours(1);
        let request = ReinforceRequest { ids: vec![ids[6].clone(), ids[7].clone()], ..ReinforceRequest::default() };
        store.engine().reinforce(&request).unwrap();
    }
    ids
}

/// A store whose journal folder holds these files.
fn with_files(now: &Store, files: &[(&str, &[u8])]) -> Store {
    let mut store = Store::in_memory();
    // Ids that no line of the files has.
    (store.now, store.seed) = (now.now, None);
    fs::create_dir_all(store.home().join("short-term")).unwrap();
    for (name, bytes) in files {
        fs::write(store.home().join("short-term").join(name), bytes).unwrap();
    }
    store
}

/// Saves one more and compacts: all that was served is served after both, and nothing unreadable is thrown away.
fn go_on(store: &Store, ids: &[String], what: &str) {
    let before = state(store, ids);
    let damaged = store.engine().health();
    let later = store.engine().save("A later thought");
    assert_eq!(state(store, ids), before, "{what}, then one more");
    assert_eq!(store.engine().whole(&later).memory.text, "A later thought", "{what}");
    store.engine().compact(false).unwrap();
    let after = state(store, ids);
    assert_eq!(facts(&after), facts(&before), "{what}, compacted");
    assert_eq!(store.engine().whole(&later).memory.text, "A later thought", "{what}, compacted");
    let own = store.journal().file_name().unwrap().to_string_lossy().into_owned();
    let has_own_damage =
        damaged.findings.iter().any(|finding| finding.what.contains(&own) && finding.what.contains("cannot be read"));
    assert_eq!(has_own_damage, store.home().join("quarantine").exists(), "{what}: {damaged:?}");
}

#[test]
fn a_journal_saved_by_an_editor_is_read_all_the_same() {
    let mut origin = Store::in_memory();
    let ids = lived_in(&mut origin);
    let whole = fs::read(origin.journal()).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let right = state(&origin, &ids);
    assert_eq!(right.len(), 12);
    let marked = [b"\xef\xbb\xbf", &whole[..]].concat();
    let crlf = text.replace('\n', "\r\n").into_bytes();
    let marked_crlf = [b"\xef\xbb\xbf", &crlf[..]].concat();
    let spaced: Vec<u8> = text.lines().flat_map(|line| format!("  {line}  \n\n").into_bytes()).collect();
    for (what, bytes) in [
        ("a byte order mark", marked),
        ("Windows line ends", crlf),
        ("a mark and Windows line ends", marked_crlf),
        ("blanks around its lines and empty lines between", spaced),
    ] {
        let store = with_files(&origin, &[("aaaa1111.jsonl", &bytes)]);
        let served = state(&store, &ids);
        // The mark may cost the line that it stands in, which is only the journal's own.
        assert_eq!(served, right, "{what}: {:?}", store.engine().health());
        go_on(&store, &ids, what);
    }
}

#[test]
fn a_journal_in_utf_16_is_named_and_kept() {
    let mut origin = Store::in_memory();
    let ids = lived_in(&mut origin);
    let text = fs::read_to_string(origin.journal()).unwrap();
    for (what, bytes) in [
        ("little end first", format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        ("big end first", format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ] {
        let store = with_files(&origin, &[("aaaa1111.jsonl", &bytes)]);
        let health = store.engine().health();
        assert!(health.findings.iter().any(|finding| finding.what.contains("aaaa1111.jsonl")), "{what}: {health:?}");
        let later = store.engine().save("A later thought");
        assert_eq!(store.engine().whole(&later).memory.text, "A later thought", "{what}");
        assert!(fs::read(store.journal()).unwrap().starts_with(&bytes), "{what}: the person's bytes were changed");
        // Put back as it was, beside what was saved meanwhile, all is there.
        let saved = fs::read(store.journal()).unwrap()[bytes.len()..].to_vec();
        store.write_journal([text.as_bytes(), &saved].concat());
        assert!(store.engine().find(&later).is_some(), "{what}: {:?}", store.engine().health());
        assert_eq!(state(&store, &ids), state(&origin, &ids), "{what}");
    }
}

#[test]
fn a_journal_twice_in_its_file_or_folder_changes_nothing() {
    let mut origin = Store::in_memory();
    let ids = lived_in(&mut origin);
    let whole = fs::read(origin.journal()).unwrap();
    let right = state(&origin, &ids);
    let lines = lines_of(&whole);
    let backwards: Vec<u8> = lines.iter().rev().flat_map(|line| line.to_vec()).collect();
    let each_twice: Vec<u8> = lines.iter().flat_map(|line| [*line, *line].concat()).collect();
    let tail = lines[lines.len() / 2..].concat();
    let own = "aaaa1111.jsonl";
    for (what, files) in [
        ("twice in its file", vec![(own, [&whole[..], &whole].concat())]),
        ("three times", vec![(own, whole.repeat(3))]),
        ("its tail again", vec![(own, [&whole[..], &tail].concat())]),
        ("each line twice", vec![(own, each_twice)]),
        ("backwards", vec![(own, backwards)]),
        ("beside itself", vec![(own, whole.clone()), ("aaaa1111 (copy).jsonl", whole.clone())]),
        ("beside its tail", vec![(own, whole.clone()), ("aaaa1111.sync-conflict-1.jsonl", tail.clone())]),
        ("under another name only", vec![("somewhere.jsonl", whole.clone())]),
    ] {
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        let store = with_files(&origin, &files);
        let served = state(&store, &ids);
        if what == "beside its tail" {
            // Without its first line a file is another journal: what it says again is told as a step of its own.
            assert_eq!(facts(&served), facts(&right), "{what}");
        } else {
            assert_eq!(served, right, "{what}");
        }
        assert!(store.engine().health().ok, "{what}: {:?}", store.engine().health());
        go_on(&store, &ids, what);
    }
}

/// Two machines that have met, and gone on apart; the ids of all memories.
fn two_machines() -> (Store, Store, Vec<String>) {
    let mut a = Store::in_memory();
    let mut ids = lived_in(&mut a);
    let mut b = Store::in_memory();
    (b.replica, b.seed, b.now) = (Some("bbbb2222".into()), Some(8), a.now);
    fs::create_dir_all(b.home().join("short-term")).unwrap();
    fs::copy(a.journal(), b.home().join("short-term/aaaa1111.jsonl")).unwrap();
    b.pass_hours(2);
    ids.push(b.engine().save("Lamp from the other machine"));
    b.engine().change(ReviseRequest {
        id: ids[8].clone(),
        text: Some("Shelf of b".into()),
        ..ReviseRequest::default()
    });
    b.engine().drop_memory(&ids[9]);
    let request = ReinforceRequest { ids: vec![ids[6].clone()], ..ReinforceRequest::default() };
    b.engine().reinforce(&request).unwrap();
    a.pass_hours(3);
    ids.push(a.engine().save("Lamp from this machine"));
    a.engine().change(ReviseRequest {
        id: ids[10].clone(),
        text: Some("Shelf of a".into()),
        ..ReviseRequest::default()
    });
    (a, b, ids)
}

#[test]
fn two_machines_files_in_one_are_both_read() {
    let (a, b, ids) = two_machines();
    let (of_a, of_b) = (fs::read(a.journal()).unwrap(), fs::read(b.journal()).unwrap());
    let apart = with_files(&a, &[("aaaa1111.jsonl", &of_a), ("bbbb2222.jsonl", &of_b)]);
    let right = state(&apart, &ids);
    assert_eq!(right.len(), 13, "one forgotten on each");
    let without_first = |bytes: &[u8]| lines_of(bytes)[1..].concat();
    let mixed: Vec<u8> = {
        let (a, b) = (lines_of(&of_a), lines_of(&of_b));
        let longest = a.len().max(b.len());
        (0..longest).flat_map(|n| [a.get(n), b.get(n)].into_iter().flatten().flat_map(|line| line.to_vec())).collect()
    };
    for (what, files) in [
        ("b's after a's", vec![("aaaa1111.jsonl", [&of_a[..], &of_b].concat())]),
        ("a's after b's", vec![("aaaa1111.jsonl", [&of_b[..], &of_a].concat())]),
        ("b's after a's without its first line", vec![("aaaa1111.jsonl", [&of_a[..], &without_first(&of_b)].concat())]),
        ("mixed", vec![("aaaa1111.jsonl", mixed)]),
        ("in a third file", vec![("everything.jsonl", [&of_a[..], &of_b].concat())]),
        (
            "b's after a's and by itself",
            vec![("aaaa1111.jsonl", [&of_a[..], &of_b].concat()), ("bbbb2222.jsonl", of_b.clone())],
        ),
        ("swapped names", vec![("aaaa1111.jsonl", of_b.clone()), ("bbbb2222.jsonl", of_a.clone())]),
    ] {
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        let store = with_files(&a, &files);
        let served = state(&store, &ids);
        assert_eq!(facts(&served), facts(&right), "{what}");
        go_on(&store, &ids, what);
    }
}

#[test]
fn lines_of_another_machine_inside_a_journal_are_read_and_kept() {
    let (a, b, ids) = two_machines();
    let (of_a, of_b) = (fs::read(a.journal()).unwrap(), fs::read(b.journal()).unwrap());
    let (of_a, of_b) = (lines_of(&of_a), lines_of(&of_b));
    let half = of_a.len() / 2;
    let bytes = [of_a[..half].concat(), of_b[1..].concat(), of_a[half..].concat()].concat();
    let store = with_files(&a, &[("aaaa1111.jsonl", &bytes)]);
    let lamp = &ids[13];
    assert_eq!(store.engine().whole(lamp).memory.text, "Lamp from the other machine");
    go_on(&store, &ids, "another's lines");
    let numbers = |bytes: &[u8]| -> Vec<u64> {
        let number = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).unwrap()["n"].as_u64().unwrap();
        lines_of(bytes).into_iter().map(number).collect()
    };
    let mut seen = numbers(&fs::read(store.journal()).unwrap());
    let newest = seen.pop().unwrap();
    assert!(seen.iter().all(|number| *number < newest), "a number was given again: {newest} {seen:?}");
}

/// Two homes with one replica id that went on apart: the same numbers, the same instant, other content. Every way in
/// which they may meet, and the ids of all.
fn twin_homes() -> (Vec<Store>, Vec<String>) {
    let a = Store::in_memory();
    let shelves = a.fill(3);
    let mut b = Store::in_memory();
    b.seed = Some(99);
    b.write_journal(fs::read(a.journal()).unwrap());
    let of_a = a.engine().save("Lamp of the first home");
    let of_b = b.engine().save("Lamp of the second home");
    let revision =
        |text: &str| ReviseRequest { id: shelves[0].clone(), text: Some(text.into()), ..ReviseRequest::default() };
    a.engine().change(revision("Shelf of the first home"));
    b.engine().change(revision("Shelf of the second home"));
    a.engine().drop_memory(&shelves[1]);
    let request = ReinforceRequest { ids: vec![shelves[1].clone(), shelves[2].clone()], ..ReinforceRequest::default() };
    b.engine().reinforce(&request).unwrap();
    let (bytes_a, bytes_b) = (fs::read(a.journal()).unwrap(), fs::read(b.journal()).unwrap());
    let (own, aside) = ("aaaa1111.jsonl", "aaaa1111.sync-conflict-1.jsonl");
    let ways = vec![
        with_files(&a, &[(own, &bytes_a), (aside, &bytes_b)]),
        with_files(&a, &[(own, &bytes_b), (aside, &bytes_a)]),
        with_files(&a, &[(own, &[&bytes_a[..], &bytes_b].concat())]),
        with_files(&a, &[(own, &[&bytes_b[..], &bytes_a].concat())]),
    ];
    (ways, shelves.into_iter().chain([of_a, of_b]).collect())
}

#[test]
fn two_homes_with_one_replica_id_lose_nothing_when_they_meet() {
    let (ways, ids) = twin_homes();
    let states: Vec<Vec<Opened>> = ways.iter().map(|store| state(store, &ids)).collect();
    for (way, state) in states.iter().enumerate() {
        let texts: Vec<&str> = state.iter().map(|memory| memory.memory.text.as_str()).collect();
        assert_eq!(texts[1..], ["Shelf 2", "Lamp of the first home", "Lamp of the second home"], "way {way}");
        assert_eq!(facts(state), facts(&states[0]), "way {way}: which home's file is read first decides");
    }
    // Both wordings are in the history, whichever won.
    let told: BTreeSet<String> = states[0][0].history.iter().filter_map(|entry| entry.text.clone()).collect();
    for text in ["Shelf of the first home", "Shelf of the second home"] {
        assert!(told.contains(text), "{told:?}");
    }
    for (store, before) in ways.iter().zip(states) {
        let later = store.engine().save("A later thought");
        assert_eq!(state(store, &ids), before);
        assert_eq!(store.engine().whole(&later).memory.text, "A later thought");
    }
}

#[test]
fn compacting_the_lines_of_two_homes_with_one_replica_id_changes_nothing() {
    let (ways, ids) = twin_homes();
    for (way, store) in ways.iter().enumerate() {
        go_on(store, &ids, &format!("way {way}"));
    }
}

#[test]
fn git_conflict_markers_hide_neither_side_and_are_named() {
    let (a, b, ids) = two_machines();
    let (of_a, of_b) = (fs::read_to_string(a.journal()).unwrap(), fs::read_to_string(b.journal()).unwrap());
    let right =
        state(&with_files(&a, &[("aaaa1111.jsonl", of_a.as_bytes()), ("bbbb2222.jsonl", of_b.as_bytes())]), &ids);
    let conflicted = format!("<<<<<<< HEAD\n{of_a}||||||| base\n=======\n{of_b}>>>>>>> laptop\n");
    let store = with_files(&a, &[("aaaa1111.jsonl", conflicted.as_bytes())]);
    let served = state(&store, &ids);
    let texts = |state: &[Opened]| state.iter().map(|memory| memory.memory.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&served), texts(&right));
    let health = store.engine().health();
    assert_eq!(
        health.findings.iter().filter(|finding| finding.what.contains("aaaa1111.jsonl")).count(),
        4,
        "{health:?}"
    );
    go_on(&store, &ids, "conflict markers");
    let kept = files_below(&store.home().join("quarantine"));
    assert!(kept.values().any(|bytes| holds(bytes, b"<<<<<<< HEAD")));
}

#[test]
fn runs_of_zeros_cost_nothing_but_themselves() {
    let mut origin = Store::in_memory();
    let ids = lived_in(&mut origin);
    let whole = fs::read(origin.journal()).unwrap();
    let right = state(&origin, &ids);
    let lines = lines_of(&whole);
    for length in [1, 64, 511, 4096, 1_000_000] {
        let zeros = vec![0; length];
        for (what, bytes) in [
            ("at the end", [&whole[..], &zeros].concat()),
            ("on a line of their own", [&lines[..5].concat()[..], &zeros, b"\n", &lines[5..].concat()].concat()),
            ("at the beginning, with a line end", [&zeros[..], b"\n", &whole].concat()),
        ] {
            let what = format!("{length} zeros {what}");
            let store = with_files(&origin, &[("aaaa1111.jsonl", &bytes)]);
            assert_eq!(state(&store, &ids), right, "{what}");
            assert!(!store.engine().health().ok, "{what} are not named");
            let later = store.engine().save("A later thought");
            assert_eq!(store.engine().whole(&later).memory.text, "A later thought", "{what}");
            assert_eq!(state(&store, &ids), right, "{what}, then one more");
        }
    }
}

#[test]
fn a_line_of_30_mb_is_skipped_in_every_journal() {
    let mut origin = Store::in_memory();
    let ids = lived_in(&mut origin);
    let right = state(&origin, &ids);
    let own = fs::read(origin.journal()).unwrap();
    let long = [
        &b"{\"v\":1,\"at\":\"2026-11-29T12:00:00Z\",\"op\":\"remember\",\"id\":\"10ng10ng10ng\",\"text\":\""[..],
        &vec![b'x'; 30_000_000],
        b"\"}\n",
    ]
    .concat();
    let store = with_files(&origin, &[("aaaa1111.jsonl", &own), ("elsewhere.jsonl", &[&long[..], b"{\"v\":1,\"at\":\"2026-11-29T12:00:00Z\",\"op\":\"remember\",\"id\":\"after10ng000\",\"text\":\"After the long one\"}\n"].concat())]);
    let engine = store.engine();
    let request = OpenRequest { ids: ids.clone(), history: Some(true), relations: None };
    assert_eq!(engine.open_memories(&request).unwrap().memories, right);
    assert_eq!(engine.whole("after10ng000").memory.text, "After the long one");
    let health = engine.health();
    let place = "elsewhere.jsonl line 1 (byte 0)";
    assert!(health.findings.iter().any(|finding| finding.what.contains(place)), "{health:?}");
    engine.save("A later thought");
    engine.compact(false).unwrap();
    assert_eq!(facts(&engine.open_memories(&request).unwrap().memories), facts(&right));
    assert!(fs::read(store.home().join("short-term/elsewhere.jsonl")).unwrap().starts_with(&long));
}

#[test]
fn records_of_a_future_version_survive_everything_this_version_does() {
    let mut origin = Store::in_memory();
    let ids = lived_in(&mut origin);
    let own = fs::read(origin.journal()).unwrap();
    let newer = sealed(
        r#"{"v":2,"n":900,"at":"2027-11-29T12:00:00.000Z","op":"remember","id":"newer0newer0","text":"Told by a newer one","mood":{"a":[1]}"#,
    );
    let store = with_files(&origin, &[("aaaa1111.jsonl", &own), ("zzzz9999.jsonl", newer.as_bytes())]);
    assert_eq!(state(&store, &ids), state(&origin, &ids));
    assert!(store.engine().health().findings.iter().any(|finding| finding.what.contains("zzzz9999.jsonl line 1")));
    store.configure("promotion = \"off\"\n");
    // Whether more is taken is another question; nothing of what is there may go.
    let request = RememberRequest { memories: vec!["A later thought".into()], ..RememberRequest::default() };
    drop(store.engine().remember(&request));
    drop(store.engine().tidy(&TidyRequest::default()));
    drop(store.engine().compact(false));
    assert_eq!(facts(&state(&store, &ids)), facts(&state(&origin, &ids)));
    assert_eq!(fs::read_to_string(store.home().join("short-term/zzzz9999.jsonl")).unwrap(), newer);
    assert!(lines_of(&fs::read(store.journal()).unwrap()).len() >= lines_of(&own).len() / 2);
}

#[test]
fn a_line_number_that_a_newer_version_used_is_not_given_again() {
    let store = Store::in_memory();
    store.fill(2);
    let newer =
        sealed(r#"{"v":2,"n":900,"at":"2026-11-29T12:00:00.000Z","op":"remember","id":"newer0newer0","text":"Newer""#);
    let journal = [&fs::read(store.journal()).unwrap()[..], newer.as_bytes()].concat();
    store.write_journal(&journal);
    let request = RememberRequest { memories: vec!["A later thought".into()], ..RememberRequest::default() };
    // To refuse is right too: the file is a newer version's.
    if store.engine().remember(&request).is_ok() {
        let after = fs::read(store.journal()).unwrap();
        let added: serde_json::Value = serde_json::from_slice(&after[journal.len()..]).unwrap();
        assert!(added["n"].as_u64() > Some(900), "{added}");
    }
}

/// What the whole lines of a journal say: text by memory, from `remember` and `revise` lines only.
fn model(intact: &[&[u8]]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let parsed = || intact.iter().filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    // Order decides, not place.
    let mut lines: Vec<serde_json::Value> = parsed().collect();
    lines.sort_by_key(|line| line["n"].as_u64());
    for line in lines {
        let (Some(id), Some(text)) = (line["id"].as_str(), line["text"].as_str()) else { continue };
        if line["op"] == "remember" {
            texts.insert(id.to_owned(), text.to_owned());
        } else if let Some(known) = texts.get_mut(id) {
            text.clone_into(known);
        }
    }
    texts
}

/// One kind of damage, at a random place.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) -> String {
    let at = dice.below(bytes.len());
    let block = at / 512 * 512;
    let end = (block + 512).min(bytes.len());
    match dice.below(7) {
        0 => {
            bytes[at] ^= 1 << dice.below(8);
            format!("bit flipped in byte {at}")
        }
        1 => {
            bytes[at] = u8::try_from(dice.below(256)).unwrap();
            format!("byte {at} overwritten")
        }
        2 => {
            bytes[block..end].fill(0);
            format!("bytes {block} to {end} zeroed")
        }
        3 => {
            let other = dice.below(bytes.len() / 512) * 512;
            if block + 512 <= bytes.len() && block != other {
                let mut one = bytes[block..block + 512].to_vec();
                one.swap_with_slice(&mut bytes[other..other + 512]);
                bytes[block..block + 512].copy_from_slice(&one);
            }
            format!("blocks at {block} and {other} swapped")
        }
        4 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        5 => {
            let tail = bytes[at..].to_vec();
            bytes.extend_from_slice(&tail);
            format!("tail from {at} twice")
        }
        _ => {
            let length = dice.below(40).min(bytes.len() - at);
            bytes.drain(at..at + length);
            format!("{length} bytes at {at} gone")
        }
    }
}

/// 2,100 random damages, repeatable. `EBBMARK_TEST_DAMAGES` sets another number for a longer run.
#[test]
fn random_damage_costs_the_lines_it_hits_and_nothing_else() {
    let origin = Store::in_memory();
    let ids = origin.fill(40);
    for (n, id) in ids.iter().enumerate().take(12) {
        let text = Some(format!("Shelf {n} of oak"));
        origin.engine().change(ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
    }
    let whole = fs::read(origin.journal()).unwrap();
    let good: BTreeSet<&[u8]> = lines_of(&whole).into_iter().collect();
    let rounds = std::env::var("EBBMARK_TEST_DAMAGES").map_or(2_100, |count| count.parse().unwrap());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let (whole, good, ids) = (&whole, &good, &ids);
            scope.spawn(move || {
                let mut store = Store::in_memory();
                // Ids that no line of the journal has.
                store.seed = None;
                (first..rounds).step_by(threads).for_each(|round| damage_round(&store, round, whole, good, ids));
            });
        }
    });
}

fn damage_round(store: &Store, round: usize, whole: &[u8], good: &BTreeSet<&[u8]>, ids: &[String]) {
    let mut dice = Dice(round as u64);
    let mut bytes = whole.to_vec();
    let mut what = format!("round {round}: {}", damage(&mut bytes, &mut dice));
    // Now and then a second misfortune.
    if dice.below(4) == 0 && bytes.len() > 1024 {
        what = format!("{what}, {}", damage(&mut bytes, &mut dice));
    }
    drop(fs::remove_dir_all(store.home()));
    store.write_journal(&bytes);
    let served_by = |engine: &Engine| -> BTreeMap<String, String> {
        let request = OpenRequest { ids: ids.to_vec(), ..OpenRequest::default() };
        let opened = engine.open_memories(&request).unwrap().memories;
        opened.into_iter().map(|memory| (memory.memory.id, memory.memory.text)).collect()
    };
    // A line is untouched that stands on a line of its own. Capitals in its checksum are the same number.
    let as_written = |line: &[u8]| {
        let (front, sum) = line.split_at(line.len().saturating_sub(12));
        [front, &sum.to_ascii_lowercase()].concat()
    };
    let is_untouched = |line: &[u8]| good.contains(&as_written(line)[..]);
    let lines = lines_of(&bytes);
    let intact: Vec<&[u8]> = lines.iter().copied().filter(|line| is_untouched(line)).collect();
    let expected = model(&intact);
    // The last line may lack only its end: it counts at the latest when the next write ends it.
    let last = lines.last().map(|line| [line, &b"\n"[..]].concat()).filter(|line| is_untouched(line));
    let ended: Vec<&[u8]> = intact.iter().copied().chain(last.as_deref()).collect();

    // And so may every record that is there byte for byte, whatever became of its line end.
    let salvaged: Vec<&[u8]> = good.iter().copied().filter(|record| holds(&bytes, record.trim_ascii_end())).collect();

    let engine = store.engine();
    let served = served_by(&engine);
    let health = engine.health();
    let (ended, salvaged) = (model(&ended), model(&salvaged));
    let is_right = |id: &String, text: &String, served: Option<&String>| {
        served.is_some_and(|served| served == text || ended.get(id) == Some(served) || salvaged.get(id) == Some(served))
    };
    for (id, text) in &expected {
        let is_served = is_right(id, text, served.get(id));
        assert!(is_served, "{what}: {id} says {:?} instead of `{text}`: {health:?}", served.get(id));
    }
    // Whatever else is served was read from a line that shares its place with rubbish: never a text that nobody told.
    let everything = lines_of(whole);
    let told = |id: &str, text: &str| {
        everything.iter().any(|line| holds(line, id.as_bytes()) && holds(line, format!("\"{text}\"").as_bytes()))
    };
    for (id, text) in &served {
        assert!(told(id, text), "{what}: {id} says `{text}`");
    }
    assert_eq!(engine.counts().active, served.len() as u64, "{what}: memories that nobody told");
    // Damage is counted: every line that is neither whole nor empty. Whole records side by side may be read after all.
    let is_empty = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
    let broken: Vec<&[u8]> = lines.iter().copied().filter(|line| !is_untouched(line) && !is_empty(line)).collect();
    let is_side_by_side = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).into_owned();
        let whole = good.iter().map(|record| std::str::from_utf8(record).unwrap().trim_end());
        is_empty(whole.fold(line, |line, record| line.replace(record, "")).as_bytes())
    };
    let unread = broken.iter().filter(|line| !is_side_by_side(line)).count();
    let (broken, unread) = (broken.len(), unread - usize::from(unread > 0 && last.is_some()));
    let findings = health.findings.iter().filter(|finding| finding.what.contains("aaaa1111.jsonl")).count();
    assert!(findings <= broken, "{what}: {broken} broken lines, but {health:?}");
    assert!(unread == 0 || findings > 0, "{what}: {unread} broken lines, and nothing is said");

    let later = engine.save("A later thought");
    assert!(fs::read(store.journal()).unwrap().starts_with(&bytes), "{what}: bytes that were there were changed");
    // The second opening sees what the first one saw, and what was saved.
    let engine = store.engine();
    assert_eq!(engine.whole(&later).memory.text, "A later thought", "{what}");
    let now_served = served_by(&engine);
    for (id, text) in &ended {
        assert!(is_right(id, text, now_served.get(id)), "{what}, then one more: {id} {health:?}");
    }
    assert!(served.keys().all(|id| now_served.contains_key(id)), "{what}, then one more");
    let served = now_served;
    assert_eq!(engine.counts().active, served.len() as u64 + 1, "{what}");
    let named =
        |health: &Health| health.findings.iter().filter(|finding| finding.what.contains("aaaa1111.jsonl")).count();
    let again = engine.health();
    assert!(named(&again) <= findings && (unread == 0 || named(&again) > 0), "{what}: {again:?}");
    if round.is_multiple_of(7) {
        assert_eq!(again, store.engine().health(), "{what}: a third opening differs");
        let compacted = engine.compact(false).unwrap();
        let engine = store.engine();
        assert_eq!(served_by(&engine), served, "{what}, compacted");
        assert!(engine.find(&later).is_some(), "{what}, compacted");
        assert_eq!(compacted.quarantined > 0, store.home().join("quarantine").exists(), "{what}: {compacted:?}");
        assert!(unread == 0 || compacted.quarantined > 0, "{what}: {compacted:?}");
        assert!(compacted.quarantined <= broken, "{what}: {compacted:?}");
        assert!(!Path::new(&store.vault()).exists());
    }
}
