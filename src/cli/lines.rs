//! `ebbmark remember - --jsonl`: one memory a line, however many there are.

use std::process::ExitCode;

use serde_json::Value;

use super::Door;
use crate::engine::{MAX_CALL_BYTES, MAX_MEMORIES, Outcome, RememberAnswer, RememberRequest, Remembered, say};
use crate::error::{Error, Result};
use crate::mcp::replace_lone_surrogates;

/// A line that is not empty: its number, counted from 1, and what it says or why it says nothing.
struct Line {
    number: usize,
    memory: Result<Value, String>,
}

/// Remembers every line that says something, in as many calls as that takes. A line that does not costs only itself.
///
/// # Errors
/// As a call of `remember`, where nothing was saved yet. Afterwards the lines that are left are rejected one by one.
pub(super) fn remember(door: &Door<'_>, bytes: &[u8], op_key: Option<&str>, is_dry: bool) -> Result<ExitCode> {
    let lines = read(bytes);
    if lines.is_empty() {
        return Err(Error::invalid("stdin", "has no lines", "write one JSON object or text a line"));
    }
    let mut answer = RememberAnswer { results: Vec::new() };
    let mut trouble: Option<Error> = None;
    for (number, call) in calls(&lines).enumerate() {
        let memories: Vec<Value> = call.iter().filter_map(|line| line.memory.as_ref().ok().cloned()).collect();
        // Each call needs a key of its own, and the same one when the command is given again.
        let op_key = op_key.map(|key| if number == 0 { key.to_owned() } else { format!("{key}#{}", number + 1) });
        let request = RememberRequest { memories, op_key, dry_run: Some(is_dry) };
        let mut told = Vec::new();
        if trouble.is_none() && !request.memories.is_empty() {
            match door.engine.remember(&request) {
                Ok(answer) => told = answer.results,
                Err(error) if number == 0 => return Err(error),
                Err(error) => trouble = Some(error),
            }
        }
        let mut told = told.into_iter();
        answer.results.extend(call.iter().map(|line| match (&line.memory, &trouble) {
            (Err(why), _) => rejected(line, why, "correct that line; the others do not depend on it"),
            (Ok(_), Some(error)) => rejected(line, &error.to_string(), &error.hint()),
            (Ok(_), None) => told.next().map_or_else(
                || rejected(line, "there was no answer to it", "give that line again"),
                |told| match told.outcome {
                    Outcome::Rejected => Remembered { why: format!("line {}: {}", line.number, told.why), ..told },
                    _ => told,
                },
            ),
        }));
    }
    let is_fine = answer.results.iter().all(|told| told.outcome != Outcome::Rejected);
    door.say(&answer, say::remember)?;
    Ok(match trouble {
        Some(error) => super::exit_code(error.kind()),
        None => super::memories::code(is_fine),
    })
}

fn rejected(line: &Line, why: &str, hint: &str) -> Remembered {
    Remembered::rejected(format!("line {}: {why}", line.number), hint.to_owned())
}

/// Reads the lines that are not empty.
fn read(bytes: &[u8]) -> Vec<Line> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').zip(1..).filter(|(line, _)| !line.trim_ascii().is_empty());
    lines.map(|(line, number)| Line { number, memory: read_line(line.trim_ascii()) }).collect()
}

fn read_line(line: &[u8]) -> Result<Value, String> {
    let memory = match serde_json::from_slice::<Value>(line) {
        Ok(memory) => memory,
        Err(error) => {
            // Texts that were cut within an emoji.
            let mut mended = line.to_vec();
            replace_lone_surrogates(&mut mended);
            serde_json::from_slice(&mended).map_err(|_| no_json(line, &error))?
        }
    };
    match text_bytes(&memory) {
        bytes if bytes > MAX_CALL_BYTES => Err(format!("its text has {bytes} bytes; 65536 fit")),
        _ => Ok(memory),
    }
}

/// Why a line cannot be read, in plain words.
fn no_json(line: &[u8], error: &serde_json::Error) -> String {
    if let Err(error) = std::str::from_utf8(line) {
        return format!("it is not UTF-8 from byte {} on", error.valid_up_to());
    }
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("it is no JSON: {what}, at byte {}; a text stands in quotes", error.column())
}

/// What a memory counts in the size of a call, bytes.
fn text_bytes(memory: &Value) -> usize {
    memory.get("text").unwrap_or(memory).as_str().map_or(0, str::len)
}

/// The lines in calls of at most 1000 memories and 1 MiB of text.
fn calls(lines: &[Line]) -> impl Iterator<Item = &[Line]> {
    let mut rest = lines;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = rest.iter().take(MAX_MEMORIES).take_while(|line| {
            bytes += line.memory.as_ref().map_or(0, text_bytes);
            bytes <= MAX_CALL_BYTES
        });
        let (call, later) = rest.split_at(fits.count());
        rest = later;
        (!call.is_empty()).then_some(call)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_each_for_itself() {
        let lines = read(b"\xEF\xBB\xBF{\"text\":\"a\"}\n\n  \r\n\"b \\ud83d\"\r\n{\"text\":\n\xff\"\nplain words\n");
        let told: Vec<(usize, Result<Value, String>)> =
            lines.into_iter().map(|line| (line.number, line.memory)).collect();
        assert_eq!(told[0], (1, Ok(serde_json::json!({ "text": "a" }))));
        assert_eq!(told[1], (4, Ok("b \u{fffd}".into())));
        let why = |at: usize| (told[at].0, told[at].1.clone().unwrap_err());
        assert_eq!(why(2), (5, "it is no JSON: EOF while parsing a value, at byte 8; a text stands in quotes".into()));
        assert_eq!(why(3), (6, "it is not UTF-8 from byte 0 on".into()));
        assert_eq!(why(4), (7, "it is no JSON: expected value, at byte 1; a text stands in quotes".into()));
    }

    #[test]
    fn calls_are_as_large_as_they_may_be() {
        let lines = |count: usize, bytes: usize| -> Vec<Line> {
            (0..count).map(|number| Line { number, memory: Ok("x".repeat(bytes).into()) }).collect()
        };
        let sizes = |lines: &[Line]| calls(lines).map(<[Line]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(&lines(2500, 1)), [1000, 1000, 500]);
        assert_eq!(sizes(&lines(5, 400_000)), [2, 2, 1]);
        assert_eq!(sizes(&lines(2, MAX_CALL_BYTES)), [1, 1]);
        assert_eq!(sizes(&[]), Vec::<usize>::new());
    }
}
