//! Undo: the last operation is taken back, and the ones before it.

use ebbmark::engine::{ForgetRequest, NewMemory, ReviseRequest};

use crate::support::{Calls, Store};

#[test]
fn operations_are_taken_back_one_after_the_other() {
    let mut store = Store::new();
    let first = store.engine().save("Owns a red bicycle");
    store.pass_hours(1);
    let change = ReviseRequest {
        id: first.clone(),
        text: Some("Owns a blue bicycle".into()),
        tags: Some(vec!["bike".into()]),
        ..ReviseRequest::default()
    };
    store.engine().change(change);
    store.pass_hours(1);
    let second = store.engine().save("Sings in a choir");
    store.pass_hours(1);
    store.engine().drop_memory(&first);
    let engine = store.engine();
    let said = |undone: &[String]| undone.join("; ");
    assert!(said(&engine.undo().unwrap().undone).starts_with(&format!("forgot {first}")));
    assert_eq!(engine.whole(&first).memory.text, "Owns a blue bicycle");
    assert!(said(&engine.undo().unwrap().undone).starts_with(&format!("remembered {second}")));
    assert!(engine.find(&second).is_none());
    assert_eq!(said(&engine.undo().unwrap().undone), format!("revised {first}: text, tags"));
    let back = engine.whole(&first);
    assert_eq!((back.memory.text.as_str(), back.memory.tags.len()), ("Owns a red bicycle", 0));
    assert!(said(&engine.undo().unwrap().undone).starts_with(&format!("remembered {first}")));
    assert_eq!(engine.texts(""), [] as [&str; 0]);
    let error = engine.undo().unwrap_err().to_string();
    assert!(error.contains("to take back"), "{error}");
    engine.save("Something new");
    assert_eq!(engine.undo().unwrap().undone.len(), 1);
}

#[test]
fn what_replaced_another_gives_its_place_back() {
    let store = Store::new();
    let engine = store.engine();
    let told = |text: &str| engine.tell(NewMemory { text: text.into(), ..NewMemory::default() });
    let first = told("Lives in Berlin").id.unwrap();
    assert_eq!(told("Lives in Munich").superseded, std::slice::from_ref(&first));
    engine.undo().unwrap();
    assert_eq!(engine.texts("lives"), ["Lives in Berlin"]);
    assert_eq!(engine.whole(&first).memory.status, "active");
}

#[test]
fn a_note_goes_with_the_promotion_and_its_memory_stays() {
    let store = Store::new();
    let engine = store.engine();
    let id = engine.save("Owns a red bicycle");
    engine.keep(&id);
    assert_eq!(store.notes().len(), 1);
    let undone = engine.undo().unwrap();
    assert!(undone.undone[0].starts_with(&format!("promoted {id}")), "{undone:?}");
    assert_eq!(store.notes(), [] as [&str; 0]);
    let memory = engine.whole(&id).memory;
    assert_eq!((memory.tier.as_str(), memory.status.as_str(), memory.note), ("short_term", "active", None));
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    engine.clean();
    assert_eq!(store.notes(), [] as [&str; 0], "it is not promoted by itself again");
    engine.keep(&id);
    assert_eq!(store.notes().len(), 1, "but where it is asked for");
}

#[test]
fn a_revision_of_a_promoted_memory_is_taken_back_in_its_note() {
    let store = Store::new();
    let engine = store.engine();
    let id = engine.save("Owns a red bicycle");
    engine.keep(&id);
    let change = ReviseRequest { id: id.clone(), text: Some("Owns a blue one".into()), ..ReviseRequest::default() };
    engine.change(change);
    assert!(store.note("Owns a red bicycle").contains("Owns a blue one"));
    engine.undo().unwrap();
    assert!(store.note("Owns a red bicycle").contains("Owns a red bicycle\n"));
    assert_eq!(engine.whole(&id).memory.text, "Owns a red bicycle");
}

#[test]
fn what_was_changed_since_stays() {
    let store = Store::new();
    let engine = store.engine();
    let id = engine.save("Owns a red bicycle");
    engine.keep(&id);
    let change = ReviseRequest { id: id.clone(), text: Some("Owns a blue one".into()), ..ReviseRequest::default() };
    engine.change(change);
    store.edit_note("Owns a red bicycle", "Owns a blue one", "Owns a green one");
    let undone = engine.undo().unwrap();
    assert!(undone.stays[0].contains("was changed since"), "{undone:?}");
    assert_eq!(engine.whole(&id).memory.text, "Owns a green one");
}

#[test]
fn a_purge_is_not_taken_back() {
    let store = Store::new();
    let engine = store.engine();
    engine.save("Sings in a choir");
    let id = engine.save("Owns a red bicycle");
    let mut request = ForgetRequest { ids: vec![id], purge: Some(true), ..ForgetRequest::default() };
    request.preview_token = engine.forget(&request).unwrap().preview_token;
    engine.forget(&request).unwrap();
    let error = engine.undo().unwrap_err().to_string();
    assert!(error.contains("purged"), "{error}");
    assert_eq!(engine.texts(""), ["Sings in a choir"], "and nothing else is in its place");
}

#[test]
fn what_is_about_something_is_forgotten_after_it_was_shown() {
    let store = Store::new();
    let engine = store.engine();
    let ids = ["The red bicycle has a flat tyre", "The red bicycle was bought in May"].map(|text| engine.save(text));
    engine.save("Sings in a choir");
    let request = ForgetRequest { matching: Some("the red bicycle".into()), ..ForgetRequest::default() };
    let shown = engine.forget(&request).unwrap();
    assert_eq!((shown.preview.len(), shown.forgotten.len()), (2, 0), "{shown:?}");
    assert_eq!(engine.texts("").len(), 3);
    let request = ForgetRequest { preview_token: shown.preview_token, ..request };
    engine.save("The red bicycle is in the cellar");
    let refused = engine.forget(&request).unwrap_err().to_string();
    assert!(refused.contains("as they are now"), "one more would go: {refused}");
    engine.undo().unwrap();
    let done = engine.forget(&request).unwrap();
    assert_eq!(done.forgotten.len(), 2, "{done:?}");
    assert!(ids.iter().all(|id| done.forgotten.contains(id)));
    assert_eq!(engine.texts(""), ["Sings in a choir"]);
    engine.undo().unwrap();
    assert_eq!(engine.texts("").len(), 3, "in one go");
    let nothing = ForgetRequest { matching: Some("Neptune's orbit".into()), ..ForgetRequest::default() };
    let answer = engine.forget(&nothing).unwrap();
    assert_eq!((answer.not_found.len(), answer.preview_token), (1, None));
}
