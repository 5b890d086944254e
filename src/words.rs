//! The one text analyzer: what is indexed and what is asked go through the same functions.
//!
//! A query is text, never syntax: every input has terms or none, and none is an error.

use std::borrow::Cow;
use std::collections::HashSet;

use frostem::{Algorithm, Stemmer};
use jiff::tz::TimeZone;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::clock::Timestamp;

/// Changes whenever the same text would give other terms, so that stored indexes know that they are old.
pub const ANALYZER_VERSION: u32 = 1;

/// Longest term, in bytes: longer words are cut, longer compounds are indexed in parts only.
pub const MAX_TERM_BYTES: usize = 40;

/// Words that carry no content, in memories and in questions; sorted. "may" is missing on purpose: it is a month.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be", "been",
    "before", "being", "both", "but", "by", "can", "could", "couldn", "d", "did", "didn", "do", "does", "doesn",
    "doing", "don", "down", "during", "each", "few", "for", "from", "had", "hadn", "has", "hasn", "have", "haven",
    "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it", "its",
    "just", "kind", "ll", "long", "m", "many", "me", "might", "mine", "more", "most", "much", "must", "my", "no",
    "not", "now", "of", "off", "often", "on", "only", "or", "other", "our", "out", "over", "own", "re", "s", "same",
    "shall", "she", "should", "shouldn", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "too", "type", "up", "us", "ve", "very", "was", "wasn", "we",
    "were", "weren", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would",
    "wouldn", "yeah", "yes", "you", "your", "yours",
];

/// German letters that many write as two: `muenchen`.
const UMLAUTS: [char; 3] = ['ä', 'ö', 'ü'];

/// Month names as texts write them.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Terms of `text` in order, with repeats; the stop words only where there is nothing else.
///
/// Words are folded, English ones stemmed; compounds (`settings.toml`, `BILL-412`) come whole and in parts; scripts
/// without spaces as single characters and pairs; an emoji is a term. Umlauts are also spelled out, at the end. No
/// term is empty or longer than [`MAX_TERM_BYTES`].
pub fn terms(text: &str) -> Vec<String> {
    let normal = normalized(text);
    let mut scan = Scan::new(true, text.len());
    scan.text(&normal);
    if scan.terms.is_empty() {
        scan.drop_stop_words = false;
        scan.text(&normal);
    }
    scan.terms
}

/// Distinct terms of a query, in order of first occurrence.
pub fn query_terms(text: &str) -> Vec<String> {
    distinct(terms(text))
}

/// Distinct terms of a speaker's or subject's name, stop words included: "Will" is a person here.
pub fn name_terms(name: &str) -> Vec<String> {
    let mut scan = Scan::new(false, name.len());
    scan.text(&normalized(name));
    distinct(scan.terms)
}

/// Terms of a date (UTC): month name, year, day of the month, as a text that names them would give them.
pub fn date_terms(at: Timestamp) -> [String; 3] {
    let date = at.date(&TimeZone::UTC);
    let mut parts = date.split('-').map(|part| part.trim_start_matches('0'));
    let mut next = || parts.next().unwrap_or_default();
    let (year, month, day) = (next(), next(), next());
    let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month.saturating_sub(1))).unwrap_or(&"");
    [Stemmer::new(Algorithm::English).stem(month).into_owned(), year.to_owned(), day.to_owned()]
}

/// `text` as words are compared: NFKC, lower case, straight apostrophes, no accents, `ß` as `ss`, no `'s`.
///
/// Only accents go: kana keep their voicing marks, Hangul its syllables, Indic scripts their vowels.
pub fn fold(text: &str) -> String {
    folded(&normalized(text)).into_owned()
}

/// Whether `c` belongs to a script whose words are not separated by spaces, or, as in Korean, hold more than a word.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'   // Thai, Lao, Burmese, Khmer
        | '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}'                         // Hangul
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{312F}'
        | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}'                         // kana, bopomofo
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Whether a folded word carries no content.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether `c` can stand inside a word: letters, digits and the marks that belong to them.
fn is_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() || is_combining_mark(c) }
}

/// Whether `c` ends even a compound. What is left joins its parts: `. - _ / @ + = …`.
fn is_break(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '!' | '?')
        || c.is_ascii_whitespace()
        || c.is_control()
        || (!c.is_ascii() && !is_word(c) && !is_emoji(c))
}

/// Pictures and signs that are drawn as such.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2300}'..='\u{23FF}' | '\u{2600}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

/// One of the two characters of a flag.
fn is_half_flag(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

/// Marks that a reader may leave out: accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel signs.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{0591}'..='\u{05BD}' | '\u{05BF}' | '\u{05C1}'..='\u{05C2}'
        | '\u{05C4}'..='\u{05C5}' | '\u{05C7}' | '\u{064B}'..='\u{065F}' | '\u{0670}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// Whether `c` has no look of its own: zero-width spaces and joiners, soft hyphen, emoji variation selectors.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// NFKC and lower case, apostrophes straight, invisible characters gone.
fn normalized(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let compatible = text.chars().filter(|&c| !is_invisible(c)).nfkc();
    let straight = compatible.map(|c| if matches!(c, '\u{2018}' | '\u{2019}' | '\u{02BC}') { '\'' } else { c });
    straight.collect::<String>().to_lowercase()
}

/// The rest of [`fold`], after [`normalized`].
fn folded(normal: &str) -> Cow<'_, str> {
    let plain = if normal.is_ascii() { Cow::Borrowed(normal) } else { Cow::Owned(unaccented(normal)) };
    if plain.contains("'s") { Cow::Owned(without_possessives(&plain)) } else { plain }
}

fn unaccented(normal: &str) -> String {
    let mut plain = String::with_capacity(normal.len());
    let mut marked = false;
    for c in normal.chars() {
        match c {
            'ß' => plain.push_str("ss"),
            'ς' => plain.push('σ'),
            _ if c.is_ascii() => plain.push(c),
            _ if is_accent(c) => marked = true,
            _ => {
                let (mut base, mut accents_only) = (None, true);
                decompose_canonical(c, |part| {
                    accents_only &= base.is_none() || is_accent(part);
                    base = base.or(Some(part));
                });
                plain.push(base.filter(|_| accents_only).unwrap_or(c));
            }
        }
    }
    // Where a mark of its own went, what stood around it may now compose.
    if marked { plain.nfc().collect() } else { plain }
}

fn without_possessives(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("'s") {
        kept.push_str(before);
        if after.starts_with(is_word) {
            kept.push_str("'s");
        }
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// Each term once, in order of first occurrence.
pub fn distinct(mut terms: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::with_capacity(terms.len());
    let first: Vec<bool> = terms.iter().map(|term| seen.insert(term.as_str())).collect();
    let mut first = first.into_iter();
    terms.retain(|_| first.next().unwrap_or(false));
    terms
}

/// `term` up to [`MAX_TERM_BYTES`], cut between characters.
fn cut(term: &str) -> &str {
    if term.len() <= MAX_TERM_BYTES {
        return term;
    }
    (0..=MAX_TERM_BYTES).rev().find_map(|end| term.get(..end)).unwrap_or_default()
}

/// One pass over a text.
struct Scan {
    terms: Vec<String>,
    drop_stop_words: bool,
    stemmer: Stemmer,
}

impl Scan {
    fn new(drop_stop_words: bool, bytes: usize) -> Self {
        let terms = Vec::with_capacity(bytes / 8 + 1);
        Scan { terms, drop_stop_words, stemmer: Stemmer::new(Algorithm::English) }
    }

    fn text(&mut self, normal: &str) {
        for chunk in folded(normal).split(is_break) {
            if chunk.is_ascii() { self.spaced(chunk) } else { self.mixed(chunk) }
        }
        if normal.contains(UMLAUTS) {
            for word in normal.split(|c| !is_word(c)).filter(|word| word.contains(UMLAUTS)) {
                self.word(&unaccented(&word.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue")));
            }
        }
    }

    /// A chunk without blanks in which scripts may change.
    fn mixed(&mut self, mut chunk: &str) {
        let kind = |c: char| (is_unspaced(c), is_emoji(c));
        while let Some(first) = chunk.chars().next() {
            let end = chunk.find(|c| kind(c) != kind(first)).unwrap_or(chunk.len());
            let (run, rest) = chunk.split_at(end);
            match kind(first) {
                (true, _) => self.unspaced(run),
                (_, true) => self.emoji(run),
                _ => self.spaced(run),
            }
            chunk = rest;
        }
    }

    /// Single characters and pairs; a mark that cannot stand alone is only in pairs.
    fn unspaced(&mut self, run: &str) {
        let mut previous: Option<char> = None;
        for c in run.chars() {
            if let Some(previous) = previous {
                self.terms.push(String::from_iter([previous, c]));
            }
            if !is_combining_mark(c) {
                self.terms.push(c.to_string());
            }
            previous = Some(c);
        }
    }

    fn emoji(&mut self, run: &str) {
        let mut symbols = run.chars().filter(|&c| !is_skin_tone(c)).peekable();
        while let Some(c) = symbols.next() {
            let mut term = c.to_string();
            if is_half_flag(c) {
                term.extend(symbols.next_if(|&next| is_half_flag(next)));
            }
            self.terms.push(term);
        }
    }

    /// The words of a run without blanks, then what they form together: each path segment, and the whole.
    fn spaced(&mut self, run: &str) {
        let (mut segment, mut whole) = (Compound::default(), Compound::default());
        let mut split = false;
        let mut from = 0;
        while let Some((start, end)) = next_word(run, from) {
            if whole.words > 0 && run.get(from..start).unwrap_or_default().contains(['/', '\\', '@', '=']) {
                self.compound(run, &segment);
                segment = Compound::default();
                split = true;
            }
            segment.add(start, end);
            whole.add(start, end);
            self.word(run.get(start..end).unwrap_or_default());
            from = end;
        }
        self.compound(run, &segment);
        if split {
            self.compound(run, &whole);
        }
    }

    fn word(&mut self, word: &str) {
        let word = cut(word);
        if word.is_empty() || (self.drop_stop_words && is_stop_word(word)) {
            return;
        }
        let english = word.bytes().all(|byte| byte.is_ascii_lowercase());
        self.terms.push(if english { self.stemmer.stem(word).into_owned() } else { word.to_owned() });
    }

    fn compound(&mut self, run: &str, compound: &Compound) {
        let text = run.get(compound.start..compound.end).unwrap_or_default();
        if compound.words >= 2 && text.len() <= MAX_TERM_BYTES {
            self.terms.push(text.to_owned());
        }
    }
}

/// Where neighbouring words of a run begin and end.
#[derive(Default)]
struct Compound {
    start: usize,
    end: usize,
    words: usize,
}

impl Compound {
    fn add(&mut self, start: usize, end: usize) {
        if self.words == 0 {
            self.start = start;
        }
        self.end = end;
        self.words += 1;
    }
}

/// Byte range of the next word at or after `from`, with what makes it another word: `c++`, `c#`, `.net`.
fn next_word(run: &str, from: usize) -> Option<(usize, usize)> {
    let tail = run.get(from..)?;
    let mut start = from + tail.find(is_word)?;
    let tail = run.get(start..)?;
    let mut end = start + tail.find(|c| !is_word(c)).unwrap_or(tail.len());
    if start == 1 && run.starts_with('.') && run.get(start..end)?.chars().all(char::is_alphabetic) {
        start = 0;
    }
    let after = run.get(end..)?;
    if after.starts_with("++") {
        end += 2;
    } else if after.strip_prefix('#').is_some_and(|next| !next.starts_with(is_word)) {
        end += 1;
    }
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_terms(text: &str, expected: &str) {
        assert_eq!(terms(text).join(" "), expected, "terms of {text:?}");
    }

    #[test]
    fn stop_words_are_sorted_and_folded() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(STOP_WORDS.iter().all(|word| fold(word) == *word));
    }

    #[test]
    fn english_words_are_stemmed_and_stop_words_dropped() {
        is_terms("Prefers dark mode in all of her editors", "prefer dark mode editor");
        is_terms("What did Ana's sister buy?", "ana sister buy");
        is_terms("He doesn’t like it", "like");
        is_terms("To be, or not to be", "to be or not to be");
        is_terms("The cat saw the cats", "cat saw cat");
        is_terms("In May 2023", "may 2023");
    }

    #[test]
    fn symbols_keep_languages_apart() {
        let [c, plus, sharp, net] = ["C", "C++", "C#", ".NET"].map(terms);
        assert_eq!([c, plus, sharp, net], [["c"], ["c++"], ["c#"], [".net"]]);
        is_terms("Likes C++/C#, not (.NET).", "like c++ c# c++/c# .net");
        is_terms("Fixed issue#5 in C++17 for a net gain", "fix issu 5 issue#5 c++ 17 c++17 net gain");
    }

    #[test]
    fn compounds_come_whole_and_in_parts() {
        is_terms("settings.toml", "set toml settings.toml");
        is_terms("v2.3.1", "v2 3 1 v2.3.1");
        is_terms("BILL-412.", "bill 412 bill-412");
        is_terms("a@b.org", "b org b.org a@b.org");
        is_terms("--dry-run --limit=50", "dri run dry-run limit 50 limit=50");
        is_terms("search_v2", "search v2 search_v2");
        is_terms("~/app/set.toml", "app set toml set.toml app/set.toml");
        is_terms("10:00", "10 00");
        is_terms("end... Next", "end next");
        let path = "/a/path/with/more/than/forty/bytes/altogether/x-1.log";
        assert!(terms(path).contains(&"x-1.log".to_owned()) && !terms(path).iter().any(|term| term.contains('/')));
    }

    #[test]
    fn scripts_without_spaces_become_characters_and_pairs() {
        is_terms("花生", "花 花生 生");
        is_terms("猫", "猫");
        is_terms("使用PostgreSQL,部署", "使 使用 用 postgresql 部 部署 署");
        is_terms("ガギ", "ガ ガギ ギ");
        is_terms("서울 집", "서 서울 울 집");
        is_terms("น้ำ", "น น\u{e49} \u{e49}\u{e4d} \u{e4d}า า");
    }

    #[test]
    fn other_scripts_keep_their_words() {
        is_terms("Привет, мир! Ёлка", "привет мир елка");
        is_terms("ΟΔΟΣ οδός", "οδοσ οδοσ");
        is_terms("हिन्दी भाषा", "हिन्दी भाषा");
        is_terms("קָפֶה قَهْوَة", "קפה قهوة");
    }

    #[test]
    fn emoji_are_terms_whatever_their_colour() {
        is_terms("🎉 party ❤️", "🎉 parti ❤");
        is_terms("👍🏽👍", "👍 👍");
        is_terms("🇩🇪🇫🇷", "🇩🇪 🇫🇷");
    }

    #[test]
    fn accents_are_folded_and_umlauts_also_spelled_out() {
        is_terms("Graça à Montréal", "graca montreal");
        is_terms("München", "munchen muenchen");
        is_terms("Muenchen", "muenchen");
        is_terms("STRASSE Straße", "strass strass");
        assert_eq!(fold("Crème BRÛLÉE’s don't Ana'S ｶﾞ İ"), "creme brulee don't ana ガ i");
    }

    #[test]
    fn dates_give_the_terms_that_a_text_would() {
        for month in 1..=12 {
            let at = Timestamp::parse_lenient(&format!("2023-{month:02}-04")).unwrap();
            let [name, year, day] = date_terms(at);
            let named = format!("4 {} 2023", MONTHS[month - 1]);
            assert_eq!(terms(&named), [day, name, year]);
        }
        assert_eq!(date_terms("2023-12-31T23:59:59Z".parse().unwrap()), ["decemb", "2023", "31"]);
        assert_eq!(date_terms(Timestamp::from_millis(i64::MIN)), ["januari", "1", "1"]);
    }

    #[test]
    fn names_keep_their_stop_words() {
        assert_eq!(name_terms("Will Will Smith’s"), ["will", "smith"]);
        assert_eq!(name_terms("Zoë Müller"), ["zoe", "muller", "mueller"]);
        assert_eq!(query_terms("tea, coffee, tea"), ["tea", "coffe"]);
    }

    #[test]
    fn any_text_is_a_query() {
        for text in ["", " ", "\0", "?!…", "'s", "''", "\u{301}", "a\u{301}", "+ - \"x", "#", "++", "."] {
            assert!(terms(text).iter().all(|term| !term.is_empty()), "{text:?}");
        }
        assert_eq!(terms("a\0b"), ["b"]);
        let pieces =
            ["x", "ä", "花", "a.", "e\u{301}", "🎉", "the ", "/a"].map(|piece| piece.repeat((1 << 17) / piece.len()));
        for text in [pieces.concat()].iter().chain(&pieces) {
            assert!(terms(text).iter().all(|term| (1..=MAX_TERM_BYTES).contains(&term.len())));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn terms_of_anything_are_short_and_not_empty(text in any::<String>()) {
            for term in terms(&text).iter().chain(&name_terms(&text)) {
                prop_assert!((1..=MAX_TERM_BYTES).contains(&term.len()), "{term:?}");
            }
        }

        #[test]
        fn folding_twice_changes_nothing(text in any::<String>()) {
            let once = fold(&text);
            prop_assert_eq!(&fold(&once), &once);
            if !normalized(&text).contains(UMLAUTS) {
                prop_assert_eq!(terms(&once), terms(&text));
            }
        }

        #[test]
        fn the_way_of_writing_does_not_matter(text in "[a-zA-Zà-öø-ÿ一-龥ぁ-ん가-힣0-9 .'/-]{0,60}") {
            let given = terms(&text);
            prop_assert_eq!(&terms(&text.nfd().collect::<String>()), &given);
            prop_assert_eq!(&terms(&text.to_uppercase()), &given);
            prop_assert_eq!(&terms(&format!(" ({text})! ")), &given);
        }

        #[test]
        fn every_word_of_a_memory_finds_it(words in proptest::collection::vec("[a-zà-öø-ü]{3,12}|[0-9]{1,4}|[一-龥]{1,3}", 1..8)) {
            let memory = terms(&words.join(" "));
            for word in &words {
                let found = query_terms(word).iter().any(|term| memory.contains(term));
                prop_assert!(found || STOP_WORDS.contains(&fold(word).as_str()), "{word}");
            }
        }
    }
}
