//! Leader election: golden turns for every rule, with the usual times.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, picture, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::config::Config;
use seaworthy_model::effect::Target;
use seaworthy_model::event::{Event, Observation, Outcome};
use seaworthy_model::id::StoreId;
use seaworthy_model::lease::{Epoch, LeaseRecord};
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

const SECOND: Duration = Duration::from_secs(1);

/// A fleet with the usual times for the Lease.
fn usual(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.config = Config::default();
    fixture.incarnate();
    fixture
}

/// A Lease that another process has just taken, by a clock that is a year ahead or forty years behind.
fn held_by_another(fixture: &mut Fixture, renewed: Timestamp) {
    fixture.store.revision += 1;
    let lease = fixture.store.lease.as_mut().unwrap();
    lease.meta.resource_version = fixture.store.revision;
    lease.record = LeaseRecord {
        holder: "another".into(),
        epoch: Epoch(7),
        duration: Some(15 * SECOND),
        acquired: Some(renewed),
        renewed: Some(renewed),
    };
    fixture.deliver();
}

fn leading(machines: u32) -> Fixture {
    let mut fixture = usual(machines);
    fixture.settle();
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
    fixture
}

/// A process that stands by while another holds the Lease.
fn standing_by(renewed: Timestamp) -> Fixture {
    let mut fixture = leading(1);
    held_by_another(&mut fixture, renewed);
    fixture.incarnate();
    assert_eq!(picture(&fixture.turn()), "operator waits: Standby { of: Epoch(7) }");
    fixture
}

#[test]
fn a_standby_waits_by_its_own_clock_alone_and_then_takes_the_next_epoch() {
    for renewed in [Timestamp::ZERO, Timestamp::from_millis(9_000_000_000_000)] {
        let mut fixture = standing_by(renewed);
        fixture.now = fixture.now + 15 * SECOND - Duration::from_millis(1);
        assert_eq!(fixture.turn().actions, []);
        fixture.now = fixture.now + Duration::from_millis(1);
        assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 8");
        fixture.execute();
        assert_eq!(picture(&fixture.turn()), "driver: watch");
    }
}

#[test]
fn a_standby_that_slept_or_whose_clock_leapt_watches_for_the_whole_duration() {
    let mut fixture = standing_by(Timestamp::from_millis(5));
    fixture.now = fixture.now + 3600 * SECOND;
    assert_eq!(picture(&fixture.turn()), "operator waits: Standby { of: Epoch(7) }");
    fixture.now = fixture.now + 15 * SECOND - Duration::from_millis(1);
    assert_eq!(fixture.turn().actions, []);
    fixture.now = fixture.now + Duration::from_millis(1);
    assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 8");
}

#[test]
fn a_standby_whose_take_over_failed_tries_again_soon() {
    let mut fixture = standing_by(Timestamp::from_millis(5));
    fixture.now = fixture.now + 15 * SECOND;
    let turn = fixture.turn();
    fixture.pending.clear();
    let outcome = Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "busy"));
    fixture.engine.observe(Event::Finished { action: turn.actions[0].id, outcome });
    let wake = fixture.turn().wake.map(|wake| wake.at).unwrap();
    assert!(wake < fixture.now + 3 * SECOND, "{wake:?}");
    fixture.now = wake;
    assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 8");
}

#[test]
fn a_renewal_that_is_seen_makes_a_standby_wait_anew() {
    let mut fixture = standing_by(Timestamp::from_millis(5));
    fixture.now = fixture.now + 14 * SECOND;
    held_by_another(&mut fixture, Timestamp::from_millis(6));
    let turn = fixture.turn();
    assert_eq!(turn.actions, []);
    fixture.now = fixture.now + 14 * SECOND;
    assert_eq!(fixture.turn().actions, []);
    fixture.now = fixture.now + SECOND;
    assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 8");
}

#[test]
fn what_people_write_on_the_lease_is_no_sign_of_life() {
    let mut fixture = standing_by(Timestamp::from_millis(5));
    fixture.now = fixture.now + 14 * SECOND;
    fixture.store.adopt(Epoch(1));
    fixture.deliver();
    assert_eq!(fixture.turn().actions, []);
    fixture.now = fixture.now + SECOND;
    assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 8");
}

#[test]
fn a_standby_that_was_forestalled_waits_for_the_whole_duration() {
    let mut fixture = standing_by(Timestamp::from_millis(5));
    fixture.now = fixture.now + 15 * SECOND;
    let turn = fixture.turn();
    let outcome = Outcome::Stale;
    fixture.pending.clear();
    fixture.engine.observe(Event::Finished { action: turn.actions[0].id, outcome });
    fixture.now = fixture.now + 3 * SECOND;
    assert_eq!(picture(&fixture.turn()), "operator waits: Standby { of: Epoch(7) }");
    fixture.now = fixture.now + 14 * SECOND;
    assert_eq!(fixture.turn().actions, []);
    fixture.now = fixture.now + SECOND;
    assert_eq!(fixture.turn().actions.len(), 1);
}

#[test]
fn a_lease_that_was_let_go_is_taken_at_once() {
    let mut fixture = leading(1);
    fixture.see(Observation::Stopping);
    assert!(picture(&fixture.turn()).starts_with("lease: take as \"\", epoch 1"));
    fixture.execute();
    assert_eq!(fixture.turn().actions, [], "it is let go once");
    let record = &fixture.store.lease.as_ref().unwrap().record;
    assert_eq!((record.duration, record.epoch), (Some(SECOND), Epoch(1)));
    fixture.incarnate();
    assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 2");
}

#[test]
fn whoever_is_to_stop_after_a_failed_renewal_lets_the_lease_go_once_it_may_write_again() {
    let mut fixture = leading(1);
    fixture.now = fixture.now + 5 * SECOND;
    drop(fixture.turn());
    let action = fixture.pending.remove(0);
    let outcome = Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "busy"));
    fixture.engine.observe(Event::Finished { action: action.id, outcome });
    fixture.see(Observation::Stopping);
    let turn = fixture.turn();
    assert_eq!(turn.actions, [], "it has just failed");
    assert!(fixture.engine.world().leadership.is_to_let_go());
    fixture.now = turn.wake.expect("it tries again").at;
    assert!(picture(&fixture.turn()).starts_with("lease: take as \"\", epoch 1"));
    assert!(!fixture.engine.world().leadership.is_to_let_go());
}

#[test]
fn a_holder_renews_every_five_seconds_and_touches_nothing_else() {
    let mut fixture = leading(3);
    let begin = fixture.now;
    for round in 1..=20 {
        let wake = fixture.turn().wake.map(|wake| wake.at);
        assert_eq!(wake, Some(begin + round * 5 * SECOND));
        fixture.now = begin + round * 5 * SECOND;
        let turn = fixture.turn();
        assert_eq!(picture(&turn), "lease: renew as \"operator-2\", epoch 1");
        assert_eq!(turn.report.reconciled, 1);
        fixture.execute();
    }
    assert_eq!(fixture.store.renewals, 20);
    let record = &fixture.store.lease.as_ref().unwrap().record;
    assert_eq!((record.acquired, record.renewed), (Some(begin), Some(fixture.now)));
}

#[test]
fn whoever_slept_through_the_deadline_orders_nothing_but_the_renewal() {
    let mut fixture = leading(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.now = fixture.now + 10 * SECOND;
    fixture.deliver();
    let since = fixture.engine.world().leadership.confirmed.unwrap();
    let turn = fixture.turn();
    assert!(picture(&turn).starts_with("lease: renew as \"operator-2\", epoch 1\n"), "{}", picture(&turn));
    assert_eq!(turn.actions.len(), 1);
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::RenewalOverdue { since }));
    fixture.execute();
    fixture.settle();
    assert_eq!(fixture.web(), [Some(1)], "nobody came between: it goes on in its epoch");
    assert_eq!(fixture.engine.world().epoch(), Epoch(1));
}

#[test]
fn whoever_was_replaced_while_it_slept_steps_down() {
    let mut fixture = leading(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.watch_hangs = true;
    held_by_another(&mut fixture, Timestamp::from_millis(5));
    fixture.now = fixture.now + 60 * SECOND;
    assert_eq!(fixture.turn().actions.len(), 1);
    fixture.execute();
    assert_eq!(fixture.turn().actions, [], "the renewal was refused");
    fixture.watch_hangs = false;
    fixture.deliver();
    assert_eq!(fixture.turn().actions, []);
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::SteppedDown { by: Epoch(7) }));
    assert_eq!(fixture.web(), [None]);
}

#[test]
fn a_renewal_whose_reply_is_lost_counts_once_it_is_seen() {
    let mut fixture = leading(1);
    fixture.now = fixture.now + 5 * SECOND;
    let ordered = fixture.now;
    fixture.lost_writes = 1;
    assert_eq!(fixture.turn().actions.len(), 1);
    fixture.execute();
    fixture.now = fixture.now + 6 * SECOND;
    let _ = fixture.turn();
    assert_eq!(fixture.engine.world().leadership.confirmed, Some(ordered));
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
}

#[test]
fn a_renewal_that_fails_is_tried_again_soon() {
    let mut fixture = leading(1);
    fixture.now = fixture.now + 5 * SECOND;
    let turn = fixture.turn();
    fixture.pending.clear();
    assert_eq!(turn.actions[0].deadline, fixture.now + 2 * SECOND);
    fixture.engine.observe(Event::Finished { action: turn.actions[0].id, outcome: Outcome::Unknown });
    let wake = fixture.turn().wake.map(|wake| wake.at).unwrap();
    assert!(wake >= fixture.now + 2 * SECOND && wake < fixture.now + 3 * SECOND, "{wake:?}");
    fixture.now = wake;
    assert_eq!(picture(&fixture.turn()), "lease: renew as \"operator-2\", epoch 1");
}

#[test]
fn a_renewal_that_meets_a_late_one_of_ours_is_tried_again_at_once() {
    for is_shown_first in [true, false] {
        let mut fixture = leading(1);
        fixture.now = fixture.now + 5 * SECOND;
        let late = fixture.turn().actions[0].clone();
        fixture.pending.clear();
        fixture.engine.observe(Event::Finished { action: late.id, outcome: Outcome::Unknown });
        fixture.now = fixture.now + 60 * SECOND;
        let refused = fixture.turn().actions[0].clone();
        assert!(matches!(fixture.outcome(&late), Outcome::Done(_)), "the API server thaws");
        let outcome = fixture.outcome(&refused);
        assert_eq!(outcome, Outcome::Stale);
        fixture.pending.clear();
        if is_shown_first {
            fixture.deliver();
        }
        fixture.engine.observe(Event::Finished { action: refused.id, outcome });
        if !is_shown_first {
            let turn = fixture.turn();
            assert_eq!(turn.actions, [], "it may be another process that has written the Lease");
            fixture.deliver();
        }
        assert_eq!(picture(&fixture.turn()), "lease: renew as \"operator-2\", epoch 1");
        fixture.execute();
        assert_eq!(fixture.engine.world().leadership.confirmed, Some(fixture.now));
    }
}

#[test]
fn of_two_that_miss_the_lease_one_reports() {
    let mut fixture = leading(1);
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.settle();
    assert!(matches!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::StoreRegressed { .. })));
    fixture.incarnate();
    fixture.settle();
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::Standby { of: Epoch::VACANT }));
}

#[test]
fn a_lease_that_the_watch_leaves_out_is_listed() {
    for is_heard in [true, false] {
        let mut fixture = Fixture::new(1);
        // From here on only a list shows changes.
        fixture.watch_hangs = true;
        fixture.lost_writes = u32::from(!is_heard);
        fixture.pass(10 * fixture.config.renew_interval());
        assert_eq!(fixture.engine.world().gate(StoreId::HOME), None, "{is_heard}");
        let lease = fixture.store.lease.as_ref().unwrap();
        assert!(lease.record.is_of(&fixture.engine.world().leadership.holder));
        assert!(lease.record.renewed > lease.record.acquired, "it is renewed");
    }
}

/// Both have held the lost Lease, and a person has let the other one go on.
#[test]
fn whoever_missed_the_lease_too_follows_the_one_that_was_let_on() {
    let mut fixture = leading(1);
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.settle();
    fixture.incarnate();
    fixture.outwait_lease();
    fixture.settle();
    assert!(matches!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::StoreRegressed { .. })));
    held_by_another(&mut fixture, Timestamp::from_millis(5));
    assert_eq!(picture(&fixture.turn()), "operator waits: Standby { of: Epoch(7) }");
    fixture.now = fixture.now + 15 * SECOND;
    assert_eq!(picture(&fixture.turn()), "lease: take as \"operator-3\", epoch 8");
    fixture.settle();
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
}

/// The watch may show our write before its reply arrives: that is no successor.
#[test]
fn our_own_writes_of_the_lease_seen_before_their_replies_are_no_successor() {
    let mut fixture = standing_by(Timestamp::from_millis(5));
    fixture.now = fixture.now + 15 * SECOND;
    let seen_first = |fixture: &mut Fixture| {
        assert_eq!(fixture.turn().actions.len(), 1);
        let action = fixture.pending.remove(0);
        let outcome = fixture.outcome(&action);
        fixture.deliver();
        assert!(fixture.turn().actions.iter().all(|action| action.target == Target::Driver));
        fixture.engine.observe(Event::Finished { action: action.id, outcome });
    };
    seen_first(&mut fixture);
    fixture.execute();
    fixture.settle();
    assert_eq!(
        (fixture.engine.world().gate(StoreId::HOME), fixture.engine.world().epoch()),
        (None, Epoch(8))
    );
    for _ in 0..3 {
        fixture.now = fixture.now + 5 * SECOND;
        seen_first(&mut fixture);
        assert_eq!(fixture.engine.world().gate(StoreId::HOME), None);
    }
    assert_eq!(fixture.engine.world().epoch(), Epoch(8));
    fixture.see(Observation::Stopping);
    seen_first(&mut fixture);
    assert_eq!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::Stopping));
}

#[test]
fn a_leader_whose_lease_goes_before_it_has_listed_anything_tells_what_it_waits_for() {
    let mut fixture = leading(1);
    fixture.store.edit_fleet(|spec| spec.components = vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(60 * SECOND);
    fixture.restart();
    let took = (0..10).any(|_| {
        let took = picture(&fixture.turn()).contains("take as");
        if !took {
            fixture.execute();
        }
        took
    });
    assert!(took);
    fixture.reply();
    fixture.store.delete_lease();
    fixture.see(Observation::Lease(None));
    fixture.pass(60 * SECOND);
    let fleet = fixture.store.fleet.as_ref().unwrap();
    assert_eq!(fleet.status.conditions[0].reason, FleetReason::StoreRegressed);
}
