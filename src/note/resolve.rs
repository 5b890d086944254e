//! Which file a link leads to.
//!
//! In the order observed of Obsidian: the path from the vault's root, the folder of the note with the link, then the
//! shortest path. Names are compared composed and without case. Aliases lead nowhere: Obsidian resolves none.

use std::collections::{BTreeSet, HashMap};

use unicode_normalization::UnicodeNormalization;

use super::link::Link;
use super::name;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// To one file.
    Resolved {
        /// Its path from the vault's root.
        path: &'a str,
        /// Whether the link gives the name or the whole path; otherwise the last parts of the path.
        exact: bool,
    },
    /// To one of several that nothing tells apart: the first by name was chosen.
    Ambiguous {
        /// The chosen path.
        path: &'a str,
        /// The other paths, in order.
        others: Vec<&'a str>,
    },
    /// To no file, or to one that is not made yet.
    Unresolved,
}

impl<'a> Resolution<'a> {
    /// The path that the link leads to.
    pub fn path(&self) -> Option<&'a str> {
        match self {
            Resolution::Resolved { path, .. } | Resolution::Ambiguous { path, .. } => Some(path),
            Resolution::Unresolved => None,
        }
    }
}

struct File {
    path: String,
    /// Length as Obsidian counts it: of the composed path, in UTF-16 units.
    length: usize,
    key: String,
}

/// The files that links of a vault can lead to.
pub struct Files {
    /// Shortest first, those of equal length by name.
    shortest_first: Vec<File>,
    /// Places by whole path; more than one where only the case differs.
    by_path: HashMap<String, Vec<usize>>,
    /// Places by file name.
    by_name: HashMap<String, Vec<usize>>,
}

impl Files {
    /// From the paths of all files, relative to the vault's root and with `/`, in any order. Hidden ones are left out, as
    /// Obsidian does not see them.
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        let paths: BTreeSet<String> = paths.into_iter().map(Into::into).collect();
        let visible = paths.into_iter().filter(|path| !path.split('/').any(|part| part.starts_with('.')));
        let mut files: Vec<File> = visible
            .map(|path| {
                let length = path.nfc().map(char::len_utf16).sum();
                File { length, key: name::key(&path), path }
            })
            .collect();
        files.sort_by(|a, b| (a.length, &a.path).cmp(&(b.length, &b.path)));
        let (mut by_path, mut by_name) = (HashMap::<_, Vec<usize>>::new(), HashMap::<_, Vec<usize>>::new());
        for (place, file) in files.iter().enumerate() {
            by_path.entry(file.key.clone()).or_default().push(place);
            by_name.entry(name_of(&file.key).to_owned()).or_default().push(place);
        }
        Files { shortest_first: files, by_path, by_name }
    }

    /// Where a link in the note at `from` leads. A link without a target leads to that note itself.
    pub fn resolve<'a>(&'a self, link: &Link, from: &'a str) -> Resolution<'a> {
        if link.target.is_empty() {
            return Resolution::Resolved { path: from, exact: true };
        }
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = link.target.trim_start_matches('/');
        if target.starts_with("./") || target.starts_with("../") {
            // A path that is counted from the note's folder leads there or nowhere.
            let Some(path) = relative(folder, target) else { return Resolution::Unresolved };
            return first(keys(&path).iter().map(|key| self.whole(key)));
        }
        let (keys, folder) = (keys(target), name::key(folder));
        let at_root = keys.iter().map(|key| self.whole(key));
        let beside = keys.iter().map(|key| self.whole(&format!("{folder}/{key}")));
        first(at_root.chain(beside).chain(keys.iter().map(|key| self.anywhere(key))))
    }

    fn whole(&self, key: &str) -> Resolution<'_> {
        self.chosen(self.by_path.get(key).into_iter().flatten().copied(), true)
    }

    /// The shortest of the paths that end with the key.
    fn anywhere(&self, key: &str) -> Resolution<'_> {
        let named = self.by_name.get(name_of(key)).into_iter().flatten().copied();
        if !key.contains('/') {
            return self.chosen(named, true);
        }
        let ends = |file: &File| file.key.strip_suffix(key).is_some_and(|folder| folder.ends_with('/'));
        self.chosen(named.filter(|place| self.shortest_first.get(*place).is_some_and(ends)), false)
    }

    /// The first of some places, and those of the same length.
    fn chosen(&self, places: impl Iterator<Item = usize>, exact: bool) -> Resolution<'_> {
        let mut files = places.filter_map(|place| self.shortest_first.get(place));
        let Some(first) = files.next() else { return Resolution::Unresolved };
        let others: Vec<&str> =
            files.take_while(|file| file.length == first.length).map(|file| file.path.as_str()).collect();
        if others.is_empty() {
            Resolution::Resolved { path: &first.path, exact }
        } else {
            Resolution::Ambiguous { path: &first.path, others }
        }
    }
}

/// The keys that a target may mean: an attachment of that very name, then a note.
fn keys(target: &str) -> Vec<String> {
    let key = name::key(target);
    let note = format!("{key}.md");
    if name_of(&key).contains('.') { vec![key, note] } else { vec![note] }
}

fn first<'a>(mut found: impl Iterator<Item = Resolution<'a>>) -> Resolution<'a> {
    found.find(|found| *found != Resolution::Unresolved).unwrap_or(Resolution::Unresolved)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The path from the root of one that is counted from a folder; `None` where it leaves the vault.
fn relative(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn link(text: &str) -> Link {
        Link::parse(text).or_else(|| Link::of_address(text, "", false)).unwrap()
    }

    fn told(files: &Files, text: &str, from: &str) -> String {
        match files.resolve(&link(text), from) {
            Resolution::Resolved { path, exact: true } => path.to_owned(),
            Resolution::Resolved { path, exact: false } => format!("…{path}"),
            Resolution::Ambiguous { path, others } => format!("{path} or {}", others.join(" or ")),
            Resolution::Unresolved => "nowhere".to_owned(),
        }
    }

    #[test]
    fn links_lead_where_obsidian_follows_them() {
        let files = Files::new([
            "Note.md",
            "a/Note.md",
            "a/b/Note.md",
            "a/b/Deep.md",
            "a/Long/Deep.md",
            "bb/Tie.md",
            "aa/Tie.md",
            "cc/dd/Tie.md",
            "Ext.MD",
            "Café.md",
            "x/Straße.md",
            "img/p.png",
            "p.md",
            "img/q.png.md",
            "v1.2.md",
            "old/v1.2",
            "cases/One.md",
            "cases/one.md",
            ".trash/Gone.md",
            "a/.hidden/Gone.md",
            "a/.Gone.md",
            "z/Pair/N.md",
            "y/Pair/N.md",
            "東京/駅.md",
        ]);
        for (text, from, expected) in [
            // The path from the root wins, even over the note's own folder.
            ("[[Note]]", "a/x.md", "Note.md"),
            ("[[a/Note]]", "a/b/x.md", "a/Note.md"),
            // Then the own folder, but none above it.
            ("[[Deep]]", "a/Long/x.md", "a/Long/Deep.md"),
            ("[[Deep]]", "a/Long/further/x.md", "a/b/Deep.md"),
            ("[[b/Note]]", "a/x.md", "a/b/Note.md"),
            // Then the shortest path.
            ("[[Deep]]", "x.md", "a/b/Deep.md"),
            ("[[Tie]]", "x.md", "aa/Tie.md or bb/Tie.md"),
            ("[[Tie]]", "bb/x.md", "bb/Tie.md"),
            ("[[dd/Tie]]", "x.md", "…cc/dd/Tie.md"),
            ("[[d/Tie]]", "x.md", "nowhere"),
            ("[[Pair/N]]", "x.md", "y/Pair/N.md or z/Pair/N.md"),
            // Case, composition and extension.
            ("[[nOTE]]", "x.md", "Note.md"),
            ("[[ext.md]]", "x.md", "Ext.MD"),
            ("[[CAFE\u{301}]]", "x.md", "Café.md"),
            ("[[STRASSE]]", "y.md", "x/Straße.md"),
            ("[[X/strasse.MD]]", "y.md", "x/Straße.md"),
            ("[[駅]]", "x.md", "東京/駅.md"),
            ("[[one]]", "x.md", "cases/One.md or cases/one.md"),
            ("[[v1.2]]", "x.md", "v1.2.md"),
            // Attachments need their extension.
            ("[[p]]", "x.md", "p.md"),
            ("![[P.PNG|100]]", "x.md", "img/p.png"),
            ("[[q]]", "x.md", "nowhere"),
            ("[[q.png]]", "x.md", "img/q.png.md"),
            ("[[img/p]]", "x.md", "nowhere"),
            // The note itself, its heading, a block.
            ("[[#Heading]]", "a/x.md", "a/x.md"),
            ("[[#^id]]", "a/x.md", "a/x.md"),
            ("[[Note#Heading#Deeper]]", "x.md", "Note.md"),
            // Hidden files are not there.
            ("[[Gone]]", "x.md", "nowhere"),
            ("[[.Gone]]", "a/x.md", "nowhere"),
            ("[[Alias]]", "x.md", "nowhere"),
            // Markdown's own form, by the same rules; counted from the folder only where it says so.
            ("a/b/Note.md#H", "a/x.md", "a/b/Note.md"),
            ("Caf%C3%A9.md", "x.md", "Café.md"),
            ("/a/Note.md", "a/b/x.md", "a/Note.md"),
            ("../Note.md", "a/b/x.md", "a/Note.md"),
            ("./Deep.md", "a/b/x.md", "a/b/Deep.md"),
            ("../../../Note.md", "a/x.md", "nowhere"),
            ("./Tie.md", "x.md", "nowhere"),
            ("[[https://example.org]]", "x.md", "nowhere"),
        ] {
            assert_eq!(told(&files, text, from), expected, "{text} in {from}");
        }
        assert_eq!(told(&Files::new(Vec::<String>::new()), "[[a]]", "b.md"), "nowhere");
    }

    #[test]
    fn a_link_to_a_name_of_ten_thousand_notes_is_found_at_once() {
        let files = Files::new((0..10_000).map(|number| format!("{number:05}/meta.md")));
        for number in 0..10_000 {
            let from = format!("{number:05}/x.md");
            let beside = files.resolve(&link("[[meta]]"), &from).path().map(str::to_owned);
            assert_eq!(beside, Some(format!("{number:05}/meta.md")));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn the_order_of_the_files_does_not_matter(
            (paths, shuffled) in prop::collection::vec("([abAB]/){0,3}[abAB](\\.md|\\.MD|\\.png)", 0..24)
                .prop_flat_map(|paths| (Just(paths.clone()), Just(paths).prop_shuffle())),
            target in "(\\.\\./|/)?([ab]/){0,2}[abAB](\\.png)?",
            from in "([abAB]/){0,3}x\\.md",
        ) {
            let (one, two) = (Files::new(paths.clone()), Files::new(shuffled));
            let link = link(&format!("[[{target}]]"));
            let found = one.resolve(&link, &from);
            prop_assert_eq!(&found, &two.resolve(&link, &from));
            if let Some(path) = found.path() {
                prop_assert!(paths.iter().any(|known| known == path));
            }
            if let Resolution::Ambiguous { path, others } = found {
                prop_assert!(others.iter().all(|other| path < *other && path.len() == other.len()));
            }
        }
    }
}
