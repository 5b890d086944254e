//! A drawing: nodes with labels and the edges between them, as other programs read it.

use super::layout::{Rectangle, placed};
use crate::id::hash64;

use serde_json::{Value, json};

/// Width and height of a card of a canvas, and of one with a name only.
const CARD: (f64, f64) = (280.0, 140.0);
const NAME_CARD: (f64, f64) = (200.0, 60.0);

/// What a node is drawn as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A memory.
    Memory,
    /// An entity.
    Entity,
    /// A person's own note.
    Note,
}

/// A node of a drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnNode {
    /// Its identity, the same in every drawing.
    pub id: String,
    /// What is written on it: one line.
    pub label: String,
    /// What it is.
    pub shape: Shape,
    /// Path of its note from the vault's root, where it has one.
    pub file: Option<String>,
    /// Whether it is what was asked for.
    pub is_centre: bool,
}

/// An edge of a drawing; ends are places in the list of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnEdge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What is written on it; nothing where a memory is about an entity, which goes without saying.
    pub label: Option<String>,
}

/// Nodes and edges, ready to be written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The nodes, the most important first.
    pub nodes: Vec<DrawnNode>,
    /// The edges.
    pub edges: Vec<DrawnEdge>,
}

impl Drawing {
    /// In Graphviz's language.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph ebbmark {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n");
        for (place, node) in self.nodes.iter().enumerate() {
            let shape = match node.shape {
                Shape::Memory => "box",
                Shape::Entity => "ellipse",
                Shape::Note => "note",
            };
            let style = if node.is_centre { ", penwidth=2" } else { "" };
            let (label, id) = (quoted(&node.label), quoted(&node.id));
            text.push_str(&format!("  n{place} [label={label}, shape={shape}, tooltip={id}{style}];\n"));
        }
        for edge in &self.edges {
            let label = edge.label.as_deref().map_or(String::new(), |label| format!(" [label={}]", quoted(label)));
            text.push_str(&format!("  n{} -> n{}{label};\n", edge.from, edge.to));
        }
        text.push_str("}\n");
        text
    }

    /// As a Mermaid diagram, which Obsidian draws in a note.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("```mermaid\nflowchart LR\n");
        for (place, node) in self.nodes.iter().enumerate() {
            let label = entities(&node.label);
            let (open, close) = match node.shape {
                Shape::Memory => ("[", "]"),
                Shape::Entity => ("([", "])"),
                Shape::Note => ("[/", "/]"),
            };
            text.push_str(&format!("  n{place}{open}\"{label}\"{close}\n"));
        }
        for edge in &self.edges {
            let label = edge.label.as_deref().map_or(String::new(), |label| format!("|\"{}\"|", entities(label)));
            text.push_str(&format!("  n{} -->{label} n{}\n", edge.from, edge.to));
        }
        text.push_str("```\n");
        text
    }

    /// As an Obsidian canvas (JSON Canvas 1.0): what has a note as that note, the rest as text.
    pub fn canvas(&self) -> String {
        let sizes: Vec<(f64, f64)> = self
            .nodes
            .iter()
            .map(|node| if node.file.is_none() && node.shape == Shape::Entity { NAME_CARD } else { CARD })
            .collect();
        let boxes = placed(&sizes, &self.ties());
        let nodes: Vec<Value> = self.nodes.iter().zip(&boxes).map(|(node, place)| card(node, place)).collect();
        let edges: Vec<Value> = self.edges.iter().filter_map(|edge| self.line(edge, &boxes)).collect();
        // In the order of the format's own description; one node or edge a line, so that a change is seen as one.
        let lines =
            |values: Vec<Value>| values.iter().map(|value| format!("    {value}")).collect::<Vec<_>>().join(",\n");
        let list = |values: Vec<Value>| {
            if values.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", lines(values)) }
        };
        format!("{{\n  \"nodes\": {},\n  \"edges\": {}\n}}\n", list(nodes), list(edges))
    }

    /// The pairs of nodes that are tied.
    pub(super) fn ties(&self) -> Vec<(usize, usize)> {
        let mut ties: Vec<(usize, usize)> =
            self.edges.iter().map(|edge| (edge.from.min(edge.to), edge.from.max(edge.to))).collect();
        ties.sort_unstable();
        ties.dedup();
        ties
    }

    fn line(&self, edge: &DrawnEdge, boxes: &[Rectangle]) -> Option<Value> {
        let (from, to) = (self.nodes.get(edge.from)?, self.nodes.get(edge.to)?);
        let (a, b) = (boxes.get(edge.from)?, boxes.get(edge.to)?);
        let label = edge.label.as_deref().unwrap_or_default();
        let (from_side, to_side) = sides(a, b);
        let mut line = json!({
            "id": card_id(&format!("{}\n{}\n{label}", from.id, to.id)),
            "fromNode": card_id(&from.id),
            "fromSide": from_side,
            "toNode": card_id(&to.id),
            "toSide": to_side,
        });
        if let (Some(fields), false) = (line.as_object_mut(), label.is_empty()) {
            fields.insert("label".into(), label.into());
        }
        Some(line)
    }
}

/// A card of a canvas.
fn card(node: &DrawnNode, place: &Rectangle) -> Value {
    let mut card = json!({ "id": card_id(&node.id), "type": "text" });
    let Some(fields) = card.as_object_mut() else { return card };
    match &node.file {
        Some(path) => {
            fields.insert("type".into(), "file".into());
            fields.insert("file".into(), path.as_str().into());
        }
        None => {
            fields.insert("text".into(), plain_markdown(&node.label).into());
        }
    }
    let corner = (place.x - place.width / 2.0, place.y - place.height / 2.0);
    for (key, value) in [("x", corner.0), ("y", corner.1), ("width", place.width), ("height", place.height)] {
        fields.insert(key.into(), (value.round() as i64).into());
    }
    let colour = match (node.is_centre, node.shape) {
        (true, _) => Some("1"),
        (false, Shape::Entity) => Some("5"),
        (false, Shape::Note) => Some("4"),
        (false, Shape::Memory) => None,
    };
    if let Some(colour) = colour {
        fields.insert("color".into(), colour.into());
    }
    card
}

/// The sides on which an edge leaves one card and reaches the other.
fn sides(from: &Rectangle, to: &Rectangle) -> (&'static str, &'static str) {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    // Cards are about twice as wide as high.
    match (dx.abs() > 2.0 * dy.abs(), dx > 0.0, dy > 0.0) {
        (true, true, _) => ("right", "left"),
        (true, false, _) => ("left", "right"),
        (false, _, true) => ("bottom", "top"),
        (false, _, false) => ("top", "bottom"),
    }
}

/// Sixteen hexadecimal digits, as Obsidian itself makes them.
fn card_id(id: &str) -> String {
    format!("{:016x}", hash64(id.as_bytes()))
}

/// A text in DOT's quotes. In labels a backslash begins an escape, too.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " "))
}

/// A text for between Mermaid's quotes: signs that mean something there, or in HTML, by their numbers.
fn entities(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '%' | '{' | '}' | '[' | ']' | '|' => {
                written.push_str(&format!("#{};", u32::from(character)));
            }
            '\n' | '\r' | '\t' => written.push(' '),
            other => written.push(other),
        }
    }
    written
}

/// A text that Markdown shows as it is: no heading, link, picture or tag comes of it.
fn plain_markdown(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for (place, character) in text.char_indices() {
        let begins_list = place == 0 && matches!(character, '-' | '+' | '=' | '~');
        if begins_list || "\\`*_[]<>!#|$%=^~".contains(character) {
            written.push('\\');
        }
        written.push(character);
    }
    written
}
