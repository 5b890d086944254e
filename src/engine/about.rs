//! About: who and what memories are about, and what is known of one of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{MAX_LIMIT, Sight, USUAL_LIMIT, budget, named};
use super::page::cost;
use super::relate::Related;
use super::remember::round;
use super::{Engine, InspectRequest, say};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::graph::{Edge, Node};
use crate::memory::Memory;
use crate::note::name::file_stem;
use crate::vault::ENTITIES;

/// Groups that are listed, entities of each that are named, and memories that nothing is tied to.
const GROUPS: usize = 10;
const NAMED_OF_GROUP: usize = 5;
const ORPHANS: usize = 20;
/// Other entities that are named beside one.
const COMPANIONS: usize = 12;

/// Who or what memories are about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedEntity {
    /// Its name, as most memories spell it.
    pub name: String,
    /// Memories about it.
    pub memories: u64,
    /// How much it matters by all that hangs on it; 1 for what matters most.
    pub weight: f64,
    /// Number of the group that it belongs to, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

/// What belongs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Its number; the largest is 0.
    pub group: u32,
    /// Its entities that matter most.
    pub entities: Vec<String>,
    /// Its memories.
    pub memories: u64,
}

/// Who and what memories are about, what matters most first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntitiesAnswer {
    /// How many in all.
    pub total: u64,
    /// Those that matter most.
    pub entities: Vec<ListedEntity>,
    /// What belongs together: the largest groups with more than one entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// How many memories nothing is tied to.
    pub orphans: u64,
    /// The newest of these, as `id text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned: Vec<String>,
}

/// A memory about an entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownMemory {
    /// Its id.
    pub id: String,
    /// Its first line.
    pub text: String,
    /// When it is about: the event's time, else when it was told.
    #[schemars(with = "String")]
    pub dated: Timestamp,
    /// Its note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What is known of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownKind {
    /// The kind.
    pub kind: String,
    /// How many in all.
    pub count: u64,
    /// Newest first.
    pub memories: Vec<KnownMemory>,
}

/// Another entity of the same memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Companion {
    /// Its name.
    pub name: String,
    /// Memories about both.
    pub shared: u64,
}

/// What is known of an entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntityAnswer {
    /// Its name, as most memories spell it.
    pub name: String,
    /// Other names of it, by `relate NAME alias_of` it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Its note in the vault, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Memories about it.
    pub memories: u64,
    /// The first and the last date that one is about.
    #[schemars(with = "Vec<String>")]
    pub dates: Vec<Timestamp>,
    /// The memories by kind, the kind of the newest first.
    pub kinds: Vec<KnownKind>,
    /// Who and what else they are about, what few others are about first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Companion>,
    /// What was said of it and others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Related>,
    /// Memories for which there was no room.
    pub left_out: u64,
}

impl Engine {
    /// View `entities`.
    pub(super) fn entities(&self, request: &InspectRequest, now: Timestamp) -> Result<EntitiesAnswer> {
        let mut budget = budget(request)?;
        let limit = request.limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT) as usize;
        self.look(request, now, |sight| {
            let graph = &sight.network.graph;
            let whole = graph.whole(|node| sight.shows(node));
            let (standing, groups) = (whole.standing(), whole.groups());
            let group_of = |place: usize| groups.get(place).copied().flatten();
            let memories_at = |place: usize| {
                let tied = whole.tied(place).iter().filter_map(|(other, _)| whole.nodes.get(*other as usize));
                tied.filter(|node| node.memory().is_some()).count() as u64
            };
            let nodes = whole.nodes.iter().zip(&standing).enumerate();
            let mut all: Vec<(f64, usize, &Node)> = nodes
                .filter(|(_, (node, _))| matches!(node, Node::Entity(_)))
                .map(|(place, (node, standing))| (*standing, place, node))
                .collect();
            all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let most = all.first().map_or(1.0, |best| best.0);
            let orphans: Vec<&Memory> = whole.orphans().filter_map(|node| sight.memory(node.memory()?)).collect();
            let mut answer =
                EntitiesAnswer { total: all.len() as u64, orphans: orphans.len() as u64, ..EntitiesAnswer::default() };
            for (standing, place, node) in all.iter().take(limit) {
                let listed = ListedEntity {
                    name: graph.name(node).to_owned(),
                    memories: memories_at(*place),
                    weight: round(standing / most),
                    group: group_of(*place),
                };
                if !budget.take(cost(&listed)) {
                    return Ok(answer);
                }
                answer.entities.push(listed);
            }
            for group in grouped(&all, &whole.nodes, &groups, |node| graph.name(node).to_owned()) {
                if !budget.take(cost(&group)) {
                    return Ok(answer);
                }
                answer.groups.push(group);
            }
            for orphan in newest(orphans).into_iter().take(ORPHANS) {
                let line = format!("{} {}", orphan.id, say::short(&orphan.text));
                if !budget.take(cost(&line)) {
                    break;
                }
                answer.orphaned.push(line);
            }
            Ok(answer)
        })
    }

    /// View `entity`: what is known of someone or something.
    pub(super) fn entity(&self, request: &InspectRequest, now: Timestamp) -> Result<EntityAnswer> {
        let Some(text) = named(request.of.as_deref()) else {
            return Err(Error::invalid("of", "is missing", "give the name of a person, project or thing"));
        };
        let mut budget = budget(request)?;
        let limit = request.limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT) as usize;
        let answer = self.look(request, now, |sight| {
            let entity = sight.node("of", text)?;
            if !matches!(entity, Node::Entity(_)) {
                let hint = format!("`inspect graph` shows what hangs on it, `open` a memory as a whole: {text}");
                return Err(Error::invalid("of", format!("`{text}` is no entity"), hint));
            }
            let about = newest(sight.about(&entity));
            let name = sight.name(&entity);
            let mut answer = EntityAnswer {
                also: sight.store.aliases.others(&name),
                note: None,
                memories: about.len() as u64,
                dates: about.last().into_iter().chain(about.first()).map(|memory| memory.dated()).collect(),
                kinds: Vec::new(),
                related: sight.companions(&entity, &about),
                relations: sight.said_of(&entity),
                left_out: 0,
                name,
            };
            answer.related.retain(|companion| budget.take(cost(companion)));
            answer.relations.retain(|relation| budget.take(cost(relation)));
            let mut by_kind: Vec<(&str, Vec<&Memory>)> = Vec::new();
            for memory in &about {
                let kind = memory.current_kind(&self.config).as_str();
                match by_kind.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, memories)) => memories.push(memory),
                    None => by_kind.push((kind, vec![memory])),
                }
            }
            let head =
                |kind: &str, count: usize| KnownKind { kind: kind.into(), count: count as u64, memories: vec![] };
            answer.kinds = by_kind.iter().map(|(kind, memories)| head(kind, memories.len())).collect();
            answer.kinds.retain(|kind| budget.take(cost(kind)));
            // The newest of each kind in turn: what is told most often takes no room from what is told once.
            let mut shown = 0;
            let turns = by_kind.iter().map(|(_, memories)| memories.len()).max().unwrap_or_default();
            'turns: for turn in 0..turns {
                for (kind, (_, memories)) in answer.kinds.iter_mut().zip(&by_kind) {
                    let Some(memory) = memories.get(turn) else { continue };
                    let known = known(memory);
                    if shown == limit || !budget.take(cost(&known)) {
                        break 'turns;
                    }
                    kind.memories.push(known);
                    shown += 1;
                }
            }
            answer.left_out = (about.len() - shown) as u64;
            Ok(answer)
        })?;
        // The disk is asked once nothing is held any more.
        Ok(EntityAnswer { note: self.hub(&answer.name), ..answer })
    }

    /// The note of an entity, where the vault has one.
    fn hub(&self, name: &str) -> Option<String> {
        let path = format!("{ENTITIES}/{}.md", file_stem(name).name);
        self.vault.root().join(&path).is_file().then_some(path)
    }
}

fn known(memory: &Memory) -> KnownMemory {
    KnownMemory {
        id: memory.id.to_string(),
        text: say::short(&memory.text),
        dated: memory.dated(),
        note: memory.note.as_ref().filter(|note| note.is_there()).map(|note| note.path.clone()),
    }
}

fn newest(mut memories: Vec<&Memory>) -> Vec<&Memory> {
    memories.sort_unstable_by_key(|memory| std::cmp::Reverse((memory.dated(), memory.id)));
    memories
}

/// The largest groups with more than one entity; `all` are the entities, what matters most first.
fn grouped(
    all: &[(f64, usize, &Node)],
    nodes: &[Node],
    groups: &[Option<u32>],
    name: impl Fn(&Node) -> String,
) -> Vec<Group> {
    let mut members: BTreeMap<u32, (Vec<&Node>, u64)> = BTreeMap::new();
    for (_, place, node) in all {
        if let Some(group) = groups.get(*place).copied().flatten() {
            members.entry(group).or_default().0.push(node);
        }
    }
    for (node, group) in nodes.iter().zip(groups) {
        let known = group.and_then(|group| members.get_mut(&group)).filter(|_| node.memory().is_some());
        if let Some((_, memories)) = known {
            *memories += 1;
        }
    }
    let several = members.into_iter().filter(|(_, (entities, _))| entities.len() > 1).take(GROUPS);
    let group = |(group, (entities, memories)): (u32, (Vec<&Node>, u64))| Group {
        group,
        entities: entities.into_iter().take(NAMED_OF_GROUP).map(&name).collect(),
        memories,
    };
    several.map(group).collect()
}

impl Sight<'_> {
    /// The memories about an entity that are shown, in no particular order.
    fn about(&self, entity: &Node) -> Vec<&Memory> {
        self.network.graph.about(entity).filter_map(|id| self.memory(id)).collect()
    }

    /// Who and what else these memories are about, what few others are about first.
    fn companions(&self, entity: &Node, about: &[&Memory]) -> Vec<Companion> {
        let graph = &self.network.graph;
        let mut shared: BTreeMap<Node, u64> = BTreeMap::new();
        for name in about.iter().flat_map(|memory| &memory.entities) {
            if let Some(other) = self.store.aliases.node(name).filter(|other| other != entity) {
                *shared.entry(other).or_default() += 1;
            }
        }
        // Of two that are named together equally often, the one that is seldom named apart says more.
        let weight = |other: &Node, shared: u64| shared as f64 / (2.0 + graph.ties_of(other) as f64).log2();
        let mut all: Vec<(f64, Node, u64)> =
            shared.into_iter().map(|(other, count)| (weight(&other, count), other, count)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let named = all.into_iter().take(COMPANIONS);
        named.map(|(_, other, shared)| Companion { name: graph.name(&other).to_owned(), shared }).collect()
    }

    /// What was said of an entity and others, as far as these are shown.
    fn said_of(&self, entity: &Node) -> Vec<Related> {
        let other = |edge: &Edge| if edge.from == *entity { edge.to.clone() } else { edge.from.clone() };
        let said = self.network.graph.said_of(entity);
        said.iter().filter(|edge| self.shows(&other(edge))).map(|edge| self.edge(edge)).collect()
    }
}
