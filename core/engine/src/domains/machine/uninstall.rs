//! The deletion of a machine: everything that we installed is removed, the host is released, and only then the
//! finalizer goes.

use seaworthy_model::detail::Detail;
use seaworthy_model::effect::Target;
use seaworthy_model::host::{Change, Owner};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::report::Blocker;

use super::status::Verdict;
use super::step::Step;
use crate::domains::draft::{Draft, write_finalizers};
use crate::rows::note::MachineNote as Note;
use crate::world::index::policies::Work;

impl Step<'_> {
    /// One step towards an empty host: components that no other needs are removed first.
    pub(super) fn uninstall(self, draft: &mut Draft<'_>) {
        let Some(facts) = self.machine.host.facts.as_ref() else { return };
        let meta = &self.object.meta;
        if self.is_paused() {
            self.note(draft, Note::Block(Blocker::Paused));
            if self.remove_mark(draft) {
                return;
            }
            return self.tell(draft, &Verdict::out_of_sync(Reason::Paused), Blocker::Paused);
        }
        let stop = || self.world.policy_stop(self.machine, Work::on(self.machine, false));
        if let Some(blocker) = self.world.halt(self.machine).or_else(stop) {
            self.note(draft, Note::WaitForFleet);
            if self.remove_mark(draft) {
                return;
            }
            let verdict = self.policy_verdict(blocker);
            let verdict = verdict.unwrap_or_else(|| Verdict::out_of_sync(Reason::Paused));
            return self.tell(draft, &verdict, blocker);
        }
        if self.machine.is_recorded_unreachable() {
            // A successor counts it as idle as long as that is recorded.
            return self.tell(draft, &Verdict::contact(), Blocker::AwaitingOwnWrite);
        }
        let is_ours = facts.owner == Owner::Machine(meta.uid);
        if is_ours && !facts.components.is_empty() && self.disrupts_by_leaving() {
            let rests = self.rest(draft);
            if rests || !self.empty_node(draft, "removal") {
                return;
            }
        }
        if !is_ours {
            if self.remove_mark(draft) {
                return;
            }
            let target = Target::Machine(self.machine.id);
            return write_finalizers(draft, target, meta, meta.finalizers_without_ours());
        }
        match self.next_to_go() {
            Some(component) => {
                if self.take_unit(draft) {
                    self.order_change(draft, component, Change::Remove);
                } else if !self.remove_mark(draft) {
                    // A drained Node occupies a slot: two of them would wait for each other.
                    self.tell_wait_of_leaving(draft);
                }
            }
            None => {
                if self.delete_node(draft) {
                    return;
                }
                self.order_host(draft, HostCommand::Disown);
            }
        }
    }

    /// Reports why the deletion of a machine does not go on: there is no free slot.
    pub(super) fn tell_wait_of_leaving(self, draft: &mut Draft<'_>) {
        if !self.object.meta.is_terminating() {
            return;
        }
        let verdict = Verdict::out_of_sync(Reason::Terminating).because(Detail::AwaitsSlot).unfinished();
        self.write_verdict(draft, &verdict);
    }

    /// The deletion of a machine whose host a person has declared gone: that is recorded, its Node is deleted, and
    /// then the finalizer goes. The host is not contacted.
    pub(super) fn release(self, draft: &mut Draft<'_>) {
        if self.is_paused() {
            let verdict = Verdict::out_of_sync(Reason::Paused).unfinished();
            return self.tell(draft, &verdict, Blocker::Paused);
        }
        let recorded = self.object.status.condition(ConditionKind::InSync);
        if recorded.is_none_or(|recorded| recorded.reason != Reason::HostReleased) {
            let verdict = Verdict::out_of_sync(Reason::HostReleased).unfinished();
            return self.tell(draft, &verdict, Blocker::AwaitingOwnWrite);
        }
        if self.delete_node(draft) {
            return;
        }
        let (target, meta) = (Target::Machine(self.machine.id), &self.object.meta);
        write_finalizers(draft, target, meta, meta.finalizers_without_ours());
    }
}
