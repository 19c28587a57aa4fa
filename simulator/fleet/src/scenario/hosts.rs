//! How hosts behave in a scenario.

use seaworthy_kernel::Share;
use seaworthy_model::cause::CauseKind;
use serde::Deserialize;

use crate::vocabulary::{Fleet, FoundState, Pace, Portion, Range};

/// How hosts behave.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hosts {
    /// How long fetching an artefact takes.
    pub download: Option<Range>,
    /// How long restarting a service takes.
    pub restart: Option<Range>,
    /// Versions that do not work.
    pub failing: Vec<Failing>,
    /// What somebody else has installed before. Of one component on one host the first that is said counts.
    pub found: Vec<FoundComponent>,
    /// Identities of nodes that somebody else has put there before. On one host the first that is said counts.
    pub identities: Vec<FoundIdentity>,
}

impl Hosts {
    /// How long steps take.
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

/// Something that is on some hosts from the beginning.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Where {
    /// On these, by the numbers of their machines.
    pub machines: Vec<u32>,
    /// On this share of the hosts.
    pub share: Portion,
}

impl Where {
    /// What is wrong with it, if anything.
    pub(super) fn problem(&self, fleet: &Fleet) -> Option<String> {
        if !self.machines.is_empty() && self.share.0 != Share::NONE {
            return Some("on: give either machines or a share, not both".into());
        }
        let missing = self.machines.iter().find(|machine| **machine >= fleet.machines)?;
        Some(format!("on.machines: there is no machine {missing}"))
    }
}

/// A component that somebody else has installed.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoundComponent {
    /// The name of the component.
    pub name: String,
    /// The version whose files it has.
    pub version: String,
    /// On which hosts.
    pub on: Where,
    /// How it is.
    #[serde(default)]
    pub state: FoundState,
}

/// A certificate of a node, with its key, that somebody else has put on hosts.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoundIdentity {
    /// The file.
    pub path: String,
    /// On which hosts.
    pub on: Where,
    /// Of which node it is. Hosts that are not nodes of this cluster have no Node here.
    #[serde(default)]
    pub of: FoundNode,
}

/// Whose a certificate is that was there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FoundNode {
    /// Of the Node of the machine.
    #[default]
    Own,
    /// Of another node of this cluster.
    Another,
    /// Of a node of the same name in another cluster.
    OtherCluster,
}

/// A version that does not work.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failing {
    /// The name of its `MachineComponent`.
    pub version: String,
    /// On what share of the hosts.
    pub share: Portion,
    /// In what way.
    #[serde(default)]
    pub cause: FailureCause,
}

/// In what way a version does not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FailureCause {
    /// It does not become healthy.
    #[default]
    ProbeFailed,
    /// What is downloaded is not what was promised.
    DigestMismatch,
    /// A template does not render.
    TemplateFailed,
    /// Its preflight says no. The version must have one.
    PreflightFailed,
    /// It cuts the host off: from the swap on nobody gets in by a new connection, until it is taken back. The version must
    /// have to be confirmed.
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
