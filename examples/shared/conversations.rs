//! Made-up users and what each says to an assistant over eight weeks: with it what an agent would remember, one fact a
//! memory, and questions whose answers are known.
//!
//! A number makes the same user every time. The sentences lie in `tests/data/conversations`: several for each topic,
//! drawn by chance, as are the values; the questions are worded otherwise. No value is drawn twice for a user, so an
//! answer stands in what was said about it and nowhere else.

use std::collections::HashMap;

use ebbmark::clock::{DAY_MS, Timestamp};

const STATEMENTS: &str = include_str!("../../tests/data/conversations/statements.tsv");
const QUESTIONS: &str = include_str!("../../tests/data/conversations/questions.tsv");
const KEYWORDS: &str = include_str!("../../tests/data/conversations/keywords.tsv");
const VALUES: &str = include_str!("../../tests/data/conversations/values.tsv");
const SMALL_TALK: &str = include_str!("../../tests/data/conversations/small_talk.tsv");
const REPLIES: &str = include_str!("../../tests/data/conversations/replies.txt");

/// The first conversation takes place then, and one a week that holds facts.
const START: &str = "2026-03-02T18:00:00Z";
pub(crate) const WEEKS: usize = 8;

/// What may change, and whose values it takes.
const CHANGING: [(&str, &str); 8] = [
    ("home", "city"),
    ("job", "job"),
    ("tea", "tea"),
    ("commute", "commute"),
    ("sport", "sport"),
    ("diet", "diet"),
    ("editor", "editor"),
    ("project", "project"),
];
/// What stays.
const LASTING: [(&str, &str); 12] = [
    ("pet", "pet"),
    ("allergy", "allergy"),
    ("childhood", "city"),
    ("instrument", "instrument"),
    ("degree", "degree"),
    ("car", "car"),
    ("wedding", "day"),
    ("collection", "collection"),
    ("fear", "fear"),
    ("volunteer", "place"),
    ("dessert", "dessert"),
    ("language", "language"),
];
/// What happens again and again.
const EVENTS: [(&str, &str); 5] = [
    ("trips", "country"),
    ("books", "book"),
    ("concerts", "band"),
    ("purchases", "purchase"),
    ("interviews", "company"),
];
/// What is told of other people.
const OF_PEOPLE: [(&str, &str); 4] =
    [("lives", "city"), ("works", "job"), ("plays", "instrument"), ("likes", "dessert")];

/// Topics of which questions of a kind are asked.
const ASKED: usize = 4;
/// Lasting topics that are told of and not asked about.
const LASTING_UNASKED: usize = 5;
/// Times that an event happens.
const TIMES: usize = 3;
/// People of whom it is told who they are.
const ROLES: usize = 6;
/// Other people of whom one thing is told.
const OTHERS: usize = 8;
/// Exchanges of a conversation that is small talk.
const EXCHANGES: usize = 3;

/// The six kinds of questions; those about people by how many names lie between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Something said once.
    Single,
    /// What holds now of something that changed.
    Update,
    /// What held before.
    History,
    /// What was said in three conversations.
    MultiSession,
    /// "Where does my manager live?", where one memory names the manager and another says where that person lives.
    Graph,
    /// "Where does the sister of my manager live?": two names between.
    GraphFar,
    /// What was never said.
    Abstention,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] =
        [Kind::Single, Kind::Update, Kind::History, Kind::MultiSession, Kind::Graph, Kind::GraphFar, Kind::Abstention];
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    pub(crate) speaker: &'static str,
    pub(crate) text: String,
}

/// What an agent would remember of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    /// In the third person; who somebody is stays where it was said, since the agent has forgotten it by now.
    pub(crate) text: String,
    /// Whether it is an event, of the day of the conversation.
    pub(crate) is_event: bool,
    /// The people whom it names.
    pub(crate) entities: Vec<String>,
    /// Other words for its topic, the same for all memories of that topic.
    pub(crate) keywords: Vec<String>,
    /// The text of the memory that no longer holds.
    pub(crate) replaces: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) at: Timestamp,
    pub(crate) turns: Vec<Turn>,
    pub(crate) told: Vec<Told>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    /// All of these answer it; none where nobody can.
    pub(crate) answers: Vec<String>,
    /// Values that no longer hold.
    pub(crate) outdated: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct User {
    /// In order of time.
    pub(crate) conversations: Vec<Conversation>,
    pub(crate) questions: Vec<Question>,
}

/// Users 1 to 6, of whom figures are reported. User 0 and those from 7 on are for development: nothing may be set by
/// looking at these six.
pub(crate) fn reported_users(conversations: usize) -> Vec<User> {
    users(1, conversations)
}

/// Six users from a number on.
pub(crate) fn users(first: u64, conversations: usize) -> Vec<User> {
    (first..first + 6).map(|number| user(number, conversations)).collect()
}

/// Makes a user with that many conversations, at least [`WEEKS`]: what goes beyond is small talk in which somebody is
/// mentioned. The questions do not depend on it.
pub(crate) fn user(number: u64, conversations: usize) -> User {
    let mut draft = Draft::new(number);
    draft.changing();
    draft.lasting();
    draft.events();
    draft.people();
    for _ in 0..OTHERS {
        let week = draft.dice.below(WEEKS);
        let said = draft.of_another();
        draft.weeks[week].push(said);
    }
    draft.never_said();
    let start: Timestamp = START.parse().expect("a time");
    let weeks = std::mem::take(&mut draft.weeks);
    let mut all: Vec<Conversation> = Vec::new();
    for (said, week) in weeks.into_iter().zip(0..) {
        all.push(draft.conversation(start.plus_millis(week * 7 * DAY_MS), said, |dice| dice.below(2)));
    }
    let more = conversations.saturating_sub(WEEKS) as i64;
    for place in 1..=more {
        let at = start.plus_millis(WEEKS as i64 * 7 * DAY_MS * place / (more + 1) + DAY_MS / 24);
        let said = vec![draft.of_another()];
        all.push(draft.conversation(at, said, |_| EXCHANGES));
    }
    all.sort_by_key(|conversation| conversation.at);
    User { conversations: all, questions: draft.questions }
}

/// A statement in the user's words and as a memory.
struct Said {
    text: String,
    told: Told,
}

/// What fills the gaps of a sentence.
type Words<'a> = [(&'a str, &'a str)];

struct Draft {
    dice: Dice,
    /// Values by list, shuffled; each is drawn once.
    values: HashMap<&'static str, Vec<&'static str>>,
    /// Small talk, shuffled; it begins again when all was said.
    small_talk: Vec<(&'static str, &'static str)>,
    talked: usize,
    /// People of whom one thing was told.
    others: usize,
    weeks: Vec<Vec<Said>>,
    questions: Vec<Question>,
}

impl Draft {
    fn new(number: u64) -> Draft {
        let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut values = HashMap::new();
        for [list, all] in rows(VALUES) {
            let mut all: Vec<&str> = all.split('|').collect();
            dice.shuffle(&mut all);
            values.insert(list, all);
        }
        let mut small_talk: Vec<_> = rows(SMALL_TALK).map(|[asked, answered]| (asked, answered)).collect();
        dice.shuffle(&mut small_talk);
        let weeks = (0..WEEKS).map(|_| Vec::new()).collect();
        Draft { dice, values, small_talk, talked: 0, others: 0, weeks, questions: Vec::new() }
    }

    fn value(&mut self, list: &str) -> &'static str {
        self.values.get_mut(list).and_then(Vec::pop).unwrap_or_else(|| panic!("no value is left of {list}"))
    }

    fn shuffled<T: Clone>(&mut self, all: &[T]) -> Vec<T> {
        let mut all = all.to_vec();
        self.dice.shuffle(&mut all);
        all
    }

    /// One of the sentences about a topic; `when` is `first` or `later`.
    fn said(&mut self, topic: &str, when: &str, words: &Words<'_>) -> Said {
        let fitting: Vec<[&str; 4]> = rows(STATEMENTS).filter(|[of, at, _, _]| *of == topic && *at == when).collect();
        let [_, _, text, memory] = self.dice.one_of(&fitting);
        let keywords = rows(KEYWORDS).find(|[of, _]| *of == topic).map_or("", |[_, words]| words);
        let people = words.iter().filter(|(gap, _)| ["name", "other"].contains(gap));
        let told = Told {
            text: filled(memory, words),
            is_event: EVENTS.iter().any(|(event, _)| *event == topic),
            entities: people.map(|(_, name)| (*name).to_owned()).collect(),
            keywords: keywords.split('|').map(str::to_owned).collect(),
            replaces: None,
        };
        Said { text: filled(text, words), told }
    }

    /// One of the questions about a topic; `when` is `now` or `before`.
    fn ask(&mut self, kind: Kind, topic: &str, when: &str, who: &str, answers: &[&str], outdated: &[&str]) {
        let fitting: Vec<[&str; 3]> = rows(QUESTIONS).filter(|[of, at, _]| *of == topic && *at == when).collect();
        let [_, _, text] = self.dice.one_of(&fitting);
        let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let text = filled(text, &[("who", who)]);
        self.questions.push(Question { kind, text, answers: owned(answers), outdated: owned(outdated) });
    }

    /// What changes: the first topic twice, others once, and those that are not asked about never.
    fn changing(&mut self) {
        for (place, (topic, list)) in self.shuffled(&CHANGING).into_iter().enumerate() {
            let mut values = vec![self.value(list)];
            let said = self.said(topic, "first", &[("value", values[0])]);
            let mut last = said.told.text.clone();
            let week = self.dice.below(3);
            self.weeks[week].push(said);
            let changes = if place == 0 { 2 } else { usize::from(place < ASKED) };
            for change in 0..changes {
                values.push(self.value(list));
                let mut said = self.said(topic, "later", &[("value", values[change + 1])]);
                said.told.replaces = Some(std::mem::replace(&mut last, said.told.text.clone()));
                let week = 3 + 2 * change + self.dice.below(2);
                self.weeks[week].push(said);
            }
            if let [outdated @ .., before, now] = &values[..] {
                let outdated = [outdated, &[before]].concat();
                self.ask(Kind::Update, topic, "now", "", &[now], &outdated);
                self.ask(Kind::History, topic, "before", "", &[before], &[]);
            }
        }
    }

    fn lasting(&mut self) {
        for (place, (topic, list)) in self.shuffled(&LASTING).into_iter().enumerate() {
            if place < ASKED + LASTING_UNASKED {
                let value = self.value(list);
                let said = self.said(topic, "first", &[("value", value)]);
                let week = self.dice.below(WEEKS);
                self.weeks[week].push(said);
                if place < ASKED {
                    self.ask(Kind::Single, topic, "now", "", &[value], &[]);
                }
            } else if place < ASKED + LASTING_UNASKED + ASKED / 2 {
                self.ask(Kind::Abstention, topic, "now", "", &[], &[]);
            }
        }
    }

    /// What happens in three conversations; the topic that is not asked about, in one.
    fn events(&mut self) {
        for (place, (topic, list)) in self.shuffled(&EVENTS).into_iter().enumerate() {
            let weeks = self.shuffled(&(0..WEEKS).collect::<Vec<_>>());
            let mut values = Vec::new();
            for week in weeks.into_iter().take(if place < ASKED { TIMES } else { 1 }) {
                let value = self.value(list);
                let said = self.said(topic, "first", &[("value", value)]);
                self.weeks[week].push(said);
                values.push(value);
            }
            if place < ASKED {
                self.ask(Kind::MultiSession, topic, "now", "", &values, &[]);
            }
        }
    }

    /// Who somebody is, weeks later who is related to them, and weeks later something about either.
    fn people(&mut self) {
        let facts = self.shuffled(&OF_PEOPLE);
        for place in 0..ROLES {
            let (role, name) = (self.value("role"), self.value("name"));
            let said = self.said("role", "first", &[("role", role), ("name", name)]);
            let week = self.dice.below(3);
            self.weeks[week].push(said);
            let Some((topic, list)) = facts.get(place) else { continue };
            let (mut subject, mut who) = (name, [format!("my {role}"), format!("the user's {role}")]);
            let is_far = place >= facts.len() / 2;
            if is_far {
                let (tie, other) = (self.value("tie"), self.value("name"));
                let said = self.said("tie", "first", &[("tie", tie), ("name", name), ("other", other)]);
                let week = 3 + self.dice.below(2);
                self.weeks[week].push(said);
                (subject, who) = (other, [format!("the {tie} of my {role}"), format!("the user's {role}'s {tie}")]);
            }
            let value = self.value(list);
            let said = self.said(topic, "first", &[("name", subject), ("value", value)]);
            let week = 5 + self.dice.below(3);
            self.weeks[week].push(said);
            let kind = if is_far { Kind::GraphFar } else { Kind::Graph };
            let who = self.dice.one_of(&who);
            self.ask(kind, topic, "now", &who, &[value], &[]);
        }
    }

    /// One thing about somebody of whom nothing else is told.
    fn of_another(&mut self) -> Said {
        let (topic, list) = OF_PEOPLE[self.others % OF_PEOPLE.len()];
        self.others += 1;
        let (name, value) = (self.value("name"), self.value(list));
        self.said(topic, "first", &[("name", name), ("value", value)])
    }

    /// Half of what cannot be answered: what no user speaks of.
    fn never_said(&mut self) {
        let mut questions: Vec<&str> =
            rows(QUESTIONS).filter(|[topic, _, _]| *topic == "never").map(|[_, _, text]| text).collect();
        self.dice.shuffle(&mut questions);
        for text in questions.into_iter().take(ASKED / 2) {
            let kind = Kind::Abstention;
            self.questions.push(Question { kind, text: text.to_owned(), answers: Vec::new(), outdated: Vec::new() });
        }
    }

    /// Statements and replies, and before each of them some small talk.
    fn conversation(
        &mut self,
        at: Timestamp,
        mut all: Vec<Said>,
        exchanges: impl Fn(&mut Dice) -> usize,
    ) -> Conversation {
        self.dice.shuffle(&mut all);
        let replies: Vec<&str> = REPLIES.lines().collect();
        let (mut turns, mut told) = (Vec::new(), Vec::new());
        let mut exchange = |user: &str, assistant: &str| {
            turns.push(Turn { speaker: "user", text: user.to_owned() });
            turns.push(Turn { speaker: "assistant", text: assistant.to_owned() });
        };
        for said in all {
            for _ in 0..exchanges(&mut self.dice) {
                let (asked, answered) = self.small_talk[self.talked % self.small_talk.len()];
                self.talked += 1;
                exchange(asked, answered);
            }
            exchange(&said.text, self.dice.one_of(&replies));
            told.push(said.told);
        }
        Conversation { at, turns, told }
    }
}

/// The lines of a table, each cut at its tabs.
fn rows<const COLUMNS: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; COLUMNS]> {
    table.lines().map(|line| line.split('\t').collect::<Vec<_>>().try_into().expect("as many columns as are named"))
}

/// A sentence with its gaps filled, and a capital first.
fn filled(sentence: &str, words: &Words<'_>) -> String {
    let text = words.iter().fold(sentence.to_owned(), |text, (gap, word)| text.replace(&format!("{{{gap}}}"), word));
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Repeatable numbers (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for place in (1..all.len()).rev() {
            all.swap(place, self.below(place + 1));
        }
    }
}
