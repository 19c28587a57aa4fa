//! What the disruption policies allow on a machine, now.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::id::{MachineId, PolicyId};
use seaworthy_model::policy::Stop;
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::rows::policy::{Place, Places};
use crate::runtime::queue::Priority;
use crate::world::World;
use crate::world::index::limits::DomainUse;

/// What work means to those who use a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It disrupts them.
    Disrupts,
    /// It disrupts them, and takes away what a gate has judged bad: no window is waited for.
    RollsBack,
    /// They are without the machine anyway.
    Serves,
}

impl Work {
    /// What work on a machine means; `rolls_back` if it takes away what a rollout brought.
    #[must_use]
    pub fn on(machine: &Machine, rolls_back: bool) -> Self {
        if machine.is_spared() || !machine.was_set_up() {
            Self::Serves
        } else if rolls_back {
            Self::RollsBack
        } else {
            Self::Disrupts
        }
    }
}

fn blocker(policy: PolicyId, stop: Stop, work: Work) -> Option<Blocker> {
    match (stop, work) {
        (Stop::Paused, _) => Some(Blocker::PolicyPaused { policy }),
        (_, Work::Serves) => None,
        (Stop::Invalid, _) => Some(Blocker::PolicyInvalid { policy }),
        (Stop::Frozen(until), _) => Some(Blocker::Frozen { policy, until }),
        (Stop::OutsideWindow(until), Work::Disrupts) => Some(Blocker::OutsideWindow { policy, until }),
        (Stop::OutsideWindow(_), Work::RollsBack) => None,
    }
}

/// Of several stops the one that lasts longest is told.
fn weight(blocker: &Blocker) -> (u8, Timestamp) {
    if let Blocker::Frozen { until, .. } | Blocker::OutsideWindow { until, .. } = blocker {
        (0, *until)
    } else {
        (u8::from(matches!(blocker, Blocker::PolicyPaused { .. })) + 1, Timestamp::ZERO)
    }
}

impl World {
    /// Why the policies do not let work begin on a machine.
    #[must_use]
    pub fn policy_stop(&self, machine: &Machine, work: Work) -> Option<Blocker> {
        let places = machine.derived.places.as_ref()?;
        let stops = self.policies.iter().zip(places.iter()).filter_map(|((id, policy), place)| {
            let stop = policy.stop.filter(|_| *place != Place::Outside)?;
            blocker(id, stop, work)
        });
        stops.max_by_key(weight)
    }

    /// Why nothing at all is started on a machine: a person has paused the fleet, or a policy that selects the machine.
    #[must_use]
    pub fn halt(&self, machine: &Machine) -> Option<Blocker> {
        if self.fleet.is_paused() {
            return Some(Blocker::Paused);
        }
        self.policy_stop(machine, Work::Serves)
    }

    /// Why the policies stop every rollout: one without a selector is paused, or nobody knows what one says.
    #[must_use]
    pub fn policy_halt(&self) -> Option<Blocker> {
        let stops = self.policies.iter().filter_map(|(policy, row)| match row.stop? {
            Stop::Paused => {
                let is_for_all = row.in_force.as_ref().is_some_and(|spec| spec.is_kill_switch());
                is_for_all.then_some(Blocker::PolicyPaused { policy })
            }
            Stop::Invalid => Some(Blocker::PolicyInvalid { policy }),
            Stop::Frozen(_) | Stop::OutsideWindow(_) => None,
        });
        stops.max_by_key(weight)
    }

    /// What the disruption policies count in each of their failure domains, policy by policy.
    pub fn domain_uses(&self) -> impl Iterator<Item = DomainUse<'_>> {
        self.ledger.limits.uses(self.now)
    }

    /// Why no work may begin on one more machine, besides what was `planned`, as far as its failure domains are concerned.
    /// Who is out of service anyway, or was never set up, takes no room there.
    pub(crate) fn domain_lack(&self, machine: &Machine, planned: &[Places]) -> Option<Blocker> {
        if Work::on(machine, false) == Work::Serves {
            return None;
        }
        self.ledger.limits.lack((machine.id, &machine.derived), planned, self.now)
    }

    /// A change is ordered on a machine.
    pub(crate) fn begins(&mut self, id: MachineId) {
        let row = &self.machines[id];
        self.ledger.limits.begin_late(id, &row.derived, self.now);
    }

    /// A policy is another one now: what each is to the machines is found out anew.
    pub(crate) fn respecify_policies(&mut self) {
        for id in self.machine_ids() {
            let row = &mut self.machines[id];
            self.ledger.leave_domains(&row.derived);
            row.derived.places = None;
        }
        self.ledger.limits.configure(&self.policies);
        self.policies.until = Timestamp::ZERO;
        self.judge_policies(self.policies.length);
        self.touch_machines();
        self.release_stopped();
        self.touch_owners(Priority::Urgent);
    }

    /// Looks at the calendars of the policies, if their answers may have changed.
    pub(crate) fn look_at_calendars(&mut self, config: &Config) {
        if self.policies.is_empty() {
            return;
        }
        let length = if self.policies.is_timed() { self.longest_operation(config) } else { Duration::ZERO };
        if length != self.policies.length || self.now >= self.policies.until {
            self.judge_policies(length);
        }
    }

    fn judge_policies(&mut self, length: Duration) {
        let now = self.now;
        let mut next = Timestamp::MAX;
        let mut changed = Vec::new();
        for (id, policy) in self.policies.iter_mut() {
            let (stop, until) = match &policy.in_force {
                Some(spec) => spec.stop(now, length),
                None => (policy.is_unknown().then_some(Stop::Invalid), Timestamp::MAX),
            };
            next = next.min(until);
            if core::mem::replace(&mut policy.stop, stop) != stop {
                changed.push(id);
            }
        }
        (self.policies.length, self.policies.until) = (length, next);
        if !changed.is_empty() {
            self.release_stopped();
            self.touch_owners(Priority::Urgent);
        }
        for id in changed {
            self.touch(Subject::Policy(id), Priority::Normal);
        }
    }
}
