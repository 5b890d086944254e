//! Frontmatter: where it lies, what it says, and edits that touch the lines of one key only.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
pub use serde_yaml::Value;

use super::problem::Problem;
pub(crate) use super::yaml::is_day;
use super::yaml::{Written, entry, refused, same, scalar_text, written};
use crate::error::Result;

/// Longest block that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// Deepest nesting that is read.
pub const MAX_DEPTH: usize = 8;

/// Most brackets that may be open at one place, those in texts included: the longest title fits. For tens of thousands
/// the parser takes seconds before it refuses them.
const MAX_OPEN_BRACKETS: usize = 1024;

/// What stands between the parts of a line.
const BLANKS: [char; 2] = [' ', '\t'];
/// How many lines that look like the key are tried by an edit; more than one needs a quoted text with such a line.
const MAX_PLACES: usize = 8;

/// Where the parts of a note lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The lines between the two `---`; none where the note has no frontmatter.
    pub block: Option<Range<usize>>,
    /// What follows the frontmatter, or the byte order mark where there is none.
    pub body: Range<usize>,
}

/// Splits a note as Obsidian does: the first line, after a byte order mark if there is one, is exactly `---`, and the
/// block ends at the next line `---`, which may have blanks behind it.
pub fn split(text: &str) -> Split {
    let start = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let none = Split { block: None, body: start..text.len() };
    let mut lines = text.get(start..).unwrap_or_default().split_inclusive('\n');
    let Some(first) = lines.next().filter(|first| matches!(*first, "---\n" | "---\r\n")) else { return none };
    let inner = start + first.len();
    let mut at = inner;
    for line in lines {
        let end = at + line.len();
        if line.strip_prefix("---").is_some_and(|rest| rest.trim_matches([' ', '\t', '\r', '\n']).is_empty()) {
            return Split { block: Some(inner..at), body: end..text.len() };
        }
        at = end;
    }
    none
}

/// Keys and values in their order; a key that stands twice is there twice.
pub(super) type Pairs = Vec<(Value, Value)>;

struct Keys(Pairs);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeysVisitor;
        impl<'de> Visitor<'de> for KeysVisitor {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys and values")
            }

            fn visit_unit<E>(self) -> Result<Keys, E> {
                Ok(Keys(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Keys(pairs))
            }
        }
        deserializer.deserialize_any(KeysVisitor)
    }
}

/// Reads a block. What can be read is returned also where there are problems.
pub(super) fn read(block: &str) -> (Pairs, Vec<Problem>) {
    if block.len() > MAX_BYTES {
        return (Vec::new(), vec![Problem::TooLong]);
    }
    if open_brackets(block) > MAX_OPEN_BRACKETS {
        return (Vec::new(), vec![Problem::TooDeep]);
    }
    if is_blank(block) {
        return (Vec::new(), Vec::new());
    }
    let pairs = match serde_yaml::from_str::<Keys>(block) {
        Ok(Keys(pairs)) => pairs,
        Err(error) => {
            let is_other_yaml = serde_yaml::from_str::<Value>(block).is_ok_and(|value| !value.is_mapping());
            let problem = if is_other_yaml { Problem::NotKeys } else { Problem::Yaml(error.to_string()) };
            return (Vec::new(), vec![problem]);
        }
    };
    let mut problems: Vec<Problem> = anchor(block).map(Problem::Anchor).into_iter().collect();
    let mut seen = BTreeSet::new();
    for (key, value) in &pairs {
        let name = scalar_text(key).unwrap_or_default();
        if key.as_str() == Some("<<") {
            problems.push(Problem::MergeKey);
        } else if !seen.insert(name.clone()) {
            problems.push(Problem::Duplicate(name));
        }
        problems.extend(nested_problem(key, 1).or_else(|| nested_problem(value, 1)));
    }
    (pairs, problems)
}

/// The most brackets that are open at one place, not looking at quotes and comments.
fn open_brackets(block: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    for byte in block.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

fn is_blank(block: &str) -> bool {
    block.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn nested_problem(value: &Value, depth: usize) -> Option<Problem> {
    if depth > MAX_DEPTH {
        return Some(Problem::TooDeep);
    }
    match value {
        Value::Sequence(items) => items.iter().find_map(|item| nested_problem(item, depth + 1)),
        Value::Mapping(pairs) => pairs.iter().find_map(|(key, value)| {
            if key.as_str() == Some("<<") {
                return Some(Problem::MergeKey);
            }
            nested_problem(key, depth + 1).or_else(|| nested_problem(value, depth + 1))
        }),
        Value::Tagged(tagged) => Some(Problem::Tag(tagged.tag.to_string())),
        _ => None,
    }
}

/// The first anchor of a block that parses. An `&` is an anchor or a mere character, depending on quotes, comments and
/// block texts; so the parser is asked: every candidate is anchored to a known value before the block, and an alias
/// behind it tells whether the block gave the name another value.
fn anchor(block: &str) -> Option<String> {
    static CANDIDATE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"&([A-Za-z0-9_-]+)").expect("a valid pattern"));
    let names: BTreeSet<&str> =
        CANDIDATE.captures_iter(block).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let first = (*names.first()?).to_owned();
    let known = "ebbmark: not anchored";
    let list = |sign: &str, value: &str| {
        names.iter().map(|name| format!("{sign}{name} {value}")).collect::<Vec<_>>().join(", ")
    };
    let probe = format!("? [{}]\n: 0\n{block}\n? [{}]\n: 0\n", list("&", &format!("'{known}'")), list("*", ""));
    let Ok(Keys(pairs)) = serde_yaml::from_str::<Keys>(&probe) else { return Some(first) };
    let values = pairs.last()?.0.as_sequence()?;
    let anchored = values.iter().zip(&names).find(|(value, _)| value.as_str() != Some(known));
    anchored.map(|(_, name)| (*name).to_owned())
}

/// The value of a key; of keys that differ only in case the one spelled exactly so, as Obsidian ignores the case.
pub(super) fn find(pairs: &Pairs, key: &str) -> Option<usize> {
    let same = |pair: &(Value, Value)| pair.0.as_str() == Some(key);
    let alike = |pair: &(Value, Value)| pair.0.as_str().is_some_and(|name| name.eq_ignore_ascii_case(key));
    pairs.iter().position(same).or_else(|| pairs.iter().position(alike))
}

/// Sets one key in the text of a note and changes no byte outside that key's lines: comments, order, quotes, line
/// ends, the byte order mark and a missing final line end stay. A new key comes last; a note without frontmatter gets
/// a block in front. Where the value already is the one wanted, the text is returned as it is.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) where the frontmatter has a [`Problem`], the value is nested, or
/// the edited block would not read as exactly the old one with this change.
pub fn set(text: &str, key: &str, value: &Value) -> Result<String> {
    let parts = split(text);
    let line_end = if text.split('\n').next().is_some_and(|first| first.ends_with('\r')) { "\r\n" } else { "\n" };
    let hint = "correct the note's first lines in Obsidian; it is left as it is";
    let (block, inner) = match &parts.block {
        Some(block) => (block.clone(), text.get(block.clone()).unwrap_or_default()),
        None => (parts.body.start..parts.body.start, ""),
    };
    if let Some(problem) = missed_block(text).filter(|_| parts.block.is_none()) {
        return Err(refused(key, problem, hint));
    }
    let (old, problems) = read(inner);
    if let Some(problem) = problems.first() {
        return Err(refused(key, problem, hint));
    }
    let mut wanted = old.clone();
    let edits: Vec<String> = if let Some(place) = find(&old, key) {
        let (name, current) = wanted.get_mut(place).expect("just found");
        if same(current, value) {
            return Ok(text.to_owned());
        }
        *current = value.clone();
        let new = written(key, value, line_end)?;
        let name = name.as_str().unwrap_or(key);
        places(inner, name).take(MAX_PLACES).filter_map(|place| place.replaced(inner, &new)).collect()
    } else {
        wanted.push((Value::from(key), value.clone()));
        // What programs leave of a block that has lost its last key.
        let inner = if inner.trim() == "{}" { "" } else { inner };
        vec![format!("{inner}{}", entry(key, value, line_end)?)]
    };
    let reads_as_wanted = |edited: &String| {
        let (new, problems) = read(edited);
        problems.is_empty()
            && new.len() == wanted.len()
            && new.iter().zip(&wanted).all(|(new, wanted)| new.0 == wanted.0 && same(&new.1, &wanted.1))
    };
    let edited = edits.into_iter().find(reads_as_wanted);
    let edited = edited.ok_or_else(|| refused(key, "is written in a way that cannot be edited safely", hint))?;
    let (before, after) = (text.get(..block.start).unwrap_or_default(), text.get(block.end..).unwrap_or_default());
    let fence = if parts.block.is_some() { String::new() } else { format!("---{line_end}") };
    Ok(format!("{before}{fence}{edited}{fence}{after}"))
}

/// Lines that were meant as frontmatter but are not where Obsidian looks for it, in a note without frontmatter.
pub(super) fn missed_block(text: &str) -> Option<Problem> {
    let text = text.trim_start_matches('\u{FEFF}');
    let mut lines = text.lines().map(str::trim_end).skip_while(|line| line.is_empty());
    if lines.next() != Some("---") {
        return None;
    }
    let inner: String = lines.take_while(|line| !matches!(*line, "" | "---")).flat_map(|line| [line, "\n"]).collect();
    let has_keys = !read(&inner).0.is_empty();
    has_keys.then_some(if text.starts_with("---") { Problem::Unclosed } else { Problem::Misplaced })
}

/// Where a key stands in a block.
struct Place {
    /// Behind the colon.
    colon: usize,
    /// Blanks between the colon and the value.
    gap: Range<usize>,
    /// The comment on the key's line, with the blanks before it; empty where there is none.
    comment: Range<usize>,
    /// End of the key's last line, before its line end.
    end: usize,
}

impl Place {
    fn replaced(&self, block: &str, new: &Written) -> Option<String> {
        let gap = match block.get(self.gap.clone())? {
            _ if new.first.is_empty() => "",
            "" => " ",
            gap => gap,
        };
        let (before, comment) = (block.get(..self.colon)?, block.get(self.comment.clone())?);
        Some(format!("{before}{gap}{}{comment}{}{}", new.first, new.items, block.get(self.end..)?))
    }
}

/// All places that look like the key at the beginning of a line. More than one where a quoted text contains such a
/// line; the caller finds out by reading the edited block.
fn places<'a>(block: &'a str, name: &'a str) -> impl Iterator<Item = Place> + 'a {
    let mut at = 0;
    let starts = block.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start
    });
    starts.filter_map(move |start| place_at(block, start, name))
}

fn place_at(block: &str, start: usize, name: &str) -> Option<Place> {
    let line = block.get(start..)?.lines().next()?;
    let is_quoted = line.starts_with(['"', '\'']);
    let key_end = if is_quoted {
        quoted_end(line)?
    } else {
        line.match_indices(':').map(|(at, _)| at).find(|at| line.get(at + 1..).is_some_and(begins_blank))?
    };
    let (written_key, rest) = line.split_at_checked(key_end)?;
    let is_the_key = if is_quoted {
        serde_yaml::from_str::<String>(written_key).is_ok_and(|key| key == name)
    } else {
        written_key.trim_matches(BLANKS) == name
    };
    let value = rest.trim_start_matches(BLANKS).strip_prefix(':').filter(|value| is_the_key && begins_blank(value))?;
    let line_end = start + line.len();
    let colon = line_end - value.len();
    let value = value.trim_start_matches(BLANKS);
    let from = line_end - value.len();
    let (gap, comment, end) = match value.chars().next() {
        None => (colon..colon, line_end..line_end, continued(block, line_end, Lines::Collection)),
        Some('#') => (colon..colon, colon..line_end, continued(block, line_end, Lines::Collection)),
        Some('&' | '*' | '!') => return None,
        Some(quote @ ('"' | '\'' | '[' | '{')) => {
            let whole = block.get(from..)?;
            let end = from + if matches!(quote, '[' | '{') { flow_end(whole)? } else { quoted_end(whole)? };
            let behind = block.get(end..)?.lines().next().unwrap_or_default();
            let last = end + behind.len();
            match behind.trim_start_matches(BLANKS).chars().next() {
                None => (colon..from, last..last, last),
                Some('#') => (colon..from, end..last, last),
                Some(_) => return None,
            }
        }
        Some(first) => {
            let is_block_text = matches!(first, '|' | '>');
            let kind = if is_block_text { Lines::Text } else { Lines::Plain };
            match comment_start(value) {
                // A comment ends a plain text.
                Some(at) if !is_block_text => (colon..from, from + at..line_end, line_end),
                at => (colon..from, at.map_or(line_end, |at| from + at)..line_end, continued(block, line_end, kind)),
            }
        }
    };
    Some(Place { colon, gap, comment, end })
}

/// Where the comment in a line begins, with the blanks before it.
fn comment_start(line: &str) -> Option<usize> {
    let before =
        line.match_indices('#').filter_map(|(at, _)| line.get(..at)).find(|before| before.ends_with(BLANKS))?;
    Some(before.trim_end_matches(BLANKS).len())
}

fn begins_blank(text: &str) -> bool {
    text.is_empty() || text.starts_with(BLANKS)
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Lines {
    /// Items, which may stand at the line's beginning, or indented keys.
    Collection,
    /// A block text: every indented line belongs to it.
    Text,
    /// More words of a plain text.
    Plain,
}

/// End of the last line that belongs to a value whose first line ends at `from`.
fn continued(block: &str, from: usize, kind: Lines) -> usize {
    let mut end = from;
    let mut at = from;
    for line in block.get(from..).unwrap_or_default().split_inclusive('\n') {
        let whole = line.trim_end_matches(['\n', '\r']);
        let is_item = kind == Lines::Collection && whole.strip_prefix('-').is_some_and(begins_blank);
        let is_comment = whole.trim_start().starts_with('#') && !(kind == Lines::Text && whole.starts_with(BLANKS));
        if whole.trim().is_empty() || (is_comment && kind != Lines::Text) {
            // Belongs to the value only if more of it follows.
        } else if (whole.starts_with(BLANKS) && !is_comment) || is_item {
            end = at + whole.len();
        } else {
            break;
        }
        at += line.len();
    }
    end
}

/// End of the quoted text at the beginning of `text`.
fn quoted_end(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote == '"' {
            characters.next();
        } else if character == quote {
            let doubled = quote == '\'' && characters.next_if(|(_, next)| *next == quote).is_some();
            if !doubled {
                return Some(at + 1);
            }
        }
    }
    None
}

/// End of the list or mapping in brackets at the beginning of `text`.
fn flow_end(text: &str) -> Option<usize> {
    let (mut depth, mut at, mut item_starts, mut after_blank) = (0usize, 0, true, false);
    while let Some(character) = text.get(at..)?.chars().next() {
        match character {
            '"' | '\'' if item_starts => {
                at += quoted_end(text.get(at..)?)?;
                (item_starts, after_blank) = (false, false);
                continue;
            }
            '#' if after_blank => {
                at += text.get(at..)?.find('\n')?;
                continue;
            }
            '[' | '{' => depth += 1,
            ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        after_blank = character.is_whitespace();
        item_starts = matches!(character, '[' | '{' | ',' | ':') || (item_starts && after_blank);
        at += character.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(items: &[&str]) -> Value {
        Value::Sequence(items.iter().map(|item| Value::from(*item)).collect())
    }

    fn value_of(text: &str, key: &str) -> Option<Value> {
        let (pairs, problems) = read(&text[split(text).block?]);
        assert_eq!(problems, [], "{text}");
        find(&pairs, key).map(|place| pairs[place].1.clone())
    }

    #[test]
    fn notes_are_split_as_obsidian_does() {
        for (text, block, body) in [
            ("---\na: 1\n---\nb\n", Some("a: 1\n"), "b\n"),
            ("\u{FEFF}---\na: 1\n---\nb", Some("a: 1\n"), "b"),
            ("---\r\na: 1\r\n--- \r\nb", Some("a: 1\r\n"), "b"),
            ("---\n---", Some(""), ""),
            ("---\n\n---\n---\n", Some("\n"), "---\n"),
            ("---\na: 1\n", None, "---\na: 1\n"),
            ("--- \na: 1\n---\n", None, "--- \na: 1\n---\n"),
            ("----\na\n---\n", None, "----\na\n---\n"),
            ("\n---\na: 1\n---\n", None, "\n---\na: 1\n---\n"),
            ("---\na: |\n  ---\n---x\n---\nb", Some("a: |\n  ---\n---x\n"), "b"),
            ("\u{FEFF}b", None, "b"),
            ("", None, ""),
        ] {
            let found = split(text);
            assert_eq!(found.block.map(|block| &text[block]), block, "{text:?}");
            assert_eq!(&text[found.body], body, "{text:?}");
        }
    }

    #[test]
    fn problems_are_named() {
        let deep = format!("a: {}{}", "[".repeat(9), "]".repeat(9));
        let long = format!("a: {}", "x".repeat(MAX_BYTES));
        for (block, problem) in [
            ("a: &x 1\nb: *x", Problem::Anchor("x".into())),
            ("a:\n  - &y-1\n    b: 1", Problem::Anchor("y-1".into())),
            ("{a: &x 1}", Problem::Anchor("x".into())),
            ("<<: {a: 1}", Problem::MergeKey),
            ("a:\n  <<: {a: 1}", Problem::MergeKey),
            ("a: !mine x", Problem::Tag("!mine".into())),
            ("a: 1\nb: 2\na: 3", Problem::Duplicate("a".into())),
            ("- a\n- b", Problem::NotKeys),
            ("just words", Problem::NotKeys),
            (&deep, Problem::TooDeep),
            (&"a: [{".repeat(9000), Problem::TooDeep),
            (&long, Problem::TooLong),
        ] {
            assert_eq!(read(block).1.first(), Some(&problem), "{block:.40}");
        }
        for block in ["title: a: b", "source: @ada", "tags: [#foo]", "a: *x", "a: 1\n--- b\n", "a: [1"] {
            assert!(matches!(read(block).1.as_slice(), [Problem::Yaml(_)]), "{block}");
        }
        for block in
            ["", "# only a comment\n", "a: R &D and \"&x\"\nb: |\n  &y\n# &z\n", "\"a\": 1", "a: x\n", "1: 2\n"]
        {
            assert_eq!(read(block).1, [], "{block}");
        }
        let bomb = (1..9).fold(String::from("a0: &a0 [x]\n"), |bomb, n| {
            bomb + &format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(9))
        });
        assert!(!read(&bomb).1.is_empty());
    }

    #[test]
    fn an_edit_changes_the_lines_of_its_key_only() {
        let three = Value::from(3);
        for (before, value, after) in [
            ("k: 1", &three, "k: 3"),
            ("k: 1   # why", &three, "k: 3   # why"),
            ("k:   1", &three, "k:   3"),
            ("k:", &three, "k: 3"),
            ("k: # none yet", &three, "k: 3 # none yet"),
            ("\"k\" : 'it''s'", &three, "\"k\" : 3"),
            ("k: \"a # b\" # c", &three, "k: 3 # c"),
            ("k: [a, 'b]', # no\n  c\n] # yes", &three, "k: 3 # yes"),
            ("k: |\n  text\n  # text\n\n", &three, "k: 3\n\n"),
            ("k: >- # c\n  text\n", &three, "k: 3 # c\n"),
            ("k:\n- a\n# inside\n- b\n# behind", &three, "k: 3\n# behind"),
            ("k:\n  - a\n  # behind", &three, "k: 3\n  # behind"),
            ("k: many\n  words", &three, "k: 3"),
            ("k: \"many\nwords\"", &three, "k: 3"),
            ("k:\n  a: 1\n\n  b: 2", &three, "k: 3"),
            ("K: 1", &three, "K: 3"),
            ("k: 1", &Value::Null, "k:"),
            ("k: 1", &list(&[]), "k: []"),
            ("k: [a] # c", &list(&["x", "[[y]]"]), "k: # c\n  - x\n  - \"[[y]]\""),
            ("k: old", &Value::from("12:30"), "k: \"12:30\""),
            ("q: \"\nk: 1\n\"\nk: 2", &three, "q: \"\nk: 1\n\"\nk: 3"),
        ] {
            let rest = ["# top\nalias: [Board, Home]\nurl: 'x'\n\n", "z: 2026-01-02  \n  \n# end\n"];
            let (old, new) = (rest.join(&format!("{before}\n")), rest.join(&format!("{after}\n")));
            for wrap in [
                |block: &str| format!("---\n{block}---\nbody\n"),
                |block: &str| format!("\u{FEFF}---\n{block}---  \nbody").replace('\n', "\r\n"),
            ] {
                let edited = set(&wrap(&old), "k", value).unwrap();
                assert_eq!(edited, wrap(&new), "{before}");
                assert_eq!(set(&edited, "k", value).unwrap(), edited, "a second edit changes nothing");
            }
        }
    }

    #[test]
    fn a_new_key_comes_last_and_a_new_block_in_front() {
        let x = Value::from("x");
        for (before, after) in [
            ("---\na: 1\n---\nb", "---\na: 1\nk: x\n---\nb"),
            ("---\n---", "---\nk: x\n---"),
            ("---\n{}\n---\nb", "---\nk: x\n---\nb"),
            ("---\r\n{}  \r\n---\r\n", "---\r\nk: x\r\n---\r\n"),
            ("---\na: |+\n  t\n\n---\n", "---\na: |+\n  t\n\nk: x\n---\n"),
            ("---\r\na: 1\r\n---\r\n", "---\r\na: 1\r\nk: x\r\n---\r\n"),
            ("body", "---\nk: x\n---\nbody"),
            ("", "---\nk: x\n---\n"),
            ("\u{FEFF}one\r\ntwo", "\u{FEFF}---\r\nk: x\r\n---\r\none\r\ntwo"),
            ("---\n\nonly a rule", "---\nk: x\n---\n---\n\nonly a rule"),
        ] {
            let edited = set(before, "k", &x).unwrap();
            assert_eq!(edited, after, "{before:?}");
            assert_eq!(value_of(&edited, "k"), Some(x.clone()));
        }
    }

    #[test]
    fn what_already_says_so_is_left_as_it_is() {
        for (line, value) in [
            ("k: 1.0  # one", Value::from(1)),
            ("k: 2026-12-03", Value::from("2026-12-03")),
            ("k: [ a, \"b\" ]", list(&["a", "b"])),
            ("k: 'x'", Value::from("x")),
            ("k: ~", Value::Null),
        ] {
            let text = format!("---\n{line}\n---\n");
            assert_eq!(set(&text, "k", &value).unwrap(), text);
        }
    }

    #[test]
    fn nothing_is_written_where_it_could_go_wrong() {
        for block in [
            "title: a: b",
            "a: &x 1\nb: *x",
            "k: 1\nk: 2",
            "{k: 1}",
            "{\"a\": 1}",
            "k: !!str 1",
            "  k: 1\n  b: 2",
            "? k\n: 1",
            "- a",
        ] {
            let text = format!("---\n{block}\n---\nbody");
            let error = set(&text, "k", &Value::from(5)).unwrap_err();
            assert!(error.to_string().contains("frontmatter key `k`"), "{block}: {error}");
        }
        for text in ["\n---\nid: x\n---\nbody", "---\ntitle: x\n\nbody"] {
            assert!(set(text, "k", &Value::from(5)).is_err(), "{text:?}");
        }
        assert!(set("body", "k", &Value::Mapping(serde_yaml::Mapping::new())).is_err());
    }

    /// Lines of one key in one of the styles that people and programs write.
    fn styled(key: String) -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "K: word",
            "K: two words # why",
            "K: 'it''s: #1'",
            "K: \"a \\\" # b\"  ",
            "'K': 1",
            "\"K\" : true",
            "K:",
            "K:   # nothing",
            "K: 2026-01-02",
            "K: [a, 'b, ]', c] # d",
            "K: [\n  a, # b\n  c\n]",
            "K: [a,\n  b]",
            "K: {a: 1, b: [x]}",
            "K: |\n  line # no\n\n   more\n",
            "K: >-\n    folded\n    # text",
            "K: |+\n  kept\n\n",
            "K:\n  - a\n  # c\n  - b: 1\n    c: 2",
            "K:\n- a\n\n- b",
            "K:\n    deep:\n        - x",
            "K: many\n  more words",
            "K: \"two\n\n  lines\"",
            "K: https://example.org/#x",
            "K: x:y",
            "K: \"[[Note]]\"",
            "K: [[Note]]",
        ])
        .prop_map(move |style| style.replace('K', &key) + "\n")
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            r"(\PC|[ \n\t:#'\x22\[\]{}\\0-9-]){0,30}",
            prop::sample::select(vec!["yes", "1.5", "2026-01-01", "[[X]]", "null", " x", "x:"]).prop_map(str::to_owned),
        ];
        let one = prop_oneof![
            text.prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        prop_oneof![4 => one.clone(), 1 => prop::collection::vec(one, 0..4).prop_map(Value::Sequence)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn untouched_keys_keep_their_bytes(
            parts in (0..7usize).prop_flat_map(|count| (0..count).map(|n| styled(format!("k{n}"))).collect::<Vec<_>>()),
            notes in prop::collection::vec(prop::sample::select(vec!["", "# a: comment\n", "\n"]), 8),
            target in 0..8usize,
            value in values(),
            crlf in any::<bool>(),
        ) {
            let line_ends = |text: String| if crlf { text.replace('\n', "\r\n") } else { text };
            let with_notes = |range: Range<usize>| -> String {
                range.filter_map(|n| Some(format!("{}{}", notes.get(n)?, parts.get(n)?))).collect()
            };
            let key = format!("k{target}");
            let place = target.min(parts.len());
            let before = line_ends(format!("---\n{}{}", with_notes(0..place), if target < parts.len() { notes[place] } else { "" }));
            let own = line_ends(parts.get(target).cloned().unwrap_or_default());
            let after = line_ends(format!("{}---\nbody", with_notes(place + 1..parts.len())));
            let text = format!("{before}{own}{after}");
            let old = read(&text[split(&text).block.unwrap()]);
            prop_assert!(old.1.is_empty(), "{:?}", old.1);

            let edited = set(&text, &key, &value).unwrap();
            prop_assert!(edited.starts_with(&before) && edited.ends_with(&after), "{text:?}\n{edited:?}");
            prop_assert!(same(&value_of(&edited, &key).unwrap(), &value), "{edited:?}");
            let new = read(&edited[split(&edited).block.unwrap()]).0;
            for (name, value) in old.0.iter().filter(|(name, _)| name.as_str() != Some(key.as_str())) {
                prop_assert!(new.contains(&(name.clone(), value.clone())), "{edited:?}");
            }
            prop_assert_eq!(set(&edited, &key, &value).unwrap(), edited);
        }

        #[test]
        fn no_text_breaks_reading_or_editing(text in r"(\PC|[\n\r\t:#'\x22\[\]{}&*!|>-]){0,80}", fence in any::<bool>()) {
            let text = if fence { format!("---\n{text}\n---\nbody") } else { text };
            if let Ok(edited) = set(&text, "k", &Value::from("v")) {
                prop_assert_eq!(value_of(&edited, "k"), Some(Value::from("v")));
            }
        }
    }
}
