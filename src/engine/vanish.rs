//! Vanish: a note that a person deleted hides its memory, and much later forgets it. One that lies elsewhere in the
//! vault hides it too, and is never forgotten.
//!
//! Absence alone says little: a disk may not be mounted, another branch checked out, a sync program at work. So a
//! missing note counts only where this machine had seen it in this vault, on this branch, and where few are missing.
//! Nothing is forgotten before 30 days have passed, and a note that turns up anywhere brings its memory back.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::Engine;
use super::reconcile::Reconciled;
use crate::clock::{DAY_MS, Timestamp};
use crate::error::{Error, Result};
use crate::git::{Change, Kind as ChangeKind};
use crate::id::MemoryId;
use crate::memory::{By, Line, Memory, Op};
use crate::vault::{Listing, SkipReason};

/// How long a note must be missing: programs save by moving the old file away first.
const MISSING_FOR: Duration = Duration::from_millis(500);

impl Engine {
    /// Hides the memories whose notes were deleted or put away since they were last seen here.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Busy`]: nothing was hidden then.
    pub(super) fn hide_vanished(
        &self,
        listing: &Listing,
        now: Timestamp,
        any_number: bool,
        reconciled: &mut Reconciled,
    ) -> Result<()> {
        let mut missing = self.missing(listing);
        if missing.is_empty() || !self.may_miss_notes()? {
            return Ok(());
        }
        let (count, known) = (missing.len(), self.seen().notes.values().filter(|note| note.id.is_some()).count());
        let most = (known as f64 * self.config.vault.max_vanish).max(f64::from(self.config.vault.min_vanish)) as usize;
        if count > most && !any_number {
            reconciled.problems.push(format!(
                "{count} of {known} notes are missing at once: nothing was hidden. If you deleted them, \
                 `ebbmark tidy --accept-missing`; else bring them back"
            ));
            return Ok(());
        }
        std::thread::sleep(MISSING_FOR);
        let still: HashSet<MemoryId> = self.missing(&self.vault.list()?).into_iter().map(|(id, _)| id).collect();
        missing.retain(|(id, _)| still.contains(id));
        if missing.is_empty() || !self.may_miss_notes()? {
            return Ok(());
        }
        let elsewhere = self.vault.find_anywhere(&missing.iter().map(|(id, _)| *id).collect())?.places;
        let hidden = self.write(now, |draft| {
            let state = &draft.store().state;
            let is_missing = |(id, path): &(MemoryId, String)| {
                let note = state.get(*id).and_then(|memory| memory.note.as_ref());
                note.is_some_and(|note| note.is_there() && note.path == *path)
                    && matches!(self.vault.read(path), Err(Error::NotFound { .. }))
            };
            missing.retain(is_missing);
            let gone =
                |(id, _): &(MemoryId, String)| Line { gone: true, by: Some(By::Person), ..Line::about(Op::Note, *id) };
            Ok((missing.iter().map(gone).collect(), missing))
        })?;
        for (id, path) in hidden {
            self.seen().lose(&path, id, now);
            reconciled.changes.push(Change { path: path.clone(), kind: ChangeKind::Remove });
            match elsewhere.get(&id) {
                Some(there) => reconciled.put_away.push((id, there.clone())),
                None => reconciled.vanished.push((id, path)),
            }
        }
        Ok(())
    }

    /// Memories whose note was seen here and is nowhere now, with the path where it was.
    fn missing(&self, listing: &Listing) -> Vec<(MemoryId, String)> {
        if !self.vault.has_memories() {
            return Vec::new();
        }
        let there: HashSet<&str> = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
        // A note in a folder that cannot be read, or that is in a cloud only, is not missing.
        let is_out_of_sight = |path: &str| {
            listing.skipped.iter().any(|skipped| match skipped.reason {
                SkipReason::Unreadable => {
                    path == skipped.path || path.strip_prefix(&skipped.path).is_some_and(|rest| rest.starts_with('/'))
                }
                _ => path == skipped.path,
            })
        };
        let mut missing: Vec<(MemoryId, String)> = {
            let store = self.store();
            let absent = store.state.memories().filter_map(|memory| {
                let path = &memory.note.as_ref().filter(|note| note.is_there())?.path;
                (!there.contains(path.as_str()) && !is_out_of_sight(path)).then(|| (memory.id, path.clone()))
            });
            absent.collect()
        };
        if missing.is_empty() {
            return missing;
        }
        let seen = self.seen();
        let present: HashSet<MemoryId> = seen
            .notes
            .iter()
            .filter(|(path, _)| there.contains(path.as_str()))
            .filter_map(|(_, note)| note.id)
            .collect();
        missing.retain(|(id, path)| {
            seen.notes.get(path).is_some_and(|note| note.id == Some(*id)) && !present.contains(id)
        });
        missing.sort();
        missing
    }

    /// Whether git stands where our notes were written: on our branch, and not in the middle of something.
    fn may_miss_notes(&self) -> Result<bool> {
        let Some(git) = self.git() else { return Ok(true) };
        Ok(git.locks().is_empty() && git.hold(self.own_branch()?.as_deref()).is_none())
    }

    /// Forgets memories whose notes have been missing for long enough. Returns their ids.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Busy`]: nothing was forgotten then.
    pub(super) fn forget_vanished(&self, now: Timestamp) -> Result<Vec<MemoryId>> {
        // A clock that jumped ends nothing.
        if !self.vault.exists() || !self.journal.is_fresh(now) || !self.may_miss_notes()? {
            return Ok(Vec::new());
        }
        let due_by = now.plus_millis(-((self.config.vault.vanish_days * DAY_MS as f64) as i64));
        let is_due = |memory: &&Memory| {
            let gone = memory.note.as_ref().and_then(|note| note.gone);
            memory.is_vanished && gone.is_some_and(|gone| gone <= due_by)
        };
        // Only those that were missed on this machine, in this vault.
        let seen: HashSet<MemoryId> =
            self.seen().vanished.iter().filter(|(_, since)| **since <= due_by).map(|(id, _)| *id).collect();
        let mut due: BTreeSet<MemoryId> = {
            let store = self.store();
            store.state.memories().filter(is_due).map(|memory| memory.id).filter(|id| seen.contains(id)).collect()
        };
        if due.is_empty() {
            return Ok(Vec::new());
        }
        // A note that a person put away elsewhere in the vault was not deleted.
        let put_away = self.vault.find_anywhere(&due)?;
        due.retain(|id| !put_away.places.contains_key(id));
        // Where not everything can be looked into, any of them may be there.
        if put_away.unseen.is_some() {
            return Ok(Vec::new());
        }
        let forgotten = self.write(now, |draft| {
            let store = draft.store();
            let due = store.state.memories().filter(is_due).map(|memory| memory.id).filter(|id| due.contains(id));
            let mut ids: Vec<MemoryId> = due.collect();
            ids.sort_unstable();
            Ok((ids.iter().map(|id| Line::about(Op::Forget, *id)).collect(), ids))
        })?;
        Ok(forgotten)
    }
}
