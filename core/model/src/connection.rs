//! How to reach the host of a machine, and how to log in there.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

/// Everything that is needed to log in, except the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Where.
    pub address: Address,
    /// TCP port.
    pub port: u16,
    /// As whom. Machines with the same login share it.
    pub login: Arc<Login>,
    /// Accepted host keys, in the form of a `known_hosts` line without the host: `ssh-ed25519 AAAA...`. In an order also
    /// the one that was trusted on first use.
    pub host_keys: Arc<[Arc<str>]>,
    /// What to do when `host_keys` is empty.
    pub host_key_policy: HostKeyPolicy,
}

/// As whom to log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Account; if it is not root, `sudo -n` must work for it.
    pub user: Arc<str>,
    /// Name of the Secret, in the operator's namespace, that holds the private key.
    pub secret_name: Arc<str>,
}

/// Where a machine is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// IP address to connect to.
    pub ip: Arc<str>,
    /// Host name; empty when not given.
    pub hostname: Arc<str>,
    /// Data centre; empty when not given.
    pub idc: Arc<str>,
    /// Rack; empty when not given.
    pub rack: Arc<str>,
}

/// What to do when no host key is pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostKeyPolicy {
    /// Refuse to connect.
    #[default]
    Pinned,
    /// Accept the first key, record it in the status, and accept no other from then on.
    TrustOnFirstUse,
}
