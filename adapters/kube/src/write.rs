//! Fenced writes, and what their answers mean.

use std::time::Duration;

use http::Method;
use seaworthy_api::request::{Http, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use serde::Deserialize;
use tokio::time::Instant;

use crate::api::{Api, request};
use crate::failure::Failure;
use crate::{gate_checks, pods};

/// The field manager: the name under which the API server records who owns the fields.
const MANAGER: &str = "seaworthy-operator";

/// Part of the message of a 5xx answer when the store did not answer in time: the write may have been committed.
const AMBIGUOUS: [&str; 3] = ["etcdserver:", "timed out", "timeout"];

/// Sends `write`, once, and waits for the answer until `deadline`. A list is read in as many pages as it takes.
pub async fn write(api: &Api, write: &Request, deadline: Instant) -> Outcome {
    if let Request::ListPods(query) = write {
        return pods::list(api, query, deadline).await;
    }
    if matches!(write, Request::Query(_)) {
        return gate_checks::query(api, write, deadline).await;
    }
    if matches!(write, Request::ListProbes(_)) {
        return gate_checks::list_probes(api, write, deadline).await;
    }
    let http = write.http(MANAGER);
    let method = http.method;
    match attempt(api, (write, http), deadline).await {
        Ok(receipt) => {
            api.rights.note(write, method);
            Outcome::Done(receipt)
        }
        Err(failure) if api.rights.may_return(&failure, write, method) => {
            Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, failure.to_string()))
        }
        Err(failure) => {
            let outcome = classify(failure.clone(), write);
            if outcome == Outcome::Unknown {
                let (kind, name) = write.object();
                tracing::warn!(kind = kind.name(), name, %failure, "it is not known whether a write was committed");
            }
            outcome
        }
    }
}

async fn attempt(api: &Api, (write, http): (&Request, Http), deadline: Instant) -> Result<Receipt, Failure> {
    #[derive(Deserialize)]
    struct Written {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: String,
    }
    let (method, verb) = match http.method {
        "POST" => (Method::POST, "create"),
        "PUT" => (Method::PUT, "update"),
        "PATCH" => (Method::PATCH, "patch"),
        "DELETE" => (Method::DELETE, "delete"),
        other => return Err(Failure::NotSent(format!("{other} is no method of a write"))),
    };
    let unsent = |error: serde_json::Error| Failure::NotSent(error.to_string());
    let body = serde_json::to_vec(&http.body).map_err(unsent)?;
    let request = request(method, &http.path, http.content_type, body)?;
    let limit = deadline.saturating_duration_since(Instant::now());
    if limit == Duration::ZERO {
        return Err(Failure::NotSent("there was no time left to send it".into()));
    }
    let text = api.send(verb, request, limit).await?;
    if matches!(write, Request::DeleteNode(_) | Request::Evict(_) | Request::DeletePod(_)) {
        // The answer is a Status, which only says that the eviction was accepted.
        return Ok(Receipt::Nothing);
    }
    let unreadable = |why: String| Failure::Unreadable(why);
    let written: Written = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    let version = written.metadata.resource_version;
    let version = version.parse();
    version
        .map(|resource_version| Receipt::Written { resource_version })
        .map_err(|_| unreadable("the resourceVersion is not a number".into()))
}

/// The message of the API server when a `test` of a JSON patch does not hold, or its path does not exist. A patch that is
/// refused for another reason is answered as invalid, with the field.
const TEST_FAILED: &str = "the server rejected our request due to an error in our request";

/// Its message when several disruption budgets cover a pod.
const SEVERAL_BUDGETS: &str = "more than one PodDisruptionBudget";

/// The outcome of a write that failed. A write that may have been committed is always `Unknown`.
fn classify(failure: Failure, write: &Request) -> Outcome {
    let creates = matches!(
        write,
        Request::CreateLease(_)
            | Request::CreateCertificateRequest(_)
            | Request::CreateEvent(_)
            | Request::StartProbe(_)
    );
    let words = failure.to_string();
    let unavailable = |detail| Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, detail));
    match failure {
        Failure::NotSent(_) => unavailable(words),
        Failure::Lost(_) | Failure::Unreadable(_) | Failure::TooLong(_) => Outcome::Unknown,
        Failure::Budget(words) => Outcome::Retryable(Cause::new(CauseKind::DisruptionBudget, words)),
        Failure::Answered { code, message } => match code {
            422 if matches!(write, Request::PatchNode(_)) && message.starts_with(TEST_FAILED) => {
                Outcome::Stale
            }
            500 if matches!(write, Request::Evict(_)) && message.contains(SEVERAL_BUDGETS) => {
                Outcome::Refused(Cause::new(CauseKind::DisruptionBudget, message))
            }
            // 404 on a creation: its namespace does not exist.
            404 if creates => Outcome::Refused(Cause::new(CauseKind::ApiRefused, message)),
            // The object is gone, has changed, or exists already.
            404 | 409 | 410 => Outcome::Stale,
            // 401: our credentials are being renewed.
            401 | 408 | 429 => unavailable(words),
            400..=499 => Outcome::Refused(Cause::new(CauseKind::ApiRefused, message)),
            // A gateway lost the answer, or the API server gave up waiting for its store.
            502 | 504 => Outcome::Unknown,
            500..=599 if AMBIGUOUS.iter().any(|words| message.contains(words)) => Outcome::Unknown,
            500..=599 => unavailable(words),
            // Neither success nor error: a proxy in between.
            _ => Outcome::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_api::object::Lease;
    use seaworthy_api::request::{NodeChange, NodePatch, PodEviction};
    use seaworthy_model::id::Uid;
    use seaworthy_model::node::{NodeShape, NodeUncordon};
    use seaworthy_model::pod::PodName;

    use super::*;

    fn uncordon() -> Request {
        let uncordon = NodeUncordon { shape: NodeShape::default(), stays_unschedulable: false };
        Request::PatchNode(NodePatch {
            name: "a".into(),
            uid: Uid(1),
            change: NodeChange::Uncordon(uncordon),
        })
    }

    fn eviction() -> Request {
        let pod = PodName { namespace: "shop".into(), name: "cart".into(), uid: Uid(2) };
        Request::Evict(PodEviction { node: "a".into(), pod })
    }

    fn answered(code: u16, message: &str) -> Outcome {
        classify(Failure::Answered { code, message: message.into() }, &uncordon())
    }

    fn kind(outcome: Outcome) -> Option<CauseKind> {
        match outcome {
            Outcome::Retryable(cause) | Outcome::Refused(cause) => Some(cause.kind),
            Outcome::Done(_) | Outcome::Stale | Outcome::Unknown => None,
        }
    }

    #[test]
    fn a_fence_that_does_not_hold_is_stale() {
        for code in [404, 409] {
            assert_eq!(answered(code, "the object has been modified"), Outcome::Stale);
        }
    }

    #[test]
    fn a_namespace_that_does_not_exist_is_named() {
        let message = "namespaces \"seaworthy-system\" not found";
        let outcome = classify(
            Failure::Answered { code: 404, message: message.into() },
            &Request::CreateLease(Lease::default()),
        );
        assert_eq!(outcome, Outcome::Refused(Cause::new(CauseKind::ApiRefused, message)));
        assert_eq!(
            classify(
                Failure::Answered { code: 409, message: "exists".into() },
                &Request::CreateLease(Lease::default())
            ),
            Outcome::Stale
        );
    }

    #[test]
    fn a_test_that_does_not_hold_is_stale_and_an_invalid_node_is_refused() {
        assert_eq!(answered(422, TEST_FAILED), Outcome::Stale);
        let invalid = "Node \"a\" is invalid: spec.taints[1]: Duplicate value";
        assert_eq!(answered(422, invalid), Outcome::Refused(Cause::new(CauseKind::ApiRefused, invalid)));
    }

    #[test]
    fn a_disruption_budget_is_not_a_server_in_need_of_rest() {
        let words = "The disruption budget web needs 2 healthy pods and has 2 currently";
        let budget = Outcome::Retryable(Cause::new(CauseKind::DisruptionBudget, words));
        assert_eq!(classify(Failure::Budget(words.into()), &eviction()), budget);
        let throttled = classify(Failure::Answered { code: 429, message: "slow".into() }, &eviction());
        assert_eq!(kind(throttled), Some(CauseKind::ApiUnavailable));
        let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        let several = classify(Failure::Answered { code: 500, message: message.into() }, &eviction());
        assert_eq!(several, Outcome::Refused(Cause::new(CauseKind::DisruptionBudget, message)));
    }

    #[test]
    fn what_will_never_work_is_refused() {
        for code in [400, 403, 405, 413, 415, 422] {
            assert_eq!(kind(answered(code, "no")), Some(CauseKind::ApiRefused), "{code}");
            assert!(matches!(answered(code, "no"), Outcome::Refused(_)), "{code}");
        }
    }

    #[test]
    fn what_did_not_happen_and_may_later_is_retryable() {
        let outcomes = [
            answered(401, "expired"),
            answered(429, "too many requests"),
            answered(500, "failed calling webhook"),
            answered(503, "apiserver is shutting down"),
            classify(Failure::NotSent("connection refused".into()), &uncordon()),
        ];
        for outcome in outcomes {
            assert!(matches!(outcome, Outcome::Retryable(_)), "{outcome:?}");
            assert_eq!(kind(outcome), Some(CauseKind::ApiUnavailable));
        }
    }

    #[test]
    fn what_may_have_happened_is_unknown() {
        let outcomes = [
            answered(500, "etcdserver: request timed out"),
            answered(503, "etcdserver: leader changed"),
            answered(504, "Timeout: request did not complete within the allotted duration"),
            answered(502, "bad gateway"),
            classify(Failure::Lost("connection reset".into()), &uncordon()),
            classify(Failure::Unreadable("expected value".into()), &uncordon()),
        ];
        for outcome in outcomes {
            assert_eq!(outcome, Outcome::Unknown);
        }
    }
}
