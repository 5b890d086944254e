//! Memory and replica ids, where their randomness comes from, and stable content hashes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters of a replica id.
const REPLICA_LENGTH: usize = 8;

/// Value of one base-32 character (Crockford: case is ignored, `o` reads as 0, `i` and `l` as 1).
fn digit(character: u8) -> Option<u64> {
    let character = match character.to_ascii_lowercase() {
        b'o' => b'0',
        b'i' | b'l' => b'1',
        other => other,
    };
    ALPHABET.iter().position(|c| *c == character).map(|p| p as u64)
}

fn base32(mut bits: u64, length: usize) -> String {
    let mut text = vec![b'0'; length];
    for place in text.iter_mut().rev() {
        *place = ALPHABET[(bits & 31) as usize];
        bits >>= 5;
    }
    text.into_iter().map(char::from).collect()
}

/// Identity of a memory: 60 bits, written as 12 lower-case Crockford base-32 characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(u64);

impl MemoryId {
    /// Characters of a written id.
    pub const LENGTH: usize = 12;
    /// Characters that an id prefix needs at least.
    pub const MIN_PREFIX: usize = 4;

    /// From the low 60 bits of `bits`.
    pub fn from_bits(bits: u64) -> Self {
        MemoryId(bits & ((1 << 60) - 1))
    }

    /// The 60 bits.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Whether YAML can only read the written id as text: it holds a letter other than `e`, and does not begin like
    /// a hexadecimal or binary number.
    fn is_text_in_yaml(self) -> bool {
        let text = self.to_string();
        text.bytes().any(|c| c.is_ascii_alphabetic() && c != b'e') && !text.starts_with("0x") && !text.starts_with("0b")
    }

    /// Deterministic id for something imported: the same source gives the same id.
    pub fn from_source(source: &str) -> Self {
        let mut salt = 0u32;
        loop {
            let id = Self::from_bits(hash64(format!("{salt}\n{source}").as_bytes()));
            if id.is_text_in_yaml() {
                return id;
            }
            salt += 1;
        }
    }

    /// Whether the written id begins with `prefix` (already normalised by [`normal_prefix`]).
    pub fn starts_with(self, prefix: &str) -> bool {
        self.to_string().starts_with(prefix)
    }
}

/// Brings an id or id prefix into the written form: lower case, `o` as 0, `i` and `l` as 1.
///
/// # Errors
/// [`Error::Invalid`] for fewer than 4 or more than 12 characters, or other characters.
pub fn normal_prefix(text: &str) -> Result<String> {
    let text = text.trim();
    let bad =
        |why: &str| Error::invalid(format!("id `{text}`"), why, "ids have 12 letters and digits; 4 or more suffice");
    if !(MemoryId::MIN_PREFIX..=MemoryId::LENGTH).contains(&text.chars().count()) {
        return Err(bad("has not 4 to 12 characters"));
    }
    text.bytes()
        .map(|c| digit(c).map(|d| char::from(ALPHABET[d as usize])))
        .collect::<Option<String>>()
        .ok_or_else(|| bad("holds a character that no id has"))
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(self.0, Self::LENGTH))
    }
}

impl FromStr for MemoryId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let normal = normal_prefix(text)?;
        if normal.len() != Self::LENGTH {
            return Err(Error::invalid(format!("id `{text}`"), "is not 12 characters long", "give the whole id"));
        }
        Ok(MemoryId(normal.bytes().filter_map(digit).fold(0, |bits, d| bits << 5 | d)))
    }
}

impl Serialize for MemoryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MemoryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where randomness comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system.
    Os,
    /// A seed, for repeatable tests; mixed with what identifies the caller, so that two
    /// processes or two lines never draw the same bits.
    Seeded(u64),
}

impl Randomness {
    /// 64 bits. `salt` identifies the draw (replica, line number, place in the batch).
    ///
    /// # Errors
    /// [`Error::Internal`] when the system has no randomness to give.
    pub fn bits(&self, salt: &str) -> Result<u64> {
        match self {
            Randomness::Os => getrandom::u64().map_err(|e| Error::Internal(format!("no randomness: {e}"))),
            Randomness::Seeded(seed) => Ok(hash64(format!("{seed}\n{salt}").as_bytes())),
        }
    }

    /// A new memory id, never one that YAML could read as a number.
    ///
    /// # Errors
    /// As [`Randomness::bits`].
    pub fn memory_id(&self, salt: &str) -> Result<MemoryId> {
        for attempt in 0u32.. {
            let id = MemoryId::from_bits(self.bits(&format!("{salt}\n{attempt}"))?);
            if id.is_text_in_yaml() {
                return Ok(id);
            }
        }
        Err(Error::Internal("no usable id among four billion".into()))
    }

    /// A new replica id: 8 base-32 characters.
    ///
    /// # Errors
    /// As [`Randomness::bits`].
    pub fn replica_id(&self, salt: &str) -> Result<String> {
        Ok(base32(self.bits(&format!("replica\n{salt}"))? >> 24, REPLICA_LENGTH))
    }
}

/// Whether a text is a replica id as [`Randomness::replica_id`] makes them.
pub fn is_replica_id(text: &str) -> bool {
    text.len() == REPLICA_LENGTH && text.bytes().all(|c| ALPHABET.contains(&c))
}

/// First 64 bits of the SHA-256 of `bytes`; the same on every machine and version.
pub fn hash64(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Content hash as written in journal lines: 16 hex characters of SHA-256.
pub fn content_hash(bytes: &[u8]) -> String {
    format!("{:016x}", hash64(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_in_any_case() {
        let id: MemoryId = "7k2m9x4qwc3r".parse().unwrap();
        assert_eq!(id.to_string(), "7k2m9x4qwc3r");
        assert_eq!("7K2M9X4QWC3R".parse::<MemoryId>().unwrap(), id);
        assert_eq!("OIL0000000ab".parse::<MemoryId>().unwrap().to_string(), "0110000000ab");
        for bad in ["", "7k2", "7k2m9x4qwc3", "7k2m9x4qwc3rr", "7k2m9x4qwc3u", "7k2m 9x4qwc3"] {
            assert!(bad.parse::<MemoryId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn prefixes_are_normalised_and_bounded() {
        assert_eq!(normal_prefix(" 7K2M ").unwrap(), "7k2m");
        assert!(normal_prefix("7k2").is_err());
        assert!(normal_prefix("ünïq").is_err());
        assert!("7k2m9x4qwc3r".parse::<MemoryId>().unwrap().starts_with("7k2m"));
    }

    #[test]
    fn generated_ids_are_text_in_yaml() {
        let seeded = Randomness::Seeded(1);
        for n in 0..2000 {
            let id = seeded.memory_id(&n.to_string()).unwrap().to_string();
            assert!(id.bytes().any(|c| c.is_ascii_alphabetic() && c != b'e'), "{id}");
        }
        assert_ne!(seeded.memory_id("a").unwrap(), seeded.memory_id("b").unwrap());
        assert_eq!(seeded.memory_id("a").unwrap(), Randomness::Seeded(1).memory_id("a").unwrap());
        assert_eq!(MemoryId::from_source("x"), MemoryId::from_source("x"));
    }
}
