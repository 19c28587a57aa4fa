//! Requests of an operator, as the kube adapter would send them.

use std::sync::Arc;

use seaworthy_api::object::Resource;
use seaworthy_api::request::{Precondition, Request};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::{Kind, Uid};

use super::{ApiServer, Preconditions, Status, WriteResult};

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
