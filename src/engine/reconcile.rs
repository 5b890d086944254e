//! Reconcile: what a person changed in the vault is read back into the journal.
//!
//! Notes are followed by the `id` in their frontmatter. Only what differs from what was last seen is a change; a
//! note that is missing is never a forget.

use std::collections::{HashMap, HashSet};

use super::commit::{stem, subject};
use super::prepare::{MAX_TEXT_BYTES, clean, clean_list, clean_title};
use super::relate::unsuperseding;
use super::remember::round;
use super::seen::SeenNote;
use super::waiting::{AsSeen, still_waiting};
use super::{Engine, ForgetRequest};
use crate::clock::{DAY_MS, Timestamp};
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};
use crate::kinds::Kind;
use crate::memory::{By, Line, Memory, NoteRef, Op, State, Status, Wrote};
use crate::note::{Note, Value, entity_as_written, frontmatter, name};
use crate::redact::Report;
use crate::vault::Entry;

/// A note that changed since this process last read it.
pub(super) struct Found {
    pub(super) path: String,
    /// What is remembered of it once it was read back.
    seen: SeenNote,
    pub(super) hash: String,
    pub(super) note: Note,
    pub(super) id: Option<MemoryId>,
}

/// The notes that are there.
struct There {
    paths: HashSet<String>,
    /// The memory that each names, once notes were read.
    ids: Option<HashMap<String, Option<MemoryId>>>,
}

impl There {
    /// Whether the note at a path still is the one of a memory: another may have taken its name. One that cannot be
    /// read is believed to be.
    fn has(&self, path: &str, id: MemoryId) -> bool {
        let named = self.ids.as_ref().and_then(|ids| ids.get(path));
        self.paths.contains(path) && named.is_none_or(|named| *named == Some(id))
    }

    /// Whether any note names a memory.
    fn is_anywhere(&self, id: MemoryId) -> bool {
        let mut ids = self.ids.iter().flatten();
        ids.any(|(path, named)| *named == Some(id) && self.paths.contains(path))
    }
}

/// What reading the vault back brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reconciled {
    /// Memories that a person edited, with their notes.
    pub(super) edited: Vec<(MemoryId, String)>,
    /// Promotions that a crash had left without their line.
    pub(super) finished: Vec<(MemoryId, String)>,
    /// Notes that a person wrote, and the memories that they are now.
    pub(super) adopted: Vec<(MemoryId, String)>,
    /// Memories whose notes were deleted, and where these were.
    pub(super) vanished: Vec<(MemoryId, String)>,
    /// Memories whose notes were moved out of the folder of memories, and where these lie.
    pub(super) put_away: Vec<(MemoryId, String)>,
    /// Memories whose notes a person marked as forgotten.
    to_forget: Vec<MemoryId>,
    /// What a person should know: `path: why`.
    pub(super) problems: Vec<String>,
    /// What changed in the vault by our own hand.
    pub(super) changes: Vec<Change>,
}

impl Engine {
    /// Reads the vault back. Cheap where nothing changed: sizes and times are compared. `any_number` of missing notes
    /// counts as deleted where a person said so.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) where the vault cannot be listed or the journal cannot be written.
    pub(super) fn reconcile(&self, now: Timestamp, any_number: bool) -> Result<Reconciled> {
        let mut reconciled = Reconciled::default();
        // Also where there is no vault: that one is missing is told by the memories that have notes in it.
        self.refresh_at(now)?;
        if !self.vault.exists() {
            return Ok(reconciled);
        }
        let listing = self.vault.list()?;
        let mut there = There { paths: listing.entries.iter().map(|entry| entry.path.clone()).collect(), ids: None };
        let (mut found, are_all_read) = self.read_changed(&listing.entries, &mut there, now, &mut reconciled);
        self.notice_problems(&found, &there, &mut reconciled);
        if !found.is_empty() {
            self.take_over(&mut found, &there, now, &mut reconciled)?;
            self.finish_forgetting(&found, &mut reconciled);
            // Only now: had the journal refused the edits, they would be looked at again.
            let mut seen = self.seen();
            for found in found {
                seen.insert(found.path, found.seen);
            }
        }
        self.adopt_new(&listing.entries, now, &mut reconciled)?;
        if are_all_read {
            self.hide_vanished(&listing, now, any_number, &mut reconciled)?;
        }
        // What is not there and not expected needs no keeping.
        let expected: HashSet<String> = {
            let store = self.store();
            let notes = store.state.memories().filter_map(|memory| memory.note.as_ref());
            notes.filter(|note| !there.paths.contains(&note.path)).map(|note| note.path.clone()).collect()
        };
        self.seen().retain(|path| there.paths.contains(path) || expected.contains(path));
        drop(self.keep_seen());
        self.look_at_own_notes(now, &mut reconciled.problems)?;
        Ok(reconciled)
    }

    /// Writes what the found notes say into the journal.
    fn take_over(
        &self,
        found: &mut Vec<Found>,
        there: &There,
        now: Timestamp,
        reconciled: &mut Reconciled,
    ) -> Result<()> {
        let ids: Vec<MemoryId> = found.iter().filter_map(|found| found.id).collect();
        let as_seen = self.as_seen(&ids, now)?;
        let needs_writing = {
            let store = self.store();
            let mut report = Report::default();
            found.iter().any(|found| !self.lines_for(&store.state, found, there, &as_seen, &mut report).is_empty())
        };
        if !needs_writing {
            return Ok(());
        }
        // Of two notes with one id the one whose name is known comes first, and the others say nothing.
        found.sort_by(|a, b| a.path.cmp(&b.path));
        self.write(now, |draft| {
            // Another process may have written a note since it was read here; only its newest words are a person's.
            // The others are looked at the next time.
            found.retain(|found| self.is_as_found(found));
            let (store, mut report) = (draft.store(), Report::default());
            let (mut lines, mut handled) = (Vec::new(), HashSet::new());
            for found in found.iter() {
                let own = self.lines_for(&store.state, found, there, &as_seen, &mut report);
                let (Some(id), Some(first)) = (found.id, own.first()) else { continue };
                if !handled.insert(id) {
                    continue;
                }
                let list = if first.op == Op::Promote { &mut reconciled.finished } else { &mut reconciled.edited };
                list.push((id, found.path.clone()));
                if store.state.get(id).is_none() {
                    reconciled.problems.push(format!(
                        "{}: its memory {id} had been forgotten, and its note was edited since: it is remembered again",
                        found.path
                    ));
                }
                // A note that was moved or renamed leaves its old place in git too.
                let known = store.state.get(id).and_then(|memory| memory.note.as_ref());
                if let Some(known) = known.filter(|known| !there.paths.contains(&known.path)) {
                    reconciled.changes.push(Change { path: known.path.clone(), kind: ChangeKind::Remove });
                }
                reconciled.changes.push(Change { path: found.path.clone(), kind: ChangeKind::Write });
                if known.and_then(|known| new_status(known, found)) == Some(Status::Forgotten) {
                    reconciled.to_forget.push(id);
                }
                lines.extend(own);
            }
            if report.count > 0 {
                reconciled
                    .problems
                    .push(format!("secrets in edited notes were left out of the journal: {}", report.rules.join(", ")));
            }
            Ok((lines, ()))
        })
    }

    /// Whether a note still is what was read of it.
    fn is_as_found(&self, found: &Found) -> bool {
        self.vault.read(&found.path).is_ok_and(|text| content_hash(text.as_bytes()) == found.hash)
    }

    /// Reads the notes whose size or time changed. And whether all could be read.
    fn read_changed(
        &self,
        entries: &[Entry],
        there: &mut There,
        now: Timestamp,
        reconciled: &mut Reconciled,
    ) -> (Vec<Found>, bool) {
        let mut changed: Vec<&Entry> = Vec::new();
        {
            let (store, seen) = (self.store(), self.seen());
            changed.extend(entries.iter().filter(|entry| {
                let known = seen.notes.get(&entry.path);
                !known.is_some_and(|known| {
                    let has = |path: &str, id| {
                        there.paths.contains(path) && seen.notes.get(path).is_none_or(|note| note.id == Some(id))
                    };
                    known.is_unchanged(entry) && is_told(&store.state, &entry.path, known, has, now)
                })
            }));
        }
        let (mut read, mut are_all_read) = (Vec::new(), true);
        // No lock is held while files are read.
        for entry in changed {
            let text = match self.vault.read(&entry.path) {
                Ok(text) => text,
                Err(error) => {
                    are_all_read = false;
                    reconciled.problems.push(error.to_string());
                    continue;
                }
            };
            if conflict_marker(&text).is_some() {
                are_all_read = false;
                reconciled
                    .problems
                    .push(format!("{}: git left a conflict in it; it is read once that is resolved", entry.path));
                continue;
            }
            let hash = content_hash(text.as_bytes());
            let note = Note::parse(&text);
            let id = note.id();
            let seen = SeenNote::new(entry, hash.clone(), id, now);
            read.push(Found { path: entry.path.clone(), seen, hash, note, id });
        }
        let store = self.store();
        let mut seen = self.seen();
        let mut found = Vec::new();
        if !read.is_empty() {
            let seen = seen.notes.iter().map(|(path, note)| (path.clone(), note.id));
            there.ids = Some(seen.chain(read.iter().map(|new| (new.path.clone(), new.id))).collect());
        }
        for new in read {
            let is_same = seen.notes.get(&new.path).is_some_and(|known| known.hash == new.hash)
                && is_told(&store.state, &new.path, &new.seen, |path, id| there.has(path, id), now);
            if is_same {
                seen.insert(new.path, new.seen);
            } else {
                found.push(new);
            }
        }
        (found, are_all_read)
    }

    /// What a person should know of the notes that changed.
    fn notice_problems(&self, found: &[Found], there: &There, reconciled: &mut Reconciled) {
        let store = self.store();
        for found in found {
            if found.id.is_none()
                && let Some(memory) = store.state.memories().find(|memory| is_note_of(memory, &found.path))
                && !there.is_anywhere(memory.id)
            {
                reconciled.problems.push(format!(
                    "{}: its frontmatter has no `id` any more; it is not read as a memory until `id: {}` is back",
                    found.path, memory.id
                ));
            }
            if found.id.is_some() {
                let problems = found.note.problems.iter().map(ToString::to_string).chain(odd_values(&found.note));
                reconciled.problems.extend(problems.map(|problem| format!("{}: {problem}", found.path)));
            }
        }
    }

    /// The lines that a found note calls for; none where it is as it was last seen.
    fn lines_for(
        &self,
        state: &State,
        found: &Found,
        there: &There,
        as_seen: &AsSeen,
        report: &mut Report,
    ) -> Vec<Line> {
        let Some(id) = found.id else { return Vec::new() };
        let Some(memory) = state.get(id) else {
            return self.revival(state, id, found, report).into_iter().collect();
        };
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
        if is_moved && there.has(&known.path, memory.id) {
            // Two notes with one id: the known one counts, see `vault_findings`.
            return Vec::new();
        }
        if !is_moved && known.hash == found.hash && known.is_there() {
            return Vec::new();
        }
        let mut lines = if known.is_behind {
            // Said since the note was last seen: the next look knows what was there then.
            let Some(then) = as_seen.get(&memory.id) else { return Vec::new() };
            let edit = self.edit_line(then, Some(known), found, report);
            let waiting = still_waiting(memory, then, &edit);
            std::iter::once(edit).chain(waiting).collect()
        } else {
            vec![self.edit_line(memory, Some(known), found, report)]
        };
        if new_status(known, found) == Some(Status::Active) {
            let lines_back = unsuperseding(state, memory.id).into_iter();
            lines.extend(lines_back.map(|line| Line { by: Some(By::Person), ..line }));
        }
        lines
    }

    /// A note of a forgotten memory that says something else than the memory did was edited by a person, who wants it.
    /// One that says the same is a stale copy.
    fn revival(&self, state: &State, id: MemoryId, found: &Found, report: &mut Report) -> Option<Line> {
        let memory = state.forgotten(id)?;
        let known = memory.note.as_ref().filter(|known| known.hash != found.hash)?;
        let text = clean(&found.note.text(), &mut Report::default());
        let is_edited = !text.is_empty() && text != memory.text && found.note.problems.is_empty();
        is_edited.then(|| self.edit_line(memory, Some(known), found, report))
    }

    /// What a person's edit says. The text is always told whole, so that the edit alone keeps the memory alive.
    fn edit_line(&self, memory: &Memory, known: Option<&NoteRef>, found: &Found, report: &mut Report) -> Line {
        let note = &found.note;
        let wrote = known.and_then(|known| known.wrote).unwrap_or_else(|| self.wrote(memory));
        let now_there = self.wrote_in(note, memory);
        let text = clean(&note.text(), report);
        let mut line = Line {
            // An empty note is one in the middle of a save; one that is too long would not fit the journal.
            text: Some(if may_be_text(&text) { text } else { memory.text.clone() }),
            path: Some(found.path.clone()),
            hash: Some(found.hash.clone()),
            by: Some(By::Person),
            wrote: Some(now_there),
            ..Line::about(Op::Note, memory.id)
        };
        if !note.problems.is_empty() {
            // Frontmatter that does not parse says nothing.
            line.wrote = Some(wrote);
            return line;
        }
        line.kind = (now_there.kind != wrote.kind).then_some(now_there.kind);
        line.strength = ((now_there.strength - wrote.strength).abs() > 1e-9).then_some(now_there.strength);
        line.pinned = (now_there.pinned != wrote.pinned).then_some(now_there.pinned);
        let now = self.clock.now();
        match known.and_then(|known| new_status(known, found)) {
            Some(Status::Superseded) => line.valid_until = Some(now),
            Some(Status::Active) if memory.valid_until.is_some_and(|until| until <= now) => {
                line.clear.push("valid_until".into());
            }
            _ => {}
        }
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
            ("entities", as_remembered(note.entities(), memory), &memory.entities, &mut line.entities),
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
    pub(super) fn wrote_in(&self, note: &Note, memory: &Memory) -> Wrote {
        let own = self.wrote(memory);
        Wrote {
            kind: note.kind().and_then(|kind| kind.parse::<Kind>().ok()).unwrap_or(own.kind),
            strength: note.strength().filter(|s| (0.0..=2.0).contains(s)).map_or(own.strength, round),
            pinned: note.pinned().unwrap_or(own.pinned),
            status: status_of(note).unwrap_or(own.status),
        }
    }

    /// A crash may have come between a forget and the move of its note to the trash. Any other note of a forgotten
    /// memory is a person's doing and stays.
    fn finish_forgetting(&self, found: &[Found], reconciled: &mut Reconciled) {
        let now = self.clock.now();
        for found in found {
            let Some(id) = found.id else { continue };
            let is_ours = {
                let store = self.store();
                let Some(memory) = store.state.forgotten(id) else { continue };
                let is_recent = store
                    .state
                    .forgotten_since(id)
                    .is_some_and(|(at, _)| (0..=DAY_MS).contains(&(now.millis() - at.millis())));
                is_recent && memory.note.as_ref().is_some_and(|note| note.path == found.path && note.hash == found.hash)
            };
            let trashed = self.vault.find_in_trash(id).ok().flatten();
            // In between a note that is moved has both names.
            let is_half_moved = trashed.as_deref().is_some_and(|trashed| self.vault.is_one_file(trashed, &found.path));
            if !is_ours || trashed.is_some() && !is_half_moved {
                reconciled.problems.push(format!(
                    "{}: its memory {id} was forgotten; `ebbmark restore {id}` brings it back",
                    found.path
                ));
                continue;
            }
            let moved = self.journal.lock().and_then(|_guard| {
                self.refresh_at(now)?;
                if is_half_moved && self.store().state.forgotten(id).is_some() && self.is_as_found(found) {
                    return self.vault.remove(&found.path).map(|()| true);
                }
                self.trash_note(id, &found.path)
            });
            match moved {
                Ok(true) => reconciled.changes.push(Change { path: found.path.clone(), kind: ChangeKind::Remove }),
                Ok(false) => {}
                Err(error) => reconciled.problems.push(error.to_string()),
            }
        }
    }
}

impl Engine {
    /// Reads back what a person changed in the vault, and commits it. Returns what the person should know.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io), [`Error::Busy`](crate::error::Error::Busy): nothing was read back then.
    pub fn read_back(&self) -> Result<Vec<String>> {
        let now = self.clock.now();
        let mut problems = self.read_back_at(now, false)?.problems;
        self.review_note(false, now, &mut problems);
        Ok(problems)
    }

    pub(super) fn read_back_at(&self, now: Timestamp, any_number: bool) -> Result<ReadBack> {
        let reconciled = self.reconcile(now, any_number)?;
        self.look_around(now);
        let paths = reconciled.edited.iter().chain(&reconciled.finished).map(|(_, path)| path.clone());
        let mut read = ReadBack {
            edited: paths.collect(),
            finished: reconciled.finished.clone(),
            adopted: reconciled.adopted.iter().map(|(_, path)| path.clone()).collect(),
            vanished: reconciled.vanished.iter().map(|(_, path)| path.clone()).collect(),
            put_away: reconciled.put_away.iter().map(|(_, path)| path.clone()).collect(),
            problems: reconciled.problems.clone(),
            ..ReadBack::default()
        };
        // What a crash of ours left half done in git must not stand in the person's way.
        if let Some(Err(error)) = self.git().map(|git| git.recover()) {
            read.problems.push(error.to_string());
        }
        if !reconciled.changes.is_empty() {
            let Reconciled { edited, finished, adopted, vanished, put_away, .. } = &reconciled;
            let (what, about) = match () {
                () if !edited.is_empty() => ("Edit in Obsidian", edited),
                () if !adopted.is_empty() => ("Adopt", adopted),
                () if !vanished.is_empty() => ("Delete in Obsidian", vanished),
                () if !put_away.is_empty() => ("Put away in Obsidian", put_away),
                () => ("Promote", finished),
            };
            let titles: Vec<&str> = about.iter().map(|(_, path)| stem(path)).collect();
            let all = edited.iter().chain(finished).chain(adopted).chain(vanished).chain(put_away);
            let ids: Vec<String> = all.map(|(id, _)| id.to_string()).collect();
            let (commit, notice) = self.commit(&reconciled.changes, &subject(what, &titles), &ids, now)?;
            read.commit = commit;
            read.problems.extend(notice);
        }
        if !reconciled.to_forget.is_empty() {
            let ids = reconciled.to_forget.iter().map(ToString::to_string).collect();
            match self.forget(&ForgetRequest { ids, ..ForgetRequest::default() }) {
                Ok(answer) => read.problems.extend(answer.notice),
                Err(error) => read.problems.push(error.to_string()),
            }
        }
        Ok(read)
    }
}

/// What reading the vault back brought.
#[derive(Default)]
pub(super) struct ReadBack {
    pub(super) edited: Vec<String>,
    /// Promotions that a crash had left unfinished, with their notes.
    pub(super) finished: Vec<(MemoryId, String)>,
    /// Notes of a person's own that are memories now.
    pub(super) adopted: Vec<String>,
    /// Notes that were deleted: their memories are hidden.
    pub(super) vanished: Vec<String>,
    /// Notes that were moved out of the folder of memories: their memories are hidden too.
    pub(super) put_away: Vec<String>,
    pub(super) commit: Option<String>,
    pub(super) problems: Vec<String>,
}

fn is_note_of(memory: &Memory, path: &str) -> bool {
    memory.note.as_ref().is_some_and(|note| note.path == path && note.is_there())
}

/// Whether the journal knows a note as it was seen. Where it does not, the note is looked at again: it may have been
/// moved, have come back, or its line may be lost. `has` tells whether the note at a path names a memory.
fn is_told(state: &State, path: &str, seen: &SeenNote, has: impl Fn(&str, MemoryId) -> bool, now: Timestamp) -> bool {
    let Some(id) = seen.id else { return true };
    // A crash may have come between a forget and the move of its note.
    if let Some((at, _)) = state.forgotten_since(id) {
        return !(0..=DAY_MS).contains(&(now.millis() - at.millis()));
    }
    state.get(id).is_none_or(|memory| {
        let note = memory.note.as_ref().filter(|note| note.is_there() && has(&note.path, id));
        note.is_some_and(|note| note.path != path || note.hash == seen.hash)
    })
}

/// Whether a memory can have this text: a note may say more than one can hold, or be empty in the middle of a save.
pub(super) fn may_be_text(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_TEXT_BYTES
}

/// Keys of ours whose values make no sense: they are not taken over, and the note is not refreshed.
pub(super) fn odd_keys(note: &Note) -> Vec<&'static str> {
    let checks = [
        ("kind", note.kind().is_some_and(|kind| kind.parse::<Kind>().is_ok())),
        ("strength", note.strength().is_some_and(|strength| (0.0..=2.0).contains(&strength))),
        ("pinned", note.pinned().is_some()),
        ("tags", note.value("tags").is_none_or(|tags| !tags.is_mapping())),
    ];
    let odd =
        checks.into_iter().filter(|(key, is_fine)| note.value(key).is_some_and(|value| !value.is_null()) && !is_fine);
    odd.map(|(key, _)| key).collect()
}

/// What a person should know of what a note says and its memory cannot.
pub(super) fn odd_values(note: &Note) -> Vec<String> {
    let odd = odd_keys(note).into_iter();
    let mut said: Vec<String> =
        odd.map(|key| format!("the value of `{key}` makes no sense here; it is not taken over")).collect();
    let bytes = note.text().len();
    if bytes > MAX_TEXT_BYTES {
        said.push(format!(
            "has {bytes} bytes of text, more than the {MAX_TEXT_BYTES} of a memory: they are not taken over"
        ));
    }
    said
}

/// The status that stands in a note, where it is one of ours.
pub(super) fn status_of(note: &Note) -> Option<Status> {
    serde_yaml::from_value(note.value("status")?.clone()).ok()
}

/// The status that a person wrote into a note: another one than stood there when it was last seen.
fn new_status(known: &NoteRef, found: &Found) -> Option<Status> {
    let wrote = known.wrote.filter(|_| found.note.problems.is_empty())?;
    status_of(&found.note).filter(|status| *status != wrote.status)
}

/// Whether what stands under one of our keys is ours to bring up to date. Other people name keys so too: where one has
/// a value that we would not write, it is theirs.
pub(super) fn is_ours(note: &Note, key: &str) -> bool {
    if note.value(key).is_none_or(Value::is_null) {
        return true;
    }
    match key {
        "status" => status_of(note).is_some(),
        "last_used" => note.last_used().is_some_and(|day| frontmatter::is_day(&day)),
        "uses" => note.uses().is_some(),
        "half_life_days" => note.half_life_days().is_some(),
        _ => true,
    }
}

/// Line and byte where git wrote both sides of a conflict into the note.
pub(super) fn conflict_marker(text: &str) -> Option<(u64, u64)> {
    let mut begin = None;
    let (mut byte, mut is_parted, mut has_ended) = (0, false, false);
    for (line, number) in text.split_inclusive('\n').zip(1u64..) {
        if line.starts_with("<<<<<<< ") {
            begin = begin.or(Some((number, byte)));
        }
        is_parted |= line.trim_end_matches(['\n', '\r']) == "=======";
        has_ended |= line.starts_with(">>>>>>> ");
        byte += line.len() as u64;
    }
    begin.filter(|_| is_parted && has_ended)
}

/// Entities of a note, spelled as its memory does where the note cannot: a link to `A|B` says `[[A-B|A B]]`.
pub(super) fn as_remembered(there: Vec<String>, memory: &Memory) -> Vec<String> {
    let written = |entity: &String| name::key(&entity_as_written(entity));
    let spelled = |said: String| {
        let key = name::key(&said);
        let mut own = memory.entities.iter();
        own.find(|entity| name::key(entity) != key && written(entity) == key).cloned().unwrap_or(said)
    };
    there.into_iter().map(spelled).collect()
}

/// The same names, whatever their order and case.
pub(super) fn same_names(a: &[String], b: &[String]) -> bool {
    let keys = |names: &[String]| {
        let mut keys: Vec<String> = names.iter().map(|text| name::key(text)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    keys(a) == keys(b)
}
