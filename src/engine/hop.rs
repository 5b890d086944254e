//! The hop: what the best hits are about leads to what else is known of it.
//!
//! "Where does the sister of my manager live?" is answered by three memories, and the last shares only a name with the
//! one before. Such names come from the entities of the best hits, those that the query does not name itself.

use std::collections::HashMap;

use super::Engine;
use super::filter::Filter;
use super::fit::Fitted;
use super::recall::{Ranked, insert};
use super::store::Store;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::Memory;
use crate::rank::Fit;
use crate::words;

/// Best hits whose entities are followed.
const FOLLOWED_HITS: usize = 8;
/// Entities that are followed, those of the best hits first.
const MAX_FOLLOWED: usize = 12;
/// Memories about one entity from which on it says less; at ten times as many nothing.
const USUAL_HOLDERS: usize = 20;

impl Engine {
    /// Ranks anew with what the best hits lead to.
    pub(super) fn hop(
        &self,
        store: &Store,
        fitted: &[Fitted],
        filter: &Filter,
        ranked: &mut Vec<Ranked>,
        limit: usize,
        now: Timestamp,
    ) -> Result<()> {
        if !self.config.recall.hop {
            return Ok(());
        }
        let Some(best) = ranked.first().map(|best| best.factors.rank()).filter(|best| *best > 0.0) else {
            return Ok(());
        };
        // Who is followed, how closely it fits, and from which hit.
        let mut followed: Vec<(String, f32, MemoryId)> = Vec::new();
        for hit in ranked.iter().take(FOLLOWED_HITS) {
            let entities = store.state.get(hit.id).map(|memory| &memory.entities[..]).unwrap_or_default();
            for entity in entities.iter().map(|entity| words::fold(entity)) {
                let is_known = followed.iter().any(|(known, _, from)| *known == entity && *from == hit.id);
                if !is_known && followed.len() < MAX_FOLLOWED {
                    followed.push((entity, (hit.factors.rank() / best) as f32, hit.id));
                }
            }
        }
        let mut closeness: HashMap<MemoryId, f32> = HashMap::new();
        for (entity, weight, from) in followed {
            let about = store.about(&entity, 10 * USUAL_HOLDERS)?;
            let weight = weight * usual_share(about.len());
            for id in about.into_iter().filter(|id| *id != from) {
                let known = closeness.entry(id).or_default();
                *known = known.max(weight);
            }
        }
        let mut led_to: Vec<(MemoryId, f32)> = closeness.into_iter().filter(|(_, graph)| *graph > 0.0).collect();
        led_to.sort_unstable_by_key(|(id, _)| *id);
        for (id, graph) in led_to {
            let (Some(memory), Some(slot)) = (store.state.get(id), store.slot_of(id)) else { continue };
            let known = ranked.iter().position(|ranked| ranked.id == id).map(|place| ranked.remove(place));
            let (fit, status) = match known {
                Some(known) => (known.factors.fit, known.factors.status),
                None => {
                    let Some(status) = filter.pass(memory, &self.config, now) else { continue };
                    (best_fit(store, fitted, memory, slot), status)
                }
            };
            let factors = self.factors(memory, status, Fit { graph, ..fit }, now);
            insert(store, ranked, Ranked { id, factors }, Some(memory.dated()), limit);
        }
        Ok(())
    }
}

/// What following an entity says, by how many memories are about it: 1 to 0.
fn usual_share(holders: usize) -> f32 {
    let over = holders.saturating_sub(USUAL_HOLDERS) as f32 / (9 * USUAL_HOLDERS) as f32;
    (1.0 - over).max(0.0)
}

/// How well a memory fits the wording that it fits best.
fn best_fit(store: &Store, fitted: &[Fitted], memory: &Memory, slot: crate::lexical::Slot) -> Fit {
    let fits = fitted.iter().map(|fitted| {
        let phrase = fitted.question.phrase(&memory.text);
        Fit { phrase, ..fitted.of(&store.shapes, &store.lengths, slot) }
    });
    fits.reduce(|best, other| if other.total() > best.total() { other } else { best }).unwrap_or_default()
}
