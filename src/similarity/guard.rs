//! The strict guard: whether two texts state the same fact, and if not, what differs.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;

use frostem::{Algorithm, Stemmer};

use super::reading::{Kind, Token, compatible, is_accented, noise, tokens};

/// Why two texts are not the same fact, in the words used in replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A number, version, path, flag, symbol: `8080 / 8081`.
    Identifiers(String),
    /// One side says that it is not so.
    Negation,
    /// One side tells of the past or the future.
    Tense,
    /// Any other word: `senior`, or `Berlin / Munich`.
    Words(String),
    /// One side asks.
    Question,
    /// Only commas, quotes and the like, which can turn a sentence round.
    Punctuation,
    /// The same words in another order: who manages whom.
    Order,
    /// A side without a word.
    Nothing,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Identifiers(which) => write!(f, "different numbers or identifiers: {which}"),
            Difference::Negation => f.write_str("one is negated"),
            Difference::Tense => f.write_str("different tense"),
            Difference::Words(which) => write!(f, "different words: {which}"),
            Difference::Question => f.write_str("one is a question"),
            Difference::Punctuation => f.write_str("different punctuation"),
            Difference::Order => f.write_str("the same words in another order"),
            Difference::Nothing => f.write_str("no words to compare"),
        }
    }
}

/// Whether `a` and `b` state the same fact, so that keeping one of them loses nothing.
///
/// Their words must be equal, in order. Noise are: a capital at the start of a word, accents that one text leaves out
/// altogether (but not on a last letter: `trabajo`, `trabajó`), British spelling, contractions, final punctuation, and
/// on one side only an article, "is", "currently" or the subject "the user". Numbers, identifiers, negations, tenses,
/// pronouns and prepositions never are. Linear in the lengths.
///
/// # Errors
/// What differs: the first of the cases of [`Difference`] that applies.
pub fn same_fact(a: &str, b: &str) -> Result<(), Difference> {
    compare(a, b, difference)
}

/// Whether `a` and `b` state the same fact, as [`same_fact`] judges, without naming what differs.
pub fn is_same_fact(a: &str, b: &str) -> bool {
    Wording::of(&compatible(a)).is_same_fact(b)
}

fn compare(a: &str, b: &str, name: fn(&[Token], &[Token]) -> Difference) -> Result<(), Difference> {
    Wording::of(&compatible(a)).compare(b, name)
}

/// A text as the guard reads it, to be compared with many.
#[derive(Debug)]
pub struct Wording<'t> {
    text: &'t str,
    /// Its tokens where accents that one text leaves out do not count.
    loose: Vec<Token<'t>>,
    /// Where they do: both texts have some.
    strict: OnceCell<Vec<Token<'t>>>,
}

impl<'t> Wording<'t> {
    /// Reads a text that [`compatible`] made.
    pub fn of(text: &'t str) -> Self {
        Wording { text, loose: tokens(text, true), strict: OnceCell::new() }
    }

    /// Whether `other` states the same fact, as [`same_fact`] judges.
    pub fn is_same_fact(&self, other: &str) -> bool {
        // Digits are never noise, and plain ASCII is compared as it stands.
        let digits = |text: &'_ str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
        let differ_in_digits = self.text.is_ascii() && other.is_ascii() && digits(self.text) != digits(other);
        !differ_in_digits && self.compare(other, |_, _| Difference::Nothing).is_ok()
    }

    fn compare(&self, other: &str, name: fn(&[Token], &[Token]) -> Difference) -> Result<(), Difference> {
        let other = compatible(other);
        let ignore_accents = !(self.text.contains(is_accented) && other.contains(is_accented));
        let own = if ignore_accents { &self.loose } else { self.strict.get_or_init(|| tokens(self.text, false)) };
        let other = tokens(&other, ignore_accents);
        let has_content = |side: &[Token]| side.iter().any(|token| token.kind != Kind::Mark && token.noise == 0);
        if !has_content(own) || !has_content(&other) {
            return Err(Difference::Nothing);
        }
        if aligned(own, &other) { Ok(()) } else { Err(name(own, &other)) }
    }
}

/// Whether the tokens are equal but for noise, each class of it on one side only.
fn aligned(mut a: &[Token], mut b: &[Token]) -> bool {
    let (mut only_in_a, mut only_in_b) = (0, 0);
    loop {
        let ((noise_a, rest_a), (noise_b, rest_b)) = (split_noise(a), split_noise(b));
        for class in noise::ALL {
            let [in_a, in_b] = [noise_a, noise_b].map(|noise| noise.iter().filter(move |token| token.noise == class));
            let [none_in_a, none_in_b] = [&in_a, &in_b].map(|tokens| tokens.clone().next().is_none());
            if none_in_a || none_in_b {
                only_in_a |= if none_in_a { 0 } else { class };
                only_in_b |= if none_in_b { 0 } else { class };
            } else if !in_a.map(|token| &token.key).eq(in_b.map(|token| &token.key)) {
                return false;
            }
        }
        match (rest_a.split_first(), rest_b.split_first()) {
            (None, None) => return only_in_a & only_in_b == 0,
            (Some((left, rest_a)), Some((right, rest_b))) if left.key == right.key => (a, b) = (rest_a, rest_b),
            _ => return false,
        }
    }
}

/// The noise before the next content, and the rest.
fn split_noise<'s, 't>(tokens: &'s [Token<'t>]) -> (&'s [Token<'t>], &'s [Token<'t>]) {
    tokens.split_at(tokens.iter().take_while(|token| token.noise != 0).count())
}

/// Names the difference between tokens that are not [`aligned`].
fn difference(a: &[Token], b: &[Token]) -> Difference {
    let (only_a, only_b) = (unmatched(a, b), unmatched(b, a));
    let listed = |belongs: fn(&Token) -> bool| {
        let sides = [&only_a, &only_b].map(|side| {
            let mut words: Vec<&str> = side.iter().filter(|token| belongs(token)).map(|token| token.written).collect();
            words.dedup();
            words.truncate(LISTED_WORDS);
            words.iter().map(|word| shortened(word)).collect::<Vec<_>>().join(", ")
        });
        let sides = sides.into_iter().filter(|side| !side.is_empty()).collect::<Vec<_>>();
        (!sides.is_empty()).then(|| sides.join(" / "))
    };
    let same = |belongs: fn(&Token) -> bool| {
        let [a, b] = [a, b].map(|side| side.iter().filter(move |token| belongs(token)).map(|token| &token.key));
        a.eq(b)
    };
    if let Some(which) = listed(|token| token.kind == Kind::Identifier) {
        Difference::Identifiers(which)
    } else if negations(a) != negations(b) {
        Difference::Negation
    } else if changes_tense(&only_a, &only_b) {
        Difference::Tense
    } else if let Some(which) = listed(|token| token.kind == Kind::Word && token.noise == 0) {
        Difference::Words(which)
    } else if !same(|token| token.key == "?") {
        Difference::Question
    } else if !same(|token| token.kind != Kind::Mark && token.noise == 0) {
        Difference::Order
    } else if let Some(which) = listed(|token| token.kind == Kind::Word) {
        Difference::Words(which)
    } else if same(|token| token.kind != Kind::Mark) {
        Difference::Punctuation
    } else {
        Difference::Order
    }
}

/// The tokens of `side` that `other` does not have, repeats counted.
fn unmatched<'t>(side: &'t [Token], other: &[Token]) -> Vec<&'t Token<'t>> {
    let mut left: HashMap<&str, usize> = HashMap::with_capacity(other.len());
    for token in other {
        *left.entry(&token.key).or_default() += 1;
    }
    let mut missing = |token: &&Token| match left.get_mut(token.key.as_ref()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    side.iter().filter(|token| missing(token)).collect()
}

/// How many differing words of a side a reply names.
const LISTED_WORDS: usize = 3;
/// Up to which length, in characters.
const LISTED_CHARACTERS: usize = 40;

fn shortened(word: &str) -> Cow<'_, str> {
    match word.char_indices().nth(LISTED_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}…", word.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(word),
    }
}

fn negations(side: &[Token]) -> usize {
    let inside = |key: &str| INNER_NEGATIONS.iter().filter(|part| key.contains(**part)).count();
    let count = |key: &str| usize::from(NEGATIONS.contains(&key)) + if key.is_ascii() { 0 } else { inside(key) };
    side.iter().map(|token| count(&token.key)).sum()
}

/// A tense word on one side only, or the same verb with and without `-ed`.
fn changes_tense(only_a: &[&Token], only_b: &[&Token]) -> bool {
    let stemmer = Stemmer::new(Algorithm::English);
    let stem = |token: &&Token| (stemmer.stem(&token.key).into_owned(), token.key.ends_with("ed"));
    let verbs: HashMap<String, bool> = only_a.iter().map(stem).collect();
    only_a.iter().chain(only_b).any(|token| TENSES.iter().any(|word| token.key.eq_ignore_ascii_case(word)))
        || only_b.iter().map(stem).any(|(stem, past)| verbs.get(&stem).is_some_and(|other| *other != past))
}

/// Words that negate, in English, German, Spanish, French, Portuguese and Russian.
#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "nicht", "kein", "keine",
    "keinen", "keiner", "nie", "niemals", "ohne", "nunca", "jamás", "sin", "ne", "pas", "jamais", "sans", "não",
    "nao", "nem", "sem", "не", "нет", "никогда", "без", "ни", "ningún", "aucun", "rien",
];

/// Parts of words that negate, in Chinese, Japanese and Korean.
const INNER_NEGATIONS: &[&str] =
    &["不", "没", "沒", "無", "无", "未", "别", "別", "ない", "なかった", "ません", "嫌い", "없", "않", "못"];

/// Words that place a sentence in time.
const TENSES: &[&str] =
    &["was", "were", "had", "did", "used", "formerly", "previously", "former", "ex", "will", "shall", "been"];

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Label, one text, another text; `#` begins a comment.
    fn pairs() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let lines = include_str!("../../tests/data/similarity/pairs.tsv").lines();
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
            let (label, texts) = line.split_once('\t').unwrap();
            let (a, b) = texts.split_once('\t').unwrap();
            (label, a, b)
        })
    }

    #[test]
    fn different_facts_are_never_merged() {
        let different: Vec<_> = pairs().filter(|(label, ..)| matches!(*label, "upd" | "con" | "dif")).collect();
        assert!(different.len() > 200, "{}", different.len());
        for (_, a, b) in different {
            assert!(same_fact(a, b).is_err() && same_fact(b, a).is_err(), "{a:?} and {b:?} were merged");
        }
    }

    #[test]
    fn the_same_fact_is_recognised() {
        for (_, a, b) in pairs().filter(|(label, ..)| *label == "same") {
            assert_eq!((same_fact(a, b), same_fact(b, a)), (Ok(()), Ok(())), "{a:?} and {b:?}");
        }
        let wordings: Vec<_> = pairs().filter(|(label, ..)| *label == "dup").collect();
        let merged = wordings.iter().filter(|(_, a, b)| same_fact(a, b).is_ok()).count();
        assert!(wordings.len() == 40 && merged >= 21, "{merged} of {}", wordings.len());
    }

    #[test]
    fn the_difference_is_named() {
        let difference = |a, b| same_fact(a, b).unwrap_err().to_string();
        assert_eq!(
            difference("The API listens on port 8080", "API listens on port 8081"),
            "different numbers or identifiers: 8080 / 8081"
        );
        assert_eq!(difference("Knows C well", "Knows C++ well"), "different numbers or identifiers: C / C++");
        assert_eq!(difference("Is allergic", "Isn't allergic"), "one is negated");
        assert_eq!(difference("Isst Fleisch", "Isst kein Fleisch"), "one is negated");
        assert_eq!(difference("喜欢吃辣", "不喜欢吃辣"), "one is negated");
        assert_eq!(difference("Works at Google", "Worked at Google"), "different tense");
        assert_eq!(difference("Has a dog", "Had a dog"), "different tense");
        assert_eq!(difference("Is a developer", "Is a senior developer"), "different words: senior");
        assert_eq!(difference("Lives in Berlin", "Lives in Munich"), "different words: Berlin / Munich");
        assert_eq!(difference("Is a lead developer", "Is the lead developer"), "different words: a / the");
        assert_eq!(difference("Likes tea", "Likes tea?"), "one is a question");
        assert_eq!(difference("Knows Ben, manages Ana", "Knows Ben manages Ana"), "different punctuation");
        assert_eq!(difference("Ben manages Ana", "Ana manages Ben"), "the same words in another order");
        assert_eq!(difference("Ana is right", "Is Ana right"), "the same words in another order");
        assert_eq!(difference("...", ""), "no words to compare");
        let long = difference(&"x".repeat(99), "a b c d e f");
        assert_eq!(long, format!("different words: {}… / a, b, c", "x".repeat(40)));
    }

    #[test]
    fn a_text_without_words_is_never_the_same() {
        for text in ["", " ", "?!", "\"\"", "currently"] {
            assert_eq!(same_fact(text, text), Err(Difference::Nothing), "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_compared_to_the_last_word() {
        let long = "The billing service stores 5 invoices, in Tomás’s café; 请求. ".repeat(2_000);
        assert_eq!(
            same_fact(&long, &long.replace("Tomás", "Tomas")),
            Err(Difference::Words("Tomás's / Tomas's".into()))
        );
        assert_eq!(same_fact(&long, &long.to_lowercase()), Ok(()));
        assert_eq!(same_fact(&long, &format!("{long} Not.")), Err(Difference::Negation));
        let solid = "x(".repeat(50_000);
        assert_eq!(same_fact(&solid, &solid), Ok(()));
    }

    #[test]
    fn both_judges_agree() {
        for (_, a, b) in pairs() {
            assert_eq!(is_same_fact(a, b), same_fact(a, b).is_ok(), "{a:?} and {b:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn both_judges_agree_on_noise(words in vec("the |a |1|2 |v1|is |user |1st|, |\\. |5\" ", 1..7), dropped in 0..7_usize) {
            let fewer: String = words.iter().enumerate().filter(|(at, _)| *at != dropped).map(|(_, word)| &**word).collect();
            let all = words.concat();
            prop_assert_eq!(is_same_fact(&all, &fewer), same_fact(&all, &fewer).is_ok(), "{:?} {:?}", all, fewer);
        }

        #[test]
        fn every_text_is_the_same_as_itself(text in any::<String>(), other in any::<String>()) {
            prop_assert!(matches!(same_fact(&text, &text), Ok(()) | Err(Difference::Nothing)));
            prop_assert_eq!(same_fact(&text, &other).is_ok(), same_fact(&other, &text).is_ok());
        }

        #[test]
        fn wrapping_does_not_change_a_fact(words in vec("[a-zà-ö一-龥]{2,8}|[0-9]{1,4}", 1..8)) {
            let text = words.join(" ");
            prop_assert_eq!(same_fact(&text, &format!(" \"{}.\"", words.join("  "))), Ok(()));
        }

        /// Of content words and numbers nothing can be dropped, doubled, replaced or moved.
        #[test]
        fn content_is_compared_word_by_word(a in vec("[bcd]{3}|[12]{1,2}", 1..5), b in vec("[bcd]{3}|[12]{1,2}", 1..5)) {
            prop_assert_eq!(same_fact(&a.join(" "), &b.join(" ")).is_ok(), a == b);
        }

        /// However the words that can be noise are mixed, nothing else can be missing.
        #[test]
        fn noise_never_hides_content(
            words in vec("the|a|as|is|are|user|currently|not|was|has|called|living|Max|,|\\?", 2..8),
            missing in any::<proptest::sample::Index>(),
        ) {
            let mut fewer = words.clone();
            let dropped = fewer.remove(missing.index(words.len()));
            if same_fact(&words.join(" "), &fewer.join(" ")).is_ok() {
                prop_assert!(["the", "a", "is", "are", "user", "currently", ","].contains(&dropped.as_str()), "{dropped}");
            }
        }
    }
}
