//! Misses: the last queries for which nothing was found, where a person has them kept (`[recall] keep_misses`).
//!
//! They show what memory should know and does not. They are kept for the whole home in one small file of what is
//! derived, with secrets taken out. A purge removes it, and so does `tidy` where none are to be kept any more.

use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::files::{self, Lock};
use crate::redact::redact;

/// Characters that are kept of a query.
const QUERY_CHARS: usize = 200;

/// A query for which nothing was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Miss {
    /// When it was asked.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The query, shortened.
    pub query: String,
}

impl Engine {
    fn misses_path(&self) -> PathBuf {
        self.cache().join("misses.json")
    }

    fn pending_misses(&self) -> MutexGuard<'_, Vec<Miss>> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, mut misses: Vec<Miss>) -> Vec<Miss> {
        let surplus = misses.len().saturating_sub(self.config.recall.keep_misses as usize);
        misses.drain(..surplus);
        misses
    }

    /// Notes that nothing was found. Never waits: it is written by [`Engine::flush_misses`].
    pub(super) fn note_miss(&self, queries: &[&str], now: Timestamp) {
        if self.config.recall.keep_misses == 0 || queries.is_empty() {
            return;
        }
        let query = super::say::cut(redact(&queries.join(" / ")).0.as_str(), QUERY_CHARS);
        let mut pending = self.pending_misses();
        pending.push(Miss { at: now, query });
        *pending = self.kept(std::mem::take(&mut pending));
    }

    /// Writes the noted misses, unless another process is at it just now: then they wait.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io); they are kept for the next try.
    pub(super) fn flush_misses(&self) -> Result<()> {
        let new = std::mem::take(&mut *self.pending_misses());
        if new.is_empty() {
            return Ok(());
        }
        let written = self.write_misses(&new);
        if !matches!(written, Ok(true)) {
            self.pending_misses().splice(..0, new);
        }
        written.map(drop)
    }

    /// Whether they were written: not while another process writes.
    fn write_misses(&self, new: &[Miss]) -> Result<bool> {
        files::create_folder(&self.cache())?;
        let Some(_lock) = Lock::try_acquire(&self.cache().join("misses.lock"))? else { return Ok(false) };
        let misses = self.kept(self.read_misses().into_iter().chain(new.iter().cloned()).collect());
        files::write_atomic(&self.misses_path(), &serde_json::to_vec(&misses).unwrap_or_default())?;
        Ok(true)
    }

    /// What is on disk; a file that cannot be read is as good as none.
    fn read_misses(&self) -> Vec<Miss> {
        let bytes = files::read_if_there(&self.misses_path()).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The last queries of all processes for which nothing was found, the newest last.
    pub(super) fn recent_misses(&self) -> Vec<Miss> {
        if self.config.recall.keep_misses == 0 {
            return Vec::new();
        }
        let mut misses = self.read_misses();
        misses.extend(self.pending_misses().iter().cloned());
        misses.sort_by_key(|miss| miss.at);
        self.kept(misses)
    }

    /// Removes what is kept of them.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io).
    pub(super) fn remove_misses(&self) -> Result<()> {
        self.pending_misses().clear();
        files::remove(&self.misses_path())
    }
}
