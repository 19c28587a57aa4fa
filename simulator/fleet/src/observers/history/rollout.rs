//! The rollouts of all owners, and the budget that they share.

use seaworthy_engine::{RolloutState, World};
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::machine::Want;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::strategy::Evidence;

use super::gates::{Known, Mark};
use super::operator::Seen;
use super::owners::progressing;
use super::recording::Recording;
use super::{Budget, Millis, Sample, Series};

/// A rollout, as the leading operator counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// What it belongs to, by its number in [`History::charters`](super::History::charters).
    pub charter: usize,
    /// The name of the component.
    pub component: String,
    /// The generation of its owner in which it began.
    pub generation: u64,
    /// The version that was the default before; empty when there was none.
    pub from: String,
    /// The version that is the default now; empty when the component is to be removed.
    pub to: String,
    /// The time at which the rollout was first seen.
    pub since: Millis,
    /// The time at which the rollout was completed.
    pub completed: Option<Millis>,
    /// The number of machines in each state.
    pub counts: Series<Counts>,
    /// The times at which machines were granted their turn, each with their number.
    pub waves: Vec<(Millis, u32)>,
    /// The time at which its owner replaced it, or gave it up.
    pub ended: Option<Millis>,
    /// The batches of its strategy, for display. Empty without a strategy.
    pub batches: Vec<String>,
    /// What happened to its batches, in the order of time.
    pub marks: Vec<Mark>,
}

/// The number of machines in each state of a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Not permitted.
    pub waiting: u32,
    /// Granted, but not started.
    pub reserved: u32,
    /// Permitted, and waits for its turn.
    pub parked: u32,
    /// Permitted, but blocked.
    pub blocked: u32,
    /// An operation is or may be under way.
    pub at_work: u32,
    /// Done.
    pub done: u32,
    /// Failed.
    pub failed: u32,
    /// The limit of failures.
    pub failures_max: u32,
}

impl Sample for Counts {
    fn gravity(&self) -> i64 {
        i64::from(self.at_work) + i64::from(self.failed)
    }
}

impl Recording {
    pub(super) fn note_fleet(&mut self, at: Millis, seen: &Seen<'_>) {
        let world = seen.world;
        let (at_work, used) = seen.truth;
        let budget = Budget { occupied: world.occupied(), limit: world.slots(), at_work, used };
        self.history.budget.push(at, budget);
        let former = std::mem::take(&mut self.open);
        for state in &world.fleet.rollouts {
            let number = self.lane(at, world, state);
            self.open.push(number);
            let (lane, known) = (&mut self.history.rollouts[number], &mut self.courses[number]);
            lane.ended = None;
            count(lane, at, counts(world, state));
            known.follow(&mut lane.marks, at, &state.record);
            if let Some(doubt) = doubt(world, state) {
                known.doubt(&mut lane.marks, at, doubt);
            }
            if lane.completed.is_none() && state.record.completed_at.is_some() {
                lane.completed = Some(at);
            }
        }
        for number in former {
            if !self.open.contains(&number) {
                self.history.rollouts[number].ended = Some(at);
            }
        }
    }

    /// The number of a rollout in the history.
    fn lane(&mut self, at: Millis, world: &World, state: &RolloutState) -> usize {
        let charter = self.owners.number(&mut self.history, world, state.owner);
        let (component, generation) = (world.component_name(state.record.component), state.record.generation);
        let rollouts = &mut self.history.rollouts;
        let known = rollouts.iter().rposition(|lane| {
            (lane.charter, lane.generation, lane.component.as_str()) == (charter, generation, component)
        });
        known.unwrap_or_else(|| {
            let course = state.record.course.as_ref();
            let batches = course.map(|course| &course.strategy.batches[..]).unwrap_or_default();
            rollouts.push(Rollout {
                charter,
                component: component.to_owned(),
                generation,
                from: state.record.from.as_ref().map_or("", |want| wanted(world, want)).to_owned(),
                to: wanted(world, &state.record.to).to_owned(),
                since: at,
                completed: None,
                counts: Series::default(),
                waves: Vec::new(),
                ended: None,
                batches: batches.iter().map(ToString::to_string).collect(),
                marks: Vec::new(),
            });
            self.courses.push(Known::default());
            rollouts.len() - 1
        })
    }
}

/// Adds the number of machines in each state, and a wave if machines were granted their turn.
fn count(lane: &mut Rollout, at: Millis, counts: Counts) {
    let ungranted = |counts: &Counts| counts.waiting + counts.parked;
    let before = lane.counts.points().last().map(|(_, counts)| ungranted(counts));
    let (before, now) = (before.unwrap_or(ungranted(&counts)), ungranted(&counts));
    if before > now {
        lane.waves.push((at, before - now));
    }
    lane.counts.push(at, counts);
}

/// The batch of a rollout whose gate waits for evidence, and what is known, if its owner says so.
fn doubt(world: &World, state: &RolloutState) -> Option<(u32, Evidence)> {
    let charter = world.charter(state.owner)?;
    let told = progressing(&charter.status.conditions)?;
    let Some(FleetDetail::Gate(gate, evidence)) = &told.detail else { return None };
    let is_its = told.reason == FleetReason::GateInconclusive
        && gate.generation == state.record.generation
        && *gate.component == *world.component_name(state.record.component);
    is_its.then_some((gate.batch, *evidence))
}

/// The name of the desired version; empty when there is none.
fn wanted<'a>(world: &'a World, want: &Want) -> &'a str {
    want.version().map_or("", |version| world.version_name(version))
}

fn counts(world: &World, state: &RolloutState) -> Counts {
    let of = state.counts;
    let at_work = of.unresolved.min(of.pending());
    let reserved = of.granted.saturating_sub(at_work);
    let parked = of.eligible;
    let blocked = of.pending().saturating_sub(at_work + reserved + parked);
    Counts {
        waiting: of.waiting,
        reserved,
        parked,
        blocked,
        at_work,
        done: of.done + of.restored,
        failed: of.failed,
        failures_max: world.failures_max(),
    }
}
