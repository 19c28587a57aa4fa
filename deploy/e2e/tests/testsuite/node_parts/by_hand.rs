//! What the operator does to make a host a node, done by hand: so that the components and the parts are known to work
//! before anything of the project works on them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Component, Host, Programs, World, eventually};
use serde_json::{Value, json};

/// A unit's start, and one decision of a controller.
const SOON: Duration = Duration::from_secs(60);

pub(crate) type Parameters = BTreeMap<&'static str, String>;

/// Installs a component as `deploy/components` describes it: files, links, unit.
pub(crate) fn install(
    world: &World,
    host: &Host,
    component: &Component,
    parameters: &Parameters,
) -> Result<()> {
    let (spec, name) = (&component.object()["spec"], component.name());
    let current = format!("/opt/by-hand/{name}");
    if let Some(artefact) = spec.pointer("/artefacts/0") {
        let file = world.artefacts().folder().join(format!("{name}-{}", component.version()));
        place(host, &current, artefact, &fs::read(file)?)?;
    }
    let files = spec["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (file, text) in files.iter().zip(render(world, host, component, files, parameters)?) {
        let path = format!("{current}/{}", string(&file["path"])?);
        host.write(&path, text)?;
        host.sh(&format!("chmod {} {path}", file["mode"].as_str().unwrap_or("0644")))?;
    }
    for link in spec["links"].as_array().into_iter().flatten() {
        let (path, target) = (string(&link["path"])?, string(&link["target"])?);
        host.sh(&format!("mkdir -p $(dirname {path}) && ln -s {current}/{target} {path}"))?;
    }
    let Some(unit) = spec.get("unit") else { return Ok(()) };
    let name = string(&unit["name"])?;
    let text =
        render(world, host, component, &[json!({"path": name, "template": unit["template"]})], parameters)?;
    host.write(&format!("/etc/systemd/system/{name}"), &text[0])?;
    host.sh(&format!("systemctl enable --quiet --now {name}")).map(drop)
}

/// Removes a component as `deploy/components` says.
pub(crate) fn remove(host: &Host, component: &Component) -> Result<()> {
    let (spec, name) = (&component.object()["spec"], component.name());
    let current = format!("/opt/by-hand/{name}");
    if let Some(unit) = spec.get("unit") {
        let unit = string(&unit["name"])?;
        host.sh(&format!("systemctl disable --quiet --now {unit} && rm /etc/systemd/system/{unit}"))?;
        host.sh("systemctl daemon-reload")?;
    }
    for invocation in spec["removal"]["afterStop"].as_array().into_iter().flatten() {
        let words = invocation["command"].as_array().context("a command has words")?;
        let words = words.iter().map(string).collect::<Result<Vec<_>>>()?;
        host.sh(&format!("cd {current} && ./{}", words.join(" ")))?;
    }
    for path in spec["removal"]["paths"].as_array().into_iter().flatten().map(string) {
        let path = path?;
        host.sh(&format!(
            "awk '$5 ~ \"^{path}(/|$)\" {{print $5}}' /proc/self/mountinfo | tac | xargs -r umount; rm -r -f {path}"
        ))?;
    }
    for link in spec["links"].as_array().into_iter().flatten() {
        host.sh(&format!("rm -f {}", string(&link["path"])?))?;
    }
    host.sh(&format!("rm -r {current}; rmdir --ignore-fail-on-non-empty /opt/by-hand")).map(drop)
}

fn place(host: &Host, current: &str, artefact: &Value, bytes: &[u8]) -> Result<()> {
    if artefact["format"] == "Binary" {
        let path = format!("{current}/{}", string(&artefact["path"])?);
        host.write(&path, bytes)?;
        return host.sh(&format!("chmod 755 {path}")).map(drop);
    }
    host.write("/var/tmp/archive", bytes)?;
    host.sh(&format!("mkdir -p {current} && tar -xzf /var/tmp/archive -C {current} && rm /var/tmp/archive"))
        .map(drop)
}

/// Renders templates with the very program that renders them for the operator.
fn render(
    world: &World,
    host: &Host,
    component: &Component,
    files: &[Value],
    parameters: &Parameters,
) -> Result<Vec<String>> {
    let cgroups = host.sh("[ -e /sys/fs/cgroup/cgroup.controllers ] && echo v2 || echo v1")?;
    let templates = files.iter().map(|file| json!({"name": file["path"], "text": file["template"]}));
    let work = json!({
        "templates": templates.collect::<Vec<_>>(),
        "context": {
            "parameters": parameters,
            "facts": {"machineName": host.name(), "ip": host.address(), "cgroupVersion": cgroups.trim()},
            "machine_parameters": {"podCIDR": host.endpoint().pod_range()},
            "component": component.name(),
            "version": component.version(),
            "current": format!("/opt/by-hand/{}", component.name()),
        },
    });
    let input = world.run().state().join("templates.json");
    fs::write(&input, work.to_string())?;
    let mut command = Command::new(Programs::find()?.host);
    let output = command.arg("render").stdin(File::open(&input)?).stdout(Stdio::piped()).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let rendered = answer["Ok"].as_array().with_context(|| format!("{}: {answer}", component.name()))?;
    rendered.iter().map(|text| Ok(string(text)?.to_owned())).collect()
}

/// Makes a key on the host, has the certificate of its node signed, and puts both where kubelet keeps its own.
pub(crate) fn give_identity(world: &World, host: &Host) -> Result<()> {
    const PKI: &str = "/var/lib/kubelet/pki";
    let name = host.name();
    host.sh(&format!(
        "mkdir -p {PKI} && cd {PKI} && umask 077 && openssl ecparam -name prime256v1 -genkey -noout -out key && \
         openssl req -new -key key -subj /O=system:nodes/CN=system:node:{name} -out request"
    ))?;
    let request = host.sh(&format!("base64 -w0 {PKI}/request"))?;
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": format!("node-{name}")},
        "spec": {
            "request": request,
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    });
    world.control_plane().apply(&object.to_string())?;
    world.kubectl(["certificate", "approve", &format!("node-{name}")])?;
    let certificate = eventually("the certificate", SOON, || {
        let path = "jsonpath={.status.certificate}";
        let text = world.kubectl(["get", "csr", &format!("node-{name}"), "-o", path])?;
        ensure!(!text.is_empty(), "not signed yet");
        Ok(text)
    })?;
    host.write(&format!("{PKI}/certificate"), certificate)?;
    // kubelet renews it by pointing the link elsewhere, and refuses to replace a file.
    host.sh(&format!(
        "cd {PKI} && umask 077 && base64 -d certificate > kubelet-client-first.pem && \
         cat key >> kubelet-client-first.pem && ln -s {PKI}/kubelet-client-first.pem kubelet-client-current.pem && \
         rm key request certificate"
    ))
    .map(drop)
}

/// Approves what a kubelet asks for its own server, in the name of its node.
pub(crate) fn approve_serving(world: &World, host: &Host) -> Result<()> {
    let node = format!("system:node:{}", host.name());
    let request = eventually(format!("a request of {node}"), SOON, || {
        let list: Value = serde_json::from_str(&world.kubectl(["get", "csr", "-o", "json"])?)?;
        let requests = list["items"].as_array().into_iter().flatten();
        let mut own = requests.filter(|request| request["spec"]["username"] == node.as_str());
        let name = own.next().and_then(|request| request["metadata"]["name"].as_str().map(str::to_owned));
        name.context("none yet")
    })?;
    world.kubectl(["certificate", "approve", &request]).map(drop)
}

fn string(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("not a string: {value}"))
}
