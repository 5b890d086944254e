//! Where the boxes of a picture go: tied ones near each other, and none over another.
//!
//! Nodes push each other away and ties pull, from places on a spiral, in the order of the nodes; then boxes that still
//! touch are moved apart. Nothing is left to chance, and only roots and the four operations are used, so that the same
//! graph gives the same picture on every machine.

/// Room between two boxes.
const GAP: f64 = 14.0;
/// Rounds of pushing and pulling for few nodes; for many fewer, as each costs the square of them.
const ROUNDS: usize = 400;
const PAIRS_AT_MOST: usize = 40_000_000;
/// Rounds of moving boxes apart, before those that still touch are put below each other.
const PARTINGS: usize = 300;
/// The golden angle: its cosine and sine.
const TURN: (f64, f64) = (-0.737_368_878_078_32, 0.675_490_294_261_523_6);

/// A box: its middle, and its width and height.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Rectangle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rectangle {
    /// How far two boxes, each with half of `gap` around it, lie over each other, by width and by height; nothing where
    /// they do not.
    fn overlap(&self, other: &Rectangle, gap: f64) -> Option<(f64, f64)> {
        let x = f64::midpoint(self.width, other.width) + gap - (self.x - other.x).abs();
        let y = f64::midpoint(self.height, other.height) + gap - (self.y - other.y).abs();
        (x > 0.0 && y > 0.0).then_some((x, y))
    }

    /// Whether two boxes lie over each other.
    pub(super) fn overlaps(&self, other: &Rectangle) -> bool {
        self.overlap(other, 0.0).is_some()
    }
}

/// Places boxes of these sizes; `ties` are pairs of places in the list. The first is about in the middle.
pub(super) fn placed(sizes: &[(f64, f64)], ties: &[(usize, usize)]) -> Vec<Rectangle> {
    let mut boxes: Vec<Rectangle> = Vec::with_capacity(sizes.len());
    // Boxes are wider than high: distances are measured in these.
    let mean = |of: fn(&(f64, f64)) -> f64| sizes.iter().map(of).sum::<f64>() / sizes.len().max(1) as f64;
    let (unit_x, unit_y) = (mean(|size| size.0) * 0.6 + GAP, mean(|size| size.1) * 1.5 + GAP);
    let mut direction = (1.0, 0.0);
    for (place, (width, height)) in sizes.iter().enumerate() {
        let distance = (place as f64).sqrt();
        boxes.push(Rectangle { x: direction.0 * distance, y: direction.1 * distance, width: *width, height: *height });
        direction = (direction.0 * TURN.0 - direction.1 * TURN.1, direction.0 * TURN.1 + direction.1 * TURN.0);
    }
    push_and_pull(&mut boxes, ties);
    for own in &mut boxes {
        own.x *= unit_x;
        own.y *= unit_y;
    }
    part(&mut boxes);
    for own in &mut boxes {
        own.x = own.x.round();
        own.y = own.y.round();
    }
    boxes
}

/// Moves the middles until ties are about one long (Fruchterman and Reingold, 1991).
fn push_and_pull(boxes: &mut [Rectangle], ties: &[(usize, usize)]) {
    let count = boxes.len();
    let rounds = ROUNDS.min(PAIRS_AT_MOST / (count * count).max(1));
    let mut ties_of = vec![0u32; count];
    for end in ties.iter().flat_map(|(a, b)| [*a, *b]) {
        if let Some(own) = ties_of.get_mut(end) {
            *own += 1;
        }
    }
    let mut moves = vec![(0.0, 0.0); count];
    for round in 0..rounds {
        let most = 1.5 * (1.0 - round as f64 / rounds as f64) + 0.01;
        for (own_move, (place, own)) in moves.iter_mut().zip(boxes.iter().enumerate()) {
            // A little towards the middle, so that what is not tied does not leave.
            let (mut x, mut y) = (-own.x * 0.03, -own.y * 0.03);
            for (other_place, other) in boxes.iter().enumerate() {
                let (dx, dy) = (own.x - other.x, own.y - other.y);
                let square = (dx * dx + dy * dy).max(1e-4);
                if place != other_place {
                    x += dx / square;
                    y += dy / square;
                }
            }
            *own_move = (x, y);
        }
        for (a, b) in ties {
            let (Some(from), Some(to)) = (boxes.get(*a), boxes.get(*b)) else { continue };
            let (dx, dy) = (to.x - from.x, to.y - from.y);
            let distance = (dx * dx + dy * dy).sqrt();
            // Ends on which much hangs are pulled less, or all would fall into one heap.
            let fewest = ties_of.get(*a).min(ties_of.get(*b)).copied().unwrap_or(1).max(1);
            let pull = distance / f64::from(fewest).sqrt();
            for (end, sign) in [(*a, 1.0), (*b, -1.0)] {
                if let Some((x, y)) = moves.get_mut(end) {
                    *x += dx * pull * sign;
                    *y += dy * pull * sign;
                }
            }
        }
        for (own, (x, y)) in boxes.iter_mut().zip(&moves) {
            let length = (x * x + y * y).sqrt().max(1e-9);
            let step = length.min(most);
            own.x += x / length * step;
            own.y += y / length * step;
        }
    }
}

/// Moves boxes apart that lie over each other.
fn part(boxes: &mut [Rectangle]) {
    for _ in 0..PARTINGS {
        let mut is_parted = true;
        for first in 1..boxes.len() {
            let (before, rest) = boxes.split_at_mut(first);
            let Some(own) = rest.first_mut() else { continue };
            for other in before {
                let Some((x, y)) = own.overlap(other, GAP) else { continue };
                is_parted = false;
                // By the shorter way; where both middles are the same, to the right and down.
                if x < y {
                    let by = if own.x < other.x { -x } else { x } / 2.0;
                    own.x += by;
                    other.x -= by;
                } else {
                    let by = if own.y < other.y { -y } else { y } / 2.0;
                    own.y += by;
                    other.y -= by;
                }
            }
        }
        if is_parted {
            return;
        }
    }
    // From top to bottom, each below what it lies over: this ends whatever the boxes are.
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|a, b| match (boxes.get(*a), boxes.get(*b)) {
        (Some(one), Some(other)) => one.y.total_cmp(&other.y).then(one.x.total_cmp(&other.x)).then(a.cmp(b)),
        _ => a.cmp(b),
    });
    let mut standing: Vec<Rectangle> = Vec::with_capacity(boxes.len());
    for place in order {
        let Some(own) = boxes.get_mut(place) else { continue };
        while let Some(other) = standing.iter().find(|other| own.overlap(other, GAP / 2.0).is_some()) {
            own.y = other.y + f64::midpoint(own.height, other.height) + GAP;
        }
        standing.push(*own);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_apart(boxes: &[Rectangle]) {
        for (place, own) in boxes.iter().enumerate() {
            for other in boxes.iter().take(place) {
                assert!(!own.overlaps(other), "{own:?} {other:?}");
            }
        }
    }

    #[test]
    fn what_is_tied_lies_nearer_than_what_is_not() {
        // Two stars of eight, tied by one edge.
        let mut ties: Vec<(usize, usize)> = (1..8).map(|leaf| (0, leaf)).chain((9..16).map(|leaf| (8, leaf))).collect();
        ties.push((0, 8));
        let boxes = placed(&[(120.0, 30.0); 16], &ties);
        let distance =
            |a: usize, b: usize| ((boxes[a].x - boxes[b].x) / 120.0).abs() + ((boxes[a].y - boxes[b].y) / 70.0).abs();
        let own = (1..8).map(|leaf| distance(0, leaf)).sum::<f64>();
        let other = (1..8).map(|leaf| distance(8, leaf)).sum::<f64>();
        assert!(own < other, "{own} {other}");
    }

    #[test]
    fn a_hundred_boxes_in_one_place_are_put_apart() {
        let mut boxes = vec![Rectangle { x: 0.0, y: 0.0, width: 100.0, height: 30.0 }; 100];
        part(&mut boxes);
        assert_apart(&boxes);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn no_two_boxes_lie_over_each_other(
            sizes in prop::collection::vec((20.0..400.0, 10.0..200.0), 0..40),
            ties in prop::collection::vec((0usize..40, 0usize..40), 0..80),
        ) {
            let boxes = placed(&sizes, &ties);
            assert_apart(&boxes);
            prop_assert!(boxes.iter().all(|own| own.x.is_finite() && own.y.is_finite()));
            prop_assert_eq!(boxes, placed(&sizes, &ties));
        }
    }
}
