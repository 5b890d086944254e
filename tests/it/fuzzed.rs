//! The checks of the fuzz targets (`tests/fuzz`) on the inputs that they begin with, and on every input that once
//! broke one of them.

use std::fs;
use std::path::{Path, PathBuf};

use ebbmark::engine::{NewMemory, ReinforceRequest, RememberRequest, ReviseRequest};
use ebbmark::memory::{Line, Op};

use crate::support::{Calls, Dice, Store};

#[expect(unreachable_pub, reason = "a library where the fuzz targets use it")]
#[path = "../fuzz/src/lib.rs"]
mod checks;

/// Plays every input that is kept for a target.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(target);
    let inputs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() >= 5, "{target} has only {} inputs", inputs.len());
    let breaks = |path: &&PathBuf| std::panic::catch_unwind(|| check(&fs::read(path).unwrap())).is_err();
    let broken: Vec<&PathBuf> = inputs.iter().filter(breaks).collect();
    assert!(broken.is_empty(), "{target} breaks on {broken:#?}");
}

#[test]
fn journal_lines_read_and_write_the_same() {
    replay("journal_line", checks::journal_line::check);
}

#[test]
fn a_damaged_journal_serves_what_is_whole() {
    replay("journal_file", checks::journal_file::check);
}

#[test]
fn operations_agree_with_a_simple_model() {
    replay("operations", checks::operations::check);
}

#[test]
fn any_text_is_a_query() {
    replay("query", checks::query::check);
}

#[test]
fn any_arguments_are_answered() {
    replay("mcp_arguments", checks::mcp_arguments::check);
}

#[test]
fn edits_of_notes_stay_within_their_lines() {
    replay("note", checks::note::check);
}

#[test]
fn many_edits_of_a_frontmatter_keep_what_they_do_not_set() {
    replay("frontmatter", checks::frontmatter::check);
}

#[test]
fn any_note_is_read_and_its_links_lead_into_the_vault() {
    replay("link", checks::link::check);
}

#[test]
fn any_titles_give_names_of_their_own() {
    replay("name", checks::name::check);
}

#[test]
fn no_path_leaves_the_vault() {
    replay("path", checks::path::check);
}

/// Found by `operations`: lines that tell a known memory once more counted less than the ones of the expired call.
#[test]
fn a_key_used_again_after_its_time_belongs_to_the_newer_call() {
    let mut store = Store::new();
    let call = |store: &Store, text: &str| {
        let memories = [NewMemory { text: text.into(), ..NewMemory::default() }];
        let request = RememberRequest { op_key: Some("sync".into()), ..RememberRequest::of(&memories) };
        store.engine().remember(&request)
    };
    store.engine().save("Owns a red bicycle");
    call(&store, "Prefers tea over coffee").unwrap();
    store.pass_days(31);
    call(&store, "Owns a red bicycle").unwrap();
    let refused = call(&store, "Rents a garage by the canal").unwrap_err();
    assert_eq!(refused.to_string(), "op_key: `sync` was used for other content");
    assert_eq!(call(&store, "Owns a red bicycle").unwrap().results[0].why, "this call was made before");
}

/// Found by `operations`: each telling was compared with the memory as it was before the call, and the last one won.
#[test]
fn two_tellings_of_a_known_memory_in_one_call_add_up() {
    let store = Store::new();
    let engine = store.engine();
    let id = engine.save("Allergic to peanuts");
    let telling =
        |tag: &str| NewMemory { text: "Allergic to peanuts".into(), tags: vec![tag.into()], ..NewMemory::default() };
    let answer = engine.remember(&RememberRequest::of(&[telling("food"), telling("health")])).unwrap();
    assert!(answer.results.iter().all(|told| told.id.as_ref() == Some(&id)), "{answer:?}");
    assert_eq!(engine.whole(&id).memory.tags, ["food", "health"]);
}

/// Found by `journal_file`: one more than the greatest number was none.
#[test]
fn the_greatest_numbers_that_a_line_can_hold_leave_memory_usable() {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    let mut journal = fs::read_to_string(store.journal()).unwrap();
    for (number, what) in [(",\"n\":18446744073709551615", ""), ("", ",\"mentions\":4294967295,\"older\":4294967295")] {
        let head = format!("{{\"v\":1{number},\"at\":\"2026-11-29T20:00:00Z\",\"op\":\"use\",\"id\":\"{id}\"{what}");
        let crc = format!(",\"crc\":\"{:08x}\"", crc32c::crc32c(head.as_bytes()));
        journal += &head;
        journal += if number.is_empty() { "" } else { &crc };
        journal += "}\n";
    }
    fs::write(store.journal(), journal).unwrap();
    let engine = store.engine();
    let touched = engine.reinforce(&ReinforceRequest { ids: vec![id.clone()], ..ReinforceRequest::default() }).unwrap();
    assert_eq!(touched.results[0].uses, u32::MAX);
    let later = engine.save("Prefers tea over coffee");
    engine.compact(false).unwrap();
    let reopened = store.engine();
    assert!(reopened.find(&id).is_some() && reopened.find(&later).is_some());
}

/// Found by `note`: brackets in a quoted title counted as nesting, and the note could never be edited.
#[test]
fn a_note_whose_title_is_all_brackets_can_be_edited() {
    let store = Store::new();
    let engine = store.engine();
    let title = format!("Brackets {}", "[".repeat(503));
    let memory = NewMemory { title: Some(title.clone()), text: "Likes brackets".into(), ..NewMemory::default() };
    let id = engine.tell(memory).id.unwrap();
    let note = engine.keep(&id);
    engine.change(ReviseRequest { id: id.clone(), pinned: Some(true), ..ReviseRequest::default() });
    let text = fs::read_to_string(store.vault().join(note)).unwrap();
    assert!(text.contains(&title) && text.contains("\npinned: true\n"), "{text}");
}

/// Found by `journal_line`: of numbers with many digits some were read as their neighbours.
#[test]
fn every_strength_is_read_as_it_was_written() {
    let mut dice = Dice(3);
    for _ in 0..10_000 {
        let strength = dice.below(1 << 53) as f64 / (1u64 << 52) as f64;
        let line = Line { strength: Some(strength), ..Line::new(Op::Revise) };
        let read: Line = serde_json::from_str(&serde_json::to_string(&line).unwrap()).unwrap();
        assert_eq!(read.strength.map(f64::to_bits), Some(strength.to_bits()), "{strength}");
    }
}

/// Found by `note`: the new text was put right behind the dashes, and the note had no frontmatter any more.
#[test]
fn a_note_that_ends_with_its_frontmatter_takes_a_new_text() {
    let store = Store::new();
    let engine = store.engine();
    let id = engine.save("Owns a red bicycle");
    engine.keep(&id);
    let [name] = &store.notes()[..] else { panic!("one note") };
    let note = store.note(name);
    let frontmatter = note.trim_end().strip_suffix("\nOwns a red bicycle").unwrap();
    store.write_note(name, frontmatter);
    engine.change(ReviseRequest { id, text: Some("Owns a blue bicycle".into()), ..ReviseRequest::default() });
    assert_eq!(store.note(name), format!("{frontmatter}\nOwns a blue bicycle\n"));
}
