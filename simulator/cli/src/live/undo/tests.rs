use seaworthy_api::object::ClusterPackageVersion;
use serde_json::json;

use super::*;

fn fleet() -> Subject {
    let want =
        |version: &str| json!({ "state": "Present", "version": version, "parameters": { "level": version } });
    let fleet: ClusterPackageVersion = serde_json::from_value(json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "ClusterPackageVersion",
        "metadata": { "name": "default", "uid": "5f0c2d1e-8a3b-4c6d-9e7f-000000000001" },
        "spec": { "components": [{ "name": "dnsd", "version": "3.0.0" }, { "name": "webd", "version": "2.0.0" }] },
        "status": {
            "rollouts": [{
                "component": "webd", "generation": 7, "admittedBelow": 5, "startedAt": "2026-11-26T08:00:00Z",
                "from": want("1.1.0"), "to": want("2.0.0"),
            }],
            "history": [{
                "component": "webd", "generation": 3, "end": "Completed", "to": want("1.0.0"),
                "startedAt": "2026-11-20T08:00:00Z", "replacedAt": "2026-11-21T08:00:00Z",
            }, {
                "component": "webd", "generation": 4, "end": "RolledBack", "to": want("0.9.0"),
                "startedAt": "2026-11-21T08:00:00Z", "replacedAt": "2026-11-22T08:00:00Z",
            }],
        },
    }))
    .unwrap();
    Subject::from(fleet)
}

#[test]
fn a_component_goes_back_to_what_worked_before_and_the_others_stay() {
    let (settings, target) = undone(&fleet(), "webd", None).unwrap();
    assert_eq!(target.version.as_deref(), Some("1.1.0"));
    let versions: Vec<_> = settings.iter().map(|setting| setting.version.as_deref().unwrap()).collect();
    assert_eq!(versions, ["3.0.0", "1.1.0"]);
    assert_eq!(settings[1].parameters["level"], "1.1.0");
}

#[test]
fn a_version_of_the_history_can_be_named_if_it_was_rolled_out_completely() {
    let (_, target) = undone(&fleet(), "webd", Some("1.0.0")).unwrap();
    assert_eq!(target.version.as_deref(), Some("1.0.0"));
    for (component, to, said) in [
        ("webd", Some("0.9.0"), "never rolled out completely"),
        ("dnsd", None, "nothing that dnsd could go back to"),
        ("sshd", None, "those are: dnsd, webd"),
    ] {
        let Problem(problem) = undone(&fleet(), component, to).unwrap_err();
        assert!(problem.contains(said), "{problem}");
    }
}
