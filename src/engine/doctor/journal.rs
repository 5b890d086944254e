//! What is wrong with the journals: damage, lines of another time or version, two writers under one id.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Area, Finding, Repair, plural, span};
use crate::clock::{DAY_MS, Timestamp};
use crate::engine::Engine;
use crate::error::Result;
use crate::journal::{self, Audited, BadLine, Gap};

/// Lines of one file that are named one by one.
const MOST_LINES: usize = 20;
/// How far the newest line of this machine may be ahead of its clock, milliseconds: clocks are corrected by seconds.
const CLOCK_SLACK_MS: i64 = 60_000;

impl Engine {
    /// Lines that cannot be read, the first of each file one by one.
    pub(super) fn bad_line_findings(&self, bad: &[BadLine]) -> Vec<Finding> {
        if bad.is_empty() {
            return Vec::new();
        }
        let own = self.journal.own_file().ok().flatten();
        let mut findings = Vec::new();
        for lines in bad.chunk_by(|a, b| a.path == b.path) {
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
                findings.push(finding.of(&next.path).at(next.line, next.offset));
            }
        }
        findings
    }

    pub(super) fn unreadable_findings(&self) -> Vec<Finding> {
        let next = "what that journal tells is missing until it can be read";
        let files = self.journal.unreadable_files().into_iter();
        files.map(|(path, why)| Finding::error(Area::Journal, why, next).of(&path)).collect()
    }

    /// Bytes at the end of a file that are no whole line.
    pub(super) fn torn_findings(&self, now: Timestamp) -> Vec<Finding> {
        let torn = self.journal.torn_tails();
        if torn.is_empty() || self.refresh_at(now).is_err() {
            return Vec::new();
        }
        // Another process may have been in the middle of a write: then that line is whole by now.
        let mut still = self.journal.torn_tails();
        still.retain(|tail| torn.contains(tail));
        still.iter().map(|(path, begins, bytes)| self.torn_finding(path, *begins, *bytes)).collect()
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
    pub(super) fn twin_findings(&self) -> Result<Vec<Finding>> {
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
        let mut findings = clash_findings(&audit);
        for replica in by_replica.keys() {
            let mut files: Vec<&Audited> = audit.iter().filter(|file| file.replica == *replica).collect();
            let is_named = |file: &&Audited| file.path.file_stem().is_some_and(|stem| stem == replica.as_str());
            files.sort_by_key(|file| (!is_named(file), &file.path));
            let Some((first, copies)) = files.split_first() else { continue };
            findings.extend(copies.iter().map(|copy| copy_finding(first, copy)));
        }
        Ok(findings)
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

/// Two lines under one number.
pub(super) fn clash_findings(audit: &[Audited]) -> Vec<Finding> {
    let clashes = journal::clashes(audit);
    let mut findings = Vec::new();
    for of_file in clashes.chunk_by(|a, b| a.path == b.path) {
        let Some(first) = of_file.first() else { continue };
        let what = format!(
            "two machines write as replica {}: line number {} says something else in {}{}",
            first.replica,
            first.number,
            first.other.display(),
            match of_file.len() - 1 {
                0 => String::new(),
                more => format!(", and so do {more} more"),
            }
        );
        let next = "both are read, nothing is lost yet; on one of the two machines remove its line from the file \
                    `replica`: it gets an id of its own";
        findings.push(Finding::error(Area::Replica, what, next).of(&first.path).at(first.line, first.offset));
    }
    findings
}

fn copy_finding(first: &Audited, copy: &Audited) -> Finding {
    let known: std::collections::BTreeSet<u64> = first.lines.iter().filter_map(|line| line.number).collect();
    let own = copy.lines.iter().filter(|line| line.number.is_none_or(|number| !known.contains(&number))).count();
    let what = format!("a second file of replica {}, as a sync program leaves it; each line counts once", copy.replica);
    let next = if own == 0 && copy.bad.is_empty() {
        format!("{} has all its lines: it may be removed", first.path.display())
    } else {
        format!("keep it: {} lacks {}", first.path.display(), plural(own as u64, "line", "lines"))
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
