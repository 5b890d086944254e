//! Waiting: what was said of a memory while its note could not be reached goes into the note once it can.

use std::collections::HashMap;

use super::Engine;
use super::prepare::clean;
use super::reconcile::{as_remembered, may_be_text, odd_keys, same_names};
use super::tidy::TidyAnswer;
use super::upkeep::{NOTES_A_TURN, let_others_write};
use crate::clock::Timestamp;
use crate::config::Config;
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::id::MemoryId;
use crate::kinds::Kind;
use crate::memory::{By, Line, Memory, Op, State};
use crate::note::Note;
use crate::redact::Report;

/// What memories said when their notes were last seen.
pub(super) type AsSeen = HashMap<MemoryId, Memory>;

impl Engine {
    /// Writes what waits into the notes. Returns what is to be committed.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io), [`Error::Busy`](crate::error::Error::Busy): what was written before stays.
    pub(super) fn write_waiting(&self, now: Timestamp, answer: &mut TidyAnswer) -> Result<Vec<Change>> {
        let mut waiting: Vec<MemoryId> = {
            let store = self.store();
            let is_waiting =
                |memory: &&Memory| memory.note.as_ref().is_some_and(|note| note.is_there() && note.is_behind);
            store.state.memories().filter(is_waiting).map(|memory| memory.id).collect()
        };
        waiting.sort_unstable();
        let mut changes = Vec::new();
        for ids in waiting.chunks(NOTES_A_TURN) {
            self.write(now, |draft| {
                let mut lines = Vec::new();
                for id in ids {
                    let Some(memory) = draft.store().state.get(*id).cloned() else { continue };
                    let Some(note) = memory.note.as_ref().filter(|note| note.is_behind) else { continue };
                    let Ok(there) = self.vault.read(&note.path) else { continue };
                    let lacking = lacking(&self.config, &memory, &Note::parse(&there), &note.path);
                    // A person who edits at this moment goes first; the next tidy follows.
                    let Ok((said, change)) = self.revise_note(&memory, lacking) else { continue };
                    let is_written = change.is_some();
                    lines.push(Line {
                        hash: if is_written { said.hash } else { Some(note.hash.clone()) },
                        wrote: if is_written { said.wrote } else { note.wrote },
                        by: Some(By::Ebbmark),
                        ..Line::about(Op::Note, *id)
                    });
                    if let Some(Change { path, .. }) = change {
                        answer.refreshed.push(path.clone());
                        changes.push(Change { path, kind: ChangeKind::Write });
                    }
                }
                Ok((lines, ()))
            })?;
            let_others_write();
        }
        Ok(changes)
    }

    /// What the memories said when their notes were last seen, of those that were told something since. A person's
    /// edit is compared with this: what they did not touch is no edit.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) where a journal cannot be read.
    pub(super) fn as_seen(&self, ids: &[MemoryId], now: Timestamp) -> Result<AsSeen> {
        let behind: Vec<MemoryId> = {
            let store = self.store();
            let is_behind = |id: &&MemoryId| {
                let note = store.state.get(**id).and_then(|memory| memory.note.as_ref());
                note.is_some_and(|note| note.is_behind)
            };
            ids.iter().filter(is_behind).copied().collect()
        };
        if behind.is_empty() {
            return Ok(AsSeen::new());
        }
        let told = self.journal.lines_about(&behind, now)?;
        let then = told.into_values().filter_map(|lines| {
            let id = lines.first()?.line.id?;
            let saw = |line: &Line| matches!(line.op, Op::Promote | Op::Note) && line.hash.is_some();
            let key = |told: &crate::journal::Told| (told.line.order(), told.number);
            let last = lines.iter().filter(|told| saw(&told.line)).map(key).max()?;
            let mut state = State::default();
            for told in lines.into_iter().filter(|told| key(told) <= last) {
                state.apply(told.line, &told.replica, told.number, told.crc);
            }
            Some((id, state.get(id)?.clone()))
        });
        Ok(then.collect())
    }
}

/// What of a person's edit does not touch `memory` as it is by now, said once more behind the edit, so that it goes on
/// waiting. `then` is what the memory said when the note was last seen.
pub(super) fn still_waiting(memory: &Memory, then: &Memory, edit: &Line) -> Option<Line> {
    let mut line = Line::about(Op::Revise, memory.id);
    let is_text_kept = edit.text.as_ref() == Some(&then.text);
    line.text = (is_text_kept && memory.text != then.text).then(|| memory.text.clone());
    line.title = memory.title.clone().filter(|_| edit.title.is_none() && memory.title != then.title);
    line.kind = (edit.kind.is_none() && memory.kind != then.kind).then_some(memory.kind);
    line.strength = memory.strength.filter(|_| edit.strength.is_none() && memory.strength != then.strength);
    line.pinned = (edit.pinned.is_none() && memory.is_pinned != then.is_pinned).then_some(memory.is_pinned);
    for (name, now, then, said, field) in [
        ("tags", &memory.tags, &then.tags, &edit.tags, &mut line.tags),
        ("entities", &memory.entities, &then.entities, &edit.entities, &mut line.entities),
    ] {
        if now == then || said.is_some() || edit.clear.iter().any(|cleared| cleared == name) {
            continue;
        }
        if now.is_empty() {
            line.clear.push(name.into());
        } else {
            *field = Some(now.clone());
        }
    }
    (!super::history::changed_fields(&line).is_empty()).then_some(line)
}

/// What of a memory its note does not show yet. What it says in other words, or a value that makes no sense there, is the
/// person's, and so is a text that no memory can have.
fn lacking(config: &Config, memory: &Memory, note: &Note, path: &str) -> Line {
    let is_odd = odd_keys(note);
    let mut line = Line::about(Op::Revise, memory.id);
    let text = clean(&note.text(), &mut Report::default());
    line.text = (may_be_text(&text) && text != memory.text).then(|| memory.text.clone());
    line.title = memory.title.clone().filter(|title| title != note.title(super::commit::stem(path)));
    let says_kind = note.kind().is_some_and(|kind| kind.parse::<Kind>().is_ok_and(|kind| kind == memory.kind));
    // What it has become by itself is no word of anybody: tidy writes it with the numbers.
    let is_told = memory.current_kind(config) == memory.kind;
    line.kind = (is_told && !says_kind && !is_odd.contains(&"kind")).then_some(memory.kind);
    line.strength = memory.strength.filter(|_| !is_odd.contains(&"strength"));
    line.pinned = (!is_odd.contains(&"pinned")).then_some(memory.is_pinned);
    for (name, there, words, field) in [
        ("tags", note.tags(), &memory.tags, &mut line.tags),
        ("entities", as_remembered(note.entities(), memory), &memory.entities, &mut line.entities),
    ] {
        if same_names(&there, words) || is_odd.contains(&name) {
            continue;
        }
        if words.is_empty() {
            line.clear.push(name.into());
        } else {
            *field = Some(words.clone());
        }
    }
    line
}
