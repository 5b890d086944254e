//! Word pieces: a text is cut at blanks, punctuation and CJK characters; each word is then covered by the longest known
//! pieces from its start. A word that cannot be covered has none.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

/// Punctuation, by Unicode's categories.
static IS_PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{P}$").ok());

/// Pieces of words, and the token of each. Pieces that do not begin a word are written `##ing`.
pub(super) struct WordPiece {
    pieces: HashMap<Box<str>, u32>,
    /// Longest piece, in bytes.
    longest: usize,
    /// Longest word that is covered, in characters.
    longest_word: usize,
}

impl WordPiece {
    pub(super) fn new(pieces: HashMap<Box<str>, u32>, longest_word: usize) -> Self {
        let longest = pieces.keys().map(|piece| piece.len()).max().unwrap_or_default();
        WordPiece { pieces, longest, longest_word }
    }

    /// One more than the greatest token.
    pub(super) fn tokens(&self) -> usize {
        self.pieces.values().max().map_or(0, |token| *token as usize + 1)
    }

    /// The token of a piece.
    pub(super) fn token(&self, piece: &str) -> Option<u32> {
        self.pieces.get(piece).copied()
    }

    /// Tokens of a normalised text, in order.
    pub(super) fn cut(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        let mut word = String::new();
        for c in text.chars() {
            match kind(c) {
                Kind::Letter => word.push(c),
                Kind::Dropped => {}
                Kind::Blank => self.cover(&mut word, &mut tokens),
                Kind::Alone => {
                    self.cover(&mut word, &mut tokens);
                    tokens.extend(self.token(c.encode_utf8(&mut [0; 4])));
                }
            }
        }
        self.cover(&mut word, &mut tokens);
        tokens
    }

    /// Covers `word` with pieces and empties it.
    fn cover(&self, word: &mut String, tokens: &mut Vec<u32>) {
        let before = tokens.len();
        let mut inner = String::new();
        // Letters are counted only where there may be too many.
        let is_too_long = word.len() > self.longest_word && word.chars().count() > self.longest_word;
        let mut start = if is_too_long { word.len() } else { 0 };
        while start < word.len() {
            let rest = &word[start..];
            let mut ends = (1..=rest.len().min(self.longest)).rev().filter(|end| rest.is_char_boundary(*end));
            let found = ends.find_map(|end| {
                let token = if start == 0 {
                    self.token(&rest[..end])
                } else {
                    inner.clear();
                    inner.push_str("##");
                    inner.push_str(&rest[..end]);
                    self.token(&inner)
                };
                Some((token?, end))
            });
            let Some((token, end)) = found else {
                tokens.truncate(before);
                break;
            };
            tokens.push(token);
            start += end;
        }
        word.clear();
    }
}

enum Kind {
    Letter,
    /// Of no meaning here.
    Dropped,
    Blank,
    /// A word of its own.
    Alone,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | '0'..='9' => Kind::Letter,
        '\0' | '\u{FFFD}' => Kind::Dropped,
        '\u{1C}'..='\u{1F}' => Kind::Blank,
        _ if c.is_whitespace() => Kind::Blank,
        _ if c.is_ascii_punctuation() || is_ideograph(c) => Kind::Alone,
        _ if c.is_ascii() => Kind::Letter,
        _ if is_punctuation(c) => Kind::Alone,
        _ => Kind::Letter,
    }
}

fn is_punctuation(c: char) -> bool {
    IS_PUNCTUATION.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}
