//! Recall finds what was said: a store of look-alikes with one right answer a question, wherever the words lie.

use ebbmark::clock::{Clock, Timestamp};
use ebbmark::engine::{Engine, NewMemory, Options, RecallRequest, RememberRequest};
use ebbmark::id::Randomness;
use jiff::tz::TimeZone;

const PEOPLE: [&str; 12] = [
    "Amara Dahl",
    "Bruno Costa",
    "Chloe Berg",
    "Dmitri Silva",
    "Elsa Mori",
    "Felix Quinn",
    "Greta Novak",
    "Hana Weber",
    "Igor Vega",
    "Julia Ramos",
    "Kofi Lund",
    "Leila Bell",
];
const PROJECTS: [&str; 10] = [
    "Amber Falcon",
    "Silver Harbor",
    "Quiet Lantern",
    "Northern Delta",
    "Velvet Forge",
    "Cobalt Heron",
    "Misty Canyon",
    "Lunar Orchard",
    "Copper Summit",
    "Frozen Willow",
];
const CHOICES: [(&str, &str, &str); 8] = [
    ("session storage", "PostgreSQL", "because operations asked for it"),
    ("the message queue", "RabbitMQ", "because the team knows it well"),
    ("log shipping", "Fluent Bit", "because the licence fits"),
    ("image resizing", "libvips", "because it survived the load test"),
    ("the payment provider", "Adyen", "because the old choice lost data twice"),
    ("search indexing", "Tantivy", "because it keeps the setup small"),
    ("feature flags", "a YAML file", "because it is cheaper at this size"),
    ("error tracking", "plain logs", "because nobody read the rest"),
];

struct Item {
    text: String,
    question: String,
    words: String,
    phrase: String,
}

/// Person by project by topic: each pair of them occurs many times, all three together once.
fn items() -> Vec<Item> {
    let mut items = Vec::new();
    for person in PEOPLE {
        for project in PROJECTS {
            for (topic, choice, reason) in CHOICES {
                items.push(Item {
                    text: format!("{person} decided that {project} uses {choice} for {topic}, {reason}."),
                    question: format!("What did {person} choose for {topic} in {project}?"),
                    words: format!("{person} {project} {topic}"),
                    phrase: format!("{person} decided that {project} uses {choice} for {topic}"),
                });
            }
        }
    }
    items
}

fn engine(home: &std::path::Path) -> Engine {
    Engine::open(Options {
        home: home.join("home"),
        vault: None,
        default_vault: home.join("vault"),
        user_home: None,
        machine: "test".into(),
        replica: None,
        clock: Clock::Fixed(Timestamp::parse_lenient("2026-11-29").unwrap()),
        randomness: Randomness::Seeded(3),
        time_zone: TimeZone::UTC,
    })
    .unwrap()
}

fn ids_of(engine: &Engine, items: &[Item]) -> Vec<String> {
    let memories: Vec<NewMemory> =
        items.iter().map(|item| NewMemory { text: item.text.clone(), ..NewMemory::default() }).collect();
    let answer = engine.remember(&RememberRequest::of(&memories)).unwrap();
    answer.results.into_iter().map(|result| result.id.unwrap()).collect()
}

fn ask(engine: &Engine, query: &str) -> Vec<(String, f64)> {
    let request = RecallRequest { reinforce: Some(false), ..RecallRequest::of(query) };
    engine.recall(&request).unwrap().hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
}

#[test]
fn the_right_memory_comes_first_in_every_form_of_question() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let items = items();
    let ids = ids_of(&engine, &items);
    let distinct: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), items.len(), "none of the look-alikes was merged");
    for (item, id) in items.iter().zip(&ids).step_by(7) {
        for query in [&item.question, &item.words, &item.phrase] {
            let first = ask(&engine, query).into_iter().next().map(|(id, _)| id);
            assert_eq!(first.as_ref(), Some(id), "{query}");
        }
    }
}

#[test]
fn where_a_memory_lies_changes_no_score() {
    let home = tempfile::tempdir().unwrap();
    let writer = engine(home.path());
    let items = items();
    let (first, rest) = items.split_at(600);
    // The first part goes into the index, the rest stays in the tail; another process has everything in its tail.
    ids_of(&writer, first);
    writer.tidy(&ebbmark::engine::TidyRequest::default()).unwrap();
    ids_of(&writer, rest);
    let queries: Vec<&String> = items.iter().step_by(37).flat_map(|item| [&item.question, &item.words]).collect();
    let mixed: Vec<_> = queries.iter().map(|query| ask(&writer, query)).collect();
    let with_index = engine(home.path());
    assert_eq!(queries.iter().map(|query| ask(&with_index, query)).collect::<Vec<_>>(), mixed);
    std::fs::remove_dir_all(home.path().join("home/cache")).unwrap();
    let without_index = engine(home.path());
    assert_eq!(queries.iter().map(|query| ask(&without_index, query)).collect::<Vec<_>>(), mixed);
    writer.tidy(&ebbmark::engine::TidyRequest::default()).unwrap();
    assert_eq!(queries.iter().map(|query| ask(&writer, query)).collect::<Vec<_>>(), mixed);
}

#[test]
fn any_text_is_a_query_and_symbols_count() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path());
    let texts = [
        "Knows C well",
        "Knows C++ well",
        "Knows C# well",
        "Builds with .NET",
        "Settings live in settings.toml",
        "Ticket BILL-412 tracks the rounding error",
        "用户喜欢深色模式",
        "東京で働いている",
        "Le gusta la música clásica",
        "Run the importer with --dry-run first",
    ];
    let memories: Vec<NewMemory> =
        texts.iter().map(|text| NewMemory { text: (*text).into(), ..NewMemory::default() }).collect();
    let answer = engine.remember(&RememberRequest::of(&memories)).unwrap();
    let ids: Vec<String> = answer.results.into_iter().map(|result| result.id.unwrap()).collect();
    for (query, place) in [
        ("C++", 1),
        ("who knows C#?", 2),
        (".NET", 3),
        ("settings.toml", 4),
        ("bill-412", 5),
        ("深色", 6),
        ("東京", 7),
        ("musica clasica", 8),
        ("--dry-run", 9),
    ] {
        assert_eq!(ask(&engine, query).first().map(|(id, _)| id), Some(&ids[place]), "{query}");
    }
    for odd in ["", "foo:", "\"", "(((", "AND OR NOT", "\0", "🙂", "the of and", "a:b~2^3 -x +y [1 TO 2]"] {
        ask(&engine, odd);
    }
}
