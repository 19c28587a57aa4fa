//! Writes to the API server with an unknown outcome: the back-off is for the case that the watch shows nothing new.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::effect::{Action, Effect, Target};
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
fn next_write(fixture: &mut Fixture, target: Target) -> Action {
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

/// Turns until only writes of machines wait, and takes them out.
fn writes_of_machines(fixture: &mut Fixture) -> Vec<Action> {
    let mut writes = Vec::new();
    loop {
        let _ = fixture.turn();
        let is_write = |action: &Action| matches!(action.target, Target::Machine(_));
        let (new, others) = std::mem::take(&mut fixture.pending).into_iter().partition(is_write);
        let new: Vec<_> = new;
        if new.is_empty() && others.is_empty() {
            return writes;
        }
        writes.extend(new);
        fixture.pending = others;
        fixture.execute();
    }
}

#[test]
fn each_write_that_is_taken_lets_two_that_were_refused_try_again() {
    let mut fixture = Fixture::new(16);
    fixture.config.backoff_min = fixture.config.backoff_max;
    fixture.restart();
    let mut writes = writes_of_machines(&mut fixture);
    assert_eq!(writes.len(), 16);
    let first = writes.remove(0);
    for action in writes {
        let outcome = Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "too many requests"));
        fixture.engine.observe(Event::Finished { action: action.id, outcome });
    }
    fixture.now = fixture.now + Duration::from_secs(2);
    assert_eq!(writes_of_machines(&mut fixture), [], "nothing was taken yet");
    let (mut taken, mut known) = (vec![first], BTreeSet::new());
    for expected in [2, 4, 8, 1] {
        for action in taken {
            known.insert(action.target);
            let outcome = fixture.outcome(&action);
            assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
            fixture.engine.observe(Event::Finished { action: action.id, outcome });
        }
        fixture.deliver();
        taken = writes_of_machines(&mut fixture);
        taken.retain(|action| !known.contains(&action.target));
        assert_eq!(taken.len(), expected);
    }
}

/// Many machines wait for an owner, so its longest wait is a short one; and it does not try again whenever another write is taken,
/// when a rate limiter has nothing left.
#[test]
fn an_owner_whose_writes_are_refused_tries_again_within_seconds_and_not_each_time() {
    let mut fixture = Fixture::new(16);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    let until = fixture.now + MINUTE;
    let mut tries = Vec::new();
    while fixture.now < until {
        let _ = fixture.turn();
        let is_owner = |action: &Action| action.target == Target::PackageVersion;
        let (owner, others) = std::mem::take(&mut fixture.pending).into_iter().partition(is_owner);
        let owner: Vec<_> = owner;
        for action in owner {
            tries.push(fixture.now);
            let outcome = Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "too many requests"));
            fixture.engine.observe(Event::Finished { action: action.id, outcome });
        }
        fixture.pending = others;
        if fixture.pending.is_empty() {
            fixture.now = fixture.now + Duration::from_millis(50);
            // Something that is to be written, and is taken.
            fixture.store.edit_machine(0, |spec| spec.paused = !spec.paused);
        }
        fixture.execute();
    }
    assert!((15..=30).contains(&tries.len()), "{} tries", tries.len());
    let longest = tries.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap();
    assert!(longest <= Duration::from_millis(4_100), "{longest:?}");
}

/// Turns until a rollout has begun and permits nobody yet. The owner's next write waits, everything else is executed.
/// Returns that write and what was written to machines.
fn begun(fixture: &mut Fixture) -> (Action, Vec<Action>) {
    let mut owners = None;
    let mut written = Vec::new();
    for _ in 0..40 {
        let _ = fixture.turn();
        let has_begun = !fixture.store.fleet.as_ref().unwrap().status.rollouts.is_empty();
        let waits = |action: &Action| has_begun && action.target == Target::PackageVersion;
        let (held, others) = std::mem::take(&mut fixture.pending).into_iter().partition(waits);
        owners = owners.or(Vec::into_iter(held).next());
        fixture.pending = others;
        written.extend(fixture.pending.iter().filter(|action| is_write(action)).cloned());
        fixture.execute();
    }
    (owners.expect("a rollout begins"), written)
}

fn is_write(action: &Action) -> bool {
    matches!(action.target, Target::Machine(_))
        && matches!(action.effect, Effect::WriteMachineStatus(_) | Effect::Import(_))
}

/// A host is read between the write that begins a rollout and the one that permits its first batch: nothing is asked of the
/// machine yet, which is not worth a write.
#[test]
fn a_new_machine_says_nothing_while_its_first_batch_is_about_to_be_permitted() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    let (first_batch, early) = begun(&mut fixture);
    assert_eq!(early, [], "nothing is asked of the machines yet");
    let outcome = fixture.outcome(&first_batch);
    fixture.engine.observe(Event::Finished { action: first_batch.id, outcome });
    fixture.deliver();
    let mut writes = 0;
    for _ in 0..40 {
        let _ = fixture.turn();
        writes += fixture.pending.iter().filter(|action| is_write(action)).count();
        fixture.execute();
    }
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
    assert_eq!(writes, 4, "an import and what came of it, of each machine");
}

/// A rollout that permits nobody for longer does not keep new machines from having a status.
#[test]
fn a_new_machine_does_not_wait_long_for_a_first_batch() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    let _ = begun(&mut fixture);
    fixture.now = fixture.now + fixture.config.admission_wait;
    for _ in 0..10 {
        let _ = fixture.turn();
        fixture.execute();
    }
    let observed = fixture.store.machines.values().map(|machine| machine.status.observed_generation);
    assert_eq!(observed.collect::<Vec<_>>(), [1, 1]);
}
