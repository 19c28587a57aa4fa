//! The API server as a client meets it: method, path, query, JSON in; code and JSON out.
//!
//! ```text
//! Call --> route (kind, name, subresource, parameters)
//!            GET     read.rs    object, list in pages, watch
//!            others  write.rs   create, replace, merge patch, status, delete
//!          pods.rs: pods, disruption budgets, evictions, service accounts, namespaces
//! ```
//!
//! What is here is held against a real kube-apiserver, step by step. A call that the model does not have is answered
//! with 501 and never with something that merely looks right; `simulator/RULES.md` says which those are, and why.

mod answer;
mod json;
mod json_patch;
mod pods;
mod read;
mod write;

use std::collections::BTreeMap;

use seaworthy_api::object::Endpoint;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use serde_json::Value;

use super::{ApiServer, KINDS};

/// A request.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// The media type of the body. Only what a `PATCH` is depends on it.
    pub content_type: &'a str,
    /// The body; `Value::Null` when there is none.
    pub body: &'a Value,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The body: one object or list, or, of a watch, every event so far. A real watch goes on; its client calls again.
    pub body: Vec<Value>,
}

/// What a path names.
struct Place<'a> {
    kind: Kind,
    /// `None` names the collection.
    name: Option<&'a str>,
    is_status: bool,
    /// The subresource through which a certificate request is approved.
    is_approval: bool,
    parameters: BTreeMap<&'a str, String>,
}

impl ApiServer {
    /// Answers a request that arrives at `now`.
    pub fn serve(&mut self, call: &Call<'_>, now: Timestamp) -> Answer {
        if let Some(answer) = self.serve_pods(call, now) {
            return answer;
        }
        let Some(place) = Place::of(call.path) else { return answer::no_such_path() };
        if let Some(name) = place.not_modelled(call.method) {
            return answer::not_modelled(name);
        }
        let served = match (call.method, place.name) {
            ("GET", Some(name)) if !place.is_status && !place.is_approval => self.read(place.kind, name),
            ("GET", None) if place.parameters.contains_key("watch") => self.watch(&place, now),
            ("GET", None) => self.list(&place),
            ("POST", None) => self.post(&place, call.body, now),
            ("PUT", Some(name)) => self.put(&place, name, call.body, now),
            ("PATCH", Some(name)) if call.content_type == MERGE_PATCH => {
                self.patch(&place, name, call.body, now)
            }
            ("PATCH", Some(name)) if call.content_type == JSON_PATCH && place.kind == Kind::Node => {
                self.json_patch(&place, name, call.body, now)
            }
            ("DELETE", Some(name)) if !place.is_status && !place.is_approval => {
                self.remove_named(&place, name, call.body, now)
            }
            _ => return answer::not_modelled(call.method),
        };
        served.unwrap_or_else(|refused| *refused)
    }
}

const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// The parameters that are understood, or that change nothing here.
const READ: [&str; 10] = [
    "watch",
    "resourceVersion",
    "resourceVersionMatch",
    "limit",
    "continue",
    "fieldSelector",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "timeout",
    "pretty",
];
const WRITE: [&str; 2] = ["fieldManager", "pretty"];

impl<'a> Place<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parameters = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (name, unescaped(value)))
            .collect();
        for kind in KINDS {
            let Some(rest) = path.strip_prefix(&*Endpoint::of(kind).collection()) else { continue };
            let mut words = rest.split('/').skip(1);
            let (name, subresource, more) = (words.next(), words.next(), words.next());
            let is_status = subresource == Some("status");
            let is_approval = subresource == Some("approval") && kind == Kind::CertificateSigningRequest;
            if (rest.is_empty() || rest.starts_with('/'))
                && more.is_none()
                && subresource.is_none_or(|_| is_status || is_approval)
            {
                return Some(Self { kind, name, is_status, is_approval, parameters });
            }
        }
        None
    }

    /// What is asked for beyond the model, if anything.
    fn not_modelled(&self, method: &str) -> Option<&'a str> {
        let known: &[&str] = if method == "GET" { &READ } else { &WRITE };
        self.parameters.keys().find(|name| !known.contains(name)).copied()
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A parameter that is a revision; 0 and nothing both mean any.
    fn revision(&self) -> Result<Option<u64>, Box<Answer>> {
        let Some(text) = self.parameter("resourceVersion") else { return Ok(None) };
        let revision: u64 = text.parse().map_err(|_| answer::bad_request("invalid resource version"))?;
        Ok(Some(revision).filter(|revision| *revision > 0))
    }
}

/// A value of a query, of which nothing but `%3D` and `%2C` needs an escape here.
fn unescaped(value: &str) -> String {
    value.replace("%3D", "=").replace("%2C", ",")
}

#[cfg(test)]
mod tests {
    use seaworthy_kernel::{Draws, Seed};
    use serde_json::json;

    use super::*;
    use crate::vocabulary::START;

    fn ask(server: &mut ApiServer, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let answer = server.serve(&Call { method, path, content_type: MERGE_PATCH, body }, START);
        (answer.code, answer.body.first().cloned().unwrap_or_default())
    }

    #[test]
    fn what_is_not_modelled_says_so() {
        let mut server = ApiServer::new(Draws::new(Seed(1)));
        let machines = "/apis/seaworthy.dev/v1alpha1/machines";
        for (method, path) in [
            ("GET", format!("{machines}?labelSelector=a%3Db")),
            ("GET", format!("{machines}/one/status")),
            ("POST", format!("{machines}?dryRun=All")),
            ("DELETE", machines.to_owned()),
        ] {
            assert_eq!(ask(&mut server, method, &path, &Value::Null).0, 501, "{method} {path}");
        }
        for path in ["/apis/seaworthy.dev/v1alpha1/machinesx", "/api/v1/podsx", "", "/"] {
            assert_eq!(ask(&mut server, "GET", path, &Value::Null).0, 404, "{path}");
        }
    }

    #[test]
    fn nonsense_is_refused_and_changes_nothing() {
        let mut server = ApiServer::new(Draws::new(Seed(1)));
        let machines = "/apis/seaworthy.dev/v1alpha1/machines";
        for body in [json!(null), json!([]), json!({}), json!({"metadata": 7}), json!({"metadata": {}})] {
            let (code, _) = ask(&mut server, "POST", machines, &body);
            assert!((400..500).contains(&code), "{body}: {code}");
        }
        assert_eq!(ask(&mut server, "GET", &format!("{machines}?resourceVersion=x"), &Value::Null).0, 400);
        assert_eq!(ask(&mut server, "GET", &format!("{machines}?limit=-1"), &Value::Null).0, 400);
        assert_eq!(server.revision(), 1);
    }
}
