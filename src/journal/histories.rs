//! Random histories of several machines: whatever happens in whatever order, compaction and syncing change nothing.
//!
//! Every machine writes its own file, sees stale copies of the others', and compacts. At the end the fold over all
//! files must be the fold over all lines that were ever written. A memory that was forgotten at some time is
//! compared for existence only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;

use super::{Stamper, codec, compact};
use crate::clock::{DAY_MS, Timestamp};
use crate::id::{MemoryId, hash64};
use crate::kinds::Kind;
use crate::memory::{By, Line, Memory, Op, SUPERSEDES, Source, State};

const KEEP_DAYS: i64 = 30;

/// A rule that a test takes out, to show that the histories notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// A duplicate is acknowledged without telling the content again.
    AgainWithoutContent,
    /// Compaction keeps only what is about memories born in the same file.
    OwnMemoriesOnly,
    /// Dropped memories leave no tombstone.
    NoTombstones,
    /// A line about a memory need not come after what is known of it.
    OrderByClockOnly,
}

#[derive(Debug, Clone)]
struct Step {
    machine: usize,
    what: u8,
    pick: usize,
    minutes: i64,
}

fn steps(machines: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..machines, 0u8..100, 0usize..1000, prop_oneof![8 => 1i64..300, 1 => 5_000i64..60_000])
        .prop_map(|(machine, what, pick, minutes)| Step { machine, what, pick, minutes });
    proptest::collection::vec(step, 10..80)
}

struct Machine {
    name: String,
    file: Vec<u8>,
    /// Copies of all machines' files as this one last saw them.
    view: BTreeMap<usize, Vec<u8>>,
    number: u64,
    skew_days: i64,
}

struct World {
    machines: Vec<Machine>,
    /// Every line ever written, with its replica.
    ever: Vec<(String, Vec<u8>)>,
    born: usize,
    wall: Timestamp,
    ever_forgotten: BTreeSet<MemoryId>,
    broken: Broken,
}

fn fold<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> State {
    let files: Vec<_> = files.collect();
    let mut state = State::default();
    loop {
        for (replica, file) in &files {
            for (place, line) in file.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
                let read = codec::parse(line).unwrap();
                let number = read.line.n.unwrap_or(place as u64 + 1);
                state.apply(read.line, replica, number, read.crc);
            }
        }
        let Some(again) = state.to_fold_again() else { break };
        state = again;
    }
    state.settle();
    state
}

impl World {
    fn new(skews_days: &[i64], broken: Broken) -> Self {
        let machines = skews_days
            .iter()
            .enumerate()
            .map(|(index, skew_days)| Machine {
                name: format!("machine{index}"),
                file: Vec::new(),
                view: BTreeMap::new(),
                number: 0,
                skew_days: *skew_days,
            })
            .collect();
        let wall = Timestamp::parse_lenient("2026-01-01").unwrap();
        World { machines, ever: Vec::new(), born: 0, wall, ever_forgotten: BTreeSet::new(), broken }
    }

    fn seen(&self, machine: usize) -> State {
        let own = &self.machines[machine];
        let others = own.view.iter().filter(|(index, _)| **index != machine);
        let others = others.map(|(index, file)| (self.machines[*index].name.as_str(), file.as_slice()));
        fold(others.chain([(own.name.as_str(), own.file.as_slice())]))
    }

    fn greatest_order(&self, machine: usize, now: Timestamp) -> i64 {
        let own = &self.machines[machine];
        let files = own.view.iter().filter(|(index, _)| **index != machine).map(|(_, file)| file).chain([&own.file]);
        files
            .flat_map(|file| file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()))
            .map(|line| codec::parse(line).unwrap().line.order())
            .filter(|order| *order <= now.millis() + DAY_MS)
            .max()
            .unwrap_or(i64::MIN)
    }

    fn write(&mut self, machine: usize, now: Timestamp, state: &State, mut line: Line) {
        let order = self.greatest_order(machine, now);
        let newest = line.id.and_then(|id| state.newest_order(id)).filter(|_| self.broken != Broken::OrderByClockOnly);
        let own = &mut self.machines[machine];
        let mut stamper = Stamper::new(own.number, order);
        stamper.stamp(&mut line, now, newest);
        own.number += 1;
        let bytes = codec::render(&line).unwrap();
        own.file.extend_from_slice(&bytes);
        self.ever.push((own.name.clone(), bytes));
    }

    /// Takes one step; answers with what went wrong.
    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.wall = self.wall.plus_millis(step.minutes * 60_000);
        let machine = step.machine;
        let now = self.wall.plus_millis(self.machines[machine].skew_days * DAY_MS);
        let state = self.seen(machine);
        let mut known: Vec<&Memory> = state.memories().collect();
        known.sort_unstable_by_key(|memory| memory.id);
        let memory = known.get(step.pick % known.len().max(1)).copied();
        let mut forgotten: Vec<&Memory> = state.all_forgotten().collect();
        forgotten.sort_unstable_by_key(|memory| memory.id);
        let word = format!("w{}-{}", self.ever.len(), machine);
        let name = &self.machines[machine].name;
        let line = match (step.what, memory) {
            (0..18, _) | (_, None) if step.what < 80 => {
                self.born += 1;
                let id = MemoryId::from_source(&self.born.to_string());
                let source = Source { client: Some(word.clone()), ..Source::default() };
                Line {
                    text: Some(word.clone()),
                    title: Some(word),
                    tags: Some(vec!["t".into()]),
                    source: Some(source),
                    supersedes: memory
                        .filter(|_| step.pick.is_multiple_of(5))
                        .map(|memory| memory.id)
                        .into_iter()
                        .collect(),
                    ..Line::about(Op::Remember, id)
                }
            }
            (18..36, Some(memory)) => {
                let mut line = Line::about(Op::Revise, memory.id);
                match step.pick % 7 {
                    0 => line.text = Some(word),
                    1 => line.title = Some(word),
                    2 => line.clear = vec!["title".into()],
                    3 => line.strength = Some((step.pick % 20) as f64 / 10.0),
                    4 => line.tags = Some(vec![word]),
                    5 => line.kind = Some(Kind::ALL[step.pick % Kind::ALL.len()]),
                    _ => line.pinned = Some(step.pick.is_multiple_of(4)),
                }
                line
            }
            (36..52, Some(memory)) => Line {
                hours: vec![now.hour()],
                mentions: state.mentions_of(memory.id, name) + 1,
                contexts: vec![format!("c{}", step.pick % 3)],
                ..Line::about(Op::Use, memory.id)
            },
            (52..58, Some(memory)) => {
                self.ever_forgotten.insert(memory.id);
                if step.pick.is_multiple_of(3) {
                    Line { hash: Some(word), ..Line::about(Op::Purge, memory.id) }
                } else {
                    Line::about(Op::Forget, memory.id)
                }
            }
            (58..64, Some(memory)) => {
                let whole = memory.whole_line(Op::Remember, state.said_to_supersede(memory.id));
                let whole = if self.broken == Broken::AgainWithoutContent {
                    Line { again: true, ..Line::about(Op::Remember, memory.id) }
                } else {
                    whole
                };
                let source = Source { client: Some(word), ..Source::default() };
                Line { hours: vec![now.hour()], source: Some(source), ..whole }
            }
            (64..68, Some(_)) if !forgotten.is_empty() => {
                let memory = forgotten[step.pick % forgotten.len()];
                memory.whole_line(Op::Restore, state.said_to_supersede(memory.id))
            }
            (68..72, Some(memory)) => Line {
                path: Some(format!("Memories/{word}.md")),
                hash: Some(word),
                ..Line::about(Op::Promote, memory.id)
            },
            (72..76, Some(memory)) => Line {
                text: Some(word.clone()),
                hash: Some(word),
                by: Some(if step.pick.is_multiple_of(3) { By::Ebbmark } else { By::Person }),
                ..Line::about(Op::Note, memory.id)
            },
            (76..80, Some(memory)) => Line {
                from: Some(memory.id.to_string()),
                to: Some(known[(step.pick / 7) % known.len()].id.to_string()),
                relation: Some(if step.pick.is_multiple_of(2) { SUPERSEDES.into() } else { "related".into() }),
                ..Line::new(if step.pick.is_multiple_of(9) { Op::Unrelate } else { Op::Relate })
            },
            (80..92, _) => {
                for index in 0..self.machines.len() {
                    let copy = self.machines[index].file.clone();
                    self.machines[machine].view.insert(index, copy);
                }
                return Ok(());
            }
            _ => return self.compact(machine, now, &state),
        };
        self.write(machine, now, &state, line);
        Ok(())
    }

    fn compact(&mut self, machine: usize, now: Timestamp, before: &State) -> Result<(), String> {
        let file = self.machines[machine].file.clone();
        let keep_from = now.plus_millis(-KEEP_DAYS * DAY_MS);
        let plan = compact::plan(Path::new("j"), &file, now, |id| before.ended(id, Some(keep_from))).unwrap();
        let mut bytes = plan.bytes;
        let number = self.machines[machine].number + 1;
        if self.broken != Broken::NoTombstones && !plan.tombstones.is_empty() {
            bytes.extend_from_slice(&compact::packed(plan.tombstones, number, now).unwrap());
            self.machines[machine].number = number;
        }
        if self.broken == Broken::OwnMemoriesOnly {
            let born_here = |id: MemoryId| {
                let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                lines
                    .map(|line| codec::parse(line).unwrap().line)
                    .any(|line| line.op == Op::Remember && line.id == Some(id))
            };
            let keeps = |line: &[u8]| codec::parse(line.trim_ascii()).unwrap().line.id.is_none_or(born_here);
            bytes =
                bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| keeps(line)).flatten().copied().collect();
        }
        self.machines[machine].file = bytes;
        self.purged_text_is_gone(machine, before)?;
        let after = self.seen(machine);
        self.same(before, &after).map_err(|why| format!("compaction changed the own view: {why}"))?;
        let file = &self.machines[machine].file;
        let again = compact::plan(Path::new("j"), file, now, |id| after.ended(id, None)).unwrap();
        if again.changes(&self.machines[machine].file) {
            return Err("a second compaction changed something".into());
        }
        if again.report.purged > 0 {
            return Err("a purge is said to be unfinished".into());
        }
        Ok(())
    }

    /// After a compaction no line of the own file says anything that was purged.
    fn purged_text_is_gone(&self, machine: usize, before: &State) -> Result<(), String> {
        for line in self.machines[machine].file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = codec::parse(line).unwrap().line;
            let purge = line.id.and_then(|id| before.purge_of(id));
            let says = line.text.is_some() || line.title.is_some() || line.source.is_some() || line.path.is_some();
            if says && purge.is_some_and(|purge| line.order() <= purge.order) {
                return Err(format!("a purged text is still there: {line:?}"));
            }
        }
        Ok(())
    }

    fn same(&self, expected: &State, got: &State) -> Result<(), String> {
        Self::same_but(expected, got, &self.ever_forgotten)
    }

    /// The same memories, saying the same; those of `existence_only` need but exist in both.
    fn same_but(expected: &State, got: &State, existence_only: &BTreeSet<MemoryId>) -> Result<(), String> {
        let sorted = |state: &State| -> BTreeMap<MemoryId, Memory> {
            state.memories().map(|memory| (memory.id, memory.clone())).collect()
        };
        let (expected, got) = (sorted(expected), sorted(got));
        let ids: BTreeSet<MemoryId> = expected.keys().chain(got.keys()).copied().collect();
        for id in ids {
            match (expected.get(&id), got.get(&id)) {
                (Some(_), None) => return Err(format!("{id} is lost")),
                (None, Some(_)) => return Err(format!("{id} came back")),
                (a, b) if a != b && !existence_only.contains(&id) => {
                    return Err(format!("{id} differs:\n{a:#?}\n{b:#?}"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// All files against all lines ever, in order, shuffled, and with copies.
    fn check(&self) -> Result<(), String> {
        let expected = fold(self.ever.iter().map(|(replica, line)| (replica.as_str(), line.as_slice())));
        let files = || self.machines.iter().map(|machine| (machine.name.as_str(), machine.file.as_slice()));
        self.same(&expected, &fold(files()))?;
        let mut shuffled: Vec<&(String, Vec<u8>)> = self.ever.iter().chain(&self.ever).collect();
        shuffled.sort_by_key(|(_, line)| hash64(line));
        let shuffled = fold(shuffled.into_iter().map(|(replica, line)| (replica.as_str(), line.as_slice())));
        Self::same_but(&expected, &shuffled, &BTreeSet::new())
            .map_err(|why| format!("the order of arrival matters: {why}"))
    }
}

fn run(skews_days: &[i64], broken: Broken, steps: &[Step]) -> Result<(), String> {
    let mut world = World::new(skews_days, broken);
    for step in steps {
        world.step(step)?;
    }
    world.check()
}

/// Runs histories until one is found wrong.
fn finds_fault(broken: Broken, skews_days: &[i64]) -> bool {
    let config =
        ProptestConfig { failure_persistence: None, cases: 3000, max_shrink_iters: 0, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let found =
        runner.run(&steps(skews_days.len()), |steps| run(skews_days, broken, &steps).map_err(TestCaseError::fail));
    found.is_err()
}

/// 600 histories, or more where `PROPTEST_CASES` says so.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: config.cases.max(600), ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn two_machines_agree_with_every_line_ever_written(steps in steps(2)) {
        run(&[0, 0], Broken::Nothing, &steps).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn three_machines_agree_with_every_line_ever_written(steps in steps(3)) {
        run(&[0, 0, 0], Broken::Nothing, &steps).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_clock_thirty_years_fast_poisons_nothing(steps in steps(3)) {
        run(&[0, 10_957, -10_957], Broken::Nothing, &steps).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn the_histories_notice_a_rule_taken_out() {
    assert!(finds_fault(Broken::AgainWithoutContent, &[0, 0]), "again without content");
    assert!(finds_fault(Broken::OwnMemoriesOnly, &[0, 0]), "own memories only");
    assert!(finds_fault(Broken::NoTombstones, &[0, 0, 0]), "no tombstones");
}

/// A machine whose clock is decades fast forgets, revises and restores; the others' later words still count.
#[test]
fn later_words_win_over_a_fast_clock() {
    for broken in [Broken::Nothing, Broken::OrderByClockOnly] {
        let mut world = World::new(&[0, 10_957], broken);
        let step = |machine, what, pick| Step { machine, what, pick, minutes: 10 };
        world.step(&step(0, 0, 1)).unwrap();
        world.step(&step(1, 85, 0)).unwrap();
        world.step(&step(1, 18, 0)).unwrap();
        world.step(&step(0, 85, 0)).unwrap();
        world.step(&step(0, 18, 7)).unwrap();
        let state = world.seen(0);
        let memory = state.memories().next().unwrap();
        let is_newest = memory.text == "w2-0";
        assert_eq!(is_newest, broken == Broken::Nothing, "{broken:?}: {}", memory.text);
    }
}

/// Found by the histories: every field of the note had been said twice, and the purge took it for nothing said.
#[test]
fn a_purge_that_is_read_after_two_later_notes_takes_neither() {
    let steps = [
        (0, 0, 0),
        (2, 0, 0),
        (2, 0, 581),
        (0, 80, 0),
        (2, 52, 879),
        (1, 0, 0),
        (1, 0, 0),
        (1, 52, 0),
        (1, 0, 0),
        (0, 72, 142),
        (2, 64, 0),
        (1, 80, 0),
        (1, 72, 703),
        (0, 0, 0),
        (0, 64, 0),
    ];
    let steps = steps.map(|(machine, what, pick)| Step { machine, what, pick, minutes: 1 });
    for skews_days in [[0, 0, 0], [0, 10_957, -10_957]] {
        run(&skews_days, Broken::Nothing, &steps).unwrap();
    }
}
