//! Time as a value: instants, hours and days, and where "now" comes from.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds in a day.
pub const DAY_MS: i64 = 86_400_000;
/// Milliseconds in an hour.
pub const HOUR_MS: i64 = 3_600_000;

/// An instant in UTC, to the millisecond. Written as RFC 3339: `2026-11-29T23:35:00.123Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 2020-01-01: no line of any format is older, so ages are never longer than since then.
    pub const FORMAT_BIRTH: Timestamp = Timestamp(1_577_836_800_000);
    /// The last millisecond of the year 9998: later stamps are read as this one.
    const LAST: i64 = 253_370_764_799_999;

    /// From milliseconds since 1970, clamped to the years 1 to 9998.
    pub fn from_millis(millis: i64) -> Self {
        Timestamp(millis.clamp(-62_135_596_800_000, Self::LAST))
    }

    /// Milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// The instant `millis` later (or earlier, where negative).
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Days from `earlier` to this instant; negative where `earlier` is later.
    pub fn days_since(self, earlier: Timestamp) -> f64 {
        (self.0 - earlier.0) as f64 / DAY_MS as f64
    }

    /// The UTC hour this instant lies in.
    pub fn hour(self) -> Hour {
        Hour(u32::try_from(self.0.div_euclid(HOUR_MS)).unwrap_or(0))
    }

    /// The calendar date in `zone`, as `2026-11-29`.
    pub fn date(self, zone: &TimeZone) -> String {
        zone.to_datetime(self.jiff()).date().to_string()
    }

    /// Reads RFC 3339, or a plain date or time of day in `zone`; of a plain date, `part` of that day.
    pub fn parse_in(text: &str, part: DayPart, zone: &TimeZone) -> Option<Self> {
        let text = text.trim();
        if let Ok(at) = text.parse() {
            return Some(at);
        }
        let civil = match (text.parse::<jiff::civil::Date>(), part) {
            (Ok(date), _) if text.len() > 10 => text.parse().unwrap_or(date.at(12, 0, 0, 0)),
            (Ok(date), DayPart::Start) => date.at(0, 0, 0, 0),
            (Ok(date), DayPart::Noon) => date.at(12, 0, 0, 0),
            (Ok(date), DayPart::End) => date.at(23, 59, 59, 999_000_000),
            (Err(_), _) => text.parse().ok()?,
        };
        // The last days of the calendar lie beyond what has an instant in every zone.
        let millis = zone.to_timestamp(civil).map_or(Self::LAST, jiff::Timestamp::as_millisecond);
        Some(Self::from_millis(millis))
    }

    /// Reads RFC 3339, or a plain date (noon UTC of that day, so that it is the same date in most zones).
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(at) = text.parse() {
            return Some(at);
        }
        let civil = |t: &str| t.parse::<jiff::civil::DateTime>().ok();
        let at = if text.len() <= 10 { text.parse::<jiff::civil::Date>().ok()?.at(12, 0, 0, 0) } else { civil(text)? };
        Some(Self::from_millis(TimeZone::UTC.to_timestamp(at).ok()?.as_millisecond()))
    }

    fn jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.jiff())
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let at: jiff::Timestamp = text.parse()?;
        Ok(Self::from_millis(at.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Timestamp::parse_lenient(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("`{text}` is not a time: write 2026-11-29T23:35:00Z or 2026-11-29"))
        })
    }
}

/// Which instant of a day a plain date means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayPart {
    /// Its first millisecond.
    Start,
    /// Noon: the same date in most zones.
    Noon,
    /// Its last millisecond.
    End,
}

/// A UTC hour: the unit in which uses are counted. Written as `2026-11-29T23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(pub u32);

impl Hour {
    /// The instant at which the hour begins.
    pub fn start(self) -> Timestamp {
        Timestamp::from_millis(i64::from(self.0) * HOUR_MS)
    }

    /// Number of the UTC day, counted from 1970.
    pub fn day(self) -> u32 {
        self.0 / 24
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.start().to_string();
        f.write_str(text.get(..13).unwrap_or(&text))
    }
}

impl Serialize for Hour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hour {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        format!("{text}:00:00Z")
            .parse::<Timestamp>()
            .map(Timestamp::hour)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is not an hour like 2026-11-29T23")))
    }
}

/// Where "now" comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The system's wall clock.
    System,
    /// A fixed instant, for tests and demos.
    Fixed(Timestamp),
    /// Milliseconds since 1970 that somebody else moves, for tests of what happens as time goes by.
    Moved(Arc<AtomicI64>),
}

impl Clock {
    /// The current instant.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()),
            Clock::Fixed(at) => *at,
            Clock::Moved(millis) => Timestamp::from_millis(millis.load(Ordering::SeqCst)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_and_write_the_same_text() {
        let at: Timestamp = "2026-11-29T23:35:00.123Z".parse().unwrap();
        assert_eq!(at.to_string(), "2026-11-29T23:35:00.123Z");
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!("2026-11-29T23:35:00+02:00".parse::<Timestamp>().unwrap().to_string(), "2026-11-29T21:35:00.000Z");
        assert_eq!(Timestamp::parse_lenient("2026-11-29").unwrap().to_string(), "2026-11-29T12:00:00.000Z");
        assert_eq!(Timestamp::parse_lenient("2026-11-29T08:30").unwrap().to_string(), "2026-11-29T08:30:00.000Z");
        assert_eq!(Timestamp::parse_lenient("next tuesday"), None);
    }

    #[test]
    fn a_plain_date_means_the_part_of_the_day_that_is_asked_for() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let read = |text, part| Timestamp::parse_in(text, part, &zone).map(|at| at.to_string());
        assert_eq!(read("2026-11-30", DayPart::Start).as_deref(), Some("2026-11-29T22:00:00.000Z"));
        assert_eq!(read("2026-11-30", DayPart::Noon).as_deref(), Some("2026-11-30T10:00:00.000Z"));
        assert_eq!(read("2026-11-30", DayPart::End).as_deref(), Some("2026-11-30T21:59:59.999Z"));
        assert_eq!(read("2026-11-30T08:30", DayPart::End).as_deref(), Some("2026-11-30T06:30:00.000Z"));
        assert_eq!(read("2026-11-30T08:30:00Z", DayPart::End).as_deref(), Some("2026-11-30T08:30:00.000Z"));
        assert_eq!(read("soon", DayPart::Noon), None);
    }

    #[test]
    fn hours_are_whole_and_readable() {
        let at: Timestamp = "2026-11-29T23:35:00.123Z".parse().unwrap();
        assert_eq!(at.hour().to_string(), "2026-11-29T23");
        assert_eq!(serde_json::from_str::<Hour>("\"2026-11-29T23\"").unwrap(), at.hour());
        assert_eq!(at.hour().start().to_string(), "2026-11-29T23:00:00.000Z");
    }

    #[test]
    fn absurd_instants_are_clamped_not_refused() {
        for millis in [i64::MIN, -1, 0, i64::MAX] {
            let at = Timestamp::from_millis(millis);
            assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
            assert!(at.plus_millis(i64::MAX) >= at);
        }
    }
}
