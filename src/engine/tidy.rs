//! Tidy: what is due, in one go, each step with its reason. Also compaction on request.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::{stem, subject};
use super::compact::CompactAnswer;
use super::promote::{Candidate, PromoteRequest, Promoted};
use super::reconcile::{is_ours, odd_keys};
use super::upkeep::{NOTES_A_TURN, let_others_write};
use super::{Engine, lenient};
use crate::clock::Timestamp;
use crate::config::PromotionMode;
use crate::error::Result;
use crate::git::{Change, Kind as ChangeKind};
use crate::id::content_hash;
use crate::journal::Compaction;
use crate::kinds::Kind;
use crate::memory::{By, Line, Memory, Op, State};
use crate::note::link::Link;
use crate::note::{Note, Value, frontmatter};

/// Compaction is due when more lines than this would go, and they are half of the file.
const COMPACT_FROM_LINES: usize = 1000;
/// The managed block of a memory's note that links to other memories' notes.
const RELATED: &str = "related";
const RELATED_HEADING: &str = "## Related";

/// A request to tidy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TidyRequest {
    /// Only say what would be done.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub dry_run: Option<bool>,
    /// Notes that are missing were deleted, however many they are. For a person to say.
    #[serde(skip)]
    pub accept_missing: bool,
}

/// What tidy did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TidyAnswer {
    /// Notes with a person's edits that were read back.
    pub edited: Vec<String>,
    /// Notes that a person wrote and that are memories now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,
    /// Notes that a person deleted: their memories are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vanished: Vec<String>,
    /// Notes that a person moved out of the folder of memories, where they lie now: their memories are hidden, and not
    /// forgotten while they lie there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_away: Vec<String>,
    /// What was checked in `Review.md`, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewed: Vec<String>,
    /// Memories that were forgotten because their notes were deleted long ago.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<String>,
    /// Purged memories whose text has left the journal now.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub purged: u64,
    /// Memories that were promoted.
    pub promoted: Vec<Promoted>,
    /// Memories that would be promoted (`dry_run`, or promotion is not automatic).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Notes whose numbers were brought up to date, and hubs that show now what is known.
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
        if is_dry {
            self.refresh_at(now)?;
        } else {
            let read = self.read_back_at(now, request.accept_missing)?;
            answer.edited = read.edited;
            answer.adopted = read.adopted;
            answer.vanished = read.vanished;
            answer.put_away = read.put_away;
            let forgotten = self.forget_vanished(now)?;
            answer.forgotten = forgotten.iter().map(ToString::to_string).collect();
            answer.commit = read.commit;
            answer.problems = read.problems;
            self.finish_purges(now, &mut answer)?;
            if self.config.recall.keep_misses == 0 {
                // Where nothing of what is derived can be written, none were kept either.
                drop(self.remove_misses());
            }
            for finding in self.vault_findings()? {
                let note = finding.file.as_ref().and_then(|file| file.strip_prefix(self.vault.root()).ok());
                let problem = note.map_or(finding.what.clone(), |note| format!("{}: {}", note.display(), finding.what));
                if !answer.problems.contains(&problem) && !answer.problems.contains(&finding.what) {
                    answer.problems.push(problem);
                }
            }
        }
        self.tidy_vault(&mut answer, is_dry, now)?;
        if !is_dry {
            answer.reviewed = self.review_note(true, now, &mut answer.problems);
        }
        let (compaction, is_due) = self.compact_if_due(is_dry, now)?;
        answer.compacted = is_due.then(|| CompactAnswer { dry_run: is_dry, ..compaction.into() });
        if !is_dry {
            self.refresh_at(now)?;
            // A fault of the index is shown as a notice.
            drop(self.fold_index());
        }
        Ok(answer)
    }

    /// Promotes what has proved itself, refreshes the numbers in notes, and commits what was left.
    pub(super) fn tidy_vault(&self, answer: &mut TidyAnswer, is_dry: bool, now: Timestamp) -> Result<()> {
        let mut is_automatic = !is_dry && self.config.promotion == PromotionMode::Auto;
        if let Err(error) = self.refuse_second_vault().and_then(|()| self.refuse_foreign_notes()) {
            is_automatic = false;
            answer.problems.push(error.to_string());
        }
        let propose = PromoteRequest { dry_run: Some(true), ..PromoteRequest::default() };
        if is_automatic
            && !self.journal.is_fresh(now)
            && !self.promote(&propose)?.candidates.is_empty()
            && !self.believes_clock(now)?
        {
            is_automatic = false;
            answer.problems.push(format!(
                "nothing was promoted: the date is {}, more than a day after the newest entry. Where that is right, \
                 tidy again",
                self.date(now)
            ));
        }
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
        let waiting = if is_dry { Vec::new() } else { self.write_waiting(now, answer)? };
        let stale = self.stale_notes(now);
        if is_dry {
            answer.refreshed = stale.into_iter().map(|note| note.path).collect();
            answer.refreshed.extend(self.stale_hubs(now).into_iter().map(|hub| hub.path));
        } else {
            let mut changes = self.refresh_notes(stale, now, answer)?;
            changes.extend(waiting);
            let renewed = self.renew_hubs(self.stale_hubs(now))?;
            answer.refreshed.extend(renewed.iter().map(|change| change.path.clone()));
            changes.extend(renewed);
            changes.extend(self.make_hubs(now)?);
            self.commit_leftovers(changes, now, answer)?;
            self.look_around(now);
            self.look_closely(now)?;
        }
        answer.faded = self.faded_count(now);
        Ok(())
    }

    /// Compacts this machine's journal where that is worth it. What it did or would do, and whether that is enough.
    pub(super) fn compact_if_due(&self, is_dry: bool, now: Timestamp) -> Result<(Compaction, bool)> {
        // A clock that jumped must not end what can still be restored: only a person's `compact` does then.
        let may_end = self.journal.is_fresh(now);
        let forecast = self.compact_now(true, may_end, now)?;
        let gone = forecast.lines_before.saturating_sub(forecast.lines_after);
        if gone <= COMPACT_FROM_LINES || gone * 2 <= forecast.lines_before {
            return Ok((forecast, false));
        }
        Ok((if is_dry { forecast } else { self.compact_now(false, may_end, now)? }, true))
    }

    /// Notes whose use numbers are behind the journal.
    fn stale_notes(&self, now: Timestamp) -> Vec<StaleNote> {
        let promoted: Vec<(Memory, Option<String>)> = {
            let store = self.store();
            let promoted = store.state.memories().filter(|memory| memory.is_promoted());
            promoted.map(|memory| (memory.clone(), related(&store.state, memory))).collect()
        };
        let stale = promoted.iter().filter_map(|(memory, related)| self.stale_note(memory, related.as_deref(), now));
        let mut stale: Vec<StaleNote> = stale.collect();
        stale.sort_by(|a, b| a.path.cmp(&b.path));
        stale
    }

    fn stale_note(&self, memory: &Memory, related: Option<&str>, now: Timestamp) -> Option<StaleNote> {
        let note = memory.note.as_ref()?;
        let trace = memory.trace(&self.config);
        let text = self.vault.read(&note.path).ok()?;
        // What a person changed meanwhile, or took the id from, is left alone.
        let parsed = Note::parse(&text);
        let is_as_seen = content_hash(text.as_bytes()) == note.hash && parsed.id() == Some(memory.id);
        if !is_as_seen || !odd_keys(&parsed).is_empty() {
            return None;
        }
        let half_life_days = super::promote::number(trace.half_life_days);
        let kind = memory.current_kind(&self.config);
        let keys = [
            ("kind", Value::from(kind.as_str())),
            ("half_life_days", half_life_days),
            ("status", Value::from(memory.status(&self.config, now).as_str())),
            ("last_used", Value::from(self.date(trace.last_used()))),
            ("uses", Value::from(trace.uses())),
            ("strength", super::promote::number(super::remember::round(trace.strength))),
        ];
        // The day of a use is another one in another time zone: without a further use, what another machine wrote holds.
        let has_day = parsed.uses() == Some(u64::from(trace.uses())) && parsed.last_used().is_some();
        // A person's word for the kind is left, and so is a missing one; what it has become is written.
        let has_kind = parsed.kind().and_then(|word| word.parse::<Kind>().ok()).is_none_or(|there| there == kind);
        let is_right = |key: &str| (key == "last_used" && has_day) || (key == "kind" && has_kind);
        let mut own = keys.iter().filter(|(key, _)| is_ours(&parsed, key) && !is_right(key));
        let new = own.try_fold(text.clone(), |text, (key, value)| frontmatter::set(&text, key, value)).ok()?;
        let written = parsed.managed_block(RELATED).unwrap_or_default();
        let new = if written.iter().all(|line| is_of_related(line)) {
            Note::parse(&new).with_block(RELATED, related).ok()?
        } else {
            new
        };
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

    /// Writes the new numbers, a few notes at a time. Returns what is to be committed.
    fn refresh_notes(&self, mut stale: Vec<StaleNote>, now: Timestamp, answer: &mut TidyAnswer) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        while !stale.is_empty() {
            let rest = stale.split_off(stale.len().min(NOTES_A_TURN));
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
            })?;
            stale = rest;
            if !stale.is_empty() {
                let_others_write();
            }
        }
        Ok(changes)
    }

    /// Commits refreshed notes, and what a crash or a lock of git left uncommitted: notes as they were last read
    /// back, notes of forgotten memories that are gone, and our own layout of the vault.
    pub(super) fn commit_leftovers(
        &self,
        mut changes: Vec<Change>,
        now: Timestamp,
        answer: &mut TidyAnswer,
    ) -> Result<()> {
        if self.vault.exists() && self.foreign_notes() == 0 {
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
            is_new |= kind == ChangeKind::Write && git.has(&path).is_ok_and(|has| !has);
            if !changes.iter().any(|change| change.path == path) {
                changes.push(Change { path, kind });
            }
        }
        let titles: Vec<&str> = changes.iter().map(|change| stem(&change.path)).collect();
        let what = if is_new { "Promote" } else { "Refresh" };
        let subject = if titles.is_empty() { "Begin the vault".to_owned() } else { subject(what, &titles) };
        let layout = git.dirty(&self.vault.layout()?).unwrap_or_default();
        // A person may have edited one of these, or taken it out of git: in a long history the second look is slow.
        let never_committed = |path: &String| {
            git.has(path).is_ok_and(|has| !has) && git.log(1, Some(path)).is_ok_and(|log| log.is_empty())
        };
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a note says of other notes: which memory took its place, and whose place it took; nothing where these have no
/// notes.
fn related(state: &State, memory: &Memory) -> Option<String> {
    let newer = memory.superseded.and_then(|superseded| state.get(superseded.by)).and_then(link);
    let mut lines: Vec<String> = newer.map(|newer| format!("- superseded by {newer}")).into_iter().collect();
    lines.extend(
        state.superseded_by(memory.id).into_iter().filter_map(link).map(|older| format!("- supersedes {older}")),
    );
    (!lines.is_empty()).then(|| format!("{RELATED_HEADING}\n{}", lines.join("\n")))
}

/// A link to the note of a memory, where it has one.
pub(super) fn link(memory: &Memory) -> Option<Link> {
    let name = stem(&memory.note.as_ref().filter(|note| note.is_there())?.path).to_owned();
    // A person may have chosen a name that no link can hold.
    let can_be_linked = !name.contains(['[', ']', '|', '#', '^']);
    can_be_linked.then_some(Link { target: name, heading: None, block: None, alias: None, embed: false })
}

/// Whether a line is one of [`related`]. A block in which a person wrote is left alone.
fn is_of_related(line: &str) -> bool {
    line == RELATED_HEADING || line.starts_with("- superseded by [[") || line.starts_with("- supersedes [[")
}

/// A note whose numbers or related notes are behind, and its text with the new ones.
struct StaleNote {
    path: String,
    hash: String,
    line: Line,
    text: String,
}
