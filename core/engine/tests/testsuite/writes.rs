//! Writes to the API server with an unknown outcome: the back-off is for the case that the watch shows nothing new.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, want, web};
use seaworthy_model::effect::Target;
use seaworthy_model::event::{Event, Observation, Outcome};
use seaworthy_model::id::MachineId;
use seaworthy_model::report::{Blocker, Subject};

const MINUTE: Duration = Duration::from_secs(60);

const WRITTEN: [(Target, Subject); 3] = [
    (Target::PackageVersion, Subject::PackageVersion),
    (Target::Version(web(1)), Subject::Version(web(1))),
    (Target::Machine(MachineId(0)), Subject::Machine(MachineId(0))),
];

/// A fleet of one that is to get `web-1`, by an operator whose first back-off is as long as its longest.
fn fleet() -> Fixture {
    let mut fixture = Fixture::new(1);
    fixture.config.backoff_min = fixture.config.backoff_max;
    fixture.restart();
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture
}

/// Turns until something is written to `target`; everything else is executed on the way.
fn next_write(fixture: &mut Fixture, target: Target) -> seaworthy_model::effect::Action {
    for _ in 0..20 {
        let _ = fixture.turn();
        if let Some(index) = fixture.pending.iter().position(|action| action.target == target) {
            return fixture.pending.remove(index);
        }
        fixture.execute();
    }
    panic!("nothing is written to {target:?}");
}

fn backs_off(fixture: &mut Fixture, subject: Subject) -> bool {
    fixture.settle();
    matches!(fixture.engine.world().blocker(subject), Some(Blocker::BackOff { .. }))
}

#[test]
fn what_the_watch_shows_after_a_lost_reply_or_before_it_ends_the_wait() {
    for (target, subject) in WRITTEN {
        for echo_is_first in [false, true] {
            let mut fixture = fleet();
            let action = next_write(&mut fixture, target);
            let outcome = fixture.outcome(&action);
            assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
            if echo_is_first {
                fixture.deliver();
            }
            fixture.engine.observe(Event::Finished { action: action.id, outcome: Outcome::Unknown });
            fixture.deliver();
            assert!(!backs_off(&mut fixture, subject), "{target:?}, echo first: {echo_is_first}");
            fixture.pass(MINUTE);
            assert_eq!(fixture.web(), [Some(1)], "{target:?}, echo first: {echo_is_first}");
        }
    }
}

#[test]
fn what_was_changed_meanwhile_is_written_against_at_once() {
    for edit_is_seen_first in [false, true] {
        let mut fixture = fleet();
        let action = next_write(&mut fixture, Target::PackageVersion);
        let fleet = fixture.store.fleet.as_mut().unwrap();
        fixture.store.revision += 1;
        fleet.meta.resource_version = fixture.store.revision;
        let outcome = fixture.outcome(&action);
        assert_eq!(outcome, Outcome::Stale);
        if edit_is_seen_first {
            fixture.deliver();
        }
        fixture.engine.observe(Event::Finished { action: action.id, outcome });
        fixture.deliver();
        assert!(!backs_off(&mut fixture, Subject::PackageVersion));
        fixture.pass(MINUTE);
        assert_eq!(fixture.web(), [Some(1)]);
    }
}

#[test]
fn without_anything_new_a_write_waits_for_its_back_off() {
    for (target, subject) in WRITTEN {
        for outcome in [Outcome::Unknown, Outcome::Stale] {
            let mut fixture = fleet();
            let action = next_write(&mut fixture, target);
            fixture.engine.observe(Event::Finished { action: action.id, outcome });
            assert!(backs_off(&mut fixture, subject), "{target:?}");
            // A list that shows the same brings nothing new.
            let fleet = fixture.store.fleet.clone().map(Box::new);
            fixture.see(Observation::PackageVersion(fleet));
            let version = fixture.store.versions[&0].clone();
            fixture.see(Observation::Version(web(1), Some(Box::new(version))));
            let machine = fixture.store.machines[&0].clone();
            fixture.see(Observation::Machine(MachineId(0), Some(Box::new(machine))));
            assert!(backs_off(&mut fixture, subject), "{target:?}");
        }
    }
}

#[test]
fn nothing_is_decided_between_a_write_and_its_echo() {
    let mut fixture = fleet();
    let target = Target::Machine(MachineId(0));
    let action = next_write(&mut fixture, target);
    while fixture.engine.has_work() {
        let _ = fixture.turn();
    }
    let outcome = fixture.outcome(&action);
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    fixture.engine.observe(Event::Finished { action: action.id, outcome });
    let subject = Subject::Machine(MachineId(0));
    assert_eq!(fixture.engine.world().blocker(subject), Some(Blocker::AwaitingOwnWrite));
    assert!(!fixture.engine.has_work());
    assert_eq!(fixture.turn().report.reconciled, 0);
    fixture.deliver();
    assert!(fixture.engine.has_work());
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
}

#[test]
fn what_is_seen_while_an_action_is_under_way_counts_at_its_end() {
    let mut fixture = fleet();
    let action = next_write(&mut fixture, Target::Machine(MachineId(0)));
    while fixture.engine.has_work() {
        let _ = fixture.turn();
    }
    let outcome = fixture.outcome(&action);
    fixture.deliver();
    assert!(!fixture.engine.has_work(), "the reply is still on its way");
    fixture.engine.observe(Event::Finished { action: action.id, outcome });
    assert!(fixture.engine.has_work());
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
}
