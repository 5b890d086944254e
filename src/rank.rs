//! Ranking: how well a memory fits the query, and how far its own standing may move it.
//!
//! The fit decides: a sum with fixed weights, set on dialogue and fact retrieval. Strength, recency and level move it by
//! a tenth at most, so that a strong old match beats fresh noise, and of two equal matches the one that lasted comes
//! first.

use crate::memory::Status;

/// How far the memory's own standing moves a hit, up or down.
const STANDING_WEIGHT: f64 = 0.1;
/// What is left of a hit that a newer memory replaced.
const SUPERSEDED_FACTOR: f64 = 0.85;
/// Total fit from which on something counts as found: of a turn, and of what stands alone. One in twenty questions whose
/// answer is there stays below.
const FOUND_FROM: (f32, f32) = (0.85, 0.38);
/// As [`FOUND_FROM`], of its words alone where no meaning is known.
const FOUND_FROM_WORDS: (f32, f32) = (0.3, 0.15);
/// Total fit of a turn from which on returning it counts as use; what stands alone is judged by its words or meaning.
const STRONG_TURN_FROM: f32 = 1.2;
const STRONG_FROM: (f32, f32) = (0.4, 0.55);
/// Least meaning with which a memory is returned that shares no word with the query.
pub const MEANT_FROM: f32 = 0.2;

/// What a meaning counts, of a memory that stands alone and of a turn.
const MEANING_WEIGHT: f32 = 1.0;
const TURN_MEANING_WEIGHT: f32 = 1.05;
/// What it counts that the query names the speaker; as much is taken off where it names another one.
const SPEAKER_WEIGHT: f32 = 0.1;
/// What the query's neighbouring words count.
pub const PHRASE_WEIGHT: f32 = 0.2;
/// What the time of which the query speaks counts.
const DATE_WEIGHT: f32 = 0.2;
/// What it counts that a memory is about someone whom the best hits are about.
pub const GRAPH_WEIGHT: f32 = 0.2;
/// What is taken off a turn that only asks.
const QUESTION_WEIGHT: f32 = 0.12;
/// What a turn's length counts, by its logarithm: short ones seldom say anything.
const LENGTH_WEIGHT: f32 = 0.1;
/// Length of a usual turn, in words: it is neither raised nor lowered beside what stands alone.
const USUAL_TURN_WORDS: f32 = 20.0;
/// Words from which on a turn is long.
pub const LONG_TURN_WORDS: u8 = 60;

/// How well a memory fits a query, part by part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fit {
    /// Its words, 0 to about 1.
    pub lexical: f32,
    /// Its meaning, −1 to 1; of a turn with those around it. None where no vector is known.
    pub meaning: Option<f32>,
    /// 1 where the query names its speaker, −1 where it names another one.
    pub speaker: f32,
    /// Share of the query's neighbouring words that are neighbours in it.
    pub phrase: f32,
    /// How closely the best hits lead to it, by whom they are about: 0 to 1.
    pub graph: f32,
    /// How well its date fits the time of which the query speaks.
    pub date: f32,
    /// The turn of a conversation; none for a memory that stands alone.
    pub turn: Option<Turn>,
    /// Whether the query's script makes memories match some of its words by chance.
    pub is_unspaced: bool,
}

/// The form of a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// Whether it ends in a question mark.
    pub asks: bool,
    /// Its length in words, up to [`LONG_TURN_WORDS`].
    pub words: u8,
}

impl Turn {
    /// The form that adds most.
    pub const LONGEST: Turn = Turn { asks: false, words: LONG_TURN_WORDS };
}

impl Fit {
    /// What its words add. Of a memory that stands alone, squared: half of the words say less than half, since any
    /// other memory may share one.
    pub fn lexical_part(&self) -> f32 {
        if self.turn.is_some() || self.is_unspaced { self.lexical } else { self.lexical * self.lexical }
    }

    /// What its meaning adds.
    pub fn meaning_part(&self) -> f32 {
        let weight = if self.turn.is_some() { TURN_MEANING_WEIGHT } else { MEANING_WEIGHT };
        self.meaning.unwrap_or_default() * weight
    }

    /// What its speaker adds or takes off.
    pub fn speaker_part(&self) -> f32 {
        self.speaker * SPEAKER_WEIGHT
    }

    /// What neighbouring words add.
    pub fn phrase_part(&self) -> f32 {
        self.phrase * PHRASE_WEIGHT
    }

    /// What its date adds.
    pub fn date_part(&self) -> f32 {
        self.date * DATE_WEIGHT
    }

    /// What it adds that the best hits lead to it.
    pub fn graph_part(&self) -> f32 {
        self.graph * GRAPH_WEIGHT
    }

    /// What the form of a turn adds or takes off.
    pub fn form_part(&self) -> f32 {
        self.turn.map_or(0.0, |turn| {
            let length = f32::from(turn.words).ln_1p() - USUAL_TURN_WORDS.ln_1p();
            LENGTH_WEIGHT * length - if turn.asks { QUESTION_WEIGHT } else { 0.0 }
        })
    }

    /// The sum of the parts; about 1 where every word of the query occurs.
    #[inline]
    pub fn total(&self) -> f32 {
        self.lexical_part()
            + self.meaning_part()
            + self.speaker_part()
            + self.phrase_part()
            + self.date_part()
            + self.graph_part()
            + self.form_part()
    }

    /// The total of this with other words and another meaning, as the turn that it is or alone, whichever is greater.
    #[inline]
    pub fn at_most(&self, lexical: f32, meaning: Option<f32>) -> f32 {
        let alone = Fit { lexical, meaning, turn: None, ..*self };
        let total = alone.total();
        if self.turn.is_none() { total } else { Fit { turn: self.turn, ..alone }.total().max(total) }
    }

    /// Whether it fits at all.
    pub fn is_any(&self) -> bool {
        self.lexical > 0.0 || self.meaning.is_some_and(|meaning| meaning >= MEANT_FROM)
    }

    /// Whether it fits well enough to be called an answer.
    pub fn is_found(&self) -> bool {
        let (value, (turn, alone)) = match self.meaning {
            // What others lead to is no answer of its own.
            Some(_) => (self.total() - self.graph_part(), FOUND_FROM),
            None => (self.lexical, FOUND_FROM_WORDS),
        };
        value >= if self.turn.is_some() { turn } else { alone }
    }

    /// Whether it fits so well that returning it counts as use.
    pub fn is_strong(&self) -> bool {
        match (self.turn, self.meaning) {
            (Some(_), Some(_)) => self.total() - self.graph_part() >= STRONG_TURN_FROM,
            (_, meaning) => self.lexical >= STRONG_FROM.0 || meaning.is_some_and(|meaning| meaning >= STRONG_FROM.1),
        }
    }
}

/// What ranks one memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// How well it fits.
    pub fit: Fit,
    /// Its score by decay, 0 or more.
    pub score: f64,
    /// Strength of a fresh memory of its kind.
    pub usual: f64,
    /// Weight of its level.
    pub level: f64,
    /// Its status.
    pub status: Status,
}

impl Factors {
    /// What the memory's own standing multiplies the fit with: 0.9 to 1.1.
    ///
    /// `1 + w·(s − 1)/(s + 1)` with `s` the decay score over its kind's usual strength, times the level's weight: 1 for
    /// a fresh memory, of whatever kind, so that what was just said is ranked by its fit alone.
    pub fn standing(&self) -> f64 {
        let usual = if self.usual > 0.0 { self.usual } else { 1.0 };
        let weighted = (self.score / usual * self.level).max(0.0);
        let factor = 1.0 + STANDING_WEIGHT * (weighted - 1.0) / (weighted + 1.0);
        if self.status == Status::Superseded { factor * SUPERSEDED_FACTOR } else { factor }
    }

    /// The rank: fit times standing, or over it where the fit is below 0.
    pub fn rank(&self) -> f64 {
        let fit = f64::from(self.fit.total());
        if fit < 0.0 { fit / self.standing() } else { fit * self.standing() }
    }

    /// The best rank that any memory of this total fit can have.
    pub fn best_rank(fit: f32) -> f64 {
        let fit = f64::from(fit);
        if fit < 0.0 { fit / (1.0 + STANDING_WEIGHT) } else { fit * (1.0 + STANDING_WEIGHT) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn factors(lexical: f32, score: f64) -> Factors {
        let fit = Fit { lexical, is_unspaced: true, ..Fit::default() };
        Factors { fit, score, usual: 1.0, level: 1.0, status: Status::Active }
    }

    #[test]
    fn a_strong_old_match_beats_fresh_noise() {
        assert!(factors(0.8, 0.05).rank() > factors(0.6, 4.0).rank());
    }

    #[test]
    fn of_equal_matches_the_lasting_one_comes_first() {
        assert!(factors(0.8, 2.0).rank() > factors(0.8, 0.5).rank());
        assert!((factors(0.8, 1.0).standing() - 1.0).abs() < 1e-12);
        let fresh = Factors { usual: 1.5, ..factors(0.8, 1.5) };
        assert!((fresh.standing() - 1.0).abs() < 1e-12, "a kind's strength is no merit");
        let superseded = Factors { status: Status::Superseded, ..factors(0.8, 2.0) };
        assert!(superseded.rank() < factors(0.8, 0.05).rank());
    }

    #[test]
    fn half_of_the_words_say_less_than_half_of_what_stands_alone() {
        let alone = Fit { lexical: 0.5, ..Fit::default() };
        let turn = Fit { turn: Some(Turn { asks: false, words: 20 }), ..alone };
        assert!((alone.total() - 0.25).abs() < 1e-6 && (turn.total() - 0.5).abs() < 1e-6);
        assert!((Fit { is_unspaced: true, ..alone }.total() - 0.5).abs() < 1e-6);
    }

    #[test]
    fn each_part_counts_what_it_should() {
        let turn = Turn { asks: true, words: 20 };
        let fit = Fit { meaning: Some(0.4), speaker: -1.0, phrase: 0.5, date: 1.0, turn: Some(turn), ..Fit::default() };
        assert!((fit.total() - (0.42 - 0.1 + 0.1 + 0.2 - 0.12)).abs() < 1e-6);
        let longer = Fit { turn: Some(Turn { asks: true, words: 41 }), ..fit };
        assert!((longer.total() - fit.total() - 0.1 * 2f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn what_is_found_is_told_by_form_and_by_what_is_known() {
        let turn = Some(Turn { asks: false, words: 20 });
        for (lexical, meaning, turn, is_found) in [
            (0.0, Some(0.4), None, true),
            (0.3, Some(0.2), None, false),
            (0.5, Some(0.2), None, true),
            (0.5, Some(0.3), turn, false),
            (0.5, Some(0.4), turn, true),
            (0.2, None, None, true),
            (0.2, None, turn, false),
        ] {
            let fit = Fit { lexical, meaning, turn, ..Fit::default() };
            assert_eq!(fit.is_found(), is_found, "{fit:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_fit_is_greater_than_the_most(
            lexical in 0.0f32..2.0, meaning in prop::option::of(-1.0f32..1.0), speaker in -1.0f32..1.0, date in 0.0f32..1.0,
            turn in prop::option::of((any::<bool>(), 0..=LONG_TURN_WORDS)), is_unspaced: bool,
        ) {
            let turn = turn.map(|(asks, words)| Turn { asks, words });
            let fit = Fit { lexical, meaning, speaker, date, turn, is_unspaced, ..Fit::default() };
            let most = Fit { speaker: 1.0, date: 1.0, is_unspaced, ..Fit::default() };
            let with_turns = Fit { turn: Some(Turn::LONGEST), ..most };
            prop_assert!(fit.total() <= with_turns.at_most(lexical, meaning));
            prop_assert!(turn.is_some() || fit.total() <= most.at_most(lexical, meaning));
        }

        #[test]
        fn standing_is_bounded(lexical in 0.0f32..2.0, meaning in -1.0f32..1.0, score in 0.0..1e6, level in 0.5..1.5) {
            let fit = Fit { lexical, meaning: Some(meaning), ..Fit::default() };
            let factors = Factors { fit, score, usual: 1.0, level, status: Status::Active };
            prop_assert!((0.9..=1.1).contains(&factors.standing()));
            prop_assert!(factors.rank() <= Factors::best_rank(fit.total()) + 1e-12);
            let worst = Factors { status: Status::Superseded, ..factors };
            prop_assert!(worst.rank() <= factors.rank());
        }
    }
}
