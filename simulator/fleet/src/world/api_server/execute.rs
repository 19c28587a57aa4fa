//! Requests of an operator, as the kube adapter would send them.

use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::request::{NodeChange, NodePatch, Precondition, Request, mark_text};
use seaworthy_api::{object, parse};
use seaworthy_kernel::Timestamp;
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
                let status = Status::Approval(patch.conditions);
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
            Request::PutMachineStatus(update) => {
                let object = (Kind::Machine, update.metadata.name.as_str());
                self.update_status(
                    object,
                    preconditions(&update.metadata),
                    now,
                    Status::Machine(update.status),
                )
            }
            Request::PutPackageVersionStatus(update) => {
                let object = (Kind::ClusterPackageVersion, update.metadata.name.as_str());
                let status = Status::PackageVersion(update.status);
                self.update_status(object, preconditions(&update.metadata), now, status)
            }
            Request::PatchFinalizers(patch) => {
                let object = (patch.kind, patch.precondition.name.as_str());
                self.update(object, preconditions(&patch.precondition), now, |object| {
                    object.metadata_mut().finalizers = Arc::new(patch.finalizers);
                })
            }
            Request::PatchNode(patch) => self.patch_node(patch, now),
            Request::DeleteNode(deletion) => {
                let preconditions = Preconditions { uid: Some(deletion.uid), resource_version: None };
                self.delete((Kind::Node, &deletion.name), preconditions, now)
            }
            // Pods are not objects of this store.
            Request::ListPods(_) | Request::Evict(_) => Err(Refusal::NotFound),
        }
    }
}

impl ApiServer {
    /// A JSON patch of a Node, whose tests are that it looks as it did.
    fn patch_node(&mut self, patch: NodePatch, now: Timestamp) -> WriteResult {
        let present = self.get(Kind::Node, &patch.name).ok_or(Refusal::NotFound)?;
        let Resource::Node(node) = present.resource() else { return Err(Refusal::NotFound) };
        let read = parse::node(&node, &mut Names::new()).ok().map(|(_, read)| read);
        let shape = match &patch.change {
            NodeChange::Cordon(cordon) => &cordon.shape,
            NodeChange::Uncordon(uncordon) => &uncordon.shape,
        };
        let holds = read.is_some_and(|read| read.uid == patch.uid && read.state.shape() == *shape);
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
    }
}

/// A uid or a version that cannot be read names no state of any object: it holds for none.
fn preconditions(stated: &Precondition) -> Preconditions {
    Preconditions {
        uid: Some(stated.uid.get().unwrap_or(Uid(0))),
        resource_version: Some(stated.resource_version.get().unwrap_or(0)),
    }
}
