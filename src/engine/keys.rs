//! Hashes by which memories are found again: what is said, which slots it fills, what must be analysed anew.

use crate::clock::Timestamp;
use crate::memory::Memory;
use crate::{similarity, slots, words};

/// Hash of all that [`super::store::document_terms`] depends on.
pub(super) fn analysis_hash(memory: &Memory) -> u64 {
    let mut hash = Fnv::new();
    hash.add(&memory.text);
    hash.add(memory.title.as_deref().unwrap_or(""));
    for list in [&memory.tags, &memory.entities, &memory.keywords] {
        hash.add("\u{1}");
        for part in list {
            hash.add(part);
        }
    }
    for source in &memory.sources {
        hash.add(source.speaker.as_deref().unwrap_or(""));
    }
    hash.add(&memory.happened.map_or(0, Timestamp::millis).to_string());
    hash.0
}

/// FNV-1a, 64 bit: the same in every version, fast on short texts.
pub(super) struct Fnv(u64);

impl Fnv {
    pub(super) fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn value(&self) -> u64 {
        self.0
    }
}

/// The slots that a memory fills.
pub(super) fn slot_keys(memory: &Memory) -> Vec<u64> {
    slots::Slot::read(&memory.text).iter().map(slots::Slot::key).collect()
}

/// Hash of what makes two memories the same: wording in normal form, scope, speaker, and the day it happened.
pub(super) fn same_key(memory: &Memory) -> u64 {
    let speaker = memory.sources.iter().find_map(|source| source.speaker.as_deref());
    key_of(&memory.text, memory.scope_name(), speaker, memory.happened)
}

/// As [`same_key`], for something not remembered yet.
pub(super) fn key_of(text: &str, scope: &str, speaker: Option<&str>, happened: Option<Timestamp>) -> u64 {
    let mut hash = Fnv::new();
    hash.add(&similarity::normal_form(text));
    hash.add(scope);
    hash.add(&speaker.map_or(String::new(), words::fold));
    hash.add(&happened.map_or(String::new(), |at| at.hour().day().to_string()));
    hash.0
}
