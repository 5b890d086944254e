//! The hop: what the best hits are about leads to what else is known of it.
//!
//! "Where does the sister of my manager live?" is answered by three memories, and the last shares only a name with the
//! one before. Such names come from the entities of the best hits. What is led to never stands above the hit that led to
//! it: a memory that fits by itself is the better answer.

use std::collections::BTreeMap;

use super::Engine;
use super::filter::Filter;
use super::fit::Fitted;
use super::recall::{MAX_PHRASES, Ranked, insert};
use super::store::Store;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::MemoryId;
use crate::memory::Memory;
use crate::rank::{Factors, Fit, GRAPH_WEIGHT, PHRASE_WEIGHT};
use crate::words;

/// Best hits whose entities are followed.
pub(super) const FOLLOWED_HITS: usize = 8;
/// Entities that are followed, those of the best hits first.
const MAX_FOLLOWED: usize = 12;
/// Memories about one entity up to which following it says most, and from which on it says nothing.
const HOLDERS: (usize, usize) = (20, 100);
/// What is led to keeps this share of the rank of what led to it, at most.
const BEHIND: f64 = 0.999;

/// How a memory was reached.
#[derive(Clone, Copy)]
struct Lead {
    /// How much that counts, 0 to 1.
    weight: f32,
    /// Rank of the hit that led to it.
    from: f64,
}

impl Engine {
    /// Ranks anew with what the best hits lead to; `ranked` are at least [`FOLLOWED_HITS`], where there are as many.
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
        let mut phrases = 0;
        for (id, lead) in leads(store, ranked)? {
            let (Some(memory), Some(slot)) = (store.state.get(id), store.slot_of(id)) else { continue };
            let known = ranked.iter().position(|ranked| ranked.id == id);
            let mut factors = if let Some(place) = known {
                ranked[place].factors
            } else {
                let fits = fitted.iter().map(|fitted| (fitted.of(&store.shapes, &store.lengths, slot), fitted));
                let best = fits.reduce(|best, other| if other.0.total() > best.0.total() { other } else { best });
                let Some((mut fit, fitted)) = best else { continue };
                let at_best = Factors::best_rank(fit.total() + PHRASE_WEIGHT + GRAPH_WEIGHT * lead.weight);
                if ranked.len() >= limit && ranked.last().is_some_and(|last| last.factors.rank() >= at_best) {
                    continue;
                }
                let Some(status) = filter.pass(memory, &self.config, now) else { continue };
                if phrases < MAX_PHRASES {
                    phrases += 1;
                    fit.phrase = fitted.question.phrase(&memory.text);
                }
                self.factors(memory, status, fit, now)
            };
            let room = (BEHIND * lead.from / factors.standing()) as f32 - factors.fit.total();
            let graph = lead.weight.min(room / GRAPH_WEIGHT);
            if graph <= 0.0 {
                continue;
            }
            factors.fit = Fit { graph, ..factors.fit };
            if let Some(place) = known {
                ranked.remove(place);
            }
            insert(store, ranked, Ranked { id, factors }, Some(memory.dated()), limit);
        }
        Ok(())
    }
}

/// What the best hits lead to, each by the way that counts most.
fn leads(store: &Store, ranked: &[Ranked]) -> Result<BTreeMap<MemoryId, Lead>> {
    let mut leads: BTreeMap<MemoryId, Lead> = BTreeMap::new();
    let Some(best) = ranked.first().map(|best| best.factors.rank()).filter(|best| *best > 0.0) else {
        return Ok(leads);
    };
    let mut followed: Vec<String> = Vec::new();
    // A turn of a conversation leads nowhere: with names found in texts, that costs more answers than it brings.
    let is_turn = |id: MemoryId| store.slot_of(id).is_some_and(|slot| store.lengths.is_turn(slot));
    for hit in ranked.iter().take(FOLLOWED_HITS).filter(|hit| !is_turn(hit.id)) {
        let from = hit.factors.rank();
        let entities = store.state.get(hit.id).map(|memory: &Memory| &memory.entities[..]).unwrap_or_default();
        for entity in entities.iter().map(|entity| words::fold(store.aliases.standing(entity))) {
            if followed.contains(&entity) || followed.len() == MAX_FOLLOWED {
                continue;
            }
            let mut about = Vec::new();
            for name in store.aliases.all(&entity) {
                about.extend(store.about(&name, HOLDERS.1)?);
            }
            let weight = (from / best) as f32 * told_by(about.len());
            followed.push(entity);
            for id in about.into_iter().filter(|id| *id != hit.id) {
                let lead = leads.entry(id).or_insert(Lead { weight, from });
                if weight > lead.weight {
                    *lead = Lead { weight, from };
                }
            }
        }
    }
    Ok(leads)
}

/// What following an entity says, by how many memories are about it: 1 to 0.
fn told_by(holders: usize) -> f32 {
    let over = holders.saturating_sub(HOLDERS.0) as f32 / (HOLDERS.1 - HOLDERS.0) as f32;
    (1.0 - over).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_lead_nowhere() {
        assert!((told_by(1) - 1.0).abs() < 1e-6 && (told_by(20) - 1.0).abs() < 1e-6);
        assert!((told_by(60) - 0.5).abs() < 1e-6);
        assert!(told_by(100) <= 0.0 && told_by(5_000) <= 0.0);
    }
}
