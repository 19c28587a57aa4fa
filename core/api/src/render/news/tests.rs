use std::sync::Arc;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::ReleaseId;
use seaworthy_model::detail::{Detail, FleetDetail};
use seaworthy_model::digest::Digest;
use seaworthy_model::machine::{ComponentStatus, FailedRelease};
use seaworthy_model::package_version::Progress;
use seaworthy_model::strategy::{Course, Strategy};

use super::*;

const AT: Timestamp = Timestamp::from_millis(1_795_162_200_000);

fn status(conditions: &[(ConditionKind, Truth, Reason)]) -> MachineStatus {
    let condition = |(kind, truth, reason): &(ConditionKind, Truth, Reason)| Condition {
        kind: *kind,
        truth: *truth,
        reason: *reason,
        detail: None,
        since: AT,
        observed_generation: 1,
    };
    MachineStatus { conditions: conditions.iter().map(condition).collect(), ..MachineStatus::default() }
}

fn in_sync(truth: Truth, reason: Reason) -> MachineStatus {
    status(&[
        (ConditionKind::Reachable, Truth::True, Reason::Connected),
        (ConditionKind::InSync, truth, reason),
    ])
}

fn well() -> MachineStatus {
    in_sync(Truth::True, Reason::AsDesired)
}

/// What is told, in short: a warning has an exclamation mark.
fn told(before: &MachineStatus, after: &MachineStatus) -> Vec<String> {
    short(&machine_news(before, after, &Names::new()).unwrap())
}

fn short(news: &[News]) -> Vec<String> {
    let short = |news: &News| format!("{}{}", news.reason, if news.is_warning { "!" } else { "" });
    news.iter().map(short).collect()
}

#[test]
fn plain_success_and_what_is_on_its_way_is_not_told() {
    assert!(told(&MachineStatus::default(), &well()).is_empty());
    assert!(told(&well(), &well()).is_empty());
    for passing in [Reason::AwaitingCertificate, Reason::Draining, Reason::Dependency] {
        assert!(told(&well(), &in_sync(Truth::False, passing)).is_empty(), "{passing:?}");
        assert!(told(&in_sync(Truth::False, passing), &well()).is_empty(), "{passing:?}");
    }
}

#[test]
fn drift_is_told_and_so_is_its_repair() {
    let drifted = in_sync(Truth::False, Reason::Drifted);
    assert_eq!(told(&well(), &drifted), ["Drifted!"]);
    assert_eq!(told(&drifted, &well()), ["Repaired"]);
}

#[test]
fn a_lost_host_is_told_and_that_it_is_back() {
    let lost = Reason::Cause(CauseKind::ConnectionFailed);
    let lost = status(&[(ConditionKind::Reachable, Truth::False, lost)]);
    assert_eq!(told(&well(), &lost), ["ConnectionFailed!"]);
    assert!(told(&lost, &lost).is_empty());
    assert_eq!(told(&lost, &well()), ["Recovered"]);
    assert_eq!(told(&MachineStatus::default(), &lost), ["ConnectionFailed!"]);
}

#[test]
fn a_pause_and_its_end_are_told() {
    let paused = status(&[(ConditionKind::Paused, Truth::True, Reason::Paused)]);
    assert_eq!(told(&MachineStatus::default(), &paused), ["Paused"]);
    assert_eq!(told(&paused, &MachineStatus::default()), ["Resumed"]);
}

#[test]
fn a_failed_release_is_told_with_its_version_once() {
    let mut names = Names::new();
    let (component, version) = (names.component("webd"), names.version("webd", "1.1.0"));
    let release =
        FailedRelease { version, release: ReleaseId(Digest::of(b"webd")), cause: CauseKind::ProbeFailed };
    let mut failed = in_sync(Truth::False, Reason::Cause(CauseKind::ProbeFailed));
    failed.components =
        Arc::new([ComponentStatus { component, installed: None, failed: Some(release.into()), set: None }]);
    let news = machine_news(&well(), &failed, &names).unwrap();
    assert_eq!(short(&news), ["ProbeFailed!"]);
    assert!(
        news[0].note.starts_with("webd 1.1.0: the new release did not become healthy"),
        "{}",
        news[0].note
    );
    assert!(machine_news(&failed, &failed, &names).unwrap().is_empty());
    assert_eq!(short(&machine_news(&failed, &well(), &names).unwrap()), ["Recovered"]);
}

fn fleet(rollouts: Vec<Rollout>, reason: FleetReason) -> PackageVersionStatus {
    let condition = FleetCondition {
        kind: FleetConditionKind::Progressing,
        truth: Truth::True,
        reason,
        detail: (reason == FleetReason::TooManyFailures)
            .then_some(FleetDetail::Failures { failed: 3, limit: 3 }),
        since: AT,
        observed_generation: 1,
    };
    PackageVersionStatus { rollouts, conditions: vec![condition], ..PackageVersionStatus::default() }
}

#[test]
fn a_rollout_is_told_when_it_begins_stops_goes_on_and_ends() {
    let mut names = Names::new();
    let component = names.component("webd");
    let mut want = |version| Want::Present { version: names.version("webd", version), parameters: [].into() };
    let rollout = Rollout {
        component,
        generation: 2,
        from: Some(want("1.0.0")),
        to: want("1.1.0"),
        admitted_below: 0,
        granted: Some(Vec::new()),
        superseded: Vec::new(),
        course: None,
        cause: None,
        by: None,
        progress: Progress { total: 60, ..Progress::default() },
        started_at: AT,
        completed_at: None,
    };
    let told = |before: &_, after: &_| fleet_news(before, after, &names).unwrap();
    let before = fleet(Vec::new(), FleetReason::AllUpdated);
    let moving = fleet(vec![rollout.clone()], FleetReason::RollingOut);
    let news = told(&before, &moving);
    assert_eq!(short(&news), ["RolloutStarted"]);
    assert_eq!(news[0].note, "webd: from 1.0.0 to 1.1.0");
    let back = Rollout { generation: 3, from: Some(rollout.to.clone()), ..rollout.clone() };
    assert_eq!(told(&moving, &fleet(vec![back], FleetReason::RollingOut))[0].note, "webd: back to 1.1.0");
    let stopped = fleet(vec![rollout.clone()], FleetReason::TooManyFailures);
    let news = told(&moving, &stopped);
    assert_eq!(short(&news), ["TooManyFailures!"]);
    assert!(news[0].note.ends_with("3 failed, 3 may"), "{}", news[0].note);
    assert_eq!(short(&told(&stopped, &moving)), ["Resumed"]);
    assert_eq!(short(&told(&moving, &fleet(vec![rollout.clone()], FleetReason::Paused))), ["Paused"]);
    let in_doubt = fleet(vec![rollout.clone()], FleetReason::GateInconclusive);
    assert_eq!(short(&told(&moving, &in_doubt)), ["GateInconclusive"]);
    assert_eq!(short(&told(&in_doubt, &moving)), ["Resumed"]);
    let progress = Progress { total: 60, updated: 58, lost: 2, ..Progress::default() };
    let ended = Rollout { completed_at: Some(AT), progress, ..rollout.clone() };
    let news = told(&moving, &fleet(vec![ended.clone()], FleetReason::MachinesLeftOut));
    assert_eq!(short(&news), ["RolloutCompleted"]);
    assert_eq!(
        news[0].note,
        "webd 1.1.0: 58 of 60 machines have it; 2 left out for now: kubectl get machines shows them"
    );
    let everywhere = Progress { updated: 60, lost: 0, ..ended.progress.clone() };
    let whole = Rollout { progress: everywhere, ..ended.clone() };
    let news = told(&moving, &fleet(vec![whole], FleetReason::AllUpdated));
    assert_eq!(news[0].note, "webd 1.1.0: 60 of 60 machines have it");
    for (batch, catches_up, how) in [(3, false, "begins anew"), (3, true, "a batch of machines catches up")] {
        let course = Course { batch, catches_up, ..Course::new(Strategy::default()) };
        let progress = Progress { total: 60, updated: 58, ..Progress::default() };
        let anew = Rollout { course: Some(course.clone()), progress, ..rollout.clone() };
        let anew = fleet(vec![anew], FleetReason::RollingOut);
        let before = Rollout { course: Some(Course { batch: 2, ..course }), ..ended.clone() };
        let news = told(&fleet(vec![before], FleetReason::AllUpdated), &anew);
        assert_eq!(short(&news), ["RolloutReopened"]);
        assert_eq!(news[0].note, format!("webd 1.1.0: {how}, 58 of 60 machines have it"));
    }
    // A fleet without machines: nothing was rolled out.
    assert!(told(&before, &fleet(vec![ended.clone()], FleetReason::AllUpdated)).is_empty());
    let nobody = Rollout { progress: Progress::default(), ..ended };
    assert!(told(&moving, &fleet(vec![nobody], FleetReason::AllUpdated)).is_empty());
}

#[test]
fn the_same_has_the_same_name_for_ten_minutes_and_fits_the_limits() {
    let news = |note: &str| News::new(true, "ProbeFailed", note);
    let name = "n".repeat(253);
    let of =
        |note: &str, at| news_event(&news(note), (Kind::Machine, &name, Uid(7 << 64)), (at, "operator-0"));
    let first = of("a", AT);
    assert_eq!(first.metadata.name, of("b", Timestamp::from_millis(AT.millis() + 1000)).metadata.name);
    assert_ne!(first.metadata.name, of("a", Timestamp::from_millis(AT.millis() + ONCE_IN)).metadata.name);
    assert!(first.metadata.name.len() <= 253);
    let other = news("a").about("webd 1.1.0".to_owned());
    let other = news_event(&other, (Kind::Machine, &name, Uid(7 << 64)), (AT, "operator-0"));
    assert_ne!(first.metadata.name, other.metadata.name, "another component is other news");
    let long = of(&"é\n".repeat(1024), AT).note;
    assert!(long.len() <= NOTE_MAX && !long.contains('\n'));
}

/// The message of the condition is the note.
#[test]
fn a_note_says_what_the_condition_says() {
    let mut after = in_sync(Truth::False, Reason::NodeConflict);
    let detail = Some(Arc::new(Detail::ForeignLabel("pool".into())));
    let told = after.conditions.iter().map(|told| Condition { detail: detail.clone(), ..told.clone() });
    after.conditions = told.collect();
    let news = machine_news(&well(), &after, &Names::new()).unwrap();
    assert!(news[0].note.ends_with("take it off the Node: label pool"), "{}", news[0].note);
}

#[test]
fn a_spec_that_is_refused_is_told_once() {
    use seaworthy_model::component::{VersionCondition, VersionReason};
    let version = |truth, reason| {
        let kind = VersionConditionKind::Accepted;
        let condition =
            VersionCondition { kind, truth, reason, detail: None, since: AT, observed_generation: 1 };
        VersionStatus { observed_generation: 1, conditions: vec![condition] }
    };
    let accepted = version(Truth::True, VersionReason::Accepted);
    let refused = version(Truth::False, VersionReason::InvalidSpec);
    assert_eq!(short(&version_news(&VersionStatus::default(), &refused)), ["InvalidSpec!"]);
    assert_eq!(short(&version_news(&accepted, &refused)), ["InvalidSpec!"]);
    assert!(version_news(&refused, &refused).is_empty());
    assert!(version_news(&VersionStatus::default(), &accepted).is_empty());
}
