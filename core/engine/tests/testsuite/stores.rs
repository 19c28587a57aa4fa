//! A second API server: each store has its own lists, and one that is out of sight stops its own subjects only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{FakeHost, Fixture, Store, WEB, is_change, want, web};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::{Event, Observation, Outcome, Receipt};
use seaworthy_model::id::{ComponentId, Kind, MachineId, Named, NamedId, StoreId, VersionId};
use seaworthy_model::report::{Blocker, Subject};

/// The second store, and what it holds. Its machine and its version have the names of objects of the home store.
const AWAY: StoreId = StoreId(1);
const MACHINE: MachineId = MachineId(10);
const COMPONENT: ComponentId = ComponentId(7);
const OLD: VersionId = VersionId(10);
const NEW: VersionId = VersionId(11);

/// A fixture with one machine at home, and a second store.
struct Two {
    fixture: Fixture,
    away: Store,
    /// Whether the second store answers `Watch` with its lists.
    is_in_sight: bool,
    shown: u64,
    /// The stores of what was ordered about objects and hosts.
    ordered: BTreeMap<StoreId, u32>,
}

impl Two {
    fn new() -> Self {
        let mut fixture = Fixture::new(1);
        // The revisions of the home store are far ahead: they say nothing of the second one.
        fixture.store.revision += 10_000;
        fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
        fixture.deliver();
        let mut away = Store::default();
        for (id, like) in [(OLD, web(1)), (NEW, web(2))] {
            let mut spec = fixture.store.versions[&like.0].spec.clone().expect("it is valid");
            Arc::make_mut(&mut spec).component = COMPONENT;
            away.add_version(id, Arc::unwrap_or_clone(spec));
        }
        away.add_machine(MACHINE);
        away.edit_machine(MACHINE.0, |spec| spec.pins = [want(COMPONENT, OLD)].into());
        fixture.hosts.insert(MACHINE.0, FakeHost::new(MACHINE.0));
        Self { fixture, away, is_in_sight: true, shown: 0, ordered: BTreeMap::new() }
    }

    fn see(&mut self, observation: Observation) {
        self.fixture.engine.observe(Event::Observed(AWAY, observation));
    }

    /// The driver opens the second store.
    fn open(&mut self) {
        self.see(Observation::Opened);
        let names = [
            (NamedId::Machine(MACHINE), "m0"),
            (NamedId::Component(COMPONENT), "web"),
            (NamedId::Version(OLD), "web-1"),
            (NamedId::Version(NEW), "web-2"),
        ];
        for (id, name) in names {
            self.see(Observation::Named(Named { id, name: name.into() }));
        }
    }

    fn list(&mut self) {
        for observation in self.away.everything() {
            self.see(observation);
        }
        for kind in Kind::WATCHED {
            self.see(Observation::Synced(kind));
        }
        self.shown = self.away.revision;
    }

    fn execute(&mut self, action: &Action) {
        if !matches!(action.target, Target::Driver | Target::Lease) {
            *self.ordered.entry(action.store).or_default() += 1;
        }
        let outcome = match (action.store, &action.effect) {
            (_, Effect::Watch) => Outcome::Done(Receipt::Nothing),
            (_, Effect::Host(_)) | (StoreId::HOME, _) => self.fixture.outcome(action),
            (_, _) => self.away.execute(action),
        };
        self.fixture.engine.observe(Event::Finished { action: action.id, outcome });
        match (action.store, &action.effect) {
            (StoreId::HOME, Effect::Watch) => self.fixture.list(),
            (_, Effect::Watch) if self.is_in_sight => self.list(),
            (_, _) => {}
        }
    }

    /// Lets time pass until nothing more is ordered. Returns what the engine waits for about the second store's machine.
    fn settle(&mut self) -> Option<Blocker> {
        for _ in 0..200 {
            let _reported = self.fixture.turn();
            let actions = std::mem::take(&mut self.fixture.pending);
            if actions.is_empty() {
                self.fixture.now = self.fixture.now + Duration::from_secs(1);
            }
            for action in &actions {
                self.execute(action);
            }
            self.fixture.deliver();
            if self.is_in_sight {
                let since = std::mem::replace(&mut self.shown, self.away.revision);
                for observation in self.away.since(since) {
                    self.see(observation);
                }
            }
        }
        self.fixture.engine.world().blocker(Subject::Machine(MACHINE))
    }

    fn installed(&self, machine: u32, component: ComponentId) -> Option<VersionId> {
        self.fixture.hosts[&machine].version(component)
    }
}

#[test]
fn two_stores_are_worked_on_side_by_side() {
    let mut two = Two::new();
    two.open();
    assert_eq!(two.settle(), None);
    assert_eq!((two.installed(0, WEB), two.installed(MACHINE.0, COMPONENT)), (Some(web(1)), Some(OLD)));
    assert!(two.away.machines[&MACHINE.0].meta.is_held(), "the finalizer is in the second store");
    assert!(two.ordered[&StoreId::HOME] > 0 && two.ordered[&AWAY] > 0, "{:?}", two.ordered);
}

#[test]
fn a_store_that_was_never_listed_stops_its_own_subjects_only() {
    let mut two = Two::new();
    two.is_in_sight = false;
    two.open();
    // It is observed in part: that is not enough to act on it.
    for observation in two.away.everything() {
        two.see(observation);
    }
    assert_eq!(two.settle(), Some(Blocker::NotSynced(Kind::Machine)));
    assert_eq!((two.installed(0, WEB), two.installed(MACHINE.0, COMPONENT)), (Some(web(1)), None));
    assert_eq!(two.ordered.get(&AWAY), None);
    two.is_in_sight = true;
    two.list();
    assert_eq!(two.settle(), None);
    assert_eq!(two.installed(MACHINE.0, COMPONENT), Some(OLD));
}

#[test]
fn a_store_that_goes_out_of_sight_stops_its_own_subjects_only() {
    let mut two = Two::new();
    two.open();
    two.settle();
    two.ordered.clear();
    // A deleted version makes the engine list its store again, and no list comes.
    two.is_in_sight = false;
    two.away.delete_version(NEW);
    let leaving = two.away.versions[&NEW.0].clone();
    two.see(Observation::Version(NEW, Some(Box::new(leaving))));
    two.settle();
    assert_eq!(two.fixture.engine.world().gate(AWAY), Some(Blocker::NotSynced(Kind::Machine)));
    assert_eq!(two.fixture.engine.world().gate(StoreId::HOME), None);
    // Both machines are to change, and the second store's watch shows it; only the lists are missing.
    two.fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2))].into());
    two.away.edit_machine(MACHINE.0, |spec| spec.pins = [].into());
    let edited = two.away.machines[&MACHINE.0].clone();
    two.see(Observation::Machine(MACHINE, Some(Box::new(edited))));
    assert_eq!(two.settle(), Some(Blocker::NotSynced(Kind::Machine)));
    assert_eq!(two.installed(0, WEB), Some(web(2)));
    assert_eq!(two.ordered.get(&AWAY), None);
    // The second store is seen again.
    two.is_in_sight = true;
    two.list();
    assert_eq!(two.settle(), None);
    assert!(!two.away.versions.contains_key(&NEW.0), "nobody uses it: it was let go");
    let status = &two.away.machines[&MACHINE.0];
    assert_eq!(status.status.observed_generation, status.meta.generation);
}

#[test]
fn versions_of_objects_of_different_stores_are_not_compared() {
    let mut two = Two::new();
    two.open();
    two.settle();
    let (home, away) = (two.fixture.store.revision, two.away.revision);
    assert!(away < 1_000 && home > 10_000, "{away} {home}");
    two.away.edit_machine(MACHINE.0, |spec| spec.pins = [want(COMPONENT, NEW)].into());
    assert_eq!(two.settle(), None);
    assert_eq!(two.installed(MACHINE.0, COMPONENT), Some(NEW));
    // A machine that appears after the lists is newer than what the lists of its own store contain.
    let late = MachineId(12);
    two.away.add_machine(late);
    two.see(Observation::Named(Named { id: NamedId::Machine(late), name: "m1".into() }));
    two.fixture.hosts.insert(late.0, FakeHost::new(late.0));
    two.away.edit_machine(late.0, |spec| spec.pins = [want(COMPONENT, OLD)].into());
    two.settle();
    assert_eq!(two.installed(late.0, COMPONENT), Some(OLD));
}

#[test]
fn a_turn_names_the_store_of_each_action() {
    let mut two = Two::new();
    two.open();
    let mut seen = BTreeMap::new();
    for _ in 0..60 {
        let turn = two.fixture.turn();
        for action in &turn.actions {
            let is_away = match action.target {
                Target::Machine(id) | Target::Host(id) => id == MACHINE,
                Target::Version(id) => id == OLD || id == NEW,
                Target::Driver => action.store == AWAY,
                Target::Lease
                | Target::PackageVersion
                | Target::Set(_)
                | Target::Canary(_)
                | Target::Policy(_)
                | Target::Node(_)
                | Target::NewCertificateRequest(_)
                | Target::CertificateRequest(_) => false,
            };
            assert_eq!(action.store == AWAY, is_away, "{action:?}");
            *seen.entry((action.store, is_change(action))).or_insert(0) += 1;
        }
        for action in std::mem::take(&mut two.fixture.pending) {
            two.execute(&action);
        }
        let since = std::mem::replace(&mut two.shown, two.away.revision);
        for observation in two.away.since(since) {
            two.see(observation);
        }
        two.fixture.deliver();
        two.fixture.now = two.fixture.now + Duration::from_secs(1);
    }
    assert_eq!(seen.get(&(AWAY, true)), Some(&1), "{seen:?}");
    assert_eq!(seen.get(&(StoreId::HOME, true)), Some(&1), "{seen:?}");
}
