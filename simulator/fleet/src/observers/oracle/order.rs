//! A version is installed only after the components that it depends on, and those are not removed before it.

use std::collections::BTreeMap;

use seaworthy_api::object::Resource;

use crate::world::Catalogue;
use crate::world::api_server::Written;
use crate::world::host::{Change, ComponentNumber, Host, Work};

/// The dependencies of versions, by object name; only versions that have any.
#[derive(Clone, Debug, Default)]
pub(super) struct Precedence {
    needs: BTreeMap<String, Vec<String>>,
}

impl Precedence {
    /// A `MachineComponent` was written, or removed.
    pub(super) fn written(&mut self, written: &Written) {
        let name = written.object.name().to_string();
        let Resource::MachineComponent(version) = written.object.resource() else { return };
        if written.removed || version.spec.depends_on.is_empty() {
            self.needs.remove(&name);
        } else {
            self.needs.insert(name, version.spec.depends_on.clone());
        }
    }

    /// Whether no version has a dependency.
    pub(super) fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The breach, if any, of beginning this work in the present state of the host.
    pub(super) fn objection(&self, host: &Host, work: &Work, catalogue: &Catalogue) -> Option<String> {
        match work.change {
            Change::Install(install) => {
                let version = catalogue.version_name(install.version);
                let needs = self.needs.get(version)?;
                let lacks = needs.iter().find(|needed| {
                    let number = catalogue.find_component(needed);
                    number.is_none_or(|number| host.installed_of(number).is_none())
                })?;
                Some(format!("to install {version}, which needs {lacks}"))
            }
            Change::Remove => {
                let others = host.installed().iter().filter(|other| other.component != work.component);
                let names = others.map(|other| catalogue.version_name(other.version));
                let component = catalogue.component_name(work.component);
                let mut needing = names.filter(|version| self.is_needed(component, version));
                let circle = self.leads(host, catalogue, work.component, component);
                let dependent = needing.next().filter(|_| !circle)?;
                Some(format!("to remove {component}, which {dependent} needs"))
            }
        }
    }

    fn is_needed(&self, component: &str, by: &str) -> bool {
        self.needs.get(by).is_some_and(|needs| needs.iter().any(|needed| needed == component))
    }

    /// Whether the installed version of a component depends, directly or through others, on the component of this name.
    fn leads(&self, host: &Host, catalogue: &Catalogue, from: ComponentNumber, to: &str) -> bool {
        let mut ahead = vec![from];
        let mut seen = Vec::new();
        while let Some(component) = ahead.pop() {
            let version = host.installed_of(component).map(|found| catalogue.version_name(found.version));
            for needed in version.and_then(|version| self.needs.get(version)).into_iter().flatten() {
                if needed == to {
                    return true;
                }
                let number = catalogue.find_component(needed);
                if let Some(number) = number.filter(|number| !seen.contains(number)) {
                    seen.push(number);
                    ahead.push(number);
                }
            }
        }
        false
    }
}
