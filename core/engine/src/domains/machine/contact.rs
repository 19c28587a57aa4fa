//! When a host is read, and whether it is the expected one.

use core::time::Duration;

use seaworthy_model::config::Config;
use seaworthy_model::detail::Stranger;
use seaworthy_model::draw::below;
use seaworthy_model::host::{OperationId, Owner};
use seaworthy_model::machine::Reason;
use seaworthy_model::report::Blocker;
use seaworthy_model::time::Timestamp;

use super::step::Step;
use crate::domains::draft::Draft;

/// A login and a reply rarely take longer. A try that does is aborted, so that there is time for another.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);

impl Step<'_> {
    /// Whether the host has to be read before anything else: it may have changed, an audit is due, or there is work to
    /// do and the host was not read in this epoch.
    pub(super) fn needs_read(self, draft: &Draft<'_>) -> bool {
        let (host, contact) = (&self.machine.host, &self.machine.progress.contact);
        if contact.stale || contact.audit_at.is_some_and(|at| at <= draft.now) {
            return true;
        }
        host.facts.is_none()
            && (self.object.status.identity.is_none()
                || self.machine.has_our_cordon()
                || self.machine.is_unresolved()
                || self.object.meta.is_terminating()
                || self.object.meta.generation != self.object.status.observed_generation
                || self.machine.is_recorded_drifted()
                || self.machine.is_recorded_unreachable()
                || self.machine.is_recorded_in_trouble()
                || self.wants_change()
                || self.world.to_fetch(self.machine).is_some()
                || self.has_attributes_to_tell())
    }

    /// The operation that waits for its confirmation, and how long a try may take. A confirmation proves only that a
    /// new session reaches the host after the change, not that the release is still wanted: an unwanted release has not
    /// failed, and is replaced sooner than its window ends.
    pub(super) fn confirmation(self, config: &Config) -> Option<(OperationId, Duration)> {
        let (operation, window) = self.world.confirmable(self.machine)?;
        let allowance = (window / 4).max(CONFIRMED_WITHIN).min(config.read_deadline);
        self.stranger().is_none().then_some((operation, allowance))
    }

    /// The next audit: once per interval, at a random point of its second half, so that a fleet that was read at once
    /// does not stay in step. The first audit after a start falls anywhere in the interval. Audits that are overdue
    /// because the interval became shorter fall anywhere in its first half.
    pub(super) fn next_audit(self, draft: &Draft<'_>) -> Timestamp {
        let fleet = self.world.fleet.audit_interval();
        // A host that is not this machine's is read more often: no event shows when its holder releases it.
        let interval = match self.machine.node {
            Some(_) if self.stranger().is_none() => fleet,
            Some(_) | None => fleet.min(self.world.fleet.audit_without_node(draft.config)),
        };
        let read_at = self.machine.progress.contact.read_at;
        let key = [draft.seed.0, 4, u64::from(self.machine.id.0), read_at.millis()];
        let span = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        let later = Duration::from_millis(below(&key, span / 2 + 1));
        let mut regular = read_at + Duration::from_millis(span / 2) + later;
        if regular <= draft.now {
            regular = draft.now + later;
        }
        if let Some(due) = self.renewal_due(draft.now).filter(|due| *due > draft.now) {
            return regular.min(due);
        }
        if self.machine.host.facts.is_none() {
            return draft.now + Duration::from_millis(below(&key, span));
        }
        regular
    }

    /// Whose host it is, or which host was found instead.
    pub(super) fn stranger_detail(self) -> Option<Stranger> {
        let facts = self.machine.host.facts.as_ref()?;
        if let Some(identity) = &self.object.status.identity
            && identity.host != facts.host
        {
            return Some(Stranger::OtherHost { found: facts.host, recorded: identity.host });
        }
        let holder = self.world.owner_of(facts.host).filter(|owner| *owner != self.machine.id);
        match (&facts.owner, holder) {
            (Owner::Foreign { cluster, machine }, _) => {
                Some(Stranger::OfCluster { cluster: cluster.clone(), machine: *machine })
            }
            (Owner::Machine(_) | Owner::Nobody, Some(holder)) => {
                Some(Stranger::OfMachine(self.world.name_of_machine(holder)))
            }
            (Owner::Machine(uid), None) => Some(Stranger::OfGone(*uid)),
            (Owner::Nobody, None) => None,
        }
    }

    /// Why this machine must not work on the host, if so.
    pub(super) fn stranger(self) -> Option<(Reason, Blocker)> {
        let facts = self.machine.host.facts.as_ref()?;
        let identity = self.object.status.identity.as_ref();
        if identity.is_some_and(|identity| identity.host != facts.host) {
            return Some((Reason::IdentityMismatch, Blocker::IdentityMismatch));
        }
        let owned = match &facts.owner {
            Owner::Nobody => false,
            Owner::Machine(uid) => *uid != self.object.meta.uid,
            Owner::Foreign { .. } => true,
        };
        let is_claimed = || self.world.owner_of(facts.host).is_some_and(|owner| owner != self.machine.id);
        let is_ours = facts.owner == Owner::Machine(self.object.meta.uid);
        let is_anothers = owned || (!is_ours && is_claimed());
        is_anothers.then_some((Reason::DuplicateHost, Blocker::DuplicateHost))
    }
}
