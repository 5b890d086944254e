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
            let path = files::behind_links(&path);
            let bytes = files::read(&path)?;
            let mut kept = Vec::with_capacity(bytes.len());
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                without_erased(line, &is_erased, &mut kept);
            }
            if kept != bytes {
                files::replace_if(&path, &kept, |there| there == bytes)?;
            }
        }
        Ok(())
    }
}

/// Adds what stands between two newlines to `kept`, without the lines that are erased: several may be glued together.
fn without_erased(bytes: &[u8], is_erased: impl Fn(&Line) -> bool, kept: &mut Vec<u8>) {
    let mut kept_to = 0;
    codec::read(bytes, |begin, part, read| {
        if read.is_ok_and(|read| is_erased(&read.line)) {
            kept.extend_from_slice(&bytes[kept_to..begin]);
            kept_to = begin + part.len();
        }
    });
    // Of a line that is gone the newline goes too.
    let rest = &bytes[kept_to..];
    if kept_to == 0 || !rest.trim_ascii().is_empty() || kept.last().is_some_and(|last| *last != b'\n') {
        kept.extend_from_slice(rest);
    }
}
