//! Interned ids. The driver assigns them, densely from zero, and announces each with
//! [`Observation::Named`](crate::event::Observation::Named) before its first use.
//!
//! Ids are not stable across processes: nothing durable may be derived from one (use the uid or the name).

use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize};

macro_rules! interned {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a dense table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

interned!(
    /// A `Machine`, by its name. The Node of the same name belongs to it.
    MachineId
);
interned!(
    /// A component by its name, for example `kubelet`: what a version is a version *of*.
    ComponentId
);
interned!(
    /// A `MachineComponent`, by its object name `<component>-<version>`: one version of one component.
    VersionId
);

interned!(
    /// A `CertificateSigningRequest` of a signer that is ours to approve for, by its name.
    CertificateRequestId
);

/// What an id was given to, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The id that now stands for `name`.
    pub id: NamedId,
    /// The name as Kubernetes spells it.
    pub name: Arc<str>,
}

/// An id together with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NamedId {
    /// A machine.
    Machine(MachineId),
    /// A component.
    Component(ComponentId),
    /// A version of a component.
    Version(VersionId),
    /// A certificate request.
    CertificateRequest(CertificateRequestId),
}

/// The kinds whose objects the engine has to see completely before it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `Machine`.
    Machine,
    /// `MachineComponent`.
    MachineComponent,
    /// `ClusterPackageVersion`.
    ClusterPackageVersion,
    /// Kubernetes' `Node`.
    Node,
    /// Kubernetes' `Lease`: only the operator's own.
    Lease,
    /// Kubernetes' `CertificateSigningRequest`: only those of the signers for kubelets.
    CertificateSigningRequest,
    /// Kubernetes' `Event`, of `events.k8s.io`: written, and never read.
    Event,
}

impl Kind {
    /// Every kind that is watched once the Lease was taken. The Lease itself is watched from the start.
    pub const WATCHED: [Self; 5] = [
        Self::Machine,
        Self::MachineComponent,
        Self::ClusterPackageVersion,
        Self::Node,
        Self::CertificateSigningRequest,
    ];

    /// The kind's name in Kubernetes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::MachineComponent => "MachineComponent",
            Self::ClusterPackageVersion => "ClusterPackageVersion",
            Self::Node => "Node",
            Self::Lease => "Lease",
            Self::CertificateSigningRequest => "CertificateSigningRequest",
            Self::Event => "Event",
        }
    }
}

/// A host's machine-id (`/etc/machine-id`). It stays with the installation, whatever the address of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(#[serde(with = "crate::digest::hex128")] pub u128);

/// The uid that the API server gave to an object: a UUID as a number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Uid(#[serde(with = "crate::digest::hex128")] pub u128);

impl Uid {
    /// Reads the canonical text form, `8-4-4-4-12` hexadecimal digits. `None` when it is anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 36 {
            return None;
        }
        let mut value = 0u128;
        for (position, &byte) in bytes.iter().enumerate() {
            if matches!(position, 8 | 13 | 18 | 23) {
                if byte != b'-' {
                    return None;
                }
                continue;
            }
            value = value << 4 | u128::from((byte as char).to_digit(16)?);
        }
        Some(Self(value))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            (v >> 96) as u32,
            (v >> 80) as u16,
            (v >> 64) as u16,
            (v >> 48) as u16,
            v & 0xffff_ffff_ffff
        )
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::Uid;

    #[test]
    fn uid_reads_what_it_writes_and_nothing_else() {
        let text = "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0";
        assert_eq!(Uid::parse(text).unwrap().to_string(), text);
        for bad in ["", "0f3c1d2e4b5a69788796a5b4c3d2e1f0", "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1fg"] {
            assert_eq!(Uid::parse(bad), None, "{bad}");
        }
    }
}
