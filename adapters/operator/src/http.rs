//! `/healthz`, `/readyz`, `/metrics`.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::health::Health;
use crate::metrics::Metrics;

/// What the pages are made of.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Listens on `address` and serves until the task is aborted.
///
/// # Errors
/// When the address cannot be listened on.
pub(crate) async fn serve(address: SocketAddr, pages: Pages) -> anyhow::Result<JoinHandle<()>> {
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("--listen: cannot listen on {address}"))?;
    tracing::info!(address = %listener.local_addr().unwrap_or(address), "serving /healthz, /readyz, /metrics");
    Ok(tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router(pages)).await {
            tracing::error!(%error, "the HTTP server ended");
        }
    }))
}

fn router(pages: Pages) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(pages)
}

async fn healthz(State(pages): State<Pages>) -> (StatusCode, String) {
    match pages.health.hangs() {
        None => (StatusCode::OK, "ok\n".into()),
        Some(age) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("the loop has not turned for {} s\n", age.as_secs()))
        }
    }
}

async fn readyz(State(pages): State<Pages>) -> (StatusCode, String) {
    let obstacles = pages.health.obstacles();
    if obstacles.is_empty() {
        let standby = pages.health.standby();
        return (StatusCode::OK, format!("{}\n", standby.as_deref().unwrap_or("ok")));
    }
    let lines: String = obstacles.iter().map(|why| format!("{why}\n")).collect();
    (StatusCode::SERVICE_UNAVAILABLE, lines)
}

async fn metrics(State(pages): State<Pages>) -> axum::response::Response {
    const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match pages.metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
