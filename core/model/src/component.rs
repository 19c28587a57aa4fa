//! One version of one component: what a release of it consists of, and the id of such a release.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::certificate::NodeIdentity;
use crate::digest::{Digest, FieldHasher};
use crate::id::ComponentId;
use crate::meta::{Meta, Parsed};
use crate::removal::Removal;
use crate::requirement::Requirement;

/// A `MachineComponent` as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionObject {
    /// Its metadata.
    pub meta: Meta,
    /// Its spec.
    pub spec: Parsed<VersionSpec>,
}

/// What a `MachineComponent` says. It never changes: a version is an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSpec {
    /// The component that this is a version of.
    pub component: ComponentId,
    /// The version as its author spells it.
    pub version: String,
    /// One artefact per architecture; none at all for a version that consists of what is rendered.
    pub artefacts: Vec<Artefact>,
    /// The parameters of the machine that its templates use. On a machine without one of them it cannot be installed.
    pub machine_parameters: Vec<String>,
    /// Components that must be on the machine, whole and as wanted there, before this version is.
    pub depends_on: Vec<ComponentId>,
    /// Which versions of others it can be together with. About nobody twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
    /// What a change to this version costs those who work on the machine.
    pub disruption: Disruption,
    /// What is made out of the artefact on the host.
    pub content: Content,
    /// The certificate of its node that it needs, if it is a kubelet. Nothing of it goes into a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_identity: Option<NodeIdentity>,
}

impl VersionSpec {
    /// The artefact for `architecture`, if there is one.
    #[must_use]
    pub fn artefact(&self, architecture: Architecture) -> Option<&Artefact> {
        self.artefacts.iter().find(|artefact| artefact.architecture == architecture)
    }

    /// Whether it can be installed on `architecture`: it has an artefact for it, or needs none.
    #[must_use]
    pub fn suits(&self, architecture: Architecture) -> bool {
        self.artefacts.is_empty() || self.artefact(architecture).is_some()
    }

    /// Whether its release is the same on all machines of an architecture.
    #[must_use]
    pub const fn is_uniform(&self) -> bool {
        self.content.facts.is_empty() && self.machine_parameters.is_empty()
    }
}

/// Where the files of a release come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    /// The processor architecture that it runs on.
    pub architecture: Architecture,
    /// `http://` or `https://`.
    pub url: String,
    /// The digest of the file behind `url`.
    pub sha256: Digest,
    /// How the file becomes a directory.
    pub format: ArtefactFormat,
}

/// How an artefact becomes the directory of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ArtefactFormat {
    /// A gzipped tar, unpacked into the directory.
    TarGz,
    /// One executable, stored under `path` inside the directory.
    Binary {
        /// Relative path, for example `bin/runc`.
        path: String,
    },
}

/// A processor architecture, named as Go and Kubernetes name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// AArch64.
    Arm64,
    /// POWER, little endian.
    Ppc64le,
    /// RISC-V, 64 bit.
    Riscv64,
    /// z/Architecture.
    S390x,
}

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 5] = [Self::Amd64, Self::Arm64, Self::Ppc64le, Self::Riscv64, Self::S390x];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Ppc64le => "ppc64le",
            Self::Riscv64 => "riscv64",
            Self::S390x => "s390x",
        }
    }
}

/// Which version of control groups a host uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CgroupVersion {
    /// One hierarchy for each controller, also beside the unified one.
    V1,
    /// The unified hierarchy alone.
    V2,
}

impl CgroupVersion {
    /// Every version.
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// What is made out of an artefact on the host: config files, links, a unit, and how to tell that it is healthy.
/// All templates are Jinja; they see `parameters`, those facts that `facts` names, and the machine's own parameters as
/// `machineParameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// Config files, rendered into the release.
    pub files: Vec<ConfigFile>,
    /// Fixed links on the host that point through `current/` into the release.
    pub links: Vec<Link>,
    /// The systemd unit that runs the component, if it is a service.
    pub unit: Option<Unit>,
    /// How to tell that a new release works.
    pub probe: Option<Probe>,
    /// The facts that its templates use. A template that names any other fact does not render.
    pub facts: Vec<Fact>,
    /// Whether the previous release may be restored.
    pub rollback: Rollback,
    /// Whether the host has to be started anew before a change from or to it is done.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reboot: bool,
    /// What has to be confirmed, lest it be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// Run from the staged release before anything that runs is touched. If it fails, nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Invocation>,
    /// What is done when the component is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes every field by reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A dead-man switch. A change to such a release, also a repair, is not over when the release is in place and healthy: the
/// host restores what was there before unless the operator confirms, over a connection that was opened after the change,
/// that it can still be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirm {
    /// Seconds after which it is restored, by the host's own clock: from [`Self::WITHIN_MIN`] to [`Self::WITHIN_MAX`]. They
    /// begin anew when the host was started anew in between.
    pub within_seconds: u32,
}

impl Confirm {
    /// The shortest time, in seconds: a new connection and its answer take some.
    pub const WITHIN_MIN: u32 = 10;
    /// The longest time, in seconds: so long a host that is cut off stays so.
    pub const WITHIN_MAX: u32 = 3600;

    /// The time within which the operator has to confirm.
    #[must_use]
    pub const fn window(self) -> Duration {
        Duration::from_secs(self.within_seconds as u64)
    }
}

/// A program that is run on the host, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    /// The program (absolute, or relative to the release) and its arguments. It succeeds with exit code 0.
    pub command: Vec<String>,
    /// Seconds after which it is killed, with all that it started, at least 1.
    pub timeout_seconds: u32,
}

/// A file that is rendered into a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigFile {
    /// Relative path inside the release, for example `etc/webd.toml`.
    pub path: String,
    /// The template.
    pub template: String,
    /// Permission bits, at most 0o777.
    pub mode: u32,
}

/// A fixed link on the host. Since it leads through `current/`, it never changes with a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Absolute path on the host, for example `/usr/local/bin/webd`.
    pub path: String,
    /// Relative path inside the release.
    pub target: String,
}

/// A systemd service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    /// The unit's name, for example `webd.service`.
    pub name: String,
    /// The template of the unit file.
    pub template: String,
    /// Relative path inside the release of the binary that the running service must consist of. `None` for a unit that does
    /// its work once and is active from then on, or whose process is somebody else's binary.
    pub executable: Option<String>,
}

/// How to tell that a release works: it must succeed so many times in a row before the deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// What is tried.
    pub check: ProbeCheck,
    /// Seconds between two tries, at least 1.
    pub period_seconds: u32,
    /// Seconds after which a single try has failed, at least 1.
    pub timeout_seconds: u32,
    /// Successes in a row that make a release healthy, at least 1.
    pub success_threshold: u32,
    /// Seconds after which a release that is not healthy has failed, at least 1.
    pub deadline_seconds: u32,
}

/// What a probe tries, on the host itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ProbeCheck {
    /// GET on loopback; healthy is any status from 200 to 399.
    Http {
        /// TCP port.
        port: u16,
        /// Path, starting with `/`.
        path: String,
    },
    /// A TCP connection to loopback.
    Tcp {
        /// TCP port.
        port: u16,
    },
    /// A command; healthy is exit code 0.
    Exec {
        /// The program (absolute, or relative to the release) and its arguments. No shell.
        command: Vec<String>,
    },
}

/// Whether a failed release may be replaced by the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rollback {
    /// The host restores the previous release by itself.
    #[default]
    Safe,
    /// The new release may have changed data that the old one cannot read: the host stops and says so.
    Unsafe,
}

/// What a change of a component on a machine costs those who work there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disruption {
    /// Nothing.
    None,
    /// Its service is away for a moment.
    #[default]
    Restart,
    /// The pods of the machine have to go elsewhere first.
    Drain,
    /// The machine has to be started anew, and its pods have to go elsewhere first.
    Reboot,
}

impl Disruption {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::None, Self::Restart, Self::Drain, Self::Reboot];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Restart => "Restart",
            Self::Drain => "Drain",
            Self::Reboot => "Reboot",
        }
    }

    /// Whether pods have to leave the Node first.
    #[must_use]
    pub const fn drains(self) -> bool {
        matches!(self, Self::Drain | Self::Reboot)
    }
}

/// A fact about a machine that templates may use, by this name in lower camel case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fact {
    /// `machineName`: the Machine's name.
    MachineName,
    /// `ip`: `spec.address.ip`.
    Ip,
    /// `hostname`: `spec.address.hostname`.
    Hostname,
    /// `idc`: `spec.address.idc`.
    Idc,
    /// `rack`: `spec.address.rack`.
    Rack,
    /// `architecture`: what the host reported.
    Architecture,
    /// `cgroupVersion`: what the host reported, `v1` or `v2`.
    CgroupVersion,
}

impl Fact {
    /// Every fact.
    pub const ALL: [Self; 7] = [
        Self::MachineName,
        Self::Ip,
        Self::Hostname,
        Self::Idc,
        Self::Rack,
        Self::Architecture,
        Self::CgroupVersion,
    ];

    /// Its name in templates.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MachineName => "machineName",
            Self::Ip => "ip",
            Self::Hostname => "hostname",
            Self::Idc => "idc",
            Self::Rack => "rack",
            Self::Architecture => "architecture",
            Self::CgroupVersion => "cgroupVersion",
        }
    }
}

/// Parameters for templates, by name.
pub type Parameters = BTreeMap<String, String>;

/// Which release of a component something is: the digest of everything that goes into it. Two hosts with the same
/// release id run the same bytes with the same configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReleaseId(pub Digest);

impl core::fmt::Debug for ReleaseId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0.short())
    }
}

impl core::fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

/// A release, complete: a host needs nothing else to make it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recipe {
    /// The version as its author spells it.
    pub version: String,
    /// The artefact for the host's architecture, unless the release consists of what is rendered.
    pub artefact: Option<Artefact>,
    /// What is made out of it.
    pub content: Content,
    /// Parameters for the templates.
    pub parameters: Arc<Parameters>,
    /// Those parameters of the machine that the templates use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machine_parameters: Parameters,
    /// The values of the facts that the templates use.
    pub facts: BTreeMap<Fact, String>,
}

impl Recipe {
    /// The id of the release that this recipe makes: version, artefact (without its URL: bytes count, not where
    /// they come from), files, links, unit, parameters, facts, and what is kept on the host for the day when it is
    /// removed. The probe, the preflight, the rollback policy, the reboot and the confirmation do not go in, since they change
    /// nothing in the files of the host.
    /// What is absent leaves no trace: a field that is new changes no id.
    #[must_use]
    pub fn release_id(&self) -> ReleaseId {
        let mut hasher = FieldHasher::new("seaworthy.dev/release/v1");
        hasher.field("version", self.version.as_bytes());
        if let Some(artefact) = &self.artefact {
            hasher.field("architecture", artefact.architecture.name().as_bytes());
            hasher.field("artefact", &artefact.sha256.0);
            if let ArtefactFormat::Binary { path } = &artefact.format {
                hasher.field("binary", path.as_bytes());
            }
        }
        for file in &self.content.files {
            hasher.field("file", file.path.as_bytes());
            hasher.field("mode", &file.mode.to_le_bytes());
            hasher.field("template", file.template.as_bytes());
        }
        for link in &self.content.links {
            hasher.field("link", link.path.as_bytes());
            hasher.field("target", link.target.as_bytes());
        }
        if let Some(unit) = &self.content.unit {
            hasher.field("unit", unit.name.as_bytes());
            hasher.field("template", unit.template.as_bytes());
            if let Some(executable) = &unit.executable {
                hasher.field("executable", executable.as_bytes());
            }
        }
        for (name, value) in self.parameters.iter() {
            hasher.field("parameter", name.as_bytes());
            hasher.field("value", value.as_bytes());
        }
        for (fact, value) in &self.facts {
            hasher.field("fact", fact.name().as_bytes());
            hasher.field("value", value.as_bytes());
        }
        for (name, value) in &self.machine_parameters {
            hasher.field("machine parameter", name.as_bytes());
            hasher.field("value", value.as_bytes());
        }
        if let Some(removal) = &self.content.removal {
            hash_removal(removal, &mut hasher);
        }
        ReleaseId(hasher.finish())
    }
}

fn hash_removal(removal: &Removal, hasher: &mut FieldHasher) {
    for (name, invocations) in [("before stop", &removal.before_stop), ("after stop", &removal.after_stop)] {
        for invocation in invocations {
            hasher.field(name, &invocation.timeout_seconds.to_le_bytes());
            for word in &invocation.command {
                hasher.field("word", word.as_bytes());
            }
        }
    }
    for path in &removal.paths {
        hasher.field("removed", path.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn recipe() -> Recipe {
        Recipe {
            version: "1.0.0".to_string(),
            artefact: Some(Artefact {
                architecture: Architecture::Amd64,
                url: "http://artefacts/webd.tar.gz".to_string(),
                sha256: Digest::of(b"webd"),
                format: ArtefactFormat::TarGz,
            }),
            content: Content {
                files: vec![ConfigFile { path: "etc/webd".into(), template: "x".into(), mode: 0o644 }],
                ..Content::default()
            },
            parameters: Arc::default(),
            machine_parameters: Parameters::new(),
            facts: BTreeMap::new(),
        }
    }

    fn unit(executable: Option<&str>) -> Option<Unit> {
        Some(Unit { name: "a.service".into(), template: "".into(), executable: executable.map(Into::into) })
    }

    fn invocation(words: &[&str]) -> Invocation {
        Invocation { command: words.iter().map(ToString::to_string).collect(), timeout_seconds: 60 }
    }

    /// Hosts know releases by these: what is installed must not look new to a new operator.
    #[test]
    fn the_ids_of_releases_never_change() {
        let mut recipe = recipe();
        recipe.content.unit = unit(Some("bin/webd"));
        let known = "113539bae1f9adf181f32eed2a0cc6171b10f008636dae0cff5009e2abaa8877";
        assert_eq!(recipe.release_id().to_string(), known);
    }

    #[test]
    fn every_ingredient_changes_the_release_id_and_nothing_else_does() {
        let id = recipe().release_id();
        let changed = |change: fn(&mut Recipe)| {
            let mut recipe = recipe();
            change(&mut recipe);
            recipe.release_id() != id
        };
        assert!(changed(|r| r.version.push('1')));
        assert!(changed(|r| r.artefact.as_mut().unwrap().sha256 = Digest::of(b"other")));
        assert!(changed(|r| r.artefact = None));
        assert!(changed(|r| r.machine_parameters = [("a".into(), "b".into())].into()));
        assert!(changed(|r| r.content.removal =
            Some(Removal { after_stop: vec![invocation(&["/bin/true"])], ..Removal::default() })));
        assert!(changed(|r| r.content.unit = unit(None)));
        assert!(changed(|r| r.content.files[0].template.push('y')));
        assert!(changed(|r| r.content.files[0].mode = 0o600));
        assert!(changed(|r| r.parameters = Arc::new([("a".into(), "b".into())].into())));
        assert!(changed(|r| r.facts = [(Fact::Ip, "198.18.0.1".into())].into()));
        assert!(!changed(|r| r.artefact.as_mut().unwrap().url.push('2')), "a mirror holds the same bytes");
        assert!(!changed(|r| r.content.preflight = Some(invocation(&["bin/webd", "check"]))));
        assert!(!changed(|r| r.content.rollback = Rollback::Unsafe));
        assert!(!changed(|r| r.content.reboot = true));
        assert!(!changed(|r| r.content.confirm = Some(Confirm { within_seconds: 60 })));
    }
}
