//! Observes certificate requests.

use alloc::boxed::Box;
use alloc::sync::Arc;

use seaworthy_model::certificate::CertificateRequestObject;
use seaworthy_model::id::{CertificateRequestId, MachineId};
use seaworthy_model::report::Subject;

use crate::rows::certificates::Request;
use crate::runtime::queue::Priority;
use crate::world::World;

/// Observes a certificate request, and requeues the subjects that it concerns.
pub(crate) fn observe(
    world: &mut World,
    id: CertificateRequestId,
    object: Option<Box<CertificateRequestObject>>,
) {
    if world.certificates.machines.is_none() {
        let names = (0..).map(MachineId).zip(&world.machine_names);
        let machines = names.map(|(id, name)| (Arc::clone(name), id)).collect();
        world.certificates.machines = Some(machines);
    }
    let row = world.certificates.row(id);
    let uid = |object: Option<&CertificateRequestObject>| object.map(|object| object.meta.uid);
    if uid(row.object()) != uid(object.as_deref()) {
        row.told = None;
        row.tracked.writes.forget();
    }
    let before = row.tracked.see(object);
    let now = world.certificates.request(id).and_then(Request::object);
    let machines = [before.as_deref(), now].map(|object| world.certificates.machine_of(object?));
    world.touch(Subject::CertificateRequest(id), Priority::Normal);
    for machine in machines.into_iter().flatten() {
        world.touch(Subject::Machine(machine), Priority::Normal);
    }
}
