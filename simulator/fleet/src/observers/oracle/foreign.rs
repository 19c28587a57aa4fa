//! Judges hosts that are nodes of another cluster, or another node: no order takes that identity away, and no order
//! makes them nodes of this cluster.

use super::Oracle;
use crate::world::World;
use crate::world::host::{Change, Command, Work};

impl Oracle {
    /// Judges an order that a host is about to carry out: a foreign node keeps its identity.
    pub(super) fn judge_takeover(&mut self, world: &World, number: u32, command: &Command) {
        let takes = matches!(command, Command::RequestCertificate(wanted) if wanted.replaces.is_some())
            || matches!(command, Command::InstallCertificate(_));
        if takes && world.is_foreign(number) {
            let detail =
                format!("the identity on host {number}, which is a node of others, was to be replaced");
            self.breach("foreignHost", world.now(), detail);
        }
    }

    /// Judges work that begins on a host: a version that makes its host a node must not be installed on a foreign node.
    pub(super) fn judge_foreign_work(&mut self, world: &World, number: u32, work: &Work) {
        let Change::Install(install) = work.change else { return };
        if world.is_foreign(number) && world.makes_node(world.catalogue.version_name(install.version)) {
            let detail =
                format!("{} was to be installed on host {number}, which is a node of others", work.id);
            self.breach("foreignHost", world.now(), detail);
        }
    }
}
