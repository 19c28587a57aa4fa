//! Services that their hosts started again by themselves while a rollout with gates was under way. A service that dies again
//! and again, and is started again each time, runs whenever somebody looks: only the count of restarts tells of it. Memory is
//! taken only for machines with such a service, and only until the rollout ends.

use alloc::collections::BTreeMap;

use seaworthy_model::component::ReleaseId;
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::time::Timestamp;

/// So many restarts of a service tell of a fault. A single one may be due to its host: the kernel ran out of memory once, or
/// somebody killed the process. A release that kills its service does so again.
const TELLING: usize = 2;

/// The restarts that were seen of what rollouts under way change, by component and machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restarts(BTreeMap<(ComponentId, MachineId), Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// What is installed.
    release: ReleaseId,
    /// When each of its last restarts was first reported, the latest last. Zero stands for one that was not.
    at: [Timestamp; TELLING],
}

impl Restarts {
    /// A host reports that the release of a component was started again so many times more. Earlier restarts of another
    /// release do not count any more.
    pub(crate) fn note(
        &mut self,
        (component, machine): (ComponentId, MachineId),
        release: ReleaseId,
        times: u8,
        now: Timestamp,
    ) {
        let new = Seen { release, at: [Timestamp::ZERO; TELLING] };
        let seen = self.0.entry((component, machine)).or_insert(new);
        if seen.release != release {
            *seen = new;
        }
        let new = TELLING.min(times.into());
        seen.at.rotate_left(new);
        seen.at[TELLING - new..].fill(now);
    }

    /// Whether the release of a component that is installed was started again so often after this time that it tells of a
    /// fault.
    pub(crate) fn tell(
        &self,
        component: ComponentId,
        machine: MachineId,
        installed: impl FnOnce() -> Option<ReleaseId>,
        since: impl FnOnce() -> Timestamp,
    ) -> bool {
        let telling = self.0.get(&(component, machine)).filter(|seen| seen.may_tell());
        telling.is_some_and(|seen| installed() == Some(seen.release) && seen.at[0] > since())
    }

    /// Whether any service was started again so often that it may tell of a fault.
    pub(crate) fn may_tell(&self) -> bool {
        self.0.values().any(Seen::may_tell)
    }

    /// Forgets the restarts of all components but these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(ComponentId) -> bool) {
        self.0.retain(|(component, _), _| is_kept(*component));
    }

    /// The Machine is another one: earlier restarts do not count.
    pub(crate) fn forget(&mut self, machine: MachineId) {
        self.0.retain(|(_, restarted), _| *restarted != machine);
    }
}

impl Seen {
    fn may_tell(&self) -> bool {
        self.at[0] > Timestamp::ZERO
    }
}
