//! One line of a journal, any bytes.
//!
//! - It is read, or reported as damaged, or blank; nothing else.
//! - What was read is written and read back as the same line, but for number, time and order, which the writer gives,
//!   and for secrets, which are redacted once and for all.
//! - The fold takes every line that can be read, and taking it twice changes nothing.
//! - A flipped bit anywhere in a written line is noticed, or changes nothing of what the line says.

use std::fs;

use ebbmark::config::Config;
use ebbmark::journal::Told;
use ebbmark::memory::{Line, Op, State};
use ebbmark::redact::redact_json;
use serde_json::Value;

use super::home::{Choices, Home, seal};

/// The first byte says whether the line gets a right checksum, the next two which bit is flipped, the rest is the line.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (is_sealed, place, bit) = (choices.is_heads(), choices.below(1 << 16), choices.below(8));
    let line = choices.rest().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = if is_sealed { seal(line.strip_suffix(b"}").unwrap_or(line)) } else { line.to_vec() };

    let home = Home::new();
    fs::write(home.journal_of("bbbb2222"), [&line[..], b"\n"].concat()).unwrap();
    let (told, bad) = home.lines();
    assert_eq!(told.len() + bad.len(), usize::from(!line.trim_ascii().is_empty()));
    let Some(told) = told.into_iter().next() else { return };

    fold(&told);
    let Some(first) = written(&home, &told.line) else { return };
    let second = written(&home, &first).expect("what was written is not too long");
    assert_eq!(said(&second), said(&first), "the second writing changed it");
    let json = serde_json::to_string(&told.line).unwrap();
    if redact_json(&json).1.is_empty() {
        assert_eq!(said(&first), said(&told.line), "writing changed it");
    }
    flip(&home, place, bit);
}

/// What a line says, apart from what its writer stamps on it.
fn said(line: &Line) -> Value {
    let mut said = serde_json::to_value(line).unwrap();
    for stamped in ["n", "at", "o"] {
        said.as_object_mut().unwrap().shift_remove(stamped);
    }
    said
}

/// The line as it is read back after it was written; nothing where it is too long to be written.
fn written(home: &Home, line: &Line) -> Option<Line> {
    let journal = home.journals();
    let mut guard = journal.lock().unwrap();
    journal.reading().read_all(home.now, drop).unwrap();
    if let Err(error) = guard.append(vec![line.clone()], home.now, |_| None) {
        assert!(error.to_string().contains("more than a line may have"), "{error}");
        return None;
    }
    drop(guard);
    let (told, bad) = home.lines();
    assert_eq!(bad, [], "what was written cannot be read");
    let mut own: Vec<Told> = told.into_iter().filter(|told| told.replica == "aaaa1111").collect();
    own.sort_by_key(|told| told.number);
    own.pop().map(|told| told.line)
}

/// Takes the line twice, and looks at what came of it.
fn fold(told: &Told) {
    let mut state = State::default();
    let mut seen = Vec::new();
    for _ in 0..2 {
        state.apply(told.line.clone(), &told.replica, told.number, told.crc);
        state.settle();
        let config = Config::default();
        let now = told.line.at;
        let looked: Vec<String> = state
            .memories()
            .chain(state.all_forgotten())
            .map(|memory| {
                let trace = memory.trace(&config);
                let score = trace.score(&config.decay, now);
                assert!(score.is_finite() && score >= 0.0, "{score}");
                format!(
                    "{memory:?} {} {score} {:?}",
                    memory.status(&config, now).as_str(),
                    trace.fades_at(&config.decay)
                )
            })
            .collect();
        seen.push(looked);
    }
    assert_eq!(seen[0], seen[1], "a copy of the line changed the state");
    if told.line.op == Op::Unknown {
        assert_eq!(seen[0].len(), 0, "what is not known says nothing");
    }
}

/// Flips one bit of the newest line.
fn flip(home: &Home, place: usize, bit: usize) {
    let path = home.journal();
    let (before, _) = home.lines();
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let place = start + place % (bytes.len() - start);
    bytes[place] ^= 1 << bit;
    fs::write(&path, &bytes).unwrap();
    let (after, bad) = home.lines();
    let is_torn = bytes.last() != Some(&b'\n');
    let texts = |told: &[Told]| -> Vec<String> {
        told.iter()
            .map(|told| format!("{} {} {}", told.replica, told.number, serde_json::to_string(&told.line).unwrap()))
            .collect()
    };
    let (before, after) = (texts(&before), texts(&after));
    if bad.is_empty() && !is_torn {
        assert_eq!(after, before, "bit {bit} of byte {} was flipped, and nobody noticed", place - start);
    } else {
        assert!(after.iter().all(|line| before.contains(line)), "a damaged line was read: {after:#?}");
        assert!(after.len() < before.len(), "a line that was read is called damaged too");
    }
}
