//! Writes and Secrets against an API server that misbehaves. Time is simulated.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

#[expect(dead_code, reason = "each test uses a part of it")]
mod fake;

use std::time::Duration;

use fake::{Fake, Fault};
use seaworthy_api::names::Names;
use seaworthy_api::request::{Request, request};
use seaworthy_kube::{SecretError, Secrets, Terminal, cluster_id, write};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::effect::{Action, ActionId, Effect, Fence, Target};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::id::{Kind, StoreId, Uid};
use seaworthy_model::lease::{Epoch, LeaseRecord};
use seaworthy_model::machine::MachineStatus;
use seaworthy_model::time::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

const MACHINES: &str = "/apis/seaworthy.dev/v1alpha1/machines";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/seaworthy-system/leases";
const SECRETS: &str = "/api/v1/namespaces/seaworthy-system/secrets";

fn order(target: Target, fence: Fence, effect: Effect, names: &mut Names) -> Request {
    let action =
        Action { id: ActionId(1), store: StoreId::HOME, target, fence, deadline: Timestamp::MAX, effect };
    request(&action, names).unwrap()
}

fn unchanged(object: &Value) -> Fence {
    let metadata = &object["metadata"];
    Fence::Unchanged {
        uid: Uid::parse(metadata["uid"].as_str().unwrap()).unwrap(),
        resource_version: metadata["resourceVersion"].as_str().unwrap().parse().unwrap(),
    }
}

/// A status for the Machine `m1`, as it is stored now.
fn status(fake: &Fake) -> Request {
    let mut names = Names::new();
    let target = Target::Machine(names.machine("m1"));
    let status = MachineStatus { observed_generation: 4, ..MachineStatus::default() };
    let fence = unchanged(&fake.get(MACHINES, "m1").unwrap());
    order(target, fence, Effect::WriteMachineStatus(Box::new(status)), &mut names)
}

fn with_machine() -> Fake {
    let fake = Fake::default();
    fake.put(MACHINES, json!({"metadata": {"name": "m1"}, "spec": {"kept": true}}));
    fake
}

async fn send(fake: &Fake, request: &Request) -> Outcome {
    write(&fake.api(), request, Instant::now() + Duration::from_secs(15)).await
}

fn written(resource_version: u64) -> Outcome {
    Outcome::Done(Receipt::Written { resource_version })
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_once_under_its_fence() {
    let fake = with_machine();
    let request = status(&fake);
    assert_eq!(send(&fake, &request).await, written(2));
    let machine = fake.get(MACHINES, "m1").unwrap();
    assert_eq!(
        (&machine["status"]["observedGeneration"], &machine["spec"]["kept"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(fake.requests("PUT"), [format!("PUT {MACHINES}/m1/status?fieldManager=seaworthy-operator")]);
    // The fence is used up.
    assert_eq!(send(&fake, &request).await, Outcome::Stale);
    fake.delete(MACHINES, "m1");
    assert_eq!(send(&fake, &request).await, Outcome::Stale);
    // Another object of the same name is not meant.
    fake.put(MACHINES, json!({"metadata": {"name": "m1"}, "spec": {}}));
    assert_eq!(send(&fake, &request).await, Outcome::Stale);
}

#[tokio::test(start_paused = true)]
async fn finalizers_are_patched_and_nothing_else() {
    let fake = with_machine();
    let mut names = Names::new();
    let target = Target::Machine(names.machine("m1"));
    let fence = unchanged(&fake.get(MACHINES, "m1").unwrap());
    let patch =
        order(target, fence, Effect::WriteFinalizers(vec!["seaworthy.dev/in-use".into()]), &mut names);
    assert_eq!(send(&fake, &patch).await, written(2));
    let machine = fake.get(MACHINES, "m1").unwrap();
    assert_eq!(machine["metadata"]["finalizers"], json!(["seaworthy.dev/in-use"]));
    assert_eq!(machine["spec"]["kept"], true);
    assert_eq!(send(&fake, &patch).await, Outcome::Stale);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_created_once_and_taken_over_under_its_fence() {
    let fake = Fake::default();
    let mut names = Names::new();
    let lease = |holder: &str, epoch| {
        Effect::WriteLease(LeaseRecord {
            holder: holder.into(),
            epoch: Epoch(epoch),
            ..LeaseRecord::default()
        })
    };
    let create = order(Target::Lease, Fence::Absent, lease("a", 1), &mut names);
    assert_eq!(send(&fake, &create).await, written(1));
    assert_eq!(send(&fake, &create).await, Outcome::Stale);
    let mut stored = fake.get(LEASES, "seaworthy").unwrap();
    stored["metadata"]["annotations"] = json!({"seaworthy.dev/adopt-epoch": "7"});
    fake.put(LEASES, stored);
    let fence = unchanged(&fake.get(LEASES, "seaworthy").unwrap());
    let (ours, theirs) = (
        order(Target::Lease, fence, lease("b", 2), &mut names),
        order(Target::Lease, fence, lease("c", 2), &mut names),
    );
    assert_eq!(send(&fake, &ours).await, written(3));
    assert_eq!(send(&fake, &theirs).await, Outcome::Stale);
    let stored = fake.get(LEASES, "seaworthy").unwrap();
    assert_eq!(stored["spec"], json!({"holderIdentity": "b", "leaseTransitions": 2}));
    assert_eq!(
        stored["metadata"]["annotations"]["seaworthy.dev/adopt-epoch"], "7",
        "what people wrote stays"
    );
}

#[tokio::test(start_paused = true)]
async fn every_end_is_told_apart_and_nothing_is_sent_twice() {
    type Expected = fn(&Outcome) -> bool;
    let table: [(Fault, Expected, bool); 8] = [
        (Fault::Answer(409, "modified"), |o| *o == Outcome::Stale, false),
        (
            Fault::Answer(422, "invalid"),
            |o| matches!(o, Outcome::Refused(c) if c.kind == CauseKind::ApiRefused),
            false,
        ),
        (Fault::Answer(403, "forbidden"), |o| matches!(o, Outcome::Refused(_)), false),
        (
            Fault::Answer(429, "slow down"),
            |o| matches!(o, Outcome::Retryable(c) if c.kind == CauseKind::ApiUnavailable),
            false,
        ),
        (Fault::Answer(503, "shutting down"), |o| matches!(o, Outcome::Retryable(_)), false),
        (Fault::Refused, |o| matches!(o, Outcome::Retryable(c) if c.detail.contains("refused")), false),
        (Fault::ReplyLost, |o| *o == Outcome::Unknown, true),
        (Fault::Silence, |o| *o == Outcome::Unknown, true),
    ];
    for (fault, expected, committed) in table {
        let fake = with_machine();
        fake.fail("PUT", "m1", fault.clone());
        let outcome = send(&fake, &status(&fake)).await;
        assert!(expected(&outcome), "{fault:?}: {outcome:?}");
        assert_eq!(fake.requests("PUT").len(), 1, "{fault:?}");
        assert_eq!(fake.get(MACHINES, "m1").unwrap()["status"].is_object(), committed, "{fault:?}");
    }
}

/// An API server that starts does not know all its roles yet.
#[tokio::test(start_paused = true)]
async fn what_was_allowed_a_moment_ago_is_tried_again() {
    let fake = with_machine();
    let api = fake.api();
    let send = async || write(&api, &status(&fake), Instant::now() + Duration::from_secs(15)).await;
    assert!(matches!(send().await, Outcome::Done(_)));
    for (passed, is_retried) in [(0, true), (59, true), (2, false)] {
        tokio::time::advance(Duration::from_secs(passed)).await;
        fake.fail("PUT", "m1", Fault::Answer(403, "forbidden"));
        let outcome = send().await;
        assert_eq!(matches!(outcome, Outcome::Retryable(_)), is_retried, "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_kept() {
    let fake = with_machine();
    fake.fail("PUT", "m1", Fault::Silence);
    let began = Instant::now();
    assert_eq!(send(&fake, &status(&fake)).await, Outcome::Unknown);
    assert_eq!(began.elapsed().as_secs(), 15);
    let late = write(&fake.api(), &status(&fake), Instant::now()).await;
    assert!(matches!(late, Outcome::Retryable(_)), "{late:?}");
    assert_eq!(fake.requests("PUT").len(), 1, "without time left nothing is sent");
}

fn secret(kind: &str, data: &Value) -> Value {
    json!({"metadata": {"name": "key"}, "type": kind, "data": data})
}

#[tokio::test(start_paused = true)]
async fn a_key_is_read_when_needed_and_soon_again() {
    let fake = Fake::default();
    let secrets = Secrets::new(fake.api());
    assert_eq!(secrets.private_key("key").await, Err(SecretError::Missing("key".into())));
    fake.put(SECRETS, secret("kubernetes.io/ssh-auth", &json!({"ssh-privatekey": "b25l"})));
    assert_eq!(secrets.private_key("key").await.unwrap(), b"one");
    fake.put(SECRETS, secret("kubernetes.io/ssh-auth", &json!({"ssh-privatekey": "dHdv"})));
    assert_eq!(secrets.private_key("key").await.unwrap(), b"one");
    assert_eq!(fake.requests(SECRETS).len(), 2);
    tokio::time::advance(Duration::from_secs(6)).await;
    let logins = futures::future::join_all((0..100).map(|_| secrets.private_key("key"))).await;
    assert!(logins.iter().all(|key| key.as_deref() == Ok(b"two")), "{logins:?}");
    assert_eq!(fake.requests(SECRETS).len(), 3, "a hundred logins at once read it once");
    tokio::time::advance(Duration::from_secs(6)).await;
    fake.fail("GET", "secrets", Fault::Refused);
    let logins = futures::future::join_all((0..100).map(|_| secrets.private_key("key"))).await;
    assert!(logins.iter().all(Result::is_err));
    assert_eq!(fake.requests(SECRETS).len(), 4, "all of them have the one failure");
}

/// Who began to read it has given up; its answer would be an old one.
#[tokio::test(start_paused = true)]
async fn a_key_that_nobody_waits_for_is_read_anew() {
    let fake = Fake::default();
    let secrets = Secrets::new(fake.api());
    fake.put(SECRETS, secret("kubernetes.io/ssh-auth", &json!({"ssh-privatekey": "b25l"})));
    fake.fail("GET", "secrets", Fault::Silence);
    let given_up = tokio::time::timeout(Duration::from_secs(1), secrets.private_key("key")).await;
    assert!(given_up.is_err());
    assert_eq!(secrets.private_key("key").await.unwrap(), b"one");
    assert_eq!(fake.requests(SECRETS).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_key_is_refused_without_repeating_it() {
    let fake = Fake::default();
    for (object, words) in [
        (secret("Opaque", &json!({"ssh-privatekey": "b25l"})), "type \"Opaque\""),
        (secret("kubernetes.io/ssh-auth", &json!({"other": "b25l"})), "no ssh-privatekey"),
        (secret("kubernetes.io/ssh-auth", &json!({"ssh-privatekey": "not base64!"})), "is not a Secret"),
    ] {
        fake.put(SECRETS, object);
        let error = Secrets::new(fake.api()).private_key("key").await.unwrap_err();
        assert!(matches!(error, SecretError::Invalid { .. }), "{error}");
        assert!(error.to_string().contains(words) && !error.to_string().contains("base64"), "{error}");
    }
    fake.fail("GET", "secrets", Fault::Refused);
    let error = Secrets::new(fake.api()).private_key("key").await.unwrap_err();
    assert!(matches!(error, SecretError::Unavailable { .. }), "{error}");
    let error = Secrets::new(fake.api()).private_key("../configmaps/x").await.unwrap_err();
    assert!(matches!(error, SecretError::Invalid { .. }), "{error}");
    assert_eq!(fake.requests("configmaps").len(), 0, "no path is made of a bad name");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_named_by_its_oldest_namespace() {
    let fake = Fake::default();
    assert!(cluster_id(&fake.api()).await.unwrap_err().is_not_found());
    fake.put("/api/v1/namespaces", json!({"metadata": {"name": "kube-system", "uid": "u-1"}}));
    assert_eq!(cluster_id(&fake.api()).await.unwrap(), "u-1");
}

/// The operator writes the status of an object between the read and the write of somebody at a terminal.
#[tokio::test(start_paused = true)]
async fn what_was_changed_since_it_was_read_is_not_replaced() {
    let fake = with_machine();
    let terminal = Terminal::new(fake.api(), "seaworthy/alice".to_owned());
    let read: Value = terminal.get(Kind::Machine, "m1").await.unwrap();
    fake.put(MACHINES, json!({"metadata": {"name": "m1"}, "spec": {"kept": true}, "status": {}}));
    let patch = || json!({"spec": {"kept": false}});
    let machine = (Kind::Machine, "m1");
    let stale = read["metadata"]["resourceVersion"].as_str().unwrap();
    assert!(!terminal.patch_unchanged(machine, stale, patch()).await.unwrap());
    let now = fake.get(MACHINES, "m1").unwrap();
    assert_eq!(now["spec"]["kept"], true);
    let version = now["metadata"]["resourceVersion"].as_str().unwrap();
    assert!(terminal.patch_unchanged(machine, version, patch()).await.unwrap());
    assert_eq!(fake.get(MACHINES, "m1").unwrap()["spec"]["kept"], false);
    terminal.patch_unchanged((Kind::Machine, "m2"), version, patch()).await.unwrap_err();
}
