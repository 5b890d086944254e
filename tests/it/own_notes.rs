//! A person's own notes are recalled where the configuration says so, and never written.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ebbmark::engine::{Engine, Hit, OpenRequest, RecallRequest};
use serde_json::json;

use crate::support::{Calls, Store, files_below, files_with};

const PLAN: &str = "---\ntags: [garden]\naliases: [Beds]\n---\nWhat to do this year.\n\n# Spring\nSow [[Tomato|tomatoes]] \
                    in the greenhouse.\n\n## Tools\nBorrow the wheelbarrow from Iris. #borrowed\n";

/// A person's own vault with notes, all of which are recalled.
fn store(index: &str) -> Store {
    let store = Store::new();
    put(&store, "Garden/Plan.md", PLAN);
    put(&store, "Diary/2026-11-02.md", "Met Leon at the harbour; the ferry was late.\n");
    put(&store, ".obsidian/app.json", "{}");
    store.configure(&format!("[vault]\nindex = {index}\n"));
    store.ok(&["init"]);
    store.engine().clean();
    store
}

fn put(store: &Store, path: &str, text: &str) {
    let full = store.vault().join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, text).unwrap();
}

/// All that is not ours, byte by byte.
fn persons_files(store: &Store) -> BTreeMap<PathBuf, Vec<u8>> {
    files_below(&store.vault())
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn found(store: &Store, query: &str) -> Vec<String> {
    store.engine().hits(query).into_iter().map(|hit| hit.id).collect()
}

/// The hits that hold a word: what only means something like it may be among the others.
fn holding(engine: &Engine, word: &str) -> Vec<String> {
    let hits = engine.hits(word).into_iter();
    hits.filter(|hit| hit.text.contains(word)).map(|hit| hit.id).collect()
}

#[test]
fn own_notes_are_recalled_by_heading_and_never_written() {
    let store = store("\"all\"");
    let before = persons_files(&store);
    let engine = store.engine();
    let memory = engine.save("Iris has a greenhouse");
    let hits = engine.hits("wheelbarrow from Iris");
    let hit = &hits[0];
    assert_eq!(hit.id, "Garden/Plan.md#Tools");
    assert_eq!((hit.kind.as_str(), hit.tier.as_str(), hit.status.as_str()), ("note", "note", "active"));
    assert_eq!(hit.text, "Borrow the wheelbarrow from Iris. #borrowed");
    assert_eq!((hit.title.as_deref(), hit.note.as_deref()), (Some("Plan"), Some("Garden/Plan.md")));
    assert!(ids(&hits).contains(&memory.as_str()), "{hits:?}");
    let by_title = engine.hits("what is in the beds plan");
    assert!(ids(&by_title).contains(&"Garden/Plan.md"), "{by_title:?}");
    assert_eq!(engine.texts("greenhouse tomatoes")[0], "Sow tomatoes in the greenhouse.");
    assert_eq!(ids(&engine.hits("ferry at the harbour")), ["Diary/2026-11-02.md"]);
    assert_eq!(engine.counts().own_notes, 2);
    engine.recall(&RecallRequest::of("wheelbarrow from Iris")).unwrap();
    engine.clean();
    assert_eq!(persons_files(&store), before);
}

#[test]
fn filters_tell_own_notes_from_memories() {
    let store = store("\"all\"");
    let engine = store.engine();
    let memory = engine.save("The greenhouse needs glass");
    let ask = |request: RecallRequest| -> Vec<String> {
        let request = RecallRequest { query: vec!["greenhouse".into()], reinforce: Some(false), ..request };
        engine.recall(&request).unwrap().hits.into_iter().map(|hit| hit.id).collect()
    };
    let spring = "Garden/Plan.md#Spring".to_owned();
    let tier = |tier: &str| RecallRequest { tier: Some(tier.into()), ..RecallRequest::default() };
    assert_eq!(ask(tier("note")), [spring.as_str()]);
    assert_eq!(ask(tier("short_term")), [memory.as_str()]);
    assert_eq!(ask(RecallRequest { tags: vec!["garden".into()], ..RecallRequest::default() }), [spring.as_str()]);
    assert_eq!(ask(RecallRequest { entities: vec!["beds".into()], ..RecallRequest::default() }), [spring.as_str()]);
    assert_eq!(
        ask(RecallRequest { kinds: vec![engine.whole(&memory).memory.kind], ..RecallRequest::default() }),
        [memory.as_str()]
    );
    assert_eq!(ask(RecallRequest { as_of: Some("2026-11-30".into()), ..RecallRequest::default() }), [memory]);
    // Only memories are listed, and only they are used.
    let listed = engine.recall(&RecallRequest::default()).unwrap();
    assert_eq!((listed.hits.len(), listed.total), (1, 1));
    engine.recall(&RecallRequest::of("greenhouse")).unwrap();
    let lines = store.engine().counts().journal_lines;
    assert!(lines <= 2, "{lines}");
}

#[test]
fn a_part_is_opened_by_its_address() {
    let store = store("\"all\"");
    let ids = vec!["Garden/Plan.md#Tools".to_owned(), "Garden/Plan.md".into(), "Garden/None.md".into()];
    let answer = store.engine().open_memories(&OpenRequest { ids, ..OpenRequest::default() }).unwrap();
    assert_eq!(answer.not_found, ["Garden/None.md"]);
    let texts: Vec<&str> = answer.memories.iter().map(|opened| opened.memory.text.as_str()).collect();
    assert_eq!(texts, ["Borrow the wheelbarrow from Iris. #borrowed", "What to do this year."]);
    assert!(answer.memories[0].obsidian.as_deref().unwrap().ends_with("Garden%2FPlan.md"));
    let run = store.run(&["forget", "Garden/Plan.md#Tools"]);
    assert_ne!(run.code, 0, "{run}");
}

#[test]
fn edits_moves_and_deletions_are_followed_by_every_process() {
    let store = store("\"all\"");
    let other = store.engine();
    assert_eq!(other.hits("wheelbarrow").len(), 1);
    put(&store, "Garden/Plan.md", &PLAN.replace("wheelbarrow", "lawnmower"));
    put(&store, "Garden/New.md", "# Pond\nNewts live in the pond.\n");
    fs::rename(store.vault().join("Diary/2026-11-02.md"), store.vault().join("Harbour.md")).unwrap();
    store.engine().clean();
    for engine in [other, store.engine(), store.engine_without_cache().1] {
        engine.clean();
        assert_eq!(holding(&engine, "lawnmower"), ["Garden/Plan.md#Tools"]);
        assert_eq!(holding(&engine, "wheelbarrow"), [] as [&str; 0]);
        assert_eq!(holding(&engine, "Newts"), ["Garden/New.md#Pond"]);
        assert_eq!(holding(&engine, "ferry"), ["Harbour.md"]);
    }
    fs::remove_file(store.vault().join("Harbour.md")).unwrap();
    store.engine().clean();
    assert_eq!(holding(&store.engine(), "ferry"), [] as [&str; 0]);
}

#[test]
fn a_process_that_follows_another_one_dates_them_by_their_last_save() {
    let store = store("\"all\"");
    let follower = store.engine();
    assert_eq!(follower.hits("wheelbarrow").len(), 1);
    put(&store, "Garden/Shed.md", "The scythe hangs in the shed.\n");
    store.engine().clean();
    let since = Some("2020-01-01".into());
    let request = RecallRequest { since, reinforce: Some(false), ..RecallRequest::of("scythe in the shed") };
    let hits = follower.recall(&request).unwrap().hits;
    assert_eq!(hits.first().map(|hit| hit.id.as_str()), Some("Garden/Shed.md"));
}

#[test]
fn a_new_process_finds_them_in_the_index() {
    let store = store("\"all\"");
    store.engine().clean();
    let engine = store.engine();
    assert_eq!(engine.hits("wheelbarrow").len(), 1);
    assert_eq!(engine.counts().not_indexed, 0);
    // Without the index the notes are read again.
    let index = fs::read_dir(store.home().join("cache")).unwrap().flatten().filter(|entry| entry.path().is_dir());
    index.for_each(|entry| fs::remove_dir_all(entry.path()).unwrap());
    assert_eq!(found(&store, "wheelbarrow"), ["Garden/Plan.md#Tools"]);
    // What was kept of them is no use where it is damaged: the next look reads them all.
    fs::write(store.home().join("cache/own-notes.json"), "{").unwrap();
    assert_eq!(found(&store, "wheelbarrow"), [] as [&str; 0]);
    store.engine().clean();
    assert_eq!(found(&store, "wheelbarrow"), ["Garden/Plan.md#Tools"]);
}

#[test]
fn only_listed_folders_are_recalled_and_none_by_default() {
    let folder = store("[\"Garden\"]");
    assert_eq!(found(&folder, "wheelbarrow"), ["Garden/Plan.md#Tools"]);
    assert_eq!(found(&folder, "ferry"), [] as [&str; 0]);
    let none = store("\"none\"");
    assert_eq!(found(&none, "wheelbarrow"), [] as [&str; 0]);
    // Switched off later, nothing is left of them.
    folder.configure("");
    folder.engine().clean();
    assert_eq!(found(&folder, "wheelbarrow"), [] as [&str; 0]);
    folder.engine().clean();
    assert_eq!(files_with(&folder.home(), b"wheelbarrow"), [] as [PathBuf; 0]);
    assert!(!folder.home().join("cache/own-notes.json").exists());
}

#[test]
fn secrets_in_own_notes_reach_neither_answers_nor_the_cache() {
    let store = store("\"all\"");
    let secret = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    put(&store, "Accounts.md", &format!("# Forge\nThe token of the forge is {secret} for now.\n"));
    store.engine().clean();
    let hits = store.engine().hits("token of the forge");
    assert_eq!(hits[0].id, "Accounts.md#Forge");
    assert!(!hits[0].text.contains(&secret), "{hits:?}");
    assert_eq!(files_with(&store.home(), secret.to_lowercase().as_bytes()), [] as [PathBuf; 0]);
    assert_eq!(files_with(&store.home(), secret.as_bytes()), [] as [PathBuf; 0]);
}

#[test]
fn a_note_that_cannot_be_read_costs_only_itself() {
    let store = store("\"all\"");
    fs::write(store.vault().join("Broken.md"), b"\xff\xfe\x00wheels").unwrap();
    put(&store, "Odd.md", "---\n: [\n---\nOdd note about wheels.\n");
    put(&store, "Empty.md", "");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", store.vault().join("Linked")).unwrap();
    let answer = store.engine().clean();
    assert_eq!(answer.problems.len(), 1, "{answer:?}");
    assert!(answer.problems[0].contains("Broken.md"), "{answer:?}");
    assert_eq!(found(&store, "odd wheels"), ["Odd.md"]);
}

#[test]
fn what_is_shown_is_what_the_note_says_now() {
    let store = store("\"all\"");
    let engine = store.engine();
    assert_eq!(engine.hits("wheelbarrow").len(), 1);
    put(&store, "Garden/Plan.md", &PLAN.replace("from Iris", "from Leon"));
    assert_eq!(engine.texts("wheelbarrow"), ["Borrow the wheelbarrow from Leon. #borrowed"]);
    fs::remove_file(store.vault().join("Garden/Plan.md")).unwrap();
    assert!(engine.hits("wheelbarrow").is_empty());
}

#[test]
fn recall_on_the_command_line_shows_where_a_part_stands() {
    let store = store("\"all\"");
    let answer = store.json(&["recall", "wheelbarrow"]);
    assert_eq!(answer["hits"][0]["id"], json!("Garden/Plan.md#Tools"));
    let text = store.ok(&["recall", "wheelbarrow", "--tier", "note"]);
    assert!(text.contains("Garden/Plan.md#Tools"), "{text}");
    let stats = store.ok(&["inspect", "stats"]);
    assert!(stats.contains("own notes: 2"), "{stats}");
}
