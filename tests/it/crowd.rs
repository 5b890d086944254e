//! Many processes on one home, each doing everything, and a record against which every reply is held.
//!
//! Each process is spoken to by a thread of this one, which knows what the process must answer: memories lie in one
//! pool, a thread takes one out, has its process do something to it, and puts it back. So whatever one process
//! acknowledged, the next one that gets the memory must know at its very next call.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Debug};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ebbmark::engine::{Engine, TidyRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::soundness::{Plant, check_index, check_lines, new_text, same};
use crate::support::{Calls, Dice, Store};
use crate::wire::Server;

/// Memories that are recalled at the end with the index and without.
const RECALLED_AT_THE_END: usize = 20;
/// Operations of the program that is started anew for each, as a share of the others' operations.
const PROGRAM_SHARE: usize = 10;

/// How a line of an actor's answer begins.
const ANSWER: &str = "= ";

fn done<Request: DeserializeOwned, Answer: Serialize>(
    arguments: Value,
    call: impl FnOnce(&Request) -> ebbmark::error::Result<Answer>,
) -> Result<Value, String> {
    let request = serde_json::from_value(arguments).map_err(|error| error.to_string())?;
    let answer = call(&request).map_err(|error| error.to_string())?;
    serde_json::to_value(answer).map_err(|error| error.to_string())
}

/// One call of the library, as the tools and commands of that name make it.
fn call_library(engine: &Engine, what: &str, arguments: Value) -> Result<Value, String> {
    match what {
        "remember" => done(arguments, |request| engine.remember(request)),
        "recall" => done(arguments, |request| engine.recall(request)),
        "open" => done(arguments, |request| engine.open_memories(request)),
        "revise" => done(arguments, |request| engine.revise(request)),
        "reinforce" => done(arguments, |request| engine.reinforce(request)),
        "forget" => done(arguments, |request| engine.forget(request)),
        "restore" => done(arguments, |request| engine.restore(request)),
        "promote" => done(arguments, |request| engine.promote(request)),
        "compact" => done(arguments, |_: &Value| engine.compact(false)),
        "tidy" => done(arguments, |request: &TidyRequest| engine.tidy(request)),
        _ => Err(format!("{what} is not known")),
    }
}

/// A process of the crowd that uses the library: calls on standard input, answers on standard output. Where it was
/// not started as one, it returns at once.
pub(crate) fn member() {
    let Some(store) = Store::of_actor() else { return };
    let engine = store.engine();
    // Ends whatever a test harness has begun to print.
    std::io::stdout().write_all(b"\n").unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (what, arguments) = line.split_once(' ').unwrap();
        let answer = match call_library(&engine, what, serde_json::from_str(arguments).unwrap()) {
            Ok(answer) => json!({ "answer": answer }),
            Err(error) => json!({ "error": error }),
        };
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{ANSWER}{answer}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
    engine.flush_uses().unwrap();
}

/// A process of the crowd, by the way it is spoken to.
enum Door<'a> {
    /// The library in a process of its own.
    Library { child: Child, calls: ChildStdin, answers: Lines<BufReader<ChildStdout>> },
    /// `ebbmark serve`.
    Server(Box<Server>),
    /// A new `ebbmark` for every call.
    Program(&'a Store),
}

impl Door<'_> {
    fn library(store: &Store) -> Self {
        let mut child =
            store.actor("concurrency::member").stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (calls, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Door::Library { child, calls, answers: BufReader::new(answers).lines() }
    }

    fn server(store: &Store) -> Self {
        Door::Server(Box::new(Server::spawn(store.command(&["serve"]), None).greeted()))
    }

    fn can(&self, what: &str) -> bool {
        match self {
            Door::Library { .. } => true,
            Door::Server(_) => !matches!(what, "restore" | "compact" | "tidy"),
            Door::Program(_) => what != "reinforce",
        }
    }

    fn call(&mut self, what: &str, arguments: Value) -> Result<Value, String> {
        match self {
            Door::Library { calls, answers, .. } => {
                calls.write_all(format!("{what} {arguments}\n").as_bytes()).unwrap();
                let line = answers.find_map(|line| line.unwrap().strip_prefix(ANSWER).map(str::to_owned));
                let line = line.ok_or("the process ended by itself")?;
                let mut answer: Value = serde_json::from_str(&line).unwrap();
                match answer["error"].as_str() {
                    Some(error) => Err(error.to_owned()),
                    None => Ok(answer["answer"].take()),
                }
            }
            Door::Server(server) => {
                let mut result = server.result(what, arguments);
                if result["isError"] == true { Err(result.to_string()) } else { Ok(result["structuredContent"].take()) }
            }
            Door::Program(store) => {
                let words = |name: &str| arguments[name].as_array().into_iter().flatten().filter_map(Value::as_str);
                let mut line = vec![what];
                match what {
                    "remember" => line.extend(arguments["memories"][0]["text"].as_str()),
                    "recall" => line.extend(words("query")),
                    "revise" => {
                        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
                        line.extend([text("id"), "--text", text("text")]);
                    }
                    _ => line.extend(words("ids")),
                }
                line.push("--json");
                let run = store.run(&line);
                if run.code == 0 || (run.code == 2 && what == "open") { Ok(run.json()) } else { Err(run.to_string()) }
            }
        }
    }

    fn end(self) -> Result<(), String> {
        match self {
            Door::Library { mut child, calls, .. } => {
                drop(calls);
                let status = child.wait().unwrap();
                if status.success() { Ok(()) } else { Err(format!("a process ended with {status}")) }
            }
            Door::Server(server) => {
                let (status, rest, complaints) = server.finish();
                let is_fine = status.success() && rest.is_empty() && !complaints.contains("panicked");
                if is_fine { Ok(()) } else { Err(format!("a server ended with {status}: {rest:?} {complaints}")) }
            }
            Door::Program(_) => Ok(()),
        }
    }
}

impl Debug for Door<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Door::Library { .. } => "library",
            Door::Server(_) => "server",
            Door::Program(_) => "program",
        })
    }
}

/// What is known of a memory: everything about it was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) is_forgotten: bool,
}

/// One process and what decides what it does.
struct Member<'a> {
    number: usize,
    door: Door<'a>,
    dice: Dice,
}

/// The processes' common home and what they acknowledged.
pub(crate) struct Crowd {
    pub(crate) store: Store,
    /// All memories but those that a thread has in hand.
    pub(crate) pool: Mutex<Vec<Known>>,
    /// Every id ever given.
    ids: Mutex<BTreeSet<String>>,
    pub(crate) operations: AtomicUsize,
    /// Calls that were refused because another process wrote for too long.
    pub(crate) refused: AtomicUsize,
    is_over: AtomicBool,
}

/// How far the members go at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody compacts, so that every line that was written is still there.
    Growing,
    Everything,
}

impl Crowd {
    pub(crate) fn new(mut store: Store) -> Self {
        store.seed = None;
        store.ok(&["init"]);
        let (text, first) = ("The crowd has a first memory".to_owned(), store.engine());
        let first = Known { id: first.save(&text), text, is_forgotten: false };
        Crowd {
            ids: Mutex::new(BTreeSet::from([first.id.clone()])),
            pool: Mutex::new(vec![first]),
            store,
            operations: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Lets so many processes do so many operations each, and checks the replies and, at half-time and at the end,
    /// what is there. A quarter of the processes serve over a wire; one more is started anew for each operation.
    pub(crate) fn run(&self, processes: usize, operations: usize, seed: u64) -> Result<(), String> {
        let fault = |fault: String| format!("{processes} processes, {operations} operations, seed {seed}: {fault}");
        let door = |number: usize| match number {
            number if number == processes => Door::Program(&self.store),
            number if number % 4 == 3 => Door::server(&self.store),
            _ => Door::library(&self.store),
        };
        let mut members: Vec<Member<'_>> = (0..=processes)
            .map(|number| Member { number, door: door(number), dice: Dice(seed * 1000 + number as u64) })
            .collect();
        let outcome = self.run_members(&mut members, operations);
        let ended = members.into_iter().try_for_each(|member| member.door.end());
        outcome.and(ended).and_then(|()| self.check()).map_err(fault)
    }

    fn run_members(&self, members: &mut [Member<'_>], operations: usize) -> Result<(), String> {
        let journal = self.store.journal();
        let file = || std::fs::metadata(&journal).map(|found| inode(&found)).unwrap();
        let before = file();
        for phase in [Phase::Growing, Phase::Everything] {
            thread::scope(|scope| {
                let threads: Vec<_> = members
                    .iter_mut()
                    .map(|member| scope.spawn(move || self.part(member, phase, operations / 2)))
                    .collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap())
            })?;
            check_lines(&self.store, phase == Phase::Everything || file() != before)?;
        }
        members.iter_mut().try_for_each(|member| self.check_view(member))
    }

    /// One process's share of a phase.
    fn part(&self, member: &mut Member<'_>, phase: Phase, operations: usize) -> Result<(), String> {
        let operations = if matches!(member.door, Door::Program(_)) { operations / PROGRAM_SHARE } else { operations };
        for step in 0..operations {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            if let Err(fault) = self.operate(member, phase) {
                self.is_over.store(true, Ordering::Relaxed);
                return Err(format!("{phase:?}, process {} ({:?}), step {step}: {fault}", member.number, member.door));
            }
            self.operations.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A call; `None` where it was refused because the home was busy.
    fn call(&self, member: &mut Member<'_>, what: &str, arguments: Value) -> Result<Option<Value>, String> {
        match member.door.call(what, arguments) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.contains(" is busy: held by ") => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(format!("{what}: {error}")),
        }
    }

    /// One random operation, and whether its reply is right.
    fn operate(&self, member: &mut Member<'_>, phase: Phase) -> Result<(), String> {
        let chance = member.dice.below(100);
        if phase == Phase::Everything && chance < 4 {
            let what = if chance < 3 { "compact" } else { "tidy" };
            if member.door.can(what) {
                return match self.call(member, what, json!({})) {
                    // Of two that compact at the same time, one does not.
                    Err(error) if what == "compact" && error.contains("changed while it was being edited") => Ok(()),
                    Ok(Some(answer)) if what == "tidy" => same("edited", &answer["edited"], &json!([])),
                    other => other.map(drop),
                };
            }
        }
        let known = if chance < 30 { None } else { self.take(&mut member.dice) };
        let Some(mut known) = known else { return self.remember(member) };
        let handled = self.handle(member, &mut known);
        self.pool.lock().unwrap().push(known);
        handled
    }

    /// Takes a memory out of the pool: often the one that another process just put there.
    fn take(&self, dice: &mut Dice) -> Option<Known> {
        let mut pool = self.pool.lock().unwrap();
        let last = pool.len().checked_sub(1)?;
        let place = if dice.below(2) == 0 { last } else { dice.below(last + 1) };
        Some(pool.swap_remove(place))
    }

    fn remember(&self, member: &mut Member<'_>) -> Result<(), String> {
        let text = new_text(&mut member.dice);
        let Some(answer) = self.call(member, "remember", json!({ "memories": [{ "text": text }] }))? else {
            return Ok(());
        };
        let told = &answer["results"][0];
        same("outcome", &told["outcome"], &json!("saved"))?;
        self.acknowledge(told["id"].as_str().unwrap_or_default(), &text)
    }

    /// Takes over a memory that was acknowledged as new.
    pub(crate) fn acknowledge(&self, id: &str, text: &str) -> Result<(), String> {
        if id.is_empty() || !self.ids.lock().unwrap().insert(id.to_owned()) {
            return Err(format!("the id `{id}` was given twice, now for `{text}`"));
        }
        self.pool.lock().unwrap().push(Known { id: id.to_owned(), text: text.to_owned(), is_forgotten: false });
        Ok(())
    }

    /// One random thing with a memory.
    fn handle(&self, member: &mut Member<'_>, known: &mut Known) -> Result<(), String> {
        let ids = json!({ "ids": [known.id] });
        let chance = member.dice.below(100);
        if known.is_forgotten {
            if chance >= 50 || !member.door.can("restore") {
                return self.look(member, known);
            }
            let Some(answer) = self.call(member, "restore", ids)? else { return Ok(()) };
            known.is_forgotten = false;
            same("restored", &answer["restored"][0]["id"], &json!(known.id))?;
            return same("restored", &answer["restored"][0]["text"], &json!(known.text));
        }
        match chance {
            0..45 => self.look(member, known),
            45..65 => {
                let text = new_text(&mut member.dice);
                let Some(answer) = self.call(member, "revise", json!({ "id": known.id, "text": text }))? else {
                    return Ok(());
                };
                known.text = text;
                same(&format!("revise {}", known.id), &answer["changed"], &json!(["text"]))
            }
            65..77 if member.door.can("reinforce") => {
                let Some(answer) = self.call(member, "reinforce", ids)? else { return Ok(()) };
                same("reinforced", &answer["results"][0]["id"], &json!(known.id))
            }
            65..90 => {
                let Some(answer) = self.call(member, "forget", ids)? else { return Ok(()) };
                known.is_forgotten = true;
                same("forgotten", &answer["forgotten"], &json!([known.id]))
            }
            _ => {
                let Some(answer) = self.call(member, "promote", ids)? else { return Ok(()) };
                let promoted = answer["promoted"].as_array().into_iter().flatten();
                let is_promoted = promoted.into_iter().any(|promoted| promoted["id"] == known.id);
                if is_promoted { Ok(()) } else { Err(format!("{} was not promoted: {answer}", known.id)) }
            }
        }
    }

    /// What is known must be seen, and what is forgotten must not.
    fn look(&self, member: &mut Member<'_>, known: &Known) -> Result<(), String> {
        let what = if member.dice.below(3) == 0 { "open" } else { "recall" };
        let arguments = if what == "open" { json!({ "ids": [known.id] }) } else { json!({ "query": [known.text] }) };
        let Some(answer) = self.call(member, what, arguments)? else {
            return Err(format!("{what} waited for a writer"));
        };
        check_seen(what, &answer, known)
    }

    /// Each process that is still running sees every memory as it was acknowledged.
    fn check_view(&self, member: &mut Member<'_>) -> Result<(), String> {
        let pool = self.pool.lock().unwrap().clone();
        // A program is a new process each time, as `check` looks with one.
        let chunks = if matches!(member.door, Door::Program(_)) { 0 } else { usize::MAX };
        for known in pool.chunks(100).take(chunks) {
            let ids: Vec<&str> = known.iter().map(|known| known.id.as_str()).collect();
            let answer = member.door.call("open", json!({ "ids": ids }))?;
            check_opened(&answer, known).map_err(|fault| format!("process {}: {fault}", member.number))?;
        }
        Ok(())
    }

    /// Plants a fault; `false` where there is nothing for it.
    pub(crate) fn plant(&self, plant: Plant) -> bool {
        let pool = self.pool.lock().unwrap();
        let ids = |is_forgotten: bool| -> BTreeSet<String> {
            let known = pool.iter().filter(|known| known.is_forgotten == is_forgotten);
            known.map(|known| known.id.clone()).collect()
        };
        plant.put(&self.store, &ids(false), &ids(true))
    }

    /// What is there after everything: every memory as it was last acknowledged, and nothing else; sound lines; a
    /// healthy home; an index that answers as a fresh build does.
    pub(crate) fn check(&self) -> Result<(), String> {
        let tidied = self.store.json(&["tidy"]);
        same("edited", &tidied["edited"], &json!([]))?;
        let engine = self.store.engine();
        let pool = self.pool.lock().unwrap();
        for known in pool.chunks(100) {
            let ids: Vec<&str> = known.iter().map(|known| known.id.as_str()).collect();
            check_opened(&call_library(&engine, "open", json!({ "ids": ids }))?, known)?;
        }
        let there = pool.iter().filter(|known| !known.is_forgotten).count() as u64;
        same("active memories", &engine.counts().active, &there)?;
        check_lines(&self.store, true)?;
        for (path, bytes) in self.store.journals() {
            // Nobody edited a note: whatever is taken for a person's edit is a misreading of our own writing.
            let text = String::from_utf8_lossy(&bytes);
            if let Some(line) = text.lines().find(|line| line.contains("\"by\":\"person\"")) {
                return Err(format!("{}: {line}", path.display()));
            }
        }
        let queries: Vec<String> =
            pool.iter().rev().take(RECALLED_AT_THE_END).map(|known| known.text.clone()).collect();
        check_index(&self.store, &queries)?;
        let health = self.store.json(&["inspect", "health"]);
        same("health", &health["health"]["findings"], &json!([]))?;
        same("git status", &self.store.git(&["status", "--porcelain"]), &String::new())?;
        self.store.git(&["fsck", "--strict", "--no-dangling"]);
        Ok(())
    }
}

#[cfg(unix)]
fn inode(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

/// Whether the answer to one look shows a memory as it is known.
pub(crate) fn check_seen(what: &str, answer: &Value, known: &Known) -> Result<(), String> {
    let list = if what == "open" { "memories" } else { "hits" };
    let found = answer[list].as_array().into_iter().flatten().find(|hit| hit["id"] == known.id);
    let text = found.map(|found| found["text"].as_str().unwrap_or_default());
    let expected = (!known.is_forgotten).then_some(known.text.as_str());
    same(&format!("{what} {}", known.id), &text, &expected)
}

/// Whether an answer to `open` shows all memories as they are known.
fn check_opened(answer: &Value, all: &[Known]) -> Result<(), String> {
    let memories = answer["memories"].as_array().into_iter().flatten();
    let texts: HashMap<&str, &str> =
        memories.filter_map(|memory| Some((memory["id"].as_str()?, memory["text"].as_str()?))).collect();
    for known in all {
        let expected = (!known.is_forgotten).then_some(known.text.as_str());
        same(&format!("open {}", known.id), &texts.get(known.id.as_str()).copied(), &expected)?;
    }
    Ok(())
}
