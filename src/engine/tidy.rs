//! Tidy: what is due, in one go, each step with its reason. Also compaction on request.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::promote::{Candidate, PromoteRequest, Promoted, stem, subject};
use super::{Engine, lenient};
use crate::clock::{DAY_MS, Timestamp};
use crate::config::PromotionMode;
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};
use crate::journal::Compaction;
use crate::memory::{By, Line, Memory, Op};
use crate::note::{Note, Value, frontmatter};

/// Compaction is due when more lines than this would go, and they are half of the file.
const COMPACT_FROM_LINES: usize = 1000;

/// A request to tidy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TidyRequest {
    /// Only say what would be done.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub dry_run: Option<bool>,
}

/// What tidy did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TidyAnswer {
    /// Notes with a person's edits that were read back.
    pub edited: Vec<String>,
    /// Memories that were promoted.
    pub promoted: Vec<Promoted>,
    /// Memories that would be promoted (`dry_run`, or promotion is not automatic).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Notes whose numbers were brought up to date.
    pub refreshed: Vec<String>,
    /// Memories that are faded now.
    pub faded: u64,
    /// Compaction, where it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<CompactAnswer>,
    /// The git commit of what changed besides promotions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What a person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What compaction did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactAnswer {
    /// Lines before.
    pub lines_before: usize,
    /// Lines after.
    pub lines_after: usize,
    /// Bytes before.
    pub bytes_before: usize,
    /// Bytes after.
    pub bytes_after: usize,
    /// Memories whose text left the file, because they were forgotten long enough ago.
    pub forgotten: usize,
    /// Lines that could not be read, moved to quarantine.
    pub quarantined: usize,
}

impl From<Compaction> for CompactAnswer {
    fn from(done: Compaction) -> Self {
        CompactAnswer {
            lines_before: done.lines_before,
            lines_after: done.lines_after,
            bytes_before: done.bytes_before,
            bytes_after: done.bytes_after,
            forgotten: done.forgotten,
            quarantined: done.quarantined,
        }
    }
}

impl Engine {
    /// Does what is due: reads the vault back, promotes what has proved itself, refreshes the numbers in notes,
    /// commits, compacts, folds the index.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io), [`Error::Busy`](crate::error::Error::Busy): what was done before stays
    /// done; tidying again goes on.
    pub fn tidy(&self, request: &TidyRequest) -> Result<TidyAnswer> {
        let now = self.clock.now();
        let is_dry = request.dry_run.unwrap_or(false);
        self.flush_uses()?;
        let mut answer = TidyAnswer::default();
        let mut changes = Vec::new();
        if is_dry {
            self.refresh_at(now)?;
        } else {
            let read = self.read_back_at(now)?;
            answer.edited = read.edited;
            answer.commit = read.commit;
            answer.problems = read.problems;
            for finding in self.vault_findings()? {
                if !answer.problems.contains(&finding) {
                    answer.problems.push(finding);
                }
            }
        }
        let is_automatic = !is_dry && self.config.promotion == PromotionMode::Auto;
        if self.config.promotion != PromotionMode::Off {
            let promoted =
                self.promote(&PromoteRequest { dry_run: Some(!is_automatic), ..PromoteRequest::default() })?;
            answer.promoted = promoted.promoted;
            answer.candidates = promoted.candidates;
            answer.problems.extend(promoted.notice);
        }
        if !is_dry && self.vault.exists() {
            let _guard = self.journal.lock()?;
            self.vault.remove_leftovers()?;
        }
        let stale = self.stale_notes(now);
        if is_dry {
            answer.refreshed = stale.into_iter().map(|note| note.path).collect();
        } else {
            self.refresh_notes(stale, now, &mut answer, &mut changes)?;
            self.commit_leftovers(changes, now, &mut answer)?;
        }
        answer.faded = self.faded_count(now);
        // A clock that jumped must not end what can still be restored: only a person's `compact` does then.
        let may_end = self.journal.is_fresh(now);
        let forecast = self.compact_now(true, may_end, now)?;
        let gone = forecast.lines_before.saturating_sub(forecast.lines_after);
        if gone > COMPACT_FROM_LINES && gone * 2 > forecast.lines_before {
            let compacted = if is_dry { forecast } else { self.compact_now(false, may_end, now)? };
            answer.compacted = Some(compacted.into());
        }
        if !is_dry {
            self.refresh_at(now)?;
            self.fold_index();
        }
        Ok(answer)
    }

    /// Reads back what a person changed in the vault, and commits it. Returns what the person should know.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io), [`Error::Busy`](crate::error::Error::Busy): nothing was read back then.
    pub fn read_back(&self) -> Result<Vec<String>> {
        Ok(self.read_back_at(self.clock.now())?.problems)
    }

    pub(super) fn read_back_at(&self, now: Timestamp) -> Result<ReadBack> {
        let reconciled = self.reconcile(now)?;
        let paths = reconciled.edited.iter().chain(&reconciled.finished).map(|(_, path)| path.clone());
        let mut read = ReadBack {
            edited: paths.collect(),
            finished: reconciled.finished.clone(),
            problems: reconciled.problems,
            ..ReadBack::default()
        };
        // What a crash of ours left half done in git must not stand in the person's way.
        if let Some(Err(error)) = self.git().map(|git| git.recover()) {
            read.problems.push(error.to_string());
        }
        if !reconciled.changes.is_empty() {
            let titles: Vec<&str> = read.edited.iter().map(|path| stem(path)).collect();
            let what = if reconciled.edited.is_empty() { "Promote" } else { "Edit in Obsidian" };
            let ids: Vec<String> =
                reconciled.edited.iter().chain(&reconciled.finished).map(|(id, _)| id.to_string()).collect();
            let (commit, notice) = self.commit(&reconciled.changes, &subject(what, &titles), &ids, now)?;
            read.commit = commit;
            read.problems.extend(notice);
        }
        Ok(read)
    }

    /// Compacts this machine's journal.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io), [`Error::Busy`](crate::error::Error::Busy),
    /// [`Error::Changed`](crate::error::Error::Changed); the journal is then as it was.
    pub fn compact(&self, dry_run: bool) -> Result<CompactAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        let done = self.compact_now(dry_run, true, now)?;
        self.refresh_at(now)?;
        Ok(done.into())
    }

    fn compact_now(&self, dry_run: bool, may_end: bool, now: Timestamp) -> Result<Compaction> {
        let keep = (self.config.forget.keep_days * DAY_MS as f64) as i64;
        self.journal.compact(now, dry_run, |id| {
            let store = self.store();
            let (at, order) = store.state.forgotten_since(id)?;
            let is_due = may_end && now.millis().saturating_sub(at.millis()) >= keep || store.state.is_purged(id);
            is_due.then_some(order)
        })
    }

    /// Notes whose use numbers are behind the journal.
    fn stale_notes(&self, now: Timestamp) -> Vec<StaleNote> {
        let promoted: Vec<Memory> =
            self.store().state.memories().filter(|memory| memory.is_promoted()).cloned().collect();
        let mut stale: Vec<StaleNote> = promoted.iter().filter_map(|memory| self.stale_note(memory, now)).collect();
        stale.sort_by(|a, b| a.path.cmp(&b.path));
        stale
    }

    fn stale_note(&self, memory: &Memory, now: Timestamp) -> Option<StaleNote> {
        let note = memory.note.as_ref()?;
        let trace = memory.trace(&self.config);
        let text = self.vault.read(&note.path).ok()?;
        // What a person changed meanwhile, or took the id from, is left alone.
        let parsed = Note::parse(&text);
        let is_ours = content_hash(text.as_bytes()) == note.hash && parsed.id() == Some(memory.id);
        if !is_ours || !super::reconcile::odd_values(&parsed).is_empty() {
            return None;
        }
        let half_life_days = super::promote::number(trace.half_life_days);
        let keys = [
            ("half_life_days", half_life_days),
            ("status", Value::from(memory.status(&self.config, now).as_str())),
            ("last_used", Value::from(self.date(trace.last_used()))),
            ("uses", Value::from(trace.uses())),
            ("strength", super::promote::number(super::remember::round(trace.strength))),
        ];
        let new = keys.iter().try_fold(text.clone(), |text, (key, value)| frontmatter::set(&text, key, value)).ok()?;
        (new != text).then(|| StaleNote {
            path: note.path.clone(),
            hash: note.hash.clone(),
            line: Line {
                hash: Some(content_hash(new.as_bytes())),
                by: Some(By::Ebbmark),
                wrote: Some(self.wrote_in(&Note::parse(&new), memory)),
                ..Line::about(Op::Note, memory.id)
            },
            text: new,
        })
    }

    fn refresh_notes(
        &self,
        stale: Vec<StaleNote>,
        now: Timestamp,
        answer: &mut TidyAnswer,
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        if stale.is_empty() {
            return Ok(());
        }
        self.write(now, |_| {
            let mut lines = Vec::new();
            for note in stale {
                // A person who edits at this moment goes first; the next tidy follows.
                if self.vault.edit(&note.path, &note.hash, &note.text).is_ok() {
                    changes.push(Change { path: note.path.clone(), kind: ChangeKind::Write });
                    answer.refreshed.push(note.path);
                    lines.push(note.line);
                }
            }
            Ok((lines, ()))
        })
    }

    /// Commits refreshed notes, and what a crash or a lock of git left uncommitted: notes as they were last read
    /// back, notes of forgotten memories that are gone, and our own layout of the vault.
    fn commit_leftovers(&self, mut changes: Vec<Change>, now: Timestamp, answer: &mut TidyAnswer) -> Result<()> {
        if self.vault.exists() {
            self.ensure_vault(now)?;
        }
        let Some(git) = self.git() else { return Ok(()) };
        let (own, gone) = self.notes_by_path();
        let paths: Vec<String> = own.keys().chain(&gone).cloned().collect();
        let mut ids: Vec<String> = Vec::new();
        let mut is_new = false;
        for path in git.dirty(&paths).unwrap_or_default() {
            let kind = match own.get(&path) {
                None => ChangeKind::Remove,
                Some((id, hash)) => {
                    // Only what was read back: not a save in progress, nor a conflict to resolve.
                    if !self.vault.read(&path).is_ok_and(|text| content_hash(text.as_bytes()) == *hash) {
                        continue;
                    }
                    ids.push(id.clone());
                    ChangeKind::Write
                }
            };
            is_new |= kind == ChangeKind::Write && git.log(1, Some(&path)).is_ok_and(|log| log.is_empty());
            if !changes.iter().any(|change| change.path == path) {
                changes.push(Change { path, kind });
            }
        }
        let titles: Vec<&str> = changes.iter().map(|change| stem(&change.path)).collect();
        let what = if is_new { "Promote" } else { "Refresh" };
        let subject = if titles.is_empty() { "Begin the vault".to_owned() } else { subject(what, &titles) };
        let layout = git.dirty(&self.vault.layout()?).unwrap_or_default();
        let never_committed = |path: &String| git.log(1, Some(path)).is_ok_and(|log| log.is_empty());
        let layout = layout.into_iter().filter(never_committed);
        changes.extend(layout.map(|path| Change { path, kind: ChangeKind::Write }));
        if changes.is_empty() {
            return Ok(());
        }
        let (commit, notice) = self.commit(&changes, &subject, &ids, now)?;
        answer.commit = commit.or(answer.commit.take());
        answer.problems.extend(notice);
        Ok(())
    }

    /// The notes of memories, by path: id and hash as last seen. And paths that forgotten memories' notes have left.
    pub(super) fn notes_by_path(&self) -> (HashMap<String, (String, String)>, Vec<String>) {
        let store = self.store();
        let notes = store.state.memories().filter(|memory| memory.is_promoted());
        let own: HashMap<String, (String, String)> = notes
            .filter_map(|memory| {
                let note = memory.note.as_ref()?;
                Some((note.path.clone(), (memory.id.to_string(), note.hash.clone())))
            })
            .collect();
        let left = store.state.all_forgotten().filter_map(|memory| Some(memory.note.as_ref()?.path.clone()));
        let gone = left.filter(|path| !own.contains_key(path) && !self.vault.root().join(path).exists()).collect();
        (own, gone)
    }
}

/// What reading the vault back brought.
#[derive(Default)]
pub(super) struct ReadBack {
    edited: Vec<String>,
    /// Promotions that a crash had left unfinished, with their notes.
    pub(super) finished: Vec<(MemoryId, String)>,
    pub(super) commit: Option<String>,
    pub(super) problems: Vec<String>,
}

/// A note whose numbers are behind, and its text with the new ones.
struct StaleNote {
    path: String,
    hash: String,
    line: Line,
    text: String,
}
