//! The software of hosts and their Nodes: a kubelet that does not run renews no lease, and one whose container runtime
//! does not run reports that its Node is not ready.

use std::sync::Arc;

use seaworthy_api::object::Resource;
use seaworthy_kernel::{Span, word};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;

use crate::vocabulary::{Occasion, Step, machine_name};
use crate::world::World;
use crate::world::happening::Happening;
use crate::world::host::{ComponentNumber, VersionNumber};
use crate::world::node::Fitness;

/// The time from the end of a container runtime to the report of its kubelet: kubelet bears it for 30 s (the threshold of
/// its runtime state), and looks every 5 s. The report comes with the next renewal.
const BEARS: Span = Span::millis(30_000, 35_000);
/// The time from the start of a container runtime to the report of its kubelet.
const NOTICES: Span = Span::millis(100, 5_000);

impl World {
    /// Learns which versions of the scenario are kubelets, and what they need.
    pub(in crate::world) fn learn_software(&mut self) {
        let scenario = Arc::clone(&self.scenario);
        let later = scenario.timeline.iter().flat_map(|moment| &moment.apply);
        for manifest in scenario.manifests.iter().chain(later) {
            if let Some(Resource::MachineComponent(version)) = manifest.object() {
                self.software.learn(&version.metadata.name, &version.spec, &mut self.catalogue);
            }
        }
    }

    /// How a kubelet fares with the software on a host.
    pub(in crate::world) fn fitness(&self, number: u32) -> Fitness {
        if !self.software.has_kubelet() {
            return Fitness::Fit;
        }
        let host = &self.hosts[number as usize];
        let certificate = host.node().and_then(|node| node.certificate());
        let is_known = certificate.is_some_and(|certificate| {
            !self.is_of_others(certificate, &machine_name(number)) && self.now() < certificate.not_after
        });
        let setting = setting!(self, number);
        let is_broken = |version: VersionNumber| setting.failure(version) == Some(CauseKind::ProbeFailed);
        self.software.fitness(host, is_broken, is_known)
    }

    /// The software on a host, or the certificate of its node, may have changed.
    pub(in crate::world) fn software_changed(&mut self, number: u32) {
        let Some(&kubelet) = self.kubelets.get(number as usize) else { return };
        if !self.software.has_kubelet() {
            return;
        }
        let fitness = self.fitness(number);
        match (kubelet.runs(), fitness != Fitness::Absent) {
            (true, false) => self.kubelet_lost(number, |kubelet| kubelet.stop()),
            (false, true) => {
                self.kubelets[number as usize].enable();
                if self.hosts[number as usize].is_on() {
                    self.kubelet_started(number);
                }
            }
            (true, true) | (false, false) => {}
        }
        let was_unfit = kubelet.is_unfit();
        let is_starved = fitness == Fitness::Starved;
        if self.kubelets[number as usize].starve(is_starved) {
            let span = if is_starved { BEARS } else { NOTICES };
            let delay = self.draws.within(word("runtime"), u64::from(number), self.now().millis(), span);
            self.condition_changes(number, was_unfit, delay);
        }
    }

    /// Whether a host has no Node, and nothing that the operator installed there makes it one.
    pub(crate) fn is_to_become_node(&self, number: u32) -> bool {
        self.lacks_kubelet(number) && self.api_servers.home().get(Kind::Node, &machine_name(number)).is_none()
    }

    /// Whether a host lacks the component that makes it a node, where there is one. If its Node dies, no change of another
    /// component is to blame, nor would it come back.
    pub(crate) fn lacks_kubelet(&self, number: u32) -> bool {
        let installed = self.hosts[number as usize].installed();
        self.software.has_kubelet()
            && !installed.iter().any(|installed| self.software.is_kubelet(installed.version))
    }

    /// A step of an operation on a component of a host has taken effect.
    pub(in crate::world) fn step_took_effect(&mut self, number: u32, component: ComponentNumber, step: Step) {
        if matches!(step, Step::Restart | Step::Recover | Step::Reload | Step::Delete) {
            self.late_harm_ends(number, component);
        }
        let host = &self.hosts[number as usize];
        match step {
            // The process of the release before still runs.
            Step::Swap | Step::Restore => {}
            Step::Restart | Step::Recover => {
                let version = host.version_of(component);
                let is_kubelet = version.is_some_and(|version| self.software.is_kubelet(version));
                let runs = self.kubelets.get(number as usize).is_some_and(|kubelet| kubelet.runs());
                if is_kubelet && runs {
                    self.kubelet_lost(number, |kubelet| kubelet.stop());
                }
                self.software_changed(number);
            }
            Step::Reload => {
                self.note_occasion(Occasion::ServiceReloaded);
                self.software_changed(number);
            }
            Step::Stop | Step::Clean | Step::Delete | Step::Commit => self.software_changed(number),
            Step::Lock
            | Step::Journal
            | Step::Download
            | Step::Verify
            | Step::Stage
            | Step::Render
            | Step::Preflight
            | Step::Reboot
            | Step::Probe
            | Step::Confirm => {}
        }
    }

    /// The condition of the Node of a host at the beginning. `None` if it has no Node: it runs no kubelet and has no
    /// certificate of a node, so no kubelet ran there before.
    pub(in crate::world) fn first_condition(&mut self, number: u32) -> Option<Health> {
        let fitness = self.fitness(number);
        if fitness == Fitness::Absent && self.hosts[number as usize].node().is_none() {
            self.nodes_gone.insert(number);
            self.happened(&Happening::NodeMissing(number));
        }
        let condition = match fitness {
            Fitness::Absent => Health::Unknown,
            Fitness::Starved => Health::Unhealthy,
            Fitness::Fit => Health::Healthy,
        };
        if condition != Health::Healthy {
            self.happened(&Happening::HostLost(number));
        }
        (!self.nodes_gone.contains(&number)).then_some(condition)
    }
}
