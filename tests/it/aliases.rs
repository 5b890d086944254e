//! Other names of someone: said by a relation, taken back by it, and nothing is rewritten.

use ebbmark::engine::{Engine, EntityAnswer, InspectRequest, NewMemory, RecallRequest, RelateRequest, View};

use crate::support::{Calls, Store};

fn about(engine: &Engine, text: &str, entities: &[&str]) -> String {
    let entities = entities.iter().map(|entity| (*entity).to_owned()).collect();
    engine.tell(NewMemory { text: text.into(), entities, ..NewMemory::default() }).id.unwrap()
}

fn relate(engine: &Engine, from: &str, to: &str, is_removed: bool) -> Result<Option<String>, String> {
    let request = RelateRequest {
        from: from.into(),
        to: to.into(),
        relation: "alias_of".into(),
        remove: Some(is_removed),
        ..RelateRequest::default()
    };
    engine.relate(&request).map(|answer| answer.why).map_err(|error| format!("{error} / {}", error.hint()))
}

fn known_of(engine: &Engine, name: &str) -> EntityAnswer {
    let request = InspectRequest { of: Some(name.into()), ..InspectRequest::of(View::Entity) };
    engine.inspect(&request).unwrap().entity.unwrap()
}

#[test]
fn what_asks_for_one_name_asks_for_all_until_that_is_taken_back() {
    let store = Store::new();
    let engine = store.engine();
    let vet = about(&engine, "Melanie started as a vet", &["Melanie"]);
    let boat = about(&engine, "Mel has a sailing boat", &["mel"]);
    about(&engine, "Oscar barks at the postman", &["Oscar"]);
    assert_eq!(known_of(&engine, "Mel").memories, 1, "two names, as long as nobody says more");

    let why = relate(&engine, "Mel", "Melanie", false).unwrap().unwrap();
    assert!(why.contains("`Melanie` stands for them"), "{why}");
    for name in ["Mel", "melanie", "MEL"] {
        let known = known_of(&engine, name);
        assert_eq!(
            (known.name.as_str(), known.also.as_slice(), known.memories),
            ("Melanie", &["mel".to_owned()][..], 2)
        );
    }
    let asked = |name: &str| {
        let request = RecallRequest { entities: vec![name.into()], reinforce: Some(false), ..RecallRequest::default() };
        let mut ids: Vec<String> = engine.recall(&request).unwrap().hits.into_iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    };
    let mut both = vec![vet.clone(), boat.clone()];
    both.sort();
    assert_eq!(asked("Mel"), both);
    assert_eq!(asked("Melanie"), both);
    // A query asks by all names, and the hop leads from one to the other.
    assert_eq!(engine.texts("Melanie"), ["Melanie started as a vet", "Mel has a sailing boat"]);
    assert_eq!(engine.texts("Mel"), ["Mel has a sailing boat", "Melanie started as a vet"]);
    let request = RecallRequest { explain: Some(true), ..RecallRequest::of("which animals does Melanie treat") };
    let led = engine.recall(&request).unwrap().hits.into_iter().find(|hit| hit.id == boat);
    assert!(led.unwrap().why.unwrap().graph > 0.0);
    assert_eq!(engine.whole(&boat).memory.entities, ["mel"], "no memory is rewritten");
    assert!(store.ok(&["entity", "Mel"]).starts_with("Melanie: 2 memories"), "in every process");

    relate(&engine, "mel", "Melanie", true).unwrap();
    assert_eq!((known_of(&engine, "Mel").memories, known_of(&engine, "Melanie").memories), (1, 1));
    assert_eq!(asked("Mel"), [boat]);
    engine.undo().unwrap();
    assert_eq!(known_of(&engine, "Mel").memories, 2);
}

/// Each memory counts once for a hub, by however many of its names it calls someone.
#[test]
fn two_names_in_one_memory_earn_no_hub_sooner() {
    let store = Store::new();
    let engine = store.engine();
    let first = about(&engine, "Melanie started as a vet", &["Melanie", "Mel"]);
    about(&engine, "Has a sailing boat", &["Melanie", "Mel"]);
    relate(&engine, "Mel", "Melanie", false).unwrap();
    engine.keep(&first);
    engine.clean();
    let hub = store.vault().join("Entities/Melanie.md");
    assert!(!hub.exists(), "two memories are too few");
    about(&engine, "Mel sings in a choir", &["Mel"]);
    engine.clean();
    assert!(hub.exists());
}

#[test]
fn an_alias_is_a_name_of_something_that_is_known() {
    let store = Store::new();
    let engine = store.engine();
    let vet = about(&engine, "Melanie started as a vet", &["Melanie"]);
    // One that nobody uses yet will be understood when it is.
    relate(&engine, "Mellie", "Melanie", false).unwrap();
    assert_eq!(known_of(&engine, "Mellie").memories, 1);
    for (from, to, why) in [
        ("MELANIE", "melanie", "is the same name"),
        (vet.as_str(), "Melanie", "is a memory"),
        ("Nobody", "No one", "entity `Nobody` or `No one`"),
        ("", "Melanie", "from: is missing"),
    ] {
        let refused = relate(&engine, from, to, false).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let brackets = "Mel [[x|y]] # %%";
    relate(&engine, brackets, "Melanie", false).unwrap();
    assert_eq!(known_of(&engine, brackets).name, "Melanie");
}
