//! One memory as the fold goes on with it: what it says, and which line said so.

use super::line::{Line, Op, Who};
use super::{GLOBAL_SCOPE, Memory, NoteRef, Uses};
use crate::clock::Timestamp;
use crate::id::MemoryId;

/// When a line happened, for deciding between two: content before gap-filling content, then (order, replica, number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Clock {
    /// 1 where the line says something, 0 where it only fills gaps.
    pub(super) class: u8,
    /// Milliseconds since 1970.
    pub order: i64,
    /// Short form of the replica's name.
    pub(super) replica: u32,
    pub(super) number: u32,
    pub(super) crc: u32,
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
pub(super) fn replica_number(replica: &str) -> u32 {
    crc32c::crc32c(replica.as_bytes())
}

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

/// What a note shows of its memory.
const SHOWN: [Field; 7] =
    [Field::Text, Field::Title, Field::Kind, Field::Tags, Field::Entities, Field::Strength, Field::Pinned];

/// Which line set which field. Most memories were told once: one clock and a bit set.
#[derive(Debug, Clone, Default, PartialEq)]
struct FieldClocks {
    base: Clock,
    base_fields: u16,
    own: Vec<(Field, Clock)>,
}

impl FieldClocks {
    /// The line that set the field.
    fn of(&self, field: Field) -> Option<Clock> {
        let own = self.own.iter().find(|(own, _)| *own == field).map(|(_, clock)| *clock);
        own.or_else(|| (self.base_fields & 1 << field as u8 != 0).then_some(self.base))
    }

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

/// What is left of a memory that was purged: lines up to its order have no content any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Purge {
    /// Greatest order of a purge.
    pub order: i64,
    /// `salt-hash` of the text; empty where the text was not known any more. `-` and the hash of its note may follow.
    pub hash: String,
    /// Hashes of its notes as they were seen, so that they are recognised.
    pub note_hashes: Vec<String>,
}

/// A memory whose lines may go for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Order of its newest forget; of its purge where `newer_stay`.
    pub order: i64,
    /// Salted hash of the text, where it was purged.
    pub hash: Option<String>,
    /// Lines that are later than `order` still count: it was told again after its purge.
    pub newer_stay: bool,
}

/// A memory with what the fold needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) memory: Memory,
    clocks: FieldClocks,
    /// Greatest order of a remember, restore or note by a person.
    pub(super) alive: Option<i64>,
    /// Greatest order of a forget.
    pub(super) forgotten: Option<i64>,
    pub(super) forgotten_at: Option<Timestamp>,
    pub(super) purge: Option<Box<Purge>>,
    pub(super) trash_clock: Clock,
    pub(super) created_clock: Option<Timestamp>,
    /// Order of the line that found its note missing, while no other says that it is there.
    gone: Option<i64>,
    /// Greatest order of any line about it.
    pub(super) newest: i64,
    pub(super) has_text: bool,
}

impl Record {
    pub(super) fn new(id: MemoryId) -> Self {
        Record {
            memory: Memory::new(id),
            clocks: FieldClocks::default(),
            alive: None,
            forgotten: None,
            forgotten_at: None,
            purge: None,
            trash_clock: Clock::default(),
            created_clock: None,
            gone: None,
            newest: i64::MIN,
            has_text: false,
        }
    }

    /// A tie goes to the forget.
    pub(super) fn exists(&self) -> bool {
        self.has_text && self.alive.is_some_and(|alive| self.forgotten.is_none_or(|forgotten| alive > forgotten))
    }

    /// Whether it was purged and nothing came after: there is nothing to restore.
    pub(super) fn is_purged(&self) -> bool {
        let is_last = |purge: &Purge| self.forgotten.is_none_or(|forgotten| purge.order >= forgotten);
        !self.exists() && self.purge.as_deref().is_some_and(is_last)
    }

    pub(super) fn is_restorable(&self) -> bool {
        self.has_text && self.forgotten.is_some() && !self.exists() && !self.is_purged()
    }

    /// Whether anything was said of it that a purge would take.
    pub(super) fn has_content(&self) -> bool {
        let Memory { uses, trash, sources, .. } = &self.memory;
        let is_used = *uses != Uses::default() || !sources.is_empty();
        self.clocks.base_fields != 0
            || !self.clocks.own.is_empty()
            || self.created_clock.is_some()
            || is_used
            || trash.is_some()
    }

    /// Drops all content: what it says and where it comes from, how it was used, its note's place.
    pub(super) fn drop_content(&mut self) -> Vec<String> {
        let superseded = self.memory.superseded;
        let id = self.memory.id;
        let old = std::mem::replace(&mut self.memory, Memory::new(id));
        self.memory.superseded = superseded;
        self.clocks = FieldClocks::default();
        self.created_clock = None;
        self.gone = None;
        self.has_text = false;
        old.note.map(|note| note.hash).filter(|hash| !hash.is_empty()).into_iter().collect()
    }

    fn note(&mut self) -> &mut NoteRef {
        self.memory.note.get_or_insert_with(|| NoteRef {
            path: String::new(),
            hash: String::new(),
            wrote: None,
            gone: None,
            is_behind: false,
        })
    }

    pub(super) fn set_content(&mut self, line: &mut Line, clock: Clock) {
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
            let is_of_note = line.source.as_ref().is_some_and(|source| source.who == Some(Who::Note));
            memory.is_kind_chosen = matches!(line.op, Op::Revise | Op::Note) || is_of_note;
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
            memory.scope = (scope != GLOBAL_SCOPE).then_some(scope);
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

    pub(super) fn set_note(&mut self, line: &mut Line, clock: Clock) {
        if let Some(path) = line.path.take()
            && self.clocks.take(Field::NotePath, clock)
        {
            self.note().path = path;
        }
        let hash = line.hash.take();
        if (hash.is_some() || line.gone) && self.clocks.take(Field::NoteHash, clock) {
            self.gone = line.gone.then_some(clock.order);
            let note = self.note();
            note.gone = line.gone.then_some(line.at);
            note.wrote = line.wrote;
            if let Some(hash) = hash {
                note.hash = hash;
            }
        }
    }

    /// How it stands to its note, once a line was folded in. Vanished: a tie goes to the missing note. Behind: what
    /// the note shows was said later than the note was seen.
    pub(super) fn settle_note(&mut self) {
        self.memory.is_vanished = self.gone.is_some_and(|gone| self.alive.is_none_or(|alive| alive <= gone));
        let seen = self.clocks.of(Field::NoteHash);
        let is_later = |field: &Field| self.clocks.of(*field).is_some_and(|said| said.class == 1 && Some(said) > seen);
        let is_behind = seen.is_some() && SHOWN.iter().any(is_later);
        if let Some(note) = &mut self.memory.note {
            note.is_behind = is_behind;
        }
    }

    pub(super) fn set_uses(&mut self, line: &mut Line, replica: u32) {
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

    pub(super) fn add_sources(&mut self, line: &mut Line) {
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
