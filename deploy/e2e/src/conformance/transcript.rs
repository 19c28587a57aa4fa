//! Answers without what differs between any two runs: uids and versions become ordinals, times become placeholders.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Answer;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Rule and step.
    pub place: String,
    /// The answer in short.
    pub summary: String,
    /// Its objects.
    pub objects: Vec<Value>,
}

/// All answers of a run.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    ordinals: BTreeMap<(&'static str, String), usize>,
    /// The newest version of an object that was seen, by kind.
    newest: BTreeMap<String, u64>,
    bookmarks: usize,
}

impl Transcript {
    /// The answers, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many bookmarks came. When one comes is the server's choice, so they are not compared.
    #[must_use]
    pub const fn bookmarks(&self) -> usize {
        self.bookmarks
    }

    pub(super) fn add(&mut self, place: &str, answer: &Answer) -> Result<()> {
        let mut objects = Vec::new();
        let mut reached = None;
        for body in &answer.body {
            let at = version(&body["object"]);
            if is_bookmark(body) {
                ensure!(at.is_some() && at >= reached, "a bookmark is behind the events before it: {body}");
                self.bookmarks += 1;
            } else {
                objects.push(self.normal(body));
            }
            reached = at;
        }
        self.entries.push(Entry { place: place.to_owned(), summary: summary(answer), objects });
        Ok(())
    }

    fn normal(&mut self, body: &Value) -> Value {
        let kind = body["kind"].as_str().unwrap_or_default();
        if let (Some(event), true) = (body["type"].as_str(), is_change(body)) {
            return json!({"type": event, "object": self.normal(&body["object"])});
        }
        if kind == "Status" {
            // The rest is in the summary; words are nobody's contract.
            return json!({"status": body["status"]});
        }
        if let (Some(kind), Some(items)) = (kind.strip_suffix("List"), body["items"].as_array()) {
            let items = items.iter().map(|item| self.object(item, kind)).collect::<Vec<_>>();
            let metadata = &body["metadata"];
            return json!({
                "age": self.age(body, kind),
                "goes on": metadata["continue"].as_str().is_some_and(|token| !token.is_empty()),
                "remaining": metadata["remainingItemCount"],
                "items": items,
            });
        }
        self.object(body, kind)
    }

    /// Whether the version of a list covers all that was seen of this kind.
    fn age(&self, body: &Value, kind: &str) -> &'static str {
        let version = version(body).unwrap_or_default();
        if version >= self.newest.get(kind).copied().unwrap_or_default() { "newest" } else { "older" }
    }

    fn object(&mut self, object: &Value, kind: &str) -> Value {
        let mut object = object.clone();
        if let Some(version) = version(&object) {
            let newest = self.newest.entry(kind.to_owned()).or_default();
            *newest = version.max(*newest);
        }
        if kind == "Node" {
            // Of a Node only the conditions are modelled; the real server puts a taint and empty fields there.
            object["spec"] = json!({});
            object["status"] = json!({"conditions": object["status"]["conditions"]});
        }
        if kind == "Pod" {
            pod(&mut object);
        }
        if kind == "PodDisruptionBudget" {
            // Conditions and the times of evictions are not modelled.
            let disrupted = object["status"]["disruptedPods"].as_object();
            let disrupted = disrupted.map(|pods| pods.keys().cloned().collect::<Vec<_>>());
            object["status"]["disruptedPods"] = json!(disrupted.unwrap_or_default());
            object["status"]["conditions"] = Value::Null;
        }
        if kind == "CertificateSigningRequest" {
            // Whoever asks is known by other words to each of the two; of conditions, times are not modelled.
            let said = |condition: &Value| {
                json!([condition["type"], condition["status"], condition["reason"], condition["message"]])
            };
            let conditions = object["status"]["conditions"].as_array();
            let conditions: Vec<Value> = conditions.into_iter().flatten().map(said).collect();
            let (spec, certificate) = (&object["spec"], &object["status"]["certificate"]);
            let asked = json!([spec["request"], spec["signerName"], spec["usages"]]);
            let status = json!({"conditions": conditions, "certificate": certificate});
            object["spec"] = asked;
            object["status"] = status;
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            // The model has no field managers.
            metadata.remove("managedFields");
            if kind != "Pod" {
                metadata.remove("deletionGracePeriodSeconds");
            }
            for (field, value) in metadata.iter_mut() {
                *value = match (field.as_str(), value.as_str()) {
                    ("uid", Some(uid)) => self.ordinal("uid", uid),
                    ("resourceVersion", Some(version)) => self.ordinal("version", version),
                    ("creationTimestamp" | "deletionTimestamp", Some(_)) => json!("a time"),
                    _ => continue,
                };
            }
        }
        object
    }

    fn ordinal(&mut self, class: &'static str, text: &str) -> Value {
        let next = self.ordinals.keys().filter(|(other, _)| *other == class).count() + 1;
        let number = self.ordinals.entry((class, text.to_owned())).or_insert(next);
        format!("{class} {number}").into()
    }
}

/// Leaves of a pod what evictions and drains depend on: the real server fills in much more.
fn pod(object: &mut Value) {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volumes = spec["volumes"].as_array().map_or(&[][..], Vec::as_slice);
    let is_local = volumes.iter().any(|volume| volume["emptyDir"].is_object());
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let is_ready =
        conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let (node, grace) = (&spec["nodeName"], &spec["terminationGracePeriodSeconds"]);
    let spec = json!([node, grace, spec["serviceAccountName"], is_local]);
    let status = json!([status["phase"], is_ready]);
    (object["spec"], object["status"]) = (spec, status);
}

/// Whether it is what a watch tells. An Event, the object, has a type as well.
fn is_change(told: &Value) -> bool {
    told["object"].is_object()
}

fn is_bookmark(event: &Value) -> bool {
    event["type"] == "BOOKMARK"
}

fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// An answer in short: `201`, `409 Conflict`, `422 Invalid spec.ssh.port`, `200 [one, two]`, `200 ADDED one, DELETED two`.
pub(super) fn summary(answer: &Answer) -> String {
    let words = match answer.body.as_slice() {
        [] => String::new(),
        [one] if !is_change(one) => described(one),
        events => events.iter().filter(|event| !is_bookmark(event)).map(event).collect::<Vec<_>>().join(", "),
    };
    format!("{} {words}", answer.code).trim_end().to_owned()
}

fn event(event: &Value) -> String {
    let object = &event["object"];
    let kind = event["type"].as_str().unwrap_or("?");
    match kind {
        "ERROR" => format!("ERROR {} {}", object["code"], described(object)),
        _ => format!("{kind} {}", name(object)),
    }
}

fn described(object: &Value) -> String {
    if let Some(items) = object["items"].as_array() {
        return format!("[{}]", items.iter().map(name).collect::<Vec<_>>().join(", "));
    }
    match (object["kind"].as_str(), object["status"].as_str()) {
        (Some("Status"), Some("Success")) => "deleted".to_owned(),
        (Some("Status"), _) => {
            let mut words = vec![object["reason"].as_str().unwrap_or_default().to_owned()];
            if object["code"] == 422 {
                let causes = object["details"]["causes"].as_array().map_or(&[][..], Vec::as_slice);
                let mut fields = causes
                    .iter()
                    .filter_map(|cause| cause["field"].as_str())
                    // What the server could not even begin to judge has no field.
                    .filter(|field| *field != "<nil>")
                    .map(str::to_owned)
                    .collect::<Vec<_>>();
                fields.sort();
                fields.dedup();
                words.extend(fields);
            }
            words.join(" ")
        }
        _ => String::new(),
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("?")
}

/// In what two transcripts differ: a text per step, empty when they are the same.
#[must_use]
pub fn differences(model: &Transcript, real: &Transcript) -> Vec<String> {
    let (model, real) = (model.entries(), real.entries());
    let mut found = Vec::new();
    for (model, real) in model.iter().zip(real) {
        let mut lines = Vec::new();
        compare(
            "",
            &json!([model.place, model.summary, model.objects]),
            &json!([real.place, real.summary, real.objects]),
            &mut lines,
        );
        if !lines.is_empty() {
            found.push(format!("{}\n{}", real.place, lines.join("\n")));
        }
    }
    if model.len() != real.len() {
        found.push(format!("the model gave {} answers, the real part {}", model.len(), real.len()));
    }
    found
}

fn compare(path: &str, model: &Value, real: &Value, lines: &mut Vec<String>) {
    match (model, real) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names = one.keys().chain(other.keys()).collect::<Vec<_>>();
            names.sort();
            names.dedup();
            for name in names {
                compare(&format!("{path}.{name}"), &model[name], &real[name], lines);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{index}]"), one, other, lines);
            }
        }
        _ if model != real => lines.push(format!("  {path}\n    model {model}\n    real  {real}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(uid: &str, version: &str, generation: u64) -> Answer {
        let metadata =
            json!({"name": "one", "uid": uid, "resourceVersion": version, "generation": generation});
        Answer { code: 200, body: vec![json!({"kind": "Machine", "metadata": metadata})] }
    }

    fn transcript(answers: &[Answer]) -> Transcript {
        let mut transcript = Transcript::default();
        for (number, answer) in answers.iter().enumerate() {
            transcript.add(&format!("step {number}"), answer).unwrap();
        }
        transcript
    }

    #[test]
    fn only_relations_count() {
        let one = transcript(&[object("a", "5", 1), object("a", "9", 2)]);
        let other = transcript(&[object("x", "70", 1), object("x", "80", 2)]);
        assert_eq!(differences(&one, &other), Vec::<String>::new());
        let no_new_version = transcript(&[object("x", "70", 1), object("x", "70", 2)]);
        let found = differences(&one, &no_new_version);
        assert!(found.len() == 1 && found[0].starts_with("step 1\n"), "{found:?}");
        assert!(found[0].contains("resourceVersion"), "{found:?}");
    }
}
