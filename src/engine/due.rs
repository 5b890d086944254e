//! Due: what is worth a look before it ebbs away, and what is valuable and was long not used. A list of its own: it
//! never takes the place of a hit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::remember::round;
use crate::clock::Timestamp;
use crate::memory::{Memory, Status};

/// A memory that is worth a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DueMemory {
    /// Its id.
    pub id: String,
    /// Its text, shortened.
    pub text: String,
    /// Its kind.
    pub kind: String,
    /// Its score now.
    pub score: f64,
    /// How much a review is worth, 0 to 1; absent where it is only long unused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// Why it is listed.
    pub why: String,
}

/// What is worth a look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DueAnswer {
    /// Between known and forgotten: a use now keeps them. Most worth it first.
    pub due: Vec<DueMemory>,
    /// Valuable (strength 1.6 or more) and unused for 30 days, longest first.
    pub surfaced: Vec<DueMemory>,
}

impl Engine {
    /// What is worth a look at `now`, at most `limit` of each list.
    pub(super) fn due(&self, now: Timestamp, limit: usize) -> DueAnswer {
        let store = self.store();
        let (mut due, mut surfaced) = (Vec::new(), Vec::new());
        for memory in store.state.memories() {
            if memory.status(&self.config, now) != Status::Active {
                continue;
            }
            let trace = memory.trace(&self.config);
            let priority = trace.review_priority(&self.config.decay, now);
            if trace.is_cold_and_valuable(now) {
                surfaced.push((trace.idle_days(now), memory));
            } else if priority > 0.0 && !memory.is_kept_by_rule(now) {
                due.push((priority, memory));
            }
        }
        for list in [&mut due, &mut surfaced] {
            list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
            list.truncate(limit);
        }
        let described = |memory: &Memory, priority: Option<f64>, why: String| DueMemory {
            id: memory.id.to_string(),
            text: super::say::short(&memory.text),
            kind: memory.current_kind(&self.config).as_str().into(),
            score: round(memory.trace(&self.config).score(&self.config.decay, now)),
            priority: priority.map(round),
            why,
        };
        let fades = |memory: &Memory| {
            let at = memory.trace(&self.config).fades_at(&self.config.decay);
            at.map_or("it is weak".to_owned(), |at| format!("it fades {}", self.date(at)))
        };
        DueAnswer {
            due: due.into_iter().map(|(priority, memory)| described(memory, Some(priority), fades(memory))).collect(),
            surfaced: surfaced
                .into_iter()
                .map(|(days, memory)| described(memory, None, format!("valuable, unused for {days:.0} days")))
                .collect(),
        }
    }
}
