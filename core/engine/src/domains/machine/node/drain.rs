//! The drain: pods leave the Node of a machine before work that they would not survive.
//!
//! ```text
//!   list pods --allowed?--> cordon --> list --> evict one after the other --> list ... empty --> the work --> uncordon
//!                |no                              |not allowed now: later          |too long
//!                v                                v                                v
//!             says why                         says why                    uncordon, says why, later again
//! ```
//!
//! A machine takes a slot before its drain begins, and holds it while the pods are listed: otherwise all waiting
//! machines would list their pods whenever one slot is free.
//!
//! Not all Nodes are drained at once: the last Node that takes pods waits for those that are being drained, and a Node
//! whose pods cannot be evicted while no Node takes pods yields to the others.
//!
//! The mark on the Node is the only record of a drain. An operator that finds a mark and has nothing to do on the Node
//! removes it: the work may be done or not wanted any more, or the Machine may be another one by now. While the mark is
//! there, the machine occupies a slot of `maxUnavailable`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::detail::{Detail, Pod};
use seaworthy_model::host::{Change, Drift};
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::Reason;
use seaworthy_model::node::{Mark, NodeCordon, NodeState};
use seaworthy_model::pod::{PodFate, PodLoss, PodName};
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use super::order::NodeWork;
use crate::domains::draft::Draft;
use crate::domains::machine::status::Verdict;
use crate::domains::machine::step::Step;
use crate::rows::drain::{Drain, Listed};
use crate::rows::note::MachineNote as Note;

/// How long a list of pods is valid: after that, pods may have come that ignore the cordon.
const FRESH: Duration = Duration::from_secs(30);
/// How long a kubelet may take to register its Node, and a watch to show it. A kubelet that works needs a few seconds.
const REGISTRATION: Duration = Duration::from_secs(30);
/// When a forbidden drain is checked again. The pod may have gone, or the policy may have changed.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// A drain that takes longer is reported in the status.
const TELL_AFTER: Duration = Duration::from_secs(60);
/// How many of the remaining pods are named.
const NAMED: usize = 3;

impl Step<'_> {
    /// Whether pods have to leave the Node before a change of a component: if the new or the old version requires it,
    /// or if the change removes the component that runs pods. The repair of a service that does not run disrupts
    /// nothing any more, and the pods of a Node whose kubelet does not run cannot leave before it.
    pub(in crate::domains::machine) fn disrupts(self, component: ComponentId, change: &Change) -> bool {
        if self.is_start(component, change) {
            return false;
        }
        let goes = self.machine.installed(component).map(|installed| installed.version);
        let comes = match change {
            Change::Install(release) => Some(release.version),
            Change::Remove => None,
        };
        self.world.needs_drain(goes, comes)
    }

    /// Whether a change starts a service that does not run, in the release that is there.
    fn is_start(self, component: ComponentId, change: &Change) -> bool {
        let Change::Install(release) = change else { return false };
        let reported = self.machine.reported(component);
        reported.is_some_and(|there| there.release == release.id && there.drift.contains(Drift::NOT_RUNNING))
    }

    /// Whether the Node has to be drained before the machine's software is removed: a component is installed or
    /// recorded that runs pods, or that requires a drain before its upgrades.
    fn carries_pods(self) -> bool {
        let reported = self.machine.host.facts.iter().flat_map(|facts| &facts.components);
        let recorded = self.object.status.components.iter().filter_map(|status| status.installed);
        let versions = reported.map(|installed| installed.version).chain(recorded.map(|it| it.version));
        versions.into_iter().any(|version| self.world.needs_drain(Some(version), None))
    }

    /// Whether pods have to leave the Node before the software is removed from the host. A Node that no watch has shown
    /// may exist all the same.
    pub(in crate::domains::machine) fn disrupts_by_leaving(self) -> bool {
        self.carries_pods() || (self.machine.node.is_some() && self.machine.is_marked())
    }

    /// Waits, and reports why, while the drain is suspended because it was given up or is not allowed. True while it is.
    pub(in crate::domains::machine) fn rest(self, draft: &mut Draft<'_>) -> bool {
        let Some(drain) = self.machine.drain.as_deref() else { return false };
        if draft.now >= drain.rests_until || self.machine.node.is_none() {
            return false;
        }
        if self.machine.has_our_cordon() {
            self.uncordon(draft);
            return true;
        }
        draft.wake_at(drain.rests_until, WakeReason::BackOff);
        let forbidden = drain.pods.as_ref().and_then(|listed| self.forbidden(listed, draft.now));
        let (blocker, verdict) = match forbidden {
            Some((pod, loss)) => refusal(pod, loss),
            None => {
                let blocker = Blocker::DrainOverdue { until: drain.rests_until };
                let verdict = Verdict::out_of_sync(Reason::DrainOverdue).unfinished();
                (blocker, verdict.with(self.left_detail(drain, draft.now)))
            }
        };
        self.note(draft, Note::Block(blocker));
        self.tell(draft, &verdict, blocker);
        true
    }

    /// Takes the next step of the drain. True once no pod is left that would have to leave the Node before the work on
    /// it.
    pub(in crate::domains::machine) fn empty_node(self, draft: &mut Draft<'_>, reason: &str) -> bool {
        let empty = Drain::default();
        let drain = self.machine.drain.as_deref().unwrap_or(&empty);
        if draft.now < drain.write.retry.not_before {
            self.wait_out_drain(draft, drain);
            return false;
        }
        let Some(node) = &self.machine.node else { return self.is_without_pods(draft, drain) };
        let epoch = self.world.epoch();
        let mark = self.machine.mark(epoch);
        let cordoned = mark.map(|mark| mark.order);
        let policy = self.world.drain_policy();
        if self.machine.is_drained(policy, epoch, (draft.now - FRESH, draft.now)) {
            return true;
        }
        let listed =
            drain.pods.as_ref().filter(|listed| listed.under == cordoned && listed.at + FRESH >= draft.now);
        let Some(listed) = listed.or(drain.pods.as_ref().filter(|listed| {
            // A round of evictions is finished, however long it takes.
            cordoned.is_some() && listed.under == cordoned && drain.passed > 0
        })) else {
            // A repeated check of pods that must not be evicted needs no slot.
            let begins = drain.pods.is_none() && !self.machine.has_our_cordon();
            if !begins || self.admit_drain(draft, node) {
                self.order_node(draft, NodeWork::ListPods(cordoned));
            }
            return false;
        };
        if let Some(refused) = self.forbidden(listed, draft.now) {
            if self.machine.has_our_cordon() {
                self.uncordon(draft);
            } else {
                self.put_off(draft, refused);
            }
            return false;
        }
        match mark {
            None => self.cordon(draft, node, reason),
            Some(mark) => self.evict(draft, drain, listed, mark),
        }
        false
    }

    /// Whether a machine without a Node has no pods either. A Node that no watch has shown is no proof of that if the
    /// host runs a kubelet: it registers a Node seconds after its start. So the engine waits as long as that may take,
    /// and then asks the API server for the pods.
    fn is_without_pods(self, draft: &mut Draft<'_>, drain: &Drain) -> bool {
        if !self.carries_pods() {
            return true;
        }
        let Some(since) = drain.no_node_since else {
            self.note(draft, Note::NoNode(draft.now));
            self.await_node(draft, draft.now);
            return false;
        };
        let since = self.world.seen_since(since);
        if draft.now < since + REGISTRATION {
            self.await_node(draft, since);
            return false;
        }
        let policy = self.world.drain_policy();
        let Some(listed) = drain.pods.as_ref().filter(|listed| listed.at + FRESH >= draft.now) else {
            if self.take_unit(draft) {
                self.order_node(draft, NodeWork::ListPods(None));
            } else {
                self.tell_wait_of_leaving(draft);
            }
            return false;
        };
        let left = listed.left(policy, Some(draft.now)).count();
        if left > 0 {
            // The watch shows their Node soon, or Kubernetes deletes them because they have none.
            draft.wait(Blocker::Draining { pods: u32::try_from(left).unwrap_or(u32::MAX) });
            draft.wake_at(listed.at + FRESH + Duration::from_millis(1), WakeReason::BackOff);
        }
        left == 0
    }

    fn await_node(self, draft: &mut Draft<'_>, since: Timestamp) {
        let until = since + REGISTRATION;
        draft.wait(Blocker::AwaitingNode { until });
        draft.wake_at(until, WakeReason::BackOff);
    }

    /// Takes a slot for a drain. True if there is one, and another Node for its pods; otherwise reports what is missing.
    fn admit_drain(self, draft: &mut Draft<'_>, node: &NodeState) -> bool {
        if !self.take_unit(draft) {
            if !self.remove_mark(draft) {
                self.tell_wait_of_leaving(draft);
            }
            return false;
        }
        // A Node that is cordoned already may be empty: it yields only if its pods cannot be evicted.
        node.is_ours() || !self.yield_to_others(draft)
    }

    fn cordon(self, draft: &mut Draft<'_>, node: &NodeState, reason: &str) {
        if !self.admit_drain(draft, node) {
            return;
        }
        let shape = node.shape();
        // A mark that was there before, of another operator or Machine, passes on what it found on the Node, unless
        // people have uncordoned the Node since.
        let found = shape.unschedulable && self.machine.leaves_unschedulable(node);
        let own = node.mark().filter(|mark| mark.machine == self.object.meta.uid);
        let mark = Mark {
            machine: self.object.meta.uid,
            generation: self.object.meta.generation,
            epoch: self.world.epoch(),
            order: draft.now.millis(),
            since: own.map_or(draft.now.whole_seconds(), |mark| mark.since),
            found_unschedulable: found,
            reason: reason.into(),
        };
        let cordon = NodeCordon { shape, mark };
        self.order_node(draft, NodeWork::Cordon(Box::new(cordon)));
    }

    /// Uncordons the Node if its drain would leave none that takes pods while others are being drained, and waits until one
    /// of the others takes pods again. True if it waits.
    pub(in crate::domains::machine) fn yield_to_others(self, draft: &mut Draft<'_>) -> bool {
        let Some(emptied) = self.world.last_node(self.machine.id) else { return false };
        if self.machine.is_granted() {
            self.note(draft, Note::Block(Blocker::LastSchedulableNode { emptied }));
        }
        self.note(draft, Note::WaitForNode);
        if !self.remove_mark(draft) {
            let verdict = Verdict::out_of_sync(Reason::LastSchedulableNode).unfinished();
            self.tell(draft, &verdict, Blocker::LastSchedulableNode { emptied });
        }
        true
    }

    /// Evicts the next pod. After the last one, waits until the pods have to be listed again.
    fn evict(self, draft: &mut Draft<'_>, drain: &Drain, listed: &Listed, mark: &Mark) {
        let policy = self.world.drain_policy();
        let forced_at =
            self.world.force_after(self.machine).map(|after| self.world.seen_since(mark.since) + after);
        let limit = Duration::from_secs(u64::from(policy.timeout_seconds));
        if limit > Duration::ZERO && draft.now >= forced_at.unwrap_or(mark.since) + limit {
            let until = draft.now + draft.config.backoff_max;
            self.note(draft, Note::DrainRests(until));
            self.uncordon(draft);
            return;
        }
        let fates = listed.fates(policy, self.machine.unready_at(draft.now));
        let mut rest = fates.skip(drain.passed).enumerate();
        let is_forced = forced_at.is_some_and(|at| at <= draft.now);
        let goes =
            |fate| matches!(fate, PodFate::Evicted) || (is_forced && matches!(fate, PodFate::Forbidden(_)));
        if let Some((ahead, (facts, _))) = rest.find(|(_, (_, fate))| goes(*fate)) {
            let pod = Box::new(facts.pod.clone());
            self.note(draft, Note::Passed(drain.passed + ahead));
            let work = if is_forced { NodeWork::DeletePod(pod) } else { NodeWork::Evict(pod) };
            return self.order_node(draft, work);
        }
        if drain.refused.is_some() && self.yield_to_others(draft) {
            return;
        }
        let next = drain.next_look();
        if draft.now >= next {
            return self.order_node(draft, NodeWork::ListPods(Some(mark.order)));
        }
        self.tell_progress(draft, drain, mark.since);
        draft.wake_at(next, WakeReason::BackOff);
    }

    /// Reports what the drain waits for, if it waits long, or for a disruption budget.
    fn tell_progress(self, draft: &mut Draft<'_>, drain: &Drain, since: Timestamp) {
        if let Some((pod, cause)) = &drain.refused {
            let blocker = Blocker::DisruptionBudget { pod: pod.digest() };
            let detail = Detail::PodRefused(pod.into(), cause.detail.as_str().into());
            let verdict = Verdict::out_of_sync(Reason::Cause(cause.kind)).unfinished().because(detail);
            return self.tell(draft, &verdict, blocker);
        }
        let listed = drain.pods.as_ref();
        let left = listed.map_or(0, |listed| {
            listed.left(self.world.drain_policy(), self.machine.unready_at(draft.now)).count()
        });
        let blocker = Blocker::Draining { pods: u32::try_from(left).unwrap_or(u32::MAX) };
        if draft.now < since + TELL_AFTER {
            return draft.wait(blocker);
        }
        let verdict = Verdict::out_of_sync(Reason::Draining).unfinished();
        self.tell(draft, &verdict.with(self.left_detail(drain, draft.now)), blocker);
    }

    /// Waits for the echo of a write, or for the retry of a failed one.
    fn wait_out_drain(self, draft: &mut Draft<'_>, drain: &Drain) {
        let until = drain.write.retry.not_before;
        draft.wake_at(until, WakeReason::BackOff);
        let repeated = drain.write.retry.failures >= draft.config.unreachable_after;
        // A machine has one verdict, and a failure of its host comes first: two would overwrite each other forever.
        let tells = self.certain_trouble(draft.config).is_none();
        match &drain.write.trouble {
            Some(trouble) if tells && (repeated || trouble.kind == CauseKind::ApiRefused) => {
                self.tell(draft, &Verdict::hindered(trouble), Blocker::BackOff { until });
            }
            Some(_) => draft.wait(Blocker::BackOff { until }),
            None => draft.wait(Blocker::AwaitingOwnWrite),
        }
    }

    /// Whether the pods of a machine whose drain was not allowed must still not be evicted. That is looked up again, for
    /// which no unit is needed.
    pub(in crate::domains::machine) fn is_drain_forbidden(self, draft: &mut Draft<'_>) -> bool {
        let Some(drain) = self.machine.drain.as_deref().filter(|_| self.machine.node.is_some()) else {
            return false;
        };
        if draft.now < drain.write.retry.not_before {
            self.wait_out_drain(draft, drain);
            return true;
        }
        let Some(listed) = drain.pods.as_ref().filter(|listed| listed.at + FRESH >= draft.now) else {
            self.order_node(draft, NodeWork::ListPods(None));
            return true;
        };
        let Some(refused) = self.forbidden(listed, draft.now) else { return false };
        self.put_off(draft, refused);
        true
    }

    /// Puts a drain off that is not allowed, and reports why.
    fn put_off(self, draft: &mut Draft<'_>, (pod, loss): (&PodName, PodLoss)) {
        let (blocker, verdict) = refusal(pod, loss);
        self.note(draft, Note::DrainRests(draft.now + LOOK_AGAIN));
        draft.wake_at(draft.now + LOOK_AGAIN, WakeReason::BackOff);
        self.note(draft, Note::Block(blocker));
        self.tell(draft, &verdict, blocker);
    }

    /// The first pod whose loss is not allowed, and that is not deleted in the end all the same.
    fn forbidden(self, listed: &Listed, now: Timestamp) -> Option<(&PodName, PodLoss)> {
        if self.world.force_after(self.machine).is_some() {
            return None;
        }
        listed.fates(self.world.drain_policy(), self.machine.unready_at(now)).find_map(|(facts, fate)| {
            match fate {
                PodFate::Forbidden(loss) => Some((&facts.pod, loss)),
                PodFate::Stays | PodFate::Evicted | PodFate::Leaving | PodFate::Abandoned => None,
            }
        })
    }

    /// The detail of the pods that have not left.
    fn left_detail(self, drain: &Drain, now: Timestamp) -> Option<Arc<Detail>> {
        let left = drain.pods.as_ref()?.left(self.world.drain_policy(), self.machine.unready_at(now));
        let count = left.clone().count();
        let first = left.take(NAMED).map(|facts| Pod::from(&facts.pod)).collect();
        let refused = drain.refused.as_ref().map(|(pod, cause)| (pod.into(), cause.detail.as_str().into()));
        Some(Arc::new(Detail::PodsLeft { count, first, refused }))
    }

    /// Removes our mark from the Node, if there is one: there is no work for it now. True if that takes this step, or
    /// its echo is awaited; then the step ends.
    pub(in crate::domains::machine) fn remove_mark(self, draft: &mut Draft<'_>) -> bool {
        if !self.machine.has_our_cordon() {
            return self.forget_drain(draft);
        }
        self.uncordon(draft);
        true
    }

    fn uncordon(self, draft: &mut Draft<'_>) {
        let Some(node) = &self.machine.node else { return };
        if let Some(drain) = self.machine.drain.as_deref()
            && draft.now < drain.write.retry.not_before
        {
            return self.wait_out_drain(draft, drain);
        }
        self.order_node(draft, NodeWork::Uncordon(Box::new(self.machine.uncordon(node))));
    }

    /// Ends a drain without a mark on the Node. If a cordon may still be in flight, waits for it first.
    fn forget_drain(self, draft: &mut Draft<'_>) -> bool {
        let Some(drain) = self.machine.drain.as_deref() else { return false };
        if drain.cordoning && draft.now < drain.write.retry.not_before {
            self.wait_out_drain(draft, drain);
            return true;
        }
        self.note(draft, Note::DrainOver);
        false
    }

    /// Deletes the Node of a machine that is being deleted, or only removes our mark if the Node is another host's.
    /// True while there is something to do.
    pub(in crate::domains::machine) fn delete_node(self, draft: &mut Draft<'_>) -> bool {
        let Some(node) = &self.machine.node else { return self.forget_drain(draft) };
        let is_ours = self.machine.is_marked() || (self.object.is_released && self.carries_pods());
        if !is_ours || !self.is_of_this_host(node) {
            return self.remove_mark(draft);
        }
        if let Some(drain) = self.machine.drain.as_deref()
            && draft.now < drain.write.retry.not_before
        {
            self.wait_out_drain(draft, drain);
            return true;
        }
        self.order_node(draft, NodeWork::Delete);
        true
    }

    /// Whether the Node belongs to the recorded host, as far as its kubelet reports a machine-id.
    fn is_of_this_host(self, node: &NodeState) -> bool {
        let reported = node.cordon.as_ref().and_then(|cordon| cordon.host);
        let recorded = self.object.status.identity.as_ref().map(|identity| identity.host);
        reported.is_none() || recorded.is_none() || reported == recorded
    }
}

/// The report of a pod whose loss is not allowed.
fn refusal(pod: &PodName, loss: PodLoss) -> (Blocker, Verdict) {
    let detail = Detail::PodLost(pod.into(), loss);
    let verdict = Verdict::out_of_sync(Reason::DrainForbidden).unfinished().because(detail);
    (Blocker::DrainForbidden { pod: pod.digest() }, verdict)
}
