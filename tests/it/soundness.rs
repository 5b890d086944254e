//! What must hold of a journal and of recall after any run; and faults to plant, so that a harness shows it notices.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;

use ebbmark::engine::RecallRequest;
use serde_json::Value;

use crate::support::{Dice, Store};

/// Whether two things are the same; else which, and how they differ.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, got: &T, expected: &T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: {got:?}, expected {expected:?}")) }
}

/// A text that nothing else says.
pub(crate) fn new_text(dice: &mut Dice) -> String {
    format!("Crate {} holds {} apples", dice.below(1 << 40), dice.below(1 << 20))
}

/// Every line of every journal parses and ends, and no number stands twice in a file. Where
/// nothing was compacted, the numbers are also without a gap.
pub(crate) fn check_lines(store: &Store, was_compacted: bool) -> Result<(), String> {
    let is_temporary =
        |path: &std::path::Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    // What a kill left of a file that was being made is no journal.
    for (path, bytes) in store.journals().into_iter().filter(|(path, _)| !is_temporary(path)) {
        let name = path.display();
        let text = String::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))?;
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(format!("{name}: its last line has no end"));
        }
        let mut numbers = BTreeSet::new();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).map_err(|error| format!("{name}: {error}: {line}"))?;
            let number = value["n"].as_u64().ok_or_else(|| format!("{name}: no number: {line}"))?;
            if !numbers.insert(number) {
                return Err(format!("{name}: number {number} stands twice: {line}"));
            }
        }
        if !was_compacted && let Some(gap) = (1..).zip(&numbers).find(|(place, number)| place != *number) {
            return Err(format!("{name}: line {} has number {}", gap.0, gap.1));
        }
    }
    Ok(())
}

/// Recall answers with the index as it does without: same memories, same order, same scores.
pub(crate) fn check_index(store: &Store, queries: &[String]) -> Result<(), String> {
    let with_index = store.engine();
    let (_folder, without) = store.engine_without_cache();
    for query in queries {
        let request = RecallRequest { limit: Some(50), reinforce: Some(false), ..RecallRequest::of(query) };
        let hits = |answer: ebbmark::error::Result<ebbmark::engine::RecallAnswer>| {
            answer.map(|answer| answer.hits).map_err(|error| format!("`{query}`: {error}"))
        };
        let (got, expected) = (hits(with_index.recall(&request))?, hits(without.recall(&request))?);
        same(&format!("`{query}` with the index and without"), &got, &expected)?;
    }
    Ok(())
}

/// Something that must never happen, done on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// The only line of a memory is gone.
    LostLine,
    /// The only line of a memory is cut in the middle.
    CutLine,
    /// A line stands there twice.
    DoubledLine,
    /// The newest text of a memory is gone.
    ChangeUndone,
    /// A forgotten memory is back.
    ForgetUndone,
}

impl Plant {
    pub(crate) const ALL: [Plant; 5] =
        [Plant::LostLine, Plant::CutLine, Plant::DoubledLine, Plant::ChangeUndone, Plant::ForgetUndone];

    /// As it is named on a command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Plant::LostLine => "lost-line",
            Plant::CutLine => "cut-line",
            Plant::DoubledLine => "doubled-line",
            Plant::ChangeUndone => "change-undone",
            Plant::ForgetUndone => "forget-undone",
        }
    }

    /// Damages the journal of a store in which these ids are acknowledged to be there, and these to be forgotten.
    /// `false` where it holds nothing to damage in this way.
    pub(crate) fn put(self, store: &Store, there: &BTreeSet<String>, forgotten: &BTreeSet<String>) -> bool {
        let text = fs::read_to_string(store.journal()).unwrap();
        let mut lines: Vec<(String, Value)> =
            text.lines().map(|line| (line.to_owned(), serde_json::from_str(line).unwrap())).collect();
        let id_of = |value: &Value| value["id"].as_str().unwrap_or_default().to_owned();
        let lines_of = |id: &str| lines.iter().filter(|(_, value)| value["id"] == id).count();
        let is_only_line = |(_, value): &(String, Value)| {
            value["op"] == "remember" && there.contains(&id_of(value)) && lines_of(&id_of(value)) == 1
        };
        let place = match self {
            Plant::LostLine | Plant::CutLine => lines.iter().rposition(is_only_line),
            Plant::DoubledLine => lines.len().checked_sub(1),
            Plant::ChangeUndone => lines.iter().rposition(|(_, value)| {
                let id = id_of(value);
                let says_text = |(_, other): &&(String, Value)| other["id"] == id && other["text"].is_string();
                let is_in_a_note = lines.iter().any(|(_, other)| other["id"] == id && other["op"] == "promote");
                let is_newest = lines.iter().rfind(says_text).is_some_and(|(_, newest)| newest == value);
                value["op"] == "revise" && there.contains(&id) && is_newest && !is_in_a_note
            }),
            Plant::ForgetUndone => lines.iter().rposition(|(_, value)| {
                let id = id_of(value);
                let is_told = lines.iter().any(|(_, other)| other["id"] == id && other["op"] == "remember");
                value["op"] == "forget" && forgotten.contains(&id) && is_told
            }),
        };
        let Some(place) = place else { return false };
        let (line, value) = lines[place].clone();
        match self {
            Plant::LostLine | Plant::ChangeUndone => drop(lines.remove(place)),
            Plant::CutLine => lines[place].0.truncate(line.len() / 2),
            Plant::DoubledLine => lines.push((line, value)),
            Plant::ForgetUndone => lines.retain(|(_, other)| other["op"] != "forget" || other["id"] != value["id"]),
        }
        let text: String = lines.into_iter().flat_map(|(line, _)| [line, "\n".to_owned()]).collect();
        fs::write(store.journal(), text).unwrap();
        true
    }
}
