#![expect(clippy::disallowed_methods, reason = "these tests damage files on purpose")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::Config;
use tempfile::TempDir;

use super::*;
use crate::id::hash64;
use crate::lexical::{Asked, Lengths, Scorer};

const VERSION: u32 = 7;

/// The memories of a process: text by slot. The id of slot 3 is 1003.
type Texts = BTreeMap<Slot, Vec<String>>;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn texts(list: &[(Slot, &str)]) -> Texts {
    list.iter().map(|(slot, text)| (*slot, words(text))).collect()
}

fn id_of(slot: Slot) -> u64 {
    1000 + u64::from(slot)
}

fn hash_of(terms: &[String]) -> u64 {
    hash64(format!("{terms:?}").as_bytes())
}

fn document(slot: Slot, terms: &[String]) -> Document {
    Document { id: id_of(slot), hash: hash_of(terms), terms: terms.to_vec() }
}

fn documents(texts: &Texts) -> Vec<Document> {
    texts.iter().map(|(slot, terms)| document(*slot, terms)).collect()
}

/// What a process answers about a document.
fn current(texts: &Texts) -> impl Fn(u64, u64) -> Option<Slot> {
    move |id, hash| {
        let slot = Slot::try_from(id.checked_sub(1000)?).ok()?;
        texts.get(&slot).filter(|terms| hash_of(terms) == hash).map(|_| slot)
    }
}

fn fold(index: &Index, texts: &Texts) {
    fold_in(index, documents(texts), &[]);
}

/// Folds in. A program that another test starts holds our locks too until it runs: then it is tried again.
fn fold_in(index: &Index, new: impl IntoIterator<Item = Document>, gone: &[u64]) {
    let new: Vec<Document> = new.into_iter().collect();
    while index.fold_in(new.clone(), gone).unwrap() == Folded::Busy {
        std::thread::yield_now();
    }
}

fn made(cache: &TempDir, texts: &Texts) -> Index {
    let mut index = Index::ensure(cache.path(), VERSION).unwrap();
    fold(&index, texts);
    index.reload().unwrap();
    index
}

fn slots(joined: &Joined) -> BTreeSet<Slot> {
    joined.documents.iter().map(|(slot, _)| *slot).collect()
}

fn read(terms: &Terms, word: &str) -> Result<Vec<(Slot, u32)>> {
    let mut out = Vec::new();
    terms.postings(word, &mut out)?;
    let mut found: Vec<(Slot, u32)> = out.iter().map(|posting| (posting.slot, posting.frequency)).collect();
    found.sort_unstable();
    Ok(found)
}

/// Scores by slot, as bits, over the index and a tail for what it does not hold.
fn scores(joined: &Joined, texts: &Texts, query: &[String]) -> BTreeMap<Slot, u32> {
    let (mut lengths, mut tail) = (Lengths::default(), Tail::default());
    for (slot, length) in &joined.documents {
        lengths.set(*slot, *length, None);
    }
    for (slot, terms) in texts {
        if lengths.get(*slot).is_none() {
            tail.add(*slot, terms);
            lengths.set(*slot, terms.len() as u32, None);
        }
    }
    let (mut scorer, names) = (Scorer::default(), std::collections::HashSet::new());
    let found = scorer.score(
        Asked { words: query, names: &names },
        &lengths,
        |word| Ok((joined.terms.holders(word)?.saturating_sub(joined.terms.masked())) as u32),
        |word, out| {
            joined.terms.postings(word, out)?;
            tail.postings(word, out);
            Ok::<(), Error>(())
        },
        |_, _| Ok(Vec::new()),
    );
    found.unwrap().hits().iter().map(|hit| (hit.slot, hit.score.to_bits())).collect()
}

fn is_index_error<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Index { .. }))
}

fn vocabulary() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec!["a", "b", "c", "d", "e", "", "two words", "\u{0}", "žluť", "日本"]);
    prop::collection::vec(word.prop_map(str::to_owned), 0..10)
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, cases: 16, ..Config::default() })]

    #[test]
    fn where_a_memory_lies_changes_no_score(
        old in prop::collection::btree_map(0u32..24, vocabulary(), 0..16),
        new in prop::collection::btree_map(0u32..24, vocabulary(), 1..24),
        folded in prop::collection::btree_set(0u32..24, 0..24),
        gone in prop::collection::vec(1000u64..1024, 0..6),
        query in vocabulary(),
    ) {
        // The index has seen older texts, some of the present ones, and lost some.
        let cache = tempfile::tempdir().unwrap();
        let mut index = made(&cache, &old);
        let some: Texts = new.iter().filter(|(slot, _)| folded.contains(slot)).map(|(s, t)| (*s, t.clone())).collect();
        fold(&index, &some);
        fold_in(&index, [], &gone);
        index.reload().unwrap();
        let joined = index.join(current(&new)).unwrap();
        let expected: BTreeSet<Slot> = new
            .iter()
            .filter(|(slot, terms)| folded.contains(slot) || old.get(slot) == Some(terms))
            .map(|(slot, _)| *slot)
            .filter(|slot| !gone.contains(&id_of(*slot)))
            .collect();
        prop_assert_eq!(slots(&joined), expected);
        let nothing = index.join(|_, _| None).unwrap();
        prop_assert_eq!(scores(&joined, &new, &query), scores(&nothing, &new, &query));
    }
}

#[test]
fn documents_come_back_with_their_words_and_lengths() {
    let cache = tempfile::tempdir().unwrap();
    let texts = texts(&[(4, "tea tea milk"), (2, "milk"), (9, "")]);
    let joined = made(&cache, &texts).join(current(&texts)).unwrap();
    let mut found = joined.documents.clone();
    found.sort_unstable();
    assert_eq!(found, [(2, 1), (4, 3), (9, 0)]);
    assert_eq!(read(&joined.terms, "tea").unwrap(), [(4, 2)]);
    assert_eq!(read(&joined.terms, "milk").unwrap(), [(2, 1), (4, 1)]);
    assert_eq!(read(&joined.terms, "rum").unwrap(), []);
    assert!(joined.strays.is_empty());
}

#[test]
fn stale_and_unknown_documents_are_masked_and_named() {
    let cache = tempfile::tempdir().unwrap();
    let before = texts(&[(1, "likes tea"), (2, "likes milk"), (3, "likes rum")]);
    let mut index = made(&cache, &before);
    let now = texts(&[(1, "likes tea"), (2, "hates milk")]);
    let joined = index.join(current(&now)).unwrap();
    assert_eq!(slots(&joined), BTreeSet::from([1]));
    assert_eq!(read(&joined.terms, "likes").unwrap(), [(1, 1)]);
    let mut strays = joined.strays.clone();
    strays.sort_unstable();
    assert_eq!(strays, [1002, 1003]);

    // Folding in what is named clears it: also an id that is both gone and new.
    fold_in(&index, [document(2, &now[&2])], &strays);
    index.reload().unwrap();
    let joined = index.join(current(&now)).unwrap();
    assert_eq!((slots(&joined), joined.strays.len()), (BTreeSet::from([1, 2]), 0));
    assert_eq!(read(&joined.terms, "milk").unwrap(), [(2, 1)]);

    // The old text told again.
    fold(&index, &before);
    index.reload().unwrap();
    assert_eq!(slots(&index.join(current(&before)).unwrap()), BTreeSet::from([1, 2, 3]));
}

#[test]
fn the_last_of_two_documents_in_one_batch_wins() {
    let cache = tempfile::tempdir().unwrap();
    let mut index = Index::ensure(cache.path(), VERSION).unwrap();
    let now = texts(&[(1, "second")]);
    let batch = [document(1, &words("first")), document(1, &words("second"))];
    fold_in(&index, batch, &[]);
    index.reload().unwrap();
    let joined = index.join(current(&now)).unwrap();
    assert_eq!((slots(&joined), joined.strays.len()), (BTreeSet::from([1]), 0));
}

#[test]
fn a_second_document_of_one_memory_is_masked() {
    let cache = tempfile::tempdir().unwrap();
    let now = texts(&[(1, "same words")]);
    let mut index = made(&cache, &now);
    // As two writers on a file system without working locks would leave it.
    let mut writer: IndexWriter =
        Opened::new(&index.folder).unwrap().index.writer_with_num_threads(1, WRITER_BYTES).unwrap();
    index.write(&mut writer, &mut HashSet::new(), documents(&now), &[]).unwrap();
    writer.wait_merging_threads().unwrap();
    index.reload().unwrap();
    let joined = index.join(current(&now)).unwrap();
    assert_eq!((joined.documents.len(), joined.strays.clone()), (1, vec![1001]));
    assert_eq!(read(&joined.terms, "same").unwrap(), [(1, 1)]);
}

#[test]
fn a_masked_memory_is_hidden_in_that_snapshot_only() {
    let cache = tempfile::tempdir().unwrap();
    let texts = texts(&[(1, "tea"), (2, "tea")]);
    let joined = made(&cache, &texts).join(current(&texts)).unwrap();
    let mut terms = joined.terms.clone();
    terms.mask(1);
    terms.mask(55);
    assert_eq!(read(&terms, "tea").unwrap(), [(2, 1)]);
    assert_eq!(read(&joined.terms, "tea").unwrap(), [(1, 1), (2, 1)]);
}

#[test]
fn overlong_words_are_dropped_on_disk_and_in_memory_alike() {
    let cache = tempfile::tempdir().unwrap();
    let (longest, overlong) = ("x".repeat(MAX_TOKEN_LEN), "x".repeat(MAX_TOKEN_LEN + 1));
    let now = Texts::from([(1, vec![longest.clone(), overlong.clone(), "tea".to_owned()])]);
    let joined = made(&cache, &now).join(current(&now)).unwrap();
    assert_eq!(joined.documents, [(1, 3)]);
    let mut tail = Tail::default();
    tail.add(1, &now[&1]);
    for (word, expected) in [(longest, vec![(1, 1)]), (overlong, vec![])] {
        assert_eq!(read(&joined.terms, &word).unwrap(), expected);
        let mut out = Vec::new();
        tail.postings(&word, &mut out);
        assert_eq!(out.len(), expected.len());
    }
}

#[test]
fn another_process_sees_what_was_committed_once_it_reloads() {
    let cache = tempfile::tempdir().unwrap();
    let (first, both) = (texts(&[(1, "tea")]), texts(&[(1, "tea"), (2, "tea")]));
    let writer = made(&cache, &first);
    // As a process does that found no index, and then was slower than the writer.
    let mut reader = Index::create(cache.path(), VERSION, 0).unwrap();
    let before = reader.join(current(&both)).unwrap();
    assert!(!reader.is_changed());

    fold_in(&writer, [], &[]);
    assert!(!reader.is_changed(), "nothing to do changes nothing");
    fold_in(&writer, [document(2, &both[&2])], &[id_of(1)]);
    assert!(reader.is_changed() && writer.is_changed());
    assert_eq!(slots(&reader.join(current(&both)).unwrap()), BTreeSet::from([1]), "not yet reloaded");

    reader.reload().unwrap();
    assert!(!reader.is_changed());
    assert_eq!(slots(&reader.join(current(&both)).unwrap()), BTreeSet::from([2]));
    assert_eq!(read(&before.terms, "tea").unwrap(), [(1, 1)], "an older snapshot stays whole");
}

#[test]
fn only_one_process_writes_at_a_time() {
    let cache = tempfile::tempdir().unwrap();
    let now = texts(&[(1, "tea")]);
    let mut index = made(&cache, &now);
    let held = MmapDirectory::open(&index.folder).unwrap().acquire_lock(&INDEX_WRITER_LOCK).unwrap();
    let more = texts(&[(2, "milk")]);
    assert_eq!(index.fold_in(documents(&more), &[]).unwrap(), Folded::Busy);
    assert!(!index.is_changed());
    assert_eq!(slots(&index.join(current(&now)).unwrap()), BTreeSet::from([1]), "reading goes on");
    std::fs::remove_file(index.folder.join(META_FILE)).unwrap();
    assert!(matches!(Index::ensure(cache.path(), VERSION), Err(Error::Busy { .. })));
    drop(held);
    index = Index::ensure(cache.path(), VERSION).unwrap();
    fold(&index, &more);
}

#[test]
fn a_large_batch_is_committed_in_parts() {
    let cache = tempfile::tempdir().unwrap();
    let index = Index::ensure(cache.path(), VERSION).unwrap();
    let terms: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
    let mut first_seen = None;
    loop {
        let batch = (0..25).map(|slot| {
            if first_seen.is_none() && index.is_changed() {
                first_seen = Some(slot);
            }
            document(slot, &terms)
        });
        if index.fold_in(batch, &[]).unwrap() == Folded::Done {
            break;
        }
    }
    assert_eq!(first_seen, Some(10), "after 1,000 words");
    let index = Index::open(cache.path(), VERSION).unwrap().unwrap();
    let joined = index.join(|id, _| Some((id - 1000) as Slot)).unwrap();
    assert_eq!((joined.documents.len(), joined.strays.len()), (25, 0));
}

#[test]
fn segments_do_not_pile_up() {
    let cache = tempfile::tempdir().unwrap();
    let mut index = Index::ensure(cache.path(), VERSION).unwrap();
    let all: Texts = (0..12).map(|slot| (slot, words("tea"))).collect();
    for (slot, terms) in &all {
        fold_in(&index, [document(*slot, terms)], &[]);
    }
    index.reload().unwrap();
    let joined = index.join(current(&all)).unwrap();
    assert_eq!(joined.documents.len(), 12);
    assert!(joined.terms.segments.len() < 8, "{} segments", joined.terms.segments.len());
    // Half of them deleted: rewritten without those.
    let gone: Vec<u64> = (0..12).map(id_of).filter(|id| id % 4 > 0).collect();
    fold_in(&index, [], &gone);
    index.reload().unwrap();
    let dead: u32 = index.reader.searcher().segment_readers().iter().map(SegmentReader::num_deleted_docs).sum();
    assert!(dead < 6, "{dead} deleted documents are still there");
}

#[test]
fn looking_for_an_index_makes_none() {
    let cache = tempfile::tempdir().unwrap();
    assert!(Index::open(cache.path(), VERSION).unwrap().is_none());
    assert!(Index::open(&cache.path().join("missing"), VERSION).unwrap().is_none());
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0);
    let index = Index::ensure(&cache.path().join("missing"), VERSION).unwrap();
    assert!(index.join(|_, _| None).unwrap().documents.is_empty());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&index.folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_an_error_with_a_reason() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    assert!(is_index_error(&Index::open(&file, VERSION)));
    assert!(is_index_error(&Index::ensure(&file, VERSION)));

    // Readers take tantivy's lock with write access; where that is refused, as in a read-only cache, they get an error.
    let index = made(&cache, &texts(&[(1, "tea")]));
    let lock = index.folder.join(META_LOCK.filepath.as_path());
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    assert!(is_index_error(&Index::open(cache.path(), VERSION)));
    assert!(is_index_error(&index.fold_in([document(2, &words("milk"))], &[])));
    assert_eq!(index.join(|_, _| Some(1)).unwrap().documents, [(1, 1)], "what is open stays readable");
}

#[test]
#[cfg_attr(windows, ignore = "files that are open cannot be moved there")]
fn a_removed_index_is_noticed() {
    let cache = tempfile::tempdir().unwrap();
    let now = texts(&[(1, "tea")]);
    let mut index = made(&cache, &now);
    std::fs::rename(&index.folder, cache.path().join("away")).unwrap();
    assert!(index.is_changed());
    assert!(is_index_error(&index.reload()));
    assert!(is_index_error(&index.fold_in(documents(&now), &[])));
    assert!(Index::open(cache.path(), VERSION).unwrap().is_none());
}

#[test]
fn a_foreign_index_is_refused() {
    let cache = tempfile::tempdir().unwrap();
    let folder = folder_of(cache.path(), VERSION, 0);
    std::fs::create_dir(&folder).unwrap();
    let mut schema = Schema::builder();
    schema.add_u64_field("id", NumericOptions::default().set_fast());
    tantivy::Index::create_in_dir(&folder, schema.build()).unwrap();
    assert!(is_index_error(&Index::open(cache.path(), VERSION)));
    assert!(is_index_error(&Index::ensure(cache.path(), VERSION)));
}

#[test]
fn a_discarded_index_stays_where_it_is_and_others_follow() {
    let cache = tempfile::tempdir().unwrap();
    let now = texts(&[(1, "tea")]);
    let mut old = made(&cache, &now);
    let snapshot = old.join(current(&now)).unwrap();
    let new = Index::discard(cache.path(), VERSION).unwrap();
    assert_ne!(new.folder, old.folder);
    assert!(new.join(current(&now)).unwrap().documents.is_empty());
    fold(&new, &texts(&[(2, "milk")]));
    assert_eq!(read(&snapshot.terms, "tea").unwrap(), [(1, 1)], "who still reads the old one can");
    assert!(old.is_changed());
    let left_behind = old.folder.clone();
    old.reload().unwrap();
    assert_eq!((old.folder.clone(), old.is_changed()), (new.folder.clone(), false));
    assert_eq!(slots(&old.join(current(&texts(&[(2, "milk")]))).unwrap()), BTreeSet::from([2]));

    let third = Index::discard(cache.path(), VERSION).unwrap();
    Index::ensure(cache.path(), VERSION + 1).unwrap();
    Index::ensure(cache.path(), VERSION * 10 + 9).unwrap();
    let leftovers = Index::leftovers(cache.path(), VERSION).unwrap();
    assert_eq!(leftovers.len(), 4);
    assert!(leftovers.contains(&left_behind) && leftovers.contains(&new.folder) && !leftovers.contains(&third.folder));
    assert_eq!(Index::leftovers(&cache.path().join("missing"), VERSION).unwrap(), Vec::<PathBuf>::new());
}

/// A new cache with a copy of one index folder.
fn copied(folder: &Path) -> TempDir {
    let cache = tempfile::tempdir().unwrap();
    let copy = cache.path().join(folder.file_name().unwrap());
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    cache
}

/// The ways in which one file is damaged: `None` is its absence.
fn damages(bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut damages = vec![None, Some(b"garbage".to_vec()), Some(Vec::new())];
    damages.extend([bytes.len() / 2, bytes.len().saturating_sub(1)].map(|length| Some(bytes[..length].to_vec())));
    damages.extend((0..bytes.len()).step_by(bytes.len() / 6 + 1).map(|place| {
        let mut changed = bytes.to_vec();
        changed[place] ^= 0x01;
        Some(changed)
    }));
    damages
}

#[test]
#[cfg_attr(windows, ignore = "files that are open cannot be overwritten there")]
fn damage_costs_the_index_but_neither_the_process_nor_the_truth() {
    let cache = tempfile::tempdir().unwrap();
    let old: Texts = (0..40).map(|slot| (slot, words(&format!("tea w{} w{}", slot % 7, slot)))).collect();
    let mut index = made(&cache, &old);
    let now: Texts = (0..40).map(|slot| (slot, words(&format!("tea w{} w{slot} rum", slot % 5)))).collect();
    fold_in(&index, documents(&now).split_off(30), &[id_of(3)]);
    index.reload().unwrap();
    let whole = index.join(current(&now)).unwrap();
    assert_eq!((slots(&whole).len(), whole.terms.segments.len()), (10, 2));
    let query = words("tea w3 rum w35");
    let expected = scores(&whole, &now, &query);

    let (mut refused, mut used) = (0, 0);
    for entry in std::fs::read_dir(&index.folder).unwrap() {
        let entry = entry.unwrap();
        let (name, bytes) = (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        for (number, damage) in damages(&bytes).into_iter().enumerate() {
            let cache = copied(&index.folder);
            let before = Index::open(cache.path(), VERSION).unwrap().unwrap();
            match &damage {
                Some(bytes) => std::fs::write(before.folder.join(&name), bytes).unwrap(),
                None => std::fs::remove_file(before.folder.join(&name)).unwrap(),
            }
            let joined = Index::open(cache.path(), VERSION)
                .and_then(|found| found.map(|index| index.join(current(&now))).transpose());
            match joined {
                Ok(Some(joined)) => assert_eq!(scores(&joined, &now, &query), expected, "{name}: damage {number}"),
                Ok(None) => assert_eq!((name.as_str(), &damage), (META_FILE, &None)),
                Err(error) => {
                    assert!(matches!(error, Error::Index { .. }), "{name}: {error}");
                    assert!(error.to_string().len() < 300, "{name}: {error}");
                    // Whoever opened it earlier and writes now must not fall over it either.
                    assert!(is_index_error(&before.fold_in(documents(&now), &[])), "{name}: damage {number}");
                    refused += 1;
                    continue;
                }
            }
            used += 1;
        }
    }
    assert!(refused > 50 && used > 5, "{refused} refused, {used} used");
}

#[test]
fn after_damage_a_new_index_takes_over() {
    let cache = tempfile::tempdir().unwrap();
    let now = texts(&[(1, "tea"), (2, "tea milk")]);
    drop(made(&cache, &now));
    for entry in std::fs::read_dir(folder_of(cache.path(), VERSION, 0)).unwrap() {
        std::fs::write(entry.unwrap().path(), "").unwrap();
    }
    assert!(is_index_error(&Index::open(cache.path(), VERSION)));
    assert!(is_index_error(&Index::ensure(cache.path(), VERSION)));
    fold(&Index::discard(cache.path(), VERSION).unwrap(), &now);
    let joined = Index::open(cache.path(), VERSION).unwrap().unwrap().join(current(&now)).unwrap();
    assert_eq!(slots(&joined), BTreeSet::from([1, 2]));
}

#[test]
fn a_description_that_lies_is_found_out() {
    // It has no checksum: every single digit or letter of it is tried.
    let cache = tempfile::tempdir().unwrap();
    let old: Texts = (0..12).map(|slot| (slot, words("tea milk"))).collect();
    let mut index = made(&cache, &old);
    let now: Texts = (0..12).map(|slot| (slot, words("tea rum"))).collect();
    fold_in(&index, documents(&now).split_off(9), &[]);
    index.reload().unwrap();
    let query = words("tea rum");
    let expected = scores(&index.join(current(&now)).unwrap(), &now, &query);
    let bytes = std::fs::read(index.folder.join(META_FILE)).unwrap();
    let cache = copied(&index.folder);
    let meta = folder_of(cache.path(), VERSION, 0).join(META_FILE);
    let digits = (0..bytes.len()).filter(|place| bytes[*place].is_ascii_digit()).map(|place| (place, bytes[place] - 1));
    let all = (0..bytes.len()).filter(|p| bytes[*p].is_ascii_alphanumeric()).map(|place| (place, bytes[place] + 1));
    for (place, byte) in all.chain(digits) {
        let mut changed = bytes.clone();
        changed[place] = byte;
        std::fs::write(&meta, &changed).unwrap();
        match Index::open(cache.path(), VERSION).and_then(|index| index.unwrap().join(current(&now))) {
            Ok(joined) => assert_eq!(scores(&joined, &now, &query), expected, "byte {place}"),
            Err(error) => assert!(matches!(error, Error::Index { .. }), "byte {place}: {error}"),
        }
    }
}

#[test]
fn snapshots_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Index>();
    shared::<Joined>();
    shared::<Tail>();
}
