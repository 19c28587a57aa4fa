//! What has to change on a host, and whether it may change now.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::detail::Detail;
use seaworthy_model::effect::{Effect, Import, Target as ActionTarget};
use seaworthy_model::host::Change;
use seaworthy_model::id::ComponentId;
use seaworthy_model::machine::{FailedRelease, Reason};
use seaworthy_model::report::{Blocker, WakeReason};

use super::need::Need;
use super::order::Hindrance;
use super::status::Verdict;
use super::step::Step;
use crate::domains::draft::{Draft, write, write_finalizers};
use crate::rows::machine::Failure;
use crate::rows::note::MachineNote as Note;
use crate::rows::standing::Standing;

use crate::world::index::policies::Work;
use crate::world::index::resolution::{Aim, Origin, Target, targets};

/// What keeps the changes of a machine from being made, as far as a step has looked.
#[derive(Default)]
struct Found {
    /// Some change waits for its turn.
    is_ungranted: bool,
    /// The first obstacle, with what is reported of it.
    obstacle: Option<(Blocker, Reason, Option<Arc<Detail>>)>,
    /// The first wait for another component.
    hindrance: Option<Hindrance>,
    /// The components that cannot be changed.
    hindered: Vec<ComponentId>,
}

impl<'w> Step<'w> {
    /// Makes the first change that is needed and possible; otherwise reports what blocks it, or that all is well.
    pub(super) fn bring_to_target(self, draft: &mut Draft<'_>) {
        let mut found = Found::default();
        for target in targets(self.world, self.machine) {
            match self.need_now(&target) {
                Need::Nothing => {}
                Need::Change { change, is_repair } => {
                    if is_repair && self.puts_off_repair(draft, &target, &mut found) {
                        continue;
                    }
                    if self.is_ready(draft, &target, (&change, is_repair), &mut found) {
                        return self.start(draft, &target, change, is_repair);
                    }
                    if draft.order.is_some() || draft.blocker.is_some() {
                        return;
                    }
                }
                Need::Obstacle(blocker) => {
                    let detail = self.obstacle_detail(blocker).map(Arc::new);
                    found.hindered.push(target.component);
                    found.obstacle.get_or_insert((blocker, reason_of(blocker), detail));
                }
                Need::Failed(FailedRelease { version, cause, .. }) => {
                    let blocker = Blocker::ReleaseFailed { version, cause };
                    let fresh =
                        self.machine.failed.iter().find(|failure| failure.component == target.component);
                    let detail = fresh.map(|failure| self.failure_detail(failure));
                    found.obstacle.get_or_insert((blocker, Reason::Cause(cause), detail));
                }
            }
        }
        self.end_without_change(draft, found);
    }

    /// Ends a step in which no change can start: reports what blocks the changes, or that all is well.
    fn end_without_change(self, draft: &mut Draft<'_>, found: Found) {
        let hindered = found.hindrance.map(|hindrance| self.explain(hindrance));
        // Blocked even if another reason is reported: a component that waits for another one yields its grant.
        let blocker = hindered.as_ref().or(found.obstacle.as_ref()).map(|(blocker, ..)| *blocker);
        if let Some(blocker) = blocker.filter(|_| !found.hindered.is_empty()) {
            if self.machine.blocked != Some(blocker) || *self.machine.hindered != *found.hindered {
                self.note(draft, Note::Unblock);
                for component in &found.hindered {
                    self.note(draft, Note::Hinder(*component, blocker));
                }
            }
        } else if found.is_ungranted && self.machine.blocked.is_some() {
            self.note(draft, Note::Unblock);
        }
        let is_next_only = found.is_ungranted && found.obstacle.is_none() && hindered.is_none();
        if is_next_only && self.holds_drained(draft) {
            return;
        }
        if let Some(identity) = self.node_identity().filter(|_| !self.is_paused() && !self.is_fleet_paused())
            && (self.remove_mark(draft) || self.obtain_identity(draft, identity))
        {
            return;
        }
        // An obstacle of a component is reported before a wait for that component: it is the cause.
        let Some((blocker, reason, detail)) = found.obstacle.or(hindered) else {
            let awaits = found.is_ungranted || self.awaits_first_batch(draft);
            return if awaits { self.await_grant(draft) } else { self.settle(draft) };
        };
        if self.remove_mark(draft) {
            return;
        }
        self.tell(draft, &Verdict::out_of_sync(reason).with(detail), blocker);
    }

    /// Whether a repair has to wait, because another agent undoes it again and again.
    fn puts_off_repair(self, draft: &mut Draft<'_>, target: &Target<'_>, found: &mut Found) -> bool {
        let Some(until) = self.repaired_later(target.component).filter(|until| draft.now < *until) else {
            return false;
        };
        draft.wake_at(until, WakeReason::BackOff);
        let detail = self.contested_detail().map(Arc::new);
        found.obstacle.get_or_insert((Blocker::BackOff { until }, Reason::Contested, detail));
        true
    }

    /// Whether a change is the next one to start: it is granted if it has to be, and no other component has to change
    /// first. False with a blocker or an order in the draft: then the step ends.
    fn is_ready(
        self,
        draft: &mut Draft<'_>,
        target: &Target<'_>,
        (change, is_repair): (&Change, bool),
        found: &mut Found,
    ) -> bool {
        let awaits = self.awaits_grant(target, is_repair);
        if awaits && !self.machine.is_blocked(target.component) && !self.is_paused() {
            found.is_ungranted = true;
            return false;
        }
        if let Some(hindrance) =
            self.world.is_ordered().then(|| self.hindrance(target.component, change)).flatten()
        {
            found.hindered.push(target.component);
            found.hindrance.get_or_insert(hindrance);
            return false;
        }
        if awaits {
            let stays = self.machine.hindered.is_empty() && self.stays_blocked(draft, change);
            found.is_ungranted |= !stays;
        }
        !awaits
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

    /// Waits for its turn. A machine that has been set up is as it should be until then, and says so.
    fn await_grant(self, draft: &mut Draft<'_>) {
        if self.machine.is_granted() {
            // The record waits for our epoch.
            self.note(draft, Note::WaitForFleet);
        }
        if self.object.meta.generation == self.object.status.observed_generation {
            self.settle(draft);
        } else if self.remove_mark(draft) {
            return;
        }
        draft.wait_as_well(Blocker::AwaitingGrant);
    }

    /// Whether a new machine is about to be asked for something: a rollout that begins permits its first batch with its next
    /// write. A machine that said in between that all is as desired would say so too early, for the price of a write. One whose
    /// rollout permits nobody for longer is told as it is.
    fn awaits_first_batch(self, draft: &mut Draft<'_>) -> bool {
        if self.object.status.observed_generation != 0 {
            return false;
        }
        let wait = draft.config.admission_wait;
        let begun = targets(self.world, self.machine).filter_map(|target| match target.origin {
            Origin::Rollout(index) => self.world.fleet.rollouts[index].begun_at(),
            Origin::Pin | Origin::Left(_) | Origin::Nobody => None,
        });
        let until = begun.map(|at| at + wait).max().filter(|until| draft.now < *until);
        if let Some(until) = until {
            draft.wake_at(until, WakeReason::Admission);
        }
        until.is_some()
    }

    /// Whether a machine that yielded because of a blocker is still blocked. It goes on with what needs no grant.
    fn stays_blocked(self, draft: &mut Draft<'_>, change: &Change) -> bool {
        let halt = self.world.halt(self.machine);
        if self.is_paused() || halt.is_some() {
            self.note(draft, Note::WaitForFleet);
            if self.remove_mark(draft) {
                return true;
            }
            match halt {
                Some(blocker) if !self.is_paused() => draft.wait(blocker),
                Some(_) | None => {
                    self.tell(draft, &Verdict::out_of_sync(Reason::Paused), Blocker::Paused);
                }
            }
            return true;
        }
        match self.machine.blocked {
            Some(Blocker::AwaitingCertificate | Blocker::CertificateDenied | Blocker::ForeignIdentity) => {
                self.obtain_needed_identity(draft, change)
            }
            Some(Blocker::DrainForbidden { .. } | Blocker::DrainOverdue { .. }) => {
                self.rest(draft) || self.is_drain_forbidden(draft)
            }
            Some(Blocker::LastSchedulableNode { .. }) => self.yield_to_others(draft),
            Some(_) | None => false,
        }
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
        // A repair that needs no drain does not help the change that waits for one.
        let is_beside = is_repair && !drains && self.machine.blocked.is_some_and(Blocker::is_of_drain);
        if self.machine.is_blocked(target.component) && !is_beside {
            self.note(draft, Note::Unblock);
        }
        if let Some(blocker) = self.fleet_stop(target, is_repair) {
            self.note(draft, Note::Yield(Some(target.component)));
            self.note(draft, Note::WaitForFleet);
            if self.remove_mark(draft) {
                return;
            }
            return self.wait_or_tell(draft, blocker);
        }
        if let Some(blocker) = self.overcommitted(target) {
            self.note(draft, Note::Yield(Some(target.component)));
            self.note(draft, Note::WaitForFleet);
            if self.remove_mark(draft) {
                return;
            }
            return draft.wait(blocker);
        }
        if !meta.is_held() {
            return self.import(draft);
        }
        if let Some(failure) = self.machine.unrecorded_failure() {
            // A successor learns only the last operation from the host, and the next one is about to replace it.
            let FailedRelease { version, cause, .. } = failure.release;
            let detail = Some(self.failure_detail(failure));
            let verdict = Verdict::out_of_sync(Reason::Cause(cause)).with(detail);
            return self.tell(draft, &verdict, Blocker::ReleaseFailed { version, cause });
        }
        // This comes first: its report would replace the reports below, and a Node must not be drained just to wait for
        // a certificate.
        let is_known = self.object.status.identity.is_some() && !self.machine.is_recorded_unreachable();
        if is_known && self.obtain_needed_identity(draft, &change) {
            return;
        }
        if drains && !self.empty_node(draft, self.world.component_name(target.component)) {
            return;
        }
        let has_unit = self.take_unit(draft);
        // Remove even a mark that this change does not need: several such machines would wait for each other. Why that
        // does not succeed comes before the drift: the two would overwrite each other for ever.
        if !has_unit && self.remove_mark(draft) {
            return;
        }
        // What a successor must know is recorded before the change: it may find the change in flight.
        if (is_repair || !self.is_foreseen(target)) && !self.machine.is_recorded_drifted() {
            let facts = self.machine.host.facts.as_ref().filter(|_| is_repair);
            let differs = facts.and_then(|facts| Detail::reported(facts.differs.as_deref()?));
            let drifted = Verdict::out_of_sync(Reason::Drifted).unfinished().with(differs);
            return self.tell(draft, &drifted, Blocker::AwaitingOwnWrite);
        }
        if self.object.status.identity.is_none() || self.machine.is_recorded_unreachable() {
            return self.tell(draft, &Verdict::contact(), Blocker::AwaitingOwnWrite);
        }
        if has_unit {
            if self.machine.drain.as_ref().is_some_and(|drain| drain.held_since.is_some()) {
                self.note(draft, Note::Hold(None));
            }
            self.order_change(draft, target.component, change);
        }
    }

    /// Adds our finalizer, which keeps the Machine until the host is cleaned, and records in the same write which host that
    /// is.
    fn import(self, draft: &mut Draft<'_>) {
        let (target, meta) = (ActionTarget::Machine(self.machine.id), &self.object.meta);
        let finalizers = meta.finalizers_with_ours();
        let identity = self.found_identity().filter(|_| self.object.status.identity.is_none());
        match identity {
            Some(identity) => {
                write(draft, target, meta, Effect::Import(Box::new(Import { finalizers, identity })));
            }
            None => write_finalizers(draft, target, meta, finalizers),
        }
    }

    /// Which release failed, and what the host said.
    fn failure_detail(self, failure: &Failure) -> Arc<Detail> {
        let version = self.world.name_of_version(failure.release.version);
        let words = match failure.detail.as_deref() {
            Some(Detail::Reported(words)) => words.clone(),
            Some(_) | None => Box::default(),
        };
        Arc::new(Detail::Failed(version, words))
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

    /// Whether a person has paused this machine.
    pub(super) fn is_paused(self) -> bool {
        self.machine.spec().is_some_and(|spec| spec.paused)
    }

    /// Whether a person has paused the fleet, or the machine by a disruption policy.
    pub(super) fn is_fleet_paused(self) -> bool {
        self.world.halt(self.machine).is_some()
    }

    /// Waits for something of the fleet. If people wait for a change of this very machine, it says why.
    fn wait_or_tell(self, draft: &mut Draft<'_>, blocker: Blocker) {
        match self.policy_verdict(blocker) {
            Some(verdict) if self.object.meta.generation != self.object.status.observed_generation => {
                self.tell(draft, &verdict, blocker);
            }
            Some(_) | None => draft.wait(blocker),
        }
    }

    /// True if the budget has a unit for the machine, or the repair lane a place if it is unavailable anyway. If not, a
    /// granted machine yields, and another one waits.
    pub(super) fn take_unit(self, draft: &mut Draft<'_>) -> bool {
        let limit = self.world.slots();
        let occupied = if self.machine.is_spared() {
            self.world.laned() - u32::from(self.machine.is_laned())
        } else {
            self.world.occupied() - u32::from(self.machine.claims())
        };
        // Others may have begun since this machine was granted its turn.
        if let Some(lack) = self.world.domain_lack(self.machine, &[]).filter(|_| occupied < limit) {
            self.note(draft, if self.machine.is_granted() { Note::Yield(None) } else { Note::WaitForDomain });
            if let Blocker::RateLimit { until, .. } = lack {
                draft.wake_at(until, WakeReason::Admission);
            }
            draft.wait(lack);
            return false;
        }
        if occupied < limit {
            return true;
        }
        self.note(draft, if self.machine.is_granted() { Note::Yield(None) } else { Note::WaitForUnit });
        draft.wait(Blocker::MaxUnavailable { occupied, limit });
        false
    }

    /// Why the fleet as a whole does not allow a change to start.
    fn fleet_stop(self, target: &Target<'_>, is_repair: bool) -> Option<Blocker> {
        let goes_back = matches!(target.origin, Origin::Rollout(index)
            if self.world.fleet.rollouts[index].record.goes_back());
        let stop = || self.world.policy_stop(self.machine, Work::on(self.machine, goes_back));
        if let Some(blocker) = self.world.halt(self.machine).or_else(stop) {
            return Some(blocker);
        }
        let disrupts = !is_repair && !self.machine.is_spared() && self.machine.was_set_up();
        if disrupts
            && !goes_back
            && let Some(blocker) = self.world.breaker()
        {
            return Some(blocker);
        }
        let Origin::Rollout(index) = target.origin else { return None };
        let owner = self.world.fleet.rollouts[index].owner;
        if self.world.is_owner_paused(owner) {
            return Some(Blocker::Paused);
        }
        let is_writing = self.world.writes_of(owner).is_some_and(|writes| writes.action.is_some());
        if is_writing && self.world.charter(owner).is_some_and(|charter| charter.meta.is_terminating()) {
            // A write that removes its finalizer may be in flight, because no machine is at work for it.
            return Some(Blocker::Superseding);
        }
        let rollout = &self.world.fleet.rollouts[index];
        let (counts, limit) = (&rollout.counts, self.world.failures_max());
        let is_new = target.aim != Aim::Keep && !is_repair;
        let too_much = || self.world.too_disruptive(rollout, self.machine);
        let is_mistaken = || self.world.unconfirmed_mistake(rollout, self.machine);
        if is_new && let Some(blocker) = too_much().or_else(is_mistaken) {
            return Some(blocker);
        }
        // What is installed is repaired until the machine gets its turn.
        let is_of_before = is_repair && !self.machine.standing(index).is_updated();
        if target.aim == Aim::Keep || is_of_before {
            None
        } else if counts.failed >= limit {
            Some(Blocker::TooManyFailures { failed: counts.failed, limit })
        } else {
            None
        }
    }

    /// Whether more machines are granted than may fail at once. That happens if machines failed while a further wave was
    /// in flight.
    fn overcommitted(self, target: &Target<'_>) -> Option<Blocker> {
        let Origin::Rollout(index) = target.origin else { return None };
        let counts = &self.world.fleet.rollouts[index].counts;
        let failures_max = self.world.failures_max();
        let is_over = target.aim != Aim::Keep
            && self.machine.standing(index) == Standing::Granted
            && counts.at_work() > counts.allowance(failures_max);
        is_over.then_some(counts.without_room(failures_max))
    }

    /// Whether a successor that has only the record expects this change: from an unfinished spec, or from a grant, if the
    /// record shows what is installed.
    fn is_foreseen(self, target: &Target<'_>) -> bool {
        let status = &self.object.status;
        if self.object.meta.generation != status.observed_generation {
            return true;
        }
        let Origin::Rollout(index) = target.origin else { return false };
        let recorded = status.component(target.component).and_then(|recorded| recorded.installed);
        self.holds_grant(index) && recorded == self.machine.installed(target.component)
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
