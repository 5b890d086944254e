//! The names that are known, and what a told text makes of them.

use super::Engine;
use super::prepare::Prepared;
use super::store::Store;
use crate::entities::{MAX_FOUND, Names, aliases, extract};
use crate::memory::{Line, Memory};
use crate::words::fold;

impl Store {
    /// Has the names that are known at hand.
    pub(super) fn know_names(&mut self) {
        if self.names.is_none() {
            let mut names = Names::default();
            for memory in self.state.memories() {
                count_names(&mut names, Some(memory), true);
            }
            self.shelf.add_names(&mut names);
            self.names = Some(names);
        }
    }
}

impl Engine {
    /// Spells the entities that were given as they are known, and adds those that the text shows; `told` are the names
    /// of the same call. Who says it is not whom it is about.
    pub(super) fn find_entities(&self, prepared: &mut Prepared, told: &mut Names) {
        if !self.config.entities.extract {
            return;
        }
        self.store_mut().know_names();
        let store = self.store();
        let known: Vec<&Names> = store.names.iter().chain([&*told]).collect();
        for entity in prepared.line.entities.iter_mut().flatten() {
            let spelled = known.iter().find_map(|names| names.resolve(entity));
            if let Some(spelled) = spelled.filter(|spelled| fold(spelled) == fold(entity)) {
                *entity = spelled;
            }
        }
        let given = prepared.line.entities.as_ref().map_or(0, Vec::len);
        let mut taken: Vec<String> = prepared.line.entities.iter().flatten().map(|entity| fold(entity)).collect();
        taken.extend(prepared.speaker().map(fold));
        let found = extract(prepared.text(), &known).into_iter().map(|entity| entity.name);
        let found = found.filter(|name| !taken.contains(&fold(name))).take(MAX_FOUND.saturating_sub(given)).collect();
        prepared.found = found;
        drop(store);
        for entity in prepared.entities() {
            told.add(&entity);
        }
        for (alias, long) in aliases(prepared.text()) {
            told.add_alias(&alias, &long);
        }
    }

    /// Where the text changes, the names that only the old one shows go and those that only the new one shows come:
    /// what a person took out stays out.
    pub(super) fn follow_text(&self, store: &Store, memory: &Memory, line: &mut Line) {
        let (Some(text), true) = (&line.text, self.config.entities.extract) else { return };
        let known: Vec<&Names> = store.names.iter().collect();
        let names = |text: &str| extract(text, &known).into_iter().map(|entity| entity.name).collect::<Vec<String>>();
        let (before, after) = (names(&memory.text), names(text));
        let has = |names: &[String], name: &str| names.iter().any(|other| fold(other) == fold(name));
        let stays = |entity: &&String| has(&after, entity) || !has(&before, entity);
        let mut entities: Vec<String> = memory.entities.iter().filter(stays).cloned().collect();
        for name in after {
            if !has(&entities, &name) && !has(&before, &name) && entities.len() < MAX_FOUND {
                entities.push(name);
            }
        }
        if entities == memory.entities {
            return;
        }
        if entities.is_empty() {
            line.clear.push("entities".into());
        } else {
            line.entities = Some(entities);
        }
    }
}

/// Adds the names that a memory knows, or takes them back.
pub(super) fn count_names(names: &mut Names, memory: Option<&Memory>, is_added: bool) {
    let Some(memory) = memory else { return };
    for entity in &memory.entities {
        if is_added {
            names.add(entity);
        } else {
            names.remove(entity);
        }
    }
    for (alias, long) in aliases(&memory.text) {
        if is_added {
            names.add_alias(&alias, &long);
        } else {
            names.remove_alias(&alias, &long);
        }
    }
}
