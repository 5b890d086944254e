//! The kinds of memories: their dynamics, their names elsewhere, and a guess at the kind of a text.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use Kind::{
    Context, Correction, Decision, Event, Fact, Feedback, Interest, Note, OneTime, Preference, Question, Skill,
};

/// What a memory is about; decides how strong it starts and how fast it fades.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// How someone likes things to be.
    Preference,
    /// What is so, about a person or the world.
    Fact,
    /// What was settled.
    Decision,
    /// That something said or stored before was wrong.
    Correction,
    /// How something is done: a procedure, a rule, a lesson.
    Skill,
    /// What someone thought of work done.
    Feedback,
    /// What is being worked on.
    Context,
    /// What happened at some time.
    Event,
    /// What someone wants to learn, see or reach.
    Interest,
    /// What is asked or still open.
    Question,
    /// What matters once and then no more.
    OneTime,
    /// Anything else.
    #[default]
    Note,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Kind; 12] =
        [Preference, Fact, Decision, Correction, Skill, Feedback, Context, Event, Interest, Question, OneTime, Note];

    /// The word used in the journal, in notes, on the command line and in tools.
    pub fn as_str(self) -> &'static str {
        match self {
            Preference => "preference",
            Fact => "fact",
            Decision => "decision",
            Correction => "correction",
            Skill => "skill",
            Feedback => "feedback",
            Context => "context",
            Event => "event",
            Interest => "interest",
            Question => "question",
            OneTime => "one_time",
            Note => "note",
        }
    }

    /// Strength of a new memory of this kind, within 0..2, unless the caller or the configuration says otherwise.
    pub fn default_strength(self) -> f64 {
        match self {
            Preference | Decision | Correction | Skill => 1.0,
            Fact | Feedback => 0.9,
            Interest => 0.8,
            Context => 0.7,
            Event | Note => 0.6,
            Question => 0.5,
            OneTime => 0.3,
        }
    }

    /// Days after which an unused memory of this kind has lost half of its score, unless configured.
    pub fn half_life_days(self) -> f64 {
        match self {
            Fact | Correction => 365.0,
            Preference | Decision | Skill => 40.0,
            Interest => 30.0,
            Feedback | Event => 20.0,
            Context => 15.0,
            Question | Note => 14.0,
            OneTime => 7.0,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// `text` as names are compared: lower case, words joined by `_`.
fn folded_name(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_").to_lowercase()
}

/// How alike a word must look to be offered in place of another, 0 to 1.
const LOOKS_LIKE: f64 = 0.75;

/// The one of `known` whose word looks most like `text`, if any does.
fn nearest<'a, T>(text: &str, known: impl Iterator<Item = (&'a str, T)>) -> Option<T> {
    let likeness = known.map(|(word, meant)| (strsim::jaro_winkler(text, word), meant));
    let best = likeness.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= LOOKS_LIKE).map(|(_, meant)| meant)
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(|| "leave it out if unsure".to_owned(), |word| format!("did you mean `{word}`?"))
}

impl FromStr for Kind {
    type Err = Error;

    /// Reads a kind or the category name of another system, in any case, singular or plural, with spaces or hyphens.
    fn from_str(text: &str) -> Result<Self> {
        let name = folded_name(text);
        let known = || Kind::ALL.iter().map(|kind| (kind.as_str(), *kind)).chain(RULES.names.iter().copied());
        let singular = name
            .strip_suffix("ies")
            .map_or_else(|| name.strip_suffix('s').unwrap_or(&name).to_owned(), |stem| format!("{stem}y"));
        known().find(|(word, _)| *word == name || *word == singular).map(|(_, kind)| kind).ok_or_else(|| {
            Error::invalid(
                format!("kind `{}`", text.trim()),
                format!("is none of {}", Kind::ALL.map(Kind::as_str).join(", ")),
                did_you_mean(nearest(&name, known()).map(Kind::as_str)),
            )
        })
    }
}

/// How general a memory is; weighs in recall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// About how to think or remember: a principle that holds across topics.
    MetaKnowledge,
    /// An ordinary statement.
    #[default]
    SemiAbstract,
    /// A single observation as it was made.
    ConcreteTrace,
}

impl Level {
    /// Every level, from general to concrete.
    pub const ALL: [Level; 3] = [Level::MetaKnowledge, Level::SemiAbstract, Level::ConcreteTrace];

    /// The word used in the journal, in notes and in tools.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::MetaKnowledge => "meta_knowledge",
            Level::SemiAbstract => "semi_abstract",
            Level::ConcreteTrace => "concrete_trace",
        }
    }

    /// Factor in recall.
    pub fn weight(self) -> f64 {
        match self {
            Level::MetaKnowledge => 1.3,
            Level::SemiAbstract => 1.0,
            Level::ConcreteTrace => 0.7,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Level {
    type Err = Error;

    /// Reads a level in any case, with spaces or hyphens.
    fn from_str(text: &str) -> Result<Self> {
        let name = folded_name(text);
        Level::ALL.into_iter().find(|level| level.as_str() == name).ok_or_else(|| {
            Error::invalid(
                format!("level `{}`", text.trim()),
                format!("is none of {}", Level::ALL.map(Level::as_str).join(", ")),
                did_you_mean(nearest(&name, Level::ALL.iter().map(|level| (level.as_str(), level.as_str())))),
            )
        })
    }
}

/// What [`guess`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The likeliest kind; [`Kind::Note`] when no rule spoke.
    pub kind: Kind,
    /// The rule that decided, in words: "`prefers` at the start".
    pub why: String,
}

/// The table of rules; its head explains the form.
const TABLE: &str = include_str!("kinds.rules");
/// Weight that a kind needs to be named at all.
const ENOUGH: u16 = 3;
/// As [`ENOUGH`], for what matters once: whatever is taken for that is gone within weeks.
const ENOUGH_FOR_ONCE: u16 = 4;
/// Weight of a question mark at the end.
const ASKS: u8 = 7;
/// Characters that are looked at; what a text is shows early.
const MAX_CHARACTERS: usize = 600;

/// What a negation shortly before a match does to it.
#[derive(Clone, Copy)]
enum Negated {
    Same,
    Void,
    As(Kind),
}

/// One word or punctuation mark of a text.
struct Word {
    text: String,
    /// Its number among the words of the table; 0 for all others.
    number: usize,
    /// What it is by its looks: bits of [`LOOKS`].
    looks: u8,
}

/// Word lists that are told from the word itself; each is a bit.
const LOOKS: [&str; 8] = ["@number", "@time", "@year", "@date", "@name", "@ed", "@ing", "@word"];

/// A part of a pattern.
enum Part {
    /// A word of these numbers, or with one of these looks.
    Word(Vec<usize>, u8),
    /// Up to so many words within a sentence; only fillers where the flag is set.
    Gap(usize, bool),
    /// The start of a sentence.
    Start,
    /// The end of a sentence.
    End,
}

/// One pattern of the table. `kind` is none for a phrase that tells nothing.
struct Rule {
    kind: Option<Kind>,
    weight: u8,
    negated: Negated,
    parts: Vec<Part>,
}

/// The table, read.
#[derive(Default)]
struct Rules {
    all: Vec<Rule>,
    /// Phrases found anywhere, of languages without spaces.
    phrases: Vec<(Kind, u8, &'static str)>,
    lists: HashMap<&'static str, Vec<&'static str>>,
    /// Category names of other systems, with the kind that comes nearest.
    names: Vec<(&'static str, Kind)>,
    numbers: HashMap<&'static str, usize>,
    /// By word number: the rules whose first word it can be.
    by_word: Vec<Vec<usize>>,
    /// By bit of [`LOOKS`]: the same.
    by_look: [Vec<usize>; 8],
}

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(TABLE));

impl Rules {
    /// Reads the table; a line that is not understood is left out, which a test forbids.
    fn read(table: &'static str) -> Self {
        let mut rules = Rules { by_word: vec![Vec::new()], ..Rules::default() };
        let mut kind = None;
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some((name, others)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
                let others = others.split(['|', ' ']).filter(|other| !other.is_empty());
                rules.names.extend(others.filter_map(|other| Some((other, kind?))));
            } else if let Some((list, words)) = line.split_once(" = ") {
                rules.lists.insert(list, words.split('|').collect());
            } else if let Some((head, patterns)) = line.split_once(" : ") {
                rules.read_row(kind, head, patterns);
            }
        }
        rules
    }

    fn read_row(&mut self, kind: Option<Kind>, head: &str, patterns: &'static str) {
        let (weight, mode) = head.split_once(' ').unwrap_or((head, ""));
        let weight = weight.parse().unwrap_or_default();
        if let (Some(kind), "anywhere") = (kind, mode) {
            self.phrases.extend(patterns.split_whitespace().map(|phrase| (kind, weight, phrase)));
            return;
        }
        let negated = match mode {
            "void" => Negated::Void,
            other => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == other);
                kind.map_or(Negated::Same, Negated::As)
            }
        };
        for pattern in patterns.split(" ; ") {
            let parts: Vec<Part> = pattern.split_whitespace().map(|part| self.read_part(part)).collect();
            let first = parts
                .iter()
                .find_map(|part| if let Part::Word(words, looks) = part { Some((words, looks)) } else { None });
            if let Some((words, looks)) = first {
                let rule = self.all.len();
                for number in words {
                    self.by_word[*number].push(rule);
                }
                for bit in bits(*looks) {
                    self.by_look[bit].push(rule);
                }
            }
            self.all.push(Rule { kind, weight, negated, parts });
        }
    }

    fn read_part(&mut self, part: &'static str) -> Part {
        match part {
            "^" => return Part::Start,
            "$" => return Part::End,
            "*" => return Part::Gap(3, false),
            "**" => return Part::Gap(9, false),
            "~" => return Part::Gap(3, true),
            _ => {}
        }
        let mut words = Vec::new();
        let mut looks = 0;
        for choice in part.split('|') {
            match (LOOKS.iter().position(|look| *look == choice), self.lists.get(choice).cloned()) {
                (Some(bit), _) => looks |= 1 << bit,
                (None, Some(list)) => words.extend(list.iter().map(|word| self.number(word))),
                (None, None) => words.push(self.number(choice)),
            }
        }
        Part::Word(words, looks)
    }

    /// The number of a word of the table.
    fn number(&mut self, word: &'static str) -> usize {
        let next = self.by_word.len();
        let number = *self.numbers.entry(word).or_insert(next);
        if number == next {
            self.by_word.push(Vec::new());
        }
        number
    }

    /// The rules that may match where `word` stands.
    fn starting_with(&self, word: &Word) -> impl Iterator<Item = usize> {
        let by_look = bits(word.looks).flat_map(|bit| &self.by_look[bit]);
        self.by_word.get(word.number).into_iter().flatten().chain(by_look).copied()
    }
}

/// The places of the bits that are set.
fn bits(set: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |bit| set >> bit & 1 == 1)
}

impl Word {
    fn new(text: String, is_name: bool) -> Self {
        let number = RULES.numbers.get(text.as_str()).copied().unwrap_or_default();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let is_number = text.starts_with(|c: char| c.is_ascii_digit());
        let is_date = is_number && digits == 8 && text.matches('-').count() == 2;
        let is_time = is_number && (text.contains(':') || text.ends_with("am") || text.ends_with("pm"));
        let is_year = text.len() == 4 && digits == 4 && (text.starts_with("19") || text.starts_with("20"));
        let long = text.len() > 4;
        let looks = [
            is_number && !is_time && !is_date,
            is_time,
            is_year,
            is_date,
            is_name,
            long && text.ends_with("ed"),
            long && text.ends_with("ing"),
            text.starts_with(char::is_alphanumeric),
        ];
        let looks = looks.iter().rev().fold(0, |set, look| set << 1 | u8::from(*look));
        Word { text, number, looks }
    }

    /// Whether it turns what follows it into its contrary.
    fn negates(&self) -> bool {
        matches!(&*self.text, "not" | "no" | "never" | "without" | "hardly" | "neither" | "nor" | "nicht" | "kein")
    }

    /// Whether it ends a sentence, or introduces one.
    fn ends_sentence(&self) -> bool {
        matches!(&*self.text, "." | "!" | "?" | ";" | ":")
    }

    /// Whether a sentence may have it before its first telling word.
    fn is_opening(&self) -> bool {
        matches!(&*self.text, "please" | "also" | "and" | "so" | "but" | "the" | "user" | "sorry" | "," | "ok" | "`")
    }

    fn is_filler(&self) -> bool {
        RULES.lists.get("@filler").is_some_and(|list| list.contains(&&*self.text))
    }
}

/// Words of `text` in lower case with contractions written out; punctuation marks are words of their own.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let between_digits =
            word.ends_with(|c: char| c.is_ascii_digit()) && characters.peek().is_some_and(char::is_ascii_digit);
        match character {
            c if c.is_alphanumeric() => word.push(c),
            '\'' | '’' if !word.is_empty() => word.push('\''),
            '.' | ',' | ':' | '-' if between_digits => word.push(character),
            mark => {
                push_word(&mut words, &mut word);
                match mark {
                    '.' | '!' | '?' | ';' | ':' | ',' | '`' => words.push(Word::new(mark.into(), false)),
                    '\n' | '…' | '。' | '！' | '？' => words.push(Word::new('.'.into(), false)),
                    _ => {}
                }
            }
        }
    }
    push_word(&mut words, &mut word);
    words
}

/// Moves `word` to `words`, as two where it is a contraction.
fn push_word(words: &mut Vec<Word>, word: &mut String) {
    let taken = std::mem::take(word);
    let taken = taken.trim_end_matches('\'');
    if taken.is_empty() {
        return;
    }
    let inside = words.last().is_some_and(|word| !word.ends_sentence() || word.text == ":");
    let is_name = inside && taken.starts_with(char::is_uppercase) && taken != "I" && !taken.starts_with("I'");
    let lower = taken.to_lowercase();
    let (first, second) = match lower.split_once('\'') {
        None if lower == "cannot" => ("can".into(), "not"),
        None => (lower, ""),
        Some(("won", "t")) => ("will".into(), "not"),
        Some(("can", "t")) => ("can".into(), "not"),
        Some((stem, "t")) => (stem.strip_suffix('n').unwrap_or(stem).into(), "not"),
        Some(("let", "s")) => ("let".into(), "us"),
        Some((stem @ ("it" | "that" | "this" | "he" | "she" | "what" | "who" | "where" | "there" | "here"), "s")) => {
            (stem.into(), "is")
        }
        Some((stem, "s")) => (stem.into(), ""),
        Some((stem, "m")) => (stem.into(), "am"),
        Some((stem, "re")) => (stem.into(), "are"),
        Some((stem, "ve")) => (stem.into(), "have"),
        Some((stem, "ll")) => (stem.into(), "will"),
        Some((stem, "d")) => (stem.into(), "would"),
        Some((stem, ending)) => {
            // Elision of Romance languages: `j'aime`, `l'ancien`.
            words.push(Word::new(format!("{stem}'"), false));
            (ending.into(), "")
        }
    };
    words.push(Word::new(first, is_name));
    if !second.is_empty() {
        words.push(Word::new(second.into(), false));
    }
}

/// Where a match of `parts` that starts at `place` ends.
fn match_end(parts: &[Part], words: &[Word], place: usize) -> Option<usize> {
    let Some((part, rest)) = parts.split_first() else { return Some(place) };
    let next = words.get(place);
    match part {
        Part::Start => {
            let before = words.get(..place)?.iter().rev();
            let starts = before.take_while(|word| !word.ends_sentence()).all(Word::is_opening);
            starts.then(|| match_end(rest, words, place)).flatten()
        }
        Part::End => next.is_none_or(Word::ends_sentence).then(|| match_end(rest, words, place)).flatten(),
        Part::Word(numbers, looks) => {
            let fits = next.is_some_and(|word| word.looks & looks != 0 || numbers.contains(&word.number));
            fits.then(|| match_end(rest, words, place + 1)).flatten()
        }
        Part::Gap(most, fillers) => {
            let skips = |word: &&Word| if *fillers { word.is_filler() } else { !word.ends_sentence() };
            let width = words.iter().skip(place).take(*most).take_while(skips).count();
            (0..=width).find_map(|gap| match_end(rest, words, place + gap))
        }
    }
}

/// Whether one of the three words before `place` in the same clause negates.
fn is_negated(words: &[Word], place: usize) -> bool {
    let before = words.get(..place).unwrap_or(&[]).iter().rev().take(3);
    before.take_while(|word| !word.ends_sentence() && word.text != ",").any(Word::negates)
}

/// Guesses the kind of `text` from telling words.
pub fn guess(text: &str) -> Guess {
    let asks = text.trim_end().ends_with(['?', '？']);
    let text = text.char_indices().nth(MAX_CHARACTERS).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    let words = words(text);
    let mut tally = Tally::default();
    let mut counted = vec![false; RULES.all.len()];
    let mut told_until = 0;
    for (place, word) in words.iter().enumerate() {
        for number in RULES.starting_with(word) {
            let Some(rule) = RULES.all.get(number).filter(|_| !counted[number]) else { continue };
            let Some(end) = match_end(&rule.parts, &words, place) else { continue };
            let Some(kind) = rule.kind else {
                told_until = told_until.max(end);
                continue;
            };
            let kind = match rule.negated {
                Negated::Void if is_negated(&words, place) => continue,
                Negated::As(other) if is_negated(&words, place) => other,
                _ => kind,
            };
            if place >= told_until {
                counted[number] = true;
                let matched = || {
                    words.get(place..end).unwrap_or(&[]).iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
                };
                let at = if place == 0 { "at the start" } else { "in the text" };
                tally.add(kind, rule.weight, || format!("`{}` {at}", matched()));
            }
        }
    }
    for (kind, weight, phrase) in RULES.phrases.iter().filter(|(.., phrase)| !text.is_ascii() && text.contains(phrase))
    {
        tally.add(*kind, *weight, || format!("`{phrase}` in the text"));
    }
    if asks {
        tally.add(Question, ASKS, || "a question mark at the end".into());
    }
    let mut spoken = text.split_whitespace().peekable();
    spoken.next_if(|word| word.eq_ignore_ascii_case("the"));
    let is_of_user = spoken.next().is_some_and(|word| is_user(word, spoken.next()));
    tally.verdict(is_of_user)
}

/// What "user" tells apart where it stands before it: no person is meant.
const OF_USERS: [&str; 24] = [
    "account",
    "accounts",
    "agent",
    "base",
    "data",
    "experience",
    "group",
    "groups",
    "guide",
    "id",
    "ids",
    "input",
    "interface",
    "interfaces",
    "manual",
    "name",
    "names",
    "profile",
    "research",
    "space",
    "stories",
    "story",
    "table",
    "tables",
];

/// Whether a word means the person whose memory this is: "the user lives …", but not "the user interface".
pub fn is_user(word: &str, next: Option<&str>) -> bool {
    if word.eq_ignore_ascii_case("user") {
        let next = next.unwrap_or_default().trim_matches(|c: char| !c.is_alphanumeric());
        return !OF_USERS.iter().any(|noun| next.eq_ignore_ascii_case(noun));
    }
    word.eq_ignore_ascii_case("user's") || word.eq_ignore_ascii_case("user’s")
}

/// What speaks for each kind: the sum of weights, and the heaviest reason.
#[derive(Default)]
struct Tally([(u16, u8, String); 12]);

impl Tally {
    fn add(&mut self, kind: Kind, weight: u8, reason: impl FnOnce() -> String) {
        let (sum, heaviest, why) = &mut self.0[kind as usize];
        *sum += u16::from(weight);
        if weight > *heaviest {
            (*heaviest, *why) = (weight, reason());
        }
    }

    /// The kind with the greatest sum; of equals the one with the heaviest rule, then the one listed first. Where
    /// nothing tells, what is said of the user is so.
    fn verdict(mut self, is_of_user: bool) -> Guess {
        if let Some(once) = self.0.get_mut(OneTime as usize).filter(|(sum, ..)| *sum < ENOUGH_FOR_ONCE) {
            *once = Default::default();
        }
        let best = Kind::ALL.into_iter().zip(self.0).rev().max_by_key(|(_, (sum, heaviest, _))| (*sum, *heaviest));
        match best {
            Some((kind, (sum, _, why))) if sum >= ENOUGH => Guess { kind, why },
            _ if is_of_user => Guess { kind: Fact, why: "said of the user".into() },
            _ => Guess { kind: Note, why: "no telling words".into() },
        }
    }
}

#[cfg(test)]
mod tests;
