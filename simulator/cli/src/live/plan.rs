//! `seaworthy plan`: what a change of the defaults, of a set or of a canary would do, without changing anything.

mod batches;
mod leaving;
mod pick;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seaworthy_api::names::Names;
use seaworthy_api::object::{
    CanaryRelease, ClusterPackageVersion, Machine, MachineComponent, MachineComponentSet, Metadata, Node,
    Resource,
};
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting};
use seaworthy_api::{parse, render};
use seaworthy_engine::Owner;
use seaworthy_kube::Terminal;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::machine::Truth;
use seaworthy_model::meta::SpecError;
use seaworthy_model::package_version::{FleetCondition, FleetConditionKind, FleetReason, SINGLETON};
use seaworthy_model::strategy::Strategy;
use seaworthy_model::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

use batches::{Batches, batches};
use leaving::{Before, Leaving, selects_nobody};
use pick::Picking;

use super::picture::Picture;
use super::{Problem, fleet};
use crate::printing::{Output, Printing};

/// Arguments of `plan`.
#[derive(Args)]
pub(super) struct Planning {
    /// The file with the changed or new ClusterPackageVersion, MachineComponentSet or CanaryRelease, as for `kubectl apply`.
    #[arg(long, short, value_name = "FILE")]
    filename: PathBuf,
    #[command(flatten)]
    printing: Printing,
}

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
    /// Why it would not begin before a person confirms it.
    #[serde(skip_serializing_if = "Option::is_none")]
    unconfirmed: Option<String>,
    #[serde(flatten)]
    batches: Batches,
    /// Whether the machines of each batch are known. They are drawn when a set or a canary is created.
    is_drawn: bool,
    /// Whether it is paused: then nothing begins.
    is_paused: bool,
    /// Whether it is of a set that selects no machine.
    selects_nobody: bool,
    /// The machines of a canary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pick: Option<Picking>,
}

/// What would happen. Programs read it as one list.
#[derive(Debug, Default)]
struct Outlook {
    /// What would be rolled out, component by component.
    planned: Vec<Planned>,
    /// The machines about which the object does not decide any more.
    leaving: Vec<Leaving>,
}

impl Serialize for Outlook {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Entry<'a> {
            Planned(&'a Planned),
            Leaving(&'a Leaving),
        }
        let planned = self.planned.iter().map(Entry::Planned);
        serializer.collect_seq(planned.chain(self.leaving.iter().map(Entry::Leaving)))
    }
}

/// What is planned: the defaults, a set or a canary.
struct Subject {
    /// The object, as it would be.
    object: Resource,
    /// Which object it is, for the draw; `None` if it does not exist yet.
    uid: Option<Uid>,
    /// The generation in which the change would be first observed.
    generation: u64,
    /// The settings that are new.
    changed: Vec<ComponentSetting>,
    /// The record of its rollouts.
    status: Option<ClusterPackageVersionStatus>,
    strategy: Option<Strategy>,
}

/// `plan`. Exits with 1 if something is refused.
pub(super) async fn plan(terminal: &Terminal, arguments: &Planning) -> Result<ExitCode, Problem> {
    let subject = match read(&arguments.filename)? {
        Manifest::Defaults(new) => defaults(fleet(terminal).await?, *new),
        Manifest::Set(new) => {
            set(present(terminal, Kind::MachineComponentSet, &new.metadata.name).await?, *new)
        }
        Manifest::Canary(new) => {
            canary(present(terminal, Kind::CanaryRelease, &new.metadata.name).await?, *new)
        }
    };
    let subject =
        subject.map_err(|Problem(why)| Problem(format!("{}: {why}", arguments.filename.display())))?;
    let outlook = outlook(picture(terminal, &subject).await?, subject)?;
    match arguments.printing.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&outlook)?),
        Output::Table => print!("{}", words::in_words(&outlook)),
    }
    let is_refused = outlook.planned.iter().any(|planned| planned.refused.is_some());
    Ok(if is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// An object that may not exist yet.
async fn present<T: DeserializeOwned>(
    terminal: &Terminal,
    kind: Kind,
    name: &str,
) -> Result<Option<T>, Problem> {
    match terminal.get(kind, name).await {
        Err(failure) if failure.is_not_found() => Ok(None),
        read => Ok(Some(read?)),
    }
}

/// The cluster, as far as rollouts depend on it.
async fn picture(terminal: &Terminal, subject: &Subject) -> Result<Picture, Problem> {
    let mut picture = Picture::new();
    picture.ask_api_servers(terminal).await;
    picture.list::<MachineComponent>(terminal, (Kind::MachineComponent, Resource::MachineComponent)).await?;
    if let Some(defaults) = present(terminal, Kind::ClusterPackageVersion, SINGLETON).await? {
        picture.see(&Resource::ClusterPackageVersion(Box::new(defaults)))?;
    }
    picture.owners(terminal).await?;
    picture.list::<Machine>(terminal, (Kind::Machine, Resource::Machine)).await?;
    // Only who picks machines looks at their Nodes.
    if subject.object.kind() == Kind::CanaryRelease {
        picture.list::<Node>(terminal, (Kind::Node, Resource::Node)).await?;
    }
    Ok(picture)
}

/// What would happen to each component.
fn outlook(mut picture: Picture, mut subject: Subject) -> Result<Outlook, Problem> {
    let (kind, name) = (subject.object.kind(), subject.object.metadata().name.clone());
    let before = Before::of(picture.world(), picture.owner(kind, &name));
    picture.see(&subject.object)?;
    let Some(owner) = picture.owner(kind, &name) else { return Ok(Outlook::default()) };
    let pick = match owner {
        Owner::Canary(id) => Some(pick::pick(&mut picture, &mut subject, id)?),
        Owner::Fleet | Owner::Set(_) => None,
    };
    let of = |setting: &ComponentSetting| {
        let refused = refusal(&picture, owner, setting);
        let refused = refused.or_else(|| pick.as_ref()?.refusal());
        let batches = match () {
            () if refused.is_some() => Batches::default(),
            () => batches(&picture, owner, (&subject, setting), pick.as_ref()),
        };
        let component = picture.component(&setting.name).filter(|_| refused.is_none());
        let coming = u32::try_from(batches.sizes.iter().sum::<usize>()).unwrap_or(u32::MAX);
        let unconfirmed = component.and_then(|id| picture.engine().unconfirmed(owner, id, coming));
        Planned {
            component: setting.name.clone(),
            to: setting.version.clone().unwrap_or_else(|| "nothing".to_owned()),
            refused,
            unconfirmed: unconfirmed.map(|(reason, detail)| told(reason, detail)),
            batches,
            is_drawn: subject.uid.is_some(),
            is_paused: picture.world().is_owner_paused(owner),
            selects_nobody: selects_nobody(picture.world(), owner),
            pick: pick.clone(),
        }
    };
    let planned = subject.changed.iter().map(of).collect();
    Ok(Outlook { planned, leaving: before.leaving(&picture, owner) })
}

/// What a file of manifests is about.
enum Manifest {
    Defaults(Box<ClusterPackageVersion>),
    Set(Box<MachineComponentSet>),
    Canary(Box<CanaryRelease>),
}

/// The first object in a file of manifests that can be planned.
fn read(path: &Path) -> Result<Manifest, Problem> {
    let problem = |error: String| Problem(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).map_err(|error| problem(error.to_string()))?;
    let kinds = [Kind::ClusterPackageVersion, Kind::MachineComponentSet, Kind::CanaryRelease];
    let found = documents.into_iter().find_map(|document| {
        let kind = kinds.into_iter().find(|kind| document["kind"] == kind.name())?;
        Some((kind, document))
    });
    let missing = "there is no ClusterPackageVersion, no MachineComponentSet and no CanaryRelease in it";
    let (kind, found) = found.ok_or_else(|| problem(missing.to_owned()))?;
    let read = if kind == Kind::CanaryRelease {
        serde_json::from_value(found).map(Manifest::Canary)
    } else if kind == Kind::MachineComponentSet {
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
    new.metadata = next(Some(&live.metadata), &new.metadata);
    new.status.clone_from(&live.status);
    let spec = parse::package_version(&new, &mut Names::new())?.spec.map_err(|errors| faults(&errors))?;
    Ok(Subject {
        uid: live.metadata.uid.get(),
        generation: generation(&new.metadata),
        changed: news(&new.spec.components, &live.spec.components),
        status: live.status,
        strategy: spec.strategy.clone(),
        object: Resource::ClusterPackageVersion(Box::new(new)),
    })
}

/// A set, as it would be. With another selector or priority everything that it says may be new to a machine.
fn set(live: Option<MachineComponentSet>, mut new: MachineComponentSet) -> Result<Subject, Problem> {
    new.metadata = next(live.as_ref().map(|live| &live.metadata), &new.metadata);
    new.status = live.as_ref().and_then(|live| live.status.clone());
    let (_, read) = parse::machine_component_set(&new, &mut Names::new())?;
    let spec = read.spec.map_err(|errors| faults(&errors))?;
    let place = |set: &MachineComponentSet| (set.spec.selector.clone(), set.spec.priority);
    let same = live.as_ref().filter(|live| place(live) == place(&new));
    Ok(Subject {
        uid: live.as_ref().and_then(|live| live.metadata.uid.get()),
        generation: generation(&new.metadata),
        changed: news(&new.spec.components, same.map_or(&[][..], |live| &live.spec.components)),
        status: live.and_then(|live| live.status),
        strategy: Some(spec.strategy.clone()),
        object: Resource::MachineComponentSet(Box::new(new)),
    })
}

/// A canary, as it would be.
fn canary(live: Option<CanaryRelease>, mut new: CanaryRelease) -> Result<Subject, Problem> {
    new.metadata = next(live.as_ref().map(|live| &live.metadata), &new.metadata);
    new.status = live.as_ref().and_then(|live| live.status.clone());
    let (_, read) = parse::canary_release(&new, &mut Names::new())?;
    let spec = read.spec.map_err(|errors| faults(&errors))?;
    let before = live.as_ref().map(|live| &live.spec);
    for (field, is_same) in [
        ("spec.selector", before.is_none_or(|before| before.selector == new.spec.selector)),
        ("spec.pick", before.is_none_or(|before| before.pick == new.spec.pick)),
    ] {
        if !is_same {
            return Err(Problem(format!("{field}: cannot be changed: create another CanaryRelease")));
        }
    }
    if new.spec.aborted {
        return Err(Problem("spec.aborted: its machines get back what they had before".to_owned()));
    }
    Ok(Subject {
        uid: live.as_ref().and_then(|live| live.metadata.uid.get()),
        generation: generation(&new.metadata),
        changed: news(&new.spec.components, before.map_or(&[][..], |before| &before.components)),
        status: live.and_then(|live| live.status).map(|status| status.record),
        strategy: Some(spec.strategy.clone()),
        object: Resource::CanaryRelease(Box::new(new)),
    })
}

/// The uid of an object that does not exist.
const UNBORN: &str = "00000000-0000-0000-0000-000000000000";

/// The metadata after the change. A file says nothing of what the API server adds.
fn next(live: Option<&Metadata>, new: &Metadata) -> Metadata {
    match live {
        Some(live) => Metadata { generation: live.generation + 1, ..live.clone() },
        None => Metadata { uid: UNBORN.into(), resource_version: "1".into(), generation: 1, ..new.clone() },
    }
}

fn generation(metadata: &Metadata) -> u64 {
    u64::try_from(metadata.generation).unwrap_or_default()
}

/// The settings that are not there yet.
fn news(new: &[ComponentSetting], live: &[ComponentSetting]) -> Vec<ComponentSetting> {
    new.iter().filter(|setting| !live.contains(setting)).cloned().collect()
}

/// Why a setting would not be rolled out.
fn refusal(picture: &Picture, owner: Owner, setting: &ComponentSetting) -> Option<String> {
    let (reason, detail) = picture.engine().refusal(owner, picture.component(&setting.name)?)?;
    if reason == FleetReason::UnknownVersion {
        let name = format!("{}-{}", setting.name, setting.version.as_deref().unwrap_or_default());
        let is_there = picture.version(&name).is_some_and(|version| version.object().is_some());
        let what = if is_there { "the spec is not acceptable of" } else { "there is no" };
        return Some(format!("{what} MachineComponent {name}"));
    }
    Some(told(reason, detail))
}

/// A reason in the words that the operator would use.
fn told(reason: FleetReason, detail: Option<FleetDetail>) -> String {
    let condition = render::fleet_condition(&FleetCondition {
        kind: FleetConditionKind::Progressing,
        truth: Truth::False,
        reason,
        detail,
        since: Timestamp::ZERO,
        observed_generation: 0,
    });
    format!("{}: {}", condition.reason, condition.message)
}

#[cfg(test)]
mod tests;
