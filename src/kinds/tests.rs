//! Tests of [`crate::kinds`].

use super::*;
use std::fmt::Write as _;

use proptest::prelude::*;

/// Labelled sentences; those marked `held` were not used to tune the rules.
const SENTENCES: &str = include_str!("../../tests/data/kinds/sentences.tsv");

fn sentences() -> impl Iterator<Item = (Kind, &'static str, bool)> {
    SENTENCES.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        (columns[0].parse().unwrap(), columns[1], columns.get(3) == Some(&"held"))
    })
}

#[test]
fn labelled_sentences_are_guessed() {
    let [mut all, mut right, mut held, mut held_right] = [0; 4];
    let mut confusion = String::new();
    for (kind, sentence, is_held) in sentences() {
        let guess = guess(sentence);
        let good = usize::from(guess.kind == kind);
        (all, right) = (all + 1, right + good);
        if is_held {
            (held, held_right) = (held + 1, held_right + good);
        }
        if good == 0 {
            writeln!(confusion, "{kind} read as {} by {}: {sentence}", guess.kind, guess.why).unwrap();
        }
    }
    let figures = format!("{right} of {all} right, of those held out {held_right} of {held}\n{confusion}");
    assert!(all >= 160 && held * 3 >= all, "too few sentences: {figures}");
    assert!(right * 10 >= all * 9, "{figures}");
    assert!(held_right * 10 >= held * 8, "{figures}");
}

#[test]
fn every_kind_has_sentences_and_tricky_ones() {
    let tricky = SENTENCES.lines().filter(|line| line.contains("\ttricky")).count();
    assert!(tricky >= 50, "{tricky}");
    for kind in Kind::ALL {
        assert!(sentences().filter(|(k, ..)| *k == kind).count() >= 15, "{kind}");
    }
}

#[test]
fn the_reason_names_the_words_that_decided() {
    for (text, kind, why) in [
        ("Prefers tea.", Preference, "`prefers` at the start"),
        ("I don't prefer tabs", Preference, "`prefer` in the text"),
        ("In the end we've decided on Porto", Decision, "`decided on` in the text"),
        ("We have not decided on a name", Question, "`decided on` in the text"),
        ("This is not a decision: just a thought", Note, "no telling words"),
        ("Is it true", Question, "`is it` at the start"),
        ("The user has kept a vegan kitchen for a year.", Fact, "said of the user"),
        ("The user now takes the regional train to the office.", Fact, "said of the user"),
        ("User stories come first", Note, "no telling words"),
        ("On a doctor's advice the diet is ketogenic now.", Note, "no telling words"),
        ("Porto?", Question, "a question mark at the end"),
        ("Actually, it's X not Y", Correction, "`actually` at the start"),
        ("that is wrong, it is X", Correction, "`that is wrong` at the start"),
        ("remember to call the bank tomorrow", OneTime, "`remember to` at the start"),
        ("她喜欢绿茶", Preference, "`喜欢` in the text"),
        ("", Note, "no telling words"),
    ] {
        assert_eq!(guess(text), Guess { kind, why: why.into() }, "{text}");
    }
}

#[test]
fn words_inside_words_and_misleading_words_tell_nothing() {
    for text in ["It is a monkey", "wrong", "The clouds look like sheep", "He is a user", "skill", "keyboards"] {
        assert_eq!(guess(text).kind, Note, "{text}");
    }
}

#[test]
fn the_table_is_understood_to_the_last_word() {
    let mut kind = None;
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
            assert!(name == "nothing" || kind.is_some(), "{line}");
        } else if let Some((head, patterns)) = line.split_once(" : ") {
            let (weight, mode) = head.split_once(' ').unwrap_or((head, ""));
            let weight: u8 = weight.parse().unwrap();
            assert!(if kind.is_some() { (2..=6).contains(&weight) } else { weight == 0 }, "{line}");
            assert!(["", "void", "anywhere"].contains(&mode) || mode.parse::<Kind>().is_ok(), "{line}");
            assert!(!patterns.split(" ; ").any(|p| p.trim().is_empty() || p.ends_with('*')), "{line}");
        } else {
            assert!(line.starts_with('@') && line.contains(" = "), "{line}");
        }
    }
    assert!(RULES.all.len() > 400 && RULES.phrases.len() > 40);
    let unknown: Vec<_> = RULES.numbers.keys().filter(|word| word.len() > 1 && word.starts_with('@')).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(RULES.all.iter().all(|rule| matches!(rule.parts.first(), Some(Part::Word(..) | Part::Start))));
}

#[test]
fn kinds_and_levels_read_what_they_write() {
    for kind in Kind::ALL {
        assert_eq!(kind.as_str().parse::<Kind>().unwrap(), kind);
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        assert!(guess(kind.as_str()).why == "no telling words" || kind == Correction, "{kind}");
    }
    for level in Level::ALL {
        assert_eq!(level.as_str().parse::<Level>().unwrap(), level);
        assert_eq!(serde_json::to_string(&level).unwrap(), format!("\"{level}\""));
    }
    assert_eq!((Kind::default(), Level::default()), (Note, Level::SemiAbstract));
    assert_eq!("Meta Knowledge".parse::<Level>().unwrap(), Level::MetaKnowledge);
    assert!("meta".parse::<Level>().unwrap_err().hint().contains("meta_knowledge"));
}

#[test]
fn names_of_other_systems_are_understood() {
    for (name, kind) in [
        ("One-Time", OneTime),
        (" one time ", OneTime),
        ("Preferences", Preference),
        ("profile", Fact),
        ("personal", Fact),
        ("Instruction", Skill),
        ("workflows", Skill),
        ("How To", Skill),
        ("project", Context),
        ("TODO", Context),
        ("goals", Interest),
        ("hobbies", Interest),
        ("misc", Note),
    ] {
        assert_eq!(name.parse::<Kind>().unwrap(), kind, "{name}");
    }
    let error = "preferance".parse::<Kind>().unwrap_err();
    assert_eq!(error.hint(), "did you mean `preference`?");
    assert!(error.to_string().starts_with("kind `preferance`: is none of preference, fact,"), "{error}");
    assert!("".parse::<Kind>().is_err());
}

#[test]
fn dynamics_are_those_of_the_design() {
    let tenths = |value: f64| (value * 10.0).round() as u32;
    let strengths = [10, 9, 10, 10, 10, 9, 7, 6, 8, 5, 3, 6];
    let half_lives = [40, 365, 40, 365, 40, 20, 15, 20, 30, 14, 7, 14];
    assert_eq!(Kind::ALL.map(|kind| tenths(kind.default_strength())), strengths);
    assert_eq!(Kind::ALL.map(|kind| kind.half_life_days().round() as u32), half_lives);
    assert_eq!(Level::ALL.map(|level| tenths(level.weight())), [13, 10, 7]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_a_kind_and_a_reason(text in "(\\PC|[a-z' .,:?!\n]){0,200}") {
        let guess = guess(&text);
        prop_assert!(!guess.why.is_empty());
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_read(tail in "[a-z ]{0,100}") {
        let beginning = "Prefers tea. ".repeat(60);
        prop_assert_eq!(guess(&format!("{beginning}{tail}")), guess(&beginning));
    }
}
