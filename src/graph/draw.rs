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
        let mut text = vec!["digraph ebbmark {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n".to_owned()];
        for (place, node) in self.nodes.iter().enumerate() {
            let shape = match node.shape {
                Shape::Memory => "box",
                Shape::Entity => "ellipse",
                Shape::Note => "note",
            };
            let style = if node.is_centre { ", penwidth=2" } else { "" };
            let (label, id) = (quoted(&node.label), quoted(&node.id));
            text.push(format!("  n{place} [label={label}, shape={shape}, tooltip={id}{style}];\n"));
        }
        for edge in &self.edges {
            let label = edge.label.as_deref().map_or(String::new(), |label| format!(" [label={}]", quoted(label)));
            text.push(format!("  n{} -> n{}{label};\n", edge.from, edge.to));
        }
        text.push("}\n".to_owned());
        text.concat()
    }

    /// As a Mermaid diagram, which Obsidian draws in a note.
    pub fn mermaid(&self) -> String {
        let mut text = vec!["```mermaid\nflowchart LR\n".to_owned()];
        for (place, node) in self.nodes.iter().enumerate() {
            let label = entities(&node.label);
            let (open, close) = match node.shape {
                Shape::Memory => ("[", "]"),
                Shape::Entity => ("([", "])"),
                Shape::Note => ("[/", "/]"),
            };
            text.push(format!("  n{place}{open}\"{label}\"{close}\n"));
        }
        for edge in &self.edges {
            let label = edge.label.as_deref().map_or(String::new(), |label| format!("|\"{}\"|", entities(label)));
            text.push(format!("  n{} -->{label} n{}\n", edge.from, edge.to));
        }
        text.push("```\n".to_owned());
        text.concat()
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
    let written = text.chars().map(|character| match character {
        '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '%' | '{' | '}' | '[' | ']' | '|' => {
            format!("#{};", u32::from(character))
        }
        '\n' | '\r' | '\t' => " ".to_owned(),
        other => other.to_string(),
    });
    written.collect::<Vec<String>>().concat()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Three nodes, of which one is named to break every format.
    fn small() -> Drawing {
        let node = |id: &str, label: &str, shape, file: Option<&str>| DrawnNode {
            id: id.into(),
            label: label.into(),
            shape,
            file: file.map(str::to_owned),
            is_centre: id == "Ada",
        };
        Drawing {
            nodes: vec![
                node("Ada", "Ada", Shape::Entity, None),
                node("7k2m9x4qwc3r", "Says \"[[C#]] | <b>\\N\"", Shape::Memory, None),
                node("aaaa9x4qwc3r", "Prefers green tea", Shape::Memory, Some("Memories/Prefers green tea.md")),
                node("Plans/Cafe.md", "Cafe", Shape::Note, Some("Plans/Cafe.md")),
            ],
            edges: vec![
                DrawnEdge { from: 1, to: 0, label: None },
                DrawnEdge { from: 1, to: 2, label: Some("causes".into()) },
                DrawnEdge { from: 3, to: 2, label: Some("links to".into()) },
            ],
        }
    }

    #[test]
    fn as_dot() {
        insta::assert_snapshot!(small().dot(), @r##"
        digraph ebbmark {
          rankdir=LR;
          node [fontname="sans-serif"];
          n0 [label="Ada", shape=ellipse, tooltip="Ada", penwidth=2];
          n1 [label="Says \"[[C#]] | <b>\\N\"", shape=box, tooltip="7k2m9x4qwc3r"];
          n2 [label="Prefers green tea", shape=box, tooltip="aaaa9x4qwc3r"];
          n3 [label="Cafe", shape=note, tooltip="Plans/Cafe.md"];
          n1 -> n0;
          n1 -> n2 [label="causes"];
          n3 -> n2 [label="links to"];
        }
        "##);
    }

    #[test]
    fn as_mermaid() {
        insta::assert_snapshot!(small().mermaid(), @r##"
        ```mermaid
        flowchart LR
          n0(["Ada"])
          n1["Says #34;#91;#91;C#35;#93;#93; #124; #60;b#62;#92;N#34;"]
          n2["Prefers green tea"]
          n3[/"Cafe"/]
          n1 --> n0
          n1 -->|"causes"| n2
          n3 -->|"links to"| n2
        ```
        "##);
    }

    #[test]
    fn as_canvas() {
        insta::assert_snapshot!(small().canvas(), @r##"
        {
          "nodes": [
            {"id":"99a563ab2f6e21e9","type":"text","text":"Ada","x":-492,"y":-307,"width":200,"height":60,"color":"1"},
            {"id":"00a647bed9293453","type":"text","text":"Says \"\\[\\[C\\#\\]\\] \\| \\<b\\>\\\\N\"","x":-360,"y":-233,"width":280,"height":140},
            {"id":"cb75774741d8b38d","type":"file","file":"Memories/Prefers green tea.md","x":-139,"y":-79,"width":280,"height":140},
            {"id":"8e30d8a1210fd6a7","type":"file","file":"Plans/Cafe.md","x":35,"y":75,"width":280,"height":140,"color":"4"}
          ],
          "edges": [
            {"id":"0bba680344ff5174","fromNode":"00a647bed9293453","fromSide":"top","toNode":"99a563ab2f6e21e9","toSide":"bottom"},
            {"id":"3fec95e9e232e5d5","fromNode":"00a647bed9293453","fromSide":"bottom","toNode":"cb75774741d8b38d","toSide":"top","label":"causes"},
            {"id":"294dd0bb440d3ad5","fromNode":"8e30d8a1210fd6a7","fromSide":"top","toNode":"cb75774741d8b38d","toSide":"bottom","label":"links to"}
          ]
        }
        "##);
        assert_eq!(Drawing::default().canvas(), "{\n  \"nodes\": [],\n  \"edges\": []\n}\n");
    }

    #[test]
    fn as_a_picture() {
        let one = Drawing { nodes: small().nodes[..2].to_vec(), edges: small().edges[..1].to_vec() };
        insta::assert_snapshot!(one.svg(), @r##"
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="-139 -58 212 122" width="212" height="122" font-family="Helvetica, Arial, sans-serif" font-size="12">
        <defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#7a7a7a"/></marker></defs>
        <rect x="-139" y="-58" width="212" height="122" fill="#ffffff"/>
        <line x1="-14" y1="10" x2="4" y2="-4" stroke="#c4c4c4"/>
        <g><title>Ada</title><rect x="1.5" y="-34" width="43" height="30" rx="15" fill="#dcebfb" stroke="#3d76b0" stroke-width="3"/><text x="23" y="-14.52" text-anchor="middle" fill="#1d1d1b">Ada</text></g>
        <g><title>7k2m9x4qwc3r</title><rect x="-114.5" y="10" width="163" height="30" rx="4" fill="#f7f7f5" stroke="#8c8c86" stroke-width="1"/><text x="-33" y="29.48" text-anchor="middle" fill="#1d1d1b">Says &quot;[[C#]] | &lt;b&gt;\N&quot;</text></g>
        </svg>
        "##);
    }

    #[test]
    fn every_canvas_card_has_an_id_of_its_own_and_every_line_leads_from_card_to_card() {
        let canvas: Value = serde_json::from_str(&small().canvas()).unwrap();
        let ids: std::collections::BTreeSet<&str> =
            canvas["nodes"].as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 4);
        for line in canvas["edges"].as_array().unwrap() {
            assert!(ids.contains(line["fromNode"].as_str().unwrap()) && ids.contains(line["toNode"].as_str().unwrap()));
        }
    }
}
