//! `[decay]` and `[kinds.NAME]`: what a score is made of, and what follows from it.

use serde::{Deserialize, Serialize};

/// Shape of the forgetting curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// `(1 + Δt/t₀)^−α`: steep at first, with a long tail.
    #[default]
    PowerLaw,
    /// `2^(−Δt/H)`.
    Exponential,
    /// A fast and a slow exponential; does not use the kind's half-life.
    TwoComponent,
    /// `(1 + Δt/24 h)^(−0.7/(1 + strength/2))`: a power law that is flatter for what is strong; does not use the
    /// kind's half-life (mneme, where importance is five times the strength).
    Importance,
}

/// What uses multiply the score with; n is their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frequency {
    /// `(1 + n)^β` (Mnemex).
    #[default]
    Power,
    /// `1 + log₂(1 + n)` (mcp-memory, which counts the telling as the first mention).
    Log2,
    /// `1 + 0.3·min(n, 10)`, and use brings back at most what time took: the product with the curve is at most 1
    /// (mneme).
    Capped,
}

/// From when on a memory ebbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecayFrom {
    /// The last counted use, else the creation.
    #[default]
    LastUse,
    /// The creation, however often it is used (mneme).
    Creation,
}

/// `[decay]`: how memories ebb, fade and are promoted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecayConfig {
    /// The forgetting curve.
    pub model: Model,
    /// Exponent of the power law, 0.1 to 5.
    pub alpha: f64,
    /// What uses multiply the score with.
    pub frequency: Frequency,
    /// Exponent of the use count, 0 to 2.
    pub beta: f64,
    /// Hours within which uses weigh as one, 0 to 168; with 0 every mention does, but for promotion only every hour.
    pub gap_hours: u32,
    /// From when on a memory ebbs.
    pub decay_from: DecayFrom,
    /// How much each further day of use stretches time, 1 to 4; 1 switches the spacing effect off.
    pub spacing_growth: f64,
    /// A memory fades below this score, 0 to 1; with 0 nothing does.
    pub fade_below: f64,
    /// A memory below this score counts as fading, 0 to 10 …
    pub fading_below: f64,
    /// … once it is older than so many half-lives, 0 to 10.
    pub fading_age: f64,
    /// Uses at least `gap_hours` apart that make a question, or what matters once, an interest, 0 to 1,000; 0: never.
    pub interest_uses: u32,
    /// Whether what holds for hours or days moves up by use and importance (mneme's layers).
    pub move_up: bool,
    /// A score that allows promotion, 0 to 10.
    pub promote_at: f64,
    /// Uses at least `gap_hours` apart that allow promotion, where they fall within `promote_within_days`; 0: they never do.
    pub promote_uses: u32,
    /// Days since creation in which `promote_uses` must fall.
    pub promote_within_days: f64,
    /// Different days of use that allow promotion; 0: they never do.
    pub promote_days_used: u32,
    /// A strength that allows promotion, 0 to 2; 0: none does.
    pub promote_strength: f64,
    /// Nothing younger fades or is promoted, hours.
    pub min_age_hours: f64,
}

impl Default for DecayConfig {
    fn default() -> Self {
        DecayConfig {
            model: Model::PowerLaw,
            alpha: 2.0,
            frequency: Frequency::Power,
            beta: 0.6,
            gap_hours: 12,
            decay_from: DecayFrom::LastUse,
            spacing_growth: 1.6,
            fade_below: 0.07,
            fading_below: 0.35,
            fading_age: 1.0,
            interest_uses: 5,
            move_up: false,
            promote_at: 0.65,
            promote_uses: 5,
            promote_within_days: 14.0,
            promote_days_used: 3,
            promote_strength: 0.0,
            min_age_hours: 24.0,
        }
    }
}

impl DecayConfig {
    /// Each number with its least and greatest value.
    pub(super) fn ranges(&self) -> [(&'static str, f64, f64, f64); 14] {
        [
            ("alpha", self.alpha, 0.1, 5.0),
            ("beta", self.beta, 0.0, 2.0),
            ("gap_hours", f64::from(self.gap_hours), 0.0, 168.0),
            ("spacing_growth", self.spacing_growth, 1.0, 4.0),
            ("fade_below", self.fade_below, 0.0, 1.0),
            ("fading_below", self.fading_below, 0.0, 10.0),
            ("fading_age", self.fading_age, 0.0, 10.0),
            ("interest_uses", f64::from(self.interest_uses), 0.0, 1_000.0),
            ("promote_at", self.promote_at, 0.0, 10.0),
            ("promote_uses", f64::from(self.promote_uses), 0.0, 1_000.0),
            ("promote_within_days", self.promote_within_days, 0.0, 36_500.0),
            ("promote_days_used", f64::from(self.promote_days_used), 0.0, 1_000.0),
            ("promote_strength", self.promote_strength, 0.0, 2.0),
            ("min_age_hours", self.min_age_hours, 0.0, 8_760.0),
        ]
    }
}

/// `[kinds.NAME]`: the dynamics of one kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KindProfile {
    /// Strength of a new memory, 0 to 2.
    pub strength: f64,
    /// Days until an unused memory has lost half of its strength, 0.01 to 36,500.
    pub half_life_days: f64,
}
