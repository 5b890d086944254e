//! What a serving process does by itself: when, whether it is switched off, and that nobody waits for it.

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use ebbmark::clock::{HOUR_MS, Timestamp};
use ebbmark::engine::{
    Engine, ForgetRequest, InspectRequest, NewMemory, PromoteRequest, RecallRequest, ReinforceRequest, RememberRequest,
    UpkeepTask, VaultChange, View, Watching,
};
use ebbmark::files::Patience;

use crate::support::{Calls, Store};

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;
/// Longer than anything here takes; a test that waits this long has failed.
const LONG: Duration = Duration::from_secs(30);

/// A serving engine whose clock the test moves.
struct Serving {
    engine: Engine,
    clock: Arc<AtomicI64>,
}

impl Serving {
    /// One that has just taken its first step.
    fn on(store: &Store) -> Serving {
        let (engine, clock) = store.engine_with_moved_clock();
        let serving = Serving { engine, clock };
        serving.settle();
        serving
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::SeqCst))
    }

    fn pass(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// Takes steps until nothing more is due at this time.
    fn settle(&self) {
        for _ in 0..10 {
            let (next, outcome) = self.engine.step();
            outcome.unwrap();
            if next.millis() - self.now().millis() >= SECOND_MS {
                return;
            }
        }
        panic!("upkeep comes to no rest: {:?}", self.tasks());
    }

    /// As [`Serving::settle`], later.
    fn settle_after(&self, millis: i64) {
        self.pass(millis);
        self.settle();
    }

    fn tasks(&self) -> Vec<UpkeepTask> {
        let request = InspectRequest::of(View::Health);
        self.engine.inspect(&request).unwrap().health.unwrap().upkeep
    }

    fn task(&self, name: &str) -> UpkeepTask {
        self.tasks().into_iter().find(|task| task.task == name).unwrap()
    }
}

fn switched(store: &Store, task: &str, is_on: bool) {
    store.configure(&format!("[upkeep]\n{task} = {is_on}\n[forget]\nkeep_days = 0\n"));
}

fn assert_shown(serving: &Serving, task: &str, is_on: bool, outcome: &str) {
    let shown = serving.task(task);
    if is_on {
        assert_eq!((shown.outcome.as_str(), shown.last), (outcome, Some(serving.now())));
    } else {
        assert_eq!(shown.outcome, format!("off: [upkeep] {task} = false"));
        assert_eq!((shown.last, shown.next), (None, None));
    }
}

/// Remembers many distinct sentences; their ids.
fn fill(engine: &Engine, numbers: std::ops::Range<usize>) -> Vec<String> {
    let memories: Vec<NewMemory> =
        numbers.map(|number| NewMemory { text: format!("Stone {number} is flat"), ..NewMemory::default() }).collect();
    let answers = memories.chunks(1_000).map(|some| engine.remember(&RememberRequest::of(some)).unwrap());
    answers.flat_map(|answer| answer.results).map(|result| result.id.unwrap()).collect()
}

fn reinforce(engine: &Engine, id: &str) {
    engine.reinforce(&ReinforceRequest { ids: vec![id.into()], ..ReinforceRequest::default() }).unwrap();
}

#[test]
fn new_memories_are_folded_into_the_index_unless_that_is_switched_off() {
    for is_on in [true, false] {
        let store = Store::in_memory();
        switched(&store, "index", is_on);
        let serving = Serving::on(&store);
        fill(&serving.engine, 0..3);
        serving.settle_after(59 * SECOND_MS);
        assert_eq!(serving.engine.counts().not_indexed, 3, "a few wait for a minute");
        serving.settle_after(2 * SECOND_MS);
        assert_eq!(serving.engine.counts().not_indexed, if is_on { 0 } else { 3 });
        assert_shown(&serving, "index", is_on, "memories folded in: 3");

        fill(&serving.engine, 3..203);
        serving.settle();
        assert_eq!(serving.engine.counts().not_indexed, if is_on { 0 } else { 203 });
        assert_shown(&serving, "index", is_on, "memories folded in: 200");
        assert_eq!(serving.engine.hits("stone 150").first().unwrap().text, "Stone 150 is flat");
    }
}

#[test]
fn the_vault_is_read_back_unless_that_is_switched_off() {
    for is_on in [true, false] {
        let store = Store::in_memory();
        switched(&store, "read_back", is_on);
        let id = store.engine().save("Owns a red bicycle");
        store.engine().keep(&id);
        let serving = Serving::on(&store);
        store.edit_note("Owns a red bicycle", "\nOwns a red bicycle\n", "\nOwns a green bicycle\n");
        serving.settle_after(9 * SECOND_MS);
        assert_eq!(serving.engine.whole(&id).memory.text, "Owns a red bicycle");
        serving.settle_after(2 * SECOND_MS);
        let text = if is_on { "Owns a green bicycle" } else { "Owns a red bicycle" };
        assert_eq!(serving.engine.whole(&id).memory.text, text);
        assert_shown(&serving, "read_back", is_on, "notes read back: 1");
        assert_eq!(store.git(&["log", "--format=%s", "-1"]).contains("Edit in Obsidian"), is_on);
    }
}

/// The system tells of the last save, and of nothing after it.
#[test]
fn a_note_written_by_hand_is_adopted_ten_seconds_after_its_last_save() {
    let store = Store::new();
    store.ok(&["init"]);
    let serving = Serving::on(&store);
    serving.engine.watched(Watching::Events);
    let save = |text: &str| {
        store.write_note("Tea", text);
        let at = UNIX_EPOCH + Duration::from_millis(serving.now().millis() as u64);
        File::options().append(true).open(store.note_path("Tea")).unwrap().set_modified(at).unwrap();
        serving
            .engine
            .vault_changed(VaultChange { notes: ["Memories/Tea.md".to_owned()].into(), ..Default::default() });
        serving.settle();
    };
    save("The user prefers");
    serving.settle_after(8 * SECOND_MS);
    save("The user prefers green tea\n");
    serving.settle_after(8 * SECOND_MS);
    assert_eq!(serving.engine.counts().active, 0, "it may be written still");
    serving.settle_after(2 * SECOND_MS);
    assert_eq!(serving.engine.texts("green tea"), ["The user prefers green tea"]);
    assert_eq!(serving.task("read_back").next, Some(serving.now().plus_millis(5 * MINUTE_MS)));
}

#[test]
fn memory_is_tidied_unless_that_is_switched_off() {
    for is_on in [true, false] {
        let mut store = Store::in_memory();
        switched(&store, "tidy", is_on);
        let known = store.engine().save("Owns a red bicycle");
        store.engine().keep(&known);
        let proved = store.engine().save("Rents a garage by the canal");
        for _ in 0..3 {
            store.pass_days(1);
            reinforce(&store.engine(), &known);
            reinforce(&store.engine(), &proved);
        }
        let serving = Serving::on(&store);
        serving.settle_after(4 * MINUTE_MS);
        assert_eq!(store.notes().len(), 1);
        serving.settle_after(2 * MINUTE_MS);
        assert_eq!(store.notes().len(), if is_on { 2 } else { 1 });
        assert_eq!(store.note("Owns a red bicycle").contains("uses: 3"), is_on);
        assert_shown(&serving, "tidy", is_on, "1 promoted, 1 refreshed");
        assert_eq!(store.git(&["status", "--porcelain"]), "");
        let log = store.git(&["log", "--format=%s"]);
        assert_eq!(log.contains("Refresh: Owns a red bicycle"), is_on, "{log}");

        // Then every hour.
        serving.settle_after(59 * MINUTE_MS);
        reinforce(&serving.engine, &known);
        serving.settle();
        assert!(!store.note("Owns a red bicycle").contains("uses: 4"));
        serving.settle_after(2 * MINUTE_MS);
        assert_eq!(store.note("Owns a red bicycle").contains("uses: 4"), is_on);
    }
}

#[test]
fn the_journal_is_compacted_unless_that_is_switched_off() {
    for is_on in [true, false] {
        let store = Store::in_memory();
        switched(&store, "compact", is_on);
        let serving = Serving::on(&store);
        let kept = serving.engine.save("Owns a red bicycle");
        let ids = fill(&serving.engine, 0..700);
        serving.engine.forget(&ForgetRequest { ids, ..ForgetRequest::default() }).unwrap();
        let lines = serving.engine.counts().journal_lines;
        serving.settle_after(4 * MINUTE_MS);
        assert_eq!(serving.engine.counts().journal_lines, lines);
        serving.settle_after(2 * MINUTE_MS);
        let now = serving.engine.counts().journal_lines;
        assert_eq!(now, if is_on { 3 } else { lines });
        assert_shown(&serving, "compact", is_on, &format!("{lines} lines became 3"));
        assert_eq!(serving.engine.whole(&kept).memory.text, "Owns a red bicycle");
    }
}

#[test]
fn a_journal_that_did_not_grow_is_not_looked_at_again_the_same_day() {
    let store = Store::in_memory();
    let serving = Serving::on(&store);
    assert_eq!(serving.task("compact").next, None, "there is nothing to look at");
    fill(&serving.engine, 0..1_500);
    serving.settle_after(5 * MINUTE_MS);
    let first = serving.task("compact");
    assert_eq!(first.outcome, "not worth it: 1501 lines would become 1501");
    assert_eq!(first.last, Some(serving.now()));
    serving.settle_after(2 * HOUR_MS);
    fill(&serving.engine, 1_500..2_400);
    serving.settle_after(2 * HOUR_MS);
    assert_eq!(serving.task("compact").last, first.last, "900 lines are too few");
    fill(&serving.engine, 2_400..2_600);
    serving.settle();
    assert_eq!(serving.task("compact").last, Some(serving.now()));
    serving.settle_after(23 * HOUR_MS);
    assert!(serving.task("compact").last < Some(serving.now()));
    serving.settle_after(2 * HOUR_MS);
    assert_eq!(serving.task("compact").last, Some(serving.now()), "what was forgotten may have come to its end");
}

#[test]
fn a_step_does_one_task_and_asks_to_come_back_soon_for_the_next() {
    let store = Store::in_memory();
    store.engine().keep(&store.engine().save("Owns a red bicycle"));
    let serving = Serving::on(&store);
    fill(&serving.engine, 0..1_200);
    serving.pass(6 * MINUTE_MS);
    let mut done = Vec::new();
    for left in (0..4).rev() {
        let (next, outcome) = serving.engine.step();
        outcome.unwrap();
        let ran: Vec<String> = serving
            .tasks()
            .into_iter()
            .filter(|task| task.last == Some(serving.now()) && !done.contains(&task.task))
            .map(|task| task.task)
            .collect();
        assert_eq!(ran.len(), 1, "{ran:?}");
        done.extend(ran);
        assert_eq!(next.millis() - serving.now().millis() < SECOND_MS, left > 0, "{left} are left");
    }
    let before = serving.tasks();
    serving.engine.step().1.unwrap();
    assert_eq!(serving.tasks(), before);
}

#[test]
fn a_clock_that_was_set_back_stops_nothing() {
    let store = Store::in_memory();
    store.engine().keep(&store.engine().save("Owns a red bicycle"));
    let serving = Serving::on(&store);
    serving.settle_after(6 * MINUTE_MS);
    assert_eq!(serving.task("tidy").last, Some(serving.now()));
    serving.settle_after(-400 * 24 * HOUR_MS);
    assert_eq!(serving.task("tidy").last, Some(serving.now()));
    assert_eq!(serving.task("read_back").last, Some(serving.now()));
}

#[test]
fn the_main_switch_stops_everything_and_says_so() {
    let store = Store::in_memory();
    store.configure("[server]\nupkeep = false\n");
    store.engine().keep(&store.engine().save("Owns a red bicycle"));
    let serving = Serving::on(&store);
    fill(&serving.engine, 0..300);
    store.edit_note("Owns a red bicycle", "\nOwns a red bicycle\n", "\nOwns a green bicycle\n");
    serving.settle_after(2 * HOUR_MS);
    assert_eq!(serving.engine.counts().not_indexed, 301);
    assert!(!store.home().join("upkeep.lock").exists());
    for task in serving.tasks() {
        assert_eq!((task.outcome.as_str(), task.last, task.next), ("off: [server] upkeep = false", None, None));
    }
}

#[test]
fn a_command_that_ends_at_once_knows_of_no_upkeep() {
    let store = Store::new();
    store.ok(&["remember", "Owns a red bicycle"]);
    let health = store.json(&["inspect", "health"]);
    assert_eq!(health["health"]["ok"], true, "{health}");
    assert!(health["health"].get("upkeep").is_none(), "{health}");
    assert!(!store.home().join("upkeep.lock").exists());
}

#[test]
fn one_process_of_a_home_does_upkeep_and_the_next_takes_over() {
    let store = Store::in_memory();
    let first = Serving::on(&store);
    fill(&first.engine, 0..300);
    first.settle();
    assert_eq!(first.task("index").outcome, "memories folded in: 300");

    let second = Serving::on(&store);
    fill(&second.engine, 300..600);
    let id = second.engine.hits("stone 301")[0].id.clone();
    second.engine.recall(&RecallRequest::of("stone 301 is flat")).unwrap();
    second.settle_after(2 * HOUR_MS);
    assert_eq!(first.engine.whole(&id).uses, 1, "its own uses it writes");
    assert_eq!(second.engine.counts().not_indexed, 300);
    for task in second.tasks() {
        let by = format!("done by another process (process {})", std::process::id());
        assert_eq!((task.outcome, task.last, task.next), (by, None, None));
    }
    first.settle();
    assert_eq!(first.task("index").outcome, "memories folded in: 300", "what the other wrote");
    assert_eq!(second.engine.counts().not_indexed, 0);

    drop(first);
    fill(&second.engine, 600..900);
    // A program that another test starts may hold the lock with us until it runs.
    let patience = Patience::new(LONG);
    while second.engine.counts().not_indexed > 0 {
        second.settle();
        assert!(patience.pause(), "nobody took over: {:?}", second.tasks());
    }
    assert_eq!(second.task("index").outcome, "memories folded in: 300");
}

#[test]
fn many_promotions_share_a_commit_and_leave_the_lock_to_others_in_between() {
    let store = Store::in_memory();
    let engine = store.engine();
    let ids = fill(&engine, 0..9);
    let answer = engine.promote(&PromoteRequest { ids: ids.clone(), ..PromoteRequest::default() }).unwrap();
    let promoted: Vec<&String> = answer.promoted.iter().map(|promoted| &promoted.id).collect();
    assert_eq!(promoted, ids.iter().collect::<Vec<_>>());
    assert_eq!(store.notes().len(), 9);
    assert_eq!(store.git(&["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

/// A recall and a remember, while upkeep is inside a task: they are answered, and it still is inside.
fn answered_meanwhile(serving: &Serving, is_over: &AtomicBool) {
    let engine = &serving.engine;
    let id = engine.save("Needs a new lamp");
    assert_eq!(engine.texts("lamp"), ["Needs a new lamp"]);
    assert_eq!(engine.recall(&RecallRequest::of("a new lamp")).unwrap().hits[0].id, id);
    reinforce(engine, &id);
    engine.flush_uses().unwrap();
    assert!(!is_over.load(Ordering::SeqCst), "upkeep was not inside any more");
}

#[test]
fn requests_are_answered_while_upkeep_waits_for_the_files_of_the_index() {
    let store = Store::in_memory();
    let serving = Serving::on(&store);
    fill(&serving.engine, 0..300);
    serving.settle();
    let cache = fs::read_dir(store.home().join("cache")).unwrap().map(|entry| entry.unwrap().path());
    let index = cache.filter(|path| path.join("meta.json").exists()).last().unwrap();
    // What another process holds while it swaps files, or hangs in doing so.
    let lock = File::options().write(true).create(true).truncate(false).open(index.join(".tantivy-meta.lock")).unwrap();
    lock.lock().unwrap();
    fill(&serving.engine, 300..600);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            serving.settle();
            is_over.store(true, Ordering::SeqCst);
        });
        let patience = Patience::new(LONG);
        while serving.task("index").outcome != "running" {
            assert!(patience.pause(), "{:?}", serving.task("index"));
        }
        answered_meanwhile(&serving, &is_over);
        lock.unlock().unwrap();
    });
    assert_eq!(serving.task("index").outcome, "memories folded in: 300");
    assert_eq!(serving.engine.texts("lamp"), ["Needs a new lamp"]);
}

#[cfg(unix)]
#[test]
fn requests_are_answered_while_upkeep_waits_for_a_filter_of_git() {
    let store = Store::new();
    let known = store.engine().save("Owns a red bicycle");
    store.engine().keep(&known);
    fs::write(store.vault().join(".gitattributes"), "*.md filter=slow\n").unwrap();
    // The first call of the filter says that it began, and waits for a word.
    let root = store.root().display();
    store.shell("mkfifo inside go").exits(0);
    let script = format!("[ -e '{root}/done' ] || {{ echo inside > '{root}/inside'; cat '{root}/go' >&2; }}; cat");
    store.git(&["config", "filter.slow.clean", &script]);
    let (said, inside) = std::sync::mpsc::channel();
    let pipe = store.root().join("inside");
    thread::spawn(move || said.send(fs::read_to_string(pipe)).ok());

    let serving = Serving::on(&store);
    reinforce(&serving.engine, &known);
    serving.pass(6 * MINUTE_MS);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            serving.settle();
            is_over.store(true, Ordering::SeqCst);
        });
        assert_eq!(inside.recv_timeout(LONG).expect("git calls the filter").unwrap(), "inside\n");
        answered_meanwhile(&serving, &is_over);
        // No lock of the home is held meanwhile: another process writes too.
        store.ok(&["remember", "Rents a garage by the canal"]);
        assert!(!is_over.load(Ordering::SeqCst), "upkeep was not inside any more");
        fs::write(store.root().join("done"), "").unwrap();
        fs::write(store.root().join("go"), "go\n").unwrap();
    });
    assert_eq!(serving.task("tidy").outcome, "0 promoted, 1 refreshed");
    assert!(store.note("Owns a red bicycle").contains("uses: 1"));
    let log = store.git(&["log", "--format=%s"]);
    assert!(log.contains("Refresh: Owns a red bicycle"), "{log}");
}
