//! Moving the branch so that a power cut leaves the old commit or the new one, never a branch that names nothing.
//!
//! Left alone, libgit2 syncs nothing. Told to, it waits for the disk more than a dozen times for one note, file by
//! file and folder by folder, reflogs too. Here all that the branch will depend on is synced side by side, then the
//! branch; the reflog, on which nothing depends, is not synced at all.
#![expect(clippy::disallowed_methods, reason = "git's own reflog, by git's own format")]

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;

use git2::{ConfigLevel, Oid, Repository, Signature};

use super::failed;
use crate::error::{Error, Result};
use crate::files;

/// Settings for our own handle only, layered over git's. They have a file because libgit2 reads settings from nowhere
/// else; in the repository's own configuration they would change what the `git` program does.
const SETTINGS: &[u8] = b"[core]\n\tfsyncObjectFiles = true\n\tlogAllRefUpdates = false\n";
/// Files synced at the same time: a disk does several at once in little more time than one.
const SIDE_BY_SIDE: usize = 8;

/// Makes a handle sync what it writes, and keep no reflog.
///
/// # Errors
/// [`Error::Git`], and [`Error::Io`] where its settings cannot be written.
pub(super) fn strict(repository: Repository) -> Result<Repository> {
    let settings = repository.path().join("ebbmark.config");
    if files::read_if_there(&settings)?.as_deref() != Some(SETTINGS) {
        files::write_atomic(&settings, SETTINGS)?;
    }
    repository
        .config()
        .and_then(|mut config| config.add_file(&settings, ConfigLevel::App, true))
        .map_err(failed("read the settings"))?;
    Ok(repository)
}

/// Where git keeps an object that is not packed.
pub(super) fn object_path(repository: &Repository, oid: Oid) -> PathBuf {
    let name = oid.to_string();
    let (first, rest) = name.split_at(2);
    repository.commondir().join("objects").join(first).join(rest)
}

/// Makes files durable, and their entries in their folders. Those that do not exist (packed objects) are passed over.
///
/// # Errors
/// [`Error::Io`]; nothing may then refer to them.
pub(super) fn sync(files: &[PathBuf]) -> Result<()> {
    let share = files.len().div_ceil(SIDE_BY_SIDE).max(1);
    thread::scope(|scope| {
        let sync_share = |share: &[PathBuf]| share.iter().try_for_each(|path| sync_file(path));
        let threads: Vec<_> = files.chunks(share).map(|share| scope.spawn(move || sync_share(share))).collect();
        let died = |_| Err(Error::Internal("a thread that synced files died".into()));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(died))
    })
}

fn sync_file(path: &Path) -> Result<()> {
    // Windows syncs only what is open for writing.
    match OpenOptions::new().read(true).write(cfg!(windows)).open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("sync", path)(error)),
        _ => Ok(()),
    }
}

/// Whether the repository keeps reflogs, as one with a work tree does unless told otherwise.
pub(super) fn keeps_reflog(repository: &Repository) -> bool {
    repository.config().and_then(|config| config.get_bool("core.logAllRefUpdates")).unwrap_or(true)
}

/// Tells the reflogs of the head and the branch that they moved, as git does it. Best effort.
pub(super) fn log_move(
    repository: &Repository,
    branch_ref: &str,
    from: Oid,
    to: Oid,
    who: &Signature<'_>,
    message: &str,
) {
    let (name, address) = (String::from_utf8_lossy(who.name_bytes()), String::from_utf8_lossy(who.email_bytes()));
    let line = format!("{from} {to} {name} <{address}> {} +0000\t{message}\n", who.when().seconds());
    for path in [repository.path().join("logs/HEAD"), repository.commondir().join("logs").join(branch_ref)] {
        drop(append(&path, &line));
    }
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().append(true).create(true).open(path)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::testing::Sandbox;
    use super::*;

    #[test]
    fn the_strict_settings_are_those_of_our_handle_alone() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "a")]);
        let open = || Repository::open(sandbox.work_dir()).unwrap();
        let syncs = |repository: &Repository| repository.config().unwrap().get_bool("core.fsyncObjectFiles").ok();
        assert_eq!(syncs(&strict(open()).unwrap()), Some(true));
        assert_eq!(syncs(&open()), None);
        assert_eq!(sandbox.try_git(&["config", "core.fsyncObjectFiles"]), (String::new(), false));
        fs::write(sandbox.git_dir().join("ebbmark.config"), "[core").unwrap();
        assert_eq!(syncs(&strict(open()).unwrap()), Some(true));
    }

    #[test]
    fn reflogs_tell_of_our_commits_unless_switched_off() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a.md", "a")]);
        sandbox.keep(&[("a.md", "b")]);
        for name in ["HEAD", "main"] {
            let log = sandbox.git(&["reflog", "show", "--date=unix", "--format=%gd %gn <%ge> %gs", name]);
            let entry =
                format!("{name}@{{1795995300}} Person <person@example.org> commit: Promote: Prefers TypeScript\n");
            assert_eq!(log, entry.repeat(2));
        }
        assert_eq!(sandbox.git(&["diff", "--name-only", "HEAD@{1}", "HEAD"]), "a.md\n");
        let silent = Sandbox::new();
        silent.git(&["config", "core.logAllRefUpdates", "false"]);
        silent.keep(&[("a.md", "a")]);
        assert!(!silent.git_dir().join("logs/HEAD").exists());
        assert_eq!(silent.status(), "");
    }

    #[test]
    fn objects_are_where_they_are_synced() {
        let sandbox = Sandbox::new();
        let repository = Repository::open(sandbox.work_dir()).unwrap();
        let blobs = (0..20).map(|at| repository.blob(&[at]).unwrap());
        let mut paths: Vec<_> = blobs.map(|blob| object_path(&repository, blob)).collect();
        assert!(paths.iter().all(|path| path.is_file()));
        paths.push(object_path(&repository, Oid::from_bytes(&[7; 20]).unwrap()));
        assert!(sync(&paths).is_ok());
        assert!(sync(&[]).is_ok());
        assert!(sync(&[sandbox.path("none").join("below a file")]).is_err());
    }
}
