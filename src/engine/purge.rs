//! Purge: the text of a memory leaves everything that we made, and the answer names what cannot be reached.
//!
//! The line comes first and is durable. What follows can be cut short at any point: purging again, or `tidy`, on this
//! machine and on every other one that reads the line, goes on. Compaction comes last, because the lines that are
//! still in the own journal tell that the rest may not be done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::{TRAILER, subject};
use super::forget::{ForgetAnswer, ForgetRequest};
use super::tidy::TidyAnswer;
use super::{Draft, Engine, say};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::files;
use crate::git::{Change, Git, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};
use crate::index::{Index, VectorFile};
use crate::memory::{CONSOLIDATED_FROM, Line, Memory, Op, Purge, State};
use crate::note::Note;
use crate::similarity::normal_form;
use crate::vault::MEMORIES;
use crate::words;

/// The action that tokens are given for.
const PURGE: &str = "purge";
/// Texts below this length, bytes, are not searched for: they stand everywhere.
const MIN_TEXT: usize = 4;
/// Titles and excerpts below this length, bytes, are not searched for.
const MIN_TITLE: usize = 12;
/// Files of the vault above this length, bytes, are not searched: they are films and archives.
const MAX_SEARCHED: u64 = 64 << 20;
/// How often compaction is tried where other writers come between.
const ATTEMPTS: usize = 5;

/// A memory that would be forgotten or purged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Texts that it had before, which go too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// Its notes, from the vault's root, which go too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Preview {
    /// A memory that would be forgotten.
    pub(super) fn of(id: MemoryId, text: String) -> Preview {
        Preview { id: id.to_string(), text, earlier: Vec::new(), notes: Vec::new() }
    }
}

/// What is asked to be purged.
struct Target {
    id: MemoryId,
    /// Its text, where it is known.
    text: String,
    /// All that it says, for the token.
    content: String,
    /// Hash of its note as last seen.
    note_hash: Option<String>,
    is_purged: bool,
}

impl Target {
    fn of(state: &State, id: MemoryId) -> Result<Target> {
        let memory = state.get(id).or_else(|| state.forgotten(id));
        let told = memory.map(|memory| memory.whole_line(Op::Remember, state.said_to_supersede(id)));
        let content = serde_json::to_string(&told).map_err(|error| Error::Internal(error.to_string()))?;
        let text = memory.map(|memory| memory.text.clone()).unwrap_or_default();
        let note_hash = memory.and_then(|memory| memory.note.as_ref()).map(|note| note.hash.clone());
        Ok(Target { id, text, content, note_hash, is_purged: state.is_purged(id) })
    }
}

/// What a token is bound to, whatever the order of the ids.
fn content(targets: &[&Target]) -> String {
    let mut content: Vec<String> = targets.iter().map(|target| format!("{} {}\n", target.id, target.content)).collect();
    content.sort_unstable();
    content.concat()
}

/// What was known of the memories before they were purged: by this it is seen whether anything is left.
#[derive(Default)]
struct Known {
    texts: BTreeSet<String>,
    /// Where notes of theirs were, from the vault's root.
    paths: BTreeSet<String>,
}

impl Known {
    fn add_memory(&mut self, memory: &Memory) {
        self.add_text(Some(&memory.text), MIN_TEXT);
        self.add_text(memory.title.as_ref(), MIN_TITLE);
        self.paths.extend(memory.note.as_ref().map(|note| note.path.clone()));
    }

    fn add_line(&mut self, line: &Line) {
        self.add_text(line.text.as_ref(), MIN_TEXT);
        self.add_text(line.title.as_ref(), MIN_TITLE);
        for source in line.source.iter().chain(&line.sources) {
            self.add_text(source.excerpt.as_ref(), MIN_TITLE);
        }
        if matches!(line.op, Op::Promote | Op::Note) {
            self.paths.extend(line.path.clone());
        }
    }

    fn add_text(&mut self, text: Option<&String>, least: usize) {
        self.texts.extend(text.map(|text| text.trim()).filter(|text| text.len() >= least).map(str::to_owned));
    }

    /// Whether bytes hold one of the texts, as it is or as it stands in JSON.
    fn is_in(&self, bytes: &[u8]) -> bool {
        self.texts.iter().any(|text| {
            let quoted = serde_json::Value::from(text.as_str()).to_string();
            let json = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            memmem::find(bytes, text.as_bytes()).is_some() || memmem::find(bytes, json.as_bytes()).is_some()
        })
    }

    /// As [`Known::is_in`], also where a note writes the text with links and escapes.
    fn is_in_note(&self, bytes: &[u8]) -> bool {
        self.is_in(bytes)
            || std::str::from_utf8(bytes).is_ok_and(|note| self.is_in(Note::parse(note).text().as_bytes()))
    }
}

impl Engine {
    /// Purges memories: without a token only says which, with it acts. What was purged before is finished at once.
    pub(super) fn purge(&self, request: &ForgetRequest, now: Timestamp) -> Result<ForgetAnswer> {
        let read = self.read_back_at(now, false)?;
        self.refresh_at(now)?;
        let (targets, not_found) = self.targets(&request.ids)?;
        let open: Vec<&Target> = targets.iter().filter(|target| !target.is_purged).collect();
        let notice = (!read.problems.is_empty()).then(|| read.problems.join("; "));
        let mut answer = ForgetAnswer { not_found, notice, ..ForgetAnswer::default() };
        let Some(token) = request.preview_token.as_deref().or(open.is_empty().then_some("")) else {
            answer.preview_token = Some(self.preview_token(PURGE, &content(&open), now)?);
            let mut lines = self.journal.lines_about(&open.iter().map(|target| target.id).collect::<Vec<_>>(), now)?;
            for target in open {
                let lines = lines.remove(&target.id.to_string()).unwrap_or_default();
                answer.preview.push(self.preview(target, lines.into_iter().map(|told| told.line).collect()));
            }
            return Ok(answer);
        };
        if targets.is_empty() {
            return Ok(answer);
        }
        let ids: Vec<MemoryId> = targets.iter().map(|target| target.id).collect();
        let known = self.known_of(&ids, now)?;
        self.write(now, |draft| Ok((self.purge_lines(draft, &ids, token)?, ())))?;
        answer.remains = self.erase(&known, true, now);
        answer.remains.extend(self.remains(&ids, &known, now)?);
        answer.forgotten = ids.iter().map(ToString::to_string).collect();
        Ok(answer)
    }

    /// What would go with a memory, by the lines about it.
    fn preview(&self, target: &Target, lines: Vec<Line>) -> Preview {
        let text = if target.text.is_empty() {
            "(forgotten; its text has left this journal already)".to_owned()
        } else {
            target.text.clone()
        };
        let (mut earlier, mut notes): (Vec<String>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        for line in lines {
            earlier.extend(line.text.filter(|earlier| *earlier != text));
            notes.extend(line.path);
        }
        let mut seen = BTreeSet::new();
        earlier.retain(|text| seen.insert(text.clone()));
        let is_there = |path: &String| self.vault.root().join(path).is_file();
        Preview { id: target.id.to_string(), text, earlier, notes: notes.into_iter().filter(is_there).collect() }
    }

    /// The memories that ids mean, each once: existing, forgotten and purged ones.
    fn targets(&self, ids: &[String]) -> Result<(Vec<Target>, Vec<String>)> {
        let store = self.store();
        let (mut targets, mut not_found): (Vec<Target>, _) = (Vec::new(), Vec::new());
        for text in ids {
            match Self::resolve(&store.state, text).ok().filter(|id| store.state.newest_order(*id).is_some()) {
                Some(id) if targets.iter().any(|target| target.id == id) => {}
                Some(id) => targets.push(Target::of(&store.state, id)?),
                None => not_found.push(text.clone()),
            }
        }
        Ok((targets, not_found))
    }

    /// The lines that purge what is not purged yet, if the token was given for it as it is now.
    fn purge_lines(&self, draft: &Draft<'_>, ids: &[MemoryId], token: &str) -> Result<Vec<Line>> {
        let store = draft.store();
        let targets = ids.iter().map(|id| Target::of(&store.state, *id)).collect::<Result<Vec<Target>>>()?;
        let open: Vec<&Target> = targets.iter().filter(|target| !target.is_purged).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        self.check_preview(token, PURGE, &content(&open), draft.now)?;
        let line = |target: &&Target| {
            let hash = self.salted_hash(target, draft)?;
            Ok(Line { hash: Some(hash), ..Line::about(Op::Purge, target.id) })
        };
        open.iter().map(line).collect()
    }

    /// `salt-hash` of the text in normal form and, where it had one, its note's hash; nothing of a text that is not
    /// known any more.
    fn salted_hash(&self, target: &Target, draft: &Draft<'_>) -> Result<String> {
        if target.text.is_empty() {
            return Ok(String::new());
        }
        let salt = format!("purge\n{}\n{}\n{}", draft.replica, draft.number, target.id);
        let salt = format!("{:08x}", self.randomness.bits(&salt)? >> 32);
        let hash = content_hash(format!("{salt}\n{}", normal_form(&target.text)).as_bytes());
        let note_hash = target.note_hash.as_ref().map_or(String::new(), |hash| format!("-{hash}"));
        Ok(format!("{salt}-{hash}{note_hash}"))
    }

    /// What the journals and the state tell of memories, earlier texts included.
    fn known_of(&self, ids: &[MemoryId], now: Timestamp) -> Result<Known> {
        let mut known = Known::default();
        for told in self.journal.lines_about(ids, now)?.values().flatten() {
            known.add_line(&told.line);
        }
        let store = self.store();
        for memory in ids.iter().filter_map(|id| store.state.get(*id).or_else(|| store.state.forgotten(*id))) {
            known.add_memory(memory);
        }
        Ok(known)
    }

    /// Finishes what a crash or another machine left of a purge. Cheap where nothing was ever purged.
    pub(super) fn finish_purges(&self, now: Timestamp, answer: &mut TidyAnswer) -> Result<()> {
        self.refresh_at(now)?;
        if self.store().state.all_purged().next().is_none() {
            return Ok(());
        }
        let open = self.unfinished_purges(now);
        answer.problems.extend(self.erase(&Known::default(), open > 0, now));
        // A look at the journal costs reading it: only where something was to be done.
        if open > 0 {
            answer.purged += open.saturating_sub(self.unfinished_purges(now));
        }
        Ok(())
    }

    /// Memories that were purged and of which this machine's journal still says something.
    pub(super) fn unfinished_purges(&self, now: Timestamp) -> u64 {
        if self.store().state.all_purged().next().is_none() {
            return 0;
        }
        self.compact_now(true, false, now).map_or(0, |forecast| forecast.purged as u64)
    }

    /// Takes what was purged out of everything of ours. What fails stops nothing else; answers with what failed.
    /// Unless `is_due` the own journal and the index are clean already; everything else is looked at.
    fn erase(&self, known: &Known, is_due: bool, now: Timestamp) -> Vec<String> {
        let mut troubles = self.erase_notes(known, now).unwrap_or_else(|error| vec![error.to_string()]);
        let mut take = |done: Result<()>| troubles.extend(done.err().map(|error| error.to_string()));
        // Also where the own journal tells nothing of the memory: its lines may have been set aside.
        take(self.erase_working_files(known));
        take(self.erase_seen());
        if is_due {
            take(self.remove_misses());
            take(self.rebuild_index());
            take(self.compact_purged(now));
            // Compaction may have moved unreadable lines there.
            take(self.erase_working_files(known));
        }
        take(self.erase_copies(now));
        take(self.refresh_at(now));
        troubles
    }

    /// What was seen of notes tells their names, which are words of the memory.
    fn erase_seen(&self) -> Result<()> {
        let purged: BTreeSet<MemoryId> = self.store().state.all_purged().map(|(id, _)| id).collect();
        {
            let mut seen = self.seen();
            // A note that was left because a person wrote in it is told of, and keeps its name.
            seen.drop_notes(|path, id| purged.contains(&id) && self.vault.read(path).is_err());
        }
        self.keep_seen()?;
        // Of other vaults, which are not at hand, everything is looked at anew.
        self.remove_other_seen()
    }

    /// The own journal without the lines of purged memories.
    fn compact_purged(&self, now: Timestamp) -> Result<()> {
        let mut attempt = 0;
        loop {
            self.refresh_at(now)?;
            attempt += 1;
            match self.compact_now(false, false, now) {
                Err(Error::Changed { .. }) if attempt < ATTEMPTS => {}
                done => return done.map(drop),
            }
        }
    }

    /// Stale copies of the own journal: nobody else will ever clean them.
    fn erase_copies(&self, now: Timestamp) -> Result<()> {
        if !self.journal.has_copies()? {
            return Ok(());
        }
        let guard = self.journal.lock()?;
        self.refresh_at(now)?;
        // The store is not held while the journal is asked: a reader holds that and waits for the store.
        guard.erase_in_copies(|line| is_erased(line, &self.store().state))
    }

    /// Removes the notes of purged memories, also from the trash, and commits that.
    fn erase_notes(&self, known: &Known, now: Timestamp) -> Result<Vec<String>> {
        if !self.vault.exists() {
            return Ok(Vec::new());
        }
        let (mut changes, mut problems): (Vec<Change>, Vec<String>) = (Vec::new(), Vec::new());
        let mut ids = BTreeSet::new();
        let removed = |path: &str| Change { path: path.to_owned(), kind: ChangeKind::Remove };
        let purged: HashMap<MemoryId, Purge> = {
            let _guard = self.journal.lock()?;
            self.refresh_at(now)?;
            let purged: HashMap<MemoryId, Purge> =
                self.store().state.all_purged().map(|(id, purge)| (id, purge.clone())).collect();
            for (path, id) in self.seen_notes_of(|id| purged.contains_key(&id)) {
                let Ok(text) = self.vault.read(&path) else { continue };
                if Note::parse(&text).id() != Some(id) {
                    continue;
                }
                let is_as_seen = purged[&id].note_hashes.contains(&content_hash(text.as_bytes()));
                if !is_as_seen && !known.is_in_note(text.as_bytes()) {
                    problems.push(format!(
                        "{path}: it names the purged memory {id} and says something else than was last seen of it; \
                         it was left: remove it yourself, or its `id`"
                    ));
                    continue;
                }
                match self.vault.remove(&path) {
                    Ok(()) => {
                        changes.push(removed(&path));
                        ids.insert(id.to_string());
                    }
                    Err(error) => problems.push(error.to_string()),
                }
            }
            for (id, path) in self.vault.trashed()? {
                if purged.contains_key(&id) {
                    problems.extend(self.vault.remove(&path).err().map(|error| error.to_string()));
                }
            }
            self.vault.remove_leftovers()?;
            purged
        };
        // Hubs name notes, and these are called by what their memories say.
        changes.extend(self.renew_hubs(self.stale_hubs(now))?);
        // A crash may have come between the removal and its commit.
        if let Some(git) = self.git() {
            for (path, note) in git.missing(MEMORIES)? {
                let id = Note::parse(&String::from_utf8_lossy(&note)).id().filter(|id| purged.contains_key(id));
                if let Some(id) = id.filter(|_| !changes.iter().any(|change| change.path == path)) {
                    changes.push(removed(&path));
                    ids.insert(id.to_string());
                }
            }
        }
        let ids: Vec<String> = ids.into_iter().collect();
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        let (_, notice) = self.commit(&changes, &subject("Purge", &names), &ids, now)?;
        problems.extend(notice);
        Ok(problems)
    }

    /// Takes purged memories out of the quarantine, and removes files in which they were being edited.
    fn erase_working_files(&self, known: &Known) -> Result<()> {
        let _guard = self.journal.lock()?;
        let ids: Vec<MemoryId> = self.store().state.all_purged().map(|(id, _)| id).collect();
        for id in &ids {
            files::remove(&self.cache().join(format!("edit-{id}.md")))?;
        }
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let folder = self.home.join("quarantine");
        files::remove_leftovers(&folder);
        for path in files_in(&folder) {
            let bytes = files::read(&path)?;
            let is_kept =
                |line: &&[u8]| !known.is_in(line) && !ids.iter().any(|id| memmem::find(line, id.as_bytes()).is_some());
            let kept: Vec<u8> =
                bytes.split_inclusive(|byte| *byte == b'\n').filter(is_kept).flatten().copied().collect();
            if kept == bytes {
                continue;
            }
            // Only the line that says where they came from.
            let is_empty = kept.split(|byte| *byte == b'\n').all(|line| line.is_empty() || line.starts_with(b"# "));
            if is_empty { files::remove(&path)? } else { files::write_atomic(&path, &kept)? }
        }
        Ok(())
    }

    /// Makes the index anew in another folder and removes the old ones: in those the words of what was deleted stay
    /// until tantivy merges.
    pub(super) fn rebuild_index(&self) -> Result<()> {
        VectorFile::remove_all(&self.cache())?;
        if Index::folders(&self.cache())?.is_empty() {
            return Ok(());
        }
        {
            let mut state = self.index();
            state.index = None;
            self.store_mut().leave_index();
            state.index = Some(Index::discard(&self.cache(), words::ANALYZER_VERSION)?);
            state.was_opened = true;
            state.trouble = None;
        }
        for folder in Index::leftovers(&self.cache(), words::ANALYZER_VERSION)? {
            files::remove_folder(&folder)?;
        }
        self.fold_index().map(drop)
    }

    /// What the purge did not reach, in plain words.
    fn remains(&self, ids: &[MemoryId], known: &Known, now: Timestamp) -> Result<Vec<String>> {
        let mut remains = Vec::new();
        let foreign = self.foreign_replicas(ids, now)?;
        for replica in &foreign {
            remains.push(format!(
                "the journal of machine {replica}: only that machine rewrites its file; its next `ebbmark tidy` or \
                 hour of `ebbmark serve` does, once this journal has reached it. If that machine is gone: \
                 `EBBMARK_REPLICA={replica} ebbmark tidy`"
            ));
        }
        let quoting = self.quoting(known);
        remains.extend(quoting.iter().map(|(id, text)| {
            format!("memory {id} says it too: {}; `ebbmark forget {id} --purge` purges it", say::short(text))
        }));
        remains.extend(self.made_of(ids).into_iter().filter(|id| !quoting.contains_key(id)).map(|id| {
            format!("memory {id} was made of it and others, in other words: `ebbmark open {id}` shows what it says")
        }));
        let journals: Vec<PathBuf> = self.journal.files().into_iter().map(|file| file.path).collect();
        for path in self.files_that_hold(known) {
            let place = path.strip_prefix(self.vault.root()).unwrap_or(&path).display();
            if !journals.contains(&path) {
                remains.push(format!("{place}: holds the text and was left, it is not ours alone: edit it"));
            } else if foreign.is_empty() && quoting.is_empty() {
                remains.push(format!("{place}: lines that are not about the memory hold these words"));
            }
        }
        remains.extend(self.remains_in_git(ids, known));
        remains.push(
            "what is outside Ebbmark: backups and copies of these folders, Obsidian's file recovery and sync \
             versions, the transcripts of the client in which it was said"
                .into(),
        );
        Ok(remains)
    }

    /// Other machines whose journals here still tell of purged memories.
    fn foreign_replicas(&self, ids: &[MemoryId], now: Timestamp) -> Result<BTreeSet<String>> {
        let own = self.journal.replica()?;
        let about = self.journal.lines_about(ids, now)?;
        let store = self.store();
        let told = about.into_values().flatten().filter(|told| is_erased(&told.line, &store.state));
        Ok(told.map(|told| told.replica).filter(|replica| Some(replica) != own.as_ref()).collect())
    }

    /// Other memories that say what was purged.
    fn quoting(&self, known: &Known) -> BTreeMap<MemoryId, String> {
        let store = self.store();
        let told = store.state.memories().chain(store.state.all_forgotten());
        let quoting = told.filter(|memory| known.is_in(memory.text.as_bytes()));
        quoting.map(|memory| (memory.id, memory.text.clone())).collect()
    }

    /// All files of home and vault, outside git's folder, in which one of the texts stands.
    fn files_that_hold(&self, known: &Known) -> Vec<PathBuf> {
        if known.texts.is_empty() {
            return Vec::new();
        }
        let is_searched = |entry: &fs::DirEntry| {
            entry.path().starts_with(&self.home) || entry.metadata().is_ok_and(|facts| facts.len() <= MAX_SEARCHED)
        };
        let mut found = Vec::new();
        let mut folders = vec![self.home.clone(), self.vault.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                let holds = |bytes: Vec<u8>| match path.extension() {
                    Some(extension) if extension.eq_ignore_ascii_case("md") => known.is_in_note(&bytes),
                    _ => known.is_in(&bytes),
                };
                if kind.is_dir() && entry.file_name() != ".git" {
                    folders.push(path);
                } else if kind.is_file() && is_searched(&entry) && fs::read(&path).is_ok_and(holds) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// Whether git still has it, and the steps that take it out.
    /// Memories that one of these was consolidated into, ascending.
    fn made_of(&self, ids: &[MemoryId]) -> BTreeSet<MemoryId> {
        let store = self.store();
        let end = |end: &str| end.parse::<MemoryId>().ok();
        let edges = store.state.edges().map(|(edge, _)| edge).filter(|edge| edge.relation == CONSOLIDATED_FROM);
        let made =
            edges.filter(|edge| end(&edge.to).is_some_and(|to| ids.contains(&to))).filter_map(|edge| end(&edge.from));
        made.filter(|id| store.state.get(*id).is_some()).collect()
    }

    fn remains_in_git(&self, ids: &[MemoryId], known: &Known) -> Vec<String> {
        // Also where Ebbmark itself commits nothing.
        let Ok(git) = Git::open(self.vault.root()) else { return Vec::new() };
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let is_ours = |(key, value): &(String, String)| key == TRAILER && ids.contains(value);
        let mut paths: BTreeSet<String> = known.paths.clone();
        paths.retain(|path| git.log(1, Some(path)).is_ok_and(|log| !log.is_empty()));
        // The names that notes had before they were renamed in the vault.
        for entry in git.log(usize::MAX, Some(MEMORIES)).unwrap_or_default() {
            if entry.trailers.len() == 1 && entry.trailers.iter().all(is_ours) {
                paths.extend(entry.paths);
            }
        }
        if paths.is_empty() {
            return Vec::new();
        }
        let names: Vec<String> =
            paths.iter().map(|path| format!("--path {}", quoted(&git.path_in_work_tree(path)))).collect();
        let trailers: Vec<String> = ids.iter().map(|id| format!("b\"{TRAILER}: {id}\" in message")).collect();
        let mut remains = vec![format!(
            "the git history of {}. To take it out: close Obsidian, then `cd {} && git filter-repo --force \
             --invert-paths {} --message-callback 'return b\"Purged\" if {} else message'` \
             (git-filter-repo is a program of its own; every commit gets another name)",
            self.vault.root().display(),
            quoted(&self.vault.root().display().to_string()),
            names.join(" "),
            trailers.join(" or "),
        )];
        for remote in git.remotes() {
            remains.push(format!(
                "the remote {remote}, if it was pushed: after those steps `git push --force --all {remote}`, and clone \
                 anew wherever else it was cloned"
            ));
        }
        remains
    }
}

/// Whether a line says something of a memory that was purged after it, or was not told again since.
fn is_erased(line: &Line, state: &State) -> bool {
    let is_bare = line.text.is_none() && line.path.is_none() && line.hours.is_empty() && line.clear.is_empty();
    let is_kept = match line.op {
        Op::Purge | Op::Forgotten | Op::Unknown => true,
        // All that compaction leaves.
        _ => is_bare && !line.supersedes.is_empty(),
    };
    let is_purged = |id| state.is_purged(id) || state.purge_of(id).is_some_and(|purge| line.order() <= purge.order);
    !is_kept && line.id.is_some_and(is_purged)
}

/// Regular files of a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// An argument as a shell reads it.
fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}
