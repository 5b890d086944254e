//! A home and a vault for one test, the real binary in an environment of its own, and the library beside it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use ebbmark::clock::{Clock, DAY_MS, HOUR_MS, Timestamp};
use ebbmark::engine::{
    Engine, ForgetRequest, Health, Hit, InspectRequest, Level, NewMemory, OpenRequest, Opened, Options, Outcome,
    PromoteRequest, RecallRequest, RememberRequest, Remembered, RestoreRequest, ReviseRequest, Stats, TidyAnswer,
    TidyRequest, View,
};
use ebbmark::id::Randomness;
use jiff::tz::TimeZone;
use serde_json::Value;
use tempfile::TempDir;

/// When every test begins.
pub(crate) const START: &str = "2026-11-29T12:00:00Z";

/// A temporary folder with a home and a vault, and what the processes that use them are told.
pub(crate) struct Store {
    root: PathBuf,
    /// Removes the folder with the store that made it.
    _folder: Option<TempDir>,
    /// `EBBMARK_NOW`, and the clock of [`Store::engine`].
    pub(crate) now: Timestamp,
    /// `EBBMARK_SEED`; the system's randomness if absent.
    pub(crate) seed: Option<u64>,
    /// `EBBMARK_REPLICA`; chosen by the home if absent.
    pub(crate) replica: Option<String>,
    /// The machine that [`Store::engine`] runs on. The binary always runs on the real one.
    pub(crate) machine: &'static str,
}

/// The real binary: the one that cargo built for the tests, or the one beside a program in `examples/`.
pub(crate) fn binary() -> PathBuf {
    option_env!("CARGO_BIN_EXE_ebbmark").map_or_else(
        || {
            let example = std::env::current_exe().unwrap();
            let folder = example.parent().and_then(Path::parent).expect("examples lie in a folder of their own");
            let binary = folder.join("ebbmark").with_extension(std::env::consts::EXE_EXTENSION);
            assert!(binary.exists(), "{} is missing: `cargo build` makes it", binary.display());
            binary
        },
        PathBuf::from,
    )
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// −1 where a signal ended it.
    pub(crate) code: i32,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Run {
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

impl Run {
    /// The one JSON value that was printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not JSON ({error})\n{self}"))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }
}

impl Store {
    /// An empty place: neither home nor vault are there yet. Ids are repeatable.
    pub(crate) fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// As [`Store::new`], where syncing costs nothing, if there is such a place.
    pub(crate) fn in_memory() -> Self {
        Self::in_folder(Self::folder_in_memory())
    }

    fn folder_in_memory() -> TempDir {
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
    }

    fn in_folder(folder: TempDir) -> Self {
        fs::create_dir(folder.path().join("user")).unwrap();
        Store { root: folder.path().to_owned(), _folder: Some(folder), ..Self::at(PathBuf::new()) }
    }

    /// A store that another one made, and will remove.
    pub(crate) fn at(root: PathBuf) -> Self {
        Store {
            root,
            _folder: None,
            now: START.parse().unwrap(),
            seed: Some(7),
            replica: Some("aaaa1111".into()),
            machine: "machine-a",
        }
    }

    /// As [`Store::new`], on a machine whose replica id the home chooses.
    pub(crate) fn on_machine(machine: &'static str) -> Self {
        Store { machine, seed: None, replica: None, ..Store::new() }
    }

    /// The folder around home and vault.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.root().join("vault")
    }

    /// Moves the clock.
    pub(crate) fn pass_days(&mut self, days: i64) {
        self.now = self.now.plus_millis(days * DAY_MS);
    }

    /// Moves the clock.
    pub(crate) fn pass_hours(&mut self, hours: i64) {
        self.now = self.now.plus_millis(hours * HOUR_MS);
    }

    /// A program that knows nothing of the machine it runs on.
    fn hermetic(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root().join("user"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .current_dir(self.root());
        command
    }

    /// Adds what this store tells its processes.
    fn tell(&self, command: &mut Command) {
        command.env("EBBMARK_HOME", self.home()).env("EBBMARK_VAULT", self.vault());
        command.env("EBBMARK_NOW", self.now.to_string());
        if let Some(seed) = self.seed {
            command.env("EBBMARK_SEED", seed.to_string());
        }
        if let Some(replica) = &self.replica {
            command.env("EBBMARK_REPLICA", replica);
        }
    }

    /// The binary with these arguments, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(&binary(), arguments)
    }

    /// As [`Store::command`], of a copy of the binary.
    pub(crate) fn command_of(&self, binary: &Path, arguments: &[&str]) -> Command {
        let mut command = self.hermetic(binary);
        self.tell(&mut command);
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// A shell that runs `script`, with the binary as `$EBBMARK`.
    pub(crate) fn shell(&self, script: &str) -> Run {
        let mut command = self.hermetic("sh");
        self.tell(&mut command);
        command.env("EBBMARK", binary()).args(["-c", script]).stdin(Stdio::null());
        command.output().unwrap().into()
    }

    /// This program as another process on this store, as the actor `name`: a test binary runs the test of that name,
    /// a program in `examples/` looks at its last argument.
    pub(crate) fn actor(&self, name: &str) -> Command {
        let mut command = self.hermetic(std::env::current_exe().unwrap());
        self.tell(&mut command);
        command.env("EBBMARK_TEST_ROOT", self.root()).args(["--exact", "--nocapture", name]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// In a process that [`Store::actor`] started: its store.
    pub(crate) fn of_actor() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok();
        let mut store = Self::at(PathBuf::from(variable("EBBMARK_TEST_ROOT")?));
        store.now = variable("EBBMARK_NOW")?.parse().unwrap();
        store.seed = variable("EBBMARK_SEED").map(|seed| seed.parse().unwrap());
        store.replica = variable("EBBMARK_REPLICA");
        Some(store)
    }

    /// Starts the binary and does not wait for it.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs the binary with these bytes on stdin.
    pub(crate) fn run_with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses its arguments may be gone before it reads.
        drop(child.stdin.take().unwrap().write_all(stdin));
        child.wait_with_output().unwrap().into()
    }

    /// Runs a command that must succeed; what it prints.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).exits(0).stdout
    }

    /// Runs a command with `--json` that must succeed; its answer.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).exits(0).json()
    }

    /// Runs git in the vault, which must succeed; what it prints, without the last newline.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.hermetic("git");
        command.args(["-c", "user.name=Person", "-c", "user.email=person@example.org"]);
        let run: Run = command.args(arguments).current_dir(self.vault()).output().unwrap().into();
        run.exits(0).stdout.trim_end_matches('\n').to_owned()
    }

    /// The library on this home, at this time.
    pub(crate) fn engine(&self) -> Engine {
        self.try_engine().unwrap()
    }

    /// The library on this home, at another time.
    pub(crate) fn engine_at(&self, now: Timestamp) -> Engine {
        self.open(&self.home(), Clock::Fixed(now)).unwrap()
    }

    /// The library on this home, from now on with a clock that the test moves (milliseconds since 1970).
    pub(crate) fn engine_with_moved_clock(&self) -> (Engine, Arc<AtomicI64>) {
        let millis = Arc::new(AtomicI64::new(self.now.millis()));
        (self.open(&self.home(), Clock::Moved(Arc::clone(&millis))).unwrap(), millis)
    }

    /// The library on a copy of this home that has no index; the copy goes with the folder.
    pub(crate) fn engine_without_cache(&self) -> (TempDir, Engine) {
        let folder = Self::folder_in_memory();
        let mut files = files_below(&self.home());
        files.retain(|path, _| !path.starts_with("cache"));
        for (path, bytes) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let engine = self.open(folder.path(), Clock::Fixed(self.now)).unwrap();
        (folder, engine)
    }

    /// As [`Store::engine`], where opening may fail.
    pub(crate) fn try_engine(&self) -> ebbmark::error::Result<Engine> {
        self.open(&self.home(), Clock::Fixed(self.now))
    }

    fn open(&self, home: &Path, clock: Clock) -> ebbmark::error::Result<Engine> {
        Engine::open(Options {
            home: home.to_owned(),
            vault: Some(self.vault()),
            default_vault: self.root().join("home-vault"),
            user_home: None,
            machine: self.machine.into(),
            replica: self.replica.clone(),
            clock,
            randomness: self.seed.map_or(Randomness::Os, Randomness::Seeded),
            time_zone: TimeZone::UTC,
        })
    }

    /// Writes `config.toml`.
    pub(crate) fn configure(&self, toml: &str) {
        fs::create_dir_all(self.home()).unwrap();
        fs::write(self.home().join("config.toml"), toml).unwrap();
    }

    /// This machine's journal file.
    pub(crate) fn journal(&self) -> PathBuf {
        let replica = self.replica.as_deref().expect("a store with a named replica");
        self.home().join("short-term").join(format!("{replica}.jsonl"))
    }

    /// Remembers `Shelf 0` to `Shelf count − 1` in one call, the journal's first lines; their ids.
    pub(crate) fn fill(&self, count: usize) -> Vec<String> {
        let memories: Vec<NewMemory> =
            (0..count).map(|n| NewMemory { text: format!("Shelf {n}"), ..NewMemory::default() }).collect();
        let answer = self.engine().remember(&RememberRequest::of(&memories)).unwrap();
        answer.results.into_iter().map(|told| told.id.unwrap()).collect()
    }

    /// Replaces this machine's journal file.
    pub(crate) fn write_journal(&self, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.home().join("short-term")).unwrap();
        fs::write(self.journal(), bytes).unwrap();
    }

    /// All bytes of the journal folder, file by file.
    pub(crate) fn journals(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files_below(&self.home().join("short-term"))
    }

    /// Path of a note in `Memories/`.
    pub(crate) fn note_path(&self, name: &str) -> PathBuf {
        self.vault().join("Memories").join(format!("{name}.md"))
    }

    /// A note in `Memories/`.
    #[track_caller]
    pub(crate) fn note(&self, name: &str) -> String {
        let path = self.note_path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a note into `Memories/`, as an editor would.
    pub(crate) fn write_note(&self, name: &str, text: &str) {
        fs::create_dir_all(self.vault().join("Memories")).unwrap();
        fs::write(self.note_path(name), text).unwrap();
    }

    /// Replaces `from`, which must be there once, in a note.
    #[track_caller]
    pub(crate) fn edit_note(&self, name: &str, from: &str, to: &str) {
        let note = self.note(name);
        assert_eq!(note.matches(from).count(), 1, "`{from}` in\n{note}");
        self.write_note(name, &note.replace(from, to));
    }

    /// Names of the notes in `Memories/`, sorted, without `.md`. Hidden files are not notes.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.vault().join("Memories")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| !name.starts_with('.'));
        let mut names: Vec<String> = names.map(|name| name.strip_suffix(".md").unwrap_or(&name).to_owned()).collect();
        names.sort();
        names
    }
}

/// Every file below a folder, links not followed, by its path from there.
pub(crate) fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path().strip_prefix(folder).unwrap().to_owned();
                files.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

/// Files below a folder that hold these bytes.
pub(crate) fn files_with(folder: &Path, needle: &[u8]) -> Vec<PathBuf> {
    files_below(folder).into_iter().filter(|(_, bytes)| holds(bytes, needle)).map(|(path, _)| path).collect()
}

/// The lines of a journal, each with its end.
pub(crate) fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Whether `needle` is somewhere in `bytes`.
pub(crate) fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// Gives a line without its closing brace the checksum that the format promises.
pub(crate) fn sealed(line: &str) -> String {
    format!("{line},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(line.as_bytes()))
}

/// A generator of repeatable numbers (`SplitMix64`).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// The library's calls as short sentences; each panics where the call fails.
pub(crate) trait Calls {
    /// Remembers one memory, whatever becomes of it.
    fn tell(&self, memory: NewMemory) -> Remembered;
    /// Remembers a text that must be new; its id.
    fn save(&self, text: &str) -> String;
    /// What recall finds, without counting it as use.
    fn hits(&self, query: &str) -> Vec<Hit>;
    /// Texts of what recall finds.
    fn texts(&self, query: &str) -> Vec<String>;
    /// A memory, whole, if it exists.
    fn find(&self, id: &str) -> Option<Opened>;
    /// A memory that must exist.
    fn whole(&self, id: &str) -> Opened;
    /// Changes fields.
    fn change(&self, request: ReviseRequest);
    /// Forgets a memory that must exist.
    fn drop_memory(&self, id: &str);
    /// Restores a memory that must be forgotten or faded.
    fn bring_back(&self, id: &str);
    /// Promotes a memory that must be promotable; its note's path.
    fn keep(&self, id: &str) -> String;
    /// Tidies.
    fn clean(&self) -> TidyAnswer;
    /// Counts.
    fn counts(&self) -> Stats;
    /// Every degraded state but modes and notes, each with its place before it.
    fn health(&self) -> Health;
}

impl Calls for Engine {
    fn tell(&self, memory: NewMemory) -> Remembered {
        let mut answer = self.remember(&RememberRequest::of(&[memory])).unwrap();
        assert_eq!(answer.results.len(), 1);
        answer.results.remove(0)
    }

    #[track_caller]
    fn save(&self, text: &str) -> String {
        let told = self.tell(NewMemory { text: text.into(), ..NewMemory::default() });
        assert_eq!(told.outcome, Outcome::Saved, "{told:?}");
        told.id.unwrap()
    }

    fn hits(&self, query: &str) -> Vec<Hit> {
        let request = RecallRequest { limit: Some(50), reinforce: Some(false), ..RecallRequest::of(query) };
        self.recall(&request).unwrap().hits
    }

    fn texts(&self, query: &str) -> Vec<String> {
        self.hits(query).into_iter().map(|hit| hit.text).collect()
    }

    fn find(&self, id: &str) -> Option<Opened> {
        let request = OpenRequest { ids: vec![id.into()], history: Some(true), relations: None };
        self.open_memories(&request).unwrap().memories.pop()
    }

    #[track_caller]
    fn whole(&self, id: &str) -> Opened {
        self.find(id).unwrap_or_else(|| panic!("there is no {id}"))
    }

    #[track_caller]
    fn change(&self, request: ReviseRequest) {
        let answer = self.revise(&request).unwrap();
        assert!(!answer.changed.is_empty(), "{answer:?}");
    }

    #[track_caller]
    fn drop_memory(&self, id: &str) {
        let answer = self.forget(&ForgetRequest { ids: vec![id.into()], ..ForgetRequest::default() }).unwrap();
        assert_eq!(answer.forgotten, [id], "{answer:?}");
    }

    #[track_caller]
    fn bring_back(&self, id: &str) {
        let answer = self.restore(&RestoreRequest { ids: vec![id.into()] }).unwrap();
        assert_eq!(answer.restored.len(), 1, "{answer:?}");
    }

    #[track_caller]
    fn keep(&self, id: &str) -> String {
        let answer = self.promote(&PromoteRequest { ids: vec![id.into()], ..PromoteRequest::default() }).unwrap();
        assert_eq!(answer.promoted.len(), 1, "{answer:?}");
        answer.promoted.into_iter().next().unwrap().note
    }

    fn clean(&self) -> TidyAnswer {
        self.tidy(&TidyRequest::default()).unwrap()
    }

    fn counts(&self) -> Stats {
        self.inspect(&InspectRequest::default()).unwrap().stats.unwrap()
    }

    fn health(&self) -> Health {
        let request = InspectRequest::of(View::Health);
        let mut health = self.inspect(&request).unwrap().health.unwrap();
        // Files that a test lays out are not private, and what is kept in quarantine is known.
        health.findings.retain(|finding| finding.level != Level::Note && !finding.what.starts_with("its mode "));
        health.ok = health.findings.is_empty();
        for finding in &mut health.findings {
            let line = finding.line.map_or(String::new(), |line| format!(" line {line}"));
            let byte = finding.byte.map_or(String::new(), |byte| format!(" (byte {byte})"));
            let file = finding.file.as_ref().map_or(String::new(), |file| format!("{}{line}{byte}: ", file.display()));
            finding.what.insert_str(0, &file);
        }
        health
    }
}
