//! The end of a machine: everything that we installed goes, the host is given up, and only then the finalizer.

use seaworthy_model::effect::Target;
use seaworthy_model::host::{Change, Owner};
use seaworthy_model::machine::Reason;
use seaworthy_model::report::Blocker;

use super::Step;
use super::status::Verdict;
use crate::draft::{Draft, HostWork, Note};
use crate::sabotage::Sabotage;

impl Step<'_> {
    /// One step towards an empty host: what nothing else needs goes first.
    pub(super) fn uninstall(self, draft: &mut Draft<'_>) {
        let Some(facts) = self.machine.host.facts.as_ref() else { return };
        let meta = &self.object.meta;
        if self.is_paused() {
            draft.note(Note::Block(Blocker::Paused));
            return self.tell(draft, &Verdict::out_of_sync(Reason::Paused), Blocker::Paused);
        }
        if self.is_fleet_paused() {
            draft.note(Note::WaitForFleet);
            return draft.wait(Blocker::Paused);
        }
        if self.machine.is_recorded_unreachable() {
            // A successor takes it for idle as long as that is recorded.
            return self.tell(draft, &Verdict::contact(), Blocker::AwaitingOwnWrite);
        }
        let is_ours = facts.owner == Owner::Machine(meta.uid);
        match self.next_to_go() {
            Some(component) if is_ours && !self.world.is_sabotaged(Sabotage::FinalizerEarly) => {
                if self.takes_slot(draft) {
                    let work = HostWork::Change { component, change: Change::Remove };
                    draft.order_host(self.world, self.machine, work);
                }
            }
            None if is_ours && !self.world.is_sabotaged(Sabotage::HostNotGivenUp) => {
                draft.order_host(self.world, self.machine, HostWork::Disown);
            }
            Some(_) | None => {
                let target = Target::Machine(self.machine.id);
                let foreign_go = self.world.is_sabotaged(Sabotage::ForeignFinalizersDropped);
                let left = if foreign_go { Default::default() } else { meta.finalizers_without_ours() };
                draft.write_finalizers(target, meta, left);
            }
        }
    }
}
