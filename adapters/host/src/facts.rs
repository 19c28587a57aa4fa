//! What a host is, and what is on it.

use std::fs;
use std::path::Path;

use rustix::fs::statvfs;
use rustix::system::uname;
use seaworthy_api::host::translate::is_object_name;
use seaworthy_api::host::wire::{Change, Component, Facts, OperationReport, Platform, ReleaseName};
use seaworthy_model::component::{Architecture, CgroupVersion};
use seaworthy_model::host::OperationId;
use seaworthy_model::machine::HostId;

use crate::Host;
use crate::disk;
use crate::failure::{self, Result};
use crate::identity;
use crate::journal;
use crate::manifest::{Manifest, digest_of_file};
use crate::memory::Memory;

/// Reports all, for an operator of `cluster`, with what became of `operation`.
pub(crate) fn gather(
    host: &Host<'_>,
    memory: &Memory,
    cluster: &str,
    operation: Option<OperationId>,
) -> Result<Facts> {
    let cluster = memory.owner.as_ref().map_or(cluster, |owner| &owner.cluster);
    Ok(Facts {
        host: machine_id(host)?,
        boot: host.system.boot()?,
        architecture: architecture()?,
        cgroup_version: cgroup_version(host),
        epoch: memory.epoch(cluster),
        owner: memory.owner.clone(),
        components: components(host)?,
        operation: operation.map_or(Ok(None), |id| report(host, id))?,
        identity: identity::report(host)?,
        platform: platform(host),
    })
}

/// What became of an operation; `None` when the host has never heard of it.
fn report(host: &Host<'_>, id: OperationId) -> Result<Option<OperationReport>> {
    let Some(lines) = journal::read(&host.layout.journal(id))? else { return Ok(None) };
    // Without its order nobody knows what the operation was about; that must not hide everything else.
    let Ok(operation) = host.order(id) else { return Ok(None) };
    let release = match operation.change {
        Change::Install(release) => Some(ReleaseName { version_name: release.version_name, id: release.id }),
        Change::Remove => None,
    };
    let (generation, component) = (operation.generation, operation.component);
    let state = journal::state(&lines, host.system.boot()?);
    Ok(Some(OperationReport { id, generation, component, release, state }))
}

fn machine_id(host: &Host<'_>) -> Result<HostId> {
    let path = host.layout.on_host("/etc/machine-id");
    let text = fs::read_to_string(&path).map_err(|error| failure::on("read", &path, &error))?;
    let text = text.trim();
    match u128::from_str_radix(text, 16) {
        Ok(id) if text.len() == 32 && id != 0 => Ok(HostId(id)),
        _ => Err(failure::host(format!("{}: {text:?} is not a machine-id", path.display()))),
    }
}

/// The architecture that this program was built for; it runs nowhere else.
pub(crate) fn architecture() -> Result<Architecture> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(Architecture::Amd64),
        "aarch64" => Ok(Architecture::Arm64),
        "powerpc64" if cfg!(target_endian = "little") => Ok(Architecture::Ppc64le),
        "riscv64" => Ok(Architecture::Riscv64),
        "s390x" => Ok(Architecture::S390x),
        other => Err(failure::host(format!("architecture {other} has no name"))),
    }
}

/// The version of control groups; `None` when there are none. Where both are mounted, the first is what counts.
fn cgroup_version(host: &Host<'_>) -> Option<CgroupVersion> {
    let root = host.layout.on_host("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        return Some(CgroupVersion::V2);
    }
    fs::read_dir(root).ok()?.next().is_some().then_some(CgroupVersion::V1)
}

fn components(host: &Host<'_>) -> Result<Vec<Component>> {
    let mut components = Vec::new();
    for name in disk::names(&host.layout.currents())? {
        if !is_object_name(&name) {
            continue;
        }
        if let Some(manifest) = Manifest::current(&host.layout, &name)? {
            components.push(manifest.inspect(&host.layout, host.system)?);
        }
    }
    Ok(components)
}

/// Nothing depends on these, so what cannot be found out is left empty.
fn platform(host: &Host<'_>) -> Platform {
    let release = fs::read_to_string(host.layout.on_host("/etc/os-release")).unwrap_or_default();
    let os = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    let place = host.layout.root().ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let free = statvfs(place).ok();
    Platform {
        program: digest_of_file(host.program).ok(),
        kernel: uname().release().to_string_lossy().into_owned(),
        os: os.trim_matches('"').to_owned(),
        free_bytes: free.as_ref().map_or(0, |free| free.f_bavail.saturating_mul(free.f_frsize)),
        free_inodes: free.map_or(0, |free| free.f_favail),
    }
}
