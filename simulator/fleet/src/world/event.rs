//! Events of the queue.

use seaworthy_model::id::Kind;

use crate::vocabulary::Injection;

/// An event of the simulated world. It is small, because millions are queued; large contents wait in the mail.
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
    /// A process receives the request to stop.
    Stop {
        /// The process.
        process: u32,
    },
    /// The grace period of a stopping process is over.
    Kill {
        /// The process.
        process: u32,
    },
    /// A message arrives.
    Mail(u32),
    /// A process receives the changes of its watch.
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
    /// The API servers report their versions to a process.
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
        /// The event is void if the host's run number has changed.
        run: u32,
    },
    /// A host has fetched an artefact, or could not.
    Fetched {
        /// The host.
        host: u32,
        /// The event is void if the host fetches something else by now, or nothing.
        number: u32,
    },
    /// A host that shut down for a reboot starts.
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
    /// Users act on the next moment of the timeline.
    People(u32),
    /// Users check whether the operator asks for another adoption.
    Adoption,
    /// Users check whether a gate of a rollout has failed.
    Override,
    /// Users check whether a change waits for their confirmation.
    Confirmation,
    /// A workload acts.
    Workload {
        /// Who.
        index: u32,
        /// The number of the act.
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
    /// The scheduler places it on a Node.
    Place,
    /// Its containers start.
    Start,
    /// Its containers pass their readiness probes.
    Ready,
    /// It ends.
    End,
}

impl Event {
    /// Whether the event concerns the leases of Nodes. Most such events have no observable effect.
    pub(crate) const fn is_heartbeat(&self) -> bool {
        matches!(self, Self::Renewal { .. } | Self::Expiry { .. })
    }
}

/// Millions of events are queued, so an event takes two words.
const _: () = assert!(size_of::<Event>() <= 16);
