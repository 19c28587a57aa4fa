//! The places on a host that a component may use. What a component asks for is done by root, on every host of a fleet.
//!
//! A path is judged three times by the same table: when an object is read, by the API server, and by the host itself. A
//! link, a file with an identity and a directory that is deleted each have a rule of their own, as strict as the harm that
//! they could do:
//!
//! - A *link* may be anywhere but at what decides who may log in, and who owns the host.
//! - What is *deleted* has to be in a directory of the component's own, below one of a few known ones.
//! - So does the file of an *identity*.

/// A component may have directories of its own here, such as `/var/lib/kubelet`.
pub const HOMES: [&str; 5] = ["/etc", "/opt", "/run", "/var/lib", "/var/log"];

/// The file of an identity is in a directory of a component below one of these.
pub const IDENTITY_HOMES: [&str; 2] = ["/etc", "/var/lib"];

/// What the system itself has in [`HOMES`]: Debian, Ubuntu, Red Hat, SUSE and those that derive from them. It is never
/// deleted, and no identity is put there.
pub const SYSTEM: [&str; 165] = [
    "/etc/NetworkManager",
    "/etc/X11",
    "/etc/aliases",
    "/etc/alternatives",
    "/etc/apparmor",
    "/etc/apparmor.d",
    "/etc/apt",
    "/etc/audit",
    "/etc/bash.bashrc",
    "/etc/bash_completion.d",
    "/etc/binfmt.d",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/chrony",
    "/etc/cloud",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.monthly",
    "/etc/cron.weekly",
    "/etc/crontab",
    "/etc/crypto-policies",
    "/etc/crypttab",
    "/etc/dbus-1",
    "/etc/default",
    "/etc/dhcp",
    "/etc/dnf",
    "/etc/dpkg",
    "/etc/dracut.conf.d",
    "/etc/environment",
    "/etc/exports",
    "/etc/firewalld",
    "/etc/fstab",
    "/etc/group",
    "/etc/grub.d",
    "/etc/gshadow",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/hosts.allow",
    "/etc/hosts.deny",
    "/etc/init.d",
    "/etc/initramfs-tools",
    "/etc/inputrc",
    "/etc/iproute2",
    "/etc/iptables",
    "/etc/kernel",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/login.defs",
    "/etc/logrotate.conf",
    "/etc/logrotate.d",
    "/etc/lvm",
    "/etc/machine-id",
    "/etc/mdadm",
    "/etc/modprobe.d",
    "/etc/modules",
    "/etc/modules-load.d",
    "/etc/motd",
    "/etc/mtab",
    "/etc/multipath",
    "/etc/multipath.conf",
    "/etc/netplan",
    "/etc/network",
    "/etc/networks",
    "/etc/nftables",
    "/etc/nftables.conf",
    "/etc/nsswitch.conf",
    "/etc/opt",
    "/etc/os-release",
    "/etc/pam.conf",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/pki",
    "/etc/polkit-1",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/protocols",
    "/etc/rc.d",
    "/etc/rc.local",
    "/etc/rc0.d",
    "/etc/rc1.d",
    "/etc/rc2.d",
    "/etc/rc3.d",
    "/etc/rc4.d",
    "/etc/rc5.d",
    "/etc/rc6.d",
    "/etc/rcS.d",
    "/etc/resolv.conf",
    "/etc/resolvconf",
    "/etc/rpm",
    "/etc/rsyslog.conf",
    "/etc/rsyslog.d",
    "/etc/security",
    "/etc/selinux",
    "/etc/services",
    "/etc/shadow",
    "/etc/shells",
    "/etc/skel",
    "/etc/ssh",
    "/etc/ssl",
    "/etc/sssd",
    "/etc/subgid",
    "/etc/subuid",
    "/etc/sudo.conf",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/sysconfig",
    "/etc/sysctl.conf",
    "/etc/sysctl.d",
    "/etc/systemd",
    "/etc/terminfo",
    "/etc/timezone",
    "/etc/tmpfiles.d",
    "/etc/udev",
    "/etc/ufw",
    "/etc/yum",
    "/etc/yum.conf",
    "/etc/yum.repos.d",
    "/etc/zypp",
    "/opt/seaworthy",
    "/run/NetworkManager",
    "/run/credentials",
    "/run/dbus",
    "/run/initctl",
    "/run/lock",
    "/run/log",
    "/run/lvm",
    "/run/mount",
    "/run/shm",
    "/run/sshd",
    "/run/sudo",
    "/run/systemd",
    "/run/udev",
    "/run/user",
    "/run/utmp",
    "/var/lib/AccountsService",
    "/var/lib/NetworkManager",
    "/var/lib/alternatives",
    "/var/lib/apt",
    "/var/lib/authselect",
    "/var/lib/cloud",
    "/var/lib/dbus",
    "/var/lib/dhcp",
    "/var/lib/dnf",
    "/var/lib/dpkg",
    "/var/lib/extrausers",
    "/var/lib/machines",
    "/var/lib/pam",
    "/var/lib/polkit-1",
    "/var/lib/private",
    "/var/lib/rpm",
    "/var/lib/selinux",
    "/var/lib/snapd",
    "/var/lib/sss",
    "/var/lib/sudo",
    "/var/lib/systemd",
    "/var/log/apt",
    "/var/log/audit",
    "/var/log/journal",
    "/var/log/wtmp",
];

/// No link is made here, nor in place of a directory above: these are not on a disk, hold temporary files, say who may do
/// what on the host, say which host it is, start it, or are the host program's own.
pub const UNLINKED: [&str; 35] = [
    "/boot",
    "/dev",
    "/efi",
    "/etc/crypttab",
    "/etc/doas.conf",
    "/etc/fstab",
    "/etc/group",
    "/etc/group-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ld.so.preload",
    "/etc/machine-id",
    "/etc/nsswitch.conf",
    "/etc/pam.conf",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/passwd-",
    "/etc/polkit-1",
    "/etc/securetty",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/subgid",
    "/etc/subuid",
    "/etc/sudo.conf",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/home",
    "/opt/seaworthy",
    "/proc",
    "/root/.ssh",
    "/run",
    "/sys",
    "/var/lib/dbus",
    "/var/run",
];

/// The names of units that are not a component's begin with these: those of the host program, and those without which
/// nobody reaches the host. That includes what is beside them, such as `ssh.service.d`.
pub const UNITS: [&str; 8] =
    ["dbus-broker.", "dbus.", "seaworthy-", "ssh.", "ssh@", "sshd.", "sshd@", "systemd-"];

/// Whether a host may make a link of a component at `path`.
#[must_use]
pub fn is_linkable(path: &str) -> bool {
    let mut below_systemd = path.split('/').skip_while(|part| *part != "systemd").skip(1);
    is_plain(path)
        && !UNLINKED.iter().any(|tree| is_within(path, tree) || is_within(tree, path))
        && below_systemd.all(is_component_unit)
}

/// Whether a component may have a unit of this name.
#[must_use]
pub fn is_component_unit(name: &str) -> bool {
    !UNITS.iter().any(|start| name.starts_with(start))
}

/// Whether the identity of a node may be kept in the file `path`: in a directory of a component.
#[must_use]
pub fn is_identity_place(path: &str) -> bool {
    let is_in_directory = |home: &&str| inside(path, home).is_some_and(|inner| inner.contains('/'));
    is_plain(path) && IDENTITY_HOMES.iter().any(is_in_directory) && !is_of_system(path)
}

/// Whether a host may delete `path` with all that is in it, once the component is removed.
///
/// The host refuses files directly in `/etc` as well: only directories there are a component's own.
#[must_use]
pub fn is_removable(path: &str) -> bool {
    is_plain(path) && HOMES.iter().any(|home| inside(path, home).is_some()) && !is_of_system(path)
}

fn is_of_system(path: &str) -> bool {
    SYSTEM.iter().any(|tree| is_within(path, tree))
}

/// An absolute path that names the same place for everybody: no part is empty, `.` or `..`.
fn is_plain(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|path| path.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

/// What is left of `path` below `home`.
fn inside<'a>(path: &'a str, home: &str) -> Option<&'a str> {
    path.strip_prefix(home)?.strip_prefix('/')
}

/// Whether the path `inner` is `outer` or lies below it, by whole names.
#[must_use]
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_judged(rule: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for path in good {
            assert!(rule(path), "{path:?} is refused");
        }
        for path in bad {
            assert!(!rule(path), "{path:?} is accepted");
        }
    }

    #[test]
    fn a_component_deletes_what_is_in_its_own_directories() {
        let good = [
            "/etc/cni/net.d",
            "/etc/kubernetes",
            "/etc/cni/..data",
            "/opt/cni",
            "/opt/seaworthy-x",
            "/run/containerd",
            "/var/lib/etcd",
            "/var/lib/kubelet",
            "/var/log/pods",
        ];
        let bad = [
            "",
            "/",
            "var/lib/kubelet",
            "//var/lib/kubelet",
            "/var",
            "/opt",
            "/etc",
            "/root",
            "/home",
            "/kubelet",
            "/home/alice/.cache",
            "/usr/local",
            "/usr/local/bin/kubectl",
            "/usr/local/lib/agent",
            "/root/.kube",
            "/tmp/x",
            "/srv/data",
            "/nix/store",
            "/var/lib",
            "/var/lib/",
            "/var/lib/../../etc",
            "/var/./lib",
            "/var/run/x",
            "/var/lib/dpkg/info",
            "/var/lib/dbus/machine-id",
            "/etc/passwd",
            "/etc/shadow",
            "/etc/fstab",
            "/etc/sudoers",
            "/etc/machine-id",
            "/etc/resolv.conf",
            "/etc/alternatives",
            "/etc/netplan",
            "/etc/systemd",
            "/etc/systemd/system/kubelet.service",
            "/etc/ssh/sshd_config.d",
            "/etc/ssl",
            "/run/systemd/system",
            "/usr/bin/kubelet",
            "/proc/1",
            "/dev/shm/x",
            "/opt/seaworthy",
            "/opt/seaworthy/state",
            "/root/.ssh",
            "/lib/x",
            "/boot/grub",
            "/sys/fs/cgroup",
        ];
        assert_judged(is_removable, &good, &bad);
    }

    #[test]
    fn an_identity_is_in_a_directory_of_a_component() {
        let good = [
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/etc/kubernetes/kubelet.pem",
            "/var/lib/kubelet/x",
        ];
        let bad = [
            "/var/lib/kubelet",
            "/etc/kubelet.pem",
            "/etc/ssl/certs/ca-certificates.crt",
            "/etc/ssh/ssh_host_ed25519_key",
            "/etc/pki/tls/private/x.pem",
            "/etc/sudoers.d/x",
            "/usr/local/share/ca-certificates/x.crt",
            "/run/kubelet/x.pem",
            "/root/x/y.pem",
            "/var/lib/kubelet/../dpkg/status",
            "relative.pem",
            "/",
        ];
        assert_judged(is_identity_place, &good, &bad);
    }

    #[test]
    fn a_link_says_nothing_about_who_may_log_in() {
        let good = [
            "/usr/local/bin/webd",
            "/etc/containerd/config.toml",
            "/etc/sysctl.d/90-x.conf",
            "/etc/systemd/system/containerd.service.d/limits.conf",
            "/etc/systemd/resolved.conf.d/x.conf",
            "/opt/cni/bin/bridge",
            "/root/.kube/config",
            "/etc/groups",
        ];
        let bad = [
            "/etc",
            "/root",
            "/etc/passwd",
            "/etc/ld.so.preload",
            "/etc/ssh/sshd_config.d/x.conf",
            "/etc/sudoers.d/x",
            "/etc/machine-id",
            "/root/.ssh/authorized_keys",
            "/home/alice/.ssh/authorized_keys",
            "/boot/grub/grub.cfg",
            "/run/x",
            "/var/run/x",
            "/proc/x",
            "/opt/seaworthy/state/x",
            "/etc/systemd/system/seaworthy-e1-s999.service",
            "/etc/systemd/system/multi-user.target.wants/seaworthy-resume.service",
            "/usr/lib/systemd/system/ssh.service",
            "/etc/systemd/system/sshd@.service",
            "/etc/systemd/system/systemd-networkd.service.d/x.conf",
            "usr/local/bin/webd",
            "/usr/local/../bin/webd",
        ];
        assert_judged(is_linkable, &good, &bad);
    }

    #[test]
    fn within_goes_by_whole_names() {
        assert!(is_within("bin/webd", "bin/webd") && is_within("bin/webd", "bin"));
        assert!(!is_within("bin", "bin/webd") && !is_within("bin2/webd", "bin"));
    }

    #[test]
    fn units_of_the_system_are_not_those_of_a_component() {
        assert_judged(
            is_component_unit,
            &["kubelet.service", "ssh-agent.service", "sshguard.service", "seaworthy.service"],
            &[
                "seaworthy-resume.service",
                "ssh.service",
                "sshd@x.service",
                "systemd-logind.service",
                "dbus.service",
            ],
        );
    }
}
