//! Kinds of objects and their names, as scenario files write them.

use seaworthy_model::id::Kind;
use serde::Deserialize;

/// An object, by kind and name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its kind, as Kubernetes spells it.
    pub kind: KindName,
    /// Its name.
    pub name: String,
}

/// A kind, by its name in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "they are the names of the kinds")]
pub enum KindName {
    Machine,
    MachineComponent,
    ClusterPackageVersion,
    Node,
    Lease,
    CertificateSigningRequest,
}

impl KindName {
    /// Every kind that every fleet has.
    pub const ALL: [Self; 5] =
        [Self::Machine, Self::MachineComponent, Self::ClusterPackageVersion, Self::Node, Self::Lease];

    /// These, or every kind when there is none.
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
            Self::Node => Kind::Node,
            Self::Lease => Kind::Lease,
            Self::CertificateSigningRequest => Kind::CertificateSigningRequest,
        }
    }
}
