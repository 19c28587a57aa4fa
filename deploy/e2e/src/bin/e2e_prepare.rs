//! Makes everything that is slow to make: etcd, Kubernetes, containerd and the rest of a node, and the base image of the hosts.
//! It prints lines of progress, which the test runner would hide, and ends at once if all of it is in the cache.

use std::thread;

use anyhow::{Result, anyhow};
use seaworthy_e2e::{
    cache_folder, ensure_controllers, ensure_helm, ensure_image, ensure_packages, ensure_parts,
    ensure_prometheus, unsupported,
};

fn main() -> Result<()> {
    if let Some(reason) = unsupported() {
        eprintln!("SKIPPED: {reason}");
        return Ok(());
    }
    thread::scope(|scope| {
        // It mostly waits for the network and the disk, while Go needs the processors.
        let image = scope.spawn(ensure_image);
        ensure_parts()?;
        ensure_controllers()?;
        ensure_helm()?;
        ensure_prometheus()?;
        ensure_packages()?;
        image.join().map_err(|_| anyhow!("the thread that makes the base image panicked"))?
    })?;
    eprintln!("real parts are ready in {}", cache_folder()?.display());
    Ok(())
}
