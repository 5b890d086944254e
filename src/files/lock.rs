//! Locks between processes, and waiting for them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use super::system;
use crate::error::{Error, Result};

/// How long a lock is waited for before [`Error::Busy`].
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

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

    /// What is left of the time.
    pub fn left(&self) -> Duration {
        self.wait.saturating_sub(self.began.elapsed())
    }

    /// Pauses for 1 to 5 milliseconds, after a tenth of a second for 4 to 8; `false` where the time is over.
    pub fn pause(&self) -> bool {
        let elapsed = self.began.elapsed();
        if elapsed >= self.wait {
            return false;
        }
        // Many that wait must not take the processor from the one that they wait for.
        let least = if elapsed < Duration::from_millis(100) { 1 } else { 4 };
        std::thread::sleep(Duration::from_millis(least + u64::from(getrandom::u32().unwrap_or(7) % 5)));
        true
    }
}

/// An advisory lock between processes, held until dropped. Its file is never removed.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A program that another thread is just starting has the open file too, and would hold on to the lock until
        // it runs. Unlocking counts for both; closing alone does not.
        drop(self.file.unlock());
    }
}

impl Lock {
    /// Waits for the lock as long as `patience` lasts.
    ///
    /// # Errors
    /// [`Error::Busy`] with the holder after that time; [`Error::Io`] where the file system has no locks.
    pub fn acquire(path: &Path, patience: &Patience) -> Result<Lock> {
        let mut file = system::open_lock(path).map_err(Error::io("open", path))?;
        loop {
            file = match Self::take(file, path)? {
                Ok(lock) => return Ok(lock),
                Err(file) => file,
            };
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
        let file = system::open_lock(path).map_err(Error::io("open", path))?;
        Ok(Self::take(file, path)?.ok())
    }

    /// The lock, or the file back.
    fn take(mut file: File, path: &Path) -> Result<std::result::Result<Lock, File>> {
        if !system::try_lock(&file, path).map_err(Error::io("lock", path))? {
            return Ok(Err(file));
        }
        // Who holds it is for people only; a failure to note it changes nothing. As wide as any process number and
        // written over the old one: a file that is emptied and filled again costs a trip to the disk when it closes.
        let noted = write!(file, "process {:<10}", std::process::id());
        drop(noted);
        Ok(Ok(Lock { file }))
    }
}
