//! Releases that ask for a reload: what runs goes on running, or nothing is changed.

use seaworthy_model::component::Disruption;

use super::*;

use crate::vocabulary::Step;

const SERVICE: u32 = 1;

/// A release of this class whose service is started from what has this number.
pub(super) fn install_as(sequence: u64, version: u32, class: Option<Disruption>, service: u32) -> Order {
    let Command::Apply(work) = install(1, sequence, version).command else { unreachable!() };
    let Change::Install(install) = work.change else { unreachable!() };
    let (service, less_than_restart) = (NonZeroU32::new(service).map(ServiceNumber), class);
    apply(1, sequence, Change::Install(Install { service, less_than_restart, ..install }))
}

pub(super) fn reload(sequence: u64, version: u32) -> Order {
    install_as(sequence, version, Some(Disruption::Reload), SERVICE)
}

/// A host with version 1 of this class.
pub(super) fn host_with(class: Option<Disruption>) -> Host {
    let (setting, mut host) = (setting(&[]), host());
    host.receive(&install_as(1, 1, class, SERVICE), 0, &setting);
    let (steps, ended) = steps_of(&mut host, &setting);
    assert_eq!(ended, Ended::Succeeded);
    assert!(steps.contains(&Step::Restart), "there is nothing to reload: {steps:?}");
    host
}

fn is_spared(steps: &[Step]) -> bool {
    !steps.iter().any(|step| matches!(step, Step::Restart | Step::Recover))
}

#[test]
fn a_service_that_runs_is_reloaded_whatever_went() {
    let setting = setting(&[]);
    for class in [None, Some(Disruption::None), Some(Disruption::Reload)] {
        let mut host = host_with(class);
        host.receive(&reload(2, 2), 0, &setting);
        let (steps, ended) = steps_of(&mut host, &setting);
        assert!(steps.windows(3).any(|three| three == [Step::Swap, Step::Reload, Step::Probe]), "{steps:?}");
        assert!(is_spared(&steps), "{steps:?}");
        assert_eq!((ended, version_of(&host)), (Ended::Succeeded, Some((2, Drift::NONE))));
    }
}

#[test]
fn a_service_that_a_reload_does_not_change_is_restarted_only_if_what_goes_allows_that() {
    let setting = setting(&[]);
    for class in [None, Some(Disruption::None), Some(Disruption::Reload)] {
        let mut host = host_with(class);
        host.receive(&install_as(2, 2, Some(Disruption::Reload), SERVICE + 1), 0, &setting);
        let (steps, ended) = steps_of(&mut host, &setting);
        assert_eq!(is_spared(&steps), class.is_some(), "{steps:?}");
        let expected = if class.is_some() {
            (Ended::Failed(CauseKind::ReloadRefused), Some((1, Drift::NONE)))
        } else {
            (Ended::Succeeded, Some((2, Drift::NONE)))
        };
        assert_eq!((ended, version_of(&host)), expected, "{class:?} {steps:?}");
    }
}

#[test]
fn a_service_that_does_not_run_as_it_should_is_started() {
    let setting = setting(&[]);
    for drift in [Drift::NOT_RUNNING, Drift::WRONG_BINARY] {
        for service in [SERVICE, SERVICE + 1] {
            let mut host = host_with(Some(Disruption::Reload));
            assert!(host.spoil(0, drift));
            host.receive(&install_as(2, 2, Some(Disruption::Reload), service), 0, &setting);
            let (steps, ended) = steps_of(&mut host, &setting);
            assert!(steps.contains(&Step::Restart) && !steps.contains(&Step::Reload), "{steps:?}");
            assert_eq!((ended, version_of(&host)), (Ended::Succeeded, Some((2, Drift::NONE))));
        }
    }
}

#[test]
fn a_repair_restarts_the_service() {
    let setting = setting(&[]);
    let mut host = host_with(Some(Disruption::Reload));
    assert!(host.spoil(0, Drift::FILES));
    host.receive(&reload(2, 1), 0, &setting);
    let (steps, ended) = steps_of(&mut host, &setting);
    assert!(steps.contains(&Step::Restart), "{steps:?}");
    assert_eq!((ended, version_of(&host)), (Ended::Succeeded, Some((1, Drift::NONE))));
}

#[test]
fn the_way_back_is_a_reload_as_well() {
    let failures = [None, None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = host_with(Some(Disruption::Reload));
    host.receive(&reload(2, 2), 0, &setting);
    let (steps, ended) = steps_of(&mut host, &setting);
    assert!(steps.ends_with(&[Step::Probe, Step::Restore, Step::Reload, Step::Commit]), "{steps:?}");
    assert!(is_spared(&steps), "{steps:?}");
    assert_eq!(ended, Ended::Failed(CauseKind::ProbeFailed));
    assert_eq!(version_of(&host), Some((1, Drift::NONE)));
}

#[test]
fn a_power_loss_at_any_step_ends_with_one_of_the_two_releases() {
    let setting = setting(&[]);
    for step in [Step::Swap, Step::Reload, Step::Probe, Step::Commit] {
        let mut host = host_with(Some(Disruption::Reload));
        host.receive(&reload(2, 2), 0, &setting);
        go_on(&mut host, &setting, Some(step));
        assert!(host.power_off() && host.power_on());
        let progress = host.recover(&setting);
        if step == Step::Swap {
            assert!(matches!(progress, Some(Progress::Ended { ended: Ended::Interrupted, .. })));
            assert_eq!(version_of(&host), Some((1, Drift::NONE)));
        } else {
            assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded), "{step:?}");
            assert_eq!(version_of(&host), Some((2, Drift::NONE)), "{step:?}");
        }
    }
}
