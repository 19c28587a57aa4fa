//! How the API server stores objects: values that thousands of objects share are kept once.
//!
//! A Machine is 2 KB as JSON, and nearly 1 KB as the object that people and programs see. A fleet of a hundred thousand
//! has several versions of each in the log. Kept as here, a version is one small block of memory, which shares all but
//! the status with the version before.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use seaworthy_api::object::{
    CanaryRelease, CertificateSigningRequest, ClusterPackageVersion, Lease, Machine, MachineComponentSet,
    Metadata, Node, NodeCondition, NodeSpec, NodeStatus, Resource,
};
use seaworthy_api::scalar::Time;
use seaworthy_api::v1alpha1::{
    ClusterPackageVersionStatus, ComponentSetting, ComponentStatus, MachineComponentSpec, MachineSpec,
};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::meta::Parsed;
use seaworthy_model::node::NodeObject;

use super::dictionary::{Dictionary, Frame};
use super::status::StatusForm;
use super::{Preconditions, Status};

/// One version of an object.
#[derive(Clone, Debug)]
pub struct Stored {
    name: Arc<str>,
    /// Its place in the collection.
    place: u32,
    uid: Uid,
    resource_version: u64,
    generation: i64,
    created: Timestamp,
    deleted: Option<Timestamp>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Machine {
        frame: Arc<Frame>,
        spec: Arc<Spec>,
        status: Option<StatusForm>,
    },
    Node {
        frame: Arc<Frame>,
        conditions: Option<Arc<[NodeCondition]>>,
        /// Its parsed form, once a process has read it. It is the same for all processes.
        reading: OnceLock<NodeObject>,
    },
    /// Of the other kinds there are few; so there are of objects that have no such form.
    Whole(Box<Resource>),
}

/// The spec of a Machine.
#[derive(Debug)]
struct Spec {
    wire: Arc<MachineSpec>,
    /// The address in it, if it is one.
    address: Option<Ipv4Addr>,
    /// Its parsed form, once a process has read it, if it names no component. It is the same for all processes.
    reading: OnceLock<Parsed<seaworthy_model::machine::MachineSpec>>,
}

impl Stored {
    /// Whether it is a Lease that was renewed since it was taken.
    pub(crate) fn is_renewed_lease(&self) -> bool {
        let spec = self.lease().map(|lease| &lease.spec);
        spec.is_some_and(|spec| spec.holder_identity.is_some() && spec.acquire_time < spec.renew_time)
    }

    /// Keeps an object whose uid, version and times the API server has set.
    pub(super) fn keep(object: Resource, dictionary: &mut Dictionary) -> Self {
        let metadata = object.metadata();
        let time = |time: &Option<Time>| time.as_ref().and_then(Time::get);
        Self {
            name: Arc::clone(&metadata.name),
            place: 0,
            uid: metadata.uid.get().unwrap_or(Uid(0)),
            resource_version: metadata.resource_version.get().unwrap_or_default(),
            generation: metadata.generation,
            created: time(&metadata.creation_timestamp).unwrap_or_default(),
            deleted: time(&metadata.deletion_timestamp),
            body: Body::of(object, dictionary),
        }
    }

    /// The same as the version before, as far as they are equal.
    pub(super) fn sharing(mut self, before: &Self) -> Self {
        if let (Body::Machine { spec, .. }, Body::Machine { spec: spec_before, .. }) =
            (&mut self.body, &before.body)
            && Arc::ptr_eq(&spec.wire, &spec_before.wire)
        {
            spec.clone_from(spec_before);
        }
        self
    }

    /// Reads a word of each part, to have it near. The sum means nothing.
    pub(in crate::world) fn warm(&self) -> u64 {
        let body = match &self.body {
            Body::Machine { spec, status, .. } => {
                Arc::strong_count(&spec.wire) as u64 ^ status.as_ref().map_or(0, |status| status.warm())
            }
            Body::Node { conditions, .. } => conditions.as_ref().map_or(0, |all| all.len() as u64),
            Body::Whole(_) => 0,
        };
        self.resource_version ^ Arc::strong_count(&self.name) as u64 ^ body
    }

    /// The object in full.
    #[must_use]
    pub fn resource(&self) -> Resource {
        self.shown().into_owned()
    }

    /// The object in full, to look at: what is kept whole is not copied.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, Resource> {
        Cow::Owned(match &self.body {
            Body::Machine { frame, spec, status } => Resource::Machine(Box::new(Machine {
                api_version: frame.api_version.clone(),
                kind: frame.kind.clone(),
                metadata: self.metadata(frame),
                spec: Arc::clone(&spec.wire),
                status: status.as_ref().map(|status| status.status()),
            })),
            Body::Node { frame, conditions, .. } => Resource::Node(Box::new(Node {
                api_version: frame.api_version.clone(),
                kind: frame.kind.clone(),
                metadata: self.metadata(frame),
                spec: NodeSpec::default(),
                status: conditions
                    .as_ref()
                    .map(|list| NodeStatus { conditions: list.to_vec(), node_info: None }),
            })),
            Body::Whole(object) => return Cow::Borrowed(object),
        })
    }

    fn metadata(&self, frame: &Frame) -> Metadata {
        Metadata {
            name: Arc::clone(&self.name),
            namespace: frame.namespace.clone(),
            uid: self.uid.into(),
            resource_version: self.resource_version.into(),
            generation: self.generation,
            creation_timestamp: Some(self.created.into()),
            deletion_timestamp: self.deleted.map(Into::into),
            finalizers: frame.finalizers.clone(),
            labels: frame.labels.clone(),
            annotations: frame.annotations.clone(),
            spec_manager: None,
        }
    }

    /// The next version, with another status. `None` when the kind has no such status.
    pub(super) fn with_status(&self, status: Status, dictionary: &mut Dictionary) -> Option<Self> {
        let body = match (&self.body, &status) {
            (Body::Machine { frame, spec, .. }, Status::Machine(status)) => {
                StatusForm::of(status, dictionary).map(|form| Body::Machine {
                    frame: Arc::clone(frame),
                    spec: Arc::clone(spec),
                    status: Some(form),
                })
            }
            (Body::Node { frame, .. }, Status::Node(status)) if status.node_info.is_none() => {
                Some(Body::Node {
                    frame: Arc::clone(frame),
                    conditions: Some(status.conditions.as_slice().into()),
                    reading: OnceLock::new(),
                })
            }
            (_, _) => None,
        };
        if let Some(body) = body {
            return Some(Self {
                name: Arc::clone(&self.name),
                place: self.place,
                uid: self.uid,
                resource_version: self.resource_version,
                generation: self.generation,
                created: self.created,
                deleted: self.deleted,
                body,
            });
        }
        Some(Self::keep(self.shown().with_status(status)?, dictionary))
    }

    /// The components in its status; none if it is no Machine.
    #[must_use]
    pub fn component_statuses(&self) -> &[ComponentStatus] {
        match &self.body {
            Body::Machine { status, .. } => status.as_ref().map_or(&[], StatusForm::components),
            Body::Whole(resource) => {
                let Resource::Machine(machine) = &**resource else { return &[] };
                machine.status.as_ref().map_or(&[], |status| &status.components)
            }
            Body::Node { .. } => &[],
        }
    }

    /// Whether both have the same status.
    pub(super) fn has_status_of(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Body::Machine { status: one, .. }, Body::Machine { status: other, .. }) => one == other,
            (Body::Node { conditions: one, .. }, Body::Node { conditions: other, .. }) => one == other,
            (_, _) => self.shown().has_status_of(&other.shown()),
        }
    }

    /// Gives it its version.
    pub(super) fn set_resource_version(&mut self, version: u64) {
        self.resource_version = version;
        if let Body::Whole(object) = &mut self.body {
            object.metadata_mut().resource_version = version.into();
        }
    }

    /// Gives it its place.
    pub(super) const fn set_place(&mut self, place: u32) {
        self.place = place;
    }

    /// Its place in the collection: most often how many of its kind were created before it.
    #[must_use]
    pub const fn place(&self) -> u32 {
        self.place
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match &self.body {
            Body::Machine { .. } => Kind::Machine,
            Body::Node { .. } => Kind::Node,
            Body::Whole(object) => object.kind(),
        }
    }

    /// Its finalizers.
    #[must_use]
    pub fn finalizers(&self) -> &[String] {
        match &self.body {
            Body::Machine { frame, .. } | Body::Node { frame, .. } => &frame.finalizers,
            Body::Whole(object) => &object.metadata().finalizers,
        }
    }

    /// Its labels.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        match &self.body {
            Body::Machine { frame, .. } | Body::Node { frame, .. } => &frame.labels,
            Body::Whole(object) => &object.metadata().labels,
        }
    }

    /// Whether another version of it has the same labels, annotations and taints, as far as it is easily seen.
    #[must_use]
    pub(in crate::world) fn is_marked_as(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Body::Node { frame: one, .. }, Body::Node { frame: other, .. }) => Arc::ptr_eq(one, other),
            (_, _) => false,
        }
    }

    /// The generation of its spec.
    #[must_use]
    pub const fn generation(&self) -> i64 {
        self.generation
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Which incarnation of that name it is.
    #[must_use]
    pub const fn uid(&self) -> Uid {
        self.uid
    }

    /// Its version.
    #[must_use]
    pub const fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// What a write can state to mean just this version.
    #[must_use]
    pub const fn preconditions(&self) -> Preconditions {
        Preconditions { uid: Some(self.uid), resource_version: Some(self.resource_version) }
    }

    /// Whether its deletion was asked for.
    #[must_use]
    pub const fn is_terminating(&self) -> bool {
        self.deleted.is_some()
    }

    /// Its spec, if it is a Machine.
    #[must_use]
    pub fn machine_spec(&self) -> Option<&Arc<MachineSpec>> {
        match &self.body {
            Body::Machine { spec, .. } => Some(&spec.wire),
            Body::Whole(object) => {
                if let Resource::Machine(machine) = &**object {
                    Some(&machine.spec)
                } else {
                    None
                }
            }
            Body::Node { .. } => None,
        }
    }

    /// The address of the host that it means, if it is a Machine and its spec has one.
    #[must_use]
    pub fn address(&self) -> Option<Ipv4Addr> {
        match &self.body {
            Body::Machine { spec, .. } => spec.address,
            Body::Node { .. } | Body::Whole(_) => self.machine_spec()?.address.ip.parse().ok(),
        }
    }

    /// Where readers of its spec note what it means, if it is a Machine.
    pub(in crate::world) fn reading(
        &self,
    ) -> Option<&OnceLock<Parsed<seaworthy_model::machine::MachineSpec>>> {
        match &self.body {
            Body::Machine { spec, .. } => Some(&spec.reading),
            Body::Node { .. } | Body::Whole(_) => None,
        }
    }

    /// Where readers of it note what it means, if it is a Node that is kept as such.
    pub(in crate::world) fn node_reading(&self) -> Option<&OnceLock<NodeObject>> {
        match &self.body {
            Body::Node { reading, .. } => Some(reading),
            Body::Machine { .. } | Body::Whole(_) => None,
        }
    }

    /// Its spec, if it is a `MachineComponent`.
    #[must_use]
    pub fn version_spec(&self) -> Option<&MachineComponentSpec> {
        match &self.body {
            Body::Whole(object) => {
                if let Resource::MachineComponent(version) = &**object {
                    Some(&version.spec)
                } else {
                    None
                }
            }
            Body::Machine { .. } | Body::Node { .. } => None,
        }
    }

    /// What keeps pods off, if it is a Node and anything does.
    #[must_use]
    pub fn node_spec(&self) -> Option<&NodeSpec> {
        match &self.body {
            Body::Whole(object) => {
                if let Resource::Node(node) = &**object {
                    Some(&node.spec)
                } else {
                    None
                }
            }
            Body::Machine { .. } | Body::Node { .. } => None,
        }
    }

    /// The object, if it is a Lease.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        if let Resource::Lease(lease) = self.whole()? { Some(lease) } else { None }
    }

    /// The object, if it is a certificate request.
    #[must_use]
    pub fn certificate_request(&self) -> Option<&CertificateSigningRequest> {
        if let Resource::CertificateSigningRequest(request) = self.whole()? { Some(request) } else { None }
    }

    /// The object, if it is stored whole: Machines and Nodes are not.
    fn whole(&self) -> Option<&Resource> {
        match &self.body {
            Body::Whole(object) => Some(object),
            Body::Machine { .. } | Body::Node { .. } => None,
        }
    }

    /// The object, if it is a `MachineComponentSet`.
    #[must_use]
    pub fn component_set(&self) -> Option<&MachineComponentSet> {
        if let Resource::MachineComponentSet(object) = self.whole()? { Some(object) } else { None }
    }

    /// The object, if it is a `CanaryRelease`.
    #[must_use]
    pub fn canary_release(&self) -> Option<&CanaryRelease> {
        if let Resource::CanaryRelease(object) = self.whole()? { Some(object) } else { None }
    }

    /// What it wants of components, and the record of the rollouts that bring that, if it is the `ClusterPackageVersion`,
    /// a `MachineComponentSet` or a `CanaryRelease`.
    #[must_use]
    pub fn charter(&self) -> Option<(&[ComponentSetting], Option<&ClusterPackageVersionStatus>)> {
        if let Some(fleet) = self.package_version() {
            Some((&fleet.spec.components, fleet.status.as_ref()))
        } else if let Some(set) = self.component_set() {
            Some((&set.spec.components, set.status.as_ref()))
        } else {
            let canary = self.canary_release()?;
            Some((&canary.spec.components, canary.status.as_ref().map(|status| &status.record)))
        }
    }

    /// The object, if it is a `ClusterPackageVersion`.
    #[must_use]
    pub fn package_version(&self) -> Option<&ClusterPackageVersion> {
        if let Resource::ClusterPackageVersion(object) = self.whole()? { Some(object) } else { None }
    }
}

impl From<Resource> for Stored {
    /// Keeps an object by itself, outside of any store.
    fn from(object: Resource) -> Self {
        Self::keep(object, &mut Dictionary::default())
    }
}

/// Whether nothing keeps pods off a Node, and it says nothing but its health.
fn is_plain(node: &Node) -> bool {
    node.spec == NodeSpec::default() && node.status.as_ref().is_none_or(|status| status.node_info.is_none())
}

impl Body {
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other object is kept as it is")]
    fn of(object: Resource, dictionary: &mut Dictionary) -> Self {
        match object {
            Resource::Machine(machine) => {
                let Machine { api_version, kind, metadata, spec, status } = *machine;
                let form = match &status {
                    Some(status) => StatusForm::of(status, dictionary).map(Some),
                    None => Some(None),
                };
                let Some(form) = form else {
                    let machine = Machine { api_version, kind, metadata, spec, status };
                    return Self::Whole(Box::new(Resource::Machine(Box::new(machine))));
                };
                let frame = dictionary.frames.share(Frame::of(api_version, kind, metadata));
                let address = spec.address.ip.parse().ok();
                let spec = Arc::new(Spec { wire: spec, address, reading: OnceLock::new() });
                Self::Machine { frame, spec, status: form }
            }
            Resource::Node(node) if is_plain(&node) => {
                let Node { api_version, kind, metadata, spec: _, status } = *node;
                let frame = dictionary.frames.share(Frame::of(api_version, kind, metadata));
                let conditions = status.map(|status| status.conditions.into());
                Self::Node { frame, conditions, reading: OnceLock::new() }
            }
            other => Self::Whole(Box::new(other)),
        }
    }
}
