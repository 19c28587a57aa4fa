//! Who is granted a turn next, and when a wave of grants is worth a write.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::policy::Places;
use crate::rows::standing::Standing;
use crate::world::World;
use crate::world::index::policies::Work;

/// A wave is written when it is at least one part in this many of the whole budget, so that a rollout of a large fleet
/// costs a few dozen writes and not one per machine.
const WAVE_PART: u32 = 4;

/// How long ago the last wave was granted, as far as the next one depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// A wave was granted just now. Machines that become eligible one after the other would cost a write each.
    Follows,
    /// No wave was granted lately: a small wave is worth a write if it is for all who could be granted.
    Starts,
    /// A small wave has waited for long enough.
    Waited,
}

/// The next wave of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wave {
    /// Grant these machines their turn; never empty.
    Grant(Vec<Pick>),
    /// There is room, but for so few machines that it is worth waiting a little for more.
    TooSmall,
    /// There is no room in the budget, nor in the repair lane for machines that are out of service.
    NoUnit,
    /// As many machines are at work as the record can list: so many.
    Listed(u32),
    /// So many machines are at work that all of them together may already exceed `maxFailures`.
    NoFailureLeft,
    /// Nobody could be granted.
    Nobody,
}

/// A machine that is granted next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) rank: u32,
    pub(super) id: MachineId,
}

/// What is left of the budget while one decision goes through the rollouts.
#[derive(Clone, Debug)]
pub(super) struct Room {
    units: u32,
    lane: u32,
    /// What the disruption policies are to the machines that were picked.
    picked: Vec<Places>,
    /// The machines that were picked for changes that need a drain: other changes may share it.
    drained: BTreeSet<MachineId>,
    /// When there is room again for the first of those for whom too much work began lately.
    until: Option<Timestamp>,
    /// Why a policy has kept back a machine that there is a unit for.
    kept_back: Option<Blocker>,
}

impl Room {
    /// What is free. Machines that wait for nothing but a unit go first: they are repaired or removed, or a person has
    /// changed that very machine.
    pub(super) fn of(world: &World) -> Self {
        let (slots, taken) = (world.slots(), world.occupied() + world.waiting());
        Self {
            units: slots.saturating_sub(taken),
            lane: slots.saturating_sub(world.laned()),
            picked: Vec::new(),
            drained: BTreeSet::new(),
            until: None,
            kept_back: None,
        }
    }

    /// What the disruption policies are to the machines that were picked.
    pub(super) fn picked(&self) -> &[Places] {
        &self.picked
    }

    /// Why a policy has kept back a machine that there is a unit for, since this was last asked.
    pub(super) const fn take_kept_back(&mut self) -> Option<Blocker> {
        self.kept_back.take()
    }

    /// When there may be more room, without anything ending.
    pub(super) const fn more_at(&self) -> Option<Timestamp> {
        self.until
    }

    /// Whether nothing is left, also for machines that are out of service anyway.
    const fn is_exhausted(&self, idle: u32) -> bool {
        self.units == 0 && (self.lane == 0 || idle == 0)
    }

    /// How many machines there is room for, if so many of the candidates are out of service.
    fn free(&self, idle: u32) -> u32 {
        self.units.saturating_add(self.lane.min(idle))
    }

    /// Takes what a machine costs; false if that is not left. A machine that has its place already costs no unit; one that
    /// is out of service needs a place in the repair lane, also if it keeps a unit because a release failed there. What a
    /// predecessor may have begun is a place, and no leave to begin more in the same failure domain. The second of two
    /// machines with equal ranks is taken in any case: a grant cannot tell them apart.
    fn take(&mut self, world: &World, machine: &Machine, is_forced: bool) -> bool {
        if self.drained.contains(&machine.id) {
            return true;
        }
        let has_place = if machine.is_spared() { machine.is_laned() } else { machine.claims() };
        let left = if machine.is_spared() { &mut self.lane } else { &mut self.units };
        if !is_forced {
            if *left == 0 && !has_place {
                return false;
            }
            if let Some(lack) = world.domain_lack(machine, &self.picked) {
                if let Blocker::RateLimit { until, .. } = lack {
                    self.until = Some(self.until.map_or(until, |other| other.min(until)));
                }
                self.kept_back.get_or_insert(lack);
                return false;
            }
        }
        *left = left.saturating_sub(u32::from(!has_place));
        // Who has begun was counted then.
        if Work::on(machine, false) != Work::Serves && !machine.derived.begins {
            self.picked.extend(machine.places());
        }
        true
    }
}

/// What a rollout may grant next, and to whom: permitted machines in the order of their ranks, those first whose Nodes are
/// drained anyway. A machine whose failure domain is full is passed over; it delays nobody.
pub(super) fn next_wave(
    world: &World,
    (index, state): (usize, &RolloutState),
    record: &Rollout,
    room: &mut Room,
    pace: Pace,
) -> Wave {
    let counts = &state.counts;
    let is_raised = record.admitted_below > state.record.admitted_below;
    let newly_permitted = if is_raised { counts.waiting } else { 0 };
    let candidates = state.grantable() + newly_permitted;
    let idle = counts.idle + newly_permitted;
    let listed = u32::try_from(Rollout::GRANTS_MAX).unwrap_or(u32::MAX);
    let unlisted = listed.saturating_sub(counts.at_work() - counts.lost);
    let most = counts.room(world.failures_max()).min(unlisted);
    if candidates == 0 {
        return Wave::Nobody;
    } else if counts.room(world.failures_max()) == 0 {
        return Wave::NoFailureLeft;
    }
    let shared = world.shared_drains((index, state), record, &room.drained);
    let free = room.free(idle).saturating_add(u32::try_from(shared.len()).unwrap_or(u32::MAX));
    if unlisted == 0 {
        return Wave::Listed(listed);
    } else if free == 0 {
        return Wave::NoUnit;
    }
    let full = (world.slots() / WAVE_PART).max(1);
    let worth = if pace == Pace::Follows { full } else { full.min(candidates) };
    let is_small = most.min(free).min(candidates) < worth;
    if is_small && counts.at_work() > 0 && pace != Pace::Waited {
        return Wave::TooSmall;
    }
    let picks = pick(world, (index, state), (record, &shared), room, (most, idle));
    match picks.is_empty() {
        false => Wave::Grant(picks),
        true if room.units == 0 || (room.lane == 0 && idle > 0) => Wave::NoUnit,
        true => Wave::Nobody,
    }
}

fn pick(
    world: &World,
    (index, state): (usize, &RolloutState),
    (record, shared): (&Rollout, &[u32]),
    room: &mut Room,
    (most, idle): (u32, u32),
) -> Vec<Pick> {
    let mut picks: Vec<Pick> = Vec::new();
    let mut left = state.left_of_batch();
    let below = (record.admitted_below, MachineId(0));
    let is_shared = |rank: &u32| shared.binary_search(rank).is_ok();
    let of_rank = |rank: &u32| state.waiting.range((*rank, MachineId(0))..=(*rank, MachineId(u32::MAX)));
    let rest = state.waiting.range(..below).filter(|(rank, _)| !is_shared(rank));
    for &(rank, id) in shared.iter().flat_map(of_rank).chain(rest) {
        let machine = world.machine(id);
        let is_candidate = match machine.standing(index) {
            Standing::Eligible => true,
            Standing::Waiting => machine.is_workable(record.component),
            Standing::Outside
            | Standing::Granted
            | Standing::Held
            | Standing::Deferred
            | Standing::Done
            | Standing::Restored
            | Standing::Failed => false,
        };
        // The breaker stops what disrupts, except the way back: what it takes away may be why machines are unavailable. Nothing
        // can be disrupted on a machine that is out of service, or was never set up.
        let disrupts = || machine.was_set_up() && !machine.is_spared() && !record.goes_back();
        let is_of_batch = machine.derived.out_of_service || left > 0;
        if !is_candidate || !is_of_batch || (world.breaker().is_some() && disrupts()) {
            continue;
        }
        if machine.is_drain_held_up() && world.is_drained_for(state, machine) {
            continue;
        }
        let stop = world.policy_stop(machine, Work::on(machine, record.goes_back()));
        let stop = stop.or_else(|| world.too_disruptive(state, machine));
        if let Some(stop) = stop.or_else(|| world.unconfirmed_mistake(state, machine)) {
            room.kept_back.get_or_insert(stop);
            continue;
        }
        let is_equal = picks.last().is_some_and(|last| last.rank == rank);
        if !is_equal && picks.len() >= most as usize {
            break;
        }
        if room.take(world, machine, is_equal) {
            picks.push(Pick { rank, id });
            left = left.saturating_sub(u32::from(!machine.derived.out_of_service));
            if world.is_drained_for(state, machine) {
                room.drained.insert(id);
            }
        } else if room.is_exhausted(idle) && !is_shared(&rank) {
            break;
        }
    }
    picks
}

/// The ranks that stay granted: of machines that may start, or are or may be at work. Who is known to have ended is
/// dropped, unless it failed and its status does not show that yet: a new operator has to count that failure.
pub(super) fn kept(world: &World, (index, state): (usize, &RolloutState)) -> Vec<u32> {
    let stays = |id: MachineId| {
        let machine = world.machine(id);
        machine.standing(index) == Standing::Granted || machine.is_unresolved() || machine.is_lost()
    };
    let holders = state.holders.iter().filter(|(_, id)| stays(*id)).map(|(rank, _)| *rank);
    let failed = world.unrecorded_failures().filter_map(|machine| Some(state.key.rank(machine.uid()?)));
    let mut ranks: Vec<u32> = holders.chain(failed.filter(|rank| state.grants(*rank))).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The granted ranks of the machines on which something is or may be under way.
pub(super) fn at_work(world: &World, state: &RolloutState) -> Vec<u32> {
    let holders = state.holders.iter().filter(|(_, id)| world.machine(*id).is_unresolved());
    let mut ranks: Vec<u32> = holders.map(|(rank, _)| *rank).collect();
    ranks.dedup();
    ranks
}

/// The ranks of the machines that an operator without grants may have set to work: `None` if there are too many for a
/// record.
pub(super) fn at_work_without_grants(world: &World, state: &RolloutState) -> Option<Vec<u32>> {
    let below = (state.record.admitted_below, MachineId(0));
    let open = state.waiting.range(..below).filter(|(_, id)| world.machine(*id).is_unresolved());
    let mut ranks: Vec<u32> = open.map(|(rank, _)| *rank).take(Rollout::GRANTS_MAX + 1).collect();
    ranks.dedup();
    (ranks.len() <= Rollout::GRANTS_MAX).then_some(ranks)
}
