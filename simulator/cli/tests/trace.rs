//! The trace of a run follows the rules of the format, as the importers of Chrome and Perfetto apply them:
//!
//! - `ts` and `dur` are microseconds, and events are sorted by time, after the descriptions of tracks;
//! - a group (`pid`) and a track (`tid`) are named once, before they are used;
//! - `B` and `E` of a track nest, and no `X` overlaps another event of its track in part: an importer drops events that do not
//!   nest;
//! - `b` and `e` match by category and id, which are unique at any time, and carry the name of their track;
//! - `C` has numbers only, and `i` has a scope.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

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

fn text(value: &Value) -> &str {
    value.as_str().filter(|text| !text.is_empty()).expect("a text that says something")
}

/// A trace as an importer reads it.
#[derive(Default)]
struct Imported {
    now: u64,
    /// Names by group and track.
    groups: BTreeMap<u64, String>,
    tracks: BTreeMap<(u64, u64), String>,
    /// By track: the ends of open events, the outermost first; `None` for an end that is not known yet.
    open: BTreeMap<(u64, u64), Vec<Option<u64>>>,
    slices: BTreeMap<(u64, u64), u32>,
    /// Open events by category and id.
    bands: BTreeMap<(String, u64), (u64, String)>,
    /// The number of ended events by group and name.
    ended: BTreeMap<(u64, String), u32>,
    moments: BTreeMap<(u64, String), u32>,
}

impl Imported {
    fn of(trace: &Value) -> Self {
        assert!(["ms", "ns"].contains(&text(&trace["displayTimeUnit"])));
        let mut imported = Self::default();
        for event in trace["traceEvents"].as_array().expect("a list") {
            imported.take(event);
        }
        assert!(imported.open.values().flatten().all(Option::is_some), "something was never ended");
        assert_eq!(imported.bands, BTreeMap::new(), "bands that were never ended");
        imported
    }

    fn take(&mut self, event: &Value) {
        let (ts, pid, tid) = (number(&event["ts"]), number(&event["pid"]), number(&event["tid"]));
        let track = (pid, tid);
        let phase = text(&event["ph"]);
        if phase == "M" {
            return self.describe(event, track);
        }
        assert!(ts >= self.now, "time goes back at {event}");
        self.now = ts;
        assert!(self.groups.contains_key(&pid), "no name for the group of {event}");
        if ["B", "E", "X", "i"].contains(&phase) {
            assert!(self.tracks.contains_key(&track), "no name for the track of {event}");
        }
        match phase {
            "B" => self.begin(event, track, None),
            "X" => self.begin(event, track, Some(ts + number(&event["dur"]))),
            "E" => {
                self.leave(track);
                let last = self.open.entry(track).or_default().pop();
                assert_eq!(last, Some(None), "nothing was begun that ends at {event}");
            }
            "b" | "e" => self.band(event, phase),
            "C" => {
                let values = event["args"].as_object().expect("values");
                assert!(!values.is_empty() && values.values().all(Value::is_number), "{event}");
            }
            "i" => {
                assert_eq!(event["s"], "t");
                *self.moments.entry((pid, text(&event["name"]).to_owned())).or_default() += 1;
            }
            other => panic!("{other} is no phase that we write"),
        }
    }

    fn describe(&mut self, event: &Value, track: (u64, u64)) {
        assert_eq!(self.now, 0, "tracks are described first");
        match text(&event["name"]) {
            "process_name" => {
                let before = self.groups.insert(track.0, text(&event["args"]["name"]).to_owned());
                assert_eq!(before, None, "two names for a group");
            }
            "thread_name" => {
                let before = self.tracks.insert(track, text(&event["args"]["name"]).to_owned());
                assert_eq!(before, None, "two names for a track");
            }
            "process_sort_index" => assert!(event["args"]["sort_index"].is_number()),
            other => panic!("{other} describes nothing that we write"),
        }
    }

    /// Closes the events that have ended by now.
    fn leave(&mut self, track: (u64, u64)) {
        let now = self.now;
        let open = self.open.entry(track).or_default();
        while open.last().is_some_and(|end| end.is_some_and(|end| end <= now)) {
            open.pop();
        }
    }

    fn begin(&mut self, event: &Value, track: (u64, u64), end: Option<u64>) {
        text(&event["name"]);
        assert!(end.is_none_or(|end| end > self.now), "it takes no time: {event}");
        self.leave(track);
        let open = self.open.entry(track).or_default();
        let outer = open.last().copied().flatten();
        assert!(outer.is_none_or(|outer| end.is_some_and(|end| end <= outer)), "it does not nest: {event}");
        open.push(end);
        *self.slices.entry(track).or_default() += 1;
    }

    fn band(&mut self, event: &Value, phase: &str) {
        let key = (text(&event["cat"]).to_owned(), number(&event["id"]));
        let named = (number(&event["pid"]), text(&event["name"]).to_owned());
        if phase == "b" {
            assert_eq!(self.bands.insert(key, named), None, "two have this id: {event}");
        } else {
            assert_eq!(self.bands.remove(&key).as_ref(), Some(&named), "{event}");
            *self.ended.entry(named).or_default() += 1;
        }
    }

    /// The number of the group of that name.
    fn group(&self, name: &str) -> u64 {
        *self.groups.iter().find(|(_, group)| *group == name).expect("there is such a group").0
    }

    /// The tracks of a group that have events with a duration.
    fn tracks_of(&self, name: &str) -> usize {
        let group = self.group(name);
        self.slices.keys().filter(|(pid, _)| *pid == group).count()
    }
}

#[test]
fn a_trace_keeps_the_rules_of_its_format() {
    let upgrade = Imported::of(&trace("scale/upgrade_10k.yaml", 300, "upgrade.json"));
    for group in ["operator", "rollouts", "hosts"] {
        assert!(upgrade.tracks_of(group) > 0, "{group}");
    }
    Imported::of(&trace("slow/everything.yaml", 60, "everything.json"));
}

#[test]
fn faults_have_tracks_of_their_own() {
    let storm = Imported::of(&trace("fast/storm.yaml", 60, "storm.json"));
    let faults = storm.group("faults");
    let lasting: BTreeSet<&str> =
        storm.ended.keys().filter(|(group, _)| *group == faults).map(|(_, name)| name.as_str()).collect();
    assert_eq!(lasting, BTreeSet::from(["power lost", "watch silent", "zone/rack lost"]));
    assert_eq!(storm.ended[&(faults, "zone/rack lost".to_owned())], 1);
    let moments: BTreeSet<&str> =
        storm.moments.keys().filter(|(group, _)| *group == faults).map(|(_, name)| name.as_str()).collect();
    let expected = ["SSH session lost", "changed by hand", "conflict", "operator crash", "reply lost"];
    assert_eq!(moments, BTreeSet::from(expected));
}

#[test]
fn of_a_large_fleet_the_unusual_hosts_and_a_sample_are_shown() {
    let trace = trace("scale/upgrade_10k.yaml", 3_000, "large.json");
    let data = &trace["otherData"];
    assert_eq!(number(&data["hostsInFleet"]), 3_000);
    let hosts = Imported::of(&trace).tracks_of("hosts") as u64;
    assert_eq!(hosts, number(&data["hostsShown"]));
    let (unusual, sampled) = (number(&data["hostsShownBecauseUnusual"]), number(&data["hostsShownAsSample"]));
    assert_eq!(unusual + sampled, hosts);
    assert!((30..=1_000).contains(&unusual) && (80..=101).contains(&sampled), "{unusual}, {sampled}");
}

/// The rules bite.
#[test]
fn what_no_importer_takes_is_refused() {
    let name = |kind: &str, tid: u64| json!({ "ph": "M", "name": kind, "ts": 0, "pid": 1, "tid": tid, "args": { "name": "a" } });
    let event = |ph: &str, ts: u64| json!({ "ph": ph, "name": "n", "ts": ts, "pid": 1, "tid": 1 });
    let lasting = |ts: u64, dur: u64| {
        let mut event = event("X", ts);
        event["dur"] = json!(dur);
        event
    };
    let band = |ph: &str, ts: u64| {
        let mut event = event(ph, ts);
        (event["cat"], event["id"]) = (json!("c"), json!(7));
        event
    };
    let is_taken = |events: &[Value]| {
        let named = [name("process_name", 0), name("thread_name", 1)];
        let events = [&named[..], events].concat();
        let trace = json!({ "displayTimeUnit": "ms", "traceEvents": events });
        std::panic::catch_unwind(|| Imported::of(&trace)).is_ok()
    };
    assert!(is_taken(&[event("B", 1), lasting(2, 3), lasting(2, 2), lasting(5, 1), event("E", 9)]));
    assert!(is_taken(&[band("b", 1), band("e", 2), band("b", 2), band("e", 3)]));
    for (what, events) in [
        ("time goes back", vec![lasting(5, 1), lasting(4, 1)]),
        ("an end without a beginning", vec![event("E", 1)]),
        ("a beginning without an end", vec![event("B", 1)]),
        ("half of it overlaps", vec![lasting(1, 5), lasting(3, 5)]),
        ("an id that two have", vec![band("b", 1), band("b", 2), band("e", 3)]),
        ("a band without an end", vec![band("b", 1)]),
        ("a name that comes late", vec![lasting(1, 1), name("thread_name", 2)]),
    ] {
        assert!(!is_taken(&events), "{what}");
    }
}
