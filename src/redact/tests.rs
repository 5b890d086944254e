//! Tests of [`crate::redact`].

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRETS: &str = include_str!("../../tests/data/redact/secrets.tsv");
const CLEAN: &str = include_str!("../../tests/data/redact/clean.txt");

fn lines(data: &'static str) -> impl Iterator<Item = &'static str> {
    data.lines().filter(|line| !line.starts_with('#'))
}

fn hidden(text: &str) -> String {
    redact(text).0.into_string()
}

/// Family, rule, and the text before, of and after each planted secret.
fn planted() -> impl Iterator<Item = [String; 5]> {
    lines(SECRETS).map(|line| {
        let text = line.replace('‖', "").replace(r"\n", "\n").replace("\\\n", r"\n");
        let parts: Vec<String> =
            text.splitn(3, '\t').flat_map(|part| part.split(['«', '»'])).map(String::from).collect();
        parts.try_into().unwrap()
    })
}

#[test]
fn planted_secrets_are_hidden_by_the_right_rule() {
    let mut families: BTreeMap<String, usize> = BTreeMap::new();
    for [family, rule, before, secret, after] in planted() {
        *families.entry(family).or_default() += 1;
        let (redacted, report) = redact(&format!("{before}{secret}{after}"));
        let expected = format!("{before}[secret:{rule}]{after}");
        // A mark that ends a sentence may go with the secret.
        let is_hidden = [&expected, &format!("{before}[secret:{rule}]")].contains(&&redacted.0);
        assert!(is_hidden, "{redacted} instead of {expected}");
        assert_eq!(report, Report { count: 1, rules: vec![rule] });
    }
    assert!(families.len() == 8 && families.values().all(|count| *count >= 5), "{families:?}");
}

#[test]
fn known_forms_are_hidden_wherever_they_stand() {
    let contexts = [
        "export VALUE=@ && run",
        r#"{"a": {"b": "@"}, "c": 1}"#,
        "config:\n  value: @\n  other: 1",
        "VALUE=\"@\"\nOTHER=1",
        "-  const old = '@';\n+  const old = '';",
        "2026-11-29T23:35:00Z ERROR [app] rejected @: 401",
        "She pasted @, then left.",
        "| name | @ | June |",
        "  at call(@) (index.js:10:5)",
        "curl https://x.example -H 'X-Value: @'",
        "https://x.example/a?value=@#top",
        "first line\n@\nlast line",
    ];
    let mut known = 0;
    for [_, rule, _, secret, _] in planted().filter(|[.., secret, _]| !redact(secret).1.is_empty()) {
        known += 1;
        for context in contexts {
            let text = hidden(&context.replace('@', &secret));
            assert!(!text.contains(&secret) && text.contains("[secret:"), "{rule} in {context}: {text}");
        }
    }
    assert!(known > 80, "{known}");
}

#[test]
fn clean_lines_stay_as_they_are() {
    let changed: Vec<String> = lines(CLEAN).filter(|line| hidden(line) != *line).map(hidden).collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
    assert!(lines(CLEAN).count() >= 60);
    let all = CLEAN.replace('\n', " \n");
    assert_eq!(hidden(&all), all, "as one text");
}

#[test]
fn private_blocks_go_first_and_fail_closed() {
    for (text, left, blocks) in [
        ("a <private>b</private> c", "a  c", 1),
        ("a <PRIVATE>b</Private > c<private reason=\"x\">d</private>", "a  c", 2),
        ("a <private>b <private>c</private> d</private> e", "a  e", 1),
        ("a <private>b <private>c</private> d", "a ", 1),
        ("a <private>b", "a ", 1),
        ("a &lt;private&gt;b&lt;/private&gt; c", "a  c", 1),
        ("a </private> b", "a </private> b", 0),
        ("<pri<private></private>vate>b", "", 2),
        ("<private>password: hunter2</private>", "", 1),
    ] {
        let (redacted, report) = redact(text);
        assert_eq!((redacted.as_str(), report.count), (left, blocks), "{text}");
        assert!(report.rules.iter().all(|rule| rule == "private"), "{report:?}");
    }
    let deep = (0..40).fold("x".to_owned(), |text, _| text.replace('x', "<pri<private>x</private>vate>"));
    assert!(!hidden(&deep).contains('x'));
}

#[test]
fn json_values_are_redacted_in_place() {
    let key = concat!("gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345");
    let line = format!(
        r#"{{"op":"remember" , "n":41,"{key}":["{key}",{{"b":"x \"{key}\"\ny"}}],"c":"\u0067h{}","z":"ü\/"}}"#,
        &key[2..]
    );
    let expected = line
        .replace(&format!("[\"{key}"), "[\"[secret:github-token]")
        .replace(&format!(r#"\"{key}\"\n"#), r#"\"[secret:github-token]\"\n"#)
        .replace(&format!(r"\u0067h{}", &key[2..]), "[secret:github-token]");
    let (redacted, report) = redact_json(&line);
    assert_eq!(redacted.as_str(), expected);
    assert_eq!(report, Report { count: 3, rules: vec!["github-token".into()] });
    assert_eq!(redact_json(&expected), (Redacted(expected.clone()), Report::default()));

    let pem =
        json!({"text": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B", "title": "<\n private>x"}).to_string();
    assert_eq!(redact_json(&pem).0.as_str(), r#"{"text":"[secret:private-key]","title":""}"#);
    let broken = format!(r#"{{"text":"{key}"#);
    assert_eq!(redact_json(&broken).0.as_str(), r#"{"text":"[secret:github-token]"#);
}

#[test]
fn reports_merge_sorted_and_distinct() {
    let mut report = Report { count: 1, rules: vec!["password".into()] };
    assert!(Report::default().is_empty() && !report.is_empty());
    report.merge(Report { count: 2, rules: vec!["jwt".into(), "password".into()] });
    assert_eq!(report, Report { count: 3, rules: vec!["jwt".into(), "password".into()] });
}

#[test]
fn the_table_is_understood() {
    let is_read = |line: &&str| ["@", "[", "when ", "find "].iter().any(|start| line.starts_with(start));
    let unread: Vec<&str> = lines(TABLE).filter(|line| !line.is_empty() && !is_read(line)).collect();
    assert!(unread.is_empty(), "{unread:?}");
    assert_eq!(RULES.filter.len(), RULES.all.len() + 1, "one `when` per rule");
    for rule in &RULES.all {
        assert!(PLACEHOLDER.is_match(&placeholder(rule.name)), "{}", rule.name);
        assert!(!rule.regex().is_match(""), "{}", rule.name);
    }
    for (name, shape) in &RULES.shapes {
        assert!(!shape.text.contains("{p") && !has_shape("\u{1}", name), "{name}");
    }
    let used = ["password-name", "strong-name", "token-name", "key-name", "harmless-name", "stand-in", "reference"];
    let all_used = used.iter().chain(&["call", "member", "variable-name", "words", "prose", "hash"]);
    assert!(all_used.into_iter().all(|name| RULES.shapes.contains_key(name)));
}

/// Text in which names, separators, quotes, tags and parts of secrets meet in every order.
fn tangle() -> impl Strategy<Value = String> {
    let marks = ["<private>", "</private>", "[secret:password]", "[secret:", "=", ": ", "\"", "\\", "\n"];
    let parts = planted().flat_map(|[_, _, before, secret, after]| [before, secret, after]);
    let pieces: Vec<String> = parts.chain(marks.map(String::from)).collect();
    let piece = prop_oneof![3 => proptest::sample::select(pieces), 1 => "\\PC{0,12}"];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_second_pass_changes_nothing(text in tangle()) {
        let once = hidden(&text);
        let (twice, report) = redact(&once);
        prop_assert_eq!(twice.as_str(), &once);
        prop_assert!(report.is_empty());
    }

    #[test]
    fn planted_keys_never_survive(
        before in "[^\\[\\]<>&]{0,60}",
        after in "[^\\[\\]<>&]{0,60}",
        form in 0..5usize,
        body in "[A-Z0-9]{16}[A-Za-z0-9]{32}",
    ) {
        let key = [
            concat!("gh", "p_").to_owned() + &body[..36],
            concat!("sk-", "proj-").to_owned() + &body,
            concat!("s", "k-").to_owned() + &body[..20] + concat!("T3Blbk", "FJ") + &body[28..],
            concat!("sk-", "ant-api03-").to_owned() + &body,
            concat!("AK", "IA").to_owned() + &body[..16],
        ];
        let text = format!("{before}{}{after}", key[form]);
        for (redacted, report) in [redact(&text), redact_json(&json!({ "text": text }).to_string())] {
            prop_assert!(!redacted.as_str().contains(&key[form]) && !report.is_empty(), "{}", redacted);
        }
    }

    #[test]
    fn private_text_never_survives(before in "\\PC{0,40}", after in "\\PC{0,40}", closed in any::<bool>()) {
        let end = if closed { "</private>" } else { "" };
        for inner in ["tulip", "<private>tulip</private> tulip", "<PRIVATE >\ntulip"] {
            let text = hidden(&format!("{before}<private>{inner}{end}{after}"));
            prop_assert!(!text.contains("tulip"), "{}", text);
        }
    }

    #[test]
    fn json_stays_json_and_agrees_with_plain_redaction(texts in proptest::collection::vec(tangle(), 1..4)) {
        let value = json!({ "n": 1, "list": texts, "deep": { "text": texts.first() } });
        let (line, report) = redact_json(&value.to_string());
        let back: Value = serde_json::from_str(line.as_str()).unwrap();
        let expected: Vec<String> = texts.iter().map(|text| hidden(text)).collect();
        prop_assert_eq!(&back["list"], &json!(expected));
        prop_assert_eq!(&back["deep"]["text"], &json!(expected.first()));
        prop_assert_eq!(report.is_empty(), back == value);
    }
}
