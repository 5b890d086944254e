//! The calls to the operating system, one by one: the only ones, and all of them can be rehearsed.

use std::fs::{self, File, OpenOptions, ReadDir, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::rehearsal::{Call, Fault, call, look};

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

fn nothing(_: Fault) {}

pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    call(|| Call::MakeFolder(path.to_owned()), nothing, || builder.create(path))
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    call(|| Call::SyncFolder(path.to_owned()), nothing, || File::open(path)?.sync_all())
}

/// Refuses what is neither file nor folder before it is opened: a pipe would keep us waiting for its other end.
fn refuse_pipe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(facts) if !facts.is_file() && !facts.is_dir() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file"))
        }
        _ => Ok(()),
    }
}

pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    look(path, || refuse_pipe(path).and_then(|()| fs::read(path)))
}

pub(super) fn read_dir(path: &Path) -> io::Result<ReadDir> {
    look(path, || fs::read_dir(path))
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    look(path, || refuse_pipe(path).and_then(|()| File::open(path)))
}

/// Makes a file that is not there yet.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    call(
        || Call::Create(path.to_owned()),
        nothing,
        || private(OpenOptions::new().read(true).write(true).create_new(true)).open(path),
    )
}

/// Opens a file for appending.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    look(path, || refuse_pipe(path).and_then(|()| OpenOptions::new().read(true).append(true).open(path)))
}

/// Opens the file of a lock, and makes it where there is none.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let open = || private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path);
    look(path, || refuse_pipe(path).and_then(|()| open()))
}

/// Takes the lock of an open file, if nobody has it.
pub(super) fn try_lock(file: &File, path: &Path) -> io::Result<bool> {
    look(path, || match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    })
}

/// Writes at the end of a file.
pub(super) fn append(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let describe = || Call::Write {
        path: path.to_owned(),
        at: file.metadata().map_or(0, |facts| facts.len()),
        bytes: bytes.to_vec(),
    };
    let partly = |fault| {
        if fault == Fault::Short {
            drop((&mut &*file).write_all(&bytes[..bytes.len() / 2]));
        }
    };
    call(describe, partly, || {
        file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)
    })
}

/// The bytes of a file from an offset to its end.
pub(super) fn read_from(mut file: &File, path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    look(path, || {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

pub(super) fn cut(file: &File, path: &Path, length: u64) -> io::Result<()> {
    call(|| Call::Cut(path.to_owned(), length), nothing, || file.set_len(length))
}

/// Makes what was written to a file durable.
pub(super) fn sync(file: &File, path: &Path) -> io::Result<()> {
    call(|| Call::Sync(path.to_owned()), nothing, || file.sync_data())
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    call(|| Call::Rename(from.to_owned(), to.to_owned()), nothing, || fs::rename(from, to))
}

/// Exchanges two files in one step; an error where the system cannot.
pub(super) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    call(
        || Call::Exchange(a.to_owned(), b.to_owned()),
        nothing,
        || {
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
            }
            #[cfg(not(any(target_os = "linux", target_os = "macos")))]
            {
                Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        },
    )
}

pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    call(|| Call::Link(from.to_owned(), to.to_owned()), nothing, || fs::hard_link(from, to))
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    call(|| Call::Remove(path.to_owned()), nothing, || fs::remove_file(path))
}

pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    look(path, || fs::remove_dir_all(path))
}

pub(super) fn set_mode_of(path: &Path, like: &fs::Metadata) -> io::Result<()> {
    set_mode(path, like.permissions())
}

pub(super) fn set_mode(path: &Path, mode: fs::Permissions) -> io::Result<()> {
    look(path, || fs::set_permissions(path, mode))
}

/// Whether the open file still is the one at its path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(ours), Ok(there)) = (file.metadata(), fs::metadata(path)) else { return false };
        (ours.dev(), ours.ino()) == (there.dev(), there.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        false
    }
}

/// The system's number of the kind of file system that a path lies on; `None` where it has no such numbers.
pub(super) fn kind_of_file_system(path: &Path) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(path).ok().map(|facts| facts.f_type as u32)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
}

/// What tells a folder from another one that takes its place; `None` where there is none.
pub(super) fn identity(folder: &Path) -> Option<(u64, u64)> {
    let facts = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((facts.dev(), facts.ino()))
    }
    #[cfg(not(unix))]
    {
        let made = facts.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some((made.as_secs(), u64::from(made.subsec_nanos())))
    }
}
