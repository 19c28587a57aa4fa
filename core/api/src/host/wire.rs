//! Requests to a host, and its replies, as JSON.

use seaworthy_model::bounded;
use seaworthy_model::cause::Cause;
use seaworthy_model::certificate::HostIdentity;
use seaworthy_model::component::{Architecture, CgroupVersion, ReleaseId};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, Drift, OperationId, OperationState};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;
use serde::{Deserialize, Serialize};

pub use super::command::{CertificateFile, CertificateRequest, Change, Command, Operation, Release};
use super::translate::COMPONENTS_MAX;

/// The version of this protocol. Both sides refuse any other: the host program is delivered by its digest, so they
/// differ only by mistake.
pub const PROTOCOL: u32 = 1;

/// The most files of one component that are read from a reply: as many as a release may have, and its unit.
const RENDERED_MAX: usize = 1025;

/// An order to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// [`PROTOCOL`]. Comes first, so that a mismatch is reported before any other difference.
    pub protocol: u32,
    /// Who orders.
    pub fence: Fence,
    /// What to do.
    pub command: Command,
}

/// The sender of an order, and its place among all orders. The host refuses an order of another owner, and one that is
/// older than what it has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fence {
    /// The id of the operator's cluster.
    pub cluster: String,
    /// The Machine in whose name it acts.
    pub machine: Uid,
    /// That Machine's name, for people, and for the subject of its node's certificate.
    pub machine_name: String,
    /// The operator's epoch.
    pub epoch: Epoch,
    /// The number of the order within the epoch.
    pub sequence: u64,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// What came of it.
    pub answer: Answer,
}

impl Reply {
    /// A reply in this version of the protocol.
    #[must_use]
    pub const fn new(answer: Answer) -> Self {
        Self { protocol: PROTOCOL, answer }
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// It was done; this is what is there now.
    Done(Box<Facts>),
    /// It was not done, nothing was changed, and it may be possible later.
    Later(Cause),
    /// It was refused, or the operation failed.
    Refused(Cause),
    /// The operation is under way, and the program cannot wait for its end: ask for its status.
    Pending,
}

/// What a host reports of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// Its machine-id.
    pub host: HostId,
    /// The id of its present boot.
    pub boot: BootId,
    /// Its processor architecture.
    pub architecture: Architecture,
    /// Which version of control groups it uses; absent when that cannot be found out.
    #[serde(default)]
    pub cgroup_version: Option<CgroupVersion>,
    /// Its owner; absent when it has none.
    pub owner: Option<Owner>,
    /// The highest epoch that it has seen from its owner's cluster or, without an owner, from the cluster that asks.
    pub epoch: Epoch,
    /// What is installed, sorted by component.
    #[serde(deserialize_with = "bounded::list::<_, _, COMPONENTS_MAX>")]
    pub components: Vec<Component>,
    /// The operation that was asked for or, for plain facts, the latest.
    pub operation: Option<OperationReport>,
    /// The node identity; absent when the host was never asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<HostIdentity>,
    /// Facts for people; nothing is decided by them.
    pub platform: Platform,
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationReport {
    /// Which.
    pub id: OperationId,
    /// The generation of the Machine's spec for which it was ordered.
    pub generation: u64,
    /// The name of the component that it changes.
    pub component: String,
    /// The release that it installs; absent when it removes.
    pub release: Option<ReleaseName>,
    /// What became of it.
    pub state: OperationState,
}

/// Which release of which version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseName {
    /// The name of the version's `MachineComponent`.
    pub version_name: String,
    /// The release.
    pub id: ReleaseId,
}

/// Who manages a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The cluster's id.
    pub cluster: String,
    /// The Machine.
    pub machine: Uid,
    /// The Machine's name.
    pub machine_name: String,
}

/// A component that is installed on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// The component's name.
    pub name: String,
    /// The name of its version's `MachineComponent`.
    pub version_name: String,
    /// Its release.
    pub release: ReleaseId,
    /// In what it differs from that release.
    pub drift: Drift,
    /// The first difference, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// The digests of what was rendered for this host: config files and unit, sorted by path.
    #[serde(deserialize_with = "bounded::list::<_, _, RENDERED_MAX>")]
    pub rendered: Vec<RenderedFile>,
    /// The digest of the binary that the running service consists of; absent when none runs.
    pub running: Option<Digest>,
    /// How often the system has started its unit again by itself since it was last started by an order; absent when it has no
    /// unit, when the system does not count that, and in reports of older host programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
}

/// A file that was rendered for a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderedFile {
    /// Relative path inside the release.
    pub path: String,
    /// The digest of what was rendered.
    pub sha256: Digest,
}

/// Facts about a host that help to find a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Platform {
    /// The digest of the host program itself.
    pub program: Option<Digest>,
    /// The kernel's release.
    pub kernel: String,
    /// The operating system's own name for itself.
    pub os: String,
    /// Bytes that are free where releases are kept.
    pub free_bytes: u64,
    /// Inodes that are free there.
    pub free_inodes: u64,
}
