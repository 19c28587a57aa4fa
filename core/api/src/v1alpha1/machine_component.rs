//! `MachineComponent`: one version of one component. Its spec never changes.

use serde::{Deserialize, Serialize};

#[cfg(feature = "crd")]
use super::schema::{self, Rule, rule, rules};

/// What this version of the component consists of. It cannot be changed: a new version is a new object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend(
    "x-kubernetes-validations" = rule(
        "self == oldSelf",
        "spec cannot be changed: create a MachineComponent for the new version",
    ),
)))]
#[serde(rename_all = "camelCase")]
pub struct MachineComponentSpec {
    /// The name of the component, for example `webd`. The object is named `<component>-<version>`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::LABEL)))]
    pub component: String,
    /// The version, for example `1.1.0`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63), extend("pattern" = schema::SUBDOMAIN)))]
    pub version: String,
    /// Where the files come from: one artefact per processor architecture.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 8),
            extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["architecture"])
        )
    )]
    pub artefacts: Vec<Artefact>,
    /// Config files, rendered into the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(max = 32),
            extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["path"])
        )
    )]
    pub files: Vec<ConfigFile>,
    /// Fixed links on the host that lead into the release, whichever is current.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(max = 32),
            extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["path"])
        )
    )]
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
    /// `Safe`: a host restores the previous release by itself when this one does not become healthy. `Unsafe`: this
    /// version may change data that the previous one cannot read, so the host stops and says so.
    #[serde(default = "rollback_default")]
    #[cfg_attr(feature = "crd", schemars(extend("enum" = ["Safe", "Unsafe"])))]
    pub rollback: String,
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
            "enum": ["machineName", "ip", "hostname", "idc", "rack", "architecture"],
        },
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
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 256),
            extend("x-kubernetes-validations" = schema::relative_path())
        )
    )]
    pub path: Option<String>,
}

/// A file that is rendered into the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigFile {
    /// Where in the release, for example `etc/webd.toml`.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 256),
            extend("x-kubernetes-validations" = schema::relative_path())
        )
    )]
    pub path: String,
    /// A Jinja template. It sees `parameters.<name>`, `facts.<name>` of those that `facts` lists, `component`,
    /// `version`, and `current`: the directory through which the current release is reached.
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
    /// The absolute path on the host, for example `/usr/local/bin/webd`.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 256),
            extend("x-kubernetes-validations" = schema::absolute_path())
        )
    )]
    pub path: String,
    /// The path in the release that it leads to, for example `bin/webd`.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 256),
            extend("x-kubernetes-validations" = schema::relative_path())
        )
    )]
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
        schemars(length(max = 128), extend("pattern" = r"^[A-Za-z0-9][A-Za-z0-9_.-]*\.service$"))
    )]
    pub name: String,
    /// A Jinja template of the unit file. It sees the same as those of `files`.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 65536)))]
    pub template: String,
    /// The path in the release of the binary that the running service must consist of.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 256),
            extend("x-kubernetes-validations" = schema::relative_path())
        )
    )]
    pub executable: String,
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
