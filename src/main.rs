//! Arguments → one command → exit code.

fn main() {}
