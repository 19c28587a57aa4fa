//! A real API server refuses bad fields of our kinds and names them, and `kubectl explain` describes every field.

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{PATIENCE, World, apply_crds, eventually, scenario};
use seaworthy_model::host_path::{is_identity_place, is_linkable, is_removable};
use serde_json::{Value, json};

/// Places on a host that a component may ask for, in three ways: the API server and the hosts must be of one mind.
const PLACES: [&str; 26] = [
    "/var/lib/webd",
    "/var/lib/webd/pki/webd.pem",
    "/etc/cni/net.d",
    "/etc/webd.conf",
    "/etc/group.d",
    "/run/webd",
    "/opt/seaworthy-x",
    "/usr/local/lib/webd",
    "/etc/systemd/system/webd.service.d",
    "/etc/systemd/system/seaworthy-resume.service.d/x.conf",
    "/usr/lib/systemd/system/ssh.service",
    "/",
    "/var",
    "/var/lib",
    "/var/lib/../x",
    "/home/alice",
    "/usr/local",
    "/usr/bin/webd",
    "/etc/systemd",
    "/etc/ssh/x",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/passwd",
    "/root/.ssh/authorized_keys",
    "/opt/seaworthy/state",
    "/tmp/webd",
    "var/lib/webd",
];

const KINDS: [(&str, &str); 6] = [
    ("machine", "machines"),
    ("machinecomponent", "machinecomponents"),
    ("clusterpackageversion", "clusterpackageversions"),
    ("machinecomponentset", "machinecomponentsets"),
    ("disruptionpolicy", "disruptionpolicies"),
    ("canaryrelease", "canaryreleases"),
];

#[test]
fn a_bad_field_is_refused_with_a_message_that_names_it() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        let machine = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "Machine",
            "metadata": {"name": "one"},
            "spec": {
                "address": {"ip": "198.18.0.9"},
                "ssh": {"secretName": "hosts", "hostKeyPolicy": "TrustOnFirstUse"},
            },
        });
        for (pointer, value, words) in [
            ("/spec/address/ip", json!("198.18.0.999"), "spec.address.ip"),
            ("/spec/ssh/port", json!(70000), "spec.ssh.port"),
            ("/spec/ssh/hostKeys", json!(["nonsense"]), "spec.ssh.hostKeys[0]"),
            ("/spec/ssh/hostKeyPolicy", json!("Never"), "spec.ssh.hostKeyPolicy"),
            ("/spec/ssh/hostKeyPolicy", json!("Pinned"), "spec.ssh.hostKeys: Invalid value"),
            ("/spec/ssh/sekretName", json!("hosts"), "spec.ssh.sekretName"),
            ("/spec/ssh/secretName", Value::Null, "spec.ssh.secretName"),
            ("/spec/components", json!([{"name": "webd"}]), "spec.components[0]"),
            ("/spec/components", json!([{"name": "Webd", "version": "1"}]), "spec.components[0].name"),
            ("/spec/nodeLabels", json!({"a b": "c"}), "spec.nodeLabels"),
            ("/spec/nodeLabels", json!({"kubernetes.io/hostname": "one"}), "spec.nodeLabels"),
            ("/spec/nodeLabels", json!({"a": "b c"}), "spec.nodeLabels"),
            (
                "/spec/nodeTaints",
                json!([{"key": "seaworthy.dev/drain", "effect": "NoSchedule"}]),
                "spec.nodeTaints[0].key",
            ),
            ("/spec/nodeTaints", json!([{"key": "a", "effect": "Never"}]), "spec.nodeTaints[0].effect"),
        ] {
            refused(world, &changed(&machine, pointer, value)?, words)?;
        }
        // The same object without a fault is accepted: what was refused above was refused for its one fault.
        world.control_plane().apply(&machine.to_string())?;
        let defaults = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "ClusterPackageVersion",
            "metadata": {"name": "default"},
            "spec": {"maxUnavailable": "10%"},
        });
        refused(world, &changed(&defaults, "/metadata/name", json!("other"))?, "default")?;
        refused(world, &changed(&defaults, "/spec/maxUnavailable", json!("110%"))?, "spec.maxUnavailable")?;
        refused(world, &changed(&defaults, "/spec/auditInterval", json!("soon"))?, "spec.auditInterval")?;
        world.control_plane().apply(&defaults.to_string()).map(drop)
    })
}

#[test]
fn a_set_with_a_fault_is_refused() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        let set = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "MachineComponentSet",
            "metadata": {"name": "blue"},
            "spec": {
                "selector": {"matchLabels": {"pool": "blue"}},
                "components": [{"name": "webd", "version": "1.0.0"}],
            },
        });
        for (pointer, value, words) in [
            ("/spec/selector", json!({}), "spec.selector"),
            ("/spec/selector", json!({"matchLabels": {}, "matchExpressions": []}), "spec.selector"),
            ("/spec/selector/matchLabels", json!({"pool": "not ok"}), "spec.selector.matchLabels"),
            ("/spec/priority", json!(1001), "spec.priority"),
            ("/spec/components/0/state", json!("Gone"), "spec.components[0].state"),
            ("/spec/strategy", json!({"bakeTime": "soon"}), "spec.strategy.bakeTime"),
            ("/spec/strategy", json!({"batches": ["x"]}), "spec.strategy.batches"),
            ("/spec/selektor", json!({}), "spec.selektor"),
        ] {
            refused(world, &changed(&set, pointer, value)?, words)?;
        }
        accepted(world, &set)?;
        world.control_plane().apply(&set.to_string())?;
        let stored = world.kubectl(["get", "mcs", "blue", "-o", "json"])?;
        let stored: Value = serde_json::from_str(&stored)?;
        ensure!(stored["spec"]["strategy"]["firstBakeTime"] == "30m", "{stored:#}");
        ensure!(stored["status"]["conditions"][0]["status"] == "Unknown", "{stored:#}");
        Ok(())
    })
}

#[test]
fn a_canary_with_a_fault_is_refused_and_picks_once() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        let canary = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "CanaryRelease",
            "metadata": {"name": "first"},
            "spec": {
                "selector": {"matchLabels": {"pool": "blue"}},
                "pick": {"count": 2, "per": ["kernel"]},
                "components": [{"name": "webd", "version": "1.0.0"}],
            },
        });
        for (pointer, value, words) in [
            ("/spec/pick/count", json!(0), "spec.pick.count"),
            ("/spec/pick/count", json!(101), "spec.pick.count"),
            ("/spec/pick/per", json!(["a", "b", "c", "d", "e"]), "spec.pick.per"),
            ("/spec/pick/machines", json!(["one"]), "spec.pick.machines"),
            ("/spec/strategy", json!({"bakeTime": "soon"}), "spec.strategy.bakeTime"),
            ("/spec/pik", json!({}), "spec.pik"),
        ] {
            refused(world, &changed(&canary, pointer, value)?, words)?;
        }
        world.control_plane().apply(&canary.to_string())?;
        let words = "the machines are picked once";
        refused(world, &changed(&canary, "/spec/pick/count", json!(3))?, words)?;
        refused(world, &changed(&canary, "/spec/selector/matchLabels", json!({"pool": "green"}))?, words)?;
        accepted(world, &changed(&canary, "/spec/aborted", json!(true))?)
    })
}

#[test]
fn a_policy_with_a_fault_is_refused() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        let policy = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "DisruptionPolicy",
            "metadata": {"name": "night"},
            "spec": {
                "selector": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["batch"]}]},
                "inFlight": "10%",
                "windows": [{"days": ["Monday"], "start": "22:00", "duration": "6h"}],
                "freezes": [{"from": "2026-12-20T00:00:00Z", "until": "2027-01-07T00:00:00Z"}],
            },
        });
        let faults = [
            ("/spec/per", json!("Row"), "spec.per"),
            ("/spec/per", json!("Label"), "spec.labelKey"),
            ("/spec/labelKey", json!("pool"), "spec.labelKey"),
            ("/spec/inFlight", json!("101%"), "spec.inFlight"),
            ("/spec/perDay", json!(-1), "spec.perDay"),
            ("/spec/windows/0/days", json!(["Mon"]), "spec.windows[0].days[0]"),
            ("/spec/windows/0/start", json!("24:00"), "spec.windows[0].start"),
            ("/spec/windows/0/duration", json!("169h"), "spec.windows[0].duration"),
            ("/spec/freezes/0/until", json!("2026-12-20T00:00:00Z"), "spec.freezes[0].until"),
            ("/spec/selector/matchExpressions/0/operator", json!("Is"), "matchExpressions[0].operator"),
            ("/spec/selector/matchExpressions/0/values", json!([]), "matchExpressions[0].values"),
            ("/spec/selector/matchExpressions/0/key", json!("a b"), "matchExpressions[0].key"),
            ("/spec/selector/matchLabels", json!({"a b": "c"}), "spec.selector.matchLabels"),
        ];
        for (pointer, value, words) in faults {
            refused(world, &changed(&policy, pointer, value)?, words)?;
        }
        world.control_plane().apply(&policy.to_string()).map(drop)
    })
}

#[test]
fn a_version_cannot_be_changed() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        let component = json!({
            "apiVersion": "seaworthy.dev/v1alpha1",
            "kind": "MachineComponent",
            "metadata": {"name": "webd-1.0.0"},
            "spec": {
                "component": "webd",
                "version": "1.0.0",
                "artefacts": [{
                    "architecture": "amd64",
                    "url": "http://198.18.0.1/webd.tar.gz",
                    "sha256": "0".repeat(64),
                    "format": "TarGz",
                }],
            },
        });
        refused(world, &changed(&component, "/metadata/name", json!("webd"))?, "metadata.name")?;
        refused(
            world,
            &changed(&component, "/spec/artefacts/0/sha256", json!("0"))?,
            "spec.artefacts[0].sha256",
        )?;
        for path in PLACES {
            for (field, value, is_accepted) in [
                ("spec.removal.paths[0]", json!({"paths": [path]}), is_removable(path)),
                ("spec.links[0].path", json!([{"path": path, "target": "bin/webd"}]), is_linkable(path)),
                ("spec.nodeIdentity.path", json!({"path": path}), is_identity_place(path)),
            ] {
                let pointer =
                    field.split(['.', '[']).take(2).fold(String::new(), |text, part| text + "/" + part);
                let object = changed(&component, &pointer, value)?;
                if is_accepted {
                    accepted(world, &object).with_context(|| format!("{field}: {path}"))?;
                } else {
                    refused(world, &object, field).with_context(|| format!("{field}: {path}"))?;
                }
            }
        }
        let unit = json!({"name": "sshd.service", "template": "[Service]"});
        refused(world, &changed(&component, "/spec/unit", unit)?, "spec.unit.name")?;
        refused(world, &changed(&component, "/spec/artefacts", json!([]))?, "spec.artefacts")?;
        refused(world, &changed(&component, "/spec/dependsOn", json!(["webd"]))?, "spec.dependsOn")?;
        let below = |at_least: &str| json!([{"component": "runc", "atLeast": at_least, "below": "1.10.0"}]);
        for (requires, field) in [
            (json!([{"component": "webd", "below": "2.0.0"}]), "spec.requires"),
            (json!([{"component": "runc"}]), "spec.requires[0]"),
            (below("1.70000.0"), "spec.requires[0].atLeast"),
            (below("1.10.0"), "spec.requires[0].below"),
        ] {
            refused(world, &changed(&component, "/spec/requires", requires)?, field)?;
        }
        let ordered = changed(&component, "/spec/requires", below("1.9.0"))?;
        accepted(world, &ordered).context("1.9.0 is below 1.10.0")?;
        let early = json!({"beforeStop": [{"command": ["bin/leave"]}]});
        refused(world, &changed(&component, "/spec/removal", early)?, "spec.removal.beforeStop")?;
        world.control_plane().apply(&component.to_string())?;
        refused(
            world,
            &changed(&component, "/spec/artefacts/0/sha256", json!("1".repeat(64)))?,
            "cannot be changed",
        )
    })
}

#[test]
fn what_people_apply_is_accepted_as_it_is() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        // The first run of `kubectl apply -f deploy/operator` meets no namespace.
        for apply in [&["apply", "--dry-run=none"][..], &["apply", "--server-side", "--force-conflicts"]] {
            let options = ["--validate=strict", "-f", &format!("{deploy}/operator")];
            let said = world.kubectl(apply.iter().chain(&options).copied())?;
            eprintln!("$ kubectl {} -f deploy/operator\n{said}", apply.join(" "));
        }
        for manifests in ["examples", "components"] {
            let path = format!("{deploy}/{manifests}");
            let said = world.kubectl(["apply", "--validate=strict", "--dry-run=server", "-f", &path])?;
            eprintln!("$ kubectl apply --dry-run=server -f deploy/{manifests}\n{said}");
        }
        Ok(())
    })
}

#[test]
fn kubectl_explains_every_field() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        for (kind, plural) in KINDS {
            let definition =
                world.kubectl(["get", "crd", &format!("{plural}.seaworthy.dev"), "-o", "json"])?;
            let definition: Value = serde_json::from_str(&definition)?;
            let schema =
                &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            let fields = schema["properties"].as_object().context("a schema has properties")?;
            // The API server serves a new kind a moment before it publishes its schema for kubectl.
            let path = format!("{kind}.spec");
            let text =
                eventually(format!("schema of {kind}"), PATIENCE, || world.kubectl(["explain", &path]))?;
            eprintln!("$ kubectl explain {kind}.spec\n{text}");
            let described = described_fields(&text);
            for field in fields.keys() {
                ensure!(described.contains(&field.as_str()), "{kind}.spec.{field} is not described:\n{text}");
            }
        }
        let nested = world.kubectl(["explain", "machine.spec.ssh.hostKeyPolicy"])?;
        ensure!(nested.contains("TrustOnFirstUse") && nested.contains("DESCRIPTION"), "{nested}");
        for (short, kind) in [
            ("mc", "machines"),
            ("mcomp", "machinecomponents"),
            ("cpv", "clusterpackageversions"),
            ("mcs", "machinecomponentsets"),
            ("dp", "disruptionpolicies"),
            ("canary", "canaryreleases"),
        ] {
            let listed = world.kubectl(["get", short, "-o", "name"])?;
            ensure!(listed.is_empty(), "{short} ({kind}): {listed}");
        }
        Ok(())
    })
}

/// Applies an object that must be refused with these words.
fn refused(world: &World, object: &Value, words: &str) -> Result<()> {
    let output = world.control_plane().kubectl_output(["apply", "-f", "-"], &object.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "accepted: {object}");
    ensure!(said.contains(words), "refused without {words:?}: {said}");
    eprintln!("refused as it should be: {}", said.trim());
    Ok(())
}

/// The API server takes the object. It is not stored.
fn accepted(world: &World, object: &Value) -> Result<()> {
    let arguments = ["apply", "--dry-run=server", "-f", "-"];
    let output = world.control_plane().kubectl_output(arguments, &object.to_string())?;
    ensure!(output.status.success(), "refused: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The object with another value at `pointer`; null removes what is there.
fn changed(object: &Value, pointer: &str, value: Value) -> Result<Value> {
    let mut object = object.clone();
    let (parent, name) = pointer.rsplit_once('/').context("a pointer starts with a slash")?;
    let parent = object.pointer_mut(parent).and_then(Value::as_object_mut).context("no such place")?;
    if value.is_null() {
        parent.remove(name);
    } else {
        parent.insert(name.to_owned(), value);
    }
    Ok(object)
}

/// The fields that `kubectl explain` describes. Under `FIELDS:` a tab parts a field from its type, and the lines that
/// follow are about it: the words that it may hold, then its description.
fn described_fields(text: &str) -> Vec<&str> {
    let mut described = Vec::new();
    let mut field = None;
    for line in text.lines().skip_while(|line| *line != "FIELDS:").skip(1) {
        let words = line.trim();
        if let Some((name, _)) = line.split_once('\t') {
            field = Some(name.trim());
        } else if !(words.is_empty() || words.starts_with("enum: ") || words == "<no description>") {
            described.extend(field.take());
        }
    }
    described
}
