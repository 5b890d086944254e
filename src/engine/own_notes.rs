//! A person's own notes: recalled by their parts where `[vault] index` says so, and never written.
//!
//! A part stands in the word statistics beside the memories, under an id made of its note's path and its place there. It has
//! no line in the journal: it does not ebb, and no use of it is counted. What was read is kept in the cache, without
//! the texts: these are read again where they are shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::Engine;
use super::commit::stem;
use super::keys::analysis_hash;
use super::recall::Hit;
use super::seen::SeenNote;
use super::store::{Analysed, document_terms};
use super::upkeep::VaultChange;
use crate::clock::Timestamp;
use crate::config::OwnNotes;
use crate::entities::Names;
use crate::error::Result;
use crate::files;
use crate::id::{MemoryId, content_hash};
use crate::index::Document;
use crate::memory::Memory;
use crate::note::Note;
use crate::redact::redact;

/// What a part is called where memories have a kind and a tier.
pub(super) const NOTE: &str = "note";
/// Longest note that is read, bytes. Longer ones are exports and logs.
const MAX_NOTE_BYTES: u64 = 4 << 20;

/// A note of the person's own as it was last read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OwnNote {
    #[serde(flatten)]
    seen: SeenNote,
    /// When it was last changed, as its parts are dated.
    changed: Timestamp,
    title: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// What it links to, without the words that are shown.
    links: Vec<String>,
    /// Hash of the words of each part.
    parts: Vec<u64>,
}

impl OwnNote {
    /// The ids of its parts, each with the hash of its words.
    pub(super) fn parts(&self, path: &str) -> impl Iterator<Item = (MemoryId, u64)> {
        self.parts.iter().enumerate().map(move |(place, hash)| (part_id(path, place), *hash))
    }
}

fn part_id(path: &str, place: usize) -> MemoryId {
    MemoryId::from_source(&format!("note\n{path}\n{place}"))
}

/// Where a part stands: the path of its note, and its number in it.
pub(super) type PartPlace = (Arc<str>, usize);

/// The notes of the person's own that are recalled.
#[derive(Default)]
pub(super) struct Shelf {
    notes: BTreeMap<Arc<str>, OwnNote>,
    /// Where each part stands: the path of its note, and its place in it.
    places: HashMap<MemoryId, PartPlace>,
    /// Notes with parts whose words are not known yet.
    unread: BTreeSet<Arc<str>>,
    /// Time and size of the file that this was read from.
    stamp: Option<(SystemTime, u64)>,
    /// Grows with each note that comes, changes or goes.
    version: u64,
}

impl Shelf {
    /// The ids of all parts, each with the hash of its words.
    pub(super) fn parts(&self) -> impl Iterator<Item = (MemoryId, u64)> {
        self.notes.iter().flat_map(|(path, note)| note.parts(path))
    }

    /// Notes that the words of a part are not known.
    pub(super) fn mark_unread(&mut self, id: MemoryId) {
        if let Some((path, _)) = self.places.get(&id) {
            self.unread.insert(Arc::clone(path));
        }
    }

    /// Takes a note in.
    pub(super) fn insert(&mut self, path: &str, note: OwnNote) {
        let path: Arc<str> = path.into();
        self.version += 1;
        for (place, (id, _)) in note.parts(&path).enumerate() {
            self.places.insert(id, (Arc::clone(&path), place));
        }
        self.notes.insert(path, note);
    }

    /// Takes a note out, and tells the ids of its parts.
    pub(super) fn remove(&mut self, path: &str) -> Vec<MemoryId> {
        self.unread.remove(path);
        self.version += 1;
        let ids: Vec<MemoryId> =
            self.notes.remove(path).map(|note| note.parts(path).map(|(id, _)| id).collect()).unwrap_or_default();
        for id in &ids {
            self.places.remove(id);
        }
        ids
    }

    /// What recall's filters ask of a part: it is a memory without text.
    pub(super) fn outline(&self, id: MemoryId) -> Option<Memory> {
        let note = self.notes.get(&*self.places.get(&id)?.0)?;
        let entities = std::iter::once(&note.title).chain(&note.aliases).cloned().collect();
        Some(Memory { tags: note.tags.clone(), entities, created: note.changed, ..Memory::new(id) })
    }

    /// Where a part stands.
    pub(super) fn place(&self, id: MemoryId) -> Option<PartPlace> {
        self.places.get(&id).cloned()
    }

    /// What each note links to, by its path.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.notes.iter().map(|(path, note)| (&**path, &note.links[..]))
    }

    /// Another number after each change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Adds what the notes are called: titles of two to four words, and aliases with the title that they stand for. A
    /// single word may be the title of anything ("Ideas").
    pub(super) fn add_names(&self, names: &mut Names) {
        for note in self.notes.values() {
            let is_name = (2..=4).contains(&note.title.split_whitespace().count());
            if is_name || !note.aliases.is_empty() {
                names.add(&note.title);
            }
            for alias in &note.aliases {
                names.add_alias(alias, &note.title);
            }
        }
    }

    /// Notes that are there.
    pub(super) fn len(&self) -> usize {
        self.notes.len()
    }
}

/// What is kept of the person's notes for the next process.
#[derive(Serialize, Deserialize)]
struct Kept<Notes> {
    root: PathBuf,
    notes: Notes,
}

/// A note that was read, in parts.
struct ReadParts {
    note: OwnNote,
    memories: Vec<Memory>,
}

impl Engine {
    fn recalls_own_notes(&self) -> bool {
        self.config.vault.index != OwnNotes::None
    }

    fn shelf_path(&self) -> PathBuf {
        self.cache().join("own-notes.json")
    }

    /// What is known of the person's notes when a process begins; nothing where none are recalled.
    pub(super) fn kept_shelf(&self) -> Shelf {
        let mut kept_notes = Shelf::default();
        if !self.recalls_own_notes() {
            return kept_notes;
        }
        let path = self.shelf_path();
        kept_notes.stamp = stamp(&path);
        let bytes = files::read_if_there(&path).ok().flatten().unwrap_or_default();
        let Ok(kept) = serde_json::from_slice::<Kept<BTreeMap<String, OwnNote>>>(&bytes) else { return kept_notes };
        if kept.root == self.vault.root() {
            let notes = kept.notes.into_iter().filter(|(path, _)| self.config.vault.index.hold(path));
            for (path, note) in notes {
                kept_notes.insert(&path, note);
            }
        }
        kept_notes
    }

    /// Takes over what another process read of the person's notes, and reads those whose words are not known.
    pub(super) fn follow_own_notes(&self) {
        if !self.recalls_own_notes() {
            return;
        }
        if stamp(&self.shelf_path()) != self.store().shelf.stamp {
            let kept = self.kept_shelf();
            let mut store = self.store_mut();
            let old = &store.shelf.notes;
            let gone: Vec<Arc<str>> = old.keys().filter(|path| !kept.notes.contains_key(*path)).cloned().collect();
            let is_new = |(path, note): &(Arc<str>, OwnNote)| old.get(path) != Some(note);
            let new: Vec<(Arc<str>, OwnNote)> = kept.notes.into_iter().filter(is_new).collect();
            for path in gone {
                store.drop_note(&path);
            }
            store.shelf.stamp = kept.stamp;
            for (path, note) in new {
                // Size, time and date are taken over; the words follow.
                store.put_note(&path, note, &[]);
                store.shelf.unread.insert(path);
            }
        }
        if self.store().shelf.unread.is_empty() {
            return;
        }
        let unread = std::mem::take(&mut self.store_mut().shelf.unread);
        for path in unread {
            match self.read_parts(&path) {
                Ok(read) => self.put_read_note(&path, read),
                // It is gone, or cannot be read; the next look at the vault says so.
                Err(_) => self.store_mut().drop_note(&path),
            }
        }
    }

    /// Reads what changed in the person's notes. Sizes and times are compared, as for memories' notes.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) where the vault cannot be listed.
    pub(super) fn look_at_own_notes(&self, now: Timestamp, problems: &mut Vec<String>) -> Result<()> {
        if !self.recalls_own_notes() {
            // What was read of them stays nowhere.
            return if self.shelf_path().exists() { files::remove(&self.shelf_path()) } else { Ok(()) };
        }
        let listing = self.vault.own_notes(&self.config.vault.index)?;
        let (changed, gone): (Vec<_>, Vec<Arc<str>>) = {
            let store = self.store();
            let known = &store.shelf.notes;
            let there: BTreeSet<&str> = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
            let gone = known.keys().filter(|path| !there.contains(&***path)).cloned().collect();
            let is_known = |path: &str| known.get(path);
            let changed = listing
                .entries
                .iter()
                .filter(|entry| is_known(&entry.path).is_none_or(|note| !note.seen.is_unchanged(entry)));
            (changed.collect(), gone)
        };
        let mut is_changed = !gone.is_empty();
        for path in gone {
            self.store_mut().drop_note(&path);
        }
        for entry in changed {
            if entry.size > MAX_NOTE_BYTES {
                problems.push(format!(
                    "{}: has {} bytes; notes of up to {MAX_NOTE_BYTES} are recalled",
                    entry.path, entry.size
                ));
                continue;
            }
            let read = match self.read_parts(&entry.path) {
                Ok(mut read) => {
                    read.note.seen = SeenNote::new(entry, read.note.seen.hash.clone(), None, now);
                    read.note.changed = Timestamp::from_millis(entry.modified_millis);
                    read
                }
                Err(error) => {
                    problems.push(error.to_string());
                    self.store_mut().drop_note(&entry.path);
                    continue;
                }
            };
            let known = self.store().shelf.notes.get(&*entry.path).cloned();
            if known.as_ref() == Some(&read.note) {
                continue;
            }
            is_changed = true;
            let has_same_words = known.is_some_and(|known| known.parts == read.note.parts);
            if has_same_words {
                self.store_mut().shelf.insert(&entry.path, read.note);
            } else {
                self.put_read_note(&entry.path, read);
            }
        }
        if is_changed { self.keep_shelf() } else { Ok(()) }
    }

    fn put_read_note(&self, path: &str, read: ReadParts) {
        let analysed: Vec<Analysed> = {
            let store = self.store();
            read.memories.iter().map(|part| store.analysed(part)).collect()
        };
        self.store_mut().put_note(path, read.note, &analysed);
    }

    /// Writes down what was read, for other processes and the next one.
    fn keep_shelf(&self) -> Result<()> {
        let text = {
            let store = self.store();
            let notes: BTreeMap<&str, &OwnNote> =
                store.shelf.notes.iter().map(|(path, note)| (&**path, note)).collect();
            serde_json::to_vec(&Kept { root: self.vault.root().to_owned(), notes })
        };
        let text = text.map_err(|error| crate::error::Error::Internal(error.to_string()))?;
        files::create_folder(&self.cache())?;
        files::write_atomic(&self.shelf_path(), &text)?;
        self.store_mut().shelf.stamp = stamp(&self.shelf_path());
        Ok(())
    }

    /// Has notes of the person's own read again whatever their sizes and times say.
    pub(super) fn distrust_own_notes(&self, change: &VaultChange) {
        if self.recalls_own_notes() {
            for (path, note) in &mut self.store_mut().shelf.notes {
                if change.is_everything || change.notes.contains(&**path) {
                    note.seen.distrust();
                }
            }
        }
    }

    /// Reads a note in parts; secrets are taken out before anything else is done with it.
    fn read_parts(&self, path: &str) -> Result<ReadParts> {
        let text = self.vault.read(path)?;
        let hash = content_hash(text.as_bytes());
        let (text, _) = redact(&text);
        let note = Note::parse(text.as_str());
        let known = self.store().shelf.notes.get(path).map(|known| (known.seen.clone(), known.changed));
        let (mut seen, changed) = known.unwrap_or_default();
        if seen.hash != hash {
            seen = SeenNote::unsettled(hash, None);
        }
        let (title, tags, aliases) = (note.title(stem(path)).to_owned(), note.all_tags(), note.aliases());
        let links: BTreeSet<String> = note.all_links().into_iter().map(|link| link.target).collect();
        let links = links.into_iter().filter(|target| !target.is_empty()).collect();
        let memories: Vec<Memory> = note
            .parts()
            .into_iter()
            .enumerate()
            .map(|(place, part)| Memory {
                text: part.text,
                title: Some(title.clone()),
                tags: tags.clone(),
                entities: aliases.clone(),
                keywords: part.headings,
                created: changed,
                ..Memory::new(part_id(path, place))
            })
            .collect();
        let parts = memories.iter().map(analysis_hash).collect();
        Ok(ReadParts { note: OwnNote { seen, changed, title, aliases, tags, links, parts }, memories })
    }

    /// Fills in what a hit of the person's notes says: read now, since the process keeps no texts of them. `None` where
    /// it is not there any more.
    pub(super) fn filled_in(&self, hit: Hit, part: Option<PartPlace>) -> Option<Hit> {
        let Some((path, place)) = part else { return Some(hit) };
        let memory = self.read_parts(&path).ok()?.memories.into_iter().nth(place)?;
        Some(Hit {
            id: address(&path, &memory.keywords),
            text: memory.text,
            title: memory.title,
            kind: NOTE.into(),
            tier: NOTE.into(),
            entities: Vec::new(),
            note: Some(path.to_string()),
            ..hit
        })
    }

    /// What an address in a hit stands for: its parts of a note of the person's own.
    pub(super) fn own_part(&self, address_of: &str) -> Option<Memory> {
        let path = self
            .store()
            .shelf
            .notes
            .keys()
            .find(|path| {
                address_of.strip_prefix(&***path).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
            })?
            .clone();
        let read = self.read_parts(&path).ok()?;
        let mut parts = read.memories.into_iter().filter(|memory| address(&path, &memory.keywords) == address_of);
        let first = parts.next()?;
        let text =
            std::iter::once(first.text.clone()).chain(parts.map(|part| part.text)).collect::<Vec<_>>().join("\n\n");
        Some(Memory { text, ..first })
    }
}

/// How a part is named: the path of its note and the heading above it, as in a link.
fn address(path: &str, headings: &[String]) -> String {
    headings.last().map_or_else(|| path.to_owned(), |heading| format!("{path}#{heading}"))
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

/// Documents of parts for the index, one after the other: a note is read once for all of its parts.
pub(super) struct PartDocuments<'a> {
    engine: &'a Engine,
    read: Option<(Arc<str>, ReadParts)>,
}

impl<'a> PartDocuments<'a> {
    /// Reads nothing yet.
    pub(super) fn of(engine: &'a Engine) -> Self {
        PartDocuments { engine, read: None }
    }

    /// The document of a part; none where its note says something else by now.
    pub(super) fn document(&mut self, id: MemoryId) -> Option<Document> {
        let (path, place) = self.engine.store().shelf.place(id)?;
        if self.read.as_ref().is_none_or(|(read, _)| *read != path) {
            self.read = Some((Arc::clone(&path), self.engine.read_parts(&path).ok()?));
        }
        let (_, read) = self.read.as_ref()?;
        let hash = *self.engine.store().shelf.notes.get(&path)?.parts.get(place)?;
        let memory = read.memories.get(place).filter(|_| read.note.parts.get(place) == Some(&hash))?;
        Some(Document { id: id.bits(), hash, terms: document_terms(memory) })
    }
}
