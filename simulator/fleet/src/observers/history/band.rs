//! Faults as bands of time: when each acted, and on what.

use crate::faults::Fault;

use super::Millis;

/// A time in which a fault acted, or a moment at which it struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The start of the time.
    pub from: Millis,
    /// The end; `from` for a moment, the end of the run if the fault was never reverted.
    pub until: Millis,
    /// The number of machines that the fault hit, or of strikes if the fault hits no machine or strikes for a moment.
    pub times: u32,
    /// The scope of the fault, for display: a zone, machines, a seat, a kind of object. Empty for the whole fleet.
    pub scope: String,
    /// Details for display: how slow, how late, by how much. May be empty.
    pub detail: String,
    /// The machine, if the fault hit only one.
    pub host: Option<u32>,
}

/// What a fault acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Realm {
    /// Machines, one by one or as a failure domain.
    Machines,
    /// The API server and the messages to it.
    ApiServer,
    /// The watches of operators.
    Watches,
    /// Operator processes.
    Operator,
}

impl Realm {
    /// Its name, for display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Machines => "machines",
            Self::ApiServer => "API server",
            Self::Watches => "watches",
            Self::Operator => "operator",
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $realm:ident, $name:literal;)*) => {
        /// What goes wrong, as seen from outside. Several faults may have the same effect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// Every kind, in display order.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Its name, for display.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// What the kind acts on.
            #[must_use]
            pub const fn realm(self) -> Realm {
                match self {
                    $(Self::$kind => Realm::$realm,)*
                }
            }
        }
    };
}

kinds! {
    /// Zones or racks lose their power or the network as one.
    DomainLost: Machines, "zone/rack lost";
    /// Hosts have no power.
    PowerLost: Machines, "power lost";
    /// Hosts are cut off from the network.
    CutOff: Machines, "SSH unreachable";
    /// Kubelets cannot reach the API server, and operators can reach their hosts.
    KubeletCut: Machines, "kubelet cut off";
    /// Nodes are not ready.
    NodeSick: Machines, "Node not ready";
    /// The host program is killed.
    ProgramKilled: Machines, "host program killed";
    /// Everything on hosts takes longer.
    HostSlow: Machines, "host slow";
    /// The disk of a host is full.
    DiskFull: Machines, "disk full";
    /// Another program holds the lock of a host.
    HostBusy: Machines, "host busy";
    /// A session to a host breaks.
    SessionLost: Machines, "SSH session lost";
    /// A user changes something on a host by hand.
    HandEdit: Machines, "changed by hand";
    /// A Node reports a wrong condition.
    NodeLies: Machines, "Node lies";
    /// A host reports what is not true.
    HostLies: Machines, "host lies";
    /// Other controllers change finalizers of Machines.
    Finalizers: Machines, "foreign finalizers";
    /// Nothing can be downloaded.
    RegistryDown: Machines, "registry down";
    /// The metrics of the cluster cannot be asked.
    MetricsDown: Machines, "metrics down";
    /// The API server does not answer.
    ApiDown: ApiServer, "API server down";
    /// The API server limits requests.
    ApiThrottled: ApiServer, "API server throttled";
    /// A request fails.
    ApiError: ApiServer, "API error";
    /// Another writer changes the object first.
    Conflict: ApiServer, "conflict";
    /// The reply to a request that was executed is lost.
    LostReply: ApiServer, "reply lost";
    /// A reply comes late.
    SlowReply: ApiServer, "reply late";
    /// A request arrives late.
    LateRequest: ApiServer, "request late";
    /// A request or an order arrives twice.
    Duplicate: ApiServer, "sent twice";
    /// Watches deliver nothing.
    WatchHeld: Watches, "watch silent";
    /// Watches deliver late.
    WatchLate: Watches, "watch late";
    /// Watches are served from an old cache.
    TimeTravel: Watches, "time travel";
    /// A watch breaks and lists again.
    Relist: Watches, "watch breaks";
    /// The history is compacted, and every watch breaks.
    Compaction: Watches, "history compacted";
    /// A watch omits a change.
    LostEvent: Watches, "event left out";
    /// An operator process dies.
    Crash: Operator, "operator crash";
    /// An operator process is suspended.
    Pause: Operator, "operator paused";
    /// The clock of an operator is wrong.
    ClockSkew: Operator, "clock skew";
}

impl FaultKind {
    /// The effect of a fault at the very point at which it strikes. `None` if the fault acts only at times of its own,
    /// or if its effect comes later.
    pub(super) const fn at_a_point(fault: &Fault) -> Option<Self> {
        Some(match fault {
            Fault::ApiError(_) => Self::ApiError,
            Fault::Conflict(_) => Self::Conflict,
            Fault::Duplicate(_) => Self::Duplicate,
            Fault::HostBusy(_) => Self::HostBusy,
            Fault::LateRequest(_) => Self::LateRequest,
            Fault::LostEvent(_) => Self::LostEvent,
            Fault::LostReply(_) => Self::LostReply,
            Fault::OperatorCrash(_) => Self::Crash,
            Fault::SessionLost(_) => Self::SessionLost,
            Fault::SlowReply(_) => Self::SlowReply,
            Fault::HostBreaks(_)
            | Fault::LateFailure(_)
            | Fault::NodeFlaps(_)
            | Fault::ProgramKilled(_)
            | Fault::ApiDown(_)
            | Fault::ClockSkew(_)
            | Fault::Compaction(_)
            | Fault::DiskFull(_)
            | Fault::DomainDown(_)
            | Fault::FinalizerRace(_)
            | Fault::HandEdit(_)
            | Fault::HostDown(_)
            | Fault::HostLies(_)
            | Fault::HostSlow(_)
            | Fault::MetricsDown(_)
            | Fault::NodeLies(_)
            | Fault::OutOfOrder(_)
            | Fault::ProcessPause(_)
            | Fault::RegistryDown(_)
            | Fault::StaleWatch(_)
            | Fault::Throttle(_)
            | Fault::TimeTravel(_)
            | Fault::Unobserved(_) => return None,
        })
    }
}
