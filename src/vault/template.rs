//! The vault as it is first laid out: `vault-template/` of the repository, itself a readable vault.

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../vault-template/", $path)))),*]
    };
}

/// Files of the template: path from the vault's root with `/`, and content.
/// `Home.md` is last: once it is there, the vault exists.
pub(super) const FILES: &[(&str, &str)] = files![
    ".gitattributes",
    ".gitignore",
    ".obsidian/app.json",
    ".obsidian/core-plugins.json",
    ".obsidian/graph.json",
    ".obsidian/templates.json",
    ".obsidian/types.json",
    "Memories.base",
    "Templates/Memory.md",
    "Home.md",
];

/// Folders that are empty at first. (In the repository `.gitkeep` holds their place.)
pub(super) const FOLDERS: &[&str] = &["Memories", "Entities"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::note::{Note, Value, link};

    fn content(path: &str) -> &'static str {
        FILES.iter().find(|(name, _)| *name == path).unwrap().1
    }

    fn walk(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_template_is_embedded() {
        let root = Path::new(file!()).parent().unwrap().join("../../vault-template");
        let mut found = BTreeSet::new();
        walk(&root, &root, &mut found);
        let kept: BTreeSet<String> = FOLDERS.iter().map(|folder| format!("{folder}/.gitkeep")).collect();
        let embedded = FILES.iter().map(|(path, _)| (*path).to_owned());
        assert_eq!(found, embedded.chain(kept).collect());
    }

    #[test]
    fn settings_parse_and_name_each_key_of_a_note() {
        for (path, text) in FILES.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == "json")) {
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{path}");
        }
        let types: serde_json::Value = serde_json::from_str(content(".obsidian/types.json")).unwrap();
        for (key, kind) in
            [("strength", "number"), ("uses", "number"), ("half_life_days", "number"), ("pinned", "checkbox")]
                .into_iter()
                .chain([
                    ("id", "text"),
                    ("created", "date"),
                    ("last_used", "date"),
                    ("entities", "multitext"),
                    ("tags", "tags"),
                ])
        {
            assert_eq!(types["types"][key], kind, "{key}");
        }
    }

    #[test]
    fn the_base_has_the_views_that_home_embeds() {
        let base: Value = serde_yaml::from_str(content("Memories.base")).unwrap();
        let views: Vec<&str> =
            base["views"].as_sequence().unwrap().iter().map(|view| view["name"].as_str().unwrap()).collect();
        assert_eq!(views, ["Active", "Needs review", "By status", "About this note"]);
        let embeds: Vec<link::Link> = Note::parse(content("Home.md")).links();
        let embedded = embeds.iter().find(|link| link.embed).unwrap();
        assert_eq!(embedded.target, "Memories.base");
        assert!(views.contains(&embedded.heading.as_deref().unwrap()));
    }

    #[test]
    fn the_notes_of_the_template_have_no_problems() {
        for path in ["Home.md", "Templates/Memory.md"] {
            let note = Note::parse(content(path));
            assert_eq!(note.problems, [], "{path}");
            assert_eq!(note.id(), None, "{path}");
        }
        assert_eq!(Note::parse(content("Templates/Memory.md")).text(), "");
    }
}
