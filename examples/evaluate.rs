//! Recall of evidence on data that a person supplies, beside plain BM25 and the full context in the same run:
//! `cargo run --release --example evaluate -- locomo locomo10.json` or `… -- longmemeval longmemeval_s.json`.
//!
//! Every turn of a conversation is one memory, with speaker, session and position, every question a query; printed is
//! the share of its evidence among the first 5 and 10 hits. The data sets are not part of this repository. Weights were
//! set on LoCoMo's conversations 1 to 5 alone, so 6 to 10 are shown apart.
#![allow(clippy::print_stdout, missing_docs, reason = "a program that prints its measurements")]

#[path = "shared/evaluation.rs"]
mod evaluation;
#[path = "shared/home.rs"]
mod home;

use std::error::Error;

use evaluation::{Conversation, Sums};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (set, path) = (arguments.next(), arguments.next());
    let (Some(set), Some(path)) = (set, path) else { return Err("give `locomo` or `longmemeval`, and a path".into()) };
    let data = serde_json::from_slice(&std::fs::read(path)?)?;
    match set.as_str() {
        "locomo" => {
            let conversations = evaluation::locomo(&data);
            let (tuned, unseen) = conversations.split_at(conversations.len().min(5));
            evaluate("conversations 1 to 5", tuned)?;
            evaluate("conversations 6 to 10", unseen)?;
            evaluate("all", &conversations)
        }
        "longmemeval" => evaluate("all", &evaluation::longmemeval(&data)),
        other => Err(format!("`{other}` is neither `locomo` nor `longmemeval`").into()),
    }
}

fn evaluate(which: &str, conversations: &[Conversation]) -> Result<(), Box<dyn Error>> {
    let (mut own, mut plain, mut full) = (Sums::new(), Sums::new(), Sums::new());
    for conversation in conversations {
        let folder = tempfile::tempdir()?;
        let engine = home::engine(&folder.path().join("home"))?;
        evaluation::recall(&engine, conversation, &mut own)?;
        evaluation::plain_bm25(conversation, &mut plain);
        evaluation::full_context(conversation, &mut full);
    }
    for (name, sums) in [("Ebbmark", own), ("plain BM25", plain), ("full context", full)] {
        println!("{}", evaluation::table(&format!("{name}, {which}"), &sums));
    }
    Ok(())
}
