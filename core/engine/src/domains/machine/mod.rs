//! The life of a machine: import, install, upgrade, repair, uninstall; unreachable and back again.
//!
//! One step per reconcile, and always the same questions in the same order: is something under way, may we act at all,
//! is there something to tell, do we know the host, does it differ from what it should be, may we change it now.

mod change;
mod contact;
mod contest;
mod identity;
pub(crate) mod node;
mod order;
mod status;
mod uninstall;

use alloc::sync::Arc;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::config::Config;
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::Target;
use seaworthy_model::host::Owner;
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::{MachineObject, Reason};
use seaworthy_model::report::{Blocker, WakeReason};

use crate::rows::machine::Machine;
use crate::rows::trouble::Trouble;
use crate::runtime::draft::{Draft, HostWork, Note};
use crate::world::World;
use status::Verdict;

pub(super) fn reconcile(world: &World, id: MachineId, draft: &mut Draft<'_>) {
    let machine = world.machine(id);
    let Some(object) = machine.object.as_ref() else { return };
    if machine.action.is_some() {
        return draft.wait(Blocker::InFlight);
    }
    if machine.written.is_some() {
        return draft.wait(Blocker::AwaitingOwnWrite);
    }
    if draft.now < machine.write_retry.not_before {
        return draft.back_off(machine.write_retry.not_before);
    }
    let step = Step { world, machine, object };
    match world.gate() {
        Some(blocker @ Blocker::StoreRegressed { .. }) => step.tell_regressed(blocker, draft),
        Some(blocker) => draft.wait(blocker),
        None => step.advance(draft),
    }
}

/// What one step of a machine looks at.
#[derive(Clone, Copy)]
struct Step<'w> {
    world: &'w World,
    machine: &'w Machine,
    object: &'w MachineObject,
}

impl<'w> Step<'w> {
    /// Why the host cannot be reached or does not do what is asked, once that is certain.
    fn certain_trouble(self, config: &Config) -> Option<&'w Trouble> {
        let repeated = self.machine.host.retry.failures >= config.unreachable_after;
        let trouble = self.machine.host.trouble.as_ref()?;
        ((trouble.kind.is_definite() || repeated) && trouble.kind != CauseKind::HostBusy).then_some(trouble)
    }
}

impl Step<'_> {
    fn advance(self, draft: &mut Draft<'_>) {
        if self.object.meta.is_terminating() && !self.object.meta.is_held() {
            return;
        }
        if self.object.meta.is_terminating() && self.object.is_released {
            return self.release(draft);
        }
        if self.object.spec.is_err() {
            draft.note(Note::Block(Blocker::InvalidSpec));
            if self.lift(draft) {
                return;
            }
            let verdict = Verdict::out_of_sync(Reason::InvalidSpec);
            return self.tell(draft, &verdict, Blocker::InvalidSpec);
        }
        if self.writes_attributes(draft) || self.tells_trouble(draft) {
            return;
        }
        let retry = self.machine.host.retry;
        if draft.now < retry.not_before && (self.machine.uncertain.is_some() || self.needs_read(draft)) {
            return self.wait_out(draft);
        }
        if let Some(operation) = self.machine.uncertain {
            let work = self.confirmation(draft.config).unwrap_or(HostWork::Probe(operation));
            return draft.order_host(self.world, self.machine, work);
        }
        if self.needs_read(draft) {
            return draft.order_host(self.world, self.machine, HostWork::Read);
        }
        self.plan_audit(draft);
        if self.machine.host.facts.is_none() {
            return;
        }
        let is_duplicate_leaving =
            self.object.meta.is_terminating() && matches!(self.stranger(), Some((Reason::DuplicateHost, _)));
        if let (Some((reason, blocker)), false) = (self.stranger(), is_duplicate_leaving) {
            draft.note(Note::Block(blocker));
            if self.lift(draft) {
                return;
            }
            let detail = self.stranger_detail().map(|stranger| Arc::new(Detail::Stranger(stranger)));
            return self.tell(draft, &Verdict::stranger(reason, detail), blocker);
        }
        if self.object.meta.is_terminating() {
            return self.uninstall(draft);
        }
        if self.has_lost_its_hold() {
            let (target, meta) = (Target::Machine(self.machine.id), &self.object.meta);
            return draft.write_finalizers(target, meta, meta.finalizers_with_ours());
        }
        self.bring_to_target(draft);
    }

    /// Whether the host is in use, and somebody has removed what holds its Machine until it is not any more.
    fn has_lost_its_hold(self) -> bool {
        let ours = Owner::Machine(self.object.meta.uid);
        !self.object.meta.is_held()
            && self.machine.host.facts.as_ref().is_some_and(|facts| facts.owner == ours)
    }

    /// Waits for the next try of a contact.
    fn wait_out(self, draft: &mut Draft<'_>) {
        let until = self.machine.host.retry.not_before;
        draft.back_off(until);
        if self.machine.host.unreachable_since.is_some() {
            // Nothing is at work there, and nothing is going to be: pods need not keep off.
            if !self.machine.is_unresolved() && !self.machine.is_lost() && self.lift(draft) {
                return;
            }
            draft.wait(Blocker::Unreachable { until });
        }
    }

    /// While the store is set back nothing is done, but whoever has changed something is told why.
    fn tell_regressed(self, blocker: Blocker, draft: &mut Draft<'_>) {
        draft.wait(blocker);
        if !self.world.leadership.in_time {
            return;
        }
        let asked = self.object.meta.generation != self.object.status.observed_generation;
        if asked || self.object.meta.is_terminating() {
            let seen = Detail::Regress(self.world.leadership.regress());
            let verdict = Verdict::out_of_sync(Reason::StoreRegressed).because(seen).unfinished();
            self.tell(draft, &verdict, blocker);
        }
    }

    /// Tells that the host cannot be reached or does not do what is asked, once that is certain. True if it was told
    /// just now.
    fn tells_trouble(self, draft: &mut Draft<'_>) -> bool {
        let Some(trouble) = self.certain_trouble(draft.config) else { return false };
        let verdict = if !trouble.kind.is_contact() {
            Verdict::hindered(trouble)
        } else if self.machine.is_unresolved() {
            // A successor must not take it for idle: an unreachable machine holds no slot.
            Verdict::silent(trouble)
        } else if self.machine.is_lost() {
            Verdict::lost(trouble)
        } else {
            Verdict::unreachable(trouble)
        };
        let until = self.machine.host.retry.not_before;
        self.tell(draft, &verdict, Blocker::BackOff { until });
        draft.order.is_some()
    }

    /// Writes what is to be said about the machine, if it is not said already.
    fn tell(self, draft: &mut Draft<'_>, verdict: &Verdict, blocker: Blocker) {
        if !self.says(draft, verdict) {
            draft.wait(blocker);
        }
    }

    /// Writes a verdict if it is not said already. True if it was not.
    fn says(self, draft: &mut Draft<'_>, verdict: &Verdict) -> bool {
        let status = self.status(draft.now, verdict);
        let is_news = status.is_some();
        if let Some(status) = status {
            draft.write_machine_status(self.machine.id, &self.object.meta, status);
        }
        is_news
    }

    /// Everything is as it should be.
    fn settle(self, draft: &mut Draft<'_>) {
        if self.lift(draft) {
            return;
        }
        // Who is paused stays left out of batches: the next one may be decided already, without it.
        if self.machine.blocked.is_some() && !self.is_paused() {
            draft.note(Note::Unblock);
        }
        if let Some((verdict, blocker)) = self.attributes_verdict(draft) {
            return match verdict {
                Some(verdict) => self.tell(draft, &verdict, blocker),
                None => draft.wait(blocker),
            };
        }
        let verdict = self.contested_detail().map_or(Verdict::in_sync(), Verdict::contested);
        self.says(draft, &verdict);
    }

    fn plan_audit(self, draft: &mut Draft<'_>) {
        let at = self.machine.host.audit_at.unwrap_or_else(|| {
            let at = self.next_audit(draft);
            draft.note(Note::Audit(at));
            at
        });
        draft.wake_at(at, WakeReason::Audit);
    }
}
