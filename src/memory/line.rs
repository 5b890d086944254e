//! A journal line: one JSON object that says what happened. `docs/format.md` is its contract.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::Status;
use crate::clock::{Hour, Timestamp};
use crate::id::MemoryId;
use crate::kinds::{Kind, Level};

/// The format version written into every line.
pub const FORMAT_VERSION: u32 = 1;

/// Greatest order that counts: the year 9999.
const LAST_ORDER: i64 = 253_402_300_799_999;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// The first line of a file: whose it is.
    Journal,
    /// A memory was told, or (`again`) told once more.
    Remember,
    /// Some fields changed.
    Revise,
    /// The memory was used.
    Use,
    /// Two things are related.
    Relate,
    /// A relation was taken back.
    Unrelate,
    /// A note was written for the memory.
    Promote,
    /// A note as last seen in the vault.
    Note,
    /// The memory is to be forgotten.
    Forget,
    /// The memory is to be there again.
    Restore,
    /// Packed tombstones.
    Forgotten,
    /// The memory is to be erased everywhere.
    Purge,
    /// Something was taken back of which nothing was left to take back.
    Undo,
    /// This journal was published to a remote.
    Publish,
    /// Written by a newer Ebbmark: kept and skipped.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Who gave a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// A person said it.
    User,
    /// The agent concluded it.
    Agent,
    /// It came out of a tool.
    Tool,
    /// It was read on the web.
    Web,
    /// An importer brought it.
    Import,
    /// A note in the vault was written by hand.
    Note,
}

/// Where a memory comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<Who>,
    /// Who said it, in a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The program that saved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The conversation or batch it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its place in that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// Ids of the messages it was taken from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The words it was taken from, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Whether its text may be promoted; absent: not for tools and the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

impl Source {
    /// Whether what came from here may be promoted without a person's word.
    pub fn is_trusted(&self) -> bool {
        self.trusted.unwrap_or(!matches!(self.who, Some(Who::Tool | Who::Web)))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Source::default()
    }
}

/// Which side changed a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person edited it.
    Person,
    /// Ebbmark refreshed its numbers.
    Ebbmark,
}

/// What stood in a note's frontmatter when it was last seen: what differs later was changed by a person.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wrote {
    /// The kind.
    #[serde(deserialize_with = "known")]
    pub kind: Kind,
    /// The strength.
    pub strength: f64,
    /// Whether it was pinned.
    pub pinned: bool,
    /// The status; active where the line does not say.
    #[serde(default, skip_serializing_if = "is_active", deserialize_with = "known_status")]
    pub status: Status,
}

/// What compaction made of a file: by this a reader that had read it all goes on without reading it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// Bytes of the whole lines that were compacted.
    pub bytes_before: u64,
    /// Bytes that are left of them, after this line.
    pub bytes_after: u64,
    /// Lines that were compacted.
    pub lines_before: u64,
    /// Lines that are left of them, this one included.
    pub lines_after: u64,
    /// CRC-32C of the last 64 bytes that were compacted, in hexadecimal; empty where lines were set aside: then every
    /// reader reads all.
    pub mark: String,
}

/// One line. Which fields mean something depends on `op`; absent means "not said".
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Line {
    /// Format version.
    #[serde(default)]
    pub v: u32,
    /// Line number of this file's life, never reused; absent on hand-written lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// The wall clock when it was written.
    pub at: Timestamp,
    /// The order, milliseconds since 1970, only where it differs from `at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub o: Option<i64>,
    /// What the line says.
    pub op: Op,
    /// The memory it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<MemoryId>,
    /// `remember`: told once more; the content only fills gaps.
    #[serde(default, skip_serializing_if = "is_false")]
    pub again: bool,

    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_kind")]
    pub kind: Option<Kind>,
    /// The level.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_level")]
    pub level: Option<Level>,
    /// The tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Who and what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entities: Option<Vec<String>>,
    /// Other words under which someone might look for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// `global` or a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When the event took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happened: Option<Timestamp>,
    /// Until when it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Strength, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
    /// Whether it never fades.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Whether it may be promoted, where a person said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
    /// Names of fields that were emptied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<String>,

    /// When it was first told, where that is not `at` (imports).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Sources of lines that compaction took away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Memories that this one replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<MemoryId>,

    /// How it was used: recalled, mentioned, touched, reviewed. `relate`: `rule` where a rule found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Hours in which it was used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<Hour>,
    /// Counted uses of this replica that are older than the newest 512 hours.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub older: u32,
    /// How often this replica was told or asked of it, so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mentions: u32,
    /// Projects and tag sets in which it was used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,

    /// `relate`: the first of the two, an id or entity name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// `relate`: the second of the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// `relate`: how they are related.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,

    /// Path of the note from the vault's root, or (`forget`) in its trash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Hash of the note's bytes as last seen; `purge`: salted hash of the text; `relate`, `unrelate` of `contradicts`:
    /// hash of both texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// `promote`, `note`: the numbers that stood in the note then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrote: Option<Wrote>,
    /// `note`: who changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// `note`: it is not there any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gone: bool,

    /// `forgotten`: memory and the order of its newest forget.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<MemoryId, i64>,
    /// `forgotten`: of these, the purged ones, with the salted hash of the text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hashes: BTreeMap<MemoryId, String>,

    /// `journal`: the replica that writes this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<String>,
    /// `journal`: what compaction left of the lines that stood here before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Compacted>,
    /// `publish`: what was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oid: Option<String>,

    /// How many lines were written in one go, on the first of several.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines: u32,
    /// Number of the first line of what this and the lines written with it take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,

    /// The caller's key of an idempotent call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_key: Option<String>,
    /// Hash of that call's content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_hash: Option<String>,
    /// Which item of that call this line is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_item: Option<u32>,
}

impl Line {
    /// An empty line of one operation, about no memory yet.
    pub fn new(op: Op) -> Self {
        Line { v: FORMAT_VERSION, op, ..Line::default() }
    }

    /// An empty line of one operation about `id`.
    pub fn about(op: Op, id: MemoryId) -> Self {
        Line { id: Some(id), ..Line::new(op) }
    }

    /// The order of the line, milliseconds since 1970.
    pub fn order(&self) -> i64 {
        // A hand-written order beyond all time would leave no later one.
        self.o.unwrap_or(self.at.millis()).clamp(-LAST_ORDER, LAST_ORDER)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A kind that this version does not know is a plain note; the line itself is kept as it is.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    Ok(text.parse().unwrap_or(Kind::Note))
}

/// A status that this version does not know is as good as none.
fn known_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Status, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Status::deserialize(serde::de::value::StringDeserializer::<serde::de::value::Error>::new(text))
        .unwrap_or_default())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_active(status: &Status) -> bool {
    *status == Status::Active
}

fn known_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Kind>, D::Error> {
    known(deserializer).map(Some)
}

fn known_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Level>, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    Ok(Some(text.parse().unwrap_or(Level::SemiAbstract)))
}
