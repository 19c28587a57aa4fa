//! A scenario file with a mistake in it: the answer names the file, the line or field, and what is wrong.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use seaworthy_fleet::Scenario;

const GOOD: &str = "\
name: small
goal: To be read.
fleet:
  machines: 3
  zones: 3
manifests:
  - apiVersion: seaworthy.dev/v1alpha1
    kind: ClusterPackageVersion
    metadata:
      name: default
    spec:
      maxUnavailable: 10%
timeline:
  - at: 10m
    edit:
      - machines: [2]
        paused: true
faults:
  - hostDown: {hosts: [2], at: [5m], lasting: [1m, 2m]}
  - zoneDown: {zone: 2, at: 5m}
quiet:
  after: 1h
";

fn problem(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    Scenario::read("small.yaml", &GOOD.replace(from, to)).unwrap_err().to_string()
}

#[test]
fn a_good_file_is_read() {
    let scenario = Scenario::read("small.yaml", GOOD).unwrap();
    assert_eq!((scenario.fleet.machines, scenario.manifests.len(), scenario.faults.len()), (3, 1, 2));
}

#[test]
fn problems_name_the_file_the_place_and_the_remedy() {
    let table: &[(&str, &str, &[&str])] = &[
        ("machines: 3", "machines: many", &["small.yaml", "4:"]),
        ("machines: 3", "machines: 0", &["small.yaml", "fleet.machines", "must be 1 to"]),
        ("goal: To be read.", "gaol: To be read.", &["small.yaml", "gaol", "2:"]),
        ("after: 1h", "after: 1 hour", &["small.yaml", "a length of time", "22:"]),
        ("hostDown", "hostdown", &["small.yaml", "hostdown", "hostDown"]),
        ("lasting: [1m, 2m]", "lasting: [2m, 1m]", &["small.yaml", "must not be shorter"]),
        ("hosts: [2]", "hosts: [3]", &["small.yaml", "faults[0].host_down", "no host 3"]),
        ("zone: 2", "zone: 3", &["small.yaml", "faults[1].zone_down", "no zone 3"]),
        ("machines: [2]", "machines: [3]", &["small.yaml", "timeline[0].edit[0].machines", "no machine 3"]),
        ("at: 10m", "at: 2h", &["small.yaml", "timeline[0].at", "later than quiet.after"]),
        ("maxUnavailable: 10%", "maxUnavailable: 110%", &["small.yaml", "manifests[0]", "maxUnavailable"]),
        ("maxUnavailable: 10%", "maxUnavialable: 10%", &["small.yaml", "line 7", "spec.maxUnavialable"]),
        ("kind: ClusterPackageVersion", "kind: Pod", &["small.yaml", "manifests[0]", "kind: must be one of"]),
    ];
    for (from, to, expected) in table {
        let text = problem(from, to);
        for part in *expected {
            assert!(text.contains(part), "{to}: {part:?} is missing in: {text}");
        }
    }
}

#[test]
fn fewer_machines_than_are_named_are_refused() {
    let scenario = Scenario::read("small.yaml", GOOD).unwrap();
    let text = scenario.with_machines("small.yaml", 2).unwrap_err().to_string();
    assert!(text.contains("there is no machine 2"), "{text}");
    assert!(text.contains("no host 2"), "{text}");
}
