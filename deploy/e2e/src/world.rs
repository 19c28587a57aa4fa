//! A control plane, an artefact server and hosts, on one switch.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use crate::artefacts::ArtefactServer;
use crate::conformance::calls;
use crate::control_plane::ControlPlane;
use crate::host::{Blueprint, Host, Purpose};
use crate::leftovers::{Sweep, sweep};
use crate::network::Network;
use crate::parts::{self, Controllers, Parts};
use crate::process::Process;
use crate::run::{Run, unsupported, where_supported};
use crate::ssh::SshKey;
use crate::sysctls::Sysctls;
use crate::{image, logs};

/// How many lines of each log are printed after a failure.
const TAIL: usize = 25;

/// Starts a world with hosts `host-1` to `host-N` and plays `act` in it. If `act` fails or panics, the end of every
/// log is printed. Where no world can be started at all (not Linux, not root), it says so and succeeds. If an
/// operator ran, its calls must all be played by the conformance script.
///
/// # Errors
/// The world cannot be started, or `act` fails.
pub fn scenario(hosts: u8, act: impl FnOnce(&World) -> Result<()>) -> Result<()> {
    scenario_for(Purpose::Services, hosts, act)
}

/// Like [`scenario`], in a world for this purpose.
///
/// # Errors
/// As for [`scenario`].
pub fn scenario_for(purpose: Purpose, hosts: u8, act: impl FnOnce(&World) -> Result<()>) -> Result<()> {
    where_supported(|| {
        let world = World::start_for(purpose, hosts)?;
        act(&world).and_then(|()| calls_are_covered(&world)).inspect_err(|error| {
            eprintln!("{error:#}");
            logs::print_tails(world.run.logs(), TAIL);
        })
    })
}

/// What the operator asks of the API server is what the modelled API server was held against.
fn calls_are_covered(world: &World) -> Result<()> {
    let shapes = calls::must_be_covered(&world.run)?;
    if shapes > 0 {
        eprintln!("{shapes} shapes of calls of the operator, all of them in the conformance script");
    }
    Ok(())
}

/// Everything real that the project is tested against. Dropping it removes it.
#[derive(Debug)]
pub struct World {
    // Fields are dropped in this order: processes before the networks they live in.
    hosts: BTreeMap<String, Host>,
    artefacts: ArtefactServer,
    control_plane: ControlPlane,
    network: Network,
    blueprint: Blueprint,
    // Restored while the record is still there.
    _sysctls: Sysctls,
    run: Arc<Run>,
}

impl World {
    /// Starts a control plane, an artefact server, and hosts with the names `host-1` to `host-N`. Builds what is not in the
    /// cache yet, and removes what earlier runs left behind.
    ///
    /// # Errors
    /// Not root, a missing program, or something does not start; then the end of every log was printed.
    pub fn start(hosts: u8) -> Result<Self> {
        Self::start_for(Purpose::Services, hosts)
    }

    /// Like [`start`](Self::start), for this purpose: for [`Purpose::Nodes`] the control plane runs pods, and the hosts
    /// find the pods of each other.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_for(purpose: Purpose, hosts: u8) -> Result<Self> {
        if let Some(reason) = unsupported() {
            bail!("{reason}");
        }
        sweep(&Sweep::Abandoned)?;
        let (parts, image) = (parts::ensure()?, image::ensure()?);
        let controllers = match purpose {
            Purpose::Services => None,
            Purpose::Nodes => Some(parts::ensure_controllers()?),
        };
        let start = Instant::now();
        let run = Arc::new(Run::begin()?);
        let world = SshKey::generate(&run.state().join("ssh/id_ed25519"))
            .map(|client| Blueprint { purpose, image, client })
            .and_then(|blueprint| Self::start_in(&run, hosts, parts, controllers, blueprint));
        match &world {
            Ok(_) => eprintln!("run {}: {hosts} hosts up after {:.1?}", run.id(), start.elapsed()),
            Err(_) => logs::print_tails(run.logs(), TAIL),
        }
        world
    }

    fn start_in(
        run: &Arc<Run>,
        hosts: u8,
        parts: Parts,
        controllers: Option<Controllers>,
        blueprint: Blueprint,
    ) -> Result<Self> {
        let network = Network::create(run)?;
        let sysctls = Sysctls::record(run.state(), run.keep())?;
        let names = (1..=hosts).map(|number| format!("host-{number}")).collect::<Vec<_>>();
        let (control_plane, artefacts, hosts) = thread::scope(|scope| {
            let control_plane = scope.spawn(|| ControlPlane::start(run, &network, parts, controllers));
            let artefacts = scope.spawn(|| ArtefactServer::start(run, &network));
            let boot = |name| Ok((String::clone(name), Host::boot(run, &network, name, &blueprint)?));
            let hosts = names.iter().map(|name| scope.spawn(move || boot(name))).collect::<Vec<_>>();
            let hosts = hosts.into_iter().map(joined).collect::<Vec<_>>();
            (joined(control_plane), joined(artefacts), hosts)
        });
        let hosts = hosts.into_iter().collect::<Result<BTreeMap<_, _>>>()?;
        let (control_plane, artefacts) = (control_plane?, artefacts?);
        let run = Arc::clone(run);
        let world = Self { hosts, artefacts, control_plane, network, blueprint, _sysctls: sysctls, run };
        world.hosts.values().try_for_each(|host| world.route_pods_of(host))?;
        Ok(world)
    }

    /// Between hosts, what a cloud's route controller or a routing daemon does.
    fn route_pods_of(&self, host: &Host) -> Result<()> {
        if self.blueprint.purpose != Purpose::Nodes {
            return Ok(());
        }
        self.control_plane.endpoint().route_pods_of(host.endpoint())?;
        for other in self.hosts.values().filter(|other| other.name() != host.name()) {
            other.endpoint().route_pods_of(host.endpoint())?;
            host.endpoint().route_pods_of(other.endpoint())?;
        }
        Ok(())
    }

    /// Boots one more host.
    ///
    /// # Errors
    /// The name is taken, or the host does not start.
    pub fn add_host(&mut self, name: &str) -> Result<&Host> {
        if self.hosts.contains_key(name) {
            bail!("there is a host {name} already");
        }
        let host = Host::boot(&self.run, &self.network, name, &self.blueprint)?;
        self.route_pods_of(&host)?;
        Ok(self.hosts.entry(name.to_owned()).or_insert(host))
    }

    /// Boots a host that is none of [`hosts`](Self::hosts), so that nobody does anything to it.
    ///
    /// # Errors
    /// It does not start.
    pub fn witness(&self) -> Result<Host> {
        Host::boot(&self.run, &self.network, "witness", &self.blueprint)
    }

    /// A host by its name.
    ///
    /// # Errors
    /// There is none.
    pub fn host(&self, name: &str) -> Result<&Host> {
        self.hosts.get(name).with_context(|| format!("there is no host {name}"))
    }

    /// All hosts, by name.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.values()
    }

    /// etcd and kube-apiserver.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// The web server from which hosts fetch artefacts.
    #[must_use]
    pub fn artefacts(&self) -> &ArtefactServer {
        &self.artefacts
    }

    /// The key that may log in as root on every host.
    #[must_use]
    pub fn ssh_key(&self) -> &SshKey {
        &self.blueprint.client
    }

    /// The id and the folders of this run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Runs kubectl as administrator and returns what it printed.
    ///
    /// # Errors
    /// It failed; the error holds what it said.
    pub fn kubectl<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<String> {
        self.control_plane.kubectl(arguments)
    }

    /// Runs a command on a host over real SSH, from where the operator runs, and returns what it printed.
    ///
    /// # Errors
    /// No connection, another host key, or the command failed.
    pub fn ssh(&self, host: &str, command: &str) -> Result<String> {
        self.host(host)?.ssh_from(self.control_plane.endpoint(), command)
    }

    /// A command that runs `program` in the namespace of the control plane, where the operator belongs.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        self.control_plane.endpoint().namespace().command(program)
    }

    /// Starts a command in the background; its output goes to `NAME.log` of this run.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, name: &str, command: &mut Command) -> Result<Process> {
        let mut process = Process::spawn(name, command, &self.run.log(name))?;
        if self.run.keep() {
            process.keep();
        }
        Ok(process)
    }

    /// What a person needs to look around, in lines.
    ///
    /// # Errors
    /// The script for kubectl cannot be written.
    pub fn hints(&self) -> Result<String> {
        let kubectl = self.control_plane.write_kubectl_script()?;
        let namespace = self.control_plane.endpoint().namespace().name();
        let mut text = format!(
            "run         {}\nlogs        {}\nkubeconfig  {}   (only inside the namespace {namespace})\nkubectl     {}\n\
             artefacts   {}\n",
            self.run.id(),
            self.run.logs().display(),
            self.control_plane.kubeconfig().display(),
            kubectl.display(),
            self.artefacts.folder().display(),
        );
        for host in self.hosts() {
            let ssh = self.control_plane.write_ssh_script(host)?;
            text += &format!("{}      {}\n", host.name(), ssh.display());
        }
        Ok(text)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if thread::panicking() {
            logs::print_tails(self.run.logs(), TAIL);
        }
        if self.run.keep() {
            let hints = self.hints().unwrap_or_else(|error| format!("{error:#}\n"));
            eprint!("kept for inspection; `e2e-up --remove {}` removes it\n{hints}", self.run.id());
        }
    }
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a thread that starts a part of the world panicked"))?
}
