//! Whether two texts say the same but for a negation, in any words.

use super::Statement;
use crate::words::{fold, is_unspaced};

/// How one text denies another that has the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contrary {
    /// One says that it is so, the other that it is not.
    Denied,
    /// The newer says that it is so no more.
    Over,
}

/// Longest text that is compared, bytes.
const MAX_BYTES: usize = 600;

/// Words after which a statement may not hold, or is somebody else's.
const HEDGES: &[&str] = &[
    "if",
    "unless",
    "whether",
    "when",
    "wenn",
    "falls",
    "ob",
    "si",
    "quand",
    "cuando",
    "or",
    "oder",
    "o",
    "ou",
    "maybe",
    "perhaps",
    "might",
    "could",
    "would",
    "says",
    "said",
    "asked",
    "asks",
    "vielleicht",
    "quizas",
    "nor",
    "neither",
    "than",
    "used",
];

/// Words that deny each other in the same place.
const OPPOSITES: &[(&str, &str)] = &[
    ("always", "never"),
    ("likes", "dislikes"),
    ("like", "dislike"),
    ("loves", "hates"),
    ("love", "hate"),
    ("likes", "hates"),
    ("loves", "dislikes"),
    ("allowed", "forbidden"),
    ("immer", "nie"),
    ("siempre", "nunca"),
    ("toujours", "jamais"),
];

/// Japanese endings that deny each other.
const ENDINGS: &[(&str, &str)] = &[
    ("が好き", "が嫌い"),
    ("が好き", "が好きではない"),
    ("が好き", "が好きじゃない"),
    ("ている", "ていない"),
    ("ています", "ていません"),
    ("がある", "がない"),
    ("があります", "がありません"),
    ("できる", "できない"),
    ("を飲む", "を飲まない"),
    ("を食べる", "を食べない"),
];

/// Words that make a negation, by themselves or with the next.
const NEGATIONS: &[&str] =
    &["not", "no", "cannot", "can't", "won't", "nicht", "kein", "keine", "keinen", "pas", "plus"];

/// Whether `new` and `old` differ by one negation only.
pub(super) fn contrary(new: &Statement, old: &Statement) -> Option<Contrary> {
    let read = new.plain.get_or_init(|| Plain::of(new.text));
    let (new, old) = (new.text, old.text);
    if new.len() > MAX_BYTES || old.len() > MAX_BYTES || [new, old].iter().any(|text| text.contains(['?', '？'])) {
        return None;
    }
    if new.contains(is_unspaced) || old.contains(is_unspaced) {
        return unspaced(new, old);
    }
    let new = read.as_ref()?;
    // Most texts deny nothing: told without taking the other apart.
    if new.negations == 0 && !new.may_be_opposite() && !may_negate(old) {
        return None;
    }
    let old = &Plain::of(old)?;
    match (new.negations, old.negations) {
        (1, 0) if new.says_as(old) => Some(if new.is_over { Contrary::Over } else { Contrary::Denied }),
        (0, 1) if old.says_as(new) => Some(Contrary::Denied),
        (0, 0) => new.is_opposite(old).then_some(Contrary::Denied),
        _ => None,
    }
}

/// Whether a text may have a negation: never false where it has one.
fn may_negate(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_end_matches(['.', '!', ',']);
        !word.is_ascii()
            || word.len() > 3 && word.get(word.len() - 3..).is_some_and(|end| end.eq_ignore_ascii_case("n't"))
            || NEGATIONS.iter().any(|negation| word.eq_ignore_ascii_case(negation))
    })
}

/// The words of a text without its negation.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    words: Vec<String>,
    negations: usize,
    /// "no longer".
    is_over: bool,
    /// Where "does not" stood: the next word is the plain form of a verb.
    verb: Option<usize>,
}

impl Plain {
    fn of(text: &str) -> Option<Plain> {
        let mut words: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let word = fold(word.trim_end_matches(['.', '!', ',']));
            match word.as_str() {
                "cannot" | "can't" => words.extend(["can".to_owned(), "not".to_owned()]),
                "won't" => words.extend(["will".to_owned(), "not".to_owned()]),
                other => match (other.strip_suffix("n't"), other.strip_prefix("n'")) {
                    (Some(verb), _) => words.extend([verb.to_owned(), "not".to_owned()]),
                    (_, Some(verb)) => words.extend(["ne".to_owned(), verb.to_owned()]),
                    _ => words.push(word),
                },
            }
        }
        if words.len() > 60 || words.iter().any(|word| HEDGES.contains(&word.as_str())) {
            return None;
        }
        let mut plain = Plain { words: Vec::new(), negations: 0, is_over: false, verb: None };
        let has_ne = words.iter().any(|word| word == "ne");
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1).map_or("", String::as_str);
            let after = words.get(at + 2).map_or("", String::as_str);
            let (skipped, negates) = match (word.as_str(), next) {
                ("no", "longer") | ("nicht", "mehr") | ("ya", "no") => {
                    plain.is_over = true;
                    (2, true)
                }
                ("do" | "does", "not") if !after.is_empty() => {
                    plain.verb = Some(plain.words.len());
                    (2, true)
                }
                ("any", "more" | "longer") if plain.negations == 1 => {
                    plain.is_over = true;
                    (2, false)
                }
                ("anymore", "") if plain.negations == 1 => {
                    plain.is_over = true;
                    (1, false)
                }
                ("pas", _) if has_ne => (1, true),
                ("plus", _) if has_ne => {
                    plain.is_over = true;
                    (1, true)
                }
                ("no", next) if next.starts_with(|c: char| c.is_ascii_digit()) => (0, false),
                ("not" | "nicht" | "kein" | "keine" | "keinen" | "no", _) => (1, true),
                (
                    "ne" | "a" | "an" | "any" | "ein" | "eine" | "einen" | "de" | "du" | "la" | "le" | "les" | "des",
                    _,
                ) => (1, false),
                _ => (0, false),
            };
            plain.negations += usize::from(negates);
            if skipped == 0 {
                plain.words.push(word.clone());
            }
            at += skipped.max(1);
        }
        Some(plain)
    }

    /// Whether the words are those of `other`, which has no negation.
    fn says_as(&self, other: &Plain) -> bool {
        let is_third = |plain: &str, third: &str| match plain {
            "have" => third == "has",
            "do" => third == "does",
            _ => {
                third == plain
                    || third.strip_suffix('s') == Some(plain)
                    || third.strip_suffix("es") == Some(plain)
                    || third.strip_suffix("ies").is_some_and(|stem| plain.strip_suffix('y') == Some(stem))
            }
        };
        self.words.len() == other.words.len()
            && self.words.len() > 1
            && self
                .words
                .iter()
                .zip(&other.words)
                .enumerate()
                .all(|(at, (own, other))| if self.verb == Some(at) { is_third(own, other) } else { own == other })
    }

    /// Whether another text may say the opposite with a word of its own.
    fn may_be_opposite(&self) -> bool {
        self.words.iter().any(|word| OPPOSITES.iter().any(|(a, b)| word == a || word == b))
    }

    fn is_opposite(&self, other: &Plain) -> bool {
        if self.words.len() != other.words.len() {
            return false;
        }
        let mut different = self.words.iter().zip(&other.words).filter(|(own, other)| own != other);
        let is_pair = |a: &str, b: &str| OPPOSITES.contains(&(a, b)) || OPPOSITES.contains(&(b, a));
        different.next().is_some_and(|(own, other)| is_pair(own, other)) && different.next().is_none()
    }
}

/// The same for Chinese and Japanese: a sign or an ending.
fn unspaced(new: &str, old: &str) -> Option<Contrary> {
    let plain = |text: &str| -> String {
        let text = text.trim().trim_end_matches(['。', '.', '！']);
        text.chars().filter(|c| !c.is_whitespace()).collect()
    };
    let (new, old) = (plain(new), plain(old));
    if [&new, &old]
        .iter()
        .any(|text| text.contains("如果") || text.contains("なら") || text.contains("たら") || text.contains("吗"))
    {
        return None;
    }
    let without = |text: &str, sign: &str| text.split_once(sign).map(|(before, after)| format!("{before}{after}"));
    if without(&new, "不再").as_deref() == Some(&old) {
        return Some(Contrary::Over);
    }
    for (denies, other) in [(&new, &old), (&old, &new)] {
        let denied = ["不", "没", "没有"].iter().any(|sign| without(denies, sign).as_ref() == Some(other));
        let ends = ENDINGS.iter().any(|(holds, not)| {
            let stems = (denies.strip_suffix(not), other.strip_suffix(holds));
            matches!(stems, (Some(a), Some(b)) if a == b && !a.is_empty())
        });
        if denied || ends {
            return Some(Contrary::Denied);
        }
    }
    None
}
