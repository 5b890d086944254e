//! Deep: everything is read again and compared, as if nothing were known.

use super::journal::{future_findings, gap_findings, jump_findings};
use super::{Area, Finding, Repair, plural};
use crate::clock::Timestamp;
use crate::engine::Engine;
use crate::engine::own_notes::Shelf;
use crate::engine::store::Store;
use crate::error::Result;
use crate::index::{Cached, Index};
use crate::words;

impl Engine {
    /// What the process knows without looking, with the journals read again, and all comparisons.
    pub(super) fn deep_findings(&self, now: Timestamp) -> Result<Vec<Finding>> {
        let audit = self.journal.audit()?;
        let bad: Vec<_> = audit.iter().flat_map(|file| file.bad.iter().cloned()).collect();
        let mut findings = self.bad_line_findings(&bad);
        findings.extend(self.unreadable_findings());
        findings.extend(self.loss_findings(now));
        findings.extend(self.unknown_findings());
        findings.extend(future_findings(&audit, now));
        findings.extend(gap_findings(&audit));
        findings.extend(self.clash_findings(&audit, now));
        findings.extend(jump_findings(&audit));
        findings.extend(self.clock_findings(now));
        findings.extend(self.configuration_findings());
        findings.extend(self.durability_finding());
        findings.extend(self.compared_index());
        findings.extend(self.seen_twice(|| self.agreement_findings())?);
        findings.extend(self.committed_findings());
        Ok(findings)
    }

    /// The index on disk against the words of every memory, analysed anew.
    fn compared_index(&self) -> Option<Finding> {
        if let Some(known) = self.index_findings() {
            return Some(known);
        }
        let wrong = |what: String| {
            let next = "`ebbmark doctor --fix` builds it anew; until then a search may miss a memory";
            Finding::error(Area::Index, what, next).of(&self.cache()).by(Repair::RebuildIndex)
        };
        let index = match Index::open(&self.cache(), words::ANALYZER_VERSION) {
            Ok(index) => index?,
            Err(error) => return Some(wrong(error.to_string())),
        };
        let state = self.store().state.clone();
        let none = Cached::default();
        let (joined, trouble) = Store::new(state.clone(), Shelf::default(), Some(&index), None, &none);
        let differing = match trouble {
            Some(error) => Err(error),
            None => joined.differing_from(&Store::new(state, Shelf::default(), None, None, &none).0),
        };
        match differing.as_deref() {
            Err(error) => Some(wrong(error.to_string())),
            Ok([]) => None,
            Ok(all @ [first, ..]) => Some(wrong(format!(
                "{} under other words than its text has: {first}",
                plural(all.len() as u64, "memory is indexed", "memories are indexed, each,")
            ))),
        }
    }

    /// The last commit, byte by byte.
    fn committed_findings(&self) -> Option<Finding> {
        let git = self.git()?;
        match git.verify(&self.committed_paths()) {
            Ok(differing) => self.uncommitted(&differing),
            Err(error) => Some(self.unreadable_git(&error)),
        }
    }
}
