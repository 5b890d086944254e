//! Values of frontmatter as text: what stands behind a key, quoted so that every YAML reader takes it for the same.

use std::fmt;

use serde_yaml::Value;

use crate::error::{Error, Result};

/// Keys whose values are calendar days: written without quotes, as Obsidian does.
const DAYS: [&str; 2] = ["created", "last_used"];

/// A text, number or switch as text.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        _ => None,
    }
}

/// Whether two values say the same: 1 and 1.0 do.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Sequence(a), Value::Sequence(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => a == b,
    }
}

/// Whether some YAML 1.1 or 1.2 reader takes a text without quotes for something else than this text.
fn needs_quotes(text: &str) -> bool {
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    let based =
        ["0x", "0o", "0b"].iter().any(|base| text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(base)));
    let numeric = |c: char| c.is_ascii_digit() || "+-_.:,eETtZz ".contains(c);
    !text.starts_with(char::is_alphanumeric)
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
        || text.chars().any(is_special)
        || words.iter().any(|word| text.eq_ignore_ascii_case(word))
        || based
        || (text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(numeric))
}

/// Line breaks of any kind, blanks other than the space, and what YAML does not allow unescaped.
fn is_special(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(character, '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

fn quoted(text: &str) -> String {
    let escaped = |character| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        special if is_special(special) => format!("\\u{:04X}", u32::from(special)),
        other => other.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Whether a text is a calendar day, as `2026-11-29`.
pub(crate) fn is_day(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
}

/// A value that fits on the line of its key.
fn scalar(key: &str, value: &Value) -> Result<String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::Bool(switch) => Ok(switch.to_string()),
        Value::Number(number) => Ok(match number.as_f64() {
            Some(float) if number.is_f64() && float.is_finite() => float.to_string(),
            _ => number.to_string(),
        }),
        Value::String(text) if DAYS.contains(&key) && is_day(text) => Ok(text.clone()),
        Value::String(text) if needs_quotes(text) => Ok(quoted(text)),
        Value::String(text) => Ok(text.clone()),
        Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => {
            Err(refused(key, "nested values are not written", "give a text, a number, a switch or a list of these"))
        }
    }
}

pub(super) fn refused(key: &str, why: impl fmt::Display, hint: &str) -> Error {
    Error::invalid(format!("frontmatter key `{key}`"), why.to_string(), hint)
}

/// A key's value as it is written: `first` follows the colon on the key's line, `items` are lines of their own.
pub(super) struct Written {
    pub(super) first: String,
    pub(super) items: String,
}

pub(super) fn written(key: &str, value: &Value, line_end: &str) -> Result<Written> {
    match value {
        Value::Sequence(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(|item| scalar("", item)).collect::<Result<_>>()?;
            let items =
                items.iter().map(|item| format!("{line_end}  - {item}").trim_end_matches(' ').to_owned()).collect();
            Ok(Written { first: String::new(), items })
        }
        Value::Sequence(_) => Ok(Written { first: "[]".into(), items: String::new() }),
        other => Ok(Written { first: scalar(key, other)?, items: String::new() }),
    }
}

/// A key with its value as lines of a block: lists in block style indented by two, texts in quotes where any YAML
/// reader would take them for something else.
///
/// # Errors
/// [`Error::Invalid`] for nested values.
pub(super) fn entry(key: &str, value: &Value, line_end: &str) -> Result<String> {
    let Written { first, items } = written(key, value, line_end)?;
    let gap = if first.is_empty() { "" } else { " " };
    Ok(format!("{}:{gap}{first}{items}{line_end}", scalar("", &Value::from(key))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Value {
        Value::Sequence(items.iter().map(|item| Value::from(*item)).collect())
    }

    fn read(line: &str) -> Value {
        serde_yaml::from_str::<Value>(line).unwrap()["k"].clone()
    }

    #[test]
    fn texts_that_yaml_would_misread_are_quoted() {
        for text in [
            "Core (Split: part 2)",
            "Rule: keep it",
            "*starred*",
            "@scope/pkg",
            "# hash",
            "- dash",
            "yes",
            "No",
            "ON",
            "y",
            "1e3",
            "2026-01-01",
            "2026-01-01T10:00:00Z",
            "12:30",
            "1_000",
            "0x1F",
            "0b01",
            "0o17",
            "-5",
            "+1",
            ".5",
            "null",
            "~",
            "True",
            "{a: b}",
            "[x]",
            "[[x]]",
            ">",
            "|",
            "&amp",
            "!tag",
            "%x",
            "`C:\\tmp`",
            "\"q\"",
            "'q'",
            "=",
            "<<",
            "trailing ",
            " leading",
            "",
            "ends:",
            "a #b",
            "a\nb",
            "a\tb",
            "a\u{2028}b",
            "a\u{85}b",
            "\u{FEFF}a",
            "a\u{7F}",
            "?",
            "? x",
            "-",
            "---",
            "...",
            "nan",
            "123456789012345678901234567890",
        ] {
            let line = entry("k", &Value::from(text), "\n").unwrap();
            assert!(line.starts_with("k: \"") && line.ends_with("\"\n"), "{line}");
            assert_eq!(read(&line), Value::from(text), "{line}");
        }
        for text in [
            "Claude Desktop, 2026-11-29",
            "it's \"quoted\" \\ back",
            "7k2m9x4qwc3r",
            "C# and F#",
            "a:b",
            "東京",
            "nope",
        ] {
            let line = entry("k", &Value::from(text), "\n").unwrap();
            assert_eq!(line, format!("k: {text}\n"));
            assert_eq!(read(&line), Value::from(text), "{line}");
        }
        assert_eq!(entry("created", &Value::from("2026-11-29"), "\n").unwrap(), "created: 2026-11-29\n");
        assert_eq!(entry("half_life_days", &Value::from(180.0), "\n").unwrap(), "half_life_days: 180\n");
        assert_eq!(entry("a", &Value::Null, "\n").unwrap(), "a:\n");
        assert_eq!(entry("a", &list(&["[[x]]", "b"]), "\r\n").unwrap(), "a:\r\n  - \"[[x]]\"\r\n  - b\r\n");
        assert!(entry("a", &Value::Sequence(vec![list(&["x"])]), "\n").is_err());
    }
}
