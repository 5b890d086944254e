//! What the last commit has, and whether the index still says the same.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{Commit, Index, ObjectType, Oid, Repository, Tree, TreeEntry};

use super::Why;

/// What one entry of a tree or of the index says: content and mode.
pub(super) type Content = (Oid, u32);

/// The tree a commit starts from.
pub(super) struct Base<'r> {
    repository: &'r Repository,
    tree: Tree<'r>,
    /// Folders looked up so far; libgit2 would read a large one anew for every file in it.
    folders: BTreeMap<String, Result<Option<Tree<'r>>, Why>>,
}

impl<'r> Base<'r> {
    /// The tree of that commit; an empty one before the first commit.
    pub(super) fn of(repository: &'r Repository, commit: Option<&Commit<'r>>) -> Result<Self, git2::Error> {
        let tree = match commit {
            Some(commit) => commit.tree()?,
            None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
        };
        Ok(Base { repository, tree, folders: BTreeMap::new() })
    }

    pub(super) fn tree(&self) -> &Tree<'r> {
        &self.tree
    }

    /// What the commit has at a path, if the person has staged nothing there.
    pub(super) fn unstaged(&mut self, index: &Index, path: &str) -> Result<Option<Content>, Why> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !self.folders.contains_key(folder) {
            let found = self.find_folder(index, folder);
            self.folders.insert(folder.to_owned(), found);
        }
        let committed = match self.folders[folder].as_ref().map_err(Clone::clone)? {
            Some(tree) => tree.get_name(name).map(|entry| file(&entry)).transpose()?,
            None => None,
        };
        let path = Path::new(path);
        let indexed = index.get_path(path, 0).map(|entry| (entry.id, entry.mode));
        let is_in_conflict = (1..=3).any(|stage| index.get_path(path, stage).is_some());
        if indexed == committed && !is_in_conflict { Ok(committed) } else { Err(Why::Staged) }
    }

    /// A folder's tree; `None` where the commit has none there and none needs to give way.
    fn find_folder(&self, index: &Index, folder: &str) -> Result<Option<Tree<'r>>, Why> {
        let mut found = Some(self.tree.clone());
        let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]).filter(|_| !folder.is_empty());
        for path in ends.filter_map(|end| folder.get(..end)) {
            let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
            let entry = found.as_ref().and_then(|tree| tree.get_name(name).map(|entry| entry.to_owned()));
            found = match entry {
                Some(entry) if entry.kind() == Some(ObjectType::Tree) => Some(self.repository.find_tree(entry.id())?),
                Some(entry) if entry.kind() == Some(ObjectType::Commit) => return Err(Why::Nested),
                Some(_) => return Err(Why::Blocked),
                None if index.get_path(Path::new(path), 0).is_some() => return Err(Why::Staged),
                None => None,
            };
        }
        Ok(found)
    }
}

fn file(entry: &TreeEntry<'_>) -> Result<Content, Why> {
    match entry.kind() {
        Some(ObjectType::Tree) => Err(Why::Blocked),
        Some(ObjectType::Commit) => Err(Why::Nested),
        _ => Ok((entry.id(), entry.filemode().cast_unsigned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Sandbox, left, left_without_commit, removed, written};
    use super::*;

    #[test]
    fn files_do_not_push_aside_what_is_committed_or_staged_in_their_folder_s_place() {
        let sandbox = Sandbox::new();
        sandbox.keep(&[("a/b/c.md", "c"), ("top.md", "t")]);
        let head = sandbox.open().head().unwrap().unwrap();
        for place in ["linked", "a/linked"] {
            sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},{place}")]);
        }
        sandbox.git(&["commit", "-q", "-m", "submodules"]);
        let blob = sandbox.git(&["rev-parse", "HEAD:top.md"]);
        sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},staged", blob.trim())]);
        let staged = sandbox.git(&["diff", "--cached", "--raw"]);
        let places = ["a/linked/x.md", "linked/x/y.md", "staged/deep/x.md", "top.md/x.md"];
        let changes: Vec<_> =
            places.iter().map(|path| removed(path)).chain([removed("linked"), removed("a/b")]).collect();
        let expected = [
            ("a/b", &Why::Blocked),
            ("a/linked/x.md", &Why::Nested),
            ("linked", &Why::Nested),
            ("linked/x/y.md", &Why::Nested),
            ("staged/deep/x.md", &Why::Staged),
            ("top.md/x.md", &Why::Blocked),
        ];
        assert_eq!(left_without_commit(&sandbox.commit(&changes)), expected);
        assert_eq!(sandbox.git(&["diff", "--cached", "--raw"]), staged);
        sandbox.write("a/b/d/e.md", "e");
        assert_eq!(left(&sandbox.commit(&[written("a/b/d/e.md"), removed("a/b/c.md")])), []);
        assert_eq!(sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD", "a/"]), "a/b/d/e.md\na/linked\n");
    }
}
