//! The doctor's next steps help, and what is normal is no fault.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use ebbmark::engine::{Area, DoctorAnswer, DoctorRequest, Engine, Finding, Level, RecallRequest, ReviseRequest};

use crate::bug_disk::{on_own_file_system, own_file_system};
use crate::support::{Calls, Store};

const NOTE: &str = "Owns a red bicycle";

/// A store with a note of its only memory, committed; the memory's id.
fn with_note() -> (Store, String) {
    let store = Store::new();
    let id = store.engine().save(NOTE);
    store.engine().keep(&id);
    store.engine().clean();
    (store, id)
}

fn examined(engine: &Engine, deep: bool) -> DoctorAnswer {
    engine.doctor(&DoctorRequest { deep: Some(deep), fix: None }).unwrap()
}

/// The one finding that says so.
#[track_caller]
fn told(answer: &DoctorAnswer, words: &str) -> Finding {
    let found: Vec<&Finding> = answer.findings.iter().filter(|finding| finding.what.contains(words)).collect();
    assert_eq!(found.len(), 1, "{words}: {:#?}", answer.findings);
    found[0].clone()
}

/// Dates a file or folder a while before the clock of the store.
fn date(store: &Store, path: &Path, ago_ms: i64) {
    let at = (store.now.millis() - ago_ms).cast_unsigned();
    let file = fs::File::options().read(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_millis(at)).unwrap();
}

#[test]
fn revising_says_what_is_in_the_way_in_the_note() {
    let (store, id) = with_note();
    let whole = store.note(NOTE);
    let refused = || {
        let text = Some("Owns a blue bicycle".to_owned());
        let error = store.engine().revise(&ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
        let error = error.unwrap_err();
        format!("{error}; {}", error.hint())
    };
    store.write_note(NOTE, &format!("{whole}<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> laptop\n"));
    let said = refused();
    assert!(said.contains("git left a conflict in it; resolve it first"), "{said}");
    store.write_note(NOTE, &whole.replace(&format!("id: {id}\n"), ""));
    for _ in 0..2 {
        let said = refused();
        assert!(
            said.contains("its frontmatter has no `id` any more; ") && said.contains(&format!("`id: {id}`")),
            "{said}"
        );
    }
    store.write_note(NOTE, &whole);
    let text = Some("Owns a blue bicycle".to_owned());
    store.engine().change(ReviseRequest { id, text, ..ReviseRequest::default() });
}

#[test]
fn a_missing_note_and_a_doubled_one_are_told_with_what_to_do() {
    let (store, id) = with_note();
    store.write_note("A copy", &store.note(NOTE));
    let doubled = told(&examined(&store.engine(), false), "several notes");
    assert!(doubled.file.unwrap().ends_with("Memories/A copy.md"));
    for part in
        [&format!("`Memories/{NOTE}.md` is the one that is followed"), "Memories/A copy.md", &format!("`id: {id}`")]
    {
        assert!(doubled.next.contains(part), "{part}: {}", doubled.next);
    }
    fs::remove_file(store.note_path("A copy")).unwrap();
    fs::remove_file(store.note_path(NOTE)).unwrap();
    let missing = told(&examined(&store.engine(), false), "is missing");
    assert!(missing.next.contains(&format!("`ebbmark promote {id}` writes it anew, `ebbmark forget {id}` ends it")));
    assert_eq!(store.engine().keep(&id), format!("Memories/{NOTE}.md"));
    assert!(examined(&store.engine(), true).ok);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_told() {
    for name in ["lock", "replica", "state.json", "reserve", "config.toml"] {
        let (store, _) = with_note();
        let path = store.home().join(name);
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        fs::create_dir(&path).unwrap();
        let run = store.run(&["doctor", "--json"]).exits(5);
        let answer: DoctorAnswer = serde_json::from_value(run.json()).unwrap();
        let finding = told(&answer, "a folder is where a file is needed");
        assert_eq!((finding.level, finding.file.as_deref()), (Level::Error, Some(&*path)));
        assert!(finding.next.starts_with("move it away: mv "), "{finding:?}");
        fs::rename(&path, store.home().join("away")).unwrap();
        store.ok(&["remember", "Plays the oboe"]);
    }
}

#[test]
fn a_bad_value_in_the_configuration_is_found_by_the_doctor_with_its_place() {
    let (store, _) = with_note();
    store.configure("[decay]\nalpha = 99\n");
    let before = fs::read(store.journal()).unwrap();
    for arguments in [&["doctor", "--json"][..], &["doctor", "--json", "--deep", "--fix"]] {
        let run = store.run(arguments).exits(5);
        let answer: DoctorAnswer = serde_json::from_value(run.json()).unwrap();
        let finding = told(&answer, "decay.alpha");
        let config = store.home().join("config.toml");
        assert!(finding.what.starts_with(&format!("{}, line 2: ", config.display())), "{finding:?}");
        assert_eq!((finding.level, finding.area, finding.file), (Level::Error, Area::Configuration, Some(config)));
        assert_eq!(answer.memories, 1);
    }
    let refused = store.run(&["recall", "bicycle"]).exits(2);
    assert!(refused.stderr.contains("config.toml, line 2: decay.alpha: 99 is not between"), "{refused}");
    assert_eq!(fs::read(store.journal()).unwrap(), before);
}

#[test]
fn what_a_person_saved_a_moment_ago_is_no_fault() {
    let (store, _) = with_note();
    store.edit_note(NOTE, "\nOwns a red", "\nOwns a blue");
    let path = store.note_path(NOTE);
    for (ago_ms, level) in [(0, Level::Note), (59_000, Level::Note), (61_000, Level::Warning)] {
        date(&store, &path, ago_ms);
        let engine = store.engine();
        let finding = told(&examined(&engine, false), "1 note is not committed");
        assert_eq!(finding.level, level, "{ago_ms}: {finding:?}");
        let notice = engine.recall(&RecallRequest::of("bicycle")).unwrap().notice.unwrap_or_default();
        assert_eq!(notice.contains("not committed"), level == Level::Warning, "{ago_ms}: {notice}");
    }
}

const SMALL_DISK: &str = "mount -t tmpfs -o size=2m,mode=0700 none \"$PWD\" && cd \"$PWD\"";

#[test]
fn actor_uses_the_reserve_up() {
    let Some(store) = own_file_system() else { return };
    let engine = store.engine();
    engine.save(NOTE);
    assert!(engine.health().ok, "{:?}", engine.health());
    let (reserve, filler) = (store.home().join("reserve"), store.root().join("filler"));
    // Missing where there is room: the next write makes it.
    fs::remove_file(&reserve).unwrap();
    assert!(engine.health().ok, "{:?}", engine.health());
    fs::write(&filler, vec![b'.'; 1 << 20]).unwrap();
    let health = engine.health();
    let finding = health.findings.iter().find(|finding| finding.what.contains("the reserve is used up")).unwrap();
    assert_eq!(finding.level, Level::Warning);
    fs::write(&reserve, "room").unwrap();
    assert!(engine.health().ok, "{:?}", engine.health());
}

#[test]
fn a_reserve_that_is_used_up_is_told() {
    let store = Store::new();
    if let Err(why) = on_own_file_system(&store, SMALL_DISK, "next_steps::actor_uses_the_reserve_up") {
        crate::bug_cases::say(&format!("not run: the reserve on a real small disk ({why})"));
    }
}

#[test]
fn a_vault_without_its_repository_says_what_comes_next() {
    let (store, _) = with_note();
    fs::remove_dir_all(store.vault().join(".git")).unwrap();
    let finding = told(&examined(&store.engine(), false), "there is no git repository here");
    assert!(finding.next.contains("the next write to a note makes a repository"), "{finding:?}");
    let other = store.engine().save("Plays the oboe");
    store.engine().keep(&other);
    assert!(store.vault().join(".git").exists());
}

#[test]
fn a_byte_order_mark_before_a_journal_is_a_note() {
    let (store, _) = with_note();
    let journal = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), [b"\xEF\xBB\xBF", journal.as_slice()].concat()).unwrap();
    for deep in [false, true] {
        let answer = examined(&store.engine(), deep);
        assert!(answer.ok && answer.memories == 1, "{answer:#?}");
        assert_eq!(told(&answer, "a byte order mark").level, Level::Note);
    }
    store.ok(&["remember", "Plays the oboe"]);
    assert_eq!(store.engine().counts().active, 2);
}
