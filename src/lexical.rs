//! BM25 over slots: how well the words of each current memory fit the words of a query.
//!
//! The caller yields the postings of each query word, wherever they lie (term index or in-memory tail). Statistics
//! come only from those postings and from [`Lengths`], and every sum runs in the order of the query, so where a memory
//! lies changes no score.
//!
//! A turn of a conversation borrows the words of the turns around it, less each the further away they are: "the same as
//! you, in Lisbon" answers a question that only the turn before it names. Two windows are scored apart, a near and a
//! wide one, and their mean counts. Names of speakers are not lent: they tell the turns of one from those of the other.

mod lengths;
mod spelling;

use std::collections::HashSet;
use std::ops::Range;

use self::lengths::UNITS;
pub use self::lengths::{Lengths, Seat};
pub use self::spelling::Spelling;

/// Dense number of a memory in this process.
pub type Slot = u32;

/// How fast further occurrences of a word stop counting. Set on dialogue and fact retrieval; the textbook has 1.2.
pub const K1: f32 = 0.6;
/// How much long texts are held back, 0 to 1, in the near and in the wide window. Set as [`K1`]; the textbook has 0.75.
pub const B: [f32; 2] = [0.2, 0.1];
/// Words of one query that count: the rarest ones.
pub const MAX_QUERY_TERMS: usize = 12;
/// Share of the rarest held word's idf below which a word is passed over: nearly all memories hold it, and it tells none
/// apart.
const LEAST_IDF: f32 = 0.001;

/// One word in one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The memory.
    pub slot: Slot,
    /// How often the word occurs in it; 0 is as good as no posting.
    pub frequency: u32,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The words of the query.
    pub words: &'a [String],
    /// Names of speakers, as words.
    pub names: &'a HashSet<String>,
}

/// A word that stands for one of the query.
#[derive(Debug, Clone, PartialEq)]
pub struct StandIn {
    /// The word.
    pub word: String,
    /// What of it counts, 0 to 1.
    pub weight: f32,
}

/// The part of BM25 that depends on the length of a memory: k1·(1 − b + b·length / mean), for both windows.
#[derive(Debug, Clone, Copy)]
struct Norm {
    per_word: [f32; 2],
}

impl Norm {
    fn new(lengths: &Lengths) -> Self {
        let means = lengths.means();
        Norm { per_word: [0, 1].map(|window| K1 * B[window] / means[window]) }
    }

    /// What `occurrences` of a word are worth in a text of `words` words: 1 for one occurrence in a text of mean
    /// length, never more than k1 + 1.
    fn saturate(self, occurrences: [f32; 2], words: [f32; 2]) -> [f32; 2] {
        [0, 1].map(|window| {
            let norm = K1 * (1.0 - B[window]) + self.per_word[window] * words[window];
            (K1 + 1.0) * occurrences[window] / (occurrences[window] + norm)
        })
    }
}

/// A memory that holds a word of the query, or stands beside one that does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The memory.
    pub slot: Slot,
    /// BM25 over the query's total idf: about 1 where every word occurs once in a text of mean length, at most 1.6.
    pub score: f32,
}

/// A distinct word of the query, or one that stands for it.
#[derive(Debug, Clone)]
struct Term {
    /// Where it stands in the query.
    place: usize,
    /// Its postings in [`Scorer::postings`]; as many as current memories hold the word.
    postings: Range<usize>,
    /// What of it counts: 1, or less where it only stands for the word of the query.
    weight: f32,
    /// Whether it is lent.
    is_lent: bool,
    /// Its worth in the near and the wide window.
    idf: [f32; 2],
}

/// Scores queries; owns the buffers that one query leaves for the next. One query at a time: keep a few of them where
/// queries run in parallel.
#[derive(Debug, Default)]
pub struct Scorer {
    /// Postings of the current query, term by term.
    postings: Vec<Posting>,
    /// The terms that count, in the order of the query.
    terms: Vec<Term>,
    total_idf: [f32; 2],
    /// Occurrences of one term by slot, in both windows; all 0 between terms.
    windowed: Vec<[f32; 2]>,
    /// Slots that are not 0 in `windowed`.
    touched: Vec<Slot>,
    /// What one word of the query and those that stand for it are worth by slot, the best of them; all 0 between words.
    best: Vec<[f32; 2]>,
    /// Slots that are not 0 in `best`.
    worthy: Vec<Slot>,
    /// Sum by slot; all 0 between queries.
    sums: Vec<[f32; 2]>,
    hits: Vec<Hit>,
}

impl Scorer {
    /// Scores every memory that holds a word of the query, or borrows one. Repeated words count once, and at most
    /// [`MAX_QUERY_TERMS`] words count: the rarest that any memory holds, then unknown ones; of equally rare ones the
    /// earlier. Beside a rare one, a word that nearly all memories hold does not count. `stand_ins` yields what may
    /// stand for a word; it is told whether any memory holds it. Of a word and its stand-ins the one counts that is
    /// worth most in a memory.
    ///
    /// `postings` appends those of one word: at most one for each memory, in any order. Postings of slots that are not
    /// current in `lengths` are passed over. `holders` says how many current memories hold a word, at least; where that
    /// is enough to know that it does not count, its postings are not read. `lengths` must be settled.
    ///
    /// # Errors
    /// Whatever `holders`, `postings` or `stand_ins` returns; the scorer stays usable.
    pub fn score<'a, E>(
        &'a mut self,
        asked: Asked<'a>,
        lengths: &'a Lengths,
        holders: impl Fn(&str) -> Result<u32, E>,
        mut postings: impl FnMut(&str, &mut Vec<Posting>) -> Result<(), E>,
        stand_ins: impl FnMut(&str, bool) -> Result<Vec<StandIn>, E>,
    ) -> Result<Matches<'a>, E> {
        self.hits.clear();
        self.gather(asked, lengths, holders, &mut postings)?;
        self.choose(lengths);
        self.expand(asked, lengths, &mut postings, stand_ins)?;
        self.accumulate(lengths);
        Ok(Matches { scorer: self, asked, lengths })
    }

    /// Collects the postings of every distinct word that may count, of the rarest first.
    fn gather<E>(
        &mut self,
        asked: Asked<'_>,
        lengths: &Lengths,
        holders: impl Fn(&str) -> Result<u32, E>,
        postings: &mut impl FnMut(&str, &mut Vec<Posting>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.postings.clear();
        self.terms.clear();
        let mut seen = HashSet::new();
        let mut words: Vec<(u32, usize, &str)> = Vec::new();
        for (place, word) in asked.words.iter().enumerate() {
            if seen.insert(word) {
                words.push((holders(word)?, place, word));
            }
        }
        words.sort_unstable();
        let mut least = 0.0f32;
        for (held, place, word) in words {
            if lengths.idf(held) < least {
                continue;
            }
            let postings = self.read(word, lengths, postings)?;
            if !postings.is_empty() {
                least = least.max(lengths.idf(postings.len() as u32) * LEAST_IDF);
            }
            let is_lent = !asked.names.contains(word);
            self.terms.push(Term { place, postings, weight: 1.0, is_lent, idf: [0.0; 2] });
        }
        self.terms.sort_unstable_by_key(|term| term.place);
        Ok(())
    }

    /// Appends the current postings of one word.
    fn read<E>(
        &mut self,
        word: &str,
        lengths: &Lengths,
        postings: &mut impl FnMut(&str, &mut Vec<Posting>) -> Result<(), E>,
    ) -> Result<Range<usize>, E> {
        let start = self.postings.len();
        postings(word, &mut self.postings)?;
        let mut end = start;
        for read in start..self.postings.len() {
            let posting = self.postings[read];
            if posting.frequency > 0 && lengths.get(posting.slot).is_some() {
                self.postings[end] = posting;
                end += 1;
            }
        }
        self.postings.truncate(end);
        Ok(start..end)
    }

    /// Keeps the words that count. Words that nobody holds come last: they tell memories apart no more, and twelve of
    /// them would hide what the others find.
    fn choose(&mut self, lengths: &Lengths) {
        let idf = |term: &Term| lengths.idf(term.postings.len() as u32);
        let held = self.terms.iter().filter(|term| !term.postings.is_empty());
        let least = held.map(idf).fold(0.0, f32::max) * LEAST_IDF;
        self.terms.retain(|term| idf(term) >= least);
        if self.terms.len() > MAX_QUERY_TERMS {
            self.terms.sort_by_key(|term| (term.postings.is_empty(), term.postings.len(), term.place));
            self.terms.truncate(MAX_QUERY_TERMS);
            self.terms.sort_by_key(|term| term.place);
        }
    }

    /// Adds what stands for the words that count, each behind its word.
    fn expand<E>(
        &mut self,
        asked: Asked<'_>,
        lengths: &Lengths,
        postings: &mut impl FnMut(&str, &mut Vec<Posting>) -> Result<(), E>,
        mut stand_ins: impl FnMut(&str, bool) -> Result<Vec<StandIn>, E>,
    ) -> Result<(), E> {
        for term in std::mem::take(&mut self.terms) {
            let (place, is_held) = (term.place, !term.postings.is_empty());
            self.terms.push(term);
            for StandIn { word, weight } in stand_ins(&asked.words[place], is_held)? {
                let postings = self.read(&word, lengths, postings)?;
                let is_lent = !asked.names.contains(&word);
                self.terms.push(Term { place, postings, weight: weight.min(0.99), is_lent, idf: [0.0; 2] });
            }
        }
        Ok(())
    }

    /// Sums up what each term is worth in each memory, term by term.
    fn accumulate(&mut self, lengths: &Lengths) {
        for buffer in [&mut self.windowed, &mut self.best, &mut self.sums] {
            buffer.resize(lengths.slots(), [0.0; 2]);
        }
        self.total_idf = [0.0; 2];
        let norm = Norm::new(lengths);
        let mut terms = std::mem::take(&mut self.terms);
        for group in terms.chunk_by_mut(|before, after| before.place == after.place) {
            let (mut own_idf, is_single) = ([f32::MAX; 2], group.len() == 1);
            for term in group {
                let holders = self.lend(term, lengths);
                // What stands for a word is worth no more than the word would be.
                let idf = holders.map(|holders| lengths.idf(holders));
                term.idf = [0, 1].map(|window| idf[window].min(own_idf[window]));
                if term.weight >= 1.0 {
                    own_idf = term.idf;
                    self.total_idf = [0, 1].map(|window| self.total_idf[window] + term.idf[window]);
                }
                for slot in self.touched.drain(..) {
                    let occurrences = std::mem::take(&mut self.windowed[slot as usize]).map(|units| units / UNITS);
                    let worth = norm.saturate(occurrences, lengths.windowed(slot));
                    if is_single {
                        let worth = [0, 1].map(|window| term.idf[window] * worth[window]);
                        add_to_sum(&mut self.sums, &mut self.hits, slot, worth);
                        continue;
                    }
                    let best = &mut self.best[slot as usize];
                    if is_nothing(*best) {
                        self.worthy.push(slot);
                    }
                    *best = [0, 1].map(|window| best[window].max(term.weight * term.idf[window] * worth[window]));
                }
            }
            for slot in self.worthy.drain(..) {
                let best = std::mem::take(&mut self.best[slot as usize]);
                add_to_sum(&mut self.sums, &mut self.hits, slot, best);
            }
        }
        self.terms = terms;
        for hit in &mut self.hits {
            let sums = std::mem::take(&mut self.sums[hit.slot as usize]);
            hit.score = mean_of_windows(lengths.is_turn(hit.slot), sums, self.total_idf);
        }
    }
}

impl Scorer {
    /// Adds up the occurrences of a term, and what of them is lent; returns how many memories have any, in both windows.
    /// They are whole numbers before they saturate: such sums are exact in whatever order they are made.
    fn lend(&mut self, term: &Term, lengths: &Lengths) -> [u32; 2] {
        let mut holders = [0u32; 2];
        let (windowed, touched) = (&mut self.windowed, &mut self.touched);
        let mut lend = |slot: Slot, frequency: u32, lent: [u32; 2]| {
            let occurrences = &mut windowed[slot as usize];
            if is_nothing(*occurrences) {
                touched.push(slot);
            }
            for window in 0..2 {
                let units = (frequency * lent[window]) as f32;
                holders[window] += u32::from(occurrences[window] == 0.0 && units > 0.0);
                occurrences[window] += units;
            }
        };
        for posting in &self.postings[term.postings.clone()] {
            let frequency = posting.frequency.min(1 << 16);
            if term.is_lent {
                lengths.borrowers(posting.slot, |slot, lent| lend(slot, frequency, lent));
            } else {
                lend(posting.slot, frequency, [UNITS as u32; 2]);
            }
        }
        holders
    }
}

/// Whether there is nothing in either window: no number here is below 0.
fn is_nothing([near, wide]: [f32; 2]) -> bool {
    near <= 0.0 && wide <= 0.0
}

/// Adds what a word is worth in a memory.
fn add_to_sum(sums: &mut [[f32; 2]], hits: &mut Vec<Hit>, slot: Slot, worth: [f32; 2]) {
    let sum = &mut sums[slot as usize];
    if is_nothing(*sum) {
        hits.push(Hit { slot, score: 0.0 });
    }
    *sum = [0, 1].map(|window| sum[window] + worth[window]);
}

/// What the two windows say together. A memory that stands alone has only one.
fn mean_of_windows(is_turn: bool, sums: [f32; 2], totals: [f32; 2]) -> f32 {
    let near = sums[0] / totals[0];
    if is_turn { near.midpoint(sums[1] / totals[1]) } else { near }
}

/// What a query found.
#[derive(Debug, Clone, Copy)]
pub struct Matches<'a> {
    scorer: &'a Scorer,
    asked: Asked<'a>,
    lengths: &'a Lengths,
}

impl<'a> Matches<'a> {
    /// Every memory that holds a counted word or borrows one, once, in no particular order.
    pub fn hits(&self) -> &'a [Hit] {
        &self.scorer.hits
    }

    /// The words that count and their share of the query's total idf, in the order of the query. The shares sum up
    /// to 1.
    pub fn words(&self) -> impl Iterator<Item = (&'a str, f32)> {
        let (words, total) = (self.asked.words, self.scorer.total_idf[0]);
        let own = self.scorer.terms.iter().filter(|term| term.weight >= 1.0);
        own.map(move |term| (words[term.place].as_str(), term.idf[0] / total))
    }

    /// The words of the query that a memory matched and what each adds to its score, the greatest first. Walks the
    /// query's postings: for the few hits that are shown.
    pub fn explain(&self, slot: Slot) -> Vec<(&'a str, f32)> {
        if self.lengths.get(slot).is_none() {
            return Vec::new();
        }
        let (norm, scorer) = (Norm::new(self.lengths), self.scorer);
        let is_turn = self.lengths.is_turn(slot);
        let mut parts: Vec<(&str, f32)> = Vec::new();
        for group in scorer.terms.chunk_by(|before, after| before.place == after.place) {
            let mut best = [0.0f32; 2];
            for term in group {
                let units = self.units(term, slot);
                let worth = norm.saturate(units.map(|units| units as f32 / UNITS), self.lengths.windowed(slot));
                best = [0, 1].map(|window| best[window].max(term.weight * term.idf[window] * worth[window]));
            }
            if !is_nothing(best) {
                let word = self.asked.words[group[0].place].as_str();
                parts.push((word, mean_of_windows(is_turn, best, scorer.total_idf)));
            }
        }
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }

    /// Occurrences of a term in a memory and its windows.
    fn units(&self, term: &Term, slot: Slot) -> [u32; 2] {
        let mut units = [0u32; 2];
        for posting in &self.scorer.postings[term.postings.clone()] {
            if !term.is_lent {
                if posting.slot == slot {
                    units = [posting.frequency * UNITS as u32; 2];
                }
                continue;
            }
            self.lengths.borrowers(posting.slot, |borrower, lent| {
                if borrower == slot {
                    units = [0, 1].map(|window| units[window] + posting.frequency * lent[window]);
                }
            });
        }
        units
    }
}

#[cfg(test)]
mod tests;
