//! Disruption policies.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::id::PolicyId;
use seaworthy_model::meta::Meta;
use seaworthy_model::policy::{PolicyObject, PolicySpec, Stop};
use seaworthy_model::time::Timestamp;

use crate::runtime::tracked::{Object, Tracked};

/// One `DisruptionPolicy`.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The object.
    pub tracked: Tracked<Box<PolicyObject>>,
    /// The last valid spec of this object: it counts.
    pub in_force: Option<Arc<PolicySpec>>,
    /// Why it lets nothing be disrupted now, as of the last turn.
    pub stop: Option<Stop>,
}

impl Object for Box<PolicyObject> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl Policy {
    /// The object, as last seen.
    #[must_use]
    pub fn object(&self) -> Option<&PolicyObject> {
        self.tracked.object.as_deref()
    }

    /// Whether it exists, and nobody knows what it is to say.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.tracked.object.is_some() && self.in_force.is_none()
    }

    /// Whether the answer of its calendar changes with time.
    fn is_timed(&self) -> bool {
        self.in_force.as_ref().is_some_and(|spec| !spec.windows.is_empty() || !spec.freezes.is_empty())
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    rows: Vec<Policy>,
    names: Vec<Arc<str>>,
    /// The longest operation that was reckoned with.
    pub(crate) length: Duration,
    /// Until when the answers of the calendars hold.
    pub(crate) until: Timestamp,
}

impl Policies {
    /// The row of a policy.
    #[must_use]
    pub fn get(&self, id: PolicyId) -> Option<&Policy> {
        self.rows.get(id.index())
    }

    /// All rows, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (PolicyId, &Policy)> {
        (0..).map(PolicyId).zip(&self.rows)
    }

    /// The longest operation that the calendars reckon with.
    #[must_use]
    pub const fn longest_operation(&self) -> Duration {
        self.length
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (PolicyId, &mut Policy)> {
        (0..).map(PolicyId).zip(&mut self.rows)
    }

    /// The name of a policy; empty when it was never named.
    #[must_use]
    pub fn name(&self, id: PolicyId) -> Arc<str> {
        self.names.get(id.index()).cloned().unwrap_or_default()
    }

    /// Whether there is none, as far as was seen.
    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the answer of any calendar changes with time.
    pub(crate) fn is_timed(&self) -> bool {
        self.rows.iter().any(Policy::is_timed)
    }

    pub(crate) fn row(&mut self, id: PolicyId) -> &mut Policy {
        if self.rows.len() <= id.index() {
            self.rows.resize_with(id.index() + 1, Policy::default);
        }
        &mut self.rows[id.index()]
    }

    pub(crate) fn note_name(&mut self, id: PolicyId, name: Arc<str>) {
        if self.names.len() <= id.index() {
            self.names.resize_with(id.index() + 1, Default::default);
        }
        self.names[id.index()] = name;
    }
}

/// What a policy is to one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It does not select the machine.
    Outside,
    /// It selects the machine, which is in no failure domain of it.
    Selected,
    /// It selects the machine, and counts it in this failure domain.
    In(Arc<str>),
}

impl Place {
    /// The failure domain.
    pub(crate) const fn domain(&self) -> Option<&Arc<str>> {
        if let Self::In(domain) = self { Some(domain) } else { None }
    }
}

/// What each policy is to one machine, by policy.
pub(crate) type Places = Arc<[Place]>;
