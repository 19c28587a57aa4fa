//! An artefact that is fetched before an operation needs it.

use super::*;

/// Orders a host to fetch a version; gives which fetch of the host that is.
fn fetch(host: &mut Host, sequence: u64, version: u32, setting: &Setting<'_>) -> u32 {
    let command = Command::Fetch(VersionNumber(version));
    let Answer::Fetching { number, .. } = host.receive(&order(OURS, 1, sequence, command), 9, setting) else {
        panic!("it does not fetch")
    };
    number
}

#[test]
fn what_was_fetched_needs_no_server_any_more() {
    let setting = setting(&[]);
    let without = Setting { downloads: false, ..setting };
    for is_fetched in [true, false] {
        let mut host = with_release(1);
        if is_fetched {
            let number = fetch(&mut host, 2, 2, &setting);
            assert_eq!(host.end_fetch(number, &setting), Some(Fetched { session: 9, failed: None }));
            assert_eq!(host.end_fetch(number, &setting), None, "once");
        }
        assert!(matches!(host.receive(&install(1, 3, 2), 0, &without), Answer::Begun(_)));
        let (_, ended) = steps_of(&mut host, &without);
        let expected = if is_fetched { Ended::Succeeded } else { Ended::Failed(CauseKind::DownloadFailed) };
        assert_eq!(ended, expected);
    }
}

#[test]
fn an_artefact_that_is_not_to_be_had_changes_nothing() {
    let failures = [
        None,
        None,
        Some((CauseKind::DigestMismatch, Share::ALL)),
        Some((CauseKind::ProbeFailed, Share::ALL)),
    ];
    let normal = setting(&failures);
    let table = [
        (2, normal, Some(CauseKind::DigestMismatch)),
        (1, Setting { downloads: false, ..normal }, Some(CauseKind::DownloadFailed)),
        (1, Setting { has_room: false, ..normal }, Some(CauseKind::NoSpace)),
        // It does not run, which nobody finds out by fetching it.
        (3, normal, None),
    ];
    for (version, setting, failed) in table {
        let mut host = with_release(1);
        let before = (host.installed().to_vec(), host.latest(), host.owner());
        let number = fetch(&mut host, 2, version, &setting);
        assert_eq!(host.end_fetch(number, &setting), Some(Fetched { session: 9, failed }));
        assert_eq!((host.installed().to_vec(), host.latest(), host.owner()), before);
    }
}

#[test]
fn nothing_is_fetched_twice_at_once_nor_beside_an_operation_nor_for_others() {
    let setting = setting(&[]);
    let command = Command::Fetch(VersionNumber(2));
    let mut nobodys = host();
    let refused = Answer::Refused(CauseKind::FenceRefused);
    assert_eq!(nobodys.receive(&order(OURS, 1, 1, command), 0, &setting), refused, "nobody's");
    let mut host = with_release(1);
    let anothers = Answer::Refused(CauseKind::OwnedByAnother);
    assert_eq!(host.receive(&order(Uid(2), 9, 9, command), 0, &setting), anothers);
    fetch(&mut host, 2, 2, &setting);
    let busy = Answer::Later(CauseKind::HostBusy);
    assert_eq!(host.receive(&order(OURS, 1, 3, command), 0, &setting), busy);
    assert!(matches!(host.receive(&install(1, 4, 2), 0, &setting), Answer::Begun(_)));
    assert_eq!(host.receive(&order(OURS, 1, 5, command), 0, &setting), busy);
}

#[test]
fn a_host_that_goes_down_forgets_what_it_fetches() {
    let setting = setting(&[]);
    let mut host = with_release(1);
    let first = fetch(&mut host, 2, 2, &setting);
    assert_eq!(host.take_sessions(), [9]);
    assert!(host.power_off() && host.power_on());
    let second = fetch(&mut host, 3, 2, &setting);
    assert_eq!(host.end_fetch(first, &setting), None, "its end is void");
    assert_eq!(host.end_fetch(second, &setting), Some(Fetched { session: 9, failed: None }));
}
