//! Hubs: an entity that several memories are about gets a note of its own, which shows them all.
//!
//! A hub is made once. From then on it is the person's: it is never written again, nor made again once removed.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::memory::Status;
use crate::note::{frontmatter, name};
use crate::redact::redact;
use crate::vault::ENTITIES;

/// Memories that must be about an entity before it gets a hub.
const EARNED_BY: usize = 3;

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
        let _guard = self.journal.lock()?;
        let taken = self.vault.names()?;
        let mut changes = Vec::new();
        for (key, entity) in earned {
            let stem = name::file_stem(&entity);
            if !taken.contains(&name::key(&stem.name)) {
                let (text, _) = redact(&hub(&entity, &stem.name)?);
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

    /// Entities that enough memories are about, at least one of them with a note: by key, as they are written.
    fn entities_with_memories(&self, now: Timestamp) -> BTreeMap<String, String> {
        let store = self.store();
        let mut counts: BTreeMap<String, (usize, bool, BTreeSet<&str>)> = BTreeMap::new();
        for memory in store.state.memories().filter(|memory| memory.status(&self.config, now) == Status::Active) {
            for entity in &memory.entities {
                let (count, has_note, written) = counts.entry(name::key(entity)).or_default();
                *count += 1;
                *has_note |= memory.is_promoted();
                written.insert(entity);
            }
        }
        let earned = counts.into_iter().filter(|(_, (count, has_note, _))| *count >= EARNED_BY && *has_note);
        earned.filter_map(|(key, (.., written))| Some((key, (*written.first()?).to_owned()))).collect()
    }
}

/// The text of a new hub.
fn hub(entity: &str, stem: &str) -> Result<String> {
    // Where the file cannot have the entity's name, Obsidian finds it by its alias.
    let aliases: Vec<frontmatter::Value> =
        if entity == stem { Vec::new() } else { vec![frontmatter::Value::from(entity)] };
    let text = "---\n---\n%% ebbmark:about %%\n![[Memories.base#About this note]]\n%% /ebbmark:about %%\n";
    frontmatter::set(text, "aliases", &frontmatter::Value::from(aliases))
}
