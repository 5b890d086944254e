//! Journals of every format there ever was are read, and tell what they told. The snapshots are promises: a new
//! version may add to them, and never change what stands there.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use ebbmark::engine::{OpenRequest, Opened};
use serde_json::{Value, json};

use crate::support::{Calls, Store, files_below};

/// Every operation that format 1 has.
const OPERATIONS: [&str; 13] = [
    "journal",
    "remember",
    "revise",
    "use",
    "relate",
    "unrelate",
    "promote",
    "note",
    "forget",
    "restore",
    "forgotten",
    "purge",
    "publish",
];

fn samples(format: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/journals").join(format)
}

/// A home with copies of the samples, a day after their newest line.
fn home_with(format: &str) -> Store {
    let mut store = Store::new();
    store.now = "2027-01-11T12:00:00Z".parse().unwrap();
    fs::create_dir_all(store.home().join("short-term")).unwrap();
    for (name, bytes) in files_below(&samples(format)) {
        if name.extension().is_some_and(|extension| extension == "jsonl") {
            fs::write(store.home().join("short-term").join(name), bytes).unwrap();
        }
    }
    store
}

/// The whole lines of all samples.
fn told(store: &Store) -> Vec<Value> {
    let text: String = store.journals().into_values().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Ids of all memories that the samples speak of.
fn ids(lines: &[Value]) -> Vec<String> {
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for line in lines {
        ids.extend(line["id"].as_str().map(str::to_owned));
        ids.extend(line["ids"].as_object().into_iter().flat_map(|packed| packed.keys().cloned()));
    }
    ids.into_iter().collect()
}

/// What is promised of a memory. Scores and what follows from them may change with their formula.
fn promised(memory: &Opened) -> Value {
    let hit = &memory.memory;
    let history: Vec<String> = memory
        .history
        .iter()
        .map(|step| format!("{} {} {}", step.at, step.what, step.text.as_deref().unwrap_or_default()).trim().to_owned())
        .collect();
    json!({
        "id": hit.id,
        "text": hit.text,
        "title": hit.title,
        "kind": hit.kind,
        "status": hit.status,
        "tier": hit.tier,
        "note": hit.note,
        "created": hit.created,
        "happened": hit.happened,
        "valid_until": memory.valid_until,
        "last_used": hit.last_used,
        "uses": memory.uses,
        "days_used": memory.days_used,
        "strength": memory.strength,
        "pinned": memory.pinned,
        "level": memory.level,
        "tags": hit.tags,
        "entities": hit.entities,
        "keywords": memory.keywords,
        "scope": hit.scope,
        "source": hit.source,
        "trusted": hit.trusted,
        "superseded_by": hit.superseded_by,
        "previously": hit.previously.iter().map(|older| &older.id).collect::<Vec<_>>(),
        "relations": memory.relations,
        "history": history,
    })
}

/// All that a store knows: memories, then what is forgotten and no longer shown.
fn everything(store: &Store, ids: &[String]) -> Value {
    let engine = store.engine();
    let request = OpenRequest { ids: ids.to_vec(), history: Some(true), relations: Some(true) };
    let opened = engine.open_memories(&request).unwrap();
    let counts = engine.counts();
    json!({
        "memories": opened.memories.iter().map(promised).collect::<Vec<_>>(),
        "not shown": opened.not_found,
        "counts": {
            "active": counts.active,
            "faded": counts.faded,
            "superseded": counts.superseded,
            "promoted": counts.promoted,
        },
    })
}

#[test]
fn older_journals_are_read() {
    let store = home_with("v1");
    let lines = told(&store);
    let operations: BTreeSet<&str> = lines.iter().filter_map(|line| line["op"].as_str()).collect();
    for operation in OPERATIONS {
        assert!(operations.contains(operation), "no sample has `{operation}`");
    }
    let engine = store.engine();
    assert!(
        engine.health().findings.iter().all(|finding| !finding.what.contains("jsonl line")),
        "{:?}",
        engine.health()
    );
    drop(engine);
    insta::assert_json_snapshot!("journals_of_format_1", everything(&store, &ids(&lines)));
}

#[test]
fn older_journals_tell_the_same_in_any_order_and_after_compaction() {
    let store = home_with("v1");
    let ids = ids(&told(&store));
    let before = everything(&store, &ids);
    // One process sees the files come one by one, the last one first.
    let late = home_with("v1");
    let files = late.journals();
    for name in files.keys() {
        fs::remove_file(late.home().join("short-term").join(name)).unwrap();
    }
    let engine = late.engine();
    for (name, bytes) in files.iter().rev() {
        fs::write(late.home().join("short-term").join(name), bytes).unwrap();
        engine.refresh().unwrap();
    }
    drop(engine);
    assert_eq!(everything(&late, &ids), before);

    // As the machine that wrote them: its file is compacted, the others are left alone.
    for replica in ["k3f9t2aw", "w8n4c1zd"] {
        let mut own = home_with("v1");
        own.replica = Some(replica.into());
        let others: Vec<_> =
            own.journals().into_iter().filter(|(name, _)| !name.starts_with(format!("{replica}.jsonl"))).collect();
        own.engine().compact(false).unwrap();
        let after = everything(&own, &ids);
        for (memory, before) in after["memories"].as_array().unwrap().iter().zip(before["memories"].as_array().unwrap())
        {
            for (field, value) in before.as_object().unwrap() {
                assert!(field == "history" || memory[field] == *value, "{replica}: {field} of {memory}");
            }
        }
        assert_eq!(after["not shown"], before["not shown"], "{replica}");
        for (name, bytes) in others {
            assert_eq!(own.journals()[&name], bytes, "{replica} wrote into {}", name.display());
        }
        // And it goes on.
        let id = own.engine().save("A memory of today");
        assert_eq!(own.engine().whole(&id).memory.text, "A memory of today");
    }
}
