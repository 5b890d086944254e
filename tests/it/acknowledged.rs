//! What an answer rests on is on disk before it is given, whoever wrote it; and no thread waits for one that waits for it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ebbmark::engine::{DoctorRequest, ForgetRequest, NewMemory, RememberRequest, ReviseRequest};
use ebbmark::files::rehearsal::{Call, Fault, Plan, failing, noted};

use crate::support::{Calls, Store, files_below, files_with, holds, lines_of};

fn named() -> Store {
    let mut store = Store::in_memory();
    store.replica = Some("here".into());
    store
}

fn keyed(text: &str) -> RememberRequest {
    let memory = NewMemory { text: text.into(), ..NewMemory::default() };
    RememberRequest { op_key: Some("call-1".into()), ..RememberRequest::of(&[memory]) }
}

fn place_of(calls: &[Call], is_it: impl Fn(&Call) -> bool) -> Option<usize> {
    calls.iter().position(is_it)
}

fn is_synced(calls: &[Call], path: &Path) -> bool {
    place_of(calls, |call| matches!(call, Call::Sync(synced) if synced == path)).is_some()
}

#[test]
fn a_call_made_again_after_a_failed_sync_is_written_again() {
    let store = named();
    let engine = store.engine();
    engine.save("Keeps bees behind the house");
    let plan = Plan { fault: Fault::Sync, nth: 0, stays: false };
    let (refused, is_met) = failing(plan, || engine.remember(&keyed("Plays the oboe")));
    assert!(is_met && refused.is_err());
    assert_eq!(store.engine().texts("oboe").len(), 0, "nothing is left of what could not be synced");
    let (answer, calls) = noted(|| engine.remember(&keyed("Plays the oboe")));
    assert!(answer.is_ok());
    let written = place_of(&calls, |call| matches!(call, Call::Write { path, .. } if *path == store.journal()));
    let synced = place_of(&calls, |call| matches!(call, Call::Sync(path) if *path == store.journal()));
    assert!(written.is_some() && written < synced, "{calls:?}");
}

#[test]
fn what_a_killed_process_wrote_is_synced_before_another_answers_for_it() {
    let store = named();
    let first = store.engine();
    let told = first.remember(&keyed("Plays the oboe")).unwrap().results.remove(0);
    let second = store.engine();
    let (answer, calls) = noted(|| second.remember(&keyed("Plays the oboe")));
    assert_eq!(answer.unwrap().results[0].id, told.id);
    assert!(is_synced(&calls, &store.journal()), "{calls:?}");
    let text = Some("Plays the oboe".to_owned());
    let request = ReviseRequest { id: told.id.unwrap(), text, ..ReviseRequest::default() };
    let (answer, calls) = noted(|| second.revise(&request));
    assert!(answer.unwrap().changed.is_empty());
    assert!(is_synced(&calls, &store.journal()), "{calls:?}");
}

#[test]
fn a_file_that_another_process_made_or_replaced_has_its_name_on_disk_before_a_line_is() {
    let store = named();
    store.engine().save("Keeps bees behind the house");
    let folder = store.home().join("short-term");
    let syncs_first = |folder: &Path| {
        let engine = store.engine();
        let (_, calls) = noted(|| engine.tell(NewMemory { text: "Plays the oboe".into(), ..NewMemory::default() }));
        let named = place_of(&calls, |call| matches!(call, Call::SyncFolder(path) if path == folder));
        let written = place_of(&calls, |call| matches!(call, Call::Write { path, .. } if *path == store.journal()));
        assert!(named.is_some() && named < written, "{}: {calls:?}", folder.display());
    };
    syncs_first(&folder);
    for folder in [folder.as_path(), &store.home(), store.root()] {
        fs::write(store.journal(), b"").unwrap();
        syncs_first(folder);
    }
}

#[test]
fn what_was_saved_is_synced_within_two_seconds_where_upkeep_is_off_too() {
    let store = named();
    store.configure("durability = \"interval\"\n[server]\nupkeep = false\n");
    let (engine, clock) = store.engine_with_moved_clock();
    engine.save("Plays the oboe");
    clock.fetch_add(2_000, Ordering::Relaxed);
    let ((next, done), calls) = noted(|| engine.step());
    done.unwrap();
    assert!(is_synced(&calls, &store.journal()), "{calls:?}");
    assert!(next.millis() <= clock.load(Ordering::Relaxed) + 2_000);
}

#[test]
fn serving_finishes_what_another_machine_purged() {
    let store = named();
    let (engine, clock) = store.engine_with_moved_clock();
    let id = engine.save("Plays the oboe");
    engine.save("Keeps bees behind the house");
    let at = store.now.plus_millis(1_000);
    let purge = format!("{{\"v\":1,\"at\":\"{at}\",\"op\":\"purge\",\"id\":\"{id}\",\"hash\":\"\"}}\n");
    fs::write(store.home().join("short-term/there.jsonl"), purge).unwrap();
    for _ in 0..12 {
        engine.step().1.unwrap();
        clock.fetch_add(310_000, Ordering::Relaxed);
    }
    assert!(engine.find(&id).is_none());
    assert!(!holds(&fs::read(store.journal()).unwrap(), b"oboe"));
}

#[test]
fn a_purge_by_another_machine_reaches_what_was_set_aside_here() {
    let store = named();
    let engine = store.engine();
    engine.save("Keeps bees behind the house");
    let id = engine.save("Plays the oboe");
    let journal = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), String::from_utf8(journal).unwrap().replace("Plays the", "Plays  the")).unwrap();
    let answer = store.engine().doctor(&DoctorRequest { deep: Some(true), fix: Some(true) }).unwrap();
    assert_eq!(files_with(&store.home(), b"oboe").len(), 1, "{answer:?}");
    let at = store.now.plus_millis(1_000);
    let purge = format!("{{\"v\":1,\"at\":\"{at}\",\"op\":\"purge\",\"id\":\"{id}\",\"hash\":\"\"}}\n");
    fs::write(store.home().join("short-term/there.jsonl"), purge).unwrap();
    store.engine().clean();
    assert_eq!(files_with(&store.home(), b"oboe"), [] as [std::path::PathBuf; 0]);
}

#[test]
fn a_purge_takes_a_glued_line_out_of_a_copy_and_leaves_the_other() {
    let store = named();
    let engine = store.engine();
    let id = engine.save("Plays the oboe");
    engine.save("Keeps bees behind the house");
    let journal = fs::read(store.journal()).unwrap();
    let lines = lines_of(&journal);
    let copy = store.home().join("short-term/here 2.jsonl");
    fs::write(&copy, [lines[0], lines[1].trim_ascii_end(), lines[2]].concat()).unwrap();
    let mut request = ForgetRequest { ids: vec![id], purge: Some(true), ..ForgetRequest::default() };
    request.preview_token = engine.forget(&request).unwrap().preview_token;
    assert!(request.preview_token.is_some());
    engine.forget(&request).unwrap();
    let left = fs::read(&copy).unwrap();
    assert_eq!(left, [lines[0], lines[2]].concat(), "{}", left.escape_ascii());
}

#[test]
fn a_list_of_replicas_without_its_last_newline_takes_one_more() {
    let mut store = Store::in_memory();
    (store.replica, store.machine) = (None, "one");
    store.engine().save("Plays the oboe");
    let path = store.home().join("replica");
    let known = fs::read_to_string(&path).unwrap();
    fs::write(&path, known.trim_end()).unwrap();
    store.machine = "two";
    store.engine().save("Keeps bees behind the house");
    store.engine().save("Rows a small boat");
    store.machine = "one";
    store.engine().save("Owns a red bicycle");
    let journals = files_below(&store.home().join("short-term"));
    assert_eq!(journals.len(), 2, "{:?}", journals.keys());
}

#[test]
fn a_line_that_lacks_only_its_newline_keeps_its_number_for_itself() {
    let store = named();
    store.engine().save("Plays the oboe");
    let whole = fs::read(store.journal()).unwrap();
    fs::write(store.journal(), whole.trim_ascii_end()).unwrap();
    let engine = store.engine();
    engine.save("Keeps bees behind the house");
    let answer = engine.doctor(&DoctorRequest { deep: Some(true), fix: None }).unwrap();
    let twins = answer.findings.iter().filter(|finding| finding.what.contains("two machines"));
    assert_eq!(twins.count(), 0, "{:?}", answer.findings);
    assert_eq!(engine.counts().active, 2);
}

#[test]
fn a_doctor_does_not_wait_for_a_reader_that_waits_for_it() {
    let store = named();
    store.configure("[git]\nmode = \"off\"\n");
    store.fill(1_000);
    let engine = Arc::new(store.engine());
    let other = store.engine();
    let (done, end) = mpsc::channel();
    for role in 0..3 {
        let (engine, done) = (Arc::clone(&engine), done.clone());
        drop(thread::spawn(move || {
            for _ in 0..1_500 {
                match role {
                    0 => drop(engine.doctor(&DoctorRequest::default()).unwrap()),
                    _ => engine.refresh().unwrap(),
                }
                if role > 0 {
                    thread::sleep(Duration::from_micros(300));
                }
            }
            done.send(()).unwrap();
        }));
    }
    for round in 0..300 {
        other.save(&format!("Round {round} of the watch"));
    }
    for _ in 0..3 {
        end.recv_timeout(Duration::from_secs(60)).expect("two threads wait for each other");
    }
}
