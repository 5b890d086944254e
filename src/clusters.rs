//! Clusters: groups of memories that say much the same, found among pairs that were compared.
//!
//! A memory joins a group only where the whole group stays alike on the average, so that a chain of neighbours, each a
//! little like the next, does not become one group. A group never grows past its limit; what does not fit makes a group
//! of its own.

use std::collections::HashMap;

/// Two items, by number, and how alike they are, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// One of them.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// 0 to 1.
    pub likeness: f32,
}

/// A group of items.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// At least two, ascending.
    pub members: Vec<usize>,
    /// The mean likeness of its pairs, 0 to 1.
    pub cohesion: f32,
}

/// The clusters that `pairs` make, tightest first: each of at most `most` items, and of a cohesion of `at_least` or
/// more. `likeness` compares two items that no pair tells of. The same for every order of the pairs.
pub fn clusters(
    mut pairs: Vec<Pair>,
    at_least: f32,
    most: usize,
    mut likeness: impl FnMut(usize, usize) -> f32,
) -> Vec<Cluster> {
    for pair in &mut pairs {
        (pair.a, pair.b) = (pair.a.min(pair.b), pair.a.max(pair.b));
    }
    pairs.retain(|pair| pair.a != pair.b && pair.likeness >= at_least);
    pairs.sort_by(|x, y| y.likeness.total_cmp(&x.likeness).then((x.a, x.b).cmp(&(y.a, y.b))));
    pairs.dedup_by_key(|pair| (pair.a, pair.b));
    let known: HashMap<(usize, usize), f32> = pairs.iter().map(|pair| ((pair.a, pair.b), pair.likeness)).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    for pair in &pairs {
        let [of_a, of_b] = [pair.a, pair.b].map(|item| {
            *group_of.entry(item).or_insert_with(|| {
                groups.push(Group { members: vec![item], sum: 0.0 });
                groups.len() - 1
            })
        });
        let (Some(a), Some(b)) = (groups.get(of_a), groups.get(of_b)) else { continue };
        let size = a.members.len() + b.members.len();
        if of_a == of_b || size > most {
            continue;
        }
        let mut sum = a.sum + b.sum;
        for x in &a.members {
            for y in &b.members {
                let (x, y) = (*x.min(y), *x.max(y));
                sum += f64::from(known.get(&(x, y)).copied().unwrap_or_else(|| likeness(x, y)));
            }
        }
        if sum / pairs_of(size) < f64::from(at_least) {
            continue;
        }
        let joined: Vec<usize> = a.members.iter().chain(&b.members).copied().collect();
        if let Some(left) = groups.get_mut(of_b) {
            left.members.clear();
        }
        group_of.extend(joined.iter().map(|item| (*item, of_a)));
        if let Some(group) = groups.get_mut(of_a) {
            *group = Group { members: joined, sum };
        }
    }
    let mut found: Vec<Cluster> = groups
        .into_iter()
        .filter(|group| group.members.len() > 1)
        .map(|mut group| {
            group.members.sort_unstable();
            let cohesion = (group.sum / pairs_of(group.members.len())) as f32;
            Cluster { members: group.members, cohesion }
        })
        .collect();
    found.sort_by(|x, y| y.cohesion.total_cmp(&x.cohesion).then_with(|| x.members.cmp(&y.members)));
    found
}

struct Group {
    members: Vec<usize>,
    /// Sum of the likeness of all its pairs.
    sum: f64,
}

fn pairs_of(size: usize) -> f64 {
    (size * size.saturating_sub(1) / 2) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(a: usize, b: usize, likeness: f32) -> Pair {
        Pair { a, b, likeness }
    }

    fn members(found: &[Cluster]) -> Vec<&[usize]> {
        found.iter().map(|cluster| &cluster.members[..]).collect()
    }

    #[test]
    fn what_is_alike_is_together_and_the_tightest_comes_first() {
        let pairs = vec![pair(0, 1, 0.8), pair(2, 3, 0.95), pair(4, 5, 0.5), pair(6, 6, 1.0)];
        let found = clusters(pairs, 0.7, 12, |_, _| 0.0);
        assert_eq!(members(&found), [&[2, 3][..], &[0, 1]]);
        assert!((found[0].cohesion - 0.95).abs() < 1e-6);
    }

    /// Single linkage makes one group of a chain whose ends have nothing to do with each other.
    #[test]
    fn a_chain_is_no_group() {
        let pairs = (0..5).map(|at| pair(at, at + 1, 0.8)).collect();
        let found = clusters(pairs, 0.7, 12, |_, _| 0.1);
        assert_eq!(members(&found), [&[0, 1][..], &[2, 3], &[4, 5]]);
    }

    #[test]
    fn what_no_pair_tells_of_is_compared() {
        let pairs = vec![pair(0, 1, 0.9), pair(1, 2, 0.9)];
        let found = clusters(pairs, 0.7, 12, |_, _| 0.6);
        assert_eq!(members(&found), [&[0, 1, 2][..]]);
        assert!((found[0].cohesion - 0.8).abs() < 1e-6);
    }

    /// The seed cuts a group off at twelve and says nothing of the rest.
    #[test]
    fn what_does_not_fit_makes_a_group_of_its_own() {
        let all = (0..30).flat_map(|a| (0..a).map(move |b| pair(a, b, 1.0))).collect();
        let found = clusters(all, 0.9, 12, |_, _| 1.0);
        let mut sizes: Vec<usize> = found.iter().map(|cluster| cluster.members.len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes.iter().sum::<usize>(), 30);
        assert!(sizes.iter().all(|size| *size <= 12), "{sizes:?}");
    }

    proptest! {
        #[test]
        fn clusters_are_apart_alike_and_the_same_in_every_order(
            pairs in prop::collection::vec((0..20_usize, 0..20_usize, 0..=10_u8), 0..60),
            turned in any::<bool>(), most in 2..6_usize,
        ) {
            // One likeness for each two items, as any measure gives.
            let likeness = |a: usize, b: usize| ((a.min(b) * 7 + a.max(b) * 13) % 11) as f32 / 10.0;
            let mut all: Vec<Pair> = pairs.iter().map(|(a, b, _)| pair(*a, *b, likeness(*a, *b))).collect();
            let found = clusters(all.clone(), 0.5, most, likeness);
            if turned {
                all.reverse();
                for pair in &mut all {
                    std::mem::swap(&mut pair.a, &mut pair.b);
                }
            }
            prop_assert_eq!(&clusters(all, 0.5, most, likeness), &found);
            let mut seen = std::collections::HashSet::new();
            for cluster in &found {
                prop_assert!((2..=most).contains(&cluster.members.len()));
                prop_assert!(cluster.cohesion >= 0.5 - 1e-6);
                prop_assert!(cluster.members.iter().all(|item| seen.insert(*item)));
                let mut sum = 0.0;
                for (at, a) in cluster.members.iter().enumerate() {
                    sum += cluster.members.iter().skip(at + 1).map(|b| f64::from(likeness(*a, *b))).sum::<f64>();
                }
                prop_assert!((sum / pairs_of(cluster.members.len()) - f64::from(cluster.cohesion)).abs() < 1e-5);
            }
        }
    }
}
