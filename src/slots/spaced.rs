//! Reading a statement of a language with spaces: subject, predicate, value, qualifier, and nothing left over.

use super::rules::{Attribute, Inflection, Language, Owner, Part, Pattern, RULES, Role, Row, Start, Values};
use super::subject::{person, thing};
use super::value::{Date, Form, is_article, join, normal, without_article};
use super::{Claim, Slot};
use crate::words::fold;

/// Most words that are read as one statement.
const MAX_WORDS: usize = 40;

/// A word of a statement.
#[derive(Debug, Clone)]
pub(super) struct Token<'t> {
    pub(super) written: &'t str,
    /// Folded; `'s` for a possessive, `,` and `:` for marks.
    pub(super) norm: String,
}

impl Token<'_> {
    pub(super) fn is_mark(&self) -> bool {
        matches!(self.norm.as_str(), "," | ":" | "'s")
    }

    pub(super) fn is(&self, words: &[&str]) -> bool {
        words.contains(&self.norm.as_str())
    }

    fn is_capital(&self) -> bool {
        self.written.starts_with(char::is_uppercase)
    }
}

/// What tells that a text is more than a plain statement.
const REFUSED: &[char] = &[
    '?', '"', '“', '”', '„', '«', '»', '(', ')', '[', ']', '{', '}', ';', '\n', '…', '—', '–', '`', '|', '=', '<', '>',
    '*', '!',
];

/// The words of a plain statement, and whether it corrects; none where it is anything else.
pub(super) fn tokens(text: &str) -> Option<(Vec<Token<'_>>, bool)> {
    let mut text = text.trim();
    text = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).unwrap_or(text);
    text = text.trim_end_matches(['.', '!']).trim();
    if text.contains(REFUSED) {
        return None;
    }
    let mut tokens: Vec<Token> = Vec::with_capacity(16);
    for word in text.split_whitespace() {
        if tokens.len() > MAX_WORDS || matches!(word, "-" | "/" | "+") {
            return None;
        }
        let is_ordinal = |word: &str| word.trim_end_matches('.').bytes().all(|byte| byte.is_ascii_digit());
        if word.ends_with('.') && !is_ordinal(word) {
            return None;
        }
        let core = word.trim_end_matches([',', ':']);
        push_word(&mut tokens, core);
        if word.len() > core.len() {
            let mark = if word.ends_with(',') { "," } else { ":" };
            tokens.push(Token { written: mark, norm: mark.to_owned() });
        }
    }
    let corrects = match &tokens[..] {
        [first, mark, _, ..] if first.is(&["update", "correction", "actually"]) && mark.is(&[",", ":"]) => true,
        [first, mark, _, ..] if first.is(&["note", "fact", "fyi", "preference"]) && mark.is(&[",", ":"]) => false,
        _ => return (!tokens.is_empty()).then_some((tokens, false)),
    };
    tokens.drain(..2);
    Some((tokens, corrects))
}

/// Pushes a word, as two where it is a contraction.
fn push_word<'t>(tokens: &mut Vec<Token<'t>>, word: &'t str) {
    let mut push = |written: &'t str, norm: String| tokens.push(Token { written, norm });
    let Some((at, mark)) = word.char_indices().find(|(_, c)| matches!(c, '\'' | '’')) else {
        if word.eq_ignore_ascii_case("cannot") {
            push(word, "can".into());
            push(word, "not".into());
        } else if !word.is_empty() {
            let norm = if word.is_ascii() { word.to_ascii_lowercase() } else { fold(word) };
            push(word, norm);
        }
        return;
    };
    let (stem, rest) = word.split_at(at);
    let ending = rest.strip_prefix(mark).unwrap_or_default();
    let (stem_norm, end) = (fold(stem), fold(ending));
    let negated = stem_norm.strip_suffix('n');
    match end.as_str() {
        "t" if negated.is_some() => {
            let verb = match stem_norm.as_str() {
                "can" => "can",
                "won" => "will",
                _ => negated.unwrap_or_default(),
            };
            push(stem, verb.to_owned());
            push(stem, "not".into());
        }
        "s" if matches!(stem_norm.as_str(), "he" | "she" | "it" | "that" | "there" | "who" | "what") => {
            push(stem, stem_norm);
            push(ending, "is".into());
        }
        "s" | "" => {
            push(stem, stem_norm);
            push(rest, "'s".into());
        }
        "m" | "re" | "ve" | "ll" | "d" => {
            push(stem, stem_norm);
            push(
                ending,
                match end.as_str() {
                    "m" => "am",
                    "re" => "are",
                    "ve" => "have",
                    _ => "would",
                }
                .into(),
            );
        }
        _ if stem.chars().count() <= 2 => {
            push(stem, format!("{stem_norm}'"));
            push_word(tokens, ending);
        }
        _ => push(word, fold(word)),
    }
}

/// Words that make a statement uncertain, past, conditional, somebody's, or one of several; sorted.
#[rustfmt::skip]
const STOPS: &[&str] = &[
    "aber", "according", "after", "almost", "also", "although", "am", "and", "another", "antes", "anyone", "are",
    "asked", "asks", "auch", "auparavant", "aussi", "autre", "avait", "avant", "bald", "be", "because", "been",
    "before", "being", "believed", "believes", "bientot", "bin", "bis", "both", "briefly", "but", "can", "casi",
    "claimed", "claims", "considering", "considers", "could", "cuando", "dass", "demain", "despues", "dice", "did",
    "dit", "do", "does", "dreams", "ehemals", "either", "era", "est", "estaba", "et", "etait", "etwa", "everyone",
    "everything", "ex", "except", "falls", "fast", "former", "formerly", "fruher", "going", "had", "has", "hasta",
    "have", "he", "her", "him", "his", "hope", "hoped", "hopes", "how", "if", "is", "ist", "it", "jamais", "kann",
    "kein", "keine", "keinen", "konnte", "likely", "longer", "mais", "manchmal", "maybe", "meist", "mi", "might",
    "mochte", "morgen", "mostly", "must", "my", "nearly", "neither", "never", "nicht", "nie", "no", "nobody", "nor",
    "not", "nothing", "nunca", "o", "ob", "occasionally", "oder", "oft", "often", "once", "only", "or", "other",
    "otra", "otro", "ou", "parce", "pas", "perhaps", "pero", "peut", "planned", "plus", "podria", "porque",
    "possibly", "pourrait", "presque", "previously", "probably", "quand", "que", "qui", "quiere", "quisiera",
    "quiza", "quizas", "rarely", "reportedly", "sagt", "said", "say", "says", "second", "secondary", "segunda",
    "segundo", "several", "shall", "she", "should", "si", "sind", "so", "some", "someone", "something", "sometimes",
    "sont", "supposedly", "tambien", "temporarily", "than", "that", "them", "there", "they", "thinking", "thinks",
    "this", "those", "though", "til", "till", "today", "told", "tomorrow", "tonight", "too", "tried", "trying",
    "und", "unless", "until", "used", "usually", "veut", "vielleicht", "vivia", "voudrait", "want", "wanted",
    "wants", "war", "waren", "was", "weil", "wenn", "were", "what", "when", "whenever", "where", "whether", "which",
    "while", "who", "why", "will", "wollte", "would", "wurde", "y", "yo", "zweite",
];

/// Names that end like adverbs.
const NAMES_IN_LY: &[&str] = &[
    "emily",
    "kelly",
    "sally",
    "molly",
    "holly",
    "billy",
    "lily",
    "carly",
    "polly",
    "lilly",
    "italy",
    "july",
    "family",
    "fly.io",
    "supply",
    "assembly",
    "weekly",
    "monthly",
    "daily",
    "yearly",
    "nightly",
    "quarterly",
    "grocery",
    "kimberly",
    "beverly",
];

pub(super) fn is_stop(word: &Token) -> bool {
    let is_adverb = word.norm.len() > 4 && word.norm.ends_with("ly") && !NAMES_IN_LY.contains(&word.norm.as_str());
    is_adverb || STOPS.binary_search(&word.norm.as_str()).is_ok() || word.norm == "may" && !word.is_capital()
}

/// What a language needs to be read.
pub(super) struct Grammar {
    /// Before what is not the value any more.
    prepositions: &'static [&'static str],
    pub(super) now: &'static [&'static str],
    /// "now", of a change.
    pub(super) changed: &'static [&'static str],
    pub(super) is: &'static [&'static str],
    has: &'static [&'static str],
    since: &'static [&'static str],
    pub(super) of: &'static [&'static str],
}

#[rustfmt::skip]
fn grammar(language: Language) -> &'static Grammar {
    match language {
        Language::German => &Grammar {
            prepositions: &[
                "in", "im", "am", "an", "auf", "fur", "mit", "bei", "als", "seit", "von", "nach", "zu", "zum",
                "zur", "gegenuber", "ab", "pro", "je", "wegen", "ohne", "unter", "uber", "bevor", "statt", "aus",
            ],
            now: &["derzeit", "aktuell", "momentan", "zurzeit", "noch"],
            changed: &["jetzt", "nun", "inzwischen", "mittlerweile"],
            is: &["ist", "bin", "sind", "lautet"],
            has: &["hat", "habe"],
            since: &["seit", "ab"],
            of: &["von", "des", "der", "fur"],
        },
        Language::Spanish => &Grammar {
            prepositions: &[
                "en", "para", "con", "como", "desde", "por", "a", "al", "sobre", "sin", "contra", "hacia",
            ],
            now: &["actualmente", "todavia", "aun"],
            changed: &["ahora"],
            is: &["es", "soy", "esta", "estoy", "son"],
            has: &["ha", "he"],
            since: &["desde"],
            of: &["de", "del"],
        },
        Language::French => &Grammar {
            prepositions: &[
                "a", "au", "aux", "pour", "avec", "chez", "comme", "en", "depuis", "dans", "sur", "par", "sans",
                "plutot", "vers", "lors", "pendant",
            ],
            now: &["actuellement", "encore", "toujours"],
            changed: &["maintenant", "desormais"],
            is: &["est", "suis", "sont"],
            has: &["a", "ai"],
            since: &["depuis"],
            of: &["de", "du", "des", "d'"],
        },
        _ => &Grammar {
            prepositions: &[
                "in", "on", "at", "for", "with", "during", "by", "over", "under", "from", "to", "since", "per",
                "as", "near", "about", "through", "via", "into", "without", "within", "instead", "against", "every",
                "each", "across", "around", "between", "behind", "inside", "outside", "till", "again", "anymore",
                "any", "rather", "after",
            ],
            now: &["currently", "presently", "still", "already"],
            changed: &["now", "recently", "just"],
            is: &["is", "are", "am"],
            has: &["has", "have"],
            since: &["since"],
            of: &["of", "for"],
        },
    }
}

/// The slots of a statement, all from one reading that leaves no word over.
pub(super) fn read(text: &str) -> Vec<Slot> {
    let Some((tokens, corrects)) = tokens(text) else { return Vec::new() };
    let mut starts: Vec<(usize, usize, Start)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let compound = token.norm.strip_prefix("lieblings").filter(|rest| !rest.is_empty()).map(|_| "lieblings");
        for (order, start) in RULES.starts.get(compound.unwrap_or(&token.norm)).into_iter().flatten() {
            starts.push((*order, at, *start));
        }
    }
    starts.sort_by_key(|(order, at, _)| (*order, *at));
    let slots = starts.into_iter().find_map(|(_, at, start)| match start {
        Start::Pattern(number) => Reading::of_pattern(&tokens, at, RULES.patterns.get(number)?),
        Start::Noun(number) => Reading::of_noun(&tokens, at, RULES.nouns.get(number)?),
    });
    let mut slots = slots.unwrap_or_default();
    for slot in &mut slots {
        slot.changed |= corrects;
    }
    slots
}

/// Who or what the statement is about and how its verb stands to it.
#[derive(Default)]
pub(super) struct Before {
    pub(super) subject: String,
    pub(super) not: bool,
    pub(super) ended: bool,
    pub(super) changed: bool,
    has_is: bool,
    /// "ne", which needs its "pas" or "plus" behind the verb.
    ne: bool,
}

/// A statement while it is read.
pub(super) struct Reading<'r, 't> {
    pub(super) tokens: &'r [Token<'t>],
    pub(super) attribute: &'static Attribute,
    number: usize,
    pub(super) language: Language,
    pub(super) grammar: &'static Grammar,
    pub(super) row: Row,
    /// The next word to be read.
    pub(super) at: usize,
    pub(super) before: Before,
    pub(super) captures: Vec<(Role, &'r [Token<'t>])>,
    qualifier: Vec<String>,
    since: Option<Date>,
}

impl<'r, 't> Reading<'r, 't> {
    pub(super) fn new(tokens: &'r [Token<'t>], number: usize, language: Language, row: Row) -> Option<Self> {
        let attribute = RULES.attribute(number)?;
        let (before, captures, qualifier) = (Before::default(), Vec::new(), Vec::new());
        let grammar = grammar(language);
        Some(Reading {
            tokens,
            attribute,
            number,
            language,
            grammar,
            row,
            at: 0,
            before,
            captures,
            qualifier,
            since: None,
        })
    }

    fn of_pattern(tokens: &'r [Token<'t>], at: usize, pattern: &'static Pattern) -> Option<Vec<Slot>> {
        let mut reading = Reading::new(tokens, pattern.attribute, pattern.language, pattern.row)?;
        // What stands before the word by which the pattern was found is one word: "34 years old".
        let start = at.checked_sub(pattern.anchor)?;
        let mut start = start;
        if let (1, Some(Part::Capture(_, form))) = (pattern.anchor, pattern.parts.first()) {
            if *form == Form::Quantity {
                start = (1..=3)
                    .filter_map(|count| at.checked_sub(count))
                    .find(|start| tokens.get(*start..at).is_some_and(|words| form.accepts(words)))?;
            }
        } else if pattern.anchor > 1 {
            return None;
        }
        let inflection = match pattern.parts.get(pattern.anchor)? {
            Part::Word(words) => {
                words.iter().find(|(word, _)| *word == tokens.get(at).map_or("", |token| &token.norm))?.1
            }
            Part::Capture(..) => Inflection::Any,
        };
        let before = tokens.get(..start)?;
        if pattern.row.reversed {
            Form::Name.accepts(before).then(|| reading.captures.push((Role::Value, before)))?;
        } else {
            reading.before = reading.read_before(
                before,
                inflection,
                matches!(pattern.parts.first(), Some(Part::Capture(_, Form::List(_)))),
            )?;
        }
        reading.at = start;
        for (place, part) in pattern.parts.iter().enumerate() {
            match part {
                Part::Word(words) => {
                    if place > 0 {
                        reading.skip_article(words);
                    }
                    let token = tokens.get(reading.at)?;
                    words.iter().find(|(word, _)| *word == token.norm)?;
                    reading.at += 1;
                    if place == pattern.anchor {
                        reading.after_verb();
                    }
                }
                Part::Capture(role, form) => {
                    let next = match pattern.parts.get(place + 1) {
                        Some(Part::Word(words)) => Some(&words[..]),
                        _ => None,
                    };
                    reading.capture(*role, *form, next)?;
                }
            }
        }
        reading.finish()
    }

    /// Splits what stands before the predicate into the subject and the words that belong to the verb.
    pub(super) fn read_before(&self, mut words: &[Token], inflection: Inflection, is_list: bool) -> Option<Before> {
        let mut before = Before::default();
        let (mut does, mut has) = (false, false);
        while let Some((last, mut rest)) = words.split_last() {
            let previous = rest.last().map_or("", |token| token.norm.as_str());
            match (self.language, last.norm.as_str()) {
                (_, word) if self.grammar.now.contains(&word) => {}
                (_, word) if self.grammar.changed.contains(&word) => before.changed = true,
                _ if is_list && is_article(last) && words.len() > 1 => {}
                (Language::German, "kein" | "keine" | "nicht") if is_list => before.not = true,
                (Language::English, "longer") if previous == "no" => {
                    before.ended = true;
                    rest = rest.get(..rest.len() - 1)?;
                }
                (Language::English, "not")
                    if matches!(previous, "do" | "does") || self.grammar.is.contains(&previous) =>
                {
                    before.not = true;
                }
                (Language::English, "do" | "does") if before.not => does = true,
                (Language::English, "stopped" | "stops" | "quit") if inflection == Inflection::Ing => {
                    before.ended = true;
                }
                (Language::English, "was") if self.attribute.values == Values::Fixed => before.has_is = true,
                (Language::Spanish, "no") if previous == "ya" => {
                    before.ended = true;
                    rest = rest.get(..rest.len() - 1)?;
                }
                (Language::Spanish, "no") => before.not = true,
                (Language::French, "n'" | "ne") => before.ne = true,
                (_, word) if self.grammar.is.contains(&word) => before.has_is = true,
                (_, word) if self.row.event && self.grammar.has.contains(&word) => has = true,
                _ => break,
            }
            words = rest;
        }
        let speaks = |who: &Token| who.is(&["i", "we", "they", "you", "ich", "je", "j'", "yo", "wir"]);
        let first_person = words.last().is_none_or(speaks);
        let fits = match (self.language, inflection) {
            (Language::English, Inflection::Third) => !before.has_is && !does && !before.not,
            (Language::English, Inflection::Plain) => !before.has_is && (does || first_person),
            (Language::English, Inflection::Ing) => !does && (before.has_is || before.ended || words.is_empty()),
            _ => !does || before.not,
        };
        let fits = fits && (!self.row.needs_is || before.has_is) && !(has && before.not);
        if !fits || self.row.event && (before.not || before.ended || before.ne) {
            return None;
        }
        before.subject = self.subject(words)?;
        Some(before)
    }

    /// The subject as it is compared.
    fn subject(&self, words: &[Token]) -> Option<String> {
        match self.attribute.owner {
            Owner::Person => person(words, self.language),
            Owner::Thing => thing(words, self.language).filter(|subject| !subject.is_empty()),
            Owner::Any => person(words, self.language).or_else(|| thing(words, self.language)),
        }
    }

    /// Skips what stands between a verb and what belongs to it.
    fn after_verb(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            let next = self.tokens.get(self.at + 1).map_or("", |token| token.norm.as_str());
            match (self.language, token.norm.as_str()) {
                (_, word) if self.grammar.now.contains(&word) => {}
                (_, word) if self.grammar.changed.contains(&word) => self.before.changed = true,
                (Language::German, "nicht") if next == "mehr" => {
                    self.before.ended = true;
                    self.at += 1;
                }
                (Language::German, "nicht" | "kein" | "keine" | "keinen") => self.before.not = true,
                (Language::French, "plus") if self.before.ne => (self.before.ended, self.before.ne) = (true, false),
                (Language::French, "pas") if self.before.ne => (self.before.not, self.before.ne) = (true, false),
                (Language::English, "to") if matches!(next, "use" | "using") => self.at += 1,
                (Language::English, "using") => {}
                _ => return,
            }
            self.at += 1;
        }
    }

    pub(super) fn skip_article(&mut self, expected: &[(String, Inflection)]) {
        let is_next = |token: &Token| expected.iter().any(|(word, _)| *word == token.norm);
        if self.tokens.get(self.at).is_some_and(|token| is_article(token) && !is_next(token)) {
            self.at += 1;
        }
    }

    /// Takes the longest run of words that `form` accepts, before the next word of the pattern or of the grammar.
    pub(super) fn capture(&mut self, role: Role, form: Form, next: Option<&[(String, Inflection)]>) -> Option<()> {
        let rest = self.tokens.get(self.at..)?;
        let ends = |at: usize, token: &Token| match next {
            Some(words) => at > 0 && words.iter().any(|(word, _)| *word == token.norm),
            None => match role {
                Role::For => at > 0 && (self.ends_purpose(token)),
                // "on" is a state too.
                _ if matches!(form, Form::List(_)) => at > 0 && self.is_end(token),
                _ if matches!(form, Form::Place) => self.is_end(token),
                _ => self.is_end(token) || token.is_mark(),
            },
        };
        let limit = rest.iter().enumerate().position(|(at, token)| ends(at, token)).unwrap_or(rest.len()).min(8);
        let words = match role {
            Role::For => {
                let words = rest.get(..limit)?;
                let plain = !words.iter().any(|word| word.is_mark() || is_stop(word));
                (plain && !without_article(words).is_empty()).then_some(words)?
            }
            Role::Of => {
                let version =
                    rest.iter().take(4).position(|token| Form::Version.accepts(std::slice::from_ref(token)))?;
                rest.get(..version)
                    .filter(|words| Form::Any.accepts(words) && !words.iter().any(|word| self.is_end(word)))?
            }
            _ if next.is_some() => {
                rest.get(..limit).filter(|words| form.accepts(words) && !words.iter().any(|word| self.is_end(word)))?
            }
            _ => (1..=limit).rev().find_map(|end| rest.get(..end).filter(|words| form.accepts(words)))?,
        };
        self.at += words.len();
        match role {
            Role::For | Role::Of => self.qualifier.push(plain(words)),
            _ => self.captures.push((role, without_article(words))),
        }
        Some(())
    }

    /// Whether a purpose ends before `token`: since when, that it is new, or that it is so no more.
    fn ends_purpose(&self, token: &Token) -> bool {
        let word = token.norm.as_str();
        let grammar = self.grammar;
        [grammar.since, grammar.changed, grammar.now].iter().any(|words| words.contains(&word))
            || matches!(word, "any" | "anymore" | "again" | "instead" | "mehr")
    }

    fn is_end(&self, token: &Token) -> bool {
        let word = token.norm.as_str();
        let grammar = self.grammar;
        grammar.prepositions.contains(&word) || grammar.changed.contains(&word) || grammar.now.contains(&word)
    }

    /// Reads what stands behind the value: since when, that it is so no more, and what else it depends on.
    fn trail(&mut self) -> Option<()> {
        let mut rest = self.tokens.get(self.at..)?;
        while let Some((first, mut after)) = rest.split_first() {
            let next = after.first().map_or("", |token| token.norm.as_str());
            match first.norm.as_str() {
                "anymore" | "mehr" if self.before.not => (self.before.ended, self.before.not) = (true, false),
                "any" if self.before.not && matches!(next, "more" | "longer") => {
                    (self.before.ended, self.before.not) = (true, false);
                    after = after.get(1..)?;
                }
                "again" | "instead" if next.is_empty() => self.before.changed = true,
                "these" if next == "days" => after = after.get(1..)?,
                word if self.grammar.now.contains(&word) => {}
                word if self.grammar.changed.contains(&word) => self.before.changed = true,
                "," => {}
                word => {
                    let (words, dated) = (after, self.grammar.since.contains(&word));
                    let plain = !rest.iter().any(|word| word.is_mark() || is_stop(word));
                    let date = Date::read(&join(without_article(words)));
                    let is_event_date = self.row.event
                        && (date.is_some() && matches!(word, "in" | "on" | "im" | "am" | "en" | "el" | "le")
                            || matches!(word, "last" | "yesterday" | "letzten" | "letztes"));
                    if !plain {
                        return None;
                    } else if dated || is_event_date {
                        self.since = date;
                    } else if self.grammar.prepositions.contains(&word) {
                        self.qualifier.push(self::plain(rest));
                    } else {
                        return None;
                    }
                    return Some(());
                }
            }
            rest = after;
        }
        Some(())
    }

    pub(super) fn finish(mut self) -> Option<Vec<Slot>> {
        self.trail()?;
        if self.before.ne {
            return None;
        }
        let contrary = self.before.not || self.before.ended;
        if contrary && (self.row.not || self.row.ended || self.row.event) {
            return None;
        }
        let claim = if self.row.ended || self.before.ended {
            Claim::Ended
        } else if self.row.not || self.before.not {
            Claim::Not
        } else {
            Claim::Holds
        };
        let than = self.captures.iter().find(|(role, _)| *role == Role::Than).map(|(_, words)| *words);
        if let Some(than) = than {
            let value = self.captures.iter().find(|(role, _)| *role == Role::Value)?.1;
            let mut pair = [value, than].map(|words| canonical(words));
            pair.sort_unstable();
            self.qualifier.push(pair.join(" / "));
        }
        if self.row.reversed {
            self.before.subject = self.qualifier.pop()?;
        }
        let mut slots = Vec::new();
        for (role, words) in &self.captures {
            let (number, claim) = match role {
                Role::Value => (self.number, claim),
                Role::Old => (self.number, Claim::Ended),
                Role::Other(other) => (*other, claim),
                Role::Than | Role::Of | Role::For => continue,
            };
            slots.push(Slot {
                number,
                attribute: RULES.attribute(number)?.name,
                language: self.language,
                subject: self.before.subject.clone(),
                qualifier: self.qualifier.join(" · "),
                claim,
                value: join(words),
                normal: canonical(words),
                changed: self.before.changed || self.row.event,
                is_event: self.row.event,
                is_ranked: than.is_some(),
                since: self.since,
            });
        }
        (!slots.is_empty()).then_some(slots)
    }
}

fn canonical(words: &[Token]) -> String {
    RULES.canonical(&normal(&join(words)))
}

/// Words as they stand in a key: folded, without articles.
pub(super) fn plain(words: &[Token]) -> String {
    words.iter().filter(|word| !is_article(word)).map(|word| word.norm.as_str()).collect::<Vec<_>>().join(" ")
}
