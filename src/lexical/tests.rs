#![allow(
    clippy::similar_names,
    clippy::float_cmp,
    clippy::unnecessary_wraps,
    reason = "exact values, and score beside scorer"
)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::LazyLock;

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
        lengths.set(*slot, words.len() as u32, None);
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

/// Nothing stands for anything.
/// Of no word it is known beforehand how many hold it.
fn no_bound<E>(_: &str) -> Result<u32, E> {
    Ok(0)
}

fn nothing<E>(_: &str, _: bool) -> Result<Vec<StandIn>, E> {
    Ok(Vec::new())
}

fn asked(words: &[String]) -> Asked<'_> {
    static NO_NAMES: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
    Asked { words, names: &NO_NAMES }
}

/// Scores by slot as bits, so that equal means equal to the last bit.
fn score(scorer: &mut Scorer, texts: &Texts, query: &str) -> BTreeMap<Slot, u32> {
    let (query, lengths) = (words(query), lengths(texts));
    let found = scorer.score(
        asked(&query),
        &lengths,
        |word| {
            let mut held = Vec::new();
            postings_of(texts, word, &mut held);
            Ok(held.len() as u32)
        },
        |word, out| {
            postings_of(texts, word, out);
            Ok::<(), Infallible>(())
        },
        nothing,
    );
    found.unwrap().hits().iter().map(|hit| (hit.slot, hit.score.to_bits())).collect()
}

#[test]
fn one_word_is_scored_by_the_formula() {
    let texts = texts(&[(0, "tea tea milk"), (3, "tea"), (4, "coffee and milk and sugar")]);
    let (query, lengths) = (words("tea"), lengths(&texts));
    let mut scorer = Scorer::default();
    let found = scorer
        .score(
            asked(&query),
            &lengths,
            no_bound,
            |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            },
            nothing,
        )
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
fn beside_a_rare_word_one_that_nearly_all_hold_does_not_count() {
    let mut texts: Texts = (0..2_000).map(|slot| (slot, words("team"))).collect();
    texts.insert(7, words("team zeppelin"));
    let mut scorer = Scorer::default();
    let found = score(&mut scorer, &texts, "team zeppelin");
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [7]);
    assert_eq!(score(&mut scorer, &texts, "team").len(), 2_000, "alone it is all there is");
    assert_eq!(score(&mut scorer, &texts, "team unheard").len(), 2_000, "and so beside a word that nobody holds");
    for slot in 0..10 {
        texts.insert(slot, words("zeppelin"));
    }
    assert_eq!(score(&mut scorer, &texts, "team zeppelin").len(), 2_000, "half a percent lack it: it tells them apart");
}

#[test]
fn what_does_not_count_is_not_even_read() {
    let mut texts: Texts = (0..2_000).map(|slot| (slot, words("team"))).collect();
    texts.insert(7, words("team zeppelin"));
    let (query, lengths) = (words("team zeppelin"), lengths(&texts));
    let read = |bound: u32| {
        let (mut read, mut scorer) = (Vec::new(), Scorer::default());
        let found = scorer.score(
            asked(&query),
            &lengths,
            |word| Ok(if word == "team" { bound } else { 0 }),
            |word, out| {
                read.push(word.to_owned());
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            },
            nothing,
        );
        let hits = found.unwrap().hits().to_vec();
        (read, hits)
    };
    let (all, none) = (read(2_000), read(0));
    assert_eq!(all.0, ["zeppelin"]);
    assert_eq!(none.0, ["team", "zeppelin"]);
    assert_eq!(all.1, none.1, "and the scores are the same");
    assert_eq!(read(1_000).0, ["zeppelin", "team"], "half of them might be all: it has to be read");
}

#[test]
fn the_twelve_rarest_known_words_count() {
    // Word `w3` is in the memories 0 to 3, and so on: `w0` is the rarest.
    let texts: Texts = (0..20).map(|slot| (slot, (slot..20).map(|n| format!("w{n}")).collect())).collect();
    let (lengths, mut scorer) = (lengths(&texts), Scorer::default());
    let mut counted = |query: &str| -> Vec<String> {
        let query = words(query);
        let found = scorer.score(
            asked(&query),
            &lengths,
            no_bound,
            |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            },
            nothing,
        );
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
        .score(
            asked(&query),
            &lengths,
            no_bound,
            |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            },
            nothing,
        )
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
    let failed = scorer.score(
        asked(&query),
        &lengths,
        no_bound,
        |word, out| {
            postings_of(&texts, word, out);
            if word == "boat" { Err("gone") } else { Ok(()) }
        },
        nothing,
    );
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
        .score(
            asked(&query),
            &lengths,
            no_bound,
            |word, out| {
                postings_of(&all, word, out);
                out.push(Posting { slot: 77, frequency: 1 });
                out.push(Posting { slot: 2, frequency: 0 });
                Ok::<(), Infallible>(())
            },
            nothing,
        )
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
        let found = scorer.score(asked(&query), &lengths, no_bound, |word, out| {
            let start = out.len();
            postings_of(&texts, word, out);
            let added = &mut out[start..];
            added.rotate_left(turn % added.len().max(1));
            Ok::<(), Infallible>(())
        }, nothing);
        let turned: BTreeMap<Slot, u32> =
            found.unwrap().hits().iter().map(|hit| (hit.slot, hit.score.to_bits())).collect();
        prop_assert_eq!(turned, score(&mut Scorer::default(), &texts, &query.join(" ")));
    }
}

#[test]
fn turns_borrow_from_the_turns_around_them() {
    let texts = texts(&[(0, "where did ana move"), (1, "to lisbon last spring"), (2, "nice"), (3, "rain"), (9, "ana")]);
    let mut lengths = Lengths::default();
    for (slot, words) in &texts {
        let seat = Seat { session: 1, order: (i64::from(*slot), 0, 0), asks: *slot == 0 };
        lengths.set(*slot, words.len() as u32, (*slot < 9).then_some(seat));
    }
    lengths.settle();
    let mut scorer = Scorer::default();
    let mut scores = |query: &str, names: &[&str]| -> BTreeMap<Slot, f32> {
        let (words, names) = (words(query), names.iter().map(|name| (*name).to_owned()).collect());
        let asked = Asked { words: &words, names: &names };
        let found = scorer.score(
            asked,
            &lengths,
            no_bound,
            |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            },
            nothing,
        );
        let found = found.unwrap();
        for hit in found.hits() {
            let sum: f32 = found.explain(hit.slot).iter().map(|(_, share)| share).sum();
            assert!((sum - hit.score).abs() < 1e-5, "{hit:?} is explained as {sum}");
        }
        found.hits().iter().map(|hit| (hit.slot, hit.score)).collect()
    };
    let found = scores("ana lisbon", &[]);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 9]);
    assert!(found[&1] > found[&0] && found[&0] > found[&2] && found[&2] > found[&3], "{found:?}");
    // One occurrence here, 0.6 and 0.75 of one lent by the question, over the lengths of the windows.
    let found = scores("ana", &[]);
    let means = lengths.means();
    let worth = |occurrences: f32, window: usize| {
        let words = lengths.windowed(1)[window];
        1.6 * occurrences / (occurrences + 0.6 * (1.0 - B[window] + B[window] * words / means[window]))
    };
    assert!((found[&1] - worth(0.6, 0).midpoint(worth(0.75, 1))).abs() < 1e-5);
    assert_eq!(scores("ana", &["ana"]).keys().copied().collect::<Vec<_>>(), [0, 9], "names are not lent");
}

#[test]
fn words_that_stand_for_others_count_less() {
    let texts = texts(&[(0, "car"), (1, "vehicle"), (2, "tea"), (3, "car vehicle"), (4, "wagon")]);
    let (query, lengths, mut scorer) = (words("car tee"), lengths(&texts), Scorer::default());
    let mut told = Vec::new();
    let found = scorer
        .score(
            asked(&query),
            &lengths,
            no_bound,
            |word, out| {
                postings_of(&texts, word, out);
                Ok::<(), Infallible>(())
            },
            |word, is_held| {
                told.push((word.to_owned(), is_held));
                let stand_in = |word: &str, weight| StandIn { word: word.into(), weight };
                Ok(if is_held {
                    vec![stand_in("vehicle", 0.4), stand_in("wagon", 0.2)]
                } else {
                    vec![stand_in("tea", 0.5)]
                })
            },
        )
        .unwrap();
    let scores: BTreeMap<Slot, f32> = found.hits().iter().map(|hit| (hit.slot, hit.score)).collect();
    let total = lengths.idf(2) + lengths.idf(0);
    let worth = |words: f32| 1.6 / (1.0 + 0.6 * (0.8 + 0.2 * words / 1.2));
    let near = |slot: Slot, expected: f32| assert!((scores[&slot] - expected).abs() < 1e-6, "{slot}: {scores:?}");
    near(0, lengths.idf(2) * worth(1.0) / total);
    near(1, 0.4 * lengths.idf(2) * worth(1.0) / total);
    near(2, 0.5 * lengths.idf(1) * worth(1.0) / total);
    near(3, lengths.idf(2) * worth(2.0) / total);
    // A rarer word is worth no more than the one it stands for.
    near(4, 0.2 * lengths.idf(2) * worth(1.0) / total);
    for hit in found.hits() {
        let parts = found.explain(hit.slot);
        assert!((parts.iter().map(|(_, share)| share).sum::<f32>() - hit.score).abs() < 1e-6);
        assert_eq!(parts[0].0, if hit.slot == 2 { "tee" } else { "car" });
    }
    assert_eq!(found.words().count(), 2);
    assert_eq!(told, [("car".to_owned(), true), ("tee".to_owned(), false)]);
}
