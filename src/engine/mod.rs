//! The one door: every request goes through an [`Engine`], and only here writes are put in order.
//!
//! Each call asks the clock once, reads what other processes appended, and works on what it then knows. Reads take
//! the store's lock for as long as they compute (a millisecond or two) and never wait for the disk; writes hold the
//! home's lock from their last look at the journal until their lines are on disk.

mod about;
mod adopt;
mod aliases;
mod commit;
mod compact;
mod conflict;
mod consolidate;
mod doctor;
mod due;
mod filter;
mod fit;
mod forget;
mod graph;
mod history;
mod hop;
mod hubs;
mod inspect;
mod judge;
mod keys;
mod lenient;
mod meaning;
mod misses;
mod move_vault;
mod names;
mod network;
mod notes;
mod open;
mod own_notes;
mod page;
mod prepare;
mod preview;
mod promote;
mod propose;
mod purge;
mod recall;
mod reconcile;
mod reinforce;
mod rejudge;
mod relate;
mod remember;
mod review;
mod review_note;
mod revise;
pub mod say;
mod seen;
mod setup;
mod store;
mod tidy;
mod tune;
mod undo;
mod upkeep;
mod vanish;
mod waiting;
mod why;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::tz::TimeZone;

pub use about::{Companion, EntitiesAnswer, EntityAnswer, Group, KnownKind, KnownMemory, ListedEntity};
pub use compact::CompactAnswer;
pub use conflict::{Conflict, Side};
pub use consolidate::{
    ClusterAction, ClusterMember, ConsolidateAnswer, ConsolidateRequest, Consolidated, FoundCluster,
};
pub use doctor::{Area, DoctorAnswer, DoctorRequest, Finding, Health, Level};
pub use due::{DueAnswer, DueMemory};
pub use forget::{ForgetAnswer, ForgetRequest, RestoreAnswer, RestoreRequest, Restored};
pub use graph::{GraphAnswer, GraphNode, NodeType, PathAnswer};
pub use history::HistoryEntry;
pub use inspect::{FadedAnswer, FadedMemory, InspectAnswer, InspectRequest, OverviewKind, Stats, View, Where};
pub(crate) use lenient::wrong_field;
pub use misses::Miss;
pub use move_vault::MovedVault;
pub use notes::{ListedNote, NoteList, ReadNote};
pub use open::{OpenAnswer, OpenRequest, Opened, PromotionState, Relation};
pub(crate) use prepare::{MAX_CALL_BYTES, MAX_MEMORIES};
pub use promote::{Candidate, PromoteAnswer, PromoteRequest, Promoted, Skipped};
pub use purge::Preview;
pub use recall::{Hit, Previous, RecallAnswer, RecallRequest, Why};
pub use reinforce::{ReinforceAnswer, ReinforceRequest, Reinforced};
pub use relate::{RelateAnswer, RelateRequest, Related};
pub use remember::{
    NewMemory, Outcome, RedactedReport, RememberAnswer, RememberRequest, Remembered, Similar, SourceInput,
};
pub use review::{Judge, Resolve, ReviewAnswer, ReviewItem, ReviewRequest};
pub use revise::{ReviseAnswer, ReviseRequest};
pub use setup::{InitAnswer, InitRequest};
pub use tidy::{TidyAnswer, TidyRequest};
pub use tune::{TuneAnswer, TunedKind};
pub use undo::UndoAnswer;
pub use upkeep::{Done, UpkeepTask, VaultChange, Watching};
pub use why::WhyAnswer;

use crate::clock::{Clock, Timestamp};
use crate::config::{Config, GitMode};
use crate::error::{Error, Result};
use crate::files;
use crate::git::{self, Git};
use crate::id::{MemoryId, Randomness, normal_prefix};
use crate::index::Index;
use crate::journal::{Change, Guard, Identity, Journal, Reading, Told};
use crate::lexical::Scorer;
use crate::memory::{Line, Memory, State};
use crate::vault::Vault;
use crate::words;
use reinforce::PendingUse;
use store::Store;

/// What an engine is told when it is opened: everything that a library must not find out by itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// The home: journal, configuration and cache.
    pub home: PathBuf,
    /// The vault, where it was named; else the configuration's, else the one beside the home.
    pub vault: Option<PathBuf>,
    /// The vault of the default home.
    pub default_vault: PathBuf,
    /// The person's home folder, for `~/` in paths.
    pub user_home: Option<PathBuf>,
    /// A hash of what identifies this machine.
    pub machine: String,
    /// The replica id to use whatever the home says.
    pub replica: Option<String>,
    /// Where "now" comes from.
    pub clock: Clock,
    /// Where ids come from.
    pub randomness: Randomness,
    /// The system's time zone.
    pub time_zone: TimeZone,
}

/// A home and its vault, opened.
pub struct Engine {
    home: PathBuf,
    config: Config,
    warnings: Vec<String>,
    /// Why the configuration is not in force.
    config_trouble: Option<String>,
    clock: Clock,
    randomness: Randomness,
    time_zone: TimeZone,
    journal: Journal,
    vault: Vault,
    store: RwLock<Store>,
    index: Mutex<IndexState>,
    scorers: Mutex<Vec<Scorer>>,
    pending_uses: Mutex<Vec<PendingUse>>,
    /// Queries without an answer that are not written yet.
    misses: Mutex<Vec<Miss>>,
    seen_notes: Mutex<seen::Seen>,
    upkeep: Mutex<upkeep::Upkeep>,
    looked: Mutex<doctor::Looked>,
    meaning: OnceLock<meaning::Meaning>,
    /// For `~/` in paths.
    user_home: Option<PathBuf>,
}

/// The index as far as this process uses it.
#[derive(Default)]
struct IndexState {
    index: Option<Index>,
    was_opened: bool,
    /// Why recall goes on without it.
    trouble: Option<String>,
}

impl Engine {
    /// Opens a home: reads `config.toml`, nothing else, and writes nothing. The journal is read at the first call.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a configuration that cannot be read and for a vault inside the home or the reverse;
    /// [`Error::Io`] where the home is a file.
    pub fn open(options: Options) -> Result<Engine> {
        Self::open_with(options, false)
    }

    /// As [`Engine::open`], for the doctor: a configuration that cannot be read is something it finds. It looks with
    /// the defaults then, and mends nothing.
    ///
    /// # Errors
    /// As [`Engine::open`] for everything but the configuration.
    pub fn open_for_doctor(options: Options) -> Result<Engine> {
        Self::open_with(options, true)
    }

    fn open_with(options: Options, any_configuration: bool) -> Result<Engine> {
        let Options { home, vault, default_vault, user_home, machine, replica, clock, randomness, time_zone } = options;
        if home.is_file() {
            let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            return Err(Error::Io { action: "use as home", path: home, source });
        }
        let mut config_trouble = None;
        let ((config, warnings), time_zone) = match configuration(&home.join("config.toml"), &time_zone) {
            Err(error) if any_configuration => {
                config_trouble = Some(error.to_string());
                ((Config::default(), Vec::new()), time_zone)
            }
            read => read?,
        };
        let configured =
            config.vault_path.as_deref().map(|path| home.join(files::with_home(path, user_home.as_deref())));
        let vault = vault.or(configured).unwrap_or(default_vault);
        refuse_nesting(&home, &vault)?;
        let identity = Identity { machine, replica, randomness: randomness.clone() };
        Ok(Engine {
            journal: Journal::new(&home, identity, config.durability),
            vault: Vault::open(&vault),
            home,
            config,
            warnings,
            config_trouble,
            clock,
            randomness,
            time_zone,
            store: RwLock::default(),
            index: Mutex::default(),
            scorers: Mutex::default(),
            pending_uses: Mutex::default(),
            misses: Mutex::default(),
            seen_notes: Mutex::default(),
            upkeep: Mutex::default(),
            looked: Mutex::default(),
            meaning: OnceLock::new(),
            user_home,
        })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What in `config.toml` was not understood.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The vault's folder.
    pub fn vault_root(&self) -> &Path {
        self.vault.root()
    }

    fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn store_mut(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self) -> MutexGuard<'_, IndexState> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what this and other processes appended since the last call. Microseconds where nothing is new.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.refresh_at(self.clock.now())
    }

    fn refresh_at(&self, now: Timestamp) -> Result<()> {
        let mut reading = self.journal.reading();
        match reading.look()? {
            // A call that panicked while it changed the store may have left half of what was read.
            _ if self.store.is_poisoned() => {
                self.read_all(&mut reading, now)?;
                self.store.clear_poison();
            }
            Change::None => {}
            Change::Added => {
                let mut lines: Vec<Told> = Vec::new();
                let is_same = reading.read(now, |told| lines.push(told))?;
                if is_same {
                    // Those of a compaction, of whose memories the journal holds nothing else any more.
                    let packed: Vec<MemoryId> = lines.iter().flat_map(|told| told.line.ids.keys().copied()).collect();
                    let mut store = self.store_mut();
                    store.apply(lines);
                    if !packed.is_empty() && reading.is_of_one_file() {
                        store.state.let_go(&packed);
                    }
                }
                if !is_same || self.store().state.to_fold_again().is_some() {
                    self.read_all(&mut reading, now)?;
                }
            }
            Change::Replaced => self.read_all(&mut reading, now)?,
        }
        // Others may read on while this thread follows the index.
        drop(reading);
        self.follow_index();
        self.follow_own_notes();
        Ok(())
    }

    fn read_all(&self, reading: &mut Reading<'_>, now: Timestamp) -> Result<()> {
        let mut state = State::default();
        loop {
            reading.read_all(now, |told| {
                state.apply(told.line, &told.replica, told.number, told.crc);
            })?;
            let Some(again) = state.to_fold_again() else { break };
            state = again;
        }
        state.settle();
        let store = self.store_of(state);
        *self.store_mut() = store;
        Ok(())
    }

    /// A fresh store, with the index where there is one that can be used.
    fn store_of(&self, state: State) -> Store {
        let own_notes = self.kept_shelf();
        // While this process is committing, its old commit would be waited for: the words are analysed instead.
        let (model, cached) = self.known_meanings();
        let Ok(mut index) = self.index.try_lock() else { return Store::new(state, own_notes, None, model, &cached).0 };
        if !index.was_opened {
            index.was_opened = true;
            match Index::open(&self.cache(), words::ANALYZER_VERSION) {
                Ok(opened) => index.index = opened,
                Err(error) => index.trouble = Some(error.to_string()),
            }
        }
        let (store, trouble) = Store::new(state, own_notes, index.index.as_ref(), model, &cached);
        if let Some(error) = trouble {
            index.trouble = Some(error.to_string());
            index.index = None;
        }
        store
    }

    /// Takes over what another process committed to the index. Not while this process is committing.
    fn follow_index(&self) {
        let Ok(mut state) = self.index.try_lock() else { return };
        let Some(index) = state.index.as_mut().filter(|index| index.is_changed()) else { return };
        let reloaded = index.reload();
        let mut store = self.store_mut();
        let followed = reloaded.and_then(|()| store.rejoin(index));
        if let Err(error) = followed {
            state.trouble = Some(error.to_string());
            state.index = None;
            store.leave_index();
        }
    }

    /// Goes on without an index that turned out to be damaged.
    fn leave_index(&self, error: &Error) {
        let mut state = self.index();
        state.trouble = Some(error.to_string());
        state.index = None;
        self.store_mut().leave_index();
        drop(state);
        self.follow_own_notes();
    }

    /// Folder of what is derived and may be deleted.
    pub fn cache(&self) -> PathBuf {
        self.home.join("cache")
    }

    /// Writes the lines that `decide` answers with, as one durable append. `decide` sees everything that was
    /// acknowledged before, by any process of this home.
    fn write<T>(&self, now: Timestamp, decide: impl FnOnce(&Draft<'_>) -> Result<(Vec<Line>, T)>) -> Result<T> {
        let mut guard = self.journal.lock()?;
        self.catch_up(&mut guard, now)?;
        let (mut lines, answer) = {
            let draft = Draft { engine: self, replica: guard.replica(), number: guard.next_number(), now };
            decide(&draft)?
        };
        if lines.is_empty() {
            guard.settle()?;
            return Ok(answer);
        }
        if let (count @ 2.., Some(first)) = (lines.len(), lines.first_mut()) {
            first.lines = count as u32;
        }
        let uses = self.take_pending_uses();
        lines.extend(self.use_lines(&uses, guard.replica(), &lines));
        if let Err(error) = self.append(&mut guard, lines, now) {
            self.put_back_uses(uses);
            return Err(error);
        }
        self.refresh_at(now)?;
        Ok(answer)
    }

    /// Reads all that was written before this process's turn.
    fn catch_up(&self, guard: &mut Guard<'_>, now: Timestamp) -> Result<()> {
        self.refresh_at(now)?;
        guard.ensure_read()?;
        if guard.end_last_line()? {
            self.refresh_at(now)?;
            guard.ensure_read()?;
        }
        Ok(())
    }

    /// Appends lines under the guard. No lock on the store is held while the journal is written.
    fn append(&self, guard: &mut Guard<'_>, lines: Vec<Line>, now: Timestamp) -> Result<()> {
        let newest: HashMap<MemoryId, i64> = {
            let store = self.store();
            lines.iter().filter_map(|line| Some((line.id?, store.state.newest_order(line.id?)?))).collect()
        };
        guard.append(lines, now, |id| newest.get(&id).copied())
    }

    /// Finds the memory that an id or unique prefix means, forgotten ones included.
    fn resolve(state: &State, text: &str) -> Result<MemoryId> {
        let prefix = normal_prefix(text)?;
        if prefix.len() == MemoryId::LENGTH {
            return prefix.parse();
        }
        match state.ids_with_prefix(&prefix)[..] {
            [] => Err(Error::no_memory(text)),
            [id] => Ok(id),
            ref ids => Err(Error::Ambiguous {
                prefix: text.to_owned(),
                candidates: ids.iter().take(8).map(ToString::to_string).collect(),
            }),
        }
    }

    /// As [`Engine::resolve`], for a memory that exists.
    fn resolve_existing<'a>(state: &'a State, text: &str) -> Result<&'a Memory> {
        let id = Self::resolve(state, text)?;
        state.get(id).ok_or_else(|| Error::no_memory(text))
    }

    /// The repository of the vault, if there is one and git is wanted.
    fn git(&self) -> Option<Git> {
        if self.config.git.mode == GitMode::Off || !self.vault.exists() {
            return None;
        }
        Git::open(self.vault.root()).ok()
    }

    fn author(&self) -> git::Author {
        let (name, email) = self.config.git.author_parts();
        git::Author { name, email }
    }

    fn date(&self, at: Timestamp) -> String {
        at.date(&self.time_zone)
    }
}

/// The configuration with its warnings, and the time zone in force.
fn configuration(path: &Path, time_zone: &TimeZone) -> Result<((Config, Vec<String>), TimeZone)> {
    let text = files::read_if_there(path)?.unwrap_or_default();
    let text = String::from_utf8(text).map_err(|_| {
        Error::invalid(path.display().to_string(), "is not UTF-8", "save it as UTF-8; nothing was read or written")
    })?;
    let read = Config::read(&text).map_err(|error| match error {
        Error::Invalid { what, why, hint } => {
            let what = what.replacen("config.toml", &path.display().to_string(), 1);
            Error::Invalid { what, why, hint }
        }
        other => other,
    })?;
    let time_zone = match &read.0.time_zone {
        None => time_zone.clone(),
        Some(name) => TimeZone::get(name).map_err(|_| {
            let what = format!("{}: time_zone", path.display());
            Error::invalid(what, format!("`{name}` is not known"), "write one like Europe/Berlin")
        })?,
    };
    Ok((read, time_zone))
}

/// What a write may look at while it decides.
struct Draft<'a> {
    engine: &'a Engine,
    replica: &'a str,
    /// Number of the next line.
    number: u64,
    now: Timestamp,
}

impl Draft<'_> {
    fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.engine.store()
    }

    /// A new id for the `place`-th memory of this write.
    fn new_id(&self, state: &State, place: usize) -> Result<MemoryId> {
        for attempt in 0u32.. {
            let salt = format!("{}\n{}\n{place}\n{attempt}", self.replica, self.number);
            let id = self.engine.randomness.memory_id(&salt)?;
            if state.newest_order(id).is_none() {
                return Ok(id);
            }
        }
        Err(Error::Internal("no free id among four billion".into()))
    }
}

/// A vault inside the home would be read as cache, a home inside the vault would be shown as notes.
fn refuse_nesting(home: &Path, vault: &Path) -> Result<()> {
    let (home, vault) = (resolved(home), resolved(vault));
    let why = if home == vault {
        "is also the home"
    } else if vault.starts_with(&home) {
        "lies inside the home"
    } else if home.starts_with(&vault) {
        "contains the home"
    } else {
        return Ok(());
    };
    Err(Error::invalid(
        format!("vault {}", vault.display()),
        format!("{why} {}", home.display()),
        "choose two separate folders with --home and --vault",
    ))
}

/// The path with links followed as far as it exists, and `.` and `..` taken out of the rest.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            other => real.push(other),
        }
        if let Ok(followed) = std::fs::canonicalize(&real) {
            real = followed;
        }
    }
    real
}
