//! The script of API calls: `conformance/api.yaml`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use seaworthy_api::object::Endpoint;
use seaworthy_model::id::Kind;
use serde::Deserialize;
use serde_json::Value;

use super::Call;

const TEXT: &str = include_str!("../../conformance/api.yaml");

/// A script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Objects from which bodies are made, by name.
    pub objects: BTreeMap<String, Value>,
    /// What is to be checked, in this order.
    pub rules: Vec<Rule>,
}

/// A rule that the model and the real part both obey.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, unique in the script.
    pub rule: String,
    /// The steps that show it.
    pub steps: Vec<Step>,
}

/// One call, or `COMPACT`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it is about, unique in its rule.
    pub name: String,
    /// Method, and resource with what follows it in path and query: `PUT machines/one/status`. `WATCH` is a `GET` that
    /// watches. `${one.metadata.uid}` stands for a value of an earlier answer.
    pub call: String,
    /// What kind of patch: `merge` (the default), `json`, `strategic` or `apply`.
    #[serde(default)]
    pub patch: Option<String>,
    /// What the body is made from: an object of the script, or an earlier answer.
    #[serde(default)]
    pub from: Option<String>,
    /// The body, or what is changed in what it is made from (null takes a field away).
    #[serde(default)]
    pub body: Value,
    /// The name under which the answer is remembered.
    #[serde(default, rename = "as")]
    pub remember: Option<String>,
    /// The answer in short: its code, then reason and fields, or the items of a list, or the events of a watch.
    #[serde(default)]
    pub expect: String,
    /// Relations between this answer (`it`) and earlier ones.
    #[serde(default)]
    pub holds: Vec<String>,
    /// What the model answers, where it is knowingly not as the real part.
    #[serde(default)]
    pub model: Option<String>,
}

/// The script of API calls.
///
/// # Errors
/// It is not readable.
pub fn api_script() -> Result<Script> {
    serde_saphyr::from_str(TEXT).context("conformance/api.yaml")
}

impl Script {
    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.iter().map(|rule| rule.steps.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The call of a step; `None` when it is none.
    pub(super) fn call(&self, step: &Step, known: &Bindings) -> Result<Option<Call>> {
        if step.call == "COMPACT" {
            return Ok(None);
        }
        let mut body = match &step.from {
            None => Value::Null,
            Some(name) => match self.objects.get(name) {
                Some(object) => object.clone(),
                None => known.get(name)?.clone(),
            },
        };
        let changes = known.filled(&step.body)?;
        if step.from.is_some() {
            merge(&mut body, &changes)
        } else {
            body = changes
        }
        let (method, path) = http(&known.text(&step.call)?)?;
        Ok(Some(Call { content_type: content_type(&method, step.patch.as_deref())?, method, path, body }))
    }
}

/// Method and path of a call such as `GET machines/one`.
pub(super) fn http(call: &str) -> Result<(String, String)> {
    let (method, rest) = call.split_once(' ').with_context(|| format!("no call: {call:?}"))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (resource, rest) = rest.split_at(end);
    let collection = match resource {
        "machines" => Endpoint::of(Kind::Machine).collection(),
        "machinecomponents" => Endpoint::of(Kind::MachineComponent).collection(),
        "clusterpackageversions" => Endpoint::of(Kind::ClusterPackageVersion).collection(),
        "machinecomponentsets" => Endpoint::of(Kind::MachineComponentSet).collection(),
        "canaryreleases" => Endpoint::of(Kind::CanaryRelease).collection(),
        "disruptionpolicies" => Endpoint::of(Kind::DisruptionPolicy).collection(),
        "nodes" => Endpoint::of(Kind::Node).collection(),
        "certificatesigningrequests" => Endpoint::of(Kind::CertificateSigningRequest).collection(),
        "events" => Endpoint::of(Kind::Event).collection(),
        "leases" => Endpoint::of(Kind::Lease).collection(),
        "namespaces" => "/api/v1/namespaces".to_owned(),
        "allpods" => "/api/v1/pods".to_owned(),
        "secrets" | "pods" | "serviceaccounts" => {
            format!("/api/v1/namespaces/{}/{resource}", crate::manifests::NAMESPACE)
        }
        "poddisruptionbudgets" => {
            format!("/apis/policy/v1/namespaces/{}/{resource}", crate::manifests::NAMESPACE)
        }
        other => bail!("no resource of the script: {other:?}"),
    };
    let path = format!("{collection}{rest}");
    if method != "WATCH" {
        return Ok((method.to_owned(), path));
    }
    let separator = if path.contains('?') { '&' } else { '?' };
    // The real server ends the watch after this time.
    let end = if path.contains("timeoutSeconds") { "" } else { "&timeoutSeconds=1" };
    Ok(("GET".to_owned(), format!("{path}{separator}watch=true{end}")))
}

fn content_type(method: &str, patch: Option<&str>) -> Result<&'static str> {
    Ok(match (method, patch) {
        ("PATCH", None | Some("merge")) => "application/merge-patch+json",
        ("PATCH", Some("json")) => "application/json-patch+json",
        ("PATCH", Some("strategic")) => "application/strategic-merge-patch+json",
        ("PATCH", Some("apply")) => "application/apply-patch+yaml",
        (_, None) => "application/json",
        (_, Some(other)) => bail!("no kind of patch: {other:?}"),
    })
}

/// Values of earlier answers, by name.
#[derive(Debug, Default)]
pub(super) struct Bindings(BTreeMap<String, Value>);

impl Bindings {
    pub(super) fn bind(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value at a path such as `one.metadata.uid`; null where there is none.
    pub(super) fn get(&self, path: &str) -> Result<&Value> {
        let mut words = path.split('.');
        let name = words.next().unwrap_or_default();
        let mut value = self.0.get(name).with_context(|| format!("nothing is remembered as {name:?}"))?;
        for word in words {
            value = match word.parse::<usize>() {
                Ok(index) => &value[index],
                Err(_) => &value[word],
            };
        }
        Ok(value)
    }

    fn text(&self, text: &str) -> Result<String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (path, after) = after.split_once('}').with_context(|| format!("no end: {text:?}"))?;
            let value = self.get(path)?.as_str().with_context(|| format!("{path} is no text"))?;
            filled = filled + before + value;
            rest = after;
        }
        Ok(filled + rest)
    }

    fn filled(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.filled(item)).collect::<Result<_>>()?)
            }
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, field)| Ok((name.clone(), self.filled(field)?)))
                    .collect::<Result<_>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }
}

/// `target` with `changes`, of which null takes a field away.
fn merge(target: &mut Value, changes: &Value) {
    let (Value::Object(fields), Value::Object(changes)) = (&mut *target, changes) else {
        if !changes.is_null() {
            *target = changes.clone();
        }
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}
