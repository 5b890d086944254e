//! What people and programs get wrong: a clear word, the right exit code, and nothing damaged.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ebbmark::engine::{NewMemory, ReinforceRequest, RememberRequest, ReviseRequest};
use serde_json::{Value, json};

use crate::support::{Calls, Run, Store, files_below, files_with};

/// The command fails as a user's error; what it says, as an answer or as an error.
#[track_caller]
fn refused(store: &Store, arguments: &[&str]) -> String {
    let run = store.run(arguments).exits(2);
    assert!(!run.stderr.contains("panicked"), "{run}");
    format!("{}{}", run.stdout, run.stderr)
}

/// The only result of a `remember` whose JSON is `input`.
fn told(store: &Store, input: &Value) -> Value {
    let run = store.run_with_stdin(&["remember", "-", "--jsonl", "--json"], format!("{input}\n").as_bytes());
    assert!(run.code == 0 || run.code == 2, "{run}");
    run.json()["results"][0].clone()
}

#[test]
fn texts_that_say_nothing_are_rejected() {
    let store = Store::new();
    for text in
        ["", " ", "\n\t ", "\0", "\u{feff}", "\u{200b}", "<private>all of it</private>", "<private>never closed"]
    {
        let result = told(&store, &json!({ "text": text }));
        assert_eq!(result["outcome"], "rejected", "{text:?}: {result}");
        assert!(!result["error"].as_str().unwrap_or_default().is_empty(), "{text:?}: {result}");
        assert!(result.get("id").is_none(), "{text:?}: {result}");
    }
    refused(&store, &["remember", ""]);
    refused(&store, &["remember"]);
    assert_eq!(store.engine().counts().active, 0);
}

#[test]
fn a_text_of_64_kib_is_kept_and_one_byte_more_is_not() {
    let store = Store::new();
    let limit = 64 * 1024;
    for (bytes, outcome) in [(limit - 1, "saved"), (limit, "saved"), (limit + 1, "rejected")] {
        let text: String =
            format!("{bytes} ").chars().chain("abcdefg ".chars().cycle()).take(bytes - 1).chain(['z']).collect();
        assert_eq!(text.len(), bytes);
        let result = told(&store, &json!({ "text": text }));
        assert_eq!(result["outcome"], outcome, "{bytes} bytes: {}", result["why"]);
        if outcome == "saved" {
            assert_eq!(store.engine().whole(result["id"].as_str().unwrap()).memory.text, text);
        } else {
            assert!(result["error"].as_str().unwrap().len() < 500, "the error repeats the text");
        }
    }
}

#[test]
fn one_bad_memory_of_a_batch_fails_alone() {
    let store = Store::new();
    let batch = [
        json!({ "text": "Owns a red bicycle" }),
        json!({ "text": "" }),
        json!({ "text": "Plays the oboe", "kind": "furniture" }),
        json!({ "text": "Plays the flute", "happened": "yesterday-ish" }),
        json!({ "text": "Plays the drums", "strength": "very" }),
        json!({ "text": 17 }),
        json!({ "text": "Plays the harp", "tags": { "a": "b" } }),
        json!([1, 2]),
        json!({ "text": "Plays the horn", "supersedes": ["zzzzzzzzzzzz"] }),
        json!({ "text": "Prefers tea over coffee" }),
    ];
    let lines: String = batch.iter().map(|memory| format!("{memory}\n")).collect();
    let run = store.run_with_stdin(&["remember", "-", "--jsonl", "--json"], lines.as_bytes()).exits(2);
    let answer = run.json();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), batch.len(), "one result a memory, in order");
    assert_eq!((&results[0]["outcome"], &results[9]["outcome"]), (&json!("saved"), &json!("saved")));
    for (input, result) in batch[1..9].iter().zip(&results[1..9]) {
        let is_a_number_as_text = input["text"] == 17 && result["outcome"] == "saved";
        assert!(result["outcome"] == "rejected" || is_a_number_as_text, "{input}: {result}");
    }
}

#[test]
fn a_call_that_is_too_big_is_refused_whole() {
    let store = Store::new();
    let memory = |text: String| NewMemory { text, ..NewMemory::default() };
    let mut pebbles: Vec<NewMemory> = (0..1001).map(|n| memory(format!("Pebble {n}"))).collect();
    let error = store.engine().remember(&RememberRequest::of(&pebbles)).unwrap_err();
    assert!(error.hint().contains("1000"), "{error}");
    let heavy: Vec<NewMemory> = (0..20).map(|n| memory(format!("{n} {}", "word ".repeat(12_000)))).collect();
    let error = store.engine().remember(&RememberRequest::of(&heavy)).unwrap_err();
    assert!(error.hint().contains("1 MiB"), "{error}");
    store.run_with_stdin(&["remember", "-", "--jsonl"], b"").exits(2);
    assert_eq!(store.engine().counts().active, 0);
    pebbles.pop();
    assert_eq!(store.engine().remember(&RememberRequest::of(&pebbles)).unwrap().results.len(), 1000);
    assert_eq!(store.engine().counts().active, 1000);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let store = Store::new();
    let run = store.run_with_stdin(&["remember", "-"], b"Caf\xe9 au lait").exits(2);
    assert!(run.stderr.contains("UTF-8") && run.stderr.contains('3'), "{run}");
    assert!(!store.journal().exists(), "something was saved");
}

#[test]
fn odd_fields_are_refused_by_name() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    for (arguments, word) in [
        (&["remember", "x y", "--kind", "furniture"][..], "furniture"),
        (&["remember", "x y", "--strength", "banana"], "banana"),
        (&["remember", "x y", "--strength", "3"], "strength"),
        (&["remember", "x y", "--importance", "11"], "importance"),
        (&["remember", "x y", "--happened", "soon"], "soon"),
        (&["remember", "x y", "--level", "high"], "high"),
        (&["remember", "x y", "--who", "nobody"], "nobody"),
        (&["recall", "x", "--kind", "furniture"], "furniture"),
        (&["recall", "x", "--tier", "middle"], "middle"),
        (&["recall", "x", "--since", "soon"], "soon"),
        (&["recall", "x", "--include", "everything"], "everything"),
        (&["recall", "x", "--detail", "some"], "some"),
        (&["reinforce", &id, "--kind", "worn"], "worn"),
        (&["revise", &id, "--kind", "furniture"], "furniture"),
        (&["revise", &id, "--strength=-1"], "strength"),
        (&["inspect", "mirror"], "mirror"),
    ] {
        let said = refused(&store, arguments);
        assert!(said.to_lowercase().contains(word), "{arguments:?} does not name `{word}`: {said}");
    }
    assert_eq!(store.engine().counts().active, 1);
    assert_eq!(store.engine().whole(&id).memory.kind, "fact");
}

#[test]
fn a_kind_that_is_almost_right_gets_a_hint() {
    let store = Store::new();
    let said = refused(&store, &["remember", "x y", "--kind", "preferance"]);
    assert!(said.contains("did you mean `preference`?"), "{said}");
}

#[test]
fn ids_that_are_none_are_no_paths_either() {
    let store = Store::new();
    store.engine().save("Owns a red bicycle");
    let nul = "%00";
    for id in [
        "../../x",
        "/etc/hostname",
        "C:\\x",
        "~/x",
        "a/./b",
        "",
        " ",
        "abc",
        "zzzzzzzzzzzz",
        nul,
        ".git/config",
        "🍵🍵🍵🍵",
    ] {
        for command in ["open", "reinforce", "forget", "restore", "promote"] {
            let run = store.run(&[command, id]);
            assert_eq!(run.code, 2, "{command} {id:?}: {run}");
        }
        refused(&store, &["revise", id, "--title", "x"]);
    }
    refused(&store, &["open", &"x".repeat(5000)]);
    assert_eq!(store.engine().counts().active, 1);
    assert!(!store.vault().exists());
}

#[test]
fn an_id_is_found_in_capitals_and_by_a_prefix_that_fits_one() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    assert!(store.ok(&["open", &id.to_uppercase()]).contains("bicycle"));
    assert!(store.ok(&["open", &id[..4]]).contains("bicycle"));
    refused(&store, &["open", &id[..3]]);
    let lines: String = ["abcdaaaaaaa1", "abcdaaaaaaa2"]
        .map(|id| {
            format!("{{\"at\":\"2026-11-29T12:00:00Z\",\"op\":\"remember\",\"id\":\"{id}\",\"text\":\"Twin {id}\"}}\n")
        })
        .concat();
    fs::write(store.home().join("short-term/twins000.jsonl"), lines).unwrap();
    let said = refused(&store, &["revise", "abcd", "--title", "x"]);
    assert!(said.contains("abcdaaaaaaa1") && said.contains("abcdaaaaaaa2"), "{said}");
}

#[test]
fn a_key_of_the_configuration_that_nobody_knows_is_named_with_the_nearest() {
    let store = Store::new();
    store.configure(
        "promotoin = \"off\"\n[decay]\nfade_bellow = 0.1\n[kinds.fact]\nhalf_live_days = 3\n[forgett]\nx = 1\n",
    );
    let run = store.run(&["remember", "Owns a red bicycle"]).exits(0);
    for (wrong, right) in [
        ("promotoin", "promotion"),
        ("fade_bellow", "fade_below"),
        ("half_live_days", "half_life_days"),
        ("forgett", "forget"),
    ] {
        assert!(run.stderr.contains(wrong) && run.stderr.contains(right), "{wrong}: {run}");
    }
    assert!(!run.stdout.contains("promotoin"), "{run}");
    assert_eq!(store.json(&["where"])["warnings"].as_array().unwrap().len(), 4);
    assert_eq!(store.engine().counts().active, 1);
}

#[test]
fn a_broken_configuration_stops_everything_and_names_the_place() {
    for (toml, word) in [
        ("promotion = \n", "line 1"),
        ("promotion = \"sometimes\"\n", "sometimes"),
        ("[decay]\nalpha = \"big\"\n", "alpha"),
        ("[decay]\nalpha = -4\n", "alpha"),
        ("[recall]\nlimit = 900\n", "limit"),
        ("[kinds.fact]\nstrength = 9\nhalf_life_days = 3\n", "strength"),
        ("time_zone = \"Middle/Earth\"\n", "Middle/Earth"),
        ("[git]\nmode = \"maybe\"\n", "maybe"),
    ] {
        let store = Store::new();
        store.configure(toml);
        let said = refused(&store, &["remember", "Owns a red bicycle"]);
        assert!(said.contains("config.toml") && said.contains(word), "{toml}: {said}");
        assert!(!store.journal().exists(), "{toml}");
        let run = store.run(&["where", "--json"]).exits(2);
        assert_eq!(run.json()["kind"], "user");
    }
    let store = Store::new();
    fs::create_dir_all(store.home()).unwrap();
    fs::write(store.home().join("config.toml"), b"promotion = \"\xff\"").unwrap();
    refused(&store, &["recall", "tea"]);
}

#[test]
fn odd_environment_is_refused_by_name() {
    let store = Store::new();
    for (name, value) in [("EBBMARK_NOW", "tomorrow"), ("EBBMARK_SEED", "lucky")] {
        let run: Run = store.command(&["remember", "x y"]).env(name, value).output().unwrap().into();
        let run = run.exits(2);
        assert!(run.stderr.contains(name) && run.stderr.contains(value), "{run}");
    }
    let mut command = store.command(&["recall", "x"]);
    command.env_remove("EBBMARK_HOME").env_remove("EBBMARK_VAULT").env_remove("HOME");
    let run: Run = command.output().unwrap().into();
    assert!(run.exits(2).stderr.contains("HOME"));
}

#[test]
fn an_empty_variable_is_not_the_default() {
    let store = Store::new();
    let run: Run = store.command(&["where"]).env("EBBMARK_HOME", "").output().unwrap().into();
    assert_eq!(run.code, 2, "{run}");
}

#[test]
fn a_misspelt_variable_does_not_pass_in_silence() {
    let store = Store::new();
    let run: Run = store.command(&["where"]).env("EBBMARK_HOMEE", "/srv/x").output().unwrap().into();
    assert!(run.stderr.contains("EBBMARK_HOMEE") && run.stderr.contains("EBBMARK_HOME"), "{run}");
}

#[test]
fn a_replica_is_a_name_and_no_path() {
    for replica in ["../../evil", "/tmp/evil", "a/b", "..", "", "a b", "CON", "x\u{202e}y", &"x".repeat(300)] {
        let mut store = Store::new();
        store.replica = Some(replica.into());
        let run = store.run(&["remember", "Owns a red bicycle"]);
        assert!(matches!(run.code, 0 | 2 | 3), "{replica:?}: {run}");
        let strangers: Vec<_> =
            files_below(store.root()).into_keys().filter(|path| !path.starts_with("home")).collect();
        assert!(strangers.is_empty(), "{replica:?}: {strangers:?}");
        let journals = store.journals().into_keys().collect::<Vec<_>>();
        assert!(journals.iter().all(|path| path.components().count() == 1), "{replica:?}: {journals:?}");
        assert!(run.code != 0 || journals.len() == 1, "{replica:?}: {run}");
    }
    assert!(!Path::new("/tmp/evil.jsonl").exists());
}

#[test]
fn a_home_that_cannot_be_one_is_named_with_what_to_do() {
    let store = Store::new();
    fs::write(store.root().join("file"), "not a folder").unwrap();
    let file = store.root().join("file");
    for home in [file.to_str().unwrap(), file.join("below").to_str().unwrap(), "/dev/null/x", "/proc/nobody/home"] {
        for command in [&["remember", "Owns a red bicycle"][..], &["init"], &["tidy"]] {
            let run = store.run(&[command, &["--home", home, "--json"]].concat());
            if command == ["tidy"] && run.code == 0 {
                continue;
            }
            assert_eq!(run.code, 3, "{home} {command:?}: {run}");
            assert!(run.stderr.contains(home) && run.stderr.lines().count() >= 2, "{home}: {run}");
            assert_eq!(run.json()["kind"], "environment", "{home}");
        }
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}

#[test]
fn a_home_that_may_only_be_read_is_read() {
    let store = Store::new();
    store.ok(&["remember", "Prefers tea over coffee"]);
    let lock = |mode: u32| {
        for path in ["home/short-term", "home"] {
            fs::set_permissions(store.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(store.journal(), fs::Permissions::from_mode(mode & 0o666)).unwrap();
        fs::set_permissions(store.home().join("lock"), fs::Permissions::from_mode(mode & 0o666)).unwrap();
    };
    lock(0o555);
    let is_enforced = fs::write(store.home().join("probe"), "").is_err();
    let read = store.run(&["recall", "tea"]);
    let written = store.run(&["remember", "Owns a red bicycle"]);
    lock(0o700);
    assert!(read.code == 0 && read.stdout.contains("Prefers tea over coffee"), "{read}");
    // Root writes where it likes: then only the reading was tested.
    if is_enforced {
        assert_eq!(written.code, 3, "{written}");
        assert_eq!(store.engine().counts().active, 1);
    }
}

#[test]
fn home_and_vault_do_not_lie_in_each_other() {
    let store = Store::new();
    let place = |name: &str| store.root().join(name).to_str().unwrap().to_owned();
    fs::create_dir(store.root().join("x")).unwrap();
    std::os::unix::fs::symlink(store.root().join("x"), store.root().join("alias")).unwrap();
    for (home, vault) in
        [("x", "x"), ("x", "x/vault"), ("x/home", "x"), ("x", "alias/v"), ("x/../x", "x"), ("x", "x/a/../b")]
    {
        let run = store.run(&["remember", "x y", "--home", &place(home), "--vault", &place(vault)]);
        assert!(run.code == 2 && run.stderr.contains("vault"), "{home} {vault}: {run}");
    }
    assert_eq!(files_below(&store.root().join("x")).len(), 0);
    // Names that only begin alike are apart.
    store.ok(&["remember", "x y", "--home", &place("y"), "--vault", &place("y-vault")]);
    let default =
        store.command(&["where", "--json", "--home", &place("z")]).env_remove("EBBMARK_VAULT").output().unwrap();
    assert_eq!(Run::from(default).json()["vault"], format!("{}-vault", place("z")));
}

#[test]
fn a_vault_that_cannot_be_one_costs_the_promotion_only() {
    let store = Store::new();
    fs::write(store.vault(), "not a folder").unwrap();
    let id = store.engine().save("Owns a red bicycle");
    let run = store.run(&["promote", &id]).exits(3);
    assert!(run.stderr.contains("vault"), "{run}");
    assert_eq!(fs::read_to_string(store.vault()).unwrap(), "not a folder");
    assert!(store.engine().whole(&id).memory.note.is_none());
    assert!(store.ok(&["recall", "bicycle"]).contains("Owns a red bicycle"));
}

#[test]
fn a_relative_home_is_one_place_from_everywhere() {
    let store = Store::new();
    let run: Run = store.command(&["where", "--json", "--home", "memory"]).output().unwrap().into();
    let shown = run.exits(0).json()["home"].as_str().unwrap().to_owned();
    assert!(Path::new(&shown).is_absolute(), "a relative path is shown as `{shown}`");
}

#[test]
fn questions_are_text_and_never_syntax() {
    let store = Store::new();
    for text in [
        "The multi-agent planner is slow",
        "Uses C++ and .NET at work",
        "The config is in CLAUDE.md",
        "Le café est fermé",
    ] {
        store.engine().save(text);
    }
    let long = "word ".repeat(10_000);
    for query in [
        "a'b",
        "GB/s",
        "C:\\tmp",
        "foo AND",
        "(",
        "\"",
        "title:",
        "*",
        "-",
        "+",
        "^",
        "~",
        "\\",
        "NOT",
        "[",
        "{",
        "/",
        "🍵",
        "   ",
        "\u{feff}",
        "a:b:c",
        "?",
        "!",
        "--",
        "AND OR NOT",
        "[1 TO 5]",
        "text:{a TO b}",
        "\u{202e}",
        &long,
    ] {
        let run = store.run(&["recall", "--json", "--", query]);
        assert_eq!(run.code, 0, "{:.40}: {}", query, run.stderr);
    }
    for (query, text) in [
        ("multi-agent", "The multi-agent planner is slow"),
        ("C++", "Uses C++ and .NET at work"),
        (".NET", "Uses C++ and .NET at work"),
        ("CLAUDE.md", "The config is in CLAUDE.md"),
        ("cafe", "Le café est fermé"),
    ] {
        assert_eq!(store.engine().texts(query).first().map(String::as_str), Some(text), "{query}");
    }
}

#[test]
fn long_and_odd_names_have_limits_and_no_panics() {
    let store = Store::new();
    let cases = [
        (json!({ "text": "a b", "title": "t".repeat(300) }), true),
        (json!({ "text": "a c", "title": "t".repeat(512) }), true),
        (json!({ "text": "a d", "title": "t".repeat(513) }), false),
        (json!({ "text": "a e", "tags": (0..64).map(|n| format!("t{n}")).collect::<Vec<_>>() }), true),
        (json!({ "text": "a f", "tags": (0..65).map(|n| format!("t{n}")).collect::<Vec<_>>() }), false),
        (json!({ "text": "a g", "tags": ["t".repeat(128)] }), true),
        (json!({ "text": "a h", "tags": ["t".repeat(129)] }), false),
        (json!({ "text": "a i", "entities": ["é".repeat(65)] }), false),
        (json!({ "text": "a j", "title": "🏳️‍🌈".repeat(40) }), true),
        (json!({ "text": "a k", "scope": "../../x", "tags": ["../../x", "a b", "#c", "[[d]]"] }), true),
    ];
    for (input, is_fine) in cases {
        let result = told(&store, &input);
        assert_eq!(result["outcome"] != "rejected", is_fine, "{}: {result}", input["text"]);
        if let Some(id) = result["id"].as_str() {
            store.ok(&["promote", id]);
            store.ok(&["open", id]);
        }
    }
    let outside: BTreeSet<_> = files_below(store.root()).into_keys().filter(|path| !path.starts_with("home")).collect();
    assert!(outside.iter().all(|path| path.starts_with("vault")), "{outside:?}");
    assert_eq!(store.engine().clean().edited.len(), 0);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

/// Secrets of several families, made here so that none stands in this repository.
fn secrets() -> Vec<String> {
    let letters = |count: usize| "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz".chars().cycle().take(count).collect::<String>();
    vec![
        format!("ghp_{}", letters(36)),
        format!("AKIA{}", letters(16).to_uppercase()),
        format!("sk-ant-api03-{}", letters(80)),
        format!("xoxb-{}-{}", "123456789012", letters(24)),
        format!("glpat-{}", letters(20)),
    ]
}

#[test]
fn a_secret_reaches_no_file_by_any_door() {
    for secret in secrets() {
        let store = Store::new();
        let mut inputs = vec![json!({ "text": format!("The deploy token is {secret}, keep it") })];
        for field in ["title", "tags", "entities", "keywords", "scope"] {
            inputs.push(json!({ "text": format!("Plays the oboe, {field}"), field: secret }));
        }
        for field in ["excerpt", "speaker", "client", "session", "messages"] {
            inputs.push(json!({ "text": format!("Plays the harp, {field}"), "source": { field: secret } }));
        }
        let lines: String = inputs.iter().map(|input| format!("{input}\n")).collect();
        let arguments = ["remember", "-", "--jsonl", "--json", "--op-key", &secret];
        let answer = store.run_with_stdin(&arguments, lines.as_bytes()).json();
        let first = &answer["results"][0];
        assert!(first["redacted"]["count"].as_u64().unwrap() >= 1, "{first}");
        assert!(!answer.to_string().contains(&secret), "the answer repeats it");
        let text = store.engine().whole(first["id"].as_str().unwrap()).memory.text;
        assert!(text.starts_with("The deploy token is [") && text.ends_with("keep it"), "{text}");

        for result in answer["results"].as_array().unwrap() {
            let Some(id) = result["id"].as_str() else { continue };
            store.ok(&["promote", id]);
        }
        let id = first["id"].as_str().unwrap();
        let engine = store.engine();
        let whole = ReviseRequest {
            id: id.into(),
            text: Some(format!("Now it is {secret}")),
            title: Some(secret.clone()),
            tags: Some(vec![secret.clone()]),
            entities: Some(vec![secret.clone()]),
            keywords: Some(vec![secret.clone()]),
            scope: Some(secret.clone()),
            ..ReviseRequest::default()
        };
        drop(engine.revise(&whole));
        let context =
            ReinforceRequest { ids: vec![id.into()], context: vec![secret.clone()], ..ReinforceRequest::default() };
        drop(engine.reinforce(&context));
        store.run(&["recall", &secret]);
        store.run(&["recall", "oboe", "--scope", &secret]);
        store.ok(&["tidy"]);
        store.ok(&["compact"]);
        for needle in [secret.as_str(), &secret.to_lowercase(), &secret[8..]] {
            let found = files_with(store.root(), needle.as_bytes());
            assert!(found.is_empty(), "{needle} is in {found:?}");
        }
        let names: Vec<_> = files_below(store.root()).into_keys().collect();
        assert!(names.iter().all(|path| !path.to_string_lossy().contains(&secret[8..])), "a file is named after it");
        for object in store.git(&["rev-list", "--all", "--objects"]).lines() {
            let object = object.split(' ').next().unwrap();
            if store.git(&["cat-file", "-t", object]) == "blob" {
                assert!(!store.git(&["cat-file", "blob", object]).contains(&secret), "{object} in git holds it");
            }
        }
        assert!(!store.git(&["log", "--all", "--format=%B"]).contains(&secret));
    }
}

#[test]
fn a_secret_that_a_person_writes_into_a_note_stays_in_the_note() {
    for secret in secrets() {
        let store = Store::new();
        let id = store.engine().save("Owns a red bicycle");
        store.engine().keep(&id);
        store.edit_note(
            "Owns a red bicycle",
            "\nOwns a red bicycle\n",
            &format!("\nOwns a red bicycle, code {secret}\n"),
        );
        let note = store.note("Owns a red bicycle");
        store.ok(&["tidy"]);
        assert_eq!(store.note("Owns a red bicycle"), note, "the person's bytes");
        let found = files_with(&store.home(), secret.as_bytes());
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_secret_in_an_unreadable_line_does_not_reach_the_quarantine() {
    let store = Store::new();
    store.engine().save("Owns a red bicycle");
    let secret = &secrets()[0];
    let mut journal = fs::read(store.journal()).unwrap();
    journal.extend_from_slice(format!("{{\"op\":\"remember\",\"text\":\"token {secret}\n").as_bytes());
    fs::write(store.journal(), journal).unwrap();
    store.ok(&["remember", "Plays the oboe"]);
    let answer = store.json(&["compact"]);
    assert_eq!(answer["quarantined"], 1, "{answer}");
    assert_eq!(files_below(&store.home().join("quarantine")).len(), 1);
    assert!(files_with(&store.home(), secret.as_bytes()).is_empty());
}

#[test]
fn what_only_looks_like_a_secret_is_stored_as_it_is() {
    let store = Store::new();
    let text = format!(
        "Shipped in PR 812, squash 0fda534e into 4c536992, full hash {}, image sha256:{}, id \
         123e4567-e89b-12d3-a456-426614174000, path /srv/app/releases/20260901/bin, integrity sha512-{}==",
        "0fda534e4c5369920fda534e4c5369920fda534e",
        "ab12".repeat(16),
        "Zm9vYmFy".repeat(10) + "Zm9vYm"
    );
    let result = told(&store, &json!({ "text": text }));
    assert!(result.get("redacted").is_none(), "{result}");
    assert_eq!(store.engine().whole(result["id"].as_str().unwrap()).memory.text, text);
}

#[test]
fn files_and_folders_are_the_persons_alone() {
    let store = Store::new();
    let run = store.shell("umask 000; \"$EBBMARK\" remember 'Owns a red bicycle' --json").exits(0);
    let id = run.json()["results"][0]["id"].as_str().unwrap().to_owned();
    store
        .shell(&format!("umask 000; \"$EBBMARK\" promote {id}; \"$EBBMARK\" recall bicycle; \"$EBBMARK\" tidy"))
        .exits(0);
    let mut folders = vec![store.home(), store.vault()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o077;
            let is_git = path.strip_prefix(store.vault()).is_ok_and(|path| path.starts_with(".git"));
            assert!(mode == 0 || is_git, "{}: {mode:o}", path.display());
            // The index is written by a library; the folder around it keeps others out.
            if path.is_dir() && !is_git && !path.ends_with("cache") {
                folders.push(path);
            }
        }
    }
}
