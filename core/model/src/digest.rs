//! SHA-256 digests, and the hasher that builds release ids out of labelled fields.

use alloc::string::String;
use core::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. Written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits; `None` when it is anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let high = (pair[0] as char).to_digit(16)?;
            let low = (pair[1] as char).to_digit(16)?;
            *byte = u8::try_from(high << 4 | low).ok()?;
        }
        Some(Self(bytes))
    }

    /// The first twelve hexadecimal digits, enough to tell releases of one component apart in a path or a log.
    #[must_use]
    pub fn short(&self) -> String {
        let mut text = alloc::format!("{self}");
        text.truncate(12);
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hex;
        impl Visitor<'_> for Hex {
            type Value = Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 hexadecimal digits of a SHA-256 digest")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
                Digest::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Hex)
    }
}

/// Hashes a sequence of labelled fields. Labels and lengths go in with the bytes, so no two different sequences
/// run together into the same input.
pub struct FieldHasher(Sha256);

impl FieldHasher {
    /// Starts a hash for `purpose`; hashes for different purposes never collide.
    #[must_use]
    pub fn new(purpose: &str) -> Self {
        let mut hasher = Self(Sha256::new());
        hasher.field("purpose", purpose.as_bytes());
        hasher
    }

    /// Adds one field.
    pub fn field(&mut self, label: &str, value: &[u8]) {
        self.0.update((label.len() as u64).to_le_bytes());
        self.0.update(label.as_bytes());
        self.0.update((value.len() as u64).to_le_bytes());
        self.0.update(value);
    }

    /// Ends the hash.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// 128-bit numbers as 32 hexadecimal digits: JSON numbers do not reach that far.
pub mod hex128 {
    use super::{Deserializer, Serializer, String, fmt};
    use serde::Deserialize as _;
    use serde::de::Error as _;

    struct Hex(u128);

    impl fmt::Display for Hex {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:032x}", self.0)
        }
    }

    /// Writes 32 hexadecimal digits.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Hex(*value))
    }

    /// Reads up to 32 hexadecimal digits.
    ///
    /// # Errors
    /// When the text is not such a number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map_err(|_| D::Error::custom("expected 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::{Digest, FieldHasher};

    #[test]
    fn digest_of_the_empty_string_is_the_published_one() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::parse(empty), Some(Digest::of(b"")));
        assert_eq!(Digest::parse(&empty[1..]), None);
    }

    #[test]
    fn fields_do_not_run_together() {
        let hash = |fields: &[(&str, &[u8])]| {
            let mut hasher = FieldHasher::new("test");
            for (label, value) in fields {
                hasher.field(label, value);
            }
            hasher.finish()
        };
        assert_ne!(hash(&[("a", b"bc")]), hash(&[("ab", b"c")]));
        assert_ne!(hash(&[("a", b"b"), ("c", b"")]), hash(&[("a", b""), ("c", b"b")]));
    }
}
