//! What a gate asks besides the machines, once these have passed: the metrics of the cluster, and whether pods start on some
//! of the machines that were changed last.
//!
//! It is asked once for each gate. As long as there is no answer, the gate stays closed.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::detail::FleetDetail;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::gate_check::{GateCheck, ProbePod, ProbeStart, Query, Silence};
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::report::{Subject, WakeReason};
use seaworthy_model::strategy::{Course, Evidence};

use super::Step;
use super::suspects::is_away;
use crate::domains::draft::Draft;
use crate::rows::fleet::RolloutState;
use crate::rows::inquiry::Inquiry;
use crate::rows::note::RolloutNote;
use crate::rows::set::Owner;
use crate::rows::ticket::{CheckTicket, Ticket};
use crate::world::World;

/// How long an answer may take. Meanwhile nothing is granted to the machines of this owner.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// How often a gate looks whether its probe pods have started.
const LOOKS_AGAIN: Duration = Duration::from_secs(5);

/// What an inquiry has found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing is wrong.
    Nothing,
    /// The gate fails.
    Wrong,
    /// Too little is known: nothing was answered, or one probe pod of several did not start.
    TooLittle,
    /// Answers are on their way.
    Open,
}

impl Step<'_> {
    /// Asks what is still to be asked for the present gate.
    pub(super) fn inquire(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        course: &Course,
    ) -> Found {
        let strategy = &course.strategy;
        if strategy.query.is_none() && strategy.probe_pod.is_none() {
            return Found::Nothing;
        }
        let component = state.record.component;
        let Some(inquiry) = inquiry_of(state, course) else {
            draft.note(RolloutNote::Inquire(self.owner, component));
            draft.wake_at(draft.now, WakeReason::Gate);
            return Found::Open;
        };
        let found = self.found(state, inquiry, course);
        if matches!(found, Found::Nothing | Found::Wrong) {
            return found;
        }
        if draft.now < inquiry.not_before {
            draft.wake_at(inquiry.not_before, WakeReason::Gate);
        } else if found == Found::TooLittle && inquiry.trouble.is_none() {
            // Fresh pods tell whether it was by chance.
            draft.note(RolloutNote::Inquire(self.owner, component));
            draft.wake_at(draft.now, WakeReason::Gate);
        } else {
            match (&strategy.query, &strategy.probe_pod) {
                (Some(query), _) if inquiry.series.is_none() => self.ask_metrics(draft, state, query),
                (_, Some(pod)) => self.probe(draft, (index, state), inquiry, pod),
                (_, None) => {}
            }
        }
        if inquiry.is_in_doubt { Found::TooLittle } else { found }
    }

    fn ask_metrics(self, draft: &mut Draft<'_>, state: &RolloutState, query: &Arc<Query>) {
        let ticket = CheckTicket::Query(state.record.component);
        self.order_check(draft, (self.owner.target(), Fence::None), Effect::Query(Arc::clone(query)), ticket);
    }

    /// Starts the next probe pod, or looks which have started.
    fn probe(
        self,
        draft: &mut Draft<'_>,
        (index, state): (usize, &RolloutState),
        inquiry: &Inquiry,
        pod: &Arc<ProbePod>,
    ) {
        let (component, round) = (state.record.component, inquiry.round(state.key));
        let next = (inquiry.listed_at.is_none() && inquiry.probes() < pod.machines)
            .then(|| self.sample(index, state, pod).into_iter().find(|id| !inquiry.probed.contains(id)));
        if let Some(Some(machine)) = next {
            let start = ProbeStart { round, number: inquiry.probes(), pod: Arc::clone(pod) };
            let place = (Target::Node(machine), Fence::Absent);
            let ticket = CheckTicket::StartProbe(component, machine);
            return self.order_check(draft, place, Effect::StartProbe(Box::new(start)), ticket);
        }
        if inquiry.probed.is_empty() {
            draft.note(RolloutNote::NothingToProbe(self.owner, component));
            return draft.wake_at(draft.now, WakeReason::Gate);
        }
        let place = (self.owner.target(), Fence::None);
        self.order_check(draft, place, Effect::ListProbes(round), CheckTicket::ListProbes(component));
    }

    fn order_check(self, draft: &mut Draft<'_>, place: (Target, Fence), effect: Effect, ticket: CheckTicket) {
        draft.order_within(ANSWERED_WITHIN, place, effect, Ticket::Check(ticket));
    }

    /// The machines that were changed last and whose Nodes are ready: pods start there, or the release is to blame.
    fn sample(self, index: usize, state: &RolloutState, pod: &ProbePod) -> Vec<MachineId> {
        let is_fit = |id: MachineId| {
            let machine = self.world.machine(id);
            let is_ready = machine.node.is_some() && !is_away(machine, state.record.started_at);
            is_ready
                && machine.standing(index).is_updated()
                && self.world.stores.of(Subject::Machine(id)) == StoreId::HOME
        };
        let changed = self.world.machines().filter(|(id, _)| is_fit(*id));
        let mut changed: Vec<(u32, MachineId)> =
            changed.filter_map(|(id, machine)| Some((state.key.rank(machine.uid()?), id))).collect();
        changed.sort_unstable();
        changed.iter().rev().take(pod.machines as usize).map(|(_, id)| *id).collect()
    }

    /// What an inquiry has found so far.
    fn found(self, state: &RolloutState, inquiry: &Inquiry, course: &Course) -> Found {
        let strategy = &course.strategy;
        if inquiry.series.is_some_and(|series| series > 0) {
            return Found::Wrong;
        }
        if inquiry.trouble.is_some() {
            return Found::TooLittle;
        }
        if strategy.query.is_some() && inquiry.series.is_none() {
            return Found::Open;
        }
        let Some(pod) = strategy.probe_pod.as_deref().filter(|_| !inquiry.have_all_started()) else {
            return Found::Nothing;
        };
        if inquiry.listed_at.is_none_or(|at| at < inquiry.created_at + pod.within) {
            return Found::Open;
        }
        // Where the Node has gone down since, that is why.
        let is_fit = |id: &MachineId| !is_away(self.world.machine(*id), state.record.started_at);
        let wrong = u32::try_from(inquiry.without().filter(is_fit).count()).unwrap_or(u32::MAX);
        if wrong > 1 || wrong == inquiry.probes() { Found::Wrong } else { Found::TooLittle }
    }

    /// Why the gate of a rollout knows too little, if the machines themselves have passed.
    pub(super) fn doubt_of_inquiry(
        self,
        state: &RolloutState,
        course: &Course,
        evidence: Evidence,
    ) -> Option<FleetDetail> {
        let inquiry = inquiry_of(state, course)?;
        if self.found(state, inquiry, course) != Found::TooLittle && !inquiry.is_in_doubt {
            return None;
        }
        let name = self.gate_name(&state.record, course);
        Some(match &inquiry.trouble {
            Some((check, why)) => FleetDetail::Unanswered(name, *check, why.clone()),
            None => FleetDetail::Gate(name, with_answers(evidence, state, course)),
        })
    }
}

/// The inquiry for the present gate of a rollout.
fn inquiry_of<'s>(state: &'s RolloutState, course: &Course) -> Option<&'s Inquiry> {
    state.inquiry.as_deref().filter(|inquiry| inquiry.is_for(&state.record, course))
}

/// The evidence of a gate, with what it has asked.
pub(super) fn with_answers(evidence: Evidence, state: &RolloutState, course: &Course) -> Evidence {
    let Some(inquiry) = inquiry_of(state, course) else { return evidence };
    Evidence {
        series: inquiry.series.unwrap_or_default(),
        probes: inquiry.probes(),
        unstarted: inquiry.unstarted(),
        ..evidence
    }
}

/// Applies a note: an inquiry begins for the present gate. What the metrics have said stays.
pub(super) fn begin(world: &mut World, index: usize) {
    let now = world.now;
    let state = &mut world.fleet.rollouts[index];
    let Some(course) = state.record.course.as_ref() else { return };
    let mut inquiry = Inquiry::new(&state.record, course, now);
    if let Some(earlier) = inquiry_of(state, course) {
        (inquiry.series, inquiry.is_in_doubt) = (earlier.series, true);
    }
    state.inquiry = Some(Box::new(inquiry));
}

/// Applies a note: no changed machine has a Node that is ready.
pub(super) fn has_nothing_to_probe(world: &mut World, index: usize) {
    let now = world.now;
    if let Some(inquiry) = world.fleet.rollouts[index].inquiry.as_deref_mut() {
        inquiry.fails(GateCheck::ProbePods, Silence::NothingToProbe, now);
    }
}

/// Something was answered, or not.
pub(super) fn settle(world: &mut World, owner: Owner, ticket: CheckTicket, outcome: &Outcome) {
    let now = world.now;
    let Some(index) = world.rollout_of(owner, ticket.component()) else { return };
    let state = &mut world.fleet.rollouts[index];
    let Some(inquiry) = state.inquiry.as_deref_mut() else { return };
    match (ticket, outcome) {
        (CheckTicket::Query(_), Outcome::Done(Receipt::Series(series))) => {
            (inquiry.series, inquiry.trouble) = (Some(*series), None);
        }
        // A Job that exists is ours, for no other round has its name: the reply was lost.
        (CheckTicket::StartProbe(_, machine), Outcome::Done(_) | Outcome::Stale) => {
            inquiry.probed.push(machine);
            (inquiry.created_at, inquiry.trouble) = (now, None);
        }
        (CheckTicket::ListProbes(_), Outcome::Done(Receipt::Probes(started))) => {
            inquiry.started = started.to_vec();
            (inquiry.listed_at, inquiry.trouble) = (Some(now), None);
            if inquiry.unstarted() > 0 {
                inquiry.not_before = now + LOOKS_AGAIN;
            }
        }
        // The next try shows what became of it.
        (CheckTicket::StartProbe(..), Outcome::Unknown) => inquiry.not_before = now + LOOKS_AGAIN,
        (ticket, outcome) => inquiry.fails(ticket.check(), why(outcome), now),
    }
}

/// Of the reason why something was not answered, so many characters are told.
const TOLD_MAX: usize = 200;

/// Why there is no answer.
fn why(outcome: &Outcome) -> Silence {
    match outcome {
        Outcome::Retryable(cause) | Outcome::Refused(cause) => {
            let printed = cause.detail.chars().filter(|letter| !letter.is_control());
            let told: String = printed.take(TOLD_MAX).collect();
            Silence::Told(told.trim().into())
        }
        Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => Silence::NoAnswer,
    }
}
