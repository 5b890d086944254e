//! Paths with a content filter (git-crypt, Git LFS) or another encoding in git than on disk.
//!
//! libgit2 knows neither and would commit such files as they lie on disk, secrets in clear. Only the `git` program
//! turns them into what belongs into the repository; where it cannot, they are not committed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use git2::{AttrCheckFlags, AttrValue, Oid, Repository};

/// How long the `git` program may take for all paths of a commit.
const PATIENCE: Duration = Duration::from_secs(60);
/// Variables by which a surrounding git command (a hook, for one) would lead ours to another repository.
const MISLEADING: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// What lies between a file on disk and its content in git, beyond line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Conversion {
    None,
    /// A filter of that name, to be set up in git's configuration.
    Filter(String),
    /// Another encoding; git itself knows it.
    Encoding,
}

fn conversion(repository: &Repository, path: &str) -> Result<Conversion, git2::Error> {
    if let Some(filter) = attribute(repository, path, "filter")? {
        return Ok(Conversion::Filter(filter));
    }
    let encoding = attribute(repository, path, "working-tree-encoding")?;
    Ok(if encoding.is_some() { Conversion::Encoding } else { Conversion::None })
}

fn attribute(repository: &Repository, path: &str, name: &str) -> Result<Option<String>, git2::Error> {
    let value = repository.get_attr_bytes(Path::new(path), name, AttrCheckFlags::FILE_THEN_INDEX)?;
    Ok(match AttrValue::from_bytes(value) {
        AttrValue::String(text) => Some(text.to_owned()),
        AttrValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        AttrValue::True | AttrValue::False | AttrValue::Unspecified => None,
    })
}

/// What to do with the blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blobs {
    /// Store them.
    Store,
    /// Only name them.
    Name,
}

/// The blobs of those `paths` (relative to the work tree, existing files) that need the `git` program, or why there
/// is none. Paths without a filter are not in the answer.
pub(super) fn blobs<'a>(
    repository: &Repository,
    paths: impl Iterator<Item = &'a str>,
    blobs: Blobs,
) -> Result<BTreeMap<String, Result<Oid, String>>, git2::Error> {
    let config = repository.config()?.snapshot()?;
    let is_set_up = |filter: &str| {
        ["clean", "process"]
            .iter()
            .any(|way| config.get_string(&format!("filter.{filter}.{way}")).is_ok_and(|v| !v.is_empty()))
    };
    let mut answer = BTreeMap::new();
    let mut ready = Vec::new();
    let mut filters = Vec::new();
    for path in paths {
        match conversion(repository, path)? {
            Conversion::None => continue,
            Conversion::Filter(filter) if !is_set_up(&filter) => {
                answer.insert(path.to_owned(), Err(format!("its filter `{filter}` is not set up here")));
                continue;
            }
            Conversion::Filter(filter) => filters.push(filter),
            Conversion::Encoding => {}
        }
        if path.contains('\n') || path.starts_with('"') {
            answer.insert(path.to_owned(), Err("its name cannot be given to `git hash-object`".to_owned()));
        } else {
            ready.push(path);
        }
    }
    if !ready.is_empty() {
        filters.sort_unstable();
        filters.dedup();
        let oids = hash_objects(repository, &filters, &ready, blobs);
        for (at, path) in ready.iter().enumerate() {
            let oid = oids.as_ref().map(|oids| oids[at]).map_err(Clone::clone);
            answer.insert((*path).to_owned(), oid);
        }
    }
    Ok(answer)
}

/// One run of `git hash-object`: as many names as `paths`.
fn hash_objects(repository: &Repository, filters: &[String], paths: &[&str], blobs: Blobs) -> Result<Vec<Oid>, String> {
    let work_dir = repository.workdir().ok_or("the repository has no work tree")?;
    let mut command = Command::new("git");
    command.current_dir(work_dir).arg("--git-dir").arg(repository.path()).arg("--work-tree").arg(work_dir);
    command.args(["-c", "core.fsmonitor=false"]);
    for filter in filters {
        // Otherwise a filter that fails would let the file through as it is.
        command.arg("-c").arg(format!("filter.{filter}.required=true"));
    }
    command.arg("hash-object").args((blobs == Blobs::Store).then_some("-w")).arg("--stdin-paths");
    let output = run(command, paths.iter().flat_map(|path| [path, "\n"]).collect::<String>().into_bytes(), PATIENCE)?;
    let oids: Option<Vec<Oid>> = output.lines().map(|line| Oid::from_str(line).ok()).collect();
    oids.filter(|oids| oids.len() == paths.len()).ok_or_else(|| "`git hash-object` gave no usable answer".to_owned())
}

/// Runs a command with `input` on its standard input: its standard output, or in words what went wrong.
fn run(mut command: Command, input: Vec<u8>, patience: Duration) -> Result<String, String> {
    for name in MISLEADING {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("the `git` program cannot be started: {error}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // In the background, because either side may wait for the other to read. An early end shows in the answer.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let (output, complaints) = (read_in_background(child.stdout.take()), read_in_background(child.stderr.take()));
    let Ok(output) = output.recv_timeout(patience) else {
        drop(child.kill());
        drop(child.wait());
        return Err(format!("`git` gave no answer within {} s", patience.as_secs_f32()));
    };
    let status = child.wait().map_err(|error| format!("`git` cannot be waited for: {error}"))?;
    if status.success() {
        return Ok(output);
    }
    let complaints = complaints.recv_timeout(patience).unwrap_or_default();
    let last = complaints.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(last.map_or_else(|| format!("`git` ended with {status}"), str::to_owned))
}

/// Everything the pipe yields, sent once it is closed.
fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            drop(pipe.read_to_end(&mut bytes));
        }
        // Nobody receives any more once the patience is over.
        drop(sender.send(String::from_utf8_lossy(&bytes).into_owned()));
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Sandbox, left, left_without_commit, removed, written};
    use super::super::{Outcome, Why};
    use super::*;

    fn sandbox(attributes: &str) -> Sandbox {
        let sandbox = Sandbox::with_prefix("vault/");
        sandbox.keep(&[(".gitattributes", attributes)]);
        sandbox
    }

    fn dirty(sandbox: &Sandbox, path: &str) -> bool {
        !sandbox.open().dirty(&[path.to_owned()]).unwrap().is_empty()
    }

    #[cfg(unix)]
    #[test]
    fn filtered_files_are_committed_as_the_filter_makes_them() {
        let sandbox = sandbox("secret/*.md filter=rot\n");
        for key in ["clean", "smudge"] {
            sandbox.git(&["config", &format!("filter.rot.{key}"), "tr a-z n-za-m"]);
        }
        let outcome = sandbox.keep(&[("secret/a b.md", "hello"), ("secret/ü.md", "secret"), ("plain.md", "plain")]);
        assert_eq!(left(&outcome), []);
        assert_eq!(sandbox.committed("secret/a b.md").as_deref(), Some("uryyb"));
        assert_eq!(sandbox.committed("secret/ü.md").as_deref(), Some("frperg"));
        assert_eq!(sandbox.committed("plain.md").as_deref(), Some("plain"));
        assert_eq!(sandbox.status(), "");
        assert!(!dirty(&sandbox, "secret/a b.md"));
        assert_eq!(left_without_commit(&sandbox.commit(&[written("secret/a b.md")])), []);
        sandbox.write("secret/a b.md", "bye");
        assert!(dirty(&sandbox, "secret/a b.md"));
        assert_eq!(left(&sandbox.commit(&[written("secret/a b.md"), removed("secret/ü.md")])), []);
        assert_eq!(sandbox.committed("secret/a b.md").as_deref(), Some("olr"));
    }

    #[test]
    fn files_whose_filter_cannot_run_are_left_and_never_stored_in_clear() {
        let sandbox = sandbox("secret.md filter=crypt\n");
        let attempts = [None, Some("ebbmark-no-such-filter"), Some("exit 3")];
        for clean in attempts {
            if let Some(clean) = clean {
                sandbox.git(&["config", "filter.crypt.clean", clean]);
            }
            let outcome = sandbox.keep(&[("secret.md", "the secret")]);
            let [("secret.md", Why::Filter(why))] = left_without_commit(&outcome)[..] else { panic!("{outcome:?}") };
            assert!(why.contains("crypt"), "{why}");
            assert_eq!(sandbox.committed("secret.md"), None);
            let oid = sandbox.git(&["hash-object", "--no-filters", "vault/secret.md"]);
            assert!(!sandbox.try_git(&["cat-file", "-e", oid.trim()]).1, "the clear text is in the repository");
            assert!(dirty(&sandbox, "secret.md"));
        }
    }

    #[test]
    fn another_encoding_on_disk_is_turned_into_unicode() {
        let sandbox = sandbox("*.txt working-tree-encoding=UTF-16LE\n");
        assert_eq!(left(&sandbox.keep(&[("a.txt", "h\0i\0")])), []);
        assert_eq!(sandbox.committed("a.txt").as_deref(), Some("hi"));
        assert_eq!(sandbox.status(), "");
    }

    #[test]
    fn attributes_without_a_filter_name_mean_no_filter() {
        let sandbox = sandbox("*.md -filter\nx.md filter\n");
        let outcome = sandbox.keep(&[("a.md", "a"), ("x.md", "x")]);
        assert!(matches!(outcome, Outcome::Committed { .. }));
        assert_eq!(left(&outcome), []);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_end_is_given_up() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo half; exec sleep 600"]);
        let given_up = run(command, Vec::new(), Duration::from_millis(50));
        assert!(given_up.unwrap_err().contains("no answer"));
    }
}
