//! A file that only grows, and that a filter may replace while it grows.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{parent, sync_folder, system};
use crate::error::{Error, Result};

/// A file that only grows: whole lines, one write each.
#[derive(Debug)]
pub struct Appender {
    open: OpenFile,
    /// The last append failed: what it left may be lost or torn, and nothing may be glued to it.
    has_failed: bool,
}

impl Appender {
    /// Opens the file for appending, making it where it is missing. On return its folder entry is on disk, also where
    /// another process made the file, or gave it its name, and was killed before it had synced that.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = match system::open_to_append(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                drop(system::create_new(&path.into()).map_err(Error::io("create", path))?);
                system::open_to_append(path)
            }
            opened => opened,
        };
        let file = file.map_err(Error::io("open", path))?;
        sync_folder(&parent(path).into())?;
        Ok(Appender { open: OpenFile { file, path: path.to_owned() }, has_failed: false })
    }

    /// The file, for reading.
    pub fn file(&self) -> &OpenFile {
        &self.open
    }

    /// Whether the open file still is the one at its path (it is not after a compaction).
    pub fn is_current(&self) -> bool {
        self.open.is_current()
    }

    /// Appends whole lines (`lines` ends with a newline) with one write; then, where `is_durable`, `fdatasync`: on
    /// return they are on disk. What a crash or a failed append left at the end gets a newline first, so that nothing
    /// is glued to it.
    ///
    /// # Errors
    /// [`Error::Io`]. Whatever was written is then cut off again: what could not be synced may be read, and be built
    /// upon, but never reach the disk.
    pub fn append(&mut self, lines: &[u8], is_durable: bool) -> Result<()> {
        let OpenFile { file, path } = &self.open;
        let before = file.metadata().map_err(Error::io("read", path))?.len();
        let is_torn = before > 0 && (self.has_failed || self.open.read_from(before - 1)? != b"\n");
        let newline: &[u8] = if is_torn { b"\n" } else { b"" };
        self.has_failed = true;
        let mut written = system::append(file, path, &[newline, lines].concat());
        if is_durable {
            written = written.and_then(|()| system::sync(file, path));
        }
        let is_written = written.is_ok();
        // Where all of it is gone again, nothing is left that a line could be glued to.
        let is_as_before = !is_written && self.cut_back(before);
        self.has_failed = !is_written && !is_as_before;
        let OpenFile { path, .. } = &self.open;
        written.map_err(Error::io("append to", path))
    }

    /// Makes what was appended durable.
    ///
    /// # Errors
    /// [`Error::Io`]: what was appended since the last sync may then be lost in a power cut.
    pub fn sync(&self) -> Result<()> {
        let OpenFile { file, path } = &self.open;
        system::sync(file, path).map_err(Error::io("sync", path))
    }

    /// After a failed write: cuts what it added. Whether the file is as it was before.
    fn cut_back(&self, before: u64) -> bool {
        let OpenFile { file, path } = &self.open;
        let has_grown = file.metadata().map_or(true, |facts| facts.len() > before);
        !has_grown || system::cut(file, path, before).is_ok()
    }
}

/// An open file: what it held can be read even where another one has taken its name.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: PathBuf,
}

impl OpenFile {
    /// Opens a file for reading; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Io`] for anything but absence.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        match system::open(&path.into()) {
            Ok(file) => Ok(Some(OpenFile { file, path: path.to_owned() })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("open", path)(error)),
        }
    }

    /// Whether it still is the one at its path. Where the system cannot tell, it is not.
    pub fn is_current(&self) -> bool {
        system::is_at(&self.file, &self.path)
    }

    /// What the file holds from `offset` on.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read_from(&self, offset: u64) -> Result<Vec<u8>> {
        system::read_from(&self.file, &self.path, offset).map_err(Error::io("read", &self.path))
    }
}
