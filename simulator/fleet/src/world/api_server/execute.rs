//! Requests of an operator, as the kube adapter would send them.

use std::borrow::Cow;
use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::object::{CertificateRequestCondition, CertificateRequestStatus, Resource};
use seaworthy_api::request::{NodeChange, NodePatch, Precondition, Request, mark_text, record_text};
use seaworthy_api::v1alpha1::HOST_ANNOTATION;
use seaworthy_api::{object, parse};
use seaworthy_kernel::Timestamp;
use seaworthy_model::attributes::{ATTRIBUTES_ANNOTATION, AttributesChange};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::node::{DRAIN_ANNOTATION, DRAIN_TAINT};

use super::{ApiServer, Preconditions, Refusal, Status, WriteResult};

/// Who the operator is to the API server.
pub(crate) const OPERATOR: &str = "system:serviceaccount:seaworthy-system:seaworthy-operator";
const OPERATOR_GROUPS: [&str; 2] = ["system:serviceaccounts", "system:authenticated"];

impl ApiServer {
    /// Executes a request.
    ///
    /// # Errors
    /// As the write that it asks for.
    pub fn execute(&mut self, request: Request, now: Timestamp) -> WriteResult {
        match request {
            Request::CreateLease(lease) => self.create(Resource::Lease(Box::new(lease)), now),
            Request::CreateCertificateRequest(mut request) => {
                request.spec.username = OPERATOR.to_owned();
                request.spec.groups = OPERATOR_GROUPS.map(str::to_owned).to_vec();
                self.create(Resource::CertificateSigningRequest(request), now)
            }
            Request::PatchApproval(patch) => {
                let object = (Kind::CertificateSigningRequest, patch.precondition.name.as_str());
                let status = self.approval(object.1, patch.conditions);
                self.update_status(object, preconditions(&patch.precondition), now, status)
            }
            Request::CreateEvent(event) => self.create(Resource::Event(event), now),
            Request::PatchLease(patch) => {
                let object = (Kind::Lease, patch.precondition.name.as_str());
                self.update(object, preconditions(&patch.precondition), now, |object| {
                    if let Resource::Lease(lease) = object {
                        lease.spec = patch.spec;
                    }
                })
            }
            Request::PutStatus(update) => {
                let object = (update.kind, update.metadata.name.as_str());
                self.update_status(object, preconditions(&update.metadata), now, update.status)
            }
            Request::PatchFinalizers(patch) => {
                let object = (patch.kind, patch.precondition.name.as_str());
                self.update(object, preconditions(&patch.precondition), now, |object| {
                    let metadata = object.metadata_mut();
                    metadata.finalizers = Arc::new(patch.finalizers);
                    if let Some(host) = patch.host {
                        metadata.annotations.insert(HOST_ANNOTATION.to_owned(), host);
                    }
                })
            }
            Request::PatchNode(patch) => self.patch_node(patch, now),
            Request::DeleteNode(deletion) => {
                let preconditions = Preconditions { uid: Some(deletion.uid), resource_version: None };
                self.delete((Kind::Node, &deletion.name), preconditions, now)
            }
            // Pods and Jobs are not objects of this store, and others answer for a Service.
            Request::ListPods(_)
            | Request::Evict(_)
            | Request::DeletePod(_)
            | Request::Query(_)
            | Request::StartProbe(_)
            | Request::ListProbes(_) => Err(Refusal::NotFound),
        }
    }
}

impl ApiServer {
    /// The status of a certificate request with other conditions, as its approver writes them.
    pub(super) fn approval(&self, name: &str, conditions: Vec<CertificateRequestCondition>) -> Status {
        let present = self.get(Kind::CertificateSigningRequest, name);
        let status = present.and_then(|stored| stored.certificate_request()?.status.as_ref());
        let certificate = status.map(|status| status.certificate.clone()).unwrap_or_default();
        Status::CertificateSigningRequest(CertificateRequestStatus { conditions, certificate })
    }

    /// A JSON patch of a Node, whose tests are that it looks as it did.
    fn patch_node(&mut self, patch: NodePatch, now: Timestamp) -> WriteResult {
        let present = self.get(Kind::Node, &patch.name).ok_or(Refusal::NotFound)?;
        let shown = present.shown();
        let Resource::Node(node) = &*shown else { return Err(Refusal::NotFound) };
        let read = parse::node(node, &mut Names::new()).ok().map(|(_, read)| read);
        let holds = read.is_some_and(|read| {
            let shape = match &patch.change {
                NodeChange::Cordon(cordon) => &cordon.shape,
                NodeChange::Uncordon(uncordon) => &uncordon.shape,
                NodeChange::Attributes(change) => return read.uid == patch.uid && holds(node, change),
            };
            read.uid == patch.uid && read.state.shape() == *shape
        });
        if !holds {
            return Err(Refusal::TestFailed);
        }
        self.update((Kind::Node, &patch.name), Preconditions::default(), now, |object| {
            if let Resource::Node(node) = object {
                apply(node, &patch.change);
            }
        })
    }
}

fn apply(node: &mut object::Node, change: &NodeChange) {
    let annotations = &mut node.metadata.annotations;
    match change {
        NodeChange::Cordon(cordon) => {
            node.spec.unschedulable = true;
            if cordon.shape.taint.is_none() {
                let (key, effect) = (DRAIN_TAINT.into(), "NoSchedule".into());
                node.spec.taints.push(object::Taint { key, effect, ..object::Taint::default() });
            }
            annotations.insert(DRAIN_ANNOTATION.to_owned(), mark_text(&cordon.mark));
        }
        NodeChange::Uncordon(uncordon) => {
            node.spec.taints.retain(|taint| taint.key != DRAIN_TAINT);
            node.spec.unschedulable &= !uncordon.makes_schedulable();
            annotations.remove(DRAIN_ANNOTATION);
        }
        NodeChange::Attributes(change) => apply_attributes(node, change),
    }
}

/// Whether what a change of labels and taints touches is as it was seen.
fn holds(node: &object::Node, change: &AttributesChange) -> bool {
    let object::Metadata { labels, annotations, .. } = &node.metadata;
    let record = annotations.get(ATTRIBUTES_ANNOTATION).map(String::as_str);
    let comes = change.labels.iter().any(|label| label.to.is_some());
    let taint_comes = change.taints.iter().any(|taint| taint.from.is_none());
    record == change.record.as_deref()
        && (change.has_annotations || annotations.is_empty())
        && (change.has_labels || !comes || labels.is_empty())
        && (change.has_taints || !taint_comes || node.spec.taints.is_empty())
        && change
            .labels
            .iter()
            .all(|label| labels.get(&*label.key).map(String::as_str) == label.from.as_deref())
        && change.taints.iter().all(|taint| {
            taint.from.as_ref().is_none_or(|(place, value)| {
                let there = node.spec.taints.get(*place as usize);
                there.is_some_and(|there| {
                    *there.key == *taint.key && there.effect == taint.effect.name() && *there.value == **value
                })
            })
        })
}

fn apply_attributes(node: &mut object::Node, change: &AttributesChange) {
    let object::Metadata { labels, annotations, .. } = &mut node.metadata;
    if change.applied.is_empty() {
        annotations.remove(ATTRIBUTES_ANNOTATION);
    } else {
        annotations.insert(ATTRIBUTES_ANNOTATION.to_owned(), record_text(&change.applied, change.order));
    }
    for label in &change.labels {
        match &label.to {
            Some(value) => labels.insert(label.key.to_string(), value.to_string()),
            None => labels.remove(&*label.key),
        };
    }
    let taints = &mut node.spec.taints;
    for taint in &change.taints {
        let (key, effect) = (taint.key.to_string(), taint.effect.name());
        let is_it = |there: &object::Taint| *there.key == *key && there.effect == effect;
        let value = taint.to.as_ref().map(|value| Cow::<'static, str>::Owned(value.to_string()));
        match (&taint.from, value) {
            (Some(_), Some(value)) => {
                taints.iter_mut().filter(|there| is_it(there)).for_each(|there| there.value = value.clone());
            }
            (Some(_), None) => taints.retain(|there| !is_it(there)),
            // No test can exclude that another writer has added such an entry meanwhile. Then the object is not valid.
            (None, Some(value)) => {
                taints.push(object::Taint { key: key.into(), value, effect: effect.into(), time_added: None })
            }
            (None, None) => {}
        }
    }
}

/// What a request requires of the object that it writes. `None` if it writes no object that exists.
pub(in crate::world) fn required(request: &Request) -> Option<Preconditions> {
    let of_uid = |uid| Preconditions { uid: Some(uid), resource_version: None };
    match request {
        Request::PatchApproval(patch) => Some(preconditions(&patch.precondition)),
        Request::PatchLease(patch) => Some(preconditions(&patch.precondition)),
        Request::PutStatus(update) => Some(preconditions(&update.metadata)),
        Request::PatchFinalizers(patch) => Some(preconditions(&patch.precondition)),
        Request::PatchNode(patch) => Some(of_uid(patch.uid)),
        Request::DeleteNode(deletion) => Some(of_uid(deletion.uid)),
        Request::CreateLease(_)
        | Request::CreateCertificateRequest(_)
        | Request::CreateEvent(_)
        | Request::ListPods(_)
        | Request::Evict(_)
        | Request::DeletePod(_)
        | Request::Query(_)
        | Request::StartProbe(_)
        | Request::ListProbes(_) => None,
    }
}

/// A uid or a version that cannot be read names no state of any object: it holds for none.
fn preconditions(stated: &Precondition) -> Preconditions {
    Preconditions {
        uid: Some(stated.uid.get().unwrap_or(Uid(0))),
        resource_version: Some(stated.resource_version.get().unwrap_or(0)),
    }
}

/// What a write means to the operator that asked for it.
pub(in crate::world) fn outcome(result: WriteResult) -> Outcome {
    match result {
        Ok(written) => {
            let resource_version = written.object.resource_version();
            Outcome::Done(Receipt::Written { resource_version })
        }
        Err(Refusal::AlreadyExists | Refusal::NotFound | Refusal::Conflict(_) | Refusal::TestFailed) => {
            Outcome::Stale
        }
        Err(Refusal::Invalid(invalid)) => {
            let detail = format!("{}: {}", invalid.field, invalid.message);
            Outcome::Refused(Cause::new(CauseKind::ApiRefused, detail))
        }
    }
}
