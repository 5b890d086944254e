//! Values: which words can be one, and whether two are the same.

use super::rules::{Attribute, RULES};
use super::spaced::{Token, is_stop};
use crate::words::{MONTHS, fold, is_unspaced};

/// What a value must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A few words.
    Any,
    /// A proper name.
    Name,
    /// A proper name, with commas.
    Place,
    /// A proper name, or a member of a list.
    NameOr(&'static str),
    Title,
    /// A number.
    Count,
    /// A number with its unit.
    Quantity,
    Version,
    /// A time of the day.
    Clock,
    /// A date, or a year.
    Date,
    Phone,
    Email,
    /// A place with a number: of a house, or a post code.
    Address,
    Zone,
    /// A member of a list of the table.
    List(&'static str),
}

impl Form {
    pub(super) fn named(name: &'static str) -> Form {
        match name {
            "any" => Form::Any,
            "name" => Form::Name,
            "place" => Form::Place,
            "title" => Form::Title,
            "count" => Form::Count,
            "quantity" => Form::Quantity,
            "version" => Form::Version,
            "clock" => Form::Clock,
            "date" => Form::Date,
            "phone" => Form::Phone,
            "email" => Form::Email,
            "address" => Form::Address,
            "zone" => Form::Zone,
            list => list.strip_prefix("name|").map_or(Form::List(list), Form::NameOr),
        }
    }

    /// Whether `words` of a language with spaces are such a value.
    pub(super) fn accepts(self, words: &[Token]) -> bool {
        let Some(first) = words.first().filter(|first| first.norm != ",") else { return false };
        let ends_well = words.last().is_some_and(|last| last.norm != ",");
        let joined = || normal(&join(words));
        let one = || if words.len() == 1 { Some(first.written) } else { None };
        let plain = !words.iter().any(|word| word.is_mark() || is_stop(word));
        match self {
            Form::Any => plain && !without_article(words).is_empty() && words.len() <= 6,
            Form::Title => {
                let title = without_article(words);
                let is_manner = title.len() == 1 && title.iter().all(|word| word.norm.ends_with("ed"));
                plain && !title.is_empty() && words.len() <= 6 && !is_manner && !is_nothing(title)
            }
            Form::Name => plain && words.len() <= 5 && is_name(words) && !is_nothing(words),
            Form::NameOr(list) => {
                plain && is_name(words) || RULES.lists_of(&RULES.canonical(&joined())).contains(&list)
            }
            Form::Place => {
                let stops = words.iter().any(|word| word.norm == ":" || is_stop(word));
                let lists = RULES.lists_of(&RULES.canonical(&joined()));
                let is_thing = lists.iter().any(|list| !matches!(*list, "country"));
                ends_well && !stops && words.len() <= 7 && is_name(words) && !is_thing
            }
            Form::Count => one().is_some_and(|word| number(word).is_some()),
            Form::Quantity => plain && words.len() <= 4 && Quantity::read(&joined()).is_some(),
            Form::Version => one().is_some_and(is_version),
            Form::Clock => plain && words.len() <= 3 && is_clock(&joined()),
            Form::Date => words.len() <= 5 && Date::read(&join(words)).is_some(),
            Form::Phone => {
                let digits = words.iter().flat_map(|word| word.written.chars()).filter(char::is_ascii_digit).count();
                let is_part = |word: &Token| {
                    word.written.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '/' | '.'))
                };
                digits >= 5 && words.iter().all(is_part)
            }
            Form::Email => one().is_some_and(|word| {
                word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
            }),
            Form::Address => {
                let has = |is: fn(char) -> bool| words.iter().any(|word| word.written.contains(is));
                ends_well && words.len() <= 8 && has(char::is_numeric) && has(char::is_uppercase)
            }
            Form::Zone => {
                one().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
                    && plain
                    && (first.written.contains('/') || first.written.chars().nth(6).is_none())
            }
            Form::List(list) => RULES.lists_of(&RULES.canonical(&joined())).contains(&list),
        }
    }

    /// Whether `value` of a language without spaces is such a value.
    pub(super) fn accepts_unspaced(self, value: &str) -> bool {
        let length = value.chars().count();
        let has = |all: &[&str]| all.iter().any(|part| value.contains(part));
        let is_hiragana = |c: char| matches!(c, '\u{3041}'..='\u{309F}');
        match self {
            Form::Place | Form::Name => {
                length <= 12 && !value.contains(is_hiragana) && !has(NOT_IN_NAMES) && !value.contains(MARKS)
            }
            Form::Any | Form::Title => length <= 20 && !has(NOT_IN_VALUES) && !value.contains(MARKS),
            Form::Count => number(value).is_some(),
            Form::Clock => length <= 8 && value.starts_with(|c: char| c.is_numeric()),
            Form::Date => Date::read(value).is_some(),
            Form::Phone => value.chars().filter(char::is_ascii_digit).count() >= 5,
            Form::Email => value.contains('@'),
            Form::List("company") => {
                RULES.lists_of(&RULES.canonical(&normal(value))).contains(&"company")
                    || length >= 4
                        && !value.contains(is_hiragana)
                        && !has(NOT_IN_NAMES)
                        && ORGANISATIONS.iter().any(|end| value.ends_with(end))
            }
            Form::List(list) => RULES.lists_of(&RULES.canonical(&normal(value))).contains(&list),
            Form::Quantity | Form::Version | Form::Zone | Form::NameOr(_) | Form::Address => false,
        }
    }
}

/// Ends of names that can only be those of employers.
const ORGANISATIONS: &[&str] =
    &["公司", "集团", "银行", "大学", "医院", "会社", "銀行", "病院", "学校", "中学", "高校"];
/// What stands in no name of a place or a company: "and", "if", "the … of".
const NOT_IN_NAMES: &[&str] = &["的", "了", "和", "或", "与", "吗", "呢", "如果", "因为", "以前", "以后"];
/// What makes more of a value than a few words.
const NOT_IN_VALUES: &[&str] = &[
    "但",
    "如果",
    "或",
    "因为",
    "以前",
    "还是",
    "吗",
    "的时候",
    "、",
    "は",
    "が",
    "を",
    "たら",
    "なら",
    "けど",
    "かも",
    "より",
    "または",
];
const MARKS: &[char] = &[',', '.', '、', '，', '。', '・', '/', ':', '：', '(', '（'];

/// The text that the words were cut from, with single spaces.
pub(super) fn join(words: &[Token]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() && word.norm != "," {
            text.push(' ');
        }
        text.push_str(word.written);
    }
    text
}

const ARTICLES: &[&str] = &[
    "a", "an", "the", "der", "die", "das", "den", "dem", "ein", "eine", "einen", "le", "la", "les", "l'", "un", "une",
    "el", "los", "las", "una",
];

pub(super) fn is_article(word: &Token) -> bool {
    ARTICLES.contains(&word.norm.as_str())
}

pub(super) fn without_article<'s, 't>(words: &'s [Token<'t>]) -> &'s [Token<'t>] {
    match words.split_first() {
        Some((first, rest)) if is_article(first) => rest,
        _ => words,
    }
}

fn is_nothing(words: &[Token]) -> bool {
    RULES.lists_of(&RULES.canonical(&normal(&join(words)))).contains(&"nothing")
}

/// Words inside a name that have no capital.
const CONNECTORS: &[&str] = &[
    "of", "the", "de", "del", "der", "den", "von", "van", "da", "do", "dos", "am", "an", "upon", "sur", "la", "le",
    "&", ",",
];

fn is_name(words: &[Token]) -> bool {
    let words = if words.len() > 1 { without_article(words) } else { words };
    let is_capital = |word: &Token| {
        word.written.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || is_unspaced(c))
            && !word.written.contains(['/', '\\', '_', '@'])
    };
    let begins =
        words.first().is_some_and(|word| word.written.starts_with(|c: char| c.is_uppercase() || is_unspaced(c)));
    begins
        && words.last().is_some_and(is_capital)
        && words.iter().all(|word| is_capital(word) || CONNECTORS.contains(&word.norm.as_str()))
}

/// A value as it is compared: folded, umlauts spelled out, without its article, single spaces.
pub(super) fn normal(value: &str) -> String {
    let spelled: String = value.chars().fold(String::with_capacity(value.len()), |mut spelled, c| {
        match c {
            'ä' | 'Ä' => spelled.push_str("ae"),
            'ö' | 'Ö' => spelled.push_str("oe"),
            'ü' | 'Ü' => spelled.push_str("ue"),
            ',' => {}
            c => spelled.push(c),
        }
        spelled
    });
    let folded = fold(&spelled);
    let mut words = folded.split_whitespace().peekable();
    if words.peek().is_some_and(|first| ARTICLES.contains(first)) && words.clone().nth(1).is_some() {
        words.next();
    }
    words.collect::<Vec<_>>().join(" ")
}

/// How two values of one slot relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    Same,
    /// One says more than the other, in another unit, or it is spelled a little differently.
    Unclear,
    Other,
}

/// Compares two values in canonical form.
pub(super) fn compare(a: &str, b: &str, attribute: &Attribute) -> Likeness {
    if a == b {
        return Likeness::Same;
    }
    if let (Some(a), Some(b)) = (Date::read(a), Date::read(b)) {
        return a.compare(b);
    }
    if let (Some(a), Some(b)) = (Quantity::read(a), Quantity::read(b)) {
        return match (a.unit == b.unit, a.number == b.number) {
            (true, true) => Likeness::Same,
            (true, false) => Likeness::Other,
            (false, _) => Likeness::Unclear,
        };
    }
    if attribute.extends {
        return Likeness::Other;
    }
    let [of_a, of_b] = [a, b].map(|value| value.split_whitespace().collect::<Vec<_>>());
    let is_part = |small: &[&str], large: &[&str]| small.iter().all(|word| large.contains(word));
    if is_part(&of_a, &of_b) || is_part(&of_b, &of_a) {
        return Likeness::Unclear;
    }
    let unspaced = a.contains(is_unspaced) && (a.contains(b) || b.contains(a));
    // One letter may be a slip, but one character of a script without blanks is a word.
    let is_spelling = |value: &str| {
        value.chars().nth(3).is_some() && !value.contains(|c: char| c.is_ascii_digit() || c == '@' || is_unspaced(c))
    };
    let misspelled = is_spelling(a) && is_spelling(b) && strsim::damerau_levenshtein(a, b) <= 1;
    if unspaced || misspelled { Likeness::Unclear } else { Likeness::Other }
}

const NUMBER_WORDS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// The digits of a whole number, also one written as a word.
fn number(word: &str) -> Option<String> {
    let digits = word.replace(',', "");
    if !digits.is_empty() && digits.len() <= 12 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(digits);
    }
    let word = fold(word);
    NUMBER_WORDS.iter().position(|number| *number == word).map(|number| number.to_string())
}

/// A number and what it counts.
struct Quantity {
    number: String,
    unit: String,
}

impl Quantity {
    /// Reads a value in normal form: "72 kg", "95k", "€400".
    fn read(value: &str) -> Option<Quantity> {
        let mut words = value.split(' ');
        let first = words.next()?;
        let start = first.find(|c: char| c.is_ascii_digit());
        let (number, mut unit) = match start {
            Some(start) => {
                let (sign, rest) = first.split_at(start);
                let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                let (number, suffix) = rest.split_at(end);
                let is_word = |part: &str| {
                    part.chars()
                        .all(|c| c.is_alphabetic() || matches!(c, '€' | '$' | '£' | '¥' | '%' | '-' | '+' | '/'))
                };
                (is_word(sign) && sign.chars().count() <= 3 && is_word(suffix))
                    .then(|| (number.to_owned(), format!("{sign}{suffix}")))?
            }
            None => (number(first)?, String::new()),
        };
        for word in words {
            if word.contains(|c: char| c.is_ascii_digit()) {
                return None;
            }
            unit.push(' ');
            unit.push_str(word);
        }
        Some(Quantity { number, unit })
    }
}

fn is_version(word: &str) -> bool {
    let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.len() <= 24
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
        && word.split('.').all(|part| !part.is_empty())
}

/// "10:00", "9 am", "10:00 utc".
fn is_clock(value: &str) -> bool {
    let mut words = value.split(' ');
    let first = words.next().unwrap_or_default();
    let hour = first.trim_end_matches("am").trim_end_matches("pm").trim_end_matches('h');
    let is_hour =
        !hour.is_empty() && hour.len() <= 8 && hour.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    let marked = first.contains(':') || first.len() > hour.len();
    let (mut marked, mut rest_is_zone) = (marked, true);
    for word in words {
        let is_half = matches!(word, "am" | "pm" | "a.m." | "p.m." | "uhr" | "o'clock");
        let is_zone = word.len() <= 5 && word.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '+' | '-'));
        marked |= is_half;
        rest_is_zone &= is_half || is_zone;
    }
    is_hour && marked && rest_is_zone
}

/// A date of which parts may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: Option<u16>,
    pub(super) month: Option<u8>,
    day: Option<u8>,
}

/// The months in the other languages, in normal form; what is equal in two is named once.
const OTHER_MONTHS: [&[&str]; 12] = [
    &["januar", "enero", "janvier", "jan"],
    &["februar", "febrero", "fevrier", "feb"],
    &["maerz", "marzo", "mars", "mar"],
    &["abril", "avril", "apr"],
    &["mai", "mayo"],
    &["juni", "junio", "juin", "jun"],
    &["juli", "julio", "juillet", "jul"],
    &["agosto", "aout", "aug"],
    &["septiembre", "septembre", "sep", "sept"],
    &["oktober", "octubre", "octobre", "oct", "okt"],
    &["noviembre", "novembre", "nov"],
    &["dezember", "diciembre", "decembre", "dec", "dez"],
];

impl Date {
    /// Reads "3 May 2024", "May 3", "2024-05-03", "3. Mai", "1990", "5月3日"; not "03/04/2024", which has two readings.
    pub(super) fn read(text: &str) -> Option<Date> {
        let mut date = Date { year: None, month: None, day: None };
        let text = normal(text);
        if text.contains(is_unspaced) {
            let mut number = String::new();
            for c in text.chars() {
                match c {
                    '0'..='9' => number.push(c),
                    '年' => date.year = Some(std::mem::take(&mut number).parse().ok()?),
                    '月' => date.month = Some(std::mem::take(&mut number).parse().ok()?),
                    '日' | '号' => date.day = Some(std::mem::take(&mut number).parse().ok()?),
                    _ => return None,
                }
            }
            return (number.is_empty() && date.is_some()).then_some(date);
        }
        let parts: Vec<&str> = text.split('-').collect();
        if let [year, month, day] = parts[..] {
            let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
            date = Date { year: Some(year), month: Some(month), day: Some(day) };
            return date.is_some().then_some(date);
        }
        for word in text.split(' ') {
            let plain = word.trim_end_matches('.');
            let month = MONTHS.iter().position(|month| *month == plain);
            let month = month.or_else(|| OTHER_MONTHS.iter().position(|names| names.contains(&plain)));
            let day = ["st", "nd", "rd", "th"].iter().find_map(|end| plain.strip_suffix(end)).unwrap_or(plain);
            if let Some(month) = month {
                (date.month.is_none()).then(|| date.month = Some(month as u8 + 1))?;
            } else if let Ok(number) = day.parse::<u16>() {
                let is_year = number >= 1000 && day.len() == 4;
                if is_year && date.year.is_none() {
                    date.year = Some(number);
                } else if !is_year && date.day.is_none() {
                    date.day = Some(u8::try_from(number).ok()?);
                } else {
                    return None;
                }
            } else if !matches!(plain, "de" | "del" | "of" | "the") {
                return None;
            }
        }
        date.is_some().then_some(date)
    }

    /// Whether it is one: a year, a month, or both with a day.
    fn is_some(self) -> bool {
        let fits = self.month.is_none_or(|month| (1..=12).contains(&month))
            && self.day.is_none_or(|day| (1..=31).contains(&day));
        fits && (self.month.is_some() || self.year.is_some() && self.day.is_none())
    }

    /// Dates differ where both name a part otherwise; where one says less, they may be the same.
    fn compare(self, other: Date) -> Likeness {
        let parts = |date: Date| [date.year, date.month.map(u16::from), date.day.map(u16::from)];
        let pairs = || parts(self).into_iter().zip(parts(other));
        if pairs().any(|(a, b)| a.is_some() && b.is_some() && a != b) {
            Likeness::Other
        } else if pairs().all(|(a, b)| a == b) {
            Likeness::Same
        } else {
            Likeness::Unclear
        }
    }
}
