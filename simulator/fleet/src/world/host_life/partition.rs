//! Partitions that only one side sees: operators cannot connect to a host whose kubelet is connected, or the reverse.

use seaworthy_kernel::word;

use crate::vocabulary::Occasion;
use crate::world::World;
use crate::world::happening::Happening;

impl World {
    /// Operators cannot connect to a host.
    pub(in crate::world) fn cut_ssh(&mut self, number: u32) {
        let was_reachable = self.hosts[number as usize].is_reachable();
        if !self.hosts[number as usize].bar() || !was_reachable {
            return;
        }
        self.trace.record(&[word("cut ssh"), u64::from(number), self.now().millis()]);
        self.happened(&Happening::Network(number, false));
        self.note_occasion(Occasion::SshLost);
        if self.hosts[number as usize].running().is_some() {
            self.note_occasion(Occasion::HostLostInOperation);
        }
        let sessions = self.drop_sessions(number);
        self.session_lost(sessions);
    }

    /// Operators can connect to a host again.
    pub(in crate::world) fn mend_ssh(&mut self, number: u32) {
        if self.hosts[number as usize].unbar() && self.hosts[number as usize].is_reachable() {
            self.trace.record(&[word("mend ssh"), u64::from(number), self.now().millis()]);
            self.happened(&Happening::Network(number, true));
        }
    }

    /// The kubelet of a host cannot reach the API server.
    pub(in crate::world) fn cut_kubelet(&mut self, number: u32) {
        let was_connected = self.is_node_connected(number);
        self.disturbance.deafen(number);
        if was_connected {
            self.note_occasion(Occasion::KubeletCutOff);
            self.kubelet_lost(number, |kubelet| kubelet.lose(true));
        }
    }

    /// The kubelet of a host can reach the API server again.
    pub(in crate::world) fn mend_kubelet(&mut self, number: u32) {
        self.disturbance.undeafen(number);
        self.host_connected(number);
    }

    /// Whether a host runs, and what runs there can reach the API server.
    pub(in crate::world) fn is_node_connected(&self, number: u32) -> bool {
        self.hosts[number as usize].is_connected() && !self.disturbance.is_deaf(number)
    }
}
