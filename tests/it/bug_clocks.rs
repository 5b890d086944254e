//! Bug cases of clocks.

use std::fs;

use ebbmark::engine::{Engine, NewMemory, ReinforceRequest, RestoreRequest, ReviseRequest};

use crate::support::{Calls, Run, Store, sealed};

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
