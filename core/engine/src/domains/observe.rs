//! Facts from the API server, taken in.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::component::VersionObject;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Kind, MachineId, Named, NamedId, VersionId};
use seaworthy_model::lease::{Epoch, LeaseObject};
use seaworthy_model::machine::MachineObject;
use seaworthy_model::meta::Meta;
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::package_version::PackageVersionObject;
use seaworthy_model::report::Subject;
use seaworthy_model::requirement::ApiServers;
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Retry;
use crate::runtime::queue::Priority;
use crate::world::World;
use crate::world::index::rollouts::Reach;

impl World {
    pub(crate) fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::Named(named) => self.observe_name(named),
            Observation::Machine(id, object) => self.observe_machine(id, object),
            Observation::Version(id, object) => self.observe_version(id, object),
            Observation::PackageVersion(object) => self.observe_package_version(object),
            Observation::Node(id, node) => self.observe_node(id, node),
            Observation::CertificateRequest(id, object) => self.observe_request(id, object),
            Observation::ApiServers(found) => self.observe_api_servers(found),
            Observation::Lease(lease) => self.observe_lease(lease),
            Observation::Synced(kind) => self.observe_synced(kind),
            Observation::Stopping => {
                self.leadership.stopping = true;
                self.touch(Subject::Leadership, Priority::Urgent);
            }
        }
    }

    fn observe_name(&mut self, Named { id, name }: Named) {
        let (names, index) = match id {
            NamedId::Machine(id) => {
                self.ensure_machine(id);
                self.certificates.note_machine(id, &name);
                (&mut self.machine_names, id.index())
            }
            NamedId::CertificateRequest(id) => return self.certificates.note_name(id, name),
            NamedId::Component(id) => (&mut self.component_names, id.index()),
            NamedId::Version(id) => (&mut self.version_names, id.index()),
        };
        if names.len() <= index {
            names.resize_with(index + 1, Default::default);
        }
        names[index] = name;
    }

    fn observe_machine(&mut self, id: MachineId, object: Option<Box<MachineObject>>) {
        self.ensure_machine(id);
        let row = self.machine(id);
        let seen = row.object.as_ref().map(|object| &object.meta);
        let meta = object.as_ref().map(|object| &object.meta);
        let newest = seen.map(|seen| seen.resource_version).or_else(|| self.departed.get(&id).copied());
        if meta.is_some_and(|meta| self.is_outdated(meta, newest.unwrap_or(self.listed))) {
            return;
        }
        match (meta, newest) {
            (None, Some(newest)) => self.departed.insert(id, newest),
            (Some(_), _) => self.departed.remove(&id),
            (None, None) => None,
        };
        let row = self.machine(id);
        let seen = row.object.as_ref().map(|object| &object.meta);
        let was_imported = row.object.as_ref().is_some_and(|object| object.status.identity.is_some());
        let is_imported = object.as_ref().is_some_and(|object| object.status.identity.is_some());
        let reborn = seen.map(|seen| seen.uid) != meta.map(|meta| meta.uid);
        let respecified = seen.map(|seen| seen.generation) != meta.map(|meta| meta.generation);
        let replaced = reborn && seen.is_some();
        let spec = object.as_ref().and_then(|object| object.spec.as_ref().ok());
        let is_changed = seen.map(|seen| seen.resource_version) != meta.map(|meta| meta.resource_version);
        let moved = row.spec().zip(spec).is_some_and(|(seen, new)| seen.connection != new.connection);
        let leaves = meta.is_some_and(Meta::is_terminating) && !seen.is_some_and(Meta::is_terminating);
        self.imported = self.imported + u32::from(is_imported) - u32::from(was_imported);
        if replaced {
            self.give_up_host(id);
        }
        if reborn || respecified {
            self.repairs.forget(id);
        }
        if let Some(identity) = object.as_ref().and_then(|object| object.status.identity.as_ref())
            && !self.machine(id).owns(identity.host)
        {
            self.hosts.entry(identity.host).or_insert(id);
        }
        let row = self.machine(id);
        if row.written.is_none() && object.is_some() && row.object.as_ref() == object.as_deref() {
            // A list shows again what was seen before: nothing follows from it.
            return;
        }
        self.change(id, |machine| {
            if reborn {
                machine.forget_contact();
            } else if respecified {
                machine.failed.clear();
                machine.blocked = None;
                machine.write_retry = Retry::default();
                machine.host.retry = Retry::default();
                if let Some(drain) = &mut machine.drain {
                    drain.rests_until = Timestamp::ZERO;
                }
                // Under the new address there may be another host.
                machine.host.stale |= moved;
            }
            // What is believed of a host lets its finalizer go only if it was read since: a successor may have worked there.
            machine.host.stale |= leaves;
            if let (Some(written), Some(object)) = (machine.written, &object)
                && object.meta.resource_version >= written
            {
                machine.written = None;
            }
            if is_changed {
                machine.write_retry.look_again();
            }
            machine.object = object.map(|object| *object);
        });
        // While something is under way nothing is decided about it, and the end of that looks at it anyway.
        if self.machine(id).action.is_none() {
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    /// Forgets whose host it was: the one that is recorded, and the one that was reached before it could be recorded.
    fn give_up_host(&mut self, id: MachineId) {
        let machine = self.machine(id);
        let recorded = machine.recorded_host();
        let reached = machine.host.facts.as_ref().map(|facts| facts.host);
        for host in [recorded, reached].into_iter().flatten() {
            if self.hosts.get(&host) == Some(&id) {
                self.hosts.remove(&host);
            }
        }
    }

    fn observe_version(&mut self, id: VersionId, object: Option<Box<VersionObject>>) {
        let lists = self.leadership.lists;
        let spec = object.as_ref().and_then(|object| object.spec.as_ref().ok());
        self.ruled |= spec.is_some_and(|spec| !spec.requires.is_empty());
        self.ordered |= self.ruled || spec.is_some_and(|spec| !spec.depends_on.is_empty());
        let version = self.version_mut(id);
        let leaving = object.as_ref().filter(|object| object.meta.is_terminating());
        let uid = |object: &VersionObject| object.meta.uid;
        let known =
            version.leaving_since.filter(|_| version.object.as_deref().map(uid) == leaving.map(|it| uid(it)));
        version.leaving_since = leaving.map(|_| known.unwrap_or(lists));
        if let (Some(written), Some(object)) = (version.written, &object)
            && object.meta.resource_version >= written
        {
            version.written = None;
        }
        let revision = |object: &Option<Box<VersionObject>>| object.as_ref().map(|o| o.meta.resource_version);
        if revision(&version.object) != revision(&object) {
            version.retry.look_again();
        }
        let usable = |object: &Option<Box<VersionObject>>| object.as_ref().is_some_and(|o| o.spec.is_ok());
        let changed = usable(&version.object) != usable(&object)
            || version.object.as_ref().map(|seen| seen.meta.uid) != object.as_ref().map(|new| new.meta.uid);
        version.object = object;
        self.touch(Subject::Version(id), Priority::Normal);
        if !changed {
            return;
        }
        if self.is_wanted_by_fleet(id) {
            self.rebuild_rollouts(Reach::Everybody);
            self.touch(Subject::PackageVersion, Priority::Urgent);
        }
        // Before all was listed nobody waits for a version.
        if self.leadership.unsynced().is_none() {
            self.touch_blocked();
        }
    }

    fn observe_api_servers(&mut self, found: ApiServers) {
        if self.api_servers.find(found) {
            self.weigh_rules_anew();
        }
    }

    /// Forgets what is known of the API servers once it is so old.
    pub(crate) fn forget_api_servers(&mut self, memory: Duration) {
        if self.api_servers.tell_time(self.now, memory) {
            self.weigh_rules_anew();
        }
    }

    /// Other API servers are known than before: looks again at who may wait because of them.
    fn weigh_rules_anew(&mut self) {
        if self.is_ruled() && self.leadership.unsynced().is_none() {
            self.touch(Subject::PackageVersion, Priority::Urgent);
            self.touch_blocked();
        }
    }

    /// Looks again at machines that wait for something that a version or the fleet may have brought.
    fn touch_blocked(&mut self) {
        let blocked: Vec<MachineId> =
            self.machines().filter(|(_, machine)| machine.blocked.is_some()).map(|(id, _)| id).collect();
        for id in blocked {
            self.change(id, |machine| machine.blocked = None);
            self.touch(Subject::Machine(id), Priority::Normal);
        }
    }

    fn observe_package_version(&mut self, object: Option<Box<PackageVersionObject>>) {
        let seen = self.fleet.object.as_ref().map(|object| &object.meta);
        let meta = object.as_ref().map(|object| &object.meta);
        let newest = seen.map(|seen| seen.resource_version);
        if newest.zip(meta).is_some_and(|(newest, meta)| self.is_outdated(meta, newest)) {
            return;
        }
        let fleet = &mut self.fleet;
        let seen = fleet.object.as_ref().map(|object| &object.meta);
        if seen.map(|seen| seen.uid) != meta.map(|meta| meta.uid) {
            fleet.written = None;
        }
        if seen.map(|seen| seen.generation) != meta.map(|meta| meta.generation) {
            fleet.retry = Retry::default();
        }
        if newest != meta.map(|meta| meta.resource_version) {
            fleet.retry.look_again();
        }
        if let (Some(written), Some(meta)) = (fleet.written, meta)
            && meta.resource_version >= written
        {
            fleet.written = None;
        }
        let respecified =
            fleet.spec() != object.as_ref().and_then(|o| o.spec.as_ref().ok()).map(AsRef::as_ref);
        let records = |object: &Option<Box<PackageVersionObject>>| {
            object.as_ref().map(|object| (object.meta.uid, object.status.rollouts.clone()))
        };
        let recorded = records(&fleet.object) != records(&object);
        let only_advanced = !respecified && fleet.is_only_advanced(object.as_deref());
        let same_terms = fleet.has_terms_of(object.as_deref());
        let audit_interval = fleet.audit_interval();
        fleet.object = object;
        let are_audits_moved = fleet.audit_interval() != audit_interval;
        if only_advanced {
            self.advance_rollouts();
        } else if respecified || recorded {
            self.rebuild_rollouts(if same_terms { Reach::Concerned } else { Reach::Everybody });
        }
        if respecified || recorded {
            self.release_stopped();
        }
        if are_audits_moved {
            self.forget_audits();
        }
        self.touch(Subject::PackageVersion, Priority::Urgent);
    }

    /// Has every audit planned anew: the old plan may be a day away.
    fn forget_audits(&mut self) {
        let planned: Vec<MachineId> = self
            .machines()
            .filter(|(_, machine)| machine.host.audit_at.is_some())
            .map(|(id, _)| id)
            .collect();
        for id in planned {
            self.note(id, |machine| machine.host.audit_at = None);
            self.touch(Subject::Machine(id), Priority::Low);
        }
    }

    fn observe_node(&mut self, id: MachineId, node: Option<NodeObject>) {
        self.ensure_machine(id);
        let before = self.machine(id).node.as_ref();
        let (was, is) = (before.map(|node| node.ready), node.as_ref().map(|node| node.state.ready));
        let cordon = |node: Option<&NodeState>| node.and_then(|node| node.cordon.clone());
        let is_remarked = match (&self.machine(id).drain, before, &node) {
            (None, before, node) => cordon(before) != cordon(node.as_ref().map(|node| &node.state)),
            (Some(_), Some(before), Some(node)) => {
                before.shape() != node.state.shape() || self.node_uid(id) != Some(node.uid)
            }
            (Some(_), before, node) => before.is_some() != node.is_some(),
        };
        if let Some(node) = &node {
            self.note_node_uid(id, node);
        }
        let mut before = None;
        self.change(id, |machine| {
            before = core::mem::replace(&mut machine.node, node.map(|node| node.state));
            if was == is {
                return;
            }
            // A change of its health is a signal: look at the host at once, whatever the back-off says.
            machine.host.retry.look_again();
            let sick = is.is_some_and(|health| health != Health::Healthy);
            if sick || machine.host.unreachable_since.is_some() {
                machine.host.stale = true;
            }
        });
        if is_remarked {
            self.node_marked(id);
        } else if was != is {
            self.touch(Subject::Machine(id), Priority::Normal);
        }
        self.weigh_attributes(id, before.as_ref());
    }

    fn observe_lease(&mut self, lease: Option<Box<LeaseObject>>) {
        let leadership = &mut self.leadership;
        if let (Some(written), Some(seen), Some(_)) = (leadership.written, &lease, &leadership.lease)
            && seen.meta.resource_version < written
        {
            // Between our write and its echo the watch may still show what was before.
            leadership.behind = lease;
            return;
        }
        leadership.behind = None;
        if let (Some(written), Some(lease)) = (leadership.written, &lease)
            && lease.meta.resource_version >= written
        {
            leadership.written = None;
        }
        self.take_in_lease(lease);
    }

    /// Takes the Lease for what it is.
    pub(crate) fn take_in_lease(&mut self, lease: Option<Box<LeaseObject>>) {
        let leadership = &mut self.leadership;
        let was_there = leadership.lease.is_some() || leadership.written.is_some();
        if lease.is_none() {
            // It went after our write. Should this be older than our write after all, the echo says so.
            leadership.written = None;
        }
        // Of a Lease that we have just made an older incarnation may still be shown.
        let fell_back = leadership.written.is_none()
            && lease.as_ref().is_none_or(|lease| Some(lease.record.epoch) < leadership.epoch);
        let confirmed = lease.as_ref().filter(|lease| leadership.confirms(lease));
        let confirmed = confirmed.map(|lease| lease.record.epoch);
        let is_ours = lease.as_ref().is_some_and(|lease| leadership.holds(lease));
        // Somebody was allowed to go on from a Lease that was forgotten: whoever comes after that need not wait for people.
        let goes_on = leadership.epoch.is_none()
            && lease.as_ref().is_some_and(|lease| lease.record.epoch > Epoch::VACANT);
        leadership.lost &= !goes_on;
        leadership.replace_lease(lease);
        if let Some(epoch) = confirmed {
            self.begin_epoch(epoch);
        } else if is_ours && self.leadership.lost {
            self.leadership.lost = false;
            self.touch_everything();
        } else if was_there && fell_back && self.leadership.epoch.is_some() {
            self.lose_lease();
        }
        self.look_for_successor();
        self.touch(Subject::Leadership, Priority::Urgent);
    }

    /// Steps down if the Lease names an epoch after ours, or somebody else in ours.
    pub(crate) fn look_for_successor(&mut self) {
        let leadership = &mut self.leadership;
        let (Some(record), Some(ours)) = (leadership.record(), leadership.epoch) else { return };
        let usurped = record.epoch == ours && leadership.other_holder().is_some();
        if record.epoch > ours || usurped {
            leadership.stepped_down = Some(record.epoch);
        }
    }

    fn observe_synced(&mut self, kind: Kind) {
        let was_unsynced = self.leadership.unsynced().is_some();
        if kind == Kind::Lease {
            self.leadership.lease_seen = true;
        } else {
            self.leadership.synced(kind);
        }
        self.touch(Subject::Leadership, Priority::Urgent);
        if self.leadership.unsynced().is_none() {
            self.touch(Subject::PackageVersion, Priority::Urgent);
            // Whatever one more list has shown to be different was touched when it was taken in.
            if was_unsynced {
                let objects = self.machines().filter_map(|(_, machine)| machine.object.as_ref());
                self.listed = objects.map(|object| object.meta.resource_version).max().unwrap_or_default();
                self.touch_everything();
            }
        }
    }

    /// Whether an object is older than the newest version that was seen under its name, of this incarnation or another: a
    /// predecessor that a cache still shows must not come back. While lists are under way nothing is: a store that was
    /// set back has lower versions.
    fn is_outdated(&self, new: &Meta, newest: u64) -> bool {
        self.leadership.unsynced().is_none() && new.resource_version < newest
    }

    /// Touches the subjects that were not decided because of the operator's own standing. While lists are under way nobody:
    /// their end touches everything.
    pub(crate) fn touch_held_up(&mut self) {
        if self.leadership.is_listing() {
            return;
        }
        let held_up = self.blockers.iter().filter(|(_, blocker)| blocker.is_of_operator());
        let held_up: Vec<Subject> = held_up.map(|(subject, _)| subject).collect();
        for subject in held_up {
            self.touch(subject, Priority::Low);
        }
    }

    /// Touches every subject: what gates them all has changed.
    pub(crate) fn touch_everything(&mut self) {
        for index in 0..self.versions.len() {
            let id = VersionId(u32::try_from(index).unwrap_or(u32::MAX));
            self.touch(Subject::Version(id), Priority::Low);
        }
        for id in self.certificates.ids() {
            self.touch(Subject::CertificateRequest(id), Priority::Low);
        }
        self.touch_machines();
        self.touch(Subject::PackageVersion, Priority::Urgent);
    }
}
