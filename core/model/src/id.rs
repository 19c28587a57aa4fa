//! Interned ids. The driver assigns them, densely from zero, and announces each with
//! [`Observation::Named`](crate::event::Observation::Named) before its first use.
//!
//! Ids are not stable across processes: nothing durable may be derived from one (use the uid or the name).

use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize};

/// An id that stands for a name: each sort of names has a table of its own.
pub trait Interned: Copy {
    /// The position of its table among all tables of names, below [`NamedId::TABLES`].
    const TABLE: usize;

    /// The id with this number.
    fn numbered(number: u32) -> Self;

    /// The id with its sort.
    fn named(self) -> NamedId;
}

/// Defines the ids, one for each sort of names, and [`NamedId`].
macro_rules! interned {
    ($($(#[$doc:meta])* $sort:ident($name:ident),)*) => {
        $(
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

            impl Interned for $name {
                const TABLE: usize = Sort::$sort as usize;

                fn numbered(number: u32) -> Self {
                    Self(number)
                }

                fn named(self) -> NamedId {
                    NamedId::$sort(self)
                }
            }
        )*

        /// The sorts, in the order of their tables.
        enum Sort {
            $($sort,)*
        }

        /// An id together with what it is an id of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum NamedId {
            $(
                $(#[$doc])*
                $sort($name),
            )*
        }

        impl NamedId {
            /// How many tables of names there are.
            pub const TABLES: usize = [$(Sort::$sort,)*].len();

            /// The table of its name, and the index in it.
            #[must_use]
            pub const fn place(self) -> (usize, usize) {
                match self {
                    $(Self::$sort(id) => ($name::TABLE, id.index()),)*
                }
            }
        }
    };
}

interned! {
    /// A `Machine`, by its name. The Node of the same name belongs to it.
    Machine(MachineId),
    /// A component by its name, for example `kubelet`: what a version is a version *of*.
    Component(ComponentId),
    /// A `MachineComponent`, by its object name `<component>-<version>`: one version of one component.
    Version(VersionId),
    /// A `CertificateSigningRequest` of a signer that is ours to approve for, by its name.
    CertificateRequest(CertificateRequestId),
    /// A `MachineComponentSet`, by its name.
    Set(SetId),
    /// A `DisruptionPolicy`, by its name.
    Policy(PolicyId),
    /// A `CanaryRelease`, by its name.
    Canary(CanaryId),
}

/// An API server that we work with: the store of its objects. Each id belongs to one store, so an object of the same
/// name in another store has another id. `resourceVersion`s of different stores cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StoreId(pub u16);

impl StoreId {
    /// The API server that we were started for: our Lease is there.
    pub const HOME: Self = Self(0);

    /// The id as an index into a dense table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an id was given to, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The id that now stands for `name`.
    pub id: NamedId,
    /// The name as Kubernetes spells it.
    pub name: Arc<str>,
}

/// The kinds that the operator reads or writes. Before it acts, it has to see all objects of those in
/// [`WATCHED`](Self::WATCHED).
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
    /// `MachineComponentSet`.
    MachineComponentSet,
    /// `DisruptionPolicy`.
    DisruptionPolicy,
    /// `CanaryRelease`.
    CanaryRelease,
}

impl Kind {
    /// Every kind that is watched once the Lease was taken. The Lease itself is watched from the start.
    pub const WATCHED: [Self; 8] = [
        Self::Machine,
        Self::MachineComponent,
        Self::ClusterPackageVersion,
        Self::Node,
        Self::CertificateSigningRequest,
        Self::MachineComponentSet,
        Self::DisruptionPolicy,
        Self::CanaryRelease,
    ];

    /// Every kind that is read: [`WATCHED`](Self::WATCHED) and the Lease.
    pub const READ: [Self; 9] = [
        Self::Machine,
        Self::MachineComponent,
        Self::ClusterPackageVersion,
        Self::Node,
        Self::Lease,
        Self::CertificateSigningRequest,
        Self::MachineComponentSet,
        Self::DisruptionPolicy,
        Self::CanaryRelease,
    ];

    /// Every kind, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Machine,
        Self::MachineComponent,
        Self::ClusterPackageVersion,
        Self::Node,
        Self::Lease,
        Self::CertificateSigningRequest,
        Self::Event,
        Self::MachineComponentSet,
        Self::DisruptionPolicy,
        Self::CanaryRelease,
    ];

    /// Its number, as an index into a table of all kinds.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether we define it. Only objects of such kinds may carry our finalizer.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Machine
                | Self::MachineComponent
                | Self::ClusterPackageVersion
                | Self::MachineComponentSet
                | Self::DisruptionPolicy
                | Self::CanaryRelease
        )
    }

    /// The kind's name in Kubernetes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::MachineComponent => "MachineComponent",
            Self::ClusterPackageVersion => "ClusterPackageVersion",
            Self::MachineComponentSet => "MachineComponentSet",
            Self::Node => "Node",
            Self::Lease => "Lease",
            Self::CertificateSigningRequest => "CertificateSigningRequest",
            Self::Event => "Event",
            Self::DisruptionPolicy => "DisruptionPolicy",
            Self::CanaryRelease => "CanaryRelease",
        }
    }
}

/// The subject of a reconciliation: the key of the work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// The operator's leadership: Lease, epoch, watches.
    Leadership,
    /// The fleet's default versions and their rollouts.
    PackageVersion,
    /// One set of machines and its rollouts.
    Set(SetId),
    /// One version of a component.
    Version(VersionId),
    /// One machine.
    Machine(MachineId),
    /// One certificate request.
    CertificateRequest(CertificateRequestId),
    /// One disruption policy.
    Policy(PolicyId),
    /// One canary release and its rollouts.
    Canary(CanaryId),
}

impl Subject {
    /// How many tables hold values of all subjects, one for each variant.
    pub const TABLES: usize = 8;

    /// Its table, and the index in it. The order of places is the order of subjects.
    #[must_use]
    pub const fn place(self) -> (usize, usize) {
        match self {
            Self::Leadership => (0, 0),
            Self::PackageVersion => (1, 0),
            Self::Set(id) => (2, id.index()),
            Self::Version(id) => (3, id.index()),
            Self::Machine(id) => (4, id.index()),
            Self::CertificateRequest(id) => (5, id.index()),
            Self::Policy(id) => (6, id.index()),
            Self::Canary(id) => (7, id.index()),
        }
    }

    /// The subject of a place; `None` when there is no such place.
    #[must_use]
    pub const fn at(table: usize, number: u32) -> Option<Self> {
        match (table, number) {
            (0, 0) => Some(Self::Leadership),
            (1, 0) => Some(Self::PackageVersion),
            (2, id) => Some(Self::Set(SetId(id))),
            (3, id) => Some(Self::Version(VersionId(id))),
            (4, id) => Some(Self::Machine(MachineId(id))),
            (5, id) => Some(Self::CertificateRequest(CertificateRequestId(id))),
            (6, id) => Some(Self::Policy(PolicyId(id))),
            (7, id) => Some(Self::Canary(CanaryId(id))),
            (_, _) => None,
        }
    }

    /// The machine, if it is one.
    #[must_use]
    pub const fn machine(self) -> Option<MachineId> {
        if let Self::Machine(id) = self { Some(id) } else { None }
    }

    /// The object that it is about.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Self::Leadership => Target::Lease,
            Self::PackageVersion => Target::PackageVersion,
            Self::Set(id) => Target::Set(id),
            Self::Version(id) => Target::Version(id),
            Self::Machine(id) => Target::Machine(id),
            Self::CertificateRequest(id) => Target::CertificateRequest(id),
            Self::Policy(id) => Target::Policy(id),
            Self::Canary(id) => Target::Canary(id),
        }
    }
}

/// What an action acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    /// The driver itself.
    Driver,
    /// The operator's Lease.
    Lease,
    /// A Machine object.
    Machine(MachineId),
    /// A `MachineComponent` object.
    Version(VersionId),
    /// The `ClusterPackageVersion`.
    PackageVersion,
    /// The host of a machine.
    Host(MachineId),
    /// The certificate request that a machine's host has made, which is no object yet.
    NewCertificateRequest(MachineId),
    /// A `CertificateSigningRequest` object.
    CertificateRequest(CertificateRequestId),
    /// The Node of a machine, or what runs there.
    Node(MachineId),
    /// A `MachineComponentSet` object.
    Set(SetId),
    /// A `DisruptionPolicy` object.
    Policy(PolicyId),
    /// A `CanaryRelease` object.
    Canary(CanaryId),
}

impl Target {
    /// How many tables hold values of all targets, one for each variant.
    pub const TABLES: usize = 12;

    /// Its table, and the index in it.
    #[must_use]
    pub const fn place(self) -> (usize, usize) {
        match self {
            Self::Driver => (0, 0),
            Self::Lease => (1, 0),
            Self::Machine(id) => (2, id.index()),
            Self::Version(id) => (3, id.index()),
            Self::PackageVersion => (4, 0),
            Self::Host(id) => (5, id.index()),
            Self::NewCertificateRequest(id) => (6, id.index()),
            Self::CertificateRequest(id) => (7, id.index()),
            Self::Node(id) => (8, id.index()),
            Self::Set(id) => (9, id.index()),
            Self::Policy(id) => (10, id.index()),
            Self::Canary(id) => (11, id.index()),
        }
    }

    /// The machine that it is, or whose host or Node it is.
    #[must_use]
    pub const fn machine(self) -> Option<MachineId> {
        if let Self::Machine(id) | Self::Host(id) | Self::Node(id) | Self::NewCertificateRequest(id) = self {
            Some(id)
        } else {
            None
        }
    }

    /// The kind of the object; `None` when it is no object, or none yet.
    #[must_use]
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::Driver | Self::Host(_) | Self::NewCertificateRequest(_) => None,
            Self::Lease => Some(Kind::Lease),
            Self::Machine(_) => Some(Kind::Machine),
            Self::Version(_) => Some(Kind::MachineComponent),
            Self::PackageVersion => Some(Kind::ClusterPackageVersion),
            Self::CertificateRequest(_) => Some(Kind::CertificateSigningRequest),
            Self::Node(_) => Some(Kind::Node),
            Self::Set(_) => Some(Kind::MachineComponentSet),
            Self::Policy(_) => Some(Kind::DisruptionPolicy),
            Self::Canary(_) => Some(Kind::CanaryRelease),
        }
    }

    /// The id of its name; `None` when there is only one of it.
    #[must_use]
    pub const fn named(self) -> Option<NamedId> {
        match self {
            Self::Driver | Self::Lease | Self::PackageVersion => None,
            Self::Machine(id) | Self::Host(id) | Self::Node(id) | Self::NewCertificateRequest(id) => {
                Some(NamedId::Machine(id))
            }
            Self::Version(id) => Some(NamedId::Version(id)),
            Self::CertificateRequest(id) => Some(NamedId::CertificateRequest(id)),
            Self::Set(id) => Some(NamedId::Set(id)),
            Self::Policy(id) => Some(NamedId::Policy(id)),
            Self::Canary(id) => Some(NamedId::Canary(id)),
        }
    }
}

/// A host's machine-id (`/etc/machine-id`). It stays with the installation, whatever the address of the host.
// Packed, because a row that is aligned like a number of 128 bits has gaps of a tenth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(Rust, packed(8))]
pub struct HostId(#[serde(with = "crate::digest::hex128")] pub u128);

impl fmt::Display for HostId {
    /// 32 hexadecimal digits, as in `/etc/machine-id`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id) = *self;
        write!(f, "{id:032x}")
    }
}

/// The uid that the API server gave to an object: a UUID as a number.
// Packed for the same reason as a `HostId`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(Rust, packed(8))]
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

    use super::{Interned as _, Kind, MachineId, NamedId, Subject, Uid, VersionId};

    #[test]
    fn every_place_is_that_of_its_subject() {
        for table in 0..Subject::TABLES {
            let subject = Subject::at(table, 0).unwrap();
            assert_eq!(subject.place(), (table, 0));
        }
        assert_eq!(Subject::at(Subject::TABLES, 0), None);
        assert_eq!(Subject::Machine(MachineId(7)).place().1, 7);
    }

    #[test]
    fn every_kind_has_its_number_and_every_id_its_table() {
        assert!(Kind::ALL.into_iter().map(Kind::index).eq(0..Kind::ALL.len()));
        assert!(Kind::WATCHED.iter().all(|kind| Kind::READ.contains(kind)));
        assert_eq!(VersionId(7).named().place(), (VersionId::TABLE, 7));
        assert_eq!(VersionId::numbered(7).named(), NamedId::Version(VersionId(7)));
        assert_eq!(NamedId::TABLES, 7);
    }

    #[test]
    fn uid_reads_what_it_writes_and_nothing_else() {
        let text = "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0";
        assert_eq!(Uid::parse(text).unwrap().to_string(), text);
        for bad in ["", "0f3c1d2e4b5a69788796a5b4c3d2e1f0", "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1fg"] {
            assert_eq!(Uid::parse(bad), None, "{bad}");
        }
    }
}
