//! Watching: what the system tells of the vault makes upkeep read it back at once.
//!
//! An event is only a hint. It never says what changed: the engine looks at the notes to know, and would find out a
//! little later anyway. So events may be dropped, doubled or wrong; only what makes them cease must be noticed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, WatcherKind};

use crate::clock::Timestamp;
use crate::config::{OwnNotes, WatchMode};
use crate::engine::{Done, Engine, VaultChange, Watching};
use crate::error::Result;
use crate::files::{self, Patience};
use crate::vault::MEMORIES;

/// A batch ends when nothing more came for this long: an editor's save is over by then, and so is a checkout.
const QUIET: Duration = Duration::from_millis(100);
/// No batch waits longer.
const BATCH: Duration = Duration::from_millis(500);
/// How often it is looked whether the watched folders still are the ones at their places.
const PLACES: Duration = Duration::from_secs(2);
/// How often all is watched anew, in case the system ceased to tell; and how soon, where it could not be watched.
const ANEW: Duration = Duration::from_secs(3_600);
/// A batch of more notes is one of all notes.
const MANY_NOTES: usize = 1_000;

/// Upkeep of a home whose vault is watched.
pub struct Keeper {
    engine: Arc<Engine>,
    wake: Arc<dyn Fn() + Send + Sync>,
    watch: Option<Watch>,
}

impl Keeper {
    /// Upkeep of this engine's home. `wake` is called, on another thread, whenever [`Keeper::step`] should be called
    /// at once.
    pub fn new(engine: Arc<Engine>, wake: impl Fn() + Send + Sync + 'static) -> Keeper {
        Keeper { engine, wake: Arc::new(wake), watch: None }
    }

    /// As [`Engine::step`]. Once this process is the one that keeps the home in order, the vault is watched too;
    /// before its first look at the notes, so that nothing falls in between.
    ///
    /// # Errors
    /// As [`Engine::step`]. A vault that cannot be watched is no error: it is looked at more often.
    pub fn step(&mut self) -> (Timestamp, Result<Option<Done>>) {
        if self.watch.is_none() && self.engine.wants_watching() {
            self.watch = Some(Watch::begin(Arc::clone(&self.engine), Arc::clone(&self.wake)));
        }
        self.engine.step()
    }
}

/// A watched vault, until it is dropped.
struct Watch {
    end: Option<Sender<Hint>>,
}

impl Watch {
    fn begin(engine: Arc<Engine>, wake: Arc<dyn Fn() + Send + Sync>) -> Watch {
        match engine.config().upkeep.watch {
            WatchMode::Off => return Watch { end: None },
            WatchMode::Poll => {
                engine.watched(Watching::Poll("[upkeep] watch = \"poll\"".into()));
                return Watch { end: None };
            }
            WatchMode::Auto => {}
        }
        let (sender, hints) = channel();
        let mut listener = Listener {
            engine,
            wake,
            sender: sender.clone(),
            watcher: None,
            folders: HashSet::new(),
            places: Vec::new(),
            anew: Patience::new(ANEW),
        };
        listener.arm();
        std::thread::spawn(move || listener.listen(&hints));
        Watch { end: Some(sender) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A thread that has ended has nothing to end.
        drop(self.end.take().map(|sender| sender.send(Hint::End)));
    }
}

/// What an event may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hint {
    /// A note has other bytes. Its path from the vault's root, as the others.
    Note(String),
    /// Something was moved, or is said to be new or gone: a note or a folder.
    Entry(String),
    /// A folder came or went.
    Folder,
    /// Events were lost.
    Everything,
    /// Nobody wants to know any more.
    End,
}

/// The thread that makes batches of hints.
struct Listener {
    engine: Arc<Engine>,
    wake: Arc<dyn Fn() + Send + Sync>,
    sender: Sender<Hint>,
    /// None where there is nothing to watch, or it cannot be watched.
    watcher: Option<RecommendedWatcher>,
    /// Folders of the notes, as they were when the watcher was made; from the vault's root.
    folders: HashSet<String>,
    /// Identities of the vault's own folder and the notes' one at that time.
    places: Vec<Option<(u64, u64)>>,
    /// Until all is watched anew.
    anew: Patience,
}

impl Listener {
    fn listen(mut self, hints: &Receiver<Hint>) {
        loop {
            let mut batch = Batch::default();
            match hints.recv_timeout(PLACES) {
                Ok(hint) => batch.take(hint, &self),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let patience = Patience::new(BATCH);
            while !batch.is_empty() && !batch.is_end {
                match hints.recv_timeout(QUIET.min(patience.left())) {
                    Ok(hint) => batch.take(hint, &self),
                    Err(_) => break,
                }
            }
            if batch.is_end {
                return;
            }
            let has_moved = self.places != places(self.engine.vault_root());
            if has_moved || self.anew.left().is_zero() || batch.has_lost {
                batch.change.is_everything = true;
            }
            // What was written into a new folder before it was watched is told by nobody: first it is watched, then
            // it is looked at.
            if batch.has_folders || batch.change.is_everything {
                self.arm();
            }
            if !batch.is_empty() {
                self.engine.vault_changed(batch.change);
                (self.wake)();
            }
        }
    }

    /// Watches all folders, with a new watcher: the old one may know folders by names that they lost.
    fn arm(&mut self) {
        self.anew = Patience::new(ANEW);
        self.places = places(self.engine.vault_root());
        let root = files::real_path(self.engine.vault_root());
        self.folders = folders(&root, &self.engine.config().vault.index);
        let (watcher, watching) = match self.watcher_of(&root) {
            Ok(Some(watcher)) => (Some(watcher), Watching::Events),
            // It is looked for until it is there.
            Ok(None) => (None, Watching::No),
            Err(why) => (None, Watching::Poll(why)),
        };
        self.watcher = watcher;
        self.engine.watched(watching);
    }

    fn watcher_of(&self, root: &Path) -> std::result::Result<Option<RecommendedWatcher>, String> {
        if !root.is_dir() {
            return Ok(None);
        }
        if !files::tells_of_changes(root) {
            return Err("the system does not tell what others change on this file system".into());
        }
        let (sender, known_root) = (self.sender.clone(), root.to_owned());
        let own = self.engine.config().vault.index.clone();
        let tell = move |event: notify::Result<Event>| {
            for hint in hints(&known_root, &own, event) {
                // Nobody listens any more where that fails.
                drop(sender.send(hint));
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(tell, config).map_err(|error| why_not(&error))?;
        if RecommendedWatcher::kind() != WatcherKind::Inotify {
            watcher.watch(root, RecursiveMode::Recursive).map_err(|error| why_not(&error))?;
            return Ok(Some(watcher));
        }
        // Hidden folders are left out: a repository among the notes has more folders than they.
        let below = self.folders.iter().map(|folder| root.join(folder));
        for folder in std::iter::once(root.to_owned()).chain(below) {
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                // It went just now, which is told by the folder above; or nobody may read it.
                Err(_) if files::read_dir(&folder).is_err() => {}
                armed => armed.map_err(|error| why_not(&error))?,
            }
        }
        Ok(Some(watcher))
    }
}

/// What came together.
#[derive(Default)]
struct Batch {
    change: VaultChange,
    has_folders: bool,
    has_lost: bool,
    is_end: bool,
}

impl Batch {
    fn take(&mut self, hint: Hint, listener: &Listener) {
        match hint {
            Hint::Note(path) => {
                self.change.notes.insert(path);
            }
            Hint::Entry(path) => {
                let is_folder = listener.folders.contains(&path) || listener.engine.vault_root().join(&path).is_dir();
                self.has_folders |= is_folder;
                if is_note(&path) {
                    self.change.notes.insert(path);
                }
            }
            Hint::Folder => self.has_folders = true,
            Hint::Everything => self.has_lost = true,
            Hint::End => self.is_end = true,
        }
        if self.change.notes.len() > MANY_NOTES {
            self.change.is_everything = true;
            self.change.notes.clear();
        }
    }

    fn is_empty(&self) -> bool {
        self.change == VaultChange::default() && !self.has_folders && !self.has_lost
    }
}

/// Identities of the folders without which nothing is told.
fn places(root: &Path) -> Vec<Option<(u64, u64)>> {
    [root.to_owned(), root.join(MEMORIES)].iter().map(|folder| files::folder_identity(folder)).collect()
}

/// The folders in which followed notes lie, as paths from the root; not hidden ones, and links are not followed.
fn folders(root: &Path, own: &OwnNotes) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut next = vec![String::new()];
    while let Some(folder) = next.pop() {
        let Ok(entries) = files::read_dir(&root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            if is_followed(&path, own) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                next.push(path);
            }
        }
        found.insert(folder);
    }
    found.remove("");
    found
}

/// Whether notes at or below a path from the root are read back, or recalled as the person's own.
fn is_followed(path: &str, own: &OwnNotes) -> bool {
    path.split('/').next() == Some(MEMORIES) || own.lead_to(path)
}

/// What an event may mean for the notes: mostly nothing.
fn hints(root: &Path, own: &OwnNotes, event: notify::Result<Event>) -> Vec<Hint> {
    let Ok(event) = event else { return vec![Hint::Everything] };
    if event.need_rescan() {
        return vec![Hint::Everything];
    }
    // To list a folder, as we do, is told too.
    if matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write)) {
        return Vec::new();
    }
    event.paths.iter().filter_map(|path| hint(path.strip_prefix(root).ok()?, own, event.kind)).collect()
}

fn hint(path: &Path, own: &OwnNotes, kind: EventKind) -> Option<Hint> {
    let parts: Vec<&str> = path.components().map(|part| part.as_os_str().to_str()).collect::<Option<_>>()?;
    let is_hidden = parts.iter().any(|part| part.starts_with('.'));
    let path = parts.join("/");
    let is_followed = is_followed(&path, own);
    // In the root lie notes of ours, and the folder of the others.
    if is_hidden || (parts.len() > 1 && !is_followed) {
        return None;
    }
    let is_place = path.is_empty() || path == MEMORIES;
    match kind {
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => {
            (is_place || is_followed).then_some(Hint::Folder)
        }
        EventKind::Create(CreateKind::File)
        | EventKind::Remove(RemoveKind::File)
        | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))
        | EventKind::Access(_) => is_note(&path).then_some(Hint::Note(path)),
        _ if is_place => Some(Hint::Folder),
        _ => (is_note(&path) || is_followed).then_some(Hint::Entry(path)),
    }
}

fn is_note(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
}

/// Why the vault cannot be watched, and what helps.
fn why_not(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the system lets no more folders be watched; raise fs.inotify.max_user_watches".into()
        }
        _ => format!("it cannot be watched: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{DataChange, Flag, MetadataKind, RenameMode};

    use super::*;

    fn of(kind: EventKind, path: &str) -> Vec<Hint> {
        with(&OwnNotes::None, kind, path)
    }

    fn with(own: &OwnNotes, kind: EventKind, path: &str) -> Vec<Hint> {
        hints(Path::new("/vault"), own, Ok(Event::new(kind).add_path(Path::new("/vault").join(path))))
    }

    fn note(path: &str) -> Vec<Hint> {
        vec![Hint::Note(path.into())]
    }

    fn entry(path: &str) -> Vec<Hint> {
        vec![Hint::Entry(path.into())]
    }

    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const MOVED_AWAY: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::From));
    const TOUCHED: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
    const NEW_FOLDER: EventKind = EventKind::Create(CreateKind::Folder);
    const NO_FOLDER: EventKind = EventKind::Remove(RemoveKind::Folder);

    #[test]
    fn events_of_notes_are_hints_and_others_are_dropped() {
        for kind in [WRITTEN, CLOSED, TOUCHED, EventKind::Create(CreateKind::File), EventKind::Remove(RemoveKind::File)]
        {
            for path in ["Memories/Tea.md", "Memories/deep/er/Tea.MD", "Home.md"] {
                assert_eq!(of(kind, path), note(path), "{kind:?} {path}");
            }
            for path in [
                "Memories/.Tea.md.0a1b2c3d.tmp",
                "Memories/.Tea.md.swp",
                "Memories/.hidden/Tea.md",
                "Memories/Tea.md~",
                "Memories/4913",
                "Memories/sedA1b2C3",
                ".git/index",
                ".obsidian/workspace.json",
                ".trash/Tea.md",
                "Projects/Plan.md",
                "Memories",
                "",
            ] {
                assert_eq!(of(kind, path), [], "{kind:?} {path}");
            }
        }
        for kind in [AccessKind::Open(AccessMode::Any), AccessKind::Close(AccessMode::Read), AccessKind::Read] {
            assert_eq!(of(EventKind::Access(kind), "Memories/Tea.md"), [], "{kind:?}");
        }
        assert_eq!(
            hints(Path::new("/vault"), &OwnNotes::None, Ok(Event::new(WRITTEN).add_path("/elsewhere/Tea.md".into()))),
            []
        );
    }

    #[test]
    fn what_is_moved_may_be_a_note_or_a_folder() {
        for kind in [MOVED_AWAY, EventKind::Any, EventKind::Remove(RemoveKind::Any), EventKind::Create(CreateKind::Any)]
        {
            for path in ["Memories/Tea.md", "Memories/2026.11", "Memories/folder.md", "Home.md"] {
                assert_eq!(of(kind, path), entry(path), "{kind:?} {path}");
            }
            assert_eq!(of(kind, "Memories"), [Hint::Folder], "{kind:?}");
            assert_eq!(of(kind, ""), [Hint::Folder], "{kind:?}");
            for path in ["Projects", ".git", "Memories/.obsidian", "Projects/Plan.md"] {
                assert_eq!(of(kind, path), [], "{kind:?} {path}");
            }
        }
        let both = Event::new(EventKind::Modify(ModifyKind::Name(RenameMode::Both)))
            .add_path("/vault/Memories/.Tea.md.0a1b2c3d.tmp".into())
            .add_path("/vault/Memories/Tea.md".into());
        assert_eq!(hints(Path::new("/vault"), &OwnNotes::None, Ok(both)), entry("Memories/Tea.md"));
    }

    #[test]
    fn folders_count_where_notes_lie() {
        for kind in [NEW_FOLDER, NO_FOLDER] {
            for path in ["", "Memories", "Memories/deep", "Memories/deep/er.md"] {
                assert_eq!(of(kind, path), [Hint::Folder], "{kind:?} {path}");
            }
            for path in ["Projects", ".git", "Memories/.git", "Projects/Memories"] {
                assert_eq!(of(kind, path), [], "{kind:?} {path}");
            }
        }
    }

    #[test]
    fn own_notes_are_followed_where_they_are_recalled() {
        let folder = OwnNotes::Folders(vec!["Work/2026".into()]);
        for (path, own, is_told) in [
            ("Work/2026/a.md", &folder, true),
            ("Work/2025/a.md", &folder, false),
            ("Work/2025/a.md", &OwnNotes::All, true),
            ("Work/.git/a.md", &OwnNotes::All, false),
            (".obsidian/a.md", &OwnNotes::All, false),
        ] {
            assert_eq!(!with(own, WRITTEN, path).is_empty(), is_told, "{path}");
        }
        for (path, is_told) in [("Work", true), ("Work/2026", true), ("Diary", false), ("Work/2025", false)] {
            assert_eq!(!with(&folder, NEW_FOLDER, path).is_empty(), is_told, "{path}");
            assert_eq!(!with(&folder, MOVED_AWAY, path).is_empty(), is_told, "{path}");
        }
    }

    #[test]
    fn lost_events_are_told_with_or_without_a_path() {
        let root = Path::new("/vault");
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(hints(root, &OwnNotes::None, Ok(lost.clone())), [Hint::Everything]);
        assert_eq!(hints(root, &OwnNotes::None, Ok(lost.add_path("/vault/.git".into()))), [Hint::Everything]);
        assert_eq!(hints(root, &OwnNotes::None, Err(notify::Error::generic("broken"))), [Hint::Everything]);
    }

    #[test]
    fn folders_of_notes_are_found_without_hidden_ones() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["Memories/a/b", "Memories/.git/objects", "Projects"] {
            files::create_folder(&root.path().join(folder)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path(), root.path().join("Memories/loop")).unwrap();
        let expected = ["Memories", "Memories/a", "Memories/a/b"].map(str::to_owned);
        assert_eq!(folders(root.path(), &OwnNotes::None), HashSet::from(expected.clone()));
        let all = folders(root.path(), &OwnNotes::All);
        assert_eq!(all, HashSet::from(expected).into_iter().chain(["Projects".to_owned()]).collect());
        assert_eq!(folders(&root.path().join("nowhere"), &OwnNotes::All), HashSet::new());
    }

    #[test]
    fn a_limit_of_the_system_is_named_with_what_helps() {
        let why = why_not(&notify::Error::new(ErrorKind::MaxFilesWatch));
        assert!(why.contains("fs.inotify.max_user_watches"), "{why}");
    }
}
