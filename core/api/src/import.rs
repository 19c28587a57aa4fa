//! The annotation by which a Machine names its host from the import on.
//!
//! Before the first change on a host the Machine gets our finalizer, and what host that is has to be recorded. A finalizer is
//! metadata and the status is another resource: together they would be two writes of each machine. So the write of the
//! finalizer brings the identity along, and the next status takes it over.

use seaworthy_model::id::Uid;
use seaworthy_model::machine::Identity;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::object::Metadata;
use crate::scalar::Scalar;
use crate::v1alpha1::{self, HOST_ANNOTATION};
use crate::{parse, render};

/// What the annotation says.
#[derive(Serialize, Deserialize)]
struct Imported {
    /// The uid of the Machine: in a copy of its text the annotation means nothing.
    machine: Scalar<Uid>,
    /// Its host.
    host: v1alpha1::Identity,
}

/// The text of the annotation on the Machine `machine`.
pub(crate) fn text(machine: Uid, identity: &Identity) -> String {
    json!(Imported { machine: machine.into(), host: render::identity(identity) }).to_string()
}

/// The identity that the annotation of a Machine says; `None` without one, or if it is of another Machine or cannot be read:
/// then the host is read, and recorded again.
pub(crate) fn read(metadata: &Metadata, machine: Uid) -> Option<Identity> {
    let Imported { machine: named, host } =
        serde_json::from_str(metadata.annotations.get(HOST_ANNOTATION)?).ok()?;
    (named.get() == Some(machine)).then(|| parse::identity(&host))?
}
