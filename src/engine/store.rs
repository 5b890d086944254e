//! What a process knows at one moment: the folded state, and where the words of each memory lie.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::aliases::{ALIAS_OF, Aliases};
use super::fit::{Shapes, Sketch, meant, seat};
use super::judge::MAX_FILLERS;
use super::keys::{analysis_hash, same_key, slot_keys};
use super::names::count_names;
use super::network::{Network, relations_in};
use super::own_notes::{OwnNote, Shelf};
use crate::clock::Timestamp;
use crate::embedding::{Model, Vector};
use crate::entities::Names;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::index::{Cached, Document, Index, Joined, Lacking, Tail, Terms, VectorFile, Vectors};
use crate::journal::Told;
use crate::lexical::{Lengths, Posting, Slot, Spelling};
use crate::memory::{Memory, State};
use crate::words;

/// Postings that are walked for the candidates of one new memory; the rarest word's in any case.
const MAX_CANDIDATE_POSTINGS: usize = 2_000;

/// Memories of a slot of which the newest that hold are looked for.
const MOST_LOOKED_AT: usize = 1_000;

/// Vectors that are made before a new process answers, where the file with them is gone: about half a second's. The
/// rest follows in the background.
const VECTORS_AT_ONCE: usize = if cfg!(test) { 20 } else { 20_000 };

/// A place in the word statistics. A memory whose words change gets a new one; the old one is used again once no
/// document of the index can mean it.
#[derive(Debug, Clone, Copy)]
struct Place {
    id: MemoryId,
    /// Hash of the analysed text.
    hash: u64,
}

/// The words, shape and meaning of one text.
pub(super) struct Analysed {
    terms: Vec<String>,
    sketch: Sketch,
    vector: Option<Vector>,
}

/// The folded state with the words of all memories.
#[derive(Default)]
pub(super) struct Store {
    pub(super) state: State,
    slots: FxHashMap<MemoryId, Slot>,
    places: Vec<Place>,
    pub(super) lengths: Lengths,
    pub(super) tail: Tail,
    pub(super) terms: Option<Terms>,
    pub(super) shapes: Shapes,
    /// What makes vectors of texts, where meanings count.
    pub(super) model: Option<Arc<Model>>,
    /// All words, for what resembles an unknown one; made at the first of those.
    spelling: Mutex<Option<Spelling>>,
    /// Slots on which nothing stands.
    free: Vec<Slot>,
    /// Slots that were left since the documents of the index were told where they belong.
    left: Vec<Slot>,
    /// Documents of the index that are of no use any more.
    strays: Vec<u64>,
    /// Parts of the person's own notes, which have words here and no lines in the journal.
    pub(super) shelf: Shelf,
    /// Memories by the hash of what makes two of them the same; filled at the first `remember`.
    same: Option<HashMap<u64, Vec<MemoryId>>>,
    /// Memories by the slots they fill; filled at the first `remember` that fills one.
    fillers: Option<HashMap<u64, Vec<MemoryId>>>,
    /// Other names of entities.
    pub(super) aliases: Aliases,
    /// How all hangs together; made at the first question about it.
    pub(super) network: Option<Network>,
    /// Names that are known; filled at the first `remember`, and again once a note of the person's own changed.
    pub(super) names: Option<Names>,
}

impl Store {
    /// Makes the store of a state, with the words that the index has; the rest is analysed. Where the index cannot
    /// be read, everything is. Meanings come from `cached`, or from `model`.
    pub(super) fn new(
        state: State,
        shelf: Shelf,
        index: Option<&Index>,
        model: Option<Arc<Model>>,
        cached: &Cached,
    ) -> (Store, Option<Error>) {
        let aliases = Aliases::of(&state);
        let mut store = Store { state, model, shelf, aliases, ..Store::default() };
        store.shapes.vectors = Vectors::new(store.model.as_ref().map_or(0, |model| model.dimensions()));
        // About the order in which the index has them, so that walking postings walks memory in order; parts of notes last.
        let memories = store.state.memories();
        let mut all: Vec<(Timestamp, Place)> =
            memories.map(|memory| (memory.created, Place { id: memory.id, hash: analysis_hash(memory) })).collect();
        all.sort_unstable_by_key(|(created, place)| (*created, place.id));
        let parts = store.shelf.parts().filter(|(id, _)| store.state.get(*id).is_none());
        let parts = parts.map(|(id, hash)| Place { id, hash });
        let all: Vec<Place> = all.into_iter().map(|(_, place)| place).chain(parts).collect();
        store.slots = all.iter().zip(0..).map(|(place, slot)| (place.id, slot)).collect();
        store.places = all;
        store.take_shapes(cached);
        let mut trouble = None;
        match index.map(|index| store.join(index)).transpose() {
            Ok(Some(joined)) => store.take_documents(&joined),
            Ok(None) => {}
            Err(error) => trouble = Some(error),
        }
        store.analyse_the_rest();
        (store, trouble)
    }

    /// Shapes and meanings of all memories; the first [`VECTORS_AT_ONCE`] that the cache lacks are made.
    fn take_shapes(&mut self, cached: &Cached) {
        let mut lacking = Vec::new();
        for (slot, place) in (0..).zip(&self.places) {
            let memory = self.state.get(place.id);
            let outline = if memory.is_none() { self.shelf.outline(place.id) } else { None };
            let Some(known) = memory.or(outline.as_ref()) else { continue };
            self.shapes.set(slot, &Sketch::of(known));
            match cached.get(place.hash) {
                Some((scale, values)) => self.shapes.vectors.set(slot, scale, values),
                None if memory.is_some() => lacking.push(place.id),
                // Its note has to be read for that.
                None if self.model.is_some() => self.shelf.mark_unread(place.id),
                None => {}
            }
        }
        lacking.truncate(VECTORS_AT_ONCE);
        self.take_vectors(&self.made_vectors(&lacking));
    }

    /// The vectors of memories, made anew, with the hash of the text they were made of.
    pub(super) fn made_vectors(&self, ids: &[MemoryId]) -> Vec<(MemoryId, u64, Vector)> {
        let Some(model) = &self.model else { return Vec::new() };
        let made = ids.iter().filter_map(|id| {
            let slot = *self.slots.get(id)?;
            let memory = self.state.get(*id)?;
            Some((*id, self.places[slot as usize].hash, model.vector(&meant(memory))))
        });
        made.collect()
    }

    /// Takes vectors over, as far as the texts are still the same.
    pub(super) fn take_vectors(&mut self, made: &[(MemoryId, u64, Vector)]) {
        for (id, hash, vector) in made {
            let slot = self.slots.get(id).copied();
            if let Some(slot) = slot.filter(|slot| self.places[*slot as usize].hash == *hash) {
                self.shapes.vectors.set(slot, vector.scale, vector.values.iter().copied());
            }
        }
    }

    /// Memories whose vector is not known yet.
    pub(super) fn without_vector(&self) -> Vec<MemoryId> {
        if self.vectors_lacking() == 0 {
            return Vec::new();
        }
        let lacking = self.slots.iter().filter(|(_, slot)| self.shapes.vectors.get(**slot).is_none());
        lacking.map(|(id, _)| *id).collect()
    }

    /// How many vectors are not known yet.
    pub(super) fn vectors_lacking(&self) -> usize {
        if self.model.is_none() { 0 } else { self.slots.len() - self.shapes.vectors.known() }
    }

    /// The vectors that the file lacks.
    pub(super) fn unsaved_vectors(&self, file: &VectorFile, known: Cached) -> Lacking {
        let vectors = self.slots.values().filter_map(|slot| {
            let (scale, values) = self.shapes.vectors.get(*slot)?;
            Some((self.places[*slot as usize].hash, scale, values))
        });
        file.lacking(known, vectors)
    }

    /// The words most like one that nobody holds.
    pub(super) fn similar(&self, word: &str) -> Result<Vec<(String, f32)>> {
        let mut spelling = self.spelling.lock().unwrap_or_else(PoisonError::into_inner);
        let spelling = match &mut *spelling {
            Some(known) => known,
            unknown => {
                let mut known = Spelling::default();
                if let Some(terms) = &self.terms {
                    known.add(terms.words()?.iter().map(String::as_str));
                }
                known.add(self.tail.words());
                unknown.insert(known)
            }
        };
        let mut trouble = None;
        let similar = spelling.similar(word, |other| {
            self.is_held(other).unwrap_or_else(|error| {
                trouble = Some(error);
                false
            })
        });
        trouble.map_or(Ok(similar), Err)
    }

    /// Whether any memory holds a word, or did lately.
    pub(super) fn is_held(&self, word: &str) -> Result<bool> {
        let indexed = self.terms.as_ref().map_or(Ok(0), |terms| terms.holders(word))?;
        Ok(indexed + self.tail.holders(word) > 0)
    }

    /// How many memories hold a word, at least: no postings are read for that.
    pub(super) fn held_by_at_least(&self, word: &str) -> Result<u32> {
        let Some(terms) = &self.terms else { return Ok(0) };
        Ok(terms.holders(word)?.saturating_sub(terms.masked() + self.left.len()) as u32)
    }

    fn add_to_tail(&mut self, slot: Slot, terms: &[String]) {
        self.tail.add(slot, terms);
        if let Some(spelling) = self.spelling.get_mut().unwrap_or_else(PoisonError::into_inner) {
            spelling.add(terms.iter().map(String::as_str));
        }
    }

    fn join(&self, index: &Index) -> Result<Joined> {
        index.join(|id, hash| {
            let slot = *self.slots.get(&MemoryId::from_bits(id))?;
            (self.places[slot as usize].hash == hash).then_some(slot)
        })
    }

    fn take_documents(&mut self, joined: &Joined) {
        let mut has_document = vec![false; self.places.len()];
        for (slot, length) in &joined.documents {
            if self.lengths.get(*slot) != Some(*length) {
                let seat = self.state.get(self.places[*slot as usize].id).and_then(seat);
                self.lengths.set(*slot, *length, seat);
            }
            has_document[*slot as usize] = true;
        }
        self.tail.retain(|slot| !has_document[slot as usize]);
        self.terms = Some(joined.terms.clone());
        self.strays.clone_from(&joined.strays);
        self.free.append(&mut self.left);
    }

    /// Analyses what has neither a document nor a place in the tail. Notes of the person's own have to be read for it:
    /// they are only marked.
    fn analyse_the_rest(&mut self) {
        let missing: Vec<(MemoryId, Slot)> = self
            .slots
            .iter()
            .filter(|(_, slot)| self.lengths.get(**slot).is_none())
            .map(|(id, slot)| (*id, *slot))
            .collect();
        for (id, slot) in missing {
            if let Some(memory) = self.state.get(id) {
                let terms = document_terms(memory);
                self.lengths.set(slot, terms.len() as u32, seat(memory));
                self.add_to_tail(slot, &terms);
            } else {
                self.shelf.mark_unread(id);
            }
        }
        self.lengths.settle();
    }

    /// Takes over a newer commit of the index.
    pub(super) fn rejoin(&mut self, index: &Index) -> Result<()> {
        let joined = self.join(index)?;
        // What the old documents covered and the new ones do not must be analysed.
        let covered: std::collections::HashSet<Slot> = joined.documents.iter().map(|(slot, _)| *slot).collect();
        let slots: Vec<Slot> = self.slots.values().copied().collect();
        for slot in slots {
            if !covered.contains(&slot) && !self.tail.contains(slot) {
                self.lengths.remove(slot);
            }
        }
        self.take_documents(&joined);
        self.analyse_the_rest();
        Ok(())
    }

    /// Goes on without the index: every memory is analysed here.
    pub(super) fn leave_index(&mut self) {
        self.terms = None;
        self.strays.clear();
        self.free.append(&mut self.left);
        let slots: Vec<Slot> = self.slots.values().copied().collect();
        for slot in slots {
            if !self.tail.contains(slot) {
                self.lengths.remove(slot);
            }
        }
        self.analyse_the_rest();
    }

    /// Folds lines in and brings the words of the memories they are about up to date.
    pub(super) fn apply(&mut self, lines: Vec<Told>) {
        let mut changed: Vec<MemoryId> = Vec::new();
        let mut related = Vec::new();
        let mut names_change = false;
        let mut renamed: HashSet<MemoryId> = HashSet::new();
        for told in lines {
            names_change |= told.line.relation.as_deref() == Some(ALIAS_OF);
            if self.network.is_some() {
                related.extend(relations_in(&told.line));
            }
            let packed: Vec<MemoryId> = told.line.ids.keys().copied().collect();
            if let Some(names) = &mut self.names {
                let told_of = packed.iter().copied().chain(told.line.id);
                for id in told_of.filter(|id| renamed.insert(*id)) {
                    count_names(names, self.state.get(id), false);
                }
            }
            changed.extend(packed);
            changed.extend(self.state.apply(told.line, &told.replica, told.number, told.crc));
        }
        self.state.settle();
        if let Some(names) = &mut self.names {
            for id in renamed {
                count_names(names, self.state.get(id), true);
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for id in changed {
            self.update(id);
            self.reweave(id);
        }
        self.reweave_relations(related);
        if names_change {
            self.aliases = Aliases::of(&self.state);
            // Made anew at the next question.
            self.network = None;
        }
        self.lengths.settle();
    }

    fn update(&mut self, id: MemoryId) {
        let slot = self.slots.get(&id).copied();
        let Some(memory) = self.state.get(id) else {
            if let Some(slot) = slot {
                self.drop_slot(id, slot);
            }
            return;
        };
        // Scope, speaker and day of happening count here, and not in the words.
        let key = same_key(memory);
        if let Some(same) = &mut self.same {
            let ids = same.entry(key).or_default();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if let Some(fillers) = &mut self.fillers {
            for key in slot_keys(memory) {
                let ids = fillers.entry(key).or_default();
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        let hash = analysis_hash(memory);
        let sketch = Sketch::of(memory);
        if let Some(slot) = slot.filter(|slot| self.places[*slot as usize].hash == hash) {
            if self.shapes.set(slot, &sketch) {
                let words = self.lengths.get(slot).unwrap_or_default();
                self.lengths.set(slot, words, sketch.seat);
            }
            return;
        }
        let analysed = self.analysed(memory);
        self.place(id, hash, &analysed);
    }

    /// What is known of a memory, or a part of a note, by its text.
    pub(super) fn analysed(&self, memory: &Memory) -> Analysed {
        Analysed {
            terms: document_terms(memory),
            sketch: Sketch::of(memory),
            vector: self.model.as_ref().map(|model| model.vector(&meant(memory))),
        }
    }

    /// Gives what `id` names a place of its own with these words, a new one.
    fn place(&mut self, id: MemoryId, hash: u64, analysed: &Analysed) {
        let Analysed { terms, sketch, vector } = analysed;
        self.leave(id);
        let slot = self.free.pop().unwrap_or(self.places.len() as Slot);
        match self.places.get_mut(slot as usize) {
            Some(place) => *place = Place { id, hash },
            None => self.places.push(Place { id, hash }),
        }
        self.slots.insert(id, slot);
        self.lengths.set(slot, terms.len() as u32, sketch.seat);
        self.shapes.set(slot, sketch);
        self.add_to_tail(slot, terms);
        if let Some(vector) = vector {
            self.shapes.vectors.set(slot, vector.scale, vector.values.iter().copied());
        }
    }

    /// Takes away the place of what `id` names.
    fn leave(&mut self, id: MemoryId) {
        if let Some(slot) = self.slots.get(&id).copied() {
            self.drop_slot(id, slot);
        }
    }

    /// Puts a note of the person's own in place of what was known of it, with what its parts say.
    pub(super) fn put_note(&mut self, path: &str, note: OwnNote, parts: &[Analysed]) {
        self.names = None;
        self.drop_note(path);
        for ((id, hash), analysed) in note.parts(path).zip(parts) {
            if self.state.get(id).is_none() {
                self.place(id, hash, analysed);
            }
        }
        self.lengths.settle();
        self.shelf.insert(path, note);
    }

    /// Takes a note of the person's own away.
    pub(super) fn drop_note(&mut self, path: &str) {
        self.names = None;
        for id in self.shelf.remove(path) {
            if self.state.get(id).is_none() {
                self.leave(id);
            }
        }
        self.lengths.settle();
    }

    /// The slot of a memory.
    pub(super) fn slot_of(&self, id: MemoryId) -> Option<Slot> {
        self.slots.get(&id).copied()
    }

    /// Share of all that is recalled whose vector is known, where there is a table.
    pub(super) fn vector_coverage(&self) -> Option<f64> {
        let all = self.lengths.count();
        let is_counted = self.model.is_some() && all > 0;
        is_counted.then(|| self.shapes.vectors.known() as f64 / f64::from(all))
    }

    /// What stands on a slot.
    pub(super) fn id_at(&self, slot: Slot) -> Option<MemoryId> {
        self.places.get(slot as usize).map(|place| place.id)
    }

    fn drop_slot(&mut self, id: MemoryId, slot: Slot) {
        self.lengths.remove(slot);
        self.tail.remove(slot);
        self.shapes.remove(slot);
        self.slots.remove(&id);
        if self.terms.is_some() {
            self.strays.push(id.bits());
            self.left.push(slot);
        } else {
            self.free.push(slot);
        }
    }

    /// Memories that had this key at some time: compare before you trust it.
    pub(super) fn same_as(&mut self, key: u64) -> Vec<MemoryId> {
        let same = self.same.get_or_insert_with(|| {
            let mut same: HashMap<u64, Vec<MemoryId>> = HashMap::new();
            for memory in self.state.memories() {
                same.entry(same_key(memory)).or_default().push(memory.id);
            }
            same
        });
        let mut ids = same.get(&key).cloned().unwrap_or_default();
        ids.sort_unstable();
        ids
    }

    /// Memories that fill one of these slots, or did at some time; of many the newest, ascending.
    pub(super) fn fillers(&mut self, keys: &[u64]) -> Vec<MemoryId> {
        let fillers = self.fillers.get_or_insert_with(|| {
            let mut memories: Vec<&Memory> = self.state.memories().collect();
            memories.sort_unstable_by_key(|memory| (memory.dated(), memory.id));
            let mut fillers: HashMap<u64, Vec<MemoryId>> = HashMap::new();
            for memory in memories {
                for key in slot_keys(memory) {
                    fillers.entry(key).or_default().push(memory.id);
                }
            }
            fillers
        });
        let mut newest: Vec<MemoryId> = Vec::new();
        for ids in keys.iter().filter_map(|key| fillers.get(key)) {
            let is_current = |id: &&MemoryId| self.state.get(**id).is_some_and(|memory| memory.superseded.is_none());
            newest.extend(ids.iter().rev().take(MOST_LOOKED_AT).filter(is_current).take(MAX_FILLERS));
        }
        newest.sort_unstable();
        newest.dedup();
        newest
    }

    /// The memories that share the rarest words with a text: enough to find what says nearly the same, without
    /// scoring everything that shares a common word.
    pub(super) fn candidates(&self, query: &[String], count: usize) -> Result<Vec<MemoryId>> {
        let mut rarity: Vec<(usize, &String)> = Vec::new();
        for word in query {
            let indexed = self.terms.as_ref().map_or(Ok(0), |terms| terms.holders(word))?;
            rarity.push((indexed + self.tail.holders(word), word));
        }
        rarity.retain(|(holders, _)| *holders > 0);
        rarity.sort_unstable();
        // Sorted afterwards: cheaper than a map for so few.
        let mut shared: Vec<(Slot, f32)> = Vec::new();
        let (mut walked, mut postings) = (0, Vec::new());
        for (holders, word) in rarity {
            if walked > 0 && walked + holders > MAX_CANDIDATE_POSTINGS {
                break;
            }
            walked += holders;
            postings.clear();
            if let Some(terms) = &self.terms {
                terms.postings(word, &mut postings)?;
            }
            self.tail.postings(word, &mut postings);
            let idf = self.lengths.idf(postings.len() as u32);
            let current = postings.iter().filter(|posting| self.lengths.get(posting.slot).is_some());
            shared.extend(current.map(|posting| (posting.slot, idf)));
        }
        shared.sort_by_key(|(slot, _)| *slot);
        let mut best: Vec<(f32, MemoryId)> = shared
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|shares| {
                let id = self.places[shares.first()?.0 as usize].id;
                let is_memory = self.shelf.len() == 0 || self.state.get(id).is_some();
                is_memory.then(|| (shares.iter().map(|(_, idf)| idf).sum(), id))
            })
            .collect();
        let better = |a: &(f32, MemoryId), b: &(f32, MemoryId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if count < best.len() {
            best.select_nth_unstable_by(count, better);
            best.truncate(count);
        }
        best.sort_unstable_by(better);
        Ok(best.into_iter().map(|(_, id)| id).collect())
    }

    /// The memories about an entity, by its folded name; none where more than `most` hold each of its words.
    pub(super) fn about(&self, entity: &str, most: usize) -> Result<Vec<MemoryId>> {
        let mut rarest: Option<(usize, String)> = None;
        for word in words::terms(entity) {
            let indexed = self.terms.as_ref().map_or(Ok(0), |terms| terms.holders(&word))?;
            let holders = indexed + self.tail.holders(&word);
            if rarest.as_ref().is_none_or(|(least, _)| holders < *least) {
                rarest = Some((holders, word));
            }
        }
        let Some((_, word)) = rarest.filter(|(holders, _)| *holders <= most) else {
            return Ok(Vec::new());
        };
        let mut postings = Vec::new();
        if let Some(terms) = &self.terms {
            terms.postings(&word, &mut postings)?;
        }
        self.tail.postings(&word, &mut postings);
        let is_about = |id: &MemoryId| {
            let entities = self.state.get(*id).map(|memory| &memory.entities[..]).unwrap_or_default();
            entities.iter().any(|own| words::fold(own) == entity)
        };
        let current = postings.iter().filter(|posting| self.lengths.get(posting.slot).is_some());
        Ok(current.map(|posting| self.places[posting.slot as usize].id).filter(is_about).collect())
    }

    /// Memories that have no document yet.
    pub(super) fn without_document(&self) -> usize {
        self.tail.len()
    }

    /// The memories that the index lacks, and the documents it should drop.
    pub(super) fn missing_documents(&self) -> (Vec<MemoryId>, Vec<u64>) {
        let missing = self.tail.slots().map(|slot| self.places[slot as usize].id).collect();
        let gone =
            self.strays.iter().copied().filter(|id| !self.slots.contains_key(&MemoryId::from_bits(*id))).collect();
        (missing, gone)
    }

    /// Memories that are found under other words, or with another length, than in a store of the same state.
    pub(super) fn differing_from(&self, fresh: &Store) -> Result<Vec<MemoryId>> {
        let mut words = match &self.terms {
            Some(terms) => terms.words()?,
            None => BTreeSet::new(),
        };
        words.extend(self.tail.words().chain(fresh.tail.words()).map(str::to_owned));
        let mut differing: BTreeSet<Slot> =
            self.slots.values().copied().filter(|slot| self.lengths.get(*slot) != fresh.lengths.get(*slot)).collect();
        let (mut own, mut right) = (Vec::new(), Vec::new());
        for word in words {
            own.clear();
            right.clear();
            if let Some(terms) = &self.terms {
                terms.postings(&word, &mut own)?;
            }
            self.tail.postings(&word, &mut own);
            fresh.tail.postings(&word, &mut right);
            let pairs = |postings: &[Posting]| -> BTreeSet<(Slot, u32)> {
                postings.iter().map(|posting| (posting.slot, posting.frequency)).collect()
            };
            differing.extend(pairs(&own).symmetric_difference(&pairs(&right)).map(|(slot, _)| *slot));
        }
        Ok(differing.into_iter().map(|slot| self.places[slot as usize].id).collect())
    }

    /// The document of a memory as it is now; `None` for a part of a note.
    pub(super) fn document(&self, id: MemoryId) -> Option<Document> {
        let place = self.places[*self.slots.get(&id)? as usize];
        let memory = self.state.get(id)?;
        Some(Document { id: id.bits(), hash: place.hash, terms: document_terms(memory) })
    }
}

/// The words under which a memory is found: text, title, tags, entities, keywords, who said it, and when it happened.
/// A speaker or date that the text already names counts once.
pub(super) fn document_terms(memory: &Memory) -> Vec<String> {
    let mut terms = words::terms(&memory.text);
    let mut rest: Vec<String> = Vec::new();
    rest.extend(memory.title.iter().flat_map(|title| words::terms(title)));
    for part in memory.tags.iter().chain(&memory.entities).chain(&memory.keywords) {
        rest.extend(words::terms(part));
    }
    let speakers = memory.sources.iter().filter_map(|source| source.speaker.as_deref());
    rest.extend(speakers.flat_map(words::name_terms));
    rest.extend(memory.happened.into_iter().flat_map(words::date_terms));
    for term in rest {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Line, Op};

    #[test]
    fn a_memory_that_is_told_anew_again_and_again_takes_no_more_room() {
        let mut store = Store::default();
        let id = MemoryId::from_source("m");
        for number in 1..100u64 {
            let op = if number == 1 { Op::Remember } else { Op::Revise };
            let at = Timestamp::from_millis(number as i64);
            let line = Line { text: Some(format!("Owns bicycle {number}")), at, ..Line::about(op, id) };
            store.apply(vec![Told { line, replica: "r".into(), number, crc: 0 }]);
        }
        assert_eq!(store.places.len(), 1);
        assert_eq!(store.tail.holders("99"), 1);
        assert_eq!(store.slots.len(), 1);
    }
}
