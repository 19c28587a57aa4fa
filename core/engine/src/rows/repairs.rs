//! How often something on a machine had to be repaired in a row. An operator that repairs what another agent changes
//! again and again fights that agent; neither wins, and neither side learns of it. So each further repair waits longer,
//! and a condition reports it. A new engine knows of no repairs: at worst a restart allows a few more repairs without a
//! wait.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use seaworthy_model::component::ReleaseId;
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::time::Timestamp;

/// This many repairs in a row are made without a wait: a process that died twice or a file that somebody edited is no
/// fight.
const UNHURRIED: u32 = 3;

/// The wait before the first repair after those. It doubles with each repair, like the back-off of a container that
/// keeps crashing.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// The longest wait: four repairs a day, until a person has found the other agent. A changed spec ends every wait.
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 3600);

/// How long a repair has to last before the fight counts as over; two audit intervals if that is longer. If it were
/// less than the waits of the first hour, an engine with frequent audits would mistake its own wait for the end of the
/// fight, and start again without a wait.
const LASTING: Duration = Duration::from_secs(3600);

/// A part of a machine that is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// A component on its host.
    Component(ComponentId),
    /// Labels and taints on its Node.
    Node,
}

/// Repairs that did not last, by machine and part. Most fleets have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs(BTreeMap<(MachineId, Part), Repeated>);

#[derive(Clone, Copy, Debug)]
struct Repeated {
    times: u32,
    last: Timestamp,
    /// What was repaired last, if it is a component.
    release: Option<ReleaseId>,
}

/// A part that was repaired more often in a row than chance explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contested {
    /// Repairs in a row.
    pub(crate) times: u32,
    /// How long the next repair waits after the last.
    pub(crate) wait: Duration,
    /// When the next repair may be made.
    pub(crate) not_before: Timestamp,
}

impl Repairs {
    /// A repair has succeeded. Of a component, `release` is what was repaired.
    pub(crate) fn note(
        &mut self,
        machine: MachineId,
        part: Part,
        release: Option<ReleaseId>,
        now: Timestamp,
    ) {
        let repeated = self.0.entry((machine, part)).or_insert(Repeated { times: 0, last: now, release });
        *repeated = Repeated { times: repeated.times.saturating_add(1), last: now, release };
    }

    /// When the release of a component that is installed was last repaired, as far as is known.
    pub(crate) fn last(
        &self,
        machine: MachineId,
        component: ComponentId,
        installed: impl FnOnce() -> Option<ReleaseId>,
    ) -> Option<Timestamp> {
        let repeated = self.0.get(&(machine, Part::Component(component)))?;
        (repeated.release == Some(installed()?)).then_some(repeated.last)
    }

    /// Whether no recent repair is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A host was read. Forgets repairs that have lasted for an hour and for two audit intervals, in which at least two
    /// audits have found the part in order; and those of a component that does not exist any more.
    pub(crate) fn look_back(
        &mut self,
        machine: MachineId,
        now: Timestamp,
        interval: Duration,
        is_intact: impl Fn(Part) -> Option<bool>,
    ) {
        if self.0.is_empty() {
            return;
        }
        let enough = LASTING.max(2 * interval);
        let lasting = self.0.range(all_of(machine)).filter(|((_, part), repeated)| {
            is_intact(*part).is_none_or(|is_intact| is_intact && now >= repeated.last + enough)
        });
        let lasting: Vec<_> = lasting.map(|(key, _)| *key).collect();
        for key in lasting {
            self.0.remove(&key);
        }
    }

    /// The spec of this machine has changed, or the Machine is another one: earlier repairs do not count.
    pub(crate) fn forget(&mut self, machine: MachineId) {
        if self.0.is_empty() {
            return;
        }
        while let Some(key) = self.0.range(all_of(machine)).next().map(|(key, _)| *key) {
            self.0.remove(&key);
        }
    }

    /// Whether another agent changes a part again and again.
    pub(crate) fn contested(&self, machine: MachineId, part: Part) -> Option<Contested> {
        let Repeated { times, last, .. } = *self.0.get(&(machine, part))?;
        let further = times.checked_sub(UNHURRIED)?;
        let wait = FIRST_WAIT.saturating_mul(1 << further.min(16)).min(LONGEST_WAIT);
        Some(Contested { times, wait, not_before: last + wait })
    }

    /// The part of a machine that is contested most.
    pub(crate) fn worst(&self, machine: MachineId) -> Option<(Part, Contested)> {
        if self.0.is_empty() {
            return None;
        }
        let contested = self
            .0
            .range(all_of(machine))
            .filter_map(|((_, part), _)| Some((*part, self.contested(machine, *part)?)));
        contested.max_by_key(|(_, contested)| contested.times)
    }
}

/// The keys of all parts of a machine.
const fn all_of(machine: MachineId) -> RangeInclusive<(MachineId, Part)> {
    (machine, Part::Component(ComponentId(0)))..=(machine, Part::Node)
}
