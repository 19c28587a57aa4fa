//! Kinds of objects and their names, as scenario files write them.

use seaworthy_model::id::Kind;
use serde::Deserialize;

/// An object, identified by kind and name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The kind of the object, as Kubernetes spells it.
    pub kind: KindName,
    /// The name of the object.
    pub name: String,
}

/// A kind of objects, by its name in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "they are the names of the kinds")]
pub enum KindName {
    Machine,
    MachineComponent,
    ClusterPackageVersion,
    MachineComponentSet,
    Node,
    Lease,
    CertificateSigningRequest,
    DisruptionPolicy,
    CanaryRelease,
}

impl KindName {
    /// The kinds whose watches faults strike unless they name some: all but `CertificateSigningRequest`.
    pub const ALL: [Self; 8] = [
        Self::Machine,
        Self::MachineComponent,
        Self::ClusterPackageVersion,
        Self::Node,
        Self::Lease,
        Self::MachineComponentSet,
        Self::DisruptionPolicy,
        Self::CanaryRelease,
    ];

    /// The name of a kind that is watched. `None` for a kind that nobody watches.
    #[must_use]
    pub const fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Machine => Self::Machine,
            Kind::MachineComponent => Self::MachineComponent,
            Kind::ClusterPackageVersion => Self::ClusterPackageVersion,
            Kind::MachineComponentSet => Self::MachineComponentSet,
            Kind::Node => Self::Node,
            Kind::Lease => Self::Lease,
            Kind::CertificateSigningRequest => Self::CertificateSigningRequest,
            Kind::DisruptionPolicy => Self::DisruptionPolicy,
            Kind::CanaryRelease => Self::CanaryRelease,
            Kind::Event => return None,
        })
    }

    /// The given kinds, or [every kind](Self::ALL) if none is given.
    #[must_use]
    pub const fn or_all(kinds: &[Self]) -> &[Self] {
        if kinds.is_empty() { &Self::ALL } else { kinds }
    }

    /// The kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Machine => Kind::Machine,
            Self::MachineComponent => Kind::MachineComponent,
            Self::ClusterPackageVersion => Kind::ClusterPackageVersion,
            Self::MachineComponentSet => Kind::MachineComponentSet,
            Self::Node => Kind::Node,
            Self::Lease => Kind::Lease,
            Self::CertificateSigningRequest => Kind::CertificateSigningRequest,
            Self::DisruptionPolicy => Kind::DisruptionPolicy,
            Self::CanaryRelease => Kind::CanaryRelease,
        }
    }
}
