//! An hour in the life of a server: `cargo build --release && cargo run --release --example soak -- [MINUTES]`.
//!
//! Runs a real `ebbmark serve` under a steady mix of calls over the wire, with commands of a second process and a
//! person's edits in between, and checks every reply against a simple model. Prints a line each minute; ends with a
//! verdict. The exit code is not 0 where a reply was wrong, or where the server's resident memory or its open files
//! grew in the second half by more than a tenth (of few files, by more than three). Reads `/proc`: Linux only.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a program that measures and prints")]

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Time between two operations: 50 a second leave the machine usable.
const PACE: Duration = Duration::from_millis(20);
/// Memories that are there at a time, so that what grows is a leak.
const ALIVE: usize = 400;
/// Of these, with a note.
const PROMOTED: usize = 40;
/// Days for which a forgotten memory can be restored here: one minute, so that compaction has something to do.
const KEEP_DAYS: f64 = 1.0 / 1440.0;
/// A memory that was forgotten so recently must come back.
const SURELY_RESTORABLE: Duration = Duration::from_secs(30);
/// By then a person's edit must have been read back.
const READ_BACK_WITHIN: Duration = Duration::from_secs(20);
/// A reply that takes longer never comes.
const PATIENCE: Duration = Duration::from_secs(30);
/// What may be added in the second half.
const GROWTH: f64 = 0.10;
/// Open files that come and go by themselves.
const FEW_FILES: f64 = 3.0;

fn main() -> Outcome<ExitCode> {
    let minutes: u64 = std::env::args().nth(1).map_or(Ok(60), |minutes| minutes.parse())?;
    let mut soak = Soak::new()?;
    let outcome = soak.run(minutes.max(1));
    if let Err(error) = &outcome {
        println!("ended early: {error}");
    }
    println!("{} operations: {}", soak.done, soak.counted());
    for wrong in soak.wrong.iter().take(20) {
        println!("WRONG {wrong}");
    }
    let is_flat = verdict("resident memory, kB", &soak.samples, |sample| sample.resident_kb, 0.0);
    let is_steady = verdict("open files", &soak.samples, |sample| sample.open_files, FEW_FILES);
    println!("wrong replies: {}", soak.wrong.len());
    let is_fine = outcome.is_ok() && soak.wrong.is_empty() && is_flat && is_steady;
    println!("{}", if is_fine { "PASSED" } else { "FAILED" });
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a measure stayed at what it was until half-time. The most of each half counts, not one sample: the system's
/// allocator keeps some megabytes of each thread that once folded the index, and gives them back when it likes.
fn verdict(what: &str, samples: &[Sample], of: impl Fn(&Sample) -> f64, allowed: f64) -> bool {
    let (early, late) = samples.split_at(samples.len().div_ceil(2));
    let most = |some: &[Sample]| some.iter().map(&of).fold(0.0, f64::max);
    let (until, since) = (most(early), most(late));
    let is_flat = since <= until + (until * GROWTH).max(allowed);
    println!("{what}: at most {until} until half-time, {since} since: {}", if is_flat { "flat" } else { "GROWS" });
    is_flat
}

struct Sample {
    resident_kb: f64,
    open_files: f64,
}

/// What the model knows of a memory.
struct Item {
    number: usize,
    text: String,
    /// What it said before a person edited its note, and when that was: until it is read back, both are right.
    before: Option<(String, Instant)>,
    /// Its note, from the vault's root.
    note: Option<String>,
}

impl Item {
    fn says(&self, text: &Value) -> bool {
        let is_old = |(old, at): &(String, Instant)| text == old && at.elapsed() < READ_BACK_WITHIN;
        *text == self.text || self.before.as_ref().is_some_and(is_old)
    }
}

struct Soak {
    program: PathBuf,
    folder: tempfile::TempDir,
    server: Server,
    alive: BTreeMap<String, Item>,
    forgotten: VecDeque<(String, Item, Instant)>,
    next_number: usize,
    dice: u64,
    done: u64,
    counts: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
    samples: Vec<Sample>,
}

impl Soak {
    fn new() -> Outcome<Soak> {
        let own = std::env::current_exe()?;
        let program = own.ancestors().nth(2).ok_or("no folder of programs")?.join("ebbmark");
        if !program.is_file() {
            return Err(format!("{} is missing: build it first", program.display()).into());
        }
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("home"))?;
        fs::write(folder.path().join("home/config.toml"), format!("[forget]\nkeep_days = {KEEP_DAYS}\n"))?;
        let server = Server::start(&mut command(&program, folder.path()))?;
        Ok(Soak {
            program,
            folder,
            server,
            alive: BTreeMap::new(),
            forgotten: VecDeque::new(),
            next_number: 1000,
            dice: 1,
            done: 0,
            counts: BTreeMap::new(),
            wrong: Vec::new(),
            samples: Vec::new(),
        })
    }

    fn run(&mut self, minutes: u64) -> Outcome<()> {
        while self.alive.len() < ALIVE {
            self.remember()?;
        }
        println!("minute  operations  wrong  resident kB  journal bytes  open files");
        let began = Instant::now();
        let mut slots = 0;
        for minute in 1..=minutes {
            while began.elapsed() < Duration::from_secs(60 * minute) {
                // What was missed is not made up for.
                slots = (slots + 1).max((began.elapsed().as_millis() / PACE.as_millis()) as u32);
                if let Some(pause) = (PACE * slots).checked_sub(began.elapsed()) {
                    thread::sleep(pause);
                }
                self.one()?;
            }
            self.check_counts()?;
            self.sample(minute)?;
        }
        self.check_after_restart()
    }

    /// One operation, drawn by lot.
    fn one(&mut self) -> Outcome<()> {
        match self.below(1000) {
            400..450 => self.recall_forgotten(),
            450..570 => self.open(),
            570..690 => self.revise(),
            690..810 => self.reinforce(),
            810..970 if self.alive.len() < ALIVE => self.remember(),
            810..970 => self.forget(),
            970..980 => self.promote(),
            980..986 => self.edit_note(),
            986..990 => self.restore(),
            990..993 => self.remember_elsewhere(),
            993..994 => self.tidy_elsewhere(),
            _ => self.recall(),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % bound
    }

    fn any(&mut self) -> String {
        let place = self.below(self.alive.len());
        self.alive.keys().nth(place).cloned().unwrap_or_default()
    }

    fn any_promoted(&mut self) -> Option<String> {
        let promoted: Vec<String> =
            self.alive.iter().filter(|(_, item)| item.note.is_some()).map(|(id, _)| id.clone()).collect();
        (!promoted.is_empty()).then(|| promoted[self.below(promoted.len())].clone())
    }

    fn count(&mut self, what: &'static str) {
        self.done += 1;
        *self.counts.entry(what).or_default() += 1;
    }

    fn counted(&self) -> String {
        self.counts.iter().map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>().join(", ")
    }

    fn expect(&mut self, is_right: bool, what: &str, reply: &Value) {
        if !is_right {
            let reply: String = reply.to_string().chars().take(600).collect();
            self.wrong.push(format!("operation {}: {what}: {reply}", self.done));
        }
    }

    fn new_text(&mut self) -> (usize, String) {
        const NAMES: [&str; 8] = ["Priya", "Tomas", "Ines", "Malik", "Greta", "Owen", "Yuki", "Sofia"];
        const THINGS: [&str; 7] = ["books", "spices", "lamps", "bulbs of tulips", "maps", "violins", "clocks"];
        self.next_number += 1;
        let (name, thing) = (NAMES[self.below(NAMES.len())], THINGS[self.below(THINGS.len())]);
        (self.next_number, format!("{name} keeps parcel {} with {thing} in cellar 1", self.next_number))
    }

    fn remember(&mut self) -> Outcome<()> {
        self.count("remember");
        let (number, text) = self.new_text();
        let answer = self.server.call("remember", &json!({ "memories": [{ "text": text }] }))?;
        let result = &answer["results"][0];
        self.expect(result["outcome"] == "saved", "a new memory is saved", &answer);
        if let Some(id) = result["id"].as_str() {
            self.alive.insert(id.to_owned(), Item { number, text, before: None, note: None });
        }
        Ok(())
    }

    fn recall(&mut self) -> Outcome<()> {
        self.count("recall");
        let id = self.any();
        let query = format!("where is parcel {}?", self.alive[&id].number);
        let answer = self.server.call("recall", &json!({ "query": query }))?;
        let hit = answer["hits"].as_array().and_then(|hits| hits.iter().find(|hit| hit["id"] == id.as_str()));
        let is_right = hit.is_some_and(|hit| self.alive[&id].says(&hit["text"]));
        self.expect(is_right, &format!("`{query}` finds {id}: {}", self.alive[&id].text), &answer);
        Ok(())
    }

    fn recall_forgotten(&mut self) -> Outcome<()> {
        let Some((id, number)) = self.forgotten.back().map(|(id, item, _)| (id.clone(), item.number)) else {
            return Ok(());
        };
        self.count("recall of forgotten");
        let answer = self.server.call("recall", &json!({ "query": format!("where is parcel {number}?") }))?;
        let is_there = answer["hits"].as_array().is_some_and(|hits| hits.iter().any(|hit| hit["id"] == id.as_str()));
        self.expect(!is_there, &format!("{id} is forgotten"), &answer);
        Ok(())
    }

    fn open(&mut self) -> Outcome<()> {
        self.count("open");
        let ids = [self.any(), self.any()];
        let answer = self.server.call("open", &json!({ "ids": ids, "history": true }))?;
        for (place, id) in ids.iter().enumerate() {
            let opened = &answer["memories"][place];
            let item = &self.alive[id];
            let is_right = opened["id"] == id.as_str()
                && item.says(&opened["text"])
                && item.note.as_deref() == opened["note"].as_str();
            self.expect(is_right, &format!("{id} says `{}`, note {:?}", item.text, item.note), &answer);
        }
        Ok(())
    }

    fn revise(&mut self) -> Outcome<()> {
        self.count("revise");
        let id = self.any();
        let text = self.next_text(&id);
        let answer = self.server.call("revise", &json!({ "id": id, "text": text }))?;
        self.expect(answer["changed"] == json!(["text"]), "the text is changed", &answer);
        if let Some(item) = self.alive.get_mut(&id) {
            *item = Item { number: item.number, text, before: None, note: item.note.take() };
        }
        Ok(())
    }

    /// What a memory will say next: its parcel went to the next cellar.
    fn next_text(&self, id: &str) -> String {
        let text = &self.alive[id].text;
        let (rest, cellar) = text.rsplit_once(' ').unwrap_or((text, "0"));
        format!("{rest} {}", cellar.parse::<u64>().unwrap_or_default() + 1)
    }

    fn reinforce(&mut self) -> Outcome<()> {
        self.count("reinforce");
        let id = self.any();
        let answer = self.server.call("reinforce", &json!({ "ids": [id] }))?;
        let is_right = answer["results"][0]["id"] == id.as_str()
            && answer["results"][0]["uses"].as_u64().is_some_and(|uses| uses > 0);
        self.expect(is_right, "a use is counted", &answer);
        Ok(())
    }

    fn forget(&mut self) -> Outcome<()> {
        self.count("forget");
        let id = self.any();
        let answer = self.server.call("forget", &json!({ "ids": [id] }))?;
        self.expect(answer["forgotten"] == json!([id]) && answer.get("notice").is_none(), "it is forgotten", &answer);
        if let Some(item) = self.alive.remove(&id) {
            self.forgotten.push_back((id, Item { before: None, ..item }, Instant::now()));
        }
        while self.forgotten.front().is_some_and(|(_, _, at)| at.elapsed() > SURELY_RESTORABLE) {
            self.forgotten.pop_front();
        }
        Ok(())
    }

    fn promote(&mut self) -> Outcome<()> {
        let id = self.any();
        let promoted = self.alive.values().filter(|item| item.note.is_some()).count();
        if promoted >= PROMOTED || self.alive[&id].note.is_some() {
            return self.forget_promoted();
        }
        self.count("promote");
        let answer = self.server.call("promote", &json!({ "ids": [id] }))?;
        let note = answer["promoted"][0]["note"].as_str().map(str::to_owned);
        let path = note.as_ref().map(|note| self.folder.path().join("vault").join(note));
        let is_there = path.is_some_and(|path| path.is_file());
        self.expect(is_there && answer["promoted"][0]["commit"].is_string(), "a note is written", &answer);
        if let Some(item) = self.alive.get_mut(&id) {
            item.note = note;
        }
        Ok(())
    }

    fn forget_promoted(&mut self) -> Outcome<()> {
        let Some(id) = self.any_promoted() else { return Ok(()) };
        self.count("forget with note");
        let answer = self.server.call("forget", &json!({ "ids": [id] }))?;
        self.expect(answer["forgotten"] == json!([id]) && answer.get("notice").is_none(), "it is forgotten", &answer);
        if let Some(item) = self.alive.remove(&id) {
            let is_gone = !self.folder.path().join("vault").join(item.note.as_deref().unwrap_or_default()).is_file();
            self.expect(is_gone, "its note left its place", &answer);
            self.forgotten.push_back((id, Item { before: None, ..item }, Instant::now()));
        }
        Ok(())
    }

    /// A person edits a note in their editor.
    fn edit_note(&mut self) -> Outcome<()> {
        let Some(id) = self.any_promoted() else { return Ok(()) };
        if self.alive[&id].before.as_ref().is_some_and(|(_, at)| at.elapsed() < READ_BACK_WITHIN) {
            return Ok(());
        }
        self.count("edit of a note");
        let text = self.next_text(&id);
        let Some(item) = self.alive.get_mut(&id) else { return Ok(()) };
        let path = self.folder.path().join("vault").join(item.note.as_deref().unwrap_or_default());
        let note = fs::read_to_string(&path)?;
        let Some((front, _)) = note.rsplit_once(&item.text) else {
            let reply = Value::String(note);
            self.expect(false, &format!("the note of {id} holds its text"), &reply);
            return Ok(());
        };
        fs::write(&path, format!("{front}{text}\n"))?;
        let old = std::mem::replace(&mut item.text, text);
        item.before = Some((old, Instant::now()));
        Ok(())
    }

    /// A command of a second process; its answer.
    fn run_command(&self, arguments: &[&str]) -> Outcome<Value> {
        let output = command(&self.program, self.folder.path()).args(arguments).arg("--json").output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Ok(json!({ "code": output.status.code(), "stderr": said }));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn restore(&mut self) -> Outcome<()> {
        let Some((id, item, _)) = self.forgotten.pop_back().filter(|(.., at)| at.elapsed() < SURELY_RESTORABLE) else {
            return Ok(());
        };
        self.count("restore elsewhere");
        let answer = self.run_command(&["restore", &id])?;
        let restored = &answer["restored"][0];
        let is_right = restored["id"] == id.as_str() && restored["note"].as_str() == item.note.as_deref();
        self.expect(is_right, &format!("{id} is restored with note {:?}", item.note), &answer);
        self.alive.insert(id, item);
        Ok(())
    }

    /// What another process saves is found by the very next recall of the server.
    fn remember_elsewhere(&mut self) -> Outcome<()> {
        self.count("remember elsewhere");
        let (number, text) = self.new_text();
        let answer = self.run_command(&["remember", &text])?;
        self.expect(answer["results"][0]["outcome"] == "saved", "a new memory is saved", &answer);
        let Some(id) = answer["results"][0]["id"].as_str() else { return Ok(()) };
        self.alive.insert(id.to_owned(), Item { number, text, before: None, note: None });
        let found = self.server.call("recall", &json!({ "query": format!("parcel {number}"), "limit": 1 }))?;
        self.expect(found["hits"][0]["id"] == id, "what another process saved is found at once", &found);
        Ok(())
    }

    fn tidy_elsewhere(&mut self) -> Outcome<()> {
        self.count("tidy elsewhere");
        let answer = self.run_command(&["tidy"])?;
        self.expect(answer["promoted"].is_array() && answer.get("problems").is_none(), "tidy has no problems", &answer);
        Ok(())
    }

    fn check_counts(&mut self) -> Outcome<()> {
        self.count("stats");
        let answer = self.server.call("inspect", &json!({ "view": "stats" }))?;
        let promoted = self.alive.values().filter(|item| item.note.is_some()).count();
        let is_right = answer["stats"]["active"] == self.alive.len() && answer["stats"]["promoted"] == promoted;
        self.expect(is_right, &format!("{} are active, {promoted} promoted", self.alive.len()), &answer);
        Ok(())
    }

    fn sample(&mut self, minute: u64) -> Outcome<()> {
        let process = PathBuf::from(format!("/proc/{}", self.server.child.id()));
        let status = fs::read_to_string(process.join("status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let resident_kb: f64 = resident.trim().trim_end_matches(" kB").parse()?;
        let open_files = fs::read_dir(process.join("fd"))?.count();
        let journals = fs::read_dir(self.folder.path().join("home/short-term"))?.flatten();
        let bytes: u64 = journals.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
        println!(
            "{minute:>6}  {:>10}  {:>5}  {resident_kb:>11}  {bytes:>13}  {open_files:>10}",
            self.done,
            self.wrong.len()
        );
        self.samples.push(Sample { resident_kb, open_files: open_files as f64 });
        Ok(())
    }

    /// The server ends when it is told to, and a fresh one knows the same.
    fn check_after_restart(&mut self) -> Outcome<()> {
        let fresh = Server::start(&mut command(&self.program, self.folder.path()))?;
        let ended = std::mem::replace(&mut self.server, fresh).end()?;
        self.expect(ended, "the server ends well", &Value::Null);
        let ids: Vec<String> = self.alive.keys().cloned().collect();
        for ids in ids.chunks(100) {
            self.count("open after a restart");
            let answer = self.server.call("open", &json!({ "ids": ids }))?;
            let opened = answer["memories"].as_array().cloned().unwrap_or_default();
            self.expect(opened.len() == ids.len(), "all are there", &answer["not_found"]);
            for opened in opened {
                let item = opened["id"].as_str().and_then(|id| self.alive.get(id));
                let is_right = item.is_some_and(|item| item.says(&opened["text"]));
                let text = item.map(|item| item.text.clone()).unwrap_or_default();
                self.expect(is_right, &format!("it says `{text}`"), &opened);
            }
        }
        Ok(())
    }
}

/// The program on this home and vault, in an environment of its own.
fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("EBBMARK_HOME", folder.join("home"))
        .env("EBBMARK_VAULT", folder.join("vault"))
        .stdin(Stdio::null());
    command
}

/// A running server and the client's ends of its pipes.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
}

impl Server {
    fn start(command: &mut Command) -> Outcome<Server> {
        let mut child = command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Server { stdin: child.stdin.take(), child, lines, last_id: 0 };
        let client = json!({ "name": "soak", "version": "1" });
        server.request(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        )?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Outcome<()> {
        let stdin = self.stdin.as_mut().ok_or("its input is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes())?;
        Ok(stdin.flush()?)
    }

    fn request(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }))?;
        let reply: Value = serde_json::from_str(&self.lines.recv_timeout(PATIENCE)?)?;
        if reply["id"] != self.last_id {
            return Err(format!("a reply to something else: {reply}").into());
        }
        Ok(reply)
    }

    /// The structured answer of a call; of one that failed, its error.
    fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<Value> {
        let reply = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Ok(reply["result"]["structuredContent"].clone())
    }

    /// Closes its input; whether it ends well.
    fn end(mut self) -> Outcome<bool> {
        drop(self.stdin.take());
        Ok(self.child.wait()?.success())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
