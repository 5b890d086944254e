//! Wikilinks: their grammar, what they show, how they are written, and linking entities in a text.

use std::fmt;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use unicode_normalization::char::is_combining_mark;

use super::{body, name};

/// A wikilink: `[[target#heading|alias]]`, `[[target#^block]]`, or embedded with a `!` before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Name or path of the note, without `.md`; empty for a link within the same note.
    pub target: String,
    /// Heading, or headings joined by `#`.
    pub heading: Option<String>,
    /// Block id, without its `^`.
    pub block: Option<String>,
    /// The words shown instead of the name; of an embedded picture its size.
    pub alias: Option<String>,
    /// Whether the target is shown in place.
    pub embed: bool,
}

/// A link and the bytes of the text that it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// From the first bracket (or the `!`) to behind the last one.
    pub range: Range<usize>,
    /// The link.
    pub link: Link,
}

impl Link {
    /// A link to a note by the name or title that people give it; `said` are the words in the sentence.
    /// Where a file cannot have that name, the link goes to the name that its file gets.
    pub fn to(title: &str, said: Option<&str>) -> Self {
        let target = name::file_stem(title).name;
        let said = said.unwrap_or(title).trim();
        let alias = (said != target).then(|| without_runs(said, ['[', ']']).replace(['|', '\n'], " "));
        Link { target, heading: None, block: None, alias, embed: false }
    }

    /// Reads a link with its brackets. `None` for anything else, also where the brackets are empty.
    ///
    /// The first bar begins the alias; in a table it is written `\|`. The first `#` ends the target.
    pub fn parse(text: &str) -> Option<Self> {
        let (embed, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let inner = text.strip_prefix("[[")?.strip_suffix("]]")?;
        if inner.contains('\n') || inner.contains("[[") {
            return None;
        }
        let (path, alias) = match inner.split_once('|') {
            Some((path, alias)) => (path.strip_suffix('\\').unwrap_or(path), Some(alias.trim())),
            None => (inner, None),
        };
        let (target, part) = path.split_once('#').map_or((path, None), |(target, part)| (target, Some(part.trim())));
        let part = part.filter(|part| !part.is_empty());
        let block = part.and_then(|part| part.strip_prefix('^'));
        let target = without_extension(target.trim());
        if target.is_empty() && part.is_none() {
            return None;
        }
        Some(Link {
            target: target.to_owned(),
            heading: if block.is_some() { None } else { part.map(str::to_owned) },
            block: block.map(str::to_owned),
            alias: alias.filter(|alias| !alias.is_empty()).map(str::to_owned),
            embed,
        })
    }

    /// A link in Markdown's own form, `[said](address)`, to a file of the vault. The address may be percent-encoded; the
    /// first `#` that is not ends the target. `None` where it leads elsewhere: it has a scheme, or names nothing.
    pub fn of_address(address: &str, said: &str, embed: bool) -> Option<Self> {
        let scheme = address.split(['/', '#', '?', ' ', '%']).next().and_then(|start| start.split_once(':'));
        let is_scheme = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.is_ascii();
        if scheme.is_some_and(|(scheme, _)| is_scheme(scheme)) || address.starts_with("//") {
            return None;
        }
        let (path, part) = address.split_once('#').map_or((address, None), |(path, part)| (path, Some(part)));
        let part = part.map(|part| percent_decoded(part).trim().to_owned()).filter(|part| !part.is_empty());
        let path = percent_decoded(path);
        let target = without_extension(path.trim()).to_owned();
        if target.is_empty() && part.is_none() {
            return None;
        }
        let block = part.as_deref().and_then(|part| part.strip_prefix('^')).map(str::to_owned);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Link {
            heading: part.filter(|_| block.is_none()),
            block,
            alias: Some(said).filter(|s| !s.is_empty()),
            target,
            embed,
        })
    }

    /// Name of the target without its folders.
    pub fn name(&self) -> &str {
        self.target.rsplit('/').next().unwrap_or(&self.target)
    }

    /// The words a reader sees: the alias, else the name, followed by the heading. Block ids say nothing to a reader.
    pub fn display(&self) -> String {
        if let Some(alias) = &self.alias {
            return alias.clone();
        }
        let heading = self.heading.as_deref().map(|heading| heading.replace('#', " > "));
        match (self.name(), heading) {
            ("", Some(heading)) => heading,
            (name, Some(heading)) => format!("{name} > {heading}"),
            (name, None) => name.to_owned(),
        }
    }

    /// Name of the entity that a link in `entities` stands for: the alias where it is only the true spelling of the
    /// file's name (`[[C♯|C#]]`), else the target's name.
    pub fn entity(&self) -> String {
        match &self.alias {
            Some(alias) if name::file_stem(alias).name == self.name() => alias.clone(),
            _ => self.name().to_owned(),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[[{}", if self.embed { "!" } else { "" }, self.target)?;
        if let Some(heading) = &self.heading {
            write!(f, "#{heading}")?;
        }
        if let Some(block) = &self.block {
            write!(f, "#^{block}")?;
        }
        if let Some(alias) = &self.alias {
            write!(f, "|{alias}")?;
        }
        f.write_str("]]")
    }
}

/// A text in which each run of one of the signs is a single one.
fn without_runs(text: &str, signs: [char; 2]) -> String {
    let mut last = None;
    let kept = text.chars().filter(|character| {
        let repeats = last == Some(*character) && signs.contains(character);
        last = Some(*character);
        !repeats
    });
    kept.collect()
}

fn without_extension(target: &str) -> &str {
    match target.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case("md") => stem,
        _ => target,
    }
}

/// A text with its percent signs decoded; as it is where that makes no Unicode.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digit = |place: usize| behind.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push((high * 16 + low) as u8);
            rest = behind.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn overlaps(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    ranges.iter().any(|other| other.start < range.end && range.start < other.end)
}

/// All wikilinks of a Markdown text, in order; none inside code.
pub fn find(text: &str) -> Vec<Found> {
    if !text.contains("[[") {
        return Vec::new();
    }
    let code = body::code(text);
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES;
    Parser::new_ext(text, options)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(
                Tag::Link { link_type: LinkType::WikiLink { .. }, .. }
                | Tag::Image { link_type: LinkType::WikiLink { .. }, .. },
            ) => {
                // The ranges of code are in order, so the first that ends behind the link's start decides.
                let next = code.get(code.partition_point(|code| code.end <= range.start));
                next.is_none_or(|code| code.start >= range.end).then_some(range)
            }
            _ => None,
        })
        .filter_map(|range| Some(Found { link: Link::parse(text.get(range.clone())?)?, range }))
        .collect()
}

/// The first mention of each entity in a text, where a link may stand: at word boundaries, not inside code, links,
/// addresses, HTML or tables. Of overlapping mentions the longer entity has it. In order of place.
pub fn mentions(text: &str, entities: &[String]) -> Vec<(Range<usize>, Link)> {
    let mut closed = closed_to_links(text);
    let mut longest_first: Vec<&str> = entities.iter().map(|entity| entity.trim()).collect();
    longest_first.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    longest_first.dedup();
    let mut found = Vec::new();
    for entity in longest_first {
        let Some(range) = first_mention(text, entity, &closed) else { continue };
        let Some(said) = text.get(range.clone()) else { continue };
        let link = Link::to(entity, Some(said));
        if Link::parse(&link.to_string()).as_ref() == Some(&link) && link.display() == said {
            closed.push(range.clone());
            found.push((range, link));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// Parts of a text that a new link would break.
fn closed_to_links(text: &str) -> Vec<Range<usize>> {
    let mut closed = body::code(text);
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES;
    closed.extend(Parser::new_ext(text, options).into_offset_iter().filter_map(|(event, range)| {
        matches!(
            event,
            Event::Code(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::Start(
                    Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_)
                )
        )
        .then_some(range)
    }));
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        if word.contains("://") || word.starts_with("www.") {
            closed.push(at..at + word.len());
        }
        at += word.len();
    }
    closed
}

fn first_mention(text: &str, entity: &str, closed: &[Range<usize>]) -> Option<Range<usize>> {
    let wanted: Vec<char> = entity.chars().flat_map(name::fold).collect();
    let first = *wanted.first()?;
    // Short names are common words in another case: Go, C, R, It.
    let exact = entity.chars().count() <= 3;
    let mut before = None;
    for (start, character) in text.char_indices() {
        if name::fold(character).next() == Some(first)
            && let Some(rest) = text.get(start..)
            && let Some(length) = matching(rest, &wanted)
        {
            let range = start..start + length;
            let after = text.get(range.end..).unwrap_or_default();
            if begins_word(text.get(..start).unwrap_or_default(), before, character)
                && ends_word(text.get(range.clone()).and_then(|said| said.chars().next_back()), after)
                && (!exact || text.get(range.clone()) == Some(entity))
                && !overlaps(closed, &range)
            {
                return Some(range);
            }
        }
        before = Some(character);
    }
    None
}

/// Bytes at the beginning of `text` that are `wanted`, ignoring case.
fn matching(text: &str, wanted: &[char]) -> Option<usize> {
    let mut left = wanted;
    for (at, character) in text.char_indices() {
        if left.is_empty() {
            return Some(at);
        }
        for folded in name::fold(character) {
            left = left.strip_prefix(&[folded])?;
        }
    }
    left.is_empty().then_some(text.len())
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Script {
    /// Han and Hiragana: words are not set apart.
    Unspaced,
    Katakana,
    Hangul,
    Other,
}

fn script(character: char) -> Script {
    match u32::from(character) {
        0x3005..=0x3007 | 0x3041..=0x309F | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => {
            Script::Unspaced
        }
        0x30A1..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Script::Katakana,
        0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF => Script::Hangul,
        _ => Script::Other,
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || is_combining_mark(character)
}

/// Whether two neighbouring characters belong to one word.
fn same_word(a: char, b: char) -> bool {
    is_word(a) && is_word(b) && script(a) == script(b) && script(a) != Script::Unspaced
}

/// Characters that join words to one identifier, address or tag.
fn joins(character: char) -> bool {
    matches!(character, '-' | '.' | '/' | '\\' | '@' | ':' | '&' | '=')
}

fn begins_word(text_before: &str, before: Option<char>, first: char) -> bool {
    let Some(before) = before else { return true };
    if same_word(before, first) || matches!(before, '[' | '!' | '\\' | '#' | '^' | '|' | '@' | '/' | '$') {
        return false;
    }
    let further = text_before.chars().rev().nth(1);
    !(joins(before) && further.is_some_and(|further| is_word(further) && script(further) == Script::Other))
}

fn ends_word(last: Option<char>, after: &str) -> bool {
    let (Some(last), Some(next)) = (last, after.chars().next()) else { return true };
    // Korean particles follow the word without a space.
    let particle = script(last) == Script::Hangul && script(next) == Script::Hangul;
    if is_combining_mark(next) || (same_word(last, next) && !particle) {
        return false;
    }
    if matches!(next, ']' | '[' | '(' | '|' | '+' | '#' | '$' | '\u{200D}') {
        return false;
    }
    let further = after.chars().nth(1);
    !(joins(next) && further.is_some_and(|further| is_word(further) && script(further) == Script::Other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(target: &str) -> Link {
        Link { target: target.into(), heading: None, block: None, alias: None, embed: false }
    }

    #[test]
    fn grammar() {
        for (text, expected, display) in [
            ("[[Note]]", link("Note"), "Note"),
            ("[[Note.md]]", link("Note"), "Note"),
            ("[[ Folder/Note ]]", link("Folder/Note"), "Note"),
            ("[[Note|as said]]", Link { alias: Some("as said".into()), ..link("Note") }, "as said"),
            ("[[Note\\|as said]]", Link { alias: Some("as said".into()), ..link("Note") }, "as said"),
            ("[[a|b|c]]", Link { alias: Some("b|c".into()), ..link("a") }, "b|c"),
            ("[[Note|]]", link("Note"), "Note"),
            ("[[Note#Heading]]", Link { heading: Some("Heading".into()), ..link("Note") }, "Note > Heading"),
            ("[[Note#H1#H2]]", Link { heading: Some("H1#H2".into()), ..link("Note") }, "Note > H1 > H2"),
            ("[[#Heading]]", Link { heading: Some("Heading".into()), ..link("") }, "Heading"),
            ("[[Note#^a1]]", Link { block: Some("a1".into()), ..link("Note") }, "Note"),
            ("![[picture.png|100]]", Link { alias: Some("100".into()), embed: true, ..link("picture.png") }, "100"),
            ("[[Sq]uare]]", link("Sq]uare"), "Sq]uare"),
        ] {
            let parsed = Link::parse(text).unwrap();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.display(), display, "{text}");
            assert_eq!(Link::parse(&parsed.to_string()).unwrap(), parsed, "{text}");
        }
        for bad in ["[[]]", "[[ ]]", "[[#]]", "[[|x]]", "[x]", "[[x", "", "[[a\nb]]", "[[a [[b]]"] {
            assert_eq!(Link::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_of_markdown_lead_to_files() {
        let said = |target: &str| Link { alias: Some("said".into()), ..link(target) };
        for (address, expected) in [
            ("Folder/Note%20name.md#Heading", Link { heading: Some("Heading".into()), ..said("Folder/Note name") }),
            ("Note%20name", said("Note name")),
            ("../Note.MD", said("../Note")),
            ("#A%20b", Link { heading: Some("A b".into()), ..said("") }),
            ("Note#%5Eid", Link { block: Some("id".into()), ..said("Note") }),
            ("C%23.md", said("C#")),
            ("a%3Ab.md", said("a:b")),
            ("%E6%9D%B1%E4%BA%AC.md", said("東京")),
            ("100%.md", said("100%")),
            ("%ff%zz.md", said("%ff%zz")),
            ("p.png", said("p.png")),
            ("12:30.md", said("12:30")),
        ] {
            assert_eq!(Link::of_address(address, " said ", false), Some(expected), "{address}");
        }
        for elsewhere in
            ["https://x.org/a.md", "mailto:a@x.org", "obsidian://open", "C:/a.md", "//x.org", "", "#", "  "]
        {
            assert_eq!(Link::of_address(elsewhere, "said", false), None, "{elsewhere}");
        }
    }

    #[test]
    fn links_to_names_that_no_file_can_have_keep_the_name_shown() {
        assert_eq!(Link::to("TypeScript", None).to_string(), "[[TypeScript]]");
        assert_eq!(Link::to("TypeScript", Some("TS")).to_string(), "[[TypeScript|TS]]");
        assert_eq!(Link::to("C#", None).to_string(), "[[C♯|C#]]");
        for title in ["C#", "TypeScript", "AC/DC", "a [[b]] c", "a [[[[[b", "]]]]]]", "a ]]] b"] {
            let link = Link::to(title, None).to_string();
            assert!(Link::parse(&link).is_some(), "{link}");
        }
        for (text, entity) in [("[[C♯|C#]]", "C#"), ("[[TypeScript|TS]]", "TypeScript"), ("[[Entities/Ada]]", "Ada")]
        {
            assert_eq!(Link::parse(text).unwrap().entity(), entity);
        }
    }

    #[test]
    fn links_are_found_outside_code_only() {
        let text = "See [[A]], `[[B]]`, ![[c.png]] and [[D#H|d]].\n\n```sh\n[[ -f E ]]\n```\n\n\
                    | x | y |\n|---|---|\n| [[T\\|al]] | `[[F]]` |\n\n\\[[G]] [[H\nI]] [[a [[Inner]] c]]\n";
        let found: Vec<String> = find(text).iter().map(|found| text[found.range.clone()].to_owned()).collect();
        assert_eq!(found, ["[[A]]", "![[c.png]]", "[[D#H|d]]", "[[T\\|al]]", "[[Inner]]"]);
        let table = find(text).into_iter().find(|found| found.link.target == "T").unwrap();
        assert_eq!(table.link.alias.as_deref(), Some("al"));
    }

    fn linked(text: &str, entities: &[&str]) -> String {
        let entities: Vec<String> = entities.iter().map(|entity| (*entity).to_owned()).collect();
        let mut out = text.to_owned();
        for (range, link) in mentions(text, &entities).into_iter().rev() {
            out.replace_range(range, &link.to_string());
        }
        out
    }

    #[test]
    fn first_mentions_are_linked_at_word_boundaries() {
        for (text, entity, expected) in [
            ("Prefers TypeScript. TypeScript wins.", "TypeScript", "Prefers [[TypeScript]]. TypeScript wins."),
            ("likes typescript", "TypeScript", "likes [[TypeScript|typescript]]"),
            ("TypeScript's types", "TypeScript", "[[TypeScript]]'s types"),
            ("TypeScripts", "TypeScript", "TypeScripts"),
            ("l'API d'Ada", "Ada", "l'API d'[[Ada]]"),
            ("call Rust(2) in **Rust**", "Rust", "call Rust(2) in **[[Rust]]**"),
            ("let's go with Go", "Go", "let's go with [[Go]]"),
            ("go on", "Go", "go on"),
            ("C++ and C# and C", "C", "C++ and C# and [[C]]"),
            ("writes C# daily", "C#", "writes [[C♯|C#]] daily"),
            ("Node.js, not Node", "Node", "Node.js, not [[Node]]"),
            ("react-native and React", "React", "react-native and [[React]]"),
            ("`Rust` then Rust", "Rust", "`Rust` then [[Rust]]"),
            ("https://rust.org/Rust and Rust", "Rust", "https://rust.org/Rust and [[Rust]]"),
            ("ada@Rust.org, Rust", "Rust", "ada@Rust.org, [[Rust]]"),
            ("[Rust](x) #Rust [[Rust]] <Rust> Rust", "Rust", "[Rust](x) #Rust [[Rust]] <Rust> [[Rust]]"),
            ("[text](<Rust> \"Rust\") Rust", "Rust", "[text](<Rust> \"Rust\") [[Rust]]"),
            ("| Rust |\n|---|\n| Rust |\n\nRust", "Rust", "| Rust |\n|---|\n| Rust |\n\n[[Rust]]"),
            ("東京都に住む", "東京", "[[東京]]都に住む"),
            ("サーバーはRustで書く", "Rust", "サーバーは[[Rust]]で書く"),
            ("カタカナ", "カタ", "カタカナ"),
            ("서울에서 산다", "서울", "[[서울]]에서 산다"),
            ("cafe\u{301} cafe", "cafe", "cafe\u{301} [[cafe]]"),
            ("in der STRASSE", "Straße", "in der [[Straße|STRASSE]]"),
            ("\\Rust", "Rust", "\\Rust"),
            ("nothing here", "Rust", "nothing here"),
            ("empty", "", "empty"),
        ] {
            assert_eq!(linked(text, &[entity]), expected, "{entity} in {text:?}");
        }
        assert_eq!(
            linked("React Native, then React", &["React", "React Native", "React"]),
            "[[React Native]], then [[React]]"
        );
    }
}
