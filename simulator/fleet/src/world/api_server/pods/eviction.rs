//! The eviction of a pod: a deletion that disruption budgets may forbid (`policy/v1` Eviction).

use seaworthy_kernel::Timestamp;

use super::budget::{Budget, UnhealthyPods};
use super::pod::{DeleteOptions, Phase, Pod, PodDeletion};
use crate::world::api_server::{ApiServer, Refusal};

/// Why a pod is not evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionRefusal {
    /// 404, or 409 for a precondition that does not hold.
    Deletion(Refusal),
    /// 429: its disruption budget does not allow it now.
    Budget(String),
    /// 500: more than one budget covers it.
    SeveralBudgets,
}

impl ApiServer {
    /// Evicts a pod. The budget is asked before the preconditions, and what it gave is not given back if they do not hold.
    ///
    /// # Errors
    /// When it does not exist, its budget does not allow it, or the preconditions do not hold.
    pub fn evict_pod(
        &mut self,
        number: u32,
        options: DeleteOptions,
        now: Timestamp,
    ) -> Result<PodDeletion, EvictionRefusal> {
        let pod = self.pod(number).ok_or(EvictionRefusal::Deletion(Refusal::NotFound))?;
        if !ignores_budgets(pod) {
            self.claim_disruption(number, now)?;
        }
        self.delete_pod(number, options, now).map_err(EvictionRefusal::Deletion)
    }

    /// Takes one of the disruptions that the budget of a pod allows, if the pod counts as healthy.
    fn claim_disruption(&mut self, number: u32, now: Timestamp) -> Result<(), EvictionRefusal> {
        let Some(pod) = self.pod(number) else { return Ok(()) };
        let (is_ready, name) = (pod.is_ready, pod.metadata.name.to_string());
        let mut covering = self.pods.budgets.iter().filter(|(_, budget)| budget.covers(pod));
        let Some((key, budget)) = covering.next() else { return Ok(()) };
        if covering.next().is_some() {
            return Err(EvictionRefusal::SeveralBudgets);
        }
        if !is_ready && spares(budget) {
            return Ok(());
        }
        if let Some(why) = withholds(budget) {
            return Err(EvictionRefusal::Budget(why));
        }
        let key = key.clone();
        self.revision += 1;
        if let Some(budget) = self.pods.budgets.get_mut(&key) {
            budget.status.disruptions_allowed -= 1;
            budget.status.disrupted_pods.insert(name, now.whole_seconds().into());
            budget.metadata.resource_version = self.revision.into();
        }
        Ok(())
    }
}

/// Whether no budget protects a pod: it does not run yet, does not run any more, or is being deleted.
fn ignores_budgets(pod: &Pod) -> bool {
    pod.is_leaving() || pod.phase == Phase::Pending || pod.phase.is_finished()
}

/// Whether a budget lets a pod go that runs and is not ready. It takes no disruption, since it does not count as healthy.
fn spares(budget: &Budget) -> bool {
    let status = &budget.status;
    match budget.spec.unhealthy_pod_eviction_policy {
        Some(UnhealthyPods::AlwaysAllow) => true,
        Some(UnhealthyPods::IfHealthyBudget) | None => {
            status.current_healthy >= status.desired_healthy && status.desired_healthy > 0
        }
    }
}

/// Why a budget allows no disruption now.
fn withholds(budget: &Budget) -> Option<String> {
    let Budget { metadata, status, .. } = budget;
    let name = &metadata.name;
    if status.observed_generation < metadata.generation {
        return Some(format!("The disruption budget {name} is still being processed by the server."));
    }
    (status.disruptions_allowed <= 0).then(|| {
        let (needs, has) = (status.desired_healthy, status.current_healthy);
        format!("The disruption budget {name} needs {needs} healthy pods and has {has} currently")
    })
}
