//! The behaviour of hosts in a scenario, and what is on them at the start.

use seaworthy_kernel::Share;
use seaworthy_model::cause::CauseKind;
use serde::Deserialize;

use crate::vocabulary::{Fleet, FoundState, Pace, Portion, Range};

/// The behaviour of the hosts, and what is on them at the start.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hosts {
    /// The time that a host takes to fetch an artefact. 2 to 20 seconds if omitted.
    pub download: Option<Range>,
    /// The time that a host takes to restart a service. 0.3 to 4 seconds if omitted.
    pub restart: Option<Range>,
    /// Versions that fail on hosts.
    pub failing: Vec<Failing>,
    /// Components that somebody else has installed on hosts before the start. If several entries for one component
    /// apply to a host, the first one counts.
    pub found: Vec<FoundComponent>,
    /// Certificates of nodes that somebody else has put on hosts before the start. If several entries apply to a host,
    /// the first one counts.
    pub identities: Vec<FoundIdentity>,
}

impl Hosts {
    /// The time that steps of operations take.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let usual = Pace::default();
        Pace {
            download: self.download.map_or(usual.download, |range| range.0),
            restart: self.restart.map_or(usual.restart, |range| range.0),
            ..usual
        }
    }
}

/// The hosts that have something from the start. `machines` and `share` exclude each other.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Where {
    /// The hosts, by the numbers of their machines.
    pub machines: Vec<u32>,
    /// The share of the hosts, drawn at random: each host is chosen with this probability.
    pub share: Portion,
}

impl Where {
    /// What is wrong with the selection, if anything.
    pub(super) fn problem(&self, fleet: &Fleet) -> Option<String> {
        if !self.machines.is_empty() && self.share.0 != Share::NONE {
            return Some("on: give either machines or a share, not both".into());
        }
        let missing = self.machines.iter().find(|machine| **machine >= fleet.machines)?;
        Some(format!("on.machines: there is no machine {missing}"))
    }
}

/// A component that somebody else has installed before the start.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoundComponent {
    /// The name of the component.
    pub name: String,
    /// The version of the component that is installed.
    pub version: String,
    /// The hosts on which the component is installed.
    pub on: Where,
    /// The state of the component.
    #[serde(default)]
    pub state: FoundState,
}

/// A certificate of a node, with its key, that somebody else has put on hosts before the start.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoundIdentity {
    /// The path of the file on the host.
    pub path: String,
    /// The hosts that have the certificate.
    pub on: Where,
    /// The node that the certificate is for. A host that is not a node of this cluster has no Node here.
    #[serde(default)]
    pub of: FoundNode,
}

/// The node that a found certificate was issued for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FoundNode {
    /// The certificate is for the machine's own Node.
    #[default]
    Own,
    /// The certificate is for another node of this cluster.
    Another,
    /// The certificate is for a node of the same name in another cluster.
    OtherCluster,
}

/// A version that fails on hosts.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failing {
    /// The name of the `MachineComponent` of the version.
    pub version: String,
    /// The share of the hosts on which the version fails.
    pub share: Portion,
    /// The way in which the version fails.
    #[serde(default)]
    pub cause: FailureCause,
}

/// The way in which a version fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FailureCause {
    /// The version does not become healthy.
    #[default]
    ProbeFailed,
    /// The digest of the download differs from the release's digest.
    DigestMismatch,
    /// A template of the version does not render.
    TemplateFailed,
    /// The preflight of the version fails. The version must have a preflight.
    PreflightFailed,
    /// The version locks out logins: from the swap until the rollback, the host refuses new connections. The version
    /// must need a confirmation.
    NotConfirmed,
}

impl FailureCause {
    /// The cause that the host reports.
    #[must_use]
    pub const fn kind(self) -> CauseKind {
        match self {
            Self::ProbeFailed => CauseKind::ProbeFailed,
            Self::DigestMismatch => CauseKind::DigestMismatch,
            Self::TemplateFailed => CauseKind::TemplateFailed,
            Self::PreflightFailed => CauseKind::PreflightFailed,
            Self::NotConfirmed => CauseKind::NotConfirmed,
        }
    }
}
