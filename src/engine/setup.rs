//! Setting up: home, vault and repository, and what a home remembers about its vaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Engine;
use crate::clock::{DAY_MS, Timestamp};
use crate::config::GitMode;
use crate::error::{Error, Result};
use crate::files;
use crate::git::{Change, Git, Kind as ChangeKind, NoGit};

/// A request to set up home and vault.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct InitRequest {}

/// What was set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InitAnswer {
    /// The home.
    pub home: PathBuf,
    /// The vault.
    pub vault: PathBuf,
    /// Files written, from the vault's root.
    pub written: Vec<String>,
    /// The git commit that holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why there is no commit, where git was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// `state.json`: what this machine knows of its vaults. Losing it loses the branch check and
/// the preview tokens that were given, nothing else.
#[derive(Debug, Default, Serialize, Deserialize)]
struct HomeState {
    #[serde(default)]
    vaults: BTreeMap<String, VaultState>,
    /// Secret of the preview tokens, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// When a run last found the clock more than a day past everything known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock_jumped: Option<Timestamp>,
    /// What other versions keep here.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct VaultState {
    path: PathBuf,
    branch: String,
}

impl Engine {
    /// Makes home and vault where they are missing. Everything works without it.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Git`]; calling again completes what
    /// is missing.
    pub fn init(&self, _request: &InitRequest) -> Result<InitAnswer> {
        let now = self.clock.now();
        let written = {
            let _guard = self.journal.lock()?;
            let written = self.make_vault(now)?;
            if self.vault.vault_id()?.is_none() {
                self.take_memories()?;
            }
            written
        };
        let changes: Vec<Change> =
            written.iter().map(|path| Change { path: path.clone(), kind: ChangeKind::Write }).collect();
        let (commit, notice) = self.commit(&changes, "Begin the vault", &[], now)?;
        Ok(InitAnswer { home: self.home.clone(), vault: self.vault.root().to_owned(), written, commit, notice })
    }

    /// What names the vault in `state.json`: its id, or its path where it is a person's own.
    pub(super) fn vault_key(&self) -> Result<String> {
        Ok(self.vault.vault_id()?.unwrap_or_else(|| self.vault.root().display().to_string()))
    }

    fn home_state(&self) -> Result<HomeState> {
        let bytes = files::read_if_there(&self.home.join("state.json"))?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Whether the date is to be believed: something was written within a day of it, or an earlier run met it already.
    /// A clock that jumped and a machine that was off look the same; so this run's word is taken by the next one.
    pub(super) fn believes_clock(&self, now: Timestamp) -> Result<bool> {
        if self.journal.is_fresh(now) {
            return Ok(true);
        }
        let _guard = self.journal.lock()?;
        let mut state = self.home_state()?;
        let since = state.clock_jumped.map(|seen| now.millis().saturating_sub(seen.millis()));
        if since.is_some_and(|since| (0..=DAY_MS).contains(&since)) {
            return Ok(true);
        }
        state.clock_jumped = Some(now);
        self.write_home_state(&state)?;
        Ok(false)
    }

    /// The branch of our last commit in this vault: on another one nothing is committed.
    pub(super) fn own_branch(&self) -> Result<Option<String>> {
        let key = self.vault_key()?;
        Ok(self.home_state()?.vaults.remove(&key).map(|vault| vault.branch))
    }

    pub(super) fn remember_branch(&self, branch: &str) -> Result<()> {
        let key = self.vault_key()?;
        let mut state = self.home_state()?;
        let vault = VaultState { path: self.vault.root().to_owned(), branch: branch.to_owned() };
        if state.vaults.get(&key).is_some_and(|known| known.branch == vault.branch && known.path == vault.path) {
            return Ok(());
        }
        state.vaults.insert(key, vault);
        self.write_home_state(&state)
    }

    fn write_home_state(&self, state: &HomeState) -> Result<()> {
        let text = serde_json::to_string_pretty(state).map_err(|error| Error::Internal(error.to_string()))?;
        files::create_folder(&self.home)?;
        files::write_atomic(&self.home.join("state.json"), text.as_bytes())
    }

    /// The secret of this home's preview tokens; empty where none was made yet.
    pub(super) fn preview_secret_or_none(&self) -> Result<Vec<u8>> {
        Ok(self.home_state()?.secret.unwrap_or_default().into_bytes())
    }

    /// The secret of this home's preview tokens, made at the first one. Any process of the home has the same. Where it
    /// is lost, tokens that were given do not fit any more, and a new preview is due.
    pub(super) fn preview_secret(&self) -> Result<Vec<u8>> {
        let _guard = self.journal.lock()?;
        let mut state = self.home_state()?;
        if state.secret.as_ref().is_none_or(|secret| secret.len() != 64) {
            let part = |place: u32| Ok(format!("{:016x}", self.randomness.bits(&format!("preview secret {place}"))?));
            state.secret = Some((0..4).map(part).collect::<Result<String>>()?);
            self.write_home_state(&state)?;
        }
        Ok(state.secret.unwrap_or_default().into_bytes())
    }

    /// Makes the vault at the first promotion, or finishes one whose making was cut short. What a person removed of
    /// the layout since is not made again. Returns what is to be committed.
    pub(super) fn ensure_vault(&self, now: Timestamp) -> Result<Vec<Change>> {
        let written = if self.vault.vault_id()?.is_none() {
            self.refuse_second_vault()?;
            self.refuse_foreign_notes()?;
            self.make_vault(now)?
        } else {
            self.ensure_repository()?;
            Vec::new()
        };
        Ok(written.into_iter().map(|path| Change { path, kind: ChangeKind::Write }).collect())
    }

    /// A vault that was there once is not mounted, or was moved: a new one in its place would be taken for it.
    pub(super) fn refuse_second_vault(&self) -> Result<()> {
        match self.absent_notes() {
            0 => Ok(()),
            count => Err(Error::invalid(
                format!("vault {}", self.vault.root().display()),
                format!("is not there, and {count} of the memories have their notes in it"),
                "mount it, move it back or name it with --vault; `ebbmark init` makes a new one",
            )),
        }
    }

    /// A person's folder may happen to have the name of ours: its notes are not ours to write.
    pub(super) fn refuse_foreign_notes(&self) -> Result<()> {
        match self.foreign_notes() {
            0 => Ok(()),
            count => Err(Error::invalid(
                format!("folder {}", self.vault.root().join(crate::vault::MEMORIES).display()),
                format!("holds {count} notes that no memory is behind, and was not made by Ebbmark"),
                "give that folder another name or use another vault; `ebbmark init` makes memories of them",
            )),
        }
    }

    /// How many memories have notes in a vault that is not there.
    pub(super) fn absent_notes(&self) -> usize {
        if self.vault.has_memories() {
            return 0;
        }
        self.store().state.memories().filter(|memory| memory.is_promoted()).count()
    }

    /// Lays out the vault and its repository, whatever of it is missing. In a folder that a person already uses,
    /// only the folder of memories is made, and no repository. Returns the paths written.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Git`]; calling again completes what
    /// is missing.
    pub(super) fn make_vault(&self, now: Timestamp) -> Result<Vec<String>> {
        if self.vault.is_a_persons()? {
            if !self.vault.has_memories() {
                self.vault.create_memories()?;
                self.take_memories()?;
            }
            return Ok(Vec::new());
        }
        let vault_id = match self.vault.vault_id()? {
            Some(id) => id,
            None => self.randomness.replica_id(&format!("vault\n{}\n{now}", self.vault.root().display()))?,
        };
        let written = self.vault.create(&vault_id)?;
        self.ensure_repository()?;
        Ok(written)
    }

    /// Makes the repository of a vault that has none. What git refuses stops nothing: the commit says that there is no
    /// repository, and the next tidy tries again.
    fn ensure_repository(&self) -> Result<()> {
        if self.config.git.mode == GitMode::Off || Git::open(self.vault.root()) != Err(NoGit::Absent) {
            return Ok(());
        }
        match Git::init(self.vault.root()) {
            Ok(_) | Err(Error::Git { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
