//! The identity of a node: before a component that needs one is changed, the host gets a certificate of that node. It
//! gets another one if kubelet has not renewed it in time.

use crate::world::World;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::certificate::{
    Certificate, NewCertificateRequest, NodeIdentity, PendingRequest, RequestState, Signer, Usages,
    request_name,
};
use seaworthy_model::detail::{Detail, IdentityFlaw};
use seaworthy_model::digest::Digest;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::Owner;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::Reason;
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use super::status::Verdict;
use super::step::Step;
use crate::domains::draft::Draft;
use crate::rows::machine::key;
use crate::rows::note::MachineNote as Note;
use crate::rows::ticket::Ticket;
use crate::runtime::retry::{Retry, Terms};
use crate::world::index::resolution::{Aim, Origin, targets};

/// A wait for a certificate that takes longer is reported.
const PATIENCE: Duration = Duration::from_secs(60);
/// The request is created again after this time, if the watch does not show it: somebody may have deleted it.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// The request is created again after this time also if it seems to be there: kube-controller-manager deletes a request an
/// hour after its approval, so the watch may have missed its end.
const GONE_AFTER: Duration = Duration::from_secs(3600 + 60);

/// How long a certificate is left alone that had expired, or nearly, when we asked for it: our clock or the signer's is
/// wrong by more than the life of a certificate, and a new one would be no better.
const LEFT_ALONE: Duration = Duration::from_secs(300);
/// "Nearly expired": it would have to be replaced by the time it is on the host.
const NEARLY: Duration = Duration::from_secs(60);

/// The next step towards an identity.
enum Lack {
    /// The host has to be read: the last read is older than the time at which the certificate is due for renewal.
    Reading,
    /// A key has to be created on the host.
    Key { replaces: Option<Digest> },
    /// The request has to be created as an object.
    Request(PendingRequest),
    /// The certificate has to be issued.
    Issue,
    /// The request was denied, or could not be signed.
    Grant,
    /// The certificate has to be installed on the host.
    Installation(Arc<str>),
    /// The host has the identity of another node.
    Freedom(Option<Arc<Detail>>),
}

impl<'w> Step<'w> {
    /// The identity that a host must keep valid, once it has one: that of the first target component which needs one.
    pub(super) fn node_identity(self) -> Option<&'w NodeIdentity> {
        self.machine.host.facts.as_ref()?.identity.as_ref()?;
        targets(self.world, self.machine).find_map(|target| {
            let version = match target.aim {
                Aim::Set(want) => want.version()?,
                Aim::Keep => self.machine.reported(target.component)?.version,
            };
            self.world.version_spec(version)?.node_identity.as_ref()
        })
    }

    /// The identity that a machine will need in the end, even if a rollout has not admitted it yet.
    fn identity_to_come(self) -> Option<&'w NodeIdentity> {
        targets(self.world, self.machine).find_map(|target| {
            let want = match (target.aim, target.origin) {
                (Aim::Set(want), _) => want,
                (Aim::Keep, Origin::Rollout(index)) => self.world.fleet.rollouts[index].record.target(),
                (Aim::Keep, Origin::Pin | Origin::Left(_) | Origin::Nobody) => return None,
            };
            self.world.version_spec(want.version()?)?.node_identity.as_ref()
        })
    }

    /// When we have to renew the certificate on the host, unless kubelet has done so: then the host is read.
    pub(super) fn renewal_due(self, now: Timestamp) -> Option<Timestamp> {
        let wanted = self.node_identity()?;
        let known = self.machine.host.facts.as_ref()?.identity.as_ref()?;
        let due = due(wanted, known.certificate.as_ref()?);
        let pause = self.left_alone_until(due, now).filter(|_| known.pending.is_none());
        Some(pause.map_or(due, |until| due.max(until)))
    }

    /// Until when a certificate that is due at `due` is left alone, if it was nearly expired when we asked for it.
    fn left_alone_until(self, due: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let asked = self.world.certificates.last_asked(self.machine.id).filter(|asked| *asked <= now)?;
        Some(asked + LEFT_ALONE).filter(|until| due < asked + NEARLY && now < *until)
    }

    /// Waits if the certificate on the host has expired but is left alone: no component that needs one is installed
    /// meanwhile.
    pub(super) fn awaits_better_identity(self, draft: &mut Draft<'_>) -> bool {
        let known = self.machine.host.facts.as_ref().and_then(|facts| facts.identity.as_ref());
        let present = known.and_then(|known| known.certificate.as_ref());
        let is_over = present.is_some_and(|present| present.not_after <= draft.now);
        if is_over {
            self.await_certificate(draft);
        }
        is_over
    }

    /// Whether the host is, or may be, a node of somebody else: that is found out before the first change of any
    /// component. If so, takes the next step.
    pub(super) fn may_be_of_others(self, draft: &mut Draft<'_>) -> bool {
        let ours = Owner::Machine(self.object.meta.uid);
        if self.machine.host.facts.as_ref().is_none_or(|facts| facts.owner == ours) {
            return false;
        }
        let Some(wanted) = self.identity_to_come() else { return false };
        let is_open = match self.lack(wanted, draft.now) {
            Some(Lack::Key { replaces }) => replaces.is_none(),
            Some(Lack::Freedom(_)) => true,
            Some(Lack::Reading | Lack::Request(_) | Lack::Issue | Lack::Grant | Lack::Installation(_))
            | None => false,
        };
        is_open && self.obtain_identity(draft, wanted)
    }

    /// Takes the next step towards an identity. False when no step is left.
    pub(super) fn obtain_identity(self, draft: &mut Draft<'_>, wanted: &NodeIdentity) -> bool {
        let Some(lack) = self.lack(wanted, draft.now) else { return false };
        match lack {
            Lack::Reading => self.order_host(draft, HostCommand::Facts),
            Lack::Key { replaces } => {
                let path = Arc::clone(&wanted.path);
                let command = HostCommand::RequestCertificate { path, replaces };
                self.order_host(draft, command);
            }
            Lack::Request(pending) => self.request(draft, &pending),
            Lack::Issue => self.await_certificate(draft),
            Lack::Grant => {
                let verdict = Verdict::out_of_sync(Reason::CertificateDenied).unfinished();
                self.yield_for(draft, Blocker::CertificateDenied);
                self.tell(draft, &verdict, Blocker::CertificateDenied);
            }
            Lack::Installation(certificate) => {
                let path = Arc::clone(&wanted.path);
                let command = HostCommand::InstallCertificate { path, certificate };
                self.order_host(draft, command);
            }
            Lack::Freedom(whose) => {
                self.note(draft, Note::Block(Blocker::ForeignIdentity));
                let verdict = Verdict::out_of_sync(Reason::ForeignIdentity).with(whose).unfinished();
                self.tell(draft, &verdict, Blocker::ForeignIdentity);
            }
        }
        true
    }

    fn lack(self, wanted: &NodeIdentity, now: Timestamp) -> Option<Lack> {
        let facts = self.machine.host.facts.as_ref()?;
        let known = facts.identity.as_deref().filter(|known| known.path == wanted.path);
        let Some(known) = known else { return Some(Lack::Key { replaces: None }) };
        if let Some(whose) = known.certificate.as_ref().and_then(|found| self.foreign(found)) {
            return Some(Lack::Freedom(whose));
        }
        if let Some(due) = known.certificate.as_ref().map(|present| due(wanted, present)) {
            if now < due || (known.pending.is_none() && self.left_alone_until(due, now).is_some()) {
                return None;
            }
            if self.machine.progress.contact.read_at < due {
                return Some(Lack::Reading);
            }
        }
        let Some(pending) = &known.pending else {
            let replaces = known.certificate.as_ref().map(|present| present.key);
            return Some(Lack::Key { replaces });
        };
        let name = request_name(self.world.machine_name(self.machine.id), pending.key);
        let asked = self.world.certificates.asked_at(self.machine.id, pending.key);
        let Some(request) = self.world.certificates.object_named(&name) else {
            let is_recent = asked.is_some_and(|at| now < at + ASK_AGAIN);
            return Some(if is_recent { Lack::Issue } else { Lack::Request(pending.clone()) });
        };
        Some(match &request.state {
            RequestState::Pending | RequestState::Approved(_) => match asked {
                Some(at) if at + GONE_AFTER <= now => Lack::Request(pending.clone()),
                Some(_) | None => Lack::Issue,
            },
            RequestState::Denied | RequestState::Failed => Lack::Grant,
            RequestState::Issued(_, certificate) => Lack::Installation(Arc::clone(certificate)),
        })
    }

    /// The owner of the identity on the host, if it is not this machine. An identity that we found there counts as ours
    /// only if the cluster has the Node.
    fn foreign(self, present: &Certificate) -> Option<Option<Arc<Detail>>> {
        let name = self.world.machine_name(self.machine.id);
        if !present.is_of_node(name) {
            return Some(Detail::reported(&present.common_name));
        }
        let facts = self.machine.host.facts.as_ref()?;
        let is_ours = facts.owner == Owner::Machine(self.object.meta.uid);
        let is_node = self.machine.node.is_some();
        let authority = self.world.certificates.authority;
        // On a host of ours, the authority may have been replaced, or the Node deleted; hardly both.
        if authority.is_some_and(|authority| authority != present.issuer) && !(is_ours && is_node) {
            return Some(flawed(present, IdentityFlaw::Authority));
        }
        (!is_ours && !is_node).then(|| flawed(present, IdentityFlaw::NoNode))
    }

    fn request(self, draft: &mut Draft<'_>, pending: &PendingRequest) {
        let new = NewCertificateRequest {
            name: request_name(self.world.machine_name(self.machine.id), pending.key),
            signer: Signer::KubeletClient,
            usages: Usages::NODE_CLIENT,
            request: Arc::clone(&pending.request),
        };
        self.note(draft, Note::Asked(pending.key));
        let target = Target::NewCertificateRequest(self.machine.id);
        let effect = Effect::CreateCertificateRequest(Box::new(new));
        draft.order(target, Fence::Absent, effect, Ticket::Ask);
    }

    /// Gives a grant back, since the machine cannot be worked on for a while.
    fn yield_for(self, draft: &mut Draft<'_>, blocker: Blocker) {
        if self.machine.is_granted() {
            self.note(draft, Note::Block(blocker));
        }
    }

    /// Waits. A long wait is reported, and gives the grant back.
    fn await_certificate(self, draft: &mut Draft<'_>) {
        let pending =
            self.machine.host.facts.as_ref().and_then(|facts| facts.identity.as_ref()?.pending.as_ref());
        let asked =
            pending.and_then(|pending| self.world.certificates.asked_at(self.machine.id, pending.key));
        if let Some(pending) = pending.filter(|_| asked.is_none()) {
            // A leader before us asked for it. From now on we count for how long it has not been there.
            self.note(draft, Note::Asked(pending.key));
        }
        match asked.map(|at| at + PATIENCE).filter(|until| draft.now < *until) {
            Some(until) => {
                draft.wake_at(until.min(draft.now + ASK_AGAIN), WakeReason::BackOff);
                draft.wait(Blocker::AwaitingCertificate);
            }
            None => {
                draft.wake_at(draft.now + PATIENCE, WakeReason::BackOff);
                self.yield_for(draft, Blocker::AwaitingCertificate);
                let verdict = Verdict::out_of_sync(Reason::AwaitingCertificate).unfinished();
                self.tell(draft, &verdict, Blocker::AwaitingCertificate);
            }
        }
    }
}

fn flawed(present: &Certificate, flaw: IdentityFlaw) -> Option<Arc<Detail>> {
    let common_name = Arc::clone(&present.common_name);
    Some(Arc::new(Detail::ForeignIdentity { common_name, flaw }))
}

/// When a certificate is replaced, unless kubelet has renewed it.
fn due(wanted: &NodeIdentity, present: &Certificate) -> Timestamp {
    let life = present.not_after.since(present.not_before);
    present.not_after - wanted.renew_before.unwrap_or(life / 20).min(life)
}

/// Settles the creation of a machine's own request. The watch will show whether the request exists; only a certain
/// failure is retried before that.
pub(super) fn finish_ask(world: &mut World, id: MachineId, outcome: &Outcome, terms: &Terms<'_>) {
    let now = world.now;
    let failed = matches!(outcome, Outcome::Retryable(_) | Outcome::Refused(_));
    if failed {
        world.certificates.asked.remove(&id);
    }
    world.note(id, |progress| {
        progress.writes.action = None;
        if failed {
            terms.back_off(&mut progress.writes.retry, now, key(id));
        } else {
            progress.writes.retry = Retry::default();
        }
    });
}
