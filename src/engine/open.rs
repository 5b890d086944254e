//! Open: everything about a few memories. Never counts as use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::{HistoryEntry, history};
use super::own_notes::NOTE;
use super::recall::Hit;
use super::remember::round;
use super::store::Store;
use super::{Engine, lenient};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::memory::{Memory, SUPERSEDES};

/// A request to open.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenRequest {
    /// 1 to 100 ids, or unique prefixes.
    #[serde(deserialize_with = "lenient::words")]
    pub ids: Vec<String>,
    /// Also what happened to it, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub history: Option<bool>,
    /// Also what it is related to; true if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub relations: Option<bool>,
}

/// Whether a memory may be promoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromotionState {
    /// Whether it has proved itself.
    pub eligible: bool,
    /// Why (not).
    pub why: String,
}

/// A relation of an opened memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relation {
    /// How they are related.
    #[serde(rename = "type")]
    pub relation: String,
    /// The other memory or entity.
    pub id: String,
    /// `out`: from this memory; `in`: to it.
    pub direction: String,
    /// The other memory's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A memory, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Opened {
    /// As in hits.
    #[serde(flatten)]
    pub memory: Hit,
    /// Other words under which it is found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The kind that it was told as, where use has made it another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub told_as: Option<String>,
    /// Until when it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub valid_until: Option<Timestamp>,
    /// How general it is, unless `semi_abstract`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Whether it never fades.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Strength, 0 to 2.
    pub strength: f64,
    /// Counted uses.
    pub uses: u32,
    /// Different days of use.
    pub days_used: u32,
    /// Half-life of its kind, days.
    pub half_life_days: f64,
    /// When it will fade if it is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub fades_at: Option<Timestamp>,
    /// Whether it may be promoted; absent where it has a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<PromotionState>,
    /// What it is related to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    /// Opens its note in Obsidian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub obsidian: Option<String>,
    /// What happened to it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
}

/// The answer, in the order of the ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAnswer {
    /// The memories.
    pub memories: Vec<Opened>,
    /// Ids that no memory has, or that fit several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<String>,
    /// Of these, the ones that were forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub forgotten: Vec<String>,
    /// Of these, the ones that were purged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub purged: Vec<String>,
}

impl Engine {
    /// Shows memories whole, faded and superseded ones too.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no ids or more than 100; [`Error::Io`] when the journal cannot be read. Unknown ids
    /// are no error.
    pub fn open_memories(&self, request: &OpenRequest) -> Result<OpenAnswer> {
        if request.ids.is_empty() || request.ids.len() > 100 {
            return Err(Error::invalid("ids", format!("{} were given", request.ids.len()), "give 1 to 100 ids"));
        }
        let now = self.clock.now();
        self.refresh_at(now)?;
        // Notes are read before the store is held.
        let own_parts: Vec<Option<Memory>> = request.ids.iter().map(|id| self.own_part(id)).collect();
        let store = self.store();
        let (mut memories, mut not_found) = (Vec::new(), Vec::new());
        let (mut forgotten, mut purged) = (Vec::new(), Vec::new());
        for (text, part) in request.ids.iter().zip(own_parts) {
            if let Some(part) = part {
                memories.push(self.open_part(&store, text, part, now));
                continue;
            }
            if let Ok(memory) = Self::resolve_existing(&store.state, text) {
                memories.push(self.open_one(&store, memory, request, now));
                continue;
            }
            let id = Self::resolve(&store.state, text).ok();
            if id.is_some_and(|id| store.state.is_purged(id)) {
                purged.push(text.clone());
            } else if id.is_some_and(|id| store.state.forgotten_since(id).is_some()) {
                forgotten.push(text.clone());
            }
            not_found.push(text.clone());
        }
        drop(store);
        if request.history.unwrap_or(false) {
            let ids: Vec<_> = memories.iter().filter_map(|opened| opened.memory.id.parse().ok()).collect();
            let mut lines = self.journal.lines_about(&ids, now)?;
            for opened in &mut memories {
                let mut lines = lines.remove(&opened.memory.id).unwrap_or_default();
                // What was purged before it was told again is not told here either.
                let purge =
                    opened.memory.id.parse().ok().and_then(|id| self.store().state.purge_of(id).map(|p| p.order));
                lines.retain(|told| purge.is_none_or(|purge| told.line.order() > purge));
                opened.history = history(lines, &self.config);
            }
        }
        Ok(OpenAnswer { memories, not_found, forgotten, purged })
    }

    fn open_one(&self, store: &Store, memory: &Memory, request: &OpenRequest, now: Timestamp) -> Opened {
        let trace = memory.trace(&self.config);
        let promotion = (!memory.is_promoted()).then(|| self.promotion_state(memory, now));
        let relations = if request.relations.unwrap_or(true) { relations(store, memory) } else { Vec::new() };
        Opened {
            memory: self.describe(store, memory, now),
            keywords: memory.keywords.clone(),
            told_as: (memory.current_kind(&self.config) != memory.kind).then(|| memory.kind.as_str().into()),
            valid_until: memory.holds_until(&self.config),
            level: (memory.level != crate::kinds::Level::default()).then(|| memory.level.as_str().into()),
            pinned: memory.is_pinned,
            strength: round(trace.strength),
            uses: trace.uses(),
            days_used: trace.days_used(),
            half_life_days: trace.half_life_days,
            fades_at: if memory.is_kept_by_rule(now) { None } else { trace.fades_at(&self.config.decay) },
            promotion,
            relations,
            obsidian: memory.note.as_ref().filter(|note| note.is_there()).map(|note| self.obsidian_address(&note.path)),
            history: Vec::new(),
        }
    }

    /// A part of a person's own note: it has a text and a date, and nothing that ebbs.
    fn open_part(&self, store: &Store, address: &str, part: Memory, now: Timestamp) -> Opened {
        let described = self.describe(store, &part, now);
        let path = address.split_once('#').map_or(address, |(path, _)| path);
        Opened {
            memory: Hit {
                id: address.to_owned(),
                kind: NOTE.into(),
                tier: NOTE.into(),
                score: 1.0,
                entities: Vec::new(),
                note: Some(path.to_owned()),
                ..described
            },
            keywords: part.keywords,
            told_as: None,
            valid_until: None,
            level: None,
            pinned: false,
            strength: 0.0,
            uses: 0,
            days_used: 0,
            half_life_days: 0.0,
            fades_at: None,
            promotion: None,
            relations: Vec::new(),
            obsidian: Some(self.obsidian_address(path)),
            history: Vec::new(),
        }
    }

    /// Whether a memory may be promoted at `now`, trust included.
    pub(super) fn promotion_state(&self, memory: &Memory, now: Timestamp) -> PromotionState {
        if !memory.is_trusted() {
            let why = "it came from a tool or the web: a person must vouch for it".into();
            return PromotionState { eligible: false, why };
        }
        let trace = memory.trace(&self.config);
        if memory.is_pinned {
            return PromotionState { eligible: true, why: "pinned".into() };
        }
        let promotion = trace.promotion(&self.config.decay, memory.uses.contexts.len(), now);
        PromotionState { eligible: promotion.is_eligible, why: promotion.why }
    }
}

fn relations(store: &Store, memory: &Memory) -> Vec<Relation> {
    let own = memory.id.to_string();
    let mut relations: Vec<Relation> = store
        .state
        .edges()
        .filter_map(|(edge, _)| {
            let (other, direction) = match (edge.from == own, edge.to == own) {
                (true, _) => (&edge.to, "out"),
                (_, true) => (&edge.from, "in"),
                _ => return None,
            };
            let known = other.parse().ok().and_then(|id| store.state.get(id));
            // A supersession of something that is gone says nothing any more.
            if edge.relation == SUPERSEDES && known.is_none() {
                return None;
            }
            Some(Relation {
                relation: edge.relation.clone(),
                id: other.clone(),
                direction: direction.into(),
                text: known.map(|memory| super::say::short(&memory.text)),
            })
        })
        .collect();
    relations.sort_by(|a, b| (&a.relation, &a.direction, &a.id).cmp(&(&b.relation, &b.direction, &b.id)));
    relations
}
