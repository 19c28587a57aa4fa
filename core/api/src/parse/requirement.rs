//! Rules about versions.

use seaworthy_model::requirement::{API_SERVER, Party, Requirement, VersionNumber};

use super::faults::{Faults, Field};
use super::text;
use crate::names::Names;
use crate::v1alpha1::{self, MachineComponentSpec};

/// Validates the rules of a version. [`requirement`] reads the rules without faults.
pub(super) fn requirements(field: Field<'_>, spec: &MachineComponentSpec, faults: &mut Faults) {
    faults.at_most(field, spec.requires.len(), 16);
    faults.unique(field, "component", spec.requires.iter().map(|rule| rule.component.as_str()));
    for (index, rule) in spec.requires.iter().enumerate() {
        judge(field.index(index), rule, faults);
    }
    let is_own = spec.requires.iter().any(|rule| rule.component == spec.component);
    faults.require(field, !is_own, "must not have the component's own name in it");
}

fn judge(field: Field<'_>, rule: &v1alpha1::Requirement, faults: &mut Faults) {
    faults.require(field.name("component"), text::is_label(&rule.component), text::LABEL);
    let is_bounded = rule.at_least.is_some() || rule.below.is_some();
    faults.require(field, is_bounded, "must have atLeast, below, or both");
    let mut bound = |name, written: &Option<String>| {
        let read = written.as_deref().map(VersionNumber::parse);
        let message = "must be three numbers of at most 65535, such as \"1.36.0\"";
        faults.require(field.name(name), read != Some(None), message);
        read.flatten()
    };
    let bounds = (bound("atLeast", &rule.at_least), bound("below", &rule.below));
    if let (Some(at_least), Some(below)) = bounds {
        faults.require(field.name("below"), at_least < below, "must be higher than atLeast");
    }
}

/// A rule without faults.
pub(super) fn requirement(rule: &v1alpha1::Requirement, names: &mut Names) -> Requirement {
    let party = if rule.component == API_SERVER {
        Party::ApiServer
    } else {
        Party::Component(names.component(&rule.component))
    };
    let bound = |written: &Option<String>| written.as_deref().and_then(VersionNumber::parse);
    Requirement { party, at_least: bound(&rule.at_least), below: bound(&rule.below) }
}
