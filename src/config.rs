//! `config.toml`: every number a person may turn, its default and its range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kinds::Kind;

mod decay;
mod presets;

pub use decay::{DecayConfig, DecayFrom, Frequency, KindProfile, Model};
pub use presets::Preset;

/// What `tidy` does with memories that have proved themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromotionMode {
    /// `tidy` promotes what has proved itself.
    #[default]
    Auto,
    /// `tidy` only says what would be promoted.
    Propose,
    /// Only on request.
    Off,
}

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Once it is on disk: a power cut takes nothing that was acknowledged.
    #[default]
    Always,
    /// Once the system has it; it is synced every second or two. Faster, and weaker: a power cut takes what was
    /// acknowledged in the last two seconds. A crash of the program takes nothing.
    Interval,
}

/// `[recall]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecallConfig {
    /// Hits of a reply where the call does not say, 1 to 50.
    pub limit: u32,
    /// Projects that are searched besides global where the call names none.
    pub scopes: Vec<String>,
    /// Whether the best hits lead to what else is known of those whom they are about.
    pub hop: bool,
    /// The last queries without an answer that are kept, for `inspect stats`: 0 to 1,000.
    pub keep_misses: u32,
    /// What finds memories by their meaning: `built-in` (an English table), `off`, or the path of a model2vec
    /// folder or of another table.
    pub model: String,
}

impl Default for RecallConfig {
    fn default() -> Self {
        RecallConfig { limit: 8, scopes: Vec::new(), hop: true, keep_misses: 0, model: "built-in".into() }
    }
}

/// `[entities]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EntitiesConfig {
    /// Whether a new memory gets the names that its text shows, beside the entities that the call gives.
    pub extract: bool,
}

impl Default for EntitiesConfig {
    fn default() -> Self {
        EntitiesConfig { extract: true }
    }
}

/// `[forget]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetConfig {
    /// Days for which a forgotten memory can be restored, 0 to 3,650.
    pub keep_days: f64,
}

impl Default for ForgetConfig {
    fn default() -> Self {
        ForgetConfig { keep_days: 30.0 }
    }
}

/// `[vault]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultConfig {
    /// Days for which a note must be missing before its memory is forgotten, 1 to 3,650.
    pub vanish_days: f64,
    /// Share of the notes that may be missing at once and still count as deleted, 0 to 1.
    pub max_vanish: f64,
    /// As many may always be missing at once, 0 to 1,000,000.
    pub min_vanish: u32,
    /// Which of the person's own notes are recalled too.
    pub index: OwnNotes,
}

impl Default for VaultConfig {
    fn default() -> Self {
        VaultConfig { vanish_days: 30.0, max_vanish: 0.2, min_vanish: 10, index: OwnNotes::None }
    }
}

/// Which of the person's own notes are recalled too; none of them is ever written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "OwnNotesText", into = "OwnNotesText")]
pub enum OwnNotes {
    /// No notes but those of memories: `"none"`.
    #[default]
    None,
    /// All that are not hidden: `"all"`.
    All,
    /// Those in these folders of the vault, paths from its root: `["Projects", "Diary/2026"]`.
    Folders(Vec<String>),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum OwnNotesText {
    Word(String),
    Folders(Vec<String>),
}

impl TryFrom<OwnNotesText> for OwnNotes {
    type Error = String;

    fn try_from(text: OwnNotesText) -> Result<Self, String> {
        match text {
            OwnNotesText::Word(word) if word == "none" => Ok(OwnNotes::None),
            OwnNotesText::Word(word) if word == "all" => Ok(OwnNotes::All),
            OwnNotesText::Word(word) => {
                Err(format!("`{word}` is neither \"none\" nor \"all\"; folders are given as [\"{word}\"]"))
            }
            OwnNotesText::Folders(folders) => {
                let folders: Vec<String> = folders.iter().map(|folder| folder.trim_matches('/').to_owned()).collect();
                match folders
                    .iter()
                    .find(|folder| folder.split('/').any(|part| part.is_empty() || part.starts_with('.')))
                {
                    Some(folder) => Err(format!("`{folder}` is no folder of the vault, or a hidden one")),
                    None if folders.is_empty() => Ok(OwnNotes::None),
                    None => Ok(OwnNotes::Folders(folders)),
                }
            }
        }
    }
}

impl From<OwnNotes> for OwnNotesText {
    fn from(notes: OwnNotes) -> Self {
        match notes {
            OwnNotes::None => OwnNotesText::Word("none".into()),
            OwnNotes::All => OwnNotesText::Word("all".into()),
            OwnNotes::Folders(folders) => OwnNotesText::Folders(folders),
        }
    }
}

impl OwnNotes {
    /// Whether a note at this path is meant.
    pub fn hold(&self, path: &str) -> bool {
        match self {
            OwnNotes::None => false,
            OwnNotes::All => true,
            OwnNotes::Folders(folders) => folders.iter().any(|folder| lies_in(path, folder)),
        }
    }

    /// Whether notes in this folder of the vault, or somewhere below it, may be meant.
    pub fn lead_to(&self, path: &str) -> bool {
        match self {
            OwnNotes::Folders(folders) => {
                let leads = |folder: &String| path == folder || lies_in(path, folder) || lies_in(folder, path);
                folders.iter().any(leads)
            }
            _ => self.hold(path),
        }
    }
}

fn lies_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether the vault is kept in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitMode {
    /// A repository is made with the vault, or the one around it is used.
    #[default]
    Auto,
    /// No git at all.
    Off,
}

/// `[git]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitConfig {
    /// Whether notes are committed.
    pub mode: GitMode,
    /// `Name <address>` of commits where git itself knows no identity.
    pub author: String,
}

impl Default for GitConfig {
    fn default() -> Self {
        GitConfig { mode: GitMode::Auto, author: "Ebbmark <ebbmark@localhost>".into() }
    }
}

impl GitConfig {
    /// Name and address out of `author`.
    pub fn author_parts(&self) -> (String, String) {
        let (name, rest) = self.author.split_once('<').unwrap_or((self.author.as_str(), ""));
        (name.trim().to_owned(), rest.trim_end().trim_end_matches('>').trim().to_owned())
    }
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerConfig {
    /// Whether `serve` does anything by itself: what, says `[upkeep]`.
    pub upkeep: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig { upkeep: true }
    }
}

/// How edits in the vault come to be noticed between two looks at all notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchMode {
    /// The system tells of them; where it does not, as [`WatchMode::Poll`].
    #[default]
    Auto,
    /// The notes are looked at every two seconds.
    Poll,
    /// They are not: the notes are looked at every ten seconds.
    Off,
}

/// `[upkeep]`: what `serve` and `watch` do by themselves, one switch each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpkeepConfig {
    /// Whether new memories are folded into the index.
    pub index: bool,
    /// Whether a person's edits in the vault are read back.
    pub read_back: bool,
    /// Whether it promotes, refreshes the numbers in notes, and commits.
    pub tidy: bool,
    /// Whether this machine's journal is compacted.
    pub compact: bool,
    /// How edits in the vault come to be noticed.
    pub watch: WatchMode,
}

impl Default for UpkeepConfig {
    fn default() -> Self {
        UpkeepConfig { index: true, read_back: true, tidy: true, compact: true, watch: WatchMode::default() }
    }
}

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The vault, where neither `--vault` nor `EBBMARK_VAULT` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault_path: Option<std::path::PathBuf>,
    /// Zone of the dates in notes, like `Europe/Berlin`; the system's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// When a write is acknowledged.
    pub durability: Durability,
    /// What `tidy` does with memories that have proved themselves.
    pub promotion: PromotionMode,
    /// The set of numbers that this file is laid over.
    pub preset: Preset,
    /// The kind of a text that nothing tells the kind of.
    pub default_kind: Kind,
    /// How memories ebb.
    pub decay: DecayConfig,
    /// Dynamics by kind.
    pub kinds: std::collections::BTreeMap<String, KindProfile>,
    /// Recall.
    pub recall: RecallConfig,
    /// Who and what memories are about.
    pub entities: EntitiesConfig,
    /// Forgetting on request.
    pub forget: ForgetConfig,
    /// The vault.
    pub vault: VaultConfig,
    /// Git.
    pub git: GitConfig,
    /// The server.
    pub server: ServerConfig,
    /// What the server does by itself.
    pub upkeep: UpkeepConfig,
    #[serde(skip)]
    profiles: [KindProfile; Kind::ALL.len()],
}

impl Default for Config {
    fn default() -> Self {
        Config::of_preset(Preset::Balanced)
    }
}

/// Keys that are absent from a serialised default but known all the same.
const OPTIONAL_KEYS: [&str; 2] = ["vault_path", "time_zone"];

impl Config {
    /// The configuration of a preset, nothing laid over it.
    pub fn of_preset(preset: Preset) -> Self {
        Config {
            vault_path: None,
            time_zone: None,
            durability: Durability::Always,
            promotion: PromotionMode::default(),
            preset,
            default_kind: preset.default_kind(),
            decay: preset.decay(),
            kinds: Kind::ALL.iter().map(|kind| (kind.as_str().to_owned(), preset.profile(*kind))).collect(),
            recall: RecallConfig::default(),
            entities: EntitiesConfig::default(),
            forget: ForgetConfig::default(),
            vault: VaultConfig::default(),
            git: GitConfig::default(),
            server: ServerConfig::default(),
            upkeep: UpkeepConfig::default(),
            profiles: Kind::ALL.map(|kind| preset.profile(kind)),
        }
    }

    /// Reads `config.toml`. Unknown keys do not stop anything: they come back as warnings with the nearest known key.
    ///
    /// # Errors
    /// [`Error::Invalid`] for text that is not TOML, a value of the wrong type, or a number out of range.
    pub fn read(text: &str) -> Result<(Config, Vec<String>)> {
        let file: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| line_at(text, span.start));
            wrong(line, None, error.message())
        })?;
        let preset = match file.get("preset") {
            None => Preset::default(),
            Some(value) => value.clone().try_into().map_err(|_| {
                wrong(line_of(text, "preset"), Some("preset"), &format!("is none of {}", Preset::names()))
            })?,
        };
        let mut merged = toml::Table::try_from(Config::of_preset(preset))
            .map_err(|error| Error::Internal(format!("default configuration: {error}")))?;
        let mut warnings = Vec::new();
        lay_over(&mut merged, file.clone(), "", &mut warnings);
        let mut config: Config = merged.try_into().map_err(|error: toml::de::Error| match culprit(preset, &file) {
            Some((key, why)) => wrong(line_of(text, &key), Some(&key), &why),
            None => wrong(None, None, error.message()),
        })?;
        config.profiles =
            Kind::ALL.map(|kind| config.kinds.get(kind.as_str()).copied().unwrap_or(preset.profile(kind)));
        config.check().map_err(|(key, why)| wrong(line_of(text, &key), Some(&key), &why))?;
        Ok((config, warnings))
    }

    /// The dynamics of a kind.
    pub fn kind_profile(&self, kind: Kind) -> KindProfile {
        self.profiles[kind as usize]
    }

    /// The key of the first number that is out of range, and why.
    fn check(&self) -> Result<(), (String, String)> {
        let mut ranges: Vec<(String, f64, f64, f64)> = self
            .decay
            .ranges()
            .into_iter()
            .map(|(key, value, low, high)| (format!("decay.{key}"), value, low, high))
            .collect();
        ranges.extend([
            ("forget.keep_days".to_owned(), self.forget.keep_days, 0.0, 3_650.0),
            ("vault.vanish_days".to_owned(), self.vault.vanish_days, 1.0, 3_650.0),
            ("vault.max_vanish".to_owned(), self.vault.max_vanish, 0.0, 1.0),
            ("vault.min_vanish".to_owned(), f64::from(self.vault.min_vanish), 0.0, 1_000_000.0),
            ("recall.limit".to_owned(), f64::from(self.recall.limit), 1.0, 50.0),
            ("recall.keep_misses".to_owned(), f64::from(self.recall.keep_misses), 0.0, 1_000.0),
        ]);
        for (name, profile) in &self.kinds {
            ranges.push((format!("kinds.{name}.strength"), profile.strength, 0.0, 2.0));
            ranges.push((format!("kinds.{name}.half_life_days"), profile.half_life_days, 0.01, 36_500.0));
        }
        for (key, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                return Err((key, format!("{value} is not between {low} and {high}")));
            }
        }
        Ok(())
    }
}

/// What is wrong, by line and key as far as they are known.
fn wrong(line: Option<usize>, key: Option<&str>, why: &str) -> Error {
    let line = line.map_or(String::new(), |line| format!(", line {line}"));
    let key = key.map_or(String::new(), |key| format!(": {key}"));
    Error::invalid(format!("config.toml{line}{key}"), why.trim(), "correct that line; nothing was read or written")
}

/// The line of a byte, counted from 1.
fn line_at(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|byte| *byte == b'\n').count()
}

/// The line where a key like `decay.alpha` has its value.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let whole = toml::de::DeTable::parse(text).ok()?;
    let mut table = whole.get_ref();
    let mut names = key.split('.').peekable();
    while let Some(name) = names.next() {
        let value = table.iter().find(|(known, _)| known.get_ref().as_ref() == name)?.1;
        match value.get_ref() {
            toml::de::DeValue::Table(inner) if names.peek().is_some() => table = inner,
            _ => return Some(line_at(text, value.span().start)),
        }
    }
    None
}

/// The first key whose value alone cannot be read, and why.
fn culprit(preset: Preset, file: &toml::Table) -> Option<(String, String)> {
    leaves(file).into_iter().find_map(|(key, value)| {
        let alone =
            key.rsplit('.').fold(value, |value, name| toml::Table::from_iter([(name.to_owned(), value)]).into());
        let mut merged = toml::Table::try_from(Config::of_preset(preset)).ok()?;
        lay_over(&mut merged, alone.try_into().ok()?, "", &mut Vec::new());
        let error = merged.try_into::<Config>().err()?;
        Some((key, error.message().to_owned()))
    })
}

/// Every key with its value, as `decay.alpha`; a table that is empty is a value.
fn leaves(table: &toml::Table) -> Vec<(String, toml::Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) if !inner.is_empty() => {
                found.extend(leaves(inner).into_iter().map(|(below, value)| (format!("{key}.{below}"), value)));
            }
            value => found.push((key.clone(), value.clone())),
        }
    }
    found
}

/// Lays the person's table over the defaults, key by key; what no default has is unknown.
fn lay_over(base: &mut toml::Table, file: toml::Table, path: &str, warnings: &mut Vec<String>) {
    for (key, value) in file {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let is_known = base.contains_key(&key) || (path.is_empty() && OPTIONAL_KEYS.contains(&key.as_str()));
        if !is_known {
            let nearest = base
                .keys()
                .map(String::as_str)
                .chain(OPTIONAL_KEYS.into_iter().filter(|_| path.is_empty()))
                .map(|known| (strsim::jaro_winkler(known, &key), known))
                .filter(|(likeness, _)| *likeness > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let hint = nearest.map_or(String::new(), |(_, known)| format!("; did you mean `{known}`?"));
            warnings.push(format!("config.toml: `{full}` is not known{hint}"));
            continue;
        }
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => lay_over(inner, value, &full, warnings),
            // A whole number is as good as a fraction.
            (Some(toml::Value::Float(number)), toml::Value::Integer(value)) => *number = value as f64,
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        let (config, warnings) = Config::read("").unwrap();
        assert_eq!(config, Config::default());
        assert!(warnings.is_empty());
    }

    #[test]
    fn keys_are_laid_over_the_preset() {
        let text = "preset = \"mnemex\"\n[decay]\nalpha = 2\n[kinds.fact]\nhalf_life_days = 10\n[git]\nmode = \"off\"\n\
             [upkeep]\nwatch = \"poll\"\n";
        let (config, warnings) = Config::read(text).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(config.decay, DecayConfig { alpha: 2.0, ..Config::of_preset(Preset::Mnemex).decay });
        assert_eq!(config.kind_profile(Kind::Fact), KindProfile { strength: 1.0, half_life_days: 10.0 });
        assert_eq!(config.kind_profile(Kind::Event), KindProfile { strength: 1.0, half_life_days: 3.0 });
        assert_eq!(config.git.mode, GitMode::Off);
        assert_eq!(config.upkeep, UpkeepConfig { watch: WatchMode::Poll, ..UpkeepConfig::default() });
    }

    #[test]
    fn unknown_keys_are_reported_with_the_nearest_known_one() {
        let (_, warnings) =
            Config::read("vault_pth = \"x\"\n[decay]\nalpah = 1\n[kinds.fcat]\nstrength = 1\n[zzz]\n").unwrap();
        assert_eq!(
            warnings,
            [
                "config.toml: `decay.alpah` is not known; did you mean `alpha`?",
                "config.toml: `kinds.fcat` is not known; did you mean `fact`?",
                "config.toml: `vault_pth` is not known; did you mean `vault_path`?",
                "config.toml: `zzz` is not known",
            ]
        );
    }

    #[test]
    fn wrong_values_are_refused_with_their_place() {
        for (text, start) in [
            ("[decay]\nalpha = 99", "config.toml, line 2: decay.alpha: 99 is not between 0.1 and 5"),
            ("\n[decay]\n\nalpha = \"x\"", "config.toml, line 4: decay.alpha: invalid type"),
            ("decay.alpha = 1\ndecay.beta = true", "config.toml, line 2: decay.beta: invalid type"),
            ("# x\npreset = \"nemex\"", "config.toml, line 2: preset: is none of"),
            ("[kinds.fact]\nhalf_life_days = 0", "config.toml, line 2: kinds.fact.half_life_days: 0 is not between"),
            ("[git]\nauthor = \"a\"\nmode = \"on\"", "config.toml, line 3: git.mode: unknown variant"),
            ("decay = 7", "config.toml, line 1: decay: invalid type"),
            ("\nnot toml", "config.toml, line 2: "),
            ("[recall]\nlimit = 0", "config.toml, line 2: recall.limit: 0 is not between 1 and 50"),
            (
                "[kinds.fact]\nhalf_life_days = -3",
                "config.toml, line 2: kinds.fact.half_life_days: -3 is not between 0.01",
            ),
            ("[kinds.fact]\nhalf_life_days = 1e300", "config.toml, line 2: kinds.fact.half_life_days: 1000"),
            (
                "[kinds.fact]\nhalf_life_days = nan",
                "config.toml, line 2: kinds.fact.half_life_days: NaN is not between",
            ),
            (
                "[kinds.fact]\nhalf_life_days = -inf",
                "config.toml, line 2: kinds.fact.half_life_days: -inf is not between",
            ),
            ("[decay]\ngap_hours = 169", "config.toml, line 2: decay.gap_hours: 169 is not between 0 and 168"),
            ("[decay]\ngap_hours = -1", "config.toml, line 2: decay.gap_hours: invalid value"),
            ("[decay]\nfrequency = \"log\"", "config.toml, line 2: decay.frequency: unknown variant"),
            ("[decay]\nfading_age = 11", "config.toml, line 2: decay.fading_age: 11 is not between 0 and 10"),
            ("[decay]\npromote_strength = 3", "config.toml, line 2: decay.promote_strength: 3 is not between 0 and 2"),
            ("default_kind = \"thing\"", "config.toml, line 1: default_kind: unknown variant"),
            ("[upkeep]\nwatch = \"always\"", "config.toml, line 2: upkeep.watch: unknown variant"),
        ] {
            let error = Config::read(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }

    #[test]
    fn own_notes_are_none_all_or_those_of_folders() {
        let read =
            |value: &str| Config::read(&format!("[vault]\nindex = {value}")).map(|(config, _)| config.vault.index);
        assert_eq!(read("\"none\"").unwrap(), OwnNotes::None);
        assert_eq!(read("[]").unwrap(), OwnNotes::None);
        assert_eq!(read("\"all\"").unwrap(), OwnNotes::All);
        let folders = read("[\"Work/2026/\", \"Diary\"]").unwrap();
        assert_eq!(folders, OwnNotes::Folders(vec!["Work/2026".into(), "Diary".into()]));
        for (path, is_held) in
            [("Work/2026/a.md", true), ("Diary/b/c.md", true), ("Work/a.md", false), ("Diary.md", false)]
        {
            assert_eq!(folders.hold(path), is_held, "{path}");
        }
        for (path, may_hold) in
            [("Work", true), ("Work/2026/x", true), ("Diary", true), ("Wor", false), ("Work/2025", false)]
        {
            assert_eq!(folders.lead_to(path), may_hold, "{path}");
        }
        for value in ["\"Work\"", "[\"../x\"]", "[\"\"]", "[\".obsidian\"]", "7"] {
            let error = read(value).unwrap_err().to_string();
            assert!(error.starts_with("config.toml, line 2: vault.index: "), "{value}: {error}");
        }
    }

    #[test]
    fn authors_are_split() {
        let parts = |author: &str| GitConfig { author: author.into(), ..GitConfig::default() }.author_parts();
        assert_eq!(parts("Ana Lima <ana@example.org>"), ("Ana Lima".into(), "ana@example.org".into()));
        assert_eq!(parts("Ana"), ("Ana".into(), String::new()));
    }
}
