//! The graph as it grows: `cargo run --release --example graph -- 10000 [100000 …]`.
//!
//! For so many memories and a fifth as many entities (few are named often, most seldom) prints milliseconds: making the
//! graph, neighbourhoods, paths, standing and groups; and what the engine's views of it take. With `draw FILE` it writes
//! a picture of sixty nodes instead.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a program that measures and prints")]

#[path = "shared/home.rs"]
mod home;

use std::error::Error;
use std::time::Instant;

use ebbmark::clock::Timestamp;
use ebbmark::engine::{InspectRequest, NewMemory, RecallRequest, RelateRequest, RememberRequest, View};
use ebbmark::graph::{Graph, HUB, Node};
use ebbmark::id::{MemoryId, hash64};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [draw, file] = arguments.as_slice()
        && draw == "draw"
    {
        return picture(file);
    }
    for count in arguments {
        measure(count.parse()?)?;
    }
    Ok(())
}

/// A number from 0 to `below`, the same for the same salt.
fn chance(salt: &str, below: usize) -> usize {
    (hash64(salt.as_bytes()) % below as u64) as usize
}

/// What a memory is about: one to three names of `entities`; the n-th most named about 1/n times as often as the first.
fn names(number: usize, entities: usize) -> Vec<String> {
    let share = |place: usize| chance(&format!("{number} {place}"), 1 << 30) as f64 / f64::from(1 << 30);
    let count = 1 + chance(&format!("{number} count"), 3);
    let pick = |place| ((entities as f64).powf(share(place)) as usize).min(entities - 1);
    (0..count).map(|place| format!("Entity {}", pick(place))).collect()
}

/// p50, p95 and the longest of some runs, milliseconds.
fn spread<T>(runs: usize, mut run: impl FnMut(usize) -> T) -> String {
    let mut times: Vec<f64> = Vec::new();
    for number in 0..runs {
        let began = Instant::now();
        std::hint::black_box(run(number));
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    format!("{:.3} / {:.3} / {:.3} ms", times[runs / 2], times[runs * 95 / 100], times[runs - 1])
}

fn measure(count: usize) -> Result<(), Box<dyn Error>> {
    let entities = (count / 5).max(1);
    println!("{count} memories, {entities} entities");
    let ids: Vec<MemoryId> = (0..count).map(|number| MemoryId::from_source(&number.to_string())).collect();
    let about: Vec<Vec<String>> = (0..count).map(|number| names(number, entities)).collect();
    let mut graph = Graph::default();
    let began = Instant::now();
    for (number, (id, about)) in ids.iter().zip(&about).enumerate() {
        graph.put_memory(*id, about, Timestamp::from_millis(number as i64 * 60_000));
        if number % 10 == 3 {
            let other = Node::Memory(ids[chance(&format!("{number} relation"), number)]);
            graph.set_relation(&Node::Memory(*id), &other, "causes", None);
        }
    }
    println!("  made                                  {:.0} ms", began.elapsed().as_secs_f64() * 1000.0);
    let hubs = graph.entities().filter(|entity| graph.ties_of(entity) > HUB).count();
    let most = graph.entities().map(|entity| graph.ties_of(entity)).max().unwrap_or_default();
    println!("  nodes {}, ties {}, hubs {hubs}, most ties of one {most}", graph.nodes(), graph.ties());
    let memory = |number: usize| Node::Memory(ids[chance(&format!("start {number}"), count)]);
    let mut known: Vec<&Node> = graph.entities().collect();
    known.sort_unstable();
    let entity = |number: usize| known[chance(&format!("entity {number}"), known.len())].clone();
    // The most named ones, in turn.
    let mut by_ties = known.clone();
    by_ties.sort_by_key(|entity| std::cmp::Reverse(graph.ties_of(entity)));
    let shown = |_: &Node| true;
    let holding = |_: &Node, _: &str, _: &Node| true;
    println!("  p50 / p95 / longest:");
    for depth in 1..=4 {
        let near = |start: Node| graph.neighbourhood(&start, depth, 50, shown, holding);
        println!("  neighbourhood of a memory, depth {depth}    {}", spread(1_000, |number| near(memory(number))));
        println!("  neighbourhood of an entity, depth {depth}   {}", spread(1_000, |number| near(entity(number))));
    }
    let hub = |number: usize| graph.neighbourhood(by_ties[number % 20], 2, 50, shown, holding);
    println!("  of the twenty most named, depth 2     {}", spread(100, hub));
    println!(
        "  path between two memories             {}",
        spread(100, |n| graph.path(&memory(n), &memory(n + 1), shown, holding))
    );
    let began = Instant::now();
    let whole = graph.whole(shown);
    println!("  the whole as a list                   {:.0} ms", began.elapsed().as_secs_f64() * 1000.0);
    println!("  standing of all nodes                 {}", spread(3, |_| whole.standing()));
    println!("  groups                                {}", spread(3, |_| whole.groups()));
    through_the_engine(count, &about)
}

fn through_the_engine(count: usize, about: &[Vec<String>]) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let engine = home::engine(&home)?;
    let told = |number: usize| NewMemory {
        text: format!("Ticket {number} of week {} was closed by team {}", number % 52, number / 7 % 997),
        entities: about[number % about.len()].clone(),
        ..NewMemory::default()
    };
    let mut ids: Vec<String> = Vec::new();
    for first in (0..count).step_by(1_000) {
        let memories: Vec<NewMemory> = (first..(first + 1_000).min(count)).map(told).collect();
        let answer = engine.remember(&RememberRequest::of(&memories))?;
        ids.extend(answer.results.into_iter().filter_map(|result| result.id));
    }
    drop(engine);
    let engine = home::engine(&home)?;
    engine.recall(&RecallRequest { reinforce: Some(false), ..RecallRequest::of("ticket") })?;
    let remember_one = |number: usize| engine.remember(&RememberRequest::of(&[told(2 * count + number)])).is_ok();
    println!("  engine: remember one, never asked     {}", spread(100, remember_one));
    let view = |view: View, of: String| {
        let request = InspectRequest { of: Some(of), ..InspectRequest::of(view) };
        engine.inspect(&request).map(drop)
    };
    let began = Instant::now();
    view(View::Graph, ids[0].clone())?;
    println!("  engine: first question                {:.0} ms", began.elapsed().as_secs_f64() * 1000.0);
    let pick = |number: usize| ids[chance(&format!("pick {number}"), ids.len())].clone();
    for depth in [1, 2, 4] {
        let ask = |number: usize| {
            let request =
                InspectRequest { of: Some(pick(number)), depth: Some(depth), ..InspectRequest::of(View::Graph) };
            engine.inspect(&request).map(drop)
        };
        println!("  engine: graph of a memory, depth {depth}    {}", spread(1_000, ask));
    }
    let name = |number: usize| about[number % about.len()][0].clone();
    println!("  engine: graph of a name               {}", spread(1_000, |number| view(View::Graph, name(number))));
    println!("  engine: entity                        {}", spread(300, |number| view(View::Entity, name(number))));
    println!("  engine: entity, the most named        {}", spread(20, |_| view(View::Entity, "Entity 1".into())));
    let path = |number: usize| {
        let to = Some(pick(number + 1));
        let request = InspectRequest { of: Some(pick(number)), to, ..InspectRequest::of(View::Path) };
        engine.inspect(&request).map(drop)
    };
    println!("  engine: path                          {}", spread(100, path));
    println!("  engine: entities                      {}", spread(3, |_| view(View::Entities, String::new())));
    let remember_one = |number: usize| engine.remember(&RememberRequest::of(&[told(3 * count + number)])).is_ok();
    println!("  engine: remember one, asked before    {}", spread(100, remember_one));
    Ok(())
}

/// A team's month as a picture of sixty nodes.
fn picture(file: &str) -> Result<(), Box<dyn Error>> {
    const PEOPLE: [&str; 8] = ["Ada", "Tomas", "Priya", "Malik", "Greta", "Yuki", "Amara", "Łukasz"];
    const THINGS: [&str; 8] =
        ["Harbour", "PostgreSQL", "the deployment", "C#", "search", "Oslo office", "billing", "東京 team"];
    const DID: [&str; 5] = [
        "prefers short pull requests about",
        "decided to move",
        "wrote the runbook for",
        "found out why it was slow:",
        "asked who owns",
    ];
    let folder = tempfile::tempdir()?;
    let engine = home::engine(&folder.path().join("home"))?;
    let told = |number: usize| {
        let (who, what) = (PEOPLE[chance(&format!("who {number}"), 8)], THINGS[chance(&format!("what {number}"), 8)]);
        NewMemory {
            text: format!("{who} {} {what}, in week {number}", DID[number % 5]),
            entities: vec![who.into(), what.into()],
            ..NewMemory::default()
        }
    };
    let memories: Vec<NewMemory> = (0..44).map(told).collect();
    let answer = engine.remember(&RememberRequest::of(&memories))?;
    let ids: Vec<String> = answer.results.into_iter().filter_map(|result| result.id).collect();
    for number in 0..8 {
        let relation = ["causes", "supports", "related"][number % 3].to_owned();
        let (from, to) = (ids[number * 5].clone(), ids[number * 5 + 3].clone());
        engine.relate(&RelateRequest { from, to, relation, ..RelateRequest::default() })?;
    }
    let request = InspectRequest { limit: Some(60), budget_tokens: Some(u32::MAX), ..InspectRequest::of(View::Graph) };
    let graph = engine.inspect(&request)?.graph.unwrap_or_default();
    let drawing = graph.drawing();
    println!("{} nodes, {} edges", drawing.nodes.len(), drawing.edges.len());
    std::fs::write(file, drawing.svg())?;
    Ok(())
}
