//! How long a compaction keeps others waiting: `cargo run --release --example compaction -- 100000`.
//!
//! Fills a journal with that many lines, half of which say nothing any more. While it is compacted, a thread of the
//! same process and an engine of its own, as another process has it, go on recalling and remembering; the longest call
//! of each is printed in milliseconds, beside the longest before the compaction.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a program that measures and prints")]

#[path = "shared/home.rs"]
mod home;

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ebbmark::engine::{Engine, NewMemory, RecallRequest, RememberRequest};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn remember(engine: &Engine, texts: impl Iterator<Item = String>) -> Outcome<Vec<String>> {
    let memories: Vec<NewMemory> = texts.map(|text| NewMemory { text, ..NewMemory::default() }).collect();
    let answer = engine.remember(&RememberRequest::of(&memories))?;
    Ok(answer.results.into_iter().filter_map(|told| told.id).collect())
}

/// Longest recall and longest remember until `is_over`, milliseconds, and how many of each.
fn longest(engine: &Engine, name: &str, is_over: impl Fn() -> bool) -> Outcome<(f64, f64, usize)> {
    let (mut recall, mut save, mut count) = (0f64, 0f64, 0);
    let milliseconds = |began: Instant| began.elapsed().as_secs_f64() * 1000.0;
    while !is_over() {
        let began = Instant::now();
        let request =
            RecallRequest { reinforce: Some(false), ..RecallRequest::of(&format!("who stacks crate {count}?")) };
        engine.recall(&request)?;
        recall = recall.max(milliseconds(began));
        let began = Instant::now();
        remember(engine, std::iter::once(format!("{name} writes page {count} of the diary {:?}", Instant::now())))?;
        save = save.max(milliseconds(began));
        count += 1;
    }
    Ok((recall, save, count))
}

fn main() -> Outcome<()> {
    let lines: usize = std::env::args().nth(1).unwrap_or_else(|| "100000".into()).parse()?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let own = home::engine(&home)?;
    let mut ids = Vec::new();
    for first in (0..lines / 2).step_by(1000) {
        ids.extend(remember(
            &own,
            (first..first + 1000).map(|n| format!("Worker {} stacks crate {n} in hall {}", n % 97, n % 13)),
        )?);
    }
    // Revisions of one call each would take minutes of syncing.
    let path = std::fs::read_dir(home.join("short-term"))?.flatten().next().ok_or("no journal")?.path();
    let mut text = String::new();
    for (place, id) in ids.iter().enumerate() {
        use std::fmt::Write as _;
        let second = place % 60;
        let body = format!(
            "{{\"v\":1,\"n\":{},\"at\":\"2026-11-30T10:00:{second:02}.000Z\",\"op\":\"revise\",\"id\":\"{id}\",\"text\":\"Worker {} sells crate {place} to hall {}\"",
            place + ids.len() + 2,
            place % 89,
            place % 17
        );
        writeln!(text, "{body},\"crc\":\"{:08x}\"}}", crc32c::crc32c(body.as_bytes()))?;
    }
    std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(path)?, text.as_bytes())?;
    own.refresh()?;
    own.fold_if_worth_it();
    let other = home::engine(&home)?;
    other.recall(&RecallRequest::of("crate"))?;

    let is_over = AtomicBool::new(false);
    let began = Instant::now();
    let before = longest(&other, "before", || began.elapsed() > Duration::from_secs(2))?;
    println!("{lines} lines");
    println!("  before: longest recall {:.1} ms, longest remember {:.1} ms ({} each)", before.0, before.1, before.2);
    std::thread::scope(|scope| {
        let (is_over, own, other) = (&is_over, &own, &other);
        let end = || is_over.load(Ordering::Relaxed);
        let own_calls = scope.spawn(move || longest(own, "same", end));
        let foreign = scope.spawn(move || longest(other, "other", end));
        std::thread::sleep(Duration::from_millis(300));
        let began = Instant::now();
        let done = own.compact(false);
        let took = began.elapsed();
        std::thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::Relaxed);
        let done = done?;
        println!(
            "  compaction: {:.0} ms, {} lines to {}, {} kB to {} kB",
            took.as_secs_f64() * 1000.0,
            done.lines_before,
            done.lines_after,
            done.bytes_before / 1000,
            done.bytes_after / 1000
        );
        for (who, thread) in [("same process", own_calls), ("other process", foreign)] {
            let (recall, save, count) = thread.join().map_err(|_| "a thread panicked")??;
            println!("  {who}: longest recall {recall:.1} ms, longest remember {save:.1} ms ({count} each)");
        }
        Outcome::Ok(())
    })
}
