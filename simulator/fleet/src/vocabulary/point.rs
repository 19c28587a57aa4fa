//! Happenings in the world that fault triggers may wait for.

use seaworthy_api::object::Resource;
use serde::Deserialize;

use super::Step;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// It is new.
    Create,
    /// It is changed.
    Update,
    /// Its deletion is asked for, and finalizers keep it.
    Terminate,
    /// It is gone.
    Delete,
}

/// Who changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Author {
    /// An operator process.
    Operator,
    /// People, kubelets, other programs.
    Other,
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// To the API server.
    Api,
    /// To a host, as an order to change something.
    Host,
}

/// The side of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// Before it leaves the operator.
    #[default]
    Before,
    /// After it took effect, before the reply.
    After,
}

/// Something that happened and that triggers may wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point<'a> {
    /// A change was committed.
    Commit {
        /// What was done.
        verb: Verb,
        /// Who did it.
        by: Author,
        /// The object; its last state when it is gone.
        object: &'a Resource,
        /// What it was before.
        before: Option<&'a Resource>,
    },
    /// An operator writes.
    Write {
        /// To where.
        to: Destination,
        /// Before or after it takes effect.
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
