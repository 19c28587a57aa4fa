//! The operator is killed twenty times in the middle of an installation, at random moments.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{
    Fleet, Health, Journals, Moments, Operation, PATIENCE, Pace, eventually, journals, scenario, since,
};

const BOTH: [&str; 2] = ["host-1", "host-2"];

/// How many kills have to hit the middle of an installation.
const KILLS: usize = 20;

/// Rounds after which not so many have: the moments are drawn from the length of an installation, so most hit.
const ROUNDS_MAX: usize = 3 * KILLS;

/// Slow enough that a download of 3 MB is a good part of an installation, and not all of it.
const PACE: Pace = Pace::BytesPerSecond(4_000_000);

/// Where a kill hit the installations of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hit {
    Before,
    Middle,
    After,
}

#[test]
fn the_next_operator_finishes_and_installs_nothing_twice() -> Result<()> {
    let mut moments = Moments::begin()?;
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.note(&moments.to_string())?;
        ["1.0.0", "1.1.0"].into_iter().try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        world.artefacts().set_pace(PACE)?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "round 0", 2)?;
        fleet.settles(&BOTH, "1.0.0", "round 0")?;
        fleet.rollout_completes()?;
        let span = length_of_the_last_operation(&fleet)?;
        fleet.note(&format!("an installation takes {span:?}"))?;
        fleet.scene("(e) kill -9 of the operator in mid-install, twenty times", |fleet| {
            kills(fleet, span, &mut moments)
        })?;
        fleet.scene("the API server has not turned the operators away", has_its_own_level)
    })
}

/// The API server serves the Lease of the operators and their other requests on levels of their own, and rejects none.
fn has_its_own_level(fleet: &mut Fleet<'_>) -> Result<()> {
    let metrics = fleet.world().kubectl(["get", "--raw", "/metrics"])?;
    let of = |metric: &str, schema: &str, level: &str| {
        let labels = [format!("flow_schema=\"{schema}\""), format!("priority_level=\"{level}\"")];
        let lines = metrics.lines().filter(|line| line.starts_with(metric));
        let lines = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
    };
    for (schema, level) in
        [("seaworthy-lease", "leader-election"), ("seaworthy-operator", "seaworthy-operator")]
    {
        let [served, rejected] = ["dispatched", "rejected"]
            .map(|what| of(&format!("apiserver_flowcontrol_{what}_requests_total"), schema, level));
        fleet.note(&format!("{schema}: {served} requests served, {rejected} rejected"))?;
        ensure!(served > 0.0 && rejected == 0.0, "{schema}: {served} requests served, {rejected} rejected");
    }
    Ok(())
}

fn kills(fleet: &mut Fleet<'_>, mut span: Duration, moments: &mut Moments) -> Result<()> {
    let mut hits = BTreeMap::<Hit, usize>::new();
    for round in 1..=ROUNDS_MAX {
        let moment = span.mul_f64(moments.draw());
        let hit = kill_once(fleet, round, moment).with_context(|| format!("round {round}, {moments}"))?;
        fleet.note(&format!("round {round}: killed {moment:.0?} after the order: {hit:?}"))?;
        *hits.entry(hit).or_default() += 1;
        // It depends on what else the machine does.
        span = length_of_the_last_operation(fleet)?;
        if hits.get(&Hit::Middle) == Some(&KILLS) {
            return fleet.note(&format!("kills: {hits:?}"));
        }
    }
    anyhow::bail!("too few kills hit the middle of an installation: {hits:?}")
}

/// Edits the defaults, kills the operator when it has ordered an installation and `moment` has passed, starts the next one, and
/// checks that it finishes and that each host has installed the new release exactly once.
fn kill_once(fleet: &mut Fleet<'_>, round: usize, moment: Duration) -> Result<Hit> {
    let before = journals(fleet.world())?;
    let version = if round.is_multiple_of(2) { "1.0.0" } else { "1.1.0" };
    let greeting = format!("round {round}");
    let log = fleet.operator()?.log().to_owned();
    let said = fs::metadata(&log)?.len();
    fleet.set_default(version, &greeting, 2)?;
    eventually("an order to install", PATIENCE, || {
        let text = fs::read(&log)?;
        let text =
            String::from_utf8_lossy(text.get(usize::try_from(said)?..).unwrap_or_default()).into_owned();
        text.contains("host_apply").then_some(()).context("none yet")
    })?;
    // The moment is what this test is about: nothing is waited for here.
    thread::sleep(moment);
    fleet.kill_operator()?;
    let hit = hit(&since(&before, journals(fleet.world())?));
    fleet.start_operator()?;
    fleet.settles(&BOTH, version, &greeting)?;
    for (host, operations) in since(&before, journals(fleet.world())?) {
        let swaps: usize = operations.iter().map(|operation| operation.count("swapped")).sum();
        let fetches: usize = operations.iter().map(|operation| operation.count("fetched")).sum();
        let starts: usize = operations.iter().map(|operation| operation.count("restarted")).sum();
        let summary = operations.iter().map(Operation::summary).collect::<Vec<_>>();
        ensure!(
            (swaps, starts) == (1, 1) && fetches <= 1,
            "{host} installed it not exactly once: {summary:#?}"
        );
    }
    Ok(hit)
}

/// Whether, when the operator died, an installation was under way.
fn hit(operations: &Journals) -> Hit {
    let ended = |operation: &Operation| operation.end().is_some();
    if operations.values().flatten().any(|operation| !ended(operation)) {
        Hit::Middle
    } else if operations.values().any(Vec::is_empty) {
        Hit::Before
    } else {
        Hit::After
    }
}

fn length_of_the_last_operation(fleet: &Fleet<'_>) -> Result<Duration> {
    let operations = fleet.world().host("host-1")?.operations()?;
    let last = operations.last().context("nothing was installed")?;
    let (end, _) = last.end().context("it has not ended")?;
    ensure!(last.has_succeeded(), "{}", last.summary());
    Ok(Duration::from_millis(end - last.accepted()?))
}
