//! What happened in a run, for display: every machine, every rollout, the budget, operator processes, faults and user
//! actions, with simulated times.
//!
//! A run records nothing unless requested ([`crate::run_recorded`]). Recording only reads, so the trace hash is the
//! same with and without it.

mod band;
mod faults;
mod gates;
mod leader;
mod machine;
mod operator;
mod owners;
mod policies;
mod recorder;
mod recording;
mod rollout;
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
pub use gates::{Mark, Milestone};
pub use machine::{Phase, WaitsFor};
pub(crate) use operator::Seen;
pub use owners::{Changes, Charter, Words};
pub use policies::{Halt, Policy, Use};
pub(crate) use recorder::Recorder;
pub use rollout::{Counts, Rollout};
pub use series::{Sample, Series};

pub use crate::world::End;

/// Milliseconds since the start of the run. Times after 49 days are cut to that.
pub type Millis = u32;

/// A time as milliseconds since the start.
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
    /// The rollouts of all owners, as the operator counts them.
    pub rollouts: Vec<Rollout>,
    /// What owns rollouts.
    pub charters: Vec<Charter>,
    /// What owners say and wait for, by the numbers that [`Changes`] use.
    pub words: Vec<Words>,
    /// The disruption policies.
    pub policies: Vec<Policy>,
    /// The budget.
    pub budget: Series<Budget>,
    /// Operator processes, in the order in which they started.
    pub processes: Vec<Process>,
    /// Times during which processes were suspended.
    pub pauses: Vec<Pause>,
    /// Calls of `reconcile`.
    pub turns: Vec<Turn>,
    /// The bands of faults, by kind and then by time.
    pub bands: Vec<Band>,
    /// The actions of users.
    pub acts: Vec<Act>,
    /// Other occasions, and how often each happened since the turn before.
    pub occurrences: Vec<Occurrence>,
    /// The breaches of invariants.
    pub violations: Vec<Violation>,
    /// The end of the run.
    pub end: Millis,
}

/// Something that happened to a machine or its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time of the event.
    pub at: Millis,
    /// The number of the machine's host.
    pub host: u32,
    /// The event.
    pub what: What,
}

/// What can happen to a machine or its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The leading operator sees the machine in another phase.
    Phase(Phase, WaitsFor),
    /// The machine takes a unit of the budget, or gives it back.
    Unit(bool),
    /// The operator read a condition that differs from the one before.
    Condition(ConditionKind, Truth, Reason),
    /// An operation began.
    Began(Component, Version),
    /// The operation, or its continuation, reached this step.
    Step(Step),
    /// The host resumed the operation by itself after it had been down.
    Resumed,
    /// The operation ended.
    Ended(Ended),
    /// Another version of a component is installed, or it is removed.
    Installed(Component, Version),
    /// A user changed something on the host by hand.
    Spoiled(Drift),
    /// The host has gained or lost power.
    Power(bool),
    /// The host has been connected or cut off.
    Network(bool),
    /// The condition that its Node reports.
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

/// The use of the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Slots that are occupied, as the leading operator counts them.
    pub occupied: u32,
    /// All slots: `maxUnavailable`.
    pub limit: u32,
    /// Hosts that are at work, in the true state.
    pub at_work: u32,
    /// Hosts that are at work or count as unavailable, in the true state.
    pub used: u32,
}

/// The life of an operator process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The seat of the process.
    pub seat: u32,
    /// The start of the process.
    pub from: Millis,
    /// The time at which the process began to act, and its epoch.
    pub led: Option<(Millis, u32)>,
    /// The end of the process, and the reason.
    pub ended: Option<(Millis, End)>,
}

/// A time during which a process was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The process, by its number in [`History::processes`].
    pub process: u32,
    /// The start of the pause.
    pub from: Millis,
    /// The end of the pause.
    pub until: Millis,
}

/// A call of `reconcile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The time of the call.
    pub at: Millis,
    /// The process, by its number in [`History::processes`].
    pub process: u32,
    /// The number of subjects that were looked at.
    pub looked_at: u32,
    /// The number of writes to the API server that were ordered.
    pub writes: u16,
    /// The number of orders to hosts.
    pub orders: u16,
}

/// An action of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The time of the action.
    pub at: Millis,
    /// The action, in one line.
    pub what: String,
}

/// An occasion that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The time at which the occasion was noticed.
    pub at: Millis,
    /// The occasion.
    pub what: Occasion,
    /// The number of times that it happened since it was last noticed.
    pub times: u32,
}

/// A breach of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The time of the breach.
    pub at: Millis,
    /// The name of the invariant.
    pub invariant: &'static str,
    /// What happened.
    pub detail: String,
}
