//! Bytes of the own journal that could not be read, kept beside it.

use std::path::Path;

use super::Journal;
use crate::error::Result;
use crate::files;
use crate::id::content_hash;
use crate::redact::redact;

impl Journal {
    /// Keeps lines that could not be read, with where they came from: byte for byte, but for secrets.
    pub(super) fn quarantine(&self, from: &Path, lines: &[Vec<u8>]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let folder = self.home.join("quarantine");
        files::create_folder(&folder)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        let mut kept = format!("# lines of {name} that could not be read\n").into_bytes();
        for line in lines {
            kept.extend_from_slice(&without_secrets(line));
            kept.push(b'\n');
        }
        // Some secrets are many lines long.
        let kept = without_secrets(&kept);
        files::write_atomic(&folder.join(format!("{name}-{}.txt", content_hash(&kept))), &kept)
    }
}

/// The bytes as they are. Where a secret is found in them, their text without it: what is no UTF-8 is then replaced,
/// and zeros are left out, behind which UTF-16 hides it.
fn without_secrets(bytes: &[u8]) -> Vec<u8> {
    let shown: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let (redacted, found) = redact(&String::from_utf8_lossy(&shown));
    if found.is_empty() { bytes.to_vec() } else { redacted.into_string().into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_as_they_are_but_for_secrets() {
        for bytes in [&b"caf\xe9 \0\x01 half a line"[..], b"{\"first", b"", &[0; 600]] {
            assert_eq!(without_secrets(bytes), bytes);
        }
        let key = ["AKIA", "IOSFODNN7EXAMPLQ"].concat();
        let plain = format!("caf\u{e9} {key} rest");
        let wide: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [plain.as_bytes(), &[plain.as_bytes(), b"\xe9"].concat(), &wide] {
            let kept = String::from_utf8(without_secrets(bytes)).unwrap();
            assert!(kept.contains(" rest") && !kept.contains(&key), "{kept}");
        }
    }
}
