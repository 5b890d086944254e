//! Every write to disk: folders, atomic replacement, synced appends, moves, locks, contained paths.
//!
//! Files are created with mode 0600 and folders with 0700, from the first instant. On return of a
//! write the bytes are on disk, and so is the folder entry. The calls to the system are in one place, where tests can
//! note them down and make them fail: [`rehearsal`].
#![expect(clippy::disallowed_methods, reason = "the one module that writes to disk")]

mod append;
mod lock;
mod place;
pub mod rehearsal;
mod reserve;
mod system;

use std::ffi::OsString;
use std::fs::{self, File, ReadDir};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub use append::{Appender, OpenFile};
pub use lock::{LOCK_WAIT, Lock, Patience};
pub use place::{Folder, Place, contained};
pub use reserve::{give_up_reserve, keep_reserve};

use crate::error::{Error, Result};

/// A folder of the home, the home, and where that lies.
const FOLDERS_MADE: usize = 3;

/// Makes a folder and its missing parents, readable by the owner only. An existing folder is left as it is.
///
/// # Errors
/// [`Error::Io`] when the system refuses, also where a file stands in the way.
pub fn create_folder(path: &Path) -> Result<()> {
    make_folders(path).map_err(Error::io("create folder", path))
}

fn make_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = parent(path);
    if above != path && !above.is_dir() {
        make_folders(above)?;
    }
    match system::make_folder(&path.into()) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_entries(&above.into())
}

/// Makes the entries of a folder of ours durable, and its own where we may have made it: another process may have been
/// killed before it had.
///
/// # Errors
/// [`Error::Io`].
pub fn settle_folder(path: &Path) -> Result<()> {
    path.ancestors().take(FOLDERS_MADE).try_for_each(|folder| sync_folder(&folder.into()))
}

fn sync_folder(folder: &Folder) -> Result<()> {
    sync_entries(folder).map_err(Error::io("sync folder", &folder.path))
}

/// Makes the entries of a folder durable, where the system can: not all let folders be opened.
fn sync_entries(folder: &Folder) -> io::Result<()> {
    match system::sync_folder(folder) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::Unsupported | ErrorKind::InvalidInput
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads a whole file.
///
/// # Errors
/// [`Error::Io`], also where the file does not exist.
pub fn read(place: impl Into<Place>) -> Result<Vec<u8>> {
    read_at(&place.into())
}

fn read_at(place: &Place) -> Result<Vec<u8>> {
    system::read(place).map_err(Error::io("read", &place.path))
}

/// Reads a whole file; `None` where there is none.
///
/// # Errors
/// [`Error::Io`] for anything but absence.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match system::read(&path.into()) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Opens a file for reading.
///
/// # Errors
/// The system's own.
pub fn open(path: &Path) -> io::Result<File> {
    system::open(&path.into())
}

/// Whether there is a file at a place: a folder, a link or a pipe is none.
///
/// # Errors
/// The system's own, also where nothing is there.
pub fn is_file(place: &Place) -> io::Result<bool> {
    system::is_file(place)
}

/// Lists a folder.
///
/// # Errors
/// The system's own.
pub fn read_dir(path: &Path) -> io::Result<ReadDir> {
    system::read_dir(path)
}

/// New content for a file, on disk beside it in a temporary file that is hidden by a leading dot. Dropped, it is gone.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    temporary: Place,
    place: Place,
}

impl Replacement {
    /// Writes the temporary file and syncs it. The file itself is not touched.
    ///
    /// # Errors
    /// [`Error::Io`]; nothing is then left behind.
    pub fn begin(place: impl Into<Place>, bytes: &[u8]) -> Result<Self> {
        let place = place.into();
        let mut name = OsString::from(".");
        name.push(place.path.file_name().unwrap_or_default());
        name.push(format!(".{:08x}.tmp", getrandom::u32().unwrap_or_else(|_| std::process::id())));
        let temporary = place.folder.file(name);
        let file = system::create_new(&temporary).map_err(Error::io("write", &place.path))?;
        let replacement = Replacement { file, temporary, place };
        replacement.add(bytes)?;
        Ok(replacement)
    }

    fn add(&self, bytes: &[u8]) -> Result<()> {
        system::append(&self.file, &self.temporary.path, bytes)
            .and_then(|()| system::sync(&self.file, &self.temporary.path))
            .map_err(Error::io("write", &self.place.path))
    }

    /// Adds `more`, syncs it, and takes the file's place in one step. An existing file's mode is kept.
    ///
    /// # Errors
    /// [`Error::Io`]; the file is then untouched, unless it was only its folder that could not be synced.
    pub fn finish(self, more: &[u8]) -> Result<()> {
        if !more.is_empty() {
            self.add(more)?;
        }
        self.take_mode();
        system::rename(&self.temporary, &self.place).map_err(Error::io("replace", &self.place.path))?;
        sync_folder(&self.place.folder)
    }

    fn take_mode(&self) {
        drop(system::take_mode(&self.file, &self.temporary.path, &self.place));
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After an exchange this is the old file; after a rename there is none.
        if system::is_file(&self.temporary).is_ok() {
            drop(system::remove(&self.temporary));
        }
    }
}

/// Moves a folder to a place where there is none, or an empty one. On return both names are on disk.
///
/// # Errors
/// [`Error::Invalid`] where the place is taken; [`Error::Io`], also for another disk: the folder is then where it was.
pub fn move_folder(from: &Path, to: &Path) -> Result<()> {
    if let Ok(mut there) = read_dir(to)
        && there.next().is_some()
    {
        let what = format!("folder {}", to.display());
        return Err(Error::invalid(what, "is not empty", "choose one that is not there yet"));
    }
    let parent = to.parent().unwrap_or(to);
    create_folder(parent)?;
    system::rename(&from.into(), &to.into()).map_err(|error| match error.kind() {
        std::io::ErrorKind::CrossesDevices => Error::invalid(
            format!("folder {}", to.display()),
            "is on another disk",
            "copy the vault there yourself, and write its place as `vault_path` into config.toml",
        ),
        _ => Error::io("move", from)(error),
    })?;
    for folder in [parent, from.parent().unwrap_or(from)] {
        system::sync_folder(&folder.into()).map_err(Error::io("sync", folder))?;
    }
    Ok(())
}

/// Replaces (or makes) a file in one step: readers see the old bytes or the new ones, also after a power cut.
/// An existing file keeps its mode.
///
/// # Errors
/// [`Error::Io`]; the old file is then untouched, unless it was only its folder that could not be synced.
pub fn write_atomic(place: impl Into<Place>, bytes: &[u8]) -> Result<()> {
    Replacement::begin(place, bytes)?.finish(b"")
}

/// As [`write_atomic`], but only over a file whose bytes are as expected. Where the system can exchange two files, also
/// what another program saves in the very last moment is noticed and put back.
///
/// # Errors
/// [`Error::Changed`] where it has other bytes by then; [`Error::Io`]. The file is then untouched.
pub fn replace_if(place: impl Into<Place>, bytes: &[u8], is_expected: impl Fn(&[u8]) -> bool) -> Result<()> {
    let new = Replacement::begin(place, bytes)?;
    let (temporary, place) = (&new.temporary, &new.place);
    let changed = || Error::Changed { path: place.path.clone() };
    if !is_expected(&read_at(place)?) {
        return Err(changed());
    }
    new.take_mode();
    if system::exchange(temporary, place).is_err() {
        return new.finish(b"");
    }
    if read_at(temporary).is_ok_and(|there| is_expected(&there)) {
        let folder = place.folder.clone();
        drop(new);
        return sync_folder(&folder);
    }
    // Somebody saved between the look and the exchange: their file goes back, unless they saved once more over ours;
    // then that is the one.
    let is_theirs_aside = match system::exchange(temporary, place) {
        Ok(()) => read_at(temporary).is_ok_and(|there| there != bytes),
        Err(_) => read_at(place).is_ok_and(|there| there == bytes),
    };
    if is_theirs_aside {
        system::rename(temporary, place).map_err(Error::io("put back", &place.path))?;
    }
    Err(changed())
}

/// Whether a file's name is one of our temporary ones: `.NAME.xxxxxxxx.tmp`.
pub fn is_leftover(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    let mark = inner.and_then(|name| name.rsplit_once('.')).map(|(_, mark)| mark);
    mark.is_some_and(|mark| mark.len() == 8 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Removes temporary files of ours that a crash left in a folder. Only while nobody else can be writing there.
pub fn remove_leftovers(folder: impl Into<Folder>) {
    let folder = folder.into();
    for entry in system::read_dir(&folder.path).into_iter().flatten().flatten() {
        if is_leftover(&entry.file_name().to_string_lossy()) {
            drop(system::remove(&folder.file(entry.file_name())));
        }
    }
}

/// Makes a new file in one step, never replacing one: `false` where the name is taken.
///
/// # Errors
/// [`Error::Io`]; nothing is then left behind, unless it was only its folder that could not be synced.
pub fn write_new(place: impl Into<Place>, bytes: &[u8]) -> Result<bool> {
    let new = Replacement::begin(place, bytes)?;
    let place = new.place.clone();
    match system::link(&new.temporary, &place) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        // A file system without hard links: the name is claimed first, then filled.
        Err(_) => match system::create_new(&place) {
            Ok(file) => {
                let filled = system::append(&file, &place.path, bytes).and_then(|()| system::sync(&file, &place.path));
                filled.map_err(|error| {
                    drop(system::remove(&place));
                    Error::io("write", &place.path)(error)
                })?;
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(Error::io("create", &place.path)(error)),
        },
    }
    drop(new);
    sync_folder(&place.folder)?;
    Ok(true)
}

/// Moves a file, never replacing one: `false` where the target's name is taken.
///
/// # Errors
/// [`Error::Io`]; the file is then still where it was, under both names, or moved and only its folder not synced.
pub fn move_file(from: &Place, to: &Place) -> Result<bool> {
    match system::link(from, to) {
        // The new name is durable before the old one goes.
        Ok(()) => {
            sync_folder(&to.folder)?;
            system::remove(from).map_err(Error::io("remove", &from.path))?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(_) if system::is_file(to).is_ok() => return Ok(false),
        Err(_) => system::rename(from, to).map_err(Error::io("move", &from.path))?,
    }
    sync_folder(&to.folder)?;
    sync_folder(&from.folder)?;
    Ok(true)
}

/// Whether the system tells of every change of the file system at `path`. Of what others do to a network drive, or to
/// what another program or system provides, it does not. Where that cannot be known, it is believed to.
pub fn tells_of_changes(path: &Path) -> bool {
    kind_of_file_system(path).is_none_or(|kind| !MUTE_FILE_SYSTEMS.contains(&kind))
}

/// Linux's number of the kind of file system that a path lies on; `None` on other systems.
pub fn kind_of_file_system(path: &Path) -> Option<u32> {
    system::kind_of_file_system(path)
}

/// A path with all links followed; as it is where it cannot be.
pub fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What tells a folder from another one that takes its place, as a mounted disk does; `None` where there is none.
pub fn folder_identity(path: &Path) -> Option<(u64, u64)> {
    system::identity(path)
}

/// Linux's numbers of NFS, SMB (three), 9P (WSL, virtual machines), FUSE (cloud drives, sshfs, virtiofs), Ceph, AFS,
/// and the shared folders of virtual machines.
const MUTE_FILE_SYSTEMS: [u32; 9] =
    [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x6573_5546, 0x00c3_6400, 0x5346_414f, 0x786f_4256];

/// Whether a file that is there can be written; it is not touched.
///
/// # Errors
/// [`Error::Io`] where it cannot. A file that is not there is fine.
pub fn check_writable(path: &Path) -> Result<()> {
    match File::options().write(true).open(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("open", path)(error)),
        _ => Ok(()),
    }
}

/// Bytes that are free for us on the disk of a folder, where the system tells.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = folder;
        None
    }
}

/// Whether two paths name one and the same file. Where the system cannot tell, they do not.
pub fn is_one_file(a: &Path, b: &Path) -> bool {
    system::open(&a.into()).is_ok_and(|file| system::is_at(&file, b))
}

/// Where a link leads; any other path, and a link that leads nowhere, as it is.
pub fn behind_links(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_symlink());
    if is_link { fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() }
}

/// Removes a file; one that is not there is fine.
///
/// # Errors
/// [`Error::Io`]; the file is then still there, unless it was only its folder that could not be synced.
pub fn remove(place: impl Into<Place>) -> Result<()> {
    let place = place.into();
    match system::remove(&place) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("remove", &place.path)(error)),
    }
    sync_folder(&place.folder)
}

/// Takes from everybody but the owner what a file or folder of ours lets them do. Returns its mode then.
///
/// # Errors
/// [`Error::Io`], also where there are no modes.
pub fn protect(path: &Path) -> Result<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::symlink_metadata(path).map_err(Error::io("look at", path))?.permissions().mode() & 0o700;
        system::set_mode(path, fs::Permissions::from_mode(mode)).map_err(Error::io("protect", path))?;
        Ok(mode)
    }
    #[cfg(not(unix))]
    Err(Error::io("protect", path)(ErrorKind::Unsupported.into()))
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
    system::remove_folder(path).map_err(Error::io("remove", path))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
        assert!(!move_file(&(&path).into(), &(&other).into()).unwrap());
        assert!(move_file(&(&path).into(), &(&root.path().join("moved.md")).into()).unwrap());
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
        Appender::open(&path).unwrap().append(b"next\n", true).unwrap();
        assert_eq!(read(&path).unwrap(), b"whole\ntor\nnext\n");
    }

    #[test]
    fn what_a_person_saved_in_the_last_moment_is_kept_where_it_cannot_be_exchanged_back() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("note.md");
        for nth in 0..16 {
            fs::write(&path, b"theirs").unwrap();
            let looks = std::cell::Cell::new(0);
            let is_expected = |_: &[u8]| looks.replace(looks.get() + 1) == 0;
            let plan = rehearsal::Plan { fault: rehearsal::Fault::Access, nth, stays: false };
            let (done, _) = rehearsal::failing(plan, || replace_if(&path, b"ours", is_expected));
            if looks.get() > 1 {
                assert!(done.is_err());
                assert_eq!(read(&path).unwrap(), b"theirs", "call {nth} failed");
            }
        }
    }

    #[test]
    fn an_append_that_fails_leaves_nothing_of_its_lines() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("j");
        for fault in [rehearsal::Fault::Short, rehearsal::Fault::Sync] {
            fs::write(&path, b"whole\n").unwrap();
            let mut file = Appender::open(&path).unwrap();
            let plan = rehearsal::Plan { fault, nth: 0, stays: false };
            let (done, _) = rehearsal::failing(plan, || file.append(b"one\ntwo\nthree\n", true));
            assert!(done.is_err());
            assert_eq!(read(&path).unwrap(), b"whole\n", "{fault:?}");
            file.append(b"next\n", true).unwrap();
            assert_eq!(read(&path).unwrap(), b"whole\nnext\n", "{fault:?}");
        }
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
