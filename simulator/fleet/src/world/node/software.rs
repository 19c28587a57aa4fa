//! What the software on a host means for its Node: which component is the kubelet, which services it needs, and whether
//! they run.

use std::collections::BTreeMap;

use seaworthy_api::v1alpha1::MachineComponentSpec;
use seaworthy_model::host::Drift;

use crate::vocabulary::FoundState;
use crate::world::catalogue::Catalogue;
use crate::world::host::{ComponentNumber, Host, VersionNumber};

/// The versions of a scenario, as far as Nodes depend on them. A version with a `nodeIdentity` is a kubelet. What it
/// depends on must be installed, and must run if it is a service: its container runtime, for example.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct NodeSoftware {
    roles: BTreeMap<VersionNumber, Role>,
    has_kubelet: bool,
}

#[derive(Clone, Debug)]
struct Role {
    is_kubelet: bool,
    is_service: bool,
    needs: Vec<ComponentNumber>,
}

/// How a kubelet fares with the software on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::world) enum Fitness {
    /// No kubelet runs there that could act as the node.
    Absent,
    /// The kubelet runs, and something that it needs does not.
    Starved,
    /// The kubelet and all that it needs run.
    Fit,
}

impl NodeSoftware {
    /// Learns a version.
    pub(in crate::world) fn learn(&mut self, name: &str, spec: &MachineComponentSpec, names: &mut Catalogue) {
        let role = Role {
            is_kubelet: spec.node_identity.is_some(),
            is_service: spec.unit.is_some(),
            needs: spec.depends_on.iter().map(|component| names.component(component)).collect(),
        };
        self.has_kubelet |= role.is_kubelet;
        self.roles.insert(names.version(name), role);
    }

    /// Whether any version is a kubelet. Otherwise something that the scenario does not show runs the Nodes.
    pub(in crate::world) const fn has_kubelet(&self) -> bool {
        self.has_kubelet
    }

    /// Whether a version is a kubelet.
    pub(in crate::world) fn is_kubelet(&self, version: VersionNumber) -> bool {
        self.roles.get(&version).is_some_and(|role| role.is_kubelet)
    }

    /// How a kubelet fares with the software on a host. `is_broken` says of a version whether it does not work there,
    /// and `is_known` whether the host has a valid certificate of its node.
    pub(in crate::world) fn fitness(
        &self,
        host: &Host,
        is_broken: impl Fn(VersionNumber) -> bool,
        is_known: bool,
    ) -> Fitness {
        let kubelet = self.kubelet(host).filter(|kubelet| kubelet.runs && !is_broken(kubelet.version));
        let Some(kubelet) = kubelet.filter(|_| is_known) else { return Fitness::Absent };
        let needs = self.roles.get(&kubelet.version).map_or(&[][..], |role| &role.needs);
        let serves = |component: &ComponentNumber| {
            let present = present_of(host, *component);
            let is_service = |version| self.roles.get(&version).is_none_or(|role| role.is_service);
            present.is_some_and(|it| !is_broken(it.version) && (it.runs || !is_service(it.version)))
        };
        if needs.iter().all(serves) { Fitness::Fit } else { Fitness::Starved }
    }

    fn kubelet(&self, host: &Host) -> Option<Present> {
        let installed = host.installed().iter().map(|installed| installed.component);
        let found = host.found().iter().map(|found| found.component);
        let present = installed.chain(found).filter_map(|component| present_of(host, component));
        present.into_iter().find(|present| self.is_kubelet(present.version))
    }
}

/// A component that is on a host, by whomever.
#[derive(Clone, Copy, Debug)]
struct Present {
    version: VersionNumber,
    runs: bool,
}

fn present_of(host: &Host, component: ComponentNumber) -> Option<Present> {
    let installed = host.installed_of(component).map(|installed| Present {
        version: installed.version,
        runs: !installed.drift.contains(Drift::NOT_RUNNING),
    });
    let found = host.found_of(component);
    installed.or_else(|| {
        found.map(|found| Present { version: found.version, runs: found.state == FoundState::Running })
    })
}
