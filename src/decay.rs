//! Decay and reinforcement: how strong a memory is at an instant, and what follows from it.
//!
//! Pure functions of stored facts and "now"; no decayed number is ever stored.
//!
//! `score = strength · (1 + uses)^β · D(Δt / spacing)`, with Δt since the last counted use.

use crate::clock::{DAY_MS, HOUR_MS, Hour, Timestamp};
use crate::config::{DecayConfig, Model};

/// Longest stretch by spaced use.
const MAX_SPACING: f64 = 32.0;
/// Weight of the fast part of the two-component curve (Mnemex).
const FAST_WEIGHT: f64 = 0.7;
/// Half-life of its fast part, days (Mnemex: 1.603e-5 per second).
const FAST_HALF_LIFE_DAYS: f64 = std::f64::consts::LN_2 / 1.603e-5 / 86_400.0;
/// Half-life of its slow part, days (Mnemex: 1.147e-6 per second).
const SLOW_HALF_LIFE_DAYS: f64 = std::f64::consts::LN_2 / 1.147e-6 / 86_400.0;
/// Below this score an old memory is due for review, and listed as fading.
pub const FADING_BELOW: f64 = 0.35;
/// Ages in `fades_at` are searched up to this many days.
const HORIZON_DAYS: f64 = 36_500.0;

/// The retained share after `days` without use, 0 to 1; `half_life_days` must be positive.
///
/// Power law: `(1 + Δt/t₀)^−α` with `t₀ = H/(2^(1/α) − 1)`, so that half is left after H (Mnemex).
/// Two components: `w·e^(−λf·Δt) + (1−w)·e^(−λs·Δt)` with constants of its own (Mnemex).
pub fn retention(config: &DecayConfig, days: f64, half_life_days: f64) -> f64 {
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
    };
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
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
    /// Counted uses that are no longer known by hour.
    pub older_uses: u32,
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
        (self.hours.len() as u32).saturating_add(self.older_uses)
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
        self.score_after(config, self.idle_days(now))
    }

    fn score_after(&self, config: &DecayConfig, idle_days: f64) -> f64 {
        let frequency = (1.0 + f64::from(self.uses())).powf(config.beta);
        self.strength * frequency * retention(config, idle_days / self.spacing(config), self.half_life_days)
    }

    /// Whether it has ebbed away at `now`. Pinned, promoted and future memories never do: the caller knows those.
    pub fn has_faded(&self, config: &DecayConfig, now: Timestamp) -> bool {
        self.age_days(now) * 24.0 >= config.min_age_hours && self.score(config, now) < config.fade_below
    }

    /// Whether it is on its way out at `now`: older than a half-life, and weak.
    pub fn is_fading(&self, config: &DecayConfig, now: Timestamp) -> bool {
        self.age_days(now) > self.half_life_days && self.score(config, now) < FADING_BELOW
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
        let by_score = self.last_used().plus_millis((high * DAY_MS as f64).ceil() as i64);
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
        let days_used = self.days_used();
        if days_used >= config.promote_days_used {
            return accept(format!("used on {days_used} days"));
        }
        let window_end = self.created.plus_millis((config.promote_within_days * DAY_MS as f64) as i64);
        let early_uses = self.hours.iter().filter(|hour| hour.start() <= window_end).count();
        if early_uses >= config.promote_uses as usize {
            return accept(format!("used {early_uses} times within {} days", config.promote_within_days));
        }
        let score = self.score(config, now);
        if score >= config.promote_at && days_used >= 2 && contexts >= 2 {
            return accept(format!("score {score:.2}, used on {days_used} days in {contexts} contexts"));
        }
        refuse(format!(
            "used {} on {}: needs {} days, or {} counted uses within {} days",
            count(self.uses(), "time"),
            count(days_used, "day"),
            config.promote_days_used,
            config.promote_uses,
            config.promote_within_days
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

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_lenient(text).unwrap()
    }

    fn hours(texts: &[&str]) -> Vec<Hour> {
        texts.iter().map(|text| at(text).hour()).collect()
    }

    fn trace<'a>(created: &str, hours: &'a [Hour]) -> Trace<'a> {
        Trace { strength: 1.0, half_life_days: 3.0, created: at(created), hours, older_uses: 0 }
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
                let got = retention(&mnemex(model), days, 3.0);
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
            let trace = Trace { older_uses: uses, ..trace(created, &[]) };
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

    fn model() -> impl Strategy<Value = Model> {
        prop_oneof![Just(Model::PowerLaw), Just(Model::Exponential), Just(Model::TwoComponent)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn retention_starts_whole_and_falls(model in model(), alpha in 0.1..5.0, days in 0.0..5e4, more in 0.0..5e4, half in 0.01..36_500.0) {
            let config = DecayConfig { model, alpha, ..DecayConfig::default() };
            prop_assert!((retention(&config, 0.0, half) - 1.0).abs() < 1e-9);
            if model != Model::TwoComponent {
                prop_assert!((retention(&config, half, half) - 0.5).abs() < 1e-9);
            }
            prop_assert!(retention(&config, days + more, half) <= retention(&config, days, half));
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
            let trace = Trace { strength, half_life_days: 30.0, created: Timestamp::from_millis(created), hours: &hours, older_uses: 0 };
            let score = trace.score(&config, now);
            prop_assert!(score.is_finite() && score >= 0.0);
            prop_assert!(trace.fades_at(&config).is_none_or(|at| at >= trace.created));
            let used_more = Trace { older_uses: 1, ..trace };
            prop_assert!(used_more.score(&config, now) >= score);
            if let Some((_, fewer)) = hours.split_last() {
                prop_assert!(Trace { hours: fewer, ..trace }.score(&config, now) <= score, "a use never weakens");
            }
        }
    }
}
