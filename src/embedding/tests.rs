#![allow(clippy::format_collect, clippy::float_cmp, reason = "exact values, and a hash in hexadecimal")]

mod model2vec;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;

/// Two words of two languages each, in two dimensions and eight bits.
fn tiny() -> Vec<u8> {
    let mut table = b"RQT1\x08\x00\x02\x00\x04\x00\x00\x00".to_vec();
    table.extend([0x3C00u16; 4].iter().flat_map(|one| one.to_le_bytes()));
    table.extend([100i8, 0, 100, 0, 0, 100, 0, 100].map(i8::cast_unsigned));
    table
}

fn tiny_model() -> Model {
    Model::read(tiny().into(), "house\nhaus\ndog\nhund\n", None, None).unwrap()
}

fn cosine(model: &Model, left: &str, right: &str) -> f32 {
    model.embed(left).iter().zip(model.embed(right)).map(|(left, right)| left * right).sum()
}

#[test]
fn the_files_are_the_ones_that_were_evaluated() {
    let hash = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hash(BUILT_IN_ROWS), "27f9f01ffaf839c1e9dbd449fa77c92495f4546d65af2f153e1aeae90a5e86aa");
    assert_eq!(hash(BUILT_IN_PIECES.as_bytes()), "3088a8f3fec38b07d5e813f2ee276fab92a2604b98a83a3eb3ecd74e90ef447e");
    assert_eq!(hash(BUILT_IN_NEAR), "fffc18870842be24af6abca9e25bbe695cf8206604c5e0640858505a484fc379");
    assert_eq!(hash(BUILT_IN_LAYER), "d3d31031a39485040db5d4f6d51c6df8ea78bbbf128fd2a34ea28d05c01934ee");
}

#[test]
fn vectors_are_those_of_the_reference_reader() {
    // Text, the first seven components, and the sum of component times cos(place) over all of them.
    let reference = include_str!("reference.tsv");
    let model = Model::built_in().unwrap();
    assert_eq!(model.dimensions(), 256);
    for line in reference.lines() {
        let (text, numbers) = line.rsplit_once('\t').unwrap();
        let text = text.replace("\\t", "\t").replace("\\\\", "\\");
        let vector = model.embed(&text);
        let all: f32 = vector.iter().enumerate().map(|(place, value)| value * (place as f32).cos()).sum();
        for (own, expected) in vector.iter().take(7).chain([&all]).zip(numbers.split(' ')) {
            let expected: f32 = expected.parse().unwrap();
            assert!((own - expected).abs() < 1e-4, "{text:?}: {own} instead of {expected}");
        }
    }
    assert_eq!(reference.lines().count(), 200);
}

#[test]
fn texts_of_one_meaning_are_near_each_other() {
    let model = Model::built_in().unwrap();
    assert!(cosine(&model, "spouse", "Married to Tomás") > 2.0 * cosine(&model, "spouse", "Drives an electric car"));
    assert!(cosine(&model, "food allergies", "Allergic to peanuts") > 0.5);
    assert!((cosine(&model, "Zoë’s café", "ZOE’S CAFE") - 1.0).abs() < 1e-5);
}

#[test]
fn what_has_no_known_piece_has_no_direction() {
    let model = tiny_model();
    for text in ["", " ", "\0", "!?", "cat", "hausboot", "хата"] {
        assert_eq!(model.embed(text), [0.0, 0.0], "{text:?}");
        assert_eq!(model.vector(text).scale, 0.0);
    }
}

#[test]
fn another_table_may_know_two_languages() {
    let model = tiny_model();
    assert!((cosine(&model, "house", "Haus") - 1.0).abs() < 1e-6);
    assert!(cosine(&model, "house", "Hund").abs() < 1e-6);
    assert_ne!(model.id(), Model::built_in().unwrap().id());
    assert_ne!(model.id(), Model::read(tiny().into(), "haus\nhouse\ndog\nhund\n", None, None).unwrap().id());
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let table = tiny();
    let pieces = "house\nhaus\ndog\nhund\n";
    let mut changed: Vec<Vec<u8>> = (0..table.len()).map(|length| table[..length].to_vec()).collect();
    changed.extend([0, 4, 6, 7, 8, 11].map(|place| {
        let mut table = table.clone();
        table[place] ^= 0x41;
        table
    }));
    for table in changed {
        assert!(
            matches!(Model::read(table.clone().into(), pieces, None, None), Err(Error::Invalid { .. })),
            "{table:?}"
        );
    }
    for pieces in ["", "house\n", "house\nhouse\ndog\nhund\n", "a\nb\nc\nd\ne\n"] {
        assert!(
            matches!(Model::read(table.clone().into(), pieces, None, None), Err(Error::Invalid { .. })),
            "{pieces:?}"
        );
    }
    let layer = b"RQM1\x02\x00\x01\x00\0\0\0\0\0\0\0\0\0\0";
    assert!(Model::read(table.clone().into(), pieces, Some(layer), None).is_ok());
    for length in 0..layer.len() {
        let layer = Some(&layer[..length]);
        assert!(
            matches!(Model::read(table.clone().into(), pieces, layer, None), Err(Error::Invalid { .. })),
            "{length}"
        );
    }
}

#[test]
fn words_that_mean_nearly_the_same_are_known() {
    let model = Model::built_in().unwrap();
    let near = |word: &str| model.near(word).map(|(other, _)| other.to_owned()).collect::<Vec<_>>();
    assert!(near("spouse").starts_with(&["husband".into(), "wife".into()]), "{:?}", near("spouse"));
    assert!(near("car").contains(&"vehicle".to_owned()));
    for word in ["", "the", "##ing", "qqq", "Car"] {
        assert!(near(word).is_empty(), "{word}");
    }
    let likeness: Vec<f32> = model.near("dog").map(|(_, likeness)| likeness).collect();
    assert!(likeness.is_sorted_by(|a, b| a >= b) && likeness.iter().all(|value| (0.6..1.0).contains(value)));
    assert_eq!(tiny_model().near("house").count(), 0);
}

#[test]
fn near_words_of_another_table_are_refused() {
    let good = b"RQN1\x04\0\0\0\x01\0\0\x01\x01\0\xFF\0\0\x80";
    let read = |near: &[u8]| Model::read(tiny().into(), "house\nhaus\ndog\nhund\n", None, Some(near));
    let model = read(good).unwrap();
    assert_eq!(model.near("house").collect::<Vec<_>>(), [("haus", 1.0)]);
    assert_eq!((model.near("haus").count(), model.near("hund").count()), (0, 1));
    for length in 0..good.len() {
        assert!(matches!(read(&good[..length]), Err(Error::Invalid { .. })), "{length}");
    }
    for place in [0, 4, 8, 12, 13] {
        let mut bad = good.to_vec();
        bad[place] = bad[place].wrapping_add(7);
        assert!(matches!(read(&bad), Err(Error::Invalid { .. })), "{place}");
    }
}

#[test]
fn long_words_take_no_longer_than_their_pieces() {
    let model = tiny_model();
    assert_eq!(model.embed(&"house".repeat(100_000)), [0.0, 0.0]);
    assert_eq!(model.embed(&"house ".repeat(100_000)), [1.0, 0.0]);
}

#[test]
fn halves_are_read() {
    for (bits, value) in
        [(0x3C00, 1.0), (0xC000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x8000, -0.0)]
    {
        assert_eq!(half(bits), value);
    }
    assert!(half(0x7E00).is_nan() && half(0x7C00).is_infinite());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_a_vector_of_length_one_or_none(text in any::<String>()) {
        let vector = tiny_model().embed(&format!("{text} house"));
        prop_assert!((vector.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn eight_bits_change_a_cosine_by_little(left in prop::collection::vec(-1.0f32..1.0, 48), right in prop::collection::vec(-1.0f32..1.0, 48)) {
        let (mut left, mut right) = (left, right);
        prop_assume!(normalise(&mut left) && normalise(&mut right));
        let exact: f32 = left.iter().zip(&right).map(|(left, right)| left * right).sum();
        let (left, right) = (Vector::of(&left), Vector::of(&right));
        let rounded = products(&left.values, &right.values)[0] as f32 * left.scale * right.scale;
        prop_assert!((exact - rounded).abs() < 0.01, "{exact} and {rounded}");
    }
}
