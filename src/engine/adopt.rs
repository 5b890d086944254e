//! Adopt: a note that a person wrote among the memories becomes one.

use std::collections::HashSet;

use super::commit::stem;
use super::keys::{key_of, same_key};
use super::prepare::{MAX_TEXT_BYTES, clean, clean_list, clean_title, time};
use super::promote::number;
use super::reconcile::{Reconciled, conflict_marker, odd_keys, status_of};
use super::remember::round;
use super::upkeep::let_others_write;
use super::{Draft, Engine};
use crate::clock::{DayPart, Timestamp};
use crate::error::{Error, Result};
use crate::git::{Change, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};
use crate::kinds::{self, Kind};
use crate::memory::{GLOBAL_SCOPE, Line, Op, Source, Who};
use crate::note::{Note, Value, frontmatter, name};
use crate::redact::Report;
use crate::vault::Entry;

/// Age from which a note counts as written, and not as being written, milliseconds.
const WRITTEN_AFTER_MS: i64 = 10_000;
/// Notes that are adopted under one hold of the home's lock.
const A_TURN: usize = 16;

/// A note that may become a memory.
struct Stranger {
    path: String,
    hash: String,
    /// The id that it has, which no journal knows.
    id: Option<MemoryId>,
}

/// Why a note does not become a memory.
enum Refusal {
    /// Nothing to say: it is empty, or changed since.
    Quiet,
    /// What a person should know.
    Said(String),
}

impl Engine {
    /// Makes memories of notes that name none, and of notes whose memory no journal knows: a note alone brings its
    /// memory to a new machine.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Busy`]: what was adopted before stays so.
    pub(super) fn adopt_new(&self, entries: &[Entry], now: Timestamp, reconciled: &mut Reconciled) -> Result<()> {
        let mut strangers = self.strangers(entries, now);
        while !strangers.is_empty() {
            let rest = strangers.split_off(strangers.len().min(A_TURN));
            self.write(now, |draft| {
                let mut lines = Vec::new();
                for (place, stranger) in strangers.iter().enumerate() {
                    match self.adopt(draft, place, stranger, now, &mut lines)? {
                        Ok(id) => {
                            reconciled.changes.push(Change { path: stranger.path.clone(), kind: ChangeKind::Write });
                            reconciled.adopted.push((id, stranger.path.clone()));
                        }
                        Err(refusal) => {
                            self.seen().refuse(&stranger.path, &stranger.hash);
                            if let Refusal::Said(why) = refusal {
                                reconciled.problems.push(format!("{}: {why}", stranger.path));
                            }
                        }
                    }
                }
                Ok((lines, ()))
            })?;
            strangers = rest;
            if !strangers.is_empty() {
                let_others_write();
            }
        }
        Ok(())
    }

    /// Notes that were read and name no memory that any journal knows.
    fn strangers(&self, entries: &[Entry], now: Timestamp) -> Vec<Stranger> {
        if self.foreign_notes() > 0 {
            return Vec::new();
        }
        let mut strangers: Vec<(Stranger, i64)> = {
            let seen = self.seen();
            let unnamed = entries.iter().filter_map(|entry| {
                let note = seen.notes.get(&entry.path).filter(|note| !seen.is_refused(&entry.path, &note.hash))?;
                let stranger = Stranger { path: entry.path.clone(), hash: note.hash.clone(), id: note.id };
                Some((stranger, entry.modified_millis.saturating_add(WRITTEN_AFTER_MS)))
            });
            unnamed.collect()
        };
        {
            let store = self.store();
            let notes =
                || store.state.memories().filter_map(|memory| memory.note.as_ref().filter(|note| note.is_there()));
            // Mostly every note has its id, and nobody asks for paths.
            let lacks_id = strangers.iter().any(|(stranger, _)| stranger.id.is_none());
            let known: HashSet<&str> =
                if lacks_id { notes().map(|note| note.path.as_str()).collect() } else { HashSet::new() };
            // A note of ours that lost its id is told of elsewhere.
            strangers.retain(|(stranger, _)| match stranger.id {
                Some(id) => store.state.newest_order(id).is_none(),
                None => !known.contains(stranger.path.as_str()),
            });
        }
        let being_written = strangers.iter().map(|(_, at)| *at).filter(|at| *at > now.millis()).min();
        self.await_written(being_written.map(Timestamp::from_millis));
        strangers.into_iter().filter(|(_, at)| *at <= now.millis()).map(|(stranger, _)| stranger).collect()
    }

    /// Makes a memory of a note: the note gets what it lacks in its frontmatter, the journal the lines that tell it.
    fn adopt(
        &self,
        draft: &Draft<'_>,
        place: usize,
        stranger: &Stranger,
        now: Timestamp,
        lines: &mut Vec<Line>,
    ) -> Result<std::result::Result<MemoryId, Refusal>> {
        let Ok(original) = self.vault.read(&stranger.path) else { return Ok(Err(Refusal::Quiet)) };
        let mut note = Note::parse(&original);
        if content_hash(original.as_bytes()) != stranger.hash || conflict_marker(&original).is_some() {
            return Ok(Err(Refusal::Quiet));
        }
        if let Some(problem) = note.problems.first() {
            return Ok(Err(Refusal::Said(format!("{problem}; it becomes a memory once that is repaired"))));
        }
        let mut report = Report::default();
        let text = clean(&note.text(), &mut report);
        if text.is_empty() {
            return Ok(Err(Refusal::Quiet));
        }
        if text.len() > MAX_TEXT_BYTES {
            let why = format!("has {} bytes of text; up to 65536 become a memory", text.len());
            return Ok(Err(Refusal::Said(why)));
        }
        let key = key_of(&text, GLOBAL_SCOPE, None, None);
        let same = self.store_mut().same_as(key);
        let store = draft.store();
        let same = same.into_iter().filter_map(|id| store.state.get(id)).find(|memory| same_key(memory) == key);
        if let Some(other) = same.and_then(|memory| memory.note.as_ref()).filter(|note| note.is_there()) {
            return Ok(Err(Refusal::Said(format!("says the same as {}; keep one of them", other.path))));
        }
        let same = same.map(|memory| memory.id);
        let mut line = self.line_of(&note, &text, stem(&stranger.path), &mut report);
        let id = match (stranger.id, same) {
            (Some(id), _) | (None, Some(id)) => id,
            (None, None) => draft.new_id(&store.state, place)?,
        };
        drop(store);
        line.id = Some(id);
        let mut hash = stranger.hash.clone();
        if stranger.id.is_none() {
            let text = match self.with_our_keys(&original, &note, id, line.kind.unwrap_or_default(), now) {
                Ok(text) => text,
                Err(error) => return Ok(Err(Refusal::Said(error.to_string()))),
            };
            match self.vault.edit(&stranger.path, &stranger.hash, &text) {
                Ok(()) => {}
                // It is being written after all.
                Err(Error::Changed { .. }) => return Ok(Err(Refusal::Quiet)),
                Err(error) => return Ok(Err(Refusal::Said(error.to_string()))),
            }
            hash = content_hash(text.as_bytes());
            note = Note::parse(&text);
        }
        let kind = line.kind.unwrap_or_default();
        let profile = self.config.kind_profile(kind);
        let wrote = crate::memory::Wrote {
            kind: note.kind().and_then(|kind| kind.parse().ok()).unwrap_or(kind),
            strength: round(line.strength.unwrap_or(profile.strength)),
            pinned: line.pinned.unwrap_or(false),
            status: status_of(&note).unwrap_or_default(),
        };
        self.saw_written(&stranger.path, &hash, id);
        lines.extend([
            line,
            Line {
                path: Some(stranger.path.clone()),
                hash: Some(hash),
                wrote: Some(wrote),
                ..Line::about(Op::Promote, id)
            },
        ]);
        Ok(Ok(id))
    }

    /// The line that tells what a note says.
    fn line_of(&self, note: &Note, text: &str, stem: &str, report: &mut Report) -> Line {
        let odd = odd_keys(note);
        let is_odd = |key: &str| odd.contains(&key);
        let kind = note.kind().and_then(|kind| kind.parse::<Kind>().ok()).unwrap_or_else(|| kinds::guess(text).kind);
        let title = clean_title(note.title(stem), report).ok().flatten();
        let day = |day: Option<String>, part| time("created", day.as_deref(), part, &self.time_zone).ok().flatten();
        let list =
            |what: &str, words: Vec<String>, report: &mut Report| clean_list(what, &words, report).ok().flatten();
        let profile = self.config.kind_profile(kind);
        let last_used = day(note.last_used(), DayPart::Noon).filter(|_| note.uses().is_some_and(|uses| uses > 0));
        Line {
            text: Some(text.to_owned()),
            title: title.filter(|title| *title != name::title_from(text)),
            kind: Some(kind),
            tags: list("tags", note.tags(), report).filter(|_| !is_odd("tags")),
            entities: list("entities", note.entities(), report),
            strength: note
                .strength()
                .filter(|strength| !is_odd("strength") && (strength - profile.strength).abs() > 1e-9),
            pinned: note.pinned().filter(|pinned| *pinned),
            created: day(note.created(), DayPart::Noon),
            hours: last_used.map(Timestamp::hour).into_iter().collect(),
            older: note.uses().and_then(|uses| u32::try_from(uses).ok()).unwrap_or(0).saturating_sub(1),
            source: Some(Source { who: Some(Who::Note), ..Source::default() }),
            ..Line::new(Op::Remember)
        }
    }

    /// The note with those of our keys that it lacks.
    fn with_our_keys(&self, text: &str, note: &Note, id: MemoryId, kind: Kind, now: Timestamp) -> Result<String> {
        let profile = self.config.kind_profile(kind);
        let today = self.date(now);
        let keys = [
            ("id", Value::from(id.to_string())),
            ("kind", Value::from(kind.as_str())),
            ("status", Value::from("active")),
            ("created", Value::from(today.as_str())),
            ("last_used", Value::from(today.as_str())),
            ("uses", Value::from(0)),
            ("strength", number(round(profile.strength))),
            ("half_life_days", number(profile.half_life_days)),
            ("pinned", Value::from(false)),
        ];
        let lacks = |key: &str| note.value(key).is_none_or(Value::is_null);
        keys.iter()
            .filter(|(key, _)| lacks(key))
            .try_fold(text.to_owned(), |text, (key, value)| frontmatter::set(&text, key, value))
    }
}
