//! The house keeps its order: a module uses only modules below it, and what the library must not do it does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All Rust files below `src`, with their text.
fn sources() -> BTreeMap<PathBuf, String> {
    fn walk(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.insert(path.strip_prefix(root().join("src")).unwrap().to_owned(), text);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&root().join("src"), &mut files);
    assert!(files.len() > 30, "only {} files were found", files.len());
    files
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The ordered list of `docs/architecture.md`, topmost first.
fn floors() -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, list) = page.split_once("<!-- floors -->\n```\n").expect("the list of floors is marked");
    let (list, _) = list.split_once("```").unwrap();
    list.lines().map(str::to_owned).collect()
}

/// The module of the house that a file belongs to.
fn module(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The text without its test module, where tests may look at anything.
fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests").map_or(text, |(code, _)| code)
}

/// Modules named by `crate::NAME` in a text.
fn used(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (place, _) in text.match_indices("crate::") {
        let rest = &text[place + "crate::".len()..];
        let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        names.push(name);
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn every_module_uses_only_modules_below_it() {
    let floors = floors();
    let floor = |name: &str| floors.iter().position(|module| module == name);
    for (path, text) in sources() {
        let own = module(&path);
        if own == "lib" || own == "main" || path.ends_with("tests.rs") || path.ends_with("histories.rs") {
            continue;
        }
        let own_floor = floor(&own).unwrap_or_else(|| panic!("{} is on no floor", path.display()));
        for name in used(without_tests(&text)) {
            let used_floor =
                floor(&name).unwrap_or_else(|| panic!("{}: `crate::{name}` is on no floor", path.display()));
            assert!(used_floor >= own_floor, "{} uses `{name}`, which is above it", path.display());
        }
    }
}

#[test]
fn the_list_names_every_module() {
    let lib = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut declared: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let floors = floors();
    let mut listed: Vec<&str> = floors.iter().map(String::as_str).collect();
    declared.sort_unstable();
    listed.sort_unstable();
    assert_eq!(declared, listed);
}

#[test]
fn async_stays_behind_the_mcp_door() {
    for (path, text) in sources() {
        if module(&path) != "mcp" {
            assert!(!text.contains("tokio::") && !text.contains("async fn"), "{}", path.display());
        }
    }
}

#[test]
fn pure_modules_do_no_input_or_output() {
    let pure = [
        "rank",
        "graph",
        "slots",
        "entities",
        "similarity",
        "question",
        "lexical",
        "embedding",
        "words",
        "note",
        "memory",
        "decay",
        "config",
        "kinds",
        "redact",
    ];
    for (path, text) in sources() {
        if pure.contains(&module(&path).as_str()) {
            for banned in ["std::fs", "std::io", "std::env", "std::process", "std::net", "getrandom", "Clock::System"] {
                assert!(!without_tests(&text).contains(banned), "{} mentions {banned}", path.display());
            }
        }
    }
}

#[test]
fn no_file_hides_a_second_room() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 700, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_test_file_is_listed() {
    let main = std::fs::read_to_string(root().join("tests/it/main.rs")).unwrap();
    for entry in std::fs::read_dir(root().join("tests/it")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name} is not in main.rs");
    }
}
