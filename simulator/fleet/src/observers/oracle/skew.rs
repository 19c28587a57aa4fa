//! No host ever runs two versions together that a rule forbids. This is judged on the true state whenever a version is
//! replaced, also on a rollback. And no operation begins for a version that a rule forbids with an API server that the
//! operator could know of.

use std::collections::BTreeMap;

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::Requirement;
use seaworthy_kernel::Timestamp;
use seaworthy_model::config::Config;
use seaworthy_model::requirement::{API_SERVER, VersionNumber};

use super::Oracle;
use crate::world::api_server::Written;
use crate::world::host::{Change, Host, Work};
use crate::world::{Catalogue, Replicas, World};

/// The rules of versions, by object name; only versions that have any.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    rules: BTreeMap<String, Vec<Requirement>>,
}

impl Rules {
    /// A `MachineComponent` was written, or removed.
    pub(super) fn written(&mut self, written: &Written) {
        let name = written.object.name().to_string();
        let Resource::MachineComponent(version) = written.object.resource() else { return };
        // A removed version keeps its rules for the hosts that still run it.
        if !written.removed && !version.spec.requires.is_empty() {
            self.rules.insert(name, version.spec.requires.clone());
        }
    }

    /// Whether there are no rules.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The breach, if any, of beginning this work, ordered at `sent`, with these API servers.
    pub(super) fn objection(
        &self,
        host: &Host,
        work: &Work,
        catalogue: &Catalogue,
        (servers, sent, now): (&Replicas, Timestamp, Timestamp),
    ) -> Option<String> {
        let Change::Install(install) = work.change else { return None };
        let is_other = host.installed_of(work.component).is_none_or(|there| there.version != install.version);
        let version = catalogue.version_name(install.version);
        let mut rules = self.rules.get(version).filter(|_| is_other)?.iter();
        let rule = rules.find(|rule| rule.component == API_SERVER)?;
        let mut known = servers.there(sent - Config::default().api_server_memory, now);
        let other = known.find(|other| !admits(rule, Some(*other)))?;
        Some(format!("to install {version}, which must not be with {API_SERVER} {other}"))
    }

    /// The breach, if any, between the component that has just changed and the others on the host.
    pub(super) fn clash(&self, host: &Host, work: &Work, catalogue: &Catalogue) -> Option<String> {
        let changed = host.installed_of(work.component)?;
        let name = |version| catalogue.version_name(version);
        let others = host.installed().iter().filter(|other| other.component != work.component);
        let component = |number| catalogue.component_name(number);
        let own = (component(changed.component), name(changed.version));
        others.map(|other| (component(other.component), name(other.version))).find_map(|other| {
            let is_clash = self.breaks(own, other) || self.breaks(other, own);
            is_clash.then(|| format!("{} together with {}", own.1, other.1))
        })
    }

    /// Whether another version breaks a rule of this version.
    fn breaks(&self, (_, version): (&str, &str), (component, other): (&str, &str)) -> bool {
        let rules = self.rules.get(version).into_iter();
        let number = other.strip_prefix(component).and_then(|rest| rest.strip_prefix('-'));
        let number = number.and_then(VersionNumber::of);
        rules.flatten().any(|rule| rule.component == component && !admits(rule, number))
    }
}

impl Oracle {
    /// Work that was ordered at `sent` begins on a host in this state.
    pub(crate) fn begins(
        &mut self,
        (number, host): (u32, &Host),
        work: &Work,
        (catalogue, servers): (&Catalogue, &Replicas),
        (sent, now): (Timestamp, Timestamp),
    ) {
        if !self.rules.is_empty()
            && let Some(objection) = self.rules.objection(host, work, catalogue, (servers, sent, now))
        {
            self.breach("versionSkew", now, format!("host {number} began {objection}"));
        }
        if self.precedence.is_empty() {
            return;
        }
        if let Some(objection) = self.precedence.objection(host, work, catalogue) {
            self.breach("dependencyOrder", now, format!("host {number} began {objection}"));
        }
    }

    /// An operation has changed the installed version of its component.
    pub(super) fn version_changed(&mut self, world: &World, number: u32, work: &Work) {
        if self.rules.is_empty() {
            return;
        }
        if let Some(clash) = self.rules.clash(&world.hosts[number as usize], work, &world.catalogue) {
            self.breach("versionSkew", world.now(), format!("host {number} has {clash}"));
        }
    }
}

/// Whether a rule of the API allows a version.
fn admits(rule: &Requirement, version: Option<VersionNumber>) -> bool {
    let bound = |written: &Option<String>| written.as_deref().and_then(VersionNumber::parse);
    version.is_some_and(|version| {
        bound(&rule.at_least).is_none_or(|least| least <= version)
            && bound(&rule.below).is_none_or(|end| version < end)
    })
}
