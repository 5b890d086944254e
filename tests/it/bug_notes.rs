//! Bug cases of frontmatter, names and paths (`B21` to `B27`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use ebbmark::engine::{NewMemory, ReinforceRequest, ReviseRequest};
use ebbmark::files::rehearsal::interrupted;
use ebbmark::id::content_hash;
use ebbmark::note::{Value, frontmatter};
use ebbmark::redact::redact;
use ebbmark::vault::Vault;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{Calls, Store, files_below};

/// Writes a note that was last saved a minute before the store's now.
fn write(store: &Store, name: &str, bytes: impl AsRef<[u8]>) {
    let path = store.note_path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    let at = UNIX_EPOCH + Duration::from_millis(store.now.millis() as u64) - Duration::from_secs(60);
    fs::File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
}

/// The frontmatter of a note, read by the YAML parser alone.
fn properties(note: &str) -> serde_yaml::Mapping {
    let (block, _) = note.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    serde_yaml::from_str(block).unwrap_or_else(|error| panic!("{error}\n{note}"))
}

// B21: titles that are YAML.

#[test]
fn b21_titles_that_mean_something_in_yaml_stay_texts() {
    let titles = [
        "Core (Split: part 2)",
        "Rule: keep it",
        "*starred*",
        "@scope/pkg",
        "# hash",
        "- dash",
        "yes",
        "1e3",
        "2026-01-01",
        "null",
        "{a: b}",
        "[x]",
        ">",
        "|",
        "&amp",
        "!tag",
        "%x",
        "`C:\\tmp`",
        "it's \"quoted\" \\ back",
        "trailing ",
        "",
    ];
    let store = Store::new();
    for (n, title) in titles.iter().enumerate() {
        // The same text at every place of the frontmatter where people's words stand.
        let named: Vec<String> = if title.trim().is_empty() { vec![] } else { vec![title.trim().into()] };
        let memory = NewMemory {
            text: format!("Drinks {n} cups"),
            title: Some((*title).into()),
            tags: named.clone(),
            entities: named.clone(),
            ..NewMemory::default()
        };
        let engine = store.engine();
        let id = engine.tell(memory).id.unwrap();
        let path = engine.keep(&id);
        let note = fs::read_to_string(store.vault().join(&path)).unwrap();
        let properties = properties(&note);
        let written = properties.get("title").map(|title| title.as_str().expect("a text"));
        let shown = written.unwrap_or_else(|| path.strip_prefix("Memories/").unwrap().strip_suffix(".md").unwrap());
        if title.is_empty() {
            assert_eq!(shown, format!("Drinks {n} cups"));
        } else {
            assert_eq!(shown, title.trim(), "{note}");
        }
        for tag in properties["tags"].as_sequence().unwrap() {
            assert!(tag.is_string(), "{note}");
        }
        for entity in properties["entities"].as_sequence().unwrap() {
            assert!(entity.as_str().is_some_and(|link| link.starts_with("[[")), "{note}");
        }
        // Read back after an edit of the text, it is what was told.
        let told = engine.whole(&id).memory;
        fs::write(store.vault().join(&path), note.replace("cups", "mugs")).unwrap();
        engine.clean();
        let memory = engine.whole(&id).memory;
        assert_eq!((memory.title, memory.tags, memory.entities), (told.title, told.tags, told.entities), "{note}");
        assert_eq!(memory.text, format!("Drinks {n} mugs"));
    }
}

// B22: never stack, never strip.

#[test]
fn b22_no_note_gets_a_second_frontmatter_and_none_loses_a_key() {
    let invalid = ["invalid", "blank line first", "own id", "not closed"];
    let notes: BTreeMap<&str, &str> = BTreeMap::from([
        ("good", "---\nmine: 1\nurl: \"https://example.org\"\n---\nDrinks one cup\n"),
        ("crlf", "---\r\nmine: 2\r\n---\r\nDrinks two cups\r\n"),
        ("bom", "\u{feff}---\nmine: 3\n---\nDrinks three cups\n"),
        ("empty block", "---\n---\nDrinks four cups\n"),
        ("rule", "---\n\nDrinks five cups below a rule\n"),
        ("only fences", "---\n---"),
        ("invalid", "---\ntitle: a: b\n---\nDrinks six cups\n"),
        ("blank line first", "\n---\nmine: 7\n---\nDrinks seven cups\n"),
        ("own id", "---\nid: 42\nmine: 8\n---\nDrinks eight cups\n"),
        ("not closed", "---\nmine: 9\n\nDrinks nine cups\n"),
    ]);
    let mut store = Store::new();
    store.ok(&["init"]);
    for (name, text) in &notes {
        write(&store, name, text);
    }
    let said = store.engine().clean().problems;
    for name in invalid {
        assert!(said.iter().any(|problem| problem.contains(&format!("Memories/{name}.md"))), "{name}: {said:?}");
    }
    // Numbers change, and a word of ours is set.
    store.pass_days(1);
    let engine = store.engine();
    let ids: Vec<String> = engine.hits("drinks cups").into_iter().map(|hit| hit.id).collect();
    assert_eq!(ids.len(), notes.len() - invalid.len() - 1, "all but those and the empty one");
    engine.reinforce(&ReinforceRequest { ids: ids.clone(), ..ReinforceRequest::default() }).unwrap();
    for id in ids {
        engine.change(ReviseRequest { id, pinned: Some(true), ..ReviseRequest::default() });
    }
    engine.clean();
    for (name, text) in &notes {
        let note = store.note(name);
        if invalid.contains(name) || *name == "only fences" {
            assert_eq!(&note, text, "{name}");
            continue;
        }
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let fences =
            |text: &str| text.split(line_end).filter(|line| line.trim_start_matches('\u{feff}') == "---").count();
        let expected = if *name == "rule" { 3 } else { 2 };
        assert_eq!(fences(&note), expected, "{name}: {note}");
        for line in text.split_inclusive('\n') {
            assert!(note.contains(line), "{name}: `{line}` is gone from {note}");
        }
        assert!(note.contains("pinned: true") && note.contains("uses: 1"), "{name}: {note}");
        assert_eq!(note.starts_with('\u{feff}'), text.starts_with('\u{feff}'), "{name}");
    }
}

// B23: change one thing only.

#[test]
fn b23_one_key_changes_its_own_lines() {
    let note = "---\r\nzulu: 1\r\nalias: [Board, Home]\r\nurl: \"https://example.org/#a\"  \r\n# keep me\r\nnested:\r\n    \
                deep: 'x'   \r\nlast_used: 2026-01-02\r\ndate: 2026-01-01\r\nempty:\r\n---\r\nBody  \r\n";
    let edited = frontmatter::set(note, "last_used", &Value::from("2026-02-03")).unwrap();
    assert_eq!(edited, note.replace("2026-01-02", "2026-02-03"));
    assert_eq!(frontmatter::set(&edited, "last_used", &Value::from("2026-02-03")).unwrap(), edited);
}

// B24: one bad note.

#[test]
fn b24_bad_notes_cost_themselves_only_and_are_named() {
    let store = Store::in_memory();
    store.ok(&["init"]);
    for n in 0..500 {
        write(&store, &format!("shelf {n}"), format!("Shelf {n} holds jar {n}\n"));
    }
    write(&store, "shelf 250", "---\ntitle: a: b\n---\nShelf 250 holds nothing\n");
    write(&store, "shelf 100", b"Shelf 100 holds caf\xe9\n");
    for name in ["shelf 200", "shelf 300", "shelf 400"] {
        fs::remove_file(store.note_path(name)).unwrap();
    }
    write(&store, "shelf 200", "Shelf 200 holds a secret\n");
    let locked = store.note_path("shelf 200");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(store.note_path("shelf 300")).unwrap();
    let made = Command::new("mkfifo").arg(store.note_path("shelf 400")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let mut bad = vec!["shelf 100", "shelf 250", "shelf 300", "shelf 400"];
    // To the superuser nothing is locked.
    if fs::read(&locked).is_err() {
        bad.push("shelf 200");
    }
    let answer = store.engine().clean();
    assert_eq!(answer.adopted.len(), 500 - bad.len());
    for name in &bad {
        let path = format!("{name}.md");
        assert!(answer.problems.iter().any(|problem| problem.contains(&path)), "{name}: {:?}", answer.problems);
    }
    let examined = store.run(&["doctor"]).exits(4).stdout;
    assert!(bad.iter().all(|name| examined.contains(&format!("{name}.md"))), "{examined}");
    // The next run has only those to try again.
    assert!(store.engine().clean().adopted.is_empty());
    write(&store, "shelf 250", "Shelf 250 is repaired\n");
    assert_eq!(store.engine().clean().adopted, ["Memories/shelf 250.md"]);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o600)).unwrap();
}

// B25: path arguments.

#[test]
fn b25_no_argument_is_a_path_out_of_the_vault() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    fs::write(store.root().join("x.md"), "---\nid: zzzzzzzzzzz4\n---\nThe roses want chalk\n").unwrap();
    let absolute = store.root().join("x.md");
    let long = "x/".repeat(2_500);
    let arguments = [
        "../x.md",
        "../x",
        "a/../../x.md",
        "..\\x.md",
        "/etc/hostname",
        absolute.to_str().unwrap(),
        "C:\\x.md",
        "\\\\host\\share\\x.md",
        "~/x.md",
        "%2e%2e%2fx.md",
        "..%252fx.md",
        ".git/config",
        ".obsidian/app.json",
        ".",
        "",
        "Memories/./Owns a red bicycle",
        "NUL.md",
        &long,
    ];
    // What belongs to nobody but us, and what the index makes of it, may change.
    let outside = |store: &Store| {
        let mut files = files_below(store.root());
        files.retain(|path, _| !path.starts_with("home") && !path.starts_with("vault/.git/"));
        files
    };
    let before = outside(&store);
    for argument in arguments {
        for command in [["note", "read"], ["open", "--"], ["forget", "--"], ["promote", "--"], ["restore", "--"]] {
            let run = store.run(&[command[0], command[1], argument]);
            assert_ne!(run.code, 0, "{command:?} {argument}: {run}");
            assert!(!run.stdout.contains("roses") && !run.stderr.contains("roses"), "{command:?} {argument}: {run}");
        }
        assert!(outside(&store) == before, "{argument:?} changed a file");
    }
    // As titles, tags, scopes and entities they are words.
    for (n, argument) in arguments.iter().enumerate().filter(|(_, argument)| argument.len() < 100) {
        let named: Vec<String> = if argument.is_empty() { vec![] } else { vec![(*argument).into()] };
        let memory = NewMemory {
            text: format!("Drinks {n} cups"),
            title: Some((*argument).into()),
            tags: named.clone(),
            entities: named.clone(),
            scope: named.first().cloned(),
            ..NewMemory::default()
        };
        let engine = store.engine();
        let path = engine.keep(&engine.tell(memory).id.unwrap());
        assert!(path.starts_with("Memories/") && path.matches('/').count() == 1, "{argument}: {path}");
    }
    let made: BTreeSet<PathBuf> = outside(&store).into_keys().filter(|path| !before.contains_key(path)).collect();
    assert!(made.iter().all(|path| path.parent() == Some(Path::new("vault/Memories"))), "{made:?}");
}

// B26: symlinks.

#[test]
fn b26_links_are_not_followed_and_the_walk_ends() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    let outside = store.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("out.md"), "The roses want chalk\n").unwrap();
    let memories = store.vault().join("Memories");
    symlink(outside.join("out.md"), memories.join("out.md")).unwrap();
    symlink(&outside, memories.join("dir")).unwrap();
    symlink("loop", memories.join("loop")).unwrap();
    symlink("..", memories.join("up")).unwrap();
    symlink(outside.join("new.md"), memories.join("new.md")).unwrap();
    let vault = Vault::open(&store.vault());
    for path in ["Memories/out.md", "Memories/dir/out.md", "Memories/new.md", "Memories/loop/x.md"] {
        assert!(vault.read(path).is_err(), "{path}");
        assert!(vault.edit(path, &content_hash(b"The roses want chalk\n"), "x").is_err(), "{path}");
        assert!(vault.trash(path).is_err() && vault.remove(path).is_err(), "{path}");
    }
    // A title that is the name of a link gets another name.
    for title in ["out", "new", "dir", "loop"] {
        let memory = NewMemory { text: format!("About {title}"), title: Some(title.into()), ..NewMemory::default() };
        let id = store.engine().tell(memory).id.unwrap();
        store.engine().keep(&id);
    }
    store.engine().clean();
    let texts = store.engine().texts("roses chalk");
    assert!(!texts.iter().any(|text| text.contains("roses") || text.contains("chalk")), "{texts:?}");
    let there = files_below(&outside);
    assert_eq!((there.len(), there[Path::new("out.md")].as_slice()), (1, &b"The roses want chalk\n"[..]));
}

/// A vault with notes in folders, some of them in the trash, and a folder outside that looks the same: a write that
/// strays finds there what it looks for.
fn beside_a_folder_that_looks_the_same() -> (Store, Vault, PathBuf) {
    let store = Store::in_memory();
    let outside = store.root().join("outside");
    for folder in [store.vault().join("Memories"), store.vault().join(".trash/Memories"), outside.clone()] {
        fs::create_dir_all(folder.join("deep")).unwrap();
        for name in ["a.md", "deep/a.md", ".a.md.0123abcd.tmp", "deep/.a.md.0123abcd.tmp"] {
            fs::write(folder.join(name), "text").unwrap();
        }
    }
    fs::create_dir(store.vault().join("Entities")).unwrap();
    fs::write(store.vault().join("Memories/deep/b.md"), "other").unwrap();
    let vault = Vault::open(&store.vault());
    (store, vault, outside)
}

/// What is done to a vault, and how.
type Deed = (&'static str, fn(&Vault));

/// All that writes to a vault.
const DEEDS: [Deed; 10] = [
    ("create", |vault| drop(vault.create("vault-1"))),
    ("create memories", |vault| drop(vault.create_memories())),
    ("remove leftovers", |vault| drop(vault.remove_leftovers())),
    ("add", |vault| {
        let id = "7k2m9x4qwc3r".parse().unwrap();
        drop(vault.add("New", id, &redact("new").0, &mut BTreeSet::new()));
    }),
    ("write hub", |vault| drop(vault.write_hub("Entities/Hub.md", &redact("hub").0))),
    ("write review", |vault| drop(vault.write_review("review"))),
    ("edit", |vault| drop(vault.edit("Memories/deep/a.md", &content_hash(b"text"), "edited"))),
    ("trash", |vault| drop(vault.trash("Memories/deep/a.md"))),
    ("untrash", |vault| drop(vault.untrash(".trash/Memories/deep/a.md", "Memories/deep/c.md"))),
    ("remove", |vault| drop(vault.remove("Memories/deep/a.md"))),
];

#[test]
fn b26_a_folder_that_becomes_a_link_before_any_call_leads_no_write_out() {
    for (what, deed) in DEEDS {
        for swapped in ["Memories", "Memories/deep", "Entities", ".trash", ".trash/Memories", ".trash/Memories/deep"] {
            for nth in 0.. {
                let (_store, vault, outside) = beside_a_folder_that_looks_the_same();
                let before = files_below(&outside);
                let (folder, aside, lure) = (vault.root().join(swapped), vault.root().join("Aside"), outside.clone());
                let swap = move || {
                    fs::rename(&folder, aside).unwrap();
                    symlink(lure, &folder).unwrap();
                };
                let ((), was_swapped) = interrupted(nth, swap, || deed(&vault));
                assert!(files_below(&outside) == before, "{what}: {swapped} was swapped before call {nth}");
                if !was_swapped {
                    assert!(nth > 0, "{what} made no call");
                    break;
                }
            }
        }
    }
}

#[test]
fn b26_ten_thousand_writes_while_a_folder_and_a_link_swap_their_names_stay_in_the_vault() {
    let (_store, vault, outside) = beside_a_folder_that_looks_the_same();
    let before = files_below(&outside);
    let (folder, link) = (vault.root().join("Memories/deep"), vault.root().join("Memories/link"));
    symlink(&outside, &link).unwrap();
    let is_over = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let round = |_| {
            let edit = |old: &str, new| vault.edit("Memories/deep/a.md", &content_hash(old.as_bytes()), new).is_ok();
            let trash = || vault.trash("Memories/deep/b.md").is_ok();
            let untrash = || vault.untrash(".trash/Memories/deep/b.md", "Memories/deep/b.md").is_ok();
            [edit("text", "edited"), trash(), edit("edited", "text"), untrash()]
        };
        let written = (0..2_500).flat_map(round).filter(|is_written| *is_written).count();
        is_over.store(true, Ordering::Relaxed);
        written
    });
    assert!(files_below(&outside) == before, "a write left the vault");
    assert!(written > 0, "nothing was ever written");
}

// B27: length and device names.

#[test]
fn b27_long_titles_and_device_names_give_legal_names_and_are_kept_whole() {
    let (ascii, other) = ("a".repeat(250), "b".repeat(50));
    let titles = [
        "x".repeat(300),
        "🍵".repeat(90),
        "é".repeat(127) + "x",
        format!("{ascii}{other}"),
        format!("{ascii}{}", other.replace('b', "c")),
        "CON".into(),
        "aux.md".into(),
        "NUL.txt".into(),
        "COM1".into(),
        "a/b:c?".into(),
        "trailing dot.".into(),
        "trailing space ".into(),
        "....".into(),
        "    ".into(),
        "right to \u{202e}left".into(),
    ];
    let store = Store::new();
    let mut names = BTreeSet::new();
    for (n, title) in titles.iter().enumerate() {
        let memory = NewMemory {
            text: format!("Drinks {n} cups"),
            title: Some(title.clone()),
            entities: vec!["Tea".into()],
            ..NewMemory::default()
        };
        let engine = store.engine();
        let id = engine.tell(memory).id.unwrap();
        let path = engine.keep(&id);
        let name = path.strip_prefix("Memories/").unwrap();
        assert!(name.len() <= 123 && names.insert(name.to_lowercase()), "{name}");
        let devices = ["con", "aux", "nul", "com1"];
        assert!(!devices.contains(&name.split('.').next().unwrap().to_lowercase().as_str()), "{name}");
        let memory = engine.whole(&id).memory;
        let kept = memory.title.unwrap_or_else(|| memory.text.clone());
        let expected = if title.trim().is_empty() { format!("Drinks {n} cups") } else { title.trim().to_owned() };
        assert_eq!(kept, expected);
        // A link to the note by its name leads to it.
        let stem = name.strip_suffix(".md").unwrap();
        let files = ebbmark::note::resolve::Files::new([path.clone(), "Home.md".into()]);
        let link = ebbmark::note::link::Link::parse(&format!("[[{stem}]]")).unwrap();
        assert_eq!(files.resolve(&link, "Home.md").path(), Some(path.as_str()));
    }
    assert!(store.engine().clean().edited.is_empty());
}
