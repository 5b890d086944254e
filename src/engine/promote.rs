//! Promote: what has proved itself becomes a note in the vault, then a line in the journal, then a commit.
//!
//! In that order, so that a crash leaves nothing half: a note without its line is found and finished by the next
//! reconcile, a line without its commit by the next tidy.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::{stem, subject};
use super::open::PromotionState;
use super::prepare::MAX_TEXT_BYTES;
use super::reconcile::{ReadBack, conflict_marker, is_ours};
use super::upkeep::{NOTES_A_TURN, let_others_write};
use super::{Engine, lenient};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::git::{Change, Kind as ChangeKind};
use crate::id::{MemoryId, content_hash};
use crate::memory::{By, Line, Memory, Op, Source, Status, Who, Wrote};
use crate::note::{self, NewNote, Note, Value, frontmatter, name};
use crate::redact::redact;

/// A request to promote.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PromoteRequest {
    /// Promote these, whatever their age..
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub ids: Vec<String>,
    /// Only say what would be promoted.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub dry_run: Option<bool>,
    /// Also untrusted ones; only if a person said so.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub force: Option<bool>,
    /// Also pin them.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub pin: Option<bool>,
}

/// A memory that has a note now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promoted {
    /// Its id.
    pub id: String,
    /// Its note, from the vault's root.
    pub note: String,
    /// The git commit; absent without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why it was promoted.
    pub why: String,
    /// Opens the note in Obsidian.
    #[serde(default)]
    #[schemars(skip)]
    pub obsidian: String,
}

/// A memory that would be promoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its text, shortened.
    pub text: String,
    /// Why it qualifies.
    pub why: String,
}

/// A memory that was asked for and not promoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its id, as given.
    pub id: String,
    /// Why not.
    pub why: String,
}

/// What was promoted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromoteAnswer {
    /// Memories that have a note now.
    pub promoted: Vec<Promoted>,
    /// What would be promoted (`dry_run`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// What was not, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Why there is no commit, where git was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What a request to promote is about.
struct Choice {
    /// To be promoted, with the reason.
    chosen: Vec<(Memory, String)>,
    /// Asked for, and promoted before.
    had: Vec<Promoted>,
    /// Asked for in vain.
    skipped: Vec<Skipped>,
}

impl Engine {
    /// Promotes memories. On return their notes and lines are on disk, committed where there is git.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Busy`]; what was promoted before stays promoted. Memories that cannot be promoted
    /// are no error: they are in `skipped`.
    pub fn promote(&self, request: &PromoteRequest) -> Result<PromoteAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        let mut read = ReadBack::default();
        if !request.dry_run.unwrap_or(false) {
            // A note whose line a crash took is found first, and not written twice.
            read = self.read_back_at(now, false)?;
        }
        let Choice { chosen, mut had, mut skipped } = self.choose(request, now);
        for (id, note) in read.finished {
            let why = "its promotion was begun before a crash, and is finished now".into();
            had.retain(|had| had.id != id.to_string());
            had.push(Promoted { commit: read.commit.clone(), ..self.promoted(id, note, why) });
        }
        if request.dry_run.unwrap_or(false) || chosen.is_empty() {
            let candidates = chosen.into_iter().map(|(memory, why)| Candidate {
                id: memory.id.to_string(),
                text: super::say::short(&memory.text),
                why,
            });
            let candidates = candidates.collect();
            return Ok(PromoteAnswer { promoted: had, candidates, skipped, notice: None });
        }
        let pin = request.pin.unwrap_or(false);
        let (mut promoted, mut changes): (Vec<Promoted>, Vec<Change>) = (Vec::new(), Vec::new());
        for (turn, chosen) in chosen.chunks(NOTES_A_TURN).enumerate() {
            if turn > 0 {
                let_others_write();
            }
            self.write(now, |draft| {
                changes.extend(self.ensure_vault(now)?);
                let mut names = self.vault.names()?;
                let mut lines = Vec::new();
                for (memory, why) in chosen {
                    let current = draft.store().state.get(memory.id).cloned();
                    let Some(mut memory) = current.filter(|memory| !self.has_note(memory)) else {
                        let why = "another process was faster".into();
                        skipped.push(Skipped { id: memory.id.to_string(), why });
                        continue;
                    };
                    if pin && !memory.is_pinned {
                        memory.is_pinned = true;
                        lines.push(Line { pinned: Some(true), ..Line::about(Op::Revise, memory.id) });
                    }
                    let note = self.add_note(&memory, &mut names, &mut lines)?;
                    promoted.push(self.promoted(memory.id, note, why.clone()));
                }
                Ok((lines, ()))
            })?;
        }
        changes.extend(promoted.iter().map(|promoted| Change { path: promoted.note.clone(), kind: ChangeKind::Write }));
        let ids: Vec<String> = promoted.iter().map(|promoted| promoted.id.clone()).collect();
        let titles: Vec<&str> = promoted.iter().map(|promoted| stem(&promoted.note)).collect();
        drop(self.keep_seen());
        let (commit, notice) = self.commit(&changes, &subject("Promote", &titles), &ids, now)?;
        for promoted in &mut promoted {
            promoted.commit.clone_from(&commit);
        }
        promoted.extend(had);
        Ok(PromoteAnswer { promoted, candidates: Vec::new(), skipped, notice })
    }

    fn promoted(&self, id: MemoryId, note: String, why: String) -> Promoted {
        Promoted { id: id.to_string(), obsidian: self.obsidian_address(&note), note, commit: None, why }
    }

    /// What a request is about, with the reason; and what it asked for in vain.
    fn choose(&self, request: &PromoteRequest, now: Timestamp) -> Choice {
        let store = self.store();
        let (mut chosen, mut had, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for text in &request.ids {
            match Self::resolve_existing(&store.state, text) {
                Err(error) => skipped.push(Skipped { id: text.clone(), why: error.to_string() }),
                Ok(memory) if self.has_note(memory) => {
                    let note = memory.note.as_ref().map_or(String::new(), |note| note.path.clone());
                    let why = "it has a note already".into();
                    had.push(self.promoted(memory.id, note, why));
                }
                Ok(memory) => match Self::may_promote(memory, request.force.unwrap_or(false)) {
                    Err(why) => skipped.push(Skipped { id: memory.id.to_string(), why }),
                    Ok(()) => chosen.push((memory.clone(), "asked for".to_owned())),
                },
            }
        }
        if request.ids.is_empty() {
            for memory in store.state.memories() {
                if memory.note.is_some() || memory.status(&self.config, now) != Status::Active {
                    continue;
                }
                let PromotionState { eligible, why } = self.promotion_state(memory, now);
                if eligible {
                    chosen.push((memory.clone(), why));
                }
            }
            chosen.sort_by_key(|(memory, _)| (memory.created, memory.id));
        }
        let mut seen = HashSet::new();
        chosen.retain(|(memory, _)| seen.insert(memory.id));
        Choice { chosen, had, skipped }
    }

    /// Whether a memory has a note that lies in the vault.
    fn has_note(&self, memory: &Memory) -> bool {
        let note = memory.note.as_ref().filter(|note| note.is_there());
        note.is_some_and(|note| !matches!(self.vault.read(&note.path), Err(Error::NotFound { .. })))
    }

    fn may_promote(memory: &Memory, force: bool) -> std::result::Result<(), String> {
        if let Some(superseded) = memory.superseded {
            return Err(format!("{} took its place", superseded.by));
        }
        if !memory.is_trusted() && !force {
            return Err("it came from a tool or the web; `force` promotes it if a person vouches for it".into());
        }
        Ok(())
    }

    /// Writes the note of a memory and adds the line that says so. Returns the note's path.
    /// `names` are those of the vault's notes: what its text may link to, and what its own name must not be.
    pub(super) fn add_note(
        &self,
        memory: &Memory,
        names: &mut BTreeSet<String>,
        lines: &mut Vec<Line>,
    ) -> Result<String> {
        let (title, text) = self.render_note(memory, names);
        let (text, _) = redact(&text);
        let path = self.vault.add(&title, memory.id, &text, names)?;
        self.saw_written(&path, &content_hash(text.as_str().as_bytes()), memory.id);
        lines.push(Line {
            path: Some(path.clone()),
            hash: Some(content_hash(text.as_str().as_bytes())),
            wrote: Some(self.wrote(memory)),
            ..Line::about(Op::Promote, memory.id)
        });
        Ok(path)
    }

    /// The numbers of a memory that its note shows.
    pub(super) fn wrote(&self, memory: &Memory) -> Wrote {
        let strength = memory.trace(&self.config).strength;
        let strength = super::remember::round(strength);
        Wrote { kind: memory.current_kind(&self.config), strength, pinned: memory.is_pinned, status: Status::Active }
    }

    /// Title and text of a new note.
    fn render_note(&self, memory: &Memory, names: &BTreeSet<String>) -> (String, String) {
        let linked = with_notes(&memory.entities, names);
        let trace = memory.trace(&self.config);
        let title = memory.title.clone().unwrap_or_else(|| name::title_from(&memory.text));
        let is_cut = name::file_stem(&title).cut;
        let text = note::render(&NewNote {
            id: memory.id,
            title: is_cut.then_some(title.as_str()),
            kind: memory.current_kind(&self.config).as_str(),
            status: Status::Active.as_str(),
            created: &self.date(memory.created),
            last_used: &self.date(trace.last_used()),
            uses: u64::from(trace.uses()),
            strength: super::remember::round(trace.strength),
            half_life_days: trace.half_life_days,
            pinned: memory.is_pinned,
            entities: &memory.entities,
            linked: &linked,
            source: &self.source_text(memory),
            tags: &memory.tags,
            aliases: &[],
            text: &memory.text,
        });
        (title, text)
    }

    /// Where a memory comes from, for people: `Claude Desktop, 2026-11-29`.
    fn source_text(&self, memory: &Memory) -> String {
        let source = memory.sources.first().cloned().unwrap_or_default();
        let Source { who, speaker, client, .. } = source;
        let who = who.map(|who| match who {
            Who::User => "user",
            Who::Agent => "agent",
            Who::Tool => "tool",
            Who::Web => "web",
            Who::Import => "import",
            Who::Note => "note",
        });
        let from = client.or(speaker).or(who.map(str::to_owned)).unwrap_or_else(|| "Ebbmark".into());
        format!("{from}, {}", self.date(memory.created))
    }

    /// Carries changed fields of a promoted memory into its note. Returns the line that says so, and what to commit.
    pub(super) fn revise_note(&self, memory: &Memory, line: Line) -> Result<(Line, Option<Change>)> {
        let Some(note) = memory.note.as_ref().filter(|note| note.is_there()) else { return Ok((line, None)) };
        let old = match self.vault.read(&note.path) {
            // A note that a person removed is not written again: the journal keeps the change.
            Err(Error::NotFound { .. }) => return Ok((line, None)),
            old => old?,
        };
        // What keeps an edit from being read back would be in the way the next time, too.
        let refused = |why: &str, next: String| Err(Error::invalid(format!("note `{}`", note.path), why, next));
        if let Some((line, _)) = conflict_marker(&old) {
            return refused("git left a conflict in it", format!("resolve it first: it begins in line {line}"));
        }
        let there = Note::parse(&old).id();
        if there != Some(memory.id) {
            let why = there.map_or("its frontmatter has no `id` any more".into(), |other| {
                format!("its frontmatter has the id of {other} now")
            });
            return refused(&why, format!("write `id: {}` back into it; nothing was changed", memory.id));
        }
        if content_hash(old.as_bytes()) != note.hash {
            // A person wrote since it was last read back: their words go first.
            return Err(Error::Changed { path: self.vault.root().join(&note.path) });
        }
        let mut text = old.clone();
        let mut after = memory.clone();
        if let Some(kind) = line.kind {
            (after.kind, after.is_kind_chosen) = (kind, true);
            text = frontmatter::set(&text, "kind", &Value::from(kind.as_str()))?;
            if is_ours(&Note::parse(&text), "half_life_days") {
                let half_life_days = self.config.kind_profile(kind).half_life_days;
                text = frontmatter::set(&text, "half_life_days", &number(half_life_days))?;
            }
        }
        if let Some(strength) = line.strength {
            after.strength = Some(strength);
            text = frontmatter::set(&text, "strength", &number(super::remember::round(strength)))?;
        }
        if let Some(pinned) = line.pinned {
            after.is_pinned = pinned;
            text = frontmatter::set(&text, "pinned", &Value::from(pinned))?;
        }
        if let Some(title) = &line.title {
            text = frontmatter::set(&text, "title", &Value::from(title.as_str()))?;
        }
        let is_cleared = |name: &str| line.clear.iter().any(|cleared| cleared == name);
        if line.tags.is_some() || is_cleared("tags") {
            let tags: Vec<Value> = line.tags.iter().flatten().map(|tag| Value::from(tag.as_str())).collect();
            text = frontmatter::set(&text, "tags", &Value::from(tags))?;
        }
        if line.entities.is_some() || is_cleared("entities") {
            after.entities = line.entities.clone().unwrap_or_default();
            let links: Vec<Value> = after
                .entities
                .iter()
                .map(|entity| Value::from(note::link::Link::to(entity, None).to_string()))
                .collect();
            text = frontmatter::set(&text, "entities", &Value::from(links))?;
        }
        if let Some(new) = &line.text {
            // The memory never said what a longer text says: nobody who revises it knows of that.
            let bytes = Note::parse(&text).text().len();
            if bytes > MAX_TEXT_BYTES {
                let why = format!("has {bytes} bytes of text, more than the {MAX_TEXT_BYTES} of a memory");
                return refused(&why, "edit the note itself, or move most of it to one of its own".into());
            }
            let linked = with_notes(&after.entities, &self.vault.names()?);
            text = Note::parse(&text).with_text(new, &linked)?;
        }
        if text == old {
            return Ok((line, None));
        }
        self.vault.edit(&note.path, &content_hash(old.as_bytes()), &text)?;
        // One line for both: were only the second of two on disk after a power cut, it would vouch for a text that the
        // memory does not have.
        let said = Line {
            op: Op::Note,
            hash: Some(content_hash(text.as_bytes())),
            by: Some(By::Ebbmark),
            wrote: Some(self.wrote_in(&Note::parse(&text), &after)),
            ..line
        };
        Ok((said, Some(Change { path: note.path.clone(), kind: ChangeKind::Write })))
    }
}

/// A whole number is written without a fraction.
/// Those of the entities that have a note: only to these a text links.
fn with_notes(entities: &[String], names: &BTreeSet<String>) -> Vec<String> {
    let has_note = |entity: &&String| names.contains(&name::key(&name::file_stem(entity).name));
    entities.iter().filter(has_note).cloned().collect()
}

pub(super) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { Value::from(value as i64) } else { Value::from(value) }
}
