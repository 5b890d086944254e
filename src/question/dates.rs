//! The time that a query speaks of: "in May 2023", "on 7 May", "last June", "yesterday", "two weeks ago".

use jiff::Span;
use jiff::civil::{Date, Weekday, date};
use jiff::tz::TimeZone;

use crate::clock::Timestamp;
use crate::words::MONTHS;

const DAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];
/// Years back in which a month without a year is meant.
const YEARS_BACK: i16 = 30;

/// How well a time fits what a query says of time: a step function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dates {
    /// (from, how well it fits from there on), ascending.
    steps: Vec<(i64, f32)>,
}

/// A stretch of time and how well what is dated in it fits.
struct Stretch {
    from: i64,
    until: i64,
    fit: f32,
}

impl Dates {
    /// Reads what a query says of time, as meant at `now` in `zone`.
    pub fn read(text: &str, now: Timestamp, zone: &TimeZone) -> Dates {
        let lower = text.to_lowercase();
        let said: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let Some(today) = local(now, zone) else { return Dates::default() };
        let mut reading = Reading { said: &said, today, zone, stretches: Vec::new(), dated_years: Vec::new() };
        for place in 0..said.len() {
            reading.month(place);
            reading.numbers(place);
            reading.relative(place);
        }
        Dates::of(&reading.stretches)
    }

    fn of(stretches: &[Stretch]) -> Dates {
        let mut edges: Vec<i64> = stretches.iter().flat_map(|stretch| [stretch.from, stretch.until]).collect();
        edges.sort_unstable();
        edges.dedup();
        let best = |at: i64| {
            let over = stretches.iter().filter(|stretch| (stretch.from..stretch.until).contains(&at));
            over.map(|stretch| stretch.fit).fold(0.0, f32::max)
        };
        Dates { steps: edges.into_iter().map(|edge| (edge, best(edge))).collect() }
    }

    /// Whether the query says nothing of time.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How well a time fits, 0 to 1: 1 on the day or in the month, less somewhat later, since things are told
    /// afterwards.
    pub fn fit(&self, at: Timestamp) -> f32 {
        let after = self.steps.partition_point(|(from, _)| *from <= at.millis());
        after.checked_sub(1).map_or(0.0, |step| self.steps[step].1)
    }
}

fn local(now: Timestamp, zone: &TimeZone) -> Option<Date> {
    let at = jiff::Timestamp::from_millisecond(now.millis()).ok()?;
    Some(zone.to_datetime(at).date())
}

/// A query while it is read.
struct Reading<'a> {
    said: &'a [&'a str],
    today: Date,
    zone: &'a TimeZone,
    stretches: Vec<Stretch>,
    /// Years that a month was named with: they alone say no more.
    dated_years: Vec<i16>,
}

impl Reading<'_> {
    /// "May 2023", "7 May", "May 7th, 2023", "in May", "last May".
    fn month(&mut self, place: usize) {
        let word = self.said[place];
        let before = place.checked_sub(1).map(|before| self.said[before]).unwrap_or_default();
        let Some(month) = MONTHS.iter().position(|name| *name == word || word.len() == 3 && name.starts_with(word))
        else {
            return;
        };
        let month = month as i8 + 1;
        let (mut day, mut year) = (None, None);
        for other in [place.checked_sub(1), place.checked_sub(2), Some(place + 1), Some(place + 2)] {
            let Some(said) = other.and_then(|other| self.said.get(other)) else { continue };
            match number(said) {
                Some(number @ 1901..=2099) => year = year.or(Some(number as i16)),
                Some(number @ 1..=31) => day = day.or(Some(number as i8)),
                _ => {}
            }
        }
        let leads = [
            "in", "of", "last", "this", "next", "since", "early", "late", "mid", "during", "until", "by", "before",
            "after",
        ];
        let is_word_too =
            ["may", "march", "mar", "sun", "dec", "jan", "sep", "oct", "jun", "jul", "nov", "apr", "aug", "feb"];
        if is_word_too.contains(&word) && day.is_none() && year.is_none() && !leads.contains(&before) {
            return;
        }
        self.dated_years.extend(year);
        let year = year.or(match before {
            "last" => Some(self.today.year() - i16::from(month >= self.today.month())),
            "this" => Some(self.today.year()),
            "next" => Some(self.today.year() + i16::from(month <= self.today.month())),
            _ => None,
        });
        let years = match year {
            Some(year) => year..=year,
            None => self.today.year() - YEARS_BACK..=self.today.year() + 1,
        };
        for year in years {
            match day {
                Some(day) => self.day(Date::new(year, month, day).ok()),
                None => self.whole_month(Date::new(year, month, 1).ok()),
            }
        }
    }

    /// "2023" and "2023-05-08".
    fn numbers(&mut self, place: usize) {
        let at = |place: usize| self.said.get(place).copied().filter(|said| said.bytes().all(|b| b.is_ascii_digit()));
        let Some(year @ 1901..=2099) = at(place).filter(|said| said.len() == 4).and_then(number) else { return };
        let whole =
            |said: Option<&str>| said.filter(|said| said.len() == 2).and_then(number).map(|number| number as i8);
        match (whole(at(place + 1)), whole(at(place + 2))) {
            (Some(month), Some(day)) if Date::new(year as i16, month, day).is_ok() => {
                self.day(Date::new(year as i16, month, day).ok());
            }
            _ if self.dated_years.contains(&(year as i16)) => {}
            _ => {
                let year = year as i16;
                self.stretch(Some(date(year, 1, 1)), Some(date(year + 1, 1, 1)), 0.3);
            }
        }
    }

    /// "yesterday", "last week", "three days ago", "on Tuesday".
    fn relative(&mut self, place: usize) {
        let word = self.said[place];
        let before = |back: usize| place.checked_sub(back).map(|before| self.said[before]).unwrap_or_default();
        let today = self.today;
        let days = |count: i64| today.checked_sub(Span::new().days(count)).ok();
        let monday = days(i64::from(today.weekday().to_monday_zero_offset()));
        match word {
            "today" | "tonight" => self.day(Some(today)),
            "yesterday" => self.day(days(1)),
            "ago" => {
                let count = match before(2) {
                    "a" | "an" | "one" => Some(1),
                    "couple" => Some(2),
                    "few" => Some(3),
                    said => count_word(said).or_else(|| number(said).map(i64::from)),
                };
                let Some(count) = count.filter(|count| (1..=999).contains(count)) else { return };
                match before(1) {
                    "day" | "days" => self.day(days(count)),
                    "week" | "weeks" => self.week(days(7 * count)),
                    "month" | "months" => self.whole_month(months_back(today, count)),
                    "year" | "years" => self.year(i64::from(today.year()) - count),
                    _ => {}
                }
            }
            "week" | "weekend" if before(1) == "last" => {
                self.week(monday.and_then(|monday| monday.checked_sub(Span::new().days(7)).ok()));
            }
            "week" | "weekend" if before(1) == "this" => self.week(monday),
            "month" if before(1) == "last" => self.whole_month(months_back(today, 1)),
            "month" if before(1) == "this" => self.whole_month(months_back(today, 0)),
            "year" if before(1) == "last" => self.year(i64::from(today.year()) - 1),
            "year" if before(1) == "this" => self.year(i64::from(today.year())),
            _ => {
                let Some((_, weekday)) = DAYS.iter().find(|(name, _)| *name == word) else { return };
                if ["last", "on", "since", "this", "past"].contains(&before(1)) {
                    let back = (today.weekday().to_monday_zero_offset() + 7 - weekday.to_monday_zero_offset()) % 7;
                    let back = if back == 0 && before(1) == "last" { 7 } else { back };
                    self.day(days(i64::from(back)));
                }
            }
        }
    }

    fn day(&mut self, day: Option<Date>) {
        let Some(day) = day else { return };
        let plus = |days: i64| day.checked_add(Span::new().days(days)).ok();
        self.stretch(plus(-1), plus(32), 0.4);
        self.stretch(plus(0), plus(8), 0.7);
        self.stretch(plus(0), plus(1), 1.0);
    }

    fn week(&mut self, first: Option<Date>) {
        let Some(first) = first else { return };
        let plus = |days: i64| first.checked_add(Span::new().days(days)).ok();
        self.stretch(plus(0), plus(14), 0.7);
        self.stretch(plus(0), plus(7), 1.0);
    }

    fn whole_month(&mut self, first: Option<Date>) {
        let Some(first) = first else { return };
        let plus = |months: i64| first.checked_add(Span::new().months(months)).ok();
        self.stretch(plus(0), plus(2), 0.5);
        self.stretch(plus(0), plus(1), 1.0);
    }

    fn year(&mut self, year: i64) {
        if let Ok(year @ 1901..=2099) = i16::try_from(year) {
            self.stretch(Some(date(year, 1, 1)), Some(date(year + 1, 1, 1)), 0.3);
        }
    }

    fn stretch(&mut self, from: Option<Date>, until: Option<Date>, fit: f32) {
        let midnight = |day: Option<Date>| Some(self.zone.to_timestamp(day?.at(0, 0, 0, 0)).ok()?.as_millisecond());
        if let (Some(from), Some(until)) = (midnight(from), midnight(until)) {
            self.stretches.push(Stretch { from, until, fit });
        }
    }
}

fn months_back(today: Date, months: i64) -> Option<Date> {
    date(today.year(), today.month(), 1).checked_sub(Span::new().months(months)).ok()
}

/// A whole number, with or without `st`, `nd`, `rd`, `th`.
fn number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
    matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th").then(|| digits.parse().ok())?
}

fn count_word(word: &str) -> Option<i64> {
    const COUNTS: [&str; 11] =
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    COUNTS.iter().position(|count| *count == word).map(|place| place as i64 + 2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "exact values")]

    use super::*;

    /// A Monday.
    const NOW: &str = "2026-11-30T12:00:00Z";

    fn fits(query: &str, at: &str) -> f32 {
        let dates = Dates::read(query, NOW.parse().unwrap(), &TimeZone::UTC);
        dates.fit(Timestamp::parse_lenient(at).unwrap())
    }

    #[test]
    fn what_a_query_says_of_time_is_understood() {
        for (query, at, fit) in [
            ("What happened in May 2023?", "2023-05-31", 1.0),
            ("What happened in May 2023?", "2023-06-01", 0.5),
            ("What happened in May 2023?", "2023-04-30", 0.0),
            ("what did she do on 7 May 2023", "2023-05-07", 1.0),
            ("what did she do on May 7th, 2023", "2023-05-09", 0.7),
            ("what did she do on May 7, 2023", "2023-05-20", 0.4),
            ("on 2023-05-07?", "2023-05-07", 1.0),
            ("events of 2023", "2023-12-31", 0.3),
            ("events of 2023", "2022-12-31", 0.0),
            ("What happened in May 2023?", "2023-12-31", 0.0),
            ("the trip in June", "2019-06-04", 1.0),
            ("the trip last June", "2026-06-30", 1.0),
            ("the trip last June", "2025-06-30", 0.0),
            ("the trip last December", "2025-12-02", 1.0),
            ("what did I say yesterday?", "2026-11-29", 1.0),
            ("last week", "2026-11-23", 1.0),
            ("last week", "2026-11-22", 0.0),
            ("this week", "2026-11-30", 1.0),
            ("last month", "2026-10-31", 1.0),
            ("last year", "2025-03-03", 0.3),
            ("three days ago", "2026-11-27", 1.0),
            ("2 weeks ago", "2026-11-18", 1.0),
            ("a month ago", "2026-10-15", 1.0),
            ("on Saturday", "2026-11-28", 1.0),
            ("last Monday", "2026-11-23", 1.0),
            ("on Feb 30 2023", "2023-02-28", 0.0),
        ] {
            assert!((fits(query, at) - fit).abs() < 1e-6, "{query} and {at}: {}", fits(query, at));
        }
    }

    #[test]
    fn most_queries_say_nothing_of_time() {
        for query in [
            "",
            "May I ask who likes tea?",
            "the march of the penguins",
            "room 2 of 40",
            "port 8080",
            "ago",
            "sun and sea",
        ] {
            assert!(Dates::read(query, NOW.parse().unwrap(), &TimeZone::UTC).is_empty(), "{query}");
        }
        let far = Timestamp::from_millis(i64::MAX);
        assert!(Dates::read("yesterday and 9999 years ago in May", far, &TimeZone::UTC).fit(far) >= 0.0);
    }

    #[test]
    fn days_begin_at_midnight_where_the_person_is() {
        let zone = TimeZone::fixed(jiff::tz::offset(9));
        let dates = Dates::read("yesterday", "2026-11-30T16:00:00Z".parse().unwrap(), &zone);
        assert_eq!(dates.fit("2026-11-30T14:00:00Z".parse().unwrap()), 1.0);
        assert_eq!(dates.fit("2026-11-29T14:00:00Z".parse().unwrap()), 0.4);
    }
}
