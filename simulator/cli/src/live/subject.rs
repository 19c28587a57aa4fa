//! What a command about rollouts is about: the fleet's defaults, a set, or a canary.

use clap::Args;
use seaworthy_api::object::{ClusterPackageVersion, MachineComponentSet, Metadata};
use seaworthy_api::v1alpha1::{CanaryMachine, ClusterPackageVersionStatus, ComponentSetting};
use seaworthy_kube::Terminal;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;
use serde_json::Value;

use super::canary::canary;
use super::{Problem, fleet};

/// Names a set or a canary.
#[derive(Args, Clone)]
pub(super) struct OwnerArguments {
    /// The rollouts of this MachineComponentSet, instead of those of the fleet's defaults.
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Those of this CanaryRelease.
    #[arg(long, value_name = "NAME", conflicts_with = "set")]
    canary: Option<String>,
}

/// The object that owns rollouts.
pub(super) struct Subject {
    kind: Kind,
    pub(super) metadata: Metadata,
    /// Whether people have paused it.
    pub(super) is_paused: bool,
    /// What its machines have of each component.
    pub(super) components: Vec<ComponentSetting>,
    /// The record of its rollouts.
    pub(super) status: Option<ClusterPackageVersionStatus>,
    /// The machines of a canary.
    pub(super) machines: Vec<CanaryMachine>,
}

impl OwnerArguments {
    /// Reads it.
    pub(super) async fn subject(&self, terminal: &Terminal) -> Result<Subject, Problem> {
        if let Some(name) = &self.canary {
            let read = canary(terminal, name).await?;
            let status = read.status.unwrap_or_default();
            return Ok(Subject {
                kind: Kind::CanaryRelease,
                metadata: read.metadata,
                is_paused: read.spec.paused,
                components: read.spec.components,
                status: Some(status.record),
                machines: status.machines,
            });
        }
        let Some(name) = &self.set else {
            return Ok(Subject::from(fleet(terminal).await?));
        };
        let read: MachineComponentSet = match terminal.get(Kind::MachineComponentSet, name).await {
            Err(failure) if failure.is_not_found() => {
                return Err(Problem(format!(
                    "there is no MachineComponentSet `{name}`, or the kind is not installed"
                )));
            }
            read => read?,
        };
        Ok(Subject {
            kind: Kind::MachineComponentSet,
            metadata: read.metadata,
            is_paused: read.spec.paused,
            components: read.spec.components,
            status: read.status,
            machines: Vec::new(),
        })
    }
}

impl From<ClusterPackageVersion> for Subject {
    fn from(fleet: ClusterPackageVersion) -> Self {
        Self {
            kind: Kind::ClusterPackageVersion,
            metadata: fleet.metadata,
            is_paused: fleet.spec.paused,
            components: fleet.spec.components,
            status: fleet.status,
            machines: Vec::new(),
        }
    }
}

impl Subject {
    /// Whether the operator has taken up the spec as it is now.
    pub(super) fn is_taken_up(&self) -> bool {
        let observed = self.status.as_ref().map(|status| status.observed_generation);
        observed.is_some_and(|observed| observed >= self.metadata.generation)
    }

    /// The generation of its spec.
    pub(super) const fn generation(&self) -> i64 {
        self.metadata.generation
    }

    /// Its name, for people.
    pub(super) fn whose(&self) -> String {
        let name = &self.metadata.name;
        if self.kind == Kind::ClusterPackageVersion {
            "the defaults".to_owned()
        } else {
            format!("{} {name}", self.kind.name())
        }
    }

    /// What a pause of it stops.
    pub(super) fn whom(&self) -> String {
        let name = &self.metadata.name;
        if self.kind == Kind::MachineComponentSet {
            format!("for the set {name}")
        } else if self.kind == Kind::CanaryRelease {
            format!("for the canary {name}")
        } else {
            "on any machine".to_owned()
        }
    }

    /// Changes it.
    pub(super) async fn change(&self, terminal: &Terminal, patch: &Value) -> Result<(), Problem> {
        Ok(terminal.patch(self.kind, self.name(), patch).await?)
    }

    /// Changes it, provided that it is still what was read. `false` when it is not; nothing is changed then.
    pub(super) async fn change_unchanged(&self, terminal: &Terminal, patch: Value) -> Result<bool, Problem> {
        let version = self.metadata.resource_version.to_string();
        Ok(terminal.patch_unchanged((self.kind, self.name()), &version, patch).await?)
    }

    /// The name of the object.
    fn name(&self) -> &str {
        if self.kind == Kind::ClusterPackageVersion { SINGLETON } else { &self.metadata.name }
    }
}
