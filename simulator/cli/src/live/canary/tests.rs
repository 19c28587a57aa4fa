use serde_json::from_value;

use super::super::api_server::ApiServer;
use super::*;

fn read(value: serde_json::Value) -> CanaryRelease {
    from_value(value).expect("it is a CanaryRelease")
}

fn settings(versions: &[(&str, &str)]) -> Vec<ComponentSetting> {
    let settings = versions.iter().map(|(name, version)| json!({ "name": name, "version": version }));
    settings.map(|setting| from_value(setting).expect("it is a setting")).collect()
}

#[test]
fn what_was_tried_replaces_what_there_was() {
    let before = settings(&[("runc", "1.0.0"), ("kubelet", "1.36.2")]);
    let tried = settings(&[("kubelet", "1.36.3"), ("webd", "1.0.0")]);
    let after = settings(&[("runc", "1.0.0"), ("kubelet", "1.36.3"), ("webd", "1.0.0")]);
    assert_eq!(promoted(&before, &tried), after);
    assert_eq!(promoted(&after, &tried), after);
}

#[test]
fn a_canary_is_promoted_once_it_is_complete() {
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({ "type": kind, "status": status, "reason": reason, "message": "words",
            "lastTransitionTime": "2026-11-25T08:00:00Z", "observedGeneration": 2 })
    };
    let canary = |conditions: serde_json::Value, aborted: bool| {
        read(json!({
            "metadata": { "name": "first", "generation": 2 },
            "spec": { "aborted": aborted },
            "status": { "observedGeneration": 2, "conditions": conditions },
        }))
    };
    let complete = json!([condition("Complete", "True", "AllUpdated")]);
    assert_eq!(objection(&canary(complete.clone(), false)), None);
    assert!(objection(&canary(complete, true)).is_some_and(|told| told.contains("aborted")));
    let failed = json!([
        condition("Complete", "False", "GateFailed"),
        condition("Progressing", "False", "GateFailed")
    ]);
    let told = objection(&canary(failed, false));
    assert_eq!(told.as_deref(), Some("first is not complete: GateFailed: words"));
    assert!(objection(&canary(json!([]), false)).is_some());
}

/// What `abort` returns, and what it asks of an API server that answers so.
fn aborted(answers: Vec<(u16, serde_json::Value)>) -> (Result<ExitCode, String>, Vec<String>) {
    let arguments = AbortArguments { name: "first".to_owned() };
    let (code, requests) = ApiServer::new(answers).run(async |terminal| abort(&terminal, &arguments).await);
    (code.map_err(|Problem(problem)| problem), requests)
}

/// Everything else in its spec is left to others.
#[test]
fn an_abort_says_nothing_but_that_the_canary_is_aborted() {
    let canary = json!({ "metadata": { "name": "first", "generation": 2 }, "spec": {} });
    let (code, requests) = aborted(vec![(200, canary.clone()), (200, canary)]);
    assert_eq!(code, Ok(ExitCode::SUCCESS));
    let path = "/apis/seaworthy.dev/v1alpha1/canaryreleases/first";
    let patch = format!("PATCH {path}?fieldManager=seaworthy {}", json!({ "spec": { "aborted": true } }));
    assert_eq!(requests, [format!("GET {path} "), patch]);
}

#[test]
fn what_cannot_be_aborted_is_told() {
    let (code, requests) = aborted(vec![(404, json!("not found"))]);
    let problem = code.unwrap_err();
    assert!(problem.starts_with("there is no CanaryRelease `first`"), "{problem}");
    assert_eq!(requests.len(), 1, "nothing is written");
    let canary = json!({ "metadata": { "name": "first" }, "spec": {} });
    let (code, _) = aborted(vec![(200, canary), (403, json!("alice may not"))]);
    let problem = code.unwrap_err();
    assert!(problem.contains("403") && problem.contains("alice may not"), "{problem}");
}
