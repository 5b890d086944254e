//! Notes anywhere in the vault, a person's own among them: only their names and ids are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::{Vault, stem_of};
use crate::error::{Error, Result};
use crate::files;
use crate::id::MemoryId;
use crate::note::{Note, name};

impl Vault {
    /// The [`name::key`]s of all notes in the whole vault, outside hidden folders.
    ///
    /// # Errors
    /// [`Error::Io`] where the vault is there and cannot be read.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        let notes = self.notes_anywhere()?;
        let names = notes.iter().filter_map(|note| stem_of(&note.file_name()?.to_string_lossy()).map(name::key));
        Ok(names.collect())
    }

    /// Where notes that name some memories lie, in the whole vault outside hidden folders. All notes are read.
    ///
    /// # Errors
    /// [`Error::Io`] where the vault is there and cannot be read.
    pub fn find_anywhere(&self, ids: &BTreeSet<MemoryId>) -> Result<BTreeMap<MemoryId, String>> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
        let notes = self.notes_anywhere()?.into_iter().filter(is_file);
        let found = notes.filter_map(|path| {
            let text = String::from_utf8(files::read(&path).ok()?).ok()?;
            let id = Note::parse(&text).id().filter(|id| ids.contains(id))?;
            let names = path.strip_prefix(&self.root).ok()?.iter().map(|name| name.to_string_lossy());
            Some((id, names.collect::<Vec<_>>().join("/")))
        });
        Ok(found.collect())
    }

    /// Full paths of whatever has the name of a note, outside hidden folders.
    fn notes_anywhere(&self) -> Result<Vec<PathBuf>> {
        let mut notes = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = match files::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if folder != self.root || error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::io("list", &folder)(error)),
            };
            for entry in entries.flatten() {
                let file_name = entry.file_name();
                let file_name = file_name.to_string_lossy();
                if file_name.starts_with('.') {
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if stem_of(&file_name).is_some() {
                    notes.push(entry.path());
                }
            }
        }
        Ok(notes)
    }
}
