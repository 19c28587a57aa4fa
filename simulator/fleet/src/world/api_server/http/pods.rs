//! Pods, disruption budgets, service accounts and namespaces as a client meets them. They are stored apart from the
//! watched kinds, and only what the conformance script calls is served: no watches of them, and no lists but that of the
//! pods of a Node.

use seaworthy_api::object::Metadata;
use seaworthy_api::v1alpha1::NAMESPACE;
use seaworthy_kernel::{Timestamp, word};
use seaworthy_model::id::Uid;
use serde_json::{Value, json};

use super::write::preconditions;
use super::{Answer, Call, MERGE_PATCH, answer, json};
use crate::world::api_server::{
    ApiServer, Budget, DeleteOptions, EvictionRefusal, GRACE_DEFAULT, MIRROR_ANNOTATION, Phase, Pod, Refusal,
};

type Served = Result<Answer, Box<Answer>>;

/// The namespaces of a new cluster, and ours.
const NAMESPACES: [&str; 5] = ["default", "kube-node-lease", "kube-public", "kube-system", NAMESPACE];

/// What a path names.
enum Place<'a> {
    /// All pods, in pages and by Node.
    AllPods(&'a str),
    Namespace(&'a str),
    /// A collection in a namespace, and what follows it in the path.
    In(&'a str, &'a str, &'a [&'a str]),
}

impl ApiServer {
    /// Answers a call about pods and what belongs to them. `None` if it is about something else.
    pub(super) fn serve_pods(&mut self, call: &Call<'_>, now: Timestamp) -> Option<Answer> {
        let (path, query) = call.path.split_once('?').unwrap_or((call.path, ""));
        let words: Vec<&str> = path.split('/').skip(1).collect();
        let place = match words.as_slice() {
            ["api", "v1", "pods"] => Place::AllPods(query),
            ["api", "v1", "namespaces", name] => Place::Namespace(name),
            ["api", "v1", "namespaces", space, kind @ ("pods" | "serviceaccounts"), rest @ ..]
            | ["apis", "policy", "v1", "namespaces", space, kind @ "poddisruptionbudgets", rest @ ..] => {
                Place::In(space, kind, rest)
            }
            _ => return None,
        };
        let served = match place {
            Place::AllPods(query) if call.method == "GET" => self.list_pods(query),
            Place::Namespace(name) if call.method == "GET" => self.namespace(name),
            Place::In(space, kind, rest) if query.is_empty() => self.serve_in(call, (space, kind, rest), now),
            Place::AllPods(_) | Place::Namespace(_) | Place::In(..) => Ok(answer::not_modelled(call.method)),
        };
        Some(served.unwrap_or_else(|refused| *refused))
    }

    fn serve_in(
        &mut self,
        call: &Call<'_>,
        (space, kind, rest): (&str, &str, &[&str]),
        now: Timestamp,
    ) -> Served {
        let (body, is_merge) = (call.body, call.content_type == MERGE_PATCH);
        match (call.method, kind, rest) {
            ("POST", "serviceaccounts", []) => {
                let created = self.create_account(metadata_of(body, space), now);
                let created = created.map_err(|refusal| refused(&refusal, "serviceaccounts"))?;
                Ok(Answer { code: 201, ..answer::ok(object("v1", "ServiceAccount", &created)) })
            }
            ("POST", "pods", []) => self.post_pod(space, body, now),
            ("GET", "pods", [name]) => Ok(answer::ok(shown(self.named(space, name)?.1))),
            ("PATCH", "pods", [name, "status"]) if is_merge => self.patch_pod_status(space, name, body),
            ("POST", "pods", [name, "eviction"]) => self.post_eviction(space, name, body, now),
            ("DELETE", "pods", [name]) => {
                let (number, options) = (self.named(space, name)?.0, delete_options(body)?);
                let deleted = self.delete_pod(number, options, now);
                deleted.map(|deleted| answer::ok(shown(&deleted.pod))).map_err(|why| refused(&why, "pods"))
            }
            ("POST", "poddisruptionbudgets", []) => {
                let mut budget = read_budget(body)?;
                budget.metadata = metadata_of(body, space);
                let created = self.create_budget(budget, now).map(shown_budget);
                let created = created.map_err(|refusal| refused(&refusal, "poddisruptionbudgets"))?;
                Ok(Answer { code: 201, ..answer::ok(created) })
            }
            ("GET", "poddisruptionbudgets", [name]) => {
                let budget =
                    self.budget(space, name).ok_or_else(|| not_found("poddisruptionbudgets", name))?;
                Ok(answer::ok(shown_budget(budget)))
            }
            ("PATCH", "poddisruptionbudgets", [name, rest @ ..])
                if is_merge && matches!(rest, [] | ["status"]) =>
            {
                self.patch_budget((space, name), body, !rest.is_empty())
            }
            ("DELETE", "poddisruptionbudgets", [name]) => {
                let deleted = self.delete_budget((space, name), delete_options(body)?.preconditions);
                let deleted = deleted.map_err(|refusal| refused(&refusal, "poddisruptionbudgets"))?;
                Ok(answer::ok(answer::deleted(name, &deleted.metadata.uid.to_string())))
            }
            _ => Ok(answer::not_modelled(call.method)),
        }
    }

    fn named(&self, space: &str, name: &str) -> Result<(u32, &Pod), Box<Answer>> {
        let number = self.pod_named(space, name).ok_or_else(|| not_found("pods", name))?;
        Ok((number, self.pod(number).ok_or_else(|| not_found("pods", name))?))
    }

    /// Creates a pod. As admission does, it requires the service account, except of a mirror pod, which has none.
    fn post_pod(&mut self, space: &str, body: &Value, now: Timestamp) -> Served {
        let metadata = metadata_of(body, space);
        let spec = &body["spec"];
        let text = |field: &str| spec[field].as_str().filter(|text| !text.is_empty());
        let is_mirror = metadata.annotations.contains_key(MIRROR_ANNOTATION);
        let account = text("serviceAccountName");
        let is_admitted = match (is_mirror, account) {
            (true, account) => account.is_none(),
            (false, account) => self.has_account(space, account.unwrap_or("default")),
        };
        if !is_admitted {
            return Err(answer::refused(403, "Forbidden", "the service account does not admit the pod"));
        }
        let volumes = spec["volumes"].as_array().map_or(&[][..], Vec::as_slice);
        let account = if is_mirror { "" } else { account.unwrap_or("default") };
        let pod = Pod {
            metadata,
            node: text("nodeName").map(Into::into),
            account: account.to_owned(),
            grace: spec["terminationGracePeriodSeconds"].as_u64().unwrap_or(GRACE_DEFAULT),
            has_local_storage: volumes.iter().any(|volume| volume["emptyDir"].is_object()),
            ..Pod::default()
        };
        let created = self.create_pod(pod, now).map_err(|refusal| refused(&refusal, "pods"))?;
        let created = self.pod(created).map(shown).unwrap_or_default();
        Ok(Answer { code: 201, ..answer::ok(created) })
    }

    fn patch_pod_status(&mut self, space: &str, name: &str, body: &Value) -> Served {
        let (number, pod) = self.named(space, name)?;
        let mut patched = shown(pod);
        json::merge(&mut patched, body);
        let phase = patched["status"]["phase"].as_str().and_then(Phase::parse);
        let phase = phase.ok_or_else(|| answer::bad_request("no phase"))?;
        self.set_pod_status(number, phase, is_ready(&patched["status"]));
        Ok(answer::ok(shown(self.named(space, name)?.1)))
    }

    fn post_eviction(&mut self, space: &str, name: &str, body: &Value, now: Timestamp) -> Served {
        if body["metadata"]["name"].as_str() != Some(name) {
            return Err(answer::bad_request("name in URL does not match name in Eviction object"));
        }
        let (number, options) = (self.named(space, name)?.0, delete_options(&body["deleteOptions"])?);
        match self.evict_pod(number, options, now) {
            Ok(_) => Ok(Answer { code: 201, body: vec![answer::success()] }),
            Err(EvictionRefusal::Deletion(refusal)) => Err(refused(&refusal, "pods")),
            Err(EvictionRefusal::SeveralBudgets) => {
                Err(answer::refused(500, "", "This pod has more than one PodDisruptionBudget"))
            }
            Err(EvictionRefusal::Budget(why)) => {
                let message = "Cannot evict pod as it would violate the pod's disruption budget.";
                let mut status = answer::failure(429, "TooManyRequests", message);
                status["details"] = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
                Err(Box::new(Answer { code: 429, body: vec![status] }))
            }
        }
    }

    fn patch_budget(&mut self, (space, name): (&str, &str), body: &Value, is_status: bool) -> Served {
        let present = self.budget(space, name).ok_or_else(|| not_found("poddisruptionbudgets", name))?;
        let mut patched = shown_budget(present);
        json::merge(&mut patched, body);
        let mut budget = read_budget(&patched)?;
        let version = patched["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        budget.metadata.namespace = Some(space.to_owned());
        let updated = self.update_budget(budget, preconditions("", version), is_status);
        updated.map(|budget| answer::ok(shown_budget(budget))).map_err(|why| refused(&why, name))
    }

    /// The pods of a Node, or all, in one page.
    fn list_pods(&self, query: &str) -> Served {
        let mut node = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("limit", _) | ("continue", "") => {}
                ("fieldSelector", selector) => {
                    let selected = selector.strip_prefix("spec.nodeName%3D");
                    node = Some(selected.ok_or_else(|| Box::new(answer::not_modelled("field selector")))?);
                }
                (other, _) => return Ok(answer::not_modelled(other)),
            }
        }
        let pods = self.all_pods().filter(|pod| node.is_none_or(|node| pod.node.as_deref() == Some(node)));
        let items = pods.map(|pod| without_kind(shown(pod))).collect::<Vec<_>>();
        let metadata = json!({"resourceVersion": self.revision().to_string()});
        Ok(answer::ok(json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": items})))
    }

    fn namespace(&self, name: &str) -> Served {
        let place = NAMESPACES.iter().position(|known| *known == name);
        let number = place.ok_or_else(|| not_found("namespaces", name))? as u64;
        let mut metadata = Metadata::named(name);
        let half = |part| u128::from(self.draws.bits(word("namespace"), number, part));
        metadata.uid = Uid(half(0) << 64 | half(1)).into();
        metadata.resource_version = 1.into();
        metadata.creation_timestamp = Some(crate::vocabulary::START.into());
        metadata.labels.insert("kubernetes.io/metadata.name".into(), name.into());
        let mut object = object("v1", "Namespace", &metadata);
        object["spec"] = json!({"finalizers": ["kubernetes"]});
        object["status"] = json!({"phase": "Active"});
        Ok(answer::ok(object))
    }
}

fn object(api_version: &str, kind: &str, metadata: &Metadata) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

fn without_kind(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
    }
    object
}

/// A pod as a client sees it.
fn shown(pod: &Pod) -> Value {
    let mut shown = object("v1", "Pod", &pod.metadata);
    if let Some(grace) = pod.deletion_grace {
        shown["metadata"]["deletionGracePeriodSeconds"] = grace.into();
    }
    shown["spec"] = json!({"terminationGracePeriodSeconds": pod.grace, "volumes": []});
    if let Some(node) = &pod.node {
        shown["spec"]["nodeName"] = node.to_string().into();
    }
    if !pod.account.is_empty() {
        shown["spec"]["serviceAccountName"] = pod.account.as_str().into();
    }
    if pod.has_local_storage {
        shown["spec"]["volumes"] = json!([{"name": "local", "emptyDir": {}}]);
    }
    let ready = if pod.is_ready { "True" } else { "False" };
    shown["status"] = json!({"phase": pod.phase.name(), "conditions": [{"type": "Ready", "status": ready}]});
    shown
}

fn shown_budget(budget: &Budget) -> Value {
    let mut shown = serde_json::to_value(budget).unwrap_or_default();
    shown["apiVersion"] = "policy/v1".into();
    shown["kind"] = "PodDisruptionBudget".into();
    shown
}

fn read_budget(body: &Value) -> Result<Budget, Box<Answer>> {
    serde_json::from_value(body.clone()).map_err(|error| answer::bad_request(&error.to_string()))
}

fn is_ready(status: &Value) -> bool {
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// What a client may set in the metadata of a new object.
fn metadata_of(body: &Value, space: &str) -> Metadata {
    let mut metadata: Metadata = serde_json::from_value(body["metadata"].clone()).unwrap_or_default();
    metadata.namespace = Some(space.to_owned());
    metadata
}

fn delete_options(body: &Value) -> Result<DeleteOptions, Box<Answer>> {
    let known = ["apiVersion", "kind", "preconditions", "gracePeriodSeconds"];
    let fields = body.as_object().into_iter().flatten();
    if let Some((other, _)) = fields.into_iter().find(|(field, _)| !known.contains(&field.as_str())) {
        return Err(Box::new(answer::not_modelled(other)));
    }
    let text = |field: &str| body["preconditions"][field].as_str().unwrap_or_default();
    let preconditions = preconditions(text("uid"), text("resourceVersion"));
    Ok(DeleteOptions { preconditions, grace: body["gracePeriodSeconds"].as_u64() })
}

fn not_found(kind: &str, name: &str) -> Box<Answer> {
    answer::refused(404, "NotFound", &format!("{kind} {name:?} not found"))
}

fn refused(refusal: &Refusal, kind: &str) -> Box<Answer> {
    match refusal {
        Refusal::AlreadyExists => answer::refused(409, "AlreadyExists", &format!("{kind} exists already")),
        Refusal::NotFound => not_found(kind, ""),
        Refusal::Conflict(why) => answer::refused(409, "Conflict", why),
        Refusal::TestFailed | Refusal::Invalid(_) => answer::refused(422, "Invalid", kind),
    }
}
