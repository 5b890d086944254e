//! Ebbmark: a local-first, two-tier memory for AI agents.
//!
//! Memories live in an append-only journal and *ebb* unless they are used; what proves itself is *marked down* as a
//! note in an Obsidian vault. The library is one synchronous [`engine::Engine`]; the doors around it (command line,
//! MCP) turn requests into its request structs and answers into text.
//!
//! The modules in the order of the house: each may use only those below it.
//!
//! | floor | modules |
//! |---|---|
//! | doors | [`cli`], [`mcp`] |
//! | what the system tells of the vault | [`watch`] |
//! | the engine: the only code that orders writes | [`engine`] |
//! | stores: do I/O, decide nothing | [`git`], [`index`], [`vault`], [`journal`] |
//! | meaning: pure, no I/O, no clock, no randomness | [`rank`], [`graph`], [`slots`], [`clusters`], [`entities`], [`similarity`], [`question`], [`lexical`], [`embedding`], [`words`], [`note`], [`memory`], [`decay`], [`config`], [`kinds`], [`redact`] |
//! | ground | [`files`], [`clock`], [`id`], [`error`] |

pub mod cli;
pub mod mcp;

pub mod watch;

pub mod engine;

pub mod git;
pub mod index;
pub mod journal;
pub mod vault;

pub mod clusters;
pub mod config;
pub mod decay;
pub mod embedding;
pub mod entities;
pub mod graph;
pub mod kinds;
pub mod lexical;
pub mod memory;
pub mod note;
pub mod question;
pub mod rank;
pub mod redact;
pub mod similarity;
pub mod slots;
pub mod words;

pub mod clock;
pub mod error;
pub mod files;
pub mod id;
