//! Recall of evidence on LoCoMo: `cargo run --release --example locomo -- locomo10.json`.
//!
//! Every turn of a conversation is one memory (`SPEAKER: text [date]`, with speaker, session and position), every
//! question of categories 1 to 4 a query; printed is the share of its evidence among the first 5 and 10 hits.
//! The data (CC BY-NC 4.0) is not part of this repository.
#![allow(clippy::print_stdout, missing_docs, reason = "a program that prints its measurements")]

#[path = "shared/home.rs"]
mod home;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;

use ebbmark::clock::Timestamp;
use ebbmark::engine::{Engine, NewMemory, RecallRequest, RememberRequest, SourceInput};
use serde_json::Value;

#[derive(Default, Clone, Copy)]
struct Sum {
    at_5: f64,
    at_10: f64,
    reciprocal: f64,
    count: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give the path of locomo10.json")?;
    let data: Vec<Value> = serde_json::from_slice(&std::fs::read(path)?)?;
    let mut sums: BTreeMap<u64, Sum> = BTreeMap::new();
    for conversation in &data {
        let folder = tempfile::tempdir()?;
        let engine = home::engine(&folder.path().join("home"))?;
        let turns = remember(&engine, &conversation["conversation"])?;
        for question in conversation["qa"].as_array().into_iter().flatten() {
            let category = question["category"].as_u64().unwrap_or(5);
            let evidence = evidence(question, &turns);
            if category > 4 || evidence.is_empty() {
                continue;
            }
            let request = RecallRequest {
                limit: Some(10),
                reinforce: Some(false),
                ..RecallRequest::of(question["question"].as_str().unwrap_or_default())
            };
            let hits: Vec<String> = engine.recall(&request)?.hits.into_iter().map(|hit| hit.id).collect();
            let among = |count: usize| {
                hits.iter().take(count).filter(|id| evidence.contains(*id)).count() as f64 / evidence.len() as f64
            };
            let first = hits.iter().position(|id| evidence.contains(id));
            for key in [0, category] {
                let sum = sums.entry(key).or_default();
                sum.at_5 += among(5);
                sum.at_10 += among(10);
                sum.reciprocal += first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
                sum.count += 1.0;
            }
        }
    }
    println!("category   questions   R@5    R@10   MRR");
    for (category, sum) in sums {
        let name = ["all", "multi-hop", "temporal", "open", "single"][category as usize];
        let percent = |value: f64| 100.0 * value / sum.count;
        println!(
            "{name:<10} {:>9} {:>5.1} {:>7.1} {:>6.3}",
            sum.count,
            percent(sum.at_5),
            percent(sum.at_10),
            sum.reciprocal / sum.count
        );
    }
    Ok(())
}

/// Remembers all turns; returns which memory each dialogue id became.
fn remember(engine: &Engine, conversation: &Value) -> Result<HashMap<String, String>, Box<dyn Error>> {
    let mut memories = Vec::new();
    let mut ids = Vec::new();
    for session in 1.. {
        let Some(turns) = conversation[format!("session_{session}")].as_array() else { break };
        let date = conversation[format!("session_{session}_date_time")].as_str().unwrap_or_default();
        let day = date.rsplit(" on ").next().unwrap_or_default();
        for (position, turn) in turns.iter().enumerate() {
            let (speaker, text) =
                (turn["speaker"].as_str().unwrap_or_default(), turn["text"].as_str().unwrap_or_default());
            ids.push(turn["dia_id"].as_str().unwrap_or_default().to_owned());
            memories.push(NewMemory {
                text: format!("{speaker}: {text} [{day}]"),
                happened: parse_day(day).map(|at| at.to_string()),
                source: Some(SourceInput {
                    who: Some("user".into()),
                    speaker: Some(speaker.into()),
                    session: Some(format!("D{session}")),
                    position: Some(position as i64),
                    ..SourceInput::default()
                }),
                ..NewMemory::default()
            });
        }
    }
    let mut turns = HashMap::new();
    for (memories, ids) in memories.chunks(1000).zip(ids.chunks(1000)) {
        let answer = engine.remember(&RememberRequest::of(memories))?;
        for (result, id) in answer.results.into_iter().zip(ids) {
            turns.extend(result.id.map(|memory| (id.clone(), memory)));
        }
    }
    Ok(turns)
}

/// `8 May, 2023` → noon of that day.
fn parse_day(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (day, rest) = text.split_once(' ')?;
    let (month, year) = rest.split_once(", ")?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse_lenient(&format!("{year}-{month:02}-{:02}", day.parse::<u8>().ok()?))
}

fn evidence(question: &Value, turns: &HashMap<String, String>) -> HashSet<String> {
    let named = question["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
    named
        .flat_map(|text| text.split([';', ' ', ',']))
        .filter_map(|id| {
            let (session, turn) = id.trim().strip_prefix('D')?.split_once(':')?;
            turns.get(&format!("D{}:{}", session.parse::<u32>().ok()?, turn.parse::<u32>().ok()?)).cloned()
        })
        .collect()
}
