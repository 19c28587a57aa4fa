//! The objects of a fleet that is measured, created through the API server.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{Method, Request};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use seaworthy_api::rfc3339;
use seaworthy_model::digest::Digest;
use seaworthy_model::time::Timestamp;
use serde_json::{Value, json};

use crate::artefacts::Artefact;
use crate::manifests::{API_VERSION, SECRET, defaults, webd, webd_setting};

/// The port of every host of the farm.
pub const PORT: u16 = 2222;

/// How many objects are created at once.
const AT_ONCE: usize = 16;

/// So many images are on a host, as a kubelet reports at most by default.
const IMAGES: u32 = 50;

const MACHINES: &str = "/apis/seaworthy.dev/v1alpha1/machines";
const NODES: &str = "/api/v1/nodes";

/// The address of a host, from 10.1.1.1 on. The whole of 10.0.0.0/8 is the farm.
#[must_use]
pub fn address(number: u32) -> String {
    let [_, b, c, d] = (number + 257).to_be_bytes();
    format!("10.{}.{c}.{d}", b + 1)
}

/// Creates so many Machines, each with a Node that is ready.
///
/// # Errors
/// The API server refuses one.
pub async fn seed(kubeconfig: &Path, machines: u32, host_key: &str) -> Result<()> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let now = rfc3339::format(Timestamp::from_millis(u64::try_from(now)?));
    let (client, now) = (&client, now.as_str());
    stream::iter(0..machines)
        .map(|number| async move {
            let name = format!("m-{number:05}");
            send(client, Method::POST, MACHINES, &machine(&name, number, host_key)).await?;
            send(client, Method::POST, NODES, &node(&name)).await?;
            send(client, Method::PATCH, &format!("{NODES}/{name}/status"), &ready(number, now)).await
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Result<()> {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let request = request.body(serde_json::to_vec(body)?)?;
    let answer = client.request_text(request).await.with_context(|| format!("{path}: {body}"))?;
    ensure!(!answer.is_empty(), "{path}: no answer");
    Ok(())
}

fn machine(name: &str, number: u32, host_key: &str) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "Machine",
        "metadata": {"name": name, "labels": {"pool": "batch"}},
        "spec": {
            "address": {
                "ip": address(number),
                "hostname": format!("{name}.example.com"),
                "idc": format!("idc-{}", number % 3),
                "rack": format!("rack-{}", number % 200),
            },
            "ssh": {"port": PORT, "secretName": SECRET, "hostKeys": [host_key]},
        },
    })
}

fn node(name: &str) -> Value {
    let labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}

/// The status of a Node as its kubelet writes it: the images are most of it.
fn ready(number: u32, now: &str) -> Value {
    let id = format!("{number:032x}");
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": format!("kubelet has {reason}"),
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    let images = (0..IMAGES).map(|image| {
        let name = format!("images.example.com/production/service-{image}");
        let digest = Digest::of(name.as_bytes());
        let names = [format!("{name}@{digest}"), format!("{name}:v1.{image}.0")];
        json!({"names": names, "sizeBytes": 150_000_000 + image})
    });
    let resources = json!({
        "cpu": "64", "memory": "263856288Ki", "ephemeral-storage": "959786032Ki", "hugepages-1Gi": "0",
        "hugepages-2Mi": "0", "pods": "110",
    });
    json!({"status": {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [
            {"type": "InternalIP", "address": address(number)},
            {"type": "Hostname", "address": format!("m-{number:05}")},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            condition("Ready", "True", "KubeletReady"),
        ],
        "nodeInfo": {
            "machineID": id, "systemUUID": id, "bootID": id, "kernelVersion": "6.12.0",
            "osImage": "Debian GNU/Linux 13 (trixie)", "containerRuntimeVersion": "containerd://2.2.0",
            "kubeletVersion": "v1.36.3", "kubeProxyVersion": "", "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "images": images.collect::<Vec<_>>(),
    }})
}

/// A version of `webd`. Nobody fetches its artefact.
///
/// # Errors
/// The architecture of this machine is none that Machines may have.
pub fn component(version: &str) -> Result<Value> {
    let url = format!("http://artefacts.example.com/webd-{version}.tar.gz");
    let sha256 = Digest::of(version.as_bytes()).to_string();
    webd(version, &Artefact { url, sha256, size: 0 })
}

/// So many machines in a hundred may be unavailable.
pub const SHARE: u32 = 5;

/// The fleet at this version.
#[must_use]
pub fn default(version: &str) -> Value {
    let mut object = defaults(&[webd_setting(version, "ahoy")], 1);
    object["spec"]["maxUnavailable"] = format!("{SHARE}%").into();
    object
}

/// The same in the batches that a strategy has by default, each of which is watched for so long.
#[must_use]
pub fn default_in_batches(version: &str, bake: Duration) -> Value {
    let bake = format!("{}s", bake.as_secs());
    let mut object = default(version);
    object["spec"]["strategy"] = json!({"firstBakeTime": bake, "bakeTime": bake});
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_an_address_of_its_own() {
        let addresses: std::collections::BTreeSet<_> = (0..100_000).map(address).collect();
        assert_eq!(addresses.len(), 100_000);
        assert!(addresses.iter().all(|address| address.parse::<std::net::Ipv4Addr>().is_ok()));
    }
}
