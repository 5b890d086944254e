//! Commands on what is related and what there is to decide: twins of the MCP tools.
#![allow(clippy::doc_markdown, reason = "what clap shows on the terminal is no Markdown")]

use std::process::ExitCode;

use clap::Args;

use super::Door;
use super::memories::code;
use crate::engine::{ClusterAction, ConsolidateRequest, Judge, RelateRequest, Resolve, ReviewRequest, say};
use crate::error::Result;

#[derive(Debug, Args)]
pub(super) struct Relate {
    /// An id, or the name of an entity
    from: String,
    /// related, causes, supports, contradicts, supersedes, has_decision, alias_of or another word
    #[arg(value_name = "TYPE")]
    relation: String,
    /// An id, or the name of an entity
    to: String,
    /// 0 to 1
    #[arg(long)]
    strength: Option<f64>,
    /// Take the relation back
    #[arg(long)]
    remove: bool,
}

impl Relate {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let Relate { from, relation, to, strength, remove } = self;
        let request = RelateRequest { from, to, relation, strength, remove: Some(remove) };
        door.say(&door.engine.relate(&request)?, say::relate)
    }
}

#[derive(Debug, Args)]
pub(super) struct Review {
    /// conflicts, proposals, fading, due, duplicates or vanished (all of these if absent), or relations
    #[arg(value_name = "LIST")]
    about: Vec<String>,
    /// End this conflict; without --token only say what would be
    #[arg(long, value_name = "CONFLICT", requires = "keep")]
    resolve: Option<String>,
    /// The id that holds, both, or merge
    #[arg(long, value_name = "WHAT", requires = "resolve")]
    keep: Option<String>,
    /// With --keep merge: what is true
    #[arg(long, requires = "resolve")]
    text: Option<String>,
    /// From the preview: do it
    #[arg(long, requires = "resolve")]
    token: Option<String>,
    /// Promote what is proposed
    #[arg(long, value_name = "ID")]
    approve: Vec<String>,
    /// Never propose this again
    #[arg(long, value_name = "ID")]
    reject: Vec<String>,
    /// Bring this back
    #[arg(long, value_name = "ID")]
    restore: Vec<String>,
    /// Let the rules judge everything that is there: what replaces what, and what contradicts it
    #[arg(long)]
    judge: bool,
    /// With --judge: only say what would follow
    #[arg(long, requires = "judge")]
    dry_run: bool,
    /// Entries of a list, 1 to 100
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
}

impl Review {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        door.read_back();
        let resolve =
            self.resolve.map(|conflict| Resolve { conflict, keep: self.keep.unwrap_or_default(), text: self.text });
        let request = ReviewRequest {
            about: self.about,
            resolve,
            approve: self.approve,
            reject: self.reject,
            restore: self.restore,
            limit: self.limit,
            preview_token: self.token,
            judge: match (self.judge, self.dry_run) {
                (false, _) => Judge::No,
                (true, true) => Judge::Dry,
                (true, false) => Judge::Yes,
            },
        };
        let answer = door.engine.review(&request)?;
        door.say(&answer, say::review)?;
        Ok(code(answer.problems.is_empty()))
    }
}

#[derive(Debug, Args)]
pub(super) struct Consolidate {
    /// A cluster's id as shown, or the ids of 2 to 100 memories; all clusters if absent
    #[arg(value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Make its members one memory; they stay, hidden, and can be restored
    #[arg(long, requires = "cluster", group = "action")]
    merge: bool,
    /// Relate its members to each other
    #[arg(long, requires = "cluster", group = "action")]
    link: bool,
    /// Leave its members as they are, and do not show them as a cluster again
    #[arg(long, requires = "cluster", group = "action")]
    keep: bool,
    /// With --merge: the text of the memory that they become; needed where they say different things
    #[arg(long, requires = "merge")]
    text: Option<String>,
    /// Least mean likeness of a cluster, 0.5 to 1
    #[arg(long, value_name = "LIKENESS")]
    at_least: Option<f64>,
    /// Most members of a cluster, 2 to 100
    #[arg(long, value_name = "NUMBER", value_parser = super::count, allow_negative_numbers = true)]
    most_members: Option<u32>,
    /// Clusters shown, 1 to 1000
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
}

impl Consolidate {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let request = ConsolidateRequest {
            cluster: self.cluster,
            action: match (self.merge, self.link, self.keep) {
                (true, _, _) => ClusterAction::Merge,
                (_, true, _) => ClusterAction::Link,
                (_, _, true) => ClusterAction::Keep,
                _ => ClusterAction::Preview,
            },
            text: self.text,
            at_least: self.at_least,
            most_members: self.most_members,
            limit: self.limit,
        };
        door.say(&door.engine.consolidate(&request)?, say::consolidate)
    }
}
