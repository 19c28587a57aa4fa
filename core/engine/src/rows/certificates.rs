//! Certificate requests, and the machines that they belong to. A fleet without any pays nothing for them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use seaworthy_model::meta::Meta;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use seaworthy_model::certificate::{CertificateRequestObject, NODE_PREFIX, Refusal};
use seaworthy_model::digest::Digest;
use seaworthy_model::id::{CertificateRequestId, MachineId};
use seaworthy_model::time::Timestamp;

use crate::runtime::tracked::{Object, Tracked};

/// At most this many requests of one node are approved within [`WINDOW`]: kubelet asks for a client and a serving
/// certificate, and once more for each when its addresses change.
pub(crate) const APPROVALS_MAX: u32 = 10;
/// The time within which approvals of one node are counted.
pub(crate) const WINDOW: Duration = Duration::from_secs(3600);

/// What is known of certificate requests.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    requests: Vec<Request>,
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, CertificateRequestId, FxBuildHasher>,
    /// The machines by name; filled when the first request arrives.
    pub(crate) machines: Option<HashMap<Arc<str>, MachineId, FxBuildHasher>>,
    /// When the creation of a machine's own request was last ordered, and for which key.
    pub(crate) asked: BTreeMap<MachineId, (Digest, Timestamp)>,
    /// Requests that cannot be judged before the host of the machine is read.
    waiting: BTreeMap<MachineId, BTreeSet<CertificateRequestId>>,
    /// Per machine: the start of the window, and the approvals since then.
    approvals: BTreeMap<MachineId, (Timestamp, u32)>,
    /// The authority that signed the last certificate that we installed on a host.
    pub(crate) authority: Option<Digest>,
}

/// One certificate request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The `CertificateSigningRequest`.
    pub tracked: Tracked<Box<CertificateRequestObject>>,
    /// The refusal that we last reported in an Event.
    pub told: Option<Refusal>,
}

impl Request {
    /// The `CertificateSigningRequest`, as last seen.
    #[must_use]
    pub fn object(&self) -> Option<&CertificateRequestObject> {
        self.tracked.object.as_deref()
    }
}

impl Object for Box<CertificateRequestObject> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
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
        self.request(*self.ids.get(name)?)?.object()
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

    /// When the creation of a request of a machine was last ordered, for any key.
    #[must_use]
    pub fn last_asked(&self, machine: MachineId) -> Option<Timestamp> {
        self.asked.get(&machine).map(|(_, at)| *at)
    }

    /// Until when nothing more is approved for a node, if its approvals are exhausted.
    #[must_use]
    pub fn exhausted_until(&self, machine: MachineId, now: Timestamp) -> Option<Timestamp> {
        let (since, count) = *self.approvals.get(&machine)?;
        let until = since + WINDOW;
        (count >= APPROVALS_MAX && now < until).then_some(until)
    }

    pub(crate) fn row(&mut self, id: CertificateRequestId) -> &mut Request {
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

    pub(crate) fn unsync(&mut self) {
        for request in &mut self.requests {
            request.tracked.writes.written = None;
        }
    }

    /// Another epoch: forgets what was counted and asked in the last one.
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

    /// Removes and returns the requests that waited for a machine's host to be read.
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
