//! The table of attributes, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::value::{Form, normal};
use crate::words::fold;

/// The table; its head explains the form.
pub(super) const TABLE: &str = include_str!("../slots.rules");

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(TABLE));

/// How many values a subject has at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    One,
    /// One for good.
    Fixed,
    /// One of a class of things that do the same job.
    Choice,
    Many,
}

/// What has the attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Person,
    Thing,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Language {
    English,
    German,
    Spanish,
    French,
    Chinese,
    Japanese,
}

pub(super) struct Attribute {
    pub(super) name: &'static str,
    pub(super) values: Values,
    pub(super) owner: Owner,
    /// A value that says more is another value.
    pub(super) extends: bool,
    /// The attribute with which it ends.
    pub(super) with: Option<&'static str>,
    /// Lists: a value inside and one outside are of different things.
    pub(super) classes: Vec<&'static str>,
}

/// Which form of a verb a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inflection {
    /// "lives".
    Third,
    /// "live".
    Plain,
    /// "living".
    Ing,
    /// A word that the table gives no other forms of.
    Any,
}

/// What is taken for a capture of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Value,
    /// The value that ended.
    Old,
    /// What is liked less.
    Than,
    /// What the value belongs to; part of the key.
    Of,
    /// The purpose; part of the key.
    For,
    /// The value of another attribute.
    Other(usize),
}

pub(super) enum Part {
    Word(Vec<(String, Inflection)>),
    Capture(Role, Form),
}

/// What the head of a row says of its patterns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    pub(super) event: bool,
    pub(super) ended: bool,
    pub(super) not: bool,
    pub(super) needs_is: bool,
    pub(super) reversed: bool,
}

/// A predicate of a language with spaces.
pub(super) struct Pattern {
    pub(super) attribute: usize,
    pub(super) language: Language,
    pub(super) row: Row,
    pub(super) parts: Vec<Part>,
    /// The part that holds the word by which it is found.
    pub(super) anchor: usize,
}

/// A name of an attribute: "deadline".
pub(super) struct Noun {
    pub(super) attribute: usize,
    pub(super) language: Language,
    pub(super) form: Form,
    /// The name is part of the subject.
    pub(super) kept: bool,
    /// The words beside it say of what it is: "favourite food".
    pub(super) favourite: bool,
    pub(super) words: Vec<String>,
}

/// A part of a pattern of a language without spaces.
pub(super) enum Piece {
    Literal(&'static str),
    Capture(Role, Form),
}

pub(super) struct Unspaced {
    pub(super) attribute: usize,
    pub(super) language: Language,
    pub(super) row: Row,
    pub(super) pieces: Vec<Piece>,
}

/// What a word may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Pattern(usize),
    Noun(usize),
}

#[derive(Default)]
pub(super) struct Rules {
    pub(super) attributes: Vec<Attribute>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) nouns: Vec<Noun>,
    pub(super) unspaced: Vec<Unspaced>,
    /// By word, what may begin with it, with its place in the table.
    pub(super) starts: FxHashMap<String, Vec<(usize, Start)>>,
    /// By value in normal form: the lists that hold it.
    lists: FxHashMap<String, Vec<&'static str>>,
    /// The lists of things that do the same job.
    alternatives: Vec<&'static str>,
    /// By name in normal form: the one that stands for it.
    names: FxHashMap<String, String>,
    /// Lines that were not understood, which a test forbids.
    #[cfg(test)]
    pub(super) bad_lines: Vec<&'static str>,
}

impl Rules {
    fn read(table: &'static str) -> Self {
        let mut rules = Rules::default();
        let heads: HashMap<&str, usize> =
            table.lines().filter_map(heading).enumerate().map(|(at, (name, _))| (name, at)).collect();
        let mut members: HashMap<&'static str, Vec<&'static str>> = HashMap::new();
        for (at, line) in table.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let attribute = rules.attributes.len().saturating_sub(1);
            if let Some((name, rest)) = heading(line) {
                rules.attributes.push(Attribute::read(name, rest));
            } else if let Some((list, words)) = line.strip_prefix('@').and_then(|line| line.split_once(" = ")) {
                let alternative = list.strip_prefix('@');
                rules.alternatives.extend(alternative);
                members.insert(alternative.unwrap_or(list), words.split('|').collect());
            } else if let Some(names) = line.strip_prefix("~ ") {
                let mut names = names.split('|').map(normal);
                let first = names.next().unwrap_or_default();
                rules.names.extend(names.map(|name| (name, first.clone())));
            } else if let Some((head, patterns)) = line.split_once(" : ") {
                let place = (attribute, at);
                let understood = rules.row(place, head, patterns, &heads, &members).is_some();
                #[cfg(test)]
                rules.bad_lines.extend((!understood).then_some(line));
                #[cfg(not(test))]
                let _: bool = understood;
            }
        }
        for (list, words) in &members {
            for word in words {
                let lists = rules.lists.entry(rules.canonical(&normal(word))).or_default();
                if !lists.contains(list) {
                    lists.push(list);
                }
            }
        }
        for starts in rules.starts.values_mut() {
            starts.sort_by_key(|(order, _)| *order);
        }
        rules
    }

    fn row(
        &mut self,
        (attribute, order): (usize, usize),
        head: &'static str,
        patterns: &'static str,
        heads: &HashMap<&str, usize>,
        members: &HashMap<&'static str, Vec<&'static str>>,
    ) -> Option<()> {
        let mut words = head.split(' ');
        let language = language(words.next()?)?;
        let mut row = Row::default();
        let (mut noun, mut kept, mut favourite, mut form) = (false, false, false, Form::Any);
        for word in words {
            match word {
                "event" => row.event = true,
                "ended" => row.ended = true,
                "not" => row.not = true,
                "is" => row.needs_is = true,
                "reversed" => row.reversed = true,
                "noun" => noun = true,
                "kept" => kept = true,
                "favourite" => favourite = true,
                capture => form = Form::named(capture.strip_prefix('{')?.strip_suffix('}')?),
            }
        }
        for pattern in patterns.split(" ; ") {
            if noun || favourite {
                let words: Vec<String> = pattern.split(' ').map(fold).collect();
                let first = words.first()?.clone();
                let noun = Noun { attribute, language, form, kept, favourite, words };
                self.starts.entry(first).or_default().push((order, Start::Noun(self.nouns.len())));
                self.nouns.push(noun);
            } else if matches!(language, Language::Chinese | Language::Japanese) {
                let pieces = pieces(pattern, heads)?;
                self.unspaced.push(Unspaced { attribute, language, row, pieces });
            } else {
                let parts = pattern.split(' ').map(|part| self::part(part, heads)).collect::<Option<Vec<Part>>>()?;
                let anchor = parts.iter().position(|part| match part {
                    Part::Word(_) => true,
                    Part::Capture(_, form) => matches!(form, Form::List(_)),
                })?;
                let start = Start::Pattern(self.patterns.len());
                match parts.get(anchor)? {
                    Part::Word(words) => {
                        for (word, _) in words {
                            self.starts.entry(word.clone()).or_default().push((order, start));
                        }
                    }
                    Part::Capture(_, Form::List(list)) => {
                        for member in members.get(list)? {
                            let first = fold(member.split(' ').next()?);
                            let starts = self.starts.entry(first).or_default();
                            if !starts.contains(&(order, start)) {
                                starts.push((order, start));
                            }
                        }
                    }
                    Part::Capture(..) => return None,
                }
                self.patterns.push(Pattern { attribute, language, row, parts, anchor });
            }
        }
        Some(())
    }

    pub(super) fn attribute(&self, number: usize) -> Option<&Attribute> {
        self.attributes.get(number)
    }

    /// A value in normal form with the names that stand for others: "berlin, usa" as "berlin united states".
    pub(super) fn canonical(&self, value: &str) -> String {
        if let Some(name) = self.names.get(value) {
            return name.clone();
        }
        let words = value.split(' ').map(|word| self.names.get(word).map_or(word, String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }

    /// A list of things that do the same job, of which both values are.
    pub(super) fn shared_alternatives(&self, a: &str, b: &str) -> impl Iterator<Item = &'static str> {
        let of_b = self.lists_of(b);
        let lists = self.lists_of(a).iter().copied();
        lists.filter(move |list| of_b.contains(list) && self.alternatives.contains(list))
    }

    #[cfg(test)]
    pub(super) fn is_list(&self, name: &str) -> bool {
        self.lists.values().any(|lists| lists.contains(&name))
    }

    /// The lists that hold a value in normal form; versions behind it do not matter.
    pub(super) fn lists_of(&self, value: &str) -> &[&'static str] {
        if let Some(lists) = self.lists.get(value) {
            return lists;
        }
        let plain = value.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
        self.lists.get(plain).map_or(&[], Vec::as_slice)
    }
}

impl Attribute {
    fn read(name: &'static str, rest: &'static str) -> Attribute {
        let mut words = rest.split(' ').filter(|word| !word.is_empty());
        let values = match words.next() {
            Some("fixed") => Values::Fixed,
            Some("choice") => Values::Choice,
            Some("many") => Values::Many,
            _ => Values::One,
        };
        let owner = match words.next() {
            Some("person") => Owner::Person,
            Some("thing") => Owner::Thing,
            _ => Owner::Any,
        };
        let extends = rest.contains(" extends");
        let (rest, with) = rest.split_once(" with ").map_or((rest, None), |(rest, with)| (rest, Some(with)));
        let classes = rest.split(" class ").skip(1).map(str::trim).collect();
        Attribute { name, values, owner, extends, with, classes }
    }
}

fn heading(line: &'static str) -> Option<(&'static str, &'static str)> {
    line.strip_prefix('[').and_then(|line| line.split_once(']'))
}

fn language(code: &str) -> Option<Language> {
    Some(match code {
        "en" => Language::English,
        "de" => Language::German,
        "es" => Language::Spanish,
        "fr" => Language::French,
        "zh" => Language::Chinese,
        "ja" => Language::Japanese,
        _ => return None,
    })
}

/// What stands between braces: `place`, `old:place`, `employer:name`, `for`.
fn capture(inside: &'static str, heads: &HashMap<&str, usize>) -> Option<(Role, Form)> {
    Some(match inside.split_once(':') {
        Some(("old", form)) => (Role::Old, Form::named(form)),
        Some(("than", form)) => (Role::Than, Form::named(form)),
        Some((attribute, form)) => (Role::Other(*heads.get(&*attribute.replace('_', " "))?), Form::named(form)),
        None if inside == "of" => (Role::Of, Form::Any),
        None if inside == "for" => (Role::For, Form::Any),
        None => (Role::Value, Form::named(inside)),
    })
}

fn part(part: &'static str, heads: &HashMap<&str, usize>) -> Option<Part> {
    if let Some(inside) = part.strip_prefix('{') {
        let (role, form) = capture(inside.strip_suffix('}')?, heads)?;
        return Some(Part::Capture(role, form));
    }
    let mut words = Vec::new();
    for verb in part.split('|') {
        let forms: Vec<&str> = verb.split('/').collect();
        let inflections = [Inflection::Third, Inflection::Plain, Inflection::Ing];
        if forms.len() == 1 {
            words.push((fold(verb), Inflection::Any));
        } else {
            words.extend(forms.iter().map(|form| fold(form)).zip(inflections));
        }
    }
    Some(Part::Word(words))
}

fn pieces(pattern: &'static str, heads: &HashMap<&str, usize>) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('{') {
            let (inside, after) = inside.split_once('}')?;
            let (role, form) = capture(inside, heads)?;
            pieces.push(Piece::Capture(role, form));
            rest = after;
        } else {
            let (literal, after) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
            pieces.push(Piece::Literal(literal));
            rest = after;
        }
    }
    Some(pieces)
}
