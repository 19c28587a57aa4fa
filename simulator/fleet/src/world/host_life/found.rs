//! Hosts with preexisting software and identities: what is installed there, and whose nodes they are.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::word;

use crate::scenario::{FoundNode, Where};
use crate::vocabulary::{Occasion, START, Step, machine_name};
use crate::world::World;
use crate::world::happening::Happening;
use crate::world::host::{Found, KeyNumber, NodeCertificate, NodeIdentity, Running};
use crate::world::node::AUTHORITY;

impl World {
    /// Places the preexisting software and identities of the scenario on the hosts.
    pub(in crate::world) fn place_found(&mut self) {
        let scenario = Arc::clone(&self.scenario);
        for number in 0..scenario.fleet.machines {
            for (index, found) in (0..).zip(&scenario.hosts.found) {
                let component = self.catalogue.component(&found.name);
                let is_first = self.hosts[number as usize].found_of(component).is_none();
                if is_first && self.is_at(&found.on, "found", index, number) {
                    let version = self.catalogue.version(&format!("{}-{}", found.name, found.version));
                    self.hosts[number as usize].place(Found { component, version, state: found.state });
                }
            }
            let mut identities = (0..).zip(&scenario.hosts.identities);
            let here = identities.find(|(index, found)| self.is_at(&found.on, "identity", *index, number));
            if let Some((_, found)) = here {
                self.place_identity(number, &found.path, found.of);
            }
        }
    }

    fn is_at(&self, place: &Where, what: &str, index: u64, number: u32) -> bool {
        place.machines.contains(&number)
            || self.draws.chance(word(what), u64::from(number), index, place.share.0)
    }

    fn place_identity(&mut self, number: u32, path: &str, of: FoundNode) {
        let name = machine_name(number);
        let (node, authority) = match of {
            FoundNode::Own => (name.clone(), AUTHORITY),
            FoundNode::Another => (format!("{name}-once"), AUTHORITY),
            FoundNode::OtherCluster => (name.clone(), KeyNumber(AUTHORITY.0 + 1)),
        };
        let (path, node) = (self.catalogue.text(path), self.catalogue.text(&node));
        let key = self.hosts[number as usize].make_key();
        let not_before = START - Duration::from_secs(300);
        let not_after = START + self.scenario.certificates.valid_for.0;
        let certificate = NodeCertificate { key, node, authority, not_before, not_after };
        self.hosts[number as usize].place_certificate(path, certificate);
        match of {
            FoundNode::Own => {
                self.happened(&Happening::KeyMade(key, number, &name));
                self.plan_renewal_of(number, certificate);
            }
            // A host with a foreign node identity has no Node in this cluster.
            FoundNode::Another | FoundNode::OtherCluster => {
                self.nodes_gone.insert(number);
                self.happened(&Happening::NodeMissing(number));
            }
        }
    }

    /// An operation reaches a step. When it takes over running software and leaves it running, it goes from the swap
    /// directly to the probe, which is counted.
    pub(in crate::world) fn note_takeover(&mut self, number: u32, step: Step) {
        let running = self.hosts[number as usize].running();
        if step == Step::Probe && running.is_some_and(Running::takes_over) {
            self.note_occasion(Occasion::ReleaseTakenOver);
        }
    }

    /// Users remove preexisting software and identities from a host.
    pub(in crate::world) fn clear_host(&mut self, number: u32) {
        self.hosts[number as usize].clear();
        self.software_changed(number);
        self.happened(&Happening::HeldUp(number));
    }

    /// Whether an identity that the host program did not install makes a host a foreign node.
    pub(crate) fn is_foreign(&self, number: u32) -> bool {
        let identity = self.hosts[number as usize].node().filter(|node| !node.is_installed());
        identity
            .and_then(NodeIdentity::certificate)
            .is_some_and(|known| self.is_of_others(known, &machine_name(number)))
    }

    /// Whether a certificate does not belong to the node `name` of this cluster.
    pub(crate) fn is_of_others(&self, certificate: NodeCertificate, name: &str) -> bool {
        certificate.authority != AUTHORITY || self.catalogue.text_of(certificate.node) != name
    }
}
