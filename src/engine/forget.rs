//! Forget and restore: a tombstone hides at once, the note moves to the vault's trash, and both can be undone.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::{stem, subject};
use super::filter::Filter;
use super::purge::Preview;
use super::relate::unsuperseding;
use super::{Draft, Engine, RecallRequest, lenient};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::git::{Change, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};

use crate::memory::{By, Line, Memory, Op, State, Status};
use crate::note::Note;
use crate::vault::TRASH;

/// The action that tokens are given for.
const FORGET: &str = "forget";
/// Memories that one text may mean.
const MOST_MATCHING: usize = 50;

/// A request to forget.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ForgetRequest {
    /// Ids, or unique prefixes.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub ids: Vec<String>,
    /// Instead of ids: what it is about; the first call only previews.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub matching: Option<String>,
    /// Erase for good; the first call only previews.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub purge: Option<bool>,
    /// From that preview.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub preview_token: Option<String>,
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetAnswer {
    /// Ids of forgotten memories.
    pub forgotten: Vec<String>,
    /// What would be forgotten or purged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preview: Vec<Preview>,
    /// What the call that does it must give; it holds for ten minutes, for these ids as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_token: Option<String>,
    /// How to undo it, and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// What a purge did not reach, and what to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<String>,
    /// Ids that no memory has, or that fit several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<String>,
    /// What could not be done to its note or committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A memory that is forgotten, and where its note lies.
pub(super) struct Gone {
    pub(super) id: MemoryId,
    pub(super) note: Option<String>,
}

/// A request to bring memories back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RestoreRequest {
    /// Ids of forgotten, faded, vanished or superseded memories.
    #[serde(deserialize_with = "lenient::words")]
    pub ids: Vec<String>,
}

/// A memory that is back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its note, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// From what it came back: forgotten, faded, vanished or superseded.
    pub was: String,
}

/// What was brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreAnswer {
    /// Memories that are back.
    pub restored: Vec<Restored>,
    /// Ids that were purged: their text is gone for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purged: Vec<String>,
    /// Ids that are neither forgotten, faded, vanished nor superseded, or not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<String>,
    /// What could not be committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl Engine {
    /// Forgets memories: from this instant they are in no answer. Undone by [`Engine::restore`] for
    /// `[forget] keep_days`. With `purge` their text is erased for good, in two calls: see [`ForgetRequest`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for no ids and for a token that does not fit; [`Error::Busy`], [`Error::Io`] where nothing was forgotten. Unknown ids are no
    /// error.
    pub fn forget(&self, request: &ForgetRequest) -> Result<ForgetAnswer> {
        let now = self.clock.now();
        let is_purge = request.purge.unwrap_or(false);
        if let Some(matching) = request.matching.as_deref().filter(|matching| !matching.trim().is_empty()) {
            if !request.ids.is_empty() {
                return Err(Error::invalid("matching", "stands instead of `ids`", "give one of them"));
            }
            let ids = self.matching(matching, now)?;
            if ids.is_empty() {
                return Ok(ForgetAnswer { not_found: vec![matching.to_owned()], ..ForgetAnswer::default() });
            }
            if is_purge {
                return self.purge(&ForgetRequest { ids, matching: None, ..request.clone() }, now);
            }
            return self.forget_matching(ids, request.preview_token.as_deref(), now);
        }
        if request.ids.is_empty() {
            let hint = "give the ids that `recall` returned, or say what it is about in `matching`";
            return Err(Error::invalid("ids", "there are none", hint));
        }
        if is_purge {
            return self.purge(request, now);
        }
        if request.preview_token.is_some() {
            let hint = "give `matching` or `purge: true` as in the call that previewed";
            return Err(Error::invalid("preview_token", "belongs to a preview", hint));
        }
        self.forget_ids(request, now)
    }

    /// Ids of what fits a text well enough, whatever its project and status, ascending.
    fn matching(&self, text: &str, now: Timestamp) -> Result<Vec<String>> {
        self.refresh_at(now)?;
        let include = ["faded", "superseded", "all_scopes"].map(str::to_owned).to_vec();
        let request = RecallRequest { include, ..RecallRequest::default() };
        let filter = Filter::of(&request, &self.config, &self.time_zone)?;
        let find = || self.search(&self.store(), &[text], &filter, MOST_MATCHING, now);
        let (ranked, _) = match find() {
            Err(error @ Error::Index { .. }) => {
                self.leave_index(&error);
                find()?
            }
            found => found?,
        };
        let fitting = ranked.into_iter().filter(|ranked| ranked.factors.fit.is_found());
        let mut ids: Vec<MemoryId> = fitting.map(|ranked| ranked.id).collect();
        ids.retain(|id| self.store().state.get(*id).is_some());
        ids.sort_unstable();
        Ok(ids.iter().map(ToString::to_string).collect())
    }

    /// Forgets what fitted a text, in two calls: the first one shows it.
    fn forget_matching(&self, ids: Vec<String>, token: Option<&str>, now: Timestamp) -> Result<ForgetAnswer> {
        let told = {
            let store = self.store();
            let memories = ids.iter().filter_map(|id| Self::resolve_existing(&store.state, id).ok());
            memories.map(|memory| (memory.id, memory.text.clone())).collect::<Vec<_>>()
        };
        let content: Vec<String> = told.iter().map(|(id, text)| format!("{id} {text:?}")).collect();
        let Some(token) = token else {
            let preview = told.into_iter().map(|(id, text)| Preview::of(id, text)).collect();
            let preview_token = Some(self.preview_token(FORGET, &content.concat(), now)?);
            return Ok(ForgetAnswer { preview, preview_token, ..ForgetAnswer::default() });
        };
        self.check_preview(token, FORGET, &content.concat(), now)?;
        self.forget_ids(&ForgetRequest { ids, ..ForgetRequest::default() }, now)
    }

    fn forget_ids(&self, request: &ForgetRequest, now: Timestamp) -> Result<ForgetAnswer> {
        let read = self.read_back_at(now, false)?;
        let (gone, not_found) = self.write(now, |draft| {
            let (lines, gone, not_found) = Self::forget_lines(&draft.store().state, &request.ids);
            Ok((lines, (gone, not_found)))
        })?;
        let (mut changes, mut troubles) = (Vec::new(), read.problems);
        // They are forgotten: what hinders their notes is said, and made up for by the next tidying.
        if let Err(error) = self.trash_notes(&gone, now, &mut changes, &mut troubles) {
            troubles.push(error.to_string());
        }
        let ids: Vec<String> = gone.iter().map(|gone| gone.id.to_string()).collect();
        let titles: Vec<&str> = gone.iter().filter_map(|gone| gone.note.as_deref()).map(stem).collect();
        let (_, notice) = self.commit(&changes, &subject("Forget", &titles), &ids, now)?;
        troubles.extend(notice);
        let undo = (!ids.is_empty()).then(|| {
            format!("`ebbmark restore {}` brings it back within {} days", ids.join(" "), self.config.forget.keep_days)
        });
        let notice = (!troubles.is_empty()).then(|| troubles.join("; "));
        Ok(ForgetAnswer { forgotten: ids, undo, not_found, notice, ..ForgetAnswer::default() })
    }

    /// The lines that forget these memories, each once, and which texts name none.
    pub(super) fn forget_lines(state: &State, texts: &[String]) -> (Vec<Line>, Vec<Gone>, Vec<String>) {
        let (mut lines, mut gone, mut not_found): (_, Vec<Gone>, _) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let Ok(memory) = Self::resolve_existing(state, text) else {
                not_found.push(text.clone());
                continue;
            };
            if gone.iter().any(|known| known.id == memory.id) {
                continue;
            }
            let note = memory.note.as_ref().filter(|note| note.is_there());
            lines.push(Line {
                hash: note.map(|note| note.hash.clone()),
                path: note.map(|note| format!("{TRASH}/{}", note.path)),
                ..Line::about(Op::Forget, memory.id)
            });
            gone.push(Gone { id: memory.id, note: note.map(|note| note.path.clone()) });
        }
        (lines, gone, not_found)
    }

    /// Moves the notes of what was forgotten to the trash.
    pub(super) fn trash_notes(
        &self,
        gone: &[Gone],
        now: Timestamp,
        changes: &mut Vec<Change>,
        troubles: &mut Vec<String>,
    ) -> Result<()> {
        let notes: Vec<(MemoryId, &String)> =
            gone.iter().filter_map(|gone| Some((gone.id, gone.note.as_ref()?))).collect();
        if notes.is_empty() {
            return Ok(());
        }
        // Under the lock, so that no restore comes between the look and the move.
        let _guard = self.journal.lock()?;
        self.refresh_at(now)?;
        for (id, path) in notes {
            match self.trash_note(id, path) {
                Ok(true) => changes.push(Change { path: path.clone(), kind: ChangeKind::Remove }),
                Ok(false) => {}
                Err(error) => troubles.push(error.to_string()),
            }
        }
        Ok(())
    }

    /// Moves the note of a forgotten memory to the trash, if it still is that memory's note and the memory still is
    /// forgotten. Answers whether the note is gone from its place. The home's lock must be held.
    pub(super) fn trash_note(&self, id: MemoryId, path: &str) -> Result<bool> {
        if self.store().state.forgotten(id).is_none() {
            return Ok(false);
        }
        match self.vault.read(path) {
            // A person removed it already.
            Err(Error::NotFound { .. }) => Ok(true),
            Ok(text) if Note::parse(&text).id() != Some(id) => Err(Error::invalid(
                format!("note `{path}`"),
                "holds something else than the forgotten memory",
                "it was left where it is",
            )),
            Ok(_) => self.vault.trash(path).map(|_| true),
            Err(error) => Err(error),
        }
    }

    /// Brings forgotten memories back, with their notes, and counts a use of faded ones so that they are recalled
    /// again.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no ids; [`Error::Busy`], [`Error::Io`]. Ids that need no restoring are no error.
    pub fn restore(&self, request: &RestoreRequest) -> Result<RestoreAnswer> {
        let now = self.clock.now();
        if request.ids.is_empty() {
            return Err(Error::invalid("ids", "there are none", "`ebbmark faded` lists what has faded"));
        }
        let mut changes = Vec::new();
        let (restored, purged, not_found) = self.write(now, |draft| {
            let (lines, answer) = self.restore_lines(draft, &request.ids, &mut changes)?;
            Ok((lines, (answer.restored, answer.purged, answer.not_found)))
        })?;
        let ids: Vec<String> = restored.iter().map(|restored| restored.id.clone()).collect();
        let titles: Vec<&str> = changes.iter().map(|change| stem(&change.path)).collect();
        let (_, notice) = self.commit(&changes, &subject("Restore", &titles), &ids, now)?;
        Ok(RestoreAnswer { restored, purged, not_found, notice })
    }

    /// The lines that bring these memories back, and what came of each; their notes are written.
    pub(super) fn restore_lines(
        &self,
        draft: &Draft<'_>,
        texts: &[String],
        changes: &mut Vec<Change>,
    ) -> Result<(Vec<Line>, RestoreAnswer)> {
        let (mut lines, mut restored, mut purged, mut not_found) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for text in texts {
            let store = draft.store();
            let id = Self::resolve(&store.state, text).ok();
            if id.is_some_and(|id| !seen.insert(id)) {
                continue;
            }
            if let Some(memory) = id.and_then(|id| store.state.forgotten(id)) {
                let memory = memory.clone();
                lines.push(memory.whole_line(Op::Restore, store.state.said_to_supersede(memory.id)));
                drop(store);
                let note = self.restore_note(&memory, &mut lines, changes)?;
                changes.extend(note.iter().map(|path| Change { path: path.clone(), kind: ChangeKind::Write }));
                restored.push(Restored { id: memory.id.to_string(), text: memory.text, note, was: "forgotten".into() });
            } else if let Some(memory) = id
                .and_then(|id| store.state.get(id))
                .filter(|memory| memory.status(&self.config, draft.now) == Status::Faded)
            {
                lines.push(Line {
                    how: Some("restored".into()),
                    hours: vec![draft.now.hour()],
                    mentions: store.state.mentions_of(memory.id, draft.replica) + 1,
                    ..Line::about(Op::Use, memory.id)
                });
                let was = "faded".into();
                restored.push(Restored { id: memory.id.to_string(), text: memory.text.clone(), note: None, was });
            } else if let Some(memory) = id.and_then(|id| store.state.get(id)).filter(|memory| memory.is_vanished) {
                let memory = memory.clone();
                lines.push(memory.whole_line(Op::Restore, store.state.said_to_supersede(memory.id)));
                drop(store);
                // Its note is written anew: it left the vault, and with it what only git still has.
                let mut names = self.vault.names()?;
                let note = self.vault.exists().then(|| self.add_note(&memory, &mut names, &mut lines)).transpose()?;
                changes.extend(note.iter().map(|path| Change { path: path.clone(), kind: ChangeKind::Write }));
                let was = "vanished".into();
                restored.push(Restored { id: memory.id.to_string(), text: memory.text, note, was });
            } else if let Some(memory) = id
                .and_then(|id| store.state.get(id))
                .filter(|memory| memory.status(&self.config, draft.now) == Status::Superseded)
            {
                lines.extend(unsuperseding(&store.state, memory.id));
                if memory.valid_until.is_some_and(|until| until <= draft.now) {
                    let clear = vec!["valid_until".to_owned()];
                    lines.push(Line { clear, ..Line::about(Op::Revise, memory.id) });
                }
                let was = "superseded".into();
                restored.push(Restored { id: memory.id.to_string(), text: memory.text.clone(), note: None, was });
            } else if id.is_some_and(|id| store.state.is_purged(id)) {
                purged.push(text.clone());
            } else {
                not_found.push(text.clone());
            }
        }
        Ok((lines, RestoreAnswer { restored, purged, not_found, notice: None }))
    }

    /// Moves a note back from the trash; where it is not there any more, writes it anew.
    fn restore_note(
        &self,
        memory: &Memory,
        lines: &mut Vec<Line>,
        changes: &mut Vec<Change>,
    ) -> Result<Option<String>> {
        let Some(note) = memory.note.as_ref().filter(|note| note.is_there()) else { return Ok(None) };
        if !self.vault.exists() {
            // Not mounted, or elsewhere: the note comes back with the vault.
            return Ok(None);
        }
        let lies_there = self.vault.read(&note.path).is_ok_and(|text| Note::parse(&text).id() == Some(memory.id));
        if lies_there {
            // The crash came between the tombstone and the move, or a person took it back; an edit is read back later.
            return Ok(Some(note.path.clone()));
        }
        let Some(trashed) = self.vault.find_in_trash(memory.id)? else {
            let written = self.make_vault(self.clock.now())?;
            changes.extend(written.into_iter().map(|path| Change { path, kind: ChangeKind::Write }));
            return self.add_note(memory, &mut self.vault.names()?, lines).map(Some);
        };
        let path = self.vault.untrash(&trashed, &note.path)?;
        let text = self.vault.read(&path)?;
        // What a person changed in the trash is read back like any edit: its hash is not taken as seen.
        let is_unchanged = content_hash(text.as_bytes()) == note.hash;
        lines.push(Line {
            path: Some(path.clone()),
            hash: is_unchanged.then(|| note.hash.clone()),
            by: Some(By::Ebbmark),
            wrote: note.wrote.filter(|_| is_unchanged),
            ..Line::about(Op::Note, memory.id)
        });
        Ok(Some(path))
    }
}
