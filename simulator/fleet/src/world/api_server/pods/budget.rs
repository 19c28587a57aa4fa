//! Disruption budgets (`policy/v1` PodDisruptionBudget). Their status is the work of a controller, and evictions trust
//! it: without a status for the present spec, a budget allows nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::object::Metadata;
use seaworthy_api::scalar::Time;
use seaworthy_kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pod::Pod;
use crate::world::api_server::{ApiServer, Preconditions, Refusal};

/// A disruption budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Its metadata, with a namespace.
    pub metadata: Metadata,
    /// What it requires, and of which pods.
    pub spec: BudgetSpec,
    /// What it allows now.
    pub status: BudgetStatus,
}

/// What a budget requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BudgetSpec {
    /// So many pods must be available: a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available: Option<Value>,
    /// So many pods may be unavailable: a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Value>,
    /// The pods.
    pub selector: Selector,
    /// What may happen to pods that run and are not ready. `IfHealthyBudget` if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unhealthy_pod_eviction_policy: Option<UnhealthyPods>,
}

/// Selects pods by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Selector {
    /// The labels that a pod must have. None select every pod of the namespace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// When a pod that runs and is not ready may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnhealthyPods {
    /// While the budget has as many healthy pods as it requires.
    IfHealthyBudget,
    /// Always.
    AlwaysAllow,
}

/// What a budget allows, as a controller has worked out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BudgetStatus {
    /// The generation that was observed.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// So many healthy pods may be evicted now.
    pub disruptions_allowed: i64,
    /// The healthy pods.
    pub current_healthy: i64,
    /// The healthy pods that are required.
    pub desired_healthy: i64,
    /// The pods that are counted.
    pub expected_pods: i64,
    /// Pods that were evicted and that the controller has not seen leaving yet.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub disrupted_pods: BTreeMap<String, Time>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Budget {
    /// Whether it protects a pod.
    pub(super) fn covers(&self, pod: &Pod) -> bool {
        let labels = &pod.metadata.labels;
        self.metadata.namespace == pod.metadata.namespace
            && self.spec.selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

impl ApiServer {
    /// Creates a disruption budget. Nobody has worked out yet what it allows.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn create_budget(&mut self, mut budget: Budget, now: Timestamp) -> Result<&Budget, Refusal> {
        let key = key(&budget.metadata);
        if self.pods.budgets.contains_key(&key) {
            return Err(Refusal::AlreadyExists);
        }
        self.admit_metadata(&mut budget.metadata, ("budget", self.revision), now);
        budget.status = BudgetStatus::default();
        Ok(self.pods.budgets.entry(key).or_insert(budget))
    }

    /// The budget of this name.
    #[must_use]
    pub fn budget(&self, namespace: &str, name: &str) -> Option<&Budget> {
        self.pods.budgets.get(&(namespace.to_owned(), name.into()))
    }

    /// Replaces the spec, labels and annotations of a budget, or with `is_status` its status.
    ///
    /// # Errors
    /// When it does not exist, or the preconditions do not hold.
    pub fn update_budget(
        &mut self,
        budget: Budget,
        preconditions: Preconditions,
        is_status: bool,
    ) -> Result<&Budget, Refusal> {
        let key = key(&budget.metadata);
        let present = self.pods.budgets.get_mut(&key).ok_or(Refusal::NotFound)?;
        let metadata = &present.metadata;
        preconditions.judge(metadata.uid.get(), metadata.resource_version.get())?;
        let before = present.clone();
        if is_status {
            present.status = budget.status;
        } else {
            present.metadata.labels = budget.metadata.labels;
            present.metadata.annotations = budget.metadata.annotations;
            present.metadata.generation += i64::from(present.spec != budget.spec);
            present.spec = budget.spec;
        }
        if *present != before {
            self.revision += 1;
            present.metadata.resource_version = self.revision.into();
        }
        Ok(present)
    }

    /// Deletes a budget.
    ///
    /// # Errors
    /// When it does not exist, or the preconditions do not hold.
    pub fn delete_budget(
        &mut self,
        (namespace, name): (&str, &str),
        preconditions: Preconditions,
    ) -> Result<Budget, Refusal> {
        let metadata = &self.budget(namespace, name).ok_or(Refusal::NotFound)?.metadata;
        preconditions.judge(metadata.uid.get(), metadata.resource_version.get())?;
        self.revision += 1;
        self.pods.budgets.remove(&(namespace.to_owned(), name.into())).ok_or(Refusal::NotFound)
    }
}

fn key(metadata: &Metadata) -> (String, Arc<str>) {
    (metadata.namespace.clone().unwrap_or_default(), Arc::clone(&metadata.name))
}
