//! The graph: memories, who and what they are about, a person's notes, and how they hang together.
//!
//! It is made from what is known and kept nowhere. Whatever order things were put in, the same things give the same
//! answers: what is equal is told apart by node, never by place.

mod communities;
mod draw;
mod layout;
mod neighbourhood;
mod path;
mod svg;
mod whole;

use std::sync::Arc;

use petgraph::Direction;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::EdgeRef;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::Timestamp;
use crate::id::MemoryId;
use crate::words;

pub use draw::{Drawing, DrawnEdge, DrawnNode, Shape};
pub use neighbourhood::{Neighbour, Neighbourhood};
pub use whole::Whole;

/// Ties from which on a node is a hub: it says little about what hangs on it, and is gone through last or not at all.
pub const HUB: usize = 100;
/// What a relation counts for whose strength nobody said, 0 to 1.
const USUAL_STRENGTH: f32 = 0.75;

/// What the graph holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A memory.
    Memory(MemoryId),
    /// Someone or something that memories are about, by its folded name.
    Entity(Arc<str>),
    /// A person's own note, by its path from the vault's root.
    Note(Arc<str>),
}

impl Node {
    /// The entity of that name; `None` where nothing is left of the name once it is folded.
    pub fn entity(name: &str) -> Option<Node> {
        let key = words::fold(name.trim());
        (!key.is_empty()).then(|| Node::Entity(key.into()))
    }

    /// The note at that path.
    pub fn note(path: &str) -> Node {
        Node::Note(path.into())
    }

    /// The memory, where it is one.
    pub fn memory(&self) -> Option<MemoryId> {
        if let Node::Memory(id) = self { Some(*id) } else { None }
    }
}

/// How two nodes hang together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tie {
    /// Somebody said so, in this word: `causes`, `supersedes`, `consolidated_from` …
    Said(Arc<str>),
    /// A note links to it.
    Links,
    /// A memory is about an entity, which it spells so.
    Mentions(Arc<str>),
}

impl Tie {
    /// The word for it.
    pub fn word(&self) -> &str {
        match self {
            Tie::Said(word) => word,
            Tie::Links => "links_to",
            Tie::Mentions(_) => "mentions",
        }
    }
}

/// A tie between two nodes of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// Where it begins.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
    /// How they hang together.
    pub tie: Tie,
    /// How strongly, 0 to 1, where somebody said.
    pub strength: Option<f32>,
}

impl Edge {
    /// What a list of edges is ordered by.
    pub fn key(&self) -> (&Node, &Node, &Tie) {
        (&self.from, &self.to, &self.tie)
    }
}

#[derive(Debug, Clone)]
struct Bond {
    tie: Tie,
    strength: Option<f32>,
}

impl Bond {
    /// How close it holds two nodes, 0 to 1.
    fn closeness(&self) -> f32 {
        match &self.tie {
            Tie::Said(_) => self.strength.unwrap_or(USUAL_STRENGTH).clamp(0.05, 1.0),
            Tie::Links => 0.7,
            Tie::Mentions(_) => 0.6,
        }
    }
}

/// A node where it stands in the graph.
#[derive(Debug, Clone)]
struct Place {
    node: Node,
    /// Of a memory: when it is about.
    dated: Timestamp,
    /// Of an entity: how it is spelled, and by how many memories.
    names: Vec<(Arc<str>, u32)>,
    /// Ties that begin or end here.
    ties: u32,
}

/// Memories, entities and notes with their ties.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    web: StableDiGraph<Place, Bond>,
    places: FxHashMap<Node, NodeIndex>,
    /// Relations of which an end is not there, by that end: it may come back.
    waiting: FxHashMap<Node, Vec<Edge>>,
    /// Words and spellings, each kept once.
    kept: FxHashSet<Arc<str>>,
}

impl Graph {
    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.web.node_count()
    }

    /// How many ties there are.
    pub fn ties(&self) -> usize {
        self.web.edge_count()
    }

    /// Whether the node is there.
    pub fn holds(&self, node: &Node) -> bool {
        self.places.contains_key(node)
    }

    /// How many ties a node has; 0 where it is not there.
    pub fn ties_of(&self, node: &Node) -> usize {
        self.place(node).map_or(0, |at| self.web[at].ties as usize)
    }

    /// How most memories spell an entity, of equals the first by order; for what no memory names, its key.
    pub fn name<'a>(&'a self, entity: &'a Node) -> &'a str {
        let Node::Entity(key) = entity else { return "" };
        let names = self.place(entity).map(|at| &self.web[at].names[..]).unwrap_or_default();
        let most = names.iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        most.map_or(key, |(name, _)| name)
    }

    /// All entities, in no particular order.
    pub fn entities(&self) -> impl Iterator<Item = &Node> {
        self.places.keys().filter(|node| matches!(node, Node::Entity(_)))
    }

    /// All notes of the person's own, in no particular order.
    pub fn notes(&self) -> impl Iterator<Item = &Node> {
        self.places.keys().filter(|node| matches!(node, Node::Note(_)))
    }

    /// Puts a memory in, or anew, with the entities that it is about.
    pub fn put_memory(&mut self, id: MemoryId, entities: &[String], dated: Timestamp) {
        let node = Node::Memory(id);
        let at = self.stand(&node);
        self.web[at].dated = dated;
        self.drop_ties(at, |tie| matches!(tie, Tie::Mentions(_)));
        let mut named: Vec<Node> = Vec::with_capacity(entities.len());
        for name in entities {
            let Some(entity) = Node::entity(name).filter(|entity| !named.contains(entity)) else { continue };
            let spelled = self.keep(name.trim());
            let to = self.stand(&entity);
            self.tie(at, to, Bond { tie: Tie::Mentions(spelled), strength: None });
            named.push(entity);
        }
        self.welcome(&node);
    }

    /// Takes a memory out, with all that tied it to others. What was said of it waits for its return.
    pub fn drop_memory(&mut self, id: MemoryId) {
        self.drop_node(&Node::Memory(id));
    }

    /// Puts a person's note in, if it is not there.
    pub fn put_note(&mut self, path: &str) {
        let node = Node::note(path);
        self.stand(&node);
        self.welcome(&node);
    }

    /// Takes a note out, with all links from and to it.
    pub fn drop_note(&mut self, path: &str) {
        self.drop_node(&Node::note(path));
    }

    /// Says where the note of `from` links to. What is not there is linked once it is; entities are made.
    pub fn set_links(&mut self, from: &Node, to: &[Node]) {
        if let Some(at) = self.place(from) {
            self.drop_ties(at, |tie| *tie == Tie::Links);
        }
        self.forget_links(from);
        let mut linked: Vec<&Node> = to.iter().filter(|to| *to != from).collect();
        linked.sort_unstable();
        linked.dedup();
        for to in linked {
            self.add(Edge { from: from.clone(), to: to.clone(), tie: Tie::Links, strength: None });
        }
    }

    /// Says that two nodes are related. A relation whose memory is not there counts once it is; entities are made by
    /// being related. None of a node to itself is taken.
    pub fn set_relation(&mut self, from: &Node, to: &Node, word: &str, strength: Option<f32>) {
        self.drop_relation(from, to, word);
        if from != to {
            let tie = Tie::Said(self.keep(word));
            self.add(Edge { from: from.clone(), to: to.clone(), tie, strength });
        }
    }

    /// Says that two nodes are not related so (any more).
    pub fn drop_relation(&mut self, from: &Node, to: &Node, word: &str) {
        let is_it = |tie: &Tie| matches!(tie, Tie::Said(said) if &**said == word);
        if let (Some(a), Some(b)) = (self.place(from), self.place(to)) {
            let known = self.web.edges_connecting(a, b).find(|edge| is_it(&edge.weight().tie)).map(|edge| edge.id());
            if let Some(known) = known {
                self.untie(known);
            }
        }
        for end in [from, to] {
            if let Some(waiting) = self.waiting.get_mut(end) {
                waiting.retain(|edge| (&edge.from, &edge.to) != (from, to) || !is_it(&edge.tie));
                if waiting.is_empty() {
                    self.waiting.remove(end);
                }
            }
        }
    }

    /// The ties among some nodes, each once, in order.
    pub fn ties_among<'a>(&self, nodes: impl IntoIterator<Item = &'a Node>) -> Vec<Edge> {
        let chosen: FxHashSet<NodeIndex> = nodes.into_iter().filter_map(|node| self.place(node)).collect();
        let outgoing = chosen.iter().flat_map(|at| self.web.edges_directed(*at, Direction::Outgoing));
        let inner = outgoing.filter(|edge| chosen.contains(&edge.target()));
        let mut edges: Vec<Edge> = inner.map(|edge| self.edge(edge.source(), edge.target(), edge.weight())).collect();
        edges.sort_by(|a, b| a.key().cmp(&b.key()));
        edges
    }

    /// What is tied to a node, either way, in no particular order; what several ties hold, several times.
    pub fn tied_to(&self, node: &Node) -> impl Iterator<Item = &Node> {
        let directions = [Direction::Outgoing, Direction::Incoming].into_iter();
        let at = self.place(node).into_iter();
        at.flat_map(move |at| {
            let directions = directions.clone();
            directions.flat_map(move |direction| self.web.neighbors_directed(at, direction))
        })
        .map(|other| &self.web[other].node)
    }

    /// The memories that are about an entity, in no particular order.
    pub fn about(&self, entity: &Node) -> impl Iterator<Item = MemoryId> {
        let at = self.place(entity).into_iter();
        at.flat_map(|at| self.web.edges_directed(at, Direction::Incoming))
            .filter(|edge| matches!(edge.weight().tie, Tie::Mentions(_)))
            .filter_map(|edge| self.web[edge.source()].node.memory())
    }

    /// What was said of a node and others, in order.
    pub fn said_of(&self, node: &Node) -> Vec<Edge> {
        self.ties_where(node, |tie| matches!(tie, Tie::Said(_)))
    }

    /// The ties of one node, in order.
    pub fn ties_at(&self, node: &Node) -> Vec<Edge> {
        self.ties_where(node, |_| true)
    }

    fn ties_where(&self, node: &Node, is_wanted: impl Fn(&Tie) -> bool) -> Vec<Edge> {
        let Some(at) = self.place(node) else { return Vec::new() };
        let mut edges: Vec<Edge> = [Direction::Outgoing, Direction::Incoming]
            .into_iter()
            .flat_map(|direction| self.web.edges_directed(at, direction))
            .filter(|edge| is_wanted(&edge.weight().tie))
            .map(|edge| self.edge(edge.source(), edge.target(), edge.weight()))
            .collect();
        edges.sort_by(|a, b| a.key().cmp(&b.key()));
        edges
    }

    fn edge(&self, from: NodeIndex, to: NodeIndex, bond: &Bond) -> Edge {
        Edge {
            from: self.web[from].node.clone(),
            to: self.web[to].node.clone(),
            tie: bond.tie.clone(),
            strength: bond.strength,
        }
    }

    fn place(&self, node: &Node) -> Option<NodeIndex> {
        self.places.get(node).copied()
    }

    fn keep(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.kept.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.kept.insert(Arc::clone(&text));
        text
    }

    /// Where a node stands, made if it is not there.
    fn stand(&mut self, node: &Node) -> NodeIndex {
        if let Some(at) = self.place(node) {
            return at;
        }
        let place = Place { node: node.clone(), dated: Timestamp::default(), names: Vec::new(), ties: 0 };
        let at = self.web.add_node(place);
        self.places.insert(node.clone(), at);
        at
    }

    /// Ties two nodes where both can be; otherwise the tie waits for the one that is missing.
    fn add(&mut self, edge: Edge) {
        let missing =
            [&edge.from, &edge.to].into_iter().find(|end| !matches!(end, Node::Entity(_)) && !self.holds(end));
        if let Some(missing) = missing.cloned() {
            return self.waiting.entry(missing).or_default().push(edge);
        }
        let (a, b) = (self.stand(&edge.from), self.stand(&edge.to));
        self.tie(a, b, Bond { tie: edge.tie, strength: edge.strength });
    }

    /// Ties what waited for a node.
    fn welcome(&mut self, node: &Node) {
        for edge in self.waiting.remove(node).unwrap_or_default() {
            self.add(edge);
        }
    }

    fn tie(&mut self, from: NodeIndex, to: NodeIndex, bond: Bond) {
        if let Tie::Mentions(name) = &bond.tie {
            let names = &mut self.web[to].names;
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => names.push((Arc::clone(name), 1)),
            }
        }
        self.web[from].ties += 1;
        self.web[to].ties += 1;
        self.web.add_edge(from, to, bond);
    }

    /// Takes a tie away; an entity that nothing is tied to goes with it.
    fn untie(&mut self, edge: petgraph::stable_graph::EdgeIndex) {
        let Some((from, to)) = self.web.edge_endpoints(edge) else { return };
        let Some(bond) = self.web.remove_edge(edge) else { return };
        if let Tie::Mentions(name) = &bond.tie {
            let names = &mut self.web[to].names;
            names.iter_mut().filter(|(known, _)| known == name).for_each(|(_, count)| *count -= 1);
            names.retain(|(_, count)| *count > 0);
        }
        for end in [from, to] {
            self.web[end].ties -= 1;
            if self.web[end].ties == 0 && matches!(self.web[end].node, Node::Entity(_)) {
                let gone = self.web.remove_node(end);
                self.places.remove(&gone.map_or_else(|| Node::note(""), |place| place.node));
            }
        }
    }

    fn drop_ties(&mut self, at: NodeIndex, is_dropped: impl Fn(&Tie) -> bool) {
        let edges: Vec<_> = self
            .web
            .edges_directed(at, Direction::Outgoing)
            .filter(|edge| is_dropped(&edge.weight().tie))
            .map(|edge| edge.id())
            .collect();
        for edge in edges {
            self.untie(edge);
        }
    }

    fn drop_node(&mut self, node: &Node) {
        let Some(at) = self.place(node) else { return };
        // What it says itself goes with it; what others say of it waits.
        self.drop_ties(at, |tie| !matches!(tie, Tie::Said(_)));
        for edge in self.ties_at(node) {
            let (Some(a), Some(b)) = (self.place(&edge.from), self.place(&edge.to)) else { continue };
            let known = self.web.edges_connecting(a, b).find(|known| known.weight().tie == edge.tie);
            if let Some(known) = known.map(|known| known.id()) {
                self.untie(known);
            }
            self.waiting.entry(node.clone()).or_default().push(edge);
        }
        self.forget_links(node);
        self.web.remove_node(at);
        self.places.remove(node);
    }

    /// Has links of a note no longer wait for where they lead to.
    fn forget_links(&mut self, from: &Node) {
        self.waiting.retain(|_, waiting| {
            waiting.retain(|edge| edge.tie != Tie::Links || edge.from != *from);
            !waiting.is_empty()
        });
    }
}

#[cfg(test)]
mod tests;
