//! Pods: what runs on the Nodes of a fleet, as far as a drain meets it. Each app has a controller that makes another pod
//! when one goes, and a disruption budget; a scheduler places pods where they may be; kubelets start and end them. The pods
//! are objects of the API server. In a fleet without pods nothing of this happens.

mod eviction;

use std::time::Duration;

use seaworthy_api::object::Metadata;
use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::attributes::NEXT_TAINT;
use seaworthy_model::id::Kind;
use seaworthy_model::node::{DRAIN_TAINT, Health};

use crate::vocabulary::{machine_name, machine_number};
use crate::world::World;
use crate::world::api_server::{
    Budget, BudgetSpec, DeleteOptions, MIRROR_ANNOTATION, Phase, Pod, PodDeletion, Selector,
};
use crate::world::event::{Event, PodStep};
use crate::world::happening::Happening;
use crate::world::node::{Known, Owner, PODS_MAX, Pods};

/// From the need for a pod to its being placed: the controller and the scheduler together.
const PLACEMENT: Span = Span::millis(200, 3_000);
/// What cannot be placed, or ended, is tried again after so long.
const AGAIN: Duration = Duration::from_secs(10);
/// The namespace of the pods of apps.
pub(super) const SPACE: &str = "default";
/// The namespace of the pods that belong to Nodes.
const SYSTEM: &str = "kube-system";
/// The label by which a budget finds the pods of its app.
const APP: &str = "app";

impl World {
    /// Everything runs already, spread over the fleet.
    pub(in crate::world) fn start_pods(&mut self) {
        let Some(shape) = self.scenario.fleet.pods.clone() else { return };
        let machines = self.scenario.fleet.machines;
        self.pods = Some(Box::new(Pods::new(shape.clone())));
        let mut key = 0;
        for app in 0..shape.apps {
            self.create_budget_of(app);
            for _ in 0..shape.replicas {
                let host = self.draws.below(word("placed first"), key, 0, machines.into());
                self.run_pod(Owner::App(app), u32::try_from(host).unwrap_or_default());
                key += 1;
            }
        }
        for host in 0..machines {
            self.run_pod(Owner::DaemonSet(host), host);
            let draw = |what, share| self.draws.chance(word(what), u64::from(host), 0, share);
            let is_drawn = [
                (Owner::Nobody, draw("bare pod", shape.bare.0)),
                (Owner::Kubelet(host), draw("mirror pod", shape.mirrors.0)),
                (Owner::Job, draw("finished pod", shape.finished.0)),
            ];
            for (owner, _) in is_drawn.into_iter().filter(|(_, is)| *is) {
                self.run_pod(owner, host);
            }
        }
    }

    fn create_budget_of(&mut self, app: u32) {
        let now = self.queue.now();
        let mut spec = BudgetSpec { selector: Selector::default(), ..BudgetSpec::default() };
        spec.max_unavailable = self.pods.as_ref().map(|pods| pods.shape.max_unavailable.into());
        spec.selector.match_labels.insert(APP.to_owned(), app_name(app));
        let metadata = Metadata { namespace: Some(SPACE.into()), ..Metadata::named(app_name(app)) };
        let budget = Budget { metadata, spec, ..Budget::default() };
        // Nobody else creates budgets of these names.
        drop(self.api_servers.home_mut().create_budget(budget, now).cloned());
    }

    /// A pod that runs on the Node of a host, or has run there.
    fn run_pod(&mut self, owner: Owner, host: u32) {
        let Some(number) = self.create_pod(owner, Some(host)) else { return };
        let phase = if owner == Owner::Job { Phase::Succeeded } else { Phase::Running };
        if let Some(known) = self.pods.as_mut().and_then(|pods| pods.known_mut(number)) {
            known.is_up = phase == Phase::Running;
        }
        self.api_servers.home_mut().set_pod_status(number, phase, phase == Phase::Running);
    }

    /// Creates the next pod of an owner, bound to the Node of a host or to none yet.
    fn create_pod(&mut self, owner: Owner, host: Option<u32>) -> Option<u32> {
        let (now, pods) = (self.queue.now(), self.pods.as_mut()?);
        let shape = &pods.shape;
        let (app, apps) = (if let Owner::App(app) = owner { Some(app) } else { None }, shape.apps);
        let space = if matches!(owner, Owner::DaemonSet(_) | Owner::Kubelet(_)) { SYSTEM } else { SPACE };
        let has_local_storage =
            matches!(owner, Owner::DaemonSet(_)) || app.is_some_and(|app| app < shape.local_storage);
        let grace = shape.grace.0.most.as_secs();
        let ignores_cordon = match owner {
            Owner::App(app) => app >= apps.saturating_sub(shape.tolerating),
            // Nothing schedules them.
            Owner::Nobody | Owner::Person | Owner::DaemonSet(_) | Owner::Kubelet(_) | Owner::Job => true,
        };
        let mut metadata =
            Metadata { namespace: Some(space.into()), ..Metadata::named(pods.next_name(owner)) };
        if let Some(app) = app {
            metadata.labels.insert(APP.to_owned(), app_name(app));
        }
        if let Owner::Kubelet(_) = owner {
            metadata.annotations.insert(MIRROR_ANNOTATION.to_owned(), "static".to_owned());
        }
        let pod = Pod {
            metadata,
            owners: owner.reference().into_iter().collect(),
            node: host.map(|host| machine_name(host).into()),
            grace,
            has_local_storage,
            ..Pod::default()
        };
        let number = self.api_servers.home_mut().create_pod(pod, now).ok()?;
        let known = Known { owner, is_up: false, bound: now, ignores_cordon, is_moved: false };
        self.pods.as_mut()?.add(number, known);
        Some(number)
    }

    /// A pod without a controller is created on the Node of a host, past the scheduler: its `nodeName` is set. True if the
    /// Node is there.
    pub(crate) fn place_by_hand(&mut self, host: u32) -> bool {
        // It may forbid a drain.
        self.happened(&Happening::HeldUp(host));
        self.run_on_node(Owner::Person, host)
    }

    /// The pods of an app that run are not ready for so long.
    pub(crate) fn app_fails(&mut self, app: u32, lasting: Duration) {
        let now = self.queue.now();
        let numbers = self.pods.as_ref().map(|pods| pods.of_app(app).to_vec()).unwrap_or_default();
        for number in numbers {
            let known = self.pods.as_mut().and_then(|pods| pods.known_mut(number));
            if let Some(known) = known.filter(|known| known.is_up) {
                known.is_up = false;
                self.report_readiness(number);
                self.plan_pod(now + lasting, number, PodStep::Ready);
            }
        }
    }

    /// A pod is ready if its containers are, and its Node is.
    fn report_readiness(&mut self, number: u32) {
        let Some(pod) = self.api_servers.home().pod(number).filter(|pod| pod.phase == Phase::Running) else {
            return;
        };
        let host = pod.node.as_deref().and_then(machine_number);
        let is_up = self.pods.as_ref().and_then(|pods| pods.known(number)).is_some_and(|known| known.is_up);
        let is_ready = is_up && host.is_some_and(|host| self.is_node_ready(host));
        self.api_servers.home_mut().set_pod_status(number, Phase::Running, is_ready);
    }

    /// The Node of a host is ready now, or is not any more: so are its pods.
    pub(in crate::world) fn node_readiness_changed(&mut self, host: u32) {
        if self.pods.is_none() {
            return;
        }
        for number in self.api_servers.home().pods_of_node(&machine_name(host)).to_vec() {
            self.report_readiness(number);
        }
    }

    pub(crate) fn is_node_ready(&self, host: u32) -> bool {
        self.kubelets.get(host as usize).is_some_and(|kubelet| kubelet.health == Health::Healthy)
    }

    /// What follows the deletion of a pod: its kubelet ends it, and its owner makes another one.
    fn deletion_followed(&mut self, number: u32, deletion: &PodDeletion) {
        let now = self.queue.now();
        let Some(known) = self.pods.as_ref().and_then(|pods| pods.known(number)).copied() else { return };
        if deletion.has_begun {
            let Some(pods) = self.pods.as_mut() else { return };
            let grace = pods.shape.grace.0;
            pods.leaves(number);
            let length = self.draws.within(word("pod ends"), u64::from(number), 0, grace);
            if !deletion.is_gone {
                self.plan_pod(now + length, number, PodStep::End);
            }
            if let Owner::App(_) = known.owner
                && let Some(next) = self.create_pod(known.owner, None)
            {
                if let Some(successor) = self.pods.as_mut().and_then(|pods| pods.known_mut(next)) {
                    successor.is_moved = known.is_moved;
                }
                let wait = self.draws.within(word("pod placed"), u64::from(next), 0, PLACEMENT);
                self.plan_pod(now + wait, next, PodStep::Place);
            }
        }
        if deletion.is_gone {
            if let Some(pods) = &mut self.pods {
                pods.remove(number);
            }
            if let Owner::DaemonSet(host) | Owner::Kubelet(host) = known.owner {
                self.run_on_node(known.owner, host);
            }
        }
    }

    /// A pod is created on the Node of a host, if the Node is there.
    fn run_on_node(&mut self, owner: Owner, host: u32) -> bool {
        let is_there = self.api_servers.home().get(Kind::Node, &machine_name(host)).is_some();
        if is_there && let Some(number) = self.create_pod(owner, Some(host)) {
            self.start_containers(number);
        }
        is_there
    }

    /// The Node of a host was registered.
    pub(in crate::world) fn node_registered(&mut self, host: u32) {
        if self.pods.is_some() {
            self.run_on_node(Owner::DaemonSet(host), host);
        }
    }

    fn plan_pod(&mut self, at: Timestamp, pod: u32, step: PodStep) {
        self.queue.at(at, Priority::WORLD, Event::Pod { pod, step });
    }

    /// Something happens to a pod. The event is void if the pod is gone, or was overtaken.
    pub(in crate::world) fn pod_steps(&mut self, number: u32, step: PodStep) {
        let now = self.queue.now();
        let Some(pod) = self.api_servers.home().pod(number) else { return };
        let host = pod.node.as_deref().and_then(machine_number);
        match step {
            PodStep::Place if host.is_none() && !pod.is_leaving() => match self.place_for(number) {
                Some(host) => self.place_pod(number, host),
                None => self.plan_pod(now + AGAIN, number, PodStep::Place),
            },
            PodStep::Start if pod.phase == Phase::Pending => {
                self.api_servers.home_mut().set_pod_status(number, Phase::Running, false);
                self.pod_started(number);
            }
            PodStep::Ready => {
                if let Some(known) = self.pods.as_mut().and_then(|pods| pods.known_mut(number)) {
                    known.is_up = true;
                }
                self.report_readiness(number);
            }
            PodStep::End if pod.is_leaving() => {
                // Only its kubelet can end it.
                let runs = host.is_some_and(|host| self.is_kubelet_connected(host));
                if runs { self.pod_ended(number) } else { self.plan_pod(now + AGAIN, number, PodStep::End) }
            }
            PodStep::Place | PodStep::Start | PodStep::End => {}
        }
    }

    fn place_pod(&mut self, number: u32, host: u32) {
        let now = self.queue.now();
        self.api_servers.home_mut().bind_pod(number, &machine_name(host));
        if let Some(known) = self.pods.as_mut().and_then(|pods| pods.known_mut(number)) {
            known.bound = now;
        }
        self.trace.record(&[word("place"), u64::from(number), u64::from(host), now.millis()]);
        self.start_containers(number);
    }

    /// The time from the binding of a pod until it is ready. Its containers start somewhere before.
    fn startup(&self, number: u32) -> Duration {
        let startup = self.pods.as_ref().map(|pods| pods.shape.startup.0);
        startup
            .map(|startup| self.draws.within(word("pod starts"), u64::from(number), 0, startup))
            .unwrap_or_default()
    }

    fn start_containers(&mut self, number: u32) {
        let at = self.queue.now() + self.startup(number) / 2;
        self.plan_pod(at, number, PodStep::Start);
    }

    fn pod_started(&mut self, number: u32) {
        let at = self.queue.now() + self.startup(number) / 2;
        self.plan_pod(at, number, PodStep::Ready);
    }

    /// The kubelet of a pod has ended it.
    fn pod_ended(&mut self, number: u32) {
        let (now, at_once) = (self.queue.now(), DeleteOptions { grace: Some(0), ..DeleteOptions::default() });
        if let Ok(deletion) = self.api_servers.home_mut().delete_pod(number, at_once, now) {
            self.deletion_followed(number, &deletion);
        }
    }

    /// A Node that takes the pod and has room, the first from a place that is drawn.
    fn place_for(&self, number: u32) -> Option<u32> {
        let machines = self.scenario.fleet.machines;
        let drawn =
            self.draws.below(word("place"), u64::from(number), self.queue.now().millis(), machines.into());
        let first = u32::try_from(drawn).unwrap_or_default();
        let known = self.pods.as_ref().and_then(|pods| pods.known(number));
        let ignores_cordon = known.is_some_and(|known| known.ignores_cordon);
        let has_room = |host: &u32| {
            self.api_servers.home().pods_of_node(&machine_name(*host)).len() < PODS_MAX as usize
                && (self.takes_pods(*host) || (ignores_cordon && self.has_ready_node(*host)))
        };
        let places = || (0..machines).map(|step| (first + step) % machines).filter(has_room);
        places().find(|host| !self.is_next(*host)).or_else(|| places().next())
    }

    /// Whether pods are steered away from the Node of a host.
    fn is_next(&self, host: u32) -> bool {
        let node = self.api_servers.home().get(Kind::Node, &machine_name(host));
        let spec = node.and_then(|node| node.node_spec());
        spec.is_some_and(|spec| spec.taints.iter().any(|taint| taint.key == NEXT_TAINT))
    }

    fn has_ready_node(&self, host: u32) -> bool {
        self.is_node_ready(host) && self.api_servers.home().get(Kind::Node, &machine_name(host)).is_some()
    }

    /// Whether the Node of a host is there, ready, and takes pods.
    pub(crate) fn takes_pods(&self, host: u32) -> bool {
        let node = self.api_servers.home().get(Kind::Node, &machine_name(host));
        let is_full = self.kubelets.get(host as usize).is_some_and(|kubelet| kubelet.has_pressure);
        self.is_node_ready(host)
            && !is_full
            && node.is_some_and(|node| {
                node.node_spec().is_none_or(|spec| {
                    !spec.unschedulable && spec.taints.iter().all(|taint| taint.key != DRAIN_TAINT)
                })
            })
    }

    /// A Node is gone: so are its pods, and their controllers make others.
    pub(in crate::world) fn node_gone(&mut self, host: u32) {
        let name = machine_name(host);
        for number in self.api_servers.home().pods_of_node(&name).to_vec() {
            self.pod_ended(number);
        }
    }

    /// All budgets allow nothing from now on, or what they say.
    pub(crate) fn close_budgets(&mut self, closed: bool) {
        if let Some(pods) = &mut self.pods {
            pods.close(closed);
        }
    }

    /// Whether all budgets allow nothing.
    pub(crate) fn are_budgets_closed(&self) -> bool {
        self.pods.as_ref().is_some_and(|pods| pods.are_closed())
    }

    /// The host that a Node of this name stands for.
    pub(crate) fn host_named(&self, name: &str) -> Option<u32> {
        machine_number(name).filter(|number| *number < self.scenario.fleet.machines)
    }
}

/// The name of an app, of its budget and of the label of its pods.
pub(super) fn app_name(app: u32) -> String {
    format!("app-{app}")
}
