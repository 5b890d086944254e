//! How a commit went, and in words why something was not committed.

use std::fmt;
use std::path::PathBuf;

/// How a commit went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The branch has a new commit.
    Committed {
        /// The commit's name, 40 hexadecimal digits.
        oid: String,
        /// The branch it is on.
        branch: String,
        /// Paths that are not in it.
        left: Vec<Left>,
    },
    /// No path differs from the last commit, except those left.
    Nothing {
        /// Paths that were not looked at further.
        left: Vec<Left>,
    },
    /// Nothing can be committed now.
    Skipped {
        /// What is in the way.
        why: Hold,
    },
}

/// A path that was not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The path as given.
    pub path: String,
    /// What kept it out.
    pub why: Why,
}

/// Why a path was not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The person has staged something there, or has a conflict to resolve.
    Staged,
    /// An ignore rule covers it.
    Ignored,
    /// It lies in another repository inside this one.
    Nested,
    /// It is a link, lies behind one, or is no file.
    NotAFile,
    /// A file and a folder of that name exchanged places since the last commit.
    Blocked,
    /// It was to be written and is not there.
    Missing,
    /// git would not accept its name.
    BadName,
    /// Its content filter cannot be run; committing it as it is could publish secrets.
    Filter(String),
    /// libgit2 could not read it.
    Refused(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Staged => "you have staged a change there",
            Why::Ignored => "an ignore rule covers it",
            Why::Nested => "it is in another repository inside this one",
            Why::NotAFile => "it is a link or no file",
            Why::Blocked => "a file and a folder of that name have exchanged places",
            Why::Missing => "it is not there",
            Why::BadName => "git does not accept its name",
            Why::Filter(why) | Why::Refused(why) => why,
        })
    }
}

impl From<git2::Error> for Why {
    fn from(error: git2::Error) -> Self {
        Why::Refused(error.message().to_owned())
    }
}

/// Why nothing can be committed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// A commit is checked out, not a branch.
    Detached,
    /// The person is in the middle of something: `merge`, `rebase` and the like.
    InProgress(&'static str),
    /// Another branch than the wanted one is checked out.
    OtherBranch(String),
    /// Another program holds a lock: this file.
    Busy(PathBuf),
    /// The index cannot be read: libgit2's words.
    Index(String),
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::Detached => f.write_str("no branch is checked out"),
            Hold::InProgress(what) => write!(f, "a {what} is in progress"),
            Hold::OtherBranch(branch) => write!(f, "branch `{branch}` is checked out"),
            Hold::Busy(path) => write!(f, "another program holds {}", path.display()),
            Hold::Index(detail) => write!(f, "the staging area cannot be read: {detail}"),
        }
    }
}
