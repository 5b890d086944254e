//! The doctor and the journal: files that are lost, restored, converted, doubled or no files at all, each made for real.

use std::fs;
use std::path::Path;

use ebbmark::clock::HOUR_MS;
use ebbmark::engine::{
    Area, DoctorAnswer, DoctorRequest, Engine, Finding, ForgetRequest, InspectRequest, Level, RecallRequest,
    ReviseRequest, View,
};

use crate::support::{Calls, Store, files_below, holds, lines_of, sealed};

/// Six memories; the journal has seven lines.
fn filled() -> Store {
    let store = Store::in_memory();
    store.fill(6);
    store
}

fn examined(engine: &Engine, deep: bool, fix: bool) -> DoctorAnswer {
    engine.doctor(&DoctorRequest { deep: Some(deep), fix: Some(fix) }).unwrap()
}

/// What a fresh process finds in the journals, beside modes.
fn found(store: &Store, deep: bool, fix: bool) -> Vec<Finding> {
    let answer = examined(&store.engine(), deep, fix);
    let is_meant = |finding: &Finding| matches!(finding.area, Area::Journal | Area::Replica);
    answer.findings.into_iter().filter(is_meant).collect()
}

#[track_caller]
fn only(findings: Vec<Finding>) -> Finding {
    let [finding] = <[Finding; 1]>::try_from(findings).unwrap_or_else(|all| panic!("{all:#?}"));
    finding
}

fn notice(engine: &Engine) -> String {
    engine.recall(&RecallRequest::of("shelf")).unwrap().notice.unwrap_or_default()
}

fn number(line: &[u8]) -> u64 {
    serde_json::from_slice::<serde_json::Value>(line).unwrap()["n"].as_u64().unwrap()
}

#[test]
fn a_copy_with_another_line_under_one_number_is_kept() {
    let store = filled();
    let older = fs::read(store.journal()).unwrap();
    store.engine().save("Lamp of the newer backup");
    let newer = fs::read(store.journal()).unwrap();
    let backup = store.home().join("short-term/backup.jsonl");
    store.write_journal(&older);
    store.engine_at(store.now.plus_millis(HOUR_MS)).save("Chair of the older one");
    fs::write(&backup, newer).unwrap();
    let findings = found(&store, false, false);
    let copy = findings.iter().find(|finding| finding.what.contains("a second file")).unwrap();
    assert!(copy.next.contains("keep it: 1 line is only here"), "{copy:?}");
    // Only once all its lines are here as well it may go.
    fs::write(&backup, &older).unwrap();
    let copy = only(found(&store, false, false));
    assert!(copy.next.contains("may be removed"), "{copy:?}");
}

#[test]
fn two_machines_under_one_id_are_over_once_one_has_another() {
    let mut store = Store::on_machine("one");
    store.engine().save("Owns a red bicycle");
    let list = store.home().join("replica");
    let id = fs::read_to_string(&list).unwrap().trim().rsplit_once(' ').unwrap().1.to_owned();
    let own = store.home().join(format!("short-term/{id}.jsonl"));
    let before = fs::read(&own).unwrap();
    store.engine().save("Said on the first machine");
    let of_first = fs::read(&own).unwrap();
    fs::write(&own, &before).unwrap();
    store.pass_hours(1);
    store.engine().save("Said on the second machine");
    fs::write(store.home().join(format!("short-term/{id} 2.jsonl")), of_first).unwrap();
    let clash = |store: &Store, deep| {
        let findings = found(store, deep, false);
        only(findings.into_iter().filter(|finding| finding.area == Area::Replica).collect())
    };
    assert_eq!(clash(&store, false).level, Level::Error);
    // The machine that keeps the id hears no more of it once the other one has stopped.
    store.pass_days(8);
    assert_eq!(clash(&store, false).level, Level::Note);
    store.pass_days(-8);
    // The one that takes another is rid of it at once, also where it goes on running.
    let running = store.engine();
    running.refresh().unwrap();
    fs::write(&list, "").unwrap();
    running.save("Said under a new id");
    let line = fs::read_to_string(&list).unwrap();
    assert!(line.starts_with("one ") && !line.contains(&id), "{line}");
    running.compact(false).unwrap();
    for deep in [false, true] {
        let over = clash(&store, deep);
        assert!(over.level == Level::Note && over.what.contains("two machines wrote"), "{over:?}");
        assert!(examined(&store.engine(), deep, false).ok);
    }
    assert_eq!(store.engine().texts("said").len(), 3);
}

#[test]
fn a_lost_or_emptied_journal_is_an_error() {
    for (words, lose) in [
        ("is missing", (|path: &Path| fs::remove_file(path).unwrap()) as fn(&Path)),
        ("is empty", |path: &Path| fs::write(path, "").unwrap()),
    ] {
        let mut store = filled();
        let whole = fs::read(store.journal()).unwrap();
        lose(&store.journal());
        for deep in [false, true] {
            let lost = only(found(&store, deep, false));
            assert!(lost.level == Level::Error && lost.what.contains(words), "{lost:?}");
            assert_eq!(lost.file, Some(store.journal()));
        }
        assert!(notice(&store.engine()).contains(words), "{}", notice(&store.engine()));
        assert!(!store.engine().health().ok);
        assert_eq!(store.run(&["doctor"]).code, 5);
        // Nothing is refused, and no number is given again.
        let id = store.engine().save("Said after the loss");
        let lines = fs::read(store.journal()).unwrap();
        let lines = lines_of(&lines);
        assert!(holds(lines[0], b"\"op\":\"journal\""), "{}", lines[0].escape_ascii());
        assert!(number(lines[0]) > 7, "{}", lines[0].escape_ascii());
        let begun = only(found(&store, false, false));
        assert!(begun.level == Level::Warning && begun.what.contains("begun anew"), "{begun:?}");
        assert!(found(&store, true, false).iter().any(|finding| finding.what.contains("lines are missing")));
        store.pass_days(31);
        assert_eq!(only(found(&store, false, false)).level, Level::Note);
        // Put back beside it, all is there.
        fs::write(store.home().join("short-term/backup.jsonl"), &whole).unwrap();
        let copies = found(&store, false, false);
        assert!(copies.iter().all(|finding| finding.what.contains("a second file")), "{copies:?}");
        assert_eq!(store.engine().counts().active, 7);
        assert_eq!(store.engine().whole(&id).memory.text, "Said after the loss");
    }
}

#[test]
fn a_running_process_says_that_what_it_had_read_is_gone() {
    for lose in
        [(|path: &Path| fs::remove_file(path).unwrap()) as fn(&Path), |path: &Path| fs::write(path, "").unwrap()]
    {
        let store = filled();
        let other = store.home().join("short-term/bbbb2222.jsonl");
        let line = sealed(
            r#"{"v":1,"n":2,"at":"2026-11-29T11:00:00.000Z","op":"remember","id":"m3m0ryb1h4nd","text":"Lamp of b""#,
        );
        fs::write(&other, line).unwrap();
        let engine = store.engine();
        assert_eq!((notice(&engine), engine.counts().active), (String::new(), 7));
        lose(&other);
        assert!(notice(&engine).contains("replica bbbb2222 is gone or empty"), "{}", notice(&engine));
        // The own one too, whatever else is known of it.
        fs::remove_file(store.home().join("written")).unwrap();
        lose(&store.journal());
        assert!(notice(&engine).starts_with("error: the journal of this machine"), "{}", notice(&engine));
        let health = engine.inspect(&InspectRequest::of(View::Health)).unwrap().health.unwrap();
        assert!(!health.ok && health.findings[0].level == Level::Error, "{health:?}");
    }
}

#[test]
fn a_home_in_which_nothing_was_written_has_lost_nothing() {
    let store = Store::on_machine("one");
    fs::create_dir_all(store.home().join("short-term")).unwrap();
    fs::write(store.home().join("replica"), "one 0123abcd\n").unwrap();
    assert_eq!(found(&store, false, false), []);
    // As a crash leaves it between making the journal and its first line.
    let journal = store.home().join("short-term/0123abcd.jsonl");
    fs::write(&journal, "").unwrap();
    assert_eq!(found(&store, true, false), []);
    store.engine().save("Owns a red bicycle");
    assert_eq!(number(lines_of(&fs::read(&journal).unwrap())[0]), 1);
    assert_eq!(found(&store, true, false), []);
}

#[test]
fn a_folder_or_a_pipe_in_place_of_a_journal_is_named_and_left() {
    let store = filled();
    let whole = fs::read(store.journal()).unwrap();
    let others = store.home().join("short-term/elsewhere.jsonl");
    fs::create_dir(&others).unwrap();
    let finding = only(found(&store, false, true));
    assert!(finding.level == Level::Error && finding.what.contains("a folder is named like a journal"), "{finding:?}");
    assert_eq!(finding.file, Some(others.clone()));
    store.engine().save("Said beside a folder");
    fs::remove_dir(&others).unwrap();
    fs::remove_file(store.journal()).unwrap();
    fs::create_dir(store.journal()).unwrap();
    let finding = only(found(&store, false, true));
    assert!(finding.next.contains("nothing can be saved"), "{finding:?}");
    let run = store.run(&["remember", "Said to a folder"]);
    assert!(run.code != 0 && run.stderr.contains("a folder is where a file is needed"), "{run}");
    fs::remove_dir(store.journal()).unwrap();
    store.write_journal(&whole);
    assert_eq!(store.engine().counts().active, 6);
}

#[cfg(unix)]
#[test]
fn a_pipe_keeps_no_command_waiting() {
    let store = filled();
    store.shell("mkfifo home/short-term/pipe.jsonl home/quarantine.jsonl").exits(0);
    let finding = only(found(&store, true, true));
    assert!(finding.what.contains("a pipe, a socket or a device"), "{finding:?}");
    store.engine().save("Said beside a pipe");
    fs::remove_file(store.journal()).unwrap();
    store.shell(&format!("mkfifo '{}'", store.journal().display())).exits(0);
    assert!(found(&store, false, false).len() == 2);
    let run = store.run(&["remember", "Said to a pipe"]);
    assert!(run.code != 0 && run.stderr.contains("a pipe, a socket or a device"), "{run}");
    fs::remove_file(store.journal()).unwrap();
    for name in ["replica", "written", "state.json", "config.toml"] {
        drop(fs::remove_file(store.home().join(name)));
        store.shell(&format!("mkfifo home/{name}")).exits(0);
        drop(store.run(&["doctor", "--fix"]));
        drop(store.run(&["remember", "Said beside a pipe again"]));
        fs::remove_file(store.home().join(name)).unwrap();
    }
}

#[test]
fn a_journal_in_utf_16_is_called_so_and_left_whole() {
    let store = filled();
    let text = fs::read_to_string(store.journal()).unwrap();
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    store.write_journal(&wide);
    for deep in [false, true] {
        let finding = only(found(&store, deep, true));
        assert!(finding.what.contains("UTF-16") && finding.next.contains("iconv -f UTF-16LE"), "{finding:?}");
        assert_eq!((finding.level, finding.fixed), (Level::Error, false));
    }
    assert_eq!(fs::read(store.journal()).unwrap(), wide);
    assert!(!store.home().join("quarantine").exists());
}

#[test]
fn a_reformatted_journal_is_called_so_and_left_whole() {
    let store = filled();
    let text = fs::read_to_string(store.journal()).unwrap();
    let values: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pretty: Vec<String> = values.iter().map(|value| serde_json::to_string_pretty(value).unwrap()).collect();
    for (what, bytes, jq) in [
        ("with blanks", text.replace("\":", "\": ").replace(",\"", ", \""), "jq -c . "),
        ("on many lines", pretty.join("\n") + "\n", "jq -c . "),
        ("as one array", serde_json::to_string_pretty(&values).unwrap() + "\n", "jq -c '.[]' "),
    ] {
        store.write_journal(&bytes);
        let finding = only(found(&store, false, true));
        assert!(finding.what.contains("laid this file out anew") && finding.next.contains(jq), "{what}: {finding:?}");
        assert_eq!(fs::read_to_string(store.journal()).unwrap(), bytes, "{what}");
        assert!(!store.home().join("quarantine").exists(), "{what}");
    }
    // Lines that are as they were, with something between them, are read, and the rest is set aside.
    store.write_journal(serde_json::to_string(&values).unwrap() + "\n");
    assert_eq!(store.engine().counts().active, 6);
    assert!(found(&store, false, true).iter().all(|finding| finding.fixed));
    assert_eq!(lines_of(&fs::read(store.journal()).unwrap()).len(), 7);
    assert_eq!(store.engine().counts().active, 6);
}

#[test]
fn a_file_of_which_nothing_can_be_read_is_not_set_aside() {
    let store = filled();
    store.write_journal("no line\n".repeat(50));
    let findings = found(&store, false, true);
    let refused = |finding: &Finding| !finding.fixed && finding.next.contains("not one of its lines can be read");
    assert!(findings.len() == 21 && findings.iter().all(refused), "{findings:#?}");
    assert_eq!(fs::read_to_string(store.journal()).unwrap(), "no line\n".repeat(50));
    // A compaction that a person asks for keeps every byte of it.
    store.write_journal(b"caf\xe9 \xff\xfe\0x\n");
    store.engine().save("Said behind it");
    assert_eq!(store.engine().compact(false).unwrap().quarantined, 1);
    let aside = files_below(&store.home().join("quarantine"));
    assert!(aside.values().any(|bytes| holds(bytes, b"\ncaf\xe9 \xff\xfe\0x\n")), "{aside:?}");
}

#[test]
fn a_last_line_that_lacks_only_its_newline_is_read_and_ended() {
    let store = filled();
    let whole = fs::read(store.journal()).unwrap();
    let follower = store.engine();
    assert_eq!(follower.counts().active, 6);
    let id = store.engine().save("Said last");
    let longer = fs::read(store.journal()).unwrap();
    store.write_journal(longer.trim_ascii_end());
    for engine in [&follower, &store.engine()] {
        assert_eq!(engine.whole(&id).memory.text, "Said last");
        assert!(engine.health().ok, "{:?}", engine.health());
    }
    let told = only(found(&store, true, false));
    assert!(told.level == Level::Note && told.what.contains("no line end") && told.line == Some(8), "{told:?}");
    let ended = only(found(&store, false, true));
    assert!(ended.fixed, "{ended:?}");
    assert_eq!(fs::read(store.journal()).unwrap(), longer);
    assert_eq!(found(&store, true, false), []);
    // What is read twice would be counted twice.
    store.engine().save("Said after it");
    let stats = follower.counts();
    assert_eq!((stats.active, stats.journal_lines), (8, 9));
    assert_eq!(stats.journal_bytes, fs::metadata(store.journal()).unwrap().len());
    assert_eq!(stats, store.engine().counts());
    assert!(longer.starts_with(&whole));
}

#[test]
fn lines_without_newlines_between_them_are_read() {
    for end in ["\r", ""] {
        let store = filled();
        let text = fs::read_to_string(store.journal()).unwrap();
        let follower = store.engine();
        store.write_journal(text.replace('\n', end));
        for engine in [&follower, &store.engine()] {
            assert_eq!(engine.counts().active, 6, "{end:?}");
            assert!(engine.health().ok, "{:?}", engine.health());
        }
        let id = store.engine().save("Said behind them");
        assert_eq!(follower.counts(), store.engine().counts());
        store.engine().compact(false).unwrap();
        assert_eq!(store.engine().counts().active, 7, "{end:?}");
        assert_eq!(follower.whole(&id).memory.text, "Said behind them");
        assert!(!store.home().join("quarantine").exists());
    }
}

#[test]
fn a_purge_leaves_no_error_about_a_stale_copy() {
    let store = filled();
    let id = store.engine().hits("Shelf 2")[0].id.clone();
    let text = Some("Shelf 4 of oak".to_owned());
    let revised = store.engine().hits("Shelf 4")[0].id.clone();
    store.engine().change(ReviseRequest { id: revised.clone(), text, ..ReviseRequest::default() });
    fs::copy(store.journal(), store.home().join("short-term/aaaa1111 (1).jsonl")).unwrap();
    let text = Some("Shelf 4 of pine".to_owned());
    store.engine().change(ReviseRequest { id: revised, text, ..ReviseRequest::default() });
    let engine = store.engine();
    let mut request = ForgetRequest { ids: vec![id], purge: Some(true), ..ForgetRequest::default() };
    request.preview_token = engine.forget(&request).unwrap().preview_token;
    engine.forget(&request).unwrap();
    let answer = examined(&store.engine(), true, false);
    assert!(answer.ok, "{:#?}", answer.findings);
}

#[test]
fn what_could_not_be_mended_is_told_with_its_reason() {
    let store = filled();
    let text = fs::read_to_string(store.journal()).unwrap();
    store.write_journal(text.replace("Shelf 3", "Shelf 9"));
    fs::write(store.home().join("quarantine"), "in the way").unwrap();
    let finding = only(found(&store, false, true));
    assert!(!finding.fixed && finding.next.contains("could not be mended"), "{finding:?}");
    assert!(finding.next.contains("quarantine") && finding.next.contains("a file is where a folder"), "{finding:?}");
}

#[test]
fn what_was_moved_is_counted_line_by_line() {
    let store = filled();
    let text = fs::read_to_string(store.journal()).unwrap();
    store.write_journal(text + &"no line\n".repeat(5000));
    let run = store.run(&["doctor", "--fix"]);
    assert!(run.code == 0 && run.stdout.contains(" 5000 fixed"), "{run}");
}

#[test]
fn a_torn_line_of_replicas_is_passed_over_and_named() {
    let store = Store::on_machine("one");
    store.engine().save("Owns a red bicycle");
    let list = store.home().join("replica");
    let whole = fs::read_to_string(&list).unwrap();
    fs::write(&list, &whole[..whole.len() - 5]).unwrap();
    let torn = only(found(&store, false, false));
    assert!(torn.level == Level::Warning && torn.area == Area::Replica && torn.line == Some(1), "{torn:?}");
    store.engine().save("Plays the oboe");
    let after = fs::read_to_string(&list).unwrap();
    let lines: Vec<&str> = after.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, &whole[..whole.len() - 5]));
    assert!(lines[1].starts_with("one ") && lines[1].len() == whole.trim().len(), "{after}");
    assert_eq!(files_below(&store.home().join("short-term")).len(), 2);
    // With its last newline only it is whole.
    fs::write(&list, format!("garbage\n{}", lines[1])).unwrap();
    store.engine().save("Drinks tea in the morning");
    assert_eq!(fs::read_to_string(&list).unwrap(), format!("garbage\n{}", lines[1]));
    assert_eq!(store.engine().counts().active, 3);
}

#[test]
fn an_index_that_was_left_behind_is_removed_once_there_is_a_newer_one() {
    let store = filled();
    store.engine().clean();
    let folders = || {
        let entries = fs::read_dir(store.home().join("cache")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("index-"));
        names.sort();
        names
    };
    let mut seen = folders();
    assert_eq!(seen.len(), 1);
    for round in 0..3 {
        for (path, _) in files_below(&store.home().join("cache")) {
            if path.extension().is_some_and(|extension| extension == "idx") {
                fs::write(store.home().join("cache").join(path), "damaged").unwrap();
            }
        }
        store.engine().save(&format!("Said in round {round}"));
        store.engine().clean();
        let now = folders();
        assert!(now.len() == 1 && now != seen, "round {round}: {now:?} after {seen:?}");
        seen = now;
        assert_eq!(store.engine().texts("said").len(), round + 1);
    }
}

#[cfg(unix)]
#[test]
fn compaction_keeps_a_link_to_the_journal() {
    let store = filled();
    let id = store.engine().hits("Shelf 2")[0].id.clone();
    for n in 0..5 {
        let text = Some(format!("Shelf of {n} boards"));
        store.engine().change(ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() });
    }
    let target = store.root().join("elsewhere.jsonl");
    fs::rename(store.journal(), &target).unwrap();
    std::os::unix::fs::symlink(&target, store.journal()).unwrap();
    let before = fs::metadata(&target).unwrap().len();
    let answer = store.engine().compact(false).unwrap();
    assert!(fs::symlink_metadata(store.journal()).unwrap().file_type().is_symlink());
    let after = fs::metadata(&target).unwrap().len();
    assert!(after < before && after == answer.bytes_after as u64, "{before} {after} {answer:?}");
    store.engine().save("Said behind the link");
    assert_eq!(store.engine().counts().active, 7);
}

#[test]
fn compaction_tells_the_sizes_that_the_file_has_and_what_it_would_do() {
    let mut store = filled();
    let ids: Vec<String> = store.engine().hits("Shelf").into_iter().take(2).map(|hit| hit.id).collect();
    store.engine().drop_memory(&ids[0]);
    store.pass_days(60);
    store.engine().save("Said later");
    let bytes = [&fs::read(store.journal()).unwrap()[..], b"no line\n"].concat();
    store.write_journal(&bytes);
    let dry = store.ok(&["compact", "--dry-run"]);
    assert!(dry.contains("1 unreadable line would move to quarantine"), "{dry}");
    assert!(dry.contains("1 forgotten memory would leave the file"), "{dry}");
    let forecast = store.engine().compact(true).unwrap();
    let done = store.engine().compact(false).unwrap();
    assert_eq!((forecast.bytes_before, forecast.bytes_after), (done.bytes_before, done.bytes_after));
    assert_eq!(done.bytes_before, bytes.len());
    assert_eq!(done.bytes_after as u64, fs::metadata(store.journal()).unwrap().len());
    assert_eq!(done.lines_after, lines_of(&fs::read(store.journal()).unwrap()).len());
    assert!(forecast.dry_run && !done.dry_run);
}

#[cfg(unix)]
#[test]
fn a_journal_without_the_right_to_read_it_is_told_with_the_remedy() {
    use std::os::unix::fs::PermissionsExt;
    let store = filled();
    fs::set_permissions(store.journal(), fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(store.journal()).is_ok() {
        return; // Whoever may do everything is refused nothing.
    }
    let findings: Vec<Finding> = found(&store, false, false);
    let finding = only(findings);
    assert!(finding.level == Level::Error && finding.next.contains("chmod u+rw"), "{finding:?}");
    assert!(notice(&store.engine()).contains("aaaa1111.jsonl"));
}

#[test]
fn lines_with_an_operation_that_is_not_known_are_noted() {
    let store = filled();
    let line = sealed(r#"{"v":1,"n":8,"at":"2026-11-29T12:00:00.000Z","op":"juggle","id":"m3m0ryb1h4nd","balls":3"#);
    let bytes = [&fs::read(store.journal()).unwrap()[..], line.as_bytes()].concat();
    store.write_journal(bytes);
    for deep in [false, true] {
        let finding = only(found(&store, deep, false));
        assert!(finding.level == Level::Note && finding.what.contains("a newer Ebbmark?"), "{finding:?}");
    }
    let engine = store.engine();
    engine.save("Said behind it");
    engine.compact(false).unwrap();
    assert!(examined(&engine, false, false).findings.iter().any(|finding| finding.what.contains("1 line says")));
    assert!(holds(&fs::read(store.journal()).unwrap(), line.as_bytes()));
}
