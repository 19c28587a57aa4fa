//! `Machine`: what people want of one machine, and what is recorded about it.

use std::borrow::Cow;
use std::sync::Arc;

use seaworthy_model::digest::Digest;
#[cfg(feature = "crd")]
use seaworthy_model::id::Kind;
use seaworthy_model::machine::HostId;
use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::definition::{Definition, age, column, wide};
#[cfg(feature = "crd")]
use super::schema::{self, Rule, rule, rules};
#[cfg(feature = "crd")]
use super::structural::schema_of;
use super::{ComponentSetting, Condition, NodeLabels, NodeTaint, Parameters};
use crate::scalar::Scalar;

/// What is wanted of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Where the machine is.
    pub address: Address,
    /// How to log in to it.
    pub ssh: Ssh,
    /// Components that are pinned on this machine. A pin wins over the ClusterPackageVersion. A component that is
    /// listed neither here nor there is left as it is: only `state: Absent`, or the deletion of the Machine, removes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(64, "name")))]
    pub components: Vec<ComponentSetting>,
    /// Parameters of this machine for the templates of all components whose MachineComponent lists them in its
    /// `machineParameters`. Names consist of letters, digits and underscores, and do not start with a digit.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "super::component_setting::parameters_schema"))]
    pub parameters: Parameters,
    /// Labels that the Node of this machine is to have. What was set is recorded on the Node, in the annotation
    /// `seaworthy.dev/from-machine`: that is put right when others change it, and taken away when it leaves this list. A
    /// label that somebody else has set to another value is left alone, and told in the conditions. Reserved are keys
    /// with prefixes in kubernetes.io, k8s.io and seaworthy.dev, but for `node-role.kubernetes.io/` and
    /// `node-restriction.kubernetes.io/`.
    #[serde(default, skip_serializing_if = "NodeLabels::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "super::node_attributes::labels_schema"))]
    pub node_labels: NodeLabels,
    /// Taints that the Node of this machine is to have, treated like its labels. A Node takes pods as soon as it is
    /// registered; what must never run there has to be kept off by `registerWithTaints` of its kubelet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "key,effect")))]
    pub node_taints: Vec<NodeTaint>,
    /// While true, nothing new is started on the machine. What is under way ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Any text. Change it to try again a release that failed on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 253)))]
    pub retry: Option<String>,
}

/// Where a machine is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The IPv4 or IPv6 address to connect to.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 2, max = 45),
            extend("x-kubernetes-validations" = rule(
                "isIP(self) && (ip(self).isGlobalUnicast() || ip(self).isLinkLocalUnicast() || ip(self).isLoopback())",
                "must be the IPv4 or IPv6 address of a host",
            ))
        )
    )]
    pub ip: Arc<str>,
    /// The host name. Templates see it as the fact `hostname`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253), extend("pattern" = schema::SUBDOMAIN)))]
    pub hostname: Option<Arc<str>>,
    /// The data centre. Templates see it as the fact `idc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL_VALUE)))]
    pub idc: Option<Arc<str>>,
    /// The rack. Templates see it as the fact `rack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL_VALUE)))]
    pub rack: Option<Arc<str>>,
}

/// How to log in to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[Rule {
        rule: "self.hostKeyPolicy == 'TrustOnFirstUse' || (has(self.hostKeys) && size(self.hostKeys) > 0)",
        field: ".hostKeys",
        message: "hostKeys must not be empty unless hostKeyPolicy is TrustOnFirstUse",
    }]),
)))]
#[serde(rename_all = "camelCase")]
pub struct Ssh {
    /// The TCP port of the SSH server.
    #[serde(default = "port_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 65535)))]
    pub port: i64,
    /// The account to log in to. If it is not root, `sudo -n` must work for it.
    #[serde(default = "user_default")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 32), extend("pattern" = "^[A-Za-z_][A-Za-z0-9_.-]*$"))
    )]
    pub user: Arc<str>,
    /// The name of the Secret with the private key. It is read only from the operator's own namespace,
    /// `seaworthy-system`; its type is `kubernetes.io/ssh-auth`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253), extend("pattern" = schema::SUBDOMAIN)))]
    pub secret_name: Arc<str>,
    /// The host keys to accept, each as in `/etc/ssh/ssh_host_*_key.pub`: a type and a key, with or without
    /// a comment. At least one, unless `hostKeyPolicy` is `TrustOnFirstUse`.
    #[serde(default, skip_serializing_if = "<[Arc<str>]>::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 8), schema_with = "host_keys_schema"))]
    pub host_keys: Arc<[Arc<str>]>,
    /// What to do when `hostKeys` is empty. `Pinned` refuses to connect. `TrustOnFirstUse` accepts the first key,
    /// records it in `status.identity.hostKey`, and accepts no other from then on.
    #[serde(default = "policy_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Pinned", "TrustOnFirstUse"])))]
    pub host_key_policy: Cow<'static, str>,
}

/// The default of `port`.
const fn port_default() -> i64 {
    22
}

/// The default of `user`.
fn user_default() -> Arc<str> {
    "root".into()
}

/// The default of `hostKeyPolicy`.
const fn policy_default() -> Cow<'static, str> {
    Cow::Borrowed("Pinned")
}

#[cfg(feature = "crd")]
fn host_keys_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "maxLength": 2048,
            "x-kubernetes-validations": rule(
                r"self.matches('^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) AAAA[A-Za-z0-9+/]+={0,2}( .*)?$')",
                "must be a public host key such as 'ssh-ed25519 AAAA...' (of type ssh-ed25519, ecdsa-sha2-nistp256, \
                 -nistp384, -nistp521 or ssh-rsa)",
            ),
        },
    })
}

// Machines of one version record the same components: those lists are shared.
// The operator alone writes the status, as a whole. If it were tracked field by field, `metadata.managedFields` would name
// each of its fields, in etcd and in every answer.
/// What is recorded about the machine. It changes when something was done or found, not as a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "crd",
    derive(schemars::JsonSchema),
    schemars(extend("x-kubernetes-map-type" = "atomic"))
)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// The generation of the spec up to which everything was done or judged.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub observed_generation: i64,
    /// The reason of the condition Ready: a field that `kubectl get machines --field-selector` can select by.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub reason: Cow<'static, str>,
    /// Who the host is. Recorded at the first contact, and compared at every later one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// What is installed and what failed.
    #[serde(skip_serializing_if = "<[ComponentStatus]>::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(256, "name")))]
    pub components: Arc<[ComponentStatus]>,
    /// What is installed, in one line: `webd=1.1.0,runc=1.3.0`.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32768)))]
    pub installed: Arc<str>,
    /// Ready: everything wanted is installed and runs, and the host can be reached. Reachable: the host answers, is
    /// who it was, and lets us work. InSync: what is on the host is what is wanted there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "type")))]
    pub conditions: Vec<Condition>,
}

/// Who a host is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The machine-id of the host (`/etc/machine-id`): 32 hexadecimal digits.
    #[serde(rename = "machineID")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub machine_id: Scalar<HostId>,
    /// The host key that was trusted on first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 2048)))]
    pub host_key: Option<Arc<str>>,
    /// The processor architecture, for example `amd64`.
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub architecture: Cow<'static, str>,
    /// The version of control groups that it uses: `v1` or `v2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub cgroup_version: Option<Cow<'static, str>>,
}

/// What is recorded about one component of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComponentStatus {
    /// The name of the component.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub name: Arc<str>,
    /// The version that is installed, proven by digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub version: Option<Arc<str>>,
    /// The release that is installed: the SHA-256 digest of everything that went into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub release: Option<Scalar<Digest>>,
    /// The release that failed here. It is tried again when a spec changes; `spec.retry` is there for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedRelease>,
    /// The MachineComponentSet with which it goes: `onLeave: Remove`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 253)))]
    pub set: Option<Arc<str>>,
}

/// A release that failed on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailedRelease {
    /// Its version.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub version: Arc<str>,
    /// Its digest.
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub release: Scalar<Digest>,
    /// Why it failed, in one word.
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub reason: Cow<'static, str>,
}

/// The definition of the kind.
#[cfg(feature = "crd")]
pub(super) fn definition() -> Definition {
    Definition {
        kind: Kind::Machine,
        selectable: vec![".spec.address.ip", ".spec.paused", ".status.reason"],
        short_name: "mc",
        description: "A machine of the fleet: where it is, how to log in, and what must be installed on it. The Node \
                      of the same name belongs to it.",
        columns: vec![
            column("Ready", ".status.conditions[?(@.type==\"Ready\")].status", "Whether all is as wanted."),
            column("Reason", ".status.reason", "Why it is Ready or not."),
            column("Installed", ".status.installed", "What is installed, proven by digests."),
            column("Address", ".spec.address.ip", "The address of the host."),
            age(),
            wide(column(
                "Reachable",
                ".status.conditions[?(@.type==\"Reachable\")].status",
                "Whether the host answers.",
            )),
            wide(column(
                "InSync",
                ".status.conditions[?(@.type==\"InSync\")].status",
                "Whether it has what is wanted.",
            )),
            wide(column("IDC", ".spec.address.idc", "The data centre.")),
            wide(column("Rack", ".spec.address.rack", "The rack.")),
            wide(column(
                "Message",
                ".status.conditions[?(@.type==\"Ready\")].message",
                "Why, and what to do.",
            )),
        ],
        rules: vec![],
        spec: schema_of::<MachineSpec>(),
        status: Some(schema_of::<MachineStatus>()),
    }
}
