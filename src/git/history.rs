//! What has been committed.

use std::path::Path;

use git2::{Commit, DiffOptions, ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::{Git, commit_of, failed, is_plain};
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// Commits looked at before the search for the vault's own ends; in a large repository they may be far apart.
const MOST_VISITED: usize = 20_000;

/// One commit that changed the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The commit's name, 40 hexadecimal digits.
    pub oid: String,
    /// When it was made, to the second.
    pub at: Timestamp,
    /// Who wrote it.
    pub author: String,
    /// Its first line.
    pub subject: String,
    /// Its trailers, in order.
    pub trailers: Vec<(String, String)>,
    /// Vault paths it changed against its first parent, in order.
    pub paths: Vec<String>,
}

impl Git {
    /// The newest commits that changed the vault, or one path of it, newest first; at most `limit`. Renames are not
    /// followed. The search ends after 20,000 commits.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path outside the vault; [`Error::Git`] where the history cannot be read.
    pub fn log(&self, limit: usize, path: Option<&str>) -> Result<Vec<Entry>> {
        if let Some(path) = path.filter(|path| !is_plain(path)) {
            return Err(Error::invalid(
                format!("path `{path}`"),
                "is not one of the vault",
                "give it as the vault shows it",
            ));
        }
        let repository = self.repository()?;
        let Some(head) = commit_of(&repository, "HEAD")? else { return Ok(Vec::new()) };
        self.walk(&repository, head, limit, path).map_err(failed("read the history"))
    }

    /// Whether the current commit has the path. A look at its folders: the history is not walked.
    ///
    /// # Errors
    /// [`Error::Git`] where the repository cannot be read.
    pub fn has(&self, path: &str) -> Result<bool> {
        let repository = self.repository()?;
        let Some(head) = commit_of(&repository, "HEAD")? else { return Ok(false) };
        let tree = repository.find_commit(head).and_then(|commit| commit.tree()).map_err(failed("read the commit"))?;
        Ok(tree.get_path(Path::new(&self.in_work_tree(path))).is_ok())
    }

    /// Files of the current commit below a folder of the vault that are not on disk any more, with their content.
    ///
    /// # Errors
    /// [`Error::Git`] where the repository cannot be read.
    pub fn missing(&self, folder: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let action = "compare the vault with the last commit";
        let repository = self.repository()?;
        let Some(head) = commit_of(&repository, "HEAD")? else { return Ok(Vec::new()) };
        let tree = repository.find_commit(head).and_then(|commit| commit.tree()).map_err(failed(action))?;
        let place = self.in_work_tree(folder);
        let Ok(entry) = tree.get_path(Path::new(&place)) else { return Ok(Vec::new()) };
        let Ok(tree) = repository.find_tree(entry.id()) else { return Ok(Vec::new()) };
        let mut missing = Vec::new();
        tree.walk(TreeWalkMode::PreOrder, |parent, entry| {
            if let Ok(name) = entry.name() {
                let path = format!("{folder}/{parent}{name}");
                if entry.kind() == Some(ObjectType::Blob) && self.root.join(&path).symlink_metadata().is_err() {
                    missing.push((path, entry.id()));
                }
            }
            TreeWalkResult::Ok
        })
        .map_err(failed(action))?;
        let content = |oid| repository.find_blob(oid).map(|blob| blob.content().to_vec()).map_err(failed(action));
        missing.into_iter().map(|(path, oid)| Ok((path, content(oid)?))).collect()
    }

    /// Names of the remotes.
    pub fn remotes(&self) -> Vec<String> {
        let names = self.repository().ok().and_then(|repository| repository.remotes().ok());
        names.iter().flat_map(|names| names.iter()).flatten().flatten().map(str::to_owned).collect()
    }

    /// A vault path as git names it, from the work tree's root.
    pub fn path_in_work_tree(&self, path: &str) -> String {
        self.in_work_tree(path)
    }

    fn walk(
        &self,
        repository: &Repository,
        head: Oid,
        limit: usize,
        path: Option<&str>,
    ) -> Result<Vec<Entry>, git2::Error> {
        let place = self.in_work_tree(path.unwrap_or_default());
        let place = place.trim_end_matches('/');
        // Unsorted means newest first, children before parents, without reading the whole history at the start.
        let mut walk = repository.revwalk()?;
        walk.push(head)?;
        let mut entries = Vec::new();
        for oid in walk.take(MOST_VISITED) {
            if entries.len() == limit {
                break;
            }
            let commit = repository.find_commit(oid?)?;
            let parent = commit.parents().next();
            let before = parent.as_ref().map(|parent| content(parent, place)).transpose()?.flatten();
            if content(&commit, place)? != before {
                entries.push(self.entry(repository, &commit, parent.as_ref(), place)?);
            }
        }
        Ok(entries)
    }

    fn entry(
        &self,
        repository: &Repository,
        commit: &Commit<'_>,
        parent: Option<&Commit<'_>>,
        place: &str,
    ) -> Result<Entry, git2::Error> {
        let before = parent.map(Commit::tree).transpose()?;
        let mut options = DiffOptions::new();
        options.disable_pathspec_match(true).skip_binary_check(true);
        if !place.is_empty() {
            options.pathspec(place);
        }
        let diff = repository.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), Some(&mut options))?;
        let name = |path: Option<&Path>| path?.to_str()?.strip_prefix(&self.prefix).map(str::to_owned);
        let text = String::from_utf8_lossy(commit.message_bytes());
        let trailers = git2::message_trailers_strs(&text)?;
        Ok(Entry {
            oid: commit.id().to_string(),
            at: Timestamp::from_millis(commit.time().seconds().saturating_mul(1000)),
            author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
            subject: text.lines().next().unwrap_or_default().to_owned(),
            trailers: trailers.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            paths: diff
                .deltas()
                .filter_map(|delta| name(delta.new_file().path()).or_else(|| name(delta.old_file().path())))
                .collect(),
        })
    }
}

/// Name of what a commit has at a place; the empty place is the whole tree.
fn content(commit: &Commit<'_>, place: &str) -> Result<Option<Oid>, git2::Error> {
    let tree = commit.tree()?;
    Ok(if place.is_empty() { Some(tree.id()) } else { tree.get_path(Path::new(place)).ok().map(|entry| entry.id()) })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Sandbox, at, message, removed};
    use super::*;

    #[test]
    fn the_log_tells_what_was_committed() {
        let sandbox = Sandbox::with_prefix("vault/");
        let git = sandbox.open();
        assert_eq!(git.log(10, None).unwrap(), []);
        sandbox.keep(&[("Memories/ü.md", "one"), ("Home.md", "h")]);
        sandbox.keep(&[("Memories/ü.md", "two")]);
        sandbox.remove("Memories/ü.md");
        sandbox.commit(&[removed("Memories/ü.md")]);
        let log = git.log(10, None).unwrap();
        let oids: Vec<_> = log.iter().map(|entry| entry.oid.as_str()).collect();
        assert_eq!(oids, sandbox.git(&["log", "--format=%H"]).lines().collect::<Vec<_>>());
        let paths: Vec<_> = log.iter().map(|entry| entry.paths.join(", ")).collect();
        assert_eq!(paths, ["Memories/ü.md", "Memories/ü.md", "Home.md, Memories/ü.md"]);
        let expected = Entry {
            oid: log[0].oid.clone(),
            at: at(),
            author: "Person".to_owned(),
            subject: message().subject,
            trailers: message().trailers,
            paths: vec!["Memories/ü.md".to_owned()],
        };
        assert_eq!(log[0], expected);
        assert_eq!(git.log(2, None).unwrap(), log[..2]);
        assert_eq!(git.log(0, None).unwrap(), []);
    }

    #[test]
    fn what_is_committed_and_not_on_disk_is_missing() {
        let sandbox = Sandbox::with_prefix("vault/");
        let git = sandbox.open();
        assert_eq!(git.missing("Memories").unwrap(), []);
        sandbox.keep(&[("Memories/a.md", "a"), ("Memories/deep/b.md", "b"), ("Other/c.md", "c")]);
        assert_eq!(git.missing("Memories").unwrap(), []);
        for path in ["Memories/deep/b.md", "Other/c.md"] {
            sandbox.remove(path);
        }
        assert_eq!(git.missing("Memories").unwrap(), [("Memories/deep/b.md".to_owned(), b"b".to_vec())]);
        sandbox.commit(&[removed("Memories/deep/b.md")]);
        assert_eq!(git.missing("Memories").unwrap(), []);
        assert!(git.remotes().is_empty());
        sandbox.git(&["remote", "add", "origin", "https://example.org/vault.git"]);
        assert_eq!(git.remotes(), ["origin"]);
    }

    #[test]
    fn other_folders_and_other_notes_are_passed_over() {
        let sandbox = Sandbox::with_prefix("vault/");
        sandbox.keep(&[("a.md", "a1")]);
        sandbox.write("../outside.txt", "x");
        sandbox.git(&["add", "outside.txt"]);
        sandbox.git(&["commit", "-q", "-m", "outside"]);
        sandbox.keep(&[("b.md", "b1")]);
        sandbox.keep(&[("a.md", "a2"), ("b.md", "b2")]);
        let git = sandbox.open();
        let count = |path| git.log(10, path).unwrap().len();
        assert_eq!((count(None), count(Some("a.md")), count(Some("b.md")), count(Some("c.md"))), (3, 2, 2, 0));
        assert_eq!(git.log(1, Some("a.md")).unwrap()[0].paths, ["a.md"]);
        assert!(git.has("a.md").unwrap() && !git.has("none.md").unwrap() && !git.has("../outside.txt").unwrap());
        assert!(git.log(1, Some("../outside.txt")).is_err());
    }

    #[test]
    fn both_sides_of_a_merge_are_in_the_log() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "a")]);
        sandbox.git(&["switch", "-q", "-c", "side"]);
        sandbox.write("side.md", "s");
        sandbox.git(&["add", "side.md"]);
        sandbox.git(&["commit", "-q", "-m", "side"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.keep(&[("b.md", "b")]);
        sandbox.git(&["merge", "-q", "--no-edit", "side"]);
        let log = sandbox.open().log(10, None).unwrap();
        assert_eq!(log.len(), 4);
        assert_eq!((log[0].subject.as_str(), log[0].paths.join(", ")), ("Merge branch 'side'", "side.md".to_owned()));
    }
}
