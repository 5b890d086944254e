//! Inspect: how memory stands, without changing anything.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::about::{EntitiesAnswer, EntityAnswer};
use super::doctor::Health;
use super::due::DueAnswer;
use super::graph::{GraphAnswer, PathAnswer};
use super::misses::Miss;
use super::remember::round;
use super::{Engine, lenient};
use crate::clock::Timestamp;
use crate::config::Durability;
use crate::error::{Error, Result};
use crate::git::Git;
use crate::memory::{Memory, Status};

/// Days after which an unused promoted memory counts as dead knowledge.
const DEAD_AFTER_DAYS: f64 = 30.0;
/// What can be looked at, for whoever asked for something else.
const VIEWS: &str = "use health, stats, overview, faded, due, entities, entity, graph or path";
/// Queries without an answer that are shown.
const MISSES_SHOWN: usize = 20;

/// What to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Every degraded state and what to do.
    Health,
    /// Counts.
    #[default]
    Stats,
    /// What is known, by kind, strongest first.
    Overview,
    /// What has faded, and why.
    Faded,
    /// What is worth a look: nearly faded, or valuable and long unused.
    Due,
    /// Who and what memories are about.
    Entities,
    /// What is known of one of them.
    Entity,
    /// What hangs on something, or what matters most.
    Graph,
    /// How two things hang together.
    Path,
}

/// A request to inspect.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InspectRequest {
    /// stats if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// Entries of a list, 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub limit: Option<u32>,
    /// `faded`: only what faded in the last days, as 7 for a week.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub days: Option<u32>,
    /// Id or name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Other end of a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// 1 to 4 steps.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub depth: Option<u32>,
    /// As in recall.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::count")]
    pub budget_tokens: Option<u32>,
    /// Projects besides global and those of the configuration, of which the graph's views show memories.
    #[serde(skip)]
    #[schemars(skip)]
    pub scope: Vec<String>,
}

impl InspectRequest {
    /// A view with the defaults.
    pub fn of(view: View) -> Self {
        InspectRequest { view: Some(view), ..InspectRequest::default() }
    }
}

/// Counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Memories that are recalled.
    pub active: u64,
    /// Of these, on their way out.
    pub fading: u64,
    /// Hidden because their strength ebbed away.
    pub faded: u64,
    /// Hidden because their notes were deleted in the vault.
    #[serde(default)]
    pub vanished: u64,
    /// Replaced by newer ones, or past their date.
    pub superseded: u64,
    /// Forgotten and still restorable.
    pub forgotten: u64,
    /// With a note in the vault.
    pub promoted: u64,
    /// Short-term memories for each promoted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_pressure: Option<f64>,
    /// Promoted and unused for 30 days.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead_knowledge: Vec<String>,
    /// Active memories by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Lines in all journals.
    pub journal_lines: u64,
    /// Bytes in all journals.
    pub journal_bytes: u64,
    /// Memories that the index does not hold yet: they are searched all the same.
    pub not_indexed: u64,
    /// Memories whose meaning is known, of those that are recalled: 0 to 1. Absent where meanings do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_coverage: Option<f64>,
    /// The last queries for which nothing was found, newest first, where `[recall] keep_misses` keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_misses: Vec<Miss>,
    /// Notes of the person's own that are recalled too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_notes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A faded memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FadedMemory {
    /// Its id.
    pub id: String,
    /// Its text, shortened.
    pub text: String,
    /// Its kind.
    pub kind: String,
    /// Its score now.
    pub score: f64,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// Why.
    pub why: String,
}

/// What has faded, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FadedAnswer {
    /// How many in all.
    pub total: u64,
    /// The newest ones.
    pub faded: Vec<FadedMemory>,
}

/// Memories of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewKind {
    /// The kind.
    pub kind: String,
    /// How many are active.
    pub count: u64,
    /// The strongest, as `id text`.
    pub strongest: Vec<String>,
}

/// What an inspection shows; which field is there depends on the view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InspectAnswer {
    /// View `health`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// View `stats`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<Stats>,
    /// View `overview`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Vec<OverviewKind>>,
    /// View `faded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faded: Option<FadedAnswer>,
    /// View `due`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueAnswer>,
    /// View `entities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub entities: Option<EntitiesAnswer>,
    /// View `entity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub entity: Option<EntityAnswer>,
    /// View `graph`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub graph: Option<GraphAnswer>,
    /// View `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub path: Option<PathAnswer>,
    /// Why it may be less than there is; view `health` says all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub notice: Option<String>,
}

/// Where everything is, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Where {
    /// The home.
    pub home: PathBuf,
    /// Journal files of all machines.
    pub journals: Vec<PathBuf>,
    /// This machine's replica id, once it has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<String>,
    /// The vault.
    pub vault: PathBuf,
    /// Whether the vault is laid out.
    pub vault_exists: bool,
    /// The configuration file.
    pub config: PathBuf,
    /// The derived index: safe to delete.
    pub cache: PathBuf,
    /// git in the vault: the branch, or why there is none.
    pub git: String,
    /// When a write is acknowledged: `always` once it is on disk, `interval` before.
    pub durability: Durability,
    /// Keys of the configuration that are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Engine {
    /// Looks at memory. Never counts as use.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be read; of the views of the graph [`Error::Invalid`] for a name of which
    /// nothing is known, and [`Error::Ambiguous`].
    pub fn inspect(&self, request: &InspectRequest) -> Result<InspectAnswer> {
        let now = self.clock.now();
        self.refresh_at(now)?;
        let limit = request.limit.unwrap_or(50).clamp(1, 1000) as usize;
        let mut answer = InspectAnswer::default();
        let view = request.view.unwrap_or_default();
        if view != View::Health {
            answer.notice = self.notice(now);
        }
        match view {
            View::Health => answer.health = Some(self.health(now)?),
            View::Stats => answer.stats = Some(self.stats(now)),
            View::Overview => answer.overview = Some(self.overview(now, limit)),
            View::Faded => answer.faded = Some(self.faded(now, request.days, limit)),
            View::Due => answer.due = Some(self.due(now, limit)),
            View::Entities => answer.entities = Some(self.entities(request, now)?),
            View::Entity => answer.entity = Some(self.entity(request, now)?),
            View::Graph => answer.graph = Some(self.graph(request, now)?),
            View::Path => answer.path = Some(self.path(request, now)?),
        }
        Ok(answer)
    }

    fn stats(&self, now: Timestamp) -> Stats {
        let files = self.journal.files();
        let mut misses = self.recent_misses();
        misses.reverse();
        misses.truncate(MISSES_SHOWN);
        let store = self.store();
        let (mut active, mut fading, mut faded, mut vanished) = (0, 0, 0, 0);
        let (mut superseded, mut promoted) = (0, 0);
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let mut dead: Vec<&Memory> = Vec::new();
        for memory in store.state.memories() {
            let trace = memory.trace(&self.config);
            match memory.status(&self.config, now) {
                Status::Active => {
                    active += 1;
                    *kinds.entry(memory.current_kind(&self.config).as_str().into()).or_default() += 1;
                    if !memory.is_kept_by_rule(now) && trace.is_fading(&self.config.decay, now) {
                        fading += 1;
                    }
                }
                Status::Faded => faded += 1,
                Status::Vanished => vanished += 1,
                Status::Superseded | Status::Forgotten => superseded += 1,
            }
            if memory.is_promoted() {
                promoted += 1;
                if trace.idle_days(now) > DEAD_AFTER_DAYS {
                    dead.push(memory);
                }
            }
        }
        dead.sort_by_key(|memory| (memory.created, memory.id));
        let short_term = active - promoted.min(active);
        Stats {
            active,
            fading,
            faded,
            vanished,
            superseded,
            forgotten: store.state.all_forgotten().count() as u64,
            promoted,
            compression_pressure: (promoted > 0).then(|| round(short_term as f64 / promoted as f64)),
            dead_knowledge: dead
                .iter()
                .take(20)
                .map(|memory| format!("{} {}", memory.id, super::say::short(&memory.text)))
                .collect(),
            kinds,
            journal_lines: files.iter().map(|file| file.lines).sum(),
            journal_bytes: files.iter().map(|file| file.bytes).sum(),
            not_indexed: store.without_document() as u64,
            vector_coverage: store.vector_coverage().map(round),
            recent_misses: misses,
            own_notes: store.shelf.len() as u64,
        }
    }

    pub(super) fn faded_count(&self, now: Timestamp) -> u64 {
        let store = self.store();
        store.state.memories().filter(|memory| memory.status(&self.config, now) == Status::Faded).count() as u64
    }

    fn faded(&self, now: Timestamp, days: Option<u32>, limit: usize) -> FadedAnswer {
        let store = self.store();
        let is_of_days = |memory: &FadedMemory| {
            days.zip(memory.since).is_none_or(|(days, since)| now.days_since(since) <= f64::from(days))
        };
        let is_faded = |memory: &&Memory| memory.status(&self.config, now) == Status::Faded;
        let mut faded: Vec<FadedMemory> = store
            .state
            .memories()
            .filter(is_faded)
            .map(|memory| {
                let trace = memory.trace(&self.config);
                let why = format!(
                    "{} of strength {}, used {} times, last {} days ago: its score is below {}",
                    memory.current_kind(&self.config),
                    round(trace.strength),
                    trace.uses(),
                    trace.idle_days(now).round(),
                    self.config.decay.fade_below
                );
                FadedMemory {
                    id: memory.id.to_string(),
                    text: super::say::short(&memory.text),
                    kind: memory.current_kind(&self.config).as_str().into(),
                    score: round(trace.score(&self.config.decay, now)),
                    since: trace.fades_at(&self.config.decay),
                    why,
                }
            })
            .filter(is_of_days)
            .collect();
        faded.sort_by(|a, b| b.since.cmp(&a.since).then(a.id.cmp(&b.id)));
        let total = faded.len() as u64;
        faded.truncate(limit);
        FadedAnswer { total, faded }
    }

    fn overview(&self, now: Timestamp, limit: usize) -> Vec<OverviewKind> {
        let store = self.store();
        let mut by_kind: BTreeMap<&str, Vec<(f64, &Memory)>> = BTreeMap::new();
        let active = store.state.memories().filter(|memory| memory.status(&self.config, now) == Status::Active);
        for memory in active {
            let strength_now = memory.trace(&self.config).score(&self.config.decay, now);
            by_kind.entry(memory.current_kind(&self.config).as_str()).or_default().push((strength_now, memory));
        }
        let each = (limit / by_kind.len().max(1)).max(1);
        by_kind
            .into_iter()
            .map(|(kind, mut memories)| {
                memories.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
                let strongest = memories.iter().take(each);
                let strongest =
                    strongest.map(|(_, memory)| format!("{} {}", memory.id, super::say::short(&memory.text)));
                OverviewKind { kind: kind.into(), count: memories.len() as u64, strongest: strongest.collect() }
            })
            .collect()
    }

    /// Where everything is. Reads the journal, writes nothing.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be read.
    pub fn whereabouts(&self) -> Result<Where> {
        self.refresh()?;
        let git = if self.config.git.mode == crate::config::GitMode::Off {
            "off in config.toml".to_owned()
        } else if !self.vault.exists() {
            "comes with the vault".to_owned()
        } else {
            match Git::open(self.vault.root()) {
                Err(no_git) => no_git.to_string(),
                Ok(git) => match git.branch() {
                    Ok(Some(branch)) => format!("branch {branch}"),
                    Ok(None) => "no branch is checked out: nothing is committed".to_owned(),
                    Err(error) => error.to_string(),
                },
            }
        };
        Ok(Where {
            home: self.home.clone(),
            journals: self.journal.files().into_iter().map(|file| file.path).collect(),
            replica: self.journal.replica()?,
            vault: self.vault.root().to_owned(),
            vault_exists: self.vault.exists(),
            config: self.home.join("config.toml"),
            cache: self.cache(),
            git,
            durability: self.config.durability,
            warnings: self.warnings.clone(),
        })
    }
}

impl std::str::FromStr for View {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        serde_json::from_value(serde_json::Value::String(text.to_lowercase()))
            .map_err(|_| Error::invalid("view", format!("`{text}` is not known"), VIEWS))
    }
}
