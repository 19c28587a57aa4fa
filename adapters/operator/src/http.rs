//! `/healthz` and `/readyz` on one port, `/metrics` on another.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::health::Health;
use crate::metrics::Metrics;

/// The data of the pages.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
}

/// How long a port is waited for that is still taken: an operator that was killed may still be ending.
const TAKEN: Duration = Duration::from_secs(5);
/// How often it is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// The most connections of one port at once. Further ones wait in the backlog of the kernel.
const CONNECTIONS: usize = 64;
/// The time in which the header of a request must have arrived.
const HEADER: Duration = Duration::from_secs(5);
/// The longest life of a connection. Each serves one request.
const CONNECTION: Duration = Duration::from_secs(30);

/// Serves until it is dropped.
pub(crate) struct Servers(Vec<JoinHandle<()>>);

impl Drop for Servers {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Serves the pages for probes and those for metrics, each on a port of its own: whoever may reach the one does not get
/// in the way of the other.
///
/// # Errors
/// When an address cannot be listened on.
pub(crate) async fn serve(probes: SocketAddr, metrics: SocketAddr, pages: Pages) -> anyhow::Result<Servers> {
    let mut servers = Servers(Vec::new());
    for (flag, address, router) in
        [("--listen", probes, probe_pages(pages.clone())), ("--metrics-listen", metrics, metrics_page(pages))]
    {
        let listener = bind(address).await.with_context(|| format!("{flag}: cannot listen on {address}"))?;
        tracing::info!(flag, address = %listener.local_addr().unwrap_or(address), "serving");
        servers.0.push(tokio::spawn(accept(listener, router, HEADER)));
    }
    Ok(servers)
}

async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let until = Instant::now() + TAKEN;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                sleep(AGAIN).await;
            }
            bound => return bound,
        }
    }
}

/// Serves connections, [`CONNECTIONS`] at once, whose requests have their header within `header`.
async fn accept(listener: TcpListener, router: Router, header: Duration) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Mostly that there are no more descriptors: it passes.
                tracing::debug!(%error, "a connection was not accepted");
                sleep(AGAIN).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(header)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // How it ended is the client's affair.
            let _: Result<Result<(), _>, _> = timeout(CONNECTION, connection).await;
        });
    }
}

fn probe_pages(pages: Pages) -> Router {
    Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz)).with_state(pages)
}

fn metrics_page(pages: Pages) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(pages)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::body::{Body, to_bytes};
    use axum::http::{Method, Request};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tower::ServiceExt as _;

    use super::*;

    fn pages() -> Pages {
        Pages { health: Arc::new(Health::new()), metrics: Arc::new(Metrics::new()) }
    }

    fn all(pages: &Pages) -> Router {
        probe_pages(pages.clone()).merge(metrics_page(pages.clone()))
    }

    /// Status, content type and text of a page.
    async fn got(pages: &Pages, method: Method, path: &str) -> (u16, String, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let response = all(pages).oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let kind = response.headers().get(CONTENT_TYPE).map_or("", |kind| kind.to_str().unwrap()).to_owned();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, kind, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Status and text of a page of plain text.
    async fn text(pages: &Pages, path: &str) -> (u16, String) {
        let (status, kind, text) = got(pages, Method::GET, path).await;
        assert_eq!(kind, "text/plain; charset=utf-8", "{path}");
        (status, text)
    }

    #[tokio::test(start_paused = true)]
    async fn a_port_that_is_still_taken_is_waited_for() {
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (taken, free) = (first.local_addr().unwrap(), "127.0.0.1:0".parse().unwrap());
        for (probes, metrics, flag) in [(taken, free, "--listen"), (free, taken, "--metrics-listen")] {
            let Err(error) = serve(probes, metrics, pages()).await else { panic!("{taken} was taken") };
            assert!(format!("{error:#}").starts_with(flag), "{error:#}");
        }
        let (served, ()) = tokio::join!(serve(taken, free, pages()), async {
            sleep(AGAIN * 3).await;
            drop(first);
        });
        drop(served.unwrap());
    }

    /// Clients that connect and say nothing, more than there is room for, hold up a reader for as long as a header may take.
    #[tokio::test]
    async fn who_connects_and_says_nothing_is_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let header = Duration::from_millis(100);
        let server = tokio::spawn(accept(listener, metrics_page(pages()), header));
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS + 8 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut reader = TcpStream::connect(address).await.unwrap();
        reader.write_all(b"GET /metrics HTTP/1.1\r\nHost: operator\r\n\r\n").await.unwrap();
        let mut page = String::new();
        timeout(CONNECTION, reader.read_to_string(&mut page)).await.unwrap().unwrap();
        assert!(page.starts_with("HTTP/1.1 200 OK") && page.ends_with("# EOF\n"), "{page}");
        server.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn healthz_tells_of_a_loop_that_hangs() {
        let pages = pages();
        assert_eq!(text(&pages, "/healthz").await, (200, "ok\n".into()));
        tokio::time::advance(Duration::from_secs(46)).await;
        assert_eq!(text(&pages, "/healthz").await, (503, "the loop has not turned for 46 s\n".into()));
        pages.health.beat();
        assert_eq!(text(&pages, "/healthz").await, (200, "ok\n".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn readyz_tells_what_is_in_the_way_and_whom_a_standby_stands_by_for() {
        let pages = pages();
        assert_eq!(text(&pages, "/readyz").await, (503, "starting\n".into()));
        pages.health.set_obstacles(BTreeSet::from(["no watch".into(), "no epoch".into()]));
        assert_eq!(text(&pages, "/readyz").await, (503, "no epoch\nno watch\n".into()));
        // Not ready is not dead: a restart would not help.
        assert_eq!(text(&pages, "/healthz").await, (200, "ok\n".into()));
        pages.health.set_obstacles(BTreeSet::new());
        assert_eq!(text(&pages, "/readyz").await, (200, "ok\n".into()));
        pages.health.set_standby(Some("stands by for a".into()));
        assert_eq!(text(&pages, "/readyz").await, (200, "stands by for a\n".into()));
    }

    #[tokio::test]
    async fn metrics_are_in_the_form_that_they_are_announced_in() {
        let pages = pages();
        pages.metrics.ready.set(1);
        let (status, kind, text) = got(&pages, Method::GET, "/metrics").await;
        assert_eq!(status, 200);
        assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(text.lines().any(|line| line == "seaworthy_ready 1"), "{text}");
        // Without it a scraper takes the page for cut off.
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[tokio::test]
    async fn nothing_else_is_there_and_nothing_can_be_changed() {
        let pages = pages();
        for path in ["/", "/health", "/healthz/", "/metrics/../healthz", "//healthz", "/debug/pprof"] {
            assert_eq!(got(&pages, Method::GET, path).await.0, 404, "{path}");
        }
        for path in ["/healthz", "/readyz", "/metrics"] {
            for method in [Method::POST, Method::PUT, Method::DELETE] {
                assert_eq!(got(&pages, method.clone(), path).await.0, 405, "{method} {path}");
            }
            let (status, _, text) = got(&pages, Method::HEAD, path).await;
            assert!(matches!(status, 200 | 503) && text.is_empty(), "HEAD {path}: {status} {text}");
        }
    }
}
