//! What is known of the drain of a machine's Node, besides the mark on it. The mark is what lasts; all of this is lost with
//! the engine, and found again by listing the pods.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::cause::Cause;
use seaworthy_model::id::Uid;
use seaworthy_model::pod::{DrainPolicy, PodFacts, PodFate, PodName};
use seaworthy_model::time::Timestamp;

use crate::rows::node_write::NodeWrite;

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
    /// Its pods, as they were listed last.
    pub pods: Option<Listed>,
    /// How many of them were gone through since.
    pub passed: usize,
    /// The first that could not be evicted, and why.
    pub refused: Option<(PodName, Cause)>,
    /// Rounds in a row in which pods could not be evicted.
    pub rounds: u32,
    /// Its writes of the Node. Lists and evictions that do not work count like writes.
    pub write: NodeWrite,
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
