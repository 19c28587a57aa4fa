//! Actions into requests.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::parse;
use seaworthy_api::request::{Request, RequestError, mark_text, request};
use seaworthy_model::attributes::{
    AttributesChange, Label, LabelChange, NodeAttributes, Taint, TaintChange, TaintEffect,
};
use seaworthy_model::component::{Architecture, CgroupVersion};
use seaworthy_model::effect::{Action, ActionId, Effect, Fence, Import, Target};
use seaworthy_model::gate_check::{ProbePod, ProbeRound, ProbeStart};
use seaworthy_model::id::{HostId, MachineId, StoreId, Uid, VersionId};
use seaworthy_model::lease::{Epoch, LeaseRecord};
use seaworthy_model::machine::{Condition, ConditionKind, Identity, MachineStatus, Reason, Truth};
use seaworthy_model::meta::FINALIZER;
use seaworthy_model::node::{Mark, NodeCordon, NodeShape, NodeUncordon};
use seaworthy_model::pod::PodName;
use seaworthy_model::time::Timestamp;
use serde_json::{Value, json};

const UID: &str = "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

fn unchanged() -> Fence {
    Fence::Unchanged { uid: Uid::parse(UID).unwrap(), resource_version: 7 }
}

fn action(target: Target, fence: Fence, effect: Effect) -> Action {
    Action { id: ActionId(1), store: StoreId::HOME, target, fence, deadline: Timestamp::MAX, effect }
}

fn names() -> Names {
    let mut names = Names::new();
    names.machine("m-0");
    names.version("webd", "1.0.0");
    names
}

fn assert_http(action: &Action, (method, path, content_type): (&str, &str, &str), body: &Value) {
    let http = request(action, &mut names()).unwrap().http("seaworthy");
    assert_eq!((http.method, http.content_type), (method, content_type));
    assert_eq!(http.path, format!("{path}?fieldManager=seaworthy"));
    assert_eq!(http.body, *body);
}

fn precondition(name: &str) -> Value {
    json!({ "name": name, "uid": UID, "resourceVersion": "7" })
}

#[test]
fn a_lease_is_created_or_patched_and_annotations_stay() {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/seaworthy-system/leases";
    let take = Effect::WriteLease(LeaseRecord {
        holder: "a".into(),
        epoch: Epoch(4),
        duration: Some(Duration::from_secs(15)),
        acquired: Some(Timestamp::from_millis(1_795_162_200_000)),
        renewed: Some(Timestamp::from_millis(1_795_162_205_250)),
    });
    let spec = json!({
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-20T08:10:00.000000Z",
        "renewTime": "2026-11-20T08:10:05.250000Z",
        "leaseTransitions": 4,
    });
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "seaworthy", "namespace": "seaworthy-system" },
        "spec": spec,
    });
    assert_http(&action(Target::Lease, Fence::Absent, take.clone()), ("POST", leases, JSON), &body);
    let body = json!({
        "metadata": precondition("seaworthy"),
        "spec": spec,
    });
    let one = format!("{leases}/seaworthy");
    assert_http(&action(Target::Lease, unchanged(), take), ("PATCH", &one, MERGE), &body);
    let vacate = Effect::WriteLease(LeaseRecord::default());
    let body = json!({
        "metadata": precondition("seaworthy"),
        "spec": {
            "holderIdentity": null,
            "leaseDurationSeconds": null,
            "acquireTime": null,
            "renewTime": null,
            "leaseTransitions": 0,
        },
    });
    assert_http(&action(Target::Lease, unchanged(), vacate), ("PATCH", &one, MERGE), &body);
}

const JSON_PATCH: &str = "application/json-patch+json";

fn about_node(effect: Effect, fence: Fence) -> Action {
    action(Target::Node(MachineId(0)), fence, effect)
}

#[test]
fn a_node_is_patched_if_it_looks_as_it_did() {
    let fence = Fence::Incarnation(Uid::parse(UID).unwrap());
    let mark = Mark { machine: Uid(7), generation: 3, since: Timestamp::from_millis(0), ..Mark::default() };
    let text = mark_text(&mark);
    let path = "/api/v1/nodes/m-0";
    let uid = json!({ "op": "test", "path": "/metadata/uid", "value": UID });
    let taint = json!({ "key": "seaworthy.dev/drain", "effect": "NoSchedule" });
    let pointer = "/metadata/annotations/seaworthy.dev~1drain";

    let cordon = NodeCordon { shape: NodeShape::default(), mark: mark.clone() };
    let body = json!([
        uid,
        { "op": "test", "path": "/spec/unschedulable", "value": null },
        { "op": "add", "path": "/spec/unschedulable", "value": true },
        { "op": "test", "path": "/spec/taints", "value": null },
        { "op": "add", "path": "/spec/taints", "value": [taint] },
        { "op": "test", "path": "/metadata/annotations", "value": null },
        { "op": "add", "path": "/metadata/annotations", "value": { "seaworthy.dev/drain": text } },
    ]);
    let effect = Effect::Cordon(Box::new(cordon));
    assert_http(&about_node(effect, fence), ("PATCH", path, JSON_PATCH), &body);

    // What others have there stays, and is what it was.
    let shape =
        NodeShape { unschedulable: true, has_taints: true, has_annotations: true, ..NodeShape::default() };
    let body = json!([
        uid,
        { "op": "test", "path": "/spec/unschedulable", "value": true },
        { "op": "add", "path": "/spec/taints/-", "value": taint },
        { "op": "test", "path": pointer, "value": null },
        { "op": "add", "path": pointer, "value": text },
    ]);
    let effect = Effect::Cordon(Box::new(NodeCordon { shape, mark }));
    assert_http(&about_node(effect, fence), ("PATCH", path, JSON_PATCH), &body);

    let shape = NodeShape {
        unschedulable: true,
        has_taints: true,
        has_annotations: true,
        taint: Some(2),
        mark: Some("mine".into()),
    };
    let body = json!([
        uid,
        { "op": "test", "path": "/spec/taints/2/key", "value": "seaworthy.dev/drain" },
        { "op": "remove", "path": "/spec/taints/2" },
        { "op": "test", "path": "/spec/unschedulable", "value": true },
        { "op": "remove", "path": "/spec/unschedulable" },
        { "op": "test", "path": pointer, "value": "mine" },
        { "op": "remove", "path": pointer },
    ]);
    let lift = |stays_unschedulable| {
        Effect::Uncordon(Box::new(NodeUncordon { shape: shape.clone(), stays_unschedulable }))
    };
    assert_http(&about_node(lift(false), fence), ("PATCH", path, JSON_PATCH), &body);
    let stays = request(&about_node(lift(true), fence), &mut names()).unwrap().http("seaworthy").body;
    assert!(!stays.to_string().contains("unschedulable"), "{stays}");
}

const RECORD: &str = r#"{"labels":{"a/b~c":"1"},"order":7,"taints":[{"effect":"NoSchedule","key":"t"}]}"#;

fn label(key: &str, from: Option<&str>, to: Option<&str>) -> LabelChange {
    LabelChange { key: key.into(), from: from.map(Into::into), to: to.map(Into::into) }
}

fn taint(key: &str, from: Option<(u32, &str)>, to: Option<&str>) -> TaintChange {
    TaintChange {
        key: key.into(),
        effect: TaintEffect::NoSchedule,
        from: from.map(|(place, value)| (place, value.into())),
        to: to.map(Into::into),
    }
}

fn assert_patch(change: AttributesChange, operations: Vec<Value>) {
    let mut body = vec![json!({ "op": "test", "path": "/metadata/uid", "value": UID })];
    body.extend(operations);
    let fence = Fence::Incarnation(Uid::parse(UID).unwrap());
    let effect = Effect::WriteNodeAttributes(Box::new(change));
    assert_http(&about_node(effect, fence), ("PATCH", "/api/v1/nodes/m-0", JSON_PATCH), &json!(body));
}

#[test]
fn labels_and_taints_come_to_a_node_without_any() {
    let change = AttributesChange {
        applied: NodeAttributes {
            labels: vec![Label { key: "a/b~c".into(), value: "1".into() }],
            taints: vec![Taint { key: "t".into(), value: "".into(), effect: TaintEffect::NoSchedule }],
        },
        order: 7,
        labels: vec![label("a/b~c", None, Some("1")), label("d", None, Some(""))],
        taints: vec![taint("t", None, Some("")), taint("u", None, Some("2"))],
        ..AttributesChange::default()
    };
    let last = json!({ "key": "u", "effect": "NoSchedule", "value": "2" });
    let operations = vec![
        json!({ "op": "test", "path": "/metadata/annotations", "value": null }),
        json!({ "op": "add", "path": "/metadata/annotations", "value": { "seaworthy.dev/from-machine": RECORD } }),
        json!({ "op": "test", "path": "/metadata/labels", "value": null }),
        json!({ "op": "add", "path": "/metadata/labels", "value": { "a/b~c": "1" } }),
        json!({ "op": "add", "path": "/metadata/labels/d", "value": "" }),
        json!({ "op": "test", "path": "/spec/taints", "value": null }),
        json!({ "op": "add", "path": "/spec/taints", "value": [{ "key": "t", "effect": "NoSchedule" }] }),
        json!({ "op": "add", "path": "/spec/taints/-", "value": last }),
    ];
    assert_patch(change, operations);
}

#[test]
fn labels_and_taints_of_a_node_change_only_as_they_were_seen() {
    let change = AttributesChange {
        has_labels: true,
        has_annotations: true,
        has_taints: true,
        record: Some(RECORD.into()),
        labels: vec![label("a/b~c", Some("1"), None), label("d", None, Some("2"))],
        taints: vec![
            taint("t", Some((1, "")), None),
            taint("u", Some((2, "2")), Some("")),
            taint("v", Some((4, "x")), None),
            taint("w", None, Some("")),
        ],
        ..AttributesChange::default()
    };
    let of_taint = |place: u32, key: &str, value: Value| {
        [
            json!({ "op": "test", "path": format!("/spec/taints/{place}/key"), "value": key }),
            json!({ "op": "test", "path": format!("/spec/taints/{place}/effect"), "value": "NoSchedule" }),
            json!({ "op": "test", "path": format!("/spec/taints/{place}/value"), "value": value }),
        ]
    };
    let pointer = "/metadata/annotations/seaworthy.dev~1from-machine";
    let mut operations = vec![
        json!({ "op": "test", "path": pointer, "value": RECORD }),
        json!({ "op": "remove", "path": pointer }),
        json!({ "op": "test", "path": "/metadata/labels/a~1b~0c", "value": "1" }),
        json!({ "op": "remove", "path": "/metadata/labels/a~1b~0c" }),
        json!({ "op": "test", "path": "/metadata/labels/d", "value": null }),
        json!({ "op": "add", "path": "/metadata/labels/d", "value": "2" }),
    ];
    operations.extend(of_taint(1, "t", Value::Null));
    operations.extend(of_taint(2, "u", json!("2")));
    operations.push(json!({ "op": "remove", "path": "/spec/taints/2/value" }));
    operations.extend(of_taint(4, "v", json!("x")));
    operations.push(json!({ "op": "remove", "path": "/spec/taints/4" }));
    operations.push(json!({ "op": "remove", "path": "/spec/taints/1" }));
    let comes = json!({ "key": "w", "effect": "NoSchedule" });
    operations.push(json!({ "op": "add", "path": "/spec/taints/-", "value": comes }));
    assert_patch(change, operations);
}

#[test]
fn a_probe_pod_is_a_job_on_its_node_that_can_do_nothing() {
    let pod = ProbePod { image: "pause:3".into(), machines: 5, within: Duration::from_secs(120) };
    let start = ProbeStart { round: ProbeRound(0xab), number: 3, pod: Arc::new(pod) };
    let start = about_node(Effect::StartProbe(Box::new(start)), Fence::Absent);
    let http = request(&start, &mut names()).unwrap().http("seaworthy");
    let path = "/apis/batch/v1/namespaces/seaworthy-system/jobs?fieldManager=seaworthy";
    assert_eq!((http.method, &*http.path), ("POST", path));
    let (metadata, spec) = (&http.body["metadata"], &http.body["spec"]);
    assert_eq!(metadata["name"], "seaworthy-gate-00000000000000ab-3");
    assert_eq!(metadata["labels"]["seaworthy.dev/gate"], "00000000000000ab");
    assert_eq!((&spec["activeDeadlineSeconds"], &spec["backoffLimit"]), (&json!(240), &json!(0)));
    let pod = &spec["template"]["spec"];
    assert_eq!((&pod["nodeName"], &pod["containers"][0]["image"]), (&json!("m-0"), &json!("pause:3")));
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);

    let list = Action {
        target: Target::PackageVersion,
        ..about_node(Effect::ListProbes(ProbeRound(0xab)), Fence::None)
    };
    let http = request(&list, &mut names()).unwrap().http("seaworthy");
    let path = "/apis/batch/v1/namespaces/seaworthy-system/jobs?labelSelector=seaworthy.dev%2Fgate%3D00000000000000ab";
    assert_eq!((http.method, &*http.path), ("GET", path));
}

#[test]
fn pods_are_listed_by_node_and_evicted_by_uid() {
    let list = request(&about_node(Effect::ListPods, Fence::None), &mut names()).unwrap().http("seaworthy");
    assert_eq!(
        (list.method, &*list.path),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dm-0&limit=500")
    );

    let uid = Uid::parse(UID).unwrap();
    let pod = PodName { namespace: "shop".into(), name: "cart-7".into(), uid };
    let evict = about_node(Effect::Evict(Box::new(pod)), Fence::Incarnation(uid));
    let http = request(&evict, &mut names()).unwrap().http("seaworthy");
    assert_eq!((http.method, &*http.path), ("POST", "/api/v1/namespaces/shop/pods/cart-7/eviction"));
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "namespace": "shop", "name": "cart-7" },
        "deleteOptions": { "preconditions": { "uid": UID } },
    });
    assert_eq!(http.body, body);

    let Effect::Evict(pod) = evict.effect.clone() else { unreachable!() };
    let delete = about_node(Effect::DeletePod(pod), Fence::Incarnation(uid));
    let http = request(&delete, &mut names()).unwrap().http("seaworthy");
    assert_eq!((http.method, &*http.path), ("DELETE", "/api/v1/namespaces/shop/pods/cart-7"));
    assert_eq!(http.body["preconditions"], json!({ "uid": UID }));

    let http = request(&about_node(Effect::DeleteNode, Fence::Incarnation(uid)), &mut names()).unwrap();
    let http = http.http("seaworthy");
    assert_eq!((http.method, &*http.path), ("DELETE", "/api/v1/nodes/m-0"));
    assert_eq!(http.body["preconditions"], json!({ "uid": UID }));
    for unfenced in [Effect::DeleteNode, evict.effect, delete.effect] {
        let error = request(&about_node(unfenced, Fence::None), &mut names()).unwrap_err();
        assert!(matches!(error, RequestError::Unfit { .. }), "{error}");
    }
}

#[test]
fn a_status_is_put_under_uid_and_resource_version() {
    let status = MachineStatus {
        observed_generation: 3,
        conditions: [Condition {
            kind: ConditionKind::Reachable,
            truth: Truth::True,
            reason: Reason::Connected,
            detail: None,
            since: Timestamp::from_millis(1_795_162_200_000),
            observed_generation: 3,
        }]
        .into_iter()
        .collect(),
        ..MachineStatus::default()
    };
    let body = json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "Machine",
        "metadata": precondition("m-0"),
        "status": {
            "observedGeneration": 3,
            "conditions": [{
                "type": "Reachable",
                "status": "True",
                "reason": "Connected",
                "message": "the host answers and lets us work",
                "lastTransitionTime": "2026-11-20T08:10:00Z",
                "observedGeneration": 3,
            }],
        },
    });
    let path = "/apis/seaworthy.dev/v1alpha1/machines/m-0/status";
    let write = Effect::WriteMachineStatus(Box::new(status));
    assert_http(&action(Target::Machine(MachineId(0)), unchanged(), write), ("PUT", path, JSON), &body);

    let body = json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "ClusterPackageVersion",
        "metadata": precondition("default"),
        "status": { "observedGeneration": 0 },
    });
    let path = "/apis/seaworthy.dev/v1alpha1/clusterpackageversions/default/status";
    let write = Effect::WritePackageVersionStatus(Box::default());
    assert_http(&action(Target::PackageVersion, unchanged(), write), ("PUT", path, JSON), &body);

    let body = json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "MachineComponent",
        "metadata": precondition("webd-1.0.0"),
        "status": { "observedGeneration": 0 },
    });
    let path = "/apis/seaworthy.dev/v1alpha1/machinecomponents/webd-1.0.0/status";
    let write = Effect::WriteVersionStatus(Box::default());
    assert_http(&action(Target::Version(VersionId(0)), unchanged(), write), ("PUT", path, JSON), &body);
}

#[test]
fn finalizers_are_replaced_as_a_whole() {
    let body = json!({ "metadata": { "uid": UID, "resourceVersion": "7", "finalizers": [FINALIZER] } });
    let table = [
        (Target::Machine(MachineId(0)), "machines/m-0"),
        (Target::Version(VersionId(0)), "machinecomponents/webd-1.0.0"),
        (Target::PackageVersion, "clusterpackageversions/default"),
    ];
    for (target, path) in table {
        let write = Effect::WriteFinalizers(vec![FINALIZER.into()]);
        let path = format!("/apis/seaworthy.dev/v1alpha1/{path}");
        assert_http(&action(target, unchanged(), write), ("PATCH", &path, MERGE), &body);
    }
    let none = action(Target::PackageVersion, unchanged(), Effect::WriteFinalizers(vec![]));
    let Request::PatchFinalizers(patch) = request(&none, &mut names()).unwrap() else { panic!("a patch") };
    assert!(patch.finalizers.is_empty());
    let http = Request::PatchFinalizers(patch).http("seaworthy");
    assert_eq!(http.body["metadata"]["finalizers"], json!([]), "an empty list, not a missing one");
}

/// The host of a Machine is recorded before the first change there, in the write that adds the finalizer.
#[test]
fn an_import_records_the_host_beside_the_finalizer() {
    let identity = Identity {
        host: HostId(0x4f2a),
        host_key: Some("ssh-ed25519 AAAA".into()),
        architecture: Architecture::Arm64,
        cgroup_version: Some(CgroupVersion::V2),
    };
    let import = Import { finalizers: vec![FINALIZER.into()], identity: identity.clone() };
    let import = action(Target::Machine(MachineId(0)), unchanged(), Effect::Import(Box::new(import)));
    let Request::PatchFinalizers(patch) = request(&import, &mut names()).unwrap() else { panic!("a patch") };
    let text = patch.host.clone().unwrap();
    let http = Request::PatchFinalizers(patch).http("seaworthy");
    assert_eq!(http.body["metadata"]["annotations"], json!({ "seaworthy.dev/host": text }));
    assert_eq!(http.body["metadata"]["uid"], json!(UID));
    assert_eq!(http.body["metadata"]["finalizers"], json!([FINALIZER]));

    let read = |uid: &str, text: &str, status: Value| {
        let spec = json!({
            "address": { "ip": "10.0.0.1" },
            "ssh": { "secretName": "keys", "hostKeyPolicy": "TrustOnFirstUse" },
        });
        let annotations = json!({ "seaworthy.dev/host": text });
        let metadata =
            json!({ "name": "m-0", "uid": uid, "resourceVersion": "8", "annotations": annotations });
        let object = serde_json::from_value(json!({ "metadata": metadata, "spec": spec, "status": status }));
        parse::machine(&object.unwrap(), &mut names()).unwrap().1.status.identity
    };
    assert_eq!(read(UID, &text, json!({})), Some(identity), "before the status says it");
    assert_eq!(read("00000000-0000-0000-0000-00000000beef", &text, json!({})), None, "it is a copy");
    assert_eq!(read(UID, "nonsense", json!({})), None);
    let recorded =
        json!({ "identity": { "machineID": "00000000000000000000000000000007", "architecture": "amd64" } });
    assert_eq!(read(UID, &text, recorded).unwrap().host, HostId(7), "the status says it");
    let of_fleet = Action { target: Target::PackageVersion, ..import };
    assert!(request(&of_fleet, &mut names()).is_err(), "only a Machine has a host");
}

#[test]
fn what_is_not_a_sound_request_is_refused() {
    let unfit = |action: &Action| {
        let expected = RequestError::Unfit { target: action.target, fence: action.fence };
        assert_eq!(request(action, &mut names()), Err(expected));
    };
    let finalizers = || Effect::WriteFinalizers(vec![]);
    let status = || Effect::WriteMachineStatus(Box::default());
    unfit(&action(Target::Machine(MachineId(0)), Fence::None, finalizers()));
    unfit(&action(Target::Machine(MachineId(0)), Fence::Absent, status()));
    unfit(&action(Target::PackageVersion, unchanged(), status()));
    unfit(&action(Target::Machine(MachineId(0)), unchanged(), Effect::WriteVersionStatus(Box::default())));
    unfit(&action(Target::Lease, unchanged(), finalizers()));
    unfit(&action(Target::Lease, Fence::None, Effect::WriteLease(LeaseRecord::default())));
    let watch = request(&action(Target::Driver, Fence::None, Effect::Watch), &mut names());
    assert_eq!(watch, Err(RequestError::NotForTheApiServer));
    let stranger = action(Target::Machine(MachineId(9)), unchanged(), finalizers());
    assert!(matches!(request(&stranger, &mut names()), Err(RequestError::UnknownId(_))));
}
