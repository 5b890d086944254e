//! What this machine has seen in the vault: a note that is missing counts only where it was seen before.
//!
//! Kept in `vaults/` of the home, one file a vault, so that a new process reads only the notes that changed since.
//! Losing the file loses nothing: all notes are read once more, and none of them counts as missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::Engine;
use super::upkeep::VaultChange;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::files;
use crate::id::{MemoryId, content_hash};
use crate::vault::Entry;

/// A note that was saved so recently may be saved again with the same size and time: it is read again, milliseconds.
const SETTLED_AFTER_MS: i64 = 2_000;

/// A note as it was last read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenNote {
    size: u64,
    /// Absent where the next look must read it again.
    #[serde(rename = "modified", skip_serializing_if = "Option::is_none")]
    modified_millis: Option<i64>,
    /// Hash of its bytes.
    pub(super) hash: String,
    /// The memory that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<MemoryId>,
}

impl SeenNote {
    /// A note as it was read at `now`.
    pub(super) fn new(entry: &Entry, hash: String, id: Option<MemoryId>, now: Timestamp) -> Self {
        let is_settled = entry.modified_millis.saturating_add(SETTLED_AFTER_MS) <= now.millis();
        SeenNote { size: entry.size, modified_millis: is_settled.then_some(entry.modified_millis), hash, id }
    }

    /// A note that is read again whatever its size and time say.
    pub(super) fn unsettled(hash: String, id: Option<MemoryId>) -> Self {
        SeenNote { hash, id, ..SeenNote::default() }
    }

    /// Has it read again whatever its size and time say.
    pub(super) fn distrust(&mut self) {
        self.modified_millis = None;
    }

    /// Whether size and time say that it was not written since.
    pub(super) fn is_unchanged(&self, entry: &Entry) -> bool {
        self.size == entry.size && self.modified_millis == Some(entry.modified_millis)
    }
}

/// All that was seen in one vault.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Id of the vault, or its path where it is a person's own.
    vault: String,
    /// Where it was. In another place everything is looked at anew: a copy of the vault has the same id.
    root: PathBuf,
    /// Notes by path from the vault's root.
    pub(super) notes: BTreeMap<String, SeenNote>,
    /// Memories whose notes were found missing here, and when.
    #[serde(default)]
    pub(super) vanished: BTreeMap<MemoryId, Timestamp>,
    /// Entities that got a hub once, by [`name::key`](crate::note::name::key).
    #[serde(default)]
    pub(super) hubs: BTreeSet<String>,
    /// Whether the folder of memories in a person's own vault was made for us, or a person gave it to us.
    #[serde(default)]
    is_taken: bool,
    /// Notes that are no memories, with the hash at which that was found.
    #[serde(skip)]
    refused: BTreeMap<String, String>,
    #[serde(skip)]
    is_changed: bool,
}

impl Seen {
    /// Notes what was seen at a path.
    pub(super) fn insert(&mut self, path: String, note: SeenNote) {
        if self.notes.get(&path) == Some(&note) {
            return;
        }
        if let Some(id) = note.id {
            self.vanished.remove(&id);
        }
        self.notes.insert(path, note);
        self.is_changed = true;
    }

    /// Keeps only what `is_kept`.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        let before = self.notes.len();
        self.notes.retain(|path, _| is_kept(path));
        self.is_changed |= self.notes.len() != before;
    }

    /// Notes that an entity got its hub.
    pub(super) fn add_hub(&mut self, key: String) {
        self.is_changed |= self.hubs.insert(key);
    }

    /// Notes that what stands at a path is no memory.
    pub(super) fn refuse(&mut self, path: &str, hash: &str) {
        self.refused.insert(path.to_owned(), hash.to_owned());
    }

    /// Whether it was found to be no memory, and is still the same.
    pub(super) fn is_refused(&self, path: &str, hash: &str) -> bool {
        self.refused.get(path).is_some_and(|refused| refused == hash)
    }

    /// Drops the notes of memories that `is_dropped` picks by path and id.
    pub(super) fn drop_notes(&mut self, is_dropped: impl Fn(&str, MemoryId) -> bool) {
        let before = self.notes.len();
        self.notes.retain(|path, note| note.id.is_none_or(|id| !is_dropped(path, id)));
        self.is_changed |= self.notes.len() != before;
    }

    /// Notes that a memory's note is missing.
    pub(super) fn lose(&mut self, path: &str, id: MemoryId, now: Timestamp) {
        self.notes.remove(path);
        self.vanished.insert(id, now);
        self.is_changed = true;
    }
}

impl Engine {
    /// What was seen of the vault that is there now.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        let mut seen = self.seen_notes.lock().unwrap_or_else(PoisonError::into_inner);
        // Where the vault cannot be told, it is another one than any known.
        let vault = self.vault_key().unwrap_or_default();
        if seen.vault != vault || seen.root != self.vault.root() {
            let bytes = files::read_if_there(&self.seen_path(&vault)).ok().flatten().unwrap_or_default();
            let kept: Seen = serde_json::from_slice(&bytes).unwrap_or_default();
            let is_it = kept.vault == vault && kept.root == self.vault.root();
            *seen = if is_it { kept } else { Seen::default() };
            seen.vault = vault;
            self.vault.root().clone_into(&mut seen.root);
        }
        seen
    }

    /// Notes that the vault was moved by us: what was seen in it stays seen.
    pub(super) fn seen_at(&self, root: &std::path::Path) {
        let mut seen = self.seen_notes.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.vault.root().display().to_string();
        if seen.vault == old {
            seen.vault = root.display().to_string();
        }
        root.clone_into(&mut seen.root);
        // What cannot be written is looked at anew, and nothing counts as missing.
        if let Ok(text) = serde_json::to_vec(&*seen) {
            drop(files::create_folder(&self.home.join("vaults")));
            drop(files::write_atomic(&self.seen_path(&seen.vault), &text));
        }
    }

    fn seen_path(&self, vault: &str) -> PathBuf {
        self.home.join("vaults").join(format!("{}.json", content_hash(vault.as_bytes())))
    }

    /// Writes down what was seen, for the next process.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io): then the next process reads more than it had to.
    pub(super) fn keep_seen(&self) -> Result<()> {
        let mut seen = self.seen();
        if !seen.is_changed {
            return Ok(());
        }
        let text = serde_json::to_vec(&*seen).map_err(|error| crate::error::Error::Internal(error.to_string()))?;
        files::create_folder(&self.home.join("vaults"))?;
        files::write_atomic(&self.seen_path(&seen.vault), &text)?;
        seen.is_changed = false;
        Ok(())
    }

    /// Notes in a folder of memories that a person made for other things, and gave to nobody: in a vault of their own,
    /// and none of them names a memory.
    pub(super) fn foreign_notes(&self) -> usize {
        let is_theirs = self.vault.has_memories() && self.vault.vault_id().is_ok_and(|id| id.is_none());
        if !is_theirs {
            return 0;
        }
        let seen = self.seen();
        let is_ours = seen.is_taken || seen.notes.values().any(|note| note.id.is_some());
        if is_ours { 0 } else { seen.notes.len() }
    }

    /// Notes that the folder of memories in a person's own vault is for us.
    ///
    /// # Errors
    /// As [`Engine::keep_seen`].
    pub(super) fn take_memories(&self) -> Result<()> {
        {
            let mut seen = self.seen();
            seen.is_changed |= !seen.is_taken;
            seen.is_taken = true;
        }
        self.keep_seen()
    }

    /// Removes what was seen of vaults other than this one.
    pub(super) fn remove_other_seen(&self) -> Result<()> {
        let own = self.seen_path(&self.seen().vault);
        let folder = self.home.join("vaults");
        let Ok(entries) = files::read_dir(&folder) else { return Ok(()) };
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| *path != own) {
            files::remove(&path)?;
        }
        Ok(())
    }

    /// Notes that name a memory, as they were last read, of the memories that `is_wanted` picks; by path.
    pub(super) fn seen_notes_of(&self, is_wanted: impl Fn(MemoryId) -> bool) -> Vec<(String, MemoryId)> {
        let seen = self.seen();
        let named = seen.notes.iter();
        named.filter_map(|(path, seen)| Some((path.clone(), seen.id.filter(|id| is_wanted(*id))?))).collect()
    }

    /// Has notes read again whatever their sizes and times say: a program may give a note the time that it had.
    pub(super) fn distrust(&self, change: &VaultChange) {
        for (path, note) in &mut self.seen().notes {
            if change.is_everything || change.notes.contains(path) {
                note.distrust();
            }
        }
        self.distrust_own_notes(change);
    }

    /// Notes that this process has written a note, so that its absence will be noticed.
    pub(super) fn saw_written(&self, path: &str, hash: &str, id: MemoryId) {
        let note = SeenNote::unsettled(hash.to_owned(), Some(id));
        self.seen().insert(path.to_owned(), note);
    }
}
