//! Bug cases of the index, of queries, and of answers that are behind the vault.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use ebbmark::engine::{Engine, NewMemory, RecallRequest, ReviseRequest};
use serde_json::json;

use crate::bug_cases::{notice, say};
use crate::bug_disk::{on_own_file_system, own_file_system};
use crate::support::{Calls, Dice, Store, files_below};

/// What every open question finds: ids and scores, best first.
fn found(engine: &Engine, queries: &[&str]) -> Vec<Vec<(String, f64)>> {
    let of = |query: &&str| engine.hits(query).into_iter().map(|hit| (hit.id, hit.score)).collect();
    queries.iter().map(of).collect()
}

/// Copies a folder.
fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in files_below(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

// B30: the index's lock is busy.

/// Holds the lock of whoever writes the index, until its stdin ends.
#[test]
fn b30_actor_holds_the_lock() {
    let Some(path) = std::env::var_os("LOCK_TO_HOLD") else { return };
    let file = fs::File::options().write(true).open(path).unwrap();
    file.lock().unwrap();
    let mut out = std::io::stdout();
    out.write_all(b"\nheld\n").unwrap();
    out.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn b30_what_is_saved_while_the_index_is_locked_is_found_at_once_and_indexed_later() {
    let store = Store::new();
    store.fill(30);
    store.engine().clean();
    assert_eq!(store.engine().counts().not_indexed, 0);
    let cache = store.engine().whereabouts().unwrap().cache;
    let is_lock = |path: &&std::path::PathBuf| path.file_name().is_some_and(|name| name == ".tantivy-writer.lock");
    let files = files_below(&cache);
    let lock = cache.join(files.keys().find(is_lock).expect("the index has a lock"));

    let mut command = store.actor("bug_index::b30_actor_holds_the_lock");
    let mut holder = command.env("LOCK_TO_HOLD", lock).stdin(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line == "held"));

    let (server, millis) = store.engine_with_moved_clock();
    for n in 0..20 {
        let text = format!("Bottle {n} is corked");
        let answer = store.json(&["remember", &text]);
        assert_eq!(answer["results"][0]["outcome"], "saved", "{answer}");
        assert_eq!(store.json(&["recall", &format!("bottle {n} corked")])["hits"][0]["text"], text.as_str());
        assert_eq!(server.texts(&format!("bottle {n} corked"))[0], text);
    }
    // Whoever wants to write the index meanwhile gives way and says nothing wrong.
    store.ok(&["tidy"]);
    server.step().1.unwrap();
    let step_a_minute_later = || {
        millis.fetch_add(60_500, Ordering::SeqCst);
        server.step().1.unwrap();
    };
    step_a_minute_later();
    assert_eq!(store.engine().counts().not_indexed, 20);
    assert_eq!(store.engine().texts("corked").len(), 20);
    assert_eq!(notice(&store.engine(), "corked"), None);

    drop(holder.stdin.take());
    holder.wait().unwrap();
    let mut minutes = 1;
    // A program that another test starts at this moment holds our own lock too until it runs.
    while store.engine().counts().not_indexed > 0 {
        minutes += 1;
        assert!(minutes < 200, "upkeep leaves them out of the index");
        step_a_minute_later();
    }
    assert_eq!(store.engine().texts("corked").len(), 20);
}

// B31: a broken index.

const QUESTIONS: [&str; 6] = ["shelf", "shelf 7", "the 12th shelf", "shelf 3 or 4", "later thought", "zeppelin"];

/// A store of which everything is in the index: three segments, deleted documents among them.
fn indexed() -> Store {
    let store = Store::in_memory();
    let ids = store.fill(60);
    store.engine().clean();
    for n in 0..20 {
        store.engine().save(&format!("Later thought {n} about shelf {}", n % 7));
    }
    store.engine().clean();
    for id in &ids[10..15] {
        store.engine().drop_memory(id);
    }
    let request =
        ReviseRequest { id: ids[30].clone(), text: Some("Shelf 3 and a half".into()), ..ReviseRequest::default() };
    store.engine().change(request);
    store.engine().clean();
    assert_eq!(store.engine().counts().not_indexed, 0);
    store
}

/// A copy of a store's home, in a store of its own.
fn copied(store: &Store) -> Store {
    let copy = Store::in_memory();
    copy_folder(&store.home(), &copy.home());
    copy
}

/// What a store answers that has no index at all, and one that has just built it.
fn fresh_answers(store: &Store) -> Vec<Vec<(String, f64)>> {
    let fresh = copied(store);
    drop(fs::remove_dir_all(fresh.home().join("cache")));
    let without = found(&fresh.engine(), &QUESTIONS);
    fresh.engine().clean();
    assert_eq!(found(&fresh.engine(), &QUESTIONS), without, "where a memory lies changes its score");
    without
}

/// The only folder of the index.
fn index_folder(store: &Store) -> std::path::PathBuf {
    let entries = fs::read_dir(store.home().join("cache")).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.into_iter().next().unwrap()
}

/// Recall is right with the damaged index, and after the next tidying the index is whole again.
fn serve_without(store: &Store, what: &str, right: &[Vec<(String, f64)>], must_say: bool) {
    let engine = store.engine();
    assert_eq!(found(&engine, &QUESTIONS), right, "{what}");
    if must_say {
        assert!(notice(&engine, "shelf").is_some(), "{what}: recall does not say that it goes without the index");
    }
    let id = engine.save("A thought of now");
    assert_eq!(engine.texts("thought of now")[0], "A thought of now", "{what}");
    engine.drop_memory(&id);
    // The same process and another one build it anew.
    engine.clean();
    for engine in [engine, store.engine()] {
        assert_eq!(found(&engine, &QUESTIONS), right, "{what}, built anew");
        assert_eq!(engine.counts().not_indexed, 0, "{what}, built anew");
        assert_eq!(notice(&engine, "shelf"), None, "{what}, built anew");
    }
}

#[test]
fn b31_any_damage_to_the_index_costs_no_answer_and_is_mended() {
    let origin = indexed();
    let right = fresh_answers(&origin);
    assert!(right[0].len() > 40 && right[5].is_empty(), "{right:?}");
    let names: Vec<_> = files_below(&index_folder(&origin)).into_keys().collect();
    assert!(names.len() > 12, "{names:?}");
    let mut cases = 0;
    for name in &names {
        let is_lock = name.to_string_lossy().ends_with(".lock");
        for what in ["removed", "cut to 0 bytes", "cut to 10 bytes", "cut in half", "a byte flipped", "zeros"] {
            let store = copied(&origin);
            let path = index_folder(&store).join(name);
            let mut bytes = fs::read(&path).unwrap();
            if bytes.is_empty() && what != "removed" {
                continue;
            }
            match what {
                "removed" => {}
                "cut to 0 bytes" => bytes.clear(),
                "cut to 10 bytes" => bytes.truncate(10),
                "cut in half" => bytes.truncate(bytes.len() / 2),
                "a byte flipped" => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0x10;
                }
                _ => bytes.fill(0),
            }
            if what == "removed" {
                fs::remove_file(&path).unwrap();
            } else {
                fs::write(&path, bytes).unwrap();
            }
            // Without its description there is no index; what the lock files say does not matter.
            let must_say = what != "removed" && name == Path::new("meta.json") && !is_lock;
            serve_without(&store, &format!("{} {what}", name.display()), &right, must_say);
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases} damages");
}

#[test]
fn b31_an_index_of_another_make_is_replaced() {
    let origin = indexed();
    let right = fresh_answers(&origin);
    let mut schema = tantivy::schema::Schema::builder();
    let body = schema.add_text_field("body", tantivy::schema::TEXT | tantivy::schema::STORED);
    let foreign = tempfile::tempdir().unwrap();
    let index = tantivy::Index::create_in_dir(foreign.path(), schema.build()).unwrap();
    let mut writer = index.writer_with_num_threads::<tantivy::TantivyDocument>(1, 15_000_000).unwrap();
    writer.add_document(tantivy::doc!(body => "Shelf 7 of another make")).unwrap();
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let store = copied(&origin);
    let folder = index_folder(&store);
    fs::remove_dir_all(&folder).unwrap();
    copy_folder(foreign.path(), &folder);
    serve_without(&store, "another schema", &right, true);

    // And an index of ours that belongs to another home.
    let other = Store::in_memory();
    for n in 0..20 {
        other.engine().save(&format!("Shelf {n} of another home"));
    }
    other.engine().clean();
    let store = copied(&origin);
    let folder = index_folder(&store);
    fs::remove_dir_all(&folder).unwrap();
    copy_folder(&index_folder(&other), &folder);
    serve_without(&store, "the index of another home", &right, false);
}

#[test]
fn b31_a_cache_that_cannot_be_written_costs_no_answer() {
    let origin = indexed();
    let right = fresh_answers(&origin);
    for what in ["a file", "a dangling link"] {
        let store = copied(&origin);
        let cache = store.home().join("cache");
        fs::remove_dir_all(&cache).unwrap();
        match what {
            "a file" => fs::write(&cache, "not a folder").unwrap(),
            _ => std::os::unix::fs::symlink("/nowhere/at/all", &cache).unwrap(),
        }
        let engine = store.engine();
        assert_eq!(found(&engine, &QUESTIONS), right, "{what}");
        engine.save("A thought of now");
        engine.clean();
        for engine in [engine, store.engine()] {
            assert_eq!(engine.texts("thought of now")[0], "A thought of now", "{what}");
        }
    }
}

#[test]
fn b31_actor_with_a_cache_that_may_only_be_read() {
    let Some(store) = own_file_system() else { return };
    assert!(fs::write(store.home().join("cache/probe"), "").is_err(), "the folder can be written");
    let engine = store.engine();
    engine.save("A thought of now");
    engine.clean();
    store.ok(&["tidy"]);
    let right = fresh_answers(&store);
    for engine in [engine, store.engine()] {
        assert_eq!(engine.texts("thought of now")[0], "A thought of now");
        assert_eq!(found(&engine, &QUESTIONS), right);
        // It may go without the index, but not in silence.
        assert!(engine.counts().not_indexed == 1 || notice(&engine, "shelf").is_some());
    }
}

#[test]
fn b31_an_index_that_may_only_be_read_is_read() {
    let store = indexed();
    let mount = "mount --bind home/cache home/cache && mount -o remount,ro,bind home/cache";
    if let Err(why) = on_own_file_system(&store, mount, "bug_index::b31_actor_with_a_cache_that_may_only_be_read") {
        say(&format!("not run: a read-only file system under the cache ({why})"));
    }
    // The same home, where it may be written again.
    let engine = store.engine();
    engine.clean();
    assert_eq!(engine.counts().not_indexed, 0);
}

#[test]
fn b31_kills_during_commit_and_merge_leave_an_index_that_answers_right() {
    let mut store = Store::in_memory();
    store.seed = None;
    let mut dice = Dice(31);
    store.fill(60);
    store.ok(&["tidy"]);
    // Moments up to here. It follows the machine, so that about half of the kills come too late.
    let mut latest = Duration::from_millis(100);
    let (mut cut_short, mut completed) = (0, 0);
    for round in 0..40 {
        let batch: Vec<NewMemory> = (0..12)
            .map(|n| NewMemory { text: format!("Later thought {round}-{n} about shelf {n}"), ..NewMemory::default() })
            .collect();
        store.engine().remember(&ebbmark::engine::RememberRequest::of(&batch)).unwrap();
        let mut child = store.start(&["tidy"]);
        // The moment is meant to be random.
        thread::sleep(latest * u32::try_from(dice.below(1000)).unwrap() / 1000);
        child.kill().unwrap();
        child.wait().unwrap();
        let engine = store.engine();
        if engine.counts().not_indexed == 0 {
            completed += 1;
            latest = latest * 3 / 4;
        } else {
            cut_short += 1;
            latest = latest * 4 / 3;
        }
        let fresh = copied(&store);
        drop(fs::remove_dir_all(fresh.home().join("cache")));
        assert_eq!(found(&engine, &QUESTIONS), found(&fresh.engine(), &QUESTIONS), "round {round}");
        assert_eq!(notice(&engine, "shelf"), None, "round {round}: a kill damaged the index");
    }
    assert!(cut_short > 0 && completed > 0, "{cut_short} cut short, {completed} completed: nothing was hit");
    store.engine().clean();
    let engine = store.engine();
    assert_eq!(engine.counts().not_indexed, 0);
    assert_eq!(found(&engine, &QUESTIONS), fresh_answers(&store));
}

// B32: queries are text.

#[test]
fn b32_ordinary_punctuation_finds_what_is_written_with_it() {
    let store = Store::new();
    for (query, text) in [
        ("a'b", "The prime is called a'b in the proof"),
        ("GB/s", "The bus does 12 GB/s"),
        ("C:\\tmp", "Scratch files go to C:\\tmp on that box"),
        ("foo AND", "The gate is labelled foo AND bar"),
        ("title:", "Each record begins with title: and a colon"),
        ("NOT", "The NOT gate is broken"),
        ("café", "The café opens at nine"),
        ("multi-agent", "The multi-agent planner is slow"),
        ("CLAUDE.md", "The config is in CLAUDE.md"),
        ("\u{1f375}", "Drinks \u{1f375} in the morning"),
        ("what's 50% off?", "Shoes are 50% off today"),
    ] {
        store.engine().save(text);
        let run = store.run(&["recall", "--json", "--no-reinforce", "--", query]).exits(0);
        if matches!(query, "NOT" | "foo AND" | "\u{1f375}") {
            // A stop word or a picture may count for nothing.
            continue;
        }
        assert_eq!(run.json()["hits"][0]["text"], text, "{query}");
    }
}

#[test]
fn b32_a_query_that_says_nothing_gets_an_answer_without_hits_or_a_listing() {
    let store = Store::new();
    store.fill(3);
    let engine = store.engine();
    for query in ["\0", "a\0b", "\u{0}\u{0}", "(", "\"", "*", "-", "^", "~", "\\", "+", "\u{fffd}", "\u{e0041}"] {
        let answer = engine.recall(&RecallRequest::of(query)).unwrap();
        assert!(answer.hits.is_empty() || answer.found, "{query:?}: {answer:?}");
        assert!(answer.hits.len() <= 3);
    }
    let shelf = engine.recall(&RecallRequest::of("\0shelf\0 1")).unwrap();
    assert_eq!(shelf.hits[0].text, "Shelf 1");
    for query in ["", " ", "\n\t"] {
        let answer = engine.recall(&RecallRequest::of(query)).unwrap();
        assert!(answer.hits.is_empty() || answer.hits.len() == 3, "{query:?}: {answer:?}");
    }
}

// B33: stale answers.

/// A promoted memory whose note says another token now than when it was last seen; its id.
fn edited_behind_our_back(store: &Store) -> String {
    let told = store.engine().tell(NewMemory {
        text: "The gate opens with ghosttoken42".into(),
        title: Some("Gate".into()),
        ..NewMemory::default()
    });
    let id = told.id.unwrap();
    store.engine().keep(&id);
    store.engine().clean();
    store.edit_note("Gate", "ghosttoken42", "freshtoken43");
    id
}

#[test]
fn b33_an_edit_made_while_nothing_ran_is_answered_with_the_new_text() {
    for command in
        [&["recall", "gate opens", "--no-reinforce"][..], &["recall", "freshtoken43"], &["recall", ""], &["open"]]
    {
        let store = Store::new();
        let id = edited_behind_our_back(&store);
        let mut arguments = command.to_vec();
        if command == ["open"] {
            arguments.push(&id);
        }
        let run = store.run(&arguments).exits(0);
        assert!(run.stdout.contains("freshtoken43") && !run.stdout.contains("ghosttoken42"), "{command:?}: {run}");
    }
    let store = Store::new();
    edited_behind_our_back(&store);
    let run = store.run(&["recall", "ghosttoken42"]).exits(0);
    assert!(!run.stdout.contains("ghosttoken42"), "{run}");
}

#[test]
fn b33_a_server_that_starts_after_an_edit_does_not_serve_the_old_text_as_the_notes() {
    let store = Store::new();
    edited_behind_our_back(&store);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "Inspector", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let parameters = json!({ "_meta": meta, "name": "recall", "arguments": { "query": "gate opens" } });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters });
    let run = store.run_with_stdin(&["serve"], format!("{request}\n").as_bytes());
    let answer = run.json()["result"]["structuredContent"].clone();
    assert_eq!(answer["hits"].as_array().map(Vec::len), Some(1), "{run}");
    let is_old = answer.to_string().contains("ghosttoken42");
    assert!(!is_old || answer["notice"].is_string(), "the old text is served, and nothing says so: {answer:#}");
}

#[test]
fn b33_a_running_process_serves_an_edit_once_it_has_read_the_vault_back() {
    let store = Store::new();
    let server = store.engine();
    let id = server.save("The gate opens at noon");
    server.keep(&id);
    let name = store.notes().remove(0);
    for round in 0..20 {
        let text = format!("The gate opens with freshtoken{round}");
        let note = store.note(&name);
        let (front, _) = note.rsplit_once("\n---\n").unwrap();
        store.write_note(&name, &format!("{front}\n---\n{text}\n"));
        server.read_back().unwrap();
        assert_eq!(server.texts("gate opens"), [text.as_str()], "round {round}");
        assert_eq!(server.texts(&format!("freshtoken{round}")), [text], "round {round}");
    }
}

#[test]
fn b33_a_note_that_was_deleted_while_nothing_ran_is_not_served_as_if_it_were_there() {
    let store = Store::new();
    let id = store.engine().save("The gate code is ghosttoken42");
    store.engine().keep(&id);
    store.engine().clean();
    let name = store.notes().remove(0);
    fs::remove_file(store.note_path(&name)).unwrap();
    let engine = store.engine();
    // A missing note is not a forgotten memory: it is listed, by name and id.
    let health = engine.health();
    let named = |what: &str| what.contains(&name) && what.contains(&id) && what.contains("missing");
    assert!(health.findings.iter().any(|finding| named(&finding.what)), "{health:?}");
    let tidied = engine.clean();
    assert_eq!(tidied.vanished, [format!("Memories/{name}.md")], "{tidied:?}");
    assert!(store.notes().is_empty(), "the person's deletion was undone");
    assert_eq!(engine.texts("gate code"), [] as [&str; 0]);
}

#[test]
fn b33_an_answer_from_a_note_that_is_gone_says_so() {
    let store = Store::new();
    let id = store.engine().save("The gate code is ghosttoken42");
    store.engine().keep(&id);
    store.engine().clean();
    fs::remove_file(store.note_path(&store.notes()[0])).unwrap();
    let engine = store.engine();
    let answer = engine.recall(&RecallRequest::of("gate code")).unwrap();
    let as_a_note = answer.hits.iter().any(|hit| hit.note.is_some());
    assert!(!as_a_note || answer.notice.is_some(), "a note that is not there is given as the place: {answer:?}");
}
