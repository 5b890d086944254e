//! A list of operations, carried out by two processes on one home, and on a simple model.
//!
//! - Every answer is the one that the model expects.
//! - After each operation what either process serves is what the model holds; so it is for whoever opens the home
//!   afresh, with the index or without, after crashes that left half a line, and after compaction.
//! - Every memory that is there is found by its own words.
//! - In the end nothing is wrong with the home.

mod model;

use std::fs;
use std::io::Write as _;

use ebbmark::clock::{DAY_MS, HOUR_MS};
use ebbmark::engine::{
    Engine, ForgetRequest, InspectRequest, NewMemory, PromoteRequest, RecallRequest, ReinforceRequest, RememberRequest,
    RestoreRequest, ReviseRequest, TidyRequest,
};

use self::model::{Item, Model};
use super::home::{Choices, Home, findings, opened};

/// Operations of one input.
const MOST: usize = 48;

/// Sentences of which no two say the same.
const TEXTS: [&str; 8] = [
    "Prefers tea over coffee in the morning.",
    "The billing API listens on port 8080.",
    "Owns a red bicycle from 1998.",
    "Rents a garage by the canal.",
    "Ada never deploys on a Friday.",
    "The cat is called Pangur and sleeps [[upstairs]].",
    "Moved the archive to PostgreSQL\n%% in March %%.",
    "Allergic to peanuts.",
];
const TAGS: [&str; 3] = ["ops/ports", "home", "food"];
const SCOPES: [&str; 2] = ["global", "falcon"];

/// Each byte list is a list of operations.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut run = Run::new();
    for _ in 0..MOST {
        if choices.is_empty() {
            break;
        }
        run.step(&mut choices);
    }
    run.reopen();
    run.compare(0);
    run.compare(1);
    // Half a line that was left ends with the next write, and goes with compaction.
    run.remember(1, &mut Choices::new(&[0, 2]));
    run.engines[0].compact(false).unwrap();
    run.model.compact(run.home.now);
    run.reopen();
    run.compare(0);
    assert_eq!(findings(&run.engines[0]), [] as [&str; 0]);
}

struct Run {
    home: Home,
    engines: [Engine; 2],
    model: Model,
}

impl Run {
    fn new() -> Self {
        let home = Home::new();
        let engines = [home.engine(), home.engine()];
        Run { home, engines, model: Model::default() }
    }

    /// Both processes end, and two others begin.
    fn reopen(&mut self) {
        self.engines = [self.home.engine(), self.home.engine()];
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let what = choices.byte();
        let who = usize::from(what >> 7);
        match what % 16 {
            0..=3 => self.remember(who, choices),
            4 | 5 => self.revise(who, choices),
            6 => self.reinforce(who, choices),
            7 => self.forget(who, choices),
            8 => self.restore(who, choices),
            9 => {
                let is_dry = choices.below(4) == 0;
                self.engines[who].compact(is_dry).unwrap();
                if !is_dry {
                    self.model.compact(self.home.now);
                }
            }
            // Folding the index takes longer than all else.
            10 if choices.below(4) == 0 => {
                let answer = self.engines[who].tidy(&TidyRequest::default()).unwrap();
                assert_eq!((&answer.edited, &answer.problems), (&Vec::new(), &Vec::new()));
                self.model.promoted(answer.promoted.iter().map(|promoted| promoted.id.as_str()));
            }
            11 => {
                let hours = if choices.is_heads() { choices.below(48) } else { 24 * choices.below(45) };
                self.home.now = self.home.now.plus_millis(hours as i64 * HOUR_MS);
                self.reopen();
            }
            12 => {
                if choices.is_heads() && self.home.path().join("cache").exists() {
                    fs::remove_dir_all(self.home.path().join("cache")).unwrap();
                }
                self.reopen();
            }
            13 => self.promote(who, choices),
            14 => self.tear(),
            _ => self.find(who, choices),
        }
        self.compare(1 - who);
    }

    fn remember(&mut self, who: usize, choices: &mut Choices<'_>) {
        let count = 1 + choices.below(3);
        let key = match choices.below(6) {
            0 => Some("one"),
            1 => Some("two"),
            _ => None,
        };
        let mut items = Vec::new();
        for _ in 0..count {
            let (text, scope, switches) = (choices.below(TEXTS.len()), choices.below(2), choices.byte());
            let tags = TAGS.iter().enumerate().filter(|(bit, _)| switches & 1 << bit != 0);
            // What is not there to be superseded fails an item, and then a key would hold half a call.
            let older = (switches & 8 != 0 && key.is_none()).then(|| self.model.some_id(choices.byte())).flatten();
            items.push(Item {
                text: TEXTS[text].into(),
                scope: SCOPES[scope].into(),
                tags: tags.map(|(_, tag)| (*tag).into()).collect(),
                is_pinned: switches & 16 != 0,
                older,
            });
        }
        let memories: Vec<NewMemory> = items
            .iter()
            .map(|item| NewMemory {
                text: item.text.clone(),
                scope: Some(item.scope.clone()),
                tags: item.tags.clone(),
                pinned: Some(item.is_pinned),
                supersedes: item.older.iter().cloned().collect(),
                ..NewMemory::default()
            })
            .collect();
        let request = RememberRequest { op_key: key.map(str::to_owned), ..RememberRequest::of(&memories) };
        let answer = self.engines[who].remember(&request);
        self.model.remember(key, items, self.home.now, answer);
    }

    fn revise(&mut self, who: usize, choices: &mut Choices<'_>) {
        let Some(id) = self.model.some_id(choices.byte()) else { return };
        let mut request = ReviseRequest { id: id.clone(), ..ReviseRequest::default() };
        let value = choices.byte();
        match choices.below(6) {
            0 | 1 => request.text = Some(TEXTS[usize::from(value) % TEXTS.len()].into()),
            2 => request.title = Some(["", "A title", "Another: \"title\" [[x]]"][usize::from(value) % 3].into()),
            3 => {
                let tags = TAGS.iter().enumerate().filter(|(bit, _)| value & 1 << bit != 0);
                request.tags = Some(tags.map(|(_, tag)| (*tag).to_owned()).collect());
            }
            4 => request.pinned = Some(value % 2 == 1),
            _ => request.strength = Some(f64::from(value) / 128.0),
        }
        let answer = self.engines[who].revise(&request);
        self.model.revise(&request, answer);
    }

    /// One or two ids, known ones.
    fn ids(&self, choices: &mut Choices<'_>) -> Vec<String> {
        let count = 1 + choices.below(2);
        (0..count).filter_map(|_| self.model.some_id(choices.byte())).collect()
    }

    fn reinforce(&mut self, who: usize, choices: &mut Choices<'_>) {
        let ids = self.ids(choices);
        if ids.is_empty() {
            return;
        }
        let request = ReinforceRequest { ids, boost: Some(choices.is_heads()), ..ReinforceRequest::default() };
        let answer = self.engines[who].reinforce(&request).unwrap();
        self.model.reinforce(&request, self.home.now, &answer);
    }

    fn forget(&mut self, who: usize, choices: &mut Choices<'_>) {
        let ids = self.ids(choices);
        if !ids.is_empty() {
            let answer =
                self.engines[who].forget(&ForgetRequest { ids: ids.clone(), ..ForgetRequest::default() }).unwrap();
            assert_eq!(answer.notice, None);
            self.model.forget(&ids, self.home.now, &answer);
        }
    }

    fn restore(&mut self, who: usize, choices: &mut Choices<'_>) {
        let ids = self.ids(choices);
        if !ids.is_empty() {
            let faded: Vec<String> = opened(&self.engines[who], &ids)
                .into_iter()
                .filter(|memory| memory.memory.status == "faded")
                .map(|memory| memory.memory.id)
                .collect();
            let answer = self.engines[who].restore(&RestoreRequest { ids: ids.clone() }).unwrap();
            assert_eq!(answer.notice, None);
            self.model.restore(&ids, &faded, self.home.now, &answer);
        }
    }

    fn promote(&mut self, who: usize, choices: &mut Choices<'_>) {
        let ids = self.ids(choices);
        if !ids.is_empty() {
            let request = PromoteRequest { ids: ids.clone(), ..PromoteRequest::default() };
            let answer = self.engines[who].promote(&request).unwrap();
            assert_eq!(answer.notice, None);
            let promoted: Vec<&str> = answer.promoted.iter().map(|promoted| promoted.id.as_str()).collect();
            for id in &ids {
                assert_eq!(promoted.contains(&id.as_str()), self.model.may_promote(id), "{id}: {answer:?}");
            }
            self.model.promoted(promoted.into_iter());
            for promoted in &answer.promoted {
                assert!(self.home.vault().join(&promoted.note).is_file(), "{promoted:?}");
            }
        }
    }

    /// A process ends in the middle of a line.
    fn tear(&self) {
        if self.home.journal().exists() {
            let mut file = fs::OpenOptions::new().append(true).open(self.home.journal()).unwrap();
            file.write_all(br#"{"v":1,"n":7,"at":"2026"#).unwrap();
        }
    }

    /// Whatever says these words is found by them.
    fn find(&self, who: usize, choices: &mut Choices<'_>) {
        let text = TEXTS[choices.below(TEXTS.len())];
        let request = RecallRequest {
            limit: Some(50),
            include: vec!["faded".into(), "superseded".into(), "all_scopes".into()],
            reinforce: Some(false),
            ..RecallRequest::of(text)
        };
        let answer = self.engines[who].recall(&request).unwrap();
        let hits: Vec<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
        for id in self.model.saying(text) {
            assert!(hits.contains(&id) || hits.len() == 50, "{id} is not found by `{text}`");
        }
        assert!(hits.iter().all(|id| self.model.is_there(id)), "{hits:?}");
    }

    /// What this process serves is what the model holds.
    fn compare(&self, who: usize) {
        let engine = &self.engines[who];
        self.model.compare(&opened(engine, &self.model.ids()));
        let stats = engine.inspect(&InspectRequest::default()).unwrap().stats.unwrap();
        self.model.compare_counts(&stats);
    }
}

/// Days for which a forgotten memory is kept, in milliseconds.
const KEEP_MS: i64 = 30 * DAY_MS;
