//! A child cgroup per host, so that each has a cgroup root of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::deadline::eventually;

/// The file in a run's state folder that names the cgroups it has made, one per line.
pub(crate) const RECORD: &str = "cgroups";

/// One child cgroup in every hierarchy (version 1) or in the only one (version 2), below the cgroup of this process.
#[derive(Debug)]
pub(crate) struct Cgroups {
    folders: Vec<PathBuf>,
    keep: bool,
}

impl Cgroups {
    pub(crate) fn create(name: &str) -> Result<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").context("cannot read /proc/self/cgroup")?;
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").context("cannot read /proc/self/mountinfo")?;
        let mut cgroups = Self { folders: Vec::new(), keep: false };
        for parent in parents(&own, &mounts) {
            let folder = parent.join(name);
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            cgroups.folders.push(folder);
            // A cpuset without processors and memory accepts no process.
            for file in ["cpuset.cpus", "cpuset.mems"] {
                let source = parent.join(file);
                if source.is_file() && parent.join("cgroup.clone_children").is_file() {
                    fs::write(parent.join(name).join(file), fs::read(&source)?)?;
                }
            }
        }
        Ok(cgroups)
    }

    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for folder in self.folders.iter().filter(|_| !self.keep) {
            if let Err(error) = remove(folder) {
                eprintln!("{error:#}");
            }
        }
    }
}

/// Removes a cgroup and those below it, the deepest first. The kernel refuses while a killed process is not quite gone.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    eventually(format!("removal of {}", folder.display()), Duration::from_secs(10), || {
        if folder.is_dir() { remove_depth_first(folder) } else { Ok(()) }
    })
}

fn remove_depth_first(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_depth_first(&entry.path())?;
        }
    }
    fs::remove_dir(folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// The folders of the cgroups that a process is in, from its `/proc/PID/cgroup` and `/proc/PID/mountinfo`. A hierarchy
/// that is not mounted is left out.
fn parents(own: &str, mounts: &str) -> Vec<PathBuf> {
    let hierarchies = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    hierarchies
        .filter_map(|(controllers, path)| {
            let (root, mountpoint) = mount_of(controllers, mounts)?;
            let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
            Some(mountpoint.join(below)).filter(|folder| !folder.as_os_str().is_empty())
        })
        .collect()
}

/// Root and mount point of the hierarchy with these controllers; none means version 2.
fn mount_of<'a>(controllers: &str, mounts: &'a str) -> Option<(&'a Path, &'a Path)> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, mountpoint) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (file_system, options) = (kind.next()?, kind.nth(1)?);
        let matches = match file_system {
            "cgroup2" => controllers.is_empty(),
            "cgroup" => {
                let mut wanted = controllers.split(',');
                !controllers.is_empty() && wanted.all(|name| options.split(',').any(|option| option == name))
            }
            _ => false,
        };
        matches.then(|| (Path::new(root), Path::new(mountpoint)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_mounted_hierarchy_of_version_1() {
        let own = "9:name=systemd:/\n4:cpu,cpuacct:/a/b\n3:rdma:/\n0::/\n";
        let mounts = "30 20 0:1 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
                      31 20 0:2 /a /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      32 20 0:3 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n";
        let expected = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/cpu,cpuacct/b", "/sys/fs/cgroup/unified"];
        assert_eq!(parents(own, mounts), expected.map(PathBuf::from));
    }

    #[test]
    fn finds_the_one_hierarchy_of_version_2() {
        let mounts = "30 20 0:1 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(parents("0::/user.slice\n", mounts), [PathBuf::from("/sys/fs/cgroup/user.slice")]);
    }
}
