//! How soon a save is recalled, and whether two writers of one note lose anything: `cargo build --release`, then
//! `cargo run --release --example saves -- [COMMAND]`.
//!
//! ```text
//! ways [ROUNDS = 40]       time from each of 12 ways to save until recall knows, with a running `ebbmark watch`
//! writers [ROUNDS = 1000]  a person edits a note at the moment when we update its numbers
//! ```
//!
//! The clock of the watching process stands still, so that it looks at the vault only where the system tells it to.
//! The exit code is not 0 where an edit was lost, found twice, or took more than a second (95th percentile).
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program that plays the person, measures and prints"
)]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/saves.rs"]
mod saves;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/support.rs"]
mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use saves::{Page, WAYS, two_writers};
use support::Store;

/// What the 95th percentile may be.
const ALLOWED: Duration = Duration::from_secs(1);
/// A save that is not recalled by then never is.
const LONG: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = |or: usize| arguments.get(1).map_or(or, |rounds| rounds.parse().unwrap());
    let is_fine = match arguments.first().map(String::as_str) {
        None | Some("ways") => ways(rounds(40)),
        Some("writers") => writers(rounds(1_000)),
        Some(other) => {
            println!("`{other}` is not known: ways or writers");
            false
        }
    };
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Ends the process with the measurement.
struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn ways(rounds: usize) -> bool {
    let store = Store::new();
    let mut pages: Vec<Page> = WAYS.iter().map(|(name, _)| Page::promoted(&store, name)).collect();
    let mut watcher = Watcher(store.start(&["watch"]));
    let mut complaints = BufReader::new(watcher.0.stderr.take().unwrap()).lines();
    let how = complaints.next().unwrap().unwrap();
    println!("{how}");
    let engine = store.engine();
    let mut all = Vec::new();
    println!("{:<10} {:>9} {:>9} {:>9}", "way", "p50, ms", "p95, ms", "most, ms");
    for ((name, save), page) in WAYS.iter().zip(&mut pages) {
        // Nothing comes of it; the tests show that.
        if *name == "touch" {
            continue;
        }
        let mut times = Vec::new();
        for _ in 0..rounds {
            save(&store, page);
            let saved = Instant::now();
            while !page.is_recalled(&engine) {
                assert!(saved.elapsed() < LONG, "{name} is never recalled, or twice");
                thread::sleep(Duration::from_millis(1));
            }
            times.push(saved.elapsed());
        }
        say(name, &mut times);
        all.append(&mut times);
    }
    let p95 = say("all", &mut all);
    p95 <= ALLOWED
}

/// Prints a line of the table; the 95th percentile.
fn say(name: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    println!("{name:<10} {:>9.0} {:>9.0} {:>9.0}", millis(at(50)), millis(at(95)), millis(at(100)));
    at(95)
}

fn writers(rounds: usize) -> bool {
    let store = Store::new();
    let began = Instant::now();
    let written = two_writers(&store, rounds);
    let seconds = began.elapsed().as_secs();
    println!("{rounds} edits, numbers updated {} times, {seconds} s, lost: {:?}", written.refreshed, written.lost);
    written.lost.is_empty()
}
