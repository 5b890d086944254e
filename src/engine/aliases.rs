//! Aliases: other names of someone or something. `relate Mel alias_of Melanie` says it, `--remove` takes it back. No
//! memory is rewritten: what asks by a name asks by all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Node;
use crate::memory::State;
use crate::words;

/// The relation of another name to the one that stands for it.
pub(super) const ALIAS_OF: &str = "alias_of";

/// Which names stand for others. What is not listed stands for itself.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// By folded name: the name that stands for it, as it was written.
    stands: BTreeMap<String, String>,
    /// By folded name that stands for others: all names, folded, its own first.
    all: BTreeMap<String, Vec<String>>,
    /// Names that others stand for, as they were written.
    written: BTreeMap<String, String>,
    /// By term of a name of one word: the terms of the others.
    terms: BTreeMap<String, Vec<String>>,
}

impl Aliases {
    /// What was said, as it holds now.
    pub(super) fn of(state: &State) -> Self {
        let said = state.edges().map(|(edge, _)| edge).filter(|edge| edge.relation == ALIAS_OF);
        // Said of one name twice, the first by name counts: it must not depend on the order of arrival.
        let mut aliases = Aliases::default();
        let mut next: BTreeMap<String, &str> = BTreeMap::new();
        for edge in said {
            let name = words::fold(&edge.from);
            let written = aliases.written.entry(name.clone()).or_insert_with(|| edge.from.clone());
            *written = written.as_str().min(&edge.from).to_owned();
            let known = next.entry(name).or_insert(&edge.to);
            *known = (*known).min(&edge.to);
        }
        for name in next.keys() {
            let mut way: Vec<(String, &str)> = Vec::new();
            let mut at = name.clone();
            while let Some(to) = next.get(&at) {
                at = words::fold(to);
                if way.iter().any(|(known, _)| *known == at) {
                    break;
                }
                way.push((at.clone(), to));
            }
            // In a circle the first by name stands for all in it.
            let circle = way.iter().position(|(known, _)| *known == at).unwrap_or_default();
            let standing = way.iter().skip(circle).min().filter(|_| next.contains_key(&at)).or(way.last());
            if let Some((key, written)) = standing.filter(|(key, _)| key != name) {
                aliases.stands.insert(name.clone(), (*written).to_owned());
                aliases.all.entry(key.clone()).or_insert_with(|| vec![key.clone()]).push(name.clone());
            }
        }
        for names in aliases.all.values() {
            let terms: Vec<String> = names.iter().filter_map(|name| one_term(name)).collect();
            for term in &terms {
                let others = terms.iter().filter(|other| *other != term).cloned().collect();
                aliases.terms.insert(term.clone(), others);
            }
        }
        aliases
    }

    /// For a term of a query that is a name: the terms of its other names.
    pub(super) fn terms(&self, term: &str) -> &[String] {
        self.terms.get(term).map_or(&[], Vec::as_slice)
    }

    /// The name that stands for one: itself where nothing was said.
    pub(super) fn standing<'n>(&'n self, name: &'n str) -> &'n str {
        if self.stands.is_empty() {
            return name;
        }
        self.stands.get(&words::fold(name)).map_or(name, String::as_str)
    }

    /// All names of what has this name, folded, the one that stands for them first.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let key = words::fold(self.standing(name));
        self.all.get(&key).cloned().unwrap_or_else(|| vec![key])
    }

    /// Other names of what has this name, as they were written.
    pub(super) fn others(&self, name: &str) -> Vec<String> {
        let all = self.all(name);
        all.iter().skip(1).filter_map(|key| self.written.get(key)).cloned().collect()
    }

    /// The entity of that name, or of the one that stands for it.
    pub(super) fn node(&self, name: &str) -> Option<Node> {
        Node::entity(self.standing(name))
    }

    /// These names, each by the one that stands for it, none twice.
    pub(super) fn standing_for_all(&self, names: &[String]) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let standing = names.iter().map(|name| self.standing(name).to_owned());
        standing.filter(|name| seen.insert(words::fold(name))).collect()
    }
}

/// The term of a name of one word.
fn one_term(name: &str) -> Option<String> {
    let mut terms = words::terms(name);
    terms.pop().filter(|_| terms.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::memory::{Line, Op};

    fn aliases(said: &[(&str, &str)]) -> Aliases {
        let mut state = State::default();
        for (number, (from, to)) in (1u64..).zip(said) {
            let line = Line {
                at: Timestamp::from_millis(number as i64),
                from: Some((*from).to_owned()),
                to: Some((*to).to_owned()),
                relation: Some(ALIAS_OF.to_owned()),
                ..Line::new(Op::Relate)
            };
            state.apply(line, "r", number, 0);
        }
        Aliases::of(&state)
    }

    #[test]
    fn one_name_stands_for_all() {
        let known = aliases(&[("Mel", "Melanie"), ("Melly", "Mel"), ("Falcon", "Falcon 2")]);
        for name in ["Mel", "MEL", "Melly", "Melanie"] {
            assert_eq!(words::fold(known.standing(name)), "melanie", "{name}");
            let mut all = known.all(name);
            assert_eq!(all.remove(0), "melanie");
            assert_eq!(all, ["mel", "melly"]);
        }
        assert_eq!((known.standing("Oscar"), known.all("Oscar")), ("Oscar", vec!["oscar".to_owned()]));
        let names = ["Mel", "Oscar", "Melanie"].map(str::to_owned);
        assert_eq!(known.standing_for_all(&names), ["Melanie", "Oscar"]);
    }

    #[test]
    fn circles_and_contrary_words_have_one_outcome() {
        for said in
            [vec![("A", "B"), ("B", "C"), ("C", "A"), ("D", "C")], vec![("D", "C"), ("C", "A"), ("B", "C"), ("A", "B")]]
        {
            let known = aliases(&said);
            for name in ["A", "B", "C", "D"] {
                assert_eq!(known.standing(name), "A", "{name} in {said:?}");
            }
        }
        for said in [[("Mel", "Melanie"), ("Mel", "Melissa")], [("Mel", "Melissa"), ("Mel", "Melanie")]] {
            assert_eq!(aliases(&said).standing("Mel"), "Melanie");
        }
        assert_eq!(aliases(&[("Mel", "mel")]).standing("Mel"), "Mel");
    }
}
