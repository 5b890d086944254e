//! Commands on the vault's notes.
#![allow(clippy::doc_markdown, reason = "what clap shows on the terminal is no Markdown")]

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{Door, memories};
use crate::engine::say;
use crate::error::Result;

#[derive(Debug, Args)]
pub(super) struct Note {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the notes of memories
    List,
    /// Print a note as it stands
    Read {
        /// An id, a title, or a path from the vault's root
        note: String,
    },
    /// Remember something as a note at once
    New {
        /// The note's title
        title: String,
        /// The text; `-` reads it from stdin
        #[arg(required = true)]
        text: Vec<String>,
    },
}

impl Note {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        match self.command {
            Command::List => door.say(&door.engine.list_notes()?, say::notes),
            Command::Read { note } => door.say(&door.engine.read_note(&note)?, say::note),
            Command::New { title, text } => memories::new_note(&title, &text, door),
        }
    }
}
