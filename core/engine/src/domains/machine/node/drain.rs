//! Pods leave the Node of a machine before work that they would not outlive.
//!
//! ```text
//!   list pods --allowed?--> cordon --> list --> evict one after the other --> list ... empty --> the work --> uncordon
//!                |no                              |not allowed now: later          |too long
//!                v                                v                                v
//!             says why                         says why                    uncordon, says why, later again
//! ```
//!
//! Whoever begins takes a slot first, and keeps it while the pods are listed: else all that wait would list theirs whenever
//! one slot is free.
//!
//! Nodes are not all emptied at once: one that is the last to take pods waits for those that are being emptied, and one whose
//! pods may not go while no Node takes pods gives way to the others.
//!
//! The mark on the Node is the only record: whoever finds it and has nothing to do there takes it off, be it because the work
//! is done, because nobody wants it any more, or because its Machine is another one by now. While it is there, the machine
//! occupies a slot of `maxUnavailable`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::detail::{Detail, Pod};
use seaworthy_model::host::Change;
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::machine::Reason;
use seaworthy_model::node::{Mark, NodeCordon, NodeState, NodeUncordon};
use seaworthy_model::pod::{PodFate, PodLoss, PodName};
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use super::order::NodeWork;
use crate::domains::draft::Draft;
use crate::domains::machine::status::Verdict;
use crate::domains::machine::step::Step;
use crate::rows::drain::{Drain, Listed};
use crate::rows::note::MachineNote as Note;

/// A list of pods is good for so long: after that, something may run there again that came in another way.
const FRESH: Duration = Duration::from_secs(30);
/// A Node whose drain is forbidden is looked at again after so long. The pod may have gone, or the policy have changed.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// A drain that goes on for longer is told of in the status.
const TELL_AFTER: Duration = Duration::from_secs(60);
/// So many pods are named that have not left.
const NAMED: usize = 3;

impl Step<'_> {
    /// Whether pods have to leave the Node before a change of a component: the version that comes says so, or the one that
    /// goes, or what goes for good is what runs pods.
    pub(in crate::domains::machine) fn disrupts(self, component: ComponentId, change: &Change) -> bool {
        let goes = self.machine.installed(component).map(|installed| installed.version);
        match change {
            Change::Install(release) => goes.into_iter().chain([release.version]).any(|it| self.drains(it)),
            Change::Remove => goes.is_some_and(|version| self.drains(version) || self.is_of_node(version)),
        }
    }

    fn drains(self, version: VersionId) -> bool {
        self.world.version_spec(version).is_some_and(|spec| spec.disruption.drains())
    }

    /// Whether it is what runs the pods of a Node.
    fn is_of_node(self, version: VersionId) -> bool {
        self.world.version_spec(version).is_some_and(|spec| spec.node_identity.is_some())
    }

    /// Whether the Node is this machine's to empty when its software goes: something is installed, or recorded, that pods
    /// would not outlive, whatever is said of its upgrades.
    fn carries_pods(self) -> bool {
        let reported = self.machine.host.facts.iter().flat_map(|facts| &facts.components);
        let recorded = self.object.status.components.iter().filter_map(|status| status.installed);
        let versions = reported.map(|installed| installed.version).chain(recorded.map(|it| it.version));
        versions.into_iter().any(|version| self.drains(version) || self.is_of_node(version))
    }

    /// Whether pods have to leave the Node before the software goes from the host.
    pub(in crate::domains::machine) fn disrupts_by_leaving(self) -> bool {
        self.machine.node.is_some() && (self.machine.is_marked() || self.carries_pods())
    }

    /// Whether a drain was given up or is not allowed, and until when that rests.
    pub(in crate::domains::machine) fn rests(self, draft: &mut Draft<'_>) -> bool {
        let Some(drain) = self.machine.drain.as_deref() else { return false };
        if draft.now >= drain.rests_until || self.machine.node.is_none() {
            return false;
        }
        if self.machine.is_cordoned() {
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

    /// Whether no pod is left on the Node that would have to go before the work on it. If not, does what comes next.
    pub(in crate::domains::machine) fn is_empty(self, draft: &mut Draft<'_>, reason: &str) -> bool {
        let Some(node) = &self.machine.node else { return true };
        let empty = Drain::default();
        let drain = self.machine.drain.as_deref().unwrap_or(&empty);
        if draft.now < drain.write.retry.not_before {
            self.wait_out_drain(draft, drain);
            return false;
        }
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
            // A round of evictions is gone through to its end, however long it takes.
            cordoned.is_some() && listed.under == cordoned && drain.passed > 0
        })) else {
            // Whoever looks again at pods that may not go needs no slot for that.
            let begins = drain.pods.is_none() && !self.machine.is_cordoned();
            if !begins || self.may_begin(draft, node) {
                self.order_node(draft, NodeWork::ListPods(cordoned));
            }
            return false;
        };
        if let Some((pod, loss)) = self.forbidden(listed, draft.now) {
            if self.machine.is_cordoned() {
                self.uncordon(draft);
                return false;
            }
            let (blocker, verdict) = refusal(pod, loss);
            self.note(draft, Note::DrainRests(draft.now + LOOK_AGAIN));
            draft.wake_at(draft.now + LOOK_AGAIN, WakeReason::BackOff);
            self.note(draft, Note::Block(blocker));
            self.tell(draft, &verdict, blocker);
            return false;
        }
        match mark {
            None => self.cordon(draft, node, reason),
            Some(mark) => self.evict(draft, drain, listed, mark),
        }
        false
    }

    /// Whether there is a slot for a drain, and another Node for its pods.
    fn may_begin(self, draft: &mut Draft<'_>, node: &NodeState) -> bool {
        if !self.takes_slot(draft) {
            if !self.lift(draft) {
                self.tell_wait_of_leaving(draft);
            }
            return false;
        }
        // What is kept from pods already, and may be empty, gives way only if its pods cannot go.
        node.is_ours() || !self.yields_to_others(draft)
    }

    fn cordon(self, draft: &mut Draft<'_>, node: &NodeState, reason: &str) {
        if !self.may_begin(draft, node) {
            return;
        }
        let shape = node.shape();
        // Of a mark that is not this machine's, what it found goes on to the next.
        let found = node.mark().map_or(shape.unschedulable, |mark| mark.found_unschedulable);
        let own = node.mark().filter(|mark| mark.machine == self.object.meta.uid);
        let mark = Mark {
            machine: self.object.meta.uid,
            generation: self.object.meta.generation,
            epoch: self.world.epoch(),
            order: draft.now.0,
            since: own.map_or(draft.now.whole_seconds(), |mark| mark.since),
            found_unschedulable: found,
            reason: reason.into(),
        };
        let cordon = NodeCordon { shape, mark };
        self.order_node(draft, NodeWork::Cordon(Box::new(cordon)));
    }

    /// Whether its drain would leave no Node that takes pods while others are being emptied as well. Then it takes pods, and
    /// waits until one of the others is back.
    fn yields_to_others(self, draft: &mut Draft<'_>) -> bool {
        let Some(emptied) = self.world.last_node(self.machine.id) else { return false };
        self.note(draft, Note::Park);
        self.note(draft, Note::WaitForNode);
        if !self.lift(draft) {
            let verdict = Verdict::out_of_sync(Reason::LastSchedulableNode).unfinished();
            self.tell(draft, &verdict, Blocker::LastSchedulableNode { emptied });
        }
        true
    }

    /// Evicts the next pod; once all were gone through, waits until it is time to look at them again.
    fn evict(self, draft: &mut Draft<'_>, drain: &Drain, listed: &Listed, mark: &Mark) {
        let policy = self.world.drain_policy();
        let limit = Duration::from_secs(u64::from(policy.timeout_seconds));
        if limit > Duration::ZERO && draft.now >= mark.since + limit {
            let until = draft.now + draft.config.backoff_max;
            self.note(draft, Note::DrainRests(until));
            self.uncordon(draft);
            return;
        }
        let fates = listed.fates(policy, self.machine.unready_at(draft.now));
        let mut rest = fates.skip(drain.passed).enumerate();
        if let Some((ahead, (pod, _))) = rest.find(|(_, (_, fate))| matches!(fate, PodFate::Evicted)) {
            self.note(draft, Note::Passed(drain.passed + ahead));
            return self.order_node(draft, NodeWork::Evict(Box::new(pod.pod.clone())));
        }
        if drain.refused.is_some() && self.yields_to_others(draft) {
            return;
        }
        let next = drain.next_look();
        if draft.now >= next {
            return self.order_node(draft, NodeWork::ListPods(Some(mark.order)));
        }
        self.tell_progress(draft, drain, mark.since);
        draft.wake_at(next, WakeReason::BackOff);
    }

    /// Says what the drain waits for, if it does so for long, or for somebody.
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

    /// Waits until a write is seen, or for the next try of one that did not work.
    fn wait_out_drain(self, draft: &mut Draft<'_>, drain: &Drain) {
        let until = drain.write.retry.not_before;
        draft.wake_at(until, WakeReason::BackOff);
        let repeated = drain.write.retry.failures >= draft.config.unreachable_after;
        // A machine has one verdict, and that of its host comes first: to tell both in turns would never end.
        let tells = self.certain_trouble(draft.config).is_none();
        match &drain.write.trouble {
            Some(trouble) if tells && (repeated || trouble.kind == CauseKind::ApiRefused) => {
                self.tell(draft, &Verdict::hindered(trouble), Blocker::BackOff { until });
            }
            Some(_) => draft.wait(Blocker::BackOff { until }),
            None => draft.wait(Blocker::AwaitingOwnWrite),
        }
    }

    /// The first pod that would be lost, and nobody has allowed that.
    fn forbidden(self, listed: &Listed, now: Timestamp) -> Option<(&PodName, PodLoss)> {
        listed.fates(self.world.drain_policy(), self.machine.unready_at(now)).find_map(|(facts, fate)| {
            match fate {
                PodFate::Forbidden(loss) => Some((&facts.pod, loss)),
                PodFate::Stays | PodFate::Evicted | PodFate::Leaving | PodFate::Abandoned => None,
            }
        })
    }

    /// The pods that have not left.
    fn left_detail(self, drain: &Drain, now: Timestamp) -> Option<Arc<Detail>> {
        let left = drain.pods.as_ref()?.left(self.world.drain_policy(), self.machine.unready_at(now));
        let count = left.clone().count();
        let first = left.take(NAMED).map(|facts| Pod::from(&facts.pod)).collect();
        let refused = drain.refused.as_ref().map(|(pod, cause)| (pod.into(), cause.detail.as_str().into()));
        Some(Arc::new(Detail::PodsLeft { count, first, refused }))
    }

    /// Takes off the Node what is ours, if there is anything: nothing is to be done there now. True if it has to be done,
    /// or was only just; then that is all for this step.
    pub(in crate::domains::machine) fn lift(self, draft: &mut Draft<'_>) -> bool {
        if !self.machine.is_cordoned() {
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
        let stays_unschedulable = node.mark().is_none_or(|mark| mark.found_unschedulable);
        let uncordon = NodeUncordon { shape: node.shape(), stays_unschedulable };
        self.order_node(draft, NodeWork::Uncordon(Box::new(uncordon)));
    }

    /// A drain of which nothing is on the Node is over. A cordon whose end is not known is waited for first.
    fn forget_drain(self, draft: &mut Draft<'_>) -> bool {
        let Some(drain) = self.machine.drain.as_deref() else { return false };
        if drain.cordoning && draft.now < drain.write.retry.not_before {
            self.wait_out_drain(draft, drain);
            return true;
        }
        self.note(draft, Note::DrainOver);
        false
    }

    /// Deletes the Node of a machine that goes, or only takes off what is ours if it is another host's. True while there
    /// is something to do.
    pub(in crate::domains::machine) fn deletes_node(self, draft: &mut Draft<'_>) -> bool {
        let Some(node) = &self.machine.node else { return self.forget_drain(draft) };
        let is_ours = self.machine.is_marked() || (self.object.is_released && self.carries_pods());
        if !is_ours || !self.is_of_this_host(node) {
            return self.lift(draft);
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

    /// Whether the Node of this name is that of the host which is recorded, as far as its kubelet says which it is.
    fn is_of_this_host(self, node: &NodeState) -> bool {
        let reported = node.cordon.as_ref().and_then(|cordon| cordon.host);
        let recorded = self.object.status.identity.as_ref().map(|identity| identity.host);
        reported.is_none() || recorded.is_none() || reported == recorded
    }
}

/// What is said of a pod that nobody allows to be lost.
fn refusal(pod: &PodName, loss: PodLoss) -> (Blocker, Verdict) {
    let detail = Detail::PodLost(pod.into(), loss);
    let verdict = Verdict::out_of_sync(Reason::DrainForbidden).unfinished().because(detail);
    (Blocker::DrainForbidden { pod: pod.digest() }, verdict)
}
