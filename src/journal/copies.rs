//! Stale copies of this machine's own journal, as backups and sync programs leave them beside it.

use std::path::PathBuf;

use super::{Guard, Journal, codec};
use crate::error::Result;
use crate::files;
use crate::memory::Line;

impl Journal {
    fn copies_of(&self, replica: &str) -> Vec<PathBuf> {
        let own = self.own_path(replica);
        let files = self.files().into_iter();
        files.filter(|file| file.replica == replica && file.path != own).map(|file| file.path).collect()
    }

    /// Whether another file than the own one says that it is this machine's.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) when the file `replica` cannot be read.
    pub fn has_copies(&self) -> Result<bool> {
        Ok(self.replica()?.is_some_and(|replica| !self.copies_of(&replica).is_empty()))
    }
}

impl Guard<'_> {
    /// Takes lines out of the copies of the own journal; all other bytes stay. Other machines' files are left: they
    /// are those machines' truth, and a sync program may be writing them, or carry our change back over theirs.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io); [`Error::Changed`](crate::error::Error::Changed) where one changed
    /// meanwhile.
    pub fn erase_in_copies(&self, is_erased: impl Fn(&Line) -> bool) -> Result<()> {
        for path in self.journal.copies_of(&self.replica) {
            let bytes = files::read(&path)?;
            let is_kept = |line: &&[u8]| codec::parse(line.trim_ascii()).map_or(true, |read| !is_erased(&read.line));
            let kept: Vec<u8> =
                bytes.split_inclusive(|byte| *byte == b'\n').filter(is_kept).flatten().copied().collect();
            if kept != bytes {
                files::replace_if(&path, &kept, |there| there == bytes)?;
            }
        }
        Ok(())
    }
}
