//! Remember: what is told is checked, redacted, compared with what is known, and appended as one durable write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conflict::{conflict_id, contradiction};
use super::judge::{Earlier, Known, Relations};
use super::prepare::{Prepared, check_size, prepare};
use super::{Draft, Engine, lenient};
use crate::clock::{DAY_MS, Timestamp};
use crate::entities::Names;
use crate::error::{Error, Result};
use crate::id::{MemoryId, content_hash};
use crate::lexical::Scorer;
use crate::memory::{Line, Memory, OP_KEY_DAYS, Op, OpRecord, State};
use crate::redact::redact;
use crate::similarity::normal_form;

/// Longest `op_key`, bytes.
const MAX_KEY_BYTES: usize = 256;

/// Where a memory comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SourceInput {
    /// user, agent, tool, web, import or note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Who said it, in a conversation.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub speaker: Option<String>,
    /// The program that saves it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub client: Option<String>,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub session: Option<String>,
    /// Its place in that session.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::integer")]
    pub position: Option<i64>,
    /// Ids of its messages.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub messages: Vec<String>,
    /// The words it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// false: never promoted without a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
}

/// One memory to be remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NewMemory {
    /// One self-contained sentence, at most 64 KiB.
    pub text: String,
    /// Guessed from the text if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Short title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Tags.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub tags: Vec<String>,
    /// People, projects, tools it is about.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub entities: Vec<String>,
    /// Other words someone might use to ask for this.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub keywords: Vec<String>,
    /// A project name, or global.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When the event took place.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub happened: Option<String>,
    /// Until when it holds.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub valid_until: Option<String>,
    /// 0 to 2; wins over importance.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::number")]
    pub strength: Option<f64>,
    /// 1 to 10.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::number")]
    pub importance: Option<f64>,
    /// `meta_knowledge`, `semi_abstract` or `concrete_trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Never fades.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub pinned: Option<bool>,
    /// Ids of what this replaces; kept as history.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub supersedes: Vec<String>,
    /// Where it comes from: `who` (user, agent, tool, web, import, note), `speaker`, `client`, `session`, `position`,
    /// `messages` (ids), `excerpt`, `trusted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub source: Option<SourceInput>,
}

/// A request to remember.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RememberRequest {
    /// 1 to 1000, together at most 1 MiB of text.
    #[serde(deserialize_with = "lenient::memories")]
    #[schemars(with = "Vec<NewMemory>")]
    pub memories: Vec<Value>,
    /// A call repeated with its key saves nothing twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_key: Option<String>,
    /// Only say what would happen.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub dry_run: Option<bool>,
}

impl RememberRequest {
    /// A request for these memories.
    pub fn of(memories: &[NewMemory]) -> Self {
        let memories = memories.iter().map(|memory| serde_json::to_value(memory).unwrap_or_default()).collect();
        RememberRequest { memories, ..RememberRequest::default() }
    }
}

/// What became of one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is new.
    Saved,
    /// It was known, and counts as used.
    Reinforced,
    /// It is new and took the place of older ones.
    Superseded,
    /// It is new and contradicts another.
    Conflict,
    /// It was not saved.
    Rejected,
}

/// A memory that a new one resembles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similar {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// How they relate: `near`, `same_slot`, `contradicts`.
    pub relation: String,
    /// Bigram likeness, 0 to 1.
    pub score: f64,
}

/// What was redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedactedReport {
    /// How many secrets.
    pub count: usize,
    /// By which rules.
    pub rules: Vec<String>,
}

/// What became of one memory of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// What became of it.
    pub outcome: Outcome,
    /// Its id; absent where it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Why.
    pub why: String,
    /// Entities it was linked with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub entities: Vec<String>,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<RedactedReport>,
    /// Memories that it resembles.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub similar: Vec<Similar>,
    /// Memories whose place it took.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub superseded: Vec<String>,
    /// Conflict that was raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// Why it was rejected, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Remembered {
    /// One that was not saved: why, and what to do.
    pub(crate) fn rejected(why: String, hint: String) -> Remembered {
        Remembered {
            outcome: Outcome::Rejected,
            id: None,
            kind: None,
            why,
            entities: Vec::new(),
            redacted: None,
            similar: Vec::new(),
            superseded: Vec::new(),
            conflict: None,
            error: Some(hint),
        }
    }
}

/// The answer: one result a memory, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RememberAnswer {
    /// One result a memory, in order.
    pub results: Vec<Remembered>,
}

impl Engine {
    /// Remembers: on return every memory that was not rejected is on disk. One bad memory does not fail the others.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty or oversized request or an `op_key` that was used for other content;
    /// [`Error::Busy`] and [`Error::Io`] where nothing could be written.
    pub fn remember(&self, request: &RememberRequest) -> Result<RememberAnswer> {
        let now = self.clock.now();
        check_size(request)?;
        let prepared: Vec<Result<Prepared>> =
            request.memories.iter().map(|memory| prepare(memory, &self.time_zone, self.config.default_kind)).collect();
        let op_hash = op_hash(&prepared);
        if request.dry_run.unwrap_or(false) {
            self.refresh_at(now)?;
            let draft = Draft { engine: self, replica: "", number: 0, now };
            let mut answer = self.judge_all(&draft, prepared, None)?.1;
            for result in &mut answer.results {
                if matches!(result.outcome, Outcome::Saved | Outcome::Superseded) {
                    result.id = None;
                    result.why = format!("only tried: {}", result.why);
                }
            }
            return Ok(answer);
        }
        if prepared.iter().all(Result::is_err) {
            let results = prepared.into_iter().filter_map(Result::err).map(|error| rejected(&error)).collect();
            return Ok(RememberAnswer { results });
        }
        let op = request.op_key.as_deref().map(|key| Call::of(key, op_hash)).transpose()?;
        self.write(now, |draft| self.judge_all(draft, prepared, op.as_ref()))
    }

    fn judge_all(
        &self,
        draft: &Draft<'_>,
        prepared: Vec<Result<Prepared>>,
        op: Option<&Call>,
    ) -> Result<(Vec<Line>, RememberAnswer)> {
        let is_batch = prepared.len() > 1;
        let done = op.map(|op| op.done(&draft.store().state, draft.now)).transpose()?.flatten();
        let mut earlier = Earlier::default();
        let (mut lines, mut results) = (Vec::new(), Vec::new());
        let mut batch_session: Option<String> = None;
        // Names of this call, which no line tells yet.
        let mut told_names = Names::default();
        for (place, prepared) in prepared.into_iter().enumerate() {
            let mut prepared = match prepared {
                Ok(prepared) => prepared,
                Err(error) => {
                    results.push(rejected(&error));
                    continue;
                }
            };
            // What this call saved when it was made before is not saved again; what it did not get to is.
            if let Some((id, again)) = done.as_ref().and_then(|done| done.item(place as u32)) {
                results.push(repeated(&draft.store().state, &prepared, id, again));
                continue;
            }
            let known = self.judged(draft, &prepared, &earlier)?;
            if matches!(known, Known::New(_)) {
                self.find_entities(&mut prepared, &mut told_names);
            }
            let (mut line, result) = match known {
                Known::InBatch(id) => {
                    let result = result(&prepared, Outcome::Reinforced, id, "said twice in this call".into());
                    (Line::about(Op::Use, id), result)
                }
                Known::Before(id, why) => Self::again(draft, &prepared, id, why, &mut lines),
                Known::New(relations) => match Self::new_memory(draft, &prepared, relations, place) {
                    Ok((id, mut told, result)) => {
                        let mut line = told.swap_remove(0);
                        earlier.add(id, &prepared, draft.now);
                        earlier.replaced.extend(&line.supersedes);
                        if is_batch {
                            let session = batch_session.get_or_insert_with(|| result.id.clone().unwrap_or_default());
                            let source = line.source.get_or_insert_default();
                            if source.session.is_none() {
                                source.session = Some(session.clone());
                                source.position = Some(place as i64);
                            }
                        }
                        lines.append(&mut told);
                        (line, result)
                    }
                    Err(error) => {
                        results.push(rejected(&error));
                        continue;
                    }
                },
            };
            if let Some(op) = op {
                line.op_key = Some(op.key.clone());
                line.op_hash = Some(op.hash.clone());
                line.op_item = Some(place as u32);
            }
            // A repetition within the call has nothing to say but that it belongs to the call.
            if line.op != Op::Use || line.op_key.is_some() {
                lines.push(line);
            }
            results.push(result);
        }
        Ok((lines, RememberAnswer { results }))
    }

    /// Tells a known memory once more: its whole content, so that no other machine's forgetting can take it away.
    fn again(
        draft: &Draft<'_>,
        prepared: &Prepared,
        id: MemoryId,
        why: String,
        lines: &mut Vec<Line>,
    ) -> (Line, Remembered) {
        let store = draft.store();
        let Some(memory) = store.state.get(id) else {
            return (Line::about(Op::Use, id), result(prepared, Outcome::Reinforced, id, why));
        };
        let memory = &revised_by(memory.clone(), lines);
        let mut superseded = Vec::new();
        for older in &prepared.supersedes {
            superseded.extend(Self::resolve_existing(&store.state, older).ok().map(|older| older.id));
        }
        superseded.retain(|older| *older != id);
        let mut all_olders = store.state.said_to_supersede(id);
        all_olders.retain(|older| !superseded.contains(older));
        all_olders.extend_from_slice(&superseded);
        let mut line = memory.whole_line(Op::Remember, all_olders);
        line.hours = vec![draft.now.hour()];
        line.mentions = store.state.mentions_of(id, draft.replica) + 1;
        line.contexts = super::reinforce::contexts(prepared.line.scope.as_deref(), prepared.line.tags.as_deref());
        line.source.clone_from(&prepared.line.source);
        let mut why = why;
        let revised = improvements(memory, prepared);
        let improved = super::history::changed_fields(&revised).join(", ");
        if !improved.is_empty() && memory.note.is_some() {
            why = format!("{why}; it has a note, so {improved} stays: `revise` changes it");
        } else if !improved.is_empty() {
            why = format!("{why}; new: {improved}");
            lines.push(Line { id: Some(id), ..revised });
        }
        let outcome = if superseded.is_empty() { Outcome::Reinforced } else { Outcome::Superseded };
        let mut result = result(prepared, outcome, id, why);
        result.kind = Some(memory.current_kind(&draft.engine.config).as_str().into());
        if let Some(kind) = draft.engine.kind_after(memory, &line) {
            result.kind = Some(kind.as_str().into());
            result.why = format!("{}; used so often, it is now: {kind}", result.why);
        }
        result.entities.clone_from(&memory.entities);
        result.superseded = superseded.iter().map(ToString::to_string).collect();
        (line, result)
    }

    /// The lines of a new memory, its own first, and what is said of it.
    fn new_memory(
        draft: &Draft<'_>,
        prepared: &Prepared,
        relations: Relations,
        place: usize,
    ) -> Result<(MemoryId, Vec<Line>, Remembered)> {
        let store = draft.store();
        let id = draft.new_id(&store.state, place)?;
        let Relations { similar, supersedes, conflicts, mut whys } = relations;
        let mut superseded = Vec::new();
        for older in &prepared.supersedes {
            let older = Self::resolve_existing(&store.state, older)?;
            let standing = store.state.standing_for(older.id);
            if standing != older.id {
                // The two may say different parts of what it said.
                whys.push(format!("{} was replaced by {standing} before, which stays", older.id));
            }
            superseded.push(older.id);
        }
        superseded.extend(supersedes);
        superseded.sort_unstable();
        superseded.dedup();
        let outcome = match (superseded.is_empty(), conflicts.is_empty()) {
            (false, _) => Outcome::Superseded,
            (true, false) => Outcome::Conflict,
            (true, true) => Outcome::Saved,
        };
        whys.insert(0, prepared.why_kind.clone());
        let mut result = result(prepared, outcome, id, whys.join("; "));
        result.similar = similar;
        result.superseded = superseded.iter().map(ToString::to_string).collect();
        result.conflict = conflicts.first().map(|(other, _)| conflict_id(id, *other).to_string());
        let entities = Some(prepared.entities()).filter(|entities| !entities.is_empty());
        let mut lines = vec![Line { id: Some(id), supersedes: superseded, entities, ..prepared.line.clone() }];
        let own = (id, prepared.text());
        lines.extend(conflicts.iter().map(|(other, text)| contradiction(own, (*other, text), true)));
        Ok((id, lines, result))
    }

    pub(super) fn scorer(&self) -> Scorer {
        self.scorers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn put_scorer(&self, scorer: Scorer) {
        self.scorers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(scorer);
    }
}

/// The memory as earlier lines of the same call leave it.
fn revised_by(mut memory: Memory, lines: &[Line]) -> Memory {
    for line in lines.iter().filter(|line| line.id == Some(memory.id) && line.op == Op::Revise).cloned() {
        memory.text = line.text.unwrap_or(memory.text);
        memory.title = line.title.or(memory.title);
        memory.kind = line.kind.unwrap_or(memory.kind);
        memory.level = line.level.unwrap_or(memory.level);
        memory.tags = line.tags.unwrap_or(memory.tags);
        memory.entities = line.entities.unwrap_or(memory.entities);
        memory.keywords = line.keywords.unwrap_or(memory.keywords);
        memory.valid_until = line.valid_until.or(memory.valid_until);
        memory.strength = line.strength.or(memory.strength);
        memory.is_pinned = line.pinned.unwrap_or(memory.is_pinned);
    }
    memory
}

/// What a repeated telling says beyond what is known: longer wording, further words, and what the caller set.
fn improvements(memory: &Memory, prepared: &Prepared) -> Line {
    let told = &prepared.line;
    let is_longer = prepared.text().chars().count() > memory.text.chars().count();
    let is_other = normal_form(prepared.text()) != normal_form(&memory.text);
    let more = |new: &Option<Vec<String>>, old: &[String]| {
        let added: Vec<String> = new.iter().flatten().filter(|word| !old.contains(word)).cloned().collect();
        (!added.is_empty()).then(|| old.iter().cloned().chain(added).collect())
    };
    let level = told.level.filter(|level| *level != memory.level);
    Line {
        text: (is_longer && is_other).then(|| prepared.text().to_owned()),
        title: told.title.clone().filter(|title| Some(title) != memory.title.as_ref()),
        kind: (prepared.has_kind && prepared.kind != memory.kind).then_some(prepared.kind),
        level,
        tags: more(&told.tags, &memory.tags),
        entities: more(&told.entities, &memory.entities),
        keywords: more(&told.keywords, &memory.keywords),
        valid_until: told.valid_until.filter(|until| Some(*until) != memory.valid_until),
        strength: told.strength.filter(|strength| Some(*strength) != memory.strength),
        pinned: told.pinned.filter(|pinned| *pinned != memory.is_pinned),
        ..Line::new(Op::Revise)
    }
}

/// Hash of what a call says, however it is written and whichever program says it.
fn op_hash(prepared: &[Result<Prepared>]) -> String {
    let mut said = String::new();
    for prepared in prepared {
        if let Ok(prepared) = prepared {
            let mut line = prepared.line.clone();
            if let Some(source) = &mut line.source {
                source.client = None;
            }
            line.source = line.source.filter(|source| !source.is_empty());
            said.push_str(&serde_json::to_string(&line).unwrap_or_default());
            said.push_str(&prepared.supersedes.join(","));
        }
        said.push('\n');
    }
    content_hash(said.as_bytes())
}

/// An idempotent call.
struct Call {
    key: String,
    hash: String,
}

impl Call {
    fn of(key: &str, hash: String) -> Result<Call> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(Error::invalid("op_key", "must have 1 to 256 bytes", "use a short key for each call"));
        }
        Ok(Call { key: redact(key).0.into_string(), hash })
    }

    /// What this call did when it was made before, within its time.
    fn done(&self, state: &State, now: Timestamp) -> Result<Option<OpRecord>> {
        let known = state.op_record(&self.key);
        let known = known.filter(|known| now.millis() - known.at.millis() < OP_KEY_DAYS * DAY_MS);
        match known {
            Some(known) if known.hash != self.hash => {
                let why = format!("`{}` was used for other content", self.key);
                Err(Error::invalid("op_key", why, "use a new key for a new call"))
            }
            known => Ok(known.cloned()),
        }
    }
}

/// The answer for an item that an earlier call with the same key saved.
fn repeated(state: &State, prepared: &Prepared, id: MemoryId, again: bool) -> Remembered {
    let outcome = if again { Outcome::Reinforced } else { Outcome::Saved };
    let mut result = result(prepared, outcome, id, "this call was made before".into());
    if let Some(memory) = state.get(id) {
        result.kind = Some(memory.kind.as_str().into());
        result.entities.clone_from(&memory.entities);
    }
    let superseded = state.said_to_supersede(id);
    if !superseded.is_empty() && (!again || !prepared.supersedes.is_empty()) {
        result.outcome = Outcome::Superseded;
        result.superseded = superseded.iter().map(ToString::to_string).collect();
    }
    result
}

fn result(prepared: &Prepared, outcome: Outcome, id: MemoryId, why: String) -> Remembered {
    let report = &prepared.report;
    Remembered {
        outcome,
        id: Some(id.to_string()),
        kind: Some(prepared.kind.as_str().into()),
        why,
        entities: prepared.entities(),
        redacted: (report.count > 0).then(|| RedactedReport { count: report.count, rules: report.rules.clone() }),
        similar: Vec::new(),
        superseded: Vec::new(),
        conflict: None,
        error: None,
    }
}

fn rejected(error: &Error) -> Remembered {
    Remembered::rejected(error.to_string(), error.hint())
}

/// Three decimals are enough for people and agents.
pub(super) fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
