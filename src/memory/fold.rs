//! The fold: memories out of a set of journal lines.
//!
//! It is total, and the same set of lines gives the same state whatever order or number of copies they
//! arrive in: every field remembers the clock of the line that set it, uses, contexts and sources are
//! sets, and existence compares two greatest orders. The state keeps no lines.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::line::{By, Line, Op};
use super::{Memory, NoteRef, Superseded, Uses};
use crate::clock::{DAY_MS, Timestamp};
use crate::id::MemoryId;
use crate::kinds::{Kind, Level};

/// When a line happened, for deciding between two: content before gap-filling content, then (order, replica, number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Clock {
    /// 1 where the line says something, 0 where it only fills gaps.
    class: u8,
    /// Milliseconds since 1970.
    pub order: i64,
    /// Short form of the replica's name.
    replica: u32,
    number: u32,
    crc: u32,
}

impl Clock {
    /// The clock of `line` of `replica`; `crc` is the line's checksum.
    pub fn of(line: &Line, replica: &str, number: u64, crc: u32) -> Self {
        Clock {
            class: u8::from(!(line.again || line.op == Op::Restore)),
            order: line.order(),
            replica: replica_number(replica),
            number: number as u32,
            crc,
        }
    }
}

/// Short form of a replica's name, for clocks and counters.
fn replica_number(replica: &str) -> u32 {
    crc32c::crc32c(replica.as_bytes())
}

/// Days for which the key of an idempotent call holds.
pub const OP_KEY_DAYS: i64 = 30;
/// The relation by which one memory takes another's place.
pub const SUPERSEDES: &str = "supersedes";

/// The fields that the last writer wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Field {
    Text,
    Title,
    Kind,
    Level,
    Tags,
    Entities,
    Keywords,
    Scope,
    Happened,
    ValidUntil,
    Strength,
    Pinned,
    Trusted,
    NotePath,
    NoteHash,
}

/// Which line set which field. Most memories were told once: one clock and a bit set.
#[derive(Debug, Clone, Default, PartialEq)]
struct FieldClocks {
    base: Clock,
    base_fields: u16,
    own: Vec<(Field, Clock)>,
}

impl FieldClocks {
    /// Whether `clock` sets `field`; remembers it if so.
    fn take(&mut self, field: Field, clock: Clock) -> bool {
        let bit = 1u16 << field as u8;
        if let Some((_, known)) = self.own.iter_mut().find(|(own, _)| *own == field) {
            let wins = clock >= *known;
            if wins {
                *known = clock;
            }
            return wins;
        }
        if self.base_fields & bit != 0 {
            if clock < self.base {
                return false;
            }
            if clock > self.base {
                self.base_fields &= !bit;
                self.own.push((field, clock));
            }
            return true;
        }
        if self.base_fields == 0 || clock == self.base {
            self.base = clock;
            self.base_fields |= bit;
        } else {
            self.own.push((field, clock));
        }
        true
    }
}

/// A memory with what the fold needs to go on.
#[derive(Debug, Clone, PartialEq)]
struct Record {
    memory: Memory,
    clocks: FieldClocks,
    /// Greatest order of a remember, restore or note by a person.
    alive: Option<i64>,
    /// Greatest order of a forget.
    forgotten: Option<i64>,
    forgotten_at: Option<Timestamp>,
    is_purged: bool,
    trash_clock: Clock,
    created_clock: Option<Timestamp>,
    /// Greatest order of any line about it.
    newest: i64,
    has_text: bool,
}

impl Record {
    fn new(id: MemoryId) -> Self {
        let memory = Memory {
            id,
            text: String::new(),
            title: None,
            kind: Kind::default(),
            level: Level::default(),
            tags: Vec::new(),
            entities: Vec::new(),
            keywords: Vec::new(),
            scope: None,
            happened: None,
            valid_until: None,
            strength: None,
            is_pinned: false,
            trust: None,
            created: Timestamp::default(),
            sources: Vec::new(),
            uses: Uses::default(),
            note: None,
            trash: None,
            superseded: None,
        };
        Record {
            memory,
            clocks: FieldClocks::default(),
            alive: None,
            forgotten: None,
            forgotten_at: None,
            is_purged: false,
            trash_clock: Clock::default(),
            created_clock: None,
            newest: i64::MIN,
            has_text: false,
        }
    }

    /// A tie goes to the forget.
    fn exists(&self) -> bool {
        self.has_text && self.alive.is_some_and(|alive| self.forgotten.is_none_or(|forgotten| alive > forgotten))
    }

    fn note(&mut self) -> &mut NoteRef {
        self.memory.note.get_or_insert_with(|| NoteRef {
            path: String::new(),
            hash: String::new(),
            wrote: None,
            is_gone: false,
        })
    }

    fn set_content(&mut self, line: &mut Line, clock: Clock) {
        let Record { memory, clocks, has_text, .. } = self;
        if let Some(text) = line.text.take()
            && clocks.take(Field::Text, clock)
        {
            memory.text = text;
            *has_text = true;
        }
        if let Some(title) = line.title.take()
            && clocks.take(Field::Title, clock)
        {
            memory.title = Some(title);
        }
        if let Some(kind) = line.kind
            && clocks.take(Field::Kind, clock)
        {
            memory.kind = kind;
        }
        if let Some(level) = line.level
            && clocks.take(Field::Level, clock)
        {
            memory.level = level;
        }
        if let Some(tags) = line.tags.take()
            && clocks.take(Field::Tags, clock)
        {
            memory.tags = tags;
        }
        if let Some(entities) = line.entities.take()
            && clocks.take(Field::Entities, clock)
        {
            memory.entities = entities;
        }
        if let Some(keywords) = line.keywords.take()
            && clocks.take(Field::Keywords, clock)
        {
            memory.keywords = keywords;
        }
        if let Some(scope) = line.scope.take()
            && clocks.take(Field::Scope, clock)
        {
            memory.scope = (scope != super::GLOBAL_SCOPE).then_some(scope);
        }
        if let Some(happened) = line.happened
            && clocks.take(Field::Happened, clock)
        {
            memory.happened = Some(happened);
        }
        if let Some(until) = line.valid_until
            && clocks.take(Field::ValidUntil, clock)
        {
            memory.valid_until = Some(until);
        }
        if let Some(strength) = line.strength
            && clocks.take(Field::Strength, clock)
        {
            memory.strength = Some(strength.clamp(0.0, 2.0));
        }
        if let Some(pinned) = line.pinned
            && clocks.take(Field::Pinned, clock)
        {
            memory.is_pinned = pinned;
        }
        if let Some(trusted) = line.trusted
            && clocks.take(Field::Trusted, clock)
        {
            memory.trust = Some(trusted);
        }
        for name in &line.clear {
            self.clear(name, clock);
        }
    }

    fn clear(&mut self, name: &str, clock: Clock) {
        let Record { memory, clocks, .. } = self;
        match name {
            "title" if clocks.take(Field::Title, clock) => memory.title = None,
            "tags" if clocks.take(Field::Tags, clock) => memory.tags.clear(),
            "entities" if clocks.take(Field::Entities, clock) => memory.entities.clear(),
            "keywords" if clocks.take(Field::Keywords, clock) => memory.keywords.clear(),
            "happened" if clocks.take(Field::Happened, clock) => memory.happened = None,
            "valid_until" if clocks.take(Field::ValidUntil, clock) => memory.valid_until = None,
            "strength" if clocks.take(Field::Strength, clock) => memory.strength = None,
            "trusted" if clocks.take(Field::Trusted, clock) => memory.trust = None,
            _ => {}
        }
    }

    fn set_note(&mut self, line: &mut Line, clock: Clock) {
        if let Some(path) = line.path.take()
            && self.clocks.take(Field::NotePath, clock)
        {
            self.note().path = path;
        }
        let hash = line.hash.take();
        if (hash.is_some() || line.gone) && self.clocks.take(Field::NoteHash, clock) {
            let note = self.note();
            note.is_gone = line.gone;
            note.wrote = line.wrote;
            if let Some(hash) = hash {
                note.hash = hash;
            }
        }
    }

    fn set_uses(&mut self, line: &mut Line, replica: u32) {
        let uses = &mut self.memory.uses;
        for hour in line.hours.drain(..) {
            if let Err(place) = uses.hours.binary_search(&hour) {
                uses.hours.insert(place, hour);
            }
        }
        raise(&mut uses.older, replica, line.older);
        raise(&mut uses.mentions, replica, line.mentions);
        for context in line.contexts.drain(..) {
            if let Err(place) = uses.contexts.binary_search(&context) {
                uses.contexts.insert(place, context);
            }
        }
    }

    fn add_sources(&mut self, line: &mut Line) {
        let sources = &mut self.memory.sources;
        for source in line.source.take().into_iter().chain(line.sources.drain(..)) {
            if !source.is_empty()
                && let Err(place) = sources.binary_search(&source)
            {
                sources.insert(place, source);
            }
        }
    }
}

/// Raises a replica's counter to `count`: the greatest wins, so that copies of a line change nothing.
fn raise(counters: &mut Vec<(u32, u32)>, replica: u32, count: u32) {
    if count == 0 {
        return;
    }
    match counters.binary_search_by_key(&replica, |(known, _)| *known) {
        Ok(place) => counters[place].1 = counters[place].1.max(count),
        Err(place) => counters.insert(place, (replica, count)),
    }
}

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

/// All memories, and what else the journal's lines add up to.
#[derive(Debug, Clone, Default)]
pub struct State {
    records: HashMap<MemoryId, Record>,
    edges: HashMap<Edge, EdgeRecord>,
    op_keys: HashMap<String, OpRecord>,
    /// Supersessions that were void because they would have closed a circle.
    circles: Vec<(MemoryId, MemoryId)>,
    /// Memories at either end of a supersession.
    in_edges: HashSet<MemoryId>,
    /// What each memory was said to take the place of.
    said_older: HashMap<MemoryId, Vec<MemoryId>>,
    /// What each memory took the place of.
    olders: HashMap<MemoryId, Vec<MemoryId>>,
    edges_changed: bool,
}

impl State {
    /// Folds one line in. `number` is its line number, or its place in the file where it has none; `crc` its checksum.
    /// Returns the memory it is about.
    pub fn apply(&mut self, mut line: Line, replica: &str, number: u64, crc: u32) -> Option<MemoryId> {
        let clock = Clock::of(&line, replica, number, crc);
        let (order, at) = (clock.order, line.at);
        if line.op == Op::Forgotten {
            for (id, order) in std::mem::take(&mut line.ids) {
                let record = self.record(id);
                record.forgotten = record.forgotten.max(Some(order));
                record.newest = record.newest.max(order);
                record.forgotten_at = record.forgotten_at.max(Some(at));
                self.edges_changed |= self.in_edges.contains(&id);
            }
            return None;
        }
        if matches!(line.op, Op::Relate | Op::Unrelate) {
            if let (Some(from), Some(to), Some(relation)) = (line.from.take(), line.to.take(), line.relation.take()) {
                self.set_edge(Edge { from, to, relation }, clock, at, line.strength, line.op == Op::Relate);
            }
            return None;
        }
        let id = line.id?;
        let short_replica = replica_number(replica);
        if let (Some(key), Some(hash)) = (line.op_key.take(), line.op_hash.take()) {
            self.note_op(key, &hash, line.op_item.unwrap_or(0), (id, line.again), at, clock);
        }
        for older in std::mem::take(&mut line.supersedes) {
            let edge = Edge { from: id.to_string(), to: older.to_string(), relation: SUPERSEDES.into() };
            self.set_edge(edge, Clock { class: 1, ..clock }, at, None, true);
        }
        let is_in_edge = self.in_edges.contains(&id);
        let record = self.record(id);
        let existed = record.exists();
        record.newest = record.newest.max(order);
        match line.op {
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
                record.is_purged |= line.op == Op::Purge;
                if clock >= record.trash_clock {
                    record.trash_clock = clock;
                    record.memory.trash = line.path.take();
                }
            }
            _ => {}
        }
        // A memory that comes or goes changes what is superseded; anything else does not.
        let is_flipped = record.exists() != existed;
        self.edges_changed |= is_in_edge && is_flipped;
        Some(id)
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
        self.records.entry(id).or_insert_with(|| Record::new(id))
    }

    fn set_edge(&mut self, edge: Edge, clock: Clock, at: Timestamp, strength: Option<f64>, is_there: bool) {
        let wins = self.edges.get(&edge).is_none_or(|known| clock >= known.clock);
        if wins {
            if edge.relation == SUPERSEDES {
                if let (Ok(newer), Ok(older)) = (edge.from.parse(), edge.to.parse()) {
                    self.in_edges.extend([newer, older]);
                    let said = self.said_older.entry(newer).or_default();
                    said.retain(|known| *known != older);
                    if is_there {
                        said.push(older);
                    }
                }
                self.edges_changed = true;
            }
            self.edges.insert(edge, EdgeRecord { clock, at, strength, is_there });
        }
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
        let exists = |id: MemoryId| self.records.get(&id).is_some_and(Record::exists);
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
        self.records
            .get(&id)
            .filter(|record| record.has_text && record.forgotten.is_some() && !record.exists())
            .map(|record| &record.memory)
    }

    /// When the memory was forgotten last, and by which order; `None` where it exists or was never known.
    pub fn forgotten_since(&self, id: MemoryId) -> Option<(Timestamp, i64)> {
        let record = self.records.get(&id).filter(|record| !record.exists())?;
        Some((record.forgotten_at?, record.forgotten?))
    }

    /// Whether a purge was asked for.
    pub fn is_purged(&self, id: MemoryId) -> bool {
        self.records.get(&id).is_some_and(|record| record.is_purged && !record.exists())
    }

    /// All memories that exist, in no particular order.
    pub fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.records.values().filter(|record| record.exists()).map(|record| &record.memory)
    }

    /// All memories that were forgotten and can still be restored.
    pub fn all_forgotten(&self) -> impl Iterator<Item = &Memory> {
        self.records
            .values()
            .filter(|record| record.has_text && record.forgotten.is_some() && !record.exists())
            .map(|record| &record.memory)
    }

    /// Ids, also of forgotten memories, that begin with `prefix`, ascending.
    pub fn ids_with_prefix(&self, prefix: &str) -> Vec<MemoryId> {
        let mut ids: Vec<MemoryId> = self.records.keys().copied().filter(|id| id.starts_with(prefix)).collect();
        ids.sort_unstable();
        ids
    }

    /// Greatest order of any line about the memory.
    pub fn newest_order(&self, id: MemoryId) -> Option<i64> {
        self.records.get(&id).map(|record| record.newest)
    }

    /// This replica's own count of mentions so far.
    pub fn mentions_of(&self, id: MemoryId, replica: &str) -> u32 {
        let short = replica_number(replica);
        self.records
            .get(&id)
            .and_then(|record| record.memory.uses.mentions.iter().find(|(known, _)| *known == short))
            .map_or(0, |(_, count)| *count)
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

    /// Supersessions (newer, older) that would close a circle and therefore count for nothing.
    pub fn circles(&self) -> &[(MemoryId, MemoryId)] {
        &self.circles
    }
}
