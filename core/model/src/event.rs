//! What enters the core.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::certificate::CertificateRequestObject;
use crate::component::VersionObject;
use crate::effect::ActionId;
use crate::host::HostFacts;
use crate::id::{CertificateRequestId, Kind, MachineId, Named, VersionId};
use crate::lease::LeaseObject;
use crate::machine::MachineObject;
use crate::node::NodeObject;
use crate::package_version::PackageVersionObject;
use crate::pod::PodFacts;
use crate::requirement::ApiServers;

/// Everything that may enter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A fact about the outside: level triggered, possibly stale or repeated.
    Observed(Observation),
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
    /// An id stands for a name from now on. Precedes the first use of the id.
    Named(Named),
    /// A Machine as it is now; `None` when it is gone.
    Machine(MachineId, Option<Box<MachineObject>>),
    /// A `MachineComponent` as it is now; `None` when it is gone.
    Version(VersionId, Option<Box<VersionObject>>),
    /// The `ClusterPackageVersion` as it is now; `None` when it is gone.
    PackageVersion(Option<Box<PackageVersionObject>>),
    /// The Node of a machine; `None` when it is gone.
    Node(MachineId, Option<NodeObject>),
    /// A certificate request as it is now; `None` when it is gone.
    CertificateRequest(CertificateRequestId, Option<Box<CertificateRequestObject>>),
    /// The versions of the cluster's API servers, from one round of asking.
    ApiServers(ApiServers),
    /// Our Lease; `None` when it is gone.
    Lease(Option<Box<LeaseObject>>),
    /// A complete list of a kind was delivered since the last
    /// [`Effect::Watch`](crate::effect::Effect::Watch): what was not in it does not exist.
    Synced(Kind),
    /// The process was asked to stop: what is under way may end, nothing new is started.
    Stopping,
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
    /// It did not work and will not, as it is.
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
    /// The host's report. For `Apply` it was made after the operation ended with success.
    Host(Box<HostFacts>),
    /// All pods of a Node, sorted by name.
    Pods(Arc<[PodFacts]>),
}
