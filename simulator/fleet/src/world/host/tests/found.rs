//! Hosts on which somebody else has installed what is ordered, or something else.

use super::*;

use crate::vocabulary::{FoundState, Step};

/// A host on which somebody else has installed version 1.
fn found(state: FoundState) -> Host {
    let mut host = host();
    host.place(Found { component: WEBD, version: VersionNumber(1), state });
    host
}

fn state_of(host: &Host) -> Option<FoundState> {
    host.found_of(WEBD).map(|found| found.state)
}

#[test]
fn what_is_the_same_is_taken_over_while_it_runs() {
    let setting = setting(&[]);
    for order in [install(1, 1, 1), install_careful(1, 1, 1), install_anew(1, 1, 1)] {
        let mut host = found(FoundState::Running);
        assert_eq!((host.installed(), host.owner()), (&[][..], None), "it tells nothing of it");
        host.receive(&order, 0, &setting);
        let (steps, ended) = steps_of(&mut host, &setting);
        assert_eq!(ended, Ended::Succeeded);
        assert!(!steps.contains(&Step::Restart) && !steps.contains(&Step::Reboot), "{steps:?}");
        assert_eq!((version_of(&host), state_of(&host)), (Some((1, Drift::NONE)), None));
    }
}

#[test]
fn what_does_not_run_is_started() {
    let setting = setting(&[]);
    for (order, reboots) in [(install(1, 1, 1), 0), (install_anew(1, 1, 1), 1)] {
        let mut host = found(FoundState::Stopped);
        host.receive(&order, 0, &setting);
        let (steps, ended) = steps_with_reboots(&mut host, &setting);
        assert_eq!((ended, host.reboots()), (Ended::Succeeded, reboots));
        assert!(steps.contains(&Step::Restart));
        assert_eq!((version_of(&host), state_of(&host)), (Some((1, Drift::NONE)), None));
    }
}

#[test]
fn what_is_not_the_same_is_in_the_way_and_left_alone() {
    let setting = setting(&[]);
    for (state, version) in [(FoundState::Altered, 1), (FoundState::Running, 2), (FoundState::Stopped, 2)] {
        let mut host = found(state);
        host.receive(&install(1, 1, version), 0, &setting);
        let (steps, ended) = steps_of(&mut host, &setting);
        assert_eq!(ended, Ended::Failed(CauseKind::OperationInvalid));
        assert!(!steps.contains(&Step::Swap));
        assert_eq!((version_of(&host), state_of(&host)), (None, Some(state)));
        host.receive(&apply(1, 2, Change::Remove), 0, &setting);
        assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
        assert_eq!(state_of(&host), Some(state), "a removal is of what is ours");
        host.clear();
        host.receive(&install(1, 3, version), 0, &setting);
        assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
    }
}

#[test]
fn what_turns_out_not_to_work_is_given_back() {
    let failures = [None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    for state in [FoundState::Running, FoundState::Stopped] {
        let mut host = found(state);
        host.receive(&install(1, 1, 1), 0, &setting);
        assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Failed(CauseKind::ProbeFailed)));
        assert_eq!((version_of(&host), state_of(&host)), (None, Some(state)));
    }
}

#[test]
fn power_lost_at_any_step_leaves_it_or_takes_it_over() {
    let setting = setting(&[]);
    for stop in [Step::Lock, Step::Download, Step::Render, Step::Swap, Step::Probe, Step::Commit] {
        let mut host = found(FoundState::Running);
        host.receive(&install(1, 1, 1), 0, &setting);
        go_on(&mut host, &setting, Some(stop));
        let is_ours = host.running().unwrap().is_past_the_swap();
        assert!(host.power_off() && host.power_on());
        host.recover(&setting);
        if is_ours {
            assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded), "{stop:?}");
            assert_eq!((version_of(&host), state_of(&host)), (Some((1, Drift::NONE)), None), "{stop:?}");
        } else {
            let left = (version_of(&host), state_of(&host));
            assert_eq!(left, (None, Some(FoundState::Running)), "{stop:?}");
        }
    }
}
