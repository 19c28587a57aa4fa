//! The engine against a small obvious model of itself, over random sequences of what may happen.
//!
//! The model of a machine is one line: its pin, else the fleet's default, else whatever is there. Whatever happened
//! before, once nothing is broken any more every host has to come to that, and then nothing more is written.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, absent, want, web};
use proptest::prelude::*;
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::machine::Want;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocker, Subject};

const MACHINES: u32 = 5;

/// What may happen.
#[derive(Clone, Debug)]
enum Happening {
    Default(Option<u32>),
    DefaultAbsent,
    Pin(u32, Option<u32>),
    PinAbsent(u32),
    Delete(u32),
    /// Creates it again, at once if possible.
    Create(u32),
    Limits(u32, u32),
    Pause(bool),
    PauseMachine(u32, bool),
    HostDown(u32),
    HostUp(u32),
    LosesReplies(u32, u32),
    StoreLosesReplies(u32),
    WatchHangs(bool),
    Drifts(u32),
    Breaks(u32, u32),
    Turns(u32),
    Time(u64),
    Crash,
    CrashWithPending,
    /// A new process takes over while the old one goes on.
    Succeed,
    ZombieTurns(u32),
    LayZombie,
    DeleteLease,
}

fn happening() -> impl Strategy<Value = Happening> {
    let machine = 0..MACHINES;
    let version = 1u32..4;
    prop_oneof![
        4 => prop::option::weighted(0.9, version.clone()).prop_map(Happening::Default),
        1 => Just(Happening::DefaultAbsent),
        2 => (machine.clone(), prop::option::of(version.clone())).prop_map(|(m, v)| Happening::Pin(m, v)),
        1 => machine.clone().prop_map(Happening::PinAbsent),
        1 => machine.clone().prop_map(Happening::Delete),
        2 => machine.clone().prop_map(Happening::Create),
        1 => (1u32..4, 1u32..4).prop_map(|(u, f)| Happening::Limits(u, f)),
        1 => any::<bool>().prop_map(Happening::Pause),
        1 => (machine.clone(), any::<bool>()).prop_map(|(m, p)| Happening::PauseMachine(m, p)),
        2 => machine.clone().prop_map(Happening::HostDown),
        2 => machine.clone().prop_map(Happening::HostUp),
        2 => (machine.clone(), 1u32..3).prop_map(|(m, n)| Happening::LosesReplies(m, n)),
        2 => machine.clone().prop_map(Happening::Drifts),
        1 => (machine, version).prop_map(|(m, v)| Happening::Breaks(m, v)),
        6 => (1u32..6).prop_map(Happening::Turns),
        4 => (1u64..1200).prop_map(Happening::Time),
        2 => Just(Happening::Crash),
        2 => Just(Happening::CrashWithPending),
        2 => (1u32..3).prop_map(Happening::StoreLosesReplies),
        1 => Just(Happening::WatchHangs(true)),
        2 => Just(Happening::WatchHangs(false)),
        1 => Just(Happening::Succeed),
        4 => (1u32..4).prop_map(Happening::ZombieTurns),
        1 => Just(Happening::LayZombie),
        1 => Just(Happening::DeleteLease),
    ]
}

fn play(fixture: &mut Fixture, happening: &Happening) {
    match *happening {
        Happening::Default(version) => {
            fixture.store.defaults(version.map(|version| want(WEB, web(version))).into_iter().collect());
        }
        Happening::DefaultAbsent => fixture.store.defaults(vec![absent(WEB)]),
        Happening::Pin(machine, version) => edit(fixture, machine, |spec| {
            spec.pins = version.map(|version| want(WEB, web(version))).into_iter().collect();
        }),
        Happening::PinAbsent(machine) => edit(fixture, machine, |spec| spec.pins = [absent(WEB)].into()),
        Happening::Delete(machine) => {
            if fixture.store.machines.get(&machine).is_some_and(|object| !object.meta.is_terminating()) {
                fixture.store.delete_machine(machine);
            }
        }
        Happening::Create(machine) => create(fixture, machine),
        Happening::Limits(unavailable, failures) => fixture.store.edit_fleet(|spec| {
            spec.max_unavailable = CountOrPercent::Count(unavailable);
            spec.max_failures = CountOrPercent::Count(failures);
        }),
        Happening::Pause(paused) => fixture.store.edit_fleet(|spec| spec.paused = paused),
        Happening::PauseMachine(machine, paused) => edit(fixture, machine, |spec| spec.paused = paused),
        Happening::HostDown(machine) => fixture.host(machine).up = false,
        Happening::HostUp(machine) => fixture.host(machine).up = true,
        Happening::LosesReplies(machine, count) => {
            fixture.lost_replies.insert(machine, count);
        }
        Happening::Drifts(machine) => fixture.host(machine).drift(WEB),
        Happening::Breaks(machine, version) => fixture.host(machine).broken = vec![web(version)],
        Happening::Turns(turns) => {
            for _ in 0..turns {
                let _ = fixture.turn();
                fixture.execute();
            }
        }
        Happening::Time(seconds) => fixture.pass(Duration::from_secs(seconds)),
        Happening::Crash => fixture.restart(),
        Happening::CrashWithPending => {
            // The orders are in flight: they take effect, and no reply arrives.
            let _ = fixture.turn();
            for action in std::mem::take(&mut fixture.pending) {
                fixture.outcome(&action);
            }
            fixture.restart();
        }
        Happening::StoreLosesReplies(count) => fixture.lost_writes = count,
        Happening::WatchHangs(hangs) => fixture.watch_hangs = hangs,
        Happening::Succeed => fixture.succeed(),
        Happening::ZombieTurns(turns) => {
            for _ in 0..turns {
                fixture.zombie_turn();
                let _ = fixture.turn();
                fixture.execute();
            }
        }
        Happening::LayZombie => fixture.lay_zombie(),
        Happening::DeleteLease => {
            if fixture.store.lease.is_some() {
                fixture.store.delete_lease();
            }
        }
    }
    fixture.deliver();
}

/// Creates a machine again under its old name. That is impossible while our finalizer holds the old one.
fn create(fixture: &mut Fixture, machine: u32) {
    if fixture.store.machines.get(&machine).is_none_or(|object| !object.meta.is_held()) {
        fixture.store.add_machine(MachineId(machine));
    }
}

fn edit(fixture: &mut Fixture, machine: u32, edit: impl FnOnce(&mut seaworthy_model::machine::MachineSpec)) {
    if fixture.store.machines.contains_key(&machine) {
        fixture.store.edit_machine(machine, edit);
    }
}

/// Nothing is broken any more, and every failed machine is tried once more.
fn heal(fixture: &mut Fixture) {
    for host in fixture.hosts.values_mut() {
        host.up = true;
        host.broken.clear();
    }
    fixture.lost_replies.clear();
    fixture.lost_writes = 0;
    fixture.watch_hangs = false;
    fixture.deliver();
    fixture.lay_zombie();
    // What was under way when the last reply was lost ends first: its failure would count for the specs that follow.
    fixture.pass(Duration::from_secs(3600));
    fixture.store.edit_fleet(|spec| spec.paused = false);
    for id in fixture.store.machine_ids() {
        fixture.store.edit_machine(id.0, |spec| spec.paused = false);
    }
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    // As often as hosts turn out to know of later operators than the last adoption allowed.
    while matches!(fixture.engine.world().gate(StoreId::HOME), Some(Blocker::StoreRegressed { .. })) {
        let seen = fixture.hosts.values().map(|host| host.facts.epoch).max();
        fixture.store.adopt(seen.max(Some(fixture.engine.world().epoch())).unwrap_or_default());
        fixture.deliver();
        fixture.pass(Duration::from_secs(3600));
    }
    // A few hosts that know of a later operator prove nothing: people reset their fences.
    for id in fixture.store.machine_ids() {
        if let Some(Blocker::HostAhead { seen }) = fixture.engine.world().blocker(Subject::Machine(id)) {
            fixture.store.reset_fences(id.0, seen);
        }
    }
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
}

#[expect(clippy::unwrap_used, reason = "a test may panic")]
/// What the model says that each machine should have of `web`. `None`: it says nothing.
fn expected(fixture: &Fixture, machine: u32) -> Option<Option<u32>> {
    let number = |want: &Want| match want {
        Want::Present { version, .. } => Some(version.0 + 1),
        Want::Absent => None,
    };
    let Some(object) = fixture.store.machines.get(&machine) else { return Some(None) };
    let pin = object.spec.as_ref().unwrap().pins.iter().find(|pin| pin.component == WEB);
    let fleet = fixture.store.fleet.as_ref().unwrap().spec.as_ref().unwrap();
    let default = fleet.components.iter().find(|setting| setting.component == WEB);
    pin.or(default).map(|setting| number(&setting.want))
}

/// A fleet to which all this has happened, and in which nothing has been broken any more for six hours.
fn live_through(history: &[Happening]) -> Fixture {
    let mut fixture = Fixture::new(MACHINES);
    fixture.store.edit_fleet(|_| ());
    fixture.deliver();
    for happening in history {
        play(&mut fixture, happening);
    }
    heal(&mut fixture);
    fixture.pass(Duration::from_secs(6 * 3600));
    fixture
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn comes_to_what_the_model_says_and_stays_there(history in prop::collection::vec(happening(), 1..40)) {
        let mut fixture = live_through(&history);
        for machine in 0..MACHINES {
            if let Some(version) = expected(&fixture, machine) {
                let host = &fixture.hosts[&machine];
                prop_assert_eq!(
                    host.version(WEB).map(|version| version.0 + 1), version,
                    "machine {} waits for {:?}", machine,
                    fixture.engine.world().blocker(Subject::Machine(MachineId(machine)))
                );
                prop_assert!(host.facts.components.iter().all(|installed| installed.drift.is_none()));
            }
        }
        let changes = fixture.store.changes();
        fixture.pass(Duration::from_secs(6 * 3600));
        prop_assert_eq!(fixture.store.changes(), changes, "it goes on writing");
    }

    /// The record alone brings a new engine to the same state: nothing that matters is kept in memory.
    #[test]
    fn a_settled_fleet_is_left_alone_by_a_new_engine(version in 1u32..4, machines in 1u32..8) {
        let mut fixture = Fixture::new(machines);
        fixture.store.defaults(vec![want(WEB, web(version))]);
        fixture.pass(Duration::from_secs(3600));
        let changes: u32 = fixture.hosts.values().map(|host| host.changes).sum();
        prop_assert_eq!(changes, machines);
        let written = fixture.store.changes();
        fixture.restart();
        fixture.pass(Duration::from_secs(3600));
        prop_assert_eq!(fixture.store.changes(), written + 1, "the Lease alone is written");
        prop_assert_eq!(fixture.hosts.values().map(|host| host.changes).sum::<u32>(), changes);
    }
}

/// A batch leaves out a paused machine. Only an unpause brings it back, not a moment in which it has nothing to do.
#[test]
fn a_paused_machine_stays_out_of_the_batch_that_did_not_count_it() {
    use Happening::*;
    let history = [
        LosesReplies(4, 2),
        HostDown(0),
        Default(Some(1)),
        Time(14),
        PauseMachine(1, true),
        Limits(1, 1),
        Default(Some(2)),
        ZombieTurns(3),
        WatchHangs(true),
        Turns(1),
        Crash,
        ZombieTurns(2),
        CrashWithPending,
        Time(246),
        Default(Some(3)),
    ];
    live_through(&history);
}
