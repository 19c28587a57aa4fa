//! Ways to break the engine on purpose, so that tests can prove that checks and simulator notice. Without the feature
//! `sabotage`, which nothing but tests turns on, no switch exists: `World::is_sabotaged` is the constant `false`.
//!
//! Each is a mistake that somebody could make, in one place, and it breaks one rule of the engine.

use seaworthy_model::host::{Drift, InstalledComponent};
use seaworthy_model::machine::Installed;

use crate::world::{InFlightKind, Machine};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sabotage {
    /// The budget: `maxUnavailable` is not looked at.
    BudgetUnchecked,
    /// The budget: one more than `maxUnavailable` may be started.
    BudgetOffByOne,
    /// The budget: a batch is larger by one than there are slots.
    BatchOffByOne,
    /// The budget: a repair takes no slot.
    RepairWithoutSlot,
    /// The budget: a host that does not answer gives up its slot at once, in the middle of its operation.
    SilenceFreesSlot,
    /// The budget: machines that became unavailable by themselves do not count.
    LossesUncounted,
    /// The budget: what a predecessor may have started does not count.
    PredecessorUncounted,
    /// `maxFailures` is not looked at.
    FailuresUnchecked,
    /// One more than `maxFailures` may fail.
    FailuresOffByOne,
    /// A machine on which the release failed counts as done.
    FailureIsSuccess,
    /// A release that is in its place counts as done before it was probed.
    SwappedIsDone,
    /// Who catches up does not look at how many may fail.
    CatchUpUnlimited,
    /// Whoever catches up empties its Node without a reservation.
    CatchUpUnreserved,
    /// The pods of a Node are listed for a drain for which there is no slot.
    ListedWithoutSlot,
    /// A release that failed on a machine is tried again and again.
    FailedRetried,
    /// That a release failed is kept in memory only.
    FailureUnrecorded,
    /// A change is started before anything recorded leaves it open.
    ChangeUnforeseen,
    /// A change is started on a machine that nothing holds when it is deleted.
    FinalizerMissing,
    /// A new default is taken up while machines are at work on the one before.
    SupersededAtOnce,
    /// A write does not say which version of the object it was made for.
    FenceDropped,
    /// Orders to hosts are not numbered.
    SequenceStuck,
    /// Whoever takes the Lease over keeps its epoch.
    EpochNotRaised,
    /// Operations of one epoch have one name.
    OperationIdReused,
    /// An operator goes on when another one has taken the Lease.
    SuccessorIgnored,
    /// What an older cache shows replaces what was seen already. The one that is not in `ALL`: no invariant has to see it, and
    /// the swarm does not find it. A picture that is behind is what an operator has to bear at any time, and this one lasts
    /// until the object is seen anew: a write made of it is refused by its fence, and what is ordered of a host is what was wished
    /// for until lately. Not to go back in time spares such tries; that no harm is done rests on the fences.
    OutdatedAccepted,
    /// What nobody mentions is removed.
    AbsenceRemoves,
    /// A Machine is let go before its software is gone.
    FinalizerEarly,
    /// With our finalizer go those of others.
    ForeignFinalizersDropped,
    /// A Machine is let go before its host is given up.
    HostNotGivenUp,
    /// A version is let go although machines have it.
    VersionLetGo,
    /// That nobody uses a version that was deleted is believed of the cache.
    CacheBelieved,
    /// That a Machine is being deleted is not looked at.
    DeletionIgnored,
    /// Decisions are made before everything was listed.
    ActsUnsynced,
    /// That a Machine is paused is not looked at.
    MachinePauseIgnored,
    /// That the fleet is paused is not looked at.
    FleetPauseIgnored,
    /// A host that belongs to another Machine is worked on.
    DuplicateHostIgnored,
    /// A host that is another than the recorded one is worked on.
    IdentityUnpinned,
    /// That hosts or machines remember operators which the store does not know is not looked at.
    RegressIgnored,
    /// A pin counts for nothing where the fleet has a default.
    PinIgnored,
    /// An operation whose end is not known counts as done.
    UnknownIsSuccess,
    /// An operation whose end is not known counts as failed, and is ordered anew.
    UnknownIsFailure,
    /// Nothing is looked at again because time has passed.
    TimersLost,
    /// What failed is tried again without a pause.
    BackOffMissing,
    /// What somebody else changes again and again is repaired as often.
    RepairsUnlimited,
    /// No host is looked at unless something calls for it.
    AuditsMissing,
    /// What a component depends on is not looked at when it is installed.
    DependencyIgnored,
    /// What depends on a component is not looked at when it is removed.
    DependentIgnored,
    /// Rules about versions are not looked at.
    SkewUnchecked,
    /// The rules of what is there about what comes are not looked at.
    SkewOneSided,
    /// What meets on the way from the old versions to the new ones is not looked at.
    SkewOnTheWay,
    /// Of several API servers only the newest counts.
    OldApiServerForgotten,
    /// A status is written whether it says something new or not.
    StatusEveryTurn,
    /// A component is installed before its node has an identity.
    IdentityNotAwaited,
    /// The identity of another node, or of one of another cluster, counts as that of the machine.
    ForeignIdentityTaken,
    /// A certificate request is approved whatever key it is for.
    KeyUnchecked,
    /// A certificate request is approved whoever has created it.
    RequesterUnchecked,
    /// A certificate request is approved whatever groups it asks for.
    SubjectUnchecked,
    /// Pods are not asked to leave before work that they do not outlive.
    DrainSkipped,
    /// A pod that was asked to leave counts as gone.
    EvictedIsGone,
    /// Pods that nobody makes again are evicted like all others.
    LossAllowed,
    /// That a Node was cordoned by somebody else before is not noted.
    CordonUnowned,
    /// A Node that somebody else has cordoned is uncordoned with ours.
    ForeignCordonLifted,
    /// Our cordon stays when there is nothing more to do.
    CordonLeft,
    /// A mark is relied on though it was ordered to be taken off.
    LiftedMarkTrusted,
    /// A label or taint of a Node that somebody else has set otherwise is set as ours.
    ForeignAttributeTaken,
    /// Labels and taints of a Node that are not wanted any more stay there.
    AttributeLeft,
    /// What others change among our labels and taints of a Node stays changed.
    AttributeDriftIgnored,
    /// The last Node that takes pods is emptied while others are.
    LastNodeEmptied,
}

#[cfg(feature = "sabotage")]
impl Sabotage {
    /// Every one that an invariant sees: all but [`Self::OutdatedAccepted`].
    pub const ALL: &[Self] = &[
        Self::BudgetUnchecked,
        Self::BudgetOffByOne,
        Self::BatchOffByOne,
        Self::RepairWithoutSlot,
        Self::SilenceFreesSlot,
        Self::LossesUncounted,
        Self::PredecessorUncounted,
        Self::FailuresUnchecked,
        Self::FailuresOffByOne,
        Self::FailureIsSuccess,
        Self::SwappedIsDone,
        Self::CatchUpUnlimited,
        Self::CatchUpUnreserved,
        Self::ListedWithoutSlot,
        Self::FailedRetried,
        Self::FailureUnrecorded,
        Self::ChangeUnforeseen,
        Self::FinalizerMissing,
        Self::SupersededAtOnce,
        Self::FenceDropped,
        Self::SequenceStuck,
        Self::EpochNotRaised,
        Self::OperationIdReused,
        Self::SuccessorIgnored,
        Self::AbsenceRemoves,
        Self::FinalizerEarly,
        Self::ForeignFinalizersDropped,
        Self::HostNotGivenUp,
        Self::VersionLetGo,
        Self::CacheBelieved,
        Self::DeletionIgnored,
        Self::ActsUnsynced,
        Self::DuplicateHostIgnored,
        Self::IdentityUnpinned,
        Self::RegressIgnored,
        Self::PinIgnored,
        Self::UnknownIsSuccess,
        Self::UnknownIsFailure,
        Self::TimersLost,
        Self::BackOffMissing,
        Self::RepairsUnlimited,
        Self::AuditsMissing,
        Self::DependencyIgnored,
        Self::DependentIgnored,
        Self::SkewUnchecked,
        Self::SkewOneSided,
        Self::SkewOnTheWay,
        Self::OldApiServerForgotten,
        Self::StatusEveryTurn,
        Self::MachinePauseIgnored,
        Self::FleetPauseIgnored,
        Self::IdentityNotAwaited,
        Self::ForeignIdentityTaken,
        Self::KeyUnchecked,
        Self::RequesterUnchecked,
        Self::SubjectUnchecked,
        Self::DrainSkipped,
        Self::EvictedIsGone,
        Self::LossAllowed,
        Self::CordonUnowned,
        Self::ForeignCordonLifted,
        Self::CordonLeft,
        Self::LiftedMarkTrusted,
        Self::ForeignAttributeTaken,
        Self::AttributeLeft,
        Self::AttributeDriftIgnored,
        Self::LastNodeEmptied,
    ];
}

/// Takes an order for settled of which nothing was heard.
pub(crate) fn presume(machine: &mut Machine, kind: InFlightKind, succeeded: bool) {
    machine.uncertain = None;
    let InFlightKind::Change(_, component, installs) = kind else { return };
    if let Some(facts) = machine.host.facts.as_mut().filter(|_| succeeded) {
        facts.components.retain(|present| present.component != component);
        let believed = installs.map(|Installed { version, release }| InstalledComponent {
            component,
            version,
            release,
            drift: Drift::NONE,
        });
        facts.components.extend(believed);
    }
}
