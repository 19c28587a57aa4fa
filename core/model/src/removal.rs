//! What is to be done when a component is removed from a host, besides taking away what installing it made: commands,
//! and directories that it filled while it ran.
//!
//! Paths that are deleted by root, on every host of a fleet, are judged three times by the same rule: when an object is
//! read, by the API server, and by the host itself.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::invocation::Invocation;

/// What is done on a host when a component is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// Run while the unit still runs, in this order; left out when it does not.
    #[serde(default)]
    pub before_stop: Vec<Invocation>,
    /// Run once the unit is stopped and gone, in this order.
    #[serde(default)]
    pub after_stop: Vec<Invocation>,
    /// Whatever is mounted there is unmounted, and they are deleted with all that is in them, in this order. Each is
    /// [removable](is_removable).
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Nothing in these directories is deleted, nor what they are in.
pub const PROTECTED_TREES: [&str; 28] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc/pam.d",
    "/etc/ssh",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt/seaworthy",
    "/proc",
    "/root/.ssh",
    "/run/systemd",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/systemd",
    "/var/tmp",
];

/// These directories and those above them are not deleted; files and directories below them may be.
pub const PROTECTED_DIRECTORIES: [&str; 31] = [
    "/etc/apt",
    "/etc/cron.d",
    "/etc/default",
    "/etc/modules-load.d",
    "/etc/network",
    "/etc/profile.d",
    "/etc/security",
    "/etc/ssl/certs",
    "/etc/sudoers.d",
    "/etc/sysctl.d",
    "/etc/systemd/network",
    "/etc/systemd/system",
    "/etc/udev/rules.d",
    "/run/lock",
    "/run/user",
    "/usr/include",
    "/usr/local/bin",
    "/usr/local/etc",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/src",
    "/var/backups",
    "/var/cache",
    "/var/lib",
    "/var/lock",
    "/var/log",
    "/var/mail",
    "/var/run",
    "/var/spool",
];

/// Whether a host may delete `path` with all that is in it: an absolute path of at least two parts, none of them empty,
/// `.` or `..`, that is no directory of the system's own, not in one that only the system or its users fill, and above
/// none of these.
#[must_use]
pub fn is_removable(path: &str) -> bool {
    let Some(relative) = path.strip_prefix('/') else { return false };
    let parts = relative.split('/').count();
    let is_plain = relative.split('/').all(|part| !matches!(part, "" | "." | ".."));
    is_plain
        && parts >= 2
        && !PROTECTED_TREES.iter().any(|tree| is_within(path, tree) || is_within(tree, path))
        && !PROTECTED_DIRECTORIES.iter().any(|directory| is_within(directory, path))
}

/// Whether `inner` is `outer` or lies below it.
fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_system_stays() {
        for path in [
            "",
            "/",
            "var/lib/kubelet",
            "/var",
            "/opt",
            "/root",
            "/home",
            "/kubelet",
            "/home/alice/.cache",
            "/usr/local",
            "/tmp/x",
            "/var/lib",
            "/var/lib/",
            "//var/lib/kubelet",
            "/var/lib/../../etc",
            "/var/./lib",
            "/etc/systemd",
            "/etc/systemd/system",
            "/usr/bin",
            "/usr/bin/kubelet",
            "/usr/local/bin",
            "/proc/1",
            "/dev/shm/x",
            "/opt/seaworthy",
            "/opt/seaworthy/state",
            "/etc/ssh/sshd_config.d",
            "/root/.ssh",
            "/etc/ssl",
            "/lib/x",
            "/boot/grub",
            "/sys/fs/cgroup",
            "/run/systemd/system",
            "/var/lib/dpkg/info",
        ] {
            assert!(!is_removable(path), "{path}");
        }
    }

    #[test]
    fn what_a_component_made_may_go() {
        for path in [
            "/var/lib/kubelet",
            "/etc/cni/net.d",
            "/etc/kubernetes",
            "/run/containerd",
            "/opt/cni",
            "/opt/seaworthy-x",
            "/var/log/pods",
            "/usr/local/lib/agent",
            "/root/.kube",
            "/etc/systemd/system/kubelet.service.d",
            "/usr/binaries/x",
            "/etc/cni/..data",
        ] {
            assert!(is_removable(path), "{path}");
        }
    }
}
