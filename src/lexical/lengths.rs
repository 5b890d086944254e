//! Lengths of the current memories and their places in conversations: what one turn lends to those around it.

use std::collections::HashMap;

use super::Slot;

/// What is lent is counted in twentieths of a word: whole numbers, whose sums are exact in whatever order they are made.
pub(super) const UNITS: f32 = 20.0;
/// How many turns before and after one lend it their words.
const REACH: usize = 4;
/// What a turn lends to the turn `d` places further on, at `d + 4`: twentieths of its words in the near and in the wide
/// window. `.4 .3 .2 .15` of the turn before, after, two before and two after; wide `.5 .35 .25 .15` on both sides.
const LENT: [[u32; 2]; 2 * REACH + 1] = [[0, 3], [0, 5], [3, 7], [6, 10], [20, 20], [8, 10], [4, 7], [0, 5], [0, 3]];
/// What a question lends to the turn after it, which answers it: half as much again.
const LENT_TO_ANSWER: [u32; 2] = [12, 15];

/// Marks a slot without a current memory.
pub(super) const ABSENT: u32 = u32::MAX;
/// Marks a slot outside of any conversation.
const NOWHERE: u32 = u32::MAX;

/// The place of a turn in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Hash of what tells the conversation from others.
    pub session: u64,
    /// What orders its turns: position, time, id.
    pub order: (i64, i64, u64),
    /// Whether it ends in a question mark.
    pub asks: bool,
}

/// A turn in its conversation.
#[derive(Debug, Clone, Copy)]
struct Member {
    slot: Slot,
    order: (i64, i64, u64),
    /// Which setting of the slot this was; only the last one counts.
    stamp: u32,
    asks: bool,
}

/// A conversation, its turns in order once it is settled.
#[derive(Debug, Clone, Default)]
struct Session {
    members: Vec<Member>,
    is_unsettled: bool,
}

/// Where the memory of a slot stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Length in words, or [`ABSENT`].
    words: u32,
    /// Number of its conversation, or [`NOWHERE`].
    session: u32,
    /// Where in it, from 0.
    at: u32,
    stamp: u32,
    /// Twentieths of words in the near and the wide window, its own included.
    windowed: [u32; 2],
}

const EMPTY: Place = Place { words: ABSENT, session: NOWHERE, at: 0, stamp: 0, windowed: [0; 2] };

/// Lengths in words of the current memories: which slots are current, how many they are, their mean, and who stands
/// beside whom. After changes, [`Lengths::settle`].
#[derive(Debug, Clone, Default)]
pub struct Lengths {
    places: Vec<Place>,
    count: u32,
    totals: [u64; 2],
    sessions: Vec<Session>,
    numbers: HashMap<u64, u32>,
    unsettled: Vec<u32>,
}

impl Lengths {
    /// Makes `slot` current with a text of `words` words, or changes its length and its seat.
    pub fn set(&mut self, slot: Slot, words: u32, seat: Option<Seat>) {
        self.remove(slot);
        let place = slot as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, EMPTY);
        }
        let words = words.min(u32::MAX / UNITS as u32 / 8);
        let stamp = self.places[place].stamp.wrapping_add(1);
        self.places[place] = Place { words, stamp, windowed: [words * UNITS as u32; 2], ..EMPTY };
        self.count += 1;
        self.add_to_totals(slot, true);
        if let Some(Seat { session, order, asks }) = seat {
            let next = self.sessions.len() as u32;
            let number = *self.numbers.entry(session).or_insert(next);
            if number == next {
                self.sessions.push(Session::default());
            }
            self.places[place].session = number;
            self.sessions[number as usize].members.push(Member { slot, order, stamp, asks });
            self.unsettle(number);
        }
    }

    /// Makes `slot` not current: its postings are passed over and it is not counted.
    pub fn remove(&mut self, slot: Slot) {
        if self.get(slot).is_none() {
            return;
        }
        self.add_to_totals(slot, false);
        self.count -= 1;
        let place = &mut self.places[slot as usize];
        let session = place.session;
        *place = Place { stamp: place.stamp, ..EMPTY };
        if session != NOWHERE {
            self.unsettle(session);
        }
    }

    fn add_to_totals(&mut self, slot: Slot, is_added: bool) {
        for (total, windowed) in self.totals.iter_mut().zip(self.places[slot as usize].windowed) {
            if is_added {
                *total += u64::from(windowed);
            } else {
                *total -= u64::from(windowed);
            }
        }
    }

    fn unsettle(&mut self, session: u32) {
        let unsettled = &mut self.sessions[session as usize].is_unsettled;
        if !*unsettled {
            *unsettled = true;
            self.unsettled.push(session);
        }
    }

    /// Puts the turns of changed conversations in order and measures their windows. What is asked of the lengths before
    /// then may be wrong for them.
    pub fn settle(&mut self) {
        for number in std::mem::take(&mut self.unsettled) {
            let mut session = std::mem::take(&mut self.sessions[number as usize]);
            session.is_unsettled = false;
            session.members.retain(|member| {
                let place = &self.places[member.slot as usize];
                place.words != ABSENT && place.session == number && place.stamp == member.stamp
            });
            session.members.sort_unstable_by_key(|member| (member.order, member.slot));
            for (place, member) in (0..).zip(&session.members) {
                self.places[member.slot as usize].at = place;
            }
            for (at, member) in session.members.iter().enumerate() {
                let mut windowed = [0u32; 2];
                let first = at.saturating_sub(REACH);
                for (from, lender) in session.members.iter().enumerate().take(at + REACH + 1).skip(first) {
                    let words = self.places[lender.slot as usize].words;
                    for (sum, lent) in windowed.iter_mut().zip(lent(from, at, lender.asks)) {
                        *sum += words * lent;
                    }
                }
                self.add_to_totals(member.slot, false);
                self.places[member.slot as usize].windowed = windowed;
                self.add_to_totals(member.slot, true);
            }
            self.sessions[number as usize] = session;
        }
    }

    /// Length of a current memory in words.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<u32> {
        self.places.get(slot as usize).map(|place| place.words).filter(|words| *words != ABSENT)
    }

    /// Number of current memories, the N of the formula.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Slots in use, current or not: one more than the greatest.
    pub fn slots(&self) -> usize {
        self.places.len()
    }

    /// Mean length in words, in the near and in the wide window; 1 where no memory has a word, so that it can be divided
    /// by.
    pub fn means(&self) -> [f32; 2] {
        let mean = |total| (total as f64 / f64::from(self.count) / f64::from(UNITS)) as f32;
        self.totals.map(|total| if total == 0 { 1.0 } else { mean(total) })
    }

    /// Length in words of a slot's near and wide window, its own words included.
    pub(super) fn windowed(&self, slot: Slot) -> [f32; 2] {
        self.places[slot as usize].windowed.map(|units| units as f32 / UNITS)
    }

    /// How much a word is worth that `holders` of the current memories hold: ln(1 + (N − df + ½) / (df + ½)), the
    /// inverse document frequency that never is negative (Robertson and Zaragoza 2009, with the added 1).
    pub fn idf(&self, holders: u32) -> f32 {
        let (count, holders) = (f64::from(self.count), f64::from(holders));
        (((count - holders).max(0.0) + 0.5) / (holders + 0.5)).ln_1p() as f32
    }

    /// Whether the memory has neighbours in a conversation.
    #[inline]
    pub fn is_turn(&self, slot: Slot) -> bool {
        let session = self.places[slot as usize].session;
        session != NOWHERE && self.sessions[session as usize].members.len() > 1
    }

    /// Whether any memory has neighbours in a conversation.
    pub fn has_turns(&self) -> bool {
        self.sessions.iter().any(|session| session.members.len() > 1)
    }

    /// Yields the slots to which a memory lends its words, its own among them, and what it lends to each: twentieths for
    /// the near and the wide window.
    pub(super) fn borrowers(&self, slot: Slot, mut take: impl FnMut(Slot, [u32; 2])) {
        let place = self.places[slot as usize];
        if place.session == NOWHERE {
            take(slot, LENT[REACH]);
            return;
        }
        let (from, members) = (place.at as usize, &self.sessions[place.session as usize].members);
        let asks = members[from].asks;
        let first = from.saturating_sub(REACH);
        for (at, member) in members.iter().enumerate().take(from + REACH + 1).skip(first) {
            take(member.slot, lent(from, at, asks));
        }
    }

    /// The turns of each conversation in order, with whether they ask.
    pub fn conversations(&self) -> impl Iterator<Item = impl Iterator<Item = (Slot, bool)>> {
        self.sessions.iter().map(|session| session.members.iter().map(|member| (member.slot, member.asks)))
    }
}

/// What the turn at `from` lends to the one at `at`.
fn lent(from: usize, at: usize, asks: bool) -> [u32; 2] {
    if asks && at == from + 1 { LENT_TO_ANSWER } else { LENT[at + REACH - from] }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, clippy::unnecessary_wraps, reason = "exact values, and seats as they are given")]

    use super::*;

    fn seat(session: u64, position: i64) -> Option<Seat> {
        Some(Seat { session, order: (position, 0, 0), asks: false })
    }

    fn settled(mut lengths: Lengths) -> Lengths {
        lengths.settle();
        lengths
    }

    #[test]
    fn lengths_follow_what_comes_and_goes() {
        let mut lengths = Lengths::default();
        assert_eq!((lengths.count(), lengths.means(), lengths.get(0)), (0, [1.0; 2], None));
        lengths.set(5, 10, None);
        lengths.set(1, 20, None);
        lengths.set(5, 40, None);
        assert_eq!((lengths.count(), lengths.means()), (2, [30.0; 2]));
        assert_eq!((lengths.get(5), lengths.get(1), lengths.get(2), lengths.get(99)), (Some(40), Some(20), None, None));
        lengths.remove(5);
        lengths.remove(5);
        lengths.remove(99);
        assert_eq!((lengths.count(), lengths.means(), lengths.get(5)), (1, [20.0; 2], None));
        lengths.set(1, u32::MAX, None);
        assert!(lengths.get(1).is_some(), "a length is never taken for absence");
        lengths.set(1, 0, None);
        assert_eq!((lengths.count(), lengths.means()), (1, [1.0; 2]));
    }

    #[test]
    fn turns_are_measured_with_what_they_borrow() {
        let mut lengths = Lengths::default();
        // Out of order, two conversations, and one memory that stands alone.
        for (slot, position) in [(4, 3), (2, 1), (3, 2)] {
            lengths.set(slot, 10, seat(1, position));
        }
        lengths.set(0, 100, seat(2, 1));
        lengths.set(9, 7, None);
        let mut lengths = settled(lengths);
        assert_eq!(lengths.windowed(2), [10.0 + 3.0 + 1.5, 10.0 + 5.0 + 3.5]);
        assert_eq!(lengths.windowed(3), [10.0 + 4.0 + 3.0, 10.0 + 5.0 + 5.0]);
        assert_eq!(lengths.windowed(4), [10.0 + 4.0 + 2.0, 10.0 + 5.0 + 3.5]);
        assert_eq!((lengths.windowed(0), lengths.windowed(9)), ([100.0; 2], [7.0; 2]));
        assert_eq!([0, 2, 3, 4, 9].map(|slot| lengths.is_turn(slot)), [false, true, true, true, false]);
        assert!(lengths.has_turns());
        lengths.remove(3);
        lengths.set(9, 10, seat(2, 0));
        lengths.settle();
        assert_eq!(lengths.windowed(4), [14.0, 15.0]);
        assert_eq!(lengths.windowed(9), [10.0 + 30.0, 10.0 + 50.0]);
        let mean =
            |of: fn([f32; 2]) -> f32| [0, 2, 4, 9].map(|slot| of(lengths.windowed(slot))).iter().sum::<f32>() / 4.0;
        assert_eq!(lengths.means(), [mean(|w| w[0]), mean(|w| w[1])]);
    }

    #[test]
    fn a_question_lends_more_to_its_answer() {
        let mut lengths = Lengths::default();
        lengths.set(0, 10, Some(Seat { session: 1, order: (0, 0, 0), asks: true }));
        lengths.set(1, 10, seat(1, 1));
        lengths.set(2, 10, seat(1, 2));
        let lengths = settled(lengths);
        assert_eq!(lengths.windowed(1), [10.0 + 6.0 + 3.0, 10.0 + 7.5 + 5.0]);
        assert_eq!(lengths.windowed(2), [10.0 + 4.0 + 2.0, 10.0 + 5.0 + 3.5]);
    }

    #[test]
    fn a_turn_may_move_to_another_place_or_conversation() {
        let mut lengths = Lengths::default();
        for slot in 0..4 {
            lengths.set(slot, 10, seat(1, i64::from(slot)));
        }
        lengths.settle();
        lengths.set(0, 10, seat(1, 9));
        lengths.set(1, 10, seat(2, 0));
        lengths.settle();
        let orders: Vec<Vec<Slot>> =
            lengths.conversations().map(|turns| turns.map(|(slot, _)| slot).collect()).collect();
        assert_eq!(orders, [vec![2, 3, 0], vec![1]]);
        assert_eq!(lengths.windowed(1), [10.0; 2]);
    }
}
