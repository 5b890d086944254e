//! A path: how two nodes hang together, by the ties that say most.
//!
//! What somebody said costs least, then links, then a shared entity, the more the more hangs on it. A way over a hub is
//! taken only where there is no other, however long the other is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::Direction;
use petgraph::stable_graph::NodeIndex;
use petgraph::visit::EdgeRef;
use rustc_hash::FxHashMap;

use super::{Bond, Edge, Graph, HUB, Node, Tie};

/// What a way costs: the hubs that it leads over, then the rest.
type Cost = (u32, u32);

/// How a node was reached.
struct Step<'a> {
    cost: Cost,
    from: NodeIndex,
    bond: Option<&'a Bond>,
    is_outgoing: bool,
    is_settled: bool,
}

impl Graph {
    /// The ties that lead from one node to another, in order; `None` where none do. Each may point either way. Between
    /// the ends only what `is_shown` is stepped on; what was said leads on only where it `holds` between two nodes.
    pub fn path(
        &self,
        from: &Node,
        to: &Node,
        is_shown: impl Fn(&Node) -> bool,
        holds: impl Fn(&Node, &str, &Node) -> bool,
    ) -> Option<Vec<Edge>> {
        let (start, goal) = (self.place(from)?, self.place(to)?);
        let mut steps: FxHashMap<NodeIndex, Step<'_>> = FxHashMap::default();
        let mut queue: BinaryHeap<Reverse<(Cost, &Node, NodeIndex)>> = BinaryHeap::new();
        let first = Step { cost: (0, 0), from: start, bond: None, is_outgoing: true, is_settled: false };
        steps.insert(start, first);
        queue.push(Reverse(((0, 0), from, start)));
        while let Some(Reverse((cost, _, at))) = queue.pop() {
            match steps.get_mut(&at) {
                Some(step) if step.cost == cost && !step.is_settled => step.is_settled = true,
                _ => continue,
            }
            if at == goal {
                return Some(self.walked(&steps, start, goal));
            }
            if at != start && !is_shown(&self.web[at].node) {
                continue;
            }
            let over = if at == start { (0, 0) } else { passing(self.web[at].ties) };
            for direction in [Direction::Outgoing, Direction::Incoming] {
                for edge in self.web.edges_directed(at, direction) {
                    let is_outgoing = direction == Direction::Outgoing;
                    let next = if is_outgoing { edge.target() } else { edge.source() };
                    let bond = edge.weight();
                    if let Tie::Said(word) = &bond.tie
                        && !holds(&self.web[at].node, word, &self.web[next].node)
                    {
                        continue;
                    }
                    let cost = (cost.0 + over.0, cost.1 + over.1 + length(bond));
                    let step = Step { cost, from: at, bond: Some(bond), is_outgoing, is_settled: false };
                    match steps.get_mut(&next) {
                        None => {
                            queue.push(Reverse((cost, &self.web[next].node, next)));
                            steps.insert(next, step);
                        }
                        Some(known) if !known.is_settled && self.is_better(&step, known) => {
                            if cost < known.cost {
                                queue.push(Reverse((cost, &self.web[next].node, next)));
                            }
                            *known = step;
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        None
    }

    /// Of two ways to a node the cheaper; of equal ones that over the first node, by the first tie.
    fn is_better(&self, new: &Step<'_>, known: &Step<'_>) -> bool {
        let key = |step: &Step<'_>| (step.cost, &self.web[step.from].node, step.bond.map(|bond| bond.tie.clone()));
        match new.cost.cmp(&known.cost) {
            std::cmp::Ordering::Equal => key(new) < key(known),
            order => order.is_lt(),
        }
    }

    fn walked(&self, steps: &FxHashMap<NodeIndex, Step<'_>>, start: NodeIndex, goal: NodeIndex) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut at = goal;
        while at != start {
            let Some((step, bond)) = steps.get(&at).and_then(|step| Some((step, step.bond?))) else { break };
            let (a, b) = if step.is_outgoing { (step.from, at) } else { (at, step.from) };
            edges.push(self.edge(a, b, bond));
            at = step.from;
        }
        edges.reverse();
        edges
    }
}

/// What going along a tie costs.
fn length(bond: &Bond) -> u32 {
    match bond.tie {
        Tie::Said(_) => 1_000 + ((1.0 - bond.closeness()) * 500.0) as u32,
        Tie::Links => 1_200,
        Tie::Mentions(_) => 1_500,
    }
}

/// What going over a node with so many ties costs.
fn passing(ties: u32) -> Cost {
    if ties as usize > HUB { (1, 0) } else { (0, 250 * ties.max(1).ilog2()) }
}
