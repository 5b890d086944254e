//! Long answers: packed to a budget, continued by a cursor; and what was not found is kept where that is wanted.

use ebbmark::engine::{Engine, RecallAnswer, RecallRequest};
use proptest::prelude::*;

use crate::support::{Calls, Store};

/// What a reply's hits and its cursor cost, as agents pay for them: four characters of JSON a token.
fn tokens(answer: &RecallAnswer) -> usize {
    let cursor = answer.cursor.as_deref().unwrap_or_default();
    (serde_json::to_string(&answer.hits).unwrap().chars().count() + cursor.len()) / 4
}

fn page(engine: &Engine, request: &RecallRequest) -> RecallAnswer {
    engine.recall(request).unwrap()
}

#[test]
fn pages_show_each_hit_once_whatever_is_said_and_used_between_them() {
    let mut store = Store::new();
    let engine = store.engine();
    let mut known: Vec<String> =
        (0..30).map(|n| engine.save(&format!("The boat of team {n} lies in harbour {}", n * 7 % 30))).collect();
    let mut request = RecallRequest { limit: Some(7), ..RecallRequest::of("which boat lies in harbour 3") };
    let mut seen = Vec::new();
    loop {
        let engine = store.engine();
        let answer = page(&engine, &request);
        assert!(answer.hits.len() == 7 || answer.cursor.is_none());
        seen.extend(answer.hits.into_iter().map(|hit| hit.id));
        // Uses are counted, time passes, others come: all of it moves what is left.
        engine.flush_uses().unwrap();
        known.push(engine.save(&format!("The boat of page {} lies in harbour 3", seen.len())));
        store.pass_hours(30);
        let Some(cursor) = answer.cursor else { break };
        request.cursor = Some(cursor);
    }
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), seen.len(), "none is shown twice");
    assert!(known[..30].iter().all(|id| seen.contains(id)), "and none is passed over");
}

#[test]
fn a_list_without_a_query_has_pages_too() {
    let store = Store::new();
    let all = store.fill(20);
    let mut request = RecallRequest { limit: Some(8), ..RecallRequest::default() };
    let mut seen = Vec::new();
    let mut pages = 0;
    loop {
        let answer = page(&store.engine(), &request);
        seen.extend(answer.hits.into_iter().map(|hit| hit.id));
        pages += 1;
        let Some(cursor) = answer.cursor else { break };
        request.cursor = Some(cursor);
    }
    seen.sort();
    let mut all = all;
    all.sort();
    assert_eq!((pages, seen), (3, all));
}

#[test]
fn what_is_only_nearest_has_no_second_page() {
    let store = Store::new();
    store.fill(20);
    let answer = page(&store.engine(), &RecallRequest::of("the orbital period of Neptune"));
    assert!(!answer.found && answer.cursor.is_none());
}

#[test]
fn a_cursor_that_is_none_is_refused() {
    let store = Store::new();
    store.fill(2);
    for cursor in ["x", "abcdefg", "äbcdef", "abc-ef", &"a".repeat(6_000)] {
        let request = RecallRequest { cursor: Some(cursor.into()), ..RecallRequest::of("memory") };
        let error = store.engine().recall(&request).unwrap_err().to_string();
        assert!(error.starts_with("cursor: "), "{cursor}: {error}");
    }
    let unknown = RecallRequest { cursor: Some("zzzzzz".into()), ..RecallRequest::default() };
    assert_eq!(page(&store.engine(), &unknown).hits.len(), 2);
}

#[test]
fn a_budget_is_kept_and_the_best_come_in_full() {
    let store = Store::new();
    let engine = store.engine();
    for n in 0..40 {
        engine.save(&format!("Decided in meeting {n} about the harbour:\n{}", "the reasons are long. ".repeat(n)));
    }
    let ask = |budget: u32| {
        let request =
            RecallRequest { budget_tokens: Some(budget), ..RecallRequest::of("what was decided about harbour") };
        page(&store.engine(), &request)
    };
    let mut before = 0;
    for budget in [100, 300, 1_000, 3_000] {
        let answer = ask(budget);
        assert!(tokens(&answer) <= budget as usize, "{budget}: {}", tokens(&answer));
        assert!(answer.hits.len() > before, "{budget}: more fits into more");
        assert!(answer.cursor.is_some());
        before = answer.hits.len();
        for hit in &answer.hits {
            let whole = engine.whole(&hit.id).memory.text;
            let line = format!("{} …", whole.lines().next().unwrap());
            assert!(hit.text == whole || hit.text == line, "no other cut: {}", hit.text);
        }
        let text = store.ok(&["recall", "what was decided about harbour", "--budget-tokens", &budget.to_string()]);
        assert!(text.contains("more: cursor "), "{text}");
    }
    let rich = ask(1_000_000);
    assert_eq!(rich.hits.len(), 40, "a budget alone is not held back by the usual number");
    assert!(rich.cursor.is_none() && rich.hits.iter().all(|hit| !hit.text.ends_with('…')));
    let nothing = ask(5);
    assert!(nothing.found && nothing.hits.is_empty() && nothing.cursor.is_none());
    assert!(nothing.notice.unwrap().contains("raise `budget_tokens`"));
    let zero = RecallRequest { budget_tokens: Some(0), ..RecallRequest::of("x") };
    assert!(store.engine().recall(&zero).is_err());
}

#[test]
fn a_line_is_cheap() {
    let store = Store::new();
    store.fill(20);
    let request = RecallRequest { detail: Some("line".into()), limit: Some(20), ..RecallRequest::default() };
    let answer = page(&store.engine(), &request);
    assert!((30..=60).contains(&(tokens(&answer) / answer.hits.len())), "{}", tokens(&answer));
}

#[test]
fn what_was_left_out_is_not_used() {
    let store = Store::new();
    let engine = store.engine();
    let ids: Vec<String> =
        ["first", "second", "third"].map(|n| engine.save(&format!("The {n} boat lies in harbour seven"))).to_vec();
    let request = RecallRequest { budget_tokens: Some(150), ..RecallRequest::of("which boat lies in harbour seven") };
    let shown: Vec<String> = page(&engine, &request).hits.into_iter().map(|hit| hit.id).collect();
    assert!(!shown.is_empty() && shown.len() < 3, "{shown:?}");
    engine.flush_uses().unwrap();
    for id in ids {
        assert_eq!(engine.whole(&id).uses > 0, shown.contains(&id));
    }
}

#[test]
fn misses_are_kept_only_where_that_is_wanted() {
    let store = Store::new();
    store.engine().save("Allergic to peanuts");
    let ask = |query: &str| {
        let engine = store.engine();
        engine.recall(&RecallRequest::of(query)).unwrap();
        engine.flush_uses().unwrap();
    };
    ask("orbital period of Neptune");
    assert!(store.engine().counts().recent_misses.is_empty());
    assert!(!store.home().join("cache/misses.json").exists());
    store.configure("[recall]\nkeep_misses = 3\n");
    ask("peanuts");
    for n in 0..5 {
        ask(&format!("orbital period number {n}, password=hunter{n}secret"));
    }
    let misses = store.engine().counts().recent_misses;
    assert_eq!(misses.len(), 3, "the last ones");
    assert!(misses[0].query.starts_with("orbital period number 4, "), "{misses:?}");
    let kept = std::fs::read_to_string(store.home().join("cache/misses.json")).unwrap();
    assert!(!kept.contains("hunter") && !kept.contains("peanuts"), "{kept}");
    let told = store.ok(&["inspect", "stats"]);
    assert!(told.contains("nothing found on 2026-11-29: orbital period"));
    store.configure("");
    store.ok(&["tidy"]);
    assert!(!store.home().join("cache/misses.json").exists(), "and not any longer");
}

#[test]
fn a_later_page_and_a_narrowed_search_are_no_misses() {
    let store = Store::new();
    store.configure("[recall]\nkeep_misses = 3\n");
    let engine = store.engine();
    engine.save("The boat lies in harbour seven");
    for n in 0..12 {
        engine.save(&format!("The boat of team {n} is elsewhere"));
    }
    let mut request = RecallRequest { limit: Some(2), ..RecallRequest::of("harbour seven") };
    let first = page(&engine, &request);
    assert!(first.found);
    request.cursor = first.cursor;
    let second = page(&engine, &request);
    assert!(second.found, "the query has an answer, whatever this page holds");
    page(&engine, &RecallRequest { tags: vec!["none".into()], ..RecallRequest::of("harbour seven") });
    assert!(engine.counts().recent_misses.is_empty());
}

#[test]
fn misses_that_cannot_be_written_hold_up_no_use() {
    let store = Store::new();
    store.configure("[recall]\nkeep_misses = 3\n");
    let engine = store.engine();
    let id = engine.save("The boat lies in harbour seven");
    std::fs::create_dir_all(store.home().join("cache/misses.json")).unwrap();
    engine.recall(&RecallRequest::of("orbital period of Neptune")).unwrap();
    engine.recall(&RecallRequest::of("boat in harbour seven")).unwrap();
    engine.flush_uses().unwrap();
    assert_eq!(engine.whole(&id).uses, 1);
}

#[test]
fn coverage_of_meanings_is_told() {
    let store = Store::new();
    assert_eq!(store.engine().counts().vector_coverage, None);
    store.fill(3);
    assert_eq!(store.engine().counts().vector_coverage, Some(1.0));
    store.configure("[recall]\nmodel = \"off\"\n");
    assert_eq!(store.engine().counts().vector_coverage, None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_budget_is_overrun_in_any_script(
        texts in prop::collection::vec("[a-z ]{5,80}|[あ-ん]{3,60}|[а-я ]{5,80}|😀{1,20}", 1..12),
        budget in 1u32..1_500,
    ) {
        let store = Store::in_memory();
        let engine = store.engine();
        for text in &texts {
            engine.remember(&ebbmark::engine::RememberRequest::of(&[ebbmark::engine::NewMemory {
                text: format!("note {text}"),
                ..Default::default()
            }])).unwrap();
        }
        let request = RecallRequest { budget_tokens: Some(budget), ..RecallRequest::default() };
        let answer = engine.recall(&request).unwrap();
        prop_assert!(tokens(&answer) <= budget as usize + 2);
    }
}
