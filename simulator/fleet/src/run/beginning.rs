//! The beginning of a run: a world and its observers.

use std::sync::Arc;

use crate::faults::Ledger;
use crate::observers::Observers;
use crate::options::Options;
use crate::run::label::fault_labels;
use crate::scenario::Scenario;
use crate::world::World;

/// The world of a scenario at its beginning, with its observers.
#[must_use]
pub fn begin(scenario: Arc<Scenario>, options: Options) -> World {
    begin_with(scenario, options, None)
}

/// The same world, with a ledger that records strikes.
#[must_use]
pub fn begin_noted(scenario: Arc<Scenario>, options: Options) -> World {
    let ledger = Ledger::recording(fault_labels(&scenario));
    begin_with(scenario, options, Some(ledger))
}

/// The same world, with a ledger that records or dictates strikes.
pub(crate) fn begin_with(scenario: Arc<Scenario>, options: Options, ledger: Option<Ledger>) -> World {
    let observers = Observers::new(&scenario);
    World::observed(scenario, options, ledger, Some(Box::new(observers)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::vocabulary::START;

    const STORM: &str = include_str!("../../../../scenarios/fast/storm.yaml");

    /// A rehearsal runs worlds without observers: they can be built, cloned and run, and behave as all others do.
    #[test]
    fn a_world_that_nobody_looks_at_is_the_same() {
        let scenario = Arc::new(Scenario::read("storm.yaml", STORM).unwrap());
        let mut observed = begin(Arc::clone(&scenario), Options::default());
        let mut alone = World::new(scenario, Options::default());
        assert!(observed.observer().is_some() && alone.observer().is_none());
        let until = |world: &mut World, hours: u64| {
            while world.step_until(START + Duration::from_secs(hours * 3_600)) {}
        };
        until(&mut observed, 1);
        until(&mut alone, 1);
        let before = alone.trace;
        let mut fork = alone.clone();
        until(&mut observed, 3);
        until(&mut alone, 3);
        until(&mut fork, 3);
        assert_ne!(before, alone.trace);
        assert_eq!((observed.trace, fork.trace), (alone.trace, alone.trace));
    }
}
