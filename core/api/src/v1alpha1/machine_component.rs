//! `MachineComponent`: one version of one component. Its spec never changes.

#[cfg(feature = "crd")]
use seaworthy_model::id::Kind;
use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::definition::{Definition, age, column, wide};
#[cfg(feature = "crd")]
use super::schema::{self, Rule, rule, rules};
#[cfg(feature = "crd")]
use super::structural::schema_of;
use super::{Condition, Requirement};

/// What this version of the component consists of. It cannot be changed: a new version is a new object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "self == oldSelf",
            field: "",
            message: "spec cannot be changed: create a MachineComponent for the new version",
        },
        Rule {
            rule: "(has(self.artefacts) && size(self.artefacts) > 0) || (has(self.files) && size(self.files) > 0) \
                   || has(self.unit)",
            field: ".artefacts",
            message: "must have at least one entry, unless there are files or a unit",
        },
        Rule {
            rule: "!has(self.dependsOn) || !(self.component in self.dependsOn)",
            field: ".dependsOn",
            message: "must not have the component's own name in it",
        },
        Rule {
            rule: "!has(self.requires) || !self.requires.exists(rule, rule.component == self.component)",
            field: ".requires",
            message: "must not have the component's own name in it",
        },
        Rule {
            rule: "has(self.unit) || !has(self.removal) || !has(self.removal.beforeStop) \
                   || size(self.removal.beforeStop) == 0",
            field: ".removal.beforeStop",
            message: "must not be set without a unit",
        },
        Rule {
            rule: "!has(self.confirm) || self.rollback == 'Safe'",
            field: ".confirm",
            message: "must not be set when rollback is Unsafe",
        },
        Rule {
            rule: "self.disruption != 'Reload' || has(self.unit)",
            field: ".disruption",
            message: "must not be Reload without a unit",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct MachineComponentSpec {
    /// The name of the component, for example `webd`. The object is named `<component>-<version>`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL)))]
    pub component: String,
    /// The version, for example `1.1.0`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::SUBDOMAIN)))]
    pub version: String,
    /// Where the files come from: one artefact per processor architecture. None at all for a version that consists of
    /// what is rendered: the configuration of a host, for example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(8, "architecture")))]
    pub artefacts: Vec<Artefact>,
    /// The names of components that this version needs on its machine. It is installed or changed only once they are there
    /// as they are wanted, undamaged; and while it is there, none of them is removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "depends_on_schema"))]
    pub depends_on: Vec<String>,
    /// Which versions of other components, and of kube-apiserver, this version can be together with. No machine ever runs
    /// versions together that a rule of one of them forbids, not on the way from one version to the next either: if
    /// what is wanted cannot be reached like that, nothing of the machine is changed, and its condition says why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "component")))]
    pub requires: Vec<Requirement>,
    /// Config files, rendered into the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(32, "path")))]
    pub files: Vec<ConfigFile>,
    /// Fixed links on the host that lead into the release, whichever is current.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(32, "path")))]
    pub links: Vec<Link>,
    /// The systemd service that runs the component, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// How to tell that a new release works. If it does not, the host restores the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// The facts about a machine that the templates use. A template that names any other does not render.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "facts_schema"))]
    pub facts: Vec<String>,
    /// The parameters of a Machine (its `spec.parameters`) that the templates use, as `machineParameters.<name>`. On a
    /// machine without one of them this version is not installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "machine_parameters_schema"))]
    pub machine_parameters: Vec<String>,
    /// Run on the host from the finished release, before anything that runs is touched: a test of the configuration by
    /// the new binary, for example. If it fails, nothing is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Invocation>,
    /// What is done when the component is removed from a host, besides taking away what installing it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
    /// What a change to this version costs those who work on the machine. `None`: nothing. `Reload`: its service
    /// reads its configuration again, and goes on running: its unit needs an `ExecReload=`. A change from another version
    /// that says `None` or `Reload` is refused on the host, before anything is touched, if unit, unit file or executable
    /// are not the same in both. `Restart`: its service is away for a moment. `Drain`: the pods of the machine have to go elsewhere first. `Reboot`: that, and the machine is
    /// started anew once the release is in place, proven by the id of its boot, and again should it be taken back. A change
    /// away from this version costs the same. Nothing is started anew for a repair or a removal.
    #[serde(default = "disruption_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["None", "Reload", "Restart", "Drain", "Reboot"])))]
    pub disruption: String,
    /// `Safe`: a host restores the previous release by itself when this one does not become healthy. `Unsafe`: this
    /// version may change data that the previous one cannot read, so the host stops and says so.
    #[serde(default = "rollback_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Safe", "Unsafe"])))]
    pub rollback: String,
    /// A dead-man switch, for what could cut a host off: its network, its firewall, its SSH server. Once this version is in
    /// place and healthy, after the reboot if it needs one, the operator has to reach the host anew, over a new connection,
    /// and confirm. If that does not come in time, the host restores the previous release by itself, and the version counts as
    /// failed there. A repair of this version is confirmed as well; going back to the previous release is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// The client certificate of its node, which a kubelet needs: before the component is installed, a key for it is made
    /// on the host, which it never leaves, and its certificate is put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_identity: Option<NodeIdentity>,
}

/// Until when a change has to be confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Confirm {
    /// Seconds after which the host restores the previous release unless the operator has confirmed. They begin anew if the
    /// host is started anew in between.
    #[cfg_attr(feature = "crd", schemars(range(min = 10, max = 3600)))]
    pub within_seconds: i64,
}

/// The client certificate by which a kubelet is known: `system:node:<name of the Machine>`, in group `system:nodes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeIdentity {
    /// The file on the host with certificate and key, as kubelet's own rotation keeps it:
    /// `/var/lib/kubelet/pki/kubelet-client-current.pem`. It has to be in a directory of the component's own, in `/etc` or
    /// `/var/lib`. Another file that is there already is never replaced.
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::identity_path())))]
    pub path: String,
    /// How long before its end a certificate that kubelet has not renewed is replaced, for example `24h`. By default when
    /// nineteen twentieths of its life are over; kubelet renews when 70 to 90 % are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(2, 32, schema::duration())))]
    pub renew_before: Option<String>,
}

/// The default of `disruption`.
fn disruption_default() -> String {
    "Restart".into()
}

/// The default of `rollback`.
fn rollback_default() -> String {
    "Safe".into()
}

#[cfg(feature = "crd")]
fn facts_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "enum": ["machineName", "ip", "hostname", "idc", "rack", "architecture", "cgroupVersion"],
        },
    })
}

#[cfg(feature = "crd")]
fn depends_on_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "minLength": 1, "maxLength": 63, "pattern": schema::LABEL },
    })
}

#[cfg(feature = "crd")]
fn machine_parameters_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 64,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "maxLength": 63, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
    })
}

/// Where the files of a release come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "self.format != 'Binary' || has(self.path)",
            field: ".path",
            message: "path is required when format is Binary",
        },
        Rule {
            rule: "self.format != 'TarGz' || !has(self.path)",
            field: ".path",
            message: "path must not be set when format is TarGz",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    /// The processor architecture that it runs on.
    #[cfg_attr(
        feature = "crd",
        schemars(extend("enum" = ["amd64", "arm64", "ppc64le", "riscv64", "s390x"]))
    )]
    pub architecture: String,
    /// Where each host fetches it from: `http://` or `https://`, without credentials.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 2048),
            extend("x-kubernetes-validations" = rule(
                r"self.matches('^https?://[A-Za-z0-9.:_\\[\\]-]+(/[!-~]*)?$')",
                "must be an http:// or https:// URL without credentials",
            ))
        )
    )]
    pub url: String,
    /// The SHA-256 digest of the file behind `url`, as `sha256sum` prints it.
    #[cfg_attr(feature = "crd", schemars(extend("maxLength" = 64, "pattern" = schema::SHA256)))]
    pub sha256: String,
    /// `TarGz`: a gzipped tar, unpacked into the release. `Binary`: one executable, stored under `path`.
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["TarGz", "Binary"])))]
    pub format: String,
    /// Where in the release the executable is stored, for example `bin/webd`. For format `Binary` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::relative_path())))]
    pub path: Option<String>,
}

/// A file that is rendered into the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigFile {
    /// Where in the release, for example `etc/webd.toml`.
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::relative_path())))]
    pub path: String,
    /// A Jinja template. It sees `parameters.<name>`, `facts.<name>` of those that `facts` lists,
    /// `machineParameters.<name>` of those that `machineParameters` lists, `component`, `version`, and `current`: the
    /// directory through which the current release is reached.
    #[cfg_attr(feature = "crd", schemars(length(max = 65536)))]
    pub template: String,
    /// Permission bits in octal.
    #[serde(default = "mode_default")]
    #[cfg_attr(feature = "crd", schemars(extend("maxLength" = 4, "pattern" = "^0?[0-7]{3}$")))]
    pub mode: String,
}

/// The default of `mode`.
fn mode_default() -> String {
    "0644".into()
}

/// A fixed link on the host. It leads through `current/`, so it never changes with a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The absolute path on the host, for example `/usr/local/bin/webd`. Accounts, SSH, what starts the host and units of the
    /// system are out of reach.
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::linkable_path())))]
    pub path: String,
    /// The path in the release that it leads to, for example `bin/webd`.
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::relative_path())))]
    pub target: String,
}

/// A systemd service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    /// The name of the unit, for example `webd.service`.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(max = 128),
            extend("pattern" = r"^[A-Za-z0-9][A-Za-z0-9_.-]*\.service$"),
            extend("x-kubernetes-validations" = schema::component_unit())
        )
    )]
    pub name: String,
    /// A Jinja template of the unit file. It sees the same as those of `files`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 65536)))]
    pub template: String,
    /// The path in the release of the binary that the running service must consist of. Leave it out for a unit that does
    /// its work once and stays active (`Type=oneshot` with `RemainAfterExit=yes`), or that runs somebody else's binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::text(1, 256, schema::relative_path())))]
    pub executable: Option<String>,
}

/// A program that is run on the host, without a shell. It succeeds with exit code 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    /// The program (an absolute path, or one in the release) and its arguments.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 32), inner(length(max = 1024))))]
    pub command: Vec<String>,
    /// Seconds after which it is killed, with all that it started, and has failed.
    #[serde(default = "invocation_timeout_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub timeout_seconds: i64,
}

/// The default of `timeoutSeconds` of an invocation.
const fn invocation_timeout_default() -> i64 {
    60
}

/// What is done when the component is removed from a host: when a Machine is deleted, or wants it `Absent`. After an
/// interruption it is done again from the beginning, so each command must bear to be repeated. When one fails, the
/// removal stops there, says so, and is tried again later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// Run while the unit still runs, in this order. Left out when it does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 8), extend("x-kubernetes-list-type" = "atomic"))
    )]
    pub before_stop: Vec<Invocation>,
    /// Run once the unit is stopped and gone, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 8), extend("x-kubernetes-list-type" = "atomic"))
    )]
    pub after_stop: Vec<Invocation>,
    /// Directories and files on the host that the component made while it ran. At the end of its removal whatever is
    /// mounted there is unmounted, and they are deleted with all that is in them. Each is in `/etc`, `/opt`, `/run`, `/var/lib`
    /// or `/var/log`, and neither the system's own nor a plain file directly in `/etc`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(schema_with = "removed_paths_schema"))]
    pub paths: Vec<String>,
}

#[cfg(feature = "crd")]
fn removed_paths_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": 256,
            "x-kubernetes-validations": schema::removable_path(),
        },
    })
}

/// How to tell that a release works: exactly one of `http`, `tcp` and `exec` must succeed so many times in a row
/// before the deadline. All are tried on the host itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rules(&[
        Rule {
            rule: "[has(self.http), has(self.tcp), has(self.exec)].filter(set, set).size() == 1",
            field: "",
            message: "exactly one of http, tcp and exec must be set",
        },
        Rule {
            rule: "(self.successThreshold - 1) * self.periodSeconds < self.deadlineSeconds",
            field: ".deadlineSeconds",
            message: "deadlineSeconds is too short for successThreshold tries, one each periodSeconds",
        },
    ]),
)))]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// GET on the loopback interface. Any status from 200 to 399 is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpProbe>,
    /// A TCP connection on the loopback interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpProbe>,
    /// A command. Exit code 0 is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecProbe>,
    /// Seconds between two tries.
    #[serde(default = "period_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub period_seconds: i64,
    /// Seconds after which a single try has failed.
    #[serde(default = "timeout_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub timeout_seconds: i64,
    /// Successes in a row that make a release healthy.
    #[serde(default = "success_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 100)))]
    pub success_threshold: i64,
    /// Seconds after which a release that is not healthy has failed.
    #[serde(default = "deadline_default")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub deadline_seconds: i64,
}

/// The default of `periodSeconds`.
const fn period_default() -> i64 {
    1
}

/// The default of `timeoutSeconds`.
const fn timeout_default() -> i64 {
    5
}

/// The default of `successThreshold`.
const fn success_default() -> i64 {
    3
}

/// The default of `deadlineSeconds`.
const fn deadline_default() -> i64 {
    60
}

/// GET on the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HttpProbe {
    /// The TCP port.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 65535)))]
    pub port: i64,
    /// The path, for example `/healthz`.
    #[serde(default = "root_path")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024), extend("pattern" = "^/[!-~]*$")))]
    pub path: String,
}

/// The default of `path`.
fn root_path() -> String {
    "/".into()
}

/// A TCP connection on the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TcpProbe {
    /// The TCP port.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 65535)))]
    pub port: i64,
}

/// A command, run without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecProbe {
    /// The program (an absolute path, or one in the release) and its arguments.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 32), inner(length(max = 1024))))]
    pub command: Vec<String>,
}

/// What is recorded about the version, for people. The operator does nothing because of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct MachineComponentStatus {
    /// The generation of the object that this was last written for.
    #[cfg_attr(feature = "crd", schemars(range(min = 0)))]
    pub observed_generation: i64,
    /// Accepted: the spec is valid, so machines can get this version. InUse: the defaults of the fleet or their rollouts name
    /// it (reason `Default`), or only machines use it (reason `Machines`: it is pinned, installed or recorded there), so
    /// that it stays when it is deleted. This is looked at when the object, the defaults, a rollout or the pins of a Machine
    /// change, and once a minute during a deletion. It does not follow what machines do in between, so a version that
    /// has just left its last machine may still count as in use. A deletion goes by what is so then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(transform = schema::list_map(16, "type")))]
    pub conditions: Vec<Condition>,
}

/// The definition of the kind.
#[cfg(feature = "crd")]
pub(super) fn definition() -> Definition {
    Definition {
        kind: Kind::MachineComponent,
        selectable: vec![".spec.component", ".spec.version"],
        short_name: "mcomp",
        description: "One version of one component that can be installed on machines. It is named \
                      <component>-<version> and its spec cannot be changed.",
        columns: vec![
            column("Component", ".spec.component", "The component."),
            column("Version", ".spec.version", "The version."),
            column(
                "Accepted",
                ".status.conditions[?(@.type==\"Accepted\")].status",
                "Whether machines can get it.",
            ),
            column(
                "In Use",
                ".status.conditions[?(@.type==\"InUse\")].status",
                "Whether anything used it at the last look.",
            ),
            column("Unit", ".spec.unit.name", "The systemd service that runs it."),
            age(),
            wide(column(
                "Used By",
                ".status.conditions[?(@.type==\"InUse\")].reason",
                "Default, Machines, or NotInUse.",
            )),
            wide(column("Architectures", ".spec.artefacts[*].architecture", "Where it runs.")),
            wide(column("Rollback", ".spec.rollback", "Whether the previous release may be restored.")),
            wide(column(
                "Message",
                ".status.conditions[?(@.type==\"InUse\")].message",
                "What uses it, and whether its deletion waits for that.",
            )),
        ],
        rules: vec![Rule {
            rule: "self.metadata.name == self.spec.component + '-' + self.spec.version",
            field: ".metadata.name",
            message: "must be spec.component and spec.version with a '-' between them",
        }],
        spec: schema_of::<MachineComponentSpec>(),
        status: Some(schema_of::<MachineComponentStatus>()),
    }
}
