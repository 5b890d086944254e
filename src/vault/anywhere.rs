//! Notes anywhere in the vault, a person's own among them: only their names and ids are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::{Vault, stem_of};
use crate::error::{Error, Result};
use crate::files;
use crate::id::MemoryId;
use crate::note::{Note, name};

/// What was found of the notes of some memories.
#[derive(Debug, Default)]
pub struct PutAway {
    /// Path from the vault's root, by memory.
    pub places: BTreeMap<MemoryId, String>,
    /// A file or folder that could not be looked into: any of the others may be there.
    pub unseen: Option<PathBuf>,
}

/// Whatever has the name of a note.
#[derive(Debug, Default)]
struct Anywhere {
    paths: Vec<PathBuf>,
    /// A file or folder that could not be looked into.
    unseen: Option<PathBuf>,
}

impl Vault {
    /// The [`name::key`]s of all notes in the whole vault, outside hidden folders.
    ///
    /// # Errors
    /// [`Error::Io`] where the vault is there and cannot be read.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        let notes = self.notes_anywhere()?.paths;
        let names = notes.iter().filter_map(|note| stem_of(&note.file_name()?.to_string_lossy()).map(name::key));
        Ok(names.collect())
    }

    /// Where notes that name some memories lie, in the whole vault outside hidden folders. All notes are read.
    ///
    /// # Errors
    /// [`Error::Io`] where the vault is there and cannot be read.
    pub fn find_anywhere(&self, ids: &BTreeSet<MemoryId>) -> Result<PutAway> {
        let mut put_away = PutAway::default();
        if ids.is_empty() {
            return Ok(put_away);
        }
        let Anywhere { paths, unseen } = self.notes_anywhere()?;
        put_away.unseen = unseen;
        for path in paths {
            // Neither a pipe, which would never end, nor a link to nothing.
            if !fs::metadata(&path).is_ok_and(|facts| facts.is_file()) {
                continue;
            }
            let Ok(bytes) = files::read(&path) else {
                put_away.unseen.get_or_insert(path);
                continue;
            };
            // Ids are ASCII: what else is no text hides none of them.
            let text = String::from_utf8_lossy(&bytes);
            let Some(id) = Note::parse(&text).id().filter(|id| ids.contains(id)) else { continue };
            let Ok(inside) = path.strip_prefix(&self.root) else { continue };
            let names = inside.iter().map(|name| name.to_string_lossy());
            put_away.places.insert(id, names.collect::<Vec<_>>().join("/"));
        }
        Ok(put_away)
    }

    /// Full paths of whatever has the name of a note, outside hidden folders.
    fn notes_anywhere(&self) -> Result<Anywhere> {
        let mut notes = Anywhere::default();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = match files::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(_) if folder != self.root => {
                    notes.unseen.get_or_insert(folder);
                    continue;
                }
                Err(error) => return Err(Error::io("list", &folder)(error)),
            };
            for entry in entries {
                let Ok(entry) = entry else {
                    notes.unseen.get_or_insert(folder.clone());
                    continue;
                };
                let file_name = entry.file_name();
                let file_name = file_name.to_string_lossy();
                if file_name.starts_with('.') {
                    // A file that a sync program keeps elsewhere until it is opened.
                    if file_name.ends_with(".icloud") {
                        notes.unseen.get_or_insert(entry.path());
                    }
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if stem_of(&file_name).is_some() {
                    notes.paths.push(entry.path());
                }
            }
        }
        Ok(notes)
    }
}
