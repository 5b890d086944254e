//! The network: the graph of what a process knows, made at the first question about it and from then on kept up to date
//! with every line that is folded in. Whoever never asks pays nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use super::aliases::{ALIAS_OF, Aliases};
use super::own_notes::Shelf;
use super::store::Store;
use crate::graph::{Graph, Node};
use crate::id::MemoryId;
use crate::memory::{Edge, Line, Memory, Op, SUPERSEDES, State};
use crate::note::link::Link;
use crate::note::resolve::{Files, Resolution};
use crate::note::{Note, name};

/// The graph of a store, and what its notes link to.
#[derive(Default)]
pub(super) struct Network {
    pub(super) graph: Graph,
    /// Links of the memories' notes, as they were read.
    linked: BTreeMap<MemoryId, NoteLinks>,
    /// Memories whose notes are not read, or were and say something else now.
    unread: BTreeSet<MemoryId>,
    /// Which state of the person's own notes is in the graph; none at first.
    shelf_version: Option<u64>,
}

/// What a note was found to link to.
struct NoteLinks {
    path: String,
    hash: String,
    links: Vec<Link>,
}

/// A relation as a line names it.
pub(super) type NamedRelation = (String, String, String);

/// The relations that a line says something of.
pub(super) fn relations_in(line: &Line) -> Vec<NamedRelation> {
    let said = match (line.op, &line.from, &line.to, &line.relation) {
        (Op::Relate | Op::Unrelate, Some(from), Some(to), Some(relation)) => {
            // What contradicts what is stored one way, whichever was said.
            let both = [(from, to), (to, from)];
            both.map(|(from, to)| (from.clone(), to.clone(), relation.clone())).to_vec()
        }
        _ => Vec::new(),
    };
    let newer = line.id.map(|id| id.to_string()).unwrap_or_default();
    let older = line.supersedes.iter().map(|older| (newer.clone(), older.to_string(), SUPERSEDES.to_owned()));
    said.into_iter().chain(older).collect()
}

/// The node that one end of a relation names: an id as ids are written, else an entity.
fn end(text: &str, aliases: &Aliases) -> Option<Node> {
    let id = text.parse().ok().filter(|id: &MemoryId| id.to_string() == text);
    id.map(Node::Memory).or_else(|| aliases.node(text))
}

/// Both ends of a relation; none of one that only names another name.
fn ends(edge: &Edge, aliases: &Aliases) -> Option<(Node, Node)> {
    if edge.relation == ALIAS_OF { None } else { Some((end(&edge.from, aliases)?, end(&edge.to, aliases)?)) }
}

impl Network {
    fn of(state: &State, aliases: &Aliases) -> Network {
        let mut network = Network::default();
        // Newest last, as they come in.
        let mut memories: Vec<&Memory> = state.memories().collect();
        memories.sort_unstable_by_key(|memory| (memory.created, memory.id));
        for memory in memories {
            network.put(memory, aliases);
        }
        for (edge, strength) in state.edges() {
            network.relate(edge, strength, aliases);
        }
        network
    }

    fn put(&mut self, memory: &Memory, aliases: &Aliases) {
        self.graph.put_memory(memory.id, &aliases.standing_for_all(&memory.entities), memory.dated());
        let note = memory.note.as_ref().filter(|note| note.is_there());
        let known = self.linked.get(&memory.id);
        match (note, known) {
            (Some(note), known) if known.is_none_or(|known| (&known.path, &known.hash) != (&note.path, &note.hash)) => {
                self.unread.insert(memory.id);
            }
            (None, Some(_)) => {
                self.linked.remove(&memory.id);
                self.graph.set_links(&Node::Memory(memory.id), &[]);
            }
            _ => {}
        }
    }

    fn drop(&mut self, id: MemoryId) {
        self.graph.drop_memory(id);
        self.linked.remove(&id);
        self.unread.remove(&id);
    }

    fn relate(&mut self, edge: &Edge, strength: Option<f64>, aliases: &Aliases) {
        if let Some((from, to)) = ends(edge, aliases) {
            self.graph.set_relation(&from, &to, &edge.relation, strength.map(|strength| strength as f32));
        }
    }

    fn unrelate(&mut self, edge: &Edge, aliases: &Aliases) {
        if let Some((from, to)) = ends(edge, aliases) {
            self.graph.drop_relation(&from, &to, &edge.relation);
        }
    }

    /// Says anew what all notes link to: a note that came or went may be what others meant.
    fn set_links(&mut self, state: &State, own_notes: &Shelf, aliases: &Aliases) {
        let old: BTreeSet<Node> = self.graph.notes().cloned().collect();
        let own: BTreeSet<Node> = own_notes.links().map(|(path, _)| Node::note(path)).collect();
        for gone in old.difference(&own) {
            if let Node::Note(path) = gone {
                self.graph.drop_note(path);
            }
        }
        for (path, _) in own_notes.links() {
            self.graph.put_note(path);
        }
        let notes = state.memories().filter_map(|memory| Some((memory, memory.note.as_ref()?)));
        let memories: BTreeMap<&str, MemoryId> =
            notes.filter(|(_, note)| note.is_there()).map(|(memory, note)| (note.path.as_str(), memory.id)).collect();
        let files = Files::new(memories.keys().copied().chain(own_notes.links().map(|(path, _)| path)));
        let target = |graph: &Graph, link: &Link, from: &str| match files.resolve(link, from) {
            Resolution::Unresolved => aliases.node(&link.entity()).filter(|entity| graph.holds(entity)),
            found => {
                found.path().map(|path| memories.get(path).map_or_else(|| Node::note(path), |id| Node::Memory(*id)))
            }
        };
        for (id, note) in &self.linked {
            let entities: Vec<Node> = state
                .get(*id)
                .map(|memory| memory.entities.iter().filter_map(|entity| aliases.node(entity)).collect())
                .unwrap_or_default();
            let to = note.links.iter().filter_map(|link| target(&self.graph, link, &note.path));
            // That a memory is about an entity needs no second tie.
            let to: Vec<Node> = to.filter(|node| !entities.contains(node)).collect();
            self.graph.set_links(&Node::Memory(*id), &to);
        }
        for (path, links) in own_notes.links() {
            let links = links.iter().filter_map(|text| Link::parse(&format!("[[{text}]]")));
            let to: Vec<Node> = links.filter_map(|link| target(&self.graph, &link, path)).collect();
            self.graph.set_links(&Node::note(path), &to);
        }
    }
}

impl Store {
    /// Brings the network up to date with a memory that may have changed.
    pub(super) fn reweave(&mut self, id: MemoryId) {
        let Some(network) = &mut self.network else { return };
        match self.state.get(id) {
            Some(memory) => network.put(memory, &self.aliases),
            None => network.drop(id),
        }
    }

    /// Brings the network up to date with relations of which something was said.
    pub(super) fn reweave_relations(&mut self, said: Vec<NamedRelation>) {
        let Some(network) = &mut self.network else { return };
        for (from, to, relation) in said {
            let edge = Edge { from, to, relation };
            match self.state.edge(&edge) {
                Some(strength) => network.relate(&edge, strength, &self.aliases),
                None => network.unrelate(&edge, &self.aliases),
            }
        }
    }
}

impl Engine {
    /// Asks the network, made or brought up to date first. Notes are read before the store is held.
    pub(super) fn network<T>(&self, ask: impl FnOnce(&Store, &Network) -> T) -> T {
        if self.store().network.is_none() {
            let mut store = self.store_mut();
            let network = Network::of(&store.state, &store.aliases);
            store.network = Some(network);
        }
        self.read_links();
        let store = self.store();
        match &store.network {
            Some(network) => ask(&store, network),
            // All was read anew in this moment.
            None => ask(&store, &Network::of(&store.state, &store.aliases)),
        }
    }

    /// Reads the links of notes that changed.
    fn read_links(&self) {
        let unread: Vec<(MemoryId, String, String)> = {
            let store = self.store();
            let Some(network) = &store.network else { return };
            let is_known = network.shelf_version == Some(store.shelf.version());
            if network.unread.is_empty() && is_known {
                return;
            }
            let notes = network.unread.iter().filter_map(|id| Some((*id, store.state.get(*id)?.note.as_ref()?)));
            notes.map(|(id, note)| (id, note.path.clone(), note.hash.clone())).collect()
        };
        let read: Vec<(MemoryId, NoteLinks)> = unread
            .into_iter()
            .map(|(id, path, hash)| {
                // One that cannot be read links to nothing until it is another one.
                let text = self.vault.read(&path).unwrap_or_default();
                let links = if text.contains("[[") { Note::parse(&text).links() } else { Vec::new() };
                (id, NoteLinks { path, hash, links })
            })
            .collect();
        let mut store = self.store_mut();
        let Store { network, state, shelf, aliases, .. } = &mut *store;
        let Some(network) = network else { return };
        for (id, links) in read {
            network.unread.remove(&id);
            if state.get(id).is_some() {
                network.linked.insert(id, links);
            }
        }
        network.set_links(state, shelf, aliases);
        network.shelf_version = Some(shelf.version());
    }
}

/// Whether a text names a note by its path, or by its name without folders and ending, in any case.
pub(super) fn names_note(path: &str, text: &str) -> bool {
    let key = name::key(text);
    name::key(path) == key || name::key(super::commit::stem(path)) == key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;
    use crate::graph::Edge as Tied;
    use crate::journal::Told;
    use crate::memory::CONTRADICTS;

    fn id(number: u8) -> MemoryId {
        MemoryId::from_source(&number.to_string())
    }

    /// A line of one of five memories and four names, of every kind that changes the graph.
    fn line() -> impl Strategy<Value = Line> {
        let one = || 0u8..5;
        let names = || prop::collection::vec(prop::sample::select(vec!["Ada", "ADA", "Rust", "Oslo"]), 0..3);
        let text = |id: u8, op: Op, names: Vec<&str>| Line {
            text: Some(format!("text {id}")),
            entities: Some(names.into_iter().map(str::to_owned).collect()),
            ..Line::about(op, super::tests::id(id))
        };
        let relation = prop::sample::select(vec!["causes", SUPERSEDES, CONTRADICTS]);
        prop_oneof![
            3 => (one(), names()).prop_map(move |(id, names)| text(id, Op::Remember, names)),
            1 => (one(), names()).prop_map(move |(id, names)| text(id, Op::Revise, names)),
            1 => (one(), one(), names()).prop_map(move |(id, older, names)| {
                let supersedes = if id == older { Vec::new() } else { vec![super::tests::id(older)] };
                Line { supersedes, ..text(id, Op::Remember, names) }
            }),
            1 => one().prop_map(|id| Line::about(Op::Forget, super::tests::id(id))),
            1 => one().prop_map(|id| Line::about(Op::Restore, super::tests::id(id))),
            1 => one().prop_map(|id| Line { ids: BTreeMap::from([(super::tests::id(id), i64::MAX / 2)]), ..Line::new(Op::Forgotten) }),
            3 => (one(), one(), relation, any::<bool>(), any::<bool>()).prop_map(|(a, b, relation, is_there, is_entity)| Line {
                from: Some(super::tests::id(a).to_string()),
                to: Some(if is_entity { "Oslo".to_owned() } else { super::tests::id(b).to_string() }),
                relation: Some(relation.to_owned()),
                strength: is_there.then_some(0.5),
                ..Line::new(if is_there { Op::Relate } else { Op::Unrelate })
            }),
        ]
    }

    /// All nodes, and all ties.
    fn all(network: &Network) -> (Vec<Node>, Vec<Tied>) {
        let nodes = (0..5).map(|number| Node::Memory(id(number))).filter(|node| network.graph.holds(node));
        let mut nodes: Vec<Node> = nodes.chain(network.graph.entities().cloned()).collect();
        nodes.sort_unstable();
        let ties = network.graph.ties_among(&nodes);
        assert_eq!((nodes.len(), ties.len()), (network.graph.nodes(), network.graph.ties()));
        (nodes, ties)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_follows_line_by_line_is_what_is_made_of_the_state(
            lines in prop::collection::vec((line(), 0i64..40), 1..40), first_asked in 0usize..20,
        ) {
            let mut store = Store::default();
            for (number, (line, at)) in lines.into_iter().enumerate() {
                if number == first_asked {
                    store.network = Some(Network::of(&store.state, &store.aliases));
                }
                // Lines of other machines come late: not in the order of their dates.
                let line = Line { at: Timestamp::from_millis(at), ..line };
                store.apply(vec![Told { line, replica: "r".into(), number: number as u64 + 1, crc: 0 }]);
            }
            if let Some(network) = &store.network {
                prop_assert_eq!(all(network), all(&Network::of(&store.state, &store.aliases)));
            }
        }
    }
}
