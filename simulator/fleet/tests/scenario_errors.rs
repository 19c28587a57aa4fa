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
  - domainDown: {scope: {zone: 2}, at: [5m]}
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
        ("hosts: [2]", "hosts: [3]", &["small.yaml", "faults[0].hostDown", "no host 3"]),
        ("zone: 2", "zone: 3", &["small.yaml", "faults[1].domainDown", "no zone 3"]),
        ("machines: [2]", "machines: [3]", &["small.yaml", "timeline[0].edit[0].machines", "no machine 3"]),
        ("at: 10m", "at: 2h", &["small.yaml", "line 14: timeline[0].at", "later than quiet.after"]),
        ("machines: 3\n  zones: 3", "machines: 3\n  zones: 0", &["line 4: fleet.zones", "at least 1"]),
        (
            "- domainDown: {scope",
            "- domainLost: {scope",
            &["small.yaml", "20:", "unknown fault `domainLost`", "domainDown"],
        ),
        ("at: [5m], lasting: [1m, 2m]}", "at: [5m]}\n    during: 5m", &["during: needs `when`"]),
        (
            "at: [5m], lasting: [1m, 2m]}",
            "at: [5m]}\n    when: {step: {at: swap, nth: 0}}",
            &["line 19: faults[0].when: nth", "counted from one"],
        ),
        (
            "at: [5m], lasting: [1m, 2m]}",
            "at: [5m]}\n    when: {stepp: {at: swap}}",
            &["small.yaml", "20:", "stepp"],
        ),
        ("scope: {zone: 2}", "scope: {pool: gpu}", &["line 20: faults[1].domainDown", "no pool \"gpu\""]),
        ("scope: {zone: 2}", "scope: {rack: 2}", &["small.yaml", "20:", "expected zone/rack"]),
        ("quiet:", "always: [converged]\nquiet:", &["line 21: always[0]", "too costly", "eventually"]),
        (
            "quiet:",
            "allowed:\n  - {invariant: budgte, reason: why, most: 1}\nquiet:",
            &["line 22: allowed[0].invariant", "budgte", "hostExclusivity"],
        ),
        (
            "quiet:",
            "allowed:\n  - {invariant: budget, reason: '', most: 1}\nquiet:",
            &["allowed[0].reason", "must say why"],
        ),
        (
            "quiet:",
            "workloads:\n  - editors: {every: 1m, scope: {zone: 3}}\nquiet:",
            &["line 22: workloads[0].editors", "no zone 3"],
        ),
        ("quiet:", "sometimes: [machineFlew]\nquiet:", &["small.yaml", "21:", "machineFlew"]),
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
