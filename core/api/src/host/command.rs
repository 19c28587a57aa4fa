//! The commands of a request to a host, and what the core's commands are sent as.

use std::sync::Arc;

use seaworthy_model::component::{Artefact, Recipe, ReleaseId};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{self, OperationId};
use seaworthy_model::host_order::{HostCommand, HostCommandKind};
use seaworthy_model::lease::Epoch;
use serde::{Deserialize, Serialize};

use crate::names::{Names, UnknownId};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Command {
    /// Report what is there.
    Facts,
    /// Do one operation, and answer once it has ended or waits to be confirmed.
    Apply(Box<Operation>),
    /// Report what is there, and what became of this operation.
    Status(OperationId),
    /// Forget the owner.
    Disown,
    /// Make a key for the certificate of the node named after the Machine, unless one waits already, and report the
    /// request.
    RequestCertificate(CertificateRequest),
    /// Put a certificate into its place, with the key that waits for it.
    InstallCertificate(CertificateFile),
    /// End this operation, which waits for that, with success, and answer once it has ended. It comes over a connection that
    /// was opened for it.
    Confirm(OperationId),
    /// Forget the fences of the owner's cluster, if their highest epoch is this one, and remember that of this order.
    ResetFences(Epoch),
    /// Fetch this artefact, so that a later operation finds it, and change nothing else.
    Fetch(Box<Artefact>),
}

/// Where a certificate is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateRequest {
    /// The absolute path of the file for certificate and key.
    pub path: Arc<str>,
    /// The digest of the public key of the certificate there that is of no use any more.
    pub replaces: Option<Digest>,
}

/// A certificate and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateFile {
    /// The absolute path of the file for certificate and key.
    pub path: Arc<str>,
    /// The certificate: PEM.
    pub certificate: Arc<str>,
}

/// One change of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Operation {
    /// Its name.
    pub id: OperationId,
    /// The generation of the Machine's spec for which it is ordered, to be reported back.
    pub generation: u64,
    /// The component's name.
    pub component: String,
    /// How it changes.
    pub change: Change,
}

/// How a component changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Change {
    /// Make this release the current one, whole and running.
    Install(Box<Release>),
    /// Stop it, and remove all of it.
    Remove,
}

/// A release to install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// Its id: the host computes it from the recipe as well and refuses any other.
    pub id: ReleaseId,
    /// The name of the `MachineComponent`, to be reported back.
    pub version_name: String,
    /// How to make it.
    pub recipe: Recipe,
}

/// The command as it is sent to a host.
///
/// # Errors
/// When it names an id that was never given out.
pub(super) fn command(command: &HostCommand, names: &Names) -> Result<Command, UnknownId> {
    Ok(match command {
        HostCommand::Facts => Command::Facts,
        HostCommand::Status(id) => Command::Status(*id),
        HostCommand::Confirm(id) => Command::Confirm(*id),
        HostCommand::ResetFences(seen) => Command::ResetFences(*seen),
        HostCommand::Disown => Command::Disown,
        HostCommand::Fetch { artefact, .. } => Command::Fetch(artefact.clone()),
        HostCommand::RequestCertificate { path, replaces } => {
            let request = CertificateRequest { path: path.clone(), replaces: *replaces };
            Command::RequestCertificate(request)
        }
        HostCommand::InstallCertificate { path, certificate } => {
            let file = CertificateFile { path: path.clone(), certificate: certificate.clone() };
            Command::InstallCertificate(file)
        }
        HostCommand::Apply(operation) => Command::Apply(Box::new(Operation {
            id: operation.id,
            generation: operation.generation,
            component: names.component_name(operation.component)?.to_owned(),
            change: match &operation.change {
                host::Change::Remove => Change::Remove,
                host::Change::Install(release) => Change::Install(Box::new(Release {
                    id: release.id,
                    version_name: names.version_object_name(release.version)?.to_owned(),
                    recipe: release.recipe.clone(),
                })),
            },
        })),
    })
}

impl Command {
    /// Which command it is.
    #[must_use]
    pub const fn kind(&self) -> HostCommandKind {
        match self {
            Self::Facts => HostCommandKind::Facts,
            Self::Apply(_) => HostCommandKind::Apply,
            Self::Status(_) => HostCommandKind::Status,
            Self::Disown => HostCommandKind::Disown,
            Self::RequestCertificate(_) => HostCommandKind::RequestCertificate,
            Self::InstallCertificate(_) => HostCommandKind::InstallCertificate,
            Self::Confirm(_) => HostCommandKind::Confirm,
            Self::ResetFences(_) => HostCommandKind::ResetFences,
            Self::Fetch(_) => HostCommandKind::Fetch,
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
            | Self::RequestCertificate(_)
            | Self::InstallCertificate(_)
            | Self::Fetch(_) => None,
        }
    }
}
