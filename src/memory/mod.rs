//! A memory, its status, and the fold that makes memories out of journal lines.

mod fold;
mod line;
mod record;

use serde::{Deserialize, Serialize};

pub use fold::{
    BY_RULE, CONSOLIDATED_FROM, CONTRADICTS, Contradiction, Edge, OP_KEY_DAYS, OpRecord, SUPERSEDES, State,
    contradiction_hash,
};
pub use line::{By, Compacted, FORMAT_VERSION, Line, Op, Source, Who, Wrote};
pub use record::{Clock, Ended, Purge};

use crate::clock::{DAY_MS, HOUR_MS, Hour, Timestamp};
use crate::config::{Config, KindProfile};
use crate::decay::{Trace, counted};
use crate::id::MemoryId;
use crate::kinds::{Kind, Level};

/// The scope of what holds everywhere.
pub const GLOBAL_SCOPE: &str = "global";

/// How long mneme's first two layers hold, milliseconds.
const WORKING_MS: i64 = 6 * HOUR_MS;
const SHORT_TERM_MS: i64 = 7 * DAY_MS;

/// How a memory stands. Being promoted is not a status: it is having a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is recalled.
    #[default]
    Active,
    /// Its strength ebbed away: hidden, listed, restorable.
    Faded,
    /// Its note was deleted in the vault: hidden, listed, restorable; forgotten after 30 days.
    Vanished,
    /// A newer memory took its place.
    Superseded,
    /// Someone asked to forget it.
    Forgotten,
}

impl Status {
    /// The word used everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Faded => "faded",
            Status::Vanished => "vanished",
            Status::Superseded => "superseded",
            Status::Forgotten => "forgotten",
        }
    }
}

/// The note that a promoted memory has in the vault.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteRef {
    /// Path from the vault's root, with `/`.
    pub path: String,
    /// Hash of its bytes as last seen.
    pub hash: String,
    /// What stood in its frontmatter then.
    pub wrote: Option<Wrote>,
    /// When it was found missing, where it is.
    pub gone: Option<Timestamp>,
    /// Whether something was said of the memory that the note did not show when it was last seen.
    pub is_behind: bool,
}

impl NoteRef {
    /// Whether it lies in the vault, as far as was last seen.
    pub fn is_there(&self) -> bool {
        self.gone.is_none()
    }
}

/// A supersession: which memory took this one's place, and when it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Superseded {
    /// The newer memory.
    pub by: MemoryId,
    /// When it was said.
    pub at: Timestamp,
}

/// How often a memory was used. Hours, contexts and counts unite; nothing here depends on the order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Hours in which it was used, ascending.
    pub hours: Vec<Hour>,
    /// Counted uses beyond the newest 512 hours, per replica.
    pub older: Vec<(u32, u32)>,
    /// Raw mentions, per replica.
    pub mentions: Vec<(u32, u32)>,
    /// Projects and tag sets in which it was used, ascending.
    pub contexts: Vec<String>,
}

impl Uses {
    /// Uses that weigh: of those within `gap_hours` one; with 0 every mention, with 1 every hour that had any.
    pub fn counted(&self, gap_hours: u32) -> u32 {
        if gap_hours == 0 {
            return self.mentioned().max(self.counted(1));
        }
        counted(&self.hours, gap_hours).saturating_add(self.older_count())
    }

    /// Counted uses that are no longer known by hour.
    pub fn older_count(&self) -> u32 {
        self.older.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Raw mentions over all machines.
    pub fn mentioned(&self) -> u32 {
        self.mentions.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// One memory, as folded from the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Its identity.
    pub id: MemoryId,
    /// What is remembered.
    pub text: String,
    /// A title, where it has one.
    pub title: Option<String>,
    /// Its kind as it was told or chosen; [`Memory::current_kind`] is what it has become.
    pub kind: Kind,
    /// Whether its kind was chosen after it was told.
    pub is_kind_chosen: bool,
    /// How general it is.
    pub level: Level,
    /// Tags.
    pub tags: Vec<String>,
    /// Who and what it is about.
    pub entities: Vec<String>,
    /// Other words under which someone might look for it.
    pub keywords: Vec<String>,
    /// Project it belongs to; `None`: global.
    pub scope: Option<String>,
    /// When the event took place.
    pub happened: Option<Timestamp>,
    /// Until when it holds.
    pub valid_until: Option<Timestamp>,
    /// Strength that was set, 0 to 2; `None`: its kind's.
    pub strength: Option<f64>,
    /// Whether it never fades.
    pub is_pinned: bool,
    /// Whether it may be promoted, where a person said so.
    pub trust: Option<bool>,
    /// When it was first told.
    pub created: Timestamp,
    /// Where it comes from, earliest first known.
    pub sources: Vec<Source>,
    /// How often it was used.
    pub uses: Uses,
    /// Its note in the vault, once promoted.
    pub note: Option<NoteRef>,
    /// Whether its note was found missing and nothing told it again since.
    pub is_vanished: bool,
    /// Where its note lies in the trash, once forgotten.
    pub trash: Option<String>,
    /// The memory that took its place.
    pub superseded: Option<Superseded>,
}

impl Memory {
    /// A memory of which nothing is known yet.
    pub fn new(id: MemoryId) -> Self {
        Memory {
            id,
            text: String::new(),
            title: None,
            kind: Kind::default(),
            is_kind_chosen: false,
            level: Level::default(),
            tags: Vec::new(),
            entities: Vec::new(),
            keywords: Vec::new(),
            scope: None,
            happened: None,
            valid_until: None,
            strength: None,
            is_pinned: false,
            trust: None,
            created: Timestamp::default(),
            sources: Vec::new(),
            uses: Uses::default(),
            note: None,
            is_vanished: false,
            trash: None,
            superseded: None,
        }
    }

    /// Whether it has a note that is there.
    pub fn is_promoted(&self) -> bool {
        self.note.as_ref().is_some_and(NoteRef::is_there)
    }

    /// Whether it may be promoted without a person's word.
    pub fn is_trusted(&self) -> bool {
        self.trust.unwrap_or_else(|| self.sources.is_empty() || self.sources.iter().any(Source::is_trusted))
    }

    /// The name of its scope.
    pub fn scope_name(&self) -> &str {
        self.scope.as_deref().unwrap_or(GLOBAL_SCOPE)
    }

    /// When it is about: the event's time, else when it was told.
    pub fn dated(&self) -> Timestamp {
        self.happened.unwrap_or(self.created)
    }

    /// Its kind now: a question, or what matters once, that is used again and again (`interest_uses`) is an interest,
    /// unless its kind was chosen after it was told. Worked out from its uses and nowhere stored, so that all machines
    /// agree whatever they read first, and no line can be lost or come twice.
    pub fn current_kind(&self, config: &Config) -> Kind {
        let enough = config.decay.interest_uses;
        let may_become = matches!(self.kind, Kind::Question | Kind::OneTime) && !self.is_kind_chosen && enough > 0;
        if may_become && self.uses.counted(config.decay.gap_hours) >= enough { Kind::Interest } else { self.kind }
    }

    /// The strength of a new memory of its kind, and its half-life. Whoever becomes an interest is not weaker for it.
    pub fn profile(&self, config: &Config) -> KindProfile {
        let (told, now) = (config.kind_profile(self.kind), config.kind_profile(self.current_kind(config)));
        KindProfile {
            strength: now.strength.max(told.strength),
            half_life_days: now.half_life_days.max(told.half_life_days),
        }
    }

    /// What decay needs to know of it.
    pub fn trace<'a>(&'a self, config: &Config) -> Trace<'a> {
        let profile = self.profile(config);
        Trace {
            strength: self.strength.unwrap_or(profile.strength),
            half_life_days: profile.half_life_days,
            created: self.created,
            hours: &self.uses.hours,
            uses: self.uses.counted(config.decay.gap_hours.min(1)),
            occasions: self.uses.counted(config.decay.gap_hours),
        }
    }

    /// Until when it holds: as was said, or longer where use or importance moved it up (`move_up`).
    ///
    /// What was told for six hours at most holds for seven days more from its third use on, or at once with importance
    /// 7; what was told for seven days at most holds for good from its eighth use on, or with importance 8 (mneme's
    /// layers `working`, `short_term` and `long_term`).
    pub fn holds_until(&self, config: &Config) -> Option<Timestamp> {
        let until = self.valid_until?;
        let told_for = until.millis().saturating_sub(self.created.millis());
        if !config.decay.move_up || !(0..=SHORT_TERM_MS).contains(&told_for) {
            return Some(until);
        }
        let (uses, strength) = (self.uses.counted(config.decay.gap_hours), self.trace(config).strength);
        if uses >= 8 || strength >= 1.6 {
            return None;
        }
        if told_for > WORKING_MS || (uses < 3 && strength < 1.4) {
            return Some(until);
        }
        let third = self.uses.hours.get(2).or(self.uses.hours.last()).map(|hour| hour.start().max(self.created));
        let moved = third.filter(|_| strength < 1.4).unwrap_or(self.created);
        Some(moved.plus_millis(SHORT_TERM_MS).max(until))
    }

    /// A line that tells the whole memory once more, so that no line of another machine can take it away.
    pub fn whole_line(&self, op: Op, supersedes: Vec<MemoryId>) -> Line {
        let list = |values: &Vec<String>| (!values.is_empty()).then(|| values.clone());
        Line {
            again: op == Op::Remember,
            text: Some(self.text.clone()),
            title: self.title.clone(),
            kind: Some(self.kind),
            level: (self.level != Level::default()).then_some(self.level),
            tags: list(&self.tags),
            entities: list(&self.entities),
            keywords: list(&self.keywords),
            scope: self.scope.clone(),
            happened: self.happened,
            valid_until: self.valid_until,
            strength: self.strength,
            pinned: self.is_pinned.then_some(true),
            trusted: self.trust,
            created: Some(self.created),
            supersedes,
            ..Line::about(op, self.id)
        }
    }

    /// Active, faded, vanished or superseded, at `now`.
    pub fn status(&self, config: &Config, now: Timestamp) -> Status {
        if self.superseded.is_some() || self.holds_until(config).is_some_and(|until| until <= now) {
            Status::Superseded
        } else if self.is_vanished {
            Status::Vanished
        } else if self.is_kept_by_rule(now) || !self.trace(config).has_faded(&config.decay, now) {
            Status::Active
        } else {
            Status::Faded
        }
    }

    /// Whether it cannot fade at `now`: pinned, promoted, or dated in the future.
    pub fn is_kept_by_rule(&self, now: Timestamp) -> bool {
        self.is_pinned || self.is_promoted() || self.happened.is_some_and(|at| at > now)
    }
}
