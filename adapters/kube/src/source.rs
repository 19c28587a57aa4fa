//! What the watches of an operator follow.

use core::fmt;

use seaworthy_model::certificate::Signer;
use seaworthy_model::id::Kind;

/// What one watch follows: all objects of a kind, or the certificate requests to one signer.
///
/// Anybody may request certificates from other signers, in any number and size. The API server filters them out, so that
/// they cost the operator nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    kind: Kind,
    signer: Option<Signer>,
}

impl Source {
    /// The operator's own Lease, which is watched from the start.
    pub const LEASE: Self = Self { kind: Kind::Lease, signer: None };

    /// The sources of a kind: two for certificate requests, one for every other kind.
    pub fn of(kind: Kind) -> impl Iterator<Item = Self> {
        let signers = match kind {
            Kind::CertificateSigningRequest => Signer::ALL.map(Some).to_vec(),
            Kind::Machine
            | Kind::MachineComponent
            | Kind::ClusterPackageVersion
            | Kind::MachineComponentSet
            | Kind::Node
            | Kind::Lease
            | Kind::Event
            | Kind::DisruptionPolicy
            | Kind::CanaryRelease => vec![None],
        };
        signers.into_iter().map(move |signer| Self { kind, signer })
    }

    /// The kind of its objects.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The signer that its certificate requests are for.
    #[must_use]
    pub const fn signer(self) -> Option<Signer> {
        self.signer
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.name())?;
        match self.signer {
            Some(signer) => write!(formatter, " for {}", signer.name()),
            None => Ok(()),
        }
    }
}
