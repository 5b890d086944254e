//! Notes that a person deletes, moves out of sight or brings back, and what waits for a note that cannot be reached.

use std::fs;

use ebbmark::engine::{PromoteRequest, ReviseRequest, TidyRequest};

use crate::support::{Calls, Store, files_below};

/// A store with promoted memories that this machine has seen in the vault: ids and note paths.
fn promoted(texts: &[&str]) -> (Store, Vec<(String, String)>) {
    let store = Store::new();
    let engine = store.engine();
    let kept: Vec<(String, String)> = texts
        .iter()
        .map(|text| {
            let id = engine.save(text);
            let note = engine.keep(&id);
            (id, note)
        })
        .collect();
    (store, kept)
}

fn status(store: &Store, id: &str) -> String {
    store.engine().whole(id).memory.status
}

#[test]
fn a_deleted_note_hides_its_memory_and_its_return_brings_it_back() {
    let (store, kept) = promoted(&["Owns a red bicycle", "Plays the cello"]);
    let (id, note) = &kept[0];
    let (path, aside) = (store.vault().join(note), store.root().join("aside.md"));
    fs::rename(&path, &aside).unwrap();
    let answer = store.engine().clean();
    assert_eq!((answer.vanished, answer.problems), (vec![note.clone()], vec![]));
    assert_eq!(store.engine().texts("red bicycle"), [] as [&str; 0]);
    assert_eq!(status(&store, id), "vanished");
    assert_eq!(store.engine().counts().vanished, 1);
    assert_eq!(store.git(&["status", "--porcelain"]), "", "its removal is committed");
    assert_eq!(store.engine().clean().vanished, [] as [String; 0], "once");

    fs::rename(&aside, store.vault().join("Memories/found again.md")).unwrap();
    assert_eq!(store.engine().clean().edited, ["Memories/found again.md"]);
    assert_eq!(store.engine().texts("red bicycle"), ["Owns a red bicycle"]);
    assert_eq!(status(&store, id), "active");
}

#[test]
fn a_moved_note_has_not_vanished() {
    let (store, kept) = promoted(&["Owns a red bicycle"]);
    fs::create_dir(store.vault().join("Memories/things")).unwrap();
    fs::rename(store.vault().join(&kept[0].1), store.vault().join("Memories/things/wheels.md")).unwrap();
    let answer = store.engine().clean();
    assert_eq!((answer.edited, answer.vanished), (vec!["Memories/things/wheels.md".to_owned()], vec![]));
}

#[test]
fn a_vanished_memory_that_is_told_again_is_there_again() {
    let (store, kept) = promoted(&["Owns a red bicycle"]);
    fs::remove_file(store.vault().join(&kept[0].1)).unwrap();
    store.engine().clean();
    store.ok(&["remember", "Owns a red bicycle"]);
    assert_eq!(status(&store, &kept[0].0), "active");
    assert_eq!(store.engine().texts("red bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn restoring_a_vanished_memory_writes_its_note_anew() {
    let (store, kept) = promoted(&["Owns a red bicycle"]);
    fs::remove_file(store.vault().join(&kept[0].1)).unwrap();
    store.engine().clean();
    let answer = store.json(&["restore", &kept[0].0]);
    assert_eq!(answer["restored"][0]["was"], "vanished", "{answer}");
    assert!(store.vault().join(&kept[0].1).is_file());
    assert_eq!(store.engine().texts("red bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn a_memory_is_forgotten_only_after_thirty_days_without_its_note() {
    let (mut store, kept) = promoted(&["Owns a red bicycle"]);
    fs::remove_file(store.vault().join(&kept[0].1)).unwrap();
    store.engine().clean();
    store.pass_days(29);
    store.engine().save("Something newer, so that the date is believed");
    assert_eq!(store.engine().clean().forgotten, [] as [String; 0]);
    store.pass_days(2);
    assert_eq!(store.engine().clean().forgotten, [] as [String; 0], "a clock that jumped ends nothing");
    store.engine().save("And something newer still");
    assert_eq!(store.engine().clean().forgotten, [kept[0].0.clone()]);
    assert!(store.engine().find(&kept[0].0).is_none_or(|opened| opened.memory.status == "forgotten"));
    store.engine().bring_back(&kept[0].0);
    assert_eq!(store.engine().texts("red bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn a_note_put_away_elsewhere_in_the_vault_is_hidden_and_never_forgotten() {
    let (mut store, kept) = promoted(&["Owns a red bicycle"]);
    let (id, note) = &kept[0];
    let archive = store.vault().join("Archive");
    fs::create_dir(&archive).unwrap();
    fs::rename(store.vault().join(note), archive.join("Bicycle.md")).unwrap();
    let answer = store.engine().clean();
    assert_eq!((answer.vanished, answer.put_away), (vec![], vec!["Archive/Bicycle.md".to_owned()]));
    assert_eq!(status(&store, id), "vanished");
    assert!(store.git(&["log", "-1", "--format=%s"]).starts_with("Put away in Obsidian: Bicycle"));
    for _ in 0..2 {
        store.pass_days(31);
        // The date is believed where something was written.
        store.engine().save(&format!("It is {}", store.now));
        assert_eq!(store.engine().clean().forgotten, [] as [&str; 0]);
    }
    // A sync program may keep it elsewhere until it is opened: what cannot be looked into is not gone.
    let (away, placeholder) = (store.root().join("away.md"), archive.join(".Bicycle.md.icloud"));
    fs::rename(archive.join("Bicycle.md"), &away).unwrap();
    fs::write(&placeholder, "").unwrap();
    store.pass_days(31);
    store.engine().save("And later still");
    assert_eq!(store.engine().clean().forgotten, [] as [&str; 0]);
    fs::remove_file(&placeholder).unwrap();
    fs::rename(&away, store.vault().join(note)).unwrap();
    store.engine().clean();
    assert_eq!(status(&store, id), "active");
}

#[test]
fn many_notes_missing_at_once_hide_nothing_until_a_person_says_so() {
    let texts: Vec<String> = (0..12).map(|number| format!("Fact {number} about the harbour")).collect();
    let (store, kept) = promoted(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for (_, note) in &kept[..11] {
        fs::remove_file(store.vault().join(note)).unwrap();
    }
    let answer = store.engine().clean();
    assert_eq!(answer.vanished, [] as [String; 0]);
    assert!(answer.problems.iter().any(|problem| problem.contains("11 of 12 notes are missing")), "{answer:?}");
    assert_eq!(store.engine().texts("harbour").len(), 12);
    let accepted = store.engine().tidy(&TidyRequest { accept_missing: true, ..TidyRequest::default() }).unwrap();
    assert_eq!(accepted.vanished.len(), 11);
    assert_eq!(store.engine().texts("harbour").len(), 1);
}

#[test]
fn another_branch_hides_nothing() {
    let (store, kept) = promoted(&["Owns a red bicycle", "Plays the cello"]);
    store.git(&["checkout", "-q", "-b", "other"]);
    store.git(&["-c", "user.name=P", "-c", "user.email=p@x", "rm", "-q", &kept[0].1]);
    store.git(&["-c", "user.name=P", "-c", "user.email=p@x", "commit", "-q", "-m", "without"]);
    assert_eq!(store.engine().clean().vanished, [] as [String; 0]);
    assert_eq!(store.engine().texts("red bicycle").len(), 1);
    store.git(&["checkout", "-q", "-"]);
    let journal = store.journals();
    store.engine().clean();
    assert!(store.journals() == journal, "as before");
}

#[test]
fn an_older_copy_of_the_vault_hides_nothing() {
    let (mut store, _) = promoted(&["Owns a red bicycle"]);
    let copy = store.root().join("copy");
    for (path, bytes) in files_below(&store.vault()) {
        let to = copy.join(&path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
    let id = store.engine().save("Plays the cello");
    store.engine().keep(&id);
    let copy = copy.to_str().unwrap().to_owned();
    assert_eq!(store.json(&["--vault", &copy, "tidy"])["vanished"], serde_json::Value::Null);
    store.pass_hours(1);
    assert_eq!(store.json(&["--vault", &copy, "tidy"])["vanished"], serde_json::Value::Null);
    assert_eq!(store.engine().texts("cello"), ["Plays the cello"]);
}

#[test]
fn a_vault_that_is_not_there_is_said_everywhere_and_no_second_one_is_made() {
    for is_empty_folder in [false, true] {
        let (store, kept) = promoted(&["Owns a red bicycle"]);
        let other = store.engine().save("Plays the cello");
        let away = store.root().join("away");
        fs::rename(store.vault(), &away).unwrap();
        if is_empty_folder {
            fs::create_dir(store.vault()).unwrap();
        }
        let journal = store.journals();
        let doctor = store.run(&["doctor"]).exits(5);
        assert!(doctor.stdout.contains("the vault is not there, and 1 memory has its note in it"), "{}", doctor.stdout);
        let recall = store.run(&["recall", "red bicycle", "--no-reinforce"]);
        assert!(recall.stdout.contains("Owns a red bicycle"), "{}", recall.stdout);
        assert!(format!("{}{}", recall.stdout, recall.stderr).contains("the vault is not there"), "{recall:?}");
        let refused = store.run(&["promote", &other]);
        assert!(refused.code != 0 && refused.stderr.contains("ebbmark init"), "{refused:?}");
        assert!(store.json(&["tidy"])["problems"][0].as_str().unwrap().contains("is not there"));
        assert!(store.journals() == journal);
        if is_empty_folder {
            fs::remove_dir(store.vault()).unwrap();
        }
        assert!(!store.vault().exists());
        fs::rename(&away, store.vault()).unwrap();
        store.engine().clean();
        assert_eq!(status(&store, &kept[0].0), "active");
    }
}

/// What was acknowledged while the note was away is neither lost nor overwritten by the person's next edit.
#[test]
fn a_revision_waits_for_a_note_that_is_away() {
    let (store, kept) = promoted(&["Owns a red bicycle"]);
    let (id, note) = &kept[0];
    let away = store.root().join("away");
    fs::rename(store.vault(), &away).unwrap();
    let revised = store.json(&["revise", id, "--text", "Owns a blue bicycle"]);
    assert!(revised.get("note").is_none() && revised["why"].as_str().unwrap().contains("not there"), "{revised}");
    fs::rename(&away, store.vault()).unwrap();
    let answer = store.engine().clean();
    assert_eq!(answer.refreshed, [note.as_str()]);
    assert!(fs::read_to_string(store.vault().join(note)).unwrap().ends_with("---\nOwns a blue bicycle\n"));
    let journal = store.journals();
    assert_eq!(store.engine().clean().refreshed, [] as [String; 0]);
    assert!(store.journals() == journal, "once");
}

#[test]
fn an_edit_of_tags_does_not_undo_a_revision_that_waits() {
    let (store, kept) = promoted(&["Owns a red bicycle"]);
    let (id, note) = &kept[0];
    let away = store.root().join("away");
    fs::rename(store.vault(), &away).unwrap();
    let request =
        ReviseRequest { id: id.clone(), text: Some("Owns a blue bicycle".into()), ..ReviseRequest::default() };
    store.engine().revise(&request).unwrap();
    fs::rename(&away, store.vault()).unwrap();
    let path = store.vault().join(note);
    let edited = fs::read_to_string(&path).unwrap().replace("tags: []", "tags: [wheels]");
    fs::write(&path, edited).unwrap();
    store.engine().clean();
    store.engine().clean();
    let memory = store.engine().whole(id).memory;
    assert_eq!((memory.text.as_str(), memory.tags), ("Owns a blue bicycle", vec!["wheels".to_owned()]));
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.ends_with("---\nOwns a blue bicycle\n") && written.contains("wheels"), "{written}");
}

#[test]
fn an_edit_of_the_text_wins_over_a_revision_that_waits() {
    let (store, kept) = promoted(&["Owns a red bicycle"]);
    let (id, note) = &kept[0];
    let away = store.root().join("away");
    fs::rename(store.vault(), &away).unwrap();
    store.ok(&["revise", id, "--text", "Owns a blue bicycle", "--tag", "wheels"]);
    fs::rename(&away, store.vault()).unwrap();
    let path = store.vault().join(note);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("red bicycle", "green bicycle")).unwrap();
    store.engine().clean();
    store.engine().clean();
    let memory = store.engine().whole(id).memory;
    assert_eq!((memory.text.as_str(), memory.tags), ("Owns a green bicycle", vec!["wheels".to_owned()]));
    let request = PromoteRequest { ids: vec![id.clone()], ..PromoteRequest::default() };
    assert_eq!(store.engine().promote(&request).unwrap().promoted[0].note, *note);
}

#[test]
fn a_vault_that_is_moved_loses_no_note() {
    let (store, kept) = promoted(&["Owns a red bicycle", "Plays the cello"]);
    let new = store.root().join("elsewhere/new vault");
    let mut command = store.command(&["vault", "move", new.to_str().unwrap()]);
    assert!(command.env_remove("EBBMARK_VAULT").args(["--vault"]).arg(store.vault()).status().unwrap().success());
    assert!(!store.vault().exists());
    let run = |arguments: &[&str]| {
        let output = store.command(arguments).env_remove("EBBMARK_VAULT").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&["where"]).contains("new vault"), "{}", run(&["where"]));
    assert_eq!(run(&["tidy"]), "Nothing was due.\n");
    assert!(run(&["recall", "red bicycle"]).contains("Owns a red bicycle"));
    // Also there a note that is deleted is missed.
    fs::remove_file(new.join(&kept[1].1)).unwrap();
    assert!(run(&["tidy"]).contains("deleted in the vault, hidden: Memories/Plays the cello.md"));
    let taken = store.root().join("home");
    let refused = store.run(&["--vault", new.to_str().unwrap(), "vault", "move", taken.to_str().unwrap()]);
    refused.exits(2);
}
