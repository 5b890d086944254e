//! Looks at a repository without changing anything: what stands in the way of a commit, and whether what was
//! committed can be read.

use std::path::PathBuf;

use git2::Repository;

use super::{Compare, Git, Hold, branch_ref, commit_of, differing, failed, filter, free_branch};
use crate::clock::Timestamp;
use crate::error::Result;

/// A lock file of git's, which a program that is at work holds, or one that died has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLock {
    /// The file.
    pub path: PathBuf,
    /// When it was made, as far as the disk tells.
    pub since: Option<Timestamp>,
}

impl Git {
    /// What would keep a commit from being made now, as far as a look can tell, beside locks. With `only_on`, another
    /// branch counts too.
    pub fn hold(&self, only_on: Option<&str>) -> Option<Hold> {
        let repository = self.repository().ok()?;
        free_branch(&repository, only_on).ok()?.err()
    }

    /// The lock files that keep git from moving the index or the branch. Also one that is held at this moment.
    pub fn locks(&self) -> Vec<GitLock> {
        let Ok(repository) = self.repository() else { return Vec::new() };
        let (own, common) = (repository.path().to_owned(), repository.commondir().to_owned());
        let mut paths = vec![own.join("index.lock"), own.join("HEAD.lock"), common.join("packed-refs.lock")];
        paths.extend(branch_ref(&repository).ok().flatten().map(|name| common.join(format!("{name}.lock"))));
        let since = |facts: std::fs::Metadata| {
            let age = facts.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(Timestamp::from_millis(age.as_millis() as i64))
        };
        let there = paths.into_iter().filter_map(|path| Some((std::fs::symlink_metadata(&path).ok()?, path)));
        there.map(|(facts, path)| GitLock { path, since: since(facts) }).collect()
    }

    /// Reads the current commit and what it has of the vault's `paths`: which of them differ from their files, though
    /// size and time may be the same. Paths that were never committed are among them.
    ///
    /// # Errors
    /// [`Error::Git`](crate::error::Error::Git) where the commit or something of it cannot be read.
    pub fn verify(&self, paths: &[String]) -> Result<Vec<String>> {
        let repository = self.repository()?;
        self.verify_in(&repository, paths).map_err(failed("read the last commit"))
    }

    fn verify_in(&self, repository: &Repository, paths: &[String]) -> Result<Vec<String>, git2::Error> {
        let head = commit_of(repository, "HEAD").map_err(|error| git2::Error::from_str(&error.to_string()))?;
        let Some(head) = head else { return Ok(paths.to_vec()) };
        let tree = repository.find_commit(head)?.tree()?;
        let mut changed =
            differing(repository, Some(&tree), paths.iter().map(|path| self.in_work_tree(path)), Compare::Content)?;
        // libgit2 has compared files with a filter as they lie on disk.
        let blobs = filter::blobs(repository, changed.iter().map(String::as_str), filter::Blobs::Name)?;
        for path in paths {
            let path = self.in_work_tree(path);
            let Ok(entry) = tree.get_path(std::path::Path::new(&path)) else { continue };
            // Reading it compares its bytes with its name.
            repository.find_blob(entry.id())?;
            if blobs.get(&path).is_some_and(|blob| blob.as_ref().ok() == Some(&entry.id())) {
                changed.remove(&path);
            }
        }
        Ok(paths.iter().filter(|path| changed.contains(&self.in_work_tree(path))).cloned().collect())
    }
}
