//! What happened to a memory, as the journal tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::config::Config;
use crate::journal::Told;
use crate::memory::{By, Line, Op, State};

/// One step in a memory's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// remembered, revised, used, promoted, edited in the vault, forgotten, restored …
    pub what: String,
    /// The text from then on, where it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The steps that the lines tell, in their order.
pub(super) fn history(mut lines: Vec<Told>, config: &Config) -> Vec<HistoryEntry> {
    lines.sort_by(|a, b| {
        let key = |told: &Told| (told.line.order(), told.number, told.crc);
        key(a).cmp(&key(b)).then_with(|| a.replica.cmp(&b.replica))
    });
    // A copied journal tells nothing twice.
    lines.dedup_by(|a, b| (a.number, a.crc, &a.replica) == (b.number, b.crc, &b.replica));
    let mut state = State::default();
    let mut entries = Vec::new();
    for told in lines {
        let (at, what) = (told.line.at, what(&told.line));
        let id = told.line.id;
        let kind = |state: &State| Some(state.get(id?)?.current_kind(config));
        let before = kind(&state);
        let has_kind = told.line.kind.is_some();
        let text = told.line.text.clone();
        state.apply(told.line, &told.replica, told.number, told.crc);
        let after = kind(&state);
        entries.push(HistoryEntry { at, what, text });
        if let (Some(before), Some(after)) = (before, after)
            && before != after
            && !has_kind
        {
            let uses = id.and_then(|id| state.get(id)).map_or(0, |memory| memory.trace(config).uses());
            let what = format!("became an {after}: used {uses} times as a {before}");
            entries.push(HistoryEntry { at, what, text: None });
        }
    }
    entries
}

fn what(line: &Line) -> String {
    match line.op {
        Op::Remember if line.again => "remembered again".into(),
        Op::Remember => "remembered".into(),
        Op::Use => line.how.clone().unwrap_or_else(|| "used".into()),
        Op::Promote => format!("promoted to {}", line.path.as_deref().unwrap_or("the vault")),
        Op::Note if line.gone => "its note vanished".into(),
        Op::Note if line.by == Some(By::Person) => format!("edited in the vault: {}", changed_fields(line).join(", ")),
        Op::Note if changed_fields(line).is_empty() => "note refreshed".into(),
        Op::Revise | Op::Note => format!("revised: {}", changed_fields(line).join(", ")),
        Op::Forget => "forgotten".into(),
        Op::Restore => "restored".into(),
        Op::Purge => "purged".into(),
        _ => "something this version does not know".into(),
    }
}

/// Names of the fields that a line sets or clears.
pub(super) fn changed_fields(line: &Line) -> Vec<&str> {
    let set = [
        ("text", line.text.is_some()),
        ("title", line.title.is_some()),
        ("kind", line.kind.is_some()),
        ("level", line.level.is_some()),
        ("tags", line.tags.is_some()),
        ("entities", line.entities.is_some()),
        ("keywords", line.keywords.is_some()),
        ("scope", line.scope.is_some()),
        ("happened", line.happened.is_some()),
        ("valid_until", line.valid_until.is_some()),
        ("strength", line.strength.is_some()),
        ("pinned", line.pinned.is_some()),
        ("trusted", line.trusted.is_some()),
    ];
    let set = set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name);
    set.chain(line.clear.iter().map(String::as_str)).collect()
}
