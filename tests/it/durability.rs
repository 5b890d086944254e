//! When a write is acknowledged, and who may write.

use std::fs;

use ebbmark::engine::{Engine, NewMemory, RecallRequest, RememberRequest};
use ebbmark::error::Error;
use ebbmark::files::rehearsal::{Call, noted};
use serde_json::json;

use crate::support::{Calls, Store};
use crate::wire::Server;

/// Syncs of the journal while `work` is done.
fn journal_syncs(work: impl FnOnce()) -> usize {
    let ((), calls) = noted(work);
    let is_journal =
        |call: &&Call| matches!(call, Call::Sync(path) if path.extension().is_some_and(|end| end == "jsonl"));
    calls.iter().filter(is_journal).count()
}

fn save_three(engine: &Engine, what: &str) {
    for place in 0..3 {
        engine.save(&format!("Drawer {place} is full of {what}"));
    }
}

#[test]
fn a_save_is_acknowledged_once_it_is_on_disk() {
    let store = Store::in_memory();
    let engine = store.engine();
    assert_eq!(journal_syncs(|| save_three(&engine, "string")), 3);
    let many: Vec<NewMemory> =
        (0..100).map(|place| NewMemory { text: format!("Jar {place}"), ..NewMemory::default() }).collect();
    assert_eq!(journal_syncs(|| drop(engine.remember(&RememberRequest::of(&many)).unwrap())), 1, "one for the call");
    assert!(!store.ok(&["where"]).contains("power cut"));
}

#[test]
fn the_weaker_durability_syncs_later_and_is_named() {
    let mut store = Store::in_memory();
    store.configure("durability = \"interval\"\n");
    let (engine, millis) = store.engine_with_moved_clock();
    assert_eq!(journal_syncs(|| save_three(&engine, "string")), 0);
    assert_eq!(journal_syncs(|| engine.flush_uses().unwrap()), 1, "what ends a process syncs");
    assert_eq!(journal_syncs(|| engine.flush_uses().unwrap()), 0, "there is nothing more to sync");
    assert_eq!(journal_syncs(|| save_three(&engine, "nails")), 0);
    millis.fetch_add(1500, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(journal_syncs(|| save_three(&engine, "stamps")), 1, "after a second it is due");
    drop(engine);
    store.pass_hours(1);
    assert_eq!(store.engine().counts().active, 9);
    assert!(store.ok(&["where"]).contains("a power cut may take"));
}

/// Appends a line of a format that does not exist yet, with a right checksum.
fn write_newer_line(store: &Store) {
    let journal = fs::read_to_string(store.journal()).unwrap();
    let body = format!(
        "{{\"v\":2,\"n\":{},\"at\":\"2026-11-29T12:30:00.000Z\",\"op\":\"dream\",\"id\":\"7k2m9x4qwc3r\"",
        journal.lines().count() + 1
    );
    let line = format!("{body},\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(body.as_bytes()));
    fs::write(store.journal(), journal + &line).unwrap();
}

#[test]
fn a_server_whose_binary_is_replaced_goes_on_and_only_reads_beside_a_newer_one() {
    let store = Store::new();
    let binary = store.root().join("ebbmark");
    fs::copy(crate::support::binary(), &binary).unwrap();
    let mut server = Server::spawn(store.command_of(&binary, &["serve"]), None).greeted();
    server.remember("Owns a red bicycle");
    // An update: another file under the same name.
    fs::write(store.root().join("new"), "another program").unwrap();
    fs::rename(store.root().join("new"), &binary).unwrap();
    server.remember("Rents a garage");

    write_newer_line(&store);
    let before = fs::read(store.journal()).unwrap();
    let (found, _) = server.call("recall", json!({ "query": "bicycle" }));
    assert_eq!(found["hits"][0]["text"], "Owns a red bicycle", "{found}");
    let (refused, text) = server.fail("remember", json!({ "memories": [{ "text": "Needs a lamp" }] }));
    assert!(refused["error"].as_str().unwrap().contains("newer Ebbmark"), "{refused}");
    assert!(text.contains("restart the client"), "{text}");
    server.finish_quietly();
    assert_eq!(fs::read(store.journal()).unwrap(), before, "something was written");
}

#[test]
fn a_newer_line_of_another_machine_stops_nothing() {
    let store = Store::new();
    let engine = store.engine();
    engine.save("Owns a red bicycle");
    let foreign = store.home().join("short-term/bbbb2222.jsonl");
    fs::write(&foreign, "{\"v\":2,\"n\":1,\"at\":\"2026-11-29T12:30:00.000Z\",\"op\":\"journal\"}\n").unwrap();
    engine.save("Rents a garage");
    let answer = engine.recall(&RecallRequest::of("garage")).unwrap();
    assert_eq!(answer.hits.len(), 1);
    assert!(answer.notice.is_some(), "nobody says that a line was skipped");
}

#[test]
fn what_is_not_read_to_its_end_is_not_written_to() {
    let store = Store::in_memory();
    let engine = store.engine();
    engine.save("Owns a red bicycle");
    let told = |engine: &Engine| {
        engine.remember(&RememberRequest::of(&[NewMemory { text: "Needs a lamp".into(), ..NewMemory::default() }]))
    };
    // The folder of journals became a file: nothing can be read, and nothing is taken for empty.
    let folder = store.home().join("short-term");
    fs::rename(&folder, store.home().join("away")).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let error = told(&engine).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    fs::remove_file(&folder).unwrap();
    fs::rename(store.home().join("away"), &folder).unwrap();
    told(&engine).unwrap();
    assert_eq!(store.engine().counts().active, 2);
}
