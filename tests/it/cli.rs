//! The command line: each command's words, its JSON, its exit code.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Calls, Run, Store};

/// A store with one memory, which is always this one.
fn with_tea() -> Store {
    let store = Store::new();
    store.ok(&["remember", "Prefers tea over coffee.", "--tag", "drinks", "--entity", "Ada", "--keyword", "beverage"]);
    store
}

const TEA: &str = "2seex4xntje1";

/// The names of an object's fields, in their order.
fn fields(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Every field that is there may be there, and what is promised always is.
#[track_caller]
fn has_shape(value: &Value, always: &[&str], sometimes: &[&str]) {
    let present = fields(value);
    for field in always {
        assert!(present.contains(field), "no `{field}` in {value}");
    }
    for field in present {
        assert!(always.contains(&field) || sometimes.contains(&field), "`{field}` is not in the contract: {value}");
        let empty = [json!(null), json!([]), json!("")];
        assert!(always.contains(&field) || !empty.contains(&value[field]), "an empty `{field}` is left out: {value}");
    }
}

#[test]
fn remember_says_what_became_of_each_memory_and_why() {
    let store = Store::new();
    assert_snapshot!(store.ok(&["remember", "Prefers", "tea over coffee."]), @"saved: 2seex4xntje1 (new; preference: `prefers` at the start)\n");
    assert_snapshot!(store.ok(&["remember", "prefers tea over coffee"]), @"known already: 2seex4xntje1 (the same words are remembered already)\n");
    store.ok(&["remember", "The port of the API is 8080"]);
    let answer = store.run(&["remember", "The port of the API is 8081", "--json"]).exits(0);
    assert_snapshot!(answer.stdout, @r#"
    {
      "results": [
        {
          "outcome": "superseded",
          "id": "am0w0hkh9bn6",
          "kind": "fact",
          "why": "new; fact: `api is` in the text; takes the place of \"The port of the API is 8080\": port of api is 8081, was 8080",
          "similar": [
            {
              "id": "cm8ta804yktd",
              "text": "The port of the API is 8080",
              "relation": "same_slot",
              "score": 0.95
            }
          ],
          "superseded": [
            "cm8ta804yktd"
          ]
        }
      ]
    }
    "#);
    assert_eq!(answer.stderr, "");
}

#[test]
fn remember_takes_every_field() {
    let store = with_tea();
    let arguments = [
        "remember",
        "Drinks oat milk",
        "--kind",
        "correction",
        "--title",
        "Milk",
        "--tag",
        "drinks",
        "--tag",
        "food",
        "--entity",
        "Ada",
        "--keyword",
        "dairy",
        "--scope",
        "kitchen",
        "--happened",
        "2026-11-01",
        "--valid-until",
        "2027-01-01",
        "--importance",
        "7",
        "--level",
        "meta_knowledge",
        "--pin",
        "--supersedes",
        TEA,
        "--who",
        "agent",
        "--speaker",
        "Ada",
        "--session",
        "s1",
    ];
    let answer = store.json(&arguments);
    let result = &answer["results"][0];
    assert_eq!((&result["outcome"], &result["superseded"]), (&json!("superseded"), &json!([TEA])), "{answer}");
    let opened = store.json(&["open", result["id"].as_str().unwrap()]);
    let memory = &opened["memories"][0];
    for (field, value) in [
        ("text", json!("Drinks oat milk")),
        ("kind", json!("correction")),
        ("title", json!("Milk")),
        ("tags", json!(["drinks", "food"])),
        ("entities", json!(["Ada"])),
        ("keywords", json!(["dairy"])),
        ("scope", json!("kitchen")),
        ("happened", json!("2026-11-01T12:00:00.000Z")),
        ("level", json!("meta_knowledge")),
        ("pinned", json!(true)),
        ("strength", json!(1.4)),
    ] {
        assert_eq!(memory[field], value, "{field}: {memory}");
    }
    let source = &memory["source"];
    assert_eq!(
        (&source["who"], &source["speaker"], &source["session"]),
        (&json!("agent"), &json!("Ada"), &json!("s1"))
    );
    assert_eq!(memory["previously"][0]["text"], "Prefers tea over coffee.", "{memory}");
}

#[test]
fn remember_reads_stdin_as_one_text_or_as_lines() {
    let store = Store::new();
    let run = store.run_with_stdin(&["remember", "-"], "Two lines\nof one memory\n".as_bytes()).exits(0);
    assert!(run.stdout.starts_with("saved: "), "{run}");
    assert_eq!(store.engine().texts("lines"), ["Two lines\nof one memory"]);

    let lines = "{\"text\":\"Owns a red bicycle\",\"tags\":\"things\"}\n\"Plays the oboe\"\n{\"text\":\"Has a cat\"}";
    let run = store.run_with_stdin(&["remember", "-", "--jsonl", "--json"], lines.as_bytes()).exits(0);
    let results = run.json()["results"].as_array().unwrap().len();
    assert_eq!(results, 3, "{run}");
    assert_eq!(store.engine().hits("bicycle")[0].tags, ["things"], "a string where a list is meant");
    assert_eq!(store.engine().texts("oboe"), ["Plays the oboe"]);
    store.run(&["remember", "--jsonl", "text"]).exits(2);
}

#[test]
fn an_empty_line_among_json_lines_is_nothing() {
    let store = Store::new();
    let lines = "{\"text\":\"Owns a red bicycle\"}\n\n{\"text\":\"Has a cat\"}\n\n";
    let run = store.run_with_stdin(&["remember", "-", "--jsonl", "--json"], lines.as_bytes()).exits(0);
    assert_eq!(run.json()["results"].as_array().unwrap().len(), 2, "{run}");
}

#[test]
fn a_dry_run_says_so_and_writes_nothing() {
    let store = Store::new();
    let said = store.ok(&["remember", "Uses Rust", "--dry-run"]);
    assert!(!store.home().join("short-term").exists());
    assert!(!said.starts_with("saved"), "nothing was saved, yet it says: {said}");
}

#[test]
fn the_same_op_key_answers_the_same() {
    let mut store = Store::new();
    let arguments = ["remember", "The lease ends in May", "--op-key", "k1"];
    let first = store.json(&arguments);
    store.pass_days(29);
    let second = store.json(&arguments);
    for field in ["outcome", "id", "kind"] {
        assert_eq!(second["results"][0][field], first["results"][0][field]);
    }
    assert_eq!(store.engine().counts().active, 1);
    let other = store.run(&["remember", "The lease ends in June", "--op-key", "k1", "--json"]).exits(2);
    assert_eq!(other.json()["kind"], "user", "{other}");
}

#[test]
fn recall_gives_lines_or_json() {
    let store = with_tea();
    assert_snapshot!(store.ok(&["recall", "tea", "--no-reinforce"]), @"2seex4xntje1 [preference, 2026-11-29] Prefers tea over coffee.\n");
    assert_snapshot!(store.run(&["recall", "tea", "--json", "--explain"]).exits(0).stdout, @r#"
    {
      "found": true,
      "hits": [
        {
          "id": "2seex4xntje1",
          "text": "Prefers tea over coffee.",
          "kind": "preference",
          "tier": "short_term",
          "score": 1.762,
          "created": "2026-11-29T12:00:00.000Z",
          "tags": [
            "drinks"
          ],
          "entities": [
            "Ada"
          ],
          "status": "active",
          "source": {
            "who": "user",
            "client": "ebbmark"
          },
          "why": {
            "fit": 1.762,
            "lexical": 1.0,
            "dense": 0.762,
            "strength": 1.0,
            "level": 1.0,
            "standing": 1.0,
            "idle_days": 0.0,
            "words": {
              "tea": 1.0
            }
          }
        }
      ],
      "total": 1
    }
    "#);
    assert_eq!(store.engine().whole(TEA).uses, 1, "what was recalled counts as used");
    assert_snapshot!(store.ok(&["recall", "oboe"]), @"Nothing found.\n");
    assert_eq!(store.json(&["recall", "oboe"]), json!({ "found": false, "hits": [], "total": 0 }));
}

#[test]
fn recall_filters() {
    let mut store = with_tea();
    store.pass_days(10);
    store.ok(&["remember", "Drank tea in Kyoto", "--kind", "event", "--scope", "travel", "--happened", "2026-06-01"]);
    store.ok(&["remember", "Tea is sold at the harbour", "--tag", "shops", "--tag", "drinks"]);
    let found = |arguments: &[&str]| {
        let answer = store.json(&[&["recall", "tea", "--no-reinforce"], arguments].concat());
        let texts = answer["hits"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()[..9].to_owned());
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    };
    let (tea, kyoto, shop) = ("Prefers t", "Drank tea", "Tea is so");
    assert_eq!(found(&["--scope", "travel"]), [kyoto, tea, shop]);
    assert_eq!(found(&["--scope", "kitchen"]), [tea, shop], "another project's memories are its own");
    assert_eq!(found(&["--include", "all_scopes"]), [kyoto, tea, shop]);
    assert_eq!(found(&["--include", "all_scopes", "--kind", "preference"]), [tea]);
    assert_eq!(found(&["--tag", "drinks"]), [tea, shop]);
    assert_eq!(found(&["--tag", "drinks", "--tag", "shops"]), [shop]);
    assert_eq!(found(&["--entity", "ada"]), [tea]);
    assert_eq!(found(&["--scope", "travel", "--since", "2026-12-01"]), [shop]);
    assert_eq!(found(&["--until", "2026-12-01", "--scope", "travel"]), [kyoto, tea]);
    assert_eq!(found(&["--scope", "travel", "--limit", "1"]).len(), 1);
    assert_eq!(found(&["--tier", "long_term"]).len(), 0);
    store.ok(&["promote", TEA]);
    assert_eq!(found(&["--tier", "long_term"]), [tea]);
    assert_eq!(found(&["--scope", "kitchen", "--tier", "short_term"]), [shop]);
    let listed = store.json(&["recall", "--kind", "preference"]);
    assert_eq!(listed["hits"][0]["id"], TEA, "without a query: what passes the filters");
    store.ok(&["remember", "The ladder\nleans on the shed", "--kind", "skill"]);
    assert_eq!(store.json(&["recall", "ladder", "--detail", "line"])["hits"][0]["text"], "The ladder …");
}

#[test]
fn recall_without_a_project_stays_out_of_projects() {
    let store = Store::new();
    store.ok(&["remember", "Drank tea in Kyoto", "--scope", "travel"]);
    store.ok(&["remember", "Prefers tea over coffee."]);
    let texts = |arguments: &[&str]| {
        let answer = store.json(&[&["recall", "tea", "--no-reinforce"], arguments].concat());
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["text"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&["--include", "all_scopes"]).len(), 2);
    assert_eq!(texts(&[]), ["Prefers tea over coffee."]);
}

#[test]
fn what_was_superseded_comes_with_what_took_its_place() {
    let mut store = with_tea();
    store.pass_days(1);
    let new = store.json(&["remember", "Prefers cocoa over tea.", "--supersedes", TEA])["results"][0]["id"].clone();
    let answer = store.json(&["recall", "tea"]);
    let hits = answer["hits"].as_array().unwrap();
    assert_eq!((hits.len(), &hits[0]["id"]), (1, &new), "{answer}");
    assert_eq!(
        hits[0]["previously"],
        json!([{ "id": TEA, "text": "Prefers tea over coffee.", "until": "2026-11-30T12:00:00.000Z" }])
    );
    let old = store.json(&["recall", "tea", "--include", "superseded", "--kind", "preference"]);
    let old = old["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == TEA).expect("included");
    assert_eq!((&old["status"], &old["superseded_by"]), (&json!("superseded"), &new));
    let then = store.json(&["recall", "tea", "--as-of", "2026-11-29T18:00:00Z"]);
    assert_eq!(then["hits"][0]["id"], TEA, "what was believed then: {then}");
}

#[test]
fn open_shows_a_memory_whole() {
    let store = with_tea();
    store.ok(&["remember", "prefers tea over coffee"]);
    assert_snapshot!(store.ok(&["open", TEA, "--history"]), @r"
    2seex4xntje1 [preference, 2026-11-29] Prefers tea over coffee.
      strength 1, used 1 time on 1 day, score 1.516, half-life 40 days, fades 2027-11-17
      not yet promoted: younger than 24 hours
      tags: drinks
      entities: Ada
      keywords: beverage
      2026-11-29T12:00:00.000Z remembered: Prefers tea over coffee.
      2026-11-29T12:00:00.000Z remembered again: Prefers tea over coffee.
    ");
    let answer = store.run(&["open", TEA, "zzzzzzzzzzzz", "--json"]).exits(2).json();
    assert_eq!(answer["not_found"], json!(["zzzzzzzzzzzz"]));
    assert_eq!(answer["memories"][0]["id"], TEA);
    store.run(&["open", "zzzzzzzzzzzz"]).exits(2);
    let uses = |store: &Store| store.engine().whole(TEA).uses;
    let before = uses(&store);
    store.ok(&["open", TEA]);
    store.ok(&["inspect", "overview"]);
    assert_eq!(uses(&store), before, "looking is no use");
}

#[test]
fn revise_says_which_fields_changed() {
    let store = with_tea();
    assert_snapshot!(store.ok(&["revise", TEA, "--text", "Prefers green tea.", "--tag", ""]), @"2seex4xntje1: changed text, tags\n");
    assert_eq!(store.json(&["revise", TEA, "--title", "Tea"]), json!({ "id": TEA, "changed": ["title"] }));
    let again = store.json(&["revise", TEA, "--title", "Tea"]);
    has_shape(&again, &["id", "changed", "why"], &[]);
    assert_eq!(again["changed"], json!([]));
    let memory = store.engine().whole(TEA);
    assert_eq!((memory.memory.text.as_str(), memory.memory.tags.len()), ("Prefers green tea.", 0));
    let told: Vec<String> = memory.history.into_iter().filter_map(|entry| entry.text).collect();
    assert_eq!(told, ["Prefers tea over coffee.", "Prefers green tea."], "the earlier text stays in history");
    store.run(&["revise", "zzzzzzzzzzzz", "--title", "x"]).exits(2);
}

#[test]
fn edit_opens_the_text_in_an_editor() {
    let store = with_tea();
    let editor = store.root().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\nprintf 'Prefers white tea.\\n' > \"$1\"\n").unwrap();
    let command = format!("sh {}", editor.display());
    let run: Run = store.command(&["edit", TEA]).env("EDITOR", &command).output().unwrap().into();
    run.exits(0);
    assert_eq!(store.engine().whole(TEA).memory.text, "Prefers white tea.");
    let run: Run = store.command(&["edit", TEA]).env("EDITOR", "false").output().unwrap().into();
    assert_ne!(run.code, 0, "{run}");
    let run: Run = store.command(&["edit", TEA]).env("EDITOR", "no-such-editor").output().unwrap().into();
    assert!(run.code == 2 || run.code == 3, "{run}");
    assert_eq!(store.engine().whole(TEA).memory.text, "Prefers white tea.");
}

#[test]
fn reinforce_counts_an_hour_once() {
    let mut store = with_tea();
    assert_snapshot!(store.ok(&["reinforce", TEA]), @"2seex4xntje1: score 1 → 1.516, 1 use, strength 1\n");
    assert_snapshot!(store.ok(&["reinforce", TEA, "--boost"]), @"2seex4xntje1: score 1.516 → 1.667, 1 use, strength 1.1 (this hour was counted already)\n");
    store.pass_hours(1);
    let arguments = ["reinforce", TEA, "zzzzzzzzzzzz", "--kind", "reviewed", "--context", "kitchen", "--json"];
    let answer = store.run(&arguments).exits(2).json();
    has_shape(&answer, &["results", "not_found"], &[]);
    has_shape(&answer["results"][0], &["id", "old_score", "new_score", "uses", "counted", "strength"], &[]);
    assert_eq!((&answer["results"][0]["uses"], &answer["results"][0]["counted"]), (&json!(2), &json!(true)));
    for _ in 0..20 {
        store.ok(&["reinforce", TEA, "--boost"]);
    }
    assert!(store.engine().whole(TEA).strength <= 2.0);
}

#[test]
fn forget_says_how_to_undo_and_restore_does() {
    let store = with_tea();
    assert_snapshot!(store.ok(&["forget", TEA]), @r"
    forgotten: 2seex4xntje1
    undo: `ebbmark restore 2seex4xntje1` brings it back within 30 days
    ");
    assert_eq!(store.json(&["recall", "tea"])["found"], false);
    let run = store.run(&["forget", TEA, "--json"]).exits(2);
    assert_eq!(run.json(), json!({ "forgotten": [], "not_found": [TEA] }));
    assert_snapshot!(store.ok(&["restore", TEA]), @"restored: 2seex4xntje1 Prefers tea over coffee. (was forgotten)\n");
    assert_eq!(store.json(&["recall", "tea"])["hits"][0]["id"], TEA);
    store.run(&["restore", TEA]).exits(2);
    let answer = store.json(&["forget", TEA]);
    has_shape(&answer, &["forgotten", "undo"], &[]);
}

#[test]
fn a_forgotten_memory_is_told_by_no_door() {
    let store = Store::new();
    let id = store.engine().save("The spare key is under the blue pot");
    store.ok(&["forget", &id]);
    for arguments in [
        &["open", &id][..],
        &["recall", "spare key blue pot"],
        &["recall", "spare key", "--include", "faded", "--include", "superseded", "--include", "all_scopes"],
        &["recall"],
        &["recall", "--since", "2020-01-01"],
        &["inspect", "overview"],
        &["faded"],
        &["stats"],
        &["remember", "The spare key is under the green pot", "--dry-run", "--json"],
        &["reinforce", &id],
        &["revise", &id, "--title", "x"],
        &["promote", &id],
    ] {
        let run = store.run(arguments);
        assert!(!run.stdout.contains("blue pot") && !run.stderr.contains("blue pot"), "{arguments:?}: {run}");
    }
}

#[test]
fn a_forgotten_memory_can_be_restored_for_thirty_days() {
    for (days, is_back) in [(29, true), (31, false)] {
        let mut store = with_tea();
        store.ok(&["forget", TEA]);
        store.pass_days(days);
        store.ok(&["compact"]);
        let run = store.run(&["restore", TEA]);
        assert_eq!(run.code == 0, is_back, "after {days} days: {run}");
        assert_eq!(store.engine().texts("tea").len(), usize::from(is_back));
        if !is_back {
            let journal = fs::read_to_string(store.journal()).unwrap();
            assert!(!journal.contains("Prefers tea"), "the text is still in the journal");
            assert!(journal.contains(TEA), "no tombstone is left");
        }
    }
}

#[test]
fn promote_names_the_note() {
    let store = with_tea();
    assert_snapshot!(store.ok(&["promote", TEA, "--dry-run"]), @"would be promoted: 2seex4xntje1 Prefers tea over coffee. (asked for)\n");
    assert!(!store.vault().exists());
    let answer = store.run(&["promote", TEA, "zzzzzzzzzzzz", "--json"]).exits(2).json();
    has_shape(&answer, &["promoted"], &["skipped"]);
    let promoted = &answer["promoted"][0];
    has_shape(promoted, &["id", "note", "why", "commit", "obsidian"], &[]);
    assert_eq!(promoted["note"], "Memories/Prefers tea over coffee.md");
    has_shape(&answer["skipped"][0], &["id", "why"], &[]);
    assert_snapshot!(store.ok(&["promote", TEA]), @"promoted: 2seex4xntje1 → Memories/Prefers tea over coffee.md (it has a note already)\n");
    assert_eq!(store.json(&["promote"]), json!({ "promoted": [] }));
    let other = store.engine().save("Owns a red bicycle");
    store.ok(&["promote", &other, "--pin"]);
    assert!(store.engine().whole(&other).pinned);
}

#[test]
fn inspect_has_four_views() {
    let mut store = with_tea();
    assert_snapshot!(store.ok(&["inspect", "health"]), @"Everything is well.\n");
    assert_eq!(store.json(&["inspect", "health"]), json!({ "health": { "ok": true, "findings": [] } }));
    assert_snapshot!(store.ok(&["inspect", "overview"]), @r"
    preference (1)
      2seex4xntje1 Prefers tea over coffee.
    ");
    assert_snapshot!(store.ok(&["stats"]), @r"
    1 active (0 fading), 0 faded, 0 superseded, 0 forgotten, 0 promoted
    kinds: preference 1
    journal: 2 lines, 411 bytes
    ");
    assert_eq!(store.ok(&["inspect"]), store.ok(&["stats"]));
    assert_eq!(store.json(&["inspect", "stats"]), store.json(&["stats"]));
    let stats = store.json(&["stats"])["stats"].clone();
    for field in ["active", "fading", "faded", "promoted"] {
        assert!(stats[field].is_u64(), "{field}: {stats}");
    }
    store.ok(&["remember", "Waits for the 9 o'clock train", "--kind", "one_time"]);
    store.pass_days(40);
    assert_snapshot!(store.ok(&["faded"]), @"cn1hyzyr2y1e Waits for the 9 o'clock train (since 2026-12-17, one_time of strength 0.3, used 0 times, last 40 days ago: its score is below 0.07)\n");
    assert_snapshot!(store.ok(&["faded", "--days", "7"]), @"Nothing has faded.\n");
    let faded = store.json(&["faded"]);
    assert_eq!(faded["faded"]["total"], 1);
    has_shape(&faded["faded"]["faded"][0], &["id", "text", "kind", "score", "since", "why"], &[]);
    assert_eq!(store.json(&["recall", "train"])["found"], false);
    assert_eq!(store.json(&["recall", "train", "--include", "faded", "--no-reinforce"])["hits"][0]["status"], "faded");
    store.ok(&["restore", "cn1hyzyr2y1e"]);
    assert_eq!(store.json(&["recall", "train"])["hits"][0]["status"], "active");
}

#[test]
fn tidy_and_compact_say_what_they_did() {
    let store = with_tea();
    assert_snapshot!(store.ok(&["tidy"]), @"Nothing was due.\n");
    assert_eq!(store.json(&["tidy"]), json!({ "edited": [], "promoted": [], "refreshed": [], "faded": 0 }));
    for text in ["Prefers green tea.", "Prefers white tea.", "Prefers black tea."] {
        store.ok(&["revise", TEA, "--text", text]);
    }
    let journal = fs::read(store.journal()).unwrap();
    let dry = store.json(&["compact", "--dry-run"]);
    assert_eq!(fs::read(store.journal()).unwrap(), journal);
    let done = store.json(&["compact"]);
    assert_eq!(dry, done);
    assert_eq!(done["bytes_before"], journal.len());
    assert_eq!(done["bytes_after"], fs::read(store.journal()).unwrap().len());
    assert!(done["lines_after"].as_u64() < done["lines_before"].as_u64());
    assert_eq!(store.engine().whole(TEA).memory.text, "Prefers black tea.");
    let again = store.json(&["compact"]);
    assert_eq!(again["lines_before"], again["lines_after"]);
}

#[test]
fn where_and_init_show_the_places() {
    let store = with_tea();
    let place = |name: &str| store.root().join(name).to_str().unwrap().to_owned();
    let shown = store.json(&["where"]);
    assert_eq!(shown["home"], place("home"));
    assert_eq!(shown["journals"], json!([place("home/short-term/aaaa1111.jsonl")]));
    assert_eq!((&shown["vault"], &shown["vault_exists"]), (&json!(place("vault")), &json!(false)));
    assert_eq!(shown["replica"], "aaaa1111");
    assert!(store.ok(&["where"]).contains(&place("home")));
    let made = store.json(&["init"]);
    assert!(made["written"].as_array().unwrap().contains(&json!("Home.md")), "{made}");
    assert!(made["commit"].is_string());
    assert_eq!(store.json(&["init"])["written"], json!([]));
    assert_eq!(store.json(&["where"])["vault_exists"], true);
    let other: Run = store
        .command(&["where", "--json"])
        .env_remove("EBBMARK_HOME")
        .env_remove("EBBMARK_VAULT")
        .output()
        .unwrap()
        .into();
    let other = other.exits(0).json();
    assert_eq!((&other["home"], &other["vault"]), (&json!(place("user/.ebbmark")), &json!(place("user/Ebbmark"))));
    let flags = store.json(&["where", "--home", &place("h"), "--vault", &place("v")]);
    assert_eq!((&flags["home"], &flags["vault"]), (&json!(place("h")), &json!(place("v"))), "flags win");
}

#[test]
fn json_has_the_promised_fields() {
    let store = with_tea();
    store.ok(&["remember", "Prefers cocoa over tea.", "--supersedes", TEA, "--title", "Cocoa"]);
    let hit = ["id", "text", "kind", "tier", "score", "created", "status"];
    let hit_maybe = [
        "title",
        "happened",
        "last_used",
        "tags",
        "entities",
        "scope",
        "note",
        "previously",
        "superseded_by",
        "conflicts",
        "source",
        "trusted",
        "why",
    ];
    let recalled = store.json(&["recall", "tea", "--include", "superseded", "--explain"]);
    has_shape(&recalled, &["found", "hits"], &["due", "total", "cursor", "notice"]);
    for found in recalled["hits"].as_array().unwrap() {
        has_shape(found, &hit, &hit_maybe);
        has_shape(
            &found["why"],
            &["fit", "lexical", "strength", "level"],
            &["dense", "speaker", "phrase", "date", "form", "standing", "idle_days", "words"],
        );
    }
    let opened = store.json(&["open", TEA, "--history"]);
    has_shape(&opened, &["memories"], &["not_found"]);
    let whole = ["strength", "uses", "days_used", "half_life_days"];
    let whole_maybe =
        ["fades_at", "promotion", "obsidian", "relations", "history", "keywords", "valid_until", "level", "pinned"];
    let memory = &opened["memories"][0];
    has_shape(memory, &[&hit[..], &whole].concat(), &[&hit_maybe[..], &whole_maybe].concat());
    has_shape(&memory["history"][0], &["at", "what"], &["text"]);
    has_shape(&memory["relations"][0], &["type", "id", "direction", "text"], &[]);
    assert_eq!(memory["created"], "2026-11-29T12:00:00.000Z", "times are RFC 3339 in UTC");
    let told = store.json(&["remember", "Likes cocoa with cream"]);
    let told_maybe = ["entities", "redacted", "similar", "superseded", "conflict", "error"];
    has_shape(&told["results"][0], &["outcome", "id", "kind", "why"], &told_maybe);
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    let store = Store::new();
    let run = store.run(&["revise", "zzzzzzzzzzzz", "--title", "x", "--json"]).exits(2);
    has_shape(&run.json(), &["error", "kind", "hint"], &[]);
    assert_eq!(run.json()["kind"], "user");
    let run = store.run(&["remember", "x y", "--home", "/dev/null/x", "--json"]).exits(3);
    has_shape(&run.json(), &["error", "kind", "hint"], &[]);
    assert_eq!(run.json()["kind"], "environment");
    for arguments in [&["nonsense"][..], &[], &["recall", "--nonsense"], &["open"], &["completions", "cobol"]] {
        let run = store.run(arguments).exits(2);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{arguments:?}: {run}");
    }
}

#[test]
fn every_command_has_help() {
    let store = Store::new();
    let help = store.ok(&["--help"]);
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let commands: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let promised = [
        "remember",
        "recall",
        "open",
        "revise",
        "edit",
        "reinforce",
        "forget",
        "restore",
        "promote",
        "entity",
        "graph",
        "path",
        "inspect",
        "stats",
        "faded",
        "tidy",
        "compact",
        "init",
        "where",
        "serve",
        "watch",
        "demo",
        "completions",
    ];
    for command in promised {
        assert!(commands.contains(&command), "{command}: {commands:?}");
    }
    for command in commands.into_iter().filter(|command| *command != "help") {
        let text = store.ok(&[command, "--help"]);
        assert!(text.contains("Usage: ebbmark ") && text.lines().next().unwrap().len() > 8, "{command}: {text}");
        assert!(!text.contains('`') || !text.contains("[`"), "{command} shows source markup: {text}");
        for line in text.lines().filter(|line| line.trim_start().starts_with("--")) {
            let told = line.trim().split_once("  ").map(|(_, told)| told.trim()).unwrap_or_default();
            assert!(!told.is_empty(), "`{command}` does not explain {line}");
        }
    }
    assert_eq!(store.ok(&["--version"]), format!("ebbmark {}\n", env!("CARGO_PKG_VERSION")));
    assert!(!store.home().exists(), "help made a home");
}

#[test]
fn every_shell_gets_completions() {
    let store = Store::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = store.ok(&["completions", shell]);
        assert!(script.contains("ebbmark") && script.contains("reinforce"), "{shell}");
    }
    assert!(!store.home().exists());
}

#[test]
fn every_text_ends_its_line() {
    let store = with_tea();
    for arguments in [
        &["recall", "tea"][..],
        &["recall", "oboe"],
        &["open", TEA],
        &["stats"],
        &["faded"],
        &["inspect", "health"],
        &["inspect", "overview"],
        &["tidy"],
        &["compact"],
        &["where"],
        &["reinforce", TEA],
        &["revise", TEA, "--title", "Tea"],
        &["promote", TEA],
        &["forget", TEA],
        &["restore", TEA],
        &["init"],
        &["promote"],
    ] {
        let text = store.ok(arguments);
        assert!(text.ends_with('\n') && !text.ends_with("\n\n") && !text.contains('\u{1b}'), "{arguments:?}: {text:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let store = with_tea();
    let run =
        store.shell("\"$EBBMARK\" --help | head -n 1; \"$EBBMARK\" recall tea | true; \"$EBBMARK\" stats | head -n 1");
    assert!(run.code == 0 && !run.stderr.contains("panicked"), "{run}");
}

#[test]
fn the_demo_plays_and_leaves_nothing() {
    let store = Store::new();
    let played = store.ok(&["demo"]);
    assert!(played.contains("promoted"), "{played}");
    assert!(!store.home().exists() && !store.vault().exists());
    let kept = store.root().join("kept");
    store.ok(&["demo", "--keep", kept.to_str().unwrap()]);
    assert!(kept.is_dir());
}

#[test]
fn what_the_text_holds_cannot_command_the_terminal() {
    let store = Store::new();
    let id =
        store.engine().save("Red \u{1b}[31malert\u{1b}[0m and \u{202e}reversed\u{7} and \u{200b}hidden \u{e0041}tag");
    for arguments in [&["open", &id][..], &["recall", "alert"], &["inspect", "overview"]] {
        let text = store.ok(arguments);
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\u{e0041}']), "{arguments:?}: {text:?}");
    }
}
