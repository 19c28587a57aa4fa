//! Which calls the operator makes. Each must occur in the script. Otherwise the model was never compared with the real API server
//! for that call.
//!
//! The audit log of the real API server contains them. A call counts by its shape: method, resource, whether it names an
//! object, subresource, parameters, and what a patch is. That our patches say `application/merge-patch+json`, which the
//! audit log does not tell, is checked where requests are made, in `core/api`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::script::http;
use super::{Script, api_script};
use crate::run::Run;

/// The user that operators are: the service account of `deploy/operator`. So their calls are told from those of everybody
/// else, and they may do what they may do elsewhere.
pub const USER: &str = "system:serviceaccount:seaworthy-system:seaworthy-operator";

/// What the API server writes down: the calls of operators, but for the question which version it is, which is about no
/// object; the bodies of patches only, since others hold Secrets.
pub(crate) fn policy() -> String {
    format!(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n\
         - {{level: None, nonResourceURLs: [\"/version\"]}}\n\
         - {{level: Request, users: [\"{USER}\"], verbs: [patch]}}\n\
         - {{level: Metadata, users: [\"{USER}\"]}}\n\
         - {{level: None}}\n"
    )
}

/// Where it does.
pub(crate) fn log(run: &Run) -> PathBuf {
    run.log("audit")
}

/// Fails when an operator of this run made a call that the script has no step for. Gives how many shapes of calls there
/// were.
///
/// # Errors
/// Such a call, or an unreadable log.
pub(crate) fn must_be_covered(run: &Run) -> Result<usize> {
    let log = log(run);
    if !log.exists() {
        return Ok(0);
    }
    let made = made(&fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?)?;
    let played = played(&api_script()?)?;
    let missing = made.difference(&played).map(String::as_str).collect::<Vec<_>>();
    ensure!(
        missing.is_empty(),
        "the operator makes calls that conformance/api.yaml does not play:\n{}",
        missing.join("\n")
    );
    Ok(made.len())
}

/// The shapes of all calls of operators in an audit log.
fn made(log: &str) -> Result<BTreeSet<String>> {
    let mut shapes = BTreeSet::new();
    for line in log.lines() {
        // The API server may have been killed in the middle of a line.
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let is_ours = event["user"]["username"] == USER && !is_of_gate(event["requestURI"].as_str());
        let uri = event["requestURI"].as_str().with_context(|| format!("no requestURI: {line}"))?;
        let (method, patch) = match event["verb"].as_str().unwrap_or_default() {
            "get" | "list" | "watch" => ("GET", ""),
            "create" => ("POST", ""),
            "update" => ("PUT", ""),
            "patch" if event["requestObject"].is_object() => ("PATCH", "merge"),
            "patch" if event["requestObject"].is_array() => ("PATCH", "json"),
            // A refused patch may have been written down without its body.
            "patch" => continue,
            "delete" => ("DELETE", ""),
            other => (other, ""),
        };
        if is_ours {
            shapes.insert(shape(method, uri, patch));
        }
    }
    Ok(shapes)
}

/// Whether a call asks something for a gate: it starts and lists the Jobs of probe pods, or goes through the API server to a
/// Service. The model has no Jobs and no Services; it answers such calls beside its store. The suite `gate_checks` makes them
/// on the real API server, with everything that can come back.
fn is_of_gate(uri: Option<&str>) -> bool {
    let path = uri.and_then(|uri| uri.split('?').next()).unwrap_or_default();
    path == "/apis/batch/v1/namespaces/seaworthy-system/jobs"
        || (path.starts_with("/api/v1/namespaces/") && path.ends_with("/proxy/api/v1/query"))
}

/// The shapes of all calls of the script that the model answers as the real API server does, or refuses knowingly.
fn played(script: &Script) -> Result<BTreeSet<String>> {
    let steps = script.rules.iter().flat_map(|rule| &rule.steps);
    let steps = steps.filter(|step| step.call != "COMPACT");
    steps
        .map(|step| {
            let (method, path) = http(&step.call)?;
            let patch = if method == "PATCH" { step.patch.as_deref().unwrap_or("merge") } else { "" };
            Ok(shape(&method, &path, patch))
        })
        .collect()
}

/// The shape of a call. Numbers and tokens in parameters do not count, words do.
fn shape(method: &str, uri: &str, patch: &str) -> String {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut parameters = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| match name {
            "resourceVersion" if value == "0" => "resourceVersion=0".to_owned(),
            "fieldSelector" if value.starts_with("spec.nodeName") => "fieldSelector=spec.nodeName".to_owned(),
            "resourceVersionMatch" | "watch" | "allowWatchBookmarks" | "fieldSelector" | "labelSelector" => {
                format!("{name}={}", value.replace("%3D", "="))
            }
            _ => name.to_owned(),
        })
        .collect::<Vec<_>>();
    parameters.sort();
    let words = [method, &without_name(path), patch, &parameters.join("&")];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A path with `NAME` in place of the name of an object of ours; other paths as they are.
fn without_name(path: &str) -> String {
    const RESOURCES: [&str; 10] = [
        "machines",
        "machinecomponents",
        "machinecomponentsets",
        "clusterpackageversions",
        "disruptionpolicies",
        "canaryreleases",
        "nodes",
        "leases",
        "certificatesigningrequests",
        "secrets",
    ];
    // Of the objects of others, the pods of any namespace are asked to leave.
    let pod = path.strip_prefix("/api/v1/namespaces/").and_then(|rest| rest.split_once("/pods/"));
    if let Some((_, subresource)) = pod.and_then(|(_, rest)| rest.split_once('/')) {
        return format!("/api/v1/namespaces/NAMESPACE/pods/NAME/{subresource}");
    }
    for resource in RESOURCES {
        let Ok((_, collection)) = http(&format!("GET {resource}")) else { continue };
        let Some(rest) = path.strip_prefix(&collection).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        let subresource = rest.split_once('/').map(|(_, subresource)| format!("/{subresource}"));
        return format!("{collection}/NAME{}", subresource.unwrap_or_default());
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(verb: &str, uri: &str, body: &Value) -> String {
        json!({"user": {"username": USER}, "verb": verb, "requestURI": uri, "requestObject": body})
            .to_string()
    }

    #[test]
    fn a_call_that_is_not_played_is_found() {
        let machines = "/apis/seaworthy.dev/v1alpha1/machines";
        let log = [
            event("patch", &format!("{machines}/one?fieldManager=x"), &json!({})),
            event("list", &format!("{machines}?limit=500&continue=abc"), &Value::Null),
            event("patch", &format!("{machines}/one?fieldManager=x"), &json!([])),
            event("deletecollection", machines, &Value::Null),
            event("list", &format!("{machines}?labelSelector=x%3Dy"), &Value::Null),
            event("create", "/api/v1/namespaces/shop/pods/cart-1/eviction", &Value::Null),
            event("create", "/api/v1/namespaces/shop/pods/cart-1/binding", &Value::Null),
            event("list", "/api/v1/pods?fieldSelector=spec.nodeName%3Dm-1&limit=500", &Value::Null),
            event("delete", "/api/v1/nodes/m-1", &Value::Null),
            event("patch", "/api/v1/nodes/m-1?fieldManager=x", &json!([])),
            json!({"user": {"username": "somebody"}, "verb": "get", "requestURI": "/version"}).to_string(),
            r#"{"user""#.to_owned(),
        ];
        let made = made(&log.join("\n")).unwrap();
        let played = played(&api_script().unwrap()).unwrap();
        let missing = made.difference(&played).map(String::as_str).collect::<Vec<_>>();
        assert_eq!(
            missing,
            [
                format!("GET {machines} labelSelector=x=y"),
                format!("PATCH {machines}/NAME json fieldManager"),
                "POST /api/v1/namespaces/NAMESPACE/pods/NAME/binding".to_owned(),
                format!("deletecollection {machines}"),
            ]
        );
    }
}
