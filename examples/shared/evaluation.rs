//! Recall of evidence in conversations: what is asked about them, and which share of the right turns comes back.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::error::Error;

use ebbmark::clock::Timestamp;
use ebbmark::engine::{Engine, NewMemory, RecallRequest, RememberRequest, SourceInput};
use serde_json::Value;

/// Hits of a reply.
const HITS: usize = 10;
/// Characters of a token, about.
pub(crate) const TOKEN_CHARS: usize = 4;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    /// What evidence names: the turn, or its session.
    pub(crate) unit: String,
    pub(crate) session: String,
    pub(crate) position: i64,
    pub(crate) speaker: String,
    /// As it is remembered.
    pub(crate) text: String,
    pub(crate) happened: Option<Timestamp>,
}

/// A question about a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) question: String,
    pub(crate) category: String,
    /// The units that answer it.
    pub(crate) evidence: HashSet<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) turns: Vec<Turn>,
    pub(crate) questions: Vec<Asked>,
}

/// How well questions were answered: sums over them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) questions: f64,
    pub(crate) at_5: f64,
    pub(crate) at_10: f64,
    pub(crate) any_at_10: f64,
    pub(crate) reciprocal: f64,
    pub(crate) tokens: f64,
}

/// Sums by category, and over `all`.
pub(crate) type Sums = BTreeMap<String, Sum>;

/// Adds one answer: the units that came back, best first, and the characters of the reply.
fn add(sums: &mut Sums, asked: &Asked, units: &[&str], characters: usize) {
    let mut distinct: Vec<&str> = Vec::new();
    for unit in units {
        if !distinct.contains(unit) {
            distinct.push(unit);
        }
    }
    let among = |count: usize| {
        let found = distinct.iter().take(count).filter(|unit| asked.evidence.contains(**unit)).count();
        found as f64 / asked.evidence.len() as f64
    };
    let first = distinct.iter().position(|unit| asked.evidence.contains(*unit));
    for key in ["all", asked.category.as_str()] {
        let sum = sums.entry(key.to_owned()).or_default();
        sum.questions += 1.0;
        sum.at_5 += among(5);
        sum.at_10 += among(10);
        sum.any_at_10 += f64::from(u8::from(first.is_some_and(|first| first < 10)));
        sum.reciprocal += first.map_or(0.0, |first| 1.0 / (first + 1) as f64);
        sum.tokens += (characters / TOKEN_CHARS) as f64;
    }
}

/// The unit of each memory, by id.
pub(crate) type Units<'a> = HashMap<String, &'a str>;

/// Remembers a conversation, each turn one memory.
pub(crate) fn remember<'a>(engine: &Engine, conversation: &'a Conversation) -> Result<Units<'a>, Box<dyn Error>> {
    let memories: Vec<NewMemory> = conversation
        .turns
        .iter()
        .map(|turn| NewMemory {
            text: turn.text.clone(),
            happened: turn.happened.map(|at| at.to_string()),
            source: Some(SourceInput {
                who: Some("user".into()),
                speaker: Some(turn.speaker.clone()),
                session: Some(turn.session.clone()),
                position: Some(turn.position),
                ..SourceInput::default()
            }),
            ..NewMemory::default()
        })
        .collect();
    let mut units = Units::new();
    for (memories, turns) in memories.chunks(100).zip(conversation.turns.chunks(100)) {
        let answer = engine.remember(&RememberRequest::of(memories))?;
        for (result, turn) in answer.results.into_iter().zip(turns) {
            units.extend(result.id.map(|id| (id, turn.unit.as_str())));
        }
    }
    Ok(units)
}

/// Asks all questions about what was remembered, each in the wordings that are made of it.
pub(crate) fn recall(
    engine: &Engine,
    conversation: &Conversation,
    units: &Units<'_>,
    wordings: impl Fn(&str) -> Vec<String>,
    sums: &mut Sums,
) -> Result<(), Box<dyn Error>> {
    for asked in &conversation.questions {
        let (query, limit) = (wordings(&asked.question), Some(HITS as u32));
        let request = RecallRequest { query, limit, reinforce: Some(false), ..RecallRequest::default() };
        let hits = engine.recall(&request)?.hits;
        let found: Vec<&str> = hits.iter().filter_map(|hit| units.get(&hit.id).copied()).collect();
        add(sums, asked, &found, hits.iter().map(|hit| hit.text.chars().count()).sum());
    }
    Ok(())
}

fn plain_words(text: &str) -> Vec<String> {
    text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// The textbook's BM25 (k1 1.2, b 0.75) over plain words.
pub(crate) struct PlainBm25 {
    /// Texts that hold a word, and how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// Words of each text.
    lengths: Vec<f64>,
}

impl PlainBm25 {
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> PlainBm25 {
        let mut all = PlainBm25 { postings: HashMap::new(), lengths: Vec::new() };
        for (place, text) in texts.enumerate() {
            let words = plain_words(text);
            all.lengths.push(words.len() as f64);
            for word in words {
                let holders = all.postings.entry(word).or_default();
                match holders.last_mut() {
                    Some((last, frequency)) if *last == place => *frequency += 1.0,
                    _ => holders.push((place, 1.0)),
                }
            }
        }
        all
    }

    /// The best texts by place, with their scores; one that shares no word has 0.
    pub(crate) fn best(&self, query: &str, limit: usize) -> Vec<(usize, f64)> {
        let count = self.lengths.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / count.max(1.0);
        let mut scores: Vec<(usize, f64)> = (0..self.lengths.len()).map(|place| (place, 0.0)).collect();
        for word in plain_words(query).into_iter().collect::<BTreeSet<_>>() {
            let Some(holders) = self.postings.get(&word) else { continue };
            let df = holders.len() as f64;
            let idf = ((count - df + 0.5) / (df + 0.5)).ln_1p();
            for (place, frequency) in holders {
                let norm = 1.2 * (0.25 + 0.75 * self.lengths[*place] / mean);
                scores[*place].1 += idf * frequency * 2.2 / (frequency + norm);
            }
        }
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scores.truncate(limit);
        scores
    }
}

/// The turns that plain BM25 finds.
pub(crate) fn plain_bm25(conversation: &Conversation, sums: &mut Sums) {
    let turns = &conversation.turns;
    let bm25 = PlainBm25::of(turns.iter().map(|turn| turn.text.as_str()));
    for asked in &conversation.questions {
        let best = bm25.best(&asked.question, HITS);
        let found: Vec<&str> = best.iter().map(|(place, _)| turns[*place].unit.as_str()).collect();
        add(sums, asked, &found, best.iter().map(|(place, _)| turns[*place].text.chars().count()).sum());
    }
}

/// Everything that was said, in the order in which it was said: all evidence, whatever it costs.
pub(crate) fn full_context(conversation: &Conversation, sums: &mut Sums) {
    let characters = conversation.turns.iter().map(|turn| turn.text.chars().count()).sum();
    for asked in &conversation.questions {
        let mut whole = Sums::new();
        let evidence: Vec<&str> = asked.evidence.iter().map(String::as_str).collect();
        add(&mut whole, asked, &evidence, characters);
        for key in ["all", asked.category.as_str()] {
            let sum = sums.entry(key.to_owned()).or_default();
            sum.questions += 1.0;
            sum.at_5 += 1.0;
            sum.at_10 += 1.0;
            sum.any_at_10 += 1.0;
            sum.reciprocal += 1.0;
            sum.tokens += whole[key].tokens;
        }
    }
}

/// Reads `locomo10.json`: the questions of categories 1 to 4 whose evidence is there.
pub(crate) fn locomo(data: &Value) -> Vec<Conversation> {
    let conversations = data.as_array().into_iter().flatten();
    conversations.map(|entry| locomo_conversation(&entry["conversation"], &entry["qa"])).collect()
}

fn locomo_conversation(said: &Value, qa: &Value) -> Conversation {
    let mut conversation = Conversation::default();
    for number in 1.. {
        let Some(turns) = said[format!("session_{number}")].as_array() else { break };
        let date = said[format!("session_{number}_date_time")].as_str().unwrap_or_default();
        let day = date.rsplit(" on ").next().unwrap_or_default();
        for (turn, position) in turns.iter().zip(0..) {
            let part = |key: &str| turn[key].as_str().unwrap_or_default();
            conversation.turns.push(Turn {
                unit: part("dia_id").to_owned(),
                session: format!("D{number}"),
                position,
                speaker: part("speaker").to_owned(),
                text: format!("{}: {} [{day}]", part("speaker"), part("text")),
                happened: written_day(day),
            });
        }
    }
    let known: HashSet<&str> = conversation.turns.iter().map(|turn| turn.unit.as_str()).collect();
    for question in qa.as_array().into_iter().flatten() {
        let category = match question["category"].as_u64() {
            Some(1) => "multi-hop",
            Some(2) => "temporal",
            Some(3) => "open-domain",
            Some(4) => "single-hop",
            _ => continue,
        };
        let named = question["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let evidence: HashSet<String> = named
            .flat_map(|text| text.split([';', ' ', ',']))
            .filter_map(|id| {
                let (session, turn) = id.trim().trim_start_matches(['(', 'D', ':']).split_once(':')?;
                Some(format!("D{}:{}", session.parse::<u32>().ok()?, turn.parse::<u32>().ok()?))
            })
            .filter(|unit| known.contains(unit.as_str()))
            .collect();
        if !evidence.is_empty() {
            let asked = question["question"].as_str().unwrap_or_default().to_owned();
            conversation.questions.push(Asked { question: asked, category: category.into(), evidence });
        }
    }
    conversation
}

/// `8 May, 2023` → noon of that day.
fn written_day(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (day, rest) = text.split_once(' ')?;
    let (month, year) = rest.split_once(", ")?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse_lenient(&format!("{year}-{month:02}-{:02}", day.parse::<u8>().ok()?))
}

/// Reads `longmemeval_s.json` or its like: each question has its own history; evidence are the sessions that hold the
/// answer. Questions whose answer is that there is none are left out.
pub(crate) fn longmemeval(data: &Value) -> Vec<Conversation> {
    data.as_array().into_iter().flatten().filter_map(longmemeval_question).collect()
}

fn longmemeval_question(entry: &Value) -> Option<Conversation> {
    let texts = |key: &str| -> Vec<String> {
        entry[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (ids, dates) = (texts("haystack_session_ids"), texts("haystack_dates"));
    let mut turns = Vec::new();
    for ((session, id), date) in entry["haystack_sessions"].as_array()?.iter().zip(&ids).zip(&dates) {
        // `2023/05/20 (Sat) 02:21`
        let happened = Timestamp::parse_lenient(&date.get(..10)?.replace('/', "-"));
        for (turn, position) in session.as_array().into_iter().flatten().zip(0..) {
            let part = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
            let (speaker, text) = (part("role"), part("content"));
            turns.push(Turn { unit: id.clone(), session: id.clone(), position, speaker, text, happened });
        }
    }
    let evidence: HashSet<String> = texts("answer_session_ids").into_iter().filter(|id| ids.contains(id)).collect();
    if evidence.is_empty() || entry["question_id"].as_str().is_some_and(|id| id.ends_with("_abs")) {
        return None;
    }
    let category = entry["question_type"].as_str().unwrap_or("other").to_owned();
    let question = entry["question"].as_str()?.to_owned();
    Some(Conversation { turns, questions: vec![Asked { question, category, evidence }] })
}

/// The sums as a table.
pub(crate) fn table(title: &str, sums: &Sums) -> String {
    let mut text = format!("{title:<28} questions   R@5   R@10  hit@10    MRR  tokens\n");
    for (category, sum) in sums {
        let percent = |value: f64| 100.0 * value / sum.questions;
        let line = format!(
            "  {category:<26} {:>9} {:>5.1} {:>6.1} {:>7.1} {:>6.3} {:>7.0}\n",
            sum.questions,
            percent(sum.at_5),
            percent(sum.at_10),
            percent(sum.any_at_10),
            sum.reciprocal / sum.questions,
            sum.tokens / sum.questions
        );
        text.push_str(&line);
    }
    text
}
