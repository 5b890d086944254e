//! Notes: a note's text to its parts and back.
//!
//! A note is frontmatter, the memory's text, and managed blocks:
//!
//! ```markdown
//! ---
//! id: 7k2m9x4qwc3r
//! kind: preference
//! ---
//! Prefers [[TypeScript]] over JavaScript.
//!
//! %% ebbmark:related %%
//! - supersedes [[Prefers JavaScript]]
//! %% /ebbmark:related %%
//! ```
//!
//! The text is Markdown. So that any text reads back as it was, `[[` and `%%` in it are written `\[\[` and `\%\%`
//! (outside code), which readers show without the backslashes. Wikilinks read as the words they show; those that
//! [`render`] makes stand for the first mention of each entity.

mod block;
mod body;
mod comment;
mod content;
pub mod frontmatter;
pub mod link;
pub mod name;
mod part;
mod problem;
mod reading;
pub mod resolve;
mod yaml;

use std::ops::Range;

pub use content::{Block, Content, Section, Task};
pub use frontmatter::Value;
use link::Link;
pub use problem::Problem;

use crate::error::{Error, Result};
use crate::id::MemoryId;

/// A note, read. Whatever its text, there is one; what is wrong with it stands in `problems`.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    original: String,
    pairs: frontmatter::Pairs,
    block: Option<Range<usize>>,
    body: Range<usize>,
    /// Why Ebbmark must not write into this note; empty where it may.
    pub problems: Vec<Problem>,
}

impl Note {
    /// Reads a note from the text of its file.
    pub fn parse(text: &str) -> Note {
        let split = frontmatter::split(text);
        let (pairs, mut problems) = match split.block.clone().and_then(|block| text.get(block)) {
            Some(block) => frontmatter::read(block),
            None => (Vec::new(), frontmatter::missed_block(text).into_iter().collect()),
        };
        let mut note =
            Note { original: text.to_owned(), pairs, block: split.block, body: split.body, problems: Vec::new() };
        if note.id().is_none()
            && let Some(id) = note.scalar("id")
        {
            problems.push(Problem::ForeignId(id));
        }
        problems.extend(body::outside_blocks(note.body()).1.into_iter().map(Problem::EndlessBlock));
        note.problems = problems;
        note
    }

    /// The text of the file, as it was read.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Everything behind the frontmatter.
    pub fn body(&self) -> &str {
        self.original.get(self.body.clone()).unwrap_or_default()
    }

    /// The memory's text: the body outside managed blocks, wikilinks as their display text, escapes undone, trimmed.
    pub fn text(&self) -> String {
        body::read(self.body())
    }

    /// The note with another memory text: frontmatter, managed blocks and lines that say what they said keep their
    /// bytes, line ends their kind.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the note has problems: then it is not written.
    pub fn with_text(&self, text: &str, entities: &[String]) -> Result<String> {
        if let Some(problem) = self.problems.first() {
            return Err(Error::invalid("note", problem.to_string(), "repair its frontmatter in Obsidian first"));
        }
        if self.text() == text {
            return Ok(self.original.clone());
        }
        let head = self.original.get(..self.body.start).unwrap_or_default();
        if let Some(body) = body::revised(self.body(), text, entities) {
            return Ok(format!("{head}{body}"));
        }
        let mut body = body::write(text, entities);
        body.push('\n');
        for block in body::parts(self.body()).blocks {
            body.push('\n');
            body.push_str(&block);
            body.push('\n');
        }
        if self.block.is_some() && !head.ends_with('\n') {
            // Nothing follows the frontmatter, not even a line end.
            body.insert(0, '\n');
        }
        let body = if self.original.contains("\r\n") { body.replace('\n', "\r\n") } else { body };
        Ok(format!("{head}{body}"))
    }

    /// Wikilinks and embeds of the body, outside code and managed blocks.
    pub fn links(&self) -> Vec<Link> {
        let (body, _) = body::outside_blocks(self.body());
        link::find(&body).into_iter().map(|found| found.link).collect()
    }

    /// What the body holds, as Obsidian reads it: for notes of a person's own.
    pub fn content(&self) -> Content<'_> {
        Content::read(self)
    }

    /// The parts of the note between its headings, to be recalled one by one.
    pub fn sections(&self) -> Vec<Section> {
        self.content().sections()
    }

    /// The tasks of the body.
    pub fn tasks(&self) -> Vec<Task> {
        self.content().tasks
    }

    /// Links to files of the vault as Obsidian counts them: in the body outside code and comments, in both of Markdown's
    /// forms, then those in texts of the frontmatter.
    pub fn all_links(&self) -> Vec<Link> {
        self.content().all_links()
    }

    /// Tags of the frontmatter and those in the body, without `#`, each once whatever its case.
    pub fn all_tags(&self) -> Vec<String> {
        self.content().all_tags()
    }

    /// The value of a key of the frontmatter.
    pub fn value(&self, key: &str) -> Option<&Value> {
        frontmatter::find(&self.pairs, key).and_then(|place| self.pairs.get(place)).map(|(_, value)| value)
    }

    fn scalar(&self, key: &str) -> Option<String> {
        let text = self.value(key).and_then(yaml::scalar_text)?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.scalar(key)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The memory that this note is. Also found where the frontmatter does not parse, so that a slip of the pen does
    /// not make the memory vanish.
    pub fn id(&self) -> Option<MemoryId> {
        if !self.pairs.is_empty() {
            return self.scalar("id")?.parse().ok();
        }
        let block = self.original.get(self.block.clone()?)?;
        let value = block.lines().find_map(|line| line.strip_prefix("id:"))?;
        value.trim().trim_matches(['"', '\'']).parse().ok()
    }

    /// The `title` key, which a note has where its file's name had to be cut.
    pub fn title_key(&self) -> Option<&str> {
        self.value("title")?.as_str().map(str::trim).filter(|title| !title.is_empty())
    }

    /// The note's title: the `title` key, else the file's name without extension and without the mark of
    /// [`name::unique`].
    pub fn title<'a>(&'a self, stem: &'a str) -> &'a str {
        let named = || self.id().map_or(stem, |id| name::without_mark(stem, id));
        self.title_key().unwrap_or_else(named)
    }

    /// The `kind` key.
    pub fn kind(&self) -> Option<String> {
        self.scalar("kind")
    }

    /// The `status` key.
    pub fn status(&self) -> Option<String> {
        self.scalar("status")
    }

    /// The `created` key: a day, or whatever a person wrote there.
    pub fn created(&self) -> Option<String> {
        self.scalar("created")
    }

    /// The `last_used` key, as [`Note::created`].
    pub fn last_used(&self) -> Option<String> {
        self.scalar("last_used")
    }

    /// The `source` key.
    pub fn source(&self) -> Option<String> {
        self.scalar("source")
    }

    /// The `uses` key, where it is a whole number.
    pub fn uses(&self) -> Option<u64> {
        let uses = self.number("uses")?;
        (uses >= 0.0 && uses.fract() == 0.0).then_some(uses as u64)
    }

    /// The `strength` key, where it is a finite number.
    pub fn strength(&self) -> Option<f64> {
        self.number("strength")
    }

    /// The `half_life_days` key, where it is a finite number.
    pub fn half_life_days(&self) -> Option<f64> {
        self.number("half_life_days")
    }

    /// The `pinned` key: a switch, or the words people use for one.
    pub fn pinned(&self) -> Option<bool> {
        match self.scalar("pinned")?.to_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// Tags without `#`, in the order written, each once: from `tags` or the old key `tag`, as a list or as one text
    /// with commas or blanks.
    pub fn tags(&self) -> Vec<String> {
        let separates = |c: char| c == ',' || c.is_whitespace();
        self.words("tags", "tag", separates, |tag| tag.trim_start_matches('#').to_owned())
    }

    /// Other names of the note: from `aliases` or the old key `alias`, as a list or as one text with commas.
    pub fn aliases(&self) -> Vec<String> {
        self.words("aliases", "alias", |c| c == ',', str::to_owned)
    }

    fn words(&self, key: &str, old: &str, separates: fn(char) -> bool, clean: fn(&str) -> String) -> Vec<String> {
        let both = [self.value(key), self.value(old)];
        let words = both.into_iter().flatten().flat_map(|value| match value {
            Value::Sequence(items) => items.iter().filter_map(yaml::scalar_text).collect(),
            one => {
                let text = yaml::scalar_text(one).unwrap_or_default();
                text.split(separates).map(str::to_owned).collect::<Vec<_>>()
            }
        });
        once_each(words.map(|word| clean(word.trim())))
    }

    /// Names of the entities in the `entities` key, in the order written, each once: quoted links, plain names, and
    /// the lists within lists that unquoted links are to YAML.
    pub fn entities(&self) -> Vec<String> {
        let mut names = Vec::new();
        match self.value("entities") {
            Some(Value::Sequence(items)) => items.iter().for_each(|item| entity_names(item, &mut names)),
            Some(one) => entity_names(one, &mut names),
            None => {}
        }
        once_each(names)
    }
}

/// The name by which a note's `entities` say an entity: some names no link can spell, as `A|B` or `[x]`.
pub fn entity_as_written(entity: &str) -> String {
    let mut names = Vec::new();
    entity_names(&Value::from(Link::to(entity, None).to_string()), &mut names);
    names.pop().unwrap_or_default()
}

fn entity_names(value: &Value, names: &mut Vec<String>) {
    match value {
        // `[[Ada, Countess]]` without quotes is a list in a list, split at the comma.
        Value::Sequence(parts) if parts.iter().all(|part| !part.is_sequence()) => {
            names.push(parts.iter().filter_map(yaml::scalar_text).collect::<Vec<_>>().join(", "));
        }
        Value::Sequence(items) => items.iter().for_each(|item| entity_names(item, names)),
        one => {
            let Some(text) = yaml::scalar_text(one) else { return };
            let links = link::find(&text);
            if links.is_empty() {
                names.push(text.trim().to_owned());
            }
            names.extend(links.iter().map(|found| found.link.entity()));
        }
    }
}

/// Without empty texts and without those that differ from an earlier one in case only.
fn once_each(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    words.into_iter().filter(|word| !word.is_empty() && seen.insert(name::key(word))).collect()
}

/// What a new note says.
#[derive(Debug, Clone, PartialEq)]
pub struct NewNote<'a> {
    /// The memory.
    pub id: MemoryId,
    /// The full title, only where the file's name says less than it ([`name::Stem::cut`]).
    pub title: Option<&'a str>,
    /// Kind of memory.
    pub kind: &'a str,
    /// Status of the memory.
    pub status: &'a str,
    /// Day of creation, as `2026-11-29`.
    pub created: &'a str,
    /// Day of the last use, as `2026-11-29`.
    pub last_used: &'a str,
    /// Counted uses.
    pub uses: u64,
    /// Strength, 0 to 2.
    pub strength: f64,
    /// Half-life, in days.
    pub half_life_days: f64,
    /// Whether the memory is pinned.
    pub pinned: bool,
    /// Names of the entities that the memory is about.
    pub entities: &'a [String],
    /// Of these, the ones that have a note: the first mention of each in the text is a link.
    pub linked: &'a [String],
    /// Where the memory comes from, for people.
    pub source: &'a str,
    /// Tags, with or without `#`.
    pub tags: &'a [String],
    /// Other names of the note.
    pub aliases: &'a [String],
    /// The memory's text: trimmed, line ends `\n`.
    pub text: &'a str,
}

/// Writes a new note. [`Note::text`] of the result is `note.text`, whatever it holds.
pub fn render(note: &NewNote<'_>) -> String {
    let list = |items: Vec<String>| Value::from(once_each(items));
    let entities = once_each(note.entities.iter().map(|entity| entity.trim().to_owned()));
    let links = entities.iter().map(|entity| Link::to(entity, None).to_string()).collect();
    let tags = note.tags.iter().map(|tag| tag.trim().trim_start_matches('#').to_owned()).collect();
    let title = note.title.map(|title| ("title", Value::from(title)));
    let mut out = String::from("---\n");
    for (key, value) in [("id", Value::from(note.id.to_string()))].into_iter().chain(title).chain([
        ("kind", Value::from(note.kind)),
        ("status", Value::from(note.status)),
        ("created", Value::from(note.created)),
        ("last_used", Value::from(note.last_used)),
        ("uses", Value::from(note.uses)),
        ("strength", Value::from(note.strength)),
        ("half_life_days", Value::from(note.half_life_days)),
        ("pinned", Value::from(note.pinned)),
        ("entities", list(links)),
        ("source", Value::from(note.source)),
        ("tags", list(tags)),
        ("aliases", list(note.aliases.to_vec())),
    ]) {
        out.push_str(&yaml::entry(key, &value, "\n").expect("these values are flat"));
    }
    out.push_str("---\n");
    out.push_str(&body::write(note.text, note.linked));
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    fn plain(text: &str) -> NewNote<'_> {
        NewNote {
            id: "7k2m9x4qwc3r".parse().unwrap(),
            title: None,
            kind: "preference",
            status: "active",
            created: "2026-11-29",
            last_used: "2026-12-03",
            uses: 7,
            strength: 1.2,
            half_life_days: 180.0,
            pinned: false,
            entities: &[],
            linked: &[],
            source: "Claude Desktop, 2026-11-29",
            tags: &[],
            aliases: &[],
            text,
        }
    }

    #[test]
    fn lines_that_say_what_they_said_keep_a_persons_bytes() {
        let block = "%% ebbmark:related %%\n- [[x]]\n%% /ebbmark:related %%\n";
        let old = format!(
            "---\nid: 7k2m9x4qwc3r\n---\n\nAda lives in Munich  \nSee ![[map.png]] and [[Grace|Ms Hopper]] \
                           %%mine%%.\n\n{block}\n> [!note] on [[Grace]]\nthe end"
        );
        let note = Note::parse(&old);
        for (from, to, from_body, to_body) in [
            ("in Munich  ", "in Berlin with Grace", "Ada lives in Munich  ", "[[Ada]] lives in Berlin with Grace"),
            ("the end", "the end of Ada\n\nand more", "the end", "the end of [[Ada]]\n\nand more"),
            ("Ada lives in Munich  \n", "", "Ada lives in Munich  \n", ""),
            ("\nthe end", "", "\nthe end", "\n"),
            ("> [!note]", "A [[new]] line\n> [!note]", "> [!note]", "A \\[\\[new]] line\n> [!note]"),
        ] {
            let text = note.text().replace(from, to);
            let new = note.with_text(&text, &strings(&["Ada", "Grace"])).unwrap();
            assert_eq!(new, old.replace(from_body, to_body), "{from:?}");
            assert_eq!(Note::parse(&new).text(), text.trim());
        }
    }

    #[test]
    fn another_text_keeps_frontmatter_blocks_and_line_ends() {
        let old = "---\r\nid: 7k2m9x4qwc3r # mine\r\nmood: fine\r\n---\r\nOld [[Text]]\r\n\r\n\
                   %% ebbmark:related %%\r\n- x\r\n%% /ebbmark:related %%\r\n";
        let new = Note::parse(old).with_text("New text of Ana\nin two lines", &strings(&["Ana"])).unwrap();
        let expected = "---\r\nid: 7k2m9x4qwc3r # mine\r\nmood: fine\r\n---\r\nNew text of [[Ana]]\r\nin two lines\r\n\r\n\
                        %% ebbmark:related %%\r\n- x\r\n%% /ebbmark:related %%\r\n";
        assert_eq!(new, expected);
        assert_eq!(Note::parse(&new).text(), "New text of Ana\nin two lines");
        assert_eq!(Note::parse(&new).with_text("New text of Ana\nin two lines", &[]).unwrap(), new);
        assert!(Note::parse("---\nid: [\n---\ntext").with_text("new", &[]).is_err());
    }

    const SHOWN: &str = "\
---
id: 7k2m9x4qwc3r
kind: preference
status: active
created: 2026-11-29
last_used: 2026-12-03
uses: 7
strength: 1.2
half_life_days: 180
pinned: false
entities:
  - \"[[TypeScript]]\"
source: Claude Desktop, 2026-11-29
tags:
  - languages
aliases: []
---
Prefers [[TypeScript]] over JavaScript for new projects.
";

    #[test]
    fn a_new_note_has_the_documented_shape() {
        let (entities, tags) = (strings(&["TypeScript"]), strings(&["#languages"]));
        let text = "Prefers TypeScript over JavaScript for new projects.";
        let rendered = render(&NewNote { entities: &entities, linked: &entities, tags: &tags, ..plain(text) });
        assert_eq!(rendered, SHOWN);
        let related =
            "\n%% ebbmark:related %%\n## Related\n- supersedes [[Prefers JavaScript]]\n%% /ebbmark:related %%\n";
        let note = Note::parse(&format!("{SHOWN}{related}"));
        assert_eq!(note.text(), text);
        assert_eq!(note.problems, []);
        assert_eq!(note.id().unwrap().to_string(), "7k2m9x4qwc3r");
        assert_eq!((note.kind().as_deref(), note.status().as_deref()), (Some("preference"), Some("active")));
        assert_eq!((note.created().as_deref(), note.last_used().as_deref()), (Some("2026-11-29"), Some("2026-12-03")));
        assert_eq!((note.uses(), note.strength(), note.half_life_days()), (Some(7), Some(1.2), Some(180.0)));
        assert_eq!((note.pinned(), note.source().as_deref()), (Some(false), Some("Claude Desktop, 2026-11-29")));
        assert_eq!((note.entities(), note.tags(), note.aliases()), (entities, strings(&["languages"]), Vec::new()));
        assert_eq!(note.links().iter().map(Link::to_string).collect::<Vec<_>>(), ["[[TypeScript]]"]);
    }

    #[test]
    fn the_title_is_the_key_or_the_name_without_its_mark() {
        let titled = Note::parse(&render(&NewNote { title: Some("Rule: keep it"), ..plain("x") }));
        assert_eq!(titled.title_key(), Some("Rule: keep it"));
        assert_eq!(titled.title("Rule - keep it"), "Rule: keep it");
        let named = Note::parse(&render(&plain("x")));
        assert_eq!(named.title_key(), None);
        assert_eq!(named.title("Likes tea (7k2m)"), "Likes tea");
        assert_eq!(named.title("Likes tea (often)"), "Likes tea (often)");
    }

    #[test]
    fn values_are_read_however_people_write_them() {
        let note = |lines: &str| Note::parse(&format!("---\n{lines}\n---\n"));
        for (lines, tags) in [
            ("tags: [a, '#b', a, A, 2024]", vec!["a", "b", "2024"]),
            ("tags: 'a, #b c'", vec!["a", "b", "c"]),
            ("tag: a", vec!["a"]),
            ("tags:\n- a\n-\ntag: b", vec!["a", "b"]),
            ("tags:", vec![]),
            ("Tags: x/y", vec!["x/y"]),
        ] {
            assert_eq!(note(lines).tags(), tags, "{lines}");
        }
        assert_eq!(note("aliases: Ada, Countess\nalias: [Ms L]").aliases(), ["Ada", "Countess", "Ms L"]);
        for (lines, entities) in [
            ("entities:\n  - \"[[Ada]]\"\n  - Bob\n  - '[[People/Cy|C]]'", vec!["Ada", "Bob", "Cy"]),
            ("entities: [[Ada]]", vec!["Ada"]),
            ("entities: [[[Ada]], [[Bob, Jr]]]", vec!["Ada", "Bob, Jr"]),
            ("entities:\n  - [[Ada]]\n  - [[Bob]]", vec!["Ada", "Bob"]),
            ("entities: \"[[Ada]], [[C♯|C#]]\"", vec!["Ada", "C#"]),
            ("entities: Ada", vec!["Ada"]),
            ("entities:", vec![]),
        ] {
            assert_eq!(note(lines).entities(), entities, "{lines}");
        }
        let odd =
            note("strength: '1.5'\nuses: 7.0\npinned: yes\nhalf_life_days: .inf\ncreated: 2026-01-02T10:00:00\nkind:");
        assert_eq!(
            (odd.strength(), odd.uses(), odd.pinned(), odd.half_life_days()),
            (Some(1.5), Some(7), Some(true), None)
        );
        assert_eq!((odd.created().as_deref(), odd.kind()), (Some("2026-01-02T10:00:00"), None));
        let wrong = note("strength: much\nuses: -1\npinned: maybe");
        assert_eq!((wrong.strength(), wrong.uses(), wrong.pinned()), (None, None, None));
    }

    #[test]
    fn a_note_with_problems_keeps_its_text_and_its_id() {
        let broken = Note::parse("---\nid: 7k2m9x4qwc3r\ntitle: a: b\n---\nStill [[Ada|here]].");
        assert!(matches!(broken.problems.as_slice(), [Problem::Yaml(_)]));
        assert_eq!((broken.text().as_str(), broken.id().is_some()), ("Still here.", true));
        let foreign = Note::parse("---\nid: zettel-12\n---\nx");
        assert_eq!((foreign.id(), foreign.problems), (None, vec![Problem::ForeignId("zettel-12".into())]));
        for (text, problem) in [
            ("\n---\nid: 7k2m9x4qwc3r\n---\nx", Problem::Misplaced),
            ("---\ntitle: x\n\nbody", Problem::Unclosed),
            ("a\n%% ebbmark:related %%\nb", Problem::EndlessBlock("related".into())),
        ] {
            assert_eq!(Note::parse(text).problems, [problem], "{text:?}");
        }
        for text in ["", "\u{FEFF}x", "---\n---", "---\n\nonly a rule", "---\r\na: 1\r\n---\r\nx", "x\n---\ny"] {
            assert_eq!(Note::parse(text).problems, [], "{text:?}");
        }
    }

    const HOSTILE: &[&str] = &[
        "---",
        "\n---\n",
        "\n...\n",
        "%%",
        "%% ebbmark:related %%",
        "\n%% /ebbmark:related %%\n",
        "```",
        "\n```\n",
        "`",
        "[[x]]",
        "![[x]]",
        "[[x|y]]",
        "#tag",
        "^block",
        "<script>",
        "<iframe src=\"x\">",
        "[a](javascript:x)",
        "<!--",
        "-->",
        "```dataviewjs\n",
        "<% tp.x %>",
        "[^1]",
        "\nid: 000000000000\n",
        "\n",
        " ",
        "\\",
        "key:: value",
        "{{date}}",
        "Ada",
        "é",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn any_memory_reads_back(
            parts in prop::collection::vec(prop::sample::select(HOSTILE), 0..16),
            source in r"(\PC|[\n\t:#'\x22]){0,40}",
            title in prop::option::of(r"\PC{1,40}"),
            tags in prop::collection::vec(r"[\w/-]{1,10}", 0..4),
            strength in 0.0..2.0f64,
        ) {
            let text = parts.concat();
            let entities = strings(&["Ada", "C#", "yes: no"]);
            let new = NewNote {
                entities: &entities, source: &source, title: title.as_deref(), tags: &tags, strength, ..plain(text.trim())
            };
            let note = Note::parse(&render(&new));
            prop_assert_eq!(&note.problems, &[]);
            prop_assert_eq!(note.text(), text.trim());
            prop_assert_eq!(note.id(), Some(new.id));
            prop_assert_eq!(note.source().unwrap_or_default(), source.trim());
            prop_assert_eq!(note.title_key(), title.as_deref().map(str::trim).filter(|title| !title.is_empty()));
            prop_assert_eq!(note.strength(), Some(strength));
            prop_assert_eq!(note.entities(), strings(&["Ada", "C#", "yes: no"]));
            prop_assert_eq!(note.tags(), once_each(tags));
        }

        #[test]
        fn another_text_reads_back_and_lines_that_stay_keep_their_bytes(
            lines in prop::collection::vec(prop::sample::select(HOSTILE), 1..12),
            place in 0..12usize,
            other in prop::sample::select(HOSTILE),
            crlf in any::<bool>(),
        ) {
            let body = lines.join("\n");
            let old = format!("---\nid: 7k2m9x4qwc3r\n---\n{body}\n");
            let old = if crlf { old.replace('\n', "\r\n") } else { old };
            let note = Note::parse(&old);
            prop_assume!(note.problems.is_empty());
            let text = note.text();
            let mut new: Vec<&str> = text.split('\n').collect();
            let place = place.min(new.len());
            new.insert(place, other);
            let new = new.join("\n");
            let written = note.with_text(new.trim(), &strings(&["Ada"])).unwrap();
            let read = Note::parse(&written);
            prop_assert_eq!(read.text(), new.trim().replace("\r\n", "\n"), "{:?}", written);
            prop_assert_eq!(body::parts(read.body()).blocks, body::parts(note.body()).blocks);
            prop_assert_eq!(read.with_text(new.trim(), &[]).unwrap(), written);
        }

        #[test]
        fn any_text_is_a_note(text in r"(\PC|[\n\r\t\[\]%:`#-]){0,200}", fence in any::<bool>()) {
            let text = if fence { format!("---\n{text}\n---\n{text}") } else { text };
            let note = Note::parse(&text);
            prop_assert_eq!(note.original(), text.as_str());
            prop_assert!(text.ends_with(note.body()));
            note.text();
            note.links();
        }
    }
}
