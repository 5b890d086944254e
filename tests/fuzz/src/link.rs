//! Notes of any text in a vault with files of any names: what they hold, and where their links lead.
//!
//! - Links, tasks, block ids and sections lie in the note, in order; tags and ids hold what they may.
//! - A link leads to a file of the vault or nowhere, whatever the order of the files; hidden ones change nothing.
//! - The whole path of a file leads to it, or to another whose path is equal to it for a case-blind reader.

use ebbmark::note::link::Link;
use ebbmark::note::resolve::{Files, Resolution};
use ebbmark::note::{Note, name};

/// Lines up to a zero byte are paths of files; what follows is a note that lies at the first of them.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (paths, text) = text.split_once('\0').unwrap_or(("a.md\nb/A.md\nc/d.md\np.png", &text));
    let paths: Vec<&str> = paths.lines().filter(|path| !path.is_empty()).take(64).collect();
    let note = Note::parse(text);
    contents(&note, text);

    let files = Files::new(paths.iter().copied());
    let hidden = [".x.md", ".a/b.md", "b/.c/a.md"];
    let shuffled = Files::new(paths.iter().rev().copied().chain(hidden));
    let from = paths.first().copied().unwrap_or("x.md");
    for link in note.all_links() {
        let found = files.resolve(&link, from);
        assert_eq!(found, shuffled.resolve(&link, from), "{link}");
        if let Some(path) = found.path() {
            assert!(paths.contains(&path) || (path == from && link.target.is_empty()), "{link} leads to {path}");
        }
        if let Resolution::Ambiguous { path, others } = found {
            assert!(others.iter().all(|other| path < *other && paths.contains(other)), "{link}: {path} or {others:?}");
        }
        // What was read is written as a link again.
        drop(Link::parse(&link.to_string()));
    }
    for path in &paths {
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        if is_hidden || path.starts_with('/') {
            continue;
        }
        let target = path.strip_suffix(".md").unwrap_or(path);
        // Its own extension is taken for that of a note once more, or it is none of a file that links reach.
        let has_extension = target != *path || path.rsplit('/').next().is_some_and(|name| name.contains('.'));
        if target.to_lowercase().ends_with(".md") || target.is_empty() || !has_extension {
            continue;
        }
        let link = Link { target: target.to_owned(), heading: None, block: None, alias: None, embed: false };
        let found = files.resolve(&link, "q/x.md").path().map(name::key);
        let attachment = Some(name::key(target));
        assert!(found == Some(name::key(path)) || found == attachment, "{path} leads to {found:?}");
    }
}

fn contents(note: &Note, text: &str) {
    let content = note.content();
    let mut last = 0;
    for found in &content.links {
        assert!(text.get(found.range.clone()).is_some() && found.range.start >= last, "{found:?}");
        last = found.range.start;
    }
    for tag in &content.tags {
        assert!(!tag.contains(|c: char| c.is_whitespace() || c == '#') && !tag.is_empty(), "{tag:?}");
        assert!(text.contains(&format!("#{tag}")), "{tag:?}");
    }
    for block in &content.blocks {
        assert!(text[block.range.clone()].trim_start() == format!("^{}", block.id), "{block:?}");
    }
    for task in &content.tasks {
        assert_eq!(text[task.mark_range.clone()].chars().collect::<Vec<_>>(), [task.mark]);
        assert!(task.range.start < task.mark_range.start && task.mark_range.end < task.range.end, "{task:?}");
    }
    let sections = content.sections();
    for pair in sections.windows(2) {
        assert_eq!(pair[0].range.end, pair[1].range.start);
    }
    for section in &sections {
        assert!(text.get(section.range.clone()).is_some() && section.path.len() <= usize::from(section.level));
    }
}
