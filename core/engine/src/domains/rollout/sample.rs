//! What a rollout with a strategy asks before its first batch: whether some of its machines can fetch the artefact. Nothing
//! is disrupted for an artefact that is not to be had.
//!
//! If most of them cannot, the rollout stands still, and they are asked again. If nobody can say, it begins.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::component::Architecture;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::report::{Blocker, Subject, WakeReason};

use super::standstill::{self, Standstill};
use super::{Plan, Step};
use crate::domains::draft::Draft;
use crate::rows::fleet::RolloutState;
use crate::rows::note::RolloutNote;
use crate::rows::sample::{Known, Sample};
use crate::runtime::queue::Priority;
use crate::world::World;
use crate::world::index::policies::Work;

/// So many machines are asked at once.
const ASKED: usize = 5;

/// When so many could not say it, nobody can.
const ASKED_MAX: usize = 20;

/// How often a rollout looks whether answers have come that were to come.
const LOOKS_AGAIN: Duration = Duration::from_secs(30);

/// Among so many machines those are chosen that are asked.
const CHOSEN_FROM: usize = 256;

/// Who may be asked.
#[derive(Debug, Default)]
struct Candidates {
    /// In the order of their ranks.
    machines: Vec<MachineId>,
    /// Why a policy keeps back another one.
    kept_back: Option<Blocker>,
}

impl Step<'_> {
    /// Whether the first batch of a rollout may be permitted, as far as its artefact is concerned. Asks what is to be asked.
    pub(super) fn may_begin(self, draft: &mut Draft<'_>, state: &RolloutState, plan: &mut Plan) -> bool {
        if !state.is_before_first_batch() || self.is_overridden(&state.record) || !self.has_artefact(state) {
            return true;
        }
        let sample = state.present_sample();
        let is_in_trouble = sample.is_some_and(Sample::is_in_trouble);
        match (sample.map_or(Known::Nothing, Sample::known), sample) {
            (Known::Available, _) => return true,
            (Known::Open, Some(sample)) => self.wait_for_answers(draft, state, sample),
            (Known::Unavailable, Some(sample)) => self.ask_again(draft, state, sample),
            (Known::Nothing | Known::Open | Known::Unavailable, _) => {
                let others = self.others(state, sample);
                if !others.machines.is_empty() {
                    self.ask_machines(draft, state, &others.machines);
                } else if let Some(sample) = sample.filter(|_| is_in_trouble) {
                    self.ask_again(draft, state, sample);
                } else if let Some(blocker) = others.kept_back {
                    self.stay_back(draft, state, blocker, plan);
                    return false;
                } else {
                    return true;
                }
            }
        }
        if is_in_trouble {
            plan.standstill = Standstill::Stopped(FleetReason::ArtefactUnavailable);
            draft.wait(Blocker::ArtefactUnavailable);
        } else {
            draft.wait(Blocker::AwaitingArtefact);
        }
        false
    }

    /// A policy keeps back everybody who could be asked, also who was to be asked when it began.
    fn stay_back(self, draft: &mut Draft<'_>, state: &RolloutState, blocker: Blocker, plan: &mut Plan) {
        if state.present_sample().is_some_and(|sample| sample.asked().next().is_some()) {
            draft.note(RolloutNote::Sample(self.owner, state.record.component));
        }
        let reason = standstill::reason_of(blocker);
        plan.standstill = reason.map_or(plan.standstill, Standstill::Stopped);
        draft.wait(blocker);
    }

    /// Whether there is anything to fetch for a rollout.
    fn has_artefact(self, state: &RolloutState) -> bool {
        let version = state.record.target().version().and_then(|version| self.world.version_spec(version));
        version.is_some_and(|version| !version.artefacts.is_empty())
    }

    /// Asks these machines as well.
    fn ask_machines(self, draft: &mut Draft<'_>, state: &RolloutState, machines: &[MachineId]) {
        let component = state.record.component;
        if state.present_sample().is_none() {
            draft.note(RolloutNote::Sample(self.owner, component));
        }
        for id in machines {
            draft.note(RolloutNote::Ask(self.owner, component, *id));
        }
        draft.wake_at(draft.now, WakeReason::Gate);
    }

    /// Waits for answers. A machine that could not be asked in time, or must not be any more, has none.
    fn wait_for_answers(self, draft: &mut Draft<'_>, state: &RolloutState, sample: &Sample) {
        let (component, until) = (state.record.component, sample.asks_until());
        let is_over = until <= draft.now;
        draft.wake_at(if is_over { draft.now + LOOKS_AGAIN } else { until }, WakeReason::Gate);
        for id in sample.awaited().filter(|id| !self.world.is_fetching(*id)) {
            if until + LOOKS_AGAIN <= draft.now {
                // The rollout itself was kept from asking, as by a pause.
                draft.note(RolloutNote::Sample(self.owner, component));
                return draft.wake_at(draft.now, WakeReason::Gate);
            }
            if is_over || !self.world.may_fetch(self.world.machine(id), state) {
                draft.note(RolloutNote::GiveUpAsking(self.owner, component, id));
                draft.wake_at(draft.now, WakeReason::Gate);
            }
        }
    }

    /// Begins another round, once it is time for that.
    fn ask_again(self, draft: &mut Draft<'_>, state: &RolloutState, sample: &Sample) {
        let at = sample.asks_again_at().max(draft.now);
        draft.wake_at(at, WakeReason::Gate);
        if at == draft.now {
            draft.note(RolloutNote::Sample(self.owner, state.record.component));
        }
    }

    /// The machines that are asked next, if nobody who was asked could say anything: the first ones, of different failure
    /// domains, and one of each architecture.
    fn others(self, state: &RolloutState, sample: Option<&Sample>) -> Candidates {
        let mut candidates = Candidates::default();
        let asked: Vec<MachineId> = sample.into_iter().flat_map(Sample::asked).collect();
        if asked.len() >= ASKED_MAX {
            return candidates;
        }
        for (looked_at, (_, id)) in state.waiting.iter().enumerate() {
            if looked_at >= CHOSEN_FROM && !candidates.machines.is_empty() {
                break;
            }
            let machine = self.world.machine(*id);
            let halt = self.world.halt(machine);
            let stop = halt.or_else(|| self.world.policy_stop(machine, Work::on(machine, false)));
            let is_known = if stop.is_some() { candidates.kept_back.is_some() } else { asked.contains(id) };
            if is_known || !self.world.can_fetch(machine, state) {
                continue;
            }
            match stop {
                Some(_) => candidates.kept_back = stop,
                None => candidates.machines.push(*id),
            }
        }
        candidates.machines = choose(self.world, &candidates.machines);
        candidates
    }

    /// What the machines have said that could not fetch the artefact of a rollout.
    pub(super) fn unfetched(self) -> Option<FleetDetail> {
        self.rollouts().find_map(|(_, state)| {
            let trouble = state.present_sample().filter(|_| state.is_before_first_batch())?.trouble()?;
            let version = self.world.name_of_version(state.record.target().version()?);
            let (failed, asked, why) = (trouble.failed, trouble.asked, trouble.why);
            Some(FleetDetail::Unfetched { version, failed, asked, why })
        })
    }
}

/// A few of these machines: the first of each architecture, then the first of each failure domain, then whoever is next.
fn choose(world: &World, machines: &[MachineId]) -> Vec<MachineId> {
    let architecture = |id: MachineId| world.machine(id).architecture();
    let domain = |id: MachineId| {
        let address = world.machine(id).spec().map(|spec| &spec.connection.address);
        address.map(|address| (&address.idc, &address.rack))
    };
    let of_sort = |sort: Architecture| machines.iter().copied().find(|id| architecture(*id) == Some(sort));
    let mut chosen: Vec<MachineId> = Architecture::ALL.into_iter().filter_map(of_sort).collect();
    for &id in machines {
        if chosen.len() < ASKED && !chosen.iter().any(|other| domain(*other) == domain(id)) {
            chosen.push(id);
        }
    }
    let left = machines.iter().filter(|id| !chosen.contains(id));
    let left: Vec<MachineId> = left.copied().take(ASKED.saturating_sub(chosen.len())).collect();
    chosen.extend(left);
    chosen
}

/// Applies a note: a round begins, in which nobody was asked yet.
pub(super) fn begin(world: &mut World, index: usize) {
    let now = world.now;
    let state = &mut world.fleet.rollouts[index];
    let RolloutState { record, sample, .. } = state;
    match sample.as_deref_mut().filter(|sample| sample.is_for(record)) {
        Some(sample) => sample.begin_anew(now),
        None => *sample = Some(Box::new(Sample::new(record, now))),
    }
}

/// Applies a note: a machine is to be asked.
pub(super) fn ask(world: &mut World, index: usize, machine: MachineId) {
    let now = world.now;
    if let Some(sample) = world.fleet.rollouts[index].sample.as_deref_mut() {
        sample.ask(machine, now);
        world.touch(Subject::Machine(machine), Priority::Normal);
    }
}

/// Applies a note: a machine cannot be asked any more.
pub(super) fn give_up(world: &mut World, index: usize, machine: MachineId) {
    let now = world.now;
    if let Some(sample) = world.fleet.rollouts[index].sample.as_deref_mut() {
        sample.give_up(machine, now);
    }
}
