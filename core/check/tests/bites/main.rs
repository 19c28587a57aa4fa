//! Every invariant bites: an honest turn passes, and the same turn with one thing wrong does not.

mod attributes;
mod confirmation;
mod drain;
#[path = "../../../engine/tests/testsuite/fixture/mod.rs"]
mod fixture;
mod gate;
mod policy;

use std::sync::Arc;
use std::time::Duration;

use fixture::{DNS, Fixture, WEB, absent, want, web};
use seaworthy_check::{CHECKS, check, recount};
use seaworthy_engine::Engine;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::certificate::{CertificateRequestObject, RequestContent, RequestState, Usages};
use seaworthy_model::config::Config;
use seaworthy_model::digest::Digest;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Action, ActionId, Effect, Fence, Target};
use seaworthy_model::event::{Event, Observation, Outcome};
use seaworthy_model::host::{Change, Owner};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{HostId, StoreId, Uid, VersionId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{Condition, Reason, Truth};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::Turn;
use seaworthy_model::requirement::{ApiServers, Party, Requirement, VersionNumber};
use seaworthy_model::time::Timestamp;

/// Runs the fixture until a turn contains an action that `wanted` accepts.
fn turn_with(fixture: &mut Fixture, wanted: impl Fn(&Action) -> bool) -> Turn {
    for _ in 0..100 {
        let turn = fixture.turn();
        if turn.actions.iter().any(&wanted) {
            assert_eq!(check(fixture.engine.world(), &turn), []);
            assert_eq!(recount(fixture.engine.world()), []);
            return turn;
        }
        fixture.execute();
    }
    panic!("no such turn came");
}

fn is_install(action: &Action) -> bool {
    matches!(&action.effect, Effect::Host(order) if matches!(order.command, HostCommand::Apply(_)))
}

const fn is_finalizer(action: &Action) -> bool {
    matches!(action.effect, Effect::WriteFinalizers(_))
}

const fn is_import(action: &Action) -> bool {
    matches!(action.effect, Effect::Import(_))
}

fn about_to_install() -> (Fixture, Turn) {
    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    let turn = turn_with(&mut fixture, is_install);
    (fixture, turn)
}

/// The invariants that the turn breaks once `tamper` has changed its first action that `wanted` accepts.
fn broken(
    fixture: &Fixture,
    mut turn: Turn,
    wanted: impl Fn(&Action) -> bool,
    tamper: impl FnOnce(&mut Action),
) -> Vec<&'static str> {
    tamper(turn.actions.iter_mut().find(|action| wanted(action)).expect("the turn has such an action"));
    let mut names: Vec<&str> =
        check(fixture.engine.world(), &turn).into_iter().map(|breach| breach.invariant).collect();
    names.dedup();
    names
}

#[test]
fn order_sees_an_install_that_comes_too_early_and_a_removal_that_does() {
    let depends = |fixture: &mut Fixture, version: u32, on| {
        let object = fixture.store.versions.get_mut(&version).expect("the fixture has it");
        Arc::make_mut(object.spec.as_mut().expect("it is acceptable")).depends_on.push(on);
    };
    // By itself `web` comes first. While it is on its way the engine learns that it needs `dns`.
    let (mut fixture, turn) = about_to_install();
    assert_eq!(check(fixture.engine.world(), &turn), []);
    depends(&mut fixture, 0, DNS);
    fixture.store.touch_version(0);
    fixture.deliver();
    let unchanged = |_: &mut Action| ();
    assert_eq!(broken(&fixture, turn, is_install, unchanged), ["order"]);

    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(DNS, VersionId(3)), want(WEB, web(1))].into());
    fixture.settle();
    fixture.store.edit_machine(0, |spec| spec.pins = [absent(DNS), want(WEB, web(1))].into());
    fixture.deliver();
    let turn = turn_with(&mut fixture, is_install);
    depends(&mut fixture, 0, DNS);
    fixture.store.touch_version(0);
    fixture.deliver();
    assert_eq!(broken(&fixture, turn, is_install, unchanged), ["order"]);
}

#[test]
fn skew_sees_versions_that_must_not_meet() {
    let at = |text: &str| VersionNumber::parse(text);
    let rule = |fixture: &mut Fixture, version: u32, name: &str, party, at_least: &str| {
        let object = fixture.store.versions.get_mut(&version).expect("the fixture has it");
        let spec = Arc::make_mut(object.spec.as_mut().expect("it is acceptable"));
        name.clone_into(&mut spec.version);
        spec.requires = vec![Requirement { party, at_least: at(at_least), below: None }];
        fixture.store.touch_version(version);
        fixture.deliver();
    };
    let unchanged = |_: &mut Action| ();
    // While it is on its way the engine learns of its rule about API servers, which are unknown or too old.
    let (mut fixture, turn) = about_to_install();
    assert_eq!(broken(&fixture, turn.clone(), is_install, unchanged), [""; 0]);
    rule(&mut fixture, 0, "1.36.0", Party::ApiServer, "1.36.0");
    assert_eq!(broken(&fixture, turn.clone(), is_install, unchanged), ["skew"]);
    let find = |fixture: &mut Fixture, oldest: &str, newest: &str| {
        let found = ApiServers::of([oldest, newest].into_iter().filter_map(at)).expect("two versions");
        fixture.engine.observe(Event::Observed(StoreId::HOME, Observation::ApiServers(found)));
    };
    find(&mut fixture, "1.36.2", "1.37.0");
    assert_eq!(broken(&fixture, turn.clone(), is_install, unchanged), [""; 0]);
    find(&mut fixture, "1.35.9", "1.37.0");
    assert_eq!(broken(&fixture, turn, is_install, unchanged), ["skew"], "the oldest counts as well");

    for (holder, other) in [((WEB, 0), (DNS, 3)), ((DNS, 3), (WEB, 0))] {
        let mut fixture = Fixture::new(1);
        fixture.store.edit_machine(0, |spec| spec.pins = [want(DNS, VersionId(3))].into());
        fixture.settle();
        fixture.store.edit_machine(0, |spec| spec.pins = [want(DNS, VersionId(3)), want(WEB, web(1))].into());
        fixture.deliver();
        let mut turn = turn_with(&mut fixture, is_install);
        // The status of a version is written for what it was before it had the rule.
        turn.actions.retain(is_install);
        assert_eq!(broken(&fixture, turn.clone(), is_install, unchanged), [""; 0]);
        rule(&mut fixture, holder.1, "1.0.0", Party::Component(other.0), "2.0.0");
        let names = broken(&fixture, turn, is_install, unchanged);
        assert_eq!(names, ["skew"], "a version without numbers cannot be compared");
    }
}

#[test]
fn freshness_sees_an_old_fence_an_old_epoch_and_a_past_deadline() {
    let (fixture, turn) = about_to_install();
    let old_epoch = |action: &mut Action| {
        if let Fence::Host(fence) = &mut action.fence {
            fence.epoch = Epoch(fence.epoch.0 - 1);
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_install, old_epoch), ["freshness"]);
    let no_fence = |action: &mut Action| action.fence = Fence::None;
    assert_eq!(broken(&fixture, turn.clone(), is_install, no_fence), ["freshness"]);
    let past = |action: &mut Action| action.deadline = Timestamp::ZERO;
    assert_eq!(broken(&fixture, turn, is_install, past), ["freshness"]);

    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    let turn = turn_with(&mut fixture, is_finalizer);
    let old_version = |action: &mut Action| {
        if let Fence::Unchanged { resource_version, .. } = &mut action.fence {
            *resource_version -= 1;
        }
    };
    assert_eq!(broken(&fixture, turn, is_finalizer, old_version), ["freshness"]);
}

#[test]
fn exclusivity_sees_a_second_order_to_a_host() {
    let (fixture, turn) = about_to_install();
    let names = broken(&fixture, turn, is_install, |action| action.id = ActionId(9999));
    assert!(names.contains(&"exclusivity"), "{names:?}");
}

#[test]
fn exclusivity_sees_who_is_told_to_be_ready_on_anothers_host() {
    let mut fixture = Fixture::new(1);
    fixture.host(0).facts.owner = Owner::Foreign { cluster: "another".into(), machine: Uid(77) };
    fixture.store.defaults(vec![want(WEB, web(1))]);
    let says_why = |action: &Action| {
        let Effect::WriteMachineStatus(status) = &action.effect else { return false };
        status.conditions.iter().any(|condition| condition.reason == Reason::DuplicateHost)
    };
    let turn = turn_with(&mut fixture, says_why);
    let lies = |action: &mut Action| {
        let Effect::WriteMachineStatus(status) = &mut action.effect else { return };
        let told = status.conditions.iter().cloned();
        status.conditions = told.map(|condition| Condition { truth: Truth::True, ..condition }).collect();
    };
    assert_eq!(broken(&fixture, turn, says_why, lies), ["exclusivity"]);
}

#[test]
fn removal_sees_what_nobody_asked_for() {
    let (fixture, turn) = about_to_install();
    let remove = |action: &mut Action| {
        if let Effect::Host(order) = &mut action.effect
            && let HostCommand::Apply(operation) = &mut order.command
        {
            operation.change = Change::Remove;
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_install, remove), ["removal"]);
    let disown = |action: &mut Action| {
        if let Effect::Host(order) = &mut action.effect {
            order.command = HostCommand::Disown;
        }
    };
    assert_eq!(broken(&fixture, turn, is_install, disown), ["removal"]);
}

#[test]
fn intent_sees_another_version_than_the_wish() {
    let (fixture, turn) = about_to_install();
    let other = |action: &mut Action| {
        if let Effect::Host(order) = &mut action.effect
            && let HostCommand::Apply(operation) = &mut order.command
            && let Change::Install(release) = &mut operation.change
        {
            Arc::make_mut(release).version = web(2);
        }
    };
    assert_eq!(broken(&fixture, turn, is_install, other), ["intent"]);
}

/// The engine learns of a pause after it gave the order and before the turn is judged, as if it had overlooked the pause.
#[test]
fn pause_sees_a_start_on_a_paused_machine_or_fleet() {
    let (mut fixture, turn) = about_to_install();
    fixture.store.edit_machine(0, |spec| spec.paused = true);
    fixture.deliver();
    assert!(broken(&fixture, turn, is_install, |_| {}).contains(&"pause"));

    let (mut fixture, turn) = about_to_install();
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    assert!(broken(&fixture, turn, is_install, |_| {}).contains(&"pause"));
}

#[test]
fn pause_sees_an_admission_to_a_paused_fleet() {
    let mut fixture = Fixture::new(4);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    let admits = |action: &Action| {
        let Effect::WritePackageVersionStatus(status) = &action.effect else { return false };
        status.rollouts.iter().any(|rollout| rollout.granted.iter().flatten().count() > 0)
    };
    let turn = turn_with(&mut fixture, admits);
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    assert!(broken(&fixture, turn, admits, |_| {}).contains(&"pause"));
}

/// The host refuses the contact after the order was given. The same order at once is the breach.
#[test]
fn patience_sees_a_second_try_before_its_time() {
    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    let is_read = |action: &Action| matches!(action.target, Target::Host(_));
    let turn = turn_with(&mut fixture, is_read);
    let failed = Outcome::Retryable(Cause::new(CauseKind::ConnectionFailed, "no route"));
    let action = turn.actions.iter().find(|action| is_read(action)).unwrap().id;
    fixture.engine.observe(Event::Finished { action, outcome: failed });
    assert!(broken(&fixture, turn, is_read, |_| {}).contains(&"patience"));
}

#[test]
fn finalizer_sees_ours_leave_too_early_and_others_touched() {
    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    let turn = turn_with(&mut fixture, is_import);
    let none = |action: &mut Action| action.effect = Effect::WriteFinalizers(Vec::new());
    assert_eq!(broken(&fixture, turn.clone(), is_import, none), ["finalizer"]);
    let foreign = |action: &mut Action| {
        if let Effect::Import(import) = &mut action.effect {
            import.finalizers.push("somebody.else/finalizer".into());
        }
    };
    assert_eq!(broken(&fixture, turn, is_import, foreign), ["finalizer"]);
}

#[test]
fn finalizer_sees_another_host_recorded_than_the_one_that_was_read() {
    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    let turn = turn_with(&mut fixture, is_import);
    let another = |action: &mut Action| {
        if let Effect::Import(import) = &mut action.effect {
            import.identity.host = HostId(7);
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_import, another), ["finalizer"]);
    let unheld = |action: &mut Action| {
        if let Effect::Import(import) = &mut action.effect {
            import.finalizers.clear();
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_import, unheld), ["finalizer"]);
    let of_fleet = |action: &mut Action| action.target = Target::PackageVersion;
    assert!(broken(&fixture, turn, is_import, of_fleet).contains(&"finalizer"));
}

#[test]
fn finalizer_sees_a_version_leave_on_the_word_of_a_cache() {
    let mut fixture = Fixture::new(1);
    fixture.settle();
    fixture.store.delete_version(web(1));
    fixture.deliver();
    let not_listed_yet = fixture.engine.clone();
    // The honest engine lists everything once more before it lets the version go, and not at once.
    fixture.sleep(Duration::from_secs(60));
    let turn = turn_with(&mut fixture, is_finalizer);
    let reasons = check(not_listed_yet.world(), &turn).into_iter().filter(|b| b.invariant == "finalizer");
    let reasons: Vec<String> = reasons.map(|breach| breach.detail).collect();
    assert!(matches!(&reasons[..], [one] if one.contains("since its deletion")), "{reasons:?}");
}

#[test]
fn authority_sees_who_may_not_act() {
    let (_, turn) = about_to_install();
    let newcomer = Engine::new(Config::default(), Seed(1));
    let names: Vec<&str> = check(newcomer.world(), &turn).iter().map(|breach| breach.invariant).collect();
    assert!(names.contains(&"authority"), "{names:?}");
}

#[test]
fn budget_sees_a_start_beyond_it() {
    let mut fixture = Fixture::new(6);
    fixture.limit(6);
    for machine in 0..6 {
        fixture.store.edit_machine(machine, |spec| spec.pins = [want(WEB, web(1))].into());
    }
    let turn = turn_with(&mut fixture, is_install);
    let unchanged = |_: &mut Action| ();
    let mut limit = |machines| {
        fixture.limit(machines);
        broken(&fixture, turn.clone(), is_install, unchanged)
    };
    // So many are at work when the limit is lowered behind the engine's back.
    let started =
        u32::try_from(turn.actions.iter().filter(|action| is_install(action)).count()).expect("a few");
    assert!(started > 1, "{turn:?}");
    assert_eq!(limit(started), [""; 0]);
    assert_eq!(limit(started - 1), ["budget"]);
}

#[test]
fn record_sees_a_failure_that_is_kept_in_memory() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.host(0).broken = vec![web(1)];
    let tells = |action: &Action| {
        let Effect::WriteMachineStatus(status) = &action.effect else { return false };
        status.components.iter().any(|status| status.failed.is_some())
    };
    let turn = turn_with(&mut fixture, tells);
    let forgets = |action: &mut Action| {
        if let Effect::WriteMachineStatus(status) = &mut action.effect {
            status.components = Arc::default();
        }
    };
    assert_eq!(broken(&fixture, turn, tells, forgets), ["record"]);
}

/// The first batch of a fleet of six with two slots.
fn about_to_admit() -> (Fixture, Turn) {
    let mut fixture = Fixture::new(6);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.store.edit_fleet(|spec| {
        spec.max_unavailable = CountOrPercent::Count(2);
        spec.max_failures = CountOrPercent::Count(2);
    });
    let turn = turn_with(&mut fixture, is_admission);
    (fixture, turn)
}

fn is_admission(action: &Action) -> bool {
    let Effect::WritePackageVersionStatus(status) = &action.effect else { return false };
    status.rollouts.iter().any(|rollout| rollout.admitted_below > 0)
}

fn with_rollouts(tamper: impl FnOnce(&mut Vec<Rollout>)) -> impl FnOnce(&mut Action) {
    |action| {
        if let Effect::WritePackageVersionStatus(status) = &mut action.effect {
            tamper(&mut status.rollouts);
        }
    }
}

#[test]
fn admission_sees_a_batch_that_is_too_large() {
    let (fixture, turn) = about_to_admit();
    let world = fixture.engine.world();
    let everybody: Vec<u32> = world.fleet.rollouts[0].waiting.iter().map(|(rank, _)| *rank).collect();
    let everybody = with_rollouts(|rollouts| rollouts[0].granted = Some(everybody));
    assert_eq!(broken(&fixture, turn, is_admission, everybody), ["admission"]);
}

#[test]
fn admission_sees_a_threshold_that_falls_and_a_record_that_goes_too_early() {
    let (mut fixture, _) = about_to_admit();
    fixture.execute();
    let _ = turn_with(&mut fixture, is_install);
    let (falls, goes) = (with_rollouts(|rollouts| rollouts[0].admitted_below = 1), with_rollouts(Vec::clear));
    let drops = with_rollouts(|rollouts| rollouts[0].granted = Some(Vec::new()));
    // A pause is recorded at once, even while machines are being worked on.
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    let turn = fixture.turn();
    assert!(turn.actions.iter().any(is_admission));
    assert_eq!(broken(&fixture, turn.clone(), is_admission, falls), ["admission"]);
    assert_eq!(broken(&fixture, turn.clone(), is_admission, drops), ["admission"]);
    assert_eq!(broken(&fixture, turn, is_admission, goes), ["admission"]);
}

#[test]
fn every_invariant_has_a_name_of_its_own() {
    let mut names: Vec<&str> = CHECKS.iter().map(|invariant| invariant.name).collect();
    names.sort_unstable();
    let all = [
        "admission",
        "attributes",
        "authority",
        "budget",
        "confirmation",
        "drain",
        "exclusivity",
        "finalizer",
        "freshness",
        "gate",
        "holding",
        "identity",
        "intent",
        "order",
        "patience",
        "pause",
        "policy",
        "record",
        "removal",
        "skew",
        "workloads",
    ];
    assert_eq!(names, all);
}

/// A fleet whose `web-1` needs an identity, up to the turn with an action that `wanted` accepts.
fn joining(wanted: impl Fn(&Action) -> bool) -> (Fixture, Turn) {
    let mut fixture = Fixture::new(2);
    fixture.store.need_identity(web(1));
    for id in 0..2 {
        fixture.store.edit_machine(id, |spec| spec.pins = [want(WEB, web(1))].into());
    }
    fixture.deliver();
    for _ in 0..100 {
        let turn = fixture.turn();
        if turn.actions.iter().any(&wanted) {
            return (fixture, turn);
        }
        fixture.execute();
        fixture.store.sign();
        fixture.deliver();
    }
    panic!("no such turn came");
}

const fn is_approval(action: &Action) -> bool {
    matches!(action.effect, Effect::ApproveCertificateRequest)
}

fn is_ordered(action: &Action, wanted: impl Fn(&HostCommand) -> bool) -> bool {
    matches!(&action.effect, Effect::Host(order) if wanted(&order.command))
}

#[test]
fn identity_sees_an_approval_that_no_host_has_asked_for() {
    let (fixture, turn) = joining(is_approval);
    assert_eq!(check(fixture.engine.world(), &turn), []);
    // The world changes behind the engine's back, as if it had overlooked the change.
    type Change = fn(&mut CertificateRequestObject);
    let changes: [Change; 7] = [
        |object| with_content(object, |content| content.key = Digest::of(b"another key")),
        |object| with_content(object, |content| content.common_name = "system:node:m1".into()),
        |object| with_content(object, |content| content.organizations.push("system:masters".into())),
        |object| with_content(object, |content| content.dns_names.push("m0".into())),
        |object| object.usages = object.usages.with(Usages::SERVER_AUTH),
        |object| object.content = Err("garbage".into()),
        |object| object.state = RequestState::Denied,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (mut fixture, turn) = joining(is_approval);
        let Some(Target::CertificateRequest(id)) =
            turn.actions.iter().find(|a| is_approval(a)).map(|a| a.target)
        else {
            panic!("no approval")
        };
        let mut object = fixture.store.requests[id.index()].object.clone().expect("it is stored");
        change(&mut object);
        fixture.see(Observation::CertificateRequest(id, Some(Box::new(object))));
        assert!(broken(&fixture, turn, is_approval, |_| {}).contains(&"identity"), "change {number}");
    }
}

fn with_content(object: &mut CertificateRequestObject, change: impl FnOnce(&mut RequestContent)) {
    if let Ok(content) = &mut object.content {
        change(content);
    }
}

#[test]
fn identity_sees_requests_and_certificates_of_others() {
    let is_request = |action: &Action| matches!(action.effect, Effect::CreateCertificateRequest(_));
    let (fixture, turn) = joining(is_request);
    let other = |action: &mut Action| {
        if let Effect::CreateCertificateRequest(new) = &mut action.effect {
            new.request = "another".into();
        }
    };
    assert_eq!(broken(&fixture, turn, is_request, other), ["identity"]);

    let installs = |command: &HostCommand| matches!(command, HostCommand::InstallCertificate { .. });
    let (fixture, turn) = joining(|action| is_ordered(action, installs));
    let other = |action: &mut Action| {
        if let Effect::Host(order) = &mut action.effect
            && let HostCommand::InstallCertificate { certificate, .. } = &mut order.command
        {
            *certificate = "another".into();
        }
    };
    assert_eq!(broken(&fixture, turn, |action| is_ordered(action, installs), other), ["identity"]);
}

#[test]
fn identity_sees_an_install_without_one() {
    let (fixture, turn) = joining(is_install);
    assert_eq!(check(fixture.engine.world(), &turn), []);
    // That it needs an identity is learnt while it is on its way.
    let (mut fixture, turn) = about_to_install();
    fixture.store.need_identity(web(1));
    fixture.deliver();
    assert_eq!(broken(&fixture, turn, is_install, |_| {}), ["identity"]);
}
