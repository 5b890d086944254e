//! Fix: what can be mended without losing anything, and without deciding anything for a person.
//!
//! No lock of git is removed, no journal of another machine touched, no note written.

use super::{Finding, Repair};
use crate::clock::Timestamp;
use crate::engine::{Engine, TidyAnswer};
use crate::error::{Error, Result};
use crate::files;

impl Engine {
    /// Mends what can be mended. Returns what was done, and what failed, with the reason as what to do next; both are
    /// found again if they are still so.
    pub(super) fn fix(&self, findings: Vec<Finding>, now: Timestamp) -> (Vec<Finding>, Vec<Finding>) {
        let (mut fixed, mut failed) = (Vec::new(), Vec::new());
        let mut done: Vec<(Repair, Result<Option<String>, String>)> = Vec::new();
        let why = |error: Error| format!("it could not be mended: {error}; {}", error.hint());
        for finding in findings {
            let Some(repair) = finding.repair else { continue };
            let how = match repair {
                Repair::Protect | Repair::RemoveLeftover => self.mend_file(&finding, repair, now).map_err(why),
                // Once for all findings of its sort.
                _ => {
                    let known = done.iter().find(|(known, _)| *known == repair).map(|(_, how)| how.clone());
                    known.unwrap_or_else(|| {
                        let how = self.mend(repair, now).map_err(why);
                        done.push((repair, how.clone()));
                        how
                    })
                }
            };
            match how {
                Ok(Some(next)) => fixed.push(Finding { fixed: true, next, ..finding }),
                Ok(None) => {}
                Err(next) => failed.push(Finding { next, ..finding }),
            }
        }
        (fixed, failed)
    }

    fn mend_file(&self, finding: &Finding, repair: Repair, now: Timestamp) -> Result<Option<String>> {
        let Some(path) = &finding.file else { return Ok(None) };
        if repair == Repair::Protect {
            return Ok(Some(format!("its mode is {:04o} now", files::protect(path)?)));
        }
        // Under the lock, and only if it is still as old as it was: nobody else is writing it.
        let _guard = self.journal.lock()?;
        if !self.leftovers(now).contains(path) {
            return Ok(None);
        }
        files::remove(path)?;
        Ok(Some("it was removed".into()))
    }

    fn mend(&self, repair: Repair, now: Timestamp) -> Result<Option<String>> {
        match repair {
            Repair::SetAside => {
                let count = self.journal.set_aside(now)?.quarantined;
                let folder = self.home.join("quarantine").display().to_string();
                Ok((count > 0).then(|| format!("it was moved to {folder}; every other line is as it was")))
            }
            Repair::RebuildIndex => {
                self.rebuild_index()?;
                match self.index().trouble.clone() {
                    None => Ok(Some("a new index was built".into())),
                    Some(detail) => Err(Error::Index { action: "be built anew", detail }),
                }
            }
            Repair::Commit => {
                let mut answer = TidyAnswer::default();
                self.commit_leftovers(Vec::new(), now, &mut answer)?;
                Ok(answer.commit.map(|commit| format!("committed as {}", commit.get(..12).unwrap_or(&commit))))
            }
            Repair::EndLine => {
                let mut guard = self.journal.lock()?;
                self.refresh_at(now)?;
                Ok(guard.end_line()?.then(|| "it was ended".into()))
            }
            Repair::Protect | Repair::RemoveLeftover => Ok(None),
        }
    }
}
