//! Word pieces: a text is lower-cased, stripped of accents and cut at blanks, punctuation and CJK characters; each
//! word is then covered by the longest known pieces from its start. A word that cannot be covered has none.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

/// Marks without width, which are dropped, and punctuation, by Unicode's categories.
static IS_MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Mn}$").ok());
static IS_PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{P}$").ok());

/// Rows of the pieces of `text`, in order. `longest` is the length of the longest piece in bytes.
pub(super) fn rows(text: &str, pieces: &HashMap<Box<str>, u32>, longest: usize) -> Vec<u32> {
    let mut rows = Vec::with_capacity(text.len() / 4);
    let mut word = String::new();
    let lower = if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase().nfd().collect() };
    for c in lower.chars() {
        match kind(c) {
            Kind::Letter => word.push(c),
            Kind::Dropped => {}
            Kind::Blank => cover(&mut word, pieces, longest, &mut rows),
            Kind::Alone => {
                cover(&mut word, pieces, longest, &mut rows);
                rows.extend(pieces.get(c.encode_utf8(&mut [0; 4]) as &str));
            }
        }
    }
    cover(&mut word, pieces, longest, &mut rows);
    rows
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
        _ if is(&IS_MARK, c) => Kind::Dropped,
        _ if is(&IS_PUNCTUATION, c) => Kind::Alone,
        _ => Kind::Letter,
    }
}

fn is(class: &LazyLock<Option<Regex>>, c: char) -> bool {
    class.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

/// Covers `word` with pieces and empties it. Pieces that do not begin a word are written `##ing`.
fn cover(word: &mut String, pieces: &HashMap<Box<str>, u32>, longest: usize, rows: &mut Vec<u32>) {
    let before = rows.len();
    let mut inner = String::new();
    let mut start = 0;
    while start < word.len() {
        let rest = &word[start..];
        let found = (1..=rest.len().min(longest)).rev().filter(|end| rest.is_char_boundary(*end)).find_map(|end| {
            let row = if start == 0 {
                pieces.get(&rest[..end])
            } else {
                inner.clear();
                inner.push_str("##");
                inner.push_str(&rest[..end]);
                pieces.get(inner.as_str())
            };
            Some((*row?, end))
        });
        let Some((row, end)) = found else {
            rows.truncate(before);
            break;
        };
        rows.push(row);
        start += end;
    }
    word.clear();
}
