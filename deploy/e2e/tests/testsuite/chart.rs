//! The Helm chart, with the real Helm and a real API server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{World, chart, ensure_helm, run_to_end, scenario, where_supported};
use serde_json::json;

const DEPLOYMENT: [&str; 3] = ["get", "deployment/seaworthy-operator", "--namespace=seaworthy-system"];

/// A value that the chart cannot use, and what Helm says of it.
const REFUSED: [(&str, &str); 6] = [
    ("replicas=0", "/replicas"),
    ("logFormat=xml", "/logFormat"),
    ("replica=2", "replica"),
    ("image.digest=latest", "/image/digest"),
    ("extraArgs={verbose}", "/extraArgs/0"),
    ("networkPolicy=false", "/networkPolicy"),
];

#[test]
fn plain_manifests_are_those_of_the_chart() -> Result<()> {
    where_supported(|| {
        let names = fs::read_dir(chart::manifests_folder())?;
        let names = names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<Result<Vec<String>>>()?;
        names.sort();
        let manifests = chart::manifests()?;
        ensure!(manifests.keys().eq(&names), "deploy/operator has {names:?}: run `make manifests`");
        for (name, text) in manifests {
            let written = fs::read_to_string(chart::manifests_folder().join(&name))?;
            ensure!(
                written == text,
                "deploy/operator/{name} is not what the chart makes: run `make manifests`"
            );
        }
        Ok(())
    })
}

/// Values that give the operator more rights, and what its roles have then and not before.
const RIGHTS: [(&str, &[&str]); 3] = [
    ("drain.allowForce=true", &["verbs: [list, delete]"]),
    ("gates.allowProbePods=true", &["resources: [jobs]", "verbs: [create, list]"]),
    (
        "gates.metrics[0].namespace=monitoring,gates.metrics[0].service=prometheus,gates.metrics[0].port=9090",
        &["namespace: monitoring", r#"resourceNames: ["http:prometheus:9090"]"#],
    ),
];

#[test]
fn the_operator_has_more_rights_only_if_people_say_so() -> Result<()> {
    where_supported(|| {
        let template = |more: &[&str]| {
            let mut command = Command::new(ensure_helm()?);
            command.args(["template", "seaworthy", "--namespace", chart::NAMESPACE]);
            run_to_end(command.args(more).arg(chart::folder()))
        };
        let plain = template(&[])?;
        for (value, rights) in RIGHTS {
            let made = template(&["--set", value])?;
            for right in rights {
                ensure!(!plain.contains(right), "{right} is there without {value}");
                ensure!(made.contains(right), "{right} is missing with {value}: {made}");
            }
        }
        Ok(())
    })
}

#[test]
fn the_chart_says_which_value_it_cannot_use() -> Result<()> {
    where_supported(|| {
        let helm = |arguments: &[&str]| {
            let mut command = Command::new(ensure_helm()?);
            run_to_end(command.args(arguments).arg(chart::folder()))
        };
        let template = ["template", "seaworthy", "--namespace", chart::NAMESPACE];
        helm(&["lint", "--strict", "--namespace", chart::NAMESPACE])?;
        for (value, said) in REFUSED {
            let refusal = helm(&[&template[..], &["--set", value]].concat());
            let refusal = refusal.err().with_context(|| format!("{value} was accepted"))?.to_string();
            ensure!(refusal.contains(said), "{value}: {refusal}");
        }
        let refusal = helm(&["template", "seaworthy", "--namespace", "elsewhere"]);
        let refusal = refusal.err().context("another namespace was accepted")?.to_string();
        ensure!(refusal.contains("--namespace seaworthy-system"), "{refusal}");
        Ok(())
    })
}

#[test]
fn a_release_is_installed_upgraded_and_uninstalled() -> Result<()> {
    scenario(0, |world| {
        let chart = chart::folder();
        helm(world, &["install", "seaworthy", path(&chart)?, "--create-namespace"])?;
        world.kubectl(DEPLOYMENT)?;
        let machine = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "Machine",
            "metadata": {"name": "host-1"},
            "spec": {
                "address": {"ip": "192.0.2.1", "hostname": "host-1.example.com", "idc": "east", "rack": "r1"},
                "ssh": {"secretName": "ssh-fleet", "hostKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHiTGknTdSI/4LTzgN9/MIMzz1uI2bUk0uJZgqWFskQ1"]},
            },
        });
        world.control_plane().apply(&machine.to_string()).context("the kinds are there")?;

        // The next version of the chart knows one more field.
        let next = changed_copy(world, &chart)?;
        helm(world, &["upgrade", "seaworthy", path(&next)?, "--set", "replicas=3", "--reuse-values"])?;
        let replicas = world.kubectl(DEPLOYMENT.into_iter().chain(["-o", "jsonpath={.spec.replicas}"]))?;
        ensure!(replicas == "3", "{replicas}");
        let definition = world.kubectl(["get", "crd", "machines.seaworthy.dev", "-o", "yaml"])?;
        ensure!(
            definition.contains("Changed by the next version"),
            "the upgrade left the kinds as they were"
        );
        helm(world, &["rollback", "seaworthy", "1"])?;

        // What people have declared outlives the release.
        helm(world, &["uninstall", "seaworthy"])?;
        ensure!(world.kubectl(DEPLOYMENT).is_err(), "the Deployment is still there");
        let left =
            world.kubectl(["get", "clusterroles,flowschemas,prioritylevelconfigurations", "-o", "name"])?;
        ensure!(!left.contains("seaworthy"), "{left}");
        world.kubectl(["get", "machine", "host-1"]).context("the Machine is still there")?;

        // It can be installed again: the kinds are adopted.
        helm(world, &["install", "seaworthy", path(&chart)?])?;
        world.kubectl(DEPLOYMENT).map(drop)
    })
}

fn helm(world: &World, arguments: &[&str]) -> Result<String> {
    let control_plane = world.control_plane();
    let mut command = control_plane.command(&ensure_helm()?);
    command.args(arguments).args(["--namespace", chart::NAMESPACE]);
    command.arg("--kubeconfig").arg(control_plane.kubeconfig());
    for (variable, folder) in
        [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")]
    {
        command.env(variable, world.run().state().join("helm").join(folder));
    }
    let said = run_to_end(&mut command).with_context(|| format!("helm {}", arguments.join(" ")))?;
    eprintln!("$ helm {}\n{said}", arguments.join(" "));
    Ok(said)
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path is text")
}

/// A copy of the chart in which the description of a kind is another one.
fn changed_copy(world: &World, chart: &Path) -> Result<PathBuf> {
    let copy = world.run().state().join("chart");
    run_to_end(Command::new("cp").arg("-rL").arg(chart).arg(&copy))?;
    let definition = copy.join("files/crds/seaworthy.dev_machines.yaml");
    let text = fs::read_to_string(&definition)?;
    let (before, after) = text.split_once("description: ").context("a kind is described")?;
    fs::write(&definition, format!("{before}description: Changed by the next version. {after}"))?;
    Ok(copy)
}
