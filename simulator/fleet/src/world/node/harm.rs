//! What releases will do to the Nodes of their hosts after they were found healthy.

use std::collections::BTreeMap;

use crate::vocabulary::LateHarm;
use crate::world::host::{Change, ComponentNumber, VersionNumber, Work};

/// The releases that harm their Nodes later, by host: at most one each.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct LateHarms(pub(in crate::world) BTreeMap<u32, Harm>);

/// A release that harms its Node later.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Harm {
    pub(in crate::world) component: ComponentNumber,
    pub(in crate::world) version: VersionNumber,
    pub(in crate::world) harm: LateHarm,
    /// Whether its operation has succeeded.
    pub(in crate::world) is_installed: bool,
    /// Whether the kubelet has the cause now.
    pub(in crate::world) acts: bool,
}

impl LateHarms {
    /// An operation begins whose release harms the Node later. A host that has such a release already keeps that one.
    pub(in crate::world) fn begin(&mut self, host: u32, work: &Work, harm: LateHarm) {
        let Change::Install(install) = work.change else { return };
        let (component, version) = (work.component, install.version);
        self.0.entry(host).or_insert(Harm { component, version, harm, is_installed: false, acts: false });
    }
}
