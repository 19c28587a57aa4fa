//! The operator is killed twenty times in the middle of an installation, at random moments.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Fleet, Health, Operation, PATIENCE, Pace, eventually, scenario};

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
    let seed = seed()?;
    scenario(2, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.note(&format!("seed of the moments: {seed} (SEAWORTHY_E2E_SEED={seed} repeats them)"))?;
        ["1.0.0", "1.1.0"].into_iter().try_for_each(|version| fleet.publish(version, Health::Healthy))?;
        world.artefacts().set_pace(PACE)?;
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "round 0", 2)?;
        fleet.settles(&BOTH, "1.0.0", "round 0")?;
        fleet.rollout_completes()?;
        let span = length_of_the_last_operation(&fleet)?;
        fleet.note(&format!("an installation takes {span:?}"))?;
        fleet.scene("(e) kill -9 of the operator in mid-install, twenty times", |fleet| {
            kills(fleet, span, seed)
        })
    })
}

fn kills(fleet: &mut Fleet<'_>, span: Duration, seed: u64) -> Result<()> {
    let mut moments = Moments(seed);
    let mut hits = BTreeMap::<Hit, usize>::new();
    for round in 1..=ROUNDS_MAX {
        let moment = span.mul_f64(moments.next());
        let hit = kill_once(fleet, round, moment).with_context(|| format!("round {round}, seed {seed}"))?;
        fleet.note(&format!("round {round}: killed {moment:.0?} after the order: {hit:?}"))?;
        *hits.entry(hit).or_default() += 1;
        if hits.get(&Hit::Middle) == Some(&KILLS) {
            return fleet.note(&format!("kills: {hits:?}"));
        }
    }
    anyhow::bail!("too few kills hit the middle of an installation: {hits:?}")
}

/// Edits the defaults, kills the operator when it has ordered an installation and `moment` has passed, starts the next one, and
/// checks that it finishes and that each host has installed the new release exactly once.
fn kill_once(fleet: &mut Fleet<'_>, round: usize, moment: Duration) -> Result<Hit> {
    let before = journals(fleet)?;
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
    let hit = hit(&since(&before, &journals(fleet)?));
    fleet.start_operator()?;
    fleet.settles(&BOTH, version, &greeting)?;
    for (host, operations) in since(&before, &journals(fleet)?) {
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
fn hit(operations: &BTreeMap<String, Vec<Operation>>) -> Hit {
    let ended = |operation: &Operation| operation.end().is_some();
    if operations.values().flatten().any(|operation| !ended(operation)) {
        Hit::Middle
    } else if operations.values().any(Vec::is_empty) {
        Hit::Before
    } else {
        Hit::After
    }
}

fn journals(fleet: &Fleet<'_>) -> Result<BTreeMap<String, Vec<Operation>>> {
    fleet.world().hosts().map(|host| Ok((host.name().to_owned(), host.operations()?))).collect()
}

/// The operations that are new in `now`.
fn since(
    before: &BTreeMap<String, Vec<Operation>>,
    now: &BTreeMap<String, Vec<Operation>>,
) -> BTreeMap<String, Vec<Operation>> {
    let is_new = |host: &str, id: &str| !before.get(host).into_iter().flatten().any(|known| known.id == id);
    let news = |host: &String, operations: &Vec<Operation>| {
        let news = operations.iter().filter(|operation| is_new(host, &operation.id)).cloned();
        (host.clone(), news.collect())
    };
    now.iter().map(|(host, operations)| news(host, operations)).collect()
}

fn length_of_the_last_operation(fleet: &Fleet<'_>) -> Result<Duration> {
    let operations = fleet.world().host("host-1")?.operations()?;
    let last = operations.last().context("nothing was installed")?;
    let (end, _) = last.end().context("it has not ended")?;
    ensure!(last.has_succeeded(), "{}", last.summary());
    Ok(Duration::from_millis(end - last.accepted()?))
}

fn seed() -> Result<u64> {
    match std::env::var("SEAWORTHY_E2E_SEED") {
        Ok(text) => text.parse().with_context(|| format!("SEAWORTHY_E2E_SEED is no number: {text}")),
        Err(_) => Ok(u64::from(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos())),
    }
}

/// Numbers from 0 to 1 (splitmix64).
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let whole = u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap_or(u32::MAX);
        f64::from(whole) / f64::from(u32::MAX)
    }
}
