//! Where a file lies: a name in a folder. A folder below a root is held open, so that a write goes into the one that
//! was checked, whatever takes its name meanwhile.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{create_folder, parent, sync_entries, system};
use crate::error::{Error, Result};

/// A folder: whatever its path leads to, or one that is held open. On Windows none is held.
#[derive(Debug, Clone)]
pub struct Folder {
    pub(super) path: PathBuf,
    pub(super) held: Option<Arc<File>>,
}

impl Folder {
    /// Holds the folder at `relative` below `root`, which may be empty: the root itself.
    ///
    /// # Errors
    /// As [`contained`]; [`Error::Io`] where there is none, and where a link took its place or that of one above it.
    pub fn below(root: &Path, relative: &Path) -> Result<Folder> {
        Folder::walk(root, relative, false)
    }

    /// As [`Folder::below`], but makes what is missing of it, readable by the owner only.
    ///
    /// # Errors
    /// As [`Folder::below`], but for what is missing.
    pub fn make_below(root: &Path, relative: &Path) -> Result<Folder> {
        create_folder(root)?;
        Folder::walk(root, relative, true)
    }

    fn walk(root: &Path, relative: &Path, makes: bool) -> Result<Folder> {
        let way = without_links(root, relative)?;
        let mut folder = system::hold(&root.into()).map_err(Error::io("open", root))?;
        for name in &way {
            let inner = folder.file(name);
            folder = match system::hold(&inner) {
                Err(error) if makes && error.kind() == ErrorKind::NotFound => {
                    match system::make_folder(&inner) {
                        // Another process was faster.
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                        made => made,
                    }
                    .and_then(|()| sync_entries(&folder))
                    .map_err(Error::io("create folder", &inner.path))?;
                    system::hold(&inner)
                }
                held => held,
            }
            .map_err(Error::io("open", &inner.path))?;
        }
        Ok(folder)
    }

    /// The place of a file in it. `name` is one name, not a path.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Place {
        Place { path: self.path.join(name.as_ref()), folder: self.clone() }
    }
}

impl From<&Path> for Folder {
    fn from(path: &Path) -> Self {
        Folder { path: path.to_owned(), held: None }
    }
}

impl From<&PathBuf> for Folder {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

/// Where a file is, or shall be. In a folder that is held open no link in the file's place is followed either.
#[derive(Debug, Clone)]
pub struct Place {
    pub(super) path: PathBuf,
    pub(super) folder: Folder,
}

impl Place {
    /// The place `relative` below `root`, in its folder, which is held open.
    ///
    /// # Errors
    /// As [`contained`] and [`Folder::below`].
    pub fn below(root: &Path, relative: &Path) -> Result<Place> {
        contained(root, relative)?;
        match (relative.parent(), relative.file_name()) {
            (Some(folder), Some(name)) => Ok(Folder::below(root, folder)?.file(name)),
            _ => Err(refused(relative, "names no file")),
        }
    }

    /// Its path, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that is held and the name in it.
    pub(super) fn held(&self) -> Option<(&File, &OsStr)> {
        // A name that is none names nothing: never the path in its stead.
        Some((self.folder.held.as_deref()?, self.path.file_name().unwrap_or_default()))
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Place { path: path.to_owned(), folder: parent(path).into() }
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

/// Where `relative` leads below `root`, with its links followed. Whatever would leave `root` is refused.
///
/// # Errors
/// [`Error::Invalid`] for absolute paths, `..`, the root itself, and links that lead out of it or into a hidden folder.
pub fn contained(root: &Path, relative: &Path) -> Result<PathBuf> {
    let way = without_links(root, relative)?;
    if way.as_os_str().is_empty() { Err(refused(relative, "names no file")) } else { Ok(root.join(way)) }
}

/// The way from `root` to where `relative` leads, with no link on it.
fn without_links(root: &Path, relative: &Path) -> Result<PathBuf> {
    let mut way = PathBuf::new();
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(refused(relative, "does not stay inside the folder"));
        };
        way.push(name);
        let path = root.join(&way);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_symlink()) {
            let real_root = fs::canonicalize(root).map_err(Error::io("resolve", root))?;
            let real = fs::canonicalize(&path).unwrap_or_default();
            let Ok(inner) = real.strip_prefix(&real_root) else {
                return Err(refused(relative, "is a link that leads out of the folder"));
            };
            if inner.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
                return Err(refused(relative, "is a link that leads into a hidden folder"));
            }
            inner.clone_into(&mut way);
        }
    }
    Ok(way)
}

fn refused(relative: &Path, why: &str) -> Error {
    Error::invalid(format!("path `{}`", relative.display()), why, "give a path inside the vault, without `..`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_root_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("a")).unwrap();
        for bad in ["../x", "/etc/passwd", "a/../../x", "", "a/..", "..", "/"] {
            assert!(matches!(Place::below(root.path(), Path::new(bad)), Err(Error::Invalid { .. })), "{bad}");
            assert!(contained(root.path(), Path::new(bad)).is_err(), "{bad}");
        }
        assert_eq!(contained(root.path(), Path::new("a/none/c.md")).unwrap(), root.path().join("a/none/c.md"));
        assert_eq!(Place::below(root.path(), Path::new("a/b.md")).unwrap().path(), root.path().join("a/b.md"));
        assert_eq!(Place::below(root.path(), Path::new("b.md")).unwrap().path(), root.path().join("b.md"));
        assert!(matches!(Place::below(root.path(), Path::new("none/b.md")), Err(Error::Io { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_where_they_stay_inside_and_out_of_hidden_folders() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = |to: &Path, name| std::os::unix::fs::symlink(to, root.path().join(name)).unwrap();
        link(outside.path(), "out");
        link(&root.path().join("in"), "alias");
        link(Path::new("in/deep"), "short");
        link(Path::new(".git"), "git");
        link(Path::new("loop"), "loop");
        fs::create_dir_all(root.path().join("in/deep")).unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        for bad in ["out", "git", "loop", "out/x", "alias/../out"] {
            assert!(matches!(Folder::below(root.path(), Path::new(bad)), Err(Error::Invalid { .. })), "{bad}");
            assert!(matches!(Folder::make_below(root.path(), Path::new(bad)), Err(Error::Invalid { .. })), "{bad}");
            assert!(matches!(Place::below(root.path(), Path::new(bad)), Err(Error::Invalid { .. })), "{bad}");
        }
        for (given, real) in [("alias", "in"), ("alias/deep", "in/deep"), ("short", "in/deep")] {
            let place = Place::below(root.path(), &Path::new(given).join("x.md")).unwrap();
            assert!(super::super::write_new(place.clone(), b"x").unwrap(), "{given}");
            assert!(root.path().join(real).join("x.md").is_file(), "{given}");
            super::super::remove(place).unwrap();
        }
        Folder::make_below(root.path(), Path::new("alias/new/newer")).unwrap();
        assert!(root.path().join("in/new/newer").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_held_stays_the_one_it_was() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::make_below(root.path(), Path::new("a/b")).unwrap();
        fs::rename(root.path().join("a/b"), root.path().join("aside")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("a/b")).unwrap();
        super::super::write_atomic(folder.file("x.md"), b"x").unwrap();
        assert_eq!(fs::read(root.path().join("aside/x.md")).unwrap(), b"x");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        // Nor is a link followed that has the file's name, nor a name that is a path.
        let secret = outside.path().join("secret.md");
        fs::write(&secret, b"secret").unwrap();
        std::os::unix::fs::symlink(&secret, root.path().join("aside/y.md")).unwrap();
        for name in ["y.md", ".."] {
            assert!(super::super::read(folder.file(name)).is_err(), "{name}");
        }
        super::super::write_atomic(folder.file("y.md"), b"y").unwrap();
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
    }
}
