//! Values that Kubernetes writes as text: times, uids, versions, digests.

use std::fmt;

use seaworthy_model::digest::Digest;
use seaworthy_model::id::Uid;
use seaworthy_model::machine::HostId;
use seaworthy_model::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rfc3339;

/// A value that is text in JSON, kept as the parsed value: a fleet holds millions of them. Text that cannot be parsed is
/// kept as it is, so that nothing is lost and the parser of the field can report it.
#[derive(Clone, PartialEq, Eq)]
pub enum Scalar<T> {
    /// The value.
    Read(T),
    /// Text that cannot be parsed; empty when there was none.
    Unread(Box<str>),
}

/// RFC 3339, to the second.
pub type Time = Scalar<Timestamp>;

/// A value that has a form as text.
pub trait Text: Copy {
    /// The value that `text` says.
    fn read(text: &str) -> Option<Self>;

    /// The value as text.
    ///
    /// # Errors
    /// Those of the formatter.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: Copy> Scalar<T> {
    /// The value, if the text could be parsed.
    #[must_use]
    pub const fn get(&self) -> Option<T> {
        match self {
            Self::Read(value) => Some(*value),
            Self::Unread(_) => None,
        }
    }

    /// Whether there is nothing: neither a value nor text.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Unread(text) if text.is_empty())
    }
}

impl<T> Default for Scalar<T> {
    fn default() -> Self {
        Self::Unread(Box::default())
    }
}

impl<T> From<T> for Scalar<T> {
    fn from(value: T) -> Self {
        Self::Read(value)
    }
}

impl<T: Text> From<&str> for Scalar<T> {
    fn from(text: &str) -> Self {
        T::read(text).map_or_else(|| Self::Unread(text.into()), Self::Read)
    }
}

impl<T: Text> fmt::Display for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(value) => value.write(f),
            Self::Unread(text) => f.write_str(text),
        }
    }
}

impl<T: Text> fmt::Debug for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl<T: Text> Serialize for Scalar<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Read(_) => serializer.collect_str(self),
            Self::Unread(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de, T: Text> Deserialize<'de> for Scalar<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<T: Text> serde::de::Visitor<'_> for Visitor<T> {
            type Value = Scalar<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Scalar<T>, E> {
                Ok(text.into())
            }
        }
        deserializer.deserialize_str(Visitor(std::marker::PhantomData))
    }
}

#[cfg(feature = "crd")]
impl<T> schemars::JsonSchema for Scalar<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl Text for Timestamp {
    fn read(text: &str) -> Option<Self> {
        rfc3339::parse(text)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rfc3339::write(*self, f)
    }
}

impl Text for Uid {
    fn read(text: &str) -> Option<Self> {
        Self::parse(text)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Text for Digest {
    fn read(text: &str) -> Option<Self> {
        Self::parse(text)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A `resourceVersion`: a decimal number in its canonical form, without sign or leading zeros.
impl Text for u64 {
    fn read(text: &str) -> Option<Self> {
        let plain = text == "0" || text.starts_with(|first: char| matches!(first, '1'..='9'));
        text.parse().ok().filter(|_| plain)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 32 hexadecimal digits, as in `/etc/machine-id`.
impl Text for HostId {
    fn read(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(Self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_says_nothing_is_kept() {
        for text in ["", "007", "+7", "-1", "seven", "99999999999999999999"] {
            let version = Scalar::<u64>::from(text);
            assert_eq!((version.get(), version.to_string()), (None, text.into()));
        }
        assert_eq!(Scalar::<u64>::from("70"), Scalar::Read(70));
        assert_eq!(Scalar::<u64>::from("0").get(), Some(0));
        assert!(Scalar::<u64>::default().is_empty() && !Scalar::<u64>::from("x").is_empty());
    }

    #[test]
    fn json_is_the_text() {
        let time = Time::from("2026-11-20T08:30:00Z");
        assert_eq!(serde_json::to_string(&time).unwrap(), "\"2026-11-20T08:30:00Z\"");
        assert_eq!(serde_json::from_str::<Time>("\"2026-11-20T08:30:00Z\"").unwrap(), time);
        assert_eq!(serde_json::from_str::<Time>("\"soon\"").unwrap(), Time::Unread("soon".into()));
        assert!(serde_json::from_str::<Time>("7").is_err());
    }

    #[test]
    fn a_machine_id_has_32_digits() {
        let text = "0123456789abcdef0123456789abcdef";
        assert_eq!(Scalar::<HostId>::from(text).to_string(), text);
        assert_eq!(Scalar::<HostId>::from(&text[1..]).get(), None);
        assert_eq!(Scalar::<HostId>::from("+123456789abcdef0123456789abcdef").get(), None);
    }
}
