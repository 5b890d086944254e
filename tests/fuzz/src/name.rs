//! Any texts as titles of memories in one vault.
//!
//! - Every title gives a name that all systems and links take, and the name gives itself.
//! - No two names are one to a disk that ignores case, composes or decomposes, whatever its rules for these are.
//! - The link made of a title leads to its file; a title made of a text is one short line.

use std::collections::BTreeSet;

use ebbmark::id::MemoryId;
use ebbmark::note::link::Link;
use ebbmark::note::name;
use ebbmark::note::resolve::Files;

/// Each line is a title, and the whole a text.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let title = name::title_from(&text);
    assert!(!title.is_empty() && title.chars().count() <= name::MAX_TITLE_CHARS && !title.contains('\n'), "{title:?}");

    let mut names: Vec<String> = Vec::new();
    let mut taken = BTreeSet::new();
    for (place, title) in text.split(['\n', '\0']).chain([title.as_str()]).take(16).enumerate() {
        let stem = name::file_stem(title).name;
        legal(&stem, title);
        assert_eq!(name::file_stem(&stem).name, stem, "the name of {title:?} gives another");
        let id = MemoryId::from_source(&format!("{place}"));
        let own = name::unique(&stem, |key| taken.contains(key), id);
        legal(&own, title);
        // A title may end with what would be the mark of its own id.
        let is_marked = name::without_mark(&stem, id) != stem;
        let is_back = name::without_mark(&own, id) == stem || is_marked || stem.len() > name::MAX_BYTES - 15;
        assert!(is_back, "{own:?} is not told from {stem:?}");
        assert!(taken.insert(name::key(&own)), "{own:?} is taken");
        names.push(own);

        let path = format!("Memories/{stem}.md");
        let link = Link::parse(&Link::to(title, None).to_string()).unwrap_or_else(|| panic!("no link to {title:?}"));
        assert_eq!(Files::new([path.clone()]).resolve(&link, "x.md").path(), Some(path.as_str()), "{link}");
    }
    // No disk takes the dotless i for the letter whose upper case it shares.
    let foldings: [fn(&str) -> String; 4] = [
        str::to_ascii_lowercase,
        str::to_lowercase,
        |name| name.replace('ı', "ı_").to_uppercase(),
        |name| name::key(name).replace('ı', "ı_").to_uppercase(),
    ];
    for fold in foldings {
        let folded: BTreeSet<String> = names.iter().map(|name| fold(name)).collect();
        assert_eq!(folded.len(), names.len(), "two of {names:?} are one");
    }
}

fn legal(name: &str, title: &str) {
    let forbidden = ['/', '\\', ':', '*', '?', '"', '<', '>', '|', '#', '^', '[', ']'];
    assert!(!name.is_empty() && name.len() <= name::MAX_BYTES, "{title:?}: {name:?}");
    assert!(!name.contains(forbidden) && !name.contains("%%") && !name.contains(char::is_control), "{name:?}");
    assert!(!name.starts_with(['.', ' ']) && !name.ends_with(['.', ' ']), "{name:?}");
    let device = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = ["COM", "LPT"].iter().filter_map(|kind| device.strip_prefix(kind)).any(|rest| {
        rest.chars().count() == 1 && rest.contains(|c: char| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³'))
    });
    assert!(!["CON", "PRN", "AUX", "NUL"].contains(&device.as_str()) && !numbered, "{name:?}");
    assert!(!name::is_conflict_copy(&format!("{name}.md")), "{name:?}");
    assert!(!name.to_lowercase().ends_with(".md"), "{name:?}");
}
