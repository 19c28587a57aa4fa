//! What is known of the drain of a machine's Node, besides the mark on it. The mark is what lasts; all of this is lost with
//! the engine, and found again by listing the pods.

use crate::rows::trouble::Trouble;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::Detail;
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::{MachineId, Uid};
use seaworthy_model::lease::Epoch;
use seaworthy_model::node::{Health, Mark, NodeObject};
use seaworthy_model::pod::{DrainPolicy, PodFacts, PodFate, PodName};
use seaworthy_model::report::Subject;
use seaworthy_model::time::Timestamp;

use crate::domains::finish::{Terms, key};
use crate::rows::machine::{Machine, Retry};
use crate::runtime::queue::Priority;
use crate::world::{InFlight, InFlightKind, World};

/// So long a write of a Node may take to be seen. After that it is tried again: its tests keep it from happening twice.
pub(crate) const ECHO: Duration = Duration::from_secs(30);
/// From one look at pods that are leaving to the next. kubectl has a second; it has one Node.
const POLL: Duration = Duration::from_secs(5);
/// The longest from one look to the next while disruption budgets do not allow evictions: kubectl tries every 5 s, for as
/// long as it runs.
const POLL_MAX: Duration = Duration::from_secs(60);

/// The drain of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    /// The pods are being listed for the first time, and it is cordoned if they may go: a slot is kept for that.
    pub begins: bool,
    /// A cordon was ordered, and the Node was not seen since to have it.
    pub cordoning: bool,
    /// A write of the Node was ordered, and nothing of ours on it was seen to change since.
    pub awaits: bool,
    /// Its pods, as they were listed last.
    pub pods: Option<Listed>,
    /// How many of them were gone through since.
    pub passed: usize,
    /// The first that could not be evicted, and why.
    pub refused: Option<(PodName, Cause)>,
    /// Rounds in a row in which pods could not be evicted.
    pub rounds: u32,
    /// Why a list or a write of the Node did not work, if the last one did not.
    pub trouble: Option<Trouble>,
    /// Back-off of lists and of writes of the Node.
    pub retry: Retry,
    /// It is not begun before this time.
    pub rests_until: Timestamp,
}

/// A list of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// All pods of the Node, sorted by name.
    pub pods: Arc<[PodFacts]>,
    /// For each: since when it is seen to be leaving, if it is. By our own clock: that of the API server may go differently.
    pub leaving_since: Box<[Timestamp]>,
    /// When it was made.
    pub at: Timestamp,
    /// The mark that was seen before it was asked for, by its order, if one was: nothing is placed on the Node since.
    pub under: Option<u64>,
}

impl Drain {
    /// When the pods are listed anew while some have not left yet.
    #[must_use]
    pub fn next_look(&self) -> Timestamp {
        let wait = POLL.saturating_mul(1 << self.rounds.min(6)).min(POLL_MAX);
        self.pods.as_ref().map_or(Timestamp::ZERO, |listed| listed.at + wait)
    }
}

impl Listed {
    /// The pods with what a drain does about each.
    pub fn fates(
        &self,
        policy: DrainPolicy,
        unready_at: Option<Timestamp>,
    ) -> impl Iterator<Item = (&PodFacts, PodFate)> + Clone {
        self.pods.iter().zip(&self.leaving_since).map(move |(pod, since)| {
            let alone = unready_at.map(|now| now.since(*since));
            (pod, pod.fate(&policy, alone))
        })
    }

    /// As listed now. What was leaving in an earlier list does so since then.
    fn new(pods: Arc<[PodFacts]>, at: Timestamp, under: Option<u64>, before: Option<&Self>) -> Self {
        let since = |facts: &PodFacts| before.and_then(|before| before.leaving_since(facts.pod.uid));
        let leaving_since = pods.iter().map(|facts| since(facts).unwrap_or(at)).collect();
        Self { pods, leaving_since, at, under }
    }

    fn leaving_since(&self, pod: Uid) -> Option<Timestamp> {
        let place = self.pods.iter().position(|facts| facts.pod.uid == pod && facts.leaving.is_some())?;
        self.leaving_since.get(place).copied()
    }

    /// Those that have not left yet, though they have to.
    pub fn left(
        &self,
        policy: DrainPolicy,
        unready_at: Option<Timestamp>,
    ) -> impl Iterator<Item = &PodFacts> + Clone {
        self.fates(policy, unready_at)
            .filter(|(_, fate)| !matches!(fate, PodFate::Stays | PodFate::Abandoned))
            .map(|(pod, _)| pod)
    }
}

impl Machine {
    /// Whether its Node carries anything of ours.
    #[must_use]
    pub fn is_cordoned(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.is_ours())
    }

    /// Whether its Node carries a mark of this very Machine, by whatever operator.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        let mark = self.node.as_ref().and_then(|node| node.mark());
        mark.is_some_and(|mark| Some(mark.machine) == self.uid())
    }

    /// The mark on its Node, if it is one to rely on: of this Machine, set in this epoch, with its taint, and later than any
    /// that was ordered to be taken off. Such an order, or a copy of it, may still be on its way.
    #[must_use]
    pub fn mark(&self, epoch: Epoch) -> Option<&Mark> {
        let cordon = self.node.as_ref()?.cordon.as_ref().filter(|cordon| cordon.taint.is_some())?;
        let (mark, _) = cordon.mark.as_ref()?;
        let is_firm = Some(mark.machine) == self.uid() && mark.epoch == epoch && mark.order > self.lifted;
        is_firm.then_some(mark)
    }

    /// An action on its Node that was ordered in another epoch is over: what came of it counts no more.
    pub(crate) fn forget_action(&mut self) {
        self.action = None;
        if let Some(drain) = &mut self.drain {
            drain.begins = false;
        }
    }

    /// Whether its Node is cordoned by us, or may be in a moment.
    pub(crate) fn holds_node(&self) -> bool {
        self.is_cordoned() || self.drain.as_ref().is_some_and(|drain| drain.begins || drain.cordoning)
    }

    /// `now`, if its Node is not ready: what it has to end then does not end.
    #[must_use]
    pub fn unready_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.node.as_ref().filter(|node| node.ready != Health::Healthy).map(|_| now)
    }

    /// Whether its Node was seen empty under the cordon that it has, at `since` or later.
    #[must_use]
    pub fn is_drained(
        &self,
        policy: DrainPolicy,
        epoch: Epoch,
        (since, now): (Timestamp, Timestamp),
    ) -> bool {
        let Some(listed) = self.drain.as_ref().and_then(|drain| drain.pods.as_ref()) else { return false };
        let cordoned = self.mark(epoch).map(|mark| mark.order);
        cordoned.is_some()
            && listed.under == cordoned
            && listed.at >= since
            && listed.left(policy, self.unready_at(now)).next().is_none()
    }
}

impl World {
    /// The uid of a machine's Node.
    #[must_use]
    pub fn node_uid(&self, id: MachineId) -> Option<Uid> {
        self.machine(id).node.as_ref()?;
        self.node_uids.get(id.index()).copied()
    }

    pub(crate) fn note_node_uid(&mut self, id: MachineId, node: &NodeObject) {
        if self.node_uids.len() <= id.index() {
            self.node_uids.resize(id.index() + 1, Uid::default());
        }
        self.node_uids[id.index()] = node.uid;
    }

    /// How pods are treated when a Node is drained.
    #[must_use]
    pub fn drain_policy(&self) -> DrainPolicy {
        self.fleet.spec().map(|spec| spec.drain).unwrap_or_default()
    }

    /// What is ours on a Node has changed, or what is another's in a way that a write of ours looks at.
    pub(crate) fn node_marked(&mut self, id: MachineId) {
        self.change(id, |machine| {
            if let Some(drain) = &mut machine.drain {
                drain.cordoning = false;
                drain.awaits = false;
                drain.retry.look_again();
            }
        });
        self.touch(Subject::Machine(id), Priority::Normal);
    }

    /// An action on a Node or what runs there is ordered.
    pub(crate) fn start_drain(&mut self, id: MachineId, kind: InFlightKind) {
        let epoch = self.epoch();
        self.change(id, |machine| {
            let drain = machine.drain.get_or_insert_default();
            drain.awaits =
                matches!(kind, InFlightKind::Cordon | InFlightKind::Uncordon | InFlightKind::DeleteNode);
            drain.cordoning |= kind == InFlightKind::Cordon;
            drain.begins = matches!(kind, InFlightKind::ListPods(_)) && drain.pods.is_none();
            if kind == InFlightKind::Uncordon {
                let mark = machine.node.as_ref().and_then(|node| node.mark());
                // The clock of another operator may be ahead, and nobody relies on its marks anyway.
                let own = mark.filter(|mark| mark.epoch == epoch);
                machine.lifted = machine.lifted.max(own.map_or(0, |mark| mark.order));
            }
        });
    }

    /// The end of an action on a Node or what runs there.
    pub(crate) fn finish_drain(
        &mut self,
        id: MachineId,
        in_flight: &InFlight,
        outcome: Outcome,
        terms: &Terms<'_>,
    ) {
        let now = self.now;
        self.change(id, |machine| {
            machine.action = None;
            let drain = machine.drain.get_or_insert_default();
            drain.begins = false;
            match in_flight.kind {
                InFlightKind::ListPods(under) => settle_list(drain, under, outcome, now),
                InFlightKind::Evict => settle_eviction(drain, outcome),
                InFlightKind::Cordon | InFlightKind::Uncordon | InFlightKind::DeleteNode => {
                    settle_node(drain, outcome, now);
                }
                InFlightKind::Write
                | InFlightKind::Watch
                | InFlightKind::Read
                | InFlightKind::Probe(_)
                | InFlightKind::Confirm(_)
                | InFlightKind::Change(..)
                | InFlightKind::Disown
                | InFlightKind::Identify
                | InFlightKind::Certify
                | InFlightKind::Ask
                | InFlightKind::Attributes { .. }
                | InFlightKind::Tell(_) => {}
            }
            if drain.trouble.is_some() {
                terms.back_off(&mut drain.retry, now, key(id));
            }
        });
    }
}

fn settle_list(drain: &mut Drain, under: Option<u64>, outcome: Outcome, now: Timestamp) {
    match outcome {
        Outcome::Done(Receipt::Pods(pods)) => {
            drain.rounds = if drain.refused.is_some() { drain.rounds.saturating_add(1) } else { 0 };
            drain.pods = Some(Listed::new(pods, now, under, drain.pods.as_ref()));
            drain.passed = 0;
            drain.refused = None;
            drain.trouble = None;
            drain.retry = Retry::default();
        }
        other @ (Outcome::Done(_)
        | Outcome::Stale
        | Outcome::Retryable(_)
        | Outcome::Refused(_)
        | Outcome::Unknown) => {
            drain.trouble = Some(trouble_of(other, Detail::PodsNotListed));
        }
    }
}

fn settle_eviction(drain: &mut Drain, outcome: Outcome) {
    match outcome {
        Outcome::Retryable(cause) if cause.kind == CauseKind::ApiUnavailable => {
            drain.trouble = Some(cause.into());
            return;
        }
        Outcome::Retryable(cause) | Outcome::Refused(cause) => {
            let current = drain.pods.as_ref().and_then(|listed| listed.pods.get(drain.passed));
            if let (None, Some(facts)) = (&drain.refused, current) {
                drain.refused = Some((facts.pod.clone(), cause));
            }
        }
        // It is leaving, or has left, or the next list shows that it has not.
        Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => {}
    }
    drain.trouble = None;
    drain.passed += 1;
}

/// The Node's own watch shows what became of a write. Until then nothing else is tried, unless it takes too long.
fn settle_node(drain: &mut Drain, outcome: Outcome, now: Timestamp) {
    match outcome {
        Outcome::Done(_) => {
            drain.trouble = None;
            let not_before = if drain.awaits { now + ECHO } else { Timestamp::ZERO };
            drain.retry = Retry { failures: 0, not_before };
        }
        Outcome::Unknown => drain.trouble = Some(trouble_of(Outcome::Unknown, Detail::NoAnswer)),
        // What made it so was seen already.
        Outcome::Stale if !drain.awaits => drain.trouble = None,
        other @ (Outcome::Stale | Outcome::Retryable(_) | Outcome::Refused(_)) => {
            drain.cordoning = false;
            drain.trouble = Some(trouble_of(other, Detail::NodeChanged));
        }
    }
}

/// As it was reported, or as what its end says.
fn trouble_of(outcome: Outcome, detail: Detail) -> Trouble {
    match outcome {
        Outcome::Retryable(cause) | Outcome::Refused(cause) => cause.into(),
        Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => {
            Trouble::new(CauseKind::ApiUnavailable, detail)
        }
    }
}
