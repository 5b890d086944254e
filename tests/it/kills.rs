//! Rounds in which processes that do everything are killed, at random moments or in the middle of a chosen operation;
//! what they acknowledged is then compared with what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::thread;
use std::time::Duration;

use ebbmark::engine::{
    Engine, ForgetRequest, OpenRequest, Opened, RecallRequest, ReinforceRequest, RestoreRequest, ReviseRequest,
};

use crate::soundness::{Plant, check_index, check_lines, new_text};
use crate::support::{Calls, Dice, Run, Store};

/// Operations that a round may aim at, with the number that makes a child choose them.
const AIMS: [(&str, usize); 6] =
    [("compact", 97), ("tidy", 92), ("promote", 55), ("forget", 65), ("change", 80), ("restore", 72)];
/// What an aimed round waits for at most, in acknowledgements of other operations.
const PATIENCE: usize = 40;

/// What may be true of a memory after what was said about it.
#[derive(Debug, Default)]
struct Expected {
    /// Texts that it may have.
    texts: Vec<String>,
    /// It was saved without anyone saying so.
    may_say_anything: bool,
    may_be_there: bool,
    may_be_gone: bool,
}

/// What all children said, by memory.
type Model = BTreeMap<String, Expected>;

fn say(what: &str, id: &str, text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{what} {id} {text}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Says before and after an operation that changes no memory.
fn around<T>(what: &str, operation: impl FnOnce() -> T) -> T {
    say(&format!("? {what}"), "-", "-");
    let done = operation();
    say(&format!("! {what}"), "-", "-");
    done
}

/// Takes over one line of a child: `?` is what it is about to do, `!` what it has done.
fn hear(model: &mut Model, line: &str) {
    let mut parts = line.splitn(4, ' ');
    let (Some(mark @ ("?" | "!")), Some(what), Some(id), Some(text)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    if id == "-" {
        return;
    }
    let is_done = mark == "!";
    // What was saved and never acknowledged may be met later.
    let met = || Expected { may_be_there: true, may_say_anything: true, ..Expected::default() };
    let memory = model.entry(id.to_owned()).or_insert_with(met);
    memory.may_say_anything &= !matches!((what, mark), ("remember" | "change", "!"));
    match what {
        "forget" => (memory.may_be_gone, memory.may_be_there) = (true, !is_done),
        "restore" => (memory.may_be_there, memory.may_be_gone) = (true, !is_done),
        "change" if is_done => memory.texts = vec![text.to_owned()],
        "remember" | "change" => memory.texts.push(text.to_owned()),
        _ => panic!("{line}"),
    }
}

/// Writes other words into a note, as an editor that saves by renaming does.
fn edit_note(store: &Store, memory: &Opened, text: &str) {
    let path = store.vault().join(memory.memory.note.as_deref().unwrap());
    let Ok(note) = fs::read_to_string(&path) else { return };
    let written = store.root().join(format!("written by {}", std::process::id()));
    fs::write(&written, note.replace(&memory.memory.text, text)).unwrap();
    fs::rename(written, path).unwrap();
}

/// What a child is told beside its store.
struct Part {
    /// Its number and how many there are: a memory belongs to one of them, so that two never contradict each other.
    mine: usize,
    of: usize,
    /// What it does more often than chance would have it.
    aim: Option<usize>,
    dice: Dice,
    gone: Vec<String>,
}

impl Part {
    fn of_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok().map(|number| number.parse::<usize>().unwrap());
        let told = |name: &str| number(name).unwrap_or_else(|| panic!("{name} is not set"));
        let dice = Dice(told("DICE") as u64);
        Part { mine: told("CHILD"), of: told("CHILDREN"), aim: number("AIM"), dice, gone: Vec::new() }
    }

    fn is_mine(&self, id: &str) -> bool {
        usize::from(id.as_bytes()[id.len() - 1]) % self.of == self.mine
    }

    /// One random thing.
    fn act(&mut self, store: &Store, engine: &Engine) {
        let listing = RecallRequest { limit: Some(50), reinforce: Some(false), ..RecallRequest::default() };
        let mut ids: Vec<String> = engine.recall(&listing).unwrap().hits.into_iter().map(|hit| hit.id).collect();
        ids.retain(|id| self.is_mine(id));
        let by_chance = self.dice.below(100);
        let chance = self.aim.filter(|_| self.dice.below(2) == 0).unwrap_or(by_chance);
        let text = new_text(&mut self.dice);
        if chance < 30 || ids.len() < 3 {
            let id = engine.save(&text);
            return say("! remember", &id, &text);
        }
        let id = ids[self.dice.below(ids.len())].as_str();
        let Some(memory) = engine.find(id) else { return };
        match chance {
            30..40 => {
                engine.recall(&RecallRequest::of(&memory.memory.text)).unwrap();
                engine.flush_uses().unwrap();
            }
            40..50 => {
                let ids = vec![id.into()];
                let request = ReinforceRequest { ids, boost: Some(true), ..ReinforceRequest::default() };
                engine.reinforce(&request).unwrap();
            }
            50..62 if memory.memory.note.is_none() => drop(around("promote", || engine.keep(id))),
            50..70 => {
                say("? forget", id, "-");
                engine.forget(&ForgetRequest { ids: vec![id.into()], ..ForgetRequest::default() }).unwrap();
                say("! forget", id, "-");
                self.gone.push(id.to_owned());
            }
            70..76 if !self.gone.is_empty() => {
                let id = self.gone.swap_remove(self.dice.below(self.gone.len()));
                say("? restore", &id, "-");
                engine.restore(&RestoreRequest { ids: vec![id.clone()] }).unwrap();
                say("! restore", &id, "-");
            }
            70..84 => {
                say("? change", id, &text);
                engine.change(ReviseRequest { id: id.into(), text: Some(text.clone()), ..ReviseRequest::default() });
                say("! change", id, &text);
            }
            84..90 if memory.memory.note.is_some() => {
                say("? change", id, &text);
                edit_note(store, &memory, &text);
                say("! change", id, &text);
                engine.read_back().unwrap();
            }
            84..95 => drop(around("tidy", || engine.clean())),
            // Another process may compact at the same time: then one of them does not.
            _ => drop(around("compact", || engine.compact(false))),
        }
    }
}

/// The process that is killed. Where it was not started as one, it returns at once.
pub(crate) fn child() {
    let Some(store) = Store::of_actor() else { return };
    let mut part = Part::of_environment();
    // Ends whatever a test harness has begun to print.
    std::io::stdout().write_all(b"\n").unwrap();
    let engine = around("open", || {
        let engine = store.engine();
        engine.refresh().unwrap();
        engine
    });
    loop {
        part.act(&store, &engine);
    }
}

/// Waits for some acknowledgements, or for the operation that is aimed at, then a little longer, and kills. What the
/// child said till then is heard.
fn watch_and_kill(mut child: Child, mut dice: Dice, aim: Option<&str>) -> Result<Vec<String>, String> {
    let mut said = Vec::new();
    let mut acknowledged = 0;
    let begins = aim.map(|aim| format!("? {aim} "));
    let patience = if aim.is_some() { PATIENCE } else { dice.below(8) };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    while acknowledged < patience {
        let Some(line) = lines.next() else {
            let run: Run = child.wait_with_output().unwrap().into();
            return Err(format!("the child ended by itself: {}\n{run}", said.join("\n")));
        };
        acknowledged += usize::from(line.starts_with("! "));
        let is_there = begins.as_ref().is_some_and(|begins| line.starts_with(begins));
        said.push(line);
        if is_there {
            break;
        }
    }
    // The moment is meant to be random.
    let longest_micros = if aim.is_some() { [1, 500, 4_000, 15_000][dice.below(4)] } else { 40_000 };
    thread::sleep(Duration::from_micros(dice.below(longest_micros) as u64));
    child.kill().unwrap();
    said.extend(lines);
    child.wait().unwrap();
    Ok(said)
}

/// What was done to a store in rounds.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rounds: usize,
    pub(crate) kills: usize,
    /// Operations acknowledged before a kill.
    pub(crate) acknowledged: usize,
    /// Kills that fell inside an operation, by its name.
    pub(crate) inside: BTreeMap<String, usize>,
}

impl Tally {
    fn count(&mut self, said: &[String]) {
        self.kills += 1;
        self.acknowledged += said.iter().filter(|line| line.starts_with("! ")).count();
        let last = said.iter().rfind(|line| line.starts_with("! ") || line.starts_with("? "));
        if let Some(what) = last.and_then(|line| line.strip_prefix("? ")).and_then(|line| line.split(' ').next()) {
            *self.inside.entry(what.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.kills += other.kills;
        self.acknowledged += other.acknowledged;
        for (what, count) in other.inside {
            *self.inside.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { rounds, kills, acknowledged, inside } = self;
        let inside: Vec<String> = inside.iter().map(|(what, count)| format!("{what} {count}")).collect();
        write!(f, "{rounds} rounds, {kills} kills, {acknowledged} acknowledged; kills inside: {}", inside.join(", "))
    }
}

/// A store in which processes are killed again and again.
pub(crate) struct Kills {
    store: Store,
    dice: Dice,
    model: Model,
    pub(crate) tally: Tally,
    /// Done to the store in the first round that has something for it.
    pub(crate) plant: Option<Plant>,
}

impl Kills {
    pub(crate) fn new(mut store: Store, seed: u64) -> Self {
        store.seed = None;
        // Being killed while the vault is made is a test of its own.
        store.ok(&["init"]);
        Kills { store, dice: Dice(seed), model: Model::new(), tally: Tally::default(), plant: None }
    }

    /// Kills so many children at once, again where `in_a_row` says so while the next ones are opening the store, and
    /// checks what is there.
    pub(crate) fn round(&mut self, children: usize, in_a_row: usize) -> Result<(), String> {
        self.store.pass_hours(9);
        for time in 0..in_a_row {
            self.kill(children, time > 0)?;
        }
        self.tally.rounds += 1;
        self.plant();
        // In this process, which is cheaper; now and then through the door.
        if self.tally.rounds.is_multiple_of(10) {
            self.store.ok(&["tidy"]);
        } else {
            self.store.engine().clean();
        }
        let engine = self.store.engine();
        self.check_memories(&engine)?;
        self.check_notes(&engine)?;
        check_lines(&self.store, true)?;
        check_index(&self.store, &["which crate holds apples".to_owned()])?;
        self.check_git()
    }

    fn kill(&mut self, children: usize, is_opening: bool) -> Result<(), String> {
        // Every other round is aimed, and a third of these at a compaction.
        let aim = match self.dice.below(6) {
            _ if is_opening => Some(("open", None)),
            0..3 => None,
            3 => Some(AIMS[0]).map(|(what, chance)| (what, Some(chance))),
            _ => Some(AIMS[self.dice.below(AIMS.len())]).map(|(what, chance)| (what, Some(chance))),
        };
        let said: Vec<Result<Vec<String>, String>> = thread::scope(|scope| {
            let watchers: Vec<_> = (0..children)
                .map(|child| {
                    let own = self.dice.below(1 << 30);
                    let mut command = self.store.actor("killed::child");
                    command.env("CHILD", child.to_string()).env("CHILDREN", children.to_string());
                    command.env("DICE", own.to_string());
                    if let Some((_, Some(chance))) = aim {
                        command.env("AIM", chance.to_string());
                    }
                    let process = command.spawn().unwrap();
                    scope.spawn(move || watch_and_kill(process, Dice(own as u64 + 1), aim.map(|(what, _)| what)))
                })
                .collect();
            watchers.into_iter().map(|watcher| watcher.join().unwrap()).collect()
        });
        for said in said {
            let said = said?;
            self.tally.count(&said);
            for line in &said {
                hear(&mut self.model, line);
            }
        }
        Ok(())
    }

    fn plant(&mut self) {
        let Some(plant) = self.plant else { return };
        let ids = |is_certain: fn(&Expected) -> bool| -> BTreeSet<String> {
            self.model.iter().filter(|(_, expected)| is_certain(expected)).map(|(id, _)| id.clone()).collect()
        };
        let there = ids(|known| !known.may_be_gone && !known.may_say_anything && known.texts.len() == 1);
        let forgotten = ids(|known| !known.may_be_there);
        if plant.put(&self.store, &there, &forgotten) {
            self.plant = None;
        }
    }

    /// Compares all that was said with what is there, and takes what is there as known from now on.
    fn check_memories(&mut self, engine: &Engine) -> Result<(), String> {
        let ids: Vec<String> = self.model.keys().cloned().collect();
        let mut there: BTreeMap<String, Opened> = BTreeMap::new();
        for ids in ids.chunks(100) {
            let request = OpenRequest { ids: ids.to_vec(), history: None, relations: None };
            let opened = engine.open_memories(&request).unwrap().memories;
            there.extend(opened.into_iter().map(|memory| (memory.memory.id.clone(), memory)));
        }
        for (id, expected) in &mut self.model {
            match there.get(id) {
                None if !expected.may_be_gone => return Err(format!("{id} is gone: {expected:?}")),
                None => {}
                Some(_) if !expected.may_be_there => return Err(format!("{id} is back: {expected:?}")),
                Some(memory) => {
                    let text = &memory.memory.text;
                    if !expected.may_say_anything && !expected.texts.contains(text) {
                        return Err(format!("{id} says `{text}`: {expected:?}"));
                    }
                    expected.texts = vec![text.clone()];
                    expected.may_say_anything = false;
                }
            }
            expected.may_be_there = there.contains_key(id);
            expected.may_be_gone = !expected.may_be_there;
        }
        Ok(())
    }

    /// Every note is whole and belongs to the memory that it names; every promoted memory has its note.
    fn check_notes(&self, engine: &Engine) -> Result<(), String> {
        let names = self.store.notes();
        for name in &names {
            let note = self.store.note(name);
            let parts = note.strip_prefix("---\nid: ").and_then(|rest| rest.split_once("\n---\n"));
            let (front, body) = parts.ok_or_else(|| format!("{name} is not a whole note:\n{note}"))?;
            let id = front.lines().next().unwrap_or_default();
            let memory = engine
                .find(id)
                .ok_or_else(|| {
                    let journals: Vec<Vec<u8>> = self.store.journals().into_values().collect();
                    let text = String::from_utf8_lossy(&journals.concat()).into_owned();
                    let lines: Vec<&str> = text.lines().filter(|line| line.contains(id)).collect();
                    format!("{name} is the note of no memory: {id}\n{note}\n{}\n{:?}", lines.join("\n"), engine.clean())
                })?
                .memory;
            if memory.note != Some(format!("Memories/{name}.md")) || body.trim() != memory.text {
                return Err(format!("{name} says `{}`, its memory: {memory:?}", body.trim()));
            }
        }
        let promoted = engine.counts().promoted;
        if names.len() as u64 != promoted {
            return Err(format!("{} notes, {promoted} promoted memories", names.len()));
        }
        Ok(())
    }

    /// One tidying leaves git clean, and no lock behind.
    fn check_git(&self) -> Result<(), String> {
        let status = self.store.git(&["status", "--porcelain"]);
        let locks = ["index.lock", "HEAD.lock", "refs/heads/main.lock"];
        let locks: Vec<_> =
            locks.into_iter().filter(|lock| self.store.vault().join(".git").join(lock).exists()).collect();
        if status.is_empty() && locks.is_empty() {
            return Ok(());
        }
        Err(format!("every memory was kept; git was not left clean by one tidying: {status} {locks:?}"))
    }

    /// Checks what needs looking at only once.
    pub(crate) fn end(self) -> Result<Tally, String> {
        if self.tally.acknowledged < self.tally.rounds {
            return Err(format!("too little happened: {}", self.tally));
        }
        self.store.git(&["fsck", "--strict", "--no-dangling"]);
        Ok(self.tally)
    }
}

/// A kind of rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// A process is killed.
    OneProcess,
    /// Two processes on one home are killed independently.
    TwoProcesses,
    /// A process is killed, then the next two while they open what it left.
    ThreeInARow,
    /// The process that makes the home and saves its first memories is killed.
    FirstOpen,
    /// The process that makes the vault is killed.
    MakingTheVault,
}

fn place(is_on_disk: bool) -> Store {
    if is_on_disk { Store::new() } else { Store::in_memory() }
}

/// So many rounds of a kind. An error says in which round what was found. Usual rounds plant a fault, if one is given.
pub(crate) fn rounds(
    kind: Kind,
    is_on_disk: bool,
    rounds: usize,
    seed: u64,
    plant: Option<Plant>,
) -> Result<Tally, String> {
    let found = |round: usize| move |fault: String| format!("{kind:?}, seed {seed}, round {round}: {fault}");
    let (children, in_a_row) = match kind {
        Kind::TwoProcesses => (2, 1),
        Kind::ThreeInARow => (1, 3),
        _ => (1, 1),
    };
    match kind {
        Kind::OneProcess | Kind::TwoProcesses | Kind::ThreeInARow => {
            let mut kills = Kills::new(place(is_on_disk), seed);
            kills.plant = plant;
            for round in 0..rounds {
                kills.round(children, in_a_row).map_err(found(round))?;
            }
            kills.end().map_err(found(rounds))
        }
        Kind::FirstOpen => {
            let (mut dice, mut tally) = (Dice(seed), Tally::default());
            for round in 0..rounds {
                first_open(place(is_on_disk), &mut dice, &mut tally).map_err(found(round))?;
            }
            Ok(tally)
        }
        Kind::MakingTheVault => {
            let made = Store::in_memory();
            made.ok(&["init"]);
            let layout = made.git(&["ls-files"]);
            let (mut dice, mut tally) = (Dice(seed), Tally::default());
            for round in 0..rounds {
                making_the_vault(&place(is_on_disk), &layout, &mut dice).map_err(found(round))?;
                tally.rounds += 1;
                tally.kills += 1;
            }
            Ok(tally)
        }
    }
}

/// Kills the process that makes the home, at a moment between its start and its first memories.
fn first_open(mut store: Store, dice: &mut Dice, tally: &mut Tally) -> Result<(), String> {
    (store.seed, store.replica) = (None, None);
    let mut command = store.actor("killed::child");
    let own = dice.below(1 << 30);
    command.env("CHILD", "0").env("CHILDREN", "1").env("DICE", own.to_string());
    let aim = (dice.below(4) > 0).then_some("open");
    let said = watch_and_kill(command.spawn().unwrap(), Dice(own as u64), aim)?;
    tally.rounds += 1;
    tally.count(&said);
    let mut model = Model::new();
    for line in &said {
        hear(&mut model, line);
    }
    let engine = store.engine();
    let later = engine.save("A later thought");
    for (id, expected) in &model {
        let text = engine.find(id).map(|memory| memory.memory.text);
        if !expected.may_be_gone && !text.as_ref().is_some_and(|text| expected.texts.contains(text)) {
            return Err(format!("{id} says {text:?}: {expected:?}"));
        }
    }
    let machines = fs::read_to_string(store.home().join("replica")).unwrap();
    if machines.lines().count() != 1 || store.journals().len() != 1 || store.engine().find(&later).is_none() {
        return Err(format!("machines:\n{machines}\njournals: {:?}", store.journals().keys()));
    }
    check_lines(&store, true)
}

/// Kills the first promotion; the next one and a tidying complete the vault.
fn making_the_vault(store: &Store, layout: &str, dice: &mut Dice) -> Result<(), String> {
    let id = store.engine().save("Keeps the spare key under the blue pot");
    let mut child = store.start(&["promote", &id]);
    thread::sleep(Duration::from_micros(dice.below(60_000) as u64));
    child.kill().unwrap();
    child.wait().unwrap();
    store.engine().promote(&ebbmark::engine::PromoteRequest { ids: vec![id], ..Default::default() }).unwrap();
    store.engine().clean();
    // A kill inside libgit2 may leave the empty file by which it tries out the file system.
    let status = store.git(&["status", "--porcelain"]);
    let left: Vec<&str> = status.lines().filter(|line| !line.starts_with("?? _git2_")).collect();
    let tracked = store.git(&["ls-files"]);
    let missing: Vec<&str> = layout.lines().filter(|file| !tracked.lines().any(|other| other == *file)).collect();
    if !left.is_empty() || !missing.is_empty() || store.notes().len() != 1 {
        return Err(format!("not clean: {left:?}, not committed: {missing:?}, notes: {:?}", store.notes()));
    }
    Ok(())
}
