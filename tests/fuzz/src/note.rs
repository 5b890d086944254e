//! A note of any text: its frontmatter is edited, and its memory's text is.
//!
//! - Editing one key changes no byte outside that key's lines, never the body, and reads back as the value.
//! - The same edit again changes nothing; a refused edit is a refusal with a hint.
//! - A new text leaves frontmatter and managed blocks as they are, and reads back as it was given.
//! - A rendered note of any text reads back, and its name is one that every file system takes.

use ebbmark::id::MemoryId;
use ebbmark::note::frontmatter::{set, split};
use ebbmark::note::{NewNote, Note, Problem, Value, name, render};

use super::home::Choices;

/// Keys that Ebbmark writes, and one that it does not know.
const KEYS: [&str; 8] = ["strength", "pinned", "status", "tags", "title", "uses", "entities", "mood"];

/// The first bytes choose key and value; what follows is the note, and behind a zero byte another text.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let key = KEYS[choices.below(KEYS.len())];
    let value = value(&mut choices);
    let rest = String::from_utf8_lossy(choices.rest());
    let (text, other) = rest.split_once('\0').unwrap_or((&rest, "Something else."));

    edit(text, key, &value);
    rewrite(text, other);
    new_note(other, text);
}

fn value(choices: &mut Choices<'_>) -> Value {
    let text = |choices: &mut Choices<'_>| Value::from(String::from_utf8_lossy(choices.some_bytes()).into_owned());
    match choices.below(6) {
        0 => Value::from(choices.is_heads()),
        1 => Value::from(choices.below(1 << 16) as u64),
        2 => Value::from(f64::from(choices.byte()) / 8.0 + 0.1),
        3 => Value::from((0..choices.below(4)).map(|_| text(choices)).collect::<Vec<_>>()),
        4 => Value::Null,
        _ => text(choices),
    }
}

fn edit(text: &str, key: &str, value: &Value) {
    let before = Note::parse(text);
    let edited = match set(text, key, value) {
        Ok(edited) => edited,
        Err(error) => {
            assert!(!error.hint().is_empty(), "{error}");
            return;
        }
    };
    let is_of_the_block = |problem: &Problem| !matches!(problem, Problem::ForeignId(_) | Problem::EndlessBlock(_));
    assert!(!before.problems.iter().any(is_of_the_block), "{:?} was edited", before.problems);
    let after = Note::parse(&edited);
    assert_eq!(after.body(), before.body(), "the body changed");
    if edited != text {
        assert_eq!(after.value(key), Some(value), "the value reads otherwise:\n{edited}");
    }
    assert_eq!(set(&edited, key, value).unwrap(), edited, "the same edit again changed something");
    only_that_key(text, &edited, key);
}

/// Between what both texts begin with and what both end with, no line of the old text begins another key.
fn only_that_key(old: &str, new: &str, key: &str) {
    let parts = split(old);
    let Some(block) = parts.block else {
        let (mark, rest) = old.split_at(parts.body.start);
        assert!(new.starts_with(mark) && new.ends_with(rest), "a note without frontmatter lost something");
        return;
    };
    let inner = &old[block.clone()];
    let same = |(a, b): &(&str, &str)| a == b;
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let first = old_lines.iter().copied().zip(new_lines.iter().copied()).take_while(same).count();
    let most = old_lines.len().min(new_lines.len()) - first;
    let last = old_lines.iter().rev().copied().zip(new_lines.iter().rev().copied()).take(most).take_while(same).count();
    // Inside quotes and block texts a line may look like a key.
    if inner.contains(['"', '\'', '|', '>', '{', '[', '?']) {
        return;
    }
    for line in &old_lines[first..old_lines.len() - last] {
        let begins = line.split_once(':').map(|(name, _)| name).filter(|name| !name.starts_with([' ', '\t', '-', '#']));
        if let Some(name) = begins {
            assert!(name.trim().eq_ignore_ascii_case(key), "a line of `{name}` changed with `{key}`");
        }
    }
}

fn rewrite(text: &str, other: &str) {
    let note = Note::parse(text);
    let other = plain(other);
    let Ok(written) = note.with_text(&other, &["Ada".to_owned()]) else {
        assert!(!note.problems.is_empty());
        return;
    };
    assert!(note.problems.is_empty(), "{:?} was written", note.problems);
    let head = text.len() - note.body().len();
    assert_eq!(written.get(..head), text.get(..head), "the frontmatter changed");
    // Notes of ours have frontmatter; without it a text that begins with `---` would become one.
    if split(text).block.is_some() {
        assert_eq!(Note::parse(&written).text(), other, "the text reads otherwise:\n{written}");
    }
}

fn new_note(text: &str, title: &str) {
    let text = plain(text);
    let id = MemoryId::from_source("a note");
    let stem = name::file_stem(title);
    let file = name::unique(&stem.name, |taken| taken == name::key(&stem.name), id);
    for name in [&stem.name, &file] {
        assert!(!name.is_empty() && name.len() + ".md".len() <= 255, "{name:?}");
        assert!(
            !name.contains(['/', '\\', '\0', ':', '\n']) && !name.starts_with('.') && name.trim() == name,
            "{name:?}"
        );
    }
    let title = plain(title).split_whitespace().collect::<Vec<_>>().join(" ");
    // As long as a title may be.
    let title: String = title.chars().take(512).collect();
    let title = title.trim();
    let note = NewNote {
        id,
        title: (!title.is_empty()).then_some(title),
        kind: "fact",
        status: "active",
        created: "2026-12-01",
        last_used: "2026-12-01",
        uses: 3,
        strength: 1.25,
        half_life_days: 180.0,
        pinned: false,
        entities: &[title.to_owned()],
        linked: &[title.to_owned()],
        source: title,
        tags: &["tea".into()],
        aliases: &[],
        text: &text,
    };
    let written = render(&note);
    let reread = Note::parse(&written);
    assert_eq!(reread.problems, [], "{written}");
    assert_eq!((reread.id(), reread.text().as_str()), (Some(id), &*text), "{written}");
    assert_eq!(reread.title_key(), note.title, "{written}");
    assert_eq!((reread.uses(), reread.strength(), reread.pinned()), (Some(3), Some(1.25), Some(false)));
}

/// A memory's text as it is stored: line ends are one character, nothing else is a control character, nothing around it.
fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    text.trim().to_owned()
}
