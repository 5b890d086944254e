//! What a query asks for: its words, which of them stand together, whom it names, and of what time it speaks.
//!
//! A query is text, never syntax: every text asks for something or nothing, and none is an error.

mod dates;

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;

pub use self::dates::Dates;
use crate::clock::Timestamp;
use crate::words;

/// What a name of several words counts of a whole phrase: of two people with one first name, it tells which is meant.
const NAME_SHARE: f32 = 0.5;
/// Shortest start of a name by which it is known: "Mel" is Melanie.
const SHORTEST_START: usize = 3;

/// A query, read once.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its distinct words, as they are indexed.
    pub terms: Vec<String>,
    /// Content words that stand side by side, as they are indexed.
    pairs: HashSet<(String, String)>,
    /// Those of them that are written like a name: both with a capital.
    names: HashSet<(String, String)>,
    /// Its words in lower case, and whether each may be a name: it has a capital.
    spoken: Vec<(String, bool)>,
    /// The word that each term was made of, where it was one.
    written: HashMap<String, String>,
    /// The time it speaks of.
    pub dates: Dates,
    /// Whether it has words of a script without blanks, of which a memory matches some by chance.
    pub is_unspaced: bool,
}

impl Question {
    /// Reads a query. What it says of time ("yesterday", "last June") is meant from `now` in `zone`.
    pub fn read(text: &str, now: Timestamp, zone: &TimeZone) -> Question {
        let terms = words::terms(text);
        let spoken = spoken(text);
        let (mut written, mut capitals) = (HashMap::new(), HashSet::new());
        for (word, has_capital) in &spoken {
            if let [term] = &words::terms(word)[..] {
                written.insert(term.clone(), word.clone());
                capitals.extend(has_capital.then(|| term.clone()));
            }
        }
        let pairs: HashSet<(String, String)> =
            pairs(&terms).map(|(left, right)| (left.clone(), right.clone())).collect();
        let is_name = |(left, right): &&(String, String)| capitals.contains(left) && capitals.contains(right);
        Question {
            names: pairs.iter().filter(is_name).cloned().collect(),
            pairs,
            written,
            spoken,
            dates: Dates::read(text, now, zone),
            is_unspaced: text.chars().any(words::is_unspaced),
            terms: words::distinct(terms),
        }
    }

    /// The word that a term was made of: "paint" is "painted" here.
    pub fn written(&self, term: &str) -> Option<&str> {
        self.written.get(term).map(String::as_str)
    }

    /// Whether a speaker is named: by a word of the name, or by its start.
    pub fn names(&self, name: &str) -> bool {
        spoken(name).iter().enumerate().any(|(place, (part, _))| {
            self.spoken.iter().enumerate().any(|(at, (word, has_capital))| {
                let is_start = place == 0 && word.len() >= SHORTEST_START && part.starts_with(word.as_str());
                // "Will" and "May" are names where they are written as such.
                let is_name = *has_capital && at > 0 || !words::is_stop_word(word);
                is_name && (word == part && (*has_capital || part.len() >= SHORTEST_START) || *has_capital && is_start)
            })
        })
    }

    /// The share of its neighbouring content words that also stand side by side in `text`, and half as much as all of
    /// them where these are its names: 0 to 1.
    pub fn phrase(&self, text: &str) -> f32 {
        if self.pairs.is_empty() {
            return 0.0;
        }
        let terms = words::terms(text);
        let own: HashSet<(&String, &String)> = pairs(&terms).collect();
        let share = |pairs: &HashSet<(String, String)>| {
            let shared = pairs.iter().filter(|(left, right)| own.contains(&(left, right))).count();
            shared as f32 / pairs.len().max(1) as f32
        };
        (share(&self.pairs) + NAME_SHARE * share(&self.names)).min(1.0)
    }

    /// Whether it has words that could stand side by side in a memory.
    pub fn has_phrase(&self) -> bool {
        !self.pairs.is_empty()
    }
}

fn pairs(terms: &[String]) -> impl Iterator<Item = (&String, &String)> {
    terms.iter().zip(terms.iter().skip(1))
}

/// Words in lower case without accents, and whether they begin with a capital.
fn spoken(text: &str) -> Vec<(String, bool)> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .map(|word| (words::fold(word).trim_matches('\'').to_owned(), word.starts_with(char::is_uppercase)))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "exact values")]

    use super::*;

    fn question(text: &str) -> Question {
        Question::read(text, "2026-11-30T12:00:00Z".parse().unwrap(), &TimeZone::UTC)
    }

    #[test]
    fn speakers_are_named_by_name_or_its_start() {
        for (query, name) in [
            ("What did Melanie paint?", "Melanie"),
            ("what did melanie paint", "Melanie"),
            ("When is Mel's birthday?", "Melanie"),
            ("Where does Zoe live", "Zoë Müller"),
            ("Where does Müller live", "Zoë Müller"),
            ("Does Will like tea?", "Will"),
            ("what does the user like", "user"),
        ] {
            assert!(question(query).names(name), "{query} names {name}");
        }
        for (query, name) in [
            ("Which car did she buy?", "Caroline"),
            ("Will it rain?", "Will"),
            ("what will she do", "Will"),
            ("Me too", "Melanie"),
            ("", "Melanie"),
            ("What did Melanie paint?", ""),
        ] {
            assert!(!question(query).names(name), "{query} does not name {name}");
        }
    }

    #[test]
    fn phrases_are_content_words_side_by_side() {
        let asked = question("Who painted the blue lake house?");
        assert!((asked.phrase("A blue lake is beside the lake house") - 2.0 / 3.0).abs() < 1e-6);
        assert_eq!(asked.phrase("house lake blue"), 0.0);
        assert_eq!(question("tea").phrase("tea"), 0.0);
        assert!(!question("the tea").has_phrase());
    }

    #[test]
    fn a_name_of_several_words_tells_who_is_meant() {
        let asked = question("What does Kenji Iliescu like best when it comes to holidays?");
        let (meant, other) = ("Kenji Iliescu prefers late June", "Kenji Duarte prefers late June as holiday season");
        assert!(asked.phrase(meant) > 0.5 && asked.phrase(other) == 0.0);
        assert!(question("who is kenji iliescu to holidays").phrase(meant) < 0.6, "written small it is a phrase");
        assert_eq!(question("Kenji Iliescu").phrase(meant), 1.0);
    }

    #[test]
    fn terms_know_the_word_they_were_made_of() {
        let asked = question("Who painted Zoë's café?");
        assert_eq!(
            ["paint", "zoe", "cafe", "lake"].map(|term| asked.written(term)),
            [Some("painted"), Some("zoe"), Some("cafe"), None]
        );
    }

    #[test]
    fn scripts_without_blanks_are_noticed() {
        assert!(question("user の趣味").is_unspaced && question("คน").is_unspaced);
        assert!(!question("Где живёт Zoë?").is_unspaced);
    }
}
