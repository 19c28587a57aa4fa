//! Pods, as far as a drain has to know them. They are never watched, there may be a million: the pods of one Node are
//! listed when it is to be drained.

use alloc::sync::Arc;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::draw::word_of;
use crate::id::Uid;

/// Names one incarnation of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PodName {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its uid: the pod of this name that comes after it has another.
    pub uid: Uid,
}

impl PodName {
    /// [`word`](crate::draw::word) of `namespace/name`.
    #[must_use]
    pub fn digest(&self) -> u64 {
        word_of(&[&self.namespace, "/", &self.name])
    }
}

impl core::fmt::Display for PodName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What decides how a drain treats a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodFacts {
    /// Which pod.
    pub pod: PodName,
    /// The controller that replaces it when it goes.
    pub owner: PodOwner,
    /// It is the mirror of a static pod: only its kubelet can end it.
    pub is_mirror: bool,
    /// Its phase is `Succeeded` or `Failed`: nothing of it runs any more.
    pub is_finished: bool,
    /// It has an `emptyDir` volume: what is in there goes with it.
    pub has_local_storage: bool,
    /// It is being deleted, and may take so long for that.
    pub leaving: Option<Duration>,
}

/// The controller that replaces a pod when it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodOwner {
    /// None: a bare pod is gone for good.
    Nobody,
    /// A DaemonSet, which would make it on the same Node again, cordoned or not.
    DaemonSet,
    /// Some other controller.
    Controller,
}

/// How pods are treated when a Node is drained: what `kubectl drain` has flags for, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainPolicy {
    /// So long a drain may take before it is given up and the Node takes pods again: a machine whose pods do not go must
    /// not keep its slot from the others for ever. It is tried again later. 0: there is no limit, as in `kubectl drain`.
    pub timeout_seconds: u32,
    /// Whether pods go that have an `emptyDir` volume.
    pub delete_empty_dir_data: bool,
    /// Whether bare pods go, which no controller replaces.
    pub force: bool,
    /// Whether pods are steered away from Nodes that are next in line: they would have to leave those again.
    pub steer: bool,
}

impl Default for DrainPolicy {
    /// An hour, as the Machine Config Operator has it; the rest as `kubectl drain`.
    fn default() -> Self {
        Self { timeout_seconds: 3600, delete_empty_dir_data: false, force: false, steer: false }
    }
}

/// What a drain does about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodFate {
    /// It stays: it cannot be evicted, or it would come back to the same Node.
    Stays,
    /// It is evicted.
    Evicted,
    /// It is on its way out.
    Leaving,
    /// Its kubelet cannot end it: its Node is not ready, and its grace period is over.
    Abandoned,
    /// It is lost if it goes, and the policy does not allow that.
    Forbidden(PodLoss),
}

/// What would be lost with a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodLoss {
    /// The pod: no controller replaces it (`drain.force`).
    Pod,
    /// What is in its `emptyDir` (`drain.deleteEmptyDirData`).
    LocalStorage,
}

impl PodFacts {
    /// What a drain does about it, after the filters of `kubectl drain`. `alone` is for how long it is known to be leaving, if its
    /// Node is not ready; while that is ready, its kubelet ends what is leaving, however long that takes.
    #[must_use]
    pub fn fate(&self, policy: &DrainPolicy, alone: Option<Duration>) -> PodFate {
        if self.is_mirror || (self.owner == PodOwner::DaemonSet && !self.is_finished) {
            return PodFate::Stays;
        }
        if let Some(grace) = self.leaving {
            // Twice its time, since no two clocks go alike.
            let is_abandoned = alone.is_some_and(|time| time > grace.saturating_mul(2));
            return if is_abandoned { PodFate::Abandoned } else { PodFate::Leaving };
        }
        if self.is_finished {
            return PodFate::Evicted;
        }
        if self.owner == PodOwner::Nobody && !policy.force {
            return PodFate::Forbidden(PodLoss::Pod);
        }
        if self.has_local_storage && !policy.delete_empty_dir_data {
            return PodFate::Forbidden(PodLoss::LocalStorage);
        }
        PodFate::Evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: DrainPolicy =
        DrainPolicy { timeout_seconds: 0, delete_empty_dir_data: false, force: false, steer: false };

    const GRACE: Duration = Duration::from_secs(30);

    fn pod() -> PodFacts {
        PodFacts {
            pod: PodName { namespace: "default".into(), name: "web-1".into(), uid: Uid(1) },
            owner: PodOwner::Controller,
            is_mirror: false,
            is_finished: false,
            has_local_storage: false,
            leaving: None,
        }
    }

    #[test]
    fn pods_are_treated_as_kubectl_drain_treats_them() {
        let bare = PodFacts { owner: PodOwner::Nobody, ..pod() };
        let stored = PodFacts { has_local_storage: true, ..pod() };
        let daemon = PodFacts { owner: PodOwner::DaemonSet, has_local_storage: true, ..pod() };
        let table = [
            (pod(), PodFate::Evicted),
            (PodFacts { is_mirror: true, ..bare.clone() }, PodFate::Stays),
            (daemon.clone(), PodFate::Stays),
            (PodFacts { is_finished: true, ..daemon }, PodFate::Evicted),
            (bare.clone(), PodFate::Forbidden(PodLoss::Pod)),
            (PodFacts { is_finished: true, ..bare.clone() }, PodFate::Evicted),
            (stored.clone(), PodFate::Forbidden(PodLoss::LocalStorage)),
            (PodFacts { is_finished: true, ..stored.clone() }, PodFate::Evicted),
            (PodFacts { leaving: Some(GRACE), ..bare.clone() }, PodFate::Leaving),
        ];
        for (facts, fate) in table {
            assert_eq!(facts.fate(&DEFAULT, None), fate, "{facts:?}");
        }
        let forces = DrainPolicy { force: true, ..DEFAULT };
        assert_eq!(bare.fate(&forces, None), PodFate::Evicted);
        let deletes = DrainPolicy { delete_empty_dir_data: true, ..DEFAULT };
        assert_eq!(stored.fate(&deletes, None), PodFate::Evicted);
    }

    #[test]
    fn what_a_dead_kubelet_cannot_end_is_not_waited_for() {
        let leaving = PodFacts { leaving: Some(GRACE), ..pod() };
        assert_eq!(leaving.fate(&DEFAULT, Some(2 * GRACE)), PodFate::Leaving);
        assert_eq!(leaving.fate(&DEFAULT, Some(3 * GRACE)), PodFate::Abandoned);
        assert_eq!(pod().fate(&DEFAULT, Some(3 * GRACE)), PodFate::Evicted);
    }
}
