//! Statements by the name of an attribute: "the deadline of the draft is 3 May", "Priya is the owner of the API".

use super::Slot;
use super::rules::{Inflection, Noun, Owner, Role, Row};
use super::spaced::{Reading, Token, is_stop, plain};
use super::subject::{modifiers, person, possessor, thing};
use super::value::{Form, is_article};

/// Verbs of "the price rose from 3 to 4 euros".
const CHANGES: &[&str] = &[
    "changed",
    "moved",
    "went",
    "rose",
    "dropped",
    "fell",
    "grew",
    "increased",
    "decreased",
    "raised",
    "lowered",
    "set",
    "bumped",
    "updated",
    "pushed",
    "postponed",
    "shifted",
    "switched",
];
/// What stands before a time or a day.
const BEFORE_TIMES: &[&str] = &["at", "on", "um", "am", "a", "el", "le"];
/// Verbs that place an event.
const HAPPENS: &[&str] = &["starts", "begins", "happens", "beginnt", "startet", "empieza", "commence"];

impl<'r, 't> Reading<'r, 't> {
    /// The slots of a statement that has the name of an attribute at `at`.
    pub(super) fn of_noun(tokens: &'r [Token<'t>], at: usize, noun: &'static Noun) -> Option<Vec<Slot>> {
        let reading = Reading::new(tokens, noun.attribute, noun.language, Row::default())?;
        let compound = tokens.get(at)?.norm.strip_prefix("lieblings").filter(|rest| noun.favourite && !rest.is_empty());
        let has_words = noun.words.iter().enumerate().all(|(offset, word)| {
            tokens.get(at + offset).is_some_and(|token| token.norm == *word || compound.is_some())
        });
        let end = at + noun.words.len();
        let (left, right) = (tokens.get(..at)?, tokens.get(end..)?);
        if !has_words {
            return None;
        }
        let compound = compound.map(str::to_owned);
        reading.stated(left, right, end, noun, compound).or_else(|| {
            let reading = || Reading::new(tokens, noun.attribute, noun.language, Row::default());
            if noun.kept || noun.favourite {
                return None;
            }
            reading()?.value_first(left, right, noun).or_else(|| reading()?.used_as(left, end, noun))
        })
    }

    /// "NAME of X is VALUE", "X's NAME: VALUE", "X NAME moved from OLD to VALUE".
    fn stated(
        mut self,
        left: &'r [Token<'t>],
        right: &'r [Token<'t>],
        end: usize,
        noun: &Noun,
        compound: Option<String>,
    ) -> Option<Vec<Slot>> {
        let is_verb = |token: &Token| {
            token.norm == ":"
                || self.grammar.is.contains(&token.norm.as_str())
                || token.is(CHANGES)
                || token.is(HAPPENS)
        };
        let verb = right.iter().position(is_verb)?;
        let mut between = right.get(..verb)?;
        // "has been moved to", "was raised to".
        if right.get(verb)?.is(CHANGES) {
            while let Some((_, shorter)) = between.split_last().filter(|(last, _)| last.is(&["has", "been", "was"])) {
                between = shorter;
            }
        }
        let (owner, telling) = self.owner(left, noun)?;
        let mut belongs = None;
        match between.split_first() {
            None => {}
            Some(_) if noun.kept || noun.favourite => {
                let plain = |word: &Token| !word.is_mark() && !is_stop(word);
                (between.len() <= 6 && between.iter().all(plain)).then_some(())?;
            }
            Some((of, rest)) if self.grammar.of.contains(&of.norm.as_str()) => {
                belongs = Some(person(rest, self.language).or_else(|| thing(rest, self.language))?);
            }
            Some(_) => return None,
        }
        let own_words = if noun.kept { noun.words.join(" ") } else { String::new() };
        let between = if belongs.is_none() { plain(between) } else { String::new() };
        let of_what = [telling, compound.unwrap_or_default(), belongs.clone().unwrap_or_default(), own_words, between];
        if noun.favourite && of_what.iter().all(String::is_empty) {
            return None;
        }
        let owner = owner.unwrap_or_else(|| self.usual_owner(&of_what[0], belongs.is_some()));
        self.before.subject = subject_of(std::iter::once(owner).chain(of_what));
        self.at = end + verb + 1;
        let token = right.get(verb)?;
        let is_place_of_event = noun.kept && token.is(HAPPENS);
        if token.is(CHANGES) {
            self.before.changed = true;
            return self.changed(noun.form);
        }
        if token.is(HAPPENS) && !is_place_of_event {
            return None;
        }
        self.copula()?;
        let is_time = matches!(noun.form, Form::Clock | Form::Date | Form::List("weekday"));
        if is_time && self.tokens.get(self.at).is_some_and(|token| token.is(BEFORE_TIMES)) {
            self.at += 1;
        }
        if self.tokens.get(self.at).is_some_and(|token| token.is(CHANGES)) {
            self.at += 1;
            self.before.changed = true;
            return self.changed(noun.form);
        }
        self.skip_article(&[]);
        self.capture(Role::Value, noun.form, None)?;
        self.finish()
    }

    /// What may stand between "is" and the value.
    fn copula(&mut self) -> Option<()> {
        loop {
            let word = self.tokens.get(self.at)?.norm.as_str();
            let next = self.tokens.get(self.at + 1).map_or("", |token| token.norm.as_str());
            match word {
                "not" | "nicht" => self.before.not = true,
                "no" if next == "longer" => {
                    self.before.ended = true;
                    self.at += 1;
                }
                word if self.grammar.changed.contains(&word) => self.before.changed = true,
                word if self.grammar.now.contains(&word) => {}
                _ => return Some(()),
            }
            self.at += 1;
        }
    }

    /// "from OLD to VALUE" or "to VALUE".
    fn changed(mut self, form: Form) -> Option<Vec<Slot>> {
        self.row.event = true;
        let to = [("to".to_owned(), Inflection::Any)];
        if self.tokens.get(self.at)?.norm == "from" {
            self.at += 1;
            self.capture(Role::Old, form, Some(&to))?;
        }
        self.skip_article(&to);
        (self.tokens.get(self.at)?.norm == "to").then_some(())?;
        self.at += 1;
        self.skip_article(&[]);
        self.capture(Role::Value, form, None)?;
        self.finish()
    }

    /// "VALUE is the NAME of X", "VALUE is her NAME".
    fn value_first(mut self, left: &'r [Token<'t>], right: &'r [Token<'t>], noun: &Noun) -> Option<Vec<Slot>> {
        let is = left.iter().position(|token| self.grammar.is.contains(&token.norm.as_str()))?;
        let (value, mut rest) = (left.get(..is)?, left.get(is + 1..)?);
        while let Some((_, after)) =
            rest.split_first().filter(|(first, _)| self.grammar.changed.contains(&first.norm.as_str()))
        {
            self.before.changed = true;
            rest = after;
        }
        let first = rest.first()?;
        let is_definite = first.norm == "the"
            || possessor(first, self.language).is_some()
            || rest.iter().any(|word| word.norm == "'s");
        if !is_definite || !noun.form.accepts(value) || noun.form != Form::Name {
            return None;
        }
        let (owner, telling) = self.owner(rest, noun)?;
        let belongs = match right.split_first() {
            None => None,
            Some((of, rest)) if self.grammar.of.contains(&of.norm.as_str()) => {
                Some(person(rest, self.language).or_else(|| thing(rest, self.language))?)
            }
            Some(_) => return None,
        };
        let owner = owner.unwrap_or_else(|| self.usual_owner(&telling, belongs.is_some()));
        self.before.subject = subject_of([owner, telling, belongs.unwrap_or_default()]);
        self.captures.push((Role::Value, value));
        self.at = self.tokens.len();
        self.finish()
    }

    /// "X uses VALUE as its NAME".
    fn used_as(mut self, left: &'r [Token<'t>], end: usize, noun: &Noun) -> Option<Vec<Slot>> {
        let verb = left.iter().position(|token| token.is(&["uses", "use", "using"]))?;
        let role = left.iter().rposition(|token| token.norm == "as").filter(|role| *role > verb)?;
        let inflection = match left.get(verb)?.norm.as_str() {
            "uses" => Inflection::Third,
            "use" => Inflection::Plain,
            _ => Inflection::Ing,
        };
        self.before = self.read_before(left.get(..verb)?, inflection, false)?;
        let value = left.get(verb + 1..role)?;
        let whose = left.get(role + 1..)?;
        let telling = match whose.split_first() {
            Some((first, rest))
                if is_article(first) || first.norm == "its" || possessor(first, noun.language).is_some() =>
            {
                rest
            }
            _ => whose,
        };
        let (telling, _) = modifiers(telling)?;
        if !noun.form.accepts(value) {
            return None;
        }
        if !telling.is_empty() {
            self.before.subject = format!("{} {telling}", self.before.subject);
        }
        self.captures.push((Role::Value, super::value::without_article(value)));
        self.at = end;
        self.finish()
    }

    /// Whose it is where nobody is named: the user's, unless a thing is told by other words.
    fn usual_owner(&self, telling: &str, belongs: bool) -> String {
        let is_user = match self.attribute.owner {
            Owner::Person => !belongs,
            Owner::Any => !belongs && telling.is_empty(),
            Owner::Thing => false,
        };
        if is_user { "user".to_owned() } else { String::new() }
    }

    /// Whose it is, where that is said, and the words that tell it from others.
    fn owner(&mut self, words: &[Token], noun: &Noun) -> Option<(Option<String>, String)> {
        let (owner, rest) = if let Some(at) = words.iter().rposition(|word| word.norm == "'s") {
            let owner = words.get(..at)?;
            (Some(person(owner, noun.language).or_else(|| thing(owner, noun.language))?), words.get(at + 1..)?)
        } else if let Some((first, rest)) = words.split_first() {
            match possessor(first, noun.language) {
                Some(owner) => (Some(owner.to_owned()), rest),
                None if is_article(first) => (None, rest),
                None => (None, words),
            }
        } else {
            (None, words)
        };
        let (telling, is_new) = modifiers(rest)?;
        self.before.changed |= is_new;
        Some((owner.filter(|owner| !owner.is_empty()), telling))
    }
}

fn subject_of(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
