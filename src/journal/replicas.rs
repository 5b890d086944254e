//! Which machine writes which file, and how far each had come: the files `replica` and `written` of the home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Journal, Writer};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::files;
use crate::id::is_replica_id;

/// A line of the file `replica`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaLine {
    /// The line, counted from 1.
    pub line: u64,
    /// Where it begins, bytes.
    pub offset: u64,
    /// A machine and its replica id; none where the line makes no sense, as a torn one.
    pub owner: Option<(String, String)>,
}

/// Lines of this machine that were written and are not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// Its journal is missing, or has no line.
    Whole {
        /// The journal.
        path: PathBuf,
        /// A number that its lines had reached.
        reached: u64,
    },
    /// The journal was begun anew with a greater number than 1, and no file has what came before.
    Before {
        /// The journal.
        path: PathBuf,
        /// The number that it begins with.
        number: u64,
        /// When it was begun.
        at: Timestamp,
    },
}

/// The lines that say something; what stands behind the last newline is taken for a line too: an id has a known length.
fn replica_lines(bytes: &[u8]) -> Vec<ReplicaLine> {
    let (mut lines, mut offset) = (Vec::new(), 0);
    for (bytes, line) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1u64..) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim();
        if !text.is_empty() {
            let owner = text.split_once(' ').map(|(machine, id)| (machine, id.trim()));
            let owner = owner.filter(|(_, id)| is_replica_id(id));
            let owner = owner.map(|(machine, id)| (machine.to_owned(), id.to_owned()));
            lines.push(ReplicaLine { line, offset, owner });
        }
        offset += bytes.len() as u64;
    }
    lines
}

impl Journal {
    /// The lines of the file `replica`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read.
    pub fn replica_lines(&self) -> Result<Vec<ReplicaLine>> {
        Ok(replica_lines(&files::read_if_there(&self.home.join("replica"))?.unwrap_or_default()))
    }

    /// This machine's replica id, if it has one already.
    ///
    /// # Errors
    /// [`Error::Io`] when the file `replica` cannot be read.
    pub fn replica(&self) -> Result<Option<String>> {
        if let Some(replica) = &self.identity.replica {
            return Ok(Some(replica.clone()));
        }
        let owners = self.replica_lines()?.into_iter().filter_map(|line| line.owner);
        Ok(owners.filter(|(machine, _)| *machine == self.identity.machine).map(|(_, replica)| replica).next())
    }

    /// The replica id, made and written down at the first write of this machine to this home. Under the home's lock:
    /// looked up anew each time, because a person may have taken this machine's line away so that it gets another.
    pub(super) fn claim_replica(&self, writer: &mut Writer) -> Result<String> {
        let replica = match (self.replica(), &writer.replica) {
            (Ok(Some(replica)), _) => replica,
            (Ok(None), _) => self.make_replica()?,
            (Err(_), Some(known)) => known.clone(),
            (Err(error), None) => return Err(error),
        };
        if writer.replica.as_ref() == Some(&replica) {
            return Ok(replica);
        }
        if replica.is_empty() || !replica.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_') {
            return Err(Error::invalid(
                format!("replica id `{replica}`"),
                "only letters, digits, `-` and `_` make a file name everywhere",
                "set EBBMARK_REPLICA to such a name, or remove this machine's line from the file `replica`",
            ));
        }
        writer.sync()?;
        *writer = Writer { replica: Some(replica.clone()), noted: self.noted(&replica), ..Writer::default() };
        Ok(replica)
    }

    fn make_replica(&self) -> Result<String> {
        let path = self.home.join("replica");
        let mut known = files::read_if_there(&path)?.unwrap_or_default();
        let replica = self.identity.randomness.replica_id(&self.identity.machine)?;
        // A person may have edited it, or a crash cut it.
        if known.last().is_some_and(|last| *last != b'\n') {
            known.push(b'\n');
        }
        known.extend_from_slice(format!("{} {replica}\n", self.identity.machine).as_bytes());
        files::write_atomic(&path, &known)?;
        Ok(replica)
    }

    /// The numbers in the file `written`; what cannot be read there is not known.
    fn all_noted(&self) -> BTreeMap<String, u64> {
        let bytes = files::read_if_there(&self.written()).ok().flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let lines = whole.filter_map(|line| line.split_once(' '));
        lines.filter_map(|(replica, number)| Some((replica.to_owned(), number.trim().parse().ok()?))).collect()
    }

    fn noted(&self, replica: &str) -> u64 {
        self.all_noted().remove(replica).unwrap_or(0)
    }

    fn written(&self) -> PathBuf {
        self.home.join("written")
    }

    /// Notes a number that the own journal has reached, whenever it doubled: by it a lost journal is told from
    /// one that was never begun. Under the home's lock. Nothing depends on it but that.
    pub(super) fn note_written(&self, writer: &mut Writer) {
        let Some(replica) = &writer.replica else { return };
        if writer.reached < writer.noted.saturating_mul(2).max(1) {
            return;
        }
        let mut noted = self.all_noted();
        let known = noted.entry(replica.clone()).or_default();
        *known = writer.reached.max(*known);
        writer.noted = *known;
        let lines: Vec<String> = noted.iter().map(|(replica, number)| format!("{replica} {number}\n")).collect();
        let text = lines.concat();
        drop(files::write_atomic(&self.written(), text.as_bytes()));
    }

    /// The number behind which lines of the own journal go on. Where all that it had is lost, numbers that it may have
    /// given are not given again: the last one was below the double of what was noted.
    pub(super) fn last_number(&self, writer: &Writer, replica: &str) -> u64 {
        let tails = self.tails();
        match tails.greatest_number(replica) {
            0 => tails.had(replica).max(writer.noted.saturating_mul(2).saturating_sub(1)),
            number => number,
        }
    }

    /// What this machine's journal has lost, as far as can be seen without reading anything again.
    ///
    /// # Errors
    /// [`Error::Io`] when the file `replica` cannot be read.
    pub fn loss(&self) -> Result<Option<Loss>> {
        let Some(replica) = self.replica()? else { return Ok(None) };
        let path = self.own_path(&replica);
        let (read, had, begun, is_unreadable) = {
            let tails = self.tails();
            let is_unreadable = tails.unreadable().iter().any(|unreadable| unreadable.path == path);
            (tails.greatest_number(&replica), tails.had(&replica), tails.begun(&replica), is_unreadable)
        };
        if read > 0 {
            let before = begun.filter(|(number, _)| *number > 1);
            return Ok(before.map(|(number, at)| Loss::Before { path, number, at }));
        }
        // Lines that cannot be read are told of by themselves.
        let is_empty =
            || std::fs::metadata(&path).map_or_else(|_| is_missing(&path), |facts| facts.is_file() && facts.len() == 0);
        if is_unreadable || !is_empty() {
            return Ok(None);
        }
        let reached = had.max(self.noted(&replica));
        Ok((reached > 0).then_some(Loss::Whole { path, reached }))
    }

    /// Other replicas of which this process had read lines and no file has any now.
    pub fn vanished(&self) -> Vec<String> {
        let own = self.replica().ok().flatten();
        let mut vanished = self.tails().vanished();
        vanished.retain(|replica| own.as_ref() != Some(replica));
        vanished
    }
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ids_are_read() {
        let owners = |text: &str| -> Vec<Option<String>> {
            replica_lines(text.as_bytes()).into_iter().map(|line| line.owner.map(|(_, id)| id)).collect()
        };
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(owners("a 8mg6kk2z\nb 0123abcd\n"), [id("8mg6kk2z"), id("0123abcd")]);
        assert_eq!(owners("a 8mg6kk2z\nb 8mg6"), [id("8mg6kk2z"), None]);
        assert_eq!(owners("a 8mg6kk2z\r\n\n  \nb 0123abcd"), [id("8mg6kk2z"), id("0123abcd")]);
        for torn in [
            "a 8mg6kk2z0123abcd\n",
            "8mg6kk2z\n",
            "a 8MG6KK2Z\n",
            "a 8mg6kkiz\n",
            "<<<<<<< HEAD\n",
            "a \0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(owners(torn), [None], "{torn:?}");
        }
        assert_eq!(replica_lines(b"a\nb 0123abcd\n")[1].offset, 2);
    }
}
