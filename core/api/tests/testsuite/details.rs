//! Details of conditions: what each one is to people, that it is read back as it was, and that words which are not ours stay as
//! they are.

use std::sync::Arc;

use crate::fleet_details::{beside, of_fleets, skew};
use proptest::prelude::*;
use proptest::{collection, option};
use seaworthy_api::names::Names;
use seaworthy_api::{parse, render, v1alpha1};
use seaworthy_model::attributes::TaintEffect;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{VersionCondition, VersionConditionKind, VersionReason, VersionStatus};
use seaworthy_model::detail::{
    Dependency, DependencyState, Detail, FleetDetail, Found, IdentityFlaw, Pod, Regress, Skew, Stranger,
    VersionDetail, Wait,
};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::{Condition, ConditionKind, Conditions, HostId, MachineStatus, Reason, Truth};
use seaworthy_model::meta::SpecError;
use seaworthy_model::package_version::{
    FleetCondition, FleetConditionKind, FleetReason, PackageVersionStatus,
};
use seaworthy_model::pod::PodLoss;
use seaworthy_model::requirement::VersionNumber;
use seaworthy_model::time::Timestamp;

/// A condition of a Machine as it is written.
fn written(reason: Reason, detail: Option<Detail>) -> v1alpha1::MachineStatus {
    let condition = Condition {
        kind: ConditionKind::InSync,
        truth: Truth::False,
        reason,
        detail: detail.map(Arc::new),
        since: Timestamp::from_millis(1_795_162_200_000),
        observed_generation: 1,
    };
    let conditions = Conditions::from_iter([condition]);
    render::machine_status(&MachineStatus { conditions, ..MachineStatus::default() }, &mut Names::new())
        .unwrap()
}

fn read(status: &v1alpha1::MachineStatus) -> Option<Detail> {
    let status = parse::machine_status(status, &mut Names::new());
    status.condition(ConditionKind::InSync).unwrap().detail.as_deref().cloned()
}

/// The words that follow the explanation of the reason.
fn words(reason: Reason, detail: Detail) -> String {
    let (bare, told) = (written(reason, None), written(reason, Some(detail)));
    let told = told.conditions[0].message.strip_prefix(&*bare.conditions[0].message).unwrap().to_owned();
    told.strip_prefix(": ").unwrap().to_owned()
}

/// The same of the `ClusterPackageVersion`.
fn fleet_written(reason: FleetReason, detail: Option<FleetDetail>) -> v1alpha1::ClusterPackageVersionStatus {
    let condition = FleetCondition {
        kind: FleetConditionKind::Progressing,
        truth: Truth::False,
        reason,
        detail,
        since: Timestamp::from_millis(1_795_162_200_000),
        observed_generation: 1,
    };
    let status = PackageVersionStatus { conditions: vec![condition], ..PackageVersionStatus::default() };
    render::package_version_status(&status, &Names::new()).unwrap()
}

fn fleet_read(status: &v1alpha1::ClusterPackageVersionStatus) -> Option<FleetDetail> {
    parse::package_version_status(status, &mut Names::new()).conditions[0].detail.clone()
}

fn fleet_words(reason: FleetReason, detail: FleetDetail) -> String {
    let (bare, told) = (fleet_written(reason, None), fleet_written(reason, Some(detail)));
    let told = told.conditions[0].message.strip_prefix(&*bare.conditions[0].message).unwrap().to_owned();
    told.strip_prefix(": ").unwrap().to_owned()
}

/// The same of a `MachineComponent`: the detail's own words, and what is read of them.
fn of_version(reason: VersionReason, detail: VersionDetail) -> (String, Option<VersionDetail>) {
    let written = |detail: Option<VersionDetail>| {
        let (kind, truth, since) =
            (VersionConditionKind::InUse, Truth::True, Timestamp::from_millis(1_795_162_200_000));
        let condition = VersionCondition { kind, truth, reason, detail, since, observed_generation: 1 };
        render::version_status(&VersionStatus { observed_generation: 1, conditions: vec![condition] })
    };
    let (bare, told) = (written(None), written(Some(detail)));
    let words = told.conditions[0].message.strip_prefix(&*bare.conditions[0].message).unwrap();
    let read = parse::version_status(&told).conditions[0].detail.clone();
    (words.strip_prefix(": ").unwrap().to_owned(), read)
}

fn shop(name: &str) -> Pod {
    Pod { namespace: "shop".into(), name: name.into() }
}

fn dependency(state: DependencyState) -> Detail {
    Detail::Dependency(Dependency { component: "kubelet".into(), other: "runc".into(), state })
}

const CLUSTER_UID: Uid = Uid(0x0f3c_1d2e_4b5a_6978_8796_a5b4_c3d2_e1f0);

/// Details that say the same words always, and of which component or version they speak.
fn plain() -> Vec<(Reason, Detail, &'static str)> {
    let lost = Reason::Cause(CauseKind::ConnectionFailed);
    let api = Reason::Cause(CauseKind::ApiUnavailable);
    let probe = Reason::Cause(CauseKind::ProbeFailed);
    let missing = |inputs: &[&str]| Detail::Missing {
        version: "webd-1.0.0".into(),
        inputs: inputs.iter().map(|input| Arc::from(*input)).collect(),
    };
    vec![
        (lost, Detail::Reported("connection refused".into()), "connection refused"),
        (lost, Detail::SessionLost, "the session was lost"),
        (probe, Detail::Failed("webd-1.0.0".into(), "".into()), "release webd-1.0.0"),
        (probe, Detail::Failed("webd-1.0.0".into(), "503: no".into()), "release webd-1.0.0: 503: no"),
        (Reason::OperationLost, Detail::SessionLost, "the session was lost"),
        // Older builds gave a condition that stayed as it was the detail of another one.
        (Reason::Dependency, Detail::SessionLost, "the session was lost"),
        (
            Reason::Cause(CauseKind::HostFailed),
            Detail::ChangeNotShown,
            "the host reported success, and still is not as it should be",
        ),
        (api, Detail::NoAnswer, "no answer"),
        (api, Detail::NodeChanged, "the Node has changed meanwhile"),
        (api, Detail::PodsNotListed, "the pods of the Node could not be listed"),
        (Reason::Terminating, Detail::AwaitsSlot, "it waits until fewer machines are unavailable"),
        (Reason::HostAhead, Detail::HostAhead(Epoch(7)), "it reports an operator of epoch 7"),
        (
            Reason::StoreRegressed,
            Detail::Regress(Regress::AdoptionRefused(Epoch::LAST)),
            "the adoption is refused, since only 2146435070 or less leaves room for later operators: adopt-epoch is 2147483646",
        ),
        (Reason::UnknownVersion, Detail::Version("webd-1.0.0".into()), "webd-1.0.0"),
        (Reason::NoArtefact, Detail::Version("webd-1.0.0".into()), "webd-1.0.0"),
        (Reason::MissingParameter, missing(&["rack", "podCIDR"]), "webd-1.0.0 needs rack, podCIDR"),
        (Reason::MissingParameter, missing(&[]), "webd-1.0.0 needs "),
        (
            Reason::Contested,
            Detail::Contested { component: Some("webd".into()), times: 3, minutes: 1 },
            "webd was repaired 3 times in a row; the next repair waits for 1 min after the last",
        ),
        (
            Reason::Contested,
            Detail::Contested { component: None, times: 12, minutes: 360 },
            "what is set on its Node was repaired 12 times in a row; the next repair waits for 360 min after the last",
        ),
        (Reason::NodeConflict, Detail::ForeignLabel("example.com/pool".into()), "label example.com/pool"),
        (
            Reason::NodeConflict,
            Detail::ForeignTaint("dedicated".into(), TaintEffect::NoExecute),
            "taint dedicated:NoExecute",
        ),
    ]
}

/// Details about other components and versions.
fn orders() -> Vec<(Reason, Detail, &'static str)> {
    let waits = Reason::Dependency;
    let skewed = |skew| Detail::Skew(skew);
    vec![
        (waits, dependency(DependencyState::Pending), "kubelet needs runc, which has to change first"),
        (waits, dependency(DependencyState::Failed), "kubelet needs runc, which failed here"),
        (waits, dependency(DependencyState::Obstructed), "kubelet needs runc, in whose way something stands"),
        (
            waits,
            dependency(DependencyState::Unwanted),
            "kubelet needs runc, which is not there, and nobody wants it there",
        ),
        (waits, dependency(DependencyState::Leaving), "kubelet needs runc, which is to be removed"),
        (waits, dependency(DependencyState::Depending), "kubelet is what runc needs, which is there"),
        (Reason::DependencyCycle, Detail::Cycle(["a".into(), "b".into(), "a".into()].into()), "a -> b -> a"),
        (
            Reason::VersionSkew,
            skewed(skew("1.2.0", "2.0.0", beside("runc-1.1.0"))),
            "kubelet-1.36.0 requires runc at least 1.2.0 and below 2.0.0, and runc-1.1.0 would be with it",
        ),
        (
            Reason::VersionSkew,
            skewed(skew("", "2.0.0", beside("runc-2.0.0"))),
            "kubelet-1.36.0 requires runc below 2.0.0, and runc-2.0.0 would be with it",
        ),
        (
            Reason::VersionSkew,
            skewed(skew("1.36.0", "", Found::ApiServer(VersionNumber::parse("1.35.4").unwrap()))),
            "kubelet-1.36.0 requires kube-apiserver at least 1.36.0, and there is one of 1.35.4",
        ),
        (
            Reason::ApiServerUnknown,
            skewed(skew("1.36.0", "1.40.0", Found::UnknownApiServer)),
            "kubelet-1.36.0 requires kube-apiserver at least 1.36.0 and below 1.40.0, whose version is not known",
        ),
    ]
}

/// Details about hosts, their owners and the pods on them.
fn hosts() -> Vec<(Reason, Detail, &'static str)> {
    let regress = |found| (Reason::StoreRegressed, Detail::Regress(found));
    let ((ahead, host), (gone, lease), (none, empty)) = (
        regress(Regress::HostsAhead(Epoch(7))),
        regress(Regress::LeaseGone(Epoch(3))),
        regress(Regress::NoLease),
    );
    let foreign = |flaw| Detail::ForeignIdentity { common_name: "system:node:m-1".into(), flaw };
    let left = |count, first: &[&str], refused: Option<(&str, &str)>| Detail::PodsLeft {
        count,
        first: first.iter().map(|name| shop(name)).collect(),
        refused: refused.map(|(name, words)| (shop(name), words.into())),
    };
    vec![
        (ahead, host, "hosts have seen an operator of epoch 7"),
        (gone, lease, "the Lease of epoch 3 is gone"),
        (none, empty, "machines are recorded, but no Lease"),
        (
            Reason::IdentityMismatch,
            Detail::Stranger(Stranger::OtherHost { found: HostId(10), recorded: HostId(1 << 124) }),
            "machine-id 0000000000000000000000000000000a, recorded is 10000000000000000000000000000000",
        ),
        (
            Reason::DuplicateHost,
            Detail::Stranger(Stranger::OfCluster { cluster: "east".into(), machine: CLUSTER_UID }),
            "Machine 0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0 of cluster east",
        ),
        (Reason::DuplicateHost, Detail::Stranger(Stranger::OfMachine("m-2".into())), "Machine m-2"),
        (
            Reason::DuplicateHost,
            Detail::Stranger(Stranger::OfGone(CLUSTER_UID)),
            "a Machine with uid 0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0, which does not exist any more",
        ),
        (
            Reason::ForeignIdentity,
            foreign(IdentityFlaw::Authority),
            "system:node:m-1, from another authority",
        ),
        (
            Reason::ForeignIdentity,
            foreign(IdentityFlaw::NoNode),
            "system:node:m-1, which is no Node of this cluster",
        ),
        (Reason::Draining, left(2, &["web-0", "web-1"], None), "2 pods left: shop/web-0, shop/web-1"),
        (Reason::DrainOverdue, left(0, &[], None), "0 pods left"),
        (
            Reason::DrainOverdue,
            left(4, &["a", "b", "c"], Some(("b", "budget b: needs 2; has 2"))),
            "4 pods left: shop/a, shop/b, shop/c; shop/b: budget b: needs 2; has 2",
        ),
        (
            Reason::Cause(CauseKind::DisruptionBudget),
            Detail::PodRefused(shop("web-0"), "budget web needs 2".into()),
            "pod shop/web-0: budget web needs 2",
        ),
        (
            Reason::DrainForbidden,
            Detail::PodLost(shop("bare"), PodLoss::Pod),
            "pod shop/bare has no controller that makes another one",
        ),
        (
            Reason::DrainForbidden,
            Detail::PodLost(shop("cache"), PodLoss::LocalStorage),
            "pod shop/cache has an emptyDir volume",
        ),
    ]
}

fn of_versions() -> Vec<(VersionReason, VersionDetail, &'static str)> {
    let fault =
        |field: &str, message: &str| SpecError { field: field.to_owned(), message: message.to_owned() };
    let faults = [fault("spec.artefacts[0].url", "must be a URL"), fault("spec.probe", "one: of them")];
    let name = [fault("metadata.name", "must be the component, a hyphen, and the version")];
    vec![
        (
            VersionReason::InvalidSpec,
            VersionDetail::Faults(faults.into()),
            "spec.artefacts[0].url: must be a URL; spec.probe: one: of them",
        ),
        (
            VersionReason::InvalidSpec,
            VersionDetail::Faults(name.into()),
            "metadata.name: must be the component, a hyphen, and the version",
        ),
        (
            VersionReason::Machines,
            VersionDetail::Leaving { users: 12, machine: Some("m-1".into()) },
            "its deletion waits for that; users when last counted: 12, one of them Machine m-1",
        ),
        (
            VersionReason::Default,
            VersionDetail::Leaving { users: 1, machine: None },
            "its deletion waits for that; users when last counted: 1",
        ),
        (
            VersionReason::Default,
            VersionDetail::Other("another build's words".into()),
            "another build's words",
        ),
    ]
}

#[test]
fn the_details_of_a_version_have_their_words_and_are_read_back() {
    for (reason, detail, expected) in of_versions() {
        assert_eq!(of_version(reason, detail.clone()), (expected.to_owned(), Some(detail)));
        for other in [format!("? {expected}"), format!("{expected} ~ ")] {
            let words = VersionDetail::Other(other.as_str().into());
            let (written, read) = of_version(reason, words);
            assert_eq!(written, other, "it stays as it is");
            assert!(read.is_some());
        }
    }
}

/// A colon alone makes no fault of a text.
#[test]
fn only_what_names_a_field_is_a_fault() {
    for other in ["~ : ", "note: must be a URL", "specs: is missing", "spec.probe: is missing; ~ : "] {
        let words = VersionDetail::Other(other.into());
        assert_eq!(of_version(VersionReason::InvalidSpec, words.clone()), (other.to_owned(), Some(words)));
    }
}

/// Faults may be many, and their text is cut: it is then read as something, and never as none.
#[test]
fn a_spec_with_many_faults_is_told_in_part() {
    let fault = |index: usize| SpecError {
        field: format!("spec.files[{index}].path"),
        message: "must be a relative path".to_owned(),
    };
    let faults = (0..100).map(fault).collect();
    let (words, read) = of_version(VersionReason::InvalidSpec, VersionDetail::Faults(faults));
    assert!(words.len() <= 2048 && words.starts_with("spec.files[0].path: must be"), "{words}");
    assert!(read.is_some());
}

#[test]
fn every_detail_has_its_words_and_is_read_back() {
    for (reason, detail, expected) in [plain(), orders(), hosts()].concat() {
        assert_eq!(words(reason, detail.clone()), expected);
        assert_eq!(read(&written(reason, Some(detail.clone()))), Some(detail), "{expected}");
    }
    for (reason, detail, expected) in of_fleets() {
        assert_eq!(fleet_words(reason, detail.clone()), expected);
        assert_eq!(fleet_read(&fleet_written(reason, Some(detail.clone()))), Some(detail), "{expected}");
    }
}

/// The table above has every variant.
#[test]
fn no_detail_is_missing_here() {
    use std::collections::BTreeSet;
    let name = |debug: String| debug.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
    let known: BTreeSet<_> = [plain(), orders(), hosts()]
        .concat()
        .iter()
        .map(|(_, detail, _)| name(format!("{detail:?}")))
        .collect();
    assert_eq!(known.len(), 23, "{known:?}");
    let known: BTreeSet<_> = of_fleets().iter().map(|(_, detail, _)| name(format!("{detail:?}"))).collect();
    assert_eq!(known.len(), 15, "{known:?}");
}

/// What a build says in other words equals nothing that this one has to say, so it is worded anew once.
#[test]
fn other_words_are_nothing_of_ours() {
    for (reason, detail, expected) in [plain(), orders(), hosts()].concat() {
        for other in [format!("? {expected}"), format!("{expected} ~ ")] {
            let status = written(reason, Some(Detail::Reported(other.as_str().into())));
            assert_ne!(read(&status), Some(detail.clone()), "{other}");
        }
    }
    for (reason, detail, expected) in of_fleets() {
        for other in [format!("? {expected}"), format!("{expected} ~ ")] {
            let status = fleet_written(reason, Some(FleetDetail::Other(other.as_str().into())));
            assert_ne!(fleet_read(&status), Some(detail.clone()), "{other}");
        }
    }
}

fn name() -> impl Strategy<Value = Arc<str>> {
    "[a-z][a-z0-9-]{0,8}".prop_map(Arc::from)
}

fn version() -> impl Strategy<Value = Arc<str>> {
    "[a-z][a-z0-9-]{0,8}-[0-9]{1,3}\\.[0-9]\\.[0-9](-rc\\.1|\\+k3s1)?".prop_map(Arc::from)
}

fn version_number() -> impl Strategy<Value = VersionNumber> {
    any::<(u16, u16, u16)>().prop_map(|(major, minor, patch)| VersionNumber { major, minor, patch })
}

fn any_skew() -> impl Strategy<Value = Skew> {
    let found = prop_oneof![
        (name(), version()).prop_map(|(component, version)| Found::Version { component, version }),
        version_number().prop_map(Found::ApiServer),
        Just(Found::UnknownApiServer),
    ];
    (version(), option::of(version_number()), option::of(version_number()), found)
        .prop_map(|(version, at_least, below, found)| Skew { version, at_least, below, found })
}

fn any_regress() -> impl Strategy<Value = Regress> {
    prop_oneof![
        any::<u32>().prop_map(|epoch| Regress::HostsAhead(Epoch(epoch))),
        any::<u32>().prop_map(|epoch| Regress::AdoptionRefused(Epoch(epoch))),
        any::<u32>().prop_map(|epoch| Regress::LeaseGone(Epoch(epoch))),
        Just(Regress::NoLease),
    ]
}

/// What decides whether a status is written.
fn compared() -> impl Strategy<Value = (Reason, Detail)> {
    let state = (0..DependencyState::ALL.len()).prop_map(|index| DependencyState::ALL[index]);
    let dependency = (name(), name(), state)
        .prop_map(|(component, other, state)| Detail::Dependency(Dependency { component, other, state }));
    let fixed = [Detail::SessionLost, Detail::NoAnswer, Detail::NodeChanged, Detail::PodsNotListed];
    let compared = [
        Reason::StoreRegressed,
        Reason::HostAhead,
        Reason::Dependency,
        Reason::VersionSkew,
        Reason::ApiServerUnknown,
    ];
    prop_oneof![
        dependency.prop_map(|detail| (Reason::Dependency, detail)),
        any_skew().prop_map(|skew| (Reason::VersionSkew, Detail::Skew(skew))),
        any_skew().prop_map(|skew| (Reason::ApiServerUnknown, Detail::Skew(skew))),
        any_regress().prop_map(|regress| (Reason::StoreRegressed, Detail::Regress(regress))),
        any::<u32>().prop_map(|seen| (Reason::HostAhead, Detail::HostAhead(Epoch(seen)))),
        (0..5_usize, 0..4_usize).prop_map(move |(reason, detail)| (compared[reason], fixed[detail].clone())),
        (0..5_usize, "~ \\PC{0,40}")
            .prop_map(move |(reason, words)| (compared[reason], Detail::Reported(words.into()))),
    ]
}

fn fleet_compared() -> impl Strategy<Value = (FleetReason, FleetDetail)> {
    let waits = (name(), name()).prop_map(|(component, first)| Wait { component, first });
    let waits = collection::vec(waits, 1..6).prop_map(|waits| FleetDetail::Waits(waits.into()));
    prop_oneof![
        waits.prop_map(|detail| (FleetReason::RollingOut, detail)),
        any_skew().prop_map(|skew| (FleetReason::VersionSkew, FleetDetail::Skew(skew))),
        any_regress().prop_map(|regress| (FleetReason::StoreRegressed, FleetDetail::Regress(regress))),
    ]
}

proptest! {
    #[test]
    fn what_is_compared_comes_back((reason, detail) in compared()) {
        prop_assert_eq!(read(&written(reason, Some(detail.clone()))), Some(detail));
    }

    #[test]
    fn what_is_compared_of_a_fleet_comes_back((reason, detail) in fleet_compared()) {
        prop_assert_eq!(fleet_read(&fleet_written(reason, Some(detail.clone()))), Some(detail));
    }

    /// Whatever stands there, ours or not, under whichever reason: it is written again as it stands.
    #[test]
    fn words_stay_as_they_are(
        cut in 0..60_usize,
        put in "\\PC{0,3}",
        random in option::weighted(0.3, "\\PC{1,40}"),
    ) {
        let ours = [plain(), orders(), hosts()].concat().into_iter().map(|(reason, _, words)| (reason, words));
        for (own, words) in ours {
            let cut = (0..=cut.min(words.len())).rev().find(|&cut| words.is_char_boundary(cut)).unwrap_or(0);
            let words = random.clone().unwrap_or_else(|| format!("{}{put}{}", &words[..cut], &words[cut..]));
            for reason in [own, Reason::StoreRegressed, Reason::Draining, Reason::DuplicateHost] {
                let status = written(reason, Some(Detail::Reported(words.as_str().into())));
                prop_assert_eq!(written(reason, read(&status)), status);
            }
        }
        for (reason, _, words) in of_fleets() {
            let words = random.clone().unwrap_or_else(|| format!("{put}{words}"));
            let status = fleet_written(reason, Some(FleetDetail::Other(words.as_str().into())));
            // A condition that follows from this one knows only details that were read.
            let again = fleet_written(reason, fleet_read(&status));
            prop_assert_eq!(&again.conditions[0], &status.conditions[0]);
        }
    }
}
