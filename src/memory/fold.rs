//! The fold: memories out of a set of journal lines.
//!
//! It is total, and the same set of lines gives the same state whatever order or number of copies they
//! arrive in: every field remembers the clock of the line that set it, uses, contexts and sources are
//! sets, and existence compares two greatest orders. The state keeps no lines.

use std::collections::{BTreeMap, HashMap, HashSet};

use rustc_hash::FxHashMap;

use super::line::{By, Line, Op};
use super::record::{Clock, Ended, Purge, Record, replica_number};
use super::{Memory, Superseded};
use crate::clock::{DAY_MS, Timestamp};
use crate::id::{MemoryId, content_hash};

/// Days for which the key of an idempotent call holds.
pub const OP_KEY_DAYS: i64 = 30;
/// The relation by which one memory takes another's place.
pub const SUPERSEDES: &str = "supersedes";
/// The relation of one memory to another that it was made of.
pub const CONSOLIDATED_FROM: &str = "consolidated_from";

/// How a contradiction that was found by rule is marked.
pub const BY_RULE: &str = "rule";
/// The relation of two memories that cannot both hold.
pub const CONTRADICTS: &str = "contradicts";

/// A relation between two memories or entities.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// An id or entity name.
    pub from: String,
    /// An id or entity name.
    pub to: String,
    /// How they are related: `supersedes`, `related` …
    pub relation: String,
}

#[derive(Debug, Clone, PartialEq)]
struct EdgeRecord {
    clock: Clock,
    at: Timestamp,
    strength: Option<f64>,
    is_there: bool,
    /// Of a contradiction: the texts it is said of, and whether a rule said it.
    hash: Option<String>,
    is_by_rule: bool,
}

/// What was said last of whether two memories contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction<'a> {
    /// The two, the smaller id first.
    pub ids: (MemoryId, MemoryId),
    /// When it was said.
    pub at: Timestamp,
    /// Whether they do; else it was decided that both hold.
    pub is_there: bool,
    /// The texts of which it was said, by [`contradiction_hash`].
    pub hash: Option<&'a str>,
    /// Whether it was found by rule, not said by someone.
    pub is_by_rule: bool,
}

/// What a contradiction is bound to: both texts, that of the smaller id first.
pub fn contradiction_hash(first: &str, second: &str) -> String {
    content_hash(format!("{first}\0{second}").as_bytes())
}

/// What a call with an `op_key` did: one entry an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpRecord {
    /// When.
    pub at: Timestamp,
    /// Greatest clock of its lines.
    clock: Clock,
    /// Hash of the call's content.
    pub hash: String,
    /// Item of the call → memory, and whether it was already known.
    items: BTreeMap<u32, (Clock, MemoryId, bool)>,
}

impl OpRecord {
    /// The memory that an item of the call became, and whether it was known before.
    pub fn item(&self, item: u32) -> Option<(MemoryId, bool)> {
        self.items.get(&item).map(|(_, id, again)| (*id, *again))
    }
}

/// A forgotten memory without content. There may be many, and they stay: no old copy of a journal may bring it back.
#[derive(Debug, Clone, Copy)]
struct Tomb {
    /// Greatest order of a forget.
    forgotten: i64,
    forgotten_at: Timestamp,
    /// Greatest order of any line about it.
    newest: i64,
}

/// All memories, and what else the journal's lines add up to.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Boxed: a table that grows moves addresses, not memories.
    records: FxHashMap<MemoryId, Box<Record>>,
    /// What is left of memories of which only a packed tombstone is known; these have no record.
    tombs: FxHashMap<MemoryId, Tomb>,
    edges: HashMap<Edge, EdgeRecord>,
    op_keys: HashMap<String, OpRecord>,
    /// Supersessions that were void because they would have closed a circle.
    circles: Vec<(MemoryId, MemoryId)>,
    /// Memories at either end of a supersession.
    in_edges: HashSet<MemoryId>,
    /// What each memory was said to take the place of.
    said_older: HashMap<MemoryId, Vec<MemoryId>>,
    /// With whom each memory was ever said to be in contradiction.
    disputed: HashMap<MemoryId, Vec<MemoryId>>,
    /// What each memory took the place of.
    olders: HashMap<MemoryId, Vec<MemoryId>>,
    edges_changed: bool,
    /// A purge came after lines that are later than it: what they say can only be told by folding all again.
    needs_folding_again: bool,
}

impl State {
    /// Folds one line in. `number` is its line number, or its place in the file where it has none; `crc` its checksum.
    /// Returns the memory it is about.
    pub fn apply(&mut self, mut line: Line, replica: &str, number: u64, crc: u32) -> Option<MemoryId> {
        let clock = Clock::of(&line, replica, number, crc);
        let (order, at) = (clock.order, line.at);
        if line.op == Op::Forgotten {
            for (id, order) in std::mem::take(&mut line.ids) {
                if let Some(hash) = line.hashes.remove(&id) {
                    self.purge(id, order, hash);
                }
                self.edges_changed |= self.in_edges.contains(&id);
                let Some(record) = self.records.get_mut(&id) else {
                    let new = Tomb { forgotten: order, forgotten_at: at, newest: order };
                    let tomb = self.tombs.entry(id).or_insert(new);
                    tomb.forgotten = tomb.forgotten.max(order);
                    tomb.newest = tomb.newest.max(order);
                    tomb.forgotten_at = tomb.forgotten_at.max(at);
                    continue;
                };
                record.forgotten = record.forgotten.max(Some(order));
                record.newest = record.newest.max(order);
                record.forgotten_at = record.forgotten_at.max(Some(at));
            }
            return None;
        }
        if matches!(line.op, Op::Relate | Op::Unrelate) {
            if let (Some(from), Some(to), Some(relation)) = (line.from.take(), line.to.take(), line.relation.take()) {
                let record = EdgeRecord {
                    clock,
                    at,
                    strength: line.strength,
                    is_there: line.op == Op::Relate,
                    hash: line.hash.take(),
                    is_by_rule: line.how.as_deref() == Some(BY_RULE),
                };
                self.set_edge(Edge { from, to, relation }, record);
            }
            return None;
        }
        let id = line.id?;
        let short_replica = replica_number(replica);
        if let (Some(key), Some(hash)) = (line.op_key.take(), line.op_hash.take()) {
            let clock = Clock { class: 1, ..clock };
            self.note_op(key, &hash, line.op_item.unwrap_or(0), (id, line.again), at, clock);
        }
        for older in std::mem::take(&mut line.supersedes) {
            let edge = Edge { from: id.to_string(), to: older.to_string(), relation: SUPERSEDES.into() };
            let clock = Clock { class: 1, ..clock };
            let record = EdgeRecord { clock, at, strength: None, is_there: true, hash: None, is_by_rule: false };
            self.set_edge(edge, record);
        }
        let is_in_edge = self.in_edges.contains(&id);
        if line.op == Op::Purge {
            self.purge(id, order, line.hash.take().unwrap_or_default());
        }
        let record = self.record(id);
        let existed = record.exists();
        record.newest = record.newest.max(order);
        match line.op {
            Op::Remember | Op::Restore | Op::Revise | Op::Use | Op::Promote | Op::Note | Op::Forget
                if record.purge.as_ref().is_some_and(|purge| order <= purge.order) =>
            {
                let hash = line.hash.take();
                if let (Some(purge), Some(hash)) = (&mut record.purge, hash)
                    && !purge.note_hashes.contains(&hash)
                {
                    purge.note_hashes.push(hash);
                }
                if line.op == Op::Forget {
                    record.forgotten = record.forgotten.max(Some(order));
                    record.forgotten_at = record.forgotten_at.max(Some(at));
                }
            }
            Op::Remember => {
                record.alive = record.alive.max(Some(order));
                let told = line.created.unwrap_or(at);
                if record.created_clock.is_none_or(|known| told < known) {
                    record.created_clock = Some(told);
                    record.memory.created = told;
                }
                record.set_content(&mut line, clock);
                record.set_uses(&mut line, short_replica);
                record.add_sources(&mut line);
            }
            Op::Restore => {
                record.alive = record.alive.max(Some(order));
                if let Some(told) = line.created
                    && record.created_clock.is_none_or(|known| told < known)
                {
                    record.created_clock = Some(told);
                    record.memory.created = told;
                }
                record.set_content(&mut line, clock);
                record.set_uses(&mut line, short_replica);
                record.add_sources(&mut line);
                record.set_note(&mut line, clock);
            }
            Op::Revise => record.set_content(&mut line, clock),
            Op::Use => {
                record.set_uses(&mut line, short_replica);
                record.add_sources(&mut line);
            }
            Op::Promote => record.set_note(&mut line, clock),
            Op::Note => {
                if line.by == Some(By::Person) && !line.gone {
                    record.alive = record.alive.max(Some(order));
                }
                record.set_content(&mut line, clock);
                record.set_note(&mut line, clock);
            }
            Op::Forget | Op::Purge => {
                record.forgotten = record.forgotten.max(Some(order));
                record.forgotten_at = record.forgotten_at.max(Some(at));
                if clock >= record.trash_clock {
                    record.trash_clock = clock;
                    record.memory.trash = line.path.take();
                }
            }
            _ => {}
        }
        record.settle_note();
        // A memory that comes or goes changes what is superseded; anything else does not.
        let is_flipped = record.exists() != existed;
        self.edges_changed |= is_in_edge && is_flipped;
        Some(id)
    }

    /// Drops what was said of a memory up to the purge. What came later may have lost to that: see
    /// [`State::to_fold_again`].
    fn purge(&mut self, id: MemoryId, order: i64, hash: String) {
        let is_in_edge = self.in_edges.contains(&id);
        let record = self.record(id);
        if record.purge.as_ref().is_some_and(|known| (known.order, &known.hash) >= (order, &hash)) {
            return;
        }
        let existed = record.exists();
        let has_later = record.has_content() && record.newest > order;
        let mut note_hashes = record.purge.take().map(|known| known.note_hashes).unwrap_or_default();
        note_hashes.extend(record.drop_content());
        note_hashes.extend(hash.split('-').nth(2).map(str::to_owned));
        record.purge = Some(Box::new(Purge { order, hash, note_hashes }));
        self.edges_changed |= is_in_edge && existed;
        self.needs_folding_again |= has_later;
    }

    /// Where a purge was met only after lines that are later than it: an empty state that knows the purges, into which
    /// all lines must be folded again.
    pub fn to_fold_again(&self) -> Option<State> {
        if !self.needs_folding_again {
            return None;
        }
        let mut state = State::default();
        for (id, record) in self.records.iter().filter(|(_, record)| record.purge.is_some()) {
            state.record(*id).purge.clone_from(&record.purge);
        }
        Some(state)
    }

    /// A key that is used again after its time, or for other content on another machine, belongs to the newer call.
    fn note_op(&mut self, key: String, hash: &str, item: u32, done: (MemoryId, bool), at: Timestamp, clock: Clock) {
        let new = || OpRecord { at, clock, hash: hash.to_owned(), items: BTreeMap::new() };
        let record = self.op_keys.entry(key).or_insert_with(new);
        let is_other_call = record.hash != hash || (record.at.millis() - at.millis()).abs() >= OP_KEY_DAYS * DAY_MS;
        if is_other_call {
            if clock < record.clock {
                return;
            }
            *record = new();
        }
        record.clock = record.clock.max(clock);
        record.at = record.at.min(at);
        let known = record.items.entry(item).or_insert((clock, done.0, done.1));
        if clock < known.0 {
            *known = (clock, done.0, done.1);
        }
    }

    fn record(&mut self, id: MemoryId) -> &mut Record {
        let tomb = self.tombs.remove(&id);
        let record = self.records.entry(id).or_insert_with(|| Box::new(Record::new(id)));
        if let Some(tomb) = tomb {
            record.forgotten = Some(tomb.forgotten);
            record.forgotten_at = Some(tomb.forgotten_at);
            record.newest = tomb.newest;
        }
        record
    }

    /// Keeps of forgotten memories only that they were forgotten: their lines are gone from the only journal there is,
    /// so that nobody who reads it now knows more.
    pub fn let_go(&mut self, ids: &[MemoryId]) {
        for id in ids {
            let Some(record) = self.records.get(id).filter(|record| !record.exists() && record.purge.is_none()) else {
                continue;
            };
            if let (Some(forgotten), Some(forgotten_at)) = (record.forgotten, record.forgotten_at) {
                self.tombs.insert(*id, Tomb { forgotten, forgotten_at, newest: record.newest });
                self.records.remove(id);
            }
        }
    }

    fn set_edge(&mut self, mut edge: Edge, record: EdgeRecord) {
        let ends = (edge.from.parse::<MemoryId>(), edge.to.parse::<MemoryId>());
        if edge.relation == CONTRADICTS
            && let (Ok(a), Ok(b)) = ends
        {
            // It has no direction.
            edge = contradiction(a, b);
        }
        if self.edges.get(&edge).is_some_and(|known| record.clock < known.clock) {
            return;
        }
        match (edge.relation.as_str(), ends) {
            (SUPERSEDES, (Ok(newer), Ok(older))) => {
                self.in_edges.extend([newer, older]);
                let said = self.said_older.entry(newer).or_default();
                said.retain(|known| *known != older);
                if record.is_there {
                    said.push(older);
                }
                self.edges_changed = true;
            }
            (CONTRADICTS, (Ok(a), Ok(b))) => {
                for (one, other) in [(a, b), (b, a)] {
                    let others = self.disputed.entry(one).or_default();
                    if !others.contains(&other) {
                        others.push(other);
                    }
                }
            }
            _ => {}
        }
        self.edges.insert(edge, record);
    }

    /// Works out which memories are superseded, after lines were applied. Edges count in order; one that would close
    /// a circle is void. A forgotten memory supersedes nothing, but what superseded it does. Returns the memories whose standing changed.
    pub fn settle(&mut self) -> Vec<MemoryId> {
        if !std::mem::take(&mut self.edges_changed) {
            return Vec::new();
        }
        let mut edges: Vec<(Clock, Timestamp, MemoryId, MemoryId)> = self
            .edges
            .iter()
            .filter(|(edge, record)| edge.relation == SUPERSEDES && record.is_there)
            .filter_map(|(edge, record)| {
                Some((record.clock, record.at, edge.from.parse().ok()?, edge.to.parse().ok()?))
            })
            .collect();
        edges.sort_unstable();
        self.circles.clear();
        let mut newer_of: HashMap<MemoryId, Superseded> = HashMap::new();
        for (_, at, newer, older) in edges {
            let mut visited = HashSet::from([older]);
            let mut at_memory = newer;
            let closes = loop {
                if !visited.insert(at_memory) {
                    break true;
                }
                match newer_of.get(&at_memory) {
                    Some(next) => at_memory = next.by,
                    None => break false,
                }
            };
            if closes {
                self.circles.push((newer, older));
            } else {
                newer_of.insert(older, Superseded { by: newer, at });
            }
        }
        // A superseder that was forgotten hides nothing by itself; one that took its own place does.
        let exists = |id: MemoryId| self.records.get(&id).is_some_and(|record| record.exists());
        let standing: HashMap<MemoryId, Superseded> = newer_of
            .iter()
            .filter_map(|(older, first)| {
                let mut by = first.by;
                while !exists(by) {
                    by = newer_of.get(&by)?.by;
                }
                Some((*older, Superseded { by, at: first.at }))
            })
            .collect();
        self.olders.clear();
        let mut changed = Vec::new();
        for id in &self.in_edges {
            let superseded = standing.get(id).copied();
            if let Some(Superseded { by, .. }) = superseded {
                self.olders.entry(by).or_default().push(*id);
            }
            if let Some(record) = self.records.get_mut(id)
                && record.memory.superseded != superseded
            {
                record.memory.superseded = superseded;
                changed.push(*id);
            }
        }
        changed.sort_unstable();
        changed
    }

    /// The memory, if it exists (active, faded or superseded).
    pub fn get(&self, id: MemoryId) -> Option<&Memory> {
        self.records.get(&id).filter(|record| record.exists()).map(|record| &record.memory)
    }

    /// The memory, if it was forgotten and its text is still here to be restored.
    pub fn forgotten(&self, id: MemoryId) -> Option<&Memory> {
        self.records.get(&id).filter(|record| record.is_restorable()).map(|record| &record.memory)
    }

    /// Which lines about the memory may go for good: those of one that was forgotten not after `forgotten_by`, and what
    /// came before a purge.
    pub fn ended(&self, id: MemoryId, forgotten_by: Option<Timestamp>) -> Option<Ended> {
        let is_due = |at: Timestamp| forgotten_by.is_some_and(|by| at <= by);
        if let Some(tomb) = self.tombs.get(&id).filter(|tomb| is_due(tomb.forgotten_at)) {
            return Some(Ended { order: tomb.forgotten, hash: None, newer_stay: false });
        }
        let record = self.records.get(&id)?;
        let hash = record.purge.as_ref().map(|purge| purge.hash.clone());
        if record.is_purged() || !record.exists() && record.forgotten_at.is_some_and(is_due) {
            return Some(Ended { order: record.forgotten?, hash, newer_stay: false });
        }
        Some(Ended { order: record.purge.as_ref()?.order, hash, newer_stay: true })
    }

    /// When the memory was forgotten last, and by which order; `None` where it exists or was never known.
    pub fn forgotten_since(&self, id: MemoryId) -> Option<(Timestamp, i64)> {
        if let Some(tomb) = self.tombs.get(&id) {
            return Some((tomb.forgotten_at, tomb.forgotten));
        }
        let record = self.records.get(&id).filter(|record| !record.exists())?;
        Some((record.forgotten_at?, record.forgotten?))
    }

    /// Whether it was purged and nothing came after.
    pub fn is_purged(&self, id: MemoryId) -> bool {
        self.records.get(&id).is_some_and(|record| record.is_purged())
    }

    /// The newest purge of the memory, also where it was told again since.
    pub fn purge_of(&self, id: MemoryId) -> Option<&Purge> {
        self.records.get(&id)?.purge.as_deref()
    }

    /// All memories that were purged and not told again, in no particular order.
    pub fn all_purged(&self) -> impl Iterator<Item = (MemoryId, &Purge)> {
        let purged = self.records.iter().filter(|(_, record)| record.is_purged());
        purged.filter_map(|(id, record)| Some((*id, record.purge.as_deref()?)))
    }

    /// All memories that exist, in no particular order.
    pub fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.records.values().filter(|record| record.exists()).map(|record| &record.memory)
    }

    /// All memories that were forgotten and can still be restored.
    pub fn all_forgotten(&self) -> impl Iterator<Item = &Memory> {
        self.records.values().filter(|record| record.is_restorable()).map(|record| &record.memory)
    }

    /// Ids, also of forgotten memories, that begin with `prefix`, ascending.
    pub fn ids_with_prefix(&self, prefix: &str) -> Vec<MemoryId> {
        let all = self.records.keys().chain(self.tombs.keys()).copied();
        let mut ids: Vec<MemoryId> = all.filter(|id| id.starts_with(prefix)).collect();
        ids.sort_unstable();
        ids
    }

    /// Greatest order of any line about the memory.
    pub fn newest_order(&self, id: MemoryId) -> Option<i64> {
        let tomb = self.tombs.get(&id).map(|tomb| tomb.newest);
        tomb.or_else(|| self.records.get(&id).map(|record| record.newest))
    }

    /// This replica's own count of mentions so far, less than the greatest that there is.
    pub fn mentions_of(&self, id: MemoryId, replica: &str) -> u32 {
        let short = replica_number(replica);
        self.records
            .get(&id)
            .and_then(|record| record.memory.uses.mentions.iter().find(|(known, _)| *known == short))
            .map_or(0, |(_, count)| (*count).min(u32::MAX - 1))
    }

    /// What the call with this key did.
    pub fn op_record(&self, key: &str) -> Option<&OpRecord> {
        self.op_keys.get(key)
    }

    /// What `newer` was said to supersede, whether or not it counts now.
    pub fn said_to_supersede(&self, newer: MemoryId) -> Vec<MemoryId> {
        self.said_older.get(&newer).cloned().unwrap_or_default()
    }

    /// What `newer` superseded directly, newest first.
    pub fn superseded_by(&self, newer: MemoryId) -> Vec<&Memory> {
        let olders = self.olders.get(&newer).into_iter().flatten();
        let mut older: Vec<&Memory> = olders.filter_map(|id| self.get(*id)).collect();
        older.sort_unstable_by_key(|memory| std::cmp::Reverse((memory.dated(), memory.id)));
        older
    }

    /// Relations that hold, with their strength.
    pub fn edges(&self) -> impl Iterator<Item = (&Edge, Option<f64>)> {
        self.edges.iter().filter(|(_, record)| record.is_there).map(|(edge, record)| (edge, record.strength))
    }

    /// The memory that stands for `id` now: itself, or what took its place at last.
    pub fn standing_for(&self, id: MemoryId) -> MemoryId {
        let mut at = id;
        // There are no circles, and every step leads to a newer one.
        while let Some(superseded) = self.get(at).and_then(|memory| memory.superseded) {
            at = superseded.by;
        }
        at
    }

    /// Whether a relation holds, and how strong it is.
    pub fn edge(&self, edge: &Edge) -> Option<Option<f64>> {
        self.edges.get(edge).filter(|record| record.is_there).map(|record| record.strength)
    }

    /// Whether the first memory is said to be so related to the second.
    pub fn says(&self, from: MemoryId, relation: &str, to: MemoryId) -> bool {
        self.edge(&Edge { from: from.to_string(), to: to.to_string(), relation: relation.to_owned() }).is_some()
    }

    /// Memories that were said to take the place of `older`, whether or not it counts now, ascending.
    pub fn said_newer(&self, older: MemoryId) -> Vec<MemoryId> {
        let said = self.said_older.iter().filter(|(_, olders)| olders.contains(&older));
        let mut newer: Vec<MemoryId> = said.map(|(newer, _)| *newer).collect();
        newer.sort_unstable();
        newer
    }

    /// What was said last of whether two memories contradict each other, if anything was.
    pub fn contradiction(&self, a: MemoryId, b: MemoryId) -> Option<Contradiction<'_>> {
        let record = self.edges.get(&contradiction(a, b))?;
        Some(Contradiction {
            ids: (a.min(b), a.max(b)),
            at: record.at,
            is_there: record.is_there,
            hash: record.hash.as_deref(),
            is_by_rule: record.is_by_rule,
        })
    }

    /// What was said last of each contradiction that the memory was ever part of.
    pub fn contradictions_of(&self, id: MemoryId) -> impl Iterator<Item = Contradiction<'_>> {
        let others = self.disputed.get(&id).into_iter().flatten();
        others.filter_map(move |other| self.contradiction(id, *other))
    }

    /// What was said last of every pair that was ever said to be in contradiction, oldest first.
    pub fn contradictions(&self) -> Vec<Contradiction<'_>> {
        let pairs = self.disputed.iter().flat_map(|(id, others)| others.iter().map(move |other| (*id, *other)));
        let mut all: Vec<Contradiction<'_>> =
            pairs.filter(|(a, b)| a < b).filter_map(|(a, b)| self.contradiction(a, b)).collect();
        all.sort_unstable_by_key(|known| (known.at, known.ids));
        all
    }

    /// Supersessions (newer, older) that would close a circle and therefore count for nothing.
    pub fn circles(&self) -> &[(MemoryId, MemoryId)] {
        &self.circles
    }
}

fn contradiction(a: MemoryId, b: MemoryId) -> Edge {
    Edge { from: a.min(b).to_string(), to: a.max(b).to_string(), relation: CONTRADICTS.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(op: Op, order: i64, text: &str) -> (Line, u64) {
        let line = Line { text: Some(text.into()), ..Line::about(op, MemoryId::from_source("m")) };
        (Line { at: Timestamp::from_millis(order), ..line }, order as u64)
    }

    #[test]
    fn what_was_let_go_is_known_to_be_forgotten_and_comes_back_whole() {
        let id = MemoryId::from_source("m");
        let (told, forgotten) = (line(Op::Remember, 1, "first"), line(Op::Forget, 2, ""));
        let packed = Line { at: Timestamp::from_millis(2), ids: BTreeMap::from([(id, 2)]), ..Line::new(Op::Forgotten) };
        let fresh = fold(&[(packed.clone(), 3)]);
        let mut followed = fold(&[told.clone(), forgotten, (packed, 3)]);
        assert_eq!(followed.forgotten(id).unwrap().text, "first");
        followed.let_go(&[id]);
        for mut state in [fresh, followed] {
            assert!(state.get(id).is_none() && state.forgotten(id).is_none() && state.records.is_empty());
            assert_eq!(state.forgotten_since(id), Some((Timestamp::from_millis(2), 2)));
            assert_eq!((state.newest_order(id), state.ids_with_prefix("").len()), (Some(2), 1));
            assert_eq!(state.ended(id, Some(Timestamp::from_millis(2))).unwrap().order, 2);
            assert_eq!(state.ended(id, Some(Timestamp::from_millis(1))), None);
            state.apply(told.0.clone(), "r", 1, 0);
            assert!(state.get(id).is_none(), "an old line brings nothing back");
            let (again, number) = line(Op::Remember, 3, "second");
            state.apply(again, "r", number, 0);
            assert_eq!(state.get(id).unwrap().text, "second");
            let existing = state.clone();
            state.let_go(&[id]);
            assert_eq!(state.get(id).map(|memory| &memory.text), existing.get(id).map(|memory| &memory.text));
        }
    }

    fn fold(lines: &[(Line, u64)]) -> State {
        let mut state = State::default();
        loop {
            for (line, number) in lines {
                state.apply(line.clone(), "r", *number, 0);
            }
            let Some(again) = state.to_fold_again() else { break };
            state = again;
        }
        state
    }

    /// The filler lost to the older text that the purge takes: only folding again brings it back.
    #[test]
    fn a_purge_takes_what_came_before_it_in_whatever_order_it_is_read() {
        let id = MemoryId::from_source("m");
        let told = line(Op::Remember, 1, "first");
        let revised = line(Op::Revise, 2, "second");
        let purge = (Line { text: None, hash: Some("salt-hash".into()), ..line(Op::Purge, 3, "").0 }, 3);
        let (mut again, number) = line(Op::Remember, 4, "first");
        again.again = true;
        let again = (again, number);
        let packed = Line {
            at: Timestamp::from_millis(5),
            ids: BTreeMap::from([(id, 3)]),
            hashes: BTreeMap::from([(id, "salt-hash".into())]),
            ..Line::new(Op::Forgotten)
        };
        for purge in [purge, (packed, 5)] {
            let forgotten = fold(&[revised.clone(), purge.clone(), told.clone()]);
            assert!(forgotten.is_purged(id) && forgotten.get(id).is_none() && forgotten.forgotten(id).is_none());
            for lines in [
                [told.clone(), revised.clone(), purge.clone(), again.clone()],
                [told.clone(), revised.clone(), again.clone(), purge.clone()],
                [again.clone(), purge.clone(), revised.clone(), told.clone()],
                [purge.clone(), again.clone(), told.clone(), revised.clone()],
            ] {
                let state = fold(&lines);
                assert_eq!(state.get(id).unwrap().text, "first");
                assert_eq!(state.purge_of(id).unwrap().order, 3);
            }
        }
    }
}
