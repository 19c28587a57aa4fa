//! What may happen in a run, and is counted.

use serde::Deserialize;

macro_rules! occasions {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Something that may happen in a run, and is counted. A scenario that never got there shows nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        pub enum Occasion {
            $($(#[$doc])* $name,)*
        }

        impl Occasion {
            /// Every occasion.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in Rust's spelling.
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
    /// An operator process was told to stop, and ended.
    OperatorStopped,
    /// An operator process ended because a newer one had taken over.
    OperatorSteppedDown,
    /// Another operator process than the one before has taken the Lease.
    LeaderChanged,
    /// An operator process stood still for a while.
    ProcessPaused,
    /// The holder of the Lease could not renew it in time, and started nothing until it could.
    RenewalOverdue,
    /// The reply to a committed write was lost.
    ReplyLost,
    /// A write was refused as stale.
    WriteStale,
    /// Another writer forestalled ours.
    WriteRaced,
    /// A watch held back what it had.
    WatchHeld,
    /// A watch had to list again, because what it asked for was compacted away.
    Relisted,
    /// A session to a host was lost.
    SessionLost,
    /// An order arrived at a host when nobody waited for it any more.
    OrderLate,
    /// A host refused an order because it had seen a newer one.
    FenceRefused,
    /// A host refused an order because another Machine owns it.
    OwnerRefused,
    /// A host lost its power, or the network, in the middle of an operation.
    HostLostInOperation,
    /// An operation was undone because the host had been down.
    OperationInterrupted,
    /// An operation was finished by the host itself after it had been down.
    OperationResumed,
    /// A host was started anew by an operation.
    HostRebooted,
    /// An operation was confirmed.
    OperationConfirmed,
    /// An operation was not confirmed in time, and its host restored itself.
    ConfirmationLapsed,
    /// An order did not get into a host that takes no new connections.
    HostShut,
    /// A release failed.
    ReleaseFailed,
    /// What somebody else had installed was taken over, and went on running.
    ReleaseTakenOver,
    /// A host was changed by hand.
    HostSpoiled,
    /// An operation repaired what was changed by hand.
    HostRepaired,
    /// The budget was used up to its limit.
    BudgetExhausted,
    /// Something was removed from a host.
    Removed,
    /// A host could not be reached any more: no power, or no network.
    HostLost,
    /// A request arrived much later than usual.
    RequestLate,
    /// A request never arrived.
    RequestLost,
    /// A request was turned away: 429, 5xx, or no answer at all.
    RequestRefused,
    /// A request arrived once more.
    RequestRepeated,
    /// An order arrived once more.
    OrderRepeated,
    /// A reply came late, after watches had shown what it says.
    ReplyLate,
    /// The API server was down.
    ApiDown,
    /// A watch was bound to a cache that was behind.
    TimeTravelled,
    /// A watch left a change out.
    EventLost,
    /// A Node said something else than the truth.
    NodeLied,
    /// A host became slow.
    HostSlowed,
    /// An operation found no room on the disk.
    SpaceLacking,
    /// A host was busy with something else.
    HostBusy,
    /// Others changed the finalizers of a Machine.
    FinalizersChanged,
    /// A Machine joined the fleet, its name having been used before or not.
    MachineJoined,
    /// The deletion of a Machine was asked for by somebody who acts all the time.
    MachineLeft,
    /// Somebody who acts all the time edited a Machine.
    MachineEdited,
    /// Somebody made specs again what had been applied.
    EditReverted,
    /// A certificate of a node was signed.
    CertificateIssued,
    /// A host took the certificate for the key that waited there.
    CertificateInstalled,
    /// A kubelet renewed its certificate by itself.
    CertificateRenewed,
    /// Somebody asked for a certificate that is not theirs.
    ForeignRequest,
    /// Another version became the fleet's default by somebody who acts all the time.
    VersionPublished,
    /// An operator cordoned a Node.
    NodeCordoned,
    /// An operator took its cordon off a Node.
    NodeUncordoned,
    /// People cordoned a Node, or lifted that.
    NodeCordonedByPeople,
    /// Others changed labels or taints of a Node.
    NodeRelabelled,
    /// An operator set labels or taints of a Node.
    NodeAttributesSet,
    /// An operator put labels or taints of a Node right that others had changed.
    NodeAttributesRepaired,
    /// A Node was deleted.
    NodeDeleted,
    /// A pod was evicted.
    PodEvicted,
    /// A pod was not evicted, because a disruption budget did not allow it.
    EvictionRefused,
}
