//! Tests of the oracle's invariants: each reports a breach, and accepts what only looks like one.

use std::time::Duration;

use seaworthy_api::object::{ClusterPackageVersion, Resource};
use seaworthy_kernel::{Draws, Seed};
use seaworthy_model::component::Rollback;
use seaworthy_model::config::Config;
use seaworthy_model::host::{HostFence, OperationId};

use super::*;
use crate::vocabulary::START;
use crate::world::host::{Command, ComponentNumber, Install, Order, ReleaseNumber, VersionNumber};

fn at(seconds: u64) -> Timestamp {
    START + Duration::from_secs(seconds)
}

/// An API server with a `ClusterPackageVersion` that an oracle over four hosts has seen.
fn judged(version: &str, paused: bool) -> (Oracle, ApiServer) {
    let text = format!(
        r#"{{"metadata":{{"name":"default"}},"spec":{{"paused":{paused},"maxUnavailable":4,
            "components":[{{"name":"webd","state":"Present","version":"{version}"}}]}}}}"#
    );
    let fleet: ClusterPackageVersion = serde_json::from_str(&text).unwrap();
    let mut api = ApiServer::new(Draws::new(Seed(1)));
    let mut oracle = Oracle::new(4, true);
    let written = api.create(Resource::ClusterPackageVersion(Box::new(fleet)), START).unwrap();
    oracle.committed(&written, &[], START);
    (oracle, api)
}

fn work(version: u32, sequence: u64) -> Work {
    Work {
        id: OperationId { epoch: Epoch(1), sequence },
        generation: 1,
        component: ComponentNumber(0),
        change: Change::Install(Install {
            version: VersionNumber(version),
            release: ReleaseNumber(version),
            has_preflight: false,
            has_removal: false,
            reboots: false,
            service: None,
            less_than_restart: None,
            confirm: 0,
            rollback: Rollback::Safe,
            probe: 0,
            probe_deadline: 0,
        }),
    }
}

fn begin(oracle: &mut Oracle, api: &ApiServer, work: Work, step: Option<(&str, &str)>, now: Timestamp) {
    let fence = HostFence { machine: Uid(7), epoch: Epoch(1), sequence: work.id.sequence };
    let order = Order { fence, command: Command::Apply(work) };
    let began = Began { host: 0, order, component: "webd", sent: now, touches: true, is_spared: false, step };
    oracle.began(&began, api, now);
}

fn end(oracle: &mut Oracle, api: &ApiServer, work: &Work, now: Timestamp) {
    oracle.ended(&Over { host: 0, work, ended: Ended::Succeeded, component: "webd" }, api, now);
}

fn broken(oracle: &Oracle) -> Vec<&'static str> {
    oracle.violations().iter().map(|violation| violation.invariant).collect()
}

#[test]
fn a_start_after_a_pause_is_found_once_the_pause_can_be_known() {
    let (mut oracle, api) = judged("1.0.0", true);
    begin(&mut oracle, &api, work(1, 1), None, at(1));
    assert!(broken(&oracle).is_empty());
    end(&mut oracle, &api, &work(1, 1), at(2));
    begin(&mut oracle, &api, work(1, 2), None, at(60));
    assert_eq!(broken(&oracle), ["pause"]);
}

#[test]
fn a_step_back_that_nobody_asked_for_is_found() {
    for (wanted, expected) in [("1.0.0", &[][..]), ("1.1.0", &["versionOrder"][..])] {
        let (mut oracle, api) = judged(wanted, false);
        let written = api.get(Kind::ClusterPackageVersion, "default").unwrap();
        assert_eq!(written.package_version().unwrap().spec.components.len(), 1);
        // The oracle does not know the name of this order's machine, so it does not know its recent pins either.
        oracle.machines.insert(Uid(7), "m-00000".into());
        begin(&mut oracle, &api, work(1, 1), Some(("webd-1.1.0", "webd-1.0.0")), at(1000));
        assert_eq!(broken(&oracle), expected, "{wanted}");
    }
}

#[test]
fn a_host_that_goes_to_and_fro_for_no_wish_is_found() {
    let (mut oracle, api) = judged("1.0.0", false);
    for (sequence, version) in (1..).zip([1, 2, 1, 2]) {
        let work = work(version, sequence);
        begin(&mut oracle, &api, work, None, at(sequence * 10));
        end(&mut oracle, &api, &work, at(sequence * 10 + 5));
    }
    assert_eq!(broken(&oracle), ["oscillation"]);
    oracle.account(at(100));
    assert_eq!(broken(&oracle), ["oscillation", "effects"]);
}

#[test]
fn what_is_accounted_for_is_no_matter() {
    let (mut oracle, api) = judged("1.0.0", false);
    begin(&mut oracle, &api, work(1, 1), None, at(10));
    end(&mut oracle, &api, &work(1, 1), at(20));
    oracle.spoiled(0);
    begin(&mut oracle, &api, work(1, 2), None, at(30));
    end(&mut oracle, &api, &work(1, 2), at(40));
    oracle.account(at(50));
    assert!(broken(&oracle).is_empty(), "{:?}", oracle.violations());
}

#[test]
fn a_queue_longer_than_what_there_is_is_found() {
    let config = Config { subjects_per_turn_max: 0, ..Config::default() };
    let mut engine = Engine::new(config, Seed(1));
    let turn = engine.reconcile(START);
    let (mut oracle, _) = judged("1.0.0", false);
    oracle.turned(0, (&engine, 1), &turn, START);
    assert!(broken(&oracle).is_empty());
    oracle.turned(0, (&engine, 0), &turn, START);
    assert_eq!(broken(&oracle), ["queueLength"]);
}
