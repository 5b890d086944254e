//! Same, newer or in conflict: what a new memory is to one that is there.
//!
//! A statement fills *slots*: of this subject, that attribute is so. Two statements of one slot with different values
//! cannot both hold, and the later one takes the earlier one's place. A wrong replacement hides a fact, a missed one
//! costs a line in a reply: so a statement has slots only where it was read from the first word to the last, every word
//! that is not the value belongs to the slot, and in doubt two memories are only near. See `docs/judgement.md`.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use jiff::tz::TimeZone;
use rustc_hash::FxHasher;

use crate::clock::Timestamp;
use crate::kinds::Kind;
use crate::similarity::{is_same_fact, same_fact};
use crate::words::is_unspaced;

use contrary::{Contrary, Plain, contrary};
use rules::{Language, RULES, Values};
use value::{Date, Likeness, compare};

mod contrary;
mod noun;
mod rules;
mod spaced;
mod subject;
mod unspaced;
mod value;

/// From this bigram likeness on, two memories are near.
pub const NEAR: f32 = 0.6;
/// Longest text that is read for slots, bytes: one plain statement is shorter.
const MAX_BYTES: usize = 400;

/// What is said of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// That it is so.
    Holds,
    /// That it is not so.
    Not,
    /// That it is so no more.
    Ended,
}

/// What a text says of one attribute of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The attribute, in words: `home`.
    pub attribute: &'static str,
    /// The subject in normal form; `user` for the person whose memory it is.
    pub subject: String,
    /// All else that it depends on, in normal form: `for analytics`.
    pub qualifier: String,
    /// The value as it was written.
    pub value: String,
    /// Whether it is, is not, or is no more.
    pub claim: Claim,
    /// The place of the attribute in the table.
    number: usize,
    /// Statements of two languages are not compared: a name may have one form in each.
    language: Language,
    /// The value as it is compared.
    normal: String,
    /// "now", "switched to": another value was true before.
    changed: bool,
    /// It tells of a change, which may lie in the past, not of a state.
    is_event: bool,
    /// It was named over another, which is part of the qualifier.
    is_ranked: bool,
    /// Since when, where a year is given.
    since: Option<Date>,
}

impl Slot {
    /// The slots of a text; none unless all of it is one plain statement. Linear in its length.
    pub fn read(text: &str) -> Vec<Slot> {
        if text.len() > MAX_BYTES {
            Vec::new()
        } else if text.contains(is_unspaced) {
            unspaced::read(text)
        } else {
            spaced::read(text)
        }
    }

    /// Under which a memory is found by others of the same slot: of language, subject, attribute and qualifier; of an
    /// attribute with many values also of the value. Equal in every process of one build.
    pub fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (self.language, self.number, &self.subject, &self.qualifier).hash(&mut hasher);
        if self.has_many() {
            self.normal.hash(&mut hasher);
        }
        hasher.finish()
    }

    fn has_many(&self) -> bool {
        RULES.attribute(self.number).is_none_or(|attribute| attribute.values == Values::Many)
    }

    fn is_slot_of(&self, other: &Slot) -> bool {
        self.language == other.language
            && self.number == other.number
            && self.subject == other.subject
            && self.qualifier == other.qualifier
            && (!self.has_many() || self.normal == other.normal)
    }

    /// "home of the user".
    fn named(&self) -> String {
        let mut name = self.attribute.to_owned();
        match self.subject.as_str() {
            "" => {}
            "user" => name.push_str(" of the user"),
            subject => _ = write!(name, " of {subject}"),
        }
        if !self.qualifier.is_empty() {
            _ = write!(name, " ({})", self.qualifier);
        }
        name
    }
}

/// A memory as it is judged.
#[derive(Debug, Clone)]
pub struct Statement<'t> {
    /// Its text.
    pub text: &'t str,
    /// What it is about.
    pub kind: Kind,
    /// When it happened, else when it was said.
    pub at: Timestamp,
    slots: Vec<Slot>,
    /// Its words without negation, once they were asked for.
    plain: OnceCell<Option<Plain>>,
}

impl<'t> Statement<'t> {
    /// Reads a memory.
    pub fn new(text: &'t str, kind: Kind, at: Timestamp) -> Self {
        Statement { text, kind, at, slots: Slot::read(text), plain: OnceCell::new() }
    }

    /// Reads a memory that is compared with `new`: its slots count only where `new` has some.
    pub fn older(text: &'t str, kind: Kind, at: Timestamp, new: &Statement) -> Self {
        let slots = if new.slots.is_empty() { Vec::new() } else { Slot::read(text) };
        Statement { text, kind, at, slots, plain: OnceCell::new() }
    }

    /// What it says.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Whether it says something that can be replaced by something newer.
    fn is_lasting(&self) -> bool {
        !matches!(self.kind, Kind::Question | Kind::OneTime | Kind::Interest)
    }
}

/// What a new memory is to one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It says the same.
    Same,
    /// It takes its place.
    Supersedes,
    /// They cannot both hold, and neither is plainly newer.
    Conflicts,
    /// They are alike, and both stay.
    Near,
    /// It is about something else.
    New,
}

/// A [`Relation`] and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// How they relate.
    pub relation: Relation,
    /// Why, in words for a reply.
    pub reason: String,
}

impl Judgement {
    fn new(relation: Relation, reason: impl Into<String>) -> Self {
        Judgement { relation, reason: reason.into() }
    }
}

/// What `new` is to `old`, two memories of one scope and speaker; `likeness` is that of their bigrams, 0 to 1.
pub fn judge(new: &Statement, old: &Statement, likeness: f32) -> Judgement {
    if is_same_fact(new.text, old.text) {
        return Judgement::new(Relation::Same, "only the wording differs");
    }
    let judgement = judge_different(new, old, likeness);
    let difference = same_fact(new.text, old.text).err().filter(|_| judgement.reason.is_empty());
    Judgement { reason: difference.map_or(judgement.reason, |difference| difference.to_string()), ..judgement }
}

/// As [`judge`], for texts that are known not to state the same fact; where nothing but words tells them apart, without
/// a reason.
pub fn judge_different(new: &Statement, old: &Statement, likeness: f32) -> Judgement {
    let by_slots = by_slots(new, old);
    if let Some(judgement) = &by_slots
        && judgement.relation != Relation::Near
    {
        return judgement.clone();
    }
    match contrary(new, old) {
        Some(Contrary::Over) if new.at >= old.at && new.is_lasting() && old.is_lasting() => {
            return Judgement::new(Relation::Supersedes, "says of the same that it is so no more");
        }
        Some(_) => return Judgement::new(Relation::Conflicts, "one says that it is so, the other that it is not"),
        None => {}
    }
    by_slots.unwrap_or_else(|| {
        let relation = if likeness >= NEAR { Relation::Near } else { Relation::New };
        Judgement::new(relation, "")
    })
}

/// What a new slot does to an old one, from weakest to strongest.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// Both may hold.
    Apart,
    /// The same value.
    Agrees(String),
    /// Perhaps the same, perhaps not.
    Unclear(String),
    Contradicts(String),
    Replaces(String),
}

impl Effect {
    fn strength(&self) -> u8 {
        match self {
            Effect::Apart => 0,
            Effect::Agrees(_) => 1,
            Effect::Unclear(_) => 2,
            Effect::Contradicts(_) => 3,
            Effect::Replaces(_) => 4,
        }
    }
}

fn by_slots(new: &Statement, old: &Statement) -> Option<Judgement> {
    let mut effects: Vec<(usize, Effect)> = Vec::new();
    for old_slot in &old.slots {
        let of_slot = new.slots.iter().filter(|new_slot| new_slot.is_slot_of(old_slot));
        let effect = of_slot.map(|new_slot| effect(new_slot, old_slot, new, old)).max_by_key(Effect::strength);
        effects.push((old_slot.number, effect.unwrap_or(Effect::Apart)));
    }
    let strongest = effects.iter().map(|(_, effect)| effect).max_by_key(|effect| effect.strength())?;
    Some(match strongest {
        Effect::Apart => return None,
        Effect::Agrees(why) | Effect::Unclear(why) => Judgement::new(Relation::Near, why.clone()),
        Effect::Contradicts(why) => Judgement::new(Relation::Conflicts, why.clone()),
        Effect::Replaces(why) => {
            let replaced = |name: &str| {
                let named =
                    effects.iter().filter(|(number, _)| RULES.attribute(*number).is_some_and(|a| a.name == name));
                named.into_iter().any(|(_, effect)| matches!(effect, Effect::Replaces(_)))
            };
            // The rest of what the old one says must be said anew, or end with what was replaced.
            let nothing_is_lost = effects.iter().all(|(number, effect)| match effect {
                Effect::Replaces(_) | Effect::Agrees(_) => true,
                Effect::Apart => RULES.attribute(*number).and_then(|attribute| attribute.with).is_some_and(replaced),
                Effect::Unclear(_) | Effect::Contradicts(_) => false,
            });
            let lasting = new.is_lasting() && old.is_lasting();
            match (nothing_is_lost, lasting) {
                (true, true) => Judgement::new(Relation::Supersedes, why.clone()),
                (false, _) => Judgement::new(Relation::Near, format!("{why}; the older one says more")),
                (_, false) => Judgement::new(Relation::Near, format!("{why}; but not as a fact")),
            }
        }
    })
}

fn effect(new: &Slot, old: &Slot, new_said: &Statement, old_said: &Statement) -> Effect {
    let Some(attribute) = RULES.attribute(old.number) else { return Effect::Apart };
    let is_later = new_said.at >= old_said.at;
    let name = new.named();
    let likeness = compare(&new.normal, &old.normal, attribute);
    match (likeness, new.claim, old.claim) {
        (Likeness::Same, a, b) if a == b => Effect::Agrees(format!("both say {name}: {}", new.value)),
        (Likeness::Same, Claim::Ended, Claim::Holds) if is_later && is_recent(new, old, old_said) => {
            Effect::Replaces(format!("{name} is no longer {}", old.value))
        }
        (Likeness::Same, Claim::Ended, Claim::Holds) if new.is_event => {
            Effect::Unclear(format!("{name} is no longer {}, but perhaps that is longer ago", old.value))
        }
        (Likeness::Same, Claim::Holds, Claim::Ended) if is_later && new.changed => {
            Effect::Replaces(format!("{name} is {} again", new.value))
        }
        (Likeness::Same, Claim::Holds, _) | (Likeness::Same, _, Claim::Holds) => {
            Effect::Contradicts(format!("one says {name} is {}, the other that it is not", new.value))
        }
        (Likeness::Unclear, Claim::Holds, Claim::Holds) => {
            Effect::Unclear(format!("{name}: {} and {} may be the same", new.value, old.value))
        }
        (Likeness::Other, Claim::Holds, Claim::Holds) => {
            let values = format!("{name} is {}, was {}", new.value, old.value);
            if !is_alternative(new, old, attribute) {
                Effect::Apart
            } else if attribute.values == Values::Fixed && subject::is_pronoun(&new.subject) {
                Effect::Unclear(format!("{name}: {} or {}, perhaps of two", new.value, old.value))
            } else if attribute.values == Values::Fixed {
                Effect::Contradicts(format!("{name} cannot change: {} or {}", new.value, old.value))
            } else if new.since.is_some() && new.since == old.since {
                Effect::Contradicts(format!("{name} since the same time: {} or {}", new.value, old.value))
            } else if is_later && is_recent(new, old, old_said) {
                Effect::Replaces(values)
            } else if new.is_event {
                Effect::Unclear(format!("{values}, but perhaps that is longer ago"))
            } else {
                Effect::Contradicts(format!("{name}: {} or {}, and neither is plainly newer", new.value, old.value))
            }
        }
        _ => Effect::Apart,
    }
}

/// Whether of two different values only one can be at a time.
fn is_alternative(new: &Slot, old: &Slot, attribute: &rules::Attribute) -> bool {
    let [of_new, of_old] = [new, old].map(|slot| RULES.lists_of(&slot.normal));
    let mut shared = RULES.shared_alternatives(&new.normal, &old.normal);
    match attribute.values {
        Values::Many => false,
        Values::Choice if new.is_ranked => true,
        Values::Choice if new.qualifier.is_empty() => shared.any(|list| attribute.classes.contains(&list)),
        Values::Choice => shared.next().is_some() || new.changed && of_new.is_empty() && of_old.is_empty(),
        Values::One | Values::Fixed => {
            let class = |lists: &[&'static str]| attribute.classes.iter().find(|class| lists.contains(class)).copied();
            class(of_new) == class(of_old)
        }
    }
}

/// Whether what `new` tells of began after `old` was said. A state is told of the time at which it is told; a change may
/// lie long ago, and then must be dated later.
fn is_recent(new: &Slot, old: &Slot, old_said: &Statement) -> bool {
    let Some(began) = new.since.filter(|_| new.is_event) else { return true };
    let starts = |date: Date| date.year.map(|year| (year, date.month.unwrap_or(1)));
    let Some(began) = starts(began) else { return true };
    if let Some(before) = old.since.and_then(starts) {
        return began > before;
    }
    let said = old_said.at.date(&TimeZone::UTC);
    let mut parts = said.split('-').map(|part| part.parse::<u16>().unwrap_or(u16::MAX));
    let (year, month) = (parts.next().unwrap_or(u16::MAX), parts.next().unwrap_or(u16::MAX));
    (began.0, u16::from(began.1)) > (year, month)
}

#[cfg(test)]
mod tests;
