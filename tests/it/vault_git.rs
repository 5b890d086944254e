//! Git in the vault: what was promoted is committed and named, what the person does with git is left alone.

use std::fs;

use ebbmark::engine::ReviseRequest;

use crate::support::{Calls, Store, files_below};

/// A vault that is a person's repository, with work of every sort under way.
fn with_work_under_way(store: &Store) {
    fs::create_dir(store.vault()).unwrap();
    let write = |name: &str, text: &str| fs::write(store.vault().join(name), text).unwrap();
    store.git(&["init", "-q", "-b", "trunk"]);
    write("diary.md", "Monday\n");
    write("recipes.md", "Soup\n");
    write(".gitignore", "private/\n");
    store.git(&["add", "-A"]);
    store.git(&["commit", "-qm", "Begin"]);
    write("staged.md", "New and staged\n");
    write("diary.md", "Monday\nTuesday\n");
    store.git(&["add", "staged.md", "diary.md"]);
    write("diary.md", "Monday\nTuesday\nWednesday\n");
    write("recipes.md", "Soup and bread\n");
    write("loose.md", "Nobody added this\n");
}

/// A store with one promoted memory.
fn with_note() -> (Store, String) {
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.engine().keep(&id);
    (store, id)
}

fn revise(store: &Store, id: &str, text: &str) {
    store.engine().change(ReviseRequest { id: id.into(), text: Some(text.into()), ..ReviseRequest::default() });
}

fn commits(store: &Store) -> usize {
    store.git(&["rev-list", "--count", "HEAD"]).parse().unwrap()
}

#[test]
fn the_history_names_what_was_promoted() {
    let store = Store::new();
    let ids = ["Prefers tea over coffee", "Owns a red bicycle", "Plays the oboe"].map(|text| store.engine().save(text));
    store.ok(&["init"]);
    let before = commits(&store);
    let answer = store.json(&["promote", &ids[0], &ids[1], &ids[2]]);
    assert_eq!(commits(&store), before + 1, "one commit for one batch");
    let commit = store.git(&["rev-parse", "HEAD"]);
    let promoted = answer["promoted"].as_array().unwrap();
    assert!(promoted.len() == 3 && promoted.iter().all(|promoted| promoted["commit"] == commit.as_str()), "{answer}");
    let message = store.git(&["log", "-1", "--format=%s%n%b"]);
    assert!(message.starts_with("Promote: Prefers tea over coffee"), "{message}");
    let trailers = store.git(&["log", "-1", "--format=%(trailers:key=Ebbmark-Memory,valueonly)"]);
    assert_eq!(trailers.split_whitespace().collect::<Vec<_>>(), ids);
    assert_eq!(store.git(&["log", "-1", "--format=%an <%ae>"]), "Ebbmark <ebbmark@localhost>");
    assert_eq!(store.git(&["log", "-1", "--format=%at"]), store.now.millis().div_euclid(1000).to_string());
    assert_eq!(store.git(&["status", "--porcelain"]), "");

    revise(&store, &ids[1], "Owns a blue bicycle");
    store.engine().drop_memory(&ids[2]);
    let subjects = store.git(&["log", "-2", "--format=%s"]);
    assert_eq!(subjects, "Forget: Plays the oboe\nRevise: Owns a red bicycle");
}

#[test]
fn what_the_person_has_under_way_stays_under_way() {
    let store = Store::new();
    with_work_under_way(&store);
    let staged = store.git(&["diff", "--cached"]);
    let unstaged = store.git(&["diff"]);
    let before = files_below(&store.vault());
    let id = store.engine().save("Owns a red bicycle");
    store.ok(&["promote", &id]);
    revise(&store, &id, "Owns a blue bicycle");
    store.ok(&["tidy"]);

    assert_eq!(store.git(&["diff", "--cached"]), staged);
    assert_eq!(store.git(&["diff"]), unstaged);
    assert_eq!(store.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "trunk");
    let committed = store.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(committed.contains("Memories/Owns a red bicycle.md"), "{committed}");
    assert!(!committed.contains("staged.md") && !committed.contains("loose.md"), "{committed}");
    assert_eq!(store.git(&["show", "HEAD:diary.md"]), "Monday");
    assert_eq!(store.git(&["show", "HEAD:recipes.md"]), "Soup");
    let mut after = files_below(&store.vault());
    after.retain(|path, _| !path.starts_with(".git"));
    for (path, bytes) in before.iter().filter(|(path, _)| !path.starts_with(".git")) {
        assert_eq!(&after[path], bytes, "{}", path.display());
    }
    let ours = ["Memories/", "Templates/", ".obsidian/", "Entities/", "Home.md", "Memories.base", ".gitattributes"];
    let new = after.keys().filter(|path| !before.contains_key(*path)).map(|path| path.to_str().unwrap());
    let strangers: Vec<&str> = new.filter(|path| !ours.iter().any(|our| path.starts_with(our))).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    let status = store.git(&["status", "--porcelain"]);
    assert_eq!(status.lines().count(), 4, "only the person's own work is not committed:\n{status}");
    store.git(&["fsck", "--strict"]);
    // And their next commit holds what they staged, no more and no less.
    store.git(&["commit", "-qm", "My work"]);
    assert_eq!(store.git(&["show", "--format=", "--name-only", "HEAD"]), "diary.md\nstaged.md");
}

#[test]
fn a_note_that_the_person_has_staged_is_left_staged() {
    let (store, id) = with_note();
    store.edit_note("Owns a red bicycle", "\nOwns a red", "\nOwns a velvet");
    store.git(&["add", "Memories"]);
    store.edit_note("Owns a red bicycle", "\nOwns a velvet", "\nOwns a silk");
    store.ok(&["tidy"]);
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a silk bicycle");
    assert!(store.note("Owns a red bicycle").ends_with("\nOwns a silk bicycle\n"));
    store.git(&["fsck"]);
}

#[test]
fn a_vault_inside_a_repository_uses_that_one() {
    let store = Store::new();
    fs::create_dir(store.vault()).unwrap();
    fs::write(store.root().join("plan.md"), "Plan\n").unwrap();
    fs::write(store.root().join(".gitignore"), "home/\nuser/\n").unwrap();
    store.git(&["-C", "..", "init", "-q", "-b", "main"]);
    store.git(&["-C", "..", "add", "-A"]);
    store.git(&["-C", "..", "commit", "-qm", "Begin"]);
    fs::write(store.root().join("plan.md"), "Plan B\n").unwrap();
    store.git(&["-C", "..", "add", "-A"]);
    let id = store.engine().save("Owns a red bicycle");
    store.ok(&["promote", &id]);
    store.ok(&["tidy"]);
    assert!(!store.vault().join(".git").exists(), "a repository inside a repository");
    assert_eq!(store.git(&["-C", "..", "status", "--porcelain"]), "M  plan.md");
    let committed = store.git(&["-C", "..", "ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(committed.contains("vault/Memories/Owns a red bicycle.md"), "{committed}");
}

#[test]
fn without_git_everything_else_works() {
    let store = Store::new();
    store.configure("[git]\nmode = \"off\"\n");
    let id = store.engine().save("Owns a red bicycle");
    let answer = store.json(&["promote", &id]);
    assert!(answer["promoted"][0].get("commit").is_none() && answer.get("notice").is_none(), "{answer}");
    store.edit_note("Owns a red bicycle", "\nOwns a red", "\nOwns a blue");
    store.ok(&["tidy"]);
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a blue bicycle");
    store.ok(&["forget", &id]);
    assert!(store.notes().is_empty());
    store.ok(&["restore", &id]);
    assert_eq!(store.notes().len(), 1);
    assert_eq!(store.json(&["inspect", "health"])["health"]["ok"], true);
    assert!(!store.vault().join(".git").exists());
}

#[test]
fn a_person_whom_git_does_not_know_is_no_obstacle_and_one_whom_it_knows_is_the_author() {
    // By the binary: the library here reads the settings of whoever runs the tests.
    let store = Store::new();
    let id = store.engine().save("Owns a red bicycle");
    store.ok(&["promote", &id]);
    assert_eq!(store.git(&["log", "-1", "--format=%an"]), "Ebbmark");
    store.git(&["config", "user.name", "Ada"]);
    store.git(&["config", "user.email", "ada@example.org"]);
    store.ok(&["revise", &id, "--text", "Owns a blue bicycle"]);
    assert_eq!(store.git(&["log", "-1", "--format=%an <%ae>"]), "Ada <ada@example.org>");

    let own = Store::new();
    own.configure("[git]\nauthor = \"Memory Keeper <keeper@example.org>\"\n");
    let id = own.engine().save("Owns a red bicycle");
    own.ok(&["promote", &id]);
    assert_eq!(own.git(&["log", "-1", "--format=%an <%ae>"]), "Memory Keeper <keeper@example.org>");
}

#[test]
fn on_another_branch_nothing_is_committed_and_nothing_hidden() {
    let (store, id) = with_note();
    let before = commits(&store);
    store.git(&["checkout", "-q", "-b", "experiment"]);
    let other = store.engine().save("Plays the oboe");
    let answer = store.json(&["promote", &other]);
    assert_eq!(answer["promoted"].as_array().unwrap().len(), 1);
    assert!(answer["notice"].as_str().is_some_and(|notice| notice.contains("experiment")), "{answer}");
    store.ok(&["tidy"]);
    assert_eq!(commits(&store), before);
    assert_eq!(store.engine().counts().active, 2);

    // A branch from before there were notes: they are not gone.
    store.git(&["stash", "-qu"]);
    store.git(&["checkout", "-q", "--orphan", "empty"]);
    store.git(&["rm", "-rqf", "."]);
    store.run(&["tidy"]);
    assert_eq!(store.engine().counts().active, 2);
    assert_eq!(store.engine().counts().forgotten, 0);
    assert_eq!(store.engine().whole(&id).memory.text, "Owns a red bicycle");
    assert!(!store.engine().texts("bicycle").is_empty(), "hidden by a branch");

    store.git(&["checkout", "-qf", "main"]);
    store.git(&["stash", "pop", "-q"]);
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.notes().len(), 2);
}

#[test]
fn a_repository_in_the_middle_of_something_is_left_alone() {
    let states: [(&str, &[&[&str]]); 3] = [
        ("detached", &[&["checkout", "-q", "--detach"]]),
        (
            "merging",
            &[
                &["checkout", "-q", "-b", "side"],
                &["commit", "-q", "--allow-empty", "-m", "Side"],
                &["checkout", "-q", "main"],
                &["merge", "-q", "--no-ff", "--no-commit", "side"],
            ],
        ),
        ("bisecting", &[&["bisect", "start"]]),
    ];
    for (what, steps) in states {
        let (store, id) = with_note();
        for step in steps {
            store.git(step);
        }
        let before = commits(&store);
        revise(&store, &id, "Owns a blue bicycle");
        let answer = store.json(&["tidy"]);
        assert_eq!(store.engine().whole(&id).memory.text, "Owns a blue bicycle");
        assert!(store.note("Owns a red bicycle").ends_with("\nOwns a blue bicycle\n"), "{what}");
        if what != "bisecting" {
            assert_eq!(commits(&store), before, "{what}: a commit");
            assert!(answer["problems"].as_array().is_some_and(|problems| !problems.is_empty()), "{what}: {answer}");
        }
        assert_eq!(store.vault().join(".git/MERGE_HEAD").exists(), what == "merging");
    }
}

#[test]
fn a_lock_of_git_delays_the_commit_and_nothing_else() {
    for name in ["index.lock", "refs/heads/main.lock"] {
        let (store, id) = with_note();
        let lock = store.vault().join(".git").join(name);
        fs::write(&lock, "").unwrap();
        let other = store.engine().save("Plays the oboe");
        let answer = store.json(&["promote", &other]);
        assert_eq!(answer["promoted"].as_array().unwrap().len(), 1, "{name}");
        assert!(answer["notice"].as_str().is_some_and(|notice| notice.contains(".lock")), "{name}: {answer}");
        store.ok(&["revise", &id, "--text", "Owns a blue bicycle"]);
        store.ok(&["forget", &id]);
        assert_eq!(store.engine().texts("oboe"), ["Plays the oboe"]);
        let tidied = store.json(&["tidy"]);
        assert!(tidied["problems"].to_string().contains(".lock"), "{name}: {tidied}");
        assert!(lock.exists(), "{name}: removed though it may be held");

        fs::remove_file(&lock).unwrap();
        store.ok(&["tidy"]);
        assert_eq!(store.git(&["status", "--porcelain"]), "", "{name}");
        assert_eq!(store.git(&["ls-files", "Memories"]), "Memories/Plays the oboe.md", "{name}");
        assert!(store.git(&["log", "--format=%B"]).contains(&format!("Ebbmark-Memory: {other}")), "{name}");
    }
}

#[test]
fn health_says_what_keeps_notes_from_being_committed() {
    let (store, id) = with_note();
    fs::write(store.vault().join(".git/index.lock"), "").unwrap();
    let revised = store.json(&["revise", &id, "--text", "Owns a blue bicycle"]);
    let health = store.run(&["inspect", "health", "--json"]).json();
    assert!(health.to_string().contains("index.lock"), "{health}");
    assert!(revised.to_string().contains("index.lock"), "{revised}");
}

#[test]
fn a_forget_that_died_before_its_commit_is_committed_by_tidying() {
    let (store, id) = with_note();
    // As if the process had ended between moving the note and committing.
    let head = store.git(&["rev-parse", "HEAD"]);
    store.ok(&["forget", &id]);
    store.git(&["reset", "-q", "--mixed", &head]);
    assert_eq!(store.git(&["status", "--porcelain"]), " D \"Memories/Owns a red bicycle.md\"");
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert_eq!(store.git(&["ls-files", "Memories"]), "");
}

#[test]
fn a_promotion_that_died_before_its_commit_is_committed_by_tidying() {
    let (store, _) = with_note();
    let head = store.git(&["rev-parse", "HEAD"]);
    let id = store.engine().save("Plays the oboe");
    store.engine().keep(&id);
    store.git(&["reset", "-q", "--mixed", &head]);
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
    assert!(store.git(&["log", "-1", "--format=%B"]).contains(&format!("Ebbmark-Memory: {id}")));
}

#[test]
fn a_promotion_that_died_before_its_line_is_finished_by_tidying() {
    let (store, _) = with_note();
    let before = fs::read(store.journal()).unwrap();
    let id = store.engine().save("Plays the oboe");
    let told = fs::read(store.journal()).unwrap();
    store.engine().keep(&id);
    assert!(told.len() > before.len());
    fs::write(store.journal(), told).unwrap();
    assert!(store.engine().whole(&id).memory.note.is_none());
    store.ok(&["tidy"]);
    assert_eq!(store.engine().whole(&id).memory.note.as_deref(), Some("Memories/Plays the oboe.md"));
    assert_eq!(store.notes().len(), 2);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_vault_that_was_not_committed_when_it_was_made_is_committed_by_tidying() {
    let (store, _) = with_note();
    store.git(&["update-ref", "-d", "HEAD"]);
    fs::remove_file(store.vault().join(".git/index")).unwrap();
    store.ok(&["tidy"]);
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

#[test]
fn hooks_and_odd_settings_of_the_person_do_not_matter() {
    use std::os::unix::fs::PermissionsExt;
    let (store, id) = with_note();
    for hook in ["pre-commit", "commit-msg", "prepare-commit-msg"] {
        let path = store.vault().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (key, value) in [("commit.gpgSign", "true"), ("core.autocrlf", "true"), ("core.quotePath", "true")] {
        store.git(&["config", key, value]);
    }
    store.write_note("Owns a red bicycle", &store.note("Owns a red bicycle").replace('\n', "\r\n"));
    let written = store.note("Owns a red bicycle");
    store.ok(&["tidy"]);
    revise(&store, &id, "Owns a blue bicycle");
    let note = store.note("Owns a red bicycle");
    assert_eq!(note.matches("\r\n").count(), written.matches("\r\n").count());
    let blob = store.git(&["cat-file", "blob", "HEAD:Memories/Owns a red bicycle.md"]);
    assert_eq!(blob.trim_end(), note.trim_end(), "git keeps the note byte for byte");
    assert_eq!(store.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_note_with_conflict_markers_is_not_committed_and_not_lost() {
    let (store, id) = with_note();
    let conflicted =
        "---\nid: ID\n<<<<<<< HEAD\nstrength: 1\n=======\nstrength: 2\n>>>>>>> laptop\n---\nOwns a red bicycle\n";
    let conflicted = conflicted.replace("ID", &id);
    store.write_note("Owns a red bicycle", &conflicted);
    let before = commits(&store);
    let tidied = store.json(&["tidy"]);
    assert_eq!(store.note("Owns a red bicycle"), conflicted);
    assert_eq!(store.engine().texts("bicycle"), ["Owns a red bicycle"]);
    assert!(tidied["problems"].to_string().contains("Owns a red bicycle"), "{tidied}");
    assert_eq!(commits(&store), before, "conflict markers were committed");
}
