//! What follows from the rows: the state of each machine in each rollout, what it claims of the budget, and the counters
//! over all of them. Kept incrementally: a change of a row changes the counters by the difference.

use seaworthy_model::id::{MachineId, Uid};
use seaworthy_model::machine::Want;
use seaworthy_model::report::Blocker;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::standing::{Derived, Standing, Standings};
use crate::runtime::queue::Priority;
use crate::world::World;

impl World {
    /// Recomputes what follows from a row, and changes the counters by the difference. While lists are in flight
    /// nothing is decided, and this does nothing: their completion recomputes every row.
    pub(crate) fn refresh(&mut self, id: MachineId) {
        if self.stores.home.is_listing() {
            return;
        }
        self.refresh_node(id);
        let derived = self.derive(id);
        let row = &mut self.machines[id];
        if !derived.unresolved {
            row.spared = Some(derived.spared);
            if !derived.lost {
                row.unavailable_before = row.unavailable_since().is_some();
            }
        }
        // A grant ends when the machine cannot be worked on, unless something may be under way there.
        let is_at_rest = !derived.unresolved && !derived.lost;
        if is_at_rest {
            let rollouts = self.fleet.rollouts.iter().zip(derived.standings.iter());
            for (rollout, _) in rollouts.filter(|(_, standing)| *standing == Standing::Held) {
                row.yield_grant(rollout.record.component);
            }
        }
        if row.derived == derived {
            return;
        }
        let failures_before = self.failures_max();
        let before = core::mem::replace(&mut self.machines[id].derived, derived);
        let derived = &self.machines[id].derived;
        if derived.unrecorded {
            self.unrecorded.insert(id);
        } else if before.unrecorded {
            self.unrecorded.remove(&id);
        }
        self.ledger.uncount(&before);
        self.ledger.count(derived);
        if derived.begins && !before.begins && !self.fleet.recalls {
            self.ledger.limits.begin(id, derived, self.now);
        } else if before.begins && !derived.begins {
            self.ledger.limits.end(id);
        }
        let is_freed = (before.disrupts || before.foreign) && !derived.disrupts && !derived.foreign;
        self.refresh_rollouts(id, &before, failures_before);
        if is_freed {
            self.release_from_domains();
        }
        self.weigh_breaker();
        self.touch_owners(Priority::Urgent);
    }

    /// Counts a changed row in each rollout.
    fn refresh_rollouts(&mut self, id: MachineId, before: &Derived, failures_before: u32) {
        let failures_max = self.failures_max();
        let row = &self.machines[id];
        let (derived, uid) = (&row.derived, row.uid());
        let is_hindered = row.blocked.is_some_and(Blocker::may_hinder_others);
        // A row usually changes state in one rollout only: the others are skipped.
        let is_alike = failures_max == failures_before
            && (before.uid, before.unresolved, before.lost) == (uid, derived.unresolved, derived.lost)
            && (before.out_of_service, before.deferral) == (derived.out_of_service, derived.deferral);
        let mut opens = false;
        for (index, rollout) in self.fleet.rollouts.iter_mut().enumerate() {
            let old = before.standings.get(index).unwrap_or_default();
            let new = derived.standings.get(index).unwrap_or_default();
            if is_alike && old == new {
                continue;
            }
            let had_room = rollout.counts.room(failures_before) > 0;
            rollout.counts.uncount(old, before);
            rollout.counts.count(new, derived);
            if is_hindered && (old, new) == (Standing::Granted, Standing::Held) {
                rollout.hindered_at = Some(self.now);
            }
            opens |= !had_room && rollout.counts.room(failures_max) > 0;
            // A new incarnation has another rank.
            if old != new || before.uid != uid {
                rollout.leave(id, before.uid, old);
                let Some(uid) = uid.filter(|_| new.is_unfinished()) else { continue };
                let place = (rollout.key.rank(uid), id);
                match self.gathered.get_mut(index).filter(|_| !new.is_granted()) {
                    Some(gathered) => gathered.push(place),
                    None => rollout.enter(place, new),
                }
            }
        }
        if opens {
            self.release_stopped();
        }
    }

    /// What follows from a row.
    pub(crate) fn derive(&self, id: MachineId) -> Derived {
        let machine = self.machine(id);
        let rollouts = &self.fleet.rollouts;
        let standings: Standings = rollouts.iter().map(|rollout| self.stand(machine, rollout)).collect();
        let (live, uid) = (machine.is_live(), machine.uid());
        let is_inherited = machine.host.facts.is_none()
            && uid.is_some_and(|uid| {
                let mut each = rollouts.iter().zip(standings.iter());
                each.any(|(rollout, standing)| rollout.is_inherited(uid, standing))
            });
        let unresolved = machine.is_busy() || machine.may_be_busy(is_inherited);
        let lost = !unresolved && machine.may_be_lost(is_inherited);
        let stands = |sought: Standing| standings.iter().any(|standing| standing == sought);
        let out_of_service = match machine.node {
            Some(_) => machine.lasts_unready,
            None => self.makes_nodes && self.is_to_become_node(machine, &standings),
        };
        let is_deferred = !unresolved && !lost && standings.iter().any(Standing::is_deferred);
        let takes_place = unresolved || machine.holds_node() || stands(Standing::Granted);
        let spared = match machine.spared {
            spared if unresolved => spared,
            // Who has a unit keeps it: the repair lane may be full.
            Some(false) if takes_place => Some(false),
            _ => Some(out_of_service),
        };
        let failed = stands(Standing::Failed);
        let claims = failed || (takes_place && spared != Some(true));
        let disrupts = claims && machine.was_set_up();
        let unavailable_since = machine.unavailable_since().filter(|_| live);
        let touching = rollouts.iter().zip(standings.iter());
        // What a release took down does not keep its rollback from taking it away.
        let touching = touching.filter(|(rollout, standing)| {
            rollout.is_active() && !rollout.record.is_reverted() && standing.is_updated()
        });
        let touched_since = touching.map(|(rollout, _)| rollout.record.started_at).min();
        let fell = touched_since.zip(unavailable_since).is_some_and(|(start, since)| since > start)
            && !(self.makes_nodes && self.is_to_become_node(machine, &standings));
        let known = live && machine.was_set_up();
        let is_sick =
            known && unavailable_since.is_some() && !failed && (!unresolved || machine.unavailable_before);
        Derived {
            uid,
            live,
            known,
            claims,
            failed,
            unrecorded: live && machine.unrecorded_failure().is_some(),
            laned: takes_place && spared != Some(false),
            out_of_service,
            spared: spared == Some(true),
            fell: fell && !claims,
            touched: touched_since.is_some(),
            untouched: live && touched_since.is_none() && (!lost || machine.unavailable_before),
            sick: is_sick,
            unresolved,
            lost,
            deferral: is_deferred.then(|| machine.deferral_reason()),
            disrupts,
            begins: disrupts && (machine.is_busy() || machine.holds_node() || stands(Standing::Granted)),
            foreign: !self.ledger.limits.is_empty()
                && !claims
                && (is_sick || machine.is_cordoned_by_others()),
            places: self.ledger.limits.places_of(machine),
            standings,
        }
    }

    /// Whether a machine without a Node has to get the component that makes it one, and does not have it yet.
    fn is_to_become_node(&self, machine: &Machine, standings: &Standings) -> bool {
        let is_of_node = |want: &Want| {
            let spec = want.version().and_then(|version| self.version_spec(version));
            spec.is_some_and(|spec| spec.node_identity.is_some())
        };
        let rollouts = self.fleet.rollouts.iter().zip(standings.iter());
        let unfinished = rollouts.filter(|(_, standing)| standing.is_unfinished());
        let defaults = unfinished.map(|(rollout, _)| (rollout.record.component, rollout.record.target()));
        let pins = machine.spec().into_iter().flat_map(|spec| &spec.pins);
        let mut wants = defaults.chain(pins.map(|pin| (pin.component, &pin.want)));
        wants.any(|(component, want)| is_of_node(want) && machine.installed(component).is_none())
    }

    fn stand(&self, machine: &Machine, rollout: &RolloutState) -> Standing {
        let component = rollout.record.component;
        let (Some(uid), Some(spec)) = (machine.uid(), machine.spec()) else { return Standing::Outside };
        let is_pinned = || spec.pins.iter().any(|pin| pin.component == component);
        if !machine.is_live() || self.governor(machine, component) != rollout.owner || is_pinned() {
            return Standing::Outside;
        }
        let wanted = match rollout.prepared_for(machine) {
            Some(release) => Ok(Some(release.id)),
            None => {
                let wanted = self.wanted(machine, component, rollout.record.target());
                wanted.map(|wanted| wanted.map(|release| release.id))
            }
        };
        // It counts whatever the host says now of what it is. A failed release that could not be rolled back is
        // installed, even intact, and counts as well.
        let failed = machine.failed_release(component).map(|failed| failed.release);
        let is_of_it =
            |failed| rollout.brings(failed) || matches!(wanted, Ok(Some(wanted)) if wanted == failed);
        if !rollout.superseded && failed.is_some_and(is_of_it) {
            return Standing::Failed;
        }
        // What the host has to tell first does not keep it from its turn.
        let Ok(wanted) = wanted else {
            return self.stand_unfinished((machine, machine.host.facts.is_none()), rollout, uid);
        };
        let installed = machine.installed(component).map(|installed| installed.release);
        // A release is installed before it is probed: the machine is not done until the host reports the result.
        if installed == wanted && !machine.is_changing(component) {
            return if failed.is_some() { Standing::Restored } else { Standing::Done };
        }
        self.stand_unfinished((machine, true), rollout, uid)
    }

    /// On how many machines the release of a rollout has failed. A superseded rollout counts too.
    pub(crate) fn failed_on(&self, rollout: &RolloutState) -> u32 {
        let component = rollout.record.component;
        let failed = self.machines().filter(|(_, machine)| {
            machine.failed_release(component).is_some_and(|failed| {
                let wanted = self.wanted(machine, component, rollout.record.target());
                let is_wanted =
                    wanted.is_ok_and(|wanted| wanted.is_some_and(|wanted| wanted.id == failed.release));
                (is_wanted || rollout.brings(failed.release))
                    && self.stand(machine, rollout) != Standing::Outside
            })
        });
        u32::try_from(failed.count()).unwrap_or(u32::MAX)
    }

    /// The state of a machine that does not have the release. Without a release for it, it cannot be worked on.
    fn stand_unfinished(
        &self,
        (machine, has_release): (&Machine, bool),
        rollout: &RolloutState,
        uid: Uid,
    ) -> Standing {
        let rank = rollout.key.rank(uid);
        let is_granted = rollout.grants(rank);
        let is_stopped = rollout.superseded || self.fleet.is_paused() || self.is_owner_paused(rollout.owner);
        if !rollout.admits(rank) {
            Standing::Waiting
        } else if !has_release || !machine.is_workable(rollout.record.component) || (is_granted && is_stopped)
        {
            if is_granted { Standing::Held } else { Standing::Deferred }
        } else if is_granted && Self::may_use_grant(machine, rollout) {
            Standing::Granted
        } else {
            Standing::Eligible
        }
    }

    /// Whether a machine that the record lists has not given its grant back. One that was given up and is found at work for
    /// the rollout has it again: the release may still fail there.
    fn may_use_grant(machine: &Machine, rollout: &RolloutState) -> bool {
        let component = rollout.record.component;
        !machine.yielded.contains(&component) || (machine.is_busy() && machine.is_changing(component))
    }

    /// Whether the kept result of a row is what follows from it now. For checks: it costs a derivation.
    #[must_use]
    pub fn is_current(&self, id: MachineId) -> bool {
        self.machine(id).derived == self.derive(id)
    }
}
