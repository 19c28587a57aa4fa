//! How a rollout goes through the fleet: batch by batch, with a gate after each.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::component::Disruption;
use crate::gate_check::{ProbePod, Query};
use crate::quantity::CountOrPercent;
use crate::time::Timestamp;

/// How a rollout goes through its batches. The spec has one, and each rollout keeps a copy of the one that it started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    /// Up to each of these, machines are permitted once those before have passed the gate. Everybody is permitted after the
    /// last one.
    pub batches: Vec<CountOrPercent>,
    /// How long the machines of the first batch that changes any are watched before their gate.
    pub first_bake: Duration,
    /// How long those of each later batch are watched.
    pub bake: Duration,
    /// How many machines may go wrong before a gate fails, beyond those that would have without the rollout: of the machines
    /// that were changed. `None`: 1 % of them, at least 1 and at most 3.
    pub tolerance: Option<CountOrPercent>,
    /// What a gate that fails leads to.
    pub on_failure: OnFailure,
    /// A change that reaches more machines than this waits for a person who confirms it. `None`: none does.
    pub confirm_above: Option<CountOrPercent>,
    /// The most that a change may do to the workloads of a machine. `None`: anything. An edit of this and of the next field counts
    /// at once, also for a rollout that is under way.
    pub at_most: Option<Disruption>,
    /// What becomes of machines whose pods cannot leave.
    pub undrainable: Undrainable,
    /// What a gate asks the metrics of the cluster, once the machines themselves have passed.
    pub query: Option<Arc<Query>>,
    /// What has to start on some of the changed machines before a gate passes.
    pub probe_pod: Option<Arc<ProbePod>>,
}

/// What becomes of machines that have to be drained and cannot be: their pods must not be lost, or do not leave in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undrainable {
    /// The batch waits for them.
    Wait,
    /// The batch ends without them, and they follow when they can; with more than so many of all machines, it waits.
    Skip {
        /// So many.
        at_most: CountOrPercent,
    },
    /// The batch waits for them. Pods that are left so long after the cordon are deleted, whatever is lost with them.
    Force {
        /// So long.
        after: Duration,
    },
}

impl Default for Undrainable {
    fn default() -> Self {
        Self::Skip { at_most: CountOrPercent::Percent(10) }
    }
}

impl Undrainable {
    /// How many of so many machines a batch ends without.
    #[must_use]
    pub fn skipped_of(self, total: u32) -> u32 {
        match self {
            Self::Wait | Self::Force { .. } => 0,
            Self::Skip { at_most } => at_most.of(total),
        }
    }
}

impl Strategy {
    /// The most batches that a strategy has.
    pub const BATCHES_MAX: usize = 32;

    /// How many of so many changed machines make a gate fail.
    #[must_use]
    pub fn tolerance_of(&self, changed: u32) -> u32 {
        self.tolerance.map_or_else(|| CountOrPercent::Percent(1).of(changed).min(3), |it| it.of(changed))
    }
}

/// Numbers from `node-lifecycle.md` of the project's research: most bad versions show within half an hour of their first
/// machine.
impl Default for Strategy {
    fn default() -> Self {
        let percent = [1, 10, 50, 100].map(CountOrPercent::Percent);
        Self {
            batches: [CountOrPercent::Count(1)].into_iter().chain(percent).collect(),
            first_bake: Duration::from_secs(30 * 60),
            bake: Duration::from_secs(10 * 60),
            tolerance: None,
            on_failure: OnFailure::Pause,
            confirm_above: None,
            at_most: None,
            undrainable: Undrainable::default(),
            query: None,
            probe_pod: None,
        }
    }
}

/// What a gate that fails leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OnFailure {
    /// No further machine is changed until a person decides.
    #[default]
    Pause,
    /// Every machine that was changed gets what it had before.
    RollBack,
}

impl OnFailure {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Pause, Self::RollBack];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pause => "Pause",
            Self::RollBack => "RollBack",
        }
    }
}

/// Where a rollout with a strategy is: its batch, and what its gate has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// The strategy with which the rollout started.
    pub strategy: Strategy,
    /// The number of the batch under way, from 1; 0 before the first. A completed rollout that begins anew counts on.
    pub batch: u32,
    /// When every machine that was permitted and can be worked on was done: then the batch bakes.
    pub done_at: Option<Timestamp>,
    /// The gate that has failed, if one has.
    pub failure: Option<GateFailure>,
    /// How many machines had gone wrong when people last let the rollout go on in spite of a gate, or had failed when it began
    /// anew: later gates do not count them again.
    pub excused: u32,
    /// How many machines had what the rollout brings, or had failed to get it, when it began anew after it was complete: its
    /// gates watch the others.
    pub judged_before: u32,
    /// The number of the last batch before it began anew.
    pub batches_before: u32,
    /// Whether it began anew for a few machines that came since it was complete: they are one batch, a catch-up batch.
    pub catches_up: bool,
    /// Since when machines get back what they had before.
    pub reverted_at: Option<Timestamp>,
}

impl Course {
    /// The course of a rollout that begins.
    #[must_use]
    pub const fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            batch: 0,
            done_at: None,
            failure: None,
            excused: 0,
            judged_before: 0,
            batches_before: 0,
            catches_up: false,
            reverted_at: None,
        }
    }

    /// Whether the batch under way is the first one since the rollout began, or began anew. A catch-up batch is none: most
    /// machines have run the version for long.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        !self.catches_up && self.batch <= self.batches_before.saturating_add(1)
    }

    /// How long the machines of the present batch are watched.
    #[must_use]
    pub const fn bake_time(&self) -> Duration {
        if self.is_first() { self.strategy.first_bake } else { self.strategy.bake }
    }
}

/// Why the gate after a batch has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateFailure {
    /// When.
    pub at: Timestamp,
    /// What was found.
    pub evidence: Evidence,
}

/// What a gate goes by: counts of machines, and what it asked besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Machines that the rollout has changed.
    pub changed: u32,
    /// Those on which the release failed.
    pub failed: u32,
    /// Those that have become unavailable since the rollout started and still are, and those where the service of the release
    /// does not run, or had to be repaired.
    pub unavailable: u32,
    /// Those of which nothing is known now.
    pub silent: u32,
    /// Machines that the rollout has not touched.
    pub untouched: u32,
    /// The same among them: it tells how many would have gone down without the rollout.
    pub untouched_unavailable: u32,
    /// The series that the query found; 0 if it was not asked.
    pub series: u32,
    /// Probe pods that were to start; 0 if none were.
    pub probes: u32,
    /// Those that did not start in time.
    pub unstarted: u32,
}

impl Evidence {
    /// Machines that have gone wrong.
    #[must_use]
    pub const fn wrong(&self) -> u32 {
        self.failed + self.unavailable
    }
}
