//! Makes everything that is slow to make (etcd, Kubernetes, containerd and the rest of a node, the hosts' base image), with
//! lines of progress: the test runner would hide them. At once when all of it is in the cache.

use anyhow::Result;
use seaworthy_e2e::{
    cache_folder, ensure_controllers, ensure_image, ensure_packages, ensure_parts, unsupported,
};

fn main() -> Result<()> {
    if let Some(reason) = unsupported() {
        eprintln!("SKIPPED: {reason}");
        return Ok(());
    }
    ensure_parts()?;
    ensure_controllers()?;
    ensure_packages()?;
    ensure_image()?;
    eprintln!("real parts are ready in {}", cache_folder()?.display());
    Ok(())
}
