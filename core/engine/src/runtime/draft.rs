//! The draft of one subject's decision: what a controller writes into, and the engine then puts into effect.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::attributes::AttributesChange;
use seaworthy_model::certificate::{CertificateRequestObject, EventNote, NewCertificateRequest, Refusal};
use seaworthy_model::config::Config;
use seaworthy_model::digest::Digest;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::{Effect, Fence, Target};
use seaworthy_model::host::{Change, Connection, HostCommand, HostFence, HostOrder, Operation, OperationId};
use seaworthy_model::id::{CertificateRequestId, ComponentId, MachineId};
use seaworthy_model::lease::{Epoch, LeaseRecord};
use seaworthy_model::machine::{HostKeyPolicy, Installed, MachineStatus};
use seaworthy_model::meta::Meta;
use seaworthy_model::node::{NodeCordon, NodeUncordon};
use seaworthy_model::package_version::PackageVersionStatus;
use seaworthy_model::pod::PodName;
use seaworthy_model::report::{Blocker, WakeReason};
use seaworthy_model::time::Timestamp;

use crate::rows::machine::Machine;
use crate::world::{InFlightKind, World};

/// A decision about one subject. At most one action, since the next one depends on how it ends.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) config: &'a Config,
    pub(crate) seed: Seed,
    pub(crate) now: Timestamp,
    pub(crate) order: Option<Order>,
    pub(crate) blocker: Option<Blocker>,
    pub(crate) wake: Option<(Timestamp, WakeReason)>,
    pub(crate) notes: Vec<Note>,
}

/// An action that has no number yet.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) target: Target,
    pub(crate) fence: Fence,
    pub(crate) deadline: Timestamp,
    pub(crate) effect: Effect,
    pub(crate) kind: InFlightKind,
}

/// What the engine is to remember about a machine besides the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It gives up its reservation.
    Park,
    /// It takes a reservation: it was admitted before, and there is room for it.
    Reserve,
    /// It cannot be worked on until something changes.
    Block(Blocker),
    /// Nothing stands in its way any more.
    Unblock,
    /// It waits for nothing but a slot.
    WaitForSlot,
    /// It waits for nothing but a session.
    WaitForSession,
    /// It waits until the fleet's rollouts or its pause change.
    WaitForFleet,
    /// Its drain waits until another Node takes pods, or none is being emptied any more.
    WaitForNode,
    /// Its next audit is due then.
    Audit(Timestamp),
    /// Its Node is not drained before this time.
    DrainRests(Timestamp),
    /// The drain of its Node has gone through so many of the pods.
    Passed(usize),
    /// Nothing is left of the drain of its Node.
    DrainOver,
    /// A batch could be admitted, but is small; since then, or no longer.
    SmallBatch(Option<Timestamp>),
    /// The operator's Lease went away.
    LeaseLost,
    /// The write of the Lease that was ordered gives us this epoch, or none that we do not have already.
    Taking(Option<Epoch>),
    /// The Lease was let go.
    Released,
    /// What was listed counts no more.
    Unsync,
    /// What was listed is too old for what is to be decided.
    ListAnew,
    /// The certificate request for this key was created.
    Asked(Digest),
    /// A request of this machine's node was approved.
    Approve(MachineId),
    /// This machine's host is to be read.
    Reread(MachineId),
}

impl<'a> Draft<'a> {
    /// Nothing is decided yet. Notes are kept in `notes`, which is empty.
    pub(crate) const fn new(config: &'a Config, seed: Seed, now: Timestamp, notes: Vec<Note>) -> Self {
        Self { config, seed, now, order: None, blocker: None, wake: None, notes }
    }

    pub(crate) const fn wait(&mut self, blocker: Blocker) {
        self.blocker = Some(blocker);
    }

    /// Waits for something that only matters if nothing else is waited for: that may be what it comes from.
    pub(crate) fn wait_as_well(&mut self, blocker: Blocker) {
        self.blocker.get_or_insert(blocker);
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    pub(crate) fn wake_at(&mut self, at: Timestamp, reason: WakeReason) {
        self.wake = Some(self.wake.map_or((at, reason), |present| present.min((at, reason))));
    }

    /// Waits out a back-off.
    pub(crate) fn back_off(&mut self, until: Timestamp) {
        self.wait(Blocker::BackOff { until });
        self.wake_at(until, WakeReason::BackOff);
    }

    pub(crate) fn watch(&mut self) {
        self.note(Note::Unsync);
        self.order(Target::Driver, Fence::None, Effect::Watch, InFlightKind::Watch);
    }

    /// Writes the Lease, or gives the write up before it keeps the next try from coming in time.
    pub(crate) fn write_lease(&mut self, fence: Fence, record: LeaseRecord) {
        let patience = if record.is_renewal() { self.config.retry_period } else { self.config.api_deadline };
        self.order(Target::Lease, fence, Effect::WriteLease(record), InFlightKind::Write);
        if let Some(order) = &mut self.order {
            order.deadline = self.now + patience.min(self.config.api_deadline);
        }
    }

    pub(crate) fn write_finalizers(&mut self, target: Target, meta: &Meta, finalizers: Vec<String>) {
        self.order(target, unchanged(meta), Effect::WriteFinalizers(finalizers), InFlightKind::Write);
    }

    pub(crate) fn write_machine_status(&mut self, id: MachineId, meta: &Meta, status: MachineStatus) {
        let effect = Effect::WriteMachineStatus(Box::new(status));
        self.order(Target::Machine(id), unchanged(meta), effect, InFlightKind::Write);
    }

    pub(crate) fn write_package_version_status(&mut self, meta: &Meta, status: PackageVersionStatus) {
        let effect = Effect::WritePackageVersionStatus(Box::new(status));
        self.order(Target::PackageVersion, unchanged(meta), effect, InFlightKind::Write);
    }

    /// Creates the certificate request that a machine's host has made.
    pub(crate) fn create_request(&mut self, machine: MachineId, new: Box<NewCertificateRequest>) {
        let (target, effect) =
            (Target::NewCertificateRequest(machine), Effect::CreateCertificateRequest(new));
        self.order(target, Fence::Absent, effect, InFlightKind::Ask);
    }

    pub(crate) fn approve(&mut self, id: CertificateRequestId, meta: &Meta) {
        let (target, effect) = (Target::CertificateRequest(id), Effect::ApproveCertificateRequest);
        self.order(target, unchanged(meta), effect, InFlightKind::Write);
    }

    /// Tells people why a request is not approved: once, whoever the operator is.
    pub(crate) fn tell(
        &mut self,
        id: CertificateRequestId,
        object: &CertificateRequestObject,
        reason: Refusal,
        reporter: &str,
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
            at: self.now,
            reporter: reporter.into(),
        };
        let effect = Effect::WriteEvent(Box::new(note));
        self.order(Target::CertificateRequest(id), Fence::Absent, effect, InFlightKind::Tell(reason));
    }

    fn order(&mut self, target: Target, fence: Fence, effect: Effect, kind: InFlightKind) {
        let deadline = self.now + self.config.api_deadline;
        self.order = Some(Order { target, fence, deadline, effect, kind });
    }

    /// Orders something of a machine's Node, or of what runs there.
    pub(crate) fn order_node(&mut self, world: &World, machine: &Machine, work: NodeWork) {
        let Some(node) = world.node_uid(machine.id) else { return };
        let (fence, effect, kind) = match work {
            NodeWork::Cordon(cordon) => {
                (Fence::Incarnation(node), Effect::Cordon(cordon), InFlightKind::Cordon)
            }
            NodeWork::Uncordon(uncordon) => {
                (Fence::Incarnation(node), Effect::Uncordon(uncordon), InFlightKind::Uncordon)
            }
            NodeWork::Attributes(change) => {
                let kind = InFlightKind::Attributes { is_repair: change.is_repair };
                (Fence::Incarnation(node), Effect::WriteNodeAttributes(change), kind)
            }
            NodeWork::Delete => (Fence::Incarnation(node), Effect::DeleteNode, InFlightKind::DeleteNode),
            NodeWork::ListPods(under) => (Fence::None, Effect::ListPods, InFlightKind::ListPods(under)),
            NodeWork::Evict(pod) => (Fence::Incarnation(pod.uid), Effect::Evict(pod), InFlightKind::Evict),
        };
        self.order(Target::Node(machine.id), fence, effect, kind);
    }

    /// Orders something from a host, if a session is free.
    pub(crate) fn order_host(&mut self, world: &World, machine: &Machine, work: HostWork) {
        let (Some(epoch), Some(uid)) = (world.leadership.epoch, machine.uid()) else {
            return self.wait(Blocker::NotLeading);
        };
        let Some(connection) = connection(machine) else { return self.wait(Blocker::InvalidSpec) };
        if world.sessions() >= self.config.host_sessions_max {
            self.note(Note::WaitForSession);
            return self.wait(Blocker::SessionLimit);
        }
        let generation = machine.object.as_ref().map_or(0, |object| object.meta.generation);
        let sequence = world.leadership.sequence + 1;
        let id = OperationId { epoch, sequence };
        let (command, kind, allowance) = match work {
            HostWork::Read => (HostCommand::Facts, InFlightKind::Read, self.config.read_deadline),
            HostWork::Probe(operation) => {
                (HostCommand::Status(operation), InFlightKind::Probe(operation), self.config.read_deadline)
            }
            HostWork::Confirm(operation, allowance) => {
                (HostCommand::Confirm(operation), InFlightKind::Confirm(operation), allowance)
            }
            HostWork::Disown => (HostCommand::Disown, InFlightKind::Disown, self.config.read_deadline),
            HostWork::RequestCertificate { path, replaces } => {
                let command = HostCommand::RequestCertificate { path, replaces };
                (command, InFlightKind::Identify, self.config.read_deadline)
            }
            HostWork::InstallCertificate { path, certificate } => {
                let command = HostCommand::InstallCertificate { path, certificate };
                (command, InFlightKind::Certify, self.config.read_deadline)
            }
            HostWork::Change { component, change } => {
                let (installs, allowance) = weigh(&change, self.config);
                let operation = Operation { id, generation, component, change };
                let kind = InFlightKind::Change(id, component, installs);
                (HostCommand::Apply(Box::new(operation)), kind, allowance)
            }
        };
        self.order = Some(Order {
            target: Target::Host(machine.id),
            fence: Fence::Host(HostFence { machine: uid, epoch, sequence }),
            deadline: self.now + allowance,
            effect: Effect::Host(HostOrder { connection, command }),
            kind,
        });
    }
}

/// What may be ordered of a Node and what runs there.
#[derive(Clone, Debug)]
pub(crate) enum NodeWork {
    Cordon(Box<NodeCordon>),
    Uncordon(Box<NodeUncordon>),
    Attributes(Box<AttributesChange>),
    Delete,
    ListPods(Option<u64>),
    Evict(Box<PodName>),
}

/// What may be ordered from a host.
#[derive(Clone, Debug)]
pub(crate) enum HostWork {
    Read,
    Probe(OperationId),
    /// And how long that may take.
    Confirm(OperationId, Duration),
    Disown,
    RequestCertificate {
        path: Arc<str>,
        replaces: Option<Digest>,
    },
    InstallCertificate {
        path: Arc<str>,
        certificate: Arc<str>,
    },
    Change {
        component: ComponentId,
        change: Change,
    },
}

/// What a change installs, and how long it may take.
fn weigh(change: &Change, config: &Config) -> (Option<Installed>, Duration) {
    match change {
        Change::Remove => (None, config.apply_deadline),
        Change::Install(release) => {
            let probe = release.recipe.content.probe.as_ref();
            let seconds = probe.map_or(0, |probe| u64::from(probe.deadline_seconds));
            // Twice: the previous release is probed as well when it has to be restored.
            let probing = Duration::from_secs(2 * seconds);
            let installs = Installed { version: release.version, release: release.id };
            (Some(installs), config.apply_deadline + probing)
        }
    }
}

const fn unchanged(meta: &Meta) -> Fence {
    Fence::Unchanged { uid: meta.uid, resource_version: meta.resource_version }
}

/// How to reach a machine: as its spec says, with the key that was trusted on first use.
fn connection(machine: &Machine) -> Option<Arc<Connection>> {
    let wanted = &machine.spec()?.connection;
    // Who has no recorded key is most machines: then what the spec says of keys need not be looked at.
    let recorded =
        machine.object.as_ref()?.status.identity.as_ref().and_then(|known| known.host_key.as_ref());
    let trusted = recorded
        .filter(|_| wanted.host_keys.is_empty() && wanted.host_key_policy == HostKeyPolicy::TrustOnFirstUse);
    let Some(trusted) = trusted else { return Some(Arc::clone(wanted)) };
    Some(Arc::new(Connection { host_keys: [Arc::clone(trusted)].into(), ..Connection::clone(wanted) }))
}
