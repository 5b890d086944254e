//! The calls to the operating system, one by one: the only ones, and all of them can be rehearsed.

#[cfg(not(unix))]
use std::fs::FileType;
use std::fs::{self, File, OpenOptions, ReadDir, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
#[cfg(unix)]
use std::sync::Arc;

#[cfg(unix)]
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fchmod, linkat, mkdirat, openat, renameat, statat, unlinkat,
};

use super::place::{Folder, Place};
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

/// A place as unix names it: a name in an open folder, or any path.
#[cfg(unix)]
fn at(place: &Place) -> (BorrowedFd<'_>, &Path) {
    place.held().map_or((CWD, place.path.as_path()), |(folder, name)| (folder.as_fd(), Path::new(name)))
}

#[cfg(unix)]
fn open_at(place: &Place, how: OFlags) -> io::Result<File> {
    let (folder, name) = at(place);
    let how = if place.held().is_some() { how | OFlags::NOFOLLOW } else { how };
    let open = || openat(folder, name, how | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    Ok(File::from(rustix::io::retry_on_intr(open)?))
}

#[cfg(unix)]
fn facts(place: &Place, follows_link: bool) -> io::Result<Stat> {
    let (folder, name) = at(place);
    let how = if follows_link { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    Ok(statat(folder, name, how)?)
}

fn file_type(place: &Place, follows_link: bool) -> io::Result<FileType> {
    #[cfg(unix)]
    {
        Ok(FileType::from_raw_mode(facts(place, follows_link)?.st_mode))
    }
    #[cfg(not(unix))]
    {
        let facts = if follows_link { fs::metadata(&place.path) } else { fs::symlink_metadata(&place.path) };
        Ok(facts?.file_type())
    }
}

/// Whether there is a file, not a folder, a link or a pipe.
pub(super) fn is_file(place: &Place) -> io::Result<bool> {
    Ok(file_type(place, false)?.is_file())
}

/// Opens a folder to hold it.
pub(super) fn hold(place: &Place) -> io::Result<Folder> {
    look(&place.path, || {
        #[cfg(unix)]
        let held = Some(Arc::new(open_at(place, OFlags::RDONLY | OFlags::DIRECTORY)?));
        #[cfg(not(unix))]
        let held = None;
        #[cfg(not(unix))]
        if !fs::metadata(&place.path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Folder { path: place.path.clone(), held })
    })
}

pub(super) fn make_folder(place: &Place) -> io::Result<()> {
    call(
        || Call::MakeFolder(place.path.clone()),
        nothing,
        || {
            #[cfg(unix)]
            {
                let (folder, name) = at(place);
                Ok(mkdirat(folder, name, Mode::RWXU)?)
            }
            #[cfg(not(unix))]
            {
                fs::create_dir(&place.path)
            }
        },
    )
}

pub(super) fn sync_folder(folder: &Folder) -> io::Result<()> {
    let path = if folder.path.as_os_str().is_empty() { Path::new(".") } else { &folder.path };
    call(
        || Call::SyncFolder(path.to_owned()),
        nothing,
        || match &folder.held {
            Some(held) => held.sync_all(),
            None => File::open(path)?.sync_all(),
        },
    )
}

/// Refuses what is neither file nor folder before it is opened: a pipe would keep us waiting for its other end.
fn refuse_pipe(place: &Place) -> io::Result<()> {
    match file_type(place, place.held().is_none()) {
        Ok(found) if !found.is_file() && !found.is_dir() && !found.is_symlink() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file"))
        }
        _ => Ok(()),
    }
}

fn open_to_read(place: &Place) -> io::Result<File> {
    refuse_pipe(place)?;
    #[cfg(unix)]
    {
        open_at(place, OFlags::RDONLY)
    }
    #[cfg(not(unix))]
    {
        File::open(&place.path)
    }
}

pub(super) fn read(place: &Place) -> io::Result<Vec<u8>> {
    look(&place.path, || {
        let mut bytes = Vec::new();
        open_to_read(place)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

pub(super) fn read_dir(path: &Path) -> io::Result<ReadDir> {
    look(path, || fs::read_dir(path))
}

pub(super) fn open(place: &Place) -> io::Result<File> {
    look(&place.path, || open_to_read(place))
}

/// Makes a file that is not there yet.
pub(super) fn create_new(place: &Place) -> io::Result<File> {
    call(
        || Call::Create(place.path.clone()),
        nothing,
        || {
            #[cfg(unix)]
            {
                open_at(place, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
            }
            #[cfg(not(unix))]
            {
                OpenOptions::new().read(true).write(true).create_new(true).open(&place.path)
            }
        },
    )
}

/// Opens a file for appending.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    look(path, || refuse_pipe(&path.into()).and_then(|()| OpenOptions::new().read(true).append(true).open(path)))
}

/// Opens the file of a lock, and makes it where there is none.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let open = || private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path);
    look(path, || refuse_pipe(&path.into()).and_then(|()| open()))
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

pub(super) fn rename(from: &Place, to: &Place) -> io::Result<()> {
    call(
        || Call::Rename(from.path.clone(), to.path.clone()),
        nothing,
        || {
            #[cfg(unix)]
            {
                let ((folder, name), (to_folder, to_name)) = (at(from), at(to));
                Ok(renameat(folder, name, to_folder, to_name)?)
            }
            #[cfg(not(unix))]
            {
                fs::rename(&from.path, &to.path)
            }
        },
    )
}

/// Exchanges two files in one step; an error where the system cannot.
pub(super) fn exchange(a: &Place, b: &Place) -> io::Result<()> {
    call(
        || Call::Exchange(a.path.clone(), b.path.clone()),
        nothing,
        || {
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            {
                use rustix::fs::{RenameFlags, renameat_with};
                let ((a_folder, a_name), (b_folder, b_name)) = (at(a), at(b));
                Ok(renameat_with(a_folder, a_name, b_folder, b_name, RenameFlags::EXCHANGE)?)
            }
            #[cfg(not(any(target_os = "linux", target_os = "macos")))]
            {
                Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        },
    )
}

pub(super) fn link(from: &Place, to: &Place) -> io::Result<()> {
    call(
        || Call::Link(from.path.clone(), to.path.clone()),
        nothing,
        || {
            #[cfg(unix)]
            {
                let ((folder, name), (to_folder, to_name)) = (at(from), at(to));
                Ok(linkat(folder, name, to_folder, to_name, AtFlags::empty())?)
            }
            #[cfg(not(unix))]
            {
                fs::hard_link(&from.path, &to.path)
            }
        },
    )
}

pub(super) fn remove(place: &Place) -> io::Result<()> {
    call(
        || Call::Remove(place.path.clone()),
        nothing,
        || {
            #[cfg(unix)]
            {
                let (folder, name) = at(place);
                Ok(unlinkat(folder, name, AtFlags::empty())?)
            }
            #[cfg(not(unix))]
            {
                fs::remove_file(&place.path)
            }
        },
    )
}

pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    look(path, || fs::remove_dir_all(path))
}

/// Gives a file the mode of another one.
pub(super) fn take_mode(file: &File, path: &Path, of: &Place) -> io::Result<()> {
    look(path, || {
        #[cfg(unix)]
        {
            let facts = facts(of, of.held().is_none())?;
            let is_link = FileType::from_raw_mode(facts.st_mode).is_symlink();
            if is_link { Ok(()) } else { Ok(fchmod(file, Mode::from_raw_mode(facts.st_mode))?) }
        }
        #[cfg(not(unix))]
        {
            file.set_permissions(fs::metadata(&of.path)?.permissions())
        }
    })
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
