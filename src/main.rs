//! Arguments → one command → exit code. The only place that reads the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use ebbmark::cli::{self, Environment, VARIABLES};

#[expect(clippy::disallowed_methods, reason = "only main reads the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}

#[expect(clippy::disallowed_methods, reason = "only main reads the environment")]
fn is_empty(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value.is_empty())
}

/// Variables that begin like ours and are not known: a misspelt one would otherwise pass in silence.
fn unknown_variables() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with("EBBMARK_") && !VARIABLES.contains(&name.as_str())).collect();
    unknown.sort();
    unknown
}

/// What tells this machine from one that got a copy of its home.
fn machine() -> String {
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostname"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok().filter(|id| !id.trim().is_empty()));
    id.or_else(|| text("COMPUTERNAME"))
        .or_else(node_name)
        .or_else(|| text("HOSTNAME"))
        .unwrap_or_else(|| "unnamed".into())
}

/// The machine's name in the network: macOS has no file with an id, and its shells do not export `HOSTNAME`.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn node_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn node_name() -> Option<String> {
    None
}

/// Tells glibc to keep little of what was freed.
///
/// By default each thread that ever allocated has a heap of its own, and glibc raises the size from which blocks come
/// from the system with the largest block freed so far. Folding the index takes blocks of megabytes on short-lived
/// threads: a server that lives for days would keep 14 MB of each of them, 16 times on two cores.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator of the system has no safe way to be told")]
fn give_memory_back() {
    const LARGE_BYTES: i32 = 128 << 10;
    // SAFETY: no other thread runs yet, and both are parameters that glibc documents.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_memory_back() {}

fn main() -> ExitCode {
    give_memory_back();
    let environment = Environment {
        user_home: variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from),
        home: variable("EBBMARK_HOME").map(PathBuf::from),
        vault: variable("EBBMARK_VAULT").map(PathBuf::from),
        now: text("EBBMARK_NOW"),
        seed: text("EBBMARK_SEED"),
        replica: text("EBBMARK_REPLICA"),
        editor: text("VISUAL").or_else(|| text("EDITOR")),
        machine: machine(),
        empty: VARIABLES.iter().filter(|name| is_empty(name)).map(|name| (*name).to_owned()).collect(),
        unknown: unknown_variables(),
    };
    cli::run(std::env::args_os(), &environment)
}
