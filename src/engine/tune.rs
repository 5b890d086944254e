//! Tune: which half-lives the uses of this journal speak for. Only says so; nothing is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::remember::round;
use crate::clock::Timestamp;
use crate::config::{DecayConfig, Model};
use crate::decay::{Trace, counted, frequency, retention};
use crate::error::Result;
use crate::kinds::Kind;
use crate::memory::{Memory, State};

/// Gaps that a proposal needs, and memories they must come from.
const FEWEST_GAPS: usize = 20;
const FEWEST_MEMORIES: usize = 5;
/// Share of the gaps that a memory should live through.
const BRIDGED: f64 = 0.95;
/// A half-life that differs less from the one in force is left, as a share.
const SAME: f64 = 0.2;
/// Half-lives that are proposed, days.
const SHORTEST_DAYS: f64 = 1.0;
const LONGEST_DAYS: f64 = 3_650.0;

/// What the uses of one kind's memories say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TunedKind {
    /// The kind.
    pub kind: String,
    /// Its memories.
    pub memories: u64,
    /// Of these, used again at a later time.
    pub used: u64,
    /// Times without use that a use ended.
    pub gaps: u64,
    /// Half of these were shorter, days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_gap_days: Option<f64>,
    /// Nineteen in twenty were shorter, days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_gap_days: Option<f64>,
    /// The half-life in force, days.
    pub half_life_days: f64,
    /// The one that the gaps speak for, days; absent where there are too few, or where it is about the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_days: Option<f64>,
    /// What speaks for it, or what is lacking.
    pub why: String,
}

/// Proposals, and the lines of `config.toml` that would put them in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneAnswer {
    /// Memories that were looked at.
    pub memories: u64,
    /// Every kind that there is.
    pub kinds: Vec<TunedKind>,
    /// Lines to paste; empty where nothing is proposed.
    pub config: String,
}

/// Times without use, days, each with how much longer it may last than before the first use: its spacing, and how
/// much its uses add to the score.
#[derive(Default)]
struct Gaps {
    memories: u64,
    used: u64,
    days: Vec<f64>,
    /// The half-life that each gap needs for its memory to be there at its end.
    needed: Vec<f64>,
}

impl Engine {
    /// Proposes half-lives by kind from the uses of this journal's memories: so long that nineteen in twenty of the
    /// times without use that a use ended would have been lived through. Pinned and promoted memories count as well:
    /// what they were used for says how long their kind is needed. What was never used again says nothing here.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) when the journal cannot be read.
    pub fn tune(&self) -> Result<TuneAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        let by_kind = self.gaps(&self.store().state, now);
        let has_half_life = matches!(self.config.decay.model, Model::PowerLaw | Model::Exponential);
        let mut kinds = Vec::new();
        let mut lines = Vec::new();
        for (kind, gaps) in &by_kind {
            let half_life_days = self.config.kind_profile(*kind).half_life_days;
            let needed = share_of(&gaps.needed, BRIDGED);
            let enough = gaps.days.len() >= FEWEST_GAPS && gaps.used >= FEWEST_MEMORIES as u64;
            let rounded = needed.map(|days| days.clamp(SHORTEST_DAYS, LONGEST_DAYS).ceil());
            let is_same = rounded.is_some_and(|days| (days - half_life_days).abs() <= half_life_days * SAME);
            let proposed_days = rounded.filter(|_| enough && !is_same && has_half_life);
            let why = match (enough, proposed_days) {
                _ if !has_half_life => "the curve in force has no half-lives".to_owned(),
                (false, _) => format!(
                    "too little to go by: {} of {FEWEST_GAPS} gaps, {} of {FEWEST_MEMORIES} memories used again",
                    gaps.days.len(),
                    gaps.used
                ),
                (true, None) => "what is in force fits".to_owned(),
                (true, Some(days)) => format!(
                    "with {days} days, 95 % of {} gaps of {} memories are lived through",
                    gaps.days.len(),
                    gaps.used
                ),
            };
            if let Some(days) = proposed_days {
                lines.push(format!("[kinds.{kind}]\nhalf_life_days = {days}"));
            }
            kinds.push(TunedKind {
                kind: kind.as_str().into(),
                memories: gaps.memories,
                used: gaps.used,
                gaps: gaps.days.len() as u64,
                median_gap_days: share_of(&gaps.days, 0.5).map(round),
                long_gap_days: share_of(&gaps.days, BRIDGED).map(round),
                half_life_days,
                proposed_days,
                why,
            });
        }
        let memories = by_kind.values().map(|gaps| gaps.memories).sum();
        Ok(TuneAnswer { memories, kinds, config: lines.join("\n\n") })
    }

    fn gaps(&self, state: &State, now: Timestamp) -> BTreeMap<Kind, Gaps> {
        let mut by_kind: BTreeMap<Kind, Gaps> = BTreeMap::new();
        for memory in state.memories().filter(|memory| memory.created <= now) {
            let gaps = by_kind.entry(memory.current_kind(&self.config)).or_default();
            gaps.memories += 1;
            let before = gaps.days.len();
            self.add_gaps(memory, gaps, now);
            gaps.used += u64::from(gaps.days.len() > before);
        }
        by_kind
    }

    /// The gaps of one memory. One of less than a day is the same occasion.
    fn add_gaps(&self, memory: &Memory, gaps: &mut Gaps, now: Timestamp) {
        let decay = &self.config.decay;
        let hours: Vec<_> = memory.uses.hours.iter().copied().filter(|hour| hour.start() <= now).collect();
        for (place, hour) in hours.iter().enumerate() {
            let earlier = hours.get(..place).unwrap_or_default();
            let trace = memory.trace(&self.config);
            let then = Trace { hours: earlier, occasions: counted(earlier, decay.gap_hours), ..trace };
            let days = hour.start().days_since(then.last_used());
            if days < 1.0 {
                continue;
            }
            // The score at which it fades, as a share of what it is without any time gone by.
            let share = decay.fade_below / (then.strength * frequency(decay, then.occasions)).max(f64::MIN_POSITIVE);
            gaps.days.push(days);
            gaps.needed.push(half_life_for(decay, days / then.spacing(decay), share));
        }
    }
}

/// The half-life with which `share` is left after `days`.
fn half_life_for(decay: &DecayConfig, days: f64, share: f64) -> f64 {
    let (mut low, mut high) = (1e-3, LONGEST_DAYS);
    for _ in 0..48 {
        let middle = f64::midpoint(low, high);
        if retention(decay, days, middle, 1.0) < share { low = middle } else { high = middle }
    }
    high
}

/// The value that this share of all does not exceed.
fn share_of(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = ((sorted.len() as f64 * share).ceil() as usize).max(1) - 1;
    sorted.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_life_for_a_gap_is_the_one_with_which_it_is_just_lived_through() {
        for model in [Model::PowerLaw, Model::Exponential] {
            let decay = DecayConfig { model, ..DecayConfig::default() };
            for (days, share) in [(1.0, 0.5), (30.0, 0.1), (200.0, 0.07), (5.0, 0.9)] {
                let half_life = half_life_for(&decay, days, share);
                assert!((retention(&decay, days, half_life, 1.0) - share).abs() < 1e-6, "{model:?} {days} {share}");
            }
            assert!((half_life_for(&decay, 12.0, 0.5) - 12.0).abs() < 1e-6);
        }
    }

    #[test]
    fn shares_are_of_the_sorted_values() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(share_of(&values, 0.5), Some(10.0));
        assert_eq!(share_of(&values, 0.95), Some(19.0));
        assert_eq!(share_of(&values, 1.0), Some(20.0));
        assert_eq!(share_of(&[3.0], 0.95), Some(3.0));
        assert_eq!(share_of(&[], 0.95), None);
    }
}
