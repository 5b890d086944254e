//! Recall: one ranking over both tiers, filters before the cut, history without extra hits, every factor on request.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::fit::Fitted;
use super::hop::FOLLOWED_HITS;
use super::page::{MAX_HITS, Page};
use super::remember::round;
use super::store::Store;
use super::{Engine, lenient};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::{MemoryId, content_hash};
use crate::lexical::Slot;
use crate::memory::{CONSOLIDATED_FROM, Memory, NoteRef, Source, Status};
use crate::question::Question;
use crate::rank::{Factors, Fit, PHRASE_WEIGHT};

/// Queries that one call may ask for one need.
const MAX_QUERIES: usize = 5;
/// Best candidates whose texts are looked at for phrases of the query.
pub(super) const MAX_PHRASES: usize = 60;
/// Candidates that pass the filters and are ranked by their standing too.
const MAX_RANKED: usize = 300;
/// Share of the best hit's rank below which a memory that shares no word with the query is no hit.
const NOISE_BELOW: f64 = 0.25;
/// Superseded memories that a hit carries along.
const MAX_PREVIOUS: usize = 5;

/// A request to recall.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecallRequest {
    /// What to look for, in plain words; up to 5 wordings. Empty: list by score.
    #[serde(deserialize_with = "lenient::list")]
    pub query: Vec<String>,
    /// 1 to 50 hits; 8 if absent, with a budget what fits.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    #[schemars(range(min = 1, max = 50))]
    pub limit: Option<u32>,
    /// Projects to search besides global.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub scope: Vec<String>,
    /// Only these kinds.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub kinds: Vec<String>,
    /// Only with all of these tags.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub tags: Vec<String>,
    /// Only about one of these.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub entities: Vec<String>,
    /// `any`, `short_term`, `long_term`, or `note`: a person's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Not dated before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Not dated after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Memories that held at that time; their texts are today's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Also `faded`, `superseded`, `all_scopes`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::words")]
    pub include: Vec<String>,
    /// What the hits may cost: what is too long for it comes as a line.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub budget_tokens: Option<u32>,
    /// The last reply's: gives the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// `full` or `line` (id, first line, date).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Say why each hit ranks where it does.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub explain: Option<bool>,
    /// Count strong hits as used; true if absent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::switch")]
    pub reinforce: Option<bool>,
}

impl RecallRequest {
    /// A plain query with the defaults.
    pub fn of(query: &str) -> Self {
        RecallRequest { query: vec![query.to_owned()], ..RecallRequest::default() }
    }

    /// The wordings that say anything.
    pub(super) fn queries(&self) -> Result<Vec<&str>> {
        let queries: Vec<&str> =
            self.query.iter().map(|query| query.trim()).filter(|query| !query.is_empty()).collect();
        if queries.len() > MAX_QUERIES {
            return Err(Error::invalid("query", "more than 5 wordings", "ask for one need a call"));
        }
        Ok(queries)
    }
}

/// What a hit superseded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Previous {
    /// Its id.
    pub id: String,
    /// What was true before.
    pub text: String,
    /// Until when.
    #[schemars(with = "String")]
    pub until: Timestamp,
}

/// Why a hit ranks where it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// How well it fits: the sum of the parts that follow.
    pub fit: f64,
    /// What its words add (about 1 where all of the query's occur).
    pub lexical: f64,
    /// What its meaning adds.
    #[serde(rename = "dense", default, skip_serializing_if = "is_zero")]
    pub meaning: f64,
    /// What it adds that the query names its speaker, or takes off that it names another one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub speaker: f64,
    /// What neighbouring words of the query add that are neighbours in it too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub phrase: f64,
    /// What it adds that it is about someone whom the best hits are about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub graph: f64,
    /// What its date adds where the query speaks of a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub date: f64,
    /// What its form adds or takes off: a turn of a conversation that only asks, or is short or long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub form: f64,
    /// Its strength now, by decay.
    pub strength: f64,
    /// Weight of its level.
    pub level: f64,
    /// What strength and level multiply the fit with, 0.9 to 1.1.
    pub standing: f64,
    /// Days since its last use.
    pub idle_days: f64,
    /// The words that matched, and how well each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// Its text (first line only with `detail: line`).
    pub text: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its kind.
    pub kind: String,
    /// `short_term` or `long_term`.
    pub tier: String,
    /// Rank, comparable within one reply.
    pub score: f64,
    /// When it was told.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// When it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub happened: Option<Timestamp>,
    /// Its last counted use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_used: Option<Timestamp>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Its project, unless global.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its note, from the vault's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// active, superseded or faded.
    pub status: String,
    /// What was true before, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previously: Vec<Previous>,
    /// The memory that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Conflicts it is part of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<super::remember::SourceInput>")]
    pub source: Option<Source>,
    /// false where it came from a tool or the web and no person vouched for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
    /// Every factor, with `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// The answer to a recall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecallAnswer {
    /// Whether anything fits well enough.
    pub found: bool,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Memories that share a word with the query, or stand beside one in a conversation, before the filters; without a
    /// query, those that passed.
    pub total: u64,
    /// With the same request, gives the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What the caller should know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A memory that passed, with what ranks it.
#[derive(Clone)]
pub(super) struct Ranked {
    pub(super) id: MemoryId,
    pub(super) factors: Factors,
}

/// A candidate with its fit but for the phrase, the best of the wordings'.
#[derive(Clone, Copy)]
struct Candidate {
    total: f32,
    slot: Slot,
    /// Which wording fits best.
    wording: u8,
}

/// Candidates that are put in order first: few calls need more.
const FIRST_SORTED: usize = 500;

/// Candidates in order, the best first; of equal ones the smaller id. Most calls stop after a few, so the best of them
/// are gathered first, and the rest only where somebody asks for it.
fn in_order(store: &Store, fitted: &[Fitted]) -> impl Iterator<Item = Candidate> {
    let order = |a: &Candidate, b: &Candidate| {
        b.total.total_cmp(&a.total).then_with(|| store.id_at(a.slot).cmp(&store.id_at(b.slot)))
    };
    let slots = 0..store.lengths.slots() as Slot;
    let mut first: Vec<Candidate> = Vec::with_capacity(2 * FIRST_SORTED);
    let mut least = f32::NEG_INFINITY;
    for slot in slots.clone() {
        first.extend(best_wording(store, fitted, slot, least));
        if first.len() == 2 * FIRST_SORTED {
            first.select_nth_unstable_by(FIRST_SORTED - 1, order);
            first.truncate(FIRST_SORTED);
            least = first.last().map_or(least, |last| last.total);
        }
    }
    first.sort_unstable_by(order);
    // Where some were passed over, all others stand behind the last of these.
    let is_all = least == f32::NEG_INFINITY;
    first.truncate(if is_all { first.len() } else { FIRST_SORTED });
    let end = first.last().filter(|_| !is_all).copied();
    let later = end.into_iter().flat_map(move |end| {
        let all = slots.clone().filter_map(|slot| best_wording(store, fitted, slot, f32::NEG_INFINITY));
        let mut rest: Vec<Candidate> = all.filter(|other| order(other, &end).is_gt()).collect();
        rest.sort_unstable_by(order);
        rest
    });
    first.into_iter().chain(later)
}

impl Engine {
    /// Finds memories. Strong hits are noted as used (unless `reinforce` is false) without making this call wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] for unknown filter values; [`Error::Io`] when the journal cannot be read.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        match self.recall_now(request, now) {
            Err(error @ Error::Index { .. }) => {
                self.leave_index(&error);
                self.recall_now(request, now)
            }
            answer => answer,
        }
    }

    /// Hits that a request gets.
    pub(super) fn limit(&self, request: &RecallRequest) -> usize {
        request.limit.unwrap_or(self.config.recall.limit).clamp(1, MAX_HITS) as usize
    }

    fn recall_now(&self, request: &RecallRequest, now: Timestamp) -> Result<RecallAnswer> {
        let filter = Filter::of(request, &self.config, &self.time_zone)?;
        let page = Page::of(request, self.config.recall.limit)?;
        let queries = request.queries()?;
        let mut notice = self.notice(now);
        let store = self.store();
        let filter = filter.by_all_names(&store.aliases);
        let explain = request.explain.unwrap_or(false);
        let (mut ranked, total) = if queries.is_empty() {
            self.list(&store, &filter, page.reach(), now)
        } else {
            self.search(&store, &queries, &filter, page.reach(), now)?
        };
        // Of a later page, too: whether there is an answer at all.
        let found = ranked.iter().any(|ranked| queries.is_empty() || ranked.factors.fit.is_found());
        let is_more = page.choose(&mut ranked);
        let matched = if explain { self.explain(&store, &queries, &ranked, now)? } else { HashMap::new() };
        let is_line = match request.detail.as_deref() {
            None | Some("full") => false,
            Some("line") => true,
            Some(other) => return Err(Error::invalid("detail", format!("`{other}` is not known"), "use full or line")),
        };
        let hits: Vec<_> = ranked
            .iter()
            .filter_map(|ranked| {
                let outline = store.shelf.outline(ranked.id);
                let memory = store.state.get(ranked.id).or(outline.as_ref())?;
                let mut hit = self.hit(&store, memory, ranked, now);
                if explain {
                    hit.why = Some(self.why(memory, ranked, matched.get(&ranked.id), now));
                }
                Some((ranked.id, hit, outline.and_then(|_| store.shelf.place(ranked.id))))
            })
            .collect();
        // What has faded comes back by `restore`, not by being looked at.
        let is_used = |ranked: &&Ranked| {
            ranked.factors.fit.is_strong()
                && ranked.factors.status == Status::Active
                && store.state.get(ranked.id).is_some()
        };
        let strong: Vec<MemoryId> = ranked.iter().filter(is_used).map(|ranked| ranked.id).collect();
        let is_first_page = request.cursor.is_none();
        let is_wide = filter.is_wide();
        if !found && is_first_page && filter.is_scoped() {
            // What lies in other projects is not shown unasked, but it is said that it is there.
            let everywhere = filter.everywhere();
            let (elsewhere, _) = self.search(&store, &queries, &everywhere, MAX_HITS as usize, now)?;
            let count = elsewhere.iter().filter(|ranked| ranked.factors.fit.is_found()).count();
            if count > 0 {
                let elsewhere = format!(
                    "{count} fitting memories of projects that were not searched: name them in `scope`, or include `all_scopes`"
                );
                notice = Some(notice.map_or(elsewhere.clone(), |notice| format!("{elsewhere}. {notice}")));
            }
        }
        let note_of = |ranked: &Ranked| {
            let note = store.state.get(ranked.id)?.note.clone().filter(NoteRef::is_there)?;
            Some((ranked.id, note))
        };
        let notes: Vec<(MemoryId, NoteRef)> = ranked.iter().filter_map(note_of).collect();
        // Nobody waits for the notes to be read.
        drop(store);
        let filled = hits.into_iter().map(|(id, hit, part)| {
            let hit = self.filled_in(hit, part);
            (id, if is_line { hit.map(first_line) } else { hit })
        });
        let packed = page.pack(filled, is_more);
        let shown = |id: &MemoryId| packed.hits.iter().any(|(shown, _)| shown == id);
        if request.reinforce.unwrap_or(true) && request.as_of.is_none() {
            let used: Vec<MemoryId> = strong.into_iter().filter(shown).collect();
            let contexts = super::reinforce::contexts(request.scope.first().map(String::as_str), Some(&request.tags));
            self.note_uses(&used, &contexts, now);
        }
        if !found && is_first_page && is_wide {
            self.note_miss(&queries, now);
        }
        // What is only nearest needs no second page.
        let cursor = packed.cursor.filter(|_| found || request.cursor.is_some());
        let notes: Vec<NoteRef> = notes.into_iter().filter(|(id, _)| shown(id)).map(|(_, note)| note).collect();
        let notice = notice.or_else(|| self.changed_notes(&notes));
        let notice = match (packed.notice, notice) {
            (Some(packed), Some(notice)) => Some(format!("{packed}. {notice}")),
            (packed, notice) => packed.or(notice),
        };
        let hits = packed.hits.into_iter().map(|(_, hit)| hit).collect();
        Ok(RecallAnswer { found, hits, total, cursor, notice })
    }

    /// Which of the hits' notes are gone or say something else by now: an answer must not pass for the note's text
    /// when it is not. Reading the vault back brings them up to date.
    fn changed_notes(&self, notes: &[NoteRef]) -> Option<String> {
        // Without a vault, as on another machine, the journal's word is all there is.
        if notes.is_empty() || !self.vault.exists() {
            return None;
        }
        let is_stale = |note: &&NoteRef| match self.vault.read(&note.path) {
            Ok(text) => content_hash(text.as_bytes()) != note.hash,
            Err(error) => matches!(error, Error::NotFound { .. }),
        };
        let stale: Vec<&str> = notes.iter().filter(is_stale).map(|note| note.path.as_str()).collect();
        let first = stale.first()?;
        let more = if stale.len() > 1 { format!(" and {} more", stale.len() - 1) } else { String::new() };
        Some(format!(
            "{first}{more} changed or vanished since it was last read: its text may be older here; `ebbmark tidy` reads the vault back"
        ))
    }

    /// Without a query: everything that passes, strongest first.
    fn list(&self, store: &Store, filter: &Filter, limit: usize, now: Timestamp) -> (Vec<Ranked>, u64) {
        let mut ranked: Vec<Ranked> = store
            .state
            .memories()
            .filter_map(|memory| {
                let status = filter.pass(memory, &self.config, now)?;
                Some(Ranked { id: memory.id, factors: self.factors(memory, status, Fit::default(), now) })
            })
            .collect();
        let total = ranked.len() as u64;
        ranked.sort_by(|a, b| b.factors.score.total_cmp(&a.factors.score).then(a.id.cmp(&b.id)));
        ranked.truncate(limit);
        (ranked, total)
    }

    pub(super) fn search(
        &self,
        store: &Store,
        queries: &[&str],
        filter: &Filter,
        limit: usize,
        now: Timestamp,
    ) -> Result<(Vec<Ranked>, u64)> {
        // The order of the first hits is the same however many are asked for.
        let (wanted, limit) = (limit, limit.max(FOLLOWED_HITS));
        let fitted = self.fitted(store, queries, now)?;
        let matched = fitted.iter().map(|fitted| fitted.matched).max().unwrap_or_default();
        let mut ranked: Vec<Ranked> = Vec::new();
        let (mut phrases, mut passed) = (0, 0);
        for Candidate { total, slot, wording } in in_order(store, &fitted) {
            let Some(id) = store.id_at(slot) else { continue };
            let fitted = &fitted[usize::from(wording)];
            let has_phrase = fitted.question.has_phrase() && phrases < MAX_PHRASES;
            let best = Factors::best_rank(if has_phrase { total + PHRASE_WEIGHT } else { total });
            if passed == MAX_RANKED || (ranked.len() >= limit && ranked[limit - 1].factors.rank() >= best) {
                break;
            }
            let mut fit = fitted.of(&store.shapes, &store.lengths, slot);
            let (factors, dated) = match store.state.get(id) {
                Some(memory) => {
                    let Some(status) = filter.pass(memory, &self.config, now) else { continue };
                    if has_phrase {
                        phrases += 1;
                        fit.phrase = fitted.question.phrase(&memory.text);
                    }
                    (self.factors(memory, status, fit, now), Some(memory.dated()))
                }
                // What a person wrote does not ebb; of equal fits the memory comes first.
                None if store.shelf.outline(id).is_some_and(|outline| filter.passes_part(&outline)) => {
                    (Factors { fit, score: 1.0, usual: 1.0, level: 1.0, status: Status::Active }, None)
                }
                None => continue,
            };
            passed += 1;
            let candidate = Ranked { id, factors };
            insert(store, &mut ranked, candidate, dated, limit);
        }
        self.hop(store, &fitted, filter, &mut ranked, limit, now)?;
        // What shares no word is noise beside what fits far better.
        let floor = ranked.first().map_or(0.0, |best| best.factors.rank() * NOISE_BELOW);
        ranked.retain(|ranked| ranked.factors.fit.lexical > 0.0 || ranked.factors.rank() >= floor);
        ranked.truncate(wanted);
        let total = matched.max(ranked.len()) as u64;
        Ok((ranked, total))
    }

    /// One memory with all that ranks it, whether it passes any filter or not.
    pub(super) fn ranked_for(
        &self,
        store: &Store,
        queries: &[&str],
        memory: &Memory,
        now: Timestamp,
    ) -> Result<Ranked> {
        let slot = store.slot_of(memory.id).unwrap_or_default();
        let fits = self.fitted(store, queries, now)?.into_iter().map(|fitted| {
            let phrase = fitted.question.phrase(&memory.text);
            Fit { phrase, ..fitted.of(&store.shapes, &store.lengths, slot) }
        });
        let best = fits.reduce(|best, other| if other.total() > best.total() { other } else { best });
        let status = memory.status(&self.config, now);
        Ok(Ranked { id: memory.id, factors: self.factors(memory, status, best.unwrap_or_default(), now) })
    }

    /// Each wording of the need, with how well all memories fit it.
    fn fitted(&self, store: &Store, queries: &[&str], now: Timestamp) -> Result<Vec<Fitted>> {
        let mut scorer = self.scorer();
        let fitted = queries.iter().map(|query| store.fit(query, now, &self.time_zone, &mut scorer)).collect();
        self.put_scorer(scorer);
        fitted
    }

    pub(super) fn factors(&self, memory: &Memory, status: Status, fit: Fit, now: Timestamp) -> Factors {
        let score = memory.trace(&self.config).score(&self.config.decay, now);
        let usual = memory.profile(&self.config).strength;
        Factors { fit, score, usual, level: memory.level.weight(), status }
    }

    /// The words that each of the few final hits matched.
    pub(super) fn explain(
        &self,
        store: &Store,
        queries: &[&str],
        ranked: &[Ranked],
        now: Timestamp,
    ) -> Result<HashMap<MemoryId, BTreeMap<String, f64>>> {
        let places: Vec<(MemoryId, Slot)> =
            ranked.iter().filter_map(|ranked| Some((ranked.id, store.slot_of(ranked.id)?))).collect();
        let slots: Vec<Slot> = places.iter().map(|(_, slot)| *slot).collect();
        let mut scorer = self.scorer();
        let mut matched: HashMap<MemoryId, BTreeMap<String, f64>> = HashMap::new();
        for query in queries {
            let question = Question::read(query, now, &self.time_zone);
            let explained = store.explained(&question, &slots, &mut scorer)?;
            for ((id, _), words) in places.iter().zip(explained) {
                let known = matched.entry(*id).or_default();
                for (word, share) in words {
                    let best = known.entry(word).or_insert(0.0);
                    *best = best.max(round(f64::from(share)));
                }
            }
        }
        self.put_scorer(scorer);
        Ok(matched)
    }

    pub(super) fn why(
        &self,
        memory: &Memory,
        ranked: &Ranked,
        words: Option<&BTreeMap<String, f64>>,
        now: Timestamp,
    ) -> Why {
        let fit = &ranked.factors.fit;
        let part = |part: f32| round(f64::from(part));
        Why {
            fit: part(fit.total()),
            lexical: part(fit.lexical_part()),
            meaning: part(fit.meaning_part()),
            speaker: part(fit.speaker_part()),
            phrase: part(fit.phrase_part()),
            graph: part(fit.graph_part()),
            date: part(fit.date_part()),
            form: part(fit.form_part()),
            strength: round(ranked.factors.score),
            level: ranked.factors.level,
            standing: round(ranked.factors.standing()),
            idle_days: round(memory.trace(&self.config).idle_days(now)),
            words: words.cloned().unwrap_or_default(),
        }
    }

    fn hit(&self, store: &Store, memory: &Memory, ranked: &Ranked, now: Timestamp) -> Hit {
        let rank = if ranked.factors.fit == Fit::default() { ranked.factors.score } else { ranked.factors.rank() };
        Hit { score: round(rank), status: ranked.factors.status.as_str().into(), ..self.describe(store, memory, now) }
    }

    /// A memory as hits and `open` show it.
    pub(super) fn describe(&self, store: &Store, memory: &Memory, now: Timestamp) -> Hit {
        let trace = memory.trace(&self.config);
        let previously = previous(store, memory.id);
        Hit {
            id: memory.id.to_string(),
            text: memory.text.clone(),
            title: memory.title.clone(),
            kind: memory.current_kind(&self.config).as_str().into(),
            tier: if memory.is_promoted() { "long_term".into() } else { "short_term".into() },
            score: round(trace.score(&self.config.decay, now)),
            created: memory.created,
            happened: memory.happened,
            last_used: (trace.uses() > 0).then(|| trace.last_used()),
            tags: memory.tags.clone(),
            entities: memory.entities.clone(),
            scope: memory.scope.clone(),
            note: memory.note.as_ref().filter(|note| note.is_there()).map(|note| note.path.clone()),
            status: memory.status(&self.config, now).as_str().into(),
            previously,
            superseded_by: memory.superseded.map(|superseded| superseded.by.to_string()),
            conflicts: store.conflicts_of(memory.id, now),
            source: memory.sources.first().cloned(),
            trusted: (!memory.is_trusted()).then_some(false),
            why: None,
        }
    }
}

/// Puts a candidate in its place; of equal ranks the later one comes first, then the smaller id.
pub(super) fn insert(
    store: &Store,
    ranked: &mut Vec<Ranked>,
    candidate: Ranked,
    dated: Option<Timestamp>,
    limit: usize,
) {
    let place = ranked.partition_point(|better| {
        let order = better.factors.rank().total_cmp(&candidate.factors.rank());
        order.then(store.state.get(better.id).map(Memory::dated).cmp(&dated)).then(candidate.id.cmp(&better.id)).is_ge()
    });
    if place < limit {
        ranked.insert(place, candidate);
        ranked.truncate(limit);
    }
}

/// The wording that a memory fits best, where it fits any and its total reaches `least`.
#[inline]
fn best_wording(store: &Store, fitted: &[Fitted], slot: Slot, least: f32) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    for (fitted, wording) in fitted.iter().zip(0..) {
        if !fitted.may_reach(slot, least) || store.lengths.get(slot).is_none() {
            continue;
        }
        let fit = fitted.of(&store.shapes, &store.lengths, slot);
        let total = fit.total();
        if total >= least && fit.is_any() && best.is_none_or(|best| total > best.total) {
            best = Some(Candidate { total, slot, wording });
        }
    }
    best
}

/// What a memory replaced, and what that had replaced, newest first.
fn previous(store: &Store, id: MemoryId) -> Vec<Previous> {
    let mut previous = Vec::new();
    let mut next = vec![id];
    while let Some(newer) = next.pop() {
        for older in store.state.superseded_by(newer) {
            next.push(older.id);
            // What a consolidated memory was made of is no less true than it.
            if store.state.says(newer, CONSOLIDATED_FROM, older.id) {
                continue;
            }
            let until = older.valid_until.or(older.superseded.map(|superseded| superseded.at)).unwrap_or(older.created);
            previous.push(Previous { id: older.id.to_string(), text: older.text.clone(), until });
        }
    }
    previous.sort_by(|a, b| b.until.cmp(&a.until).then(a.id.cmp(&b.id)));
    previous.truncate(MAX_PREVIOUS);
    previous
}

/// The cheap form: id, first line, date.
pub(super) fn first_line(hit: Hit) -> Hit {
    Hit {
        text: super::say::first_line(&hit.text),
        title: None,
        last_used: None,
        tags: Vec::new(),
        entities: Vec::new(),
        previously: Vec::new(),
        source: None,
        ..hit
    }
}
