//! The objects of a fleet as its API server would hold them.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_model::component::{
    Architecture, Artefact, ArtefactFormat, ConfigFile, Content, Fact, Parameters, Probe, ProbeCheck, Unit,
    VersionObject, VersionSpec, VersionStatus,
};
use seaworthy_model::digest::Digest;
use seaworthy_model::host::Connection;
use seaworthy_model::id::{ComponentId, Uid, VersionId};
use seaworthy_model::machine::{
    Address, ComponentSetting, HostKeyPolicy, Login, MachineObject, MachineSpec, MachineStatus, Want,
};
use seaworthy_model::meta::{Meta, Parsed};
use seaworthy_model::package_version::{PackageVersionObject, PackageVersionSpec, PackageVersionStatus};
use seaworthy_model::quantity::CountOrPercent;

/// The fleet's only component.
pub(crate) const COMPONENT: ComponentId = ComponentId(0);

pub(crate) fn meta(uid: u128) -> Meta {
    Meta { uid: Uid(uid), resource_version: 1, generation: 1, deleted_at: None, finalizers: Arc::default() }
}

pub(crate) fn machine(number: u32) -> MachineObject {
    let [_, a, b, c] = number.to_be_bytes();
    let spec = MachineSpec {
        connection: Arc::new(Connection {
            address: Address {
                ip: format!("10.{a}.{b}.{c}").into(),
                hostname: format!("machine-{number}").into(),
                idc: format!("idc-{}", number % 3).into(),
                rack: format!("rack-{}", number / 40).into(),
            },
            port: 22,
            login: Arc::new(Login { user: "root".into(), secret_name: "fleet".into() }),
            host_keys: [format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{number:043}").into()].into(),
            host_key_policy: HostKeyPolicy::Pinned,
        }),
        pins: [].into(),
        parameters: Default::default(),
        node: None,
        paused: false,
    };
    MachineObject {
        meta: meta(u128::from(number) + 1000),
        labels: Default::default(),
        spec: Ok(Arc::new(spec)),
        status: MachineStatus::default(),
        is_released: false,
        reset_fences: None,
    }
}

/// A version of a typical agent: one binary, one config file, one unit, one probe.
pub(crate) fn version(number: u32) -> VersionObject {
    let artefact = Artefact {
        architecture: Architecture::Amd64,
        url: format!("http://artefacts/agent-1.{number}.0"),
        sha256: Digest::of(&number.to_le_bytes()),
        format: ArtefactFormat::Binary { path: "bin/agent".into() },
    };
    let content = Content {
        files: vec![ConfigFile {
            path: "etc/agent.toml".into(),
            template: "name = \"{{ machineName }}\"\nlevel = \"{{ level }}\"\n".into(),
            mode: 0o644,
        }],
        unit: Some(Unit {
            name: "agent.service".into(),
            template: "[Service]\nExecStart={{ release }}/bin/agent\n".into(),
            executable: Some("bin/agent".into()),
        }),
        probe: Some(Probe {
            check: ProbeCheck::Http { port: 8080, path: "/healthz".into() },
            period_seconds: 1,
            timeout_seconds: 5,
            success_threshold: 3,
            deadline_seconds: 60,
        }),
        facts: vec![Fact::MachineName],
        ..Content::default()
    };
    let spec = VersionSpec {
        component: COMPONENT,
        version: format!("1.{number}.0"),
        artefacts: vec![artefact],
        machine_parameters: Vec::new(),
        depends_on: Vec::new(),
        requires: Vec::new(),
        disruption: Default::default(),
        content,
        node_identity: None,
    };
    VersionObject {
        meta: meta(u128::from(number) + 10),
        spec: Ok(Arc::new(spec)),
        status: VersionStatus::default(),
    }
}

fn setting(version: VersionId) -> ComponentSetting {
    let parameters: Parameters = [("level".into(), "info".into())].into();
    ComponentSetting { component: COMPONENT, want: Want::Present { version, parameters } }
}

/// The spec with the component pinned to `version`.
pub(crate) fn pinned(spec: Parsed<MachineSpec>, version: VersionId) -> Parsed<MachineSpec> {
    spec.map(|spec| Arc::new(MachineSpec { pins: [setting(version)].into(), ..(*spec).clone() }))
}

pub(crate) fn package_version(version: VersionId, max_unavailable: CountOrPercent) -> PackageVersionObject {
    let spec = PackageVersionSpec {
        components: vec![setting(version)],
        max_unavailable,
        max_failures: CountOrPercent::Count(1),
        pause_when_unavailable: CountOrPercent::Percent(20),
        audit_interval: Duration::from_secs(24 * 3600),
        paused: false,
        drain: Default::default(),
        strategy: None,
    };
    PackageVersionObject {
        meta: meta(1),
        spec: Ok(Arc::new(spec)),
        status: PackageVersionStatus::default(),
        resume: None,
        confirmed: None,
        cause: None,
        by: None,
    }
}
