//! The count of restarts of a service: as long as nothing starts it by an order, it only grows.

use super::reload::{host_with, install_as, reload};
use super::*;

fn counted(host: &Host) -> Option<u8> {
    host.installed_of(WEBD).map(|installed| installed.restarts)
}

/// A host whose service was started again twice.
fn restarted() -> Host {
    let mut host = host_with(None);
    assert_eq!(counted(&host), Some(0));
    assert!(host.restart_service(WEBD) && host.restart_service(WEBD));
    host
}

#[test]
fn an_operation_that_starts_the_service_begins_a_new_count_and_a_reload_does_not() {
    let setting = setting(&[]);
    for (order, expected) in [(install_as(2, 2, None, 1), 0), (reload(2, 2), 2)] {
        let mut host = restarted();
        assert_eq!(counted(&host), Some(2));
        host.receive(&order, 0, &setting);
        assert!(!host.restart_service(WEBD), "something is at work");
        steps_of(&mut host, &setting);
        assert_eq!((version_of(&host), counted(&host)), (Some((2, Drift::NONE)), Some(expected)));
    }
}

#[test]
fn a_boot_and_a_rollback_begin_a_new_count() {
    let mut host = restarted();
    host.power_off();
    host.power_on();
    assert_eq!(counted(&host), Some(0));

    let failures = [None, None, Some((CauseKind::ProbeFailed, Share::ALL))];
    let setting = setting(&failures);
    let mut host = restarted();
    host.receive(&install_as(2, 2, None, 1), 0, &setting);
    steps_of(&mut host, &setting);
    assert_eq!((version_of(&host), counted(&host)), (Some((1, Drift::NONE)), Some(0)));
}

#[test]
fn a_service_that_does_not_run_is_not_started_again() {
    let mut host = restarted();
    assert!(host.spoil(0, Drift::NOT_RUNNING));
    assert!(!host.restart_service(WEBD));
    assert_eq!(counted(&host), Some(2));
}
