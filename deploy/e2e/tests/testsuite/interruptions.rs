//! During an installation a host loses its power, or the operator loses its connections.

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Fleet, Health, Host, Operation, PATIENCE, Pace, eventually, overlapping, scenario};

const BOTH: [&str; 2] = ["host-1", "host-2"];

/// So slow that a download of 3 MB is still under way after a minute, and so steady that nobody gives it up.
const CRAWL: Pace = Pace::BytesPerSecond(50_000);

#[test]
fn a_host_that_was_off_during_an_upgrade_catches_up() -> Result<()> {
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        ["1.0.0", "1.1.0"].into_iter().try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 1)?;
        fleet.settles(&BOTH, "1.0.0", "ahoy")?;
        fleet.rollout_completes()?;
        fleet.scene("(d) a host is powered off during an upgrade, then on", power_cut)
    })
}

fn power_cut(fleet: &mut Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    world.artefacts().set_pace(CRAWL)?;
    fleet.set_default("1.1.0", "ahoy", 1)?;
    let (one, other) = (world.host("host-1")?, world.host("host-2")?);
    let (struck, waiting) = eventually("the start of the upgrade", PATIENCE, || {
        let at_work = |host: &Host| {
            let operations = host.operations()?;
            anyhow::Ok(operations.get(1).is_some_and(|second| second.count("started") == 1))
        };
        match (at_work(one)?, at_work(other)?) {
            (true, _) => Ok((one, other)),
            (_, true) => Ok((other, one)),
            (false, false) => anyhow::bail!("no host is at work"),
        }
    })?;
    struck.power_off()?;
    world.artefacts().set_pace(Pace::Full)?;
    fleet.await_condition(("machine", struck.name()), ["Reachable", "False", "ConnectionFailed"])?;
    fleet.await_condition(("machine", struck.name()), ["Ready", "False", "ConnectionFailed"])?;
    // The one that is off takes the only slot: the other one keeps its version.
    ensure!(waiting.operations()?.len() == 1, "{:?}", waiting.operations()?);
    fleet.note(&world.kubectl(["get", "machines"])?)?;
    ensure!(fleet.webd(waiting.name())?.version == "1.0.0");

    struck.power_on()?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.rollout_completes()?;
    let (late, last) = (struck.operations()?, waiting.operations()?);
    let summary = late.iter().map(Operation::summary).collect::<Vec<_>>().join("\n");
    fleet.note(&format!("journals of {}:\n{summary}", struck.name()))?;
    ensure!(late.iter().map(|operation| operation.count("swapped")).sum::<usize>() == 2, "{summary}");
    ensure!(late.last().is_some_and(Operation::has_succeeded), "{summary}");
    ensure!(overlapping(&late[1..], &last[1..])?.is_none(), "both at once: {late:?} {last:?}");
    Ok(())
}

#[test]
fn an_installation_goes_on_when_the_connection_is_cut() -> Result<()> {
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.publish("1.0.0", Health::Healthy)?;
        fleet.scene("(f) SSH is cut in mid-install", cut)
    })
}

/// On one host the session dies, to the other one the network is gone: to the operator, both are lost.
fn cut(fleet: &mut Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    world.artefacts().set_pace(CRAWL)?;
    fleet.add_machines()?;
    fleet.set_default("1.0.0", "ahoy", 2)?;
    for host in world.hosts() {
        eventually(format!("the start on {}", host.name()), PATIENCE, || {
            let operations = host.operations()?;
            let downloads =
                |operation: &Operation| operation.count("started") == 1 && operation.end().is_none();
            ensure!(operations.iter().any(downloads), "{operations:?}");
            Ok(())
        })?;
    }
    let operator = world.control_plane().endpoint();
    operator.cut()?;
    // On a slow machine the operator may have given up the session already, which comes to the same.
    world.host("host-1")?.sh("pkill --signal KILL --full 'sshd: [r]oot' || test $? -eq 1")?;
    world.artefacts().set_pace(Pace::Full)?;
    for host in world.hosts() {
        eventually(format!("the end on {}", host.name()), PATIENCE, || {
            let operations = host.operations()?;
            let last = operations.last().context("no operation")?;
            ensure!(last.has_succeeded(), "{}", last.summary());
            Ok(())
        })?;
    }
    let machine = fleet.get("machine", "host-1")?;
    ensure!(machine["status"]["installed"].is_null(), "nobody can have told: {machine}");
    fleet.note("both hosts have finished by themselves, cut off from the operator")?;
    operator.restore()?;
    fleet.settles(&BOTH, "1.0.0", "ahoy")?;
    fleet.rollout_completes()?;
    for host in world.hosts() {
        let operations = host.operations()?;
        ensure!(operations.len() == 1 && operations[0].count("swapped") == 1, "{operations:?}");
    }
    Ok(())
}
