//! One version of one component: what a release of it consists of, and the id of such a release.

mod artefact;
mod content;
mod fact;
mod release;
mod status;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use artefact::{Architecture, Artefact, ArtefactFormat};
pub use content::{ConfigFile, Confirm, Content, Link, Probe, ProbeCheck, Rollback, Unit};
pub use fact::{CgroupVersion, Fact, Parameters};
pub use release::{Recipe, ReleaseId};
pub use status::{VersionCondition, VersionConditionKind, VersionReason, VersionStatus};

use crate::certificate::NodeIdentity;
use crate::id::ComponentId;
use crate::meta::{Meta, Parsed};
use crate::requirement::Requirement;

/// A `MachineComponent` as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionObject {
    /// Its metadata.
    pub meta: Meta,
    /// Its spec.
    pub spec: Parsed<VersionSpec>,
    /// What we recorded.
    pub status: VersionStatus,
}

/// What a `MachineComponent` says. It never changes: a version is an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSpec {
    /// The component that this is a version of.
    pub component: ComponentId,
    /// The version as its author spells it.
    pub version: String,
    /// One artefact per architecture; none at all for a version that consists of what is rendered.
    pub artefacts: Vec<Artefact>,
    /// The parameters of the machine that its templates use. On a machine without one of them it cannot be installed.
    pub machine_parameters: Vec<String>,
    /// Components that must be on the machine, whole and as wanted there, before this version is.
    pub depends_on: Vec<ComponentId>,
    /// Which versions of other components it can run beside. At most one rule for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
    /// What a change to this version does to the workloads of the machine.
    pub disruption: Disruption,
    /// What is made out of the artefact on the host.
    pub content: Content,
    /// The certificate of its node that it needs, if it is a kubelet. Nothing of it goes into a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_identity: Option<NodeIdentity>,
}

impl VersionSpec {
    /// The artefact for `architecture`, if there is one.
    #[must_use]
    pub fn artefact(&self, architecture: Architecture) -> Option<&Artefact> {
        self.artefacts.iter().find(|artefact| artefact.architecture == architecture)
    }

    /// Whether it can be installed on `architecture`: it has an artefact for it, or needs none.
    #[must_use]
    pub fn suits(&self, architecture: Architecture) -> bool {
        self.artefacts.is_empty() || self.artefact(architecture).is_some()
    }

    /// Whether its release is the same on all machines of an architecture.
    #[must_use]
    pub const fn is_uniform(&self) -> bool {
        self.content.facts.is_empty() && self.machine_parameters.is_empty()
    }
}

/// What a change of a component does to the workloads of its machine, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Disruption {
    /// Nothing.
    None,
    /// Its service reads its configuration again, and goes on running.
    Reload,
    /// Its service is away for a moment.
    #[default]
    Restart,
    /// The pods of the machine have to leave it first.
    Drain,
    /// The machine has to be rebooted, and its pods have to leave it first.
    Reboot,
}

impl Disruption {
    /// Every class.
    pub const ALL: [Self; 5] = [Self::None, Self::Reload, Self::Restart, Self::Drain, Self::Reboot];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Reload => "Reload",
            Self::Restart => "Restart",
            Self::Drain => "Drain",
            Self::Reboot => "Reboot",
        }
    }

    /// The class whose [`name`](Self::name) this is.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Whether pods have to leave the Node first.
    #[must_use]
    pub const fn drains(self) -> bool {
        matches!(self, Self::Drain | Self::Reboot)
    }
}
