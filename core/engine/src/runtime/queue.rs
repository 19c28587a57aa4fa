//! The work queue: it merges duplicates, orders by class, and is fair.
//!
//! A subject is in the queue at most once, however often it is added. Higher classes go first, but a lower class
//! gets a turn after at most [`FAIRNESS`] subjects of higher ones, so that a storm of changes starves no audit.

use alloc::collections::VecDeque;

use seaworthy_model::report::Subject;
use seaworthy_model::time::Timestamp;

use crate::runtime::by_subject::BySubject;
use crate::runtime::timers::Timers;

/// How many subjects of higher classes may go before a waiting subject of a lower class.
const FAIRNESS: u32 = 8;
/// Up to this many superseded timers are not worth clearing away.
const SPARE_TIMERS: usize = 64;

/// How soon a subject is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// What everything else waits for: leadership, rollouts.
    Urgent,
    /// Something changed.
    Normal,
    /// Nothing is known to have changed.
    Low,
}

impl Priority {
    const fn lane(self) -> usize {
        match self {
            Self::Urgent => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }
}

/// The work queue. FIFO within a class; a subject that was promoted to a higher class and comes back may keep its old
/// place.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkQueue {
    lanes: [VecDeque<Subject>; 3],
    /// How many subjects of higher classes went since the lane was last served or empty.
    skipped: [u32; 3],
    /// The class of each queued subject. An entry in a lane of another class is void.
    queued: BySubject<Priority>,
    /// When to add which subject. An entry counts only if `timer_of` agrees: a timer that was superseded by an earlier
    /// one stays until it comes to the top, or until more than half of all are superseded.
    timers: Timers,
    timer_of: BySubject<Timestamp>,
}

impl WorkQueue {
    /// Adds a subject now. If it is queued already, it keeps its place unless the new class is higher. Its timer, if
    /// any, stays.
    pub(crate) fn add(&mut self, subject: Subject, priority: Priority) {
        match self.queued.get(subject) {
            Some(present) if present <= priority => {}
            Some(_) | None => {
                self.queued.insert(subject, priority);
                self.lanes[priority.lane()].push_back(subject);
            }
        }
    }

    /// Adds a subject at a time. Of several times the earliest holds.
    pub(crate) fn add_at(&mut self, subject: Subject, at: Timestamp) {
        if self.timer_of.get(subject).is_some_and(|present| present <= at) {
            return;
        }
        self.timer_of.insert(subject, at);
        self.timers.push(at, subject);
        if self.timers.len() > 2 * self.timer_of.len() + SPARE_TIMERS {
            let Self { timers, timer_of, .. } = self;
            timers.retain(|at, subject| timer_of.get(subject) == Some(at));
        }
    }

    /// Queues every subject whose timer has expired, as class `Low`. Leadership goes as `Urgent`: the Lease is renewed
    /// first.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        while let Some((at, subject)) = self.timers.peek() {
            let holds = self.timer_of.get(subject) == Some(at);
            if holds && at > now {
                break;
            }
            self.timers.pop();
            if holds {
                self.timer_of.remove(subject);
                let leads = subject == Subject::Leadership;
                self.add(subject, if leads { Priority::Urgent } else { Priority::Low });
            }
        }
    }

    /// The next subject.
    pub(crate) fn pop(&mut self) -> Option<Subject> {
        if self.queued.is_empty() {
            // All entries that are left in the lanes are void.
            for lane in self.lanes.iter_mut().filter(|lane| !lane.is_empty()) {
                lane.clear();
            }
            return None;
        }
        let skipped = self.skipped;
        // Both lower lanes are tried: the entries of an overdue lane may all be void, and then the other one must not
        // be passed over.
        for lane in [2, 1] {
            if skipped[lane] >= FAIRNESS
                && let Some(subject) = self.pop_from(lane)
            {
                return Some(subject);
            }
        }
        (0..3).find_map(|lane| self.pop_from(lane))
    }

    fn pop_from(&mut self, lane: usize) -> Option<Subject> {
        while let Some(subject) = self.lanes[lane].pop_front() {
            if self.queued.remove_if(subject, |class| class.lane() == lane) {
                self.serve(lane);
                return Some(subject);
            }
        }
        None
    }

    /// Some subjects that go soon: the first few of each class.
    pub(crate) fn ahead(&self, few: usize) -> impl Iterator<Item = Subject> {
        self.lanes.iter().flat_map(move |lane| lane.iter().take(few).copied())
    }

    /// Reads the entries of a subject in order to prefetch them.
    pub(crate) fn touch(&self, subject: Subject) -> u64 {
        self.timer_of.get(subject).map_or(0, |at| at.millis()) ^ u64::from(self.queued.get(subject).is_some())
    }

    /// How many subjects are queued now.
    #[must_use]
    pub(crate) const fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether no subject is queued now.
    #[must_use]
    pub(crate) const fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// The next timer to expire, and its subject. The entry at the top is valid: `advance` leaves no superseded entry
    /// there, and what `add_at` supersedes lies below the entry that supersedes it.
    #[must_use]
    pub(crate) fn next_timer(&self) -> Option<(Timestamp, Subject)> {
        self.timers.peek()
    }

    fn serve(&mut self, lane: usize) {
        self.skipped[lane] = 0;
        for lower in lane + 1..3 {
            if self.lanes[lower].is_empty() {
                self.skipped[lower] = 0;
            } else {
                self.skipped[lower] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use seaworthy_model::id::MachineId;

    use super::*;

    const CLASSES: [Priority; 3] = [Priority::Urgent, Priority::Normal, Priority::Low];

    fn machine(id: u32) -> Subject {
        Subject::Machine(MachineId(id))
    }

    #[test]
    fn merges_and_raises() {
        let mut queue = WorkQueue::default();
        queue.add(machine(1), Priority::Low);
        queue.add(machine(2), Priority::Low);
        queue.add(machine(2), Priority::Normal);
        queue.add(machine(2), Priority::Low);
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.pop(), Some(machine(2)));
        assert_eq!(queue.pop(), Some(machine(1)));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn the_earliest_timer_holds() {
        let mut queue = WorkQueue::default();
        queue.add_at(machine(1), Timestamp::from_millis(20));
        queue.add_at(machine(1), Timestamp::from_millis(10));
        queue.add_at(machine(1), Timestamp::from_millis(30));
        assert_eq!(queue.next_timer(), Some((Timestamp::from_millis(10), machine(1))));
        queue.advance(Timestamp::from_millis(9));
        assert!(queue.is_empty());
        queue.advance(Timestamp::from_millis(10));
        assert_eq!(queue.pop(), Some(machine(1)));
        assert_eq!(queue.next_timer(), None);
    }

    #[test]
    fn a_place_that_was_left_costs_no_other_class_its_turn() {
        let mut queue = WorkQueue::default();
        queue.add(machine(0), Priority::Low);
        queue.add(machine(0), Priority::Urgent);
        queue.add(machine(100), Priority::Normal);
        for id in 1..=FAIRNESS {
            queue.add(machine(id), Priority::Urgent);
        }
        for id in 0..FAIRNESS {
            assert_eq!(queue.pop(), Some(machine(id)));
        }
        assert_eq!(queue.pop(), Some(machine(100)));
    }

    /// An operation on a queue.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(Subject, Priority),
        /// Adds the subject this many times, each time a millisecond earlier, the last time at this time.
        AddAt(Subject, u64, u64),
        /// This many milliseconds pass.
        Advance(u64),
        Pop,
    }

    fn step() -> impl Strategy<Value = Step> {
        let subject = (0u32..12).prop_map(|id| if id == 0 { Subject::Leadership } else { machine(id) });
        let priority = (0usize..3).prop_map(|class| CLASSES[class]);
        let times = prop_oneof![9 => Just(1u64), 1 => 2u64..100];
        prop_oneof![
            4 => (subject.clone(), priority).prop_map(|(subject, class)| Step::Add(subject, class)),
            2 => (subject, 0u64..1 << 18, times).prop_map(|(of, at, times)| Step::AddAt(of, at, times)),
            1 => (0u64..1 << 15).prop_map(Step::Advance),
            3 => Just(Step::Pop),
        ]
    }

    /// A queue as simple as it can be: the model that the real one is compared with.
    #[derive(Default)]
    struct Model {
        /// The class of each subject, and when the subject came into it.
        waiting: BTreeMap<Subject, (Priority, u32)>,
        came: u32,
        /// Subjects that were promoted, and from which class: they may get their old place there again.
        left: BTreeSet<(Subject, Priority)>,
        timers: BTreeMap<Subject, u64>,
        now: u64,
        /// By class: how many of higher classes went since one of this class did, and while one of it waited.
        passed: [u32; 3],
        starved: [u32; 3],
    }

    impl Model {
        fn add(&mut self, subject: Subject, class: Priority) {
            let present = self.waiting.get(&subject).map(|(present, _)| *present);
            if present.is_none_or(|present| class < present) {
                self.left.extend(present.map(|present| (subject, present)));
                self.waiting.insert(subject, (class, self.came));
                self.came += 1;
            }
        }

        fn add_at(&mut self, subject: Subject, at: u64) {
            let present = self.timers.entry(subject).or_insert(at);
            *present = at.min(*present);
        }

        fn advance(&mut self, by: u64) {
            self.now += by;
            let due = self.timers.extract_if(.., |_, at| *at <= self.now).map(|(subject, at)| (at, subject));
            for (_, subject) in due.collect::<BTreeSet<_>>() {
                let leads = subject == Subject::Leadership;
                self.add(subject, if leads { Priority::Urgent } else { Priority::Low });
            }
        }

        /// `subject` went. Returns what is wrong with that.
        fn went(&mut self, subject: Option<Subject>) -> Result<(), &'static str> {
            let Some(subject) = subject else {
                return if self.waiting.is_empty() { Ok(()) } else { Err("some were lost") };
            };
            let (class, came) = self.waiting.remove(&subject).ok_or("it was not added, or went already")?;
            let lane = class.lane();
            if self.waiting.values().any(|other| other.0 < class) && self.passed[lane] < FAIRNESS {
                return Err("a higher class waits, and it is not its turn");
            }
            let is_first = self.waiting.values().all(|other| other.0 != class || other.1 > came);
            if !is_first && !self.left.contains(&(subject, class)) {
                return Err("others of its class came before");
            }
            (self.passed[lane], self.starved[lane]) = (0, 0);
            for lower in lane + 1..3 {
                self.passed[lower] += 1;
                let waits = self.waiting.values().any(|other| other.0.lane() == lower);
                self.starved[lower] = if waits { self.starved[lower] + 1 } else { 0 };
            }
            if self.starved.iter().any(|passed| *passed > FAIRNESS) { Err("it starves") } else { Ok(()) }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// For any order of additions, while time passes and others go, each subject goes once, in its turn.
        #[test]
        fn does_what_an_obvious_queue_does(steps in prop::collection::vec(step(), 1..300)) {
            let (mut queue, mut model) = (WorkQueue::default(), Model::default());
            let last = [Step::Advance(u64::from(u32::MAX))].into_iter().chain(core::iter::repeat_n(Step::Pop, 13));
            for step in steps.into_iter().chain(last) {
                match step {
                    Step::Add(subject, class) => {
                        queue.add(subject, class);
                        model.add(subject, class);
                    }
                    Step::AddAt(subject, at, times) => for at in (at..at + times).rev() {
                        queue.add_at(subject, Timestamp::from_millis(at));
                        model.add_at(subject, at);
                    }
                    Step::Advance(by) => {
                        model.advance(by);
                        queue.advance(Timestamp::from_millis(model.now));
                    }
                    Step::Pop => prop_assert_eq!(model.went(queue.pop()), Ok(())),
                }
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.waiting.len(), model.waiting.is_empty()));
                let first = model.timers.iter().map(|(subject, at)| (Timestamp::from_millis(*at), *subject)).min();
                prop_assert_eq!(queue.next_timer(), first);
            }
            prop_assert!(queue.is_empty() && queue.next_timer().is_none());
        }
    }

    proptest! {
        /// However subjects are added, each comes out exactly once, and a waiting subject of class Low comes out
        /// after at most FAIRNESS subjects of higher classes plus those of its own class that were before it.
        #[test]
        fn every_subject_once_and_none_starves(adds in prop::collection::vec((0u32..40, 0usize..3), 1..200)) {
            let mut queue = WorkQueue::default();
            let mut expected = BTreeSet::new();
            for &(id, class) in &adds {
                queue.add(machine(id), CLASSES[class]);
                expected.insert(machine(id));
            }
            let low_waits = queue.lanes[2].iter().any(|subject| queue.queued.get(*subject) == Some(Priority::Low));
            let mut out = BTreeSet::new();
            let mut first_low = None;
            let classes = queue.queued.clone();
            while let Some(subject) = queue.pop() {
                if classes.get(subject) == Some(Priority::Low) && first_low.is_none() {
                    first_low = Some(out.len());
                }
                prop_assert!(out.insert(subject), "came out twice");
            }
            prop_assert_eq!(out, expected);
            if low_waits {
                prop_assert!(first_low.is_some_and(|position| position <= FAIRNESS as usize + 1));
            }
        }
    }
}
