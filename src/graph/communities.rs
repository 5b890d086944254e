//! Which nodes belong together: those that are tied more closely to each other than chance would have it.
//!
//! Nodes move, one after the other, to the group of a neighbour where that raises modularity most, until none does; then
//! groups are taken as nodes and it begins anew (Blondel and others, 2008). The order is that of the nodes, and of equal
//! groups the lowest is taken, so that the same graph always gives the same groups.

/// Rounds over all nodes on one level, and levels, after which little changes.
const ROUNDS: usize = 12;
const LEVELS: usize = 8;
/// A gain below this is none: it comes from adding numbers in another order.
const LEAST_GAIN: f64 = 1e-9;

/// To whom each node is tied, and how closely.
type Ties = Vec<Vec<(u32, f64)>>;

/// The group of each node. `ties` hold each tie from both of its ends, ascending.
pub(super) fn communities(mut ties: Ties) -> Vec<u32> {
    let mut group_of: Vec<u32> = (0..ties.len() as u32).collect();
    for _ in 0..LEVELS {
        let (groups, count) = moved(&ties);
        if count == ties.len() {
            break;
        }
        for group in &mut group_of {
            *group = at(&groups, *group);
        }
        ties = folded(&ties, &groups, count);
    }
    group_of
}

fn at<T: Copy + Default>(values: &[T], place: u32) -> T {
    values.get(place as usize).copied().unwrap_or_default()
}

/// The group of each node after all have moved, numbered by first member, and how many groups there are.
fn moved(ties: &Ties) -> (Vec<u32>, usize) {
    let degrees: Vec<f64> = ties.iter().map(|own| own.iter().map(|(_, closeness)| closeness).sum()).collect();
    let total: f64 = degrees.iter().sum();
    let mut group: Vec<u32> = (0..ties.len() as u32).collect();
    let mut weight_of = degrees.clone();
    // How closely the node at hand is tied to each group; only what was touched is cleared.
    let mut close = vec![0.0; ties.len()];
    let mut touched: Vec<u32> = Vec::new();
    for _ in 0..ROUNDS {
        let mut moves = 0;
        for (node, own) in ties.iter().enumerate() {
            let (current, degree) = (at(&group, node as u32), at(&degrees, node as u32));
            if degree <= 0.0 {
                continue;
            }
            for (other, closeness) in own.iter().filter(|(other, _)| *other as usize != node) {
                let theirs = at(&group, *other);
                if let Some(slot) = close.get_mut(theirs as usize) {
                    if *slot <= 0.0 {
                        touched.push(theirs);
                    }
                    *slot += closeness;
                }
            }
            add(&mut weight_of, current, -degree);
            let gain = |group: u32| at(&close, group) - degree * at(&weight_of, group) / total;
            let mut best = (gain(current), current);
            touched.sort_unstable();
            for candidate in &touched {
                let gain = gain(*candidate);
                if gain > best.0 + LEAST_GAIN {
                    best = (gain, *candidate);
                }
            }
            add(&mut weight_of, best.1, degree);
            if best.1 != current {
                moves += 1;
                if let Some(slot) = group.get_mut(node) {
                    *slot = best.1;
                }
            }
            for group in touched.drain(..) {
                if let Some(slot) = close.get_mut(group as usize) {
                    *slot = 0.0;
                }
            }
        }
        if moves == 0 {
            break;
        }
    }
    let mut numbers = vec![u32::MAX; ties.len()];
    let mut count = 0;
    for own in &mut group {
        let Some(number) = numbers.get_mut(*own as usize) else { continue };
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *own = *number;
    }
    (group, count as usize)
}

fn add(values: &mut [f64], place: u32, amount: f64) {
    if let Some(value) = values.get_mut(place as usize) {
        *value += amount;
    }
}

/// The ties among groups; those within a group become ties to itself.
fn folded(ties: &Ties, groups: &[u32], count: usize) -> Ties {
    let mut all: Ties = vec![Vec::new(); count];
    for (node, own) in ties.iter().enumerate() {
        if let Some(list) = all.get_mut(at(groups, node as u32) as usize) {
            list.extend(own.iter().map(|(other, closeness)| (at(groups, *other), *closeness)));
        }
    }
    for list in &mut all {
        list.sort_by_key(|(other, _)| *other);
        list.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
    }
    all
}
