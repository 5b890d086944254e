//! The body of a note: managed blocks, and how a memory's text is written so that it reads back unchanged.
//!
//! A memory's text may hold anything; in a note `[[…]]` would become a link and `%%` a comment. So outside code
//! every bracket of a `[[` and every sign of a `%%` gets a backslash, which Markdown readers, Obsidian among them,
//! do not show; backslashes already before them are doubled. Inside code nothing is changed, as nothing there is a
//! link or a comment, except that a line that looks like a marker of ours gets a backslash.
//!
//! Why it reads back: what is code is decided by backticks, tildes and line beginnings alone ([`code`]), and no
//! escape touches any of these, so that the same parts are code before and after; what is escaped is always a
//! whole run of brackets or signs, each with an odd number of backslashes, and halving them is the way back.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{link, name};

/// A run of at least two `[` or two `%`, with the backslashes before each.
static RUN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:\\*\[){2,}|(?:\\*%){2,}").expect("a valid pattern"));
/// One `[` or `%` of a run.
static SIGN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\\*)([\[%])").expect("a valid pattern"));
/// A line that marks the beginning or the end of a managed block, or would without the backslashes before it.
static MARKER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(\\*)(%% (/?)ebbmark:([a-z0-9]+(?:-[a-z0-9]+)*) %%[ \t]*)$").expect("a valid pattern")
});

/// The parts of a Markdown text that are code: fenced blocks with their fences, and spans in backticks.
/// Indented blocks are not, because a text that merely is indented must not lose its links.
pub(super) fn code(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut fence: Option<(Fence, usize)> = None;
    let (mut at, mut paragraph) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (fence_of(line), &fence) {
            (Some(close), Some((open, start))) if close.closes(open) => {
                ranges.push(*start..end);
                fence = None;
                paragraph = end;
            }
            (Some(open), None) => {
                spans(text, paragraph..at, &mut ranges);
                fence = Some((open, at));
            }
            (None, None) if line.trim().is_empty() => {
                spans(text, paragraph..at, &mut ranges);
                paragraph = end;
            }
            (_, Some(_)) | (None, None) => {}
        }
        at = end;
    }
    match fence {
        Some((_, start)) => ranges.push(start..text.len()),
        None => spans(text, paragraph..text.len(), &mut ranges),
    }
    ranges
}

/// A line that begins or ends a fenced block.
pub(super) struct Fence {
    sign: char,
    length: usize,
    bare: bool,
}

impl Fence {
    /// Whether this fence ends the block that the other one began.
    pub(super) fn closes(&self, open: &Fence) -> bool {
        self.sign == open.sign && self.length >= open.length && self.bare
    }
}

/// The fence that a line opens or closes, also inside quotes and list items.
pub(super) fn fence_of(line: &str) -> Option<Fence> {
    let mut rest = line;
    loop {
        let inner = rest.trim_start_matches([' ', '\t', '>']);
        let digits = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = match inner.len() - digits.len() {
            0 => inner.strip_prefix(['-', '*', '+']),
            1..=9 => digits.strip_prefix(['.', ')']),
            _ => None,
        };
        match item {
            Some(item) if item.starts_with([' ', '\t']) => rest = item,
            _ => {
                rest = inner;
                break;
            }
        }
    }
    let sign = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = rest.trim_start_matches(sign);
    let length = rest.len() - info.len();
    (length >= 3 && !(sign == '`' && info.contains('`'))).then(|| Fence { sign, length, bare: info.trim().is_empty() })
}

/// Code spans of a paragraph: a run of backticks up to the next run of the same length. A backslash before an
/// opening backtick makes it an ordinary character.
fn spans(text: &str, paragraph: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let Some(inner) = text.get(paragraph.clone()) else { return };
    let mut runs: Vec<(usize, usize, bool)> = Vec::new();
    let (mut backslashes, mut last) = (0usize, None);
    for (at, byte) in inner.bytes().enumerate() {
        if byte == b'`' {
            match runs.last_mut() {
                Some(run) if last == Some(b'`') => run.1 += 1,
                _ => runs.push((at, 1, backslashes % 2 == 1)),
            }
        }
        backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
        last = Some(byte);
    }
    let last_of: HashMap<usize, usize> = runs.iter().enumerate().map(|(place, run)| (run.1, place)).collect();
    let mut place = 0;
    while let Some((start, length, escaped)) = runs.get(place).copied() {
        let (start, length) = if escaped { (start + 1, length - 1) } else { (start, length) };
        // Where no later run has this length, looking for one is spared: the whole stays linear.
        let closing = last_of.get(&length).filter(|last| length > 0 && **last > place).and_then(|_| {
            let later = runs.get(place + 1..)?;
            later.iter().position(|run| run.1 == length).map(|offset| place + 1 + offset)
        });
        match closing.and_then(|closing| Some((closing, runs.get(closing)?))) {
            Some((closing, run)) => {
                ranges.push(paragraph.start + start..paragraph.start + run.0 + run.1);
                place = closing + 1;
            }
            None => place += 1,
        }
    }
}

/// Escapes (or with `back`, the other way) every run in the parts of `text` that are not in `kept`; a kept part is
/// copied, or replaced by its own text where it has one.
fn translate(text: &str, mut kept: Vec<(Range<usize>, Option<String>)>, back: bool) -> String {
    let sign = |sign: &Captures<'_>| match (sign.get(1).map_or("", |m| m.as_str()), &sign[2]) {
        (backslashes, sign) if back => {
            format!("{}{sign}", backslashes.get(..backslashes.len() / 2).unwrap_or_default())
        }
        (backslashes, sign) => format!("{backslashes}{backslashes}\\{sign}"),
    };
    let run = |run: &Captures<'_>| SIGN.replace_all(&run[0], sign).into_owned();
    kept.sort_by_key(|(range, _)| range.start);
    kept.push((text.len()..text.len(), None));
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, instead) in kept {
        out.push_str(&RUN.replace_all(text.get(at..range.start).unwrap_or_default(), run));
        out.push_str(instead.as_deref().unwrap_or_else(|| text.get(range.clone()).unwrap_or_default()));
        at = range.end;
    }
    out
}

/// Writes a memory's text as the body of a note, the first mention of each entity as a link.
pub(super) fn write(text: &str, entities: &[String]) -> String {
    let written = |mentions: Vec<(Range<usize>, link::Link)>| {
        let code = code(text).into_iter().map(|range| (range, None));
        let links = mentions.into_iter().map(|(range, link)| (range, Some(link.to_string())));
        let escaped = translate(text, code.chain(links).collect(), false);
        MARKER.replace_all(&escaped, r"\$1$2").into_owned()
    };
    let mentions = link::mentions(text, entities);
    if !mentions.is_empty() {
        let linked = written(mentions);
        if read(&linked) == text {
            return linked;
        }
    }
    written(Vec::new())
}

/// The memory's text in the body of a note: without managed blocks, wikilinks as their display text, escapes
/// undone, line ends `\n`, trimmed.
pub(super) fn read(body: &str) -> String {
    let body = outside_blocks(body).0;
    let body = MARKER.replace_all(&body, |marker: &Captures<'_>| {
        let backslashes = &marker[1];
        format!("{}{}", backslashes.get(1..).unwrap_or_default(), &marker[2])
    });
    let code = code(&body).into_iter().map(|range| (range, None));
    let links = link::find(&body).into_iter().map(|found| {
        let embed = found.link.embed;
        (found.range, (!embed).then(|| found.link.display()))
    });
    translate(&body, code.chain(links).collect(), true).trim().to_owned()
}

/// A body with another text, in which the lines that say what they said keep their bytes: the links, embeds and comments
/// that a person wrote into them, and what stands around. `None` where lines cannot be told apart so.
pub(super) fn revised(body: &str, text: &str, entities: &[String]) -> Option<String> {
    let blocks = block_ranges(body);
    let line_end = if body.contains("\r\n") { "\r\n" } else { "\n" };
    let (mut lines, mut at) = (Vec::new(), 0);
    for line in body.split_inclusive('\n') {
        if !blocks.iter().any(|block| block.contains(&at)) {
            lines.push(at..at + line.len());
        }
        at += line.len();
    }
    let says = |line: &Range<usize>| body.get(line.clone()).is_some_and(|line| !line.trim().is_empty());
    let lines = lines.get(lines.iter().position(says)?..=lines.iter().rposition(says)?)?;
    let old = read(body);
    let (before, after): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), text.split('\n').collect());
    if before.len() != lines.len() {
        return None;
    }
    let first = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let others = before.len().min(after.len()) - first;
    let last = before.iter().rev().zip(after.iter().rev()).take(others).take_while(|(old, new)| old == new).count();
    let start = lines.get(first).map_or(lines.last()?.end, |line| line.start);
    let end = lines.get(first..before.len() - last)?.last().map_or(start, |line| line.end);
    if blocks.iter().any(|block| block.start < end && start < block.end) {
        return None;
    }
    let (head, tail) = (body.get(..start)?, body.get(end..)?);
    let mut out = head.to_owned();
    let new = after.get(first..after.len() - last)?;
    if !new.is_empty() {
        let linked: Vec<_> = [head, tail].iter().flat_map(|kept| link::find(kept)).map(|found| found.link).collect();
        let is_new = |entity: &&String| !linked.iter().any(|link| name::key(&link.entity()) == name::key(entity));
        let entities: Vec<String> = entities.iter().filter(is_new).cloned().collect();
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(line_end);
        }
        out.push_str(&write(&new.join("\n"), &entities).replace('\n', line_end));
        if !tail.is_empty() || body.ends_with('\n') {
            out.push_str(line_end);
        }
    }
    out.push_str(tail);
    (read(&out) == text && parts(&out).blocks == parts(body).blocks).then_some(out)
}

/// The body without its managed blocks and with line ends `\n`, and the names of blocks that have no end. These
/// are left in, as nobody knows where they should end.
pub(super) fn outside_blocks(body: &str) -> (String, Vec<String>) {
    let parts = parts(body);
    (parts.outside, parts.endless)
}

/// Where the managed blocks lie in a body as it is written, with their last line ends.
pub(super) fn block_ranges(body: &str) -> Vec<Range<usize>> {
    let ranges = parts(body).ranges;
    // The parts are told of a body without carriage returns before line ends.
    let mut returns = body.match_indices("\r\n").map(|(at, _)| at).peekable();
    let mut before = 0;
    let mut place = |at: usize| {
        while returns.next_if(|next| *next < at + before).is_some() {
            before += 1;
        }
        at + before
    };
    ranges.into_iter().map(|range| place(range.start)..place(range.end)).collect()
}

/// The body with the managed block `name` holding `content`, or without it; every other byte is as before.
pub(super) fn with_block(body: &str, name: &str, content: Option<&str>) -> String {
    let begin = format!("%% ebbmark:{name} %%");
    let is_it = |range: &Range<usize>| {
        body.get(range.clone()).and_then(|block| block.lines().next()).is_some_and(|line| line.trim_end() == begin)
    };
    let known = block_ranges(body).into_iter().find(is_it);
    let line_end = if body.contains("\r\n") { "\r\n" } else { "\n" };
    let block = content.map(|content| {
        let lines = format!("{begin}\n{content}\n%% /ebbmark:{name} %%");
        if line_end == "\n" { lines } else { lines.replace('\n', line_end) }
    });
    let (before, after) = match &known {
        Some(range) => (body.get(..range.start).unwrap_or_default(), body.get(range.end..).unwrap_or_default()),
        None => (body, ""),
    };
    match (block, known) {
        (None, None) => body.to_owned(),
        // The blank line before it came with it, unless a person has written on below.
        (None, Some(_)) if after.trim().is_empty() => {
            let blank = format!("{line_end}{line_end}");
            let before = before.strip_suffix(&blank).map_or(before, |text| &before[..text.len() + line_end.len()]);
            format!("{before}{after}")
        }
        (None, Some(_)) => format!("{before}{after}"),
        (Some(block), Some(range)) => {
            let has_line_end = body.get(range).is_some_and(|old| old.ends_with('\n'));
            format!("{before}{block}{}{after}", if has_line_end { line_end } else { "" })
        }
        (Some(block), None) => {
            let gap = match () {
                () if before.is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n") => "",
                () if before.ends_with('\n') => line_end,
                () => &line_end.repeat(2),
            };
            format!("{before}{gap}{block}{line_end}")
        }
    }
}

/// A body, taken apart; line ends are `\n`.
pub(super) struct Parts {
    /// Everything outside managed blocks.
    pub(super) outside: String,
    /// The managed blocks with their markers, in order.
    pub(super) blocks: Vec<String>,
    /// Where they lie in the body whose line ends are `\n`, with their last line ends.
    ranges: Vec<Range<usize>>,
    /// Names of blocks that have no end.
    pub(super) endless: Vec<String>,
}

/// Takes a body apart.
pub(super) fn parts(body: &str) -> Parts {
    let body = body.replace("\r\n", "\n");
    let ends: HashMap<String, usize> = MARKER
        .captures_iter(&body)
        .filter(|marker| marker[1].is_empty() && !marker[3].is_empty())
        .filter_map(|marker| Some((marker[4].to_owned(), marker.get(0)?.start())))
        .collect();
    let (mut out, mut blocks, mut endless) = (String::with_capacity(body.len()), Vec::new(), Vec::new());
    let mut ranges = Vec::new();
    let (mut at, mut begin, mut open) = (0, 0, None);
    for marker in MARKER.captures_iter(&body).filter(|marker| marker[1].is_empty()) {
        let (line, name, closes) =
            (marker.get(0).map(|m| m.range()).unwrap_or_default(), &marker[4], !marker[3].is_empty());
        match &open {
            Some(opened) if closes && opened == name => {
                at = (line.end + 1).min(body.len());
                blocks.push(body.get(begin..line.end).unwrap_or_default().to_owned());
                ranges.push(begin..at);
                open = None;
            }
            None if !closes && ends.get(name).is_some_and(|end| *end > line.start) => {
                out.push_str(body.get(at..line.start).unwrap_or_default());
                begin = line.start;
                open = Some(name.to_owned());
            }
            None if !closes => endless.push(name.to_owned()),
            _ => {}
        }
    }
    out.push_str(body.get(at..).unwrap_or_default());
    Parts { outside: out, blocks, ranges, endless }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(text: &str) -> String {
        let written = write(text, &[]);
        assert_eq!(read(&format!("{written}\n")), text, "as {written:?}");
        assert!(link::find(&written).is_empty(), "a link in {written:?}");
        written
    }

    #[test]
    fn what_would_mean_something_is_escaped_readably() {
        for (text, written) in [
            ("plain text", "plain text"),
            ("a [link](x) and a[0]", "a [link](x) and a[0]"),
            ("see [[Note]]", "see \\[\\[Note]]"),
            ("![[secret]]", "!\\[\\[secret]]"),
            ("[[[x]]]", "\\[\\[\\[x]]]"),
            ("50% of 100%% is", "50% of 100\\%\\% is"),
            ("regex \\[\\[x", "regex \\\\\\[\\\\\\[x"),
            ("one \\[ and \\%", "one \\[ and \\%"),
            ("`[[ -f x ]]` and `%%time`", "`[[ -f x ]]` and `%%time`"),
            ("```sh\n[[ -f x ]] # %%\n```", "```sh\n[[ -f x ]] # %%\n```"),
            ("- ```\n  [[x]]\n  ```\n- [[y]]", "- ```\n  [[x]]\n  ```\n- \\[\\[y]]"),
            ("%% ebbmark:related %%", "\\%\\% ebbmark:related \\%\\%"),
            ("```\n%% ebbmark:a %%\nb\n%% /ebbmark:a %%\n```", "```\n\\%% ebbmark:a %%\nb\n\\%% /ebbmark:a %%\n```"),
            ("```\n\\%% ebbmark:a %%\n```", "```\n\\\\%% ebbmark:a %%\n```"),
            ("a\\`[[b`", "a\\`\\[\\[b`"),
            ("``a`[[b``", "``a`[[b``"),
            ("`a\n\n[[b`", "`a\n\n\\[\\[b`"),
        ] {
            assert_eq!(round_trip(text), written);
        }
    }

    #[test]
    fn a_persons_body_reads_as_its_reader_sees_it() {
        for (body, text) in [
            ("\nLikes [[Ada|Ms Lovelace]] and [[Go#Types]].\n\n", "Likes Ms Lovelace and Go > Types."),
            ("![[picture.png|100]] and `[[code]]`", "![[picture.png|100]] and `[[code]]`"),
            ("one\r\ntwo\r\n", "one\ntwo"),
            ("| a |\n|---|\n| [[T\\|al]] |", "| a |\n|---|\n| al |"),
            ("keep \\* and \\[x\\]", "keep \\* and \\[x\\]"),
            ("a\n%% ebbmark:related %%\n## Related\n- [[x]]\n%% /ebbmark:related %%\nb", "a\nb"),
            ("a\r\n%% ebbmark:x %%  \r\n[[y]]\r\n%% /ebbmark:x %%", "a"),
            ("a\n%% ebbmark:x %%\n%% ebbmark:y %%\n%% /ebbmark:x %%\nb", "a\nb"),
            ("a\n%% ebbmark:x %%\nb", "a\n%% ebbmark:x %%\nb"),
            ("%% /ebbmark:x %%\na", "%% /ebbmark:x %%\na"),
            ("%% a comment %% stays", "%% a comment %% stays"),
            ("```\nopen [[x]]\n\n%% ebbmark:r %%\n- [[x]]\n%% /ebbmark:r %%\n", "```\nopen [[x]]"),
        ] {
            assert_eq!(read(body), text, "{body:?}");
        }
        assert_eq!(outside_blocks("%% ebbmark:a %%\n%% ebbmark:b %%\n%% /ebbmark:b %%").1, ["a"]);
    }

    #[test]
    fn entities_are_linked_and_everything_else_escaped() {
        let entities = ["Rust".to_owned(), "C#".to_owned()];
        let text = "[[x]] Rust, `Rust`, rust and C#, 100%%.";
        let written = write(text, &entities);
        assert_eq!(written, "\\[\\[x]] [[Rust]], `Rust`, rust and [[C♯|C#]], 100\\%\\%.");
        assert_eq!(read(&written), text);
    }

    #[test]
    fn many_backticks_cost_no_more_than_their_length() {
        let text: String = (1..700).map(|length| "`".repeat(length) + " ").collect();
        assert!(code(&text).is_empty());
        assert_eq!(code(&"`a` ".repeat(50_000)).len(), 50_000);
    }

    const HOSTILE: &[&str] = &[
        "[[",
        "]]",
        "[",
        "]",
        "\\",
        "%",
        "%%",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "|",
        "![[x]]",
        "[[x|y]]",
        "a",
        "Rust",
        "rust",
        "%% ebbmark:a %%",
        "%% /ebbmark:a %%",
        "\n%% ebbmark:a %%\n",
        "\n%% /ebbmark:a %%\n",
        "\n---\n",
        "\n...\n",
        "id: x",
        "<b>",
        "<!--",
        "-->",
        "<a href=\"",
        "[a]: ",
        "](",
        ")",
        "#",
        "^",
        "$",
        "é",
        "東京",
        "🙂",
        "\u{200D}",
        "http://",
        "\n|---|\n",
        "&amp;",
        "*",
        "_",
        "=",
        "!",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

        #[test]
        fn any_text_reads_back(parts in prop::collection::vec(prop::sample::select(HOSTILE), 0..24)) {
            round_trip(parts.concat().trim());
        }

        #[test]
        fn any_characters_read_back(text in r"(\PC|[\n\t\[%\\`]){0,120}") {
            round_trip(text.trim());
        }

        #[test]
        fn links_to_entities_change_no_text(parts in prop::collection::vec(prop::sample::select(HOSTILE), 0..24)) {
            let text = parts.concat();
            let entities = ["Rust".to_owned(), "東京".to_owned(), "a".to_owned(), "C#".to_owned()];
            prop_assert_eq!(read(&write(text.trim(), &entities)), text.trim());
        }

        #[test]
        fn reading_never_fails(body in r"(\PC|[\n\r\t\[\]%\\`|]){0,200}") {
            read(&body);
        }
    }
}
