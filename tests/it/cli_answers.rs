//! What the command line answers where something is not as it was meant: in its own words, with the right exit code.

use std::fs;

use serde_json::json;

use crate::support::{Calls, Run, Store};

#[test]
fn any_number_of_lines_is_remembered() {
    let store = Store::in_memory();
    let lines: String = (0..3000).map(|n| format!("{}\n", json!({ "text": format!("Pebble {n}") }))).collect();
    let arguments = ["remember", "-", "--jsonl", "--json", "--op-key", "beach"];
    for _ in 0..2 {
        let run = store.run_with_stdin(&arguments, lines.as_bytes()).exits(0);
        assert_eq!(run.json()["results"].as_array().unwrap().len(), 3000);
        assert_eq!(store.engine().counts().active, 3000, "a key for all of them");
    }
    // So is any amount of text.
    let heavy: String =
        (0..20).map(|n| format!("{}\n", json!({ "text": format!("{n} {}", "word ".repeat(12_000)) }))).collect();
    let run = store.run_with_stdin(&["remember", "-", "--jsonl", "--json"], heavy.as_bytes()).exits(0);
    assert_eq!(run.json()["results"].as_array().unwrap().len(), 20);
}

#[test]
fn a_bad_line_says_its_number_and_costs_only_itself() {
    let store = Store::new();
    let lines = b"{\"text\":\"Owns a red bicycle\"}\n\n{\"text\":\n\xff\n{\"text\":null}\n7\n{\"text\":\"x y\",\"kind\":\"furniture\"}\n\
        {\"text\":\"a b\",\"source\":{\"who\":7}}\n\"Plays the oboe \\ud83d\"\n";
    let run = store.run_with_stdin(&["remember", "-", "--jsonl", "--json"], lines).exits(2);
    let told = run.json()["results"].clone();
    let outcomes: Vec<&str> = told.as_array().unwrap().iter().filter_map(|told| told["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["saved", "rejected", "rejected", "rejected", "rejected", "rejected", "rejected", "saved"]);
    for (place, start) in [
        (1, "line 3: it is no JSON: "),
        (2, "line 4: it is not UTF-8 from byte 0 on"),
        (3, "line 5: text: null is no text"),
        (4, "line 6: memory: 7 is neither a text nor an object"),
        (5, "line 7: kind `furniture`: is none of preference, "),
        (6, "line 8: source.who: 7 is no text"),
    ] {
        assert!(told[place]["why"].as_str().unwrap().starts_with(start), "{start}: {}", told[place]);
    }
    assert_eq!(store.engine().texts("oboe"), ["Plays the oboe \u{fffd}"]);
}

#[test]
fn a_hint_names_a_kind_of_the_list() {
    let store = Store::new();
    for (kind, hint) in [
        ("todoo", "did you mean `context`?"),
        ("prefrence", "did you mean `preference`?"),
        ("zzz", "leave it out if unsure"),
    ] {
        let answer = store.run(&["remember", "x y", "--kind", kind, "--json"]).exits(2).json();
        assert_eq!(answer["results"][0]["error"], hint, "{answer}");
    }
}

#[test]
fn a_limit_beyond_its_range_is_taken_as_the_nearest() {
    let store = Store::new();
    for n in 0..60 {
        store.engine().save(&format!("Pebble {n} is grey"));
    }
    for (limit, hits) in [("-1", 1), ("0", 1), ("3", 3), ("50", 50), ("1000", 50), ("99999999999", 50)] {
        let answer = store.json(&["recall", "pebble", "--no-reinforce", "--limit", limit]);
        assert_eq!(answer["hits"].as_array().unwrap().len(), hits, "{limit}");
    }
    assert!(store.ok(&["recall", "--help"]).contains("taken as the nearest"));
    store.run(&["recall", "pebble", "--limit", "many"]).exits(2);
    store.ok(&["faded", "--limit", "-5"]);
}

#[test]
fn json_is_offered_only_where_there_is_some() {
    let store = Store::new();
    for (command, arguments) in
        [("demo", &["demo"][..]), ("serve", &["serve"]), ("completions", &["completions", "bash"])]
    {
        assert!(!store.ok(&[command, "--help"]).contains("--json"), "{command}");
        for arguments in [[arguments, &["--json"]].concat(), [&["--json"], arguments].concat()] {
            let run = store.run(&arguments).exits(2);
            assert!(run.stderr.contains(&format!("`{command}` has no answer as JSON")), "{arguments:?}: {run}");
        }
    }
    assert!(!store.home().exists());
}

#[test]
fn help_shows_what_every_command_has_apart() {
    let store = Store::new();
    for arguments in [&["--help"][..], &["recall", "--help"], &["doctor", "--help"]] {
        let help = store.ok(arguments);
        let (own, global) = help.split_once("\nOptions of every command:\n").unwrap_or_else(|| panic!("{help}"));
        let global = global.split("\n\n").next().unwrap();
        for option in ["--home", "--vault", "--json"] {
            assert!(global.contains(option) && !own.contains(&format!("{option} ")), "{option}: {help}");
        }
        assert!(!global.contains("--limit") && !global.contains("--fix"), "{help}");
    }
    assert!(store.ok(&["doctor", "--help"]).contains("4  warnings\n  5  errors"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_a_failure() {
    let store = Store::new();
    let full = |arguments: &str| -> Run { store.shell(&format!("\"$EBBMARK\" {arguments} > /dev/full")) };
    let run = full("remember 'Owns a red bicycle'").exits(3);
    assert!(run.stderr.contains("what the command did is done") && run.stderr.contains("stdout"), "{run}");
    assert_eq!(store.engine().counts().active, 1);
    for arguments in ["doctor --json", "recall bicycle", "--help", "completions bash", "demo"] {
        full(arguments).exits(3);
    }
}

#[test]
fn health_ends_like_the_doctor() {
    let store = Store::new();
    store.engine().save("Owns a red bicycle");
    store.configure("promotoin = \"off\"\n");
    for code in [4, 5] {
        for arguments in [&["doctor"][..], &["inspect", "health"], &["inspect", "health", "--json"]] {
            store.run(arguments).exits(code);
        }
        let text = fs::read_to_string(store.journal()).unwrap();
        fs::write(store.journal(), text.replace("a red", "a rod")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn counts_say_what_could_not_be_read() {
    let store = Store::new();
    store.engine().save("Owns a red bicycle");
    assert!(!store.ok(&["stats"]).contains("note:"));
    std::os::unix::fs::symlink("nowhere", store.home().join("short-term/bbbb2222.jsonl")).unwrap();
    let recalled = store.json(&["recall", "bicycle", "--no-reinforce"])["notice"].clone();
    assert!(recalled.as_str().unwrap().starts_with("error: "), "{recalled}");
    for view in ["stats", "overview", "faded"] {
        assert_eq!(store.json(&["inspect", view])["notice"], recalled, "{view}");
        assert!(store.ok(&["inspect", view]).contains("bbbb2222"), "{view}");
    }
}

/// A lock that nobody can open, not even root.
#[cfg(unix)]
fn bar(store: &Store) {
    let lock = store.home().join("lock");
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink("lock", &lock).unwrap();
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_is_told_in_the_notice() {
    let store = Store::new();
    store.engine().save("Owns a red bicycle");
    bar(&store);
    let run = store.run(&["recall", "bicycle", "--json"]).exits(0);
    let notice = run.json()["notice"].clone();
    assert!(notice.as_str().unwrap().contains("nothing can be saved, and no use is counted: cannot open"), "{run}");
    assert_eq!(run.stderr, "");
    assert!(store.engine().recall(&ebbmark::engine::RecallRequest::of("bicycle")).unwrap().notice.is_some());
}

#[test]
fn an_editor_that_is_not_there_is_named() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    let run: Run = store.command(&["edit", &id]).env("EDITOR", "no-such-editor -w").output().unwrap().into();
    let run = run.exits(2);
    assert!(run.stderr.contains("there is no program `no-such-editor`") && run.stderr.contains("EDITOR"), "{run}");
}

#[test]
fn a_purge_shows_the_notes_that_would_go() {
    let store = Store::new();
    let id = store.engine().save("Prefers tea over coffee");
    let note = store.engine().keep(&id);
    let shown = store.ok(&["forget", &id, "--purge"]);
    assert!(shown.contains(&format!("\n  and its note {note}\nnothing was done")), "{shown}");
    assert_eq!(store.json(&["forget", &id, "--purge"])["preview"][0]["notes"], json!([note]));
}
