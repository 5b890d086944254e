//! Relate: two memories, or entities, are said to hang together. Saying it twice changes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aliases::ALIAS_OF;
use super::conflict::{conflict_id, contradiction, relation};
use super::judge::is_current;
use super::prepare::clean_word;
use super::store::Store;
use super::{Engine, lenient};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::{CONTRADICTS, Edge, Line, Op, SUPERSEDES, State};
use crate::redact::Report;
use crate::words;

/// A request to relate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RelateRequest {
    /// An id or entity.
    pub from: String,
    /// An id or entity.
    pub to: String,
    /// related, causes, supports, contradicts, supersedes, `alias_of` or another word.
    #[serde(rename = "type")]
    pub relation: String,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::number")]
    pub strength: Option<f64>,
    /// Take it back.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub remove: Option<bool>,
}

/// A relation, or another tie of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Related {
    /// An id, an entity's name, or a note's path.
    pub from: String,
    /// An id, an entity's name, or a note's path.
    pub to: String,
    /// The word of a relation, `mentions` or `links_to`.
    #[serde(rename = "type")]
    pub relation: String,
    /// How strongly, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
}

/// What became of a request to relate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelateAnswer {
    /// The relation.
    pub relation: Related,
    /// Whether anything changed.
    pub changed: bool,
    /// The conflict that was raised, by `contradicts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// What follows, or why nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One end of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Memory(MemoryId),
    Entity(String),
}

impl End {
    fn text(&self) -> String {
        match self {
            End::Memory(id) => id.to_string(),
            End::Entity(name) => name.clone(),
        }
    }
}

impl Engine {
    /// Relates two memories or entities, or takes that back. On return the line is on disk.
    ///
    /// # Errors
    /// [`Error::NotFound`] for ids and entities that are not there, [`Error::Invalid`] for a relation to itself, a type
    /// of more than one word, a strength beyond 0..1, and a supersession that closes a circle; [`Error::Busy`],
    /// [`Error::Io`].
    pub fn relate(&self, request: &RelateRequest) -> Result<RelateAnswer> {
        let now = self.clock.now();
        let name = relation_name(&request.relation)?;
        let strength = request.strength;
        if strength.is_some_and(|strength| !(0.0..=1.0).contains(&strength)) {
            return Err(Error::invalid("strength", "is not 0 to 1", "leave it out if unsure"));
        }
        let is_removed = request.remove.unwrap_or(false);
        self.write(now, |draft| {
            let store = draft.store();
            let ends = if name == ALIAS_OF {
                alias_ends(&store, &request.from, &request.to)?
            } else {
                (end(&store, "from", &request.from)?, end(&store, "to", &request.to)?)
            };
            if ends.0 == ends.1 {
                return Err(Error::invalid("to", "is the same as `from`", "relate two different things"));
            }
            let answer = |changed: bool, why: Option<String>| RelateAnswer {
                relation: Related { from: ends.0.text(), to: ends.1.text(), relation: name.clone(), strength },
                changed,
                conflict: None,
                why,
            };
            match (name.as_str(), &ends) {
                (CONTRADICTS, (End::Memory(a), End::Memory(b))) => {
                    let (lines, why) = contradicted(&store, *a, *b, is_removed, now)?;
                    let conflict = (!is_removed).then(|| conflict_id(*a, *b).to_string());
                    return Ok((lines.clone(), RelateAnswer { conflict, ..answer(!lines.is_empty(), why) }));
                }
                (CONTRADICTS | SUPERSEDES, (End::Entity(entity), _) | (_, End::Entity(entity))) => {
                    let why = format!("`{entity}` is no memory");
                    return Err(Error::invalid("from, to", why, format!("`{name}` holds between two memories")));
                }
                (SUPERSEDES, (End::Memory(newer), End::Memory(older)))
                    if !is_removed && store.state.standing_for(*newer) == *older =>
                {
                    let why = format!("{older} takes the place of {newer} already");
                    return Err(Error::invalid("to", why, format!("take that back first: `remove` from {older}")));
                }
                _ => {}
            }
            let edge = Edge { from: ends.0.text(), to: ends.1.text(), relation: name.clone() };
            let known = store.state.edge(&edge);
            let is_so = match known {
                None => is_removed,
                Some(known) => !is_removed && (strength.is_none() || known == strength),
            };
            if is_so {
                let why = if is_removed { "there is no such relation" } else { "it is known already" };
                return Ok((Vec::new(), answer(false, Some(why.into()))));
            }
            let op = if is_removed { Op::Unrelate } else { Op::Relate };
            let line = Line {
                from: Some(edge.from),
                to: Some(edge.to),
                relation: Some(edge.relation),
                strength: strength.filter(|_| !is_removed),
                ..Line::new(op)
            };
            let why = match name.as_str() {
                _ if is_removed => None,
                SUPERSEDES => Some(format!("{} is history now", ends.1.text())),
                ALIAS_OF => Some(format!("what asks for one asks for both; `{}` stands for them", ends.1.text())),
                _ => None,
            };
            Ok((vec![line], answer(true, why)))
        })
    }
}

/// What is to be written so that two memories contradict each other, or do not any more.
fn contradicted(
    store: &Store,
    a: MemoryId,
    b: MemoryId,
    is_removed: bool,
    now: Timestamp,
) -> Result<(Vec<Line>, Option<String>)> {
    let find = |id| store.state.get(id).ok_or_else(|| Error::no_memory(id));
    let (a, b) = (find(a)?, find(b)?);
    let is_open = store.conflicts_of(a.id, now).contains(&conflict_id(a.id, b.id).to_string());
    if let Some(gone) = [a, b].into_iter().find(|memory| !is_removed && !is_current(memory, now)) {
        let why = format!("{} is history already", gone.id);
        return Err(Error::invalid("from, to", why, "only what holds now can be in conflict"));
    }
    let mut line = contradiction((a.id, &a.text), (b.id, &b.text), false);
    Ok(match (is_open, is_removed) {
        (true, false) => (Vec::new(), Some("it is known already".into())),
        (false, true) => (Vec::new(), Some("there is no such conflict".into())),
        (false, false) => (vec![line], Some("shown beside both, and listed in `review`, until it is resolved".into())),
        (true, true) => {
            line.op = Op::Unrelate;
            (vec![line], Some("both hold".into()))
        }
    })
}

/// The lines that take back what made others take this memory's place.
pub(super) fn unsuperseding(state: &State, id: MemoryId) -> Vec<Line> {
    let newer = state.said_newer(id);
    newer.into_iter().map(|newer| relation(Op::Unrelate, newer, id, SUPERSEDES)).collect()
}

/// One word, lower case, its parts joined by `_`.
fn relation_name(text: &str) -> Result<String> {
    let parts: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let name = clean_word("type", &parts.join("_").to_lowercase(), &mut Report::default())?;
    if name.is_empty() || parts.len() > 4 {
        let hint = "use related, causes, supports, contradicts, supersedes, has_decision, or another word";
        return Err(Error::invalid("type", format!("`{text}` names no relation"), hint));
    }
    Ok(name)
}

/// Two names of one entity; one of them may be told of nowhere yet.
fn alias_ends(store: &Store, from: &str, to: &str) -> Result<(End, End)> {
    let named = |what: &str, text: &str| match end(store, what, text) {
        Ok(End::Memory(id)) => {
            let hint = "give two names of a person, project or thing";
            Err(Error::invalid(what, format!("{id} is a memory"), hint))
        }
        Err(Error::NotFound { .. }) => {
            let name = clean_word(what, text, &mut Report::default())?;
            Ok((End::Entity(name), false))
        }
        found => Ok((found?, true)),
    };
    let ((from, from_is_known), (to, to_is_known)) = (named("from", from)?, named("to", to)?);
    if !from_is_known && !to_is_known {
        return Err(Error::NotFound { what: format!("entity `{}` or `{}`", from.text(), to.text()) });
    }
    if words::fold(&from.text()) == words::fold(&to.text()) {
        return Err(Error::invalid(
            "to",
            "is the same name as `from`",
            "names that differ in case only are one anyway",
        ));
    }
    Ok((from, to))
}

/// What a text means: an id or unique prefix, else an entity that a memory names, spelled as there.
fn end(store: &Store, what: &str, text: &str) -> Result<End> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::invalid(what, "is missing", "give an id, or the name of an entity"));
    }
    if text.chars().count() == MemoryId::LENGTH
        && let Ok(memory) = Engine::resolve_existing(&store.state, text)
    {
        return Ok(End::Memory(memory.id));
    }
    let folded = words::fold(text);
    let mut names: Vec<&String> = store
        .state
        .memories()
        .flat_map(|memory| &memory.entities)
        .filter(|entity| words::fold(entity) == folded)
        .collect();
    names.sort_unstable();
    if let Some(name) = names.first() {
        return Ok(End::Entity((*name).clone()));
    }
    match Engine::resolve_existing(&store.state, text) {
        Ok(memory) => Ok(End::Memory(memory.id)),
        Err(error @ Error::Ambiguous { .. }) => Err(error),
        Err(_) => Err(Error::NotFound { what: format!("memory or entity `{text}`") }),
    }
}
