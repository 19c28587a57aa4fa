//! What a process takes in of the API server: the objects of lists, and changes.

use std::sync::{Arc, OnceLock};

use seaworthy_api::object::{Machine, Resource};
use seaworthy_api::parse::{self, MetadataError};
use seaworthy_api::v1alpha1;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Kind, MachineId};
use seaworthy_model::meta::Parsed;

use super::prefetch::WARM_AT_ONCE;
use super::watch::{Listed, Watch};
use super::{Process, build};
use crate::world::api_server::{Change, ChangeKind, Cursor, KINDS, Stored};
use crate::world::pki;

impl Process {
    pub(in crate::world) fn watch(&mut self, kind: Kind) -> &mut Watch {
        let table = KINDS.iter().position(|of| *of == kind).unwrap_or_default();
        &mut self.watches[table]
    }

    pub(in crate::world) fn take_in(&mut self, change: &Change) {
        let watch = self.watch(change.object.kind());
        if let Some(listed) = watch.listed.get_mut(change.object.place() as usize) {
            *listed = None;
        }
        match change.kind {
            ChangeKind::Added | ChangeKind::Modified => {
                self.take_in_object(&change.object);
            }
            ChangeKind::Deleted => {
                let (kind, name) = (change.object.kind(), &**change.object.name());
                if let Some(gone) = parse::gone(kind, name, &mut self.names) {
                    self.mark(kind, gone.index(), false);
                    self.observed(gone);
                }
            }
        }
    }

    /// Observes an object. Returns the index of its id.
    fn take_in_object(&mut self, stored: &Stored) -> Option<usize> {
        // Most fleets are created, and therefore listed, in the order of their names.
        self.names.expect_machine(MachineId(stored.place()));
        let observation = match stored.node_reading().and_then(OnceLock::get) {
            Some(read) => {
                let id = self.names.machine_of(stored.name());
                Ok(Some(Observation::Node(id, Some(read.clone()))))
            }
            None => self.read(stored),
        };
        // The store contains no object with invalid metadata.
        let Ok(Some(observation)) = observation else { return None };
        let index = observation.index();
        self.mark(stored.kind(), index, true);
        self.observed(observation);
        Some(index)
    }

    /// Observes an object of a list. If the list before had the very same object and the engine still relies on it,
    /// there is nothing new for the engine; most objects of a repeated list are such.
    fn take_in_listed(&mut self, stored: &Arc<Stored>, before: Option<Listed>) {
        let kind = stored.kind();
        let known = before.filter(|listed| Arc::ptr_eq(&listed.object, stored) && self.goes_by(listed));
        let listed = known.inspect(|listed| self.mark(kind, listed.index, true)).or_else(|| {
            let index = self.take_in_object(stored)?;
            Some(Listed { object: Arc::clone(stored), index })
        });
        let places = &mut self.watch(kind).listed;
        let place = stored.place() as usize;
        if places.len() <= place {
            places.resize(place + 1, None);
        }
        places[place] = listed;
    }

    /// Whether the engine's knowledge is that of this object.
    fn goes_by(&self, listed: &Listed) -> bool {
        let (world, object) = (self.engine.world(), &listed.object);
        let Ok(id) = u32::try_from(listed.index).map(MachineId) else { return false };
        if object.kind() == Kind::Node {
            return world.machine(id).node.is_some() && world.node_uid(id) == Some(object.uid());
        }
        let seen = world.machine(id).object.as_ref().map(|seen| (seen.meta.uid, seen.meta.resource_version));
        seen == Some((object.uid(), object.resource_version()))
    }

    fn read(&mut self, stored: &Stored) -> Result<Option<Observation>, MetadataError> {
        let object = build::read(self.build, stored.shown());
        if let Resource::Machine(machine) = &*object {
            return self.read_machine(machine, stored);
        }
        let observation = parse::observed(&object, &mut self.names, pki::read_request);
        if let (Ok(Some(Observation::Node(_, Some(read)))), Some(reading)) =
            (&observation, stored.node_reading())
        {
            reading.get_or_init(|| read.clone());
        }
        observation
    }

    /// Reads a Machine. Its spec is parsed only once for all readers, because most deliveries change only the status.
    fn read_machine(
        &mut self,
        machine: &Machine,
        stored: &Stored,
    ) -> Result<Option<Observation>, MetadataError> {
        if machine.spec.components.is_empty() {
            let known = stored.reading().and_then(OnceLock::get);
            let (id, object) = parse::machine_again(machine, |_| known.cloned(), &mut self.names)?;
            if let (None, Some(reading)) = (known, stored.reading()) {
                reading.get_or_init(|| object.spec.clone());
            }
            return Ok(Some(Observation::Machine(id, Some(Box::new(object)))));
        }
        let specs = &self.pinning;
        let known = |id| {
            let known: Option<&(Arc<v1alpha1::MachineSpec>, _)> = specs.get(&id);
            known.filter(|(seen, _)| Arc::ptr_eq(seen, &machine.spec)).map(|(_, read)| Parsed::clone(read))
        };
        let (id, object) = parse::machine_again(machine, known, &mut self.names)?;
        self.pinning.insert(id, (Arc::clone(&machine.spec), object.spec.clone()));
        Ok(Some(Observation::Machine(id, Some(Box::new(object)))))
    }

    /// Observes a whole list, and watches from `cursor`.
    pub(in crate::world) fn take_in_list<'a>(
        &mut self,
        kind: Kind,
        objects: impl ExactSizeIterator<Item = &'a Arc<Stored>>,
        cursor: Cursor,
    ) {
        self.watch(kind).cursor = Some(cursor);
        let before = std::mem::take(&mut self.watch(kind).present);
        let mut listed = std::mem::take(&mut self.watch(kind).listed);
        let is_empty = objects.len() == 0;
        let (all, mut objects) = (objects.len(), objects);
        loop {
            let some: Vec<&Arc<Stored>> = objects.by_ref().take(WARM_AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
            self.warm_objects(all, some.iter().copied());
            for object in some {
                if matches!(kind, Kind::Machine | Kind::Node) {
                    let shown = listed.get_mut(object.place() as usize).and_then(Option::take);
                    self.take_in_listed(object, shown);
                } else {
                    self.take_in_object(object);
                }
            }
        }
        self.take_in_absences(kind, &before);
        if kind == Kind::Lease && is_empty {
            self.observed(Observation::Lease(None));
        }
        self.observed(Observation::Synced(kind));
    }

    fn mark(&mut self, kind: Kind, index: usize, is_present: bool) {
        let present = &mut self.watch(kind).present;
        if present.len() <= index {
            present.resize(index + 1, false);
        }
        present[index] = is_present;
    }

    /// Observes the absence of objects that were present before the list.
    fn take_in_absences(&mut self, kind: Kind, before: &[bool]) {
        for (index, _) in before.iter().enumerate().filter(|(_, was)| **was) {
            if self.watch(kind).present.get(index).copied().unwrap_or_default() {
                continue;
            }
            let id = u32::try_from(index).unwrap_or(u32::MAX);
            if let Some(observation) = Observation::gone(kind, id) {
                self.observed(observation);
            }
        }
    }
}
