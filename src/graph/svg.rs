//! A drawing as a picture (SVG 1.1, without scripts, fonts or anything from elsewhere).

use super::draw::{Drawing, Shape};
use super::layout::{Rectangle, placed};
use crate::words;

/// Height of a line of a label, and the room between it and the border of its box.
const LINE_HEIGHT: f64 = 16.0;
const PADDING: (f64, f64) = (10.0, 7.0);
/// Longest line of a label, in letters of the usual width, and most lines of one.
const LINE_LETTERS: usize = 30;
const LINES: usize = 3;
/// Width of the usual letter at 12 px, and of one that is as wide as high.
const LETTER: f64 = 7.0;
const WIDE_LETTER: f64 = 12.5;
/// Size of the words on edges.
const EDGE_LABEL: (f64, f64) = (6.2, 13.0);
const MARGIN: f64 = 24.0;

impl Drawing {
    /// As a picture. Labels are in boxes that do not lie over each other.
    pub fn svg(&self) -> String {
        let labels: Vec<Vec<String>> = self.nodes.iter().map(|node| lines(&node.label)).collect();
        let boxes = self.boxes(&labels);
        let words = self.edge_words(&boxes);
        let left = boxes.iter().map(|own| own.x - own.width / 2.0).fold(0.0, f64::min).floor() - MARGIN;
        let top = boxes.iter().map(|own| own.y - own.height / 2.0).fold(0.0, f64::min).floor() - MARGIN;
        let right = boxes.iter().map(|own| own.x + own.width / 2.0).fold(0.0, f64::max).ceil() + MARGIN;
        let bottom = boxes.iter().map(|own| own.y + own.height / 2.0).fold(0.0, f64::max).ceil() + MARGIN;
        let (width, height) = (right - left, bottom - top);
        let mut text = vec![format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left} {top} {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n\
             <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#7a7a7a\"/></marker></defs>\n\
             <rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        )];
        for edge in &self.edges {
            let (Some(from), Some(to)) = (boxes.get(edge.from), boxes.get(edge.to)) else { continue };
            let ((x1, y1), (x2, y2)) = (border(from, to), border(to, from));
            let style =
                if edge.label.is_some() { "stroke=\"#7a7a7a\" marker-end=\"url(#end)\"" } else { "stroke=\"#c4c4c4\"" };
            text.push(format!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>\n"));
        }
        for ((node, own), label) in self.nodes.iter().zip(&boxes).zip(&labels) {
            let (fill, stroke, radius) = match node.shape {
                Shape::Memory => ("#f7f7f5", "#8c8c86", 4.0),
                Shape::Entity => ("#dcebfb", "#3d76b0", own.height / 2.0),
                Shape::Note => ("#e2f3e1", "#4c8a4a", 0.0),
            };
            let thick = if node.is_centre { 3 } else { 1 };
            let (x, y) = (own.x - own.width / 2.0, own.y - own.height / 2.0);
            text.push(format!(
                "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"{radius}\" fill=\"{fill}\" \
                 stroke=\"{stroke}\" stroke-width=\"{thick}\"/>",
                escaped(&node.id),
                own.width,
                own.height
            ));
            for (number, line) in label.iter().enumerate() {
                let baseline = y + PADDING.1 + LINE_HEIGHT * (number as f64 + 0.78);
                text.push(format!(
                    "<text x=\"{}\" y=\"{baseline}\" text-anchor=\"middle\" fill=\"#1d1d1b\">{}</text>",
                    own.x,
                    escaped(line)
                ));
            }
            text.push("</g>\n".to_owned());
        }
        for (word, own) in words {
            text.push(format!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#4a4a4a\" stroke=\"#ffffff\" \
                 stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
                own.x,
                own.y + 4.0,
                escaped(word)
            ));
        }
        text.push("</svg>\n".to_owned());
        text.concat()
    }

    fn boxes(&self, labels: &[Vec<String>]) -> Vec<Rectangle> {
        let size = |lines: &Vec<String>| {
            let widest = lines.iter().map(|line| width(line)).fold(0.0, f64::max);
            let width = (widest + 2.0 * PADDING.0).max(40.0).ceil();
            (width, lines.len().max(1) as f64 * LINE_HEIGHT + 2.0 * PADDING.1)
        };
        let sizes: Vec<(f64, f64)> = labels.iter().map(size).collect();
        placed(&sizes, &self.ties())
    }

    /// The words on edges, each where it lies over no box and no other word; one that finds no such place is left out.
    fn edge_words(&self, boxes: &[Rectangle]) -> Vec<(&str, Rectangle)> {
        let mut placed: Vec<(&str, Rectangle)> = Vec::new();
        for edge in &self.edges {
            let (Some(word), Some(from), Some(to)) = (&edge.label, boxes.get(edge.from), boxes.get(edge.to)) else {
                continue;
            };
            let ((x1, y1), (x2, y2)) = (border(from, to), border(to, from));
            let width = word.chars().count() as f64 * EDGE_LABEL.0;
            let free = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].into_iter().find_map(|share| {
                let (x, y) = ((x1 + (x2 - x1) * share).round(), (y1 + (y2 - y1) * share).round());
                let own = Rectangle { x, y, width, height: EDGE_LABEL.1 };
                let is_free =
                    boxes.iter().chain(placed.iter().map(|(_, other)| other)).all(|other| !own.overlaps(other));
                is_free.then_some(own)
            });
            placed.extend(free.map(|own| (word.as_str(), own)));
        }
        placed
    }
}

/// Where the line between two middles leaves the first box.
fn border(own: &Rectangle, other: &Rectangle) -> (f64, f64) {
    let (dx, dy) = (other.x - own.x, other.y - own.y);
    let reach = |half: f64, distance: f64| if distance.abs() < 1e-9 { f64::INFINITY } else { half / distance.abs() };
    let share = reach(own.width / 2.0, dx).min(reach(own.height / 2.0, dy)).min(1.0);
    ((own.x + dx * share).round(), (own.y + dy * share).round())
}

/// A label in lines, broken between words; what is too long ends with `…`.
fn lines(label: &str) -> Vec<String> {
    let limit = LINE_LETTERS as f64 * LETTER;
    let mut lines: Vec<String> = vec![String::new()];
    for word in label.split_whitespace() {
        let mut rest = word;
        while let Some(line) = lines.last_mut() {
            let gap = if line.is_empty() { "" } else { " " };
            if width(line) + width(gap) + width(rest) <= limit {
                line.push_str(gap);
                line.push_str(rest);
                break;
            }
            if line.is_empty() {
                // A word that is longer than a line, or a script without blanks.
                let fits = rest
                    .char_indices()
                    .take_while(|(at, c)| width(rest.get(..at + c.len_utf8()).unwrap_or_default()) <= limit);
                let end = fits.last().map_or(rest.len(), |(at, c)| at + c.len_utf8());
                line.push_str(rest.get(..end).unwrap_or_default());
                rest = rest.get(end..).unwrap_or_default();
            }
            if rest.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(last) = lines.last_mut() {
            while width(last) + LETTER > limit && last.pop().is_some() {}
            last.push('…');
        }
    }
    lines
}

/// About how wide a text is at 12 px.
fn width(text: &str) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ' ' | '\'' | ':' | ';' | '!' | '|' | '(' | ')' => 4.5,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 12.0,
        'A'..='Z' => 9.0,
        _ if words::is_unspaced(c) || u32::from(c) >= 0x1F000 => WIDE_LETTER,
        _ if words::is_invisible(c) => 0.0,
        _ => LETTER,
    };
    text.chars().map(letter).sum()
}

/// A text as XML has it; what XML cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            '\n' | '\t' | '\r' => written.push(' '),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => {}
            other => written.push(other),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::draw::{DrawnEdge, DrawnNode};
    use super::*;

    /// The numbers of an attribute, in order of appearance.
    fn numbers(line: &str, name: &str) -> f64 {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    }

    /// Names that many memories share, in five scripts, and sentences of all lengths.
    fn sixty() -> Drawing {
        const NAMES: [&str; 10] = [
            "Ada",
            "Łukasz Świątek",
            "東京オフィスの引っ越し",
            "Проект Гавань",
            "مريم",
            "C#",
            "i",
            "WWWWWWWW",
            "a-very-long-name-without-any-blank-at-all",
            "🎻",
        ];
        let node = |place: usize| DrawnNode {
            id: place.to_string(),
            label: match NAMES.get(place) {
                Some(name) => (*name).to_owned(),
                None => format!("Sentence {place} {}", "with more words ".repeat(place % 7)),
            },
            shape: if place < NAMES.len() { Shape::Entity } else { Shape::Memory },
            file: None,
            is_centre: place == 0,
        };
        let mut edges = Vec::new();
        for from in NAMES.len()..60 {
            for to in [from % 10, from * 7 % 10] {
                let label = (from % 5 == 0).then(|| "causes".to_owned());
                edges.push(DrawnEdge { from, to, label });
            }
        }
        Drawing { nodes: (0..60).map(node).collect(), edges }
    }

    #[test]
    fn at_sixty_nodes_no_label_lies_over_another_and_each_is_inside_its_box() {
        let svg = sixty().svg();
        let groups: Vec<&str> = svg.lines().filter(|line| line.starts_with("<g>")).collect();
        assert_eq!(groups.len(), 60);
        let mut boxes: Vec<Rectangle> = Vec::new();
        for group in groups {
            let (_, shape) = group.split_once("<rect").unwrap();
            let (width, height) = (numbers(shape, "width"), numbers(shape, "height"));
            let (left, top) = (numbers(shape, "x"), numbers(shape, "y"));
            let own = Rectangle { x: left + width / 2.0, y: top + height / 2.0, width, height };
            for text in shape.split("<text").skip(1) {
                let line = text.split_once('>').unwrap().1.split_once('<').unwrap().0;
                assert!(!line.is_empty() && super::width(line) <= width, "{line:?} {width}");
                let baseline = numbers(text, "y");
                assert!(baseline - 9.0 >= top && baseline + 3.0 <= top + height, "{group}");
            }
            for other in &boxes {
                assert!(!own.overlaps(other), "{group} {other:?}");
            }
            boxes.push(own);
        }
        // Words on edges stand free, too, and everything is on the sheet.
        let words = svg.lines().filter(|line| line.starts_with("<text"));
        let words: Vec<Rectangle> = words
            .map(|line| Rectangle {
                x: numbers(line, "x"),
                y: numbers(line, "y") - 4.0,
                width: 6.0 * EDGE_LABEL.0,
                height: EDGE_LABEL.1,
            })
            .collect();
        assert!(words.len() > 5, "{}", words.len());
        assert!(words.iter().all(|word| boxes.iter().all(|own| !word.overlaps(own))));
        let sheet: Vec<f64> = svg
            .split_once("viewBox=\"")
            .unwrap()
            .1
            .split('"')
            .next()
            .unwrap()
            .split(' ')
            .map(|n| n.parse().unwrap())
            .collect();
        for own in &boxes {
            assert!(own.x - own.width / 2.0 >= sheet[0] && own.x + own.width / 2.0 <= sheet[0] + sheet[2]);
            assert!(own.y - own.height / 2.0 >= sheet[1] && own.y + own.height / 2.0 <= sheet[1] + sheet[3]);
        }
    }

    #[test]
    fn labels_are_broken_between_words_and_cut_after_three_lines() {
        assert_eq!(lines("Ada prefers green tea"), ["Ada prefers green tea"]);
        assert_eq!(
            lines("Ada prefers green tea over every other tea"),
            ["Ada prefers green tea over every", "other tea"]
        );
        let long = lines(&"word ".repeat(100));
        assert!(long.len() == LINES && long[2].ends_with('…'), "{long:?}");
        let unbroken = lines(&"長".repeat(40));
        assert!(unbroken.len() == 3 && unbroken.concat().chars().count() == 40, "{unbroken:?}");
        assert_eq!(lines(""), [""]);
    }
}
