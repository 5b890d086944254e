//! Several edits of one frontmatter, and the same block as another program would write it.
//!
//! - After all edits each key reads as it was set last; every other key reads as before, and the body is what it was.
//! - A block written anew from its values, as Obsidian does, reads the same, and to set the same values changes nothing.
//! - A block that is refused once is refused for every key, and nothing is written.

use std::collections::BTreeMap;

use ebbmark::note::frontmatter::{set, split};
use ebbmark::note::{Note, Problem, Value};
use serde_yaml::Mapping;

use super::home::Choices;

const KEYS: [&str; 6] = ["strength", "status", "tags", "title", "mood", "Kind of: thing"];

/// The first bytes choose the edits; what follows is the note.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let edits: Vec<(&str, Value)> = (0..choices.below(6))
        .map(|_| {
            let key = KEYS[choices.below(KEYS.len())];
            let text = |choices: &mut Choices<'_>| String::from_utf8_lossy(choices.some_bytes()).into_owned();
            let value = match choices.below(4) {
                0 => Value::from(choices.below(1 << 16) as u64),
                1 => Value::from((0..choices.below(4)).map(|_| Value::from(text(&mut choices))).collect::<Vec<_>>()),
                2 => Value::from(choices.is_heads()),
                _ => Value::from(text(&mut choices)),
            };
            (key, value)
        })
        .collect();
    let original = String::from_utf8_lossy(choices.rest());
    let before = Note::parse(&original);

    let mut text = original.clone().into_owned();
    let mut wanted: BTreeMap<&str, &Value> = BTreeMap::new();
    for (key, value) in &edits {
        match set(&text, key, value) {
            Ok(edited) => {
                text = edited;
                wanted.insert(key, value);
            }
            Err(error) => assert!(!error.hint().is_empty(), "{error}"),
        }
    }
    let after = Note::parse(&text);
    assert_eq!(after.body(), before.body(), "the body changed");
    let of_the_block = |problem: &&Problem| !matches!(problem, Problem::ForeignId(_) | Problem::EndlessBlock(_));
    if let Some(problem) = before.problems.iter().find(of_the_block) {
        assert_eq!(text, *original, "a note was written although {problem}");
        return;
    }
    for (key, value) in &wanted {
        assert!(after.value(key).is_some_and(|read| alike(read, value)), "`{key}` reads otherwise:\n{text}");
    }
    let Some(old) = values(&original) else { return };
    let new = values(&text).expect("it reads as before");
    for (key, value) in &old {
        let is_set = wanted.keys().any(|set| key.as_str().is_some_and(|key| key.eq_ignore_ascii_case(set)));
        assert!(is_set || new.get(key) == Some(value), "{key:?} changed:\n{text}");
    }
    rewritten(&text, &new);
}

/// Numbers count as equal where their kind differs.
fn alike(a: &Value, b: &Value) -> bool {
    a == b || (a.as_f64().is_some() && a.as_f64() == b.as_f64())
}

/// Keys and values of a block that reads; none where there is none.
fn values(text: &str) -> Option<Mapping> {
    let block = split(text).block?;
    match serde_yaml::from_str::<Value>(&text[block]).ok()? {
        Value::Mapping(mapping) => Some(mapping),
        _ => None,
    }
}

/// The note as Obsidian leaves it when a property is edited there: comments, quotes and order are its own.
fn rewritten(text: &str, values: &Mapping) {
    // Keys that are lists or mappings themselves cannot be written.
    let Ok(block) = serde_yaml::to_string(values) else { return };
    let body = Note::parse(text).body().to_owned();
    let other = format!("---\n{block}---\n{body}");
    if Note::parse(&other)
        .problems
        .iter()
        .any(|problem| !matches!(problem, Problem::ForeignId(_) | Problem::EndlessBlock(_)))
    {
        // Longer than a block may be, or with signs that only the other program's quotes hide.
        return;
    }
    for (key, value) in values {
        let Some(key) = key.as_str() else { continue };
        let is_only =
            values.keys().filter_map(Value::as_str).filter(|other| other.eq_ignore_ascii_case(key)).count() == 1;
        let is_flat = !value.is_mapping() && !value.as_sequence().is_some_and(|items| items.iter().any(is_nested));
        if is_only && is_flat && !value.is_null() {
            assert_eq!(set(&other, key, value).unwrap(), other, "`{key}` was written again");
        }
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_mapping() || value.is_sequence()
}
