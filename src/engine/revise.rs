//! Revise: fields of one memory change; the earlier text stays in its history, its note follows.

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::stem;
use super::history::changed_fields;
use super::prepare::{MAX_TEXT_BYTES, clean, clean_list, clean_title, clean_word, time};
use super::{Engine, lenient};
use crate::clock::DayPart;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::kinds::{Kind, Level};
use crate::memory::{GLOBAL_SCOPE, Line, Memory, Op};
use crate::redact::Report;

/// A request to revise. What is absent stays; an empty text or list empties the field.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviseRequest {
    /// Id, or a unique prefix.
    pub id: String,
    /// The new text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The new title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// All tags from now on.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::some_words")]
    pub tags: Option<Vec<String>>,
    /// All entities from now on.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::some_words")]
    pub entities: Option<Vec<String>>,
    /// All keywords from now on.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::some_words")]
    pub keywords: Option<Vec<String>>,
    /// A project name, or global.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When the event took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happened: Option<String>,
    /// Until when it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::number")]
    pub strength: Option<f64>,
    /// As in `remember`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Never fades.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub pinned: Option<bool>,
    /// A person vouches for it (or not).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub trusted: Option<bool>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviseAnswer {
    /// Its id.
    pub id: String,
    /// Names of the fields that changed.
    pub changed: Vec<String>,
    /// Its note, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why nothing changed, or what else is to be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Engine {
    /// Changes fields of a memory. On return the change is on disk, and in its note where it has one.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Ambiguous`], [`Error::Invalid`] for the id or a value; [`Error::Busy`],
    /// [`Error::Io`], [`Error::Changed`] where nothing was written.
    pub fn revise(&self, request: &ReviseRequest) -> Result<ReviseAnswer> {
        let now = self.clock.now();
        // What a person changed in the note comes first.
        let read = self.read_back_at(now, false)?;
        let mut report = Report::default();
        let line = requested(request, &self.time_zone, &mut report)?;
        let (mut answer, change) = self.write(now, |draft| {
            if request.text.is_some() {
                self.store_mut().know_names();
            }
            let store = draft.store();
            let memory = Self::resolve_existing(&store.state, &request.id)?;
            let mut line = Line { id: Some(memory.id), ..differences(memory, &self.config, line) };
            if request.entities.is_none() {
                self.follow_text(&store, memory, &mut line);
            }
            let changed: Vec<String> = changed_fields(&line).into_iter().map(str::to_owned).collect();
            let note = memory.note.as_ref().filter(|note| note.is_there()).map(|note| note.path.clone());
            let why = if changed.is_empty() {
                Some("it already says so".to_owned())
            } else {
                (report.count > 0).then(|| format!("redacted before saving: {}", report.rules.join(", ")))
            };
            let answer = ReviseAnswer { id: memory.id.to_string(), changed, note, why };
            if answer.changed.is_empty() {
                return Ok((Vec::new(), (answer, None)));
            }
            let memory = memory.clone();
            drop(store);
            let (line, change) = self.revise_note(&memory, line)?;
            let mut answer = answer;
            let is_missing = |path: &String| matches!(self.vault.read(path), Err(Error::NotFound { .. }));
            if answer.note.as_ref().is_some_and(is_missing) {
                let path = answer.note.take().unwrap_or_default();
                let waits =
                    format!("{path} is not there: the change is kept, and written into the note when it is back");
                answer.why = Some(answer.why.map_or(waits.clone(), |why| format!("{why}; {waits}")));
            }
            Ok((vec![line], (answer, change)))
        })?;
        let mut notices = read.problems;
        if let Some(change) = change {
            let subject = format!("Revise: {}", stem(&change.path));
            let (_, notice) = self.commit(&[change], &subject, std::slice::from_ref(&answer.id), now)?;
            notices.extend(notice);
        }
        notices.extend(answer.why.take());
        answer.why = (!notices.is_empty()).then(|| notices.join("; "));
        Ok(answer)
    }
}

fn requested(request: &ReviseRequest, zone: &TimeZone, report: &mut Report) -> Result<Line> {
    let mut line = Line::new(Op::Revise);
    let mut cleared = Vec::new();
    if let Some(text) = &request.text {
        let text = clean(text, report);
        if text.is_empty() || text.len() > MAX_TEXT_BYTES {
            return Err(Error::invalid("text", "must have 1 to 65536 bytes", "`forget` removes a memory"));
        }
        line.text = Some(text);
    }
    if let Some(title) = &request.title {
        line.title = clean_title(title, report)?;
        if line.title.is_none() {
            cleared.push("title");
        }
    }
    line.kind = request.kind.as_deref().map(str::parse::<Kind>).transpose()?;
    line.level = request.level.as_deref().map(str::parse::<Level>).transpose()?;
    for (name, words, field) in [
        ("tags", &request.tags, &mut line.tags),
        ("entities", &request.entities, &mut line.entities),
        ("keywords", &request.keywords, &mut line.keywords),
    ] {
        if let Some(words) = words {
            *field = clean_list(name, words, report)?;
            if field.is_none() {
                cleared.push(name);
            }
        }
    }
    if let Some(scope) = &request.scope {
        let scope = clean_word("scope", scope, report)?;
        line.scope = Some(if scope.is_empty() { GLOBAL_SCOPE.to_owned() } else { scope });
    }
    for (name, text, part, field) in [
        ("happened", &request.happened, DayPart::Noon, &mut line.happened),
        ("valid_until", &request.valid_until, DayPart::End, &mut line.valid_until),
    ] {
        *field = time(name, text.as_deref(), part, zone)?;
        if text.is_some() && field.is_none() {
            cleared.push(name);
        }
    }
    if let Some(strength) = request.strength {
        if !(0.0..=2.0).contains(&strength) {
            return Err(Error::invalid("strength", format!("{strength} is not 0 to 2"), "1 is usual"));
        }
        line.strength = Some(strength);
    }
    line.pinned = request.pinned;
    line.trusted = request.trusted;
    line.clear = cleared.into_iter().map(str::to_owned).collect();
    Ok(line)
}

/// Leaves out what the memory already says.
fn differences(memory: &Memory, config: &Config, mut line: Line) -> Line {
    fn keep<T: PartialEq>(field: &mut Option<T>, current: Option<&T>) {
        if field.as_ref() == current {
            *field = None;
        }
    }
    keep(&mut line.text, Some(&memory.text));
    keep(&mut line.title, memory.title.as_ref());
    keep(&mut line.kind, Some(&memory.current_kind(config)));
    keep(&mut line.level, Some(&memory.level));
    keep(&mut line.tags, Some(&memory.tags));
    keep(&mut line.entities, Some(&memory.entities));
    keep(&mut line.keywords, Some(&memory.keywords));
    keep(&mut line.scope, Some(&memory.scope_name().to_owned()));
    keep(&mut line.happened, memory.happened.as_ref());
    keep(&mut line.valid_until, memory.valid_until.as_ref());
    keep(&mut line.strength, memory.strength.as_ref());
    keep(&mut line.pinned, Some(&memory.is_pinned));
    keep(&mut line.trusted, memory.trust.as_ref());
    line.clear.retain(|name| match name.as_str() {
        "title" => memory.title.is_some(),
        "tags" => !memory.tags.is_empty(),
        "entities" => !memory.entities.is_empty(),
        "keywords" => !memory.keywords.is_empty(),
        "happened" => memory.happened.is_some(),
        "valid_until" => memory.valid_until.is_some(),
        _ => true,
    });
    line
}
