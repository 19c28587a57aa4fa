//! What may happen next.

use std::time::Duration;

use seaworthy_model::host::Drift;
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;
use seaworthy_model::time::Timestamp;

/// An event of the simulated world. Small and plain: what is large waits in the mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A new operator process starts in a seat.
    Start {
        /// The seat: one per replica.
        seat: u32,
    },
    /// A letter arrives.
    Mail(u32),
    /// A process receives what its watch has for it.
    Deliver {
        /// The process.
        process: u32,
        /// The kind it watches.
        kind: Kind,
    },
    /// A process receives the list that it asked for.
    List {
        /// The process.
        process: u32,
        /// The kind it listed.
        kind: Kind,
    },
    /// A process calls `reconcile`.
    Turn {
        /// The process.
        process: u32,
        /// Void unless this is the call it waits for.
        generation: u32,
    },
    /// A process gives up the actions whose deadline has come.
    Deadline {
        /// The process.
        process: u32,
    },
    /// A step on a host ends.
    Step {
        /// The host.
        host: u32,
        /// Void unless the host is at this run.
        run: u32,
    },
    /// The Node of a host changes its condition.
    Node {
        /// The host.
        host: u32,
        /// Void unless nothing happened to the host since.
        generation: u32,
    },
    /// People do the next thing on their list.
    People(u32),
    /// Somebody else acts.
    Workload {
        /// Who.
        index: u32,
        /// Which time.
        occurrence: u32,
    },
    /// A fault strikes or ends.
    Fault(Injection),
}

/// What faults do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// A host loses its power.
    PowerOff(u32),
    /// A host gets it back.
    PowerOn(u32),
    /// A host is cut off from the network.
    Cut(u32),
    /// A host is connected again.
    Mend(u32),
    /// Something on a host changes by itself.
    Spoil(u32, Drift),
    /// Operator processes of a seat crash.
    Crash {
        /// The seat.
        seat: u32,
    },
    /// Watches of a kind deliver nothing until then.
    HoldWatch(Kind, Timestamp),
    /// Watches of a kind deliver everything so much later, until then.
    Lag {
        /// The kind.
        kind: Kind,
        /// How much later.
        lag: Duration,
        /// Until when.
        until: Timestamp,
    },
    /// Watches of a kind break, and have to list again.
    Relist(Kind),
    /// What was committed until now can not be watched any more, and every watch breaks.
    Compact,
    /// A cache of the API server keeps what it has of a kind.
    Cache(Kind),
    /// Watches of a kind are bound to a cache.
    Travel {
        /// The kind.
        kind: Kind,
        /// How old the cache is.
        since: Timestamp,
        /// Until when it stays so.
        until: Timestamp,
    },
    /// Watches may leave changes out from now on, for ever.
    Silence,
    /// The API server does not answer until then.
    ApiDown(Timestamp),
    /// The API server lets only so many requests of operators through.
    Throttle {
        /// A second, in the long run.
        per_second: u32,
        /// At once.
        burst: u32,
        /// Until when.
        until: Timestamp,
    },
    /// Nothing can be downloaded until then.
    RegistryDown(Timestamp),
    /// Another controller puts its finalizer on a Machine.
    AddFinalizer(u32),
    /// And removes it.
    DropFinalizer(u32),
    /// Somebody removes our finalizer from a Machine.
    StripFinalizer(u32),
    /// A Node says this from now on, whatever the truth is; what it says now when left out.
    Lie(u32, Option<Health>),
    /// A Node says the truth again.
    Truth(u32),
    /// Everything on a host takes so many times as long.
    Slow(u32, u16),
    /// Nothing; triggers look at the clock.
    Time,
}
