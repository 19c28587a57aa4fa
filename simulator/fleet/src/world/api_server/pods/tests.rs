//! Tests of evictions and deletions of pods. The conformance script plays the same rules against a real API server.

use seaworthy_kernel::{Draws, Seed};

use super::*;
use crate::vocabulary::START;
use crate::world::api_server::Preconditions;

const SPACE: &str = "default";

/// An API server with a budget for two healthy pods of app `web`, and three pods of it that run and are ready.
fn server() -> ApiServer {
    let mut server = ApiServer::new(Draws::new(Seed(1)));
    let mut budget = Budget { metadata: named("web"), ..Budget::default() };
    budget.spec.selector.match_labels.insert("app".into(), "web".into());
    server.create_budget(budget, START).unwrap();
    for name in ["web-0", "web-1", "web-2"] {
        let mut pod = Pod { metadata: named(name), node: Some("one".into()), grace: 30, ..Pod::default() };
        pod.metadata.labels.insert("app".into(), "web".into());
        let number = server.create_pod(pod, START).unwrap();
        server.set_pod_status(number, Phase::Running, true);
    }
    server
}

fn named(name: &str) -> Metadata {
    Metadata { namespace: Some(SPACE.into()), ..Metadata::named(name) }
}

/// The controller has counted so many healthy pods.
fn count(server: &mut ApiServer, current: i64, desired: i64) {
    let mut budget = server.budget(SPACE, "web").unwrap().clone();
    budget.status.observed_generation = 1;
    (budget.status.current_healthy, budget.status.desired_healthy) = (current, desired);
    budget.status.disruptions_allowed = (current - desired).max(0);
    server.update_budget(budget, Preconditions::default(), true).unwrap();
}

fn evict(server: &mut ApiServer, name: &str) -> Result<PodDeletion, EvictionRefusal> {
    let number = server.pod_named(SPACE, name).unwrap();
    server.evict_pod(number, DeleteOptions::default(), START)
}

fn is_refused(result: &Result<PodDeletion, EvictionRefusal>) -> bool {
    matches!(result, Err(EvictionRefusal::Budget(_)))
}

#[test]
fn a_budget_allows_as_many_evictions_as_its_status_says() {
    let mut server = server();
    assert!(is_refused(&evict(&mut server, "web-0")), "nobody has counted yet");
    count(&mut server, 3, 2);
    assert!(evict(&mut server, "web-0").unwrap().has_begun);
    assert!(is_refused(&evict(&mut server, "web-1")));
    let again = evict(&mut server, "web-0").unwrap();
    assert!(!again.has_begun && !again.is_gone, "what is leaving may be told again");
}

#[test]
fn a_pod_that_is_not_ready_goes_only_while_its_app_has_what_it_needs() {
    for (current, policy, goes) in [
        (2, None, true),
        (1, None, false),
        (1, Some(UnhealthyPods::IfHealthyBudget), false),
        (1, Some(UnhealthyPods::AlwaysAllow), true),
    ] {
        let mut server = server();
        let mut budget = server.budget(SPACE, "web").unwrap().clone();
        budget.spec.unhealthy_pod_eviction_policy = policy;
        server.update_budget(budget, Preconditions::default(), false).unwrap();
        count(&mut server, current, 2);
        let number = server.pod_named(SPACE, "web-0").unwrap();
        server.set_pod_status(number, Phase::Running, false);
        assert_eq!(evict(&mut server, "web-0").is_ok(), goes, "{current} {policy:?}");
    }
}

#[test]
fn no_budget_keeps_what_does_not_run() {
    for phase in [Phase::Pending, Phase::Succeeded, Phase::Failed] {
        let mut server = server();
        let number = server.pod_named(SPACE, "web-0").unwrap();
        server.set_pod_status(number, phase, false);
        let deletion = evict(&mut server, "web-0").unwrap();
        assert_eq!(deletion.is_gone, phase.is_finished(), "{phase:?}");
    }
}

#[test]
fn a_deletion_is_of_the_pod_that_was_seen() {
    let mut server = server();
    let number = server.pod_named(SPACE, "web-0").unwrap();
    let seen = server.pod(number).unwrap().metadata.clone();
    server.set_pod_status(number, Phase::Running, false);
    let uid = seen.uid.get();
    for preconditions in [
        Preconditions { uid: Some(Uid(7)), resource_version: None },
        Preconditions { uid, resource_version: seen.resource_version.get() },
    ] {
        let options = DeleteOptions { preconditions, grace: None };
        let refused = server.delete_pod(number, options, START);
        assert!(matches!(refused, Err(Refusal::Conflict(_))), "{refused:?}");
    }
    let preconditions = Preconditions { uid, resource_version: None };
    let options = DeleteOptions { preconditions, grace: None };
    assert!(server.delete_pod(number, options, START).unwrap().has_begun);
}

#[test]
fn the_time_that_is_left_is_only_shortened() {
    let mut server = server();
    let number = server.pod_named(SPACE, "web-0").unwrap();
    for (asked, left) in [(Some(20), Some(20)), (Some(60), Some(20)), (None, Some(20)), (Some(5), Some(5))] {
        let options = DeleteOptions { grace: asked, ..DeleteOptions::default() };
        assert_eq!(server.delete_pod(number, options, START).unwrap().pod.deletion_grace, left);
    }
    let at_once = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
    assert!(server.delete_pod(number, at_once, START).unwrap().is_gone);
    assert_eq!(server.pod_named(SPACE, "web-0"), None);
    assert_eq!(server.pods_of_node("one").len(), 2);
}
