//! Evictions, and the controller that works out what disruption budgets allow. It is never late here.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::{Timestamp, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::pod::{DrainPolicy, PodFacts, PodFate, PodName, PodOwner};

use super::{SPACE, app_name};
use crate::vocabulary::{Occasion, machine_name};
use crate::world::World;
use crate::world::api_server::{BudgetStatus, DeleteOptions, EvictionRefusal, Phase, Pod, Preconditions};
use crate::world::happening::{Evicted, Happening};
use crate::world::node::Owner;

/// A policy that lets every pod go that can be evicted.
const FORCED: DrainPolicy =
    DrainPolicy { timeout_seconds: 0, delete_empty_dir_data: true, force: true, steer: false };

impl World {
    /// The pods of a Node, as the operator lists them.
    pub(in crate::world) fn list_pods(&self, node: &str) -> Outcome {
        let home = self.api_servers.home();
        let pods = home.pods_of_node(node).iter().filter_map(|number| home.pod(*number)?.shown().facts());
        let mut pods: Vec<PodFacts> = pods.collect();
        pods.sort_by(|a, b| a.pod.cmp(&b.pod));
        Outcome::Done(Receipt::Pods(Arc::from(pods)))
    }

    /// The operator asks for the eviction of a pod.
    pub(in crate::world) fn evict_for_operator(&mut self, pod: &PodName) -> Outcome {
        let Some(number) = self.api_servers.home().pod_named(&pod.namespace, &pod.name) else {
            return Outcome::Stale;
        };
        let preconditions = Preconditions { uid: Some(pod.uid), resource_version: None };
        let host = self.host_of_pod(number);
        match self.evict(number, preconditions) {
            Ok(()) => Outcome::Done(Receipt::Nothing),
            Err(EvictionRefusal::Deletion(_)) => Outcome::Stale,
            Err(EvictionRefusal::Budget(words)) => {
                self.note_occasion(Occasion::EvictionRefused);
                if let Some(host) = host {
                    self.happened(&Happening::HeldUp(host));
                }
                Outcome::Retryable(Cause::new(CauseKind::DisruptionBudget, words))
            }
            Err(EvictionRefusal::SeveralBudgets) => {
                let words = "the pod has more than one disruption budget".to_owned();
                Outcome::Retryable(Cause::new(CauseKind::DisruptionBudget, words))
            }
        }
    }

    /// The operator deletes a pod, and asks no budget.
    pub(in crate::world) fn delete_for_operator(&mut self, pod: &PodName) -> Outcome {
        let Some(number) = self.api_servers.home().pod_named(&pod.namespace, &pod.name) else {
            return Outcome::Stale;
        };
        let now = self.queue.now();
        let preconditions = Preconditions { uid: Some(pod.uid), resource_version: None };
        let options = DeleteOptions { preconditions, grace: None };
        let Ok(deletion) = self.api_servers.home_mut().delete_pod(number, options, now) else {
            return Outcome::Stale;
        };
        if deletion.has_begun {
            self.note_occasion(Occasion::PodDeletedByOperator);
            self.trace.record(&[word("delete pod for operator"), u64::from(number), now.millis()]);
            self.deletion_followed(number, &deletion);
        }
        Outcome::Done(Receipt::Nothing)
    }

    fn host_of_pod(&self, number: u32) -> Option<u32> {
        self.host_named(self.api_servers.home().pod(number)?.node.as_deref()?)
    }

    /// Evicts a pod.
    ///
    /// # Errors
    /// As the eviction API refuses it.
    fn evict(&mut self, number: u32, preconditions: Preconditions) -> Result<(), EvictionRefusal> {
        let now = self.queue.now();
        let app = self.app_of(number);
        if let Some(app) = app {
            self.work_out_budget(app);
        }
        let was = self.api_servers.home().pod(number).cloned();
        let options = DeleteOptions { preconditions, grace: None };
        let deletion = self.api_servers.home_mut().evict_pod(number, options, now)?;
        if deletion.has_begun {
            self.note_occasion(Occasion::PodEvicted);
            let known = self.pods.as_mut().and_then(|pods| pods.known_mut(number));
            if known.is_some_and(|known| core::mem::replace(&mut known.is_moved, true)) {
                self.note_occasion(Occasion::PodEvictedAgain);
            }
            self.trace.record(&[word("evict"), u64::from(number), now.millis()]);
            self.deletion_followed(number, &deletion);
            if let (Some(app), Some(was)) = (app, was) {
                let has_run = was.phase == Phase::Running;
                self.happened(&Happening::Evicted(Evicted { app, has_run, was_ready: was.is_ready }));
            }
        }
        Ok(())
    }

    fn app_of(&self, number: u32) -> Option<u32> {
        match self.pods.as_ref()?.known(number)?.owner {
            Owner::App(app) => Some(app),
            Owner::Nobody | Owner::Person | Owner::DaemonSet(_) | Owner::Kubelet(_) | Owner::Job => None,
        }
    }

    /// Users or their tools take a pod from the Node of a host: the one at this place among those that would leave if the
    /// Node were drained. An eviction asks the budget, a deletion does not. True if there was one.
    pub(crate) fn take_by_hand(&mut self, host: u32, place: usize, evicts: bool) -> bool {
        let Some(number) = self.nth_that_leaves(host, place) else { return false };
        if evicts {
            // A refusal is an answer that they have to live with.
            drop(self.evict(number, Preconditions::default()));
        } else {
            self.delete_pod_by_hand(number);
        }
        true
    }

    fn delete_pod_by_hand(&mut self, number: u32) {
        let now = self.queue.now();
        if let Ok(deletion) = self.api_servers.home_mut().delete_pod(number, DeleteOptions::default(), now) {
            self.trace.record(&[word("delete pod"), u64::from(number), now.millis()]);
            self.deletion_followed(number, &deletion);
        }
    }

    /// Users delete every pod that they created past the scheduler.
    pub(crate) fn remove_placed_pods(&mut self) {
        let placed = self.pods.as_ref().map(|pods| pods.of_owner(Owner::Person)).unwrap_or_default();
        for number in placed {
            self.delete_pod_by_hand(number);
        }
    }

    fn nth_that_leaves(&self, host: u32, place: usize) -> Option<u32> {
        let numbers = self.leaving_from(host).map(|(number, _)| number).collect::<Vec<_>>();
        numbers.get(place.checked_rem(numbers.len())?).copied()
    }

    /// The pods on the Node of a host that would have to leave if it were drained.
    fn leaving_from(&self, host: u32) -> impl Iterator<Item = (u32, PodFacts)> {
        let home = self.api_servers.home();
        let numbers = home.pods_of_node(&machine_name(host)).iter().copied();
        let facts = numbers.filter_map(|number| Some((number, home.pod(number)?.shown().facts()?)));
        facts.filter(|(_, facts)| facts.fate(&FORCED, None) != PodFate::Stays)
    }

    /// The disruption controller writes the status of the budget of an app.
    fn work_out_budget(&mut self, app: u32) {
        let Some(pods) = self.pods.as_ref() else { return };
        let (desired, expected) = (i64::from(pods.required()), i64::from(pods.shape.replicas));
        let current = i64::from(self.healthy_pods(app));
        let Some(budget) = self.api_servers.home().budget(SPACE, &app_name(app)) else { return };
        let mut budget = budget.clone();
        budget.status = BudgetStatus {
            observed_generation: budget.metadata.generation,
            disruptions_allowed: (current - desired).max(0),
            current_healthy: current,
            desired_healthy: desired,
            expected_pods: expected,
            disrupted_pods: Default::default(),
        };
        // It exists, and nothing is required of it.
        drop(self.api_servers.home_mut().update_budget(budget, Preconditions::default(), true).cloned());
    }

    /// The pods of an app that are ready and not leaving.
    pub(crate) fn healthy_pods(&self, app: u32) -> u32 {
        let Some(pods) = &self.pods else { return 0 };
        let home = self.api_servers.home();
        let is_healthy = |pod: &Pod| pod.is_ready && !pod.is_leaving();
        let healthy = pods.of_app(app).iter().filter(|number| home.pod(**number).is_some_and(is_healthy));
        u32::try_from(healthy.count()).unwrap_or(u32::MAX)
    }

    /// So many healthy pods the budget of each app requires.
    pub(crate) fn required_pods(&self) -> u32 {
        self.pods.as_ref().map_or(0, |pods| pods.required())
    }

    /// The number of apps.
    pub(crate) fn apps(&self) -> u32 {
        self.pods.as_ref().map_or(0, |pods| pods.shape.apps)
    }

    /// The pods on the Node of a host that a drain has to wait for, and how many of them the default policy would not let
    /// go.
    pub(crate) fn pods_on(&self, host: u32) -> (u32, u32) {
        let forbids = |facts: &PodFacts| {
            (facts.owner == PodOwner::Nobody || facts.has_local_storage) && !facts.is_finished
        };
        self.leaving_from(host)
            .fold((0, 0), |(all, lost), (_, facts)| (all + 1, lost + u32::from(forbids(&facts))))
    }

    /// The pods on the Node of a host that a drain has to wait for, without those that came past the cordon in the last
    /// `grace` before `sent`: nobody could know them.
    pub(crate) fn pods_known_on(&self, host: u32, sent: Timestamp, grace: Duration) -> u32 {
        let is_known = |number: u32| {
            let known = self.pods.as_ref().and_then(|pods| pods.known(number));
            known.is_none_or(|known| !known.ignores_cordon || known.bound + grace <= sent)
        };
        let known = self.leaving_from(host).filter(|(number, _)| is_known(*number));
        u32::try_from(known.count()).unwrap_or(u32::MAX)
    }
}
