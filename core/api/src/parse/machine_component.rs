//! `MachineComponent`.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_model::certificate::NodeIdentity;
use seaworthy_model::component::{
    Architecture, Artefact, ArtefactFormat, ConfigFile, Confirm, Content, Disruption, Fact, Link, Rollback,
    Unit, VersionObject, VersionSpec,
};
use seaworthy_model::digest::Digest;
use seaworthy_model::host_path::{is_component_unit, is_within};
use seaworthy_model::id::{Kind, VersionId};
use seaworthy_model::meta::Parsed;

use super::faults::{Faults, Field};
use super::host_path::{identity_place, linkable};
use super::metadata::{MetadataError, metadata};
use super::probe::probe;
use super::removal::{invocation, removal};
use super::requirement::{requirement, requirements};
use super::{status, text};
use crate::host_path::COMPONENT_UNIT;
use crate::names::Names;
use crate::object::MachineComponent;
use crate::v1alpha1::{self, MachineComponentSpec};

/// Longest template, in bytes.
const TEMPLATE_MAX: usize = 65_536;

/// Reads a `MachineComponent`.
///
/// # Errors
/// When the metadata is invalid. Faults of the spec are part of the result.
pub fn version(
    object: &MachineComponent,
    names: &mut Names,
) -> Result<(VersionId, VersionObject), MetadataError> {
    let meta = metadata(Kind::MachineComponent, &object.metadata)?;
    let id = names.version_object(&object.metadata.name);
    let spec = spec(&object.metadata.name, &object.spec, names);
    let status = object.status.as_ref().map(status::version_status).unwrap_or_default();
    Ok((id, VersionObject { meta, spec, status }))
}

fn spec(name: &str, spec: &MachineComponentSpec, names: &mut Names) -> Parsed<VersionSpec> {
    let mut faults = Faults::default();
    let root = Field::root("spec");
    faults.require(root.name("component"), text::is_label(&spec.component), text::LABEL);
    faults.require(root.name("version"), text::is_subdomain(&spec.version, 63), text::SUBDOMAIN);
    let rest = name.strip_prefix(spec.component.as_str()).and_then(|rest| rest.strip_prefix('-'));
    let message = "must be spec.component and spec.version with a '-' between them";
    faults.require(Field::root("metadata").name("name"), rest == Some(spec.version.as_str()), message);
    let is_empty = spec.artefacts.is_empty() && spec.files.is_empty() && spec.unit.is_none();
    let message = "must have at least one entry, unless there are files or a unit";
    faults.require(root.name("artefacts"), !is_empty, message);
    let artefacts = artefacts(root.name("artefacts"), &spec.artefacts, &mut faults);
    depends_on(root.name("dependsOn"), spec, &mut faults);
    requirements(root.name("requires"), spec, &mut faults);
    let disruption = disruption(root.name("disruption"), &spec.disruption, &mut faults);
    let reloads_nothing = disruption == Disruption::Reload && spec.unit.is_none();
    faults.require(root.name("disruption"), !reloads_nothing, "must not be Reload without a unit");
    let machine_parameters = &spec.machine_parameters;
    machine_parameter_names(root.name("machineParameters"), machine_parameters, &mut faults);
    let content = content(root, spec, disruption, &mut faults);
    let identity = spec.node_identity.as_ref();
    let node_identity = identity.map(|read| node_identity(root.name("nodeIdentity"), read, &mut faults));
    if faults.count() > 0 {
        return Err(faults.into_errors().into());
    }
    let component = names.component(&spec.component);
    let depends_on = spec.depends_on.iter().map(|name| names.component(name)).collect();
    let requires = spec.requires.iter().map(|rule| requirement(rule, names)).collect();
    let (version, machine_parameters) = (spec.version.clone(), machine_parameters.clone());
    Ok(Arc::new(VersionSpec {
        component,
        version,
        artefacts,
        machine_parameters,
        depends_on,
        requires,
        disruption,
        node_identity,
        content,
    }))
}

fn disruption(field: Field<'_>, name: &str, faults: &mut Faults) -> Disruption {
    let known = Disruption::from_name(name);
    faults.require(field, known.is_some(), "must be None, Reload, Restart, Drain or Reboot");
    known.unwrap_or_default()
}

fn depends_on(field: Field<'_>, spec: &MachineComponentSpec, faults: &mut Faults) {
    faults.at_most(field, spec.depends_on.len(), 16);
    faults.unique(field, "", spec.depends_on.iter().map(String::as_str));
    for (index, name) in spec.depends_on.iter().enumerate() {
        faults.require(field.index(index), text::is_label(name), text::LABEL);
    }
    let is_own = spec.depends_on.contains(&spec.component);
    faults.require(field, !is_own, "must not have the component's own name in it");
}

fn machine_parameter_names(field: Field<'_>, names: &[String], faults: &mut Faults) {
    faults.at_most(field, names.len(), 64);
    faults.unique(field, "", names.iter().map(String::as_str));
    for (index, name) in names.iter().enumerate() {
        faults.require(field.index(index), text::is_identifier(name), text::IDENTIFIER);
    }
}

fn node_identity(field: Field<'_>, identity: &v1alpha1::NodeIdentity, faults: &mut Faults) -> NodeIdentity {
    identity_place(field.name("path"), &identity.path, faults);
    let renew_before = identity.renew_before.as_deref().and_then(|written| {
        let read = text::duration(written);
        let message = "must be a duration such as \"24h\" or \"90m\"";
        faults.require(field.name("renewBefore"), read.is_some(), message);
        read
    });
    NodeIdentity { path: identity.path.as_str().into(), renew_before }
}

fn artefacts(field: Field<'_>, artefacts: &[v1alpha1::Artefact], faults: &mut Faults) -> Vec<Artefact> {
    faults.at_most(field, artefacts.len(), 8);
    faults.unique(field, "architecture", artefacts.iter().map(|artefact| artefact.architecture.as_str()));
    let items = artefacts.iter().enumerate();
    items.filter_map(|(index, item)| artefact(field.index(index), item, faults)).collect()
}

fn artefact(field: Field<'_>, artefact: &v1alpha1::Artefact, faults: &mut Faults) -> Option<Artefact> {
    let architecture = Architecture::ALL.into_iter().find(|known| known.name() == artefact.architecture);
    let message = "must be amd64, arm64, ppc64le, riscv64 or s390x";
    faults.require(field.name("architecture"), architecture.is_some(), message);
    faults.require(field.name("url"), text::is_url(&artefact.url), text::URL);
    let lower = !artefact.sha256.bytes().any(|byte| byte.is_ascii_uppercase());
    let sha256 = Digest::parse(&artefact.sha256).filter(|_| lower);
    let message = "must be a SHA-256 digest: 64 lower-case hexadecimal digits";
    faults.require(field.name("sha256"), sha256.is_some(), message);
    let format = format(field, artefact, faults);
    Some(Artefact {
        architecture: architecture?,
        url: artefact.url.clone(),
        sha256: sha256?,
        format: format?,
    })
}

fn format(field: Field<'_>, artefact: &v1alpha1::Artefact, faults: &mut Faults) -> Option<ArtefactFormat> {
    match (artefact.format.as_str(), &artefact.path) {
        ("TarGz", None) => return Some(ArtefactFormat::TarGz),
        ("TarGz", Some(_)) => faults.add(field.name("path"), "path must not be set when format is TarGz"),
        ("Binary", None) => faults.add(field.name("path"), "path is required when format is Binary"),
        ("Binary", Some(path)) if text::is_relative_path(path) => {
            return Some(ArtefactFormat::Binary { path: path.clone() });
        }
        ("Binary", Some(_)) => faults.add(field.name("path"), text::relative_path_words()),
        _ => faults.add(field.name("format"), "must be TarGz or Binary"),
    }
    None
}

fn content(
    root: Field<'_>,
    spec: &MachineComponentSpec,
    disruption: Disruption,
    faults: &mut Faults,
) -> Content {
    let files = files(root.name("files"), &spec.files, faults);
    collisions(root, spec, faults);
    let links = links(root.name("links"), &spec.links, faults);
    let unit = spec.unit.as_ref().map(|read| unit(root.name("unit"), read, faults));
    let probe = spec.probe.as_ref().and_then(|read| probe(root.name("probe"), read, faults));
    let facts = facts(root.name("facts"), &spec.facts, faults);
    let rollback = match spec.rollback.as_str() {
        "Unsafe" => Rollback::Unsafe,
        other => {
            faults.require(root.name("rollback"), other == "Safe", "must be Safe or Unsafe");
            Rollback::Safe
        }
    };
    let preflight = spec.preflight.as_ref();
    let preflight = preflight.and_then(|read| invocation(root.name("preflight"), read, faults));
    let removal = spec.removal.as_ref().map(|read| removal(root.name("removal"), read, faults));
    let is_served = unit.is_some() || removal.as_ref().is_none_or(|removal| removal.before_stop.is_empty());
    let message = "must not be set without a unit";
    faults.require(root.name("removal").name("beforeStop"), is_served, message);
    let reboot = disruption == Disruption::Reboot;
    let less_than_restart = Some(disruption).filter(|class| *class < Disruption::Restart);
    let confirm = spec.confirm.as_ref().and_then(|read| confirm(root.name("confirm"), read, faults));
    let is_restored = spec.confirm.is_none() || rollback == Rollback::Safe;
    faults.require(root.name("confirm"), is_restored, "must not be set when rollback is Unsafe");
    Content {
        files,
        links,
        unit,
        probe,
        facts,
        rollback,
        reboot,
        less_than_restart,
        confirm,
        preflight,
        removal,
    }
}

fn confirm(field: Field<'_>, read: &v1alpha1::Confirm, faults: &mut Faults) -> Option<Confirm> {
    let range = (Confirm::WITHIN_MIN, Confirm::WITHIN_MAX);
    let within_seconds = faults.number(field.name("withinSeconds"), read.within_seconds, range)?;
    Some(Confirm { within_seconds })
}

fn files(field: Field<'_>, files: &[v1alpha1::ConfigFile], faults: &mut Faults) -> Vec<ConfigFile> {
    faults.at_most(field, files.len(), 32);
    let mut read = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        let item = field.index(index);
        let is_path = text::is_relative_path(&file.path);
        if !is_path {
            faults.add(item.name("path"), text::relative_path_words());
        }
        let fits = file.template.len() <= TEMPLATE_MAX;
        faults.require(item.name("template"), fits, "must have at most 65536 bytes");
        match text::mode(&file.mode) {
            Some(mode) => {
                read.push(ConfigFile { path: file.path.clone(), template: file.template.clone(), mode });
            }
            None => faults.add(item.name("mode"), "must be permission bits in octal, such as \"0644\""),
        }
    }
    read
}

/// No two files of a release may have the same path, nor may one path lie below another: a file is not a directory.
fn collisions(root: Field<'_>, spec: &MachineComponentSpec, faults: &mut Faults) {
    let mut places: BTreeMap<&str, String> = BTreeMap::new();
    for (index, artefact) in spec.artefacts.iter().enumerate() {
        if let (Some(path), "Binary") = (&artefact.path, artefact.format.as_str()) {
            places.entry(path).or_insert_with(|| format!("spec.artefacts[{index}].path"));
        }
    }
    let list = root.name("files");
    for (index, file) in spec.files.iter().enumerate() {
        let clash =
            places.iter().find(|(place, _)| is_within(place, &file.path) || is_within(&file.path, place));
        if let Some((_, field)) = clash {
            faults.add(
                list.index(index).name("path"),
                format!("is the same as, or lies below or above, {field}"),
            );
        } else {
            places.insert(&file.path, format!("spec.files[{index}].path"));
        }
    }
}

fn links(field: Field<'_>, links: &[v1alpha1::Link], faults: &mut Faults) -> Vec<Link> {
    faults.at_most(field, links.len(), 32);
    faults.unique(field, "path", links.iter().map(|link| link.path.as_str()));
    let mut read = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate() {
        let item = field.index(index);
        linkable(item.name("path"), &link.path, faults);
        if !text::is_relative_path(&link.target) {
            faults.add(item.name("target"), text::relative_path_words());
        }
        read.push(Link { path: link.path.clone(), target: link.target.clone() });
    }
    read
}

fn unit(field: Field<'_>, unit: &v1alpha1::Unit, faults: &mut Faults) -> Unit {
    faults.require(field.name("name"), text::is_service(&unit.name), text::UNIT);
    faults.require(field.name("name"), is_component_unit(&unit.name), COMPONENT_UNIT);
    faults.require(field.name("template"), !unit.template.is_empty(), "must not be empty");
    let fits = unit.template.len() <= TEMPLATE_MAX;
    faults.require(field.name("template"), fits, "must have at most 65536 bytes");
    if unit.executable.as_ref().is_some_and(|path| !text::is_relative_path(path)) {
        faults.add(field.name("executable"), text::relative_path_words());
    }
    let (name, template, executable) = (unit.name.clone(), unit.template.clone(), unit.executable.clone());
    Unit { name, template, executable }
}

fn facts(field: Field<'_>, facts: &[String], faults: &mut Faults) -> Vec<Fact> {
    faults.at_most(field, facts.len(), 16);
    faults.unique(field, "", facts.iter().map(String::as_str));
    let mut read = Vec::with_capacity(facts.len());
    for (index, name) in facts.iter().enumerate() {
        match Fact::ALL.into_iter().find(|fact| fact.name() == name) {
            Some(fact) => read.push(fact),
            None => {
                let message = "must be machineName, ip, hostname, idc, rack, architecture or cgroupVersion";
                faults.add(field.index(index), message);
            }
        }
    }
    read
}
