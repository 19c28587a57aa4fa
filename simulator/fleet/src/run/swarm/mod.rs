//! The swarm: each seed draws another fleet, another budget and another mix of faults for one of several scenarios. It
//! finds cases that the authors of scenarios did not think of.
//!
//! Groce et al., "Swarm testing" (ISSTA 2012): random subsets of features find more than all features together.

mod interlude;
mod tenants;
mod weather;

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::v1alpha1::IntOrString;
use seaworthy_kernel::{Draws, Seed, word};
use serde_json::{Value, json};

pub use crate::observers::record::{Divergence, Record};

use crate::faults::{Fault, Rule};
use crate::observers::oracle::count_or_percent;
use crate::options::Options;
use crate::run::attempt::{Attempt, attempt, recorded};
use crate::run::plan::{Document, ResolvedPlan, fault_mut, fault_name};
use crate::run::twin::attempt_with_twin;
use crate::scenario::{Scenario, ScenarioError};
use crate::vocabulary::{Fleet, Length, Portion, Scope};
use crate::workloads::Workload;
use crate::world::World;
use weather::{Climate, Lots};

use crate::run::beginning::{begin, begin_noted};

/// A swarm over several scenarios.
#[derive(Clone, Debug)]
pub struct Swarm {
    files: Vec<(String, Document)>,
    machines_max: Option<u32>,
    is_exact: bool,
    left_out: BTreeMap<String, u32>,
}

/// The member of the swarm for one seed.
#[derive(Clone, Debug)]
pub struct Member {
    /// The file of its scenario.
    pub file: String,
    /// The seed.
    pub seed: Seed,
    /// Its scenario, with its own fleet and faults.
    pub document: Document,
    scenario: Arc<Scenario>,
}

/// The least number of machines of a fleet with pods.
const PODS_NEED: u32 = 4;

impl Swarm {
    /// A swarm over these scenario files, with fleets of up to this many machines, or up to the number in the file if
    /// `None`.
    #[must_use]
    pub fn new(files: Vec<(String, Document)>, machines_max: Option<u32>) -> Self {
        let mut left_out = BTreeMap::new();
        let files = files.into_iter().map(|(file, mut document)| {
            for check in document.relax() {
                *left_out.entry(check).or_default() += 1;
            }
            (file, document)
        });
        let files = files.collect();
        Self { files, machines_max, is_exact: false, left_out }
    }

    /// The checks that hold only for the history that a file describes, each with the number of files that have it. No
    /// member judges them.
    #[must_use]
    pub const fn left_out(&self) -> &BTreeMap<String, u32> {
        &self.left_out
    }

    /// The same swarm with every fleet at its largest size, to compare speeds.
    #[must_use]
    pub fn exactly(self) -> Self {
        Self { is_exact: true, ..self }
    }

    /// The member for a seed. The choice of the scenario depends on its name, not on its index among the files: with
    /// its file alone, the same seed gives the same member.
    ///
    /// # Errors
    /// When what was drawn makes no scenario, which is a fault of the swarm, or when there is no file.
    pub fn member(&self, seed: Seed) -> Result<Member, ScenarioError> {
        let draws = Draws::new(seed);
        let lots = Lots { draws };
        let rank =
            |(_, document): &&(String, Document)| draws.bits(word("scenario"), word(document.name()), 0);
        let Some((file, document)) = self.files.iter().max_by_key(rank) else {
            return Err(ScenarioError::unacceptable("swarm", vec!["there is no scenario".into()]));
        };
        let mut document = document.clone();
        let climate = self.draw_fleet(&mut document, lots);
        draw_budgets(&mut document, lots, climate.machines);
        interlude::draw(&mut document, lots, climate);
        tenants::draw(&mut document, lots, climate);
        draw_faults(&mut document, lots, climate);
        leave_out_what_is_not_there(&mut document);
        let scenario = Arc::new(document.scenario(file)?);
        Ok(Member { file: file.clone(), seed, document, scenario })
    }

    /// Half of the fleets have at most a dozen machines, because most errors show in small fleets.
    fn draw_fleet(&self, document: &mut Document, lots: Lots) -> Climate {
        let written = document.machines().max(1);
        let largest = self.machines_max.unwrap_or(written).max(1);
        let most = u64::from(largest);
        let most = if lots.below("small", "fleet", 2) == 0 { most.min(12) } else { most };
        let number = |what, most: u64| u32::try_from(1 + lots.below(what, "fleet", most)).unwrap_or(1);
        let machines = number("machines", most);
        let machines = if self.is_exact { largest } else { machines };
        // Evicted pods need another Node.
        let least = if document.has_pods() { PODS_NEED.min(largest) } else { 1 };
        let machines = machines.max(least);
        document.set_machines(machines);
        let zones = number("zones", u64::from(machines.min(6)));
        document.set_fleet("zones", zones);
        document.set_fleet("racksPerZone", number("racks", 4));
        let operators = lots.one("operators", "fleet", &[1, 1, 1, 2, 2, 3]);
        document.set_fleet("operators", operators.unwrap_or(1));
        let seconds = |place| {
            let length = document.0.pointer(place).and_then(Value::as_str).and_then(Length::parse);
            length.map(|length| length.0.as_secs())
        };
        let (quiet, validity) = (seconds("/quiet/after"), seconds("/certificates/validFor"));
        Climate { machines, written, zones, quiet: quiet.unwrap_or_default(), validity }
    }
}

impl Member {
    /// The number of machines.
    #[must_use]
    pub fn machines(&self) -> u32 {
        self.scenario.fleet.machines
    }

    /// The labels of the faults of the member.
    #[must_use]
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// Runs the member with these options; their seed is ignored.
    #[must_use]
    pub fn run(&self, options: Options) -> Attempt {
        attempt(&mut begin(Arc::clone(&self.scenario), self.options(options)))
    }

    /// Runs the member and compares the run with its fault-free twin.
    #[must_use]
    pub fn run_with_twin(&self, options: Options) -> Attempt {
        attempt_with_twin(&mut begin(Arc::clone(&self.scenario), self.options(options)))
    }

    /// Runs the member and returns the record too.
    #[must_use]
    pub fn recorded(&self, options: Options) -> (Attempt, Record) {
        self.recorded_by(options, attempt)
    }

    /// Runs the member, compares the run with its fault-free twin, and returns the record too.
    #[must_use]
    pub fn recorded_with_twin(&self, options: Options) -> (Attempt, Record) {
        self.recorded_by(options, attempt_with_twin)
    }

    fn recorded_by(&self, options: Options, attempt: fn(&mut World) -> Attempt) -> (Attempt, Record) {
        recorded(&mut begin(Arc::clone(&self.scenario), self.options(options)), attempt)
    }

    /// Runs the member and returns the run as a plan that replays without the swarm.
    #[must_use]
    pub fn plan(&self, options: Options) -> ResolvedPlan {
        let mut world = begin_noted(Arc::clone(&self.scenario), self.options(options));
        let _ = attempt(&mut world);
        let strikes = world.ledger().map(|ledger| ledger.strikes().to_vec()).unwrap_or_default();
        ResolvedPlan { scenario: self.document.clone(), seed: self.seed, strikes }
    }

    const fn options(&self, mut options: Options) -> Options {
        options.seed = Some(self.seed);
        options
    }
}

/// A file's own limit is raised to one unit for so many machines: work on ten thousand of them, one after the other, takes
/// more than a hundred million events.
const MACHINES_PER_UNIT: u32 = 1_000;

/// Draws another `maxUnavailable` wherever the scenario has one, and audits that are frequent enough. The limit is not
/// so small that the run mostly waits.
fn draw_budgets(document: &mut Document, lots: Lots, machines: u32) {
    // A file's own limit is for its own fleet: the time that the drawn work may take is derived from it.
    if let Some(quiet) = document.0.pointer_mut("/quiet").and_then(Value::as_object_mut) {
        quiet.remove("limit");
    }
    let machines = (machines, lost_for_good(document, lots.draws));
    let manifests = document.list_mut("manifests").iter_mut().collect::<Vec<_>>();
    draw_budget_of(manifests, lots, machines, 0);
    for (place, moment) in (1..).zip(document.list_mut("timeline")) {
        if let Some(applied) = moment.get_mut("apply").and_then(Value::as_array_mut) {
            draw_budget_of(applied.iter_mut().collect(), lots, machines, place);
        }
    }
}

fn draw_budget_of(manifests: Vec<&mut Value>, lots: Lots, (machines, lost): (u32, u32), place: u32) {
    for manifest in manifests {
        if manifest.get("kind").and_then(Value::as_str) != Some("ClusterPackageVersion") {
            continue;
        }
        let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) else { continue };
        let of = format!("budget {place}");
        let audits = lots.one("audit", &of, &["20m", "1h", "2h"]);
        spec.entry("auditInterval").or_insert(json!(audits));
        let least = u64::from(machines.div_ceil(64));
        let failures = match lots.below("failures", &of, 4) {
            0 => Some(json!(1 + lots.below("failures count", &of, 4))),
            1 => Some(json!(lots.one("failures percent", &of, &["5%", "20%", "50%"]))),
            _ => spec.get("maxFailures").cloned().filter(|_| lost > 0),
        };
        if let Some(failures) = allowing_for(lost, machines, failures) {
            spec.insert("maxFailures".into(), failures);
        }
        if lost > 0 || lots.below("breaker", &of, 2) == 0 {
            spec.insert("pauseWhenUnavailable".into(), json!("100%"));
        }
        let drawn = match lots.below("kind", &of, 3) {
            0 => spec
                .get("maxUnavailable")
                .cloned()
                .map(|own| at_least(own, machines.div_ceil(MACHINES_PER_UNIT))),
            1 => Some(json!(least + lots.below("count", &of, u64::from(machines).div_ceil(2)))),
            _ => Some(json!(lots.one("percent", &of, &["2%", "5%", "10%", "20%", "34%", "50%"]))),
        };
        if let Some(budget) = allowing_for(lost, machines, drawn) {
            spec.insert("maxUnavailable".into(), budget);
        }
    }
}

/// A count that is at least this; a percentage, and a limit that allows nothing, as it is.
fn at_least(limit: Value, least: u32) -> Value {
    match limit.as_u64() {
        Some(count @ 1..) => json!(count.max(u64::from(least))),
        Some(0) | None => limit,
    }
}

/// A limit that leaves as much as the drawn one when so many machines are lost: all of them may be charged to a rollout, or
/// may have failed, for good.
fn allowing_for(lost: u32, machines: u32, drawn: Option<Value>) -> Option<Value> {
    if lost == 0 {
        return drawn;
    }
    let drawn = drawn.and_then(|drawn| serde_json::from_value::<IntOrString>(drawn).ok());
    let limit = drawn.as_ref().map(count_or_percent).unwrap_or_default();
    Some(json!(limit.of(machines) + lost))
}

/// The most hosts that the scenario may lose for good: a fleet that waits for them would never converge.
fn lost_for_good(document: &Document, draws: Draws) -> u32 {
    let Some(fleet) = fleet_of(document) else { return 0 };
    let rules = document.list("faults").iter();
    let rules = rules.filter_map(|rule| serde_json::from_value::<Rule>(rule.clone()).ok());
    let rules = rules.filter(|rule| rule.problem(&fleet).is_none());
    let within = |scope: &Scope| scope.hosts(&fleet, &draws, 0, None).len();
    let lost = rules.map(|rule| {
        if let Fault::DomainDown(down) = &rule.fault
            && down.lasting.is_none()
        {
            within(&down.scope)
        } else if let Fault::HostDown(down) = &rule.fault
            && down.lasting.is_none()
        {
            let share = down.share.0.of(fleet.machines) as usize;
            down.scope.as_ref().map_or(share, within) + down.hosts.len()
        } else {
            0
        }
    });
    u32::try_from(lost.sum::<usize>()).unwrap_or(u32::MAX).min(fleet.machines)
}

fn fleet_of(document: &Document) -> Option<Fleet> {
    serde_json::from_value(document.0.get("fleet")?.clone()).ok()
}

/// Draws most of the scenario's own faults, weaker or stronger, and some others.
fn draw_faults(document: &mut Document, lots: Lots, climate: Climate) {
    let mut own = std::mem::take(document.list_mut("faults"));
    for (place, fault) in own.iter_mut().enumerate() {
        weigh(fault, lots, &format!("own {place}"), climate);
    }
    let mut place = 0u32;
    own.retain(|_| {
        place += 1;
        lots.below("kept", &format!("own {place}"), 4) > 0
    });
    let odds = lots.one("odds", "faults", &[2, 4, 8]).unwrap_or(4);
    let others = Fault::NAMES.iter().filter(|name| lots.below("drawn", name, odds) == 0);
    own.extend(others.filter_map(|name| weather::fault(name, lots, climate)));
    *document.list_mut("faults") = own;
}

/// Multiplies a fault's share by a quarter to two. In a larger fleet than the file's, the operator has proportionally
/// more write points. Its crash share shrinks accordingly, or it would make no progress.
fn weigh(fault: &mut Value, lots: Lots, of: &str, climate: Climate) {
    let is_crash = fault_name(fault) == "operator_crash" && fault.get("when").is_none();
    let Some(fault) = fault_mut(fault) else { return };
    let Some(share) = fault.get("share").and_then(Value::as_str).and_then(Portion::parse) else { return };
    let quarters = lots.one("weight", of, &[1, 2, 4, 8]).unwrap_or(4);
    let larger = climate.machines.max(climate.written);
    let (times, of) = if is_crash { (climate.written, larger) } else { (1, 1) };
    let parts = u64::from(share.0.0) * quarters * u64::from(times) / (4 * u64::from(of));
    let parts = parts.min(1_000_000);
    if let Some(fault) = fault.as_object_mut() {
        fault.insert("share".into(), json!(format!("{}.{:04}%", parts / 10_000, parts % 10_000)));
    }
}

/// Drops the faults and workloads that name a part of the fleet that this one does not have.
fn leave_out_what_is_not_there(document: &mut Document) {
    let Some(fleet) = fleet_of(document) else { return };
    document.list_mut("faults").retain(|rule| {
        let read = serde_json::from_value::<Rule>(rule.clone());
        read.is_ok_and(|rule| rule.problem(&fleet).is_none())
    });
    document.list_mut("workloads").retain(|workload| {
        let read = serde_json::from_value::<Workload>(workload.clone());
        read.is_ok_and(|workload| workload.model().out_of_range(&fleet).is_none())
    });
}

#[cfg(test)]
mod tests;
