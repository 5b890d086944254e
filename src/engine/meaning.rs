//! The table that turns texts into vectors, and the vectors that are known already.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Engine;
use crate::embedding::Model;
use crate::error::{Error, Result};
use crate::files;
use crate::index::{Cached, VectorFile};

/// Vectors made under one look at the store: some ten milliseconds.
const VECTORS_A_TURN: usize = 500;

/// The table in use.
#[derive(Default)]
pub(super) struct Meaning {
    model: Option<Arc<Model>>,
    /// Why there is none, where one is wanted.
    trouble: Option<String>,
}

impl Engine {
    fn meaning(&self) -> &Meaning {
        self.meaning.get_or_init(|| {
            let read = match self.config.recall.model.as_str() {
                "off" => return Meaning::default(),
                "built-in" => Model::built_in(),
                path => {
                    let path = self.home.join(files::with_home(Path::new(path), self.user_home.as_deref()));
                    read_model(&path).map(Arc::new)
                }
            };
            match read {
                Ok(model) => Meaning { model: Some(model), trouble: None },
                Err(error) => Meaning { model: None, trouble: Some(error.to_string()) },
            }
        })
    }

    /// Why meanings do not count, where they should.
    pub(super) fn meaning_trouble(&self) -> Option<&str> {
        self.meaning.get()?.trouble.as_deref()
    }

    /// The table, and the vectors that were kept.
    pub(super) fn known_meanings(&self) -> (Option<Arc<Model>>, Cached) {
        let Some(model) = &self.meaning().model else { return (None, Cached::default()) };
        (Some(model.clone()), VectorFile::new(&self.cache(), model).read())
    }

    /// Makes the vectors that are lacking and keeps them for other processes. The store is held for some milliseconds
    /// at a time.
    ///
    /// # Errors
    /// [`Error::Io`]: they are made anew by the next process.
    pub(super) fn keep_meanings(&self) -> Result<()> {
        let Some(model) = &self.meaning().model else { return Ok(()) };
        let lacking = self.store().without_vector();
        for ids in lacking.chunks(VECTORS_A_TURN) {
            let made = self.store().made_vectors(ids);
            self.store_mut().take_vectors(&made);
        }
        let file = VectorFile::new(&self.cache(), model);
        let known = file.read();
        let lacking = self.store().unsaved_vectors(&file, known);
        file.save(lacking)
    }
}

/// Reads the table at a path: a model2vec folder, or `NAME.tab`, `NAME.vocab` and, where they are there, `NAME.mlp` and
/// `NAME.near`.
fn read_model(path: &Path) -> Result<Model> {
    if path.is_dir() {
        let tensors = files::read(&path.join("model.safetensors"))?;
        let tokenizer = files::read(&path.join("tokenizer.json"))?;
        return Model::of_model2vec(tensors, &tokenizer).map_err(|error| match error {
            Error::Invalid { what, why, hint } => Error::invalid(path.join(what).display().to_string(), why, hint),
            other => other,
        });
    }
    let with = |ending: &str| -> PathBuf {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name =
            [".tab", ".vocab", ".mlp", ".near"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        path.with_file_name(format!("{name}{ending}"))
    };
    let pieces = String::from_utf8(files::read(&with(".vocab"))?).map_err(|_| {
        Error::invalid(with(".vocab").display().to_string(), "is not UTF-8", "take the file that came with the table")
    })?;
    let layer = files::read_if_there(&with(".mlp"))?;
    let near = files::read_if_there(&with(".near"))?;
    Model::read(Cow::Owned(files::read(&with(".tab"))?), &pieces, layer.as_deref(), near.as_deref())
}
