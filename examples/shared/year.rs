//! A year of one person's use: what they tell, and what of it they ask for later.
//!
//! Written before any number of a preset was looked at, and not changed since. Days of use are nine in ten working
//! days and one in three days of a weekend; two holidays of two weeks have none. Told are, all through the year:
//!
//! | what | how many | asked again |
//! |---|---|---|
//! | facts of a person and their world | 70 | four in five: after 45 days on the median, again and again |
//! | preferences | 50 | nine in ten: after 20 days on the median, again and again |
//! | dates that come once a year | 15 | at their date, from then on half a year later with one in three |
//! | procedures | 25 | four in five: after 35 days on the median |
//! | feedback | 20 | half: after 40 days on the median |
//! | decisions and states of 9 projects of 3 to 8 weeks | 4 to 8 and 5 to 10 each | every 5 days while it lasts; three projects come back after 5 to 7 months for two weeks |
//! | events | 60 | two in five: once or twice within weeks |
//! | questions | 120 | one in seven within ten days; one in twenty every week from then on |
//! | chatter | 0 to 5 on each day of use | never; one in twelve is used in two to eight hours of its own day |
//!
//! Gaps are log-normal (σ 0.8). One memory in twenty is heard as any kind at random and one in ten as a note, as
//! agents and rules mishear. Whoever is asked for is used; one question in twelve counts as a use of some other memory
//! as well, whichever is active.

use std::collections::BTreeMap;

use ebbmark::clock::{DAY_MS, HOUR_MS, Timestamp};
use ebbmark::config::Config;
use ebbmark::id::MemoryId;
use ebbmark::kinds::Kind::{
    self, Context, Decision, Event, Fact, Feedback, Note, OneTime, Preference, Question, Skill,
};
use ebbmark::memory::{Memory, NoteRef, Status};

/// Days of the year.
const DAYS: i64 = 365;
/// Chatter that was told so many days before the end has had its time.
const OLD_DAYS: f64 = 90.0;

/// A repeatable source of numbers (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn is(&mut self, chance: f64) -> bool {
        self.share() < chance
    }

    /// Both ends included.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    /// Log-normal with this median.
    fn gap(&mut self, median_days: f64) -> f64 {
        let normal = (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos();
        (median_days * (0.8 * normal).exp()).max(1.0)
    }
}

/// Something that is told, and when it is needed.
struct Told {
    class: &'static str,
    /// The kind as it is heard.
    kind: Kind,
    at: Timestamp,
    project: Option<String>,
    /// Uses on its own day that are part of telling it.
    burst: Vec<Timestamp>,
    /// When it is asked for on later days, and in which project.
    asked: Vec<(Timestamp, Option<String>)>,
}

/// The year as it is written down.
struct Year {
    dice: Dice,
    start: Timestamp,
    days_of_use: Vec<bool>,
    told: Vec<Told>,
}

impl Year {
    fn new(seed: u64) -> Year {
        let mut dice = Dice(seed.wrapping_mul(0x5851_F42D_4C95_7F2D));
        let holidays = [dice.between(80, 130), dice.between(190, 240)];
        let is_holiday = |day: i64| holidays.iter().any(|from| (*from..from + 14).contains(&day));
        let days_of_use = (0..DAYS).map(|day| dice.is(if day % 7 < 5 { 0.9 } else { 0.33 }) && !is_holiday(day));
        let days_of_use = days_of_use.collect();
        let start = "2026-01-01T00:00:00Z".parse().unwrap_or_default();
        let mut year = Year { dice, start, days_of_use, told: Vec::new() };
        year.write();
        year.told.sort_by_key(|told| told.at);
        year
    }

    fn instant(&self, day: i64, hour: i64) -> Timestamp {
        self.start.plus_millis(day * DAY_MS + hour * HOUR_MS)
    }

    /// The next day of use from `day` on.
    fn day_of_use(&self, day: i64) -> Option<i64> {
        (day.max(0)..DAYS).find(|day| self.days_of_use[*day as usize])
    }

    fn any_day_of_use(&mut self) -> i64 {
        loop {
            let day = self.dice.between(0, DAYS - 1);
            if self.days_of_use[day as usize] {
                return day;
            }
        }
    }

    fn heard(&mut self, kind: Kind) -> Kind {
        match self.dice.share() {
            share if share < 0.05 => Kind::ALL[self.dice.between(0, 11) as usize],
            share if share < 0.15 => Note,
            _ => kind,
        }
    }

    fn tell(&mut self, class: &'static str, kind: Kind, day: i64, project: Option<&str>, asked_on: &[i64]) {
        let hour = self.dice.between(8, 19);
        let mut days: Vec<i64> = asked_on.iter().filter_map(|asked| self.day_of_use((*asked).max(day + 1))).collect();
        days.dedup();
        let mut asked = Vec::new();
        for day in days {
            let elsewhere = self.dice.is(0.3).then(|| format!("project:p{}", self.dice.between(0, 8)));
            let project = project.map(|project| format!("project:{project}")).or(elsewhere);
            let hour = self.dice.between(8, 19);
            asked.push((self.instant(day, hour), project));
        }
        let kind = self.heard(kind);
        let at = self.instant(day, hour);
        self.told.push(Told { class, kind, at, project: project.map(str::to_owned), burst: Vec::new(), asked });
    }

    /// Days of asking that follow one another with this median gap.
    fn again_and_again(&mut self, from: i64, median_days: f64) -> Vec<i64> {
        let mut at = from as f64;
        let mut days = Vec::new();
        loop {
            at += self.dice.gap(median_days);
            if at >= DAYS as f64 {
                return days;
            }
            days.push(at as i64);
        }
    }

    fn write(&mut self) {
        for (class, kind, count, asked, median) in [
            ("fact", Fact, 70, 0.8, 45.0),
            ("preference", Preference, 50, 0.9, 20.0),
            ("procedure", Skill, 25, 0.8, 35.0),
            ("feedback", Feedback, 20, 0.5, 40.0),
        ] {
            for _ in 0..count {
                let day = self.any_day_of_use();
                let days = if self.dice.is(asked) { self.again_and_again(day, median) } else { Vec::new() };
                self.tell(class, kind, day, None, &days);
            }
        }
        for _ in 0..15 {
            let (day, date) = (self.any_day_of_use(), self.dice.between(0, DAYS - 1));
            let kind = if self.dice.is(0.7) { Fact } else { Event };
            let mut days: Vec<i64> = (date > day).then_some(date).into_iter().collect();
            if self.dice.is(0.33) {
                days.push(day + self.dice.between(150, 210));
            }
            days.retain(|day| *day < DAYS);
            days.sort_unstable();
            self.tell("yearly date", kind, day, None, &days);
        }
        for number in 0..9 {
            self.project(number);
        }
        for _ in 0..60 {
            let day = self.any_day_of_use();
            let mut days = Vec::new();
            if self.dice.is(0.4) {
                let mut at = day;
                for _ in 0..self.dice.between(1, 2) {
                    at += self.dice.gap(12.0) as i64;
                    days.push(at);
                }
            }
            self.tell("event", Event, day, None, &days);
        }
        for _ in 0..120 {
            let day = self.any_day_of_use();
            let days = match self.dice.share() {
                share if share < 0.05 => self.again_and_again(day, 7.0),
                share if share < 0.19 => vec![day + self.dice.between(1, 10)],
                _ => Vec::new(),
            };
            self.tell("question", Question, day, None, &days);
        }
        for day in 0..DAYS {
            if self.days_of_use[day as usize] {
                for _ in 0..self.dice.between(0, 5) {
                    self.chat(day);
                }
            }
        }
    }

    fn project(&mut self, number: i64) {
        let name = format!("p{number}");
        let (first, length) = (self.dice.between(0, DAYS - 30), self.dice.between(21, 56));
        let comes_back = (number < 3).then(|| first + self.dice.between(150, 210));
        let kinds = [(Decision, self.dice.between(4, 8)), (Context, self.dice.between(5, 10))];
        for (kind, count) in kinds {
            for _ in 0..count {
                let day = first + self.dice.between(0, length * 2 / 3);
                let Some(day) = self.day_of_use(day) else { continue };
                let mut days = self.again_and_again(day, 5.0);
                days.retain(|day| *day < first + length);
                if let Some(back) = comes_back {
                    let again = self.again_and_again(back, 5.0);
                    days.extend(again.into_iter().filter(|day| *day < back + 14));
                }
                self.tell("project", kind, day, Some(&name), &days);
            }
        }
    }

    fn chat(&mut self, day: i64) {
        let kind = match self.dice.share() {
            share if share < 0.40 => Note,
            share if share < 0.65 => Question,
            share if share < 0.85 => OneTime,
            share if share < 0.93 => Context,
            share if share < 0.98 => Event,
            _ => Fact,
        };
        self.tell("chatter", kind, day, None, &[]);
        if self.dice.is(1.0 / 12.0) {
            let hours = self.dice.between(2, 8);
            let Some(told) = self.told.last_mut() else { return };
            told.burst = (1..=hours).map(|hour| told.at.plus_millis(hour * HOUR_MS / 2)).collect();
            told.burst.retain(|at| at.hour().day() == told.at.hour().day());
        }
    }
}

/// What a year came to under one configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Memories that were told, and what of them is active, faded and promoted at the end.
    pub(crate) told: u32,
    pub(crate) active: u32,
    pub(crate) faded: u32,
    pub(crate) promoted: u32,
    /// Promoted though it was never asked for on a later day.
    pub(crate) promoted_chatter: u32,
    /// Promoted from the uses of a single day.
    pub(crate) promoted_from_one_day: u32,
    /// Questions, and those whose memory had faded.
    pub(crate) asked: u32,
    pub(crate) missed: u32,
    /// The same by what was asked for.
    pub(crate) by_class: BTreeMap<&'static str, (u32, u32)>,
    /// Chatter, and what of it is active at the end.
    pub(crate) chatter: u32,
    pub(crate) chatter_active: u32,
    /// Of the chatter that is older than 90 days.
    pub(crate) old_chatter: u32,
    pub(crate) old_chatter_active: u32,
}

impl Outcome {
    /// Questions whose memory had faded, of all questions.
    pub(crate) fn false_forgetting(&self) -> f64 {
        f64::from(self.missed) / f64::from(self.asked.max(1))
    }

    /// Chatter that is still active, of the chatter that is older than 90 days.
    pub(crate) fn junk(&self) -> f64 {
        f64::from(self.old_chatter_active) / f64::from(self.old_chatter.max(1))
    }

    /// Chatter that is still active, of all chatter: also yesterday's.
    pub(crate) fn junk_with_fresh(&self) -> f64 {
        f64::from(self.chatter_active) / f64::from(self.chatter.max(1))
    }

    /// Chatter among what is active.
    pub(crate) fn junk_of_active(&self) -> f64 {
        f64::from(self.chatter_active) / f64::from(self.active.max(1))
    }

    /// Both years.
    pub(crate) fn and(mut self, other: &Outcome) -> Outcome {
        for (own, other) in [
            (&mut self.told, other.told),
            (&mut self.active, other.active),
            (&mut self.faded, other.faded),
            (&mut self.promoted, other.promoted),
            (&mut self.promoted_chatter, other.promoted_chatter),
            (&mut self.promoted_from_one_day, other.promoted_from_one_day),
            (&mut self.asked, other.asked),
            (&mut self.missed, other.missed),
            (&mut self.chatter, other.chatter),
            (&mut self.chatter_active, other.chatter_active),
            (&mut self.old_chatter, other.old_chatter),
            (&mut self.old_chatter_active, other.old_chatter_active),
        ] {
            *own += other;
        }
        for (class, (asked, missed)) in &other.by_class {
            let own = self.by_class.entry(class).or_default();
            (own.0, own.1) = (own.0 + asked, own.1 + missed);
        }
        self
    }
}

/// What happens at an instant, in this order.
enum Happens {
    Told(usize),
    Used(usize),
    Asked(usize, Option<String>),
    Tidied,
}

fn use_it(memory: &mut Memory, at: Timestamp, context: Option<String>) {
    let uses = &mut memory.uses;
    if let Err(place) = uses.hours.binary_search(&at.hour()) {
        uses.hours.insert(place, at.hour());
    }
    match uses.mentions.first_mut() {
        Some((_, mentions)) => *mentions += 1,
        None => uses.mentions.push((0, 1)),
    }
    if let Some(context) = context
        && let Err(place) = uses.contexts.binary_search(&context)
    {
        uses.contexts.insert(place, context);
    }
}

/// Plays the year of `seed` under `config`, with the library's own scores, statuses and reasons for promotion.
pub(crate) fn play(config: &Config, seed: u64) -> Outcome {
    let year = Year::new(seed);
    let mut dice = Dice(seed ^ 0xA5A5_5A5A);
    let mut happens: Vec<(Timestamp, Happens)> = Vec::new();
    for (place, told) in year.told.iter().enumerate() {
        happens.push((told.at, Happens::Told(place)));
        happens.extend(told.burst.iter().map(|at| (*at, Happens::Used(place))));
        happens.extend(told.asked.iter().map(|(at, context)| (*at, Happens::Asked(place, context.clone()))));
    }
    for day in (0..DAYS).filter(|day| year.days_of_use[*day as usize]) {
        happens.push((year.instant(day, 21), Happens::Tidied));
    }
    happens.sort_by_key(|(at, _)| *at);

    let mut outcome = Outcome { told: year.told.len() as u32, ..Outcome::default() };
    let mut memories: Vec<Memory> = Vec::new();
    for (now, happens) in happens {
        match happens {
            Happens::Told(place) => {
                let told = &year.told[place];
                let mut memory = Memory::new(MemoryId::from_source(&format!("{seed} {place}")));
                (memory.kind, memory.created, memory.scope) = (told.kind, told.at, told.project.clone());
                memories.push(memory);
            }
            Happens::Used(place) => use_it(&mut memories[place], now, None),
            Happens::Asked(place, context) => {
                let had_faded = memories[place].status(config, now) == Status::Faded;
                outcome.asked += 1;
                outcome.missed += u32::from(had_faded);
                let class = outcome.by_class.entry(year.told[place].class).or_default();
                (class.0, class.1) = (class.0 + 1, class.1 + u32::from(had_faded));
                // What had faded is told again, or restored: that is a use as well.
                use_it(&mut memories[place], now, context);
                if dice.is(1.0 / 12.0) {
                    let other = dice.between(0, memories.len() as i64 - 1) as usize;
                    if memories[other].status(config, now) == Status::Active {
                        use_it(&mut memories[other], now, None);
                    }
                }
            }
            Happens::Tidied => {
                for (memory, told) in memories.iter_mut().zip(&year.told) {
                    if memory.note.is_some() || memory.status(config, now) != Status::Active {
                        continue;
                    }
                    let trace = memory.trace(config);
                    if trace.promotion(&config.decay, memory.uses.contexts.len(), now).is_eligible {
                        outcome.promoted += 1;
                        outcome.promoted_from_one_day += u32::from(trace.days_used() == 1);
                        outcome.promoted_chatter += u32::from(told.asked.is_empty());
                        memory.note = Some(NoteRef {
                            path: String::new(),
                            hash: String::new(),
                            wrote: None,
                            gone: None,
                            is_behind: false,
                        });
                    }
                }
            }
        }
    }
    let end = year.instant(DAYS, 0);
    for (memory, told) in memories.iter().zip(&year.told) {
        let is_active = memory.status(config, end) == Status::Active;
        outcome.active += u32::from(is_active);
        outcome.faded += u32::from(!is_active);
        if told.class == "chatter" {
            let is_old = end.days_since(told.at) > OLD_DAYS;
            outcome.chatter += 1;
            outcome.chatter_active += u32::from(is_active);
            outcome.old_chatter += u32::from(is_old);
            outcome.old_chatter_active += u32::from(is_old && is_active);
        }
    }
    outcome
}
