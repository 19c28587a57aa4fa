//! Labels and taints that a machine keeps on its Node. They need no contact with the host, and nothing else waits for
//! them.

use alloc::sync::Arc;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use super::order::NodeWork;
use super::plan::{Plan, attributes_plan, plan_to_tell};
use crate::domains::draft::Draft;
use crate::domains::machine::contest;
use crate::domains::machine::status::Verdict;
use crate::domains::machine::step::Step;
use crate::rows::note::MachineNote as Note;

/// A failing write is reported after this many failures in a row.
const TELL_AFTER: u32 = 3;

impl Step<'_> {
    /// Orders the change of the labels and taints of the Node, if one is needed and allowed now. True if it is ordered.
    pub(in crate::domains::machine) fn write_attributes(self, draft: &mut Draft<'_>) -> bool {
        let Some(Plan { change: Some(change), .. }) = attributes_plan(self.world, self.machine) else {
            return false;
        };
        if self.object.meta.is_terminating() || self.is_paused() {
            return false;
        }
        if self.is_fleet_paused() {
            self.note(draft, Note::WaitForFleet);
            return false;
        }
        if self.machine.drain.as_ref().is_some_and(|drain| drain.write.awaits) {
            // Another write of the Node is in flight: one of the two would make the other stale.
            return false;
        }
        if let Some(until) = self.attributes_later(change.is_repair).filter(|until| draft.now < *until) {
            draft.wake_at(until, WakeReason::BackOff);
            return false;
        }
        self.order_node(draft, NodeWork::Attributes(change));
        true
    }

    /// The earliest time for the next write of the Node's labels and taints.
    fn attributes_later(self, is_repair: bool) -> Option<Timestamp> {
        let write = self.world.node_writes.get(&self.machine.id).map(|write| write.retry.not_before);
        let contested = self.world.contested_node(self.machine.id).filter(|_| is_repair);
        write.max(contested.map(|contested| contested.not_before))
    }

    /// Whether the recorded condition of the Node's labels and taints is wrong. Then the host has to be read: no
    /// condition is written for a machine whose host was not read in this epoch.
    pub(in crate::domains::machine) fn has_attributes_to_tell(self) -> bool {
        let Some(recorded) = self.object.status.condition(ConditionKind::InSync) else { return false };
        let Some(Plan { change, conflict }) = plan_to_tell(self.world, self.machine) else {
            return recorded.reason == Reason::NodeConflict;
        };
        let is_awaited =
            self.world.node_writes.get(&self.machine.id).is_some_and(|write| write.trouble.is_none());
        let is_well = change.is_none() && conflict.is_none();
        let is_told_well = recorded.truth == Truth::True;
        !is_awaited && is_well != is_told_well
    }

    /// Why the labels and taints of the Node differ from what is wanted, if they do.
    pub(in crate::domains::machine) fn attributes_verdict(
        self,
        draft: &mut Draft<'_>,
    ) -> Option<(Option<Verdict>, Blocker)> {
        let Plan { change, conflict } = plan_to_tell(self.world, self.machine)?;
        if let Some(change) = change {
            if self.is_paused() || self.is_fleet_paused() {
                return Some((Some(Verdict::out_of_sync(Reason::Paused)), Blocker::Paused));
            }
            let until = self.attributes_later(change.is_repair).unwrap_or(draft.now);
            let write = self.world.node_writes.get(&self.machine.id);
            let trouble = write.and_then(|write| Some((write.trouble.as_ref()?, write.retry.failures)));
            if let Some((trouble, failures)) = trouble {
                let is_certain = failures >= TELL_AFTER || trouble.kind == CauseKind::ApiRefused;
                let verdict = Verdict::out_of_sync(Reason::from(trouble.kind)).with(trouble.detail.clone());
                return Some((is_certain.then_some(verdict), Blocker::BackOff { until }));
            }
            if write.is_some() {
                return Some((None, Blocker::AwaitingOwnWrite));
            }
            let contested = self.world.contested_node(self.machine.id);
            let detail = contested.map(|found| Arc::new(contest::detail(None, found)));
            let verdict = Verdict::out_of_sync(Reason::Contested).with(detail);
            return Some((Some(verdict), Blocker::BackOff { until }));
        }
        let (key, detail) = conflict?;
        let verdict = Verdict::out_of_sync(Reason::NodeConflict).because(detail);
        Some((Some(verdict), Blocker::NodeConflict { key }))
    }
}
