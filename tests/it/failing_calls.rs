//! Every call to the system fails once, or from then on: nothing that was acknowledged is lost, nothing is half, and
//! once the fault is over all goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ebbmark::engine::{
    Engine, ForgetRequest, OpenRequest, PromoteRequest, ReinforceRequest, RememberRequest, RestoreRequest,
    ReviseRequest, TidyRequest,
};
use ebbmark::error::Result;
use ebbmark::files::rehearsal::{Fault, Plan, failing};

use crate::support::{Calls, Store, files_below};

/// What is done while calls fail.
const DEEDS: [&str; 9] = ["open", "remember", "use", "revise", "promote", "forget", "restore", "compact", "tidy"];

/// A home with a note, plain memories and a forgotten one.
struct Origin {
    store: Store,
    files: BTreeMap<PathBuf, Vec<u8>>,
    plain: String,
    noted: String,
    forgotten: String,
}

impl Origin {
    fn new() -> Self {
        let mut store = Store::in_memory();
        store.configure("[git]\nmode = \"off\"\n");
        let engine = store.engine();
        let plain = engine.save("Rows a small boat");
        let noted = engine.save("Keeps bees behind the house");
        let forgotten = engine.save("Owned a red bicycle");
        engine.keep(&noted);
        for colour in ["green", "white"] {
            let text = Some(format!("Rows a {colour} boat"));
            engine.change(ReviseRequest { id: plain.clone(), text, ..ReviseRequest::default() });
        }
        engine.drop_memory(&forgotten);
        let files = files_below(store.root());
        store.pass_hours(30);
        Origin { store, files, plain, noted, forgotten }
    }

    /// Puts everything back as it was.
    fn reset(&self) {
        for folder in ["home", "vault"] {
            drop(fs::remove_dir_all(self.store.root().join(folder)));
        }
        for (path, bytes) in &self.files {
            let path = self.store.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    fn act(&self, engine: &Engine, deed: &str) -> Result<()> {
        match deed {
            "open" => {
                engine.open_memories(&OpenRequest { ids: vec![self.plain.clone()], ..OpenRequest::default() }).map(drop)
            }
            "remember" => engine
                .remember(&RememberRequest::of(&[ebbmark::engine::NewMemory {
                    text: "Plays the oboe".into(),
                    ..Default::default()
                }]))
                .map(drop),
            "use" => engine
                .reinforce(&ReinforceRequest { ids: vec![self.plain.clone()], ..ReinforceRequest::default() })
                .map(drop),
            "revise" => {
                let text = Some("Rows a black boat".to_owned());
                engine.revise(&ReviseRequest { id: self.plain.clone(), text, ..ReviseRequest::default() }).map(drop)
            }
            "promote" => {
                engine.promote(&PromoteRequest { ids: vec![self.plain.clone()], ..PromoteRequest::default() }).map(drop)
            }
            "forget" => {
                engine.forget(&ForgetRequest { ids: vec![self.noted.clone()], ..ForgetRequest::default() }).map(drop)
            }
            "restore" => engine.restore(&RestoreRequest { ids: vec![self.forgotten.clone()] }).map(drop),
            "compact" => engine.compact(false).map(drop),
            _ => engine.tidy(&TidyRequest::default()).map(drop),
        }
    }

    /// What must hold of the home after a deed that was acknowledged, or was not.
    fn check(&self, engine: &Engine, deed: &str, is_done: bool) -> std::result::Result<(), String> {
        let text = |id: &str| engine.find(id).map(|found| found.memory.text);
        let (plain, noted, forgotten) = (text(&self.plain), text(&self.noted), text(&self.forgotten));
        let is_revised = plain.as_deref() == Some("Rows a black boat");
        let may = |found: bool, what: &str| if deed == what { found || !is_done } else { !found };
        let is_as_before = is_revised || plain.as_deref() == Some("Rows a white boat");
        let is_kept = engine.find(&self.plain).is_some_and(|found| found.memory.note.is_some());
        let oboe = engine.texts("oboe").iter().filter(|text| text.contains("oboe")).count();
        let holds = [
            ("the plain memory", is_as_before),
            ("the revision", may(is_revised, "revise")),
            ("the noted memory", noted.is_none() || noted.as_deref() == Some("Keeps bees behind the house")),
            ("the forget", may(noted.is_none(), "forget")),
            ("the restore", may(forgotten.is_some(), "restore")),
            ("the new memory", may(oboe == 1, "remember") && oboe < 2),
            ("the promotion", may(is_kept, "promote")),
        ];
        match holds.iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((what, _)) => Err(format!("{what}: {plain:?} {noted:?} {forgotten:?} {oboe} {is_kept}")),
        }
    }

    /// One deed with one fault. Answers whether the fault was met.
    fn fail(&self, deed: &str, plan: Plan) -> std::result::Result<bool, String> {
        self.reset();
        let engine = self.store.engine();
        let (done, is_met) = failing(plan, || self.act(&engine, deed));
        let is_done = done.is_ok();
        if let Err(error) = &done
            && (error.to_string().is_empty() || error.hint().is_empty())
        {
            return Err("an error that says nothing".into());
        }
        if !is_met && !is_done {
            return Err(format!("it fails without a fault: {}", done.unwrap_err()));
        }
        // The same process, another one, and that again once something was saved and tidied.
        self.check(&engine, deed, is_done).map_err(|why| format!("in the same process, {why}"))?;
        let emptied = files_below(self.store.root())
            .into_iter()
            .find(|(path, bytes)| bytes.is_empty() && self.files.get(path).is_some_and(|before| !before.is_empty()));
        if let Some((path, _)) = emptied {
            return Err(format!("{} is empty", path.display()));
        }
        let other = self.store.engine();
        self.check(&other, deed, is_done).map_err(|why| format!("in another process, {why}"))?;
        let later = engine.save("The fault is over");
        self.store.engine().read_back().map_err(|error| error.to_string())?;
        let last = self.store.engine();
        self.check(&last, deed, is_done).map_err(|why| format!("afterwards, {why}"))?;
        if last.find(&later).is_none() {
            return Err("what was saved afterwards is lost".into());
        }
        self.act(&last, deed).map_err(|error| format!("tried again, {error}"))?;
        self.check(&self.store.engine(), deed, true).map_err(|why| format!("tried again, {why}"))?;
        Ok(is_met)
    }
}

/// Lets every call of every deed fail with these faults; how often that was.
fn fail_all(faults: &[Fault]) -> usize {
    let origin = Origin::new();
    let (mut count, mut wrong) = (0, Vec::new());
    for deed in DEEDS {
        for (&fault, stays) in faults.iter().flat_map(|fault| [(fault, false), (fault, true)]) {
            for nth in 0.. {
                let outcome = origin.fail(deed, Plan { fault, nth, stays });
                count += 1;
                match outcome {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(why) => wrong.push(format!("{deed}, {fault:?} at call {nth}, stays {stays}: {why}")),
                }
                assert!(nth < 2000, "{deed}, {fault:?}: no end");
                if wrong.len() > 30 {
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    count
}

#[test]
fn a_full_disk_at_any_call_loses_nothing() {
    let count = fail_all(&[Fault::Full, Fault::Short]);
    assert!(count > 100, "{count}");
}

#[test]
fn a_failing_device_at_any_call_loses_nothing() {
    let count = fail_all(&[Fault::Device, Fault::Sync]);
    assert!(count > 100, "{count}");
}

#[test]
fn a_call_that_is_not_permitted_loses_nothing() {
    let count = fail_all(&[Fault::Access, Fault::ReadOnly, Fault::TooManyFiles]);
    assert!(count > 100, "{count}");
}

#[test]
fn a_full_disk_can_be_emptied() {
    let origin = Origin::new();
    let engine = origin.store.engine();
    engine.save("Begins the reserve");
    // What was seen of the notes is written down before, so that the disk is full where it matters.
    engine.read_back().unwrap();
    let reserve = origin.store.home().join("reserve");
    assert_eq!(fs::metadata(&reserve).unwrap().len(), 64 << 10);
    // Full until the reserve is given up.
    let full = Plan { fault: Fault::Full, nth: 0, stays: false };
    let (forgotten, is_met) =
        failing(full, || engine.forget(&ForgetRequest { ids: vec![origin.plain.clone()], ..ForgetRequest::default() }));
    assert!(is_met);
    assert_eq!(forgotten.unwrap().forgotten, std::slice::from_ref(&origin.plain));
    assert!(!reserve.exists(), "the reserve was not used");
    assert!(origin.store.engine().find(&origin.plain).is_none());
    engine.compact(false).unwrap();
    assert!(reserve.exists(), "the reserve is not kept anew");
    let id = engine.save("Plays the oboe");
    for text in ["Plays the flute", "Plays the drums"] {
        engine.change(ReviseRequest { id: id.clone(), text: Some(text.into()), ..ReviseRequest::default() });
    }
    let (compacted, is_met) = failing(full, || engine.compact(false));
    assert!(is_met);
    let compacted = compacted.unwrap();
    assert!(compacted.bytes_after < compacted.bytes_before, "{compacted:?}");
    let names: Vec<PathBuf> = files_below(&origin.store.home().join("short-term")).into_keys().collect();
    assert_eq!(names, [PathBuf::from("aaaa1111.jsonl")], "something was left");
    assert_eq!(origin.store.engine().whole(&id).memory.text, "Plays the drums");
}
