//! `MachineComponentSet`.

use std::sync::Arc;

use seaworthy_model::component_set::{OnLeave, SetObject, SetSpec};
use seaworthy_model::id::{Kind, SetId};
use seaworthy_model::meta::Parsed;

use super::component_setting::component_settings;
use super::faults::{Faults, Field};
use super::label_selector::label_selector;
use super::metadata::{MetadataError, metadata};
use super::{package_version, status, strategy};
use crate::names::Names;
use crate::object::MachineComponentSet;
use crate::v1alpha1;

/// The message for a set that would select every machine.
const EMPTY: &str = "must not be empty: what all machines have belongs into the ClusterPackageVersion";

/// Reads a `MachineComponentSet`.
///
/// # Errors
/// When the metadata is invalid. Faults of the spec are part of the result.
pub fn machine_component_set(
    object: &MachineComponentSet,
    names: &mut Names,
) -> Result<(SetId, SetObject), MetadataError> {
    let meta = metadata(Kind::MachineComponentSet, &object.metadata)?;
    let id = names.id(&object.metadata.name);
    let spec = spec(&object.spec, names);
    let status = object.status.as_ref();
    let status = status.map(|status| status::package_version_status(status, names)).unwrap_or_default();
    let resume = package_version::resume(&object.metadata, names);
    let cause = package_version::cause(&object.metadata);
    let by = package_version::by(&object.metadata);
    let confirmed = package_version::confirmed(&object.metadata);
    Ok((id, SetObject { meta, spec, status, resume, cause, by, confirmed }))
}

fn spec(spec: &v1alpha1::MachineComponentSetSpec, names: &mut Names) -> Parsed<SetSpec> {
    let mut faults = Faults::default();
    let root = Field::root("spec");
    let selector = label_selector(root.name("selector"), &spec.selector, &mut faults);
    faults.require(root.name("selector"), !selector.is_everything(), EMPTY);
    let priority = i32::try_from(spec.priority).ok().filter(|priority| (-1000..=1000).contains(priority));
    faults.require(root.name("priority"), priority.is_some(), "must be a number from -1000 to 1000");
    let components = component_settings(root.name("components"), &spec.components, names, &mut faults);
    let on_leave = match spec.on_leave.as_str() {
        "Remove" => OnLeave::Remove,
        written => {
            faults.require(root.name("onLeave"), written == "Keep", "must be Keep or Remove");
            OnLeave::Keep
        }
    };
    let strategy = strategy::strategy(root.name("strategy"), &spec.strategy, &mut faults);
    let (priority, paused) = (priority.unwrap_or_default(), spec.paused);
    let canary = None;
    faults.result(Some(Arc::new(SetSpec {
        selector,
        priority,
        components,
        on_leave,
        paused,
        strategy,
        canary,
    })))
}
