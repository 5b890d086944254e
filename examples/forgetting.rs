//! What a year of use leaves behind under each preset: `cargo run --release --example forgetting -- [seeds]`.
//!
//! The year is made by `shared/year.rs`, which says how. Seeds 1 to 3 are for choosing numbers, 4 to 6 (the default)
//! for reporting them. With a file, `config.toml` is read from it and compared: `forgetting 1,2,3 my-config.toml`.
#![allow(clippy::print_stdout, missing_docs, reason = "a program that measures and prints")]

#[path = "shared/year.rs"]
mod year;

use std::error::Error;

use ebbmark::config::{Config, Preset};
use year::{Outcome, play};

fn years(config: &Config, seeds: &[u64]) -> Outcome {
    seeds.iter().map(|seed| play(config, *seed)).fold(Outcome::default(), |all, one| all.and(&one))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments.next().unwrap_or_else(|| "4,5,6".into());
    let seeds: Vec<u64> = seeds.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let mut configs: Vec<(String, Config)> =
        Preset::ALL.iter().map(|preset| (preset.as_str().to_owned(), Config::of_preset(*preset))).collect();
    for file in arguments {
        configs.push((file.clone(), Config::read(&std::fs::read_to_string(&file)?)?.0));
    }
    println!(
        "| {} | told | active | faded | promoted | of these chatter | from one day | false forgetting | junk active | with fresh | of active |",
        format_args!("years {seeds:?}")
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut missed = Vec::new();
    for (name, config) in configs {
        let all = years(&config, &seeds);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            all.told,
            all.active,
            all.faded,
            all.promoted,
            all.promoted_chatter,
            all.promoted_from_one_day,
            percent(all.false_forgetting()),
            percent(all.junk()),
            percent(all.junk_with_fresh()),
            percent(all.junk_of_active()),
        );
        missed.push((name, all));
    }
    println!("\nQuestions whose memory had faded, by what was asked for:");
    for (name, all) in missed {
        let classes = all.by_class.iter().map(|(class, (asked, missed))| format!("{class} {missed}/{asked}"));
        println!("{name}: {}", classes.collect::<Vec<_>>().join(", "));
    }
    Ok(())
}
