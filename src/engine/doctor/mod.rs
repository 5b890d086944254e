//! Doctor: every degraded state, from one source. `doctor`, `inspect health` and the notice of recall name the same.
//!
//! There are three ways to know of one. What a process knows anyway costs nothing and is looked at by every recall.
//! What a look at some files tells is looked at whenever the vault is read back. What takes the reading of all notes,
//! and with `deep` of everything, is looked at on request and by `tidy`. Recall shows what was found last.

mod deep;
mod fix;
mod journal;
mod places;
mod vault;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Engine, UpkeepTask, lenient};
use crate::clock::{DAY_MS, HOUR_MS, Timestamp};
use crate::config::Durability;
use crate::error::{Error, Result};
use crate::files;

/// How often a serving process looks around, milliseconds.
const LOOK_EVERY_MS: i64 = 10_000;

/// Pause before what was found is looked at again: programs save in two steps.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How long another process is waited for that writes.
const WRITERS_WAIT: Duration = Duration::from_secs(1);

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know; nothing is wrong.
    Note,
    /// Something works less well than it should.
    Warning,
    /// Something is damaged, or cannot be done.
    Error,
}

impl Level {
    /// The word used in replies.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Lines and files of the journal.
    Journal,
    /// Bytes that were set aside.
    Quarantine,
    /// Notes.
    Vault,
    /// The derived index.
    Index,
    /// The repository of the vault.
    Git,
    /// Who may read and write.
    Permissions,
    /// The clocks of the machines.
    Clock,
    /// Where home and vault lie.
    Place,
    /// Which machine writes which file.
    Replica,
    /// `config.toml`.
    Configuration,
    /// When a memory counts as kept.
    Durability,
}

impl Area {
    /// The word used in replies.
    pub fn as_str(self) -> &'static str {
        match self {
            Area::Journal => "journal",
            Area::Quarantine => "quarantine",
            Area::Vault => "vault",
            Area::Index => "index",
            Area::Git => "git",
            Area::Permissions => "permissions",
            Area::Clock => "clock",
            Area::Place => "place",
            Area::Replica => "replica",
            Area::Configuration => "configuration",
            Area::Durability => "durability",
        }
    }
}

/// What `fix` does about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// Take the mode bits of others from a file or folder of ours.
    Protect,
    /// Remove a temporary file of ours.
    RemoveLeftover,
    /// Move lines of our own journal to quarantine.
    SetAside,
    /// Leave the index behind and build a new one.
    RebuildIndex,
    /// Make the commits that are missing.
    Commit,
    /// End the last line of our own journal.
    EndLine,
}

/// Something that is not as it should be, or good to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What it is about.
    pub area: Area,
    /// What.
    pub what: String,
    /// The file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line in it, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Where that line begins, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// What to do; where it is fixed, what was done.
    pub next: String,
    /// Whether `fix` did it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// How many things it stands for.
    #[serde(skip)]
    pub(in crate::engine) count: u64,
    #[serde(skip)]
    repair: Option<Repair>,
}

impl Finding {
    fn new(level: Level, area: Area, what: impl Into<String>, next: impl Into<String>) -> Self {
        let (what, next) = (what.into(), next.into());
        Finding { level, area, what, file: None, line: None, byte: None, next, fixed: false, count: 1, repair: None }
    }

    fn note(area: Area, what: impl Into<String>, next: impl Into<String>) -> Self {
        Finding::new(Level::Note, area, what, next)
    }

    fn warning(area: Area, what: impl Into<String>, next: impl Into<String>) -> Self {
        Finding::new(Level::Warning, area, what, next)
    }

    fn error(area: Area, what: impl Into<String>, next: impl Into<String>) -> Self {
        Finding::new(Level::Error, area, what, next)
    }

    fn of(self, file: &Path) -> Self {
        Finding { file: Some(file.to_owned()), ..self }
    }

    fn at(self, line: u64, byte: u64) -> Self {
        Finding { line: Some(line), byte: Some(byte), ..self }
    }

    fn by(self, repair: Repair) -> Self {
        Finding { repair: Some(repair), ..self }
    }

    /// Where it is: file, line and byte, as far as it has them.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?.display();
        let line = self.line.map_or(String::new(), |line| format!(", line {line}"));
        let byte = self.byte.map_or(String::new(), |byte| format!(", byte {byte}"));
        Some(format!("{file}{line}{byte}"))
    }

    /// Whether something is wrong and still so.
    fn is_open(&self) -> bool {
        self.level > Level::Note && !self.fixed
    }
}

/// How the home and vault are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Whether nothing is wrong: there may be notes.
    pub ok: bool,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// What a serving process does by itself; absent elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upkeep: Vec<UpkeepTask>,
}

/// A request to the doctor.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DoctorRequest {
    /// Read everything again and compare: journals, notes, index, the last commit.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub deep: Option<bool>,
    /// Mend what can be mended without losing anything.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub fix: Option<bool>,
}

/// What the doctor found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorAnswer {
    /// Whether nothing is wrong: there may be notes, and what is fixed.
    pub ok: bool,
    /// Whether everything was read again.
    pub deep: bool,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// Memories that exist.
    pub memories: u64,
    /// Of these, with a note in the vault.
    pub promoted: u64,
    /// Lines in all journals.
    pub journal_lines: u64,
}

impl DoctorAnswer {
    /// The worst that was found and is not fixed.
    pub fn worst(&self) -> Option<Level> {
        self.findings.iter().filter(|finding| !finding.fixed).map(|finding| finding.level).max()
    }
}

/// What this process saw when it last looked.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// When it last looked at some files.
    at: Option<Timestamp>,
    /// By a look at some files.
    around: Vec<Finding>,
    /// By reading all notes.
    closely: Vec<Finding>,
}

impl Engine {
    /// Looks for everything that is not as it should be. Without `fix` nothing is changed.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be read. What cannot be fixed is no error.
    pub fn doctor(&self, request: &DoctorRequest) -> Result<DoctorAnswer> {
        let now = self.clock.now();
        let deep = request.deep.unwrap_or(false);
        self.refresh_at(now)?;
        let mut findings = self.findings(deep, now)?;
        let may_fix = request.fix.unwrap_or(false) && self.config_trouble.is_none();
        if may_fix && findings.iter().any(|finding| finding.repair.is_some()) {
            let (mut fixed, failed) = self.fix(findings, now);
            self.refresh_at(now)?;
            findings = self.findings(deep, now)?;
            for still in &mut findings {
                if let Some(failed) = failed.iter().find(|failed| is_same(failed, still)) {
                    still.next.clone_from(&failed.next);
                }
            }
            fixed.retain(|fixed| !findings.iter().any(|still| is_same(fixed, still)));
            findings.extend(fixed);
            findings.sort_by(worst_first);
        }
        // Before the store is held: a reader holds the journal and waits for the store.
        let journal_lines = self.journal.files().iter().map(|file| file.lines).sum();
        let store = self.store();
        Ok(DoctorAnswer {
            ok: !findings.iter().any(Finding::is_open),
            deep,
            findings,
            memories: store.state.memories().count() as u64,
            promoted: store.state.memories().filter(|memory| memory.is_promoted()).count() as u64,
            journal_lines,
        })
    }

    /// Every degraded state that can be seen without reading everything again.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be listed.
    pub(super) fn health(&self, now: Timestamp) -> Result<Health> {
        let findings = self.findings(false, now)?;
        Ok(Health { ok: !findings.iter().any(Finding::is_open), findings, upkeep: self.upkeep_tasks(now) })
    }

    fn findings(&self, deep: bool, now: Timestamp) -> Result<Vec<Finding>> {
        self.look_around(now);
        self.look_closely(now)?;
        let mut findings = if deep { self.deep_findings(now)? } else { self.known_findings(true, now)? };
        let looked = self.looked();
        findings.extend(looked.around.iter().chain(&looked.closely).cloned());
        findings.sort_by(worst_first);
        findings.dedup();
        Ok(findings)
    }

    /// What this process knows without looking. With `locate`, lines from the future are searched for in their files.
    fn known_findings(&self, locate: bool, now: Timestamp) -> Result<Vec<Finding>> {
        let mut findings = self.bad_line_findings(&self.journal.bad_lines());
        findings.extend(self.unreadable_findings());
        findings.extend(self.loss_findings(now));
        findings.extend(self.unknown_findings());
        if locate && self.has_future_lines(now) {
            findings.extend(journal::future_findings(&self.journal.audit()?, now));
        } else {
            findings.extend(self.future_summary(now));
        }
        findings.extend(self.clock_findings(now));
        findings.extend(self.index_findings());
        findings.extend(self.configuration_findings());
        findings.extend(self.durability_finding());
        Ok(findings)
    }

    /// Looks at what a few files tell: some hundred microseconds. What it finds is shown by recall until the next look.
    pub(super) fn look_around(&self, now: Timestamp) {
        let mut around = self.torn_findings(now);
        around.extend(self.read_only_finding());
        around.extend(self.home_findings(now));
        around.extend(self.place_findings());
        around.extend(self.replica_findings());
        around.extend(self.git_findings(now));
        // Counts all memories: too slow for every recall.
        around.extend(self.absent_vault_finding());
        let mut looked = self.looked();
        looked.around = around;
        looked.at = Some(now);
    }

    /// As [`Engine::look_around`], where the last look was a while ago: a process that serves keeps its eyes open,
    /// also where another one does the upkeep.
    pub(super) fn look_again(&self, now: Timestamp) {
        let at = self.looked().at;
        if at.is_none_or(|at| !(0..LOOK_EVERY_MS).contains(&(now.millis() - at.millis()))) {
            self.look_around(now);
        }
    }

    /// Looks at every note, and what git has of them.
    pub(super) fn look_closely(&self, now: Timestamp) -> Result<()> {
        let mut closely = self.seen_twice(|| self.vault_findings()).unwrap_or_else(|error| {
            vec![Finding::error(Area::Vault, error.to_string(), error.hint()).of(self.vault.root())]
        });
        closely.extend(self.uncommitted_findings());
        closely.extend(self.writable_findings());
        closely.extend(self.twin_findings(now)?);
        closely.extend(self.unfinished_purge_finding(now));
        self.looked().closely = closely;
        Ok(())
    }

    /// What is found twice: another process may be between two steps, or a person's editor, when it is found once.
    fn seen_twice(&self, look: impl Fn() -> Result<Vec<Finding>>) -> Result<Vec<Finding>> {
        let first = look()?;
        if !first.iter().any(Finding::is_open) {
            return Ok(first);
        }
        std::thread::sleep(BETWEEN_LOOKS);
        // Whoever is between a note and its line holds the home's lock.
        let writers = self.home.join("lock");
        if writers.exists() {
            drop(files::Lock::acquire(&writers, &files::Patience::new(WRITERS_WAIT)));
        }
        self.refresh()?;
        let mut second = look()?;
        second.retain(|finding| !finding.is_open() || first.iter().any(|known| is_same(known, finding)));
        Ok(second)
    }

    fn looked(&self) -> std::sync::MutexGuard<'_, Looked> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why answers may be less than usual: the worst that is known, how much more there is, and who says it all.
    pub(super) fn notice(&self, now: Timestamp) -> Option<String> {
        let mut known = self.known_findings(false, now).unwrap_or_default();
        let looked = self.looked();
        if looked.at.is_none() {
            // A process that does no upkeep has not looked around.
            known.extend(self.read_only_finding());
        }
        let all = known.iter().chain(&looked.around).chain(&looked.closely);
        let wrong: Vec<&Finding> = all.filter(|finding| finding.is_open()).collect();
        let worst = wrong.iter().min_by(|a, b| worst_first(a, b))?;
        let place = worst.place().map_or(String::new(), |place| format!(" ({place})"));
        let more = match wrong.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Some(format!("{}: {}{place}{more}; `ebbmark doctor` says what to do", worst.level.as_str(), worst.what))
    }

    /// Whether the notice of recall tells of an error.
    pub fn is_told(&self, error: &Error) -> bool {
        let looked = self.looked();
        let text = error.to_string();
        let unseen = self.read_only_finding();
        looked
            .around
            .iter()
            .chain(&looked.closely)
            .chain(&unseen)
            .any(|finding| finding.is_open() && finding.what.contains(&text))
    }

    /// Why the index is not used.
    fn index_findings(&self) -> Option<Finding> {
        // While this process is committing to it, it is in use.
        let trouble = self.index.try_lock().ok()?.trouble.clone()?;
        let what = format!("{trouble}; every memory is still searched, only slower");
        Some(
            Finding::warning(Area::Index, what, "`ebbmark doctor --fix` builds it anew")
                .of(&self.cache())
                .by(Repair::RebuildIndex),
        )
    }

    /// That text which was to be erased is still in the journal.
    fn unfinished_purge_finding(&self, now: Timestamp) -> Option<Finding> {
        let count = self.unfinished_purges(now);
        let what = format!("{} purged and still in the journal", plural(count, "memory was", "memories were"));
        let finding = Finding::error(Area::Journal, what, "`ebbmark tidy` finishes it, or says what is in the way");
        let file = self.journal.own_file().ok().flatten();
        (count > 0).then(|| finding.of(file.as_deref().unwrap_or(&self.home)))
    }

    fn durability_finding(&self) -> Option<Finding> {
        let what = "`durability = \"interval\"`: a power cut takes what was acknowledged in the last two seconds";
        let finding =
            Finding::note(Area::Durability, what, "`durability = \"always\"` takes nothing and waits for the disk");
        (self.config.durability == Durability::Interval).then(|| finding.of(&self.home.join("config.toml")))
    }

    fn configuration_findings(&self) -> Vec<Finding> {
        let path = self.home.join("config.toml");
        let mut findings: Vec<Finding> = Vec::new();
        if let Some(trouble) = &self.config_trouble {
            let next = "correct that line: until then every other command refuses, and this one looked with the \
                        defaults, also for the vault";
            findings.push(Finding::error(Area::Configuration, trouble.as_str(), next).of(&path));
        }
        if let Some(trouble) = self.meaning_trouble() {
            let what = format!("recall.model: {trouble}; memories are found by their words only");
            let next = "name a table that can be read, or `built-in`, or `off`";
            findings.push(Finding::warning(Area::Configuration, what, next).of(&path));
        }
        findings.extend(self.warnings.iter().map(|warning| {
            Finding::warning(Area::Configuration, warning.as_str(), "correct or remove that key").of(&path)
        }));
        findings
    }
}

/// Worst first, then by what it is about and where it is.
fn worst_first(a: &Finding, b: &Finding) -> std::cmp::Ordering {
    let key = |finding: &Finding| (Reverse(finding.level), finding.area, finding.file.clone(), finding.byte);
    key(a).cmp(&key(b)).then_with(|| a.what.cmp(&b.what))
}

/// Whether a finding is there still, fixed or not.
fn is_same(a: &Finding, b: &Finding) -> bool {
    (a.area, &a.what, &a.file, a.byte) == (b.area, &b.what, &b.file, b.byte)
}

/// `N one` or `N many`.
fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A span of time in the largest unit that fits.
fn span(millis: i64) -> String {
    let count = |unit: i64| (millis / unit).unsigned_abs();
    match millis {
        _ if millis >= 2 * DAY_MS => plural(count(DAY_MS), "day", "days"),
        _ if millis >= 2 * HOUR_MS => plural(count(HOUR_MS), "hour", "hours"),
        _ if millis >= 120_000 => plural(count(60_000), "minute", "minutes"),
        _ => plural(count(1000), "second", "seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_the_unit_that_fits() {
        let told = [999, 1000, 119_999, 120_000, 2 * HOUR_MS - 1, 3 * HOUR_MS, 47 * HOUR_MS, 48 * HOUR_MS].map(span);
        assert_eq!(
            told,
            ["0 seconds", "1 second", "119 seconds", "2 minutes", "119 minutes", "3 hours", "47 hours", "2 days"]
        );
    }
    #[test]
    fn what_is_gone_at_the_second_look_was_no_fault() {
        let root = tempfile::tempdir().unwrap();
        let engine = Engine::open(crate::engine::Options {
            home: root.path().join("home"),
            vault: None,
            default_vault: root.path().join("vault"),
            user_home: None,
            machine: "machine".into(),
            replica: None,
            clock: crate::clock::Clock::Fixed(Timestamp::from_millis(0)),
            randomness: crate::id::Randomness::Seeded(1),
            time_zone: jiff::tz::TimeZone::UTC,
        })
        .unwrap();
        let (bad, other) = (Finding::warning(Area::Vault, "gone", ""), Finding::warning(Area::Vault, "new", ""));
        let note = Finding::note(Area::Vault, "known", "");
        for (first, second, told, looks) in [
            (vec![], vec![bad.clone()], vec![], 1),
            (vec![note.clone()], vec![], vec![note.clone()], 1),
            (vec![bad.clone()], vec![], vec![], 2),
            (vec![bad.clone()], vec![bad.clone(), other.clone(), note.clone()], vec![bad, note], 2),
        ] {
            let count = std::cell::Cell::new(0);
            let found = engine.seen_twice(|| {
                count.set(count.get() + 1);
                Ok(if count.get() == 1 { first.clone() } else { second.clone() })
            });
            assert_eq!((found.unwrap(), count.get()), (told, looks), "{first:?} {second:?}");
        }
    }
}
