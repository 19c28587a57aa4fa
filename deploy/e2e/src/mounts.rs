//! Mounting, and unmounting whatever lies below a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::run_to_end;

/// Mounts an ext4 image through a loop device.
///
/// `commit=3600` takes away ext4's habit of writing everything every 5 s, so that what nobody asked to be durable
/// is lost for certain in a power cut and tests do not depend on the moment.
pub(crate) fn mount_image(image: &Path, mountpoint: &Path) -> Result<()> {
    fs::create_dir_all(mountpoint)?;
    run_to_end(Command::new("mount").args(["-o", "loop,commit=3600"]).arg(image).arg(mountpoint)).map(drop)
}

/// Mounts an overlay of `lower` (read only) with `upper` and `work`.
pub(crate) fn mount_overlay(lower: &Path, upper: &Path, work: &Path, mountpoint: &Path) -> Result<()> {
    let (lower, upper, work) = (lower.display(), upper.display(), work.display());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let mut command = Command::new("mount");
    command.args(["-t", "overlay", "overlay", "-o", &options]).arg(mountpoint);
    run_to_end(&mut command).map(drop)
}

/// Makes `folder` appear at `mountpoint` too.
pub(crate) fn mount_bind(folder: &Path, mountpoint: &Path) -> Result<()> {
    run_to_end(Command::new("mount").arg("--bind").arg(folder).arg(mountpoint)).map(drop)
}

/// Unmounts what is mounted exactly there.
pub(crate) fn unmount(mountpoint: &Path) -> Result<()> {
    run_to_end(Command::new("umount").arg(mountpoint)).map(drop)
}

/// Unmounts everything at and below `folder`, the deepest first.
pub(crate) fn unmount_below(folder: &Path) -> Result<()> {
    let mut found = mounted_below(folder, &fs::read_to_string("/proc/self/mounts")?);
    // A mount made later may lie on top of an earlier one, so the last is taken off first.
    while let Some(mountpoint) = found.pop() {
        unmount(&mountpoint).with_context(|| format!("cannot unmount {}", mountpoint.display()))?;
    }
    Ok(())
}

/// Mount points at and below `folder`, in the order in which they were mounted. The kernel writes a space as `\040`;
/// no path of ours has one, and a foreign one is not below `folder`.
fn mounted_below(folder: &Path, mounts: &str) -> Vec<PathBuf> {
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from);
    points.filter(|point| point.starts_with(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_what_lies_below() {
        let mounts = "/dev/vda / ext4 rw 0 0\n/dev/loop0 /c/runs/a/disk ext4 rw 0 0\n/dev/loop1 /c/runs/ab ext4 rw 0 0\n";
        assert_eq!(mounted_below(Path::new("/c/runs/a"), mounts), [PathBuf::from("/c/runs/a/disk")]);
    }
}
