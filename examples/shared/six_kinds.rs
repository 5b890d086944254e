//! Six kinds of questions about made-up users: how often the answer stands in what is recalled, and how much that is.
//!
//! No model reads the answers. A question counts as answered where all of its answers stand in the texts that come back,
//! with what those replaced; one that nobody can answer, where it is said that nothing was found.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ebbmark::clock::{Clock, DAY_MS, Timestamp};
use ebbmark::engine::{Engine, Hit, NewMemory, Options, RecallRequest, RememberRequest, SourceInput};
use ebbmark::id::Randomness;
use jiff::tz::TimeZone;

use super::conversations::{Conversation, Kind, Question, User};
use super::evaluation::{PlainBm25, TOKEN_CHARS};

/// Hits of a reply: what recall gives by default.
const HITS: u32 = 8;
/// The settings with which memories are found by their words alone.
const NO_MEANING: &str = "[recall]\nmodel = \"off\"\n";
/// The settings with which the best hits lead nowhere.
const NO_HOP: &str = "[recall]\nhop = false\n";

/// What is saved of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saves {
    /// What an agent remembers: one fact a memory.
    Facts,
    /// Every turn, with who said it, where.
    Turns,
    /// Every turn for itself: it borrows nothing of those around it.
    TurnsAlone,
}

/// A way to use Ebbmark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// `config.toml`.
    pub(crate) config: &'static str,
    pub(crate) saves: Saves,
    /// Whether the agent adds other words for what a memory is about.
    pub(crate) keywords: bool,
    /// Hits of a reply.
    pub(crate) hits: u32,
    /// Whether the agent looks for what a memory replaces before it saves it. It knows the older one if it sees it.
    pub(crate) replaces: bool,
    /// Whether the agent asks once more, only about the people whom the first answer is about.
    pub(crate) asks_again: bool,
}

/// Ebbmark as it is meant.
pub(crate) const OWN: Way = Way {
    name: "Ebbmark",
    config: "",
    saves: Saves::Facts,
    keywords: true,
    hits: HITS,
    replaces: true,
    asks_again: false,
};

/// The same with twice as many hits.
pub(crate) const SIXTEEN_HITS: Way = Way { name: "  16 hits", hits: 16, ..OWN };

/// The same without one of its parts each, and in other hands. What a setting switches off is one line here.
pub(crate) const OTHERS: [Way; 9] = [
    Way { name: "  no keywords", keywords: false, ..OWN },
    Way { name: "  no meaning", config: NO_MEANING, ..OWN },
    Way { name: "  no hop", config: NO_HOP, ..OWN },
    Way { name: "  neither", config: NO_MEANING, keywords: false, ..OWN },
    Way { name: "  nothing replaced", replaces: false, ..OWN },
    SIXTEEN_HITS,
    Way { name: "  asked again by names", asks_again: true, ..OWN },
    Way { name: "  raw turns", saves: Saves::Turns, ..OWN },
    Way { name: "  raw turns, alone", saves: Saves::TurnsAlone, ..OWN },
];

/// How questions of a kind were answered: sums over them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) questions: f64,
    pub(crate) answered: f64,
    /// Those of which it was said that something was found.
    pub(crate) found: f64,
    /// Those where something came back, as if it held, that no longer does.
    pub(crate) outdated: f64,
    pub(crate) tokens: f64,
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally {
            questions: self.questions + other.questions,
            answered: self.answered + other.answered,
            found: self.found + other.found,
            outdated: self.outdated + other.outdated,
            tokens: self.tokens + other.tokens,
        }
    }

    /// A sum as a share of the questions, in percent.
    pub(crate) fn percent(self, sum: f64) -> f64 {
        100.0 * sum / self.questions.max(1.0)
    }
}

/// How one method did, kind by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tallies(BTreeMap<Kind, Tally>);

impl Tallies {
    pub(crate) fn of(&self, kind: Kind) -> Tally {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    /// All questions that have an answer.
    pub(crate) fn answerable(&self) -> Tally {
        let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Abstention);
        kinds.map(|kind| self.of(*kind)).fold(Tally::default(), Tally::plus)
    }

    fn add(&mut self, question: &Question, recalled: &Recalled) {
        let all = folded(&recalled.texts);
        let current = folded(&recalled.texts[..recalled.current]);
        let says = |texts: &str, value: &String| texts.contains(&value.to_lowercase());
        let is_answered = match question.kind {
            Kind::Abstention => !recalled.is_found,
            // What was true before does not answer what is.
            Kind::Update => question.answers.iter().all(|value| says(&current, value)),
            _ => question.answers.iter().all(|value| says(&all, value)),
        };
        let one_if = |holds: bool| f64::from(u8::from(holds));
        let characters: usize = recalled.texts.iter().map(|text| text.chars().count()).sum();
        let tally = self.0.entry(question.kind).or_default();
        *tally = tally.plus(Tally {
            questions: 1.0,
            answered: one_if(is_answered),
            found: one_if(recalled.is_found),
            outdated: one_if(question.outdated.iter().any(|value| says(&current, value))),
            tokens: (characters / TOKEN_CHARS) as f64,
        });
    }
}

fn folded(texts: &[String]) -> String {
    texts.join("\n").to_lowercase()
}

/// What came back for a question.
#[derive(Debug, Default)]
struct Recalled {
    is_found: bool,
    /// The texts: first those that pass for true, then those that are marked as true no longer.
    texts: Vec<String>,
    current: usize,
}

impl Recalled {
    fn of_texts(texts: Vec<String>) -> Recalled {
        Recalled { is_found: !texts.is_empty(), current: texts.len(), texts }
    }
}

/// Every method by name: nothing, plain BM25 and the full context first, then [`OWN`] and [`OTHERS`].
pub(crate) fn methods(users: &[User]) -> Result<Vec<(&'static str, Tallies)>, Box<dyn Error>> {
    let (mut none, mut plain, mut full) = (Tallies::default(), Tallies::default(), Tallies::default());
    for user in users {
        nothing(user, &mut none);
        bm25_over_turns(user, &mut plain);
        full_context(user, &mut full);
    }
    let mut methods = vec![("nothing", none), ("BM25 over turns", plain), ("full context", full)];
    for way in [OWN].into_iter().chain(OTHERS) {
        methods.push((way.name, ebbmark(way, users)?));
    }
    Ok(methods)
}

/// Nothing is remembered.
fn nothing(user: &User, tallies: &mut Tallies) {
    for question in &user.questions {
        tallies.add(question, &Recalled::default());
    }
}

/// All that was ever said.
fn full_context(user: &User, tallies: &mut Tallies) {
    let all = Recalled::of_texts(turns(user).map(str::to_owned).collect());
    for question in &user.questions {
        tallies.add(question, &all);
    }
}

/// The turns that share the rarest words with the question.
fn bm25_over_turns(user: &User, tallies: &mut Tallies) {
    let turns: Vec<&str> = turns(user).collect();
    let bm25 = PlainBm25::of(turns.iter().copied());
    for question in &user.questions {
        let best = bm25.best(&question.text, HITS as usize).into_iter().filter(|(_, score)| *score > 0.0);
        tallies.add(question, &Recalled::of_texts(best.map(|(place, _)| turns[place].to_owned()).collect()));
    }
}

fn turns(user: &User) -> impl Iterator<Item = &str> {
    user.conversations.iter().flat_map(|conversation| &conversation.turns).map(|turn| turn.text.as_str())
}

/// Has users live through their conversations, each with a store of its own, and asks all questions on the day after
/// the last one.
pub(crate) fn ebbmark(way: Way, users: &[User]) -> Result<Tallies, Box<dyn Error>> {
    let mut tallies = Tallies::default();
    for user in users {
        let folder = tempfile::tempdir()?;
        let home = folder.path().join("home");
        std::fs::create_dir_all(&home)?;
        std::fs::write(home.join("config.toml"), way.config)?;
        let now = Arc::new(AtomicI64::new(0));
        let engine = engine(&home, &now)?;
        for conversation in &user.conversations {
            now.store(conversation.at.millis(), Ordering::SeqCst);
            save(&engine, way, conversation)?;
        }
        now.fetch_add(DAY_MS, Ordering::SeqCst);
        for question in &user.questions {
            tallies.add(question, &recalled(&engine, way, &question.text)?);
        }
    }
    Ok(tallies)
}

fn engine(home: &Path, now: &Arc<AtomicI64>) -> Result<Engine, ebbmark::error::Error> {
    Engine::open(Options {
        home: home.to_owned(),
        vault: None,
        default_vault: home.with_extension("vault"),
        user_home: None,
        machine: "bench".into(),
        replica: None,
        clock: Clock::Moved(Arc::clone(now)),
        randomness: Randomness::Seeded(5),
        time_zone: TimeZone::UTC,
    })
}

/// One call for each conversation, as it ends.
fn save(engine: &Engine, way: Way, conversation: &Conversation) -> Result<(), Box<dyn Error>> {
    let memories = match way.saves {
        Saves::Facts => facts(engine, way, conversation)?,
        Saves::Turns | Saves::TurnsAlone => spoken(way, conversation),
    };
    for result in engine.remember(&RememberRequest::of(&memories))?.results {
        if let Some(error) = result.error {
            return Err(error.into());
        }
    }
    Ok(())
}

fn facts(engine: &Engine, way: Way, conversation: &Conversation) -> Result<Vec<NewMemory>, Box<dyn Error>> {
    let mut memories = Vec::new();
    for told in &conversation.told {
        let mut supersedes = Vec::new();
        if let Some(older) = told.replaces.as_ref().filter(|_| way.replaces) {
            let known = ask(engine, way, &told.text, &[])?.1;
            supersedes.extend(known.into_iter().filter(|hit| hit.text == *older).map(|hit| hit.id));
        }
        memories.push(NewMemory {
            text: told.text.clone(),
            entities: told.entities.clone(),
            keywords: if way.keywords { told.keywords.clone() } else { Vec::new() },
            happened: told.is_event.then(|| conversation.at.to_string()),
            supersedes,
            ..NewMemory::default()
        });
    }
    Ok(memories)
}

fn spoken(way: Way, conversation: &Conversation) -> Vec<NewMemory> {
    let at: Timestamp = conversation.at;
    let turns = conversation.turns.iter().zip(0..);
    let memories = turns.map(|(turn, position)| NewMemory {
        text: turn.text.clone(),
        happened: Some(at.to_string()),
        source: (way.saves == Saves::Turns).then(|| SourceInput {
            speaker: Some(turn.speaker.to_owned()),
            session: Some(at.to_string()),
            position: Some(position),
            ..SourceInput::default()
        }),
        ..NewMemory::default()
    });
    memories.collect()
}

fn ask(engine: &Engine, way: Way, query: &str, entities: &[String]) -> Result<(bool, Vec<Hit>), ebbmark::error::Error> {
    let answer = engine.recall(&RecallRequest {
        limit: Some(way.hits),
        entities: entities.to_vec(),
        reinforce: Some(false),
        ..RecallRequest::of(query)
    })?;
    Ok((answer.found, answer.hits))
}

fn recalled(engine: &Engine, way: Way, question: &str) -> Result<Recalled, Box<dyn Error>> {
    let (is_found, mut hits) = ask(engine, way, question, &[])?;
    let people: BTreeSet<String> = hits.iter().flat_map(|hit| hit.entities.clone()).collect();
    if way.asks_again && !people.is_empty() {
        let (_, more) = ask(engine, way, question, &people.into_iter().collect::<Vec<_>>())?;
        for hit in more {
            if !hits.iter().any(|known| known.id == hit.id) {
                hits.push(hit);
            }
        }
    }
    let before: Vec<String> = hits.iter().flat_map(|hit| &hit.previously).map(|older| older.text.clone()).collect();
    let mut texts: Vec<String> = hits.into_iter().map(|hit| hit.text).collect();
    let current = texts.len();
    texts.extend(before);
    Ok(Recalled { is_found, texts, current })
}

/// All methods as a table; percentages, but tokens a question.
pub(crate) fn table(title: &str, methods: &[(&str, Tallies)]) -> String {
    let mut text = format!(
        "{title:<24} single update history  multi graph graph-2 | answered  found | abstained outdated  tokens\n"
    );
    for (name, tallies) in methods {
        let share = |kind: Kind| tallies.of(kind).percent(tallies.of(kind).answered);
        let [single, update, history, multi, graph, far, abstained] = Kind::ALL.map(share);
        let all = tallies.answerable();
        let outdated = tallies.of(Kind::Update).percent(tallies.of(Kind::Update).outdated);
        let tokens = all.plus(tallies.of(Kind::Abstention));
        let line = format!(
            "{name:<24} {single:>6.1} {update:>6.1} {history:>7.1} {multi:>6.1} {graph:>5.1} {far:>7.1} | {:>8.1} \
             {:>6.1} | {abstained:>9.1} {outdated:>8.1} {:>7.0}\n",
            all.percent(all.answered),
            all.percent(all.found),
            tokens.tokens / tokens.questions.max(1.0),
        );
        text.push_str(&line);
    }
    text
}
