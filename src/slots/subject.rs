//! Who or what a statement is about, as it is compared.

use super::rules::Language;
use super::spaced::{Token, is_stop};
use super::value::is_article;

/// Words for the person whose memory this is.
const USER: &[&str] = &[
    "user",
    "i",
    "ich",
    "je",
    "j'",
    "yo",
    "nutzer",
    "nutzerin",
    "benutzer",
    "benutzerin",
    "usuario",
    "usuaria",
    "utilisateur",
    "utilisatrice",
];
const PRONOUNS: &[&str] = &["he", "she", "they", "we", "you", "er", "sie", "wir", "el", "ella", "il", "elle", "nous"];
/// Of these one has one.
const ONLY_KIN: &[&str] = &[
    "wife",
    "husband",
    "spouse",
    "partner",
    "mother",
    "father",
    "mom",
    "mum",
    "dad",
    "girlfriend",
    "boyfriend",
    "fiance",
    "fiancee",
    "frau",
    "mann",
    "mutter",
    "vater",
    "partnerin",
    "esposa",
    "esposo",
    "marido",
    "mujer",
    "madre",
    "padre",
    "novia",
    "novio",
    "femme",
    "mari",
    "mere",
    "pere",
];
/// Of these one may have several, so that a statement does not say whom it is about; not without a name.
const ANY_KIN: &[&str] = &[
    "sister",
    "brother",
    "son",
    "daughter",
    "child",
    "kid",
    "friend",
    "colleague",
    "coworker",
    "cousin",
    "aunt",
    "uncle",
    "nephew",
    "niece",
    "neighbour",
    "neighbor",
    "roommate",
    "flatmate",
    "teammate",
    "grandmother",
    "grandfather",
    "grandma",
    "grandpa",
    "grandson",
    "granddaughter",
    "twin",
    "sibling",
    "dog",
    "cat",
    "pet",
    "schwester",
    "bruder",
    "sohn",
    "tochter",
    "kind",
    "freund",
    "freundin",
    "kollege",
    "kollegin",
    "nachbar",
    "nachbarin",
    "hermana",
    "hermano",
    "hijo",
    "hija",
    "amigo",
    "amiga",
    "companero",
    "companera",
    "vecino",
    "vecina",
    "sœur",
    "soeur",
    "frere",
    "fils",
    "fille",
    "ami",
    "amie",
    "collegue",
    "voisin",
    "voisine",
];
/// Words before a name that leave the thing the same.
const PLAIN_ADJECTIVES: &[&str] = &["main", "primary", "current", "own", "latest", "new"];

/// Whether a subject may be somebody else where it stands again: "her name is Luna" of a second cat.
pub(super) fn is_pronoun(subject: &str) -> bool {
    let first = subject.split(' ').next().unwrap_or_default();
    PRONOUNS.contains(&first) || matches!(first, "su" | "他" | "她" | "彼" | "彼女")
}

/// Whose something is by "my", "her" and the like.
pub(super) fn possessor(word: &Token, language: Language) -> Option<&'static str> {
    Some(match (language, word.norm.as_str()) {
        (Language::English, "my")
        | (Language::German, "mein" | "meine" | "meiner" | "meinem" | "meinen")
        | (Language::Spanish, "mi" | "mis")
        | (Language::French, "mon" | "ma" | "mes") => "user",
        (Language::English, "his") => "he",
        (Language::English, "her") => "she",
        (Language::English, "their") => "they",
        (Language::English, "our") => "we",
        (Language::English, "your") => "you",
        (Language::German, "sein" | "seine" | "seiner" | "seinem" | "seinen") => "er",
        (Language::German, "ihr" | "ihre" | "ihrer" | "ihrem" | "ihren") => "sie",
        (Language::Spanish, "su" | "sus") => "su",
        (Language::French, "son" | "sa" | "ses") => "il",
        _ => return None,
    })
}

pub(super) fn is_kin(word: &Token) -> bool {
    ANY_KIN.contains(&word.norm.as_str())
}

/// A person: the user where nobody is named, a pronoun, someone's only wife or mother, or a name.
pub(super) fn person(words: &[Token], language: Language) -> Option<String> {
    let is_user = |word: &Token| USER.contains(&word.norm.as_str());
    match words {
        [] => return Some("user".into()),
        [one] if is_user(one) => return Some("user".into()),
        [article, one] if is_article(article) && is_user(one) => return Some("user".into()),
        [one] if PRONOUNS.contains(&one.norm.as_str()) => return Some(one.norm.clone()),
        _ => {}
    }
    if let Some(at) = words.iter().rposition(|word| word.norm == "'s") {
        let owner = person(words.get(..at)?, language)?;
        return kin(&owner, words.get(at + 1..)?);
    }
    let (first, rest) = words.split_first()?;
    if let Some(owner) = possessor(first, language) {
        return kin(owner, rest);
    }
    is_name(words).then(|| joined(words))
}

/// "wife", or "sister Ana", of `owner`.
fn kin(owner: &str, words: &[Token]) -> Option<String> {
    let (first, name) = words.split_first()?;
    let is_only = ONLY_KIN.contains(&first.norm.as_str());
    match name {
        [] if is_only => Some(format!("{owner} {}", first.norm)),
        [_, ..] if (is_only || is_kin(first)) && is_name(name) => {
            Some(format!("{owner} {} {}", first.norm, joined(name)))
        }
        _ => None,
    }
}

/// One to three words with capitals that are no other words.
fn is_name(words: &[Token]) -> bool {
    let is_part = |word: &Token| {
        word.written.starts_with(char::is_uppercase)
            && !is_stop(word)
            && !is_article(word)
            && !is_kin(word)
            && !word.is_mark()
            && !PRONOUNS.contains(&word.norm.as_str())
            && word.written.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '.'))
    };
    (1..=3).contains(&words.len()) && words.iter().all(is_part)
}

/// A thing by all its words; empty for none.
pub(super) fn thing(words: &[Token], language: Language) -> Option<String> {
    let (owner, rest) = match words.split_first() {
        Some((first, rest)) if is_article(first) => ("", rest),
        Some((first, rest)) => match possessor(first, language) {
            Some(owner) => (owner, rest),
            None => ("", words),
        },
        None => return Some(String::new()),
    };
    let is_plain = |word: &Token| !is_stop(word) && !is_kin(word) && !matches!(word.norm.as_str(), "," | ":");
    let is_subject = !rest.is_empty() && rest.len() <= 7 && rest.iter().all(is_plain);
    is_subject.then(|| if owner.is_empty() { joined(rest) } else { format!("{owner} {}", joined(rest)) })
}

/// The words of `rest` that tell one from another, and whether one of them is "new"; none where they are no such words.
pub(super) fn modifiers(words: &[Token]) -> Option<(String, bool)> {
    let plain = !words.iter().any(|word| word.is_mark() || is_stop(word) || is_kin(word)) && words.len() <= 5;
    let telling: Vec<&str> =
        words.iter().map(|word| word.norm.as_str()).filter(|word| !PLAIN_ADJECTIVES.contains(word)).collect();
    plain.then(|| (telling.join(" "), words.iter().any(|word| word.norm == "new")))
}

fn joined(words: &[Token]) -> String {
    let telling = words.iter().filter(|word| !is_article(word) && word.norm != "'s");
    telling.map(|word| word.norm.as_str()).collect::<Vec<_>>().join(" ")
}
