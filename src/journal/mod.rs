//! The short-term tier on disk: one append-only JSONL file a machine, all of which are read.
//!
//! `docs/format.md` says what the lines mean. Reading takes no lock. Writing takes the home's lock, reads what
//! others appended, and appends whole lines with one synced write.

mod audit;
mod codec;
mod compact;
mod copies;
mod disguise;
#[cfg(test)]
mod followers;
#[cfg(test)]
mod histories;
mod quarantine;
mod replicas;
mod tail;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

pub use audit::{Audited, AuditedLine, Clash, Gap, clashes, gaps};
pub use compact::Compaction;
pub use disguise::{Disguise, disguise};
pub use replicas::{Loss, ReplicaLine};
pub use tail::{BadLine, Change, Told, Unreadable};

use crate::clock::{DAY_MS, Timestamp};
use crate::config::Durability;
use crate::error::{Error, Result};
use crate::files::{self, Appender, LOCK_WAIT, Lock, OpenFile, Patience, Replacement};
use crate::id::{MemoryId, Randomness};
use crate::memory::{Ended, Line, Op};
use tail::Tails;

/// Whose file this process appends to.
#[derive(Debug, Clone)]
pub struct Identity {
    /// A name of this machine that a copied home does not share: a hash of its machine id.
    pub machine: String,
    /// The replica id to use whatever the home says.
    pub replica: Option<String>,
    /// Where new ids come from.
    pub randomness: Randomness,
}

/// A file of the journal, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub replica: String,
    /// Bytes read.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// How long lines may wait for their sync with [`Durability::Interval`], milliseconds.
const SYNC_INTERVAL_MS: i64 = 1_000;

#[derive(Debug, Default)]
struct Writer {
    replica: Option<String>,
    appender: Option<Appender>,
    /// When the first line was appended that is not synced yet.
    unsynced_since: Option<Timestamp>,
    has_reserve: bool,
    /// The last number given.
    reached: u64,
    /// What the file `written` says of this replica.
    noted: u64,
}

/// The journals of a home.
#[derive(Debug)]
pub struct Journal {
    home: PathBuf,
    identity: Identity,
    durability: Durability,
    tails: Mutex<Tails>,
    writer: Mutex<Writer>,
}

impl Journal {
    /// The journals of `home`. Reads and writes nothing yet.
    pub fn new(home: &Path, identity: Identity, durability: Durability) -> Self {
        let tails = Mutex::new(Tails::new(home.join("short-term")));
        Journal { home: home.to_owned(), identity, durability, tails, writer: Mutex::default() }
    }

    fn tails(&self) -> MutexGuard<'_, Tails> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process's turn to write, if nobody has it. A call that panicked in its turn leaves nothing half: each line
    /// is on disk or is not.
    fn try_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Begins a reading. Threads take turns: hold it until what was read is folded in.
    pub fn reading(&self) -> Reading<'_> {
        let mut tails = self.tails();
        if self.tails.is_poisoned() {
            // A reading that panicked may have passed over lines that were never folded in.
            tails.restart();
            self.tails.clear_poison();
        }
        Reading(tails)
    }

    /// Lines that could not be read, with their place.
    pub fn bad_lines(&self) -> Vec<BadLine> {
        self.tails().bad_lines()
    }

    /// Whether the newest line is from the last day: after a jump of the clock, or a long silence, it is not.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now.millis().saturating_sub(self.tails().order()) <= DAY_MS
    }

    /// Where the bytes behind the last complete line of each file that has any begin, and how many they are: what a
    /// crash left, or a write in progress.
    pub fn torn_tails(&self) -> Vec<(PathBuf, u64, u64)> {
        let unreadable = self.unreadable_files();
        let files =
            self.files().into_iter().filter(|file| unreadable.iter().all(|unreadable| unreadable.path != file.path));
        let torn = files.filter_map(|file| {
            let length = std::fs::metadata(&file.path).ok()?.len();
            (length > file.bytes).then(|| (file.path, file.bytes, length - file.bytes))
        });
        torn.collect()
    }

    /// What is named like a journal and is no file: folders, pipes, sockets, devices.
    pub fn no_files(&self) -> Vec<PathBuf> {
        Tails::new(self.home.join("short-term")).no_files().unwrap_or_default()
    }

    /// Files whose last line lacks only its newline, and which line that is. It was read.
    pub fn unended_files(&self) -> Vec<(PathBuf, u64)> {
        self.tails().unended()
    }

    /// Files that could not be read at the last reading, and why.
    pub fn unreadable_files(&self) -> Vec<Unreadable> {
        self.tails().unreadable()
    }

    /// Files with lines whose operation this version does not know, and how many those are.
    pub fn unknown_lines(&self) -> Vec<(PathBuf, u64)> {
        self.tails().unknown()
    }

    /// Greatest order read, also of lines from the future.
    pub fn newest_order(&self) -> i64 {
        self.tails().newest_order()
    }

    /// When the newest line of a replica was written, by its own clock.
    pub fn newest_line_of(&self, replica: &str) -> Option<Timestamp> {
        self.tails().newest_line_of(replica)
    }

    /// Lines whose time is more than a day ahead of the clock.
    pub fn lines_from_the_future(&self) -> u64 {
        self.tails().future_lines()
    }

    /// The files read so far.
    pub fn files(&self) -> Vec<JournalFile> {
        let files = self.tails().files();
        files.into_iter().map(|(path, replica, bytes, lines)| JournalFile { path, replica, bytes, lines }).collect()
    }

    /// All lines about these memories, by id: a reading of its own from the beginning, for showing what happened.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read.
    pub fn lines_about(&self, ids: &[MemoryId], now: Timestamp) -> Result<HashMap<String, Vec<Told>>> {
        let mut about: HashMap<String, Vec<Told>> = HashMap::new();
        Tails::new(self.home.join("short-term")).read(now, |told| {
            if let Some(id) = told.line.id.filter(|id| ids.contains(id)) {
                about.entry(id.to_string()).or_default().push(told);
            }
        })?;
        Ok(about)
    }

    /// Every line of one replica, in the order of its file.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be read.
    pub fn lines_of(&self, replica: &str, now: Timestamp) -> Result<Vec<Told>> {
        let mut lines = Vec::new();
        Tails::new(self.home.join("short-term")).read(now, |told| {
            if told.replica == replica {
                lines.push(told);
            }
        })?;
        lines.sort_by_key(|told| told.number);
        Ok(lines)
    }

    /// Takes the right to write: first among this process's threads, then among processes (up to five seconds).
    ///
    /// # Errors
    /// [`Error::Busy`] with the holder; [`Error::Io`] where the home cannot be made or has no locks.
    pub fn lock(&self) -> Result<Guard<'_>> {
        let patience = Patience::new(LOCK_WAIT);
        let mut writer = loop {
            match self.try_writer() {
                Some(writer) => break writer,
                None if patience.pause() => {}
                None => {
                    let holder = "another call of this process".into();
                    return Err(Error::Busy { path: self.home.join("lock"), holder });
                }
            }
        };
        files::create_folder(&self.home)?;
        let lock = Lock::acquire(&self.home.join("lock"), &patience)?;
        let replica = self.claim_replica(&mut writer)?;
        Ok(Guard { _lock: lock, journal: self, writer, replica })
    }

    /// Looks whether this process could write. An absent home is fine: it is made at the first write.
    ///
    /// # Errors
    /// [`Error::Newer`] where a newer Ebbmark wrote to this machine's file; [`Error::Io`] where the lock cannot be
    /// taken for other reasons than that someone else has it.
    pub fn check_writable(&self) -> Result<()> {
        if !self.home.exists() {
            return Ok(());
        }
        if let Some(path) = self.own_file()? {
            self.refuse_newer(&path)?;
        }
        Lock::try_acquire(&self.home.join("lock")).map(drop)
    }

    /// As [`Journal::lock`], but answers `None` at once where someone else is writing.
    ///
    /// # Errors
    /// [`Error::Io`] where the home cannot be made or has no locks.
    pub fn try_lock(&self) -> Result<Option<Guard<'_>>> {
        let Some(mut writer) = self.try_writer() else { return Ok(None) };
        files::create_folder(&self.home)?;
        let Some(lock) = Lock::try_acquire(&self.home.join("lock"))? else { return Ok(None) };
        let replica = self.claim_replica(&mut writer)?;
        Ok(Some(Guard { _lock: lock, journal: self, writer, replica }))
    }

    /// The file that this machine writes; `None` where it has no replica id yet.
    ///
    /// # Errors
    /// [`Error::Io`] when the file `replica` cannot be read.
    pub fn own_file(&self) -> Result<Option<PathBuf>> {
        Ok(self.replica()?.map(|replica| self.own_path(&replica)))
    }

    fn own_path(&self, replica: &str) -> PathBuf {
        self.home.join("short-term").join(format!("{replica}.jsonl"))
    }

    fn reserve(&self) -> PathBuf {
        self.home.join("reserve")
    }

    fn refuse_newer(&self, path: &Path) -> Result<()> {
        match self.tails().newer_line(path) {
            Some(line) => Err(Error::Newer { path: path.to_owned(), line }),
            None => Ok(()),
        }
    }

    /// Syncs what was appended without waiting for the disk: with [`Durability::Interval`], at the latest a second
    /// after the first line. For the end of a process, and now and then.
    ///
    /// # Errors
    /// [`Error::Io`]: what was appended since the last sync may then be lost in a power cut.
    pub fn sync(&self) -> Result<()> {
        // Whoever is writing syncs what is due.
        self.try_writer().map_or(Ok(()), |mut writer| writer.sync())
    }

    /// Filters this machine's own file, see `docs/format.md`. The new file is prepared and synced without the lock;
    /// under it only what was appended meanwhile is added, and the names are changed. `ended` answers where a
    /// memory's lines may go for good. With `dry_run` nothing is written.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Newer`], [`Error::Busy`], also where another process is compacting; the old file is
    /// then untouched. [`Error::Changed`] where a memory that would go was touched meanwhile: try again.
    pub fn compact(
        &self,
        now: Timestamp,
        dry_run: bool,
        ended: impl Fn(MemoryId) -> Option<Ended>,
    ) -> Result<Compaction> {
        self.replace_own(now, dry_run, |path, file| compact::plan(path, file, now, ended))
    }

    /// Moves what cannot be read of this machine's own file to quarantine. Every other byte stays.
    ///
    /// # Errors
    /// As [`Journal::compact`]; [`Error::Invalid`] where nothing that can be read would stay: then it is the file that is
    /// wrong, not its lines.
    pub fn set_aside(&self, now: Timestamp) -> Result<Compaction> {
        self.replace_own(now, false, compact::without_bad)
    }

    fn replace_own(
        &self,
        now: Timestamp,
        dry_run: bool,
        plan: impl FnOnce(&Path, &[u8]) -> Result<compact::Plan>,
    ) -> Result<Compaction> {
        let Some(replica) = self.replica()? else { return Ok(Compaction::default()) };
        // A link stays one: what it leads to is replaced.
        let path = files::behind_links(&self.own_path(&replica));
        let Some(old) = OpenFile::open(&path)? else { return Ok(Compaction::default()) };
        let mut file = old.read_from(0)?;
        file.truncate(file.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
        let mut plan = plan(&path, &file)?;
        if !plan.changes(&file) {
            return Ok(plan.report);
        }
        let marked = plan.marked(&file)?;
        let number = self.tails().greatest_number(&replica).max(plan.greatest_number).saturating_add(1);
        let packed = compact::packed(plan.tombstones.clone(), number, now)?;
        plan.report.bytes_after = marked.len() + packed.len();
        if dry_run {
            return Ok(plan.report);
        }
        // One at a time: what one prepares would look like a leftover to another.
        let alone = self.home.join("compact.lock");
        let Some(_alone) = Lock::try_acquire(&alone)? else {
            return Err(Error::Busy { path: alone, holder: "another compaction".into() });
        };
        files::remove_leftovers(&self.home.join("short-term"));
        self.quarantine(&path, &plan.bad)?;
        let new = match Replacement::begin(&path, &marked) {
            Err(error) if error.is_disk_full() && files::give_up_reserve(&self.reserve()) => {
                Replacement::begin(&path, &marked)?
            }
            begun => begun?,
        };
        let changed = || Error::Changed { path: path.clone() };
        // Lines that were read never change; an editor may have saved the file all the same.
        if !old.read_from(0)?.starts_with(&file) {
            return Err(changed());
        }
        let guard = self.lock()?;
        let mut appended = if old.is_current() {
            // A write that failed may have been cut off, and another one stand in its place.
            let mark = &file[file.len().saturating_sub(codec::MARK)..];
            let since = old.read_from((file.len() - mark.len()) as u64)?;
            since.strip_prefix(mark).ok_or_else(changed)?.to_vec()
        } else {
            let current = files::read(&path)?;
            current.strip_prefix(file.as_slice()).ok_or_else(changed)?.to_vec()
        };
        let mut next_number = self.tails().greatest_number(&replica).max(plan.greatest_number).saturating_add(1);
        let mut is_touched = false;
        for bytes in appended.split_inclusive(|byte| *byte == b'\n') {
            codec::read(bytes, |_, _, read| {
                if let Ok(read) = read {
                    next_number = next_number.max(read.line.n.unwrap_or(0).saturating_add(1));
                    is_touched |= read.line.id.is_some_and(|id| plan.gone.binary_search(&id).is_ok());
                }
            });
        }
        if is_touched {
            return Err(changed());
        }
        if appended.last().is_some_and(|last| *last != b'\n') {
            appended.push(b'\n');
        }
        let packed = compact::packed(plan.tombstones, next_number, now)?;
        plan.report.bytes_after = marked.len() + packed.len();
        appended.extend_from_slice(&packed);
        new.finish(&appended)?;
        drop(guard);
        files::keep_reserve(&self.reserve());
        Ok(plan.report)
    }
}

/// Gives lines their number, time and order.
#[derive(Debug)]
struct Stamper {
    number: u64,
    order: i64,
    in_batch: HashMap<MemoryId, i64>,
}

impl Stamper {
    /// Goes on after the greatest number of the own file and the greatest order read.
    fn new(number: u64, order: i64) -> Self {
        Stamper { number, order, in_batch: HashMap::new() }
    }

    /// The order is the wall clock, but after everything read, and after everything known of the line's memory,
    /// even what a fast clock dated into the future. Such a date does not advance the order of other memories.
    fn stamp(&mut self, line: &mut Line, now: Timestamp, newest_order: Option<i64>) {
        // A hand-made number beyond all counting leaves no later one.
        self.number = self.number.saturating_add(1);
        line.n = Some(self.number);
        line.at = now;
        let newest = line.id.and_then(|id| self.in_batch.get(&id).copied()).max(newest_order).unwrap_or(i64::MIN);
        let order = now.millis().max(self.order.saturating_add(1)).max(newest.saturating_add(1));
        line.o = (order != now.millis()).then_some(order);
        if order <= now.millis() + DAY_MS {
            self.order = self.order.max(order);
        }
        if let Some(id) = line.id {
            self.in_batch.insert(id, order);
        }
    }
}

/// A reading of the journals, exclusive among this process's threads.
#[derive(Debug)]
pub struct Reading<'a>(MutexGuard<'a, Tails>);

impl Reading<'_> {
    /// Looks whether anything changed since the last reading. Some microseconds a file.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder or a file cannot be read.
    pub fn look(&self) -> Result<Change> {
        self.0.look()
    }

    /// Whether there is but one journal.
    pub fn is_of_one_file(&self) -> bool {
        self.0.files().len() == 1
    }

    /// Reads on from where the last reading ended, complete lines only. `false` where a file was replaced meanwhile:
    /// then the lines count for nothing and [`Reading::read_all`] is due.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be listed. A file that cannot be read and bad lines are no error: see
    /// [`Journal::unreadable_files`] and [`Journal::bad_lines`].
    pub fn read(&mut self, now: Timestamp, fold: impl FnMut(Told)) -> Result<bool> {
        self.0.read(now, fold)
    }

    /// Reads everything from the beginning.
    ///
    /// # Errors
    /// As [`Reading::read`].
    pub fn read_all(&mut self, now: Timestamp, fold: impl FnMut(Told)) -> Result<()> {
        self.0.restart();
        self.0.read(now, fold).map(drop)
    }
}

/// The right to write, until dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    // Released before this process's next thread gets its turn.
    _lock: Lock,
    journal: &'a Journal,
    writer: MutexGuard<'a, Writer>,
    replica: String,
}

impl Guard<'_> {
    /// The replica that appended lines belong to.
    pub fn replica(&self) -> &str {
        &self.replica
    }

    /// The number that the next line will have. Only right after a refresh under this guard.
    pub fn next_number(&self) -> u64 {
        self.journal.last_number(&self.writer, &self.replica).saturating_add(1)
    }

    /// Makes sure that this machine's own file was read to its last whole line: else what is decided would rest on
    /// less than what was acknowledged, and numbers would be given twice. Only right after a refresh under this guard.
    ///
    /// # Errors
    /// [`Error::Io`] where it was not; [`Error::Newer`] where a newer Ebbmark wrote to it.
    pub fn ensure_read(&mut self) -> Result<()> {
        let path = self.journal.own_path(&self.replica);
        self.journal.refuse_newer(&path)?;
        if self.writer.appender.as_ref().is_some_and(|appender| !appender.is_current()) {
            self.writer.appender = None;
        }
        let opened;
        let file = if let Some(appender) = &self.writer.appender {
            appender.file()
        } else {
            opened = OpenFile::open(&path)?;
            let Some(file) = &opened else { return Ok(()) };
            file
        };
        if self.journal.tails().has_read_all(&path, file)? {
            return Ok(());
        }
        let source = std::io::Error::other("its newest lines could not be read");
        Err(Error::Io { action: "read", path, source })
    }

    /// Makes durable what this machine's own file holds. For an answer that writes nothing: it rests on lines whose
    /// writer may have been killed before it had synced them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn settle(&mut self) -> Result<()> {
        let path = self.journal.own_path(&self.replica);
        if self.journal.durability != Durability::Always || !path.exists() {
            return Ok(());
        }
        let appender = self.appender(&path)?;
        appender.sync()?;
        self.writer.appender = Some(appender);
        Ok(())
    }

    /// Ends a line that a crash left whole but for its newline: with it, it counts, and has its number. Whether there
    /// was one, to be read before anything is decided.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn end_last_line(&mut self) -> Result<bool> {
        let path = self.journal.own_path(&self.replica);
        let (read_to, _) = self.journal.tails().extent(&path);
        if std::fs::metadata(&path).map_or(0, |facts| facts.len()) <= read_to {
            return Ok(false);
        }
        let mut appender = self.appender(&path)?;
        let is_whole = matches!(codec::parse(&appender.file().read_from(read_to)?), Ok(_) | Err(codec::Fault::Newer));
        if is_whole {
            appender.append(b"", true)?;
        }
        self.writer.appender = Some(appender);
        Ok(is_whole)
    }

    /// Ends the last line of this machine's own file where it has no newline. Whether there was such a line.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn end_line(&mut self) -> Result<bool> {
        let path = self.journal.own_path(&self.replica);
        if !self.journal.unended_files().iter().any(|(unended, _)| *unended == path) {
            return Ok(false);
        }
        let mut appender = self.appender(&path)?;
        appender.append(b"", true)?;
        self.writer.appender = Some(appender);
        Ok(true)
    }

    fn appender(&mut self, path: &Path) -> Result<Appender> {
        match self.writer.appender.take() {
            Some(appender) if appender.is_current() => Ok(appender),
            _ => Appender::open(path),
        }
    }

    /// Stamps the lines with number, time and order and appends them with one write. On return they are on disk.
    /// `newest_order` tells the greatest order known of a memory: a line about it always comes after.
    /// The journals must have been refreshed under this guard, and [`Guard::ensure_read`].
    ///
    /// # Errors
    /// [`Error::Io`]: nothing is acknowledged then, and no half line is left.
    pub fn append(
        &mut self,
        mut lines: Vec<Line>,
        now: Timestamp,
        newest_order: impl Fn(MemoryId) -> Option<i64>,
    ) -> Result<()> {
        let path = self.journal.own_path(&self.replica);
        let folder = self.journal.home.join("short-term");
        files::create_folder(&folder)?;
        let last_number = self.journal.last_number(&self.writer, &self.replica);
        let (mut stamper, is_first) = {
            let tails = self.journal.tails();
            (Stamper::new(last_number, tails.order()), tails.extent(&path).1 == 0)
        };
        if is_first {
            files::settle_folder(&folder)?;
        }
        // A crash may have come between making the file and its first line.
        let is_new = is_first && std::fs::metadata(&path).map_or(true, |facts| facts.len() == 0);
        if is_new {
            lines.insert(0, Line { replica: Some(self.replica.clone()), created: Some(now), ..Line::new(Op::Journal) });
        }
        let mut bytes = Vec::new();
        for line in &mut lines {
            stamper.stamp(line, now, line.id.and_then(&newest_order));
            let rendered = codec::render(line)?;
            if rendered.len() > codec::MAX_LINE {
                return Err(Error::invalid(
                    "journal line",
                    format!("{} bytes are more than a line may have", rendered.len()),
                    "shorten what is to be saved; nothing was written",
                ));
            }
            bytes.extend_from_slice(&rendered);
        }
        let appender = self.appender(&path)?;
        let Writer { appender: slot, unsynced_since, has_reserve, .. } = &mut *self.writer;
        let appender = slot.insert(appender);
        let since = unsynced_since.unwrap_or(now);
        let waited_ms = now.millis().saturating_sub(since.millis());
        let is_durable = self.journal.durability == Durability::Always || !(0..SYNC_INTERVAL_MS).contains(&waited_ms);
        let makes_room = lines.iter().any(|line| matches!(line.op, Op::Forget | Op::Purge));
        match appender.append(&bytes, is_durable) {
            Err(error) if makes_room && error.is_disk_full() && files::give_up_reserve(&self.journal.reserve()) => {
                // It is kept anew once something was compacted.
                *has_reserve = true;
                appender.append(&bytes, is_durable)?;
            }
            done => done?,
        }
        *unsynced_since = (!is_durable).then_some(since);
        if !*has_reserve {
            *has_reserve = true;
            files::keep_reserve(&self.journal.reserve());
        }
        self.writer.reached = stamper.number;
        self.journal.note_written(&mut self.writer);
        Ok(())
    }
}

impl Writer {
    fn sync(&mut self) -> Result<()> {
        if let (Some(_), Some(appender)) = (self.unsynced_since, &self.appender) {
            appender.sync()?;
            self.unsynced_since = None;
        }
        Ok(())
    }
}
