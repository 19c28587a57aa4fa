//! Machines that leave a set with `onLeave: Remove` lose what they have from it, and no other machine does.

use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, set_of, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::component_set::{OnLeave, SetSpec};
use seaworthy_model::id::{ComponentId, SetId, VersionId};

const HOUR: Duration = Duration::from_secs(3600);
const DNS_1: VersionId = VersionId(3);

/// Those of this pool get the component `dns`.
fn pool(name: &str, on_leave: OnLeave) -> SetSpec {
    SetSpec { on_leave, ..set_of(&[name], vec![want(DNS, DNS_1)]) }
}

fn apply(fixture: &mut Fixture, id: u32, spec: SetSpec) {
    fixture.apply_set(id, &format!("set-{id}"), spec);
}

/// Six machines on `web-1`; the even ones are in the blue pool, and have `dns` from its set.
fn fleet(on_leave: OnLeave) -> Fixture {
    let mut fixture = Fixture::on_web_1(6, 2);
    for id in [0, 2, 4] {
        fixture.store.label_machine(id, ("pool", "blue"));
    }
    apply(&mut fixture, 0, pool("blue", on_leave));
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
    fixture
}

/// The machines whose hosts have a component.
fn having(fixture: &Fixture, component: ComponentId) -> Vec<u32> {
    let has = |id: &u32| {
        fixture.hosts[id].facts.components.iter().any(|installed| installed.component == component)
    };
    fixture.hosts.keys().copied().filter(has).collect()
}

fn relabel(fixture: &mut Fixture, id: u32, pool: &str) {
    fixture.store.label_machine(id, ("pool", pool));
    fixture.deliver();
}

#[test]
fn a_machine_that_leaves_loses_what_it_has_from_the_set() {
    let mut fixture = fleet(OnLeave::Remove);
    relabel(&mut fixture, 2, "green");
    fixture.pass(HOUR);
    assert_eq!((having(&fixture, DNS), having(&fixture, WEB).len()), (vec![0, 4], 6));
    // It comes back, and gets it again.
    relabel(&mut fixture, 2, "blue");
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
}

#[test]
fn by_default_it_keeps_it() {
    let mut fixture = fleet(OnLeave::Keep);
    relabel(&mut fixture, 2, "green");
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
    // It has left before: what people say later is about others.
    apply(&mut fixture, 0, pool("blue", OnLeave::Remove));
    fixture.pass(HOUR);
    relabel(&mut fixture, 4, "green");
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2]);
}

/// The labels change while no operator runs.
#[test]
fn a_new_operator_knows_what_a_machine_has_from_which_set() {
    let mut fixture = fleet(OnLeave::Remove);
    fixture.store.label_machine(2, ("pool", "green"));
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 4]);
}

#[test]
fn what_somebody_else_wants_stays() {
    let mut fixture = fleet(OnLeave::Remove);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(DNS, DNS_1)].into());
    apply(&mut fixture, 1, pool("green", OnLeave::Keep));
    relabel(&mut fixture, 0, "red");
    relabel(&mut fixture, 2, "green");
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
    let mut defaults = vec![want(WEB, web(1)), want(DNS, DNS_1)];
    fixture.store.defaults(defaults.clone());
    fixture.deliver();
    fixture.pass(HOUR);
    relabel(&mut fixture, 4, "red");
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS).len(), 6);
    // Then it was from the defaults, and those remove nothing.
    defaults.pop();
    fixture.store.defaults(defaults);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS).len(), 6);
}

/// Neither a set that is deleted, nor a component that is taken out of it, nor a selector that matches nothing empties hosts.
#[test]
fn what_may_be_a_mistake_removes_nothing() {
    let mut fixture = fleet(OnLeave::Remove);
    apply(&mut fixture, 0, pool("bleu", OnLeave::Remove));
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
    apply(&mut fixture, 0, SetSpec { components: vec![], ..pool("blue", OnLeave::Remove) });
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
    apply(&mut fixture, 0, pool("blue", OnLeave::Remove));
    fixture.pass(HOUR);
    fixture.store.delete_set(Owner::Set(SetId(0)));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
}

/// Removals draw on `maxUnavailable` as other work does, and wait for a pause to end.
#[test]
fn a_removal_waits_as_other_work_does() {
    let mut fixture = fleet(OnLeave::Remove);
    fixture.store.edit_fleet(|spec| spec.paused = true);
    relabel(&mut fixture, 2, "green");
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 2, 4]);
    fixture.store.edit_fleet(|spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(having(&fixture, DNS), [0, 4]);
}
