//! Review: what a person should decide, listed with the reason, and decided.
//!
//! `Review.md` in the vault shows the same lists: see `review_note.rs`.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{Conflict, Ending};
use super::forget::RestoreRequest;
use super::judge::is_current;
use super::keys::same_key;
use super::prepare::{MAX_TEXT_BYTES, clean};
use super::promote::PromoteRequest;
use super::{Engine, lenient, say};
use crate::clock::{DAY_MS, Timestamp};
use crate::config::PromotionMode;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::{Line, Memory, Op, Source, Status, Who};
use crate::redact::Report;

/// Entries of one list where the call does not say.
const LIMIT: u32 = 20;
/// The action that tokens are given for.
const RESOLVE: &str = "resolve";
/// The list that is shown only where a call names it.
const RELATIONS: &str = "relations";

/// How a conflict is to end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Resolve {
    /// Its id.
    pub conflict: String,
    /// The id that holds, `both` or `merge`.
    pub keep: String,
    /// With `merge`: what is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A request to review.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewRequest {
    /// conflicts, proposals, fading, due, duplicates, vanished (all if absent), relations.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub about: Vec<String>,
    /// End a conflict; the first call previews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<Resolve>,
    /// Proposed ids to promote.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub approve: Vec<String>,
    /// Proposed ids to turn down.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub reject: Vec<String>,
    /// Ids to bring back.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub restore: Vec<String>,
    /// 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub limit: Option<u32>,
    /// From the preview.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::text")]
    pub preview_token: Option<String>,
    /// Whether the rules judge everything that is there first. For a person to ask.
    #[serde(skip)]
    pub judge: Judge,
}

/// Whether all memories are judged anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Judge {
    /// They are not.
    #[default]
    No,
    /// What would follow is only said.
    Dry,
    /// They are.
    Yes,
}

/// A memory to decide about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewItem {
    /// Its id.
    pub id: String,
    /// Its text, shortened.
    pub text: String,
    /// Why it is listed.
    pub why: String,
}

/// What there is to decide, and what was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewAnswer {
    /// What cannot both hold.
    pub conflicts: Vec<Conflict>,
    /// What would be promoted, and waits for a person's word.
    pub proposals: Vec<ReviewItem>,
    /// What fades soon.
    pub fading: Vec<ReviewItem>,
    /// What is due for a look, before it is lost.
    pub due: Vec<ReviewItem>,
    /// What says the same as another memory.
    pub duplicates: Vec<ReviewItem>,
    /// Memories whose notes were deleted or moved away.
    pub vanished: Vec<ReviewItem>,
    /// Memories that may hang together; only where `about` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<ReviewItem>,
    /// What was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    /// What `resolve` would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What the call that does it must give; it holds for ten minutes, for these texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_token: Option<String>,
    /// What could not be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A memory to decide about, with the memory itself.
pub(super) struct Listed<'a> {
    pub(super) memory: &'a Memory,
    pub(super) why: String,
}

/// All that there is to decide.
#[derive(Default)]
pub(super) struct Lists<'a> {
    pub(super) proposals: Vec<Listed<'a>>,
    pub(super) fading: Vec<Listed<'a>>,
    pub(super) duplicates: Vec<Listed<'a>>,
    /// Notes that are in the vault no more.
    pub(super) deleted: Vec<Listed<'a>>,
    /// Notes that lie elsewhere in the vault.
    pub(super) put_away: Vec<Listed<'a>>,
}

impl Engine {
    /// Decides what is asked for, and lists what there is to decide then.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a list that is not known and a conflict that cannot end so; [`Error::NotFound`] for one
    /// that is settled; [`Error::Busy`], [`Error::Io`].
    pub fn review(&self, request: &ReviewRequest) -> Result<ReviewAnswer> {
        let now = self.clock.now();
        let about = about(&request.about)?;
        let mut answer = ReviewAnswer::default();
        self.refresh_at(now)?;
        if let Some(resolve) = &request.resolve {
            self.resolve_conflict(resolve, request.preview_token.as_deref(), now, &mut answer)?;
        }
        self.decide(request, &mut answer)?;
        if request.judge != Judge::No {
            self.rejudge(request.judge == Judge::Dry, now, &mut answer)?;
        }
        let elsewhere = self.put_away_places(now)?;
        let limit = request.limit.unwrap_or(LIMIT).clamp(1, 100) as usize;
        if about.contains(&"due") {
            let listed = self.due(now, limit);
            let items = listed.due.into_iter().chain(listed.surfaced).take(limit);
            answer.due = items.map(|item| ReviewItem { id: item.id, text: item.text, why: item.why }).collect();
        }
        let store = self.store();
        let lists = self.lists(store.state.memories(), &elsewhere, now);
        let items = |name: &str, listed: Vec<Listed<'_>>| -> Vec<ReviewItem> {
            let wanted = listed.into_iter().take(if about.contains(&name) { limit } else { 0 });
            wanted
                .map(|Listed { memory, why }| ReviewItem {
                    id: memory.id.to_string(),
                    text: say::cut(&memory.text, 200),
                    why,
                })
                .collect()
        };
        if about.contains(&"conflicts") {
            answer.conflicts = store.conflicts(now);
            answer.conflicts.truncate(limit);
        }
        if about.contains(&RELATIONS) {
            answer.relations = self.proposed_relations(&store, now, limit);
        }
        answer.proposals = items("proposals", lists.proposals);
        answer.fading = items("fading", lists.fading);
        let mut duplicates = items("duplicates", lists.duplicates);
        duplicates.retain(|item| answer.duplicates.iter().all(|known| known.id != item.id));
        answer.duplicates.extend(duplicates);
        answer.vanished = items("vanished", lists.deleted.into_iter().chain(lists.put_away).collect());
        Ok(answer)
    }

    /// Ends a conflict, in two calls: the first one says what would be, and gives the token that the second one needs.
    fn resolve_conflict(
        &self,
        resolve: &Resolve,
        token: Option<&str>,
        now: Timestamp,
        answer: &mut ReviewAnswer,
    ) -> Result<()> {
        let conflict = self.store().conflict(&resolve.conflict, now)?;
        let mut report = Report::default();
        let text = resolve.text.as_deref().map(|text| clean(text, &mut report));
        if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
            return Err(Error::invalid("text", "has more than 65536 bytes", "keep the point of it"));
        }
        let ending = Self::ending(&conflict, &resolve.keep, text.as_deref())?;
        let Some(token) = token else {
            answer.preview = Some(preview(&conflict, &ending));
            answer.preview_token = Some(self.preview_token(RESOLVE, &bound_to(&conflict, &ending), now)?);
            return Ok(());
        };
        let source = Source { who: Some(Who::Agent), ..Source::default() };
        let done = self.write(now, |draft| {
            let conflict = draft.store().conflict(&resolve.conflict, now)?;
            self.check_preview(token, RESOLVE, &bound_to(&conflict, &ending), now)?;
            Self::end_conflict(draft, &conflict, &ending, source)
        })?;
        answer.done.push(done);
        Ok(())
    }

    /// Ends a conflict as a person said, who saw it.
    pub(super) fn end_conflict_at_once(&self, id: &str, ending: &Ending) -> Result<String> {
        let now = self.clock.now();
        self.write(now, |draft| {
            let conflict = draft.store().conflict(id, now)?;
            Self::end_conflict(draft, &conflict, ending, Source { who: Some(Who::User), ..Source::default() })
        })
    }

    /// Approves, rejects and restores.
    fn decide(&self, request: &ReviewRequest, answer: &mut ReviewAnswer) -> Result<()> {
        if !request.approve.is_empty() {
            let ids = request.approve.clone();
            let promoted = self.promote(&PromoteRequest { ids, force: Some(true), ..PromoteRequest::default() })?;
            answer.done.extend(promoted.promoted.iter().map(|done| format!("promoted {} to {}", done.id, done.note)));
            answer.problems.extend(promoted.skipped.iter().map(|skipped| format!("{}: {}", skipped.id, skipped.why)));
        }
        if !request.reject.is_empty() {
            let (done, problems) = self.write(self.clock.now(), |draft| {
                let store = draft.store();
                let (mut lines, mut done, mut problems) = (Vec::new(), Vec::new(), Vec::new());
                for text in &request.reject {
                    match Self::resolve_existing(&store.state, text) {
                        Ok(memory) if memory.is_promoted() => {
                            problems.push(format!("{}: it has a note already; `forget` takes it away", memory.id));
                        }
                        Ok(memory) => {
                            lines.push(Line { trusted: Some(false), ..Line::about(Op::Revise, memory.id) });
                            done.push(format!("rejected {}: it is not promoted by itself", memory.id));
                        }
                        Err(error) => problems.push(error.to_string()),
                    }
                }
                Ok((lines, (done, problems)))
            })?;
            answer.done.extend(done);
            answer.problems.extend(problems);
        }
        if !request.restore.is_empty() {
            let restored = self.restore(&RestoreRequest { ids: request.restore.clone() })?;
            answer
                .done
                .extend(restored.restored.iter().map(|done| format!("restored {}: it was {}", done.id, done.was)));
            let nothing = restored.not_found.iter().chain(&restored.purged);
            answer.problems.extend(nothing.map(|id| format!("{id}: there is nothing to restore")));
        }
        Ok(())
    }

    /// Where the notes of hidden memories lie now, outside the folder of memories.
    pub(super) fn put_away_places(&self, now: Timestamp) -> Result<BTreeMap<MemoryId, String>> {
        self.refresh_at(now)?;
        let hidden =
            self.store().state.memories().filter(|memory| memory.is_vanished).map(|memory| memory.id).collect();
        Ok(self.vault.find_anywhere(&hidden)?.places)
    }

    /// What there is to decide about single memories at `now`, oldest first.
    pub(super) fn lists<'a>(
        &self,
        memories: impl Iterator<Item = &'a Memory>,
        elsewhere: &BTreeMap<MemoryId, String>,
        now: Timestamp,
    ) -> Lists<'a> {
        let mut memories: Vec<&Memory> = memories.collect();
        memories.sort_by_key(|memory| (memory.created, memory.id));
        let mut lists = Lists::default();
        let mut first_of: HashMap<u64, MemoryId> = HashMap::new();
        for memory in memories {
            let status = memory.status(&self.config, now);
            if status == Status::Active && is_current(memory, now) {
                let first = *first_of.entry(same_key(memory)).or_insert(memory.id);
                if first != memory.id {
                    lists.duplicates.push(Listed { memory, why: format!("says the same as {first}") });
                }
            }
            match status {
                Status::Vanished => {
                    let gone = memory.note.as_ref().and_then(|note| note.gone).unwrap_or(now);
                    if let Some(path) = elsewhere.get(&memory.id) {
                        let why = format!("in {path} since {}", self.date(gone));
                        lists.put_away.push(Listed { memory, why });
                        continue;
                    }
                    let ends = gone.plus_millis((self.config.vault.vanish_days * DAY_MS as f64) as i64);
                    let why = format!("deleted {}, forgotten after {}", self.date(gone), self.date(ends));
                    lists.deleted.push(Listed { memory, why });
                }
                Status::Active if memory.note.is_none() => {
                    let trusted = Memory { trust: Some(true), ..memory.clone() };
                    let state = self.promotion_state(&trusted, now);
                    // One that a person rejected is not proposed again.
                    let is_asked = (!memory.is_trusted() || self.config.promotion == PromotionMode::Propose)
                        && memory.trust != Some(false);
                    if state.eligible && is_asked && self.config.promotion != PromotionMode::Off {
                        let from = if memory.is_trusted() { "" } else { "not from you or your agent; " };
                        lists.proposals.push(Listed { memory, why: format!("{from}{}", state.why) });
                    } else if !memory.is_kept_by_rule(now)
                        && memory.trace(&self.config).is_fading(&self.config.decay, now)
                    {
                        let fades = memory.trace(&self.config).fades_at(&self.config.decay);
                        let why = fades.map_or("fading".into(), |at| format!("fades {}", self.date(at)));
                        lists.fading.push(Listed { memory, why });
                    }
                }
                _ => {}
            }
        }
        lists
    }
}

/// The lists that a request names; all where it names none.
fn about(names: &[String]) -> Result<Vec<&'static str>> {
    const ALL: [&str; 6] = ["conflicts", "proposals", "fading", "due", "duplicates", "vanished"];
    if names.is_empty() {
        return Ok(ALL.to_vec());
    }
    let known = |name: &String| {
        let wanted = name.trim().to_lowercase();
        ALL.into_iter()
            .chain([RELATIONS])
            .find(|known| known.trim_end_matches('s') == wanted.trim_end_matches('s'))
            .ok_or_else(|| {
                Error::invalid(
                    "about",
                    format!("`{name}` is not known"),
                    format!("use {} or {RELATIONS}", ALL.join(", ")),
                )
            })
    };
    names.iter().map(known).collect()
}

/// What a token is bound to: the conflict with its texts, and how it is to end.
fn bound_to(conflict: &Conflict, ending: &Ending) -> String {
    let sides: Vec<String> = conflict.sides.iter().map(|side| format!("{} {:?}", side.id, side.text)).collect();
    format!("{} {} {ending:?}", conflict.id, sides.join(" "))
}

fn preview(conflict: &Conflict, ending: &Ending) -> String {
    let text_of = |id: &MemoryId| {
        let mut sides = conflict.sides.iter();
        sides.find(|side| side.id == id.to_string()).map_or(String::new(), |side| say::short(&side.text))
    };
    match ending {
        Ending::Both => "both hold, and are shown in conflict no more".into(),
        Ending::Keep(id) => format!("{id} holds: \"{}\"; the other becomes history, restorable", text_of(id)),
        Ending::Merge(text) => {
            format!("a new memory says it instead of both: \"{}\"; both become history, restorable", say::short(text))
        }
    }
}
