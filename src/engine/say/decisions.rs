//! Answers about what is related, in conflict, and to be decided.

use super::{day, hanging};
use crate::engine::conflict::Conflict;
use crate::engine::consolidate::{ClusterAction, ConsolidateAnswer};
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
    let lists: [(&str, &[ReviewItem]); 6] = [
        ("proposed to be promoted", &answer.proposals),
        ("fading", &answer.fading),
        ("due for a look", &answer.due),
        ("said twice", &answer.duplicates),
        ("notes deleted or moved away", &answer.vanished),
        ("may hang together", &answer.relations),
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

/// What there is to consolidate, or what was.
pub fn consolidate(answer: &ConsolidateAnswer) -> String {
    let mut text = String::new();
    if let Some(done) = &answer.done {
        let count = done.members.len();
        match (done.action, &done.id, &done.text) {
            (ClusterAction::Merge, Some(id), Some(merged)) => {
                line!(text, "{count} memories are one now: {id} {}", hanging(merged));
            }
            (ClusterAction::Link, ..) => line!(text, "{count} memories are related to each other now"),
            _ => line!(text, "{count} memories stay apart, and are not shown as a cluster again"),
        }
        line!(text, "  of: {}", done.members.join(", "));
        line!(text, "  taken back by {}", done.undo);
        if let Some(notice) = &done.notice {
            line!(text, "note: {notice}");
        }
        return text;
    }
    for cluster in &answer.clusters {
        let action = match cluster.action {
            ClusterAction::Merge => "merge",
            ClusterAction::Link => "link",
            ClusterAction::Keep | ClusterAction::Preview => "keep",
        };
        line!(text, "cluster {} ({:.2} alike), {action}: {}", cluster.id, cluster.cohesion, cluster.why);
        for member in &cluster.members {
            line!(text, "  {} {}", member.id, hanging(&member.text));
        }
    }
    let shown = answer.clusters.len() as u64;
    if shown == 0 {
        text.push_str("Nothing to consolidate.\n");
    } else if answer.total > shown {
        line!(text, "and {} more", answer.total - shown);
    }
    text
}
