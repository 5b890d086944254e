//! What Ebbmark promises, tested from outside: the real binary, the library's one door, real files, real git.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::unwrap_used,
    reason = "tests stand outside the house: they play the person, the disk and the other machine"
)]

mod crash_states;
mod crowd;
mod kills;
mod review;
mod saves;
mod soundness;
mod support;
mod wire;

mod acknowledged;
mod adopt;
mod aliases;
mod architecture;
mod bad_input;
mod bad_journals;
mod bug_cases;
mod bug_clocks;
mod bug_disk;
mod bug_index;
mod bug_notes;
mod cli;
mod cli_answers;
mod concurrency;
mod consolidate;
mod doctor;
mod doctor_journal;
mod durability;
mod dynamics;
mod entities;
mod failing_calls;
mod formats;
mod fuzzed;
mod graph;
mod hubs;
mod journeys;
mod judged;
mod killed;
mod look_alikes;
mod machines;
mod mcp;
mod meaning;
mod messages;
mod next_steps;
mod older_journals;
mod own_notes;
mod pages;
mod persons_words;
mod power_cuts;
mod purge;
mod quality;
mod recovery;
mod regressions;
mod strange_notes;
mod undo;
mod upkeep;
mod vanish;
mod vault_git;
mod vaults;
mod watch;
