//! The pods on the Nodes of a fleet, as far as a drain meets them.

use std::collections::BTreeMap;

use seaworthy_kernel::{Draws, Timestamp, word};
use seaworthy_model::id::Uid;
use seaworthy_model::pod::{PodFacts, PodName, PodOwner};

use crate::vocabulary;

/// So many pods a Node may have: kubelet's default of `maxPods`. The scheduler places no more there.
pub(crate) const PODS_MAX: u32 = 110;
/// All pods, by the number that they were made under.
#[derive(Clone, Debug)]
pub(in crate::world) struct Pods {
    pub(in crate::world) shape: vocabulary::Pods,
    draws: Draws,
    pods: Vec<Pod>,
    /// By host: the pods that are on its Node.
    nodes: BTreeMap<u32, Vec<u32>>,
    /// The pods of each app that its controller counts: those that are not leaving.
    apps: Vec<Vec<u32>>,
    /// All budgets allow nothing.
    closed: bool,
}

/// A pod.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Pod {
    /// The app that it belongs to, if it has a controller.
    pub(in crate::world) app: Option<u32>,
    /// Where it was placed.
    pub(in crate::world) host: Option<u32>,
    /// How far it is.
    pub(in crate::world) state: State,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::world) enum State {
    /// It was not placed yet.
    Pending,
    /// It is placed, and not ready yet.
    Starting,
    /// It is ready.
    Running,
    /// It is being ended, until then at the latest.
    Leaving(Timestamp),
    /// It is gone.
    Gone,
}

impl Pods {
    /// No pods yet.
    pub(in crate::world) fn new(shape: vocabulary::Pods, draws: Draws) -> Self {
        let apps = vec![Vec::new(); shape.apps as usize];
        Self { shape, draws, pods: Vec::new(), nodes: BTreeMap::new(), apps, closed: false }
    }

    /// A pod of an app, or of nobody, that runs on the Node of a host, or is still to be placed.
    pub(in crate::world) fn add(&mut self, app: Option<u32>, host: Option<u32>) -> u32 {
        let number = u32::try_from(self.pods.len()).unwrap_or(u32::MAX);
        let state = if host.is_some() { State::Running } else { State::Pending };
        self.pods.push(Pod { app, host, state });
        if let Some(app) = app {
            self.apps[app as usize].push(number);
        }
        if let Some(host) = host {
            self.nodes.entry(host).or_default().push(number);
        }
        number
    }

    fn uid(&self, number: u32) -> Uid {
        Uid(u128::from(self.draws.bits(word("pod"), u64::from(number), 0)) << 64 | u128::from(number))
    }

    fn facts(&self, number: u32) -> PodFacts {
        let pod = self.pods[number as usize];
        let name = pod.app.map_or_else(|| format!("bare-{number}"), |app| format!("app-{app}-{number}"));
        PodFacts {
            pod: PodName { namespace: "default".into(), name: name.into(), uid: self.uid(number) },
            owner: if pod.app.is_some() { PodOwner::Controller } else { PodOwner::Nobody },
            is_mirror: false,
            is_finished: false,
            has_local_storage: false,
            leaving: matches!(pod.state, State::Leaving(_)).then_some(self.shape.grace.0.most),
        }
    }

    /// The pods on a Node, and the one that a DaemonSet has on each.
    pub(in crate::world) fn list(&self, host: u32) -> Vec<PodFacts> {
        let name = PodName {
            namespace: "kube-system".into(),
            name: format!("agent-{host}").into(),
            uid: Uid(self.draws.bits(word("daemon"), u64::from(host), 0).into()),
        };
        let mut pods = vec![PodFacts {
            pod: name,
            owner: PodOwner::DaemonSet,
            is_mirror: false,
            is_finished: false,
            has_local_storage: true,
            leaving: None,
        }];
        let placed = self.placed_on(host);
        pods.extend(placed.iter().map(|number| self.facts(*number)));
        pods.sort_by(|a, b| a.pod.cmp(&b.pod));
        pods
    }

    /// The number of a pod on the Node of a host.
    pub(in crate::world) fn find(&self, host: u32, pod: &PodName) -> Option<u32> {
        let placed = self.nodes.get(&host)?;
        placed.iter().copied().find(|number| self.uid(*number) == pod.uid)
    }

    /// The pods of a Node that a drain has to wait for, and how many of them have no controller.
    pub(in crate::world) fn on(&self, host: u32) -> (u32, u32) {
        let placed = self.placed_on(host);
        let bare = placed.iter().filter(|number| self.pods[**number as usize].app.is_none()).count();
        let count = |all: usize| u32::try_from(all).unwrap_or(u32::MAX);
        (count(placed.len()), count(bare))
    }

    /// A pod, by its number.
    pub(in crate::world) fn pod(&self, number: u32) -> Pod {
        self.pods[number as usize]
    }

    /// The pods of an app that its controller counts.
    pub(in crate::world) fn of_app(&self, app: u32) -> &[u32] {
        &self.apps[app as usize]
    }

    /// The pods on the Node of a host.
    pub(in crate::world) fn placed_on(&self, host: u32) -> &[u32] {
        self.nodes.get(&host).map_or(&[], Vec::as_slice)
    }

    /// A pod is placed on the Node of a host.
    pub(in crate::world) fn place(&mut self, number: u32, host: u32) {
        let pod = &mut self.pods[number as usize];
        (pod.host, pod.state) = (Some(host), State::Starting);
        self.nodes.entry(host).or_default().push(number);
    }

    /// A pod is ready.
    pub(in crate::world) fn make_ready(&mut self, number: u32) {
        self.pods[number as usize].state = State::Running;
    }

    /// A pod is being ended, until then at the latest.
    pub(in crate::world) fn end(&mut self, number: u32, until: Timestamp) {
        self.pods[number as usize].state = State::Leaving(until);
    }

    /// The controller of an app makes a pod in place of one that is being ended. Returns its number.
    pub(in crate::world) fn replace(&mut self, app: u32, number: u32) -> u32 {
        self.apps[app as usize].retain(|other| *other != number);
        self.add(Some(app), None)
    }

    /// A pod is gone.
    pub(in crate::world) fn remove(&mut self, number: u32) {
        let pod = &mut self.pods[number as usize];
        pod.state = State::Gone;
        if let Some(placed) = pod.host.and_then(|host| self.nodes.get_mut(&host)) {
            placed.retain(|other| *other != number);
        }
    }

    /// All budgets allow nothing from now on, or what they say.
    pub(in crate::world) fn close(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Whether all budgets allow nothing.
    pub(in crate::world) fn are_closed(&self) -> bool {
        self.closed
    }
}
