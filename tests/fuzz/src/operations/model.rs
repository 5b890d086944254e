//! Memory as it would be without disk, processes and crashes: a map, and a list of what took whose place.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ebbmark::clock::{Hour, Timestamp};
use ebbmark::engine::{
    ForgetAnswer, Opened, Outcome, ReinforceAnswer, ReinforceRequest, RememberAnswer, Remembered, RestoreAnswer,
    ReviseAnswer, ReviseRequest, Stats,
};
use ebbmark::error::{Error, Result};

use super::KEEP_MS;

/// One memory of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) text: String,
    pub(super) scope: String,
    pub(super) tags: Vec<String>,
    pub(super) is_pinned: bool,
    pub(super) older: Option<String>,
}

#[derive(Debug, Clone)]
struct Known {
    text: String,
    title: Option<String>,
    tags: Vec<String>,
    scope: String,
    is_pinned: bool,
    strength: Option<f64>,
    hours: BTreeSet<Hour>,
    has_note: bool,
    forgotten: Option<Timestamp>,
    /// Its text was compacted away: it cannot come back.
    is_gone: bool,
}

/// A call with a key: when, what, and which memories it gave.
struct Call {
    at: Timestamp,
    items: Vec<Item>,
    ids: Vec<String>,
}

#[derive(Default)]
pub(super) struct Model {
    memories: BTreeMap<String, Known>,
    /// In the order told: which took the place of which.
    told_edges: Vec<(u64, String, String)>,
    calls: HashMap<String, Call>,
    lines: u64,
}

impl Model {
    /// Any memory that was ever there.
    pub(super) fn some_id(&self, choice: u8) -> Option<String> {
        let count = self.memories.len();
        self.memories.keys().nth(usize::from(choice) % count.max(1)).cloned()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.memories.keys().cloned().collect()
    }

    pub(super) fn is_there(&self, id: &str) -> bool {
        self.memories.get(id).is_some_and(|known| known.forgotten.is_none())
    }

    pub(super) fn saying<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let there = self.memories.iter().filter(move |(_, known)| known.forgotten.is_none() && known.text == text);
        there.map(|(id, _)| id.as_str())
    }

    fn replace(&mut self, newer: &str, older: &[String]) {
        self.lines += 1;
        for older in older {
            self.told_edges.retain(|(_, known, other)| (known.as_str(), other) != (newer, older));
            self.told_edges.push((self.lines, newer.to_owned(), older.clone()));
        }
    }

    fn said_to_replace(&self, newer: &str) -> Vec<String> {
        self.told_edges.iter().filter(|(_, known, _)| known == newer).map(|(_, _, older)| older.clone()).collect()
    }

    /// Which memory took whose place: in the order told, but never in a circle, and a forgotten one passes on its place.
    fn superseded(&self) -> BTreeMap<&str, &str> {
        let mut edges: Vec<&(u64, String, String)> = self.told_edges.iter().collect();
        edges.sort();
        let mut newer_of: BTreeMap<&str, &str> = BTreeMap::new();
        for (_, newer, older) in edges {
            let mut at = Some(newer.as_str());
            while let Some(next) = at.filter(|at| at != older) {
                at = newer_of.get(next).copied();
            }
            if at.is_none() {
                newer_of.insert(older, newer);
            }
        }
        let standing = newer_of.iter().filter_map(|(older, newer)| {
            let mut by = *newer;
            while !self.is_there(by) {
                by = newer_of.get(by)?;
            }
            Some((*older, by))
        });
        standing.collect()
    }

    pub(super) fn remember(
        &mut self,
        key: Option<&str>,
        items: Vec<Item>,
        now: Timestamp,
        answer: Result<RememberAnswer>,
    ) {
        let earlier = key.and_then(|key| self.calls.get(key)).filter(|call| now.millis() - call.at.millis() < KEEP_MS);
        if let Some(call) = earlier {
            if call.items == items {
                let ids: Vec<String> = answer.unwrap().results.into_iter().map(|told| told.id.unwrap()).collect();
                assert_eq!(ids, call.ids, "the same call again");
            } else {
                let is_refused = matches!(answer, Err(Error::Invalid { .. }));
                assert!(
                    is_refused,
                    "key {key:?} had {:?} at {}, now {items:?} at {now}: {answer:?}",
                    call.items, call.at
                );
            }
            return;
        }
        let answer = answer.unwrap();
        assert_eq!(answer.results.len(), items.len());
        // Each item is judged by what was there before the call.
        let superseded: BTreeSet<String> = self.superseded().into_keys().map(str::to_owned).collect();
        let before = Model { memories: self.memories.clone(), told_edges: self.told_edges.clone(), ..Model::default() };
        let mut new_in_call: HashMap<(String, String), String> = HashMap::new();
        for (item, told) in items.iter().zip(&answer.results) {
            let place = (item.text.clone(), item.scope.clone());
            if let Some(id) = new_in_call.get(&place) {
                assert_eq!((told.outcome, told.id.as_ref()), (Outcome::Reinforced, Some(id)), "{told:?}");
                continue;
            }
            let says_the_same = |(id, known): &(&String, &Known)| {
                known.forgotten.is_none()
                    && (&known.text, &known.scope) == (&item.text, &item.scope)
                    && !superseded.contains(*id)
            };
            let same: Vec<&String> = before.memories.iter().filter(says_the_same).map(|(id, _)| id).collect();
            if same.is_empty() {
                self.new_memory(item, told, &before);
                if let Some(id) = &told.id {
                    new_in_call.insert(place, id.clone());
                }
            } else {
                let id = told.id.as_ref().unwrap();
                assert!(same.contains(&id), "{told:?} is none of {same:?}");
                self.again(id, item, told, &before, now);
            }
        }
        if let Some(key) = key {
            let ids = answer.results.into_iter().filter_map(|told| told.id).collect();
            self.calls.insert(key.to_owned(), Call { at: now, items, ids });
        }
    }

    fn new_memory(&mut self, item: &Item, told: &Remembered, before: &Model) {
        if item.older.as_ref().is_some_and(|older| !before.is_there(older)) {
            assert_eq!((told.outcome, &told.id), (Outcome::Rejected, &None), "{told:?}");
            return;
        }
        let expected = if item.older.is_some() { Outcome::Superseded } else { Outcome::Saved };
        assert_eq!(told.outcome, expected, "{told:?}");
        let id = told.id.clone().unwrap();
        let known = Known {
            text: item.text.clone(),
            title: None,
            tags: item.tags.clone(),
            scope: item.scope.clone(),
            is_pinned: item.is_pinned,
            strength: None,
            hours: BTreeSet::new(),
            has_note: false,
            forgotten: None,
            is_gone: false,
        };
        assert!(self.memories.insert(id.clone(), known).is_none(), "{id} was there before");
        let olders: Vec<String> = item.older.iter().cloned().collect();
        self.replace(&id, &olders);
    }

    fn again(&mut self, id: &str, item: &Item, told: &Remembered, before: &Model, now: Timestamp) {
        let is_older = |older: &&String| *older != id && before.is_there(older);
        let older: Vec<String> = item.older.iter().filter(is_older).cloned().collect();
        let expected = if older.is_empty() { Outcome::Reinforced } else { Outcome::Superseded };
        assert_eq!(told.outcome, expected, "{told:?}");
        let olders: Vec<String> = before.said_to_replace(id).into_iter().chain(older).collect();
        self.replace(id, &olders);
        let known = self.memories.get_mut(id).unwrap();
        known.hours.insert(now.hour());
        // What has a note is changed by `revise` alone.
        if !known.has_note {
            let added: Vec<String> = item.tags.iter().filter(|tag| !known.tags.contains(tag)).cloned().collect();
            known.tags.extend(added);
            known.is_pinned |= item.is_pinned;
        }
    }

    pub(super) fn revise(&mut self, request: &ReviseRequest, answer: Result<ReviseAnswer>) {
        let Some(known) = self.memories.get_mut(&request.id).filter(|known| known.forgotten.is_none()) else {
            assert!(matches!(answer, Err(Error::NotFound { .. })), "{answer:?}");
            return;
        };
        let before = known.clone();
        if let Some(text) = &request.text {
            known.text.clone_from(text);
        }
        if let Some(title) = &request.title {
            known.title = Some(title.clone()).filter(|title| !title.is_empty());
        }
        if let Some(tags) = &request.tags {
            known.tags.clone_from(tags);
        }
        known.is_pinned = request.pinned.unwrap_or(known.is_pinned);
        known.strength = request.strength.or(known.strength);
        let is_changed = (&before.text, &before.title, &before.tags, before.is_pinned, before.strength)
            != (&known.text, &known.title, &known.tags, known.is_pinned, known.strength);
        assert_eq!(!answer.unwrap().changed.is_empty(), is_changed, "{request:?}");
    }

    pub(super) fn reinforce(&mut self, request: &ReinforceRequest, now: Timestamp, answer: &ReinforceAnswer) {
        let mut expected = BTreeSet::new();
        for id in &request.ids {
            match self.memories.get_mut(id).filter(|known| known.forgotten.is_none()) {
                Some(known) => {
                    known.hours.insert(now.hour());
                    expected.insert(id);
                }
                None => assert!(answer.not_found.contains(id), "{answer:?}"),
            }
        }
        assert_eq!(answer.results.iter().map(|result| &result.id).collect::<BTreeSet<_>>(), expected);
        for result in answer.results.iter().filter(|_| request.boost == Some(true)) {
            self.memories.get_mut(&result.id).unwrap().strength = Some(result.strength);
        }
    }

    pub(super) fn forget(&mut self, ids: &[String], now: Timestamp, answer: &ForgetAnswer) {
        let expected: BTreeSet<&String> = ids.iter().filter(|id| self.is_there(id)).collect();
        assert_eq!(answer.forgotten.iter().collect::<BTreeSet<_>>(), expected);
        for id in &answer.forgotten {
            self.memories.get_mut(id).unwrap().forgotten = Some(now);
        }
    }

    pub(super) fn restore(&mut self, ids: &[String], faded: &[String], now: Timestamp, answer: &RestoreAnswer) {
        let replaced: BTreeSet<String> = self.superseded().into_keys().map(str::to_owned).collect();
        let comes_back = |id: &&String| {
            let known = &self.memories[*id];
            let is_hidden = faded.contains(id) || replaced.contains(*id) && known.forgotten.is_none();
            is_hidden || known.forgotten.is_some() && !known.is_gone
        };
        let expected: BTreeSet<&String> = ids.iter().filter(comes_back).collect();
        assert_eq!(answer.restored.iter().map(|restored| &restored.id).collect::<BTreeSet<_>>(), expected);
        for id in answer.restored.iter().map(|restored| &restored.id) {
            let known = self.memories.get_mut(id).unwrap();
            if known.forgotten.is_none() && replaced.contains(id) {
                self.told_edges.retain(|(_, _, older)| older != id);
            } else if known.forgotten.take().is_none() {
                known.hours.insert(now.hour());
            } else {
                let olders = self.said_to_replace(id);
                self.replace(id, &olders);
            }
        }
    }

    pub(super) fn may_promote(&self, id: &str) -> bool {
        self.is_there(id) && (self.memories[id].has_note || !self.superseded().contains_key(id))
    }

    pub(super) fn promoted<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        for id in ids {
            let known = self.memories.get_mut(id).unwrap();
            assert!(known.forgotten.is_none(), "{id} was forgotten, and is promoted");
            known.has_note = true;
        }
    }

    /// Ends what has been forgotten for long.
    pub(super) fn compact(&mut self, now: Timestamp) {
        for known in self.memories.values_mut() {
            known.is_gone |= known.forgotten.is_some_and(|at| now.millis() - at.millis() >= KEEP_MS);
        }
    }

    #[track_caller]
    pub(super) fn compare(&self, opened: &[Opened]) {
        let there: BTreeSet<&str> = self.memories.keys().map(String::as_str).filter(|id| self.is_there(id)).collect();
        assert_eq!(opened.iter().map(|opened| opened.memory.id.as_str()).collect::<BTreeSet<_>>(), there);
        let superseded = self.superseded();
        for opened in opened {
            let memory = &opened.memory;
            let known = &self.memories[&memory.id];
            let by = superseded.get(memory.id.as_str()).copied();
            assert_eq!((&memory.text, &memory.title, &memory.tags), (&known.text, &known.title, &known.tags));
            assert_eq!(memory.scope.as_deref().unwrap_or("global"), known.scope);
            assert_eq!((opened.pinned, opened.uses as usize), (known.is_pinned, known.hours.len()), "{}", memory.id);
            assert_eq!(memory.superseded_by.as_deref(), by, "what took the place of {}", memory.id);
            assert_eq!(memory.status == "superseded", by.is_some(), "{}", memory.id);
            assert_eq!(memory.tier, if known.has_note { "long_term" } else { "short_term" }, "{}", memory.id);
            if let Some(strength) = known.strength {
                assert!((opened.strength - strength).abs() < 0.001, "{} is not {strength}", opened.strength);
            }
        }
    }

    #[track_caller]
    pub(super) fn compare_counts(&self, stats: &Stats) {
        let there = self.memories.values().filter(|known| known.forgotten.is_none());
        assert_eq!((stats.active + stats.faded + stats.superseded) as usize, there.clone().count());
        assert_eq!(stats.promoted as usize, there.filter(|known| known.has_note).count());
        let restorable = self.memories.values().filter(|known| known.forgotten.is_some() && !known.is_gone);
        assert_eq!(stats.forgotten as usize, restorable.count());
    }
}
