//! Hubs of entities, and canvases: what is new in the vault besides memories.

use std::path::Path;

use super::{ENTITIES, Listing, Vault, list_into, refuse_hidden};
use crate::error::{Error, Result};
use crate::files::{self, Place};
use crate::redact::Redacted;

impl Vault {
    /// Paths of the notes in the folder of entities, in order.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder is there and cannot be read.
    pub fn hubs(&self) -> Result<Vec<String>> {
        let folder = files::contained(&self.root, Path::new(ENTITIES))?;
        let mut listing = Listing::default();
        match files::read_dir(&folder) {
            Ok(entries) => list_into(entries, ENTITIES, &|_| false, &mut listing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("list", &folder)(error)),
        }
        let mut paths: Vec<String> = listing.entries.into_iter().map(|entry| entry.path).collect();
        paths.sort_unstable();
        Ok(paths)
    }

    /// Writes the hub of an entity where there is no such file. Whether it did.
    ///
    /// # Errors
    /// [`Error::Io`]; nothing is then left behind.
    pub fn write_hub(&self, path: &str, text: &Redacted) -> Result<bool> {
        refuse_hidden(path)?;
        self.made_folder(ENTITIES)?;
        files::write_new(self.place(path)?, text.as_str().as_bytes())
    }

    /// Writes a canvas where there is no such file, into a folder that is there. Whether it did.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another ending, a hidden path and one that leaves the vault; [`Error::Io`].
    pub fn write_canvas(&self, path: &Path, text: &str) -> Result<bool> {
        let is_hidden = path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
        if is_hidden || path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("canvas")) {
            let why = "is no canvas, or hidden in the vault";
            let hint = "into the vault goes only a file that ends with .canvas; write the rest elsewhere";
            return Err(Error::invalid(format!("path `{}`", path.display()), why, hint));
        }
        files::write_new(Place::below(&self.root, path)?, text.as_bytes())
    }
}
