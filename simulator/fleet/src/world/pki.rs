//! Requests and certificates as the simulated world writes them: what decisions depend on, as JSON in the armour of PEM.
//! Nothing in it is signed. That a key belongs to somebody is a fact of the world, which the oracle knows.

use seaworthy_api::base64::{armour, disarm};
use seaworthy_model::certificate::{Certificate, RequestContent};
use serde::Serialize;
use serde::de::DeserializeOwned;

const REQUEST: &str = "CERTIFICATE REQUEST";
const CERTIFICATE: &str = "CERTIFICATE";

/// A request.
#[must_use]
pub fn request(content: &RequestContent) -> String {
    write(REQUEST, content)
}

/// What is in a request.
///
/// # Errors
/// When it is not one.
pub fn read_request(pem: &str) -> Result<RequestContent, String> {
    read(REQUEST, pem)
}

/// A certificate.
#[must_use]
pub fn certificate(content: &Certificate) -> String {
    write(CERTIFICATE, content)
}

/// What is in a certificate.
///
/// # Errors
/// When it is not one.
pub fn read_certificate(pem: &str) -> Result<Certificate, String> {
    read(CERTIFICATE, pem)
}

fn write<T: Serialize>(label: &str, content: &T) -> String {
    armour(label, serde_json::to_string(content).unwrap_or_default().as_bytes())
}

fn read<T: DeserializeOwned>(label: &str, pem: &str) -> Result<T, String> {
    let bytes = disarm(label, pem).ok_or_else(|| format!("it is not PEM with a {label}"))?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}
