//! What may happen next.

use seaworthy_model::id::Kind;

use crate::vocabulary::Injection;

/// An event of the simulated world. Small and plain: what is large waits in the mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A new operator process starts in a seat.
    Start {
        /// The seat: one per replica.
        seat: u32,
    },
    /// From now on another build of the operator runs in a seat.
    Replace {
        /// The seat.
        seat: u32,
    },
    /// A process is told to stop.
    Stop {
        /// The process.
        process: u32,
    },
    /// A process that was told to stop waits no longer.
    Kill {
        /// The process.
        process: u32,
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
    /// The API servers have told a process their versions.
    Versions {
        /// The process.
        process: u32,
    },
    /// A process calls `reconcile`, if it still wants to.
    Turn {
        /// The process.
        process: u32,
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
    /// A host that shut itself down to be started anew starts.
    Boot(u32),
    /// A kubelet renews the lease of its Node.
    Renewal {
        /// The host.
        host: u32,
    },
    /// The lease of a Node may have run out.
    Expiry {
        /// The host.
        host: u32,
    },
    /// People do the next thing on their list.
    People(u32),
    /// People look whether the operator asks for another adoption.
    Adoption,
    /// Somebody else acts.
    Workload {
        /// Who.
        index: u32,
        /// Which time.
        occurrence: u32,
    },
    /// Something is due about the certificate of a node.
    Certificate(u32),
    /// Something happens to a pod.
    Pod {
        /// The pod.
        pod: u32,
        /// What.
        step: PodStep,
    },
    /// A fault strikes or ends.
    Fault(Box<Injection>),
}

/// What happens to a pod next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodStep {
    /// It is placed on a Node.
    Place,
    /// It becomes ready.
    Ready,
    /// It ends.
    End,
}

impl Event {
    /// Whether it is of the leases of Nodes. Most such events change nothing that anybody could observe.
    pub(crate) const fn is_heartbeat(&self) -> bool {
        matches!(self, Self::Renewal { .. } | Self::Expiry { .. })
    }
}

/// Millions of them are scheduled: two words.
const _: () = assert!(size_of::<Event>() <= 16);
