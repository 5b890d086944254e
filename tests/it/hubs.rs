//! Entities that earned a note of their own, links that lead somewhere, and the commands on notes.

use std::fs;

use ebbmark::engine::NewMemory;

use crate::support::{Calls, Store};

fn about(store: &Store, text: &str, entity: &str) -> String {
    let told = NewMemory { text: text.into(), entities: vec![entity.into()], ..NewMemory::default() };
    store.engine().tell(told).id.unwrap()
}

#[test]
fn three_memories_earn_an_entity_its_hub() {
    let store = Store::new();
    let first = about(&store, "Ada prefers green tea", "Ada");
    store.engine().keep(&first);
    about(&store, "Ada lives by the harbour", "Ada");
    store.engine().clean();
    let hub = store.vault().join("Entities/Ada.md");
    assert!(!hub.exists());
    let third = about(&store, "Ada plays the cello", "Ada");
    store.engine().clean();
    let text = fs::read_to_string(&hub).unwrap();
    assert_eq!(
        text,
        "---\naliases: []\n---\n%% ebbmark:about %%\n![[Memories.base#About this note]]\n## Known\n### preference\n\
         - 2026-11-29 [[Ada prefers green tea]]\n%% /ebbmark:about %%\n"
    );
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    // From now on its name is a link, once in a text.
    store.engine().keep(&third);
    assert!(store.note("Ada plays the cello").ends_with("---\n[[Ada]] plays the cello\n"));
}

#[test]
fn a_hub_is_the_persons_once_it_is_made() {
    let store = Store::new();
    let first = about(&store, "Ada prefers green tea", "Ada");
    about(&store, "Ada lives by the harbour", "Ada");
    about(&store, "Ada plays the cello", "Ada");
    store.engine().keep(&first);
    store.engine().clean();
    let hub = store.vault().join("Entities/Ada.md");
    fs::write(&hub, "mine").unwrap();
    store.engine().clean();
    assert_eq!(fs::read_to_string(&hub).unwrap(), "mine");
    fs::remove_file(&hub).unwrap();
    store.engine().clean();
    assert!(!hub.exists());
}

/// A vault in which Ada has her hub: the path of it, and the ids of the three memories, the first with a note.
fn with_hub() -> (Store, std::path::PathBuf, [String; 3]) {
    let store = Store::new();
    let ids = ["Ada prefers green tea", "Ada lives by the harbour", "Ada plays the cello"];
    let ids = ids.map(|text| about(&store, text, "Ada"));
    store.engine().keep(&ids[0]);
    store.engine().clean();
    let hub = store.vault().join("Entities/Ada.md");
    assert!(hub.exists());
    (store, hub, ids)
}

#[test]
fn a_hub_shows_what_is_known_and_the_persons_words_around_it_stay() {
    let (store, hub, [tea, harbour, _]) = with_hub();
    let person =
        |text: &str| text.replace("%% ebbmark:about %%", "# My Ada\r\n\n%% ebbmark:about %%") + "\nBelow, *mine*.\n\n";
    fs::write(&hub, person(&fs::read_to_string(&hub).unwrap())).unwrap();
    let before = fs::read_to_string(&hub).unwrap();
    store.engine().keep(&harbour);
    let tidied = store.engine().clean();
    assert!(tidied.refreshed.contains(&"Entities/Ada.md".to_owned()), "{tidied:?}");
    let kind = store.engine().whole(&harbour).memory.kind;
    let known = "### preference\n- 2026-11-29 [[Ada prefers green tea]]\n";
    let both = format!("{known}### {kind}\n- 2026-11-29 [[Ada lives by the harbour]]\n");
    let after = fs::read_to_string(&hub).unwrap();
    assert_eq!(after.replace("\r\n", "\n"), before.replace(known, &both).replace("\r\n", "\n"));
    assert!(after.contains("# My Ada\r\n") && after.ends_with("\nBelow, *mine*.\n\n"));
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    // Where nothing changed nothing is written, and nothing committed.
    let commit = store.git(&["rev-parse", "HEAD"]);
    let again = store.engine().clean();
    assert_eq!((again.refreshed.len(), store.git(&["rev-parse", "HEAD"])), (0, commit), "{again:?}");
    // What is no longer known is no longer shown.
    store.engine().drop_memory(&tea);
    store.engine().drop_memory(&harbour);
    store.engine().clean();
    let bare = fs::read_to_string(&hub).unwrap();
    assert!(!bare.contains("[[Ada ") && bare.contains("![[Memories.base#About this note]]"), "{bare}");
    store.engine().clean();
    assert_eq!(fs::read_to_string(&hub).unwrap(), bare);
}

#[test]
fn a_block_that_a_person_wrote_in_or_took_away_is_left() {
    let (store, hub, [_, harbour, cello]) = with_hub();
    let edited = fs::read_to_string(&hub).unwrap().replace("## Known\n", "## Known\nShe is my sister.\n");
    fs::write(&hub, &edited).unwrap();
    store.engine().keep(&harbour);
    store.engine().clean();
    assert_eq!(fs::read_to_string(&hub).unwrap(), edited);
    fs::write(&hub, "No block.\n").unwrap();
    store.engine().keep(&cello);
    store.engine().clean();
    assert_eq!(fs::read_to_string(&hub).unwrap(), "No block.\n");
}

#[test]
fn a_purged_memory_leaves_the_hub_at_once() {
    let (store, hub, [tea, ..]) = with_hub();
    let token = store.json(&["forget", &tea, "--purge"])["preview_token"].as_str().unwrap().to_owned();
    store.ok(&["forget", &tea, "--purge", "--token", &token]);
    assert!(!fs::read_to_string(&hub).unwrap().contains("green tea"));
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

#[test]
fn notes_of_memories_that_follow_one_another_link_to_each_other() {
    let store = Store::new();
    let old = store.engine().save("Ada prefers black tea");
    store.engine().keep(&old);
    let newer = NewMemory {
        text: "Ada prefers green tea since May".into(),
        supersedes: vec![old.clone()],
        ..NewMemory::default()
    };
    let newer = store.engine().tell(newer).id.unwrap();
    store.engine().clean();
    // A link needs a note at its other end.
    assert!(!store.note("Ada prefers black tea").contains("Related"));
    store.engine().keep(&newer);
    store.engine().clean();
    let block = |line: &str| format!("\n\n%% ebbmark:related %%\n## Related\n- {line}\n%% /ebbmark:related %%\n");
    let (old_note, new_note) = (store.note("Ada prefers black tea"), store.note("Ada prefers green tea since May"));
    assert!(old_note.ends_with(&block("superseded by [[Ada prefers green tea since May]]")), "{old_note}");
    assert!(new_note.ends_with(&block("supersedes [[Ada prefers black tea]]")), "{new_note}");
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    let again = store.engine().clean();
    assert_eq!((again.refreshed.len(), again.edited.len()), (0, 0), "{again:?}");
    assert_eq!(store.engine().whole(&newer).memory.text, "Ada prefers green tea since May");
    // What a person writes around it stays, and it goes with what it tells of.
    store.edit_note("Ada prefers green tea since May", "since May\n\n%%", "since June\n\n%%");
    let with_more = store.note("Ada prefers green tea since May") + "\n";
    store.write_note("Ada prefers green tea since May", &with_more);
    store.engine().clean();
    assert_eq!(store.engine().whole(&newer).memory.text, "Ada prefers green tea since June");
    store.engine().drop_memory(&old);
    store.engine().clean();
    let without = store.note("Ada prefers green tea since May");
    assert!(without.ends_with("---\nAda prefers green tea since June\n\n"), "{without:?}");
}

#[test]
fn an_entity_that_has_a_note_anywhere_gets_no_second_one() {
    let store = Store::new();
    store.ok(&["init"]);
    fs::create_dir(store.vault().join("People")).unwrap();
    fs::write(store.vault().join("People/ada.md"), "mine").unwrap();
    let first = about(&store, "Ada prefers green tea", "Ada");
    about(&store, "Ada lives by the harbour", "Ada");
    about(&store, "Ada plays the cello", "Ada");
    store.engine().keep(&first);
    store.engine().clean();
    assert!(!store.vault().join("Entities/Ada.md").exists());
    assert!(store.note("Ada prefers green tea").ends_with("---\n[[Ada]] prefers green tea\n"));
}

#[test]
fn a_name_that_no_file_can_have_becomes_an_alias() {
    let store = Store::new();
    let first = about(&store, "Knows C# well", "C#");
    about(&store, "Prefers C# over Java", "C#");
    about(&store, "Teaches C# on Mondays", "C#");
    store.engine().keep(&first);
    store.engine().clean();
    let hubs: Vec<String> = fs::read_dir(store.vault().join("Entities"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(hubs.len(), 1, "{hubs:?}");
    let text = fs::read_to_string(store.vault().join("Entities").join(&hubs[0])).unwrap();
    assert!(!hubs[0].contains('#') && text.contains("aliases:\n  - C#\n"), "{hubs:?} {text}");
}

#[test]
fn a_text_links_only_to_notes_that_are_there() {
    let store = Store::new();
    let id = about(&store, "Ada prefers green tea", "Ada");
    store.engine().keep(&id);
    assert!(store.note("Ada prefers green tea").ends_with("---\nAda prefers green tea\n"));
}

#[test]
fn notes_are_listed_printed_and_written_by_commands() {
    let store = Store::new();
    assert!(store.ok(&["note", "list"]).contains("No notes yet"));
    store.ok(&["note", "new", "Tea", "The", "user", "prefers", "green", "tea"]);
    let listed = store.json(&["note", "list"]);
    let id = listed["notes"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["notes"][0]["path"], "Memories/Tea.md");
    for which in ["tea", &id, &id[..6], "Memories/Tea.md"] {
        assert_eq!(store.ok(&["note", "read", which]), store.note("Tea"), "{which}");
    }
    let opened = store.ok(&["open", &id]);
    assert!(opened.contains("obsidian://open?path=%2F") && opened.contains("Memories%2FTea.md"), "{opened}");
    store.run(&["note", "read", "Coffee"]).exits(2);
    store.run(&["note", "read", "../home/config.toml"]).exits(2);
    store.run(&["note", "new", "Empty", ""]).exits(2);
}
