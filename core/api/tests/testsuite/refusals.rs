//! Specs with faults: every fault is found, with the path of its field and words for a person.

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::{manifest, parse};
use seaworthy_model::certificate::RequestContent;
use seaworthy_model::meta::SpecError;
use serde_json::{Value, json};

const UID: &str = "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHiTGknTdSI/4LTzgN9/MIMzz1uI2bUk0uJZgqWFskQ1";
const RELATIVE: &str = "must be a relative path without '..', made of letters, digits and ._@+%=,:-";

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "seaworthy.dev/v1alpha1",
        "kind": kind,
        "metadata": { "name": name, "uid": UID, "resourceVersion": "7" },
        "spec": spec,
    })
}

fn machine() -> Value {
    object(
        "Machine",
        "m-0",
        json!({ "address": { "ip": "198.18.0.1" }, "ssh": { "secretName": "ssh", "hostKeys": [KEY] } }),
    )
}

fn machine_component() -> Value {
    let artefact = json!({
        "architecture": "amd64",
        "url": "http://artefacts/webd.tar.gz",
        "sha256": "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a",
        "format": "TarGz",
    });
    object(
        "MachineComponent",
        "webd-1.0.0",
        json!({ "component": "webd", "version": "1.0.0", "artefacts": [artefact] }),
    )
}

fn package_version() -> Value {
    object("ClusterPackageVersion", "default", json!({}))
}

/// Sets the value at a JSON pointer; what is missing on the way is made.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    if object.pointer(parent).is_none() {
        set(object, parent, json!({}));
    }
    let parent = object.pointer_mut(parent).unwrap();
    match (parent, last.parse::<usize>()) {
        (Value::Array(items), Ok(index)) => items[index] = value,
        (parent, _) => parent[last] = value,
    }
}

/// The faults of the spec.
fn faults(object: &Value) -> Vec<(String, String)> {
    let resource: Resource = manifest::read(object).unwrap();
    let observed = parse::observed(&resource, &mut Names::new(), unread).unwrap().unwrap();
    let errors = observed.spec_errors().into_iter();
    errors.map(|SpecError { field, message }| (field, message)).collect()
}

/// One change each, and the one fault that it makes.
fn assert_faults(base: fn() -> Value, table: &[(&str, Value, &str, &str)]) {
    assert_eq!(faults(&base()), [], "the base has no fault");
    for (pointer, value, field, message) in table {
        let mut object = base();
        set(&mut object, pointer, value.clone());
        let expected = [(String::from(*field), String::from(*message))];
        assert_eq!(faults(&object), expected, "{pointer} = {value}");
    }
}

#[test]
fn of_a_machine() {
    let ip = "must be the IPv4 or IPv6 address of a host";
    let subdomain = "must consist of lower-case letters, digits, '-' and '.', each part between dots starting and \
                     ending with a letter or digit";
    let label = "must consist of letters, digits, '-', '_' and '.', start and end with a letter or digit, and have at \
                 most 63 characters";
    let user = "must consist of letters, digits, '_', '-' and '.', start with a letter or '_', and have at most 32 \
                characters";
    let key = "must be a public host key such as 'ssh-ed25519 AAAA...' (of type ssh-ed25519, ecdsa-sha2-nistp256, \
               -nistp384, -nistp521 or ssh-rsa)";
    let none = "hostKeys must not be empty unless hostKeyPolicy is TrustOnFirstUse";
    assert_faults(
        machine,
        &[
            ("/spec/address/ip", json!("host.example.com"), "spec.address.ip", ip),
            ("/spec/address/hostname", json!("-"), "spec.address.hostname", subdomain),
            ("/spec/address/rack", json!(""), "spec.address.rack", label),
            ("/spec/address/idc", json!("a b"), "spec.address.idc", label),
            ("/spec/ssh/port", json!(0), "spec.ssh.port", "must be from 1 to 65535, is 0"),
            ("/spec/ssh/port", json!(65_536), "spec.ssh.port", "must be from 1 to 65535, is 65536"),
            ("/spec/ssh/user", json!("a;b"), "spec.ssh.user", user),
            ("/spec/ssh/secretName", json!("../x"), "spec.ssh.secretName", subdomain),
            ("/spec/ssh/hostKeys", json!([]), "spec.ssh.hostKeys", none),
            ("/spec/ssh/hostKeys", json!([KEY, "ssh-rsa AAAA"]), "spec.ssh.hostKeys[1]", key),
            (
                "/spec/ssh/hostKeys",
                json!([KEY, KEY]),
                "spec.ssh.hostKeys[1]",
                "is the same as in spec.ssh.hostKeys[0]",
            ),
            (
                "/spec/ssh/hostKeyPolicy",
                json!("Any"),
                "spec.ssh.hostKeyPolicy",
                "must be Pinned or TrustOnFirstUse",
            ),
            (
                "/spec/parameters",
                json!({ "a-b": "c" }),
                "spec.parameters[\"a-b\"]",
                "must be named with letters, digits and '_', not start with a digit, and have at most 63 characters",
            ),
            ("/spec/retry", json!("x".repeat(254)), "spec.retry", "must have at most 253 bytes"),
        ],
    );
}

#[test]
fn of_labels_and_taints_of_a_node() {
    let key = "keys must be a name of at most 63 letters, digits and -_. that starts and ends with a letter or digit, \
               after a DNS subdomain and '/' or alone";
    let reserved = "keys in kubernetes.io, k8s.io and seaworthy.dev are reserved, but for node-role.kubernetes.io/ and \
                    node-restriction.kubernetes.io/";
    let value = "must consist of letters, digits, '-', '_' and '.', start and end with a letter or digit, and have at most \
                 63 characters";
    let taint =
        |key: &str, value: &str, effect: &str| json!({ "key": key, "value": value, "effect": effect });
    let twice = json!([taint("a", "1", "NoExecute"), taint("a", "2", "NoExecute")]);
    let many: serde_json::Map<_, _> = (0..65).map(|index| (format!("a{index}"), json!("x"))).collect();
    assert_faults(
        machine,
        &[
            ("/spec/nodeLabels", json!({ "a b": "c" }), "spec.nodeLabels[\"a b\"]", key),
            ("/spec/nodeLabels", json!({ "/a": "c" }), "spec.nodeLabels[\"/a\"]", key),
            ("/spec/nodeLabels", json!({ "a": "c d" }), "spec.nodeLabels[\"a\"]", value),
            ("/spec/nodeLabels", json!({ "x.k8s.io/a": "" }), "spec.nodeLabels[\"x.k8s.io/a\"]", reserved),
            ("/spec/nodeLabels", json!(many), "spec.nodeLabels", "must have at most 64 entries, has 65"),
            ("/spec/nodeTaints", json!([taint("a/", "", "NoExecute")]), "spec.nodeTaints[0].key", key),
            (
                "/spec/nodeTaints",
                json!([taint("seaworthy.dev/drain", "", "NoSchedule")]),
                "spec.nodeTaints[0].key",
                reserved,
            ),
            ("/spec/nodeTaints", json!([taint("a", "-", "NoSchedule")]), "spec.nodeTaints[0].value", value),
            (
                "/spec/nodeTaints",
                json!([taint("a", "", "Never")]),
                "spec.nodeTaints[0].effect",
                "must be NoSchedule, PreferNoSchedule or NoExecute",
            ),
            ("/spec/nodeTaints", twice, "spec.nodeTaints[1]", "is the same as in spec.nodeTaints[0]"),
        ],
    );
    let mut good = machine();
    set(
        &mut good,
        "/spec/nodeLabels",
        json!({ "a": "", "node-role.kubernetes.io/worker": "", "b.c/D_e.f": "1" }),
    );
    let all = json!([
        taint("a", "", "NoExecute"),
        taint("a", "", "NoSchedule"),
        taint("b", "1", "PreferNoSchedule")
    ]);
    set(&mut good, "/spec/nodeTaints", all);
    assert_eq!(faults(&good), []);
}

#[test]
fn of_components() {
    let label = "must consist of lower-case letters, digits and '-', start and end with a letter or digit, and have \
                 at most 63 characters";
    let identifier = "must be named with letters, digits and '_', not start with a digit, and have at most 63 \
                      characters";
    let with = |setting: Value| json!([setting]);
    let absent = json!([{ "name": "webd", "state": "Absent", "parameters": { "a": "b" } }]);
    let twice = json!([{ "name": "webd", "version": "1" }, { "name": "webd", "version": "2" }]);
    let many: Vec<_> = (0..65).map(|n| json!({ "name": format!("c{n}"), "version": "1" })).collect();
    let table = [
        (with(json!({ "name": "Webd", "version": "1" })), "[0].name", label),
        (with(json!({ "name": "webd" })), "[0].version", "version is required when state is Present"),
        (
            with(json!({ "name": "webd", "state": "Absent", "version": "1" })),
            "[0].version",
            "version must not be set when state is Absent",
        ),
        (absent, "[0].parameters", "parameters must not be set when state is Absent"),
        (with(json!({ "name": "webd", "state": "absent" })), "[0].state", "must be Present or Absent"),
        (
            with(json!({ "name": "webd", "version": "1", "parameters": { "a-b": "c" } })),
            "[0].parameters[\"a-b\"]",
            identifier,
        ),
        (
            with(json!({ "name": "webd", "version": "1", "parameters": { "a": "x".repeat(4097) } })),
            "[0].parameters[\"a\"]",
            "must have at most 4096 bytes",
        ),
        (twice, "[1].name", "is the same as in spec.components[0]"),
        (json!(many), "", "must have at most 64 entries, has 65"),
    ];
    for base in [machine, package_version] {
        for (components, field, message) in &table {
            let mut object = base();
            set(&mut object, "/spec/components", components.clone());
            assert_eq!(faults(&object), [(format!("spec.components{field}"), String::from(*message))]);
        }
    }
}

#[test]
fn of_artefacts_and_files() {
    let file = |path: &str, mode: &str| json!({ "path": path, "template": "", "mode": mode });
    assert_faults(
        machine_component,
        &[
            (
                "/metadata/name",
                json!("webd-2"),
                "metadata.name",
                "must be spec.component and spec.version with a '-' between them",
            ),
            (
                "/spec/artefacts",
                json!([]),
                "spec.artefacts",
                "must have at least one entry, unless there are files or a unit",
            ),
            (
                "/spec/artefacts/0/architecture",
                json!("x86_64"),
                "spec.artefacts[0].architecture",
                "must be amd64, arm64, ppc64le, riscv64 or s390x",
            ),
            (
                "/spec/artefacts/0/url",
                json!("http://user:word@host/a"),
                "spec.artefacts[0].url",
                "must be an http:// or https:// URL without credentials",
            ),
            (
                "/spec/artefacts/0/sha256",
                json!("AB".repeat(32)),
                "spec.artefacts[0].sha256",
                "must be a SHA-256 digest: 64 lower-case hexadecimal digits",
            ),
            ("/spec/artefacts/0/format", json!("Zip"), "spec.artefacts[0].format", "must be TarGz or Binary"),
            (
                "/spec/artefacts/0/format",
                json!("Binary"),
                "spec.artefacts[0].path",
                "path is required when format is Binary",
            ),
            (
                "/spec/artefacts/0/path",
                json!("bin/webd"),
                "spec.artefacts[0].path",
                "path must not be set when format is TarGz",
            ),
            ("/spec/files", json!([file("../etc/passwd", "0644")]), "spec.files[0].path", RELATIVE),
            (
                "/spec/files",
                json!([file("a", "4755")]),
                "spec.files[0].mode",
                "must be permission bits in octal, such as \"0644\"",
            ),
            (
                "/spec/files",
                json!([file("a", "644"), file("a/b", "644")]),
                "spec.files[1].path",
                "is the same as, or lies below or above, spec.files[0].path",
            ),
        ],
    );
}

#[test]
fn of_links_and_units() {
    let service =
        "must be the name of a service unit, such as webd.service, made of letters, digits and '_.-'";
    let unit = |name: &str| json!({ "name": name, "template": "x", "executable": "bin/webd" });
    assert_faults(
        machine_component,
        &[
            (
                "/spec/links",
                json!([{ "path": "usr/bin/webd", "target": "bin/webd" }]),
                "spec.links[0].path",
                "must be an absolute path without '..', made of letters, digits and ._@+%=,:-",
            ),
            (
                "/spec/links",
                json!([{ "path": "/usr/bin/webd", "target": "/bin/webd" }]),
                "spec.links[0].target",
                RELATIVE,
            ),
            ("/spec/unit", unit("webd"), "spec.unit.name", service),
            ("/spec/unit", unit("../webd.service"), "spec.unit.name", service),
            (
                "/spec/facts",
                json!(["ip", "uptime"]),
                "spec.facts[1]",
                "must be machineName, ip, hostname, idc, rack, architecture or cgroupVersion",
            ),
            (
                "/spec/dependsOn",
                json!(["runc", "webd"]),
                "spec.dependsOn",
                "must not have the component's own name in it",
            ),
            (
                "/spec/dependsOn",
                json!(["runc", "runc"]),
                "spec.dependsOn[1]",
                "is the same as in spec.dependsOn[0]",
            ),
            ("/spec/facts", json!(["ip", "ip"]), "spec.facts[1]", "is the same as in spec.facts[0]"),
            (
                "/spec/disruption",
                json!("Some"),
                "spec.disruption",
                "must be None, Reload, Restart, Drain or Reboot",
            ),
            ("/spec/disruption", json!("Reload"), "spec.disruption", "must not be Reload without a unit"),
            ("/spec/rollback", json!("Never"), "spec.rollback", "must be Safe or Unsafe"),
            (
                "/spec/confirm",
                json!({ "withinSeconds": 9 }),
                "spec.confirm.withinSeconds",
                "must be from 10 to 3600, is 9",
            ),
        ],
    );
}

#[test]
fn of_requirements() {
    assert_faults(
        machine_component,
        &[
            (
                "/spec/requires",
                json!([{ "component": "webd", "below": "2.0.0" }]),
                "spec.requires",
                "must not have the component's own name in it",
            ),
            (
                "/spec/requires",
                json!([{ "component": "runc", "below": "2.0.0" }, { "component": "runc", "atLeast": "1.0.0" }]),
                "spec.requires[1].component",
                "is the same as in spec.requires[0]",
            ),
            (
                "/spec/requires",
                json!([{ "component": "runc" }]),
                "spec.requires[0]",
                "must have atLeast, below, or both",
            ),
            (
                "/spec/requires",
                json!([{ "component": "runc", "atLeast": "v1.2.3" }]),
                "spec.requires[0].atLeast",
                "must be three numbers of at most 65535, such as \"1.36.0\"",
            ),
            (
                "/spec/requires",
                json!([{ "component": "runc", "atLeast": "1.2.3", "below": "1.2.3" }]),
                "spec.requires[0].below",
                "must be higher than atLeast",
            ),
        ],
    );
}

#[test]
fn of_preflights_and_removals() {
    let path =
        "must be the component's own in /etc, /opt, /run, /var/lib or /var/log, such as /var/lib/kubelet";
    let program = "must be an absolute path, or a relative one in the release, without '..'";
    let removed = |path: &str| json!({ "paths": [path] });
    let run = |program: &str| json!([{ "command": [program] }]);
    assert_faults(
        machine_component,
        &[
            (
                "/spec/preflight",
                json!({ "command": [] }),
                "spec.preflight.command",
                "must have at least one entry",
            ),
            ("/spec/preflight", json!({ "command": ["../x"] }), "spec.preflight.command[0]", program),
            (
                "/spec/preflight",
                json!({ "command": ["bin/webd"], "timeoutSeconds": 0 }),
                "spec.preflight.timeoutSeconds",
                "must be from 1 to 3600, is 0",
            ),
            (
                "/spec/removal",
                json!({ "afterStop": run("a/../b") }),
                "spec.removal.afterStop[0].command[0]",
                program,
            ),
            (
                "/spec/removal",
                json!({ "beforeStop": run("bin/leave") }),
                "spec.removal.beforeStop",
                "must not be set without a unit",
            ),
            ("/spec/removal", removed("/var"), "spec.removal.paths[0]", path),
            ("/spec/removal", removed("/var/lib"), "spec.removal.paths[0]", path),
            ("/spec/removal", removed("/usr/bin/kubelet"), "spec.removal.paths[0]", path),
            (
                "/spec/removal",
                removed("/var/lib/../../etc"),
                "spec.removal.paths[0]",
                "must be an absolute path without '..', made of letters, digits and ._@+%=,:-",
            ),
            (
                "/spec/removal",
                json!({ "paths": ["/var/lib/webd", "/var/lib/webd"] }),
                "spec.removal.paths[1]",
                "is the same as in spec.removal.paths[0]",
            ),
            (
                "/spec/machineParameters",
                json!(["zone", "a-b"]),
                "spec.machineParameters[1]",
                "must be named with letters, digits and '_', not start with a digit, and have at most 63 characters",
            ),
        ],
    );
}

#[test]
fn of_probes() {
    let probe = |rest: Value| {
        let mut probe = json!({ "tcp": { "port": 80 } });
        probe.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        probe
    };
    assert_faults(
        machine_component,
        &[
            ("/spec/probe", json!({}), "spec.probe", "exactly one of http, tcp and exec must be set"),
            (
                "/spec/probe",
                probe(json!({ "exec": { "command": ["true"] } })),
                "spec.probe",
                "exactly one of http, tcp and exec must be set",
            ),
            (
                "/spec/probe",
                probe(json!({ "periodSeconds": 0 })),
                "spec.probe.periodSeconds",
                "must be from 1 to 3600, is 0",
            ),
            (
                "/spec/probe",
                probe(json!({ "deadlineSeconds": 2 })),
                "spec.probe.deadlineSeconds",
                "deadlineSeconds is too short for successThreshold tries, one each periodSeconds",
            ),
            (
                "/spec/probe",
                json!({ "tcp": { "port": 0 } }),
                "spec.probe.tcp.port",
                "must be from 1 to 65535, is 0",
            ),
            (
                "/spec/probe",
                json!({ "http": { "port": 80, "path": "healthz" } }),
                "spec.probe.http.path",
                "must start with '/' and consist of at most 1024 visible ASCII characters",
            ),
            (
                "/spec/probe",
                json!({ "exec": { "command": [] } }),
                "spec.probe.exec.command",
                "must have at least one entry",
            ),
            (
                "/spec/probe",
                json!({ "exec": { "command": ["../x"] } }),
                "spec.probe.exec.command[0]",
                "must be an absolute path, or a relative one in the release, without '..'",
            ),
        ],
    );
}

#[test]
fn of_the_cluster_package_version() {
    let limit = "must be a number from 0 to 1000000, or a percentage from \"0%\" to \"100%\"";
    let duration = "must be a duration from 1s to 8760h, such as 24h or 1h30m";
    assert_faults(
        package_version,
        &[
            ("/spec/maxUnavailable", json!("101%"), "spec.maxUnavailable", limit),
            ("/spec/maxUnavailable", json!(-1), "spec.maxUnavailable", limit),
            ("/spec/maxFailures", json!("5"), "spec.maxFailures", limit),
            ("/spec/maxFailures", json!(1_000_001), "spec.maxFailures", limit),
            ("/spec/auditInterval", json!("1 day"), "spec.auditInterval", duration),
            ("/spec/strategy/bakeTime", json!("soon"), "spec.strategy.bakeTime", duration),
        ],
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    let mut object = machine();
    set(&mut object, "/spec/address/ip", json!(""));
    set(&mut object, "/spec/ssh/port", json!(-1));
    set(&mut object, "/spec/ssh/hostKeyPolicy", json!(""));
    set(&mut object, "/spec/components", json!([{ "name": "", "state": "Gone" }, { "name": "webd" }]));
    let fields: Vec<_> = faults(&object).into_iter().map(|(field, _)| field).collect();
    let expected = [
        "spec.address.ip",
        "spec.ssh.port",
        "spec.ssh.hostKeyPolicy",
        "spec.components[0].name",
        "spec.components[0].state",
        "spec.components[1].version",
    ];
    assert_eq!(fields, expected);
}

/// An object without sound metadata is not observed at all, and neither is a second `ClusterPackageVersion`.
#[test]
fn metadata_that_makes_no_sense_is_an_error() {
    let refuse = |mut object: Value, pointer: &str, value: Value| {
        set(&mut object, pointer, value);
        let resource = manifest::read(&object).unwrap();
        parse::observed(&resource, &mut Names::new(), unread).unwrap_err().to_string()
    };
    let table = [
        (
            machine(),
            "/metadata/uid",
            json!("1234"),
            "Machine \"m-0\" is not usable; metadata.uid: must be a UUID",
        ),
        (
            machine(),
            "/metadata/resourceVersion",
            json!("x"),
            "Machine \"m-0\" is not usable; metadata.resourceVersion: must be a decimal number",
        ),
        (
            machine(),
            "/metadata/deletionTimestamp",
            json!("yesterday"),
            "Machine \"m-0\" is not usable; metadata.deletionTimestamp: must be a time as in RFC 3339",
        ),
        (
            package_version(),
            "/metadata/name",
            json!("other"),
            "ClusterPackageVersion \"other\" is not usable; metadata.name: must be default: there is one for the \
             whole fleet",
        ),
    ];
    for (object, pointer, value, expected) in table {
        assert_eq!(refuse(object, pointer, value), expected);
    }
}

/// Nobody here looks into certificate requests.
fn unread(_: &str) -> Result<RequestContent, String> {
    Err("nobody reads it".to_owned())
}
