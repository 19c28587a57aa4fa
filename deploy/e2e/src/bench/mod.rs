//! Measures the operator as it is deployed: a real etcd and kube-apiserver, the rights of the shipped manifests, the default
//! pace, thousands of Machines and Nodes, and a [farm](crate::farm) of hosts behind real SSH.

mod requests;
pub mod seed;
mod table;
mod usage;

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::deadline::{eventually, eventually_every};
use crate::farm::Tally;
use crate::fleet::{Fleet, OPERATOR_PORT};
use crate::process::{Process, run_to_end};
use crate::programs;
use crate::ssh::SshKey;
use crate::world::World;

pub use self::requests::Requests;
pub use self::table::{Row, table};
pub use self::usage::Usage;

/// How long a whole rollout may take.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A pause between two looks at the tally of the farm.
const LOOK: Duration = Duration::from_millis(250);

/// An operator must be ready within this time: a Lease expires first if it has to take over.
const READY: Duration = Duration::from_secs(60);

/// A fleet of so many machines, and at most one operator.
#[derive(Debug)]
pub struct Bench<'w> {
    world: &'w World,
    programs: programs::Programs,
    kubeconfig: PathBuf,
    tally: PathBuf,
    machines: u32,
    operator: Option<Process>,
    started: u32,
    // Dropped after the operator.
    farm: Process,
}

/// What an operator used until it was ready.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// From its start until it was ready.
    pub took: Duration,
    /// What it used until then.
    pub usage: Usage,
}

/// What a span of time cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The number of machines.
    pub machines: u32,
    /// Its length.
    pub took: Duration,
    /// Processor time of the operator.
    pub cpu: Duration,
    /// The operator at its end.
    pub usage: Usage,
    /// What the API server was asked.
    pub requests: Requests,
    /// What the hosts have done in that time; the versions are those at its end.
    pub hosts: Tally,
}

/// A moment, to measure from.
#[derive(Clone, Debug)]
struct Moment {
    at: Instant,
    usage: Usage,
    requests: Requests,
    hosts: Tally,
}

impl<'w> Bench<'w> {
    /// Creates the objects and starts the farm. No operator runs, and nothing is wanted yet.
    ///
    /// # Errors
    /// A program is not built, or something does not start.
    pub fn start(world: &'w World, machines: u32, operation: Duration) -> Result<Self> {
        let (programs, kubeconfig) = Fleet::prepare(world)?;
        let state = world.run().state();
        let key = SshKey::generate(&state.join("farm/key"))?;
        open_addresses(world)?;
        let tally = state.join("farm/tally.json");
        let mut command = world.command(&programs::of_this_crate("ssh-farm")?);
        command
            .arg(format!("--listen=0.0.0.0:{}", seed::PORT))
            .arg(format!("--operation-ms={}", operation.as_millis()))
            .arg("--key")
            .arg(state.join("farm/key"))
            .arg("--program")
            .arg(&programs.host)
            .arg("--tally")
            .arg(&tally);
        let farm = world.spawn("ssh-farm", &mut command)?;
        let mut command = world.command(&programs::of_this_crate("fleet-bench")?);
        command
            .args(["seed", &format!("--machines={machines}"), &format!("--host-key={}", key.public())])
            .arg("--kubeconfig")
            .arg(world.control_plane().kubeconfig());
        run_to_end(&mut command).context("the objects of the fleet")?;
        eventually("the farm", READY, || Tally::read(&tally))?;
        Ok(Self { world, programs, kubeconfig, tally, machines, operator: None, started: 0, farm })
    }

    /// Starts an operator and waits until it is ready: it leads, and has seen everything.
    ///
    /// # Errors
    /// One runs already, or it is not ready in time.
    pub fn start_operator(&mut self) -> Result<Start> {
        ensure!(self.operator.is_none(), "an operator runs already");
        self.started += 1;
        let mut command = self.world.command(&self.programs.operator);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--host-program")
            .arg(&self.programs.host)
            .arg(format!("--identity=operator-{}", self.started))
            .arg(format!("--listen=127.0.0.1:{OPERATOR_PORT}"));
        let began = Instant::now();
        let operator = self.world.spawn("operator", &mut command)?;
        let process = operator.id();
        self.operator = Some(operator);
        eventually_every(Duration::from_millis(20), "readiness of the operator", READY, || {
            let endpoint = self.world.control_plane().endpoint();
            let (status, text) = endpoint.http_get([127, 0, 0, 1].into(), OPERATOR_PORT, "/readyz")?;
            ensure!(status == 200 && text.trim() == "ok", "{status} {text}");
            Ok(())
        })?;
        Ok(Start { took: began.elapsed(), usage: Usage::of(process)? })
    }

    /// Ends the operator: asked to, or killed.
    ///
    /// # Errors
    /// None runs, or it does not end.
    pub fn end_operator(&mut self, kill: bool) -> Result<()> {
        let mut operator = self.operator.take().context("no operator runs")?;
        if kill { operator.kill() } else { operator.terminate(READY).map(drop) }
    }

    /// Makes a version the default, and measures until every host has it and its rollout is complete.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn roll_out(&self, version: &str) -> Result<Cost> {
        let before = self.moment()?;
        self.want(version)?;
        self.await_hosts(version, self.machines)?;
        self.await_completion()?;
        self.cost_since(&before)
    }

    /// The same, with the operator killed once so many hosts have the version, and another one that goes on. The cost is
    /// that of the second one.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn take_over(&mut self, version: &str, killed_at: u32) -> Result<(Start, Cost)> {
        self.want(version)?;
        self.await_hosts(version, killed_at)?;
        self.end_operator(true)?;
        let start = self.start_operator()?;
        let before = self.moment()?;
        self.await_hosts(version, self.machines)?;
        self.await_completion()?;
        Ok((start, self.cost_since(&before)?))
    }

    /// Measures a span in which nobody asks for anything.
    ///
    /// # Errors
    /// The operator ends, or the API server does not answer.
    pub fn idle(&self, span: Duration) -> Result<Cost> {
        let before = self.moment()?;
        sleep(span);
        self.cost_since(&before)
    }

    /// What the operator uses now.
    ///
    /// # Errors
    /// None runs.
    pub fn usage(&self) -> Result<Usage> {
        Usage::of(self.operator.as_ref().context("no operator runs")?.id())
    }

    /// Publishes a version and makes it the default.
    fn want(&self, version: &str) -> Result<()> {
        let objects = [seed::component(version), seed::default(version)];
        for object in objects {
            self.world.control_plane().apply(&object.to_string())?;
        }
        Ok(())
    }

    fn await_hosts(&self, version: &str, hosts: u32) -> Result<()> {
        let name = format!("webd-{version}");
        eventually_every(LOOK, format!("{name} on {hosts} hosts"), PATIENCE, || {
            let tally = Tally::read(&self.tally)?;
            let found = tally.versions.get(&name).copied().unwrap_or_default();
            ensure!(found >= u64::from(hosts), "{tally:?}");
            Ok(())
        })
    }

    fn await_completion(&self) -> Result<()> {
        let wait = ["wait", "clusterpackageversion/default", "--for=condition=Complete", "--timeout=120s"];
        self.world.kubectl(wait)?;
        // The statuses of the last machines may still be on their way.
        let mut last = None;
        eventually_every(Duration::from_secs(1), "the last write", PATIENCE, || {
            let writes = self.requests()?.writes(is_ours);
            ensure!(last.replace(writes) == Some(writes), "there are {writes} writes by now");
            Ok(())
        })
    }

    fn requests(&self) -> Result<Requests> {
        self.world.kubectl(["get", "--raw", "/metrics"]).map(|page| Requests::read(&page))
    }

    fn moment(&self) -> Result<Moment> {
        Ok(Moment {
            at: Instant::now(),
            usage: self.usage()?,
            requests: self.requests()?,
            hosts: Tally::read(&self.tally)?,
        })
    }

    fn cost_since(&self, before: &Moment) -> Result<Cost> {
        let now = self.moment()?;
        Ok(Cost {
            machines: self.machines,
            took: now.at - before.at,
            cpu: now.usage.cpu.saturating_sub(before.usage.cpu),
            usage: now.usage,
            requests: now.requests.since(&before.requests),
            hosts: now.hosts.since(&before.hosts),
        })
    }

    /// The process of the farm, for those who want to know what it used.
    #[must_use]
    pub fn farm(&self) -> u32 {
        self.farm.id()
    }
}

impl Cost {
    /// Writes of the operator but the renewals of its Lease.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.requests.writes(is_ours)
    }

    /// Writes of the object that owns the rollout.
    #[must_use]
    pub fn owner_writes(&self) -> u64 {
        self.requests.writes(|key| key.contains(" clusterpackageversions/status "))
    }

    /// A number of things per machine.
    #[must_use]
    pub fn per_machine(&self, count: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let count = count as f64;
        count / f64::from(self.machines)
    }

    /// Processor time per machine, in milliseconds.
    #[must_use]
    pub fn cpu_per_machine(&self) -> f64 {
        self.cpu.as_secs_f64() * 1000.0 / f64::from(self.machines)
    }
}

/// Whether a write is one that the operator decided on, and not a renewal of its Lease. Nobody else writes these kinds
/// while something is measured, but for the two objects that ask for a version.
fn is_ours(key: &str) -> bool {
    [" machines", " clusterpackageversions/status ", " machinecomponents ", " nodes", " events "]
        .iter()
        .any(|part| key.contains(part))
        && !key.starts_with("POST machinecomponents")
}

/// Every address of the farm is local to the namespace in which the operator runs, and there are ports enough for all
/// connections.
fn open_addresses(world: &World) -> Result<()> {
    let run = |program: &str, arguments: &[&str]| {
        run_to_end(world.command(Path::new(program)).args(arguments)).map(drop)
    };
    run("ip", &["route", "replace", "local", "10.0.0.0/8", "dev", "lo"])?;
    run("sysctl", &["-qw", "net.ipv4.ip_local_port_range=1024 65535", "net.core.somaxconn=4096"])
}
