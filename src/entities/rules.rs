//! The table of words, read once.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::EntityKind;
use super::names::Names;
use crate::words::fold;

/// The table; its head explains the form.
pub(super) const TABLE: &str = include_str!("../entities.rules");

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(TABLE));

/// A name after one of `prepositions`, with one of `verbs` before, is of `kind`.
pub(super) struct Cue {
    pub(super) kind: EntityKind,
    pub(super) verbs: FxHashSet<String>,
    /// Empty where the name follows the verb.
    pub(super) prepositions: FxHashSet<String>,
}

#[derive(Default)]
pub(super) struct Rules {
    lists: FxHashMap<&'static str, FxHashSet<String>>,
    /// Names that everyone knows.
    pub(super) common: Names,
    /// Their kinds, by folded name; more than one for "Sofia".
    kinds: FxHashMap<String, Vec<EntityKind>>,
    pub(super) cues: Vec<Cue>,
    /// Lines that were not understood, which a test forbids.
    #[cfg(test)]
    pub(super) bad_lines: Vec<&'static str>,
}

impl Rules {
    fn read(table: &'static str) -> Self {
        let mut rules = Rules::default();
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let understood = rules.line(line).is_some();
            #[cfg(test)]
            rules.bad_lines.extend((!understood).then_some(line));
            #[cfg(not(test))]
            let _: bool = understood;
        }
        rules
    }

    fn line(&mut self, line: &'static str) -> Option<()> {
        if let Some((list, words)) = line.strip_prefix('@').and_then(|line| line.split_once(" = ")) {
            if let Some(kind) = EntityKind::named(list) {
                for name in words.split('|') {
                    self.common.add(name);
                    self.kinds.entry(fold(name)).or_default().push(kind);
                }
            }
            self.lists.insert(list, words.split('|').map(fold).collect());
            return Some(());
        }
        let mut parts = line.split(" > ");
        let kind = EntityKind::named(parts.next()?)?;
        let set = |part: &str| part.split('|').filter(|word| *word != "-").map(fold).collect::<FxHashSet<String>>();
        self.cues.push(Cue { kind, verbs: set(parts.next()?), prepositions: set(parts.next()?) });
        Some(())
    }

    /// Whether a folded word stands in a list.
    pub(super) fn has(&self, list: &str, word: &str) -> bool {
        self.lists.get(list).is_some_and(|words| words.contains(word))
    }

    /// The kind of a name that everyone knows, where it has only one.
    pub(super) fn kind_of(&self, folded: &str) -> Option<EntityKind> {
        match self.kinds.get(folded).map(Vec::as_slice) {
            Some([kind]) => Some(*kind),
            _ => None,
        }
    }

    /// Whether it is a name that everyone knows.
    pub(super) fn is_common(&self, folded: &str) -> bool {
        self.kinds.contains_key(folded)
    }

    /// Whether it begins or joins sentences in a language with spaces.
    pub(super) fn is_function_word(&self, folded: &str) -> bool {
        ["en", "de", "es", "fr"].iter().any(|language| self.has(language, folded))
    }
}
