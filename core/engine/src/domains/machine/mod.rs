//! The life of a machine: import, install, upgrade, repair, uninstall; unreachable and back again.
//!
//! One step per reconcile, and always the same questions in the same order: is an action in flight, may we act at all,
//! is there something to report, do we know the host, does it differ from what is wanted, may we change it now.

mod change;
mod contact;
mod contest;
mod finish;
mod host;
mod identity;
mod need;
pub(crate) mod node;
mod observe;
mod order;
mod restarts;
mod status;
mod step;
mod uninstall;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use seaworthy_model::detail::Detail;
use seaworthy_model::effect::Target;
use seaworthy_model::host::Owner;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{MachineId, StoreId};
use seaworthy_model::machine::Reason;
use seaworthy_model::report::{Blocker, Subject, WakeReason};

use crate::domains::draft::{Draft, write_finalizers};
use crate::rows::machine::Machine;
use crate::rows::note::MachineNote as Note;
use crate::runtime::queue::Priority;
use crate::world::World;
use status::Verdict;
use step::Step;

pub(super) use finish::{finish, start};
pub(super) use observe::observe;

/// When a host that was lost at work is looked at again, if as many as may be are given up already.
const GIVEN_UP_LATER: Duration = Duration::from_secs(60);

/// A Node that was seen not ready for so long is out of service.
///
/// After an outage of API servers a Node may be `Unknown` for 70 s although its kubelet renews its lease: a kubelet reports
/// `Ready` when its informer has shown it that the Node is not, which lists again after at most 60 s (the back-off of
/// client-go's reflector: 30 s, and as much jitter), and reports every 10 s. The rest is for a host that is busy.
const OUT_OF_SERVICE_AFTER: Duration = Duration::from_secs(120);

/// Begins an epoch: every host has to be read again, and belongs to the Machine that has it recorded.
pub(super) fn begin_epoch(world: &mut World) {
    world.hosts.clear();
    for id in world.machine_ids() {
        world.change(id, Machine::forget_contact);
        if let Some(host) = world.machine(id).recorded_host() {
            world.hosts.entry(host).or_insert(id);
        }
    }
}

/// Forgets the awaited echoes: a store is listed again.
pub(super) fn unsync(world: &mut World, store: StoreId) {
    world.note_all(store, |progress| progress.writes.written = None);
}

/// Applies a note of a decision.
pub(super) fn remember(world: &mut World, id: MachineId, note: Note) {
    match note {
        Note::Yield(component) => world.yield_grants(id, component),
        Note::Resume(component) => {
            world.change(id, |machine| machine.take_grant(component));
            world.touch(Subject::Machine(id), Priority::Normal);
        }
        Note::GiveUp => {
            world.change(id, |machine| machine.given_up = true);
            world.yield_grants(id, None);
            world.touch(Subject::Machine(id), Priority::Normal);
        }
        Note::LastsUnready => {
            world.change(id, |machine| machine.lasts_unready = true);
            world.touch(Subject::Machine(id), Priority::Normal);
        }
        Note::Block(blocker) => world.change(id, |machine| {
            machine.blocked = Some(blocker);
            machine.hindered.clear();
        }),
        Note::Hinder(component, blocker) => world.change(id, |machine| {
            machine.blocked = Some(blocker);
            machine.hindered.push(component);
        }),
        Note::Unblock => world.change(id, Machine::unblock),
        Note::WaitForUnit => world.wait_for_unit(id),
        Note::WaitForSession => world.wait_for_session(id),
        Note::WaitForFleet => world.wait_for_fleet(id),
        Note::WaitForDomain => world.wait_for_domain(id),
        Note::WaitForNode => world.wait_for_node(id),
        Note::Audit(at) => world.note(id, |progress| progress.contact.audit_at = Some(at)),
        Note::Inspect => {
            let now = world.now;
            world.note(id, |progress| progress.contact.audit_at = Some(now));
            world.touch(Subject::Machine(id), Priority::Low);
        }
        Note::Asked(key) => world.certificates.note_asked(id, key, world.now),
        Note::DrainRests(until) => {
            world.change(id, |machine| machine.drain.get_or_insert_default().rests_until = until);
        }
        Note::NoNode(since) => {
            world.change(id, |machine| machine.drain.get_or_insert_default().no_node_since = Some(since));
        }
        Note::Passed(pods) => {
            world.change(id, |machine| machine.drain.get_or_insert_default().passed = pods);
        }
        Note::Hold(since) => world.change(id, |machine| {
            if let Some(drain) = &mut machine.drain {
                drain.held_since = since;
            }
        }),
        Note::DrainOver => world.change(id, |machine| machine.drain = None),
    }
}

pub(super) fn reconcile(world: &World, id: MachineId, draft: &mut Draft<'_>) {
    let machine = world.machine(id);
    if !draft.is_ready(&machine.progress.writes) {
        return;
    }
    let Some(object) = machine.object.as_ref() else { return node::release_of_gone(world, machine, draft) };
    let step = Step { world, machine, object };
    match world.gate_of(id) {
        Some(blocker @ Blocker::StoreRegressed { .. }) => step.tell_regressed(blocker, draft),
        Some(blocker) => draft.wait(blocker),
        None => step.advance(draft),
    }
}

impl Step<'_> {
    fn advance(self, draft: &mut Draft<'_>) {
        if self.object.meta.is_terminating() && !self.object.meta.is_held() {
            return;
        }
        if self.object.meta.is_terminating() && self.object.is_released {
            return self.release(draft);
        }
        if self.object.spec.is_err() {
            self.note(draft, Note::Block(Blocker::InvalidSpec));
            if self.remove_mark(draft) {
                return;
            }
            let verdict = Verdict::out_of_sync(Reason::InvalidSpec);
            return self.tell(draft, &verdict, Blocker::InvalidSpec);
        }
        self.give_up_lost(draft);
        if self.note_unready(draft) || self.write_attributes(draft) || self.tell_trouble(draft) {
            return;
        }
        let retry = self.machine.progress.contact.retry;
        if draft.now < retry.not_before && (self.machine.uncertain.is_some() || self.needs_read(draft)) {
            return self.wait_out(draft);
        }
        if let Some(operation) = self.machine.uncertain {
            return match self.confirmation(draft.config) {
                Some((operation, allowance)) => {
                    self.order_host_within(draft, HostCommand::Confirm(operation), allowance)
                }
                None => self.order_host(draft, HostCommand::Status(operation)),
            };
        }
        if let (Some(seen), Some(named)) = (self.machine.host.ahead, self.object.reset_fences)
            && seen == named
        {
            return self.order_host(draft, HostCommand::ResetFences(seen));
        }
        if self.needs_read(draft) {
            return self.order_host(draft, HostCommand::Facts);
        }
        self.plan_audit(draft);
        if self.machine.host.facts.is_none() {
            return;
        }
        let is_duplicate_leaving =
            self.object.meta.is_terminating() && matches!(self.stranger(), Some((Reason::DuplicateHost, _)));
        if let (Some((reason, blocker)), false) = (self.stranger(), is_duplicate_leaving) {
            self.note(draft, Note::Block(blocker));
            if self.remove_mark(draft) {
                return;
            }
            let detail = self.stranger_detail().map(|stranger| Arc::new(Detail::Stranger(stranger)));
            return self.tell(draft, &Verdict::stranger(reason, detail), blocker);
        }
        if self.object.meta.is_terminating() {
            return self.uninstall(draft);
        }
        if self.has_lost_its_hold() {
            let (target, meta) = (Target::Machine(self.machine.id), &self.object.meta);
            return write_finalizers(draft, target, meta, meta.finalizers_with_ours());
        }
        if let Some((version, artefact)) = self.world.to_fetch(self.machine) {
            return self
                .order_host(draft, HostCommand::Fetch { version, artefact: Box::new(artefact.clone()) });
        }
        self.bring_to_target(draft);
    }

    /// Whether the host is in use, but somebody has removed our finalizer from its Machine.
    fn has_lost_its_hold(self) -> bool {
        let ours = Owner::Machine(self.object.meta.uid);
        !self.object.meta.is_held()
            && self.machine.host.facts.as_ref().is_some_and(|facts| facts.owner == ours)
    }

    /// Waits for the next try of a contact.
    fn wait_out(self, draft: &mut Draft<'_>) {
        let until = self.machine.progress.contact.retry.not_before;
        draft.back_off(until);
        if self.machine.host.unreachable_since.is_some() {
            // Nothing is at work there, and nothing will be: the Node may take pods again.
            if !self.machine.is_unresolved() && !self.machine.is_lost() && self.remove_mark(draft) {
                return;
            }
            draft.wait(match self.machine.host.ahead {
                Some(seen) => Blocker::HostAhead { seen },
                None => Blocker::Unreachable { until },
            });
        }
    }

    /// Gives up a host that was lost at work, once nothing of ours can go on there: its unit goes to others.
    fn give_up_lost(self, draft: &mut Draft<'_>) {
        if !self.machine.is_unresolved() || self.machine.host.unreachable_since.is_none() {
            return;
        }
        let since = match self.machine.uncertain {
            Some(_) => self.machine.ordered_at,
            None => self.world.leadership.began_at,
        };
        let until = self.world.seen_since(since) + self.world.longest_operation(draft.config);
        if draft.now < until {
            draft.wake_at(until, WakeReason::Deadline);
        } else if self.world.may_give_up() {
            self.note(draft, Note::GiveUp);
        } else {
            draft.wake_at(draft.now + GIVEN_UP_LATER, WakeReason::Deadline);
        }
    }

    /// A Node that is not ready for long is out of service. All of them may be not ready for a while after API servers were
    /// away, and their pods run on: whoever took that for an outage would work on twice as many machines as may be
    /// unavailable. So would an operator whose clock is set forward. True if that is noted now: what the machine takes of the
    /// budget changes before anything is decided.
    fn note_unready(self, draft: &mut Draft<'_>) -> bool {
        let Some(since) = self.machine.unready_since.filter(|_| !self.machine.lasts_unready) else {
            return false;
        };
        let until = self.world.seen_since(since) + OUT_OF_SERVICE_AFTER;
        if draft.now < until {
            draft.wake_at(until, WakeReason::Deadline);
            return false;
        }
        self.note(draft, Note::LastsUnready);
        true
    }

    /// While the store counts as regressed nothing is done, but a changed or deleted Machine reports why.
    fn tell_regressed(self, blocker: Blocker, draft: &mut Draft<'_>) {
        draft.wait(blocker);
        if !self.world.leadership.in_time {
            return;
        }
        let asked = self.object.meta.generation != self.object.status.observed_generation;
        if asked || self.object.meta.is_terminating() {
            let seen = Detail::Regress(self.world.leadership.regress());
            let verdict = Verdict::out_of_sync(Reason::StoreRegressed).because(seen).unfinished();
            self.tell(draft, &verdict, blocker);
        }
    }

    /// Reports that the host is unreachable or fails to carry out orders, once that is certain. True if a write is
    /// ordered for that.
    fn tell_trouble(self, draft: &mut Draft<'_>) -> bool {
        let Some(trouble) = self.certain_trouble(draft.config) else { return false };
        let verdict = if !trouble.kind.is_contact() && self.machine.host.ahead.is_none() {
            Verdict::hindered(trouble)
        } else if self.machine.is_unresolved() {
            // A successor must not count it as idle: a machine that is recorded as unreachable holds no slot.
            Verdict::silent(trouble)
        } else if self.machine.is_lost() {
            Verdict::lost(trouble)
        } else {
            Verdict::unreachable(trouble)
        };
        let until = self.machine.progress.contact.retry.not_before;
        let ahead = self.machine.host.ahead.map(|seen| Blocker::HostAhead { seen });
        self.tell(draft, &verdict, ahead.unwrap_or(Blocker::BackOff { until }));
        draft.order.is_some()
    }

    /// Reports that everything is as wanted.
    fn settle(self, draft: &mut Draft<'_>) {
        if self.remove_mark(draft) {
            return;
        }
        // A paused machine stays blocked: a batch that leaves it out may be in flight.
        if self.machine.blocked.is_some() && !self.is_paused() {
            self.note(draft, Note::Unblock);
        }
        if let Some((verdict, blocker)) = self.attributes_verdict(draft) {
            return match verdict {
                Some(verdict) => self.tell(draft, &verdict, blocker),
                None => draft.wait(blocker),
            };
        }
        let verdict = self.contested_detail().map_or(Verdict::in_sync(), Verdict::contested);
        self.write_verdict(draft, &verdict);
    }

    fn plan_audit(self, draft: &mut Draft<'_>) {
        let at = self.machine.progress.contact.audit_at.unwrap_or_else(|| {
            let at = self.next_audit(draft);
            self.note(draft, Note::Audit(at));
            at
        });
        draft.wake_at(at, WakeReason::Audit);
    }
}
