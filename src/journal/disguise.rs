//! Journals whose lines are all there, only not as they were written: converted or laid out anew by another program.

use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem;
use serde_json::{Deserializer, Value};

use super::codec::{self, START};
use crate::files;

/// Bytes that are looked at, from the first line on that cannot be read.
const LOOKED_AT: u64 = 64 << 10;

/// What another program made of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disguise {
    /// UTF-16; the name that `iconv` has for it.
    Utf16(&'static str),
    /// JSON with other blanks and line ends; whether all lines became one array.
    Reformatted {
        /// Whether all lines became one array.
        is_array: bool,
    },
}

/// What became of the file from `offset` on, where its first line stands that cannot be read.
pub fn disguise(path: &Path, offset: u64) -> Option<Disguise> {
    let mut file = files::open(path).ok()?;
    let mut bytes = Vec::new();
    // A mark of UTF-16 stands in the first two bytes.
    let begin = offset & !1;
    file.seek(SeekFrom::Start(begin)).ok()?;
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    utf16(&bytes).or_else(|| reformatted(bytes.get((offset - begin) as usize..)?))
}

fn utf16(bytes: &[u8]) -> Option<Disguise> {
    if bytes.starts_with(b"\xff\xfe{\0") || bytes.starts_with(b"\xfe\xff\0{") {
        return Some(Disguise::Utf16("UTF-16"));
    }
    let little: Vec<u8> = START.iter().flat_map(|byte| [*byte, 0]).collect();
    let at = memmem::find(bytes, &little)?;
    // The low byte first, or the zero before it.
    Some(Disguise::Utf16(if at % 2 == 0 { "UTF-16LE" } else { "UTF-16BE" }))
}

fn reformatted(bytes: &[u8]) -> Option<Disguise> {
    let bytes = bytes.trim_ascii_start();
    let (is_array, bytes) = match bytes.strip_prefix(b"[") {
        Some(inside) => (true, inside.trim_ascii_start()),
        None => (false, bytes),
    };
    let mut values = Deserializer::from_slice(bytes).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let there = bytes.get(..values.byte_offset())?;
    let is_line = value.get("v").is_some() && value.get("op").is_some() && value.get("crc").is_some();
    // A line that lies as it was written is damaged, or only has something beside it.
    let is_moved = serde_json::to_vec(&value).ok()? != there && codec::parse(there).is_err();
    (is_line && is_moved).then_some(Disguise::Reformatted { is_array })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Line, Op};

    #[test]
    fn what_other_programs_make_of_a_journal_is_known() {
        let line = |number| codec::render(&Line { n: Some(number), ..Line::new(Op::Use) }).unwrap();
        let text = String::from_utf8([line(1), line(2)].concat()).unwrap();
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let laid_out = serde_json::to_string_pretty(&values[0]).unwrap();
        let spaced = text.replace(':', ": ").replace(",\"", ", \"");
        let (array, wide_array) =
            (serde_json::to_string(&values).unwrap(), serde_json::to_string_pretty(&values).unwrap());
        let damaged = text.replace("\"n\":1", "\"n\":3");
        let cases: [(&[u8], Option<Disguise>); 11] = [
            (&little, Some(Disguise::Utf16("UTF-16LE"))),
            (&big, Some(Disguise::Utf16("UTF-16BE"))),
            (&[b"\xff\xfe", &little[..]].concat(), Some(Disguise::Utf16("UTF-16"))),
            (&[b"\xfe\xff", &big[..]].concat(), Some(Disguise::Utf16("UTF-16"))),
            (laid_out.as_bytes(), Some(Disguise::Reformatted { is_array: false })),
            (spaced.as_bytes(), Some(Disguise::Reformatted { is_array: false })),
            (wide_array.as_bytes(), Some(Disguise::Reformatted { is_array: true })),
            (array.as_bytes(), None),
            (damaged.as_bytes(), None),
            (&[&[0; 512], text.as_bytes()].concat(), None),
            (b"no line\n", None),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.jsonl");
        for (bytes, expected) in cases {
            crate::files::write_atomic(&path, bytes).unwrap();
            assert_eq!(disguise(&path, 0), expected, "{}", bytes.escape_ascii());
        }
    }
}
