//! Actions into requests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::request::{Request, RequestError, request};
use seaworthy_model::effect::{Action, ActionId, Effect, Fence, Target};
use seaworthy_model::id::{MachineId, Uid, VersionId};
use seaworthy_model::lease::{Epoch, LeaseRecord};
use seaworthy_model::machine::{Condition, ConditionKind, MachineStatus, Reason, Truth};
use seaworthy_model::meta::FINALIZER;
use seaworthy_model::time::Timestamp;
use serde_json::{Value, json};

const UID: &str = "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

fn unchanged() -> Fence {
    Fence::Unchanged { uid: Uid::parse(UID).unwrap(), resource_version: 7 }
}

fn action(target: Target, fence: Fence, effect: Effect) -> Action {
    Action { id: ActionId(1), target, fence, deadline: Timestamp::MAX, effect }
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
        acquired: Some(Timestamp(1_795_162_200_000)),
        renewed: Some(Timestamp(1_795_162_205_250)),
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

#[test]
fn a_status_is_put_under_uid_and_resource_version() {
    let status = MachineStatus {
        observed_generation: 3,
        conditions: [Condition {
            kind: ConditionKind::Reachable,
            truth: Truth::True,
            reason: Reason::Connected,
            message: Box::default(),
            since: Timestamp(1_795_162_200_000),
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
    unfit(&action(Target::Lease, unchanged(), finalizers()));
    unfit(&action(Target::Lease, Fence::None, Effect::WriteLease(LeaseRecord::default())));
    let watch = request(&action(Target::Driver, Fence::None, Effect::Watch), &mut names());
    assert_eq!(watch, Err(RequestError::NotForTheApiServer));
    let stranger = action(Target::Machine(MachineId(9)), unchanged(), finalizers());
    assert!(matches!(request(&stranger, &mut names()), Err(RequestError::UnknownId(_))));
}
