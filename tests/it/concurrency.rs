//! Many processes at once on one home: nothing lost, nothing twice, nobody in the way of a reader.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ebbmark::engine::ReviseRequest;
use serde_json::{Value, json};

use crate::crowd::{self, Crowd, Known, check_seen};
use crate::soundness::{Plant, check_lines};
use crate::support::{Calls, Run, Store};
use crate::wire::Server;

fn end(child: Child) -> Run {
    child.wait_with_output().unwrap().into()
}

/// Runs the same command in `count` processes at the same moment.
fn at_once(store: &Store, count: usize, arguments: &[&str]) -> Vec<Run> {
    let children: Vec<Child> = (0..count).map(|_| store.start(arguments)).collect();
    children.into_iter().map(end).collect()
}

/// The `field` of the only result of each run.
fn each<'a>(answers: &'a [Value], field: &str) -> Vec<&'a str> {
    answers.iter().map(|answer| answer["results"][0][field].as_str().unwrap_or_default()).collect()
}

#[test]
fn eight_processes_save_two_hundred_memories_once_each() {
    let store = Store::new();
    let start = Barrier::new(8);
    let acknowledged: Vec<(String, String)> = thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (store, start) = (&store, &start);
                scope.spawn(move || {
                    start.wait();
                    let save = |place| {
                        let text = format!("Writer {writer} puts book {place} on the shelf");
                        // On a machine that does much else a turn may take longer than is waited for; nothing is
                        // written then.
                        let answer = std::iter::repeat_with(|| store.run(&["remember", &text, "--json"]))
                            .find(|run| run.code != 3 || !run.stderr.contains("nothing was written"))
                            .unwrap()
                            .exits(0)
                            .json();
                        (answer["results"][0]["id"].as_str().unwrap().to_owned(), text)
                    };
                    (0..25).map(save).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let ids: BTreeSet<&String> = acknowledged.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 200, "an id was given twice");
    let engine = store.engine();
    assert_eq!(engine.counts().active, 200);
    for (id, text) in &acknowledged {
        assert_eq!(&engine.whole(id).memory.text, text);
    }
    check_lines(&store, false).unwrap();
    assert_eq!(store.journals().len(), 1, "every process wrote into the one file");
}

#[test]
fn member() {
    crowd::member();
}

#[test]
fn eight_processes_do_two_hundred_and_fifty_things_each_and_every_reply_holds() {
    let crowd = Crowd::new(Store::new());
    crowd.run(8, 250, 1).unwrap_or_else(|fault| panic!("{fault}"));
    let operations = crowd.operations.load(Ordering::SeqCst);
    assert!(operations >= 2000, "{operations} operations");
}

#[test]
fn the_crowd_notices_planted_faults() {
    let crowd = Crowd::new(Store::in_memory());
    crowd.run(2, 60, 2).unwrap();
    let sound = fs::read(crowd.store.journal()).unwrap();
    for plant in Plant::ALL {
        assert!(crowd.plant(plant), "nothing for {}", plant.name());
        assert!(crowd.check().is_err(), "{} was not noticed", plant.name());
        fs::write(crowd.store.journal(), &sound).unwrap();
        crowd.check().unwrap();
    }
}

#[test]
fn the_crowd_notices_what_a_process_does_not_see_and_an_id_given_twice() {
    let elsewhere = "A memory of another home";
    for is_forgotten in [false, true] {
        let crowd = Crowd::new(Store::in_memory());
        let id = if is_forgotten { crowd.store.engine().save(elsewhere) } else { "0123456789ab".to_owned() };
        // Acknowledged as saved, and never written; or acknowledged as forgotten, and still there.
        let known = Known { id: id.clone(), text: elsewhere.into(), is_forgotten };
        let answer = json!({ "hits": if is_forgotten { json!([{ "id": id, "text": elsewhere }]) } else { json!([]) } });
        check_seen("recall", &answer, &known).unwrap_err();
        *crowd.pool.lock().unwrap() = vec![known; 20];
        let fault = crowd.run(2, 20, 3).unwrap_err();
        assert!(fault.contains(&id), "{fault}");
    }
    let crowd = Crowd::new(Store::in_memory());
    crowd.acknowledge("0123456789ab", "One").unwrap();
    crowd.acknowledge("0123456789ab", "Two").unwrap_err();
}

#[test]
fn what_processes_write_into_a_note_is_never_read_back_as_a_persons_edit() {
    let store = Store::in_memory();
    store.configure("[git]\nmode = \"off\"\n");
    let id = store.engine().save("Counts 0 sheep");
    store.engine().keep(&id);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let engine = store.engine();
                while !is_over.load(Ordering::SeqCst) {
                    engine.read_back().unwrap();
                }
            });
        }
        let writers: Vec<_> = (1..=2)
            .map(|writer| {
                let (store, id) = (&store, &id);
                scope.spawn(move || {
                    let engine = store.engine();
                    for round in 0..100 {
                        let text = Some(format!("Counts {writer}{round:03} sheep"));
                        engine.revise(&ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() }).unwrap();
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        for outcome in outcomes {
            outcome.unwrap();
        }
    });
    let journal = fs::read_to_string(store.journal()).unwrap();
    let misread: Vec<&str> = journal.lines().filter(|line| line.contains("\"by\":\"person\"")).collect();
    assert!(misread.is_empty(), "{} of {} lines, {}", misread.len(), journal.lines().count(), misread[0]);
}

/// Makes git hand every note to a program that says that it began, and waits until it may go on.
#[cfg(unix)]
fn make_git_wait(store: &Store) -> (std::path::PathBuf, std::path::PathBuf) {
    let (began, go_on) = (store.root().join("began"), store.root().join("go-on"));
    fs::write(store.vault().join(".git/info/attributes"), "Memories/*.md filter=slow\n").unwrap();
    let wait = "touch '{began}'; while [ ! -e '{go_on}' ]; do sleep 0.02; done; cat";
    let wait = wait.replace("{began}", began.to_str().unwrap()).replace("{go_on}", go_on.to_str().unwrap());
    store.git(&["config", "filter.slow.clean", &wait]);
    (began, go_on)
}

#[cfg(unix)]
#[test]
fn a_promotion_that_waits_for_git_keeps_nobody_waiting() {
    let store = Store::new();
    store.ok(&["init"]);
    let engine = store.engine();
    let texts = ["Owns a red bicycle", "Rents a garage by the canal", "Needs a new lamp", "Knows a good baker"];
    let ids: Vec<String> = texts.iter().map(|text| engine.save(text)).collect();
    let mut server = Server::spawn(store.command(&["serve"]), None).greeted();
    let (began, go_on) = make_git_wait(&store);
    let mut promoting = store.start(&["promote", &ids[0], "--json"]);
    while !began.exists() {
        assert!(promoting.try_wait().unwrap().is_none(), "{}", end(promoting));
        thread::yield_now();
    }

    // Through the library, the wire and the program: each is answered while the promotion is inside git.
    let saved = engine.save("Sings in a choir");
    assert_eq!(engine.texts("choir"), ["Sings in a choir"]);
    engine.change(ReviseRequest { id: ids[1].clone(), text: Some("Rents a boat".into()), ..ReviseRequest::default() });
    engine.drop_memory(&ids[2]);
    engine.compact(false).unwrap();
    let by_wire = server.remember("Plays the cello");
    assert_eq!(server.call("recall", json!({ "query": "cello" })).0["hits"][0]["id"], by_wire);
    let (revised, _) = server.call("revise", json!({ "id": ids[3], "text": "Knows a good cobbler" }));
    server.call("reinforce", json!({ "ids": by_wire }));
    let (forgotten, _) = server.call("forget", json!({ "ids": saved }));
    // Nobody even waited for git's turn: there was nothing of theirs to commit.
    assert_eq!((&revised["why"], &forgotten["notice"]), (&Value::Null, &Value::Null), "{revised} {forgotten}");
    store.ok(&["remember", "Grows tomatoes"]);
    store.ok(&["compact"]);
    // One more note is written and journalled; that it is not committed is said.
    let promoted = store.json(&["promote", &by_wire]);
    assert!(promoted["notice"].as_str().is_some_and(|notice| notice.contains("not committed")), "{promoted}");
    assert!(promoting.try_wait().unwrap().is_none(), "the promotion did not wait");

    fs::write(go_on, "").unwrap();
    let answer = end(promoting).exits(0).json();
    assert!(answer["promoted"][0]["commit"].is_string(), "{answer}");
    server.finish_quietly();
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    let engine = store.engine();
    let expected = [
        (&ids[0], texts[0]),
        (&ids[1], "Rents a boat"),
        (&ids[3], "Knows a good cobbler"),
        (&by_wire, "Plays the cello"),
    ];
    for (id, text) in expected {
        assert_eq!(engine.whole(id).memory.text, text);
    }
    assert!(engine.find(&ids[2]).is_none() && engine.find(&saved).is_none());
    assert_eq!(engine.counts().active, 5);
    assert_eq!(store.notes().len(), 2);
}

#[test]
fn a_sentence_said_twice_at_the_same_moment_is_one_memory() {
    let store = Store::new();
    for round in 0..20 {
        let text = format!("Platform {round} is the quiet one");
        let answers: Vec<Value> =
            at_once(&store, 2, &["remember", &text, "--json"]).into_iter().map(|run| run.exits(0).json()).collect();
        let ids = each(&answers, "id");
        assert_eq!(ids[0], ids[1]);
        let outcomes: BTreeSet<&str> = each(&answers, "outcome").into_iter().collect();
        assert_eq!(outcomes, BTreeSet::from(["reinforced", "saved"]));
    }
    assert_eq!(store.engine().counts().active, 20);
}

#[test]
fn an_operation_repeated_by_many_processes_happens_once() {
    let store = Store::new();
    let arguments = ["remember", "The lease ends in May", "--op-key", "lease", "--json"];
    let answers: Vec<Value> = at_once(&store, 6, &arguments).into_iter().map(|run| run.exits(0).json()).collect();
    let ids: BTreeSet<&str> = each(&answers, "id").into_iter().collect();
    assert_eq!(ids.len(), 1, "{answers:?}");
    let outcomes: BTreeSet<&str> = each(&answers, "outcome").into_iter().collect();
    assert_eq!(outcomes, BTreeSet::from(["saved"]), "the same key gives the first answer");
    assert_eq!(store.engine().counts().active, 1);

    let other = ["remember", "The lease ends in June", "--op-key", "lease", "--json"];
    let refused = store.run(&other).exits(2);
    assert!(refused.stdout.contains("lease") || refused.stdout.contains("key"), "{refused}");
    assert_eq!(store.engine().counts().active, 1);
}

#[test]
fn two_processes_that_promote_one_memory_write_one_note() {
    let store = Store::new();
    store.ok(&["init"]);
    for round in 0..5 {
        let id = store.engine().save(&format!("Lamp {round} needs a small bulb"));
        let runs = at_once(&store, 2, &["promote", &id, "--json"]);
        assert!(runs.iter().any(|run| run.code == 0), "{} {}", runs[0], runs[1]);
        assert!(runs.iter().all(|run| run.code != 1), "{} {}", runs[0], runs[1]);
        assert_eq!(store.notes().len(), round + 1);
        store.ok(&["tidy"]);
        assert_eq!(store.git(&["status", "--porcelain"]), "");
        let named = store.git(&["log", "--format=%B"]);
        assert_eq!(named.matches(&format!("Ebbmark-Memory: {id}")).count(), 1, "{named}");
    }
}

#[test]
fn two_first_promotions_at_once_make_one_vault() {
    for _ in 0..5 {
        let store = Store::new();
        let ids = [store.engine().save("Owns a red bicycle"), store.engine().save("Rents a garage by the canal")];
        let children: Vec<Child> = ids.iter().map(|id| store.start(&["promote", id])).collect();
        for child in children {
            end(child).exits(0);
        }
        store.ok(&["tidy"]);
        assert_eq!(store.notes().len(), 2);
        assert_eq!(store.git(&["status", "--porcelain"]), "");
        store.git(&["fsck", "--strict"]);
        let home = fs::read_to_string(store.vault().join("Home.md")).unwrap();
        assert_eq!(home.matches("vault_id:").count(), 1);
    }
}

#[test]
fn a_held_lock_is_busy_after_the_wait_and_nobody_waits_to_read() {
    let store = Store::new();
    store.ok(&["remember", "Prefers tea over coffee"]);
    let before = store.journals();
    let held = File::options().write(true).open(store.home().join("lock")).unwrap();
    held.lock().unwrap();
    let writer = store.start(&["remember", "Owns a red bicycle", "--json"]);

    let answer = store.json(&["recall", "tea"]);
    assert_eq!(answer["hits"][0]["text"], "Prefers tea over coffee");
    let id = answer["hits"][0]["id"].as_str().unwrap();
    store.ok(&["open", id]);
    store.ok(&["stats"]);
    store.ok(&["where"]);

    let run = end(writer).exits(3);
    assert_eq!(run.json()["kind"], "environment", "{run}");
    assert!(run.stderr.contains("busy") && run.stderr.contains("lock"), "{run}");
    assert_eq!(store.journals(), before, "a refused write left something");

    drop(held);
    store.ok(&["remember", "Owns a red bicycle"]);
    assert_eq!(store.engine().counts().active, 2);
}

#[test]
fn a_saved_memory_is_found_by_the_very_next_recall_of_every_process() {
    let store = Store::new();
    let reader = store.engine();
    assert_eq!(reader.texts("bicycle").len(), 0);
    store.ok(&["remember", "Owns a red bicycle"]);
    assert_eq!(reader.texts("bicycle"), ["Owns a red bicycle"]);
    let id = store.engine().hits("bicycle")[0].id.clone();
    store.ok(&["revise", &id, "--text", "Owns a green bicycle"]);
    assert_eq!(reader.texts("bicycle"), ["Owns a green bicycle"]);
    store.ok(&["forget", &id]);
    assert_eq!(reader.texts("bicycle").len(), 0);
}

#[test]
fn a_reader_follows_a_compaction_by_another_process() {
    let store = Store::new();
    let reader = store.engine();
    let id = reader.save("Owns a red bicycle");
    for colour in ["blue", "black", "white"] {
        store.ok(&["revise", &id, "--text", &format!("Owns a {colour} bicycle")]);
    }
    assert_eq!(reader.texts("bicycle"), ["Owns a white bicycle"]);
    let compacted = store.json(&["compact"]);
    assert!(compacted["lines_after"].as_u64() < compacted["lines_before"].as_u64(), "{compacted}");
    let other = store.engine().save("Rents a garage by the canal");
    assert_eq!(reader.whole(&other).memory.text, "Rents a garage by the canal");
    assert_eq!(reader.whole(&id).memory.text, "Owns a white bicycle");
    assert_eq!(reader.counts().active, 2);
    reader.save("Needs a new lamp");
    assert_eq!(store.engine().counts().active, 3);
}

#[test]
fn threads_of_one_process_share_an_engine() {
    let store = Store::new();
    let engine = store.engine();
    thread::scope(|scope| {
        for writer in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                for place in 0..10 {
                    let id = engine.save(&format!("Thread {writer} ties knot {place}"));
                    assert!(engine.texts(&format!("knot {place}")).iter().any(|text| text.contains("knot")));
                    assert_eq!(engine.whole(&id).memory.id, id);
                }
            });
        }
    });
    assert_eq!(store.engine().counts().active, 40);
}

#[test]
fn a_batch_of_one_process_and_single_writes_of_another_do_not_mix() {
    let store = Store::new();
    let lines: String =
        (0..300).map(|place| json!({ "text": format!("Stone {place} is flat") }).to_string() + "\n").collect();
    let mut command = store.command(&["remember", "-", "--jsonl", "--json"]);
    let mut batch = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = batch.stdin.take().unwrap();
    let singles = thread::scope(|scope| {
        let feed = scope.spawn(move || std::io::Write::write_all(&mut { stdin }, lines.as_bytes()));
        let singles: Vec<Run> =
            (0..5).map(|place| store.run(&["remember", &format!("Feather {place} is light")])).collect();
        feed.join().unwrap().unwrap();
        singles
    });
    for run in singles {
        run.exits(0);
    }
    let answer = end(batch).exits(0).json();
    assert_eq!(answer["results"].as_array().unwrap().len(), 300);
    assert_eq!(store.engine().counts().active, 305);
    // One durable append: its lines stand together.
    let journal = fs::read_to_string(store.journal()).unwrap();
    let stones: Vec<usize> =
        journal.lines().enumerate().filter(|(_, line)| line.contains("Stone ")).map(|(place, _)| place).collect();
    assert_eq!(stones.last().unwrap() - stones[0], 299);
}

/// Rounds in which a person saves a note while Ebbmark keeps changing its frontmatter.
fn edit_against(save: fn(&Path, &str)) {
    let store = Store::new();
    let id = store.engine().save("Counts 0 sheep");
    let path = store.vault().join(store.engine().keep(&id));
    let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let engine = store.engine();
            for tag in (0..).map(|n| format!("tag-{}", n % 7)) {
                let request = ReviseRequest { id: id.clone(), tags: Some(vec![tag]), ..ReviseRequest::default() };
                // It may well be refused: the note changed meanwhile.
                drop(engine.revise(&request));
                drop(engine.read_back());
                done.fetch_add(1, Ordering::SeqCst);
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        let lost = (1..=40).find(|round| {
            let note = fs::read_to_string(&path).unwrap();
            let front = note.rsplit_once("\n---\n").map_or(note.as_str(), |(front, _)| front);
            save(&path, &format!("{front}\n---\nCounts {round} sheep\n"));
            let seen = done.load(Ordering::SeqCst);
            while done.load(Ordering::SeqCst) < seen + 2 {
                thread::yield_now();
            }
            !fs::read_to_string(&path).unwrap().ends_with(&format!("\nCounts {round} sheep\n"))
        });
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(lost, None, "what the person saved was overwritten: {}", fs::read_to_string(&path).unwrap());
    });
    store.engine().clean();
    assert_eq!(store.engine().whole(&id).memory.text, "Counts 40 sheep");
}

#[test]
fn an_editor_that_saves_by_renaming_never_loses_to_us() {
    edit_against(|path, text| {
        let written = path.with_extension("part");
        fs::write(&written, text).unwrap();
        fs::rename(written, path).unwrap();
    });
}

#[test]
fn an_editor_that_saves_in_place_never_loses_to_us() {
    edit_against(|path, text| fs::write(path, text).unwrap());
}
