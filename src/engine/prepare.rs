//! What is told is checked, normalised and redacted before anything else happens to it.

use jiff::tz::TimeZone;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::keys::key_of;
use super::lenient::wrong_field;
use super::remember::{NewMemory, RememberRequest, SourceInput};
use crate::clock::{DayPart, Timestamp};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::kinds::{self, Kind, Level};
use crate::memory::{GLOBAL_SCOPE, Line, Memory, Op, Source, Who};
use crate::redact::{Report, redact};
use crate::words;

/// Longest text of a memory, bytes.
pub(super) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Texts of one call together, bytes.
pub(crate) const MAX_CALL_BYTES: usize = 1 << 20;
/// Memories in one call.
pub(crate) const MAX_MEMORIES: usize = 1000;
/// Longest title, characters.
const MAX_TITLE_CHARS: usize = 512;
/// Tags, entities or keywords of one memory.
pub(super) const MAX_LIST: usize = 64;
/// Longest tag, entity or keyword, bytes.
const MAX_WORD_BYTES: usize = 128;

/// A memory that was checked and redacted, ready to be judged.
pub(super) struct Prepared {
    pub(super) line: Line,
    pub(super) kind: Kind,
    /// Which rule chose the kind.
    pub(super) why_kind: String,
    pub(super) report: Report,
    /// Ids as given.
    pub(super) supersedes: Vec<String>,
    /// Whether the caller chose the kind.
    pub(super) has_kind: bool,
    /// Entities that its text shows, beside those given.
    pub(super) found: Vec<String>,
}

impl Prepared {
    pub(super) fn text(&self) -> &str {
        self.line.text.as_deref().unwrap_or_default()
    }

    pub(super) fn scope(&self) -> &str {
        self.line.scope.as_deref().unwrap_or(GLOBAL_SCOPE)
    }

    pub(super) fn speaker(&self) -> Option<&str> {
        self.line.source.as_ref().and_then(|source| source.speaker.as_deref())
    }

    /// The memory that it becomes.
    pub(super) fn as_memory(&self, id: MemoryId, now: Timestamp) -> Memory {
        Memory {
            text: self.text().to_owned(),
            kind: self.kind,
            scope: self.line.scope.clone(),
            happened: self.line.happened,
            sources: self.line.source.iter().cloned().collect(),
            created: now,
            ..Memory::new(id)
        }
    }

    /// The entities given, then those found.
    pub(super) fn entities(&self) -> Vec<String> {
        self.line.entities.iter().flatten().chain(&self.found).cloned().collect()
    }

    /// Hash of what makes it the same as another.
    pub(super) fn key(&self) -> u64 {
        key_of(self.text(), self.scope(), self.speaker(), self.line.happened)
    }
}

/// Refuses calls that are empty or too large.
pub(super) fn check_size(request: &RememberRequest) -> Result<()> {
    let count = request.memories.len();
    if count == 0 {
        return Err(Error::invalid("memories", "there are none", "give at least one {\"text\": …}"));
    }
    if count > MAX_MEMORIES {
        return Err(Error::invalid("memories", format!("{count} are too many"), "save at most 1000 in one call"));
    }
    let bytes: usize = request.memories.iter().filter_map(|memory| memory.get("text")?.as_str()).map(str::len).sum();
    if bytes > MAX_CALL_BYTES {
        return Err(Error::invalid(
            "memories",
            format!("{bytes} bytes of text are too much"),
            "save at most 1 MiB in one call",
        ));
    }
    Ok(())
}

/// Checks, normalises and redacts one memory. A text that tells no kind gets `default_kind`.
pub(super) fn prepare(value: &Value, zone: &TimeZone, default_kind: Kind) -> Result<Prepared> {
    let new: NewMemory = match value {
        Value::String(text) => NewMemory { text: text.clone(), ..NewMemory::default() },
        other => serde_json::from_value(other.clone()).map_err(|error| no_memory(other, &error))?,
    };
    let mut report = Report::default();
    let text = clean_text(&new.text, &mut report)?;
    let (kind, why_kind) = if let Some(kind) = &new.kind {
        (kind.parse::<Kind>()?, "kind as given".to_owned())
    } else {
        let mut guess = kinds::guess(&text);
        if guess.kind == Kind::Note {
            guess.kind = default_kind;
        }
        (guess.kind, format!("new; {}: {}", guess.kind.as_str(), guess.why))
    };
    let level = new.level.as_deref().map(str::parse::<Level>).transpose()?;
    let strength = new.strength.or_else(|| new.importance.map(|importance| importance / 5.0));
    if let Some(strength) = strength
        && !(0.0..=2.0).contains(&strength)
    {
        return Err(Error::invalid("strength", "must be 0 to 2 (importance: 1 to 10)", "leave it out if unsure"));
    }
    let mut list = |what: &str, words: &[String]| clean_list(what, words, &mut report);
    let (tags, entities, keywords) =
        (list("tags", &new.tags)?, list("entities", &new.entities)?, list("keywords", &new.keywords)?);
    let title = new.title.as_deref().map(|title| clean_title(title, &mut report)).transpose()?.flatten();
    let scope = new.scope.as_deref().map(|scope| clean_word("scope", scope, &mut report)).transpose()?;
    let source = new.source.as_ref().map(|source| clean_source(source, &mut report)).transpose()?;
    let line = Line {
        text: Some(text),
        title,
        kind: (kind != Kind::default()).then_some(kind),
        level: level.filter(|level| *level != Level::default()),
        tags,
        entities,
        keywords,
        scope: scope.filter(|scope| scope != GLOBAL_SCOPE && !scope.is_empty()),
        happened: time("happened", new.happened.as_deref(), DayPart::Noon, zone)?,
        valid_until: time("valid_until", new.valid_until.as_deref(), DayPart::End, zone)?,
        strength,
        pinned: new.pinned.filter(|pinned| *pinned),
        source: source.filter(|source| !source.is_empty()),
        ..Line::new(Op::Remember)
    };
    Ok(Prepared {
        line,
        kind,
        why_kind,
        report,
        supersedes: new.supersedes,
        has_kind: new.kind.is_some(),
        found: Vec::new(),
    })
}

/// Which field of what should be a memory is wrong, and why.
fn no_memory(value: &Value, error: &serde_json::Error) -> Error {
    let hint = "leave it out, or see what the tool `remember` takes";
    let Value::Object(fields) = value else {
        let why = format!("{} is neither a text nor an object", super::say::cut(&value.to_string(), 40));
        return Error::invalid("memory", why, "write it as {\"text\": …}");
    };
    let Some((name, why)) = wrong_field::<NewMemory>(fields) else {
        return Error::invalid("memory", error.to_string(), hint);
    };
    let inner = fields.get(&name).and_then(Value::as_object).filter(|_| name == "source");
    match inner.and_then(wrong_field::<SourceInput>) {
        Some((inner, why)) => Error::invalid(format!("{name}.{inner}"), why, hint),
        None => Error::invalid(name, why, hint),
    }
}

/// A memory's text: [`clean`], not empty, of at most 64 KiB.
pub(super) fn clean_text(told: &str, report: &mut Report) -> Result<String> {
    let text = clean(told, report);
    if !text.chars().any(|c| !c.is_whitespace() && !words::is_invisible(c)) {
        let why = if told.trim().is_empty() { "is empty" } else { "is empty without what is private" };
        return Err(Error::invalid("text", why, "say in one sentence what is to be remembered"));
    }
    if text.len() > MAX_TEXT_BYTES {
        let why = format!("has {} bytes; 65536 fit", text.len());
        return Err(Error::invalid("text", why, "keep the point of it, or split it into several memories"));
    }
    Ok(text)
}

/// NFC, no control characters but newline and tab, redacted, trimmed.
pub(super) fn clean(text: &str, report: &mut Report) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let normal: String = unified.nfc().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let (redacted, found) = redact(&normal);
    report.merge(found);
    redacted.as_str().trim().to_owned()
}

/// A title is one line of at most 512 characters; empty is none.
pub(super) fn clean_title(title: &str, report: &mut Report) -> Result<Option<String>> {
    let title = clean(title, report).split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() > MAX_TITLE_CHARS {
        return Err(Error::invalid("title", "has more than 512 characters", "shorten it; the text may be longer"));
    }
    Ok((!title.is_empty()).then_some(title))
}

pub(super) fn clean_word(what: &str, word: &str, report: &mut Report) -> Result<String> {
    let word = clean(word, report).split_whitespace().collect::<Vec<_>>().join(" ");
    if word.len() > MAX_WORD_BYTES {
        return Err(Error::invalid(
            what,
            format!("`{}…` is longer than 128 bytes", super::say::cut(&word, 20)),
            "use a short name",
        ));
    }
    Ok(word)
}

/// Without empty and repeated words; `None` where nothing is left.
pub(super) fn clean_list(what: &str, words: &[String], report: &mut Report) -> Result<Option<Vec<String>>> {
    if words.len() > MAX_LIST {
        return Err(Error::invalid(what, format!("{} are too many", words.len()), "give at most 64"));
    }
    let mut cleaned: Vec<String> = Vec::new();
    for word in words {
        let word = clean_word(what, word.trim().trim_start_matches('#'), report)?;
        if !word.is_empty() && !cleaned.contains(&word) {
            cleaned.push(word);
        }
    }
    Ok((!cleaned.is_empty()).then_some(cleaned))
}

fn clean_source(input: &SourceInput, report: &mut Report) -> Result<Source> {
    let mut word = |what: &str, word: &Option<String>| -> Result<Option<String>> {
        let word = word.as_deref().map(|word| clean_word(what, word, report)).transpose()?;
        Ok(word.filter(|word| !word.is_empty()))
    };
    let (speaker, client, session) = (
        word("source.speaker", &input.speaker)?,
        word("source.client", &input.client)?,
        word("source.session", &input.session)?,
    );
    let who = input.who.as_deref().map(|who| {
        serde_json::from_value::<Who>(Value::String(who.trim().to_lowercase())).map_err(|_| {
            Error::invalid("source.who", format!("`{who}` is not known"), "use user, agent, tool, web, import or note")
        })
    });
    let excerpt = input.excerpt.as_deref().map(|excerpt| super::say::cut(&clean(excerpt, report), 2000));
    Ok(Source {
        who: who.transpose()?,
        speaker,
        client,
        session,
        position: input.position,
        messages: clean_list("source.messages", &input.messages, report)?.unwrap_or_default(),
        excerpt: excerpt.filter(|excerpt| !excerpt.is_empty()),
        trusted: input.trusted,
    })
}

/// A time as given, or an error that shows how to write one.
pub(super) fn time(what: &str, text: Option<&str>, part: DayPart, zone: &TimeZone) -> Result<Option<Timestamp>> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || Error::invalid(what, format!("`{text}` is not a time"), "write 2026-11-29 or 2026-11-29T23:35:00Z");
    Timestamp::parse_in(text, part, zone).map(Some).ok_or_else(wrong)
}
