//! The leases of Nodes: only the time of the last renewal of each.
//!
//! They are thousands of objects that are written every ten seconds, and only the controller that watches over them
//! reads them. So they are neither listed nor watched, and a renewal has no revision: as in a cluster that keeps them
//! in an etcd of their own (kube-apiserver's `--etcd-servers-overrides`).

use seaworthy_kernel::Timestamp;

use super::ApiServer;

impl ApiServer {
    /// Renews the lease of the Node of a host, and makes it if there is none.
    pub(in crate::world) fn renew_node_lease(&mut self, host: u32, now: Timestamp) {
        let host = host as usize;
        if host >= self.node_leases.len() {
            self.node_leases.resize(host + 1, Timestamp::ZERO);
        }
        self.node_leases[host] = now;
    }

    /// When the lease of the Node of a host was renewed last; never, if there is none.
    pub(in crate::world) fn node_renewed(&self, host: u32) -> Timestamp {
        self.node_leases.get(host as usize).copied().unwrap_or(Timestamp::ZERO)
    }
}
