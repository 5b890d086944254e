//! Commands on what hangs together.
#![allow(clippy::doc_markdown, reason = "what clap shows on the terminal is no Markdown")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::{Door, is_harmless, out};
use crate::engine::{InspectRequest, View, say};
use crate::error::{Error, Result};

/// What an answer may cost where a person asks for no less.
const NO_BUDGET: u32 = u32::MAX;

#[derive(Debug, Args)]
pub(super) struct Entity {
    /// A person, project, tool or other thing; without one all are listed
    #[arg(value_name = "NAME")]
    name: Vec<String>,
    /// Entries, 1 to 1000
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
    /// What the answer may cost
    #[arg(long, value_name = "TOKENS")]
    budget_tokens: Option<u32>,
    /// Memories of this project, too
    #[arg(long)]
    scope: Vec<String>,
}

impl Entity {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let name = self.name.join(" ");
        let view = if name.trim().is_empty() { View::Entities } else { View::Entity };
        let request = InspectRequest {
            of: Some(name),
            limit: self.limit,
            budget_tokens: Some(self.budget_tokens.unwrap_or(NO_BUDGET)),
            scope: self.scope,
            ..InspectRequest::of(view)
        };
        door.say(&door.engine.inspect(&request)?, say::inspect)
    }
}

#[derive(Debug, Args)]
pub(super) struct PathBetween {
    /// An id, or the name of an entity or note
    from: String,
    /// An id, or the name of an entity or note
    to: String,
    /// Memories of this project, too
    #[arg(long)]
    scope: Vec<String>,
}

impl PathBetween {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let request = InspectRequest {
            of: Some(self.from),
            to: Some(self.to),
            budget_tokens: Some(NO_BUDGET),
            scope: self.scope,
            ..InspectRequest::of(View::Path)
        };
        door.say(&door.engine.inspect(&request)?, say::inspect)
    }
}

/// How a graph is written down. Without a word on each: help would then take three lines for every option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Dot,
    Mermaid,
    Canvas,
    Svg,
}

#[derive(Debug, Args)]
pub(super) struct Graph {
    /// An id, or the name of an entity or note; without one what matters most is shown
    #[arg(value_name = "NODE")]
    node: Option<String>,
    /// Steps from there, 1 to 4 [default: 1]
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    depth: Option<u32>,
    /// Nodes, 1 to 1000 [default: 50]
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
    /// For a person, a program, Graphviz, a note, Obsidian's canvas, or as a picture
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Write into this new file; into the vault only a .canvas
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Memories of this project, too
    #[arg(long)]
    scope: Vec<String>,
}

impl Graph {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let format = match (self.format, door.json) {
            (Format::Text | Format::Json, true) => Format::Json,
            (_, true) => {
                return Err(Error::invalid("--json", "is another format than --format", "give one of the two"));
            }
            (format, false) => format,
        };
        let request = InspectRequest {
            of: self.node,
            depth: self.depth,
            limit: self.limit,
            budget_tokens: Some(NO_BUDGET),
            scope: self.scope,
            ..InspectRequest::of(View::Graph)
        };
        let answer = door.engine.inspect(&request)?;
        let graph = answer.graph.clone().unwrap_or_default();
        let text = match format {
            Format::Text => say::inspect(&answer).chars().filter(|c| is_harmless(*c)).collect(),
            Format::Json => {
                let json = serde_json::to_string_pretty(&answer).map_err(|error| Error::Internal(error.to_string()))?;
                format!("{json}\n")
            }
            Format::Dot => graph.drawing().dot(),
            Format::Mermaid => graph.drawing().mermaid(),
            Format::Canvas => graph.drawing().canvas(),
            Format::Svg => graph.drawing().svg(),
        };
        match &self.output {
            None => out(&text)?,
            Some(path) => {
                door.engine.write_drawing(path, &text)?;
                out(&format!("written: {}\n", path.display()))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
