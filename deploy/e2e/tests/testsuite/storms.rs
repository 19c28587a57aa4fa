//! Real nodes are upgraded while the operator is killed again and again, the API server is down for minutes, and etcd restarts
//! and loses its history.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use seaworthy_e2e::{
    Fleet, Journals, Moments, Nodes, Operation, PATIENCE, Pace, Purpose, World, eventually, eventually_every,
    journals, one_at_a_time, scenario_for, since,
};
use serde_json::{Value, json};

/// How often the operator is killed.
const KILLS: usize = 20;

/// The next operator leads 3 to 4 s after a kill, and an upgrade of one node takes 5 s: some kills hit an operator that stands
/// by, others one at work.
const KILLED_WITHIN: Duration = Duration::from_secs(10);

/// What the fleet goes to and fro between.
const VERSIONS: [&str; 2] = ["1.36.1", "1.36.3"];

/// How long the API server is away.
const OUTAGE: Duration = Duration::from_secs(120);

/// So slow that a kubelet of 60 MB is still on its way when everything is away.
const CRAWL: Pace = Pace::BytesPerSecond(4_000_000);

#[test]
fn no_storm_makes_a_host_do_anything_twice_or_for_an_operator_of_the_past() -> Result<()> {
    let mut moments = Moments::begin()?;
    scenario_for(Purpose::Nodes, 3, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.note(&moments.to_string())?;
        let mut nodes =
            fleet.scene("three nodes", |fleet| Nodes::join(fleet, &[("kubelet", VERSIONS[0])], "24h"))?;
        nodes.set(&fleet, "maxUnavailable", json!(1))?;
        nodes.set(&fleet, "maxFailures", json!(1))?;
        fleet.scene("kill -9 of the operator during upgrades, twenty times", |fleet| {
            kills(fleet, &mut nodes, &mut moments)
        })?;
        fleet.wait_until_ready()?;
        let operator = fleet.operator()?.id();
        fleet.scene("kube-apiserver is away for two minutes, and history with it", |fleet| {
            outage(fleet, &mut nodes)
        })?;
        fleet.scene("etcd is killed during an upgrade, and restarted", |fleet| {
            let before = journals(fleet.world())?;
            begins(fleet, &mut nodes, &before)?;
            fleet.world().control_plane().kill_etcd()?;
            fleet.world().control_plane().start_etcd()?;
            fleet.world().artefacts().set_pace(Pace::Full)?;
            finishes(fleet, &nodes, &before, Instant::now())
        })?;
        fleet.operator()?.must_run()?;
        ensure!(fleet.operator()?.id() == operator, "the operator was restarted");
        fleet.stop_operator()
    })
}

/// Upgrades to and fro, and kills the operator: every fifth time once a host is at work, otherwise at random moments.
fn kills(fleet: &mut Fleet<'_>, nodes: &mut Nodes, moments: &mut Moments) -> Result<()> {
    let world = fleet.world();
    let before = journals(world)?;
    let (mut rounds, mut hits) = (0, 0);
    for kill in 1..=KILLS {
        if kill == 1 || are_at(&since(&before, journals(world)?), nodes, rounds) {
            let version = VERSIONS[(rounds + 1) % 2];
            nodes.want(fleet, "kubelet", version)?;
            rounds += 1;
        }
        let moment = KILLED_WITHIN.mul_f64(moments.draw());
        let start = Instant::now();
        if kill % 5 == 1 {
            // On a slow machine an operator may need longer to begin work than it is left to run.
            eventually("a host at work", PATIENCE, || {
                let news = since(&before, journals(world)?);
                ensure!(at_work(&news) > 0 || are_at(&news, nodes, rounds), "no host is at work");
                Ok(())
            })?;
        } else {
            // The moment is what this test is about: nothing is waited for here.
            thread::sleep(moment);
        }
        fleet.kill_operator()?;
        let after = start.elapsed();
        let hit = at_work(&since(&before, journals(world)?));
        hits += hit;
        fleet.note(&format!("kill {kill}: after {after:.1?}, upgrade {rounds}, {hit} hosts at work"))?;
        fleet.start_operator()?;
    }
    nodes.are_in_order(fleet)?;
    let news = since(&before, journals(world)?);
    fleet.note(&format!("{rounds} upgrades, {hits} of {KILLS} kills while a host was at work"))?;
    ensure!(hits > 0, "no kill hit a host at work");
    news.iter().try_for_each(|(host, operations)| did_nothing_twice(host, operations, rounds))?;
    one_at_a_time(&news)
}

/// The number of operations that hosts have begun and not ended.
fn at_work(news: &Journals) -> usize {
    news.values().flatten().filter(|operation| operation.end().is_none()).count()
}

/// Whether each host has ended so many upgrades, the last one to the wanted version.
fn are_at(news: &Journals, nodes: &Nodes, rounds: usize) -> bool {
    let wanted = format!("{}-", nodes.version("kubelet"));
    news.values().all(|operations| {
        let releases = operations.iter().filter(|done| done.has_succeeded()).filter_map(release);
        let releases = releases.collect::<Vec<_>>();
        releases.len() == rounds && releases.last().is_some_and(|last| last.starts_with(&wanted))
    })
}

/// The release that an operation has made the current one.
fn release(operation: &Operation) -> Option<String> {
    let line = operation.lines.iter().find(|line| line.step == "swapping")?;
    Some(line.detail["directory"].as_str()?.to_owned())
}

/// Each upgrade was done once, whole, by an operation of an epoch that none before it came after.
fn did_nothing_twice(host: &str, operations: &[Operation], rounds: usize) -> Result<()> {
    let summary = || operations.iter().map(Operation::summary).collect::<Vec<_>>();
    let releases = operations.iter().filter_map(release).collect::<Vec<_>>();
    ensure!(releases.len() == rounds, "{host}: {rounds} upgrades, but {:#?}", summary());
    ensure!(releases.windows(2).all(|pair| pair[0] != pair[1]), "{host}: twice the same: {releases:?}");
    for operation in operations.iter().filter(|operation| release(operation).is_some()) {
        let once = ["swapped", "restarted", "healthy"].map(|step| operation.count(step));
        ensure!(once == [1; 3] && operation.has_succeeded(), "{host}: {}", operation.summary());
    }
    // By epoch and sequence, as they are listed, is by time.
    let times = operations.iter().map(Operation::accepted).collect::<Result<Vec<_>>>()?;
    ensure!(times.is_sorted(), "{host}: orders of the past were accepted: {:#?}", summary());
    let ids = operations.iter().map(|operation| &operation.id).collect::<BTreeSet<_>>();
    ensure!(ids.len() == operations.len(), "{host}: {:#?}", summary());
    Ok(())
}

/// The API server is gone while one host is at work: that host finishes, and no other begins. When it is back, the store has
/// forgotten what watches would have to go on from.
fn outage(fleet: &mut Fleet<'_>, nodes: &mut Nodes) -> Result<()> {
    let world = fleet.world();
    let before = journals(world)?;
    begins(fleet, nodes, &before)?;
    let (lists, history) = (expired(fleet)?, revision(world)?);
    world.control_plane().kill_api_server()?;
    world.control_plane().compact_etcd(history)?;
    world.artefacts().set_pace(Pace::Full)?;
    let away = Instant::now();
    eventually_every(Duration::from_secs(2), "the end of the outage", OUTAGE * 2, || {
        fleet.operator()?.must_run()?;
        let news = since(&before, journals(world)?);
        let begun = news.values().flatten().count();
        if begun != 1 {
            return Ok(Err(format!("{news:#?}")));
        }
        ensure!(away.elapsed() >= OUTAGE, "not yet");
        let is_done = news.values().flatten().all(Operation::has_succeeded);
        Ok(if is_done { Ok(()) } else { Err(format!("it has not finished: {news:#?}")) })
    })?
    .map_err(|news| anyhow::anyhow!("without an API server: {news}"))?;
    world.control_plane().start_api_server()?;
    finishes(fleet, nodes, &before, Instant::now())?;
    let lists = expired(fleet)? - lists;
    ensure!(lists > 0, "no watch of the operator was too old");
    fleet.note(&format!("{lists} watches of the operator were too old, and listed anew"))
}

/// Asks for the other version, and waits until a host is at work on it.
fn begins(fleet: &Fleet<'_>, nodes: &mut Nodes, before: &Journals) -> Result<()> {
    let world = fleet.world();
    world.artefacts().set_pace(CRAWL)?;
    let other = VERSIONS.into_iter().find(|version| *version != nodes.version("kubelet"));
    nodes.want(fleet, "kubelet", other.context("two versions")?)?;
    eventually("the start of the upgrade", PATIENCE, || {
        match since(before, journals(world)?).values().flatten().count() {
            1 => Ok(()),
            begun => bail!("{begun} hosts are at work"),
        }
    })
}

/// Waits for the end of the upgrade, and checks what the hosts did.
fn finishes(fleet: &Fleet<'_>, nodes: &Nodes, before: &Journals, start: Instant) -> Result<()> {
    nodes.are_in_order(fleet)?;
    fleet.note(&format!("upgraded {:.1?} after everything was back", start.elapsed()))?;
    let news = since(before, journals(fleet.world())?);
    for (host, operations) in &news {
        ensure!(operations.len() == 1, "{host}: {operations:#?}");
        did_nothing_twice(host, operations, 1)?;
    }
    one_at_a_time(&news)
}

/// The revision of the store.
fn revision(world: &World) -> Result<u64> {
    let list: Value = serde_json::from_str(&world.kubectl(["get", "--raw", "/api/v1/namespaces"])?)?;
    let version = list["metadata"]["resourceVersion"].as_str().context("no resourceVersion")?;
    version.parse().with_context(|| format!("no number: {version}"))
}

/// How often a watch of the operator expired and listed everything again.
fn expired(fleet: &mut Fleet<'_>) -> Result<usize> {
    let log = fs::read_to_string(fleet.operator()?.log())?;
    Ok(log.matches("version expired, listing anew").count())
}
