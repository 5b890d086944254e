//! Fix: what can be mended without losing anything, and without deciding anything for a person.
//!
//! No lock of git is removed, no journal of another machine touched, no note written.

use super::{Finding, Repair};
use crate::clock::Timestamp;
use crate::engine::{Engine, TidyAnswer};
use crate::error::{Error, Result};
use crate::files;

impl Engine {
    /// Mends what can be mended. Returns what was done; what could not be done is found again.
    pub(super) fn fix(&self, findings: Vec<Finding>, now: Timestamp) -> Vec<Finding> {
        let mut fixed = Vec::new();
        let mut done: Vec<(Repair, Option<String>)> = Vec::new();
        for finding in findings {
            let Some(repair) = finding.repair else { continue };
            let how = match repair {
                Repair::Protect | Repair::RemoveLeftover => self.mend_file(&finding, repair, now).ok().flatten(),
                // Once for all findings of its sort.
                _ => {
                    let known = done.iter().find(|(known, _)| *known == repair).map(|(_, how)| how.clone());
                    known.unwrap_or_else(|| {
                        let how = self.mend(repair, now).ok().flatten();
                        done.push((repair, how.clone()));
                        how
                    })
                }
            };
            if let Some(next) = how {
                fixed.push(Finding { fixed: true, next, ..finding });
            }
        }
        fixed
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
            Repair::Protect | Repair::RemoveLeftover => Ok(None),
        }
    }
}
