//! The rules of the real API server, one by one.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::{
    ClusterPackageVersion, Lease, LeaseSpec, Machine, MachineComponent, Metadata, Resource,
};
use seaworthy_api::request::{FinalizersPatch, Precondition, Request, StatusUpdate};
use seaworthy_api::v1alpha1::{
    API_VERSION, Address, CanaryReleaseSpec, ClusterPackageVersionSpec, HOST_ANNOTATION, IntOrString,
    MachineComponentSpec, MachineSpec, MachineStatus, Ssh,
};
use seaworthy_kernel::{Draws, Seed, Timestamp};
use seaworthy_model::id::Kind;

use super::{ApiServer, ChangeKind, Preconditions, Refusal, Status, Written};
use crate::vocabulary::START;

fn server() -> ApiServer {
    ApiServer::new(Draws::new(Seed(1)))
}

fn machine(name: &str) -> Resource {
    Resource::Machine(Box::new(Machine {
        api_version: API_VERSION.into(),
        kind: "Machine".into(),
        metadata: Metadata::named(name),
        spec: Arc::new(MachineSpec {
            address: Address { ip: "10.0.0.1".into(), ..Address::default() },
            ssh: Ssh {
                port: 22,
                user: "root".into(),
                secret_name: "key".into(),
                host_keys: [].into(),
                host_key_policy: "TrustOnFirstUse".into(),
            },
            components: Vec::new(),
            parameters: Default::default(),
            node_labels: Default::default(),
            node_taints: Vec::new(),
            paused: false,
            retry: None,
        }),
        status: Some(MachineStatus { observed_generation: 99, ..MachineStatus::default() }),
    }))
}

fn created(server: &mut ApiServer, object: Resource) -> Written {
    server.create(object, START).unwrap()
}

fn pause(object: &mut Resource) {
    if let Resource::Machine(machine) = object {
        Arc::make_mut(&mut machine.spec).paused = true;
    }
}

fn hold(object: &mut Resource) {
    object.metadata_mut().finalizers = Arc::new(vec!["seaworthy.dev/in-use".into()]);
}

fn version(written: &Written) -> u64 {
    written.object.resource_version()
}

const M: (Kind, &str) = (Kind::Machine, "m");
const ANY: Preconditions = Preconditions { uid: None, resource_version: None };

#[test]
fn creation_gives_uid_version_and_generation_and_drops_the_status() {
    let mut server = server();
    let written = created(&mut server, machine("m"));
    let Resource::Machine(machine) = written.object.resource() else { panic!("not a Machine") };
    assert!(machine.metadata.uid.get().is_some());
    assert_eq!(machine.metadata.resource_version.get(), Some(server.revision()));
    assert_eq!(machine.metadata.generation, 1);
    assert_eq!(machine.metadata.creation_timestamp, Some("2026-01-01T00:00:00Z".into()));
    assert_eq!(machine.status, None);
    let again = server.create(written.object.resource(), START);
    assert_eq!(again.unwrap_err(), Refusal::AlreadyExists);
}

#[test]
fn a_name_used_again_is_another_incarnation() {
    let mut server = server();
    let first = created(&mut server, machine("m"));
    server.delete(M, ANY, START).unwrap();
    let second = created(&mut server, machine("m"));
    assert_ne!(first.object.uid(), second.object.uid());
    let stale = Preconditions { uid: Some(first.object.uid()), resource_version: None };
    assert!(matches!(server.delete(M, stale, START).unwrap_err(), Refusal::Conflict(_)));
}

#[test]
fn writes_of_an_old_version_conflict() {
    let mut server = server();
    let first = created(&mut server, machine("m"));
    let stale = first.object.preconditions();
    let second = server.update(M, stale, START, pause).unwrap();
    assert!(version(&second) > version(&first));
    assert!(matches!(server.update(M, stale, START, hold).unwrap_err(), Refusal::Conflict(_)));
    let missing = (Kind::Machine, "other");
    assert_eq!(server.update(missing, ANY, START, hold).unwrap_err(), Refusal::NotFound);
}

#[test]
fn only_a_changed_spec_raises_the_generation() {
    let mut server = server();
    created(&mut server, machine("m"));
    let labelled = server.update(M, ANY, START, |object| {
        object.metadata_mut().labels.insert("a".into(), "b".into());
    });
    assert_eq!(labelled.unwrap().object.resource().metadata().generation, 1);
    let status = Status::Machine(MachineStatus { observed_generation: 1, ..MachineStatus::default() });
    assert_eq!(
        server.update_status(M, ANY, START, status).unwrap().object.resource().metadata().generation,
        1
    );
    assert_eq!(server.update(M, ANY, START, pause).unwrap().object.resource().metadata().generation, 2);
}

#[test]
fn a_write_that_changes_nothing_is_no_write() {
    let mut server = server();
    created(&mut server, machine("m"));
    let paused = server.update(M, ANY, START, pause).unwrap();
    let again = server.update(M, ANY, START, pause).unwrap();
    assert!(!again.committed);
    assert_eq!(version(&again), version(&paused));
    let status = || Status::Machine(MachineStatus { observed_generation: 2, ..MachineStatus::default() });
    assert!(server.update_status(M, ANY, START, status()).unwrap().committed);
    assert!(!server.update_status(M, ANY, START, status()).unwrap().committed);
}

#[test]
fn spec_and_status_are_written_apart() {
    let mut server = server();
    created(&mut server, machine("m"));
    let status = Status::Machine(MachineStatus { observed_generation: 1, ..MachineStatus::default() });
    server.update_status(M, ANY, START, status).unwrap();
    let written = server.update(M, ANY, START, |object| {
        pause(object);
        if let Resource::Machine(machine) = object {
            machine.status = None;
            machine.metadata.generation = 77;
            machine.metadata.uid = "other".into();
        }
    });
    let Resource::Machine(machine) = written.unwrap().object.resource() else { panic!("not a Machine") };
    assert_eq!(machine.status.as_ref().unwrap().observed_generation, 1, "an update leaves the status alone");
    assert_eq!(machine.metadata.generation, 2, "and what only the API server writes");
    assert!(machine.metadata.uid.get().is_some());
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_removed() {
    let mut server = server();
    created(&mut server, machine("m"));
    server.update(M, ANY, START, hold).unwrap();
    let deleted = server.delete(M, ANY, START).unwrap();
    assert!(!deleted.removed);
    assert_eq!(deleted.object.resource().metadata().generation, 2, "as the real one counts");
    assert!(!server.delete(M, ANY, START).unwrap().committed, "a second deletion changes nothing");
    let added = server.update(M, ANY, START, |object| {
        Arc::make_mut(&mut object.metadata_mut().finalizers).push("example.com/more".into());
    });
    assert!(matches!(added.unwrap_err(), Refusal::Invalid(_)), "no new finalizer once terminating");
    let released =
        server.update(M, ANY, START, |object| object.metadata_mut().finalizers = Arc::default()).unwrap();
    assert!(released.removed);
    assert!(server.get(Kind::Machine, "m").is_none());
}

#[test]
fn a_watch_hears_of_a_deletion_with_the_state_that_was_stored_last() {
    let mut server = server();
    created(&mut server, machine("m"));
    server.update(M, ANY, START, hold).unwrap();
    let marked = server.delete(M, ANY, START).unwrap();
    let cursor = server.collection(Kind::Machine).cursor();
    let released =
        server.update(M, ANY, START, |object| object.metadata_mut().finalizers = Arc::default()).unwrap();
    assert_eq!(version(&released), version(&marked), "the answer has the version of before");
    assert!(released.object.resource().metadata().finalizers.is_empty());
    let heard: Vec<_> = server.collection(Kind::Machine).since(cursor, START).unwrap().collect();
    let [gone] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((gone.kind, gone.revision), (ChangeKind::Deleted, server.revision()));
    assert_eq!(gone.object.resource().metadata().resource_version.get(), Some(server.revision()));
    assert_eq!(
        **gone.object.resource().metadata().finalizers,
        ["seaworthy.dev/in-use"],
        "its last finalizer among it"
    );
}

#[test]
fn a_version_is_immutable_and_named_by_its_contents() {
    let mut server = server();
    let object = |name: &str| {
        Resource::MachineComponent(Box::new(MachineComponent {
            metadata: Metadata::named(name),
            spec: MachineComponentSpec {
                component: "webd".into(),
                version: "1.0.0".into(),
                ..empty_component().spec
            },
            ..empty_component()
        }))
    };
    assert!(matches!(server.create(object("other"), START).unwrap_err(), Refusal::Invalid(_)));
    created(&mut server, object("webd-1.0.0"));
    let changed = server.update((Kind::MachineComponent, "webd-1.0.0"), ANY, START, |object| {
        if let Resource::MachineComponent(version) = object {
            version.spec.rollback = "Unsafe".into();
        }
    });
    assert!(matches!(changed.unwrap_err(), Refusal::Invalid(_)));
}

#[test]
fn what_a_canary_picks_is_immutable() {
    let mut server = server();
    let text = r#"{"metadata":{"name":"first"},"spec":{"pick":{"count":2}}}"#;
    created(&mut server, Resource::CanaryRelease(Box::new(serde_json::from_str(text).unwrap())));
    let mut update = |change: fn(&mut CanaryReleaseSpec)| {
        let key = (Kind::CanaryRelease, "first");
        server.update(key, ANY, START, |object| {
            if let Resource::CanaryRelease(canary) = object {
                change(&mut canary.spec);
            }
        })
    };
    assert!(matches!(update(|spec| spec.pick.count = 3).unwrap_err(), Refusal::Invalid(_)));
    let labels = |spec: &mut CanaryReleaseSpec| {
        spec.selector.match_labels.insert("pool".into(), "blue".into());
    };
    assert!(matches!(update(labels).unwrap_err(), Refusal::Invalid(_)));
    assert!(update(|spec| spec.aborted = true).is_ok());
}

fn empty_component() -> MachineComponent {
    let text = r#"{"metadata":{"name":""},"spec":{"component":"","version":"","artefacts":[]}}"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_fleet_has_one_name() {
    let spec: ClusterPackageVersionSpec = serde_json::from_str("{}").unwrap();
    assert_eq!(spec.max_unavailable, IntOrString::Int(1));
    let object = |name: &str| {
        Resource::ClusterPackageVersion(Box::new(ClusterPackageVersion {
            api_version: API_VERSION.into(),
            kind: "ClusterPackageVersion".into(),
            metadata: Metadata::named(name),
            spec: spec.clone(),
            status: None,
        }))
    };
    assert!(matches!(server().create(object("other"), START).unwrap_err(), Refusal::Invalid(_)));
    assert!(server().create(object("default"), START).is_ok());
}

#[test]
fn requests_of_an_operator_state_what_they_rely_on() {
    let mut server = server();
    let written = created(&mut server, machine("m"));
    let precondition = |written: &Written| Precondition {
        name: "m".into(),
        uid: written.object.uid().into(),
        resource_version: written.object.resource_version().into(),
    };
    let finalizers = vec!["seaworthy.dev/in-use".to_owned()];
    let host = Some("a host".to_owned());
    let patch =
        FinalizersPatch { kind: Kind::Machine, precondition: precondition(&written), finalizers, host };
    let held = server.execute(Request::PatchFinalizers(patch.clone()), START).unwrap();
    let shown = held.object.shown();
    assert_eq!(shown.metadata().annotations.get(HOST_ANNOTATION).map(String::as_str), Some("a host"));
    let repeated = server.execute(Request::PatchFinalizers(patch), START);
    assert!(matches!(repeated.unwrap_err(), Refusal::Conflict(_)), "the same request again is out of date");
    let status = MachineStatus { observed_generation: 1, ..MachineStatus::default() };
    let metadata = precondition(&held);
    let status = Status::Machine(status);
    let update = StatusUpdate { api_version: API_VERSION, kind: Kind::Machine, metadata, status };
    assert!(server.execute(Request::PutStatus(update), START).unwrap().committed);
    let lease = Lease {
        metadata: Metadata::named("seaworthy"),
        spec: LeaseSpec {
            holder_identity: Some("a".into()),
            lease_transitions: Some(1),
            ..LeaseSpec::default()
        },
        ..Lease::default()
    };
    assert!(server.execute(Request::CreateLease(lease.clone()), START).is_ok());
    assert_eq!(server.execute(Request::CreateLease(lease), START).unwrap_err(), Refusal::AlreadyExists);
}

#[test]
fn a_watch_sees_every_change_after_its_list_in_order() {
    let mut server = server();
    created(&mut server, machine("a"));
    let cursor = server.collection(Kind::Machine).cursor();
    created(&mut server, machine("b"));
    server.update((Kind::Machine, "b"), ANY, START, pause).unwrap();
    server.delete((Kind::Machine, "a"), ANY, START).unwrap();
    let seen: Vec<(ChangeKind, String)> = server
        .collection(Kind::Machine)
        .since(cursor, START)
        .unwrap()
        .map(|change| (change.kind, change.object.name().to_string()))
        .collect();
    let expected =
        [(ChangeKind::Added, "b"), (ChangeKind::Modified, "b"), (ChangeKind::Deleted, "a")].map(named);
    assert_eq!(seen, expected);
    let revisions: Vec<u64> = server
        .collection(Kind::Machine)
        .since(cursor, START)
        .unwrap()
        .map(|change| change.revision)
        .collect();
    assert!(revisions.is_sorted(), "{revisions:?}");
    assert_eq!(server.collection(Kind::Node).since(Default::default(), START).unwrap().count(), 0);
}

fn named((kind, name): (ChangeKind, &str)) -> (ChangeKind, String) {
    (kind, name.to_owned())
}

#[test]
fn what_was_compacted_is_gone_for_watches_but_not_for_lists() {
    let mut server = server();
    created(&mut server, machine("a"));
    let cursor = server.collection(Kind::Machine).cursor();
    server.update((Kind::Machine, "a"), ANY, START, pause).unwrap();
    let later: Timestamp = START + Duration::from_secs(301);
    assert!(server.collection(Kind::Machine).since(cursor, START).is_ok());
    assert!(server.collection(Kind::Machine).since(cursor, later).is_err());
    server.create(machine("b"), later).unwrap();
    assert!(server.collection(Kind::Machine).since(cursor, later).is_err());
    assert_eq!(server.collection(Kind::Machine).objects().len(), 2);
    let fresh = server.collection(Kind::Machine).cursor();
    assert_eq!(server.collection(Kind::Machine).since(fresh, later).unwrap().count(), 0);
}
