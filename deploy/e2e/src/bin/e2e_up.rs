//! Starts the real world for a person to play in, says how to reach it, and removes it at Ctrl-C or SIGTERM.

use anyhow::{Result, ensure};
use clap::Parser;
use seaworthy_e2e::{Fleet, Health, Programs, Sweep, World, ensure_image, ensure_parts, manifests, sweep};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Start a real control plane and real hosts on which the operator keeps a small service, and remove them at Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "e2e-up")]
struct Arguments {
    /// How many hosts to boot.
    #[arg(long, default_value_t = 2)]
    hosts: u8,
    /// Only a control plane and hosts: no CRDs, no operator, no Machines.
    #[arg(long)]
    bare: bool,
    /// Remove this run, which was kept (`SEAWORTHY_E2E_KEEP=1`), and stop.
    #[arg(long, value_name = "RUN")]
    remove: Option<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(run) = arguments.remove {
        let removed = sweep(&Sweep::Run(run.clone()))?;
        ensure!(!removed.is_empty(), "--remove: there is no run {run}, or its process lives");
        return Ok(());
    }
    if !arguments.bare {
        Programs::find()?;
    }
    // These take minutes the first time. Until they are done a signal may end us: there is nothing to remove yet.
    ensure_parts()?;
    ensure_image()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let guard = runtime.enter();
    let mut stop = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
    drop(guard);

    let world = World::start(arguments.hosts)?;
    let fleet = if arguments.bare { None } else { Some(populate(&world)?) };
    println!("{}", world.hints()?);
    if fleet.is_some() {
        println!("{}", suggestions(&world)?);
    }
    println!("Ctrl-C removes everything.");
    runtime.block_on(first(&mut stop));

    eprintln!("stopping");
    fleet.map_or(Ok(()), |mut fleet| fleet.stop_operator())
}

/// The versions of `webd` that can be installed. The last one does not become healthy.
const VERSIONS: [(&str, Health); 3] =
    [("1.0.0", Health::Healthy), ("1.1.0", Health::Healthy), ("2.0.0", Health::Sick)];

/// Starts the operator, publishes versions of `webd`, and asks for the first one on every host.
fn populate(world: &World) -> Result<Fleet<'_>> {
    let fleet = Fleet::start(world)?;
    for (version, health) in VERSIONS {
        fleet.publish(version, health)?;
    }
    fleet.add_machines()?;
    let (first, _) = VERSIONS[0];
    fleet.set_default(first, "ahoy", 1)?;
    Ok(fleet)
}

/// Commands for a person to try.
fn suggestions(world: &World) -> Result<String> {
    let kubectl = world.control_plane().write_kubectl_script()?;
    let kubectl = kubectl.display();
    let change = |version: &str| {
        let spec = json!({"spec": {"components": [manifests::webd_setting(version, "ahoy")]}});
        format!("{kubectl} patch cpv default --type=merge --patch '{spec}'")
    };
    let mut text = format!(
        "The operator installs webd 1.0.0 on every host; its log is {}.\n\n  \
         {kubectl} get machines --watch\n  {kubectl} get cpv default -o yaml\n  {kubectl} explain machine.spec\n\n  \
         # upgrade the hosts, one at a time\n  {}\n\n  \
         # a version that does not become healthy: after 10 s the first host takes it back, and no other gets it\n  {}\n",
        world.run().log("operator").display(),
        change("1.1.0"),
        change("2.0.0"),
    );
    if let Some(host) = world.hosts().next() {
        let ssh = world.control_plane().write_ssh_script(host)?;
        let (name, ssh) = (host.name(), ssh.display());
        text += &format!(
            "\n  # break the service on {name} and watch it come back; read what was done there\n  \
             {ssh} 'rm /opt/seaworthy/current/webd/bin/webd; systemctl kill --signal=KILL webd'\n  \
             {ssh} 'systemctl status webd; tail -n +1 /opt/seaworthy/state/operations/*.journal'\n\n  \
             # take {name} out of the fleet: its software goes\n  {kubectl} delete machine {name}\n",
        );
    }
    Ok(text)
}

/// Waits for the first of the signals.
async fn first([one, other]: &mut [Signal; 2]) {
    std::future::poll_fn(|context| {
        if one.poll_recv(context).is_ready() {
            std::task::Poll::Ready(())
        } else {
            other.poll_recv(context).map(drop)
        }
    })
    .await;
}
