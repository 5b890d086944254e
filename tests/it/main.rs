//! The integration tests: one binary, a module for each promise.
#![allow(missing_docs, clippy::disallowed_methods, clippy::unwrap_used, reason = "tests")]

mod architecture;
mod formats;
mod journeys;
mod mcp;
mod quality;
