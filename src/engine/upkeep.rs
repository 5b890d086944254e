//! Upkeep: what a serving process does by itself, between requests.

use super::{Engine, TidyRequest};
use crate::clock::{HOUR_MS, Timestamp};
use crate::error::Result;
use crate::index::Index;
use crate::words;

/// Memories without a document that make folding worth it at once.
const FOLD_FROM: usize = 200;
/// How often uses are written and the index looked at, milliseconds.
const STEP_MS: i64 = 2_000;
/// Pause before a small tail is folded, milliseconds.
const FOLD_SMALL_AFTER_MS: i64 = 60_000;
/// How often the vault is looked at for a person's edits, milliseconds.
const READ_BACK_EVERY_MS: i64 = 10_000;
/// How often memory is tidied, milliseconds.
const TIDY_EVERY_MS: i64 = HOUR_MS;

/// When upkeep last did each of its tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Upkeep {
    folded: Option<Timestamp>,
    tidied: Option<Timestamp>,
    read_back: Option<Timestamp>,
}

impl Engine {
    /// Does what is due and says when to come again. Failures are left for the next step: nothing acknowledged
    /// depends on upkeep.
    ///
    /// # Errors
    /// The first failure of this step, for the log.
    pub fn step(&self, upkeep: &mut Upkeep) -> (Timestamp, Result<()>) {
        let now = self.clock.now();
        let next = now.plus_millis(STEP_MS);
        let mut outcome = self.flush_uses();
        // A clock that was set back makes everything due.
        let since = |last: Option<Timestamp>| match last.map(|last| now.millis() - last.millis()) {
            Some(passed) if passed >= 0 => passed,
            _ => i64::MAX,
        };
        let waiting = self.store().without_document();
        let is_small_due = waiting > 0 && since(upkeep.folded.or(Some(now))) >= FOLD_SMALL_AFTER_MS;
        if waiting >= FOLD_FROM || is_small_due {
            self.fold_index();
            upkeep.folded = Some(now);
        }
        upkeep.folded.get_or_insert(now);
        if since(upkeep.read_back) >= READ_BACK_EVERY_MS {
            outcome = outcome.and(self.read_back().map(drop));
            upkeep.read_back = Some(now);
        }
        if since(upkeep.tidied.or(Some(now))) >= TIDY_EVERY_MS {
            outcome = outcome.and(self.tidy(&TidyRequest::default()).map(drop));
            upkeep.tidied = Some(now);
        }
        upkeep.tidied.get_or_insert(now);
        (next, outcome)
    }

    /// Brings the index up to date where it lacks enough to be worth a commit. For commands that end right after.
    pub fn fold_if_worth_it(&self) {
        if self.store().without_document() >= FOLD_FROM * 5 {
            self.fold_index();
        }
    }

    /// Brings the index up to date. Another process may be at it: then it is left to that one. A fault only makes
    /// recall slower; it is shown as a notice.
    pub(super) fn fold_index(&self) {
        let (missing, gone) = self.store().missing_documents();
        if missing.is_empty() && gone.is_empty() {
            return;
        }
        let mut state = self.index();
        let opened = match state.index.take() {
            Some(index) => Ok(index),
            None if state.trouble.is_some() => Index::discard(&self.cache(), words::ANALYZER_VERSION),
            None => Index::ensure(&self.cache(), words::ANALYZER_VERSION),
        };
        // The store is held for one document at a time: requests go on meanwhile.
        let documents = missing.into_iter().filter_map(|id| self.store().document(id));
        // Where another process is at it, its commit will be seen like this one's.
        let folded = opened.and_then(|index| index.fold_in(documents, &gone).map(|_| index));
        let mut index = match folded {
            Ok(index) => index,
            Err(error) => {
                state.trouble = Some(error.to_string());
                return;
            }
        };
        state.was_opened = true;
        let reloaded = index.reload();
        let mut store = self.store_mut();
        match reloaded.and_then(|()| store.rejoin(&index)) {
            Ok(()) => {
                state.trouble = None;
                state.index = Some(index);
            }
            Err(error) => {
                state.trouble = Some(error.to_string());
                store.leave_index();
            }
        }
    }
}
