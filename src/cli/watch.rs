//! `watch`: what a server does by itself, without serving anybody.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};

use super::{is_harmless, note, out};
use crate::engine::{self, Engine, say};
use crate::error::{Error, Result};
use crate::mcp;
use crate::watch::Keeper;

/// Why the pause between two steps ended early.
enum Wake {
    Changed,
    End,
}

/// Keeps a home in order and follows its vault until the system asks for the end. Prints a line for each step that
/// changed something.
pub(super) fn run(options: engine::Options, json: bool) -> Result<()> {
    let engine = Arc::new(Engine::open(options)?);
    for warning in engine.warnings() {
        note(warning);
    }
    engine.ask_for_upkeep();
    let (sender, wakes) = channel();
    let end = sender.clone();
    std::thread::spawn(move || {
        mcp::wait_for_the_end().unwrap_or_else(|error| note(&error.to_string()));
        // Nobody waits any more where that fails.
        drop(end.send(Wake::End));
    });
    let mut keeper = Keeper::new(Arc::clone(&engine), move || drop(sender.send(Wake::Changed)));
    let (mut last_trouble, mut last_state) = (String::new(), String::new());
    loop {
        let (next, outcome) = keeper.step();
        let trouble = match outcome {
            Ok(done) => {
                if let Some(done) = done.filter(|done| done.is_news) {
                    out(&if json { line_of(&done)? } else { harmless(&say::done(&done)) })?;
                }
                String::new()
            }
            Err(error) => error.to_string(),
        };
        if !trouble.is_empty() && trouble != last_trouble {
            note(&trouble);
        }
        last_trouble = trouble;
        let state = state_of(&engine);
        if state != last_state {
            note(&state);
        }
        last_state = state;
        match wakes.recv_timeout(engine.pause_until(next)) {
            Ok(Wake::Changed) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Wake::End) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    engine.flush_uses()
}

/// What this process does, in words.
fn state_of(engine: &Engine) -> String {
    if let Some(holder) = engine.upkeep_holder() {
        return format!("another process does this already ({holder}); this one takes over when it ends");
    }
    let vault = engine.vault_root().display();
    match engine.reads_back_also() {
        Some(how) => format!("watching {vault}: read back {how}"),
        None => format!("waiting for {vault}: there is nothing to watch yet"),
    }
}

fn line_of(done: &engine::Done) -> Result<String> {
    serde_json::to_string(done).map(|json| json + "\n").map_err(|error| Error::Internal(error.to_string()))
}

fn harmless(text: &str) -> String {
    text.chars().filter(|c| is_harmless(*c)).collect()
}
