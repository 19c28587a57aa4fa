//! The base image of the hosts: a small Debian with systemd and sshd, made by debootstrap.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cache, process};

/// What a host needs beyond Debian's minimal system.
const PACKAGES: &[&str] = &[
    "systemd",
    "systemd-sysv",
    "openssh-server",
    "dbus",
    "iproute2",
    "ca-certificates",
    "procps",
    "mount",
    // What Kubernetes asks of a node.
    "iptables",
    "conntrack",
    "kmod",
    "ethtool",
];

/// Raised whenever [`adapt`] changes, so that an older image in the cache is not used.
const RECIPE: &str = "1";

/// The folder that holds the root file system of the base image: of the Debian release that this machine runs, from the
/// mirror that its apt uses. One minute the first time, then at once. Hosts mount it read only, below an overlay.
///
/// # Errors
/// The machine is no Debian, its apt has no Debian source, or debootstrap fails.
pub fn ensure() -> Result<PathBuf> {
    let suite = suite(&fs::read_to_string("/etc/os-release").unwrap_or_default())
        .context("/etc/os-release names no Debian release; hosts are made with debootstrap from one")?;
    let packages = PACKAGES.join(",");
    let key = cache::key([
        suite.as_bytes(),
        packages.as_bytes(),
        RECIPE.as_bytes(),
        std::env::consts::ARCH.as_bytes(),
    ]);
    let folder = cache::ensure("images", &format!("debian-{suite}-{key}"), |partial| {
        let root = partial.join("root");
        let mut command = Command::new("debootstrap");
        command.arg("--variant=minbase").arg(format!("--include={packages}")).arg(&suite);
        command.arg(&root).arg(mirror(&suite)?);
        process::run_with_progress(
            "debootstrap of the hosts' base image",
            &mut command,
            &partial.join("build.log"),
        )?;
        adapt(&root)
    })?;
    Ok(folder.join("root"))
}

/// Takes away what must differ from host to host, and what makes a test slow or its logs mute.
fn adapt(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root.join("etc/ssh"))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ssh_host_")) {
            fs::remove_file(path)?;
        }
    }
    // systemd makes a new machine id where it finds an empty file.
    fs::write(root.join("etc/machine-id"), "")?;
    // The package lists and archives are of no use to a host without a network.
    for folder in ["var/lib/apt/lists", "var/cache/apt/archives"] {
        fs::remove_dir_all(root.join(folder))?;
        fs::create_dir_all(root.join(folder))?;
    }
    write(root, "etc/ssh/sshd_config.d/seaworthy.conf", "UseDNS no\nPasswordAuthentication no\n")?;
    // The console is a file of ours: whatever a host logs can be read there after it has gone.
    write(root, "etc/systemd/journald.conf.d/seaworthy.conf", "[Journal]\nForwardToConsole=yes\n")?;
    // Timers that work in the background (apt, fsck, clean-up) only disturb tests.
    for unit in ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"] {
        let mask = root.join("etc/systemd/system").join(unit);
        if !mask.is_symlink() {
            std::os::unix::fs::symlink("/dev/null", mask)?;
        }
    }
    Ok(())
}

fn write(root: &Path, path: &str, text: &str) -> Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The mirror from which this machine's apt takes the release.
fn mirror(suite: &str) -> Result<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(CODENAME)", "Created-By: Packages"]);
    debian_source(&process::run_to_end(&mut command)?, suite)
        .with_context(|| format!("apt has no source \"Debian ... {suite}\"; see /etc/apt/sources.list"))
}

fn debian_source(targets: &str, suite: &str) -> Option<String> {
    targets.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["Debian", uri, codename] if codename == suite => Some(uri.to_owned()),
        _ => None,
    })
}

fn suite(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    (value("ID")? == "debian").then(|| value("VERSION_CODENAME")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_release_itself_not_its_updates_nor_another_repository() {
        let targets = "Other http://mirror.test/other/ bookworm\nDebian http://mirror.test/updates/ bookworm-updates\n\
                       Debian http://mirror.test/debian/ bookworm\n";
        assert_eq!(debian_source(targets, "bookworm").as_deref(), Some("http://mirror.test/debian/"));
        assert_eq!(debian_source(targets, "trixie"), None);
    }

    #[test]
    fn only_debian_has_a_suite() {
        assert_eq!(suite("ID=debian\nVERSION_CODENAME=bookworm\n").as_deref(), Some("bookworm"));
        assert_eq!(suite("ID=ubuntu\nVERSION_CODENAME=noble\n"), None);
    }
}
