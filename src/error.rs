//! Typed errors: what failed, on which path or id, and what to do next.

use std::path::{Path, PathBuf};

/// Result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who can do something about an error; decides exit codes and MCP replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A defect of Ebbmark itself (exit code 1).
    Internal,
    /// The request cannot be carried out as asked (exit code 2).
    User,
    /// Disk, permissions, locks, other programs (exit code 3).
    Environment,
}

impl ErrorKind {
    /// The word used in replies.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Internal => "internal",
            ErrorKind::User => "user",
            ErrorKind::Environment => "environment",
        }
    }
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No memory, note or entity of that name.
    #[error("there is no {what}")]
    NotFound {
        /// What was asked for, with its id or name.
        what: String,
    },
    /// An id prefix that several memories share.
    #[error("id prefix `{prefix}` fits several memories: {}", candidates.join(", "))]
    Ambiguous {
        /// The prefix as given.
        prefix: String,
        /// Up to eight full ids.
        candidates: Vec<String>,
    },
    /// An argument, field or file content that is not acceptable.
    #[error("{what}: {why}")]
    Invalid {
        /// The field, argument or file.
        what: String,
        /// What is wrong with it.
        why: String,
        /// What to do instead.
        hint: String,
    },
    /// A file that a newer Ebbmark writes: this version only reads there.
    #[error("{} line {line} was written by a newer Ebbmark; this version only reads here", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1.
        line: u64,
    },
    /// The file changed since it was last read; nothing was written.
    #[error("{} changed while it was being edited; nothing was written", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the lock.
    #[error("{} is busy: held by {holder}", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// Process id and command of the holder, as far as known.
        holder: String,
    },
    /// A call to the operating system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
    /// Git refused.
    #[error("git could not {action}: {detail}")]
    Git {
        /// What was tried, as a verb.
        action: &'static str,
        /// Git's own words.
        detail: String,
    },
    /// The derived index failed; memory goes on without it.
    #[error("the index could not {action}: {detail}")]
    Index {
        /// What was tried, as a verb.
        action: &'static str,
        /// tantivy's own words.
        detail: String,
    },
    /// A defect: something that cannot happen did.
    #[error("internal: {0}")]
    Internal(String),
}

impl Error {
    /// Builds [`Error::Invalid`].
    pub fn invalid(what: impl Into<String>, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Invalid { what: what.into(), why: why.into(), hint: hint.into() }
    }

    /// Builds [`Error::NotFound`] for a memory id.
    pub fn no_memory(id: impl std::fmt::Display) -> Self {
        Error::NotFound { what: format!("memory `{id}`") }
    }

    /// Builds the closure that `map_err` wants for an I/O call.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Error::Io { action, path, source }
    }

    /// Whether it is for want of room on the disk.
    pub fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Error::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// Whether the system found no such file or folder.
    pub fn is_absence(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }

    /// Who can do something about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NotFound { .. } | Error::Ambiguous { .. } | Error::Invalid { .. } => ErrorKind::User,
            Error::Newer { .. }
            | Error::Changed { .. }
            | Error::Busy { .. }
            | Error::Io { .. }
            | Error::Git { .. }
            | Error::Index { .. } => ErrorKind::Environment,
            Error::Internal(_) => ErrorKind::Internal,
        }
    }

    /// What to do next, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Error::NotFound { .. } => "find its id with `recall`; `ebbmark faded` lists what has faded".into(),
            Error::Ambiguous { .. } => "give more characters of the id".into(),
            Error::Invalid { hint, .. } => hint.clone(),
            Error::Newer { .. } => {
                "nothing was written: update Ebbmark, or restart the client so that it starts the newer one".into()
            }
            Error::Changed { .. } => "try again: the newer text will be read first".into(),
            Error::Busy { .. } => "wait for the other process, or end it; nothing was written".into(),
            Error::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    "check the owner and mode of that path, or choose another with --home or --vault".into()
                }
                std::io::ErrorKind::StorageFull => "free some disk space; what was acknowledged before is safe".into(),
                std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
                    "a file is where a folder is needed: move it, or choose another place with --home or --vault".into()
                }
                std::io::ErrorKind::IsADirectory => {
                    "a folder is where a file is needed: move it away, and the file is made anew".into()
                }
                std::io::ErrorKind::ReadOnlyFilesystem => {
                    "the place is read-only: reading works, saving needs another --home".into()
                }
                _ => "nothing that was acknowledged before is lost; `ebbmark where` shows the paths in use".into(),
            },
            Error::Git { .. } => "memory goes on without git; the next `ebbmark tidy` commits what is missing".into(),
            Error::Index { .. } => "deleting the home's `cache` folder is safe: it is rebuilt".into(),
            Error::Internal(_) => "please report this with the command that led to it".into(),
        }
    }
}
