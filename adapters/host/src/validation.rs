//! Validates an operation before anything is done.

use std::collections::BTreeSet;

use seaworthy_api::host::translate::is_object_name;
use seaworthy_api::host::wire::{Change, Fence, Operation, Release};
use seaworthy_api::host_path::{COMPONENT_UNIT, IDENTITY_PLACE, LINKABLE, REMOVABLE};
use seaworthy_model::component::{
    Architecture, Artefact, ArtefactFormat, Confirm, Content, Probe, ProbeCheck, Rollback, Unit,
};
use seaworthy_model::host_path::{is_component_unit, is_identity_place, is_linkable, is_removable};
use seaworthy_model::invocation::Invocation;
use seaworthy_model::removal::Removal;

use crate::failure::{self, Result};
use crate::layout::{Layout, OWN};

/// The longest path, in bytes.
const PATH_MAX: usize = 1024;
/// The longest template, in bytes: an object in etcd has at most 1.5 MiB.
const TEMPLATE_MAX: usize = 2 << 20;
/// The most files, and the most links, of one release.
const COUNT_MAX: usize = 1024;
/// The longest time in a probe, in seconds.
const SECONDS_MAX: u32 = 24 * 3600;

/// Validates the names in a fence.
pub(crate) fn check_fence(fence: &Fence) -> Result<()> {
    let fine =
        |text: &str| !text.is_empty() && text.len() <= 253 && text.bytes().all(|b| b.is_ascii_graphic());
    if !fine(&fence.cluster) {
        return Err(failure::invalid(format!("cluster {:?} is not an id", fence.cluster)));
    }
    if !fine(&fence.machine_name) {
        return Err(failure::invalid(format!("machine {:?} is not a name", fence.machine_name)));
    }
    Ok(())
}

/// Validates an operation on a host of `architecture`.
pub(crate) fn check(operation: &Operation, architecture: Architecture, layout: &Layout) -> Result<()> {
    if !is_object_name(&operation.component) {
        return Err(failure::invalid(format!("component {:?} is not an object's name", operation.component)));
    }
    match &operation.change {
        Change::Remove => Ok(()),
        Change::Install(release) => check_release(release, architecture, layout),
    }
}

fn check_release(release: &Release, architecture: Architecture, layout: &Layout) -> Result<()> {
    let recipe = &release.recipe;
    if !is_object_name(&release.version_name) {
        return Err(failure::invalid(format!(
            "version name {:?} is not an object's name",
            release.version_name
        )));
    }
    check_version(&recipe.version)?;
    if recipe.release_id() != release.id {
        return Err(failure::invalid(format!(
            "the recipe makes release {}, not {}",
            recipe.release_id(),
            release.id
        )));
    }
    if let Some(artefact) = &recipe.artefact {
        check_artefact(artefact, architecture)?;
    }
    check_content(&recipe.content, layout)
}

/// Validates an artefact for a host of `architecture`.
pub(crate) fn check_artefact(artefact: &Artefact, architecture: Architecture) -> Result<()> {
    if artefact.architecture != architecture {
        return Err(failure::invalid(format!(
            "the artefact is for {}, this host is {}",
            artefact.architecture.name(),
            architecture.name()
        )));
    }
    let scheme = artefact.url.starts_with("http://") || artefact.url.starts_with("https://");
    if !scheme || artefact.url.len() > 4096 || !artefact.url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failure::invalid(format!("artefact url {:?} is not http:// or https://", artefact.url)));
    }
    if let ArtefactFormat::Binary { path } = &artefact.format {
        check_inside("artefact path", path)?;
    }
    Ok(())
}

/// A version becomes part of a directory's name.
fn check_version(version: &str) -> Result<()> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+');
    let start = version.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !start || version.len() > 128 || !version.bytes().all(fine) {
        return Err(failure::invalid(format!(
            "version {version:?} is not letters, digits, `.`, `-`, `_`, `+`"
        )));
    }
    Ok(())
}

fn check_content(content: &Content, layout: &Layout) -> Result<()> {
    if content.files.len() > COUNT_MAX || content.links.len() > COUNT_MAX {
        return Err(failure::invalid(format!("more than {COUNT_MAX} files or links")));
    }
    let mut paths = BTreeSet::new();
    for file in &content.files {
        check_inside("file", &file.path)?;
        if file.mode > 0o777 {
            return Err(failure::invalid(format!("file {:?}: mode {:o} is above 777", file.path, file.mode)));
        }
        check_template(&file.path, &file.template)?;
        if !paths.insert(file.path.as_str()) {
            return Err(failure::invalid(format!("file {:?} is given twice", file.path)));
        }
    }
    for link in &content.links {
        check_link(&link.path, layout)?;
        check_inside("link target", &link.target)?;
        if !paths.insert(link.path.as_str()) {
            return Err(failure::invalid(format!("link {:?} is given twice", link.path)));
        }
    }
    if let Some(unit) = &content.unit {
        check_unit(unit)?;
    }
    content.probe.as_ref().map_or(Ok(()), check_probe)?;
    content.confirm.map_or(Ok(()), |confirm| check_confirm(confirm, content.rollback))?;
    content.preflight.as_ref().map_or(Ok(()), |preflight| check_invocation("preflight", preflight))?;
    content.removal.as_ref().map_or(Ok(()), |removal| check_removal(removal, layout))
}

fn check_confirm(confirm: Confirm, rollback: Rollback) -> Result<()> {
    let (seconds, least, most) = (confirm.within_seconds, Confirm::WITHIN_MIN, Confirm::WITHIN_MAX);
    if !(least..=most).contains(&seconds) {
        return Err(failure::invalid(format!(
            "confirm: withinSeconds {seconds} is not from {least} to {most}"
        )));
    }
    if rollback == Rollback::Unsafe {
        return Err(failure::invalid("confirm: a release whose rollback is Unsafe is never taken back"));
    }
    Ok(())
}

fn check_invocation(what: &str, invocation: &Invocation) -> Result<()> {
    if !(1..=SECONDS_MAX).contains(&invocation.timeout_seconds) {
        let seconds = invocation.timeout_seconds;
        return Err(failure::invalid(format!(
            "{what}: timeoutSeconds {seconds} is not from 1 to {SECONDS_MAX}"
        )));
    }
    if !is_command(&invocation.command) {
        return Err(failure::invalid(format!("{what} {:?} is not acceptable", invocation.command)));
    }
    Ok(())
}

fn check_removal(removal: &Removal, layout: &Layout) -> Result<()> {
    if removal.before_stop.len() + removal.after_stop.len() + removal.paths.len() > COUNT_MAX {
        return Err(failure::invalid(format!("more than {COUNT_MAX} commands and paths of a removal")));
    }
    for invocation in removal.before_stop.iter().chain(&removal.after_stop) {
        check_invocation("removal", invocation)?;
    }
    removal.paths.iter().try_for_each(|path| check_removed(path, layout))
}

/// Whether a program may be run: an absolute path or one in the release, with arguments that can be passed.
fn is_command(command: &[String]) -> bool {
    let program = command.first().map(String::as_str).unwrap_or_default();
    command.len() <= 256
        && command.iter().all(|word| word.len() <= 4096 && !word.contains('\0'))
        && (program.starts_with('/') || check_inside("command", program).is_ok())
}

fn check_template(name: &str, template: &str) -> Result<()> {
    if template.len() > TEMPLATE_MAX {
        return Err(failure::invalid(format!("template {name:?} is longer than {TEMPLATE_MAX} bytes")));
    }
    Ok(())
}

/// A path that stays inside the directory that it is relative to.
pub(crate) fn check_inside(what: &str, path: &str) -> Result<()> {
    let parts_fine = path.split('/').all(|part| !matches!(part, "" | "." | "..") && part.len() <= 255);
    if !parts_fine || path.len() > PATH_MAX || path.chars().any(char::is_control) {
        return Err(failure::invalid(format!("{what} {path:?} is not a plain relative path")));
    }
    if path == OWN || path.starts_with(".seaworthy/") {
        return Err(failure::invalid(format!("{what} {path:?} is the host program's own")));
    }
    Ok(())
}

/// Validates the path of a link on the host.
pub(crate) fn check_link(path: &str, layout: &Layout) -> Result<()> {
    check_on_host("link", path, (is_linkable, LINKABLE), layout)
}

/// Validates the path of the file with the node's identity.
pub(crate) fn check_identity(path: &str, layout: &Layout) -> Result<()> {
    check_on_host("identity", path, (is_identity_place, IDENTITY_PLACE), layout)
}

/// Validates a path that is to be deleted with all that is in it.
pub(crate) fn check_removed(path: &str, layout: &Layout) -> Result<()> {
    check_on_host("removal", path, (is_removable, REMOVABLE), layout)
}

/// A path on the host that keeps `rule`, and has nothing to do with the program's own directory.
fn check_on_host(
    what: &str,
    path: &str,
    (rule, message): (fn(&str) -> bool, &str),
    layout: &Layout,
) -> Result<()> {
    let Some(relative) = path.strip_prefix('/') else {
        return Err(failure::invalid(format!("{what} {path:?} is not absolute")));
    };
    check_inside(what, relative)?;
    let place = layout.on_host(path);
    if place.starts_with(layout.root()) || layout.root().starts_with(&place) {
        return Err(failure::invalid(format!("{what} {path:?} is in the host program's own directory")));
    }
    if !rule(path) {
        return Err(failure::invalid(format!("{what} {path:?} {message}")));
    }
    Ok(())
}

fn check_unit(unit: &Unit) -> Result<()> {
    let stem = unit.name.strip_suffix(".service").unwrap_or_default();
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@');
    let start = stem.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !start || unit.name.len() > 200 || !stem.bytes().all(fine) || stem.ends_with('@') {
        return Err(failure::invalid(format!("unit {:?} is not the name of a service", unit.name)));
    }
    if !is_component_unit(&unit.name) {
        return Err(failure::invalid(format!("unit {:?} {COMPONENT_UNIT}", unit.name)));
    }
    check_template(&unit.name, &unit.template)?;
    unit.executable.as_ref().map_or(Ok(()), |path| check_inside("executable", path))
}

fn check_probe(probe: &Probe) -> Result<()> {
    for (name, value) in [
        ("periodSeconds", probe.period_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("successThreshold", probe.success_threshold),
        ("deadlineSeconds", probe.deadline_seconds),
    ] {
        if !(1..=SECONDS_MAX).contains(&value) {
            return Err(failure::invalid(format!("probe: {name} {value} is not from 1 to {SECONDS_MAX}")));
        }
    }
    let fine = match &probe.check {
        ProbeCheck::Tcp { port } => *port != 0,
        ProbeCheck::Http { port, path } => {
            *port != 0
                && path.starts_with('/')
                && path.len() <= PATH_MAX
                && path.bytes().all(|byte| byte.is_ascii_graphic())
        }
        ProbeCheck::Exec { command } => is_command(command),
    };
    if fine { Ok(()) } else { Err(failure::invalid(format!("probe {:?} is not acceptable", probe.check))) }
}
