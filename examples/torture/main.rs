//! Runs at length what the tests run in short: `cargo build --release`, then
//! `cargo run --release --example torture -- COMMAND`.
//!
//! ```text
//! kills     [--rounds 5000] [--seed 1]                          processes are killed, what they acknowledged is there
//! processes [--processes 32] [--operations 2000] [--seed 1]     many processes on one home, every reply is checked
//! states    [--states 200000] [--seed 100]                      what a power cut may leave, at every call of sessions
//! ```
//!
//! The random histories of several machines, three times as many as it says:
//! `PROPTEST_CASES=34000 cargo test --release --lib journal::histories`.
//!
//! Prints how far it is every few seconds. A fault ends it with exit code 1 and says with which arguments to repeat
//! it; what the processes do is the same then, the moments are not. `--plant FAULT` damages the store on purpose, to
//! show that it is noticed: `lost-line`, `cut-line`, `doubled-line`, `change-undone`, `forget-undone`.
#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program that plays the person and the disk, and prints what it finds"
)]

#[path = "../../tests/it/crash_states.rs"]
mod crash_states;
#[path = "../../tests/it/crowd.rs"]
mod crowd;
#[path = "../../tests/it/kills.rs"]
mod kills;
#[path = "../../tests/it/soundness.rs"]
mod soundness;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/support.rs"]
mod support;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/wire.rs"]
mod wire;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crowd::Crowd;
use kills::{Kind, Tally};
use soundness::Plant;
use support::Store;

/// How often it says how far it is.
const PROGRESS: Duration = Duration::from_secs(5);
/// Rounds in one store, before the next kind has its turn.
const ROUNDS_A_STORE: usize = 50;

/// The kinds in turn.
const KINDS: [Kind; 5] =
    [Kind::OneProcess, Kind::TwoProcesses, Kind::ThreeInARow, Kind::FirstOpen, Kind::MakingTheVault];

/// The arguments behind the command, as `--name value`.
struct Arguments(Vec<String>);

impl Arguments {
    fn text(&self, name: &str) -> Option<&str> {
        let place = self.0.iter().position(|argument| argument == name)?;
        self.0.get(place + 1).map(String::as_str)
    }

    fn number(&self, name: &str, otherwise: usize) -> Result<usize, String> {
        self.text(name).map_or(Ok(otherwise), |text| text.parse().map_err(|_| format!("{name}: `{text}` is no number")))
    }

    fn plant(&self) -> Result<Option<Plant>, String> {
        let Some(name) = self.text("--plant") else { return Ok(None) };
        let planted = Plant::ALL.into_iter().find(|plant| plant.name() == name);
        planted.map(Some).ok_or_else(|| format!("--plant: `{name}` is not known"))
    }

    /// Refuses what no command takes.
    fn check(&self, known: &[&str]) -> Result<(), String> {
        let names = self.0.iter().step_by(2);
        let unknown = names.into_iter().find(|name| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| Err(format!("`{name}` is not known; known are {}", known.join(", "))))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<&str>>().as_slice() {
        // Started by `Store::actor`, as a test binary would be.
        ["--exact", "--nocapture", "killed::child"] => {
            kills::child();
            Ok(())
        }
        ["--exact", "--nocapture", "concurrency::member"] => {
            crowd::member();
            Ok(())
        }
        [command, ..] => {
            let arguments = Arguments(arguments[1..].to_vec());
            match *command {
                "kills" => kill(&arguments),
                "processes" => crowd(&arguments),
                "states" => states(&arguments),
                other => Err(format!("`{other}` is not known; known are kills, processes, states")),
            }
        }
        [] => Err("say what to do: kills, processes or states".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("FAULT: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn states(arguments: &Arguments) -> Result<(), String> {
    arguments.check(&["--states", "--seed"])?;
    let (wanted, mut seed) = (arguments.number("--states", 200_000)?, arguments.number("--seed", 100)? as u64);
    let (began, mut states, mut sessions) = (Instant::now(), 0, 0);
    while states < wanted {
        let report = crash_states::run(seed..seed + 8, 12, crash_states::nothing);
        if let Some(fault) = report.faults.first() {
            return Err(format!("{fault} (repeat with: states --seed {seed})"));
        }
        (states, sessions, seed) = (states + report.states, sessions + 8, seed + 8);
        println!("{states} states of {sessions} sessions, {} s", began.elapsed().as_secs());
    }
    println!("{states} states, each opened with all that was acknowledged");
    Ok(())
}

fn kill(arguments: &Arguments) -> Result<(), String> {
    arguments.check(&["--rounds", "--seed", "--plant"])?;
    let (all, seed) = (arguments.number("--rounds", 5000)?, arguments.number("--seed", 1)?);
    let plant = arguments.plant()?;
    let began = Instant::now();
    let mut said = began;
    let mut sum = Tally::default();
    while sum.rounds < all {
        let seed = seed + sum.rounds / ROUNDS_A_STORE;
        let rounds = ROUNDS_A_STORE.min(all - sum.rounds);
        // The seed alone says what is done, so that one store can be repeated.
        let (kind, is_on_disk) = (KINDS[seed % KINDS.len()], seed / KINDS.len() % 2 == 1);
        let tally = kills::rounds(kind, is_on_disk, rounds, seed as u64, plant)
            .map_err(|fault| format!("{fault}\nrepeat with: kills --seed {seed} --rounds {rounds}"))?;
        sum.add(tally);
        if said.elapsed() >= PROGRESS || sum.rounds >= all {
            println!("{:.0} s: {sum}", began.elapsed().as_secs_f64());
            said = Instant::now();
        }
    }
    println!("nothing that was acknowledged was lost");
    plant.map_or(Ok(()), |plant| Err(format!("{} was not planted, or not noticed", plant.name())))
}

fn crowd(arguments: &Arguments) -> Result<(), String> {
    arguments.check(&["--processes", "--operations", "--seed", "--plant"])?;
    let (processes, operations) = (arguments.number("--processes", 32)?, arguments.number("--operations", 2000)?);
    let (seed, plant) = (arguments.number("--seed", 1)?, arguments.plant()?);
    let crowd = Crowd::new(Store::new());
    let began = Instant::now();
    let progress = || {
        let done = crowd.operations.load(Ordering::Relaxed);
        let (seconds, refused) = (began.elapsed().as_secs_f64(), crowd.refused.load(Ordering::Relaxed));
        println!("{seconds:.0} s: {done} operations, {:.0} a second, {refused} refused as busy", done as f64 / seconds);
    };
    let outcome = thread::scope(|scope| {
        let (ended, end) = channel();
        let run = scope.spawn({
            let crowd = &crowd;
            move || {
                let outcome = crowd.run(processes, operations, seed as u64);
                drop(ended);
                outcome
            }
        });
        while end.recv_timeout(PROGRESS) == Err::<(), _>(RecvTimeoutError::Timeout) {
            progress();
        }
        run.join().unwrap_or_else(|_| Err("a thread panicked, see above".to_owned()))
    });
    progress();
    let repeat = |fault: String| {
        format!("{fault}\nrepeat with: processes --processes {processes} --operations {operations} --seed {seed}")
    };
    outcome.map_err(repeat)?;
    if let Some(plant) = plant {
        crowd.plant(plant).then_some(()).ok_or("there was nothing to damage in this way")?;
        crowd.check()?;
        return Err(format!("{} was not noticed", plant.name()));
    }
    println!("every reply held");
    Ok(())
}
