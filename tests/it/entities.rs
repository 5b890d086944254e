//! Who and what a memory is about: what `remember` finds by itself, and how it is corrected.

use ebbmark::engine::{NewMemory, ReviseRequest, SourceInput};

use crate::support::{Calls, Store};

fn entities(store: &Store, text: &str) -> Vec<String> {
    store.engine().tell(NewMemory { text: text.into(), ..NewMemory::default() }).entities
}

#[test]
fn a_husband_and_a_vet_are_one_person() {
    let store = Store::new();
    assert_eq!(entities(&store, "My husband Diego works as a nurse"), ["Diego"]);
    assert_eq!(entities(&store, "Diego started as a vet in September"), ["Diego"]);
    assert_eq!(entities(&store, "diego has a new bicycle"), ["Diego"]);
    assert_eq!(entities(&store, "Yesterday the weather was fine"), Vec::<String>::new());
}

#[test]
fn what_was_given_comes_first_and_is_spelled_as_known() {
    let store = Store::new();
    entities(&store, "My sister Marta lives in Porto");
    let told = NewMemory {
        text: "Went sailing with Marta near Bilbao".into(),
        entities: vec!["sailing".into(), "marta".into()],
        ..NewMemory::default()
    };
    assert_eq!(store.engine().tell(told).entities, ["sailing", "Marta", "Bilbao"]);
}

#[test]
fn names_of_one_call_meet() {
    let store = Store::new();
    let request = ebbmark::engine::RememberRequest::of(
        &["My cousin Zelda is a pilot", "Zelda flies on Fridays"]
            .map(|text| NewMemory { text: text.into(), ..NewMemory::default() }),
    );
    let answer = store.engine().remember(&request).unwrap();
    assert!(answer.results.iter().all(|result| result.entities == ["Zelda"]), "{answer:?}");
}

#[test]
fn a_short_form_stands_for_the_long_one_while_that_is_remembered() {
    let store = Store::new();
    let engine = store.engine();
    let said = engine.tell(NewMemory { text: "Melanie (Mel) paints sunrises".into(), ..NewMemory::default() });
    assert_eq!(said.entities, ["Melanie"]);
    assert_eq!(entities(&store, "Lunch with Mel was great"), ["Melanie"]);
    engine.drop_memory(&said.id.unwrap());
    assert_eq!(entities(&store, "Dinner with Mel was better"), ["Mel"]);
}

#[test]
fn a_correction_stays() {
    let store = Store::new();
    let engine = store.engine();
    let said = engine.tell(NewMemory { text: "Saw Dune with Hannah".into(), ..NewMemory::default() });
    assert_eq!(said.entities, ["Dune", "Hannah"]);
    let id = said.id.unwrap();
    let corrected = ReviseRequest { id: id.clone(), entities: Some(vec!["Hannah".into()]), ..ReviseRequest::default() };
    engine.revise(&corrected).unwrap();
    engine.tell(NewMemory { text: "Saw Dune with Hannah".into(), ..NewMemory::default() });
    assert_eq!(engine.whole(&id).memory.entities, ["Hannah"]);
    let text =
        ReviseRequest { id: id.clone(), text: Some("Saw Dune with Arjun in Leeds".into()), ..ReviseRequest::default() };
    engine.revise(&text).unwrap();
    assert_eq!(engine.whole(&id).memory.entities, ["Arjun", "Leeds"]);
}

#[test]
fn who_says_it_is_not_whom_it_is_about() {
    let store = Store::new();
    let told = NewMemory {
        text: "Melanie: I took Oscar to the vet".into(),
        source: Some(SourceInput { speaker: Some("Melanie".into()), ..SourceInput::default() }),
        ..NewMemory::default()
    };
    assert_eq!(store.engine().tell(told).entities, ["Oscar"]);
}

#[test]
fn a_setting_switches_it_off() {
    let store = Store::new();
    store.configure("[entities]\nextract = false\n");
    assert_eq!(entities(&store, "My husband Diego works as a nurse"), Vec::<String>::new());
}
