//! Memories that say much the same: found, shown by an id that the next call names, made one, linked, kept apart.

use ebbmark::engine::{
    ClusterAction, ConsolidateAnswer, ConsolidateRequest, Consolidated, Engine, ForgetRequest, FoundCluster, NewMemory,
    ReinforceRequest, ReviewRequest, SourceInput,
};

use crate::support::{Calls, Store};

const SHORT: &str = "The nightly backup of the Falcon server runs at two in the morning";
const LONG: &str = "The nightly backup of the Falcon server runs at two in the morning and takes an hour";
const OTHER: &str = "The nightly backup of the Falcon server goes to the cellar in Porto";
const BOTH: &str = "The nightly backup of the Falcon server runs at two, takes an hour and goes to Porto";

fn look(engine: &Engine) -> Vec<FoundCluster> {
    let answer = engine.consolidate(&ConsolidateRequest::default()).unwrap();
    assert_eq!(answer.total, answer.clusters.len() as u64);
    answer.clusters
}

fn try_acting(
    engine: &Engine,
    cluster: &[&str],
    action: ClusterAction,
    text: Option<&str>,
) -> Result<ConsolidateAnswer, String> {
    let cluster = cluster.iter().map(|id| (*id).to_owned()).collect();
    let request =
        ConsolidateRequest { cluster, action, text: text.map(str::to_owned), ..ConsolidateRequest::default() };
    engine.consolidate(&request).map_err(|error| format!("{error} / {}", error.hint()))
}

#[track_caller]
fn act(engine: &Engine, cluster: &[&str], action: ClusterAction, text: Option<&str>) -> Consolidated {
    try_acting(engine, cluster, action, text).unwrap().done.unwrap()
}

/// Three that are alike, and two that are like nothing.
fn alike(engine: &Engine) -> Vec<String> {
    let ids = [SHORT, LONG, OTHER].map(|text| engine.save(text));
    engine.save("Prefers tea over coffee");
    engine.save("Owns a red bicycle");
    ids.to_vec()
}

#[test]
fn what_is_alike_is_shown_with_an_id_that_another_process_knows() {
    let store = Store::new();
    let engine = store.engine();
    let ids = alike(&engine);
    let found = look(&engine);
    let [cluster] = found.as_slice() else { panic!("{found:?}") };
    let mut members: Vec<&String> = cluster.members.iter().map(|member| &member.id).collect();
    members.sort();
    let mut expected: Vec<&String> = ids.iter().collect();
    expected.sort();
    assert_eq!(members, expected);
    assert_eq!(cluster.action, ClusterAction::Link, "they say different things: {}", cluster.why);
    assert!(cluster.cohesion >= 0.7 && cluster.cohesion < 1.0);
    let shown = store.ok(&["consolidate"]);
    assert!(shown.starts_with(&format!("cluster {} (", cluster.id)), "{shown}");
    assert!(store.ok(&["consolidate", &cluster.id]).contains(LONG));
    // A text that changed makes it another cluster.
    engine.change(ebbmark::engine::ReviseRequest {
        id: ids[2].clone(),
        text: Some(format!("{OTHER} now")),
        ..Default::default()
    });
    assert_ne!(look(&engine)[0].id, cluster.id);
    let refused = try_acting(&engine, &[&cluster.id], ClusterAction::Link, None).unwrap_err();
    assert!(refused.contains("changed since it was shown"), "{refused}");
}

#[test]
fn different_facts_become_one_only_by_a_text_that_the_caller_gives() {
    let store = Store::new();
    let engine = store.engine();
    let ids = alike(&engine);
    let id = look(&engine)[0].id.clone();
    let refused = try_acting(&engine, &[&id], ClusterAction::Merge, None).unwrap_err();
    assert!(refused.contains("say different things / give the text"), "{refused}");
    assert!(try_acting(&engine, &[&id], ClusterAction::Merge, Some(" ")).unwrap_err().contains("text: is empty"));
    let done = act(&engine, &[&id], ClusterAction::Merge, Some(BOTH));
    let new = done.id.unwrap();
    assert_eq!((done.text.as_deref(), done.members.len()), (Some(BOTH), 3));
    let hits = engine.hits("nightly backup of the Falcon server");
    assert_eq!(hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), [new.as_str()], "the originals are hidden");
    assert_eq!(hits[0].previously, [], "and are no less true than what they became");
    let opened = engine.whole(&new);
    let made_of: Vec<&str> = opened
        .relations
        .iter()
        .filter(|relation| relation.relation == "consolidated_from")
        .map(|relation| relation.id.as_str())
        .collect();
    assert_eq!(made_of.len(), 3, "{opened:?}");
    assert!(ids.iter().all(|id| made_of.contains(&id.as_str())));
    assert_eq!(look(&engine), []);
    // One of them comes back, and is not proposed again with what was made of it.
    engine.bring_back(&ids[0]);
    assert!(engine.texts("nightly backup").contains(&SHORT.to_owned()));
    assert_eq!(look(&engine), []);
}

#[test]
fn a_merge_is_taken_back() {
    let store = Store::new();
    let engine = store.engine();
    let ids = alike(&engine);
    let done = act(&engine, &[&look(&engine)[0].id], ClusterAction::Merge, Some(BOTH));
    engine.undo().unwrap();
    assert!(engine.find(&done.id.unwrap()).is_none());
    for id in &ids {
        assert_eq!(engine.whole(id).memory.status, "active");
    }
    assert_eq!(look(&engine).len(), 1, "as if nothing had been done");
}

#[test]
fn linked_or_kept_apart_they_are_shown_no_more_until_another_joins() {
    for (action, relation, count) in [(ClusterAction::Link, "related", 3), (ClusterAction::Keep, "distinct", 3)] {
        let store = Store::new();
        let engine = store.engine();
        let ids = alike(&engine);
        let id = look(&engine)[0].id.clone();
        act(&engine, &[&id], action, None);
        let related = ids.iter().map(|id| engine.whole(id).relations.len()).sum::<usize>();
        assert_eq!(related, 2 * count, "each pair once, seen from both ends");
        assert!(engine.whole(&ids[0]).relations.iter().all(|known| known.relation == relation));
        assert_eq!(look(&engine), []);
        engine.save("The nightly backup of the Falcon server runs at two in the morning and is checked by Ana");
        let again = look(&engine);
        assert_eq!(again.len(), 1, "{again:?}");
        store.engine().undo().unwrap();
        assert_eq!(look(&engine), [], "{action:?}");
    }
}

#[test]
fn what_states_the_same_fact_becomes_one_by_itself_and_what_was_used_counts_a_little() {
    let mut store = Store::new();
    let told = |day: &str, tag: &str| NewMemory {
        text: "The review of the Falcon project went well".into(),
        happened: Some(day.into()),
        tags: vec![tag.into()],
        ..NewMemory::default()
    };
    let first = store.engine().tell(told("2026-10-01", "work")).id.unwrap();
    let second = store.engine().tell(told("2026-11-01", "falcon")).id.unwrap();
    assert_ne!(first, second, "two events");
    for _ in 0..4 {
        store.pass_days(1);
        let request = ReinforceRequest { ids: vec![first.clone(), second.clone()], ..ReinforceRequest::default() };
        store.engine().reinforce(&request).unwrap();
    }
    let engine = store.engine();
    let created = engine.whole(&first).memory.created;
    let found = look(&engine);
    assert_eq!((found.len(), found[0].action), (1, ClusterAction::Merge), "{found:?}");
    let done = act(&engine, &[&found[0].id], ClusterAction::Merge, None);
    let opened = engine.whole(&done.id.unwrap());
    assert_eq!(opened.memory.text, "The review of the Falcon project went well");
    assert_eq!(opened.memory.tags, ["work", "falcon"]);
    assert_eq!((opened.memory.created, opened.memory.happened), (created, None), "they differ in when");
    // Both were used in the same four hours.
    assert_eq!(opened.uses, 4);
}

/// Ten used often must not make one that never fades.
#[test]
fn uses_are_not_added_up() {
    let mut store = Store::new();
    let ids: Vec<String> = (0..3)
        .map(|number| store.engine().save(&format!("The red bicycle number {number} is in the cellar")))
        .collect();
    for id in &ids {
        for _ in 0..7 {
            store.pass_days(1);
            let request = ReinforceRequest { ids: vec![id.clone()], ..ReinforceRequest::default() };
            store.engine().reinforce(&request).unwrap();
        }
    }
    let engine = store.engine();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let done = act(&engine, &ids, ClusterAction::Merge, Some("Three red bicycles are in the cellar"));
    assert_eq!(engine.whole(&done.id.unwrap()).uses, 7 + 3, "seven, and the logarithm of fifteen");
}

#[test]
fn only_what_one_person_said_of_one_world_becomes_one() {
    let store = Store::new();
    let engine = store.engine();
    let told = |scope: Option<&str>, speaker: Option<&str>| {
        let source = speaker.map(|speaker| SourceInput { speaker: Some(speaker.into()), ..SourceInput::default() });
        let memory = NewMemory { text: SHORT.into(), scope: scope.map(str::to_owned), source, ..NewMemory::default() };
        engine.tell(memory).id.unwrap()
    };
    let (ours, theirs, said) = (told(None, None), told(Some("falcon"), None), told(None, Some("Ana")));
    assert_eq!(look(&engine), []);
    for other in [&theirs, &said] {
        let refused = try_acting(&engine, &[&ours, other], ClusterAction::Link, None).unwrap_err();
        assert!(refused.contains("differ in scope or speaker"), "{refused}");
    }
    for (ids, why) in [
        (vec![ours.as_str(), ours.as_str()], "names no two memories"),
        (vec!["c0000000000"], "there is no cluster"),
        (vec![], "is missing"),
        (vec![ours.as_str(), "zzzzzzzzzzzz"], "zzzzzzzzzzzz"),
    ] {
        let refused = try_acting(&engine, &ids, ClusterAction::Link, None).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    engine.drop_memory(&ours);
    assert!(try_acting(&engine, &[&ours, &theirs], ClusterAction::Link, None).is_err());
    for request in [
        ConsolidateRequest { at_least: Some(0.2), ..ConsolidateRequest::default() },
        ConsolidateRequest { at_least: Some(f64::NAN), ..ConsolidateRequest::default() },
        ConsolidateRequest { most_members: Some(1), ..ConsolidateRequest::default() },
        ConsolidateRequest { most_members: Some(101), ..ConsolidateRequest::default() },
    ] {
        assert!(engine.consolidate(&request).is_err(), "{request:?}");
    }
}

#[test]
fn what_had_a_note_keeps_one() {
    let store = Store::new();
    let engine = store.engine();
    let ids = alike(&engine);
    engine.keep(&ids[0]);
    let done = act(&engine, &[&ids[0], &ids[1]], ClusterAction::Merge, Some(BOTH));
    assert_eq!(done.notice, None);
    let opened = engine.whole(&done.id.unwrap());
    assert!(opened.memory.note.is_some(), "{opened:?}");
}

#[test]
fn a_purge_names_what_was_made_of_it() {
    let store = Store::new();
    let engine = store.engine();
    let ids = alike(&engine);
    let done = act(&engine, &[&ids[0], &ids[2]], ClusterAction::Merge, Some("Backups go to Porto at night"));
    let purge = |token: Option<String>| {
        let request = ForgetRequest {
            ids: vec![ids[2].clone()],
            purge: Some(true),
            preview_token: token,
            ..ForgetRequest::default()
        };
        engine.forget(&request).unwrap()
    };
    let answer = purge(purge(None).preview_token);
    let named = format!("memory {} was made of it", done.id.unwrap());
    assert!(answer.remains.iter().any(|left| left.starts_with(&named)), "{answer:?}");
}

#[test]
fn what_shares_a_rare_name_is_proposed_and_never_related_by_itself() {
    let store = Store::new();
    let engine = store.engine();
    let about = |text: &str, entities: &[&str], tags: &[&str]| {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let memory = NewMemory { text: text.into(), entities: own(entities), tags: own(tags), ..NewMemory::default() };
        engine.tell(memory).id.unwrap()
    };
    let diego = about("Diego started as a vet in Porto", &["Diego", "Porto"], &[]);
    let oscar = about("Took Oscar to the practice of diego", &["Oscar", "diego"], &["pets"]);
    // Everybody is in Porto: that says nothing.
    for number in 0..50 {
        about(&format!("Letter number {number} went off"), &["Porto"], &["post"]);
    }
    let proposed = |engine: &Engine| {
        let request = ReviewRequest { about: vec!["relations".into()], ..ReviewRequest::default() };
        engine.review(&request).unwrap().relations
    };
    let found = proposed(&engine);
    assert_eq!(found.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), [format!("{diego} {oscar}")]);
    assert!(found[0].why.starts_with("both are about Diego: `relate`"), "{found:?}");
    assert!(engine.whole(&diego).relations.is_empty(), "only proposed");
    assert_eq!(engine.review(&ReviewRequest::default()).unwrap().relations, [], "not unless asked");
    assert!(store.ok(&["review", "relations"]).starts_with(&format!("may hang together: {diego} {oscar} Diego")));
    store.ok(&["relate", &diego, "distinct", &oscar]);
    assert_eq!(proposed(&store.engine()), []);
}

#[test]
fn the_command_line_shows_merges_links_and_keeps() {
    let store = Store::new();
    let ids = alike(&store.engine());
    let cluster = store.json(&["consolidate"])["clusters"][0]["id"].as_str().unwrap().to_owned();
    store.run(&["consolidate", "--merge"]).exits(2);
    store.run(&["consolidate", &cluster, "--merge"]).exits(2);
    store.run(&["consolidate", &cluster, "--merge", "--link"]).exits(2);
    let kept = store.ok(&["consolidate", &ids[0], &ids[1], "--keep"]);
    assert!(kept.starts_with("2 memories stay apart"), "{kept}");
    let linked = store.ok(&["consolidate", &ids[0], &ids[2], "--link"]);
    assert!(linked.starts_with("2 memories are related"), "{linked}");
    let merged = store.ok(&["consolidate", &ids[0], &ids[1], &ids[2], "--merge", "--text", BOTH]);
    assert!(
        merged.starts_with("3 memories are one now: ") && merged.contains("taken back by `ebbmark undo`"),
        "{merged}"
    );
    assert_eq!(store.ok(&["consolidate"]), "Nothing to consolidate.\n");
}
