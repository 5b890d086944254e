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

#[derive(Debug, Args)]
pub(super) struct Vault {
    #[command(subcommand)]
    command: VaultCommand,
}

#[derive(Debug, Subcommand)]
enum VaultCommand {
    /// Move the vault to another folder
    Move {
        /// A folder that is not there yet
        folder: std::path::PathBuf,
    },
}

impl Vault {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let VaultCommand::Move { folder } = self.command;
        door.say(&door.engine.move_vault(&folder)?, say::moved_vault)
    }
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
