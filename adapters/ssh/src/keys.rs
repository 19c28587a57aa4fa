//! Where private keys come from, and how they become usable.

use std::fmt;
use std::sync::Arc;

use russh::keys::{Algorithm, PrivateKey, decode_secret_key};
use seaworthy_model::cause::{Cause, CauseKind};
use zeroize::Zeroizing;

/// A source of private keys, by the name of the Secret that holds them.
///
/// A key is asked for at every login and never kept, so that a replaced Secret is used at once.
pub trait Keys: Send + Sync + 'static {
    /// The text of the private key in the Secret `secret_name`.
    ///
    /// # Errors
    /// A [`KeyError`] that names the Secret, never its contents.
    fn private_key(&self, secret_name: &str)
    -> impl Future<Output = Result<PrivateKeyText, KeyError>> + Send;
}

/// A private key as text (OpenSSH or PKCS#8). Overwritten when dropped; `Debug` does not show it.
pub struct PrivateKeyText(Zeroizing<Vec<u8>>);

impl PrivateKeyText {
    /// Takes over `bytes`, without a copy that would stay behind.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl fmt::Debug for PrivateKeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKeyText(..)")
    }
}

/// Why there is no private key. Each carries words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The Secret does not exist.
    Missing(String),
    /// It exists and holds no private key.
    Invalid(String),
    /// It is not known whether there is one: the API server does not answer.
    Unavailable(String),
}

impl From<KeyError> for Cause {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Missing(detail) => Self::new(CauseKind::SecretMissing, detail),
            KeyError::Invalid(detail) => Self::new(CauseKind::SecretInvalid, detail),
            KeyError::Unavailable(detail) => Self::new(CauseKind::ApiUnavailable, detail),
        }
    }
}

/// The key in the Secret, ready to sign.
pub(crate) async fn usable_key<K: Keys>(keys: &K, secret_name: &str) -> Result<Arc<PrivateKey>, Cause> {
    let text = keys.private_key(secret_name).await?;
    parse(&text)
        .map(Arc::new)
        .map_err(|why| Cause::new(CauseKind::SecretInvalid, format!("the key in Secret {secret_name} {why}")))
}

/// Reads the key. The messages of its errors are our own: a parser's message may quote the key.
fn parse(text: &PrivateKeyText) -> Result<PrivateKey, &'static str> {
    const UNUSABLE: &str = "is not a usable private key in OpenSSH or PKCS#8 form";
    let text = std::str::from_utf8(&text.0).map_err(|_| "is not text")?;
    let key = decode_secret_key(text.trim(), None).map_err(|error| {
        use russh::keys::Error;
        if text.trim().is_empty() {
            "is empty"
        } else if matches!(error, Error::KeyIsEncrypted) || text.contains("BEGIN ENCRYPTED") {
            "is encrypted with a passphrase, which nobody could enter"
        } else if matches!(error, Error::UnsupportedKeyType { .. }) {
            "is of a kind that is not supported; use ed25519 or ecdsa"
        } else if text.trim_start().starts_with("ssh-") || text.trim_start().starts_with("ecdsa-") {
            "is a public key; the private key is needed"
        } else {
            UNUSABLE
        }
    })?;
    if key.is_encrypted() {
        return Err("is encrypted with a passphrase, which nobody could enter");
    }
    if matches!(key.algorithm(), Algorithm::Ed25519 | Algorithm::Ecdsa { .. }) {
        Ok(key)
    } else {
        Err("is of a kind that is not supported; use ed25519 or ecdsa")
    }
}

#[cfg(test)]
mod tests {
    use russh::keys::ssh_key::LineEnding;

    use super::*;

    fn text(key: &str) -> PrivateKeyText {
        PrivateKeyText::new(key.as_bytes().to_vec())
    }

    fn fresh() -> String {
        let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
        key.to_openssh(LineEnding::LF).unwrap().to_string()
    }

    #[test]
    fn a_key_is_read_whatever_its_white_space() {
        let key = fresh();
        assert!(parse(&text(&key)).is_ok());
        assert!(parse(&text(key.trim_end())).is_ok(), "without a last newline");
        assert!(
            parse(&text(&format!("\n{}", key.replace('\n', "\r\n")))).is_ok(),
            "from an editor on Windows"
        );
    }

    #[test]
    fn what_is_not_a_usable_key_is_told_apart() {
        let public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
        let rsa = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let mut truncated = fresh();
        truncated.truncate(120);
        let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";
        for (bad, words) in [
            ("", "empty"),
            (" \n", "empty"),
            ("hello", "not a usable"),
            (public, "public key"),
            (rsa, "not supported"),
            (&truncated, "not a usable"),
            (locked, "passphrase"),
        ] {
            let why = parse(&text(bad)).unwrap_err();
            assert!(why.contains(words), "{bad:?}: {why}");
        }
        assert_eq!(parse(&PrivateKeyText::new(vec![0xff, 0xfe])).unwrap_err(), "is not text");
    }

    #[test]
    fn a_key_is_never_shown() {
        assert_eq!(format!("{:?}", text("secret")), "PrivateKeyText(..)");
    }
}
