//! How the engine behaves as it grows: `cargo run --release --example scale -- 10000 [100000 …]`.
//!
//! Prints milliseconds (p50 and p95) for one process on one home: filling, opening, recall, remember beside the cost
//! of one `fdatasync`, and a call with 1,000 memories; and on Linux the resident memory, and opening and recall where
//! the system has to read the home's files from the disk.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a program that measures and prints")]

#[path = "shared/home.rs"]
mod home;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use ebbmark::engine::{ConsolidateRequest, Engine, NewMemory, RecallRequest, RememberRequest};

fn main() -> Result<(), Box<dyn Error>> {
    for count in std::env::args().skip(1) {
        measure(count.parse()?)?;
    }
    Ok(())
}

/// One sentence of about 125 characters; number and words tell it from all others.
fn sentence(number: usize) -> String {
    const NAMES: [&str; 12] =
        ["Priya", "Tomas", "Ines", "Malik", "Greta", "Owen", "Yuki", "Sofia", "Dmitri", "Amara", "Lukas", "Nadia"];
    const THINGS: [&str; 10] = [
        "session storage",
        "the message queue",
        "log shipping",
        "image resizing",
        "the payment provider",
        "search indexing",
        "background jobs",
        "feature flags",
        "the deployment target",
        "error tracking",
    ];
    const CHOICES: [&str; 9] =
        ["PostgreSQL", "RabbitMQ", "Vector", "libvips", "Adyen", "Tantivy", "a cron table", "Unleash", "one machine"];
    let pick = |words: &[&'static str], step: usize| words[number / step % words.len()];
    format!(
        "{} decided on ticket {number} that team {} uses {} for {}, because the load test of week {} went well there.",
        pick(&NAMES, 1),
        number / 7 % 997,
        pick(&CHOICES, 3),
        pick(&THINGS, 11),
        number % 52
    )
}

fn remember(engine: &Engine, numbers: impl Iterator<Item = usize>) -> Result<(), ebbmark::error::Error> {
    let memories: Vec<NewMemory> =
        numbers.map(|number| NewMemory { text: sentence(number), ..NewMemory::default() }).collect();
    engine.remember(&RememberRequest::of(&memories)).map(drop)
}

fn milliseconds(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let began = Instant::now();
    run()?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

/// p50 and p95 of some runs.
fn spread(runs: usize, mut run: impl FnMut(usize) -> Result<(), Box<dyn Error>>) -> Result<String, Box<dyn Error>> {
    let mut times: Vec<f64> = Vec::new();
    for number in 0..runs {
        times.push(milliseconds(|| run(number))?);
    }
    times.sort_by(f64::total_cmp);
    Ok(format!("{:.2} / {:.2} ms", times[runs / 2], times[runs * 95 / 100]))
}

/// Has the system forget what it holds of a folder's files in memory. Whether it was asked to.
#[cfg(target_os = "linux")]
fn drop_from_cache(folder: &Path) -> Result<bool, Box<dyn Error>> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            drop_from_cache(&entry.path())?;
        } else {
            let file = std::fs::File::open(entry.path())?;
            // What is not on the disk yet stays.
            file.sync_all()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn drop_from_cache(_: &Path) -> Result<bool, Box<dyn Error>> {
    Ok(false)
}

fn measure(count: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    println!("{count} memories");
    let filling = home::engine(&home)?;
    let took = milliseconds(|| {
        for first in (0..count).step_by(1000) {
            remember(&filling, first..(first + 1000).min(count))?;
        }
        Ok(())
    })?;
    println!("  filled in calls of 1,000        {:.0} ms, {:.2} ms a call", took, took * 1000.0 / count as f64);
    let folding = milliseconds(|| {
        filling.fold_if_worth_it();
        Ok(())
    })?;
    println!("  folded into the index           {folding:.0} ms");
    drop(filling);

    let query = |number: usize| RecallRequest {
        reinforce: Some(false),
        ..RecallRequest::of(&format!("what does team {} use for log shipping?", number * 37 % 997))
    };
    let mut opened = None;
    let mut open = || {
        let engine = home::engine(&home)?;
        engine.recall(&query(0))?;
        opened = Some(engine);
        Ok(())
    };
    println!("  open and first recall           {:.0} ms", milliseconds(&mut open)?);
    if drop_from_cache(&home)? {
        println!("  the same, files not in memory   {:.0} ms", milliseconds(&mut open)?);
    }
    let engine = opened.ok_or("opened above")?;
    println!(
        "  recall p50 / p95                {}",
        spread(300, |number| Ok(engine.recall(&query(number)).map(drop)?))?
    );
    let mut file = std::fs::File::create(folder.path().join("sync"))?;
    let sync = spread(100, |_| {
        file.write_all(sentence(1).as_bytes())?;
        Ok(file.sync_data()?)
    })?;
    println!("  one append and fdatasync        {sync}");
    let one = spread(100, |number| Ok(remember(&engine, std::iter::once(count + number))?))?;
    println!("  remember one, durable           {one}");
    let batch =
        spread(5, |number| Ok(remember(&engine, (2 * count + number * 1000)..(2 * count + number * 1000 + 1000))?))?;
    println!("  remember 1,000 in one call      {batch}");
    let mut found = 0;
    let mut consolidate = || {
        found = engine.consolidate(&ConsolidateRequest::default())?.total;
        Ok(())
    };
    let clusters = milliseconds(&mut consolidate)?;
    println!("  clusters of what is alike       {clusters:.0} ms, {found} found");
    if let Ok(status) = std::fs::read_to_string("/proc/self/status")
        && let Some(resident) = status.lines().find(|line| line.starts_with("VmRSS"))
    {
        println!("  {resident}");
    }
    Ok(())
}
