//! What an answer rests on is on disk before it is given, whoever wrote it; and no thread waits for one that waits for it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ebbmark::engine::{DoctorRequest, ForgetRequest, NewMemory, RememberRequest, ReviseRequest};
use ebbmark::files::rehearsal::{Call, Fault, Plan, failing, noted};

use crate::support::{Calls, Store, files_below, holds, lines_of};

fn named() -> Store {
    let mut store = Store::in_memory();
    store.replica = Some("here".into());
    store
}

fn keyed(text: &str) -> RememberRequest {
    let memory = NewMemory { text: text.into(), ..NewMemory::default() };
    RememberRequest { op_key: Some("call-1".into()), ..RememberRequest::of(&[memory]) }
}

fn place_of(calls: &[Call], is_it: impl Fn(&Call) -> bool) -> Option<usize> {
    calls.iter().position(is_it)
}

fn is_synced(calls: &[Call], path: &Path) -> bool {
    place_of(calls, |call| matches!(call, Call::Sync(synced) if synced == path)).is_some()
}

#[test]
fn a_file_that_another_process_made_or_replaced_has_its_name_on_disk_before_a_line_is() {
    let store = named();
    store.engine().save("Keeps bees behind the house");
    let folder = store.home().join("short-term");
    let syncs_first = |folder: &Path| {
        let engine = store.engine();
        let (_, calls) = noted(|| engine.tell(NewMemory { text: "Plays the oboe".into(), ..NewMemory::default() }));
        let named = place_of(&calls, |call| matches!(call, Call::SyncFolder(path) if path == folder));
        let written = place_of(&calls, |call| matches!(call, Call::Write { path, .. } if *path == store.journal()));
        assert!(named.is_some() && named < written, "{}: {calls:?}", folder.display());
    };
    syncs_first(&folder);
    for folder in [folder.as_path(), &store.home(), store.root()] {
        fs::write(store.journal(), b"").unwrap();
        syncs_first(folder);
    }
}
