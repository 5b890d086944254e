//! Postings in memory, for the memories that the term index does not hold yet.

use std::collections::HashMap;

use super::is_indexable;
use crate::lexical::{Posting, Slot};

/// Marks a row whose memory has left.
const GONE: Slot = Slot::MAX;
/// Dead rows that are not worth tidying up.
const SLACK_ROWS: usize = 64;

/// One word in one row.
#[derive(Debug, Clone, Copy)]
struct Entry {
    row: u32,
    frequency: u32,
}

/// Postings of memories without a document. Each addition is a row; a memory that leaves only has its row marked, so
/// that nobody has to remember its words.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    terms: HashMap<Box<str>, Vec<Entry>>,
    /// Slot of each row, or [`GONE`].
    slots: Vec<Slot>,
    rows: HashMap<Slot, u32>,
}

impl Tail {
    /// Adds a memory by the words of its text, repeated words repeated; replaces what was known of that slot.
    pub fn add(&mut self, slot: Slot, terms: &[String]) {
        self.remove(slot);
        let row = self.slots.len() as u32;
        self.slots.push(slot);
        self.rows.insert(slot, row);
        for term in terms.iter().filter(|term| is_indexable(term)) {
            let Some(entries) = self.terms.get_mut(term.as_str()) else {
                self.terms.insert(term.as_str().into(), vec![Entry { row, frequency: 1 }]);
                continue;
            };
            match entries.last_mut() {
                Some(entry) if entry.row == row => entry.frequency += 1,
                _ => entries.push(Entry { row, frequency: 1 }),
            }
        }
    }

    /// Takes a memory out; nothing happens where it is not here.
    pub fn remove(&mut self, slot: Slot) {
        if let Some(row) = self.rows.remove(&slot) {
            self.slots[row as usize] = GONE;
            self.tidy();
        }
    }

    /// Keeps only the memories for which `keep` holds: after documents were folded into the index, those without one.
    pub fn retain(&mut self, mut keep: impl FnMut(Slot) -> bool) {
        let slots = &mut self.slots;
        self.rows.retain(|slot, row| {
            let stays = keep(*slot);
            if !stays {
                slots[*row as usize] = GONE;
            }
            stays
        });
        self.tidy();
    }

    /// About how many items hold a word: removed ones may count too.
    pub fn holders(&self, term: &str) -> usize {
        self.terms.get(term).map_or(0, Vec::len)
    }

    /// Appends the postings of one word.
    pub fn postings(&self, term: &str, out: &mut Vec<Posting>) {
        let entries = self.terms.get(term).map_or(&[][..], Vec::as_slice);
        out.extend(entries.iter().filter_map(|entry| {
            let slot = self.slots[entry.row as usize];
            (slot != GONE).then_some(Posting { slot, frequency: entry.frequency })
        }));
    }

    /// All words, in no order; some of removed memories may be among them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.terms.keys().map(|word| &**word)
    }

    /// Number of memories.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it holds no memory.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the memory is here.
    pub fn contains(&self, slot: Slot) -> bool {
        self.rows.contains_key(&slot)
    }

    /// The memories, in the order in which they were added.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter().copied().filter(|slot| *slot != GONE)
    }

    /// Rewrites the postings without the dead rows once they are the larger part, so that the work is paid for by as
    /// many removals.
    fn tidy(&mut self) {
        let dead = self.slots.len() - self.rows.len();
        if dead <= self.rows.len() + SLACK_ROWS {
            return;
        }
        if self.rows.is_empty() {
            *self = Tail::default();
            return;
        }
        let mut renumbered = Vec::with_capacity(self.slots.len());
        let mut next = 0;
        for slot in &self.slots {
            renumbered.push(next);
            next += u32::from(*slot != GONE);
        }
        let slots = &self.slots;
        self.terms.retain(|_, entries| {
            entries.retain_mut(|entry| {
                let old = entry.row as usize;
                entry.row = renumbered[old];
                slots[old] != GONE
            });
            entries.shrink_to_fit();
            !entries.is_empty()
        });
        self.terms.shrink_to_fit();
        for row in self.rows.values_mut() {
            *row = renumbered[*row as usize];
        }
        self.slots.retain(|slot| *slot != GONE);
        self.slots.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use proptest::test_runner::Config;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn postings(tail: &Tail, term: &str) -> Vec<(Slot, u32)> {
        let mut out = Vec::new();
        tail.postings(term, &mut out);
        out.iter().map(|posting| (posting.slot, posting.frequency)).collect()
    }

    #[test]
    fn words_are_counted_per_memory() {
        let mut tail = Tail::default();
        tail.add(7, &words("tea tea milk tea"));
        tail.add(2, &words("tea"));
        tail.add(4, &[]);
        assert_eq!(postings(&tail, "tea"), [(7, 3), (2, 1)]);
        assert_eq!(postings(&tail, "milk"), [(7, 1)]);
        assert_eq!(postings(&tail, "rum"), []);
        assert_eq!((tail.len(), tail.contains(4), tail.contains(5)), (3, true, false));
        assert_eq!(tail.slots().collect::<Vec<_>>(), [7, 2, 4]);
    }

    #[test]
    fn adding_again_replaces_and_removing_twice_is_harmless() {
        let mut tail = Tail::default();
        tail.add(1, &words("old words"));
        tail.add(1, &words("new words words"));
        assert_eq!((postings(&tail, "old"), postings(&tail, "words"), tail.len()), (vec![], vec![(1, 2)], 1));
        tail.remove(1);
        tail.remove(1);
        assert!(tail.is_empty());
        assert_eq!(postings(&tail, "words"), []);
    }

    #[test]
    fn what_was_folded_leaves_no_memory_behind() {
        let mut tail = Tail::default();
        for slot in 0..1000 {
            tail.add(slot, &words(&format!("common rare{slot}")));
        }
        tail.retain(|slot| slot >= 990);
        assert_eq!(tail.slots().collect::<Vec<_>>(), (990..1000).collect::<Vec<_>>());
        assert_eq!((tail.terms.len(), tail.slots.len()), (11, 10), "words and rows of the others are gone");
        assert_eq!(postings(&tail, "rare995"), [(995, 1)]);
        tail.retain(|_| false);
        assert!(tail.is_empty() && postings(&tail, "common").is_empty());
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, cases: 128, ..Config::default() })]

        #[test]
        fn any_history_leaves_what_a_plain_map_leaves(
            steps in prop::collection::vec((0u32..12, prop::option::of(prop::collection::vec("[a-d]", 0..6))), 0..300),
        ) {
            let mut tail = Tail::default();
            let mut plain: BTreeMap<Slot, Vec<String>> = BTreeMap::new();
            for (slot, terms) in steps {
                if let Some(terms) = terms {
                    tail.add(slot, &terms);
                    plain.insert(slot, terms);
                } else {
                    tail.remove(slot);
                    plain.remove(&slot);
                }
            }
            prop_assert_eq!(tail.len(), plain.len());
            prop_assert!(tail.slots.len() <= 2 * plain.len() + SLACK_ROWS);
            for term in ["a", "b", "c", "d"] {
                let mut found = postings(&tail, term);
                found.sort_unstable();
                let count = |terms: &Vec<String>| terms.iter().filter(|t| *t == term).count() as u32;
                let expected: Vec<(Slot, u32)> =
                    plain.iter().map(|(slot, terms)| (*slot, count(terms))).filter(|(_, n)| *n > 0).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
