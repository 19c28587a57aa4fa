//! What an action in flight does: for settling its end, and for the counters.

use seaworthy_model::certificate::Refusal;
use seaworthy_model::gate_check::GateCheck;
use seaworthy_model::host::{Change, OperationId};
use seaworthy_model::host_order::{HostCommand, HostCommandKind};
use seaworthy_model::id::{ComponentId, MachineId, StoreId, VersionId};
use seaworthy_model::machine::Installed;

use crate::runtime::under_way;

/// An action that was ordered and has not ended.
pub(crate) type InFlight = under_way::InFlight<Ticket>;

/// The actions that have not ended.
pub(crate) type UnderWay = under_way::UnderWay<Ticket>;

/// The party that carries an action out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The API server.
    Api,
    /// A host, in a session.
    Host,
    /// The driver itself.
    Driver,
}

/// What an action in flight does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// Makes the driver list and watch a store.
    Watch(StoreId),
    /// Writes the object of its subject.
    Write,
    /// Asks something of a host.
    Host(HostTicket),
    /// Changes a Node, or what runs there.
    Node(NodeTicket),
    /// Creates a certificate request.
    Ask,
    /// Reports in an Event why a certificate request is not approved.
    Tell(Refusal),
    /// Asks what a gate needs to know besides the machines.
    Check(CheckTicket),
}

/// What is asked of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTicket {
    /// To change a component: the operation, the component, and what is installed.
    Change(OperationId, ComponentId, Option<Installed>),
    /// To fetch the artefact of a version.
    Fetch(VersionId),
    /// Any other command.
    Command(HostCommandKind),
}

impl HostTicket {
    /// Which command it is.
    #[must_use]
    pub const fn kind(self) -> HostCommandKind {
        match self {
            Self::Change(..) => HostCommandKind::Apply,
            Self::Fetch(_) => HostCommandKind::Fetch,
            Self::Command(kind) => kind,
        }
    }
}

/// What a gate asks for the rollout of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckTicket {
    /// How many series its query gives.
    Query(ComponentId),
    /// Starts a probe pod on a machine.
    StartProbe(ComponentId, MachineId),
    /// Which probe pods have started.
    ListProbes(ComponentId),
}

impl CheckTicket {
    /// The component.
    #[must_use]
    pub const fn component(self) -> ComponentId {
        match self {
            Self::Query(component) | Self::StartProbe(component, _) | Self::ListProbes(component) => {
                component
            }
        }
    }

    /// What it belongs to.
    pub(crate) const fn check(self) -> GateCheck {
        match self {
            Self::Query(_) => GateCheck::Query,
            Self::StartProbe(..) | Self::ListProbes(_) => GateCheck::ProbePods,
        }
    }
}

/// What is done to a Node, or to what runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTicket {
    /// Cordons it.
    Cordon,
    /// Uncordons it.
    Uncordon,
    /// Changes its labels and taints.
    Attributes {
        /// Whether another agent had changed what is ours.
        is_repair: bool,
    },
    /// Deletes it.
    Delete,
    /// Lists its pods. The number is the order of the mark that was observed on it before, if any.
    ListPods(Option<u64>),
    /// Evicts a pod.
    Evict,
}

impl Ticket {
    /// The party that carries it out.
    #[must_use]
    pub const fn lane(self) -> Lane {
        match self {
            Self::Host(_) => Lane::Host,
            Self::Watch(_) => Lane::Driver,
            Self::Write | Self::Node(_) | Self::Ask | Self::Tell(_) | Self::Check(_) => Lane::Api,
        }
    }

    /// The command of a host, if it is one.
    #[must_use]
    pub const fn host_command(self) -> Option<HostCommandKind> {
        match self {
            Self::Host(ticket) => Some(ticket.kind()),
            Self::Watch(_) | Self::Write | Self::Node(_) | Self::Ask | Self::Tell(_) | Self::Check(_) => None,
        }
    }

    /// Whether it occupies a session to a host.
    #[must_use]
    pub const fn is_session(self) -> bool {
        matches!(self.lane(), Lane::Host)
    }

    /// Whether it changes a component of a host.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Host(HostTicket::Change(..)))
    }

    /// Whether it is about a Node or what runs there.
    #[must_use]
    pub const fn is_about_node(self) -> bool {
        matches!(self, Self::Node(_))
    }
}

impl From<&HostCommand> for HostTicket {
    /// The only place that maps host commands to tickets.
    fn from(command: &HostCommand) -> Self {
        if let HostCommand::Fetch { version, .. } = command {
            return Self::Fetch(*version);
        }
        let HostCommand::Apply(operation) = command else { return Self::Command(command.kind()) };
        let installs = match &operation.change {
            Change::Remove => None,
            Change::Install(release) => Some(Installed { version: release.version, release: release.id }),
        };
        Self::Change(operation.id, operation.component, installs)
    }
}
