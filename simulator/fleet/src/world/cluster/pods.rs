//! Pods: what runs on the Nodes of a fleet, as far as a drain meets it. Each app has a controller that makes another pod
//! when one goes, and a disruption budget; a scheduler that places pods where they may be; and kubelets that start and
//! end them. In a fleet without pods nothing of this happens.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::Kind;
use seaworthy_model::node::{DRAIN_TAINT, Health};
use seaworthy_model::pod::PodName;

use crate::vocabulary::{Occasion, machine_name, machine_number};
use crate::world::World;
use crate::world::event::{Event, PodStep};
use crate::world::happening::Happening;
use crate::world::node::{PODS_MAX, Pods, State};

/// From the need for a pod to its being placed: the controller and the scheduler together.
const PLACEMENT: Span = Span::millis(200, 3_000);
/// What cannot be placed, or ended, is tried again after so long.
const AGAIN: Duration = Duration::from_secs(10);

impl World {
    /// Everything runs already, spread over the fleet.
    pub(in crate::world) fn start_pods(&mut self) {
        let Some(shape) = self.scenario.fleet.pods.clone() else { return };
        let machines = u64::from(self.scenario.fleet.machines);
        let mut pods = Box::new(Pods::new(shape.clone(), self.draws));
        let mut key = 0;
        for app in 0..shape.apps {
            for _ in 0..shape.replicas {
                let host = self.draws.below(word("placed first"), key, 0, machines);
                pods.add(Some(app), u32::try_from(host).ok());
                key += 1;
            }
        }
        for host in 0..self.scenario.fleet.machines {
            if self.draws.chance(word("bare pod"), u64::from(host), 0, shape.bare.0) {
                pods.add(None, Some(host));
            }
        }
        self.pods = Some(pods);
    }

    pub(in crate::world) fn list_pods(&self, node: &str) -> Outcome {
        let pods = self.host_named(node).zip(self.pods.as_ref());
        let pods = pods.map(|(host, pods)| pods.list(host)).unwrap_or_default();
        Outcome::Done(Receipt::Pods(Arc::from(pods)))
    }

    /// The eviction API: what is not there is not found; what is not ready, or on its way out already, may go; of what is
    /// ready as many as the budget of its app allows.
    pub(in crate::world) fn evict_pod(&mut self, node: &str, pod: &PodName) -> Outcome {
        let Some(host) = self.host_named(node) else { return Outcome::Stale };
        let Some(number) = self.pods.as_ref().and_then(|pods| pods.find(host, pod)) else {
            return Outcome::Stale;
        };
        let Some(pods) = self.pods.as_ref() else { return Outcome::Stale };
        let found = pods.pod(number);
        if matches!(found.state, State::Leaving(_)) {
            return Outcome::Done(Receipt::Nothing);
        }
        if let (Some(app), State::Running) = (found.app, found.state)
            && self.disruptions_allowed(app) == 0
        {
            self.note_occasion(Occasion::EvictionRefused);
            self.happened(&Happening::HeldUp(host));
            let words = format!("The disruption budget app-{app} does not allow it");
            return Outcome::Retryable(Cause::new(CauseKind::DisruptionBudget, words));
        }
        self.note_occasion(Occasion::PodEvicted);
        self.trace.record(&[word("evict"), u64::from(number), self.queue.now().0]);
        self.end_pod(number);
        Outcome::Done(Receipt::Nothing)
    }

    /// How many pods of an app may go: those that are ready above what its budget requires.
    fn disruptions_allowed(&self, app: u32) -> u32 {
        let Some(pods) = self.pods.as_ref().filter(|pods| !pods.are_closed()) else { return 0 };
        let required = pods.shape.replicas.saturating_sub(pods.shape.max_unavailable);
        self.healthy(app).saturating_sub(required)
    }

    /// The pods of an app that are ready, on Nodes that are.
    fn healthy(&self, app: u32) -> u32 {
        let Some(pods) = &self.pods else { return 0 };
        let healthy = pods.of_app(app).iter().filter(|number| {
            let pod = pods.pod(**number);
            pod.state == State::Running && pod.host.is_some_and(|host| self.is_node_ready(host))
        });
        u32::try_from(healthy.count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_node_ready(&self, host: u32) -> bool {
        self.kubelets.get(host as usize).is_some_and(|kubelet| kubelet.health == Health::Healthy)
    }

    /// A pod is to go: its controller makes another one at once.
    fn end_pod(&mut self, number: u32) {
        let now = self.queue.now();
        let Some(pods) = self.pods.as_mut() else { return };
        let grace = pods.shape.grace.0;
        let length = self.draws.within(word("pod ends"), u64::from(number), 0, grace);
        pods.end(number, now + grace.most);
        let app = pods.pod(number).app;
        self.plan_pod(now + length, number, PodStep::End);
        let Some(app) = app else { return };
        let Some(pods) = self.pods.as_mut() else { return };
        let next = pods.replace(app, number);
        let wait = self.draws.within(word("pod placed"), u64::from(next), 0, PLACEMENT);
        self.plan_pod(now + wait, next, PodStep::Place);
    }

    fn plan_pod(&mut self, at: Timestamp, pod: u32, step: PodStep) {
        self.queue.at(at, Priority::WORLD, Event::Pod { pod, step });
    }

    /// Something happens to a pod.
    pub(in crate::world) fn pod_steps(&mut self, number: u32, step: PodStep) {
        let now = self.queue.now();
        let Some(pod) = self.pods.as_ref().map(|pods| pods.pod(number)) else { return };
        match (step, pod.state) {
            (PodStep::Place, State::Pending) => match self.place_for(number) {
                Some(host) => self.place_pod(number, host),
                None => self.plan_pod(now + AGAIN, number, PodStep::Place),
            },
            (PodStep::Ready, State::Starting) => {
                if let Some(pods) = &mut self.pods {
                    pods.make_ready(number);
                }
            }
            (PodStep::End, State::Leaving(_)) => {
                // Only its kubelet can end it.
                let runs = pod.host.is_some_and(|host| self.is_kubelet_connected(host));
                if runs { self.pod_gone(number) } else { self.plan_pod(now + AGAIN, number, PodStep::End) }
            }
            (PodStep::Place | PodStep::Ready | PodStep::End, _) => {}
        }
    }

    fn place_pod(&mut self, number: u32, host: u32) {
        let now = self.queue.now();
        let Some(pods) = &mut self.pods else { return };
        let startup = self.draws.within(word("pod starts"), u64::from(number), 0, pods.shape.startup.0);
        pods.place(number, host);
        self.trace.record(&[word("place"), u64::from(number), u64::from(host), now.0]);
        self.plan_pod(now + startup, number, PodStep::Ready);
    }

    fn pod_gone(&mut self, number: u32) {
        if let Some(pods) = &mut self.pods {
            pods.remove(number);
        }
    }

    /// A Node that takes pods and has room, the first from a place that is drawn.
    fn place_for(&self, number: u32) -> Option<u32> {
        let machines = self.scenario.fleet.machines;
        let drawn = self.draws.below(word("place"), u64::from(number), self.queue.now().0, machines.into());
        let first = u32::try_from(drawn).unwrap_or_default();
        let has_room = |host: &u32| self.pods_on(*host).0 < PODS_MAX && self.takes_pods(*host);
        (0..machines).map(|step| (first + step) % machines).find(has_room)
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
        let placed = self.pods.as_ref().map(|pods| pods.placed_on(host).to_vec()).unwrap_or_default();
        for number in placed {
            let leaving =
                self.pods.as_ref().is_some_and(|pods| matches!(pods.pod(number).state, State::Leaving(_)));
            if !leaving {
                self.end_pod(number);
            }
            self.pod_gone(number);
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

    /// The pods on the Node of a host that a drain has to wait for, and how many of them have no controller.
    pub(crate) fn pods_on(&self, host: u32) -> (u32, u32) {
        self.pods.as_ref().map_or((0, 0), |pods| pods.on(host))
    }

    /// The host that a Node of this name stands for.
    pub(crate) fn host_named(&self, name: &str) -> Option<u32> {
        machine_number(name).filter(|number| *number < self.scenario.fleet.machines)
    }
}
