//! What the fuzz targets promise. Each module has one `check`: it takes any bytes, plays them against the library, and
//! panics where a promise is broken. The fuzz targets and the test suite (`tests/it/fuzzed.rs`) call the same checks.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "checks stand outside the house: they play the person, the disk and the other machine"
)]

pub mod frontmatter;
mod home;
pub mod journal_file;
pub mod journal_line;
pub mod link;
pub mod mcp_arguments;
pub mod name;
pub mod note;
pub mod operations;
pub mod path;
pub mod query;
