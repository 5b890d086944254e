//! Processes that do everything are killed at random moments; what they acknowledged must be there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::time::Duration;
use std::{fs, thread};

use ebbmark::engine::{
    Engine, ForgetRequest, OpenRequest, Opened, RecallRequest, ReinforceRequest, RestoreRequest, ReviseRequest,
};

use crate::support::{Calls, Dice, Store};

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

/// Takes over one line of a child: `?` is what it is about to do, `!` what it has done.
fn hear(model: &mut Model, line: &str) {
    let mut parts = line.splitn(4, ' ');
    let (Some(mark @ ("?" | "!")), Some(what), Some(id), Some(text)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
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

/// One random thing. Touches only memories that are this child's, so that two children never contradict each other.
fn act(store: &Store, engine: &Engine, dice: &mut Dice, is_mine: impl Fn(&str) -> bool, gone: &mut Vec<String>) {
    let listing = RecallRequest { limit: Some(50), reinforce: Some(false), ..RecallRequest::default() };
    let ids: Vec<String> = engine.recall(&listing).unwrap().hits.into_iter().map(|hit| hit.id).collect();
    let ids: Vec<&String> = ids.iter().filter(|id| is_mine(id)).collect();
    let chance = dice.below(100);
    let text = format!("Crate {} holds {} apples", dice.below(1 << 40), dice.below(1 << 20));
    if chance < 30 || ids.len() < 3 {
        let id = engine.save(&text);
        return say("! remember", &id, &text);
    }
    let id = ids[dice.below(ids.len())].as_str();
    let Some(memory) = engine.find(id) else { return };
    match chance {
        30..40 => {
            engine.recall(&RecallRequest::of(&memory.memory.text)).unwrap();
            engine.flush_uses().unwrap();
        }
        40..50 => {
            let request = ReinforceRequest { ids: vec![id.into()], boost: Some(true), ..ReinforceRequest::default() };
            engine.reinforce(&request).unwrap();
        }
        50..62 if memory.memory.note.is_none() => {
            engine.keep(id);
        }
        50..70 => {
            say("? forget", id, "-");
            engine.forget(&ForgetRequest { ids: vec![id.into()] }).unwrap();
            say("! forget", id, "-");
            gone.push(id.to_owned());
        }
        70..76 if !gone.is_empty() => {
            let id = gone.swap_remove(dice.below(gone.len()));
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
        84..96 => drop(engine.clean()),
        // Another process may compact at the same time: then one of them does not.
        _ => drop(engine.compact(false)),
    }
}

#[test]
fn child() {
    let Some(store) = Store::of_actor() else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (mine, of, mut dice) = (number("CHILD"), number("CHILDREN"), Dice(number("DICE") as u64));
    let is_mine = |id: &str| usize::from(id.as_bytes()[id.len() - 1]) % of == mine;
    let engine = store.engine();
    let mut gone = Vec::new();
    // Ends whatever the test harness has begun to print.
    std::io::stdout().write_all(b"\n").unwrap();
    loop {
        act(&store, &engine, &mut dice, is_mine, &mut gone);
    }
}

/// Waits for some acknowledgements, then a little longer, and kills. What the child said till then is heard.
fn watch_and_kill(mut child: Child, mut dice: Dice) -> Vec<String> {
    let mut said = Vec::new();
    let mut acknowledged = 0;
    let patience = dice.below(8);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    while acknowledged < patience {
        let Some(line) = lines.next() else {
            let run: crate::support::Run = child.wait_with_output().unwrap().into();
            panic!("the child ended by itself: {run}");
        };
        acknowledged += usize::from(line.starts_with("! "));
        said.push(line);
    }
    // The moment is meant to be random.
    thread::sleep(Duration::from_micros(dice.below(40_000) as u64));
    child.kill().unwrap();
    said.extend(lines);
    child.wait().unwrap();
    said
}

/// Compares all that was said with what is there, and takes what is there as known from now on.
fn check_memories(engine: &Engine, model: &mut Model, round: usize) {
    let ids: Vec<String> = model.keys().cloned().collect();
    let mut there: BTreeMap<String, Opened> = BTreeMap::new();
    for ids in ids.chunks(100) {
        let request = OpenRequest { ids: ids.to_vec(), history: None, relations: None };
        let opened = engine.open_memories(&request).unwrap().memories;
        there.extend(opened.into_iter().map(|memory| (memory.memory.id.clone(), memory)));
    }
    for (id, expected) in model {
        match there.get(id) {
            None => assert!(expected.may_be_gone, "round {round}: {id} is gone: {expected:?}"),
            Some(memory) => {
                assert!(expected.may_be_there, "round {round}: {id} is back: {expected:?}");
                let text = &memory.memory.text;
                let is_known = expected.may_say_anything || expected.texts.contains(text);
                assert!(is_known, "round {round}: {id} says `{text}`: {expected:?}");
                expected.texts = vec![text.clone()];
                expected.may_say_anything = false;
            }
        }
        expected.may_be_there = there.contains_key(id);
        expected.may_be_gone = !expected.may_be_there;
    }
}

/// Every note is whole and belongs to the memory that it names; every promoted memory has its note.
fn check_notes(store: &Store, engine: &Engine, round: usize) {
    let mut with_note = 0;
    for name in store.notes() {
        let note = store.note(&name);
        let parts = note.strip_prefix("---\nid: ").and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) = parts.unwrap_or_else(|| panic!("round {round}: {name} is not a whole note:\n{note}"));
        let memory = engine.whole(front.lines().next().unwrap());
        assert_eq!(memory.memory.note, Some(format!("Memories/{name}.md")), "round {round}");
        assert_eq!(body.trim(), memory.memory.text, "round {round}: {name}");
        with_note += 1;
    }
    assert_eq!(with_note, engine.counts().promoted, "round {round}: notes and promoted memories");
}

/// What git says that should not be there after a tidying. The person then clears it up.
fn git_trouble(store: &Store) -> Option<String> {
    let status = store.git(&["status", "--porcelain"]);
    let locks = ["index.lock", "HEAD.lock", "refs/heads/main.lock"].map(|name| store.vault().join(".git").join(name));
    let locks: Vec<_> = locks.into_iter().filter(|lock| lock.exists()).collect();
    if status.is_empty() && locks.is_empty() {
        return None;
    }
    for lock in &locks {
        fs::remove_file(lock).unwrap();
    }
    store.git(&["add", "-A"]);
    store.git(&["commit", "--allow-empty", "-qm", "Clear up"]);
    Some(format!("{status} {locks:?}"))
}

fn kill_rounds(children: usize, rounds: usize, seed: u64) {
    let mut store = Store::new();
    store.seed = None;
    // Being killed while the vault is made is a test of its own.
    store.ok(&["init"]);
    let mut dice = Dice(seed);
    let (mut model, mut trouble) = (Model::new(), Vec::new());
    for round in 0..rounds {
        store.pass_hours(9);
        let said: Vec<Vec<String>> = thread::scope(|scope| {
            let watchers: Vec<_> = (0..children)
                .map(|child| {
                    let own = dice.below(1 << 30);
                    let mut command = store.actor("killed::child");
                    command.env("CHILD", child.to_string()).env("CHILDREN", children.to_string());
                    let process = command.env("DICE", own.to_string()).spawn().unwrap();
                    scope.spawn(move || watch_and_kill(process, Dice(own as u64 + 1)))
                })
                .collect();
            watchers.into_iter().map(|watcher| watcher.join().unwrap()).collect()
        });
        for line in said.iter().flatten() {
            hear(&mut model, line);
        }
        store.ok(&["tidy"]);
        let engine = store.engine();
        check_memories(&engine, &mut model, round);
        check_notes(&store, &engine, round);
        trouble.extend(git_trouble(&store).map(|what| format!("round {round}: {what}")));
    }
    let promoted = store.engine().counts().promoted;
    assert!(model.len() > rounds && promoted > 0, "{} memories, {promoted} promoted: too little happened", model.len());
    store.git(&["fsck", "--strict", "--no-dangling"]);
    assert!(
        trouble.is_empty(),
        "every memory was kept; git was not left clean by one tidying:\n{}",
        trouble.join("\n")
    );
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    kill_rounds(1, 50, 1);
}

#[test]
fn what_two_killed_processes_acknowledged_is_there() {
    kill_rounds(2, 25, 2);
}

#[test]
fn a_vault_whose_making_was_killed_is_completed_and_committed() {
    let made = Store::new();
    made.ok(&["init"]);
    let all = made.git(&["ls-files"]);
    let mut dice = Dice(3);
    for round in 0..20 {
        let store = Store::new();
        let id = store.engine().save("Keeps the spare key under the blue pot");
        let mut child = store.start(&["promote", &id]);
        thread::sleep(Duration::from_micros(dice.below(60_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        store.ok(&["promote", &id]);
        store.ok(&["tidy"]);
        // A kill inside libgit2 may leave the empty file by which it tries out the file system.
        let status = store.git(&["status", "--porcelain"]);
        let left: Vec<&str> = status.lines().filter(|line| !line.starts_with("?? _git2_")).collect();
        assert!(left.is_empty(), "round {round}: {left:?}");
        let tracked = store.git(&["ls-files"]);
        let missing: Vec<&str> = all.lines().filter(|file| !tracked.lines().any(|other| other == *file)).collect();
        assert!(missing.is_empty(), "round {round}: {missing:?}");
        assert_eq!(store.notes().len(), 1, "round {round}");
    }
}
