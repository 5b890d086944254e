//! One commit of given vault paths on the branch that is checked out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread::sleep;

use git2::build::TreeUpdateBuilder;
use git2::{Commit, ErrorCode, FileMode, Index, IndexEntry, IndexTime, Oid, Repository, Signature, Time, Tree};

use super::base::Base;
use super::filter::{self, Blobs};
use super::staging::{PAUSES, Staging, branch_lock_path};
use super::{Git, Hold, Left, Message, Outcome, Why, commit_of, durable, failed, free_branch, is_plain, short};
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It was made or changed.
    Write,
    /// It was removed or moved away.
    Remove,
}

/// A file of the vault to commit as it now lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the vault, with `/`.
    pub path: String,
    /// What became of it.
    pub kind: Kind,
}

/// Who commits where git's configuration names nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name as shown in the log.
    pub name: String,
    /// Address, possibly an invented one.
    pub email: String,
}

/// What a path needs in the new tree.
enum Step {
    Upsert(Oid, FileMode),
    Remove,
    Nothing,
}

/// Everything that stays the same when a commit is tried again.
struct Job<'a> {
    /// By path in the work tree: path in the vault, and what became of it.
    changes: BTreeMap<String, (&'a str, Kind)>,
    text: String,
    signature: Signature<'static>,
    /// Moves the branch.
    mover: Repository,
    keeps_reflog: bool,
    reflog: String,
    only_on: Option<&'a str>,
}

impl Git {
    /// Commits the given paths as they lie on disk now, and nothing else, on top of the current commit. Afterwards
    /// the index has the same content for them, so that `git status` shows no change. Of several changes of one path
    /// the last counts. With `only_on`, commits on that branch only.
    ///
    /// Files are committed with mode 0644; one that is executable in the last commit stays so. The author is the one
    /// of git's configuration, or else `fallback`. On return the commit is on disk.
    ///
    /// # Errors
    /// [`Error::Git`] where the repository cannot be written, [`Error::Io`] for its lock files. The branch then still
    /// is where it was, or the next commit finishes the index.
    pub fn commit(
        &self,
        changes: &[Change],
        message: &Message,
        fallback: &Author,
        at: Timestamp,
        only_on: Option<&str>,
    ) -> Result<Outcome> {
        let repository = self.repository()?;
        if let Err(why) = free_branch(&repository, only_on)? {
            return Ok(Outcome::Skipped { why });
        }
        let changes: BTreeMap<_, _> = changes
            .iter()
            .map(|change| (self.in_work_tree(&change.path), (change.path.as_str(), change.kind)))
            .collect();
        let job = Job {
            changes,
            text: message.text(),
            signature: signature(&repository, fallback, at)?,
            mover: durable::strict(self.repository()?)?,
            keeps_reflog: durable::keeps_reflog(&repository),
            reflog: format!("commit: {}", message.clean_subject()),
            only_on,
        };
        // Windows cannot sync objects afterwards, as they are read-only.
        let repository = if cfg!(windows) { durable::strict(repository)? } else { repository };
        let mut staging = match Staging::hold(&repository) {
            Ok(staging) => staging,
            Err(Error::Busy { path, .. }) => return Ok(Outcome::Skipped { why: Hold::Busy(path) }),
            Err(error) => return Err(error),
        };
        let mut pauses = PAUSES.iter();
        loop {
            let path = match self.attempt(&repository, &mut staging, &job)? {
                Attempt::Committed(oid, branch_ref, left) => {
                    staging.publish()?;
                    let branch = short(&branch_ref).to_owned();
                    return Ok(Outcome::Committed { oid: oid.to_string(), branch, left });
                }
                Attempt::Done(outcome) => return Ok(outcome),
                Attempt::Again(path) => path,
            };
            let Some(pause) = pauses.next() else { return Ok(Outcome::Skipped { why: Hold::Busy(path) }) };
            sleep(*pause);
        }
    }

    fn attempt(&self, repository: &Repository, staging: &mut Staging, job: &Job<'_>) -> Result<Attempt> {
        let branch_ref = match free_branch(repository, job.only_on)? {
            Ok(branch_ref) => branch_ref,
            Err(why) => return Ok(Attempt::Done(Outcome::Skipped { why })),
        };
        let mut index = match staging.copy(repository) {
            Ok(index) => index,
            Err(Error::Git { detail, .. }) => return Ok(Attempt::Done(Outcome::Skipped { why: Hold::Index(detail) })),
            Err(error) => return Err(error),
        };
        let head = commit_of(repository, &branch_ref)?;
        let parent = head.map(|oid| repository.find_commit(oid)).transpose().map_err(failed("read the last commit"))?;
        let mut base = Base::of(repository, parent.as_ref()).map_err(failed("read the last commit"))?;
        let mut plan = self.plan(repository, &mut base, &mut index, job)?;
        if plan.folders.is_empty() {
            return Ok(Attempt::Done(Outcome::Nothing { left: plan.left }));
        }

        let oid = plan.write(repository, base.tree(), parent.as_ref(), job).map_err(failed("write the commit"))?;
        let mut new_files: Vec<_> = staging.prepare(&mut index, oid, &branch_ref)?.into();
        if !cfg!(windows) {
            new_files.extend(plan.objects.iter().map(|oid| durable::object_path(repository, *oid)));
        }
        durable::sync(&new_files)?;
        // Moves the branch only if it still is where we read it; a zero stands for a branch without commits.
        let before = head.unwrap_or(Oid::ZERO_SHA1);
        match job.mover.reference_matching(&branch_ref, oid, true, before, "") {
            Ok(_) => {
                if job.keeps_reflog {
                    durable::log_move(repository, &branch_ref, before, oid, &job.signature, &job.reflog);
                }
                Ok(Attempt::Committed(oid, branch_ref, plan.left))
            }
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Locked) => {
                Ok(Attempt::Again(branch_lock_path(repository, &branch_ref)))
            }
            Err(error) => Err(failed("move the branch")(error)),
        }
    }

    /// Puts all changes into the index: what the new tree then needs.
    fn plan(&self, repository: &Repository, base: &mut Base<'_>, index: &mut Index, job: &Job<'_>) -> Result<Plan> {
        let mut plan =
            Plan { update: TreeUpdateBuilder::new(), folders: BTreeSet::new(), objects: Vec::new(), left: Vec::new() };
        let mut ready = Vec::new();
        for (path, (vault_path, kind)) in &job.changes {
            match self.check(vault_path, *kind) {
                Ok(()) => ready.push((path.as_str(), *vault_path, *kind)),
                Err(why) => plan.left.push(Left { path: (*vault_path).to_owned(), why }),
            }
        }
        // Once for all: a file that comes later has not been looked at, and is not committed without its filter.
        let written = ready.iter().filter(|(_, _, kind)| *kind == Kind::Write).map(|(path, _, _)| *path);
        let filtered = filter::blobs(repository, written, Blobs::Store).map_err(failed("read the attributes"))?;
        for (path, vault_path, kind) in ready {
            let step = match kind {
                Kind::Write => write(repository, base, index, path, filtered.get(path)),
                Kind::Remove => remove(base, index, path),
            };
            match step {
                Ok(step) => plan.add(path, &step),
                Err(why) => plan.left.push(Left { path: vault_path.to_owned(), why }),
            }
        }
        plan.left.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(plan)
    }

    /// Whether a vault path can be committed: a good name, and for a file to write also a plain file of this
    /// repository.
    fn check(&self, path: &str, kind: Kind) -> Result<(), Why> {
        if !is_plain(path) {
            return Err(Why::BadName);
        }
        if kind == Kind::Remove {
            return Ok(());
        }
        let mut found = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            found.push(part);
            let Ok(kind) = found.symlink_metadata().map(|found| found.file_type()) else { return Err(Why::Missing) };
            let is_last = parts.peek().is_none();
            if (is_last && !kind.is_file()) || (!is_last && !kind.is_dir()) {
                return Err(Why::NotAFile);
            }
            if !is_last && found.join(".git").symlink_metadata().is_ok() {
                return Err(Why::Nested);
            }
        }
        Ok(())
    }
}

/// Puts a file into the index: what the tree then needs. `filtered` is what its filter makes of it, if it has one.
fn write(
    repository: &Repository,
    base: &mut Base<'_>,
    index: &mut Index,
    path: &str,
    filtered: Option<&Result<Oid, String>>,
) -> Result<Step, Why> {
    let committed = base.unstaged(index, path)?;
    if committed.is_none() && repository.is_path_ignored(path)? {
        return Err(Why::Ignored);
    }
    let mode = match committed {
        Some((_, mode)) if mode == u32::from(FileMode::BlobExecutable) => FileMode::BlobExecutable,
        _ => FileMode::Blob,
    };
    let mut entry = match filtered {
        Some(Ok(oid)) => unread_entry(path, *oid),
        Some(Err(why)) => return Err(Why::Filter(why.clone())),
        None => {
            index.add_path(Path::new(path))?;
            index.get_path(Path::new(path), 0).ok_or(Why::BadName)?
        }
    };
    if entry.mode != u32::from(mode) {
        entry.mode = u32::from(mode);
        index.add(&entry)?;
    }
    Ok(if committed == Some((entry.id, entry.mode)) { Step::Nothing } else { Step::Upsert(entry.id, mode) })
}

/// The new tree, as steps from that of the last commit.
struct Plan {
    update: TreeUpdateBuilder,
    /// Folders that change; none where nothing does.
    folders: BTreeSet<PathBuf>,
    /// What was stored for it.
    objects: Vec<Oid>,
    left: Vec<Left>,
}

impl Plan {
    fn add(&mut self, path: &str, step: &Step) {
        match step {
            Step::Upsert(oid, mode) => {
                self.update.upsert(path, *oid, *mode);
                self.objects.push(*oid);
            }
            Step::Remove => {
                self.update.remove(path);
            }
            Step::Nothing => return,
        }
        self.folders.extend(Path::new(path).ancestors().skip(1).map(Path::to_owned));
    }

    /// Stores the tree and a commit of it, to which nothing refers yet.
    fn write(
        &mut self,
        repository: &Repository,
        base: &Tree<'_>,
        parent: Option<&Commit<'_>>,
        job: &Job<'_>,
    ) -> Result<Oid, git2::Error> {
        let tree = repository.find_tree(self.update.create_updated(repository, base)?)?;
        let parents: Vec<_> = parent.into_iter().collect();
        let commit = repository.commit(None, &job.signature, &job.signature, &job.text, &tree, &parents)?;
        // The empty path, the tree itself, is no entry of it.
        let folders = self.folders.iter().filter_map(|folder| tree.get_path(folder).ok());
        self.objects.extend(folders.map(|entry| entry.id()).chain([tree.id(), commit]));
        Ok(commit)
    }
}

/// How one try to commit ended.
enum Attempt {
    /// The branch of that full name has the new commit; the index is prepared.
    Committed(Oid, String, Vec<Left>),
    Done(Outcome),
    /// Somebody else moved the branch, or holds its lock, which is this file.
    Again(PathBuf),
}

/// Takes a file out of the index: what the tree then needs.
fn remove(base: &mut Base<'_>, index: &mut Index, path: &str) -> Result<Step, Why> {
    if base.unstaged(index, path)?.is_none() {
        return Ok(Step::Nothing);
    }
    index.remove_path(Path::new(path))?;
    Ok(Step::Remove)
}

/// An index entry that makes git read the file before it calls it unchanged.
fn unread_entry(path: &str, id: Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: 0,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// The configured identity, or else the fallback, at that time in UTC.
fn signature(repository: &Repository, fallback: &Author, at: Timestamp) -> Result<Signature<'static>> {
    let config = repository.config().and_then(|mut config| config.snapshot()).map_err(failed("read the settings"))?;
    let time = Time::new(at.millis().div_euclid(1000).max(0), 0);
    let configured = |key: &str| config.get_string(key).ok();
    configured("user.name")
        .zip(configured("user.email"))
        .and_then(|(name, email)| Signature::new(&name, &email, &time).ok())
        .map_or_else(|| Signature::new(&fallback.name, &fallback.email, &time), Ok)
        .map_err(|error| Error::invalid("the author of commits", error.message(), "give a name and an address"))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests stand in for the person and their tools")]
mod tests {
    use super::super::testing::{
        Sandbox, at, commit, fallback, left, left_without_commit, message, removed, set_modified, written,
    };
    use super::*;

    fn skipped(outcome: &Outcome) -> &Hold {
        match outcome {
            Outcome::Skipped { why } => why,
            other => panic!("not skipped: {other:?}"),
        }
    }

    #[test]
    fn first_and_later_commits_leave_a_clean_work_tree() {
        for sandbox in [Sandbox::new(), Sandbox::made_by_init(), Sandbox::with_prefix("notes/my vault/")] {
            let git = sandbox.open();
            assert_eq!((git.head().unwrap(), git.branch().unwrap()), (None, Some("main".to_owned())));
            assert_eq!(left(&sandbox.keep(&[("Memories/a.md", "one\n"), ("Home.md", "home\n")])), []);
            assert_eq!(sandbox.status(), "");
            assert_eq!(left(&sandbox.keep(&[("Memories/a.md", "two\n")])), []);
            assert_eq!(sandbox.status(), "");
            assert_eq!(sandbox.committed("Memories/a.md").as_deref(), Some("two\n"));
            assert_eq!(sandbox.committed("Home.md").as_deref(), Some("home\n"));
            assert_eq!(sandbox.subjects().len(), 2);
            assert_eq!(git.head().unwrap().unwrap(), sandbox.git(&["rev-parse", "HEAD"]).trim());
        }
    }

    #[test]
    fn a_commit_says_who_when_and_what() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one")]);
        let format = "--format=%an <%ae> %ad %cd%n%s%n%(trailers:only)";
        let said = sandbox.git(&["log", "--date=raw", format]);
        assert_eq!(
            said.trim_end(),
            "Person <person@example.org> 1795995300 +0000 1795995300 +0000\n\
             Promote: Prefers TypeScript\nEbbmark-Memory: 7k2m9x4qwc3r"
        );
        sandbox.git(&["config", "user.name", ""]);
        sandbox.keep(&[("a.md", "two")]);
        assert_eq!(sandbox.git(&["log", "-1", "--format=%an <%ae>"]).trim_end(), "Ebbmark <ebbmark@localhost>");
    }

    #[test]
    fn names_of_any_script_are_committed() {
        let sandbox = Sandbox::new();
        let names =
            ["two words.md", "Übergrößen.md", "日本語 ノート.md", "👩‍💻 emoji.md", "a'b.md", "-dash.md", "[x] #^%.md"];
        for name in names {
            sandbox.write(&format!("Memories/{name}"), name);
        }
        let changes: Vec<_> = names.iter().map(|name| written(&format!("Memories/{name}"))).collect();
        assert_eq!(left(&sandbox.commit(&changes)), []);
        assert_eq!(sandbox.status(), "");
        let mut listed: Vec<_> = sandbox.open().log(1, None).unwrap().remove(0).paths;
        let mut expected: Vec<_> = names.iter().map(|name| format!("Memories/{name}")).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }

    #[test]
    fn removals_are_committed_down_to_the_empty_folder() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("Memories/deep/a.md", "a"), ("Memories/b.md", "b")]);
        sandbox.remove("Memories/deep/a.md");
        sandbox.write("Memories/c.md", "c");
        let outcome = sandbox.commit(&[removed("Memories/deep/a.md"), removed("never.md"), written("Memories/c.md")]);
        assert_eq!(left(&outcome), []);
        assert_eq!(
            sandbox.git(&["ls-tree", "-r", "-t", "--name-only", "HEAD"]),
            "Memories\nMemories/b.md\nMemories/c.md\n"
        );
        assert_eq!(sandbox.status(), "");
        for path in ["Memories/b.md", "Memories/c.md"] {
            sandbox.remove(path);
        }
        assert_eq!(left(&sandbox.commit(&[removed("Memories/b.md"), removed("Memories/c.md")])), []);
        assert_eq!(sandbox.git(&["ls-tree", "-r", "-t", "--name-only", "HEAD"]), "");
        assert_eq!(sandbox.status(), "");
    }

    #[test]
    fn nothing_to_commit_makes_no_commit() {
        let sandbox = Sandbox::new();
        assert_eq!(left_without_commit(&sandbox.commit(&[])), []);
        assert_eq!(left_without_commit(&sandbox.commit(&[removed("a.md")])), []);
        assert_eq!(sandbox.open().head().unwrap(), None);
        sandbox.keep(&[("a.md", "one")]);
        assert_eq!(left_without_commit(&sandbox.keep(&[("a.md", "one")])), []);
        assert_eq!(sandbox.subjects().len(), 1);
        assert_eq!(sandbox.status(), "");
    }

    #[test]
    fn staged_work_of_the_person_stays_staged_and_uncommitted() {
        let sandbox = Sandbox::with_prefix("vault/");
        let old = "a line long enough that git sees a rename\n".repeat(4);
        sandbox.keep(&[("del.md", "d"), ("old.md", &old), ("mine.md", "m"), ("ours.md", "o"), ("gone.md", "g")]);
        sandbox.git(&["rm", "-q", "vault/del.md"]);
        sandbox.git(&["mv", "vault/old.md", "vault/new.md"]);
        sandbox.write("added.md", "added");
        sandbox.write("mine.md", "staged by the person");
        sandbox.write("intended.md", "later");
        sandbox.git(&["add", "vault/added.md", "vault/mine.md"]);
        sandbox.git(&["add", "-N", "vault/intended.md"]);
        let before = sandbox.git(&["diff", "--cached", "-M"]);
        let status = sandbox.status();

        sandbox.write("ours.md", "changed by the memory");
        sandbox.write("del.md", "made again");
        sandbox.write("mine.md", "changed by the memory, too");
        sandbox.remove("gone.md");
        let paths = ["ours.md", "del.md", "mine.md", "old.md", "new.md", "added.md", "intended.md"];
        let mut changes: Vec<_> = paths.iter().map(|path| written(path)).collect();
        changes.extend([removed("gone.md"), removed("old.md")]);
        let outcome = sandbox.commit(&changes);
        let staged = ["added.md", "del.md", "intended.md", "mine.md", "new.md", "old.md"];
        assert_eq!(left(&outcome), staged.map(|path| (path, &Why::Staged)));
        assert_eq!(sandbox.git(&["show", "--format=", "--name-status"]), "D\tvault/gone.md\nM\tvault/ours.md\n");
        assert_eq!(sandbox.git(&["diff", "--cached", "-M"]), before);
        assert_eq!(sandbox.committed("mine.md").as_deref(), Some("m"));
        let expected = status.replace("M  vault/mine.md", "MM vault/mine.md") + "?? vault/del.md\n";
        assert_eq!(sandbox.status(), expected);
    }

    #[test]
    fn a_change_hidden_by_the_clock_is_still_seen_after_our_commit() {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", "core.trustctime", "false"]);
        let theirs = sandbox.root().join("theirs.md");
        sandbox.write("theirs.md", "aaaa");
        set_modified(&theirs, 1_700_000_000_100);
        sandbox.git(&["add", "theirs.md"]);
        sandbox.git(&["commit", "-q", "-m", "theirs"]);
        set_modified(&sandbox.git_dir().join("index"), 1_700_000_000_500);
        sandbox.write("theirs.md", "bbbb");
        set_modified(&theirs, 1_700_000_000_100);
        assert_eq!(left(&sandbox.keep(&[("ours.md", "o")])), []);
        assert_eq!(sandbox.status(), " M theirs.md\n");
    }

    #[test]
    fn nothing_is_committed_while_the_person_is_in_the_middle_of_something() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one\n")]);
        sandbox.git(&["switch", "-q", "-c", "side"]);
        sandbox.write("a.md", "two\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "side"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.write("a.md", "three\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "main"]);
        for what in ["merge", "cherry-pick", "rebase"] {
            assert!(!sandbox.try_git(&[what, "side"]).1, "the fixture has a conflict");
            let head = sandbox.open().head().unwrap();
            assert_eq!(skipped(&sandbox.keep(&[("b.md", "b")])), &Hold::InProgress(what));
            assert_eq!(sandbox.open().head().unwrap(), head);
            sandbox.git(&[what, "--abort"]);
        }
        assert_eq!(left(&sandbox.keep(&[("b.md", "b")])), []);
        assert_eq!(sandbox.status(), "");
    }

    #[test]
    fn unresolved_conflicts_are_left_alone() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one\n"), ("b.md", "b\n"), ("gone.md", "g\n")]);
        sandbox.write("a.md", "stashed\n");
        sandbox.write("gone.md", "stashed\n");
        sandbox.git(&["stash", "-q"]);
        sandbox.remove("gone.md");
        sandbox.keep(&[("a.md", "two\n")]);
        sandbox.commit(&[removed("gone.md")]);
        assert!(!sandbox.try_git(&["stash", "pop"]).1, "the fixture has a conflict");
        let outcome = sandbox.commit(&["a.md", "b.md", "gone.md"].map(written));
        assert_eq!(left_without_commit(&outcome), [("a.md", &Why::Staged), ("gone.md", &Why::Staged)]);
        assert_eq!(left(&sandbox.keep(&[("b.md", "changed\n")])), []);
        assert_eq!(sandbox.status(), "UU a.md\nDU gone.md\n");
    }

    #[test]
    fn only_the_wanted_branch_is_committed_to() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "one")]);
        sandbox.git(&["switch", "-q", "-c", "side/branch"]);
        let git = sandbox.open();
        sandbox.write("a.md", "two");
        let try_on = |branch| git.commit(&[written("a.md")], &message(), &fallback(), at(), Some(branch)).unwrap();
        assert_eq!(skipped(&try_on("main")), &Hold::OtherBranch("side/branch".to_owned()));
        assert!(matches!(try_on("side/branch"), Outcome::Committed { branch, .. } if branch == "side/branch"));
        sandbox.git(&["switch", "-q", "--detach"]);
        assert_eq!((skipped(&try_on("main")), git.branch().unwrap()), (&Hold::Detached, None));
    }

    #[test]
    fn ignored_paths_are_left_unless_tracked() {
        let sandbox = Sandbox::with_prefix("vault/");
        sandbox.keep(&[("private/old.md", "tracked before the rule")]);
        std::fs::write(sandbox.work_dir().join(".gitignore"), "private/\n*.tmp.md\n").unwrap();
        let outcome =
            sandbox.keep(&[("private/old.md", "2"), ("private/new.md", "n"), ("x.tmp.md", "x"), ("y.md", "y")]);
        assert_eq!(left(&outcome), [("private/new.md", &Why::Ignored), ("x.tmp.md", &Why::Ignored)]);
        assert_eq!(sandbox.status(), "?? .gitignore\n");
    }

    #[test]
    fn foreign_places_and_odd_names_are_left() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("file", "f"), ("folder/x.md", "x")]);
        sandbox.write("nested/a.md", "n");
        sandbox.git(&["init", "-q", "nested"]);
        sandbox.remove("file");
        sandbox.write("file/a.md", "in the way");
        sandbox.remove("folder/x.md");
        std::fs::remove_dir(sandbox.root().join("folder")).unwrap();
        sandbox.write("folder", "now a file");
        sandbox.write("ok.md", "ok");
        let bad = ["", "/etc/hostname", "../none", "a//b", "./ok.md", "ok.md/", ".git/config", "x/.GIT/y", "nul\0l"];
        let places = [("file/a.md", Why::Blocked), ("folder", Why::Blocked), ("nested/a.md", Why::Nested)];
        let places = places.into_iter().chain([("missing.md", Why::Missing), ("nested", Why::NotAFile)]);
        let mut expected: Vec<_> = places.chain(bad.map(|path| (path, Why::BadName))).collect();
        let mut changes: Vec<_> = expected.iter().map(|(path, _)| written(path)).collect();
        changes.push(written("ok.md"));
        expected.sort_by_key(|(path, _)| *path);
        let outcome = sandbox.commit(&changes);
        let expected: Vec<_> = expected.iter().map(|(path, why)| (*path, why)).collect();
        assert_eq!(left(&outcome), expected);
        assert_eq!(sandbox.git(&["show", "--format=", "--name-status"]), "A\tok.md\n");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_left_and_executable_files_stay_so() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let sandbox = Sandbox::new();
        let script = sandbox.root().join("run.md");
        sandbox.write("run.md", "1");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        sandbox.git(&["add", "run.md"]);
        sandbox.git(&["commit", "-q", "-m", "script"]);
        sandbox.write("real/a.md", "a");
        symlink(sandbox.path("none"), sandbox.root().join("out.md")).unwrap();
        symlink(sandbox.root().join("real"), sandbox.root().join("alias")).unwrap();
        sandbox.write("new.md", "executable for no reason");
        std::fs::set_permissions(sandbox.root().join("new.md"), std::fs::Permissions::from_mode(0o700)).unwrap();
        sandbox.write("run.md", "2");
        let outcome = sandbox.commit(&["run.md", "out.md", "alias/a.md", "new.md"].map(written));
        assert_eq!(left(&outcome), [("alias/a.md", &Why::NotAFile), ("out.md", &Why::NotAFile)]);
        let modes = sandbox.git(&["ls-tree", "--format=%(objectmode) %(path)", "HEAD"]);
        assert_eq!(modes, "100644 new.md\n100755 run.md\n");
        assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
        assert_eq!(sandbox.git(&["diff", "--name-only", "run.md"]), "");
    }

    #[test]
    fn line_ends_follow_the_settings() {
        for (settings, attributes, committed) in [
            ("true", "", "one\ntwo\n"),
            ("input", "", "one\ntwo\n"),
            ("false", "", "one\r\ntwo\r\n"),
            ("false", "*.md text eol=crlf\n", "one\ntwo\n"),
            ("true", "*.md -text\n", "one\r\ntwo\r\n"),
        ] {
            let sandbox = Sandbox::new();
            sandbox.git(&["config", "core.autocrlf", settings]);
            sandbox.write(".gitattributes", attributes);
            let crlf = ("crlf.md", "one\r\ntwo\r\n");
            let outcome = sandbox.keep(&[crlf, ("lf.md", "one\ntwo\n"), (".gitattributes", attributes)]);
            assert_eq!(left(&outcome), [], "{settings} {attributes}");
            assert_eq!(sandbox.committed("crlf.md").as_deref(), Some(committed), "{settings} {attributes}");
            assert_eq!(sandbox.committed("lf.md").as_deref(), Some("one\ntwo\n"), "{settings} {attributes}");
            assert_eq!(sandbox.status(), "", "{settings} {attributes}");
            assert_eq!(left_without_commit(&sandbox.keep(&[crlf])), [], "{settings} {attributes}");
            assert_eq!(sandbox.open().dirty(&["crlf.md".to_owned(), "lf.md".to_owned()]).unwrap(), [""; 0]);
        }
    }

    #[test]
    fn commits_at_the_same_time_are_all_kept() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("start.md", "s")]);
        let (writers, rounds) = (3, 5);
        std::thread::scope(|scope| {
            for writer in 0..writers {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let git = sandbox.open();
                    for round in 0..rounds {
                        let path = format!("Memories/{writer}-{round}.md");
                        sandbox.write(&path, &path);
                        let is_kept = |_| matches!(commit(&git, &[written(&path)]), Outcome::Committed { .. });
                        assert!((0..100).any(is_kept));
                    }
                });
            }
            // A tool that moves the branch without a look at the index.
            let mut moved = 0;
            for _ in 0..1000 {
                let head = sandbox.git(&["rev-parse", "HEAD"]);
                let tree = format!("{}^{{tree}}", head.trim());
                let new = sandbox.git(&["commit-tree", &tree, "-p", head.trim(), "-m", &format!("tool {moved}")]);
                moved += usize::from(sandbox.try_git(&["update-ref", "refs/heads/main", new.trim(), head.trim()]).1);
                if moved == rounds {
                    break;
                }
            }
        });
        assert_eq!(sandbox.subjects().len(), 1 + writers * rounds + rounds);
        assert_eq!(sandbox.git(&["ls-tree", "--name-only", "HEAD", "Memories/"]).lines().count(), writers * rounds);
        assert_eq!(sandbox.status(), "");
    }
}
