//! A home of its own for each input, and bytes as a list of choices.

use std::fs;
use std::path::{Path, PathBuf};

use ebbmark::clock::{Clock, Timestamp};
use ebbmark::config::Durability;
use ebbmark::engine::{Engine, Finding, InspectRequest, Level, OpenRequest, Opened, Options, View};
use ebbmark::id::Randomness;
use ebbmark::journal::{BadLine, Identity, Journal, Told};
use jiff::tz::TimeZone;
use tempfile::TempDir;

/// The replica that writes.
const REPLICA: &str = "aaaa1111";

/// Home and vault, removed when dropped. In memory where the system has such a place.
pub(crate) struct Home {
    folder: TempDir,
    /// What the clock says.
    pub(crate) now: Timestamp,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let home = Home { folder, now: "2026-12-01T08:00:00.000Z".parse().unwrap() };
        fs::create_dir_all(home.path().join("short-term")).unwrap();
        home.configure("");
        home
    }

    /// Writes `config.toml`: no git, and these lines.
    pub(crate) fn configure(&self, lines: &str) {
        fs::write(self.path().join("config.toml"), format!("{lines}\n[git]\nmode = \"off\"\n")).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    /// This machine's journal file.
    pub(crate) fn journal(&self) -> PathBuf {
        self.journal_of(REPLICA)
    }

    pub(crate) fn journal_of(&self, replica: &str) -> PathBuf {
        self.path().join("short-term").join(format!("{replica}.jsonl"))
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::open(Options {
            home: self.path(),
            vault: Some(self.vault()),
            default_vault: self.vault(),
            user_home: None,
            machine: "machine-a".into(),
            replica: Some(REPLICA.into()),
            clock: Clock::Fixed(self.now),
            randomness: Randomness::Seeded(7),
            time_zone: TimeZone::UTC,
        })
        .unwrap()
    }

    /// The journals alone, read by whoever comes without an engine.
    pub(crate) fn journals(&self) -> Journal {
        let identity =
            Identity { machine: "machine-a".into(), replica: Some(REPLICA.into()), randomness: Randomness::Seeded(7) };
        Journal::new(&self.path(), identity, Durability::Always)
    }

    /// All lines that can be read, and those that cannot.
    pub(crate) fn lines(&self) -> (Vec<Told>, Vec<BadLine>) {
        let journal = self.journals();
        let mut told = Vec::new();
        journal.reading().read_all(self.now, |line| told.push(line)).unwrap();
        (told, journal.bad_lines())
    }
}

/// The memories of these ids that exist, whole, without their history.
pub(crate) fn opened(engine: &Engine, ids: &[String]) -> Vec<Opened> {
    let all = ids.chunks(100).flat_map(|ids| {
        let request = OpenRequest { ids: ids.to_vec(), history: None, relations: None };
        engine.open_memories(&request).unwrap().memories
    });
    all.collect()
}

/// What is wrong with the home, in words.
pub(crate) fn findings(engine: &Engine) -> Vec<String> {
    let request = InspectRequest::of(View::Health);
    let health = engine.inspect(&request).unwrap().health.unwrap();
    // What the targets lay out is not private.
    let found = health.findings.into_iter();
    let found = found.filter(|finding| finding.level != Level::Note && !finding.what.starts_with("its mode "));
    let place = |finding: &Finding| {
        let line = finding.line.map_or(String::new(), |line| format!(" line {line}"));
        finding.byte.map_or(String::new(), |byte| format!("{line} (byte {byte}): "))
    };
    found.map(|finding| format!("{}{}", place(&finding), finding.what)).collect()
}

/// Files of a folder; none where it is not there.
pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The checksum of a line whose bytes before the trailer are these, and the trailer.
pub(crate) fn seal(body: &[u8]) -> Vec<u8> {
    let trailer = format!(",\"crc\":\"{:08x}\"}}", crc32c::crc32c(body));
    [body, trailer.as_bytes()].concat()
}

/// Bytes as choices. Where they end, every further choice is the first one.
pub(crate) struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Choices(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `bound`, which is at most 65,536.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let high = if bound > 256 { self.byte() } else { 0 };
        usize::from(u16::from_be_bytes([high, self.byte()])) % bound.max(1)
    }

    pub(crate) fn is_heads(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// As many bytes as the next one says, and there are.
    pub(crate) fn some_bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte()).min(self.0.len());
        let (some, rest) = self.0.split_at(count);
        self.0 = rest;
        some
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
