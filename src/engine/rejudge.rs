//! The rules over everything that is there: for what came by import, from another machine, or before a rule was.

use std::collections::{HashMap, HashSet};

use super::conflict::{contradiction, relation};
use super::judge::{CANDIDATES, MAX_FILLERS, is_comparable, is_current};
use super::review::{ReviewAnswer, ReviewItem};
use super::store::Store;
use super::{Engine, say};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::{Line, Memory, Op, SUPERSEDES};
use crate::similarity::Bigrams;
use crate::slots::{Relation, Slot, Statement, judge};
use crate::words;

/// What the rules find.
#[derive(Default)]
struct Findings {
    lines: Vec<Line>,
    said: Vec<String>,
    duplicates: Vec<ReviewItem>,
}

impl Engine {
    /// Judges all memories that hold as if each were told after those dated before it. What follows is written as one
    /// operation, which `undo` takes back; `is_dry` only says it. Each is compared with a few, never with all.
    pub(super) fn rejudge(&self, is_dry: bool, now: Timestamp, answer: &mut ReviewAnswer) -> Result<()> {
        let find = || Self::judged_anew(&self.store(), now);
        let found = if is_dry {
            find()?
        } else {
            self.write(now, |_| {
                let mut found = find()?;
                Ok((std::mem::take(&mut found.lines), found))
            })?
        };
        let would = if is_dry { "would be: " } else { "" };
        answer.done.extend(found.said.into_iter().map(|said| format!("{would}{said}")));
        answer.duplicates = found.duplicates;
        Ok(())
    }

    fn judged_anew(store: &Store, now: Timestamp) -> Result<Findings> {
        let mut memories: Vec<&Memory> = store.state.memories().filter(|memory| is_current(memory, now)).collect();
        memories.sort_by_key(|memory| (memory.dated(), memory.created, memory.id));
        let places: HashMap<MemoryId, usize> =
            memories.iter().zip(0..).map(|(memory, place)| (memory.id, place)).collect();
        let mut by_slot: HashMap<u64, Vec<&Memory>> = HashMap::new();
        let mut replaced: HashSet<MemoryId> = HashSet::new();
        let mut found = Findings::default();
        for (place, memory) in memories.iter().enumerate() {
            let statement = Statement::new(&memory.text, memory.kind, memory.dated());
            let keys: Vec<u64> = statement.slots().iter().map(Slot::key).collect();
            let mut others: Vec<&Memory> = Vec::new();
            for fillers in keys.iter().filter_map(|key| by_slot.get(key)) {
                others.extend(fillers.iter().rev().take(MAX_FILLERS));
            }
            for id in store.candidates(&words::query_terms(&memory.text), CANDIDATES)? {
                let is_earlier = places.get(&id).is_some_and(|other| *other < place);
                others.extend(store.state.get(id).filter(|_| is_earlier));
            }
            others.sort_by_key(|other| other.id);
            others.dedup_by_key(|other| other.id);
            let bigrams = Bigrams::of(&memory.text);
            for other in others.into_iter().filter(|other| is_comparable(memory, other)) {
                if !replaced.contains(&other.id) && found.add(store, memory, other, &statement, &bigrams) {
                    replaced.insert(other.id);
                }
            }
            for key in keys {
                by_slot.entry(key).or_default().push(memory);
            }
        }
        Ok(found)
    }
}

impl Findings {
    /// Adds what one memory is to an earlier one. Answers whether it takes its place.
    fn add(&mut self, store: &Store, new: &Memory, old: &Memory, statement: &Statement<'_>, bigrams: &Bigrams) -> bool {
        let older = Statement::new(&old.text, old.kind, old.dated());
        let judgement = judge(statement, &older, bigrams.dice(&old.text));
        let is_overruled = old.is_trusted() && !new.is_trusted();
        match judgement.relation {
            Relation::Same => {
                let why = format!("says the same as {}: {}", old.id, judgement.reason);
                self.duplicates.push(ReviewItem { id: new.id.to_string(), text: say::cut(&new.text, 200), why });
                false
            }
            Relation::Supersedes if !is_overruled => {
                self.lines.push(relation(Op::Relate, new.id, old.id, SUPERSEDES));
                self.said.push(format!("{} takes the place of {}: {}", new.id, old.id, judgement.reason));
                true
            }
            Relation::Supersedes | Relation::Conflicts => {
                let line = contradiction((new.id, &new.text), (old.id, &old.text), true);
                // What was said of these texts is not said again, nor what was decided of them.
                let known = store.state.contradiction(new.id, old.id).and_then(|known| known.hash);
                if known != line.hash.as_deref() {
                    self.said.push(format!("{} contradicts {}: {}", new.id, old.id, judgement.reason));
                    self.lines.push(line);
                }
                false
            }
            Relation::Near | Relation::New => false,
        }
    }
}
