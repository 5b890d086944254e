//! Notes: the memories' notes as a list, and one of them as it stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::commit::stem;
use crate::error::{Error, Result};
use crate::note::{Note, name};

/// One note of the vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedNote {
    /// Its path from the vault's root.
    pub path: String,
    /// Its title.
    pub title: String,
    /// The memory that it is; absent where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its `kind`, as it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Why it is not written by Ebbmark.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// The notes in the folder of memories, by path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteList {
    /// The notes.
    pub notes: Vec<ListedNote>,
}

/// One note as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadNote {
    /// Its path from the vault's root.
    pub path: String,
    /// All of its text.
    pub text: String,
    /// Opens it in Obsidian.
    pub obsidian: String,
}

impl Engine {
    /// Lists the notes in the folder of memories.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder cannot be read. A note that cannot be read has that as its problem.
    pub fn list_notes(&self) -> Result<NoteList> {
        let entries = self.vault.list()?.entries.into_iter();
        let notes = entries.map(|entry| match self.vault.read(&entry.path) {
            Ok(text) => {
                let note = Note::parse(&text);
                ListedNote {
                    title: note.title(stem(&entry.path)).to_owned(),
                    id: note.id().map(|id| id.to_string()),
                    kind: note.kind(),
                    problems: note.problems.iter().map(ToString::to_string).collect(),
                    path: entry.path,
                }
            }
            Err(error) => ListedNote {
                title: stem(&entry.path).to_owned(),
                id: None,
                kind: None,
                problems: vec![error.to_string()],
                path: entry.path,
            },
        });
        Ok(NoteList { notes: notes.collect() })
    }

    /// Reads one note: by its memory's id or a unique prefix of it, by its path from the vault's root, or by its title.
    ///
    /// # Errors
    /// [`Error::NotFound`] where nothing fits; [`Error::Ambiguous`] where several notes have the title; as
    /// [`Vault::read`](crate::vault::Vault::read).
    pub fn read_note(&self, which: &str) -> Result<ReadNote> {
        self.refresh()?;
        let path = self.note_path(which)?;
        let text = self.vault.read(&path)?;
        Ok(ReadNote { obsidian: self.obsidian_address(&path), path, text })
    }

    fn note_path(&self, which: &str) -> Result<String> {
        {
            let store = self.store();
            let memory = Self::resolve_existing(&store.state, which).ok();
            if let Some(note) = memory.and_then(|memory| memory.note.as_ref()).filter(|note| note.is_there()) {
                return Ok(note.path.clone());
            }
        }
        if self.vault.read(which).is_ok() {
            return Ok(which.to_owned());
        }
        let key = name::key(which);
        let listed = self.list_notes()?.notes;
        let fits = |note: &&ListedNote| name::key(&note.title) == key || name::key(stem(&note.path)) == key;
        match listed.iter().filter(fits).map(|note| note.path.clone()).collect::<Vec<_>>().as_slice() {
            [] => Err(Error::NotFound { what: format!("note `{which}`") }),
            [path] => Ok(path.clone()),
            several => Err(Error::Ambiguous { prefix: which.to_owned(), candidates: several.to_vec() }),
        }
    }

    /// The address that opens a note in Obsidian, whichever of its vaults is open.
    pub(super) fn obsidian_address(&self, path: &str) -> String {
        let full = self.vault.root().join(path);
        let full = std::path::absolute(&full).unwrap_or(full);
        let mut address = String::from("obsidian://open?path=");
        for byte in full.to_string_lossy().bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
                address.push(char::from(byte));
            } else {
                let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
                address.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
        address
    }
}
