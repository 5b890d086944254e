//! Local git work: commits of our own paths, beside whatever the person does in the same repository.
//!
//! libgit2 does the work; the `git` program only turns files with a content filter into what is committed. No hook
//! runs, nothing is signed, and what the person has staged is neither committed nor unstaged. Whatever libgit2 cannot
//! open is [`NoGit`]: memory goes on without git.
//!
//! Files of ours in the git folder: `ebbmark.lock`, during a commit `ebbmark.index` and `ebbmark.mark` (see `staging`),
//! and `ebbmark.config` (see `durable`).

mod base;
mod commit;
mod durable;
mod filter;
mod history;
mod look;
mod message;
mod outcome;
mod staging;
#[cfg(test)]
mod testing;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use git2::{
    Delta, DiffOptions, ErrorCode, Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags, RepositoryState, Tree,
};

pub use self::commit::{Author, Change, Kind};
pub use self::history::Entry;
pub use self::look::GitLock;
pub use self::message::Message;
pub use self::outcome::{Hold, Left, Outcome, Why};
use crate::error::{Error, Result};
use crate::files;

/// Branch of a repository that we make.
const FIRST_BRANCH: &str = "main";

/// Why there is no git for a vault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoGit {
    /// No repository at the vault or above it.
    #[error("there is no git repository here")]
    Absent,
    /// The repository has no work tree.
    #[error("the git repository is a bare one")]
    Bare,
    /// The repository belongs to somebody else, and git does not trust it.
    #[error("the git repository {} belongs to {owner}", path.display())]
    Foreign {
        /// Its work tree.
        path: PathBuf,
        /// User number of the owner, as far as known.
        owner: String,
    },
    /// libgit2 cannot work with it.
    #[error("the git repository cannot be used: {why}")]
    Unusable {
        /// In libgit2's words.
        why: String,
    },
}

impl NoGit {
    fn of(error: &git2::Error, path: &Path) -> Self {
        match error.code() {
            ErrorCode::NotFound => NoGit::Absent,
            ErrorCode::BareRepo => NoGit::Bare,
            ErrorCode::Owner => {
                let is_work_tree = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
                let work_tree = path.ancestors().find(is_work_tree).unwrap_or(path);
                NoGit::Foreign { path: work_tree.to_owned(), owner: owner(&work_tree.join(".git")) }
            }
            _ => NoGit::Unusable { why: error.message().to_owned() },
        }
    }

    /// What to do about it, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            NoGit::Absent => "`ebbmark init` makes a repository for the vault".into(),
            NoGit::Bare => "keep the vault in a repository with a work tree".into(),
            NoGit::Foreign { path, .. } => {
                format!("run `git config --global --add safe.directory \"{}\"` if you trust it", path.display())
            }
            NoGit::Unusable { .. } => "memory works without it; commit the vault with your own git".into(),
        }
    }
}

#[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix numbers its users"))]
fn owner(path: &Path) -> String {
    #[cfg(unix)]
    if let Ok(found) = path.metadata() {
        use std::os::unix::fs::MetadataExt;
        return format!("user {}", found.uid());
    }
    "another user".into()
}

/// The repository a vault lies in. The vault may be a folder inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// The vault, resolved.
    root: PathBuf,
    /// Where git keeps what belongs to this work tree.
    repository_dir: PathBuf,
    /// The vault's folder inside the work tree, ending with a slash; empty where it is the work tree.
    prefix: String,
}

impl Git {
    /// Finds the repository whose work tree contains the vault.
    ///
    /// # Errors
    /// [`NoGit`], with what to do about it.
    pub fn open(root: &Path) -> Result<Git, NoGit> {
        let unusable = |why: &str| NoGit::Unusable { why: why.to_owned() };
        let Ok(root) = root.canonicalize() else { return Err(NoGit::Absent) };
        let repository = find(&root).map_err(|error| NoGit::of(&error, &root))?;
        let work_dir = repository.workdir().ok_or(NoGit::Bare)?;
        let work_dir = work_dir.canonicalize().map_err(|_| unusable("its work tree does not exist"))?;
        let inside = root.strip_prefix(&work_dir).map_err(|_| unusable("the vault is outside its work tree"))?;
        let mut prefix = String::new();
        for component in inside.components() {
            let name = component.as_os_str().to_str().ok_or_else(|| unusable("a folder name is not Unicode"))?;
            if name.eq_ignore_ascii_case(".git") {
                return Err(unusable("the vault is inside a git folder"));
            }
            prefix.push_str(name);
            prefix.push('/');
        }
        let repository_dir = repository.path().to_owned();
        Ok(Git { root, repository_dir, prefix })
    }

    /// Makes a repository in the vault, with branch `main`, its folder readable by the owner only. A vault that an
    /// outer repository ignores counts as being in none.
    ///
    /// # Errors
    /// [`Error::Git`] where the vault is in a repository already, also one that cannot be used.
    pub fn init(root: &Path) -> Result<Git> {
        let refuse = |detail: String| Error::Git { action: "make a repository", detail };
        match Git::open(root) {
            Err(NoGit::Absent) => {}
            Ok(outer) if outer.ignores_vault()? => {}
            Ok(outer) => return Err(refuse(format!("the vault is already in {}", outer.repository_dir.display()))),
            Err(reason) => return Err(refuse(reason.to_string())),
        }
        // What is no repository yet has no other owner: a crash of ours left these locks.
        for name in ["config.lock", "HEAD.lock"] {
            files::remove(&root.join(".git").join(name))?;
        }
        let mut options = RepositoryInitOptions::new();
        options.initial_head(FIRST_BRANCH).external_template(false).mkpath(false).mkdir(false);
        let repository = Repository::init_opts(root, &options).map_err(failed("make a repository"))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(repository.path(), std::fs::Permissions::from_mode(0o700))
                .map_err(Error::io("protect", repository.path()))?;
        }
        Git::open(root).map_err(|reason| refuse(reason.to_string()))
    }

    fn ignores_vault(&self) -> Result<bool> {
        let inside = !self.prefix.is_empty();
        Ok(inside && self.repository()?.is_path_ignored(&self.prefix).map_err(failed("read the ignore rules"))?)
    }

    /// The branch that is checked out, also before its first commit; `None` for a detached head.
    ///
    /// # Errors
    /// [`Error::Git`] where the repository has become unreadable.
    pub fn branch(&self) -> Result<Option<String>> {
        let branch_ref = branch_ref(&self.repository()?)?;
        Ok(branch_ref.map(|name| short(&name).to_owned()))
    }

    /// The current commit; `None` before the first one.
    ///
    /// # Errors
    /// [`Error::Git`] where the repository has become unreadable.
    pub fn head(&self) -> Result<Option<String>> {
        Ok(commit_of(&self.repository()?, "HEAD")?.map(|oid| oid.to_string()))
    }

    /// Which of the vault's `paths` differ from the current commit: new, changed or gone. Ignored files do not count.
    /// A file whose filter cannot be run counts as changed.
    ///
    /// # Errors
    /// [`Error::Git`] where the repository cannot be read.
    pub fn dirty(&self, paths: &[String]) -> Result<Vec<String>> {
        let repository = self.repository()?;
        self.dirty_in(&repository, paths).map_err(failed("compare the vault with the last commit"))
    }

    fn dirty_in(&self, repository: &Repository, paths: &[String]) -> Result<Vec<String>, git2::Error> {
        let tree = match repository.head() {
            Ok(head) => Some(head.peel_to_tree()?),
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => None,
            Err(error) => return Err(error),
        };
        // Size and time in the index spare the reading of most files; what then is left is really compared, because
        // the index may also differ by what the person staged.
        let candidates = paths.iter().filter(|path| is_plain(path)).map(|path| self.in_work_tree(path));
        let candidates = differing(repository, tree.as_ref(), candidates, Compare::WithIndex)?;
        let mut changed = differing(repository, tree.as_ref(), candidates, Compare::Content)?;
        // libgit2 has compared files with a filter as they lie on disk.
        let blobs = filter::blobs(repository, changed.iter().map(String::as_str), filter::Blobs::Name)?;
        for (path, blob) in blobs {
            let committed = tree.as_ref().and_then(|tree| tree.get_path(Path::new(&path)).ok()).map(|entry| entry.id());
            if committed.is_some() && committed == blob.ok() {
                changed.remove(&path);
            }
        }
        Ok(paths.iter().filter(|path| changed.contains(&self.in_work_tree(path))).cloned().collect())
    }

    /// Finishes or undoes what a process of ours left when it died in the middle of a commit; every commit does so
    /// first. Returns whether there was anything.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Git`].
    pub fn recover(&self) -> Result<bool> {
        staging::recover(&self.repository()?)
    }

    /// A new handle, found as [`Git::open`] found it: the git folder alone does not always tell the work tree.
    fn repository(&self) -> Result<Repository> {
        let repository = find(&self.root).map_err(failed("open the repository"))?;
        if repository.path() == self.repository_dir {
            Ok(repository)
        } else {
            let detail = format!("the vault now belongs to {}", repository.path().display());
            Err(Error::Git { action: "open the repository", detail })
        }
    }

    /// A vault path as git names it.
    fn in_work_tree(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

/// The repository at `root` or above it, on the same file system.
fn find(root: &Path) -> Result<Repository, git2::Error> {
    // Not `discover`, which looks for the work tree beside the git folder, wherever that is.
    Repository::open_ext(root, RepositoryOpenFlags::empty(), std::iter::empty::<&Path>())
}

/// Whether a vault path can be one of ours: relative, in normal form, not in a git folder.
fn is_plain(path: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && !matches!(part, "." | "..") && !part.eq_ignore_ascii_case(".git");
    let is_relative = Path::new(path).components().all(|component| matches!(component, Component::Normal(_)));
    is_relative && !path.contains('\0') && path.split('/').all(is_name)
}

/// Full name of the branch that is checked out; `None` for a detached head.
fn branch_ref(repository: &Repository) -> Result<Option<String>> {
    let head = repository.find_reference("HEAD").map_err(failed("read the head"))?;
    Ok(head.symbolic_target().map_err(failed("read the head"))?.map(str::to_owned))
}

/// Full name of the branch that is checked out and can be committed to, or what is in the way.
fn free_branch(repository: &Repository, only_on: Option<&str>) -> Result<Result<String, Hold>> {
    let in_progress = match repository.state() {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some("merge"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("revert"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some("cherry-pick"),
        RepositoryState::Bisect => Some("bisect"),
        RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => Some("rebase"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some("patch series"),
    };
    if let Some(what) = in_progress {
        return Ok(Err(Hold::InProgress(what)));
    }
    let Some(branch_ref) = branch_ref(repository)? else { return Ok(Err(Hold::Detached)) };
    let branch = short(&branch_ref);
    let is_wanted = only_on.is_none_or(|wanted| wanted == branch);
    Ok(if is_wanted { Ok(branch_ref) } else { Err(Hold::OtherBranch(branch.to_owned())) })
}

fn short(branch_ref: &str) -> &str {
    branch_ref.strip_prefix("refs/heads/").unwrap_or(branch_ref)
}

/// The commit a reference names; `None` before the first one.
fn commit_of(repository: &Repository, reference: &str) -> Result<Option<Oid>> {
    match repository.refname_to_id(reference) {
        Ok(oid) => Ok(Some(oid)),
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
        Err(error) => Err(failed("read the branch")(error)),
    }
}

/// How files are compared with the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    WithIndex,
    Content,
}

/// Those of the `paths` (as git names them) that differ from `tree`.
fn differing(
    repository: &Repository,
    tree: Option<&Tree<'_>>,
    paths: impl IntoIterator<Item = String>,
    compare: Compare,
) -> Result<BTreeSet<String>, git2::Error> {
    let mut options = DiffOptions::new();
    options.disable_pathspec_match(true).ignore_filemode(true).ignore_submodules(true).skip_binary_check(true);
    options.include_untracked(true).recurse_untracked_dirs(true);
    let mut is_empty = true;
    for path in paths {
        options.pathspec(path);
        is_empty = false;
    }
    if is_empty {
        return Ok(BTreeSet::new());
    }
    let diff = match compare {
        Compare::WithIndex => repository.diff_tree_to_workdir_with_index(tree, Some(&mut options))?,
        Compare::Content => repository.diff_tree_to_workdir(tree, Some(&mut options))?,
    };
    let name = |path: Option<&Path>| path.and_then(Path::to_str).map(str::to_owned);
    Ok(diff
        .deltas()
        .filter(|delta| delta.status() != Delta::Unmodified)
        .filter_map(|delta| name(delta.new_file().path()).or_else(|| name(delta.old_file().path())))
        .collect())
}

/// Turns an error of libgit2 into ours; `action` is a verb.
fn failed(action: &'static str) -> impl FnOnce(git2::Error) -> Error {
    move |error| Error::Git { action, detail: error.message().to_owned() }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests stand in for the person and their tools")]
mod tests {
    use super::testing::{Sandbox, left};
    use super::*;

    #[test]
    fn init_makes_a_private_repository_once() {
        let sandbox = Sandbox::made_by_init();
        let git = sandbox.open();
        assert_eq!((git.branch().unwrap().as_deref(), git.head().unwrap()), (Some("main"), None));
        assert_eq!(sandbox.status(), "");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(sandbox.git_dir().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert!(!sandbox.git_dir().join("hooks/pre-commit.sample").exists());
        let inner = sandbox.root().join("inner");
        std::fs::create_dir(&inner).unwrap();
        for root in [sandbox.root(), inner.clone()] {
            let refused = Git::init(&root).unwrap_err().to_string();
            assert!(refused.contains("already in"), "{refused}");
        }
        assert!(!inner.join(".git").exists());
    }

    #[test]
    fn init_finishes_what_a_crash_left_and_may_sit_in_an_ignored_folder() {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.work_dir().join(".gitignore"), "/vault/\n").unwrap();
        let root = sandbox.work_dir().join("vault");
        std::fs::create_dir_all(root.join(".git/refs")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Git::init(&root).unwrap();
        assert_eq!(Git::open(&root).unwrap().prefix, "");
        assert_eq!(Git::init(&sandbox.path("nowhere")).unwrap_err().kind(), crate::error::ErrorKind::Environment);
    }

    #[test]
    fn what_cannot_be_used_is_no_git_with_a_reason() {
        let sandbox = Sandbox::new();
        let outside = sandbox.path("outside");
        std::fs::create_dir(&outside).unwrap();
        assert_eq!(Git::open(&outside), Err(NoGit::Absent));
        assert_eq!(Git::open(&sandbox.path("missing")), Err(NoGit::Absent));
        sandbox.git(&["init", "-q", "--bare", "bare"]);
        assert_eq!(Git::open(&sandbox.work_dir().join("bare")), Err(NoGit::Bare));
        assert!(matches!(Git::open(&sandbox.git_dir().join("refs")), Err(NoGit::Unusable { .. })));
        for (name, settings) in
            [("reftable", [("core.repositoryFormatVersion", "1"), ("extensions.refStorage", "reftable")])]
        {
            for (key, value) in settings {
                sandbox.git(&["config", key, value]);
            }
            let reason = Git::open(&sandbox.root()).unwrap_err();
            assert!(matches!(&reason, NoGit::Unusable { why } if why.contains("extension")), "{name}: {reason}");
        }
    }

    #[test]
    fn a_foreign_owner_is_named_with_the_way_out() {
        let sandbox = Sandbox::with_prefix("vault/");
        let error = git2::Error::new(ErrorCode::Owner, git2::ErrorClass::Config, "not owned by current user");
        let reason = NoGit::of(&error, &sandbox.root());
        let path = sandbox.work_dir().display().to_string();
        assert!(reason.to_string().starts_with(&format!("the git repository {path} belongs to ")), "{reason}");
        assert!(reason.hint().contains(&format!("safe.directory \"{path}\"`")), "{}", reason.hint());
    }

    #[test]
    fn dirty_names_what_differs_from_the_last_commit() {
        for sandbox in [Sandbox::new(), Sandbox::with_prefix("vault/")] {
            let git = sandbox.open();
            let paths =
                ["same.md", "changed.md", "gone.md", "new ü.md", "never.md", "staged.md", "no.tmp", "../x", "[x]*.md"];
            let paths = paths.map(str::to_owned);
            sandbox.write("new ü.md", "n");
            assert_eq!(git.dirty(&paths).unwrap(), ["new ü.md"]);
            let notes = [("same.md", "s"), ("changed.md", "c"), ("gone.md", "g"), ("staged.md", "1"), ("x.md", "x")];
            left(&sandbox.keep(&notes));
            assert_eq!(git.dirty(&paths).unwrap(), ["new ü.md"]);
            sandbox.write("changed.md", "C");
            sandbox.remove("gone.md");
            sandbox.write("x.md", "not asked for, though a pattern fits");
            sandbox.write("staged.md", "2");
            sandbox.git(&["add", "--all", &format!("{}staged.md", sandbox.prefix)]);
            sandbox.write("staged.md", "1");
            sandbox.write("no.tmp", "ignored");
            std::fs::write(sandbox.work_dir().join(".gitignore"), "*.tmp\n").unwrap();
            assert_eq!(git.dirty(&paths).unwrap(), ["changed.md", "gone.md", "new ü.md"]);
            assert_eq!(git.dirty(&[]).unwrap(), [""; 0]);
        }
    }

    #[test]
    fn a_git_folder_elsewhere_is_used_and_a_new_one_is_noticed() {
        let sandbox = Sandbox::with_prefix("vault/");
        sandbox.git(&["init", "-q", "--separate-git-dir", "../elsewhere"]);
        left(&sandbox.keep(&[("a.md", "a")]));
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        assert!(sandbox.path("elsewhere/ebbmark.lock").is_file());
        let git = sandbox.open();
        sandbox.git(&["init", "-q", "vault"]);
        assert!(git.branch().unwrap_err().to_string().contains("now belongs to"));
    }

    #[test]
    fn linked_work_trees_commit_to_their_own_branch() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "a")]);
        sandbox.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        let git = Git::open(&sandbox.path("side")).unwrap();
        std::fs::write(sandbox.path("side/b.md"), "b").unwrap();
        let outcome = testing::commit(&git, &[testing::written("b.md")]);
        assert!(matches!(outcome, Outcome::Committed { branch, .. } if branch == "side"));
        assert_eq!(sandbox.git(&["-C", "../side", "status", "--porcelain"]), "");
        assert_eq!(sandbox.git(&["ls-tree", "--name-only", "side"]), "a.md\nb.md\n");
        assert_eq!(sandbox.status(), "");
    }
}
