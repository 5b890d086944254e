//! Faults that were found once: each has a test named for what was wrong.

use std::fs;
use std::path::Path;

use ebbmark::clock::{Clock, Timestamp};
use ebbmark::engine::{
    Engine, ForgetRequest, NewMemory, OpenRequest, Options, Outcome, PromoteRequest, RecallRequest, ReinforceRequest,
    RememberRequest, Remembered, RestoreRequest, ReviseRequest, TidyRequest,
};
use ebbmark::id::Randomness;
use jiff::tz::TimeZone;

fn engine_at(root: &Path, now: &str) -> Engine {
    fs::create_dir_all(root.join("home")).unwrap();
    fs::write(root.join("home/config.toml"), "[git]\nmode = \"off\"\n").unwrap();
    Engine::open(options(root, now)).unwrap()
}

fn options(root: &Path, now: &str) -> Options {
    Options {
        home: root.join("home"),
        vault: Some(root.join("vault")),
        default_vault: root.join("vault"),
        user_home: None,
        machine: "test".into(),
        replica: Some("aaaa1111".into()),
        clock: Clock::Fixed(Timestamp::parse_lenient(now).unwrap()),
        randomness: Randomness::Seeded(5),
        time_zone: TimeZone::UTC,
    }
}

fn tell(engine: &Engine, memory: NewMemory) -> Remembered {
    engine.remember(&RememberRequest::of(&[memory])).unwrap().results.remove(0)
}

fn save(engine: &Engine, text: &str) -> String {
    tell(engine, NewMemory { text: text.into(), ..NewMemory::default() }).id.unwrap()
}

fn texts(engine: &Engine, request: &RecallRequest) -> Vec<String> {
    engine.recall(request).unwrap().hits.into_iter().map(|hit| hit.text).collect()
}

fn note_of(root: &Path, stem: &str) -> std::path::PathBuf {
    root.join(format!("vault/Memories/{stem}.md"))
}

#[test]
fn words_that_a_memory_has_given_up_are_free_again() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let first = save(&engine, "Owns a red bicycle");
    let text = Some("Owns a red scooter".to_owned());
    engine.revise(&ReviseRequest { id: first.clone(), text, ..ReviseRequest::default() }).unwrap();
    let second = tell(&engine, NewMemory { text: "Owns a red bicycle".into(), ..NewMemory::default() });
    assert_eq!(second.outcome, Outcome::Saved, "{second:?}");
    let mut found = texts(&engine, &RecallRequest::of("red"));
    found.sort();
    assert_eq!(found, ["Owns a red bicycle", "Owns a red scooter"]);
}

#[test]
fn naming_a_memory_twice_promotes_it_once() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let (a, b) = (save(&engine, "Allergic to peanuts"), save(&engine, "Lives in Porto"));
    let request = PromoteRequest { ids: vec![a.clone(), b, a], ..PromoteRequest::default() };
    assert_eq!(engine.promote(&request).unwrap().promoted.len(), 2);
    assert_eq!(fs::read_dir(root.path().join("vault/Memories")).unwrap().count(), 2);
}

#[test]
fn what_does_not_exist_yet_is_refused_and_not_taken_for_a_forget() {
    let refused = serde_json::from_str::<ForgetRequest>(r#"{"ids":["7k2m9x4qwc3r"],"history":true}"#);
    assert!(refused.unwrap_err().to_string().contains("history"));
}

#[test]
fn plain_dates_mean_the_whole_day() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-30T09:00:00Z");
    let until = Some("2026-11-30".to_owned());
    tell(&engine, NewMemory { text: "The offer holds".into(), valid_until: until, ..NewMemory::default() });
    let evening = Engine::open(options(root.path(), "2026-11-30T15:00:00Z")).unwrap();
    let day = Some("2026-11-30".to_owned());
    let request = RecallRequest { since: day.clone(), until: day, ..RecallRequest::of("offer") };
    assert_eq!(texts(&evening, &request), ["The offer holds"]);
    let next_day = Engine::open(options(root.path(), "2026-12-01T00:00:01Z")).unwrap();
    assert!(texts(&next_day, &RecallRequest::of("offer")).is_empty());
}

#[test]
fn telling_again_keeps_what_the_caller_sets() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let older = save(&engine, "Lives in Berlin");
    let known = save(&engine, "Lives in Munich");
    let again = tell(
        &engine,
        NewMemory {
            text: "Lives in Munich".into(),
            title: Some("Home".into()),
            pinned: Some(true),
            supersedes: vec![older.clone()],
            ..NewMemory::default()
        },
    );
    assert_eq!((again.outcome, again.id), (Outcome::Superseded, Some(known.clone())));
    let opened = engine.open_memories(&OpenRequest { ids: vec![known], ..OpenRequest::default() }).unwrap();
    assert!(opened.memories[0].pinned);
    assert_eq!(opened.memories[0].memory.title.as_deref(), Some("Home"));
    assert_eq!(opened.memories[0].memory.previously[0].id, older);
}

#[test]
fn a_repeated_call_may_be_written_differently_and_answers_the_same() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let old = save(&engine, "Drives a Fiat");
    let call = |text: &str| engine.remember(&serde_json::from_str(text).unwrap()).unwrap().results.remove(0);
    let first = call(&format!(r#"{{"op_key":"k","memories":[{{"text":"Drives a Golf","supersedes":["{old}"]}}]}}"#));
    let again = call(&format!(r#"{{"memories":{{"supersedes":"{old}","text":"Drives a Golf"}},"op_key":"k"}}"#));
    assert_eq!((first.outcome, again.outcome), (Outcome::Superseded, Outcome::Superseded));
    assert_eq!((first.id, first.superseded), (again.id, again.superseded));
    let long = RememberRequest { op_key: Some("k".repeat(300)), ..RememberRequest::of(&[NewMemory::default()]) };
    let long = RememberRequest { memories: vec!["t".into()], ..long };
    assert!(engine.remember(&long).unwrap_err().to_string().contains("op_key"));
}

#[test]
fn the_oldest_of_a_chain_does_not_come_true_when_the_middle_is_forgotten() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let newer = |text: &str, older: &str| {
        let memory = NewMemory { text: text.into(), supersedes: vec![older.into()], ..NewMemory::default() };
        tell(&engine, memory).id.unwrap()
    };
    let fiat = save(&engine, "The car is a Fiat");
    let golf = newer("The car is a Golf", &fiat);
    newer("The car is a Tesla", &golf);
    engine.forget(&ForgetRequest { ids: vec![golf], ..ForgetRequest::default() }).unwrap();
    assert_eq!(texts(&engine, &RecallRequest::of("which car")), ["The car is a Tesla"]);
}

#[test]
fn a_text_edited_by_hand_does_not_take_a_raised_strength_back() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let id = save(&engine, "Owns a red bicycle");
    engine.promote(&PromoteRequest { ids: vec![id.clone()], ..PromoteRequest::default() }).unwrap();
    engine
        .reinforce(&ReinforceRequest { ids: vec![id.clone()], boost: Some(true), ..ReinforceRequest::default() })
        .unwrap();
    let tags = Some(vec!["things".to_owned()]);
    engine.revise(&ReviseRequest { id: id.clone(), tags, ..ReviseRequest::default() }).unwrap();
    let strength = |engine: &Engine| {
        engine.open_memories(&OpenRequest { ids: vec![id.clone()], ..OpenRequest::default() }).unwrap().memories[0]
            .strength
    };
    let raised = strength(&engine);
    let note = note_of(root.path(), "Owns a red bicycle");
    fs::write(&note, fs::read_to_string(&note).unwrap().replace("red bicycle", "blue bicycle")).unwrap();
    engine.tidy(&TidyRequest::default()).unwrap();
    assert_eq!(texts(&engine, &RecallRequest::of("bicycle")), ["Owns a blue bicycle"]);
    assert!((strength(&engine) - raised).abs() < 1e-9, "{} instead of {raised}", strength(&engine));
}

#[test]
fn what_a_person_wrote_over_a_note_is_never_revised_away() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let id = save(&engine, "Owns a red bicycle");
    engine.promote(&PromoteRequest { ids: vec![id.clone()], ..PromoteRequest::default() }).unwrap();
    let note = note_of(root.path(), "Owns a red bicycle");
    fs::write(&note, "My own words\n").unwrap();
    let text = Some("Agent text".to_owned());
    assert!(engine.revise(&ReviseRequest { id: id.clone(), text, ..ReviseRequest::default() }).is_err());
    let forgotten = engine.forget(&ForgetRequest { ids: vec![id], ..ForgetRequest::default() }).unwrap();
    assert!(forgotten.notice.is_some(), "{forgotten:?}");
    assert_eq!(fs::read_to_string(&note).unwrap(), "My own words\n");
}

#[test]
fn a_journal_that_cannot_be_read_costs_only_itself() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    save(&engine, "Owns a red bicycle");
    fs::create_dir(root.path().join("home/short-term/zz.jsonl")).unwrap();
    fs::write(root.path().join("home/short-term/other.jsonl"), "").unwrap();
    save(&engine, "Owns a blue kettle");
    assert_eq!(texts(&engine, &RecallRequest::of("kettle")), ["Owns a blue kettle"]);
}

#[test]
fn a_vault_inside_the_home_is_seen_through_dots() {
    let root = tempfile::tempdir().unwrap();
    let vault = root.path().join("home/../other/../home/vault");
    let refused = Engine::open(Options { vault: Some(vault), ..options(root.path(), "2026-11-29") });
    assert!(refused.err().unwrap().to_string().contains("inside the home"));
}

#[test]
fn compaction_keeps_a_restore_that_came_after_the_last_look() {
    let root = tempfile::tempdir().unwrap();
    let id = save(&engine_at(root.path(), "2026-01-01"), "The spare key is under the blue pot");
    let request = ForgetRequest { ids: vec![id.clone()], ..ForgetRequest::default() };
    engine_at(root.path(), "2026-01-01").forget(&request).unwrap();
    let late = engine_at(root.path(), "2026-03-01");
    late.refresh().unwrap();
    engine_at(root.path(), "2026-03-01").restore(&RestoreRequest { ids: vec![id] }).unwrap();
    late.compact(false).unwrap();
    let fresh = engine_at(root.path(), "2026-03-01");
    assert_eq!(texts(&fresh, &RecallRequest::of("spare key")), ["The spare key is under the blue pot"]);
}

#[test]
fn what_only_another_project_knows_is_said_to_be_there() {
    let root = tempfile::tempdir().unwrap();
    let engine = engine_at(root.path(), "2026-11-29");
    let scope = Some("falcon".to_owned());
    tell(&engine, NewMemory { text: "The API listens on port 8080".into(), scope, ..NewMemory::default() });
    let answer = engine.recall(&RecallRequest::of("API port")).unwrap();
    assert!(!answer.found && answer.hits.is_empty());
    assert!(answer.notice.unwrap().contains("all_scopes"));
    let request = RecallRequest { scope: vec!["Falcon".into()], ..RecallRequest::of("API port") };
    assert_eq!(texts(&engine, &request), ["The API listens on port 8080"]);
}
