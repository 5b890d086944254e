//! Comments: `%%` up to the next `%%`, on one line or over many. Readers do not see them.

use std::collections::HashMap;
use std::ops::Range;

use super::body::{Fence, fence_of};

const SIGN: &str = "%%";

/// Where the comments of a Markdown text lie, with their signs, in order. None begins inside code. A `%%` that no other
/// follows is text: nobody knows where its comment should end, and hiding the rest of a note would be the worse guess.
pub(super) fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut begins_line) = (0, true);
    // Behind the last sign nothing can begin.
    let last = text.rfind(SIGN).unwrap_or_default();
    while at < last {
        if let Some(fence) = fence_of(line(text, at)).filter(|_| begins_line) {
            at = fence_end(text, at, &fence);
        } else {
            let end = paragraph_end(text, at);
            at = in_paragraph(text, at..end, &mut found);
            begins_line = at == end;
            continue;
        }
        begins_line = true;
    }
    found
}

/// The line at a place, with its line end.
fn line(text: &str, at: usize) -> &str {
    text.get(at..).and_then(|rest| rest.split_inclusive('\n').next()).unwrap_or_default()
}

/// End of a fenced block that begins at `at`.
fn fence_end(text: &str, at: usize, open: &Fence) -> usize {
    let mut end = at + line(text, at).len();
    while end < text.len() {
        let next = line(text, end);
        end += next.len();
        if fence_of(next).is_some_and(|close| close.closes(open)) {
            break;
        }
    }
    end
}

/// End of the lines up to a blank one or a fence; the first one always belongs to them.
fn paragraph_end(text: &str, at: usize) -> usize {
    let mut end = at;
    while end < text.len() {
        let next = line(text, end);
        if end > at && fence_of(next).is_some() {
            break;
        }
        end += next.len();
        if next.trim().is_empty() {
            break;
        }
    }
    end
}

/// Finds the comments that begin in a paragraph. Returns where it ends, or the last comment, where that is further.
fn in_paragraph(text: &str, paragraph: Range<usize>, found: &mut Vec<Range<usize>>) -> usize {
    let bytes = text.as_bytes();
    let mut runs: Option<HashMap<usize, Vec<usize>>> = None;
    let mut at = paragraph.start;
    while at < paragraph.end {
        let rest = text.get(at..).unwrap_or_default();
        match bytes.get(at) {
            // What is escaped begins nothing.
            Some(b'\\') => at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            Some(b'`') => {
                let length = rest.len() - rest.trim_start_matches('`').len();
                at += length;
                let same = runs.get_or_insert_with(|| ticks(text, paragraph.clone())).get(&length);
                let next = same.and_then(|places| places.get(places.partition_point(|place| *place < at)));
                at = next.map_or(at, |place| place + length);
            }
            Some(b'%') if rest.starts_with(SIGN) => {
                let inner = at + SIGN.len();
                let Some(length) = text.get(inner..).and_then(|rest| rest.find(SIGN)) else { return text.len() };
                let end = inner + length + SIGN.len();
                found.push(at..end);
                at = end;
            }
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    at.max(paragraph.end)
}

/// Runs of backticks by their length.
fn ticks(text: &str, paragraph: Range<usize>) -> HashMap<usize, Vec<usize>> {
    let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut run = 0;
    for at in paragraph.start..=paragraph.end {
        if at < paragraph.end && text.as_bytes().get(at) == Some(&b'`') {
            run += 1;
        } else if run > 0 {
            runs.entry(run).or_default().push(at - run);
            run = 0;
        }
    }
    runs
}

/// The text with each byte of some ranges replaced by an ASCII character; line ends stay, and every other byte stays
/// where it is.
pub(super) fn masked(text: &str, hidden: &[Range<usize>], sign: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in hidden {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        let inner = text.get(range.clone()).unwrap_or_default();
        out.extend(inner.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { sign }));
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_are_found_outside_code() {
        for (text, expected) in [
            ("a %%b%% c", vec!["%%b%%"]),
            ("%% one %% and %% two %%", vec!["%% one %%", "%% two %%"]),
            ("a\n%%\nb\n\n# c\n%%\nd", vec!["%%\nb\n\n# c\n%%"]),
            ("a %% b", vec![]),
            ("%%a%% b %% c", vec!["%%a%%"]),
            ("%%%%", vec!["%%%%"]),
            ("%%%", vec![]),
            ("50% or 60% of it", vec![]),
            ("`%%` a `%%`", vec![]),
            ("``%% ` %%`` %%b%%", vec!["%%b%%"]),
            ("`%% a %%", vec!["%% a %%"]),
            ("`a\n\n%%b%% `", vec!["%%b%%"]),
            ("%% ` %% and `", vec!["%% ` %%"]),
            ("```\n%% a %%\n```\n%%b%%", vec!["%%b%%"]),
            ("~~~\n%% a %%", vec![]),
            ("> ```\n> %%a%%\n> ```\n%%b%%", vec!["%%b%%"]),
            ("%%\n```\n%% a\n```\n", vec!["%%\n```\n%%"]),
            ("\\%% a %%", vec![]),
            ("\\%% a %%b%%", vec!["%%b%%"]),
            ("\\%\\% a \\%\\%", vec![]),
            ("é\\é%%ü%%", vec!["%%ü%%"]),
            ("\r\n%%\r\na\r\n%%\r\n", vec!["%%\r\na\r\n%%"]),
        ] {
            let found: Vec<&str> = comments(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_masked_text_keeps_its_places() {
        let text = "é %%ü\r\nx%% [a]";
        assert_eq!(masked(text, &comments(text), '%'), "é %%%%\r\n%%% [a]");
    }

    #[test]
    fn many_signs_and_ticks_cost_no_more_than_their_length() {
        assert_eq!(comments(&"%%".repeat(200_000)).len(), 100_000);
        assert_eq!(comments(&"%% a\n\n".repeat(50_001)).len(), 25_000);
        let ticks: String = (1..700).map(|length| "`".repeat(length) + " %%a%% ").collect();
        assert_eq!(comments(&ticks).len(), 699);
        assert_eq!(comments(&"` %% ` ".repeat(50_000)).len(), 0);
        assert_eq!(comments(&"```\n".repeat(50_001)).len(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn comments_lie_in_order_between_characters(text in r"([%`\\~\n >é-]|%%|```){0,60}") {
            let found = comments(&text);
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(found.iter().all(|range| text[range.clone()].len() >= 4));
            prop_assert_eq!(masked(&text, &found, ' ').len(), text.len());
        }
    }
}
