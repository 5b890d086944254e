//! The doctor: each fault is made for real and must be found, with its place and the next step; a healthy store has
//! none; what is mended is mended without losing a byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use ebbmark::clock::{DAY_MS, HOUR_MS, Timestamp};
use ebbmark::engine::{Area, DoctorAnswer, DoctorRequest, Engine, Finding, InspectRequest, Level, RecallRequest, View};
use ebbmark::engine::{NewMemory, ReviseRequest};
use ebbmark::index::{Document, Index};
use ebbmark::words::ANALYZER_VERSION;

use crate::support::{Calls, Store, files_below};

/// A store with three memories; the journal has four lines.
fn filled() -> Store {
    let store = Store::new();
    let engine = store.engine();
    for text in ["Owns a red bicycle", "Plays the oboe", "Drinks tea in the morning"] {
        engine.save(text);
    }
    store
}

/// As [`filled`], with a note of the first memory; its id.
fn with_note() -> (Store, String) {
    let store = filled();
    let id = store.engine().hits("bicycle")[0].id.clone();
    store.engine().keep(&id);
    store.engine().clean();
    (store, id)
}

/// What the command finds, and its exit code.
#[track_caller]
fn examine(store: &Store, arguments: &[&str]) -> (DoctorAnswer, i32) {
    let run = store.run(&[&["doctor", "--json"], arguments].concat());
    let answer = serde_json::from_value(run.json()).unwrap_or_else(|error| panic!("{error}\n{run}"));
    (answer, run.code)
}

/// The one finding, besides notes about other areas, and the exit code.
#[track_caller]
fn only(store: &Store, arguments: &[&str], area: Area) -> (Finding, i32) {
    let (answer, code) = examine(store, arguments);
    let mut found: Vec<Finding> = answer.findings.into_iter().filter(|finding| finding.area == area).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    (found.remove(0), code)
}

#[track_caller]
fn is_clean(store: &Store) {
    for arguments in [&[][..], &["--deep"]] {
        let (answer, code) = examine(store, arguments);
        assert!(answer.ok && answer.findings.is_empty() && code == 0, "{arguments:?} {code}: {answer:#?}");
    }
}

/// Where the line with this text begins in a file, and which it is.
fn place(path: &Path, needle: &str) -> (u64, u64) {
    let text = fs::read_to_string(path).unwrap();
    let begin = text[..text.find(needle).unwrap()].rfind('\n').map_or(0, |at| at + 1);
    (1 + text[..begin].matches('\n').count() as u64, begin as u64)
}

/// Dates a file a while before the clock of the store.
fn date(store: &Store, path: &Path, ago_ms: i64) {
    let at = (store.now.millis() - ago_ms).cast_unsigned();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_millis(at)).unwrap();
}

#[cfg(unix)]
fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Everything that is not derived or a lock, by path.
fn kept(store: &Store) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = files_below(store.root());
    let is_kept = |path: &Path| {
        !path.starts_with("home/cache")
            && !path.starts_with("vault/.git")
            && path.extension().is_none_or(|e| e != "lock")
    };
    files.retain(|path, _| is_kept(path) && path != Path::new("home/lock"));
    files
}

#[test]
fn a_healthy_store_has_no_findings() {
    let mut store = Store::new();
    is_clean(&store);
    assert!(!store.home().exists() && !store.vault().exists(), "looking made something");
    let engine = store.engine();
    let ids: Vec<String> = (0..30).map(|n| engine.save(&format!("Shelf {n} holds {} books", n * 3))).collect();
    is_clean(&store);
    store.engine().keep(&ids[0]);
    store.engine().keep(&ids[1]);
    is_clean(&store);
    store.engine().drop_memory(&ids[1]);
    store.engine().drop_memory(&ids[2]);
    is_clean(&store);
    store.engine().bring_back(&ids[1]);
    is_clean(&store);
    let text = Some("Shelf 3 holds no book at all".to_owned());
    store.engine().change(ReviseRequest { id: ids[3].clone(), text, ..ReviseRequest::default() });
    store.engine().clean();
    is_clean(&store);
    store.pass_days(40);
    assert_eq!(store.engine().compact(false).unwrap().forgotten, 1);
    is_clean(&store);
    store.engine().save("Said after the compaction");
    store.engine().clean();
    is_clean(&store);
    let text = store.ok(&["doctor"]);
    assert_eq!(
        text,
        "Nothing is wrong. 30 memories, 2 of them in the vault, 42 journal lines.\n".replace("42", &lines(&store))
    );
}

fn lines(store: &Store) -> String {
    fs::read_to_string(store.journal()).unwrap().lines().count().to_string()
}

#[test]
fn a_flipped_bit_is_found_and_set_aside() {
    let store = filled();
    let whole = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), whole.replace("the oboe", "the obog")).unwrap();
    let (line, byte) = place(&store.journal(), "the obog");
    for arguments in [&[][..], &["--deep"]] {
        let (finding, code) = only(&store, arguments, Area::Journal);
        assert_eq!((finding.level, finding.line, finding.byte, code), (Level::Error, Some(line), Some(byte), 5));
        assert_eq!(finding.file, Some(store.journal()));
        assert!(finding.what.contains("checksum") && finding.next.contains("--fix"), "{finding:?}");
    }
    let (answer, code) = examine(&store, &["--fix"]);
    assert_eq!(code, 0, "{answer:#?}");
    assert!(answer.findings[0].fixed && answer.findings[0].next.contains("quarantine"), "{answer:#?}");
    // Every other line is as it was; the first one tells that something was taken out.
    let after = fs::read_to_string(store.journal()).unwrap();
    let expected: Vec<&str> = whole.lines().skip(1).filter(|line| !line.contains("oboe")).collect();
    assert_eq!(after.lines().skip(1).collect::<Vec<_>>(), expected);
    let aside = files_below(&store.home().join("quarantine"));
    assert!(aside.values().any(|bytes| String::from_utf8_lossy(bytes).contains("the obog")), "{aside:?}");
    for arguments in [&[][..], &["--deep"]] {
        let (finding, code) = only(&store, arguments, Area::Quarantine);
        assert_eq!((finding.level, code), (Level::Note, 0));
        assert_eq!(finding.file, Some(store.home().join("quarantine")));
    }
    assert_eq!(store.engine().counts().active, 2);
}

#[test]
fn a_compaction_that_set_a_line_aside_leaves_nothing_missing() {
    let store = filled();
    let id = store.engine().hits("tea")[0].id.clone();
    for text in ["Drinks tea at noon", "Drinks tea in the evening"] {
        let text = Some(text.to_owned());
        store.engine().change(ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
    }
    assert_eq!(store.engine().compact(false).unwrap().quarantined, 0);
    let whole = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), whole.replace("the oboe", "the obog")).unwrap();
    // Another process stands in the middle of it.
    let follower = store.engine_at(store.now);
    assert_eq!(follower.counts().active, 2);
    assert_eq!(store.engine().compact(false).unwrap().quarantined, 1);
    store.engine().save("Said after the compaction");
    assert_eq!(follower.counts(), store.engine().counts());
    let (answer, code) = examine(&store, &["--deep"]);
    assert!(answer.findings.iter().all(|finding| finding.area == Area::Quarantine) && code == 0, "{answer:#?}");
}

#[test]
fn bits_that_rot_under_a_running_process_are_found_by_looking_deep() {
    let store = filled();
    let engine = store.engine();
    assert!(engine.doctor(&DoctorRequest::default()).unwrap().ok);
    let whole = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), whole.replace("red bicycle", "ref bicycle")).unwrap();
    assert!(engine.doctor(&DoctorRequest::default()).unwrap().ok, "it had read that line before");
    let deep = engine.doctor(&DoctorRequest { deep: Some(true), fix: None }).unwrap();
    assert!(!deep.ok && deep.findings[0].line == Some(2), "{deep:#?}");
}

#[test]
fn damage_in_bulk_is_told_in_few_findings() {
    let store = Store::new();
    fs::create_dir_all(store.home().join("short-term")).unwrap();
    fs::write(store.journal(), "no line\n".repeat(5000)).unwrap();
    let (answer, code) = examine(&store, &[]);
    let journal: Vec<&Finding> = answer.findings.iter().filter(|finding| finding.area == Area::Journal).collect();
    assert_eq!((journal.len(), code), (21, 5));
    let last = journal[20];
    assert!(last.what.contains("4980 more") && last.line == Some(21) && last.byte == Some(160), "{last:?}");
}

#[test]
fn a_torn_tail_is_told_with_its_place() {
    let store = filled();
    let bytes = fs::read(store.journal()).unwrap();
    let (line, byte) = place(&store.journal(), "tea in the morning");
    fs::write(store.journal(), &bytes[..bytes.len() - 20]).unwrap();
    for arguments in [&[][..], &["--deep"]] {
        let (finding, code) = only(&store, arguments, Area::Journal);
        assert_eq!((finding.level, finding.line, finding.byte, code), (Level::Warning, Some(line), Some(byte), 4));
    }
}

#[cfg(unix)]
#[test]
fn a_journal_that_cannot_be_read_is_named() {
    let store = filled();
    let path = store.home().join("short-term/bbbb2222.jsonl");
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    let (finding, code) = only(&store, &[], Area::Journal);
    assert_eq!((finding.level, finding.file, code), (Level::Error, Some(path), 5));
}

#[test]
fn lines_of_a_newer_ebbmark_stay_where_they_are() {
    let store = filled();
    let path = store.home().join("short-term/bbbb2222.jsonl");
    let line =
        "{\"v\":9,\"at\":\"2026-11-29T12:00:00Z\",\"op\":\"remember\",\"id\":\"m3m0ryb1h4nd\",\"text\":\"New\"}\n";
    fs::write(&path, line).unwrap();
    let before = kept(&store);
    let (finding, code) = only(&store, &["--fix"], Area::Journal);
    assert_eq!((finding.level, finding.line, finding.byte, code), (Level::Error, Some(1), Some(0), 5));
    assert!(finding.next.contains("update Ebbmark"), "{finding:?}");
    assert_eq!(
        kept(&store)[Path::new("home/short-term/bbbb2222.jsonl")],
        before[Path::new("home/short-term/bbbb2222.jsonl")]
    );
}

#[test]
fn lines_from_the_future_are_told_with_the_first_of_them() {
    let store = filled();
    let path = store.home().join("short-term/bbbb2222.jsonl");
    let said = |at: &str, id: &str| {
        format!("{{\"v\":1,\"at\":\"{at}\",\"op\":\"remember\",\"id\":\"{id}\",\"text\":\"x\"}}\n")
    };
    let near = said("2026-11-29T13:00:00Z", "m3m0ryb1h4nd");
    let far = said("2027-11-29T13:00:00Z", "m3m0ryb1h4nf") + &said("2027-11-29T13:00:00Z", "m3m0ryb1h4ng");
    fs::write(&path, near.clone() + &far).unwrap();
    let (finding, code) = only(&store, &[], Area::Journal);
    assert_eq!(
        (finding.level, finding.line, finding.byte, code),
        (Level::Warning, Some(2), Some(near.len() as u64), 4)
    );
    assert!(finding.what.starts_with("2 lines are dated more than a day ahead"), "{finding:?}");
    // They are no longer from the future once that time has come.
    let engine = store.engine_at(store.now.plus_millis(400 * DAY_MS));
    let later = engine.doctor(&DoctorRequest::default()).unwrap();
    assert!(later.ok, "{later:#?}");
}

#[test]
fn a_clock_that_was_set_back_is_told() {
    let mut store = filled();
    store.pass_hours(-3);
    let (finding, code) = only(&store, &[], Area::Clock);
    assert_eq!((finding.level, finding.file.as_deref(), code), (Level::Warning, Some(&*store.journal()), 4));
    assert!(finding.what.contains("3 hours ahead"), "{finding:?}");
    store.now = Timestamp::from_millis(0);
    let (finding, code) = only(&store, &[], Area::Clock);
    assert_eq!((finding.level, code), (Level::Error, 5));
}

#[test]
fn a_jump_of_the_clock_in_the_past_is_noted() {
    let mut store = filled();
    store.pass_days(-30);
    store.engine().save("Said while the clock was wrong");
    store.pass_days(60);
    let (line, byte) = place(&store.journal(), "clock was wrong");
    let (finding, code) = only(&store, &["--deep"], Area::Clock);
    assert_eq!((finding.level, finding.line, finding.byte, code), (Level::Note, Some(line), Some(byte), 0));
    assert!(finding.what.contains("30 days"), "{finding:?}");
}

#[test]
fn missing_lines_are_told_by_their_numbers() {
    let store = filled();
    let whole = fs::read_to_string(store.journal()).unwrap();
    let holed: String = whole.split_inclusive('\n').filter(|line| !line.contains("oboe")).collect();
    fs::write(store.journal(), &holed).unwrap();
    assert_eq!(examine(&store, &[]).1, 0);
    let (finding, code) = only(&store, &["--deep"], Area::Journal);
    let (line, byte) = place(&store.journal(), "tea in the morning");
    assert_eq!((finding.level, finding.line, finding.byte, code), (Level::Error, Some(line), Some(byte), 5));
    assert!(finding.what.contains("number 3"), "{finding:?}");
    // Where they are in another file of that replica they are not missing.
    fs::write(store.home().join("short-term/aaaa1111 (backup).jsonl"), whole).unwrap();
    let (answer, code) = examine(&store, &["--deep"]);
    assert!(answer.ok && code == 0, "{answer:#?}");
}

#[test]
fn what_is_not_known_in_the_configuration_is_told() {
    let store = filled();
    store.configure("promotoin = \"off\"\ndurability = \"interval\"\n");
    let (finding, code) = only(&store, &[], Area::Configuration);
    assert_eq!((finding.level, finding.file, code), (Level::Warning, Some(store.home().join("config.toml")), 4));
    assert!(finding.what.contains("promotoin"), "{}", finding.what);
    let (finding, _) = only(&store, &["--deep"], Area::Durability);
    assert_eq!(finding.level, Level::Note);
    assert!(finding.what.contains("interval") && finding.what.contains("power cut"), "{finding:?}");
}

/// The file of the index that holds the postings, and its bytes.
fn postings_file(store: &Store) -> PathBuf {
    let files = files_below(&store.home().join("cache"));
    let path = files.keys().find(|path| path.extension().is_some_and(|extension| extension == "idx")).unwrap();
    store.home().join("cache").join(path)
}

#[test]
fn a_damaged_index_is_told_and_built_anew() {
    let (store, _) = with_note();
    let path = postings_file(&store);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, bytes).unwrap();
    let before = kept(&store);
    let (finding, code) = only(&store, &[], Area::Index);
    assert_eq!((finding.level, finding.file, code), (Level::Warning, Some(store.home().join("cache")), 4));
    let (finding, code) = only(&store, &["--fix"], Area::Index);
    assert!(finding.fixed && code == 0, "{finding:?}");
    is_clean(&store);
    assert_eq!(kept(&store), before);
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn an_index_with_other_words_than_the_memories_have_is_told_and_built_anew() {
    let (store, id) = with_note();
    let index = Index::open(&store.home().join("cache"), ANALYZER_VERSION).unwrap().unwrap();
    let mut documents: Vec<(u64, u64)> = Vec::new();
    index
        .join(|id, hash| {
            documents.push((id, hash));
            None
        })
        .unwrap();
    let bits = id.parse::<ebbmark::id::MemoryId>().unwrap().bits();
    let (_, hash) = *documents.iter().find(|(id, _)| *id == bits).unwrap();
    let wrong = Document { id: bits, hash, terms: vec!["velocip".into(), "red".into(), "own".into()] };
    index.fold_in([wrong], &[]).unwrap();
    assert_eq!(examine(&store, &[]).1, 0);
    let (finding, code) = only(&store, &["--deep"], Area::Index);
    assert!(finding.level == Level::Error && finding.what.contains(&id) && code == 5, "{finding:?}");
    let (finding, code) = only(&store, &["--deep", "--fix"], Area::Index);
    assert!(finding.fixed && code == 0, "{finding:?}");
    is_clean(&store);
}

#[test]
fn an_index_of_another_home_is_no_fault() {
    let (store, _) = with_note();
    let other = Store::new();
    other.engine().save("Somebody else's memory of a bicycle");
    other.engine().clean();
    fs::remove_dir_all(store.home().join("cache")).unwrap();
    fs::rename(other.home().join("cache"), store.home().join("cache")).unwrap();
    is_clean(&store);
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn stale_locks_of_git_are_told_and_never_removed() {
    for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let (store, _) = with_note();
        let lock = store.vault().join(".git").join(name);
        fs::write(&lock, "").unwrap();
        date(&store, &lock, 3 * HOUR_MS);
        let (finding, code) = only(&store, &["--fix"], Area::Git);
        assert_eq!((finding.level, finding.file.as_deref(), code), (Level::Warning, Some(&*lock), 4), "{name}");
        assert!(finding.what.contains("3 hours") && finding.next.contains("rm "), "{finding:?}");
        assert!(lock.exists(), "{name} was removed");
        // A fresh one belongs to a program at work.
        date(&store, &lock, 5_000);
        let (finding, code) = only(&store, &["--fix"], Area::Git);
        assert_eq!((finding.level, code), (Level::Note, 0), "{name}");
        assert!(lock.exists(), "{name} was removed");
        fs::remove_file(&lock).unwrap();
        is_clean(&store);
    }
}

#[test]
fn what_keeps_git_from_committing_is_told() {
    let (store, _) = with_note();
    let head = store.git(&["rev-parse", "HEAD"]);
    fs::write(store.vault().join(".git/MERGE_HEAD"), format!("{head}\n")).unwrap();
    let (finding, code) = only(&store, &[], Area::Git);
    assert!(finding.what.contains("a merge is in progress") && code == 4, "{finding:?}");
    fs::remove_file(store.vault().join(".git/MERGE_HEAD")).unwrap();
    store.git(&["switch", "-q", "-c", "experiment"]);
    let (finding, code) = only(&store, &[], Area::Git);
    assert!(
        finding.what.contains("`experiment`") && finding.next.contains("git switch main") && code == 4,
        "{finding:?}"
    );
    store.git(&["switch", "-q", "--detach"]);
    let (finding, _) = only(&store, &[], Area::Git);
    assert!(finding.what.contains("no branch is checked out"), "{finding:?}");
    store.git(&["switch", "-q", "main"]);
    is_clean(&store);
}

#[cfg(unix)]
#[test]
fn a_repository_of_somebody_else_is_told_with_its_owner() {
    let (store, _) = with_note();
    // Only root can give files away; what is said then is tested beside the code in any case.
    if std::os::unix::fs::chown(store.vault().join(".git"), Some(12_345), None).is_err() {
        return;
    }
    std::os::unix::fs::chown(store.vault(), Some(12_345), None).unwrap();
    let (finding, code) = only(&store, &["--fix"], Area::Git);
    assert!(finding.what.contains("belongs to user 12345") && finding.next.contains("safe.directory"), "{finding:?}");
    assert_eq!((finding.file, code), (Some(store.vault()), 4));
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
}

#[test]
fn a_vault_without_its_repository_gets_one() {
    let (store, _) = with_note();
    fs::remove_dir_all(store.vault().join(".git")).unwrap();
    let (finding, code) = only(&store, &[], Area::Git);
    assert!(finding.level == Level::Warning && code == 4, "{finding:?}");
    let (finding, code) = only(&store, &["--fix"], Area::Git);
    assert!(finding.fixed && code == 0, "{finding:?}");
    is_clean(&store);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

#[test]
fn notes_that_were_never_committed_are_told_and_committed() {
    let (store, _) = with_note();
    let head = store.git(&["rev-parse", "HEAD"]);
    let id = store.engine().hits("oboe")[0].id.clone();
    store.engine().keep(&id);
    store.git(&["reset", "-q", "--mixed", &head]);
    let before = kept(&store);
    for arguments in [&[][..], &["--deep"]] {
        let (finding, code) = only(&store, arguments, Area::Git);
        assert_eq!((finding.level, code), (Level::Warning, 4));
        assert_eq!(finding.file, Some(store.note_path("Plays the oboe")));
    }
    let (finding, code) = only(&store, &["--fix"], Area::Git);
    assert!(finding.fixed && finding.next.starts_with("committed as ") && code == 0, "{finding:?}");
    assert_eq!(kept(&store), before);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    is_clean(&store);
}

#[test]
fn a_commit_that_cannot_be_read_is_told() {
    let (store, _) = with_note();
    let blob = store.git(&["rev-parse", "HEAD:Memories/Owns a red bicycle.md"]);
    let (first, rest) = blob.split_at(2);
    let object = store.vault().join(".git/objects").join(first).join(rest);
    fs::remove_file(&object).unwrap();
    let (finding, code) = only(&store, &["--deep"], Area::Git);
    assert_eq!((finding.level, finding.file, code), (Level::Error, Some(store.vault()), 5));
    assert!(finding.next.contains("git fsck"), "{}", finding.next);
}

#[cfg(unix)]
#[test]
fn what_others_may_read_is_told_with_its_mode_and_closed() {
    let (store, _) = with_note();
    chmod(store.root(), 0o755);
    chmod(&store.home(), 0o755);
    chmod(&store.home().join("short-term"), 0o775);
    chmod(&store.journal(), 0o644);
    let notes = mode(&store.note_path("Owns a red bicycle"));
    chmod(&store.vault(), 0o755);
    let before = kept(&store);
    let (answer, code) = examine(&store, &[]);
    let of = |path: &Path| answer.findings.iter().find(|finding| finding.file.as_deref() == Some(path)).unwrap();
    let (home, folder, journal) = (of(&store.home()), of(&store.home().join("short-term")), of(&store.journal()));
    assert_eq!((home.level, folder.level, journal.level, code), (Level::Note, Level::Warning, Level::Warning, 4));
    assert!(home.what.contains("0755") && folder.what.contains("0775") && journal.what.contains("0644"), "{answer:#?}");
    let (answer, code) = examine(&store, &["--fix"]);
    assert!(answer.findings.len() == 3 && answer.findings.iter().all(|finding| finding.fixed), "{answer:#?}");
    assert_eq!(code, 0);
    let modes = [&store.home(), &store.home().join("short-term"), &store.journal()].map(|path| mode(path));
    assert_eq!(modes, [0o700, 0o700, 0o600]);
    assert_eq!((mode(&store.vault()), mode(&store.note_path("Owns a red bicycle"))), (0o755, notes));
    assert_eq!(kept(&store), before);
    is_clean(&store);
}

#[cfg(unix)]
#[test]
fn a_mode_that_lets_nobody_by_is_a_note() {
    let store = filled();
    chmod(&store.journal(), 0o644);
    let (finding, code) = only(&store, &[], Area::Permissions);
    assert_eq!((finding.level, code), (Level::Note, 0), "{finding:?}");
}

#[test]
fn folders_of_sync_programs_are_told() {
    let store = Store::new();
    let (home, vault) = (store.root().join("Dropbox (Private)/ebbmark"), store.root().join("Nextcloud/vault"));
    let arguments = ["--home", home.to_str().unwrap(), "--vault", vault.to_str().unwrap()];
    store.ok(&[&["remember", "Owns a red bicycle"], &arguments[..]].concat());
    let (answer, code) = examine(&store, &arguments);
    let place: Vec<&Finding> = answer.findings.iter().filter(|finding| finding.area == Area::Place).collect();
    assert_eq!(place.len(), 2, "{answer:#?}");
    assert_eq!((place[0].level, place[0].file.as_deref(), code), (Level::Warning, Some(&*home), 4));
    assert!(place[0].what.contains("Dropbox"), "{answer:#?}");
    assert_eq!((place[1].level, place[1].file.as_deref()), (Level::Note, Some(&*vault)));
    let store = filled();
    fs::create_dir(store.root().join(".stfolder")).unwrap();
    let (answer, _) = examine(&store, &[]);
    assert!(answer.findings.iter().any(|finding| finding.what.contains("Syncthing")), "{answer:#?}");
}

#[test]
fn two_machines_with_one_replica_id_are_told() {
    let store = filled();
    fs::write(store.home().join("replica"), "first aaaa1111\nsecond bbbb2222\nthird aaaa1111\n").unwrap();
    chmod_private(&store.home().join("replica"));
    let (finding, code) = only(&store, &[], Area::Replica);
    assert_eq!((finding.level, finding.line, finding.byte, code), (Level::Error, Some(3), Some(31), 5));
    assert_eq!(finding.file, Some(store.home().join("replica")));
}

fn chmod_private(path: &Path) {
    #[cfg(unix)]
    chmod(path, 0o600);
    #[cfg(not(unix))]
    let _ = path;
}

#[test]
fn two_writers_under_one_replica_id_are_told() {
    let mut store = filled();
    // A copy of the home, from which both go on.
    let mut twin = Store::new();
    twin.seed = Some(8);
    fs::create_dir_all(twin.home().join("short-term")).unwrap();
    fs::copy(store.journal(), twin.journal()).unwrap();
    store.engine().save("Said on the first machine");
    store.pass_hours(1);
    twin.engine_at(store.now).save("Said on the second machine");
    let copy = store.home().join("short-term/aaaa1111 2.jsonl");
    fs::copy(twin.journal(), &copy).unwrap();
    let (finding, code) = only(&store, &[], Area::Replica);
    let found = (finding.level, finding.line, finding.file.clone().unwrap(), code);
    let (line, byte) = place(&found.2, if found.2 == copy { "second machine" } else { "first machine" });
    assert_eq!((found.0, found.1, found.3, finding.byte), (Level::Error, Some(line), 5, Some(byte)), "{finding:?}");
    let deep = only(&store, &["--deep"], Area::Replica);
    assert_eq!(deep.1, 5);
    // Nothing is lost all the same.
    assert_eq!(store.engine().texts("machine").len(), 2);
}

#[test]
fn a_conflict_copy_of_a_journal_is_noted_with_what_it_lacks() {
    let store = filled();
    let copy = store.home().join("short-term/aaaa1111.sync-conflict-20261129-120000-ABCDEFG.jsonl");
    let whole = fs::read_to_string(store.journal()).unwrap();
    let half: String = whole.split_inclusive('\n').take(3).collect();
    fs::write(&copy, &half).unwrap();
    chmod_private(&copy);
    let (finding, code) = only(&store, &[], Area::Journal);
    assert_eq!((finding.level, finding.file, code), (Level::Note, Some(copy.clone()), 0));
    assert!(finding.next.contains("may be removed"), "{:?}", finding.next);
    fs::write(&copy, &whole).unwrap();
    fs::write(store.journal(), &half).unwrap();
    let (finding, code) = only(&store, &[], Area::Journal);
    assert!(finding.next.contains("keep it: 1 line is only here") && code == 0, "{finding:?}");
}

#[test]
fn temporary_files_that_a_crash_left_are_removed_once_they_are_old() {
    let store = filled();
    let (old, young) =
        (store.home().join("short-term/.aaaa1111.jsonl.0123abcd.tmp"), store.home().join(".replica.89ab4567.tmp"));
    for path in [&old, &young] {
        fs::write(path, "half").unwrap();
        chmod_private(path);
    }
    date(&store, &old, 2 * HOUR_MS);
    date(&store, &young, 10_000);
    let (finding, code) = only(&store, &[], Area::Journal);
    assert_eq!((finding.level, finding.file.as_ref(), code), (Level::Note, Some(&old), 0));
    let (finding, _) = only(&store, &["--fix"], Area::Journal);
    assert!(finding.fixed && !old.exists() && young.exists(), "{finding:?}");
    is_clean(&store);
}

#[test]
fn a_note_that_is_missing_is_told() {
    let (store, id) = with_note();
    fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
    let (finding, code) = only(&store, &[], Area::Vault);
    assert_eq!((finding.level, code), (Level::Warning, 4));
    assert_eq!(finding.file, Some(store.note_path("Owns a red bicycle")));
    assert!(finding.what.contains(&id), "{finding:?}");
}

#[test]
fn notes_that_do_not_fit_their_memories_are_told() {
    let (store, id) = with_note();
    let whole = store.note("Owns a red bicycle");
    let path = store.note_path("Owns a red bicycle");
    let write = |text: &str| fs::write(&path, text).unwrap();
    let told = |arguments: &[&str], words: &str| {
        let (finding, code) = only(&store, arguments, Area::Vault);
        assert!(finding.what.contains(words), "{words}: {finding:?}");
        (finding.level, code)
    };
    write(&whole.replace(&format!("id: {id}"), "identity: none"));
    assert_eq!(told(&["--deep"], "no `id` any more"), (Level::Warning, 4));
    let other = store.engine().hits("oboe")[0].id.clone();
    write(&whole.replace(&id, &other));
    assert_eq!(told(&["--deep"], "now has the id of"), (Level::Warning, 4));
    write(&whole.replace("\nOwns a red", "\nOwns a blue"));
    assert_eq!(told(&["--deep"], "was edited since").0, Level::Note);
    write(&whole.replace("kind:", "kind: [\n"));
    told(&[], "");
    write(&format!("{whole}<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> laptop\n"));
    let (answer, _) = examine(&store, &[]);
    let conflict = answer.findings.iter().find(|finding| finding.what.contains("git left a conflict")).unwrap();
    assert_eq!(conflict.byte, Some(whole.len() as u64));
    assert_eq!(conflict.line, Some(1 + whole.matches('\n').count() as u64));
    write(&whole);
    is_clean(&store);
    store.write_note("A copy", &whole);
    assert_eq!(told(&[], "several notes"), (Level::Warning, 4));
    store.write_note("A copy", &whole.replace(&id, "zzzzzzzzzzzz"));
    assert_eq!(told(&["--deep"], "no journal here knows"), (Level::Warning, 4));
    fs::remove_file(store.note_path("A copy")).unwrap();
    store.engine().drop_memory(&id);
    store.write_note("Owns a red bicycle", &whole.replace("red", "green"));
    assert_eq!(told(&["--deep"], "was forgotten"), (Level::Warning, 4));
}

/// Does something bad to a store.
type Fault = fn(&Store);

/// What a process says of the state of its store, in three ways.
fn said(engine: &Engine) -> (Option<String>, Vec<Finding>, Vec<Finding>) {
    let health = engine.inspect(&InspectRequest::of(View::Health)).unwrap().health.unwrap();
    let doctor = engine.doctor(&DoctorRequest::default()).unwrap();
    let notice = engine.recall(&RecallRequest::of("bicycle")).unwrap().notice;
    (notice, health.findings, doctor.findings)
}

#[test]
fn notice_health_and_doctor_name_the_same() {
    let (store, _) = with_note();
    assert_eq!(said(&store.engine()), (None, Vec::new(), Vec::new()));
    let faults: [(&str, Fault); 6] = [
        ("a line cannot be read", |store| {
            let text = fs::read_to_string(store.journal()).unwrap();
            fs::write(store.journal(), text.replace("the oboe", "the obog")).unwrap();
        }),
        ("is missing", |store| fs::remove_file(store.note_path("Owns a red bicycle")).unwrap()),
        ("git lock", |store| {
            let lock = store.vault().join(".git/index.lock");
            fs::write(&lock, "").unwrap();
            date(store, &lock, 3 * HOUR_MS);
        }),
        ("promotoin", |store| store.configure("promotoin = \"off\"\n")),
        ("the cache", |store| {
            let path = postings_file(store);
            fs::write(path, "damaged").unwrap();
        }),
        ("one and the same file", |store| {
            fs::write(store.home().join("replica"), "first aaaa1111\nthird aaaa1111\n").unwrap();
        }),
    ];
    for (words, make) in faults {
        let (store, _) = with_note();
        make(&store);
        let (notice, health, doctor) = said(&store.engine());
        assert_eq!(health, doctor, "{words}");
        let wrong: Vec<&Finding> = doctor.iter().filter(|finding| finding.level > Level::Note).collect();
        let notice = notice.unwrap_or_else(|| panic!("{words}: recall is silent about {wrong:?}"));
        assert!(notice.contains(&wrong[0].what) && notice.contains("`ebbmark doctor`"), "{notice}\n{wrong:#?}");
        assert!(
            words == "the cache" || wrong.iter().any(|finding| finding.what.contains(words)),
            "{words}: {wrong:#?}"
        );
        assert_eq!(notice.contains(&format!("and {} more", wrong.len() - 1)), wrong.len() > 1, "{notice}");
    }
}

#[test]
fn a_one_shot_recall_says_what_is_wrong_around_it() {
    let (store, _) = with_note();
    let recall = || store.json(&["recall", "bicycle"])["notice"].as_str().map(str::to_owned);
    assert_eq!(recall(), None);
    let lock = store.vault().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    date(&store, &lock, 3 * HOUR_MS);
    assert!(recall().is_some_and(|notice| notice.contains("git lock")), "recall is silent");
    fs::remove_file(&lock).unwrap();
    fs::write(store.home().join("replica"), "first aaaa1111\nthird aaaa1111\n").unwrap();
    assert!(recall().is_some_and(|notice| notice.starts_with("error: two machines")), "recall is silent");
}

#[test]
fn the_doctor_tells_by_area_and_adds_up() {
    let (store, _) = with_note();
    let text = fs::read_to_string(store.journal()).unwrap();
    fs::write(store.journal(), text.replace("the oboe", "the obog")).unwrap();
    let lock = store.vault().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    date(&store, &lock, 3 * HOUR_MS);
    fs::remove_file(store.note_path("Owns a red bicycle")).unwrap();
    store.engine().tell(NewMemory { text: "Said in between".into(), ..NewMemory::default() });
    let root = store.root().display().to_string();
    let told = |arguments: &[&str], code: i32| store.run(arguments).exits(code).stdout.replace(&root, "");
    insta::assert_snapshot!("report", told(&["doctor", "--deep"], 5));
    insta::assert_snapshot!("report_with_fix", told(&["doctor", "--fix"], 4));
}

#[test]
fn exit_codes_are_told_where_they_are_looked_for() {
    let help = Store::new().ok(&["doctor", "--help"]);
    assert!(help.contains("0  nothing is wrong") && help.contains("4  warnings\n  5  errors"), "{help}");
}
