//! Pods, as far as evictions and drains depend on them. They are stored apart from the watched kinds: nobody watches
//! them here, and clients name them by namespace and name.
//!
//! What the controllers and kubelets of a simulated cluster do (`world/cluster/pods.rs`), and what clients ask for over
//! HTTP (`http/pods.rs`), happens to the same pods by the same rules.

mod budget;
mod eviction;
mod pod;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::Metadata;
use seaworthy_kernel::{Timestamp, word};
use seaworthy_model::id::Uid;

pub use budget::{Budget, BudgetSpec, BudgetStatus, Selector, UnhealthyPods};
pub use eviction::EvictionRefusal;
pub use pod::{DeleteOptions, GRACE_DEFAULT, MIRROR_ANNOTATION, Phase, Pod, PodDeletion};

use super::{ApiServer, Refusal};

/// The pods, disruption budgets and service accounts of an API server.
#[derive(Clone, Debug, Default)]
pub(super) struct PodStore {
    /// By number. A number is never used again.
    pods: Vec<Option<Box<Pod>>>,
    names: BTreeMap<(Arc<str>, Arc<str>), u32>,
    nodes: BTreeMap<Arc<str>, Vec<u32>>,
    budgets: BTreeMap<(String, Arc<str>), Budget>,
    /// By namespace and name: the uid and version of each service account, as part of its metadata.
    accounts: BTreeMap<(String, Arc<str>), Metadata>,
}

impl ApiServer {
    /// Creates a pod. Returns its number.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn create_pod(&mut self, mut pod: Pod, now: Timestamp) -> Result<u32, Refusal> {
        let key = (Arc::from(pod.namespace()), Arc::clone(&pod.metadata.name));
        if self.pods.names.contains_key(&key) {
            return Err(Refusal::AlreadyExists);
        }
        let number = u32::try_from(self.pods.pods.len()).unwrap_or(u32::MAX);
        self.admit_metadata(&mut pod.metadata, ("pod", u64::from(number)), now);
        pod.deletion_grace = None;
        if let Some(node) = &pod.node {
            self.pods.nodes.entry(Arc::clone(node)).or_default().push(number);
        }
        self.pods.names.insert(key, number);
        self.pods.pods.push(Some(Box::new(pod)));
        Ok(number)
    }

    /// Sets what only the API server writes in the metadata of a new object. The uid is drawn by `of`: the same object
    /// gets the same one, whatever else was created before.
    fn admit_metadata(&mut self, metadata: &mut Metadata, (of, number): (&str, u64), now: Timestamp) {
        self.revision += 1;
        let high = self.draws.bits(word(of), number, 0);
        let low = self.draws.bits(word(of), number, 1);
        metadata.uid = Uid(u128::from(high) << 64 | u128::from(low)).into();
        metadata.resource_version = self.revision.into();
        metadata.generation = 1;
        metadata.creation_timestamp = Some(now.whole_seconds().into());
        metadata.deletion_timestamp = None;
    }

    /// A pod, by its number. `None` if it is gone.
    #[must_use]
    pub fn pod(&self, number: u32) -> Option<&Pod> {
        self.pods.pods.get(number as usize)?.as_deref()
    }

    /// The number of the pod of this name.
    #[must_use]
    pub fn pod_named(&self, namespace: &str, name: &str) -> Option<u32> {
        self.pods.names.get(&(Arc::from(namespace), Arc::from(name))).copied()
    }

    /// The pods that are bound to a Node.
    #[must_use]
    pub fn pods_of_node(&self, node: &str) -> &[u32] {
        self.pods.nodes.get(node).map_or(&[], Vec::as_slice)
    }

    /// All pods, sorted by namespace and name.
    pub fn all_pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.names.values().filter_map(|number| self.pod(*number))
    }

    /// Binds a pod to a Node, as the scheduler does.
    pub fn bind_pod(&mut self, number: u32, node: &str) {
        let node: Arc<str> = node.into();
        if self.change_pod(number, |pod| pod.node = Some(Arc::clone(&node))) {
            self.pods.nodes.entry(node).or_default().push(number);
        }
    }

    /// Writes the status of a pod.
    pub fn set_pod_status(&mut self, number: u32, phase: Phase, is_ready: bool) {
        self.change_pod(number, |pod| (pod.phase, pod.is_ready) = (phase, is_ready));
    }

    /// Changes a pod, if it exists. True if that changed it; then it has another version.
    fn change_pod(&mut self, number: u32, change: impl FnOnce(&mut Pod)) -> bool {
        let Some(pod) = self.pods.pods.get_mut(number as usize).and_then(Option::as_deref_mut) else {
            return false;
        };
        let before = pod.clone();
        change(pod);
        if *pod == before {
            return false;
        }
        self.revision += 1;
        pod.metadata.resource_version = self.revision.into();
        true
    }

    /// Deletes a pod: it is marked, and its kubelet ends it and deletes it again with no time left. A pod that no
    /// kubelet runs goes at once. The time that is left can only be shortened.
    ///
    /// # Errors
    /// When it does not exist, or the preconditions do not hold.
    pub fn delete_pod(
        &mut self,
        number: u32,
        options: DeleteOptions,
        now: Timestamp,
    ) -> Result<PodDeletion, Refusal> {
        let pod = self.pod(number).ok_or(Refusal::NotFound)?;
        options.preconditions.judge(pod.metadata.uid.get(), pod.metadata.resource_version.get())?;
        let (was, until) = (pod.deletion_grace, pod.metadata.deletion_timestamp.as_ref());
        let until = until.and_then(|until| until.get());
        // Nothing of such a pod runs.
        let is_idle = pod.node.is_none() || pod.phase.is_finished();
        let has_finalizers = !pod.metadata.finalizers.is_empty();
        let grace = match (was, options.grace) {
            (None, _) if is_idle => 0,
            (None, asked) => asked.unwrap_or(pod.grace),
            (Some(left), Some(asked)) if asked < left => asked,
            (Some(_), _) => {
                return Ok(PodDeletion { pod: pod.clone(), has_begun: false, is_gone: false });
            }
        };
        let end = match (was, until) {
            (Some(left), Some(until)) => until - Duration::from_secs(left - grace),
            _ => now + Duration::from_secs(grace),
        };
        self.change_pod(number, |pod| {
            pod.deletion_grace = Some(grace);
            pod.metadata.deletion_timestamp = Some(end.whole_seconds().into());
            pod.metadata.generation += i64::from(was.is_none());
        });
        let is_gone = grace == 0 && !has_finalizers;
        if is_gone {
            self.revision += 1;
        }
        let mut pod = self.pod(number).ok_or(Refusal::NotFound)?.clone();
        if is_gone {
            pod.metadata.resource_version = self.revision.into();
            self.remove_pod(number);
        }
        Ok(PodDeletion { pod, has_begun: was.is_none(), is_gone })
    }

    fn remove_pod(&mut self, number: u32) {
        let Some(pod) = self.pods.pods.get_mut(number as usize).and_then(Option::take) else { return };
        self.pods.names.remove(&(Arc::from(pod.namespace()), Arc::clone(&pod.metadata.name)));
        if let Some(of_node) = pod.node.and_then(|node| self.pods.nodes.get_mut(&node)) {
            of_node.retain(|other| *other != number);
        }
    }

    /// Creates a service account.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn create_account(&mut self, mut metadata: Metadata, now: Timestamp) -> Result<Metadata, Refusal> {
        let key = (metadata.namespace.clone().unwrap_or_default(), Arc::clone(&metadata.name));
        if self.pods.accounts.contains_key(&key) {
            return Err(Refusal::AlreadyExists);
        }
        self.admit_metadata(&mut metadata, ("account", self.pods.accounts.len() as u64), now);
        metadata.generation = 0;
        self.pods.accounts.insert(key, metadata.clone());
        Ok(metadata)
    }

    /// Whether a service account exists.
    #[must_use]
    pub fn has_account(&self, namespace: &str, name: &str) -> bool {
        self.pods.accounts.contains_key(&(namespace.to_owned(), Arc::from(name)))
    }
}

#[cfg(test)]
mod tests;
