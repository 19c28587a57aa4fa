//! All observers of a scenario. Each observes every happening, one after the other.

use std::any::Any;

use super::contents::Contents;
use super::history::{Recorder, Seen};
use super::oracle::{Oracle, judge};
use super::record::Record;
use super::tally::Tally;
use crate::scenario::{Check, Scenario};
use crate::world::{Ahead, Happening, Interests, Observer, Turned, World};

/// All observers of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Observers {
    /// Judges the run.
    pub(crate) oracle: Oracle,
    /// Counts what happens.
    pub(crate) tally: Tally,
    /// Records the history for users, if requested.
    pub(crate) recorder: Recorder,
    /// Records every event, if runs are compared.
    pub(crate) record: Option<Box<Record>>,
    /// Digests what operators send, if builds are compared.
    pub(crate) contents: Option<Box<Contents>>,
}

impl Observers {
    /// The observers of a scenario from its start. Nothing is recorded yet.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let fleet = &scenario.fleet;
        Self {
            oracle: Oracle::new(fleet.machines, fleet.nodes).allowing(&scenario.allowed),
            tally: Tally::default(),
            recorder: Recorder::default(),
            record: None,
            contents: None,
        }
    }

    /// The observers of a world.
    ///
    /// # Panics
    /// When the world has no observer or another one: such a world was not made for a run.
    pub(crate) fn of(world: &World) -> &Self {
        let observer: Option<&dyn Any> = world.observer().map(|observer| observer as &dyn Any);
        observer.and_then(|any| any.downcast_ref()).expect("a run has its observers")
    }

    /// Changes the observers of a world.
    ///
    /// # Panics
    /// As [`Self::of`].
    pub(crate) fn change<R>(world: &mut World, change: impl FnOnce(&mut Self) -> R) -> R {
        world.change_observer(|observer| {
            let any: Option<&mut dyn Any> = observer.map(|observer| observer as &mut dyn Any);
            change(any.and_then(|any| any.downcast_mut()).expect("a run has its observers"))
        })
    }

    /// The reasons why an expectation does not hold. Empty if it holds.
    pub(crate) fn judge(&self, world: &World, check: &Check) -> Vec<String> {
        judge(world, (&self.oracle, &self.tally), check)
    }

    /// Checks the expectations of a moment of the timeline before users act.
    fn look(&mut self, world: &World, expected: &[Check]) {
        for problem in expected.iter().flat_map(|check| self.judge(world, check)).collect::<Vec<_>>() {
            self.oracle.breach("expected", world.now(), problem);
        }
    }

    /// Whether anything is recorded. Most runs record nothing, and there are many happenings.
    fn is_recording(&self) -> bool {
        self.record.is_some() | self.contents.is_some() | self.recorder.is_on()
    }

    #[cold]
    fn write_down(&mut self, world: &World, happening: &Happening<'_>) {
        if let Some(record) = &mut self.record {
            record.observe(world, happening);
        }
        if let Some(contents) = &mut self.contents {
            contents.observe(world, happening);
        }
        if self.recorder.is_on() {
            self.recorder.observe(world, happening);
            if let Happening::Turned(turned) = happening {
                self.record_turn(world, turned);
            }
        }
    }

    fn record_turn(&mut self, world: &World, turned: &Turned<'_>) {
        let Turned { process, engine, turn, touched, .. } = *turned;
        let seen = Seen { process, world: engine.world(), turn, touched, truth: self.oracle.in_use() };
        self.recorder.turn(world.now(), &seen, &self.tally);
    }
}

impl Observer for Observers {
    fn observe(&mut self, world: &World, happening: &Happening<'_>) {
        self.tally.observe(world, happening);
        if let Some(occasion) = self.oracle.observe(world, happening) {
            self.tally.note(occasion);
        }
        if let Happening::PeopleAct(_, moment) = happening {
            self.look(world, &moment.expect);
        }
        if self.is_recording() {
            self.write_down(world, happening);
        }
    }

    fn objects(&self) -> bool {
        !self.oracle.violations().is_empty()
    }

    fn interests(&self) -> Interests {
        Interests {
            events: self.record.is_some(),
            messages: self.contents.is_some(),
            machines: self.recorder.is_on(),
        }
    }

    fn prefetch(&self, ahead: Ahead) -> u64 {
        self.oracle.prefetch(ahead)
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}
