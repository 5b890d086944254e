//! What can be wrong with a note.

use std::fmt;

use super::frontmatter::{MAX_BYTES, MAX_DEPTH};

/// Something about a note that keeps it from being written by Ebbmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The block is not YAML.
    Yaml(String),
    /// The block is YAML, but not keys with values.
    NotKeys,
    /// The block is longer than [`frontmatter::MAX_BYTES`](super::frontmatter::MAX_BYTES).
    TooLong,
    /// Values are nested deeper than [`frontmatter::MAX_DEPTH`](super::frontmatter::MAX_DEPTH).
    TooDeep,
    /// A key stands in the block twice.
    Duplicate(String),
    /// An anchor (`&name`), whose value other lines depend on.
    Anchor(String),
    /// A merge key (`<<`).
    MergeKey,
    /// A YAML tag (`!name`).
    Tag(String),
    /// The first line is `---` and keys follow, but there is no second `---`.
    Unclosed,
    /// The block does not begin on the first line, so that Obsidian does not read it.
    Misplaced,
    /// The key `id` holds something that is no memory id.
    ForeignId(String),
    /// A managed block of the body has no end.
    EndlessBlock(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Yaml(detail) => write!(f, "the frontmatter is not valid YAML: {detail}"),
            Problem::NotKeys => f.write_str("the frontmatter does not consist of keys and values"),
            Problem::TooLong => write!(f, "the frontmatter is longer than {} KiB", MAX_BYTES / 1024),
            Problem::TooDeep => write!(f, "the frontmatter is nested deeper than {MAX_DEPTH} levels"),
            Problem::Duplicate(key) => write!(f, "the frontmatter has the key `{key}` twice"),
            Problem::Anchor(name) => write!(f, "the frontmatter has the anchor `&{name}`"),
            Problem::MergeKey => f.write_str("the frontmatter has a merge key `<<`"),
            Problem::Tag(tag) => write!(f, "the frontmatter has the YAML tag `{tag}`"),
            Problem::Unclosed => f.write_str("the frontmatter has no closing `---`"),
            Problem::Misplaced => f.write_str("the frontmatter does not begin on the first line"),
            Problem::ForeignId(id) => write!(f, "the key `id` holds `{id}`, which is no memory id"),
            Problem::EndlessBlock(name) => write!(f, "the block `%% ebbmark:{name} %%` has no end"),
        }
    }
}
