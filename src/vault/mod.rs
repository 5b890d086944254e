//! The vault on disk: lists, reads, writes and moves notes. It decides nothing; every write goes through
//! [`crate::files`], into a folder that is held open ([`files::Folder`]), so that none leaves the vault.
//!
//! Paths are relative to the vault's root and written with `/`, also on Windows.

mod anywhere;
mod hubs;
mod own;
mod template;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fmt, fs};

use crate::error::{Error, Result};
use crate::files::{self, Folder, Place};
use crate::id::{MemoryId, content_hash};
use crate::note::{Note, Value, frontmatter, name};
use crate::redact::Redacted;

/// Folder of the memories.
pub const MEMORIES: &str = "Memories";
/// Folder of the entities.
pub const ENTITIES: &str = "Entities";
/// Folder of forgotten notes: Obsidian's own.
pub const TRASH: &str = ".trash";
/// The note that tells what the vault is, and its id.
pub const HOME: &str = "Home.md";
/// The note in which a person decides.
pub const REVIEW: &str = "Review.md";

/// A vault, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    root: PathBuf,
}

/// A note on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path from the vault's root.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Last change, in milliseconds since 1970.
    pub modified_millis: i64,
}

/// Why something in the folder of memories is not listed as a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// A copy that a sync program made of a note in conflict.
    ConflictCopy,
    /// A link to another place.
    Symlink,
    /// A folder, pipe or device with the name of a note.
    NotAFile,
    /// A name that is not Unicode.
    Name,
    /// A folder that cannot be read, or an entry without its facts.
    Unreadable,
    /// The note is in iCloud and not on this machine: it is missing, but not deleted.
    NotDownloaded,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::ConflictCopy => "a copy that a sync program made in a conflict; it is not read",
            SkipReason::Symlink => "a link; it is not followed",
            SkipReason::NotAFile => "has the name of a note and is no file",
            SkipReason::Name => "has a name that is not Unicode; it is not read",
            SkipReason::Unreadable => "cannot be read",
            SkipReason::NotDownloaded => "is in iCloud and not on this machine",
        })
    }
}

/// Something in the folder of memories that is not listed as a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Path from the vault's root.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// What the folder of memories holds, both lists ordered by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The notes.
    pub entries: Vec<Entry>,
    /// What people should be told about. Other files and hidden ones are not mentioned.
    pub skipped: Vec<Skipped>,
}

impl Vault {
    /// The vault at `root`. Nothing is read or written yet.
    pub fn open(root: &Path) -> Vault {
        Vault { root: root.to_owned() }
    }

    /// The vault's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether there is a vault: laid out by us, or a person's with our folder in it.
    pub fn exists(&self) -> bool {
        self.has_memories() || self.vault_id().is_ok_and(|id| id.is_some())
    }

    /// Whether the folder of memories is there.
    pub fn has_memories(&self) -> bool {
        self.root.join(MEMORIES).is_dir()
    }

    /// Whether the folder holds a person's files and no vault of ours: then only our own folder is written in it.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder is there and cannot be listed.
    pub fn is_a_persons(&self) -> Result<bool> {
        if self.vault_id()?.is_some() {
            return Ok(false);
        }
        let entries = match files::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::io("list", &self.root)(error)),
        };
        Ok(entries.flatten().any(|entry| !self.is_layout(&entry.file_name().to_string_lossy())))
    }

    /// Whether something in the root is part of our own layout, as a crash may have left it, or an empty repository.
    fn is_layout(&self, name: &str) -> bool {
        if name == ".git" || name.starts_with("_git2_") || template::FOLDERS.contains(&name) || files::is_leftover(name)
        {
            return true;
        }
        let is_as_written = |path: &str| {
            let written = template::FILES.iter().find(|(known, _)| *known == path);
            written
                .is_some_and(|(_, text)| files::read(&self.root.join(path)).is_ok_and(|bytes| bytes == text.as_bytes()))
        };
        match files::read_dir(&self.root.join(name)) {
            Err(_) => is_as_written(name),
            Ok(inner) => inner.flatten().all(|entry| {
                let inner = entry.file_name().to_string_lossy().into_owned();
                files::is_leftover(&inner) || is_as_written(&format!("{name}/{inner}"))
            }),
        }
    }

    /// Makes the folder of memories, nothing else.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create_memories(&self) -> Result<()> {
        self.made_folder(MEMORIES).map(drop)
    }

    /// Lays out the vault: folders and those files of the template that are not there yet. Files that are there stay
    /// as they are. Returns the paths of the files written.
    ///
    /// # Errors
    /// [`Error::Io`]; calling again completes what is missing.
    pub fn create(&self, vault_id: &str) -> Result<Vec<String>> {
        for folder in template::FOLDERS {
            self.made_folder(folder)?;
        }
        let mut written = Vec::new();
        // The note with the vault's id comes last: where it is, the layout was finished.
        for (path, text) in template::FILES.iter().copied() {
            let (folder, file_name) = parted(path);
            let place = self.made_folder(folder)?.file(file_name);
            let text = if path == HOME {
                frontmatter::set(text, "vault_id", &Value::from(vault_id))?
            } else {
                text.to_owned()
            };
            if files::is_file(&place).is_err() && files::write_new(place, text.as_bytes())? {
                written.push(path.to_owned());
            }
        }
        Ok(written)
    }

    /// Paths of the template's files that are there.
    ///
    /// # Errors
    /// [`Error::Io`] where `Home.md` is there and cannot be read.
    pub fn layout(&self) -> Result<Vec<String>> {
        if self.vault_id()?.is_none() {
            return Ok(Vec::new());
        }
        let paths = template::FILES.iter().map(|(path, _)| (*path).to_owned());
        Ok(paths.filter(|path| self.root.join(path).is_file()).collect())
    }

    /// Removes temporary files that a crash of ours left among the notes. Only under the home's lock.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder of memories cannot be listed.
    pub fn remove_leftovers(&self) -> Result<()> {
        let listing = self.list()?;
        let mut folders = BTreeSet::from([MEMORIES]);
        folders.extend(listing.entries.iter().map(|entry| parted(&entry.path).0));
        for folder in folders.into_iter().filter_map(|folder| Folder::below(&self.root, Path::new(folder)).ok()) {
            files::remove_leftovers(folder);
        }
        Ok(())
    }

    /// The id in the frontmatter of `Home.md`; `None` where there is no such note, or none with an id.
    ///
    /// # Errors
    /// [`Error::Io`] where the note is there and cannot be read.
    pub fn vault_id(&self) -> Result<Option<String>> {
        if !self.root.join(HOME).is_file() {
            return Ok(None);
        }
        let home = Note::parse(&self.read(HOME)?);
        let id = home.value("vault_id").and_then(Value::as_str).map(str::trim);
        Ok(id.filter(|id| !id.is_empty()).map(str::to_owned))
    }

    /// All notes in the folder of memories, and what looks like one and is none. Files are not opened. A vault without
    /// that folder has no notes.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder itself cannot be read, [`Error::Invalid`] where it is a link out of the vault:
    /// never an empty list because of a fault.
    pub fn list(&self) -> Result<Listing> {
        let folder = files::contained(&self.root, Path::new(MEMORIES))?;
        let mut listing = Listing::default();
        match files::read_dir(&folder) {
            Ok(entries) => list_into(entries, MEMORIES, &|_| true, &mut listing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("list", &folder)(error)),
        }
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        listing.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// The text of a note, also of one in the trash, with its byte order mark if it has one.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Io`], or [`Error::Invalid`] for a path outside the vault or in a hidden folder,
    /// something that is not a note, and bytes that are not UTF-8.
    pub fn read(&self, path: &str) -> Result<String> {
        refuse_hidden(in_trash(path).unwrap_or(path))?;
        let bytes = files::read(self.file(path)?)?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::invalid(format!("note `{path}`"), format!("is not UTF-8 from byte {at} on"), "save it as UTF-8")
        })
    }

    /// Writes a new note in the folder of memories under a name made from `title` that is not in `taken`, the names of
    /// the vault's notes. Nothing is ever replaced. Returns its path, and adds its name.
    ///
    /// # Errors
    /// [`Error::Io`]; nothing is then left behind.
    pub fn add(&self, title: &str, id: MemoryId, text: &Redacted, taken: &mut BTreeSet<String>) -> Result<String> {
        let folder = self.made_folder(MEMORIES)?;
        let stem = name::file_stem(title).name;
        // A name can be taken between looking and writing: then the next one is tried.
        loop {
            let free = name::unique(&stem, |key| taken.contains(key), id);
            let file_name = format!("{free}.md");
            let is_written = files::write_new(folder.file(&file_name), text.as_str().as_bytes())?;
            taken.insert(name::key(&free));
            if is_written {
                return Ok(format!("{MEMORIES}/{file_name}"));
            }
        }
    }

    /// Writes `Review.md` where there is none.
    ///
    /// # Errors
    /// [`Error::Io`]; nothing is then left behind.
    pub fn write_review(&self, text: &str) -> Result<()> {
        files::write_new(self.place(REVIEW)?, text.as_bytes()).map(drop)
    }

    /// Replaces the text of a note that still is the one whose [`content_hash`] is `expected_hash`. The new text is
    /// the old one with an edit, so that it holds what the person wrote, also what redaction would hide.
    ///
    /// # Errors
    /// [`Error::Changed`] where the note has another text by now; otherwise as [`Vault::read`], also for a
    /// note in the trash. Nothing is then written.
    pub fn edit(&self, path: &str, expected_hash: &str, new_text: &str) -> Result<()> {
        refuse_hidden(path)?;
        files::replace_if(self.file(path)?, new_text.as_bytes(), |old| content_hash(old) == expected_hash)
    }

    /// Moves a note to the vault's trash, where it keeps its folders and, unless it is taken, its name. Returns its
    /// path there.
    ///
    /// # Errors
    /// As [`Vault::edit`] without [`Error::Changed`]; the note is then where it was.
    pub fn trash(&self, path: &str) -> Result<String> {
        refuse_hidden(path)?;
        self.move_to_free_name(path, &format!("{TRASH}/{path}"), &BTreeSet::new(), "trashed")
    }

    /// Removes a note for good, also one in the trash.
    ///
    /// # Errors
    /// As [`Vault::read`]; the note is then where it was.
    pub fn remove(&self, path: &str) -> Result<()> {
        refuse_hidden(in_trash(path).unwrap_or(path))?;
        files::remove(self.file(path)?)
    }

    /// Whether two paths name one and the same file, as those of a note that is being moved do.
    pub fn is_one_file(&self, a: &str, b: &str) -> bool {
        files::is_one_file(&self.root.join(a), &self.root.join(b))
    }

    /// Path of the note of a memory that lies in the trash; the newest where there are several.
    ///
    /// # Errors
    /// [`Error::Io`] where the trash is there and cannot be listed.
    pub fn find_in_trash(&self, id: MemoryId) -> Result<Option<String>> {
        Ok(self.trashed()?.into_iter().find(|(trashed, _)| *trashed == id).map(|(_, path)| path))
    }

    /// All notes in the trash that name a memory, with their paths, newest first.
    ///
    /// # Errors
    /// [`Error::Io`] where the trash is there and cannot be listed.
    pub fn trashed(&self) -> Result<Vec<(MemoryId, String)>> {
        let mut listing = Listing::default();
        match files::read_dir(&self.root.join(TRASH)) {
            Ok(entries) => list_into(entries, TRASH, &|_| true, &mut listing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("list", &self.root.join(TRASH))(error)),
        }
        listing.entries.sort_by_key(|entry| std::cmp::Reverse(entry.modified_millis));
        let id = |path: &str| Note::parse(&self.read(path).ok()?).id();
        Ok(listing.entries.into_iter().filter_map(|entry| Some((id(&entry.path)?, entry.path))).collect())
    }

    /// Moves a note out of the trash to the path `to`, or to a similar name where that is taken by any note of the
    /// vault. Returns its path.
    ///
    /// # Errors
    /// As [`Vault::trash`], also for a path that is not in the trash.
    pub fn untrash(&self, trash_path: &str, to: &str) -> Result<String> {
        refuse_hidden(to)?;
        let inner = in_trash(trash_path).ok_or_else(|| {
            Error::invalid(format!("path `{trash_path}`"), "is not in the trash", "give a path in .trash")
        })?;
        refuse_hidden(inner)?;
        self.move_to_free_name(trash_path, to, &self.names()?, "restored")
    }

    /// Moves a note to `to`, or with a mark behind its name where that one is taken on disk or in `taken`.
    fn move_to_free_name(&self, from: &str, to: &str, taken: &BTreeSet<String>, mark: &str) -> Result<String> {
        let from = self.file(from)?;
        let (folder_path, file_name) = parted(to);
        let folder = self.made_folder(folder_path)?;
        let stem = stem_of(file_name).unwrap_or(file_name);
        let extension = file_name.get(stem.len()..).unwrap_or_default();
        let marked =
            (1u32..).map(|number| if number == 1 { format!(" ({mark})") } else { format!(" ({mark}-{number})") });
        for mark in std::iter::once(String::new()).chain(marked) {
            let name = format!("{stem}{mark}");
            let file_name = format!("{name}{extension}");
            if !taken.contains(&name::key(&name)) && files::move_file(&from, &folder.file(&file_name))? {
                return Ok(if folder_path.is_empty() { file_name } else { format!("{folder_path}/{file_name}") });
            }
        }
        Err(Error::Internal("no free name among four billion".into()))
    }

    /// A folder of the vault, made where it is missing.
    fn made_folder(&self, path: &str) -> Result<Folder> {
        Folder::make_below(&self.root, Path::new(path))
    }

    fn place(&self, path: &str) -> Result<Place> {
        Place::below(&self.root, Path::new(path))
    }

    /// The place of an existing, regular file; so a pipe never blocks and a link never leads elsewhere.
    fn file(&self, path: &str) -> Result<Place> {
        let absent = || Error::NotFound { what: format!("note `{path}`") };
        let place = self.place(path).map_err(|error| if error.is_absence() { absent() } else { error })?;
        match files::is_file(&place) {
            Ok(true) => Ok(place),
            Ok(false) => {
                Err(Error::invalid(format!("path `{path}`"), "is not a regular file", "give the path of a note"))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(absent()),
            Err(error) => Err(Error::io("read", place.path())(error)),
        }
    }
}

/// A path as the folder and the name in it.
fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The name of a note without its extension; `None` for other files.
fn stem_of(file_name: &str) -> Option<&str> {
    file_name.rsplit_once('.').filter(|(_, extension)| extension.eq_ignore_ascii_case("md")).map(|(stem, _)| stem)
}

/// The path within the trash of a path that lies there.
fn in_trash(path: &str) -> Option<&str> {
    path.strip_prefix(TRASH)?.strip_prefix('/')
}

/// Refuses hidden files, files in hidden folders, and files that are no notes.
fn refuse_hidden(path: &str) -> Result<()> {
    if path.split(['/', '\\']).any(|part| part.starts_with('.')) {
        return Err(Error::invalid(
            format!("path `{path}`"),
            "is hidden or leaves the vault",
            "give the path of a note",
        ));
    }
    if stem_of(path).is_none() {
        return Err(Error::invalid(format!("path `{path}`"), "is not a note", "give a path that ends with .md"));
    }
    Ok(())
}

/// Adds what a folder and those below it for which `is_wanted` hold to the listing. Links are not followed, so the
/// walk always ends.
fn list_into(entries: fs::ReadDir, folder: &str, is_wanted: &dyn Fn(&str) -> bool, listing: &mut Listing) {
    for entry in entries.flatten() {
        let file_name = entry.file_name();
        let mut path = file_name.to_string_lossy().into_owned();
        if !folder.is_empty() {
            path = format!("{folder}/{path}");
        }
        let mut skip = |path: String, reason| listing.skipped.push(Skipped { path, reason });
        let Some(file_name) = file_name.to_str() else {
            skip(path, SkipReason::Name);
            continue;
        };
        if let Some(hidden) = file_name.strip_prefix('.') {
            if let Some(note) = hidden.strip_suffix(".icloud").filter(|note| stem_of(note).is_some()) {
                let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
                skip(format!("{folder}{note}"), SkipReason::NotDownloaded);
            }
            continue;
        }
        let is_note = stem_of(file_name).is_some();
        let Ok(facts) = entry.metadata() else {
            skip(path, SkipReason::Unreadable);
            continue;
        };
        if facts.is_dir() {
            if is_note {
                skip(path.clone(), SkipReason::NotAFile);
            }
            match files::read_dir(&entry.path()) {
                _ if !is_wanted(&path) => {}
                Ok(inner) => list_into(inner, &path, is_wanted, listing),
                Err(_) => skip(path, SkipReason::Unreadable),
            }
        } else if facts.file_type().is_symlink() {
            skip(path, SkipReason::Symlink);
        } else if !is_note {
        } else if !facts.is_file() {
            skip(path, SkipReason::NotAFile);
        } else if name::is_conflict_copy(file_name) {
            skip(path, SkipReason::ConflictCopy);
        } else {
            let modified = facts.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let modified_millis = modified.map_or(0, |since| since.as_millis() as i64);
            listing.entries.push(Entry { path, size: facts.len(), modified_millis });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::redact;

    struct Folder {
        guard: tempfile::TempDir,
        vault: Vault,
    }

    fn folder() -> Folder {
        let guard = tempfile::tempdir().unwrap();
        let vault = Vault::open(&guard.path().join("vault"));
        Folder { guard, vault }
    }

    fn laid_out() -> Folder {
        let folder = folder();
        folder.vault.create("vault-1").unwrap();
        folder
    }

    fn put(vault: &Vault, path: &str, bytes: &[u8]) {
        let full = vault.root().join(path);
        files::create_folder(full.parent().unwrap()).unwrap();
        assert!(files::write_new(&full, bytes).unwrap(), "{path} was there");
    }

    fn paths(vault: &Vault) -> Vec<String> {
        vault.list().unwrap().entries.into_iter().map(|entry| entry.path).collect()
    }

    fn id() -> MemoryId {
        "7k2m9x4qwc3r".parse().unwrap()
    }

    #[test]
    fn opening_and_reading_write_nothing() {
        let Folder { guard: _guard, vault } = folder();
        assert!(!vault.exists());
        assert_eq!(vault.vault_id().unwrap(), None);
        assert_eq!(vault.list().unwrap(), Listing::default());
        assert!(vault.names().unwrap().is_empty());
        assert!(matches!(vault.read("Memories/x.md"), Err(Error::NotFound { .. })));
        assert!(!vault.root().exists());
    }

    #[test]
    fn a_vault_is_laid_out_once_and_never_over_a_persons_file() {
        let Folder { guard: _guard, vault } = folder();
        put(&vault, ".obsidian/app.json", b"mine");
        let written = vault.create("vault-1").unwrap();
        assert!(written.contains(&"Home.md".to_owned()) && !written.contains(&".obsidian/app.json".to_owned()));
        assert_eq!(vault.vault_id().unwrap().as_deref(), Some("vault-1"));
        assert_eq!(files::read(&vault.root().join(".obsidian/app.json")).unwrap(), b"mine");
        assert!(vault.exists() && vault.root().join(ENTITIES).is_dir());
        assert_eq!(vault.create("vault-2").unwrap(), Vec::<String>::new());
        assert_eq!(vault.vault_id().unwrap().as_deref(), Some("vault-1"));
        assert_eq!(paths(&vault), Vec::<String>::new());
        assert!(vault.names().unwrap().contains("home"));
    }

    #[test]
    fn notes_are_listed_and_what_only_looks_like_one_is_named() {
        let Folder { guard: _guard, vault } = laid_out();
        for path in ["b.md", "a.MD", "deep/c.md", ".hidden.md", ".deep/d.md", "x.txt", ".c.md.icloud"] {
            put(&vault, &format!("Memories/{path}"), b"text");
        }
        put(&vault, "Memories/b (Ada's conflicted copy 2026-11-29).md", b"text");
        put(&vault, "Memories/folder.md/e.md", b"text");
        put(&vault, "Elsewhere/f.md", b"text");
        let listing = vault.list().unwrap();
        assert_eq!(paths(&vault), ["Memories/a.MD", "Memories/b.md", "Memories/deep/c.md", "Memories/folder.md/e.md"]);
        assert!(listing.entries.iter().all(|entry| entry.size == 4 && entry.modified_millis > 1_577_836_800_000));
        let skipped: Vec<(&str, SkipReason)> =
            listing.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason)).collect();
        assert_eq!(
            skipped,
            [
                ("Memories/b (Ada's conflicted copy 2026-11-29).md", SkipReason::ConflictCopy),
                ("Memories/c.md", SkipReason::NotDownloaded),
                ("Memories/folder.md", SkipReason::NotAFile),
            ]
        );
        let names = vault.names().unwrap();
        assert!(names.contains("f") && names.contains("a") && !names.contains("d"), "{names:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_neither_listed_nor_read() {
        let Folder { guard, vault } = laid_out();
        put(&vault, "Memories/a.md", b"a");
        let memories = vault.root().join(MEMORIES);
        let outside = guard.path().join("outside");
        files::create_folder(&outside).unwrap();
        files::write_new(&outside.join("secret.md"), b"secret").unwrap();
        std::os::unix::fs::symlink(&outside, memories.join("out")).unwrap();
        std::os::unix::fs::symlink(outside.join("secret.md"), memories.join("out.md")).unwrap();
        std::os::unix::fs::symlink(&memories, memories.join("loop")).unwrap();
        std::os::unix::fs::symlink(memories.join("a.md"), memories.join("alias.md")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(memories.join("pipe.md")).status();
        assert_eq!(paths(&vault), ["Memories/a.md"]);
        let links = vault.list().unwrap().skipped.into_iter().filter(|skipped| skipped.reason == SkipReason::Symlink);
        let links: Vec<String> = links.map(|skipped| skipped.path).collect();
        assert_eq!(links, ["Memories/alias.md", "Memories/loop", "Memories/out", "Memories/out.md"]);
        for path in ["Memories/out/secret.md", "Memories/out.md", "Memories/alias.md"] {
            assert!(matches!(vault.read(path), Err(Error::Invalid { .. })), "{path}");
            assert!(vault.edit(path, &content_hash(b"secret"), "x").is_err(), "{path}");
        }
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(vault.read("Memories/pipe.md"), Err(Error::Invalid { .. })));
        }
        assert_eq!(files::read(&outside.join("secret.md")).unwrap(), b"secret");
    }

    #[test]
    fn new_notes_replace_nothing_and_have_names_of_their_own() {
        let Folder { guard: _guard, vault } = laid_out();
        let text = redact("text").0;
        assert_eq!(
            vault.add("Likes: tea", id(), &text, &mut vault.names().unwrap()).unwrap(),
            "Memories/Likes - tea.md"
        );
        assert_eq!(
            vault.add("LIKES - TEA", id(), &text, &mut vault.names().unwrap()).unwrap(),
            "Memories/LIKES - TEA (7k2m).md"
        );
        assert_eq!(vault.add("Home", id(), &text, &mut vault.names().unwrap()).unwrap(), "Memories/Home (7k2m).md");
        assert_eq!(vault.add("../../x", id(), &text, &mut vault.names().unwrap()).unwrap(), "Memories/x.md");
        put(&vault, "Memories/y.md/z.md", b"a folder stands in the way");
        assert_eq!(vault.add("y", id(), &text, &mut vault.names().unwrap()).unwrap(), "Memories/y (7k2m).md");
        assert_eq!(vault.read("Memories/x.md").unwrap(), "text");
    }

    #[test]
    fn edits_need_the_text_last_seen() {
        let Folder { guard: _guard, vault } = laid_out();
        put(&vault, "Memories/a.md", b"\xEF\xBB\xBFold");
        assert_eq!(vault.read("Memories/a.md").unwrap(), "\u{FEFF}old");
        let seen = content_hash("\u{FEFF}old".as_bytes());
        vault.edit("Memories/a.md", &seen, "new").unwrap();
        assert!(matches!(vault.edit("Memories/a.md", &seen, "late"), Err(Error::Changed { .. })));
        assert_eq!(vault.read("Memories/a.md").unwrap(), "new");
        assert!(matches!(vault.edit("Memories/b.md", &seen, "x"), Err(Error::NotFound { .. })));
        put(&vault, "Memories/bad.md", b"a\xFF");
        let error = vault.read("Memories/bad.md").unwrap_err().to_string();
        assert!(error.contains("Memories/bad.md") && error.contains("byte 1"), "{error}");
    }

    #[test]
    fn paths_that_are_no_notes_are_refused_before_anything_is_touched() {
        let Folder { guard: _guard, vault } = laid_out();
        put(&vault, ".git/config.md", b"git");
        let long = format!("{}.md", "x".repeat(5000));
        for path in ["../x.md", "a/../../x.md", "..\\x.md", "/etc/hostname", ".git/config.md", ".obsidian/app.json"]
            .into_iter()
            .chain([".", "", "a\0b.md", "~/x.md", "%2e%2e%2fx.md", "Memories.base", "Memories", &long])
        {
            assert!(vault.read(path).is_err(), "read {path}");
            assert!(vault.edit(path, &content_hash(b"git"), "x").is_err(), "edit {path}");
            assert!(vault.trash(path).is_err(), "trash {path}");
            assert!(vault.untrash(".trash/none.md", path).is_err(), "untrash {path}");
        }
        assert!(vault.untrash("Home.md", "Memories/x.md").is_err());
        assert_eq!(files::read(&vault.root().join(".git/config.md")).unwrap(), b"git");
    }

    #[test]
    fn trashed_notes_come_back() {
        let Folder { guard: _guard, vault } = laid_out();
        put(&vault, "Memories/deep/a.md", b"one");
        let trashed = vault.trash("Memories/deep/a.md").unwrap();
        assert_eq!(vault.read(&trashed).unwrap(), "one");
        assert_eq!(trashed, ".trash/Memories/deep/a.md");
        assert!(paths(&vault).is_empty());
        put(&vault, "Memories/deep/a.md", b"two");
        assert_eq!(vault.trash("Memories/deep/a.md").unwrap(), ".trash/Memories/deep/a (trashed).md");
        assert_eq!(vault.untrash(&trashed, "Memories/deep/a.md").unwrap(), "Memories/deep/a.md");
        assert_eq!(vault.read("Memories/deep/a.md").unwrap(), "one");
        let other = vault.untrash(".trash/Memories/deep/a (trashed).md", "Memories/a.md").unwrap();
        assert_eq!(other, "Memories/a (restored).md");
        assert_eq!(vault.read(&other).unwrap(), "two");
        assert!(matches!(vault.untrash(&trashed, "Memories/deep/a.md"), Err(Error::NotFound { .. })));
    }
}
