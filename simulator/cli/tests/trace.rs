//! The trace of a run: what Perfetto and Chrome demand of the format holds.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn trace(scenario: &str, machines: u32, name: &str) -> Value {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_seaworthy"))
        .args(["sim", "run", "--machines", &machines.to_string()])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(scenario))
        .arg("--trace")
        .arg(&file)
        .output()
        .expect("the program was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read(&file).expect("it was written");
    serde_json::from_slice(&text).expect("it is JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number that is not negative")
}

/// Begins and ends nest on every track, and time goes forward.
fn judge(trace: &Value) -> BTreeMap<(u64, u64), u32> {
    let events = trace["traceEvents"].as_array().expect("a list");
    let (mut open, mut slices) = (BTreeMap::<_, Vec<u64>>::new(), BTreeMap::<_, u32>::new());
    let mut asynchronous = BTreeMap::<u64, i32>::new();
    let mut now = 0;
    for event in events {
        let (ts, track) = (number(&event["ts"]), (number(&event["pid"]), number(&event["tid"])));
        match event["ph"].as_str().expect("a phase") {
            "M" => {
                assert_eq!(now, 0, "tracks are described first");
                continue;
            }
            "B" => {
                open.entry(track).or_default().push(ts);
                *slices.entry(track).or_default() += 1;
            }
            "E" => {
                let begun = open.entry(track).or_default().pop().expect("something was begun");
                assert!(begun <= ts);
            }
            "b" => *asynchronous.entry(number(&event["id"])).or_default() += 1,
            "e" => *asynchronous.entry(number(&event["id"])).or_default() -= 1,
            "X" => assert!(number(&event["dur"]) > 0),
            "C" => assert!(event["args"].as_object().is_some_and(|values| !values.is_empty())),
            "i" => assert_eq!(event["s"], "t"),
            other => panic!("{other} is no phase that we write"),
        }
        assert!(ts >= now, "time goes back at {event}");
        now = ts;
    }
    assert!(open.values().all(Vec::is_empty), "something was never ended");
    assert!(asynchronous.values().all(|depth| *depth == 0));
    slices
}

#[test]
fn begins_and_ends_are_balanced() {
    let slices = judge(&trace("scale/upgrade_10k.yaml", 300, "upgrade.json"));
    assert!(slices.keys().any(|(group, _)| *group == 1), "the operator has a track");
    assert!(slices.keys().any(|(group, _)| *group == 2), "a rollout has one");
    assert!(slices.keys().any(|(group, _)| *group == 6), "hosts have");
    judge(&trace("fast/storm.yaml", 60, "storm.json"));
}

#[test]
fn of_a_large_fleet_the_unusual_hosts_and_a_sample_are_shown() {
    let trace = trace("scale/upgrade_10k.yaml", 3_000, "large.json");
    let slices = judge(&trace);
    let data = &trace["otherData"];
    assert_eq!(number(&data["hostsInFleet"]), 3_000);
    let hosts = slices.keys().filter(|(group, _)| *group == 6).count() as u64;
    assert_eq!(hosts, number(&data["hostsShown"]));
    let (unusual, sampled) = (number(&data["hostsShownBecauseUnusual"]), number(&data["hostsShownAsSample"]));
    assert_eq!(unusual + sampled, hosts);
    assert!((30..=1_000).contains(&unusual) && (80..=101).contains(&sampled), "{unusual}, {sampled}");
}
