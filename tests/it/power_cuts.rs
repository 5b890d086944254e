//! No power cut takes what was acknowledged, and the states by which that is tested notice a missing sync.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use ebbmark::engine::{Engine, NewMemory, RememberRequest, ReviseRequest};
use ebbmark::files::rehearsal::Call;

use crate::crash_states::{nothing, run};
use crate::support::{Calls, Dice, Store, files_below};

#[test]
fn whatever_a_power_cut_leaves_holds_what_was_acknowledged() {
    let report = run(1..20, 10, nothing);
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    assert!(report.states >= 50_000, "only {} states", report.states);
}

/// Takes the syncs out of a tape that `is_left_out` names, as if the code had forgotten them.
fn without_sync(call: &mut Call, is_left_out: fn(&Path) -> bool) {
    if let Call::Sync(path) = call
        && is_left_out(path)
    {
        *call = Call::Look(path.clone());
    }
}

#[test]
fn the_states_notice_a_sync_that_was_forgotten() {
    type Sabotage = fn(&mut Call);
    let forgotten: [(&str, Sabotage); 3] = [
        ("of the journal", |call| without_sync(call, |path| path.extension().is_some_and(|end| end == "jsonl"))),
        ("before a rename", |call| without_sync(call, |path| path.extension().is_some_and(|end| end == "tmp"))),
        ("of a folder", |call| {
            if let Call::SyncFolder(path) = call {
                *call = Call::Look(path.clone());
            }
        }),
    ];
    for (what, sabotage) in forgotten {
        let report = run(1..3, 10, sabotage);
        assert!(!report.faults.is_empty(), "{what}: none of {} states shows it", report.states);
    }
}

/// Folders of the index after two commits, and what the memories answer.
#[test]
fn an_index_of_which_a_power_cut_left_any_part_changes_no_answer() {
    let store = Store::in_memory();
    let engine = store.engine();
    let text = |place: usize| format!("Shelf {place} holds {} jars of plums", place * 7 % 50);
    let save = |places: std::ops::Range<usize>| {
        let memories: Vec<NewMemory> =
            places.map(|place| NewMemory { text: text(place), ..NewMemory::default() }).collect();
        let answer = engine.remember(&RememberRequest::of(&memories)).unwrap();
        answer.results.into_iter().map(|told| told.id.unwrap()).collect::<Vec<String>>()
    };
    let ids = save(0..150);
    engine.clean();
    let cache = store.home().join("cache");
    let before = files_below(&cache);
    engine.drop_memory(&ids[3]);
    engine.change(ReviseRequest { id: ids[5].clone(), text: Some("Owns a kite".into()), ..ReviseRequest::default() });
    save(150..200);
    engine.clean();
    let after = files_below(&cache);
    let queries = ["plums", "shelf 17", "jars", "kite", "holds 21"];
    let ask = |engine: &Engine| queries.map(|query| engine.texts(query));
    fs::remove_dir_all(&cache).unwrap();
    let right = ask(&store.engine());
    assert!(right.iter().all(|texts| !texts.is_empty()));

    let names: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let mut dice = Dice(11);
    let mut seen: HashSet<Vec<(PathBuf, Vec<u8>)>> = HashSet::new();
    for round in 0..700 {
        let mut left: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for &name in &names {
            let Some(bytes) = [after.get(name), before.get(name)][usize::from(dice.below(6) == 0)].cloned() else {
                continue;
            };
            let bytes = match dice.below(24) {
                0 => continue,
                1 => bytes[..dice.below(bytes.len() + 1)].to_vec(),
                2 => vec![0; bytes.len()],
                _ => bytes,
            };
            left.push((name.clone(), bytes));
        }
        drop(fs::remove_dir_all(&cache));
        for (name, bytes) in &left {
            let path = cache.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let engine = store.engine();
        assert_eq!(ask(&engine), right, "round {round}");
        if round % 50 == 0 {
            engine.clean();
            assert_eq!(ask(&engine), right, "round {round}, folded again");
            assert_eq!(ask(&store.engine()), right, "round {round}, opened again");
        }
        seen.insert(left);
    }
    assert!(seen.len() >= 500, "only {} states", seen.len());
}
