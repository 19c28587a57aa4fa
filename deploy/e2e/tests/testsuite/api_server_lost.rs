//! etcd and the API server are killed during an upgrade, and restarted.

use anyhow::{Result, bail, ensure};
use seaworthy_e2e::{Fleet, Health, Operation, PATIENCE, Pace, eventually, overlapping, scenario};

const BOTH: [&str; 2] = ["host-1", "host-2"];

/// So slow that a download of 3 MB is still under way after a minute, and so steady that nobody gives it up.
const CRAWL: Pace = Pace::BytesPerSecond(50_000);

#[test]
fn the_operator_recovers_by_itself_and_does_nothing_wrong_meanwhile() -> Result<()> {
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        ["1.0.0", "1.1.0"].into_iter().try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 1)?;
        fleet.settles(&BOTH, "1.0.0", "ahoy")?;
        fleet.rollout_completes()?;
        let process = fleet.operator()?.id();
        fleet.scene("(j) etcd and kube-apiserver are killed during an upgrade, and restarted", outage)?;
        fleet.operator()?.must_run()?;
        ensure!(fleet.operator()?.id() == process);
        // A second time, with nothing under way: what people ask for afterwards is done.
        fleet.scene("(j) killed and restarted once more, then an edit", |fleet| {
            kill(fleet)?;
            restart(fleet)?;
            fleet.set_default("1.0.0", "back again", 1)?;
            fleet.settles(&BOTH, "1.0.0", "back again")
        })
    })
}

fn outage(fleet: &mut Fleet<'_>) -> Result<()> {
    let world = fleet.world();
    world.artefacts().set_pace(CRAWL)?;
    fleet.set_default("1.1.0", "ahoy", 1)?;
    let count = || -> Result<usize> { world.hosts().map(|host| Ok(host.operations()?.len())).sum() };
    eventually("the start of the upgrade", PATIENCE, || {
        ensure!(count()? == 3, "no host is at work");
        Ok(())
    })?;
    kill(fleet)?;
    world.artefacts().set_pace(Pace::Full)?;
    eventually("the end of what was under way", PATIENCE, || {
        for host in world.hosts() {
            if host.operations()?.get(1).is_some_and(Operation::has_succeeded) {
                return Ok(());
            }
        }
        bail!("it runs")
    })?;
    // Without an API server nobody can be admitted: the other host is left alone.
    ensure!(count()? == 3, "the operator went on without an API server");
    fleet.operator()?.must_run()?;
    restart(fleet)?;
    fleet.settles(&BOTH, "1.1.0", "ahoy")?;
    fleet.rollout_completes()?;
    let (one, other) = (world.host("host-1")?.operations()?, world.host("host-2")?.operations()?);
    for operations in [&one, &other] {
        ensure!(
            operations.len() == 2 && operations.iter().all(|o| o.has_succeeded() && o.count("swapped") == 1),
            "{operations:?}"
        );
    }
    ensure!(overlapping(&one[1..], &other[1..])?.is_none(), "both at once: {one:?} {other:?}");
    Ok(())
}

fn kill(fleet: &Fleet<'_>) -> Result<()> {
    let control_plane = fleet.world().control_plane();
    control_plane.kill_etcd()?;
    control_plane.kill_api_server()?;
    fleet.note("etcd and kube-apiserver are gone")
}

fn restart(fleet: &Fleet<'_>) -> Result<()> {
    let control_plane = fleet.world().control_plane();
    control_plane.start_etcd()?;
    control_plane.start_api_server()?;
    fleet.note("etcd and kube-apiserver are back")
}
