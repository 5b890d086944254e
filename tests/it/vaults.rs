//! The vault is the person's: notes as documented, edits that win, bytes that survive.

use std::collections::BTreeSet;
use std::fs;

use ebbmark::engine::{NewMemory, Opened, PromoteRequest, ReinforceRequest, ReviseRequest, SourceInput};

use crate::support::{Calls, Store, files_below};

/// A store with one promoted memory: its id and its note's name.
fn with_note(text: &str) -> (Store, String, String) {
    let store = Store::new();
    let id = store.engine().save(text);
    let note = store.engine().keep(&id);
    let name = note.strip_prefix("Memories/").unwrap().strip_suffix(".md").unwrap().to_owned();
    (store, id, name)
}

fn revision(id: &str) -> ReviseRequest {
    ReviseRequest { id: id.into(), ..ReviseRequest::default() }
}

fn touch(store: &Store, id: &str) {
    let request = ReinforceRequest { ids: vec![id.into()], ..ReinforceRequest::default() };
    assert_eq!(store.engine().reinforce(&request).unwrap().results.len(), 1);
}

/// A note without the lines that Ebbmark may bring up to date by itself.
fn persons_part(note: &str) -> String {
    let ours = ["last_used:", "uses:", "strength:", "status:", "half_life_days:"];
    note.split_inclusive('\n').filter(|line| !ours.iter().any(|key| line.starts_with(key))).collect()
}

#[test]
fn a_promoted_memory_is_the_documented_note() {
    let mut store = Store::new();
    let told = NewMemory {
        text: "Prefers TypeScript over JavaScript for new projects.".into(),
        kind: Some("preference".into()),
        tags: vec!["languages".into()],
        entities: vec!["TypeScript".into()],
        strength: Some(1.2),
        source: Some(SourceInput {
            who: Some("agent".into()),
            client: Some("Claude Desktop".into()),
            ..SourceInput::default()
        }),
        ..NewMemory::default()
    };
    let id = store.engine().tell(told).id.unwrap();
    for _ in 0..4 {
        store.pass_days(1);
        touch(&store, &id);
    }
    assert_eq!(store.engine().keep(&id), "Memories/Prefers TypeScript over JavaScript for new projects.md");
    let strength = store.engine().whole(&id).strength;
    let expected = format!(
        r#"---
id: {id}
kind: preference
status: active
created: 2026-11-29
last_used: 2026-12-03
uses: 4
strength: {strength}
half_life_days: 40
pinned: false
entities:
  - "[[TypeScript]]"
  - "[[JavaScript]]"
source: Claude Desktop, 2026-11-29
tags:
  - languages
aliases: []
---
Prefers TypeScript over JavaScript for new projects.
"#
    );
    assert_eq!(store.note("Prefers TypeScript over JavaScript for new projects"), expected);
    let memory = store.engine().whole(&id).memory;
    assert_eq!(memory.text, "Prefers TypeScript over JavaScript for new projects.");
    assert_eq!(memory.tier, "long_term");
}

#[test]
fn a_vault_is_laid_out_once_and_then_left_alone() {
    let store = Store::new();
    store.ok(&["init"]);
    let made: BTreeSet<String> = files_below(&store.vault())
        .into_keys()
        .map(|path| path.to_str().unwrap().to_owned())
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    for file in
        ["Home.md", "Memories.base", "Templates/Memory.md", ".gitignore", ".gitattributes", ".obsidian/app.json"]
    {
        assert!(made.contains(file), "{file}: {made:?}");
    }
    fs::write(store.vault().join(".obsidian/app.json"), "{\"mine\":1}").unwrap();
    fs::write(store.vault().join("Templates/Memory.md"), "mine").unwrap();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    store.ok(&["init"]);
    store.ok(&["tidy"]);
    assert_eq!(fs::read_to_string(store.vault().join(".obsidian/app.json")).unwrap(), "{\"mine\":1}");
    assert_eq!(fs::read_to_string(store.vault().join("Templates/Memory.md")).unwrap(), "mine");
}

#[test]
fn a_second_tidying_changes_nothing() {
    let (mut store, id, _) = with_note("Owns a red bicycle");
    store.pass_days(3);
    touch(&store, &id);
    let first = store.json(&["tidy"]);
    assert_eq!(first["refreshed"].as_array().unwrap().len(), 1, "{first}");
    let before = (files_below(store.root()), store.git(&["rev-list", "--count", "HEAD"]));
    store.pass_days(1);
    let second = store.json(&["tidy"]);
    assert!(second.get("commit").is_none(), "{second}");
    // What was seen of notes is derived, as the index is.
    let cache = |path: &std::path::Path| path.starts_with("home/cache") || path.starts_with("home/vaults");
    let mut after = files_below(store.root());
    let mut before_files = before.0;
    after.retain(|path, _| !cache(path) && path.file_name().unwrap() != "lock");
    before_files.retain(|path, _| !cache(path) && path.file_name().unwrap() != "lock");
    let changed: Vec<_> = after.iter().filter(|(path, bytes)| before_files.get(*path) != Some(bytes)).collect();
    assert!(changed.is_empty(), "{:?}", changed.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(store.git(&["rev-list", "--count", "HEAD"]), before.1);
}

/// What a person changes in the note, and what must be true of the memory then.
type Edit = (&'static str, &'static str, fn(&Opened) -> bool);

#[test]
fn what_a_person_changes_in_a_note_is_read_back() {
    let edits: [Edit; 10] = [
        ("\nOwns a red bicycle\n", "\nOwns a green bicycle\n", |m| m.memory.text == "Owns a green bicycle"),
        ("kind: fact\n", "kind: decision\n", |m| m.memory.kind == "decision"),
        ("strength: 0.9\n", "strength: 1.7\n", |m| (m.strength - 1.7).abs() < 1e-9),
        ("pinned: false\n", "pinned: true\n", |m| m.pinned),
        ("tags: []\n", "tags:\n  - things\n  - wheels\n", |m| m.memory.tags == ["things", "wheels"]),
        ("tags: []\n", "tags: [things, wheels]\n", |m| m.memory.tags == ["things", "wheels"]),
        ("tags: []\n", "tags: things\n", |m| m.memory.tags == ["things"]),
        ("---\nOwns", "title: The bicycle\n---\nOwns", |m| m.memory.title.as_deref() == Some("The bicycle")),
        ("entities: []\n", "entities:\n  - \"[[Canal]]\"\n", |m| m.memory.entities == ["Canal"]),
        ("---\nOwns a red", "---\nOwns a [[Colours|red]]", |m| m.memory.text == "Owns a red bicycle"),
    ];
    for (from, to, is_read) in edits {
        let (mut store, id, name) = with_note("Owns a red bicycle");
        store.edit_note(&name, from, to);
        let edited = store.note(&name);
        store.pass_hours(1);
        let answer = store.json(&["tidy"]);
        assert!(answer.get("problems").is_none(), "{to}: {answer}");
        assert!(is_read(&store.engine().whole(&id)), "{to}: {:?}", store.engine().whole(&id));
        assert_eq!(persons_part(&store.note(&name)), persons_part(&edited), "{to}");
        assert_eq!(store.git(&["status", "--porcelain"]), "", "{to}");
        let commits = store.git(&["log", "--format=%s / %b"]);
        let trailer = format!("Ebbmark-Memory: {id}");
        let is_edit = |commit: &&str| commit.starts_with("Edit in Obsidian: ") && commit.contains(&trailer);
        assert_eq!(commits.lines().filter(is_edit).count(), 1, "{to}: {commits}");
        // And it stays so.
        assert_eq!(store.json(&["tidy"])["edited"].as_array().unwrap().len(), 0, "{to}");
        assert!(is_read(&store.engine().whole(&id)), "{to}, tidied again");
    }
}

#[test]
fn the_numbers_of_a_note_follow_a_kind_that_a_person_changed() {
    let (store, id, name) = with_note("Owns a red bicycle");
    store.edit_note(&name, "kind: fact\n", "kind: decision\n");
    store.ok(&["tidy"]);
    let memory = store.engine().whole(&id);
    assert_eq!((memory.strength, memory.half_life_days), (1.0, 40.0));
    let note = store.note(&name);
    assert!(note.contains("\nstrength: 1\n") && note.contains("\nhalf_life_days: 40\n"), "{note}");
}

#[test]
fn an_edit_is_recalled_at_once_and_its_old_words_are_not() {
    let (store, _, name) = with_note("Owns a red bicycle");
    store.edit_note(&name, "\nOwns a red bicycle", "\nOwns a velvet tandem");
    let hits = |query| store.json(&["recall", query, "--no-reinforce"])["hits"].as_array().unwrap().len();
    assert_eq!((hits("tandem"), hits("bicycle")), (1, 0));
}

#[test]
fn a_running_process_sees_an_edit_that_changes_no_length() {
    let (store, id, name) = with_note("Owns a red bicycle");
    let engine = store.engine();
    engine.clean();
    for colour in ["tan", "red", "tan", "red", "tan"] {
        let note = store.note(&name);
        let (front, _) = note.split_once("\nOwns").unwrap();
        store.write_note(&name, &format!("{front}\nOwns a {colour} bicycle\n"));
        engine.clean();
        assert_eq!(engine.whole(&id).memory.text, format!("Owns a {colour} bicycle"));
    }
}

#[test]
fn a_renamed_or_moved_note_is_followed() {
    let (store, id, name) = with_note("Owns a red bicycle");
    fs::rename(store.note_path(&name), store.note_path("The bicycle")).unwrap();
    store.ok(&["tidy"]);
    let memory = store.engine().whole(&id).memory;
    assert_eq!(memory.note.as_deref(), Some("Memories/The bicycle.md"));
    assert_eq!(memory.title.as_deref(), Some("The bicycle"), "the file's name is the title");
    assert_eq!(store.json(&["recall", "bicycle"])["hits"][0]["note"], "Memories/The bicycle.md");

    fs::create_dir(store.vault().join("Memories/Things")).unwrap();
    fs::rename(store.note_path("The bicycle"), store.note_path("Things/The bicycle")).unwrap();
    store.ok(&["tidy"]);
    assert_eq!(store.engine().whole(&id).memory.note.as_deref(), Some("Memories/Things/The bicycle.md"));
    store.engine().change(ReviseRequest { text: Some("Owns a blue bicycle".into()), ..revision(&id) });
    assert!(store.note("Things/The bicycle").ends_with("\nOwns a blue bicycle\n"));
    assert_eq!(store.engine().counts().active, 1);
}

#[test]
fn the_former_path_of_a_renamed_note_leaves_git() {
    let (store, _, name) = with_note("Owns a red bicycle");
    fs::rename(store.note_path(&name), store.note_path("The bicycle")).unwrap();
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.git(&["ls-files", "Memories"]), "Memories/The bicycle.md");
}

#[test]
fn revising_a_promoted_memory_changes_its_note_and_nothing_else_in_it() {
    let (store, id, name) = with_note("Owns a red bicycle");
    store.edit_note(&name, "---\nid", "---\n# keep me\nrating:   5   \nlinks: [ \"a\" , b ]\nid");
    store.edit_note(&name, "bicycle\n", "bicycle\n\n%% ebbmark:related %%\n## Related\n%% /ebbmark:related %%\n");
    store.ok(&["tidy"]);
    let before = store.note(&name);
    store.engine().change(ReviseRequest { text: Some("Owns a blue bicycle".into()), ..revision(&id) });
    assert_eq!(store.note(&name), before.replace("a red", "a blue"));
    store.engine().change(ReviseRequest { tags: Some(vec!["things".into()]), ..revision(&id) });
    assert_eq!(store.note(&name), before.replace("a red", "a blue").replace("tags: []", "tags:\n  - things"));
    store.engine().change(ReviseRequest { pinned: Some(true), ..revision(&id) });
    assert!(store.note(&name).contains("\npinned: true\n"));
    assert!(store.git(&["log", "-1", "--format=%s"]).starts_with("Revise: "));
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a blue bicycle");
}

/// B23: only our own lines change.
#[test]
fn a_persons_bytes_survive_refreshing_and_revising() {
    let notes = [
        // Windows line ends, a comment, an odd order, odd spaces, keys of the person.
        "---\r\ntags: [ things,  \"two wheels\" ]\r\n# keep me\r\nid: ID\r\nkind: fact\r\nuses: 0\r\nrating:   5   \r\n\
         last_used: 2026-11-29\r\nstrength: 0.9\r\n\"quoted key\": 'x'\r\npinned: false\r\ncreated: 2026-11-29\r\n\
         url: \"https://example.org/#a: b\"\r\n---\r\nOwns a red bicycle\r\n",
        // A byte order mark, nested values, block texts, four spaces.
        "\u{feff}---\nid: ID\nkind: fact\nuses: 0\nlast_used: 2026-11-29\nstrength: 0.9\nmore:\n    deep:\n        - 1\n\
         \n        - 2\nstory: |\n  uses: no key\n  last_used: neither\ndate: 2026-01-01\n---\n\n\nOwns a red bicycle   \n",
        // No newline at the end, a rule in the text.
        "---\nid: ID\nkind: fact\nuses: 0\nlast_used: 2026-11-29\nstrength: 0.9\n---\nOwns a red bicycle\n\n---\n\nuses: 3",
        // Text around a managed block, and in it.
        "---\nid: ID\nkind: fact\nuses: 0\nlast_used: 2026-11-29\nstrength: 0.9\n---\nOwns a red bicycle\n\n\
         %% ebbmark:related %%\n## Related\n- the [[Shop]] where I got it\n%% /ebbmark:related %%\n\nMy own words.  \n\n\n> [!note] A callout\n> of mine",
    ];
    for written in notes {
        let (mut store, id, name) = with_note("Owns a red bicycle");
        let written = written.replace("ID", &id);
        store.write_note(&name, &written);
        let answer = store.json(&["tidy"]);
        assert!(answer.get("problems").is_none(), "{answer}\n{written}");
        assert_eq!(persons_part(&store.note(&name)), persons_part(&written));
        let is_crlf = written.contains("\r\n");

        store.pass_days(2);
        touch(&store, &id);
        store.ok(&["tidy"]);
        let refreshed = store.note(&name);
        assert_eq!(persons_part(&refreshed), persons_part(&written));
        assert!(refreshed.contains("\nuses: 1") && refreshed.contains("\nlast_used: 2026-12-01"), "{refreshed}");
        assert!(!is_crlf || refreshed.matches("\r\n").count() == refreshed.matches('\n').count(), "{refreshed:?}");

        // A new strength is a key of ours: one line, the rest stays.
        store.engine().change(ReviseRequest { strength: Some(1.5), ..revision(&id) });
        let revised = store.note(&name);
        assert_eq!(persons_part(&revised), persons_part(&written));
        assert!(revised.contains("\nstrength: 1.5"), "{revised}");
        assert!(!is_crlf || revised.matches("\r\n").count() == revised.matches('\n').count(), "{revised:?}");
        assert_eq!(store.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn an_edit_that_was_not_read_yet_is_not_overwritten() {
    let (store, id, name) = with_note("Owns a red bicycle");
    store.edit_note(&name, "\nOwns a red bicycle\n", "\nOwns a green bicycle, since May\n");
    let request = ReviseRequest { tags: Some(vec!["things".into()]), ..revision(&id) };
    drop(store.engine().revise(&request));
    store.ok(&["reinforce", &id]);
    store.ok(&["tidy"]);
    assert!(store.note(&name).ends_with("\nOwns a green bicycle, since May\n"), "{}", store.note(&name));
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a green bicycle, since May");

    store.edit_note(&name, "since May", "since June");
    drop(store.engine().revise(&ReviseRequest { text: Some("Owns no bicycle".into()), ..revision(&id) }));
    store.ok(&["tidy"]);
    let told: Vec<String> = store.engine().whole(&id).history.into_iter().filter_map(|entry| entry.text).collect();
    assert!(
        store.note(&name).contains("since June") || told.iter().any(|text| text.contains("since June")),
        "the person's words are nowhere: {told:?}"
    );
}

#[test]
fn forgetting_moves_the_note_to_the_trash_and_restoring_brings_it_back() {
    let (store, id, name) = with_note("Owns a red bicycle");
    store.edit_note(&name, "---\nid", "---\n# keep me\nid");
    store.ok(&["tidy"]);
    let note = store.note(&name);
    let answer = store.json(&["forget", &id]);
    assert!(answer["undo"].as_str().unwrap().contains("restore"), "{answer}");
    assert!(store.notes().is_empty());
    let trash = files_below(&store.vault().join(".trash"));
    assert_eq!(trash.into_values().collect::<Vec<_>>(), [note.clone().into_bytes()]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.git(&["ls-files", "Memories"]), "");
    assert!(store.git(&["log", "-1", "--format=%B"]).contains(&format!("Ebbmark-Memory: {id}")));
    assert!(store.engine().texts("bicycle").is_empty());

    store.ok(&["restore", &id]);
    assert_eq!(store.note(&name), note);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.json(&["recall", "bicycle"])["hits"][0]["tier"], "long_term");
}

#[test]
fn restoring_works_when_the_trash_was_emptied_or_the_place_is_taken() {
    let (store, id, name) = with_note("Owns a red bicycle");
    store.ok(&["forget", &id]);
    fs::remove_dir_all(store.vault().join(".trash")).unwrap();
    store.ok(&["restore", &id]);
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
    assert_eq!(store.notes(), [name.as_str()], "a promoted memory has its note again");
    assert!(store.note(&name).contains("Owns a red bicycle"));
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");

    store.ok(&["forget", &id]);
    store.write_note(&name, "A note that the person wrote meanwhile.\n");
    store.ok(&["restore", &id]);
    assert_eq!(store.note(&name), "A note that the person wrote meanwhile.\n");
    let note = store.engine().whole(&id).memory.note.expect("a note of its own");
    assert_ne!(note, format!("Memories/{name}.md"));
    assert!(fs::read_to_string(store.vault().join(note)).unwrap().contains("Owns a red bicycle"));
}

#[test]
fn forgetting_keeps_an_edit_that_was_not_read_yet() {
    let (store, id, name) = with_note("Owns a red bicycle");
    store.edit_note(&name, "\nOwns a red", "\nOwns a velvet");
    store.ok(&["forget", &id]);
    assert!(store.engine().texts("bicycle").is_empty());
    store.ok(&["restore", &id]);
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a velvet bicycle");
}

#[test]
fn tidying_promotes_what_has_proved_itself_and_nothing_else() {
    let mut store = Store::new();
    let proved = store.engine().save("Prefers tea over coffee");
    let fresh = store.engine().save("Owns a red bicycle");
    assert!(store.engine().clean().promoted.is_empty(), "nothing is promoted when it is new");
    for _ in 0..3 {
        store.pass_days(1);
        touch(&store, &proved);
    }
    let answer = store.json(&["tidy", "--dry-run"]);
    assert_eq!(answer["candidates"][0]["id"], proved.as_str(), "{answer}");
    assert!(!store.vault().exists(), "a dry run made the vault");
    let answer = store.json(&["tidy"]);
    assert_eq!(answer["promoted"][0]["id"], proved.as_str(), "{answer}");
    assert!(!answer["promoted"][0]["why"].as_str().unwrap().is_empty());
    assert_eq!(store.notes().len(), 1);
    assert!(store.engine().whole(&fresh).memory.note.is_none());
}

#[test]
fn what_comes_from_a_tool_or_the_web_needs_a_person() {
    let store = Store::new();
    let source = SourceInput { who: Some("web".into()), ..SourceInput::default() };
    let told = NewMemory { text: "The canal froze in 1962".into(), source: Some(source), ..NewMemory::default() };
    let id = store.engine().tell(told).id.unwrap();
    let request = PromoteRequest { ids: vec![id.clone()], ..PromoteRequest::default() };
    let answer = store.engine().promote(&request).unwrap();
    assert!(answer.promoted.is_empty() && answer.skipped[0].id == id, "{answer:?}");
    assert!(store.notes().is_empty());
    assert_eq!(store.engine().whole(&id).memory.trusted, Some(false));
    let answer = store.engine().promote(&PromoteRequest { force: Some(true), ..request }).unwrap();
    assert_eq!(answer.promoted.len(), 1);
}
