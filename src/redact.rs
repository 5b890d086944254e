//! Secrets never reach the disk: what looks like one is replaced before a text may be written.
//!
//! Only this module makes a [`Redacted`], and only such text enters journal, vault, quarantine and logs. A cheap set of
//! triggers finds the rules that may apply, so that clean text costs one pass; each rule is a linear-time pattern with
//! a judge that keeps what only looks like a secret (hashes, ids, `${TOKEN}`, prose). Where a text has doubtful ends,
//! such as an unclosed `<private>`, the rest of it goes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};

/// Text that has passed redaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Redacted(String);

impl Redacted {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What was taken out of a text; never the secrets themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Secrets and private blocks removed.
    pub count: usize,
    /// The rules that found them, such as `github-token` or `private`; sorted, each once.
    pub rules: Vec<String>,
}

impl Report {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds what `other` found.
    pub fn merge(&mut self, other: Report) {
        self.count += other.count;
        self.rules.extend(other.rules);
        self.rules.sort_unstable();
        self.rules.dedup();
    }

    fn add(&mut self, count: usize, rule: &str) {
        self.merge(Report { count, rules: vec![rule.to_owned()] });
    }
}

/// Rounds after which a text that still changes is hidden as a whole.
const MAX_ROUNDS: usize = 16;

/// Bytes that the shortest text with a secret has: `a://:b@`.
const SHORTEST: usize = 7;

/// Removes private blocks and secrets from `text`. A second pass changes nothing.
pub fn redact(text: &str) -> (Redacted, Report) {
    let mut report = Report::default();
    let mut current = Cow::Borrowed(text);
    for _ in 0..MAX_ROUNDS {
        // What is left after a removal can be a secret anew: `<pri<private></private>vate>`.
        match round(&current, &mut report) {
            Some(next) => current = Cow::Owned(next),
            None => return (Redacted(current.into_owned()), report),
        }
    }
    report.add(1, PRIVATE);
    (Redacted(placeholder(PRIVATE)), report)
}

/// Redacts every string value of a serialised JSON text, keys and all other bytes left as they are. What is not JSON is
/// redacted as plain text.
pub fn redact_json(serialised: &str) -> (Redacted, Report) {
    let escaped_letters = || serialised.contains("\\u") || serialised.contains("\\/");
    if !RULES.filter.is_match(serialised) && !escaped_letters() {
        return (Redacted(serialised.to_owned()), Report::default());
    }
    let mut report = Report::default();
    match json_values(serialised, &mut report) {
        Some(line) => (Redacted(line), report),
        None => redact(serialised),
    }
}

/// `serialised` with its string values redacted; nothing if a string in it cannot be read.
fn json_values(serialised: &str, report: &mut Report) -> Option<String> {
    let mut out = String::with_capacity(serialised.len());
    let mut rest = serialised;
    while let Some((before, literal)) = rest.split_once('"') {
        let end = literal_end(literal)?;
        let (inner, after) = (literal.get(..end)?, literal.get(end + 1..)?);
        let is_left = inner.len() < SHORTEST || after.trim_start().starts_with(':');
        let text = match inner.contains('\\') {
            _ if is_left => Cow::Borrowed(""),
            true => Cow::Owned(serde_json::from_str::<String>(&format!("\"{inner}\"")).ok()?),
            false => Cow::Borrowed(inner),
        };
        out += before;
        let (redacted, found) = redact(&text);
        if found.is_empty() {
            out.extend(["\"", inner, "\""]);
        } else {
            out += &serde_json::Value::String(redacted.into_string()).to_string();
            report.merge(found);
        }
        rest = after;
    }
    out += rest;
    Some(out)
}

/// Where the quote stands that closes a JSON string.
fn literal_end(literal: &str) -> Option<usize> {
    let mut escaped = false;
    literal.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// Name of the rule for `<private>` blocks.
const PRIVATE: &str = "private";

fn placeholder(rule: &str) -> String {
    format!("[secret:{rule}]")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("patterns are constants that a test compiles")
}

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| regex(r"\[secret:[a-z]+(?:-[a-z]+)*\]"));

/// Opening and closing tags of private blocks, also with their brackets written as entities.
static PRIVATE_TAG: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)(?:<|&lt;)\s*(/?)\s*private(?:\s[^<>]*?)?(?:>|&gt;)"));

/// The table of rules; its head explains the form.
const TABLE: &str = include_str!("redact.rules");

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(TABLE));

/// The table, read.
struct Rules {
    all: Vec<Rule>,
    /// What names and values can look like, by name.
    shapes: HashMap<&'static str, Pattern>,
    /// Says which rules may apply to a text: a pattern per rule, and a last one for private tags.
    filter: RegexSet,
}

/// One kind of secret.
struct Rule {
    name: &'static str,
    judge: Judge,
    find: Pattern,
}

/// A pattern, compiled when first needed.
#[derive(Default)]
struct Pattern {
    text: String,
    compiled: OnceLock<Regex>,
}

/// What of a match is to be hidden, if it is a secret at all.
type Judge = fn(&str, &Captures<'_>) -> Option<Range<usize>>;

impl Rules {
    fn read(table: &'static str) -> Self {
        let mut shapes: HashMap<&str, Pattern> = HashMap::new();
        let mut all: Vec<Rule> = Vec::new();
        let mut triggers: Vec<String> = Vec::new();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let spelled_out = |pattern: &str| {
                shapes.iter().fold(pattern.to_owned(), |text, (name, shape)| {
                    text.replace(&format!("{{{name}}}"), &format!("(?:{})", shape.text))
                })
            };
            if let Some((name, shape)) = line.strip_prefix('@').and_then(|line| line.split_once(" = ")) {
                let text = spelled_out(shape);
                shapes.insert(name, Pattern { text, ..Pattern::default() });
            } else if let Some((name, judge)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                let judge = match judge.trim() {
                    "whole" => whole,
                    "stated" => stated,
                    "mixed" => mixed,
                    "password" => assigned_password,
                    "credential" => assigned_credential,
                    _ => token as Judge,
                };
                all.push(Rule { name, judge, find: Pattern::default() });
            } else if let Some(trigger) = line.strip_prefix("when ") {
                triggers.push(spelled_out(trigger));
            } else if let (Some(rule), Some(pattern)) = (all.last_mut(), line.strip_prefix("find ")) {
                if !rule.find.text.is_empty() {
                    rule.find.text.push('|');
                }
                rule.find.text += &spelled_out(pattern);
            }
        }
        triggers.push(r"(?i)(?:<|&lt;)(?:\s|\\[nrt])*/?(?:\s|\\[nrt])*private".into());
        let filter = RegexSet::new(triggers).expect("triggers are constants that every test compiles");
        Rules { all, shapes, filter }
    }
}

impl Rule {
    fn regex(&self) -> &Regex {
        self.find.compiled.get_or_init(|| regex(&self.find.text))
    }
}

/// Whether all of `text` has a shape of the table.
fn has_shape(text: &str, name: &str) -> bool {
    RULES
        .shapes
        .get(name)
        .is_some_and(|shape| shape.compiled.get_or_init(|| regex(&format!(r"\A(?s:{})\z", shape.text))).is_match(text))
}

/// One round: the text without what was found, or nothing if it is clean.
fn round(text: &str, report: &mut Report) -> Option<String> {
    if !RULES.filter.is_match(text) {
        return None;
    }
    let hits = RULES.filter.matches(text);
    if hits.matched(RULES.all.len())
        && let Some((public, blocks)) = without_private(text)
    {
        report.add(blocks, PRIVATE);
        return Some(public);
    }
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    for (number, rule) in hits.iter().filter_map(|number| Some((number, RULES.all.get(number)?))) {
        for part in between_placeholders(text) {
            let segment = text.get(part.clone()).unwrap_or_default();
            let spans = rule.regex().captures_iter(segment).filter_map(|captures| (rule.judge)(segment, &captures));
            found.extend(spans.map(|span| (part.start + span.start..part.start + span.end, number)));
        }
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(span, number)| (span.start, *number));
    let mut merged: Vec<(Range<usize>, usize)> = Vec::new();
    for (span, number) in found {
        match merged.last_mut() {
            // The first rule of the list is the most specific one and names the whole.
            Some((last, name)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                *name = (*name).min(number);
            }
            _ => merged.push((span, number)),
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (span, number) in merged {
        out += text.get(copied..span.start).unwrap_or_default();
        out += &placeholder(RULES.all[number].name);
        report.add(1, RULES.all[number].name);
        copied = span.end;
    }
    out += text.get(copied..).unwrap_or_default();
    Some(out)
}

/// The parts of `text` around the placeholders of an earlier pass.
fn between_placeholders(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    if text.contains("[secret:") {
        for known in PLACEHOLDER.find_iter(text) {
            parts.push(start..known.start());
            start = known.end();
        }
    }
    parts.push(start..text.len());
    parts
}

/// `text` without its private blocks, and how many there were: nested ones count as one, an unclosed one reaches to the
/// end. Nothing if there is none.
fn without_private(text: &str) -> Option<(String, usize)> {
    let (mut out, mut copied, mut depth, mut blocks) = (String::new(), 0, 0usize, 0);
    for tag in PRIVATE_TAG.captures_iter(text) {
        let whole = tag.get(0)?;
        if tag.get(1)?.is_empty() {
            if depth == 0 {
                out += text.get(copied..whole.start()).unwrap_or_default();
                blocks += 1;
            }
            depth += 1;
        } else if depth > 0 {
            depth -= 1;
            copied = whole.end();
        }
    }
    if depth == 0 {
        out += text.get(copied..).unwrap_or_default();
    }
    (blocks > 0).then_some((out, blocks))
}

/// The first group that takes part, else the whole match.
fn found(captures: &Captures<'_>) -> Option<Range<usize>> {
    captures.iter().skip(1).flatten().next().or(captures.get(0)).map(|found| found.range())
}

fn whole(_: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    found(captures)
}

/// A token, unless it stands in manuals or, known only by its surroundings, is a commit or an id.
fn token(text: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    let span = found(captures)?;
    let token = text.get(span.clone())?;
    let is_known_by_form = captures.get(0)?.range() == span;
    (entropy(token) >= 2.5 && !is_stand_in(token) && (is_known_by_form || !has_shape(token, "hash"))).then_some(span)
}

/// A value, unless it only holds the place of one.
fn stated(text: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    found(captures).filter(|span| text.get(span.clone()).is_some_and(|value| !is_stand_in(value)))
}

/// A value, unless it is made of words.
fn mixed(text: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    stated(text, captures).filter(|span| text.get(span.clone()).is_some_and(|value| !has_shape(value, "words")))
}

/// `name = value` as found in a text.
struct Assignment<'t> {
    /// The whole name, spelled `db-password-2`.
    name: String,
    form: Form,
    value: &'t str,
    span: Range<usize>,
    quoted: bool,
    /// Whether nothing but closing marks follows the value on its line.
    ends_line: bool,
}

/// How a value is tied to its name.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Form {
    /// `NAME=value`, as in shells.
    Variable,
    /// `name=value`, as in options and query strings.
    Option,
    /// `name = value`, `name: value`.
    Field,
    /// `<name>value</name>`.
    Element,
    /// `--name value`.
    Flag,
    /// "the name is value".
    Told,
}

/// Characters of a line that are read as a value at most.
const LONGEST_VALUE: usize = 4096;

impl<'t> Assignment<'t> {
    fn read(text: &'t str, captures: &Captures<'_>) -> Option<Self> {
        let (word, tail) = (captures.get(0)?, captures.get(1)?);
        let separator = text.get(captures.get(2)?.range())?;
        let before = text.get(..word.start())?;
        let start = before.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).len();
        let name = text.get(start..tail.end())?;
        let form = match separator.trim() {
            "=" if separator.len() == 1 && !name.contains(char::is_lowercase) => Form::Variable,
            "=" if separator.len() == 1 => Form::Option,
            ">" if separator.len() == 1 && before.get(..start)?.ends_with('<') => Form::Element,
            ">" => return None,
            sign if sign.starts_with([':', '：', '=']) => Form::Field,
            "" if name.starts_with("--") => Form::Flag,
            "" => return None,
            _ => Form::Told,
        };
        let rest = text.get(word.end()..)?;
        let line = rest.lines().next()?;
        let line = line.char_indices().nth(LONGEST_VALUE).and_then(|(end, _)| line.get(..end)).unwrap_or(line);
        let (value, quoted) = match captures.get(3) {
            Some(opening) => (quoted_value(line, text.get(opening.range())?), true),
            None => (bare_value(line), false),
        };
        let is_code = rest.starts_with(':')
            || form == Form::Element && !line.contains("</")
            || quoted && value.starts_with([',', ';', ')', ' ']);
        let closing = |c: char| c.is_ascii_punctuation() || "”“»".contains(c);
        let ends_line = line.get(value.len()..)?.trim_start_matches(closing).trim().is_empty();
        let span = word.end()..word.end() + value.len();
        (!is_code).then(|| Assignment { name: spelled(name), form, value, span, quoted, ends_line })
    }

    fn is_named(&self, shape: &str) -> bool {
        has_shape(&self.name, shape) && !has_shape(&self.name, "harmless-name")
    }

    /// Whether the value is a remark, a reference or code instead of a secret.
    fn is_harmless(&self) -> bool {
        let is = |shape| has_shape(self.value, shape);
        let is_code = || match self.form {
            _ if self.quoted => is("variable-name"),
            Form::Variable | Form::Element => false,
            Form::Option => is("variable-name") || is("call"),
            _ => is("variable-name") || is("call") || is("member"),
        };
        is_stand_in(self.value) || is("reference") || is_code()
    }
}

/// The text of a quoted value: to the quote that closes it, else the line.
fn quoted_value<'t>(line: &'t str, opening: &str) -> &'t str {
    let closing = match opening {
        "“" | "„" => "”",
        "«" => "»",
        same => same,
    };
    let escaped = |at: usize| closing.len() == 1 && line.get(..at).is_some_and(|before| before.ends_with('\\'));
    let end = line.match_indices(closing).map(|(at, _)| at).find(|at| !escaped(*at));
    line.get(..end.unwrap_or(line.len())).unwrap_or(line)
}

/// The text of a value without quotes: to the next space, quote, closing tag, or the next `name=`.
fn bare_value(line: &str) -> &str {
    let word = line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '`')).next().unwrap_or_default();
    let word = word.split("</").next().unwrap_or_default();
    let begins_pair = |at: usize| {
        let after = word.get(at + 1..).unwrap_or_default();
        let name = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        name.len() < after.len() && name.starts_with(['=', ':'])
    };
    let end = word.match_indices([';', ',', '&']).map(|(at, _)| at).find(|at| begins_pair(*at));
    let value = word.get(..end.unwrap_or(word.len())).unwrap_or(word);
    value.trim_end_matches([',', ';', ':', ')', ']', '}', '>', '\''])
}

/// A name in lower case, its words parted by hyphens: `dbPassword_2` is `db-password-2`.
fn spelled(name: &str) -> String {
    let mut spelled = String::new();
    let mut after_small = false;
    for character in name.chars() {
        if !character.is_alphanumeric() || character.is_uppercase() && after_small {
            spelled.push('-');
        }
        after_small = character.is_lowercase() || character.is_ascii_digit();
        spelled.extend(character.to_lowercase().filter(|c| c.is_alphanumeric()));
    }
    spelled.trim_matches('-').to_owned()
}

/// Judges the value of a password: short and simple ones are secrets too.
fn assigned_password(text: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    let found = Assignment::read(text, captures)?;
    let (value, length) = (found.value, found.value.chars().count());
    let has_digit = value.bytes().any(|b| b.is_ascii_digit());
    let is_number = value.bytes().all(|b| b.is_ascii_digit());
    // `pass` alone is a verb, a statement or a count as often as a name.
    let is_verb = found.name == "pass" && (is_number || !has_digit || found.form == Form::Told);
    if length < 4 || is_verb || !found.is_named("password-name") || found.is_harmless() {
        return None;
    }
    let is_secret = match found.form {
        _ if is_number => true,
        _ if value.contains(' ') => !has_shape(value, "prose"),
        _ if found.quoted => true,
        Form::Variable | Form::Option | Form::Element => true,
        Form::Told | Form::Flag => !has_shape(value, "words"),
        Form::Field => !has_shape(value, "words") || length >= 6 && found.ends_line,
    };
    is_secret.then_some(found.span)
}

/// Judges the value of a key, token or other credential: long and mixed, by how telling the name is.
fn assigned_credential(text: &str, captures: &Captures<'_>) -> Option<Range<usize>> {
    let found = Assignment::read(text, captures)?;
    let value = found.value;
    let (min_length, may_be_hash) = match found.form {
        Form::Told if found.is_named("strong-name") => (12, true),
        _ if found.is_named("strong-name") => (8, true),
        _ if found.is_named("token-name") => (12, true),
        _ if found.is_named("key-name") => (16, false),
        _ => return None,
    };
    let has_letter = value.bytes().any(|b| b.is_ascii_alphabetic());
    let has_digit = value.bytes().any(|b| b.is_ascii_digit());
    let bits = entropy(value);
    let is_secret = value.len() >= min_length
        && has_letter
        && (has_digit || bits >= 3.5)
        && bits >= 2.5
        && !value.contains(char::is_whitespace)
        && (found.quoted || !value.contains(['(', ')', '[', ']', '{', '}', '<', '>', '|', '"', '\'', '\\']))
        && !has_shape(value, "words")
        && (may_be_hash || !has_shape(value, "hash"))
        && !found.is_harmless();
    is_secret.then_some(found.span)
}

/// Whether `value` holds the place of a secret: a variable, a type, `your-key`, the same sign over and over.
fn is_stand_in(value: &str) -> bool {
    has_shape(value, "stand-in") || value.chars().all(|c| value.starts_with(c))
}

/// Bits per byte by Shannon's formula, −Σ p·log₂ p.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length).map(|p| -p * p.log2()).sum()
}

#[cfg(test)]
mod tests;
