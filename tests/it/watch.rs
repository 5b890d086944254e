//! The vault is followed: an edit is recalled as soon as it is saved, however it was saved, and nothing else happens.
//!
//! The processes here have a clock that stands still. So the vault is looked at once when they begin, and after that
//! only where something was told of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use ebbmark::clock::HOUR_MS;
use ebbmark::engine::{Engine, OpenRequest, ReinforceRequest};
use ebbmark::files::Patience;
use ebbmark::watch::Keeper;
use serde_json::{Value, json};

use crate::saves::{Page, WAYS, two_writers, without_numbers};
use crate::support::{Calls, Store, holds, lines_of};
use crate::wire::Place;

/// Longer than anything here takes; a test that waits this long has failed.
const LONG: Duration = Duration::from_secs(30);

/// Waits until something is so.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Patience::new(LONG);
    while !is_so() {
        assert!(patience.pause(), "never came: {what}");
    }
}

/// A running `ebbmark watch`.
struct Watcher {
    child: Child,
    lines: Receiver<String>,
    complaints: Receiver<String>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Watcher {
    /// One that has looked at the vault once, and watches it.
    fn on(store: &Store) -> Watcher {
        let watcher = Watcher::start(store.command(&["watch", "--json"]));
        watcher.says("watching ");
        watcher
    }

    fn start(mut command: Command) -> Watcher {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (said, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || stdout.lines().map_while(Result::ok).all(|line| said.send(line).is_ok()));
        let (complained, complaints) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || stderr.lines().map_while(Result::ok).all(|line| complained.send(line).is_ok()));
        Watcher { child, lines, complaints }
    }

    /// Waits for a word on standard error.
    #[track_caller]
    fn says(&self, part: &str) -> String {
        loop {
            let line = self.complaints.recv_timeout(LONG).unwrap_or_else(|_| panic!("it never says `{part}`"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The next line that it prints.
    #[track_caller]
    fn line(&self) -> Value {
        let line = self.lines.recv_timeout(LONG).expect("it prints a line");
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("not JSON ({why}): {line}"))
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks it to end; how it did, and what it still had to say.
    fn finish(mut self, signal: &str) -> (ExitStatus, Vec<String>) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        (status, self.complaints.iter().collect())
    }
}

/// Everything that is told before this call was dealt with: an edit that comes after it is known.
#[track_caller]
fn settle(store: &Store, engine: &Engine, sentinel: &mut Page) {
    WAYS[1].1(store, sentinel);
    until("the sentinel is recalled", || sentinel.is_recalled(engine));
    until("it is committed", || store.git(&["status", "--porcelain", "--", &sentinel.path]).is_empty());
}

fn lines(store: &Store) -> usize {
    store.journals().values().map(|bytes| lines_of(bytes).len()).sum()
}

fn commits(store: &Store) -> usize {
    store.git(&["rev-list", "--count", "HEAD"]).parse().unwrap()
}

/// B28: editors save in many ways. (How soon an edit is recalled, `examples/saves.rs` measures.)
#[test]
fn b28_every_way_to_save_is_recalled_once_and_nothing_is_rewritten() {
    let mut store = Store::new();
    let mut pages: Vec<Page> = WAYS.iter().map(|(name, _)| Page::promoted(&store, name)).collect();
    let mut sentinel = Page::promoted(&store, "sentinel");
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    for ((name, save), page) in WAYS.iter().zip(&mut pages) {
        let before = page.mark.clone();
        for time in 1..=2 {
            settle(&store, &engine, &mut sentinel);
            let lines_before = lines(&store);
            let commits_before = commits(&store);
            save(&store, page);
            let saved = fs::read(page.full(&store)).unwrap();
            until(&format!("{name}, time {time}, is recalled"), || page.is_recalled(&engine));
            settle(&store, &engine, &mut sentinel);
            assert_eq!(fs::read(page.full(&store)).unwrap(), saved, "{name}: the note was rewritten");
            // One line and one commit for the edit and for the sentinel each.
            let expected = if *name == "touch" { 1 } else { 2 };
            let added = lines(&store) - lines_before;
            // A checkout also stages the note; what a person has staged they commit.
            let expected_commits = if *name == "checkout" { 1 } else { expected };
            let committed = commits(&store) - commits_before;
            assert_eq!((added, committed), (expected, expected_commits), "{name}, time {time}");
            let status = store.git(&["status", "--porcelain", "--", "Memories"]);
            assert!(status.is_empty() || (*name == "checkout" && status.starts_with("M ")), "{name}: {status}");
        }
        if !["append", "checkout", "touch", "subfolder", "folder"].contains(name) {
            let old = engine.texts(&before).into_iter().filter(|text| text.contains(&before));
            assert_eq!(old.collect::<Vec<_>>(), Vec::<String>::new(), "{name}: the old words are found");
        }
    }
    drop(watcher);
    // What we announce we do: numbers, and only they.
    let written: Vec<String> = pages.iter().map(|page| fs::read_to_string(page.full(&store)).unwrap()).collect();
    store.pass_days(1);
    let engine = store.engine();
    let ids = pages.iter().map(|page| page.id.clone()).collect();
    engine.reinforce(&ReinforceRequest { ids, ..ReinforceRequest::default() }).unwrap();
    assert_eq!(engine.clean().refreshed.len(), WAYS.len());
    for (page, written) in pages.iter().zip(&written) {
        let now = fs::read_to_string(page.full(&store)).unwrap();
        assert_ne!(&now, written, "{}", page.name);
        assert_eq!(without_numbers(&now), without_numbers(written), "{}", page.name);
    }
}

#[test]
fn a_line_is_printed_for_each_batch_and_a_signal_ends_it() {
    for signal in ["TERM", "INT"] {
        let store = Store::new();
        let mut page = Page::promoted(&store, "truncate");
        let mut other = Page::promoted(&store, "rename");
        let watcher = Watcher::on(&store);
        WAYS[1].1(&store, &mut page);
        let line = watcher.line();
        assert_eq!(line["task"], "read_back");
        assert_eq!(line["outcome"], "notes read back: 1");
        assert_eq!(line["notes"], json!([page.path]));
        WAYS[2].1(&store, &mut other);
        assert_eq!(watcher.line()["notes"], json!([other.path]));
        let (status, complaints) = watcher.finish(signal);
        assert_eq!((status.code(), complaints), (Some(0), Vec::<String>::new()));
    }
    let store = Store::new();
    let mut page = Page::promoted(&store, "truncate");
    let watcher = Watcher::start(store.command(&["watch"]));
    watcher.says("watching ");
    WAYS[1].1(&store, &mut page);
    let line = watcher.lines.recv_timeout(LONG).unwrap();
    assert_eq!(line, format!("{} read_back: notes read back: 1 ({})", store.now, page.path));
}

#[test]
fn notes_in_folders_made_a_moment_before_are_read_and_followed() {
    let store = Store::new();
    let mut page = Page::promoted(&store, "truncate");
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    for round in 0..10 {
        // The folders, and at once the note in them: of the note itself the system tells nothing.
        let folder = format!("Memories/n{round}/n");
        let text = fs::read_to_string(page.full(&store)).unwrap();
        let (old, path) = (page.full(&store), format!("{folder}/deep.md"));
        fs::create_dir_all(store.vault().join(&folder)).unwrap();
        fs::write(store.vault().join(&path), text).unwrap();
        fs::remove_file(old).unwrap();
        page.path = path;
        until("the note is found in its new folder", || page.is_recalled(&engine));
        WAYS[1].1(&store, &mut page);
        until("it is followed there", || page.is_recalled(&engine));
    }
    drop(watcher);
}

/// B29: bursts. What is remembered afterwards is what is there.
#[test]
fn b29_bursts_of_notes_and_folders_are_all_read() {
    let store = Store::in_memory();
    store.ok(&["init"]);
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    // They were written before the clock of these processes stood still.
    let written = std::time::UNIX_EPOCH + Duration::from_millis(store.now.millis() as u64) - Duration::from_secs(60);
    let put = |path: String| {
        let path = store.vault().join("Memories").join(path);
        fs::write(&path, format!("A jar on {}\n", path.file_stem().unwrap().display())).unwrap();
        fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
    };
    let known = || -> Vec<String> {
        let mut paths: Vec<String> = engine.hits("jar").into_iter().filter_map(|hit| hit.note).collect();
        paths.sort();
        paths
    };
    for n in 0..30 {
        put(format!("burst-{n}.md"));
    }
    until("thirty notes are remembered", || known().len() == 30);
    // Folders within folders, and at once the notes in the deepest.
    let deep = "a/b/c/d/e";
    fs::create_dir_all(store.vault().join("Memories").join(deep)).unwrap();
    for n in 0..10 {
        put(format!("{deep}/deep-{n}.md"));
    }
    until("those in new folders too", || known().len() == 40);
    // A thousand at once, while nobody listens, in a folder that then gets another name.
    watcher.signal("STOP");
    fs::create_dir(store.vault().join("Memories/many")).unwrap();
    for n in 0..1_000 {
        put(format!("many/many-{n}.md"));
    }
    fs::rename(store.vault().join("Memories/many"), store.vault().join("Memories/renamed")).unwrap();
    watcher.signal("CONT");
    until("a thousand are remembered", || engine.counts().active == 1_040);
    fs::rename(store.vault().join("Memories/renamed"), store.vault().join("Memories/a/moved")).unwrap();
    let on_disk: Vec<String> = {
        let files = crate::support::files_below(&store.vault()).into_keys();
        let notes = files.filter(|path| path.starts_with("Memories")).map(|path| path.to_str().unwrap().to_owned());
        notes.collect()
    };
    let listed = || -> Vec<String> {
        let ids: Vec<String> = engine.list_notes().unwrap().notes.into_iter().filter_map(|note| note.id).collect();
        let opened = ids.chunks(100).flat_map(|ids| {
            let request = OpenRequest { ids: ids.to_vec(), history: None, relations: Some(false) };
            engine.open_memories(&request).unwrap().memories
        });
        let mut paths: Vec<String> = opened.filter_map(|opened| opened.memory.note).collect();
        paths.sort();
        paths
    };
    until("all are followed to where they are", || listed() == on_disk);
    assert_eq!(engine.counts().active, 1_040);
    drop(watcher);
}

#[test]
fn folders_that_are_moved_away_and_back_are_followed() {
    let store = Store::new();
    let mut page = Page::promoted(&store, "folder");
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    // Renamed, then edited under its new name.
    WAYS[8].1(&store, &mut page);
    until("the folder's new name is known", || page.is_recalled(&engine));
    WAYS[1].1(&store, &mut page);
    until("an edit in it is recalled", || page.is_recalled(&engine));
    // Moved out of the vault, edited there, moved back under a name like a note's.
    let (inside, outside) = (store.vault().join("Memories/lamps 2"), store.root().join("lamps"));
    fs::rename(page.full(&store).parent().unwrap(), &outside).unwrap();
    let text = fs::read_to_string(outside.join("The lamp.md")).unwrap();
    fs::write(outside.join("The lamp.md"), text.replace("hall", "attic")).unwrap();
    fs::rename(&outside, &inside).unwrap();
    page.path = "Memories/lamps 2/The lamp.md".into();
    page.text = page.text.replace("hall", "attic");
    until("what was edited outside is recalled", || page.is_recalled(&engine));
    let named = store.vault().join("Memories/lamps.md");
    fs::rename(inside, named).unwrap();
    page.path = "Memories/lamps.md/The lamp.md".into();
    until("a folder with the name of a note is a folder", || page.is_recalled(&engine));
    WAYS[0].1(&store, &mut page);
    until("it is followed", || page.is_recalled(&engine));
    drop(watcher);
}

#[test]
fn a_note_that_is_empty_in_the_middle_of_a_save_loses_nothing() {
    let store = Store::new();
    let mut page = Page::promoted(&store, "truncate");
    let mut sentinel = Page::promoted(&store, "rename");
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    let path = page.full(&store);
    let (whole, text) = (fs::read_to_string(&path).unwrap(), page.text.clone());
    for cut in [0, whole.find(&text).unwrap()] {
        // The file is cut, and the look at the vault falls in between.
        fs::write(&path, &whole[..cut]).unwrap();
        settle(&store, &engine, &mut sentinel);
        assert!(page.is_recalled(&engine), "cut at {cut}");
        let next = whole.replace("hall", &format!("cellar {cut}"));
        fs::write(&path, &next).unwrap();
        page.text = text.replace("hall", &format!("cellar {cut}"));
        until("the end of the save is recalled", || page.is_recalled(&engine));
        assert_eq!(fs::read_to_string(&path).unwrap(), next);
    }
    drop(watcher);
}

#[test]
fn saves_within_one_tick_of_the_clock_are_told_apart() {
    let store = Store::new();
    let mut page = Page::promoted(&store, "truncate");
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    let path = page.full(&store);
    for round in 0..3 {
        let times = fs::metadata(&path).unwrap().modified().unwrap();
        // As many bytes, and the same time: size and time say that nothing happened.
        let word = ["loft", "yard", "shed"][round];
        let note = fs::read_to_string(&path).unwrap();
        let old = page.text.rsplit(' ').next().unwrap().to_owned();
        let file = fs::File::options().write(true).truncate(true).open(&path).unwrap();
        std::io::Write::write_all(&mut &file, note.replace(&old, word).as_bytes()).unwrap();
        file.set_modified(times).unwrap();
        drop(file);
        page.text = page.text.replace(&old, word);
        until("an edit of the same size and time is recalled", || page.is_recalled(&engine));
    }
    drop(watcher);
}

#[test]
fn a_vault_made_later_is_watched_and_one_that_comes_back_too() {
    let store = Store::new();
    store.ok(&["remember", "Owns a red bicycle"]);
    let watcher = Watcher::start(store.command(&["watch", "--json"]));
    watcher.says("nothing to watch yet");
    let mut page = Page::promoted(&store, "truncate");
    let engine = store.engine();
    watcher.says("watching ");
    WAYS[1].1(&store, &mut page);
    until("a vault made later is watched", || page.is_recalled(&engine));

    // As a disk that is taken away, with its folder left behind or without; what others did to it meanwhile is found.
    let away = store.root().join("away");
    for leaves_a_folder in [false, true] {
        fs::rename(store.vault(), &away).unwrap();
        if leaves_a_folder {
            fs::create_dir(store.vault()).unwrap();
        } else {
            watcher.says("nothing to watch yet");
        }
        let note = fs::read_to_string(away.join(&page.path)).unwrap();
        let from = page.text.rsplit(' ').next().unwrap().to_owned();
        let to = if leaves_a_folder { "cellar" } else { "attic" };
        fs::write(away.join(&page.path), note.replace(&from, to)).unwrap();
        page.text = page.text.replace(&from, to);
        if leaves_a_folder {
            fs::remove_dir(store.vault()).unwrap();
        }
        fs::rename(&away, store.vault()).unwrap();
        until("what happened meanwhile is recalled", || page.is_recalled(&engine));
        WAYS[2].1(&store, &mut page);
        until("it is watched again", || page.is_recalled(&engine));
    }

    // Only the folder of the notes goes and comes.
    let (memories, aside) = (store.vault().join("Memories"), store.vault().join("Aside"));
    fs::rename(&memories, &aside).unwrap();
    fs::rename(&aside, &memories).unwrap();
    WAYS[1].1(&store, &mut page);
    until("the folder of the notes is watched again", || page.is_recalled(&engine));
    drop(watcher);
}

#[test]
fn own_notes_that_are_recalled_are_followed_too() {
    let store = Store::new();
    let folder = store.vault().join("Work/2026");
    fs::create_dir_all(&folder).unwrap();
    store.configure("[vault]\nindex = [\"Work/2026\"]\n");
    store.ok(&["init"]);
    let _watcher = Watcher::on(&store);
    let engine = store.engine();
    fs::write(folder.join("Plan.md"), "The harbour opens in May.\n").unwrap();
    until("a new note is recalled", || engine.texts("harbour") == ["The harbour opens in May."]);
    fs::write(folder.join("Plan.md"), "The harbour opens in June.\n").unwrap();
    until("an edit is recalled", || engine.texts("harbour June") == ["The harbour opens in June."]);
    let deeper = folder.join("Deeper");
    fs::create_dir(&deeper).unwrap();
    fs::write(deeper.join("New.md"), "The lighthouse is closed.\n").unwrap();
    let is_found = || engine.texts("lighthouse").iter().any(|text| text.contains("lighthouse"));
    until("a new folder is watched", is_found);
    fs::rename(&deeper, store.vault().join("Elsewhere")).unwrap();
    until("a folder that left is noticed", || !is_found());
}

#[test]
fn the_next_process_watches_when_the_first_one_ends() {
    let store = Store::new();
    let mut page = Page::promoted(&store, "truncate");
    let first = Watcher::on(&store);
    let second = Watcher::start(store.command(&["watch", "--json"]));
    let busy = second.says("another process does this already");
    assert!(busy.contains(&first.child.id().to_string()), "{busy}");
    let engine = store.engine();
    WAYS[1].1(&store, &mut page);
    until("the first one reads it back", || page.is_recalled(&engine));
    assert_eq!(first.line()["notes"], json!([page.path]));
    drop(first);
    second.says("watching ");
    WAYS[1].1(&store, &mut page);
    until("the second one reads it back", || page.is_recalled(&engine));
    assert_eq!(second.line()["notes"], json!([page.path]));
}

#[test]
fn a_server_watches_by_itself_unless_upkeep_is_off_and_watch_does_in_any_case() {
    let place = Place::new();
    let mut server = place.serve(&[]);
    let id = server.remember("Iris grows tomatoes");
    let (answer, _) = server.call("promote", json!({ "ids": [id] }));
    let note = place.vault().join(answer["promoted"][0]["note"].as_str().unwrap());
    let health = |server: &mut crate::wire::Server| {
        let (answer, _) = server.call("inspect", json!({ "view": "health" }));
        answer["health"]["upkeep"].as_array().and_then(|tasks| tasks.get(1)).cloned().unwrap_or_default()
    };
    let patience = Patience::new(LONG);
    while health(&mut server)["also"] != "whenever a note is saved" || health(&mut server)["last"].is_null() {
        assert!(patience.pause(), "it never watches: {}", health(&mut server));
    }
    let text = fs::read_to_string(&note).unwrap();
    fs::write(&note, text.replace("tomatoes", "artichokes")).unwrap();
    let patience = Patience::new(LONG);
    while server.call("recall", json!({ "query": "artichokes", "reinforce": false })).0["hits"]
        .as_array()
        .is_none_or(Vec::is_empty)
    {
        assert!(patience.pause(), "the edit is never recalled");
    }
    server.finish_quietly();

    let store = Store::new();
    store.configure("[server]\nupkeep = false\n");
    let mut page = Page::promoted(&store, "truncate");
    let watcher = Watcher::on(&store);
    WAYS[1].1(&store, &mut page);
    assert_eq!(watcher.line()["notes"], json!([page.path]));
}

#[test]
fn own_writes_are_no_edits() {
    let mut store = Store::new();
    let known = Page::promoted(&store, "truncate");
    let mut sentinel = Page::promoted(&store, "rename");
    let proved = store.engine().save("Rents a garage by the canal");
    for _ in 0..3 {
        store.pass_days(1);
        let ids = vec![known.id.clone(), proved.clone()];
        store.engine().reinforce(&ReinforceRequest { ids, ..ReinforceRequest::default() }).unwrap();
    }
    store.configure("[upkeep]\nindex = false\n");
    let (engine, clock) = store.engine_with_moved_clock();
    let engine = Arc::new(engine);
    let (sender, wakes) = channel();
    let mut keeper = Keeper::new(Arc::clone(&engine), move || sender.send(()).unwrap_or_default());
    let mut step = |what: &str| {
        let done = keeper.step().1.unwrap();
        done.map_or_else(|| format!("{what}: nothing was due"), |done| format!("{}: {}", done.task, done.outcome))
    };
    assert_eq!(step("the opening look"), "read_back: nothing had changed");
    // Upkeep itself promotes and refreshes; then the system tells of what it wrote.
    clock.fetch_add(HOUR_MS, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(step("tidy"), "tidy: 1 promoted, 1 refreshed");
    assert_eq!(store.notes().len(), 3);
    // So does a call of this process.
    let called = engine.save("Sells honey on Saturdays");
    engine.keep(&called);
    let (journals, count) = (store.journals(), commits(&store));
    wakes.recv_timeout(LONG).expect("the system tells of our own writes");
    assert_eq!(step("after the own writes"), "read_back: nothing had changed");
    assert_eq!((store.journals(), commits(&store)), (journals, count));
    // Whatever else is told before the next save means nothing either, or an earlier look has seen to it.
    WAYS[1].1(&store, &mut sentinel);
    loop {
        wakes.recv_timeout(LONG).expect("the system tells of a save");
        match step("the sentinel").as_str() {
            "read_back: notes read back: 1" => break,
            "read_back: nothing had changed" | "the sentinel: nothing was due" => {}
            other => panic!("{other}"),
        }
    }
    assert!(sentinel.is_recalled(&engine));
    assert_eq!(commits(&store), count + 1);
}

#[test]
fn the_person_chooses_how_the_vault_is_watched() {
    let store = Store::new();
    let mut page = Page::promoted(&store, "truncate");
    for (watch, also) in [
        ("poll", Some("every 2 seconds: [upkeep] watch = \"poll\"")),
        ("off", None),
        ("auto", Some("whenever a note is saved")),
    ] {
        store.configure(&format!("[upkeep]\nwatch = \"{watch}\"\n"));
        let (engine, clock) = store.engine_with_moved_clock();
        let engine = Arc::new(engine);
        let mut keeper = Keeper::new(Arc::clone(&engine), || {});
        let mut pass = |millis: i64| {
            clock.fetch_add(millis, std::sync::atomic::Ordering::SeqCst);
            keeper.step().1.unwrap();
        };
        pass(0);
        assert_eq!(engine.reads_back_also().as_deref(), also);
        WAYS[1].1(&store, &mut page);
        pass(1_900);
        if watch != "auto" {
            assert!(!page.is_recalled(&engine), "{watch}");
        }
        pass(200);
        if watch != "auto" {
            assert_eq!(page.is_recalled(&engine), watch == "poll");
        }
        pass(8_000);
        if watch != "auto" {
            assert!(page.is_recalled(&engine), "{watch}");
        }
        let patience = Patience::new(LONG);
        while !page.is_recalled(&engine) {
            pass(0);
            assert!(patience.pause(), "{watch}");
        }
    }
}

/// B29: more events than the system keeps for us: some are lost, and it says so.
#[cfg(target_os = "linux")]
#[test]
fn b29_after_lost_events_every_note_is_read_again() {
    let store = Store::in_memory();
    let mut page = Page::promoted(&store, "truncate");
    let watcher = Watcher::on(&store);
    let engine = store.engine();
    let kept: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    watcher.signal("STOP");
    let noise = store.vault().join("Memories/noise.txt");
    for _ in 0..kept {
        fs::write(&noise, "").unwrap();
        fs::remove_file(&noise).unwrap();
    }
    // The event of this save is lost, and size and time say that nothing happened.
    let path = page.full(&store);
    let times = fs::metadata(&path).unwrap().modified().unwrap();
    let note = fs::read_to_string(&path).unwrap();
    let file = fs::File::options().write(true).truncate(true).open(&path).unwrap();
    std::io::Write::write_all(&mut &file, note.replace("hall", "yard").as_bytes()).unwrap();
    file.set_modified(times).unwrap();
    drop(file);
    watcher.signal("CONT");
    page.text = page.text.replace("hall", "yard");
    until("the lost edit is recalled", || page.is_recalled(&engine));
    WAYS[1].1(&store, &mut page);
    until("it is watched as before", || page.is_recalled(&engine));
}

/// A system that lets nobody watch as many folders: only in a namespace of its own can that be had for a test.
#[cfg(target_os = "linux")]
#[test]
fn where_the_system_lets_no_folder_be_watched_the_notes_are_looked_at() {
    let store = Store::new();
    if store.shell("unshare -Ur true").code != 0 {
        return;
    }
    let mut page = Page::promoted(&store, "truncate");
    for folder in ["a", "b", "c"] {
        fs::create_dir(store.vault().join("Memories").join(folder)).unwrap();
    }
    let limited = "echo 2 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"";
    let whole = store.command(&["watch", "--json"]);
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", limited]).arg(whole.get_program()).args(whole.get_args());
    command.env_clear().envs(whole.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // Here time goes by.
    command.env_remove("EBBMARK_NOW").stdin(Stdio::null());
    let watcher = Watcher::start(command);
    let how = watcher.says("watching ");
    assert!(how.contains("every 2 seconds") && how.contains("fs.inotify.max_user_watches"), "{how}");
    WAYS[1].1(&store, &mut page);
    let engine = store.engine();
    until("it is recalled all the same", || page.is_recalled(&engine));
}

#[test]
fn a_person_who_edits_while_we_update_the_numbers_loses_nothing() {
    let store = Store::in_memory();
    let written = two_writers(&store, 60);
    assert_eq!(written.lost, []);
    assert!(written.refreshed >= 60, "the numbers were updated {} times only", written.refreshed);
    assert!(holds(&read(&store.vault().join("Memories"), "The lamp"), b"uses: 60"));
}

fn read(folder: &Path, beginning: &str) -> Vec<u8> {
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    fs::read(paths.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(beginning)).unwrap()).unwrap()
}
