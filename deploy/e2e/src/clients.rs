//! Clients that send requests all the time, and count those that fail.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::deadline::eventually;
use crate::process::Process;
use crate::programs;
use crate::world::World;

/// From the start of a client to its first request.
const FIRST_WITHIN: Duration = Duration::from_secs(20);

/// A client in the network namespace of each host. Dropping it stops them.
#[derive(Debug)]
pub struct Clients(Vec<Client>);

#[derive(Debug)]
struct Client {
    host: String,
    process: Process,
    record: PathBuf,
}

/// What became of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that were answered well.
    pub answered: usize,
    /// The others: which host asked, when (in milliseconds since the Unix epoch), and what went wrong.
    pub failures: Vec<String>,
}

impl Clients {
    /// Starts them; each asks `http://ADDRESS:PORT/PATH` twenty times a second, over a new connection each time.
    ///
    /// # Errors
    /// One does not start.
    pub fn start(world: &World, address: Ipv4Addr, port: u16, path: &str) -> Result<Self> {
        let program = programs::of_this_crate("steady-client")?;
        let mut clients = Vec::new();
        for host in world.hosts() {
            let name = format!("client-{}", host.name());
            let record = world.run().logs().join(format!("{name}.record"));
            let mut command = host.endpoint().namespace().command(&program);
            command.arg(format!("{address}:{port}")).arg(path).arg(&record);
            let process = world.spawn(&name, &mut command)?;
            clients.push(Client { host: host.name().to_owned(), process, record });
        }
        let mut clients = Self(clients);
        eventually("the first answers", FIRST_WITHIN, || {
            let tally = clients.tally()?;
            ensure!(tally.answered >= clients.0.len(), "{tally:?}");
            Ok(())
        })?;
        Ok(clients)
    }

    /// What became of all requests so far.
    ///
    /// # Errors
    /// A client has stopped.
    pub fn tally(&mut self) -> Result<Tally> {
        let mut tally = Tally::default();
        for client in &mut self.0 {
            client.process.must_run()?;
            if !client.record.exists() {
                bail!("{} has not asked yet", client.host);
            }
            let text = fs::read_to_string(&client.record).context("the record of a client")?;
            for line in text.lines() {
                match line.split_once(' ') {
                    Some((_, "ok")) => tally.answered += 1,
                    Some(_) | None => tally.failures.push(format!("{}: {line}", client.host)),
                }
            }
        }
        Ok(tally)
    }
}
