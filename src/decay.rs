//! Decay and reinforcement: how strong a memory is at an instant, and what follows from it.
//!
//! Pure functions of stored facts and "now"; no decayed number is ever stored.
//!
//! `score = strength · F(uses) · D(Δt / spacing)`, with Δt since the last counted use.

use crate::clock::{DAY_MS, HOUR_MS, Hour, Timestamp};
use crate::config::{DecayConfig, DecayFrom, Frequency, Model};

/// Longest stretch by spaced use.
const MAX_SPACING: f64 = 32.0;
/// Weight of the fast part of the two-component curve (Mnemex).
const FAST_WEIGHT: f64 = 0.7;
/// Half-life of its fast part, days (Mnemex: 1.603e-5 per second).
const FAST_HALF_LIFE_DAYS: f64 = std::f64::consts::LN_2 / 1.603e-5 / 86_400.0;
/// Half-life of its slow part, days (Mnemex: 1.147e-6 per second).
const SLOW_HALF_LIFE_DAYS: f64 = std::f64::consts::LN_2 / 1.147e-6 / 86_400.0;
/// Exponent of the curve by importance at importance 0 (mneme).
const IMPORTANCE_EXPONENT: f64 = 0.7;
/// What each use adds to a capped frequency, and how many count (mneme).
const CAPPED_GAIN: f64 = 0.3;
const CAPPED_USES: f64 = 10.0;
/// The score at which a review is most worth it, and how far around it one is (Mnemex).
const REVIEW_CENTRE: f64 = 0.25;
const REVIEW_REACH: f64 = 0.1;
/// Strength from which a memory is valuable: importance 8 (mneme).
const VALUABLE_STRENGTH: f64 = 1.6;
/// Days without use after which a valuable memory is cold (mneme).
const COLD_AFTER_DAYS: f64 = 30.0;
/// Ages in `fades_at` are searched up to this many days.
const HORIZON_DAYS: f64 = 36_500.0;

/// The retained share after `days` without use, 0 to 1; `half_life_days` must be positive.
///
/// Power law: `(1 + Δt/t₀)^−α` with `t₀ = H/(2^(1/α) − 1)`, so that half is left after H (Mnemex).
/// Two components: `w·e^(−λf·Δt) + (1−w)·e^(−λs·Δt)` with constants of its own (Mnemex).
/// Importance: `(1 + Δt/24 h)^(−0.7/(1 + strength/2))` (mneme).
pub fn retention(config: &DecayConfig, days: f64, half_life_days: f64, strength: f64) -> f64 {
    let days = days.max(0.0);
    let share = match config.model {
        Model::PowerLaw => {
            let scale_days = half_life_days / (2f64.powf(1.0 / config.alpha) - 1.0);
            (1.0 + days / scale_days).powf(-config.alpha)
        }
        Model::Exponential => 2f64.powf(-days / half_life_days),
        Model::TwoComponent => {
            FAST_WEIGHT * 2f64.powf(-days / FAST_HALF_LIFE_DAYS)
                + (1.0 - FAST_WEIGHT) * 2f64.powf(-days / SLOW_HALF_LIFE_DAYS)
        }
        Model::Importance => (1.0 + days).powf(-IMPORTANCE_EXPONENT / (1.0 + strength / 2.0)),
    };
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// What so many uses multiply a score with: 1 or more. See [`Frequency`].
pub fn frequency(config: &DecayConfig, uses: u32) -> f64 {
    let uses = f64::from(uses);
    match config.frequency {
        Frequency::Power => (1.0 + uses).powf(config.beta),
        Frequency::Log2 => 1.0 + (1.0 + uses).log2(),
        Frequency::Capped => 1.0 + CAPPED_GAIN * uses.min(CAPPED_USES),
    }
}

/// How many uses these hours are, all within `gap_hours` of the one counted before being none; ascending.
pub fn counted(hours: &[Hour], gap_hours: u32) -> u32 {
    let mut last: Option<Hour> = None;
    let mut count = 0;
    for hour in hours {
        if last.is_none_or(|last| hour.0 >= last.0.saturating_add(gap_hours.max(1))) {
            count += 1;
            last = Some(*hour);
        }
    }
    count
}

/// How much a review is worth at this score, 0 to 1: `1 − ((score − 0.25)/0.1)²`, so most at 0.25 and nothing below 0.15
/// and above 0.35, where it is forgotten in any case, or not yet (Mnemex).
pub fn review_priority(score: f64) -> f64 {
    (1.0 - ((score - REVIEW_CENTRE) / REVIEW_REACH).powi(2)).max(0.0)
}

/// What is stored about a memory's use: all that a score depends on besides the instant.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    /// Strength, 0 to 2.
    pub strength: f64,
    /// Half-life of its kind, days.
    pub half_life_days: f64,
    /// When it was first told.
    pub created: Timestamp,
    /// Hours in which it was used, ascending.
    pub hours: &'a [Hour],
    /// Counted uses: hours with any, and those that are no longer known by hour.
    pub uses: u32,
    /// Of these, the ones that weigh: at least `gap_hours` apart.
    pub occasions: u32,
}

/// Whether a memory may be promoted, and why (not).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promotion {
    /// Whether it has proved itself.
    pub is_eligible: bool,
    /// The reason, in plain words.
    pub why: String,
}

impl Trace<'_> {
    /// Counted uses.
    pub fn uses(&self) -> u32 {
        self.uses
    }

    /// The last counted use, else the creation.
    pub fn last_used(&self) -> Timestamp {
        self.hours.last().map_or(self.created, |hour| hour.start().max(self.created))
    }

    /// Different UTC days of use.
    pub fn days_used(&self) -> u32 {
        let (mut days, mut last) = (0, None);
        for day in self.hours.iter().map(|hour| hour.day()) {
            if last != Some(day) {
                days += 1;
                last = Some(day);
            }
        }
        days
    }

    /// How much slower time passes for it: `growth^(days used − 1)`, at most 32. The spacing effect.
    pub fn spacing(&self, config: &DecayConfig) -> f64 {
        let further_days = f64::from(self.days_used().saturating_sub(1));
        config.spacing_growth.powf(further_days).min(MAX_SPACING)
    }

    /// Days since the last use at `now`, never negative, never longer than since the format exists.
    pub fn idle_days(&self, now: Timestamp) -> f64 {
        days_between(self.last_used(), now)
    }

    /// Days since creation at `now`, with the same bounds.
    pub fn age_days(&self, now: Timestamp) -> f64 {
        days_between(self.created, now)
    }

    /// The score at `now`: 0 or more, not bounded by 1.
    pub fn score(&self, config: &DecayConfig, now: Timestamp) -> f64 {
        self.score_after(config, days_between(self.ebbs_from(config), now))
    }

    /// From when on it ebbs.
    fn ebbs_from(&self, config: &DecayConfig) -> Timestamp {
        match config.decay_from {
            DecayFrom::LastUse => self.last_used(),
            DecayFrom::Creation => self.created,
        }
    }

    fn score_after(&self, config: &DecayConfig, days: f64) -> f64 {
        let left = retention(config, days / self.spacing(config), self.half_life_days, self.strength);
        let share = frequency(config, self.occasions) * left;
        self.strength * if config.frequency == Frequency::Capped { share.min(1.0) } else { share }
    }

    /// Whether it has ebbed away at `now`. Pinned, promoted and future memories never do: the caller knows those.
    pub fn has_faded(&self, config: &DecayConfig, now: Timestamp) -> bool {
        self.age_days(now) * 24.0 >= config.min_age_hours && self.score(config, now) < config.fade_below
    }

    /// Whether it is on its way out at `now`: older than a half-life (`fading_age`), and weak (`fading_below`).
    pub fn is_fading(&self, config: &DecayConfig, now: Timestamp) -> bool {
        self.age_days(now) >= self.half_life_days * config.fading_age && self.score(config, now) < config.fading_below
    }

    /// How much a review is worth at `now`, 0 to 1. See [`review_priority`].
    pub fn review_priority(&self, config: &DecayConfig, now: Timestamp) -> f64 {
        review_priority(self.score(config, now))
    }

    /// Whether it is valuable and was not used for long: worth a look without being asked for.
    pub fn is_cold_and_valuable(&self, now: Timestamp) -> bool {
        self.strength >= VALUABLE_STRENGTH && self.idle_days(now) > COLD_AFTER_DAYS
    }

    /// When it will fade if it is not used again; `None` if not within a century.
    pub fn fades_at(&self, config: &DecayConfig) -> Option<Timestamp> {
        let is_faded_after = |days: f64| self.score_after(config, days) < config.fade_below;
        if !is_faded_after(HORIZON_DAYS) {
            return None;
        }
        let (mut low, mut high) = (0.0, HORIZON_DAYS);
        for _ in 0..64 {
            let middle = f64::midpoint(low, high);
            if is_faded_after(middle) { high = middle } else { low = middle }
        }
        let by_score = self.ebbs_from(config).plus_millis((high * DAY_MS as f64).ceil() as i64);
        Some(by_score.max(self.created.plus_millis((config.min_age_hours * HOUR_MS as f64) as i64)))
    }

    /// Whether it has proved itself at `now`. `contexts` counts the projects and tag sets it was used in.
    pub fn promotion(&self, config: &DecayConfig, contexts: usize, now: Timestamp) -> Promotion {
        let refuse = |why: String| Promotion { is_eligible: false, why };
        let accept = |why: String| Promotion { is_eligible: true, why };
        let age_hours = self.age_days(now) * 24.0;
        if age_hours < config.min_age_hours {
            return refuse(format!("younger than {} hours", config.min_age_hours));
        }
        if config.promote_strength > 0.0 && self.strength >= config.promote_strength {
            return accept(format!("strength {}", (self.strength * 1000.0).round() / 1000.0));
        }
        let days_used = self.days_used();
        if config.promote_days_used > 0 && days_used >= config.promote_days_used {
            return accept(format!("used on {days_used} days"));
        }
        let window_end = self.created.plus_millis((config.promote_within_days * DAY_MS as f64) as i64);
        let early = self.hours.partition_point(|hour| hour.start() <= window_end);
        let early_uses = counted(self.hours.get(..early).unwrap_or_default(), config.gap_hours);
        // However often it is used on one day: that was one occasion.
        if config.promote_uses > 0 && early_uses >= config.promote_uses && days_used >= 2 {
            return accept(format!("used {early_uses} times within {} days", config.promote_within_days));
        }
        let score = self.score(config, now);
        if score >= config.promote_at && days_used >= 2 && contexts >= 2 {
            return accept(format!("score {score:.2}, used on {days_used} days in {contexts} contexts"));
        }
        let days = (config.promote_days_used > 0).then(|| count(config.promote_days_used, "day"));
        let uses = (config.promote_uses > 0)
            .then(|| format!("{} counted uses within {} days", config.promote_uses, config.promote_within_days));
        let strength = (config.promote_strength > 0.0).then(|| format!("a strength of {}", config.promote_strength));
        let ways: Vec<String> = [days, uses, strength].into_iter().flatten().collect();
        refuse(format!(
            "used {} on {}: needs {}",
            count(self.uses, "time"),
            count(days_used, "day"),
            if ways.is_empty() { "to be asked for".to_owned() } else { ways.join(", or ") }
        ))
    }
}

fn count(number: u32, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

fn days_between(earlier: Timestamp, now: Timestamp) -> f64 {
    let longest = now.days_since(Timestamp::FORMAT_BIRTH).max(0.0);
    now.days_since(earlier).clamp(0.0, longest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{Config, Preset};
    use crate::kinds::Kind;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_lenient(text).unwrap()
    }

    fn hours(texts: &[&str]) -> Vec<Hour> {
        texts.iter().map(|text| at(text).hour()).collect()
    }

    fn trace<'a>(created: &str, hours: &'a [Hour]) -> Trace<'a> {
        Trace {
            strength: 1.0,
            half_life_days: 3.0,
            created: at(created),
            hours,
            uses: hours.len() as u32,
            occasions: hours.len() as u32,
        }
    }

    fn mnemex(model: Model) -> DecayConfig {
        DecayConfig { model, ..Config::of_preset(Preset::Mnemex).decay }
    }

    /// The seed's published table: strength 1, no use, half-life of three days.
    #[test]
    fn curves_follow_the_published_table() {
        let table = [
            (0.5, 0.891, 0.861, 0.636),
            (1.0, 0.794, 0.754, 0.447),
            (3.0, 0.500, 0.500, 0.234),
            (7.0, 0.198, 0.293, 0.150),
            (14.0, 0.039, 0.167, 0.075),
            (30.0, 0.001, 0.081, 0.015),
            (90.0, 0.000, 0.026, 0.000),
        ];
        for (days, exponential, power_law, two_component) in table {
            for (model, expected) in
                [(Model::Exponential, exponential), (Model::PowerLaw, power_law), (Model::TwoComponent, two_component)]
            {
                let got = retention(&mnemex(model), days, 3.0, 1.0);
                assert!((got - expected).abs() < 0.0011, "{model:?} at {days} days: {got} instead of {expected}");
            }
        }
    }

    #[test]
    fn thresholds_are_crossed_when_the_seed_says() {
        let table = [(0.65, 1.87, 1.64), (0.35, 4.55, 5.46), (0.15, 8.21, 15.76), (0.05, 12.97, 48.6)];
        for (threshold, exponential, power_law) in table {
            for (model, expected) in [(Model::Exponential, exponential), (Model::PowerLaw, power_law)] {
                let config = DecayConfig { fade_below: threshold, min_age_hours: 0.0, ..mnemex(model) };
                let created = "2026-01-01T00:00:00Z";
                let got = trace(created, &[]).fades_at(&config).unwrap().days_since(at(created));
                assert!((got - expected).abs() < 0.05, "{model:?} below {threshold}: {got} instead of {expected}");
            }
        }
    }

    #[test]
    fn use_counts_weigh_as_in_the_seed() {
        for (uses, expected) in [(0, 1.0), (1, 1.52), (2, 1.93), (5, 2.93), (10, 4.22), (50, 10.58)] {
            let created = "2026-01-01T00:00:00Z";
            let trace = Trace { uses, occasions: uses, ..trace(created, &[]) };
            let got = trace.score(&mnemex(Model::PowerLaw), at(created));
            assert!((got - expected).abs() < 0.01, "{uses} uses: {got} instead of {expected}");
        }
    }

    #[test]
    fn one_busy_afternoon_is_no_spacing() {
        let config = DecayConfig::default();
        let busy = hours(&["2026-03-01T13:00Z", "2026-03-01T14:00Z", "2026-03-01T15:00Z", "2026-03-01T16:00Z"]);
        assert!((trace("2026-03-01T12:00Z", &busy).spacing(&config) - 1.0).abs() < 1e-9);
        let spaced = hours(&["2026-03-01T13:00Z", "2026-03-03T14:00Z", "2026-03-09T15:00Z"]);
        assert!((trace("2026-03-01T12:00Z", &spaced).spacing(&config) - 2.56).abs() < 1e-9);
    }

    #[test]
    fn promotion_needs_days_not_a_burst() {
        let config = DecayConfig::default();
        let promotion = |created: &str, used: &[&str], contexts, now: &str| {
            let used = hours(used);
            trace(created, &used).promotion(&config, contexts, at(now))
        };
        let fresh = promotion("2026-03-01T12:00Z", &[], 0, "2026-03-01T13:00Z");
        assert!(!fresh.is_eligible && fresh.why == "younger than 24 hours", "{fresh:?}");
        let burst = ["2026-03-01T13:00Z", "2026-03-01T14:00Z", "2026-03-01T15:00Z", "2026-03-01T16:00Z"];
        assert!(!promotion("2026-03-01T12:00Z", &burst, 3, "2026-03-03T12:00Z").is_eligible);
        let three_days = ["2026-03-01T13:00Z", "2026-03-04T13:00Z", "2026-03-09T13:00Z"];
        assert_eq!(promotion("2026-03-01T12:00Z", &three_days, 1, "2026-03-09T14:00Z").why, "used on 3 days");
        let two_days = ["2026-03-01T13:00Z", "2026-03-02T13:00Z"];
        assert!(promotion("2026-03-01T12:00Z", &two_days, 2, "2026-03-02T14:00Z").is_eligible);
        let one_context = promotion("2026-03-01T12:00Z", &two_days, 1, "2026-03-02T14:00Z");
        assert_eq!(one_context.why, "used 2 times on 2 days: needs 3 days, or 5 counted uses within 14 days");
    }

    #[test]
    fn nothing_fades_on_its_first_day() {
        let config = DecayConfig { fade_below: 1.0, ..DecayConfig::default() };
        let weak = Trace { strength: 0.1, ..trace("2026-03-01T12:00Z", &[]) };
        assert!(!weak.has_faded(&config, at("2026-03-02T11:59Z")));
        assert!(weak.has_faded(&config, at("2026-03-02T12:00Z")));
        assert_eq!(weak.fades_at(&config), Some(at("2026-03-02T12:00Z")));
    }

    /// mcp-memory's published figures, those that follow from its formula: strength, half-life, days, mentions.
    #[test]
    fn mentions_weigh_as_in_mcp_memory() {
        let config = Config::of_preset(Preset::McpMemory);
        for (kind, days, mentions, expected) in [
            (Kind::OneTime, 0.0, 1, 0.3),
            (Kind::Question, 0.0, 1, 0.5),
            (Kind::Fact, 0.0, 1, 0.9),
            (Kind::Preference, 0.0, 1, 1.0),
            (Kind::OneTime, 60.0, 1, 0.000_79),
            (Kind::Interest, 60.0, 5, 1.329),
            (Kind::Interest, 0.0, 5, 2.658),
            (Kind::Preference, 7.0, 8, 3.89),
        ] {
            let profile = config.kind_profile(kind);
            let created = at("2026-01-01T00:00:00Z");
            let trace = Trace {
                strength: profile.strength,
                half_life_days: profile.half_life_days,
                created,
                hours: &[],
                uses: mentions - 1,
                occasions: mentions - 1,
            };
            let now = created.plus_millis((days * DAY_MS as f64) as i64);
            let got = trace.score(&config.decay, now);
            assert!((got - expected).abs() < expected * 0.006, "{kind} after {days} days: {got} instead of {expected}");
        }
    }

    /// What mneme's formula leaves of a memory that is not used, by importance; and how reuse brings it back.
    #[test]
    fn importance_flattens_the_curve_as_in_mneme() {
        let config = Config::of_preset(Preset::Mneme).decay;
        let created = at("2026-01-01T00:00:00Z");
        let left = |importance: f64, uses: u32, days: f64| {
            let trace =
                Trace { strength: importance / 5.0, half_life_days: 1.0, created, hours: &[], uses, occasions: uses };
            trace.score(&config, created.plus_millis((days * DAY_MS as f64) as i64)) / trace.strength
        };
        for (importance, table) in [
            (1.0, [0.64, 0.27, 0.11, 0.06, 0.02]),
            (5.0, [0.72, 0.38, 0.20, 0.12, 0.06]),
            (10.0, [0.79, 0.48, 0.30, 0.21, 0.13]),
        ] {
            for (days, expected) in [1.0, 7.0, 30.0, 90.0, 365.0].into_iter().zip(table) {
                let got = left(importance, 0, days);
                assert!((got - expected).abs() < 0.006, "importance {importance}, {days} days: {got} for {expected}");
            }
        }
        // Use never brings it above what it was, and no more than ten uses count.
        assert!((left(5.0, 2, 0.0) - 1.0).abs() < 1e-9);
        assert!((left(5.0, 3, 30.0) / left(5.0, 0, 30.0) - 1.9).abs() < 1e-9);
        assert!((left(1.0, 10, 365.0) - left(1.0, 900, 365.0)).abs() < 1e-9);
        // It ages from its creation, however late it is used; and never fades.
        let late = hours(&["2026-12-30T00:00Z"]);
        let trace = Trace { strength: 1.0, half_life_days: 1.0, created, hours: &late, uses: 1, occasions: 1 };
        assert!(trace.score(&config, at("2026-12-31T00:00Z")) < 0.1);
        assert_eq!(trace.fades_at(&config), None);
        assert!(!trace.has_faded(&config, at("9000-01-01T00:00Z")));
    }

    #[test]
    fn reviews_are_worth_most_between_knowing_and_forgetting() {
        for (score, expected) in
            [(0.25, 1.0), (0.15, 0.0), (0.35, 0.0), (0.20, 0.75), (0.30, 0.75), (0.0, 0.0), (3.0, 0.0)]
        {
            assert!((review_priority(score) - expected).abs() < 1e-9, "at {score}: {}", review_priority(score));
        }
    }

    #[test]
    fn spacing_is_bounded() {
        let days: Vec<Hour> = (0..400).map(|day| Hour(500_000 + 24 * day)).collect();
        let config = DecayConfig::default();
        assert!((trace("2026-01-01T00:00Z", &days).spacing(&config) - MAX_SPACING).abs() < 1e-9);
        let flat = DecayConfig { spacing_growth: 1.0, ..config };
        assert!((trace("2026-01-01T00:00Z", &days).spacing(&flat) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_day_of_use_promotes_nothing_however_often() {
        let created = "2026-03-01T05:00Z";
        let busy: Vec<Hour> = (0..18).map(|hour| Hour(at(created).hour().0 + hour)).collect();
        for preset in Preset::ALL {
            let config = Config::of_preset(preset).decay;
            for now in ["2026-03-02T06:00Z", "2026-03-20T06:00Z", "2026-09-01T06:00Z"] {
                let promotion = trace(created, &busy).promotion(&config, 9, at(now));
                assert!(!promotion.is_eligible, "{preset:?} at {now}: {}", promotion.why);
            }
        }
    }

    #[test]
    fn a_way_to_be_promoted_can_be_switched_off() {
        let used = hours(&["2026-03-01T13:00Z", "2026-03-04T13:00Z", "2026-03-09T13:00Z"]);
        let off = DecayConfig { promote_days_used: 0, promote_uses: 0, promote_at: 10.0, ..DecayConfig::default() };
        let promotion = |config: &DecayConfig, strength| {
            Trace { strength, ..trace("2026-03-01T12:00Z", &used) }.promotion(config, 5, at("2026-03-10T12:00Z"))
        };
        assert_eq!(promotion(&off, 2.0).why, "used 3 times on 3 days: needs to be asked for");
        let by_strength = DecayConfig { promote_strength: 1.6, ..off };
        assert_eq!(promotion(&by_strength, 1.6), Promotion { is_eligible: true, why: "strength 1.6".into() });
        assert_eq!(promotion(&by_strength, 1.5).why, "used 3 times on 3 days: needs a strength of 1.6");
    }

    fn model() -> impl Strategy<Value = Model> {
        prop_oneof![Just(Model::PowerLaw), Just(Model::Exponential), Just(Model::TwoComponent), Just(Model::Importance)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn retention_starts_whole_and_falls(model in model(), alpha in 0.1..5.0, days in 0.0..5e4, more in 0.0..5e4, half in 0.01..36_500.0, strength in 0.0..2.0) {
            let config = DecayConfig { model, alpha, ..DecayConfig::default() };
            let left = |days| retention(&config, days, half, strength);
            prop_assert!((left(0.0) - 1.0).abs() < 1e-9);
            if matches!(model, Model::PowerLaw | Model::Exponential) {
                prop_assert!((left(half) - 0.5).abs() < 1e-9);
            }
            prop_assert!(left(days + more) <= left(days));
        }

        /// Between two uses nothing comes and goes: fading and fading away happen once, a promotion by days or uses is
        /// never taken back, and one by score at most once, and for good.
        #[test]
        fn nothing_flaps_between_two_uses(
            model in model(), used in proptest::collection::btree_set(0u32..2_000, 0..8), strength in 0.0..2.0, half in 1.0..400.0, contexts in 0usize..4,
        ) {
            let config = DecayConfig { model, ..DecayConfig::default() };
            let created = at("2026-01-01T00:00Z");
            let hours: Vec<Hour> = used.into_iter().map(|hour| Hour(created.hour().0 + hour)).collect();
            let trace = Trace { strength, half_life_days: half, created, hours: &hours, uses: hours.len() as u32, occasions: hours.len() as u32 };
            let from = trace.last_used();
            let states: Vec<(bool, bool, bool)> = (0..400).map(|step| {
                let now = from.plus_millis(step * step * HOUR_MS);
                (trace.has_faded(&config, now), trace.is_fading(&config, now), trace.promotion(&config, contexts, now).is_eligible)
            }).collect();
            let turns = |of: fn(&(bool, bool, bool)) -> bool| states.windows(2).filter(|pair| of(&pair[0]) != of(&pair[1])).count();
            prop_assert!(turns(|state| state.0) <= 1 && turns(|state| state.1) <= 1);
            // Once old enough, once too weak.
            prop_assert!(turns(|state| state.2) <= 2);
        }

        #[test]
        fn scores_rise_with_use_and_are_finite_for_every_clock(
            model in model(), created: i64, now: i64, mut used in proptest::collection::vec(any::<u32>(), 0..40), strength in 0.0..2.0,
        ) {
            used.sort_unstable();
            used.dedup();
            let config = DecayConfig { model, ..DecayConfig::default() };
            let hours: Vec<Hour> = used.into_iter().map(Hour).collect();
            let now = Timestamp::from_millis(now);
            let trace = Trace { strength, half_life_days: 30.0, created: Timestamp::from_millis(created), hours: &hours, uses: hours.len() as u32, occasions: hours.len() as u32 };
            let score = trace.score(&config, now);
            prop_assert!(score.is_finite() && score >= 0.0);
            prop_assert!(trace.fades_at(&config).is_none_or(|at| at >= trace.created));
            let used_more = Trace { occasions: trace.occasions + 1, ..trace };
            prop_assert!(used_more.score(&config, now) >= score);
            if let Some((_, fewer)) = hours.split_last() {
                prop_assert!(Trace { hours: fewer, occasions: fewer.len() as u32, ..trace }.score(&config, now) <= score, "a use never weakens");
            }
        }
    }
}
