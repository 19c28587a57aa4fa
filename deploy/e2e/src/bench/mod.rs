//! Measures the operator as it is deployed: a real etcd and kube-apiserver, the rights of the shipped manifests, the default
//! pace, thousands of Machines and Nodes, and a [farm](crate::farm) of hosts behind real SSH.

mod requests;
pub mod seed;
mod table;
mod throttle;
mod usage;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::deadline::{eventually, eventually_every};
use crate::farm::{TALLIED, Tally};
use crate::fleet::Fleet;
use crate::process::{Process, run_to_end};
use crate::programs;
use crate::ssh::SshKey;
use crate::world::World;

pub use self::requests::Requests;
pub use self::table::{Row, table};
use self::throttle::Throttle;
pub use self::throttle::Throttled;
pub use self::usage::Usage;

/// How long a whole rollout may take.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The statuses of machines.
const MACHINES: &str = "machines/status";

/// The status of the owner of the rollouts.
const OWNERS: &str = "clusterpackageversions/status";

/// A pause between two looks at the tally of the farm.
const LOOK: Duration = Duration::from_millis(250);

/// How long each batch of a rollout with a strategy is watched. What that costs does not depend on its length.
const BAKE: Duration = Duration::from_secs(5);

/// How long the farm may take to start.
const FARM: Duration = Duration::from_secs(60);

/// A fleet of so many machines, and at most one operator.
#[derive(Debug)]
pub struct Bench<'w> {
    fleet: Fleet<'w>,
    tally: PathBuf,
    machines: u32,
    // Dropped after the operator.
    _farm: Process,
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
    /// From its beginning until every host had the version that was wanted; its length if none was.
    pub hosts_took: Duration,
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
        let fleet = Fleet::without_operator(world, &[])?;
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
            .arg(&fleet.programs().host)
            .arg("--tally")
            .arg(&tally);
        let farm = world.spawn("ssh-farm", &mut command)?;
        let mut command = world.command(&programs::of_this_crate("fleet-bench")?);
        command
            .args(["seed", &format!("--machines={machines}"), &format!("--host-key={}", key.public())])
            .arg("--kubeconfig")
            .arg(world.control_plane().kubeconfig());
        run_to_end(&mut command).context("the objects of the fleet")?;
        eventually("the farm", FARM, || Tally::read(&tally))?;
        Ok(Self { fleet, tally, machines, _farm: farm })
    }

    /// Starts an operator and waits until it is ready: it leads, and has seen everything.
    ///
    /// # Errors
    /// One runs already, or it is not ready in time.
    pub fn start_operator(&mut self) -> Result<Start> {
        let began = Instant::now();
        self.fleet.start_operator()?;
        self.fleet.wait_until_ready()?;
        Ok(Start { took: began.elapsed(), usage: self.usage()? })
    }

    /// Asks the operator to end, and waits until it has.
    ///
    /// # Errors
    /// None runs, or it does not end well.
    pub fn stop_operator(&mut self) -> Result<()> {
        self.fleet.stop_operator()
    }

    /// Makes a version the default of machines that no operator has seen, and starts the first one. The cost is all that the
    /// fleet costs until every host has it: nothing was written before.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn import(&mut self, version: &str) -> Result<(Start, Cost)> {
        self.want(version)?;
        self.start_into(version)
    }

    /// Makes a version the default, and measures until every host has it and its rollout is complete.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn roll_out(&mut self, version: &str) -> Result<Cost> {
        self.roll_out_as(version, &seed::default(version))
    }

    /// The same with a strategy: batch by batch, with a gate after each.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn roll_out_in_batches(&mut self, version: &str) -> Result<Cost> {
        self.roll_out_as(version, &seed::default_in_batches(version, BAKE))
    }

    fn roll_out_as(&mut self, version: &str, default: &Value) -> Result<Cost> {
        let before = self.moment()?;
        self.publish(version)?;
        self.fleet.apply(default)?;
        self.await_end(version, &before)
    }

    /// The same, with the operator killed once so many hosts have the version, and another one that goes on. The cost is
    /// that of the second one, from its start: the first second of a takeover is the busiest.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn take_over(&mut self, version: &str, killed_at: u32) -> Result<(Start, Cost)> {
        self.want(version)?;
        self.await_hosts(version, killed_at)?;
        self.fleet.kill_operator()?;
        self.start_into(version)
    }

    /// Starts an operator that finds machines without the default, and measures from its start until every host has it and
    /// the rollout is complete.
    fn start_into(&mut self, version: &str) -> Result<(Start, Cost)> {
        let before = self.moment_of(Usage::default())?;
        let start = self.start_operator()?;
        Ok((start, self.await_end(version, &before)?))
    }

    /// Makes a version the default, and freezes the API server for this long once so many hosts have it. Returns how long
    /// after that the first host got it.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn freeze(&mut self, version: &str, at: u32, span: Duration) -> Result<Duration> {
        self.want(version)?;
        self.await_hosts(version, at)?;
        self.fleet.world().control_plane().freeze_api_server(span)?;
        let (thawed, before) = (Instant::now(), Tally::read(&self.tally)?.applied);
        eventually_every(TALLIED, "an operation after the frost", PATIENCE, || {
            let now = Tally::read(&self.tally)?.applied;
            ensure!(now > before, "{now} operations, as before");
            Ok(())
        })?;
        let after = thawed.elapsed();
        self.await_hosts(version, self.machines)?;
        self.await_completion()?;
        Ok(after)
    }

    /// Makes a version the default, and throttles the API server for this long once so many hosts have it: it takes half of
    /// the statuses that the operator writes at its usual pace.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn throttle(&mut self, version: &str, at: u32, span: Duration, usual: &Cost) -> Result<Throttled> {
        let per_second = usual.half_pace();
        self.want(version)?;
        self.await_hosts(version, at)?;
        let throttle = Throttle::start(self.fleet.world(), per_second)?;
        let requests = self.requests()?;
        eventually_every(LOOK, "a status that is refused", PATIENCE, || {
            ensure!(self.requests()?.since(&requests).answered("429") > 0, "none is");
            Ok(())
        })?;
        let before = self.moment()?;
        sleep(span);
        let during = self.cost_since(&before)?;
        throttle.lift()?;
        let before = self.moment()?;
        let after = self.await_end(version, &before)?;
        Ok(Throttled { per_second, during, after })
    }

    /// Measures a span in which nobody asks for anything.
    ///
    /// # Errors
    /// The operator ends, or the API server does not answer.
    pub fn idle(&mut self, span: Duration) -> Result<Cost> {
        let before = self.moment()?;
        sleep(span);
        self.cost_since(&before)
    }

    /// How people reach the fleet.
    ///
    /// # Errors
    /// A script cannot be written.
    pub fn hints(&self) -> Result<String> {
        self.fleet.world().hints()
    }

    /// Publishes a version and makes it the default.
    fn want(&self, version: &str) -> Result<()> {
        self.publish(version)?;
        self.fleet.apply(&seed::default(version))
    }

    fn publish(&self, version: &str) -> Result<()> {
        self.fleet.apply(&seed::component(version)?)
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

    /// Waits until every host has a version and its rollout is complete. Returns what that cost since `before`.
    fn await_end(&mut self, version: &str, before: &Moment) -> Result<Cost> {
        self.await_hosts(version, self.machines)?;
        let hosts_took = before.at.elapsed();
        self.await_completion()?;
        Ok(Cost { hosts_took, ..self.cost_since(before)? })
    }

    fn await_completion(&self) -> Result<()> {
        let wait = ["wait", "clusterpackageversion/default", "--for=condition=Complete", "--timeout=120s"];
        self.fleet.world().kubectl(wait)?;
        // The statuses of the last machines may still be on their way.
        let mut last = None;
        eventually_every(Duration::from_secs(1), "the last write", PATIENCE, || {
            let writes = self.requests()?.writes(is_ours);
            ensure!(last.replace(writes) == Some(writes), "there are {writes} writes by now");
            Ok(())
        })
    }

    fn requests(&self) -> Result<Requests> {
        self.fleet.world().kubectl(["get", "--raw", "/metrics"]).map(|page| Requests::read(&page))
    }

    /// What the operator has used so far.
    fn usage(&mut self) -> Result<Usage> {
        Usage::of(self.fleet.operator()?.id())
    }

    fn moment(&mut self) -> Result<Moment> {
        let usage = self.usage()?;
        self.moment_of(usage)
    }

    fn moment_of(&self, usage: Usage) -> Result<Moment> {
        let (requests, hosts) = (self.requests()?, Tally::read(&self.tally)?);
        Ok(Moment { at: Instant::now(), usage, requests, hosts })
    }

    fn cost_since(&mut self, before: &Moment) -> Result<Cost> {
        let now = self.moment()?;
        let took = now.at - before.at;
        Ok(Cost {
            machines: self.machines,
            took,
            hosts_took: took,
            cpu: now.usage.cpu.saturating_sub(before.usage.cpu),
            usage: now.usage,
            requests: now.requests.since(&before.requests),
            hosts: now.hosts.since(&before.hosts),
        })
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
        self.requests.writes(|key| key.contains(OWNERS))
    }

    /// A number of things per machine.
    #[must_use]
    pub fn per_machine(&self, count: u64) -> f64 {
        number(count) / f64::from(self.machines)
    }

    /// How long the hosts took, divided by the number of operations.
    #[must_use]
    pub fn hosts_took_each(&self) -> Duration {
        self.hosts_took.div_f64(number(self.hosts.applied.max(1)))
    }

    /// Half of the operations per second, rounded up.
    fn half_pace(&self) -> NonZeroU32 {
        let milliseconds = u128::from(self.hosts.applied) * 500;
        let per_second = milliseconds.div_ceil(self.hosts_took.as_millis().max(1));
        u32::try_from(per_second).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
    }

    /// How long it took, in parts of what it takes when [`SHARE`](seed::SHARE) of the hosts are always at work, each for as
    /// long as an operation lasts.
    #[must_use]
    pub fn share_of_ideal(&self, operation: Duration) -> f64 {
        let at_once = (self.machines * seed::SHARE / 100).max(1);
        let ideal = operation.as_secs_f64() * f64::from(self.machines.div_ceil(at_once));
        self.took.as_secs_f64() / ideal
    }

    /// Processor time per machine, in milliseconds.
    #[must_use]
    pub fn cpu_per_machine(&self) -> f64 {
        self.cpu.as_secs_f64() * 1000.0 / f64::from(self.machines)
    }
}

/// A count, to calculate with.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub const fn number(count: u64) -> f64 {
    count as f64
}

/// Whether a write is one that the operator decided on, and not a renewal of its Lease. Nobody else writes these kinds
/// while something is measured, but for the two objects that ask for a version.
fn is_ours(key: &str) -> bool {
    [" machines", OWNERS, " machinecomponents", " nodes", " events "].iter().any(|part| key.contains(part))
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
