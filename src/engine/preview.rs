//! Preview tokens: what cannot be undone, or was not chosen by id, is shown first. The second call gives the token that
//! the first one got, which fits only what was shown, as it is now. Stateless: every process of the home can check it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::Engine;
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// How long a token holds, milliseconds.
const TOKEN_MS: i64 = 10 * 60 * 1000;
/// Bytes of the code in a token.
const CODE_BYTES: usize = 16;

impl Engine {
    /// A token for one action on what `content` tells.
    ///
    /// # Errors
    /// [`Error::Busy`] and [`Error::Io`] where the home's secret cannot be made.
    pub(super) fn preview_token(&self, action: &str, content: &str, now: Timestamp) -> Result<String> {
        token(&self.preview_secret()?, action, content, now.plus_millis(TOKEN_MS).millis())
    }

    /// Whether the token was given for this action on what `content` tells, not longer than ten minutes ago.
    ///
    /// # Errors
    /// [`Error::Invalid`] where it was not.
    pub(super) fn check_preview(&self, given: &str, action: &str, content: &str, now: Timestamp) -> Result<()> {
        check(given, &self.preview_secret_or_none()?, action, content, now)
    }
}

/// The code over action, content and expiry.
fn code(secret: &[u8], action: &str, content: &str, expires: i64) -> Result<Hmac<Sha256>> {
    let mut code =
        Hmac::<Sha256>::new_from_slice(secret).map_err(|error| Error::Internal(format!("preview token: {error}")))?;
    code.update(format!("{action}\n{expires}\n{content}").as_bytes());
    Ok(code)
}

fn token(secret: &[u8], action: &str, content: &str, expires: i64) -> Result<String> {
    let code: [u8; 32] = code(secret, action, content, expires)?.finalize().into_bytes().into();
    let code = code.iter().take(CODE_BYTES).fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    Ok(format!("{expires:x}-{code:032x}"))
}

fn check(given: &str, secret: &[u8], action: &str, content: &str, now: Timestamp) -> Result<()> {
    let refuse = |why: &str| {
        let hint = "ask again without it, look at the new preview, and give its token with the same request";
        Err(Error::invalid("preview_token", why, hint))
    };
    let read = || {
        let (expires, code) = given.trim().split_once('-')?;
        let code = u128::from_str_radix(code, 16).ok().filter(|_| code.len() == 2 * CODE_BYTES)?;
        Some((i64::from_str_radix(expires, 16).ok()?, code.to_be_bytes()))
    };
    let Some((expires, given)) = read() else {
        return refuse("is not one that a preview gave");
    };
    if code(secret, action, content, expires)?.verify_truncated_left(&given).is_err() {
        return refuse("was not given for these memories as they are now");
    }
    if now.millis() > expires {
        return refuse("has expired");
    }
    Ok(())
}
