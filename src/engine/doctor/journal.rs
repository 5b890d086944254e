//! What is wrong with the journals: damage, lines of another time or version, two writers under one id.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Area, Finding, Level, Repair, plural, span};
use crate::clock::{DAY_MS, Timestamp};
use crate::engine::Engine;
use crate::error::Result;
use crate::journal::{self, Audited, BadLine, Clash, Disguise, Gap, Loss};

/// Lines of one file that are named one by one.
const MOST_LINES: usize = 20;
/// How far the newest line of this machine may be ahead of its clock, milliseconds: clocks are corrected by seconds.
const CLOCK_SLACK_MS: i64 = 60_000;
/// How long a journal that was begun anew is more than a note, milliseconds.
const LOSS_TOLD_MS: i64 = 30 * DAY_MS;
/// Two machines have parted for good when neither wrote under a number of the other for so long, milliseconds.
const CLASH_OVER_MS: i64 = 7 * DAY_MS;

impl Engine {
    /// Lines that cannot be read, the first of each file one by one.
    pub(super) fn bad_line_findings(&self, bad: &[BadLine]) -> Vec<Finding> {
        if bad.is_empty() {
            return Vec::new();
        }
        let own = self.journal.own_file().ok().flatten();
        let mut findings = Vec::new();
        for lines in bad.chunk_by(|a, b| a.path == b.path) {
            if let Some(finding) = self.disguise_finding(lines) {
                findings.push(finding);
                continue;
            }
            findings.extend(lines.iter().take(MOST_LINES).map(|bad| {
                if bad.is_empty {
                    let what = "a byte order mark is before the first line, as some editors write it";
                    let next = "nothing to do: it is skipped, and the line is read";
                    return Finding::note(Area::Journal, what, next).of(&bad.path).at(bad.line, bad.offset);
                }
                let what = format!("a line cannot be read: {}", bad.why);
                let is_own = own.as_ref() == Some(&bad.path);
                let next = match (bad.is_newer, is_own) {
                    (true, _) => "it is skipped and kept: update Ebbmark",
                    (false, true) => "it is skipped and kept; `ebbmark doctor --fix` moves it to the quarantine folder",
                    (false, false) => {
                        "it is skipped and kept; only the machine that writes this file can move it to quarantine"
                    }
                };
                let finding = Finding::error(Area::Journal, what, next).of(&bad.path).at(bad.line, bad.offset);
                if is_own && !bad.is_newer { finding.by(Repair::SetAside) } else { finding }
            }));
            if let Some(next) = lines.get(MOST_LINES) {
                let more = (lines.len() - MOST_LINES) as u64;
                let what = format!("from here on {} cannot be read", plural(more, "more line", "more lines"));
                let finding = Finding::error(Area::Journal, what, "as with the lines before");
                let finding = Finding { count: more, ..finding.of(&next.path).at(next.line, next.offset) };
                let is_own = own.as_ref() == Some(&next.path) && lines.iter().all(|bad| !bad.is_newer);
                findings.push(if is_own { finding.by(Repair::SetAside) } else { finding });
            }
        }
        findings
    }

    /// What another program made of a file, where that is why its lines cannot be read.
    fn disguise_finding(&self, lines: &[BadLine]) -> Option<Finding> {
        let first = lines.first()?;
        let path = first.path.display();
        let disguise = journal::disguise(&first.path, first.offset)?;
        let all = self.journal.files().iter().find(|file| file.path == first.path).map_or(0, |file| file.lines);
        // One line that somebody broke in two is a damaged line.
        if matches!(disguise, Disguise::Reformatted { .. }) && (lines.len() as u64) < all.div_ceil(2) {
            return None;
        }
        let (what, next) = match disguise {
            Disguise::Utf16(name) => (
                "this file is UTF-16: none of its lines can be read".to_owned(),
                format!(
                    "convert it back: `iconv -f {name} -t UTF-8 '{path}' > NEW`, look at NEW, and put it in its place"
                ),
            ),
            Disguise::Reformatted { is_array } => (
                "another program laid this file out anew: its lines cannot be told from damaged ones".to_owned(),
                format!(
                    "restore it from a backup, or bring it back: `jq -c {} '{path}' > NEW`, and put NEW in its place; nothing \
                     else is done to it",
                    if is_array { "'.[]'" } else { "." }
                ),
            ),
        };
        Some(Finding::error(Area::Journal, what, next).of(&first.path).at(first.line, first.offset))
    }

    /// Files that cannot be read, or that are none.
    pub(super) fn unreadable_findings(&self) -> Vec<Finding> {
        let missing = "what that journal tells is missing until it can be read";
        let unreadable = self.journal.unreadable_files().into_iter().map(|file| {
            let next = if file.is_denied {
                format!("{missing}: give yourself the right, `chmod u+rw '{}'`", file.path.display())
            } else {
                missing.to_owned()
            };
            Finding::error(Area::Journal, file.why, next).of(&file.path)
        });
        let own = self.journal.own_file().ok().flatten();
        let no_files = self.journal.no_files().into_iter().map(|path| {
            let what = if path.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
            let what = format!("{what} is named like a journal: a journal is a file");
            let next = if own.as_ref() == Some(&path) {
                "move it away: nothing can be saved while it is where this machine's journal belongs"
            } else {
                "it is passed over; give it another name, or move it away"
            };
            Finding::error(Area::Journal, what, next).of(&path)
        });
        unreadable.chain(no_files).collect()
    }

    /// Lines that were there and are gone with their files.
    pub(super) fn loss_findings(&self, now: Timestamp) -> Vec<Finding> {
        let mut findings = Vec::new();
        let back = "restore it from a backup, or from a machine that syncs it";
        match self.journal.loss() {
            Ok(Some(Loss::Whole { path, reached })) => {
                let state = if path.exists() { "is empty" } else { "is missing" };
                let what = format!("the journal of this machine {state}: it had lines up to number {reached} at least");
                let next = format!("{back}; what is saved before that goes into a journal that begins anew");
                findings.push(Finding::error(Area::Journal, what, next).of(&path));
            }
            Ok(Some(Loss::Before { path, number, at })) => {
                let what = format!("this journal was begun anew at number {number}: what came before is missing");
                let next = format!("{back} under another name that ends in .jsonl: both will be read");
                let is_recent = now.millis().saturating_sub(at.millis()) < LOSS_TOLD_MS;
                let level = if is_recent { Level::Warning } else { Level::Note };
                findings.push(Finding::new(level, Area::Journal, what, next).of(&path).at(1, 0));
            }
            // Who cannot read the file `replica` is told so elsewhere.
            Ok(None) | Err(_) => {}
        }
        for replica in self.journal.vanished() {
            let what = format!("the journal of replica {replica} is gone or empty: this process had read its lines");
            let next = format!("if nobody meant to remove it, {back}");
            findings.push(Finding::warning(Area::Journal, what, next).of(&self.home.join("short-term")));
        }
        findings
    }

    /// Lines whose operation this version does not know.
    pub(super) fn unknown_findings(&self) -> Vec<Finding> {
        let files = self.journal.unknown_lines().into_iter();
        let findings = files.map(|(path, count)| {
            let said = plural(count, "line says something", "lines say something");
            let what = format!("{said} that this version does not know: written by a newer Ebbmark?");
            Finding::note(Area::Journal, what, "they are kept and skipped; a newer version may read them").of(&path)
        });
        findings.collect()
    }

    /// Bytes at the end of a file that are no whole line.
    pub(super) fn torn_findings(&self, now: Timestamp) -> Vec<Finding> {
        let torn = self.journal.torn_tails();
        let unended = self.journal.unended_files();
        if torn.is_empty() && unended.is_empty() || self.refresh_at(now).is_err() {
            return Vec::new();
        }
        // Another process may have been in the middle of a write: then that line is whole by now.
        let mut still = self.journal.torn_tails();
        let bad = self.journal.bad_lines();
        // Half a character of UTF-16 is nothing by itself.
        let is_disguised = |path: &Path| {
            let mut lines = bad.chunk_by(|a, b| a.path == b.path);
            lines.any(|lines| lines[0].path == path && self.disguise_finding(lines).is_some())
        };
        still.retain(|tail| torn.contains(tail) && !is_disguised(&tail.0));
        let torn = still.iter().map(|(path, begins, bytes)| self.torn_finding(path, *begins, *bytes));
        let own = self.journal.own_file().ok().flatten();
        let mut still = self.journal.unended_files();
        still.retain(|line| unended.contains(line));
        let unended = still.iter().map(|(path, line)| {
            let is_own = own.as_ref() == Some(path);
            let next = if is_own { "`ebbmark doctor --fix` ends it" } else { "nothing to do" };
            let what = "the last line has no line end; it is whole, and read all the same";
            let finding = Finding { line: Some(*line), ..Finding::note(Area::Journal, what, next).of(path) };
            if is_own { finding.by(Repair::EndLine) } else { finding }
        });
        torn.chain(unended).collect()
    }

    pub(super) fn torn_finding(&self, path: &Path, begins: u64, bytes: u64) -> Finding {
        let what = format!("{} at its end are no whole line", plural(bytes, "byte", "bytes"));
        let next = "a crash left them, or a write is in progress; the next write begins a line of its own";
        let line = self.journal.files().iter().find(|file| file.path == path).map_or(1, |file| file.lines + 1);
        Finding::warning(Area::Journal, what, next).of(path).at(line, begins)
    }

    pub(super) fn has_future_lines(&self, now: Timestamp) -> bool {
        self.journal.lines_from_the_future() > 0 && self.journal.newest_order() > now.millis() + DAY_MS
    }

    /// Lines from the future, without their places.
    pub(super) fn future_summary(&self, now: Timestamp) -> Option<Finding> {
        self.has_future_lines(now).then(|| future(self.journal.lines_from_the_future()))
    }

    /// Whether this machine's clock was set back, or was never set.
    pub(super) fn clock_findings(&self, now: Timestamp) -> Option<Finding> {
        if now < Timestamp::FORMAT_BIRTH {
            let what = format!("the clock says {now}: it is not set");
            return Some(Finding::error(Area::Clock, what, "set the clock before anything is remembered"));
        }
        // No line is later than its order: mostly this is all that is asked.
        if self.journal.newest_order() <= now.millis() + CLOCK_SLACK_MS {
            return None;
        }
        let replica = self.journal.replica().ok().flatten()?;
        let newest = self.journal.newest_line_of(&replica)?;
        let ahead = newest.millis() - now.millis();
        let what =
            format!("the newest line of this machine is {} ahead of its clock: the clock was set back", span(ahead));
        let next = "check the clock; new lines keep their order all the same, and nothing fades early";
        let path = self.journal.own_file().ok().flatten()?;
        (ahead > CLOCK_SLACK_MS).then(|| Finding::warning(Area::Clock, what, next).of(&path))
    }

    /// Several files of one replica: copies, which change nothing, or two writers.
    pub(super) fn twin_findings(&self, now: Timestamp) -> Result<Vec<Finding>> {
        let mut by_replica: BTreeMap<String, u64> = BTreeMap::new();
        for file in self.journal.files() {
            *by_replica.entry(file.replica).or_default() += 1;
        }
        by_replica.retain(|_, count| *count > 1);
        if by_replica.is_empty() {
            return Ok(Vec::new());
        }
        let mut audit = self.journal.audit()?;
        audit.retain(|file| by_replica.contains_key(&file.replica));
        let mut findings = self.clash_findings(&audit, now);
        for replica in by_replica.keys() {
            let mut files: Vec<&Audited> = audit.iter().filter(|file| file.replica == *replica).collect();
            let is_named = |file: &&Audited| file.path.file_stem().is_some_and(|stem| stem == replica.as_str());
            files.sort_by_key(|file| (!is_named(file), &file.path));
            let Some((first, copies)) = files.split_first() else { continue };
            findings.extend(copies.iter().map(|copy| copy_finding(first, copy)));
        }
        Ok(findings)
    }

    /// Two lines under one number: of two machines that write as one, or of a time when they did.
    pub(super) fn clash_findings(&self, audit: &[Audited], now: Timestamp) -> Vec<Finding> {
        let own = self.journal.replica().ok().flatten();
        let clashes = journal::clashes(audit);
        let of_files = clashes.chunk_by(|a, b| a.path == b.path);
        let findings = of_files.filter_map(|of_file| {
            let newest = of_file.iter().map(|clash| clash.at).max()?;
            let is_over = own.as_deref() != Some(&of_file.first()?.replica)
                || now.millis().saturating_sub(newest.millis()) > CLASH_OVER_MS;
            clash_finding(of_file, is_over)
        });
        findings.collect()
    }
}

/// Lines from the future, by file, at the first of them.
pub(super) fn future_findings(audit: &[Audited], now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in audit {
        let mut ahead = file.lines.iter().filter(|line| line.order > now.millis() + DAY_MS);
        if let Some(first) = ahead.next() {
            findings.push(future(1 + ahead.count() as u64).of(&file.path).at(first.line, first.offset));
        }
    }
    findings
}

/// Where the clock of the machine that wrote a file was set back by more than a day.
pub(super) fn jump_findings(audit: &[Audited]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in audit {
        let numbered: Vec<_> = file.lines.iter().filter(|line| line.number.is_some()).collect();
        for pair in numbered.windows(2) {
            let back = pair[0].at.millis() - pair[1].at.millis();
            if back > DAY_MS && pair[0].number < pair[1].number {
                let what = format!("the clock went back by {} before this line was written", span(back));
                let next = "nothing to do; the order of what was remembered is kept";
                findings.push(Finding::note(Area::Clock, what, next).of(&file.path).at(pair[1].line, pair[1].offset));
            }
        }
    }
    findings
}

fn clash_finding(of_file: &[Clash], is_over: bool) -> Option<Finding> {
    let first = of_file.first()?;
    let who = if is_over { "wrote" } else { "write" };
    let what = format!(
        "two machines {who} as replica {}: line number {} says something else in {}{}",
        first.replica,
        first.number,
        first.other.display(),
        match of_file.len() - 1 {
            0 => String::new(),
            more => format!(", and so do {more} more"),
        }
    );
    let finding = if is_over {
        Finding::note(Area::Replica, what, "nothing to do: both are read; keep both files")
    } else {
        let next = "both are read, nothing is lost yet; on one of the two machines remove its line from the file \
                    `replica`: it gets an id of its own";
        Finding::error(Area::Replica, what, next)
    };
    Some(finding.of(&first.path).at(first.line, first.offset))
}

fn copy_finding(first: &Audited, copy: &Audited) -> Finding {
    let only_here = first.lacks(copy);
    let what = format!("a second file of replica {}, as a sync program leaves it; each line counts once", copy.replica);
    let next = if only_here == 0 && copy.bad.is_empty() && copy.torn.is_none() {
        format!("{} has all its lines: it may be removed", first.path.display())
    } else if only_here == 0 {
        "keep it until somebody looked at what in it cannot be read".to_owned()
    } else {
        format!("keep it: {} only here", plural(only_here, "line is", "lines are"))
    };
    Finding::note(Area::Journal, what, next).of(&copy.path)
}

fn future(count: u64) -> Finding {
    let what = format!("{} dated more than a day ahead of the clock", plural(count, "line is", "lines are"));
    Finding::warning(Area::Journal, what, "check the clocks of your machines")
}

/// Numbers that no file of a machine has.
pub(super) fn gap_findings(audit: &[Audited]) -> Vec<Finding> {
    let gaps = journal::gaps(audit);
    gaps.iter().map(gap_finding).collect()
}

fn gap_finding(gap: &Gap) -> Finding {
    let numbers = if gap.first == gap.last {
        format!("number {}", gap.first)
    } else {
        format!("numbers {} to {}", gap.first, gap.last)
    };
    let what = format!("lines are missing before this one: {numbers}");
    let finding = if gap.is_certain {
        Finding::error(Area::Journal, what, "restore the file from a backup under another name: both will be read")
    } else {
        Finding::note(Area::Journal, what, "compaction may have taken them: the file has lost the line that tells")
    };
    finding.of(&gap.path).at(gap.line, gap.offset)
}
