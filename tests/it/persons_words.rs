//! Histories in which a person's words in the vault could be lost, overwritten or no longer be followed.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use ebbmark::clock::Clock;
use ebbmark::engine::{Engine, NewMemory, Options, PromoteRequest, ReviseRequest};
use ebbmark::id::Randomness;
use jiff::tz::TimeZone;

use crate::support::{Calls, Store, files_below};

/// A store with notes of these titles and texts; the memories' ids.
fn with_notes(notes: &[(&str, &str)]) -> (Store, Vec<String>) {
    let store = Store::new();
    let engine = store.engine();
    let kept = notes.iter().map(|(title, text)| {
        let memory = NewMemory { text: (*text).into(), title: Some((*title).into()), ..NewMemory::default() };
        let id = engine.tell(memory).id.unwrap();
        engine.keep(&id);
        id
    });
    let ids = kept.collect();
    (store, ids)
}

/// Gives a note a time at which it counts as written, and not as being written.
fn settle(store: &Store, name: &str) {
    let at = UNIX_EPOCH + Duration::from_millis(store.now.millis() as u64) - Duration::from_secs(60);
    fs::File::options().append(true).open(store.note_path(name)).unwrap().set_modified(at).unwrap();
}

/// Says something of a memory while the vault is not there.
fn tag_while_away(store: &Store, id: &str, tag: &str) {
    let away = store.root().join("away");
    fs::rename(store.vault(), &away).unwrap();
    store.ok(&["revise", id, "--tag", tag]);
    fs::rename(&away, store.vault()).unwrap();
}

#[test]
fn notes_that_swap_their_names_are_both_followed() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich"), ("Grace", "Grace plays the cello")]);
    fs::rename(store.note_path("Ada"), store.note_path("aside")).unwrap();
    fs::rename(store.note_path("Grace"), store.note_path("Ada")).unwrap();
    fs::rename(store.note_path("aside"), store.note_path("Grace")).unwrap();
    store.engine().clean();
    for (id, path) in ids.iter().zip(["Memories/Grace.md", "Memories/Ada.md"]) {
        assert_eq!(store.engine().whole(id).memory.note.as_deref(), Some(path));
    }
    store.edit_note("Grace", "in Munich", "in Berlin");
    store.engine().clean();
    assert_eq!(store.engine().texts("where does Ada live")[0], "Ada lives in Berlin");
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.git(&["ls-files", "Memories"]), "Memories/Ada.md\nMemories/Grace.md");
}

#[test]
fn a_new_note_under_the_name_of_a_renamed_one_is_a_memory_of_its_own() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    fs::rename(store.note_path("Ada"), store.note_path("Ada of Munich")).unwrap();
    store.write_note("Ada", "Ada is a language of the eighties\n");
    settle(&store, "Ada");
    let answer = store.engine().clean();
    assert_eq!((answer.adopted, answer.problems), (vec!["Memories/Ada.md".to_owned()], vec![]));
    assert_eq!(store.engine().whole(&ids[0]).memory.note.as_deref(), Some("Memories/Ada of Munich.md"));
    store.edit_note("Ada of Munich", "in Munich", "in Berlin");
    store.engine().clean();
    let mut texts = store.engine().texts("Ada");
    texts.sort();
    assert_eq!(texts, ["Ada is a language of the eighties", "Ada lives in Berlin"]);
    assert!(store.engine().health().ok);
}

#[test]
fn a_note_longer_than_a_memory_is_never_shortened() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    let long = store.note("Ada") + &"More than one memory can say, and all of it the person's.\n".repeat(1_200);
    store.write_note("Ada", &long);
    let said = store.engine().clean().problems;
    assert!(said.iter().any(|problem| problem.contains("Ada.md") && problem.contains("not taken over")), "{said:?}");
    tag_while_away(&store, &ids[0], "home");
    store.engine().clean();
    let written = store.note("Ada");
    assert_eq!(written, long.replace("tags: []", "tags:\n  - home"));
    let request = ReviseRequest { id: ids[0].clone(), text: Some("Ada lives in Berlin".into()), ..Default::default() };
    let refused = store.engine().revise(&request).unwrap_err().to_string();
    assert!(refused.contains("Ada.md") && refused.contains("bytes of text"), "{refused}");
    assert_eq!(store.note("Ada"), written);
}

#[test]
fn what_waits_for_a_note_leaves_alone_what_the_person_wrote() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich with [[Grace]]")]);
    let id = &ids[0];
    store.engine().change(ReviseRequest { id: id.clone(), entities: Some(vec!["Grace".into()]), ..Default::default() });
    store.edit_note("Ada", "kind: fact", "kind: rumour # heard of it");
    store.edit_note("Ada", "  - \"[[Grace]]\"", "  - '[[Grace|Ms Hopper]]'");
    store.edit_note("Ada", "\\[\\[Grace]]", "[[Grace]]");
    store.engine().clean();
    let before = store.note("Ada");
    tag_while_away(&store, id, "home");
    store.engine().clean();
    assert_eq!(store.note("Ada"), before.replace("tags: []", "tags:\n  - home"));
}

#[test]
fn values_under_our_keys_that_are_no_values_of_ours_stay_the_persons() {
    let store = Store::new();
    store.ok(&["init"]);
    let by_hand = "---\nStatus: 'Watching'\nuses: cooking, baking\nlast_used: at Grandma's\nhalf_life_days: many\n---\n\
                   The Wire is a series about Baltimore.\n";
    store.write_note("The Wire", by_hand);
    settle(&store, "The Wire");
    for _ in 0..2 {
        let engine = store.engine();
        engine.clean();
        let id = engine.hits("series about Baltimore")[0].id.clone();
        store.ok(&["reinforce", &id]);
    }
    store.engine().clean();
    let note = store.note("The Wire");
    for line in by_hand.lines() {
        assert!(note.contains(line), "`{line}` is gone:\n{note}");
    }
    assert!(!note.contains("active"), "{note}");
}

#[test]
fn an_entity_that_no_link_can_spell_is_not_renamed_by_an_edit_of_the_text() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    let entities = vec!["A|B".to_owned(), "C#".into(), "a [[b]] c".into(), "[x]".into(), "Ada".into()];
    store.engine().change(ReviseRequest { id: ids[0].clone(), entities: Some(entities.clone()), ..Default::default() });
    store.edit_note("Ada", "in Munich", "in Berlin");
    store.engine().clean();
    let memory = store.engine().whole(&ids[0]).memory;
    assert_eq!((memory.text.as_str(), &memory.entities), ("Ada lives in Berlin", &entities));
    store.edit_note("Ada", "  - \"[[Ada]]\"", "  - \"[[Grace]]\"");
    store.engine().clean();
    assert_eq!(store.engine().whole(&ids[0]).memory.entities, ["A|B", "C#", "a [[b]] c", "[x]", "Grace"]);
}

#[test]
fn a_note_that_names_another_memory_now_is_reported() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    store.edit_note("Ada", &format!("id: {}", ids[0]), "id: 7k2m9x4qwc3r");
    settle(&store, "Ada");
    store.engine().clean();
    let said = store.run(&["doctor", "--deep"]).stdout;
    assert!(said.contains("now has the id of 7k2m9x4qwc3r"), "{said}");
    let before = store.note("Ada");
    store.engine().drop_memory(&ids[0]);
    assert_eq!(store.note("Ada"), before, "the note is the other memory's");
}

#[test]
fn a_note_whose_frontmatter_lost_all_its_keys_becomes_a_memory() {
    let store = Store::new();
    store.ok(&["init"]);
    store.write_note("Tea", "---\n{}\n---\nThe user prefers green tea.\n");
    settle(&store, "Tea");
    assert_eq!(store.engine().clean().adopted, ["Memories/Tea.md"]);
    assert!(store.note("Tea").starts_with("---\nid: "), "{}", store.note("Tea"));
}

/// It is a note like others: saved in another encoding, or replaced by something else, it costs only the list.
#[test]
fn a_review_note_that_cannot_be_read_stands_in_the_way_of_nothing() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    let review = store.vault().join("Review.md");
    fs::write(&review, b"caf\xe9\n").unwrap();
    store.edit_note("Ada", "in Munich", "in Berlin");
    let answer = store.engine().clean();
    assert_eq!(answer.edited, ["Memories/Ada.md"]);
    assert!(answer.problems.iter().any(|problem| problem.contains("Review.md")), "{answer:?}");
    assert_eq!(store.engine().whole(&ids[0]).memory.text, "Ada lives in Berlin");
    assert_eq!(fs::read(&review).unwrap(), b"caf\xe9\n");
    fs::remove_file(&review).unwrap();
    fs::create_dir(&review).unwrap();
    store.ok(&["tidy"]);
}

/// A person's own vault may have a folder with the name of ours.
#[test]
fn notes_in_a_persons_own_memories_folder_are_left_alone_until_they_give_it() {
    let store = Store::new();
    fs::create_dir_all(store.vault().join("Diary")).unwrap();
    fs::write(store.vault().join("Diary/today.md"), "Went to the sea\n").unwrap();
    for day in 1..=3 {
        let name = format!("day {day}");
        store.write_note(&name, &format!("Day {day} at the sea\n"));
        settle(&store, &name);
    }
    let before = files_below(&store.vault());
    let id = store.engine().save("Owns a red bicycle");
    store.engine().hits("sea");
    let answer = store.engine().clean();
    assert!(answer.adopted.is_empty() && answer.problems.iter().any(|said| said.contains("3 notes")), "{answer:?}");
    let request = PromoteRequest { ids: vec![id.clone()], ..Default::default() };
    let refused = store.engine().promote(&request).unwrap_err().to_string();
    assert!(refused.contains("3 notes that no memory is behind"), "{refused}");
    assert!(files_below(&store.vault()) == before);
    // Given, it is ours.
    store.ok(&["init"]);
    assert_eq!(store.engine().clean().adopted.len(), 3);
    store.engine().keep(&id);
    assert_eq!(store.notes(), ["Owns a red bicycle", "day 1", "day 2", "day 3"]);
    assert_eq!(fs::read(store.vault().join("Diary/today.md")).unwrap(), b"Went to the sea\n");
}

#[test]
fn a_note_in_a_folder_made_for_us_in_a_persons_own_vault_is_adopted() {
    let store = Store::new();
    fs::create_dir_all(store.vault()).unwrap();
    fs::write(store.vault().join("mine.md"), "Went to the sea\n").unwrap();
    store.ok(&["init"]);
    store.write_note("Tea", "The user prefers green tea.\n");
    settle(&store, "Tea");
    assert_eq!(store.engine().clean().adopted, ["Memories/Tea.md"]);
}

/// Two machines that share a vault may stand in different time zones.
#[test]
fn machines_in_different_time_zones_do_not_write_a_note_back_and_forth() {
    let (mut store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    store.pass_hours(11);
    store.ok(&["reinforce", &ids[0]]);
    assert_eq!(store.engine().clean().refreshed, ["Memories/Ada.md"]);
    assert!(store.note("Ada").contains("last_used: 2026-11-29"), "eleven at night in UTC");
    let east = Engine::open(Options {
        home: store.home(),
        vault: Some(store.vault()),
        default_vault: store.root().join("other"),
        user_home: None,
        machine: store.machine.into(),
        replica: store.replica.clone(),
        clock: Clock::Fixed(store.now),
        randomness: Randomness::Seeded(8),
        time_zone: TimeZone::fixed(jiff::tz::offset(9)),
    });
    assert_eq!(east.unwrap().clean().refreshed, [] as [&str; 0]);
}

#[test]
fn a_revision_keeps_the_links_and_comments_of_the_lines_that_it_does_not_change() {
    let (store, ids) = with_notes(&[("Ada", "Ada lives in Munich")]);
    let mine = "See ![[map.png]] and [[Grace|Ms Hopper]] %%mine%%.\n\n> [!note] callout of [[Grace]]\n";
    store.write_note("Ada", &(store.note("Ada") + mine));
    store.engine().clean();
    let engine = store.engine();
    let text = engine.whole(&ids[0]).memory.text.replace("Munich", "Berlin");
    engine.change(ReviseRequest { id: ids[0].clone(), text: Some(text), ..Default::default() });
    assert!(store.note("Ada").ends_with(&format!("---\nAda lives in Berlin\n{mine}")), "{}", store.note("Ada"));
}

#[test]
fn a_status_that_a_person_writes_takes_effect() {
    let store = Store::new();
    let old = store.engine().save("Ada drinks black tea");
    let name = "Ada drinks black tea";
    store.engine().keep(&old);
    let status = |id: &str| store.engine().whole(id).memory.status;

    // No longer true, and true again.
    store.edit_note(name, "status: active", "status: superseded");
    store.engine().clean();
    assert_eq!(status(&old), "superseded");
    assert!(store.engine().hits("black tea").is_empty());
    store.edit_note(name, "status: superseded", "status: active");
    store.engine().clean();
    assert_eq!(status(&old), "active");
    assert_eq!(store.engine().hits("black tea").len(), 1);

    // It takes back that another memory took its place.
    let newer =
        NewMemory { text: "Ada drinks green tea".into(), supersedes: vec![old.clone()], ..NewMemory::default() };
    let newer = store.engine().tell(newer).id.unwrap();
    store.engine().clean();
    assert!(store.note(name).contains("\nstatus: superseded\n"));
    store.edit_note(name, "status: superseded", "status: active");
    store.engine().clean();
    assert_eq!((status(&old), status(&newer)), ("active".to_owned(), "active".to_owned()));

    // What is behind is no edit: the note still says what stood there.
    store.engine().drop_memory(&newer);
    store.edit_note(name, "black tea\n", "black tea with milk\n");
    store.engine().clean();
    assert_eq!(status(&old), "active");

    // Forgotten, with its note in the trash; and restored for good.
    store.edit_note(name, "status: active", "status: forgotten");
    store.engine().clean();
    assert!(store.engine().find(&old).is_none() && store.notes().is_empty());
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    store.engine().bring_back(&old);
    store.engine().clean();
    assert_eq!(status(&old), "active");
    assert!(store.note(name).contains("\nstatus: active\n"), "{}", store.note(name));
    // A status that is only ever worked out is put right.
    store.edit_note(name, "status: active", "status: faded");
    store.engine().clean();
    assert!(store.note(name).contains("\nstatus: active\n"), "{}", store.note(name));
}
