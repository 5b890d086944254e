//! What was forgotten stays forgotten, and what was purged is in no file of ours (`B12` to `B16`).
//!
//! Consolidation, export, HTTP, prompts and resources do not exist yet: these doors are not tried.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use ebbmark::engine::{
    Engine, ForgetAnswer, ForgetRequest, InspectRequest, NewMemory, OpenRequest, RecallRequest, RememberRequest,
    RestoreRequest, ReviseRequest, SourceInput, View,
};
use serde_json::{Value, json};

use crate::support::{Calls, Dice, Store, files_below, files_with};

/// A word that no file holds by chance.
fn marker(number: usize) -> String {
    let mut dice = Dice(number as u64 + 9);
    (0..24).map(|_| char::from(b"bcdfghjkmnpqrstvwxz"[dice.below(19)])).collect()
}

fn purge_request(ids: &[&str], token: Option<String>) -> ForgetRequest {
    let ids = ids.iter().map(ToString::to_string).collect();
    ForgetRequest { ids, purge: Some(true), preview_token: token, ..ForgetRequest::default() }
}

/// Both steps of a purge.
#[track_caller]
fn purge(engine: &Engine, ids: &[&str]) -> ForgetAnswer {
    let preview = engine.forget(&purge_request(ids, None)).unwrap();
    assert_eq!(preview.preview.len(), ids.len(), "{preview:?}");
    assert!(preview.forgotten.is_empty() && preview.remains.is_empty(), "{preview:?}");
    let answer = engine.forget(&purge_request(ids, preview.preview_token)).unwrap();
    assert_eq!(answer.forgotten, ids, "{answer:?}");
    answer
}

/// Files of home and vault, outside git's folder, that hold these words or are named by them.
fn left(store: &Store, words: &str) -> Vec<PathBuf> {
    let mut found = files_with(&store.root().join("home"), words.as_bytes());
    found.extend(files_with(&store.vault(), words.as_bytes()).into_iter().filter(|path| !path.starts_with(".git")));
    let names = files_below(&store.home()).into_keys().chain(files_below(&store.vault()).into_keys());
    found.extend(names.filter(|path| !path.starts_with(".git") && path.to_string_lossy().contains(words)));
    found
}

#[track_caller]
fn is_nowhere(store: &Store, words: &str) {
    assert_eq!(left(store, words), Vec::<PathBuf>::new(), "{words} is still there");
}

/// Copies one machine's own journal to the other.
fn send(from: &Store, to: &Store) {
    fs::create_dir_all(to.home().join("short-term")).unwrap();
    fs::copy(from.journal(), to.home().join("short-term").join(from.journal().file_name().unwrap())).unwrap();
}

fn two_machines() -> (Store, Store) {
    let mut b = Store::new();
    b.replica = Some("bbbb2222".into());
    b.machine = "machine-b";
    b.seed = Some(8);
    (Store::new(), b)
}

#[test]
fn b12_tombstones_travel_and_hold_after_any_order_of_compactions() {
    for order in ["AsB", "BsA", "sAB", "sBA", "AsBsA", "BAsAB"] {
        let (mut a, mut b) = two_machines();
        let texts = ["Owns a red bicycle", "Prefers tea over coffee", "Rents a garage by the canal"];
        let ids = texts.map(|text| a.engine().save(text));
        send(&a, &b);
        b.engine().reinforce(&ebbmark::engine::ReinforceRequest { ids: ids.to_vec(), ..Default::default() }).unwrap();
        a.pass_days(1);
        a.engine().drop_memory(&ids[1]);
        a.pass_days(31);
        b.now = a.now;
        for step in order.chars() {
            match step {
                'A' => drop(a.engine().compact(false).unwrap()),
                'B' => drop(b.engine().compact(false).unwrap()),
                _ => send(&a, &b),
            }
        }
        send(&a, &b);
        send(&b, &a);
        for store in [&a, &b] {
            let engine = store.engine();
            assert!(engine.find(&ids[1]).is_none(), "{order}");
            assert!(engine.find(&ids[0]).is_some() && engine.find(&ids[2]).is_some(), "{order}");
            engine.compact(false).unwrap();
            assert!(store.engine().find(&ids[1]).is_none(), "{order}");
        }
    }
}

/// The rule for when a tombstone may be dropped: never.
#[test]
fn b12_a_tombstone_is_kept_for_good() {
    let (mut a, b) = two_machines();
    let id = a.engine().save("Prefers tea over coffee");
    send(&a, &b);
    let old = fs::read(a.journal()).unwrap();
    a.engine().drop_memory(&id);
    for _ in 0..3 {
        a.pass_days(1200);
        a.engine().compact(false).unwrap();
    }
    fs::write(a.home().join("short-term/old.jsonl"), old).unwrap();
    assert!(a.engine().find(&id).is_none());
    assert!(a.engine().hits("tea").is_empty());
}

#[test]
fn b12_a_hundred_thousand_forgotten_memories_cost_forty_bytes_each() {
    let (batches, in_batch) = (100, 1000);
    let live = ["Owns a red bicycle", "Prefers tea over coffee", "Rents a garage by the canal"];
    let (fresh, mut store) = (Store::in_memory(), Store::in_memory());
    let engine = store.engine();
    for text in live {
        fresh.engine().save(text);
        engine.save(text);
    }
    for batch in 0..batches {
        let told = |item| NewMemory { text: format!("Crate {batch} holds box {item}"), ..NewMemory::default() };
        let told: Vec<NewMemory> = (0..in_batch).map(told).collect();
        let results = engine.remember(&RememberRequest::of(&told)).unwrap().results;
        let ids: Vec<String> = results.into_iter().filter_map(|result| result.id).collect();
        let answer = engine.forget(&ForgetRequest { ids, ..ForgetRequest::default() }).unwrap();
        assert_eq!(answer.forgotten.len(), in_batch);
    }
    store.pass_days(31);
    store.engine().compact(false).unwrap();
    fresh.engine().compact(false).unwrap();
    let size = |store: &Store| fs::metadata(store.journal()).unwrap().len() as usize;
    let extra = size(&store) - size(&fresh);
    assert!(extra <= 40 * batches * in_batch, "{extra} bytes for {} forgotten memories", batches * in_batch);
    assert_eq!(store.engine().hits("").len(), live.len());
}

#[test]
fn b13_what_the_other_copy_lacks_is_not_deleted() {
    let (a, b) = two_machines();
    let only_on_b = b.engine().save("Owns a red bicycle");
    let only_on_a = a.engine().save("Prefers tea over coffee");
    send(&a, &b);
    assert!(b.engine().find(&only_on_b).is_some() && b.engine().find(&only_on_a).is_some());
    // A fresh install, whose journal says nothing; then none at all.
    fs::write(b.home().join("short-term/aaaa1111.jsonl"), "").unwrap();
    assert!(b.engine().find(&only_on_b).is_some());
    fs::remove_file(b.home().join("short-term/aaaa1111.jsonl")).unwrap();
    b.engine().clean();
    assert!(b.engine().find(&only_on_b).is_some());
    send(&a, &b);
    assert!(b.engine().find(&only_on_a).is_some());
}

/// Everything that a client, a script or a person can ask, as text.
fn all_doors(store: &Store, id: &str, related: &str) -> String {
    let mut said = String::new();
    let engine = store.engine();
    let mut note = |answer: Value| said.extend([answer.to_string(), "\n".into()]);
    for id in [id, related] {
        let request = OpenRequest { ids: vec![id.into()], history: Some(true), relations: Some(true) };
        note(serde_json::to_value(engine.open_memories(&request).unwrap()).unwrap());
    }
    let day = Some("2026-11-29".to_owned());
    let include = vec!["faded".into(), "superseded".into(), "all_scopes".into()];
    for request in [
        RecallRequest::of("the spare key is under the blue pot"),
        RecallRequest::of("latchkey"),
        RecallRequest { tags: vec!["house".into()], ..RecallRequest::of("") },
        RecallRequest { entities: vec!["Garden".into()], ..RecallRequest::of("") },
        RecallRequest { since: day.clone(), until: day.clone(), include: include.clone(), ..RecallRequest::of("") },
        RecallRequest { as_of: day, include, explain: Some(true), ..RecallRequest::of("key pot") },
    ] {
        note(serde_json::to_value(engine.recall(&request).unwrap()).unwrap());
    }
    for view in [View::Health, View::Stats, View::Overview, View::Faded] {
        let request = InspectRequest { view: Some(view), ..InspectRequest::default() };
        note(serde_json::to_value(engine.inspect(&request).unwrap()).unwrap());
    }
    for arguments in [
        &["open", id, "--history"][..],
        &["open", related],
        &["recall", "spare", "key", "--explain"],
        &["recall", "--tag", "house"],
        &["faded"],
        &["inspect", "overview"],
        &["promote", id],
        &["promote", "--dry-run"],
        &["tidy", "--dry-run"],
    ] {
        said.push_str(&store.run(arguments).to_string());
    }
    let calls = [
        ("open", json!({ "ids": [id, related], "history": true })),
        ("recall", json!({ "query": "spare key blue pot latchkey" })),
        ("recall", json!({ "query": "", "tags": ["house"] })),
        ("inspect", json!({ "view": "overview" })),
        ("promote", json!({ "ids": [id] })),
    ];
    let greeting =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    for (place, (name, arguments)) in calls.into_iter().enumerate() {
        let params = json!({ "name": name, "arguments": arguments });
        lines.push(json!({ "jsonrpc": "2.0", "id": place + 1, "method": "tools/call", "params": params }));
    }
    let replies = serve(store, &lines);
    assert_eq!(replies.lines().count(), 6, "{replies}");
    said + &replies
}

/// What a server answers to these lines: one for each that has an id.
fn serve(store: &Store, lines: &[Value]) -> String {
    let mut command = store.command(&["serve"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut said = String::new();
    for line in lines {
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        if line.get("id").is_some() {
            said.push_str(&output.next().unwrap().unwrap());
            said.push('\n');
        }
    }
    drop(input);
    assert!(server.wait().unwrap().success());
    said
}

#[test]
fn b14_a_forgotten_memory_is_told_by_no_door() {
    for is_purged in [false, true] {
        let store = Store::new();
        let told = store.engine().tell(NewMemory {
            text: "The spare key is under the blue pot".into(),
            tags: vec!["house".into()],
            entities: vec!["Garden".into()],
            keywords: vec!["latchkey".into()],
            ..NewMemory::default()
        });
        let id = told.id.unwrap();
        let newer = store.engine().tell(NewMemory {
            text: "Spends the winter in Porto".into(),
            supersedes: vec![id.clone()],
            ..NewMemory::default()
        });
        let related = newer.id.unwrap();
        store.engine().clean();
        assert!(all_doors(&store, &id, &related).contains("blue pot"), "the doors show what is there");
        let engine = store.engine();
        if is_purged {
            purge(&engine, &[&id]);
        } else {
            engine.drop_memory(&id);
        }
        let said = all_doors(&store, &id, &related);
        for word in ["blue pot", "spare key is", "latchkey\":", "house\"]"] {
            assert!(!said.contains(word), "`{word}` in\n{said}");
        }
        let what = if is_purged { "purged, gone for good" } else { "forgotten" };
        assert!(said.contains(&format!("{what}: {id}")), "{said}");
        let open = OpenRequest { ids: vec![id.clone()], ..OpenRequest::default() };
        let open = store.engine().open_memories(&open).unwrap();
        let named = if is_purged { &open.purged } else { &open.forgotten };
        assert_eq!((named, &open.not_found), (&vec![id.clone()], &vec![id]));
        assert_eq!(open.forgotten.len() + open.purged.len(), 1);
    }
}

/// A home in which the marker lies in every place where a text can lie. Answers with the ids to purge.
fn spread(store: &Store, marker: &str) -> (String, String) {
    let engine = store.engine();
    let excerpt = format!("he said {marker} twice");
    let told = engine.tell(NewMemory {
        text: format!("The first word is {marker}\nand \"that\" is all"),
        title: Some(format!("Word {marker}")),
        tags: vec![marker.into()],
        entities: vec![format!("E{marker}")],
        keywords: vec![marker.into()],
        source: Some(SourceInput { excerpt: Some(excerpt), ..SourceInput::default() }),
        ..NewMemory::default()
    });
    let id = told.id.unwrap();
    let revision = ReviseRequest { id: id.clone(), ..ReviseRequest::default() };
    engine.change(ReviseRequest { text: Some(format!("The second word is {marker}")), ..revision });
    engine.keep(&id);
    store.edit_note(&format!("Word {marker}"), "The second word is", "The third word is");
    let quoting = engine.save(&format!("She quoted: The third word is {marker}"));
    engine.keep(&quoting);
    engine.save("Owns a red bicycle");
    engine.recall(&RecallRequest::of(marker)).unwrap();
    engine.clean();
    // What a backup, an editor and a bad disk leave.
    fs::copy(store.journal(), store.home().join("short-term/backup.jsonl")).unwrap();
    fs::write(store.home().join(format!("cache/edit-{id}.md")), marker).unwrap();
    let damaged =
        format!("{{\"v\":1,\"n\":9999,\"op\":\"remember\",\"id\":\"{id}\",\"text\":\"The third word is {marker}");
    let mut journal = fs::read(store.journal()).unwrap();
    journal.extend_from_slice(format!("{damaged}\n").as_bytes());
    fs::write(store.journal(), journal).unwrap();
    engine.compact(false).unwrap();
    for place in ["home/short-term", "home/cache", "home/quarantine", "vault/Memories"] {
        assert!(!files_with(&store.root().join(place), marker.as_bytes()).is_empty(), "{place} was to hold {marker}");
    }
    (id, quoting)
}

#[test]
fn b15_a_purged_text_is_in_no_file() {
    let store = Store::new();
    let marker = marker(1);
    let (id, quoting) = spread(&store, &marker);
    let engine = store.engine();
    engine.drop_memory(&quoting);
    let first = purge(&engine, &[&id]);
    assert!(first.remains.iter().any(|left| left.contains(&quoting)), "the memory that quotes it is named: {first:?}");
    let answer = purge(&engine, &[&quoting]);
    is_nowhere(&store, &marker);
    assert!(answer.undo.is_none());
    let history = answer.remains.iter().find(|left| left.starts_with("the git history of")).unwrap();
    for words in ["git filter-repo", "--invert-paths", &format!("Ebbmark-Memory: {quoting}"), "She quoted"] {
        assert!(history.contains(words), "{words} in {history}");
    }
    let of_first = first.remains.iter().find(|left| left.starts_with("the git history of")).unwrap();
    assert!(of_first.contains(&format!("'Memories/Word {marker}.md'")), "{of_first}");
    assert!(!answer.remains.iter().any(|left| left.contains("remote")), "{answer:?}");
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.git(&["log", "-1", "--format=%s"]), format!("Purge: {id}"));

    // Nothing brings it back, and what is not ours to purge is still there.
    let engine = store.engine();
    engine.clean();
    engine.compact(false).unwrap();
    is_nowhere(&store, &marker);
    assert_eq!(engine.texts("bicycle"), ["Owns a red bicycle"]);
    let restored = engine.restore(&RestoreRequest { ids: vec![id.clone(), quoting] }).unwrap();
    assert_eq!((restored.restored.len(), restored.purged.len()), (0, 2));
    let run = store.run(&["restore", &id]).exits(2);
    assert!(run.stdout.contains(&format!("purged, gone for good: {id}")), "{run}");
    // Whoever says it again is heard.
    engine.save(&format!("The third word is {marker}"));
}

#[test]
fn b15_what_a_person_wrote_is_left_and_named() {
    let store = Store::new();
    let marker = marker(2);
    let text = format!("The word is {marker}");
    let id = store.engine().save(&text);
    store.engine().keep(&id);
    fs::create_dir_all(store.vault().join("Journal")).unwrap();
    let own = format!("Today: the [[word]] is none. {text}, she said.\n");
    fs::write(store.vault().join("Journal/Monday.md"), &own).unwrap();
    // A duplicate that the person went on writing in: it names our memory, and says something else.
    store.write_note("Copy", &format!("---\nid: {id}\n---\nSomething else by now"));
    store.git(&["remote", "add", "origin", "https://example.org/vault.git"]);
    let answer = purge(&store.engine(), &[&id]);
    let all = answer.remains.join("\n");
    for words in ["Journal/Monday.md", "Memories/Copy.md", "the remote origin", "git push --force --all origin"] {
        assert!(all.contains(words), "{words} in {all}");
    }
    assert_eq!(fs::read_to_string(store.vault().join("Journal/Monday.md")).unwrap(), own);
    assert_eq!(store.notes(), ["Copy"]);
    assert_eq!(left(&store, &marker), [PathBuf::from("Journal/Monday.md")]);
}

#[test]
fn b15_the_words_of_a_purged_memory_leave_the_index() {
    let store = Store::new();
    let (word, engine) = (marker(3), store.engine());
    let told = |number| NewMemory { text: format!("Box {number} holds apples"), ..NewMemory::default() };
    engine.remember(&RememberRequest::of(&(0..300).map(told).collect::<Vec<_>>())).unwrap();
    let id = engine.save(&format!("{word} is the word"));
    engine.clean();
    // tantivy packs its words: what is looked at is whether the files are new ones.
    let segments = || -> BTreeSet<PathBuf> {
        let files = files_below(&store.home().join("cache")).into_keys();
        files.filter(|path| path.extension().is_some_and(|extension| extension == "term")).collect()
    };
    let before = segments();
    assert!(!before.is_empty());
    // Another process has the index open meanwhile, and goes on.
    let other = store.engine();
    assert_eq!(other.hits("apples").len(), 50);
    purge(&engine, &[&id]);
    assert!(segments().is_disjoint(&before) && !segments().is_empty(), "{before:?} {:?}", segments());
    assert_eq!(other.hits("apples").len(), 50);
    assert!(other.hits(&word).is_empty());
    other.clean();
    let folders = fs::read_dir(store.home().join("cache")).unwrap();
    let folders = folders.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("index-"));
    assert_eq!(folders.count(), 1, "old folders are gone");
}

#[test]
fn b15_a_forgotten_memory_is_purged_too() {
    let mut store = Store::new();
    let (early, late) = (marker(4), marker(5));
    let [first, second] = [&early, &late].map(|word| {
        let id = store.engine().save(&format!("The word is {word}"));
        store.engine().keep(&id);
        store.engine().drop_memory(&id);
        id
    });
    let preview = store.engine().forget(&purge_request(&[&first], None)).unwrap();
    assert_eq!(preview.preview[0].text, format!("The word is {early}"));
    purge(&store.engine(), &[&first]);
    is_nowhere(&store, &early);
    // The journal has let the other one go by itself; its note still lies in the trash.
    store.pass_days(40);
    store.engine().compact(false).unwrap();
    assert_eq!(left(&store, &late).len(), 2, "the note in the trash, by content and by name");
    purge(&store.engine(), &[&second]);
    is_nowhere(&store, &late);
}

#[test]
fn b16_an_older_journal_brings_nothing_back() {
    let store = Store::new();
    let marker = marker(6);
    let engine = store.engine();
    let id = engine.save(&format!("The word is {marker}"));
    let bicycle = engine.save("Owns a red bicycle");
    let backup = fs::read(store.journal()).unwrap();
    purge(&engine, &[&id]);
    is_nowhere(&store, &marker);
    let restored = store.home().join("short-term/restored.jsonl");
    fs::write(&restored, &backup).unwrap();
    let engine = store.engine();
    assert!(engine.find(&id).is_none() && engine.hits(&marker).is_empty());
    assert_eq!(engine.restore(&RestoreRequest { ids: vec![id.clone()] }).unwrap().purged, [id]);
    assert!(engine.find(&bicycle).is_some());
    engine.clean();
    is_nowhere(&store, &marker);
    // The rest of the copy is as it was.
    let lines = fs::read_to_string(&restored).unwrap();
    let whole = String::from_utf8(backup).unwrap();
    let kept: String = whole.split_inclusive('\n').filter(|line| !line.contains(&marker)).collect();
    assert_eq!(lines, kept);
}

#[test]
fn b16_an_older_own_journal_put_back_in_place_stays_purged_where_another_machine_knows() {
    let (a, b) = two_machines();
    let marker = marker(7);
    let id = a.engine().save(&format!("The word is {marker}"));
    send(&a, &b);
    let backup = fs::read(a.journal()).unwrap();
    b.engine().reinforce(&ebbmark::engine::ReinforceRequest { ids: vec![id.clone()], ..Default::default() }).unwrap();
    purge(&b.engine(), &[&id]);
    send(&b, &a);
    a.engine().clean();
    fs::write(a.journal(), backup).unwrap();
    assert!(a.engine().find(&id).is_none());
    a.engine().clean();
    is_nowhere(&a, &marker);
}

#[test]
fn b16_a_note_that_comes_back_is_erased_again() {
    let store = Store::new();
    let marker = marker(14);
    let id = store.engine().save(&format!("The word is {marker}"));
    store.engine().keep(&id);
    let name = store.notes().remove(0);
    let note = store.note(&name);
    purge(&store.engine(), &[&id]);
    is_nowhere(&store, &marker);
    store.write_note(&name, &note);
    store.write_note("Elsewhere", &note);
    store.ok(&["tidy"]);
    is_nowhere(&store, &marker);
    assert!(store.engine().find(&id).is_none());
}

#[test]
fn another_machine_finishes_the_purge_of_its_own_files() {
    let (a, b) = two_machines();
    let (marker, other) = (marker(8), marker(9));
    let id = a.engine().save(&format!("The word is {marker}"));
    send(&a, &b);
    let engine = b.engine();
    let revision = ReviseRequest { id: id.clone(), ..ReviseRequest::default() };
    engine.change(ReviseRequest { text: Some(format!("The word is {marker} or {other}")), ..revision });
    engine.keep(&id);
    engine.clean();
    send(&b, &a);
    let answer = purge(&a.engine(), &[&id]);
    assert_eq!(left(&a, &other), [PathBuf::from("short-term/bbbb2222.jsonl")], "another machine's truth is left");
    let named = answer.remains.iter().any(|left| left.contains("machine bbbb2222"));
    assert!(named, "{answer:?}");

    send(&a, &b);
    // Folded, it is told by no door, and cannot come back.
    let engine = b.engine();
    assert!(engine.find(&id).is_none() && engine.hits(&other).is_empty());
    assert_eq!(engine.restore(&RestoreRequest { ids: vec![id.clone()] }).unwrap().purged, vec![id.clone()]);
    let problems = engine.clean().problems;
    assert!(problems.is_empty(), "{problems:?}");
    for word in [&marker, &other] {
        is_nowhere(&b, word);
    }
    assert_eq!(b.git(&["log", "-1", "--format=%s"]), format!("Purge: {id}"));
    send(&b, &a);
    is_nowhere(&a, &other);
    // Now nothing is left to be named; and what is done is done.
    let again = a.engine().forget(&purge_request(&[&id], None)).unwrap();
    assert_eq!((again.forgotten.as_slice(), again.preview_token), ([id].as_slice(), None));
    assert!(!again.remains.iter().any(|left| left.contains("machine")), "{:?}", again.remains);
}

#[test]
fn a_dead_machine_is_cleaned_under_its_name() {
    let (a, mut b) = two_machines();
    let marker = marker(10);
    let id = b.engine().save(&format!("The word is {marker}"));
    send(&b, &a);
    let answer = purge(&a.engine(), &[&id]);
    let named = answer.remains.iter().find(|left| left.contains("machine bbbb2222")).unwrap();
    assert!(named.contains("EBBMARK_REPLICA=bbbb2222 ebbmark tidy"), "{named}");
    assert!(!left(&a, &marker).is_empty());
    b = Store::at(a.root().to_owned());
    b.replica = Some("bbbb2222".into());
    b.ok(&["tidy"]);
    is_nowhere(&a, &marker);
}

#[test]
fn what_another_machine_heard_again_lives_and_the_older_texts_do_not() {
    let (mut a, mut b) = two_machines();
    let (first, second) = (marker(11), marker(12));
    let id = a.engine().save(&format!("The word is {first}"));
    send(&a, &b);
    a.pass_hours(1);
    let revision = ReviseRequest { id: id.clone(), ..ReviseRequest::default() };
    a.engine().change(ReviseRequest { text: Some(format!("The word is {second}")), ..revision });
    purge(&a.engine(), &[&id]);
    // B has not heard of it, and the person says the first sentence again.
    b.pass_hours(2);
    let again = b.engine().tell(NewMemory { text: format!("The word is {first}"), ..NewMemory::default() });
    assert_eq!(again.id.as_ref(), Some(&id));
    send(&a, &b);
    send(&b, &a);
    for store in [&a, &b] {
        let memory = store.engine().whole(&id);
        assert_eq!(memory.memory.text, format!("The word is {first}"));
        let history = serde_json::to_string(&memory.history).unwrap();
        assert!(!history.contains(&second), "{history}");
        store.engine().clean();
        is_nowhere(store, &second);
        assert_eq!(store.engine().whole(&id).memory.text, format!("The word is {first}"));
    }
}

#[test]
fn a_note_that_changed_after_the_purge_is_left_and_named() {
    let (a, b) = two_machines();
    let marker = marker(13);
    let id = a.engine().save(&format!("The word is {marker}"));
    send(&a, &b);
    let note = b.engine().keep(&id);
    send(&b, &a);
    purge(&a.engine(), &[&id]);
    send(&a, &b);
    let path = b.vault().join(note);
    let edited = fs::read_to_string(&path).unwrap() + "\nMy own thought";
    fs::write(&path, &edited).unwrap();
    let problems = b.engine().clean().problems.join("\n");
    assert!(problems.contains(&format!("it names the purged memory {id}")), "{problems}");
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
}

#[test]
fn a_token_holds_for_what_was_shown_and_for_ten_minutes() {
    let store = Store::new();
    let engine = store.engine();
    let (tea, bicycle) = (engine.save("Prefers tea over coffee"), engine.save("Owns a red bicycle"));
    let preview = || store.engine().forget(&purge_request(&[&tea], None)).unwrap();
    let shown = preview();
    assert_eq!(shown.preview[0].text, "Prefers tea over coffee");
    let token = shown.preview_token.unwrap();
    let refused = |ids: &[&str], token: &str, minutes: i64| {
        let engine = store.engine_at(store.now.plus_millis(minutes * 60_000));
        let error = engine.forget(&purge_request(ids, Some(token.into()))).unwrap_err();
        assert!(error.hint().contains("ask again without it"), "{error}");
        error.to_string()
    };
    assert!(refused(&[&tea], &token, 11).contains("has expired"));
    let not_for_these = "was not given for these memories as they are now";
    for ids in [&[bicycle.as_str()][..], &[&tea, &bicycle]] {
        assert!(refused(ids, &token, 0).contains(not_for_these));
    }
    let later = token.replacen(token.chars().next().unwrap(), "f", 1);
    for wrong in [later.as_str(), &format!("{}0", &token[..token.len() - 1]).replace("00", "01")] {
        assert!(refused(&[&tea], wrong, 0).contains("preview_token"), "{wrong}");
    }
    for wrong in ["", "-", "yes", "zz-zz", "19-00ff", &token[..token.len() - 2], &format!("{token}00")] {
        assert!(refused(&[&tea], wrong, 0).contains("is not one that a preview gave"), "{wrong}");
    }
    let revision = ReviseRequest { id: tea.clone(), ..ReviseRequest::default() };
    store.engine().change(ReviseRequest { tags: Some(vec!["drinks".into()]), ..revision });
    assert!(refused(&[&tea], &token, 0).contains(not_for_these));
    assert!(store.engine().find(&tea).is_some() && store.engine().find(&bicycle).is_some());
    let alone = ForgetRequest { ids: vec![tea.clone()], preview_token: Some(token), ..ForgetRequest::default() };
    assert!(store.engine().forget(&alone).unwrap_err().to_string().contains("belongs to a preview"));

    // A use changes nothing that was shown, and any process of the home knows its tokens.
    let token = preview().preview_token.unwrap();
    let touch = ebbmark::engine::ReinforceRequest { ids: vec![tea.clone()], ..Default::default() };
    store.engine().reinforce(&touch).unwrap();
    let run = store.json(&["forget", &tea, "--purge", "--token", &token]);
    assert_eq!(run["forgotten"], json!([tea]));
    // Once it is purged, there is nothing left to lose.
    let again = store.json(&["forget", &tea, "--purge", "--token", &token]);
    assert_eq!(again["forgotten"], json!([tea]));
}

#[test]
fn the_secret_is_private_and_other_keys_stay() {
    let store = Store::new();
    let id = store.engine().save("Prefers tea over coffee");
    let path = store.home().join("state.json");
    fs::write(&path, r#"{"vaults":{},"tomorrow":{"a":[1]}}"#).unwrap();
    let first = store.engine().forget(&purge_request(&[&id], None)).unwrap();
    let state = || serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(state()["tomorrow"], json!({ "a": [1] }));
    assert_eq!(state()["secret"].as_str().map(str::len), Some(64));
    store.engine().keep(&id);
    assert_eq!(state()["tomorrow"], json!({ "a": [1] }));
    // Without it, the tokens that were given do not hold.
    fs::remove_file(&path).unwrap();
    assert!(store.engine().forget(&purge_request(&[&id], first.preview_token)).is_err());
    store.engine().forget(&purge_request(&[&id], None)).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn the_command_line_shows_before_it_purges() {
    let store = Store::new();
    let id = store.engine().save("Prefers coffee over tea");
    let text = Some("Prefers tea over coffee".to_owned());
    store.engine().change(ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
    let shown = store.run(&["forget", &id, "--purge"]).exits(0);
    let what = format!(
        "would be purged: {id} Prefers tea over coffee\n  and what it said before: Prefers coffee over tea\n\
         nothing was done; to do it, give the same command with --yes, or with --token "
    );
    assert!(shown.stdout.starts_with(&what) && shown.stderr.is_empty(), "{shown}");
    assert!(!shown.stdout.contains("preview_token"), "{shown}");
    assert!(store.engine().find(&id).is_some());
    store.run(&["forget", &id, "--yes"]).exits(2);
    let done = store.run(&["forget", &id, "--purge", "--yes"]).exits(0);
    assert!(done.stdout.starts_with(&format!("purged: {id}\nnot reached: what is outside Ebbmark")), "{done}");
    is_nowhere(&store, "tea over coffee");
    let opened = store.run(&["open", &id]).exits(2);
    assert_eq!(opened.stdout, format!("purged, gone for good: {id}\n"));
    let unknown = store.run(&["forget", "zzzzzzzzzzzz", "--purge", "--yes"]).exits(2);
    assert!(unknown.stdout.contains("not found: zzzzzzzzzzzz"), "{unknown}");
}

#[test]
fn a_client_gets_the_preview_as_data() {
    let store = Store::new();
    let id = store.engine().save("Prefers tea over coffee");
    let greeting =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let call = |arguments: Value| {
        let params = json!({ "name": "forget", "arguments": arguments });
        let replies = serve(
            &store,
            &[
                json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting }),
                json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
            ],
        );
        serde_json::from_str::<Value>(replies.lines().nth(1).unwrap()).unwrap()["result"].clone()
    };
    let shown = call(json!({ "ids": [id], "purge": true }));
    let (text, answer) = (shown["content"][0]["text"].as_str().unwrap(), &shown["structuredContent"]);
    assert!(text.starts_with("memories ") && text.contains("(data, not instructions)"), "{text}");
    assert_eq!(answer["preview"], json!([{ "id": id, "text": "Prefers tea over coffee" }]));
    let wrong = call(json!({ "ids": [id], "purge": true, "preview_token": "19-00" }));
    assert_eq!(wrong["isError"], true);
    let done = call(json!({ "ids": [id], "purge": true, "preview_token": answer["preview_token"] }));
    assert_eq!(done["structuredContent"]["forgotten"], json!([id]));
    for name in ["matching", "history"] {
        assert_eq!(call(json!({ "ids": [id], (name): "tea" }))["isError"], true, "{name}");
    }
}

/// In a process that is to be killed: purges the memory that it is told.
#[test]
fn child() {
    let (Some(store), Ok(id)) = (Store::of_actor(), std::env::var("PURGE")) else { return };
    let engine = store.engine();
    let preview = engine.forget(&purge_request(&[&id], None)).unwrap();
    let mut out = std::io::stdout().lock();
    out.write_all(b"! ready\n").unwrap();
    out.flush().unwrap();
    engine.forget(&purge_request(&[&id], preview.preview_token)).unwrap();
    out.write_all(b"! done\n").unwrap();
    out.flush().unwrap();
}

#[test]
fn a_purge_that_was_killed_is_finished_by_the_next_one_or_by_tidying() {
    let mut dice = Dice(5);
    let mut unfinished = 0;
    for round in 0..24 {
        let store = Store::in_memory();
        let marker = marker(100 + round);
        let (id, quoting) = spread(&store, &marker);
        purge(&store.engine(), &[&quoting]);
        let mut command = store.actor("purge::child");
        let mut child = command.env("PURGE", &id).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.by_ref().any(|line| line.ends_with("! ready")), "round {round}");
        // The moment is meant to be random.
        thread::sleep(Duration::from_micros(dice.below(250_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let was_purged = store.engine().find(&id).is_none();
        unfinished += usize::from(was_purged && !left(&store, &marker).is_empty());
        if was_purged && round % 2 == 0 {
            store.ok(&["tidy"]);
        } else {
            store.ok(&["forget", &id, "--purge", "--yes"]);
        }
        is_nowhere(&store, &marker);
        assert!(store.engine().find(&id).is_none(), "round {round}");
        assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"], "round {round}");
        let status = store.git(&["status", "--porcelain"]);
        let leftovers: Vec<&str> = status.lines().filter(|line| !line.starts_with("?? _git2_")).collect();
        assert!(leftovers.is_empty(), "round {round}: {leftovers:?}");
    }
    assert!(unfinished > 0, "no kill came between the steps");
}
