//! `seaworthy.dev/v1alpha1`: what people write, as they write it, and what we write for them to read.
//!
//! Everything that a schema cannot hold to (formats, ranges, words of a closed list) is a plain string or number
//! here and is judged in [`parse`](crate::parse), which names every fault with its field. The schemas and the CEL
//! rules beside the fields say the same to the API server, so that most faults never get past `kubectl apply`.

mod canary_release;
mod cluster_package_version;
mod component_setting;
mod condition;
#[cfg(feature = "crd")]
pub(crate) mod definition;
mod disruption_policy;
mod int_or_string;
mod label_selector;
mod machine;
mod machine_component;
mod machine_component_set;
mod node_attributes;
mod requirement;
#[cfg(feature = "crd")]
pub(crate) mod schema;
mod strategy;
#[cfg(feature = "crd")]
mod structural;

pub use canary_release::{CanaryMachine, CanaryPick, CanaryReleaseSpec, CanaryReleaseStatus};
pub use cluster_package_version::{
    BegunStatus, ClusterPackageVersionSpec, ClusterPackageVersionStatus, DeferredStatus, DrainPolicy,
    PastStatus, RolloutStatus, SupersededStatus, WantStatus,
};
pub use component_setting::{ComponentSetting, Parameters};
pub use condition::Condition;
pub use disruption_policy::{
    DisruptionFreeze, DisruptionPolicySpec, DisruptionPolicyStatus, DisruptionWindow,
};
pub use int_or_string::IntOrString;
pub use label_selector::{LabelExpression, LabelSelector};
pub use machine::{Address, ComponentStatus, FailedRelease, Identity, MachineSpec, MachineStatus, Ssh};
pub use machine_component::{
    Artefact, ConfigFile, Confirm, ExecProbe, HttpProbe, Invocation, Link, MachineComponentSpec,
    MachineComponentStatus, NodeIdentity, Probe, Removal, TcpProbe, Unit,
};
pub use machine_component_set::MachineComponentSetSpec;
pub use node_attributes::{NodeLabels, NodeTaint};
pub use requirement::Requirement;
pub use strategy::{CourseStatus, GateQuery, GateStatus, ProbePod, RolloutDisruption, Strategy};

/// The API group.
pub const GROUP: &str = "seaworthy.dev";
/// The version of the API.
pub const VERSION: &str = "v1alpha1";
/// Group and version as objects say it.
pub const API_VERSION: &str = "seaworthy.dev/v1alpha1";
/// The operator's namespace: its Lease, and the only Secrets that it reads.
pub const NAMESPACE: &str = "seaworthy-system";
/// The name of the operator's Lease.
pub const LEASE: &str = "seaworthy";
/// The `reason` of the condition by which the operator approves a certificate request.
pub const APPROVED: &str = "SeaworthyApproved";
/// The annotation on the Lease by which a person allows hosts to be taken over that have seen operators up to this
/// epoch.
pub const ADOPT_ANNOTATION: &str = "seaworthy.dev/adopt-epoch";
/// The annotation on a Machine by which a person records that its host is gone for good: the uid of the Machine.
pub const RELEASE_ANNOTATION: &str = "seaworthy.dev/release-host";

/// The annotation on a Machine by which a person makes its host forget the fences of its owner: the epoch that the host
/// reports.
pub const RESET_ANNOTATION: &str = "seaworthy.dev/reset-fences";

/// The annotation on a Machine that names its host from the import on, until the status does: JSON, with the uid of the Machine.
pub const HOST_ANNOTATION: &str = "seaworthy.dev/host";

/// The annotation on the `ClusterPackageVersion` by which a person lets a rollout go on in spite of a gate that failed:
/// component, generation and batch, as the condition names them.
pub const RESUME_ANNOTATION: &str = "seaworthy.dev/resume-rollout";

/// The annotation by which a person confirms a change that reaches many machines: the generation of the object.
pub const CONFIRM_ANNOTATION: &str = "seaworthy.dev/confirm-rollout";

/// The annotation by which people say why they change something, as `kubectl` reads it.
pub const CAUSE_ANNOTATION: &str = "kubernetes.io/change-cause";

/// The definitions of our kinds.
#[cfg(feature = "crd")]
pub(crate) fn definitions() -> [definition::Definition; 6] {
    [
        machine::definition(),
        machine_component::definition(),
        cluster_package_version::definition(),
        machine_component_set::definition(),
        disruption_policy::definition(),
        canary_release::definition(),
    ]
}
