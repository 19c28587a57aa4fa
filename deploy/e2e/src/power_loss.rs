//! A disk that loses what was not synced when its power is cut.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::mounts;
use crate::process::run_to_end;

/// An ext4 file system in a file, mounted through a loop device.
///
/// The file holds exactly what the file system has handed to the disk. So a copy of the file is what a power cut at
/// that moment leaves: synced data is there, the rest is not, and mounting the copy replays the journal as after a
/// crash. The file system never writes on its own (no commit for an hour), which is harsher than a real disk's 5 s.
///
/// Stop all writers before a copy. Otherwise the copy mixes moments, and no disk ever had that content.
#[derive(Debug)]
pub struct LossyDisk {
    image: PathBuf,
    mountpoint: PathBuf,
    keep: bool,
}

impl LossyDisk {
    /// Makes a file system of `bytes` bytes in the sparse file `FOLDER/NAME.img` and mounts it at `FOLDER/NAME`.
    ///
    /// # Errors
    /// Not root, no loop device, or no space.
    pub fn create(folder: &Path, name: &str, bytes: u64) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let image = folder.join(format!("{name}.img"));
        let file = File::create(&image).with_context(|| format!("cannot create {}", image.display()))?;
        file.set_len(bytes)?;
        run_to_end(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
        Self::open(image, &folder.join(name))
    }

    /// Mounts an image.
    ///
    /// # Errors
    /// It is no ext4, or cannot be mounted.
    pub fn open(image: PathBuf, mountpoint: &Path) -> Result<Self> {
        mounts::mount_image(&image, mountpoint)?;
        Ok(Self { image, mountpoint: mountpoint.to_owned(), keep: false })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.mountpoint
    }

    /// Makes everything durable that was written so far.
    ///
    /// # Errors
    /// The disk is full or broken.
    pub fn sync(&self) -> Result<()> {
        run_to_end(Command::new("sync").arg("-f").arg(&self.mountpoint)).map(drop)
    }

    /// Copies what a power cut at this moment would leave to `image`, without disturbing anybody.
    ///
    /// # Errors
    /// No space.
    pub fn capture(&self, image: &Path) -> Result<()> {
        let mut command = Command::new("cp");
        run_to_end(command.args(["--sparse=always", "--"]).arg(&self.image).arg(image)).map(drop)
    }

    /// Mounts what a power cut at this moment would leave at `FOLDER/NAME`; this disk goes on.
    ///
    /// # Errors
    /// No space, or the copy cannot be mounted.
    pub fn after_power_loss(&self, folder: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let image = folder.join(format!("{name}.img"));
        self.capture(&image)?;
        Self::open(image, &folder.join(name))
    }

    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for LossyDisk {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = mounts::unmount(&self.mountpoint) {
            eprintln!("{error:#}");
            return;
        }
        for removed in [fs::remove_dir(&self.mountpoint), fs::remove_file(&self.image)] {
            if let Err(error) = removed {
                eprintln!("cannot remove {}: {error}", self.image.display());
            }
        }
    }
}
