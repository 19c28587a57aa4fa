//! Kinds that Kubernetes defines, as far as they are used here.

use std::borrow::Cow;

use seaworthy_model::id::Uid;
use seaworthy_model::machine::HostId;
use serde::{Deserialize, Serialize};

use crate::object::Metadata;
use crate::scalar::{Scalar, Time};

/// The spec of a certificate request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestSpec {
    /// The request: base64 of PEM of PKCS#10.
    pub request: String,
    /// Who is to sign.
    pub signer_name: String,
    /// What the certificate is to be used for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<String>,
    /// The user that created it; set by the API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// The groups of that user; set by the API server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// The status of a certificate request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestStatus {
    /// `Approved`, `Denied`, `Failed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<CertificateRequestCondition>,
    /// The certificate: base64 of PEM; empty before it is issued.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub certificate: String,
}

/// A condition of a certificate request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CertificateRequestCondition {
    /// `Approved`, `Denied`, `Failed`.
    pub r#type: String,
    /// Always `True`.
    pub status: String,
    /// One word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// `events.k8s.io/v1` Event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Group and version. Empty in the items of a list.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub api_version: Cow<'static, str>,
    /// The kind. Empty in the items of a list.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub kind: Cow<'static, str>,
    /// Name and namespace.
    pub metadata: Metadata,
    /// When: a `MicroTime`.
    pub event_time: String,
    /// What says it.
    pub reporting_controller: String,
    /// Which process of it.
    pub reporting_instance: String,
    /// What was done, or not done.
    pub action: String,
    /// Why, as one word.
    pub reason: String,
    /// About what.
    pub regarding: Reference,
    /// In words.
    pub note: String,
    /// `Normal` or `Warning`.
    pub r#type: Cow<'static, str>,
}

/// Names an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reference {
    /// Group and version.
    pub api_version: Cow<'static, str>,
    /// The kind.
    pub kind: Cow<'static, str>,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: Scalar<Uid>,
}

/// The status of a kind that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoStatus {}

/// Who leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaseSpec {
    /// The process that took it last; `None` when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// After so long without a renewal others may take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// When it was taken: a `MicroTime`, by the holder's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<String>,
    /// When the holder last renewed it: a `MicroTime`, by the holder's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<String>,
    /// Our epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i64>,
}

/// What keeps pods off a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// No pod is placed there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unschedulable: bool,
    /// Pods that do not tolerate these are not placed there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// A taint of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    /// Its key.
    pub key: Cow<'static, str>,
    /// Its value.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub value: Cow<'static, str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Cow<'static, str>,
    /// When it was set; only for `NoExecute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// What a Node says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its conditions.
    pub conditions: Vec<NodeCondition>,
    /// What its kubelet reports about the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeInfo>,
}

/// What a kubelet reports about its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInfo {
    /// The machine-id.
    #[serde(rename = "machineID")]
    pub machine_id: Scalar<HostId>,
}

/// A condition of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeCondition {
    /// Only `Ready` is used.
    pub r#type: Cow<'static, str>,
    /// `True`, `False` or `Unknown`.
    pub status: Cow<'static, str>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}
