//! Any text as a path in a vault that has links out of it, into it and to themselves.
//!
//! - Whatever is asked of a path, nothing outside the vault is read, written, moved or removed.
//! - A path that is accepted lies in the vault, also where links lead.
//! - Hidden folders are not written, and every refusal comes with a hint.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ebbmark::files;
use ebbmark::id::{MemoryId, content_hash};
use ebbmark::note::Value;
use ebbmark::note::frontmatter::set;
use ebbmark::redact::redact;
use ebbmark::vault::Vault;
use tempfile::TempDir;

const SECRET: &str = "What lies outside.";

/// One path, and behind a zero byte another.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (path, other) = text.split_once('\0').unwrap_or((&text, "Memories/b.md"));
    if path.contains(SECRET) || other.contains(SECRET) {
        // An error may repeat the path.
        return;
    }
    let folder = lay_out();
    let (root, outside) = (folder.path().join("vault"), folder.path().join("outside"));
    let before = snapshot(&outside);
    let hidden = snapshot(&root.join(".git"));

    for path in [path, other] {
        match files::contained(&root, Path::new(path)) {
            Ok(full) => is_inside(&root, &full),
            Err(error) => assert!(!error.hint().is_empty(), "{error}"),
        }
    }
    let vault = Vault::open(&root);
    for path in [path, other] {
        match vault.read(path) {
            Ok(text) => {
                assert_ne!(text, SECRET, "{path:?} leads out");
                let edited = set(&text, "seen", &Value::from(true)).unwrap();
                if vault.edit(path, &content_hash(text.as_bytes()), &edited).is_ok() {
                    assert_eq!(vault.read(path).unwrap(), edited, "{path:?}");
                }
            }
            Err(error) => assert!(!error.hint().is_empty() && !error.to_string().contains(SECRET), "{error}"),
        }
        assert!(vault.edit(path, &content_hash(SECRET.as_bytes()), "gone").is_err(), "{path:?} leads out");
        let trashed = vault.trash(path);
        let back = trashed.as_deref().ok().map(|trashed| vault.untrash(trashed, other));
        if let Some(Ok(back)) = &back {
            assert!(vault.read(back).is_ok(), "{back:?}");
        }
        drop(vault.untrash(path, other));
        drop(vault.untrash(".trash/old.md", path));
        drop(vault.remove(path));
        vault.is_one_file(path, other);
    }
    let mut taken = vault.names().unwrap();
    let added = vault.add(path, MemoryId::from_source(path), &redact("text").0, &mut taken).unwrap();
    assert!(added.starts_with("Memories/") && !added["Memories/".len()..].contains('/'), "{added:?}");
    assert_eq!(vault.read(&added).unwrap(), "text");
    assert_eq!(snapshot(&outside), before, "{path:?} or {other:?} reached outside");
    assert_eq!(snapshot(&root.join(".git")), hidden, "{path:?} or {other:?} reached a hidden folder");
    let listing = vault.list().unwrap();
    assert!(listing.entries.iter().all(|entry| vault.read(&entry.path).is_ok_and(|text| text != SECRET)));
}

fn lay_out() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (root, outside) = (folder.path().join("vault"), folder.path().join("outside"));
    for made in [root.join("Memories/deep"), root.join(".git"), root.join(".trash/Memories"), outside.join("deep")] {
        fs::create_dir_all(made).unwrap();
    }
    for (path, text) in [
        ("vault/Memories/a.md", "one"),
        ("vault/Memories/deep/b.md", "two"),
        ("vault/.git/config.md", "git"),
        ("vault/.trash/old.md", "old"),
        ("vault/.trash/Memories/a.md", "older"),
        ("outside/secret.md", SECRET),
        ("outside/deep/secret.md", SECRET),
        ("secret.md", SECRET),
    ] {
        fs::write(folder.path().join(path), text).unwrap();
    }
    #[cfg(unix)]
    for (target, link) in [
        ("../../outside", "vault/Memories/out"),
        ("../../outside/secret.md", "vault/Memories/out.md"),
        ("../../outside/none.md", "vault/Memories/dangling.md"),
        ("deep", "vault/Memories/in"),
        ("a.md", "vault/Memories/alias.md"),
        ("loop", "vault/Memories/loop"),
        ("..", "vault/Memories/up"),
        ("../..", "vault/Memories/top"),
        ("../.git", "vault/Memories/git"),
        ("../outside", "vault/out"),
        ("../../outside", "vault/.trash/out"),
    ] {
        std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
    }
    folder
}

/// Nothing on the way to a path that was accepted lies elsewhere.
fn is_inside(root: &Path, full: &Path) {
    assert!(full.starts_with(root) && full != root, "{}", full.display());
    let real_root = fs::canonicalize(root).unwrap();
    let real = full.ancestors().find_map(|part| fs::canonicalize(part).ok()).unwrap();
    assert!(real.starts_with(&real_root), "{} is {}", full.display(), real.display());
}

fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                found.insert(path.clone(), Vec::new());
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}
