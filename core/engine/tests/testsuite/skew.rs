//! Versions that must not run together: what changes first, what waits, and for what.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, is_change, want, web};
use proptest::prelude::*;
use seaworthy_model::detail::{Detail, FleetDetail, Found, Skew};
use seaworthy_model::effect::Effect;
use seaworthy_model::event::Observation;
use seaworthy_model::host::Change;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{MachineId, VersionId};
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::package_version::{FleetConditionKind, FleetReason};
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::requirement::{ApiServers, Party, Requirement, VersionNumber};

const fn dns(version: u32) -> VersionId {
    VersionId(version + 2)
}

fn number(text: &str) -> VersionNumber {
    VersionNumber::parse(text).unwrap()
}

fn rule(party: Party, at_least: &str, below: &str) -> Requirement {
    Requirement { party, at_least: VersionNumber::parse(at_least), below: VersionNumber::parse(below) }
}

/// Gives a version its number and its rules.
fn set(fixture: &mut Fixture, version: VersionId, name: &str, requires: &[Requirement]) {
    let object = fixture.store.versions.get_mut(&version.0).unwrap();
    let spec = Arc::make_mut(object.spec.as_mut().unwrap());
    name.clone_into(&mut spec.version);
    spec.requires = requires.to_vec();
}

/// `web` is like a kubelet, and `dns` like a runtime: each web of a minor goes with a dns of at least that minor, but
/// with none that is two minors ahead; the API server is of the same minor or of the one before.
fn minors() -> Fixture {
    let mut fixture = Fixture::new(1);
    for minor in 1..=3 {
        let (own, next, end) =
            (format!("1.{minor}.0"), format!("1.{}.0", minor + 1), format!("1.{}.0", minor + 2));
        set(&mut fixture, dns(minor), &own, &[]);
        let runtime = rule(Party::Component(DNS), &own, &end);
        set(&mut fixture, web(minor), &own, &[runtime, rule(Party::ApiServer, &own, &next)]);
    }
    fixture
}

/// The driver asks the API servers, and these are the oldest and the newest.
fn find(fixture: &mut Fixture, [oldest, newest]: [&str; 2]) {
    let (oldest, newest) = (number(oldest), number(newest));
    fixture.see(Observation::ApiServers(ApiServers { oldest, newest }));
}

fn hear(fixture: &mut Fixture, version: &str) {
    find(fixture, [version, version]);
}

/// What is ordered to change on hosts until nothing more is, in this order.
fn changes(fixture: &mut Fixture) -> Vec<String> {
    let mut changes = Vec::new();
    fixture.deliver();
    for _ in 0..100 {
        let turn = fixture.turn();
        for action in turn.actions.iter().filter(|action| is_change(action)) {
            let Effect::Host(order) = &action.effect else { panic!("{action:?}") };
            let HostCommand::Apply(operation) = &order.command else { panic!("{order:?}") };
            let name = if operation.component == WEB { "web" } else { "dns" };
            changes.push(match &operation.change {
                Change::Install(release) => format!("{name} {}", release.recipe.version),
                Change::Remove => format!("no {name}"),
            });
        }
        if fixture.pending.is_empty() && turn.wake.is_none_or(|wake| wake.at > fixture.now) {
            return changes;
        }
        fixture.execute();
    }
    panic!("it does not settle: {changes:?}");
}

fn waits_for(fixture: &Fixture) -> Option<Blocker> {
    fixture.engine.world().blocker(Subject::Machine(MachineId(0)))
}

/// The reason and the detail of the condition `InSync`.
fn told(fixture: &Fixture) -> (Reason, Option<Detail>) {
    let condition = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap();
    (condition.reason, condition.detail.as_deref().cloned())
}

/// A rule of a version that something breaks.
fn skew(version: &str, (at_least, below): (&str, &str), found: Found) -> Skew {
    let (at_least, below) = (VersionNumber::parse(at_least), VersionNumber::parse(below));
    Skew { version: version.into(), at_least, below, found }
}

fn found(component: &str, version: &str) -> Found {
    Found::Version { component: component.into(), version: version.into() }
}

fn api_server(version: &str) -> Found {
    Found::ApiServer(VersionNumber::parse(version).unwrap())
}

fn pin(fixture: &mut Fixture, web_version: u32, dns_version: u32) {
    let pins = vec![want(WEB, web(web_version)), want(DNS, dns(dns_version))];
    fixture.store.edit_machine(0, |spec| spec.pins = pins.into());
}

#[test]
fn what_must_not_meet_on_the_way_decides_the_order() {
    let mut fixture = minors();
    hear(&mut fixture, "1.1.0");
    pin(&mut fixture, 1, 1);
    changes(&mut fixture);
    hear(&mut fixture, "1.2.7");
    pin(&mut fixture, 2, 2);
    assert_eq!(changes(&mut fixture), ["dns 1.2.0", "web 1.2.0"], "web 2 must not meet dns 1");
    hear(&mut fixture, "1.1.0");
    pin(&mut fixture, 1, 1);
    assert_eq!(changes(&mut fixture), ["web 1.1.0", "dns 1.1.0"], "and back the other way round");
}

#[test]
fn nothing_is_touched_when_what_is_wanted_cannot_be_reached() {
    let mut fixture = minors();
    hear(&mut fixture, "1.1.0");
    pin(&mut fixture, 1, 1);
    changes(&mut fixture);
    // Both could be together, and there is no way: dns 3 must not meet web 1, nor web 3 dns 1.
    hear(&mut fixture, "1.3.0");
    pin(&mut fixture, 3, 3);
    assert_eq!(changes(&mut fixture), [""; 0]);
    let broken = skew("web-3", ("1.3.0", "1.5.0"), found("dns", "dns-1"));
    assert_eq!(told(&fixture), (Reason::VersionSkew, Some(Detail::Skew(broken))));
    assert_eq!(waits_for(&fixture), Some(Blocker::VersionSkew { version: web(3), rule: 0, other: dns(1) }));
    // By way of the one between there is.
    pin(&mut fixture, 1, 2);
    assert_eq!(changes(&mut fixture), ["dns 1.2.0"]);
}

#[test]
fn the_rules_of_what_is_there_count_as_well() {
    let mut fixture = minors();
    hear(&mut fixture, "1.1.0");
    pin(&mut fixture, 1, 1);
    changes(&mut fixture);
    pin(&mut fixture, 1, 3);
    assert_eq!(changes(&mut fixture), [""; 0]);
    let broken = skew("web-1", ("1.1.0", "1.3.0"), found("dns", "dns-3"));
    assert_eq!(told(&fixture), (Reason::VersionSkew, Some(Detail::Skew(broken))));
}

#[test]
fn every_api_server_counts_and_nothing_is_guessed() {
    let mut fixture = minors();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    assert_eq!(changes(&mut fixture), [""; 0]);
    assert_eq!(waits_for(&fixture), Some(Blocker::ApiServerUnknown { version: web(2) }));
    let broken = skew("web-2", ("1.2.0", "1.3.0"), Found::UnknownApiServer);
    assert_eq!(told(&fixture), (Reason::ApiServerUnknown, Some(Detail::Skew(broken))));
    find(&mut fixture, ["1.1.4", "1.2.0"]);
    assert_eq!(changes(&mut fixture), [""; 0]);
    let broken = skew("web-2", ("1.2.0", "1.3.0"), api_server("1.1.4"));
    assert_eq!(told(&fixture), (Reason::VersionSkew, Some(Detail::Skew(broken))));
    find(&mut fixture, ["1.2.0", "1.3.0"]);
    assert_eq!(changes(&mut fixture), [""; 0]);
    let broken = skew("web-2", ("1.2.0", "1.3.0"), api_server("1.3.0"));
    assert_eq!(told(&fixture).1, Some(Detail::Skew(broken)));
    hear(&mut fixture, "1.2.0");
    assert_eq!(changes(&mut fixture), ["web 1.2.0"]);
    // Nobody has answered for long: what is there may be repaired, and nothing else comes.
    fixture.pass(Duration::from_secs(3600));
    fixture.host(0).drift(WEB);
    fixture.pass(Duration::from_secs(600));
    assert!(fixture.host(0).facts.components.iter().all(|installed| installed.drift.is_none()));
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    assert_eq!(changes(&mut fixture), [""; 0]);
    assert_eq!(waits_for(&fixture), Some(Blocker::ApiServerUnknown { version: web(1) }));
}

#[test]
fn defaults_that_must_not_be_together_start_nothing() {
    let mut fixture = minors();
    hear(&mut fixture, "1.1.0");
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, dns(1))]);
    assert_eq!(changes(&mut fixture).len(), 2, "where nothing is there is nothing to meet");
    fixture.pass(Duration::from_secs(60));
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, dns(3))]);
    assert_eq!(changes(&mut fixture), [""; 0]);
    let fleet = fixture.engine.world().fleet.object().unwrap();
    let progress =
        fleet.status.conditions.iter().find(|it| it.kind == FleetConditionKind::Progressing).unwrap();
    assert_eq!(progress.reason, FleetReason::VersionSkew);
    let broken = skew("web-1", ("1.1.0", "1.3.0"), found("dns", "dns-3"));
    assert_eq!(progress.detail, Some(FleetDetail::Skew(broken)));
    fixture.pass(Duration::from_secs(600));
    assert_eq!(fixture.host(0).version(DNS), Some(dns(1)));
    hear(&mut fixture, "1.2.0");
    fixture.store.defaults(vec![want(WEB, web(2)), want(DNS, dns(2))]);
    assert_eq!(changes(&mut fixture), ["dns 1.2.0", "web 1.2.0"], "one default waits for the other");
}

/// A version of two components with whatever rules about each other, from anything to anything: no state on the way is
/// forbidden, and if nothing is done there is no way.
#[derive(Clone, Debug)]
struct Rules {
    /// By component and version: the numbers of the other component that it goes with.
    admits: [[(u16, u16); 3]; 2],
    from: [usize; 2],
    to: [usize; 2],
}

fn rules() -> impl Strategy<Value = Rules> {
    let span = || (0..4_u16, 1..5_u16).prop_map(|(from, len)| (from, from + len));
    let spans = || prop::array::uniform3(span());
    let versions = || prop::array::uniform2(0..3_usize);
    ([spans(), spans()], versions(), versions()).prop_map(|(admits, from, to)| Rules { admits, from, to })
}

impl Rules {
    fn goes(&self, state: [usize; 2]) -> bool {
        let goes = |own: usize, other: usize| {
            let (from, end) = self.admits[own][state[own]];
            (from..end).contains(&(u16::try_from(state[other]).unwrap() + 1))
        };
        goes(0, 1) && goes(1, 0)
    }
}

proptest! {
    #[test]
    fn there_is_a_way_or_nothing_is_done(rules in rules().prop_filter("legal", |rules| rules.goes(rules.from))) {
        let mut fixture = Fixture::new(1);
        let parties = [Party::Component(DNS), Party::Component(WEB)];
        let ids = |state: [usize; 2]| {
            let number = |index: usize| u32::try_from(index).unwrap() + 1;
            [web(number(state[0])), dns(number(state[1]))]
        };
        let pins = |state| vec![want(WEB, ids(state)[0]), want(DNS, ids(state)[1])];
        for version in 0..3 {
            for (component, party) in parties.into_iter().enumerate() {
                let (from, end) = rules.admits[component][version];
                let bounds = (format!("{from}.0.0"), format!("{end}.0.0"));
                let requires = [rule(party, &bounds.0, &bounds.1)];
                let id = ids([version, version])[component];
                set(&mut fixture, id, &format!("{}.0.0", version + 1), &requires);
            }
        }
        fixture.store.edit_machine(0, |spec| spec.pins = pins(rules.from).into());
        prop_assert_eq!(changes(&mut fixture).len(), 2);
        fixture.store.edit_machine(0, |spec| spec.pins = pins(rules.to).into());
        let done = changes(&mut fixture);
        let differs = (0..2).filter(|component| rules.from[*component] != rules.to[*component]).count();
        let middle = [[rules.to[0], rules.from[1]], [rules.from[0], rules.to[1]]];
        let has_way = rules.goes(rules.to) && (differs < 2 || middle.iter().any(|state| rules.goes(*state)));
        prop_assert_eq!(done.len(), if has_way { differs } else { 0 }, "{:?}", done);
        if has_way && differs == 2 {
            let first = usize::from(done[0].starts_with("dns"));
            prop_assert!(rules.goes(middle[first]), "{:?}", done);
        }
    }
}
