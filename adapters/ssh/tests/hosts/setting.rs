//! What the tests have in common: an operator, its key, and hosts at fixed addresses.

use std::sync::Arc;
use std::time::Duration;

use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Architecture;
use seaworthy_model::host::Connection;
use seaworthy_model::machine::{Address, HostKeyPolicy, Login};
use seaworthy_ssh::{Exchange, Failure, Hosts, KeyError, Keys, Limits, PrivateKeyText, Programs};
use tokio::time::Instant;

use crate::fake_host::{FakeHost, Net, fresh_key, pin};
use crate::shell::{Shell, framed};

/// The host program of scripted hosts.
pub(crate) const PROGRAM: &[u8] = b"host program";

/// The request of most tests.
pub(crate) const REQUEST: &[u8] = b"request";

/// Hands out one key.
pub(crate) struct OneKey(Result<String, KeyError>);

impl OneKey {
    /// Any error instead of a key.
    pub(crate) const fn failing(error: KeyError) -> Self {
        Self(Err(error))
    }
}

impl From<&PrivateKey> for OneKey {
    fn from(key: &PrivateKey) -> Self {
        Self(Ok(key.to_openssh(LineEnding::LF).unwrap().to_string()))
    }
}

impl Keys for OneKey {
    async fn private_key(&self, secret_name: &str) -> Result<PrivateKeyText, KeyError> {
        assert_eq!(secret_name, "fleet-key");
        self.0.clone().map(|text| PrivateKeyText::new(text.into_bytes()))
    }
}

/// An operator and the network that it sees.
pub(crate) struct Setting {
    pub(crate) net: Net,
    pub(crate) operator_key: PrivateKey,
    pub(crate) host_key: PrivateKey,
}

impl Setting {
    pub(crate) fn new() -> Self {
        Self {
            net: Net::default(),
            operator_key: fresh_key(Algorithm::Ed25519),
            host_key: fresh_key(Algorithm::Ed25519),
        }
    }

    /// A host that lets the operator in as root.
    pub(crate) fn host(&self, shell: Shell) -> FakeHost {
        FakeHost::new(vec![self.host_key.clone()], "root", &self.operator_key, shell)
    }

    /// How to get to host `number`, whose key is pinned.
    pub(crate) fn connection(&self, number: u8) -> Connection {
        Connection {
            address: Address { ip: format!("198.18.0.{number}").into(), ..Address::default() },
            port: 22,
            login: Arc::new(Login { user: "root".into(), secret_name: "fleet-key".into() }),
            host_keys: [pin(&self.host_key).into()].into(),
            host_key_policy: HostKeyPolicy::Pinned,
        }
    }

    /// The transport, with the scripted hosts' program.
    pub(crate) fn hosts(&self) -> Hosts<OneKey, Net> {
        self.hosts_with(Limits::default())
    }

    /// The transport with other limits.
    pub(crate) fn hosts_with(&self, limits: Limits) -> Hosts<OneKey, Net> {
        let programs = Programs::new().with(Architecture::Amd64, PROGRAM.to_vec());
        Hosts::through(self.net.clone(), OneKey::from(&self.operator_key), programs, limits)
    }
}

/// The address that [`Setting::connection`] leads to.
pub(crate) fn address(number: u8) -> String {
    format!("198.18.0.{number}:22")
}

/// Limits for tests on real time: what is slow only because the machine is busy does not fail.
pub(crate) fn patient() -> Limits {
    let long = Duration::from_secs(300);
    Limits { connect: long, login: long, start: long, survey: long, delivery: long, ..Limits::default() }
}

/// A deadline that nothing should need.
pub(crate) fn later() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

/// Sends the usual request.
pub(crate) async fn ask(hosts: &Hosts<OneKey, Net>, connection: &Connection) -> Result<Exchange, Failure> {
    hosts.exchange(connection, &framed(REQUEST), later()).await
}

/// Checks that nothing happened, and why. Returns the words.
pub(crate) fn before(result: Result<Exchange, Failure>, kind: CauseKind) -> String {
    let Err(Failure::Before(cause)) = result else { panic!("not a failure before the request: {result:?}") };
    assert_eq!(cause.kind, kind, "{}", cause.detail);
    cause.detail
}

/// Checks that the request may have arrived, and why there is no reply. Returns the words.
pub(crate) fn after(result: Result<Exchange, Failure>, kind: CauseKind) -> String {
    let Err(Failure::After(cause)) = result else { panic!("not a failure after the request: {result:?}") };
    assert_eq!(cause.kind, kind, "{}", cause.detail);
    cause.detail
}
