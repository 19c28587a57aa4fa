//! `CanaryRelease`.

use std::sync::Arc;

use seaworthy_model::component_set::{Canary, OnLeave, Pick, PickResult, Picked, SetObject, SetSpec};
use seaworthy_model::id::{CanaryId, Kind, MachineId};
use seaworthy_model::meta::Parsed;
use seaworthy_model::package_version::PackageVersionStatus;

use super::component_setting::component_settings;
use super::faults::{Faults, Field};
use super::label_selector::label_selector;
use super::metadata::{MetadataError, metadata};
use super::{package_version, status, strategy, text};
use crate::names::Names;
use crate::object::CanaryRelease;
use crate::render::pick_result;
use crate::v1alpha1;

/// The most keys of labels in `spec.pick.per`.
const KEYS_MAX: usize = 4;

/// Reads a `CanaryRelease`.
///
/// # Errors
/// When the metadata is invalid. Faults of the spec are part of the result.
pub fn canary_release(
    object: &CanaryRelease,
    names: &mut Names,
) -> Result<(CanaryId, SetObject), MetadataError> {
    let meta = metadata(Kind::CanaryRelease, &object.metadata)?;
    let id = names.id(&object.metadata.name);
    let spec = spec(&object.spec, names);
    let status = object.status.as_ref();
    let status = status.map(|status| canary_status(status, names)).unwrap_or_default();
    let resume = package_version::resume(&object.metadata, names);
    let cause = package_version::cause(&object.metadata);
    let by = package_version::by(&object.metadata);
    let confirmed = package_version::confirmed(&object.metadata);
    Ok((id, SetObject { meta, spec, status, resume, cause, by, confirmed }))
}

/// Reads what is recorded about a `CanaryRelease`.
#[must_use]
pub fn canary_status(read: &v1alpha1::CanaryReleaseStatus, names: &mut Names) -> PackageVersionStatus {
    let picked = read.machines.iter().take(Pick::MAX).filter_map(|machine| {
        let result = PickResult::ALL.into_iter().find(|known| pick_result(*known) == machine.result)?;
        Some(Picked { machine: names.machine(&machine.name), result })
    });
    let picked = picked.collect();
    PackageVersionStatus { picked, ..status::package_version_status(&read.record, names) }
}

fn spec(spec: &v1alpha1::CanaryReleaseSpec, names: &mut Names) -> Parsed<SetSpec> {
    let mut faults = Faults::default();
    let root = Field::root("spec");
    let selector = label_selector(root.name("selector"), &spec.selector, &mut faults);
    let pick = pick(root.name("pick"), &spec.pick, names, &mut faults);
    let components = component_settings(root.name("components"), &spec.components, names, &mut faults);
    let strategy = strategy::strategy(root.name("strategy"), &spec.strategy, &mut faults);
    if let Some(set) = &spec.promote_into {
        faults.require(root.name("promoteInto"), text::is_subdomain(set, 253), OBJECT_NAME);
    }
    let canary = Some(Canary { pick, aborted: spec.aborted });
    let (paused, on_leave) = (spec.paused, OnLeave::Keep);
    faults.result(Some(Arc::new(SetSpec {
        selector,
        priority: 0,
        components,
        on_leave,
        paused,
        strategy,
        canary,
    })))
}

/// The message for what is no name of an object.
const OBJECT_NAME: &str = "must be the name of an object";

fn pick(field: Field<'_>, read: &v1alpha1::CanaryPick, names: &mut Names, faults: &mut Faults) -> Pick {
    let (list, keys) = (field.name("machines"), field.name("per"));
    faults.at_most(list, read.machines.len(), Pick::MAX);
    faults.at_most(keys, read.per.len(), KEYS_MAX);
    if !read.machines.is_empty() {
        let is_alone = read.count == 1 && read.per.is_empty();
        faults.require(list, is_alone, "must not be together with count or per");
        let mut machines: Vec<MachineId> = Vec::new();
        for (index, name) in read.machines.iter().enumerate().take(Pick::MAX) {
            let is_name = text::is_subdomain(name, 253);
            faults.require(list.index(index), is_name, OBJECT_NAME);
            if is_name {
                machines.push(names.machine(name));
            }
        }
        return Pick::Machines(machines);
    }
    for (index, key) in read.per.iter().enumerate() {
        faults.require(keys.index(index), text::is_label_key(key), text::LABEL_KEY);
    }
    let count = u32::try_from(read.count).ok().filter(|count| (1..=Pick::MAX as u32).contains(count));
    faults.require(field.name("count"), count.is_some(), "must be a number from 1 to 100");
    let per = read.per.iter().map(|key| key.as_str().into()).collect();
    Pick::Count { count: count.unwrap_or(1), per }
}
