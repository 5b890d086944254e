//! Reinforce: a use is one line, and a burst within an hour is one use. Recall's own uses wait for the next write.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remember::round;
use super::{Engine, lenient};
use crate::clock::{Hour, Timestamp};
use crate::error::{Error, Result};
use crate::files::Patience;
use crate::id::MemoryId;
use crate::kinds::Kind;
use crate::memory::{Line, Memory, Op};

/// What `boost` adds to the strength.
const BOOST: f64 = 0.1;
/// What a use in another context than before adds.
const CROSS_CONTEXT_BOOST: f64 = 0.05;
/// Greatest strength.
const MAX_STRENGTH: f64 = 2.0;
/// Tag sets that share less than this are another context (Jaccard).
const SAME_CONTEXT: f64 = 0.3;

/// How contexts of use begin.
const PROJECT: &str = "project:";
const TAGS: &str = "tags:";

/// A request to reinforce.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReinforceRequest {
    /// Ids, or unique prefixes.
    #[serde(deserialize_with = "lenient::words")]
    pub ids: Vec<String>,
    /// Tags of the work it helped with; a project as `project:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub context: Vec<String>,
    /// Also raise its strength.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub boost: Option<bool>,
    /// touched, mentioned or reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// How one memory changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reinforced {
    /// Its id.
    pub id: String,
    /// Score before.
    pub old_score: f64,
    /// Score after.
    pub new_score: f64,
    /// Counted uses after.
    pub uses: u32,
    /// Whether this use counted: false where the hour had one already.
    pub counted: bool,
    /// Strength after, 0 to 2.
    pub strength: f64,
    /// Its kind now, where this use changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub became: Option<String>,
}

/// The answer, in the order of the ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReinforceAnswer {
    /// One a memory.
    pub results: Vec<Reinforced>,
    /// Ids that no memory has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<String>,
}

/// A use by recall that is not written yet. Some are lost where the process is killed; nothing else is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PendingUse {
    pub(super) id: MemoryId,
    pub(super) hour: Hour,
    pub(super) contexts: Vec<String>,
}

/// A project and a set of tags as contexts of use.
pub(super) fn contexts(scope: Option<&str>, tags: Option<&[String]>) -> Vec<String> {
    let mut contexts: Vec<String> = scope.map(|scope| format!("{PROJECT}{scope}")).into_iter().collect();
    if let Some(tags) = tags.filter(|tags| !tags.is_empty()) {
        let mut tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        tags.sort_unstable();
        contexts.push(format!("{TAGS}{}", tags.join(",")));
    }
    contexts
}

/// Whether a use is in another context than the memory comes from and was used in: in another project, or with tags
/// that it shares few of. What it comes from must be known to say so.
fn is_other_context(memory: &Memory, context: &str) -> bool {
    if memory.uses.contexts.iter().any(|known| known == context) {
        return false;
    }
    if let Some(project) = context.strip_prefix(PROJECT) {
        let is_of_other = memory.scope.as_ref().is_some_and(|own| own != project);
        return is_of_other
            || memory.scope.is_none() && memory.uses.contexts.iter().any(|known| known.starts_with(PROJECT));
    }
    let words: Vec<&str> = context.strip_prefix(TAGS).map(|tags| tags.split(',').collect()).unwrap_or_default();
    if words.is_empty() || memory.tags.is_empty() {
        return false;
    }
    let shared = words.iter().filter(|word| memory.tags.iter().any(|tag| tag == *word)).count() as f64;
    let all = (words.len() + memory.tags.len()) as f64 - shared;
    shared / all < SAME_CONTEXT
}

impl Engine {
    /// Counts a use of each memory. On return it is on disk.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no ids or an unknown kind; [`Error::Busy`], [`Error::Io`]. Unknown ids are no error.
    pub fn reinforce(&self, request: &ReinforceRequest) -> Result<ReinforceAnswer> {
        let now = self.clock.now();
        if request.ids.is_empty() {
            return Err(Error::invalid("ids", "there are none", "give the ids that `recall` returned"));
        }
        let how = request.kind.as_deref().unwrap_or("touched");
        if !["touched", "mentioned", "reviewed"].contains(&how) {
            return Err(Error::invalid("kind", format!("`{how}` is not known"), "use touched, mentioned or reviewed"));
        }
        let is_project = |word: &&String| word.starts_with(PROJECT);
        let tags: Vec<String> = request.context.iter().filter(|word| !is_project(word)).cloned().collect();
        let project = request.context.iter().find(is_project).and_then(|word| word.strip_prefix(PROJECT));
        let (context, not_found) = (contexts(project, Some(&tags)), std::cell::RefCell::new(Vec::new()));
        let ids = self.write(now, |draft| {
            let store = draft.store();
            let (mut lines, mut before): (_, Vec<(MemoryId, f64, u32, Kind)>) = (Vec::new(), Vec::new());
            for text in &request.ids {
                let Ok(memory) = Self::resolve_existing(&store.state, text) else {
                    not_found.borrow_mut().push(text.clone());
                    continue;
                };
                if before.iter().any(|(id, ..)| *id == memory.id) {
                    continue;
                }
                let trace = memory.trace(&self.config);
                before.push((
                    memory.id,
                    trace.score(&self.config.decay, now),
                    trace.uses(),
                    memory.current_kind(&self.config),
                ));
                lines.push(Line {
                    how: Some(how.into()),
                    hours: vec![now.hour()],
                    mentions: store.state.mentions_of(memory.id, draft.replica) + 1,
                    contexts: context.clone(),
                    ..Line::about(Op::Use, memory.id)
                });
                let mut gain = 0.0;
                if request.boost.unwrap_or(false) {
                    gain += BOOST;
                }
                if context.iter().any(|context| is_other_context(memory, context)) {
                    gain += CROSS_CONTEXT_BOOST;
                }
                let strength = (trace.strength + gain).min(MAX_STRENGTH);
                if strength > trace.strength {
                    lines.push(Line { strength: Some(round(strength)), ..Line::about(Op::Revise, memory.id) });
                }
            }
            Ok((lines, before))
        })?;
        let store = self.store();
        let results = ids.into_iter().filter_map(|(id, old_score, old_uses, old_kind)| {
            let memory = store.state.get(id)?;
            let trace = memory.trace(&self.config);
            let kind = memory.current_kind(&self.config);
            Some(Reinforced {
                id: id.to_string(),
                old_score: round(old_score),
                new_score: round(trace.score(&self.config.decay, now)),
                uses: trace.uses(),
                counted: trace.uses() > old_uses,
                strength: round(trace.strength),
                became: (kind != old_kind).then(|| kind.as_str().into()),
            })
        });
        Ok(ReinforceAnswer { results: results.collect(), not_found: not_found.into_inner() })
    }

    /// What a memory's kind will have become by this line, where that changes it.
    pub(super) fn kind_after(&self, memory: &Memory, line: &Line) -> Option<Kind> {
        let mut after = Memory::new(memory.id);
        (after.kind, after.is_kind_chosen) = (memory.kind, memory.is_kind_chosen);
        after.uses.clone_from(&memory.uses);
        after.uses.hours.extend(line.hours.iter().filter(|hour| !memory.uses.hours.contains(hour)));
        after.uses.hours.sort_unstable();
        after.uses.mentions.push((0, 1));
        let kind = after.current_kind(&self.config);
        (kind != memory.current_kind(&self.config)).then_some(kind)
    }

    /// Notes that recall returned these memories. Never waits: they are written by [`Engine::flush_uses`] or by the
    /// next write, whichever comes first.
    pub(super) fn note_uses(&self, ids: &[MemoryId], contexts: &[String], now: Timestamp) {
        let mut pending = self.pending();
        for id in ids {
            let using = PendingUse { id: *id, hour: now.hour(), contexts: contexts.to_vec() };
            if self.config.decay.gap_hours == 0 || !pending.contains(&using) {
                pending.push(using);
            }
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<PendingUse>> {
        self.pending_uses.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn take_pending_uses(&self) -> Vec<PendingUse> {
        std::mem::take(&mut *self.pending())
    }

    pub(super) fn put_back_uses(&self, mut uses: Vec<PendingUse>) {
        let mut pending = self.pending();
        uses.append(&mut pending);
        *pending = uses;
    }

    /// Lines for uses that say something new. `ahead` are lines of the same write.
    pub(super) fn use_lines(&self, uses: &[PendingUse], replica: &str, ahead: &[Line]) -> Vec<Line> {
        let store = self.store();
        let mut lines: Vec<Line> = Vec::new();
        for using in uses {
            let Some(memory) = store.state.get(using.id) else { continue };
            let is_known = memory.uses.hours.contains(&using.hour)
                && using.contexts.iter().all(|context| memory.uses.contexts.contains(context));
            let is_ahead = ahead.iter().any(|line| line.id == Some(using.id) && line.hours.contains(&using.hour));
            let counts_all = self.config.decay.gap_hours == 0;
            if (is_known && !counts_all) || is_ahead {
                continue;
            }
            if let Some(line) = lines.iter_mut().find(|line| line.id == Some(using.id)) {
                line.hours.push(using.hour);
                line.contexts.extend_from_slice(&using.contexts);
                line.mentions += u32::from(counts_all);
                continue;
            }
            lines.push(Line {
                how: Some("recalled".into()),
                hours: vec![using.hour],
                mentions: store.state.mentions_of(using.id, replica) + 1,
                contexts: using.contexts.clone(),
                ..Line::about(Op::Use, using.id)
            });
        }
        // A use in another context than before says more.
        let gains: Vec<Line> = lines
            .iter()
            .filter_map(|line| {
                let memory = store.state.get(line.id?)?;
                let strength = memory.trace(&self.config).strength;
                let gain = line.contexts.iter().any(|context| is_other_context(memory, context));
                let raised = round((strength + CROSS_CONTEXT_BOOST).min(MAX_STRENGTH));
                let is_raised = gain && raised > strength;
                is_raised.then(|| Line { strength: Some(raised), ..Line::about(Op::Revise, memory.id) })
            })
            .collect();
        lines.extend(gains);
        lines
    }

    /// As [`Engine::flush_uses`], but waits for whoever is writing, at most as long as `wait`. For the end of a process.
    ///
    /// # Errors
    /// [`Error::Busy`] where that was too short, [`Error::Io`]; the uses are not written then.
    pub fn flush_uses_within(&self, wait: Duration) -> Result<()> {
        let patience = Patience::new(wait);
        loop {
            self.flush_uses()?;
            if self.pending().is_empty() {
                return Ok(());
            }
            if !patience.pause() {
                return Err(Error::Busy { path: self.home.join("lock"), holder: "another writer".into() });
            }
        }
    }

    /// Writes the uses that recall noted, unless someone else is writing just now: then they wait.
    ///
    /// # Errors
    /// [`Error::Io`] where the journal cannot be written; the uses are kept for the next try.
    pub fn flush_uses(&self) -> Result<()> {
        self.journal.sync()?;
        // A file that is only for looking at holds nothing up.
        drop(self.flush_misses());
        if self.pending().is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let Some(mut guard) = self.journal.try_lock()? else { return Ok(()) };
        match self.catch_up(&mut guard, now) {
            // This process only reads from now on, and every write says so.
            Err(Error::Newer { .. }) => {
                drop(self.take_pending_uses());
                return Ok(());
            }
            read => read?,
        }
        let uses = self.take_pending_uses();
        let lines = self.use_lines(&uses, guard.replica(), &[]);
        if lines.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.append(&mut guard, lines, now) {
            drop(guard);
            self.put_back_uses(uses);
            return Err(error);
        }
        self.refresh_at(now)
    }
}
