//! Processes that do everything are killed; what they acknowledged must be there.

use crate::kills::{self, Kills, Kind, Tally, rounds};
use crate::soundness::Plant;
use crate::support::Store;

#[test]
fn child() {
    kills::child();
}

/// The same kind of rounds where syncing costs nothing, and on a disk.
#[track_caller]
fn hold(kind: Kind, in_memory: usize, on_disk: usize, seed: u64) -> Tally {
    let mut tally = rounds(kind, false, in_memory, seed, None).unwrap_or_else(|fault| panic!("{fault}"));
    tally.add(rounds(kind, true, on_disk, seed + 1, None).unwrap_or_else(|fault| panic!("{fault}")));
    tally
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let tally = hold(Kind::OneProcess, 60, 40, 1);
    for what in ["compact", "tidy", "promote"] {
        assert!(tally.inside.contains_key(what), "no kill fell inside a {what}: {tally}");
    }
}

#[test]
fn what_two_killed_processes_acknowledged_is_there() {
    hold(Kind::TwoProcesses, 25, 15, 3);
}

#[test]
fn a_process_killed_while_it_opens_what_a_killed_one_left_loses_nothing() {
    hold(Kind::ThreeInARow, 15, 5, 5);
}

#[test]
fn a_home_whose_making_was_killed_is_completed() {
    hold(Kind::FirstOpen, 15, 15, 7);
}

#[test]
fn a_vault_whose_making_was_killed_is_completed_and_committed() {
    hold(Kind::MakingTheVault, 10, 10, 9);
}

#[test]
fn the_kill_rounds_notice_planted_faults() {
    for plant in Plant::ALL {
        let mut kills = Kills::new(Store::in_memory(), 11);
        kills.plant = Some(plant);
        let mut outcome = Ok(());
        while kills.plant.is_some() {
            assert_eq!(outcome, Ok(()), "before anything was planted");
            outcome = kills.round(1, 1);
        }
        assert!(outcome.is_err(), "{} was not noticed", plant.name());
    }
}
