//! Workloads: actors on the fleet other than the operator, and the operations that they can make on its objects.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::{ClusterPackageVersionSpec, MachineComponentSetSpec, MachineSpec};
use seaworthy_kernel::{Draws, Priority, word};
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use crate::vocabulary::{Fleet, Guise, Occasion, Relabel, START, machine_name};
use crate::workloads::{Hands, Reach};
use crate::world::World;
use crate::world::api_server::{Preconditions, Stored, WriteResult};
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::writer::Writer;

/// The occurrence number of the last act, at the start of the quiet phase.
const FINISH: u32 = u32::MAX;

impl World {
    /// Schedules the first act and the last act of every workload.
    pub(in crate::world) fn plan_workloads(&mut self) {
        for index in 0..u32::try_from(self.scenario.workloads.len()).unwrap_or(u32::MAX) {
            self.plan_act(index, 0);
            let finish = Event::Workload { index, occurrence: FINISH };
            self.queue.at(self.quiet, Priority::WORLD, finish);
        }
    }

    fn plan_act(&mut self, index: u32, occurrence: u32) {
        let Some(workload) = self.scenario.workloads.get(index as usize) else { return };
        let key = word(workload.name()) ^ u64::from(index) << 32;
        let wait = self.draws.within(key ^ word("every"), u64::from(occurrence), 0, workload.every().0);
        let between = workload.between().0.0;
        let at = (self.now() + wait).max(START + between.least);
        if at < self.quiet && at <= START + between.most {
            self.queue.at(at, Priority::WORLD, Event::Workload { index, occurrence });
        }
    }

    /// A workload acts.
    pub(in crate::world) fn workload_acts(&mut self, index: u32, occurrence: u32) {
        let scenario = Arc::clone(&self.scenario);
        let Some(workload) = scenario.workloads.get(index as usize) else { return };
        let key = word(workload.name()) ^ u64::from(index) << 32;
        let mut hands = Hands::new(self, key, u64::from(occurrence));
        if occurrence == FINISH {
            return workload.model().finish(&mut hands);
        }
        workload.model().act(&mut hands);
        self.plan_act(index, occurrence + 1);
    }

    /// Handles the result of a write. A refusal is no problem: another writer was faster.
    fn acted(&mut self, written: WriteResult) -> bool {
        written.is_ok_and(|written| {
            self.committed(&written, Writer::Other);
            written.committed
        })
    }
}

impl Reach for World {
    fn draws(&self) -> &Draws {
        &self.draws
    }

    fn fleet(&self) -> &Fleet {
        &self.scenario.fleet
    }

    fn has_machine(&self, number: u32) -> bool {
        self.machine_stored(number).is_some()
    }

    fn is_machine_wanted(&self, number: u32) -> bool {
        self.machine_stored(number).is_some_and(|machine| !machine.is_terminating())
    }

    fn delete_machine(&mut self, number: u32) -> bool {
        let (name, now) = (machine_name(number), self.now());
        let written =
            self.api_servers.home_mut().delete((Kind::Machine, &name), Preconditions::default(), now);
        self.acted(written)
    }

    fn join_machine(&mut self, number: u32) -> bool {
        let is_taken = self.machine_stored(number).is_some_and(Stored::is_terminating);
        self.happened(&Happening::Joins(number, is_taken));
        if self.machine_stored(number).is_some() {
            return false;
        }
        let (machine, now) = (self.machine(number), self.now());
        let written = self.api_servers.home_mut().create(machine, now);
        self.acted(written)
    }

    fn edit_machine(&mut self, number: u32, change: &mut dyn FnMut(&mut MachineSpec)) -> bool {
        let (name, now) = (machine_name(number), self.now());
        let written = self.api_servers.home_mut().update(
            (Kind::Machine, &name),
            Preconditions::default(),
            now,
            |object| {
                if let Resource::Machine(machine) = object {
                    change(Arc::make_mut(&mut machine.spec));
                }
            },
        );
        self.acted(written)
    }

    fn restore_machine(&mut self, number: u32) -> bool {
        let Resource::Machine(machine) = self.machine(number) else { return false };
        let present = self.machine_stored(number).and_then(Stored::machine_spec);
        if present.is_none_or(|present| **present == *machine.spec) {
            return false;
        }
        self.edit_machine(number, &mut |spec| spec.clone_from(&machine.spec))
    }

    fn people_cordon(&mut self, number: u32, unschedulable: bool) {
        Self::people_cordon(self, number, unschedulable);
    }

    fn is_cordoned_by_people(&self, number: u32) -> bool {
        Self::is_cordoned_by_people(self, number)
    }

    fn people_relabel(&mut self, number: u32, change: &Relabel) {
        Self::people_relabel(self, number, change);
    }

    fn is_others_label(&self, number: u32, key: &str, value: &str) -> bool {
        Self::is_others_label(self, number, key, value)
    }

    fn is_others_taint(&self, number: u32, key: &str, value: &str) -> bool {
        Self::is_others_taint(self, number, key, value)
    }

    fn edit_defaults(&mut self, change: &mut dyn FnMut(&mut ClusterPackageVersionSpec)) -> bool {
        let object = (Kind::ClusterPackageVersion, SINGLETON);
        let now = self.now();
        let written = self.api_servers.home_mut().update(object, Preconditions::default(), now, |object| {
            if let Resource::ClusterPackageVersion(fleet) = object {
                change(&mut fleet.spec);
            }
        });
        self.acted(written)
    }

    fn edit_set(&mut self, name: &str, change: &mut dyn FnMut(&mut MachineComponentSetSpec)) -> bool {
        let object = (Kind::MachineComponentSet, name);
        let now = self.now();
        let written = self.api_servers.home_mut().update(object, Preconditions::default(), now, |object| {
            if let Resource::MachineComponentSet(set) = object {
                change(&mut set.spec);
            }
        });
        self.acted(written)
    }

    fn move_to_pool(&mut self, number: u32, pool: Option<&str>) -> bool {
        let before = self.machine(number).metadata().labels.clone();
        let labels = match pool {
            Some(pool) => [("pool".to_owned(), pool.to_owned())].into_iter().collect(),
            None => before,
        };
        if self.machine_stored(number).is_none_or(|machine| *machine.labels() == labels) {
            return false;
        }
        let (name, now) = (machine_name(number), self.now());
        let object = (Kind::Machine, name.as_str());
        let written = self.api_servers.home_mut().update(object, Preconditions::default(), now, |object| {
            object.metadata_mut().labels.clone_from(&labels);
        });
        self.acted(written)
    }

    fn apply_again(&mut self) -> bool {
        let before = self.api_servers.home().revision();
        for object in self.applied.clone().into_values() {
            self.apply(Resource::clone(&object));
        }
        self.api_servers.home().revision() > before
    }

    fn apps(&self) -> u32 {
        Self::apps(self)
    }

    fn app_fails(&mut self, app: u32, lasting: Duration) {
        Self::app_fails(self, app, lasting);
    }

    fn take_pod(&mut self, number: u32, place: usize, evicts: bool) -> bool {
        self.take_by_hand(number, place, evicts)
    }

    fn pods_on(&self, number: u32) -> u32 {
        Self::pods_on(self, number).0
    }

    fn place_pod(&mut self, number: u32) -> bool {
        self.place_by_hand(number)
    }

    fn remove_placed_pods(&mut self) {
        Self::remove_placed_pods(self);
    }

    fn impersonate(&mut self, guise: Guise, number: u32, draw: u64) {
        Self::impersonate(self, guise, number, draw);
    }

    fn note_occasion(&mut self, occasion: Occasion) {
        Self::note_occasion(self, occasion);
    }
}
