//! Compact: this machine's journal without what it no longer says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::clock::{DAY_MS, Timestamp};
use crate::error::Result;
use crate::journal::Compaction;

/// What compaction did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactAnswer {
    /// Lines before.
    pub lines_before: usize,
    /// Lines after.
    pub lines_after: usize,
    /// Bytes before.
    pub bytes_before: usize,
    /// Bytes after.
    pub bytes_after: usize,
    /// Memories whose text left the file, because they were forgotten long enough ago.
    pub forgotten: usize,
    /// Lines that could not be read, moved to quarantine.
    pub quarantined: usize,
    /// Whether nothing was done yet.
    #[serde(skip)]
    pub dry_run: bool,
}

impl From<Compaction> for CompactAnswer {
    fn from(done: Compaction) -> Self {
        CompactAnswer {
            lines_before: done.lines_before,
            lines_after: done.lines_after,
            bytes_before: done.bytes_before,
            bytes_after: done.bytes_after,
            forgotten: done.forgotten,
            quarantined: done.quarantined,
            dry_run: false,
        }
    }
}

impl Engine {
    /// Compacts this machine's journal.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io), [`Error::Busy`](crate::error::Error::Busy),
    /// [`Error::Changed`](crate::error::Error::Changed); the journal is then as it was.
    pub fn compact(&self, dry_run: bool) -> Result<CompactAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        let done = self.compact_now(dry_run, true, now)?;
        self.refresh_at(now)?;
        Ok(CompactAnswer { dry_run, ..done.into() })
    }

    pub(super) fn compact_now(&self, dry_run: bool, may_end: bool, now: Timestamp) -> Result<Compaction> {
        let keep = (self.config.forget.keep_days * DAY_MS as f64) as i64;
        let forgotten_by = may_end.then(|| now.plus_millis(keep.saturating_neg()));
        self.journal.compact(now, dry_run, |id| self.store().state.ended(id, forgotten_by))
    }
}
