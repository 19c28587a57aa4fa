//! Nodes as protobuf, as far as they are used here. The numbers of the fields are those of `generated.proto` in `k8s.io/api`
//! and `k8s.io/apimachinery`. All other fields are passed over: a kubelet lists fifty images, which are most of a Node.

use std::collections::BTreeMap;

use prost::bytes::Bytes;
use prost::{DecodeError, Message};
use seaworthy_api::object::{self, Metadata};
use seaworthy_api::scalar::Time;
use seaworthy_model::time::Timestamp;

/// What stands before an object that is not a part of another one.
pub(crate) const MAGIC: &[u8] = b"k8s\0";

/// `runtime.Unknown`: an object of any kind.
#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(bytes = "bytes", tag = "2")]
    raw: Bytes,
}

/// What a list tells of itself, beside its objects.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListMetadata {
    #[prost(string, tag = "2")]
    pub(crate) resource_version: String,
    #[prost(string, tag = "3")]
    pub(crate) r#continue: String,
}

/// One event of a watch, whose object is one like any other.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchEvent {
    #[prost(string, tag = "1")]
    pub(crate) r#type: String,
    #[prost(message, required, tag = "2")]
    pub(crate) object: RawExtension,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RawExtension {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) raw: Bytes,
}

/// Why a request was refused.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    #[prost(string, tag = "3")]
    pub(crate) message: String,
    #[prost(int32, tag = "6")]
    pub(crate) code: i32,
}

/// The name and version of any object.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bare {
    #[prost(message, required, tag = "1")]
    pub(crate) metadata: BareMetadata,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BareMetadata {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "6")]
    pub(crate) resource_version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(message, required, tag = "1")]
    metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: NodeSpec,
    #[prost(message, required, tag = "3")]
    status: NodeStatus,
}

#[derive(Clone, PartialEq, Message)]
struct ObjectMeta {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(int64, tag = "7")]
    generation: i64,
    #[prost(message, optional, tag = "8")]
    creation_timestamp: Option<Seconds>,
    #[prost(message, optional, tag = "9")]
    deletion_timestamp: Option<Seconds>,
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "12")]
    annotations: BTreeMap<String, String>,
    #[prost(string, repeated, tag = "14")]
    finalizers: Vec<String>,
}

/// `meta.v1.Time`. Its part below a second is left out, as JSON leaves it out.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
struct Seconds {
    #[prost(int64, tag = "1")]
    seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
struct NodeSpec {
    #[prost(bool, tag = "4")]
    unschedulable: bool,
    #[prost(message, repeated, tag = "5")]
    taints: Vec<Taint>,
}

#[derive(Clone, PartialEq, Message)]
struct Taint {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(string, tag = "3")]
    effect: String,
    #[prost(message, optional, tag = "4")]
    time_added: Option<Seconds>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeStatus {
    #[prost(message, repeated, tag = "4")]
    conditions: Vec<NodeCondition>,
    #[prost(message, required, tag = "7")]
    node_info: NodeSystemInfo,
}

#[derive(Clone, PartialEq, Message)]
struct NodeCondition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(message, optional, tag = "4")]
    last_transition_time: Option<Seconds>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeSystemInfo {
    #[prost(string, tag = "1")]
    machine_id: String,
}

/// What an object or a list consists of, without its envelope.
///
/// # Errors
/// It is not in the envelope in which Kubernetes sends protobuf.
pub(crate) fn content(object: Bytes) -> Result<Bytes, String> {
    if !object.starts_with(MAGIC) {
        return Err("it does not begin as protobuf of Kubernetes does".to_owned());
    }
    let unknown = Unknown::decode(object.slice(MAGIC.len()..)).map_err(|error| error.to_string())?;
    Ok(unknown.raw)
}

/// Decodes a Node that is without its envelope.
///
/// # Errors
/// It is none.
pub(crate) fn node(content: Bytes) -> Result<object::Node, DecodeError> {
    let Node { metadata, spec, status } = Node::decode(content)?;
    let taints = spec.taints.into_iter().map(|taint| object::Taint {
        key: taint.key.into(),
        value: taint.value.into(),
        effect: taint.effect.into(),
        time_added: time(taint.time_added),
    });
    let conditions = status.conditions.into_iter().map(|condition| object::NodeCondition {
        r#type: condition.r#type.into(),
        status: condition.status.into(),
        last_transition_time: time(condition.last_transition_time),
    });
    let node_info = object::NodeInfo { machine_id: status.node_info.machine_id.as_str().into() };
    Ok(object::Node {
        metadata: metadata.into(),
        spec: object::NodeSpec { unschedulable: spec.unschedulable, taints: taints.collect() },
        status: Some(object::NodeStatus { conditions: conditions.collect(), node_info: Some(node_info) }),
        ..object::Node::default()
    })
}

impl From<ObjectMeta> for Metadata {
    fn from(metadata: ObjectMeta) -> Self {
        Self {
            name: metadata.name.into(),
            uid: metadata.uid.as_str().into(),
            resource_version: metadata.resource_version.as_str().into(),
            generation: metadata.generation,
            creation_timestamp: time(metadata.creation_timestamp),
            deletion_timestamp: time(metadata.deletion_timestamp),
            finalizers: metadata.finalizers.into(),
            labels: metadata.labels,
            annotations: metadata.annotations,
            ..Self::default()
        }
    }
}

/// A time; an empty one stands for none.
fn time(time: Option<Seconds>) -> Option<Time> {
    let seconds = u64::try_from(time?.seconds).ok().filter(|seconds| *seconds > 0)?;
    Some(Timestamp::from_millis(seconds.checked_mul(1_000)?).into())
}
