//! What went wrong for people who use systems like this one, case by case. The numbers are those of a collection of
//! public reports; each test says what is right, for all inputs of its kind.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use ebbmark::engine::{
    Engine, ForgetRequest, Level, NewMemory, Outcome, RecallRequest, ReinforceRequest, RememberRequest, RestoreRequest,
    ReviseRequest,
};
use ebbmark::error::Error;
use serde_json::json;

use crate::support::{Calls, Dice, Run, Store, files_below, holds, lines_of, sealed};

/// What every open question finds: ids and scores, best first.
fn found(engine: &Engine, queries: &[&str]) -> Vec<Vec<(String, f64)>> {
    let of = |query: &&str| engine.hits(query).into_iter().map(|hit| (hit.id, hit.score)).collect();
    queries.iter().map(of).collect()
}

/// What recall says about its answer, beside the hits, and beside the modes of files that a test laid out.
fn notice(engine: &Engine, query: &str) -> Option<String> {
    let answer = engine.recall(&RecallRequest { reinforce: Some(false), ..RecallRequest::of(query) }).unwrap();
    answer.notice.filter(|notice| !notice.contains("its mode 0"))
}

/// Says, whatever the harness swallows, what this machine did not let us test.
fn say(what: &str) {
    std::io::stderr().write_all(format!("{what}\n").as_bytes()).unwrap();
}

/// Copies a folder.
fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in files_below(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

// B02: a missing final newline.

#[test]
fn b02_a_missing_final_newline_does_not_glue_the_next_record() {
    let store = Store::new();
    let ids = store.fill(3);
    let mut bytes = fs::read(store.journal()).unwrap();
    assert_eq!(bytes.pop(), Some(b'\n'));
    store.write_journal(&bytes);
    store.ok(&["remember", "After the gap"]);
    let after = fs::read(store.journal()).unwrap();
    assert_eq!(after.strip_prefix(&bytes[..]).map(|rest| rest[0]), Some(b'\n'), "the gap was not closed first");
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert_eq!(engine.whole(&ids[2]).memory.text, "Shelf 2");
    assert_eq!(engine.texts("gap"), ["After the gap"]);
    assert!(engine.health().ok, "{:?}", engine.health());
}

#[test]
fn b02_what_another_program_appends_without_a_newline_costs_nothing_but_itself() {
    let store = Store::new();
    store.fill(3);
    let append = |bytes: &[u8]| {
        fs::OpenOptions::new().append(true).open(store.journal()).unwrap().write_all(bytes).unwrap();
    };
    append(br#"{"x":1}"#);
    store.ok(&["remember", "After the stranger"]);
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    let found = engine.health();
    assert!(!found.ok && found.findings[0].what.contains("line 5"), "{found:?}");

    // A running process meets it too.
    append(br#"{"y":2}"#);
    engine.save("After another stranger");
    assert_eq!(engine.counts().active, 5);
    assert_eq!(store.engine().counts().active, 5);
    assert_eq!(store.engine().health().findings.len(), 2);
    assert!(holds(&fs::read(store.journal()).unwrap(), b"{\"x\":1}\n"));
    assert!(holds(&fs::read(store.journal()).unwrap(), b"{\"y\":2}\n"));
}

// B03: one bad line.

/// A journal of 1,000 memories, split at the line of number 500.
struct Thousand {
    before: Vec<u8>,
    line: String,
    after: Vec<u8>,
}

impl Thousand {
    const LINE: usize = 500;

    fn new() -> Self {
        let origin = Store::new();
        origin.fill(1000);
        let whole = fs::read(origin.journal()).unwrap();
        // The first line is the journal's own.
        let good = lines_of(&whole);
        let line = std::str::from_utf8(good[Self::LINE]).unwrap().to_owned();
        assert!(line.contains("\"Shelf 499\""), "{line}");
        Thousand { before: good[..Self::LINE].concat(), line, after: good[Self::LINE + 1..].concat() }
    }

    /// The line's fields, without checksum and closing brace.
    fn unsealed(&self) -> &str {
        self.line.split_once(",\"crc\":").unwrap().0
    }

    /// A store whose journal has `bad` in the line's place.
    fn with(&self, bad: &[u8]) -> Store {
        let store = Store::in_memory();
        store.write_journal([&self.before[..], bad, &self.after].concat());
        store
    }

    /// How health names the place.
    fn place(&self) -> String {
        format!("line {} (byte {})", Self::LINE + 1, self.before.len())
    }
}

#[test]
fn b03_one_bad_line_costs_itself_is_named_and_is_kept() {
    let thousand = Thousand::new();
    let wrong_sum = format!("{},\"crc\":\"00000000\"}}\n", thousand.unsealed().replace("Shelf 499", "Shelf of lies"));
    let half = format!("{}\n", &thousand.line[..thousand.line.len() / 2]);
    let mut high_bytes = thousand.line.clone().into_bytes();
    high_bytes[60] = 0xe9;
    let cases: [(&str, &[u8]); 12] = [
        ("an opening brace", b"{\n"),
        ("64 zeros", &[&[0; 64][..], b"\n"].concat()),
        ("a list", b"[]\n"),
        ("null", b"null\n"),
        ("a string", b"\"text\"\n"),
        ("no UTF-8", b"\xff\xfe\x00\n"),
        ("a byte of Latin-1", &high_bytes),
        ("30 MB", &[&vec![b'x'; 30_000_000][..], b"\n"].concat()),
        ("3 MB of brackets", &[&vec![b'['; 3_000_000][..], b"\n"].concat()),
        ("a wrong checksum", wrong_sum.as_bytes()),
        ("half of itself", half.as_bytes()),
        ("nothing that is known", b"{\"v\":1,\"n\":500}\n"),
    ];
    for (what, bad) in cases {
        let store = thousand.with(bad);
        let engine = store.engine();
        assert_eq!(engine.counts().active, 999, "{what}");
        assert!(engine.texts("lies").is_empty(), "{what} is served");
        engine.save("A later thought");
        assert_eq!(store.engine().counts().active, 1000, "{what}, then one more");
        let named = |text: &str| text.contains(&thousand.place()) && text.contains("aaaa1111.jsonl");
        for found in [engine.health(), store.engine().health()] {
            assert!(found.findings.iter().any(|finding| named(&finding.what)), "{what}: {found:?}");
        }
        let run = store.run(&["inspect", "health"]);
        let place = thousand.place().replace(" (", ", ").replace(')', "");
        let is_named = run.stdout.contains(&place) && run.stdout.contains("aaaa1111.jsonl");
        assert!(run.code != 0 && is_named, "{what}: {run}");
        assert!(holds(&fs::read(store.journal()).unwrap(), bad), "{what} was overwritten");
    }
}

#[test]
fn b03_compaction_keeps_the_bytes_of_bad_lines() {
    let thousand = Thousand::new();
    let store = thousand.with(b"{\"first\n");
    let quarantine = store.home().join("quarantine");
    let in_quarantine = |needle: &[u8]| files_below(&quarantine).values().any(|bytes| holds(bytes, needle));
    assert_eq!(store.engine().compact(true).unwrap().quarantined, 1);
    assert!(!quarantine.exists(), "a trial run moved something");
    assert_eq!(store.engine().compact(false).unwrap().quarantined, 1);
    assert!(in_quarantine(b"{\"first\n"));
    assert!(store.engine().health().ok, "{:?}", store.engine().health());

    // Later ones are put beside it, never over it.
    for bad in [&b"{\"second\n"[..], &[&vec![b'y'; 30_000_000][..], b"\n"].concat(), b"caf\xe9\n"] {
        let journal = fs::read(store.journal()).unwrap();
        store.write_journal([&journal[..], bad].concat());
        assert_eq!(store.engine().compact(false).unwrap().quarantined, 1);
        assert_eq!(store.engine().compact(false).unwrap().quarantined, 0);
        // Bytes that are no text are kept in another writing.
        let kept = std::str::from_utf8(bad).map_or(&b"caf\\xe9"[..], |_| bad);
        assert!(in_quarantine(kept), "{:.40}", bad.escape_ascii().to_string());
        assert!(in_quarantine(b"{\"first\n"));
    }
    assert_eq!(store.engine().counts().active, 999);
}

#[test]
fn b03_an_empty_line_is_no_damage() {
    let thousand = Thousand::new();
    for empty in [&b"\n"[..], b"\n\n\n", b"\r\n", b"  \t \n"] {
        let store = thousand.with(empty);
        assert_eq!(store.engine().counts().active, 999, "{empty:?}");
        store.engine().save("A later thought");
        assert_eq!(store.engine().counts().active, 1000, "{empty:?}");
    }
}

#[test]
fn b03_a_line_of_a_newer_format_is_skipped_named_and_never_dropped() {
    let thousand = Thousand::new();
    let newer = sealed(&thousand.unsealed().replacen("{\"v\":1,", "{\"v\":99,", 1));
    let store = thousand.with(newer.as_bytes());
    let engine = store.engine();
    assert_eq!(engine.counts().active, 999);
    let found = engine.health();
    assert!(found.findings.iter().any(|finding| finding.what.contains(&thousand.place())), "{found:?}");
    // What a newer Ebbmark wrote is not for this one to add to, nor to drop.
    let before = fs::read(store.journal()).unwrap();
    let told = engine.remember(&RememberRequest::of(&[NewMemory { text: "Later".into(), ..NewMemory::default() }]));
    for error in [told.unwrap_err(), store.engine().compact(false).unwrap_err()] {
        assert!(matches!(error, Error::Newer { .. }), "{error}");
        assert!(error.hint().contains("update Ebbmark"), "{}", error.hint());
    }
    assert!(fs::read(store.journal()).unwrap() == before && holds(&before, newer.as_bytes()));
    assert_eq!(store.engine().counts().active, 999);
}

#[test]
fn b03_a_line_with_an_operation_that_nobody_knows_is_kept() {
    let thousand = Thousand::new();
    let unknown = sealed(&thousand.unsealed().replacen("\"op\":\"remember\"", "\"op\":\"juggle\"", 1));
    let store = thousand.with(unknown.as_bytes());
    assert_eq!(store.engine().counts().active, 999);
    drop(store.engine().compact(false));
    assert!(holds(&fs::read(store.journal()).unwrap(), unknown.as_bytes()));
    assert_eq!(store.engine().counts().active, 999);
}

#[test]
fn b03_half_a_record_before_a_whole_one_on_its_line_costs_itself() {
    let thousand = Thousand::new();
    // As a program leaves it that does not look for a torn tail before it appends.
    let half = &thousand.line[..thousand.line.len() / 2];
    let twin = sealed(&thousand.unsealed().replace("Shelf 499", "Shelf beside").replacen("\"n\":501", "\"n\":1002", 1));
    let store = thousand.with(format!("{half}{twin}").as_bytes());
    let engine = store.engine();
    let active = engine.counts().active;
    assert!((999..=1000).contains(&active), "{active}");
    assert!(!engine.health().ok);
    engine.save("A later thought");
    engine.compact(false).unwrap();
    assert_eq!(store.engine().counts().active, active + 1);
    let kept = files_below(&store.home().join("quarantine"));
    assert!(kept.values().any(|bytes| holds(bytes, half.as_bytes())), "the bytes are gone");
}

#[test]
fn b03_two_records_on_one_line_are_both_served() {
    let thousand = Thousand::new();
    let twin = sealed(
        &thousand.unsealed().replace("Shelf 499", "Shelf beside").replacen("\"n\":501", "\"n\":1002", 1).replacen(
            &format!("\"id\":\"{}\"", id_of(&thousand.line)),
            "\"id\":\"bes1desbes1d\"",
            1,
        ),
    );
    for glued in [format!("{}{twin}", thousand.line.trim_end()), format!("{} {twin}", thousand.line.trim_end())] {
        let store = thousand.with(glued.as_bytes());
        let engine = store.engine();
        let later = engine.save("A later thought");
        assert_eq!(engine.whole(&later).memory.text, "A later thought");
        assert_eq!(engine.counts().active, 1002, "{:?}", engine.health());
        assert_eq!(engine.whole("bes1desbes1d").memory.text, "Shelf beside");
        drop(engine.compact(false));
        assert_eq!(store.engine().counts().active, 1002);
    }
}

/// The id in a journal line.
fn id_of(line: &str) -> &str {
    line.split_once("\"id\":\"").unwrap().1.split_once('"').unwrap().0
}

// B05: damage must be noticed.

#[test]
fn b05_a_flipped_bit_is_noticed_by_every_door_and_nothing_is_served_as_true() {
    let store = Store::new();
    let ids = store.fill(5);
    assert_eq!(store.run(&["inspect", "health"]).code, 0);
    let text = fs::read_to_string(store.journal()).unwrap();
    // One bit apart, and still JSON.
    store.write_journal(text.replace("Shelf 3", "Shelf 2"));
    let engine = store.engine();
    assert_eq!(engine.counts().active, 4);
    assert!(engine.find(&ids[3]).is_none());
    assert!(!engine.texts("shelf").contains(&"Shelf 3".to_owned()));
    assert_eq!(engine.texts("shelf").iter().filter(|text| *text == "Shelf 2").count(), 1);
    assert!(!engine.health().ok);
    let said = notice(&engine, "shelf");
    assert!(said.is_some(), "recall is silent about a line that it cannot read");
    assert!(notice(&engine, "nothing like that").is_some(), "recall is silent where it finds nothing");
    let run = store.run(&["inspect", "health"]);
    assert!(run.code != 0 && run.stdout.contains("line 5"), "{run}");
    let run = store.run(&["recall", "shelf"]).exits(0);
    assert!(run.stdout.contains(&said.unwrap()) || !run.stderr.is_empty(), "{run}");
}

#[test]
fn b05_damage_while_the_process_runs_is_noticed_when_it_next_looks_at_the_file() {
    let store = Store::new();
    store.fill(5);
    let engine = store.engine();
    engine.refresh().unwrap();
    let text = fs::read_to_string(store.journal()).unwrap();
    store.write_journal(text.replace("Shelf 3", "Shelf 2"));
    // The next process sees it at once; this one at the latest when it reads the file anew.
    assert!(!store.engine().health().ok);
    engine.save("A later thought");
    engine.compact(false).unwrap();
    let kept = files_below(&store.home().join("quarantine"));
    assert!(kept.values().any(|bytes| holds(bytes, b"Shelf 2")), "the damaged bytes are gone");
    let active = store.engine().counts().active;
    assert_eq!(engine.counts().active, active);
    // Five were saved and one later; the damaged one is known to none.
    assert_eq!(active, 5);
}

// B04: disk full.

/// Runs the test `actor` of this file on a file system of its own, mounted on the store's folder with `mount`, where
/// this machine lets us make one. What it printed, or why it was not run.
fn on_own_file_system(store: &Store, mount: &str, actor: &str) -> Result<String, String> {
    let inner = store.actor(&format!("bug_cases::{actor}"));
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
        return Ok(run.exits(0).stdout);
    }
    Err(reasons.join("; "))
}

/// In a process that [`on_own_file_system`] started: its store, with the folder that the home's user has.
fn own_file_system() -> Option<Store> {
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
    if let Err(why) = on_own_file_system(&store, SMALL_DISK, "b04_actor_on_a_full_disk") {
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
    if let Err(why) = on_own_file_system(&store, SMALL_DISK, "b04_actor_empties_a_full_disk") {
        say(&format!("not run: forget and compact on a real full disk ({why})"));
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

    let mut command = store.actor("bug_cases::b30_actor_holds_the_lock");
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

const QUESTIONS: [&str; 6] = ["shelf", "shelf 7", "the 12th shelf", "shelf 3 or 4", "later thought", "unheard of"];

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
    let folders: Vec<_> =
        fs::read_dir(store.home().join("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
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
    if let Err(why) = on_own_file_system(&store, mount, "b31_actor_with_a_cache_that_may_only_be_read") {
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
    assert!(tidied.problems.iter().any(|problem| named(problem)), "{tidied:?}");
    assert!(store.notes().is_empty(), "the person's deletion was undone");
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

// B40: clocks.

fn touch(engine: &Engine, id: &str) {
    let request = ReinforceRequest { ids: vec![id.into()], ..ReinforceRequest::default() };
    assert_eq!(engine.reinforce(&request).unwrap().results.len(), 1);
}

/// Scores of everything there is are numbers within range, now and at odd times.
#[track_caller]
fn assert_sane(store: &Store, ids: &[&str]) {
    let days = |days: i64| store.now.plus_millis(days * ebbmark::clock::DAY_MS);
    let times = ["1970-01-01T00:00:00Z", "2038-01-19T03:14:08Z", "9999-12-30T00:00:00Z"].map(|at| at.parse().unwrap());
    for now in [store.now, days(-1), days(1), days(30), days(-30)].into_iter().chain(times) {
        let engine = store.engine_at(now);
        for id in ids {
            let memory = engine.whole(id);
            let now_scored = memory.memory.score;
            // 2 is the greatest strength; what was used often may pass it by its uses.
            let most = 2.0 * f64::from(1 + memory.uses).powf(0.6) + 0.001;
            assert!(now_scored.is_finite() && (0.0..=most).contains(&now_scored), "at {now}: {memory:?}");
            assert!((0.0..=2.0).contains(&memory.strength), "at {now}: {memory:?}");
        }
        for hit in engine.hits("clock") {
            assert!(hit.score.is_finite() && hit.score >= 0.0, "at {now}: {hit:?}");
        }
    }
}

#[test]
fn b40_memories_dated_anywhere_have_sane_scores_and_are_all_there() {
    let store = Store::new();
    let dates = [
        "2026-12-29T12:00:00Z",
        "2026-12-09T12:00:00Z",
        "1970-01-01T00:00:00Z",
        "9999-12-30T00:00:00Z",
        "2038-01-19T03:14:08Z",
        "2026-11-29T12:00:00Z",
        "0001-01-01T00:00:00Z",
        "2016-12-31T23:59:59Z",
    ];
    let ids: Vec<String> = (0..dates.len()).map(|n| format!("aaaaaaaaaaa{n}")).collect();
    let by_hand: String = (0..dates.len())
        .map(|n| {
            let (id, at) = (&ids[n], dates[n]);
            format!(
                "{{\"at\":\"{at}\",\"op\":\"remember\",\"id\":\"{id}\",\"text\":\"The clock showed number {n}\"}}\n"
            )
        })
        .collect();
    fs::create_dir_all(store.home().join("short-term")).unwrap();
    fs::write(store.home().join("short-term/byhand00.jsonl"), by_hand).unwrap();
    let engine = store.engine();
    for id in &ids {
        assert!(engine.find(id).is_some(), "{id} is not there: {:?}", engine.health());
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_sane(&store, &ids);
    // What is dated in the future neither fades, nor is it promoted, nor does it beat everything else for ever.
    assert!(engine.clean().promoted.is_empty());
    let fresh = engine.save("The clock showed noon");
    assert_eq!(engine.hits("clock noon")[0].id, fresh);
    for id in &ids[..2] {
        assert_eq!(engine.whole(id).memory.status, "active");
        touch(&engine, id);
    }
    assert_sane(&store, &ids);
    for id in ids {
        engine.drop_memory(id);
        assert!(engine.find(id).is_none(), "{id} outlives its forget");
    }
}

#[test]
fn b40_a_line_without_a_time_costs_itself() {
    let store = Store::new();
    store.fill(3);
    let journal = fs::read_to_string(store.journal()).unwrap();
    let times = [
        "",
        "\"at\":null,",
        "\"at\":\"\",",
        "\"at\":\"NaN\",",
        "\"at\":NaN,",
        "\"at\":-5,",
        "\"at\":1e400,",
        "\"at\":\"-1\",",
        "\"at\":\"yesterday\",",
        "\"at\":\"2026-02-30T00:00:00Z\",",
        "\"at\":\"99999-01-01T00:00:00Z\",",
        "\"at\":\"9999-12-31T23:59:59.999Z\",",
        "\"at\":1795953600000,",
        "\"at\":\"2026-11-29\",",
        "\"at\":[],",
    ];
    for order in [
        "",
        "\"o\":null,",
        "\"o\":-1,",
        "\"o\":1e400,",
        "\"o\":\"x\",",
        "\"o\":9223372036854775807,",
        "\"o\":99999999999999999999,",
    ] {
        for (place, at) in times.iter().chain(&["\"at\":\"2026-11-29T12:00:00Z\","]).enumerate() {
            for is_sealed in [false, true] {
                let number = if is_sealed { "\"n\":9," } else { "" };
                let line = format!(
                    "{{\"v\":1,{number}{at}{order}\"op\":\"remember\",\"id\":\"c10ckc10ckc1\",\"text\":\"The clock showed {place}\""
                );
                let line = if is_sealed { sealed(&line) } else { line + "}\n" };
                store.write_journal(format!("{journal}{line}"));
                let engine = store.engine();
                let active = engine.counts().active;
                assert!(active == 4 || active == 3 && !engine.health().ok, "{line}: {active} {:?}", engine.health());
                if active == 4 {
                    assert_sane(&store, &["c10ckc10ckc1"]);
                }
                let later = engine.save("A later thought");
                touch(&engine, &later);
                assert_eq!(store.engine().counts().active, active + 1, "{line}: then one more");
                assert_eq!(store.engine().whole(&later).uses, 1, "{line}");
            }
        }
    }
}

#[test]
fn b40_a_clock_set_back_an_hour_between_two_uses_counts_both() {
    let mut store = Store::new();
    let id = store.engine().save("The clock is slow");
    store.pass_hours(5);
    touch(&store.engine(), &id);
    store.pass_hours(-1);
    touch(&store.engine(), &id);
    let memory = store.engine().whole(&id);
    assert_eq!(memory.uses, 2);
    assert_sane(&store, &[&id]);
    // What comes later in the journal is later, whatever the clock says.
    let text = Some("The clock is fast".to_owned());
    store.engine().change(ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
    store.pass_hours(-6);
    let text = Some("The clock is right".to_owned());
    store.engine().change(ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
    assert_eq!(store.engine().whole(&id).memory.text, "The clock is right");
    let told: Vec<String> = store.engine().whole(&id).history.into_iter().filter_map(|entry| entry.text).collect();
    assert_eq!(told, ["The clock is slow", "The clock is fast", "The clock is right"]);
}

#[test]
fn b40_time_zone_and_summer_time_change_no_score() {
    let mut store = Store::new();
    // Berlin leaves summer time on 25 October 2026 at 01:00 UTC.
    store.now = "2026-10-24T20:30:00Z".parse().unwrap();
    let ids = ["The clock goes back", "The clock goes forth", "The clock stands"].map(|text| store.engine().save(text));
    for _ in 0..8 {
        store.pass_hours(1);
        touch(&store.engine(), &ids[0]);
    }
    assert_eq!(store.engine().whole(&ids[0]).uses, 8, "an hour that comes twice is two hours");
    let mut states = Vec::new();
    for zone in ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Asia/Kathmandu"] {
        let mut command = store.command(&["open", &ids[0], &ids[1], &ids[2], "--json"]);
        let by_variable: Run = command.env("TZ", zone).output().unwrap().into();
        store.configure(&format!("time_zone = \"{zone}\"\n"));
        let by_config = store.run(&["open", &ids[0], &ids[1], &ids[2], "--json"]);
        states.push(by_variable.exits(0).json());
        states.push(by_config.exits(0).json());
        fs::remove_file(store.home().join("config.toml")).unwrap();
    }
    assert_eq!(states[0]["memories"].as_array().unwrap().len(), 3);
    assert!(states.iter().all(|state| *state == states[0]), "{states:#?}");
}

/// A store with a memory of each fate: fresh, used, pinned, faded soon, forgotten.
fn fates(store: &mut Store) -> [String; 4] {
    let save = |text: &str, kind: &str| {
        store
            .engine()
            .tell(NewMemory { text: text.into(), kind: Some(kind.into()), ..NewMemory::default() })
            .id
            .unwrap()
    };
    let ids = [
        save("The clock is slow", "one_time"),
        save("The clock has a crack", "fact"),
        save("The clock ticks", "question"),
        save("The clock is green", "fact"),
    ];
    store.engine().drop_memory(&ids[3]);
    for _ in 0..5 {
        store.pass_hours(1);
        touch(&store.engine(), &ids[2]);
    }
    ids
}

#[test]
fn b40_a_clock_that_jumps_and_comes_back_ends_nothing() {
    for jump in [-10 * 365, -2, 2, 40, 365, 30 * 365, 7000 * 365] {
        let mut store = Store::new();
        let ids = fates(&mut store);
        let before: Vec<_> = ids[..3].iter().map(|id| store.engine().whole(id)).collect();
        store.pass_days(jump);
        store.ok(&["recall", "clock", "--no-reinforce"]);
        store.ok(&["tidy"]);
        store.ok(&["tidy"]);
        store.ok(&["faded"]);
        store.pass_days(-jump);
        let engine = store.engine();
        for (id, before) in ids.iter().zip(&before) {
            let after = engine.whole(id);
            assert_eq!(
                (after.uses, after.strength, after.memory.status.as_str()),
                (before.uses, before.strength, "active"),
                "{jump} days"
            );
            assert_eq!(after.memory.text, before.memory.text, "{jump} days");
        }
        let restored = engine.restore(&RestoreRequest { ids: vec![ids[3].clone()] }).unwrap();
        assert_eq!(restored.restored.len(), 1, "{jump} days: what was forgotten can no longer be restored");
        assert!(engine.find(&ids[3]).is_some());
        let later = engine.save("The clock is back");
        touch(&engine, &later);
        assert_eq!(engine.counts().active, 5, "{jump} days");
    }
}

#[test]
fn b40_a_clock_that_jumps_promotes_nothing_early() {
    for jump in [2, 40, 365, 30 * 365] {
        let mut store = Store::new();
        // Used five times within its first hours: enough, were it a day old.
        fates(&mut store);
        assert!(store.engine().clean().promoted.is_empty(), "too young");
        store.pass_days(jump);
        let tidied = store.engine().clean();
        assert!(tidied.promoted.is_empty(), "a jump of {jump} days promoted {:?}", tidied.promoted);
        // What has faded by that date is no candidate any more.
        let is_said = !tidied.problems.is_empty() || tidied.candidates.is_empty();
        assert!(is_said, "a jump of {jump} days is held without a word");
    }
}

// Meaning (after mem0): the same again, the contrary, and all of one scope.

#[test]
fn mem0_1674_the_same_sentence_three_times_is_one_memory() {
    let mut store = Store::new();
    let id = store.engine().save("Works from the library on Fridays");
    for _ in 0..2 {
        store.pass_hours(1);
        let memory = NewMemory { text: "Works from the library on Fridays".into(), ..NewMemory::default() };
        let told = store.engine().tell(memory);
        assert_eq!((told.outcome, told.id.as_ref()), (Outcome::Reinforced, Some(&id)));
    }
    let engine = store.engine();
    assert_eq!((engine.counts().active, engine.counts().forgotten), (1, 0));
    let memory = engine.whole(&id);
    // Told once, used twice.
    assert_eq!((memory.uses, memory.history.len()), (2, 3), "{memory:?}");
    assert_eq!(engine.texts("library Fridays"), ["Works from the library on Fridays"]);
}

#[test]
fn mem0_4580_the_contrary_deletes_nothing() {
    let store = Store::new();
    let old = store.engine().save("Likes tea");
    let memory =
        |supersedes: Vec<String>| NewMemory { text: "No longer likes tea".into(), supersedes, ..NewMemory::default() };
    // Said by itself: both are kept, and the reply names the other one.
    let told = store.engine().tell(memory(vec![]));
    assert_ne!(told.outcome, Outcome::Reinforced, "{told:?}");
    let new = told.id.unwrap();
    assert_ne!(new, old);
    let both = store.engine().counts();
    assert_eq!((both.active + both.superseded, both.forgotten), (2, 0));
    // Said to take its place: the old one steps back, with a link.
    store.engine().tell(memory(vec![old.clone()]));
    let engine = store.engine();
    assert_eq!(engine.texts("likes tea"), ["No longer likes tea"]);
    let (old, new) = (engine.whole(&old), engine.whole(&new));
    assert_eq!((old.memory.status.as_str(), old.memory.superseded_by.as_ref()), ("superseded", Some(&new.memory.id)));
    assert_eq!(old.memory.text, "Likes tea");
    assert_eq!(new.memory.previously[0].id, old.memory.id);
    assert!(!old.history.is_empty() && !new.history.is_empty());
}

#[test]
fn mem0_3695_forgetting_all_of_one_scope_leaves_the_other() {
    let store = Store::new();
    let mut ids = BTreeMap::new();
    for scope in ["falcon", "heron"] {
        for n in 0..10 {
            let memory = NewMemory {
                text: format!("Nest {n} of the {scope} is in the old oak"),
                scope: Some(scope.into()),
                ..NewMemory::default()
            };
            ids.entry(scope).or_insert_with(Vec::new).push(store.engine().tell(memory).id.unwrap());
        }
    }
    store.engine().clean();
    let of = |engine: &Engine, scope: &str| {
        let request = RecallRequest {
            scope: vec![scope.into()],
            limit: Some(50),
            reinforce: Some(false),
            ..RecallRequest::of("nest in the old oak")
        };
        let mut ids: Vec<String> = engine.recall(&request).unwrap().hits.into_iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    };
    for ids in ids.values_mut() {
        ids.sort();
    }
    assert_eq!(of(&store.engine(), "falcon"), ids["falcon"]);
    let answer =
        store.engine().forget(&ForgetRequest { ids: ids["falcon"].clone(), ..ForgetRequest::default() }).unwrap();
    assert_eq!(answer.forgotten.len(), 10);
    for is_tidied in [false, true] {
        if is_tidied {
            store.engine().clean();
        }
        let engine = store.engine();
        assert_eq!(of(&engine, "falcon"), Vec::<String>::new());
        assert_eq!(of(&engine, "heron"), ids["heron"]);
        assert!(ids["falcon"].iter().all(|id| engine.find(id).is_none()));
        assert!(ids["heron"].iter().all(|id| engine.find(id).is_some()));
        assert_eq!((engine.counts().active, engine.counts().forgotten), (10, 10));
    }
}
