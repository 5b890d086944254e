//! Any text as a query against a small store.
//!
//! - Plain text is never an error, whatever it holds; a filter that makes no sense is one, with a hint.
//! - The same question gets the same answer, also from a process that has no index.
//! - A memory whose own words are part of the query is found.
//! - Hits are memories as they were told, best first, within the limit, with finite numbers.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use ebbmark::engine::{Engine, NewMemory, RecallAnswer, RecallRequest, RememberRequest, TidyRequest, say};

use super::home::{Choices, Home};

const TEXTS: [&str; 16] = [
    "Prefers tea over coffee in the morning.",
    "The billing API listens on port 8080.",
    "Owns a red bicycle from 1998.",
    "Ada said: \"never deploy on a Friday\".",
    "Rents a garage by the canal, 2nd door left.",
    "Le café de la gare ouvre à 6 h 30.",
    "Die Straße heißt Grünstraße.",
    "東京の図書館は月曜日に閉まります。",
    "Uses rustfmt with max_width = 120 in every crate.",
    "`cargo test --locked` must pass before a release.",
    "Moved from PostgreSQL 14 to 16 in March 2026.",
    "The cat is called Pangur Bán.",
    "Allergic to peanuts and to cats.",
    "Decided against Kubernetes: too much for two people.",
    "Reads e-mail twice a day, at 9 and at 4.",
    "https://example.org/wiki/Ebb_and_flow explains tides",
];

/// A store with an index, and the same journal where nothing is indexed.
struct Stores {
    _homes: [Home; 2],
    engines: [Engine; 2],
    texts: BTreeMap<String, String>,
}

fn stores() -> &'static Stores {
    static STORES: OnceLock<Stores> = OnceLock::new();
    STORES.get_or_init(|| {
        let (home, bare) = (Home::new(), Home::new());
        home.configure("promotion = \"off\"");
        let engine = home.engine();
        let mut texts = BTreeMap::new();
        let mut tell = |from: usize, to: usize| {
            let memories: Vec<NewMemory> = (from..to)
                .map(|place| NewMemory {
                    text: TEXTS[place].into(),
                    scope: (place % 4 == 3).then(|| "falcon".into()),
                    tags: if place % 2 == 0 { vec!["even".into(), "a/b".into()] } else { Vec::new() },
                    title: (place % 3 == 0).then(|| format!("Number {place}")),
                    supersedes: if place == 12 {
                        texts.keys().next().cloned().into_iter().collect()
                    } else {
                        Vec::new()
                    },
                    ..NewMemory::default()
                })
                .collect();
            let answer = engine.remember(&RememberRequest::of(&memories)).unwrap();
            for (told, memory) in answer.results.into_iter().zip(memories) {
                texts.insert(told.id.unwrap(), memory.text);
            }
        };
        tell(0, 11);
        engine.tidy(&TidyRequest::default()).unwrap();
        tell(11, TEXTS.len());
        fs::copy(home.journal(), bare.journal()).unwrap();
        let engines = [home.engine(), bare.engine()];
        assert_eq!(texts.len(), TEXTS.len());
        Stores { _homes: [home, bare], engines, texts }
    })
}

/// The first bytes choose filters, the rest is the query; a zero byte separates several wordings.
pub fn check(bytes: &[u8]) {
    let stores = stores();
    let mut choices = Choices::new(bytes);
    let switches = choices.byte();
    let (limit, wanted) = (choices.below(64) as u32, choices.below(TEXTS.len()));
    let is_on = |bit: u8| switches & 1 << bit != 0;
    let since = is_on(0).then(|| String::from_utf8_lossy(choices.some_bytes()).into_owned());
    let filter = is_on(1).then(|| String::from_utf8_lossy(choices.some_bytes()).into_owned());
    let text = String::from_utf8_lossy(choices.rest());
    let query: Vec<String> = text.split('\0').take(5).map(str::to_owned).collect();
    let request = RecallRequest {
        query,
        limit: Some(limit),
        since: since.clone(),
        tags: filter.iter().filter(|_| is_on(2)).cloned().collect(),
        entities: filter.iter().filter(|_| is_on(3)).cloned().collect(),
        scope: filter.iter().cloned().collect(),
        include: if is_on(4) { vec!["superseded".into(), "faded".into(), "all_scopes".into()] } else { Vec::new() },
        detail: is_on(5).then(|| "line".into()),
        explain: Some(is_on(6)),
        reinforce: Some(false),
        ..RecallRequest::default()
    };
    let answers: Vec<_> = stores.engines.iter().chain(&stores.engines).map(|engine| engine.recall(&request)).collect();
    let mut good = Vec::new();
    for answer in answers {
        match answer {
            Ok(answer) => good.push(answer),
            Err(error) => {
                assert!(since.is_some(), "{error}");
                assert!(error.to_string().starts_with("since: ") && !error.hint().is_empty(), "{error}");
            }
        }
    }
    let Some(first) = good.first() else { return };
    assert_eq!(good.len(), 4, "an error came and went");
    well_formed(first, &request);
    for other in &good[1..] {
        assert_eq!(other, first, "the same question, another answer");
    }

    let own_words = RecallRequest {
        // Twelve words of a query count, the rarest and of these the first.
        query: vec![format!("{} {}", TEXTS[wanted], text.replace('\0', " "))],
        limit: Some(50),
        include: vec!["superseded".into(), "faded".into(), "all_scopes".into()],
        reinforce: Some(false),
        ..RecallRequest::default()
    };
    for engine in &stores.engines {
        let answer = engine.recall(&own_words).unwrap();
        well_formed(&answer, &own_words);
        let is_found = answer.hits.iter().any(|hit| hit.text == TEXTS[wanted]);
        assert!(is_found, "`{}` is not found by {:?}", TEXTS[wanted], own_words.query);
    }
}

fn well_formed(answer: &RecallAnswer, request: &RecallRequest) {
    let limit = request.limit.unwrap_or(8).clamp(1, 50) as usize;
    assert!(answer.hits.len() <= limit && answer.hits.len() as u64 <= answer.total);
    assert!(!answer.found || !answer.hits.is_empty());
    let has_query = request.query.iter().any(|query| !query.trim().is_empty());
    for (place, hit) in answer.hits.iter().enumerate() {
        let text = &stores().texts[&hit.id];
        let is_line = request.detail.is_some();
        assert!(hit.text == *text || (is_line && text.starts_with(hit.text.trim_end_matches('…'))), "{}", hit.text);
        assert!(hit.score.is_finite() && hit.score >= 0.0, "{}", hit.score);
        assert!(place == 0 || hit.score <= answer.hits[place - 1].score, "{:?}", answer.hits);
        assert!(!answer.hits[..place].iter().any(|other| other.id == hit.id), "{} twice", hit.id);
        assert!(["active", "superseded", "faded"].contains(&hit.status.as_str()), "{}", hit.status);
        if let Some(why) = &hit.why {
            assert!([why.lexical, why.strength, why.level, why.standing, why.idle_days].iter().all(|n| n.is_finite()));
            assert!(!has_query || !why.words.is_empty(), "a hit without a word: {hit:?}");
        }
    }
    assert!(answer.hits.is_empty() || say::recall(answer).contains(&answer.hits[0].id[..4]));
}
