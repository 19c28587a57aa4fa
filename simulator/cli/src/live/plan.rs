//! `seaworthy plan`: what a change of the defaults would do, without changing anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seaworthy_api::names::Names;
use seaworthy_api::object::{ClusterPackageVersion, Machine, MachineComponent};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{ComponentSetting, WantStatus};
use seaworthy_engine::RankKey;
use seaworthy_kube::Terminal;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::package_version::{PackageVersionSpec, SINGLETON};
use seaworthy_model::quantity::CountOrPercent;
use serde::Serialize;
use serde_json::Value;

use super::rollout::Output;
use super::{Problem, fleet};

/// Arguments of `plan`.
#[derive(Args)]
pub(super) struct Planning {
    /// The file with the changed ClusterPackageVersion, as for `kubectl apply`.
    #[arg(long, short, value_name = "FILE")]
    filename: PathBuf,
    /// How to print it. JSON names every machine.
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// This many machines of a batch are named for people.
const NAMED: usize = 5;

/// What would happen to one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned {
    component: String,
    /// The version that is wanted then, or `nothing`.
    to: String,
    /// Why it would not be rolled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// The machines that change, batch by batch, each in the order of their turns.
    batches: Vec<Vec<String>>,
    /// Machines that pin another version, or this one.
    pinned: usize,
    /// Machines that have it.
    unchanged: usize,
}

/// `plan`. Exits with 1 if something is refused.
pub(super) async fn plan(terminal: &Terminal, arguments: &Planning) -> Result<ExitCode, Problem> {
    let (live, mut new) = (fleet(terminal).await?, read(&arguments.filename)?);
    if *new.metadata.name != *SINGLETON {
        let name = &new.metadata.name;
        return Err(Problem(format!(
            "{}: the ClusterPackageVersion {name} counts for nothing",
            arguments.filename.display()
        )));
    }
    // A file says nothing of what the API server adds.
    new.metadata = live.metadata.clone();
    let mut names = Names::new();
    let parsed = parse::package_version(&new, &mut names);
    let parsed = parsed.map_err(|error| Problem(format!("{}: {error}", arguments.filename.display())))?;
    let spec = parsed.spec.map_err(|errors| {
        let faults = errors.iter().map(|fault| format!("{}: {}", fault.field, fault.message));
        Problem(format!("{}: {}", arguments.filename.display(), faults.collect::<Vec<_>>().join("; ")))
    })?;
    let machines: Vec<Machine> = terminal.list(Kind::Machine).await?;
    let versions: Vec<MachineComponent> = terminal.list(Kind::MachineComponent).await?;
    let known: BTreeSet<&str> = versions.iter().map(|version| &*version.metadata.name).collect();
    let changed = new.spec.components.iter().filter(|setting| !live.spec.components.contains(setting));
    let planned: Vec<Planned> = changed
        .map(|setting| {
            let refused = refusal(setting, &known);
            let batches = match () {
                () if refused.is_some() => Batches::default(),
                () => batches(&live, &spec, setting, &machines),
            };
            planned(setting, refused, batches)
        })
        .collect();
    match arguments.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&planned)?),
        Output::Table => print!("{}", in_words(&planned)),
    }
    let is_refused = planned.iter().any(|planned| planned.refused.is_some());
    Ok(if is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The ClusterPackageVersion in a file of manifests.
fn read(path: &Path) -> Result<ClusterPackageVersion, Problem> {
    let problem = |error: String| Problem(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).map_err(|error| problem(error.to_string()))?;
    let found = documents.into_iter().find(|document| document["kind"] == "ClusterPackageVersion");
    let found = found.ok_or_else(|| problem("there is no ClusterPackageVersion in it".to_owned()))?;
    serde_json::from_value(found).map_err(|error| problem(error.to_string()))
}

/// Why a default would not be rolled out.
fn refusal(setting: &ComponentSetting, known: &BTreeSet<&str>) -> Option<String> {
    let name = format!("{}-{}", setting.name, setting.version.as_deref()?);
    (!known.contains(name.as_str())).then(|| format!("there is no MachineComponent {name}"))
}

/// The machines that would change, and those that would not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Batches {
    changing: Vec<Vec<String>>,
    pinned: usize,
    unchanged: usize,
}

/// The batches of a rollout that would begin now.
fn batches(
    live: &ClusterPackageVersion,
    spec: &PackageVersionSpec,
    setting: &ComponentSetting,
    machines: &[Machine],
) -> Batches {
    let generation = u64::try_from(live.metadata.generation).unwrap_or_default() + 1;
    let owner = live.metadata.uid.get().unwrap_or(Uid(0));
    let key = RankKey::new(owner, generation, &setting.name);
    let is_pinned = |machine: &&Machine| machine.spec.components.iter().any(|pin| pin.name == setting.name);
    let stays = machines.iter().filter(|machine| machine.metadata.deletion_timestamp.is_none());
    let (pinned, present): (Vec<&Machine>, Vec<&Machine>) = stays.partition(is_pinned);
    let ranked = present.iter().filter_map(|machine| Some((key.rank(machine.metadata.uid.get()?), *machine)));
    let mut ranked: Vec<(u32, &Machine)> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let total = u32::try_from(ranked.len()).unwrap_or(u32::MAX);
    let ends = ends(live, spec, setting).into_iter().map(|end| end.of(total) as usize).chain([ranked.len()]);
    let (mut changing, mut begin, mut unchanged) = (Vec::new(), 0, 0);
    for end in ends.map(|end| end.min(ranked.len())) {
        let batch = ranked.get(begin..end).unwrap_or_default();
        let (has_it, changes): (Vec<_>, Vec<_>) =
            batch.iter().partition(|(_, machine)| has(machine, setting));
        unchanged += has_it.len();
        if !changes.is_empty() {
            changing.push(changes.iter().map(|(_, machine)| machine.metadata.name.to_string()).collect());
        }
        begin = begin.max(end);
    }
    Batches { changing, pinned: pinned.len(), unchanged }
}

/// The ends of the batches. What worked before comes back at once.
fn ends(
    live: &ClusterPackageVersion,
    spec: &PackageVersionSpec,
    setting: &ComponentSetting,
) -> Vec<CountOrPercent> {
    let rollouts = live.status.as_ref().map_or(&[][..], |status| &status.rollouts);
    let rollout = rollouts.iter().find(|rollout| rollout.component == setting.name);
    let is_it = |want: &WantStatus| want.version == setting.version && want.parameters == setting.parameters;
    let works = rollout.and_then(|rollout| {
        let proven = rollout.completed_at.is_some() && rollout.updated > 0 && rollout.failed == 0;
        if proven { Some(&rollout.to) } else { rollout.from.as_ref() }
    });
    match &spec.strategy {
        Some(strategy) if !works.is_some_and(is_it) => strategy.batches.clone(),
        Some(_) | None => Vec::new(),
    }
}

/// Whether a machine has the version. Parameters show in no status: a change of them counts as a change of every machine.
fn has(machine: &Machine, setting: &ComponentSetting) -> bool {
    let components = machine.status.as_ref().map_or(&[][..], |status| &status.components);
    let installed = components.iter().find(|component| *component.name == *setting.name);
    let version = installed.and_then(|installed| installed.version.as_deref());
    version == setting.version.as_deref() && setting.parameters.is_empty()
}

fn planned(setting: &ComponentSetting, refused: Option<String>, batches: Batches) -> Planned {
    Planned {
        component: setting.name.clone(),
        to: setting.version.clone().unwrap_or_else(|| "nothing".to_owned()),
        refused,
        batches: batches.changing,
        pinned: batches.pinned,
        unchanged: batches.unchanged,
    }
}

fn in_words(planned: &[Planned]) -> String {
    if planned.is_empty() {
        return "nothing changes\n".to_owned();
    }
    let mut text = String::new();
    for planned in planned {
        let Planned { component, to, pinned, unchanged, .. } = planned;
        if let Some(why) = &planned.refused {
            text.push_str(&format!("{component} {to}: refused: {why}\n"));
            continue;
        }
        let changing: usize = planned.batches.iter().map(Vec::len).sum();
        text.push_str(&format!(
            "{component} {to}: {changing} machines change, {unchanged} have it, {pinned} pin it\n"
        ));
        for (number, batch) in (1..).zip(&planned.batches) {
            let named = batch.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = batch.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("  batch {number}, {} machines: {named}{more}\n", batch.len()));
        }
    }
    text
}

#[cfg(test)]
mod tests;
