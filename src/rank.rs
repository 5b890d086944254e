//! Ranking: how well a memory fits the query, and how far its own standing may move it.
//!
//! The fit decides. Strength, recency and level move a hit by a tenth at most, so that a strong old match beats
//! fresh noise, and of two equal matches the one that lasted comes first.

use crate::memory::Status;

/// How far the memory's own standing moves a hit, up or down.
const STANDING_WEIGHT: f64 = 0.1;
/// What is left of a hit that a newer memory replaced.
const SUPERSEDED_FACTOR: f64 = 0.85;
/// Below this fit nothing counts as found.
pub const FOUND_FROM: f64 = 0.15;
/// From this fit on, a returned memory counts as used.
pub const STRONG_FROM: f64 = 0.4;

/// What ranks one memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// How well its words fit, 0 to about 1.
    pub lexical: f64,
    /// Its score by decay, 0 or more.
    pub score: f64,
    /// Weight of its level.
    pub level: f64,
    /// Its status.
    pub status: Status,
}

impl Factors {
    /// What the memory's own standing multiplies the fit with: 0.9 to 1.1.
    ///
    /// `1 + w·(s − 1)/(s + 1)` with `s` the decay score times the level's weight: 1 for an average fresh memory.
    pub fn standing(&self) -> f64 {
        let weighted = (self.score * self.level).max(0.0);
        let factor = 1.0 + STANDING_WEIGHT * (weighted - 1.0) / (weighted + 1.0);
        if self.status == Status::Superseded { factor * SUPERSEDED_FACTOR } else { factor }
    }

    /// The rank: fit times standing.
    pub fn rank(&self) -> f64 {
        self.lexical * self.standing()
    }

    /// The best rank that any memory of this fit can have.
    pub fn best_rank(lexical: f64) -> f64 {
        lexical * (1.0 + STANDING_WEIGHT)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn factors(lexical: f64, score: f64) -> Factors {
        Factors { lexical, score, level: 1.0, status: Status::Active }
    }

    #[test]
    fn a_strong_old_match_beats_fresh_noise() {
        assert!(factors(0.8, 0.05).rank() > factors(0.6, 4.0).rank());
    }

    #[test]
    fn of_equal_matches_the_lasting_one_comes_first() {
        assert!(factors(0.8, 2.0).rank() > factors(0.8, 0.5).rank());
        assert!((factors(0.8, 1.0).standing() - 1.0).abs() < 1e-12);
        let superseded = Factors { status: Status::Superseded, ..factors(0.8, 2.0) };
        assert!(superseded.rank() < factors(0.8, 0.05).rank());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn standing_is_bounded(lexical in 0.0..2.0, score in 0.0..1e6, level in 0.5..1.5) {
            let factors = Factors { lexical, score, level, status: Status::Active };
            prop_assert!((0.9..=1.1).contains(&factors.standing()));
            prop_assert!(factors.rank() <= Factors::best_rank(lexical) + 1e-12);
        }
    }
}
