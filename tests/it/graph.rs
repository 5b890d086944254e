//! What hangs together: through the library's door and the commands, for a graph that a person can follow by hand, and
//! for names and numbers that nobody would choose.

use std::fs;

use ebbmark::engine::{EntityAnswer, GraphAnswer, InspectRequest, NewMemory, RelateRequest, RememberRequest, View};
use serde_json::Value;

use crate::support::{Calls, Store};

fn told(text: &str, entities: &[&str]) -> NewMemory {
    let entities = entities.iter().map(|&name| name.to_owned()).collect();
    NewMemory { text: text.into(), entities, ..NewMemory::default() }
}

fn tell(store: &Store, text: &str, entities: &[&str]) -> String {
    store.engine().tell(told(text, entities)).id.unwrap()
}

fn relate(store: &Store, from: &str, relation: &str, to: &str) {
    let request = RelateRequest {
        from: from.into(),
        to: to.into(),
        relation: relation.into(),
        strength: Some(0.9),
        ..RelateRequest::default()
    };
    assert!(store.engine().relate(&request).unwrap().changed);
}

fn graph_of(store: &Store, request: InspectRequest) -> GraphAnswer {
    store.engine().inspect(&InspectRequest { view: Some(View::Graph), ..request }).unwrap().graph.unwrap()
}

fn around(store: &Store, of: &str, depth: u32) -> Vec<String> {
    let request = InspectRequest { of: Some(of.into()), depth: Some(depth), ..InspectRequest::default() };
    graph_of(store, request).nodes.into_iter().map(|node| node.text.unwrap_or(node.id)).collect()
}

fn entity(store: &Store, name: &str) -> EntityAnswer {
    let request = InspectRequest { of: Some(name.into()), ..InspectRequest::of(View::Entity) };
    store.engine().inspect(&request).unwrap().entity.unwrap()
}

/// Ada and her projects: four memories, three names, one relation.
fn small() -> (Store, [String; 4]) {
    let store = Store::new();
    let tea = tell(&store, "Ada prefers green tea", &["Ada"]);
    let port = tell(&store, "Harbour listens on port 8080", &["Harbour"]);
    let leads = tell(&store, "Ada leads the project Harbour", &["Ada", "Harbour"]);
    let rust = tell(&store, "Harbour is written in Rust", &["Harbour", "Rust"]);
    relate(&store, &leads, "causes", &rust);
    (store, [tea, port, leads, rust])
}

#[test]
fn what_is_known_of_somebody_by_kind_and_date() {
    let (mut store, [tea, ..]) = small();
    store.pass_days(1);
    tell(&store, "ADA moved to Oslo", &["ada", "Oslo"]);
    let ada = entity(&store, "ada");
    assert_eq!((ada.name.as_str(), ada.memories, ada.left_out), ("Ada", 3, 0));
    let kinds: Vec<(&str, u64)> = ada.kinds.iter().map(|kind| (kind.kind.as_str(), kind.count)).collect();
    assert_eq!(kinds.iter().map(|(_, count)| count).sum::<u64>(), 3, "{kinds:?}");
    let related: Vec<&str> = ada.related.iter().map(|other| other.name.as_str()).collect();
    assert_eq!(related, ["Oslo", "Harbour"]);
    let said = store.ok(&["entity", "Ada"]);
    assert!(said.starts_with("Ada: 3 memories, 2026-11-29 to 2026-11-30\n"), "{said}");
    assert!(said.contains(&format!("{tea} 2026-11-29 Ada prefers green tea")), "{said}");
    assert_eq!(store.json(&["entity", "Ada"])["entity"]["memories"], 3);
    // A link as it stands in a note names it, too.
    assert_eq!(entity(&store, "[[Ada]]").memories, 3);
    let listed = store.json(&["entity"]);
    assert_eq!(listed["entities"]["total"], 4);
    assert_eq!(listed["entities"]["entities"][0]["weight"], 1.0);
}

#[test]
fn a_neighbourhood_and_a_path_in_words() {
    let (store, [tea, port, leads, rust]) = small();
    assert_eq!(around(&store, &leads, 1).len(), 4);
    let request = InspectRequest { of: Some("ada".into()), depth: Some(2), ..InspectRequest::default() };
    let found = graph_of(&store, request);
    let ids: Vec<&str> = found.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids[0], "Ada");
    assert!(ids.contains(&tea.as_str()) && ids.contains(&rust.as_str()) && !ids.contains(&port.as_str()), "{ids:?}");
    assert!(found.edges.iter().all(|edge| ids.contains(&edge.from.as_str()) && ids.contains(&edge.to.as_str())));
    let causes = found.edges.iter().find(|edge| edge.relation == "causes").unwrap();
    assert_eq!((causes.from.as_str(), causes.to.as_str(), causes.strength), (&*leads, &*rust, Some(0.9)));

    let path = store.json(&["path", "Ada", "Rust"]);
    let steps: Vec<&str> =
        path["path"]["steps"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
    assert_eq!(
        steps,
        [
            "\"Ada leads the project Harbour\" is about Ada",
            "\"Ada leads the project Harbour\" causes \"Harbour is written in Rust\"",
            "\"Harbour is written in Rust\" is about Rust"
        ]
    );
    let apart = tell(&store, "Lund lies in Sweden", &["Lund"]);
    let said = store.ok(&["path", &apart, "Ada"]);
    assert!(said.starts_with("Nothing that is known ties these together:"), "{said}");
}

#[test]
fn what_recall_hides_is_hidden_here() {
    let (store, [tea, port, leads, rust]) = small();
    let engine = store.engine();
    let newer = NewMemory { supersedes: vec![tea.clone()], ..told("Ada prefers black tea", &["Ada"]) };
    let newer = engine.tell(newer).id.unwrap();
    let elsewhere = NewMemory { scope: Some("secret".into()), ..told("Ada sings in Lund", &["Ada", "Lund"]) };
    engine.tell(elsewhere);
    engine.drop_memory(&port);
    let known = entity(&store, "Ada");
    assert_eq!(known.memories, 2);
    assert!(known.related.iter().all(|other| other.name != "Lund"));
    let texts = around(&store, "Ada", 4);
    assert!(!texts.iter().any(|text| text.contains("green tea") || text.contains("Lund") || text.contains("8080")));
    // It is there for whoever asks for it by its id, and where its project is named.
    assert!(around(&store, &tea, 1).contains(&"Ada prefers black tea".to_owned()), "{newer}");
    assert_eq!(store.json(&["entity", "Ada", "--scope", "secret"])["entity"]["memories"], 3);
    let forgotten = store.run(&["graph", &port]).exits(2).stderr;
    assert!(forgotten.contains("was forgotten") && forgotten.contains(&format!("restore {port}")), "{forgotten}");
    let secret = store.run(&["entity", "Lund"]).exits(2).stderr;
    assert!(secret.contains("nothing is known of `Lund`"), "{secret}");
    // A forgotten memory ties nothing together, and comes back with all that was said of it.
    engine.drop_memory(&leads);
    assert_eq!(around(&store, &rust, 1).len(), 3);
    store.ok(&["restore", &leads]);
    assert_eq!(around(&store, &rust, 1).len(), 4);
}

#[test]
fn a_serving_process_sees_each_change_at_once() {
    let (store, [_, _, leads, rust]) = small();
    let engine = store.engine();
    let near = || {
        let request = InspectRequest { of: Some(rust.clone()), ..InspectRequest::of(View::Graph) };
        engine.inspect(&request).unwrap().graph.unwrap().nodes.len()
    };
    assert_eq!(near(), 4);
    let other = tell(&store, "Cargo builds Rust", &["Cargo"]);
    store.ok(&["relate", &other, "supports", &rust]);
    assert_eq!(near(), 5);
    store.ok(&["relate", &leads, "causes", &rust, "--remove"]);
    assert_eq!(near(), 4);
    store.ok(&["revise", &rust, "--entity", "Rust"]);
    assert_eq!(near(), 3);
    store.ok(&["forget", &other]);
    assert_eq!(near(), 2);
}

#[test]
fn wikilinks_between_notes_are_ties() {
    let store = Store::new();
    store.configure("[vault]\nindex = \"all\"\n");
    let tea = tell(&store, "Ada prefers green tea", &["Ada"]);
    let coffee = tell(&store, "Bob roasts coffee", &["Bob"]);
    store.engine().keep(&tea);
    store.engine().keep(&coffee);
    store.edit_note("Bob roasts coffee", "roasts coffee", "roasts coffee, see [[Ada prefers green tea|tea]]");
    fs::create_dir(store.vault().join("Plans")).unwrap();
    fs::write(store.vault().join("Plans/Cafe.md"), "# Plan\nFor [[Bob]], with [[Bob roasts coffee]].\n").unwrap();
    let engine = store.engine();
    engine.clean();
    let links = |of: &str| -> Vec<(String, String)> {
        let request = InspectRequest { of: Some(of.into()), ..InspectRequest::of(View::Graph) };
        let found = engine.inspect(&request).unwrap().graph.unwrap();
        let linked = found.edges.into_iter().filter(|edge| edge.relation == "links_to");
        linked.map(|edge| (edge.from, edge.to)).collect()
    };
    assert_eq!(links(&tea), [(coffee.clone(), tea.clone())]);
    let cafe = "Plans/Cafe.md".to_owned();
    assert_eq!(links("Cafe"), [(cafe.clone(), coffee.clone()), (cafe.clone(), "Bob".to_owned())]);
    // A note that changes or goes takes its links with it.
    fs::write(store.vault().join("Plans/Cafe.md"), "# Plan\nNothing yet.\n").unwrap();
    engine.clean();
    assert_eq!(links(&cafe), []);
    fs::remove_file(store.vault().join("Plans/Cafe.md")).unwrap();
    engine.clean();
    let gone = InspectRequest { of: Some(cafe), ..InspectRequest::of(View::Graph) };
    assert!(engine.inspect(&gone).is_err());
}

#[test]
fn names_that_nobody_would_choose_are_names() {
    let store = Store::new();
    let names = ["a[b]c", "x | y", "C#", "the", "Łódź", "東京", "Привет", "\"quoted\" \\ name", "]]>&amp;<b>", "```"];
    for (number, name) in names.iter().enumerate() {
        tell(&store, &format!("Sentence {number} of <script> & \"{name}\" | [[x]]"), &[name, "all"]);
    }
    for name in names {
        assert_eq!(entity(&store, name).memories, 1, "{name}");
        for format in ["text", "json", "dot", "mermaid", "canvas", "svg"] {
            let drawn = store.ok(&["graph", name, "--depth", "2", "--format", format]);
            assert!(!drawn.is_empty());
            match format {
                "json" | "canvas" => drop(serde_json::from_str::<Value>(&drawn).unwrap()),
                "svg" => assert!(!drawn.contains("<script") && !drawn.contains("<b>"), "{drawn}"),
                "mermaid" => assert_eq!(drawn.matches("```").count(), 2, "{drawn}"),
                _ => {}
            }
        }
    }
    assert_eq!(entity(&store, "tokyo 東京".split(' ').next_back().unwrap()).name, "東京");
    let unknown = store.run(&["entity", "Łodz-1"]).exits(2).stderr;
    assert!(unknown.contains("nothing is known of `Łodz-1`\n  nearest names: Łódź"), "{unknown}");
    let unlike = store.run(&["path", "qqqqqqqq", "all"]).exits(2).stderr;
    assert!(unlike.contains("of: nothing is known of `qqqqqqqq`") && unlike.contains("inspect entities"), "{unlike}");
    store.run(&["path", "all", "ALL"]).exits(2);
    let engine = store.engine();
    for request in [
        InspectRequest::of(View::Entity),
        InspectRequest::of(View::Path),
        InspectRequest { of: Some("all".into()), ..InspectRequest::of(View::Path) },
        InspectRequest { budget_tokens: Some(0), ..InspectRequest::of(View::Graph) },
    ] {
        assert!(engine.inspect(&request).is_err(), "{request:?}");
    }
    // A memory is no entity.
    let id = tell(&store, "Last of all", &[]);
    assert!(store.run(&["entity", &id]).exits(2).stderr.contains("is no entity"));
}

#[test]
fn what_contradicts_is_a_tie_while_it_does() {
    let store = Store::new();
    let can = store.engine().save("Ada can eat gluten");
    let cannot = store.engine().tell(told("Ada cannot eat gluten", &[]));
    assert!(cannot.conflict.is_some(), "{cannot:?}");
    let cannot = cannot.id.unwrap();
    let path = store.json(&["path", &can, &cannot]);
    assert_eq!(path["path"]["edges"][0]["type"], "contradicts");
    assert_eq!(around(&store, &can, 1).len(), 2);
    store.ok(&["revise", &cannot, "--text", "Ada cannot eat peanuts"]);
    assert_eq!(store.json(&["path", &can, &cannot])["path"]["found"], false);
    assert_eq!(around(&store, &can, 1).len(), 1);
}

#[test]
fn relations_in_a_circle_end_nothing() {
    let store = Store::new();
    let ids: Vec<String> = (0..3).map(|number| tell(&store, &format!("Step {number} of the round"), &[])).collect();
    for (number, id) in ids.iter().enumerate() {
        relate(&store, id, "causes", &ids[(number + 1) % 3]);
    }
    assert_eq!(around(&store, &ids[0], 4).len(), 3);
    assert_eq!(store.json(&["path", &ids[0], &ids[2]])["path"]["edges"].as_array().unwrap().len(), 1);
    store.run(&["relate", &ids[0], "causes", &ids[0]]).exits(2);
}

#[test]
fn five_thousand_memories_on_one_name_flood_nothing() {
    let store = Store::in_memory();
    let mut memories: Vec<NewMemory> =
        (0..5_000).map(|number| told(&format!("Ticket {number} of the project is done"), &["Project"])).collect();
    memories[17].entities.push("Ada".into());
    memories.push(told("Ada prefers green tea", &["Ada"]));
    let engine = store.engine();
    for call in memories.chunks(1_000) {
        engine.remember(&RememberRequest::of(call)).unwrap();
    }
    let request = InspectRequest { of: Some("Ada".into()), depth: Some(4), ..InspectRequest::of(View::Graph) };
    let found = engine.inspect(&request).unwrap().graph.unwrap();
    assert_eq!(found.nodes.len(), 4);
    assert!(found.nodes.last().unwrap().hub);
    for view in [View::Graph, View::Entity, View::Entities] {
        for budget in [1, 100, 300, 1_000, 5_000] {
            let request = InspectRequest {
                of: Some("project".into()),
                limit: Some(1_000),
                depth: Some(4),
                budget_tokens: Some(budget),
                ..InspectRequest::of(view)
            };
            let text = serde_json::to_string(&engine.inspect(&request).unwrap()).unwrap();
            // A token is about four characters; an answer without room for anything is still one.
            assert!(text.len() <= (budget as usize * 4).max(400), "{view:?} {budget}: {} bytes", text.len());
        }
        let all = InspectRequest { of: Some("project".into()), limit: Some(1_000), ..InspectRequest::of(view) };
        let text = serde_json::to_string(&engine.inspect(&all).unwrap()).unwrap();
        assert!(text.len() <= 40_000, "{view:?}: {} bytes", text.len());
    }
    let all = InspectRequest { of: Some("project".into()), ..InspectRequest::of(View::Entity) };
    let known = engine.inspect(&all).unwrap().entity.unwrap();
    assert_eq!((known.memories, known.left_out), (5_000, 4_950));
}

#[test]
fn drawings_go_into_new_files_only_and_into_the_vault_only_as_canvas() {
    let (store, [tea, ..]) = small();
    store.engine().keep(&tea);
    let file = |name: &str| store.root().join(name);
    let svg = file("ada.svg");
    let svg = svg.to_str().unwrap();
    assert_eq!(store.ok(&["graph", "Ada", "--format", "svg", "--output", svg]), format!("written: {svg}\n"));
    assert!(fs::read_to_string(svg).unwrap().starts_with("<svg "));
    assert!(
        store.run(&["graph", "Ada", "--format", "svg", "--output", svg]).exits(2).stderr.contains("is there already")
    );
    let canvas = store.vault().join("Ada.canvas");
    let write =
        |path: &std::path::Path| store.run(&["graph", "Ada", "--format", "canvas", "--output", path.to_str().unwrap()]);
    write(&canvas).exits(0);
    let drawn: Value = serde_json::from_str(&fs::read_to_string(&canvas).unwrap()).unwrap();
    let files: Vec<&str> = drawn["nodes"].as_array().unwrap().iter().filter_map(|node| node["file"].as_str()).collect();
    assert_eq!(files, ["Memories/Ada prefers green tea.md"]);
    fs::write(&canvas, "mine").unwrap();
    write(&canvas).exits(2);
    assert_eq!(fs::read_to_string(&canvas).unwrap(), "mine");
    for refused in ["Ada.md", ".obsidian/x.canvas", "Memories/../.hidden.canvas"] {
        write(&store.vault().join(refused)).exits(2);
        assert!(!store.vault().join(refused).exists(), "{refused}");
    }
    write(&store.home().join("x.canvas")).exits(2);
    store.run(&["graph", "Ada", "--format", "dot", "--json"]).exits(2);
    assert_eq!(store.json(&["graph", "Ada", "--format", "json"]), store.json(&["graph", "Ada"]));
}
