//! Why something outside did not work, as a closed list: the adapters' one job with errors is to find the
//! right word here.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// A cause, with the message of the adapter or host that reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The class, on which decisions depend.
    pub kind: CauseKind,
    /// For people. Never contains a secret. Decisions never depend on it.
    pub detail: String,
}

impl Cause {
    /// A cause of `kind` with an explanation.
    #[must_use]
    pub fn new(kind: CauseKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// The class of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CauseKind {
    // --- reaching the host
    /// No connection: refused, no route, timed out, closed before login.
    ConnectionFailed,
    /// The host showed a key that is not among the pinned ones.
    HostKeyMismatch,
    /// No host key is pinned and the policy does not trust on first use.
    HostKeyUnknown,
    /// The host knows no such user, or does not accept the key.
    AuthenticationFailed,
    /// The Secret with the SSH key does not exist in the operator's namespace.
    SecretMissing,
    /// The Secret exists, but holds no usable private key.
    SecretInvalid,
    /// Logged in, but not allowed to become root.
    PrivilegeDenied,
    /// The host program could not be delivered or does not run there.
    DeliveryFailed,
    /// The other side spoke something that is not our protocol.
    ProtocolError,

    // --- the host's own refusals
    /// The host has an owner, and it is not this Machine.
    OwnedByAnother,
    /// The host has seen a newer operator: a higher epoch, or a later sequence of ours.
    FenceRefused,
    /// Another operation is running on the host.
    HostBusy,
    /// Too little disk space or too few inodes.
    NoSpace,
    /// The artefact could not be fetched.
    DownloadFailed,
    /// The artefact was fetched and is not the one that was promised.
    DigestMismatch,
    /// The archive is malformed, too large, or tries to leave its directory.
    ArchiveRefused,
    /// A template does not render.
    TemplateFailed,
    /// A path, name or unit in the operation is not acceptable.
    OperationInvalid,
    /// The certificate is not one for the key that waits for it, or for another node.
    CertificateRefused,
    /// The new release did not become healthy; the previous one was restored (or there was none).
    ProbeFailed,
    /// The new release did not become healthy and the previous one could not be restored.
    RollbackFailed,
    /// The host's own systemd or file system failed.
    HostFailed,

    // --- the API server
    /// The API server refused the request as invalid or forbidden.
    ApiRefused,
    /// The API server does not answer, or asks to come back later.
    ApiUnavailable,
    /// A pod may not be evicted now: its disruption budget does not allow it.
    DisruptionBudget,

    // --- ourselves
    /// `core/check` judged that the turn would break an invariant.
    Guard,

    // --- the host's own refusals, continued: a trace knows causes by their place in this list
    /// What tests a release before it is swapped in has failed: nothing was touched.
    PreflightFailed,
    /// A command that belongs to the removal of a component has failed; it is there still, stopped or not.
    RemovalFailed,
    /// No confirmation came in time that the host can be reached with the new release; the previous one was restored (or
    /// there was none).
    NotConfirmed,
    /// The release asks for no more than a reload, and that would not make what runs what the release says; nothing that
    /// runs was touched.
    ReloadRefused,
}

impl CauseKind {
    /// Whether it is the release that failed, on a host that was reached and willing. Only such causes count
    /// against `maxFailures`, and such a release is not tried again until a spec changes.
    #[must_use]
    pub const fn blames_release(self) -> bool {
        matches!(
            self,
            Self::DigestMismatch
                | Self::ArchiveRefused
                | Self::TemplateFailed
                | Self::OperationInvalid
                | Self::PreflightFailed
                | Self::ProbeFailed
                | Self::RollbackFailed
                | Self::NotConfirmed
                | Self::ReloadRefused
        )
    }

    /// Whether it says of an artefact that it is not to be had, or not as it was promised. Another host would be told the same.
    #[must_use]
    pub const fn blames_artefact(self) -> bool {
        matches!(self, Self::DownloadFailed | Self::DigestMismatch | Self::OperationInvalid)
    }

    /// Whether the host was not reached at all, or not far enough to be asked anything.
    #[must_use]
    pub const fn is_contact(self) -> bool {
        matches!(
            self,
            Self::ConnectionFailed
                | Self::HostKeyMismatch
                | Self::HostKeyUnknown
                | Self::AuthenticationFailed
                | Self::SecretMissing
                | Self::SecretInvalid
                | Self::PrivilegeDenied
                | Self::DeliveryFailed
                | Self::ProtocolError
        )
    }

    /// Whether one failed contact is enough to judge: the next one fails the same way until a person does something.
    #[must_use]
    pub const fn is_definite(self) -> bool {
        self.is_contact()
            && !matches!(self, Self::ConnectionFailed | Self::DeliveryFailed | Self::ProtocolError)
    }

    /// The name used in conditions and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "ConnectionFailed",
            Self::HostKeyMismatch => "HostKeyMismatch",
            Self::HostKeyUnknown => "HostKeyUnknown",
            Self::AuthenticationFailed => "AuthenticationFailed",
            Self::SecretMissing => "SecretMissing",
            Self::SecretInvalid => "SecretInvalid",
            Self::PrivilegeDenied => "PrivilegeDenied",
            Self::DeliveryFailed => "DeliveryFailed",
            Self::ProtocolError => "ProtocolError",
            Self::OwnedByAnother => "DuplicateHost",
            Self::FenceRefused => "HostAhead",
            Self::HostBusy => "HostBusy",
            Self::NoSpace => "NoSpace",
            Self::DownloadFailed => "DownloadFailed",
            Self::DigestMismatch => "DigestMismatch",
            Self::ArchiveRefused => "ArchiveRefused",
            Self::TemplateFailed => "TemplateFailed",
            Self::OperationInvalid => "OperationInvalid",
            Self::PreflightFailed => "PreflightFailed",
            Self::RemovalFailed => "RemovalFailed",
            Self::CertificateRefused => "CertificateRefused",
            Self::ProbeFailed => "ProbeFailed",
            Self::RollbackFailed => "RollbackFailed",
            Self::HostFailed => "HostFailed",
            Self::ApiRefused => "ApiRefused",
            Self::ApiUnavailable => "ApiUnavailable",
            Self::DisruptionBudget => "DisruptionBudget",
            Self::Guard => "Guard",
            Self::NotConfirmed => "NotConfirmed",
            Self::ReloadRefused => "ReloadRefused",
        }
    }

    /// Every cause, for parsing names back.
    pub const ALL: [Self; 30] = [
        Self::ConnectionFailed,
        Self::HostKeyMismatch,
        Self::HostKeyUnknown,
        Self::AuthenticationFailed,
        Self::SecretMissing,
        Self::SecretInvalid,
        Self::PrivilegeDenied,
        Self::DeliveryFailed,
        Self::ProtocolError,
        Self::OwnedByAnother,
        Self::FenceRefused,
        Self::HostBusy,
        Self::NoSpace,
        Self::DownloadFailed,
        Self::DigestMismatch,
        Self::ArchiveRefused,
        Self::TemplateFailed,
        Self::OperationInvalid,
        Self::CertificateRefused,
        Self::ProbeFailed,
        Self::RollbackFailed,
        Self::HostFailed,
        Self::ApiRefused,
        Self::ApiUnavailable,
        Self::DisruptionBudget,
        Self::Guard,
        Self::PreflightFailed,
        Self::RemovalFailed,
        Self::NotConfirmed,
        Self::ReloadRefused,
    ];

    /// The cause whose [`name`](Self::name) this is.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
