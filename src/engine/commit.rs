//! Commit: what of the vault goes into git, and under which words.

use super::Engine;
use crate::clock::Timestamp;
use crate::config::GitMode;
use crate::error::Result;
use crate::git::{Change, Git, Left, Message, NoGit, Outcome};

/// Trailer that names the memories of a commit.
pub(super) const TRAILER: &str = "Ebbmark-Memory";
/// Titles that a commit subject names one by one.
const MAX_NAMED: usize = 3;

impl Engine {
    /// Commits paths of the vault, if git is wanted and there. Returns the commit, or why there is none.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) where the state file cannot be written. What git refuses is no error: memory goes on.
    pub(super) fn commit(
        &self,
        changes: &[Change],
        subject: &str,
        ids: &[String],
        now: Timestamp,
    ) -> Result<(Option<String>, Option<String>)> {
        if self.config.git.mode == GitMode::Off || changes.is_empty() {
            return Ok((None, None));
        }
        let git = match Git::open(self.vault.root()) {
            Ok(git) => git,
            // A person whose own vault has none wants none; `doctor` says so.
            Err(NoGit::Absent) if self.vault.vault_id()?.is_none() => return Ok((None, None)),
            Err(no_git) => return Ok((None, Some(format!("not committed: {no_git}; {}", no_git.hint())))),
        };
        let trailers = ids.iter().map(|id| (TRAILER.to_owned(), id.clone())).collect();
        let message = Message { subject: subject.to_owned(), trailers };
        let branch = self.own_branch()?;
        match git.commit(changes, &message, &self.author(), now, branch.as_deref()) {
            Ok(Outcome::Committed { oid, branch, left }) => {
                self.remember_branch(&branch)?;
                Ok((Some(oid), not_committed(&left)))
            }
            Ok(Outcome::Nothing { left }) => Ok((None, not_committed(&left))),
            Ok(Outcome::Skipped { why }) => Ok((None, Some(format!("not committed: {why}")))),
            Err(error) => Ok((None, Some(format!("not committed: {error}")))),
        }
    }
}

/// Which paths were left out of a commit, and why.
fn not_committed(left: &[Left]) -> Option<String> {
    let left: Vec<String> = left.iter().map(|left| format!("{}: {}", left.path, left.why)).collect();
    (!left.is_empty()).then(|| format!("not committed: {}", left.join("; ")))
}

/// The file name of a note without its ending.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.strip_suffix(".md").unwrap_or(name)
}

/// `Promote: A, B and 3 more`.
pub(super) fn subject(what: &str, titles: &[&str]) -> String {
    match titles {
        [] => format!("{what} the vault"),
        few if few.len() <= MAX_NAMED => format!("{what}: {}", few.join(", ")),
        many => {
            let named: Vec<&str> = many.iter().take(MAX_NAMED).copied().collect();
            format!("{what} {} memories: {} …", many.len(), named.join(", "))
        }
    }
}
