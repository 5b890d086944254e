//! Every write to disk: folders, atomic replacement, synced appends, moves, locks, contained paths.
//!
//! Files are created with mode 0600 and folders with 0700, from the first instant. On return of a
//! write the bytes are on disk, and so is the folder entry.
#![expect(clippy::disallowed_methods, reason = "the one module that writes to disk")]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How long a lock is waited for before [`Error::Busy`].
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Makes a folder and its missing parents, readable by the owner only. An existing folder is left as it is.
///
/// # Errors
/// [`Error::Io`] when the system refuses, also where a file stands in the way.
pub fn create_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path).map_err(Error::io("create folder", path))?;
    sync_folder(path.parent().unwrap_or(path));
    Ok(())
}

/// Makes the entries of a folder durable. Best effort: some systems cannot open folders.
fn sync_folder(path: &Path) {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if let Ok(folder) = File::open(path) {
        drop(folder.sync_all());
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Reads a whole file.
///
/// # Errors
/// [`Error::Io`], also where the file does not exist.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(Error::io("read", path))
}

/// Reads a whole file; `None` where there is none.
///
/// # Errors
/// [`Error::Io`] for anything but absence.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Writes a temporary file beside `path`, hidden by a leading dot, and syncs it.
fn write_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{:08x}.tmp", getrandom::u32().unwrap_or_else(|_| std::process::id())));
    let temporary = parent(path).join(name);
    let written = private(OpenOptions::new().write(true).create_new(true)).open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written {
        drop(fs::remove_file(&temporary));
        return Err(Error::io("write", path)(error));
    }
    Ok(temporary)
}

/// Replaces (or makes) a file in one step: readers see the old bytes or the new ones, also after a power cut.
/// An existing file keeps its mode.
///
/// # Errors
/// [`Error::Io`]; the old file is then untouched.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = write_beside(path, bytes)?;
    if let Ok(old) = fs::metadata(path) {
        drop(fs::set_permissions(&temporary, old.permissions()));
    }
    if let Err(error) = fs::rename(&temporary, path) {
        drop(fs::remove_file(&temporary));
        return Err(Error::io("replace", path)(error));
    }
    sync_folder(parent(path));
    Ok(())
}

/// As [`write_atomic`], but only over a file whose bytes are as expected. Where the system can exchange two files, also
/// what another program saves in the very last moment is noticed and put back.
///
/// # Errors
/// [`Error::Changed`] where it has other bytes by then; [`Error::Io`]. The file is then untouched.
pub fn replace_if(path: &Path, bytes: &[u8], is_expected: impl Fn(&[u8]) -> bool) -> Result<()> {
    let temporary = write_beside(path, bytes)?;
    let replaced = replace_with(path, &temporary, bytes, is_expected);
    // After an exchange this is the old file; after a failure the new one.
    drop(fs::remove_file(&temporary));
    replaced?;
    sync_folder(parent(path));
    Ok(())
}

fn replace_with(path: &Path, temporary: &Path, bytes: &[u8], is_expected: impl Fn(&[u8]) -> bool) -> Result<()> {
    let changed = || Error::Changed { path: path.to_owned() };
    if !is_expected(&read(path)?) {
        return Err(changed());
    }
    if let Ok(old) = fs::metadata(path) {
        drop(fs::set_permissions(temporary, old.permissions()));
    }
    if !exchange(temporary, path) {
        return fs::rename(temporary, path).map_err(Error::io("replace", path));
    }
    if is_expected(&read(temporary)?) {
        return Ok(());
    }
    // Somebody saved between the look and the exchange: their file goes back, unless they saved once more over ours.
    if exchange(temporary, path) && read(temporary)? != bytes {
        fs::rename(temporary, path).map_err(Error::io("put back", path))?;
    }
    Err(changed())
}

/// Exchanges two files in one step; `false` where the system cannot.
fn exchange(a: &Path, b: &Path) -> bool {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).is_ok()
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = (a, b);
        false
    }
}

/// Whether a file's name is one of our temporary ones: `.NAME.xxxxxxxx.tmp`.
pub fn is_leftover(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    let mark = inner.and_then(|name| name.rsplit_once('.')).map(|(_, mark)| mark);
    mark.is_some_and(|mark| mark.len() == 8 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Removes temporary files of ours that a crash left in a folder. Only while nobody else can be writing there.
pub fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_leftover(&entry.file_name().to_string_lossy()) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Makes a new file in one step, never replacing one: `false` where the name is taken.
///
/// # Errors
/// [`Error::Io`]; nothing is then left behind.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool> {
    let temporary = write_beside(path, bytes)?;
    let linked = fs::hard_link(&temporary, path);
    drop(fs::remove_file(&temporary));
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        // A file system without hard links: the name is claimed first, then filled.
        Err(_) => match private(OpenOptions::new().write(true).create_new(true)).open(path) {
            Ok(mut file) => {
                file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| {
                    drop(fs::remove_file(path));
                    Error::io("write", path)(error)
                })?;
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(Error::io("create", path)(error)),
        },
    }
    sync_folder(parent(path));
    Ok(true)
}

/// Moves a file, never replacing one: `false` where the target's name is taken.
///
/// # Errors
/// [`Error::Io`]; the file is then still where it was.
pub fn move_file(from: &Path, to: &Path) -> Result<bool> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from).map_err(Error::io("remove", from))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(_) if fs::symlink_metadata(to).is_ok() => return Ok(false),
        Err(_) => fs::rename(from, to).map_err(Error::io("move", from))?,
    }
    sync_folder(parent(to));
    sync_folder(parent(from));
    Ok(true)
}

/// Removes a file; one that is not there is fine.
///
/// # Errors
/// [`Error::Io`]; the file is then still there.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("remove", path)(error)),
    }
    sync_folder(parent(path));
    Ok(())
}

/// A path as a person writes it: a leading `~/` is their home folder, where that is known.
pub fn with_home(path: &Path, user_home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), user_home) {
        (Ok(rest), Some(user_home)) => user_home.join(rest),
        _ => path.to_owned(),
    }
}

/// Removes a folder that we made, with all it holds.
///
/// # Errors
/// [`Error::Io`]; part of it may then be gone.
pub fn remove_folder(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(Error::io("remove", path))
}

/// Joins `relative` to `root`, refusing whatever would leave it.
///
/// # Errors
/// [`Error::Invalid`] for absolute paths, `..`, and links that lead out of `root`.
pub fn contained(root: &Path, relative: &Path) -> Result<PathBuf> {
    let refuse = |why: &str| {
        Error::invalid(format!("path `{}`", relative.display()), why, "give a path inside the vault, without `..`")
    };
    let mut path = root.to_path_buf();
    for component in relative.components() {
        let Component::Normal(name) = component else { return Err(refuse("does not stay inside the folder")) };
        path.push(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_symlink()) {
            let real_root = fs::canonicalize(root).map_err(Error::io("resolve", root))?;
            let inside = fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&real_root));
            if !inside {
                return Err(refuse("is a link that leads out of the folder"));
            }
        }
    }
    if path == root { Err(refuse("names no file")) } else { Ok(path) }
}

/// A file that only grows: whole lines, one write each, synced.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
}

impl Appender {
    /// Opens the file for appending, making it where it is missing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let is_new = !path.exists();
        let file = private(OpenOptions::new().read(true).append(true).create(true))
            .open(path)
            .map_err(Error::io("open", path))?;
        if is_new {
            sync_folder(parent(path));
        }
        Ok(Appender { file, path: path.to_owned() })
    }

    /// Whether the open file still is the one at its path (it is not after a compaction).
    pub fn is_current(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let (Ok(ours), Ok(there)) = (self.file.metadata(), fs::metadata(&self.path)) else { return false };
            (ours.dev(), ours.ino()) == (there.dev(), there.ino())
        }
        #[cfg(not(unix))]
        {
            false
        }
    }

    /// Appends whole lines (`lines` ends with a newline) with one write, then `fdatasync`: on return they are on disk.
    /// A file that does not end with a newline, after a crash, gets one first, so that nothing is glued to a torn line.
    ///
    /// # Errors
    /// [`Error::Io`]. Whatever was written after the last complete line is then cut off again.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        let before = self.file.seek(SeekFrom::End(0)).map_err(Error::io("read", &self.path))?;
        let torn = before > 0 && self.last_byte(before)? != b'\n';
        let written = if torn {
            let mut repaired = Vec::with_capacity(lines.len() + 1);
            repaired.push(b'\n');
            repaired.extend_from_slice(lines);
            self.file.write_all(&repaired)
        } else {
            self.file.write_all(lines)
        };
        written.and_then(|()| self.file.sync_data()).map_err(|error| {
            self.cut_incomplete_line(before);
            Error::io("append to", &self.path)(error)
        })
    }

    fn last_byte(&mut self, length: u64) -> Result<u8> {
        let mut last = [0];
        self.file
            .seek(SeekFrom::Start(length - 1))
            .and_then(|_| self.file.read_exact(&mut last))
            .map_err(Error::io("read", &self.path))?;
        Ok(last[0])
    }

    /// After a failed write: cuts what follows the last newline, never below the former length.
    fn cut_incomplete_line(&mut self, before: u64) {
        let mut added = Vec::new();
        if self.file.seek(SeekFrom::Start(before)).is_ok() && self.file.read_to_end(&mut added).is_ok() {
            let whole = added.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
            if (added.len() as u64) > whole {
                drop(self.file.set_len(before + whole));
            }
        }
    }
}

/// Waiting with an end: short random pauses until a time is over.
#[derive(Debug)]
pub struct Patience {
    began: Instant,
    wait: Duration,
}

impl Patience {
    /// Begins to wait for at most `wait`.
    pub fn new(wait: Duration) -> Self {
        Patience { began: Instant::now(), wait }
    }

    /// Pauses for 1 to 5 milliseconds; `false` where the time is over.
    pub fn pause(&self) -> bool {
        if self.began.elapsed() >= self.wait {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1 + u64::from(getrandom::u32().unwrap_or(7) % 5)));
        true
    }
}

/// An advisory lock between processes, held until dropped. Its file is never removed.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock as long as `patience` lasts.
    ///
    /// # Errors
    /// [`Error::Busy`] with the holder after that time; [`Error::Io`] where the file system has no locks.
    pub fn acquire(path: &Path, patience: &Patience) -> Result<Lock> {
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            if !patience.pause() {
                let holder = fs::read_to_string(path).unwrap_or_default();
                let holder = if holder.trim().is_empty() { "another process".into() } else { holder.trim().to_owned() };
                return Err(Error::Busy { path: path.to_owned(), holder });
            }
        }
    }

    /// Takes the lock if it is free; `None` where another process, or another handle of this one, holds it.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be made or the file system has no locks.
    pub fn try_acquire(path: &Path) -> Result<Option<Lock>> {
        let mut file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .open(path)
            .map_err(Error::io("open", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
        }
        // Who holds it is for people only; a failure to note it changes nothing.
        let noted = file.set_len(0).and_then(|()| write!(file, "process {}", std::process::id()));
        drop(noted);
        Ok(Some(Lock { _file: file }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contained_refuses_what_leaves_the_root() {
        let root = tempfile::tempdir().unwrap();
        for bad in ["../x", "/etc/passwd", "a/../../x", "", "a/.."] {
            assert!(contained(root.path(), Path::new(bad)).is_err(), "{bad}");
        }
        assert_eq!(contained(root.path(), Path::new("a/b.md")).unwrap(), root.path().join("a/b.md"));
    }

    #[cfg(unix)]
    #[test]
    fn contained_refuses_links_that_lead_out() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), root.path().join("out")).unwrap();
        std::os::unix::fs::symlink(root.path().join("in"), root.path().join("alias")).unwrap();
        std::fs::create_dir(root.path().join("in")).unwrap();
        assert!(contained(root.path(), Path::new("out/x.md")).is_err());
        assert!(contained(root.path(), Path::new("alias/x.md")).is_ok());
    }

    #[test]
    fn atomic_writes_replace_and_new_writes_do_not() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("note.md");
        assert!(write_new(&path, b"one").unwrap());
        assert!(!write_new(&path, b"two").unwrap());
        assert_eq!(read(&path).unwrap(), b"one");
        write_atomic(&path, b"three").unwrap();
        assert_eq!(read(&path).unwrap(), b"three");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "no temporary file is left");
        let other = root.path().join("other.md");
        assert!(write_new(&other, b"o").unwrap());
        assert!(!move_file(&path, &other).unwrap());
        assert!(move_file(&path, &root.path().join("moved.md")).unwrap());
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn files_and_folders_are_private_from_creation() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        create_folder(&folder).unwrap();
        write_atomic(&folder.join("f"), b"x").unwrap();
        Appender::open(&folder.join("j")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("f")), mode(&folder.join("j"))), (0o700, 0o600, 0o600));
    }

    #[test]
    fn an_append_after_a_torn_line_starts_its_own_line() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("j");
        fs::write(&path, b"whole\ntor").unwrap();
        Appender::open(&path).unwrap().append(b"next\n").unwrap();
        assert_eq!(read(&path).unwrap(), b"whole\ntor\nnext\n");
    }

    #[test]
    fn a_held_lock_is_refused_with_its_holder() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let held = Lock::acquire(&path, &Patience::new(LOCK_WAIT)).unwrap();
        let refused = Lock::acquire(&path, &Patience::new(Duration::from_millis(5))).unwrap_err();
        assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
        drop(held);
        // A program that another test starts may hold it with us until it runs.
        Lock::acquire(&path, &Patience::new(LOCK_WAIT)).unwrap();
    }
}
