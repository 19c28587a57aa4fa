//! The operations that a workload can make on the fleet: what `kubectl` can do, with no further rights.

use std::time::Duration;

use seaworthy_api::v1alpha1::{ClusterPackageVersionSpec, MachineComponentSetSpec, MachineSpec};
use seaworthy_kernel::{Draws, word};

use crate::vocabulary::{Fleet, Occasion, Range, Relabel, Scope};

use crate::vocabulary::Guise;

/// The actions that a workload can take in a world, and what it can observe.
pub(crate) trait Reach: std::fmt::Debug {
    /// The draws of the run.
    fn draws(&self) -> &Draws;
    /// The shape of the fleet.
    fn fleet(&self) -> &Fleet;
    /// Whether a Machine exists, whether or not it is being deleted.
    fn has_machine(&self, number: u32) -> bool;
    /// Whether a Machine exists and is not being deleted.
    fn is_machine_wanted(&self, number: u32) -> bool;
    /// Deletes a Machine. True if that changed anything.
    fn delete_machine(&mut self, number: u32) -> bool;
    /// Creates a Machine as it was at the beginning. True if its name was free.
    fn join_machine(&mut self, number: u32) -> bool;
    /// Edits the spec of a Machine. True if that changed it.
    fn edit_machine(&mut self, number: u32, change: &mut dyn FnMut(&mut MachineSpec)) -> bool;
    /// Gives a Machine the spec that it had at the beginning. True if that changed it.
    fn restore_machine(&mut self, number: u32) -> bool;
    /// Cordons or uncordons a Node.
    fn people_cordon(&mut self, number: u32, unschedulable: bool);
    /// Whether users have cordoned a Node.
    fn is_cordoned_by_people(&self, number: u32) -> bool;
    /// Sets or removes labels and taints of a Node.
    fn people_relabel(&mut self, number: u32, change: &Relabel);
    /// Whether a Node has this label, and no operator has set it.
    fn is_others_label(&self, number: u32, key: &str, value: &str) -> bool;
    /// Whether a Node has this taint, and no operator has set it.
    fn is_others_taint(&self, number: u32, key: &str, value: &str) -> bool;
    /// Edits the fleet's defaults. True if that changed them.
    fn edit_defaults(&mut self, change: &mut dyn FnMut(&mut ClusterPackageVersionSpec)) -> bool;
    /// Edits a set, if there is one of that name. True if that changed it.
    fn edit_set(&mut self, name: &str, change: &mut dyn FnMut(&mut MachineComponentSetSpec)) -> bool;
    /// Moves a Machine to a pool, or back to where it was at the beginning. True if that changed it.
    fn move_to_pool(&mut self, number: u32, pool: Option<&str>) -> bool;
    /// Applies again what users applied last, except the machines. True if that changed anything.
    fn apply_again(&mut self) -> bool;
    /// The number of apps.
    fn apps(&self) -> u32;
    /// The pods of an app are not ready for a while.
    fn app_fails(&mut self, app: u32, lasting: Duration);
    /// Takes a pod from the Node of a host: the one at this place among those that a drain would take. By eviction, or
    /// by deletion. True if there was one.
    fn take_pod(&mut self, number: u32, place: usize, evicts: bool) -> bool;
    /// The number of pods on the Node of a host that a drain would take.
    fn pods_on(&self, number: u32) -> u32;
    /// Creates a pod on the Node of a host, past the scheduler. True if it has a Node.
    fn place_pod(&mut self, number: u32) -> bool;
    /// Deletes every pod that was created that way.
    fn remove_placed_pods(&mut self);
    /// Requests a certificate of this machine's node under a false identity.
    fn impersonate(&mut self, guise: Guise, number: u32, draw: u64);
    /// Counts one more occurrence.
    fn note_occasion(&mut self, occasion: Occasion);
}

/// The world as a workload sees it, at one of the times at which it acts.
#[derive(Debug)]
pub struct Hands<'a> {
    world: &'a mut dyn Reach,
    key: u64,
    occurrence: u64,
}

impl<'a> Hands<'a> {
    pub(crate) fn new(world: &'a mut dyn Reach, key: u64, occurrence: u64) -> Self {
        Self { world, key, occurrence }
    }

    /// A number below `bound`. `what` distinguishes several draws at one time.
    #[must_use]
    pub fn below(&self, what: &str, bound: usize) -> usize {
        let drawn = self.world.draws().below(self.key ^ word(what), self.occurrence, 0, bound as u64);
        usize::try_from(drawn).unwrap_or_default()
    }

    /// One of `all`; `None` if it is empty.
    #[must_use]
    pub fn one_of<'t, T>(&self, what: &str, all: &'t [T]) -> Option<&'t T> {
        all.get(self.below(what, all.len()))
    }

    /// The machines of a part of the fleet, by number. The whole fleet if the scope is `None`.
    #[must_use]
    pub fn machines(&self, scope: Option<&Scope>) -> Vec<u32> {
        let fleet = self.world.fleet();
        scope.map_or_else(
            || (0..fleet.machines).collect(),
            |scope| scope.hosts(fleet, self.world.draws(), self.key, None),
        )
    }

    /// One machine of a part of the fleet; `None` if the part is empty.
    #[must_use]
    pub fn any_machine(&self, scope: Option<&Scope>) -> Option<u32> {
        self.one_of("machine", &self.machines(scope)).copied()
    }

    /// Whether a Machine exists, whether or not it is being deleted.
    #[must_use]
    pub fn exists(&self, number: u32) -> bool {
        self.world.has_machine(number)
    }

    /// Whether a Machine exists and is not being deleted.
    #[must_use]
    pub fn is_wanted(&self, number: u32) -> bool {
        self.world.is_machine_wanted(number)
    }

    /// Deletes a Machine.
    pub fn delete(&mut self, number: u32) {
        if self.world.delete_machine(number) {
            self.world.note_occasion(Occasion::MachineLeft);
        }
    }

    /// Creates a Machine as it was at the beginning, if its name is free: another incarnation, with another uid.
    pub fn join(&mut self, number: u32) {
        if self.world.join_machine(number) {
            self.world.note_occasion(Occasion::MachineJoined);
        }
    }

    /// Edits the spec of a Machine. True if that changed it.
    pub fn edit(&mut self, number: u32, change: impl FnOnce(&mut MachineSpec)) -> bool {
        let mut change = Some(change);
        self.world.edit_machine(number, &mut |spec| {
            if let Some(change) = change.take() {
                change(spec);
            }
        })
    }

    /// Gives a Machine the spec that it had at the beginning. True if that changed it.
    pub fn restore(&mut self, number: u32) -> bool {
        self.world.restore_machine(number)
    }

    /// Cordons or uncordons a Node, if that changes it.
    pub fn cordon(&mut self, number: u32, unschedulable: bool) {
        self.world.people_cordon(number, unschedulable);
    }

    /// Whether users have cordoned a Node.
    #[must_use]
    pub fn is_cordoned_by_people(&self, number: u32) -> bool {
        self.world.is_cordoned_by_people(number)
    }

    /// Sets or removes labels and taints of a Node, if that changes it.
    pub fn relabel(&mut self, number: u32, change: &Relabel) {
        self.world.people_relabel(number, change);
    }

    /// Whether a Node has this label, and no operator has set it.
    #[must_use]
    pub fn is_their_label(&self, number: u32, key: &str, value: &str) -> bool {
        self.world.is_others_label(number, key, value)
    }

    /// Whether a Node has this taint, with the effect `NoSchedule`, and no operator has set it.
    #[must_use]
    pub fn is_their_taint(&self, number: u32, key: &str, value: &str) -> bool {
        self.world.is_others_taint(number, key, value)
    }

    /// Edits the fleet's defaults. True if that changed them.
    pub fn edit_defaults(&mut self, change: impl FnOnce(&mut ClusterPackageVersionSpec)) -> bool {
        let mut change = Some(change);
        self.world.edit_defaults(&mut |spec| {
            if let Some(change) = change.take() {
                change(spec);
            }
        })
    }

    /// Edits a set, if there is one of that name. True if that changed it.
    pub fn edit_set(&mut self, name: &str, change: impl FnOnce(&mut MachineComponentSetSpec)) -> bool {
        let mut change = Some(change);
        self.world.edit_set(name, &mut |spec| {
            if let Some(change) = change.take() {
                change(spec);
            }
        })
    }

    /// Moves a Machine to a pool, or back to where it was at the beginning. True if that changed it.
    pub fn move_to_pool(&mut self, number: u32, pool: Option<&str>) -> bool {
        self.world.move_to_pool(number, pool)
    }

    /// Applies again what users applied last, except the machines. True if that changed anything.
    pub fn apply_again(&mut self) -> bool {
        self.world.apply_again()
    }

    /// One of the apps; `None` if the fleet has none.
    #[must_use]
    pub fn any_app(&self) -> Option<u32> {
        let apps = self.world.apps();
        (apps > 0).then(|| u32::try_from(self.below("app", apps as usize)).unwrap_or_default())
    }

    /// The pods of an app are not ready for a while within this range.
    pub fn fail_app(&mut self, app: u32, lasting: Range) {
        let lasting = self.world.draws().within(self.key ^ word("lasting"), self.occurrence, 0, lasting.0);
        self.world.app_fails(app, lasting);
        self.world.note_occasion(Occasion::AppUnready);
    }

    /// Evicts or deletes one of the pods that a drain of this Node would take.
    pub fn take_pod(&mut self, number: u32, evicts: bool) {
        let place = self.below("pod", self.world.pods_on(number).max(1) as usize);
        if self.world.take_pod(number, place, evicts) {
            self.world.note_occasion(Occasion::PodTakenByPeople);
        }
    }

    /// Evicts all pods that a drain of this Node would take, each once.
    pub fn empty_node(&mut self, number: u32) {
        for place in (0..self.world.pods_on(number)).rev() {
            self.world.take_pod(number, place as usize, true);
        }
    }

    /// Creates a pod on a Node, past the scheduler.
    pub fn place_pod(&mut self, number: u32) {
        if self.world.place_pod(number) {
            self.world.note_occasion(Occasion::PodPlacedByPeople);
        }
    }

    /// Deletes every pod that was created that way.
    pub fn remove_placed_pods(&mut self) {
        self.world.remove_placed_pods();
    }

    /// Requests a certificate of this machine's node under a false identity.
    pub fn impersonate(&mut self, guise: Guise, number: u32) {
        let draw = self.world.draws().bits(self.key ^ word("impostor"), self.occurrence, 0);
        self.world.impersonate(guise, number, draw);
    }

    /// Counts one more occurrence.
    pub fn note(&mut self, occasion: Occasion) {
        self.world.note_occasion(occasion);
    }
}
