//! Faults as times: from when until when each acted, and on what.

use crate::faults::Fault;

use super::Millis;

/// A time in which a fault acted, or a moment at which it struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// What went wrong.
    pub kind: FaultKind,
    /// Since when.
    pub from: Millis,
    /// Until when; `from` for a moment, the end of the run for what was never taken back.
    pub until: Millis,
    /// How many machines it hit; how many times it struck, if it hits none or strikes for a moment.
    pub times: u32,
    /// Where, for people: a zone, machines, a seat, a kind of object. Empty when it is everywhere.
    pub scope: String,
    /// How, for people: how slow, how late, by how much. Empty when there is nothing to say.
    pub detail: String,
    /// The machine, if it hit one alone.
    pub host: Option<u32>,
}

/// To what a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Realm {
    /// To machines, one by one or as a failure domain.
    Machines,
    /// To the API server and to what goes there.
    ApiServer,
    /// To what operators see.
    Watches,
    /// To operators.
    Operator,
}

impl Realm {
    /// Its name, for people.
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
        /// What goes wrong, as one sees it from outside: several faults may bring the same about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// Every kind, in the order in which people are shown them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Its name, for people.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// To what it happens.
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
    /// The network does not lead to hosts.
    CutOff: Machines, "SSH unreachable";
    /// Everything on hosts takes longer.
    HostSlow: Machines, "host slow";
    /// There is no room on the disk of a host.
    DiskFull: Machines, "disk full";
    /// Something else holds the lock of a host.
    HostBusy: Machines, "host busy";
    /// A session to a host breaks.
    SessionLost: Machines, "SSH session lost";
    /// Somebody changes something on a host.
    HandEdit: Machines, "changed by hand";
    /// A Node says what is not true.
    NodeLies: Machines, "Node lies";
    /// Other controllers change finalizers of Machines.
    Finalizers: Machines, "foreign finalizers";
    /// Nothing can be downloaded.
    RegistryDown: Machines, "registry down";
    /// The API server does not answer.
    ApiDown: ApiServer, "API server down";
    /// The API server limits requests.
    ApiThrottled: ApiServer, "API server throttled";
    /// A request fails.
    ApiError: ApiServer, "API error";
    /// Another writer is faster.
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
    /// A watch breaks and lists anew.
    Relist: Watches, "watch breaks";
    /// The history is compacted, and every watch breaks.
    Compaction: Watches, "history compacted";
    /// A watch leaves a change out.
    LostEvent: Watches, "event left out";
    /// An operator process dies.
    Crash: Operator, "operator crash";
    /// An operator process stands still.
    Pause: Operator, "operator paused";
    /// The clock of an operator is wrong.
    ClockSkew: Operator, "clock skew";
}

impl FaultKind {
    /// What a fault brings about at the very point at which it strikes. Nothing, if it acts at times of its own alone
    /// or what it brings about comes later.
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
            | Fault::ApiDown(_)
            | Fault::ClockSkew(_)
            | Fault::Compaction(_)
            | Fault::DiskFull(_)
            | Fault::DomainDown(_)
            | Fault::FinalizerRace(_)
            | Fault::HandEdit(_)
            | Fault::HostDown(_)
            | Fault::HostSlow(_)
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
