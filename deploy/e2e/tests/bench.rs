//! What a fleet of a thousand machines costs, in numbers that do not depend on the computer: writes and orders.

use std::time::Duration;

use anyhow::{Result, ensure};
use seaworthy_e2e::bench::{Bench, Cost};
use seaworthy_e2e::{World, where_supported};

const MACHINES: u32 = 1_000;

/// A wave has at most 5 % of the machines, and at least a quarter of that while others are at work; it is one write.
const WAVES: u64 = 80;

/// Writes of Machines.
fn of_machines(cost: &Cost) -> u64 {
    cost.requests.writes(|key| key.contains(" machines"))
}

#[test]
fn a_thousand_machines_cost_no_more_writes_and_orders_than_they_may() -> Result<()> {
    where_supported(|| {
        let world = World::start(0)?;
        let mut bench = Bench::start(&world, MACHINES, Duration::ZERO)?;
        bench.start_operator()?;
        let import = bench.roll_out("1.0.0")?;
        eprintln!("import: {} writes, {:?}", import.writes(), import.hosts);
        // The finalizer, the identity of the host before its first operation, and what came of it.
        ensure!(of_machines(&import) <= 3 * u64::from(MACHINES), "{:#?}", import.requests.lines());
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

        let (_, rest) = bench.take_over("1.2.0", MACHINES * 3 / 10)?;
        eprintln!("the rest after a takeover: {} writes, {:?}", rest.writes(), rest.hosts);
        ensure!(of_machines(&rest) <= u64::from(MACHINES), "{:#?}", rest.requests.lines());
        ensure!(rest.owner_writes() <= WAVES, "{:#?}", rest.requests.lines());
        ensure!(rest.hosts.redundant + rest.hosts.refused == 0, "{:?}", rest.hosts);
        bench.stop_operator()
    })
}
