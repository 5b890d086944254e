//! One line as bytes: the checksum trailer, and what is wrong with a line that cannot be read.

use memchr::memmem;

use crate::error::{Error, Result};
use crate::memory::{FORMAT_VERSION, Line};
use crate::redact::{Redacted, redact_json};

/// Bytes of the trailer `,"crc":"xxxxxxxx"}`.
const TRAILER: usize = 18;
/// How it begins. Within a line it cannot stand elsewhere: there its quotes would be escaped.
const TRAILER_START: &[u8] = b",\"crc\":\"";
/// What a reader remembers of the last bytes it read: the trailer of a sealed line, and some more for lines by hand.
pub(super) const MARK: usize = 64;
/// Longest line that is read, bytes.
pub(super) const MAX_LINE: usize = 4 << 20;

/// A line that was read, with its checksum.
#[derive(Debug, Clone)]
pub(super) struct Read {
    /// What it says.
    pub(super) line: Line,
    pub(super) crc: u32,
}

/// Why a line was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The checksum does not fit the bytes.
    Checksum,
    /// It has a number but no checksum: the end is missing.
    NoChecksum,
    /// Not JSON, or without the fields every line has.
    NotALine,
    /// Longer than 4 MiB.
    TooLong,
    /// Written by a newer Ebbmark.
    Newer,
    /// A mark of some editors before the first line.
    ByteOrderMark,
}

impl Fault {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Fault::Checksum => "its checksum does not fit its bytes",
            Fault::NoChecksum => "its end with the checksum is missing",
            Fault::NotALine => "it is not a journal line",
            Fault::TooLong => "it is longer than 4 MiB",
            Fault::Newer => "it was written by a newer Ebbmark",
            Fault::ByteOrderMark => "it is only a byte order mark, as some editors write it before the first line",
        }
    }
}

/// Reads one line (without its newline). A line without checksum and number counts as written by hand.
pub(super) fn parse(bytes: &[u8]) -> Result<Read, Fault> {
    if bytes.len() > MAX_LINE {
        return Err(Fault::TooLong);
    }
    let sealed = split_trailer(bytes);
    if let Some((body, crc)) = sealed
        && crc32c::crc32c(body) != crc
    {
        return Err(Fault::Checksum);
    }
    let line: Line = serde_json::from_slice(bytes).map_err(|_| Fault::NotALine)?;
    if line.v > FORMAT_VERSION {
        return Err(Fault::Newer);
    }
    match sealed {
        Some((_, crc)) => Ok(Read { line, crc }),
        None if line.n.is_some() => Err(Fault::NoChecksum),
        None => Ok(Read { line, crc: crc32c::crc32c(bytes) }),
    }
}

/// How every line of ours begins. Within a line it cannot stand: there its quotes would be escaped.
pub(super) const START: &[u8] = b"{\"v\":";

/// What some editors write before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads what stands between two newlines, blank or not: `each` gets every line or faulty part, with its bytes and
/// where they begin. Usually that is one line. Where a crash or another program glued several together, each line with
/// a right checksum is read, and what lies between is a fault.
pub(super) fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, &'a [u8], Result<Read, Fault>)) {
    let mut begin = bytes.len() - bytes.trim_ascii_start().len();
    let mut bytes = bytes.trim_ascii();
    if let Some(rest) = bytes.strip_prefix(BYTE_ORDER_MARK) {
        each(begin, BYTE_ORDER_MARK, Err(Fault::ByteOrderMark));
        begin += bytes.len() - rest.len();
        bytes = rest;
    }
    if bytes.is_empty() {
        return;
    }
    let fault = match parse(bytes) {
        Err(fault) if fault != Fault::Newer => fault,
        done => return each(begin, bytes, done),
    };
    read_glued(bytes, fault, |at, part, read| each(begin + at, part, read));
}

/// As [`read`], where what comes before or behind on the same line makes anything but sealed lines a `fault`.
pub(super) fn read_glued<'a>(
    bytes: &'a [u8],
    fault: Fault,
    mut each: impl FnMut(usize, &'a [u8], Result<Read, Fault>),
) {
    let mut read_to = 0;
    for start in memmem::find_iter(bytes, START) {
        if let Some((piece, line)) = sealed_at(bytes, start) {
            let between = &bytes[read_to..start];
            if !between.trim_ascii().is_empty() {
                each(read_to, between, Err(fault));
            }
            each(start, piece, line);
            read_to = start + piece.len();
        }
    }
    if !bytes[read_to..].trim_ascii().is_empty() {
        each(read_to, &bytes[read_to..], Err(fault));
    }
}

/// How many of these bytes are whole, with the blanks behind, though no newline has come yet: up to the end of the last
/// line with a right checksum, which is complete because the checksum comes last.
pub(super) fn whole_length(bytes: &[u8]) -> usize {
    let last = memmem::rfind_iter(bytes, START).find_map(|start| Some(start + sealed_at(bytes, start)?.0.len()));
    let Some(end) = last else { return 0 };
    bytes.len() - bytes[end..].trim_ascii_start().len()
}

/// The line that begins at `start`, if its checksum is right. What follows on it may be anything.
fn sealed_at(bytes: &[u8], start: usize) -> Option<(&[u8], Result<Read, Fault>)> {
    let from = &bytes[start..];
    // The next line's trailer is not this one's, however little of this one there is.
    let next = memmem::find(&from[START.len()..], START).map_or(from.len(), |at| at + START.len());
    let trailer = memmem::find(&from[..next], TRAILER_START)?;
    let piece = from[..next].get(..trailer + TRAILER)?;
    split_trailer(piece)?;
    match parse(piece) {
        line @ (Ok(_) | Err(Fault::Newer)) => Some((piece, line)),
        Err(_) => None,
    }
}

/// Bytes before the trailer, and the checksum in it.
fn split_trailer(bytes: &[u8]) -> Option<(&[u8], u32)> {
    let body = bytes.len().checked_sub(TRAILER)?;
    let (body, trailer) = bytes.split_at_checked(body)?;
    let digits = trailer.strip_prefix(TRAILER_START)?.strip_suffix(b"\"}")?;
    let crc = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((body, crc))
}

/// The bytes of a line, redacted, sealed with its checksum and ended with a newline.
pub(super) fn render(line: &Line) -> Result<Vec<u8>> {
    let text = serde_json::to_string(line).map_err(|error| Error::Internal(format!("journal line: {error}")))?;
    Ok(seal(redact_json(&text).0))
}

/// Adds checksum and newline to the JSON text of a line that has none yet.
pub(super) fn seal(json: Redacted) -> Vec<u8> {
    let mut text = json.into_string();
    text.pop();
    let crc = crc32c::crc32c(text.as_bytes());
    text.extend([",\"crc\":\"", &format!("{crc:08x}"), "\"}\n"]);
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of `docs/format.md` reads, and what was read is written the same.
    #[test]
    fn the_documented_lines_are_right() {
        let page = include_str!("../../docs/format.md");
        let mut is_example = false;
        let mut count = 0;
        for line in page.lines() {
            if line.starts_with("```") {
                is_example = line == "```jsonl";
            } else if is_example {
                let read = parse(line.as_bytes()).unwrap_or_else(|fault| panic!("{}: {line}", fault.as_str()));
                assert_ne!(read.line.op, crate::memory::Op::Unknown, "{line}");
                if read.line.n.is_some() {
                    assert_eq!(String::from_utf8(render(&read.line).unwrap()).unwrap(), format!("{line}\n"));
                }
                count += 1;
            }
        }
        assert!(count > 15, "only {count} examples were found");
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_noticed() {
        let text = r#"{"v":1,"n":41,"at":"2026-11-29T23:35:00.123Z","op":"remember","id":"7k2m9x4qwc3r","text":"x","crc":"00000000"}"#;
        let mut line = parse(text.as_bytes());
        assert_eq!(line.as_ref().err(), Some(&Fault::Checksum));
        let sealed = render(&serde_json::from_str(text).unwrap()).unwrap();
        let whole = &sealed[..sealed.len() - 1];
        assert!(parse(whole).is_ok());
        for end in 0..whole.len() {
            line = parse(&whole[..end]);
            assert!(line.is_err(), "cut at {end}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.to_vec();
            damaged[place] ^= 1;
            assert!(parse(&damaged).is_err(), "flipped at {place}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_told_apart_from_the_line_behind_it() {
        for line in [
            r#"{"v":1,"at":"2026-11-29T23:35:00Z","op":"remember","id":"7k2m9x4qwc3r","text":"x"}"#,
            r#"{"v":1,"n":41,"at":"2026-11-29T23:35:00.123Z","op":"remember","id":"7k2m9x4qwc3r","text":"Prefers TypeScript over JavaScript for new projects.","kind":"preference","crc":"54b883b7"}"#,
        ] {
            let mut read_as = Vec::new();
            let marked = format!("\u{feff}{line}");
            read(marked.as_bytes(), |at, bytes, read| read_as.push((at, bytes.len(), read.err())));
            assert_eq!(read_as, [(0, 3, Some(Fault::ByteOrderMark)), (3, line.len(), None)]);
        }
    }

    #[test]
    fn whole_lines_are_read_whatever_is_glued_to_them() {
        let line = |number: u64| {
            let line = Line { n: Some(number), ..Line::new(crate::memory::Op::Use) };
            String::from_utf8(render(&line).unwrap()).unwrap().trim_end().to_owned()
        };
        let (one, two) = (line(1), line(2));
        let half = &two[..two.len() / 2];
        let seen = |bytes: &str| {
            let mut seen = Vec::new();
            read(bytes.as_bytes(), |begin, part, read| {
                assert_eq!(&bytes.as_bytes()[begin..begin + part.len()], part);
                seen.push(read.ok().and_then(|read| read.line.n));
            });
            seen
        };
        for (bytes, expected, whole) in [
            (format!("{one}{two}"), vec![Some(1), Some(2)], one.len() + two.len()),
            (format!("{one}\r{two}\r"), vec![Some(1), Some(2)], one.len() + two.len() + 2),
            (format!("{one}rest"), vec![Some(1), None], one.len()),
            (format!("{half}{one}"), vec![None, Some(1)], half.len() + one.len()),
            (format!("{one}{half}"), vec![Some(1), None], one.len()),
            (format!("{one} x {two} y"), vec![Some(1), None, Some(2), None], one.len() + 3 + two.len() + 1),
            (half.to_owned(), vec![None], 0),
            (two.clone(), vec![Some(2)], two.len()),
        ] {
            assert_eq!(seen(&bytes), expected, "{bytes}");
            assert_eq!(whole_length(bytes.as_bytes()), whole, "{bytes}");
        }
    }

    #[test]
    fn lines_by_hand_need_no_checksum() {
        let by_hand = br#"{"v":1,"at":"2026-11-29T23:35:00Z","op":"remember","id":"7k2m9x4qwc3r","text":"x"}"#;
        assert!(parse(by_hand).is_ok());
        let numbered = br#"{"v":1,"n":3,"at":"2026-11-29T23:35:00Z","op":"remember","id":"7k2m9x4qwc3r","text":"x"}"#;
        assert_eq!(parse(numbered).err(), Some(Fault::NoChecksum));
        let newer = br#"{"v":2,"at":"2026-11-29T23:35:00Z","op":"remember","id":"7k2m9x4qwc3r","text":"x"}"#;
        assert_eq!(parse(newer).err(), Some(Fault::Newer));
        let unknown = br#"{"v":1,"at":"2026-11-29T23:35:00Z","op":"dream","id":"7k2m9x4qwc3r","vivid":true}"#;
        assert_eq!(parse(unknown).unwrap().line.op, crate::memory::Op::Unknown);
    }
}
