//! Reconcile: what a person changed in the vault is read back into the journal.
//!
//! Notes are followed by the `id` in their frontmatter. Only what differs from what was last seen is a change; a
//! note that is missing is never a forget.

use std::collections::{HashMap, HashSet};

use super::Engine;
use super::prepare::{clean, clean_list, clean_title};
use super::promote::stem;
use super::remember::round;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};
use crate::kinds::Kind;
use crate::memory::{By, Line, Memory, NoteRef, Op, State, Wrote};
use crate::note::{Note, name};
use crate::redact::Report;
use crate::vault::Entry;

/// Size, time and hash of every note when this process last read it.
pub(super) type SeenNotes = HashMap<String, SeenNote>;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeenNote {
    size: u64,
    modified_millis: i64,
    hash: String,
}

/// A note that changed since this process last read it.
struct Found {
    path: String,
    hash: String,
    note: Note,
    id: Option<MemoryId>,
}

/// What reading the vault back brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reconciled {
    /// Memories that a person edited, with their notes.
    pub(super) edited: Vec<(MemoryId, String)>,
    /// Promotions that a crash had left without their line.
    pub(super) finished: Vec<(MemoryId, String)>,
    /// What a person should know: `path: why`.
    pub(super) problems: Vec<String>,
    /// What changed in the vault by our own hand.
    pub(super) changes: Vec<Change>,
}

impl Engine {
    /// Reads the vault back. Cheap where nothing changed: sizes and times are compared.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) where the vault cannot be listed or the journal cannot be written.
    pub(super) fn reconcile(&self, now: Timestamp) -> Result<Reconciled> {
        let mut reconciled = Reconciled::default();
        if !self.vault.exists() {
            return Ok(reconciled);
        }
        self.refresh_at(now)?;
        let entries = self.vault.list()?.entries;
        let there: HashSet<String> = entries.iter().map(|entry| entry.path.clone()).collect();
        let found = self.read_changed(&entries, &mut reconciled);
        if found.is_empty() {
            return Ok(reconciled);
        }
        let needs_writing = {
            let store = self.store();
            let mut report = Report::default();
            found.iter().any(|found| !self.lines_for(&store.state, found, &there, &mut report).is_empty())
        };
        if needs_writing {
            self.write(now, |draft| {
                let (store, mut report) = (draft.store(), Report::default());
                let mut lines = Vec::new();
                for found in &found {
                    let own = self.lines_for(&store.state, found, &there, &mut report);
                    let (Some(id), Some(first)) = (found.id, own.first()) else { continue };
                    let list = if first.op == Op::Promote { &mut reconciled.finished } else { &mut reconciled.edited };
                    list.push((id, found.path.clone()));
                    reconciled.changes.push(Change { path: found.path.clone(), kind: ChangeKind::Write });
                    lines.extend(own);
                }
                if report.count > 0 {
                    reconciled.problems.push(format!(
                        "secrets in edited notes were left out of the journal: {}",
                        report.rules.join(", ")
                    ));
                }
                Ok((lines, ()))
            })?;
        }
        self.finish_forgetting(&found, &mut reconciled);
        Ok(reconciled)
    }

    /// Reads the notes whose size or time changed.
    fn read_changed(&self, entries: &[Entry], reconciled: &mut Reconciled) -> Vec<Found> {
        let mut seen = self.seen_notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut found = Vec::new();
        for entry in entries {
            let is_known = seen
                .get(&entry.path)
                .is_some_and(|known| known.size == entry.size && known.modified_millis == entry.modified_millis);
            if is_known {
                continue;
            }
            let text = match self.vault.read(&entry.path) {
                Ok(text) => text,
                Err(error) => {
                    reconciled.problems.push(error.to_string());
                    continue;
                }
            };
            let hash = content_hash(text.as_bytes());
            let note = Note::parse(&text);
            let changed = SeenNote { size: entry.size, modified_millis: entry.modified_millis, hash: hash.clone() };
            let is_new_text = seen.get(&entry.path).is_none_or(|known| known.hash != hash);
            seen.insert(entry.path.clone(), changed);
            if is_new_text {
                let id = note.id();
                found.push(Found { path: entry.path.clone(), hash, note, id });
            }
        }
        found
    }

    /// The lines that a found note calls for; none where it is as it was last seen.
    fn lines_for(&self, state: &State, found: &Found, there: &HashSet<String>, report: &mut Report) -> Vec<Line> {
        let Some(memory) = found.id.and_then(|id| state.get(id)) else { return Vec::new() };
        let Some(known) = &memory.note else {
            let promoted = Line {
                path: Some(found.path.clone()),
                hash: Some(found.hash.clone()),
                wrote: Some(self.wrote_in(&found.note, memory)),
                ..Line::about(Op::Promote, memory.id)
            };
            let edit = self.edit_line(memory, None, found, report);
            let is_edited = edit.text.as_ref() != Some(&memory.text);
            return if is_edited { vec![promoted, edit] } else { vec![promoted] };
        };
        let is_moved = known.path != found.path;
        if is_moved && there.contains(&known.path) {
            // Two notes with one id: the known one counts.
            return Vec::new();
        }
        if !is_moved && known.hash == found.hash && !known.is_gone {
            return Vec::new();
        }
        vec![self.edit_line(memory, Some(known), found, report)]
    }

    /// What a person's edit says. The text is always told whole, so that the edit alone keeps the memory alive.
    fn edit_line(&self, memory: &Memory, known: Option<&NoteRef>, found: &Found, report: &mut Report) -> Line {
        let note = &found.note;
        let wrote = known.and_then(|known| known.wrote).unwrap_or_else(|| self.wrote(memory));
        let now_there = self.wrote_in(note, memory);
        let text = clean(&note.text(), report);
        let mut line = Line {
            text: Some(if text.is_empty() { memory.text.clone() } else { text }),
            path: Some(found.path.clone()),
            hash: Some(found.hash.clone()),
            by: Some(By::Person),
            wrote: Some(now_there),
            ..Line::about(Op::Note, memory.id)
        };
        if !note.problems.is_empty() {
            // Frontmatter that does not parse says nothing.
            return line;
        }
        line.kind = (now_there.kind != wrote.kind).then_some(now_there.kind);
        line.strength = ((now_there.strength - wrote.strength).abs() > 1e-9).then_some(now_there.strength);
        line.pinned = (now_there.pinned != wrote.pinned).then_some(now_there.pinned);
        let title = match note.title_key() {
            Some(title) => Some(title.to_owned()),
            None => known
                .is_some_and(|known| stem(&known.path) != stem(&found.path))
                .then(|| name::without_mark(stem(&found.path), memory.id).to_owned()),
        };
        if let Some(title) = title
            && let Ok(Some(title)) = clean_title(&title, report)
            && title != memory.title.clone().unwrap_or_else(|| name::title_from(&memory.text))
        {
            line.title = Some(title);
        }
        for (name, there, known, field) in [
            ("tags", note.tags(), &memory.tags, &mut line.tags),
            ("entities", note.entities(), &memory.entities, &mut line.entities),
        ] {
            let Ok(there) = clean_list(name, &there, report) else { continue };
            let there = there.unwrap_or_default();
            if same_names(&there, known) {
                continue;
            }
            if there.is_empty() {
                line.clear.push(name.into());
            } else {
                *field = Some(there);
            }
        }
        line
    }

    /// The numbers that stand in a note now; where one is missing or no number, what the memory has.
    fn wrote_in(&self, note: &Note, memory: &Memory) -> Wrote {
        let own = self.wrote(memory);
        Wrote {
            kind: note.kind().and_then(|kind| kind.parse::<Kind>().ok()).unwrap_or(own.kind),
            strength: note.strength().filter(|s| (0.0..=2.0).contains(s)).map_or(own.strength, round),
            pinned: note.pinned().unwrap_or(own.pinned),
        }
    }

    /// A crash may have come between a forget and the move of its note to the trash.
    fn finish_forgetting(&self, found: &[Found], reconciled: &mut Reconciled) {
        let store = self.store();
        for found in found {
            let Some(id) = found.id else { continue };
            let Some(memory) = store.state.forgotten(id) else { continue };
            let is_ours = memory.note.as_ref().is_some_and(|note| note.path == found.path && note.hash == found.hash);
            let was_moved = self.vault.find_in_trash(id).is_ok_and(|trashed| trashed.is_some());
            if !is_ours || was_moved {
                reconciled.problems.push(format!(
                    "{}: its memory {id} was forgotten; `ebbmark restore {id}` brings it back",
                    found.path
                ));
                continue;
            }
            match self.vault.trash(&found.path) {
                Ok(_) => reconciled.changes.push(Change { path: found.path.clone(), kind: ChangeKind::Remove }),
                Err(error) => reconciled.problems.push(error.to_string()),
            }
        }
    }
}

/// The same names, whatever their order and case.
fn same_names(a: &[String], b: &[String]) -> bool {
    let keys = |names: &[String]| {
        let mut keys: Vec<String> = names.iter().map(|text| name::key(text)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    keys(a) == keys(b)
}
