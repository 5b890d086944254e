//! The derived term index on disk (tantivy), and the tail in memory: postings in, postings out.
//!
//! A document carries the id of its memory, the hash of its analysed text and its length. [`Index::join`] matches them
//! with what the process knows; a document that is not current is masked, a memory without a document belongs in the
//! [`Tail`]. So an old, foreign or half-built index is less useful, never wrong. Any [`Error::Index`] means: go on
//! with the tail alone.
//!
//! Many processes read and one at a time writes. tantivy writes its own files below its folder, the one exception to
//! `files`. A folder in use is never emptied, because other processes may have its files mapped; a damaged one is left
//! behind, the next number is used, and [`Index::remove_left_behind`] removes it once a newer one is there.

mod tail;
mod vectors;

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::LockError;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, META_LOCK, MmapDirectory};
use tantivy::index::{InvertedIndexReader, SegmentComponent};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{MAX_TOKEN_LEN, PreTokenizedString, Token};
use tantivy::{
    DocSet, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, SegmentReader, TERMINATED, TantivyDocument,
    TantivyError, Term,
};

pub use self::tail::Tail;
pub use self::vectors::{Cached, Lacking, VectorFile, Vectors};
use crate::error::{Error, Result};
use crate::files;
use crate::lexical::{Posting, Slot};

/// Goes up with the schema below and with every tantivy whose files the one before cannot read.
const FORMAT: u32 = 1;
/// Memory in bytes that tantivy fills before it writes a segment; its minimum.
const WRITER_BYTES: usize = 15_000_000;
/// Words between two commits of a large batch. tantivy queues up to 10,000 documents at about 90 bytes a word, however
/// long they are: this bounds the queue to 45 MB.
const WORDS_PER_COMMIT: usize = if cfg!(test) { 1_000 } else { 500_000 };
/// Share of deleted documents from which a segment is rewritten.
const DELETED_SHARE: f32 = 0.5;
/// tantivy's description of what was committed, replaced whole by every commit and merge.
const META_FILE: &str = "meta.json";
/// The files of a segment, beside the one that lists its deleted documents.
const PARTS: [SegmentComponent; 6] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::Terms,
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Store,
];
/// Characters kept of an error of tantivy's, which may quote a whole file.
const DETAIL_CHARS: usize = 200;
/// Marks a document that is deleted, stale, unknown or a duplicate.
const MASKED: Slot = Slot::MAX;

/// What is folded in for one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The memory's id bits.
    pub id: u64,
    /// Hash of the analysed text: whatever gives other words must give another hash, or old postings are served.
    pub hash: u64,
    /// The words, repeated ones repeated; their number is the document's length.
    pub terms: Vec<String>,
}

/// How folding in ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// Everything is committed.
    Done,
    /// Another process is writing; nothing was changed.
    Busy,
}

/// Whether tantivy keeps a word: longer ones are dropped, here and in the tail alike.
fn is_indexable(term: &str) -> bool {
    term.len() <= MAX_TOKEN_LEN
}

fn failed(action: &'static str) -> impl FnOnce(TantivyError) -> Error {
    move |error| Error::Index { action, detail: error.to_string().chars().take(DETAIL_CHARS).collect() }
}

/// Runs tantivy's reading code. It trusts what it reads and panics where a file contradicts itself; that must cost the
/// index, not the process.
fn guarded<T>(action: &'static str, work: impl FnOnce() -> tantivy::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(failed(action)),
        Err(_) => Err(Error::Index { action, detail: "its files contradict themselves".into() }),
    }
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    id: Field,
    hash: Field,
    length: Field,
    text: Field,
}

/// Nothing is stored and no positions or lossy lengths are kept: the process has the texts.
fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let terms = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let fields = Fields {
        id: schema.add_u64_field("id", NumericOptions::default().set_indexed().set_fast()),
        hash: schema.add_u64_field("hash", NumericOptions::default().set_fast()),
        length: schema.add_u64_field("len", NumericOptions::default().set_fast()),
        text: schema.add_text_field("text", TextOptions::default().set_indexing_options(terms)),
    };
    (schema.build(), fields)
}

/// All values of a numeric field, by document number.
fn column(segment: &SegmentReader, field: &str) -> tantivy::Result<Vec<u64>> {
    let column = segment.fast_fields().u64(field)?;
    if column.num_docs() != segment.max_doc() {
        return Err(TantivyError::InternalError(format!("`{field}` has not one value for each document")));
    }
    let mut values = vec![0; segment.max_doc() as usize];
    column.first_or_default_col(0).get_range(0, &mut values);
    Ok(values)
}

fn is_alive(segment: &SegmentReader, document: usize) -> bool {
    segment.alive_bitset().is_none_or(|alive| alive.is_alive(document as u32))
}

/// An opened folder whose files are whole.
struct Opened {
    index: tantivy::Index,
    reader: IndexReader,
}

impl Opened {
    /// Checks the schema and the checksum of every file in use before anything is read from them: tantivy itself looks
    /// only at the footers, and a panic in its updater thread, while writing, would end the process.
    fn new(folder: &Path) -> Result<Self> {
        guarded("open its files", || {
            let index = tantivy::Index::open_in_dir(folder)?;
            if index.schema() != schema().0 {
                return Err(TantivyError::SchemaError("it was not made by this program".into()));
            }
            check_sums(&index)?;
            let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
            Ok(Opened { index, reader })
        })
    }
}

/// Compares every file in use with the checksum at its end.
fn check_sums(index: &tantivy::Index) -> tantivy::Result<()> {
    let _no_file_is_removed = index.directory().acquire_lock(&META_LOCK)?;
    for segment in index.searchable_segment_metas()? {
        for part in PARTS.into_iter().chain(segment.has_deletes().then_some(SegmentComponent::Delete)) {
            let path = segment.relative_path(part);
            if !index.directory().validate_checksum(&path)? {
                return Err(TantivyError::InternalError(format!("{} is damaged", path.display())));
            }
        }
    }
    Ok(())
}

/// The index of one home, opened for reading. Cheap to keep: its files are mapped, not loaded.
pub struct Index {
    cache: PathBuf,
    version: u32,
    number: u32,
    folder: PathBuf,
    reader: IndexReader,
    fields: Fields,
    /// [`META_FILE`] as it was just before the reader was (re)loaded.
    seen: Vec<u8>,
}

/// The folder of one format, analyzer version and number: `index-1-7`, after a damage `index-1-7-1`.
fn folder_of(cache: &Path, version: u32, number: u32) -> PathBuf {
    let suffix = if number == 0 { String::new() } else { format!("-{number}") };
    cache.join(format!("index-{FORMAT}-{version}{suffix}"))
}

/// Names of the entries of the cache that begin with `index-`.
fn entries(cache: &Path) -> Result<Vec<String>> {
    let unreadable = |error: std::io::Error| Error::Index {
        action: "list the cache",
        detail: format!("{}: {error}", cache.display()),
    };
    let listing = match std::fs::read_dir(cache) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut names = Vec::new();
    for entry in listing {
        let name = entry.map_err(unreadable)?.file_name();
        names.extend(name.to_str().filter(|name| name.starts_with("index-")).map(str::to_owned));
    }
    Ok(names)
}

/// The greatest number in use for this format and analyzer version.
fn newest(cache: &Path, version: u32) -> Result<Option<u32>> {
    Ok(entries(cache)?.iter().filter_map(|name| number_of(name, version)).max())
}

/// The number of a folder of this format and analyzer version.
fn number_of(name: &str, version: u32) -> Option<u32> {
    match name.strip_prefix(&format!("index-{FORMAT}-{version}"))? {
        "" => Some(0),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

impl Index {
    /// Opens the index for reading; `None` where there is none yet. `version` is the analyzer's.
    ///
    /// Reads every file once to check it (milliseconds). Waits while another process swaps files, as long as that
    /// hangs: call it where nobody waits for the answer.
    ///
    /// # Errors
    /// [`Error::Index`] where it is damaged or foreign, or where the cache cannot be read or is read-only (readers
    /// take a lock with write access).
    pub fn open(cache: &Path, version: u32) -> Result<Option<Index>> {
        let Some(number) = newest(cache, version)? else { return Ok(None) };
        let folder = folder_of(cache, version, number);
        let Some(seen) = read_meta(&folder)? else { return Ok(None) };
        let Opened { reader, .. } = Opened::new(&folder)?;
        Ok(Some(Index { cache: cache.to_owned(), version, number, folder, reader, fields: schema().1, seen }))
    }

    /// Opens the index, making an empty one where there is none.
    ///
    /// # Errors
    /// As [`Index::open`]; [`Error::Io`] where the folder cannot be made; [`Error::Busy`] where another process is
    /// making it at this moment.
    pub fn ensure(cache: &Path, version: u32) -> Result<Index> {
        match Self::open(cache, version)? {
            Some(index) => Ok(index),
            None => Self::create(cache, version, newest(cache, version)?.unwrap_or(0)),
        }
    }

    /// Leaves a damaged index behind and makes an empty one under the next number. Try [`Index::open`] once more
    /// before: another process may have done it already.
    ///
    /// # Errors
    /// As [`Index::ensure`].
    pub fn discard(cache: &Path, version: u32) -> Result<Index> {
        Self::create(cache, version, newest(cache, version)?.map_or(0, |number| number + 1))
    }

    fn create(cache: &Path, version: u32, number: u32) -> Result<Index> {
        let folder = folder_of(cache, version, number);
        files::create_folder(&folder)?;
        let action = "make an empty one";
        let directory =
            MmapDirectory::open(&folder).map_err(|error| Error::Index { action, detail: error.to_string() })?;
        {
            let Some(_lock) = unless_busy(directory.acquire_lock(&INDEX_WRITER_LOCK).map_err(TantivyError::from))
                .map_err(failed(action))?
            else {
                return Err(Error::Busy { path: folder, holder: "another Ebbmark process".into() });
            };
            if !folder.join(META_FILE).exists() {
                tantivy::Index::create(directory, schema().0, IndexSettings::default()).map_err(failed(action))?;
            }
        }
        Self::open(cache, version)?
            .ok_or_else(|| Error::Index { action, detail: format!("{} vanished at once", folder.display()) })
    }

    /// Folders of other formats, other analyzer versions and left-behind damage. Safe to remove once no other Ebbmark
    /// process is running.
    ///
    /// # Errors
    /// [`Error::Index`] where the cache cannot be listed.
    pub fn leftovers(cache: &Path, version: u32) -> Result<Vec<PathBuf>> {
        let current = newest(cache, version)?.map(|number| folder_of(cache, version, number));
        let mut paths: Vec<PathBuf> = entries(cache)?.iter().map(|name| cache.join(name)).collect();
        paths.retain(|path| Some(path) != current.as_ref());
        paths.sort();
        Ok(paths)
    }

    /// Removes folders of this format and analyzer version that were left behind damaged: all but the newest one, to
    /// which every process changes over. One that another process is still writing to stays for the next time, and so
    /// does what cannot be removed.
    pub fn remove_left_behind(cache: &Path, version: u32) {
        let Ok(Some(newest)) = newest(cache, version) else { return };
        for name in entries(cache).unwrap_or_default() {
            let folder = cache.join(&name);
            let is_old = number_of(&name, version).is_some_and(|number| number < newest);
            if is_old && MmapDirectory::open(&folder).is_ok_and(|old| old.acquire_lock(&INDEX_WRITER_LOCK).is_ok()) {
                drop(files::remove_folder(&folder));
            }
        }
    }

    /// Folders of the index, of whatever format, version and number.
    ///
    /// # Errors
    /// [`Error::Index`] where the cache cannot be listed.
    pub fn folders(cache: &Path) -> Result<Vec<PathBuf>> {
        Ok(entries(cache)?.iter().map(|name| cache.join(name)).collect())
    }

    /// Whether a commit or a merge, by any process, came after the last [`Index::open`] or [`Index::reload`]; also
    /// where the index was discarded or removed. One small file is read: cheap enough for every call.
    pub fn is_changed(&self) -> bool {
        folder_of(&self.cache, self.version, self.number + 1).exists()
            || read_meta(&self.folder).ok().flatten().as_ref() != Some(&self.seen)
    }

    /// Brings the reader to the last commit. What was joined before stays as it is: join again.
    ///
    /// # Errors
    /// [`Error::Index`] as [`Index::open`], also where the index was removed.
    pub fn reload(&mut self) -> Result<()> {
        let gone = || Error::Index { action: "reload", detail: format!("{} is gone", self.folder.display()) };
        if folder_of(&self.cache, self.version, self.number + 1).exists() {
            *self = Self::open(&self.cache, self.version)?.ok_or_else(gone)?;
            return Ok(());
        }
        // Read first: a commit in between is then taken for one more change, not missed.
        let seen = read_meta(&self.folder)?.ok_or_else(gone)?;
        guarded("reload", || self.reader.reload())?;
        self.seen = seen;
        Ok(())
    }

    /// Matches the documents with the process's memories. `current` gets id and hash and answers the slot where that
    /// is a memory's present text.
    ///
    /// # Errors
    /// [`Error::Index`] where the files make no sense.
    pub fn join(&self, mut current: impl FnMut(u64, u64) -> Option<Slot>) -> Result<Joined> {
        let action = "join its documents";
        let mut joined = Joined {
            terms: Terms { segments: Vec::new(), text: self.fields.text, masked: 0 },
            documents: Vec::new(),
            strays: Vec::new(),
        };
        let mut is_taken: Vec<bool> = Vec::new();
        let mut take = |slot: Slot| {
            let place = slot as usize;
            is_taken.resize(is_taken.len().max(place + 1), false);
            !std::mem::replace(&mut is_taken[place], true)
        };
        for segment in self.reader.searcher().segment_readers() {
            let (words, columns) = guarded(action, || {
                let columns = [column(segment, "id")?, column(segment, "hash")?, column(segment, "len")?];
                Ok((segment.inverted_index(self.fields.text)?, columns))
            })?;
            let [ids, hashes, lengths] = columns;
            let mut slots = vec![MASKED; ids.len()];
            for (document, slot) in slots.iter_mut().enumerate() {
                if !is_alive(segment, document) {
                    continue;
                }
                match current(ids[document], hashes[document]).filter(|slot| take(*slot)) {
                    Some(current) => {
                        *slot = current;
                        joined.documents.push((current, u32::try_from(lengths[document]).unwrap_or(u32::MAX)));
                    }
                    None => joined.strays.push(ids[document]),
                }
            }
            joined.terms.masked += slots.iter().filter(|slot| **slot == MASKED).count();
            joined.terms.segments.push(Segment { words, slots });
        }
        Ok(joined)
    }

    /// Adds or replaces documents and removes those of `gone`, then commits and waits for merges. Large batches are
    /// committed in parts, so memory stays bounded and an interrupted one keeps what it did. This handle keeps showing
    /// the state before until [`Index::reload`].
    ///
    /// On a file system without locks this is [`Folded::Busy`] for ever.
    ///
    /// # Errors
    /// [`Error::Index`]: the disk is full, or the files are damaged. What was committed stays.
    pub fn fold_in(&self, new: impl IntoIterator<Item = Document>, gone: &[u64]) -> Result<Folded> {
        let before = read_meta(&self.folder)?;
        // A fresh handle each time: tantivy knows only from its opening which files it may delete some day.
        let Opened { index, reader } = Opened::new(&self.folder)?;
        let mut present = guarded("read its ids", || ids(&reader))?;
        drop(reader);
        let options = IndexWriterOptions::builder().memory_budget_per_thread(WRITER_BYTES).num_merge_threads(1).build();
        let writer = index.writer_with_options(options);
        let Some(mut writer) = unless_busy(writer).map_err(failed("write"))? else { return Ok(Folded::Busy) };
        if read_meta(&self.folder)? != before {
            return Ok(Folded::Busy);
        }
        self.write(&mut writer, &mut present, new, gone).map_err(failed("write"))?;
        // A dropped writer aborts its merges, and segments would pile up.
        writer.wait_merging_threads().map_err(failed("merge"))?;
        Ok(Folded::Done)
    }

    fn write(
        &self,
        writer: &mut IndexWriter,
        present: &mut HashSet<u64>,
        new: impl IntoIterator<Item = Document>,
        gone: &[u64],
    ) -> tantivy::Result<()> {
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(DELETED_SHARE);
        writer.set_merge_policy(Box::new(policy));
        let of = |id| Term::from_field_u64(self.fields.id, id);
        for id in gone {
            // Each deletion is looked up in every segment: only those that find something are worth it.
            if present.remove(id) {
                writer.delete_term(of(*id));
            }
        }
        let mut words = 0;
        for Document { id, hash, terms } in new {
            if !present.insert(id) {
                writer.delete_term(of(id));
            }
            words += terms.len() + 1;
            let mut document = TantivyDocument::default();
            document.add_u64(self.fields.id, id);
            document.add_u64(self.fields.hash, hash);
            document.add_u64(self.fields.length, terms.len() as u64);
            document.add_pre_tokenized_text(self.fields.text, tokens(terms));
            writer.add_document(document)?;
            if words >= WORDS_PER_COMMIT {
                writer.commit()?;
                words = 0;
            }
        }
        writer.commit()?;
        Ok(())
    }
}

/// `None` for the error that means another process holds the lock.
fn unless_busy<T>(result: tantivy::Result<T>) -> tantivy::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(TantivyError::LockFailure(LockError::LockBusy, _)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_meta(folder: &Path) -> Result<Option<Vec<u8>>> {
    files::read_if_there(&folder.join(META_FILE))
        .map_err(|error| Error::Index { action: "read its description", detail: error.to_string() })
}

/// Ids of all documents that are not deleted.
fn ids(reader: &IndexReader) -> tantivy::Result<HashSet<u64>> {
    let mut ids = HashSet::new();
    for segment in reader.searcher().segment_readers() {
        let alive = column(segment, "id")?.into_iter().enumerate().filter(|(document, _)| is_alive(segment, *document));
        ids.extend(alive.map(|(_, id)| id));
    }
    Ok(ids)
}

fn tokens(terms: Vec<String>) -> PreTokenizedString {
    let token = |text| Token { offset_from: 0, offset_to: 0, position: 0, text, position_length: 0 };
    PreTokenizedString { text: String::new(), tokens: terms.into_iter().map(token).collect() }
}

/// What [`Index::join`] found.
#[derive(Clone)]
pub struct Joined {
    /// The postings, for as long as the snapshot lives that it was joined with.
    pub terms: Terms,
    /// Every memory that has a current document, with its length in words. All others belong in the tail.
    pub documents: Vec<(Slot, u32)>,
    /// Ids of documents that were masked because they are unknown, stale or second ones. The next [`Index::fold_in`]
    /// should have them as `gone`, beside the new documents of those that are known.
    pub strays: Vec<u64>,
}

/// Postings on disk by slot. Unchanged by later commits; a clone is cheap but for 4 bytes a document.
#[derive(Clone)]
pub struct Terms {
    segments: Vec<Segment>,
    text: Field,
    masked: usize,
}

#[derive(Clone)]
struct Segment {
    words: Arc<InvertedIndexReader>,
    /// Slot of each document, or [`MASKED`].
    slots: Vec<Slot>,
}

impl Terms {
    /// How many documents are masked.
    pub fn masked(&self) -> usize {
        self.masked
    }

    /// Hides the document of a memory whose text has changed, or that has left, since the join. Walks all documents:
    /// some microseconds for 100,000.
    pub fn mask(&mut self, slot: Slot) {
        for segment in &mut self.segments {
            for document in &mut segment.slots {
                if *document == slot {
                    *document = MASKED;
                }
            }
        }
    }

    /// About how many documents hold a word, without walking them: masked ones count too.
    ///
    /// # Errors
    /// [`Error::Index`] where the files make no sense.
    pub fn holders(&self, term: &str) -> Result<usize> {
        guarded("look up a word", || {
            let term = Term::from_field_text(self.text, term);
            let mut holders = 0;
            for Segment { words, .. } in &self.segments {
                holders += words.get_term_info(&term)?.map_or(0, |info| info.doc_freq as usize);
            }
            Ok(holders)
        })
    }

    /// All words, those of masked documents too.
    ///
    /// # Errors
    /// [`Error::Index`] where the files make no sense.
    pub fn words(&self) -> Result<BTreeSet<String>> {
        guarded("list its words", || {
            let mut all = BTreeSet::new();
            for Segment { words, .. } in &self.segments {
                let mut stream = words.terms().stream()?;
                while stream.advance() {
                    all.insert(String::from_utf8_lossy(stream.key()).into_owned());
                }
            }
            Ok(all)
        })
    }

    /// Appends the postings of one word.
    ///
    /// # Errors
    /// [`Error::Index`] where the files make no sense; nothing is then appended.
    pub fn postings(&self, term: &str, out: &mut Vec<Posting>) -> Result<()> {
        let start = out.len();
        let read = guarded("read its postings", || {
            let term = Term::from_field_text(self.text, term);
            for Segment { words, slots } in &self.segments {
                let Some(mut postings) = words.read_postings(&term, IndexRecordOption::WithFreqs)? else { continue };
                let mut document = postings.doc();
                while document != TERMINATED {
                    let slot = slots[document as usize];
                    if slot != MASKED {
                        out.push(Posting { slot, frequency: postings.term_freq() });
                    }
                    document = postings.advance();
                }
            }
            Ok(())
        });
        if read.is_err() {
            out.truncate(start);
        }
        read
    }
}

#[cfg(test)]
mod tests;
