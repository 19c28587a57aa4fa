//! What an operator process knows and decides, turn by turn.

use seaworthy_api::render;
use seaworthy_engine::{RolloutState, World};
use seaworthy_kernel::Timestamp;
use seaworthy_model::effect::Effect;
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::machine::ConditionKind;
use seaworthy_model::report::{self, Subject};

use super::leader::{FleetState, Operator};
use super::machine::judge;
use super::recording::Recording;
use super::{Event, Millis, Occurrence, Reason, Turn, What, millis};
use crate::observers::tally::Tally;
use crate::vocabulary::host_number;

/// The result of a turn of a process.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    /// Which process.
    pub process: u32,
    /// What it knows after the turn.
    pub world: &'a World,
    /// What it decided.
    pub turn: &'a report::Turn,
    /// Machines about which it received news since its last turn as a leader.
    pub touched: &'a [MachineId],
    /// The true numbers of hosts at work, and of hosts that count against the budget.
    pub truth: (u32, u32),
}

/// The least time between two scans of every machine. A wave of grants moves few machines, and the operator looks at most
/// of them right away. Only a scan finds the others, and a rollout has many waves.
const SCAN_EVERY: Millis = 10_000;
/// In large fleets, scans are rarer: the least time grows by this much for each machine.
const SCAN_EVERY_PER_MACHINE: Millis = 1;

impl Operator {
    /// Whether every machine has to be scanned because the fleet's rollouts have changed.
    fn is_scan_due(&mut self, at: Millis, world: &World) -> bool {
        let state = |rollout: &RolloutState| {
            (rollout.record.component, rollout.record.generation, rollout.superseded)
        };
        let rollouts = &world.fleet.rollouts;
        let now = FleetState {
            rollouts: rollouts.iter().map(state).collect(),
            granted: rollouts.iter().map(|rollout| rollout.record.granted.clone()).collect(),
            paused: world.fleet.is_paused(),
        };
        let at_once = (&now.rollouts, now.paused) != (&self.fleet.rollouts, self.fleet.paused);
        self.scan_due |= now != self.fleet;
        self.fleet = now;
        let pause = SCAN_EVERY.max(world.live().saturating_mul(SCAN_EVERY_PER_MACHINE));
        let scans = at_once || (self.scan_due && at.saturating_sub(self.scanned) >= pause);
        if scans {
            self.scan_due = false;
            self.scanned = at;
        }
        scans
    }

    /// The host of a machine at the last news about it.
    fn known_host(&mut self, world: &World, id: MachineId) -> Option<u32> {
        self.hosts.get(id.index()).copied().flatten().or_else(|| self.host_of(world, id))
    }

    /// The host of a machine. It is remembered, because the object may be gone.
    fn host_of(&mut self, world: &World, id: MachineId) -> Option<u32> {
        if self.hosts.len() <= id.index() {
            self.hosts.resize(id.index() + 1, None);
        }
        let known = &mut self.hosts[id.index()];
        if let Some(spec) = world.machine(id).spec() {
            *known = host_number(&spec.connection.address.ip);
        }
        *known
    }
}

impl Recording {
    /// A process has decided.
    pub(super) fn turn(&mut self, now: Timestamp, seen: &Seen<'_>, tally: &Tally) {
        let at = millis(now);
        self.note_turn(at, seen);
        self.note_occasions(at, tally);
        if seen.world.gate(StoreId::HOME).is_none() && seen.world.epoch().0 >= self.operator.epoch {
            self.note_leader(at, seen);
            self.note_fleet(at, seen);
            self.owners.note(&mut self.history, at, seen.world);
            self.policies.note(&mut self.history, at, seen.world);
            self.note_machines(at, seen);
        }
    }

    fn note_turn(&mut self, at: Millis, seen: &Seen<'_>) {
        let (mut writes, mut orders) = (0u16, 0u16);
        for action in &seen.turn.actions {
            if matches!(action.effect, Effect::Host(_)) {
                orders = orders.saturating_add(1);
            } else if action.effect.is_api_write() && !action.effect.is_renewal() {
                writes = writes.saturating_add(1);
            }
        }
        let looked_at = seen.turn.report.reconciled;
        self.history.turns.push(Turn { at, process: seen.process, looked_at, writes, orders });
    }

    fn note_occasions(&mut self, at: Millis, tally: &Tally) {
        for (&what, &count) in tally.occasions() {
            let before = self.operator.occasions.insert(what, count).unwrap_or_default();
            if count > before {
                let times = u32::try_from(count - before).unwrap_or(u32::MAX);
                self.history.occurrences.push(Occurrence { at, what, times });
            }
        }
    }

    fn note_leader(&mut self, at: Millis, seen: &Seen<'_>) {
        if self.operator.process == Some(seen.process) {
            return;
        }
        let epoch = seen.world.epoch().0;
        self.operator.process = Some(seen.process);
        self.operator.epoch = epoch;
        self.operator.hosts.clear();
        self.owners.forget_ids();
        self.policies.forget_ids();
        self.operator.fleet = FleetState::default();
        if let Some(process) = self.history.processes.get_mut(seen.process as usize) {
            process.led = Some((at, epoch));
        }
    }

    fn note_machines(&mut self, at: Millis, seen: &Seen<'_>) {
        if self.operator.is_scan_due(at, seen.world) {
            for (id, _) in seen.world.machines() {
                if let Some(host) = self.operator.known_host(seen.world, id) {
                    self.note_phase(at, seen.world, (id, host));
                }
            }
        }
        let subjects = seen.turn.report.blocked.iter().map(|blocked| blocked.subject);
        let targets =
            seen.turn.actions.iter().filter_map(|action| {
                seen.world.in_flight().get(&action.id).map(|in_flight| in_flight.subject)
            });
        let looked_at = subjects.chain(targets).filter_map(Subject::machine);
        for id in seen.touched.iter().copied().chain(looked_at) {
            self.note_machine(at, seen.world, id);
        }
    }

    fn note_machine(&mut self, at: Millis, world: &World, id: MachineId) {
        let Some(host) = self.operator.host_of(world, id) else { return };
        self.note_phase(at, world, (id, host));
        let Some(object) = &world.machine(id).object else { return };
        let index = host as usize;
        for (place, kind) in ConditionKind::ALL.into_iter().enumerate() {
            let Some(condition) = object.status.condition(kind) else { continue };
            let (truth, reason) = (condition.truth, self.reason(render::reason(condition.reason)));
            let known = &mut self.operator.conditions[index][place];
            if *known != Some((truth, reason)) {
                *known = Some((truth, reason));
                self.history.events.push(Event { at, host, what: What::Condition(kind, truth, reason) });
            }
        }
    }

    fn note_phase(&mut self, at: Millis, world: &World, (id, host): (MachineId, u32)) {
        let index = host as usize;
        if self.operator.phases.len() <= index {
            self.operator.phases.resize(index + 1, Default::default());
            self.operator.claims.resize(index + 1, false);
            self.operator.conditions.resize(index + 1, Default::default());
        }
        let (phase, waits) = judge(world, world.machine(id));
        if self.operator.phases[index] != (phase, waits) {
            self.operator.phases[index] = (phase, waits);
            self.history.events.push(Event { at, host, what: What::Phase(phase, waits) });
        }
        let claims = world.machine(id).claims();
        if self.operator.claims[index] != claims {
            self.operator.claims[index] = claims;
            self.history.events.push(Event { at, host, what: What::Unit(claims) });
        }
    }

    fn reason(&mut self, name: &'static str) -> Reason {
        let reasons = &mut self.history.reasons;
        Reason(*self.operator.reasons.entry(name).or_insert_with(|| {
            reasons.push(name);
            u16::try_from(reasons.len() - 1).unwrap_or(u16::MAX)
        }))
    }
}
