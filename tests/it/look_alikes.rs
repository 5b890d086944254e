//! Vaults like those that people publish, made here with everything that is strange in them: read without loss, edited
//! by the line, and linked the same whatever the order of their files.

use std::collections::BTreeMap;
use std::fs;

use ebbmark::note::link::Link;
use ebbmark::note::resolve::{Files, Resolution};
use ebbmark::note::{Note, Value, frontmatter, name};
use ebbmark::vault::{SkipReason, Vault};

use crate::support::Dice;

/// Paths and bytes.
type Made = BTreeMap<String, Vec<u8>>;

fn put(made: &mut Made, path: impl Into<String>, text: impl AsRef<[u8]>) {
    made.insert(path.into(), text.as_ref().to_vec());
}

/// A garden of years: hostile names, names that differ by case, both kinds of line ends, links to what never was.
fn garden() -> Made {
    let mut made = Made::new();
    let mut dice = Dice(1);
    for name in ["[[nested]]", "a#b", "what?", "a: b", "*", "...", "x..", "a|b", "100%", "%41", "`tick`", "a\u{a0}b"] {
        put(&mut made, format!("{name}.md"), format!("- [[{name}]]\n- #push [[agora]]\n"));
    }
    for name in ["....", "", "journal/", "Journal/...", ".hidden"] {
        put(&mut made, format!("{name}.md"), "out of sight [[agora]]");
    }
    for number in 0..95 {
        for name in ["Topic", "topic", "TOPIC"].iter().take(2 + number % 2) {
            put(
                &mut made,
                format!("{name} {number}.md"),
                format!("see [[topic {number}]]\r\nand [[Topic {}]]\r\n", number + 1),
            );
        }
    }
    for day in 0..120 {
        let never = dice.below(1000);
        let text = format!(
            "- [[{}]] met [[someone {never}]]\n  - #[[two words]] #go/deep{never} [[topic {}]]\n- ((block ref)) {{{{embed}}}}\n",
            day,
            dice.below(95)
        );
        put(&mut made, format!("journal/2026-{:02}-{:02}.md", day / 28 + 1, day % 28 + 1), text);
    }
    put(&mut made, "mixed.md", "---\r\nup: 1\n---\r\none\r\ntwo\nthree\r\n\n[[Topic 1]]");
    put(&mut made, "unquoted.md", "---\nsource: [[a]], [[b]]\n---\n[[agora]]\n");
    put(&mut made, "silent.md", "---\nup: [[agora]]\nmany:\n  - [[a]]\n  - [[b]]\n---\nx\n");
    put(&mut made, "agora.md", "");
    for number in 0..32 {
        put(&mut made, format!("empty {number}.md"), "");
    }
    made
}

/// A help site in many languages: every name once for each language, lines without end, letters that join.
fn translations() -> Made {
    let mut made = Made::new();
    let titles = ["Home", "Create a note", "Internal links", "Security and privacy", "Properties"];
    for language in ["en", "ar", "he", "km", "bn", "ja", "de", "fr", "ru", "zh"] {
        for (place, title) in titles.iter().enumerate() {
            let next = titles[(place + 1) % titles.len()];
            let text = format!(
                "---\naliases: {title} ({language})\ncssclasses: wide\n---\n# {title}\n\nSee [[{next}]], [[{next}#{title}|here]], \
                 [[#{title}]] and ![[{title} {place}.png|100x145]].\n\n| a | b |\n|---|---|\n| [[{next}\\|cell]] | `#no` |\n\n\
                 مرحبا \u{202b}[[{next}]]\u{202c} שלום #تجربة ^block-{place}\n"
            );
            put(&mut made, format!("{language}/Folder of {language}/{title}.md"), text);
        }
    }
    put(&mut made, "en/Attachments/Home 0.png", [0x89, b'P', b'N', b'G', 0xff]);
    let khmer = "ឯកសារ".repeat(9);
    put(&mut made, format!("km/{khmer}.md"), format!("[[{khmer}]] and [[Home]]"));
    put(&mut made, "ar/long line.md", format!("{} [[Home]] #end", "كلمة ".repeat(4000)));
    put(&mut made, "de/Straße.md", "[[STRASSE]] [[Größe]] [[gro\u{308}ße]]");
    put(&mut made, "de/Gro\u{308}ße.md", "[a](Stra%C3%9Fe.md) [b](../en/Folder%20of%20en/Home.md#Home) [c](Nichts.md)");
    made
}

/// A hub of plugins: generated marks, folders of emoji, a note that everything links to, one of hundreds of kilobytes.
fn hub() -> Made {
    let mut made = Made::new();
    for number in 0..700 {
        let text = format!(
            "---\nname: Plugin {number}\nauthor: '@maker{}'\ntags: plugin, type/{}\n---\n%% Tags: %%\n#on/{}\n\nBy [[🗂️ hub]] and \
             [[Plugin {}..|next]].\n\n%% Hub footer: do not edit [[no such]] #no %%\n\n---\n\n## Notes ^top\n%%\n# hidden\n- [x] \
             hidden\n%%\n",
            number % 40,
            number % 5,
            number % 3,
            (number + 1) % 700
        );
        put(&mut made, format!("🧩 Plugins/Plugin {number}...md"), text);
    }
    for number in 0..13 {
        put(
            &mut made,
            format!("👨‍👩‍👧 People/maker{number}.md"),
            format!("---\nhandle: @maker{number}\n---\n[[🗂️ hub]]\n"),
        );
    }
    let list: String = (0..5000)
        .map(|number| format!("- [[Plugin {}..]] does something that takes a line to say\n", number % 700))
        .collect();
    put(&mut made, "🗂️ hub.md", format!("# Everything\n{list}{}", "word ".repeat(30_000)));
    put(&mut made, "no frontmatter.md", "\n---\ntitle: late\n---\n[[🗂️ hub]]\n");
    put(&mut made, "nulls.md", "---\naliases:\n-\n- a\n-\n---\n[[🗂️ hub]]\n");
    put(&mut made, "a: colon.md", "---\ntitle: a: b\n---\n");
    made
}

/// Templates, whose placeholders are no YAML, and tasks in all spellings.
fn templates_and_tasks() -> Made {
    let mut made = Made::new();
    for number in 0..28 {
        put(
            &mut made,
            format!("Templates/T{number}.md"),
            format!("---\ncreated: {{{{date}}}}\nn: {number}\n---\n<% tp.file.title %>\n# {{{{title}}}}\n"),
        );
    }
    put(&mut made, "Templates/quoted.md", "---\ncreated: \"{{date}}\"\ntags:\n  - note\n---\n");
    for (number, lines) in [
        "tags: a",
        "tags: [a, b]",
        "tags:\n  - a\n  - b",
        "tags: a, b",
        "tags: a b",
        "tags: '#a'",
        "tags:",
        "tag: a",
        "Tags: A",
        "aliases: one",
        "alias: [one, two]",
        "checked: true\nempty:\nnumber: 3.10\ndate: 2026-01-02\ntime: 2026-01-02T10:00:00",
        "{\"json\": \"yes\", \"tags\": [\"a\"]}",
        "nested:\n  in:\n    deep: [1, {a: b}]",
        "k: '%x'\nq: \"a\\tb\"",
        "k: %x",
        "\tk: x",
        "k: x\nk: y",
        "K: x\nk: y",
        "- a\n- b",
        "just text",
        "a: &x 1\nb: *x",
        "a: !!str 1",
        "? a\n: b",
        "text: |\n  status: no\n  x",
        "status: done # why\nother:   'kept'   # too",
        "status:\n  - a\n  - b\nz: 1",
        "'status': 'x'\n\"b\": 1",
        "status: >-\n  two\n  lines\nz: 1",
    ]
    .iter()
    .enumerate()
    {
        for (place, end) in ["\n", "\r\n"].into_iter().enumerate() {
            let text =
                format!("---\n{lines}\n---\n# H\n\n- [ ] open [[T1]] ^t{number}\n- [x] done #todo\n\n> - [>] moved\n");
            put(&mut made, format!("Tests/Case {number} {place}.md"), text.replace('\n', end));
        }
    }
    put(&mut made, "Tests/zero width.md", "a\u{200b}b [[T\u{200b}1]] #a\u{200b}b\n- [\u{200b}] x\n");
    put(
        &mut made,
        "Tests/callouts.md",
        "> [!note]- Title\n> > [!tip] inner\n> > - [x] deep #in/callout\n>\n> [[T2]]\n",
    );
    put(&mut made, "Tests/empty frontmatter.md", "---\n---\n\n[[T1]]");
    put(&mut made, "Tests/no end.md", "---\nstatus: x\n\n[[T1]]");
    put(&mut made, "Tests/mark.md", "\u{FEFF}---\nstatus: x\n---\nbody without an end");
    put(&mut made, "Tests/latin.md", b"caf\xe9");
    made
}

/// Documentation of a program: one name in many folders, code, scalar aliases.
fn documentation() -> Made {
    let mut made = Made::new();
    for number in 0..60 {
        for name in ["(constructor)", "on('changed')", "meta", "README"] {
            let text = format!(
                "---\naliases: Class{number}.{name}\ncssclasses: hide-title\n---\n[Class{number}](Class{number}.md) \
                 [other](Reference/Class{}/meta.md) [`code`](https://example.org/#x) [[{name}]] [[Class{number}/{name}]]\n\n\
                 ```ts\nthis.#private = [[1]]; // - [x] no\n```\n",
                (number + 1) % 60
            );
            put(&mut made, format!("Reference/Class{number}/{name}.md"), text);
        }
    }
    put(&mut made, "meta.MD", "[[README]] [[Class1]]");
    put(&mut made, ".trash/[[label]].md", "[[README]]");
    made
}

fn vaults() -> [(&'static str, Made); 5] {
    [
        ("garden", garden()),
        ("translations", translations()),
        ("hub", hub()),
        ("templates and tasks", templates_and_tasks()),
        ("documentation", documentation()),
    ]
}

fn notes(made: &Made) -> impl Iterator<Item = (&str, &str)> {
    let is_note = |path: &&String| path.to_lowercase().ends_with(".md");
    let notes = made.iter().filter(move |(path, _)| is_note(path));
    notes.filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)))
}

#[test]
fn every_note_is_read_and_stays_what_it_is() {
    for (vault, made) in vaults() {
        let mut count = 0;
        for (path, text) in notes(&made) {
            let note = Note::parse(text);
            assert_eq!(note.original(), text, "{vault}: {path}");
            assert!(text.ends_with(note.body()), "{vault}: {path}");
            let content = note.content();
            let sections = content.sections();
            assert!(sections.iter().all(|section| text.get(section.range.clone()).is_some()), "{vault}: {path}");
            // Words of the person are not lost, wherever they are cut.
            let last = note.body().split_whitespace().rfind(|word| word.chars().all(char::is_alphanumeric));
            if let Some(last) = last.filter(|_| !note.body().contains("%%")) {
                assert!(
                    sections.iter().any(|section| section.text.contains(last) || section.path.concat().contains(last)),
                    "{vault}: {path}: {last}"
                );
            }
            assert_eq!(note.with_text(&note.text(), &[]).ok(), note.problems.is_empty().then(|| text.to_owned()));
            count += 1;
        }
        assert!(count > 50, "{vault} has {count} notes");
    }
}

/// A note without the lines of one key, and whether it has frontmatter.
fn without_key(text: &str, key: &str) -> Vec<String> {
    let Some(block) = frontmatter::split(text).block else {
        return text.split_inclusive('\n').map(str::to_owned).collect();
    };
    let mut kept = vec![text[..block.start].to_owned()];
    let mut is_of_the_key = false;
    for line in text[block.clone()].split_inclusive('\n') {
        let begins = !line.starts_with([' ', '-', '\t', '#']) && !line.trim().is_empty();
        if begins {
            let name = line.split(':').next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
            is_of_the_key = name.eq_ignore_ascii_case(key);
        }
        if !is_of_the_key {
            kept.push(line.to_owned());
        }
    }
    kept.push(text[block.end..].to_owned());
    kept
}

#[test]
fn setting_a_property_changes_its_own_lines_or_is_refused() {
    for (vault, made) in vaults() {
        let (mut edited, mut refused) = (0, 0);
        for (path, text) in notes(&made) {
            for (key, value) in
                [("status", Value::from("seen: yes")), ("tags", Value::from(vec![Value::from("[[a]]")]))]
            {
                let note = Note::parse(text);
                let Ok(new) = frontmatter::set(text, key, &value) else {
                    assert!(!note.problems.is_empty() || text.contains("{\"json\""), "{vault}: {path} was refused");
                    refused += 1;
                    continue;
                };
                assert_eq!(note.problems, [], "{vault}: {path} was edited");
                assert_eq!(Note::parse(&new).value(key), Some(&value), "{vault}: {path}");
                assert_eq!(frontmatter::set(&new, key, &value).unwrap(), new, "{vault}: {path}");
                if frontmatter::split(text).block.is_some() {
                    assert_eq!(without_key(&new, key), without_key(text, key), "{vault}: {path}: {key}");
                } else {
                    assert!(new.ends_with(text.trim_start_matches('\u{FEFF}')), "{vault}: {path}");
                }
                edited += 1;
            }
        }
        assert!(edited > 100, "{vault}: only {edited} edits");
        let breaks = matches!(vault, "garden" | "hub" | "templates and tasks");
        assert_eq!(refused > 0, breaks, "{vault}: {refused} refused");
    }
}

/// Links by class: exact, by the last parts of the path, ambiguous, unresolved.
fn counts(made: &Made, order: &[&str]) -> [usize; 4] {
    let files = Files::new(order.iter().copied());
    let mut counts = [0; 4];
    for path in order {
        let Some(text) = made.get(*path).and_then(|bytes| std::str::from_utf8(bytes).ok()) else { continue };
        for link in Note::parse(text).all_links() {
            let class = match files.resolve(&link, path) {
                Resolution::Resolved { exact: true, .. } => 0,
                Resolution::Resolved { exact: false, .. } => 1,
                Resolution::Ambiguous { .. } => 2,
                Resolution::Unresolved => 3,
            };
            counts[class] += 1;
        }
    }
    counts
}

#[test]
fn links_lead_to_the_same_whatever_the_order_of_the_files() {
    let mut dice = Dice(7);
    for (vault, made) in vaults() {
        let mut order: Vec<&str> = made.keys().map(String::as_str).collect();
        let expected = counts(&made, &order);
        for _ in 0..2 {
            for place in (1..order.len()).rev() {
                order.swap(place, dice.below(place + 1));
            }
            assert_eq!(counts(&made, &order), expected, "{vault}");
        }
        let [exact, suffix, ambiguous, unresolved] = expected;
        let all = exact + suffix + ambiguous + unresolved;
        match vault {
            "garden" => assert!(ambiguous > 190 && unresolved * 4 > all && suffix == 0, "{expected:?}"),
            "translations" => assert!(exact > 100 && unresolved > 40, "{expected:?}"),
            "hub" => assert!(exact > 6000 && unresolved == 0 && ambiguous == 0, "{expected:?}"),
            "documentation" => assert!(exact > 240 && suffix > 200 && unresolved >= 240, "{expected:?}"),
            _ => assert!(exact > 50 && unresolved > 0, "{expected:?}"),
        }
    }
}

#[test]
fn the_whole_path_of_a_note_leads_to_it() {
    for (vault, made) in vaults() {
        let files = Files::new(made.keys().cloned());
        for (path, _) in notes(&made) {
            let target = path.get(..path.len() - 3).unwrap();
            if path.split('/').any(|part| part.starts_with('.')) {
                continue;
            }
            let link = Link { target: target.into(), heading: None, block: None, alias: None, embed: false };
            let found = files.resolve(&link, "elsewhere/x.md");
            let leads = found.path().is_some_and(|found| name::key(found) == name::key(path));
            assert!(leads, "{vault}: {path} leads to {found:?}");
        }
    }
}

#[test]
fn tags_and_tasks_are_found_where_people_write_them() {
    let note = |text: &str| Note::parse(text);
    let daily = note(
        "---\ntags: [daily, Work/Team]\nup: \"[[2026]]\"\n---\n# Monday #heading\n- [x] call [[Ada]] #work/team #urgent ^call\n\
         - [ ] buy `#tea` %%#secret%%\n\t- [/] #half\n%%\n- [x] not yet #later\n%%\nIssue #12, (#aside), https://x.org/#top\n\
         1. [ ] numbered\n",
    );
    assert_eq!(daily.all_tags(), ["daily", "Work/Team", "heading", "urgent", "half"]);
    assert_eq!(daily.tags(), ["daily", "Work/Team"]);
    let tasks: Vec<(usize, char, String)> =
        daily.tasks().into_iter().map(|task| (task.line, task.mark, task.text)).collect();
    assert_eq!(
        tasks,
        [
            (6, 'x', "call [[Ada]] #work/team #urgent".to_owned()),
            (7, ' ', "buy `#tea`".to_owned()),
            (8, '/', "#half".to_owned()),
            (13, ' ', "numbered".to_owned()),
        ]
    );
    let made = templates_and_tasks();
    for (path, text) in notes(&made).filter(|(path, _)| path.starts_with("Tests/Case")) {
        let note = note(text);
        let marks: String = note.tasks().iter().map(|task| task.mark).collect();
        assert_eq!(marks, " x>", "{path}");
        assert!(note.all_tags().iter().any(|tag| tag == "todo"), "{path}");
    }
    let hub = hub();
    let plugin = note(std::str::from_utf8(&hub["🧩 Plugins/Plugin 3...md"]).unwrap());
    assert_eq!(plugin.all_tags(), ["plugin", "type/3", "on/0"]);
    assert_eq!((plugin.tasks().len(), plugin.all_links().len()), (0, 2));
    let headings: Vec<String> = plugin.sections().into_iter().map(|section| section.path.concat()).collect();
    assert_eq!(headings, ["", "Notes"]);
}

#[test]
fn on_disk_they_are_listed_and_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let memories = folder.path().join("Memories");
    for (vault, made) in vaults() {
        for (path, bytes) in &made {
            let full = memories.join(vault).join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            // A disk that takes some names for one keeps the first.
            if !full.exists() {
                fs::write(full, bytes).unwrap();
            }
        }
    }
    let vault = Vault::open(folder.path());
    let listing = vault.list().unwrap();
    assert!(listing.skipped.iter().all(|skipped| skipped.reason == SkipReason::NotAFile), "{:?}", listing.skipped);
    let mut unreadable = Vec::new();
    for entry in &listing.entries {
        assert!(!entry.path.split('/').any(|part| part.starts_with('.')), "{}", entry.path);
        match vault.read(&entry.path) {
            Ok(text) => {
                assert_eq!(text.as_bytes(), fs::read(folder.path().join(&entry.path)).unwrap(), "{}", entry.path);
            }
            Err(_) => unreadable.push(entry.path.as_str()),
        }
    }
    assert_eq!(unreadable, ["Memories/templates and tasks/Tests/latin.md"]);
    assert!(listing.entries.len() > 1400, "{}", listing.entries.len());
    let names = vault.names().unwrap();
    for name in ["[[nested]]", "what?", "topic 1", "🗂️ hub", "(constructor)"] {
        assert!(names.contains(&name::key(name)), "{name}");
    }
}
