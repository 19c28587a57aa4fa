//! Strategies with faults: each is found, with the path of its field and words for a person.

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::{manifest, parse};
use serde_json::{Value, json};

/// The faults of a `ClusterPackageVersion` with this strategy.
fn faults(strategy: &Value) -> Vec<(String, String)> {
    let object = json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": "ClusterPackageVersion",
        "metadata": { "name": "default", "uid": "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0", "resourceVersion": "7" },
        "spec": { "strategy": strategy },
    });
    let resource: Resource = manifest::read(&object).unwrap();
    let unread = |_: &str| Err(String::new());
    let observed = parse::observed(&resource, &mut Names::new(), unread).unwrap().unwrap();
    observed.spec_errors().into_iter().map(|error| (error.field, error.message)).collect()
}

#[test]
fn each_fault_is_found() {
    let disruption = |value: Value| json!({ "disruption": value });
    let table = [
        (json!({ "onFailure": "Panic" }), "onFailure", "must be Pause or RollBack"),
        (
            disruption(json!({ "atMost": "Some" })),
            "disruption.atMost",
            "must be None, Reload, Restart, Drain or Reboot",
        ),
        (
            disruption(json!({ "undrainable": "Leave" })),
            "disruption.undrainable",
            "must be Wait, Skip or Force",
        ),
        (
            disruption(json!({ "undrainable": "Force" })),
            "disruption.forceAfter",
            "is required for undrainable: Force, such as 1h",
        ),
        (
            disruption(json!({ "forceAfter": "1h" })),
            "disruption.forceAfter",
            "is only for undrainable: Force",
        ),
        (
            disruption(json!({ "undrainable": "Wait", "skipAtMost": 3 })),
            "disruption.skipAtMost",
            "is only for undrainable: Skip",
        ),
    ];
    for (strategy, field, message) in table {
        let expected = [(format!("spec.strategy.{field}"), String::from(message))];
        assert_eq!(faults(&strategy), expected, "{strategy}");
    }
}
