//! What a told memory is to those that are there: the same, newer, in conflict, near, or new.
//!
//! It is compared with a few: those that share its rarest words, and those that fill a slot that it fills too. Never
//! with all. `docs/judgement.md` says by which rules.

use std::collections::{HashMap, HashSet};

use super::keys::same_key;
use super::prepare::Prepared;
use super::remember::{Similar, round};
use super::{Draft, Engine, say};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::{Memory, Source};
use crate::similarity::{Bigrams, Wording, compatible};
use crate::slots::{NEAR, Relation, Slot, Statement, judge_different};
use crate::words;

/// Best lexical matches that are compared with a new memory.
pub(super) const CANDIDATES: usize = 12;
/// Memories of one slot that are compared with a new one, the newest.
pub(super) const MAX_FILLERS: usize = 32;
/// Below this bigram likeness, a memory that fills no slot of the new one is about something else.
const ALIKE: f32 = 0.3;
/// Memories that a reply shows as near.
const MAX_NEAR: usize = 3;
/// Memories that a reply shows as replaced or contradicted.
const MAX_SHOWN: usize = 8;

/// What a told memory is to those that are there.
pub(super) enum Known {
    /// An earlier memory of the same call.
    InBatch(MemoryId),
    /// A memory from before, and how that was seen.
    Before(MemoryId, String),
    /// It is new.
    New(Relations),
}

/// How a new memory stands to others.
#[derive(Default)]
pub(super) struct Relations {
    /// What it resembles, for the reply.
    pub(super) similar: Vec<Similar>,
    /// Whose place it takes.
    pub(super) supersedes: Vec<MemoryId>,
    /// What it cannot hold together with: ids and texts.
    pub(super) conflicts: Vec<(MemoryId, String)>,
    /// Why, in words for the reply.
    pub(super) whys: Vec<String>,
}

/// The memories of one call that were judged already: later ones are compared with these too.
#[derive(Default)]
pub(super) struct Earlier {
    same: HashMap<u64, MemoryId>,
    /// Those that fill a slot.
    memories: Vec<Memory>,
    by_slot: HashMap<u64, Vec<usize>>,
    /// What this call superseded so far.
    pub(super) replaced: HashSet<MemoryId>,
}

impl Earlier {
    /// Takes one that is new over.
    pub(super) fn add(&mut self, id: MemoryId, prepared: &Prepared, now: Timestamp) {
        self.same.insert(prepared.key(), id);
        let memory = prepared.as_memory(id, now);
        let statement = Statement::new(&memory.text, memory.kind, memory.dated());
        if !statement.slots().is_empty() {
            for slot in statement.slots() {
                self.by_slot.entry(slot.key()).or_default().push(self.memories.len());
            }
            drop(statement);
            self.memories.push(memory);
        }
    }

    /// The newest that fill one of these slots.
    fn fillers(&self, keys: &[u64]) -> impl Iterator<Item = &Memory> {
        let places = keys.iter().filter_map(|key| self.by_slot.get(key));
        let places = places.flat_map(|places| places.iter().rev().take(MAX_FILLERS));
        places.filter_map(|place| self.memories.get(*place)).filter(|memory| !self.replaced.contains(&memory.id))
    }
}

impl Engine {
    /// Judges a told memory. One that the caller names in `supersedes` is not judged: that says it already.
    pub(super) fn judged(&self, draft: &Draft<'_>, prepared: &Prepared, earlier: &Earlier) -> Result<Known> {
        let key = prepared.key();
        if let Some(id) = earlier.same.get(&key).filter(|id| !earlier.replaced.contains(id)) {
            return Ok(Known::InBatch(*id));
        }
        let exact = self.store_mut().same_as(key);
        let store = draft.store();
        let is_current = |memory: &Memory| is_current(memory, draft.now) && !earlier.replaced.contains(&memory.id);
        if let Some(memory) = exact
            .iter()
            .filter_map(|id| store.state.get(*id))
            // One whose note is missing is told again, and there again.
            .find(|memory| {
                holds(memory, draft.now) && !earlier.replaced.contains(&memory.id) && same_key(memory) == key
            })
        {
            return Ok(Known::Before(memory.id, "the same words are remembered already".into()));
        }
        drop(store);
        let mut others = match self.candidates(prepared) {
            Err(error @ Error::Index { .. }) => {
                self.leave_index(&error);
                self.candidates(prepared)?
            }
            candidates => candidates?,
        };
        let new = prepared.as_memory(MemoryId::from_bits(0), draft.now);
        let statement = Statement::new(&new.text, new.kind, new.dated());
        let keys: Vec<u64> = statement.slots().iter().map(Slot::key).collect();
        let fillers = if keys.is_empty() { Vec::new() } else { self.store_mut().fillers(&keys) };
        others.retain(|id| !fillers.contains(id));
        let store = draft.store();
        let named: Vec<MemoryId> =
            prepared.supersedes.iter().filter_map(|id| Self::resolve(&store.state, id).ok()).collect();
        let (bigrams, form) = (Bigrams::of(&new.text), compatible(&new.text));
        let wording = Wording::of(&form);
        let mut found = Found::default();
        let current = |ids: Vec<MemoryId>| {
            let known = ids.into_iter().filter_map(|id| store.state.get(id));
            known.filter(|memory| is_current(memory)).collect::<Vec<&Memory>>()
        };
        let fillers: Vec<&Memory> = current(fillers).into_iter().chain(earlier.fillers(&keys)).collect();
        let alike = current(others).into_iter().map(|memory| (memory, false));
        for (memory, fills_slot) in alike.chain(fillers.into_iter().map(|memory| (memory, true))) {
            if could_be_same(memory, &new) && wording.is_same_fact(&memory.text) {
                return Ok(Known::Before(memory.id, format!("says the same as \"{}\"", say::short(&memory.text))));
            }
            let likeness = bigrams.dice(&memory.text);
            if !named.contains(&memory.id) && (fills_slot || likeness >= ALIKE) {
                found.add(memory, &new, &statement, likeness);
            }
        }
        Ok(Known::New(found.relations()))
    }

    /// Memories that may say the same: those that share the rarest words.
    fn candidates(&self, prepared: &Prepared) -> Result<Vec<MemoryId>> {
        self.store().candidates(&words::query_terms(prepared.text()), CANDIDATES)
    }
}

/// What was found of one new memory, with the likeness of each.
#[derive(Default)]
struct Found {
    near: Vec<(f32, Similar)>,
    shown: Vec<Similar>,
    relations: Relations,
}

impl Found {
    fn add(&mut self, memory: &Memory, new: &Memory, statement: &Statement<'_>, likeness: f32) {
        let similar = |relation: &str| Similar {
            id: memory.id.to_string(),
            text: say::cut(&memory.text, 200),
            relation: relation.into(),
            score: round(f64::from(likeness)),
        };
        if !is_comparable(memory, new) {
            if likeness >= NEAR {
                self.near.push((likeness, similar("near")));
            }
            return;
        }
        let older = Statement::older(&memory.text, memory.kind, memory.dated(), statement);
        let judgement = judge_different(statement, &older, likeness);
        let why = |what: &str, reason: &str| format!("{what} \"{}\": {reason}", say::short(&memory.text));
        match judgement.relation {
            // What a web page or a tool says does not overrule a person or an agent.
            Relation::Supersedes if memory.is_trusted() && !new.is_trusted() => {
                let reason = format!("{}, but it comes from a tool or the web", judgement.reason);
                self.contradicts(memory, why("contradicts", &reason), similar("contradicts"));
            }
            Relation::Supersedes => {
                self.relations.supersedes.push(memory.id);
                self.relations.whys.push(why("takes the place of", &judgement.reason));
                self.shown.push(similar("same_slot"));
            }
            Relation::Conflicts => {
                self.contradicts(memory, why("contradicts", &judgement.reason), similar("contradicts"));
            }
            Relation::Near if likeness < NEAR => self.near.push((likeness, similar("same_slot"))),
            Relation::Near | Relation::Same => self.near.push((likeness, similar("near"))),
            Relation::New => {}
        }
    }

    fn contradicts(&mut self, memory: &Memory, why: String, similar: Similar) {
        self.relations.conflicts.push((memory.id, memory.text.clone()));
        self.relations.whys.push(why);
        self.shown.push(similar);
    }

    fn relations(mut self) -> Relations {
        self.near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
        self.near.truncate(MAX_NEAR);
        self.shown.truncate(MAX_SHOWN);
        self.relations.whys.truncate(MAX_SHOWN);
        let near = self.near.into_iter().map(|(_, similar)| similar);
        Relations { similar: self.shown.into_iter().chain(near).collect(), ..self.relations }
    }
}

/// Whether a memory holds at `now` and its note is not missing.
pub(super) fn is_current(memory: &Memory, now: Timestamp) -> bool {
    holds(memory, now) && !memory.is_vanished
}

fn holds(memory: &Memory, now: Timestamp) -> bool {
    memory.superseded.is_none() && memory.valid_until.is_none_or(|until| until > now)
}

/// Whether two memories speak of the same world: of one scope, and of what one person said.
pub(super) fn is_comparable(a: &Memory, b: &Memory) -> bool {
    let speaker =
        |memory: &Memory| memory.sources.iter().find_map(|source: &Source| source.speaker.as_deref()).map(words::fold);
    a.scope_name() == b.scope_name() && speaker(a) == speaker(b)
}

/// Whether two memories with the same words would be one: of one world, and not two events.
fn could_be_same(a: &Memory, b: &Memory) -> bool {
    let day = |at: Option<Timestamp>| at.map(|at| at.hour().day());
    is_comparable(a, b) && day(a.happened) == day(b.happened)
}
