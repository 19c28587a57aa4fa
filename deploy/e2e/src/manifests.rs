//! The objects that people would write, for the hosts of a world and for the daemon `webd`.

use std::env::consts::ARCH;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::artefacts::Artefact;
use crate::host::Host;

/// The API of all kinds of the project.
pub const API_VERSION: &str = "seaworthy.dev/v1alpha1";

/// The operator's namespace.
pub const NAMESPACE: &str = "seaworthy-system";

/// The name of the Secret with the key that opens every host.
pub const SECRET: &str = "hosts";

/// The port that `webd` listens on unless told otherwise.
pub const PORT: u16 = 8000;

/// The operator's namespace, and the Secret with the private key.
#[must_use]
pub fn setting(private_key: &str) -> String {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/ssh-auth",
        "metadata": {"name": SECRET, "namespace": NAMESPACE},
        "stringData": {"ssh-privatekey": private_key},
    });
    [namespace, secret].map(|object| format!("{object}\n---\n")).concat()
}

/// The Machine of a host, with its key pinned.
#[must_use]
pub fn machine(name: &str, host: &Host) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "Machine",
        "metadata": {"name": name},
        "spec": {
            "address": {"ip": host.address(), "hostname": host.name()},
            "ssh": {"secretName": SECRET, "hostKeys": [host.public_key()]},
        },
    })
}

/// The MachineComponent of a version of `webd`: an archive, a config file with the parameter `greeting`, a service and
/// its health probe.
///
/// # Errors
/// The architecture of this machine is none that Machines may have.
pub fn webd(version: &str, artefact: &Artefact) -> Result<Value> {
    let unit = "[Unit]\nDescription=webd on {{ facts.machineName }}\n[Service]\n\
                ExecStart={{ current }}/bin/webd -config {{ current }}/etc/webd.conf\n\
                Restart=always\nRestartSec=200ms\n[Install]\nWantedBy=multi-user.target\n";
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": "MachineComponent",
        "metadata": {"name": format!("webd-{version}")},
        "spec": {
            "component": "webd",
            "version": version,
            "artefacts": [{
                "architecture": architecture()?,
                "url": artefact.url,
                "sha256": artefact.sha256,
                "format": "TarGz",
            }],
            "files": [{
                "path": "etc/webd.conf",
                "template": format!("listen = :{PORT}\ngreeting = {{{{ parameters.greeting }}}}\n"),
            }],
            "links": [{"path": "/usr/local/bin/webd", "target": "bin/webd"}],
            "unit": {"name": "webd.service", "template": unit, "executable": "bin/webd"},
            "probe": {
                "http": {"port": PORT, "path": "/healthz"},
                "timeoutSeconds": 2,
                "successThreshold": 1,
                "deadlineSeconds": 10,
            },
            "facts": ["machineName"],
        },
    }))
}

/// `webd` as an entry of `components`, in a Machine or in the ClusterPackageVersion.
#[must_use]
pub fn webd_setting(version: &str, greeting: &str) -> Value {
    json!({"name": "webd", "version": version, "parameters": {"greeting": greeting}})
}

/// The ClusterPackageVersion with these components, moved `max_unavailable` machines at a time. As many may fail: a
/// version that nobody has yet is first given to no more machines than may fail.
#[must_use]
pub fn defaults(components: &[Value], max_unavailable: u32) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "ClusterPackageVersion",
        "metadata": {"name": "default"},
        "spec": {
            "components": components,
            "maxUnavailable": max_unavailable,
            "maxFailures": max_unavailable,
        },
    })
}

/// The architecture of this machine, as Kubernetes names it.
pub(crate) fn architecture() -> Result<&'static str> {
    Ok(match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        "riscv64" => "riscv64",
        "s390x" => "s390x",
        other => bail!("hosts of architecture {other} are not supported"),
    })
}
