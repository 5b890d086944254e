//! Move: the vault goes to another folder, and what was known of it goes along. No note counts as deleted.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Engine, refuse_nesting};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::files;

/// Where the vault went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedVault {
    /// Where it was.
    pub from: PathBuf,
    /// Where it is.
    pub to: PathBuf,
    /// The file that names the new place.
    pub config: PathBuf,
}

impl Engine {
    /// Moves the vault to `to`, which must not be there yet or be an empty folder, and writes `vault_path` into
    /// `config.toml`. Every other byte of that file stays.
    ///
    /// # Errors
    /// [`Error::Invalid`] where there is no vault, the place is taken, or lies in the home; [`Error::Io`], also where
    /// the place is on another disk: then nothing was moved.
    pub fn move_vault(&self, to: &Path) -> Result<MovedVault> {
        let to = std::path::absolute(to).map_err(Error::io("find", to))?;
        let from = std::path::absolute(self.vault.root()).map_err(Error::io("find", self.vault.root()))?;
        if !self.vault.exists() {
            let why = "is not there";
            return Err(Error::invalid(
                format!("vault {}", from.display()),
                why,
                "`ebbmark where` shows what is known",
            ));
        }
        refuse_nesting(&self.home, &to)?;
        if to.starts_with(&from) {
            let why = "lies inside the vault";
            return Err(Error::invalid(format!("folder {}", to.display()), why, "choose one beside it"));
        }
        let _guard = self.journal.lock()?;
        let config = self.home.join("config.toml");
        let old = String::from_utf8_lossy(&files::read_if_there(&config)?.unwrap_or_default()).into_owned();
        let new = with_vault_path(&old, &to);
        // A file that would not be read again is not written.
        Config::read(&new)?;
        drop(self.seen());
        files::move_folder(&from, &to)?;
        self.seen_at(&to);
        files::write_atomic(&config, new.as_bytes())?;
        Ok(MovedVault { from, to, config })
    }
}

/// The configuration with another `vault_path`: its line where it has one, else a first line.
fn with_vault_path(text: &str, path: &Path) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // A JSON string is a TOML string, escapes included.
    let quoted = serde_json::Value::from(path.to_string_lossy().into_owned());
    let line = format!("vault_path = {quoted}{line_end}");
    let mut is_written = false;
    let mut in_table = false;
    let mut out = String::new();
    for old in text.split_inclusive('\n') {
        in_table |= old.trim_start().starts_with('[');
        let key = old.split_once('=').map(|(key, _)| key.trim().trim_matches(['"', '\'']));
        if !in_table && !is_written && key == Some("vault_path") {
            out.push_str(&line);
            is_written = true;
        } else {
            out.push_str(old);
        }
    }
    if is_written { out } else { format!("{line}{out}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_of_the_path_changes() {
        for (old, new) in [
            ("", "vault_path = \"/new \\\"x\\\"\"\n"),
            ("# mine\n[git]\nmode = \"off\"", "vault_path = \"/new \\\"x\\\"\"\n# mine\n[git]\nmode = \"off\""),
            (
                "a = 1\nvault_path='/old' # c\n[x]\nvault_path = 1\n",
                "a = 1\nvault_path = \"/new \\\"x\\\"\"\n[x]\nvault_path = 1\n",
            ),
        ] {
            // TOML has two ways of quoting: what counts is what is read.
            let written = with_vault_path(old, Path::new("/new \"x\""));
            let read = |text: &str| text.parse::<toml::Table>().unwrap();
            assert_eq!(read(&written), read(new), "{written}");
            assert_eq!(written.lines().count(), new.lines().count());
        }
    }
}
