//! What hangs together, in words.

use super::{day, plural};
use crate::engine::about::{EntitiesAnswer, EntityAnswer, Group, KnownMemory};
use crate::engine::graph::{GraphAnswer, GraphNode, PathAnswer};
use crate::engine::relate::Related;

/// Who and what memories are about.
pub(super) fn entities_lines(text: &mut String, answer: &EntitiesAnswer) {
    if answer.entities.is_empty() {
        line!(text, "Nobody and nothing is named yet.");
    }
    for entity in &answer.entities {
        let group = entity.group.map_or(String::new(), |group| format!(", group {group}"));
        let memories = plural(entity.memories as usize, "memory", "memories");
        line!(text, "{} ({memories}, weight {:.2}{group})", entity.name, entity.weight);
    }
    more(text, answer.total - answer.entities.len() as u64);
    for Group { group, entities, memories } in &answer.groups {
        let memories = plural(*memories as usize, "memory", "memories");
        line!(text, "group {group}: {} ({memories})", entities.join(", "));
    }
    if answer.orphans > 0 {
        line!(text, "tied to nothing: {}", plural(answer.orphans as usize, "memory", "memories"));
    }
    for orphan in &answer.orphaned {
        line!(text, "  {orphan}");
    }
}

/// What is known of an entity.
pub(super) fn entity_lines(text: &mut String, answer: &EntityAnswer) {
    let dates = match answer.dates.as_slice() {
        [first, .., last] if day(*first) != day(*last) => format!(", {} to {}", day(*first), day(*last)),
        [only, ..] => format!(", {}", day(*only)),
        [] => String::new(),
    };
    line!(text, "{}: {}{dates}", answer.name, plural(answer.memories as usize, "memory", "memories"));
    if !answer.also.is_empty() {
        line!(text, "also called {}", answer.also.join(", "));
    }
    if let Some(note) = &answer.note {
        line!(text, "note: {note}");
    }
    for kind in &answer.kinds {
        line!(text, "{} ({})", kind.kind, kind.count);
        for KnownMemory { id, text: known, dated, .. } in &kind.memories {
            line!(text, "  {id} {} {known}", day(*dated));
        }
    }
    more(text, answer.left_out);
    if !answer.related.is_empty() {
        let named: Vec<String> =
            answer.related.iter().map(|other| format!("{} ({})", other.name, other.shared)).collect();
        line!(text, "named together with: {}", named.join(", "));
    }
    for edge in &answer.relations {
        edge_line(text, edge);
    }
}

/// A part of the graph.
pub(super) fn graph_lines(text: &mut String, answer: &GraphAnswer) {
    if answer.nodes.is_empty() {
        line!(text, "{}", if answer.left_out == 0 { "There is nothing to show yet." } else { "Nothing fits." });
    }
    for node in &answer.nodes {
        let hub = if node.hub { " (a hub: ask for it to see what hangs on it)" } else { "" };
        let depth = "  ".repeat(node.depth.unwrap_or_default() as usize);
        line!(text, "{depth}{}{hub}", node_words(node));
    }
    more(text, answer.left_out);
    if !answer.edges.is_empty() {
        line!(text, "ties:");
    }
    for edge in &answer.edges {
        edge_line(text, edge);
    }
}

/// How two things hang together.
pub(super) fn path_lines(text: &mut String, answer: &PathAnswer) {
    if !answer.found {
        line!(text, "Nothing that is known ties these together:");
        for node in &answer.nodes {
            line!(text, "  {}", node_words(node));
        }
        return;
    }
    for (place, node) in answer.nodes.iter().enumerate() {
        if let Some(step) = place.checked_sub(1).and_then(|step| answer.steps.get(step)) {
            line!(text, "  {step}");
        }
        line!(text, "{}", node_words(node));
    }
    if answer.cut {
        line!(text, "and further: raise `budget_tokens`");
    }
}

fn node_words(node: &GraphNode) -> String {
    let kind = node.kind.as_deref().map(|kind| match (&node.dated, &node.status) {
        (Some(dated), Some(status)) => format!(" [{kind}, {}, {status}]", day(*dated)),
        (Some(dated), None) => format!(" [{kind}, {}]", day(*dated)),
        (None, _) => format!(" [{kind}]"),
    });
    let text = node.text.as_deref().map_or(String::new(), |text| format!(" {text}"));
    format!("{}{}{text}", node.id, kind.unwrap_or_default())
}

fn edge_line(text: &mut String, edge: &Related) {
    let strength = edge.strength.map_or(String::new(), |strength| format!(" ({strength})"));
    line!(text, "  {} {} {}{strength}", edge.from, edge.relation, edge.to);
}

fn more(text: &mut String, left_out: u64) {
    if left_out > 0 {
        line!(text, "and {left_out} more");
    }
}
