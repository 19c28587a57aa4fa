//! A validating webhook that admits a limited number of writes per second. All others are answered with 429, as by an API
//! server that protects itself.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::extract::State;
use axum::routing::post;
use axum::serve::Listener;
use axum::{Json, Router};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Admission that was not used is kept for so long.
const KEPT: Duration = Duration::from_secs(1);

/// Serves the webhook until the process ends.
///
/// # Errors
/// The certificate or its key cannot be read, or the address cannot be listened on.
pub async fn serve(listen: SocketAddr, certificate: &Path, key: &Path, per_second: NonZeroU32) -> Result<()> {
    let tls = TlsAcceptor::from(Arc::new(server_config(certificate, key)?));
    let tcp = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let allowance = Arc::new(Mutex::new(Allowance::new(per_second, Instant::now())));
    let router = Router::new().route("/", post(answer)).with_state(allowance);
    axum::serve(SecureListener { tcp, tls }, router).await.context("cannot serve")
}

fn server_config(certificate: &Path, key: &Path) -> Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .with_context(|| format!("cannot read {}", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| format!("cannot read {}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_no_client_auth().with_single_cert(chain, key)?)
}

/// Accepts connections, and shakes hands on each before the next one: an API server opens few and keeps them.
struct SecureListener {
    tcp: TcpListener,
    tls: TlsAcceptor,
}

impl Listener for SecureListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.tcp).await;
            match self.tls.accept(stream).await {
                Ok(stream) => return (stream, address),
                Err(error) => eprintln!("{address}: {error}"),
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// How many writes are admitted: a token bucket, kept as the time until which its tokens are used up.
#[derive(Debug)]
struct Allowance {
    /// The time in which one more write is admitted.
    each: Duration,
    used_until: Instant,
}

impl Allowance {
    fn new(per_second: NonZeroU32, now: Instant) -> Self {
        Self { each: Duration::from_secs(1) / per_second.get(), used_until: now }
    }

    /// Whether one more write is admitted now.
    fn take(&mut self, now: Instant) -> bool {
        let used_until = self.used_until.max(now);
        let is_admitted = used_until.duration_since(now) + self.each <= KEPT;
        if is_admitted {
            self.used_until = used_until + self.each;
        }
        is_admitted
    }
}

/// Answers an AdmissionReview.
async fn answer(State(allowance): State<Arc<Mutex<Allowance>>>, Json(review): Json<Value>) -> Json<Value> {
    let is_admitted = allowance.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
    Json(verdict(&review, is_admitted))
}

fn verdict(review: &Value, is_admitted: bool) -> Value {
    let mut response = json!({"uid": review["request"]["uid"], "allowed": is_admitted});
    if !is_admitted {
        response["status"] = json!({
            "code": 429,
            "reason": "TooManyRequests",
            "message": "too many writes, try again later",
            "details": {"retryAfterSeconds": 1},
        });
    }
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a hundred writes at once are admitted.
    fn admitted(allowance: &mut Allowance, now: Instant) -> usize {
        (0..100).filter(|_| allowance.take(now)).count()
    }

    #[test]
    fn what_is_not_used_is_kept_for_a_second() {
        let start = Instant::now();
        let mut allowance = Allowance::new(NonZeroU32::new(10).unwrap(), start);
        assert_eq!(admitted(&mut allowance, start), 10);
        assert_eq!(admitted(&mut allowance, start + Duration::from_millis(99)), 0);
        assert_eq!(admitted(&mut allowance, start + Duration::from_millis(300)), 3);
        assert_eq!(admitted(&mut allowance, start + Duration::from_secs(60)), 10);
    }

    #[test]
    fn what_is_not_admitted_is_answered_with_429() {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "7"},
        });
        let verdicts = [true, false].map(|is_admitted| verdict(&review, is_admitted));
        let code = &verdicts[1]["response"]["status"]["code"];
        assert_eq!((&verdicts[0]["response"]["allowed"], code), (&json!(true), &json!(429)));
        assert_eq!(verdicts[1]["response"]["uid"], "7");
    }
}
