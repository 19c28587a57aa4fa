//! Certificate requests, and what is remembered of whose they are. A fleet without any pays nothing for them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use seaworthy_model::certificate::{CertificateRequestObject, NODE_PREFIX, Refusal};
use seaworthy_model::digest::Digest;
use seaworthy_model::effect::ActionId;
use seaworthy_model::event::Outcome;
use seaworthy_model::id::{CertificateRequestId, MachineId};
use seaworthy_model::report::Subject;
use seaworthy_model::time::Timestamp;

use crate::domains::finish::{Terms, WriteEnd, key};
use crate::rows::machine::Retry;
use crate::runtime::queue::Priority;
use crate::world::{InFlight, InFlightKind, World};

/// So many requests of one node are approved within [`WINDOW`]: kubelet asks for a client and a serving certificate, and
/// once more for each when its addresses change.
pub(crate) const APPROVALS_MAX: u32 = 10;
/// The time within which approvals of one node are counted.
pub(crate) const WINDOW: Duration = Duration::from_secs(3600);

/// What is known of certificate requests.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    requests: Vec<Request>,
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, CertificateRequestId, FxBuildHasher>,
    /// The machines by their names, from the first request on.
    machines: Option<HashMap<Arc<str>, MachineId, FxBuildHasher>>,
    /// When the creation of a machine's own request was last ordered, and for which key.
    asked: BTreeMap<MachineId, (Digest, Timestamp)>,
    /// Requests that cannot be judged before the host of a machine was read.
    waiting: BTreeMap<MachineId, BTreeSet<CertificateRequestId>>,
    /// Since when approvals of a node are counted, and how many there were.
    approvals: BTreeMap<MachineId, (Timestamp, u32)>,
    /// Who has signed the last certificate that a host has taken from us.
    pub(crate) authority: Option<Digest>,
}

/// One certificate request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The `CertificateSigningRequest`, as last seen.
    pub object: Option<Box<CertificateRequestObject>>,
    /// The action under way for it.
    pub action: Option<ActionId>,
    /// `resourceVersion` of our own last write, until it was seen.
    pub written: Option<u64>,
    /// Back-off of writes to the API server.
    pub retry: Retry,
    /// What people were told last.
    pub told: Option<Refusal>,
}

impl Certificates {
    /// The request of this id.
    #[must_use]
    pub fn request(&self, id: CertificateRequestId) -> Option<&Request> {
        self.requests.get(id.index())
    }

    /// The object of this name, if it exists.
    #[must_use]
    pub fn object_named(&self, name: &str) -> Option<&CertificateRequestObject> {
        self.request(*self.ids.get(name)?)?.object.as_deref()
    }

    /// The name of a request; empty when it was never named.
    #[must_use]
    pub fn name(&self, id: CertificateRequestId) -> &str {
        self.names.get(id.index()).map_or("", AsRef::as_ref)
    }

    /// The machine whose node has this name.
    #[must_use]
    pub fn machine_named(&self, name: &str) -> Option<MachineId> {
        self.machines.as_ref()?.get(name).copied()
    }

    /// The machine whose node a request is for, by the name in its subject.
    #[must_use]
    pub fn machine_of(&self, object: &CertificateRequestObject) -> Option<MachineId> {
        let content = object.content.as_ref().ok()?;
        self.machine_named(content.common_name.strip_prefix(NODE_PREFIX)?)
    }

    /// When the creation of the request for this key of a machine was last ordered.
    #[must_use]
    pub fn asked_at(&self, machine: MachineId, key: Digest) -> Option<Timestamp> {
        self.asked.get(&machine).filter(|(asked, _)| *asked == key).map(|(_, at)| *at)
    }

    /// When the creation of a request of a machine was last ordered, for whichever key.
    #[must_use]
    pub fn last_asked(&self, machine: MachineId) -> Option<Timestamp> {
        self.asked.get(&machine).map(|(_, at)| *at)
    }

    /// Until when nothing more is approved for a node.
    #[must_use]
    pub fn exhausted_until(&self, machine: MachineId, now: Timestamp) -> Option<Timestamp> {
        let (since, count) = *self.approvals.get(&machine)?;
        let until = since + WINDOW;
        (count >= APPROVALS_MAX && now < until).then_some(until)
    }

    fn row(&mut self, id: CertificateRequestId) -> &mut Request {
        if self.requests.len() <= id.index() {
            self.requests.resize_with(id.index() + 1, Request::default);
        }
        &mut self.requests[id.index()]
    }

    pub(crate) fn note_name(&mut self, id: CertificateRequestId, name: Arc<str>) {
        if self.names.len() <= id.index() {
            self.names.resize_with(id.index() + 1, Default::default);
        }
        self.ids.insert(Arc::clone(&name), id);
        self.names[id.index()] = name;
    }

    pub(crate) fn note_machine(&mut self, id: MachineId, name: &Arc<str>) {
        if let Some(machines) = &mut self.machines {
            machines.insert(Arc::clone(name), id);
        }
    }

    pub(crate) fn start(&mut self, id: CertificateRequestId, action: ActionId) {
        self.row(id).action = Some(action);
    }

    pub(crate) fn unsync(&mut self) {
        for request in &mut self.requests {
            request.written = None;
        }
    }

    /// Another epoch: what was counted and asked in ours counts no more.
    pub(crate) fn begin_epoch(&mut self) {
        self.asked.clear();
        self.approvals.clear();
        self.waiting.clear();
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = CertificateRequestId> + use<> {
        (0..u32::try_from(self.requests.len()).unwrap_or(u32::MAX)).map(CertificateRequestId)
    }

    pub(crate) fn note_asked(&mut self, machine: MachineId, key: Digest, now: Timestamp) {
        self.asked.insert(machine, (key, now));
    }

    pub(crate) fn note_waiting(&mut self, machine: MachineId, request: CertificateRequestId) {
        self.waiting.entry(machine).or_default().insert(request);
    }

    /// The requests that waited for a machine's host to be read.
    pub(crate) fn take_waiting(&mut self, machine: MachineId) -> Option<BTreeSet<CertificateRequestId>> {
        self.waiting.remove(&machine)
    }

    pub(crate) fn note_approval(&mut self, machine: MachineId, now: Timestamp) {
        let (since, count) = self.approvals.entry(machine).or_insert((now, 0));
        if *since + WINDOW <= now {
            (*since, *count) = (now, 0);
        }
        *count += 1;
    }
}

impl World {
    /// Takes in a certificate request, and has those looked at again whom it concerns.
    pub(crate) fn observe_request(
        &mut self,
        id: CertificateRequestId,
        object: Option<Box<CertificateRequestObject>>,
    ) {
        if self.certificates.machines.is_none() {
            let names = (0..).map(MachineId).zip(&self.machine_names);
            let machines = names.map(|(id, name)| (Arc::clone(name), id)).collect();
            self.certificates.machines = Some(machines);
        }
        let row = self.certificates.row(id);
        if let (Some(written), Some(object)) = (row.written, &object)
            && object.meta.resource_version >= written
        {
            row.written = None;
        }
        let version = |object: &Option<Box<CertificateRequestObject>>| {
            object.as_ref().map(|object| (object.meta.uid, object.meta.resource_version))
        };
        if version(&row.object).map(|(uid, _)| uid) != version(&object).map(|(uid, _)| uid) {
            (row.told, row.written, row.retry) = (None, None, Retry::default());
        }
        if version(&row.object) != version(&object) {
            row.retry.look_again();
        }
        let before = core::mem::replace(&mut row.object, object);
        let now = self.certificates.request(id).and_then(|row| row.object.as_deref());
        let machines = [before.as_deref(), now].map(|object| self.certificates.machine_of(object?));
        self.touch(Subject::CertificateRequest(id), Priority::Normal);
        for machine in machines.into_iter().flatten() {
            self.touch(Subject::Machine(machine), Priority::Normal);
        }
    }

    pub(crate) fn finish_request(
        &mut self,
        id: CertificateRequestId,
        in_flight: InFlight,
        outcome: Outcome,
        terms: &Terms<'_>,
    ) {
        let now = self.now;
        let row = self.certificates.row(id);
        row.action = None;
        let back_off = |retry: &mut Retry| terms.back_off(retry, now, (1 << 40) | u64::from(id.0));
        if let InFlightKind::Tell(refusal) = in_flight.kind {
            match outcome {
                // Somebody has said it before: an operator before this one.
                Outcome::Done(_) | Outcome::Stale => {
                    row.told = Some(refusal);
                    row.retry = Retry::default();
                }
                Outcome::Retryable(_) | Outcome::Refused(_) | Outcome::Unknown => back_off(&mut row.retry),
            }
            return;
        }
        let seen = row.object.as_ref().map(|object| object.meta.resource_version);
        let end = WriteEnd { outcome, against: in_flight.resource_version, seen };
        end.settle(&mut row.written, &mut row.retry, back_off);
    }

    /// The creation of a machine's own request has ended. Whatever came of it, the watch shows whether it is there; only
    /// what certainly did not happen is tried again before that.
    pub(crate) fn finish_ask(&mut self, id: MachineId, outcome: &Outcome, terms: &Terms<'_>) {
        let now = self.now;
        let failed = matches!(outcome, Outcome::Retryable(_) | Outcome::Refused(_));
        if failed {
            self.certificates.asked.remove(&id);
        }
        self.note(id, |machine| {
            machine.action = None;
            if failed {
                terms.back_off(&mut machine.write_retry, now, key(id));
            } else {
                machine.write_retry = Retry::default();
            }
        });
    }
}
