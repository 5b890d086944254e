//! Words that resemble one that nobody holds: typing errors, other forms, other languages' endings.

use std::collections::{HashMap, HashSet};

/// Shortest word, in characters, that is looked for and found.
const SHORTEST: usize = 4;
/// Longest, in bytes.
const LONGEST: usize = 40;
/// Words that are yielded for one.
const MOST: usize = 3;
/// Least likeness of those.
const LIKE_FROM: f32 = 0.45;
/// Words that wait until the sorted part is made anew.
const FRESH: usize = 2_000;

/// Words by the trigrams they hold.
#[derive(Debug, Clone, Default)]
pub struct Spelling {
    words: Vec<Box<str>>,
    known: HashSet<Box<str>>,
    /// (hash of a trigram, number of a word), sorted.
    trigrams: Vec<(u32, u32)>,
    /// Words from here on are not in `trigrams` yet.
    sorted: usize,
}

impl Spelling {
    /// Adds words. Those with digits, of scripts without spaces, and very short or long ones are never looked for.
    pub fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        for word in words {
            if is_comparable(word) && self.known.insert(word.into()) {
                self.words.push(word.into());
            }
        }
        if self.words.len() - self.sorted > FRESH {
            for (number, word) in self.words.iter().enumerate().skip(self.sorted) {
                self.trigrams.extend(trigrams(word).into_iter().map(|trigram| (trigram, number as u32)));
            }
            self.trigrams.sort_unstable();
            self.sorted = self.words.len();
        }
    }

    /// The words most like `word` of those that `is_held`, at most three, with their likeness (0.45 to 1), the likest
    /// first.
    pub fn similar(&self, word: &str, mut is_held: impl FnMut(&str) -> bool) -> Vec<(String, f32)> {
        if !is_comparable(word) {
            return Vec::new();
        }
        let own = trigrams(word);
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for trigram in &own {
            let start = self.trigrams.partition_point(|(other, _)| other < trigram);
            for (_, number) in self.trigrams[start..].iter().take_while(|(other, _)| other == trigram) {
                *shared.entry(*number).or_default() += 1;
            }
        }
        // Neither likeness is reached with a single trigram in common.
        let mut numbers: Vec<u32> =
            shared.into_iter().filter(|(_, count)| *count > 1).map(|(number, _)| number).collect();
        numbers.extend(self.sorted as u32..self.words.len() as u32);
        let mut found: Vec<(f32, &str)> = numbers
            .into_iter()
            .map(|number| &*self.words[number as usize])
            .map(|other| (likeness(word, &own, other), other))
            .filter(|(likeness, _)| *likeness >= LIKE_FROM)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let held = found.into_iter().filter(|(_, word)| is_held(word));
        held.take(MOST).map(|(likeness, word)| (word.to_owned(), likeness)).collect()
    }
}

fn is_comparable(word: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&word.len())
        && word.chars().count() >= SHORTEST
        && word.chars().all(|c| c.is_alphabetic() && !crate::words::is_unspaced(c))
}

/// Trigrams of the word between two marks, sorted, each once.
fn trigrams(word: &str) -> Vec<u32> {
    let marked: Vec<char> = std::iter::once('^').chain(word.chars()).chain(['$']).collect();
    let hash = |trigram: &[char]| {
        trigram.iter().fold(0x811c_9dc5u32, |hash, c| (hash ^ *c as u32).wrapping_mul(0x0100_0193).rotate_left(5))
    };
    let mut trigrams: Vec<u32> = marked.windows(3).map(hash).collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// Dice's coefficient of the trigrams, or 0.6 to 0.7 where four or more first letters that are half of the word agree.
fn likeness(word: &str, own: &[u32], other: &str) -> f32 {
    let others = trigrams(other);
    let shared = own.iter().filter(|trigram| others.binary_search(trigram).is_ok()).count();
    let dice = 2.0 * shared as f32 / (own.len() + others.len()) as f32;
    let start = word.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = word.chars().count().max(other.chars().count());
    let by_start = match start {
        4 if 2 * start >= longer => 0.6,
        5.. if 2 * start >= longer => 0.7,
        _ => 0.0,
    };
    dice.max(by_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_like(spelling: &Spelling, word: &str) -> Vec<String> {
        spelling.similar(word, |_| true).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn errors_and_other_forms_are_found() {
        let mut spelling = Spelling::default();
        spelling.add([
            "kubernet",
            "postgresql",
            "musica",
            "restaurant",
            "peanut",
            "estudiar",
            "w2024",
            "猫猫猫猫",
            "tea",
        ]);
        for (asked, found) in [
            ("kuberntes", "kubernet"),
            ("postgres", "postgresql"),
            ("musical", "musica"),
            ("restarant", "restaurant"),
            ("estudiante", "estudiar"),
        ] {
            assert_eq!(words_like(&spelling, asked), [found], "{asked}");
        }
        for asked in ["tea", "team", "zeppelin", "w2023", "猫猫猫猫", "", "x"] {
            assert!(words_like(&spelling, asked).is_empty(), "{asked}");
        }
    }

    #[test]
    fn the_likest_three_come_first_and_sorting_changes_nothing() {
        let mut spelling = Spelling::default();
        let names: Vec<String> = (0..60u8)
            .flat_map(|first| (0..60u8).map(move |second| (first, second)))
            .map(|(first, second)| format!("wor{}{}d", char::from(b'A' + first), char::from(b'A' + second)))
            .filter(|name| name.chars().all(char::is_alphabetic))
            .collect();
        spelling.add(names.iter().map(String::as_str).chain(["gardening", "garden", "gardener", "gardens", "garnish"]));
        let before = spelling.similar("gardenin", |_| true);
        assert_eq!(
            before.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>(),
            ["gardening", "garden", "gardener"]
        );
        spelling.add(["garden", "words"]);
        assert_eq!(spelling.similar("gardenin", |_| true), before);
        let mut unsorted = Spelling::default();
        unsorted.add(["garnish", "gardens", "gardener", "garden", "gardening"]);
        assert_eq!(unsorted.similar("gardenin", |_| true), before);
        let held = unsorted.similar("gardenin", |word| word != "garden");
        assert_eq!(held[1].0, "gardener", "what nobody holds any more takes no place");
    }
}
