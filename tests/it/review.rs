//! `Review.md`: a person decides by checking boxes.

use std::fs;

use ebbmark::engine::{NewMemory, SourceInput};

use crate::support::{Calls, Store};

fn review(store: &Store) -> String {
    fs::read_to_string(store.vault().join("Review.md")).unwrap_or_default()
}

/// Checks the box of the line that begins so.
fn check(store: &Store, task: &str) {
    let text = review(store);
    assert_eq!(text.matches(&format!("- [ ] {task}")).count(), 1, "`{task}` in\n{text}");
    fs::write(store.vault().join("Review.md"), text.replace(&format!("- [ ] {task}"), &format!("- [x] {task}")))
        .unwrap();
}

/// A store with a vault, where a memory from the web has proved itself.
fn with_proposal() -> (Store, String) {
    let mut store = Store::new();
    store.ok(&["init"]);
    let source = SourceInput { who: Some("web".into()), ..SourceInput::default() };
    let told = NewMemory { text: "The harbour opens at six".into(), source: Some(source), ..NewMemory::default() };
    let id = store.engine().tell(told).id.unwrap();
    for _ in 0..6 {
        store.pass_days(1);
        store.ok(&["reinforce", &id]);
    }
    store.engine().clean();
    (store, id)
}

#[test]
fn nothing_to_decide_makes_no_note() {
    let store = Store::new();
    store.ok(&["init"]);
    store.engine().save("Owns a red bicycle");
    store.engine().clean();
    assert!(!store.vault().join("Review.md").exists());
}

#[test]
fn a_memory_from_the_web_is_promoted_only_by_a_persons_check() {
    let (store, id) = with_proposal();
    assert_eq!(store.notes(), [] as [&str; 0]);
    let text = review(&store);
    assert!(text.contains(&format!("- [ ] keep `{id}` The harbour opens at six (not from you")), "{text}");
    check(&store, &format!("keep `{id}`"));
    assert_eq!(store.engine().read_back().unwrap(), [] as [&str; 0]);
    assert_eq!(store.notes(), ["The harbour opens at six"]);
    let text = review(&store);
    assert!(!text.contains("- [") && text.contains("kept [[The harbour opens at six]]"), "{text}");
    assert_eq!(store.git(&["status", "--porcelain"]), "", "the list is not committed");
    store.engine().clean();
    assert_eq!(review(&store), text, "done once");
}

#[test]
fn a_deleted_note_is_listed_and_comes_back_by_a_check() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
    store.engine().clean();
    let text = review(&store);
    assert!(
        text.contains(&format!("- [ ] restore `{id}` Owns a red bicycle (deleted 2026-11-29, forgotten after")),
        "{text}"
    );
    check(&store, &format!("restore `{id}`"));
    let answer = store.engine().clean();
    assert_eq!(answer.reviewed.len(), 1, "{answer:?}");
    assert_eq!(store.notes(), ["Owns a red bicycle"]);
    assert_eq!(store.engine().texts("red bicycle").len(), 1);
}

#[test]
fn a_note_that_was_put_away_is_not_listed_as_deleted() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    let (note, archive) = (store.note_path("Owns a red bicycle"), store.vault().join("Archive"));
    fs::create_dir(&archive).unwrap();
    fs::rename(&note, archive.join("Wheels.md")).unwrap();
    let said = store.ok(&["tidy"]);
    assert!(said.contains("moved out of Memories, hidden: Archive/Wheels.md") && !said.contains("deleted"), "{said}");
    let text = review(&store);
    let line = format!("- [ ] restore `{id}` Owns a red bicycle (in Archive/Wheels.md since 2026-11-29)");
    assert!(text.contains("## Put away") && text.contains(&line) && !text.to_lowercase().contains("delete"), "{text}");
    store.engine().clean();
    assert_eq!(review(&store), text, "written once");

    // From there it can be deleted like any other, and come back.
    fs::remove_file(archive.join("Wheels.md")).unwrap();
    store.engine().clean();
    let text = review(&store);
    assert!(text.contains("## Deleted notes") && !text.contains("Put away"), "{text}");
    check(&store, &format!("restore `{id}`"));
    store.engine().clean();
    assert_eq!(store.notes(), ["Owns a red bicycle"]);
    assert!(!review(&store).contains("- ["), "{}", review(&store));
}

#[test]
fn a_fading_memory_is_touched_or_forgotten_by_a_check() {
    let mut store = Store::new();
    store.ok(&["init"]);
    let [kept, gone] = ["Tried the new bakery", "Tried the old bakery"].map(|text| {
        let told = NewMemory { text: text.into(), kind: Some("note".into()), ..NewMemory::default() };
        store.engine().tell(told).id.unwrap()
    });
    let fading = (0..400).find(|_| {
        store.pass_days(1);
        store.engine().clean();
        review(&store).contains(&format!("- [ ] touch `{kept}`"))
    });
    assert!(fading.is_some(), "{}", review(&store));
    check(&store, &format!("touch `{kept}`"));
    check(&store, &format!("forget `{gone}`"));
    assert_eq!(store.engine().clean().reviewed.len(), 2);
    assert_eq!(store.engine().whole(&kept).uses, 1);
    assert!(store.engine().find(&gone).is_none());
}

#[test]
fn a_half_broken_list_costs_only_the_lines_that_cannot_be_read() {
    let (store, id) = with_proposal();
    let broken = review(&store)
        .replace("%% /ebbmark:review %%", "- [x] keep `nobody`\nmy own line")
        .replace(&format!("- [ ] keep `{id}` The harbour"), &format!("  * [X] keep `{id}` the habour"));
    fs::write(store.vault().join("Review.md"), broken).unwrap();
    assert_eq!(store.engine().clean().reviewed.len(), 1);
    assert_eq!(store.notes(), ["The harbour opens at six"]);
    let text = review(&store);
    assert!(text.contains("- [x] keep `nobody`\nmy own line\n"), "{text}");
}

#[test]
fn in_a_persons_own_vault_there_is_no_review_note() {
    let store = Store::new();
    fs::create_dir_all(store.vault().join(".obsidian")).unwrap();
    fs::write(store.vault().join("Mine.md"), "mine").unwrap();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
    store.engine().clean();
    assert!(!store.vault().join("Review.md").exists());
}
