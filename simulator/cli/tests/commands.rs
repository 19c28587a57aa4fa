//! The commands, called as a user calls them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn scenario(name: &str) -> String {
    format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A path for this test only.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn seaworthy(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seaworthy")).args(arguments).output().unwrap()
}

#[track_caller]
fn code(output: &Output, expected: i32) -> String {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(expected), "{out}\n{error}");
    format!("{out}{error}")
}

fn hash(json: &str) -> &str {
    json.lines().find(|line| line.contains("traceHash")).unwrap()
}

/// A run of a small fleet, in JSON.
fn run(file: &str, more: &[&str]) -> Output {
    let small = ["sim", "run", file, "--machines", "9", "--output", "json"];
    seaworthy(&[&small[..], more].concat())
}

#[test]
fn a_run_that_does_not_converge_fails_and_tells_its_seed() {
    let file = impossible("never.yaml");
    let file = file.to_str().unwrap();
    let json = code(&run(file, &["--seed", "7"]), 1);
    for told in [r#""seed": 7"#, r#""converged": false"#] {
        assert!(json.contains(told), "{told}: {json}");
    }
    let text = code(&seaworthy(&["sim", "run", file, "--seed", "7"]), 1);
    let row = text.lines().find(|line| line.split_whitespace().next() == Some("seed"));
    assert_eq!(row.and_then(|row| row.split_whitespace().last()), Some("7"), "{text}");
    assert!(text.contains("FAILED"), "{text}");
}

#[test]
fn what_programs_read_of_a_run_is_there() {
    let json = code(&run(&scenario("fast/upgrade.yaml"), &[]), 0);
    for key in [
        "scenario",
        "seed",
        "machines",
        "converged",
        "violations",
        "events",
        "simulatedSeconds",
        "wallSeconds",
        "apiWrites",
        "traceHash",
    ] {
        let key = format!("\n  \"{key}\": ");
        assert_eq!(json.matches(&key).count(), 1, "{key}: {json}");
    }
}

#[test]
fn a_seed_is_one_history_and_another_seed_another() {
    let with_seed = |seed| {
        let json = code(&run(&scenario("fast/storm.yaml"), &["--seed", seed]), 0);
        hash(&json).to_owned()
    };
    assert_eq!(with_seed("3"), with_seed("3"));
    assert_ne!(with_seed("3"), with_seed("4"));
}

#[test]
fn a_recorded_run_replays() {
    let plan = scratch("replays.yaml");
    let plan = plan.to_str().unwrap();
    let run = seaworthy(&[
        "sim",
        "run",
        &scenario("fast/upgrade.yaml"),
        "--seed",
        "5",
        "--plan",
        plan,
        "--output",
        "json",
    ]);
    let log = scratch("replays.log");
    let log = log.to_str().unwrap();
    let replay = seaworthy(&["sim", "replay", plan, "--log", log, "--output", "json"]);
    assert_eq!(hash(&code(&run, 0)), hash(&code(&replay, 0)));
    assert!(std::fs::read_to_string(log).unwrap().contains("PUT /apis/seaworthy.dev/v1alpha1/machines/"));
}

#[test]
fn heartbeats_are_folded_or_explicit_and_the_hash_is_the_same() {
    let run = |heartbeats: &[&str]| {
        let file = scenario("fast/zone_lost.yaml");
        let arguments = [&["sim", "run", &file, "--output", "json"], heartbeats].concat();
        code(&seaworthy(&arguments), 0)
    };
    let (folded, explicit) = (run(&[]), run(&["--heartbeats", "explicit"]));
    assert_eq!(hash(&folded), hash(&explicit));
    assert!(folded.contains(r#""heartbeats": "folded""#), "{folded}");
    assert!(explicit.contains(r#""heartbeats": "explicit""#), "{explicit}");
    let other = code(&seaworthy(&["sim", "run", "any.yaml", "--heartbeats", "none"]), 2);
    assert!(other.contains("--heartbeats") && other.contains("explicit"), "{other}");
}

#[test]
fn a_plan_that_is_none_is_refused_with_its_name() {
    let text = code(&seaworthy(&["sim", "replay", &scenario("fast/upgrade.yaml")]), 2);
    assert!(text.contains("upgrade.yaml: format:"), "{text}");
    let text = code(&seaworthy(&["sim", "replay", "/nowhere/plan.yaml"]), 2);
    assert!(text.contains("/nowhere/plan.yaml"), "{text}");
}

#[test]
fn a_swarm_counts_what_it_saw_and_is_the_same_with_any_number_of_jobs() {
    let swarm = |jobs| {
        let arguments = [
            "sim",
            "swarm",
            &scenario("fast"),
            "--seeds",
            "1..40",
            "--machines",
            "12",
            "--jobs",
            jobs,
            "--output",
            "json",
        ];
        let output = seaworthy(&arguments);
        code(&output, 0);
        // Lines about the progress depend on the speed of the run.
        let text = String::from_utf8_lossy(&output.stdout);
        let counted = |line: &&str| !line.contains("Seconds") && !line.contains("CpuHour");
        text.lines().filter(counted).map(str::to_owned).collect::<Vec<_>>()
    };
    let one = swarm("1");
    assert_eq!(one, swarm("3"));
    for expected in
        ["\"seeds\": 40", "\"runTwice\": 2", "operator_crash", "OperatorCrashed", "\"good\": true"]
    {
        assert!(one.iter().any(|line| line.contains(expected)), "{expected}: {one:#?}");
    }
}

#[test]
fn an_enumeration_covers_every_point() {
    let arguments = ["sim", "enumerate", &scenario("fast/install.yaml"), "--machines", "4"];
    let text = code(&seaworthy(&arguments), 0);
    assert!(text.contains("100 % of") && text.contains("all clean"), "{text}");
    assert!(text.contains("stale read") && text.contains("hidden transition"), "{text}");
}

/// A scenario that cannot pass: it wants a component and allows no operation.
fn impossible(name: &str) -> PathBuf {
    let text = std::fs::read_to_string(scenario("fast/install.yaml")).unwrap();
    let file = scratch(name);
    std::fs::write(&file, text.replace("maxAtWork: 5", "maxOperations: 0")).unwrap();
    file
}

#[test]
fn a_swarm_that_keeps_going_tells_every_seed_that_fails() {
    let file = deleted_twice("deleted_in_every_seed.yaml", "");
    let file = file.to_str().unwrap();
    let swarm = |more: &[&str]| {
        let arguments = ["sim", "swarm", file, "--seeds", "3..8", "--machines", "4", "--jobs", "1"];
        code(&seaworthy(&[&arguments[..], more].concat()), 1)
    };
    let text = swarm(&["--keep-going"]);
    assert!(text.contains("6 seeds: FAILED"), "{text}");
    let (_, failed) = text.split_once("\n6 failed:\n").unwrap();
    let told = failed.lines().filter_map(|line| line.split_once(&format!(" of {file}: ")));
    let mut seeds: Vec<&str> = told.flat_map(|(_, seeds)| seeds.split(' ')).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, ["3", "4", "5", "6", "7", "8"], "{text}");
    assert!(text.contains("--seeds 3..3 --machines 4"), "{text}");
    let json = swarm(&["--keep-going", "--output", "json"]);
    assert!(json.contains(r#""invariant": "peopleRefused""#) && json.contains(r#""good": false"#), "{json}");
    let text = swarm(&[]);
    assert!(text.contains(&format!("1 failed:\n  peopleRefused, 1 of {file}: 3\n")), "{text}");
}

#[test]
fn what_fails_is_made_smaller_and_told() {
    let file = impossible("impossible.yaml");
    let out = scratch("small.yaml");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let text = code(&seaworthy(&["sim", "shrink", file, "--out", out]), 0);
    assert!(text.contains("with 1 machines and 0 strikes, of 20"), "{text}");
    assert!(text.contains("begins to install webd-1.0.0"), "{text}");
    code(&seaworthy(&["sim", "replay", out]), 1);
    let text = code(&seaworthy(&["sim", "shrink", &scenario("fast/install.yaml"), "--out", out]), 2);
    assert!(text.contains("does not fail"), "{text}");
}

/// The watch shows a version late, so the operator keeps it for some minutes after its deletion.
const SEEN_LATE: &str =
    "faults:\n  - outOfOrder: {kinds: [MachineComponent], lag: 4m, lasting: 10m, between: [4m, 10m]}\n";

/// A version is deleted twice. It still exists for the second deletion only with such faults. Without them the API server
/// refuses that deletion.
fn deleted_twice(name: &str, faults: &str) -> PathBuf {
    let text = std::fs::read_to_string(scenario("fast/install.yaml")).unwrap();
    let (before, rest) = text.split_once("  - apiVersion").unwrap();
    let (version, fleet) = rest.split_once("  - apiVersion").unwrap();
    let unused = version.replace("1.0.0", "2.0.0");
    let deletes = "{kind: MachineComponent, name: webd-2.0.0}";
    let text = format!(
        "{before}  - apiVersion{version}  - apiVersion{unused}  - apiVersion{fleet}\
         timeline:\n  - at: 5m\n    delete: [{deletes}]\n  - at: 8m\n    delete: [{deletes}]\n{faults}"
    );
    let file = scratch(name);
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn what_fails_only_without_faults_is_made_smaller_too() {
    let file = deleted_twice("deleted_twice.yaml", SEEN_LATE);
    let out = scratch("deleted_twice.shrunk.yaml");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    code(&seaworthy(&["sim", "run", file]), 0);
    let text = code(&seaworthy(&["sim", "shrink", file, "--out", out]), 0);
    assert!(text.contains("twinFails with 1 machines and 1 strikes"), "{text}");
    assert!(text.contains("without faults: peopleRefused"), "{text}");
    assert!(text.contains("shrunk.yaml --twin"), "{text}");
    code(&seaworthy(&["sim", "replay", out]), 0);
    let text = code(&seaworthy(&["sim", "replay", "--twin", out]), 1);
    assert!(text.contains("twinFails"), "{text}");
}

#[test]
fn a_machine_is_explained() {
    let arguments =
        ["sim", "explain", &scenario("fast/upgrade.yaml"), "--machine", "m-00007", "--at", "1h2m"];
    let text = code(&seaworthy(&arguments), 0);
    for expected in
        ["m-00007 at 1h02m", "wanted", "webd: ", "rank", "rollouts", "what happened", "install webd-1.0.0"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text =
        code(&seaworthy(&["sim", "explain", &scenario("fast/upgrade.yaml"), "--machine", "m-00099"]), 2);
    assert!(text.contains("--machine: there is no"), "{text}");
}

#[test]
fn a_version_that_was_deleted_is_explained() {
    let file = scenario("fast/versions_deleted.yaml");
    let explain = |more: &[&str]| seaworthy(&[&["sim", "explain", &file, "--at", "2h"], more].concat());
    let text = code(&explain(&["--version", "webd-1.0.0"]), 0);
    for expected in ["webd-1.0.0 at 2h00m", "being deleted", "Machine m-00000 pins it", "InUse"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    code(&explain(&[]), 2);
    code(&explain(&["--version", "webd-1.0.0", "--machine", "0"]), 2);
}

#[test]
fn a_machine_of_a_plan_is_explained_as_in_the_run_that_wrote_it() {
    let plan = scratch("explained.yaml");
    let plan = plan.to_str().unwrap();
    let file = scenario("fast/upgrade.yaml");
    code(&seaworthy(&["sim", "run", &file, "--seed", "5", "--machines", "9", "--plan", plan]), 0);
    let of = |file: &str, more: &[&str]| {
        let asked = ["sim", "explain", file, "--machine", "m-00007", "--at", "1h2m", "--last", "1000"];
        let text = code(&seaworthy(&[&asked[..], more].concat()), 0);
        // Only a plan lists its strikes by name.
        text.lines().filter(|line| !line.contains(": strikes when")).map(str::to_owned).collect::<Vec<_>>()
    };
    let told = of(plan, &[]);
    assert_eq!(told, of(&file, &["--seed", "5", "--machines", "9"]));
    assert!(told.iter().any(|line| line.ends_with("the Lease names seaworthy-0, epoch 1")), "{told:#?}");
    let text = code(&seaworthy(&["sim", "explain", plan, "--machine", "m-00007", "--seed", "5"]), 2);
    assert!(text.contains("a resolved plan has its own"), "{text}");
}

/// The twin is a second run, only on request. The printed result is the same.
#[test]
fn a_run_is_compared_with_its_twin_when_asked_to() {
    let storm = scenario("fast/storm.yaml");
    let alone = seaworthy(&["sim", "run", &storm, "--output", "json"]);
    let twin = seaworthy(&["sim", "run", &storm, "--twin", "--output", "json"]);
    assert_eq!(hash(&code(&alone, 0)), hash(&code(&twin, 0)));
}

#[test]
fn fingerprints_are_compared_case_by_case() {
    let file = scenario("fast/upgrade.yaml");
    let fingerprint = |more: &[&str]| {
        let usual = ["sim", "fingerprint", &file, "--seeds", "1..2", "--machines", "9"];
        seaworthy(&[&usual[..], more].concat())
    };
    let lines = String::from_utf8(fingerprint(&[]).stdout).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let (base, declared) = (scratch("base.fingerprints"), scratch("declared"));
    let against = ["--against", base.to_str().unwrap()];
    std::fs::write(&base, &lines).unwrap();
    assert!(code(&fingerprint(&against), 0).contains("2 cases are equal"));

    let other = lines.replacen("--seed 2 --machines 9 => trace ", "--seed 2 --machines 9 => trace 0", 1);
    std::fs::write(&base, other).unwrap();
    let told = code(&fingerprint(&against), 1);
    assert!(told.contains("1 of 2 cases differ, first: ") && told.contains("--seed 2"), "{told}");

    let meant = [&against[..], &["--declared", declared.to_str().unwrap()]].concat();
    std::fs::write(&declared, format!("{file} --seed 2: this test says so\n")).unwrap();
    assert!(code(&fingerprint(&meant), 0).contains("1 of 2 cases differ as declared"));
    std::fs::write(&declared, format!("{file} --seed 2\n")).unwrap();
    assert!(code(&fingerprint(&meant), 2).contains("the reason why it may differ"));
}

#[test]
fn the_log_of_a_run_holds_its_messages_word_for_word() {
    let log = scratch("messages.log");
    let (file, out) = (scenario("fast/upgrade.yaml"), log.to_str().unwrap());
    code(&seaworthy(&["sim", "fingerprint", &file, "--machines", "9", "--log", out]), 0);
    let text = std::fs::read_to_string(&log).unwrap();
    let status = "PUT /apis/seaworthy.dev/v1alpha1/machines/";
    for part in [status, r#""reason":"#, r#""apply":"#, "turn: "] {
        assert!(text.contains(part), "{part} stands nowhere in {out}");
    }
}
