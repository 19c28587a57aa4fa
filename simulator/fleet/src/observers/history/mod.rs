//! What happened in a run, for people to look at: every machine, every rollout, the budget, operator processes, faults and
//! what people did, with simulated times.
//!
//! A run records nothing unless it was asked to ([`crate::run_recorded`]). Recording only reads: the trace hash is the same
//! with it and without.

mod band;
mod faults;
mod leader;
mod machine;
mod operator;
mod recorder;
mod recording;
mod scope;
mod series;
#[cfg(test)]
mod tests;

use seaworthy_kernel::Timestamp;
use seaworthy_model::host::Drift;
use seaworthy_model::machine::{ConditionKind, Truth};
use seaworthy_model::node::Health;

use crate::vocabulary::{Occasion, START, Step};
use crate::world::host::Ended;

pub use band::{Band, FaultKind, Realm};
pub use machine::{Phase, WaitsFor};
pub(crate) use operator::Seen;
pub(crate) use recorder::Recorder;
pub use series::{Sample, Series};

pub use crate::world::End;

/// Milliseconds since the start of the run; what is later than 49 days counts as that.
pub type Millis = u32;

/// Since the start.
fn millis(at: Timestamp) -> Millis {
    Millis::try_from(at.since(START).as_millis()).unwrap_or(Millis::MAX)
}

/// What happened in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// What happened to machines, in the order of time.
    pub events: Vec<Event>,
    /// Components, by the numbers that events use.
    pub components: Vec<String>,
    /// Versions of components, by the numbers that events use.
    pub versions: Vec<String>,
    /// Reasons of conditions, by the numbers that events use.
    pub reasons: Vec<&'static str>,
    /// The fleet's rollouts, as the operator counts them.
    pub rollouts: Vec<Rollout>,
    /// The budget.
    pub budget: Series<Budget>,
    /// Operator processes, in the order in which they started.
    pub processes: Vec<Process>,
    /// Times at which processes stood still.
    pub pauses: Vec<Pause>,
    /// Calls of `reconcile`.
    pub turns: Vec<Turn>,
    /// What faults did, by their kind and then by time.
    pub bands: Vec<Band>,
    /// What people did.
    pub acts: Vec<Act>,
    /// What else happened, and how often since the turn before.
    pub occurrences: Vec<Occurrence>,
    /// What must never happen, and did.
    pub violations: Vec<Violation>,
    /// When the run ended.
    pub end: Millis,
}

/// Something that happened to a machine or its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Millis,
    /// The number of the machine's host.
    pub host: u32,
    /// What.
    pub what: What,
}

/// What can happen to a machine or its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The operator that leads sees it differently.
    Phase(Phase, WaitsFor),
    /// The operator read a condition that differs from the one before.
    Condition(ConditionKind, Truth, Reason),
    /// An operation began.
    Began(Component, Version),
    /// It, or its continuation, went on to this step.
    Step(Step),
    /// The host itself resumed it after it had been down.
    Resumed,
    /// It ended.
    Ended(Ended),
    /// Another version of a component is installed, or none any more.
    Installed(Component, Version),
    /// Somebody changed something on the host by hand.
    Spoiled(Drift),
    /// The host has power from now on, or has not.
    Power(bool),
    /// The network leads to the host from now on, or does not.
    Network(bool),
    /// What its Node says.
    Node(Health),
}

/// A component, by its number in [`History::components`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component(pub u16);

/// A version of a component, by its number in [`History::versions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u16);

impl Version {
    /// No version: the component is not there, or is to be removed.
    pub const NONE: Self = Self(u16::MAX);
}

/// The reason of a condition, by its number in [`History::reasons`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason(pub u16);

/// A rollout of the fleet, as the operator that leads counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The name of the component.
    pub component: String,
    /// The generation of the `ClusterPackageVersion` that it belongs to.
    pub generation: u64,
    /// The version that was the default before; empty when there was none.
    pub from: String,
    /// The version that is the default now; empty when the component is to be removed.
    pub to: String,
    /// When it was first seen.
    pub since: Millis,
    /// When it was complete.
    pub completed: Option<Millis>,
    /// How many machines stood where.
    pub counts: Series<Counts>,
    /// When machines were admitted, and how many.
    pub batches: Vec<(Millis, u32)>,
}

/// How many machines stand where in a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Not admitted.
    pub waiting: u32,
    /// Admitted, with a reservation, and nothing was started.
    pub reserved: u32,
    /// Admitted, without a reservation.
    pub parked: u32,
    /// Admitted, but they cannot be worked on.
    pub blocked: u32,
    /// An operation is or may be under way.
    pub at_work: u32,
    /// Done.
    pub done: u32,
    /// Failed.
    pub failed: u32,
    /// How many may fail.
    pub failures_max: u32,
}

/// How much of the budget is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Slots that are occupied, as the operator that leads counts them.
    pub occupied: u32,
    /// Slots that there are: `maxUnavailable`.
    pub limit: u32,
    /// Hosts that are at work, in truth.
    pub at_work: u32,
    /// Hosts that are at work or count as unavailable, in truth.
    pub used: u32,
}

/// The life of an operator process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The replica that it belongs to.
    pub seat: u32,
    /// When it started.
    pub from: Millis,
    /// When it began to act, and with which epoch.
    pub led: Option<(Millis, u32)>,
    /// When it ended, and why.
    pub ended: Option<(Millis, End)>,
}

/// A time at which a process stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which process, by its number in [`History::processes`].
    pub process: u32,
    /// Since when.
    pub from: Millis,
    /// Until when.
    pub until: Millis,
}

/// A call of `reconcile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When.
    pub at: Millis,
    /// By which process, by its number in [`History::processes`].
    pub process: u32,
    /// How many subjects were looked at.
    pub looked_at: u32,
    /// How many writes to the API server were ordered.
    pub writes: u16,
    /// How many orders went to hosts.
    pub orders: u16,
}

/// Something that people did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// When.
    pub at: Millis,
    /// What, in one line.
    pub what: String,
}

/// Something that is counted, and happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// When it was noticed.
    pub at: Millis,
    /// What.
    pub what: Occasion,
    /// How often since it was noticed last.
    pub times: u32,
}

/// Something that must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Millis,
    /// The name of the invariant.
    pub invariant: &'static str,
    /// What happened.
    pub detail: String,
}
