//! Occasions that a run counts.

use serde::Deserialize;

macro_rules! occasions {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Something that may happen in a run and is counted. A scenario that never got there shows nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub enum Occasion {
            $($(#[$doc])* $name,)*
        }

        impl Occasion {
            /// Every occasion.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name of the occasion in Rust's spelling.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

occasions! {
    /// An operator process crashed.
    OperatorCrashed,
    /// An operator process was asked to stop, and ended.
    OperatorStopped,
    /// An operator process ended because a newer one had taken over.
    OperatorSteppedDown,
    /// Another operator process took the Lease.
    LeaderChanged,
    /// An operator process was suspended for a while.
    ProcessPaused,
    /// The leader could not renew the Lease in time, and started nothing until it could.
    RenewalOverdue,
    /// The reply to a committed write was lost.
    ReplyLost,
    /// A write was refused as stale.
    WriteStale,
    /// Another writer changed the object just before the operator's write arrived.
    WriteRaced,
    /// A watch delivered nothing for a while.
    WatchHeld,
    /// A watch had to list again, because the version that it asked for had been compacted.
    Relisted,
    /// A session to a host was lost.
    SessionLost,
    /// An order arrived at a host after the operator had stopped waiting for the answer.
    OrderLate,
    /// A host refused an order because it had seen a newer one.
    FenceRefused,
    /// A host refused an order because another Machine owns it.
    OwnerRefused,
    /// A host lost power or the network in the middle of an operation.
    HostLostInOperation,
    /// An operation was undone because its host had been down.
    OperationInterrupted,
    /// A host finished an operation by itself after it had been down.
    OperationResumed,
    /// The host program was killed in the middle of an operation, and its host ran on.
    ProgramKilled,
    /// Operators could not connect to a host whose kubelet was connected.
    SshLost,
    /// A kubelet could not reach the API server, and operators could connect to its host.
    KubeletCutOff,
    /// A Node was not ready although its kubelet was connected.
    NodeSick,
    /// A release that had succeeded made its Node not ready later.
    ReleaseFailedLate,
    /// A gate asked the metrics of the cluster, and they answered.
    MetricsAsked,
    /// A gate asked the metrics of the cluster, and nobody answered.
    MetricsSilent,
    /// A gate started a probe pod.
    ProbeStarted,
    /// A host began to fetch an artefact that a rollout is about to bring.
    ArtefactFetched,
    /// A host could not fetch such an artefact.
    ArtefactUnfetched,
    /// An operation rebooted its host.
    HostRebooted,
    /// A service read its configuration again, and was not restarted.
    ServiceReloaded,
    /// An operation was confirmed.
    OperationConfirmed,
    /// An operation was not confirmed in time, and its host restored the previous release.
    ConfirmationLapsed,
    /// An order did not reach its host, because the host accepts no new connections.
    HostShut,
    /// A release failed on a host.
    ReleaseFailed,
    /// The operator took over software that somebody else had installed, and the software continued to run.
    ReleaseTakenOver,
    /// Something on a host was changed by hand.
    HostSpoiled,
    /// An operation repaired a change by hand.
    HostRepaired,
    /// An operation took the last free slot of `maxUnavailable`.
    BudgetExhausted,
    /// A component was removed from a host.
    Removed,
    /// A host became unreachable: it lost power or the network.
    HostLost,
    /// A request arrived much later than usual.
    RequestLate,
    /// A request never arrived.
    RequestLost,
    /// A request was refused with 429 or 5xx, or got no answer because the API server was down.
    RequestRefused,
    /// A request arrived a second time.
    RequestRepeated,
    /// An order arrived a second time.
    OrderRepeated,
    /// A reply arrived late, after watches had shown its result.
    ReplyLate,
    /// The API server did not answer for a while.
    ApiDown,
    /// A watch was served from a stale cache.
    TimeTravelled,
    /// A watch omitted a change.
    EventLost,
    /// A Node reported a wrong condition.
    NodeLied,
    /// A host began to report what is not true.
    HostLied,
    /// A host became slow.
    HostSlowed,
    /// An operation failed because the disk was full.
    SpaceLacking,
    /// A host refused an order because another program held its lock.
    HostBusy,
    /// Another client changed the finalizers of a Machine.
    FinalizersChanged,
    /// A workload created a Machine, whether or not its name had been used before.
    MachineJoined,
    /// A workload deleted a Machine.
    MachineLeft,
    /// A workload edited a Machine.
    MachineEdited,
    /// A workload edited a set, or moved a machine to another pool.
    SetEdited,
    /// A GitOps tool restored specs that users had applied.
    EditReverted,
    /// A certificate of a node was signed.
    CertificateIssued,
    /// A host installed the certificate for its pending key.
    CertificateInstalled,
    /// A kubelet renewed its certificate.
    CertificateRenewed,
    /// A client requested a certificate under a false identity.
    ForeignRequest,
    /// A workload made another version the fleet's default.
    VersionPublished,
    /// An operator cordoned a Node.
    NodeCordoned,
    /// An operator uncordoned a Node that it had cordoned.
    NodeUncordoned,
    /// Users cordoned or uncordoned a Node.
    NodeCordonedByPeople,
    /// Another writer changed labels or taints of a Node.
    NodeRelabelled,
    /// An operator set labels or taints of a Node.
    NodeAttributesSet,
    /// An operator restored labels or taints of a Node that another writer had changed.
    NodeAttributesRepaired,
    /// A kubelet created its Node.
    NodeRegistered,
    /// A Node was deleted.
    NodeDeleted,
    /// A pod was evicted.
    PodEvicted,
    /// A pod was evicted that had taken the place of an evicted one.
    PodEvictedAgain,
    /// Users or their tools evicted or deleted a pod.
    PodTakenByPeople,
    /// A user created a pod on a Node, past the scheduler.
    PodPlacedByPeople,
    /// The pods of an app were not ready for a while, although their Nodes were.
    AppUnready,
    /// The eviction of a pod was refused, because a disruption budget did not allow it.
    EvictionRefused,
    /// The operator deleted a pod that did not leave in time.
    PodDeletedByOperator,
}
