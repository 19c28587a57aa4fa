//! `seaworthy plan`: what a change of the defaults or of a set would do, without changing anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seaworthy_api::names::Names;
use seaworthy_api::object::{
    ClusterPackageVersion, Machine, MachineComponent, MachineComponentSet, Metadata,
};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting, WantStatus};
use seaworthy_engine::RankKey;
use seaworthy_kube::Terminal;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::meta::SpecError;
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::selector::Selector;
use seaworthy_model::strategy::Strategy;
use serde::Serialize;
use serde_json::Value;

use super::governors::{self, Rivals};
use super::rollout::Output;
use super::{Problem, fleet};

/// Arguments of `plan`.
#[derive(Args)]
pub(super) struct Planning {
    /// The file with the changed ClusterPackageVersion or MachineComponentSet, as for `kubectl apply`.
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
    /// Machines about which a canary, or a set that comes first, decides.
    decided_by_others: usize,
    /// Whether the machines of each batch are known. They are drawn when a set is created.
    is_drawn: bool,
}

/// What is planned: the defaults or a set, as they would be.
struct Subject {
    /// Which object it is, for the draw; `None` for a set that does not exist yet.
    uid: Option<Uid>,
    /// The generation in which the change would be first observed.
    generation: u64,
    /// The settings that are new.
    changed: Vec<ComponentSetting>,
    /// The record of its rollouts.
    status: Option<ClusterPackageVersionStatus>,
    strategy: Option<Strategy>,
    /// The selector, the priority and the name of a set.
    set: Option<(Selector, i32, String)>,
}

/// `plan`. Exits with 1 if something is refused.
pub(super) async fn plan(terminal: &Terminal, arguments: &Planning) -> Result<ExitCode, Problem> {
    let subject = match read(&arguments.filename)? {
        Manifest::Defaults(new) => defaults(fleet(terminal).await?, *new),
        Manifest::Set(new) => {
            let live =
                terminal.get::<MachineComponentSet>(Kind::MachineComponentSet, &new.metadata.name).await;
            match live {
                Err(failure) if failure.is_not_found() => set(None, *new),
                live => set(Some(live?), *new),
            }
        }
    };
    let subject =
        subject.map_err(|Problem(why)| Problem(format!("{}: {why}", arguments.filename.display())))?;
    let name = subject.set.as_ref().map(|(_, _, name)| name.as_str());
    let rivals = Rivals::read(terminal, name).await;
    let machines: Vec<Machine> = terminal.list(Kind::Machine).await?;
    let versions: Vec<MachineComponent> = terminal.list(Kind::MachineComponent).await?;
    let known: BTreeSet<&str> = versions.iter().map(|version| &*version.metadata.name).collect();
    let planned: Vec<Planned> = subject
        .changed
        .iter()
        .map(|setting| {
            let refused = refusal(setting, &known);
            let batches = match () {
                () if refused.is_some() => Batches::default(),
                () => batches(&subject, setting, &machines, &rivals),
            };
            planned(setting, refused, batches, subject.uid.is_some())
        })
        .collect();
    match arguments.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&planned)?),
        Output::Table => print!("{}", in_words(&planned)),
    }
    let is_refused = planned.iter().any(|planned| planned.refused.is_some());
    Ok(if is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What a file of manifests is about.
enum Manifest {
    Defaults(Box<ClusterPackageVersion>),
    Set(Box<MachineComponentSet>),
}

/// The first object in a file of manifests that can be planned.
fn read(path: &Path) -> Result<Manifest, Problem> {
    let problem = |error: String| Problem(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).map_err(|error| problem(error.to_string()))?;
    let is = |document: &Value, kind: Kind| document["kind"] == kind.name();
    let found = documents.into_iter().find(|document| {
        is(document, Kind::ClusterPackageVersion) || is(document, Kind::MachineComponentSet)
    });
    let missing = "there is no ClusterPackageVersion and no MachineComponentSet in it";
    let found = found.ok_or_else(|| problem(missing.to_owned()))?;
    let read = if is(&found, Kind::MachineComponentSet) {
        serde_json::from_value(found).map(Manifest::Set)
    } else {
        serde_json::from_value(found).map(Manifest::Defaults)
    };
    read.map_err(|error| problem(error.to_string()))
}

/// The faults of a spec, for people.
fn faults(errors: &[SpecError]) -> Problem {
    let faults = errors.iter().map(|fault| format!("{}: {}", fault.field, fault.message));
    Problem(faults.collect::<Vec<_>>().join("; "))
}

/// The defaults, as they would be.
fn defaults(live: ClusterPackageVersion, mut new: ClusterPackageVersion) -> Result<Subject, Problem> {
    if *new.metadata.name != *SINGLETON {
        return Err(Problem(format!("the ClusterPackageVersion {} counts for nothing", new.metadata.name)));
    }
    // A file says nothing of what the API server adds.
    new.metadata = live.metadata.clone();
    let spec = parse::package_version(&new, &mut Names::new())?.spec.map_err(|errors| faults(&errors))?;
    Ok(Subject {
        uid: live.metadata.uid.get(),
        generation: next_generation(&live.metadata),
        changed: news(&new.spec.components, &live.spec.components),
        status: live.status,
        strategy: spec.strategy.clone(),
        set: None,
    })
}

/// A set, as it would be. With another selector everything that it says may be new to a machine.
fn set(live: Option<MachineComponentSet>, mut new: MachineComponentSet) -> Result<Subject, Problem> {
    if let Some(live) = &live {
        new.metadata = live.metadata.clone();
    } else {
        new.metadata.uid = UNBORN.into();
        new.metadata.resource_version = "1".into();
    }
    let (_, read) = parse::machine_component_set(&new, &mut Names::new())?;
    let spec = read.spec.map_err(|errors| faults(&errors))?;
    let same = live.as_ref().filter(|live| live.spec.selector == new.spec.selector);
    Ok(Subject {
        uid: live.as_ref().and_then(|live| live.metadata.uid.get()),
        generation: live.as_ref().map_or(1, |live| next_generation(&live.metadata)),
        changed: news(&new.spec.components, same.map_or(&[][..], |live| &live.spec.components)),
        status: live.and_then(|live| live.status),
        strategy: Some(spec.strategy.clone()),
        set: Some((spec.selector.clone(), spec.priority, new.metadata.name.to_string())),
    })
}

/// The uid of a set that does not exist.
const UNBORN: &str = "00000000-0000-0000-0000-000000000000";

fn next_generation(metadata: &Metadata) -> u64 {
    u64::try_from(metadata.generation).unwrap_or_default() + 1
}

/// The settings that are not there yet.
fn news(new: &[ComponentSetting], live: &[ComponentSetting]) -> Vec<ComponentSetting> {
    new.iter().filter(|setting| !live.contains(setting)).cloned().collect()
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
    decided_by_others: usize,
}

/// The batches of a rollout that would begin now.
fn batches(subject: &Subject, setting: &ComponentSetting, machines: &[Machine], rivals: &Rivals) -> Batches {
    // The order of a set that does not exist yet is not shown.
    let key = RankKey::new(subject.uid.unwrap_or(Uid(0)), subject.generation, &setting.name);
    let is_pinned = |machine: &&Machine| machine.spec.components.iter().any(|pin| pin.name == setting.name);
    let is_of_it = |machine: &&Machine| {
        subject.set.as_ref().is_none_or(|(selector, ..)| selector.matches(&governors::labels(machine)))
    };
    let stays = machines.iter().filter(|machine| machine.metadata.deletion_timestamp.is_none());
    let (pinned, free): (Vec<&Machine>, Vec<&Machine>) = stays.filter(is_of_it).partition(is_pinned);
    let place = subject.set.as_ref().map(|(_, priority, name)| (i64::from(*priority), name.as_str()));
    let (others, present): (Vec<&Machine>, Vec<&Machine>) =
        free.into_iter().partition(|machine| rivals.decide(place, machine, &setting.name));
    let ranked = present.iter().filter_map(|machine| Some((key.rank(machine.metadata.uid.get()?), *machine)));
    let mut ranked: Vec<(u32, &Machine)> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let total = u32::try_from(ranked.len()).unwrap_or(u32::MAX);
    let ends = ends(subject, setting).into_iter().map(|end| end.of(total) as usize).chain([ranked.len()]);
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
    Batches { changing, pinned: pinned.len(), unchanged, decided_by_others: others.len() }
}

/// The ends of the batches. What worked before comes back at once.
fn ends(subject: &Subject, setting: &ComponentSetting) -> Vec<CountOrPercent> {
    let rollouts = subject.status.as_ref().map_or(&[][..], |status| &status.rollouts);
    let rollout = rollouts.iter().find(|rollout| rollout.component == setting.name);
    let is_it = |want: &WantStatus| want.version == setting.version && want.parameters == setting.parameters;
    let works = rollout.and_then(|rollout| {
        let proven = rollout.completed_at.is_some() && rollout.updated > 0 && rollout.failed == 0;
        if proven { Some(&rollout.to) } else { rollout.from.as_ref() }
    });
    match &subject.strategy {
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

fn planned(setting: &ComponentSetting, refused: Option<String>, batches: Batches, is_drawn: bool) -> Planned {
    Planned {
        component: setting.name.clone(),
        to: setting.version.clone().unwrap_or_else(|| "nothing".to_owned()),
        refused,
        batches: batches.changing,
        pinned: batches.pinned,
        unchanged: batches.unchanged,
        decided_by_others: batches.decided_by_others,
        is_drawn,
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
        let others = match planned.decided_by_others {
            0 => String::new(),
            count => format!(", sets or canaries decide about {count}"),
        };
        text.push_str(&format!(
            "{component} {to}: {changing} machines change, {unchanged} have it, {pinned} pin it{others}\n"
        ));
        if !planned.is_drawn && changing > 0 {
            text.push_str("  which of them come first is drawn when the set is created\n");
        }
        for (number, batch) in (1..).zip(&planned.batches) {
            if !planned.is_drawn {
                text.push_str(&format!("  batch {number}, {} machines\n", batch.len()));
                continue;
            }
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
