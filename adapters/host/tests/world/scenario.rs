//! Operations that are interrupted at every step, and what a host may look like afterwards.

use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use seaworthy_api::host::wire::{Answer, Command, Operation, Request};
use seaworthy_host::{Steps, Unobserved};
use seaworthy_model::host::{OperationId, OperationState};

use super::artefacts::{
    ALL, ANEW, Artefacts, BARE, Edition, GUARDED, GUARDED_ANEW, LEFT, LIVE, LIVE_GUARDED, LIVE_NEXT,
    LIVE_OTHER, LIVE_SICK, NEW, OLD, SICK, SICK_ANEW, UNFIT, remove,
};
use super::judge::{assert_whole, confirm, facts, lapse, outcome, outcome_with, started_anew};
use super::units::MOUNTS;
use super::{World, apply, operation_id};

/// The number of the operation that is interrupted.
pub const VICTIM: u64 = 10;

/// The file with the number of the daemon's process, and one with that of the process before the operation.
const PROCESS: &str = "webd.service.pid";
const FIRST: &str = "first";

/// What is done to the host beforehand, what is ordered, and what may come of it.
pub struct Scenario {
    pub name: &'static str,
    pub before: Option<Edition>,
    pub damage: fn(&World),
    pub order: Ordered,
    /// What is installed when it succeeded.
    pub after: Option<Edition>,
    /// Whether it is to fail, with what was there before restored.
    pub fails: bool,
    /// What is done about it if it has to be confirmed.
    pub then: Then,
}

/// What is done about an operation that has to be confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Confirm,
    Lapse,
}

pub enum Ordered {
    Install(Edition),
    Remove,
}

pub const SCENARIOS: [Scenario; 22] = [
    Scenario {
        name: "install",
        before: None,
        damage: none,
        order: Ordered::Install(NEW),
        after: Some(NEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "upgrade",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(NEW),
        after: Some(NEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "repair",
        before: Some(NEW),
        damage: hand_edit,
        order: Ordered::Install(NEW),
        after: Some(NEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "failing upgrade",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(SICK),
        after: Some(SICK),
        fails: true,
        then: Then::Confirm,
    },
    Scenario {
        name: "failing preflight",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(UNFIT),
        after: Some(UNFIT),
        fails: true,
        then: Then::Confirm,
    },
    Scenario {
        name: "bare release",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(BARE),
        after: Some(BARE),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "failing install",
        before: None,
        damage: none,
        order: Ordered::Install(SICK),
        after: Some(SICK),
        fails: true,
        then: Then::Confirm,
    },
    Scenario {
        name: "reboot",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(ANEW),
        after: Some(ANEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "reboot for the first release",
        before: None,
        damage: none,
        order: Ordered::Install(ANEW),
        after: Some(ANEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "reboot and back",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(SICK_ANEW),
        after: Some(SICK_ANEW),
        fails: true,
        then: Then::Confirm,
    },
    Scenario {
        name: "reboot for what goes",
        before: Some(ANEW),
        damage: none,
        order: Ordered::Install(NEW),
        after: Some(NEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "confirmed",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(GUARDED),
        after: Some(GUARDED),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "lapsed",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(GUARDED),
        after: Some(GUARDED),
        fails: true,
        then: Then::Lapse,
    },
    Scenario {
        name: "lapsed first release",
        before: None,
        damage: none,
        order: Ordered::Install(GUARDED),
        after: Some(GUARDED),
        fails: true,
        then: Then::Lapse,
    },
    Scenario {
        name: "repair that is confirmed",
        before: Some(GUARDED),
        damage: hand_edit,
        order: Ordered::Install(GUARDED),
        after: Some(GUARDED),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "reboot and confirmed",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(GUARDED_ANEW),
        after: Some(GUARDED_ANEW),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "reboot and lapsed",
        before: Some(OLD),
        damage: none,
        order: Ordered::Install(GUARDED_ANEW),
        after: Some(GUARDED_ANEW),
        fails: true,
        then: Then::Lapse,
    },
    Scenario {
        name: "reload",
        before: Some(LIVE),
        damage: none,
        order: Ordered::Install(LIVE_NEXT),
        after: Some(LIVE_NEXT),
        fails: false,
        then: Then::Confirm,
    },
    Scenario {
        name: "reload and back",
        before: Some(LIVE),
        damage: none,
        order: Ordered::Install(LIVE_SICK),
        after: Some(LIVE_SICK),
        fails: true,
        then: Then::Confirm,
    },
    Scenario {
        name: "reload that lapses",
        before: Some(LIVE),
        damage: none,
        order: Ordered::Install(LIVE_GUARDED),
        after: Some(LIVE_GUARDED),
        fails: true,
        then: Then::Lapse,
    },
    Scenario {
        name: "reload that is refused",
        before: Some(LIVE),
        damage: none,
        order: Ordered::Install(LIVE_OTHER),
        after: Some(LIVE_OTHER),
        fails: true,
        then: Then::Confirm,
    },
    Scenario {
        name: "remove",
        before: Some(OLD),
        damage: used,
        order: Ordered::Remove,
        after: None,
        fails: false,
        then: Then::Confirm,
    },
];

fn none(_: &World) {}

/// The daemon ran for a while.
fn used(world: &World) {
    let left = world.prefix().join(&LEFT[1..]);
    fs::create_dir_all(left.join("pods/one")).unwrap();
    fs::write(left.join("pods/one/data"), "precious to nobody").unwrap();
    let mounts = [left.join("pods"), left.join("pods/one")].map(|path| format!("{}\n", path.display()));
    fs::write(world.volatile.join(MOUNTS), mounts.concat()).unwrap();
}

fn hand_edit(world: &World) {
    let config = world.layout().current("webd").join("etc/webd.conf");
    fs::write(config, "greeting = edited by hand\n").unwrap();
}

/// Goes through all scenarios, two at a time, and says what `interrupt` says of each: at how many steps it was interrupted.
pub fn for_each(what: &str, interrupt: impl Fn(&Scenario) -> u64 + Sync) {
    let (next, total) = (AtomicUsize::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(scenario) = SCENARIOS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let points = interrupt(scenario);
                    assert!(points > 20, "{}: {points} steps are too few to be true", scenario.name);
                    println!("{what} after each of {points} steps: {}", scenario.name);
                    total.fetch_add(points, Ordering::Relaxed);
                }
            });
        }
    });
    println!("{what} after each of {} steps in all; recovery was complete each time", total.into_inner());
}

impl Then {
    /// What is done in the scenario of this name.
    pub fn of(name: &str) -> Self {
        SCENARIOS
            .iter()
            .find(|scenario| scenario.name == name)
            .map_or(Self::Confirm, |scenario| scenario.then)
    }

    /// Puts an end to an operation that waits to be confirmed.
    fn settle(self, world: &World, sequence: u64, id: OperationId, steps: &dyn Steps) {
        match self {
            Self::Confirm => drop(confirm(world, sequence, id, steps)),
            Self::Lapse => lapse(world, id, steps),
        }
    }

    /// What a victim does: gives an order, and sees an operation to its end.
    pub fn carry_through(self, world: &World, order: &Request, steps: &dyn Steps) {
        let reply = world.handle_with(order, steps);
        let Command::Apply(operation) = &order.command else { return };
        let (id, sequence) = (operation.id, order.fence.sequence);
        let state = match reply.answer {
            Answer::Pending => outcome_with(world, sequence + 1, id, steps),
            Answer::Done(facts) => facts.operation.map(|report| report.state),
            Answer::Later(_) | Answer::Refused(_) => None,
        };
        if state == Some(OperationState::Unconfirmed) {
            self.settle(world, sequence + 6, id, steps);
            // Who is restored after a reboot goes on after another one.
            outcome_with(world, sequence + 7, id, steps);
        }
    }
}

impl Scenario {
    /// Brings a new host to where the operation begins.
    pub fn set_up(&self, world: &World, artefacts: &Artefacts) {
        if let Some(edition) = self.before {
            self.carry_out(world, artefacts.install(1, edition), "before");
        }
        (self.damage)(world);
        if self.name.starts_with("reload") {
            fs::copy(world.volatile.join(PROCESS), world.volatile.join(FIRST)).unwrap();
        }
    }

    /// A service that is reloaded is the process that it was, unless the host was started anew in between.
    fn assert_ran_on(&self, world: &World, what: &str) {
        if let Ok(first) = fs::read_to_string(world.volatile.join(FIRST)) {
            let present = fs::read_to_string(world.volatile.join(PROCESS)).unwrap();
            assert_eq!(present, first, "{what}: the service was restarted");
        }
    }

    /// Orders an operation, and sees it to its success.
    fn carry_out(&self, world: &World, operation: Operation, what: &str) {
        let (id, sequence) = (operation.id, operation.id.sequence);
        let reply = world.handle(&apply(operation));
        assert!(matches!(reply.answer, Answer::Done(_) | Answer::Pending), "{what}: {reply:?}");
        let mut state = outcome(world, sequence + 1, id);
        if state == Some(OperationState::Unconfirmed) {
            state = facts(confirm(world, sequence + 5, id, &Unobserved)).operation.map(|report| report.state);
        }
        assert_eq!(state, Some(OperationState::Succeeded), "{what}");
    }

    /// The operation, under some number.
    pub fn operation(&self, artefacts: &Artefacts, sequence: u64) -> Operation {
        match self.order {
            Ordered::Install(edition) => artefacts.install(sequence, edition),
            Ordered::Remove => remove(sequence),
        }
    }

    /// After a second call the host has the old or the new release, and what it says about the operation is true. Then the
    /// same order succeeds, under a new name.
    pub fn judge(&self, world: &World, artefacts: &Artefacts, what: &str) {
        let mut state = outcome(world, VICTIM + 12, operation_id(VICTIM));
        if state == Some(OperationState::Unconfirmed) {
            self.then.settle(world, VICTIM + 17, operation_id(VICTIM), &Unobserved);
            state = outcome(world, VICTIM + 18, operation_id(VICTIM));
        }
        let what = format!("{what}\nthen {state:?}");
        let damaged = self.name.starts_with("repair");
        match &state {
            Some(OperationState::Succeeded) if !self.fails => self.assert_is(world, self.after, &what),
            Some(OperationState::Failed(_)) if self.fails => self.assert_is(world, self.before, &what),
            Some(OperationState::Interrupted) | None if damaged => {}
            Some(OperationState::Interrupted) | None => self.assert_is(world, self.before, &what),
            other => panic!("{what}: {other:?}"),
        }
        if self.name.starts_with("reboot") {
            let halves = match &state {
                Some(OperationState::Succeeded) => 1,
                Some(OperationState::Failed(_)) => 2,
                _ => 0,
            };
            assert_eq!(started_anew(world, operation_id(VICTIM)), halves, "{what}: reboots");
        }
        self.assert_ran_on(world, &what);
        if !self.fails {
            self.carry_out(world, self.operation(artefacts, VICTIM + 25), &format!("{what}, then again"));
            self.assert_is(world, self.after, &what);
            self.assert_ran_on(world, &what);
        }
    }

    fn assert_is(&self, world: &World, edition: Option<Edition>, what: &str) {
        let others: Vec<Edition> = ALL
            .into_iter()
            .filter(|other| edition.is_none_or(|edition| edition.version != other.version))
            .collect();
        assert_whole(world, edition, &others, what);
    }
}
