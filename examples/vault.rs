//! What Ebbmark reads of any vault: `cargo run --release --example vault -- PATH …`. Nothing is written.
//!
//! Prints notes and bytes, links by where they lead, tags, tasks, sections, frontmatters that cannot be edited, notes
//! that are not Unicode, and how long each step took.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a program that measures and prints")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ebbmark::note::resolve::{Files, Resolution};
use ebbmark::note::{Note, Problem, name};

fn main() -> Result<(), Box<dyn Error>> {
    for root in std::env::args().skip(1) {
        println!("{root}");
        show(Path::new(&root))?;
    }
    Ok(())
}

/// Paths of all visible files, with `/`. Links are not followed.
fn paths(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type()?;
            if name.starts_with('.') {
            } else if kind.is_dir() {
                folders.push((entry.path(), format!("{prefix}{name}/")));
            } else if kind.is_file() {
                found.push(format!("{prefix}{name}"));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}

fn show(root: &Path) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let paths = paths(root)?;
    let listed = began.elapsed();
    let is_note = |path: &&String| path.to_lowercase().ends_with(".md");
    let (mut read, mut parsed, mut understood) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let (mut bytes, mut foreign, mut slowest) = (0, 0, (Duration::ZERO, String::new()));
    let (mut tags, mut tasks, mut done, mut sections, mut blocks) = (BTreeSet::new(), 0, 0, 0, 0);
    let mut problems: BTreeMap<&str, usize> = BTreeMap::new();
    let mut links = Vec::new();
    let mut notes = 0;
    for path in paths.iter().filter(is_note) {
        let start = Instant::now();
        let raw = fs::read(root.join(path))?;
        read += start.elapsed();
        notes += 1;
        bytes += raw.len();
        let Ok(text) = String::from_utf8(raw) else {
            foreign += 1;
            continue;
        };
        let start = Instant::now();
        let note = Note::parse(&text);
        parsed += start.elapsed();
        let start = Instant::now();
        let content = note.content();
        sections += content.sections().len();
        blocks += content.blocks.len();
        tasks += content.tasks.len();
        done += content.tasks.iter().filter(|task| task.is_done()).count();
        tags.extend(content.all_tags().iter().map(|tag| name::key(tag)));
        links.extend(content.all_links().into_iter().map(|link| (path, link)));
        let took = start.elapsed();
        understood += took;
        if took > slowest.0 {
            slowest = (took, format!("{path}, {} bytes", text.len()));
        }
        for problem in &note.problems {
            *problems.entry(what(problem)).or_default() += 1;
        }
    }
    let start = Instant::now();
    let files = Files::new(paths.iter().cloned());
    let mut classes = [("exact", 0), ("by suffix", 0), ("ambiguous", 0), ("unresolved", 0)];
    for (from, link) in &links {
        let class = match files.resolve(link, from) {
            Resolution::Resolved { exact: true, .. } => 0,
            Resolution::Resolved { exact: false, .. } => 1,
            Resolution::Ambiguous { .. } => 2,
            Resolution::Unresolved => 3,
        };
        classes[class].1 += 1;
    }
    let resolved = start.elapsed();

    println!("  files      {} in {}", paths.len(), millis(listed));
    println!("  notes      {notes}, {bytes} bytes, {foreign} not Unicode; read in {}", millis(read));
    println!("  links      {}: {}", links.len(), classes.map(|(class, count)| format!("{count} {class}")).join(", "));
    println!("  tags       {}", tags.len());
    println!("  tasks      {tasks}, {done} done");
    println!("  sections   {sections}, {blocks} block ids");
    println!("  problems   {problems:?}");
    println!(
        "  parsed in {}, contents in {} (longest {} for {})",
        millis(parsed),
        millis(understood),
        millis(slowest.0),
        slowest.1
    );
    println!("  resolved in {}, all in {}", millis(resolved), millis(began.elapsed()));
    Ok(())
}

fn what(problem: &Problem) -> &'static str {
    match problem {
        Problem::Yaml(_) => "not YAML",
        Problem::NotKeys => "no keys",
        Problem::TooLong | Problem::TooDeep => "too long or deep",
        Problem::Duplicate(_) => "duplicate key",
        Problem::Anchor(_) | Problem::MergeKey | Problem::Tag(_) => "anchor, merge key or YAML tag",
        Problem::Unclosed => "unclosed",
        Problem::Misplaced => "not on the first line",
        Problem::ForeignId(_) => "another program's id",
        Problem::EndlessBlock(_) => "endless block",
    }
}
