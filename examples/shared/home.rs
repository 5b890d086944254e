//! The home that the measuring programs open.

use std::path::Path;

use ebbmark::clock::Clock;
use ebbmark::engine::{Engine, Options};
use ebbmark::id::Randomness;
use jiff::tz::TimeZone;

/// A home with the real clock, and beside it a vault that nobody has.
pub(crate) fn engine(home: &Path) -> Result<Engine, ebbmark::error::Error> {
    Engine::open(Options {
        home: home.to_owned(),
        vault: None,
        default_vault: home.with_extension("vault"),
        user_home: None,
        machine: "bench".into(),
        replica: None,
        clock: Clock::System,
        randomness: Randomness::Os,
        time_zone: TimeZone::UTC,
    })
}
