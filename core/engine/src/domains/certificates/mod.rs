//! Approves certificate requests of kubelets: our own request if its key waits on the host of that machine, and a
//! node's request for itself. Every other request stays pending, and an Event reports why.

mod finish;
mod observe;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::net::IpAddr;
use core::time::Duration;

use seaworthy_model::certificate::{
    Approval, CertificateRequestObject, EventNote, HostIdentity, NODE_PREFIX, NODES_GROUP, Refusal,
    RequestContent, RequestState, Signer, Usages, is_node_subject, request_name,
};
use seaworthy_model::effect::{ActionId, Effect, Fence, Target};
use seaworthy_model::host::Owner;
use seaworthy_model::id::{CertificateRequestId, MachineId, StoreId};
use seaworthy_model::meta::Meta;
use seaworthy_model::report::{Blocker, Subject, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::domains::draft::{Draft, write};
use crate::rows::machine::Machine;
use crate::rows::note::CertificatesNote;
use crate::rows::ticket::Ticket;
use crate::runtime::queue::Priority;
use crate::world::World;

/// How often a request is reconciled while it waits for its host to be read.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

pub(super) use finish::finish;
pub(super) use observe::observe;

/// A write about a request is ordered.
pub(super) fn start(world: &mut World, id: CertificateRequestId, action: ActionId) {
    world.certificates.row(id).tracked.writes.action = Some(action);
}

/// Applies a note of a decision.
pub(super) fn remember(world: &mut World, note: CertificatesNote) {
    let now = world.now();
    match note {
        CertificatesNote::Approve(machine) => world.certificates.note_approval(machine, now),
        CertificatesNote::Doubt(machine, request) => world.certificates.note_waiting(machine, request),
        CertificatesNote::Read(machine, request) => {
            world.certificates.note_waiting(machine, request);
            world.note(machine, |progress| progress.contact.stale = true);
            world.touch(Subject::Machine(machine), Priority::Normal);
        }
    }
}

/// A new epoch begins.
pub(super) fn begin_epoch(world: &mut World) {
    world.certificates.begin_epoch();
}

/// Forgets the awaited echoes: a store is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    if store == StoreId::HOME {
        world.certificates.unsync();
    }
}

pub(super) fn reconcile(world: &World, id: CertificateRequestId, draft: &mut Draft<'_>) {
    let Some(request) = world.certificates.request(id) else { return };
    let Some(object) = draft.ready(&request.tracked) else { return };
    if let Some(blocker) = world.gate(StoreId::HOME) {
        return draft.wait(blocker);
    }
    let judgement = match object.state {
        RequestState::Pending => judge(world, id, object, draft.now),
        RequestState::Approved(Approval::Automatic) | RequestState::Issued(Approval::Automatic, _) => {
            Err(Judgement::Refused(Refusal::ApprovedAutomatically))
        }
        RequestState::Approved(_)
        | RequestState::Issued(..)
        | RequestState::Denied
        | RequestState::Failed => return,
    };
    match judgement {
        Ok(machine) => {
            draft.note(CertificatesNote::Approve(machine));
            approve(draft, id, &object.meta);
        }
        Err(Judgement::Unread(machine)) => {
            draft.note(CertificatesNote::Read(machine, id));
            draft.wake_at(draft.now + LOOK_AGAIN, WakeReason::BackOff);
            draft.wait(Blocker::HostNotRead);
        }
        Err(Judgement::Refused(refusal)) => {
            if refusal == Refusal::TooMany
                && let Some(until) = until(world, object, draft.now)
            {
                draft.wake_at(until, WakeReason::BackOff);
            }
            if let (Refusal::NoIdentity | Refusal::Key, Some(machine)) =
                (refusal, world.certificates.machine_of(object))
            {
                draft.note(CertificatesNote::Doubt(machine, id));
            }
            if request.told == Some(refusal) {
                return draft.wait(Blocker::NotApproved(refusal));
            }
            tell(draft, id, object, (refusal, &world.leadership.holder));
        }
    }
}

fn approve(draft: &mut Draft<'_>, id: CertificateRequestId, meta: &Meta) {
    write(draft, Target::CertificateRequest(id), meta, Effect::ApproveCertificateRequest);
}

/// Reports why a request is not approved: once, even across operators.
fn tell(
    draft: &mut Draft<'_>,
    id: CertificateRequestId,
    object: &CertificateRequestObject,
    (reason, reporter): (Refusal, &str),
) {
    let asked = match &object.content {
        Ok(content) => Ok(Arc::clone(&content.common_name)),
        Err(why) => Err(why.clone()),
    };
    let note = EventNote {
        uid: object.meta.uid,
        reason,
        username: Arc::clone(&object.username),
        asked,
        at: draft.now,
        reporter: reporter.into(),
    };
    let effect = Effect::WriteEvent(Box::new(note));
    draft.order(Target::CertificateRequest(id), Fence::Absent, effect, Ticket::Tell(reason));
}

fn until(world: &World, object: &CertificateRequestObject, now: Timestamp) -> Option<Timestamp> {
    world.certificates.exhausted_until(world.certificates.machine_of(object)?, now)
}

/// Why a request is not approved.
enum Judgement {
    /// It cannot be judged before this machine's host is read.
    Unread(MachineId),
    Refused(Refusal),
}

impl From<Refusal> for Judgement {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The machine of a request, if the request is to be approved.
fn judge(
    world: &World,
    id: CertificateRequestId,
    object: &CertificateRequestObject,
    now: Timestamp,
) -> Result<MachineId, Judgement> {
    let content = object.content.as_ref().map_err(|_| Refusal::Unreadable)?;
    let node = content.common_name.strip_prefix(NODE_PREFIX).ok_or(Refusal::Subject)?;
    let is_subject = is_node_subject(&content.common_name, &content.organizations, node);
    require(is_subject && content.other_names == 0, Refusal::Subject)?;
    let machine = world.certificates.machine_named(node).ok_or(Refusal::NoMachine)?;
    let row = world.machine(machine);
    require(row.is_live(), Refusal::NoMachine)?;
    let is_by_node = object.username.strip_prefix(NODE_PREFIX) == Some(node)
        && object.groups.iter().any(|group| **group == *NODES_GROUP);
    let is_client = object.signer == Signer::KubeletClient;
    require(usages_fit(object.usages, object.signer, is_by_node), Refusal::KeyUsages)?;
    require(is_client || is_by_node, Refusal::Requester)?;
    require(addresses_fit(row, node, content, object.signer), Refusal::Addresses)?;
    let is_ours = world.certificates.name(id) == request_name(node, content.key);
    require(is_by_node || is_ours, Refusal::Requester)?;
    let identity = identity(row).map_err(|unread| {
        if unread { Judgement::Unread(machine) } else { Judgement::Refused(Refusal::NoIdentity) }
    })?;
    if !is_by_node {
        let is_reported = identity.pending.as_ref().is_some_and(|pending| pending.key == content.key);
        require(is_reported, Refusal::Key)?;
        return Ok(machine);
    }
    let is_known = identity.certificate.as_ref().is_some_and(|certificate| certificate.is_of_node(node));
    require(is_known, Refusal::NoIdentity)?;
    require(world.certificates.exhausted_until(machine, now).is_none(), Refusal::TooMany)?;
    Ok(machine)
}

fn require(holds: bool, otherwise: Refusal) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// The identity that the host of a machine has reported in this epoch, if we manage the host. An error of `true` means
/// that the host is yet to be read.
fn identity(machine: &Machine) -> Result<&HostIdentity, bool> {
    let Some(facts) = &machine.host.facts else { return Err(true) };
    let is_ours = machine.uid().is_some_and(|uid| facts.owner == Owner::Machine(uid));
    facts.identity.as_deref().filter(|_| is_ours).ok_or(machine.progress.contact.stale)
}

/// Our own request has exactly the usages that we ask for; kubelet may add the one for RSA keys.
fn usages_fit(usages: Usages, signer: Signer, is_by_node: bool) -> bool {
    let purpose = match signer {
        Signer::KubeletClient => Usages::CLIENT_AUTH,
        Signer::KubeletServing => Usages::SERVER_AUTH,
    };
    let needed = Usages::DIGITAL_SIGNATURE.with(purpose);
    usages == needed || (is_by_node && usages == needed.with(Usages::KEY_ENCIPHERMENT))
}

/// A client certificate has no addresses. A serving certificate has some, all of them the machine's own.
fn addresses_fit(machine: &Machine, node: &str, content: &RequestContent, signer: Signer) -> bool {
    let RequestContent { dns_names, ip_addresses, other_addresses, .. } = content;
    if *other_addresses > 0 {
        return false;
    }
    if signer == Signer::KubeletClient {
        return dns_names.is_empty() && ip_addresses.is_empty();
    }
    let Some(address) = machine.spec().map(|spec| &spec.connection.address) else { return false };
    let is_name = |name: &Arc<str>| **name == *node || (!name.is_empty() && *name == address.hostname);
    let own: Option<IpAddr> = address.ip.parse().ok();
    let is_address = |ip: &Arc<str>| own.is_some() && ip.parse().ok() == own;
    let some = !dns_names.is_empty() || !ip_addresses.is_empty();
    some && dns_names.iter().all(is_name) && ip_addresses.iter().all(is_address)
}
