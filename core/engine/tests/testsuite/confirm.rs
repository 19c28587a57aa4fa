//! Releases that have to be confirmed: a new session reaches the host before the change counts as done; otherwise the
//! host rolls it back.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, picture, want, web};
use seaworthy_engine::Standing;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Confirm;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::MachineId;
use seaworthy_model::quantity::CountOrPercent;

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

fn is_confirm(action: &Action) -> bool {
    matches!(&action.effect, Effect::Host(order) if matches!(order.command, HostCommand::Confirm(_)))
}

/// Machines that are to have `web-1`, one after the other, which has to be confirmed within a minute.
fn to_confirm(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    for version in fixture.store.versions.values_mut() {
        let spec = Arc::make_mut(version.spec.as_mut().expect("it is acceptable"));
        spec.content.confirm = Some(Confirm { within_seconds: 60 });
    }
    fixture.restart();
    fixture.store.edit_fleet(|spec| {
        spec.max_unavailable = CountOrPercent::Count(1);
        spec.max_failures = CountOrPercent::Count(1);
    });
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture
}

/// Turns and executions until a confirmation is the only pending order.
fn until_confirm(fixture: &mut Fixture) {
    for _ in 0..60 {
        let turn = fixture.turn();
        if fixture.pending.iter().any(is_confirm) {
            assert_eq!(fixture.pending.len(), 1, "{}", picture(&turn));
            return;
        }
        fixture.execute();
    }
    panic!("nothing is confirmed");
}

/// Lets time pass second by second, and counts the confirmations that are ordered meanwhile.
fn confirmations(fixture: &mut Fixture, span: Duration) -> usize {
    let (end, mut count) = (fixture.now + span, 0);
    while fixture.now < end {
        loop {
            let turn = fixture.turn();
            count += turn.actions.iter().filter(|action| is_confirm(action)).count();
            if fixture.pending.is_empty() {
                break;
            }
            fixture.execute();
        }
        fixture.now = fixture.now + SECOND;
    }
    count
}

fn changed(fixture: &Fixture) -> u32 {
    fixture.hosts.values().map(|host| host.changes).sum()
}

#[test]
fn a_release_counts_only_once_it_is_confirmed() {
    let mut fixture = to_confirm(2);
    let begin = fixture.now;
    until_confirm(&mut fixture);
    assert_eq!(fixture.now, begin, "at once");
    let machine = |fixture: &Fixture, id| fixture.engine.world().machine(MachineId(id)).clone();
    let at_work = (0..2).find(|id| machine(&fixture, *id).unconfirmed().is_some()).expect("one waits");
    assert_eq!(machine(&fixture, at_work).standing(0), Standing::Granted);
    assert!(machine(&fixture, at_work).claims());
    assert_eq!(changed(&fixture), 1, "its slot is not free");
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
    assert!((0..2).all(|id| machine(&fixture, id).standing(0) == Standing::Done));
}

#[test]
fn a_host_that_lets_nobody_in_is_tried_until_it_has_restored_itself() {
    let mut fixture = to_confirm(2);
    for host in fixture.hosts.values_mut() {
        host.shut = true;
    }
    until_confirm(&mut fixture);
    let tries = confirmations(&mut fixture, SECOND * 55);
    assert!((4..=20).contains(&tries), "{tries} tries in a minute");
    assert_eq!(changed(&fixture), 1, "its slot is not free");
    let id = (0..2).find(|id| fixture.host(*id).changes == 1).expect("one is changed");
    fixture.host(id).lapse();
    fixture.pass(HOUR);
    let machine = fixture.engine.world().machine(MachineId(id));
    assert_eq!(machine.failed_release(WEB).map(|failed| failed.cause), Some(CauseKind::NotConfirmed));
    assert_eq!((machine.standing(0), machine.uncertain), (Standing::Failed, None));
    assert_eq!(changed(&fixture), 1, "one failure is as many as there may be");
}

#[test]
fn a_refused_confirmation_counts_before_the_host_is_read_again() {
    let mut fixture = to_confirm(2);
    until_confirm(&mut fixture);
    let id = (0..2).find(|id| fixture.host(*id).changes == 1).expect("one is changed");
    // A successor holds no reservations.
    fixture.restart();
    until_confirm(&mut fixture);
    fixture.host(id).lapse();
    fixture.reply();
    let machine = fixture.engine.world().machine(MachineId(id));
    assert_eq!((machine.standing(0), machine.progress.contact.stale), (Standing::Failed, true));
    fixture.pass(HOUR);
    assert_eq!(changed(&fixture), 1);
}

#[test]
fn a_reply_that_is_lost_is_asked_for_again() {
    let mut fixture = to_confirm(1);
    until_confirm(&mut fixture);
    fixture.lost_replies.insert(0, 1);
    fixture.execute();
    let tries = confirmations(&mut fixture, SECOND * 30);
    assert_eq!(tries, 1, "it was confirmed already");
    assert_eq!(fixture.engine.world().machine(MachineId(0)).standing(0), Standing::Done);
}

#[test]
fn a_successor_confirms_what_it_finds_also_when_it_is_not_wanted_any_more() {
    for is_wanted in [true, false] {
        let mut fixture = to_confirm(1);
        until_confirm(&mut fixture);
        fixture.restart();
        if !is_wanted {
            fixture.store.defaults(vec![want(WEB, web(2))]);
        }
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!(fixture.web(), [Some(if is_wanted { 1 } else { 2 })]);
        let machine = fixture.engine.world().machine(MachineId(0));
        assert_eq!(machine.failed_release(WEB), None);
        assert_eq!(machine.standing(0), Standing::Done);
    }
}

#[test]
fn who_does_not_answer_after_its_time_is_given_up() {
    let mut fixture = to_confirm(1);
    until_confirm(&mut fixture);
    fixture.host(0).up = false;
    confirmations(&mut fixture, SECOND * 50);
    let given_up =
        |fixture: &Fixture| fixture.engine.world().machine(MachineId(0)).host.unreachable_since.is_some();
    assert!(!given_up(&fixture), "it restores itself by then");
    fixture.pass(HOUR);
    assert!(given_up(&fixture));
}
