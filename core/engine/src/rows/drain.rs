//! The drain of a machine's Node, apart from the mark on it. Only the mark is durable; all of this is lost with the
//! engine, and rebuilt by listing the pods.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::cause::Cause;
use seaworthy_model::id::Uid;
use seaworthy_model::pod::{DrainPolicy, PodFacts, PodFate, PodName};
use seaworthy_model::time::Timestamp;

use crate::rows::node_write::NodeWrite;

/// How often the pods are listed while some are leaving. kubectl polls every second, but for one Node.
const POLL: Duration = Duration::from_secs(5);
/// The longest interval between two lists while disruption budgets refuse evictions: kubectl retries every 5 s, for as
/// long as it runs.
const POLL_MAX: Duration = Duration::from_secs(60);

/// The drain of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    /// The pods are being listed for the first time; if they may be evicted, the Node is cordoned. A slot is held for
    /// that.
    pub begins: bool,
    /// A cordon was ordered, and the watch has not shown it on the Node yet.
    pub cordoning: bool,
    /// Its pods, as last listed.
    pub pods: Option<Listed>,
    /// How many of them this round has passed already.
    pub passed: usize,
    /// The first pod that could not be evicted, and why.
    pub refused: Option<(PodName, Cause)>,
    /// Rounds in a row with a pod that could not be evicted.
    pub rounds: u32,
    /// Its writes of the Node. A list or an eviction that fails counts as a failed write.
    pub write: NodeWrite,
    /// The drain does not begin before this time.
    pub rests_until: Timestamp,
    /// Since when the Node stays drained without work, because another rollout is about to grant the machine.
    pub held_since: Option<Timestamp>,
    /// Since when the engine looks for a Node of a machine that runs a kubelet, and the watch has shown none.
    pub no_node_since: Option<Timestamp>,
}

/// A list of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// All pods of the Node, sorted by name.
    pub pods: Arc<[PodFacts]>,
    /// For each pod: since when it is observed to be leaving, if it is. Measured by our clock, since the API server's
    /// may differ.
    pub leaving_since: Box<[Timestamp]>,
    /// When the list was made.
    pub at: Timestamp,
    /// The order number of the mark that was on the Node before the list was requested, if any: no pod was placed on
    /// the Node since.
    pub under: Option<u64>,
}

impl Drain {
    /// Whether some pods could not be evicted when that was last tried.
    pub(crate) const fn is_held_up(&self) -> bool {
        self.refused.is_some() || self.rounds > 0
    }

    /// When the pods are listed again while some have not left yet.
    #[must_use]
    pub fn next_look(&self) -> Timestamp {
        let wait = POLL.saturating_mul(1 << self.rounds.min(6)).min(POLL_MAX);
        self.pods.as_ref().map_or(Timestamp::ZERO, |listed| listed.at + wait)
    }
}

impl Listed {
    /// The pods, each with what a drain does about it.
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

    /// A new list. A pod that was leaving in an earlier list keeps the time since when it has been.
    pub(crate) fn new(
        pods: Arc<[PodFacts]>,
        at: Timestamp,
        under: Option<u64>,
        before: Option<&Self>,
    ) -> Self {
        let since = |facts: &PodFacts| before.and_then(|before| before.leaving_since(facts.pod.uid));
        let leaving_since = pods.iter().map(|facts| since(facts).unwrap_or(at)).collect();
        Self { pods, leaving_since, at, under }
    }

    fn leaving_since(&self, pod: Uid) -> Option<Timestamp> {
        let place = self.pods.iter().position(|facts| facts.pod.uid == pod && facts.leaving.is_some())?;
        self.leaving_since.get(place).copied()
    }

    /// The pods that have to leave and have not left yet.
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
