//! Scenario files: a fleet, what people apply to it and when, what goes wrong, and what must come of it.

mod check;
mod error;
mod hosts;
mod manifest;
mod place;

use std::time::Duration;

use seaworthy_kernel::{Seed, Share};
use serde::Deserialize;

pub use check::{Check, ExpectedCondition, InstalledOn};
pub use error::ScenarioError;
pub use hosts::{Failing, FailureCause, FoundComponent, FoundIdentity, FoundNode, Hosts, Where};
pub use manifest::Manifest;

use crate::faults::Rule;
use crate::vocabulary::{
    Allowance, ApiServerVersion, Build, Fleet, INVARIANTS, Length, Occasion, Reference, Relabel,
};
use crate::workloads::Workload;

/// A scenario, as its file says it.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Its name: that of the file without its ending.
    pub name: String,
    /// What it shows, for people.
    pub goal: String,
    /// The seed, unless another is asked for.
    #[serde(default = "seed_default")]
    pub seed: u64,
    /// The machines.
    pub fleet: Fleet,
    /// How hosts behave.
    #[serde(default)]
    pub hosts: Hosts,
    /// The certificates of nodes.
    #[serde(default)]
    pub certificates: Certificates,
    /// What is there when the operator starts.
    #[serde(default)]
    pub manifests: Vec<Manifest>,
    /// What people do later.
    #[serde(default)]
    pub timeline: Vec<Moment>,
    /// What goes wrong.
    #[serde(default)]
    pub faults: Vec<Rule>,
    /// When nothing goes wrong any more, and how long it may take from then on.
    pub quiet: Quiet,
    /// What others do all the time.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// What must hold at every moment.
    #[serde(default)]
    pub always: Vec<Check>,
    /// What must hold at the end, and go on to hold.
    #[serde(default)]
    pub eventually: Vec<Check>,
    /// What must have happened at least once, or the scenario shows nothing.
    #[serde(default)]
    pub sometimes: Vec<Occasion>,
    /// Invariants that may be broken here, and why that is right.
    #[serde(default)]
    pub allowed: Vec<Allowance>,
}

const fn seed_default() -> u64 {
    1
}

/// An upgrade of the API servers: for a while there are both.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiServerUpgrade {
    /// The version that they have in the end.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: ApiServerVersion,
    /// How long there are some of the one before.
    pub lasting: Length,
}

/// An upgrade of the operator itself, or a rollback: each process is told to stop, and another build starts in its seat.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorUpgrade {
    /// The build that runs in the end.
    pub to: Build,
    /// From the first seat to the one that would come after the last.
    pub lasting: Length,
}

/// The certificates of nodes, of machines with a component that has a `nodeIdentity`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Certificates {
    /// How long they are valid.
    pub valid_for: Length,
    /// Whether kubelets renew theirs.
    pub renewal: bool,
}

impl Default for Certificates {
    /// A year, as `--cluster-signing-duration` of kube-controller-manager has it.
    fn default() -> Self {
        Self { valid_for: Length(Duration::from_secs(8760 * 3600)), renewal: true }
    }
}

/// What people do at one time, in this order.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Moment {
    /// When, since the start.
    pub at: Length,
    /// They look whether this holds.
    #[serde(default)]
    pub expect: Vec<Check>,
    /// They create or change these objects.
    #[serde(default)]
    pub apply: Vec<Manifest>,
    /// They edit the specs of machines of the fleet.
    #[serde(default)]
    pub edit: Vec<Edit>,
    /// They delete these objects.
    #[serde(default)]
    pub delete: Vec<Reference>,
    /// They record on the Lease that hosts may be taken over which have seen the epoch that the operator tells of, and do it
    /// again whenever it asks.
    #[serde(default)]
    pub adopt: bool,
    /// They cordon the Nodes of these machines.
    #[serde(default)]
    pub cordon: Vec<u32>,
    /// They uncordon the Nodes of these machines.
    #[serde(default)]
    pub uncordon: Vec<u32>,
    /// They label and taint Nodes.
    #[serde(default)]
    pub relabel: Vec<Relabel>,
    /// Whether disruption budgets allow what they say from now on, or nothing.
    #[serde(default)]
    pub budgets: Option<bool>,
    /// They take away from the hosts of these machines what others have left there.
    #[serde(default)]
    pub clear: Vec<u32>,
    /// They record that the hosts of these machines are gone for good.
    #[serde(default)]
    pub release: Vec<u32>,
    /// They start one more operator, in this seat (0 is that of the first).
    #[serde(default)]
    pub start_operator: Option<u32>,
    /// They begin to replace the operators by another build, one seat after the other.
    #[serde(default)]
    pub upgrade_operators: Option<OperatorUpgrade>,
    /// They begin to upgrade the API servers, or to set them back, one after the other.
    #[serde(default)]
    pub upgrade_api_servers: Option<ApiServerUpgrade>,
}

/// A change to the specs of machines of the fleet.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// Which, by their numbers.
    pub machines: Vec<u32>,
    /// Their pinned components from now on.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")
    )]
    pub components: Option<Vec<seaworthy_api::v1alpha1::ComponentSetting>>,
    /// The labels that they want on their Nodes from now on.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<std::collections::BTreeMap<String, String>>"))]
    pub node_labels: Option<seaworthy_api::v1alpha1::NodeLabels>,
    /// The taints that they want on their Nodes from now on.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")
    )]
    pub node_taints: Option<Vec<seaworthy_api::v1alpha1::NodeTaint>>,
    /// Whether they are paused from now on.
    #[serde(default)]
    pub paused: Option<bool>,
    /// A new word that allows a failed release another try.
    #[serde(default)]
    pub retry: Option<String>,
}

/// The end of the run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quiet {
    /// From then on, since the start, no fault acts, and what is to return has returned.
    pub after: Length,
    /// So long after it everything must have converged; when left out, as long as what there is to do may take.
    #[serde(default)]
    pub limit: Option<Length>,
    /// And then nothing may be written for so long.
    #[serde(default = "stable_default")]
    pub stable: Length,
}

const fn stable_default() -> Length {
    Length(Duration::from_secs(15 * 60))
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// All that is wrong with it, with file, line and field where there is one.
    pub fn read(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            serde_saphyr::from_str(text).map_err(|error| ScenarioError::malformed(file, &error))?;
        scenario.judge().map_err(|problems| {
            let places = place::Places::of(text);
            let problems = problems.into_iter().map(|problem| places.locate(problem));
            ScenarioError::unacceptable(file, problems.collect())
        })?;
        Ok(scenario)
    }

    /// The same with another number of machines.
    ///
    /// # Errors
    /// When it names a machine that is then not there.
    pub fn with_machines(mut self, file: &str, machines: u32) -> Result<Self, ScenarioError> {
        self.fleet.machines = machines;
        self.judge().map_err(|problems| ScenarioError::unacceptable(file, problems))?;
        Ok(self)
    }

    /// The JSON Schema of scenario files, as text.
    #[cfg(feature = "schema")]
    #[must_use]
    pub fn schema() -> String {
        let schema = schemars::schema_for!(Self);
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }

    /// The seed that the file names.
    #[must_use]
    pub const fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    fn judge(&self) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        self.judge_fleet(&mut problems);
        for (index, manifest) in self.manifests.iter().enumerate() {
            manifest.judge(&format!("manifests[{index}]"), &mut problems);
        }
        let mut last = Duration::ZERO;
        for (index, moment) in self.timeline.iter().enumerate() {
            let field = format!("timeline[{index}]");
            if moment.at.0 < last {
                problems.push(format!("{field}.at: earlier than the one before"));
            }
            if moment.at.0 > self.quiet.after.0 {
                problems.push(format!("{field}.at: later than quiet.after"));
            }
            last = moment.at.0;
            if moment.upgrade_api_servers.is_some() && self.fleet.api_server.is_none() {
                problems.push(format!("{field}.upgradeApiServers: fleet.apiServer does not say from what"));
            }
            for (index, manifest) in moment.apply.iter().enumerate() {
                manifest.judge(&format!("{field}.apply[{index}]"), &mut problems);
            }
            for (list, machines) in [
                ("cordon", &moment.cordon),
                ("uncordon", &moment.uncordon),
                ("clear", &moment.clear),
                ("release", &moment.release),
            ] {
                if let Some(machine) = machines.iter().find(|machine| **machine >= self.fleet.machines) {
                    problems.push(format!("{field}.{list}: there is no machine {machine}"));
                }
            }
            for (index, edit) in moment.edit.iter().enumerate() {
                if let Some(machine) = edit.machines.iter().find(|machine| **machine >= self.fleet.machines) {
                    problems.push(format!("{field}.edit[{index}].machines: there is no machine {machine}"));
                }
            }
        }
        self.judge_expectations(&mut problems);
        for (index, found) in self.hosts.found.iter().enumerate() {
            if let Some(problem) = found.on.problem(&self.fleet) {
                problems.push(format!("hosts.found[{index}].{problem}"));
            }
        }
        for (index, found) in self.hosts.identities.iter().enumerate() {
            if let Some(problem) = found.on.problem(&self.fleet) {
                problems.push(format!("hosts.identities[{index}].{problem}"));
            }
        }
        for (index, workload) in self.workloads.iter().enumerate() {
            if let Some(problem) = workload.model().out_of_range(&self.fleet) {
                problems.push(format!("workloads[{index}].{problem}"));
            }
        }
        for (index, rule) in self.faults.iter().enumerate() {
            if let Some(problem) = rule.problem(&self.fleet) {
                problems.push(format!("faults[{index}].{problem}"));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn judge_expectations(&self, problems: &mut Vec<String>) {
        for (index, check) in self.always.iter().enumerate() {
            if !check.is_cheap() {
                let why = "too costly to be looked up at every moment: move it to `eventually`, or to a moment's `expect`";
                problems.push(format!("always[{index}]: {why}"));
            }
        }
        for (index, Allowance { invariant, reason, .. }) in self.allowed.iter().enumerate() {
            if INVARIANTS.iter().all(|known| known != invariant) {
                let known = INVARIANTS.join(", ");
                problems.push(format!("allowed[{index}].invariant: there is no {invariant:?} among {known}"));
            }
            if reason.trim().is_empty() {
                problems.push(format!("allowed[{index}].reason: must say why"));
            }
        }
    }

    fn judge_fleet(&self, problems: &mut Vec<String>) {
        /// A host's address is 10.0.0.0 plus its number plus one.
        const MACHINES_MAX: u32 = 1 << 23;
        /// Each keeps the whole fleet in mind.
        const OPERATORS_MAX: u32 = 16;
        if self.name.is_empty() {
            problems.push("name: must not be empty".into());
        }
        if self.fleet.machines == 0 || self.fleet.machines > MACHINES_MAX {
            problems.push(format!("fleet.machines: must be 1 to {MACHINES_MAX}"));
        }
        if self.fleet.operators == 0 || self.fleet.operators > OPERATORS_MAX {
            problems.push(format!("fleet.operators: must be 1 to {OPERATORS_MAX}"));
        }
        if self.fleet.zones == 0 {
            problems.push("fleet.zones: must be at least 1".into());
        }
        if self.fleet.racks_per_zone == 0 {
            problems.push("fleet.racksPerZone: must be at least 1".into());
        }
        if self.fleet.pools.iter().map(|pool| pool.share.0.0).sum::<u32>() > Share::ALL.0 {
            problems.push("fleet.pools: the shares come to more than 100%".into());
        }
    }
}
