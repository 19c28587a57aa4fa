//! Counts effects other than operations, for the comparison with the twin: how often operators created and deleted each
//! object, how often users deleted it, how often each host lost power, and how often an operation rebooted it.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::id::Kind;

use crate::world::api_server::Written;

/// What happened to the objects of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lives {
    /// How many operators created.
    pub created: u32,
    /// How many operators deleted.
    pub deleted: u32,
    /// How many were deleted by any writer. A deleted object may still exist.
    pub ended: u32,
}

/// The effects of a run.
#[derive(Clone, Debug)]
pub(super) struct Effects {
    objects: BTreeMap<(Kind, Arc<str>), Lives>,
    outages: Vec<u32>,
    /// The number of reboots by operations, by host.
    reboots: BTreeMap<u32, u32>,
}

impl Effects {
    pub(super) fn new(hosts: u32) -> Self {
        Self { objects: BTreeMap::new(), outages: vec![0; hosts as usize], reboots: BTreeMap::new() }
    }

    /// Counts a committed write by any writer.
    pub(super) fn committed(&mut self, written: &Written) {
        if is_deleted(written) {
            self.lives(written).ended += 1;
        }
    }

    /// Counts a write of an operator.
    pub(super) fn operator_wrote(&mut self, written: &Written) {
        if matches!(written.object.kind(), Kind::CertificateSigningRequest | Kind::Event) {
            // Their names contain keys and uids, which differ in the twin. `identities` judges them.
            return;
        }
        if written.committed && written.before.is_none() {
            self.lives(written).created += 1;
        }
        if written.committed && is_deleted(written) {
            self.lives(written).deleted += 1;
        }
    }

    fn lives(&mut self, written: &Written) -> &mut Lives {
        let object = &written.object;
        self.objects.entry((object.kind(), Arc::clone(object.name()))).or_default()
    }

    /// The power of a host has come back.
    pub(super) fn powered_on(&mut self, host: u32) {
        let outages = &mut self.outages[host as usize];
        *outages = outages.saturating_add(1);
    }

    /// An operation reboots a host.
    pub(super) fn rebooted(&mut self, host: u32) {
        *self.reboots.entry(host).or_default() += 1;
    }

    pub(super) fn reboots(&self, host: u32) -> u32 {
        self.reboots.get(&host).copied().unwrap_or_default()
    }

    pub(super) fn outages(&self, host: u32) -> u32 {
        self.outages[host as usize]
    }

    /// The objects that were created or deleted, and how often.
    pub(super) fn objects(&self) -> impl Iterator<Item = ((Kind, &Arc<str>), Lives)> {
        self.objects.iter().map(|((kind, name), lives)| ((*kind, name), *lives))
    }

    pub(super) fn of(&self, kind: Kind, name: &Arc<str>) -> Lives {
        self.objects.get(&(kind, Arc::clone(name))).copied().unwrap_or_default()
    }
}

/// Whether an object was deleted just now: either removed at once, or marked as terminating because finalizers hold it.
fn is_deleted(written: &Written) -> bool {
    let was_there = written.before.as_ref().is_some_and(|before| !before.is_terminating());
    was_there && (written.removed || written.object.is_terminating())
}
