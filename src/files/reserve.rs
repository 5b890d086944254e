//! Room kept for a full disk: a file that is given up when something must be written to make room.

use std::path::Path;

use super::{system, write_atomic};

/// Room that is kept, bytes.
const ROOM: usize = 64 << 10;

/// Makes the reserve where it is missing and there is room for it.
pub fn keep_reserve(path: &Path) {
    if path.exists() {
        return;
    }
    // Bytes that no file system can store in less.
    let mut room = vec![0; ROOM];
    if getrandom::fill(&mut room).is_ok() {
        drop(write_atomic(path, &room));
    }
}

/// Gives the reserve up; `false` where there was none.
pub fn give_up_reserve(path: &Path) -> bool {
    system::remove(&path.into()).is_ok()
}
