//! A switch and its endpoints, each in a network namespace of its own.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::deadline::eventually;
use crate::process::{run_to_end, signal};
use crate::run::Run;

/// A named network namespace. Dropping it kills what still runs in it and removes it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    keep: bool,
}

impl Namespace {
    fn create(run: &Run, role: &str) -> Result<Self> {
        let name = format!("{}-{role}", run.id());
        run_to_end(Command::new("ip").args(["netns", "add", &name]))?;
        let namespace = Self { name, keep: run.keep() };
        namespace.ip(["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// The name for `ip netns`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that holds the namespace open.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        path(&self.name)
    }

    /// A command that runs `program` in this network namespace, otherwise like any other process of the machine. (Unlike
    /// `ip netns exec` this makes no copy of the mount table, which would hold the hosts' disks busy.)
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).arg("--").arg(program);
        command
    }

    fn ip<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<()> {
        run_to_end(Command::new("ip").args(["-n", &self.name]).args(arguments)).map(drop)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = remove(&self.name) {
            eprintln!("{error:#}");
        }
    }
}

/// Kills every process in a namespace and removes it.
pub(crate) fn remove(name: &str) -> Result<()> {
    eventually(format!("end of all processes in {name}"), Duration::from_secs(10), || {
        let left = run_to_end(Command::new("ip").args(["netns", "pids", name]))?;
        for id in left.split_whitespace() {
            // It may have ended meanwhile.
            let _ = signal("KILL", id.parse()?);
        }
        if left.trim().is_empty() { Ok(()) } else { bail!("still there: {}", left.replace('\n', " ")) }
    })?;
    run_to_end(Command::new("ip").args(["netns", "del", name])).map(drop)
}

fn path(name: &str) -> PathBuf {
    PathBuf::from("/run/netns").join(name)
}

/// One switched network, without any way to the machine's own or to another run's.
#[derive(Debug)]
pub struct Network {
    run: Arc<Run>,
    switch: Arc<Namespace>,
    subnet: [u8; 3],
    next: AtomicU8,
}

/// The network interface of the switch.
const BRIDGE: &str = "switch";

impl Network {
    /// Makes the switch.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn create(run: &Arc<Run>) -> Result<Self> {
        let switch = Namespace::create(run, "switch")?;
        switch.ip(["link", "add", BRIDGE, "type", "bridge", "forward_delay", "0"])?;
        switch.ip(["link", "set", BRIDGE, "up"])?;
        let subnet = subnet(std::process::id());
        switch.ip(["address", "add", &format!("{}/24", gateway(subnet)), "dev", BRIDGE])?;
        Ok(Self { run: Arc::clone(run), switch: Arc::new(switch), subnet, next: AtomicU8::new(2) })
    }

    /// Makes a namespace with an address, connected to the switch. `role` becomes part of its name.
    ///
    /// # Errors
    /// `ip` refuses, or all 253 addresses are taken.
    pub fn attach(&self, role: &str) -> Result<Endpoint> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number == u8::MAX {
            bail!("the network of {} is full", self.run.id());
        }
        let [a, b, c] = self.subnet;
        let address = Ipv4Addr::new(a, b, c, number);
        let namespace = Namespace::create(&self.run, role)?;
        let port = format!("port{number}");
        let name = namespace.name();
        self.switch.ip(["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", name])?;
        self.switch.ip(["link", "set", &port, "master", BRIDGE, "up"])?;
        namespace.ip(["address", "add", &format!("{address}/24"), "dev", "eth0"])?;
        namespace.ip(["link", "set", "eth0", "up"])?;
        Ok(Endpoint { namespace, address, switch: Arc::clone(&self.switch), port })
    }

    /// Tells an endpoint that everything else lies beyond the switch, which it does not: packets for elsewhere are lost.
    /// Without such a route a node cannot send to the address of a Service, which it rewrites only after routing.
    ///
    /// # Errors
    /// `ip` refuses.
    pub(crate) fn route_elsewhere(&self, endpoint: &Endpoint) -> Result<()> {
        let gateway = gateway(self.subnet).to_string();
        endpoint.namespace.ip(["route", "replace", "default", "via", &gateway])
    }
}

/// The address of the switch itself.
fn gateway([a, b, c]: [u8; 3]) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, 1)
}

/// A /24 of 198.18.0.0/15, the range that is set aside for benchmarks of networks. The namespaces keep runs apart
/// anyway; different numbers keep their logs apart as well.
fn subnet(process: u32) -> [u8; 3] {
    let [low, high, ..] = process.to_le_bytes();
    [198, 18 + (high & 1), low]
}

/// A network namespace that is connected to the switch.
#[derive(Debug)]
pub struct Endpoint {
    namespace: Namespace,
    address: Ipv4Addr,
    switch: Arc<Namespace>,
    port: String,
}

impl Endpoint {
    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The range of the pods that run here: `A.B.C.0/24`, in the other half of the range that is set aside for benchmarks.
    #[must_use]
    pub fn pod_range(&self) -> String {
        let [a, b, _, number] = self.address.octets();
        format!("{a}.{}.{number}.0/24", b ^ 1)
    }

    /// Sends packets for the pods of another endpoint there.
    ///
    /// # Errors
    /// `ip` refuses.
    pub(crate) fn route_pods_of(&self, other: &Self) -> Result<()> {
        let via = other.address.to_string();
        self.namespace.ip(["route", "replace", &other.pod_range(), "via", &via])
    }

    /// Takes away every interface that was made here, as a loss of power does: a namespace would keep them.
    pub(crate) fn forget_interfaces(&self) -> Result<()> {
        let name = &self.namespace.name;
        eventually(format!("removal of interfaces in {name}"), Duration::from_secs(10), || {
            let links = run_to_end(Command::new("ip").args(["-n", name, "-o", "link", "show"]))?;
            let left = made_interfaces(&links).collect::<Vec<_>>();
            for link in &left {
                // Those that led into a pod vanish with it, perhaps just now.
                let _ = self.namespace.ip(["link", "delete", link]);
            }
            if left.is_empty() { Ok(()) } else { bail!("still there: {}", left.join(" ")) }
        })
    }

    /// Pulls the cable: packets are lost without a word, in both directions.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn cut(&self) -> Result<()> {
        self.switch.ip(["link", "set", &self.port, "down"])
    }

    /// Plugs the cable in again.
    ///
    /// # Errors
    /// `ip` refuses.
    pub fn restore(&self) -> Result<()> {
        self.switch.ip(["link", "set", &self.port, "up"])
    }

    /// Asks `http://ADDRESS:PORT/PATH` from here and returns status and body; at most 5 s.
    ///
    /// # Errors
    /// No connection, or no HTTP response.
    pub fn http_get(&self, address: Ipv4Addr, port: u16, path: &str) -> Result<(u16, String)> {
        // bash is in every Debian, curl is not.
        const REQUEST: &str =
            r#"exec 3<>"/dev/tcp/$0/$1"; printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3; cat <&3"#;
        let mut command = self.namespace.command("timeout");
        command.args(["5", "bash", "-c", REQUEST, &address.to_string(), &port.to_string(), path]);
        let response = run_to_end(&mut command)?;
        let (head, body) = response.split_once("\r\n\r\n").context("no HTTP response")?;
        let status = head.split(' ').nth(1).context("no HTTP status")?;
        Ok((status.parse().context("no HTTP status")?, body.to_owned()))
    }
}

/// The names in a list of interfaces (`5: cni0: <...`, `6: veth1@if2: <...`), but for those that an endpoint begins with.
fn made_interfaces(links: &str) -> impl Iterator<Item = &str> {
    let names = links.lines().filter_map(|line| line.split(": ").nth(1)?.split('@').next());
    names.filter(|name| !["lo", "eth0"].contains(name))
}

/// The names of all network namespaces of the machine.
pub(crate) fn all() -> Result<Vec<String>> {
    match std::fs::read_dir("/run/netns") {
        Ok(entries) => Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).context("cannot read /run/netns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_were_made_are_told_from_the_first_ones() {
        let links = "1: lo: <LOOPBACK> mtu 65536\n2: eth0@if3: <UP> mtu 1500\n3: cni0: <UP> mtu 1500\n\
                     4: veth3a@if2: <UP> mtu 1500\n";
        assert_eq!(made_interfaces(links).collect::<Vec<_>>(), ["cni0", "veth3a"]);
    }
}
