//! Bug cases of a full disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use ebbmark::engine::{Level, ReviseRequest};

use crate::bug_cases::say;
use crate::support::{Calls, Run, Store, files_below, lines_of};

// B04: disk full.

/// Runs the test `actor`, named with its module, on a file system of its own, mounted on the store's folder with `mount`, where
/// this machine lets us make one. What it printed, or why it was not run.
pub(crate) fn on_own_file_system(store: &Store, mount: &str, actor: &str) -> Result<String, String> {
    let inner = store.actor(actor);
    let mut reasons = Vec::new();
    // As root, else as root of a user namespace of our own. The mount goes with the process.
    for namespace in [&["--mount"][..], &["--map-root-user", "--mount"]] {
        let mut probe = std::process::Command::new("unshare");
        probe.args(namespace).args(["sh", "-c", mount]).current_dir(store.root());
        match probe.output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                reasons.push(String::from_utf8_lossy(&output.stderr).trim().to_owned());
                continue;
            }
            Err(error) => {
                reasons.push(error.to_string());
                continue;
            }
        }
        let mut command = std::process::Command::new("unshare");
        command.args(namespace).args(["sh", "-c", &format!("{mount} && exec \"$0\" \"$@\"")]);
        command.arg(inner.get_program()).args(inner.get_args()).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(store.root()).env("OWN_FILE_SYSTEM", "1").stdin(Stdio::null());
        let run: Run = command.output().unwrap().into();
        let said = run.exits(0).stdout;
        assert!(said.contains("1 passed"), "{actor} did not run: {said}");
        return Ok(said);
    }
    Err(reasons.join("; "))
}

/// In a process that [`on_own_file_system`] started: its store, with the folder that the home's user has.
pub(crate) fn own_file_system() -> Option<Store> {
    std::env::var_os("OWN_FILE_SYSTEM")?;
    let store = Store::of_actor()?;
    fs::create_dir_all(store.root().join("user")).unwrap();
    Some(store)
}

const SMALL_DISK: &str = "mount -t tmpfs -o size=2m,mode=0700 none \"$PWD\" && cd \"$PWD\"";
const PAGE: usize = 4096;

/// Writes a file until the disk takes no more, then gives `free` bytes back.
fn fill_disk(store: &Store, free: usize) {
    let path = store.root().join("filler");
    let mut file = fs::File::create(&path).unwrap();
    let mut length = 0;
    while let Ok(written) = file.write(&[b'.'; PAGE]) {
        length += written;
        if written == 0 {
            break;
        }
    }
    assert!(length > free, "the disk was full before");
    file.set_len((length - free) as u64).unwrap();
}

fn free_disk(store: &Store) {
    fs::remove_file(store.root().join("filler")).unwrap();
}

/// Lengthens the journal until it fills its last page but for some bytes, so that no line fits without a new page.
fn fill_last_page(store: &Store) {
    let length = || usize::try_from(fs::metadata(store.journal()).unwrap().len()).unwrap();
    let before = length();
    store.engine().save(&format!("Padding {}", "a".repeat(50)));
    let line = length() - before - 50;
    let slack = 2 * PAGE - length() % PAGE;
    store.engine().save(&format!("Padding {}", "b".repeat(slack - line - 8)));
    assert!(PAGE - length() % PAGE < 40, "{}", length() % PAGE);
}

/// What stands in the home and the vault, without what git and the index keep for themselves.
fn own_files(store: &Store) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = files_below(store.root());
    files.retain(|path, _| {
        !path.starts_with("vault/.git") && !path.starts_with("home/cache") && *path != Path::new("filler")
    });
    files
}

/// Gives compaction something to do.
fn revise_often(store: &Store, id: &str) {
    for round in 0..60 {
        let tags = Some(vec![format!("round-{round}")]);
        store.engine().change(ReviseRequest { id: id.into(), tags, ..ReviseRequest::default() });
    }
}

/// A command on a disk with so many bytes free, then the next one with room again. Whether the first succeeded.
fn on_full_disk(store: &Store, free: usize, what: &str, arguments: &[&str]) -> bool {
    let place = format!("{what} with {free} bytes free");
    let before = own_files(store);
    let all_before = files_below(store.root());
    let known = store.engine().texts("");
    let active = store.engine().counts().active;
    fill_disk(store, free);
    let run = store.run(arguments);
    // Reading needs no room.
    let read = store.run(&["recall", "jar", "--no-reinforce"]);
    free_disk(store);
    assert!(read.code == 0 && read.stdout.contains("Jar"), "{place}: {read}");
    assert!(matches!(run.code, 0 | 3), "{place}: {run}");
    if run.code == 3 {
        let said = format!("{}{}", run.stdout, run.stderr).to_lowercase();
        assert!(said.contains("no space") || said.contains("full"), "{place}: {run}");
    }
    let after = files_below(store.root());
    let emptied =
        all_before.iter().find(|(path, bytes)| !bytes.is_empty() && after.get(*path).is_some_and(Vec::is_empty));
    assert!(emptied.is_none(), "{place}: {} is empty now", emptied.unwrap().0.display());
    let engine = store.engine();
    assert!(
        engine.health().findings.iter().all(|finding| finding.level != Level::Error),
        "{place}: {:?}",
        engine.health()
    );
    match (what, run.code) {
        ("remember", 3) => assert_eq!(own_files(store), before, "{place}: something was stored"),
        ("remember", _) => assert_eq!(engine.counts().active, active + 1, "{place}"),
        ("forget", 0) => assert_eq!(engine.counts().active, active - 1, "{place}"),
        _ => assert_eq!(engine.counts().active, active, "{place}"),
    }
    if what != "forget" {
        assert!(known.iter().all(|text| engine.texts("").contains(text)), "{place}: something is lost");
    }
    let active = engine.counts().active;
    store.ok(&["remember", &format!("Second, after {what} with {free} bytes free")]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, active + 1, "{place}, then one more");
    assert!(
        engine.health().findings.iter().all(|finding| finding.level != Level::Error),
        "{place}: {:?}",
        engine.health()
    );
    for bytes in store.journals().values() {
        for line in lines_of(bytes) {
            assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok(), "{place}: {}", line.escape_ascii());
        }
    }
    run.code == 0
}

/// Tries a command on disks with more and more room, each time on the same store, until it succeeds.
fn until_it_fits(store: &Store, what: &str, prepare: impl Fn(&Store) -> Vec<String>) {
    let mut refused = 0;
    for pages in 0..120 {
        for folder in ["home", "vault"] {
            drop(fs::remove_dir_all(store.root().join(folder)));
        }
        for n in 0..8 {
            store.engine().save(&format!("Jar {n} holds plums"));
        }
        let arguments = prepare(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        fill_last_page(store);
        let is_done = on_full_disk(store, pages * PAGE, what, &arguments);
        if what != "remember" && store.vault().join(".git").exists() {
            // What was cut short is finished by the next run.
            store.run(&arguments);
            store.ok(&["tidy"]);
            assert_eq!(store.git(&["status", "--porcelain"]), "", "{what} with {pages} pages free");
            store.git(&["fsck", "--strict", "--no-dangling"]);
            assert_eq!(store.notes().len(), usize::from(what.ends_with("promote")), "{what} with {pages} pages free");
        }
        if is_done && pages > 8 {
            let must_need_room = matches!(what, "remember" | "first promote");
            assert!(refused > 0 || !must_need_room, "{what} was never refused: the disk was not full");
            return;
        }
        refused += usize::from(!is_done);
    }
    panic!("{what} never succeeds");
}

#[test]
fn b04_actor_on_a_full_disk() {
    let Some(store) = own_file_system() else { return };
    let id = |store: &Store| store.engine().hits("plums")[0].id.clone();
    let long = "word ".repeat(2400);
    until_it_fits(&store, "remember", |_| vec!["remember".into(), long.clone()]);
    until_it_fits(&store, "promote", |store| {
        store.ok(&["init"]);
        vec!["promote".into(), id(store)]
    });
    until_it_fits(&store, "first promote", |store| vec!["promote".into(), id(store)]);
    until_it_fits(&store, "forget", |store| {
        let id = id(store);
        store.ok(&["promote", &id]);
        vec!["forget".into(), id]
    });
    until_it_fits(&store, "compact", |store| {
        revise_often(store, &id(store));
        vec!["compact".into()]
    });
    until_it_fits(&store, "tidy", |_| vec!["tidy".into()]);
}

#[test]
fn b04_a_full_disk_costs_only_what_it_refuses() {
    let store = Store::new();
    if let Err(why) = on_own_file_system(&store, SMALL_DISK, "bug_disk::b04_actor_on_a_full_disk") {
        say(&format!("not run: 6 commands on a real full disk ({why}); a limit on file sizes stands in for them"));
    }
    let store = Store::new();
    store.ok(&["remember", "First"]);
    let before = fs::read(store.journal()).unwrap();
    let long = "word ".repeat(4000);
    // 16 blocks of 512 bytes, or of 1024 where the shell counts so. The write fails half-way, as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f 16; exec \"$EBBMARK\" remember '{long}' --json");
    let run = store.shell(&script).exits(3);
    assert_eq!(run.json()["kind"], "environment", "{run}");
    assert_eq!(fs::read(store.journal()).unwrap(), before, "half a line stayed");
    store.ok(&["remember", "Second"]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, 2);
    assert!(engine.health().ok);
}

#[test]
fn b04_actor_empties_a_full_disk() {
    let Some(store) = own_file_system() else { return };
    for n in 0..8 {
        store.engine().save(&format!("Jar {n} holds plums"));
    }
    let id = store.engine().hits("plums")[0].id.clone();
    revise_often(&store, &id);
    fill_last_page(&store);
    fill_disk(&store, 0);
    let active = store.engine().counts().active;
    store.ok(&["forget", &id]);
    assert_eq!(store.engine().counts().active, active - 1);
    let answer = store.json(&["compact"]);
    assert!(answer["bytes_after"].as_u64() < answer["bytes_before"].as_u64(), "{answer}");
    store.ok(&["remember", "Room again"]);
}

#[test]
fn b04_a_full_disk_can_still_be_emptied() {
    let store = Store::new();
    if let Err(why) = on_own_file_system(&store, SMALL_DISK, "bug_disk::b04_actor_empties_a_full_disk") {
        say(&format!("not run: forget and compact on a real full disk ({why})"));
    }
}
