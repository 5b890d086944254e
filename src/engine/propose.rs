//! Relations that nobody said: two memories that share entities and tags which few others have. They are proposed, and
//! made by `relate` only.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::judge::is_current;
use super::review::ReviewItem;
use super::store::Store;
use super::{Engine, say};
use crate::clock::Timestamp;
use crate::id::MemoryId;
use crate::memory::{GLOBAL_SCOPE, Memory, Status};
use crate::words;

/// What most memories have tells nothing: entities and tags of more are left out.
const MOST_HOLDERS: usize = 40;
/// What shared entities count; tags are chosen more loosely (the seed's weights).
const OF_ENTITIES: f64 = 0.7;
/// What shared tags count.
const OF_TAGS: f64 = 0.3;
/// Least that two memories must share, 0 to 1.
const LEAST_SHARED: f64 = 0.3;

/// An entity or tag, folded, and whether it is an entity.
type Mark = (bool, String);

/// Two memories, by number, with what they share.
struct Proposed<'m> {
    sureness: f64,
    a: usize,
    b: usize,
    marks: Vec<&'m Mark>,
}

impl Engine {
    /// Pairs of memories that may hang together and of which nothing is said yet, the surest first.
    pub(super) fn proposed_relations(&self, store: &Store, now: Timestamp, limit: usize) -> Vec<ReviewItem> {
        let is_shown = |memory: &&Memory| is_current(memory, now) && memory.status(&self.config, now) == Status::Active;
        let mut memories: Vec<(&Memory, BTreeSet<Mark>)> =
            store.state.memories().filter(is_shown).map(|memory| (memory, marks(memory))).collect();
        memories.sort_by_key(|(memory, _)| (memory.created, memory.id));
        let mut holders: BTreeMap<&Mark, Vec<usize>> = BTreeMap::new();
        for (number, (_, marks)) in memories.iter().enumerate() {
            for mark in marks {
                holders.entry(mark).or_default().push(number);
            }
        }
        // Rarer says more; the most there is for what two have and no one else.
        let rarity = |mark: &Mark| {
            let count = holders.get(mark).map_or(1, Vec::len).max(2);
            (1.0 + memories.len() as f64 / count as f64).ln()
        };
        let mut shared: HashMap<(usize, usize), Vec<&Mark>> = HashMap::new();
        for (mark, holders) in holders.iter().filter(|(_, holders)| (2..=MOST_HOLDERS).contains(&holders.len())) {
            for (at, a) in holders.iter().enumerate() {
                for b in holders.iter().skip(at + 1) {
                    shared.entry((*a, *b)).or_default().push(mark);
                }
            }
        }
        let related = related(store);
        let mut proposed: Vec<Proposed<'_>> = Vec::new();
        for ((a, b), marks) in shared {
            let (Some((one, of_one)), Some((other, of_other))) = (memories.get(a), memories.get(b)) else { continue };
            let is_of_one_world = one.scope_name() == other.scope_name()
                || one.scope_name() == GLOBAL_SCOPE
                || other.scope_name() == GLOBAL_SCOPE;
            if !is_of_one_world || related.contains(&(one.id.min(other.id), one.id.max(other.id))) {
                continue;
            }
            let share = |is_entity: bool| {
                let all: f64 = of_one.union(of_other).filter(|mark| mark.0 == is_entity).map(rarity).sum();
                let both: f64 = marks.iter().filter(|mark| mark.0 == is_entity).map(|mark| rarity(mark)).sum();
                if all > 0.0 { both / all } else { 0.0 }
            };
            let sureness = OF_ENTITIES * share(true) + OF_TAGS * share(false);
            if sureness >= LEAST_SHARED {
                proposed.push(Proposed { sureness, a, b, marks });
            }
        }
        proposed.sort_by(|x, y| y.sureness.total_cmp(&x.sureness).then((x.a, x.b).cmp(&(y.a, y.b))));
        let item = |Proposed { a, b, marks, .. }: Proposed<'_>| {
            let (one, other) = (memories.get(a)?.0, memories.get(b)?.0);
            Some(ReviewItem {
                id: format!("{} {}", one.id, other.id),
                text: format!("{} / {}", say::short(&one.text), say::short(&other.text)),
                why: format!(
                    "{}: `relate` says how they hang together, or that they are `distinct`",
                    reason(&marks, one)
                ),
            })
        };
        proposed.into_iter().take(limit).filter_map(item).collect()
    }
}

fn marks(memory: &Memory) -> BTreeSet<Mark> {
    let entities = memory.entities.iter().map(|entity| (true, words::fold(entity)));
    entities.chain(memory.tags.iter().map(|tag| (false, words::fold(tag)))).collect()
}

/// What both have, as the first one spells it.
fn reason(marks: &[&Mark], memory: &Memory) -> String {
    let spelled = |is_entity: bool, spellings: &[String]| {
        let is_shared = |word: &&String| marks.iter().any(|mark| mark.0 == is_entity && mark.1 == words::fold(word));
        spellings.iter().filter(is_shared).cloned().collect::<Vec<_>>()
    };
    let (entities, tags) = (spelled(true, &memory.entities), spelled(false, &memory.tags));
    let entities = (!entities.is_empty()).then(|| format!("both are about {}", entities.join(", ")));
    let tags = (!tags.is_empty()).then(|| format!("both are tagged {}", tags.join(", ")));
    entities.into_iter().chain(tags).collect::<Vec<_>>().join(", ")
}

/// Memories of which something is said already, the smaller id first.
fn related(store: &Store) -> HashSet<(MemoryId, MemoryId)> {
    let pair = |a: MemoryId, b: MemoryId| (a.min(b), a.max(b));
    let said = store.state.edges().filter_map(|(edge, _)| {
        let (from, to) = (edge.from.parse::<MemoryId>().ok()?, edge.to.parse::<MemoryId>().ok()?);
        Some(pair(from, to))
    });
    said.collect()
}
