//! The presets: named sets of numbers that `config.toml` is laid over. Data only.
//!
//! Three are what the systems that Ebbmark learnt from do, as far as their published figures hold and our guards
//! allow (docs/scoring.md says what was left out and why); the others are tuned for a way of working.

use serde::{Deserialize, Serialize};

use super::{DecayConfig, DecayFrom, Frequency, KindProfile, Model};
use crate::kinds::Kind::{
    self, Context, Correction, Decision, Event, Fact, Feedback, Interest, Note, OneTime, Preference, Question, Skill,
};

/// A named set of numbers that the rest of the file is laid over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Ebbmark's own.
    #[default]
    Balanced,
    /// For short work: what is not used goes within weeks.
    Fast,
    /// For a long memory: things stay for years, and become notes sooner.
    Archival,
    /// For one person's assistant: people, habits and dates stay long, chatter goes.
    Assistant,
    /// For few memories: fades early, promotes late.
    Frugal,
    /// The curve, half-life of three days and use exponent of Mnemex; every use counts, no spacing effect.
    Mnemex,
    /// The half-lives by category, logarithm of mentions and five-mention interests of mcp-memory.
    McpMemory,
    /// The curve by importance, capped reuse and layers of mneme; nothing fades.
    Mneme,
}

impl Preset {
    /// Every preset, in the order of the documentation.
    pub const ALL: [Preset; 8] = [
        Preset::Balanced,
        Preset::Fast,
        Preset::Archival,
        Preset::Assistant,
        Preset::Frugal,
        Preset::Mnemex,
        Preset::McpMemory,
        Preset::Mneme,
    ];

    /// Its name in `config.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Balanced => "balanced",
            Preset::Fast => "fast",
            Preset::Archival => "archival",
            Preset::Assistant => "assistant",
            Preset::Frugal => "frugal",
            Preset::Mnemex => "mnemex",
            Preset::McpMemory => "mcp-memory",
            Preset::Mneme => "mneme",
        }
    }

    /// All names, for messages.
    pub(super) fn names() -> String {
        Preset::ALL.map(|preset| format!("\"{}\"", preset.as_str())).join(", ")
    }

    /// Its `[decay]`.
    pub(super) fn decay(self) -> DecayConfig {
        let own = DecayConfig::default();
        match self {
            Preset::Balanced | Preset::Assistant => own,
            Preset::Fast => DecayConfig { promote_within_days: 7.0, ..own },
            Preset::Archival => DecayConfig { alpha: 1.1, fade_below: 0.02, promote_days_used: 2, ..own },
            Preset::Frugal => DecayConfig { fade_below: 0.1, promote_days_used: 4, promote_uses: 8, ..own },
            Preset::Mnemex => {
                DecayConfig { alpha: 1.1, gap_hours: 0, spacing_growth: 1.0, fade_below: 0.05, interest_uses: 0, ..own }
            }
            Preset::McpMemory => DecayConfig {
                model: Model::Exponential,
                frequency: Frequency::Log2,
                gap_hours: 0,
                spacing_growth: 1.0,
                fade_below: 0.05,
                // Its ACTIVE ends between 0.5 and 0.9, its DEAD begins between 0.0008 and 0.3.
                fading_below: 0.7,
                fading_age: 0.0,
                // Five mentions, of which the telling is the first.
                interest_uses: 4,
                ..own
            },
            Preset::Mneme => DecayConfig {
                model: Model::Importance,
                frequency: Frequency::Capped,
                gap_hours: 0,
                decay_from: DecayFrom::Creation,
                spacing_growth: 1.0,
                fade_below: 0.0,
                interest_uses: 0,
                move_up: true,
                promote_at: 10.0,
                promote_uses: 8,
                promote_within_days: 36_500.0,
                promote_days_used: 0,
                promote_strength: 1.6,
                ..own
            },
        }
    }

    /// Its `[kinds.NAME]`.
    pub(super) fn profile(self, kind: Kind) -> KindProfile {
        let own = KindProfile { strength: kind.default_strength(), half_life_days: kind.half_life_days() };
        let slower = |factor: f64| KindProfile { half_life_days: own.half_life_days * factor, ..own };
        let of = |strength, half_life_days| KindProfile { strength, half_life_days };
        match self {
            Preset::Balanced => own,
            Preset::Fast => slower(0.4),
            Preset::Archival => slower(2.0),
            Preset::Assistant => match kind {
                Preference | Event => slower(4.0),
                Fact | Correction | Skill | Feedback => slower(2.0),
                Context | Question | OneTime => slower(0.7),
                Decision | Interest | Note => own,
            },
            Preset::Frugal => slower(0.7),
            Preset::Mnemex => of(1.0, 3.0),
            Preset::McpMemory => match kind {
                Preference => of(1.0, 180.0),
                Fact => of(0.9, 365.0),
                // The strengths of these two are not published.
                Correction => of(1.0, 365.0),
                Context => of(0.7, 30.0),
                Interest => of(0.8, 60.0),
                Question | Note => of(0.5, 14.0),
                OneTime => of(0.3, 7.0),
                // Kinds that it does not know.
                Decision | Skill | Feedback | Event => own,
            },
            // Importance 6, as its tool has it where none is given.
            Preset::Mneme => of(1.2, own.half_life_days),
        }
    }

    /// Its `default_kind`.
    pub(super) fn default_kind(self) -> Kind {
        if self == Preset::McpMemory { Question } else { Note }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn every_preset_is_found_by_its_name_and_within_all_ranges() {
        for preset in Preset::ALL {
            let (config, warnings) = Config::read(&format!("preset = \"{}\"", preset.as_str())).unwrap();
            assert_eq!((config, warnings), (Config::of_preset(preset), Vec::new()));
        }
        let error = Config::read("preset = \"mem0\"").unwrap_err().to_string();
        let names = Preset::ALL.map(Preset::as_str);
        assert!(names.iter().all(|name| error.contains(&format!("\"{name}\""))), "{error}");
    }

    #[test]
    fn presets_differ() {
        for (place, one) in Preset::ALL.into_iter().enumerate() {
            for other in &Preset::ALL[..place] {
                let numbers = |preset: Preset| (preset.decay(), Kind::ALL.map(|kind| preset.profile(kind)));
                assert_ne!(numbers(one), numbers(*other), "{one:?} and {other:?}");
            }
        }
    }
}
