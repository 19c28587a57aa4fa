//! Version rules as data: which versions of others a version can be together with on one machine.

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::ComponentId;

/// The name under which rules speak of the API servers that the driver sees. It is not a component of a machine.
pub const API_SERVER: &str = "kube-apiserver";

/// What is compared of a version: three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VersionNumber {
    /// The first number.
    pub major: u16,
    /// The second.
    pub minor: u16,
    /// The third.
    pub patch: u16,
}

impl VersionNumber {
    /// Reads plain numbers: `1.36.0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, rest) = Self::read(text)?;
        rest.is_empty().then_some(number)
    }

    /// The numbers that a version begins with, as `v1.36.3+vendor.1` does. What follows them is not compared: a release
    /// candidate counts as the release.
    #[must_use]
    pub fn of(version: &str) -> Option<Self> {
        Self::read(version.strip_prefix('v').unwrap_or(version)).map(|(number, _)| number)
    }

    fn read(text: &str) -> Option<(Self, &str)> {
        let (major, rest) = number(text)?;
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        let (patch, rest) = number(rest.strip_prefix('.')?)?;
        Some((Self { major, minor, patch }, rest))
    }
}

/// The number that a text begins with, without a leading zero, and what follows it.
fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let is_plain = digits == "0" || !digits.starts_with('0');
    is_plain.then(|| digits.parse().ok()).flatten().map(|number| (number, rest))
}

impl fmt::Display for VersionNumber {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The API servers of a cluster, as one who asked often enough has found them: several may be behind one address, and
/// while they are upgraded not all of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiServers {
    /// The oldest version that answered.
    pub oldest: VersionNumber,
    /// The newest version that answered.
    pub newest: VersionNumber,
}

impl ApiServers {
    /// So often a driver asks in one round, each time over a connection of its own: of five servers one would be missed in
    /// 70,000 rounds.
    pub const ROUND: u32 = 50;
    /// From one round to the next.
    pub const INTERVAL: Duration = Duration::from_secs(120);

    /// Those of a round that was answered with these versions; `None` if it was not answered.
    #[must_use]
    pub fn of(versions: impl Iterator<Item = VersionNumber> + Clone) -> Option<Self> {
        let (oldest, newest) = (versions.clone().min()?, versions.max()?);
        Some(Self { oldest, newest })
    }
}

/// The subject of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Party {
    /// Every API server of the cluster.
    ApiServer,
    /// Another component of the same machine. While it is not installed the rule says nothing.
    Component(ComponentId),
}

/// A rule of a version: those that it is about have to lie within these bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// Its subject.
    pub party: Party,
    /// The lowest version that will do; `None` for any.
    pub at_least: Option<VersionNumber>,
    /// The lowest version that will not do any more, higher than `at_least`; `None` for no such.
    pub below: Option<VersionNumber>,
}

impl Requirement {
    /// Whether a version will do. One without numbers cannot be compared and will not.
    #[must_use]
    pub fn admits(&self, version: Option<VersionNumber>) -> bool {
        version.is_some_and(|version| {
            self.at_least.is_none_or(|least| least <= version) && self.below.is_none_or(|end| version < end)
        })
    }
}

impl fmt::Display for Requirement {
    /// The bounds: `at least 1.36.0 and below 1.40.0`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.below) {
            (Some(least), Some(end)) => write!(to, "at least {least} and below {end}"),
            (Some(least), None) => write!(to, "at least {least}"),
            (None, Some(end)) => write!(to, "below {end}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const fn at(major: u16, minor: u16, patch: u16) -> VersionNumber {
        VersionNumber { major, minor, patch }
    }

    #[test]
    fn rules_have_plain_numbers_and_versions_may_say_more() {
        assert_eq!(VersionNumber::parse("1.36.0"), Some(at(1, 36, 0)));
        for text in ["", "1", "1.36", "v1.36.0", "1.36.0-rc.1", "1.036.0", "1.36.70000", "1..0", "1.36.0.1"] {
            assert_eq!(VersionNumber::parse(text), None, "{text}");
        }
        for text in ["1.36.3", "v1.36.3", "v1.36.3+k3s1", "1.36.3-gke.7", "1.36.3-rc.1", "1.36.3.4"] {
            assert_eq!(VersionNumber::of(text), Some(at(1, 36, 3)), "{text}");
        }
        for text in ["edge", "2026-11", "1.36", "v"] {
            assert_eq!(VersionNumber::of(text), None, "{text}");
        }
    }

    #[test]
    fn the_upper_bound_is_the_first_that_will_not_do() {
        let rule =
            Requirement { party: Party::ApiServer, at_least: Some(at(1, 36, 0)), below: Some(at(1, 40, 0)) };
        assert_eq!(rule.to_string(), "at least 1.36.0 and below 1.40.0");
        let admitted = [at(1, 35, 9), at(1, 36, 0), at(1, 39, 65_535), at(1, 40, 0)]
            .map(|version| rule.admits(Some(version)));
        assert_eq!(admitted, [false, true, true, false]);
        assert!(!rule.admits(None));
    }
}
