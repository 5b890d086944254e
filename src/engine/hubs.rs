//! Hubs: an entity that several memories are about gets a note of its own, which shows them all.
//!
//! A hub is made once. From then on it is the person's: only what stands in its block `about` is written anew, where what
//! is known has changed and nobody wrote into the block; and it is not made again once removed.

use std::collections::{BTreeMap, BTreeSet};

use super::commit::stem;
use super::upkeep::{NOTES_A_TURN, let_others_write};
use super::{Engine, tidy};
use crate::clock::{DAY_MS, Timestamp};
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::id::content_hash;
use crate::kinds::Kind;
use crate::memory::{Memory, Status};
use crate::note::{Note, frontmatter, name};
use crate::redact::redact;
use crate::vault::ENTITIES;

/// Memories that must be about an entity before it gets a hub.
const EARNED_BY: usize = 3;
/// The managed block of a hub, its first lines, and how many notes of a kind it names; the table shows all.
const ABOUT: &str = "about";
const TABLE: &str = "![[Memories.base#About this note]]";
const HEADING: &str = "## Known";
const NAMED_OF_KIND: usize = 50;

/// A hub that does not show what is known, and its text with the right block.
pub(super) struct StaleHub {
    pub(super) path: String,
    hash: String,
    text: String,
}

impl Engine {
    /// Makes hubs for entities that have earned one and have no note. Returns what is to be committed.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) where a note cannot be written; what was written before stays.
    pub(super) fn make_hubs(&self, now: Timestamp) -> Result<Vec<Change>> {
        // In a person's own vault only the folder of memories is ours.
        if self.vault.vault_id()?.is_none() {
            return Ok(Vec::new());
        }
        let mut earned = self.entities_with_memories(now);
        {
            let seen = self.seen();
            earned.retain(|key, _| !seen.hubs.contains(key));
        }
        if earned.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.known_by_entity(now);
        let _guard = self.journal.lock()?;
        let taken = self.vault.names()?;
        let mut changes = Vec::new();
        for (key, entity) in earned {
            let stem = name::file_stem(&entity);
            if !taken.contains(&name::key(&stem.name)) {
                let about = known.get(&name::key(&stem.name)).map_or(TABLE, String::as_str);
                let (text, _) = redact(&hub(&entity, &stem.name, about)?);
                let path = format!("{ENTITIES}/{}.md", stem.name);
                if self.vault.write_hub(&path, &text)? {
                    changes.push(Change { path, kind: ChangeKind::Write });
                }
            }
            self.seen().add_hub(key);
        }
        drop(self.keep_seen());
        Ok(changes)
    }

    /// Hubs whose block shows something else than what is known, as the notes of memories say it now.
    pub(super) fn stale_hubs(&self, now: Timestamp) -> Vec<StaleHub> {
        let hubs = match self.vault.vault_id() {
            Ok(Some(_)) => self.vault.hubs().unwrap_or_default(),
            _ => Vec::new(),
        };
        if hubs.is_empty() {
            return Vec::new();
        }
        let known = self.known_by_entity(now);
        let stale = hubs.into_iter().filter_map(|path| {
            let about = known.get(&name::key(stem(&path))).map_or(TABLE, String::as_str);
            let text = self.vault.read(&path).ok()?;
            let note = Note::parse(&text);
            let written = note.managed_block(ABOUT)?;
            if !written.iter().all(|line| is_of_about(line)) || shows_the_same(&written, about) {
                return None;
            }
            let new = note.with_block(ABOUT, Some(about)).ok()?;
            (new != text).then(|| StaleHub { path, hash: content_hash(text.as_bytes()), text: new })
        });
        stale.collect()
    }

    /// Writes hubs, a few at a time. Returns what is to be committed.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::error::Error::Busy).
    pub(super) fn renew_hubs(&self, mut stale: Vec<StaleHub>) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        while !stale.is_empty() {
            let rest = stale.split_off(stale.len().min(NOTES_A_TURN));
            let guard = self.journal.lock()?;
            for hub in stale {
                // A person who edits at this moment goes first; the next tidy follows.
                if self.vault.edit(&hub.path, &hub.hash, &hub.text).is_ok() {
                    changes.push(Change { path: hub.path, kind: ChangeKind::Write });
                }
            }
            drop(guard);
            stale = rest;
            if !stale.is_empty() {
                let_others_write();
            }
        }
        Ok(changes)
    }

    /// What the block of each entity's hub shows, by the key of the hub's name.
    fn known_by_entity(&self, now: Timestamp) -> BTreeMap<String, String> {
        let store = self.store();
        let mut known: BTreeMap<String, BTreeMap<usize, Vec<&Memory>>> = BTreeMap::new();
        let noted = store.state.memories().filter(|memory| memory.is_promoted());
        for memory in noted.filter(|memory| memory.status(&self.config, now) == Status::Active) {
            let kind = memory.current_kind(&self.config);
            let place = Kind::ALL.iter().position(|known| *known == kind).unwrap_or_default();
            for entity in store.aliases.standing_for_all(&memory.entities) {
                let entity = entity.as_str();
                let kinds = known.entry(name::key(&name::file_stem(entity).name)).or_default();
                kinds.entry(place).or_default().push(memory);
            }
        }
        let block = |kinds: BTreeMap<usize, Vec<&Memory>>| {
            let mut lines = vec![TABLE.to_owned()];
            for (place, mut memories) in kinds {
                if lines.len() == 1 {
                    lines.push(HEADING.to_owned());
                }
                lines.extend(Kind::ALL.get(place).map(|kind| format!("### {kind}")));
                memories.sort_unstable_by_key(|memory| std::cmp::Reverse((memory.dated(), memory.id)));
                memories.dedup_by_key(|memory| memory.id);
                let linked = memories.into_iter().filter_map(|memory| Some((memory.dated(), tidy::link(memory)?)));
                lines.extend(linked.take(NAMED_OF_KIND).map(|(dated, link)| format!("- {} {link}", self.date(dated))));
            }
            lines.join("\n")
        };
        known.into_iter().map(|(key, kinds)| (key, block(kinds))).collect()
    }

    /// Entities that enough memories are about, at least one of them with a note: by key, as they are written.
    fn entities_with_memories(&self, now: Timestamp) -> BTreeMap<String, String> {
        let store = self.store();
        let mut counts: BTreeMap<String, (usize, bool, BTreeSet<String>)> = BTreeMap::new();
        for memory in store.state.memories().filter(|memory| memory.status(&self.config, now) == Status::Active) {
            for entity in store.aliases.standing_for_all(&memory.entities) {
                let (count, has_note, written) = counts.entry(name::key(&entity)).or_default();
                *count += 1;
                *has_note |= memory.is_promoted();
                written.insert(entity);
            }
        }
        let earned = counts.into_iter().filter(|(_, (count, has_note, _))| *count >= EARNED_BY && *has_note);
        earned.filter_map(|(key, (.., written))| Some((key, written.first()?.clone()))).collect()
    }
}

/// The text of a new hub.
fn hub(entity: &str, stem: &str, about: &str) -> Result<String> {
    // Where the file cannot have the entity's name, Obsidian finds it by its alias.
    let aliases: Vec<frontmatter::Value> =
        if entity == stem { Vec::new() } else { vec![frontmatter::Value::from(entity)] };
    let text = format!("---\n---\n%% ebbmark:{ABOUT} %%\n{about}\n%% /ebbmark:{ABOUT} %%\n");
    frontmatter::set(&text, "aliases", &frontmatter::Value::from(aliases))
}

/// Whether a line is one that we write into the block. A block in which a person wrote is left alone.
fn is_of_about(line: &str) -> bool {
    let is_kind =
        |line: &str| line.strip_prefix("### ").is_some_and(|word| Kind::ALL.iter().any(|kind| kind.as_str() == word));
    line == TABLE || line == HEADING || is_kind(line) || dated(line).is_some()
}

/// The day and the link of a line that names a note.
fn dated(line: &str) -> Option<(Timestamp, &str)> {
    let (day, named) = line.strip_prefix("- ")?.split_once(' ')?;
    let is_link = named.strip_prefix("[[")?.strip_suffix("]]").is_some_and(|inner| !inner.contains(['[', ']', '|']));
    is_link.then_some((Timestamp::parse_lenient(day)?, named))
}

/// Whether a block says what it should. In another time zone a day may be the one before or after: machines that share a
/// vault do not write over each other for that.
fn shows_the_same(written: &[String], about: &str) -> bool {
    let lines: Vec<&str> = about.lines().collect();
    let is_same = |(written, right): (&String, &&str)| match (dated(written), dated(right)) {
        (Some((there, link)), Some((day, wanted))) => link == wanted && (there.millis() - day.millis()).abs() <= DAY_MS,
        _ => written == right,
    };
    written.len() == lines.len() && written.iter().zip(&lines).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_lines_are_written_over() {
        for line in [TABLE, HEADING, "### preference", "### one_time", "- 2026-11-29 [[Ada prefers green tea]]"] {
            assert!(is_of_about(line), "{line}");
        }
        for line in [
            "",
            "### Tea",
            "## known",
            "- [[Ada]]",
            "- 2026-11-29 [[Ada]] and more",
            "- yesterday [[Ada]]",
            "- 2026-11-29 [[Ada|her]]",
            "- 2026-11-29 Ada",
            "text",
        ] {
            assert!(!is_of_about(line), "{line}");
        }
    }

    #[test]
    fn the_day_of_another_time_zone_is_the_same_day() {
        let written = |day: &str| vec![TABLE.to_owned(), format!("- {day} [[A]]")];
        let about = format!("{TABLE}\n- 2026-11-29 [[A]]");
        assert!(["2026-11-28", "2026-11-29", "2026-11-30"].iter().all(|day| shows_the_same(&written(day), &about)));
        assert!(!shows_the_same(&written("2026-12-01"), &about));
        assert!(!shows_the_same(&written("2026-11-29")[..1], &about));
        assert!(!shows_the_same(&written("2026-11-29"), &about.replace("[[A]]", "[[B]]")));
    }
}
