//! What the controllers and kubelets of a cluster know about its pods. The pods themselves are objects of the API server.

use std::collections::BTreeMap;

use seaworthy_api::pod::OwnerReference;
use seaworthy_kernel::Timestamp;

use crate::vocabulary;

/// So many pods a Node may have: kubelet's default of `maxPods`. The scheduler places no more there.
pub(crate) const PODS_MAX: u32 = 110;

/// What is known of all pods, by their numbers at the API server.
#[derive(Clone, Debug)]
pub(in crate::world) struct Pods {
    pub(in crate::world) shape: vocabulary::Pods,
    known: BTreeMap<u32, Known>,
    /// The pods of each app that its controller counts: those that are not leaving.
    apps: Vec<Vec<u32>>,
    /// By owner: how many pods were made for it, for their names.
    made: BTreeMap<Owner, u32>,
    /// All budgets allow nothing.
    closed: bool,
}

/// Whose a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::world) enum Owner {
    /// The controller of an app, which replaces it anywhere.
    App(u32),
    /// Nobody: it is not replaced.
    Nobody,
    /// Nobody: a user created it past the scheduler.
    Person,
    /// A DaemonSet, which replaces it on the Node of the same host.
    DaemonSet(u32),
    /// The kubelet of a host: the pod is a mirror, which the kubelet makes again.
    Kubelet(u32),
    /// A Job that is finished.
    Job,
}

impl Owner {
    /// The name of its pod number `count`.
    pub(in crate::world) fn pod_name(self, count: u32) -> String {
        match self {
            Self::App(app) => format!("app-{app}-{count}"),
            Self::Nobody => format!("bare-{count}"),
            Self::Person => format!("debug-{count}"),
            Self::DaemonSet(host) => format!("agent-{host}-{count}"),
            Self::Kubelet(host) => format!("static-m-{host:05}"),
            Self::Job => format!("job-{count}"),
        }
    }

    /// The owner reference of its pods.
    pub(in crate::world) fn reference(self) -> Option<OwnerReference> {
        let (kind, controller) = match self {
            Self::App(_) => ("ReplicaSet", true),
            Self::DaemonSet(_) => ("DaemonSet", true),
            Self::Kubelet(_) => ("Node", true),
            Self::Job => ("Job", true),
            Self::Nobody | Self::Person => return None,
        };
        Some(OwnerReference { kind: kind.to_owned(), controller })
    }
}

/// What is known of a pod besides its object.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Known {
    /// Whose it is.
    pub(in crate::world) owner: Owner,
    /// Whether its containers pass their readiness probes.
    pub(in crate::world) is_up: bool,
    /// When it was bound to its Node.
    pub(in crate::world) bound: Timestamp,
    /// Whether it may be bound to a Node that is cordoned.
    pub(in crate::world) ignores_cordon: bool,
    /// Whether it was evicted, or has taken the place of a pod that was.
    pub(in crate::world) is_moved: bool,
}

impl Pods {
    /// No pods yet.
    pub(in crate::world) fn new(shape: vocabulary::Pods) -> Self {
        let apps = vec![Vec::new(); shape.apps as usize];
        Self { shape, known: BTreeMap::new(), apps, made: BTreeMap::new(), closed: false }
    }

    /// The name of the next pod of an owner.
    pub(in crate::world) fn next_name(&mut self, owner: Owner) -> String {
        let count = self.made.entry(owner).or_default();
        *count += 1;
        owner.pod_name(*count - 1)
    }

    /// A pod was created.
    pub(in crate::world) fn add(&mut self, number: u32, known: Known) {
        if let Owner::App(app) = known.owner {
            self.apps[app as usize].push(number);
        }
        self.known.insert(number, known);
    }

    /// What is known of a pod, until it is gone.
    pub(in crate::world) fn known(&self, number: u32) -> Option<&Known> {
        self.known.get(&number)
    }

    /// The same, to change it.
    pub(in crate::world) fn known_mut(&mut self, number: u32) -> Option<&mut Known> {
        self.known.get_mut(&number)
    }

    /// The pods of an app that its controller counts.
    pub(in crate::world) fn of_app(&self, app: u32) -> &[u32] {
        self.apps.get(app as usize).map_or(&[], Vec::as_slice)
    }

    /// The pods of an owner.
    pub(in crate::world) fn of_owner(&self, owner: Owner) -> Vec<u32> {
        let of_owner = self.known.iter().filter(|(_, known)| known.owner == owner);
        of_owner.map(|(number, _)| *number).collect()
    }

    /// A pod is being deleted: its controller counts it no more.
    pub(in crate::world) fn leaves(&mut self, number: u32) {
        if let Some(Known { owner: Owner::App(app), .. }) = self.known(number).copied() {
            self.apps[app as usize].retain(|other| *other != number);
        }
    }

    /// A pod is gone.
    pub(in crate::world) fn remove(&mut self, number: u32) {
        self.leaves(number);
        self.known.remove(&number);
    }

    /// All budgets allow nothing from now on, or what they say.
    pub(in crate::world) const fn close(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Whether all budgets allow nothing.
    pub(in crate::world) const fn are_closed(&self) -> bool {
        self.closed
    }

    /// So many healthy pods the budget of each app requires.
    pub(in crate::world) const fn required(&self) -> u32 {
        if self.closed {
            self.shape.replicas
        } else {
            self.shape.replicas.saturating_sub(self.shape.max_unavailable)
        }
    }
}
