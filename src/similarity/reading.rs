//! How the guard reads a text: words in one spelling, identifiers to the letter, marks, and which words are noise.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::words::{is_invisible, is_unspaced};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// Numbers, number words, code, symbols: what must be equal to the letter.
    Identifier,
    /// Punctuation: `,` (any pause), `?`, `"`.
    Mark,
}

/// Classes of words that may be missing on one side, a bit each. One side only: "a" does not pass for "the".
pub(super) mod noise {
    pub(in crate::similarity) const ARTICLE: u8 = 1;
    pub(in crate::similarity) const COPULA: u8 = 2;
    pub(in crate::similarity) const NOW: u8 = 4;
    pub(in crate::similarity) const SUBJECT: u8 = 8;
    pub(in crate::similarity) const ALL: [u8; 4] = [ARTICLE, COPULA, NOW, SUBJECT];
}

#[derive(Debug)]
pub(super) struct Token<'t> {
    /// What is compared.
    pub(super) key: Cow<'t, str>,
    /// What was written.
    pub(super) written: &'t str,
    pub(super) kind: Kind,
    /// A class of [`noise`], or 0 for content.
    pub(super) noise: u8,
}

/// Splits a [`compatible`] text into words, identifiers and marks, and finds the noise.
pub(super) fn tokens(text: &str, ignore_accents: bool) -> Vec<Token<'_>> {
    let mut reader = Reader { tokens: Vec::with_capacity(text.len() / 5 + 1), ignore_accents };
    for piece in without_bullet(unwrapped(text)).split_whitespace() {
        reader.piece(piece);
    }
    let mut tokens = reader.tokens;
    while tokens.last().is_some_and(|token| token.key == ",") {
        tokens.pop();
    }
    for at in 0..tokens.len() {
        let (noise, usual_form) = (noise_of(&tokens, at), usual_form(&tokens, at));
        if let Some(token) = tokens.get_mut(at) {
            token.noise = noise;
            token.key = usual_form.map_or_else(|| std::mem::take(&mut token.key), Cow::Borrowed);
        }
    }
    tokens
}

/// What stands at `at`; nothing before the first and after the last token.
fn key<'t>(tokens: &'t [Token], at: Option<usize>) -> &'t str {
    at.and_then(|at| tokens.get(at)).map_or("", |token| token.key.as_ref())
}

/// The class of [`noise`] of the token at `at`. Each rule is as narrow as the readings that it must keep apart.
fn noise_of(tokens: &[Token], at: usize) -> u8 {
    let before = key(tokens, at.checked_sub(1));
    let [after, second] = [1, 2].map(|offset| key(tokens, Some(at + offset)));
    match key(tokens, Some(at)) {
        article @ ("a" | "an" | "the") => {
            let stays = ARTICLE_STAYS_AFTER.contains(&before)
                || ARTICLE_STAYS_BEFORE.contains(&after)
                || ENDS_A_PHRASE.contains(&after);
            let is_article = article == "the" || A_IS_ARTICLE_AFTER.contains(&before);
            let in_phrase = matches!(before, "" | "," | "as") || !ENDS_A_PHRASE.contains(&second);
            if is_article && in_phrase && !stays { noise::ARTICLE } else { 0 }
        }
        "is" | "are" => {
            let is_free = COPULA_IS_FREE_BEFORE.contains(&after)
                || COPULA_IS_FREE_BEFORE_ENDINGS.iter().any(|ending| after.ends_with(ending));
            if is_free { noise::COPULA } else { 0 }
        }
        "currently" if matches!(before, "" | "user" | "is" | "are") => noise::NOW,
        "user" if (at == 0 || (at == 1 && before == "the")) && SUBJECT_VERBS.contains(&after) => {
            if VERBS_OF_PLURALS.contains(&second) { 0 } else { noise::SUBJECT }
        }
        _ => 0,
    }
}

/// The other way of saying what the token at `at` says, where there is one.
fn usual_form(tokens: &[Token], at: usize) -> Option<&'static str> {
    let before = |offset| key(tokens, at.checked_sub(offset));
    match key(tokens, Some(at)) {
        "called" if matches!(before(2), "a" | "an") && matches!(before(3), "has" | "have" | "owns") => Some("named"),
        verb if matches!(before(1), "" | "is" | "user" | "currently") => {
            LASTING.iter().find(|(continuous, _)| *continuous == verb).map(|(_, simple)| *simple)
        }
        _ => None,
    }
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    ignore_accents: bool,
}

impl<'t> Reader<'t> {
    /// A piece without blanks. Where scripts meet it is cut, since blanks there are a matter of taste.
    fn piece(&mut self, piece: &'t str) {
        let (before, core, after) = trim(piece);
        self.marks(before);
        let unspaced = core.starts_with(is_unspaced);
        match core.find(|c| is_unspaced(c) != unspaced) {
            Some(_) => {
                let mut rest = core;
                while let Some(first) = rest.chars().next() {
                    let end = rest.find(|c| is_unspaced(c) != is_unspaced(first)).unwrap_or(rest.len());
                    let (run, tail) = rest.split_at(end);
                    self.piece(run);
                    rest = tail;
                }
            }
            None if is_plain(core) => self.word(core),
            None if core.is_empty() => {}
            None => self.push(core, core, Kind::Identifier),
        }
        self.marks(after);
    }

    fn word(&mut self, written: &'t str) {
        let starts = self.tokens.last().is_none_or(|token| token.kind == Kind::Mark);
        let after_number = self.tokens.last().is_some_and(|token| token.key.ends_with(char::is_numeric));
        let word = if starts && written == "A" { Cow::Borrowed("a") } else { without_capital(written, after_number) };
        let negated = match word.as_ref() {
            "can't" | "cannot" => Some("can"),
            "won't" => Some("will"),
            "shan't" => Some("shall"),
            other => other.strip_suffix("n't").filter(|verb| !verb.is_empty()),
        };
        if let Some(verb) = negated {
            self.push(verb.to_owned(), written, Kind::Word);
            self.push("not", written, Kind::Word);
        } else {
            let letter_name = word != "I" && word.chars().nth(1).is_none() && word.contains(char::is_uppercase);
            let exact = letter_name || NUMBER_WORDS.contains(&word.as_ref());
            let key = if exact { word } else { respelled(word, self.ignore_accents) };
            self.push(key, written, if exact { Kind::Identifier } else { Kind::Word });
        }
    }

    fn marks(&mut self, punctuation: &'t str) {
        for c in punctuation.chars() {
            let mark = match c {
                '?' => "?",
                '`' | '¡' | '¿' => continue,
                _ if is_quote(c) => "\"",
                _ => ",",
            };
            let pause_counts = self.tokens.last().is_some_and(|token| !matches!(token.key.as_ref(), "," | "?"));
            if mark != "," || pause_counts {
                self.push(mark, mark, Kind::Mark);
            }
        }
    }

    fn push(&mut self, key: impl Into<Cow<'t, str>>, written: &'t str, kind: Kind) {
        self.tokens.push(Token { key: key.into(), written, kind, noise: 0 });
    }
}

/// NFKC with straight apostrophes and without invisible characters. What is raised or lowered, and numerals that are
/// not plain digits, stay as they are: `5²` is not `52`.
pub fn compatible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_apart = |c: char| match c {
        '0'..='9' | '\u{FF10}'..='\u{FF19}' | '\u{1D7CE}'..='\u{1D7FF}' => false,
        '\u{2070}'..='\u{209C}' | '\u{1D2C}'..='\u{1D6A}' => true,
        other => other.is_numeric(),
    };
    let mut normal = String::with_capacity(text.len());
    for part in text.split_inclusive(is_apart) {
        let plain = part.strip_suffix(is_apart).unwrap_or(part);
        let visible = plain.chars().filter(|&c| !is_invisible(c)).nfkc();
        normal.extend(visible.map(|c| if matches!(c, '\u{2018}' | '\u{2019}' | '\u{02BC}') { '\'' } else { c }));
        normal.extend(part.chars().next_back().filter(|&c| is_apart(c)));
    }
    Cow::Owned(normal)
}

/// `text` without blanks and quotes around it and without its final `.` or `!`.
pub(super) fn unwrapped(mut text: &str) -> &str {
    loop {
        text = text.trim();
        let last = text.chars().next_back().filter(|&last| matches!(last, '.' | '!' | '。'));
        let shorter = last.and_then(|last| text.strip_suffix(last).filter(|before| can_follow(before, last)));
        match shorter.or_else(|| without_quotes(text)) {
            Some(inner) => text = inner,
            None => return text,
        }
    }
}

fn without_quotes(text: &str) -> Option<&str> {
    QUOTE_PAIRS.iter().find_map(|&(open, close)| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        (!inner.contains([open, close]) && !inner.trim().is_empty()).then_some(inner)
    })
}

fn without_bullet(text: &str) -> &str {
    let rest = text.strip_prefix(['-', '*', '•']).filter(|rest| rest.starts_with(char::is_whitespace));
    rest.map(str::trim_start).filter(|rest| rest.starts_with(char::is_alphabetic)).unwrap_or(text)
}

/// A piece without blanks as punctuation before it, what it is about, punctuation after it.
///
/// Signs stay: `-1`, `C++`, `.NET`, `50%`, `foo()`, `<`, `5"`, `cd .`.
pub(super) fn trim(piece: &str) -> (&str, &str, &str) {
    let start = piece.find(|c| !(is_quote(c) || matches!(c, '(' | '[' | '¡' | '¿' | '`'))).unwrap_or(piece.len());
    let (before, rest) = piece.split_at(start);
    let count = |brackets: [char; 2]| rest.matches(brackets).count();
    let mut unopened = count([')', ']']).saturating_sub(count(['(', '[']));
    let mut core = rest;
    while let Some(last) = core.chars().next_back() {
        let Some(shorter) = core.strip_suffix(last) else { break };
        let closes = match last {
            ')' | ']' if unopened == 0 => false,
            ')' | ']' => {
                unopened -= 1;
                true
            }
            '\'' => before.contains('\''),
            '"' => !shorter.ends_with(char::is_numeric),
            ',' | ';' | ':' | '?' | '`' | '、' => true,
            '.' | '!' | '。' => can_follow(shorter, last),
            _ => is_quote(last),
        };
        if !closes {
            break;
        }
        core = shorter;
    }
    (before, core, rest.get(core.len()..).unwrap_or_default())
}

/// Whether a `.` or `!` after `text` is punctuation: not in `..`, `src/.`, `cd .`, `5!`, `n!`.
fn can_follow(text: &str, sign: char) -> bool {
    let mut ending = text.chars().rev();
    let last = ending.next();
    match (sign, last) {
        ('。', _) => true,
        (_, None) => false,
        ('.', Some(last)) => !(last.is_whitespace() || matches!(last, '.' | '/' | '\\' | '~' | '-')),
        (_, Some(last)) if last.is_alphabetic() => is_unspaced(last) || ending.next().is_some_and(char::is_alphabetic),
        (_, Some(last)) => is_quote(last) || matches!(last, ')' | ']' | '!' | '?' | '.'),
    }
}

fn is_quote(c: char) -> bool {
    QUOTE_PAIRS.iter().any(|&(open, close)| c == open || c == close)
}

/// Whether `core` is a word: letters with inner hyphens and apostrophes.
fn is_plain(core: &str) -> bool {
    core.starts_with(char::is_alphabetic)
        && !core.ends_with('-')
        && core.chars().all(|c| c.is_alphabetic() || is_combining_mark(c) || matches!(c, '\'' | '-'))
}

/// A word without the capital that a sentence or a title gives it.
pub(super) fn without_capital(core: &str, after_number: bool) -> Cow<'_, str> {
    if !core.contains(char::is_uppercase) || !is_plain(core) {
        return Cow::Borrowed(core);
    }
    let mut lower = String::with_capacity(core.len());
    for part in core.split_inclusive('-') {
        let word = part.trim_end_matches('-');
        let small = word.to_lowercase();
        let capitals = word.chars().filter(|c| c.is_uppercase()).count();
        let is_title = capitals == 1 && word.starts_with(char::is_uppercase) && word.chars().nth(1).is_some();
        let is_unit = after_number && word.chars().nth(3).is_none();
        let keep = !is_title || is_unit || NAMES_THAT_ARE_WORDS.binary_search(&small.as_str()).is_ok();
        lower.push_str(if keep { word } else { &small });
        lower.push_str(part.get(word.len()..).unwrap_or_default());
    }
    Cow::Owned(lower)
}

/// A lower-case word in the one spelling that is compared.
fn respelled(word: Cow<'_, str>, ignore_accents: bool) -> Cow<'_, str> {
    if word.is_ascii() {
        let other = SPELLINGS.iter().find_map(|(from, to)| Some((to, word.strip_prefix(from)?)));
        return match other {
            Some((start, rest)) => Cow::Owned(format!("{start}{rest}")),
            None => word,
        };
    }
    if let Some(start) = word.strip_suffix("います").filter(|start| start.ends_with(['て', 'で'])) {
        return Cow::Owned(format!("{start}いる"));
    }
    let mut plain = String::with_capacity(word.len());
    let mut letters = word.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            'ä' => plain.push_str("ae"),
            'ö' => plain.push_str("oe"),
            'ü' => plain.push_str("ue"),
            _ if ignore_accents && letters.peek().is_some() && is_accented(c) => decompose_canonical(c, |part| {
                plain.extend((!is_light_accent(part)).then_some(part));
            }),
            _ => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Whether `c` is a letter that is often typed without its accent. Others are letters of their own: `ñ`, `й`, `å`.
pub(super) fn is_accented(c: char) -> bool {
    let (mut accented, mut light) = (false, true);
    if !c.is_ascii() && !matches!(c, 'ä' | 'ö' | 'ü') {
        decompose_canonical(c, |part| {
            accented |= is_light_accent(part);
            light &= !is_combining_mark(part) || is_light_accent(part);
        });
    }
    accented && light
}

/// Grave, acute, circumflex, diaeresis, cedilla.
fn is_light_accent(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{0302}' | '\u{0308}' | '\u{0327}')
}

const QUOTE_PAIRS: &[(char, char)] =
    &[('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“'), ('«', '»'), ('»', '«'), ('‹', '›'), ('「', '」'), ('『', '』')];

/// "by the sea", "in the charge of", "half the users": after these an article changes the meaning.
const ARTICLE_STAYS_AFTER: &[&str] =
    &["in", "on", "at", "by", "of", "to", "under", "out", "not", "all", "both", "half", "twice", "such", "what"];

/// After these "a" and "an" are English articles: not the "a" of "ama a su madre", the "an" of "fährt an die See".
const A_IS_ARTICLE_AFTER: &[&str] = &["as", "is", "are", "has", "have", "owns", "uses", "drinks"];

/// "a few", "the most", "the rest".
const ARTICLE_STAYS_BEFORE: &[&str] =
    &["few", "little", "lot", "bit", "couple", "most", "more", "least", "best", "only", "other", "one", "same", "rest"];

/// What ends a noun phrase: "has a will" is not "has will", but "uses the vim editor" is "uses vim editor".
const ENDS_A_PHRASE: &[&str] = &[
    "", ",", "?", "\"", "and", "or", "to", "of", "in", "on", "at", "by", "for", "from", "with", "than", "that", "as",
    "is", "are", "was", "were", "has", "but", "not",
];

/// "is on call" says what "on call" says, but "is paid" is not "paid", and "is the door open" asks.
const COPULA_IS_FREE_BEFORE: &[&str] =
    &["not", "currently", "in", "on", "at", "from", "with", "for", "off", "up", "down"];

/// Endings of adjectives and continuous verbs.
const COPULA_IS_FREE_BEFORE_ENDINGS: &[&str] = &["ing", "ic", "ous", "ful", "less", "ible", "ian"];

/// Verbs that can follow the subject "user"; in "user stories" or "user interface" it is no subject.
#[rustfmt::skip]
const SUBJECT_VERBS: &[&str] = &[
    "also", "always", "asked", "avoids", "believes", "can", "currently", "did", "dislikes", "does", "drinks",
    "drives", "eats", "enjoys", "had", "has", "hates", "is", "knows", "likes", "lives", "living", "loves", "moved",
    "never", "often", "owns", "prefers", "said", "speaks", "thinks", "uses", "usually", "wants", "was", "wears",
    "will", "working", "works", "would",
];

/// After these, the word before was a plural: "user likes go to the feed".
const VERBS_OF_PLURALS: &[&str] = &[
    "are", "were", "have", "do", "go", "get", "come", "count", "show", "need", "must", "can", "could", "should",
    "will", "would", "may", "might", "is", "was",
];

/// Verbs whose continuous form states the same lasting fact as the simple one.
const LASTING: &[(&str, &str)] = &[
    ("living", "lives"),
    ("working", "works"),
    ("running", "runs"),
    ("listening", "listens"),
    ("residing", "resides"),
];

/// Words that are numbers.
const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "dozen",
    "hundred", "thousand", "million", "half", "once", "twice", "first", "second", "third", "double",
];

/// Starts of words in British and in American spelling.
const SPELLINGS: &[(&str, &str)] = &[
    ("behaviour", "behavior"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("colour", "color"),
    ("customis", "customiz"),
    ("favour", "favor"),
    ("flavour", "flavor"),
    ("humour", "humor"),
    ("neighbour", "neighbor"),
    ("optimis", "optimiz"),
    ("organis", "organiz"),
    ("travell", "travel"),
];

/// Words that mean something else with a capital; sorted.
const NAMES_THAT_ARE_WORDS: &[&str] = &[
    "amazon", "amber", "apple", "arch", "art", "august", "bash", "basic", "bath", "bill", "bluff", "buffalo", "chase",
    "china", "chrome", "cork", "crystal", "dart", "dawn", "delta", "discord", "django", "earth", "edge", "elm",
    "express", "faith", "fish", "flask", "flux", "frank", "gap", "go", "grace", "grant", "guy", "helm", "hope",
    "hunter", "iris", "ivy", "jack", "java", "jersey", "job", "joy", "julia", "june", "march", "mark", "may", "meta",
    "miles", "mobile", "nice", "notion", "oracle", "pascal", "pat", "penny", "polish", "python", "rails", "ray",
    "reading", "rich", "rob", "rose", "ruby", "rust", "sat", "shell", "signal", "slack", "spark", "square", "stripe",
    "sun", "swift", "target", "teams", "turkey", "wed", "will", "word",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str, expected: &str) {
        let text = compatible(text);
        let shown = |token: &Token| match (token.kind, token.noise) {
            (Kind::Identifier, _) => format!("<{}>", token.key),
            (_, 0) => token.key.to_string(),
            _ => format!("({})", token.key),
        };
        assert_eq!(tokens(&text, true).iter().map(shown).collect::<Vec<_>>().join(" "), expected, "{text:?}");
    }

    #[test]
    fn tables_are_sorted_where_they_are_searched() {
        assert!(NAMES_THAT_ARE_WORDS.is_sorted());
    }

    #[test]
    fn words_marks_and_identifiers_are_told_apart() {
        reads("Knows C++, C# (.NET 8).", "knows <C++> , <C#> , <.NET> <8>");
        reads("Run `foo()` with --dry-run!", "run <foo()> with <--dry-run>");
        reads("Is it \"late\"?!", "is it \" late \" ?");
        reads("- Wears size 5\" or -1", "wears size <5\"> or <-1>");
        reads("see [notes](a/b.md): cd .", "see , <notes](a/b.md> , cd <.>");
        reads("'Tis the dogs' bowl, o'clock", "\" tis (the) dogs' bowl , o'clock");
        reads("使用PostgreSQL,部署。", "使用 PostgreSQL , 部署");
        reads("5² is 25, not 52", "<5²> is <25> , not <52>");
    }

    #[test]
    fn only_a_leading_capital_is_dropped() {
        reads("Prefers Dark Mode", "prefers dark mode");
        reads("GitHub for US, iPhone, Well-Known", "GitHub for US , iPhone , well-known");
        reads("Speaks Polish. A dog on plan A", "speaks Polish , a dog on plan <A>");
        reads("Limit 5 Mb, Max 5 Megabytes", "limit <5> Mb , max <5> megabytes");
    }

    #[test]
    fn other_spellings_are_respelled() {
        reads("Tomás can't; Ana won't; it isn't", "tomas can not , ana will not , it (is) not");
        reads("Müller mangé à la française, año, мой", "mueller mangé à la francaise , año , мой");
        reads("Favourite neighbour organises", "favorite neighbor organizes");
        reads("東京に住んでいます", "東京に住んでいる");
        reads("Has a dog called Max, who called", "has (a) dog named max , who called");
        reads("Is living here, works; Ana was living", "(is) lives here , works , ana was living");
    }

    #[test]
    fn noise_is_recognised_only_where_it_is_safe() {
        reads("The user is currently allergic", "(the) (user) (is) (currently) allergic");
        reads("User stories are paid in the bank", "user stories are paid in the bank");
        reads("Has a few friends as a nurse", "has a few friends as (a) nurse");
        reads("Has a will", "has a will");
        reads("Ama a su madre, by the sea", "ama a su madre , by the sea");
    }

    #[test]
    fn what_wraps_a_text_is_taken_off() {
        for text in ["x y", " x y. ", "\"x y.\"", "“x y”!", "«x y».", "x y.!"] {
            assert_eq!(unwrapped(text), "x y", "{text:?}");
        }
        for text in ["\"x\" or \"y\"", "x y?", "x/.", "5!", "n!", "..", "\"\"", ".", ""] {
            assert_eq!(unwrapped(text), text);
        }
    }
}
