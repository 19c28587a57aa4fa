//! Cordons, evictions and lists of pods against an API server that misbehaves. Time is simulated.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

#[expect(dead_code, reason = "each test uses a part of it")]
mod fake;

use std::sync::Arc;
use std::time::Duration;

use fake::{Fake, Fault};
use seaworthy_api::names::Names;
use seaworthy_api::object::Node;
use seaworthy_api::parse;
use seaworthy_api::request::request;
use seaworthy_kube::write;
use seaworthy_model::attributes::{
    AttributesChange, Label, LabelChange, NodeAttributes, Taint, TaintChange, TaintEffect,
};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::effect::{Action, ActionId, Effect, Fence, Target};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::{MachineId, StoreId, Uid};
use seaworthy_model::node::{Mark, NodeCordon, NodeObject, NodeUncordon};
use seaworthy_model::pod::PodName;
use seaworthy_model::time::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";

fn with_node(node: &Value) -> Fake {
    let fake = Fake::default();
    let mut object = json!({"metadata": {"name": "m1"}, "spec": {}});
    object["spec"] = node["spec"].clone();
    for field in ["annotations", "labels"] {
        if !node[field].is_null() {
            object["metadata"][field] = node[field].clone();
        }
    }
    fake.put(NODES, object);
    fake
}

fn seen(fake: &Fake) -> NodeObject {
    let node: Node = serde_json::from_value(fake.get(NODES, "m1").unwrap()).unwrap();
    parse::node(&node, &mut Names::new()).unwrap().1
}

async fn send(fake: &Fake, fence: Fence, effect: Effect) -> Outcome {
    let mut names = Names::new();
    let target = Target::Node(names.machine("m1"));
    assert_eq!(target, Target::Node(MachineId(0)));
    let action =
        Action { id: ActionId(1), store: StoreId::HOME, target, fence, deadline: Timestamp::MAX, effect };
    let request = request(&action, &mut names).unwrap();
    write(&fake.api(), &request, Instant::now() + Duration::from_secs(15)).await
}

fn cordon(node: &NodeObject) -> Effect {
    let shape = node.state.shape();
    let mark = Mark { machine: Uid(7), found_unschedulable: shape.unschedulable, ..Mark::default() };
    Effect::Cordon(Box::new(NodeCordon { shape, mark }))
}

fn uncordon(node: &NodeObject) -> Effect {
    let stays_unschedulable = node.state.mark().unwrap().found_unschedulable;
    Effect::Uncordon(Box::new(NodeUncordon { shape: node.state.shape(), stays_unschedulable }))
}

#[tokio::test(start_paused = true)]
async fn a_node_is_as_it_was_after_our_cordon_whatever_others_have_there() {
    let taint = json!({"key": "dedicated", "effect": "NoSchedule"});
    for node in [
        json!({"spec": {}, "annotations": {"a": "b"}}),
        json!({"spec": {"taints": [taint]}, "annotations": {"a": "b"}}),
        json!({"spec": {"unschedulable": true, "taints": [taint]}, "annotations": {"a": "b"}}),
    ] {
        let fake = with_node(&node);
        let before = seen(&fake);
        let fence = Fence::Incarnation(before.uid);
        assert!(matches!(send(&fake, fence, cordon(&before)).await, Outcome::Done(_)));
        let marked = seen(&fake);
        assert!(marked.state.is_ours() && marked.state.shape().unschedulable);
        assert_eq!(marked.state.mark().unwrap().machine, Uid(7));
        // Twice is once.
        assert_eq!(send(&fake, fence, cordon(&before)).await, Outcome::Stale);
        assert!(matches!(send(&fake, fence, uncordon(&marked)).await, Outcome::Done(_)));
        let after = fake.get(NODES, "m1").unwrap();
        assert_eq!(after["metadata"]["annotations"], json!({"a": "b"}));
        let taints = after["spec"]["taints"].as_array().cloned().unwrap_or_default();
        assert_eq!(json!(taints), if node["spec"]["taints"].is_null() { json!([]) } else { json!([taint]) });
        assert_eq!(after["spec"]["unschedulable"], node["spec"]["unschedulable"]);
        assert_eq!(send(&fake, fence, uncordon(&marked)).await, Outcome::Stale);
    }
}

/// What has to be written so that a Node carries a label and a taint of ours with this value, or neither.
fn relabel(node: &NodeObject, to: Option<&str>) -> Effect {
    let carried = node.state.carried.clone().unwrap_or_default();
    let (effect, key, to) = (TaintEffect::NoSchedule, "example.com/pool", to.map(Arc::<str>::from));
    let from = carried.taint(key, effect).map(|(place, taint)| (place, taint.value.clone()));
    let taint = |value: &Arc<str>| Taint { key: key.into(), value: value.clone(), effect };
    let label = |value: &Arc<str>| Label { key: key.into(), value: value.clone() };
    Effect::WriteNodeAttributes(Box::new(AttributesChange {
        has_labels: node.state.has_labels,
        has_annotations: node.state.has_annotations,
        has_taints: node.state.has_taints,
        record: carried.record.as_ref().map(|(_, text)| text.clone()),
        applied: NodeAttributes {
            labels: to.iter().map(label).collect(),
            taints: to.iter().map(taint).collect(),
        },
        labels: vec![LabelChange { key: key.into(), from: carried.label(key).cloned(), to: to.clone() }],
        taints: vec![TaintChange { key: key.into(), effect, from, to }],
        order: 1,
        is_repair: false,
    }))
}

#[tokio::test(start_paused = true)]
async fn a_node_is_as_it_was_after_our_labels_and_taints() {
    let taint = json!({"key": "theirs", "effect": "NoExecute"});
    for node in [
        json!({"spec": {}}),
        json!({"spec": {}, "annotations": {"a": "b"}, "labels": {"kubernetes.io/hostname": "m1", "x": "y"}}),
        json!({"spec": {"taints": [taint]}, "annotations": {"a": "b"}, "labels": {"x": "y"}}),
    ] {
        let fake = with_node(&node);
        let bare = seen(&fake);
        let fence = Fence::Incarnation(bare.uid);
        assert!(matches!(send(&fake, fence, relabel(&bare, Some("1"))).await, Outcome::Done(_)));
        assert_eq!(send(&fake, fence, relabel(&bare, Some("1"))).await, Outcome::Stale, "twice is once");
        let first = seen(&fake);
        let carried = first.state.carried.clone().unwrap();
        assert_eq!(carried.label("example.com/pool").map(|value| &**value), Some("1"));
        assert_eq!(carried.applied().unwrap().labels.len(), 1);
        assert!(matches!(send(&fake, fence, relabel(&first, Some("2"))).await, Outcome::Done(_)));
        assert_eq!(
            send(&fake, fence, relabel(&first, None)).await,
            Outcome::Stale,
            "it looks different by now"
        );
        assert!(matches!(send(&fake, fence, relabel(&seen(&fake), None)).await, Outcome::Done(_)));
        let after = fake.get(NODES, "m1").unwrap();
        let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        assert_eq!(map(&after["metadata"]["labels"]), map(&node["labels"]));
        assert_eq!(map(&after["metadata"]["annotations"]), map(&node["annotations"]));
        assert_eq!(list(&after["spec"]["taints"]), list(&node["spec"]["taints"]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_makes_no_write_stale_and_another_hand_does() {
    let fake = with_node(&json!({"spec": {}}));
    let before = seen(&fake);
    let mut object = fake.get(NODES, "m1").unwrap();
    object["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    fake.put(NODES, object);
    let fence = Fence::Incarnation(before.uid);
    assert!(matches!(send(&fake, fence, cordon(&before)).await, Outcome::Done(_)));

    let fake = with_node(&json!({"spec": {}}));
    let before = seen(&fake);
    let mut object = fake.get(NODES, "m1").unwrap();
    object["spec"]["unschedulable"] = json!(true);
    fake.put(NODES, object);
    assert_eq!(send(&fake, Fence::Incarnation(before.uid), cordon(&before)).await, Outcome::Stale);
    let another = Fence::Incarnation(Uid(99));
    assert_eq!(send(&fake, another, cordon(&seen(&fake))).await, Outcome::Stale);
    assert_eq!(send(&fake, another, Effect::DeleteNode).await, Outcome::Stale);
    let ours = Fence::Incarnation(before.uid);
    assert_eq!(send(&fake, ours, Effect::DeleteNode).await, Outcome::Done(Receipt::Nothing));
    assert_eq!(send(&fake, ours, Effect::DeleteNode).await, Outcome::Stale);
}

fn pod(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"nodeName": node}, "status": {"phase": "Running"}})
}

#[tokio::test(start_paused = true)]
async fn the_pods_of_a_node_come_in_pages_and_an_interrupted_list_is_no_list() {
    let fake = Fake::default();
    for number in 0..1100 {
        fake.put(PODS, pod(&format!("web-{number:04}"), if number % 11 == 0 { "m2" } else { "m1" }));
    }
    let Outcome::Done(Receipt::Pods(pods)) = send(&fake, Fence::None, Effect::ListPods).await else {
        panic!("no list")
    };
    assert_eq!(pods.len(), 1000);
    assert!(pods.is_sorted_by(|a, b| a.pod < b.pod));
    assert_eq!(fake.requests("GET").len(), 2);
    for fault in [Fault::Answer(410, "too old"), Fault::Answer(503, "later"), Fault::ReplyLost] {
        fake.fail("GET", "continue", fault);
        let outcome = send(&fake, Fence::None, Effect::ListPods).await;
        assert!(matches!(outcome, Outcome::Retryable(_)), "{outcome:?}");
    }
    fake.fail("GET", "pods", Fault::Answer(403, "pods is forbidden"));
    let outcome = send(&fake, Fence::None, Effect::ListPods).await;
    assert!(matches!(outcome, Outcome::Refused(cause) if cause.kind == CauseKind::ApiRefused));
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_evicted_once_and_only_the_one_that_is_meant() {
    let fake = Fake::default();
    fake.put(PODS, pod("web-1", "m1"));
    let stored = fake.get(PODS, "web-1").unwrap();
    let uid = Uid::parse(stored["metadata"]["uid"].as_str().unwrap()).unwrap();
    let evict =
        |uid| Effect::Evict(Box::new(PodName { namespace: "shop".into(), name: "web-1".into(), uid }));
    let another = send(&fake, Fence::Incarnation(Uid(99)), evict(Uid(99))).await;
    assert_eq!(another, Outcome::Stale);
    fake.fail("POST", "eviction", Fault::Answer(429, "slow down"));
    let outcome = send(&fake, Fence::Incarnation(uid), evict(uid)).await;
    assert!(matches!(outcome, Outcome::Retryable(cause) if cause.kind == CauseKind::ApiUnavailable));
    fake.fail("POST", "eviction", Fault::Budget("The disruption budget web needs 2 healthy pods and has 2"));
    let outcome = send(&fake, Fence::Incarnation(uid), evict(uid)).await;
    let is_told = |detail: &str| detail.contains("budget web");
    assert!(
        matches!(&outcome, Outcome::Retryable(cause)
            if cause.kind == CauseKind::DisruptionBudget && is_told(&cause.detail)),
        "{outcome:?}"
    );
    assert_eq!(send(&fake, Fence::Incarnation(uid), evict(uid)).await, Outcome::Done(Receipt::Nothing));
    assert_eq!(send(&fake, Fence::Incarnation(uid), evict(uid)).await, Outcome::Stale);
    let paths = fake.requests("eviction");
    assert!(paths.iter().all(|path| path == "POST /api/v1/namespaces/shop/pods/web-1/eviction"), "{paths:?}");
}
