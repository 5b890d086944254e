//! The graph as a whole: what it answers, and that it answers the same whatever order it was made in.

use proptest::prelude::*;

use super::*;

fn id(number: u32) -> MemoryId {
    MemoryId::from_source(&number.to_string())
}

fn memory(number: u32) -> Node {
    Node::Memory(id(number))
}

fn entity(name: &str) -> Node {
    Node::entity(name).unwrap()
}

fn day(number: i64) -> Timestamp {
    Timestamp::from_millis(number * 86_400_000)
}

/// Memories by number, each with its entities; dated by number.
fn graph(memories: &[(u32, &[&str])]) -> Graph {
    let mut graph = Graph::default();
    for (number, entities) in memories {
        let entities: Vec<String> = entities.iter().map(|&name| name.to_owned()).collect();
        graph.put_memory(id(*number), &entities, day(i64::from(*number)));
    }
    graph
}

fn shown(_: &Node) -> bool {
    true
}

fn holding(_: &Node, _: &str, _: &Node) -> bool {
    true
}

fn names(graph: &Graph, nodes: &[Neighbour]) -> Vec<String> {
    let name = |node: &Node| match node {
        Node::Memory(own) => (0..10_000).find(|n| id(*n) == *own).unwrap().to_string(),
        Node::Entity(_) => graph.name(node).to_owned(),
        Node::Note(path) => path.to_string(),
    };
    nodes
        .iter()
        .map(|found| format!("{}{}{}", name(&found.node), if found.is_hub { "*" } else { "" }, found.depth))
        .collect()
}

#[test]
fn the_closest_come_first_and_depth_ends_it() {
    let mut graph = graph(&[(1, &["Ada", "Tea"]), (2, &["Ada"]), (3, &["Tea", "Rome"]), (4, &["Rome"])]);
    graph.set_relation(&memory(1), &memory(4), "causes", Some(1.0));
    let around = |depth| names(&graph, &graph.neighbourhood(&memory(1), depth, 50, shown, holding).nodes);
    assert_eq!(around(0), ["10"]);
    assert_eq!(around(1), ["10", "41", "Ada1", "Tea1"]);
    assert_eq!(around(2), ["10", "41", "Ada1", "Tea1", "Rome2", "32", "22"]);
    assert_eq!(graph.neighbourhood(&memory(9), 2, 50, shown, holding).nodes, []);
    let few = graph.neighbourhood(&memory(1), 1, 2, shown, holding);
    assert_eq!((names(&graph, &few.nodes), few.left_out), (vec!["10".to_owned(), "41".to_owned()], 2));
    let hidden = graph.neighbourhood(&memory(1), 2, 50, |node| *node != entity("Tea"), holding);
    assert_eq!((names(&graph, &hidden.nodes).len(), hidden.left_out), (5, 0));
}

#[test]
fn a_short_way_that_is_weak_does_not_end_what_a_longer_one_would_not() {
    let mut graph = graph(&[(1, &[]), (2, &[]), (3, &[]), (4, &[])]);
    graph.set_relation(&memory(1), &memory(2), "related", Some(1.0));
    graph.set_relation(&memory(2), &memory(3), "related", Some(1.0));
    graph.set_relation(&memory(1), &memory(3), "related", Some(0.05));
    graph.set_relation(&memory(3), &memory(4), "related", Some(1.0));
    let found = graph.neighbourhood(&memory(1), 2, 50, shown, holding);
    assert_eq!(names(&graph, &found.nodes), ["10", "21", "31", "42"]);
}

#[test]
fn a_hub_is_shown_and_not_gone_through_unless_it_was_asked_for() {
    let mut graph = Graph::default();
    for number in 0..5_000 {
        let own = if number == 7 { vec!["Project".to_owned(), "Ada".to_owned()] } else { vec!["Project".to_owned()] };
        graph.put_memory(id(number), &own, day(i64::from(number)));
    }
    graph.put_memory(id(6_000), &["Ada".to_owned()], day(1));
    let near = graph.neighbourhood(&memory(7), 4, 50, shown, holding);
    assert_eq!(names(&graph, &near.nodes), ["70", "Ada1", "Project*1", "60002"]);
    let hub = graph.neighbourhood(&entity("project"), 1, 4, shown, holding);
    assert_eq!(names(&graph, &hub.nodes), ["Project0", "49991", "49981", "49971"]);
    assert_eq!(hub.left_out, 4_997);
    // Not one of those that are not shown takes a place.
    let odd = graph.neighbourhood(&entity("project"), 1, 3, |node| *node != memory(4_999), holding);
    assert_eq!(names(&graph, &odd.nodes), ["Project0", "49981", "49971"]);
}

#[test]
fn a_path_goes_by_what_was_said_and_over_a_hub_only_where_it_must() {
    let mut graph = Graph::default();
    for number in 0..200 {
        graph.put_memory(id(number), &["Project".to_owned()], day(0));
    }
    let words = |graph: &Graph, from: u32, to: u32| -> Option<Vec<String>> {
        let path = graph.path(&memory(from), &memory(to), shown, holding)?;
        Some(path.iter().map(|edge| edge.tie.word().to_owned()).collect())
    };
    assert_eq!(words(&graph, 1, 2).unwrap(), ["mentions", "mentions"]);
    // However long the other way is, it does not lead over what 200 memories name.
    for number in 1..9 {
        graph.set_relation(&memory(300 + number), &memory(301 + number), "causes", None);
        graph.put_memory(id(300 + number), &[], day(0));
    }
    graph.put_memory(id(309), &[], day(0));
    graph.set_relation(&memory(301), &memory(1), "causes", None);
    graph.set_relation(&memory(2), &memory(309), "causes", None);
    assert_eq!(words(&graph, 1, 2).unwrap(), vec!["causes"; 10]);
    graph.drop_memory(id(305));
    assert_eq!(words(&graph, 1, 2).unwrap(), ["mentions", "mentions"]);
    // What is not shown is not stepped on.
    assert_eq!(graph.path(&memory(1), &memory(2), |node| *node != entity("Project"), holding), None);
    // What does not hold leads nowhere, and hangs on nothing.
    let apart = |_: &Node, word: &str, _: &Node| word != "causes";
    assert_eq!(graph.path(&memory(301), &memory(302), shown, apart), None);
    assert_eq!(graph.neighbourhood(&memory(302), 2, 9, shown, apart).nodes.len(), 1);
    assert_eq!(graph.path(&memory(1), &memory(1), shown, holding), Some(Vec::new()));
    assert_eq!(graph.path(&memory(1), &memory(305), shown, holding), None);
}

#[test]
fn what_was_said_of_a_memory_waits_for_its_return() {
    let mut graph = graph(&[(1, &["Ada"])]);
    graph.set_relation(&memory(1), &memory(2), "causes", Some(0.5));
    assert_eq!((graph.nodes(), graph.ties()), (2, 1));
    graph.put_memory(id(2), &[], day(0));
    assert_eq!(graph.ties_at(&memory(2)).len(), 1);
    graph.drop_memory(id(1));
    assert_eq!((graph.nodes(), graph.ties()), (1, 0), "an entity goes with the last that names it");
    graph.put_memory(id(1), &["Rome".to_owned()], day(0));
    assert_eq!(graph.ties_at(&memory(2))[0].strength, Some(0.5));
    graph.drop_memory(id(1));
    graph.drop_relation(&memory(1), &memory(2), "causes");
    graph.put_memory(id(1), &[], day(0));
    assert_eq!(graph.ties(), 0);
    graph.set_relation(&memory(1), &memory(1), "causes", None);
    assert_eq!(graph.ties(), 0);
}

#[test]
fn an_entity_is_called_as_most_call_it() {
    let mut graph = graph(&[(1, &["ada"]), (2, &["Ada "]), (3, &["Ada", "ada", "", " "])]);
    assert_eq!((graph.name(&entity("ADA")), graph.nodes()), ("Ada", 4));
    graph.drop_memory(id(2));
    assert_eq!(graph.name(&entity("ADA")), "Ada", "of equals the first");
    graph.put_memory(id(3), &["ada".to_owned()], day(0));
    assert_eq!(graph.name(&entity("ADA")), "ada");
}

#[test]
fn notes_link_to_what_is_there() {
    let mut graph = graph(&[(1, &["Ada"])]);
    graph.put_note("People/Bob.md");
    let note = Node::note("People/Bob.md");
    graph.set_links(&note, &[memory(1), memory(1), memory(2), note.clone(), entity("Ada")]);
    assert_eq!(graph.ties_at(&note).len(), 2);
    graph.put_memory(id(2), &[], day(0));
    assert_eq!(graph.ties_at(&note).len(), 3);
    graph.set_links(&note, &[memory(1)]);
    assert_eq!(graph.ties_at(&note).len(), 1);
    graph.drop_note("People/Bob.md");
    assert_eq!((graph.nodes(), graph.ties()), (3, 1));
}

#[test]
fn what_matters_most_stands_highest_and_what_belongs_together_is_one_group() {
    let graph = graph(&[
        (1, &["Ada", "Tea"]),
        (2, &["Ada", "Tea"]),
        (3, &["Ada"]),
        (4, &["Rust", "Cargo"]),
        (5, &["Rust", "Cargo"]),
        (6, &[]),
    ]);
    let whole = graph.whole(shown);
    let standing = whole.standing();
    let mut entities: Vec<(f64, &str)> = whole
        .nodes
        .iter()
        .zip(&standing)
        .filter(|(node, _)| matches!(node, Node::Entity(_)))
        .map(|(node, standing)| (*standing, graph.name(node)))
        .collect();
    entities.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert_eq!(entities[0].1, "Ada");
    assert!(standing.iter().sum::<f64>() <= 1.0 + 1e-9);
    let groups = whole.groups();
    let of = |node: &Node| groups[whole.nodes.binary_search(node).unwrap()];
    assert_eq!((of(&entity("Ada")), of(&memory(3)), of(&entity("tea"))), (Some(0), Some(0), Some(0)));
    assert_eq!((of(&entity("Rust")), of(&memory(5)), of(&memory(6))), (Some(1), Some(1), None));
    assert_eq!(whole.orphans().collect::<Vec<_>>(), [&memory(6)]);
    // An entity of which nothing is shown is not there.
    let few = graph.whole(|node| !matches!(node, Node::Memory(own) if *own == id(4) || *own == id(5)));
    assert_eq!((few.len(), few.nodes.contains(&entity("Rust"))), (6, false));
    assert!(Graph::default().whole(shown).groups().is_empty() && Graph::default().whole(shown).standing().is_empty());
}

#[test]
fn eight_circles_of_friends_are_eight_groups() {
    let mut told: Vec<(u32, Vec<String>)> = Vec::new();
    for circle in 0..8u32 {
        for number in 0..20u32 {
            let friend = |step: u32| format!("friend {circle} {}", (number + step) % 6);
            told.push((circle * 100 + number, vec![friend(0), friend(1), "everybody".to_owned()]));
        }
    }
    let mut graph = Graph::default();
    for (number, entities) in &told {
        graph.put_memory(id(*number), entities, day(0));
    }
    let whole = graph.whole(shown);
    let groups = whole.groups();
    let of = |number: u32| groups[whole.nodes.binary_search(&memory(number)).unwrap()].unwrap();
    for circle in 0..8 {
        for number in 1..20 {
            assert_eq!(of(circle * 100 + number), of(circle * 100), "circle {circle}");
        }
    }
    let mut all: Vec<u32> = (0..8).map(|circle| of(circle * 100)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 8);
}

/// Something that happens to a graph.
#[derive(Debug, Clone)]
enum Event {
    Memory(u32, Vec<u8>),
    Forget(u32),
    Relate(u32, u32, bool, Option<u8>),
    EntityRelation(u8, u32, bool),
    Note(u8),
    DropNote(u8),
    Links(u8, Vec<u32>),
}

fn event() -> impl Strategy<Value = Event> {
    let number = || 0u32..8;
    prop_oneof![
        4 => (number(), prop::collection::vec(0u8..12, 0..4)).prop_map(|(number, own)| Event::Memory(number, own)),
        1 => number().prop_map(Event::Forget),
        2 => (number(), number(), any::<bool>(), prop::option::of(0u8..10))
            .prop_map(|(a, b, is_there, strength)| Event::Relate(a, b, is_there, strength)),
        1 => (0u8..6, number(), any::<bool>()).prop_map(|(a, b, is_there)| Event::EntityRelation(a, b, is_there)),
        1 => (0u8..3).prop_map(Event::Note),
        1 => (0u8..3).prop_map(Event::DropNote),
        1 => (0u8..3, prop::collection::vec(number(), 0..4)).prop_map(|(note, to)| Event::Links(note, to)),
    ]
}

/// What is known after some events, and a graph that is made of that alone, in another order.
#[derive(Default)]
struct Known {
    memories: std::collections::BTreeMap<u32, Vec<String>>,
    relations: std::collections::BTreeMap<(Node, Node), Option<f32>>,
    notes: std::collections::BTreeMap<u8, Vec<Node>>,
}

/// Six entities, each spelled two ways.
fn spelled(number: u8) -> String {
    let name = format!("Entity {}", number / 2);
    if number.is_multiple_of(2) { name } else { name.to_uppercase() }
}

fn path(number: u8) -> String {
    format!("{number}.md")
}

impl Known {
    fn happen(&mut self, graph: &mut Graph, event: &Event) {
        match event {
            Event::Memory(number, own) => {
                let own: Vec<String> = own.iter().map(|number| spelled(*number)).collect();
                graph.put_memory(id(*number), &own, day(i64::from(*number)));
                self.memories.insert(*number, own);
            }
            Event::Forget(number) => {
                graph.drop_memory(id(*number));
                self.memories.remove(number);
            }
            Event::Relate(a, b, is_there, strength) => {
                let strength = strength.map(|strength| f32::from(strength) / 10.0);
                self.relate(graph, (memory(*a), memory(*b)), *is_there, strength);
            }
            Event::EntityRelation(a, b, is_there) => {
                self.relate(graph, (entity(&spelled(*a)), memory(*b)), *is_there, None);
            }
            Event::Note(number) => {
                graph.put_note(&path(*number));
                self.notes.entry(*number).or_default();
            }
            Event::DropNote(number) => {
                graph.drop_note(&path(*number));
                self.notes.remove(number);
            }
            Event::Links(number, to) => {
                // As the engine does: links are read where the note is there.
                if let Some(links) = self.notes.get_mut(number) {
                    *links = to.iter().map(|number| memory(*number)).collect();
                    graph.set_links(&Node::note(&path(*number)), links);
                }
            }
        }
    }

    fn relate(&mut self, graph: &mut Graph, ends: (Node, Node), is_there: bool, strength: Option<f32>) {
        if is_there {
            graph.set_relation(&ends.0, &ends.1, "causes", strength);
        } else {
            graph.drop_relation(&ends.0, &ends.1, "causes");
        }
        if is_there && ends.0 != ends.1 {
            self.relations.insert(ends, strength);
        } else {
            self.relations.remove(&ends);
        }
    }

    fn rebuilt(&self) -> Graph {
        let mut graph = Graph::default();
        for ((a, b), strength) in &self.relations {
            graph.set_relation(a, b, "causes", *strength);
        }
        for (number, links) in &self.notes {
            graph.put_note(&path(*number));
            graph.set_links(&Node::note(&path(*number)), links);
        }
        for (number, own) in self.memories.iter().rev() {
            graph.put_memory(id(*number), own, day(i64::from(*number)));
        }
        graph
    }
}

/// All that a graph answers.
fn answers(graph: &Graph) -> impl PartialEq + std::fmt::Debug + use<> {
    let whole = graph.whole(shown);
    let mut nodes: Vec<Node> = graph.places.keys().cloned().collect();
    nodes.sort_unstable();
    let edges = graph.ties_among(&nodes);
    let called: Vec<(String, usize)> =
        nodes.iter().map(|node| (graph.name(node).to_owned(), graph.ties_of(node))).collect();
    let near: Vec<Neighbourhood> = nodes
        .iter()
        .flat_map(|node| {
            [graph.neighbourhood(node, 3, 5, shown, holding), graph.neighbourhood(node, 1, 9, shown, holding)]
        })
        .collect();
    let paths: Vec<Option<Vec<Edge>>> = nodes.iter().map(|node| graph.path(&nodes[0], node, shown, holding)).collect();
    (edges, called, near, paths, (whole.standing(), whole.groups()), whole)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_grew_step_by_step_answers_as_what_is_made_at_once(events in prop::collection::vec(event(), 0..60)) {
        let (mut graph, mut known) = (Graph::default(), Known::default());
        for event in &events {
            known.happen(&mut graph, event);
        }
        prop_assert_eq!(answers(&graph), answers(&known.rebuilt()));
    }

    #[test]
    fn a_neighbourhood_is_never_larger_than_asked_and_its_edges_stay_inside(
        events in prop::collection::vec(event(), 0..60), depth in 0usize..4, limit in 1usize..8,
    ) {
        let (mut graph, mut known) = (Graph::default(), Known::default());
        for event in &events {
            known.happen(&mut graph, event);
        }
        for start in graph.places.keys() {
            let all = graph.neighbourhood(start, depth, 1_000, shown, holding);
            let found = graph.neighbourhood(start, depth, limit, shown, holding);
            prop_assert!(found.nodes.len() <= limit && all.left_out == 0);
            prop_assert_eq!(found.nodes.len(), limit.min(all.nodes.len()));
            prop_assert!(all.nodes.iter().all(|own| own.depth <= depth));
            let chosen: Vec<&Node> = found.nodes.iter().map(|own| &own.node).collect();
            for edge in graph.ties_among(chosen.iter().copied()) {
                prop_assert!(chosen.contains(&&edge.from) && chosen.contains(&&edge.to));
            }
            // Every node but the start is tied to one that is closer.
            for own in all.nodes.iter().skip(1) {
                let near = graph.ties_at(&own.node);
                let other = |edge: &Edge| if edge.from == own.node { edge.to.clone() } else { edge.from.clone() };
                let closer = |node: &Node| all.nodes.iter().any(|a| a.node == *node && a.depth + 1 == own.depth);
                prop_assert!(near.iter().any(|edge| closer(&other(edge))), "{:?}", own);
            }
        }
    }
}
