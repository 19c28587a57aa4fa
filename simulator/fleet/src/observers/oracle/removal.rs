//! Software is removed only because of `state: Absent`, the deletion of the Machine, or because the Machine has left a set with
//! `onLeave: Remove`; never because an object omits it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::ComponentSetting;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;

use super::desired::Desired;
use crate::world::api_server::{ApiServer, Stored, Written};

/// Components whose removal was asked for until lately. The operator may not know yet that users changed that.
#[derive(Clone, Debug, Default)]
pub(super) struct Removal {
    /// By name of the Machine (empty for the fleet and the sets) and component: until when a removal is excused.
    lately: BTreeMap<(String, String), Timestamp>,
    /// The components that sets with `onLeave: Remove` ever named.
    taken_back: BTreeSet<String>,
    /// By component, and by name of the Machine: until when the operator may not know who names it, or which sets select it.
    redecided: BTreeMap<String, Timestamp>,
}

impl Removal {
    pub(super) fn written(&mut self, written: &Written, now: Timestamp, detection: Duration) {
        let Some(before) = &written.before else { return };
        let specs = before.machine_spec().zip(written.object.machine_spec());
        if !written.removed && specs.is_some_and(|(was, is)| Arc::ptr_eq(was, is)) {
            return;
        }
        let (was, is) = (settings(before), settings(&written.object));
        let until = now + detection * 2;
        for object in [before, &written.object] {
            let taken_back = object.component_set().filter(|set| set.spec.on_leave == "Remove");
            let components = taken_back.iter().flat_map(|set| &set.spec.components);
            self.taken_back.extend(components.map(|setting| setting.name.to_string()));
        }
        if before.kind() == Kind::Machine {
            self.redecided.insert(before.name().to_string(), until);
        }
        let all = was.iter().chain(is);
        self.redecided.extend(all.map(|setting| (setting.name.to_string(), until)));
        for setting in was.iter().filter(|setting| is_absent(setting)) {
            let still = is.iter().any(|other| other.name == setting.name && is_absent(other));
            if !still || written.removed {
                self.lately.insert((owner(before), setting.name.clone()), now + detection * 2);
            }
        }
    }

    /// Whether a spec asks for the removal of the component from the Machine of that name, or did until lately.
    pub(super) fn is_wanted(
        &self,
        machine: Option<&str>,
        component: &str,
        api: &ApiServer,
        now: Timestamp,
    ) -> bool {
        // Only users remove the finalizer of a Machine that still has software. They accept that the software is
        // removed.
        let Some(name) = machine else { return true };
        let Some(object) = api.get(Kind::Machine, name) else { return true };
        let lately = |owner: &str| {
            let until = self.lately.get(&(owner.to_owned(), component.to_owned()));
            until.is_some_and(|until| *until >= now)
        };
        if object.is_terminating() || lately(name) || lately("") {
            return true;
        }
        let redecided = |of: &str| self.redecided.get(of).is_some_and(|until| *until >= now);
        if self.taken_back.contains(component) && (redecided(component) || redecided(name)) {
            return true;
        }
        let wants = |setting: &&ComponentSetting| setting.name == component;
        if let Some(pin) = settings(object).iter().find(wants) {
            return is_absent(pin);
        }
        let desired = Desired::of(api);
        let Resource::Machine(machine) = object.resource() else { return false };
        match desired.setting_of(&machine.metadata, component) {
            Some(setting) => is_absent(&setting),
            None => desired.takes_back(&machine.metadata, component),
        }
    }
}

fn is_absent(setting: &ComponentSetting) -> bool {
    setting.state == "Absent"
}

fn settings(object: &Stored) -> &[ComponentSetting] {
    let of_machine = object.machine_spec().map(|spec| &spec.components[..]);
    let of_owner = || object.charter().map(|(settings, _)| settings);
    of_machine.or_else(of_owner).unwrap_or_default()
}

fn owner(object: &Stored) -> String {
    if object.kind() == Kind::Machine { object.name().to_string() } else { String::new() }
}
