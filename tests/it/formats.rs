//! `docs/format.md` is a promise: its note is what is written, and reads back.

use ebbmark::note::{NewNote, Note, render};

#[test]
fn the_documented_note_is_what_is_written() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md")).unwrap();
    let (_, note) = page.split_once("```markdown\n").unwrap();
    let (note, _) = note.split_once("```\n").unwrap();
    let read = Note::parse(note);
    assert_eq!(read.problems, []);
    let (entities, tags) = (read.entities(), read.tags());
    let written = render(&NewNote {
        id: read.id().unwrap(),
        title: None,
        kind: &read.kind().unwrap(),
        status: &read.status().unwrap(),
        created: &read.created().unwrap(),
        last_used: &read.last_used().unwrap(),
        uses: read.uses().unwrap(),
        strength: read.strength().unwrap(),
        half_life_days: read.half_life_days().unwrap(),
        pinned: read.pinned().unwrap(),
        entities: &entities,
        linked: &entities,
        source: &read.source().unwrap(),
        tags: &tags,
        aliases: &[],
        text: &read.text(),
    });
    assert_eq!(written, note);
}
