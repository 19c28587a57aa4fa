//! What is written into a status is read back as it was, and nothing that stands there makes reading fail.

use std::sync::Arc;

use crate::courses::{course, instant};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use seaworthy_api::names::Names;
use seaworthy_api::{parse, render, v1alpha1};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{
    Architecture, CgroupVersion, ReleaseId, VersionCondition, VersionConditionKind, VersionReason,
    VersionStatus,
};
use seaworthy_model::detail::{Detail, FleetDetail, VersionDetail};
use seaworthy_model::digest::Digest;
use seaworthy_model::id::{ComponentId, SetId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{
    ComponentStatus, Condition, ConditionKind, Conditions, FailedRelease, HostId, Identity, Installed,
    MachineStatus, Reason, Truth, Want,
};
use seaworthy_model::package_version::{
    Begun, DeferralReason, Deferred, End, FleetCondition, FleetConditionKind, FleetReason,
    PackageVersionStatus, Past, Progress, Rollout, Superseded,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

const COMPONENTS: [&str; 4] = ["webd", "kubelet", "runc", "a-b"];
const VERSIONS: [&str; 3] = ["1.0.0", "1.1.0-rc.1", "b-2"];

/// A table in which ids do not follow the order of the names.
/// A set that machines are in.
const SET: &str = "gpu";

fn names() -> Names {
    let mut names = Names::new();
    for component in COMPONENTS {
        names.component(component);
        for version in VERSIONS {
            names.version(component, version);
        }
    }
    names.id::<SetId>(SET);
    names
}

fn version(names: &mut Names, component: usize, version: usize) -> seaworthy_model::id::VersionId {
    names.version(COMPONENTS[component], VERSIONS[version])
}

/// The very first moment is that of a default, which is not read at all.
fn generation() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_u64, Just(i64::MAX as u64)]
}

fn release() -> impl Strategy<Value = ReleaseId> {
    any::<[u8; 32]>().prop_map(|bytes| ReleaseId(Digest(bytes)))
}

fn truth() -> impl Strategy<Value = Truth> {
    prop_oneof![Just(Truth::True), Just(Truth::False), Just(Truth::Unknown)]
}

fn cause() -> impl Strategy<Value = CauseKind> {
    (0..CauseKind::ALL.len()).prop_map(|index| CauseKind::ALL[index])
}

fn reason() -> impl Strategy<Value = Reason> {
    let own = (0..Reason::OWN.len()).prop_map(|index| Reason::OWN[index]);
    prop_oneof![own, cause().prop_map(Reason::from)]
}

fn fleet_reason() -> impl Strategy<Value = FleetReason> {
    (0..FleetReason::ALL.len()).prop_map(|index| FleetReason::ALL[index])
}

/// Words that are not ours under any reason, or none. Ours have tests of their own.
fn words() -> impl Strategy<Value = Option<Box<str>>> {
    option::of("~ \\PC{0,80}".prop_map(String::into_boxed_str))
}

fn identity() -> impl Strategy<Value = Identity> {
    let architecture = (0..Architecture::ALL.len()).prop_map(|index| Architecture::ALL[index]);
    let cgroups = option::of((0..CgroupVersion::ALL.len()).prop_map(|index| CgroupVersion::ALL[index]));
    (any::<u128>(), option::of("\\PC{1,80}"), architecture, cgroups).prop_map(
        |(host, key, architecture, cgroup_version)| {
            let host_key = key.map(|key: String| key.into());
            Identity { host: HostId(host), host_key, architecture, cgroup_version }
        },
    )
}

fn component_statuses() -> impl Strategy<Value = Arc<[ComponentStatus]>> {
    let installed = option::of((0..VERSIONS.len(), release()));
    let failed = option::of((0..VERSIONS.len(), release(), cause()));
    let of_component = (installed, failed, any::<bool>());
    btree_map(0..COMPONENTS.len(), of_component, 0..=COMPONENTS.len()).prop_map(|statuses| {
        let mut names = names();
        let read = statuses.into_iter().map(|(component, (installed, failed, goes))| ComponentStatus {
            component: names.component(COMPONENTS[component]),
            installed: installed
                .map(|(v, release)| Installed { version: version(&mut names, component, v), release }),
            failed: failed.map(|(v, release, cause)| {
                let version = version(&mut names, component, v);
                Box::new(FailedRelease { version, release, cause })
            }),
            set: goes.then(|| names.id(SET)),
        });
        read.collect()
    })
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let condition = (truth(), reason(), words(), instant(), generation());
    btree_map(0..ConditionKind::ALL.len(), condition, 0..=3).prop_map(|conditions| {
        let conditions =
            conditions.into_iter().map(|(kind, (truth, reason, words, since, observed_generation))| {
                Condition {
                    kind: ConditionKind::ALL[kind],
                    truth,
                    reason,
                    detail: words.map(|words| Arc::new(Detail::Reported(words))),
                    since,
                    observed_generation,
                }
            });
        conditions.collect()
    })
}

fn machine_status() -> impl Strategy<Value = MachineStatus> {
    (generation(), option::of(identity()), component_statuses(), conditions()).prop_map(
        |(observed_generation, identity, components, conditions)| MachineStatus {
            observed_generation,
            identity,
            components,
            conditions,
        },
    )
}

/// A version and parameters, or nothing for `Absent`.
type WantParts = Option<(usize, std::collections::BTreeMap<String, String>)>;

fn want_parts() -> impl Strategy<Value = WantParts> {
    option::of((0..VERSIONS.len(), btree_map("[a-z_]{1,8}", "\\PC{0,20}", 0..3)))
}

fn want(names: &mut Names, component: usize, parts: WantParts) -> Want {
    match parts {
        Some((index, parameters)) => Want::Present { version: version(names, component, index), parameters },
        None => Want::Absent,
    }
}

fn ranks() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::btree_set(any::<u32>(), 0..5).prop_map(|ranks| ranks.into_iter().collect())
}

fn progress() -> impl Strategy<Value = Progress> {
    let deferred = btree_map(0..DeferralReason::ALL.len(), any::<u32>(), 0..=DeferralReason::ALL.len());
    (any::<[u32; 5]>(), deferred).prop_map(|([total, updated, at_work, failed, lost], deferred)| {
        let deferred = deferred
            .into_iter()
            .map(|(reason, machines)| Deferred { reason: DeferralReason::ALL[reason], machines });
        Progress { total, updated, at_work, failed, lost, deferred: deferred.collect() }
    })
}

fn rollouts() -> impl Strategy<Value = Vec<Rollout>> {
    let rollout = (
        generation(),
        option::of(want_parts()),
        want_parts(),
        (
            any::<u32>(),
            option::of(ranks()),
            vec((generation(), want_parts(), ranks()), 0..3),
            option::of(course()),
            progress(),
        ),
        instant(),
        option::of(instant()),
    );
    btree_map(0..COMPONENTS.len(), rollout, 0..=COMPONENTS.len()).prop_map(|rollouts| {
        let mut names = names();
        let read = rollouts.into_iter().map(|(component, rollout)| {
            let (generation, from, to, permission, started_at, completed_at) = rollout;
            let (admitted_below, granted, superseded, course, progress) = permission;
            Rollout {
                component: names.component(COMPONENTS[component]),
                generation,
                from: from.map(|from| want(&mut names, component, from)),
                to: want(&mut names, component, to),
                admitted_below,
                granted,
                superseded: superseded
                    .into_iter()
                    .map(|(generation, to, granted)| Superseded {
                        generation,
                        to: want(&mut names, component, to),
                        granted,
                    })
                    .collect(),
                course,
                cause: (generation % 3 == 0).then(|| "for the audit".into()),
                by: (generation % 2 == 0).then(|| "seaworthy/alice".into()),
                progress,
                started_at,
                completed_at,
            }
        });
        read.collect()
    })
}

/// What the history keeps of a rollout.
fn replaced(rollout: &Rollout) -> Past {
    Past {
        component: rollout.component,
        generation: rollout.generation,
        to: rollout.to.clone(),
        end: End::of(rollout),
        progress: (rollout.progress.total, rollout.progress.updated),
        cause: rollout.cause.clone(),
        by: rollout.by.clone(),
        started_at: rollout.started_at,
        replaced_at: rollout.started_at,
    }
}

fn package_version_status() -> impl Strategy<Value = PackageVersionStatus> {
    let condition = (truth(), fleet_reason(), words(), instant(), generation());
    let kinds = FleetConditionKind::ALL;
    let conditions = btree_map(0..kinds.len(), condition, 0..=2).prop_map(move |conditions| {
        let conditions =
            conditions.into_iter().map(|(kind, (truth, reason, words, since, observed_generation))| {
                FleetCondition {
                    kind: kinds[kind],
                    truth,
                    reason,
                    detail: words.map(FleetDetail::Other),
                    since,
                    observed_generation,
                }
            });
        conditions.collect()
    });
    let begun = ("[a-z/]{1,9}", "[a-z0-9]{1,9}", instant(), any::<u32>());
    let begun = begun.prop_map(|(domain, value, since, machines)| Begun {
        domain: domain.into(),
        value: value.into(),
        since,
        machines,
    });
    let written = (generation(), any::<u32>().prop_map(Epoch), vec(begun, 0..3));
    (written, rollouts(), conditions).prop_map(
        |((observed_generation, epoch, begun), rollouts, conditions)| PackageVersionStatus {
            history: rollouts.iter().map(replaced).collect(),
            observed_generation,
            epoch,
            rollouts,
            conditions,
            begun,
            picked: Vec::new(),
        },
    )
}

fn version_status() -> impl Strategy<Value = VersionStatus> {
    let reason = (0..VersionReason::ALL.len()).prop_map(|index| VersionReason::ALL[index]);
    let condition = (truth(), reason, words(), instant(), generation());
    let conditions = btree_map(0..VersionConditionKind::ALL.len(), condition, 0..=2);
    (generation(), conditions).prop_map(|(observed_generation, conditions)| {
        let conditions =
            conditions.into_iter().map(|(kind, (truth, reason, words, since, observed_generation))| {
                VersionCondition {
                    kind: VersionConditionKind::ALL[kind],
                    truth,
                    reason,
                    detail: words.map(VersionDetail::Other),
                    since,
                    observed_generation,
                }
            });
        VersionStatus { observed_generation, conditions: conditions.collect() }
    })
}

/// Through the text that the API server stores.
fn stored<T: Serialize + DeserializeOwned>(status: &T) -> T {
    serde_json::from_str(&serde_json::to_string(status).unwrap()).unwrap()
}

/// A past rollout out of any numbers and words.
fn any_past(numbers: &[i64], word: &dyn Fn(usize) -> String) -> v1alpha1::PastStatus {
    v1alpha1::PastStatus {
        component: word(4),
        generation: numbers[0],
        to: v1alpha1::WantStatus { state: word(2), version: Some(word(3)), ..Default::default() },
        end: word(5),
        total: numbers[1],
        updated: numbers[2],
        cause: Some(word(6)),
        by: Some(word(7)),
        started_at: (*word(5)).into(),
        replaced_at: (*word(6)).into(),
    }
}

/// The course of a rollout out of any numbers and words.
fn any_course(numbers: &[i64], word: &dyn Fn(usize) -> String) -> v1alpha1::CourseStatus {
    v1alpha1::CourseStatus {
        strategy: v1alpha1::Strategy {
            batches: vec![v1alpha1::IntOrString::Int(numbers[0])],
            first_bake_time: word(0),
            bake_time: word(1),
            tolerance: None,
            on_failure: word(2),
            confirm_above: None,
            disruption: Some(v1alpha1::RolloutDisruption {
                at_most: Some(word(3)),
                undrainable: word(4),
                skip_at_most: None,
                force_after: Some(word(5)),
            }),
            query: Some(v1alpha1::GateQuery {
                namespace: word(0),
                service: word(1),
                port: numbers[0],
                scheme: word(2),
                path_prefix: Some(word(3)),
                expression: word(4),
            }),
            probe_pod: Some(v1alpha1::ProbePod { image: word(0), machines: numbers[0], within: word(1) }),
        },
        batch: numbers[0],
        done_at: None,
        failed_gate: None,
        excused: numbers[1],
        judged_before: numbers[0],
        batches_before: numbers[1],
        catches_up: numbers[0] % 2 == 0,
        reverted_at: Some((*word(6)).into()),
    }
}

proptest! {
    #[test]
    fn machine_status_comes_back(status in machine_status()) {
        let mut names = names();
        let rendered = render::machine_status(&status, &mut names).unwrap();
        prop_assert_eq!(parse::machine_status(&stored(&rendered), &mut names), status);
        prop_assert!(names.take_new().len() == COMPONENTS.len() * (VERSIONS.len() + 1) + 1, "no new name appeared");
    }

    /// Whatever was written before, and however often.
    #[test]
    fn a_status_is_written_as_if_it_were_the_first(statuses in vec(machine_status(), 1..40)) {
        let mut used = names();
        for status in statuses.iter().chain(statuses.iter().rev()) {
            prop_assert_eq!(render::machine_status(status, &mut used), render::machine_status(status, &mut names()));
        }
    }

    #[test]
    fn package_version_status_comes_back(status in package_version_status()) {
        let mut names = names();
        let rendered = render::package_version_status(&status, &names).unwrap();
        prop_assert_eq!(parse::package_version_status(&stored(&rendered), &mut names), status);
    }

    #[test]
    fn version_status_comes_back(status in version_status()) {
        let rendered = render::version_status(&status);
        prop_assert_eq!(parse::version_status(&stored(&rendered)), status);
    }

    /// The same state is the same text, whichever process writes it: ids differ between processes, names do not.
    #[test]
    fn text_does_not_depend_on_ids(status in machine_status()) {
        let rendered = render::machine_status(&status, &mut names()).unwrap();
        let mut others = Names::new();
        for component in COMPONENTS.into_iter().rev() {
            others.component(component);
        }
        let read = parse::machine_status(&rendered, &mut others);
        prop_assert_eq!(render::machine_status(&read, &mut others).unwrap(), rendered);
    }

    #[test]
    fn nothing_in_a_status_makes_reading_fail(
        words in vec("\\PC{0,12}|True|Ready|AsDesired|Present|2026-11-20T08:00:00Z|[0-9a-f]{32}|[0-9a-f]{64}", 12),
        numbers in vec(any::<i64>(), 4),
    ) {
        let word = |index: usize| words[index].clone();
        let status = v1alpha1::MachineStatus {
            reason: word(11).into(),
            observed_generation: numbers[0],
            identity: Some(v1alpha1::Identity { machine_id: (*word(0)).into(), host_key: None, architecture: word(1).into(), cgroup_version: Some(word(2).into()) }),
            components: [v1alpha1::ComponentStatus {
                name: word(2).into(),
                version: Some(word(3).into()),
                release: Some((*word(4)).into()),
                failed: Some(v1alpha1::FailedRelease { version: word(5).into(), release: (*word(6)).into(), reason: word(7).into() }),
                set: Some(word(8).into()),
            }]
            .into(),
            installed: word(8).into(),
            conditions: vec![v1alpha1::Condition {
                r#type: word(9).into(),
                status: word(10).into(),
                reason: word(11).into(),
                message: word(0).into(),
                last_transition_time: (*word(1)).into(),
                observed_generation: numbers[1],
            }],
        };
        let mut names = Names::new();
        let of_version =
            v1alpha1::MachineComponentStatus { observed_generation: numbers[2], conditions: status.conditions.clone() };
        let _ = render::version_status(&parse::version_status(&of_version));
        let read = parse::machine_status(&status, &mut names);
        // What was read is sound: it can be written again.
        prop_assert!(render::machine_status(&read, &mut names).is_ok());
        let want = v1alpha1::WantStatus { state: word(2), version: Some(word(3)), ..Default::default() };
        let rollout = v1alpha1::RolloutStatus {
            component: word(4),
            generation: numbers[2],
            from: Some(want.clone()),
            to: want,
            admitted_below: numbers[3],
            granted: Some(numbers.clone()),
            superseded: vec![v1alpha1::SupersededStatus {
                generation: numbers[0],
                to: v1alpha1::WantStatus { state: word(2), version: Some(word(3)), ..Default::default() },
                granted: numbers.clone(),
            }],
            course: Some(any_course(&numbers, &word)),
            cause: Some(word(1)),
            by: Some(word(2)),
            total: numbers[0],
            updated: numbers[1],
            at_work: numbers[2],
            failed: numbers[3],
            lost: numbers[0],
            deferred: vec![v1alpha1::DeferredStatus { reason: word(7), machines: numbers[1] }],
            started_at: (*word(5)).into(),
            completed_at: Some((*word(6)).into()),
        };
        let status = v1alpha1::ClusterPackageVersionStatus {
            observed_generation: numbers[1],
            epoch: Some(numbers[2]),
            rollouts: vec![rollout],
            conditions: vec![],
            begun: vec![],
            history: vec![any_past(&numbers, &word)],
        };
        let read = parse::package_version_status(&status, &mut names);
        prop_assert!(render::package_version_status(&read, &names).is_ok());
    }
}

/// What the API server shows before anything was written.
#[test]
fn the_default_of_a_status_is_read_as_none() {
    use seaworthy_api::object::Status;
    use seaworthy_model::id::Kind;
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_ours()) {
        match render::default_status(kind).expect("every kind of ours has one") {
            Status::Machine(status) => {
                let read = parse::machine_status(&stored(&status), &mut Names::new());
                assert_eq!(read, MachineStatus::default());
            }
            Status::MachineComponent(status) => {
                assert_eq!(parse::version_status(&stored(&status)), VersionStatus::default());
            }
            Status::ClusterPackageVersion(status) | Status::MachineComponentSet(status) => {
                let read = parse::package_version_status(&stored(&status), &mut Names::new());
                assert_eq!(read, PackageVersionStatus::default());
            }
            Status::CanaryRelease(status) => {
                let read = parse::canary_status(&stored(&status), &mut Names::new());
                assert_eq!(read, PackageVersionStatus::default());
            }
            Status::DisruptionPolicy(status) => {
                assert_eq!(parse::policy_status(&stored(&status)), Default::default());
            }
            Status::Node(_) | Status::CertificateSigningRequest(_) => panic!("{kind:?} is not ours"),
        }
    }
}

#[test]
fn half_a_rollout_is_none() {
    let want = |state: &str, version: Option<&str>| v1alpha1::WantStatus {
        state: state.into(),
        version: version.map(String::from),
        ..Default::default()
    };
    let sound = v1alpha1::RolloutStatus {
        component: "webd".into(),
        generation: 1,
        from: Some(want("Present", Some("1.0.0"))),
        to: want("Present", Some("1.1.0")),
        admitted_below: 7,
        granted: Some(vec![3, 1]),
        superseded: vec![],
        course: None,
        cause: None,
        by: None,
        total: 2,
        updated: 1,
        at_work: 1,
        failed: 0,
        lost: 0,
        deferred: vec![],
        started_at: "2026-11-20T08:00:00Z".into(),
        completed_at: None,
    };
    let read = |change: &dyn Fn(&mut v1alpha1::RolloutStatus)| {
        let mut rollout = sound.clone();
        change(&mut rollout);
        let status = v1alpha1::ClusterPackageVersionStatus { rollouts: vec![rollout], ..Default::default() };
        parse::package_version_status(&status, &mut Names::new()).rollouts.len()
    };
    assert_eq!(read(&|_| ()), 1);
    assert_eq!(read(&|rollout| rollout.from = Some(want("Present", None))), 0);
    assert_eq!(read(&|rollout| rollout.to = want("Gone", None)), 0);
    assert_eq!(read(&|rollout| rollout.admitted_below = 1 << 32), 0);
    assert_eq!(read(&|rollout| rollout.granted = Some(vec![-1])), 0);
    assert_eq!(read(&|rollout| rollout.started_at = "soon".into()), 0);
    assert_eq!(read(&|rollout| rollout.completed_at = Some("".into())), 0);
}

#[test]
fn installed_is_one_line_in_the_order_of_names() {
    let mut names = Names::new();
    let mut components = Vec::new();
    for (name, text) in [("webd", "1.1.0"), ("runc", "1.3.0")] {
        let installed = Installed { version: names.version(name, text), release: ReleaseId(Digest([7; 32])) };
        let component: ComponentId = names.component(name);
        components.push(ComponentStatus { component, installed: Some(installed), failed: None, set: None });
    }
    let status = MachineStatus { components: components.into(), ..MachineStatus::default() };
    let rendered = render::machine_status(&status, &mut names).unwrap();
    assert_eq!(*rendered.installed, *"runc=1.3.0,webd=1.1.0");
}
