//! Conflicts: two memories that cannot both hold, of which neither is plainly newer. Nothing is decided by itself.
//!
//! What is stored is only that someone or a rule said so, of which texts. Whether it stands is worked out anew each
//! time: not where one of the two is gone or replaced; where a text was changed since, the rules are asked again.

use super::judge::{is_comparable, is_current};
use super::store::Store;
use super::{Draft, Engine, say};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::{
    BY_RULE, CONTRADICTS, Contradiction, Edge, Line, Memory, Op, SUPERSEDES, Source, State, contradiction_hash,
};
use crate::slots::{self, Statement, judge};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the two memories of a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// When it happened, else when it was told.
    #[schemars(with = "String")]
    pub dated: Timestamp,
}

/// Two memories that cannot both hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Its id.
    pub id: String,
    /// The two, the older first.
    pub sides: Vec<Side>,
    /// Why they cannot both hold, or who said so.
    pub why: String,
    /// Since when it is known.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// A text was changed since someone said so: perhaps it is settled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// How a conflict ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// One holds, and takes the other's place.
    Keep(MemoryId),
    /// Both hold.
    Both,
    /// Both are replaced by what this text says.
    Merge(String),
}

/// The id of the conflict between two memories, the same on every machine.
pub(super) fn conflict_id(a: MemoryId, b: MemoryId) -> MemoryId {
    MemoryId::from_source(&format!("conflict {} {}", a.min(b), a.max(b)))
}

/// The line that says that two memories contradict each other.
pub(super) fn contradiction(a: (MemoryId, &str), b: (MemoryId, &str), is_by_rule: bool) -> Line {
    Line { how: is_by_rule.then(|| BY_RULE.into()), ..about_both(Op::Relate, a, b) }
}

/// The line that says that both hold.
fn settled(a: (MemoryId, &str), b: (MemoryId, &str)) -> Line {
    about_both(Op::Unrelate, a, b)
}

fn about_both(op: Op, a: (MemoryId, &str), b: (MemoryId, &str)) -> Line {
    let (first, second) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    Line { hash: Some(contradiction_hash(first.1, second.1)), ..relation(op, first.0, second.0, CONTRADICTS) }
}

/// The line that two memories are so related, or not any more.
pub(super) fn relation(op: Op, from: MemoryId, to: MemoryId, relation: &str) -> Line {
    Line {
        from: Some(from.to_string()),
        to: Some(to.to_string()),
        relation: Some(relation.to_owned()),
        ..Line::new(op)
    }
}

/// What the rules say against two memories, if anything.
pub(super) fn ruled(a: &Memory, b: &Memory) -> Option<String> {
    if !is_comparable(a, b) {
        return None;
    }
    let (older, newer) = if (a.dated(), a.id) <= (b.dated(), b.id) { (a, b) } else { (b, a) };
    let judgement = judge(
        &Statement::new(&newer.text, newer.kind, newer.dated()),
        &Statement::new(&older.text, older.kind, older.dated()),
        0.0,
    );
    (judgement.relation == slots::Relation::Conflicts).then_some(judgement.reason)
}

/// Whether what was said of two memories stands at `now`: why, and whether a text changed since.
fn standing(state: &State, said: Contradiction<'_>, now: Timestamp) -> Option<(String, bool)> {
    let (a, b) = (state.get(said.ids.0)?, state.get(said.ids.1)?);
    if !said.is_there || !is_current(a, now) || !is_current(b, now) {
        return None;
    }
    let is_unchanged = said.hash == Some(contradiction_hash(&a.text, &b.text).as_str());
    match (ruled(a, b), said.is_by_rule) {
        (Some(why), _) => Some((why, false)),
        // A rule of an earlier version.
        (None, true) => is_unchanged.then(|| ("they cannot both hold".into(), false)),
        (None, false) if is_unchanged => Some(("said so".into(), false)),
        (None, false) => Some(("said so of an earlier text".into(), true)),
    }
}

fn side(memory: &Memory) -> Side {
    Side { id: memory.id.to_string(), text: memory.text.clone(), dated: memory.dated() }
}

fn conflict(a: &Memory, b: &Memory, why: String, since: Timestamp, stale: bool) -> Conflict {
    let mut both = [a, b];
    both.sort_by_key(|memory| (memory.dated(), memory.id));
    let id = conflict_id(a.id, b.id).to_string();
    Conflict { id, sides: both.into_iter().map(side).collect(), why, since, stale }
}

impl Store {
    /// All conflicts that stand at `now`, oldest first.
    pub(super) fn conflicts(&self, now: Timestamp) -> Vec<Conflict> {
        let state = &self.state;
        let said = state.contradictions().into_iter().filter_map(|said| {
            let (why, is_stale) = standing(state, said, now)?;
            Some(conflict(state.get(said.ids.0)?, state.get(said.ids.1)?, why, said.at, is_stale))
        });
        // Two machines may each have said that one takes the other's place.
        let circles = state.circles().iter().filter_map(|(newer, older)| {
            let (newer, older) = (state.get(*newer)?, state.get(*older)?);
            let why = "each is said to take the other's place".to_owned();
            Some(conflict(newer, older, why, newer.created.max(older.created), false))
        });
        let mut all: Vec<Conflict> = said.collect();
        for circle in circles {
            if all.iter().all(|known| known.id != circle.id) {
                all.push(circle);
            }
        }
        all
    }

    /// Ids of the conflicts that a memory is part of at `now`.
    pub(super) fn conflicts_of(&self, id: MemoryId, now: Timestamp) -> Vec<String> {
        let said = self.state.contradictions_of(id);
        let open = said.filter(|said| standing(&self.state, *said, now).is_some());
        let mut ids: Vec<String> = open.map(|said| conflict_id(said.ids.0, said.ids.1).to_string()).collect();
        ids.sort_unstable();
        ids
    }

    /// The conflict with this id, or the unique one whose id begins so.
    ///
    /// # Errors
    /// [`Error::NotFound`] where no such conflict stands.
    pub(super) fn conflict(&self, id: &str, now: Timestamp) -> Result<Conflict> {
        let prefix = id.trim().to_lowercase();
        let mut fitting =
            self.conflicts(now).into_iter().filter(|conflict| prefix.len() >= 4 && conflict.id.starts_with(&prefix));
        match (fitting.next(), fitting.next()) {
            (Some(conflict), None) => Ok(conflict),
            _ => Err(Error::NotFound { what: format!("open conflict `{id}`; it may be settled: see `review`") }),
        }
    }
}

impl Engine {
    /// How someone wants a conflict to end; `keep` is the id of a side, `both` or `merge`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for anything else.
    pub(super) fn ending(conflict: &Conflict, keep: &str, text: Option<&str>) -> Result<Ending> {
        let hint = format!(
            "give {} or {}, \"both\", or \"merge\" with a text",
            conflict.sides.first().map_or("", |side| &side.id),
            conflict.sides.last().map_or("", |side| &side.id)
        );
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        let keep = keep.trim().to_lowercase();
        match (keep.as_str(), text) {
            ("both", None) => Ok(Ending::Both),
            ("merge", Some(text)) => Ok(Ending::Merge(text.to_owned())),
            ("merge", None) => Err(Error::invalid("text", "is missing", "say what is true in one text")),
            (_, Some(_)) => Err(Error::invalid("text", "belongs to `keep: merge`", "leave it out, or merge")),
            (id, None) => {
                let mut sides = conflict.sides.iter().filter(|side| id.len() >= 4 && side.id.starts_with(id));
                match (sides.next(), sides.next()) {
                    (Some(side), None) => Ok(Ending::Keep(side.id.parse()?)),
                    _ => Err(Error::invalid("keep", format!("`{keep}` is neither of the two"), hint)),
                }
            }
        }
    }

    /// The lines that end a conflict, and what they come to, in words.
    pub(super) fn end_conflict(
        draft: &Draft<'_>,
        conflict: &Conflict,
        ending: &Ending,
        source: Source,
    ) -> Result<(Vec<Line>, String)> {
        let store = draft.store();
        let state = &store.state;
        let [a, b] = conflict.sides.as_slice() else {
            return Err(Error::Internal(format!("conflict {} has not two sides", conflict.id)));
        };
        let (a, b) = (Self::resolve_existing(state, &a.id)?, Self::resolve_existing(state, &b.id)?);
        let mut lines = vec![settled((a.id, &a.text), (b.id, &b.text))];
        // Of a circle, both supersessions go; what is decided is said anew.
        for (newer, older) in [(a, b), (b, a)] {
            let edge = Edge { from: newer.id.to_string(), to: older.id.to_string(), relation: SUPERSEDES.into() };
            if state.edge(&edge).is_some() {
                lines.push(relation(Op::Unrelate, newer.id, older.id, SUPERSEDES));
            }
        }
        let said = match ending {
            Ending::Both => format!("both hold: {} and {}", a.id, b.id),
            Ending::Keep(id) => {
                let (kept, other) = if a.id == *id { (a, b) } else { (b, a) };
                // Of lines of one time the later one counts.
                lines.push(relation(Op::Relate, kept.id, other.id, SUPERSEDES));
                format!("{} holds: \"{}\"; {} is history", kept.id, say::short(&kept.text), other.id)
            }
            Ending::Merge(text) => {
                let (older, newer) = if (a.dated(), a.id) <= (b.dated(), b.id) { (a, b) } else { (b, a) };
                let id = draft.new_id(state, 0)?;
                lines.push(merged(id, text, older, newer, source));
                format!("{id} says it instead of both: \"{}\"", say::short(text))
            }
        };
        Ok((lines, said))
    }
}

/// A new memory in place of two: what it says is given, what else is known of them unites.
fn merged(id: MemoryId, text: &str, older: &Memory, newer: &Memory, source: Source) -> Line {
    let united = |one: &[String], other: &[String]| {
        let mut all = one.to_vec();
        all.extend(other.iter().filter(|word| !one.contains(word)).cloned());
        (!all.is_empty()).then_some(all)
    };
    let is_trusted = older.is_trusted() && newer.is_trusted();
    Line {
        text: Some(text.to_owned()),
        kind: Some(newer.kind),
        level: (newer.level == older.level).then_some(newer.level),
        tags: united(&newer.tags, &older.tags),
        entities: united(&newer.entities, &older.entities),
        keywords: united(&newer.keywords, &older.keywords),
        scope: newer.scope.clone(),
        strength: newer.strength.into_iter().chain(older.strength).max_by(f64::total_cmp),
        pinned: (newer.is_pinned || older.is_pinned).then_some(true),
        trusted: (!is_trusted).then_some(false),
        supersedes: vec![older.id, newer.id],
        source: Some(source).filter(|source| !source.is_empty()),
        ..Line::about(Op::Remember, id)
    }
}
