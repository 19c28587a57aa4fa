//! What enters the core.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::certificate::CertificateRequestObject;
use crate::component::VersionObject;
use crate::component_set::SetObject;
use crate::effect::ActionId;
use crate::host::HostFacts;
use crate::id::{
    CanaryId, CertificateRequestId, Kind, MachineId, Named, PolicyId, SetId, StoreId, VersionId,
};
use crate::lease::LeaseObject;
use crate::machine::MachineObject;
use crate::meta::SpecError;
use crate::node::NodeObject;
use crate::package_version::PackageVersionObject;
use crate::pod::PodFacts;
use crate::policy::PolicyObject;
use crate::requirement::ApiServers;

/// Everything that may enter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A fact about the outside, and the API server that it is about: level triggered, possibly stale or repeated.
    Observed(StoreId, Observation),
    /// The end of an action that the core ordered. Exactly one for each action, at the latest at its deadline.
    Finished {
        /// The action.
        action: ActionId,
        /// How it ended.
        outcome: Outcome,
    },
}

/// A fact about the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observation {
    /// The driver works with this API server from now on. Home needs no such observation.
    Opened,
    /// An id stands for a name from now on. Precedes the first use of the id.
    Named(Named),
    /// A Machine as it is now; `None` when it is gone.
    Machine(MachineId, Option<Box<MachineObject>>),
    /// A `MachineComponent` as it is now; `None` when it is gone.
    Version(VersionId, Option<Box<VersionObject>>),
    /// The `ClusterPackageVersion` as it is now; `None` when it is gone.
    PackageVersion(Option<Box<PackageVersionObject>>),
    /// A `MachineComponentSet` as it is now; `None` when it is gone.
    Set(SetId, Option<Box<SetObject>>),
    /// A `CanaryRelease` as it is now; `None` when it is gone.
    Canary(CanaryId, Option<Box<SetObject>>),
    /// The Node of a machine; `None` when it is gone.
    Node(MachineId, Option<NodeObject>),
    /// A certificate request as it is now; `None` when it is gone.
    CertificateRequest(CertificateRequestId, Option<Box<CertificateRequestObject>>),
    /// A `DisruptionPolicy` as it is now; `None` when it is gone.
    Policy(PolicyId, Option<Box<PolicyObject>>),
    /// The versions of the cluster's API servers, from one round of asking.
    ApiServers(ApiServers),
    /// Our Lease, which is in the home store; `None` when it is gone.
    Lease(Option<Box<LeaseObject>>),
    /// A complete list of a kind was delivered since the last
    /// [`Effect::Watch`](crate::effect::Effect::Watch) of this API server: what was not in it does not exist.
    Synced(Kind),
    /// The process was asked to stop: what is under way may end, nothing new is started.
    Stopping,
}

impl Observation {
    /// That the object of `kind` whose name has this number is gone; `None` for kinds that are not read. A Node has the
    /// number of its machine, the only object of a kind has 0.
    #[must_use]
    pub const fn gone(kind: Kind, number: u32) -> Option<Self> {
        Some(match kind {
            Kind::Machine => Self::Machine(MachineId(number), None),
            Kind::MachineComponent => Self::Version(VersionId(number), None),
            Kind::ClusterPackageVersion => Self::PackageVersion(None),
            Kind::MachineComponentSet => Self::Set(SetId(number), None),
            Kind::CanaryRelease => Self::Canary(CanaryId(number), None),
            Kind::Node => Self::Node(MachineId(number), None),
            Kind::Lease => Self::Lease(None),
            Kind::CertificateSigningRequest => Self::CertificateRequest(CertificateRequestId(number), None),
            Kind::DisruptionPolicy => Self::Policy(PolicyId(number), None),
            Kind::Event => return None,
        })
    }

    /// The number of the observed object's name, as an index: 0 for what is the only one of its kind, and for what is no
    /// object.
    #[must_use]
    pub const fn index(&self) -> usize {
        match self {
            Self::Machine(id, _) | Self::Node(id, _) => id.index(),
            Self::Version(id, _) => id.index(),
            Self::CertificateRequest(id, _) => id.index(),
            Self::Set(id, _) => id.index(),
            Self::Canary(id, _) => id.index(),
            Self::Policy(id, _) => id.index(),
            Self::PackageVersion(_)
            | Self::Lease(_)
            | Self::Opened
            | Self::Named(_)
            | Self::Synced(_)
            | Self::ApiServers(_)
            | Self::Stopping => 0,
        }
    }

    /// Whether it has a meaning for the home store only.
    #[must_use]
    pub const fn is_of_home(&self) -> bool {
        match self {
            Self::PackageVersion(_)
            | Self::Set(..)
            | Self::Canary(..)
            | Self::CertificateRequest(..)
            | Self::Policy(..)
            | Self::ApiServers(_)
            | Self::Lease(_)
            | Self::Stopping => true,
            Self::Opened
            | Self::Named(_)
            | Self::Machine(..)
            | Self::Version(..)
            | Self::Node(..)
            | Self::Synced(_) => false,
        }
    }

    /// What is wrong with the spec of the observed object.
    #[must_use]
    pub fn spec_errors(self) -> Vec<SpecError> {
        let errors = match self {
            Self::Machine(_, object) => object.and_then(|object| object.spec.err()),
            Self::Version(_, object) => object.and_then(|object| object.spec.err()),
            Self::PackageVersion(object) => object.and_then(|object| object.spec.err()),
            Self::Set(_, object) | Self::Canary(_, object) => object.and_then(|object| object.spec.err()),
            Self::Policy(_, object) => object.and_then(|object| object.spec.err()),
            Self::Node(..)
            | Self::CertificateRequest(..)
            | Self::Lease(_)
            | Self::Opened
            | Self::Named(_)
            | Self::Synced(_)
            | Self::ApiServers(_)
            | Self::Stopping => None,
        };
        errors.map(Vec::from).unwrap_or_default()
    }
}

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Done.
    Done(Receipt),
    /// The fence was out of date: somebody else changed the object first. Normal; look again.
    Stale,
    /// It did not work, had no effect, and may work later.
    Retryable(Cause),
    /// It was refused, or the operation failed. If the cause blames the release, it is not tried again until the spec of the
    /// Machine changes; otherwise later.
    Refused(Cause),
    /// It may have happened or may still happen: the reply was lost.
    Unknown,
}

/// What an action left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Receipt {
    /// Nothing to say.
    Nothing,
    /// The object was written and has this version now.
    Written {
        /// Its new `resourceVersion`.
        resource_version: u64,
    },
    /// The host's report. For `Apply` it was made after the operation ended with success, or began to wait for its
    /// confirmation.
    Host(Box<HostFacts>),
    /// All pods of a Node, sorted by name.
    Pods(Arc<[PodFacts]>),
    /// How many series a query has found.
    Series(u32),
    /// The numbers of the probe pods of a round that have started.
    Probes(Arc<[u32]>),
}
