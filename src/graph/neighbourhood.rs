//! A neighbourhood: what hangs on a node, the closest first.
//!
//! What is closest is a matter of ties and of how much hangs on what they lead over: an entity of two memories ties
//! them closely, one of fifty hardly. A hub is shown and not gone through, unless it is what was asked for: five
//! thousand memories of "the project" say nothing about each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::Direction;
use petgraph::stable_graph::NodeIndex;
use petgraph::visit::EdgeRef;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Graph, HUB, Node, Tie};

/// Of what hangs on one node, so many beyond what there is room for are asked whether they are shown, to be counted.
const COUNTED: usize = 500;

/// A node of a neighbourhood.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// Which.
    pub node: Node,
    /// Steps from what was asked for.
    pub depth: usize,
    /// How close it is, 1 for what was asked for, down to 0.
    pub closeness: f32,
    /// More hangs on it than is gone through.
    pub is_hub: bool,
}

/// What hangs on a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Neighbourhood {
    /// The closest first.
    pub nodes: Vec<Neighbour>,
    /// Neighbours that were met, and for which there was no room.
    pub left_out: usize,
}

/// Something met on the way, as the queue orders it: closeness (positive numbers are ordered as their bits are), then the
/// newer, then the node.
type Met<'a> = (u32, i64, Reverse<&'a Node>, Reverse<(usize, NodeIndex)>);

impl Graph {
    /// What hangs on `start` by at most `depth` ties, at most `limit` nodes with the start, the closest first; of equally
    /// close ones the newer. Only what `is_shown` is met, and by what was said only where it `holds` between two nodes.
    /// Nothing where the start is not there.
    pub fn neighbourhood(
        &self,
        start: &Node,
        depth: usize,
        limit: usize,
        is_shown: impl Fn(&Node) -> bool,
        holds: impl Fn(&Node, &str, &Node) -> bool,
    ) -> Neighbourhood {
        let mut found = Neighbourhood::default();
        // The closest and the shortest way to each, which may be two.
        let mut met: FxHashMap<NodeIndex, (f32, usize)> = FxHashMap::default();
        let mut hidden: FxHashSet<NodeIndex> = FxHashSet::default();
        // From how near each was gone on, and where it is listed.
        let mut taken: FxHashMap<NodeIndex, (usize, usize)> = FxHashMap::default();
        let mut uncounted = 0;
        let mut queue: BinaryHeap<Met<'_>> = BinaryHeap::new();
        if let Some(start) = self.place(start) {
            met.insert(start, (1.0, 0));
            queue.push(self.met(start, 1.0, 0));
        }
        while let Some((closeness, _, Reverse(node), Reverse((steps, at)))) = queue.pop() {
            let closeness = f32::from_bits(closeness);
            let is_hub = steps > 0 && self.web[at].ties as usize > HUB;
            match taken.get_mut(&at) {
                Some((known, _)) if *known <= steps => continue,
                Some((known, place)) => {
                    *known = steps;
                    if let Some(listed) = found.nodes.get_mut(*place) {
                        listed.depth = steps;
                    }
                }
                None if found.nodes.len() == limit => continue,
                None => {
                    taken.insert(at, (steps, found.nodes.len()));
                    found.nodes.push(Neighbour { node: node.clone(), depth: steps, closeness, is_hub });
                }
            }
            if is_hub || steps == depth {
                continue;
            }
            let mut next: Vec<Met<'_>> =
                self.around(at, closeness, &holds).map(|(to, closeness)| self.met(to, closeness, steps + 1)).collect();
            let looked_at = limit + COUNTED;
            if next.len() > looked_at {
                next.select_nth_unstable_by(looked_at, |a, b| b.cmp(a));
                uncounted += next.len() - looked_at;
                next.truncate(looked_at);
            }
            next.sort_unstable_by(|a, b| b.cmp(a));
            for met_now in next {
                let (closeness, _, Reverse(node), Reverse((steps, to))) = met_now;
                let closeness = f32::from_bits(closeness);
                if let Some((closest, least)) = met.get_mut(&to) {
                    if closeness <= *closest && steps >= *least {
                        continue;
                    }
                    *closest = closest.max(closeness);
                    *least = steps.min(*least);
                } else if !hidden.contains(&to) && is_shown(node) {
                    met.insert(to, (closeness, steps));
                } else {
                    hidden.insert(to);
                    continue;
                }
                queue.push(met_now);
            }
        }
        found.left_out = met.len() - found.nodes.len() + uncounted;
        found
    }

    fn met(&self, at: NodeIndex, closeness: f32, steps: usize) -> Met<'_> {
        let place = &self.web[at];
        (closeness.to_bits(), place.dated.millis(), Reverse(&place.node), Reverse((steps, at)))
    }

    /// What is tied to a node, and how close each is when the node itself is `closeness` close.
    fn around(
        &self,
        at: NodeIndex,
        closeness: f32,
        holds: &impl Fn(&Node, &str, &Node) -> bool,
    ) -> impl Iterator<Item = (NodeIndex, f32)> {
        let fanned = closeness * damping(self.web[at].ties);
        let tied = [Direction::Outgoing, Direction::Incoming].into_iter().flat_map(move |direction| {
            self.web.edges_directed(at, direction).map(move |edge| {
                let other = if direction == Direction::Outgoing { edge.target() } else { edge.source() };
                (other, edge.weight())
            })
        });
        let standing = tied.filter(move |(other, bond)| match &bond.tie {
            Tie::Said(word) => holds(&self.web[at].node, word, &self.web[*other].node),
            _ => true,
        });
        standing.map(move |(other, bond)| {
            // What few memories name says more of each of them.
            let rarity = match bond.tie {
                Tie::Mentions(_) if matches!(self.web[other].node, Node::Entity(_)) => {
                    damping(self.web[other].ties).sqrt()
                }
                _ => 1.0,
            };
            (other, fanned * bond.closeness() * rarity)
        })
    }
}

/// How much a step over a node with so many ties still says, 1 to 0.
fn damping(ties: u32) -> f32 {
    1.0 / (1.0 + (ties.max(1) as f32).ln())
}
