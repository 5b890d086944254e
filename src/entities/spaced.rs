//! Names in languages with spaces, by what shows them to be names.

use super::names::{begins_sentence, starts_upper};
use super::rules::RULES;
use super::{EntityKind, Found, is_name};
use crate::words::{fold, is_unspaced};

/// Words before a name in which a cue may stand.
const CUE_WORDS: usize = 5;

/// Endings of files that are not domains too.
const EXTENSIONS: &[&str] = &[
    "rs", "py", "js", "ts", "tsx", "jsx", "java", "kt", "go", "c", "h", "cpp", "hpp", "rb", "php", "swift", "toml",
    "json", "yaml", "yml", "md", "txt", "sh", "sql", "css", "html", "xml", "csv", "pdf", "docx", "xlsx", "lock",
    "conf", "ini", "env",
];
const DOMAINS: &[&str] =
    &["com", "org", "net", "io", "dev", "app", "ai", "de", "es", "fr", "co", "uk", "eu", "ch", "at"];

/// A word of a text.
struct Word<'t> {
    start: usize,
    end: usize,
    text: &'t str,
    folded: String,
    /// It begins a sentence, or stands where one might begin.
    is_first: bool,
    /// Nothing but a space is between it and the word before.
    is_joined: bool,
    /// `'s` follows.
    is_owner: bool,
}

impl Word<'_> {
    fn is_in(&self, list: &str) -> bool {
        RULES.has(list, &self.folded)
    }

    fn is_capital(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    fn is_all_caps(&self) -> bool {
        let letters = self.text.chars().filter(|c| c.is_alphabetic());
        letters.clone().count() > 1 && letters.clone().all(char::is_uppercase)
    }

    fn is_version(&self) -> bool {
        let plain = self.text.strip_prefix(['v', 'V']).unwrap_or(self.text);
        let is_year = plain.len() == 4 && (plain.starts_with("19") || plain.starts_with("20")) && !plain.contains('.');
        plain.starts_with(|c: char| c.is_ascii_digit())
            && plain.chars().all(|c| c.is_ascii_digit() || c == '.')
            && !is_year
    }
}

/// The names that patterns show, without overlaps, in order.
pub(super) fn read(text: &str, is_unspaced_text: bool) -> Vec<Found> {
    let words = words(text);
    let mut found: Vec<Found> = Vec::new();
    let has_evident_nouns = writes_nouns_small(&words, is_unspaced_text);
    let mut at = 0;
    while at < words.len() {
        match name_at(&words, at, has_evident_nouns, is_unspaced_text, text) {
            Some((name, end)) => {
                at = end;
                if is_name(&name.name) {
                    found.push(name);
                }
            }
            None => at += 1,
        }
    }
    found.sort_by_key(|found| found.start);
    share_kinds(text, &mut found);
    found
}

/// Whether a capital inside a sentence tells a name: not in German, nor where the language is not known.
fn writes_nouns_small(words: &[Word<'_>], is_unspaced_text: bool) -> bool {
    if is_unspaced_text {
        return true;
    }
    let count = |list: &str| words.iter().filter(|word| word.is_in(list)).count();
    let german = count("de");
    let others = ["en", "es", "fr"].map(count).into_iter().max().unwrap_or_default();
    others > german
}

/// "Uses Firefox and Chrome": what is joined is of one kind.
fn share_kinds(text: &str, found: &mut [Found]) {
    for at in 1..found.len() {
        let (Some(a), Some(b)) = (found.get(at - 1), found.get(at)) else { continue };
        let between = text.get(a.end..b.start).unwrap_or_default().trim();
        let (kind, joins) =
            (a.kind, matches!(between, "and" | "or" | "," | "und" | "oder" | "y" | "o" | "et" | "ou" | "&"));
        let switches = kind == Some(EntityKind::Tool) && matches!(between, "to" | "over" | "instead of");
        if let Some(b) = found.get_mut(at)
            && (joins || switches)
        {
            b.kind = b.kind.or(kind);
        }
    }
}

/// The name that begins at a word, and the word behind it.
fn name_at(
    words: &[Word<'_>],
    at: usize,
    small_nouns: bool,
    is_unspaced_text: bool,
    text: &str,
) -> Option<(Found, usize)> {
    let first = words.get(at)?;
    if let Some(name) = code(first) {
        let (end, kind) = versioned(words, at + 1);
        let kind = kind.or_else(|| RULES.kind_of(&fold(&name)));
        return Some((found(words, at, at + 1, Some(name), kind.or(cue(words, at))), end));
    }
    // Names that everyone knows, of several words too; tools also without their capital.
    let known = RULES.common.find(text.get(first.start..words.get((at + 4).min(words.len() - 1))?.end)?);
    let known = known.first().filter(|mention| mention.start == 0).map(|mention| first.start + mention.end);
    let known_end = known.and_then(|end| Some(at + 1 + words.get(at..)?.iter().position(|word| word.end >= end)?));
    let name = known_end.and_then(|end| Some(fold(text.get(first.start..words.get(end - 1)?.end)?)));
    let kind = name.as_deref().and_then(|name| RULES.kind_of(name));
    let is_ambiguous = RULES.has("word", &first.folded) || RULES.is_function_word(&first.folded);
    let is_known = name.as_deref().is_some_and(|name| RULES.is_common(name))
        && (starts_upper(first.text) || kind == Some(EntityKind::Tool) && !is_ambiguous)
        && !(is_ambiguous && first.is_first && !is_listed(words, at + 1));
    let is_plain = first.is_in("plain") || first.is_in("relation");
    let evident = is_known || !is_plain && is_evident(words, at);
    if !first.is_capital() && !is_known {
        return None;
    }
    if first.is_in("never") || first.is_in("title") && !is_known {
        return None;
    }
    let end =
        run_end(words, at, known_end.filter(|_| is_known), small_nouns, evident && kind == Some(EntityKind::Person));
    let run = words.get(at..end)?;
    let is_shouted = run.iter().any(Word::is_all_caps);
    if !evident {
        let has_suffix = run.len() > 1 && run.last().is_some_and(|word| word.is_in("suffix"));
        let allowed = (small_nouns || is_numbered_tool(words, end))
            && !is_shouted
            && !is_plain
            && !RULES.has("numbered", &first.folded)
            && (!first.is_first || is_unspaced_text || has_suffix)
            && !RULES.is_function_word(&first.folded)
            && !is_heading(words, at);
        if !(allowed || has_suffix && small_nouns && !is_shouted) {
            return None;
        }
    }
    let (after, version) = versioned(words, end);
    let mut kind = cue(words, at).or(version).or(kind);
    if run.iter().any(|word| word.is_in("suffix") || word.is_in("institution")) && run.len() > 1 {
        kind = kind.filter(|kind| *kind != EntityKind::Person).or(Some(EntityKind::Organisation));
    }
    if kind.is_none() && words.get(end).is_some_and(|next| next.is_joined && next.is_in("project_word")) {
        kind = Some(EntityKind::Project);
    }
    if kind.is_none()
        && run.last().is_some_and(|last| last.is_owner)
        && words.get(end).is_some_and(|next| next.is_in("relation"))
    {
        kind = Some(EntityKind::Person);
    }
    Some((found(words, at, end, None, kind), after))
}

fn found(words: &[Word<'_>], at: usize, end: usize, name: Option<String>, kind: Option<EntityKind>) -> Found {
    let run = words.get(at..end).unwrap_or_default();
    let (start, end) = (run.first().map_or(0, |word| word.start), run.last().map_or(0, |word| word.end));
    let name = name.unwrap_or_else(|| run.iter().map(|word| word.text).collect::<Vec<_>>().join(" "));
    // Well-known tools are spelled as their makers do.
    let name = if kind == Some(EntityKind::Tool) { RULES.common.resolve(&name).unwrap_or(name) } else { name };
    Found { start, end, name, kind }
}

/// Whether the words around show that a name stands here, whatever its case says.
fn is_evident(words: &[Word<'_>], at: usize) -> bool {
    let Some(first) = words.get(at).filter(|word| word.is_capital()) else { return false };
    cue(words, at).is_some_and(|kind| kind != EntityKind::Tool)
        || first.is_owner
            && words.get(at + 1).is_some_and(|next| next.is_in("relation"))
            && !RULES.is_function_word(&first.folded)
            && !first.is_in("relation")
        || first.is_joined && at > 0 && words.get(at - 1).is_some_and(|before| before.is_in("team"))
        || first.is_in("institution")
            && words.get(at + 1).is_some_and(|next| next.is_joined && (next.is_capital() || is_of(next)))
}

/// What the words before a name say it is.
fn cue(words: &[Word<'_>], at: usize) -> Option<EntityKind> {
    let name = words.get(at)?;
    let back = |steps: usize| at.checked_sub(steps).and_then(|place| words.get(place));
    let before = back(1)?;
    // `Prof. Dr. Weber`: the mark of an abbreviation ends no sentence.
    if before.is_in("title") {
        return Some(EntityKind::Person);
    }
    if name.is_first {
        return None;
    }
    let owner = |word: &Word<'_>| word.is_owner || word.is_in("owner");
    if before.is_in("relation") && (back(2).is_some_and(owner) || back(3).is_some_and(owner)) {
        return Some(EntityKind::Person);
    }
    if before.is_in("named") {
        let is_somebody = (2..=4).filter_map(back).any(|word| word.is_in("relation"));
        return is_somebody.then_some(EntityKind::Person);
    }
    if before.folded == "nach" && words.get(at + 1).is_some_and(|next| next.is_in("arrived")) {
        return Some(EntityKind::Place);
    }
    if before.is_in("project_word") && name.is_joined {
        return Some(EntityKind::Project);
    }
    if before.is_in("team") && name.is_joined {
        return (before.folded != "team").then_some(EntityKind::Organisation);
    }
    let verb_before = |cue: &super::rules::Cue, steps: usize| {
        let between = (steps..=steps + CUE_WORDS).map_while(back);
        between
            .take_while(|word| !word.is_first || word.is_in("en") || cue.verbs.contains(&word.folded))
            .any(|word| cue.verbs.contains(&word.folded))
    };
    let fits = |cue: &&super::rules::Cue| {
        if cue.prepositions.is_empty() {
            return cue.verbs.contains(&before.folded);
        }
        let two = back(2).map(|word| format!("{} {}", word.folded, before.folded)).unwrap_or_default();
        (cue.prepositions.contains(&before.folded) || cue.prepositions.contains(&two)) && verb_before(cue, 2)
    };
    RULES.cues.iter().find(fits).map(|cue| cue.kind)
}

/// Whether another name follows, joined by "and" or a comma: "Rust and Go are fine".
fn is_listed(words: &[Word<'_>], at: usize) -> bool {
    let Some(next) = words.get(at) else { return false };
    matches!(next.folded.as_str(), "and" | "or" | "y" | "et" | "und")
        && words.get(at + 1).is_some_and(|word| RULES.is_common(&word.folded) && word.is_capital())
}

fn is_of(word: &Word<'_>) -> bool {
    matches!(word.folded.as_str(), "of" | "de" | "del" | "do" | "du" | "d'")
}

/// Where a run of words with capitals ends: with `van der` inside, and `of` behind an institution.
fn run_end(words: &[Word<'_>], at: usize, known_end: Option<usize>, small_nouns: bool, is_person: bool) -> usize {
    let mut end = known_end.unwrap_or(at + 1);
    let goes_on =
        |end: usize| words.get(end).is_some_and(|word| word.is_joined && word.is_capital() && !word.is_in("never"));
    // In German the next noun may be anything: "mag Anna Kaffee?".
    let may_follow = small_nouns
        || is_person
            && (words.get(at).is_some_and(|word| word.is_first)
                || at > 0
                    && words
                        .get(at - 1)
                        .is_some_and(|word| RULES.is_function_word(&word.folded) || word.is_in("title")));
    let is_institution = words.get(at..end).unwrap_or_default().iter().any(|word| word.is_in("institution"));
    if is_institution
        && words.get(end).is_some_and(|word| word.is_joined && is_of(word))
        && words.get(end + 1).is_some_and(Word::is_capital)
    {
        return end + 2;
    }
    if is_institution && goes_on(end) {
        return end + 1;
    }
    if !may_follow {
        return end;
    }
    while let Some(last) = words.get(end - 1)
        && !last.is_owner
    {
        if goes_on(end) && words.get(end).is_some_and(|next| !next.is_all_caps() && code(next).is_none()) {
            end += 1;
            continue;
        }
        let particles = words
            .get(end..)
            .unwrap_or_default()
            .iter()
            .take(3)
            .take_while(|word| word.is_joined && word.is_in("particle") && !word.is_capital());
        let count = particles.count();
        if count > 0 && goes_on(end + count) && (small_nouns || count > 1) {
            end += count + 1;
            continue;
        }
        break;
    }
    end
}

/// The word behind a version number, and what it shows.
fn versioned(words: &[Word<'_>], end: usize) -> (usize, Option<EntityKind>) {
    let is_version = words.get(end).is_some_and(|next| next.is_joined && next.is_version());
    if is_version { (end + 1, Some(EntityKind::Tool)) } else { (end, None) }
}

/// `Foobar 2.1`: a version with a point, where no unit follows.
fn is_numbered_tool(words: &[Word<'_>], end: usize) -> bool {
    let number = words.get(end).filter(|next| next.is_joined && next.is_version());
    let has_point = number.is_some_and(|number| {
        number.text.split('.').all(|part| (1..=2).contains(&part.len())) && number.text.contains('.')
    });
    has_point && words.get(end + 1).is_none_or(|unit| !unit.is_capital())
}

/// Whether a word stands in a row of words with capitals that begins a sentence: a heading.
fn is_heading(words: &[Word<'_>], at: usize) -> bool {
    let Some(first) = (0..=at).rev().take_while(|place| words.get(*place).is_some_and(Word::is_capital)).last() else {
        return false;
    };
    let begins = words.get(first);
    let is_plain = begins.is_some_and(|word| word.is_first && !RULES.is_function_word(&word.folded));
    is_plain && at > first && (first + 1..=at).all(|place| words.get(place).is_some_and(|word| word.is_joined))
}

/// The name of what is written like code, a handle, a host.
fn code(word: &Word<'_>) -> Option<String> {
    let text = word.text;
    if let Some(address) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
        let host = address.split(['/', '?', '#', ':']).next().unwrap_or_default();
        return host.contains('.').then(|| host.strip_prefix("www.").unwrap_or(host).to_owned());
    }
    if let Some(handle) = text.strip_prefix('@') {
        return (handle.len() > 1 && handle.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .then(|| text.to_owned());
    }
    if text.contains('@') || !text.chars().any(char::is_alphabetic) || !text.is_ascii() {
        return None;
    }
    let name = text.split('=').next().unwrap_or(text);
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-' | b':' | b'#'));
    if !is_plain || name.starts_with('#') {
        return None;
    }
    let parts: Vec<&str> = name.split('.').collect();
    let ending = parts.last().map(|ending| ending.to_lowercase()).filter(|_| parts.len() > 1).unwrap_or_default();
    let is_file = EXTENSIONS.contains(&&*ending) && parts.iter().all(|part| !part.is_empty());
    let is_host = DOMAINS.contains(&&*ending)
        && !name.contains('/')
        && parts.iter().all(|part| part.len() > 1)
        && !name.contains(char::is_uppercase);
    let is_snake = name.contains('_')
        && name.split('_').all(|part| part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        && name.trim_matches('_').contains('_');
    let is_path = name.contains("::") && !name.ends_with(':');
    let bytes = name.as_bytes();
    let humps = bytes.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count();
    let is_camel = humps > 0
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.len() > 3
        && name.bytes().filter(u8::is_ascii_lowercase).count() > 1
        && !is_surname(name);
    // `BILL-412`, `GPT-4o`.
    let is_numbered = name.split_once('-').is_some_and(|(letters, number)| {
        letters.len() > 1
            && letters.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.starts_with(|c: char| c.is_ascii_digit())
            && !matches!(letters, "UTF" | "ISO" | "SHA" | "COVID" | "RFC" | "MP" | "TODO" | "AES" | "RSA")
    });
    (is_file || is_host || is_snake || is_path || is_camel || is_numbered).then(|| name.to_owned())
}

/// `McDonald`, `MacLeod`, `DeVito`: names, but not of code.
fn is_surname(name: &str) -> bool {
    ["Mc", "Mac", "De", "Le", "La", "Van"]
        .iter()
        .any(|start| name.strip_prefix(start).is_some_and(|rest| rest.starts_with(char::is_uppercase)))
}

/// The words of a text.
fn words(text: &str) -> Vec<Word<'_>> {
    let is_word =
        |c: char| (c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)) && !is_unspaced(c);
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(offset) = rest.find(|c| is_word(c) || c == '@') else { break };
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        let is_address = ["http://", "https://"].iter().any(|scheme| rest.starts_with(scheme));
        let mut end = start;
        let mut characters = rest.char_indices().peekable();
        while let Some((place, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let last_end = start + place + c.len_utf8();
            let goes_on = if is_address {
                !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | ')' | ']')
            } else {
                is_word(c)
                    || place == 0 && c == '@'
                    || matches!(c, '_' | '-' | '.' | '\'' | '’' | '/' | '@' | '=') && next.is_some_and(is_word)
                    || c == ':' && (next == Some(':') || rest.get(..place).is_some_and(|so_far| so_far.ends_with(':')))
                    || matches!(c, '+' | '#') && place > 0
            };
            if !goes_on {
                break;
            }
            end = last_end;
        }
        let whole = text.get(start..end).unwrap_or_default();
        at = end.max(start + 1);
        while !text.is_char_boundary(at) {
            at += 1;
        }
        push(&mut words, text, start, whole);
    }
    words
}

/// Takes a word in: without `'s`, without the article that French joins to it, its halves where `/` parts two names.
fn push<'t>(words: &mut Vec<Word<'t>>, text: &'t str, start: usize, whole: &'t str) {
    let mut start = start;
    let mut whole = whole;
    if whole.contains('/') && !whole.contains("://") {
        let halves: Vec<&str> = whole.split('/').collect();
        if halves.len() == 2 && halves.iter().all(|half| half.starts_with(char::is_uppercase)) {
            let mut from = start;
            for half in halves {
                push(words, text, from, half);
                from += half.len() + 1;
            }
            return;
        }
    }
    if let Some((article, rest)) = whole.split_once(['\'', '’'])
        && (article == "d" || matches!(fold(article).as_str(), "l" | "j" | "n" | "m" | "t" | "s" | "c" | "qu"))
    {
        start += whole.len() - rest.len();
        whole = rest;
    }
    let owned = whole.strip_suffix("'s").or_else(|| whole.strip_suffix("’s"));
    let is_owner = owned.is_some();
    whole = owned.unwrap_or(whole);
    // "Berlin-based"
    if let Some((name, rest)) = whole.split_once('-')
        && name.starts_with(char::is_uppercase)
        && name.chars().all(char::is_alphabetic)
        && rest.starts_with(char::is_lowercase)
    {
        whole = name;
    }
    if whole.is_empty() {
        return;
    }
    let before = words.last().map_or(0, |word| word.end);
    let gap = text.get(before..start).unwrap_or_default();
    let is_abbreviation = gap.starts_with(". ")
        && words.last().is_some_and(|word| word.is_in("title") || word.text.len() == 1 && word.is_capital());
    let is_first = words.is_empty() && begins_sentence(text, start) || begins_sentence(text, start) && !is_abbreviation;
    words.push(Word {
        start,
        end: start + whole.len(),
        text: whole,
        folded: fold(whole),
        is_first,
        is_joined: !words.is_empty() && (gap == " " || is_abbreviation && gap == ". "),
        is_owner,
    });
}
