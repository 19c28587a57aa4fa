//! Thousands of hosts in one process: a real SSH server that speaks the real host protocol, with hosts that only keep in mind
//! what was ordered. The address that was dialed names the host.
//!
//! It measures the operator: everything of it is real up to the network. What hosts do is not measured.

mod host;
mod visitor;

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use russh::keys::PrivateKey;
use russh::server::{self, Config};
use russh::{MethodKind, MethodSet};
use seaworthy_api::host::wire::{Command, Reply, Request};
use seaworthy_model::component::Architecture;
use seaworthy_model::digest::Digest;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{interval, sleep};

use crate::manifests::architecture;

use self::host::{Deed, Host, Sort};
use self::visitor::Visitor;

/// How often the tally is written.
pub const TALLIED: Duration = Duration::from_millis(100);

/// What a farm needs.
#[derive(Clone, Debug)]
pub struct Farm {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The file with the private key that every host has.
    pub key: PathBuf,
    /// The host program that every host has already.
    pub program: PathBuf,
    /// How long an operation takes.
    pub operation: Duration,
    /// The file for the [`Tally`].
    pub tally: PathBuf,
}

/// What the hosts have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Connections that were accepted.
    pub connections: u64,
    /// Commands that were started over them.
    pub commands: u64,
    /// Orders to tell what is there, or what became of an operation.
    pub reads: u64,
    /// Operations that changed something.
    pub applied: u64,
    /// Operations that brought what was there already.
    pub redundant: u64,
    /// Operations that were ordered once more under the same id.
    pub repeated: u64,
    /// Orders that were older than others, or another owner's.
    pub refused: u64,
    /// The number of hosts with each version.
    pub versions: std::collections::BTreeMap<String, u64>,
}

/// A running farm.
struct Running {
    hosts: Mutex<HashMap<IpAddr, Host>>,
    sort: Sort,
    operation: Duration,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    commands: AtomicU64,
    reads: AtomicU64,
    applied: AtomicU64,
    redundant: AtomicU64,
    repeated: AtomicU64,
    refused: AtomicU64,
}

impl Farm {
    /// Serves until the process ends.
    ///
    /// # Errors
    /// The key or the program cannot be read, the address is taken, or the tally cannot be written.
    pub async fn run(&self) -> Result<()> {
        let key =
            fs::read_to_string(&self.key).with_context(|| format!("cannot read {}", self.key.display()))?;
        let key = PrivateKey::from_openssh(key).context("the key of the hosts")?;
        let program =
            fs::read(&self.program).with_context(|| format!("cannot read {}", self.program.display()))?;
        let name = architecture()?;
        let architecture = Architecture::ALL.into_iter().find(|known| known.name() == name);
        let architecture = architecture.with_context(|| format!("architecture {name}"))?;
        let config = Config {
            keys: vec![key],
            methods: MethodSet::from(&[MethodKind::PublicKey][..]),
            auth_rejection_time: Duration::ZERO,
            inactivity_timeout: None,
            nodelay: true,
            ..Config::default()
        };
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(self.listen).with_context(|| format!("cannot bind {}", self.listen))?;
        let listener = socket.listen(4096)?;
        let running = Arc::new(Running {
            hosts: Mutex::default(),
            sort: Sort { program: Digest::of(&program), architecture },
            operation: self.operation,
            counts: Counts::default(),
        });
        tokio::spawn(accept(listener, Arc::new(config), Arc::clone(&running)));
        let mut tell = interval(TALLIED);
        loop {
            tell.tick().await;
            running.tally().write(&self.tally)?;
        }
    }
}

async fn accept(listener: TcpListener, config: Arc<Config>, running: Arc<Running>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (Ok(local), Ok(())) = (stream.local_addr(), stream.set_nodelay(true)) else { continue };
        running.counts.connections.fetch_add(1, Relaxed);
        let visitor = Visitor::new(local.ip(), Arc::clone(&running));
        let config = Arc::clone(&config);
        tokio::spawn(async move {
            if let Ok(session) = server::run_stream(config, stream, visitor).await {
                // The client may go at any time.
                let _ = session.await;
            }
        });
    }
}

impl Running {
    /// Carries out an order on the host with this address.
    async fn order(&self, address: IpAddr, request: Request) -> Reply {
        if matches!(request.command, Command::Apply(_)) && !self.operation.is_zero() {
            sleep(self.operation).await;
        }
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, deed) = hosts.entry(address).or_default().answer(address, self.sort, request);
        let counts = &self.counts;
        let count = match deed {
            Deed::Told => &counts.reads,
            Deed::Applied => &counts.applied,
            Deed::Redundant => &counts.redundant,
            Deed::Repeated => &counts.repeated,
            Deed::Refused => &counts.refused,
        };
        count.fetch_add(1, Relaxed);
        Reply::new(answer)
    }

    fn tally(&self) -> Tally {
        let counts = &self.counts;
        let mut tally = Tally {
            connections: counts.connections.load(Relaxed),
            commands: counts.commands.load(Relaxed),
            reads: counts.reads.load(Relaxed),
            applied: counts.applied.load(Relaxed),
            redundant: counts.redundant.load(Relaxed),
            repeated: counts.repeated.load(Relaxed),
            refused: counts.refused.load(Relaxed),
            ..Tally::default()
        };
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        for version in hosts.values().flat_map(Host::versions) {
            match tally.versions.get_mut(version) {
                Some(count) => *count += 1,
                None => drop(tally.versions.insert(version.to_owned(), 1)),
            }
        }
        tally
    }
}

impl Tally {
    /// Reads what a farm wrote last.
    ///
    /// # Errors
    /// It has written nothing yet.
    pub fn read(file: &std::path::Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// What was done since `before`. The versions are those of now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            connections: self.connections - before.connections,
            commands: self.commands - before.commands,
            reads: self.reads - before.reads,
            applied: self.applied - before.applied,
            redundant: self.redundant - before.redundant,
            repeated: self.repeated - before.repeated,
            refused: self.refused - before.refused,
            versions: self.versions.clone(),
        }
    }

    /// Writes it so that a reader finds the old or the new one.
    fn write(&self, file: &std::path::Path) -> Result<()> {
        let new = file.with_extension("new");
        fs::write(&new, serde_json::to_string(self)?)?;
        Ok(fs::rename(&new, file)?)
    }
}
