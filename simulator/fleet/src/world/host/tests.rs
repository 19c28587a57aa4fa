//! The host's rules: steps, power loss at each of them, fences, owners.

use seaworthy_kernel::{Draws, Seed, Share};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Architecture, Rollback};
use seaworthy_model::host::{Drift, HostFence, OperationId};
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::machine::HostId;

use super::*;

use crate::vocabulary::{Pace, Step};

mod fetching;
mod found;
mod reload;
mod restarts;

const DRAWS: Draws = Draws::new(Seed(3));
const WEBD: ComponentNumber = ComponentNumber(0);
const OURS: Uid = Uid(1);

fn host() -> Host {
    Host::new(HostId(7), Architecture::Amd64)
}

fn setting(failures: &[Option<(CauseKind, Share)>]) -> Setting<'_> {
    const PACE: Pace = Pace {
        download: seaworthy_kernel::Span::millis(5, 5),
        stage: seaworthy_kernel::Span::millis(5, 5),
        restart: seaworthy_kernel::Span::millis(5, 5),
    };
    Setting { draws: &DRAWS, number: 0, pace: &PACE, failures, has_room: true, downloads: true }
}

fn release(version: u32) -> ReleaseNumber {
    ReleaseNumber(version)
}

fn install(epoch: u32, sequence: u64, version: u32) -> Order {
    let change = Change::Install(Install {
        version: VersionNumber(version),
        release: release(version),
        rollback: Rollback::Safe,
        has_preflight: false,
        has_removal: false,
        reboots: false,
        service: None,
        less_than_restart: None,
        confirm: 0,
        probe: 3,
        probe_deadline: 60,
    });
    apply(epoch, sequence, change)
}

/// A release that is tested before it is swapped in, and that leaves more behind than itself.
fn install_careful(epoch: u32, sequence: u64, version: u32) -> Order {
    let Command::Apply(work) = install(epoch, sequence, version).command else { unreachable!() };
    let Change::Install(install) = work.change else { unreachable!() };
    apply(epoch, sequence, Change::Install(Install { has_preflight: true, has_removal: true, ..install }))
}

/// The steps of the operation under way, from the next one on.
fn steps_of(host: &mut Host, setting: &Setting<'_>) -> (Vec<Step>, Ended) {
    let mut steps = Vec::new();
    loop {
        let run = host.running().unwrap().run;
        match host.advance(run, setting).unwrap() {
            Progress::Next(step, _) => steps.push(step),
            Progress::Ended { ended, .. } => return (steps, ended),
        }
    }
}

#[test]
fn a_preflight_comes_before_the_swap_and_touches_nothing() {
    let failures = [None, None, Some((CauseKind::PreflightFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = host();
    host.receive(&install_careful(1, 1, 1), 0, &setting);
    let (steps, ended) = steps_of(&mut host, &setting);
    let at = steps.iter().position(|step| *step == Step::Preflight).unwrap();
    assert_eq!((steps[at - 1], steps[at + 1], ended), (Step::Render, Step::Swap, Ended::Succeeded));
    host.receive(&install_careful(1, 2, 2), 0, &setting);
    let (steps, ended) = steps_of(&mut host, &setting);
    assert!(!steps.contains(&Step::Swap));
    assert_eq!(ended, Ended::Failed(CauseKind::PreflightFailed));
    assert_eq!(version_of(&host), Some((1, Drift::NONE)));
}

#[test]
fn a_removal_that_fails_leaves_what_it_could_not_take_away() {
    let failures = [None, Some((CauseKind::RemovalFailed, Share::ALL))];
    let (fine, sticky) = (setting(&[]), setting(&failures));
    for (setting, expected) in [(&fine, Ended::Succeeded), (&sticky, Ended::Failed(CauseKind::RemovalFailed))]
    {
        let mut host = host();
        host.receive(&install_careful(1, 1, 1), 0, setting);
        assert_eq!(go_on(&mut host, setting, None), Some(Ended::Succeeded));
        host.receive(&apply(1, 2, Change::Remove), 0, setting);
        let (steps, ended) = steps_of(&mut host, setting);
        assert!(steps.windows(2).any(|pair| pair == [Step::Stop, Step::Clean]));
        assert_eq!(ended, expected);
        let drift = Drift::NOT_RUNNING.with(Drift::LINKS);
        assert_eq!(version_of(&host), (ended != Ended::Succeeded).then_some((1, drift)));
    }
}

#[test]
fn power_lost_while_it_is_cleaned_up_ends_with_nothing_left() {
    let setting = setting(&[]);
    let mut host = host();
    host.receive(&install_careful(1, 1, 1), 0, &setting);
    go_on(&mut host, &setting, None);
    host.receive(&apply(1, 2, Change::Remove), 0, &setting);
    go_on(&mut host, &setting, Some(Step::Clean));
    host.power_off();
    host.power_on();
    assert!(matches!(host.recover(&setting), Some(Progress::Next(Step::Clean, _))));
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
    assert_eq!(version_of(&host), None);
}

/// A release for which the host is started anew.
fn install_anew(epoch: u32, sequence: u64, version: u32) -> Order {
    let Command::Apply(work) = install(epoch, sequence, version).command else { unreachable!() };
    let Change::Install(install) = work.change else { unreachable!() };
    apply(epoch, sequence, Change::Install(Install { reboots: true, ..install }))
}

/// The steps of the operation in flight, with a reboot of the host where they need it.
fn steps_with_reboots(host: &mut Host, setting: &Setting<'_>) -> (Vec<Step>, Ended) {
    let mut steps = Vec::new();
    loop {
        let run = host.running().unwrap().run;
        let mut progress = host.advance(run, setting).unwrap();
        if let Progress::Next(Step::Reboot, _) = progress {
            steps.push(Step::Reboot);
            assert!(host.power_off() && host.power_on());
            progress = host.recover(setting).unwrap();
        }
        match progress {
            Progress::Next(step, _) => steps.push(step),
            Progress::Ended { ended, .. } => return (steps, ended),
        }
    }
}

#[test]
fn a_host_is_started_anew_for_another_release_and_not_for_a_repair() {
    let setting = setting(&[]);
    let mut host = host();
    host.receive(&install_anew(1, 1, 1), 0, &setting);
    let (steps, ended) = steps_with_reboots(&mut host, &setting);
    assert!(steps.windows(3).any(|three| three == [Step::Swap, Step::Reboot, Step::Restart]), "{steps:?}");
    assert_eq!((ended, host.reboots()), (Ended::Succeeded, 1));
    assert!(host.spoil(0, Drift::FILES));
    host.receive(&install_anew(1, 2, 1), 0, &setting);
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
    assert_eq!((version_of(&host), host.reboots()), (Some((1, Drift::NONE)), 1));
    host.receive(&install(1, 3, 2), 0, &setting);
    let (_, ended) = steps_with_reboots(&mut host, &setting);
    assert_eq!((ended, host.reboots()), (Ended::Succeeded, 2), "what goes wants it too");
}

#[test]
fn the_way_back_starts_the_host_anew_as_well() {
    let failures = [None, None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = host();
    host.receive(&install(1, 1, 1), 0, &setting);
    go_on(&mut host, &setting, None);
    host.receive(&install_anew(1, 2, 2), 0, &setting);
    let (steps, ended) = steps_with_reboots(&mut host, &setting);
    assert!(steps.ends_with(&[Step::Restore, Step::Reboot, Step::Recover, Step::Commit]), "{steps:?}");
    assert_eq!((ended, host.reboots()), (Ended::Failed(CauseKind::ProbeFailed), 2));
    assert_eq!(version_of(&host), Some((1, Drift::NONE)));
}

/// A release that has to be confirmed.
fn install_guarded(epoch: u32, sequence: u64, version: u32) -> Order {
    let Command::Apply(work) = install(epoch, sequence, version).command else { unreachable!() };
    let Change::Install(install) = work.change else { unreachable!() };
    apply(epoch, sequence, Change::Install(Install { confirm: 60, ..install }))
}

fn confirm(sequence: u64, of: u64) -> Order {
    order(OURS, 1, sequence, Command::Confirm(OperationId { epoch: Epoch(1), sequence: of }))
}

#[test]
fn what_is_confirmed_stays_and_what_is_not_goes() {
    let setting = setting(&[]);
    for is_confirmed in [true, false] {
        let mut host = with_release(1);
        host.receive(&install_guarded(1, 2, 2), 0, &setting);
        go_on(&mut host, &setting, Some(Step::Probe));
        assert_eq!(
            host.receive(&confirm(3, 2), 0, &setting),
            Answer::Later(CauseKind::HostBusy),
            "too early"
        );
        go_on(&mut host, &setting, Some(Step::Confirm));
        assert!(host.latest().unwrap().waits);
        let run = host.running().unwrap().run;
        if is_confirmed {
            assert!(matches!(host.receive(&confirm(4, 2), 0, &setting), Answer::Confirmed(_)));
            assert_eq!(host.advance(run, &setting), None, "the end of its time is void");
        }
        let ended = if is_confirmed { Ended::Succeeded } else { Ended::Failed(CauseKind::NotConfirmed) };
        assert_eq!(go_on(&mut host, &setting, None), Some(ended));
        assert_eq!(version_of(&host), Some((if is_confirmed { 2 } else { 1 }, Drift::NONE)));
        let again = host.receive(&confirm(5, 2), 0, &setting);
        assert_eq!(matches!(again, Answer::Facts(_)), is_confirmed, "{again:?}");
    }
}

#[test]
fn a_power_loss_begins_the_time_anew() {
    let setting = setting(&[]);
    let mut host = with_release(1);
    host.receive(&install_guarded(1, 2, 2), 0, &setting);
    go_on(&mut host, &setting, Some(Step::Confirm));
    assert!(host.power_off() && host.power_on());
    host.recover(&setting);
    assert!(!host.latest().unwrap().waits, "it is brought up first");
    go_on(&mut host, &setting, Some(Step::Confirm));
    assert!(matches!(host.receive(&confirm(3, 2), 0, &setting), Answer::Confirmed(_)));
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
}

#[test]
fn a_host_is_shut_from_the_swap_until_it_is_taken_back() {
    let failures = [None, None, Some((CauseKind::NotConfirmed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = with_release(1);
    host.receive(&install_guarded(1, 2, 2), 0, &setting);
    go_on(&mut host, &setting, Some(Step::Swap));
    assert!(!host.is_shut());
    for step in [Step::Restart, Step::Probe, Step::Confirm, Step::Restore] {
        go_on(&mut host, &setting, Some(step));
        assert!(host.is_shut(), "{step:?}");
    }
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Failed(CauseKind::NotConfirmed)));
    assert!(!host.is_shut());
}

fn apply(epoch: u32, sequence: u64, change: Change) -> Order {
    let id = OperationId { epoch: Epoch(epoch), sequence };
    order(OURS, epoch, sequence, Command::Apply(Work { id, generation: 1, component: WEBD, change }))
}

fn order(machine: Uid, epoch: u32, sequence: u64, command: Command) -> Order {
    Order { fence: HostFence { machine, epoch: Epoch(epoch), sequence }, command }
}

/// Lets the operation under way go on until it ends, or until `stop` is the step that is being taken.
fn go_on(host: &mut Host, setting: &Setting<'_>, stop: Option<Step>) -> Option<Ended> {
    loop {
        let running = host.running().unwrap();
        if stop == Some(running.step) {
            return None;
        }
        match host.advance(running.run, setting).unwrap() {
            Progress::Next(..) => {}
            Progress::Ended { ended, .. } => return Some(ended),
        }
    }
}

fn with_release(version: u32) -> Host {
    let mut host = host();
    assert!(matches!(host.receive(&install(1, 1, version), 0, &setting(&[])), Answer::Begun(_)));
    assert_eq!(go_on(&mut host, &setting(&[]), None), Some(Ended::Succeeded));
    host
}

fn version_of(host: &Host) -> Option<(u32, Drift)> {
    host.installed_of(WEBD).map(|installed| (installed.version.0, installed.drift))
}

#[test]
fn an_installation_takes_every_step_in_order() {
    let mut host = host();
    let setting = setting(&[]);
    host.receive(&install(1, 1, 0), 9, &setting);
    let mut steps = vec![Step::Lock];
    let run = host.running().unwrap().run;
    let sessions = loop {
        match host.advance(run, &setting).unwrap() {
            Progress::Next(step, _) => steps.push(step),
            Progress::Ended { sessions, .. } => break sessions,
        }
    };
    assert_eq!(steps, Step::INSTALL);
    assert_eq!(sessions, [9]);
    assert_eq!(version_of(&host), Some((0, Drift::NONE)));
    assert_eq!(host.advance(run, &setting), None, "an event of a run that is over is void");
}

#[test]
fn power_lost_at_any_step_leaves_the_old_or_the_new_release_whole() {
    for stop in Step::INSTALL {
        let mut host = with_release(1);
        let setting = setting(&[]);
        host.receive(&install(1, 2, 2), 0, &setting);
        go_on(&mut host, &setting, Some(stop));
        let id = OperationId { epoch: Epoch(1), sequence: 2 };
        assert!(host.power_off());
        assert_eq!(
            host.advance(host.running().unwrap().run, &setting),
            None,
            "nothing goes on without power"
        );
        assert!(host.power_on());
        match host.recover(&setting).unwrap() {
            Progress::Ended { ended, .. } => {
                assert!(stop <= Step::Swap, "{stop:?}");
                assert_eq!(ended, Ended::Interrupted);
                assert_eq!(version_of(&host), Some((1, Drift::NONE)), "{stop:?}");
            }
            Progress::Next(..) => {
                assert!(stop > Step::Swap, "{stop:?}");
                assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
                assert_eq!(version_of(&host), Some((2, Drift::NONE)), "{stop:?}");
            }
        }
        assert!(host.ended(id).is_some(), "the journal knows of it");
    }
}

#[test]
fn a_failed_probe_restores_what_was_there() {
    let failures = [None, None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut old = with_release(1);
    old.receive(&install(1, 2, 2), 0, &setting);
    assert_eq!(go_on(&mut old, &setting, None), Some(Ended::Failed(CauseKind::ProbeFailed)));
    assert_eq!(version_of(&old), Some((1, Drift::NONE)));
    let mut empty = host();
    empty.receive(&install(1, 2, 2), 0, &setting);
    go_on(&mut empty, &setting, None);
    assert_eq!(version_of(&empty), None);
}

#[test]
fn what_cannot_go_back_stops() {
    let failures = [None, None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = with_release(1);
    let mut order = install(1, 2, 2);
    if let Command::Apply(Work { change: Change::Install(install), .. }) = &mut order.command {
        install.rollback = Rollback::Unsafe;
    }
    host.receive(&order, 0, &setting);
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Failed(CauseKind::RollbackFailed)));
    assert_eq!(version_of(&host), Some((2, Drift::NONE)), "it runs, as badly as it does");
    let mut empty = self::host();
    empty.receive(&order, 0, &setting);
    assert_eq!(go_on(&mut empty, &setting, None), Some(Ended::Failed(CauseKind::ProbeFailed)));
    assert_eq!(version_of(&empty), None, "with nothing to go back to it goes");
}

#[test]
fn a_wrong_digest_changes_nothing() {
    let failures = [None, None, Some((CauseKind::DigestMismatch, Share::ALL))];
    let setting = setting(&failures);
    let mut host = with_release(1);
    host.receive(&install(1, 2, 2), 0, &setting);
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Failed(CauseKind::DigestMismatch)));
    assert_eq!(version_of(&host), Some((1, Drift::NONE)));
}

#[test]
fn a_repeated_order_is_answered_and_not_done_again() {
    let setting = setting(&[]);
    let mut host = host();
    let order = install(1, 1, 0);
    assert!(matches!(host.receive(&order, 0, &setting), Answer::Begun(_)));
    assert_eq!(host.receive(&order, 1, &setting), Answer::Attached);
    go_on(&mut host, &setting, None);
    let runs = host.runs;
    assert!(matches!(host.receive(&order, 2, &setting), Answer::Facts(Some(_))));
    assert_eq!(host.runs, runs);
}

#[test]
fn what_is_intact_is_left_alone_and_what_drifted_is_made_anew() {
    let setting = setting(&[]);
    let mut host = with_release(1);
    host.receive(&install(1, 2, 1), 0, &setting);
    go_on(&mut host, &setting, Some(Step::Commit));
    assert_eq!(host.running().unwrap().step, Step::Commit);
    go_on(&mut host, &setting, None);
    assert!(host.spoil(0, Drift::FILES));
    assert_eq!(version_of(&host), Some((1, Drift::FILES)));
    host.receive(&install(1, 3, 1), 0, &setting);
    go_on(&mut host, &setting, Some(Step::Stage));
    go_on(&mut host, &setting, None);
    assert_eq!(version_of(&host), Some((1, Drift::NONE)));
}

#[test]
fn a_removal_removes_and_forgets_the_owner_only_when_told() {
    let setting = setting(&[]);
    let mut host = with_release(1);
    host.receive(&apply(1, 2, Change::Remove), 0, &setting);
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded));
    assert_eq!(host.installed(), []);
    assert_eq!(host.owner(), Some(OURS));
    assert!(matches!(host.receive(&order(OURS, 1, 3, Command::Disown), 0, &setting), Answer::Facts(_)));
    assert_eq!(host.owner(), None);
}

#[test]
fn a_removal_that_was_begun_is_finished_after_a_power_cut() {
    let setting = setting(&[]);
    for stop in [Step::Stop, Step::Delete, Step::Commit] {
        let mut host = with_release(1);
        host.receive(&apply(1, 2, Change::Remove), 0, &setting);
        go_on(&mut host, &setting, Some(stop));
        assert!(host.power_off() && host.power_on());
        assert!(matches!(host.recover(&setting), Some(Progress::Next(..))), "{stop:?}");
        assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Succeeded), "{stop:?}");
        assert_eq!(version_of(&host), None, "{stop:?}");
    }
}

#[test]
fn a_way_back_starts_nothing_that_did_not_run_and_repairs_no_file() {
    let failures = [None, None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = with_release(1);
    let found = Drift::FILES.with(Drift::NOT_RUNNING);
    assert!(host.spoil(0, found.with(Drift::LINKS)));
    host.receive(&install(1, 2, 2), 0, &setting);
    assert_eq!(go_on(&mut host, &setting, None), Some(Ended::Failed(CauseKind::ProbeFailed)));
    assert_eq!(version_of(&host), Some((1, found)));
}

#[test]
fn an_order_that_is_told_to_wait_moves_no_fence() {
    let setting = setting(&[]);
    let mut host = with_release(1);
    host.receive(&install(1, 2, 2), 0, &setting);
    assert_eq!(host.receive(&install(2, 1, 3), 0, &setting), Answer::Later(CauseKind::HostBusy));
    assert_eq!(host.epoch(), Epoch(1));
    let stranger = order(Uid(2), 9, 9, Command::Disown);
    assert_eq!(host.receive(&stranger, 0, &setting), Answer::Later(CauseKind::HostBusy));
    go_on(&mut host, &setting, None);
    let known_but_not_the_last = apply(1, 2, Change::Remove);
    host.receive(&order(OURS, 1, 3, Command::Facts), 0, &setting);
    let repeated =
        Order { fence: HostFence { sequence: 3, ..known_but_not_the_last.fence }, ..known_but_not_the_last };
    assert_eq!(host.receive(&repeated, 0, &setting), Answer::Refused(CauseKind::FenceRefused));
}

#[test]
fn only_the_owner_is_obeyed_and_everybody_is_answered() {
    let setting = setting(&[]);
    let mut host = with_release(1);
    let mut foreign = install(9, 9, 2);
    foreign.fence.machine = Uid(2);
    assert_eq!(host.receive(&foreign, 0, &setting), Answer::Refused(CauseKind::OwnedByAnother));
    assert!(matches!(host.receive(&order(Uid(2), 9, 9, Command::Facts), 0, &setting), Answer::Facts(_)));
    assert_eq!(host.epoch(), Epoch(1), "a question of a stranger moves nothing");
}

#[test]
fn what_is_older_is_refused() {
    let setting = setting(&[]);
    let refused = Answer::Refused(CauseKind::FenceRefused);
    let mut host = with_release(1);
    host.receive(&order(OURS, 3, 5, Command::Facts), 0, &setting);
    assert_eq!(host.epoch(), Epoch(3), "reading raises the fence");
    assert_eq!(host.receive(&install(2, 9, 2), 0, &setting), refused, "an older epoch");
    assert_eq!(host.receive(&install(3, 4, 2), 0, &setting), refused, "an older order of the same epoch");
    assert_eq!(host.receive(&install(3, 5, 2), 0, &setting), refused, "another order of the same number");
    let status = Command::Status(OperationId { epoch: Epoch(1), sequence: 1 });
    assert_eq!(host.receive(&order(OURS, 2, 10, status), 0, &setting), refused);
    assert!(matches!(host.receive(&order(OURS, 2, 10, Command::Facts), 0, &setting), Answer::Facts(_)));
    assert_eq!(host.epoch(), Epoch(3));
    assert!(matches!(host.receive(&order(OURS, 3, 6, status), 0, &setting), Answer::Facts(Some(_))));
    assert!(matches!(host.receive(&install(3, 7, 2), 0, &setting), Answer::Begun(_)));
    assert_eq!(host.receive(&install(3, 8, 2), 0, &setting), Answer::Later(CauseKind::HostBusy));
}

/// A lost operator has read it and never worked there: no other order could ever claim it.
#[test]
fn fences_are_reset_once_also_on_a_host_that_nobody_owns() {
    let setting = setting(&[]);
    let refused = Answer::Refused(CauseKind::FenceRefused);
    for mut host in [host(), with_release(1)] {
        let owner = host.owner();
        host.receive(&order(OURS, 9, 1, Command::Facts), 0, &setting);
        let reset = |sequence, epoch| order(OURS, 3, sequence, Command::ResetFences(Epoch(epoch)));
        assert_eq!(host.receive(&reset(1, 8), 0, &setting), refused, "another epoch");
        assert_eq!(host.receive(&reset(2, 9), 0, &setting), Answer::Facts(None));
        assert_eq!((host.epoch(), host.owner()), (Epoch(3), owner));
        assert_eq!(host.receive(&reset(3, 9), 0, &setting), refused, "once");
        assert!(matches!(host.receive(&install(3, 4, 2), 0, &setting), Answer::Begun(_)));
    }
}

#[test]
fn causes_of_an_outage_add_up() {
    let mut host = host();
    assert!(host.power_off());
    assert!(!host.power_off());
    assert!(!host.power_on());
    assert!(!host.is_on());
    assert!(host.power_on());
    assert!(host.cut());
    assert!(host.is_on() && !host.is_reachable());
    assert!(host.mend());
    assert!(host.is_reachable());
}
