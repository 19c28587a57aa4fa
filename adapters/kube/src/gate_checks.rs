//! What gates ask: the metrics of the cluster, and which probe pods have started. All of it is read, so every failure may be
//! retried.

use std::time::Duration;

use http::Method;
use seaworthy_api::request::{JobList, Metrics, Request, started};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::api::{Api, request};
use crate::encoding::JSON;
use crate::failure::Failure;

/// Asks a Prometheus by the proxy of the API server.
pub(crate) async fn query(api: &Api, query: &Request, deadline: Instant) -> Outcome {
    match read::<Metrics>(api, query, deadline).await {
        Ok(metrics) => match metrics.series() {
            Some(series) => Outcome::Done(Receipt::Series(series)),
            None => refused("the answer is not that of a Prometheus to the number of series".into()),
        },
        // Also what the service itself answers, or that there is none: the API server is well.
        Err(failure @ Failure::Answered { .. }) => refused(failure.to_string()),
        Err(failure) => unavailable(&failure),
    }
}

/// Lists the Jobs of a round of probe pods.
pub(crate) async fn list_probes(api: &Api, query: &Request, deadline: Instant) -> Outcome {
    match read::<JobList>(api, query, deadline).await {
        Ok(jobs) => Outcome::Done(Receipt::Probes(started(&jobs).into())),
        Err(failure @ Failure::Answered { code: 400..=499, .. }) => refused(failure.to_string()),
        Err(failure) => unavailable(&failure),
    }
}

async fn read<T: DeserializeOwned>(api: &Api, query: &Request, deadline: Instant) -> Result<T, Failure> {
    let limit = deadline.saturating_duration_since(Instant::now());
    if limit == Duration::ZERO {
        return Err(Failure::NotSent("there was no time left to send it".into()));
    }
    let http = query.http("");
    let text = api.send("get", request(Method::GET, &http.path, JSON, Vec::new())?, limit).await?;
    serde_json::from_str(&text).map_err(|error| Failure::Unreadable(error.to_string()))
}

fn unavailable(failure: &Failure) -> Outcome {
    Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, failure.to_string()))
}

fn refused(why: String) -> Outcome {
    Outcome::Refused(Cause::new(CauseKind::ApiRefused, why))
}
