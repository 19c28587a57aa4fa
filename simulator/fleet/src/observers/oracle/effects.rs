//! Effects besides operations, for the comparison with the twin: how often operators created and deleted each object, how
//! often people deleted it, and how often each host lost its power, and how often an operation started it anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::id::Kind;

use crate::world::api_server::Written;

/// What was done to the objects of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lives {
    /// Operators created one.
    pub created: u32,
    /// Operators deleted one.
    pub deleted: u32,
    /// One was deleted, by whomever. One that is deleted may be there still.
    pub ended: u32,
}

/// The effects of a run.
#[derive(Clone, Debug)]
pub(super) struct Effects {
    objects: BTreeMap<(Kind, Arc<str>), Lives>,
    outages: Vec<u32>,
    /// Hosts that operations started anew, and how often.
    reboots: BTreeMap<u32, u32>,
}

impl Effects {
    pub(super) fn new(hosts: u32) -> Self {
        Self { objects: BTreeMap::new(), outages: vec![0; hosts as usize], reboots: BTreeMap::new() }
    }

    /// Something was committed, by whomever.
    pub(super) fn committed(&mut self, written: &Written) {
        if is_deleted(written) {
            self.lives(written).ended += 1;
        }
    }

    /// An operator has written something.
    pub(super) fn operator_wrote(&mut self, written: &Written) {
        if matches!(written.object.kind(), Kind::CertificateSigningRequest | Kind::Event) {
            // They are named after keys and uids, which the twin does not share. `identity` judges them.
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

    /// A host has got its power back.
    pub(super) fn powered_on(&mut self, host: u32) {
        let outages = &mut self.outages[host as usize];
        *outages = outages.saturating_add(1);
    }

    /// An operation starts a host anew.
    pub(super) fn rebooted(&mut self, host: u32) {
        *self.reboots.entry(host).or_default() += 1;
    }

    pub(super) fn reboots(&self, host: u32) -> u32 {
        self.reboots.get(&host).copied().unwrap_or_default()
    }

    pub(super) fn outages(&self, host: u32) -> u32 {
        self.outages[host as usize]
    }

    /// The objects to which something was done, and what.
    pub(super) fn objects(&self) -> impl Iterator<Item = ((Kind, &Arc<str>), Lives)> {
        self.objects.iter().map(|((kind, name), lives)| ((*kind, name), *lives))
    }

    pub(super) fn of(&self, kind: Kind, name: &Arc<str>) -> Lives {
        self.objects.get(&(kind, Arc::clone(name))).copied().unwrap_or_default()
    }
}

/// Whether an object was deleted just now: at once, or, if something holds it, as soon as that lets go.
fn is_deleted(written: &Written) -> bool {
    let was_there = written.before.as_ref().is_some_and(|before| !before.is_terminating());
    was_there && (written.removed || written.object.is_terminating())
}
