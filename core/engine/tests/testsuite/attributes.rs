//! Labels and taints that a Machine keeps on its Node: ours are kept, and those of other agents stay untouched.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, attributes, picture, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::Effect;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::{ConditionKind, Reason, Truth};
use seaworthy_model::report::{Blocker, Subject};

const MINUTE: Duration = Duration::from_secs(60);

/// One machine with a Node and a component, which wants these labels and taints there.
fn fleet(labels: &[(&str, &str)], taints: &[(&str, &str)]) -> Fixture {
    let mut fixture = Fixture::new(1);
    fixture.cluster.add(0, 0);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(10 * MINUTE);
    ask(&mut fixture, labels, taints);
    fixture
}

fn ask(fixture: &mut Fixture, labels: &[(&str, &str)], taints: &[(&str, &str)]) {
    let wanted = attributes(labels, taints);
    fixture.store.edit_machine(0, |spec| spec.node = (!wanted.is_empty()).then(|| Box::new(wanted)));
    fixture.deliver();
}

fn labels(fixture: &mut Fixture) -> Vec<String> {
    let labels = &fixture.cluster.node(0).attributes.labels;
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn taints(fixture: &mut Fixture) -> Vec<String> {
    let taints = &fixture.cluster.node(0).attributes.taints;
    taints.iter().map(|taint| format!("{}={}", taint.key, taint.value)).collect()
}

/// What other agents do to a label: they set it, or remove it.
fn relabel(fixture: &mut Fixture, key: &str, value: Option<&str>) {
    fixture.cluster.edit(0, |attributes| {
        match value {
            Some(value) => attributes.labels.insert(key.into(), value.into()),
            None => attributes.labels.remove(key),
        };
    });
    fixture.deliver();
}

fn in_sync(fixture: &Fixture) -> (Truth, Reason, Option<Detail>) {
    let condition = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap().clone();
    (condition.truth, condition.reason, condition.detail.as_deref().cloned())
}

fn blocker(fixture: &Fixture) -> Option<Blocker> {
    fixture.engine.world().blocker(Subject::Machine(MachineId(0)))
}

#[test]
fn what_is_wanted_is_set_in_one_write_and_recorded() {
    let mut fixture = fleet(&[("pool", "gpu"), ("tier", "1")], &[("dedicated", "ml")]);
    let turn = fixture.turn();
    assert_eq!(
        picture(&turn),
        "node of m0: set label pool nothing -> \"gpu\", label tier nothing -> \"1\", taint dedicated nothing -> \"ml\""
    );
    fixture.execute();
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu", "tier=1"]);
    assert_eq!(taints(&mut fixture), ["dedicated=ml"]);
    let record = fixture.cluster.node(0).attributes.record.clone();
    assert_eq!(record, Some(attributes(&[("pool", "gpu"), ("tier", "1")], &[("dedicated", "ml")])));
    assert_eq!(in_sync(&fixture), (Truth::True, Reason::AsDesired, None));
    assert_eq!(fixture.turn().actions, [], "there is nothing more to do");
}

#[test]
fn what_leaves_the_spec_leaves_the_node_if_it_was_ours() {
    let mut fixture = fleet(&[("pool", "gpu"), ("tier", "1")], &[("dedicated", "ml")]);
    fixture.pass(MINUTE);
    relabel(&mut fixture, "theirs", Some("x"));
    fixture.pass(MINUTE);
    ask(&mut fixture, &[("tier", "2")], &[]);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["theirs=x", "tier=2"]);
    assert_eq!(taints(&mut fixture), Vec::<String>::new());
    ask(&mut fixture, &[], &[]);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["theirs=x"]);
    assert_eq!(fixture.cluster.node(0).attributes.record, None);
}

#[test]
fn what_somebody_else_has_set_otherwise_is_told_and_left() {
    let mut fixture = fleet(&[], &[]);
    relabel(&mut fixture, "pool", Some("theirs"));
    ask(&mut fixture, &[("pool", "ours"), ("tier", "1")], &[]);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=theirs", "tier=1"], "the other one is not held up");
    assert_eq!(
        in_sync(&fixture),
        (Truth::False, Reason::NodeConflict, Some(Detail::ForeignLabel("pool".into())))
    );
    assert!(matches!(blocker(&fixture), Some(Blocker::NodeConflict { .. })));
    relabel(&mut fixture, "pool", None);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=ours", "tier=1"]);
    assert_eq!(in_sync(&fixture).1, Reason::AsDesired);
}

#[test]
fn what_somebody_else_wants_as_well_is_theirs_and_stays() {
    let mut fixture = fleet(&[], &[]);
    relabel(&mut fixture, "pool", Some("gpu"));
    ask(&mut fixture, &[("pool", "gpu")], &[]);
    fixture.pass(MINUTE);
    assert_eq!(in_sync(&fixture).1, Reason::AsDesired);
    ask(&mut fixture, &[], &[]);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
}

#[test]
fn what_is_ours_is_put_right_and_slower_each_time() {
    let mut fixture = fleet(&[("pool", "gpu")], &[("dedicated", "ml")]);
    fixture.pass(MINUTE);
    for value in [Some("theirs"), None, Some("theirs")] {
        relabel(&mut fixture, "pool", value);
        fixture.pass(Duration::from_secs(5));
        assert_eq!(labels(&mut fixture), ["pool=gpu"]);
    }
    fixture.cluster.edit(0, |attributes| attributes.taints.clear());
    fixture.deliver();
    fixture.pass(Duration::from_secs(5));
    assert_eq!(taints(&mut fixture), Vec::<String>::new(), "it waits by now");
    let (truth, reason, detail) = in_sync(&fixture);
    assert_eq!((truth, reason), (Truth::False, Reason::Contested), "{detail:?}");
    assert!(matches!(detail, Some(Detail::Contested { component: None, times: 3, .. })), "{detail:?}");
    fixture.pass(MINUTE);
    assert_eq!(taints(&mut fixture), ["dedicated=ml"]);
    let (truth, reason, detail) = in_sync(&fixture);
    assert_eq!((truth, reason), (Truth::True, Reason::Contested), "{detail:?}");
}

#[test]
fn what_somebody_else_has_changed_and_nobody_wants_any_more_is_theirs() {
    let mut fixture = fleet(&[("pool", "gpu")], &[]);
    fixture.pass(MINUTE);
    fixture.store.edit_machine(0, |spec| spec.node = None);
    relabel(&mut fixture, "pool", Some("theirs"));
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=theirs"]);
    assert_eq!(fixture.cluster.node(0).attributes.record, None);
}

#[test]
fn a_successor_goes_on_and_writes_nothing_twice() {
    let mut fixture = fleet(&[("pool", "gpu")], &[]);
    let turn = fixture.turn();
    assert!(matches!(turn.actions[0].effect, Effect::WriteNodeAttributes(_)));
    // The process ends before it receives the reply to its write.
    fixture.execute();
    fixture.restart();
    fixture.pass(10 * MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
    assert_eq!(fixture.turn().actions, []);
}

#[test]
fn a_successor_tells_what_has_come_and_what_is_over() {
    let mut fixture = fleet(&[("pool", "gpu")], &[]);
    fixture.pass(MINUTE);
    fixture.cluster.edit(0, |attributes| {
        attributes.labels.insert("pool".into(), "theirs".into());
        attributes.record = None;
    });
    fixture.restart();
    fixture.pass(10 * MINUTE);
    assert_eq!(in_sync(&fixture).1, Reason::NodeConflict);
    fixture.restart();
    fixture.pass(10 * MINUTE);
    assert_eq!(in_sync(&fixture).1, Reason::NodeConflict);
    relabel(&mut fixture, "pool", None);
    fixture.restart();
    fixture.pass(10 * MINUTE);
    assert_eq!((labels(&mut fixture), in_sync(&fixture).1), (vec!["pool=gpu".into()], Reason::AsDesired));
}

#[test]
fn a_paused_machine_keeps_what_it_has_and_says_so() {
    let mut fixture = fleet(&[("pool", "gpu")], &[]);
    fixture.pass(MINUTE);
    fixture.store.edit_machine(0, |spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(in_sync(&fixture).1, Reason::AsDesired);
    relabel(&mut fixture, "pool", None);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), Vec::<String>::new());
    assert_eq!(in_sync(&fixture).1, Reason::Paused);
    fixture.store.edit_machine(0, |spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    relabel(&mut fixture, "pool", None);
    fixture.pass(MINUTE);
    assert_eq!((labels(&mut fixture), in_sync(&fixture).1), (Vec::new(), Reason::Paused));
    fixture.restart();
    fixture.pass(MINUTE);
    fixture.store.edit_fleet(|spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
}

#[test]
fn a_node_that_is_registered_anew_gets_it_again() {
    let mut fixture = fleet(&[("pool", "gpu")], &[]);
    fixture.pass(MINUTE);
    fixture.cluster.nodes.clear();
    fixture.cluster.tell(0);
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture.cluster.add(0, 0);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
    assert_eq!(in_sync(&fixture).2, None, "that is no repair");
}

#[test]
fn a_host_that_nobody_reaches_does_not_hold_it_up() {
    let mut fixture = fleet(&[], &[]);
    fixture.host(0).up = false;
    fixture.pass(30 * MINUTE);
    ask(&mut fixture, &[("pool", "gpu")], &[]);
    fixture.pass(MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
}

#[test]
fn a_write_that_is_refused_is_told_and_tried_later() {
    let mut fixture = fleet(&[("pool", "gpu")], &[]);
    let forbidden = Cause::new(CauseKind::ApiRefused, "forbidden");
    fixture.cluster.refusal = Some(Outcome::Refused(forbidden));
    fixture.pass(MINUTE);
    let (truth, reason, detail) = in_sync(&fixture);
    assert_eq!((truth, reason), (Truth::False, Reason::Cause(CauseKind::ApiRefused)));
    assert_eq!(detail, Some(Detail::Reported("forbidden".into())));
    fixture.cluster.refusal = None;
    fixture.pass(10 * MINUTE);
    assert_eq!(labels(&mut fixture), ["pool=gpu"]);
    assert_eq!(in_sync(&fixture).1, Reason::AsDesired);
}

/// A patch removes taints by their places, from the last to the first. In another order it would hit others.
#[test]
fn taints_are_changed_in_the_order_of_their_places() {
    let mut fixture = fleet(&[], &[("a", ""), ("b", "")]);
    fixture.pass(MINUTE);
    fixture.cluster.edit(0, |attributes| attributes.taints.reverse());
    fixture.deliver();
    ask(&mut fixture, &[], &[]);
    let turn = fixture.turn();
    let places = turn.actions.iter().find_map(|action| {
        let Effect::WriteNodeAttributes(change) = &action.effect else { return None };
        let places = change.taints.iter().map(|taint| taint.from.as_ref().map(|(place, _)| *place));
        Some(places.collect::<Vec<_>>())
    });
    assert_eq!(places, Some(vec![Some(0), Some(1)]));
}
