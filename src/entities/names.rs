//! The names that are known so far, found in a text by longest match.

use rustc_hash::FxHashMap;
use unicode_normalization::char::is_combining_mark;

use super::rules::RULES;
use crate::words::{fold, is_invisible, is_stop_word, is_unspaced};

/// Longest name, in pieces (words, marks, characters of scripts without spaces); under 32, the bits of `lengths`.
const MAX_PIECES: usize = 24;
/// Longest name, bytes.
const MAX_BYTES: usize = 128;

/// A word, a mark, or a character of a script without spaces.
struct Piece {
    start: usize,
    end: usize,
    folded: String,
}

/// A name found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its first byte in the text.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// As it is spelled where it is known, and by an alias the name that it stands for.
    pub name: String,
}

#[derive(Debug, Clone, Default)]
struct Known {
    /// How it is written, each with how often.
    spellings: Vec<(String, u32)>,
    /// What it is short for, by key, each with how often that was said.
    stands_for: Vec<(String, u32)>,
}

/// The names known so far. Each may be added several times and goes when it was removed as often.
#[derive(Debug, Clone, Default)]
pub struct Names {
    known: FxHashMap<String, Known>,
    /// By first piece: how many pieces the names that begin so have, a bit for each number.
    lengths: FxHashMap<String, u32>,
}

impl Names {
    /// Adds a name. What is no name (empty, a plain word, without letters, with control characters, over 128 bytes) is
    /// left out.
    pub fn add(&mut self, name: &str) {
        let Some(key) = self.begin(name) else { return };
        count(&mut self.known.entry(key).or_default().spellings, name.trim());
    }

    /// Takes back one [`Names::add`].
    pub fn remove(&mut self, name: &str) {
        let Some(key) = key(name) else { return };
        if let Some(known) = self.known.get_mut(&key) {
            uncount(&mut known.spellings, name.trim());
            self.drop_empty(&key);
        }
    }

    /// Says that `alias` stands for `name`. Said of two names, it stands for neither.
    pub fn add_alias(&mut self, alias: &str, name: &str) {
        let (Some(name_key), Some(alias_key)) = (key(name), self.begin(alias)) else { return };
        if alias_key != name_key {
            let known = self.known.entry(alias_key).or_default();
            count(&mut known.stands_for, &name_key);
        }
    }

    /// Takes back one [`Names::add_alias`].
    pub fn remove_alias(&mut self, alias: &str, name: &str) {
        let (Some(name_key), Some(alias_key)) = (key(name), key(alias)) else { return };
        if let Some(known) = self.known.get_mut(&alias_key) {
            uncount(&mut known.stands_for, &name_key);
            self.drop_empty(&alias_key);
        }
    }

    /// How many names and aliases are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// A name as it is known: in its usual spelling, an alias as the name it stands for.
    pub fn resolve(&self, name: &str) -> Option<String> {
        self.spelled(&key(name)?)
    }

    /// The names in a text, the longest first where they overlap, from left to right. Case and accents do not matter;
    /// a name that is a plain word too counts with its capital only.
    pub fn find(&self, text: &str) -> Vec<Mention> {
        let mut found = Vec::new();
        if self.known.is_empty() {
            return found;
        }
        let pieces = pieces(text);
        let mut at = 0;
        while let Some(first) = pieces.get(at) {
            let lengths = self.lengths.get(&first.folded).copied().unwrap_or_default();
            let lengths = (1..=MAX_PIECES).rev().filter(|length| lengths >> length & 1 == 1);
            let mention = lengths.into_iter().find_map(|length| self.mention(text, pieces.get(at..at + length)?));
            match mention {
                Some((mention, length)) => {
                    found.push(mention);
                    at += length;
                }
                None => at += 1,
            }
        }
        found
    }

    fn mention(&self, text: &str, pieces: &[Piece]) -> Option<(Mention, usize)> {
        let key = joined(pieces);
        if !self.known.contains_key(&key) {
            return None;
        }
        let (start, end) = (pieces.first()?.start, pieces.last()?.end);
        let written = text.get(start..end)?;
        if !is_apart(text, start, end) || !self.may_be_meant(&key, text, start, written) {
            return None;
        }
        Some((Mention { start, end, name: self.spelled(&key)? }, pieces.len()))
    }

    /// Whether a word that may be a plain word too is the name here.
    fn may_be_meant(&self, key: &str, text: &str, start: usize, written: &str) -> bool {
        if !RULES.has("word", key) && !RULES.is_function_word(key) {
            return true;
        }
        let is_known_small =
            self.known.get(key).is_some_and(|known| known.spellings.iter().any(|(name, _)| !starts_upper(name)));
        is_known_small || starts_upper(written) && !begins_sentence(text, start)
    }

    fn begin(&mut self, name: &str) -> Option<String> {
        let key = key(name)?;
        let pieces = pieces(name);
        let first = pieces.first()?.folded.clone();
        *self.lengths.entry(first).or_default() |= 1 << pieces.len();
        Some(key)
    }

    fn drop_empty(&mut self, key: &str) {
        if self.known.get(key).is_some_and(|known| known.spellings.is_empty() && known.stands_for.is_empty()) {
            self.known.remove(key);
        }
    }

    fn spelled(&self, key: &str) -> Option<String> {
        let mut key = key;
        // An alias of an alias; a circle ends somewhere.
        for _ in 0..4 {
            match self.known.get(key).map(|known| known.stands_for.as_slice()) {
                Some([(name, _)]) if self.known.get(name).is_some_and(|known| !known.spellings.is_empty()) => {
                    key = name;
                }
                _ => break,
            }
        }
        let spellings = &self.known.get(key)?.spellings;
        let usual = spellings.iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))?;
        Some(usual.0.clone())
    }
}

fn count(counts: &mut Vec<(String, u32)>, name: &str) {
    match counts.iter_mut().find(|(known, _)| known == name) {
        Some((_, times)) => *times += 1,
        None => counts.push((name.to_owned(), 1)),
    }
}

fn uncount(counts: &mut Vec<(String, u32)>, name: &str) {
    if let Some(place) = counts.iter().position(|(known, _)| known == name)
        && let Some((_, times)) = counts.get_mut(place)
    {
        *times -= 1;
        if *times == 0 {
            counts.remove(place);
        }
    }
}

pub(super) fn starts_upper(name: &str) -> bool {
    name.trim_start_matches(['@', '#']).starts_with(|c: char| !c.is_lowercase())
}

/// Whether what stands at `start` begins a sentence.
pub(super) fn begins_sentence(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let is_mark =
        |c: char| matches!(c, ' ' | '"' | '“' | '„' | '«' | '(' | '\'' | '*' | '-' | '•' | '>' | '#' | '¡' | '¿');
    let before = before.trim_end_matches(is_mark);
    before.is_empty() || before.ends_with(['.', '!', '?', ':', ';', '\n', '…', '。', '！', '？'])
}

/// The key under which a name is known; none for what is no name.
pub(super) fn key(name: &str) -> Option<String> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_BYTES || name.contains(is_unfit) {
        return None;
    }
    let pieces = pieces(name);
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let key = joined(&pieces);
    let is_one_unspaced = pieces.len() == 1 && name.chars().all(is_unspaced);
    let is_bad = pieces.len() > MAX_PIECES || letters == 0 || is_one_unspaced || is_stop_word(&key);
    (!is_bad).then_some(key)
}

/// What no name has: line breaks and other control characters, and those that turn the direction of what follows.
fn is_unfit(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn joined(pieces: &[Piece]) -> String {
    let mut key = String::new();
    for piece in pieces {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(&piece.folded);
    }
    key
}

fn pieces(text: &str) -> Vec<Piece> {
    let is_word = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    let mut pieces = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((start, c)) = characters.next() {
        let mut end = start + c.len_utf8();
        if c.is_whitespace() || c.is_control() || is_invisible(c) {
            continue;
        }
        if is_word(c) && !is_unspaced(c) {
            while let Some((at, next)) =
                characters.next_if(|(_, c)| is_word(*c) && !is_unspaced(*c) || is_invisible(*c))
            {
                end = at + next.len_utf8();
            }
        }
        let folded = fold(text.get(start..end).unwrap_or_default());
        if !folded.is_empty() {
            pieces.push(Piece { start, end, folded });
        }
    }
    pieces
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | 'ー')
}

/// Whether what stands between `start` and `end` is a word of its own, and not a part of one.
fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let within = text.get(start..end).unwrap_or_default();
    let mut left = before.chars().rev();
    let mut right = after.chars();
    let (first, last) = (within.chars().next(), within.chars().next_back());
    let (left, left_of_it) = (left.next(), left.next());
    let (right, right_of_it) = (right.next(), right.next());
    if first.is_some_and(is_katakana) && left.is_some_and(is_katakana)
        || last.is_some_and(is_katakana) && right.is_some_and(is_katakana)
        || right.is_some_and(is_combining_mark)
    {
        return false;
    }
    let joins_left = match left {
        Some('@' | '_' | '\\') => true,
        Some('-' | '.') => left_of_it.is_some_and(char::is_alphanumeric),
        Some('/') => !first.is_some_and(char::is_uppercase) || left_of_it == Some('/'),
        Some('\'' | '’') => left_of_it.is_some_and(char::is_uppercase),
        _ => false,
    };
    let joins_right = match right {
        Some('_' | '+' | '@' | '\\' | '#') => true,
        Some('-') => right_of_it.is_some_and(|c| c.is_uppercase() || c.is_ascii_digit()),
        Some('.') => right_of_it.is_some_and(|c| c.is_alphabetic() && !c.is_uppercase()),
        Some('/') => right_of_it.is_some_and(|c| !c.is_uppercase()),
        _ => false,
    };
    !joins_left && !joins_right
}
