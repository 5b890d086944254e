//! How well Ebbmark recalls, beside plain BM25 and the full context in the same run.
//!
//! `cargo run --release --example evaluate -- kinds [CONVERSATIONS [FIRST_USER]]` asks six kinds of questions about six
//! made-up users with 8 and with 32 conversations, or as many as are named.
//!
//! `cargo run --release --example evaluate -- locomo locomo10.json` or `… -- longmemeval longmemeval_s.json` measures
//! recall of evidence on data that a person supplies: every turn of a conversation is one memory, with speaker, session
//! and position, every question a query; printed is the share of its evidence among the first 5 and 10 hits. These data
//! sets are not part of this repository. Weights were set on LoCoMo's conversations 1 to 5 alone, so 6 to 10 are shown
//! apart.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a program that prints its measurements"
)]

#[path = "shared/conversations.rs"]
mod conversations;
#[path = "shared/evaluation.rs"]
mod evaluation;
#[path = "shared/home.rs"]
mod home;
#[path = "shared/six_kinds.rs"]
mod six_kinds;

use std::error::Error;

use ebbmark::words::{fold, is_stop_word};
use evaluation::{Conversation, Sums};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (set, more, first) = (arguments.next(), arguments.next(), arguments.next());
    let first = first.map(|first| first.parse()).transpose()?;
    let read = |path: Option<String>| -> Result<serde_json::Value, Box<dyn Error>> {
        Ok(serde_json::from_slice(&std::fs::read(path.ok_or("give a path")?)?)?)
    };
    match set.as_deref() {
        Some("kinds") => match more {
            Some(count) => kinds(count.parse()?, first),
            None => kinds(8, first).and_then(|()| kinds(32, first)),
        },
        Some("locomo") => {
            let conversations = evaluation::locomo(&read(more)?);
            let (tuned, unseen) = conversations.split_at(conversations.len().min(5));
            evaluate("conversations 1 to 5", tuned)?;
            evaluate("conversations 6 to 10", unseen)?;
            evaluate("all", &conversations)
        }
        Some("longmemeval") => evaluate("all", &evaluation::longmemeval(&read(more)?)),
        _ => Err("give `kinds`, or `locomo` or `longmemeval` and a path".into()),
    }
}

/// Second wordings that a program can make of a question, asked beside it.
const REWORDED: [(&str, Rewording); 2] = [("and its keywords", keywords), ("and without names", without_names)];

type Rewording = fn(&str) -> String;

/// The words of a question that say what it is about.
fn keywords(question: &str) -> String {
    let words = question.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !is_stop_word(&fold(word))).collect::<Vec<_>>().join(" ")
}

/// As [`keywords`], without those that begin with a capital.
fn without_names(question: &str) -> String {
    let words = keywords(question);
    words.split(' ').filter(|word| !word.starts_with(char::is_uppercase)).collect::<Vec<_>>().join(" ")
}

fn kinds(conversations: usize, first: Option<u64>) -> Result<(), Box<dyn Error>> {
    let users = match first {
        Some(first) => conversations::users(first, conversations),
        None => conversations::reported_users(conversations),
    };
    let methods = six_kinds::methods(&users)?;
    println!("{}", six_kinds::table(&format!("{conversations} conversations"), &methods));
    Ok(())
}

fn evaluate(which: &str, conversations: &[Conversation]) -> Result<(), Box<dyn Error>> {
    let (mut own, mut plain, mut full) = (Sums::new(), Sums::new(), Sums::new());
    let mut reworded = REWORDED.map(|(name, wording)| (name, wording, Sums::new()));
    for conversation in conversations {
        let folder = tempfile::tempdir()?;
        let engine = home::engine(&folder.path().join("home"))?;
        let units = evaluation::remember(&engine, conversation)?;
        evaluation::recall(&engine, conversation, &units, |asked| vec![asked.to_owned()], &mut own)?;
        for (_, wording, sums) in &mut reworded {
            let both = |asked: &str| vec![asked.to_owned(), wording(asked)];
            evaluation::recall(&engine, conversation, &units, both, sums)?;
        }
        evaluation::plain_bm25(conversation, &mut plain);
        evaluation::full_context(conversation, &mut full);
    }
    let mut all = vec![("Ebbmark", own), ("plain BM25", plain), ("full context", full)];
    all.extend(reworded.map(|(name, _, sums)| (name, sums)));
    for (name, sums) in all {
        println!("{}", evaluation::table(&format!("{name}, {which}"), &sums));
    }
    Ok(())
}
