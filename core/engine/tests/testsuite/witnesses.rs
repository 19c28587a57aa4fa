//! Hosts that report a newer operator: one is left alone, several stop the fleet until a person adopts.

use std::time::Duration;

use crate::fixture::{self, Fixture, WEB, want, web};
use seaworthy_engine::Witnesses;
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::host::{OperationState, Owner};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};
use seaworthy_model::report::{Blocker, Subject};

const HOUR: Duration = Duration::from_secs(3600);

/// A fleet on the first version whose `liars` first hosts report this epoch from now on, and that is to be upgraded.
fn fleet(machines: u32, liars: u32, epoch: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.limit(3);
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(fixture.web().iter().all(|version| *version == Some(1)));
    for id in 0..liars {
        fixture.host(id).facts.epoch = Epoch(epoch);
    }
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.restart();
    fixture
}

fn gate(fixture: &Fixture) -> Option<Blocker> {
    let world = fixture.engine.world();
    assert_eq!(world.witnesses, Witnesses::recount(world));
    world.gate(StoreId::HOME)
}

fn told(fixture: &Fixture, id: u32) -> (Truth, Reason, Option<Detail>) {
    let condition = fixture.store.machines[&id].status.condition(ConditionKind::Ready).unwrap();
    (condition.truth, condition.reason, condition.detail.as_deref().cloned())
}

#[test]
fn one_host_that_reports_a_newer_operator_stops_only_its_own_machine() {
    for epoch in [50, Epoch::LAST.0, u32::MAX] {
        let mut fixture = fleet(20, 1, epoch);
        fixture.pass(HOUR);
        assert_eq!(gate(&fixture), None, "epoch {epoch}");
        assert_eq!(fixture.web()[0], Some(1));
        assert!(fixture.web()[1..].iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
        let ahead = Detail::HostAhead(Epoch(epoch));
        assert_eq!(told(&fixture, 0), (Truth::False, Reason::HostAhead, Some(ahead)));
        let blocker = fixture.engine.world().blocker(Subject::Machine(MachineId(0)));
        assert_eq!(blocker, Some(Blocker::HostAhead { seen: Epoch(epoch) }));
        fixture.restart();
        fixture.pass(HOUR);
        assert_eq!(gate(&fixture), None, "nor is the next operator stopped");
    }
}

#[test]
fn a_host_that_reports_a_newer_operator_is_only_read_and_less_and_less_often() {
    let mut fixture = fleet(20, 1, 50);
    let mut orders = Vec::new();
    for _ in 0..4_000 {
        for action in fixture.turn().actions {
            let Effect::Host(order) = &action.effect else { continue };
            if action.target == Target::Host(MachineId(0)) {
                assert_eq!(order.command, HostCommand::Facts);
                orders.push(fixture.now);
            }
        }
        fixture.execute();
        fixture.now = fixture.now + Duration::from_secs(1);
    }
    assert!((5..15).contains(&orders.len()), "{orders:?}");
}

#[test]
fn a_host_that_reports_no_newer_operator_any_more_goes_on() {
    let mut fixture = fleet(20, 1, 50);
    fixture.pass(HOUR);
    fixture.host(0).facts.epoch = Epoch(1);
    fixture.pass(2 * HOUR);
    assert_eq!((gate(&fixture), fixture.web()[0]), (None, Some(2)));
    assert_eq!(told(&fixture, 0).1, Reason::AsDesired);
}

#[test]
fn a_store_that_was_set_back_is_noticed_and_goes_on_when_a_person_adopts() {
    for machines in [1, 2, 3, 20] {
        let mut fixture = fleet(machines, machines, 50);
        let changes: u32 = fixture.hosts.values().map(|host| host.changes).sum();
        fixture.pass(Duration::from_secs(60));
        assert_eq!(gate(&fixture), Some(Blocker::StoreRegressed { seen: Epoch(50) }), "{machines}");
        assert_eq!(fixture.hosts.values().map(|host| host.changes).sum::<u32>(), changes, "{machines}");
        fixture.store.adopt(Epoch(50));
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!((gate(&fixture), fixture.engine.world().epoch()), (None, Epoch(51)));
        assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
    }
}

#[test]
fn an_adoption_that_leaves_no_room_is_refused_and_a_smaller_one_is_not() {
    let mut fixture = fleet(4, 4, 50);
    fixture.pass(Duration::from_secs(60));
    for asked in [Epoch(Epoch::ADOPTABLE.0 + 1), Epoch::LAST, Epoch(u32::MAX)] {
        fixture.store.adopt(asked);
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!(gate(&fixture), Some(Blocker::StoreRegressed { seen: Epoch(50) }));
        let waits = fixture.engine.world().blocker(Subject::Leadership);
        assert_eq!(waits, Some(Blocker::AdoptionRefused { asked }));
    }
    fixture.store.adopt(Epoch(50));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(gate(&fixture), None);
}

/// Two processes in one epoch could not be told apart by hosts.
#[test]
fn after_the_last_epoch_nobody_takes_the_lease() {
    let mut fixture = Fixture::new(1);
    fixture.pass(HOUR);
    fixture.store.lease.as_mut().unwrap().record.epoch = Epoch(Epoch::LAST.0 - 1);
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(fixture.engine.world().epoch(), Epoch::LAST);
    fixture.restart();
    fixture.pass(HOUR);
    let world = fixture.engine.world();
    assert_eq!(world.leadership.epoch, None);
    assert_eq!(world.blocker(Subject::Leadership), Some(Blocker::EpochsExhausted { last: Epoch::LAST }));
}

#[test]
fn a_person_lets_one_host_forget_its_fences() {
    let mut fixture = fleet(20, 1, 50);
    fixture.pass(HOUR);
    fixture.store.reset_fences(0, Epoch(49));
    fixture.deliver();
    fixture.pass(Duration::from_secs(60));
    assert_eq!(told(&fixture, 0).1, Reason::HostAhead, "that is another epoch");
    fixture.store.reset_fences(0, Epoch(50));
    fixture.deliver();
    fixture.pass(Duration::from_secs(60));
    assert_eq!((told(&fixture, 0).1, fixture.web()[0]), (Reason::AsDesired, Some(2)));
}

/// A lost operator has read the host, and never worked there.
#[test]
fn a_person_lets_a_host_that_nobody_owns_forget_its_fences() {
    let mut fixture = fleet(20, 1, 50);
    let host = fixture.host(0);
    (host.facts.owner, host.facts.components) = (Owner::Nobody, vec![]);
    fixture.pass(HOUR);
    assert_eq!(told(&fixture, 0).1, Reason::HostAhead);
    fixture.store.reset_fences(0, Epoch(50));
    fixture.deliver();
    fixture.pass(Duration::from_secs(60));
    assert_eq!((told(&fixture, 0).1, fixture.web()[0]), (Reason::AsDesired, Some(2)));
}

/// The host reports the truth again before it gets the order: it refuses to forget an epoch that it does not remember, and
/// is read anew.
#[test]
fn a_host_that_has_nothing_to_forget_is_read() {
    let mut fixture = fleet(20, 1, 50);
    fixture.pass(HOUR);
    assert_eq!(told(&fixture, 0).1, Reason::HostAhead);
    fixture.host(0).facts.epoch = fixture.engine.world().epoch();
    fixture.store.reset_fences(0, Epoch(50));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!((told(&fixture, 0).1, fixture.web()[0]), (Reason::AsDesired, Some(2)));
}

/// The next leader knows failures only from the record: without it, it would try the release on another machine.
#[test]
fn a_failure_is_recorded_even_if_the_host_is_left_alone_before_it_is_read_again() {
    let mut fixture = fleet(4, 0, 0);
    fixture.limit(1);
    (0..4).for_each(|id| fixture.host(id).broken.push(web(2)));
    let has_failed = |fixture: &Fixture| {
        let is_failed = |host: &&fixture::FakeHost| {
            let state = host.facts.operation.as_ref().map(|operation| &operation.state);
            matches!(state, Some(OperationState::Failed(_)))
        };
        fixture.hosts.iter().find(|(_, host)| is_failed(host)).map(|(id, _)| *id)
    };
    let failed = loop {
        drop(fixture.turn());
        fixture.execute();
        if let Some(id) = has_failed(&fixture) {
            break id;
        }
        fixture.now = fixture.now + Duration::from_secs(1);
    };
    fixture.host(failed).facts.epoch = Epoch(50);
    fixture.pass(HOUR);
    let status = &fixture.store.machines[&failed].status;
    let recorded = status.component(WEB).unwrap();
    assert_eq!(told(&fixture, failed).1, Reason::HostAhead);
    assert_eq!(recorded.failed_release().map(|failed| failed.version), Some(web(2)));
    assert_eq!(recorded.installed.map(|installed| installed.version), Some(web(1)));
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(
        fixture
            .hosts
            .values()
            .filter(|host| host
                .facts
                .operation
                .as_ref()
                .is_some_and(|operation| { matches!(operation.state, OperationState::Failed(_)) }))
            .count(),
        1,
        "no other machine is tried"
    );
}
