//! What a process observes of the API server: lists, and watches that lag behind.

use std::sync::{Arc, OnceLock};

use seaworthy_api::object::{Machine, Resource};
use seaworthy_api::parse::{self, MetadataError};
use seaworthy_api::v1alpha1;
use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::event::Observation;
use seaworthy_model::id::{CertificateRequestId, Kind, MachineId, VersionId};
use seaworthy_model::meta::Parsed;

use super::prefetch::WARM_AT_ONCE;
use super::{Process, build};
use crate::vocabulary::Occasion;
use crate::world::api_server::{Change, ChangeKind, Cursor, Gone, KINDS, Stored};
use crate::world::disturbance::Cache;
use crate::world::event::Event;
use crate::world::{World, pki};

/// How long the store takes to answer a consistent list of thousands of objects.
const LIST: Span = Span::millis(20, 150);
/// The delay of a change to a watcher.
const DELAY: Span = Span::millis(1, 20);

/// The watch of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// The place in the log; `None` when the watch does not run.
    pub(super) cursor: Option<Cursor>,
    /// Whether a delivery is due.
    pub(super) due: bool,
    /// By id: the objects that were delivered and are not known to be gone.
    present: Vec<bool>,
    /// By place in the collection: the Machines and Nodes of the last list, without those that changes were delivered
    /// of since.
    listed: Vec<Option<Listed>>,
}

/// An object of a list.
#[derive(Clone, Debug)]
struct Listed {
    object: Arc<Stored>,
    /// The index of its id.
    index: usize,
}

impl Process {
    pub(super) fn watch(&mut self, kind: Kind) -> &mut Watch {
        let table = KINDS.iter().position(|of| *of == kind).unwrap_or_default();
        &mut self.watches[table]
    }

    pub(super) fn take_in(&mut self, change: &Change) {
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
                    self.mark(kind, index_of(&gone), false);
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
        let index = index_of(&observation);
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
        match &*object {
            Resource::Machine(machine) => self.read_machine(machine, stored),
            Resource::Node(_) => {
                let observation = parse::observed(&object, &mut self.names, pki::read_request);
                if let (Ok(Some(Observation::Node(_, Some(read)))), Some(reading)) =
                    (&observation, stored.node_reading())
                {
                    reading.get_or_init(|| read.clone());
                }
                observation
            }
            Resource::MachineComponent(_)
            | Resource::ClusterPackageVersion(_)
            | Resource::Lease(_)
            | Resource::CertificateSigningRequest(_)
            | Resource::Event(_) => parse::observed(&object, &mut self.names, pki::read_request),
        }
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
    fn take_in_list<'a>(
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
            self.observed(match kind {
                Kind::Machine => Observation::Machine(MachineId(id), None),
                Kind::Node => Observation::Node(MachineId(id), None),
                Kind::MachineComponent => Observation::Version(VersionId(id), None),
                Kind::ClusterPackageVersion => Observation::PackageVersion(None),
                Kind::Lease => Observation::Lease(None),
                Kind::CertificateSigningRequest => {
                    Observation::CertificateRequest(CertificateRequestId(id), None)
                }
                Kind::Event => continue,
            });
        }
    }
}

impl World {
    /// A process lists a kind, and watches it from then on.
    pub(in crate::world) fn want_list(&mut self, process: &mut Process, kind: Kind) {
        process.watch(kind).cursor = None;
        let occurrence = self.queue.now().0;
        let owner = u64::from(process.number);
        // There are as few certificate requests as there are defaults, so their list takes no longer.
        let like = if kind == Kind::CertificateSigningRequest { Kind::ClusterPackageVersion } else { kind };
        let delay = self.draws.within(word("list") ^ word(like.name()), owner, occurrence, LIST);
        self.queue.after(delay, Priority::NORMAL, Event::List { process: process.number, kind });
    }

    /// The list arrives.
    pub(in crate::world) fn list(&mut self, number: u32, kind: Kind) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let down = self.disturbance.api_down;
        if self.now() < down {
            self.queue.at(down, Priority::NORMAL, Event::List { process: number, kind });
            return self.put_process(process);
        }
        let collection = self.api.sorted(kind);
        process.take_in_list(kind, collection.objects().into_iter(), collection.cursor());
        self.turn_soon(&mut process);
        self.put_process(process);
    }

    /// Watches of a kind break and list again.
    pub(in crate::world) fn relist(&mut self, kind: Kind) {
        self.note_occasion(Occasion::Relisted);
        self.rebind(kind, |world, process| world.want_list(process, kind));
    }

    /// Serves watches of a kind from a cache: first its objects, then later changes. A process that has seen more asks
    /// only for later changes, as the kube adapter does, and gets nothing until the cache has caught up.
    pub(in crate::world) fn bind_to_cache(&mut self, kind: Kind, cache: &Cache) {
        self.rebind(kind, |world, process| {
            if process.watch(kind).cursor.is_none_or(|seen| seen < cache.cursor) {
                process.take_in_list(kind, cache.objects.iter(), cache.cursor);
            }
            world.want_delivery(process, kind);
            world.turn_soon(process);
        });
    }

    /// Connects the watches of a kind again that have already listed.
    fn rebind(&mut self, kind: Kind, bind: impl Fn(&mut Self, &mut Process)) {
        for number in self.live.clone() {
            let Some(mut process) = self.take_process(number) else { continue };
            if process.watch(kind).cursor.is_some() {
                bind(self, &mut process);
            }
            self.put_process(process);
        }
    }

    /// A commit of a kind: schedules its delivery to all watches of the kind.
    pub(in crate::world) fn notify(&mut self, kind: Kind) {
        // Events are written for users; no operator watches them.
        if !KINDS.contains(&kind) {
            return;
        }
        for number in self.live.clone() {
            let Some(mut process) = self.take_process(number) else { continue };
            self.want_delivery(&mut process, kind);
            self.put_process(process);
        }
    }

    /// Schedules a delivery of a watch, unless one is due.
    fn want_delivery(&mut self, process: &mut Process, kind: Kind) {
        let (number, now) = (process.number, self.queue.now());
        let watch = process.watch(kind);
        if watch.cursor.is_none() || watch.due {
            return;
        }
        watch.due = true;
        let revision = self.api.revision();
        let purpose = word("watch") ^ word(kind.name());
        let delay = self.draws.within(purpose, u64::from(number), revision, DELAY);
        let at = (now + delay + self.disturbance.lag(kind, now)).max(self.held_until(kind));
        self.queue.at(at, Priority::NORMAL, Event::Deliver { process: number, kind });
    }

    /// A watch delivers its changes.
    pub(in crate::world) fn deliver(&mut self, number: u32, kind: Kind) {
        let Some(mut process) = self.take_process(number) else { return self.queue.discount() };
        let (now, held) = (self.queue.now(), self.held_until(kind));
        if held > now {
            self.note_occasion(Occasion::WatchHeld);
            self.queue.at(held, Priority::NORMAL, Event::Deliver { process: number, kind });
            return self.put_process(process);
        }
        let watch = process.watch(kind);
        watch.due = false;
        let Some(cursor) = watch.cursor else { return self.put_process(process) };
        match self.show(&mut process, kind, cursor) {
            Ok(later) => {
                if let Some(at) = later {
                    process.watch(kind).due = true;
                    self.queue.at(at, Priority::NORMAL, Event::Deliver { process: number, kind });
                }
                self.turn_soon(&mut process);
            }
            Err(Gone) => {
                self.note_occasion(Occasion::Relisted);
                self.want_list(&mut process, kind);
            }
        }
        self.put_process(process);
    }

    /// Delivers the changes of a watch to a process. If later changes are delayed, returns until when.
    pub(super) fn show(
        &mut self,
        process: &mut Process,
        kind: Kind,
        mut cursor: Cursor,
    ) -> Result<Option<Timestamp>, Gone> {
        let now = self.queue.now();
        let lag = self.disturbance.lag(kind, now);
        let mut lost = Vec::new();
        if self.rules.lose_events() {
            let changes = self.api.collection(kind).since(cursor, now)?;
            let shown: Vec<Change> = changes.take_while(|change| change.at + lag <= now).cloned().collect();
            let shown = shown.iter().filter(|change| self.is_event_lost(process, change));
            lost = shown.map(|change| change.revision).collect();
        }
        let mut later = None;
        for (number, change) in self.api.collection(kind).since(cursor, now)?.enumerate() {
            if number.is_multiple_of(WARM_AT_ONCE) {
                let collection = self.api.collection(kind);
                let next = collection.since(cursor, now)?.take(WARM_AT_ONCE);
                process.warm_objects(collection.len(), next.map(|change| &change.object));
            }
            if change.at + lag > now {
                later = Some(change.at + lag);
                break;
            }
            if !lost.contains(&change.revision) {
                process.take_in(change);
            }
            cursor = cursor.next();
        }
        process.watch(kind).cursor = Some(cursor);
        Ok(later)
    }

    /// Until when watches of a kind deliver nothing.
    pub(super) fn held_until(&self, kind: Kind) -> Timestamp {
        let held = self.holds[KINDS.iter().position(|of| *of == kind).unwrap_or_default()];
        held.max(self.disturbance.api_down)
    }
}

/// The index of the id of the observed object.
const fn index_of(observation: &Observation) -> usize {
    match observation {
        Observation::Machine(id, _) | Observation::Node(id, _) => id.index(),
        Observation::Version(id, _) => id.index(),
        Observation::CertificateRequest(id, _) => id.index(),
        Observation::PackageVersion(_)
        | Observation::Lease(_)
        | Observation::Named(_)
        | Observation::Synced(_)
        | Observation::ApiServers(_)
        | Observation::Stopping => 0,
    }
}
