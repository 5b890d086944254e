//! Tables of model2vec, made here: two words of two languages each.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::normaliser::normalise;
use super::super::*;

/// A file of tensors: name, kind, shape and bytes of each.
fn file(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), json!({"format": "np"}));
    let mut data = Vec::new();
    for (name, kind, shape, bytes) in tensors {
        let start = data.len();
        data.extend_from_slice(bytes);
        header.insert((*name).into(), json!({"dtype": kind, "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let header = Value::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Rows of the unknown token, house, haus, dog, hund and of an ending.
const ROWS: [f32; 12] = [9.0, 9.0, 1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.5, -0.5];

fn rows() -> Vec<u8> {
    file(&[("embeddings", "F32", &[6, 2], floats(&ROWS))])
}

fn word_pieces() -> Value {
    json!({
        "version": "1.0",
        "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[UNK]": 0, "house": 1, "haus": 2, "dog": 3, "hund": 4, "##e": 5}
        }
    })
}

fn unigram() -> Value {
    json!({
        "version": "1.0",
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "model": {
            "type": "Unigram", "unk_id": 0, "byte_fallback": false,
            "vocab": [["<unk>", 0.0], ["▁house", -3.0], ["▁haus", -3.0], ["▁dog", -3.0], ["▁hund", -3.0], ["e", -4.0]]
        }
    })
}

fn model(tokenizer: &Value) -> Model {
    Model::of_model2vec(rows(), tokenizer.to_string().as_bytes()).unwrap()
}

/// The vector of a text is `expected`, but for what eight bits round.
fn assert_vector(model: &Model, text: &str, expected: [f32; 2]) {
    let vector = model.embed(text);
    let is_near = vector.iter().zip(expected).all(|(own, expected)| (own - expected).abs() < 0.006);
    assert!(is_near && vector.len() == 2, "{text:?}: {vector:?} instead of {expected:?}");
}

/// The tokens that a tokenizer cuts a text into.
fn cut(tokenizer: &Value, text: &str) -> Vec<u32> {
    Tokenizer::read(tokenizer.to_string().as_bytes()).unwrap().cut(text)
}

/// The file that is refused, and why.
fn refused(tensors: Vec<u8>, tokenizer: &[u8]) -> (String, String) {
    match Model::of_model2vec(tensors, tokenizer) {
        Err(Error::Invalid { what, why, .. }) => (what, why),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was read"),
    }
}

#[test]
fn both_kinds_of_tokenizers_give_the_vectors_computed_by_hand() {
    let half = 0.5f32.sqrt();
    for tokenizer in [word_pieces(), unigram()] {
        let model = model(&tokenizer);
        assert_vector(&model, "house", [1.0, 0.0]);
        assert_vector(&model, " haus\n", [1.0, 0.0]);
        assert_vector(&model, "house hund", [0.447, 0.894]);
        assert_vector(&model, "cat house, 猫", [1.0, 0.0]);
        // (0, 2) and (0.5, -0.5).
        assert_vector(&model, "hunde", [0.316, 0.949]);
        assert_vector(&model, "house dog", [half, half]);
        for text in ["", " ", "cat", "!"] {
            assert_eq!(model.embed(text), [0.0, 0.0], "{text:?}");
        }
        assert_eq!(model.near("house").count(), 0);
    }
    assert_vector(&model(&word_pieces()), "HÁUS", [1.0, 0.0]);
    assert_eq!(model(&unigram()).embed("HÁUS"), [0.0, 0.0]);
    assert_vector(&model(&unigram()), "ｈａｕｓ", [1.0, 0.0]);
}

#[test]
fn rows_are_read_in_every_kind_of_number() {
    let whole: Vec<i8> = ROWS.iter().map(|value| (value * 2.0) as i8).collect();
    let high = |value: &f32| value.to_le_bytes()[2..].to_vec();
    // All of them are of few bits: exponent and mantissa are cut from those of 32 bits.
    let sixteen = |value: &f32| {
        let bits = value.to_bits();
        let exponent = if *value == 0.0 { 0 } else { ((bits >> 23 & 255) - 112) << 10 };
        ((bits >> 16 & 0x8000 | exponent | bits >> 13 & 1023) as u16).to_le_bytes()
    };
    for (kind, bytes) in [
        ("F64", ROWS.iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect()),
        ("F32", floats(&ROWS)),
        ("F16", ROWS.iter().flat_map(sixteen).collect()),
        ("BF16", ROWS.iter().flat_map(high).collect()),
        ("I8", whole.iter().map(|value| value.cast_unsigned()).collect::<Vec<u8>>()),
    ] {
        let tensors = file(&[("other", "U8", &[3], vec![1, 2, 3]), ("embedding.weight", kind, &[6, 2], bytes)]);
        let model = Model::of_model2vec(tensors, word_pieces().to_string().as_bytes()).unwrap();
        assert_vector(&model, "house hund", [0.447, 0.894]);
        assert_vector(&model, "hunde", [0.316, 0.949]);
    }
}

#[test]
fn tokens_may_share_rows_and_count_differently() {
    let read = |mapping: (&str, Vec<u8>), weights: &[f32]| {
        let tensors = file(&[
            ("weights", "F64", &[weights.len()], weights.iter().flat_map(|w| f64::from(*w).to_le_bytes()).collect()),
            ("embeddings", "F32", &[2, 2], floats(&[0.0, 1.0, 1.0, 0.0])),
            ("mapping", mapping.0, &[6], mapping.1),
        ]);
        Model::of_model2vec(tensors, unigram().to_string().as_bytes())
    };
    let rows = [0i32, 1, 1, 0, 0, 1];
    let mapping = ("I32", rows.iter().flat_map(|row| row.to_le_bytes()).collect::<Vec<u8>>());
    let wide = ("I64", rows.iter().flat_map(|row| i64::from(*row).to_le_bytes()).collect::<Vec<u8>>());
    for mapping in [&mapping, &wide] {
        let model = read(mapping.clone(), &[1.0, 3.0, 1.0, 4.0, 1.0, 1.0]).unwrap();
        assert_vector(&model, "house dog", [0.6, 0.8]);
        assert_vector(&model, "haus dog", [0.243, 0.970]);
    }
    let of = |row: i32| ("I32", [row.to_le_bytes(), [0; 4], [0; 4], [0; 4], [0; 4], [0; 4]].concat());
    for (mapping, weights) in
        [(of(2), 6), (of(-1), 6), (of(1), 5), (("F32", floats(&[0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0])), 6)]
    {
        assert!(matches!(read(mapping, &vec![1.0; weights]), Err(Error::Invalid { .. })));
    }
    assert!(matches!(read(mapping, &[1.0, 1.0, f32::INFINITY, 1.0, 1.0, 1.0]), Err(Error::Invalid { .. })));
}

#[test]
fn of_all_ways_to_cover_a_word_the_best_one_is_taken() {
    let mut tokenizer = unigram();
    tokenizer["model"]["vocab"] = json!([
        ["<unk>", 0.0],
        ["▁haus", -2.0],
        ["▁hausb", -1.0],
        ["boot", -2.0],
        ["oot", -9.0],
        ["▁", -5.0],
        ["▁new▁york", -4.0],
        ["▁new", -3.0],
        ["▁york", -3.0],
        ["", -1.0],
        ["boot", -2.5]
    ]);
    // Of the two pieces `boot` the later one counts; the longest first piece would lead to -10.
    assert_eq!(cut(&tokenizer, "hausboot"), [1, 10]);
    assert_eq!(cut(&tokenizer, "new york"), [7, 8]);
    assert_eq!(cut(&tokenizer, "hausxboot  <unk>"), [1, 10, 5, 5]);
    tokenizer["pre_tokenizer"]["split"] = json!(false);
    assert_eq!(cut(&tokenizer, "new york"), [6]);
    for (scheme, expected) in [("always", [1, 1]), ("first", [1, 10]), ("never", [10, 10])] {
        tokenizer["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme}
        ]});
        let text = if scheme == "never" { "boot boot" } else { "haus\thaus" };
        let text = if scheme == "first" { "haus boot" } else { text };
        assert_eq!(cut(&tokenizer, text), expected, "{scheme}");
    }
}

#[test]
fn normalizers_do_what_their_names_say() {
    let bert = |lower: bool| json!({"type": "BertNormalizer", "lowercase": lower, "strip_accents": null});
    let precompiled = json!({"type": "Precompiled", "precompiled_charsmap": ""});
    for (normalizer, text, expected) in [
        (Value::Null, " Ä\u{0}ﬁ ", " Ä\u{0}ﬁ "),
        (bert(true), "\u{0}ÀB\u{200D}\tc\u{FFFD}漢\u{AD}", "ab\tc 漢 "),
        (bert(false), "ÀB\u{1F}C", "ÀBC"),
        (json!({"type": "BertNormalizer", "lowercase": false, "strip_accents": true}), "ÀB", "AB"),
        (precompiled.clone(), "ﬁ①\u{1}\u{200B}x\u{FEFF}e\u{301}\n", "fi1 x é "),
        (json!({"type": "Replace", "pattern": {"String": "."}, "content": " $0 "}), "a.b", "a $0 b"),
        (json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}), "a   b c", "a b c"),
        (json!({"type": "Strip", "strip_left": true, "strip_right": false}), " a ", "a "),
        (json!({"type": "Strip", "strip_left": false, "strip_right": true}), " a ", " a"),
        (
            json!({"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFD"}, {"type": "StripAccents"}]}),
            "É",
            "e",
        ),
        (json!({"type": "NFC"}), "e\u{301}ﬁ", "éﬁ"),
        (json!({"type": "NFKC"}), "e\u{301}ﬁ", "éfi"),
        (json!({"type": "NFKD"}), "éﬁ", "e\u{301}fi"),
    ] {
        let mut steps = Vec::new();
        tokenizer::add_steps(&normalizer, &mut steps).unwrap();
        assert_eq!(normalise(&steps, text), expected, "{normalizer}");
    }
}

#[test]
fn a_word_without_end_has_no_piece() {
    let mut tokenizer = word_pieces();
    tokenizer["model"]["max_input_chars_per_word"] = json!(6);
    assert_eq!(cut(&tokenizer, "hundee hundeee dog"), [4, 5, 5, 3]);
}

#[test]
fn the_first_512_tokens_count() {
    for tokenizer in [word_pieces(), unigram()] {
        // Of a text 512 times the median length of a piece is looked at: four or five characters.
        assert_eq!(cut(&tokenizer, &(" ".repeat(2000) + "dog")), [3]);
        assert_eq!(cut(&tokenizer, &(" ".repeat(2600) + "dog")), [0u32; 0]);
    }
    let mut tokenizer = word_pieces();
    tokenizer["model"]["vocab"] = json!({"[UNK]": 0, "house": 1, "a": 2, "housework": 3});
    assert_eq!(cut(&tokenizer, &"a ".repeat(600)), [2; 512]);
}

#[test]
fn tokenizers_of_other_kinds_are_named_and_those_that_are_known_too() {
    let with = |mut tokenizer: Value, part: &str, value: Value| {
        tokenizer[part] = value;
        tokenizer
    };
    let typed = |name: &str| json!({"type": name});
    let mut prefix = word_pieces();
    prefix["model"]["continuing_subword_prefix"] = json!("@@");
    for (tokenizer, named) in [
        (with(unigram(), "model", json!({"type": "BPE", "vocab": {}, "merges": []})), "model BPE"),
        (with(unigram(), "pre_tokenizer", typed("ByteLevel")), "pre-tokenizer ByteLevel"),
        (with(unigram(), "pre_tokenizer", Value::Null), "pre-tokenizer none"),
        (with(unigram(), "pre_tokenizer", json!({"type": "Sequence", "pretokenizers": []})), "pre-tokenizer Sequence"),
        (with(word_pieces(), "pre_tokenizer", typed("Whitespace")), "pre-tokenizer Whitespace"),
        (with(word_pieces(), "normalizer", typed("Prepend")), "normalizer Prepend"),
        (with(word_pieces(), "normalizer", json!(7)), "normalizer none"),
        (
            with(word_pieces(), "normalizer", json!({"type": "BertNormalizer", "handle_chinese_chars": false})),
            "handle_chinese_chars",
        ),
        (with(unigram(), "normalizer", typed("Replace")), "normalizer Replace without a pattern"),
        (
            with(unigram(), "normalizer", json!({"type": "Replace", "pattern": {"Regex": "(?=x)"}, "content": ""})),
            "normalizer Replace",
        ),
        (prefix, "prefix @@"),
    ] {
        let (what, why) = refused(rows(), tokenizer.to_string().as_bytes());
        assert_eq!(what, "tokenizer.json");
        let known = "known are WordPiece with BertNormalizer and BertPreTokenizer, and Unigram with Metaspace";
        assert!(why.contains(named) && why.contains(known), "{why}");
    }
}

#[test]
fn files_cut_short_are_refused_at_every_length() {
    let (tensors, [words, pieces]) = (rows(), [word_pieces().to_string(), unigram().to_string()]);
    for length in 0..tensors.len() {
        assert_eq!(refused(tensors[..length].to_vec(), words.as_bytes()).0, "model.safetensors", "{length}");
    }
    for tokenizer in [words.as_bytes(), pieces.as_bytes()] {
        for length in 0..tokenizer.len() {
            assert_eq!(refused(tensors.clone(), &tokenizer[..length]).0, "tokenizer.json", "{length}");
        }
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let bytes = |length: usize| vec![0u8; length];
    let with_header = |header: &str| [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes(48)].concat();
    let placed = |start: u64, end: u64| {
        with_header(&json!({"embeddings": {"dtype": "F32", "shape": [6, 2], "data_offsets": [start, end]}}).to_string())
    };
    for (tensors, named) in [
        (file(&[("vectors", "F32", &[6, 2], bytes(48))]), "no tensor `embeddings`"),
        (file(&[("embeddings", "F32", &[12], bytes(48))]), "two dimensions"),
        (file(&[("embeddings", "F32", &[6, 3], bytes(48))]), "length of its shape"),
        (file(&[("embeddings", "F32", &[5, 2], bytes(40))]), "5 tokens, but tokenizer.json has 6"),
        (file(&[("embeddings", "F32", &[0, 2], bytes(0))]), "0 rows"),
        (file(&[("embeddings", "F32", &[6, 0], bytes(0))]), "0 dimensions"),
        (file(&[("embeddings", "F32", &[1, 4097], bytes(4 * 4097))]), "4097 dimensions"),
        (file(&[("embeddings", "F32", &[1 << 24, 1 << 40], bytes(48))]), "dimensions"),
        (file(&[("embeddings", "F32", &[1 << 24, 4096], bytes(48))]), "length of its shape"),
        (file(&[("embeddings", "U16", &[6, 2], bytes(24))]), "header"),
        (file(&[("embeddings", "F32", &[6, 2], floats(&[f32::NAN; 12]))]), "row 0"),
        (file(&[("embeddings", "F32", &[6, 2], floats(&[f32::INFINITY; 12]))]), "row 0"),
        (file(&[("embeddings", "F32", &[6, 2], floats(&ROWS)), ("weights", "F32", &[7], bytes(24))]), "`weights`"),
        (placed(0, 49), "outside of the file"),
        (placed(48, 0), "outside of the file"),
        (placed(u64::MAX - 47, u64::MAX), "outside of the file"),
        (with_header("{"), "header"),
        (with_header("[]"), "header"),
        ([&u64::MAX.to_le_bytes()[..], b"{}"].concat(), "header"),
    ] {
        let (what, why) = refused(tensors, word_pieces().to_string().as_bytes());
        assert!(what == "model.safetensors" && why.contains(named), "{what}: {why} instead of {named}");
    }
    assert!(Model::of_model2vec(placed(0, 48), word_pieces().to_string().as_bytes()).is_ok());
}

#[test]
fn the_id_is_of_the_contents() {
    let id = |tensors: Vec<u8>, tokenizer: &Value| {
        Model::of_model2vec(tensors, tokenizer.to_string().as_bytes()).unwrap().id().to_owned()
    };
    let own = id(rows(), &word_pieces());
    assert_eq!(own, id(rows(), &word_pieces()));
    let mut changed = ROWS;
    changed[3] = 0.25;
    let ids = [
        own,
        id(rows(), &unigram()),
        id(file(&[("embeddings", "F32", &[6, 2], floats(&changed))]), &word_pieces()),
        Model::built_in().unwrap().id().to_owned(),
    ];
    for (place, id) in ids.iter().enumerate() {
        assert!(!ids[..place].contains(id), "{ids:?}");
    }
}

/// The best score over `word`, and its tokens, by trying all ways.
fn best(word: &str, pieces: &[(String, f64)]) -> (f64, Vec<u32>) {
    let Some(first) = word.chars().next() else { return (0.0, Vec::new()) };
    let least = pieces.iter().fold(f64::INFINITY, |least, (_, score)| least.min(*score));
    let mut ways: Vec<(usize, f64, Option<u32>)> = Vec::new();
    for (token, (piece, score)) in pieces.iter().enumerate() {
        if word.starts_with(piece.as_str()) {
            ways.push((piece.len(), *score, Some(token as u32)));
        }
    }
    if !ways.iter().any(|(length, ..)| *length == first.len_utf8()) {
        ways.push((first.len_utf8(), least - 10.0, None));
    }
    let ways = ways.into_iter().map(|(length, score, token)| {
        let (rest, tokens) = best(&word[length..], pieces);
        (score + rest, token.into_iter().chain(tokens).collect())
    });
    ways.max_by(|left, right| left.0.total_cmp(&right.0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_way_to_cover_a_word_is_better(
        pieces in prop::collection::btree_map("[abé]{1,3}", -9.0..-0.5, 1..12),
        word in "[abéx]{0,9}",
    ) {
        let pieces: Vec<(String, f64)> = pieces.into_iter().collect();
        let mut tokenizer = unigram();
        tokenizer["normalizer"] = Value::Null;
        tokenizer["pre_tokenizer"]["prepend_scheme"] = json!("never");
        tokenizer["model"]["vocab"] = json!(pieces);
        tokenizer["model"]["unk_id"] = Value::Null;
        // The same pieces in another order are as good.
        let (mut own, (_, mut expected)) = (cut(&tokenizer, &word), best(&word, &pieces));
        own.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(own, expected);
    }

    #[test]
    fn damaged_files_never_panic(
        text in any::<String>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        is_of_words in any::<bool>(),
        is_in_tensors in any::<bool>(),
    ) {
        let mut tensors = rows();
        let mut tokenizer = if is_of_words { word_pieces() } else { unigram() }.to_string().into_bytes();
        let damaged = if is_in_tensors { &mut tensors } else { &mut tokenizer };
        for (place, byte) in damage {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        if let Ok(model) = Model::of_model2vec(tensors, &tokenizer) {
            let vector = model.vector(&format!("{text} house hunde"));
            prop_assert!(vector.scale.is_finite());
        }
    }

    #[test]
    fn any_text_has_a_direction_if_one_piece_is_known(text in "\\PC{0,40}") {
        for tokenizer in [word_pieces(), unigram()] {
            let vector = model(&tokenizer).embed(&format!("house {text}"));
            let length = vector.iter().map(|value| value * value).sum::<f32>();
            prop_assert!((length - 1.0).abs() < 1e-5);
        }
    }
}
