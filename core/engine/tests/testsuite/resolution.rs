//! Resolution against an obvious model: what a machine should have of a component follows from its pin, from what the
//! rollout of the component records, and from what is installed, whatever combination of them there is.

use std::time::Duration;

use crate::fixture::{DNS, Fixture, START, WEB, absent, want, web};
use proptest::prelude::*;
use seaworthy_engine::{Aim, Origin, RankKey, Target, targets};
use seaworthy_model::component::ReleaseId;
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{Drift, InstalledComponent};
use seaworthy_model::id::{ComponentId, MachineId, Uid};
use seaworthy_model::machine::{ComponentSetting, ComponentStatus, Installed, Want};
use seaworthy_model::package_version::{Progress, Rollout};

const COMPONENTS: [ComponentId; 2] = [WEB, DNS];
const MACHINES: u32 = 6;

/// What decides about one component in the whole fleet.
#[derive(Clone, Debug)]
struct OfFleet {
    default: Option<Want>,
    /// The recorded rollout: from, to, and the threshold.
    record: Option<(Option<Want>, Want, u32)>,
}

/// What decides about one component on one machine.
#[derive(Clone, Copy, Debug)]
struct OfMachine {
    /// `Some(None)`: `state: Absent`.
    pin: Option<Option<u32>>,
    on_host: bool,
    in_status: bool,
}

#[derive(Clone, Debug)]
struct OneMachine {
    /// Whether the host answers, so that what it says counts and not what is recorded.
    answers: bool,
    components: [OfMachine; 2],
}

fn any_want() -> impl Strategy<Value = Want> {
    prop::option::weighted(0.7, 1u32..4).prop_map(setting_of)
}

fn setting_of(version: Option<u32>) -> Want {
    setting(WEB, version).want
}

fn setting(component: ComponentId, version: Option<u32>) -> ComponentSetting {
    version.map_or_else(|| absent(component), |version| want(component, web(version)))
}

fn of_fleet() -> impl Strategy<Value = OfFleet> {
    let below = prop_oneof![2 => any::<u32>(), 1 => Just(0), 1 => Just(Rollout::EVERYBODY)];
    let record = prop::option::weighted(0.8, (prop::option::of(any_want()), any_want(), below));
    // As often as not the default is what the record says, so that the rollout is not superseded.
    (prop::option::of(any_want()), record, any::<bool>()).prop_map(|(other, record, agrees)| {
        let recorded = record.as_ref().map(|(_, to, _)| to.clone());
        OfFleet { default: if agrees { recorded } else { other }, record }
    })
}

fn one_machine() -> impl Strategy<Value = OneMachine> {
    let pin = prop::option::weighted(0.3, prop::option::weighted(0.7, 1u32..4));
    let component = (pin, any::<bool>(), any::<bool>());
    let component = component.prop_map(|(pin, on_host, in_status)| OfMachine { pin, on_host, in_status });
    let components = [component.clone(), component];
    (any::<bool>(), components).prop_map(|(answers, components)| OneMachine { answers, components })
}

/// The model. `None` as a want: what is there stays.
fn expected(
    machine: OfMachine,
    answers: bool,
    fleet: &OfFleet,
    (rank, is_deleted): (u32, bool),
) -> Option<(&'static str, Option<Want>)> {
    let has_it = if answers { machine.on_host } else { machine.in_status };
    match (machine.pin, &fleet.record) {
        (Some(pin), _) => Some(("pin", Some(setting_of(pin)))),
        (None, Some((_, to, _))) if is_deleted || fleet.default.as_ref() != Some(to) => {
            Some(("rollout", None))
        }
        (None, Some((_, to, below))) if rank < *below => Some(("rollout", Some(to.clone()))),
        (None, Some((from, ..))) => Some(("rollout", from.clone().filter(|_| !has_it))),
        (None, None) => (answers && has_it).then_some(("nobody", None)),
    }
}

fn release() -> ReleaseId {
    ReleaseId(Digest::of(b"web-1"))
}

fn installed(machine: &OneMachine) -> Vec<InstalledComponent> {
    let on_host = COMPONENTS.into_iter().zip(machine.components).filter(|(_, of)| of.on_host);
    on_host
        .map(|(component, _)| InstalledComponent {
            component,
            version: web(1),
            release: release(),
            drift: Drift::NONE,
            restarts: None,
        })
        .collect()
}

#[expect(clippy::unwrap_used, reason = "a test may panic")]
/// A fleet of which everything is known that can be, and to which then happens what was drawn.
fn fleet_of(machines: &[OneMachine], fleet: &[OfFleet; 2], is_deleted: bool) -> Fixture {
    let mut fixture = Fixture::new(MACHINES);
    for (id, machine) in (0..).zip(machines) {
        fixture.host(id).up = machine.answers;
        fixture.host(id).facts.components = installed(machine);
    }
    fixture.store.edit_fleet(|spec| spec.paused = true);
    fixture.deliver();
    fixture.pass(Duration::from_secs(600));
    for (id, machine) in (0..).zip(machines) {
        let settings = COMPONENTS.into_iter().zip(machine.components);
        let recorded = settings.clone().map(|(component, of)| ComponentStatus {
            component,
            installed: of.in_status.then_some(Installed { version: web(1), release: release() }),
            failed: None,
            set: None,
        });
        let pins = settings.filter_map(|(component, of)| Some(setting(component, of.pin?)));
        fixture.store.edit_machine(id, |spec| spec.pins = pins.collect());
        fixture.store.machines.get_mut(&id).unwrap().status.components = recorded.collect();
    }
    let defaults = COMPONENTS.into_iter().zip(fleet);
    let records = defaults.clone().filter_map(|(component, of)| {
        let (from, to, admitted_below) = of.record.clone()?;
        let (generation, started_at) = (u64::from(component.0) + 4, START);
        Some(Rollout {
            component,
            generation,
            from,
            to,
            admitted_below,
            granted: Some(Vec::new()),
            superseded: Vec::new(),
            course: None,
            cause: None,
            by: None,
            progress: Progress::default(),
            started_at,
            completed_at: None,
        })
    });
    let records = records.collect();
    let defaults = defaults
        .filter_map(|(component, of)| Some(ComponentSetting { component, want: of.default.clone()? }));
    // The order in which people wrote them is not that of the record.
    fixture.store.edit_fleet(|spec| spec.components = defaults.rev().collect());
    if is_deleted {
        fixture.store.delete_fleet();
    }
    fixture.store.fleet.as_mut().unwrap().status.rollouts = records;
    fixture.deliver();
    fixture
}

fn origin(fixture: &Fixture, target: &Target<'_>) -> &'static str {
    match target.origin {
        Origin::Pin => "pin",
        Origin::Rollout(index) => {
            let of = fixture.engine.world().fleet.rollouts[index].record.component;
            if of == target.component { "rollout" } else { "the rollout of another component" }
        }
        Origin::Left(_) => "left",
        Origin::Nobody => "nobody",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_combination_means_what_the_model_says(
        machines in prop::collection::vec(one_machine(), MACHINES as usize),
        fleet in [of_fleet(), of_fleet()],
        is_deleted in prop::bool::weighted(0.1),
    ) {
        let fixture = fleet_of(&machines, &fleet, is_deleted);
        let world = fixture.engine.world();
        let owner = fixture.store.fleet.as_ref().unwrap().meta.uid;
        for (id, machine) in (0..).zip(&machines) {
            let row = world.machine(MachineId(id));
            prop_assert_eq!(row.host.facts.is_some(), machine.answers);
            let uid: Uid = fixture.store.machines[&id].meta.uid;
            let told: Vec<Target<'_>> = targets(world, row).collect();
            let mut count = 0;
            for (index, name) in ["web", "dns"].into_iter().enumerate() {
                let rank = RankKey::new(owner, index as u64 + 4, name).rank(uid);
                let of = machine.components[index];
                let expected = expected(of, machine.answers, &fleet[index], (rank, is_deleted));
                let target = told.iter().find(|target| target.component == COMPONENTS[index]);
                let aimed = target.map(|target| {
                    let want = match target.aim {
                        Aim::Set(want) => Some(want.clone()),
                        Aim::Keep => None,
                    };
                    (origin(&fixture, target), want)
                });
                count += usize::from(expected.is_some());
                prop_assert_eq!(aimed, expected, "{} of machine {}", name, id);
            }
            prop_assert_eq!(told.len(), count, "once each: {:?}", told);
        }
    }
}
