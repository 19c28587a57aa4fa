//! Actions into requests to the API server, typed: the kube adapter makes HTTP of them, the simulated API server
//! executes them on its objects.
//!
//! | request | HTTP | precondition in the body |
//! |---|---|---|
//! | [`CreateLease`](Request::CreateLease) | `POST` to the collection | none: an existing one is a conflict |
//! | [`PatchLease`](Request::PatchLease) | `PATCH`, `application/merge-patch+json` | uid and resourceVersion |
//! | [`PutStatus`](Request::PutStatus) | `PUT` to `/status` | uid and resourceVersion |
//! | [`PatchFinalizers`](Request::PatchFinalizers) | `PATCH`, `application/merge-patch+json` | uid and resourceVersion |
//! | [`CreateCertificateRequest`](Request::CreateCertificateRequest), [`CreateEvent`](Request::CreateEvent) | `POST` to the collection | none: an existing one is a conflict |
//! | [`PatchApproval`](Request::PatchApproval) | `PATCH` to `/approval`, `application/merge-patch+json` | uid and resourceVersion |
//! | [`PatchNode`](Request::PatchNode) | `PATCH`, `application/json-patch+json` | uid and the fields that it touches, as `test` |
//! | [`DeleteNode`](Request::DeleteNode) | `DELETE` | uid |
//! | [`ListPods`](Request::ListPods) | `GET` with a field selector, in pages | none |
//! | [`Evict`](Request::Evict) | `POST` to `/eviction` | uid |
//! | [`DeletePod`](Request::DeletePod) | `DELETE` | uid |
//! | [`Query`](Request::Query) | `GET` to `/proxy` of a Service | none |
//! | [`StartProbe`](Request::StartProbe) | `POST` to the collection | none: an existing one is a conflict |
//! | [`ListProbes`](Request::ListProbes) | `GET` with a label selector | none |
//!
//! A precondition that does not hold is answered with 409, a `test` with 422, an object that is gone with 404; all are
//! `Stale`.
//! [`Request::http`] spells it all out.

mod attributes;
mod gate_check;
mod node;

use std::sync::Arc;

use seaworthy_model::attributes::AttributesChange;
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::gate_check::{ProbeRound, ProbeStart, Query};
use seaworthy_model::id::{Interned as _, Kind, Uid};
use seaworthy_model::node::{NodeCordon, NodeUncordon};
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::pod::PodName;
use serde::Serialize;
use serde_json::{Value, json};

use crate::names::{Names, UnknownId};
use crate::object::{
    CertificateRequestCondition, CertificateSigningRequest, Endpoint, Event, Lease, LeaseSpec, Metadata,
    Status,
};
use crate::scalar::Scalar;
use crate::v1alpha1::{HOST_ANNOTATION, LEASE, NAMESPACE};
use crate::{import, render};

pub use attributes::{read_record, record_text};
pub use gate_check::{Job, JobList, JobMetadata, JobStatus, Metrics, ProbeJob, started};
use node::delete_options;
pub use node::{
    NodeChange, NodeDeletion, NodePatch, PODS_PER_PAGE, PodDeletion, PodEviction, PodQuery, mark_text,
    read_mark,
};

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Create the operator's Lease; it must not exist.
    CreateLease(Lease),
    /// Change who holds the operator's Lease, and nothing else: annotations of people stay.
    PatchLease(LeasePatch),
    /// Replace the status of an object.
    PutStatus(StatusUpdate),
    /// Replace the finalizers of an object.
    PatchFinalizers(FinalizersPatch),
    /// Create a `CertificateSigningRequest`; it must not exist.
    CreateCertificateRequest(Box<CertificateSigningRequest>),
    /// Approve a `CertificateSigningRequest`.
    PatchApproval(ApprovalPatch),
    /// Create an Event; it must not exist.
    CreateEvent(Box<Event>),
    /// Set or lift our cordon of a Node.
    PatchNode(NodePatch),
    /// Delete a Node.
    DeleteNode(NodeDeletion),
    /// List the pods of a Node.
    ListPods(PodQuery),
    /// Evict a pod.
    Evict(PodEviction),
    /// Delete a pod.
    DeletePod(PodDeletion),
    /// Ask a Prometheus for a gate.
    Query(GateQuery),
    /// Create the Job of a probe pod; it must not exist.
    StartProbe(ProbeJob),
    /// List the Jobs of a round of probe pods.
    ListProbes(ProbeQuery),
}

/// A question that a gate asks a Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateQuery {
    /// What the rollout belongs to: kind and name.
    pub owner: (Kind, String),
    /// The question.
    pub query: Arc<Query>,
}

/// A list of the Jobs of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeQuery {
    /// What the rollout belongs to: kind and name.
    pub owner: (Kind, String),
    /// The round.
    pub round: ProbeRound,
}

/// A request as HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// The value of the header `Content-Type`.
    pub content_type: &'static str,
    /// The body: JSON; null when there is none.
    pub body: Value,
}

impl Request {
    /// The kind and the name of the object that it is about. What is about pods is about their Node.
    #[must_use]
    pub fn object(&self) -> (Kind, &str) {
        match self {
            Self::CreateLease(lease) => (Kind::Lease, &lease.metadata.name),
            Self::PatchLease(patch) => (Kind::Lease, &patch.precondition.name),
            Self::PutStatus(update) => (update.kind, &update.metadata.name),
            Self::PatchFinalizers(patch) => (patch.kind, &patch.precondition.name),
            Self::CreateCertificateRequest(request) => {
                (Kind::CertificateSigningRequest, &request.metadata.name)
            }
            Self::PatchApproval(patch) => (Kind::CertificateSigningRequest, &patch.precondition.name),
            Self::CreateEvent(event) => (Kind::Event, &event.metadata.name),
            Self::PatchNode(patch) => (Kind::Node, &patch.name),
            Self::DeleteNode(deletion) => (Kind::Node, &deletion.name),
            Self::ListPods(query) => (Kind::Node, &query.node),
            Self::Evict(eviction) => (Kind::Node, &eviction.node),
            Self::DeletePod(deletion) => (Kind::Node, &deletion.node),
            Self::Query(GateQuery { owner, .. }) | Self::ListProbes(ProbeQuery { owner, .. }) => {
                (owner.0, &owner.1)
            }
            Self::StartProbe(job) => (Kind::Node, &job.node),
        }
    }

    /// Whether it writes nothing.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self, Self::ListPods(_) | Self::Query(_) | Self::ListProbes(_))
    }

    /// The request as HTTP, with `manager` as the name under which the API server notes who owns the fields.
    #[must_use]
    pub fn http(&self, manager: &str) -> Http {
        let (kind, name) = self.object();
        let collection = Endpoint::of(kind).collection();
        let (method, path, content_type) = match self {
            Self::CreateLease(_) | Self::CreateCertificateRequest(_) | Self::CreateEvent(_) => {
                ("POST", collection, JSON)
            }
            Self::PatchApproval(_) => ("PATCH", format!("{collection}/{name}/approval"), MERGE_PATCH),
            Self::PatchLease(_) | Self::PatchFinalizers(_) => {
                ("PATCH", format!("{collection}/{name}"), MERGE_PATCH)
            }
            Self::PutStatus(_) => ("PUT", format!("{collection}/{name}/status"), JSON),
            Self::PatchNode(_) => ("PATCH", format!("{collection}/{name}"), JSON_PATCH),
            Self::DeleteNode(_) => ("DELETE", format!("{collection}/{name}"), JSON),
            Self::ListPods(query) => ("GET", query.path(""), JSON),
            Self::Evict(eviction) => ("POST", eviction.path(), JSON),
            Self::DeletePod(deletion) => ("DELETE", deletion.path(), JSON),
            Self::Query(GateQuery { query, .. }) => ("GET", gate_check::query_path(query), JSON),
            Self::StartProbe(_) => ("POST", gate_check::jobs_path(), JSON),
            Self::ListProbes(ProbeQuery { round, .. }) => ("GET", gate_check::round_path(*round), JSON),
        };
        // Who owns which field is noted of what is written as a whole.
        let path = match self {
            Self::DeleteNode(_)
            | Self::ListPods(_)
            | Self::Evict(_)
            | Self::DeletePod(_)
            | Self::Query(_)
            | Self::ListProbes(_) => path,
            Self::CreateLease(_)
            | Self::PatchLease(_)
            | Self::PutStatus(_)
            | Self::PatchFinalizers(_)
            | Self::CreateCertificateRequest(_)
            | Self::PatchApproval(_)
            | Self::CreateEvent(_)
            | Self::PatchNode(_)
            | Self::StartProbe(_) => format!("{path}?fieldManager={manager}"),
        };
        Http { method, path, content_type, body: self.body() }
    }

    fn body(&self) -> Value {
        match self {
            Self::CreateLease(lease) => json!(lease),
            Self::PatchLease(LeasePatch { precondition, spec }) => json!({
                "metadata": precondition,
                // A null in a merge patch takes the field away.
                "spec": {
                    "holderIdentity": spec.holder_identity,
                    "leaseDurationSeconds": spec.lease_duration_seconds,
                    "acquireTime": spec.acquire_time,
                    "renewTime": spec.renew_time,
                    "leaseTransitions": spec.lease_transitions,
                },
            }),
            Self::CreateCertificateRequest(request) => json!(request),
            Self::CreateEvent(event) => json!(event),
            Self::PatchApproval(ApprovalPatch { precondition, conditions }) => {
                let Precondition { uid, resource_version, .. } = precondition;
                json!({
                    "metadata": { "uid": uid, "resourceVersion": resource_version },
                    "status": { "conditions": conditions },
                })
            }
            Self::PutStatus(update) => json!(update),
            Self::PatchFinalizers(patch) => patch.body(),
            Self::PatchNode(patch) => patch.body(),
            Self::DeleteNode(deletion) => delete_options(deletion.uid),
            Self::ListPods(_) | Self::Query(_) | Self::ListProbes(_) => Value::Null,
            Self::StartProbe(job) => job.body(),
            Self::Evict(eviction) => eviction.body(),
            Self::DeletePod(deletion) => delete_options(deletion.pod.uid),
        }
    }
}

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// Which object a request means: its name, and the state of it that the request was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Precondition {
    /// Its name.
    pub name: String,
    /// Its uid: another object of the same name is not meant.
    pub uid: Scalar<Uid>,
    /// Its version: nobody has written it since.
    pub resource_version: Scalar<u64>,
}

/// A new status. The API server leaves everything but the status as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// Group and version.
    pub api_version: &'static str,
    /// The kind.
    #[serde(serialize_with = "kind_name")]
    pub kind: Kind,
    /// Which object.
    pub metadata: Precondition,
    /// Its new status.
    pub status: Status,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn kind_name<S: serde::Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// New finalizers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalizersPatch {
    /// The kind of the object.
    pub kind: Kind,
    /// Which object.
    pub precondition: Precondition,
    /// The whole new list.
    pub finalizers: Vec<String>,
    /// The new text of [`HOST_ANNOTATION`]; `None` leaves it as it is.
    pub host: Option<String>,
}

impl FinalizersPatch {
    fn body(&self) -> Value {
        let Precondition { uid, resource_version, .. } = &self.precondition;
        let finalizers = &self.finalizers;
        let mut metadata =
            json!({ "uid": uid, "resourceVersion": resource_version, "finalizers": finalizers });
        if let Some(host) = &self.host {
            metadata["annotations"] = json!({ HOST_ANNOTATION: host });
        }
        json!({ "metadata": metadata })
    }
}

/// The decision about a certificate request on which nobody has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalPatch {
    /// Which request.
    pub precondition: Precondition,
    /// All of its conditions.
    pub conditions: Vec<CertificateRequestCondition>,
}

/// New contents of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasePatch {
    /// Which Lease.
    pub precondition: Precondition,
    /// All of its new spec: what is `None` is taken away.
    pub spec: LeaseSpec,
}

/// An action that is no request to the API server, or not a sound one. Only a programming error makes one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The effect is work for the driver or for a host.
    #[error("the effect is not a request to the API server")]
    NotForTheApiServer,
    /// The effect cannot be carried out on this target under this fence.
    #[error("the effect does not fit its target {target:?} and its fence {fence:?}")]
    Unfit {
        /// The target.
        target: Target,
        /// The fence.
        fence: Fence,
    },
    /// An id stands for nothing.
    #[error(transparent)]
    UnknownId(#[from] UnknownId),
}

/// The request that carries out `action`.
///
/// # Errors
/// When the action is not a sound request to the API server.
pub fn request(action: &Action, names: &mut Names) -> Result<Request, RequestError> {
    let unfit = || RequestError::Unfit { target: action.target, fence: action.fence };
    let unchanged = |name: &str| match action.fence {
        Fence::Unchanged { uid, resource_version } => Ok(precondition(name, uid, resource_version)),
        Fence::None | Fence::Absent | Fence::Incarnation(_) | Fence::Host(_) => Err(unfit()),
    };
    match (&action.effect, action.target) {
        (Effect::Watch | Effect::Host(_), _) => Err(RequestError::NotForTheApiServer),
        (Effect::WriteLease(record), Target::Lease) => {
            let spec = render::lease(record);
            if action.fence == Fence::Absent {
                return Ok(Request::CreateLease(new_lease(spec)));
            }
            Ok(Request::PatchLease(LeasePatch { precondition: unchanged(LEASE)?, spec }))
        }
        (Effect::WriteMachineStatus(status), Target::Machine(id)) => {
            let metadata = unchanged(names.machine_name(id)?)?;
            let status = render::machine_status(status, names)?;
            Ok(status_update(metadata, Status::Machine(status)))
        }
        (Effect::WritePackageVersionStatus(status), Target::PackageVersion) => {
            let metadata = unchanged(SINGLETON)?;
            let status = render::package_version_status(status, names)?;
            Ok(status_update(metadata, Status::ClusterPackageVersion(status)))
        }
        (Effect::WriteSetStatus(status), Target::Set(id)) => {
            let metadata = unchanged(names.name(id.named())?)?;
            let status = render::package_version_status(status, names)?;
            Ok(status_update(metadata, Status::MachineComponentSet(status)))
        }
        (Effect::WriteSetStatus(status), Target::Canary(id)) => {
            let metadata = unchanged(names.name(id.named())?)?;
            let status = render::canary_status(status, names)?;
            Ok(status_update(metadata, Status::CanaryRelease(status)))
        }
        (Effect::WriteVersionStatus(status), Target::Version(id)) => {
            let metadata = unchanged(names.version_object_name(id)?)?;
            Ok(status_update(metadata, Status::MachineComponent(render::version_status(status))))
        }
        (Effect::WritePolicyStatus(status), Target::Policy(id)) => {
            let metadata = unchanged(names.name(id.named())?)?;
            Ok(status_update(metadata, Status::DisruptionPolicy(render::policy_status(status))))
        }
        (effect @ (Effect::WriteFinalizers(_) | Effect::Import(_)), target) => {
            let (kind, name) = finalized(target, names)?.ok_or_else(unfit)?;
            finalizers_patch(effect, kind, unchanged(name)?).map(Request::PatchFinalizers).ok_or_else(unfit)
        }
        (Effect::CreateCertificateRequest(new), Target::NewCertificateRequest(_)) => {
            if action.fence == Fence::Absent {
                return Ok(Request::CreateCertificateRequest(Box::new(render::certificate_request(new))));
            }
            Err(unfit())
        }
        (Effect::ApproveCertificateRequest, Target::CertificateRequest(id)) => {
            let precondition = unchanged(names.name(id.named())?)?;
            Ok(Request::PatchApproval(ApprovalPatch { precondition, conditions: vec![render::approval()] }))
        }
        (Effect::WriteEvent(note), Target::CertificateRequest(id)) if action.fence == Fence::Absent => {
            let name = names.name(id.named())?;
            Ok(Request::CreateEvent(Box::new(render::event(note, Kind::CertificateSigningRequest, name))))
        }
        (effect @ (Effect::Query(_) | Effect::ListProbes(_)), target) if action.fence == Fence::None => {
            let (kind, name) = finalized(target, names)?.ok_or_else(unfit)?;
            about_gate(effect, (kind, name.to_owned())).ok_or_else(unfit)
        }
        (effect, Target::Node(id)) => {
            about_node(effect, names.machine_name(id)?.into(), action.fence).ok_or_else(unfit)
        }
        _ => Err(unfit()),
    }
}

/// New finalizers, and what is recorded with them. `None` when the effect is another.
fn finalizers_patch(effect: &Effect, kind: Kind, precondition: Precondition) -> Option<FinalizersPatch> {
    let import = if let Effect::WriteFinalizers(finalizers) = effect {
        return Some(FinalizersPatch { kind, precondition, finalizers: finalizers.clone(), host: None });
    } else if let (Effect::Import(import), Kind::Machine) = (effect, kind) {
        import
    } else {
        return None;
    };
    let host = Some(import::text(precondition.uid.get()?, &import.identity));
    Some(FinalizersPatch { kind, precondition, finalizers: import.finalizers.clone(), host })
}

/// What a gate of an owner asks. `None` when the effect is another.
fn about_gate(effect: &Effect, owner: (Kind, String)) -> Option<Request> {
    if let Effect::Query(query) = effect {
        return Some(Request::Query(GateQuery { owner, query: Arc::clone(query) }));
    }
    let Effect::ListProbes(round) = effect else { return None };
    Some(Request::ListProbes(ProbeQuery { owner, round: *round }))
}

/// The request about a Node and what runs there. `None` when the effect is another, or its fence.
fn about_node(effect: &Effect, name: String, fence: Fence) -> Option<Request> {
    let patch = |change, uid| Some(Request::PatchNode(NodePatch { name: name.clone(), uid, change }));
    match (effect, fence) {
        (Effect::Cordon(cordon), Fence::Incarnation(uid)) => {
            patch(NodeChange::Cordon(NodeCordon::clone(cordon)), uid)
        }
        (Effect::Uncordon(uncordon), Fence::Incarnation(uid)) => {
            patch(NodeChange::Uncordon(NodeUncordon::clone(uncordon)), uid)
        }
        (Effect::WriteNodeAttributes(change), Fence::Incarnation(uid)) => {
            patch(NodeChange::Attributes(AttributesChange::clone(change)), uid)
        }
        (Effect::DeleteNode, Fence::Incarnation(uid)) => {
            Some(Request::DeleteNode(NodeDeletion { name, uid }))
        }
        (Effect::ListPods, Fence::None) => Some(Request::ListPods(PodQuery { node: name })),
        (Effect::Evict(pod), Fence::Incarnation(uid)) if uid == pod.uid => {
            Some(Request::Evict(PodEviction { node: name, pod: PodName::clone(pod) }))
        }
        (Effect::DeletePod(pod), Fence::Incarnation(uid)) if uid == pod.uid => {
            Some(Request::DeletePod(PodDeletion { node: name, pod: PodName::clone(pod) }))
        }
        (Effect::StartProbe(start), Fence::Absent) => {
            Some(Request::StartProbe(ProbeJob { node: name, start: ProbeStart::clone(start) }))
        }
        (_, _) => None,
    }
}

/// Kind and name of a target that may carry our finalizer.
fn finalized(target: Target, names: &Names) -> Result<Option<(Kind, &str)>, UnknownId> {
    let Some(kind) = target.kind().filter(|kind| kind.is_ours()) else { return Ok(None) };
    Ok(Some((kind, target.named().map_or(Ok(SINGLETON), |id| names.name(id))?)))
}

fn precondition(name: &str, uid: Uid, resource_version: u64) -> Precondition {
    Precondition { name: name.into(), uid: uid.into(), resource_version: resource_version.into() }
}

fn new_lease(spec: LeaseSpec) -> Lease {
    Lease {
        api_version: Endpoint::of(Kind::Lease).api_version.into(),
        kind: Kind::Lease.name().into(),
        metadata: Metadata { namespace: Some(NAMESPACE.into()), ..Metadata::named(LEASE) },
        spec,
        status: None,
    }
}

fn status_update(metadata: Precondition, status: Status) -> Request {
    let kind = status.kind();
    Request::PutStatus(StatusUpdate { api_version: Endpoint::of(kind).api_version, kind, metadata, status })
}
