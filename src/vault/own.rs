//! The person's own notes: everything outside our folders. They are listed and read, never written.

use super::{ENTITIES, HOME, Listing, MEMORIES, REVIEW, Vault, list_into, template};
use crate::config::OwnNotes;
use crate::error::{Error, Result};
use crate::files;

/// Folder of the template that holds no notes of the person's own.
const TEMPLATES: &str = "Templates";

impl Vault {
    /// The person's own notes that are `wanted`, by path. Files are not opened.
    ///
    /// # Errors
    /// [`Error::Io`] where the vault's folder cannot be read: never an empty list because of a fault.
    pub fn own_notes(&self, wanted: &OwnNotes) -> Result<Listing> {
        let is_our_layout = self.vault_id()?.is_some();
        let is_ours = |path: &str| {
            let is_file_of_ours =
                path == HOME || path == REVIEW || template::FILES.iter().any(|(file, _)| *file == path);
            path == MEMORIES || is_our_layout && (path == ENTITIES || path == TEMPLATES || is_file_of_ours)
        };
        let entries = files::read_dir(self.root()).map_err(Error::io("list", self.root()))?;
        let mut listing = Listing::default();
        list_into(entries, "", &|folder| !is_ours(folder) && wanted.lead_to(folder), &mut listing);
        listing.entries.retain(|entry| wanted.hold(&entry.path) && !is_ours(&entry.path));
        listing.skipped.retain(|skipped| wanted.hold(&skipped.path) && !is_ours(&skipped.path));
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        listing.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_notes_are_those_outside_our_folders() {
        let guard = tempfile::tempdir().unwrap();
        let vault = Vault::open(&guard.path().join("vault"));
        let paths = |wanted: &OwnNotes| -> Vec<String> {
            vault.own_notes(wanted).unwrap().entries.into_iter().map(|entry| entry.path).collect()
        };
        for path in [
            "Plan.md",
            "Work/a.md",
            "Work/deep/b.md",
            "Diary/c.MD",
            "Memories/m.md",
            "Entities/e.md",
            ".obsidian/x.md",
            "Work/.hidden/y.md",
            "Work/picture.png",
            "Templates/t.md",
            "Home.md",
        ] {
            let full = vault.root().join(path);
            files::create_folder(full.parent().unwrap()).unwrap();
            files::write_new(&full, b"text").unwrap();
        }
        let all =
            ["Diary/c.MD", "Entities/e.md", "Home.md", "Plan.md", "Templates/t.md", "Work/a.md", "Work/deep/b.md"];
        assert_eq!(paths(&OwnNotes::All), all);
        assert_eq!(paths(&OwnNotes::Folders(vec!["Work/deep".into()])), ["Work/deep/b.md"]);
        assert!(paths(&OwnNotes::Folders(vec!["Memories".into()])).is_empty());
        assert!(paths(&OwnNotes::None).is_empty());
        files::write_atomic(&vault.root().join("Home.md"), b"---\nvault_id: v\n---\n").unwrap();
        assert_eq!(paths(&OwnNotes::All), ["Diary/c.MD", "Plan.md", "Work/a.md", "Work/deep/b.md"]);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(guard.path(), vault.root().join("Work/out")).unwrap();
            assert_eq!(paths(&OwnNotes::All).len(), 4);
        }
        assert!(Vault::open(&guard.path().join("nowhere")).own_notes(&OwnNotes::All).is_err());
    }
}
