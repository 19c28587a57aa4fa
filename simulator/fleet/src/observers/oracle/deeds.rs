//! Counts the operations on each host. Each one needs a cause: a change of the desired state, or something that went
//! wrong on the host (`effects`). A host that switches back between versions more often than users changed the desired
//! state is fought over (`oscillation`).

use std::collections::BTreeMap;

use seaworthy_model::cause::CauseKind;

use super::Over;
use super::recount::{Miscounts, Truth};
use crate::world::host::{Change, ComponentNumber, Ended, Host, Operation, VersionNumber};

/// The operations on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deeds {
    /// Operations that began.
    pub operations: u16,
    /// The operations that changed something: a service was stopped or restarted.
    pub disruptions: u16,
    /// Operations that a failure or drift explains.
    pub excused_operations: u16,
    /// Disruptions that a failure or drift explains.
    pub excused_disruptions: u16,
    /// How often the host went back to the version before the last one.
    reversals: u16,
    /// Whether the operation in flight changes anything.
    touches: bool,
}

/// The operations of a run, by host.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    hosts: Vec<Deeds>,
    /// The installed versions of each component, by host.
    versions: BTreeMap<ComponentNumber, Vec<Past>>,
}

/// The last version that was installed, and the one before that.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    last: Option<VersionNumber>,
    before: Option<VersionNumber>,
}

impl Ledger {
    pub(super) fn new(hosts: u32) -> Self {
        Self { hosts: vec![Deeds::default(); hosts as usize], versions: BTreeMap::new() }
    }

    pub(super) fn hosts(&self) -> u32 {
        u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn of(&self, host: u32) -> Deeds {
        self.hosts[host as usize]
    }

    /// Prefetches the installed versions of a component.
    pub(super) fn warm(&self, host: u32, component: ComponentNumber) -> u64 {
        let past = self.versions.get(&component).and_then(|hosts| hosts[host as usize].last);
        past.map_or(0, |version| u64::from(version.0))
    }

    pub(super) fn began(&mut self, host: u32, touches: bool) {
        let deeds = &mut self.hosts[host as usize];
        deeds.operations = deeds.operations.saturating_add(1);
        deeds.touches = touches;
    }

    /// Something on the host drifted: a repair is expected.
    pub(super) fn spoiled(&mut self, host: u32) {
        let deeds = &mut self.hosts[host as usize];
        deeds.excused_operations = deeds.excused_operations.saturating_add(1);
        deeds.excused_disruptions = deeds.excused_disruptions.saturating_add(1);
    }

    /// Counts the end of an operation. If the host has just gone back to an earlier version, returns how often it has
    /// done so.
    pub(super) fn ended(&mut self, over: &Over<'_>) -> Option<u16> {
        let hosts = self.hosts.len();
        let deeds = &mut self.hosts[over.host as usize];
        let again = u16::from(is_tried_again(over.ended));
        deeds.excused_operations = deeds.excused_operations.saturating_add(again);
        if !(is_swapped(over.ended) && deeds.touches) {
            return None;
        }
        deeds.disruptions = deeds.disruptions.saturating_add(1);
        let of_component = self.versions.entry(over.work.component);
        let past = &mut of_component.or_insert_with(|| vec![Past::default(); hosts])[over.host as usize];
        let Change::Install(install) = over.work.change else {
            *past = Past::default();
            return None;
        };
        if over.ended != Ended::Succeeded || past.last == Some(install.version) {
            return None;
        }
        let is_back = past.before == Some(install.version);
        *past = Past { last: Some(install.version), before: past.last };
        if !is_back {
            return None;
        }
        deeds.reversals = deeds.reversals.saturating_add(1);
        Some(deeds.reversals)
    }

    /// Recounts from the journals of hosts, as far as they still hold all entries.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        for (number, (deeds, host)) in self.hosts.iter().zip(truth.hosts).enumerate() {
            if host.is_journal_whole() {
                let count = |is: &dyn Fn(Ended) -> bool| {
                    u16::try_from(host.journal().iter().filter(|(_, ended)| is(*ended)).count())
                        .unwrap_or(u16::MAX)
                };
                let operations = count(&|_| true) + u16::from(host.running().is_some());
                found.compare_at(number, "operations", deeds.operations, operations);
                // A change by hand excuses one operation and one disruption.
                let again = deeds.excused_operations - deeds.excused_disruptions;
                found.compare_at(number, "operations that did not end", again, count(&is_tried_again));
                let changes = deeds.disruptions <= count(&is_swapped);
                found.compare_at(number, "no more changes than operations that change", changes, true);
            }
            self.recount_versions(number, host, found);
        }
    }

    /// The last version that was recorded as installed is the one that is there.
    fn recount_versions(&self, number: usize, host: &Host, found: &mut Miscounts) {
        if host.running().is_some() {
            return;
        }
        for installed in host.installed() {
            let of_it = |(operation, _): &&(Operation, Ended)| operation.component == installed.component;
            let last = host.journal().iter().rfind(of_it);
            if last.is_some_and(|(_, ended)| *ended == Ended::Succeeded) {
                let counted = self.versions.get(&installed.component).and_then(|hosts| hosts[number].last);
                found.compare_at(number, "version that came last", counted, Some(installed.version));
            }
        }
    }
}

/// Whether the operation has to be tried again because something went wrong.
const fn is_tried_again(ended: Ended) -> bool {
    match ended {
        Ended::Succeeded => false,
        Ended::Interrupted => true,
        Ended::Failed(cause) => !cause.blames_release(),
    }
}

/// Whether the installed software changed, for good or for a while.
const fn is_swapped(ended: Ended) -> bool {
    match ended {
        Ended::Succeeded => true,
        Ended::Failed(cause) => {
            matches!(cause, CauseKind::ProbeFailed | CauseKind::RollbackFailed | CauseKind::NotConfirmed)
        }
        Ended::Interrupted => false,
    }
}
