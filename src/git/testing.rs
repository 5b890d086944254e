//! A throw-away repository for tests, and the `git` program to check what libgit2 did in it.
#![expect(clippy::disallowed_methods, reason = "tests stand in for the person and their tools")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{Author, Change, Git, Kind, Left, Message, Outcome, Why};
use crate::clock::Timestamp;

/// Deleted when dropped.
pub(super) struct Sandbox {
    folder: TempDir,
    /// The vault's path inside the work tree, ending with a slash; empty where it is the work tree.
    pub(super) prefix: &'static str,
}

impl Sandbox {
    /// A repository with the vault as its work tree and no commit yet.
    pub(super) fn new() -> Self {
        Self::with_prefix("")
    }

    /// A repository with the vault in that folder of it.
    pub(super) fn with_prefix(prefix: &'static str) -> Self {
        let sandbox = Sandbox { folder: tempfile::tempdir().unwrap(), prefix };
        std::fs::create_dir_all(sandbox.root()).unwrap();
        std::fs::write(sandbox.path("none"), "").unwrap();
        sandbox.git(&["init", "-q", "-b", "main"]);
        sandbox.settle();
        sandbox
    }

    /// A repository made by `Git::init`.
    pub(super) fn made_by_init() -> Self {
        let sandbox = Sandbox { folder: tempfile::tempdir().unwrap(), prefix: "" };
        std::fs::create_dir_all(sandbox.root()).unwrap();
        std::fs::write(sandbox.path("none"), "").unwrap();
        Git::init(&sandbox.root()).unwrap();
        sandbox.settle();
        sandbox
    }

    /// Overrides in the repository whatever the machine's own git configuration could say.
    fn settle(&self) {
        let none = self.path("none");
        let none = none.to_str().unwrap();
        for (key, value) in [
            ("user.name", "Person"),
            ("user.email", "person@example.org"),
            ("core.autocrlf", "false"),
            ("core.safecrlf", "false"),
            ("core.eol", "native"),
            ("core.logAllRefUpdates", "true"),
            ("core.excludesFile", none),
            ("core.attributesFile", none),
            ("commit.gpgSign", "false"),
        ] {
            self.git(&["config", key, value]);
        }
    }

    /// A path beside the work tree.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn work_dir(&self) -> PathBuf {
        self.path("work")
    }

    /// The vault.
    pub(super) fn root(&self) -> PathBuf {
        self.work_dir().join(self.prefix)
    }

    pub(super) fn open(&self) -> Git {
        Git::open(&self.root()).unwrap()
    }

    /// Writes a file of the vault, with its folders.
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        std::fs::remove_file(self.root().join(path)).unwrap();
    }

    /// Runs `git` in the work tree, blind to the machine's configuration: what it printed.
    pub(super) fn git(&self, args: &[&str]) -> String {
        let (output, ok) = self.try_git(args);
        assert!(ok, "git {args:?}: {output}");
        output
    }

    /// As `git`, and whether it succeeded.
    pub(super) fn try_git(&self, args: &[&str]) -> (String, bool) {
        let output = Command::new("git")
            .args(["-c", "core.quotePath=false", "-c", "core.fsync=none"])
            .args(args)
            .current_dir(self.work_dir())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2026-11-29T12:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-11-29T12:00:00Z")
            .env("LC_ALL", "C")
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_WORK_TREE")
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8(text).unwrap(), output.status.success())
    }

    /// What the person sees, after a check that the repository is sound and that no lock is left.
    pub(super) fn status(&self) -> String {
        let complaints = self.git(&["fsck", "--strict", "--no-dangling"]);
        assert!(complaints.lines().all(|line| line.starts_with("notice: ")), "{complaints}");
        for name in ["index.lock", "ebbmark.index", "ebbmark.index.lock", "refs/heads/main.lock", "HEAD.lock"] {
            assert!(!self.git_dir().join(name).exists(), "{name} is left");
        }
        self.git(&["status", "--porcelain=v1", "--untracked-files=all"])
    }

    pub(super) fn git_dir(&self) -> PathBuf {
        self.work_dir().join(".git")
    }

    /// Writes notes and commits them, as the memory does.
    pub(super) fn keep(&self, notes: &[(&str, &str)]) -> Outcome {
        for (path, text) in notes {
            self.write(path, text);
        }
        self.commit(&notes.iter().map(|(path, _)| written(path)).collect::<Vec<_>>())
    }

    pub(super) fn commit(&self, changes: &[Change]) -> Outcome {
        commit(&self.open(), changes)
    }

    /// Subjects of all commits, newest first.
    pub(super) fn subjects(&self) -> Vec<String> {
        self.git(&["log", "--format=%s"]).lines().map(str::to_owned).collect()
    }

    /// Content of a vault path in the last commit.
    pub(super) fn committed(&self, path: &str) -> Option<String> {
        let (text, ok) = self.try_git(&["cat-file", "blob", &format!("HEAD:{}{path}", self.prefix)]);
        ok.then_some(text)
    }
}

pub(super) fn at() -> Timestamp {
    "2026-11-29T23:35:00Z".parse().unwrap()
}

pub(super) fn written(path: &str) -> Change {
    Change { path: path.to_owned(), kind: Kind::Write }
}

pub(super) fn removed(path: &str) -> Change {
    Change { path: path.to_owned(), kind: Kind::Remove }
}

pub(super) fn fallback() -> Author {
    Author { name: "Ebbmark".to_owned(), email: "ebbmark@localhost".to_owned() }
}

pub(super) fn message() -> Message {
    Message {
        subject: "Promote: Prefers TypeScript".to_owned(),
        trailers: vec![("Ebbmark-Memory".to_owned(), "7k2m9x4qwc3r".to_owned())],
    }
}

pub(super) fn commit(git: &Git, changes: &[Change]) -> Outcome {
    git.commit(changes, &message(), &fallback(), at(), None).unwrap()
}

/// The paths that a commit on `main` left out; fails where there was no commit.
pub(super) fn left(outcome: &Outcome) -> Vec<(&str, &Why)> {
    match outcome {
        Outcome::Committed { branch, left, .. } => {
            assert_eq!(branch, "main");
            pairs(left)
        }
        other => panic!("not committed: {other:?}"),
    }
}

/// The paths left out where nothing was committed.
pub(super) fn left_without_commit(outcome: &Outcome) -> Vec<(&str, &Why)> {
    match outcome {
        Outcome::Nothing { left } => pairs(left),
        other => panic!("not nothing: {other:?}"),
    }
}

fn pairs(left: &[Left]) -> Vec<(&str, &Why)> {
    left.iter().map(|left| (left.path.as_str(), &left.why)).collect()
}

/// Sets when a file was last changed, in milliseconds since 1970.
pub(super) fn set_modified(path: &Path, millis: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(millis);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
