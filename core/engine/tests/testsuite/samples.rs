//! What a rollout with a strategy asks before its first batch: whether some of its machines can fetch the artefact.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, record, resume, told, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{Architecture, Artefact};
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::MachineId;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::policy::Freeze;
use seaworthy_model::quantity::CountOrPercent::{Count, Percent};
use seaworthy_model::strategy::Strategy;

const MINUTE: Duration = Duration::from_secs(60);

/// Twenty machines on `web-1`, each with a Node. The next rollout goes to two, and to all.
fn fleet() -> Fixture {
    let mut fixture = Fixture::with_pods(20, 0);
    fixture.limit(20);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy()));
    fixture
}

fn strategy() -> Strategy {
    let batches = vec![Count(2), Percent(100)];
    Strategy { batches, first_bake: MINUTE, bake: MINUTE, ..Strategy::default() }
}

fn gone() -> Outcome {
    Outcome::Retryable(Cause::new(CauseKind::DownloadFailed, "http://artefacts/web-2: http status: 404"))
}

/// It says nothing of the artefact.
fn full() -> Outcome {
    Outcome::Retryable(Cause::new(CauseKind::NoSpace, "only 12 bytes are free"))
}

/// What every host answers that is to fetch an artefact, if it cannot.
fn answer(fixture: &mut Fixture, unfetched: Option<Outcome>) {
    for host in fixture.hosts.values_mut() {
        host.unfetched.clone_from(&unfetched);
    }
}

fn updated(fixture: &Fixture) -> usize {
    fixture.web().iter().filter(|version| **version == Some(2)).count()
}

/// The machines that were to fetch an artefact.
fn asked(fixture: &Fixture) -> Vec<u32> {
    fixture.hosts.iter().filter(|(_, host)| host.fetches > 0).map(|(id, _)| *id).collect()
}

fn fetches(fixture: &Fixture) -> u32 {
    fixture.hosts.values().map(|host| host.fetches).sum()
}

/// The machines that are asked by an equal fleet.
fn sampled() -> Vec<u32> {
    let mut fixture = fleet();
    fixture.upgrade();
    fixture.pass(MINUTE);
    asked(&fixture)
}

#[test]
fn the_first_batch_comes_once_a_sample_has_the_artefact() {
    let mut fixture = fleet();
    assert_eq!(fetches(&fixture), 0);
    fixture.upgrade();
    fixture.pass(Duration::from_secs(30));
    assert!((3..=5).contains(&fetches(&fixture)), "{}", fetches(&fixture));
    assert_eq!(updated(&fixture), 2);
    fixture.pass(MINUTE * 10);
    assert_eq!(updated(&fixture), 20);
    assert!(fetches(&fixture) <= 5, "once for each rollout");
}

#[test]
fn nothing_is_disrupted_for_an_artefact_that_is_not_to_be_had() {
    let mut fixture = fleet();
    answer(&mut fixture, Some(gone()));
    let changes: u32 = fixture.hosts.values().map(|host| host.changes).sum();
    fixture.upgrade();
    fixture.pass(MINUTE * 5);
    assert_eq!(
        (told(&fixture).reason, record(&fixture).admitted_below),
        (FleetReason::ArtefactUnavailable, 0)
    );
    let Some(FleetDetail::Unfetched { version, failed, asked: answered, why }) = &told(&fixture).detail
    else {
        panic!("{:?}", told(&fixture).detail)
    };
    assert_eq!(
        (&**version, *failed, &**why),
        ("web-2", *answered, "http://artefacts/web-2: http status: 404")
    );
    assert!((3..=5).contains(failed), "{failed}");
    assert_eq!(fixture.hosts.values().map(|host| host.changes).sum::<u32>(), changes);
    assert!((0..20).all(|id| fixture.cluster.node(id).object.state.cordon.is_none()), "a Node was cordoned");
    let machines = &fixture.store.machines;
    assert!(machines.values().all(|machine| machine.status.observed_generation == machine.meta.generation));
    assert!((12..=30).contains(&fetches(&fixture)), "once a minute: {}", fetches(&fixture));
    answer(&mut fixture, None);
    fixture.pass(MINUTE + Duration::from_secs(30));
    assert_eq!(updated(&fixture), 2, "it goes on by itself");
    assert_ne!(told(&fixture).reason, FleetReason::ArtefactUnavailable);
}

#[test]
fn half_of_those_that_answer_are_enough() {
    let sampled = sampled();
    for (count, begins) in [(2, true), (3, false)] {
        let mut fixture = fleet();
        for id in sampled.iter().take(count) {
            let wrong = Cause::new(CauseKind::DigestMismatch, "it is another");
            fixture.hosts.get_mut(id).expect("a host").unfetched = Some(Outcome::Retryable(wrong));
        }
        fixture.upgrade();
        fixture.pass(Duration::from_secs(50));
        assert_eq!(updated(&fixture) > 0, begins, "{count} of {sampled:?}");
    }
}

/// A full disk says nothing of the artefact, and neither does a host that went away.
#[test]
fn who_cannot_say_it_is_no_witness() {
    let sampled = sampled();
    let mut fixture = fleet();
    for id in &sampled {
        fixture.hosts.get_mut(id).expect("a host").unfetched = Some(full());
    }
    fixture.upgrade();
    fixture.pass(Duration::from_secs(50));
    assert!(asked(&fixture).iter().any(|id| !sampled.contains(id)), "others are asked");
    assert!(updated(&fixture) > 0);
    let is_told = |id: &u32| {
        let machine = fixture.engine.world().machine(MachineId(*id));
        machine.progress.contact.trouble.is_some()
    };
    assert!(!sampled.iter().any(is_told), "the machines are well");

    let mut fixture = fleet();
    answer(&mut fixture, Some(Outcome::Unknown));
    fixture.upgrade();
    fixture.pass(MINUTE * 20);
    assert!(asked(&fixture).len() <= 20 && updated(&fixture) > 0, "nobody can say it: {:?}", asked(&fixture));
}

#[test]
fn who_must_not_be_worked_on_is_not_asked() {
    let sampled = sampled();
    let mut fixture = fleet();
    for id in &sampled[..2] {
        fixture.store.edit_machine(*id, |spec| spec.paused = true);
    }
    fixture.hosts.get_mut(&sampled[2]).expect("a host").up = false;
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(MINUTE * 20);
    fixture.upgrade();
    fixture.pass(MINUTE * 20);
    assert_eq!(fetches(&fixture), 0, "the fleet is paused");
    fixture.store.edit_fleet(|spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(MINUTE * 5);
    assert!(fetches(&fixture) >= 3);
    assert!(sampled[..2].iter().all(|id| fixture.hosts[id].fetches == 0), "{:?}", asked(&fixture));
}

#[test]
fn without_a_strategy_and_on_the_way_back_nobody_is_asked() {
    let mut fixture = Fixture::with_pods(20, 0);
    fixture.limit(20);
    fixture.upgrade();
    fixture.pass(MINUTE * 5);
    assert_eq!((fetches(&fixture), updated(&fixture)), (0, 20));

    let mut fixture = fleet();
    fixture.upgrade();
    fixture.pass(MINUTE / 2);
    let before = fetches(&fixture);
    answer(&mut fixture, Some(gone()));
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(MINUTE * 5);
    assert_eq!((fetches(&fixture), updated(&fixture)), (before, 0), "that version is known to work");
}

#[test]
fn a_version_without_artefacts_is_not_fetched() {
    let mut fixture = fleet();
    let version = fixture.store.versions.get_mut(&1).expect("web-2");
    Arc::make_mut(version.spec.as_mut().expect("it is valid")).artefacts.clear();
    fixture.restart();
    fixture.upgrade();
    fixture.pass(MINUTE);
    assert_eq!((fetches(&fixture), updated(&fixture) > 0), (0, true));
}

/// Nobody is disrupted there, and nobody would remove what was fetched.
#[test]
fn machines_that_were_never_set_up_are_not_asked() {
    let mut fixture = Fixture::new(6);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.limit(6);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy()));
    fixture.deliver();
    fixture.pass(MINUTE * 10);
    assert_eq!(fetches(&fixture), 0);
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
}

#[test]
fn a_new_operator_asks_again() {
    let mut fixture = fleet();
    answer(&mut fixture, Some(gone()));
    fixture.upgrade();
    fixture.pass(MINUTE / 2);
    let before = fetches(&fixture);
    fixture.restart();
    fixture.pass(MINUTE / 2);
    assert!(fetches(&fixture) > before);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::ArtefactUnavailable, 0));
    answer(&mut fixture, None);
    fixture.restart();
    fixture.pass(MINUTE / 2);
    assert_eq!(updated(&fixture), 2);
}

#[test]
fn people_may_let_it_begin_all_the_same() {
    let mut fixture = fleet();
    answer(&mut fixture, Some(gone()));
    fixture.upgrade();
    fixture.pass(MINUTE * 2);
    assert_eq!(updated(&fixture), 0);
    resume(&mut fixture, 0);
    fixture.pass(MINUTE / 2);
    assert_eq!(updated(&fixture), 2);
}

/// The sample has one machine of each architecture, however few there are, and one of each rack before a second one.
#[test]
fn the_sample_is_of_all_sorts() {
    let mut fixture = Fixture::new(40);
    for version in fixture.store.versions.values_mut() {
        let spec = Arc::make_mut(version.spec.as_mut().expect("it is valid"));
        let other = Artefact { architecture: Architecture::Arm64, ..spec.artefacts[0].clone() };
        spec.artefacts.truncate(1);
        spec.artefacts.push(other);
    }
    fixture.hosts.get_mut(&7).expect("a host").facts.architecture = Architecture::Arm64;
    for id in 0..40 {
        fixture.store.edit_machine(id, |spec| {
            Arc::make_mut(&mut spec.connection).address.rack = format!("r{}", id % 4).into();
        });
    }
    fixture.restart();
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.limit(40);
    fixture.pass(MINUTE * 10);
    fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy()));
    answer(&mut fixture, Some(gone()));
    fixture.upgrade();
    fixture.pass(MINUTE * 3);
    let asked = asked(&fixture);
    let mut racks: Vec<u32> = asked.iter().map(|id| id % 4).collect();
    racks.sort_unstable();
    racks.dedup();
    assert_eq!((asked.len(), racks.len(), asked.contains(&7)), (5, 4, true), "{asked:?}");
}

/// The order goes to the Machine's own host, under its fence, with the artefact of its architecture.
#[test]
fn the_order_names_the_artefact() {
    let mut fixture = fleet();
    fixture.upgrade();
    let order = loop {
        let turn = fixture.turn();
        let is_fetch = |effect: &Effect| matches!(effect, Effect::Host(order) if matches!(order.command, HostCommand::Fetch { .. }));
        if let Some(action) = turn.actions.into_iter().find(|action| is_fetch(&action.effect)) {
            break action;
        }
        fixture.execute();
        fixture.now = fixture.now + Duration::from_secs(1);
    };
    let (Target::Host(id), Fence::Host(fence), Effect::Host(order)) =
        (order.target, order.fence, order.effect)
    else {
        panic!("no order to a host")
    };
    let machine = fixture.engine.world().machine(id);
    assert_eq!(Some(fence.machine), machine.uid());
    let HostCommand::Fetch { version, artefact } = order.command else { panic!("no fetch") };
    let spec = fixture.store.versions[&1].spec.as_ref().expect("it is valid");
    assert_eq!((version, Some(&*artefact)), (web(2), spec.artefact(Architecture::Amd64)));
}

/// Three machines that are asked one after the other, until the first is about to be.
fn small_fleet(unfetched: Outcome) -> Fixture {
    let mut fixture = Fixture::with_pods(3, 0);
    fixture.limit(3);
    fixture.config.host_sessions_max = 1;
    fixture.restart();
    fixture.store.edit_fleet(|spec| spec.strategy = Some(strategy()));
    fixture.pass(MINUTE);
    answer(&mut fixture, Some(unfetched));
    fixture.upgrade();
    while fetches(&fixture) == 0 {
        drop(fixture.turn());
        fixture.execute_one(0);
    }
    fixture
}

/// Whoever was not asked because of it has not said that nothing is known.
#[test]
fn a_pause_in_the_middle_is_no_answer() {
    let mut fixture = small_fleet(full());
    answer(&mut fixture, Some(gone()));
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(MINUTE * 10);
    let before = fetches(&fixture);
    assert!(before < 3, "{before}");
    fixture.store.edit_fleet(|spec| spec.paused = false);
    fixture.deliver();
    fixture.pass(MINUTE * 5);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::ArtefactUnavailable, 0));
    assert!(fetches(&fixture) > before);
}

#[test]
fn a_freeze_keeps_a_rollout_from_asking_and_from_beginning() {
    let mut fixture = small_fleet(full());
    answer(&mut fixture, Some(gone()));
    let (from, until) = (fixture.now, fixture.now + MINUTE * 60);
    fixture.store.edit_policy(0, |spec| {
        spec.freezes = vec![Freeze { from, until, reason: "sale".into() }];
    });
    fixture.deliver();
    fixture.pass(MINUTE * 30);
    let before = fetches(&fixture);
    assert!(before < 3, "{before}");
    assert_eq!((told(&fixture).reason, record(&fixture).admitted_below), (FleetReason::Frozen, 0));
    fixture.pass(MINUTE * 40);
    assert_eq!((told(&fixture).reason, updated(&fixture)), (FleetReason::ArtefactUnavailable, 0));
    answer(&mut fixture, None);
    fixture.pass(MINUTE * 10);
    assert_eq!(updated(&fixture), 3);
}
