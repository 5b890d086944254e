//! What a person's note holds: sections, links, tags, tasks and block ids, read in one pass as Obsidian reads them.
//!
//! Comments and managed blocks are masked first, so that nothing in them counts and every place stays what it is.
//! [`Note::text`], by which memories are compared, is older and reads otherwise; it stays as it is.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::comment::{comments, masked};
use super::link::{Found, Link};
use super::reading::{BLOCK, Heading, Reading, links_in, without};
use super::{Note, Value, body, once_each};

/// A task: a list item that begins with a box, as `- [ ] buy tea`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The character in the box.
    pub mark: char,
    /// The words behind the box on its line: Markdown, without comments and block id.
    pub text: String,
    /// The block id at the end of the line, without its `^`.
    pub block: Option<String>,
    /// Number of the line in the note's file, from 1.
    pub line: usize,
    /// Bytes of the line in the note's file, without its line end.
    pub range: Range<usize>,
    /// Bytes of the character in the box.
    pub mark_range: Range<usize>,
}

impl Task {
    /// Whether the task is done: any character but a blank says so.
    pub fn is_done(&self) -> bool {
        !self.mark.is_whitespace()
    }
}

/// A place in a note that links can name: ` ^id` at the end of a paragraph or list item, or on a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The id without its `^`: letters, digits and dashes.
    pub id: String,
    /// Bytes of the id in the note's file, with the `^` and the blanks before it.
    pub range: Range<usize>,
}

/// A part of a note: from a heading to the next one of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Level of its heading, 1 to 6; 0 before the first heading.
    pub level: u8,
    /// The headings above it and its own, outermost first, as their readers see them.
    pub path: Vec<String>,
    /// Its bytes in the note's file, with its heading.
    pub range: Range<usize>,
    /// Its text without the heading: links into the vault as the words they show, without comments, managed blocks and
    /// block ids, line ends `\n`, without blanks around it. All else is Markdown as written.
    pub text: String,
}

/// What a note's body holds. All ranges are bytes of the note's file.
pub struct Content<'a> {
    note: &'a Note,
    headings: Vec<Heading>,
    /// Parts that sections leave out, in order, and what stands for them.
    edits: Vec<(Range<usize>, String)>,
    /// Links to files of the vault, in order: wikilinks and Markdown links; none in code, HTML blocks or comments.
    pub links: Vec<Found>,
    /// Tags without their `#`, each once, spelled as at its first place.
    pub tags: Vec<String>,
    /// Tasks, in order.
    pub tasks: Vec<Task>,
    /// Block ids, in order.
    pub blocks: Vec<Block>,
}

/// Boxes of list items: the character, and the words behind it.
static BOX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[(.)\](?:[ \t]+(.*))?$").expect("a valid pattern"));
impl<'a> Content<'a> {
    /// Reads the body of a note.
    pub(super) fn read(note: &'a Note) -> Self {
        let text = note.body();
        let places = Lines::of(text);
        let hidden = hidden(text);
        let masked = masked(text, &hidden, '%');
        let mut reading = Reading::new(&masked, &hidden);
        reading.run();

        let base = note.body.start;
        let moved = |range: &Range<usize>| range.start + base..range.end + base;
        let blocks: Vec<Block> = BLOCK
            .captures_iter(&masked)
            .filter_map(|found| {
                let (whole, id) = (found.get(0)?.range(), found.get(1)?);
                let range = whole.start..id.end();
                (!reading.is_opaque(&range)).then(|| Block { id: id.as_str().to_owned(), range: moved(&range) })
            })
            .collect();
        let lines_before = note.original().get(..base).unwrap_or_default().matches('\n').count();
        let tasks = reading
            .items
            .iter()
            .filter_map(|item| {
                let (number, line) = places.at(*item);
                let found = BOX.captures(masked.get(*item..line.end)?)?;
                let mark = found.get(1)?;
                let words = found.get(2).map_or(line.end..line.end, |words| words.start() + item..words.end() + item);
                let block = blocks.iter().skip(blocks.partition_point(|block| block.range.end <= base + line.start));
                let block = block.take(1).find(|block| block.range.end <= base + line.end);
                let words = words.start..block.map_or(words.end, |block| (block.range.start - base).max(words.start));
                Some(Task {
                    mark: mark.as_str().chars().next()?,
                    text: without(text, &words, &hidden).trim().to_owned(),
                    block: block.map(|block| block.id.clone()),
                    line: lines_before + number + 1,
                    range: moved(&line),
                    mark_range: moved(&(mark.start() + item..mark.end() + item)),
                })
            })
            .collect();
        let mut edits = std::mem::take(&mut reading.edits);
        edits.extend(hidden.iter().map(|range| (places.whole(text, range), String::new())));
        for (range, _) in &mut edits {
            *range = moved(range);
        }
        edits.extend(blocks.iter().map(|block| (block.range.clone(), String::new())));
        edits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let headings = reading.headings.into_iter().map(|heading| Heading { range: moved(&heading.range), ..heading });
        reading.links.sort_by_key(|found| found.range.start);
        let links = reading.links.into_iter().map(|found| Found { range: moved(&found.range), ..found });
        Content {
            note,
            headings: headings.collect(),
            edits,
            links: links.collect(),
            tags: once_each(reading.tags),
            tasks,
            blocks,
        }
    }

    /// Tags of the frontmatter and those in the body, without `#`, each once whatever its case.
    pub fn all_tags(&self) -> Vec<String> {
        once_each(self.note.tags().iter().chain(&self.tags).cloned())
    }

    /// Links as Obsidian counts them: those in the body, then those in texts of the frontmatter.
    pub fn all_links(&self) -> Vec<Link> {
        let mut links: Vec<Link> = self.links.iter().map(|found| found.link.clone()).collect();
        self.note.pairs.iter().for_each(|(_, value)| property_links(value, &mut links));
        links
    }

    /// The parts of the note, in order; what stands before the first heading only where it says something.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::with_capacity(self.headings.len() + 1);
        let body = &self.note.body;
        let end_of = |place: usize| self.headings.get(place).map_or(body.end, |heading| heading.range.start);
        let first = body.start..end_of(0);
        let text = self.shown(&first);
        if !text.is_empty() {
            sections.push(Section { level: 0, path: Vec::new(), range: first, text });
        }
        let mut above: Vec<&Heading> = Vec::new();
        for (place, heading) in self.headings.iter().enumerate() {
            above.retain(|other| other.level < heading.level);
            above.push(heading);
            let end = end_of(place + 1);
            sections.push(Section {
                level: heading.level,
                path: above.iter().map(|heading| heading.title.clone()).collect(),
                range: heading.range.start..end,
                text: self.shown(&(heading.range.end.min(end)..end)),
            });
        }
        sections
    }

    /// The text of a part of the file as a section shows it.
    fn shown(&self, part: &Range<usize>) -> String {
        let mut out = String::new();
        let mut at = part.start;
        for (range, instead) in self.edits.iter().skip(self.edits.partition_point(|(range, _)| range.start < at)) {
            if range.start >= part.end {
                break;
            }
            // One that lies within the one before has gone with it.
            if range.start >= at {
                out.push_str(self.note.original().get(at..range.start).unwrap_or_default());
                out.push_str(instead);
                at = range.end;
            }
        }
        out.push_str(self.note.original().get(at..part.end).unwrap_or_default());
        out.replace("\r\n", "\n").trim().to_owned()
    }
}

fn property_links(value: &Value, links: &mut Vec<Link>) {
    match value {
        Value::String(text) => links.extend(links_in(text)),
        Value::Sequence(items) => items.iter().for_each(|item| property_links(item, links)),
        Value::Mapping(pairs) => pairs.iter().for_each(|(_, value)| property_links(value, links)),
        _ => {}
    }
}

/// Comments and managed blocks, in order.
fn hidden(text: &str) -> Vec<Range<usize>> {
    if !text.contains("%%") {
        return Vec::new();
    }
    let blocks = body::block_ranges(text);
    let mut all = if blocks.is_empty() { comments(text) } else { comments(&masked(text, &blocks, ' ')) };
    all.extend(blocks);
    all.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    // A comment may hold whole blocks.
    all.dedup_by(|later, before| later.end <= before.end);
    all
}

/// Where the lines of a text begin.
struct Lines {
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let (mut starts, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            starts.push(at);
            at += line.len();
            ends.push(at - (line.len() - line.trim_end_matches(['\n', '\r']).len()));
        }
        Lines { starts, ends }
    }

    /// The line that a place lies in: its number, from 0, and its bytes without the line end.
    fn at(&self, place: usize) -> (usize, Range<usize>) {
        let number = self.starts.partition_point(|start| *start <= place).saturating_sub(1);
        let bounds = (self.starts.get(number), self.ends.get(number));
        (number, bounds.0.copied().unwrap_or_default()..bounds.1.copied().unwrap_or_default())
    }

    /// A range with the rest of its lines, line end included, where nothing else stands in these.
    fn whole(&self, text: &str, range: &Range<usize>) -> Range<usize> {
        let (_, first) = self.at(range.start);
        let (number, last) = self.at(range.end.saturating_sub(1).max(range.start));
        let is_blank = |part: Range<usize>| text.get(part).unwrap_or_default().trim().is_empty();
        // Looked at only as far as needed: one line may hold many ranges.
        let begins = first.start + 8 >= range.start && is_blank(first.start..range.start);
        if begins && is_blank(range.end..last.end.max(range.end)) {
            return first.start..self.starts.get(number + 1).copied().unwrap_or(text.len()).max(range.end);
        }
        range.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tasks_are_items_that_begin_with_a_box() {
        let body = "- [ ] plain\n* [x] done ^id-1\n1. [-] dropped\n> - [/] quoted\n- [ ] \n  - [é] inner `code` [[A|b]]\n\
                    - [] none\n- [  ] none\n- [x]none\n-[ ] none\n[ ] none\n%%\n- [x] hidden\n%%\n- [x] a %%b%% c\n\n\
                    ```\n- [x] code\n```\n- [\u{a0}] blank\r\n- [ ]\n";
        let text = format!("---\nkey: 1\n---\n{body}");
        let tasks = Note::parse(&text).tasks();
        let found: Vec<(usize, char, &str)> =
            tasks.iter().map(|task| (task.line, task.mark, task.text.as_str())).collect();
        assert_eq!(
            found,
            [
                (4, ' ', "plain"),
                (5, 'x', "done"),
                (6, '-', "dropped"),
                (7, '/', "quoted"),
                (8, ' ', ""),
                (9, 'é', "inner `code` [[A|b]]"),
                (18, 'x', "a  c"),
                (23, '\u{a0}', "blank"),
                (24, ' ', ""),
            ]
        );
        let lines: Vec<&str> = text.lines().collect();
        for task in &tasks {
            assert_eq!(&text[task.range.clone()], lines[task.line - 1]);
            assert_eq!(text[task.mark_range.clone()], task.mark.to_string());
        }
        assert_eq!(tasks[1].block.as_deref(), Some("id-1"));
        assert_eq!(tasks.iter().filter(|task| task.is_done()).count(), 5);
        let mut ticked = text.clone();
        ticked.replace_range(tasks[0].mark_range.clone(), "x");
        assert!(ticked.contains("- [x] plain\n") && ticked.len() == text.len());
    }

    #[test]
    fn sections_show_what_readers_see() {
        let text = "---\na: 1\n---\nBefore [[Ada|Ms L]] %%no%%.\n\n# One [[Ada#Life|two]] **three** `four` ^top\nIn \
                    [the plan](Folder/My%20Plan.md#Next) and [web](https://x.org) ![[p.png]].\n%%\n# Hidden\n%%\nEnd. ^b1\n\
                    ### Deep %%x%% #tag\n> # quoted\n\n- # item\n\n```\n# code\n```\n#none\n## Second\nSetext\n===\nlast\n";
        let sections = Note::parse(text).sections();
        let found: Vec<(u8, String, &str)> =
            sections.iter().map(|section| (section.level, section.path.join(" > "), section.text.as_str())).collect();
        assert_eq!(
            found,
            [
                (0, String::new(), "Before Ms L ."),
                (1, "One two three four".to_owned(), "In the plan and [web](https://x.org) ![[p.png]].\nEnd."),
                (3, "One two three four > Deep #tag".to_owned(), "> # quoted\n\n- # item\n\n```\n# code\n```\n#none"),
                (2, "One two three four > Second".to_owned(), ""),
                (1, "Setext".to_owned(), "last"),
            ]
        );
        assert_eq!(sections[0].range.start, "---\na: 1\n---\n".len());
        assert!(sections.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        assert_eq!(sections[4].range.end, text.len());
        assert!(text[sections[2].range.clone()].starts_with("### Deep"));
        assert!(Note::parse("\n%% only a comment %%\n").sections().is_empty());
        let managed = "a\r\n\r\n%% ebbmark:related %%\r\n## Related\r\n- #no [[x]]\r\n- [x] no\r\n%% /ebbmark:related \
                       %%\r\nb #yes\r\n";
        let note = Note::parse(managed);
        assert_eq!(note.sections()[0].text, "a\n\nb #yes");
        assert_eq!((note.content().tags, note.tasks().len(), note.all_links().len()), (vec!["yes".to_owned()], 0, 0));
    }

    #[test]
    fn block_ids_end_lines() {
        let text = "a ^one\n\n- b ^two-2\n\n> c\n\n^three\n\nx^no y ^no z\n`d ^no`\n```\ne ^no\n```\n%%\nf ^no\n%%\ng ^n_o\nh ^4\r\n";
        let blocks = Note::parse(text).content().blocks;
        let ids: Vec<&str> = blocks.iter().map(|block| block.id.as_str()).collect();
        assert_eq!(ids, ["one", "two-2", "three", "4"]);
        assert_eq!(&text[blocks[0].range.clone()], " ^one");
    }

    #[test]
    fn links_of_both_forms_count_and_so_do_those_of_properties() {
        let text = "---\nup: \"[[Up|above]]\"\nmany:\n  - '[[B]] and [c](C%20c.md)'\n  - [[Not]]\nnested:\n  in: \"[[D]]\"\n---\n\
                    [[E]] `[[no]]` %%[[no]]%% [f](F.md#H) [w](https://x.org) ![[g.png]] ![h](h%20h.png) <https://x.org>\n\
                    [![i](i.png)](J.md) [k][ref] [[l]]\n\n| a |\n|-|\n| [[M\\|m]] |\n\n[ref]: K.md\n";
        let links: Vec<String> = Note::parse(text).all_links().iter().map(Link::to_string).collect();
        assert_eq!(
            links,
            [
                "[[E]]",
                "[[F#H|f]]",
                "![[g.png]]",
                "![[h h.png|h]]",
                "[[J|![i](i.png)]]",
                "![[i.png|i]]",
                "[[K|k]]",
                "[[l]]",
                "[[M|m]]",
                "[[Up|above]]",
                "[[B]]",
                "[[C c|c]]",
                "[[D]]",
            ]
        );
    }

    #[test]
    fn hostile_notes_cost_no_more_than_their_length() {
        let parts = [
            "[[",
            "[",
            "]",
            "]]",
            "![[",
            "[[a|",
            "[[a]]",
            "[a](",
            "[a](b)",
            "![a](",
            "(",
            "<",
            "<a ",
            "<!--",
            "`",
            "``a`",
            "*a ",
            "**a",
            "_a_",
            "~~",
            "$",
            "$$",
            "$a$",
            "%%",
            "%% a",
            "#",
            "#a",
            "# a\n",
            "a\n=\n",
            "- ",
            "- [x] a\n",
            "> ",
            ">\n",
            "1. ",
            "|",
            "|a\n|-\n",
            "\\",
            "&",
            "&amp;",
            " ^a",
            " ^a\n",
            "^",
            "[^a]: ",
            "[a]: b\n",
            "a\n\n",
            "\t",
            "é",
            "```\n",
            "~~~\n",
            "```\n\n",
            "<div>\n",
            "- a\n\n",
            "  - b\n",
            "[x] ",
            "![",
            "a `[[b]] %%\n",
        ];
        for part in parts {
            let text = part.repeat(100_000 / part.len());
            let note = Note::parse(&text);
            let content = note.content();
            content.sections();
            note.text();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read(text in r"(\PC|[\n\r\t\[\]%:`#^|!()<>*_$~=> -]|%%|\[\[|\]\]|- \[|\n#|```|\r\n){0,120}") {
            let note = Note::parse(&text);
            let content = note.content();
            let whole = |range: &Range<usize>| text.get(range.clone()).is_some();
            prop_assert!(content.links.iter().all(|found| whole(&found.range)));
            prop_assert!(content.blocks.iter().all(|block| whole(&block.range)));
            for task in &content.tasks {
                prop_assert_eq!(text[task.mark_range.clone()].to_owned(), task.mark.to_string());
                prop_assert!(!text[task.range.clone()].contains('\n'));
                prop_assert_eq!(text[..task.range.start].matches('\n').count() + 1, task.line);
            }
            let sections = content.sections();
            prop_assert!(sections.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
            for section in sections {
                prop_assert!(whole(&section.range));
                prop_assert!(section.path.len() <= usize::from(section.level));
            }
        }
    }
}
