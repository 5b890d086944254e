//! Answers about what is related, in conflict, and to be decided.

use super::{day, hanging};
use crate::engine::conflict::Conflict;
use crate::engine::relate::RelateAnswer;
use crate::engine::review::{ReviewAnswer, ReviewItem};
use crate::engine::undo::UndoAnswer;

/// What is related now, or not any more.
pub fn relate(answer: &RelateAnswer) -> String {
    let relation = &answer.relation;
    let mut text = String::new();
    let what = if answer.changed { "done" } else { "unchanged" };
    line!(text, "{what}: {} {} {}", relation.from, relation.relation, relation.to);
    if let Some(conflict) = &answer.conflict {
        line!(text, "  conflict {conflict}");
    }
    if let Some(why) = &answer.why {
        line!(text, "  {why}");
    }
    text
}

/// What was done, and each list that is not empty.
pub fn review(answer: &ReviewAnswer) -> String {
    let mut text = String::new();
    for done in &answer.done {
        line!(text, "done: {done}");
    }
    for problem in &answer.problems {
        line!(text, "not done: {problem}");
    }
    if let Some(preview) = &answer.preview {
        line!(text, "would be: {preview}");
    }
    if let Some(token) = &answer.preview_token {
        line!(text, "to do it, repeat the call with preview_token {token}");
    }
    for conflict in &answer.conflicts {
        conflict_lines(&mut text, conflict);
    }
    let lists: [(&str, &[ReviewItem]); 5] = [
        ("proposed to be promoted", &answer.proposals),
        ("fading", &answer.fading),
        ("due for a look", &answer.due),
        ("said twice", &answer.duplicates),
        ("notes deleted or moved away", &answer.vanished),
    ];
    for (name, items) in lists {
        for item in items {
            line!(text, "{name}: {} {} ({})", item.id, hanging(&item.text), item.why);
        }
    }
    if text.is_empty() {
        text.push_str("Nothing to decide.\n");
    }
    text
}

fn conflict_lines(text: &mut String, conflict: &Conflict) {
    let stale = if conflict.stale { "; a text was changed since" } else { "" };
    line!(text, "conflict {}: {}{stale}", conflict.id, conflict.why);
    for side in &conflict.sides {
        line!(text, "  {} [{}] {}", side.id, day(side.dated), hanging(&side.text));
    }
}

/// What was taken back.
pub fn undo(answer: &UndoAnswer) -> String {
    let mut text = String::new();
    for undone in &answer.undone {
        line!(text, "taken back: {undone}");
    }
    for stays in &answer.stays {
        line!(text, "left as it is: {stays}");
    }
    if let Some(notice) = &answer.notice {
        line!(text, "note: {notice}");
    }
    text
}
