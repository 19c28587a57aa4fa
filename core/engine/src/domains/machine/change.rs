//! What has to change on a host, and whether it may change now.

use alloc::sync::Arc;

use seaworthy_model::component::Parameters;
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::Target as ActionTarget;
use seaworthy_model::host::{Change, Release};
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{FailedRelease, Installed, Reason, Want};
use seaworthy_model::report::{Blocker, WakeReason};

use super::status::Verdict;
use super::step::Step;
use crate::domains::draft::{Draft, Order, write_finalizers};
use crate::rows::machine::Failure;
use crate::rows::note::MachineNote as Note;
use crate::rows::standing::Standing;

use crate::rows::ticket::{NodeTicket, Ticket};
use crate::world::index::resolution::{Aim, Origin, Target, targets};

/// What one component needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing.
    Nothing,
    /// This change.
    Change { change: Change, is_repair: bool },
    /// A change that cannot be made until something else changes.
    Obstacle(Blocker),
    /// Nothing more is tried: the release failed here.
    Failed(FailedRelease),
}

impl<'w> Step<'w> {
    /// Makes the first change that is needed and possible; otherwise reports what blocks it, or that all is well.
    pub(super) fn bring_to_target(self, draft: &mut Draft<'_>) {
        let mut obstacle: Option<(Blocker, Reason, Option<Arc<Detail>>)> = None;
        let mut hindrance = None;
        for target in targets(self.world, self.machine) {
            match self.need(&target) {
                Need::Nothing => {}
                Need::Change { change, is_repair } => {
                    if let Some(until) = self.repaired_later(target.component).filter(|_| is_repair)
                        && draft.now < until
                    {
                        draft.wake_at(until, WakeReason::BackOff);
                        let detail = self.contested_detail().map(Arc::new);
                        obstacle = obstacle.or(Some((Blocker::BackOff { until }, Reason::Contested, detail)));
                        continue;
                    }
                    let found =
                        self.world.is_ordered().then(|| self.hindrance(target.component, &change)).flatten();
                    if found.is_none() {
                        return self.start(draft, &target, change, is_repair);
                    }
                    hindrance = hindrance.or(found);
                }
                Need::Obstacle(blocker) => {
                    let detail = self.obstacle_detail(blocker).map(Arc::new);
                    obstacle = obstacle.or(Some((blocker, reason_of(blocker), detail)));
                }
                Need::Failed(FailedRelease { version, cause, .. }) => {
                    let blocker = Blocker::ReleaseFailed { version, cause };
                    let fresh =
                        self.machine.failed.iter().find(|failure| failure.component == target.component);
                    let detail = fresh.and_then(|failure| failure.detail.clone());
                    obstacle = obstacle.or(Some((blocker, Reason::Cause(cause), detail)));
                }
            }
        }
        let hindered = hindrance.map(|hindrance| self.explain(hindrance));
        if let Some((blocker, ..)) = &hindered {
            // Blocked even if another reason is reported: a machine that waits for another component holds no slot.
            self.note(draft, Note::Block(*blocker));
        }
        if let Some(identity) = self.node_identity().filter(|_| !self.is_paused() && !self.is_fleet_paused())
            && (self.remove_mark(draft) || self.obtain_identity(draft, identity))
        {
            return;
        }
        // An obstacle of a component is reported before a wait for that component: it is the cause.
        let Some((blocker, reason, detail)) = obstacle.or(hindered) else { return self.settle(draft) };
        if !matches!(blocker, Blocker::ReleaseFailed { .. }) {
            self.note(draft, Note::Block(blocker));
        }
        if self.remove_mark(draft) {
            return;
        }
        self.tell(draft, &Verdict::out_of_sync(reason).with(detail), blocker);
    }

    /// The version that an obstacle is about, and what the machine lacks for it.
    fn obstacle_detail(self, blocker: Blocker) -> Option<Detail> {
        if let Blocker::UnknownVersion(version) | Blocker::NoArtefact(version) = blocker {
            return Some(Detail::Version(self.world.name_of_version(version)));
        }
        let Blocker::MissingParameter(version) = blocker else { return None };
        let inputs = self.world.missing(self.machine, version);
        Some(Detail::Missing { version: self.world.name_of_version(version), inputs })
    }

    /// Whether anything would be changed, as far as the record shows.
    pub(super) fn wants_change(self) -> bool {
        targets(self.world, self.machine).any(|target| {
            matches!(
                self.need(&target),
                Need::Change { .. } | Need::Obstacle(Blocker::NoArtefact(_) | Blocker::MissingParameter(_))
            )
        })
    }

    pub(super) fn need(self, target: &Target<'_>) -> Need {
        match target.aim {
            Aim::Keep => self.need_repair(target),
            Aim::Set(want) => match self.world.wanted(self.machine, target.component, want) {
                Err(blocker) => Need::Obstacle(blocker),
                Ok(None) => match self.machine.installed(target.component) {
                    Some(_) => Need::Change { change: Change::Remove, is_repair: false },
                    None => Need::Nothing,
                },
                Ok(Some(release)) => self.need_release(target.component, &release),
            },
        }
    }

    fn need_release(self, component: ComponentId, release: &Arc<Release>) -> Need {
        let installed = self.machine.installed(component);
        let is_there = installed.is_some_and(|installed| installed.release == release.id);
        let drifted = self.machine.reported(component).is_some_and(|reported| !reported.drift.is_none());
        match self.machine.failed_release(component) {
            // Also when it is installed: a failed release that could not be rolled back is not tried again.
            Some(failed) if failed.release == release.id => Need::Failed(failed),
            Some(_) | None if is_there && !drifted => Need::Nothing,
            Some(_) | None => {
                Need::Change { change: Change::Install(Arc::clone(release)), is_repair: is_there }
            }
        }
    }

    /// A component that should stay as it is, but has drifted, is installed again from the same recipe.
    fn need_repair(self, target: &Target<'_>) -> Need {
        let Some(reported) = self.machine.reported(target.component) else { return Need::Nothing };
        if reported.drift.is_none() {
            return Need::Nothing;
        }
        let installed = Installed { version: reported.version, release: reported.release };
        match self.recipe_of(target, installed) {
            Some(release) => self.need_release(target.component, &release),
            None => Need::Obstacle(Blocker::UnknownVersion(reported.version)),
        }
    }

    /// The recipe of an installed release, if the fleet's rollout still has it or if it needs no parameters. The id of
    /// a release is a digest of its recipe, so a wrong guess is impossible.
    fn recipe_of(self, target: &Target<'_>, installed: Installed) -> Option<Arc<Release>> {
        let plain = Want::Present { version: installed.version, parameters: Parameters::default() };
        let record = match target.origin {
            Origin::Rollout(index) => self.world.fleet.rollouts.get(index).map(|rollout| &rollout.record),
            Origin::Pin | Origin::Nobody => None,
        };
        let known = record.into_iter().flat_map(|record| [Some(&record.to), record.from.as_ref()]).flatten();
        known.chain([&plain]).find_map(|want| {
            let release = self.world.wanted(self.machine, target.component, want).ok()??;
            (release.id == installed.release).then(|| release.into_owned())
        })
    }

    /// Starts a change, once all its conditions hold.
    fn start(self, draft: &mut Draft<'_>, target: &Target<'_>, change: Change, is_repair: bool) {
        let meta = &self.object.meta;
        if self.is_paused() {
            self.note(draft, Note::Block(Blocker::Paused));
            if self.remove_mark(draft) {
                return;
            }
            return self.tell(draft, &Verdict::out_of_sync(Reason::Paused), Blocker::Paused);
        }
        let drains = self.disrupts(target.component, &change);
        if drains && self.rest(draft) {
            return;
        }
        if self.machine.blocked.is_some() {
            self.note(draft, Note::Unblock);
        }
        if let Some(blocker) = self.fleet_stop(target) {
            self.note(draft, Note::WaitForFleet);
            if self.remove_mark(draft) {
                return;
            }
            return draft.wait(blocker);
        }
        if let Some(blocker) = self.overcommitted(target) {
            self.note(draft, Note::Park);
            self.note(draft, Note::WaitForFleet);
            if self.remove_mark(draft) {
                return;
            }
            return draft.wait(blocker);
        }
        if !meta.is_held() {
            let target = ActionTarget::Machine(self.machine.id);
            return write_finalizers(draft, target, meta, meta.finalizers_with_ours());
        }
        if let Some(failure) = self.unrecorded() {
            // A successor learns only the last operation from the host, and the next one is about to replace it.
            let FailedRelease { version, cause, .. } = failure.release;
            let verdict = Verdict::out_of_sync(Reason::Cause(cause)).with(failure.detail.clone());
            return self.tell(draft, &verdict, Blocker::ReleaseFailed { version, cause });
        }
        // This comes first: its report would replace the reports below, and a Node must not be drained just to wait for
        // a certificate.
        let is_known = self.object.status.identity.is_some() && !self.machine.is_recorded_unreachable();
        if is_known && self.obtain_needed_identity(draft, &change) {
            return;
        }
        if drains && !self.drain(draft, target) {
            return;
        }
        // What a successor must know is recorded before the change: it may find the change in flight.
        if (is_repair || !self.is_foreseen(target)) && !self.machine.is_recorded_drifted() {
            let drifted = Verdict::out_of_sync(Reason::Drifted).unfinished();
            return self.tell(draft, &drifted, Blocker::AwaitingOwnWrite);
        }
        if self.object.status.identity.is_none() || self.machine.is_recorded_unreachable() {
            return self.tell(draft, &Verdict::contact(), Blocker::AwaitingOwnWrite);
        }
        if self.take_slot(draft) {
            let component = target.component;
            self.order_change(draft, component, change);
        } else {
            // Remove even a mark that this change does not need: several such machines would wait for each other.
            self.remove_mark(draft);
        }
    }

    /// Takes the next step towards the identity that a change needs, or finds out whose node the host is. False when no
    /// step is left.
    fn obtain_needed_identity(self, draft: &mut Draft<'_>, change: &Change) -> bool {
        let Change::Install(release) = change else { return false };
        if self.may_be_of_others(draft) {
            return true;
        }
        let version = self.world.version_spec(release.version);
        let identity = version.and_then(|version| version.node_identity.as_ref());
        identity.is_some_and(|identity| {
            self.obtain_identity(draft, identity) || self.awaits_better_identity(draft)
        })
    }

    /// A release that failed here and is not recorded yet.
    fn unrecorded(self) -> Option<&'w Failure> {
        let (meta, status) = (&self.object.meta, &self.object.status);
        let is_told = |failure: &Failure| {
            let recorded = status.component(failure.component).and_then(|recorded| recorded.failed);
            status.observed_generation == meta.generation && recorded == Some(failure.release)
        };
        self.machine.failed.iter().find(|failure| !is_told(failure))
    }

    /// Whether a person has paused this machine.
    pub(super) fn is_paused(self) -> bool {
        self.machine.spec().is_some_and(|spec| spec.paused)
    }

    /// Whether a person has paused the fleet.
    pub(super) fn is_fleet_paused(self) -> bool {
        self.world.fleet.is_paused()
    }

    /// Drains the Node. True once it is empty. A late machine reserves a slot first: otherwise all late machines would
    /// drain their Nodes while there is room for one, yield to it, and start again after each success.
    fn drain(self, draft: &mut Draft<'_>, target: &Target<'_>) -> bool {
        let catches_up = matches!(target.origin, Origin::Rollout(index) if target.aim != Aim::Keep
            && matches!(self.machine.standing(index), Standing::Parked | Standing::Excused));
        let is_listed = self.machine.drain.as_ref().is_some_and(|drain| drain.pods.is_some());
        if catches_up && (self.machine.has_our_cordon() || !is_listed) {
            if !self.take_slot(draft) {
                self.remove_mark(draft);
                return false;
            }
            self.note(draft, Note::Reserve);
        }
        let is_empty = self.empty_node(draft, self.world.component_name(target.component));
        // A drain that starts from a re-check reserves a slot only once the pods are known to be evictable.
        let cordons = matches!(draft.order, Some(Order { ticket: Ticket::Node(NodeTicket::Cordon), .. }));
        if catches_up && cordons {
            self.note(draft, Note::Reserve);
        }
        is_empty
    }

    /// True if there is a slot for the machine. If not, it releases its reservation and waits.
    pub(super) fn take_slot(self, draft: &mut Draft<'_>) -> bool {
        let limit = self.world.slots();
        let others = self.world.occupied() - u32::from(self.machine.occupies());
        if others < limit {
            return true;
        }
        self.note(draft, Note::Park);
        self.note(draft, Note::WaitForSlot);
        draft.wait(Blocker::MaxUnavailable { occupied: others, limit });
        false
    }

    /// Why the fleet as a whole does not allow a change to start.
    fn fleet_stop(self, target: &Target<'_>) -> Option<Blocker> {
        if self.is_fleet_paused() {
            return Some(Blocker::Paused);
        }
        let Origin::Rollout(index) = target.origin else { return None };
        let fleet = &self.world.fleet;
        if fleet.tracked.writes.action.is_some()
            && fleet.object().is_some_and(|object| object.meta.is_terminating())
        {
            // A write that removes its finalizer may be in flight, because no machine is at work for it.
            return Some(Blocker::Superseding);
        }
        let counts = &self.world.fleet.rollouts[index].counts;
        let limit = self.world.failures_max();
        if target.aim == Aim::Keep {
            None
        } else if counts.failed >= limit {
            Some(Blocker::TooManyFailures { failed: counts.failed, limit })
        } else if matches!(self.machine.standing(index), Standing::Parked | Standing::Excused)
            && counts.room(limit) == 0
        {
            // Late machines, and machines that were blocked until now, respect `maxFailures` like newly admitted ones.
            Some(counts.without_room(limit))
        } else {
            None
        }
    }

    /// Whether more machines hold a reservation than may fail at once. That happens if machines that were admitted
    /// earlier took the room while a further admission was in flight.
    fn overcommitted(self, target: &Target<'_>) -> Option<Blocker> {
        let Origin::Rollout(index) = target.origin else { return None };
        let counts = &self.world.fleet.rollouts[index].counts;
        let failures_max = self.world.failures_max();
        let is_over = target.aim != Aim::Keep
            && self.machine.standing(index) == Standing::Reserved
            && counts.at_work() > counts.allowance(failures_max);
        is_over.then_some(counts.without_room(failures_max))
    }

    /// Whether a successor that has only the record expects this change: from an unfinished spec, or from an admission,
    /// if the record shows what is installed.
    fn is_foreseen(self, target: &Target<'_>) -> bool {
        let status = &self.object.status;
        if self.object.meta.generation != status.observed_generation {
            return true;
        }
        let Origin::Rollout(index) = target.origin else { return false };
        let recorded = status.component(target.component).and_then(|recorded| recorded.installed);
        self.machine.standing(index).is_pending() && recorded == self.machine.installed(target.component)
    }
}

/// The reason of the condition that reports an obstacle.
const fn reason_of(blocker: Blocker) -> Reason {
    if matches!(blocker, Blocker::NoArtefact(_)) {
        Reason::NoArtefact
    } else if matches!(blocker, Blocker::MissingParameter(_)) {
        Reason::MissingParameter
    } else {
        Reason::UnknownVersion
    }
}
