//! The pods of one Node, read page by page from the store itself.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use seaworthy_api::pod::{Pod, PodList};
use seaworthy_api::request::PodQuery;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::pod::PodFacts;
use tokio::time::Instant;

use crate::api::{Api, request};
use crate::encoding::JSON;
use crate::failure::Failure;

/// Lists the pods that `query` asks for. It changes nothing, so every failure may be retried.
pub(crate) async fn list(api: &Api, query: &PodQuery, deadline: Instant) -> Outcome {
    let mut pods: Vec<PodFacts> = Vec::new();
    let mut token = String::new();
    loop {
        let page = match page(api, &query.path(&token), deadline).await {
            Ok(page) => page,
            Err(Failure::Answered { code: code @ (400 | 403), message }) => {
                tracing::error!(node = query.node, code, message, "the pods of a Node cannot be listed");
                return Outcome::Refused(Cause::new(CauseKind::ApiRefused, message));
            }
            // Also when the list has expired between two pages: the retry starts from the first page.
            Err(failure) => {
                return Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, failure.to_string()));
            }
        };
        pods.extend(page.items.iter().filter_map(Pod::facts));
        token = page.metadata.r#continue;
        if token.is_empty() {
            break;
        }
    }
    pods.sort_by(|a, b| a.pod.cmp(&b.pod));
    Outcome::Done(Receipt::Pods(Arc::from(pods)))
}

async fn page(api: &Api, path: &str, deadline: Instant) -> Result<PodList, Failure> {
    let limit = deadline.saturating_duration_since(Instant::now());
    if limit == Duration::ZERO {
        return Err(Failure::NotSent("there was no time left to send it".into()));
    }
    let text = api.send("list", request(Method::GET, path, JSON, Vec::new())?, limit).await?;
    serde_json::from_str(&text).map_err(|error| Failure::Unreadable(error.to_string()))
}
