//! Upkeep: what a serving process does by itself, between requests.
//!
//! A step does at most one task, so that requests get their turn between two. Of the processes of a home only the one
//! that holds `upkeep.lock` does any; the others write their own uses and wait for its place.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::own_notes::PartDocuments;
use super::{Engine, TidyAnswer};
use crate::clock::{DAY_MS, HOUR_MS, Timestamp};
use crate::error::{Error, Result};
use crate::files::{self, Lock};
use crate::id::MemoryId;
use crate::index::{Folded, Index};
use crate::words;

/// Memories without a document that make folding worth it at once.
const FOLD_FROM: usize = 200;
/// Pause before a small tail is folded, milliseconds.
const FOLD_SMALL_AFTER_MS: i64 = 60_000;
/// How often uses are written and what is due is looked up, milliseconds.
const STEP_MS: i64 = 2_000;
/// Pause between two tasks that are both due, milliseconds.
const BETWEEN_TASKS_MS: i64 = 100;
/// How often the vault is looked at for a person's edits where nobody tells of them, milliseconds.
const READ_BACK_EVERY_MS: i64 = 10_000;
/// As [`READ_BACK_EVERY_MS`], where the system tells of them: for what it may have missed.
const READ_BACK_WATCHED_MS: i64 = 300_000;
/// As [`READ_BACK_EVERY_MS`], where the system cannot tell of them.
const READ_BACK_POLLED_MS: i64 = 2_000;
/// Looks at a large vault over a slow network take a twentieth of the time at most.
const POLL_PAUSES: i64 = 20;
/// Pause before the first tidy and the first look at what compaction would save, milliseconds: many a process serves
/// for less than an hour.
const FIRST_AFTER_MS: i64 = 300_000;
/// How often memory is tidied, milliseconds; what compaction would save is looked at as often in a journal that grows.
const EVERY_MS: i64 = HOUR_MS;
/// A journal is looked at again when it grew by so many lines, and by a tenth; else after a day, because what was
/// forgotten comes to its end without a line.
const GROWN_LINES: u64 = 1_000;

/// Notes that are written under one hold of the home's lock: some milliseconds each.
pub(super) const NOTES_A_TURN: usize = 4;
/// Pause between two such holds. Longer than any pause of those who wait for the lock, so that they get it.
const BETWEEN_TURNS: Duration = Duration::from_millis(10);

/// What upkeep does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Index,
    ReadBack,
    Tidy,
    Compact,
}

impl Task {
    const ALL: [Task; 4] = [Task::Index, Task::ReadBack, Task::Tidy, Task::Compact];

    /// Its key in `[upkeep]`.
    fn name(self) -> &'static str {
        match self {
            Task::Index => "index",
            Task::ReadBack => "read_back",
            Task::Tidy => "tidy",
            Task::Compact => "compact",
        }
    }
}

/// The last run of a task.
#[derive(Debug, Clone, Default)]
struct Run {
    began: Option<Timestamp>,
    took_ms: i64,
    /// What came of it; empty while it runs.
    outcome: String,
}

/// What a process knows of its upkeep.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    /// The first step; none where the process does not serve.
    since: Option<Timestamp>,
    /// The right to do it, once this process has it.
    lock: Option<Lock>,
    /// Who else has it.
    holder: Option<String>,
    runs: [Run; Task::ALL.len()],
    /// Lines of the own journal when compaction last looked at it.
    lines_seen: u64,
    /// Whether a person asked this process for upkeep, whatever the configuration says of servers.
    is_asked_for: bool,
    /// How edits in the vault come to be noticed.
    watching: Watching,
    /// What was told of the vault since it was last read back.
    change: Option<VaultChange>,
    /// When a note that is being written now counts as written, if nobody saves it again.
    written_at: Option<Timestamp>,
    /// The last task.
    last: Option<Task>,
}

/// How edits in the vault come to be noticed between two looks at all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Watching {
    /// They are not.
    #[default]
    No,
    /// The system tells of them.
    Events,
    /// It cannot, for this reason: all is looked at every two seconds.
    Poll(String),
}

impl Watching {
    /// In words; nothing where nobody watches.
    fn how(&self) -> Option<String> {
        match self {
            Watching::No => None,
            Watching::Events => Some("whenever a note is saved".into()),
            Watching::Poll(why) => Some(format!("every 2 seconds: {why}")),
        }
    }
}

/// What may have changed in the vault. Only a hint: the vault is read back to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VaultChange {
    /// Notes that are read again even where their sizes and times are as they were. Paths from the vault's root.
    pub notes: BTreeSet<String>,
    /// All notes are read again.
    pub is_everything: bool,
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Done {
    /// When it began.
    pub at: Timestamp,
    /// index, `read_back`, tidy or compact.
    pub task: String,
    /// What came of it.
    pub outcome: String,
    /// Notes that were read back, promoted or refreshed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether it changed anything, or found something wrong that the last run did not.
    #[serde(skip)]
    pub is_news: bool,
}

/// What came of a task.
#[derive(Default)]
struct Came {
    said: String,
    notes: Vec<String>,
    /// Whether the journal or the vault is another one now.
    has_changed: bool,
    has_problems: bool,
}

/// One task of upkeep, and how its last run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpkeepTask {
    /// index, `read_back`, tidy or compact.
    pub task: String,
    /// When it last began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last: Option<Timestamp>,
    /// How long that took, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<i64>,
    /// What came of it, or why it does not run.
    pub outcome: String,
    /// When it is due; absent where there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub next: Option<Timestamp>,
    /// What else begins it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
}

impl Engine {
    /// Writes the uses that recall noted, does at most one task that is due, and says when to come again. Failures
    /// are left for a later step: nothing acknowledged depends on upkeep.
    ///
    /// # Errors
    /// The first failure of this step, for the log.
    pub fn step(&self) -> (Timestamp, Result<Option<Done>>) {
        let now = self.clock.now();
        let next = now.plus_millis(STEP_MS);
        {
            let mut upkeep = self.upkeep();
            upkeep.since = Some(upkeep.since.map_or(now, |since| since.min(now)));
            // Steps follow one another: what has no outcome yet never came to one.
            for run in upkeep.runs.iter_mut().filter(|run| run.began.is_some() && run.outcome.is_empty()) {
                run.outcome = "broke off; standard error says where".into();
            }
        }
        self.look_again(now);
        if !self.is_upkeep_on() {
            // What was acknowledged before it was on disk is no upkeep.
            return (next, self.journal.sync().map(|()| None));
        }
        // What other processes wrote is kept in order too.
        let outcome = self.flush_uses().and(self.refresh_at(now));
        let due = self.due_tasks(now);
        let Some(task) = due.first() else { return (next, outcome.map(|()| None)) };
        match self.may_do_upkeep() {
            Ok(true) => {}
            Ok(false) => return (next, outcome.map(|()| None)),
            Err(error) => return (next, outcome.and(Err(error))),
        }
        let before = {
            let mut upkeep = self.upkeep();
            upkeep.last = Some(*task);
            std::mem::replace(&mut upkeep.runs[*task as usize], Run { began: Some(now), ..Run::default() })
        };
        let came = self.do_task(*task, now);
        let end = self.clock.now();
        let took_ms = end.millis().saturating_sub(now.millis()).max(0);
        let said = came.as_ref().map_or_else(|error| format!("failed: {error}"), |came| came.said.clone());
        let is_news = |came: &Came| came.has_changed || (came.has_problems && came.said != before.outcome);
        let done = came.map(|came| Done {
            at: now,
            task: task.name().into(),
            outcome: came.said.clone(),
            is_news: is_news(&came),
            notes: came.notes,
        });
        self.upkeep().runs[*task as usize] = Run { began: Some(now), took_ms, outcome: said };
        let next = if due.len() > 1 { end.plus_millis(BETWEEN_TASKS_MS) } else { next };
        (next, outcome.and(done.map(Some)))
    }

    /// How long to wait for a time that [`Engine::step`] named; never less than 10 ms.
    pub fn pause_until(&self, at: Timestamp) -> Duration {
        let millis = at.millis().saturating_sub(self.clock.now().millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or_default().max(10))
    }

    /// Has this process do upkeep also where `[server] upkeep` is false: a person asked for it.
    pub fn ask_for_upkeep(&self) {
        self.upkeep().is_asked_for = true;
    }

    /// Whether this process does upkeep as far as no other one does.
    pub fn is_upkeep_on(&self) -> bool {
        self.config.server.upkeep || self.upkeep().is_asked_for
    }

    /// Whether the vault should be watched: this process keeps the home in order, and reads the vault back.
    pub fn wants_watching(&self) -> bool {
        self.is_upkeep_on() && self.config.upkeep.read_back && self.may_do_upkeep().is_ok_and(|may| may)
    }

    /// Takes note of how edits in the vault come to be noticed.
    pub fn watched(&self, watching: Watching) {
        self.upkeep().watching = watching;
    }

    /// When the vault is read back besides from time to time, in words; nothing where it is not watched.
    pub fn reads_back_also(&self) -> Option<String> {
        self.upkeep().watching.how()
    }

    /// Has the next step look at the vault, before anything else that is due.
    pub fn vault_changed(&self, change: VaultChange) {
        let mut upkeep = self.upkeep();
        let known = upkeep.change.get_or_insert_default();
        known.notes.extend(change.notes);
        known.is_everything |= change.is_everything;
    }

    /// Has the vault be read back once a note that is being written now counts as written: nobody tells of that.
    pub(super) fn await_written(&self, at: Option<Timestamp>) {
        self.upkeep().written_at = at;
    }

    /// Who else keeps the home in order.
    pub fn upkeep_holder(&self) -> Option<String> {
        self.upkeep().holder.clone()
    }

    fn upkeep(&self) -> MutexGuard<'_, Upkeep> {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process keeps the home in order. The first that wants to does, until it ends.
    fn may_do_upkeep(&self) -> Result<bool> {
        let mut upkeep = self.upkeep();
        if upkeep.lock.is_none() && self.home.is_dir() {
            let path = self.home.join("upkeep.lock");
            upkeep.lock = Lock::try_acquire(&path)?;
            upkeep.holder = None;
            if upkeep.lock.is_none() {
                let holder = files::read_if_there(&path)?.unwrap_or_default();
                upkeep.holder = Some(String::from_utf8_lossy(&holder).trim().to_owned());
            }
        }
        Ok(upkeep.lock.is_some())
    }

    /// The tasks that are due, the one that has waited longest first.
    fn due_tasks(&self, now: Timestamp) -> Vec<Task> {
        let mut due: Vec<Task> = Task::ALL.into_iter().filter(|task| self.is_due(*task, now)).collect();
        let upkeep = self.upkeep();
        // An edit is read at once, but never keeps the others waiting for good.
        let is_urgent =
            |task: Task| task == Task::ReadBack && upkeep.change.is_some() && upkeep.last != Some(Task::ReadBack);
        due.sort_by_key(|task| (!is_urgent(*task), upkeep.runs[*task as usize].began));
        due
    }

    fn is_due(&self, task: Task, now: Timestamp) -> bool {
        let began = self.upkeep().runs[task as usize].began;
        // A clock that was set back makes everything due that has anything to do.
        self.due_at(task, now).is_some_and(|at| at <= now || began.is_some_and(|began| began > now))
    }

    /// When a task is due; none where it is switched off or has nothing to do. Looks at no file's content.
    fn due_at(&self, task: Task, now: Timestamp) -> Option<Timestamp> {
        if !self.is_upkeep_on() || !self.is_on(task) {
            return None;
        }
        let (since, began, lines_seen) = {
            let upkeep = self.upkeep();
            (upkeep.since?, upkeep.runs[task as usize].began, upkeep.lines_seen)
        };
        let first_or = |every: i64| match began {
            None => since.plus_millis(FIRST_AFTER_MS),
            Some(began) => began.plus_millis(every),
        };
        match task {
            Task::Index => match self.store().without_document() {
                _ if self.store().vectors_lacking() > 0 => Some(now),
                0 => None,
                waiting if waiting >= FOLD_FROM => Some(now),
                _ => Some(began.unwrap_or(since).plus_millis(FOLD_SMALL_AFTER_MS)),
            },
            Task::ReadBack => {
                let (is_told, pause, written_at) = {
                    let upkeep = self.upkeep();
                    let pause = match upkeep.watching {
                        Watching::No => READ_BACK_EVERY_MS,
                        Watching::Events => READ_BACK_WATCHED_MS,
                        Watching::Poll(_) => READ_BACK_POLLED_MS.max(upkeep.runs[task as usize].took_ms * POLL_PAUSES),
                    };
                    (upkeep.change.is_some(), pause, upkeep.written_at)
                };
                let at = began.filter(|_| !is_told).map_or(since, |began| began.plus_millis(pause));
                self.vault.exists().then_some(written_at.map_or(at, |written| written.min(at)))
            }
            Task::Tidy => (self.vault.exists() || !self.journal.files().is_empty()).then(|| first_or(EVERY_MS)),
            Task::Compact => {
                let lines = self.own_lines();
                let has_grown = lines.saturating_sub(lines_seen) >= GROWN_LINES.max(lines_seen / 10);
                (lines > GROWN_LINES).then(|| first_or(if has_grown { EVERY_MS } else { DAY_MS }))
            }
        }
    }

    fn is_on(&self, task: Task) -> bool {
        let on = &self.config.upkeep;
        match task {
            Task::Index => on.index,
            Task::ReadBack => on.read_back,
            Task::Tidy => on.tidy,
            Task::Compact => on.compact,
        }
    }

    /// Lines of this machine's journal, as far as it was read.
    fn own_lines(&self) -> u64 {
        let own = self.journal.replica().ok().flatten();
        self.journal.files().iter().filter(|file| Some(&file.replica) == own.as_ref()).map(|file| file.lines).sum()
    }

    /// Does one task; what came of it.
    fn do_task(&self, task: Task, now: Timestamp) -> Result<Came> {
        match task {
            Task::Index => {
                let said = match self.fold_index()? {
                    Some(count) => format!("memories folded in: {count}"),
                    None => "another process was at it".into(),
                };
                Ok(Came { said, ..Came::default() })
            }
            Task::ReadBack => {
                // What is told from here on is looked at the next time.
                let change = self.upkeep().change.take();
                if let Some(change) = &change {
                    self.distrust(change);
                }
                let mut read = self.read_back_at(now, false).inspect_err(|_| {
                    if let Some(change) = change {
                        self.vault_changed(change);
                    }
                })?;
                let counts = [
                    ("read back", &read.edited),
                    ("adopted", &read.adopted),
                    ("deleted", &read.vanished),
                    ("put away", &read.put_away),
                ];
                let mut done: Vec<String> = counts
                    .iter()
                    .filter(|(_, notes)| !notes.is_empty())
                    .map(|(what, notes)| format!("notes {what}: {}", notes.len()))
                    .collect();
                let reviewed = self.review_note(false, now, &mut read.problems);
                if !reviewed.is_empty() {
                    done.push(format!("boxes checked: {}", reviewed.len()));
                }
                let done = if done.is_empty() { "nothing had changed".into() } else { done.join(", ") };
                let has_changed = read.commit.is_some() || !reviewed.is_empty();
                let notes = [read.edited, read.adopted, read.vanished, read.put_away].concat();
                let has_changed = has_changed || !notes.is_empty();
                Ok(Came { notes, has_changed, ..with_problems(done, &read.problems) })
            }
            Task::Tidy => {
                let mut answer = TidyAnswer::default();
                self.finish_purges(now, &mut answer)?;
                self.forget_vanished(now)?;
                self.tidy_vault(&mut answer, false, now)?;
                self.review_note(true, now, &mut answer.problems);
                let done = format!("{} promoted, {} refreshed", answer.promoted.len(), answer.refreshed.len());
                let has_changed =
                    !answer.promoted.is_empty() || !answer.refreshed.is_empty() || answer.commit.is_some();
                let promoted = answer.promoted.into_iter().map(|promoted| promoted.note);
                let notes = promoted.chain(answer.refreshed).collect();
                Ok(Came { notes, has_changed, ..with_problems(done, &answer.problems) })
            }
            Task::Compact => {
                self.upkeep().lines_seen = self.own_lines();
                let (compaction, is_due) = self.compact_if_due(false, now)?;
                let (before, after) = (compaction.lines_before, compaction.lines_after);
                if !is_due {
                    let said = format!("not worth it: {before} lines would become {after}");
                    return Ok(Came { said, ..Came::default() });
                }
                self.refresh_at(now)?;
                self.upkeep().lines_seen = self.own_lines();
                let said = format!("{before} lines became {after}");
                Ok(Came { said, has_changed: true, ..Came::default() })
            }
        }
    }

    /// How upkeep stands in this process; nothing where it does none because it serves nobody.
    pub(super) fn upkeep_tasks(&self, now: Timestamp) -> Vec<UpkeepTask> {
        if self.upkeep().since.is_none() {
            return Vec::new();
        }
        let mut tasks = Vec::new();
        for task in Task::ALL {
            let next = self.due_at(task, now);
            let upkeep = self.upkeep();
            let run = &upkeep.runs[task as usize];
            let is_running = run.began.is_some() && run.outcome.is_empty();
            let outcome = match &upkeep.holder {
                _ if !self.config.server.upkeep && !upkeep.is_asked_for => "off: [server] upkeep = false".into(),
                _ if !self.is_on(task) => format!("off: [upkeep] {} = false", task.name()),
                Some(holder) => format!("done by another process ({})", holder.trim()),
                None if is_running => "running".into(),
                None if run.began.is_none() => "not yet".into(),
                None => run.outcome.clone(),
            };
            tasks.push(UpkeepTask {
                task: task.name().into(),
                last: run.began,
                took_ms: (run.began.is_some() && !is_running).then_some(run.took_ms),
                outcome,
                next: next.filter(|_| upkeep.holder.is_none()),
                also: upkeep.watching.how().filter(|_| task == Task::ReadBack && upkeep.holder.is_none()),
            });
        }
        tasks
    }

    /// Brings the index up to date where it lacks enough to be worth a commit. For commands that end right after.
    pub fn fold_if_worth_it(&self) {
        if self.store().without_document() >= FOLD_FROM * 5 {
            drop(self.fold_index());
        }
    }

    /// Brings the index up to date: how many memories came in, or none where another process is at it; then it is
    /// left to that one. A fault only makes recall slower; it is shown as a notice as well.
    pub(super) fn fold_index(&self) -> Result<Option<usize>> {
        // Without the file they are only made anew by the next process.
        drop(self.keep_meanings());
        let (missing, gone) = self.store().missing_documents();
        if missing.is_empty() && gone.is_empty() {
            return Ok(Some(0));
        }
        let count = missing.len();
        let is_purged = |id: &u64| self.store().state.is_purged(MemoryId::from_bits(*id));
        if gone.iter().any(is_purged) {
            // Its words would stay in the files until they are merged. What fails is tried again by the next purge.
            return self.rebuild_index().map(|()| Some(count));
        }
        let mut state = self.index();
        let opened = match state.index.take() {
            Some(index) => Ok(index),
            None if state.trouble.is_some() => Index::discard(&self.cache(), words::ANALYZER_VERSION),
            None => Index::ensure(&self.cache(), words::ANALYZER_VERSION),
        };
        // The store is held for one document at a time: requests go on meanwhile.
        let mut notes = PartDocuments::of(self);
        let documents = missing.into_iter().filter_map(|id| {
            let own = self.store().document(id);
            own.or_else(|| notes.document(id))
        });
        // Where another process is at it, its commit will be seen like this one's.
        let folded = opened.and_then(|index| index.fold_in(documents, &gone).map(|folded| (index, folded)));
        let (mut index, folded) = match folded {
            Ok(folded) => folded,
            // An index in the making is no damage.
            Err(Error::Busy { .. }) => return Ok(None),
            Err(error) => {
                state.trouble = Some(error.to_string());
                return Err(error);
            }
        };
        state.was_opened = true;
        let reloaded = index.reload();
        let mut store = self.store_mut();
        match reloaded.and_then(|()| store.rejoin(&index)) {
            Ok(()) => {
                state.trouble = None;
                state.index = Some(index);
                Index::remove_left_behind(&self.cache(), words::ANALYZER_VERSION);
                Ok((folded == Folded::Done).then_some(count))
            }
            Err(error) => {
                state.trouble = Some(error.to_string());
                store.leave_index();
                Err(error)
            }
        }
    }
}

/// Lets others write who wait for the home's lock, between two turns of a long task.
pub(super) fn let_others_write() {
    std::thread::sleep(BETWEEN_TURNS);
}

/// What was done, and the first of what a person should know.
fn with_problems(done: String, problems: &[String]) -> Came {
    let said = match problems {
        [] => done,
        [only] => format!("{done}; {only}"),
        [first, more @ ..] => format!("{done}; {first}; and {} more", more.len()),
    };
    Came { said, has_problems: !problems.is_empty(), ..Came::default() }
}
