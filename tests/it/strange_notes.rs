//! Notes that are damaged, missing, doubled, oddly named or lead elsewhere: each costs at most itself.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use ebbmark::engine::{NewMemory, ReinforceRequest, ReviseRequest};

use crate::support::{Calls, Store, files_below};

/// A store with promoted memories of these texts, and their ids.
fn with_notes(texts: &[&str]) -> (Store, Vec<String>) {
    let store = Store::new();
    let ids: Vec<String> = texts.iter().map(|text| store.engine().save(text)).collect();
    for id in &ids {
        store.engine().keep(id);
    }
    (store, ids)
}

fn titled(store: &Store, title: &str, text: &str) -> String {
    let told = NewMemory { text: text.into(), title: Some(title.into()), ..NewMemory::default() };
    let told = store.engine().tell(told);
    told.id.clone().unwrap_or_else(|| panic!("{title:?}: {told:?}"))
}

/// Makes a note look as if it was written a minute ago, which is when a person has stopped writing.
fn settle(store: &Store, name: &str) {
    settle_file(store, &store.note_path(name));
}

fn settle_file(store: &Store, path: &Path) {
    let a_minute_ago =
        SystemTime::UNIX_EPOCH + Duration::from_millis(store.now.millis() as u64) - Duration::from_secs(60);
    File::options().write(true).open(path).unwrap().set_modified(a_minute_ago).unwrap();
}

fn problems(store: &Store) -> Vec<String> {
    store.engine().clean().problems
}

/// B22: invalid frontmatter stays as it is.
#[test]
fn a_note_with_broken_frontmatter_is_read_by_its_body_not_touched_and_reported() {
    let mut silent = Vec::new();
    for broken in [
        "---\nid: ID\ntitle: a: b\ntags: [\n---\nOwns a green bicycle\n",
        "---\nid: ID\nkind: fact\nkind: event\n\tx: y\n---\nOwns a green bicycle\n",
        "---\nid: ID\n<<<<<<< HEAD\nstrength: 1\n=======\nstrength: 2\n>>>>>>> laptop\n---\nOwns a green bicycle\n",
        "---\nid: ID\nkind: &a [*a, *a]\n---\nOwns a green bicycle\n",
    ] {
        let (mut store, ids) = with_notes(&["Owns a red bicycle", "Prefers tea over coffee"]);
        let broken = broken.replace("ID", &ids[0]);
        store.write_note("Owns a red bicycle", &broken);
        store.edit_note("Prefers tea over coffee", "\nPrefers tea", "\nPrefers green tea");
        if !problems(&store).iter().any(|problem| problem.contains("Owns a red bicycle")) {
            silent.push(broken.clone());
        }
        store.pass_days(2);
        let request = ReinforceRequest { ids: vec![ids[0].clone()], ..ReinforceRequest::default() };
        store.engine().reinforce(&request).unwrap();
        store.engine().clean();
        drop(store.engine().revise(&ReviseRequest {
            id: ids[0].clone(),
            pinned: Some(true),
            ..ReviseRequest::default()
        }));
        assert_eq!(store.note("Owns a red bicycle"), broken);
        assert_eq!(store.engine().texts("tea"), ["Prefers green tea over coffee"], "{broken}");
        assert_eq!(store.engine().counts().active, 2, "{broken}");
        assert_eq!(store.engine().whole(&ids[0]).memory.id, ids[0]);
    }
    assert!(silent.is_empty(), "nothing was said about {silent:#?}");
}

#[test]
fn a_note_whose_frontmatter_is_not_closed_gets_no_second_one() {
    let (store, ids) = with_notes(&["Owns a red bicycle"]);
    let broken = format!("---\nid: {}\nkind: fact\nOwns a green bicycle\n", ids[0]);
    store.write_note("Owns a red bicycle", &broken);
    store.engine().clean();
    drop(store.engine().revise(&ReviseRequest { id: ids[0].clone(), pinned: Some(true), ..ReviseRequest::default() }));
    store.engine().clean();
    assert_eq!(store.note("Owns a red bicycle"), broken);
}

#[test]
fn values_that_make_no_sense_change_nothing_and_are_reported() {
    let mut silent = Vec::new();
    for (from, to) in [
        ("strength: 0.9", "strength: banana"),
        ("strength: 0.9", "strength: .nan"),
        ("strength: 0.9", "strength: 17"),
        ("kind: fact", "kind: furniture"),
        ("pinned: false", "pinned: perhaps"),
        ("tags: []", "tags:\n  a: b"),
    ] {
        let (store, ids) = with_notes(&["Owns a red bicycle"]);
        store.edit_note("Owns a red bicycle", from, to);
        let reported = problems(&store);
        let after = store.engine().whole(&ids[0]);
        assert!((0.0..=2.0).contains(&after.strength), "{to}: {}", after.strength);
        assert_eq!((after.memory.kind.as_str(), after.pinned, after.memory.tags.len()), ("fact", false, 0), "{to}");
        assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"], "{to}");
        if !reported.iter().any(|problem| problem.contains("Owns a red bicycle")) {
            silent.push(to);
        }
    }
    assert!(silent.is_empty(), "nothing was said about {silent:?}");
}

/// B24: bad files among the notes.
#[test]
fn strange_files_among_the_notes_cost_themselves_only() {
    let (store, _) = with_notes(&["Owns a red bicycle", "Prefers tea over coffee"]);
    let memories = store.vault().join("Memories");
    fs::write(memories.join("latin.md"), b"---\nkind: fact\n---\nCaf\xe9 au lait\n").unwrap();
    fs::write(memories.join("empty.md"), b"").unwrap();
    fs::write(memories.join("fences.md"), b"---\n---").unwrap();
    fs::write(memories.join("zeros.md"), [0; 100]).unwrap();
    fs::write(memories.join("huge.md"), "word ".repeat(1_000_000)).unwrap();
    fs::create_dir(memories.join("folder.md")).unwrap();
    let made = Command::new("mkfifo").arg(memories.join("pipe.md")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    symlink(memories.join("loop.md"), memories.join("loop.md")).unwrap();
    symlink(&memories, memories.join("round")).unwrap();
    for name in ["latin", "empty", "fences", "zeros", "huge"] {
        settle(&store, name);
    }
    let before = files_below(&memories);
    store.edit_note("Prefers tea over coffee", "\nPrefers tea", "\nPrefers green tea");
    store.ok(&["tidy"]);
    let hits = store.json(&["recall", "green tea"]);
    assert_eq!(hits["hits"][0]["text"], "Prefers green tea over coffee");
    store.ok(&["recall", "bicycle"]);
    for name in ["latin.md", "fences.md", "zeros.md"] {
        assert_eq!(fs::read(memories.join(name)).unwrap(), before[&PathBuf::from(name)], "{name}");
    }
    assert!(problems(&store).iter().any(|problem| problem.contains("latin")));
}

#[test]
fn a_missing_note_is_not_a_forgotten_memory() {
    let (store, ids) = with_notes(&["Owns a red bicycle", "Prefers tea over coffee"]);
    let note = store.note("Owns a red bicycle");
    fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
    store.ok(&["tidy"]);
    store.ok(&["tidy"]);
    assert_eq!(store.engine().counts().forgotten, 0);
    assert_eq!(store.engine().texts("tea"), ["Prefers tea over coffee"]);
    // Found again anywhere, it is what it was.
    fs::create_dir(store.vault().join("Memories/Things")).unwrap();
    store.write_note("Things/A bicycle", &note);
    store.ok(&["tidy"]);
    let memory = store.engine().whole(&ids[0]).memory;
    assert_eq!(memory.text, "Owns a red bicycle");
    assert_eq!(memory.note.as_deref(), Some("Memories/Things/A bicycle.md"));
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn a_vault_that_is_away_hides_nothing() {
    let store = Store::new();
    let texts: Vec<String> = (0..12).map(|n| format!("Drawer {n} holds spare keys")).collect();
    for text in &texts {
        let id = store.engine().save(text);
        store.engine().keep(&id);
    }
    for away in ["vault", "vault/Memories"] {
        fs::rename(store.root().join(away), store.root().join("away")).unwrap();
        store.run(&["tidy"]);
        store.run(&["tidy"]);
        assert_eq!(store.engine().texts("spare keys").len(), 12, "without {away}");
        assert_eq!(store.engine().counts().forgotten, 0);
        // What was made in its place is not the vault.
        drop(fs::remove_dir_all(store.root().join(away)));
        fs::rename(store.root().join("away"), store.root().join(away)).unwrap();
        store.ok(&["tidy"]);
        assert_eq!(store.notes().len(), 12);
        assert_eq!(store.engine().texts("spare keys").len(), 12);
    }
    // The same where only the notes are deleted, all at once: that is an accident.
    let notes: Vec<PathBuf> = store.notes().iter().map(|name| store.note_path(name)).collect();
    for note in notes {
        fs::remove_file(note).unwrap();
    }
    let reported = problems(&store);
    assert_eq!(store.engine().texts("spare keys").len(), 12);
    let health = store.run(&["inspect", "health", "--json"]).json();
    assert!(!reported.is_empty() || health["health"]["ok"] == false, "twelve notes vanished and nobody says so");
}

#[test]
fn a_stale_copy_of_a_forgotten_note_stays_forgotten() {
    let (store, ids) = with_notes(&["Owns a red bicycle"]);
    let note = store.note("Owns a red bicycle");
    store.engine().drop_memory(&ids[0]);
    store.write_note("Owns a red bicycle", &note);
    settle(&store, "Owns a red bicycle");
    store.ok(&["tidy"]);
    assert!(store.engine().texts("bicycle").is_empty(), "a stale copy came alive");
    assert_eq!(store.note("Owns a red bicycle"), note);
}

#[test]
fn a_copy_of_a_note_is_no_second_memory_and_is_reported() {
    let mut silent = Vec::new();
    for copy in [
        "A copy by hand",
        "Owns a red bicycle 1",
        "Owns a red bicycle.sync-conflict-20261129-120000-ABCDEFG",
        "Owns a red bicycle (conflicted copy 2026-11-29)",
    ] {
        let (store, ids) = with_notes(&["Owns a red bicycle"]);
        let copied = store.note("Owns a red bicycle").replace("red", "velvet");
        store.write_note(copy, &copied);
        settle(&store, copy);
        if !problems(&store).iter().any(|problem| problem.contains(copy)) {
            silent.push(copy);
        }
        assert_eq!(store.engine().counts().active, 1, "{copy}");
        assert_eq!(store.engine().whole(&ids[0]).memory.text, "Owns a red bicycle", "{copy}");
        assert!(store.engine().texts("velvet").is_empty(), "{copy}");
        assert_eq!(store.note(copy), copied);
    }
    assert!(silent.is_empty(), "nothing was said about {silent:?}");
}

/// B28: what editors write beside a note.
#[test]
fn temporary_files_of_editors_are_no_notes() {
    let (store, _) = with_notes(&["Owns a red bicycle"]);
    let memories = store.vault().join("Memories");
    let names =
        ["x.md~", ".x.md.swp", "x.md.tmp", "4913", ".x.md", "#x.md#", "x.txt", "x.md.bak", ".Owns.md.1a2b3c4d.tmp"];
    for name in names {
        fs::write(memories.join(name), "The roses want chalk\n").unwrap();
        settle_file(&store, &memories.join(name));
    }
    fs::create_dir_all(store.vault().join(".trash")).unwrap();
    fs::write(store.vault().join(".trash/x.md"), "The roses want chalk\n").unwrap();
    store.ok(&["tidy"]);
    assert!(store.engine().texts("roses").is_empty());
}

#[test]
fn memories_with_one_title_have_a_note_each() {
    let store = Store::new();
    let titles = ["Tea", "Tea", "tea", "TEA", "Straße", "STRASSE", "Café", "Cafe\u{301}"];
    let ids: Vec<String> =
        titles.iter().enumerate().map(|(n, title)| titled(&store, title, &format!("Drinks {n} cups"))).collect();
    let paths: Vec<String> = ids.iter().map(|id| store.engine().keep(id)).collect();
    let folded: BTreeSet<String> = paths.iter().map(|path| path.to_lowercase()).collect();
    assert_eq!(folded.len(), titles.len(), "names that differ by case alone: {paths:?}");
    store.ok(&["tidy"]);
    for (n, id) in ids.iter().enumerate() {
        let memory = store.engine().whole(id).memory;
        assert_eq!(memory.text, format!("Drinks {n} cups"));
        assert_eq!(memory.note.as_deref(), Some(paths[n].as_str()));
        assert!(fs::read_to_string(store.vault().join(&paths[n])).unwrap().contains(&format!("Drinks {n} cups")));
    }
}

/// B21 and B27: titles that are YAML, paths, device names, or too long.
#[test]
fn every_title_gives_a_legal_name_and_comes_back_as_it_was() {
    let long = "letters ".repeat(38);
    let titles = [
        "../../x",
        "..\\..\\x",
        "/etc/hostname",
        "C:\\x",
        "CON",
        "aux.md",
        "NUL.txt",
        "COM1",
        "LPT9",
        "a/b:c?",
        "[[x]]#^|",
        "trailing dot.",
        ".hidden",
        "....",
        "🍵🌿🍵",
        "a\u{202e}b",
        "x%%y",
        "<b>\"q\"|*",
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
        "~",
        "0x1f",
        "%2e%2e%2fx",
        ".git",
        "desktop.ini",
        "a\u{200d}b",
        &long,
    ];
    let outside = |store: &Store| {
        let mut files = files_below(store.root());
        files.retain(|path, _| !path.starts_with("home") && !path.starts_with("vault/.git"));
        files.into_keys().collect::<BTreeSet<PathBuf>>()
    };
    let store = Store::new();
    store.ok(&["init"]);
    let before = outside(&store);
    let ids: Vec<String> =
        titles.iter().enumerate().map(|(n, title)| titled(&store, title, &format!("Drinks {n} cups"))).collect();
    for (title, id) in titles.iter().zip(&ids) {
        let told = store.engine().whole(id).memory.title;
        let note = store.engine().keep(id);
        let name = note.strip_prefix("Memories/").unwrap_or_else(|| panic!("{title:?}: {note}"));
        assert!(name.len() <= 255 && name.len() > 3, "{title:?}: {name}");
        assert!(
            !name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|', '#', '^', '[', ']', '\0']),
            "{title:?}: {name}"
        );
        assert!(!name.contains("%%") && !name.contains('\u{202e}'), "{title:?}: {name}");
        assert!(!name.starts_with('.'), "{title:?}: {name}");
        let stem = name.strip_suffix(".md").unwrap();
        assert!(!stem.ends_with(['.', ' ']), "{title:?}: {name}");
        let device = stem.split('.').next().unwrap().to_ascii_uppercase();
        let devices = ["CON", "PRN", "AUX", "NUL", "COM1", "LPT9"];
        assert!(!devices.contains(&device.trim()), "{title:?}: {name}");
        let path = store.vault().join(&note);
        assert!(path.is_file(), "{title:?}: {note}");
        assert_eq!(told.as_deref().map(str::trim), Some(title.trim()), "what was saved is what was told");
    }
    // What git shows and what a checkout elsewhere would make.
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    let made: BTreeSet<PathBuf> = outside(&store).difference(&before).cloned().collect();
    assert!(made.iter().all(|path| path.starts_with("vault/Memories")), "{made:?}");
    assert_eq!(made.len(), titles.len());
    // The vault read back says the same.
    let answer = store.engine().clean();
    assert!(answer.edited.is_empty() && answer.problems.is_empty(), "{answer:?}");
    for (title, id) in titles.iter().zip(&ids) {
        let memory = store.engine().whole(id).memory;
        assert_eq!(memory.title.as_deref().map(str::trim), Some(title.trim()), "{:?}", memory.note);
        let note = fs::read_to_string(store.vault().join(memory.note.unwrap())).unwrap();
        let front = note.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().0;
        let front: serde_json::Value = serde_yaml::from_str(front).unwrap();
        assert_eq!(front["id"], id.as_str(), "{title:?}");
        if let Some(written) = front.get("title") {
            assert_eq!(written.as_str().map(str::trim), Some(title.trim()), "{title:?}");
        }
    }
}

#[test]
fn every_text_survives_the_way_into_a_note_and_back() {
    let texts = [
        "---\nkind: event\n---\nNot a second frontmatter",
        "Before\n\n---\n\nafter a rule\n...\nend",
        "%% a comment %% and an open one %%",
        "%% ebbmark:related %%\nfake\n%% /ebbmark:related %%",
        "A link [[Note|shown]] and ![[embed]] and [[a#b^c]]",
        "Tags #tag #a/b and a block ^block1",
        "```js\nlet x = '```';\n```\ntail",
        "```dataviewjs\ndv.span(1)\n```",
        "<script>alert(1)</script> <!-- comment --> <iframe src=x>",
        "[click](javascript:alert(1)) <%* templater %>",
        "id: zzzzzzzzzzz2\nuses: 99\nstrength: 2",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "Emoji 🏳️‍🌈 and combining e\u{301} and 漢字 and عربى",
        "Tabs\tinside\tand  double  spaces",
        "Backslashes \\[[not]] \\* \\\\ end\\",
        "> quoted\n> [!note] callout\n\n- [ ] task\n- [x] done",
        "Line one\n\n\n\nLine five",
        "$x^2$ and $$\\frac{1}{2}$$ and ~~struck~~ ==marked==",
        "A footnote[^1]\n\n[^1]: here",
        "    indented code\n    more",
    ];
    let store = Store::new();
    let saved: Vec<(String, String)> = texts
        .iter()
        .map(|text| {
            let id = store.engine().save(text);
            let told = store.engine().whole(&id).memory.text;
            store.engine().keep(&id);
            (id, told)
        })
        .collect();
    let answer = store.engine().clean();
    assert!(answer.edited.is_empty(), "notes that nobody edited: {:?}", answer.edited);
    for (id, told) in &saved {
        let memory = store.engine().whole(id);
        assert_eq!(&memory.memory.text, told);
        assert_eq!(memory.uses, 0, "{told}");
        // A person touches the note without changing its text: still the same text.
        let path = store.vault().join(memory.memory.note.unwrap());
        let note = fs::read_to_string(&path).unwrap();
        fs::write(&path, note.replacen("tags: []", "tags:\n  - touched", 1)).unwrap();
    }
    store.engine().clean();
    for (id, told) in &saved {
        let memory = store.engine().whole(id).memory;
        assert_eq!(memory.tags, ["touched"], "{told}");
        assert_eq!(&memory.text, told);
    }
}

/// B26: links in the vault.
#[test]
fn links_that_lead_out_of_the_vault_are_not_followed() {
    let (store, ids) = with_notes(&["Owns a red bicycle"]);
    let outside = store.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let secret = format!("---\nid: {}\n---\nThe roses want chalk\n", "zzzzzzzzzzz3");
    fs::write(outside.join("secret.md"), &secret).unwrap();
    symlink(outside.join("secret.md"), store.note_path("Linked")).unwrap();
    symlink(&outside, store.vault().join("Memories/Folder")).unwrap();
    store.ok(&["tidy"]);
    assert!(store.engine().texts("roses").is_empty(), "a note outside the vault was read");
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), secret);

    // The note itself replaced by a link to something else.
    fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
    symlink(outside.join("secret.md"), store.note_path("Owns a red bicycle")).unwrap();
    drop(store.engine().revise(&ReviseRequest { id: ids[0].clone(), pinned: Some(true), ..ReviseRequest::default() }));
    store.run(&["tidy"]);
    store.run(&["forget", &ids[0]]);
    store.run(&["restore", &ids[0]]);
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), secret);
    assert_eq!(files_below(&outside).len(), 1);
}

#[test]
fn a_memories_folder_that_is_a_link_out_is_refused() {
    let store = Store::new();
    let outside = store.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(store.vault()).unwrap();
    symlink(&outside, store.vault().join("Memories")).unwrap();
    let id = store.engine().save("Owns a red bicycle");
    let run = store.run(&["promote", &id]);
    assert_eq!(files_below(&outside).len(), 0, "{run}");
    assert_ne!(run.code, 0, "{run}");
    assert!(store.engine().whole(&id).memory.note.is_none());
}

/// B25: a path told by another machine.
#[test]
fn a_journal_cannot_name_a_file_outside_the_vault() {
    for path in
        ["../victim.md", "/VICTIM", "Memories/../../victim.md", ".git/config", ".obsidian/app.json", "link/victim.md"]
    {
        let (store, _) = with_notes(&["Owns a red bicycle"]);
        let victim = store.root().join("victim.md");
        fs::write(&victim, "---\nid: zzzzzzzzzzz4\n---\nDo not touch\n").unwrap();
        symlink(store.root(), store.vault().join("link")).unwrap();
        let path = if path == "/VICTIM" { victim.to_str().unwrap() } else { path };
        let lines = format!(
            "{{\"at\":\"2026-11-29T12:00:00Z\",\"op\":\"remember\",\"id\":\"zzzzzzzzzzz4\",\"text\":\"Do not touch\"}}\n\
             {{\"at\":\"2026-11-29T12:00:01Z\",\"op\":\"promote\",\"id\":\"zzzzzzzzzzz4\",\"path\":\"{path}\",\"hash\":\"0\"}}\n"
        );
        fs::write(store.home().join("short-term/strange0.jsonl"), lines).unwrap();
        let before = files_below(&store.vault().join(".obsidian"));
        store.run(&["revise", "zzzzzzzzzzz4", "--text", "Touched"]);
        store.run(&["reinforce", "zzzzzzzzzzz4"]);
        store.run(&["tidy"]);
        store.run(&["forget", "zzzzzzzzzzz4"]);
        store.run(&["restore", "zzzzzzzzzzz4"]);
        store.run(&["tidy"]);
        let text = fs::read_to_string(&victim).unwrap_or_else(|_| panic!("{path}: the file outside is gone"));
        assert_eq!(text, "---\nid: zzzzzzzzzzz4\n---\nDo not touch\n", "{path}");
        assert_eq!(files_below(&store.vault().join(".obsidian")), before, "{path}");
        store.git(&["fsck"]);
        assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
    }
}

#[test]
fn a_file_that_took_the_place_of_a_note_is_the_persons() {
    let another = "---\nid: zzzzzzzzzzz5\nkind: fact\n---\nShopping: chalk\n";
    for written in ["Shopping: chalk\n", "---\ntags: [list]\n---\nShopping: chalk\n", "", another] {
        let (mut store, ids) = with_notes(&["Owns a red bicycle"]);
        fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
        store.write_note("Owns a red bicycle", written);
        store.pass_days(1);
        store.run(&["revise", &ids[0], "--pinned", "true"]);
        assert_eq!(store.note("Owns a red bicycle"), written, "revised");
        store.run(&["reinforce", &ids[0]]);
        store.run(&["tidy"]);
        assert_eq!(store.note("Owns a red bicycle"), written, "tidied");
        store.run(&["forget", &ids[0]]);
        assert_eq!(
            store.notes(),
            ["Owns a red bicycle"],
            "forgetting moved a note that is not the memory's: {written:?}"
        );
        store.run(&["restore", &ids[0]]);
        assert_eq!(store.note("Owns a red bicycle"), written, "restored");
        assert_eq!(store.engine().whole(&ids[0]).memory.text, "Owns a red bicycle");
    }
}

#[test]
fn what_a_killed_process_left_half_written_is_cleared_away() {
    let (store, ids) = with_notes(&["Owns a red bicycle"]);
    let left = store.vault().join("Memories/.Owns a red bicycle.md.1a2b3c4d.tmp");
    fs::copy(store.note_path("Owns a red bicycle"), &left).unwrap();
    settle_file(&store, &left);
    store.ok(&["forget", &ids[0]]);
    store.ok(&["tidy"]);
    assert!(!left.exists(), "the text of a forgotten memory lies in {}", left.display());
}
