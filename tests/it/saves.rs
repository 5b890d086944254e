//! Twelve ways in which a person's programs save a note, and a second writer beside us. For the tests, and for
//! `examples/saves.rs`, which measures them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use ebbmark::clock::HOUR_MS;
use ebbmark::engine::{Engine, ReinforceRequest};
use ebbmark::files::Patience;

use crate::support::{Calls, Store};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// A way to save, and what it does.
type Way = (&'static str, fn(&Store, &mut Page));

/// All of them.
pub(crate) const WAYS: [Way; 12] = [
    ("inplace", in_place),
    ("truncate", truncate),
    ("rename", rename_over),
    ("vim", like_vim),
    ("sed", sed),
    ("append", append),
    ("checkout", git_checkout),
    ("subfolder", into_a_subfolder),
    ("folder", folder_renamed),
    ("copy", copied_over),
    ("crlf", with_crlf),
    ("touch", only_touched),
];

/// A note, and what a person knows of it.
pub(crate) struct Page {
    pub(crate) name: &'static str,
    pub(crate) id: String,
    /// From the vault's root.
    pub(crate) path: String,
    /// What must be recalled.
    pub(crate) text: String,
    /// A word that only the newest version has.
    pub(crate) mark: String,
    round: usize,
    /// Commits with the two versions that `checkout` goes back and forth between.
    versions: Vec<(String, String)>,
}

impl Page {
    /// A promoted memory for this way of saving.
    pub(crate) fn promoted(store: &Store, name: &'static str) -> Page {
        let (mark, text) = words(name, 0);
        let engine = store.engine();
        let id = engine.save(&text);
        let path = engine.keep(&id);
        let mut page = Page { name, id, path, text, mark, round: 0, versions: Vec::new() };
        match name {
            // Two versions in the history, the second one made by another process of ours.
            "checkout" => {
                page.versions.push((store.git(&["rev-parse", "HEAD"]), page.mark.clone()));
                truncate(store, &mut page);
                engine.read_back().unwrap();
                page.versions.push((store.git(&["rev-parse", "HEAD"]), page.mark.clone()));
            }
            "folder" => {
                page.move_to(store, "Memories/lamps 0/The lamp.md");
                engine.read_back().unwrap();
            }
            _ => {}
        }
        page
    }

    /// Where it lies.
    pub(crate) fn full(&self, store: &Store) -> PathBuf {
        store.vault().join(&self.path)
    }

    /// Whether one memory is found by what it says now, and it is this one.
    pub(crate) fn is_recalled(&self, engine: &Engine) -> bool {
        // What is only written like the mark, or means something like it, may be among the hits.
        let is_marked = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == self.mark);
        let hits: Vec<_> = engine.hits(&self.mark).into_iter().filter(|hit| is_marked(&hit.text)).collect();
        let [hit] = hits.as_slice() else { return false };
        (&hit.id, &hit.text, hit.note.as_ref()) == (&self.id, &self.text, Some(&self.path))
    }

    fn move_to(&mut self, store: &Store, path: &str) {
        let new = store.vault().join(path);
        fs::create_dir_all(new.parent().unwrap()).unwrap();
        fs::rename(self.full(store), new).unwrap();
        path.clone_into(&mut self.path);
    }

    /// The next version of the file; the page takes over what it says.
    fn next_version(&mut self, store: &Store) -> String {
        let old = fs::read_to_string(self.full(store)).unwrap();
        self.round += 1;
        let (mark, text) = words(self.name, self.round);
        let new = old.replace(&self.text, &text);
        assert_ne!(new, old, "{}: `{}` is not in\n{old}", self.name, self.text);
        (self.mark, self.text) = (mark, text);
        new
    }
}

fn words(name: &str, round: usize) -> (String, String) {
    let mark = format!("{name}mark{round}");
    (mark.clone(), format!("The {mark} lamp stands in the hall"))
}

/// Over the old bytes, without emptying the file first.
fn in_place(store: &Store, page: &mut Page) {
    let new = page.next_version(store);
    let mut file = OpenOptions::new().write(true).open(page.full(store)).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(new.as_bytes()).unwrap();
    file.set_len(new.len() as u64).unwrap();
}

/// As Obsidian and most editors do.
fn truncate(store: &Store, page: &mut Page) {
    let new = page.next_version(store);
    fs::write(page.full(store), new).unwrap();
}

fn rename_over(store: &Store, page: &mut Page) {
    let new = page.next_version(store);
    let temporary = store.vault().join("Memories/lamp.md.tmp");
    fs::write(&temporary, new).unwrap();
    fs::rename(temporary, page.full(store)).unwrap();
}

/// A file to try whether the folder can be written, the old note moved aside, a new one in its place.
fn like_vim(store: &Store, page: &mut Page) {
    let new = page.next_version(store);
    let path = page.full(store);
    let (tried, aside) = (store.vault().join("Memories/4913"), path.with_extension("md~"));
    fs::write(&tried, "").unwrap();
    fs::remove_file(tried).unwrap();
    fs::rename(&path, &aside).unwrap();
    fs::write(&path, new).unwrap();
    fs::remove_file(aside).unwrap();
}

fn sed(store: &Store, page: &mut Page) {
    let (old, path) = (page.text.clone(), page.full(store));
    page.next_version(store);
    store.shell(&format!("sed -i.bak 's/{old}/{}/' '{}'", page.text, path.display())).exits(0);
    fs::remove_file(path.with_extension("md.bak")).unwrap();
}

fn append(store: &Store, page: &mut Page) {
    page.round += 1;
    let (mark, text) = words(page.name, page.round);
    let mut file = OpenOptions::new().append(true).open(page.full(store)).unwrap();
    writeln!(file, "{text}").unwrap();
    page.text = format!("{}\n{text}", page.text);
    page.mark = mark;
}

fn git_checkout(store: &Store, page: &mut Page) {
    let (commit, mark) = page.versions[1 - page.round % 2].clone();
    let script = format!("git -C '{}' checkout --quiet {commit} -- '{}'", store.vault().display(), page.path);
    // We may be committing the save before; then git asks to try again.
    let patience = Patience::new(LONG);
    while store.shell(&script).code != 0 {
        assert!(patience.pause(), "{}", store.shell(&script));
    }
    page.round += 1;
    page.text = page.text.replace(&page.mark, &mark);
    page.mark = mark;
}

/// A folder that is not there yet, and the note in it in the next moment.
fn into_a_subfolder(store: &Store, page: &mut Page) {
    page.round += 1;
    let name = page.path.rsplit_once('/').unwrap().1.to_owned();
    page.move_to(store, &format!("Memories/shelf {}/deep/{name}", page.round));
}

fn folder_renamed(store: &Store, page: &mut Page) {
    let folder = |round: usize| format!("Memories/lamps {round}");
    fs::rename(store.vault().join(folder(page.round)), store.vault().join(folder(page.round + 1))).unwrap();
    page.round += 1;
    page.path = format!("{}/The lamp.md", folder(page.round));
}

fn copied_over(store: &Store, page: &mut Page) {
    let new = page.next_version(store);
    let elsewhere = store.root().join("lamp.txt");
    fs::write(&elsewhere, new).unwrap();
    fs::copy(elsewhere, page.full(store)).unwrap();
}

fn with_crlf(store: &Store, page: &mut Page) {
    let new = page.next_version(store).replace("\r\n", "\n").replace('\n', "\r\n");
    fs::write(page.full(store), new).unwrap();
}

/// Another time and another mode, and nothing else.
fn only_touched(store: &Store, page: &mut Page) {
    let path = page.full(store).display().to_string();
    store.shell(&format!("touch '{path}' && chmod 640 '{path}' && chmod 600 '{path}'")).exits(0);
}

/// The lines of a note that are not numbers which `tidy` keeps up to date.
pub(crate) fn without_numbers(note: &str) -> Vec<&str> {
    let numbers = ["status:", "uses:", "last_used:", "strength:", "half_life_days:"];
    note.split_inclusive('\n').filter(|line| !numbers.iter().any(|number| line.starts_with(number))).collect()
}

/// What came of rounds with two writers.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Times that we brought the numbers up to date.
    pub(crate) refreshed: usize,
    /// Edits that were in the note and then were not any more: round, and how the person had saved.
    pub(crate) lost: Vec<(usize, &'static str)>,
}

/// A person edits a note `rounds` times, each time at the moment when we update its numbers.
pub(crate) fn two_writers(store: &Store, rounds: usize) -> Written {
    let (engine, clock) = store.engine_with_moved_clock();
    let id = engine.save("The lamp stands in the hall");
    let path = store.vault().join(engine.keep(&id));
    let mut written = Written::default();
    let mut edits: BTreeMap<usize, &'static str> = BTreeMap::new();
    for round in 1..=rounds {
        clock.fetch_add(HOUR_MS, Ordering::SeqCst);
        engine.reinforce(&ReinforceRequest { ids: vec![id.clone()], ..ReinforceRequest::default() }).unwrap();
        let (start, spin) = (Barrier::new(2), AtomicI64::new(0));
        let how = thread::scope(|scope| {
            let person = scope.spawn(|| {
                start.wait();
                // Another moment of our update each round.
                for _ in 0..(round * 7919) % 5_000 * 40 {
                    spin.fetch_add(1, Ordering::Relaxed);
                }
                edit(&path, round)
            });
            start.wait();
            written.refreshed += engine.clean().refreshed.len();
            person.join().unwrap()
        });
        edits.insert(round, how);
        // What a save in the very moment left to be done is done by the next tidy.
        written.refreshed += engine.clean().refreshed.len();
        let note = fs::read_to_string(&path).unwrap();
        let lost: Vec<usize> = edits.keys().copied().filter(|edit| !note.contains(&format!("Edit {edit}."))).collect();
        written.lost.extend(lost.into_iter().filter_map(|edit| edits.remove_entry(&edit)));
    }
    let text = engine.whole(&id).memory.text;
    let lost: Vec<usize> = edits.keys().copied().filter(|edit| !text.contains(&format!("Edit {edit}."))).collect();
    written.lost.extend(lost.into_iter().filter_map(|edit| edits.remove_entry(&edit)));
    written
}

/// Reads the note and saves it with a further line, until nobody saved in between: an editor that sees another text on
/// disk than the one it opened loads it first. How it saved.
fn edit(path: &Path, round: usize) -> &'static str {
    let line = format!("Edit {round}.\n");
    let patience = Patience::new(LONG);
    let old = loop {
        // Between the two names of a file that is exchanged there always is one.
        let text = fs::read_to_string(path).unwrap();
        if text.ends_with('\n') {
            break text;
        }
        assert!(patience.pause(), "the note stays cut");
    };
    let new = format!("{old}{line}");
    match round % 3 {
        0 => {
            fs::write(path, new).unwrap();
            "truncate"
        }
        1 => {
            let temporary = path.with_extension("md.tmp");
            fs::write(&temporary, new).unwrap();
            fs::rename(temporary, path).unwrap();
            "rename"
        }
        _ => {
            OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
            "append"
        }
    }
}
