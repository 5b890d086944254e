//! The person's staging area (git's index), held while a commit is made, and put right after a crash.
//!
//! git's own rule is kept: who has made `index.lock` may replace `index`, nobody else. libgit2 takes that lock only
//! after it has read the index, so a `git add` in between would be lost; here the index is read under the lock. Order:
//!
//! 1. `ebbmark.lock` (an advisory lock, free again when its holder dies): one Ebbmark process at a time;
//! 2. `index.lock`, marked as ours;
//! 3. the new index is prepared in `ebbmark.index`, the commit it belongs to is noted in `index.lock`, both are synced;
//! 4. the branch moves;
//! 5. the prepared index takes the place of `index`, and `index.lock` goes.
//!
//! A marked `index.lock` found under `ebbmark.lock` has no living owner. Where the branch had moved, step 5 is
//! finished; otherwise everything is as before step 1. A lock of another program is never removed.
#![expect(clippy::disallowed_methods, reason = "git's own index and its lock, by git's own protocol")]

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use git2::{Index, Oid, Repository};

use super::failed;
use crate::error::{Error, Result};
use crate::files::{self, Lock, Patience};

/// First line of an `index.lock` that Ebbmark made.
const MARK: &str = "ebbmark\n";
/// How long another Ebbmark process is waited for.
const TURN_WAIT: Duration = Duration::from_secs(2);
/// Pauses between the tries to get something another git program holds: a third of a second in all.
pub(super) const PAUSES: [Duration; 6] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
];

/// The index, held against every other git program until dropped.
#[derive(Debug)]
pub(super) struct Staging {
    git_dir: PathBuf,
    /// When the index that the person sees was written.
    written_at: Option<SystemTime>,
    is_settled: bool,
    _turn: Lock,
}

impl Staging {
    /// Takes the index.
    ///
    /// # Errors
    /// [`Error::Busy`] with the file in the way while another program holds it; [`Error::Io`].
    pub(super) fn hold(repository: &Repository) -> Result<Staging> {
        let git_dir = repository.path().to_owned();
        let turn = Lock::acquire(&git_dir.join("ebbmark.lock"), &Patience::new(TURN_WAIT))?;
        finish_interrupted(repository)?;
        let lock = lock_path(&git_dir);
        let mut pauses = PAUSES.iter();
        loop {
            if claim(&git_dir, &lock)? {
                return Ok(Staging { git_dir, written_at: None, is_settled: false, _turn: turn });
            }
            match pauses.next() {
                Some(pause) => sleep(*pause),
                None => return Err(Error::Busy { path: lock, holder: "another git program".into() }),
            }
        }
    }

    /// A copy of the index to work on, owned by `repository` from now on.
    ///
    /// # Errors
    /// [`Error::Git`] where it has a form that libgit2 cannot read: split, sparse, damaged.
    pub(super) fn copy(&mut self, repository: &Repository) -> Result<Index> {
        let (index, prepared) = (self.git_dir.join("index"), prepared_path(&self.git_dir));
        remove(&self.git_dir.join("ebbmark.index.lock"))?;
        remove(&prepared)?;
        if index.exists() {
            fs::copy(&index, &prepared).map_err(Error::io("copy", &index))?;
            self.written_at = fs::metadata(&index).and_then(|found| found.modified()).ok();
        }
        let mut copy = Index::open(&prepared).map_err(failed("read the index"))?;
        repository.set_index(&mut copy).map_err(failed("read the index"))?;
        Ok(copy)
    }

    /// Writes the changed copy, and notes that it belongs to `commit`. The files returned are to be synced before the
    /// branch moves.
    ///
    /// # Errors
    /// [`Error::Git`] and [`Error::Io`].
    pub(super) fn prepare(&self, copy: &mut Index, commit: Oid, branch_ref: &str) -> Result<[PathBuf; 2]> {
        copy.write().map_err(failed("prepare the index"))?;
        let (prepared, lock) = (prepared_path(&self.git_dir), lock_path(&self.git_dir));
        // A file changed in the very second in which the index was written looks unchanged by size and time. git
        // therefore reads again whatever is not older than the index: the old time keeps all that in doubt.
        if let Some(written_at) = self.written_at {
            let date = || File::options().write(true).open(&prepared)?.set_modified(written_at);
            date().map_err(Error::io("date", &prepared))?;
        }
        let noted = self.git_dir.join("ebbmark.mark");
        fs::write(&noted, format!("{MARK}{commit} {branch_ref}\n"))
            .and_then(|()| fs::rename(&noted, &lock))
            .map_err(Error::io("write", &lock))?;
        Ok([prepared, lock])
    }

    /// Lets the person see the prepared index, and gives it free.
    ///
    /// # Errors
    /// [`Error::Io`]; the next commit then finishes it.
    pub(super) fn publish(mut self) -> Result<()> {
        self.is_settled = true;
        let (index, prepared) = (self.git_dir.join("index"), prepared_path(&self.git_dir));
        let mut pauses = PAUSES.iter();
        while let Err(error) = fs::rename(&prepared, &index) {
            // On Windows an indexer or a virus scanner may have the file open for a moment.
            sleep(*pauses.next().ok_or_else(|| Error::io("replace", &index)(error))?);
        }
        remove(&lock_path(&self.git_dir))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_settled {
            // What cannot be removed now is found by the next commit.
            drop(remove(&prepared_path(&self.git_dir)));
            drop(remove(&lock_path(&self.git_dir)));
        }
    }
}

/// Finishes or undoes what a process of ours left when it died: whether there was anything. While another one is at
/// work there is nothing: it has looked itself, and may be waiting for a slow filter.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn recover(repository: &Repository) -> Result<bool> {
    if !lock_path(repository.path()).exists() {
        return Ok(false);
    }
    let Some(_turn) = Lock::try_acquire(&repository.path().join("ebbmark.lock"))? else { return Ok(false) };
    finish_interrupted(repository)
}

/// As [`recover`], for who holds `ebbmark.lock`.
fn finish_interrupted(repository: &Repository) -> Result<bool> {
    let git_dir = repository.path();
    let (lock, prepared) = (lock_path(git_dir), prepared_path(git_dir));
    let Some(found) = files::read_if_there(&lock)? else { return Ok(false) };
    let Some(note) = found.strip_prefix(MARK.as_bytes()) else { return Ok(false) };
    if let Some((commit, branch_ref)) = parse_note(note) {
        remove_branch_lock(repository, commit, branch_ref)?;
        if head_contains(repository, commit) && prepared.exists() {
            let index = git_dir.join("index");
            fs::rename(&prepared, &index).map_err(Error::io("replace", &index))?;
        }
    }
    remove(&prepared)?;
    remove(&lock)?;
    Ok(true)
}

/// Makes `index.lock` with our mark in it from the first instant; `false` where there is one already.
fn claim(git_dir: &Path, lock: &Path) -> Result<bool> {
    let mark = git_dir.join("ebbmark.mark");
    fs::write(&mark, MARK).map_err(Error::io("write", &mark))?;
    let linked = fs::hard_link(&mark, lock);
    remove(&mark)?;
    let made = match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        Ok(()) => Ok(()),
        // A file system without hard links.
        Err(_) => File::create_new(lock).and_then(|mut file| file.write_all(MARK.as_bytes())),
    };
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Error::io("create", lock)(error)),
    }
}

/// Commit and branch of a whole note; `None` where the process died while it wrote it.
fn parse_note(note: &[u8]) -> Option<(Oid, &str)> {
    let (commit, branch_ref) = std::str::from_utf8(note).ok()?.strip_suffix('\n')?.split_once(' ')?;
    Some((Oid::from_str(commit).ok()?, branch_ref))
}

fn head_contains(repository: &Repository, commit: Oid) -> bool {
    repository
        .refname_to_id("HEAD")
        .is_ok_and(|head| head == commit || repository.graph_descendant_of(head, commit).unwrap_or(false))
}

/// Removes the lock of the branch where the dead process left it: empty, or with our commit in it.
fn remove_branch_lock(repository: &Repository, commit: Oid, branch_ref: &str) -> Result<()> {
    let lock = branch_lock_path(repository, branch_ref);
    match files::read_if_there(&lock)? {
        Some(found) if found.is_empty() || found.trim_ascii() == commit.to_string().as_bytes() => remove(&lock),
        _ => Ok(()),
    }
}

/// Where git locks the branch.
pub(super) fn branch_lock_path(repository: &Repository, branch_ref: &str) -> PathBuf {
    repository.commondir().join(format!("{branch_ref}.lock"))
}

fn lock_path(git_dir: &Path) -> PathBuf {
    git_dir.join("index.lock")
}

fn prepared_path(git_dir: &Path) -> PathBuf {
    git_dir.join("ebbmark.index")
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Sandbox, left, written};
    use super::super::{Hold, Outcome};
    use super::*;

    fn mark(note: &str) -> String {
        format!("{MARK}{note}")
    }

    /// A repository as a process leaves it that dies while it commits a change of `a.md`: with the branch moved or
    /// not, the index prepared, and `index.lock` saying `note`, where `@` stands for the commit.
    fn interrupted(branch_moved: bool, note: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        let index = sandbox.git_dir().join("index");
        sandbox.keep(&[("a.md", "one")]);
        let before = (fs::read(&index).unwrap(), sandbox.open().head().unwrap().unwrap());
        sandbox.keep(&[("a.md", "second")]);
        let commit = sandbox.open().head().unwrap().unwrap();
        fs::rename(&index, prepared_path(&sandbox.git_dir())).unwrap();
        fs::write(&index, before.0).unwrap();
        if !branch_moved {
            sandbox.git(&["update-ref", "refs/heads/main", &before.1]);
            fs::write(sandbox.git_dir().join("refs/heads/main.lock"), format!("{commit}\n")).unwrap();
        }
        fs::write(lock_path(&sandbox.git_dir()), mark(&note.replace('@', &commit))).unwrap();
        sandbox
    }

    #[test]
    fn an_interrupted_commit_is_finished_or_undone() {
        for (branch_moved, note, status) in
            [(true, "@ refs/heads/main\n", ""), (false, "@ refs/heads/main\n", " M a.md\n")]
        {
            let sandbox = interrupted(branch_moved, note);
            assert!(sandbox.open().recover().unwrap());
            assert_eq!(sandbox.status(), status, "{branch_moved} {note:?}");
            assert!(!sandbox.open().recover().unwrap());
            let outcome = sandbox.keep(&[("a.md", "three")]);
            assert_eq!(left(&outcome), []);
            assert_eq!(sandbox.status(), "");
        }
    }

    #[test]
    fn a_crash_before_the_note_is_whole_leaves_all_as_before() {
        for note in ["", "@", "@ refs/heads/main"] {
            let sandbox = interrupted(false, note);
            fs::remove_file(sandbox.git_dir().join("refs/heads/main.lock")).unwrap();
            fs::write(sandbox.git_dir().join("ebbmark.index.lock"), "half an index").unwrap();
            assert_eq!(left(&sandbox.commit(&[written("a.md")])), []);
            assert_eq!(sandbox.status(), "", "{note:?}");
            assert_eq!(sandbox.committed("a.md").as_deref(), Some("second"));
        }
    }

    #[test]
    fn an_index_published_before_the_crash_is_kept() {
        let sandbox = interrupted(true, "@ refs/heads/main\n");
        fs::rename(prepared_path(&sandbox.git_dir()), sandbox.git_dir().join("index")).unwrap();
        assert!(sandbox.open().recover().unwrap());
        assert_eq!(sandbox.status(), "");
    }

    #[test]
    fn locks_of_other_programs_are_waited_for_named_and_never_removed() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one")]);
        let head = sandbox.open().head().unwrap();
        for (name, content) in [("index.lock", ""), ("index.lock", "DIRC"), ("refs/heads/main.lock", "")] {
            let lock = sandbox.git_dir().join(name);
            fs::write(&lock, content).unwrap();
            assert!(!sandbox.open().recover().unwrap());
            let outcome = sandbox.keep(&[("a.md", "two")]);
            let Outcome::Skipped { why: Hold::Busy(path) } = outcome else { panic!("{name}: {outcome:?}") };
            assert_eq!(path.canonicalize().unwrap(), lock.canonicalize().unwrap());
            assert_eq!(sandbox.open().head().unwrap(), head);
            assert_eq!(fs::read_to_string(&lock).unwrap(), content);
            fs::remove_file(&lock).unwrap();
            assert_eq!(sandbox.status(), " M a.md\n");
        }
    }

    #[test]
    fn an_index_of_unknown_form_is_said_and_not_replaced() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one")]);
        sandbox.git(&["update-index", "--split-index"]);
        let head = sandbox.open().head().unwrap();
        let before = fs::read(sandbox.git_dir().join("index")).unwrap();
        let outcome = sandbox.keep(&[("a.md", "two")]);
        assert!(matches!(outcome, Outcome::Skipped { why: Hold::Index(_) }), "{outcome:?}");
        assert_eq!(sandbox.open().head().unwrap(), head);
        assert_eq!(fs::read(sandbox.git_dir().join("index")).unwrap(), before);
        assert_eq!(sandbox.status(), " M a.md\n");
    }

    #[test]
    fn compressed_index_and_flags_of_the_person_survive() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one"), ("b.md", "b"), ("c.md", "c")]);
        sandbox.git(&["update-index", "--index-version", "4", "--assume-unchanged", "b.md"]);
        sandbox.git(&["update-index", "--skip-worktree", "c.md"]);
        let flags = sandbox.git(&["ls-files", "-v"]);
        assert_eq!(left(&sandbox.keep(&[("a.md", "two")])), []);
        assert_eq!(sandbox.git(&["ls-files", "-v"]), flags);
        assert_eq!(sandbox.git(&["update-index", "--show-index-version"]).trim(), "4");
        assert_eq!(sandbox.status(), "");
    }
}
