//! What a power cut can leave, at every moment of a session: each state opens with all that was acknowledged.
//!
//! A session is noted down call by call. From the notes follows what may be on the disk when the power goes after any
//! of them: what was synced is there; of the rest any part may be, in blocks, and names may be there without their
//! content and content without its name. Each state is laid out anew and opened.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use ebbmark::engine::{Engine, OpenRequest, ReinforceRequest, ReviseRequest};
use ebbmark::files::rehearsal::{Call, noted, noted_so_far};

use crate::support::{Calls, Dice, Store, files_below};

/// Blocks that a disk writes whole, bytes.
const BLOCKS: [usize; 2] = [512, 4096];

/// What one operation of a session was about.
#[derive(Debug, Clone)]
struct Deed {
    what: &'static str,
    id: String,
    text: String,
    /// Calls noted when it was begun, and when it was acknowledged.
    begun: usize,
    done: usize,
}

/// A session as it was noted.
struct Tape {
    /// Files that were there before, durable.
    before: BTreeMap<PathBuf, Vec<u8>>,
    calls: Vec<Call>,
    deeds: Vec<Deed>,
}

/// Plays a session of random operations and notes its calls.
fn play(seed: u64, operations: usize) -> Tape {
    let mut store = Store::in_memory();
    store.configure("[git]\nmode = \"off\"\n");
    // Some lines and a note are there before.
    let engine = store.engine();
    let first = engine.save(&format!("Lantern {seed} hangs by the door"));
    engine.keep(&first);
    let root = store.root().to_owned();
    store.pass_hours(30);
    let engine = store.engine();
    let mut dice = Dice(seed);
    let before = image(&root);
    let (deeds, calls) = noted(|| {
        let mut known = vec![Deed { what: "remember", id: first, text: String::new(), begun: 0, done: 0 }];
        known[0].text = engine.whole(&known[0].id).memory.text;
        let mut deeds = known.clone();
        for place in 0..operations {
            let begun = noted_so_far();
            let (what, id, text) = act(&engine, &mut dice, &deeds, seed, place);
            deeds.push(Deed { what, id, text, begun, done: noted_so_far() });
        }
        deeds
    });
    let calls = calls.into_iter().map(|call| below(&root, call)).collect();
    Tape { before, calls, deeds }
}

/// One operation: what it was, of which memory, and the text that this has from then on.
fn act(engine: &Engine, dice: &mut Dice, deeds: &[Deed], seed: u64, place: usize) -> (&'static str, String, String) {
    let is_forgotten = |id: &str| {
        let last = deeds.iter().rev().find(|deed| deed.id == id && matches!(deed.what, "forget" | "restore"));
        last.is_some_and(|deed| deed.what == "forget")
    };
    let ids: BTreeSet<&String> = deeds.iter().filter(|deed| !deed.id.is_empty()).map(|deed| &deed.id).collect();
    let (gone, there): (Vec<&String>, Vec<&String>) = ids.into_iter().partition(|id| is_forgotten(id));
    let chance = dice.below(100);
    let text = format!("Barrel {seed}-{place} holds {} plums", dice.below(1 << 20));
    if there.len() < 2 || chance < 25 {
        return ("remember", engine.save(&text), text);
    }
    let id = there[dice.below(there.len())].clone();
    match chance {
        25..35 => {
            let request = ReinforceRequest { ids: vec![id.clone()], boost: Some(true), ..ReinforceRequest::default() };
            engine.reinforce(&request).unwrap();
            ("use", String::new(), String::new())
        }
        35..55 => {
            engine.change(ReviseRequest { id: id.clone(), text: Some(text.clone()), ..ReviseRequest::default() });
            ("revise", id, text)
        }
        55..67 if engine.whole(&id).memory.note.is_none() => {
            engine.keep(&id);
            ("promote", String::new(), String::new())
        }
        55..77 => {
            engine.drop_memory(&id);
            ("forget", id, String::new())
        }
        77..87 if !gone.is_empty() => {
            let id = gone[dice.below(gone.len())].clone();
            engine.bring_back(&id);
            ("restore", id, String::new())
        }
        77..94 => {
            engine.compact(false).unwrap();
            ("compact", String::new(), String::new())
        }
        _ => {
            engine.clean();
            ("tidy", String::new(), String::new())
        }
    }
}

/// Everything below a folder but what is derived or only a lock.
fn image(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = files_below(root);
    files.retain(|path, _| !path.starts_with("home/cache") && !path.to_string_lossy().ends_with("lock"));
    files
}

/// The call with its paths seen from the root.
fn below(root: &Path, call: Call) -> Call {
    let short = |path: PathBuf| path.strip_prefix(root).map(Path::to_owned).unwrap_or(path);
    match call {
        Call::MakeFolder(path) => Call::MakeFolder(short(path)),
        Call::Create(path) => Call::Create(short(path)),
        Call::Write { path, at, bytes } => Call::Write { path: short(path), at, bytes },
        Call::Cut(path, length) => Call::Cut(short(path), length),
        Call::Sync(path) => Call::Sync(short(path)),
        Call::SyncFolder(path) => Call::SyncFolder(short(path)),
        Call::Rename(from, to) => Call::Rename(short(from), short(to)),
        Call::Exchange(a, b) => Call::Exchange(short(a), short(b)),
        Call::Link(from, to) => Call::Link(short(from), short(to)),
        Call::Remove(path) => Call::Remove(short(path)),
        Call::Look(path) => Call::Look(short(path)),
    }
}

type Names = BTreeMap<PathBuf, usize>;
type Image = BTreeMap<PathBuf, Rc<Vec<u8>>>;

/// A change of names that is not durable yet.
#[derive(Debug, Clone)]
enum Naming {
    Give(PathBuf, usize),
    Move(PathBuf, PathBuf),
    Swap(PathBuf, PathBuf),
    Take(PathBuf),
}

impl Naming {
    fn apply(&self, names: &mut Names) {
        match self {
            Naming::Give(path, file) => drop(names.insert(path.clone(), *file)),
            Naming::Move(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Naming::Swap(a, b) => {
                if let (Some(first), Some(second)) = (names.get(a).copied(), names.get(b).copied()) {
                    names.insert(a.clone(), second);
                    names.insert(b.clone(), first);
                }
            }
            Naming::Take(path) => drop(names.remove(path)),
        }
    }

    fn folder(&self) -> &Path {
        let (Naming::Give(path, _) | Naming::Move(_, path) | Naming::Swap(_, path) | Naming::Take(path)) = self;
        path.parent().unwrap()
    }
}

/// The content of one file: what is durable, and what is now.
#[derive(Debug, Clone, Default)]
struct Content {
    durable: Rc<Vec<u8>>,
    live: Rc<Vec<u8>>,
}

/// The disk after some calls: what is durable, what is not yet.
#[derive(Debug, Clone, Default)]
struct Disk {
    durable_names: Names,
    names: Names,
    pending: Vec<Naming>,
    contents: Vec<Content>,
}

impl Disk {
    fn new(before: &BTreeMap<PathBuf, Vec<u8>>) -> Self {
        let mut disk = Disk::default();
        for (path, bytes) in before {
            let bytes = Rc::new(bytes.clone());
            disk.names.insert(path.clone(), disk.contents.len());
            disk.contents.push(Content { durable: Rc::clone(&bytes), live: bytes });
        }
        disk.durable_names.clone_from(&disk.names);
        disk
    }

    fn name(&mut self, naming: Naming) {
        naming.apply(&mut self.names);
        self.pending.push(naming);
    }

    fn take(&mut self, call: &Call) {
        match call {
            Call::Create(path) => {
                self.contents.push(Content::default());
                self.name(Naming::Give(path.clone(), self.contents.len() - 1));
            }
            Call::Write { path, at, bytes } => {
                let live = Rc::make_mut(&mut self.contents[self.names[path]].live);
                live.truncate(*at as usize);
                live.extend_from_slice(bytes);
            }
            Call::Cut(path, length) => {
                Rc::make_mut(&mut self.contents[self.names[path]].live).truncate(*length as usize);
            }
            Call::Sync(path) => {
                let content = &mut self.contents[self.names[path]];
                content.durable = Rc::clone(&content.live);
            }
            Call::SyncFolder(folder) => {
                let (now, later): (Vec<Naming>, Vec<Naming>) =
                    std::mem::take(&mut self.pending).into_iter().partition(|naming| naming.folder() == folder);
                for naming in now {
                    naming.apply(&mut self.durable_names);
                }
                self.pending = later;
            }
            Call::Rename(from, to) => self.name(Naming::Move(from.clone(), to.clone())),
            Call::Exchange(a, b) => self.name(Naming::Swap(a.clone(), b.clone())),
            Call::Link(from, to) => self.name(Naming::Give(to.clone(), self.names[from])),
            Call::Remove(path) => self.name(Naming::Take(path.clone())),
            // A folder that is missing takes its files with it: the states without their names show that.
            Call::MakeFolder(_) | Call::Look(_) => {}
        }
    }

    /// The files under these names, with what `content` makes of each.
    fn image(&self, names: &Names, content: impl Fn(usize, &Content) -> Rc<Vec<u8>>) -> Image {
        names.iter().map(|(path, file)| (path.clone(), content(*file, &self.contents[*file]))).collect()
    }

    /// The names where of the changes only those are durable that `is_there` says.
    fn names_with(&self, is_there: impl Fn(usize) -> bool) -> Names {
        let mut names = self.durable_names.clone();
        let there = self.pending.iter().enumerate().filter(|(place, _)| is_there(*place));
        there.for_each(|(_, naming)| naming.apply(&mut names));
        names
    }

    /// Calls `each` with everything that a power cut at this moment may leave.
    fn states(&self, dice: &mut Dice, each: &mut impl FnMut(Image)) {
        let live = |_: usize, content: &Content| Rc::clone(&content.live);
        let durable = |_: usize, content: &Content| Rc::clone(&content.durable);
        let zeros = |_: usize, content: &Content| torn(content, 512, |_| false);
        for names in [&self.names, &self.durable_names] {
            each(self.image(names, live));
            each(self.image(names, durable));
            each(self.image(names, zeros));
        }
        for count in 0..=self.pending.len() {
            each(self.image(&self.names_with(|place| place < count), live));
            each(self.image(&self.names_with(|place| place != count), live));
            each(self.image(&self.names_with(|place| place == count), durable));
        }
        let unsynced: Vec<usize> =
            (0..self.contents.len()).filter(|file| self.contents[*file].live != self.contents[*file].durable).collect();
        for &file in &unsynced {
            for block in BLOCKS {
                let blocks = self.contents[file].live.len().div_ceil(block);
                let first = self.contents[file].durable.len() / block;
                let subsets = 1usize << (blocks - first.min(blocks)).min(5);
                for subset in 0..subsets {
                    let is_there = |place: usize| place < first || subset >> ((place - first) % 5) & 1 == 1;
                    let content = |other: usize, content: &Content| {
                        if other == file { torn(content, block, is_there) } else { Rc::clone(&content.live) }
                    };
                    each(self.image(&self.names, content));
                }
            }
        }
        if !unsynced.is_empty() || !self.pending.is_empty() {
            for _ in 0..8 {
                let luck = dice.below(1 << 40) as u64;
                let is_lucky = |what: usize| Dice(luck + what as u64).below(2) == 0;
                let names = self.names_with(is_lucky);
                let content =
                    |file: usize, content: &Content| torn(content, 512, |place| is_lucky(file * 1000 + place));
                each(self.image(&names, content));
            }
        }
    }

    /// As the last call is a write: all that may be there of it, byte by byte.
    fn cuts(&self, path: &Path, length: usize, each: &mut impl FnMut(Image)) {
        let file = self.names[path];
        let whole = &self.contents[file].live;
        let before = whole.len() - length;
        for end in before..whole.len() {
            let cut = Rc::new(whole[..end].to_vec());
            let content = |other: usize, content: &Content| Rc::clone(if other == file { &cut } else { &content.live });
            each(self.image(&self.names, content));
        }
    }
}

/// The content with its new length, where of the blocks that changed only those were written that `is_there` says.
fn torn(content: &Content, block: usize, is_there: impl Fn(usize) -> bool) -> Rc<Vec<u8>> {
    if content.live == content.durable {
        return Rc::clone(&content.live);
    }
    let mut bytes = content.durable.to_vec();
    bytes.resize(content.live.len(), 0);
    for (place, new) in content.live.chunks(block).enumerate().filter(|(place, _)| is_there(*place)) {
        bytes[place * block..][..new.len()].copy_from_slice(new);
    }
    Rc::new(bytes)
}

/// What must be, and what may be, of one memory.
#[derive(Debug, Default)]
struct Expected {
    texts: Vec<String>,
    may_be_there: bool,
    may_be_gone: bool,
}

/// What holds of each memory after `moment` calls.
fn expected(deeds: &[Deed], moment: usize) -> BTreeMap<String, Expected> {
    let mut memories: BTreeMap<String, Expected> = BTreeMap::new();
    for deed in deeds.iter().filter(|deed| deed.begun <= moment && !deed.id.is_empty()) {
        let is_done = deed.done <= moment;
        let memory = memories.entry(deed.id.clone()).or_default();
        match deed.what {
            "forget" => (memory.may_be_gone, memory.may_be_there) = (true, !is_done),
            "restore" => (memory.may_be_there, memory.may_be_gone) = (true, !is_done),
            "remember" => {
                *memory = Expected { texts: vec![deed.text.clone()], may_be_there: true, may_be_gone: !is_done };
            }
            _ if is_done => memory.texts = vec![deed.text.clone()],
            _ => memory.texts.push(deed.text.clone()),
        }
    }
    memories
}

/// A place where states are laid out and looked at.
struct Bench {
    store: Store,
    looked: usize,
}

impl Bench {
    fn new() -> Self {
        let mut store = Store::in_memory();
        store.pass_hours(30);
        // Else it would give the ids that the session gave.
        store.seed = Some(8);
        Bench { store, looked: 0 }
    }

    fn lay_out(&self, image: &Image) {
        for folder in ["home", "vault"] {
            drop(fs::remove_dir_all(self.store.root().join(folder)));
        }
        let mut made: HashSet<PathBuf> = HashSet::new();
        let mut laid_out: Vec<(&Rc<Vec<u8>>, PathBuf)> = Vec::new();
        for (name, bytes) in image {
            let path = self.store.root().join(name);
            let folder = path.parent().unwrap();
            if made.insert(folder.to_owned()) {
                fs::create_dir_all(folder).unwrap();
            }
            // Two names of one file stay that.
            let twin = laid_out.iter().find(|(other, _)| name.starts_with("vault") && Rc::ptr_eq(other, bytes));
            if let Some((_, other)) = twin {
                fs::hard_link(other, path).unwrap();
            } else {
                fs::write(&path, bytes.as_slice()).unwrap();
                laid_out.push((bytes, path));
            }
        }
    }

    /// Opens a state and says what is wrong with it.
    fn look(&mut self, image: &Image, expected: &BTreeMap<String, Expected>) -> Result<(), String> {
        self.lay_out(image);
        self.looked += 1;
        let engine = self.store.engine();
        compare(&engine, expected)?;
        let later = "A thought after the power came back";
        let id = engine.save(later);
        // What it costs to look twice is spent on some states only; tidying, which builds an index, on fewer.
        if !self.looked.is_multiple_of(6) {
            return Ok(());
        }
        let settle = |engine: &Engine| {
            if self.looked.is_multiple_of(120) { drop(engine.clean()) } else { drop(engine.read_back().unwrap()) }
        };
        settle(&engine);
        let engine = self.store.engine();
        compare(&engine, expected).map_err(|why| format!("after a tidying: {why}"))?;
        if texts(&engine, std::iter::once(&id)).get(&id).is_none_or(|text| text != later) {
            return Err("what was saved next is lost".into());
        }
        self.check_notes(&engine)?;
        // What was seen of notes is derived, and learns from what the first tidying wrote.
        let image = || {
            let mut image = self::image(self.store.root());
            image.retain(|path, _| !path.starts_with("home/vaults"));
            image
        };
        let settled = image();
        settle(&engine);
        let again = image();
        let names = || settled.keys().chain(again.keys()).filter(|path| settled.get(*path) != again.get(*path));
        match names().next() {
            None => Ok(()),
            Some(path) => Err(format!("a second tidying changed {}", path.display())),
        }
    }

    fn check_notes(&self, engine: &Engine) -> Result<(), String> {
        let mut with_note = 0;
        for name in self.store.notes() {
            let note = self.store.note(&name);
            let parts = note.strip_prefix("---\nid: ").and_then(|rest| rest.split_once("\n---\n"));
            let (front, body) = parts.ok_or_else(|| format!("{name} is not a whole note: {note:?}"))?;
            let id = front.lines().next().unwrap_or_default();
            let texts = texts(engine, std::iter::once(&id.to_owned()));
            let text = texts.get(id).ok_or_else(|| format!("{name} belongs to no memory"))?;
            if body.trim() != text {
                return Err(format!("{name} says {body:?}, its memory {text:?}"));
            }
            with_note += 1;
        }
        let promoted = engine.counts().promoted;
        if with_note == promoted { Ok(()) } else { Err(format!("{with_note} notes, {promoted} promoted memories")) }
    }
}

fn compare(engine: &Engine, expected: &BTreeMap<String, Expected>) -> Result<(), String> {
    let texts = texts(engine, expected.keys());
    for (id, expected) in expected {
        match texts.get(id) {
            None if expected.may_be_gone => {}
            None => return Err(format!("{id} is lost: {expected:?}")),
            Some(_) if !expected.may_be_there => return Err(format!("{id} is back: {expected:?}")),
            Some(text) if !expected.texts.contains(text) => return Err(format!("{id} says {text:?}: {expected:?}")),
            Some(_) => {}
        }
    }
    let counts = engine.counts();
    let (all, there) = (counts.active + counts.faded + counts.superseded, texts.len() as u64);
    // One more was saved after the cut, perhaps.
    if (there..=there + 1).contains(&all) { Ok(()) } else { Err(format!("{all} memories instead of {there}")) }
}

/// The texts of those memories that are there.
fn texts<'a>(engine: &Engine, ids: impl Iterator<Item = &'a String>) -> BTreeMap<String, String> {
    let request = OpenRequest { ids: ids.cloned().collect(), history: None, relations: None };
    let opened = engine.open_memories(&request).unwrap().memories;
    opened.into_iter().map(|opened| (opened.memory.id, opened.memory.text)).collect()
}

/// How a run went.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) states: usize,
    pub(crate) faults: Vec<String>,
}

/// Looks at every state of one session; `sabotage` may take calls out of its tape.
fn look_at_session(seed: u64, operations: usize, sabotage: fn(&mut Call), report: &mut Report) {
    let mut tape = play(seed, operations);
    tape.calls.iter_mut().for_each(sabotage);
    let (mut bench, mut dice) = (Bench::new(), Dice(seed));
    let mut disk = Disk::new(&tape.before);
    let mut known: HashSet<u64> = HashSet::new();
    for moment in 0..=tape.calls.len() {
        // Until the next call is done, all up to here may be half there.
        let expected = expected(&tape.deeds, moment);
        let mut each = |image: Image| {
            let mut hasher = DefaultHasher::new();
            (&image, format!("{expected:?}")).hash(&mut hasher);
            if !known.insert(hasher.finish()) {
                return;
            }
            report.states += 1;
            if let Err(why) = bench.look(&image, &expected)
                && report.faults.len() < 20
            {
                let last = moment.checked_sub(1).map(|last| short(&tape.calls[last]));
                report.faults.push(format!("session {seed}, after call {moment} {last:?}: {why}"));
            }
        };
        disk.states(&mut dice, &mut each);
        let Some(call) = tape.calls.get(moment) else { break };
        disk.take(call);
        if let Call::Write { path, bytes, .. } = call {
            disk.cuts(path, bytes.len(), &mut each);
        }
    }
}

fn short(call: &Call) -> String {
    format!("{call:?}").chars().take(160).collect()
}

/// Looks at the states of many sessions, on all cores.
pub(crate) fn run(sessions: std::ops::Range<u64>, operations: usize, sabotage: fn(&mut Call)) -> Report {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Report::default()));
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = sessions.start + next.fetch_add(1, Ordering::Relaxed) as u64;
                    if seed >= sessions.end {
                        break;
                    }
                    let mut report = Report::default();
                    look_at_session(seed, operations, sabotage, &mut report);
                    let mut all = all.lock().unwrap();
                    all.states += report.states;
                    all.faults.extend(report.faults);
                }
            });
        }
    });
    all.into_inner().unwrap()
}

/// Leaves a tape as it is.
pub(crate) fn nothing(_: &mut Call) {}
