//! An operator that reaches its API server as a pod does: with the token of its service account, and nothing else.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Fleet, PATIENCE, Process, Programs, World, eventually, scenario};
use serde_json::Value;

const PORT: u16 = 8081;
const METRICS_PORT: u16 = 9081;

/// Puts the files where the kubelet puts them, in a mount namespace of its own, and becomes the program.
const AS_A_POD: &str = r#"
set -eu
mount -t tmpfs tmpfs /run
account=/run/secrets/kubernetes.io/serviceaccount
mkdir -p "$account"
cp "$1" "$account/ca.crt"
cp "$2" "$account/token"
printf %s seaworthy-system > "$account/namespace"
shift 2
exec "$@"
"#;

#[test]
fn an_operator_works_as_a_pod_of_its_cluster() -> Result<()> {
    scenario(1, |world| {
        let mut fleet = Fleet::start(world)?;
        fleet.publish("1.0.0", seaworthy_e2e::Health::Healthy)?;
        let mut pod = start_pod(world)?;
        eventually("a pod that stands by", PATIENCE, || {
            pod.must_run()?;
            let (status, text) = page(world, "/readyz")?;
            ensure!(status == 200 && text.contains("Standby"), "{status} {text}");
            Ok(())
        })?;
        fleet.kill_operator()?;
        eventually("a pod that leads", PATIENCE, || {
            pod.must_run()?;
            let (status, text) = page(world, "/readyz")?;
            ensure!(status == 200 && text.trim() == "ok", "{status} {text}");
            Ok(())
        })?;
        // What it has by its roles is enough for all of its work: it reads a Secret, and writes a status.
        fleet.add_machines()?;
        fleet.set_default("1.0.0", "ahoy", 1)?;
        fleet.settles(&["host-1"], "1.0.0", "ahoy")?;
        pages_are_served(world)?;
        let status = pod.terminate(PATIENCE)?;
        ensure!(status.success(), "a stop that was asked for ended with {status}");
        logs_are_json(&pod)
    })
}

fn start_pod(world: &World) -> Result<Process> {
    let programs = Programs::find()?;
    let control_plane = world.control_plane();
    let token = world.kubectl(["create", "token", "seaworthy-operator", "--namespace=seaworthy-system"])?;
    let file = world.run().state().join("token");
    fs::write(&file, token.trim()).with_context(|| format!("cannot write {}", file.display()))?;
    let mut command: Command = world.command(Path::new("unshare"));
    command
        .args(["--mount", "sh", "-c", AS_A_POD, "pod"])
        .arg(control_plane.certificate_authority())
        .arg(&file)
        .arg(&programs.operator)
        .arg("--host-program")
        .arg(&programs.host)
        .args(["--identity=pod", "--log-format=json"])
        .arg(format!("--listen=127.0.0.1:{PORT}"))
        .arg(format!("--metrics-listen=127.0.0.1:{METRICS_PORT}"))
        .env_remove("KUBECONFIG")
        .env("KUBERNETES_SERVICE_HOST", control_plane.endpoint().address().to_string())
        .env("KUBERNETES_SERVICE_PORT", "6443");
    world.spawn("pod", &mut command)
}

fn page(world: &World, path: &str) -> Result<(u16, String)> {
    world.control_plane().endpoint().http_get(Ipv4Addr::LOCALHOST, PORT, path)
}

fn pages_are_served(world: &World) -> Result<()> {
    let (status, text) = page(world, "/healthz")?;
    ensure!(status == 200, "/healthz: {status} {text}");
    // The machines are counted now and then, not for each reader.
    eventually("the machine in /metrics", PATIENCE, || {
        let endpoint = world.control_plane().endpoint();
        let (status, text) = endpoint.http_get(Ipv4Addr::LOCALHOST, METRICS_PORT, "/metrics")?;
        ensure!(status == 200 && text.trim_end().ends_with("# EOF"), "{status} {text}");
        let machine = r#"seaworthy_machines{ready="True",reason="AsDesired"} 1"#;
        ensure!(text.contains(machine) && text.contains("seaworthy_budget_limit 1"), "{text}");
        Ok(())
    })?;
    for path in ["/nothing", "/metrics"] {
        let (status, _) = page(world, path)?;
        ensure!(status == 404, "{path}: {status}");
    }
    Ok(())
}

/// Every line is an object with a time, a level and a message, as collectors of logs expect.
fn logs_are_json(pod: &Process) -> Result<()> {
    let log = fs::read_to_string(pod.log())?;
    ensure!(log.lines().count() > 3, "hardly anything was logged:\n{log}");
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
        for field in ["timestamp", "level", "message"] {
            let found = entry.get(field).or_else(|| entry["fields"].get(field));
            ensure!(found.is_some_and(Value::is_string), "no {field}: {line}");
        }
    }
    Ok(())
}
