//! Quantities as users write them in scenario files: `1h30m`, `[10m, 2h]`, `2%`.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use seaworthy_kernel::{Share, Span};

/// A length of time: a number with a unit, `500ms`, `10s`, `5m`, `2h` or `1d`, or several of them in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(pub Duration);

/// A length of time that is drawn from a range: `[10m, 2h]` for any length between these two, or `10m` for exactly
/// that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range(pub Span);

/// A share of a whole, as a percentage with up to four decimals: `2%`, `0.05%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Portion(pub Share);

impl Length {
    /// Parses a length of time. `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut millis = 0u64;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number: u64 = rest.get(..digits)?.parse().ok()?;
            rest = rest.get(digits..)?;
            let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let unit = match rest.get(..letters)? {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            rest = rest.get(letters..)?;
            millis = millis.checked_add(number.checked_mul(unit)?)?;
        }
        Some(Self(Duration::from_millis(millis)))
    }
}

impl Portion {
    /// Parses a percentage. `None` if the text is not one from 0 to 100.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_suffix('%')?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 4 {
            return None;
        }
        let fraction: u32 = format!("{fraction:0<4}").parse().ok()?;
        let parts = whole.parse::<u32>().ok()?.checked_mul(10_000)?.checked_add(fraction)?;
        (parts <= Share::ALL.0).then_some(Self(Share(parts)))
    }
}

impl Range {
    /// No time at all.
    pub const NOTHING: Self = Self(Span::exactly(Duration::ZERO));
}

impl fmt::Display for Length {
    /// Writes the length as [`Length::parse`] reads it: `1h2m3s4ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        let parts =
            [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"), (millis.into(), "ms")];
        if self.0.as_millis() == 0 {
            return f.write_str("0s");
        }
        parts
            .iter()
            .filter(|(number, _)| *number > 0)
            .try_for_each(|(number, unit)| write!(f, "{number}{unit}"))
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

struct LengthVisitor;

impl Visitor<'_> for LengthVisitor {
    type Value = Length;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length of time such as 500ms, 10s, 5m, 2h or 1h30m")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Length, E> {
        Length::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(LengthVisitor)
    }
}

struct RangeVisitor;

impl<'de> Visitor<'de> for RangeVisitor {
    type Value = Range;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length of time such as 10m, or two such as [10m, 2h]")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Range, E> {
        let length = Length::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))?;
        Ok(Range(Span::exactly(length.0)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Range, A::Error> {
        let least: Length = items.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let most: Length = items.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        if items.next_element::<Length>()?.is_some() {
            return Err(A::Error::invalid_length(3, &self));
        }
        if most < least {
            return Err(A::Error::custom("the second length must not be shorter than the first"));
        }
        Ok(Range(Span { least: least.0, most: most.0 }))
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RangeVisitor)
    }
}

struct PortionVisitor;

impl Visitor<'_> for PortionVisitor {
    type Value = Portion;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a percentage such as 2% or 0.05%")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Portion, E> {
        Portion::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Portion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(PortionVisitor)
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Length, Portion, Range};

    /// One or more numbers, each with its unit.
    const LENGTH: &str = "^([0-9]+(ms|s|m|h|d))+$";

    impl JsonSchema for Length {
        fn schema_name() -> Cow<'static, str> {
            "Length".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "description": "A length of time: 500ms, 10s, 5m, 2h, 1d, or several of them in a row.",
                "type": "string",
                "pattern": LENGTH,
            })
        }
    }

    impl JsonSchema for Range {
        fn schema_name() -> Cow<'static, str> {
            "Range".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let length = json_schema!({"type": "string", "pattern": LENGTH});
            json_schema!({
                "description": "A length of time that is drawn: 10m, or [10m, 2h] for anything between.",
                "anyOf": [length, {"type": "array", "items": length, "minItems": 2, "maxItems": 2}],
            })
        }
    }

    impl JsonSchema for Portion {
        fn schema_name() -> Cow<'static, str> {
            "Portion".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "description": "A part of a whole: 2%, 0.05%, up to four decimals.",
                "type": "string",
                "pattern": "^[0-9]+(\\.[0-9]{1,4})?%$",
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let seconds = |text| Length::parse(text).map(|length| length.0.as_secs_f64());
        for (text, expected) in [("10s", 10.0), ("1h30m", 5400.0), ("250ms", 0.25), ("1d", 86400.0)] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["0s", "10s", "1h30m", "250ms", "24h1m1s1ms"] {
            assert_eq!(Length::parse(text).map(|length| length.to_string()).as_deref(), Some(text));
        }
        for text in ["", "10", "s", "10x", "-1s", "1.5h", "99999999999999999999s"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn portions() {
        for (text, expected) in [("2%", 20_000), ("0.05%", 500), ("100%", 1_000_000), ("0%", 0)] {
            assert_eq!(Portion::parse(text), Some(Portion(Share(expected))), "{text}");
        }
        for text in ["", "%", "2", "101%", "-1%", "1.00001%", ".5%"] {
            assert_eq!(Portion::parse(text), None, "{text}");
        }
    }
}
