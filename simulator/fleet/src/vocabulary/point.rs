//! Happenings in the world that fault triggers may wait for.

use seaworthy_api::object::Resource;
use serde::Deserialize;

use super::Step;

/// The kind of a change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// The object was created.
    Create,
    /// The object was changed.
    Update,
    /// The deletion of the object was requested, and finalizers keep it.
    Terminate,
    /// The object was removed.
    Delete,
}

/// The author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Author {
    /// An operator process.
    Operator,
    /// Any other writer: users, kubelets, other programs.
    Other,
}

/// The destination of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// The write goes to the API server.
    Api,
    /// The write goes to a host, as an order that changes something.
    Host,
}

/// The side of a write: before or after it takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// Before the write leaves the operator.
    #[default]
    Before,
    /// After the write took effect, and before the reply.
    After,
}

/// A happening that triggers may wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point<'a> {
    /// A change was committed.
    Commit {
        /// The kind of the change.
        verb: Verb,
        /// The author of the change.
        by: Author,
        /// The object after the change; its last state if it was removed.
        object: &'a Resource,
        /// The object before the change. `None` if it is new.
        before: Option<&'a Resource>,
    },
    /// An operator writes.
    Write {
        /// The destination of the write.
        to: Destination,
        /// Before or after the write takes effect.
        side: Side,
    },
    /// A host begins a step.
    Step {
        /// The host.
        host: u32,
        /// The step.
        step: Step,
    },
    /// Time has passed.
    Time,
}
