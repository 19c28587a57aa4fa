//! Hosts that the operator turns into nodes, with the components of `deploy/components` in the versions that a test asks for.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::components::{self, Component};
use crate::deadline::{eventually, eventually_every};
use crate::fleet::{Fleet, PATIENCE, find_condition};
use crate::host::Host;
use crate::world::World;
use crate::{manifests, oci, workload};

/// Pause between two looks through kubectl, each of which costs 0.1 s of processor time.
const KUBECTL_PAUSE: Duration = Duration::from_millis(500);

/// The units of a node.
pub const UNITS: [&str; 5] = ["node-prerequisites", "containerd", "cni-plugins", "kubelet", "kube-proxy"];

/// All hosts of a world as nodes, and what is wanted of them.
#[derive(Debug)]
pub struct Nodes {
    /// The ClusterPackageVersion.
    defaults: Value,
    versions: BTreeMap<String, String>,
}

impl Nodes {
    /// Applies components, defaults and a Machine for each host, at once, as people would, and waits until every Node is Ready and
    /// every machine in order. The versions are those of the files in `deploy/components`, but for these.
    ///
    /// # Errors
    /// Something is refused, or takes too long.
    pub fn join(fleet: &Fleet<'_>, versions: &[(&str, &str)], audit_interval: &str) -> Result<Self> {
        let world = fleet.world();
        let rbac = components::folder().join("rbac.yaml");
        world.kubectl(["apply", "-f", rbac.to_str().context("path")?])?;
        let hosts = u32::try_from(world.hosts().count())?;
        let mut defaults = components::defaults(world, hosts)?;
        defaults["spec"]["auditInterval"] = json!(audit_interval);
        let mut nodes = Self { defaults, versions: BTreeMap::new() };
        let mut objects = Vec::new();
        for name in components::OF_A_NODE {
            let other = versions.iter().find(|(component, _)| *component == name);
            let component = Component::read(name)?;
            let component = other.iter().fold(component, |component, (_, version)| component.at(version));
            nodes.set_version(name, component.version())?;
            objects.push(component.served_by(world.artefacts())?.object().clone());
        }
        objects.push(nodes.defaults.clone());
        objects.extend(world.hosts().map(machine));
        let start = Instant::now();
        let text = objects.iter().map(|object| format!("{object}\n---\n")).collect::<String>();
        world.control_plane().apply(&text)?;
        become_ready(fleet, start)?;
        nodes.are_in_order(fleet)?;
        fleet.note(&format!("{hosts} machines in order {:.1?} after kubectl apply", start.elapsed()))?;
        Ok(nodes)
    }

    /// The version of a component that is wanted now.
    #[must_use]
    pub fn version(&self, component: &str) -> &str {
        self.versions.get(component).map_or("", String::as_str)
    }

    /// Edits the defaults, as people would: publishes this version of a component, and wants it on all nodes.
    ///
    /// # Errors
    /// The build fails, or an object is refused.
    pub fn want(&mut self, fleet: &Fleet<'_>, component: &str, version: &str) -> Result<()> {
        self.want_component(fleet, Component::read(component)?.at(version))
    }

    /// The same for a component that is not as its file says.
    ///
    /// # Errors
    /// The build fails, or an object is refused.
    pub fn want_component(&mut self, fleet: &Fleet<'_>, component: Component) -> Result<()> {
        self.want_all(fleet, &[component.served_by(fleet.world().artefacts())?])
    }

    /// The same for several that are served already, with one edit of the defaults.
    ///
    /// # Errors
    /// An object is refused.
    pub fn want_all(&mut self, fleet: &Fleet<'_>, components: &[Component]) -> Result<()> {
        for component in components {
            fleet.apply(component.object())?;
            self.set_version(component.name(), component.version())?;
        }
        fleet.apply(&self.defaults)
    }

    /// The defaults, as they were applied last.
    #[must_use]
    pub const fn defaults(&self) -> &Value {
        &self.defaults
    }

    /// Publishes a version of a component. Nothing wants it yet.
    ///
    /// # Errors
    /// The build fails, or the object is refused.
    pub fn publish(&self, fleet: &Fleet<'_>, component: &str, version: &str) -> Result<()> {
        let component = Component::read(component)?.at(version).served_by(fleet.world().artefacts())?;
        fleet.apply(component.object())
    }

    /// Edits a field of the spec of the defaults.
    ///
    /// # Errors
    /// It is refused.
    pub fn set(&mut self, fleet: &Fleet<'_>, field: &str, value: Value) -> Result<()> {
        self.defaults["spec"][field] = value;
        fleet.apply(&self.defaults)
    }

    /// The defaults with another version of a component. Nobody applies them.
    ///
    /// # Errors
    /// They do not name the component.
    pub fn defaults_with(&self, component: &str, version: &str) -> Result<Value> {
        let mut defaults = self.defaults.clone();
        let settings = defaults.pointer_mut("/spec/components").and_then(Value::as_array_mut);
        let mut settings = settings.context("no spec.components")?.iter_mut();
        let setting = settings.find(|setting| setting["name"] == component);
        setting.with_context(|| format!("no component {component}"))?["version"] = json!(version);
        Ok(defaults)
    }

    fn set_version(&mut self, component: &str, version: &str) -> Result<()> {
        self.defaults = self.defaults_with(component, version)?;
        self.versions.insert(component.to_owned(), version.to_owned());
        Ok(())
    }

    /// Waits until each machine is Ready with every component in the wanted version, and the rollout is complete.
    ///
    /// # Errors
    /// They are not in time.
    pub fn are_in_order(&self, fleet: &Fleet<'_>) -> Result<()> {
        fleet.world().hosts().try_for_each(|host| self.is_in_order(fleet, host))?;
        fleet.rollout_completes()
    }

    /// Waits until a machine is Ready with every component in the wanted version, and its Node is Ready too.
    ///
    /// # Errors
    /// They are not in time; the error holds what they are instead.
    pub fn is_in_order(&self, fleet: &Fleet<'_>, host: &Host) -> Result<()> {
        fleet.eventually(&format!("{} in order", host.name()), || {
            let machine = fleet.get("machine", host.name())?;
            let status = &machine["status"];
            let is_ready = find_condition(&machine, "Ready").is_some_and(|ready| ready["status"] == "True");
            let is_observed = status["observedGeneration"] == machine["metadata"]["generation"];
            let installed = status["installed"].as_str().unwrap_or_default();
            for (name, version) in &self.versions {
                let wanted = format!("{name}={version}");
                let is_there = installed.split([',', ' ']).any(|found| found == wanted);
                ensure!(is_there, "{wanted} is not among {installed}: {status}");
            }
            ensure!(is_ready && is_observed, "{status}");
            Ok(())
        })?;
        is_ready(fleet.world(), host)
    }
}

/// The Machine of a host that is to become a node.
#[must_use]
pub fn machine(host: &Host) -> Value {
    let mut machine = manifests::machine(host.name(), host);
    machine["spec"]["parameters"] = json!({"podCIDR": host.endpoint().pod_range()});
    machine
}

/// The names of the machines that have this version of a component.
///
/// # Errors
/// A Machine cannot be read.
pub fn with(fleet: &Fleet<'_>, component: &str, version: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for host in fleet.world().hosts() {
        let machine = fleet.get("machine", host.name())?;
        let installed = machine["status"]["installed"].as_str().unwrap_or_default();
        if installed.split(',').any(|found| found == format!("{component}={version}")) {
            names.push(host.name().to_owned());
        }
    }
    Ok(names)
}

/// The images of the pods that run here.
///
/// # Errors
/// They cannot be made.
pub fn images(world: &World) -> Result<[oci::Image; 2]> {
    Ok([oci::pause(world.run())?, oci::webd(world.run(), workload::VERSION)?])
}

/// Brings images to a host as soon as it has a containerd: there is no registry.
///
/// # Errors
/// It has none in time.
pub fn load_images(host: &Host, images: &[oci::Image]) -> Result<()> {
    let load = |image: &oci::Image| eventually("a containerd", PATIENCE, || image.load_on(host));
    images.iter().try_for_each(load).with_context(|| host.name().to_owned())
}

/// Waits until the Node of each host is Ready, and tells when.
fn become_ready(fleet: &Fleet<'_>, start: Instant) -> Result<()> {
    let world = fleet.world();
    let images = images(world)?;
    thread::scope(|scope| {
        let images = &images;
        let load = |host| scope.spawn(move || load_images(host, images));
        let loading = world.hosts().map(load).collect::<Vec<_>>();
        for host in world.hosts() {
            is_ready(world, host)?;
            let name = host.name();
            fleet.note(&format!("{name}: Node Ready {:.1?} after kubectl apply", start.elapsed()))?;
        }
        loading.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })
}

/// Waits until the Node of a host is Ready.
///
/// # Errors
/// It is not in time.
pub fn is_ready(world: &World, host: &Host) -> Result<()> {
    eventually_every(KUBECTL_PAUSE, format!("Node {}", host.name()), PATIENCE, || {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")]}"#;
        let ready = world.kubectl(["get", "node", host.name(), "-o", path])?;
        ensure!(ready.contains(r#""status":"True""#), "{ready}");
        Ok(())
    })
}

/// When each unit of each host started, and how often the host was ordered to do something.
///
/// # Errors
/// A host does not answer.
pub fn starts(world: &World) -> Result<BTreeMap<String, (String, usize)>> {
    let units = UNITS.map(|unit| format!("{unit}.service")).join(" ");
    let show =
        format!("systemctl show --property=Id,ActiveEnterTimestampMonotonic,MainPID,NRestarts {units}");
    world
        .hosts()
        .map(|host| Ok((host.name().to_owned(), (host.sh(&show)?, host.operations()?.len()))))
        .collect()
}
