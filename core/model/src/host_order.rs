//! What may be ordered from a host, and what holds for each command.
//!
//! Everything that other crates have to know of a command is told by its kind: its label, its claim on the host, whether
//! another order can undo it. So a new command is described here, and carried out by the host program and the simulated host.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::component::Artefact;
use crate::connection::Connection;
use crate::digest::Digest;
use crate::host::{Operation, OperationId};
use crate::id::VersionId;
use crate::lease::Epoch;

/// An order to a host: how to get there, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOrder {
    /// How to get there.
    pub connection: Arc<Connection>,
    /// What to do.
    pub command: HostCommand,
}

/// What may be ordered from a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostCommand {
    /// Report what is there. Changes nothing but the remembered fence.
    Facts,
    /// Do one operation, and report once it ended or waits for its confirmation. The host goes on with it when the connection
    /// is lost.
    Apply(Box<Operation>),
    /// Report what is there, and what became of an operation.
    Status(OperationId),
    /// Forget the owner; sent when everything was removed.
    Disown,
    /// Make a key for the certificate of the host's node, unless one waits already, and report the certificate request. The
    /// key stays the same until its certificate is installed. If there is a certificate already, it is reported instead.
    RequestCertificate {
        /// The file in which certificate and key belong: [`NodeIdentity::path`](crate::certificate::NodeIdentity::path).
        path: Arc<str>,
        /// The digest of the public key of the certificate there that is of no use any more.
        replaces: Option<Digest>,
    },
    /// Put this certificate into its place, with the key that waits for it.
    InstallCertificate {
        /// The file, as in the request.
        path: Arc<str>,
        /// The certificate, and others that lead to its issuer: PEM.
        certificate: Arc<str>,
    },
    /// End an operation that waits for its confirmation
    /// ([`OperationState::Unconfirmed`](crate::host::OperationState::Unconfirmed)) with success, and report once it ended. One
    /// that is over is answered with how it ended.
    ///
    /// It is the proof that the host can still be reached, so a driver carries it over a connection that it opens for this
    /// order, to the pinned host key as always: never over one that was open before, which a firewall may go on
    /// letting through.
    Confirm(OperationId),
    /// Forget the fences of this cluster, if the highest epoch among them is this one, and remember that of this order. A
    /// person has said so. The operations that came with those fences are forgotten as well: later ones may have the same ids.
    ResetFences(Epoch),
    /// Fetch an artefact to where [`Apply`](Self::Apply) looks for it, verify it, and change nothing else. It is no operation:
    /// a host that is interrupted forgets it, and one that has an operation under way does not begin it.
    Fetch {
        /// The version that it belongs to.
        version: VersionId,
        /// What is fetched.
        artefact: Box<Artefact>,
    },
}

impl HostCommand {
    /// Which command it is.
    #[must_use]
    pub const fn kind(&self) -> HostCommandKind {
        match self {
            Self::Facts => HostCommandKind::Facts,
            Self::Apply(_) => HostCommandKind::Apply,
            Self::Status(_) => HostCommandKind::Status,
            Self::Disown => HostCommandKind::Disown,
            Self::RequestCertificate { .. } => HostCommandKind::RequestCertificate,
            Self::InstallCertificate { .. } => HostCommandKind::InstallCertificate,
            Self::Confirm(_) => HostCommandKind::Confirm,
            Self::ResetFences(_) => HostCommandKind::ResetFences,
            Self::Fetch { .. } => HostCommandKind::Fetch,
        }
    }

    /// The operation that it is about, if it is about one.
    #[must_use]
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::Apply(operation) => Some(operation.id),
            Self::Status(id) | Self::Confirm(id) => Some(*id),
            Self::Facts
            | Self::Disown
            | Self::ResetFences(_)
            | Self::RequestCertificate { .. }
            | Self::InstallCertificate { .. }
            | Self::Fetch { .. } => None,
        }
    }
}

/// A command without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HostCommandKind {
    /// [`HostCommand::Facts`].
    Facts,
    /// [`HostCommand::Status`].
    Status,
    /// [`HostCommand::Disown`].
    Disown,
    /// [`HostCommand::Apply`].
    Apply,
    /// [`HostCommand::RequestCertificate`].
    RequestCertificate,
    /// [`HostCommand::InstallCertificate`].
    InstallCertificate,
    /// [`HostCommand::Confirm`].
    Confirm,
    /// [`HostCommand::ResetFences`].
    ResetFences,
    /// [`HostCommand::Fetch`].
    Fetch,
}

/// What a command has to do with the owner of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It only reads: a host answers everybody.
    Reads,
    /// Its sender becomes the owner.
    Takes,
    /// Only the owner may send it, and there must be one.
    Needs,
    /// Only the owner may send it, if there is one, and the owner stays.
    Keeps,
    /// The host belongs to nobody afterwards.
    GivesUp,
}

impl HostCommandKind {
    /// Its label in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Facts => "host_facts",
            Self::Status => "host_status",
            Self::Disown => "host_disown",
            Self::Apply => "host_apply",
            Self::RequestCertificate => "host_request_certificate",
            Self::InstallCertificate => "host_install_certificate",
            Self::Confirm => "host_confirm",
            Self::ResetFences => "host_reset_fences",
            Self::Fetch => "host_fetch",
        }
    }

    /// What it has to do with the owner of the host.
    #[must_use]
    pub const fn claim(self) -> Claim {
        match self {
            Self::Facts | Self::Status => Claim::Reads,
            Self::Apply | Self::RequestCertificate | Self::InstallCertificate => Claim::Takes,
            Self::Confirm | Self::Fetch => Claim::Needs,
            Self::ResetFences => Claim::Keeps,
            Self::Disown => Claim::GivesUp,
        }
    }

    /// Whether it changes nothing on the host but the remembered fence.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(self.claim(), Claim::Reads)
    }

    /// Whether no other order can undo it: software is replaced or removed, or the host is given up.
    #[must_use]
    pub const fn is_destructive(self) -> bool {
        matches!(self, Self::Apply | Self::Disown)
    }

    /// Whether it begins something on the host: not for a paused machine. A read begins nothing, and neither does what ends
    /// work that was begun before.
    #[must_use]
    pub const fn begins_work(self) -> bool {
        match self {
            Self::Apply
            | Self::Disown
            | Self::RequestCertificate
            | Self::InstallCertificate
            | Self::Fetch => true,
            Self::Facts | Self::Status | Self::Confirm | Self::ResetFences => false,
        }
    }

    /// Whether it has to prove that the host can be reached over a new connection.
    #[must_use]
    pub const fn proves_contact(self) -> bool {
        matches!(self, Self::Confirm)
    }
}
