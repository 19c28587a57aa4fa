//! The examples in `deploy/examples` are what they claim to be: complete, and without a fault.

use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::object::{Metadata, Resource};
use seaworthy_api::{manifest, parse};
use seaworthy_model::certificate::RequestContent;
use seaworthy_model::component::{Architecture, ArtefactFormat, Disruption, Fact, ProbeCheck};
use seaworthy_model::component_set::{Canary, Pick};
use seaworthy_model::event::Observation;
use seaworthy_model::machine::{HostKeyPolicy, Want};
use seaworthy_model::policy::Domain;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::requirement::Party;
use seaworthy_model::strategy::OnFailure;

const MACHINE: &str = include_str!("../../../../deploy/examples/machine.yaml");
const MACHINE_COMPONENT: &str = include_str!("../../../../deploy/examples/machine-component.yaml");
const CLUSTER_PACKAGE_VERSION: &str =
    include_str!("../../../../deploy/examples/cluster-package-version.yaml");

const MACHINE_COMPONENT_SET: &str = include_str!("../../../../deploy/examples/machine-component-set.yaml");
const CANARY_RELEASE: &str = include_str!("../../../../deploy/examples/canary-release.yaml");
const DISRUPTION_POLICY: &str = include_str!("../../../../deploy/examples/disruption-policy.yaml");

/// Every object of a file, as the API server would store it.
fn stored(text: &str) -> Vec<Resource> {
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(text).unwrap();
    let mut resources: Vec<_> = documents.iter().map(|document| manifest::read(document).unwrap()).collect();
    for (index, resource) in resources.iter_mut().enumerate() {
        let metadata: &mut Metadata = resource.metadata_mut();
        metadata.uid = format!("00000000-0000-4000-8000-{index:012}").as_str().into();
        metadata.resource_version = "7".into();
        metadata.generation = 1;
    }
    resources
}

#[test]
fn machine_component_sets() {
    let mut names = Names::new();
    let [object] = stored(MACHINE_COMPONENT_SET).try_into().unwrap();
    let observed = parse::observed(&object, &mut names, unread);
    let Ok(Some(Observation::Set(_, Some(read)))) = observed else { panic!("{observed:?}") };
    let spec = read.spec.unwrap();
    assert!(spec.selector.matches(&[("pool".into(), "gpu".into())].into_iter().collect()));
    assert!(!spec.selector.matches(&Default::default()));
    assert_eq!(spec.strategy.on_failure, OnFailure::RollBack);
    assert_eq!(spec.components.len(), 1);
}

#[test]
fn canary_releases() {
    let mut names = Names::new();
    let [object] = stored(CANARY_RELEASE).try_into().unwrap();
    let observed = parse::observed(&object, &mut names, unread);
    let Ok(Some(Observation::Canary(_, Some(read)))) = observed else { panic!("{observed:?}") };
    let spec = read.spec.unwrap();
    let Some(Canary { pick: Pick::Count { count: 1, per }, aborted: false }) = &spec.canary else {
        panic!("{spec:?}")
    };
    assert_eq!(per.len(), 1);
    assert!(spec.selector.matches(&Default::default()));
}

#[test]
fn disruption_policies() {
    let mut names = Names::new();
    let policies: Vec<_> = stored(DISRUPTION_POLICY)
        .iter()
        .map(|object| {
            let observed = parse::observed(object, &mut names, unread);
            let Ok(Some(Observation::Policy(_, Some(read)))) = observed else { panic!("{observed:?}") };
            read.spec.unwrap()
        })
        .collect();
    let [batch, stop] = policies.as_slice() else { panic!("two policies") };
    assert_eq!((&batch.per, batch.in_flight), (&Domain::Rack, Some(CountOrPercent::Count(1))));
    assert_eq!(batch.windows[0].start, 22 * 3600);
    assert_eq!(&*batch.freezes[0].reason, "end of the year");
    assert!(stop.selector.is_everything() && !stop.paused);
}

#[test]
fn machines() {
    let mut names = Names::new();
    let machines: Vec<_> = stored(MACHINE)
        .iter()
        .map(|object| {
            let observed = parse::observed(object, &mut names, unread);
            let Ok(Some(Observation::Machine(id, Some(read)))) = observed else { panic!("{observed:?}") };
            (id, read)
        })
        .collect();
    let [(id, first), (_, second)] = machines.as_slice() else { panic!("two machines") };
    assert_eq!(names.machine_name(*id), Ok("rack1-node1"));
    assert_eq!(first.labels.get("pool").map(|pool| &**pool), Some("batch"));
    let spec = first.spec.as_ref().unwrap();
    assert_eq!((spec.connection.port, &*spec.connection.login.user), (22, "root"));
    assert_eq!(
        spec.connection.host_keys,
        ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHiTGknTdSI/4LTzgN9/MIMzz1uI2bUk0uJZgqWFskQ1".into()].into()
    );
    assert!(spec.pins.is_empty() && !spec.paused);
    let spec = second.spec.as_ref().unwrap();
    assert_eq!(spec.connection.host_key_policy, HostKeyPolicy::TrustOnFirstUse);
    let version = names.version("webd", "1.1.0");
    let parameters = [("port".into(), "8081".into())].into();
    assert_eq!(spec.pins[0].want, Want::Present { version, parameters });
    assert_eq!(spec.parameters.as_ref().unwrap()["timeServer"], "ntp2.example.com");
    assert_eq!((spec.pins[1].component, &spec.pins[1].want), (names.component("runc"), &Want::Absent));
}

#[test]
fn machine_components() {
    let mut names = Names::new();
    let versions: Vec<_> = stored(MACHINE_COMPONENT)
        .iter()
        .map(|object| {
            let observed = parse::observed(object, &mut names, unread);
            let Ok(Some(Observation::Version(id, Some(read)))) = observed else { panic!("{observed:?}") };
            (id, read.spec.unwrap())
        })
        .collect();
    let [(id, first), (_, second), (_, third)] = versions.as_slice() else { panic!("three versions") };
    assert_eq!(third.machine_parameters, ["timeServer"]);
    assert!(third.artefacts.is_empty() && third.suits(Architecture::S390x));
    assert_eq!(third.content.unit.as_ref().unwrap().executable, None);
    assert_eq!(third.content.facts, [Fact::CgroupVersion]);
    assert_eq!((second.disruption, third.disruption), (Disruption::Drain, Disruption::Restart));
    assert_eq!(second.depends_on, [third.component]);
    let rule = &second.requires[0];
    assert_eq!((rule.party, rule.to_string().as_str()), (Party::ApiServer, "at least 1.33.0"));
    let preflight = second.content.preflight.as_ref().unwrap();
    assert_eq!((preflight.command[0].as_str(), preflight.timeout_seconds), ("bin/webd", 60));
    assert_eq!(second.content.removal.as_ref().unwrap().paths, ["/var/lib/webd"]);
    assert_eq!(names.version_object_name(*id), Ok("webd-1.0.0"));
    assert_eq!(first.artefact(Architecture::Amd64).unwrap().format, ArtefactFormat::TarGz);
    let binary = ArtefactFormat::Binary { path: "bin/webd".into() };
    assert_eq!(first.artefact(Architecture::Arm64).unwrap().format, binary);
    assert_eq!(first.content.facts, [Fact::Ip, Fact::MachineName]);
    assert_eq!(first.content.files[0].mode, 0o644);
    let probe = second.content.probe.as_ref().unwrap();
    assert_eq!(probe.check, ProbeCheck::Http { port: 8080, path: "/healthz".into() });
    let seconds = (probe.period_seconds, probe.timeout_seconds, probe.deadline_seconds);
    assert_eq!((seconds, probe.success_threshold), ((1, 5, 60), 3));
}

#[test]
fn cluster_package_version() {
    let mut names = Names::new();
    let [object] = stored(CLUSTER_PACKAGE_VERSION).try_into().unwrap();
    let observed = parse::observed(&object, &mut names, unread);
    let Ok(Some(Observation::PackageVersion(Some(read)))) = observed else { panic!() };
    let spec = read.spec.unwrap();
    assert_eq!(
        (spec.max_unavailable, spec.max_failures),
        (CountOrPercent::Percent(5), CountOrPercent::Count(3))
    );
    assert_eq!(spec.audit_interval, Duration::from_secs(86_400));
    assert_eq!(spec.components.len(), 1);
}

/// Every name is announced before anything that uses it could be delivered.
#[test]
fn names_are_announced() {
    let mut names = Names::new();
    for object in stored(MACHINE) {
        parse::observed(&object, &mut names, unread).unwrap();
    }
    let announced: Vec<_> = names.take_new().into_iter().map(|named| named.name).collect();
    assert_eq!(announced, ["rack1-node1", "rack1-node2", "webd", "webd-1.1.0", "runc"].map(Into::into));
}

/// Nobody here looks into certificate requests.
fn unread(_: &str) -> Result<RequestContent, String> {
    Err("nobody reads it".to_owned())
}
