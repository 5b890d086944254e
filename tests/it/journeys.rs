//! A memory's whole life, as `ebbmark demo` plays it.

use std::process::Command;

/// The demo, with the environment of no particular machine.
fn demo(arguments: &[&str]) -> (String, bool) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_ebbmark"))
        .arg("demo")
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", home.path().join("none"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

#[test]
fn six_weeks_of_memory() {
    let (story, is_ok) = demo(&[]);
    assert!(is_ok);
    insta::assert_snapshot!("six_weeks_of_memory", story);
}

#[test]
fn a_kept_demo_leaves_a_readable_home_and_vault() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("kept");
    let (_, is_ok) = demo(&["--keep", place.to_str().unwrap()]);
    assert!(is_ok);
    assert!(place.join("home/short-term/demo0000.jsonl").is_file());
    assert!(place.join("vault/Home.md").is_file());
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(place.join("vault")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "", "git status is clean");
    let again =
        Command::new(env!("CARGO_BIN_EXE_ebbmark")).args(["demo", "--keep", place.to_str().unwrap()]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "a second demo does not play over the first");
}
