//! The whole graph as far as it is shown: which nodes matter most, and which belong together.

use petgraph::Direction;
use petgraph::visit::{EdgeRef, NodeIndexable};
use rustc_hash::FxHashMap;

use super::{Graph, Node, communities};

/// How far standing is passed on; the rest comes from being there at all.
const PASSED_ON: f64 = 0.85;
/// Rounds after which standing is as good as settled, and the change below which it is.
const ROUNDS: (usize, f64) = (60, 1e-9);

/// All nodes that are shown, in order, with who is tied to whom. Made once for several questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// The nodes, ascending. Of entities only those that something shown is tied to.
    pub nodes: Vec<Node>,
    /// Where the ties of each node begin in `tied`.
    starts: Vec<usize>,
    /// To whom each node is tied, and how closely; ascending within a node, several ties as one.
    tied: Vec<(u32, f32)>,
}

impl Graph {
    /// What of the graph `is_shown`.
    pub fn whole(&self, is_shown: impl Fn(&Node) -> bool) -> Whole {
        let mut nodes: Vec<&Node> = self.places.keys().filter(|node| is_shown(node)).collect();
        nodes.sort_unstable();
        let mut number = vec![u32::MAX; self.web.node_bound()];
        for (place, node) in nodes.iter().enumerate() {
            if let Some(slot) = self.place(node).and_then(|at| number.get_mut(at.index())) {
                *slot = place as u32;
            }
        }
        let mut whole = Whole { nodes: Vec::with_capacity(nodes.len()), starts: vec![0], tied: Vec::new() };
        let mut own: Vec<(u32, f32)> = Vec::new();
        for node in &nodes {
            own.clear();
            let at = self.place(node);
            for direction in [Direction::Outgoing, Direction::Incoming] {
                for edge in at.into_iter().flat_map(|at| self.web.edges_directed(at, direction)) {
                    let other = if direction == Direction::Outgoing { edge.target() } else { edge.source() };
                    let other = number.get(other.index()).copied().unwrap_or(u32::MAX);
                    if other != u32::MAX {
                        own.push((other, edge.weight().closeness()));
                    }
                }
            }
            own.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            own.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 += if is_same { next.1 } else { 0.0 };
                is_same
            });
            whole.tied.extend_from_slice(&own);
            whole.starts.push(whole.tied.len());
        }
        whole.nodes = nodes.into_iter().cloned().collect();
        whole.without_bare_entities()
    }
}

impl Whole {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// To whom a node is tied, by place, and how closely.
    pub fn tied(&self, place: usize) -> &[(u32, f32)] {
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(start), Some(end)) => self.tied.get(*start..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Memories that nothing is tied to, ascending.
    pub fn orphans(&self) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter(|(place, node)| node.memory().is_some() && self.tied(*place).is_empty()).map(|(_, node)| node)
    }

    /// How much each node matters, by what is tied to it and how much that matters in turn; together 1 at most.
    ///
    /// A power iteration along the ties: petgraph's own looks at all pairs of nodes in each round.
    pub fn standing(&self) -> Vec<f64> {
        let count = self.len();
        let outgoing: Vec<f64> =
            (0..count).map(|place| self.tied(place).iter().map(|(_, closeness)| f64::from(*closeness)).sum()).collect();
        let base = (1.0 - PASSED_ON) / count.max(1) as f64;
        let mut standing = vec![1.0 / count.max(1) as f64; count];
        let mut next = vec![0.0; count];
        for _ in 0..ROUNDS.0 {
            // What each passes on for each unit of closeness.
            let share: Vec<f64> = standing
                .iter()
                .zip(&outgoing)
                .map(|(own, outgoing)| if *outgoing > 0.0 { PASSED_ON * own / outgoing } else { 0.0 })
                .collect();
            let mut change = 0.0;
            for (place, slot) in next.iter_mut().enumerate() {
                let passed = self.tied(place).iter().map(|(other, closeness)| {
                    share.get(*other as usize).copied().unwrap_or_default() * f64::from(*closeness)
                });
                *slot = base + passed.sum::<f64>();
                change += (*slot - standing.get(place).copied().unwrap_or_default()).abs();
            }
            std::mem::swap(&mut standing, &mut next);
            if change < ROUNDS.1 {
                break;
            }
        }
        standing
    }

    /// Which nodes belong together: the number of each node's group, the largest group first; `None` for what belongs
    /// to nothing.
    pub fn groups(&self) -> Vec<Option<u32>> {
        // What many are tied to ties none of them closely.
        let weight = |place: usize| 1.0 / (1.0 + (self.tied(place).len().max(1) as f32).ln());
        let weights: Vec<f32> = (0..self.len()).map(weight).collect();
        let of = |place: usize| weights.get(place).copied().unwrap_or(1.0);
        let closer = |from: usize, (to, closeness): (u32, f32)| (to, f64::from(closeness * of(from) * of(to as usize)));
        let ties =
            (0..self.len()).map(|place| self.tied(place).iter().map(|tied| closer(place, *tied)).collect()).collect();
        let found = communities::communities(ties);
        let mut sizes: FxHashMap<u32, (usize, usize)> = FxHashMap::default();
        for (place, group) in found.iter().enumerate() {
            sizes.entry(*group).or_insert((0, place)).0 += 1;
        }
        let mut order: Vec<(usize, usize, u32)> = sizes
            .into_iter()
            .map(|(group, (size, first))| (size, first, group))
            .filter(|(size, ..)| *size > 1)
            .collect();
        order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let numbers: FxHashMap<u32, u32> =
            order.iter().zip(0..).map(|((.., group), number)| (*group, number)).collect();
        found.into_iter().map(|group| numbers.get(&group).copied()).collect()
    }

    /// Leaves out entities that nothing shown is tied to: nothing is known of them.
    fn without_bare_entities(self) -> Whole {
        let stays =
            |place: usize| !matches!(self.nodes.get(place), Some(Node::Entity(_))) || !self.tied(place).is_empty();
        let mut number = Vec::with_capacity(self.len());
        let mut count = 0u32;
        for place in 0..self.len() {
            number.push(count);
            count += u32::from(stays(place));
        }
        if count as usize == self.len() {
            return self;
        }
        let mut whole = Whole { nodes: Vec::with_capacity(count as usize), starts: vec![0], tied: Vec::new() };
        for (place, node) in self.nodes.iter().enumerate().filter(|(place, _)| stays(*place)) {
            let tied =
                self.tied(place).iter().filter_map(|(to, closeness)| Some((*number.get(*to as usize)?, *closeness)));
            whole.tied.extend(tied);
            whole.starts.push(whole.tied.len());
            whole.nodes.push(node.clone());
        }
        whole
    }
}
