//! What is recorded about a version.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::detail::VersionDetail;
use crate::machine::Truth;
use crate::time::Timestamp;

/// What is recorded about a version. It is for people: nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionStatus {
    /// The generation of the object that this was last written for.
    pub observed_generation: u64,
    /// The conditions, at most one of each kind, in the order of [`VersionConditionKind::ALL`].
    pub conditions: Vec<VersionCondition>,
}

impl VersionStatus {
    /// The condition of `kind`.
    #[must_use]
    pub fn condition(&self, kind: VersionConditionKind) -> Option<&VersionCondition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

/// A condition of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionCondition {
    /// Which.
    pub kind: VersionConditionKind,
    /// Whether it holds.
    pub truth: Truth,
    /// Why.
    pub reason: VersionReason,
    /// Detail beyond the reason.
    pub detail: Option<VersionDetail>,
    /// When `truth` last changed, in whole seconds.
    pub since: Timestamp,
    /// The generation of the object that this condition is about.
    pub observed_generation: u64,
}

/// The kind of a condition of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum VersionConditionKind {
    /// Machines can get it: its spec is valid.
    Accepted,
    /// Something uses it, so it stays when it is deleted. It was true at the last look: when the object, the fleet's
    /// defaults, a rollout or the pins of a Machine changed, and once a minute during a deletion. What machines do in
    /// between does not count: it would be work for each of their reports.
    InUse,
}

impl VersionConditionKind {
    /// Every kind, in the order in which they are written.
    pub const ALL: [Self; 2] = [Self::Accepted, Self::InUse];
}

/// The reason of a condition of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum VersionReason {
    /// The spec is valid.
    Accepted,
    /// The spec is invalid.
    InvalidSpec,
    /// The fleet's defaults or their rollouts name it.
    Default,
    /// Only machines use it: it is pinned, installed or recorded there.
    Machines,
    /// Nothing uses it.
    NotInUse,
}

impl VersionReason {
    /// Every reason.
    pub const ALL: [Self; 5] =
        [Self::Accepted, Self::InvalidSpec, Self::Default, Self::Machines, Self::NotInUse];
}
