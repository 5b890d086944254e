//! Names of notes: readable titles that are legal file names on every system and in every link.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::link;
use crate::id::MemoryId;

/// Longest file name without its extension, in bytes.
pub const MAX_BYTES: usize = 120;
/// Longest title made from a text, in characters.
pub const MAX_TITLE_CHARS: usize = 80;
/// The name of a note whose title has nothing that a name may hold.
pub const FALLBACK: &str = "Memory";

/// A file name without its extension, made from a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stem {
    /// The name.
    pub name: String,
    /// Whether the name says less than the title did: shortened, or characters left out or replaced.
    pub cut: bool,
}

/// Windows device names, which no file may have, whatever its extension.
fn is_device(stem: &str) -> bool {
    let base = stem.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = |rest: &str| matches!(rest.chars().collect::<Vec<_>>().as_slice(), ['0'..='9' | '¹' | '²' | '³']);
    matches!(base.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$")
        || base.strip_prefix("com").is_some_and(numbered)
        || base.strip_prefix("lpt").is_some_and(numbered)
}

/// Characters that cannot be seen: zero-width, direction marks, fillers, tags, noncharacters.
fn is_invisible(character: char) -> bool {
    matches!(u32::from(character),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
        | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFDD0..=0xFDEF | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0
        | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
        || u32::from(character) & 0xFFFE == 0xFFFE
}

fn is_visible(character: char) -> bool {
    !character.is_whitespace() && !character.is_control() && !is_invisible(character)
}

/// Joiners and variation selectors, which shape the visible character before them.
fn shapes(character: char) -> bool {
    matches!(character, '\u{200C}' | '\u{200D}' | '\u{FE0E}' | '\u{FE0F}')
}

/// Leaves out what a name may not hold, or puts a readable stand-in.
fn clean(title: &str) -> String {
    let title: String = title.nfc().collect::<String>().replace("[[", "").replace("]]", "");
    let mut name = String::with_capacity(title.len());
    let mut characters = title.chars().peekable();
    while let Some(character) = characters.next() {
        let last = name.chars().next_back();
        match character {
            shaping if shapes(shaping) => {
                let joins = !matches!(shaping, '\u{200C}' | '\u{200D}')
                    || characters.peek().is_some_and(|next| is_visible(*next) && !next.is_ascii());
                if joins && last.is_some_and(|last| !last.is_ascii() && !shapes(last)) {
                    name.push(shaping);
                }
            }
            blank if blank.is_whitespace() => {
                if last != Some(' ') {
                    name.push(' ');
                }
            }
            hidden if !is_visible(hidden) => {}
            ':' if characters.peek().is_some_and(|next| next.is_whitespace()) => {
                name.push_str(if last == Some(' ') { "-" } else { " -" });
            }
            '/' | '\\' | '|' | ':' | '^' => {
                if last != Some('-') {
                    name.push('-');
                }
            }
            '[' => name.push('('),
            ']' => name.push(')'),
            '%' if last == Some('%') => {}
            '"' | '`' => name.push('\''),
            '#' if last.is_some_and(char::is_alphanumeric) => name.push('♯'),
            '#' | '*' | '?' | '<' | '>' => {}
            other => name.push(other),
        }
    }
    // What was between two characters is gone: they may compose now.
    name.nfc().collect()
}

/// The longest beginning of at most `max_bytes` that splits no letter, preferably between words.
fn shorten(name: &str, max_bytes: usize) -> &str {
    if name.len() <= max_bytes {
        return name;
    }
    let joined = |before: &str, after: &str| {
        after.starts_with(|c| shapes(c) || is_combining_mark(c) || ('\u{1F3FB}'..='\u{1F3FF}').contains(&c))
            || before.ends_with(['\u{200C}', '\u{200D}'])
    };
    let whole = (0..=max_bytes)
        .rev()
        .filter_map(|at| name.split_at_checked(at))
        .find(|(before, after)| !joined(before, after))
        .map_or("", |(before, _)| before);
    // A stack of marks longer than the limit is cut within.
    let whole =
        if whole.is_empty() { (0..=max_bytes).rev().find_map(|at| name.get(..at)).unwrap_or_default() } else { whole };
    let ends_a_word = name.get(whole.len()..).is_some_and(|rest| rest.starts_with(' '));
    match whole.rsplit_once(' ') {
        Some((words, _)) if !ends_a_word && words.len() * 2 >= whole.len() => words,
        _ => whole,
    }
}

/// Trims what may not begin or end a name, and the extension that a link would lose.
fn trim_ends(mut name: &str) -> &str {
    loop {
        let mut trimmed = name.trim_matches([' ', '.', '-']);
        trimmed = trimmed.trim_start_matches(|c| shapes(c) || is_combining_mark(c));
        if let Some((stem, extension)) = trimmed.rsplit_once('.')
            && extension.eq_ignore_ascii_case("md")
        {
            trimmed = stem;
        }
        if trimmed.len() == name.len() {
            return name;
        }
        name = trimmed;
    }
}

/// Makes a file name from a title: readable, at most [`MAX_BYTES`], legal on Linux, macOS and Windows and inside
/// links, never hidden, never a device, never like the copies that sync programs make, never empty.
pub fn file_stem(title: &str) -> Stem {
    static DOTTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)\.(sync-)").expect("a valid pattern"));
    static NUMBERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(.*\S) (\d{1,3})$").expect("a valid pattern"));
    let cleaned = clean(title);
    let mut name = trim_ends(&cleaned).to_owned();
    if is_device(&name) {
        name.insert(name.find('.').unwrap_or(name.len()), '_');
    }
    name = trim_ends(shorten(&name, MAX_BYTES)).to_owned();
    if is_conflict_copy(&name) {
        let harmless = DOTTED.replace_all(&name.replace(['(', ')'], ""), " $1").into_owned();
        let words: Vec<&str> = harmless.split(' ').filter(|word| !word.is_empty()).collect();
        trim_ends(&words.join(" ")).clone_into(&mut name);
    }
    // iCloud calls its copies `Name 2`.
    name = NUMBERED.replace(&name, "$1-$2").into_owned();
    if name.is_empty() {
        FALLBACK.clone_into(&mut name);
    }
    let cut = name != title.trim().nfc().collect::<String>();
    Stem { name, cut }
}

/// The key by which names are compared: NFC and full case folding, as links and most disks see them.
pub fn key(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfd().flat_map(fold).collect::<String>().nfc().collect()
}

/// Full case folding of one character, made from the case mappings of the standard library: lower, upper, lower
/// gives `ss` for `ß` and `ẞ`, and `σ` for `ς`. The dotless i, whose upper case is a plain I, stays itself.
pub(super) fn fold(character: char) -> impl Iterator<Item = char> {
    let stays = character == 'ı';
    let folded = character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.filter(move |_| !stays).chain(stays.then_some(character))
}

/// A name that nobody has: `stem`, or with the beginning of the memory's id as `stem (7k2m)`.
/// `taken` is asked with the [`key`] of each candidate.
pub fn unique(stem: &str, taken: impl Fn(&str) -> bool, id: MemoryId) -> String {
    if !taken(&key(stem)) {
        return stem.to_owned();
    }
    let id = id.to_string();
    let prefixes = (MemoryId::MIN_PREFIX..=MemoryId::LENGTH).filter_map(|length| id.get(..length)).map(str::to_owned);
    let numbered = (2u64..).map(|number| format!("{id}-{number}"));
    prefixes
        .chain(numbered)
        .map(|mark| format!("{} ({mark})", trim_ends(shorten(stem, MAX_BYTES - mark.len() - 3))))
        .find(|name| !taken(&key(name)))
        .expect("the numbers never end")
}

/// A name without the mark that [`unique`] gave it for this memory.
pub fn without_mark(stem: &str, id: MemoryId) -> &str {
    let marked = stem.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match marked {
        Some((name, mark)) if mark.len() >= MemoryId::MIN_PREFIX && id.starts_with(mark) => name,
        _ => stem,
    }
}

/// Whether a file name is one that a sync program gives to a copy in conflict: Syncthing, Dropbox, Nextcloud,
/// Obsidian Sync, Seafile. Not iCloud's `Name 2`, which people use as well: there the id in the note decides.
pub fn is_conflict_copy(file_name: &str) -> bool {
    static COPY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\.sync-conflict-\d{8}-\d{6}|\([^()]*(?:conflicted copy|case conflict|sfconflict)[^()]*\)(?: \d+)?(?:\.[^. ]+)?$",
        )
        .expect("a valid pattern")
    });
    COPY.is_match(file_name)
}

/// The text of the first block that has any, without Markdown marks, up to its first line break.
fn first_line(text: &str) -> String {
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut line = String::new();
    let mut wikilink = false;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { link_type: pulldown_cmark::LinkType::WikiLink { .. }, .. }) => {
                let shown = text.get(range).and_then(link::Link::parse).map(|link| link.display());
                line.push_str(&shown.unwrap_or_default());
                wikilink = true;
            }
            Event::End(TagEnd::Link) => wikilink = false,
            Event::Text(part) | Event::Code(part) if !wikilink => {
                let first = part.trim_start_matches('\n').split('\n').next().unwrap_or_default();
                line.push_str(first);
                if first.len() < part.len() && !line.trim().is_empty() {
                    break;
                }
            }
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::CodeBlock,
            )
            | Event::Start(Tag::List(_) | Tag::Item)
                if !line.trim().is_empty() =>
            {
                break;
            }
            Event::End(TagEnd::TableCell) => line.push(' '),
            _ => {}
        }
    }
    line
}

/// Length of the first sentence of a line, its mark included.
fn sentence_end(line: &str) -> usize {
    let abbreviations = ["mr", "mrs", "ms", "dr", "prof", "st", "vs", "no", "fig", "approx", "ca", "inc", "ltd", "co"];
    for (at, mark) in line.char_indices() {
        let end = at + mark.len_utf8();
        match mark {
            '。' | '！' | '？' => return end,
            '.' | '!' | '?' | '…' => {
                let after = line.get(end..).unwrap_or_default();
                let before = line.get(..at).unwrap_or_default();
                let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '.').next().unwrap_or_default();
                let abbreviated = mark == '.'
                    && (word.chars().count() <= 1
                        || word.contains('.') && word.split('.').all(|part| part.chars().count() <= 1)
                        || abbreviations.contains(&word.to_lowercase().as_str()));
                let next = after.trim_start().chars().next();
                if after.starts_with(char::is_whitespace) && !next.is_some_and(char::is_lowercase) && !abbreviated {
                    return end;
                }
            }
            _ => {}
        }
    }
    line.len()
}

/// A readable title from a memory's text: its first sentence or line without Markdown marks and links, at most
/// [`MAX_TITLE_CHARS`], cut between words, without punctuation at its end.
pub fn title_from(text: &str) -> String {
    let line = first_line(text);
    let line = if line.trim().is_empty() { text.trim().lines().next().unwrap_or_default() } else { &line };
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    // The mark of a callout is no part of its title.
    let line = line.strip_prefix("[!").and_then(|rest| rest.split_once(']')).map_or(line.as_str(), |(_, title)| title);
    let sentence = line.get(..sentence_end(line)).unwrap_or(line).trim();
    let max_bytes = sentence.char_indices().nth(MAX_TITLE_CHARS).map_or(sentence.len(), |(at, _)| at);
    let title = shorten(sentence, max_bytes)
        .trim_end_matches(|c: char| c.is_whitespace() || ".,;:!?…-–—。、，；：！？".contains(c))
        .trim_start();
    if title.is_empty() { FALLBACK.to_owned() } else { title.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(title: &str) -> String {
        file_stem(title).name
    }

    fn is_safe(name: &str) -> bool {
        !name.is_empty()
            && name.len() <= MAX_BYTES
            && !name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|', '#', '^', '[', ']', '`'])
            && !name.contains("%%")
            && !name.contains("  ")
            && !name.chars().any(|c| c.is_control() || (is_invisible(c) && !shapes(c)))
            && !name.starts_with(['.', ' ', '-'])
            && !name.ends_with(['.', ' '])
            && !name.to_lowercase().ends_with(".md")
            && !is_device(name)
            && !is_conflict_copy(name)
            && !is_conflict_copy(&format!("{name}.md"))
    }

    #[test]
    fn titles_become_readable_safe_names() {
        for (title, expected) in [
            ("Prefers TypeScript", "Prefers TypeScript"),
            ("../../x", "x"),
            ("use --force", "use --force"),
            ("..\\x", "x"),
            ("/etc/hostname", "etc-hostname"),
            ("\\\\server\\share\\x", "server-share-x"),
            ("\\\\?\\C:\\x", "C-x"),
            ("file:///etc/hostname", "file-etc-hostname"),
            ("~/x", "~-x"),
            ("AUX", "AUX_"),
            ("prn.tar.gz", "prn_.tar.gz"),
            ("COM0", "COM0_"),
            ("COM10", "COM10"),
            ("nul .txt", "nul _.txt"),
            (".md", "md"),
            ("....md", "md"),
            ("a.md.MD", "a"),
            ("$#|^", "$"),
            ("C:\\tmp", "C-tmp"),
            ("%2e%2e%2fx", "%2e%2e%2fx"),
            ("a\0b", "ab"),
            ("CON", "CON_"),
            ("con.md", "con_"),
            ("NUL.txt", "NUL_.txt"),
            ("LPT¹", "LPT¹_"),
            ("Console", "Console"),
            ("a/b:c?", "a-b-c"),
            ("Rule: keep it", "Rule - keep it"),
            ("[[x]]", "x"),
            ("[draft] plan", "(draft) plan"),
            ("#", "Memory"),
            ("^", "Memory"),
            ("|", "Memory"),
            ("...", "Memory"),
            ("", "Memory"),
            ("   ", "Memory"),
            (".hidden", "hidden"),
            ("trailing dot.", "trailing dot"),
            ("trailing space ", "trailing space"),
            ("C#", "C♯"),
            ("issue #12 is open", "issue 12 is open"),
            ("C++", "C++"),
            ("it's \"quoted\" `code`", "it's 'quoted' 'code'"),
            ("100%% sure %%hidden%%", "100% sure %hidden%"),
            ("README.md", "README"),
            ("settings.toml", "settings.toml"),
            ("Python 3", "Python-3"),
            ("Plans for 2027", "Plans for 2027"),
            ("Note (Ada's conflicted copy 2026-01-02)", "Note Ada's conflicted copy 2026-01-02"),
            ("Note.sync-conflict-20260102-030405-ABCDEFG", "Note sync-conflict-20260102-030405-ABCDEFG"),
            ("Note.sYnc-Conflict-20260102-030405-ABCDEFG", "Note sYnc-Conflict-20260102-030405-ABCDEFG"),
            ("Note ( conflicted copy 2026-01-02)", "Note conflicted copy 2026-01-02"),
            ("a\u{202E}b\u{200B}c\u{FEFF}d\u{E0041}", "abcd"),
            ("family 👨‍👩‍👧 trip", "family 👨‍👩‍👧 trip"),
            ("a\u{200D}b \u{200D}", "ab"),
            ("می\u{200C}خواهم", "می\u{200C}خواهم"),
            ("cafe\u{301}", "café"),
            ("a\tb\nc\u{a0}d", "a b c d"),
            ("東京に住む", "東京に住む"),
        ] {
            assert_eq!(name(title), expected, "{title:?}");
            assert!(is_safe(expected), "{expected:?}");
        }
    }

    #[test]
    fn long_titles_are_cut_between_words_or_letters() {
        assert_eq!(name(&"x".repeat(300)), "x".repeat(MAX_BYTES));
        assert_eq!(name(&"🙂".repeat(90)), "🙂".repeat(30));
        assert_eq!(name(&"長".repeat(255)).len(), 120);
        let family = name(&"👨‍👩‍👧".repeat(20));
        assert_eq!(family.replace("👨‍👩‍👧", ""), "", "no family is cut in two");
        let words = name(&"word ".repeat(60));
        assert!(words.len() > 100 && words.ends_with("word"), "{words}");
        assert!(file_stem(&"word ".repeat(60)).cut);
        assert!(!file_stem("Prefers TypeScript").cut);
        assert!(!file_stem("cafe\u{301}").cut, "the same name, composed");
        assert!(file_stem("Rule: keep it").cut, "the title says what the name cannot");
    }

    #[test]
    fn keys_are_equal_for_what_disks_and_links_take_as_equal() {
        for (a, b) in [("Café", "cafe\u{301}"), ("STRASSE", "straße"), ("ẞ", "ss"), ("ΣΑΣ", "σας"), ("Ⅷ", "ⅷ")]
        {
            assert_eq!(key(a), key(b));
        }
        for (a, b) in [("a", "b"), ("ı", "i"), ("ﬁ x", "fix"), ("①", "1")] {
            assert_ne!(key(a), key(b));
        }
    }

    /// Titles that some disk or link takes for one another, on disks that fold case each in their own way.
    #[test]
    fn names_stay_apart_on_every_disk() {
        let titles = [
            "Tea",
            "tea",
            "TEA",
            "Tea.",
            " tea ",
            ".tea",
            "tea.md",
            "[[Tea]]",
            "Straße",
            "STRASSE",
            "strasse",
            "Stra\u{1E9E}e",
            "Café",
            "Cafe\u{301}",
            "CAFÉ",
            "CAFE\u{301}",
            "ΣΑΣ",
            "σας",
            "Ⅷ",
            "ⅷ",
            "\u{212A}",
            "k",
            "K",
            "\u{212B}",
            "Å",
            "A\u{30A}",
            "å",
            "ﬁ",
            "FI",
            "fi",
            "ſ",
            "s",
            "ı",
            "I",
            "i",
            "İ",
            "i\u{307}",
            "ŉ",
            "ʼn",
            "CON",
            "con",
            "Con.md",
            "a:b",
            "a-b",
            "a/b",
            "A\\B",
            "C#",
            "c#",
            "C♯",
            "",
            "...",
            "Memory",
            "MEMORY",
            "Name 2",
            "name-2",
            "x\u{200B}y",
            "XY",
            "가",
            "\u{1100}\u{1161}",
            "ぱ",
            "は\u{309A}",
            "\u{1F88}",
            "\u{1F80}",
            "ἀι",
        ];
        // Windows and macOS map single characters, Linux with folding whole strings; some compose, some take apart.
        let simple = |character: char| {
            let upper: Vec<char> = character.to_uppercase().collect();
            if upper.len() == 1 && character != 'ı' { upper[0] } else { character }
        };
        let disks: [&dyn Fn(&str) -> String; 7] = [
            &|name| name.to_ascii_lowercase(),
            &|name| name.to_lowercase(),
            &|name| name.chars().map(simple).collect(),
            &|name| name.nfd().collect::<String>().chars().map(simple).collect(),
            &|name| name.nfd().collect::<String>().to_lowercase(),
            &|name| name.nfc().collect(),
            &key,
        ];
        let mut names: Vec<String> = Vec::new();
        for (place, title) in titles.iter().enumerate() {
            let id = MemoryId::from_source(&place.to_string());
            let stem = name(title);
            let own = unique(&stem, |taken| names.iter().any(|name| key(name) == taken), id);
            assert!(is_safe(&own), "{own:?}");
            assert_eq!(without_mark(&own, id), stem);
            names.push(own);
        }
        for (number, disk) in disks.iter().enumerate() {
            let folded: std::collections::BTreeSet<String> = names.iter().map(|name| disk(name)).collect();
            assert_eq!(folded.len(), names.len(), "disk {number}: {names:?}");
        }
        assert_eq!(names.iter().filter(|name| key(name).starts_with("tea")).count(), 8);
    }

    #[test]
    fn collisions_get_the_beginning_of_the_id() {
        let id: MemoryId = "7k2m9x4qwc3r".parse().unwrap();
        assert_eq!(unique("Title", |_| false, id), "Title");
        assert_eq!(unique("Title", |taken| taken == "title", id), "Title (7k2m)");
        let taken = |taken: &str| taken == "title" || taken == "title (7k2m)";
        assert_eq!(unique("Title", taken, id), "Title (7k2m9)");
        let stubborn = |taken: &str| !taken.ends_with("-3)");
        assert_eq!(unique("Title", stubborn, id), "Title (7k2m9x4qwc3r-3)");
        let long = unique(&"x".repeat(MAX_BYTES), |taken| !taken.ends_with(')'), id);
        assert_eq!(long, format!("{} (7k2m)", "x".repeat(MAX_BYTES - 7)));
        assert_eq!(without_mark("Title (7k2m)", id), "Title");
        assert_eq!(without_mark("Title (7k2n)", id), "Title (7k2n)");
        assert_eq!(without_mark("Title ()", id), "Title ()");
    }

    #[test]
    fn copies_of_sync_programs_are_recognised() {
        for copy in [
            "Note.sync-conflict-20261129-233500-ABCDEFG.md",
            "Note (Ada's conflicted copy 2026-11-29).md",
            "Note (Conflicted copy laptop 202611292335).md",
            "Note (conflicted copy 2026-11-29 233500).md",
            "Note (conflicted copy 2026-11-29) 1.md",
            "Note (SFConflict ada@example.org 2026-11-29-23-35-00).md",
        ] {
            assert!(is_conflict_copy(copy), "{copy}");
        }
        for note in ["Note 2.md", "Python 3.md", "How a conflicted copy arises.md", "Sync conflict.md", "Note (1).md"] {
            assert!(!is_conflict_copy(note), "{note}");
        }
    }

    #[test]
    fn titles_say_what_a_text_is_about() {
        for (text, title) in [
            (
                "Prefers TypeScript over JavaScript for new projects.",
                "Prefers TypeScript over JavaScript for new projects",
            ),
            ("# Build\nRun `make`.", "Build"),
            ("Uses **bold** _words_ and `code`. Then more.", "Uses bold words and code"),
            ("See [[Ada|Ms Lovelace]] and [the site](https://example.org).", "See Ms Lovelace and the site"),
            ("Works with Dr. Smith at 5 p.m. daily. Likes it.", "Works with Dr. Smith at 5 p.m. daily"),
            ("Version 2.3.1 fixes it! Good.", "Version 2.3.1 fixes it"),
            ("Deploy, e.g. to staging, first.", "Deploy, e.g. to staging, first"),
            ("Project layout:\n- src\n- tests", "Project layout"),
            ("- [ ] buy milk\n- eggs", "buy milk"),
            ("> quoted words", "quoted words"),
            ("> [!note] Watch out\n> body", "Watch out"),
            ("```sh\nmake test\n```", "make test"),
            ("東京に住んでいる。猫が好き。", "東京に住んでいる"),
            ("| Name | Age |\n|---|---|\n| Ada | 36 |", "Name Age"),
            ("<b>", "<b>"),
            ("...", "Memory"),
            ("", "Memory"),
        ] {
            assert_eq!(title_from(text), title, "{text:?}");
        }
        let long = title_from(&"many words ".repeat(20));
        assert!(long.chars().count() <= MAX_TITLE_CHARS && long.len() > 60, "{long}");
        assert!(long.ends_with("words") || long.ends_with("many"), "{long}");
        assert_eq!(title_from(&"長".repeat(200)).chars().count(), MAX_TITLE_CHARS);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn any_title_gives_a_safe_name(title in r"(\PC|[\x00-\x20/:.#\[\]|^%\-()0-9\u{200D}\u{301}]){0,200}") {
            let stem = file_stem(&title);
            prop_assert!(is_safe(&stem.name), "{:?}", stem.name);
            let again = file_stem(&stem.name);
            prop_assert_eq!(&again.name, &stem.name);
            prop_assert!(!again.cut);
        }

        #[test]
        fn keys_are_stable(text in r"\PC{0,40}") {
            let once = key(&text);
            prop_assert_eq!(key(&once), once);
        }

        #[test]
        fn titles_are_one_short_line(text in r"(\PC|[\n #*\[\]`>.|-]){0,300}") {
            let title = title_from(&text);
            prop_assert!(!title.is_empty() && title.chars().count() <= MAX_TITLE_CHARS && !title.contains('\n'), "{title:?}");
        }
    }
}
