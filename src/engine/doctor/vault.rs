//! What is wrong in the vault: notes that are missing, doubled or unreadable, and what is not committed.

use std::collections::{BTreeMap, HashSet};

use super::{Area, Finding, Repair, plural};
use crate::engine::Engine;
use crate::engine::reconcile::{conflict_marker, odd_values};
use crate::error::{Error, Result};
use crate::id::{MemoryId, content_hash};
use crate::note::Note;

/// What to do about most of it.
const LOOK: &str = "look at that note in the vault";
/// A change that is younger is on its way into git, milliseconds: edits are read back every ten seconds, and many
/// notes that are promoted together are committed together.
const JUST_CHANGED_MS: i64 = 60_000;
/// Paths that one finding names.
const MOST_NAMED: usize = 5;

impl Engine {
    /// What in the vault a person should look at: missing, doubled and unreadable notes, and what only looks like one.
    ///
    /// # Errors
    /// [`Error::Io`] where the vault cannot be listed.
    pub(in crate::engine) fn vault_findings(&self) -> Result<Vec<Finding>> {
        if !self.vault.exists() {
            return Ok(Vec::new());
        }
        let listing = self.vault.list()?;
        let in_vault = |path: &str| self.vault.root().join(path);
        let mut findings: Vec<Finding> = Vec::new();
        let mut find = |path: &str, what: String, next: &str| {
            findings.push(Finding::warning(Area::Vault, what, next).of(&in_vault(path)));
        };
        for skipped in &listing.skipped {
            find(&skipped.path, skipped.reason.to_string(), LOOK);
        }
        let mut by_id: BTreeMap<MemoryId, Vec<&str>> = BTreeMap::new();
        let mut conflicts = Vec::new();
        for entry in &listing.entries {
            let text = match self.vault.read(&entry.path) {
                Ok(text) => text,
                // It went while we looked.
                Err(Error::NotFound { .. }) => continue,
                Err(error) => {
                    find(&entry.path, error.to_string(), &error.hint());
                    continue;
                }
            };
            let note = Note::parse(&text);
            for problem in note.problems.iter().map(ToString::to_string).chain(odd_values(&note)) {
                find(&entry.path, problem, LOOK);
            }
            if let Some((line, byte)) = conflict_marker(&text) {
                let next = "resolve it: keep what is right of both sides, and remove git's marks; it is read back then";
                let finding = Finding::warning(Area::Vault, "git left a conflict in it", next);
                conflicts.push(finding.of(&in_vault(&entry.path)).at(line, byte));
            }
            if let Some(id) = note.id() {
                by_id.entry(id).or_default().push(&entry.path);
            }
        }
        for (id, paths) in by_id.iter().filter(|(_, paths)| paths.len() > 1) {
            let known = self.store().state.get(*id).and_then(|memory| Some(memory.note.as_ref()?.path.clone()));
            let known = known.as_deref().filter(|known| paths.contains(known)).unwrap_or(paths[0]);
            let others: Vec<&str> = paths.iter().copied().filter(|path| *path != known).collect();
            let next = format!(
                "`{known}` is the one that is followed: remove the other, or take the line `id: {id}` out of it ({})",
                others.join(", ")
            );
            find(others[0], format!("memory {id} has several notes: {}", paths.join(", ")), &next);
        }
        let there: HashSet<&str> = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
        for memory in self.store().state.memories() {
            let note = memory.note.as_ref().filter(|note| note.is_there() && !there.contains(note.path.as_str()));
            if let Some(note) = note {
                let id = memory.id;
                let what = format!("the note of memory {id} is missing; its text is still remembered");
                let next = format!("`ebbmark promote {id}` writes it anew, `ebbmark forget {id}` ends it");
                find(&note.path, what, &next);
            }
        }
        findings.extend(conflicts);
        findings.sort_by(super::worst_first);
        Ok(findings)
    }

    /// That the vault is not where it was.
    pub(super) fn absent_vault_finding(&self) -> Option<Finding> {
        let count = self.absent_notes() as u64;
        let what = format!(
            "the vault is not there, and {} in it; what they say is remembered all the same",
            plural(count, "memory has its note", "memories have their notes")
        );
        let next = "mount it, move it back, or name it with --vault; nothing is promoted until then";
        (count > 0).then(|| Finding::error(Area::Vault, what, next).of(self.vault.root()))
    }

    /// Notes of ours that the last commit does not have as they are.
    pub(super) fn uncommitted_findings(&self) -> Option<Finding> {
        let git = self.git()?;
        let dirty = match git.dirty(&self.committed_paths()) {
            Ok(dirty) => dirty,
            Err(error) => return Some(self.unreadable_git(&error)),
        };
        self.uncommitted(&dirty)
    }

    /// Paths of notes that git should have, or should have no more.
    pub(super) fn committed_paths(&self) -> Vec<String> {
        let (own, gone) = self.notes_by_path();
        own.into_keys().chain(gone).collect()
    }

    pub(super) fn unreadable_git(&self, error: &crate::error::Error) -> Finding {
        Finding::error(Area::Git, error.to_string(), "`git fsck` in the vault says more; memory goes on without it")
            .of(self.vault.root())
    }

    /// What git lacks. Within a minute of a change that is as it should be: somebody is at it.
    pub(super) fn uncommitted(&self, dirty: &[String]) -> Option<Finding> {
        let (fresh, old): (Vec<String>, Vec<String>) =
            dirty.iter().cloned().partition(|path| self.has_just_changed(path));
        if old.is_empty() {
            let next = "nothing to do: a server, or the next `ebbmark tidy`, reads edits back and commits them";
            return self.not_committed(&fresh, Finding::note(Area::Git, "", next));
        }
        let next = "`ebbmark tidy` reads edits back and commits them, or says what is in the way";
        self.not_committed(&old, Finding::warning(Area::Git, "", next))
    }

    /// Whether a note, or where it is gone its folder, was changed within the last minute.
    fn has_just_changed(&self, path: &str) -> bool {
        let path = self.vault.root().join(path);
        let facts = path.symlink_metadata().ok().or_else(|| path.parent()?.symlink_metadata().ok());
        let modified = facts.and_then(|facts| facts.modified().ok());
        let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let now = self.clock.now().millis();
        since.is_some_and(|since| (0..JUST_CHANGED_MS).contains(&(now - since.as_millis() as i64)))
    }

    fn not_committed(&self, dirty: &[String], finding: Finding) -> Option<Finding> {
        let (first, _) = dirty.split_first()?;
        let mut named: Vec<&str> = dirty.iter().map(String::as_str).collect();
        named.sort_unstable();
        named.truncate(MOST_NAMED);
        let more = match dirty.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what =
            format!("{} not committed: {}{more}", plural(dirty.len() as u64, "note is", "notes are"), named.join(", "));
        let file = if dirty.len() == 1 { self.vault.root().join(first) } else { self.vault.root().to_owned() };
        Some(Finding { what, ..finding }.of(&file).by(Repair::Commit))
    }

    /// Whether notes and journal say the same about each other.
    pub(super) fn agreement_findings(&self) -> Result<Vec<Finding>> {
        if !self.vault.exists() {
            return Ok(Vec::new());
        }
        let mut notes = Vec::new();
        for entry in self.vault.list()?.entries {
            let Ok(text) = self.vault.read(&entry.path) else { continue };
            notes.push((entry.path, Note::parse(&text).id(), content_hash(text.as_bytes())));
        }
        let store = self.store();
        let by_path: BTreeMap<&str, MemoryId> = store
            .state
            .memories()
            .filter(|memory| memory.is_promoted())
            .filter_map(|memory| Some((memory.note.as_ref()?.path.as_str(), memory.id)))
            .collect();
        let mut findings = Vec::new();
        for (path, id, hash) in notes {
            let owner = by_path.get(path.as_str()).copied();
            let finding = match (owner, id) {
                (Some(owner), None) => Finding::warning(
                    Area::Vault,
                    format!("the note of memory {owner} has no `id` any more"),
                    format!("it is not read as a memory until its frontmatter has `id: {owner}` again"),
                ),
                (Some(owner), Some(id)) if owner != id => Finding::warning(
                    Area::Vault,
                    format!("this was the note of memory {owner}, and now has the id of {id}"),
                    LOOK,
                ),
                (Some(owner), Some(_)) => {
                    let known = store.state.get(owner).and_then(|memory| memory.note.as_ref());
                    if known.is_none_or(|known| known.hash == hash) {
                        continue;
                    }
                    Finding::note(
                        Area::Vault,
                        format!("the note of memory {owner} was edited since it was last read"),
                        "`ebbmark tidy` reads the edit back",
                    )
                }
                (None, Some(id)) if store.state.forgotten(id).is_some() => Finding::warning(
                    Area::Vault,
                    format!("its memory {id} was forgotten"),
                    format!("remove the note, or bring the memory back: `ebbmark restore {id}`"),
                ),
                (None, Some(id)) => match store.state.get(id) {
                    None => Finding::warning(
                        Area::Vault,
                        format!("no journal here knows its memory {id}"),
                        "a journal is missing, or the note comes from another vault",
                    ),
                    // Two notes with one id are told of already.
                    Some(memory) if memory.is_promoted() => continue,
                    Some(_) => Finding::warning(
                        Area::Vault,
                        format!("the journal does not know yet that memory {id} has this note"),
                        "`ebbmark tidy` finishes it",
                    ),
                },
                (None, None) => continue,
            };
            findings.push(finding.of(&self.vault.root().join(path)));
        }
        Ok(findings)
    }
}
