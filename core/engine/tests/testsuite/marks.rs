//! Which marks on a Node the engine relies on, and which it removes.

use std::time::Duration;

use crate::fixture::{self, Fixture, WEB, is_change, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::event::{Event, Observation, Outcome};
use seaworthy_model::id::MachineId;

const MINUTE: Duration = Duration::from_secs(60);

/// Goes on until such an action is pending.
fn until_ordered(fixture: &mut Fixture, is_wanted: fn(&Action) -> bool) -> Action {
    for _ in 0..200 {
        let turn = fixture.turn();
        if let Some(action) = fixture.pending.iter().find(|action| is_wanted(action)) {
            return action.clone();
        }
        if let (true, Some(wake)) = (fixture.pending.is_empty(), turn.wake) {
            fixture.now = wake.at.max(fixture.now + Duration::from_millis(1));
        }
        fixture.execute();
    }
    panic!("it was never ordered");
}

fn is_uncordon(action: &Action) -> bool {
    matches!(action.effect, Effect::Uncordon(_))
}

/// A refused order proves nothing about the order before it, which may have been carried out unobserved; and little
/// about itself, if the network has delivered it twice.
#[test]
fn a_mark_is_relied_on_no_more_once_it_was_ordered_to_be_taken_off() {
    let turned_away = || Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "come back later"));
    for is_carried_out in [true, false] {
        let mut fixture = Fixture::held_up();
        fixture.cluster.is_mute = is_carried_out;
        fixture.store.edit_machine(0, |spec| spec.paused = true);
        fixture.deliver();
        if is_carried_out {
            fixture.settle();
            assert!(!fixture.cluster.is_marked(0));
            // The engine waits this long for the echo.
            fixture.now = fixture.now + Duration::from_secs(31);
        }
        let again = until_ordered(&mut fixture, is_uncordon);
        fixture.pending.retain(|action| action.id != again.id);
        fixture.engine.observe(Event::Finished { action: again.id, outcome: turned_away() });
        fixture.store.edit_machine(0, |spec| spec.paused = false);
        fixture.cluster.evictions_left = None;
        fixture.deliver();
        let end = fixture.now + 5 * MINUTE;
        while !fixture.pending.iter().any(is_change) && fixture.now < end {
            fixture.execute();
            let turn = fixture.turn();
            if let (true, Some(wake)) = (fixture.pending.is_empty(), turn.wake) {
                fixture.now = wake.at.max(fixture.now + Duration::from_millis(1));
            }
        }
        // The copy arrives at the worst moment: when the Node counts as empty.
        let _ = fixture.outcome(&again);
        let begins = fixture.pending.iter().any(is_change);
        assert_eq!((begins, fixture.cluster.is_marked(0)), (!is_carried_out, !is_carried_out));
        fixture.cluster.is_mute = false;
        fixture.cluster.tell(0);
        fixture.execute();
        fixture.pass(10 * MINUTE);
        assert_eq!(fixture.web(), [Some(2)]);
        assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
    }
}

/// A removed mark comes back with a late copy of its order, after the engine has forgotten its drain; and a late copy
/// of the removal may follow.
#[test]
fn a_mark_that_was_taken_off_is_not_relied_on_when_it_comes_back() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.upgrade();
    let cordon = until_ordered(&mut fixture, |action| matches!(action.effect, Effect::Cordon(_)));
    fixture.execute();
    fixture.store.edit_machine(0, |spec| spec.paused = true);
    fixture.deliver();
    let uncordon = until_ordered(&mut fixture, is_uncordon);
    fixture.settle();
    assert!(!fixture.cluster.is_marked(0) && fixture.engine.world().machine(MachineId(0)).drain.is_none());

    let _ = fixture.outcome(&cordon);
    assert!(fixture.cluster.is_marked(0));
    fixture.store.edit_machine(0, |spec| spec.paused = false);
    fixture.deliver();
    let _ = until_ordered(&mut fixture, is_change);
    let _ = fixture.outcome(&uncordon);
    assert!(fixture.cluster.is_marked(0), "work begins while its Node takes pods");
    fixture.execute();
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
}

#[test]
fn a_mark_of_a_machine_that_is_gone_is_taken_off_by_the_next_of_its_name() {
    let mut fixture = Fixture::held_up();
    assert!(fixture.cluster.is_marked(0));
    // Somebody has removed its finalizer by force, and created it again on a default that is installed already.
    fixture.store.machines.remove(&0);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.store.add_machine(MachineId(0));
    fixture.hosts.insert(0, fixture::FakeHost::new(0));
    fixture.cluster.evictions_left = None;
    fixture.deliver();
    fixture.pass(10 * MINUTE);
    assert!(!fixture.cluster.is_marked(0) && !fixture.cluster.is_unschedulable(0));
}

/// A person has cordoned the Node before a drain, and uncordons it meanwhile. The next operator marks the Node again, and
/// must not pass on that it was unschedulable: nobody would uncordon it ever again.
#[test]
fn an_uncordon_by_people_during_a_drain_is_remembered_by_the_next_operator() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.cluster.cordon(0);
    fixture.cluster.evictions_left = Some(0);
    fixture.deliver();
    fixture.upgrade();
    fixture.pass(MINUTE);
    assert!(fixture.cluster.is_marked(0));
    fixture.cluster.uncordon(0);
    fixture.deliver();
    fixture.restart();
    fixture.pass(MINUTE);
    fixture.cluster.evictions_left = None;
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
}

/// A person uncordons a Node that the engine has cordoned, and cordons it later: the mark does not say so, and the last word
/// is that person's.
#[test]
fn a_cordon_by_people_during_a_drain_stays() {
    let mut fixture = Fixture::held_up();
    assert!(fixture.cluster.is_marked(0) && fixture.cluster.is_unschedulable(0));
    fixture.cluster.uncordon(0);
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture.cluster.cordon(0);
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture.cluster.evictions_left = None;
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
}

/// The next drain of a Node has nothing to do with what people did during the last one.
#[test]
fn a_later_mark_is_lifted_with_its_cordon() {
    let mut fixture = Fixture::held_up();
    fixture.cluster.uncordon(0);
    fixture.deliver();
    fixture.cluster.evictions_left = None;
    fixture.pass(10 * MINUTE);
    assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
    assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
}

/// Two machines hold the one unit of each other, and the watch does not show that their marks were removed.
#[test]
fn of_a_drift_and_a_mark_that_stays_one_is_told_and_not_both_in_turns() {
    let (mut fixture, marked) = Fixture::marked_and_drifted();
    fixture.cluster.is_mute = true;
    fixture.pass(5 * MINUTE);
    let drain = fixture.engine.world().machine(MachineId(marked[0])).drain.clone().unwrap();
    assert!(drain.write.trouble.is_some(), "{drain:?}");
}

/// People remove a finalizer, or the Machine went before a watch has shown the mark. Nobody else would remove the mark, and a
/// unit would be taken for ever.
#[test]
fn the_mark_of_a_machine_that_is_gone_is_removed() {
    for is_refused_once in [false, true] {
        let mut fixture = Fixture::held_up();
        assert!(fixture.cluster.is_marked(0) && fixture.engine.world().occupied() == 1);
        fixture.store.machines.remove(&0);
        fixture.see(Observation::Machine(MachineId(0), None));
        if is_refused_once {
            // The first try is refused, so there is a second one.
            let first = until_ordered(&mut fixture, is_uncordon);
            fixture.pending.retain(|action| action.id != first.id);
            let away = Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, "come back later"));
            fixture.engine.observe(Event::Finished { action: first.id, outcome: away });
        }
        fixture.pass(10 * MINUTE);
        assert!(!fixture.cluster.is_marked(0) && !fixture.cluster.is_unschedulable(0));
        assert_eq!(fixture.engine.world().occupied(), 0);
    }
}

/// The next operator lists the Node before the last of its kinds, and waits. It must come back to it.
#[test]
fn the_mark_of_a_machine_that_is_gone_is_removed_by_the_next_operator() {
    let mut fixture = Fixture::held_up();
    assert!(fixture.cluster.is_marked(0));
    fixture.store.machines.remove(&0);
    fixture.restart();
    until_ordered(&mut fixture, |action| matches!(action.effect, Effect::Watch));
    for observation in fixture.cluster.everything() {
        fixture.see(observation);
    }
    let _ = fixture.turn();
    fixture.pass(10 * MINUTE);
    assert!(!fixture.cluster.is_marked(0) && !fixture.cluster.is_unschedulable(0));
}
