//! A small API server in memory, given to the real client as its transport: revisions, pages, watches with bookmarks,
//! conflicts, and faults on demand. Knows of objects only what every API server knows of any.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use axum::body::Body as Reply;
use futures::StreamExt as _;
use futures::channel::mpsc;
use http::{Request, Response, StatusCode};
use kube::client::Body;
use seaworthy_kube::Api;
use serde_json::{Value, json};

/// What goes wrong with the next request that fits.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is answered with this status code and message.
    Answer(u16, &'static str),
    /// A disruption budget does not allow an eviction, with these words.
    Budget(&'static str),
    /// There is nobody to connect to.
    Refused,
    /// It is carried out, and the connection breaks before the answer.
    ReplyLost,
    /// It is carried out, and no answer ever comes.
    Silence,
}

#[derive(Default)]
struct State {
    revision: u64,
    compacted: u64,
    objects: BTreeMap<(String, String), Value>,
    log: Vec<Entry>,
    watchers: Vec<Watcher>,
    faults: Vec<(&'static str, &'static str, Fault)>,
    absent: Vec<&'static str>,
    requests: Vec<String>,
    versions: Vec<&'static str>,
}

struct Entry {
    revision: u64,
    collection: String,
    line: String,
}

struct Watcher {
    collection: String,
    lines: mpsc::UnboundedSender<io::Result<String>>,
}

/// The API server. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

impl Fake {
    /// The real client, connected to this.
    pub(crate) fn api(&self) -> Api {
        let fake = self.clone();
        let service = tower::service_fn(move |request| {
            let fake = fake.clone();
            async move { fake.answer(request).await }
        });
        Api::new(kube::Client::new(service, "default"), Arc::new(()))
    }

    /// Answers for API servers of these versions, each in its turn.
    pub(crate) fn serve_versions(&self, versions: &[&'static str]) {
        self.0.lock().unwrap().versions = versions.to_vec();
    }

    /// Stores an object, as another client would.
    pub(crate) fn put(&self, collection: &str, mut object: Value) -> u64 {
        let mut state = self.0.lock().unwrap();
        let key = (collection.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned());
        if object["metadata"]["uid"].is_null() {
            let uid = state.objects.get(&key).map_or_else(
                || json!(format!("00000000-0000-0000-0000-{:012x}", state.revision + 1)),
                |old| old["metadata"]["uid"].clone(),
            );
            object["metadata"]["uid"] = uid;
        }
        let kind = if state.objects.contains_key(&key) { "MODIFIED" } else { "ADDED" };
        state.commit(key, object, kind)
    }

    /// Removes an object.
    pub(crate) fn delete(&self, collection: &str, name: &str) {
        let mut state = self.0.lock().unwrap();
        let key = (collection.to_owned(), name.to_owned());
        let object = state.objects[&key].clone();
        state.commit(key.clone(), object, "DELETED");
        state.objects.remove(&key);
    }

    /// An object, as it is stored.
    pub(crate) fn get(&self, collection: &str, name: &str) -> Option<Value> {
        self.0.lock().unwrap().objects.get(&(collection.to_owned(), name.to_owned())).cloned()
    }

    /// Forgets all history: who wants to go on from an older version has to list.
    pub(crate) fn compact(&self) {
        let mut state = self.0.lock().unwrap();
        state.compacted = state.revision;
        state.log.clear();
    }

    /// Sets the store back to this revision, as a restore from an older copy does. What changed since is gone.
    pub(crate) fn set_back(&self, revision: u64) {
        let mut state = self.0.lock().unwrap();
        state.revision = revision;
        state.log.retain(|entry| entry.revision <= revision);
        state.objects.retain(|_, object| {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap();
            version.parse::<u64>().unwrap() <= revision
        });
    }

    /// Ends all watches in order.
    pub(crate) fn end_watches(&self) {
        self.0.lock().unwrap().watchers.clear();
    }

    /// Sends a bookmark to the watches of a collection.
    pub(crate) fn bookmark(&self, collection: &str) {
        let state = self.0.lock().unwrap();
        let metadata = json!({"resourceVersion": state.revision.to_string(), "creationTimestamp": null});
        let line = json!({"type": "BOOKMARK", "object": {"metadata": metadata}}).to_string() + "\n";
        for watcher in state.watchers.iter().filter(|watcher| watcher.collection == collection) {
            let _ = watcher.lines.unbounded_send(Ok(line.clone()));
        }
    }

    /// Lets `fault` happen to the next request with this method whose URL contains `part`.
    pub(crate) fn fail(&self, method: &'static str, part: &'static str, fault: Fault) {
        self.0.lock().unwrap().faults.push((method, part, fault));
    }

    /// Makes as if URLs that contain `part` were not served; an empty list serves all again.
    pub(crate) fn absent(&self, parts: &[&'static str]) {
        self.0.lock().unwrap().absent = parts.to_vec();
    }

    /// Method and URL of all requests so far that contain `part`.
    pub(crate) fn requests(&self, part: &str) -> Vec<String> {
        let state = self.0.lock().unwrap();
        state.requests.iter().filter(|request| request.contains(part)).cloned().collect()
    }

    async fn answer(&self, request: Request<Body>) -> io::Result<Response<Reply>> {
        let (parts, body) = request.into_parts();
        let (method, url) = (parts.method.as_str().to_owned(), parts.uri.to_string());
        let body = body.collect_bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let fault = self.0.lock().unwrap().fault(&method, &url);
        match fault {
            Some(Fault::Answer(code, message)) => return Ok(status(code, message)),
            Some(Fault::Budget(words)) => return Ok(no_disruption(words)),
            Some(Fault::Refused) => return Err(io::ErrorKind::ConnectionRefused.into()),
            Some(Fault::ReplyLost) => {
                self.0.lock().unwrap().serve(&method, &url, &body);
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            Some(Fault::Silence) => {
                self.0.lock().unwrap().serve(&method, &url, &body);
                std::future::pending::<()>().await;
            }
            None => {}
        }
        Ok(self.0.lock().unwrap().serve(&method, &url, &body))
    }
}

impl State {
    fn fault(&mut self, method: &str, url: &str) -> Option<Fault> {
        self.requests.push(format!("{method} {url}"));
        if self.absent.iter().any(|part| url.contains(part)) {
            return Some(Fault::Answer(404, "404 page not found"));
        }
        let at = self.faults.iter().position(|(m, part, _)| *m == method && url.contains(part))?;
        Some(self.faults.remove(at).2)
    }

    fn commit(&mut self, key: (String, String), mut object: Value, kind: &str) -> u64 {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let line = json!({"type": kind, "object": object}).to_string() + "\n";
        self.watchers.retain(|watcher| {
            watcher.collection != key.0 || watcher.lines.unbounded_send(Ok(line.clone())).is_ok()
        });
        self.log.push(Entry { revision: self.revision, collection: key.0.clone(), line });
        self.objects.insert(key, object);
        self.revision
    }

    fn serve(&mut self, method: &str, url: &str, body: &Value) -> Response<Reply> {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let query: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        match method {
            "GET" if query.contains_key("watch") => self.watch(path, &query),
            "GET" if query.contains_key("limit") => self.list(path, &query),
            "GET" if path == "/version" && !self.versions.is_empty() => {
                self.versions.rotate_left(1);
                json_reply(200, &json!({"major": "1", "gitVersion": self.versions[0]}))
            }
            "GET" => {
                let (collection, name) = path.rsplit_once('/').unwrap();
                match self.objects.get(&(collection.to_owned(), name.to_owned())) {
                    Some(object) => json_reply(200, object),
                    None => status(404, "not found"),
                }
            }
            "POST" if path.ends_with("/eviction") => self.evict(path, body),
            "POST" => self.create(path, body),
            "DELETE" => self.remove(path, body),
            "PATCH" if body.is_array() => self.patch(path, body),
            _ => self.update(path.trim_end_matches("/status"), body),
        }
    }

    fn watch(&mut self, collection: &str, query: &BTreeMap<&str, &str>) -> Response<Reply> {
        let from: u64 = query["resourceVersion"].parse().unwrap();
        let (lines, stream) = mpsc::unbounded();
        if from < self.compacted {
            let gone = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
            lines.unbounded_send(Ok(json!({"type": "ERROR", "object": gone}).to_string() + "\n")).unwrap();
        } else {
            let missed =
                self.log.iter().filter(|entry| entry.collection == collection && entry.revision > from);
            for entry in missed {
                lines.unbounded_send(Ok(entry.line.clone())).unwrap();
            }
            self.watchers.push(Watcher { collection: collection.to_owned(), lines });
        }
        Response::new(Reply::from_stream(stream.boxed()))
    }

    fn list(&self, collection: &str, query: &BTreeMap<&str, &str>) -> Response<Reply> {
        let limit: usize = query["limit"].parse().unwrap();
        let (revision, after) = match query.get("continue").and_then(|token| token.split_once('~')) {
            Some((revision, after)) => (revision.parse().unwrap(), after),
            None => (self.revision, ""),
        };
        if revision < self.compacted {
            return status(410, "The provided continue parameter is too old");
        }
        let node = query.get("fieldSelector").and_then(|selector| selector.strip_prefix("spec.nodeName%3D"));
        let all = self.objects.iter().filter(|((c, name), object)| {
            c == collection
                && name.as_str() > after
                && node.is_none_or(|node| object["spec"]["nodeName"] == node)
        });
        let items: Vec<_> = all.clone().take(limit).map(|(_, object)| object).collect();
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if all.count() > limit {
            let last = items[limit - 1]["metadata"]["name"].as_str().unwrap();
            metadata["continue"] = json!(format!("{revision}~{last}"));
        }
        json_reply(200, &json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}))
    }

    /// Evicts a pod. This fake keeps all pods in one collection, whatever their namespace.
    fn evict(&mut self, path: &str, body: &Value) -> Response<Reply> {
        let name = path.trim_end_matches("/eviction").rsplit('/').next().unwrap();
        let status = self.remove(&format!("/api/v1/pods/{name}"), &body["deleteOptions"]);
        if status.status() == 200 {
            json_reply(201, &json!({"kind": "Status", "status": "Success"}))
        } else {
            status
        }
    }

    fn remove(&mut self, path: &str, options: &Value) -> Response<Reply> {
        let (collection, name) = path.rsplit_once('/').unwrap();
        let key = (collection.to_owned(), name.to_owned());
        let Some(object) = self.objects.get(&key).cloned() else { return status(404, "not found") };
        let uid = &options["preconditions"]["uid"];
        if !uid.is_null() && *uid != object["metadata"]["uid"] {
            return status(409, "the UID in the precondition does not match");
        }
        self.commit(key.clone(), object, "DELETED");
        self.objects.remove(&key);
        json_reply(200, &json!({"kind": "Status", "status": "Success", "metadata": {}}))
    }

    /// A JSON patch, with the operations and the words of the real API server.
    fn patch(&mut self, path: &str, operations: &Value) -> Response<Reply> {
        let (collection, name) = path.rsplit_once('/').unwrap();
        let key = (collection.to_owned(), name.to_owned());
        let Some(mut object) = self.objects.get(&key).cloned() else { return status(404, "not found") };
        for operation in operations.as_array().unwrap() {
            if operate(&mut object, operation).is_none() {
                return status(422, "the server rejected our request due to an error in our request");
            }
        }
        self.commit(key.clone(), object, "MODIFIED");
        json_reply(200, &self.objects[&key])
    }

    fn create(&mut self, collection: &str, body: &Value) -> Response<Reply> {
        let key = (collection.to_owned(), body["metadata"]["name"].as_str().unwrap().to_owned());
        if self.objects.contains_key(&key) {
            return status(409, "already exists");
        }
        let mut object = body.clone();
        object["metadata"]["uid"] = json!(format!("00000000-0000-0000-0000-{:012x}", self.revision + 1));
        self.commit(key.clone(), object, "ADDED");
        json_reply(201, &self.objects[&key])
    }

    /// A merge patch, which for a status means the same as a replacement here.
    fn update(&mut self, path: &str, body: &Value) -> Response<Reply> {
        let (collection, name) = path.rsplit_once('/').unwrap();
        let key = (collection.to_owned(), name.to_owned());
        let Some(mut object) = self.objects.get(&key).cloned() else { return status(404, "not found") };
        for field in ["uid", "resourceVersion"] {
            let expected = &body["metadata"][field];
            if !expected.is_null() && *expected != object["metadata"][field] {
                return status(409, "the object has been modified");
            }
        }
        merge(&mut object, body);
        self.commit(key.clone(), object, "MODIFIED");
        json_reply(200, &self.objects[&key])
    }
}

fn operate(object: &mut Value, operation: &Value) -> Option<()> {
    let (path, value) = (operation["path"].as_str()?, &operation["value"]);
    if operation["op"] == "test" {
        return (object.pointer(path).unwrap_or(&Value::Null) == value).then_some(());
    }
    let (parent, last) = path.rsplit_once('/')?;
    let last = last.replace("~1", "/");
    match (object.pointer_mut(parent)?, operation["op"].as_str()?) {
        (Value::Array(items), "add") => items.push(value.clone()),
        (Value::Array(items), "remove") => drop(items.remove(last.parse().ok()?)),
        (Value::Object(fields), "add") => drop(fields.insert(last, value.clone())),
        (Value::Object(fields), "remove") => drop(fields.remove(&last)?),
        _ => return None,
    }
    Some(())
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    for (name, value) in fields {
        if value.is_null() {
            if let Some(object) = target.as_object_mut() {
                object.remove(name);
            }
        } else {
            merge(&mut target[name], value);
        }
    }
}

fn json_reply(code: u16, body: &Value) -> Response<Reply> {
    let mut response = Response::new(Reply::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

/// What the API server says when a disruption budget does not allow an eviction.
fn no_disruption(words: &str) -> Response<Reply> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests",
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "details": {"causes": [{"reason": "DisruptionBudget", "message": words}]},
    });
    json_reply(429, &body)
}

fn status(code: u16, message: &str) -> Response<Reply> {
    let body =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message});
    json_reply(code, &body)
}
