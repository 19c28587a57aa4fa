//! The scripts by which Argo CD judges the health of our objects, run in its Lua on objects as the operator writes them.

use std::collections::BTreeMap;

use mlua::{Lua, LuaSerdeExt as _, Table};
use seaworthy_api::names::Names;
use seaworthy_api::render;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{VersionCondition, VersionConditionKind, VersionReason, VersionStatus};
use seaworthy_model::id::Kind;
use seaworthy_model::machine::{Condition, ConditionKind, MachineStatus, Reason, Truth};
use seaworthy_model::package_version::{
    FleetCondition, FleetConditionKind, FleetReason, PackageVersionStatus,
};
use seaworthy_model::time::Timestamp;
use serde_json::{Value, json};

/// What Argo CD says of an object of this kind: the health and the message.
fn health(kind: &str, object: &Value) -> (String, String) {
    #[derive(serde::Deserialize)]
    struct ConfigMap {
        data: BTreeMap<String, String>,
    }
    let file = include_str!("../../../../deploy/argocd/argocd-cm.yaml");
    let map: ConfigMap = serde_saphyr::from_str(file).unwrap();
    let script = &map.data[&format!("resource.customizations.health.seaworthy.dev_{kind}")];
    let lua = Lua::new();
    lua.globals().set("obj", lua.to_value(object).unwrap()).unwrap();
    let told: Table = lua.load(script.as_str()).eval().unwrap();
    let text = |key: &str| told.get::<Option<String>>(key).unwrap().unwrap_or_default();
    (text("status"), text("message"))
}

/// Argo CD takes an object of a kind without a script for healthy.
#[test]
fn every_kind_of_ours_has_a_script() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_ours()) {
        let (told, _) = health(kind.name(), &json!({ "metadata": { "generation": 1 } }));
        assert_eq!(told, "Progressing", "{}", kind.name());
    }
}

fn condition(kind: ConditionKind, truth: Truth, reason: Reason) -> Condition {
    Condition { kind, truth, reason, detail: None, since: Timestamp::from_millis(0), observed_generation: 2 }
}

fn machine(conditions: impl IntoIterator<Item = Condition>, generation: u64) -> Value {
    let conditions = conditions.into_iter().collect();
    let status = MachineStatus { observed_generation: 2, conditions, ..MachineStatus::default() };
    let status = render::machine_status(&status, &mut Names::new()).unwrap();
    json!({"metadata": {"name": "m", "generation": generation}, "status": status})
}

fn of_machine(truth: Truth, reason: Reason) -> (String, String) {
    health("Machine", &machine([condition(ConditionKind::Ready, truth, reason)], 2))
}

#[test]
fn a_machine_is_as_healthy_as_its_conditions() {
    assert_eq!(of_machine(Truth::True, Reason::AsDesired).0, "Healthy");
    assert_eq!(of_machine(Truth::False, Reason::Drifted).0, "Progressing");
    let (status, message) = of_machine(Truth::False, Reason::Cause(CauseKind::ProbeFailed));
    assert_eq!(status, "Degraded");
    assert!(message.starts_with("ProbeFailed: the new release did not become healthy"), "{message}");
    assert_eq!(health("Machine", &json!({"metadata": {"generation": 1}})).0, "Progressing");
    let ready = || condition(ConditionKind::Ready, Truth::True, Reason::AsDesired);
    assert_eq!(
        health("Machine", &machine([ready()], 3)).0,
        "Progressing",
        "a generation that was not seen yet"
    );
    let paused = condition(ConditionKind::Paused, Truth::True, Reason::Paused);
    assert_eq!(health("Machine", &machine([ready(), paused], 2)).0, "Suspended");
    let mut leaving = machine([ready()], 2);
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(health("Machine", &leaving).0, "Progressing");
}

/// No reason is forgotten: whatever keeps a machine from being ready, it is not called healthy.
#[test]
fn only_a_ready_machine_is_healthy() {
    let causes = CauseKind::ALL.into_iter().map(Reason::Cause);
    for reason in Reason::OWN.into_iter().chain(causes) {
        let told = of_machine(Truth::False, reason).0;
        assert!(["Progressing", "Degraded"].contains(&told.as_str()), "{reason:?}: {told}");
    }
}

#[test]
fn the_fleet_is_as_healthy_as_its_rollouts() {
    let expected = |reason| match reason {
        FleetReason::AllUpdated
        | FleetReason::MachinesLeftOut
        | FleetReason::Promoted
        | FleetReason::Aborted => "Healthy",
        FleetReason::Paused | FleetReason::PolicyPaused => "Suspended",
        FleetReason::RollingOut
        | FleetReason::Baking
        | FleetReason::GateInconclusive
        | FleetReason::Frozen
        | FleetReason::OutsideWindow
        | FleetReason::Superseding
        | FleetReason::Overlap
        | FleetReason::Terminating => "Progressing",
        FleetReason::ArtefactUnavailable
        | FleetReason::GateFailed
        | FleetReason::RolledBack
        | FleetReason::TooManyFailures
        | FleetReason::TooManyLost
        | FleetReason::NoMachines
        | FleetReason::ConfirmationNeeded
        | FleetReason::TooManyUnavailable
        | FleetReason::TooDisruptive
        | FleetReason::RollbackUnsafe
        | FleetReason::SetEmptied
        | FleetReason::TooManyUndrained
        | FleetReason::InvalidSpec
        | FleetReason::PolicyInvalid
        | FleetReason::UnknownVersion
        | FleetReason::VersionSkew
        | FleetReason::StoreRegressed => "Degraded",
    };
    for reason in FleetReason::ALL {
        let moves = matches!(
            reason,
            FleetReason::AllUpdated
                | FleetReason::MachinesLeftOut
                | FleetReason::Promoted
                | FleetReason::Aborted
                | FleetReason::RollingOut
                | FleetReason::Baking
        );
        let condition = FleetCondition {
            kind: FleetConditionKind::Progressing,
            truth: if moves { Truth::True } else { Truth::False },
            reason,
            detail: None,
            since: Timestamp::from_millis(0),
            observed_generation: 2,
        };
        let conditions = vec![condition];
        let status =
            PackageVersionStatus { observed_generation: 2, conditions, ..PackageVersionStatus::default() };
        let status = render::package_version_status(&status, &Names::new()).unwrap();
        let object = json!({"metadata": {"name": "default", "generation": 2}, "status": status});
        assert_eq!(health("ClusterPackageVersion", &object).0, expected(reason), "{reason:?}");
    }
}

fn component(accepted: (Truth, VersionReason), in_use: (Truth, VersionReason)) -> Value {
    let kinds = VersionConditionKind::ALL.into_iter().zip([accepted, in_use]);
    let conditions = kinds.map(|(kind, (truth, reason))| VersionCondition {
        kind,
        truth,
        reason,
        detail: None,
        since: Timestamp::from_millis(1_795_162_200_000),
        observed_generation: 1,
    });
    let status = VersionStatus { observed_generation: 1, conditions: conditions.collect() };
    json!({"metadata": {"generation": 1}, "status": render::version_status(&status)})
}

#[test]
fn a_component_is_as_healthy_as_its_spec() {
    let (accepted, unused) =
        ((Truth::True, VersionReason::Accepted), (Truth::False, VersionReason::NotInUse));
    assert_eq!(health("MachineComponent", &component(accepted, unused)).0, "Healthy");
    let refused = (Truth::False, VersionReason::InvalidSpec);
    let (status, message) = health("MachineComponent", &component(refused, unused));
    assert_eq!(status, "Degraded");
    assert!(message.starts_with("InvalidSpec: the spec is not acceptable"), "{message}");
    let mut leaving = component(accepted, (Truth::True, VersionReason::Machines));
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let (status, message) = health("MachineComponent", &leaving);
    assert_eq!(status, "Progressing");
    assert!(message.contains("some machines had it"), "{message}");
}

/// As the API server shows it, before the operator has written anything.
#[test]
fn what_was_not_looked_at_yet_is_on_its_way() {
    for kind in [Kind::Machine, Kind::MachineComponent, Kind::ClusterPackageVersion] {
        let status = render::default_status(kind).unwrap();
        for generation in [0, 1] {
            let object = json!({"metadata": {"generation": generation}, "status": status});
            assert_eq!(health(kind.name(), &object).0, "Progressing", "{kind:?}");
        }
    }
}
