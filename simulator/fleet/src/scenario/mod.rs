//! Scenario files: a fleet, what users apply to it and when, the faults that occur, and the expected outcome.

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

/// A scenario, as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// The name of the scenario: the name of its file without the extension.
    pub name: String,
    /// A description for readers of what the scenario shows.
    pub goal: String,
    /// The seed of the run, unless the command line sets another one. 1 if omitted.
    #[serde(default = "seed_default")]
    pub seed: u64,
    /// The shape of the fleet: its machines, failure domains, pools, pods, operators and API servers.
    pub fleet: Fleet,
    /// The behaviour of the hosts, and what is on them at the start.
    #[serde(default)]
    pub hosts: Hosts,
    /// The validity and renewal of the certificates of nodes.
    #[serde(default)]
    pub certificates: Certificates,
    /// The objects that exist when the operator starts, in addition to the Machines and Nodes of the fleet.
    #[serde(default)]
    pub manifests: Vec<Manifest>,
    /// The actions of users during the run, in order of time.
    #[serde(default)]
    pub timeline: Vec<Moment>,
    /// The faults of the run.
    #[serde(default)]
    pub faults: Vec<Rule>,
    /// The start of the quiet phase, in which no fault acts any more, and the time limits that apply from then on.
    pub quiet: Quiet,
    /// Other actors, such as users and programs, that act on the fleet until the quiet phase.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// Expectations that must hold at every moment. Only checks whose cost does not depend on the size of the fleet are
    /// allowed.
    #[serde(default)]
    pub always: Vec<Check>,
    /// Expectations that must hold at the end of the run, and must continue to hold.
    #[serde(default)]
    pub eventually: Vec<Check>,
    /// Occasions that must happen at least once. Otherwise the scenario shows nothing.
    #[serde(default)]
    pub sometimes: Vec<Occasion>,
    /// Invariants that may be broken in this scenario, each with the reason why that is right.
    #[serde(default)]
    pub allowed: Vec<Allowance>,
}

const fn seed_default() -> u64 {
    1
}

/// An upgrade of the API servers. For a while both versions serve.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiServerUpgrade {
    /// The version that all API servers have in the end.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: ApiServerVersion,
    /// The time during which some API servers still have the previous version.
    pub lasting: Length,
}

/// An upgrade or rollback of the operator itself: each process is asked to stop, and another build starts in its seat.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorUpgrade {
    /// The build of the operator that runs in the end.
    pub to: Build,
    /// The time over which the replacements are spread evenly. The first seat is replaced at once, the last one before
    /// this time is over.
    pub lasting: Length,
}

/// The certificates of nodes. They concern machines with a component that has a `nodeIdentity`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Certificates {
    /// The validity period of the certificates. 8760 hours (one year) if omitted.
    pub valid_for: Length,
    /// Whether kubelets renew their certificates. True if omitted.
    pub renewal: bool,
}

impl Default for Certificates {
    /// A year, the default of `--cluster-signing-duration` of kube-controller-manager.
    fn default() -> Self {
        Self { valid_for: Length(Duration::from_secs(8760 * 3600)), renewal: true }
    }
}

/// The actions of users at one time. Expectations are checked first.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Moment {
    /// The time of the moment, since the start of the run. It must not be before the previous moment or after
    /// `quiet.after`.
    pub at: Length,
    /// Expectations that are checked at this moment, before users act.
    #[serde(default)]
    pub expect: Vec<Check>,
    /// Objects that users create or change, as `kubectl apply` does.
    #[serde(default)]
    pub apply: Vec<Manifest>,
    /// Changes that users make to the specs of Machines of the fleet.
    #[serde(default)]
    pub edit: Vec<Edit>,
    /// Objects that users delete.
    #[serde(default)]
    pub delete: Vec<Reference>,
    /// Whether users allow the takeover of hosts that have seen the epoch which the operator reports. They record that
    /// on the Lease, and again whenever the operator asks for it.
    #[serde(default)]
    pub adopt: bool,
    /// From now on, people let each rollout go on whose gate has failed.
    #[serde(default)]
    pub override_gates: bool,
    /// From now on, people confirm each change that waits for it.
    #[serde(default)]
    pub confirm_rollouts: bool,
    /// Machines, by number, whose Nodes users cordon.
    #[serde(default)]
    pub cordon: Vec<u32>,
    /// Machines, by number, whose Nodes users uncordon.
    #[serde(default)]
    pub uncordon: Vec<u32>,
    /// Labels and taints that users set on Nodes or remove from them.
    #[serde(default)]
    pub relabel: Vec<Relabel>,
    /// Whether disruption budgets allow the disruptions that they specify (true) or none at all (false) from this
    /// moment on. Unchanged if omitted.
    #[serde(default)]
    pub budgets: Option<bool>,
    /// Machines, by number, from whose hosts users remove the software and the node identity that somebody else had
    /// left there.
    #[serde(default)]
    pub clear: Vec<u32>,
    /// Machines, by number, whose hosts users declare to be gone for good.
    #[serde(default)]
    pub release: Vec<u32>,
    /// The seat in which users start one more operator process. The first seat is 0.
    #[serde(default)]
    pub start_operator: Option<u32>,
    /// An upgrade of the operators that users begin: another build replaces them, one seat after the other.
    #[serde(default)]
    pub upgrade_operators: Option<OperatorUpgrade>,
    /// An upgrade or rollback of the API servers that users begin, one server after the other. Requires
    /// `fleet.apiServer`.
    #[serde(default)]
    pub upgrade_api_servers: Option<ApiServerUpgrade>,
}

/// A change of the specs of Machines of the fleet. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// The Machines that are changed, by number.
    pub machines: Vec<u32>,
    /// The new pinned components of these Machines.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")
    )]
    pub components: Option<Vec<seaworthy_api::v1alpha1::ComponentSetting>>,
    /// The new labels that these Machines set on their Nodes.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<std::collections::BTreeMap<String, String>>"))]
    pub node_labels: Option<seaworthy_api::v1alpha1::NodeLabels>,
    /// The new taints that these Machines set on their Nodes.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")
    )]
    pub node_taints: Option<Vec<seaworthy_api::v1alpha1::NodeTaint>>,
    /// The pool to which these Machines belong from this moment on: the value of their label `pool`.
    #[serde(default)]
    pub pool: Option<String>,
    /// Whether these Machines are paused from this moment on.
    #[serde(default)]
    pub paused: Option<bool>,
    /// A new value of `retry`, which allows another attempt of a failed release.
    #[serde(default)]
    pub retry: Option<String>,
}

/// The quiet phase at the end of the run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quiet {
    /// The start of the quiet phase, since the start of the run. From then on no fault acts, and hosts that are to
    /// return have returned.
    pub after: Length,
    /// The time within which everything must converge, since the start of the quiet phase. If omitted, it is derived
    /// from the work to do.
    #[serde(default)]
    pub limit: Option<Length>,
    /// The time during which nothing may be written after convergence. 15 minutes if omitted.
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
    /// All problems of the file, each with file, line and field where there is one.
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

    /// The same scenario with another number of machines.
    ///
    /// # Errors
    /// When the scenario names a machine that does not exist then.
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

    /// The seed of the scenario file.
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
        /// Every operator process holds a cache of the whole fleet.
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
