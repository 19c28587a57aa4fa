//! Hosts that are nodes of others: nothing takes that from them, and nothing makes them nodes of this cluster.

use super::Oracle;
use crate::world::World;
use crate::world::host::{Change, Command, Work};

impl Oracle {
    /// An order is about to be carried out on a host. If it is a node of others, nothing takes that from it.
    pub(super) fn judge_takeover(&mut self, world: &World, number: u32, command: &Command) {
        let takes = match command {
            Command::RequestCertificate(wanted) => wanted.replaces.is_some(),
            Command::InstallCertificate(_) => true,
            Command::Facts
            | Command::Status(_)
            | Command::Apply(_)
            | Command::Disown
            | Command::Confirm(_) => false,
        };
        if takes && world.is_foreign(number) {
            let detail =
                format!("the identity on host {number}, which is a node of others, was to be replaced");
            self.breach("foreignHost", world.now(), detail);
        }
    }

    /// Work begins on a host. What makes it a node does not come to the nodes of others.
    pub(super) fn judge_foreign_work(&mut self, world: &World, number: u32, work: &Work) {
        let Change::Install(install) = work.change else { return };
        if world.is_foreign(number) && world.makes_node(world.catalogue.version_name(install.version)) {
            let detail =
                format!("{} was to be installed on host {number}, which is a node of others", work.id);
            self.breach("foreignHost", world.now(), detail);
        }
    }
}
