//! Tests of the desired state, now and until lately.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::{ClusterPackageVersion, Machine, Resource};
use seaworthy_kernel::{Draws, Seed};

use super::*;
use crate::vocabulary::START;
use crate::world::api_server::Stored;

fn at(seconds: u64) -> Timestamp {
    START + Duration::from_secs(seconds)
}

fn fleet(version: &str, paused: bool) -> Arc<Stored> {
    let text = format!(
        r#"{{"metadata":{{"name":"default","uid":"00000000-0000-0000-0000-000000000001"}},"spec":{{"paused":{paused},
            "components":[{{"name":"webd","state":"Present","version":"{version}"}}]}}}}"#
    );
    let fleet: ClusterPackageVersion = serde_json::from_str(&text).unwrap();
    Arc::new(Resource::ClusterPackageVersion(Box::new(fleet)).into())
}

fn machine(spec: &str) -> Arc<Stored> {
    let text = format!(
        r#"{{"metadata":{{"name":"m-00000","uid":"00000000-0000-0000-0000-000000000002"}},
            "spec":{{"address":{{"ip":"10.0.0.1"}},"ssh":{{"secretName":"s"}}{spec}}}}}"#
    );
    let machine: Machine = serde_json::from_str(&text).unwrap();
    Arc::new(Resource::Machine(Box::new(machine)).into())
}

fn written(before: Option<&Arc<Stored>>, after: &Arc<Stored>) -> Written {
    Written { object: Arc::clone(after), before: before.cloned(), committed: true, removed: false }
}

/// An API server whose defaults name this version.
fn store(version: &str) -> ApiServer {
    let mut api = ApiServer::new(Draws::new(Seed(1)));
    api.create(fleet(version, false).resource(), START).unwrap();
    api
}

const fn back<'a>(from: &'a str, to: &'a str) -> Step<'a> {
    Step { machine: Some("m-00000"), component: "webd", from, to }
}

#[test]
fn a_lower_version_needs_a_wish() {
    let wishes = Wishes::new(1);
    let (down, up) = (back("webd-1.10.0", "webd-1.9.0"), back("webd-1.9.0", "webd-1.10.0"));
    assert!(wishes.objection(&down, &store("1.10.0"), START).is_some());
    assert_eq!(wishes.objection(&up, &store("1.9.0"), START), None);
    assert_eq!(wishes.objection(&down, &store("1.9.0"), START), None);
    let nightly = back("webd-nightly", "webd-1.0.0");
    assert_eq!(wishes.objection(&nightly, &store("nightly"), START), None, "versions without an order");
}

#[test]
fn a_wish_counts_until_the_operator_can_know_better() {
    let mut wishes = Wishes::new(1);
    wishes.package_version_written(&written(Some(&fleet("1.0.0", false)), &fleet("1.1.0", false)), at(100));
    let step = back("webd-1.1.0", "webd-1.0.0");
    assert_eq!(wishes.objection(&step, &store("1.1.0"), at(100)), None);
    assert!(wishes.objection(&step, &store("1.1.0"), at(101)).is_some());
}

#[test]
fn a_default_counts_until_the_operator_can_know_of_a_pin() {
    let mut wishes = Wishes::new(1);
    let pinned = machine(r#","components":[{"name":"webd","state":"Present","version":"1.1.0"}]"#);
    let mut api = store("1.0.0");
    api.create(pinned.resource(), START).unwrap();
    wishes.machine_written(&written(Some(&machine("")), &pinned), at(100));
    let step = back("webd-1.1.0", "webd-1.0.0");
    assert_eq!(wishes.objection(&step, &api, at(100)), None);
    assert!(wishes.objection(&step, &api, at(101)).is_some());
}

#[test]
fn a_pause_begins_with_the_first_word_and_ends_with_the_last() {
    let mut wishes = Wishes::new(1);
    let (runs, paused) = (machine(""), machine(r#","paused":true"#));
    let uid = runs.uid();
    wishes.machine_written(&written(None, &runs), at(1));
    assert_eq!(wishes.paused_since(uid), None);
    wishes.machine_written(&written(Some(&runs), &paused), at(2));
    wishes.package_version_written(&written(None, &fleet("1.0.0", true)), at(3));
    assert_eq!(wishes.paused_since(uid), Some(at(2)));
    wishes.machine_written(&written(Some(&paused), &runs), at(4));
    assert_eq!(wishes.paused_since(uid), Some(at(3)));
    wishes.package_version_written(&written(Some(&fleet("1.0.0", true)), &fleet("1.0.0", false)), at(5));
    assert_eq!(wishes.paused_since(uid), None);
}

#[test]
fn changes_of_wish_are_counted_by_component() {
    let mut wishes = Wishes::new(1);
    wishes.package_version_written(&written(None, &fleet("1.0.0", false)), at(0));
    let pinned = machine(r#","components":[{"name":"dnsd","state":"Present","version":"2"}]"#);
    wishes.machine_written(&written(None, &machine("")), at(1));
    assert_eq!(wishes.changes(0), 2, "a default, and a Machine that wishes for it");
    wishes.machine_written(&written(Some(&machine("")), &pinned), at(2));
    wishes.package_version_written(&written(Some(&fleet("1.0.0", false)), &fleet("1.1.0", false)), at(3));
    assert_eq!(wishes.changes(0), 4);
    wishes.machine_written(&written(Some(&pinned), &pinned), at(4));
    assert_eq!(wishes.changes(0), 4, "a status changes no wish");
}

/// A component that the defaults no longer name stays; it is removed with the Machine.
#[test]
fn what_is_not_mentioned_any_more_goes_with_the_machine() {
    let mut wishes = Wishes::new(1);
    let mentions = |components: &str| -> Arc<Stored> {
        let text = format!(r#"{{"metadata":{{"name":"default"}},"spec":{{"components":[{components}]}}}}"#);
        let fleet: ClusterPackageVersion = serde_json::from_str(&text).unwrap();
        Arc::new(Resource::ClusterPackageVersion(Box::new(fleet)).into())
    };
    let (webd, nothing) = (mentions(r#"{"name":"webd","state":"Present","version":"1.0.0"}"#), mentions(""));
    wishes.package_version_written(&written(None, &webd), at(0));
    wishes.machine_written(&written(None, &machine("")), at(1));
    wishes.package_version_written(&written(Some(&webd), &nothing), at(2));
    let before = wishes.changes(0);
    let text = r#"{"metadata":{"name":"m-00000","deletionTimestamp":"2026-01-01T00:00:00Z"},
        "spec":{"address":{"ip":"10.0.0.1"},"ssh":{"secretName":"s"}}}"#;
    let leaving: Machine = serde_json::from_str(text).unwrap();
    let leaving = Arc::new(Resource::Machine(Box::new(leaving)).into());
    wishes.machine_written(&written(Some(&machine("")), &leaving), at(3));
    assert_eq!(wishes.changes(0), before + 1);
}
