//! Consolidate: memories that say much the same are found, shown, and, when asked, made one, linked, or kept apart.
//!
//! Found among those that share the rarest words, never by comparing all with all. What a call shows has an id, made of
//! the members and their texts: the next call acts on just that, or is told that it changed. Only texts that state the
//! same fact are made one without a text from the caller; the originals stay, hidden, and can be restored.

use std::collections::{BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::relation;
use super::judge::{is_comparable, is_current};
use super::prepare::{MAX_LIST, clean_text};
use super::remember::round;
use super::store::Store;
use super::{Engine, PromoteRequest, lenient, say};
use crate::clock::{Hour, Timestamp};
use crate::clusters::{Pair, clusters};
use crate::embedding::products;
use crate::error::{Error, Result};
use crate::id::{MemoryId, hash64};
use crate::lexical::Slot;
use crate::memory::{CONSOLIDATED_FROM, Line, Memory, Op, Status};
use crate::redact::Report;
use crate::similarity::{Bigrams, Wording, compatible};
use crate::words;

/// Least mean likeness of a cluster, where a request names none.
const AT_LEAST: f32 = 0.7;
/// Most members of a cluster, where a request names no number.
const MOST_MEMBERS: u32 = 12;
/// Memories that share the rarest words with one, and are compared with it.
const COMPARED: usize = 12;
/// Clusters that are shown, where a request names no number.
const SHOWN: u32 = 20;
/// Says of two memories that they are alike and hang together.
const RELATED: &str = "related";
/// Says of two memories that they are alike and stay two.
const DISTINCT: &str = "distinct";
/// What a cluster of much alike memories adds to the strength of the one it becomes, for each member (the seed's).
const STRENGTH_A_MEMBER: f64 = 0.1;
/// The most it adds.
const MOST_ADDED_STRENGTH: f64 = 0.5;

/// What is to be done with a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClusterAction {
    /// Nothing yet: it is shown.
    #[default]
    Preview,
    /// Its members become one memory.
    Merge,
    /// Its members are related to each other.
    Link,
    /// Its members stay as they are and are not shown as a cluster again.
    Keep,
}

/// A request to consolidate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConsolidateRequest {
    /// A cluster's id as shown, or the ids of 2 to 100 memories; absent to see what clusters there are.
    #[serde(deserialize_with = "lenient::list")]
    pub cluster: Vec<String>,
    /// preview, merge, link or keep.
    pub action: ClusterAction,
    /// The text of the memory that they become; needed where they say different things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Least mean likeness, 0.5 to 1; 0.7 if absent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::number")]
    pub at_least: Option<f64>,
    /// Most members of a cluster, 2 to 100; 12 if absent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub most_members: Option<u32>,
    /// Clusters shown, 1 to 1000; 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub limit: Option<u32>,
}

/// A member of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterMember {
    /// Its id.
    pub id: String,
    /// Its text, shortened.
    pub text: String,
}

/// Memories that say much the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundCluster {
    /// What the next call names: the same for the same members with the same texts.
    pub id: String,
    /// Mean likeness of its members, 0 to 1.
    pub cohesion: f64,
    /// What seems right: `merge` where all state the same fact, else `link` or `keep`.
    pub action: ClusterAction,
    /// Why.
    pub why: String,
    /// Its members, oldest first.
    pub members: Vec<ClusterMember>,
}

/// What became of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consolidated {
    /// What was done.
    pub action: ClusterAction,
    /// The new memory, where its members became one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The members.
    pub members: Vec<String>,
    /// How to take it back.
    pub undo: String,
    /// What could not be done to a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What there is to consolidate, or what was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsolidateAnswer {
    /// How many clusters there are.
    pub total: u64,
    /// The tightest.
    pub clusters: Vec<FoundCluster>,
    /// What was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Consolidated>,
}

/// What was checked of a request.
struct Bounds {
    at_least: f32,
    most_members: usize,
}

impl Engine {
    /// Shows what clusters there are, or merges, links or keeps apart the members of one. On return it is on disk.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values out of range, a cluster that is not there as it was shown, and a merge of different
    /// facts without a text; [`Error::NotFound`] for members that are not there; [`Error::Busy`], [`Error::Io`].
    pub fn consolidate(&self, request: &ConsolidateRequest) -> Result<ConsolidateAnswer> {
        let now = self.clock.now();
        let bounds = bounds(request)?;
        let limit = request.limit.unwrap_or(SHOWN).clamp(1, 1000) as usize;
        if request.action == ClusterAction::Preview {
            self.refresh_at(now)?;
            let store = self.store();
            if request.cluster.is_empty() {
                let found = self.found(&store, &bounds, now)?;
                let total = found.len() as u64;
                let clusters = found.into_iter().take(limit);
                let clusters = clusters.map(|(members, cohesion)| shown(&members, cohesion)).collect();
                return Ok(ConsolidateAnswer { total, clusters, done: None });
            }
            let (members, cohesion) = self.named(&store, request, &bounds, now)?;
            return Ok(ConsolidateAnswer { total: 1, clusters: vec![shown(&members, cohesion)], done: None });
        }
        if request.cluster.is_empty() {
            let hint = "call without an action first: it shows the clusters with their ids";
            return Err(Error::invalid("cluster", "is missing", hint));
        }
        let (mut done, was_promoted) = self.write(now, |draft| {
            let store = draft.store();
            let (members, cohesion) = self.named(&store, request, &bounds, now)?;
            let ids: Vec<MemoryId> = members.iter().map(|memory| memory.id).collect();
            let mut done = Consolidated {
                action: request.action,
                id: None,
                text: None,
                members: ids.iter().map(ToString::to_string).collect(),
                undo: "`ebbmark undo`, as long as it is the last operation".into(),
                notice: None,
            };
            let name = match request.action {
                ClusterAction::Merge => {
                    let text = match &request.text {
                        Some(text) => clean_text(text, &mut Report::default())?,
                        None => same_text(&members)?,
                    };
                    let id = draft.new_id(&store.state, 0)?;
                    let mut lines = vec![merged(id, text, &members, cohesion)];
                    lines.extend(ids.iter().map(|member| relation(Op::Relate, id, *member, CONSOLIDATED_FROM)));
                    done.id = Some(id.to_string());
                    done.text = lines.first().and_then(|line| line.text.clone());
                    let was_promoted = members.iter().any(|memory| memory.is_promoted());
                    return Ok((lines, (done, was_promoted)));
                }
                ClusterAction::Link => RELATED,
                ClusterAction::Keep | ClusterAction::Preview => DISTINCT,
            };
            let strength = (request.action == ClusterAction::Link).then(|| round(f64::from(cohesion)));
            let mut lines = Vec::new();
            for (at, a) in ids.iter().enumerate() {
                for b in ids.iter().skip(at + 1) {
                    if !says(&store, *a, *b, name) {
                        lines.push(Line { strength, ..relation(Op::Relate, *a, *b, name) });
                    }
                }
            }
            Ok((lines, (done, false)))
        })?;
        if let (true, Some(id)) = (was_promoted, &done.id) {
            // What had a note keeps one.
            let request = PromoteRequest { ids: vec![id.clone()], ..PromoteRequest::default() };
            match self.promote(&request) {
                Ok(answer) => done.notice = answer.skipped.first().map(|skipped| skipped.why.clone()),
                Err(error) => done.notice = Some(error.to_string()),
            }
        }
        Ok(ConsolidateAnswer { done: Some(done), ..ConsolidateAnswer::default() })
    }

    /// The clusters of what holds now, tightest first, with their cohesion.
    fn found<'s>(&self, store: &'s Store, bounds: &Bounds, now: Timestamp) -> Result<Vec<(Vec<&'s Memory>, f32)>> {
        let mut memories: Vec<&Memory> =
            store.state.memories().filter(|memory| self.can_be_consolidated(memory, now)).collect();
        memories.sort_by_key(|memory| (memory.created, memory.id));
        let number: HashMap<MemoryId, usize> =
            memories.iter().enumerate().map(|(number, memory)| (memory.id, number)).collect();
        let looks: Vec<Look> = memories.iter().map(|memory| Look::of(store, memory)).collect();
        let likeness = |a: usize, b: usize| match (looks.get(a), looks.get(b)) {
            (Some(a), Some(b)) => a.likeness(b, store),
            _ => 0.0,
        };
        let compare = |first: usize, part: &[&Memory]| -> Result<Vec<Pair>> {
            let mut pairs = Vec::new();
            for (a, memory) in (first..).zip(part) {
                for id in store.candidates(&words::query_terms(&memory.text), COMPARED)? {
                    let Some((b, other)) = number.get(&id).and_then(|b| Some((*b, *memories.get(*b)?))) else {
                        continue;
                    };
                    if a != b && is_comparable(memory, other) && !is_decided(store, memory.id, other.id) {
                        pairs.push(Pair { a, b, likeness: likeness(a, b) });
                    }
                }
            }
            Ok(pairs)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        let size = memories.len().div_ceil(threads).max(1);
        let mut pairs = Vec::new();
        std::thread::scope(|scope| {
            let compare = &compare;
            let parts = memories.chunks(size).enumerate();
            let work: Vec<_> = parts.map(|(at, part)| scope.spawn(move || compare(at * size, part))).collect();
            for work in work {
                let panicked = || Error::Internal("a thread that compares memories panicked".into());
                pairs.append(&mut work.join().map_err(|_| panicked())??);
            }
            Ok::<(), Error>(())
        })?;
        let comparable = |a: usize, b: usize| match (memories.get(a), memories.get(b)) {
            (Some(a), Some(b)) => is_comparable(a, b),
            _ => false,
        };
        let measure = |a, b| if comparable(a, b) { likeness(a, b) } else { 0.0 };
        let found = clusters(pairs, bounds.at_least, bounds.most_members, measure);
        let member = |number: &usize| memories.get(*number).copied();
        let found = found
            .into_iter()
            .map(|cluster| (cluster.members.iter().filter_map(member).collect::<Vec<&Memory>>(), cluster.cohesion));
        Ok(found.collect())
    }

    /// The cluster that a request names, by its id or by its members, oldest first.
    fn named<'s>(
        &self,
        store: &'s Store,
        request: &ConsolidateRequest,
        bounds: &Bounds,
        now: Timestamp,
    ) -> Result<(Vec<&'s Memory>, f32)> {
        if let [id] = request.cluster.as_slice() {
            let found = self.found(store, bounds, now)?;
            return found.into_iter().find(|(members, _)| cluster_id(members) == id.trim()).ok_or_else(|| {
                let why = format!("there is no cluster `{id}`, or it changed since it was shown");
                Error::invalid("cluster", why, "look again, and give the same bounds as then")
            });
        }
        let mut members: Vec<&Memory> = Vec::new();
        for id in &request.cluster {
            let memory = Self::resolve_existing(&store.state, id)?;
            if !self.can_be_consolidated(memory, now) {
                let why = format!("{} is {}", memory.id, memory.status(&self.config, now).as_str());
                return Err(Error::invalid("cluster", why, "restore it first, or leave it out"));
            }
            members.push(memory);
        }
        members.sort_by_key(|memory| (memory.created, memory.id));
        members.dedup_by_key(|memory| memory.id);
        let first = members.first().filter(|_| (2..=100).contains(&members.len())).ok_or_else(|| {
            Error::invalid("cluster", "names no two memories", "give a cluster's id, or the ids of 2 to 100 memories")
        })?;
        if let Some(other) = members.iter().find(|memory| !is_comparable(first, memory)) {
            let why = format!("{} and {} differ in scope or speaker", first.id, other.id);
            return Err(Error::invalid("cluster", why, "only what one person said of one world can become one"));
        }
        let looks: Vec<Look> = members.iter().map(|memory| Look::of(store, memory)).collect();
        let mut all = Vec::new();
        for (at, look) in looks.iter().enumerate() {
            all.extend(looks.iter().skip(at + 1).map(|other| look.likeness(other, store)));
        }
        let cohesion = all.iter().sum::<f32>() / all.len().max(1) as f32;
        Ok((members, cohesion))
    }

    fn can_be_consolidated(&self, memory: &Memory, now: Timestamp) -> bool {
        is_current(memory, now) && memory.status(&self.config, now) == Status::Active
    }
}

/// What is compared of a memory.
struct Look<'s> {
    text: &'s str,
    bigrams: Bigrams,
    slot: Option<Slot>,
}

impl<'s> Look<'s> {
    fn of(store: &Store, memory: &'s Memory) -> Self {
        Look { text: &memory.text, bigrams: Bigrams::of(&memory.text), slot: store.slot_of(memory.id) }
    }

    /// How alike two memories are, 0 to 1: by their bigrams, and where both vectors are known half by their meanings.
    fn likeness(&self, other: &Look<'_>, store: &Store) -> f32 {
        let by_bigrams = self.bigrams.dice(other.text);
        let vector = |look: &Look<'_>| look.slot.and_then(|slot| store.shapes.vectors.get(slot));
        let cosine = vector(self).zip(vector(other)).and_then(|((scale, own), (other_scale, other))| {
            let product = products(own, other).first().copied()?;
            Some((product as f32 * scale * other_scale).clamp(0.0, 1.0))
        });
        cosine.map_or(by_bigrams, |cosine| f32::midpoint(by_bigrams, cosine))
    }
}

fn bounds(request: &ConsolidateRequest) -> Result<Bounds> {
    let at_least = request.at_least.unwrap_or(f64::from(AT_LEAST));
    if !(0.5..=1.0).contains(&at_least) {
        return Err(Error::invalid("at_least", format!("{at_least} is not 0.5 to 1"), "leave it out for 0.7"));
    }
    let most_members = request.most_members.unwrap_or(MOST_MEMBERS);
    if !(2..=100).contains(&most_members) {
        let why = format!("{most_members} is not 2 to 100");
        return Err(Error::invalid("most_members", why, "leave it out for 12"));
    }
    Ok(Bounds { at_least: at_least as f32, most_members: most_members as usize })
}

/// Hash of the members and their texts.
fn cluster_id(members: &[&Memory]) -> String {
    let mut all: Vec<String> =
        members.iter().map(|memory| format!("{} {:016x}", memory.id, hash64(memory.text.as_bytes()))).collect();
    all.sort_unstable();
    format!("c{:011x}", hash64(all.join("\n").as_bytes()) >> 20)
}

fn shown(members: &[&Memory], cohesion: f32) -> FoundCluster {
    let (action, why) = match same_text(members) {
        Ok(_) => (ClusterAction::Merge, "all state the same fact".to_owned()),
        Err(_) if cohesion >= AT_LEAST => {
            let why = "they say different things: link them, or merge them with a text that holds all of it";
            (ClusterAction::Link, why.to_owned())
        }
        Err(_) => (ClusterAction::Keep, "they have little more than words in common".to_owned()),
    };
    let member = |memory: &&Memory| ClusterMember { id: memory.id.to_string(), text: say::cut(&memory.text, 200) };
    FoundCluster {
        id: cluster_id(members),
        cohesion: round(f64::from(cohesion)),
        action,
        why,
        members: members.iter().map(member).collect(),
    }
}

/// The longest text, where all state the same fact.
fn same_text(members: &[&Memory]) -> Result<String> {
    let longest = members.iter().max_by_key(|memory| (memory.text.chars().count(), std::cmp::Reverse(memory.id)));
    let Some(longest) = longest else { return Err(Error::Internal("a cluster without members".into())) };
    let form = compatible(&longest.text);
    let wording = Wording::of(&form);
    match members.iter().find(|memory| memory.id != longest.id && !wording.is_same_fact(&memory.text)) {
        None => Ok(longest.text.clone()),
        Some(other) => {
            let why = format!("{} and {} say different things", longest.id, other.id);
            Err(Error::invalid("text", why, "give the text of the memory that they become, or link them"))
        }
    }
}

/// The line of the memory that these become.
fn merged(id: MemoryId, text: String, members: &[&Memory], cohesion: f32) -> Line {
    let newest = members.iter().max_by_key(|memory| (memory.dated(), memory.id));
    let all = |of: fn(&Memory) -> &Vec<String>| {
        let mut seen = HashSet::new();
        let words = members.iter().flat_map(|memory| of(memory)).filter(|word| seen.insert(words::fold(word)));
        let words: Vec<String> = words.take(MAX_LIST).cloned().collect();
        (!words.is_empty()).then_some(words)
    };
    let shared = |of: fn(&Memory) -> Option<Timestamp>| {
        let mut values = members.iter().map(|memory| of(memory));
        let first = values.next().flatten();
        first.filter(|_| values.all(|value| value == first))
    };
    let strengths = members.iter().filter_map(|memory| memory.strength);
    let added = (f64::from(cohesion) * members.len() as f64 * STRENGTH_A_MEMBER).min(MOST_ADDED_STRENGTH);
    let is_trusted = members.iter().all(|memory| memory.is_trusted());
    let source = members.iter().find_map(|memory| {
        let spoken = memory.sources.iter().find(|source| source.speaker.is_some());
        spoken.map(|source| crate::memory::Source { speaker: source.speaker.clone(), ..Default::default() })
    });
    Line {
        text: Some(text),
        title: newest.and_then(|memory| memory.title.clone()),
        kind: newest.map(|memory| memory.kind),
        level: members.iter().map(|memory| memory.level).max(),
        tags: all(|memory| &memory.tags),
        entities: all(|memory| &memory.entities),
        keywords: all(|memory| &memory.keywords),
        scope: members.first().and_then(|memory| memory.scope.clone()),
        happened: shared(|memory| memory.happened),
        valid_until: shared(|memory| memory.valid_until),
        strength: strengths.reduce(f64::max).map(|strength| (strength + added).min(2.0)),
        pinned: members.iter().any(|memory| memory.is_pinned).then_some(true),
        trusted: (!is_trusted).then_some(false),
        created: members.iter().map(|memory| memory.created).min(),
        hours: united_hours(members),
        contexts: members
            .iter()
            .flat_map(|memory| memory.uses.contexts.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        source,
        supersedes: members.iter().map(|memory| memory.id).collect(),
        ..Line::about(Op::Remember, id)
    }
}

/// The hours in which the most used one was used, and of the others the newest few: as many as the logarithm of their
/// number. So ten that were used ten times each do not make one that was used a hundred times.
fn united_hours(members: &[&Memory]) -> Vec<Hour> {
    let most = members.iter().max_by_key(|memory| (memory.uses.hours.len(), memory.id));
    let mut hours: BTreeSet<Hour> = most.map(|memory| memory.uses.hours.iter().copied().collect()).unwrap_or_default();
    let others: BTreeSet<Hour> =
        members.iter().flat_map(|memory| &memory.uses.hours).copied().filter(|hour| !hours.contains(hour)).collect();
    let taken = ((1 + others.len()) as f64).log2().floor() as usize;
    hours.extend(others.into_iter().rev().take(taken));
    hours.into_iter().collect()
}

/// Whether it was said what these two are to each other.
fn is_decided(store: &Store, a: MemoryId, b: MemoryId) -> bool {
    [RELATED, DISTINCT, CONSOLIDATED_FROM].iter().any(|name| says(store, a, b, name))
}

/// Whether two memories are said to be so related, in either direction.
fn says(store: &Store, a: MemoryId, b: MemoryId, name: &str) -> bool {
    store.state.says(a, name, b) || store.state.says(b, name, a)
}
