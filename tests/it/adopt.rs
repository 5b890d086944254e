//! Notes that no memory of ours is behind: written by hand, brought from elsewhere, or of forgotten memories.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use ebbmark::engine::NewMemory;

use crate::support::{Calls, Store};

/// Writes a note that was last saved a minute before the store's now.
fn write(store: &Store, name: &str, text: &str) {
    store.write_note(name, text);
    settle(store, name);
}

fn settle(store: &Store, name: &str) {
    let at = UNIX_EPOCH + Duration::from_millis(store.now.millis() as u64) - Duration::from_secs(60);
    fs::File::options().append(true).open(store.note_path(name)).unwrap().set_modified(at).unwrap();
}

#[test]
fn a_note_written_by_hand_becomes_a_memory_and_keeps_its_bytes() {
    let store = Store::new();
    store.ok(&["init"]);
    let by_hand = "---\r\n# mine\r\ncolour: \"red\"\r\ntags: [wheels, Blue]\r\nstrength: 1.5\r\n---\r\nThe [[bicycle]] in the shed is **mine**.";
    write(&store, "My bicycle", by_hand);
    let answer = store.engine().clean();
    assert_eq!((answer.adopted, answer.problems), (vec!["Memories/My bicycle.md".to_owned()], vec![]));
    let hits = store.engine().hits("bicycle in the shed");
    assert_eq!(hits.len(), 1);
    let memory = store.engine().whole(&hits[0].id);
    assert_eq!(memory.memory.text, "The bicycle in the shed is **mine**.");
    assert_eq!(memory.memory.tags, ["wheels", "Blue"]);
    assert_eq!(memory.memory.note.as_deref(), Some("Memories/My bicycle.md"));
    let note = store.note("My bicycle");
    assert!(
        note.starts_with("---\r\n# mine\r\ncolour: \"red\"\r\ntags: [wheels, Blue]\r\nstrength: 1.5\r\n"),
        "{note}"
    );
    assert!(note.contains(&format!("id: {}\r\n", hits[0].id)) && note.contains("uses: 0\r\n"), "{note}");
    assert!(note.ends_with("---\r\nThe [[bicycle]] in the shed is **mine**."), "{note}");
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    let journal = store.journals();
    let again = store.engine().clean();
    assert_eq!((again.adopted.len(), again.edited.len()), (0, 0), "{again:?}");
    assert_eq!((store.journals(), store.note("My bicycle")), (journal, note));
}

#[test]
fn a_note_without_frontmatter_gets_one() {
    let store = Store::new();
    store.ok(&["init"]);
    write(&store, "Tea", "The user prefers green tea in the morning.\n");
    store.engine().clean();
    let note = store.note("Tea");
    assert!(
        note.starts_with("---\nid: ") && note.ends_with("---\nThe user prefers green tea in the morning.\n"),
        "{note}"
    );
    assert_eq!(store.engine().hits("green tea")[0].kind, "preference");
}

#[test]
fn a_note_that_is_being_written_is_left_alone() {
    let store = Store::new();
    store.ok(&["init"]);
    store.write_note("Tea", "The user prefers gr");
    assert_eq!(store.engine().clean().adopted, [] as [String; 0]);
    write(&store, "Empty", "---\ntags: [x]\n---\n");
    assert_eq!(store.engine().clean().adopted, [] as [String; 0]);
    assert_eq!(store.note("Tea"), "The user prefers gr");
}

#[test]
fn a_vault_alone_brings_its_memories_to_a_new_machine() {
    let mut store = Store::new();
    let told = NewMemory {
        text: "Prefers TypeScript over JavaScript".into(),
        kind: Some("preference".into()),
        tags: vec!["languages".into()],
        entities: vec!["TypeScript".into()],
        ..NewMemory::default()
    };
    let id = store.engine().tell(told).id.unwrap();
    store.engine().keep(&id);
    store.pass_days(3);
    store.ok(&["reinforce", &id]);
    store.engine().clean();
    let before = store.engine().whole(&id);
    fs::remove_dir_all(store.home()).unwrap();
    settle(&store, "Prefers TypeScript over JavaScript");
    let note = store.note("Prefers TypeScript over JavaScript");
    let answer = store.engine().clean();
    assert_eq!(answer.adopted, ["Memories/Prefers TypeScript over JavaScript.md"], "{answer:?}");
    let after = store.engine().whole(&id);
    assert_eq!(after.memory.text, before.memory.text);
    assert_eq!((after.memory.kind, after.memory.tags), (before.memory.kind, before.memory.tags));
    assert_eq!(after.memory.entities, before.memory.entities);
    assert_eq!(after.uses, before.uses);
    assert_eq!(store.note("Prefers TypeScript over JavaScript"), note, "nothing had to be written");
}

#[test]
fn what_cannot_be_adopted_is_said_and_left_as_it_is() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    write(&store, "Twin", "Owns a red bicycle.\n");
    write(&store, "Broken", "---\ntags: [x\n---\nA text of its own.\n");
    write(&store, "Long", &"word ".repeat(20_000));
    let answer = store.engine().clean();
    assert_eq!(answer.adopted, [] as [String; 0]);
    let said = answer.problems.join("\n");
    assert!(said.contains("Memories/Twin.md: says the same as Memories/Owns a red bicycle.md"), "{said}");
    assert!(said.contains("Memories/Broken.md: "), "{said}");
    assert!(said.contains("Memories/Long.md: has 9999"), "{said}");
    assert_eq!(store.note("Twin"), "Owns a red bicycle.\n");
    assert_eq!(store.note("Broken"), "---\ntags: [x\n---\nA text of its own.\n");
}

#[test]
fn a_note_that_says_what_is_remembered_becomes_its_note() {
    let store = Store::new();
    store.ok(&["init"]);
    let id = store.engine().save("Owns a red bicycle");
    write(&store, "Bicycle", "Owns a red bicycle\n");
    store.engine().clean();
    assert_eq!(store.engine().whole(&id).memory.note.as_deref(), Some("Memories/Bicycle.md"));
    assert_eq!(store.engine().texts("red bicycle").len(), 1);
}

/// A stale copy stays forgotten; a person's edit is a wish to keep it.
#[test]
fn a_note_of_a_forgotten_memory_counts_only_when_it_was_edited() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    let note = store.note("Owns a red bicycle");
    store.engine().drop_memory(&id);
    write(&store, "Copy", &note);
    let answer = store.engine().clean();
    assert!(answer.problems.iter().any(|problem| problem.contains("was forgotten")), "{answer:?}");
    assert_eq!(store.engine().texts("red bicycle"), [] as [&str; 0]);
    assert_eq!(store.note("Copy"), note);
    write(&store, "Copy", &note.replace("red bicycle", "red and blue bicycle"));
    let answer = store.engine().clean();
    assert!(answer.problems.iter().any(|problem| problem.contains("it is remembered again")), "{answer:?}");
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red and blue bicycle"]);
}

#[test]
fn a_purged_memory_does_not_come_back_by_its_note() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    let note = store.note("Owns a red bicycle");
    store.ok(&["forget", &id, "--purge", "--yes"]);
    write(&store, "Copy", &note);
    assert_eq!(store.engine().clean().adopted, [] as [String; 0]);
    assert_eq!(store.engine().texts("red bicycle"), [] as [&str; 0]);
}
