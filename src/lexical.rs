//! BM25 over slots: how well the words of each current memory fit the words of a query.
//!
//! The caller yields the postings of each query word, wherever they lie (term index or in-memory tail). Statistics
//! come only from those postings and from [`Lengths`], and every sum runs in the order of the query, so where a memory
//! lies changes no score.

use std::collections::HashSet;
use std::ops::Range;

/// Dense number of a memory in this process.
pub type Slot = u32;

/// How fast further occurrences of a word stop counting. Set on dialogue and fact retrieval; the textbook has 1.2.
pub const K1: f32 = 0.6;
/// How much long texts are held back, 0 to 1. Set as [`K1`]; the textbook has 0.75.
pub const B: f32 = 0.2;
/// Words of one query that count: the rarest ones.
pub const MAX_QUERY_TERMS: usize = 12;

/// One word in one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The memory.
    pub slot: Slot,
    /// How often the word occurs in it; 0 is as good as no posting.
    pub frequency: u32,
}

/// Marks a slot without a current memory.
const ABSENT: u32 = u32::MAX;

/// Lengths in words of the current memories: which slots are current, how many they are, and their mean.
#[derive(Debug, Clone, Default)]
pub struct Lengths {
    by_slot: Vec<u32>,
    count: u32,
    total: u64,
}

impl Lengths {
    /// Makes `slot` current with a text of `words` words, or changes its length.
    pub fn set(&mut self, slot: Slot, words: u32) {
        self.remove(slot);
        let place = slot as usize;
        if place >= self.by_slot.len() {
            self.by_slot.resize(place + 1, ABSENT);
        }
        let words = words.min(ABSENT - 1);
        self.by_slot[place] = words;
        self.count += 1;
        self.total += u64::from(words);
    }

    /// Makes `slot` not current: its postings are passed over and it is not counted.
    pub fn remove(&mut self, slot: Slot) {
        if let Some(words) = self.get(slot) {
            self.by_slot[slot as usize] = ABSENT;
            self.count -= 1;
            self.total -= u64::from(words);
        }
    }

    /// Length of a current memory in words.
    pub fn get(&self, slot: Slot) -> Option<u32> {
        self.by_slot.get(slot as usize).copied().filter(|words| *words != ABSENT)
    }

    /// Number of current memories, the N of the formula.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Mean length in words; 1 where no memory has a word, so that it can be divided by.
    pub fn mean(&self) -> f32 {
        if self.total == 0 { 1.0 } else { (self.total as f64 / f64::from(self.count)) as f32 }
    }

    /// How much a word is worth that `holders` of the current memories hold: ln(1 + (N − df + ½) / (df + ½)), the
    /// inverse document frequency that never is negative (Robertson and Zaragoza 2009, with the added 1).
    pub fn idf(&self, holders: u32) -> f32 {
        let (count, holders) = (f64::from(self.count), f64::from(holders));
        (((count - holders).max(0.0) + 0.5) / (holders + 0.5)).ln_1p() as f32
    }
}

/// The part of BM25 that depends on the length of a memory: k1·(1 − b + b·length / mean).
#[derive(Debug, Clone, Copy)]
struct Norm {
    fixed: f32,
    per_word: f32,
}

impl Norm {
    fn new(lengths: &Lengths) -> Self {
        Norm { fixed: K1 * (1.0 - B), per_word: K1 * B / lengths.mean() }
    }

    /// What `occurrences` of a word are worth in a text of `words` words: 1 for one occurrence in a text of mean
    /// length, never more than k1 + 1.
    fn saturate(self, occurrences: f32, words: u32) -> f32 {
        (K1 + 1.0) * occurrences / (occurrences + self.fixed + self.per_word * words as f32)
    }
}

/// A memory that holds a word of the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The memory.
    pub slot: Slot,
    /// BM25 over the query's total idf: about 1 where every word occurs once in a text of mean length, at most 1.6.
    pub score: f32,
}

/// A distinct word of the query.
#[derive(Debug, Clone)]
struct Term {
    /// Where it stands in the query.
    place: usize,
    /// Its postings in [`Scorer::postings`]; as many as current memories hold the word.
    postings: Range<usize>,
    idf: f32,
}

/// Scores queries; owns the buffers that one query leaves for the next. One query at a time: keep a few of them where
/// queries run in parallel.
#[derive(Debug, Default)]
pub struct Scorer {
    /// Postings of the current query, term by term.
    postings: Vec<Posting>,
    /// The terms that count, in the order of the query.
    terms: Vec<Term>,
    total_idf: f32,
    /// Occurrences of one term by slot; all 0 between terms.
    windowed: Vec<f32>,
    /// Slots that are not 0 in `windowed`.
    touched: Vec<Slot>,
    /// Sum by slot; all 0 between queries.
    sums: Vec<f32>,
    hits: Vec<Hit>,
}

impl Scorer {
    /// Scores every memory that holds a word of `query`. Repeated words count once, and at most [`MAX_QUERY_TERMS`]
    /// words count: the rarest that any memory holds, then unknown ones; of equally rare ones the earlier.
    ///
    /// `postings` appends those of one word: at most one for each memory, in any order. Postings of slots that are not
    /// current in `lengths` are passed over.
    ///
    /// # Errors
    /// Whatever `postings` returns; the scorer stays usable.
    pub fn score<'a, E>(
        &'a mut self,
        query: &'a [String],
        lengths: &'a Lengths,
        postings: impl FnMut(&str, &mut Vec<Posting>) -> Result<(), E>,
    ) -> Result<Matches<'a>, E> {
        self.hits.clear();
        self.gather(query, lengths, postings)?;
        self.choose();
        self.total_idf = self.terms.iter().map(|term| term.idf).sum();
        self.accumulate(lengths);
        Ok(Matches { scorer: self, query, lengths })
    }

    /// Collects the postings of every distinct word.
    fn gather<E>(
        &mut self,
        query: &[String],
        lengths: &Lengths,
        mut yield_postings: impl FnMut(&str, &mut Vec<Posting>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.postings.clear();
        self.terms.clear();
        let mut seen = HashSet::new();
        for (place, word) in query.iter().enumerate() {
            if !seen.insert(word) {
                continue;
            }
            let start = self.postings.len();
            yield_postings(word, &mut self.postings)?;
            let mut end = start;
            for read in start..self.postings.len() {
                let posting = self.postings[read];
                if posting.frequency > 0 && lengths.get(posting.slot).is_some() {
                    self.postings[end] = posting;
                    end += 1;
                }
            }
            self.postings.truncate(end);
            self.terms.push(Term { place, postings: start..end, idf: lengths.idf((end - start) as u32) });
        }
        Ok(())
    }

    /// Keeps the words that count. Words that nobody holds come last: they tell memories apart no more, and twelve of
    /// them would hide what the others find.
    fn choose(&mut self) {
        if self.terms.len() > MAX_QUERY_TERMS {
            self.terms.sort_by_key(|term| (term.postings.is_empty(), term.postings.len(), term.place));
            self.terms.truncate(MAX_QUERY_TERMS);
            self.terms.sort_by_key(|term| term.place);
        }
    }

    /// Sums up what each term is worth in each memory, term by term.
    fn accumulate(&mut self, lengths: &Lengths) {
        self.windowed.resize(lengths.by_slot.len(), 0.0);
        self.sums.resize(lengths.by_slot.len(), 0.0);
        let norm = Norm::new(lengths);
        for term in &self.terms {
            // Occurrences are added up before they saturate, so that neighbours can lend theirs here. They, and what
            // is lent, must be whole numbers (of a fitting unit): such sums are exact in whatever order they are made.
            for posting in &self.postings[term.postings.clone()] {
                let occurrences = &mut self.windowed[posting.slot as usize];
                if *occurrences == 0.0 {
                    self.touched.push(posting.slot);
                }
                *occurrences += posting.frequency as f32;
            }
            for slot in self.touched.drain(..) {
                let place = slot as usize;
                let occurrences = std::mem::take(&mut self.windowed[place]);
                let sum = &mut self.sums[place];
                if *sum == 0.0 {
                    self.hits.push(Hit { slot, score: 0.0 });
                }
                *sum += term.idf * norm.saturate(occurrences, lengths.by_slot[place]);
            }
        }
        for hit in &mut self.hits {
            hit.score = std::mem::take(&mut self.sums[hit.slot as usize]) / self.total_idf;
        }
    }
}

/// What a query found.
#[derive(Debug, Clone, Copy)]
pub struct Matches<'a> {
    scorer: &'a Scorer,
    query: &'a [String],
    lengths: &'a Lengths,
}

impl<'a> Matches<'a> {
    /// Every memory that holds a counted word, once, in no particular order.
    pub fn hits(&self) -> &'a [Hit] {
        &self.scorer.hits
    }

    /// The words that count and their share of the query's total idf, in the order of the query. The shares sum up
    /// to 1.
    pub fn words(&self) -> impl Iterator<Item = (&'a str, f32)> {
        let (query, total) = (self.query, self.scorer.total_idf);
        self.scorer.terms.iter().map(move |term| (query[term.place].as_str(), term.idf / total))
    }

    /// The words that a memory matched and what each adds to its score, the greatest first. Walks the query's postings:
    /// for the few hits that are shown.
    pub fn explain(&self, slot: Slot) -> Vec<(&'a str, f32)> {
        let Some(words) = self.lengths.get(slot) else { return Vec::new() };
        let (norm, scorer) = (Norm::new(self.lengths), self.scorer);
        let mut parts: Vec<(&str, f32)> = scorer
            .terms
            .iter()
            .filter_map(|term| {
                let postings = &scorer.postings[term.postings.clone()];
                let frequency = postings.iter().find(|posting| posting.slot == slot)?.frequency;
                let worth = term.idf * norm.saturate(frequency as f32, words);
                Some((self.query[term.place].as_str(), worth / scorer.total_idf))
            })
            .collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use proptest::prelude::*;
    use proptest::test_runner::Config;

    use super::*;

    /// Memories by slot, as lists of words.
    type Texts = BTreeMap<Slot, Vec<String>>;

    fn texts(list: &[(Slot, &str)]) -> Texts {
        list.iter().map(|(slot, text)| (*slot, words(text))).collect()
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn lengths(texts: &Texts) -> Lengths {
        let mut lengths = Lengths::default();
        for (slot, words) in texts {
            lengths.set(*slot, words.len() as u32);
        }
        lengths
    }

    fn postings_of(texts: &Texts, word: &str, out: &mut Vec<Posting>) {
        for (slot, words) in texts {
            let frequency = words.iter().filter(|w| *w == word).count() as u32;
            if frequency > 0 {
                out.push(Posting { slot: *slot, frequency });
            }
        }
    }

    /// Scores by slot as bits, so that equal means equal to the last bit.
    fn score(scorer: &mut Scorer, texts: &Texts, query: &str) -> BTreeMap<Slot, u32> {
        let (query, lengths) = (words(query), lengths(texts));
        let found = scorer.score(&query, &lengths, |word, out| {
            postings_of(texts, word, out);
            Ok::<(), Infallible>(())
        });
        found.unwrap().hits().iter().map(|hit| (hit.slot, hit.score.to_bits())).collect()
    }

    #[test]
    fn lengths_follow_what_comes_and_goes() {
        let mut lengths = Lengths::default();
        assert_eq!((lengths.count(), lengths.mean(), lengths.get(0)), (0, 1.0, None));
        lengths.set(5, 10);
        lengths.set(1, 20);
        lengths.set(5, 40);
        assert_eq!((lengths.count(), lengths.mean()), (2, 30.0));
        assert_eq!((lengths.get(5), lengths.get(1), lengths.get(2), lengths.get(99)), (Some(40), Some(20), None, None));
        lengths.remove(5);
        lengths.remove(5);
        lengths.remove(99);
        assert_eq!((lengths.count(), lengths.mean(), lengths.get(5)), (1, 20.0, None));
        lengths.set(1, u32::MAX);
        assert_eq!(lengths.get(1), Some(u32::MAX - 1), "a length is never taken for absence");
        lengths.set(1, 0);
        assert_eq!((lengths.count(), lengths.mean()), (1, 1.0));
    }

    #[test]
    fn one_word_is_scored_by_the_formula() {
        let texts = texts(&[(0, "tea tea milk"), (3, "tea"), (4, "coffee and milk and sugar")]);
        let (query, lengths) = (words("tea"), lengths(&texts));
        let mut scorer = Scorer::default();
        let found = scorer
            .score(&query, &lengths, |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            })
            .unwrap();
        // One word only: its idf cancels out. Mean length 3.
        let expected = |tf: f32, length: f32| 1.6 * tf / (tf + 0.6 * (0.8 + 0.2 * length / 3.0));
        for hit in found.hits() {
            let want = if hit.slot == 0 { expected(2.0, 3.0) } else { expected(1.0, 1.0) };
            assert!((hit.score - want).abs() < 1e-6, "{hit:?} {want}");
        }
        assert_eq!(found.hits().len(), 2);
        assert!((lengths.idf(2) - (1.0f32 + 1.5 / 2.5).ln()).abs() < 1e-6);
        assert!(lengths.idf(9) > 0.0, "more holders than memories still give a worth");
    }

    #[test]
    fn rare_words_weigh_more_and_unknown_ones_lower_every_score() {
        let texts = texts(&[(0, "red car"), (1, "red boat"), (2, "red house"), (3, "blue car")]);
        let mut scorer = Scorer::default();
        let known = score(&mut scorer, &texts, "red boat");
        assert!(f32::from_bits(known[&1]) > f32::from_bits(known[&0]));
        assert!((f32::from_bits(known[&1]) - 1.0).abs() < 1e-6, "every word once in a text of mean length");
        let with_unknown = score(&mut scorer, &texts, "red boat zeppelin");
        assert!(f32::from_bits(with_unknown[&1]) < f32::from_bits(known[&1]));
        assert!(score(&mut scorer, &texts, "zeppelin").is_empty());
        assert!(score(&mut scorer, &texts, "").is_empty());
        assert!(score(&mut scorer, &Texts::new(), "red").is_empty());
        assert_eq!(score(&mut scorer, &texts, "red red boat red"), known, "repeated words count once");
    }

    #[test]
    fn the_twelve_rarest_known_words_count() {
        // Word `w3` is in the memories 0 to 3, and so on: `w0` is the rarest.
        let texts: Texts = (0..20).map(|slot| (slot, (slot..20).map(|n| format!("w{n}")).collect())).collect();
        let (lengths, mut scorer) = (lengths(&texts), Scorer::default());
        let mut counted = |query: &str| -> Vec<String> {
            let query = words(query);
            let found = scorer.score(&query, &lengths, |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            });
            let found = found.unwrap();
            assert!((found.words().map(|(_, share)| share).sum::<f32>() - 1.0).abs() < 1e-5);
            found.words().map(|(word, _)| word.to_owned()).collect()
        };
        let backwards: Vec<String> = (0..20).rev().map(|n| format!("w{n}")).collect();
        assert_eq!(counted(&backwards.join(" ")), backwards[8..], "the rarest, in the order of the query");
        let unknown: Vec<String> = (0..20).map(|n| format!("u{n}")).collect();
        let expected: Vec<&str> = unknown[..10].iter().map(String::as_str).chain(["w19", "w4"]).collect();
        assert_eq!(counted(&format!("{} w19 w4", unknown.join(" "))), expected, "unknown words crowd nothing out");
    }

    #[test]
    fn explanations_sum_up_to_the_score() {
        let texts = texts(&[(0, "tea tea with milk"), (1, "milk"), (2, "rum")]);
        let (query, lengths, mut scorer) = (words("milk tea rum"), lengths(&texts), Scorer::default());
        let found = scorer
            .score(&query, &lengths, |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            })
            .unwrap();
        let score = found.hits().iter().find(|hit| hit.slot == 0).unwrap().score;
        let parts = found.explain(0);
        assert_eq!(parts.iter().map(|(word, _)| *word).collect::<Vec<_>>(), ["tea", "milk"]);
        assert!((parts.iter().map(|(_, part)| part).sum::<f32>() - score).abs() < 1e-6);
        assert!(found.explain(7).is_empty());
    }

    #[test]
    fn an_error_leaves_the_scorer_usable() {
        let texts = texts(&[(0, "red car"), (1, "red boat")]);
        let mut scorer = Scorer::default();
        let fresh = score(&mut scorer, &texts, "red boat");
        let (query, lengths) = (words("red boat"), lengths(&texts));
        let failed = scorer.score(&query, &lengths, |word, out| {
            postings_of(&texts, word, out);
            if word == "boat" { Err("gone") } else { Ok(()) }
        });
        assert_eq!(failed.err(), Some("gone"));
        assert_eq!(score(&mut scorer, &texts, "red boat"), fresh);
    }

    #[test]
    fn postings_of_slots_that_are_not_current_are_passed_over() {
        let all = texts(&[(0, "red car"), (1, "red boat"), (2, "red sky")]);
        let mut current = all.clone();
        current.remove(&1);
        let (query, lengths, mut scorer) = (words("red boat"), lengths(&current), Scorer::default());
        let found = scorer
            .score(&query, &lengths, |word, out| {
                postings_of(&all, word, out);
                out.push(Posting { slot: 77, frequency: 1 });
                out.push(Posting { slot: 2, frequency: 0 });
                Ok::<(), Infallible>(())
            })
            .unwrap();
        let bits: BTreeMap<Slot, u32> = found.hits().iter().map(|hit| (hit.slot, hit.score.to_bits())).collect();
        assert_eq!(bits, score(&mut Scorer::default(), &current, "red boat"));
    }

    /// The same formula, written down once more in 64 bits.
    fn plainly(texts: &Texts, query: &[String]) -> BTreeMap<Slot, f64> {
        let count = texts.len() as f64;
        let mean = texts.values().map(Vec::len).sum::<usize>() as f64 / count;
        let distinct: HashSet<&String> = query.iter().collect();
        let idf = |word: &String| {
            let df = texts.values().filter(|words| words.contains(word)).count() as f64;
            (1.0 + (count - df + 0.5) / (df + 0.5)).ln()
        };
        let total: f64 = distinct.iter().map(|word| idf(word)).sum();
        let one = |words: &Vec<String>, word: &&String| {
            let tf = words.iter().filter(|w| w == word).count() as f64;
            idf(word) * 1.6 * tf / (tf + 0.6 * (0.8 + 0.2 * words.len() as f64 / mean))
        };
        texts
            .iter()
            .filter(|(_, words)| distinct.iter().any(|word| words.contains(word)))
            .map(|(slot, words)| (*slot, distinct.iter().map(|word| one(words, word)).sum::<f64>() / total))
            .collect()
    }

    fn vocabulary() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g"]).prop_map(str::to_owned)
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, cases: 256, ..Config::default() })]

        #[test]
        fn scores_follow_the_formula_and_no_query_marks_the_next(
            corpora in prop::collection::vec(
                prop::collection::btree_map(0u32..40, prop::collection::vec(vocabulary(), 1..12), 1..20),
                1..4,
            ),
            queries in prop::collection::vec(prop::collection::vec(vocabulary(), 0..8), 4),
        ) {
            let mut used = Scorer::default();
            for (texts, query) in corpora.iter().zip(&queries) {
                let found = score(&mut used, texts, &query.join(" "));
                prop_assert_eq!(&found, &score(&mut Scorer::default(), texts, &query.join(" ")));
                let expected = plainly(texts, query);
                prop_assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
                for (slot, want) in expected {
                    let got = f64::from(f32::from_bits(found[&slot]));
                    prop_assert!((got - want).abs() < 1e-5, "slot {}: {} instead of {}", slot, got, want);
                }
            }
        }

        #[test]
        fn the_order_of_postings_changes_no_score(
            texts in prop::collection::btree_map(0u32..60, prop::collection::vec(vocabulary(), 1..12), 1..30),
            query in prop::collection::vec(vocabulary(), 1..8),
            turn in 0usize..30,
        ) {
            let (lengths, mut scorer) = (lengths(&texts), Scorer::default());
            let found = scorer.score(&query, &lengths, |word, out| {
                let start = out.len();
                postings_of(&texts, word, out);
                let added = &mut out[start..];
                added.rotate_left(turn % added.len().max(1));
                Ok::<(), Infallible>(())
            });
            let turned: BTreeMap<Slot, u32> =
                found.unwrap().hits().iter().map(|hit| (hit.slot, hit.score.to_bits())).collect();
            prop_assert_eq!(turned, score(&mut Scorer::default(), &texts, &query.join(" ")));
        }
    }
}
