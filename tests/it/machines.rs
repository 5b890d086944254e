//! Machines that meet later agree: journals are exchanged by copying files, as any sync program would.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ebbmark::clock::Timestamp;
use ebbmark::engine::{
    Engine, ForgetRequest, InspectRequest, NewMemory, OpenRequest, Opened, Outcome, ReinforceRequest, RestoreRequest,
    ReviseRequest, Stats, View,
};

use crate::support::{Calls, Store, files_below};

/// Copies one machine's own journal files to the other.
fn send(from: &Store, to: &Store) {
    for (name, bytes) in from.journals() {
        if Some(name.file_stem().unwrap().to_str().unwrap()) == own_replica(to).as_deref() {
            continue;
        }
        fs::create_dir_all(to.home().join("short-term")).unwrap();
        fs::write(to.home().join("short-term").join(name), bytes).unwrap();
    }
}

/// Both send what they have.
fn meet(a: &Store, b: &Store) {
    send(a, b);
    send(b, a);
}

fn own_replica(store: &Store) -> Option<String> {
    store.engine().whereabouts().unwrap().replica
}

fn two_machines() -> (Store, Store) {
    (Store::on_machine("machine-a"), Store::on_machine("machine-b"))
}

/// What a machine knows of some memories, and how many there are, at the time of the first machine.
fn state(store: &Store, now: Timestamp, ids: &[&str]) -> (Vec<Opened>, Stats) {
    let ids = ids.iter().map(ToString::to_string).collect();
    let engine = store.engine_at(now);
    let opened = engine.open_memories(&OpenRequest { ids, history: Some(true), relations: None }).unwrap();
    (opened.memories, Stats { journal_lines: 0, journal_bytes: 0, ..engine.counts() })
}

#[track_caller]
fn agree(a: &Store, b: &Store, ids: &[&str]) {
    assert_eq!(state(a, a.now, ids), state(b, a.now, ids));
}

fn revision(id: &str) -> ReviseRequest {
    ReviseRequest { id: id.into(), ..ReviseRequest::default() }
}

fn touch(engine: &Engine, id: &str) {
    let answer = engine.reinforce(&ReinforceRequest { ids: vec![id.into()], ..ReinforceRequest::default() }).unwrap();
    assert_eq!(answer.results.len(), 1);
}

#[test]
fn each_machine_has_a_file_and_a_replica_of_its_own() {
    let (a, b) = two_machines();
    a.engine().save("Prefers tea over coffee");
    b.engine().save("Owns a red bicycle");
    let (of_a, of_b) = (own_replica(&a).unwrap(), own_replica(&b).unwrap());
    assert_ne!(of_a, of_b);
    assert_eq!(a.journals().into_keys().collect::<Vec<_>>(), [PathBuf::from(format!("{of_a}.jsonl"))]);
    let sent = b.journals();
    meet(&a, &b);
    a.engine().save("Rents a garage by the canal");
    let name = PathBuf::from(format!("{of_b}.jsonl"));
    assert_eq!(a.journals()[&name], sent[&name], "a machine wrote into another's file");
}

#[test]
fn what_each_machine_learned_is_known_to_both() {
    let (mut a, mut b) = two_machines();
    let tea = a.engine().save("Prefers tea over coffee");
    let bicycle = b.engine().save("Owns a red bicycle");
    meet(&a, &b);
    agree(&a, &b, &[&tea, &bicycle]);
    assert_eq!(b.engine().texts("tea"), ["Prefers tea over coffee"]);

    a.pass_hours(1);
    b.pass_hours(2);
    a.engine().change(ReviseRequest { text: Some("Prefers green tea".into()), ..revision(&tea) });
    b.engine().change(ReviseRequest { tags: Some(vec!["drinks".into()]), ..revision(&tea) });
    touch(&a.engine(), &bicycle);
    touch(&b.engine(), &bicycle);
    meet(&a, &b);
    agree(&a, &b, &[&tea, &bicycle]);
    let tea = a.engine().whole(&tea);
    assert_eq!((tea.memory.text.as_str(), &tea.memory.tags[..]), ("Prefers green tea", &["drinks".to_owned()][..]));
    assert_eq!(a.engine().whole(&bicycle).uses, 2, "uses in two hours on two machines unite");
}

#[test]
fn the_later_of_two_revisions_of_one_field_wins_on_both() {
    let (mut a, mut b) = two_machines();
    let id = a.engine().save("Owns a red bicycle");
    meet(&a, &b);
    a.pass_hours(2);
    b.pass_hours(1);
    a.engine().change(ReviseRequest { text: Some("Owns a blue bicycle".into()), ..revision(&id) });
    b.engine().change(ReviseRequest { text: Some("Owns a green bicycle".into()), ..revision(&id) });
    meet(&a, &b);
    agree(&a, &b, &[&id]);
    assert_eq!(b.engine().whole(&id).memory.text, "Owns a blue bicycle");
}

#[test]
fn neither_revising_nor_using_brings_a_forgotten_memory_back() {
    let (mut a, mut b) = two_machines();
    let id = a.engine().save("Owns a red bicycle");
    meet(&a, &b);
    a.pass_hours(1);
    b.pass_hours(2);
    a.engine().drop_memory(&id);
    b.engine().change(ReviseRequest { text: Some("Owns a green bicycle".into()), ..revision(&id) });
    touch(&b.engine(), &id);
    meet(&a, &b);
    for store in [&a, &b] {
        assert!(store.engine().find(&id).is_none_or(|memory| memory.memory.status == "forgotten"));
        assert!(store.engine().texts("bicycle").is_empty());
        assert_eq!(store.engine().counts().active, 0);
    }
}

#[test]
fn what_is_told_again_survives_a_forget_that_its_machine_had_not_seen() {
    let (mut a, mut b) = two_machines();
    let told = NewMemory {
        text: "Owns a red bicycle".into(),
        tags: vec!["things".into()],
        pinned: Some(true),
        ..NewMemory::default()
    };
    let id = a.engine().tell(told.clone()).id.unwrap();
    meet(&a, &b);
    a.pass_hours(1);
    b.pass_hours(2);
    a.engine().drop_memory(&id);
    let again = b.engine().tell(told);
    assert_eq!((again.outcome, again.id.as_deref()), (Outcome::Reinforced, Some(id.as_str())));
    // Neither the other's first telling nor the compacted forget may take it away.
    a.engine().compact(false).unwrap();
    meet(&a, &b);
    agree(&a, &b, &[&id]);
    let memory = a.engine().whole(&id);
    assert_eq!((memory.memory.text.as_str(), memory.memory.tags.len(), memory.pinned), ("Owns a red bicycle", 1, true));

    // Even where the first machine is never seen again.
    let alone = Store::on_machine("machine-c");
    let of_b = PathBuf::from(format!("{}.jsonl", own_replica(&b).unwrap()));
    fs::create_dir_all(alone.home().join("short-term")).unwrap();
    fs::write(alone.home().join("short-term").join(&of_b), &b.journals()[&of_b]).unwrap();
    assert_eq!(alone.engine().whole(&id).memory.text, "Owns a red bicycle");
}

#[test]
fn a_forget_that_was_known_gives_the_same_words_a_new_memory() {
    let (a, b) = two_machines();
    let id = a.engine().save("Owns a red bicycle");
    a.engine().drop_memory(&id);
    meet(&a, &b);
    let new = b.engine().save("Owns a red bicycle");
    assert_ne!(new, id);
    meet(&a, &b);
    agree(&a, &b, &[&new]);
    assert_eq!(a.engine().texts("bicycle").len(), 1);
}

#[test]
fn a_restore_on_another_machine_undoes_a_forget() {
    let (mut a, mut b) = two_machines();
    let id = a.engine().save("Owns a red bicycle");
    a.engine().drop_memory(&id);
    meet(&a, &b);
    b.pass_days(1);
    b.engine().bring_back(&id);
    meet(&a, &b);
    agree(&a, &b, &[&id]);
    assert_eq!(a.engine().texts("bicycle"), ["Owns a red bicycle"]);
    a.pass_days(2);
    a.engine().drop_memory(&id);
    meet(&a, &b);
    assert_eq!(b.engine().counts().active, 0);
}

#[test]
fn the_order_in_which_files_arrive_changes_nothing() {
    let mut machines: Vec<Store> = ["machine-a", "machine-b", "machine-c"].map(Store::on_machine).into();
    let id = machines[0].engine().save("Owns a red bicycle");
    let (first, rest) = machines.split_at_mut(1);
    for other in rest.iter() {
        send(&first[0], other);
    }
    let mut ids = vec![id.clone()];
    for (place, machine) in machines.iter_mut().enumerate() {
        machine.pass_hours(place as i64);
        let engine = machine.engine();
        ids.push(engine.save(&format!("Machine {place} has a dent")));
        engine.change(ReviseRequest { tags: Some(vec![format!("tag-{place}")]), ..revision(&id) });
        touch(&engine, &id);
        if place == 1 {
            engine.drop_memory(&id);
            engine.bring_back(&id);
        }
    }
    let mut files = BTreeMap::new();
    // The first machine's file last: the others hold an older copy of it.
    machines.iter().rev().for_each(|machine| files.extend(machine.journals()));
    let names: Vec<&PathBuf> = files.keys().collect();
    assert_eq!(names.len(), 3);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut states = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let reader = Store::on_machine("machine-r");
        fs::create_dir_all(reader.home().join("short-term")).unwrap();
        // One process sees the files come one by one.
        let engine = reader.engine();
        for place in order {
            fs::write(reader.home().join("short-term").join(names[place]), &files[names[place]]).unwrap();
            engine.refresh().unwrap();
        }
        let open = OpenRequest { ids: ids.iter().map(ToString::to_string).collect(), ..OpenRequest::default() };
        states.push(engine.open_memories(&open).unwrap());
        assert_eq!(states.last(), Some(&reader.engine().open_memories(&open).unwrap()), "a fresh look differs");
    }
    assert_eq!(states[0].memories.len(), 4);
    assert!(states.iter().all(|state| *state == states[0]));
}

#[test]
fn a_copied_home_writes_a_file_of_its_own() {
    let (a, b) = two_machines();
    let tea = a.engine().save("Prefers tea over coffee");
    for (name, bytes) in files_below(&a.home()) {
        let path = b.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let before = b.journals();
    let bicycle = b.engine().save("Owns a red bicycle");
    let lamp = a.engine().save("Needs a new lamp");
    assert_ne!(own_replica(&a), own_replica(&b));
    let (name, bytes) = before.iter().next().unwrap();
    assert_eq!(&b.journals()[name], bytes, "the copy wrote into the original's file");
    meet(&a, &b);
    agree(&a, &b, &[&tea, &bicycle, &lamp]);
    assert_eq!(a.engine().counts().active, 3);
}

#[test]
fn a_conflict_copy_of_a_file_changes_nothing() {
    let a = Store::on_machine("machine-a");
    let engine = a.engine();
    let ids = [engine.save("Prefers tea over coffee"), engine.save("Owns a red bicycle")];
    touch(&engine, &ids[0]);
    engine.drop_memory(&ids[1]);
    let ids = [ids[0].as_str(), ids[1].as_str()];
    let before = state(&a, a.now, &ids);
    let (name, bytes) = a.journals().pop_first().unwrap();
    let stem = name.file_stem().unwrap().to_str().unwrap();
    for copy in [".sync-conflict-20261129-120000-ABCDEFG.jsonl", " (conflicted copy).jsonl", " 2.jsonl"] {
        fs::write(a.home().join("short-term").join(format!("{stem}{copy}")), &bytes).unwrap();
    }
    assert_eq!(state(&a, a.now, &ids), before);
    engine.save("Needs a new lamp");
    assert_eq!(a.journals().len(), 4);
    assert_eq!(fs::read(a.home().join("short-term").join(format!("{stem} 2.jsonl"))).unwrap(), bytes);
}

#[test]
fn a_conflict_copy_with_more_in_it_is_read() {
    let a = Store::on_machine("machine-a");
    let tea = a.engine().save("Prefers tea over coffee");
    let (name, early) = a.journals().pop_first().unwrap();
    let bicycle = a.engine().save("Owns a red bicycle");
    let folder = a.home().join("short-term");
    // A sync program put an older file in place, and the newer one aside.
    fs::rename(folder.join(&name), folder.join("aside.sync-conflict.jsonl")).unwrap();
    fs::write(folder.join(&name), early).unwrap();
    let engine = a.engine();
    let lamp = engine.save("Needs a new lamp");
    for id in [&tea, &bicycle, &lamp] {
        assert!(engine.find(id).is_some(), "{id} is lost");
    }
    assert_eq!(a.engine().counts().active, 3);
}

#[test]
fn a_restored_older_journal_costs_nothing_that_another_file_holds() {
    let (mut a, mut b) = two_machines();
    let id = a.engine().save("Owns a red bicycle");
    let (name, early) = a.journals().pop_first().unwrap();
    meet(&a, &b);
    let of_b = b.engine().save("Rents a garage by the canal");
    b.pass_hours(1);
    b.engine().change(ReviseRequest { text: Some("Owns a green bicycle".into()), ..revision(&id) });
    meet(&a, &b);
    a.pass_hours(2);
    let late = a.engine().save("Needs a new lamp");
    meet(&a, &b);

    fs::write(a.home().join("short-term").join(&name), early).unwrap();
    let engine = a.engine();
    assert_eq!(engine.whole(&id).memory.text, "Owns a green bicycle");
    assert_eq!(engine.whole(&of_b).memory.text, "Rents a garage by the canal");
    let after = engine.save("Plays the oboe");
    // The other machine still has the newer file: nothing of it may be confused with what is written now.
    let kept = b.journals();
    for (name, bytes) in a.journals() {
        let path = b.home().join("short-term").join(&name);
        let aside = path.with_extension("sync-conflict.jsonl");
        if kept.contains_key(&name) && kept[&name] != bytes {
            fs::write(aside, bytes).unwrap();
        } else {
            fs::write(path, bytes).unwrap();
        }
    }
    for id in [&id, &of_b, &late, &after] {
        assert!(b.engine().find(id).is_some(), "{id} is lost");
    }
    assert_eq!(b.engine().counts().active, 4);
}

#[test]
fn a_machine_without_the_vault_knows_what_its_notes_say() {
    let (a, b) = two_machines();
    let id = a.engine().save("Owns a red bicycle");
    a.engine().keep(&id);
    a.edit_note("Owns a red bicycle", "\nOwns a red bicycle\n", "\nOwns a green bicycle\n");
    a.engine().clean();
    meet(&a, &b);
    assert_eq!(b.engine().texts("bicycle"), ["Owns a green bicycle"]);
    b.engine().clean();
    assert!(!b.vault().exists(), "a vault was made where nothing is to be promoted");
    assert_eq!(b.engine().texts("bicycle"), ["Owns a green bicycle"]);
    meet(&a, &b);
    a.engine().clean();
    assert_eq!(a.notes(), ["Owns a red bicycle"]);
    assert_eq!(a.engine().texts("bicycle"), ["Owns a green bicycle"]);
}

#[test]
fn a_vault_that_comes_along_is_not_taken_for_edits() {
    let (a, mut b) = two_machines();
    let ids = ["Owns a red bicycle", "Plays the oboe"].map(|text| a.engine().save(text));
    for id in &ids {
        a.engine().keep(id);
    }
    meet(&a, &b);
    for (name, bytes) in files_below(&a.vault()) {
        let path = b.vault().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    b.pass_hours(1);
    let tidied = b.engine().clean();
    assert!(tidied.edited.is_empty() && tidied.promoted.is_empty(), "{tidied:?}");
    assert_eq!(b.engine().whole(&ids[0]).memory.note.as_deref(), Some("Memories/Owns a red bicycle.md"));

    // The note is edited there, and the folder synced back before the journal is.
    b.edit_note("Plays the oboe", "\nPlays the oboe\n", "\nPlays the oboe badly\n");
    b.engine().clean();
    fs::copy(b.note_path("Plays the oboe"), a.note_path("Plays the oboe")).unwrap();
    a.engine().clean();
    assert_eq!(a.engine().texts("oboe"), ["Plays the oboe badly"]);
    meet(&a, &b);
    a.engine().clean();
    b.engine().clean();
    for store in [&a, &b] {
        assert_eq!(store.engine().texts("oboe"), ["Plays the oboe badly"]);
        assert_eq!(store.notes(), ["Owns a red bicycle", "Plays the oboe"]);
        assert_eq!(store.engine().counts().active, 2);
    }
}

#[test]
fn a_clock_thirty_years_fast_does_not_rule_the_others() {
    let (mut a, mut b) = two_machines();
    let bicycle = a.engine().save("Owns a red bicycle");
    meet(&a, &b);
    b.pass_days(30 * 365);
    let oboe = b.engine().save("Plays the oboe");
    b.engine().change(ReviseRequest { text: Some("Owns a green bicycle".into()), ..revision(&bicycle) });
    meet(&a, &b);
    let engine = a.engine();
    let health = engine.inspect(&InspectRequest::of(View::Health)).unwrap().health.unwrap();
    assert!(health.findings.iter().any(|finding| finding.what.contains("ahead")), "{health:?}");
    let memory = engine.whole(&oboe);
    assert!(memory.memory.score.is_finite() && memory.memory.score <= 2.0, "{memory:?}");

    // What is said about the memory here and now counts, though the other line is dated later.
    a.pass_hours(1);
    let engine = a.engine();
    engine.change(ReviseRequest { text: Some("Owns a blue bicycle".into()), ..revision(&bicycle) });
    assert_eq!(engine.whole(&bicycle).memory.text, "Owns a blue bicycle");
    engine.drop_memory(&oboe);
    assert!(engine.texts("oboe").is_empty());
    // And our own order is not dragged along: what another machine with a right clock says later wins.
    let mut c = Store::on_machine("machine-c");
    let lamp = engine.save("Needs a new lamp");
    send(&a, &c);
    c.pass_hours(2);
    c.engine().change(ReviseRequest { text: Some("Needs a small lamp".into()), ..revision(&lamp) });
    send(&c, &a);
    assert_eq!(a.engine().whole(&lamp).memory.text, "Needs a small lamp");
    meet(&a, &b);
    agree(&a, &b, &[&bicycle, &oboe, &lamp]);
    // Nobody's memories fade or move up because one clock was wrong.
    assert_eq!((a.engine().counts().faded, a.engine().clean().promoted.len()), (0, 0));
}

#[test]
fn memories_from_strange_times_have_sane_scores() {
    let store = Store::new();
    for happened in ["1970-01-01", "2026-12-09", "2026-12-29", "9999-12-30", "2038-01-19T03:14:08Z"] {
        let told = NewMemory {
            text: format!("The clock showed {happened}"),
            happened: Some(happened.into()),
            ..NewMemory::default()
        };
        let told = store.engine().tell(told);
        let id = told.id.clone().unwrap_or_else(|| panic!("{told:?}"));
        let memory = store.engine().whole(&id);
        assert!(memory.memory.score.is_finite() && (0.0..=2.0).contains(&memory.memory.score), "{memory:?}");
        assert_eq!(memory.memory.status, "active");
    }
    let lines = [
        r#"{"at":"2026-12-29T12:00:00Z","op":"remember","id":"aaaaaaaaaaa1","text":"Told in a month"}"#,
        r#"{"at":"1970-01-01T00:00:00Z","op":"remember","id":"aaaaaaaaaaa2","text":"Told long ago"}"#,
        r#"{"at":"9999-12-30T00:00:00Z","op":"remember","id":"aaaaaaaaaaa3","text":"Told at the end"}"#,
    ];
    fs::write(store.home().join("short-term/byhand00.jsonl"), lines.join("\n") + "\n").unwrap();
    for id in ["aaaaaaaaaaa1", "aaaaaaaaaaa2", "aaaaaaaaaaa3"] {
        let memory = store.engine().whole(id);
        assert!(memory.memory.score.is_finite() && (0.0..=2.0).contains(&memory.memory.score), "{memory:?}");
    }
}

#[test]
fn the_last_day_of_the_calendar_is_a_day() {
    let store = Store::new();
    let told = NewMemory {
        text: "The lease never ends".into(),
        valid_until: Some("9999-12-31".into()),
        ..NewMemory::default()
    };
    let told = store.engine().tell(told);
    assert_eq!(told.outcome, Outcome::Saved, "{told:?}");
}

#[test]
fn a_clock_set_back_keeps_the_order_of_events() {
    let mut store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.pass_hours(2);
    store.engine().change(ReviseRequest { text: Some("Owns a blue bicycle".into()), ..revision(&id) });
    store.pass_hours(-10);
    store.engine().change(ReviseRequest { text: Some("Owns a green bicycle".into()), ..revision(&id) });
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a green bicycle");
    store.engine().forget(&ForgetRequest { ids: vec![id.clone()], ..ForgetRequest::default() }).unwrap();
    assert_eq!(store.engine().counts().active, 0);
    store.pass_hours(-10);
    store.engine().restore(&RestoreRequest { ids: vec![id.clone()] }).unwrap();
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a green bicycle");
}
