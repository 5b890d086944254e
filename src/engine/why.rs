//! Why a memory ranks where it does for a query, or is not returned at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::filter::Filter;
use super::recall::{RecallRequest, Why};
use crate::error::{Error, Result};
use crate::memory::{Memory, Status};
use crate::words;

/// Places that are counted; further down no place is told.
const MAX_PLACES: usize = 500;

/// Why a memory is, or is not, among the hits of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyAnswer {
    /// Its id.
    pub id: String,
    /// Its first line.
    pub text: String,
    /// Its place among all that pass, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// Whether the query returns it.
    pub is_returned: bool,
    /// In plain words, what keeps it out or decides its place.
    pub reasons: Vec<String>,
    /// Every part of its fit.
    pub why: Why,
    /// The score of the last hit that is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_score: Option<f64>,
}

impl Engine {
    /// Tells why a memory is where it is among the hits of `request`, or why it is not among them.
    ///
    /// # Errors
    /// [`Error::Invalid`] without a query or for unknown filter values; [`Error::NotFound`] for an unknown id;
    /// [`Error::Io`] when the journal cannot be read.
    pub fn why_hit(&self, request: &RecallRequest, id: &str) -> Result<WhyAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        let filter = Filter::of(request, &self.config, &self.time_zone)?;
        let queries = request.queries()?;
        if queries.is_empty() {
            return Err(Error::invalid("query", "is empty", "say what was looked for"));
        }
        let store = self.store();
        let filter = filter.by_all_names(&store.aliases);
        let memory = Self::resolve_existing(&store.state, id)?;
        let limit = self.limit(request);
        let (ranked, _) = self.search(&store, &queries, &filter, MAX_PLACES, now)?;
        let place = ranked.iter().position(|ranked| ranked.id == memory.id);
        let own = match place.and_then(|place| ranked.get(place)) {
            Some(ranked) => ranked.clone(),
            None => self.ranked_for(&store, &queries, memory, now)?,
        };
        let matched = self.explain(&store, &queries, std::slice::from_ref(&own), now)?;
        let why = self.why(memory, &own, matched.get(&memory.id), now);
        let status = memory.status(&self.config, now);
        let mut reasons = Vec::new();
        if filter.pass(memory, &self.config, now).is_none() {
            reasons.push(self.kept_out(request, memory, status));
        } else if own.factors.fit.graph > 0.0 {
            reasons.push("better hits are about the same as it".into());
        } else if !own.factors.fit.is_any() {
            reasons.push("it shares no word with the query, and its meaning is too far from it".into());
        }
        match place {
            Some(place) if place < limit => reasons.push(format!("it is hit {} of {limit}", place + 1)),
            Some(place) => {
                reasons.push(format!("{place} memories fit better, and {limit} are returned: raise `limit`"));
            }
            None if reasons.is_empty() && ranked.len() < MAX_PLACES => {
                reasons.push("beside the best hit its meaning alone says too little".into());
            }
            None if reasons.is_empty() => reasons.push(format!("more than {MAX_PLACES} memories fit better")),
            None => {}
        }
        let kind = memory.current_kind(&self.config);
        if kind != memory.kind {
            let uses = memory.trace(&self.config).uses();
            reasons.push(format!("it was told as a {} and is an {kind}: it was used {uses} times", memory.kind));
        }
        if why.words.is_empty() {
            reasons.push("none of its words is one of the query's".into());
        }
        if why.meaning == 0.0 && self.meaning_trouble().is_some() {
            reasons.push("its meaning is not known: the table could not be read".into());
        }
        let last = ranked.get(limit.min(ranked.len()).saturating_sub(1));
        Ok(WhyAnswer {
            id: memory.id.to_string(),
            text: super::say::short(&memory.text),
            place: place.map(|place| place as u64 + 1),
            is_returned: place.is_some_and(|place| place < limit),
            reasons,
            why,
            last_score: last.map(|last| super::remember::round(last.factors.rank())),
        })
    }

    /// What of the filters keeps a memory out.
    fn kept_out(&self, request: &RecallRequest, memory: &Memory, status: Status) -> String {
        let searched = if request.scope.is_empty() { &self.config.recall.scopes } else { &request.scope };
        let is_searched = memory.scope.is_none()
            || searched.iter().any(|scope| words::fold(scope) == words::fold(memory.scope_name()));
        match status {
            Status::Superseded => "it is no longer true: include `superseded`".into(),
            Status::Faded => "it has faded: include `faded`, or restore it".into(),
            Status::Vanished => "its note was deleted or moved out of Memories: restore it".into(),
            _ if !is_searched => {
                format!("it belongs to the project {}, which was not searched: name it in `scope`", memory.scope_name())
            }
            _ => "a filter of the request keeps it out".into(),
        }
    }
}
