//! The graph as it is shown: what hangs on something, how two things hang together, and pictures of it.
//!
//! What recall does not show is not shown here either: other scopes, and what is superseded, faded, vanished or
//! forgotten, unless it is itself what was asked for.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::stem;
use super::conflict::conflict_id;
use super::filter::Filter;
use super::network::{Network, names_note};
use super::page::{Budget, cost};
use super::recall::RecallRequest;
use super::relate::Related;
use super::remember::round;
use super::store::Store;
use super::{Engine, InspectRequest, resolved, say};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::files;
use crate::graph::{Drawing, DrawnEdge, DrawnNode, Edge, HUB, Node, Shape, Tie};
use crate::id::MemoryId;
use crate::memory::{CONTRADICTS, Memory, Status};
use crate::note::link::Link;
use crate::words;

/// Steps that are gone from what was asked for, at most.
const MAX_DEPTH: u32 = 4;
/// Nodes of an answer where neither a number nor a budget is given, and at most.
pub(super) const USUAL_LIMIT: u32 = 50;
pub(super) const MAX_LIMIT: u32 = 1_000;
/// What an answer may cost where no budget is given.
const USUAL_BUDGET: u32 = 10_000;
/// How alike a name must be to be offered in place of one that is not known, and how many are.
const ALIKE: f64 = 0.75;
const OFFERED: usize = 3;

/// What a node of the graph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeType {
    /// A memory.
    Memory,
    /// Someone or something that memories are about.
    Entity,
    /// A person's own note.
    Note,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphNode {
    /// A memory's id, an entity's name, or a note's path.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub what: NodeType,
    /// A memory's first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A memory's kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// When a memory is about: the event's time, else when it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub dated: Option<Timestamp>,
    /// A memory's status, where it is not `active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A memory's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Steps from what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// So much hangs on it that it was not gone through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hub: bool,
}

/// A part of the graph: edges only between its nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphAnswer {
    /// The closest first; without a beginning, what matters most first.
    pub nodes: Vec<GraphNode>,
    /// The edges between them.
    pub edges: Vec<Related>,
    /// Further neighbours for which there was no room; of very many, hidden ones are counted too.
    pub left_out: u64,
}

/// How two nodes hang together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathAnswer {
    /// Whether anything ties them.
    pub found: bool,
    /// The nodes on the way, from one to the other.
    pub nodes: Vec<GraphNode>,
    /// The edges on the way, in order; each may point either way.
    pub edges: Vec<Related>,
    /// Each step in words.
    pub steps: Vec<String>,
    /// The path is longer than the budget: only its beginning is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What may be shown of the network at one moment.
pub(super) struct Sight<'a> {
    pub(super) engine: &'a Engine,
    pub(super) store: &'a Store,
    pub(super) network: &'a Network,
    filter: &'a Filter,
    pub(super) now: Timestamp,
}

impl Engine {
    /// Answers a question about the graph.
    pub(super) fn look<T>(
        &self,
        request: &InspectRequest,
        now: Timestamp,
        ask: impl FnOnce(&Sight<'_>) -> Result<T>,
    ) -> Result<T> {
        let recall = RecallRequest { scope: request.scope.clone(), ..RecallRequest::default() };
        let filter = Filter::of(&recall, &self.config, &self.time_zone)?;
        self.network(|store, network| ask(&Sight { engine: self, store, network, filter: &filter, now }))
    }

    /// View `graph`: what hangs on something; without a beginning, what matters most of all.
    pub(super) fn graph(&self, request: &InspectRequest, now: Timestamp) -> Result<GraphAnswer> {
        let mut budget = budget(request)?;
        let limit = request.limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT) as usize;
        let depth = request.depth.unwrap_or(1).clamp(1, MAX_DEPTH) as usize;
        self.look(request, now, |sight| {
            let graph = &sight.network.graph;
            let (nodes, left_out) = match named(request.of.as_deref()) {
                Some(text) => sight.around(&sight.node("of", text)?, depth, limit),
                None => sight.foremost(limit),
            };
            let mut edges_at: Vec<Vec<Related>> = vec![Vec::new(); nodes.len()];
            let places: BTreeMap<&Node, usize> =
                nodes.iter().enumerate().map(|(place, (node, ..))| (node, place)).collect();
            for edge in graph.ties_among(nodes.iter().map(|(node, ..)| node)) {
                // An edge comes with the later one of its nodes.
                let later = places.get(&edge.from).max(places.get(&edge.to)).copied().unwrap_or_default();
                if let Some(edges) =
                    edges_at.get_mut(later).filter(|_| sight.holds(&edge.from, edge.tie.word(), &edge.to))
                {
                    edges.push(sight.edge(&edge));
                }
            }
            let mut answer = GraphAnswer { left_out: left_out as u64, ..GraphAnswer::default() };
            let total = nodes.len();
            for ((node, depth, is_hub), edges) in nodes.iter().zip(edges_at) {
                let depth = depth.map(|depth| depth as u32);
                let node = GraphNode { depth, hub: *is_hub, ..sight.describe(node) };
                if !budget.take(cost(&node) + edges.iter().map(cost).sum::<usize>()) {
                    break;
                }
                answer.nodes.push(node);
                answer.edges.extend(edges);
            }
            answer.left_out += (total - answer.nodes.len()) as u64;
            Ok(answer)
        })
    }

    /// View `path`: how two nodes hang together.
    pub(super) fn path(&self, request: &InspectRequest, now: Timestamp) -> Result<PathAnswer> {
        let mut budget = budget(request)?;
        let (Some(from), Some(to)) = (named(request.of.as_deref()), named(request.to.as_deref())) else {
            let what = if named(request.of.as_deref()).is_none() { "of" } else { "to" };
            return Err(Error::invalid(what, "is missing", "give an id, or the name of an entity or note"));
        };
        self.look(request, now, |sight| {
            let (from, to) = (sight.node("of", from)?, sight.node("to", to)?);
            if from == to {
                return Err(Error::invalid(
                    "to",
                    "is the same as `of`",
                    "ask for the path between two different things",
                ));
            }
            let nothing = PathAnswer { found: false, nodes: vec![], edges: vec![], steps: vec![], cut: false };
            let Some(path) = sight.path(&from, &to) else {
                return Ok(PathAnswer { nodes: vec![sight.describe(&from), sight.describe(&to)], ..nothing });
            };
            let mut answer = PathAnswer { found: true, ..nothing };
            let mut at = from;
            if budget.take(cost(&sight.describe(&at))) {
                answer.nodes.push(sight.describe(&at));
            }
            for edge in path {
                let next = if edge.from == at { &edge.to } else { &edge.from }.clone();
                let (node, step, edge) = (sight.describe(&next), sight.step(&edge), sight.edge(&edge));
                answer.cut |= !budget.take(cost(&node) + cost(&step) + cost(&edge));
                if answer.cut {
                    break;
                }
                answer.nodes.push(node);
                answer.steps.push(step);
                answer.edges.push(edge);
                at = next;
            }
            Ok(answer)
        })
    }
}

impl Engine {
    /// Writes a drawing into a new file. Nothing is replaced; into the vault goes only what Obsidian draws.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the file is there already, in the home, or in the vault and no canvas; [`Error::Io`].
    pub fn write_drawing(&self, path: &Path, text: &str) -> Result<()> {
        let at = resolved(path);
        let what = format!("file {}", path.display());
        if at.starts_with(resolved(&self.home)) {
            return Err(Error::invalid(what, "lies in the home", "choose another folder: this one holds the journal"));
        }
        let is_new = match at.strip_prefix(resolved(self.vault.root())) {
            Ok(inner) => self.vault.write_canvas(inner, text)?,
            Err(_) => files::write_new(path, text.as_bytes())?,
        };
        if is_new { Ok(()) } else { Err(Error::invalid(what, "is there already", "choose another name")) }
    }
}

/// A text that names something.
pub(super) fn named(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// What an answer may cost.
///
/// # Errors
/// [`Error::Invalid`] for 0.
pub(super) fn budget(request: &InspectRequest) -> Result<Budget> {
    match request.budget_tokens {
        Some(0) => Err(Error::invalid("budget_tokens", "is 0", "give what the answer may cost, such as 2000")),
        given => Ok(Budget::of(given.unwrap_or(USUAL_BUDGET))),
    }
}

/// A node of an answer, the steps that led to it, and whether it is a hub.
type Chosen = (Node, Option<usize>, bool);

impl Sight<'_> {
    /// What hangs on a node, the closest first, and how much there was no room for.
    fn around(&self, start: &Node, depth: usize, limit: usize) -> (Vec<Chosen>, usize) {
        let graph = &self.network.graph;
        let found =
            graph.neighbourhood(start, depth, limit, |node| self.shows(node), |a, word, b| self.holds(a, word, b));
        (found.nodes.into_iter().map(|own| (own.node, Some(own.depth), own.is_hub)).collect(), found.left_out)
    }

    /// What matters most of all, and how much there was no room for.
    fn foremost(&self, limit: usize) -> (Vec<Chosen>, usize) {
        let whole = self.network.graph.whole(|node| self.shows(node));
        let mut best: Vec<(f64, &Node)> = whole.standing().into_iter().zip(&whole.nodes).collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let left_out = best.len().saturating_sub(limit);
        (best.into_iter().take(limit).map(|(_, node)| (node.clone(), None, false)).collect(), left_out)
    }

    /// Whether a node may be shown where it was not asked for.
    pub(super) fn shows(&self, node: &Node) -> bool {
        node.memory().is_none_or(|id| self.memory(id).is_some())
    }

    /// The memory, if it is shown.
    pub(super) fn memory(&self, id: MemoryId) -> Option<&Memory> {
        let memory = self.store.state.get(id)?;
        self.filter.pass(memory, &self.engine.config, self.now).map(|_| memory)
    }

    /// Whether what was said of two nodes holds now: of a contradiction that is worked out at each look.
    fn holds(&self, a: &Node, word: &str, b: &Node) -> bool {
        match (word, a.memory(), b.memory()) {
            (CONTRADICTS, Some(a), Some(b)) => {
                self.store.conflicts_of(a, self.now).contains(&conflict_id(a, b).to_string())
            }
            _ => true,
        }
    }

    /// The ties that lead from one node to another, where any do.
    fn path(&self, from: &Node, to: &Node) -> Option<Vec<Edge>> {
        let graph = &self.network.graph;
        graph.path(from, to, |node| self.shows(node), |a, word, b| self.holds(a, word, b))
    }

    /// Whether anything that is shown is tied to an entity.
    fn is_known(&self, entity: &Node) -> bool {
        self.network.graph.tied_to(entity).any(|other| self.shows(other))
    }

    /// What a text means: a whole id, an entity, a note, or the beginning of an id.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what nothing is known of, with the nearest names; [`Error::Ambiguous`].
    pub(super) fn node(&self, what: &str, text: &str) -> Result<Node> {
        let state = &self.store.state;
        let is_whole_id = text.chars().count() == MemoryId::LENGTH;
        if let Some(memory) = Engine::resolve_existing(state, text).ok().filter(|_| is_whole_id) {
            return Ok(Node::Memory(memory.id));
        }
        let link = Link::parse(text);
        let names = [Some(text.to_owned()), link.as_ref().map(Link::entity)];
        let graph = &self.network.graph;
        for name in names.iter().flatten() {
            if let Some(entity) =
                self.store.aliases.node(name).filter(|entity| graph.holds(entity) && self.is_known(entity))
            {
                return Ok(entity);
            }
        }
        for name in [Some(text), link.as_ref().map(|link| link.target.as_str())].into_iter().flatten() {
            let mut notes: Vec<&Node> =
                graph.notes().filter(|node| matches!(node, Node::Note(path) if names_note(path, name))).collect();
            notes.sort_unstable();
            if let Some(note) = notes.first() {
                return Ok((*note).clone());
            }
            let promoted = state.memories().filter(|memory| {
                memory.note.as_ref().is_some_and(|note| note.is_there() && names_note(&note.path, name))
            });
            if let Some(id) = promoted.map(|memory| memory.id).min() {
                return Ok(Node::Memory(id));
            }
        }
        match Engine::resolve(state, text) {
            Ok(id) if state.get(id).is_some() => return Ok(Node::Memory(id)),
            Ok(id) if state.forgotten(id).is_some() => {
                let hint = format!("`restore {id}` brings it back");
                return Err(Error::invalid(what, format!("memory {id} was forgotten"), hint));
            }
            Err(error @ Error::Ambiguous { .. }) => return Err(error),
            _ => {}
        }
        Err(self.unknown(what, text))
    }

    /// That nothing is known of a name, and which are most like it.
    pub(super) fn unknown(&self, what: &str, text: &str) -> Error {
        let asked = words::fold(text);
        let graph = &self.network.graph;
        let alike = graph.entities().filter_map(|entity| {
            let Node::Entity(key) = entity else { return None };
            let likeness = strsim::jaro_winkler(&asked, key);
            (likeness >= ALIKE).then_some((likeness, entity))
        });
        let mut alike: Vec<(f64, &Node)> = alike.collect();
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let known = alike.into_iter().filter(|(_, entity)| self.is_known(entity)).take(OFFERED);
        let nearest: Vec<&str> = known.map(|(_, entity)| graph.name(entity)).collect();
        let hint = if nearest.is_empty() {
            "`inspect entities` lists the names that are known; `recall` looks into the texts".to_owned()
        } else {
            format!("nearest names: {}", nearest.join(", "))
        };
        Error::invalid(what, format!("nothing is known of `{}`", say::cut(text, 60)), hint)
    }

    /// How a node is called.
    pub(super) fn name(&self, node: &Node) -> String {
        match node {
            Node::Memory(id) => id.to_string(),
            Node::Entity(_) => self.network.graph.name(node).to_owned(),
            Node::Note(path) => path.to_string(),
        }
    }

    /// What is shown of a node.
    pub(super) fn describe(&self, node: &Node) -> GraphNode {
        let config = &self.engine.config;
        let memory = node.memory().and_then(|id| self.store.state.get(id));
        let status = memory.map(|memory| memory.status(config, self.now)).filter(|status| *status != Status::Active);
        GraphNode {
            id: self.name(node),
            what: match node {
                Node::Memory(_) => NodeType::Memory,
                Node::Entity(_) => NodeType::Entity,
                Node::Note(_) => NodeType::Note,
            },
            text: memory.map(|memory| say::short(&memory.text)),
            kind: memory.map(|memory| memory.current_kind(config).as_str().into()),
            dated: memory.map(Memory::dated),
            status: status.map(|status| status.as_str().into()),
            note: memory
                .and_then(|memory| memory.note.as_ref())
                .filter(|note| note.is_there())
                .map(|note| note.path.clone()),
            depth: None,
            hub: false,
        }
    }

    /// What is shown of an edge.
    pub(super) fn edge(&self, edge: &Edge) -> Related {
        Related {
            from: self.name(&edge.from),
            to: self.name(&edge.to),
            relation: edge.tie.word().to_owned(),
            strength: edge.strength.map(|strength| round(f64::from(strength))),
        }
    }

    /// A tie in words.
    fn step(&self, edge: &Edge) -> String {
        let called = |node: &Node| {
            let memory = node.memory().and_then(|id| self.store.state.get(id));
            memory.map_or_else(|| self.name(node), |memory| format!("\"{}\"", say::short(&memory.text)))
        };
        let (from, to) = (called(&edge.from), called(&edge.to));
        match &edge.tie {
            Tie::Mentions(_) => {
                let all = self.network.graph.ties_of(&edge.to);
                let as_many = if all > HUB { format!(", as are {} others", all - 1) } else { String::new() };
                format!("{from} is about {to}{as_many}")
            }
            Tie::Links => format!("{from} links to {to}"),
            Tie::Said(word) => format!("{from} {} {to}", word.replace('_', " ")),
        }
    }
}

impl GraphAnswer {
    /// The answer as a drawing. What has a note in the vault of those `notes` is drawn as that note.
    pub fn drawing(&self) -> Drawing {
        let label = |node: &GraphNode| match node.what {
            NodeType::Memory => node.text.clone().unwrap_or_default(),
            NodeType::Entity => node.id.clone(),
            NodeType::Note => stem(&node.id).to_owned(),
        };
        let visible = |text: String| text.chars().filter(|c| !c.is_control() && !words::is_invisible(*c)).collect();
        let nodes = self.nodes.iter().map(|node| DrawnNode {
            id: node.id.clone(),
            label: visible(label(node)),
            shape: match node.what {
                NodeType::Memory => Shape::Memory,
                NodeType::Entity => Shape::Entity,
                NodeType::Note => Shape::Note,
            },
            file: if node.what == NodeType::Note { Some(node.id.clone()) } else { node.note.clone() },
            is_centre: node.depth == Some(0),
        });
        let place = |id: &str| self.nodes.iter().position(|node| node.id == id);
        let edges = self.edges.iter().filter_map(|edge| {
            let label = match edge.relation.as_str() {
                "mentions" => None,
                word => Some(word.replace('_', " ")),
            };
            Some(DrawnEdge { from: place(&edge.from)?, to: place(&edge.to)?, label })
        });
        Drawing { nodes: nodes.collect(), edges: edges.collect() }
    }
}
