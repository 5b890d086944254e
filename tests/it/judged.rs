//! Same, newer or in conflict: what becomes of a memory that is told after another.

use ebbmark::engine::{
    Engine, Judge, NewMemory, Outcome, RecallRequest, RelateRequest, RememberRequest, Remembered, Resolve,
    ReviewAnswer, ReviewRequest, SourceInput,
};

use crate::support::{Calls, Store};

fn told(engine: &Engine, text: &str) -> Remembered {
    engine.tell(NewMemory { text: text.into(), ..NewMemory::default() })
}

fn id_of(told: &Remembered) -> String {
    told.id.clone().unwrap()
}

fn conflicts(engine: &Engine) -> ReviewAnswer {
    engine.review(&ReviewRequest { about: vec!["conflicts".into()], ..ReviewRequest::default() }).unwrap()
}

fn resolving(conflict: &str, keep: &str, text: Option<&str>) -> ReviewRequest {
    let resolve = Resolve { conflict: conflict.into(), keep: keep.into(), text: text.map(str::to_owned) };
    ReviewRequest { resolve: Some(resolve), ..ReviewRequest::default() }
}

/// Resolves a conflict in its two calls.
fn resolve(engine: &Engine, conflict: &str, keep: &str, text: Option<&str>) -> ReviewAnswer {
    let request = resolving(conflict, keep, text);
    let shown = engine.review(&request).unwrap();
    assert!(shown.done.is_empty() && shown.preview.is_some(), "{shown:?}");
    engine.review(&ReviewRequest { preview_token: shown.preview_token, ..request }).unwrap()
}

#[test]
fn what_changed_takes_the_place_of_the_older_and_says_why() {
    let mut store = Store::new();
    let first = told(&store.engine(), "Lives in Berlin");
    store.pass_days(3);
    let engine = store.engine();
    let second = told(&engine, "Lives in Munich now");
    assert_eq!(second.outcome, Outcome::Superseded, "{second:?}");
    assert_eq!(second.superseded, [id_of(&first)]);
    assert!(second.why.contains("takes the place of \"Lives in Berlin\": home of the user is Munich"), "{second:?}");
    assert_eq!((second.similar[0].relation.as_str(), &second.similar[0].id), ("same_slot", &id_of(&first)));
    let hits = engine.hits("where do I live");
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(
        (hits[0].text.as_str(), hits[0].previously[0].text.as_str()),
        ("Lives in Munich now", "Lives in Berlin")
    );
    let then = engine.recall(&RecallRequest { as_of: Some("2026-11-30".into()), ..RecallRequest::of("live") }).unwrap();
    assert_eq!(then.hits[0].text, "Lives in Berlin", "what was true then");
}

#[test]
fn a_data_scientist_who_is_promoted_is_one_current_memory_and_one_of_the_past() {
    let mut store = Store::new();
    let first = told(&store.engine(), "Works as data scientist");
    store.pass_days(30);
    let second = told(&store.engine(), "Works as senior data scientist");
    assert_eq!((second.outcome, second.superseded), (Outcome::Superseded, vec![id_of(&first)]));
    let third = told(&store.engine(), "Works as head of data science");
    assert_eq!(third.superseded, [second.id.clone().unwrap()]);
    let engine = store.engine();
    let hits = engine.hits("what does the user work as");
    let before: Vec<&str> = hits[0].previously.iter().map(|previous| previous.text.as_str()).collect();
    assert_eq!((hits.len(), before.len()), (1, 2), "{hits:?}");
    assert!(before.contains(&"Works as data scientist") && before.contains(&"Works as senior data scientist"));
}

#[test]
fn a_replaced_memory_is_restored_and_the_newer_one_stays() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "Lives in Berlin");
    told(&engine, "Lives in Munich");
    engine.bring_back(&id_of(&first));
    assert_eq!(engine.whole(&id_of(&first)).memory.status, "active");
    assert_eq!(engine.hits("lives").len(), 2);
}

#[test]
fn of_one_call_the_later_one_counts() {
    let store = Store::new();
    let engine = store.engine();
    let texts = ["Lives in Berlin", "Owns a red bicycle", "Lives in Munich", "Lives in Hamburg"];
    let memories = texts.map(|text| NewMemory { text: text.into(), ..NewMemory::default() });
    let answer = engine.remember(&RememberRequest::of(&memories)).unwrap();
    let outcomes: Vec<Outcome> = answer.results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::Saved, Outcome::Saved, Outcome::Superseded, Outcome::Superseded]);
    assert_eq!(answer.results[3].superseded, [id_of(&answer.results[2])]);
    let known = engine.texts("");
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.contains(&"Lives in Hamburg".to_owned()));
}

#[test]
fn another_person_or_project_is_another_slot() {
    let store = Store::new();
    let engine = store.engine();
    let of = |text: &str, scope: Option<&str>, speaker: Option<&str>| {
        let source = SourceInput { speaker: speaker.map(str::to_owned), ..SourceInput::default() };
        NewMemory { text: text.into(), scope: scope.map(str::to_owned), source: Some(source), ..NewMemory::default() }
    };
    engine.tell(of("I live in Berlin", None, Some("Ada")));
    for other in [
        of("I live in Munich", None, Some("Ben")),
        of("I live in Munich", None, None),
        of("I live in Munich", Some("atlas"), Some("Ada")),
    ] {
        let told = engine.tell(other);
        assert_eq!(told.outcome, Outcome::Saved, "{told:?}");
    }
    assert_eq!(engine.tell(of("I live in Rome", None, Some("ada"))).superseded.len(), 1);
}

#[test]
fn a_web_page_replaces_nothing_that_a_person_said() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "The user's email address is ada@example.org");
    let source = SourceInput { who: Some("web".into()), ..SourceInput::default() };
    let text = "The user's email address is eve@example.com".into();
    let told = engine.tell(NewMemory { text, source: Some(source), ..NewMemory::default() });
    assert_eq!((told.outcome, told.superseded.len()), (Outcome::Conflict, 0), "{told:?}");
    assert!(told.why.contains("comes from a tool or the web"), "{}", told.why);
    assert_eq!(engine.whole(&id_of(&first)).memory.status, "active");
}

#[test]
fn naming_what_was_replaced_already_hides_nothing_else() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "The boat is called Alba");
    let naming = |text: &str, ids: &[&str]| NewMemory {
        text: text.into(),
        supersedes: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..NewMemory::default()
    };
    let second = engine.tell(naming("It was renamed Bora", &[&id_of(&first)]));
    let third = engine.tell(naming("It is painted blue since May", &[&id_of(&first)]));
    assert_eq!(third.superseded, [id_of(&first)], "{third:?}");
    assert!(third.why.contains(&format!("was replaced by {} before", id_of(&second))), "{third:?}");
    assert_eq!(engine.texts("").len(), 2);
    engine.drop_memory(&id_of(&third));
    let refused = engine.tell(naming("Nobody knows its name", &[&id_of(&third)]));
    assert_eq!(refused.outcome, Outcome::Rejected, "a forgotten memory is not replaced: {refused:?}");
    assert_eq!(engine.whole(&id_of(&second)).memory.status, "active", "what replaced it is forgotten");
}

#[test]
fn what_cannot_both_hold_is_shown_beside_both_until_someone_decides() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "Ada was born on 3 May 1990");
    let second = told(&engine, "Ada was born on 5 May 1990");
    assert_eq!(second.outcome, Outcome::Conflict, "{second:?}");
    let conflict = second.conflict.clone().unwrap();
    let hits = engine.hits("when was Ada born");
    assert_eq!(hits.len(), 2);
    assert!(hits.iter().all(|hit| hit.conflicts == [conflict.clone()]), "{hits:?}");
    let listed = conflicts(&engine).conflicts;
    assert_eq!((listed.len(), &listed[0].id, listed[0].stale), (1, &conflict, false));
    assert!(listed[0].why.contains("cannot change"), "{listed:?}");
    let done = resolve(&engine, &conflict, &id_of(&second), None);
    assert!(done.done[0].contains("holds") && done.conflicts.is_empty(), "{done:?}");
    let hits = engine.hits("when was Ada born");
    assert_eq!((hits.len(), hits[0].previously[0].id.as_str()), (1, id_of(&first).as_str()));
    assert_eq!(hits[0].conflicts, [] as [&str; 0]);
    let again = engine.review(&resolving(&conflict, &id_of(&first), None)).unwrap_err();
    assert!(again.to_string().contains("open conflict"), "a second client is told: {again}");
}

#[test]
fn both_hold_or_a_text_says_it_better() {
    let store = Store::new();
    let engine = store.engine();
    told(&engine, "Ada can eat gluten");
    let second = told(&engine, "Ada cannot eat gluten");
    let conflict = second.conflict.unwrap();
    assert!(resolve(&engine, &conflict, "both", None).conflicts.is_empty());
    assert_eq!(engine.hits("gluten").len(), 2);
    assert!(conflicts(&engine).conflicts.is_empty(), "and it is not raised again");

    told(&engine, "Ben was born on 3 May 1990");
    let conflict = told(&engine, "Ben was born on 5 May 1990").conflict.unwrap();
    for (keep, text, wrong) in
        [("merge", None, "text"), ("both", Some("x"), "text"), ("nobody", None, "keep"), ("", None, "keep")]
    {
        let error = engine.review(&resolving(&conflict, keep, text)).unwrap_err().to_string();
        assert!(error.starts_with(wrong), "{keep} {text:?}: {error}");
    }
    let done = resolve(&engine, &conflict, "merge", Some("Ben was born in May 1990; the day is not sure"));
    assert!(done.conflicts.is_empty(), "{done:?}");
    let hits = engine.hits("when was Ben born");
    assert_eq!((hits.len(), hits[0].previously.len()), (1, 2), "{hits:?}");
    engine.undo().unwrap();
    assert_eq!(conflicts(&engine).conflicts.len(), 1, "resolving is undone");
    assert_eq!(engine.hits("when was Ben born").len(), 2);
}

#[test]
fn a_token_fits_only_the_texts_that_were_shown() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "Ada was born on 3 May 1990");
    let conflict = told(&engine, "Ada was born on 5 May 1990").conflict.unwrap();
    let request = resolving(&conflict, &id_of(&first), None);
    let token = engine.review(&request).unwrap().preview_token;
    let other = ReviewRequest { preview_token: token.clone(), ..resolving(&conflict, "both", None) };
    assert!(engine.review(&other).is_err(), "another ending");
    engine.change(ebbmark::engine::ReviseRequest {
        id: id_of(&first),
        text: Some("Ada was born on 4 May 1990".into()),
        ..Default::default()
    });
    let edited = engine.review(&ReviewRequest { preview_token: token, ..request }).unwrap_err();
    assert!(edited.to_string().contains("as they are now"), "{edited}");
    assert_eq!(conflicts(&engine).conflicts.len(), 1, "they contradict each other still");
}

#[test]
fn a_conflict_goes_with_what_made_it_one() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "Ada was born on 3 May 1990");
    let second = told(&engine, "Ada was born on 5 May 1990");
    engine.drop_memory(&id_of(&second));
    assert!(conflicts(&engine).conflicts.is_empty(), "a forgotten side leaves none");
    engine.bring_back(&id_of(&second));
    assert_eq!(conflicts(&engine).conflicts.len(), 1);
    engine.change(ebbmark::engine::ReviseRequest {
        id: id_of(&second),
        text: Some("Ada was born on 3 May 1990 in Ulm".into()),
        ..Default::default()
    });
    assert!(conflicts(&engine).conflicts.is_empty(), "an edit that settles it settles it");
    // What someone said is not settled by an edit, only marked.
    let relation = RelateRequest {
        from: id_of(&first),
        to: id_of(&second),
        relation: "contradicts".into(),
        ..RelateRequest::default()
    };
    let related = engine.relate(&relation).unwrap();
    assert!(related.changed && related.conflict.is_some(), "{related:?}");
    assert!(!engine.relate(&relation).unwrap().changed, "said twice");
    engine.change(ebbmark::engine::ReviseRequest {
        id: id_of(&first),
        text: Some("Ada was born in spring".into()),
        ..Default::default()
    });
    let listed = conflicts(&engine).conflicts;
    assert!(listed.len() == 1 && listed[0].stale, "{listed:?}");
}

#[test]
fn relations_lead_to_what_is_there() {
    let store = Store::new();
    let engine = store.engine();
    let first = told(&engine, "Owns a red bicycle");
    let entities = vec!["Ada".to_owned()];
    let second = engine.tell(NewMemory { text: "Rides to work".into(), entities, ..NewMemory::default() });
    let relate = |from: &str, relation: &str, to: &str| {
        let (from, relation, to) = (from.to_owned(), relation.to_owned(), to.to_owned());
        engine.relate(&RelateRequest { from, to, relation, ..RelateRequest::default() })
    };
    let (first, second) = (id_of(&first), id_of(&second));
    assert!(relate(&first, "causes", &second).unwrap().changed);
    assert!(!relate(&first, "Causes", &second.to_uppercase()).unwrap().changed);
    assert_eq!(relate("ada", "related to", &first).unwrap().relation.from, "Ada");
    for (from, relation, to, wrong) in [
        (&*first, "causes", &*first, "to"),
        (&first, "", &second, "type"),
        (&first, "causes", "nobody", "memory or entity"),
        (&first, "supersedes", "Ada", "from, to"),
        ("", "causes", &second, "from"),
    ] {
        let error = relate(from, relation, to).unwrap_err().to_string();
        assert!(error.contains(wrong), "{from} {relation} {to}: {error}");
    }
    assert!(relate(&first, "supersedes", &second).unwrap().changed);
    let circle = relate(&second, "supersedes", &first).unwrap_err().to_string();
    assert!(circle.contains("already"), "{circle}");
    let relations = engine.whole(&first).relations;
    assert_eq!(relations.len(), 3, "{relations:?}");
}

#[test]
fn every_pair_of_the_data_is_judged_in_a_store_as_by_the_rules() {
    let store = Store::new();
    let engine = store.engine();
    let data = [
        include_str!("../data/slots/development.tsv"),
        include_str!("../data/slots/frozen.tsv"),
        include_str!("../data/slots/hard.tsv"),
    ];
    let pairs: Vec<Vec<&str>> = data
        .iter()
        .flat_map(|data| data.lines())
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| fields.len() >= 3)
        .collect();
    assert!(pairs.len() > 370, "{}", pairs.len());
    let told = |place: usize, text: &str| NewMemory {
        text: text.into(),
        kind: Some("fact".into()),
        scope: Some(format!("pair {place}")),
        ..NewMemory::default()
    };
    let olders: Vec<NewMemory> = pairs.iter().enumerate().map(|(place, pair)| told(place, pair[1])).collect();
    let newers: Vec<NewMemory> = pairs.iter().enumerate().map(|(place, pair)| told(place, pair[2])).collect();
    engine.remember(&RememberRequest::of(&olders)).unwrap();
    let answer = engine.remember(&RememberRequest::of(&newers)).unwrap();
    let (mut right, mut changed) = (0, 0);
    for (pair, result) in pairs.iter().zip(&answer.results) {
        match pair[0] {
            "dif" => assert_eq!(result.outcome, Outcome::Saved, "{pair:?}: {result:?}"),
            "dup" => assert!(matches!(result.outcome, Outcome::Saved | Outcome::Reinforced), "{pair:?}: {result:?}"),
            "sup" | "con" => {
                let expected = if pair[0] == "sup" { Outcome::Superseded } else { Outcome::Conflict };
                changed += 1;
                right += usize::from(result.outcome == expected);
            }
            other => panic!("{other}"),
        }
    }
    assert!(right + 2 >= changed && changed > 70, "{right} of {changed}");
}

#[test]
fn what_two_machines_said_is_judged_when_asked_for() {
    let mut store = Store::new();
    let born = told(&store.engine(), "Lives in Berlin");
    store.pass_days(2);
    // Another machine did not know of the first when it heard the second.
    let mut other = Store::on_machine("other");
    other.pass_days(2);
    let foreign = told(&other.engine(), "Lives in Munich");
    let (_, foreign_journal) = other.journals().pop_first().unwrap();
    std::fs::write(store.home().join("short-term/other.jsonl"), foreign_journal).unwrap();
    let engine = store.engine();
    assert_eq!(engine.hits("lives").len(), 2);
    let judge = |judge: Judge| engine.review(&ReviewRequest { judge, ..ReviewRequest::default() }).unwrap();
    let would = judge(Judge::Dry);
    assert!(would.done[0].starts_with(&format!("would be: {} takes the place of", id_of(&foreign))), "{would:?}");
    assert_eq!(engine.hits("lives").len(), 2);
    assert_eq!(judge(Judge::Yes).done.len(), 1);
    assert_eq!(engine.texts("lives"), ["Lives in Munich"]);
    assert_eq!(engine.whole(&id_of(&born)).memory.status, "superseded");
    assert_eq!(judge(Judge::Yes).done, [] as [&str; 0], "judged once");
    engine.undo().unwrap();
    assert_eq!(engine.hits("lives").len(), 2);
}
