//! Undo: the last operation of this machine is taken back, by lines that say the opposite. Nothing is cut off the
//! journal. Undoing again takes back the operation before; what undo did is no operation of its own.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::{stem, subject};
use super::forget::Gone;
use super::history::changed_fields;
use super::{Draft, Engine, say};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::git::{Change, Kind as ChangeKind};
use crate::id::MemoryId;
use crate::journal::Told;
use crate::memory::{By, GLOBAL_SCOPE, Line, Memory, Op, State};

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoAnswer {
    /// What was taken back, one entry each.
    pub undone: Vec<String>,
    /// When it was done.
    #[schemars(with = "String")]
    pub of: Timestamp,
    /// What of it was changed since, and stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<String>,
    /// What could not be done to a note or committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// The opposite of an operation.
#[derive(Default)]
struct Opposite {
    /// Revisions and relations.
    lines: Vec<Line>,
    /// Memories to forget.
    forget: Vec<String>,
    /// Memories to bring back.
    restore: Vec<String>,
    undone: Vec<String>,
    stays: Vec<String>,
    changes: Vec<Change>,
    gone: Vec<Gone>,
}

impl Engine {
    /// Takes back the last operation of this machine: remember, revise, forget, restore, relate, resolve, promote, and
    /// what rules replaced with it. Uses are no operations; what a person edited in the vault is none of ours.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is nothing to take back; [`Error::Invalid`] for a purge, which cannot be;
    /// [`Error::Busy`], [`Error::Io`].
    pub fn undo(&self) -> Result<UndoAnswer> {
        let now = self.clock.now();
        // What a person changed in the vault comes first, and stays.
        let read = self.read_back_at(now, false)?;
        self.flush_uses()?;
        let mut opposite = Opposite::default();
        let of = self.write(now, |draft| {
            let operation = self.last_operation(draft)?;
            let Some(first) = operation.first() else {
                return Err(Error::NotFound { what: "operation of this machine to take back".into() });
            };
            let (of, number) = (first.line.at, first.number);
            let purged = draft.store().state.all_purged().map(|(id, purge)| (purge.order, id)).max();
            if let Some((_, id)) = purged.filter(|(order, _)| *order > first.line.order()) {
                let why = format!("{id} was purged since, and that cannot be taken back");
                return Err(Error::invalid("undo", why, "what came before it stays as it is"));
            }
            for told in operation.iter().rev() {
                self.add_opposite(draft, told, &mut opposite)?;
            }
            let mut lines = std::mem::take(&mut opposite.lines);
            let (forgotten, gone, _) = Self::forget_lines(&draft.store().state, &opposite.forget);
            lines.extend(forgotten);
            opposite.gone = gone;
            let (restored, answer) = self.restore_lines(draft, &opposite.restore, &mut opposite.changes)?;
            lines.extend(restored);
            opposite.stays.extend(answer.purged.iter().map(|id| format!("{id} was purged since")));
            if lines.is_empty() {
                // So that the next undo goes on before it.
                lines.push(Line::new(Op::Undo));
            }
            if let Some(line) = lines.first_mut() {
                line.undoes = Some(number);
            }
            Ok((lines, of))
        })?;
        let mut troubles = read.problems;
        if let Err(error) = self.trash_notes(&opposite.gone, now, &mut opposite.changes, &mut troubles) {
            troubles.push(error.to_string());
        }
        let titles: Vec<&str> = opposite.changes.iter().map(|change| stem(&change.path)).collect();
        let (_, notice) = self.commit(&opposite.changes, &subject("Undo", &titles), &[], now)?;
        troubles.extend(notice);
        Ok(UndoAnswer {
            undone: opposite.undone,
            of,
            stays: opposite.stays,
            notice: (!troubles.is_empty()).then(|| troubles.join("; ")),
        })
    }

    /// The lines of the last operation of this machine that was not taken back, in their order.
    fn last_operation(&self, draft: &Draft<'_>) -> Result<Vec<Told>> {
        let own = self.journal.lines_of(draft.replica, draft.now)?;
        let mut operations: Vec<Vec<Told>> = Vec::new();
        let mut undone: HashSet<u64> = HashSet::new();
        // Number of the line with which the current operation ends.
        let mut end = 0;
        for told in own {
            let is_further = told.number <= end;
            if !is_further {
                end = told.number.saturating_add(u64::from(told.line.lines.max(1)) - 1);
                operations.push(Vec::new());
            }
            undone.extend(told.line.undoes);
            if let Some(operation) = operations.last_mut() {
                operation.push(told);
            }
        }
        let is_one = |operation: &Vec<Told>| {
            let first = operation.first();
            first.is_some_and(|told| told.line.undoes.is_none() && !undone.contains(&told.number))
                && operation.iter().any(|told| is_operation(&told.line))
        };
        Ok(operations.into_iter().rev().find(is_one).unwrap_or_default())
    }

    /// Adds the opposite of one line.
    fn add_opposite(&self, draft: &Draft<'_>, told: &Told, opposite: &mut Opposite) -> Result<()> {
        let line = &told.line;
        let store = draft.store();
        let text = |id: MemoryId| {
            let memory = store.state.get(id).or_else(|| store.state.forgotten(id));
            memory.map_or(String::new(), |memory| format!(" \"{}\"", say::short(&memory.text)))
        };
        match (line.op, line.id) {
            (Op::Remember, Some(id)) if line.again => {
                for older in &line.supersedes {
                    if self.was_related(draft, told, *older)? {
                        continue;
                    }
                    opposite.lines.push(super::conflict::relation(Op::Unrelate, id, *older, crate::memory::SUPERSEDES));
                    opposite.undone.push(format!("superseded {older}{}", text(*older)));
                }
            }
            (Op::Remember, Some(id)) => {
                opposite.undone.push(format!("remembered {id}{}", text(id)));
                opposite.forget.push(id.to_string());
            }
            (Op::Restore, Some(id)) => {
                opposite.undone.push(format!("restored {id}{}", text(id)));
                opposite.forget.push(id.to_string());
            }
            (Op::Forget, Some(id)) => {
                opposite.undone.push(format!("forgot {id}{}", text(id)));
                opposite.restore.push(id.to_string());
            }
            (Op::Revise | Op::Note, Some(id)) if is_operation(line) => {
                let Some(memory) = store.state.get(id).cloned() else { return Ok(()) };
                drop(store);
                self.add_revision(draft, told, &memory, opposite)?;
            }
            (Op::Promote, Some(id)) => {
                let Some(memory) = store.state.get(id).filter(|memory| memory.is_promoted()).cloned() else {
                    return Ok(());
                };
                drop(store);
                self.add_demotion(&memory, opposite)?;
            }
            (Op::Relate | Op::Unrelate, _) => {
                let was = if line.op == Op::Relate { "related" } else { "took back" };
                let name = |part: &Option<String>| part.clone().unwrap_or_default();
                let (from, relation, to) = (name(&line.from), name(&line.relation), name(&line.to));
                opposite.undone.push(format!("{was} {from} {relation} {to}"));
                let op = if line.op == Op::Relate { Op::Unrelate } else { Op::Relate };
                opposite.lines.push(Line {
                    from: line.from.clone(),
                    to: line.to.clone(),
                    relation: line.relation.clone(),
                    hash: line.hash.clone(),
                    how: line.how.clone(),
                    strength: line.strength,
                    ..Line::new(op)
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a memory was said to take the place of an older one before a line said so again.
    fn was_related(&self, draft: &Draft<'_>, told: &Told, older: MemoryId) -> Result<bool> {
        let Some(id) = told.line.id else { return Ok(false) };
        Ok(self.state_before(draft, told, id)?.said_to_supersede(id).contains(&older))
    }

    /// All that was said of a memory before a line, folded.
    fn state_before(&self, draft: &Draft<'_>, told: &Told, id: MemoryId) -> Result<State> {
        let mut state = State::default();
        let before = (told.line.order(), told.number);
        for earlier in self.journal.lines_about(&[id], draft.now)?.remove(&id.to_string()).unwrap_or_default() {
            let is_before = (earlier.line.order(), earlier.number) < before
                || earlier.replica != told.replica && earlier.line.order() <= before.0;
            if is_before {
                state.apply(earlier.line, &earlier.replica, earlier.number, earlier.crc);
            }
        }
        state.settle();
        Ok(state)
    }

    /// Sets the fields that a line changed back to what they were, but for those that were changed since.
    fn add_revision(&self, draft: &Draft<'_>, told: &Told, memory: &Memory, opposite: &mut Opposite) -> Result<()> {
        let before = self.state_before(draft, told, memory.id)?;
        let Some(before) = before.get(memory.id).or_else(|| before.forgotten(memory.id)) else { return Ok(()) };
        let mut after = State::default();
        after.apply(before.whole_line(Op::Remember, Vec::new()), "before", 0, 0);
        let revised = Line { o: None, at: told.line.at, ..told.line.clone() };
        after.apply(Line { o: Some(i64::MAX), ..revised }, "after", 1, 0);
        let Some(after) = after.get(memory.id) else { return Ok(()) };
        let mut line = Line::about(Op::Revise, memory.id);
        for field in changed_fields(&told.line) {
            if value_of(memory, field) == value_of(after, field) {
                set_back(&mut line, before, field);
            } else {
                opposite.stays.push(format!("{field} of {} was changed since", memory.id));
            }
        }
        let changed = changed_fields(&line).join(", ");
        if changed.is_empty() {
            return Ok(());
        }
        opposite.undone.push(format!("revised {}: {changed}", memory.id));
        let (line, change) = self.revise_note(memory, line)?;
        opposite.lines.push(line);
        opposite.changes.extend(change);
        Ok(())
    }

    /// Takes the note away: the memory is short-term again. What had a note once is not promoted by itself again.
    fn add_demotion(&self, memory: &Memory, opposite: &mut Opposite) -> Result<()> {
        let Some(note) = memory.note.as_ref() else { return Ok(()) };
        match self.vault.read(&note.path) {
            Err(Error::NotFound { .. }) => {}
            Ok(text) if crate::id::content_hash(text.as_bytes()) != note.hash => {
                opposite.stays.push(format!("{} was edited since, and stays", note.path));
                return Ok(());
            }
            Ok(_) => {
                self.vault.trash(&note.path)?;
                opposite.changes.push(Change { path: note.path.clone(), kind: ChangeKind::Remove });
            }
            Err(error) => return Err(error),
        }
        opposite.undone.push(format!("promoted {} to {}", memory.id, note.path));
        opposite.lines.push(Line { gone: true, ..Line::about(Op::Note, memory.id) });
        opposite.lines.push(memory.whole_line(Op::Restore, Vec::new()));
        Ok(())
    }
}

/// Whether a line does something that can be taken back.
fn is_operation(line: &Line) -> bool {
    match line.op {
        Op::Remember => !line.again || !line.supersedes.is_empty(),
        // With a note, both are said in one line. What a person wrote is none of ours.
        Op::Note => line.by == Some(By::Ebbmark) && !changed_fields(line).is_empty(),
        Op::Revise | Op::Forget | Op::Restore | Op::Relate | Op::Unrelate | Op::Promote => true,
        _ => false,
    }
}

/// A field as JSON, to compare two memories by.
fn value_of(memory: &Memory, field: &str) -> serde_json::Value {
    let whole = serde_json::to_value(memory.whole_line(Op::Revise, Vec::new())).unwrap_or_default();
    whole.get(field).cloned().unwrap_or_default()
}

/// Sets a field of a revision to what a memory says, or clears it where it says nothing.
fn set_back(line: &mut Line, memory: &Memory, field: &str) {
    let list = |words: &[String]| (!words.is_empty()).then(|| words.to_vec());
    let is_set = match field {
        "text" => {
            line.text = Some(memory.text.clone());
            true
        }
        "kind" => {
            line.kind = Some(memory.kind);
            true
        }
        "level" => {
            line.level = Some(memory.level);
            true
        }
        "pinned" => {
            line.pinned = Some(memory.is_pinned);
            true
        }
        "scope" => {
            line.scope = Some(memory.scope.clone().unwrap_or_else(|| GLOBAL_SCOPE.into()));
            true
        }
        "title" => {
            line.title.clone_from(&memory.title);
            line.title.is_some()
        }
        "tags" => {
            line.tags = list(&memory.tags);
            line.tags.is_some()
        }
        "entities" => {
            line.entities = list(&memory.entities);
            line.entities.is_some()
        }
        "keywords" => {
            line.keywords = list(&memory.keywords);
            line.keywords.is_some()
        }
        "happened" => {
            line.happened = memory.happened;
            line.happened.is_some()
        }
        "valid_until" => {
            line.valid_until = memory.valid_until;
            line.valid_until.is_some()
        }
        "strength" => {
            line.strength = memory.strength;
            line.strength.is_some()
        }
        "trusted" => {
            line.trusted = memory.trust;
            line.trusted.is_some()
        }
        _ => true,
    };
    if !is_set {
        line.clear.push(field.to_owned());
    }
}
