//! Actions under way. Each one is answered exactly once, at the latest at its deadline, even when the task that carries
//! it out panics or hangs.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::host::wire;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::Outcome;
use seaworthy_model::time::Timestamp;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The answer of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// An outcome.
    Outcome(Outcome),
    /// A host's reply. Its names are not translated into ids yet.
    Reply {
        /// The reply.
        reply: Box<wire::Reply>,
        /// The key that the host has shown.
        host_key: String,
    },
}

/// An answer with the action that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Landed {
    pub(crate) action: ActionId,
    pub(crate) answer: Answer,
}

/// An action under way.
#[derive(Debug)]
pub(crate) struct Flown {
    /// The action, for logs and metrics.
    pub(crate) label: Label,
    /// When it began.
    pub(crate) began: Instant,
    deadline: Timestamp,
    task: AbortHandle,
}

/// An action as logs and metrics name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// A word of a closed list.
    pub(crate) effect: &'static str,
    /// On what, for people.
    pub(crate) object: String,
    /// What is done to which component, for people.
    pub(crate) work: Option<String>,
    /// Whether it is routine, and logged at a lower level.
    pub(crate) quiet: bool,
    /// Whether it is a write to an API server.
    pub(crate) is_api_write: bool,
}

/// All actions under way.
#[derive(Debug)]
pub(crate) struct Flight {
    flown: BTreeMap<ActionId, Flown>,
    deadlines: BTreeSet<(Timestamp, ActionId)>,
    landing: mpsc::UnboundedSender<Landed>,
}

impl Flight {
    /// None yet. Answers come out of the receiver.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Landed>) {
        // The channel needs no bound: it holds at most one message for each action under way.
        let (landing, landed) = mpsc::unbounded_channel();
        (Self { flown: BTreeMap::new(), deadlines: BTreeSet::new(), landing }, landed)
    }

    /// Starts `work` for the action, as a task of its own.
    pub(crate) fn launch(
        &mut self,
        action: ActionId,
        deadline: Timestamp,
        label: Label,
        work: impl Future<Output = Answer> + Send + 'static,
    ) {
        let slot = Slot { action, landing: self.landing.clone(), given: false };
        let task = tokio::spawn(async move { slot.give(work.await) }).abort_handle();
        self.deadlines.insert((deadline, action));
        let replaced = self.flown.insert(action, Flown { label, began: Instant::now(), deadline, task });
        debug_assert!(replaced.is_none(), "action {action:?} was ordered twice");
    }

    /// Takes the action out, unless it was answered already.
    pub(crate) fn land(&mut self, action: ActionId) -> Option<Flown> {
        let flown = self.flown.remove(&action)?;
        self.deadlines.remove(&(flown.deadline, action));
        Some(flown)
    }

    /// Removes the next action whose deadline has passed, and ends its task.
    pub(crate) fn expire(&mut self, now: Timestamp) -> Option<(ActionId, Flown)> {
        let &(_, action) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        let flown = self.land(action)?;
        flown.task.abort();
        Some((action, flown))
    }

    /// The nearest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        self.flown.len()
    }

    /// The actions under way.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &Label> {
        self.flown.values().map(|flown| &flown.label)
    }
}

impl Drop for Flight {
    /// The answers would have no receiver.
    fn drop(&mut self) {
        for flown in self.flown.values() {
            flown.task.abort();
        }
    }
}

/// The one answer that a task owes. A task that panics or is aborted owes it too: then its outcome is unknown.
struct Slot {
    action: ActionId,
    landing: mpsc::UnboundedSender<Landed>,
    given: bool,
}

impl Slot {
    fn give(mut self, answer: Answer) {
        self.given = true;
        self.send(answer);
    }

    fn send(&self, answer: Answer) {
        // Without a receiver the operator has ended, and the answer does not matter.
        let _ = self.landing.send(Landed { action: self.action, answer });
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.given {
            self.send(Answer::Outcome(Outcome::Unknown));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use seaworthy_model::event::Receipt;

    use super::*;

    const ID: ActionId = ActionId(7);
    const DONE: Answer = Answer::Outcome(Outcome::Done(Receipt::Nothing));
    const UNKNOWN: Answer = Answer::Outcome(Outcome::Unknown);

    fn label() -> Label {
        Label { effect: "test", object: "m1".into(), work: None, quiet: true, is_api_write: false }
    }

    #[tokio::test]
    async fn an_answer_lands_once() {
        let (mut flight, mut landed) = Flight::new();
        flight.launch(ID, Timestamp::from_millis(100), label(), async { DONE });
        assert_eq!(landed.recv().await, Some(Landed { action: ID, answer: DONE }));
        assert!(flight.land(ID).is_some());
        assert!(flight.land(ID).is_none());
        assert!(flight.expire(Timestamp::MAX).is_none(), "it was answered");
        assert_eq!((flight.len(), flight.next_deadline()), (0, None));
    }

    #[tokio::test]
    async fn a_panic_is_an_unknown_outcome() {
        let (mut flight, mut landed) = Flight::new();
        flight.launch(ID, Timestamp::from_millis(100), label(), async { panic!("a bug in an executor") });
        assert_eq!(landed.recv().await, Some(Landed { action: ID, answer: UNKNOWN }));
    }

    #[tokio::test]
    async fn deadlines_expire_in_order_and_end_their_tasks() {
        let (mut flight, mut landed) = Flight::new();
        flight.launch(ActionId(1), Timestamp::from_millis(200), label(), pending());
        flight.launch(ActionId(2), Timestamp::from_millis(100), label(), pending());
        flight.launch(ActionId(3), Timestamp::from_millis(300), label(), pending());
        assert_eq!(flight.next_deadline(), Some(Timestamp::from_millis(100)));
        assert!(flight.expire(Timestamp::from_millis(99)).is_none());
        let expired: Vec<_> = std::iter::from_fn(|| flight.expire(Timestamp::from_millis(200)))
            .map(|(action, _)| action)
            .collect();
        assert_eq!(expired, [ActionId(2), ActionId(1)]);
        // The aborted tasks still answer that the outcome is unknown. These actions are answered already.
        for _ in 0..2 {
            let late = landed.recv().await.unwrap();
            assert_eq!(late.answer, UNKNOWN);
            assert!(flight.land(late.action).is_none());
        }
        assert_eq!(flight.len(), 1);
    }
}
