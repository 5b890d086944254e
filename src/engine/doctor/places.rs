//! What is wrong around the memories: who may read the home, where home and vault lie, which machine is which, and
//! what keeps git from committing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Area, Finding, Level, Repair, plural, span};
use crate::clock::{HOUR_MS, Timestamp};
use crate::config::GitMode;
use crate::engine::{Engine, resolved};
use crate::files;
use crate::git::{Git, Hold, NoGit};
use crate::journal::ReplicaLine;

/// A lock of git that is younger is taken for one of a program at work, milliseconds.
const LOCK_AT_WORK_MS: i64 = 60_000;
/// A temporary file of ours that is older is taken for one that a crash left, milliseconds.
pub(super) const LEFTOVER_AFTER_MS: i64 = HOUR_MS;
/// A disk with less room than this is as good as full, bytes.
const ALMOST_FULL_BYTES: u64 = 1 << 20;
/// Folders that programs keep equal with other machines or a server, as their names begin.
const CLOUDS: [(&str, &str); 17] = [
    ("Dropbox", "Dropbox"),
    ("OneDrive", "OneDrive"),
    ("Google Drive", "Google Drive"),
    ("GoogleDrive", "Google Drive"),
    ("My Drive", "Google Drive"),
    ("Mobile Documents", "iCloud"),
    ("CloudStorage", "a cloud drive of macOS"),
    ("iCloud Drive", "iCloud"),
    ("iCloudDrive", "iCloud"),
    ("Nextcloud", "Nextcloud"),
    ("ownCloud", "ownCloud"),
    ("pCloud Drive", "pCloud"),
    ("pCloudDrive", "pCloud"),
    ("MEGA", "MEGA"),
    ("MEGAsync", "MEGA"),
    ("SynologyDrive", "Synology Drive"),
    ("Seafile", "Seafile"),
];
/// File systems by the number that Linux gives them. Whether they are on another machine.
const FILE_SYSTEMS: [(u32, &str, bool); 10] = [
    (0x6969, "NFS", true),
    (0x517B, "SMB", true),
    (0xFF53_4D42, "CIFS", true),
    (0xFE53_4D42, "SMB", true),
    (0x0102_1997, "9P", true),
    (0x00C3_6400, "Ceph", true),
    (0x5346_414F, "AFS", true),
    (0x6B41_4653, "AFS", true),
    (0x564C, "NCP", true),
    (0x6573_5546, "FUSE", false),
];

impl Engine {
    /// What is in the home: who may read it, and what crashes left there.
    pub(super) fn home_findings(&self, now: Timestamp) -> Vec<Finding> {
        let mut findings = self.permission_findings();
        findings.extend(self.quarantine_finding());
        findings.extend(self.reserve_finding());
        findings.extend(self.misplaced_findings());
        for path in self.leftovers(now) {
            let next = "`ebbmark doctor --fix` removes it; nothing needs it";
            findings.push(
                Finding::note(Area::Journal, "a temporary file that a crash left", next)
                    .of(&path)
                    .by(Repair::RemoveLeftover),
            );
        }
        findings
    }

    /// Files and folders of the home that we made.
    fn own_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.home.clone(), self.cache()];
        paths.extend(
            ["replica", "written", "state.json", "lock", "compact.lock", "upkeep.lock", "reserve"]
                .map(|name| self.home.join(name)),
        );
        for folder in ["short-term", "quarantine"] {
            let folder = self.home.join(folder);
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            // Of ours are only files: what else lies there is a person's.
            paths.extend(entries.map(|entry| entry.path()).filter(|path| path.is_file()));
            paths.push(folder);
        }
        paths
    }

    /// Temporary files of ours that are old enough for nobody to be writing them.
    pub(super) fn leftovers(&self, now: Timestamp) -> Vec<PathBuf> {
        let is_old = |entry: &std::fs::DirEntry| {
            let modified = entry.metadata().and_then(|facts| facts.modified());
            let since = modified.ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            since.is_some_and(|since| now.millis() - since.as_millis() as i64 > LEFTOVER_AFTER_MS)
        };
        let mut leftovers = Vec::new();
        for folder in [self.home.clone(), self.home.join("short-term"), self.home.join("quarantine")] {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let ours = entries.filter(|entry| files::is_leftover(&entry.file_name().to_string_lossy()));
            leftovers.extend(ours.filter(is_old).map(|entry| entry.path()));
        }
        leftovers.sort();
        leftovers
    }

    /// Folders where our files should be.
    fn misplaced_findings(&self) -> Vec<Finding> {
        let names = ["replica", "state.json", "lock", "compact.lock", "upkeep.lock", "reserve", "config.toml"];
        let folders = names.map(|name| self.home.join(name)).into_iter().filter(|path| path.is_dir());
        let finding = |path: PathBuf| {
            let next = format!("move it away: mv '{0}' '{0}.folder'; the file is made anew", path.display());
            Finding::error(Area::Place, "a folder is where a file is needed", next).of(&path)
        };
        folders.map(finding).collect()
    }

    /// A full disk that has taken the room kept for it: the next write may find none.
    fn reserve_finding(&self) -> Option<Finding> {
        let reserve = self.home.join("reserve");
        let own = self.journal.own_file().ok().flatten()?;
        let free = files::free_bytes(&self.home).filter(|free| *free < ALMOST_FULL_BYTES)?;
        let what = format!("the reserve is used up: {free} bytes are free on the disk of the home");
        let next = "free some disk space: until then saving may fail; what was acknowledged is safe";
        (own.exists() && !reserve.exists()).then(|| Finding::warning(Area::Place, what, next).of(&reserve))
    }

    fn quarantine_finding(&self) -> Option<Finding> {
        let folder = self.home.join("quarantine");
        let kept: Vec<u64> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| !files::is_leftover(&entry.file_name().to_string_lossy()))
            .filter_map(|entry| entry.metadata().ok().filter(std::fs::Metadata::is_file))
            .map(|facts| facts.len())
            .collect();
        let bytes = kept.iter().sum();
        let what = format!(
            "{} with lines that could not be read ({})",
            plural(kept.len() as u64, "file", "files"),
            plural(bytes, "byte", "bytes")
        );
        let next = "nothing reads them; remove them once nothing is missed";
        (!kept.is_empty()).then(|| Finding::note(Area::Quarantine, what, next).of(&folder))
    }

    #[cfg(not(unix))]
    fn permission_findings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// What others may do in the home. It matters where the folders above let them come there.
    #[cfg(unix)]
    fn permission_findings(&self) -> Vec<Finding> {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).ok().map(|facts| facts.permissions().mode());
        let home = resolved(&self.home);
        let lets_by = |path: &Path, bits: u32| {
            let mut above = path.ancestors().skip(1);
            above.all(|folder| mode(folder).is_none_or(|mode| mode & bits != 0))
        };
        let mut findings = Vec::new();
        let mut paths = self.own_paths();
        paths.push(self.home.join("config.toml"));
        for path in paths {
            let Ok(facts) = std::fs::symlink_metadata(&path) else { continue };
            if facts.file_type().is_symlink() {
                continue;
            }
            let real = path.strip_prefix(&self.home).map_or_else(|_| path.clone(), |inner| home.join(inner));
            let is_persons = path.file_name().is_some_and(|name| name == "config.toml");
            // The person's own file: it holds no memories, but what it says may only come from them.
            let open = facts.permissions().mode() & if is_persons { 0o022 } else { 0o077 };
            if open == 0 {
                continue;
            }
            let (group, all) = (open & 0o070 != 0, open & 0o007 != 0);
            let is_reached = all && lets_by(&real, 0o001) || group && lets_by(&real, 0o011);
            let who = if all { "everybody on this machine" } else { "its group" };
            let may = match (open & 0o022 != 0, facts.is_dir()) {
                (true, _) => "change",
                (false, true) => "list",
                (false, false) => "read",
            };
            let shown = facts.permissions().mode() & 0o7777;
            let but = if is_reached { "" } else { ", if the folders above let them by" };
            let what = format!("its mode {shown:04o} lets {who} {may} it{but}");
            let is_bad = is_reached && may != "list";
            let level = if is_bad { Level::Warning } else { Level::Note };
            let private = shown & 0o700;
            let finding = if is_persons {
                Finding::new(level, Area::Permissions, what, "take the right to write from others: `chmod go-w`")
            } else {
                let next = format!("`ebbmark doctor --fix` makes it {private:04o}");
                Finding::new(level, Area::Permissions, what, next).by(Repair::Protect)
            };
            findings.push(finding.of(&path));
        }
        findings
    }

    /// Whether the home can be written.
    pub(super) fn writable_findings(&self) -> Option<Finding> {
        Some(self.read_only(&self.journal.check_writable().err()?))
    }

    /// As [`Engine::writable_findings`], by a look at the lock that writes nothing.
    pub(super) fn read_only_finding(&self) -> Option<Finding> {
        let error = files::check_writable(&self.home.join("lock")).err()?;
        (!self.home.join("lock").is_dir()).then(|| self.read_only(&error))
    }

    fn read_only(&self, error: &crate::error::Error) -> Finding {
        let what = format!("nothing can be saved, and no use is counted: {error}");
        Finding::error(Area::Permissions, what, error.hint()).of(&self.home)
    }

    /// Whether home and vault lie where files have a will of their own.
    pub(super) fn place_findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (path, is_home) in [(self.home.as_path(), true), (self.vault.root(), false)] {
            let level = if is_home { Level::Warning } else { Level::Note };
            let name = if is_home { "the home" } else { "the vault" };
            if let Some((system, is_remote)) = file_system(path) {
                let (level, what, next) = if is_remote {
                    let next = "locks and syncs of such disks cannot be relied upon: put it on a disk of this machine";
                    (level, format!("{name} is on a network file system ({system})"), next)
                } else {
                    let next = "nothing to do where that is a disk of this machine";
                    (Level::Note, format!("{name} is on a file system that a program provides ({system})"), next)
                };
                findings.push(Finding::new(level, Area::Place, what, next).of(path));
            }
            if let Some(cloud) = cloud(path).or_else(|| cloud(&resolved(path))) {
                let next = if is_home {
                    "a sync program may put back old files under a running Ebbmark: move the home out of there"
                } else {
                    "nothing to do: copies that it makes in a conflict are reported and never read as memories"
                };
                let what = format!("{name} is in a folder that {cloud} keeps equal with other machines");
                findings.push(Finding::new(level, Area::Place, what, next).of(path));
            }
        }
        findings
    }

    /// What the file `replica` says: each machine has an id of its own.
    pub(super) fn replica_findings(&self) -> Vec<Finding> {
        let path = self.home.join("replica");
        let lines = match self.journal.replica_lines() {
            Ok(lines) => lines,
            // That is told as what it is.
            Err(_) if path.is_dir() => return Vec::new(),
            Err(error) => return vec![Finding::error(Area::Replica, error.to_string(), error.hint()).of(&path)],
        };
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        let mut findings = Vec::new();
        for ReplicaLine { line, offset, owner } in lines {
            let Some((machine, id)) = owner else {
                let next = "remove it; the machine that it named has an id of its own by now, or gets one";
                let what = "this line names no machine with its replica id of 8 characters: it is passed over";
                findings.push(Finding::warning(Area::Replica, what, next).of(&path).at(line, offset));
                continue;
            };
            let owner = owners.entry(id.clone()).or_insert_with(|| machine.clone());
            if *owner != machine {
                let what = format!("two machines have the replica id {id}: they write one and the same file");
                let next = "remove this line: that machine gets an id of its own at its next write";
                findings.push(Finding::error(Area::Replica, what, next).of(&path).at(line, offset));
            }
        }
        findings
    }

    /// Whether there is a repository, and what keeps it from taking a commit.
    pub(super) fn git_findings(&self, now: Timestamp) -> Vec<Finding> {
        if self.config.git.mode == GitMode::Off || !self.vault.exists() {
            return Vec::new();
        }
        let git = match Git::open(self.vault.root()) {
            Ok(git) => git,
            Err(no_git) => return vec![self.no_git_finding(&no_git)],
        };
        let mut findings = Vec::new();
        for lock in git.locks() {
            let age = lock.since.map_or(0, |since| now.millis() - since.millis());
            let finding = if age < LOCK_AT_WORK_MS {
                let next = "a git program is at work, most likely: its end is waited for";
                Finding::note(Area::Git, "a git lock is held: nothing is committed meanwhile", next)
            } else {
                let what = format!("a git lock is {} old: nothing is committed while it is there", span(age));
                let next = format!(
                    "if no git program is at work there, remove it: rm '{}'; Ebbmark never does, somebody may hold it",
                    lock.path.display()
                );
                Finding::warning(Area::Git, what, next)
            };
            findings.push(finding.of(&lock.path));
        }
        let branch = self.own_branch().ok().flatten();
        if let Some(hold) = git.hold(branch.as_deref()) {
            let next = match &hold {
                Hold::Detached => "check a branch out: `git switch BRANCH`".into(),
                Hold::InProgress(what) => format!("finish the {what} or call it off: `git status` says how"),
                Hold::OtherBranch(_) => match branch {
                    Some(own) => format!("notes are committed on `{own}`: `git switch {own}`"),
                    None => "check out the branch that notes are committed on".into(),
                },
                Hold::Busy(_) | Hold::Index(_) => "look at the repository with `git status`".into(),
            };
            findings
                .push(Finding::warning(Area::Git, format!("nothing is committed: {hold}"), next).of(self.vault.root()));
        }
        findings
    }

    fn no_git_finding(&self, no_git: &NoGit) -> Finding {
        // In a person's own folder there may be no repository: we make none there.
        let is_meant = *no_git == NoGit::Absent && self.vault.vault_id().is_ok_and(|id| id.is_none());
        let what = format!("nothing of the vault is committed: {no_git}");
        let finding = if is_meant {
            Finding::note(Area::Git, what, "where you want a history, run `git init` there")
        } else {
            let next = match no_git {
                NoGit::Absent => "the next write to a note makes a repository, and so does `ebbmark init`; a history \
                                  that was there before is not in it"
                    .into(),
                _ => no_git.hint(),
            };
            Finding::warning(Area::Git, what, next)
        };
        let finding = finding.of(match no_git {
            NoGit::Foreign { path, .. } => path,
            _ => self.vault.root(),
        });
        if *no_git == NoGit::Absent && !is_meant { finding.by(Repair::Commit) } else { finding }
    }
}

/// The sync program in whose folder a path lies.
fn cloud(path: &Path) -> Option<&'static str> {
    for folder in path.ancestors() {
        if folder.join(".stfolder").symlink_metadata().is_ok() {
            return Some("Syncthing");
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        // `OneDrive - Contoso`, `Dropbox (Personal)`.
        let is_its = |known: &str| {
            let rest = name.strip_prefix(&known.to_lowercase());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '-', '(']))
        };
        if let Some((_, cloud)) = CLOUDS.iter().find(|(known, _)| is_its(known)) {
            return Some(cloud);
        }
    }
    None
}

/// The file system that a path lies on, or will, where it is one to tell about; and whether it is on another machine.
fn file_system(path: &Path) -> Option<(&'static str, bool)> {
    let there = path.ancestors().find(|folder| folder.exists())?;
    named(files::kind_of_file_system(there)?)
}

fn named(kind: u32) -> Option<(&'static str, bool)> {
    let found = FILE_SYSTEMS.iter().find(|(known, _, _)| *known == kind)?;
    Some((found.1, found.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_programs_are_known_by_their_folders() {
        let of = |path: &str| cloud(Path::new(path));
        assert_eq!(of("/home/ada/Dropbox/ebbmark"), Some("Dropbox"));
        assert_eq!(of("/home/ada/Dropbox (Personal)/notes/vault"), Some("Dropbox"));
        assert_eq!(of("/Users/ada/Library/CloudStorage/OneDrive-Contoso/vault"), Some("OneDrive"));
        assert_eq!(of("/Users/ada/Library/CloudStorage/Box/vault"), Some("a cloud drive of macOS"));
        assert_eq!(of("/Users/ada/Library/Mobile Documents/iCloud~md~obsidian/vault"), Some("iCloud"));
        assert_eq!(of("/home/ada/nextcloud/vault"), Some("Nextcloud"));
        for path in ["/home/ada/.ebbmark", "/home/ada/dropboxer/x", "/home/ada/megaphone", "/"] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        assert_eq!(named(0x6969), Some(("NFS", true)));
        assert_eq!(named(0xFF53_4D42), Some(("CIFS", true)));
        assert_eq!(named(0x6573_5546), Some(("FUSE", false)));
        // ext4, btrfs, tmpfs, overlay
        for local in [0xEF53, 0x9123_683E, 0x0102_1994, 0x794C_7630] {
            assert_eq!(named(local), None);
        }
    }
}
