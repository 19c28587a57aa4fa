//! Batches of a rollout, and limits of failure domains, pools and the fleet: in flight and per hour.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::fixture::Fixture;
use seaworthy_model::policy::Domain;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::time::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A batch is permitted when the one before it is done; until then nobody of it is granted.
#[test]
fn batches_follow_each_other() {
    let mut fixture = Fixture::on_web_1(40, 40);
    fixture.config.batches = vec![CountOrPercent::Count(1), CountOrPercent::Percent(10)];
    fixture.restart();
    fixture.upgrade();
    let mut sizes = BTreeSet::new();
    for _ in 0..400 {
        let turn = fixture.turn();
        let _ = sizes.insert(fixture.at_work().len());
        if fixture.pending.is_empty() {
            fixture.now = turn.wake.map_or(fixture.now, |wake| wake.at.max(fixture.now));
        }
        fixture.execute();
        if fixture.web().iter().all(|version| *version == Some(2)) {
            break;
        }
    }
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
    assert_eq!(sizes, BTreeSet::from([0, 1, 3, 36]), "one, up to a tenth, everybody");
}

/// A policy for all machines.
fn limit(fixture: &mut Fixture, domain: Domain, in_flight: u32, per_hour: Option<u32>) {
    fixture.store.edit_policy(0, |spec| {
        spec.per = domain;
        spec.in_flight = Some(CountOrPercent::Count(in_flight));
        spec.per_hour = per_hour.map(CountOrPercent::Count);
    });
}

/// Work begins on no more machines within an hour than may be, whoever leads: the record says how many there were.
#[test]
fn no_hour_has_more_than_its_limit() {
    for restarts in [false, true] {
        let mut fixture = Fixture::on_web_1(12, 12);
        limit(&mut fixture, Domain::Fleet, 12, Some(5));
        fixture.restart();
        fixture.pass(2 * HOUR);
        fixture.upgrade();
        let mut done = Vec::new();
        for _ in 0..60 {
            fixture.pass(5 * MINUTE);
            let count = fixture.web().iter().filter(|version| **version == Some(2)).count();
            done.push((fixture.now, count));
            if restarts {
                fixture.restart();
            }
        }
        let within = |(end, count): &(Timestamp, usize)| {
            let before = done.iter().rfind(|(at, _)| *at + HOUR <= *end);
            before.map_or(*count, |(_, before)| count - before)
        };
        assert_eq!(done.iter().map(within).max(), Some(5), "restarts: {restarts}: {done:?}");
        assert_eq!((done[0].1, done[59].1), (5, 12));
    }
}

/// A domain whose hour is full delays nobody else.
#[test]
fn an_hour_that_is_full_delays_only_its_domain() {
    let mut fixture = Fixture::on_web_1(12, 12);
    limit(&mut fixture, Domain::Label("pool".into()), 12, Some(1));
    for id in 0..4 {
        fixture.store.label_machine(id, ("pool", "blue"));
    }
    fixture.restart();
    fixture.pass(2 * HOUR);
    fixture.upgrade();
    fixture.pass(30 * MINUTE);
    let done = fixture.web().iter().filter(|version| **version == Some(2)).count();
    assert_eq!(done, 9, "eight, and one of the pool");
    let begun = &fixture.store.fleet.as_ref().unwrap().status.begun;
    assert!(begun.iter().all(|begun| &*begun.domain == "p0/hour" && &*begun.value == "blue"), "{begun:?}");
    fixture.pass(5 * HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// One machine of a rack at a time. Racks that are full are passed over: the others use the whole budget.
#[test]
fn a_full_rack_delays_nobody_else() {
    let mut fixture = Fixture::on_web_1(24, 6);
    limit(&mut fixture, Domain::Rack, 1, None);
    for id in 0..24 {
        let rack = if id < 12 { "full".to_owned() } else { format!("rack-{}", id % 6) };
        fixture.store.edit_machine(id, |spec| {
            Arc::make_mut(&mut spec.connection).address.rack = rack.into();
        });
    }
    fixture.restart();
    fixture.pass(HOUR);
    fixture.upgrade();
    fixture.until_at_work(6);
    let in_full = fixture.at_work().iter().filter(|id| **id < 12).count();
    assert!(in_full <= 1, "{in_full} of one rack are at work");
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}

/// A pool is named by a label. Of a pool one machine at a time; machines without the label are in no pool.
#[test]
fn a_label_makes_a_pool() {
    let mut fixture = Fixture::on_web_1(24, 8);
    limit(&mut fixture, Domain::Label("pool".into()), 1, None);
    for id in 0..12 {
        let pool = if id < 6 { "blue" } else { "green" };
        fixture.store.label_machine(id, ("pool", pool));
    }
    fixture.restart();
    fixture.pass(HOUR);
    fixture.upgrade();
    fixture.until_at_work(8);
    let busy = fixture.at_work();
    for pool in [0..6, 6..12] {
        assert!(busy.iter().filter(|id| pool.contains(*id)).count() <= 1, "{busy:?}");
    }
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
}
