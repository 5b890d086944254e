//! Filter: which memories a recall looks at, before anything is ranked.

use super::aliases::Aliases;
use jiff::tz::TimeZone;

use super::own_notes::NOTE;
use super::prepare::time;
use super::recall::RecallRequest;
use crate::clock::{DayPart, Timestamp};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::kinds::Kind;
use crate::memory::{GLOBAL_SCOPE, Memory, Status};
use crate::words;

/// Where to look.
enum Tier {
    Any,
    Memory { is_promoted: bool },
    OwnNote,
}

/// The filters of a request, checked.
pub(super) struct Filter {
    scopes: Option<Vec<String>>,
    kinds: Vec<Kind>,
    tags: Vec<String>,
    entities: Vec<String>,
    tier: Tier,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    as_of: Option<Timestamp>,
    faded: bool,
    superseded: bool,
}

impl Filter {
    pub(super) fn of(request: &RecallRequest, config: &Config, zone: &TimeZone) -> Result<Filter> {
        let fold = |words: &[String]| words.iter().map(|word| words::fold(word.trim_start_matches('#'))).collect();
        let includes = |what: &str| request.include.iter().any(|included| included == what);
        if let Some(unknown) =
            request.include.iter().find(|included| !["faded", "superseded", "all_scopes"].contains(&included.as_str()))
        {
            return Err(Error::invalid(
                "include",
                format!("`{unknown}` is not known"),
                "use faded, superseded or all_scopes",
            ));
        }
        let named = if request.scope.is_empty() { &config.recall.scopes } else { &request.scope };
        let is_open = includes("all_scopes");
        Ok(Filter {
            scopes: (!is_open)
                .then(|| named.iter().map(String::as_str).chain([GLOBAL_SCOPE]).map(words::fold).collect()),
            kinds: request.kinds.iter().map(|kind| kind.parse()).collect::<Result<_>>()?,
            tags: fold(&request.tags),
            entities: fold(&request.entities),
            tier: match request.tier.as_deref().map(str::to_lowercase).as_deref() {
                None | Some("any") => Tier::Any,
                Some("short_term") => Tier::Memory { is_promoted: false },
                Some("long_term") => Tier::Memory { is_promoted: true },
                Some(NOTE) => Tier::OwnNote,
                Some(other) => {
                    return Err(Error::invalid(
                        "tier",
                        format!("`{other}` is not known"),
                        "use any, short_term, long_term or note",
                    ));
                }
            },
            since: time("since", request.since.as_deref(), DayPart::Start, zone)?,
            until: time("until", request.until.as_deref(), DayPart::End, zone)?,
            as_of: time("as_of", request.as_of.as_deref(), DayPart::End, zone)?,
            faded: includes("faded"),
            superseded: includes("superseded"),
        })
    }

    /// The same by every name of the entities asked for.
    pub(super) fn by_all_names(mut self, aliases: &Aliases) -> Filter {
        self.entities = self.entities.iter().flat_map(|entity| aliases.all(entity)).collect();
        self
    }

    /// Whether nothing but the scope narrows the search.
    pub(super) fn is_wide(&self) -> bool {
        matches!(self.tier, Tier::Any)
            && self.kinds.is_empty()
            && self.tags.is_empty()
            && self.entities.is_empty()
            && self.since.is_none()
            && self.until.is_none()
            && self.as_of.is_none()
    }

    /// Whether some scopes are left out.
    pub(super) fn is_scoped(&self) -> bool {
        self.scopes.is_some()
    }

    /// The same in all scopes.
    pub(super) fn everywhere(self) -> Filter {
        Filter { scopes: None, ..self }
    }

    /// Whether its project is looked at; what holds everywhere always is.
    fn is_of_scope(&self, memory: &Memory) -> bool {
        let Some(scopes) = &self.scopes else { return true };
        memory.scope.as_ref().is_none_or(|scope| scopes.contains(&words::fold(scope)))
    }

    /// Whether dates, tags and entities are those asked for.
    fn is_about(&self, memory: &Memory) -> bool {
        self.since.is_none_or(|since| memory.dated() >= since)
            && self.until.is_none_or(|until| memory.dated() <= until)
            && (self.tags.is_empty() || self.tags.iter().all(|tag| has_tag(memory, tag)))
            && (self.entities.is_empty() || self.entities.iter().any(|entity| names_entity(memory, entity)))
    }

    /// Whether a part of a person's own note passes: it has no kind, and what it said at another time is not known.
    pub(super) fn passes_part(&self, outline: &Memory) -> bool {
        let is_of_tier = matches!(self.tier, Tier::Any | Tier::OwnNote);
        is_of_tier && self.kinds.is_empty() && self.as_of.is_none() && self.is_about(outline)
    }

    /// The status under which the memory passes, or `None`.
    pub(super) fn pass(&self, memory: &Memory, config: &Config, now: Timestamp) -> Option<Status> {
        let is_of_tier = match self.tier {
            Tier::Any => true,
            Tier::Memory { is_promoted } => is_promoted == memory.is_promoted(),
            Tier::OwnNote => false,
        };
        let fits = is_of_tier
            && self.is_of_scope(memory)
            && (self.kinds.is_empty() || self.kinds.contains(&memory.current_kind(config)));
        if !fits || !self.is_about(memory) {
            return None;
        }
        let status = match self.as_of {
            None => memory.status(config, now),
            Some(at) if memory.created > at => return None,
            Some(at) => status_at(memory, config, at),
        };
        match status {
            Status::Active => Some(status),
            Status::Faded => self.faded.then_some(status),
            Status::Superseded => self.superseded.then_some(status),
            Status::Vanished | Status::Forgotten => None,
        }
    }
}

/// Whether a memory still held at an earlier time. Fading is not asked for: it was believed all the same.
fn status_at(memory: &Memory, config: &Config, at: Timestamp) -> Status {
    let was_replaced = memory.superseded.is_some_and(|superseded| superseded.at <= at);
    let had_ended = memory.holds_until(config).is_some_and(|until| until <= at);
    if was_replaced || had_ended { Status::Superseded } else { Status::Active }
}

/// A tag fits itself and the tags nested below it.
fn has_tag(memory: &Memory, wanted: &str) -> bool {
    memory.tags.iter().any(|tag| {
        let tag = words::fold(tag);
        tag == wanted || tag.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
    })
}

fn names_entity(memory: &Memory, wanted: &str) -> bool {
    memory.entities.iter().any(|entity| words::fold(entity) == wanted)
}
