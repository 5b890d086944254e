//! How well each memory fits a query: its words, its meaning, who says it, when, and the form of a turn.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;

use super::keys::Fnv;
use super::store::Store;
use crate::clock::Timestamp;
use crate::embedding::{Model, Vector, products};
use crate::error::{Error, Result};
use crate::index::Vectors;
use crate::kinds::is_user;
use crate::lexical::{Asked, Hit, Lengths, Matches, Posting, Scorer, Seat, Slot, StandIn};
use crate::memory::Memory;
use crate::question::Question;
use crate::rank::{Fit, LONG_TURN_WORDS, MEANT_FROM, Turn};
use crate::words;

/// What a word counts that is written like one that nobody holds, times their likeness.
const WRITTEN_ALIKE: f32 = 0.7;
/// What a word counts that means nearly the same, times their likeness.
const OF_ONE_MEANING: f32 = 0.5;
/// Words that mean nearly the same as one, at most.
const MOST_OF_ONE_MEANING: usize = 5;
/// What a turn borrows of the meaning of those around it: the one before (twice as much where that asks), the one after,
/// two before, two after.
const MEANING_LENT: [f32; 4] = [0.3, 0.2, 0.15, 0.1];
/// Vectors that are made while a query waits: some milliseconds, and only until all are known.
const MADE_FOR_A_QUERY: usize = if cfg!(test) { 5 } else { 200 };
/// What another name counts of someone who is asked for.
const OF_ONE_NAME: f32 = 0.9;
/// What an answer borrows of its question.
const MEANING_OF_QUESTION: f32 = 0.6;

/// What ranking knows of a memory beside its words.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    /// Number of its speaker, from 1; 0 for none.
    speaker: u32,
    /// Length in words, up to [`LONG_TURN_WORDS`].
    words: u8,
    asks: bool,
    dated: Timestamp,
    /// Hash of its place in a conversation.
    seat: u64,
}

/// Shapes and meanings by slot.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    rows: Vec<Shape>,
    /// Speakers by folded name: number and how many memories they have.
    speakers: HashMap<String, (u32, u32)>,
    /// Folded names by number, from 1.
    names: Vec<String>,
    pub(super) vectors: Vectors,
}

/// What a memory says of its shape.
pub(super) struct Sketch {
    pub(super) seat: Option<Seat>,
    speaker: Option<String>,
    shape: Shape,
}

impl Sketch {
    pub(super) fn of(memory: &Memory) -> Sketch {
        let said = spoken(memory);
        let asks = asks(said);
        let seat = seat(memory);
        let shape = Shape {
            speaker: 0,
            words: said.split_whitespace().count().min(usize::from(LONG_TURN_WORDS)) as u8,
            asks,
            dated: memory.dated(),
            seat: seat.map_or(0, |seat| {
                let mut hash = Fnv::new();
                hash.add(&format!("{seat:?}"));
                hash.value()
            }),
        };
        Sketch { seat, speaker: speaker(memory).map(words::fold), shape }
    }
}

/// Who says it.
fn speaker(memory: &Memory) -> Option<&str> {
    memory.sources.iter().find_map(|source| source.speaker.as_deref())
}

/// Its place in a conversation: where it is known who speaks and in which session. A scope lends another one nothing.
pub(super) fn seat(memory: &Memory) -> Option<Seat> {
    let source = memory.sources.iter().find(|source| source.speaker.is_some() && source.session.is_some())?;
    let mut hash = Fnv::new();
    hash.add(memory.scope_name());
    hash.add(source.client.as_deref().unwrap_or_default());
    hash.add(source.session.as_deref().unwrap_or_default());
    let order = (source.position.unwrap_or(i64::MAX), memory.created.millis(), memory.id.bits());
    Some(Seat { session: hash.value(), order, asks: asks(spoken(memory)) })
}

fn asks(said: &str) -> bool {
    said.trim_end().ends_with(['?', '？'])
}

/// The text without a date in brackets at its start or end, where that is the day on which it happened.
fn spoken(memory: &Memory) -> &str {
    let text = memory.text.trim();
    let Some(happened) = memory.happened else { return text };
    let dates = words::date_terms(happened);
    let is_date = |bracketed: &str| {
        let terms = words::terms(bracketed);
        !terms.is_empty() && terms.iter().all(|term| dates.contains(term) || term.contains(['-', '/', '.']))
    };
    let end = text.strip_suffix([']', ')']).and_then(|text| text.rsplit_once(['[', '(']));
    if let Some((before, _)) = end.filter(|(before, bracketed)| !before.trim().is_empty() && is_date(bracketed)) {
        return before.trim_end();
    }
    let start = text.strip_prefix(['[', '(']).and_then(|text| text.split_once([']', ')']));
    match start.filter(|(bracketed, after)| !after.trim().is_empty() && is_date(bracketed)) {
        Some((_, after)) => after.trim_start(),
        None => text,
    }
}

/// The text whose meaning counts: what was said, by whom, and the other words for it.
pub(super) fn meant(memory: &Memory) -> String {
    let said = without_user(spoken(memory));
    let mut text = match speaker(memory) {
        Some(speaker) if !said.starts_with(speaker) => format!("{speaker}: {said}"),
        _ => said.into_owned(),
    };
    for keyword in &memory.keywords {
        text.push_str(", ");
        text.push_str(keyword);
    }
    text
}

/// The text without "the user", whom nearly every memory is about: their meanings would all be alike for it.
fn without_user(text: &str) -> Cow<'_, str> {
    let mut left: Vec<&str> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_user = is_user(word.trim_end_matches(['?', '.', '!', ',']), words.peek().copied());
        match left.last() {
            Some(the) if is_user && the.eq_ignore_ascii_case("the") => drop(left.pop()),
            None if is_user && word.starts_with('U') => {}
            _ => left.push(word),
        }
    }
    if left.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(left.join(" ")) }
}

impl Shapes {
    /// Makes room for `slot` and sets its shape. Whether its place in a conversation is another one than before.
    pub(super) fn set(&mut self, slot: Slot, sketch: &Sketch) -> bool {
        let place = slot as usize;
        if place >= self.rows.len() {
            self.rows.resize(place + 1, Shape::default());
        }
        let speaker = sketch.speaker.as_deref().map_or(0, |name| self.number(name));
        let before = std::mem::replace(&mut self.rows[place], Shape { speaker, ..sketch.shape });
        self.release(before.speaker);
        before.seat != sketch.shape.seat
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        if let Some(row) = self.rows.get_mut(slot as usize) {
            let speaker = std::mem::take(row).speaker;
            self.release(speaker);
        }
        self.vectors.remove(slot);
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some((number, count)) = self.speakers.get_mut(name) {
            *count += 1;
            return *number;
        }
        self.names.push(name.to_owned());
        let number = self.names.len() as u32;
        self.speakers.insert(name.to_owned(), (number, 1));
        number
    }

    fn release(&mut self, speaker: u32) {
        let Some(name) = (speaker as usize).checked_sub(1).and_then(|place| self.names.get(place)) else { return };
        if let Some((_, count)) = self.speakers.get_mut(name) {
            *count -= 1;
        }
    }

    fn speakers(&self) -> impl Iterator<Item = (&str, u32)> {
        self.speakers.iter().filter(|(_, (_, count))| *count > 0).map(|(name, (number, _))| (name.as_str(), *number))
    }

    /// The one speaker whom a query names.
    fn named(&self, question: &Question) -> Option<u32> {
        let mut named = self.speakers().filter(|(name, _)| question.names(name)).map(|(_, number)| number);
        let first = named.next()?;
        named.next().is_none().then_some(first)
    }

    /// Names of speakers as words.
    fn name_terms(&self) -> HashSet<String> {
        self.speakers().flat_map(|(name, _)| words::name_terms(name)).collect()
    }
}

/// How well all memories fit one query.
pub(super) struct Fitted {
    pub(super) question: Question,
    /// Lexical fit by slot.
    lexical: Vec<f32>,
    /// Meaning by slot, [`f32::NAN`] where no vector is known; empty where there is no table.
    meaning: Vec<f32>,
    /// The speaker whom it names.
    named: Option<u32>,
    /// Memories that hold a word of it or stand beside one that does.
    pub(super) matched: usize,
    /// The best fit of any memory in all but words and meaning.
    most: Fit,
}

impl Store {
    /// Fits all memories to a query.
    pub(super) fn fit(&self, query: &str, now: Timestamp, zone: &TimeZone, scorer: &mut Scorer) -> Result<Fitted> {
        let question = Question::read(query, now, zone);
        let names = self.shapes.name_terms();
        let asked = Asked { words: &question.terms, names: &names };
        let mut lexical = vec![0.0; self.lengths.slots()];
        let matches = self.matches(&question, asked, scorer)?;
        for hit in matches.hits() {
            lexical[hit.slot as usize] = hit.score;
        }
        let count = matches.hits().len();
        let meaning = self.model.as_deref().map_or(Vec::new(), |model| self.meanings(model, query, matches.hits()));
        let speaker = self.shapes.named(&question);
        let most = Fit {
            speaker: if speaker.is_some() { 1.0 } else { 0.0 },
            date: if question.dates.is_empty() { 0.0 } else { 1.0 },
            turn: self.lengths.has_turns().then_some(Turn::LONGEST),
            is_unspaced: question.is_unspaced,
            ..Fit::default()
        };
        Ok(Fitted { named: speaker, question, lexical, meaning, matched: count, most })
    }

    /// The words that memories matched, and what each adds to the lexical fit.
    pub(super) fn explained(
        &self,
        question: &Question,
        slots: &[Slot],
        scorer: &mut Scorer,
    ) -> Result<Vec<Vec<(String, f32)>>> {
        let names = self.shapes.name_terms();
        let matches = self.matches(question, Asked { words: &question.terms, names: &names }, scorer)?;
        let owned = |parts: Vec<(&str, f32)>| parts.into_iter().map(|(word, share)| (word.to_owned(), share)).collect();
        Ok(slots.iter().map(|slot| owned(matches.explain(*slot))).collect())
    }

    fn matches<'a>(&'a self, question: &Question, asked: Asked<'a>, scorer: &'a mut Scorer) -> Result<Matches<'a>> {
        scorer.score(
            asked,
            &self.lengths,
            |word| self.held_by_at_least(word),
            |word, out: &mut Vec<Posting>| {
                if let Some(terms) = &self.terms {
                    terms.postings(word, out)?;
                }
                self.tail.postings(word, out);
                Ok::<(), Error>(())
            },
            |word, is_held| self.stand_ins(question, asked, word, is_held),
        )
    }

    /// What may stand for a word of a query: words that are written nearly the same, where nobody holds it, and words
    /// that mean nearly the same. A name stands for itself.
    fn stand_ins(&self, question: &Question, asked: Asked<'_>, word: &str, is_held: bool) -> Result<Vec<StandIn>> {
        let mut stand_ins = Vec::new();
        for name in self.aliases.terms(word) {
            if !asked.words.contains(name) && self.is_held(name)? {
                stand_ins.push(StandIn { word: name.clone(), weight: OF_ONE_NAME });
            }
        }
        if !is_held {
            let alike = self.similar(word)?.into_iter();
            stand_ins.extend(alike.map(|(word, likeness)| StandIn { word, weight: WRITTEN_ALIKE * likeness }));
        }
        let Some(model) = self.model.as_deref().filter(|_| !asked.names.contains(word)) else { return Ok(stand_ins) };
        let before = stand_ins.len();
        for (near, likeness) in model.near(question.written(word).unwrap_or(word)) {
            let Some(near) = words::terms(near).pop().filter(|near| !asked.words.contains(near)) else { continue };
            if stand_ins.len() - before == MOST_OF_ONE_MEANING {
                break;
            }
            if !stand_ins.iter().any(|known| known.word == near) && self.is_held(&near)? {
                stand_ins.push(StandIn { word: near, weight: OF_ONE_MEANING * likeness });
            }
        }
        Ok(stand_ins)
    }

    /// The cosine of each memory's meaning with the query's, by slot; of turns with what they borrow. Vectors that are
    /// lacking are made for those of `hits` that fit best by their words: beside one that has a vector they would look
    /// worse than they are.
    fn meanings(&self, model: &Model, query: &str, hits: &[Hit]) -> Vec<f32> {
        let asked: Vector = model.vector(&without_user(query));
        if asked.scale == 0.0 {
            return vec![f32::NAN; self.lengths.slots()];
        }
        let vectors = &self.shapes.vectors;
        let mut meanings = vectors.cosines(&asked);
        meanings.resize(self.lengths.slots(), f32::NAN);
        if vectors.known() < self.lengths.count() as usize {
            let mut lacking: Vec<&Hit> = hits.iter().filter(|hit| !vectors.is_known(hit.slot)).collect();
            if lacking.len() > MADE_FOR_A_QUERY {
                lacking.select_nth_unstable_by(MADE_FOR_A_QUERY, |a, b| b.score.total_cmp(&a.score));
            }
            for hit in lacking.into_iter().take(MADE_FOR_A_QUERY) {
                let Some(memory) = self.id_at(hit.slot).and_then(|id| self.state.get(id)) else { continue };
                let own = model.vector(&meant(memory));
                let product = products(&own.values, &asked.values).first().copied().unwrap_or_default();
                meanings[hit.slot as usize] = product as f32 * own.scale * asked.scale;
            }
        }
        let mut around: Vec<(Slot, bool)> = Vec::new();
        let mut own: Vec<f32> = Vec::new();
        for turns in self.lengths.conversations() {
            around.clear();
            around.extend(turns);
            if around.len() < 2 {
                continue;
            }
            own.clear();
            own.extend(around.iter().map(|(slot, _)| meanings[*slot as usize]));
            for (place, (slot, _)) in around.iter().enumerate() {
                let at = |place: Option<usize>| {
                    place.and_then(|place| own.get(place)).copied().filter(|own| !own.is_nan()).unwrap_or_default()
                };
                let before = place.checked_sub(1);
                let asks = before.is_some_and(|before| around[before].1);
                let [one_before, one_after, two_before, two_after] = MEANING_LENT;
                let sum = own[place]
                    + at(before) * if asks { MEANING_OF_QUESTION } else { one_before }
                    + at(Some(place + 1)) * one_after
                    + at(place.checked_sub(2)) * two_before
                    + at(Some(place + 2)) * two_after;
                meanings[*slot as usize] = sum / (1.0 + MEANING_LENT.iter().sum::<f32>());
            }
        }
        meanings
    }
}

impl Fitted {
    /// Whether [`Fit::is_any`] would hold and the total may reach `least`: most memories are passed over by this alone.
    #[inline]
    pub(super) fn may_reach(&self, slot: Slot, least: f32) -> bool {
        let (lexical, meaning) = self.known(slot);
        let is_any = lexical > 0.0 || meaning.is_some_and(|meaning| meaning >= MEANT_FROM);
        is_any && self.most.at_most(lexical, meaning) >= least
    }

    /// Words and meaning of a memory.
    #[inline]
    fn known(&self, slot: Slot) -> (f32, Option<f32>) {
        let lexical = self.lexical.get(slot as usize).copied().unwrap_or_default();
        (lexical, self.meaning.get(slot as usize).copied().filter(|meaning| !meaning.is_nan()))
    }

    /// All parts of a memory's fit but the phrase, which needs its text.
    #[inline]
    pub(super) fn of(&self, shapes: &Shapes, lengths: &Lengths, slot: Slot) -> Fit {
        let (lexical, meaning) = self.known(slot);
        let shape = shapes.rows.get(slot as usize).copied().unwrap_or_default();
        let speaker = match self.named {
            Some(named) if shape.speaker == named => 1.0,
            Some(_) if shape.speaker != 0 => -1.0,
            _ => 0.0,
        };
        Fit {
            lexical,
            meaning,
            speaker,
            phrase: 0.0,
            graph: 0.0,
            date: if self.question.dates.is_empty() { 0.0 } else { self.question.dates.fit(shape.dated) },
            turn: lengths.is_turn(slot).then_some(Turn { asks: shape.asks, words: shape.words }),
            is_unspaced: self.question.is_unspaced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::own_notes::Shelf;
    use super::*;
    use crate::id::MemoryId;
    use crate::index::Cached;
    use crate::journal::Told;
    use crate::memory::{Line, Op, State};

    /// A store that was opened while no vector was kept: those of the last memories are not made yet.
    fn without_vectors(texts: &[String]) -> (Store, Vec<Slot>) {
        let mut state = State::default();
        let ids: Vec<MemoryId> = texts.iter().map(|text| MemoryId::from_source(text)).collect();
        for ((text, id), number) in texts.iter().zip(&ids).zip(1u64..) {
            let at = Timestamp::from_millis(number as i64);
            let line = Line { text: Some(text.clone()), at, ..Line::about(Op::Remember, *id) };
            let told = Told { line, replica: "r".into(), number, crc: 0 };
            state.apply(told.line, &told.replica, told.number, told.crc);
        }
        let model = Some(Model::built_in().unwrap());
        let (store, trouble) = Store::new(state, Shelf::default(), None, model, &Cached::default());
        assert!(trouble.is_none());
        let slots = ids.iter().map(|id| store.slot_of(*id).unwrap()).collect();
        (store, slots)
    }

    #[test]
    fn the_best_by_words_have_a_meaning_before_all_vectors_are_made() {
        let texts: Vec<String> = (0..40).map(|number| format!("Sold bicycle {number} to a neighbour")).collect();
        let (mut store, slots) = without_vectors(&texts);
        assert_eq!((store.shapes.vectors.known(), store.vectors_lacking()), (20, 20));
        let meanings = |store: &Store, query: &str| -> Vec<Option<f32>> {
            let fitted = store.fit(query, Timestamp::default(), &TimeZone::UTC, &mut Scorer::default()).unwrap();
            slots.iter().map(|slot| fitted.of(&store.shapes, &store.lengths, *slot).meaning).collect()
        };
        let early = meanings(&store, "who bought bicycle 33");
        assert!(early[..20].iter().all(Option::is_some), "these were made when it was opened");
        assert_eq!(early[20..].iter().flatten().count(), MADE_FOR_A_QUERY, "no more while a query waits");
        let by_meaning_alone = meanings(&store, "pedals");
        assert_eq!(by_meaning_alone[20..].iter().flatten().count(), 0, "nothing is made for what shares no word");
        store.take_vectors(&store.made_vectors(&store.without_vector()));
        assert_eq!(store.vectors_lacking(), 0);
        let all = meanings(&store, "who bought bicycle 33");
        assert!(early[33].is_some() && early[33] == all[33], "the best by words has the meaning that it will have");
        assert!(early.iter().zip(&all).all(|(early, all)| early.is_none() || early == all));
    }

    #[test]
    fn the_user_does_not_count_for_the_meaning() {
        for (text, left) in [
            ("The user lives in Porto", "lives in Porto"),
            ("User prefers tea", "prefers tea"),
            ("Where does the user live?", "Where does live?"),
            ("the user's boss thanked the user.", "boss thanked"),
            ("The user interface is slow", "The user interface is slow"),
            ("User stories come first", "User stories come first"),
            ("every user of the API", "every user of the API"),
            ("the user", "the user"),
            ("Tea", "Tea"),
            ("", ""),
        ] {
            assert_eq!(without_user(text), left, "{text}");
        }
    }
}
