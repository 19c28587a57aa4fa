//! How hosts behave in a scenario.

use seaworthy_model::cause::CauseKind;
use serde::Deserialize;

use super::{Portion, Range};
use crate::world::Pace;

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
