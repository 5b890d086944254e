//! Memories are found by what they mean and by what stands around them, and it is said why they are found or are not.

use ebbmark::engine::{NewMemory, RecallRequest, RememberRequest, SourceInput};
use serde_json::{Value, json};

use crate::support::{Calls, Store};

/// Two words of two languages each: `house` and `haus` point one way, `dog` and `hund` another.
fn write_two_languages(store: &Store) {
    let folder = store.home().join("tables");
    std::fs::create_dir_all(&folder).unwrap();
    let mut table = b"RQT1\x08\x00\x02\x00\x04\x00\x00\x00".to_vec();
    table.extend([0x3C00u16; 4].iter().flat_map(|one| one.to_le_bytes()));
    table.extend([100u8, 0, 100, 0, 0, 100, 0, 100]);
    std::fs::write(folder.join("two.tab"), table).unwrap();
    std::fs::write(folder.join("two.vocab"), "house\nhaus\ndog\nhund\n").unwrap();
}

/// The same as a folder of model2vec, with a tokenizer of one of two kinds.
fn write_folder_of_model2vec(store: &Store, kind: &str) {
    let folder = store.home().join("tables").join(kind);
    std::fs::create_dir_all(&folder).unwrap();
    let header = json!({"embeddings": {"dtype": "F32", "shape": [5, 2], "data_offsets": [0, 40]}}).to_string();
    let rows = [9.0f32, 9.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0].map(f32::to_le_bytes).concat();
    let tensors = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &rows].concat();
    std::fs::write(folder.join("model.safetensors"), tensors).unwrap();
    let tokenizer = match kind {
        "WordPiece" => json!({
            "normalizer": {"type": "BertNormalizer", "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {
                "type": kind, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                "vocab": {"[UNK]": 0, "house": 1, "haus": 2, "dog": 3, "hund": 4}
            }
        }),
        _ => json!({
            "normalizer": Value::Null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
            "model": {
                "type": kind, "unk_id": 0,
                "vocab": [["<unk>", 0.0], ["▁house", -1.0], ["▁haus", -1.0], ["▁dog", -1.0], ["▁hund", -1.0]]
            }
        }),
    };
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(folder.join("config.json"), json!({"model_type": "model2vec", "normalize": true}).to_string())
        .unwrap();
}

#[test]
fn what_shares_no_word_is_found_by_its_meaning() {
    let store = Store::new();
    for text in ["Married to Tomás", "Drives an electric car", "Allergic to peanuts"] {
        store.engine().save(text);
    }
    for (query, text) in [("spouse", "Married to Tomás"), ("food allergies", "Allergic to peanuts")] {
        assert_eq!(store.engine().texts(query)[0], text);
    }
    store.configure("[recall]\nmodel = \"off\"\n");
    assert!(store.engine().texts("spouse").is_empty());
    assert_eq!(store.engine().texts("peanuts"), ["Allergic to peanuts"]);
}

#[test]
fn the_best_hits_lead_on_and_stay_first() {
    let store = Store::new();
    let engine = store.engine();
    let about = |text: &str, entity: &str| NewMemory {
        text: text.into(),
        entities: vec![entity.into()],
        ..NewMemory::default()
    };
    for n in 0..30 {
        engine.tell(about(&format!("Neighbour {n} lives in village {n}"), &format!("Neighbour {n}")));
    }
    let first = engine.tell(about("Karin Holm is the manager", "Karin Holm")).id;
    let answer = engine.tell(about("Karin Holm lives in Porto", "Karin Holm")).id.unwrap();
    let query = "where does the manager live";
    for limit in [1, 3, 8] {
        let request = RecallRequest { limit: Some(limit), ..RecallRequest::of(query) };
        assert_eq!(Some(&engine.recall(&request).unwrap().hits[0].id), first.as_ref(), "{limit}");
    }
    let explained = RecallRequest { explain: Some(true), ..RecallRequest::of(query) };
    let hits = engine.recall(&explained).unwrap().hits;
    assert_eq!(hits[1].id, answer, "{hits:#?}");
    assert!(hits[1].why.as_ref().unwrap().graph > 0.0 && hits[1].score < hits[0].score);
    let why = store.ok(&["why", query, &answer]);
    assert!(why.contains("better hits are about the same as it") && why.contains("graph 0."), "{why}");
    store.configure("[recall]\nhop = false\n");
    assert_ne!(store.engine().hits(query)[1].id, answer);
}

#[test]
fn another_table_is_used_where_it_is_named() {
    let store = Store::new();
    write_two_languages(&store);
    store.configure("[recall]\nmodel = \"tables/two\"\n");
    store.engine().save("haus");
    store.engine().save("hund");
    assert_eq!(store.engine().texts("house"), ["haus"]);
    assert_eq!(store.engine().texts("dog"), ["hund"]);
    assert_eq!(store.run(&["doctor"]).exits(0).stdout.matches("recall.model").count(), 0);
}

#[test]
fn memories_in_one_language_are_found_by_a_query_in_another_one_with_a_model2vec_folder() {
    for kind in ["WordPiece", "Unigram"] {
        let store = Store::new();
        write_folder_of_model2vec(&store, kind);
        store.configure(&format!("[recall]\nmodel = \"tables/{kind}\"\n"));
        store.engine().save("haus");
        store.engine().save("hund");
        assert_eq!(store.engine().texts("house"), ["haus"], "{kind}");
        assert_eq!(store.engine().texts("dog"), ["hund"], "{kind}");
        assert_eq!(store.run(&["doctor"]).exits(0).stdout.matches("recall.model").count(), 0);
    }
}

#[test]
fn a_model2vec_folder_that_cannot_be_read_costs_the_meaning_and_its_file_is_named() {
    let store = Store::new();
    store.engine().save("Allergic to peanuts");
    store.configure("[recall]\nmodel = \"tables/Unigram\"\n");
    for (file, bytes) in [
        ("model.safetensors", None),
        ("tokenizer.json", None),
        ("model.safetensors", Some("RQT1")),
        ("tokenizer.json", Some("{\"model\": {\"type\": \"BPE\"}}")),
    ] {
        write_folder_of_model2vec(&store, "Unigram");
        let path = store.home().join("tables/Unigram").join(file);
        match bytes {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        assert_eq!(store.engine().texts("peanuts"), ["Allergic to peanuts"], "{file} {bytes:?}");
        let told = store.run(&["doctor"]).stdout;
        assert!(told.contains("recall.model") && told.contains(path.to_str().unwrap()), "{told}");
    }
}

#[test]
fn a_table_that_cannot_be_read_costs_the_meaning_and_is_told() {
    let store = Store::new();
    store.engine().save("Allergic to peanuts");
    write_two_languages(&store);
    for (model, file, bytes) in
        [("tables/none", "unused", ""), ("tables/two", "two.tab", "RQT1"), ("tables/two", "two.vocab", "x\n")]
    {
        std::fs::write(store.home().join("tables").join(file), bytes).unwrap();
        store.configure(&format!("[recall]\nmodel = \"{model}\"\n"));
        let engine = store.engine();
        assert_eq!(engine.texts("peanuts"), ["Allergic to peanuts"], "{model} {file}");
        assert!(engine.texts("nuts that I must not eat").len() <= 1);
        let told = engine.recall(&RecallRequest::of("peanuts")).unwrap();
        assert!(told.found);
        assert!(store.run(&["doctor"]).stdout.contains("recall.model"), "{model} {file}");
    }
}

#[test]
fn vectors_are_kept_and_losing_them_changes_no_answer() {
    let store = Store::new();
    store.fill(40);
    let found = |store: &Store| -> Vec<(String, f64)> {
        let request = RecallRequest { limit: Some(50), ..RecallRequest::of("a board to put books on") };
        store.engine().recall(&request).unwrap().hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
    };
    let before = found(&store);
    store.engine().clean();
    let cache = store.home().join("cache");
    let files = || -> Vec<_> {
        let entries = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("vectors-")).collect()
    };
    let [file] = &files()[..] else { panic!("{:?}", files()) };
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(bytes.len(), 40 * (256 + 17));
    assert_eq!(found(&store), before);
    let mut damaged = bytes.clone();
    damaged.iter_mut().step_by(97).for_each(|byte| *byte ^= 0x55);
    for bytes in [&damaged[..], &bytes[..1000], b""] {
        std::fs::write(file, bytes).unwrap();
        assert_eq!(found(&store), before);
        store.engine().clean();
        assert_eq!(found(&store), before);
    }
}

fn said(session: &str, scope: Option<&str>, turns: &[(&str, &str)]) -> RememberRequest {
    let memories: Vec<NewMemory> = turns
        .iter()
        .zip(0..)
        .map(|((speaker, text), position)| NewMemory {
            text: (*text).into(),
            scope: scope.map(str::to_owned),
            source: Some(SourceInput {
                speaker: Some((*speaker).into()),
                session: Some(session.into()),
                position: Some(position),
                ..SourceInput::default()
            }),
            ..NewMemory::default()
        })
        .collect();
    RememberRequest::of(&memories)
}

const TALK: [(&str, &str); 4] = [
    ("Ana", "Which instrument did you take up again after the move?"),
    ("Ben", "The old one from my grandmother, in the attic every evening."),
    ("Ana", "Lovely."),
    ("Ben", "Tomorrow it rains."),
];

#[test]
fn an_answer_is_found_by_the_question_before_it() {
    let store = Store::new();
    let engine = store.engine();
    engine.remember(&said("talk", None, &TALK)).unwrap();
    let texts = engine.texts("Which instrument did Ben take up again?");
    assert_eq!(texts[0], TALK[1].1, "{texts:?}");
    // Told in another order, over several calls and processes: the same.
    let other = Store::new();
    for place in [3, 1, 0, 2] {
        let mut request = said("talk", None, &TALK);
        request.memories = vec![request.memories[place].clone()];
        other.engine().remember(&request).unwrap();
    }
    assert_eq!(other.engine().texts("Which instrument did Ben take up again?"), texts);
}

#[test]
fn a_project_lends_no_words_to_another_one() {
    let store = Store::new();
    let engine = store.engine();
    engine.remember(&said("talk", Some("secret"), &TALK[..1])).unwrap();
    engine.remember(&said("talk", None, &TALK[1..])).unwrap();
    let answer = engine.recall(&RecallRequest { explain: Some(true), ..RecallRequest::of("instrument") }).unwrap();
    assert!(answer.hits.iter().all(|hit| hit.why.as_ref().unwrap().words.is_empty()), "{answer:?}");
}

#[test]
fn it_is_said_why_a_memory_is_a_hit_or_is_none() {
    let store = Store::new();
    let engine = store.engine();
    let tea = engine.save("Prefers tea over coffee");
    let car = engine.save("Drives an electric car");
    let secret = {
        let memory =
            NewMemory { text: "Tea is served at four".into(), scope: Some("falcon".into()), ..NewMemory::default() };
        engine.remember(&RememberRequest::of(&[memory])).unwrap().results[0].id.clone().unwrap()
    };
    let told = |id: &str, more: &[&str]| store.ok(&[&["why", "tea", id], more].concat());
    assert!(told(&tea, &[]).contains("it is hit 1 of 8"), "{}", told(&tea, &[]));
    assert!(told(&car, &[]).contains("shares no word with the query"), "{}", told(&car, &[]));
    assert!(told(&secret, &[]).contains("it belongs to the project falcon"), "{}", told(&secret, &[]));
    assert!(told(&secret, &["--scope", "falcon"]).contains("of 8"));
    assert!(
        told(&secret, &["--scope", "falcon", "--limit", "1"]).contains("raise `limit`")
            || told(&tea, &["--scope", "falcon", "--limit", "1"]).contains("raise `limit`")
    );
    let json = store.json(&["why", "tea", &tea]);
    assert_eq!((&json["place"], &json["is_returned"]), (&1.into(), &true.into()));
    assert!(json["why"]["words"]["tea"].as_f64().unwrap() > 0.5);
    assert_eq!(store.run(&["why", "tea", "zzzz"]).code, 2);
}
