//! Simulated time in the forms that users and Kubernetes write.

use std::time::Duration;

use seaworthy_kernel::Timestamp;

/// The simulated time at which every run begins: 2026-01-01T00:00:00Z.
pub const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// The time from the start of the run to `at`, for display: `1h02m03.004s`.
#[must_use]
pub fn since_start(at: Timestamp) -> String {
    readable(at.since(START))
}

/// A length of time, for display.
#[must_use]
pub fn readable(length: Duration) -> String {
    let (seconds, millis) = (length.as_secs(), length.subsec_millis());
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if millis == 0 { String::new() } else { format!(".{millis:03}") };
    match (hours, minutes) {
        (0, 0) => format!("{seconds}{fraction}s"),
        (0, _) => format!("{minutes}m{seconds:02}{fraction}s"),
        _ => format!("{hours}h{minutes:02}m{seconds:02}{fraction}s"),
    }
}

/// Serializes a time as its length since the start, for plans.
pub(super) mod length {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{START, Timestamp};
    use crate::vocabulary::Length;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
    pub(in crate::vocabulary) fn serialize<S: Serializer>(
        at: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Length(at.since(START)).serialize(serializer)
    }

    pub(in crate::vocabulary) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        Ok(START + Length::deserialize(deserializer)?.0)
    }
}

/// Serializes a length of time as scenario files write it, for plans.
pub(super) mod span {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Duration;
    use crate::vocabulary::Length;

    pub(in crate::vocabulary) fn serialize<S: Serializer>(
        length: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Length(*length).serialize(serializer)
    }

    pub(in crate::vocabulary) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        Ok(Length::deserialize(deserializer)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_readable() {
        let table = [(0, "0s"), (1_500, "1.500s"), (61_000, "1m01s"), (3_723_004, "1h02m03.004s")];
        for (millis, text) in table {
            assert_eq!(readable(Duration::from_millis(millis)), text);
        }
        assert_eq!(seaworthy_api::rfc3339::format(START), "2026-01-01T00:00:00Z");
    }
}
