//! What a fleet of a thousand machines costs, in numbers that do not depend on the computer: writes and orders.

use std::time::Duration;

use anyhow::{Result, ensure};
use seaworthy_e2e::bench::{Bench, Cost};
use seaworthy_e2e::{World, where_supported};

const MACHINES: u32 = 1_000;

/// A wave has at most 5 % of the machines, and at least a quarter of that while others are at work; it is one write. A smaller one
/// is granted after ten seconds in which no more machines have ended, but here hosts need no time.
const WAVES: u64 = 80;

/// The batches of a strategy that says nothing about them.
const BATCHES: u64 = 5;

/// What a rollout in batches writes of its owner. Each batch has one write more in which its machines begin to be watched, and
/// its last wave may be as small as what is left of it. All this depends on shares of the fleet, not on its size: a fleet of
/// ten thousand writes no more, and there it is at most 0.009 per machine, where 0.02 is the goal. Here it is 0.035 as a rule.
const WAVES_IN_BATCHES: u64 = WAVES + 2 * BATCHES;

/// What a rollout in batches writes besides Machines and their owner: an Event for the beginning of each batch, and for the end
/// of the rollout; the status of the old and the new version, when they come into use and go out of it.
const ASIDE: u64 = BATCHES + 1 + 4;

/// How long the API server is throttled.
const THROTTLED: Duration = Duration::from_secs(10);

/// Writes of Machines.
fn of_machines(cost: &Cost) -> u64 {
    cost.requests.writes(|key| key.contains(" machines"))
}

#[test]
fn a_thousand_machines_cost_no_more_writes_and_orders_than_they_may() -> Result<()> {
    where_supported(|| {
        let world = World::start(0)?;
        let mut bench = Bench::start(&world, MACHINES, Duration::ZERO)?;
        let (_, import) = bench.import("1.0.0")?;
        eprintln!("import: {} writes, {:?}", import.writes(), import.hosts);
        // The finalizer with the identity of the host before its first operation, and what came of it.
        let imports = import.requests.writes(|key| key.contains(" machines "));
        ensure!(imports == u64::from(MACHINES), "{:#?}", import.requests.lines());
        ensure!(of_machines(&import) <= 2 * u64::from(MACHINES), "{:#?}", import.requests.lines());
        ensure!(import.owner_writes() <= WAVES, "{:#?}", import.requests.lines());
        ensure!(import.hosts.applied == u64::from(MACHINES), "{:?}", import.hosts);

        let upgrade = bench.roll_out("1.1.0")?;
        eprintln!("upgrade: {} writes, {:?}", upgrade.writes(), upgrade.hosts);
        ensure!(of_machines(&upgrade) == u64::from(MACHINES), "{:#?}", upgrade.requests.lines());
        ensure!(upgrade.owner_writes() <= WAVES, "{:#?}", upgrade.requests.lines());
        ensure!(upgrade.hosts.applied == u64::from(MACHINES), "{:?}", upgrade.hosts);
        let (commands, connections) = (upgrade.hosts.commands, upgrade.hosts.connections);
        ensure!(commands * 100 <= connections * 105, "{commands} commands, {connections} connections");
        ensure!(upgrade.hosts.repeated + upgrade.hosts.refused == 0, "{:?}", upgrade.hosts);

        upgrade_in_batches(&mut bench)?;

        let (_, rest) = bench.take_over("1.3.0", MACHINES * 3 / 10)?;
        eprintln!("the rest after a takeover: {} writes, {:?}", rest.writes(), rest.hosts);
        ensure!(of_machines(&rest) <= u64::from(MACHINES), "{:#?}", rest.requests.lines());
        ensure!(rest.owner_writes() <= WAVES, "{:#?}", rest.requests.lines());
        ensure!(rest.hosts.redundant + rest.hosts.refused == 0, "{:?}", rest.hosts);

        upgrade_while_throttled(&mut bench, &upgrade)?;
        bench.stop_operator()
    })
}

/// Gates cost no writes of Machines, and next to none of their owner. With ten thousand machines the same bounds are 1.01 writes
/// per machine, where 1.05 is the goal.
fn upgrade_in_batches(bench: &mut Bench<'_>) -> Result<()> {
    let upgrade = bench.roll_out_in_batches("1.2.0")?;
    eprintln!("upgrade in batches: {} writes, {:?}", upgrade.writes(), upgrade.hosts);
    ensure!(of_machines(&upgrade) == u64::from(MACHINES), "{:#?}", upgrade.requests.lines());
    ensure!(upgrade.owner_writes() <= WAVES_IN_BATCHES, "{:#?}", upgrade.requests.lines());
    let aside = upgrade.writes() - of_machines(&upgrade) - upgrade.owner_writes();
    ensure!(aside <= ASIDE, "{:#?}", upgrade.requests.lines());
    ensure!(upgrade.hosts.applied == u64::from(MACHINES), "{:?}", upgrade.hosts);
    ensure!(upgrade.hosts.repeated + upgrade.hosts.refused == 0, "{:?}", upgrade.hosts);
    Ok(())
}

/// Statuses that the API server refuses for a while are written later, and no host is ordered anything twice.
fn upgrade_while_throttled(bench: &mut Bench<'_>, usual: &Cost) -> Result<()> {
    let throttled = bench.throttle("1.4.0", MACHINES / 10, THROTTLED, usual)?;
    for cost in [&throttled.during, &throttled.after] {
        eprintln!("throttled, and after that: {} writes, {:?}", cost.writes(), cost.hosts);
        ensure!(cost.hosts.redundant + cost.hosts.refused == 0, "{:?}", cost.hosts);
    }
    ensure!(throttled.during.requests.answered("429") > 0, "{:#?}", throttled.during.requests.lines());
    Ok(())
}
