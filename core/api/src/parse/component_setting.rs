//! A list of components and what is wanted of them.

use seaworthy_model::machine::{ComponentSetting, Want};

use super::faults::{Faults, Field};
use super::text;
use crate::names::Names;
use crate::v1alpha1;

/// Longest value of a parameter, in bytes.
const PARAMETER_MAX: usize = 4096;

/// Reads the list `field`.
pub(super) fn component_settings(
    field: Field<'_>,
    settings: &[v1alpha1::ComponentSetting],
    names: &mut Names,
    faults: &mut Faults,
) -> Vec<ComponentSetting> {
    faults.at_most(field, settings.len(), 64);
    faults.unique(field, "name", settings.iter().map(|setting| setting.name.as_str()));
    let items = settings.iter().enumerate();
    items
        .filter_map(|(index, setting)| component_setting(field.index(index), setting, names, faults))
        .collect()
}

fn component_setting(
    field: Field<'_>,
    setting: &v1alpha1::ComponentSetting,
    names: &mut Names,
    faults: &mut Faults,
) -> Option<ComponentSetting> {
    let before = faults.count();
    faults.require(field.name("name"), text::is_label(&setting.name), text::LABEL);
    match setting.state.as_str() {
        "Present" => present(field, setting, faults),
        "Absent" => absent(field, setting, faults),
        _ => faults.add(field.name("state"), "must be Present or Absent"),
    }
    if faults.count() > before {
        return None;
    }
    let component = names.component(&setting.name);
    let want = match &setting.version {
        Some(version) => Want::Present {
            version: names.version(&setting.name, version),
            parameters: setting.parameters.clone(),
        },
        None => Want::Absent,
    };
    Some(ComponentSetting { component, want })
}

fn present(field: Field<'_>, setting: &v1alpha1::ComponentSetting, faults: &mut Faults) {
    match &setting.version {
        Some(version) => {
            faults.require(field.name("version"), text::is_subdomain(version, 63), text::SUBDOMAIN);
        }
        None => faults.add(field.name("version"), "version is required when state is Present"),
    }
    check_parameters(field.name("parameters"), &setting.parameters, faults);
}

/// Validates parameters.
pub(super) fn check_parameters(field: Field<'_>, parameters: &v1alpha1::Parameters, faults: &mut Faults) {
    faults.at_most(field, parameters.len(), 64);
    for (name, value) in parameters {
        faults.require(field.key(name), text::is_identifier(name), text::IDENTIFIER);
        faults.require(field.key(name), value.len() <= PARAMETER_MAX, "must have at most 4096 bytes");
    }
}

fn absent(field: Field<'_>, setting: &v1alpha1::ComponentSetting, faults: &mut Faults) {
    let message = "version must not be set when state is Absent";
    faults.require(field.name("version"), setting.version.is_none(), message);
    let message = "parameters must not be set when state is Absent";
    faults.require(field.name("parameters"), setting.parameters.is_empty(), message);
}
