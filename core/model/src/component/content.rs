//! The content of a release: files, links, unit, probe, and how it comes and goes.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::Disruption;
use super::fact::Fact;
use crate::invocation::Invocation;
use crate::removal::Removal;

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
    /// Whether a change from or to it needs a reboot of the host.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reboot: bool,
    /// What a change to it does to workloads, if that is less than a restart of its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub less_than_restart: Option<Disruption>,
    /// The confirmation without which the release is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// Run from the staged release before anything that runs is touched. If it fails, nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Invocation>,
    /// What is done when the component is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
}

impl Content {
    /// Whether its unit is told to read its configuration again, where it runs already, and is not restarted.
    #[must_use]
    pub fn reloads(&self) -> bool {
        self.less_than_restart == Some(Disruption::Reload)
    }
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
    /// begin again after a reboot.
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
