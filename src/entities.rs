//! Who and what a text is about: names, found without a model.
//!
//! First the names that are known, then what a pattern shows to be one: a capital inside a sentence, "my sister Ana",
//! `@handles`, hosts, code, versions, honorifics. A wrong name makes a wrong link, a missed one can be given by the
//! caller: so in doubt a word is no name, least of all at the start of a sentence or in a language that writes its
//! nouns with capitals. See `docs/entities.md`.

use serde::{Deserialize, Serialize};

use crate::words::{fold, is_stop_word, is_unspaced};

pub use names::{Mention, Names};
use rules::RULES;

mod names;
mod rules;
mod spaced;
mod unspaced;

/// Entities that are found in one text, at most.
pub const MAX_FOUND: usize = 8;
/// Bytes of a text that are read for names; what is said later is rarely what it is about.
const MAX_BYTES: usize = 4096;

/// What an entity is, where that is evident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A person, or a pet.
    Person,
    /// Something that is being worked on.
    Project,
    /// A program, language or device.
    Tool,
    /// A town, country, region.
    Place,
    /// A company, school, authority.
    Organisation,
    /// What is talked about.
    Topic,
}

impl EntityKind {
    /// Every kind.
    pub const ALL: [EntityKind; 6] = [
        EntityKind::Person,
        EntityKind::Project,
        EntityKind::Tool,
        EntityKind::Place,
        EntityKind::Organisation,
        EntityKind::Topic,
    ];

    /// The word used everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            EntityKind::Person => "person",
            EntityKind::Project => "project",
            EntityKind::Tool => "tool",
            EntityKind::Place => "place",
            EntityKind::Organisation => "organisation",
            EntityKind::Topic => "topic",
        }
    }

    fn named(name: &str) -> Option<EntityKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A name found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// The name, spelled as it is known.
    pub name: String,
    /// What it is, where that is evident.
    pub kind: Option<EntityKind>,
}

/// A name with its place in the text.
#[derive(Debug, Clone)]
struct Found {
    start: usize,
    end: usize,
    name: String,
    kind: Option<EntityKind>,
}

/// The entities of a text, in order, at most [`MAX_FOUND`]; `known` are the names known before,
/// the first list first. No name twice.
pub fn extract(text: &str, known: &[&Names]) -> Vec<Entity> {
    let text =
        text.char_indices().find(|(at, _)| *at >= MAX_BYTES).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    let is_unspaced_text = text.contains(is_unspaced);
    let mut patterns = spaced::read(text, is_unspaced_text);
    if is_unspaced_text {
        patterns.extend(unspaced::read(text));
    }
    // What is known comes first, unless a pattern shows that it is part of a longer name.
    let mut all: Vec<Found> = known
        .iter()
        .flat_map(|names| names.find(text))
        .map(|Mention { start, end, name }| Found { start, end, name, kind: None })
        .filter(|mention| is_name(&mention.name))
        .filter(|mention| {
            let holds = |other: &Found| {
                other.start <= mention.start
                    && mention.end <= other.end
                    && other.end - other.start > mention.end - mention.start
            };
            !patterns.iter().any(holds)
        })
        .collect();
    for mut found in patterns {
        let overlapping = all.iter_mut().find(|other| other.start < found.end && found.start < other.end);
        if let Some(other) = overlapping {
            other.kind = other.kind.or(found.kind);
            continue;
        }
        if let Some(name) = known.iter().find_map(|names| names.resolve(&found.name)) {
            found.name = name;
        }
        if is_name(&found.name) {
            all.push(found);
        }
    }
    // "Melanie (Mel)": the short form is no one else.
    let aliases = aliases(text);
    all.retain(|found| {
        !aliases.iter().any(|(short, long)| *short == found.name && text.contains(&format!("{long} (")))
    });
    all.sort_by_key(|found| (found.start, std::cmp::Reverse(found.end)));
    let mut entities: Vec<Entity> = Vec::new();
    for Found { name, kind, .. } in all {
        let folded = fold(&name);
        let kind = kind.or_else(|| RULES.kind_of(&folded));
        if let Some(entity) = entities.iter_mut().find(|entity| fold(&entity.name) == folded) {
            entity.kind = entity.kind.or(kind);
        } else if entities.len() < MAX_FOUND {
            entities.push(Entity { name, kind });
        }
    }
    entities
}

/// Short forms that a text gives beside the long one, as (short, long): "Melanie (Mel)", "Melanie, also known as Mel";
/// and a new name beside the old one, as (old, new): "Falcon is now called Kestrel".
pub fn aliases(text: &str) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    for (at, _) in text.match_indices(" (").take(MAX_FOUND) {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + 2..).unwrap_or_default());
        let Some((inside, _)) = after.split_once(')') else { continue };
        let Some(long) = last_name(before) else { continue };
        if is_one_name(inside) && is_short_for(inside, &long) {
            aliases.push((inside.to_owned(), long));
        }
    }
    for (phrase, is_rename) in [
        (" is now called ", true),
        (" was renamed to ", true),
        (" has been renamed to ", true),
        (" heißt jetzt ", true),
        (" ahora se llama ", true),
        (" s'appelle maintenant ", true),
        (", also known as ", false),
        (", also called ", false),
        (", known as ", false),
    ] {
        let Some((before, after)) = text.split_once(phrase) else { continue };
        let after = after.split(['.', ',', ';', '!', '?', '\n', '(']).next().unwrap_or_default().trim();
        let Some(first) = last_name(before).filter(|_| is_one_name(after)) else { continue };
        aliases.push(if is_rename { (first, after.to_owned()) } else { (after.to_owned(), first) });
    }
    aliases
}

/// The capitalised words that end a text.
fn last_name(text: &str) -> Option<String> {
    let words = text
        .rsplit(' ')
        .take_while(|word| word.starts_with(char::is_uppercase) && !word.ends_with([',', '.', ':', ';']));
    let mut words: Vec<&str> = words.take(4).collect();
    words.reverse();
    while words.first().is_some_and(|word| RULES.is_function_word(&fold(word))) {
        words.remove(0);
    }
    let name = words.join(" ");
    is_one_name(&name).then_some(name)
}

/// One to four words with capitals.
fn is_one_name(name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').collect();
    let is_capital = |word: &&str| {
        word.starts_with(char::is_uppercase)
            && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '.'))
    };
    words.len() <= 4 && words.iter().all(is_capital) && is_name(name)
}

/// Whether `short` may stand for `long`: its beginning, or its initials.
fn is_short_for(short: &str, long: &str) -> bool {
    let (short, folded) = (fold(short), fold(long));
    let initials: String = folded.split(' ').filter_map(|word| word.chars().next()).collect();
    short != folded && (folded.starts_with(&short) || short == initials && short.len() > 1)
}

/// Whether it can be a name at all.
fn is_name(name: &str) -> bool {
    let Some(key) = names::key(name) else { return false };
    let folded = fold(name);
    !RULES.has("never", &folded) && !is_stop_word(&key) && name.chars().count() > 1
}

#[cfg(test)]
mod tests;
