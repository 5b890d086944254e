//! The pass over a body: what Markdown takes for headings, links, list items and text, and the tags in it.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::link::{Found, Link};

/// A heading of a note.
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// As its readers see it, blanks evened out.
    pub(super) title: String,
    /// Its bytes in the body.
    pub(super) range: Range<usize>,
}

/// A block id at the end of a line.
pub(super) static BLOCK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)(?:^|[ \t]+)\^([A-Za-z0-9-]+)[ \t]*\r?$").expect("a valid pattern"));

/// Links to files of the vault in the value of a property.
pub(super) fn links_in(text: &str) -> Vec<Link> {
    if !text.contains('[') {
        return Vec::new();
    }
    let mut reading = Reading::new(text, &[]);
    reading.run();
    reading.links.into_iter().map(|found| found.link).collect()
}

/// A part of a text without the hidden ranges.
pub(super) fn without(text: &str, part: &Range<usize>, hidden: &[Range<usize>]) -> String {
    let (mut out, mut at) = (String::new(), part.start);
    for range in hidden.iter().skip(hidden.partition_point(|range| range.end <= part.start)) {
        if range.start >= part.end {
            break;
        }
        out.push_str(text.get(at..range.start).unwrap_or_default());
        at = range.end;
    }
    out.push_str(text.get(at..part.end).unwrap_or_default());
    out
}

/// Whether a character may be part of a tag.
fn is_of_a_tag(character: char) -> bool {
    match character {
        '_' | '-' | '/' | '\u{200D}' => true,
        ascii if ascii.is_ascii() => ascii.is_ascii_alphanumeric(),
        '\u{2000}'..='\u{206F}' | '\u{2E00}'..='\u{2E7F}' => false,
        other => !other.is_whitespace() && !other.is_control(),
    }
}

/// The tags in a text. One begins behind a blank or another tag, or with the text where nothing stands `before` it.
fn tags_in(text: &str, mut before: Option<char>, tags: &mut Vec<String>) {
    let mut rest = text;
    while let Some(place) = rest.find('#') {
        before = rest.get(..place).and_then(|skipped| skipped.chars().next_back()).or(before);
        let behind = rest.get(place + 1..).unwrap_or_default();
        let (written, further) = behind.split_at(behind.find(|c| !is_of_a_tag(c)).unwrap_or(behind.len()));
        let tag = written.trim_end_matches('/');
        let is_tag = before.is_none_or(char::is_whitespace) && tag.contains(|c: char| !c.is_ascii_digit());
        if is_tag {
            tags.push(tag.to_owned());
        }
        before = (!is_tag).then_some('#');
        rest = further;
    }
}

/// A link whose shown text is being read.
struct Open {
    range: Range<usize>,
    address: String,
    embed: bool,
    /// Whether nothing more is to be learned: of a wikilink, and of an address in angle brackets.
    is_done: bool,
    /// Whether its text has no tags.
    is_closed: bool,
}

/// The pass over a body, and what it found. All ranges are bytes of the body.
pub(super) struct Reading<'a> {
    masked: &'a str,
    hidden: &'a [Range<usize>],
    /// Quotes, lists and footnotes that are open: headings in them are none of the note.
    containers: usize,
    /// Blocks of code and HTML, embeds and wikilinks that are open: their text has no tags.
    closed: usize,
    /// The heading that is being read.
    heading: Option<Heading>,
    /// Links and embeds that are open.
    open: Vec<Open>,
    /// Text that is not yet searched for tags, and whether something begins with it.
    text: Option<(Range<usize>, bool)>,
    /// Whether something begins here: a paragraph, a cell, emphasis, a line.
    fresh: bool,
    /// End of what was read last.
    read_to: usize,
    /// Code, mathematics and HTML, in order.
    opaque: Vec<Range<usize>>,
    /// Where list items begin.
    pub(super) items: Vec<usize>,
    /// Headings outside quotes and lists, in order.
    pub(super) headings: Vec<Heading>,
    /// What stands for links into the vault, where they are shown.
    pub(super) edits: Vec<(Range<usize>, String)>,
    /// Links into the vault, in no order.
    pub(super) links: Vec<Found>,
    /// Tags, in order, also again.
    pub(super) tags: Vec<String>,
}

impl<'a> Reading<'a> {
    /// Of a text whose hidden ranges are masked with `%`.
    pub(super) fn new(masked: &'a str, hidden: &'a [Range<usize>]) -> Self {
        Reading {
            masked,
            hidden,
            containers: 0,
            closed: 0,
            heading: None,
            open: Vec::new(),
            text: None,
            fresh: true,
            read_to: 0,
            opaque: Vec::new(),
            items: Vec::new(),
            headings: Vec::new(),
            edits: Vec::new(),
            links: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// Reads it.
    pub(super) fn run(&mut self) {
        let options = Options::ENABLE_WIKILINKS
            | Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_MATH;
        for (event, range) in Parser::new_ext(self.masked, options).into_offset_iter() {
            self.event(event, range);
        }
        self.search_text();
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        if let Event::Text(shown) = &event {
            if self.closed == 0 {
                self.add_to_heading(shown, &range);
                match &mut self.text {
                    Some((text, _)) if text.end == range.start => text.end = range.end,
                    _ => {
                        self.search_text();
                        self.text = Some((range.clone(), self.fresh));
                    }
                }
                self.fresh = false;
            }
            self.read_to = range.end;
            return;
        }
        self.search_text();
        let read_before = self.read_to;
        self.fresh = matches!(event, Event::Start(_) | Event::SoftBreak | Event::HardBreak);
        self.read_to = range.end;
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, read_before),
            Event::Code(shown) => {
                if self.closed == 0 {
                    self.add_to_heading(&shown, &range);
                }
                self.opaque.push(range);
            }
            Event::SoftBreak | Event::HardBreak => self.add_to_heading(" ", &range),
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::Html(_) | Event::InlineHtml(_) => {
                self.opaque.push(range);
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        self.read_to = range.start;
        match tag {
            Tag::Heading { level, .. } if self.containers == 0 => {
                self.heading = Some(Heading { level: level as u8, title: String::new(), range });
            }
            Tag::BlockQuote(_) | Tag::List(_) | Tag::FootnoteDefinition(_) => self.containers += 1,
            Tag::Item => {
                // One that is indented by a tab begins, to the parser, with the line end before it.
                let written = self.masked.get(range.clone()).unwrap_or_default();
                self.items.push(range.start + written.len() - written.trim_start().len());
            }
            Tag::CodeBlock(_) => {
                self.closed += 1;
                self.opaque.push(range);
            }
            Tag::HtmlBlock => self.closed += 1,
            Tag::Link { link_type, dest_url, .. } => self.start_link(link_type, &dest_url, range, false),
            Tag::Image { link_type, dest_url, .. } => self.start_link(link_type, &dest_url, range, true),
            _ => {}
        }
    }

    fn start_link(&mut self, kind: LinkType, address: &str, range: Range<usize>, embed: bool) {
        let is_wikilink = matches!(kind, LinkType::WikiLink { .. });
        let is_closed = is_wikilink || embed;
        if is_wikilink && let Some(link) = self.masked.get(range.clone()).and_then(Link::parse) {
            if self.closed == 0 {
                self.add_to_heading(&link.display(), &(range.start..range.start));
            }
            if !link.embed {
                self.edits.push((range.clone(), link.display()));
            }
            self.links.push(Found { range: range.clone(), link });
        }
        self.closed += usize::from(is_closed);
        self.read_to = range.start + if embed { 2 } else { 1 };
        let is_done = is_wikilink || matches!(kind, LinkType::Autolink | LinkType::Email);
        let address = if is_done { String::new() } else { address.to_owned() };
        self.open.push(Open { range, address, embed, is_done, is_closed });
    }

    fn end(&mut self, tag: TagEnd, read_before: usize) {
        match tag {
            TagEnd::Heading(_) if self.containers == 0 => self.headings.extend(self.heading.take().map(|heading| {
                let title = BLOCK.replace(&heading.title, "").split_whitespace().collect::<Vec<_>>().join(" ");
                Heading { title, ..heading }
            })),
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition => {
                self.containers = self.containers.saturating_sub(1);
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.closed = self.closed.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.end_link(read_before),
            _ => {}
        }
    }

    fn end_link(&mut self, shown_to: usize) {
        let Some(Open { range, address, embed, is_done, is_closed }) = self.open.pop() else { return };
        self.closed -= usize::from(is_closed);
        let start = range.start + if embed { 2 } else { 1 };
        let shown = start..shown_to.max(start);
        let said = self.masked.get(shown.clone()).unwrap_or_default();
        let Some(link) = Link::of_address(&address, said, embed).filter(|_| !is_done) else { return };
        if !embed {
            self.edits.push((range.start..shown.start, String::new()));
            self.edits.push((shown.end..range.end, String::new()));
        }
        self.links.push(Found { range, link });
    }

    fn add_to_heading(&mut self, shown: &str, range: &Range<usize>) {
        let Some(heading) = &mut self.heading else { return };
        let next = self.hidden.get(self.hidden.partition_point(|hidden| hidden.end <= range.start));
        if next.is_some_and(|hidden| hidden.start < range.end) {
            heading.title.push_str(&without(self.masked, range, self.hidden));
        } else {
            heading.title.push_str(shown);
        }
    }

    fn search_text(&mut self) {
        let Some((range, is_fresh)) = self.text.take() else { return };
        let before = self.masked.get(..range.start).and_then(|before| before.chars().next_back());
        let before = before.filter(|before| !is_fresh || *before == '\\');
        tags_in(self.masked.get(range).unwrap_or_default(), before, &mut self.tags);
    }

    /// Whether a range lies in code, mathematics or HTML.
    pub(super) fn is_opaque(&self, range: &Range<usize>) -> bool {
        let next = self.opaque.get(self.opaque.partition_point(|opaque| opaque.end <= range.start));
        next.is_some_and(|opaque| opaque.start < range.end)
    }
}

#[cfg(test)]
mod tests {
    use crate::note::Note;

    fn tags(body: &str) -> Vec<String> {
        Note::parse(body).content().tags
    }

    #[test]
    fn tags_stand_behind_blanks_and_outside_code() {
        for (body, expected) in [
            ("#a and #b/c-d_e, #2026x; #A", vec!["a", "b/c-d_e", "2026x"]),
            ("#1984 # heading\n# h #y1984", vec!["y1984"]),
            ("#東京 #café #✅done #👩‍🚀 #①", vec!["東京", "café", "✅done", "👩‍🚀", "①"]),
            ("(#a) $#b$ \"#c\" .#d x—#e a#f &#g", vec![]),
            ("\t#a", vec![]),
            ("x\t#a [y #b] \u{a0}#c \u{3000}#d", vec!["a", "b", "c", "d"]),
            ("#a#b ##c #d/#e #/ #", vec!["a", "b", "d", "e"]),
            ("`#a` ``#b ` #c`` \\#d #e", vec!["e"]),
            ("```\n#a\n```\n\n    #b\n\n~~~ #c\n#d\n~~~\n#e", vec!["e"]),
            ("```md\n```ts\n#a\n```\n#b", vec!["b"]),
            ("%%#a%% #b %%\n#c\n%%\n#d", vec!["b", "d"]),
            ("<div>\n#a\n</div>\n\n<!-- #b\n\n#c -->\n\nx <!-- #d --> #e", vec!["e"]),
            ("m $a #b c$ n\n\n$$\n#d\n$$\n\nit costs $5 #e or $6 #f", vec!["e", "f"]),
            ("https://x.org/#a [t #b](https://x.org/#c) <https://x.org/ #d>", vec!["b", "d"]),
            ("[[Note#a]] [[Note|#b]] ![#c](x.png) [[ #d ]]", vec![]),
            ("*#a* x _#b_ **y #c**", vec!["a", "b", "c"]),
            ("| a | b |\n|-|-|\n|#c|d #e|", vec!["c", "e"]),
            ("> #a\n>#b\n> - #c\n\n1. #d", vec!["a", "b", "c", "d"]),
            ("#a\r\n#b\r\n", vec!["a", "b"]),
            ("[x]: https://x.org \"#a\"", vec![]),
        ] {
            assert_eq!(tags(body), expected, "{body:?}");
        }
    }
}
