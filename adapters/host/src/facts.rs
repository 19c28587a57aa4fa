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

use crate::digest::digest_of_file;
use crate::disk;
use crate::failure::{self, Result};
use crate::identity;
use crate::journal;
use crate::manifest::Manifest;
use crate::memory::Memory;
use crate::operations;
use crate::site::Site;

/// Reports all, for an operator of `cluster`, with what became of `operation`.
pub(crate) fn gather(
    site: &Site<'_>,
    memory: &Memory,
    cluster: &str,
    operation: Option<OperationId>,
) -> Result<Facts> {
    let cluster = memory.owner.as_ref().map_or(cluster, |owner| &owner.cluster);
    Ok(Facts {
        host: machine_id(site)?,
        boot: site.system.boot()?,
        architecture: architecture()?,
        cgroup_version: cgroup_version(site),
        epoch: memory.epoch(cluster),
        owner: memory.owner.clone(),
        components: components(site)?,
        operation: operation.map_or(Ok(None), |id| report(site, id))?,
        identity: identity::report(site)?,
        platform: platform(site),
    })
}

/// What became of an operation; `None` when the host has never heard of it.
fn report(site: &Site<'_>, id: OperationId) -> Result<Option<OperationReport>> {
    let Some(lines) = journal::read(&site.layout.journal(id)) else { return Ok(None) };
    // Without its order it is not known what the operation was about. That must not hide the other facts.
    let Ok(operation) = operations::order(site, id) else { return Ok(None) };
    let release = match operation.change {
        Change::Install(release) => Some(ReleaseName { version_name: release.version_name, id: release.id }),
        Change::Remove => None,
    };
    let (generation, component) = (operation.generation, operation.component);
    let state = journal::state(&lines, site.system.boot()?);
    Ok(Some(OperationReport { id, generation, component, release, state }))
}

fn machine_id(site: &Site<'_>) -> Result<HostId> {
    let path = site.layout.on_host("/etc/machine-id");
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
fn cgroup_version(site: &Site<'_>) -> Option<CgroupVersion> {
    let root = site.layout.on_host("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        return Some(CgroupVersion::V2);
    }
    fs::read_dir(root).ok()?.next().is_some().then_some(CgroupVersion::V1)
}

fn components(site: &Site<'_>) -> Result<Vec<Component>> {
    let mut components = Vec::new();
    for name in disk::names(&site.layout.currents())? {
        if !is_object_name(&name) {
            continue;
        }
        if let Some(manifest) = Manifest::current(&site.layout, &name) {
            components.push(manifest.inspect(&site.layout, site.system)?);
        }
    }
    Ok(components)
}

/// Nothing depends on these, so what cannot be found out is left empty.
fn platform(site: &Site<'_>) -> Platform {
    let release = fs::read_to_string(site.layout.on_host("/etc/os-release")).unwrap_or_default();
    let os = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    let place = site.layout.root().ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let free = statvfs(place).ok();
    Platform {
        program: digest_of_file(site.program).ok(),
        kernel: uname().release().to_string_lossy().into_owned(),
        os: os.trim_matches('"').to_owned(),
        free_bytes: free.as_ref().map_or(0, |free| free.f_bavail.saturating_mul(free.f_frsize)),
        free_inodes: free.map_or(0, |free| free.f_favail),
    }
}
