//! Tests of true and false reasons.

use seaworthy_model::cause::CauseKind;
use seaworthy_model::time::Timestamp;

use super::super::convergence::strays;
use super::*;
use crate::options::Options;
use crate::run::beginning::begin;
use crate::run::course::conclude;
use crate::scenario::Scenario;

const LEFT: &str = include_str!("../../../../../../scenarios/fast/left_undone.yaml");

/// The end of a run without a crash of the operator, which has therefore seen the cause of its reasons itself.
fn ended() -> World {
    let mut scenario = Scenario::read("left_undone.yaml", LEFT).unwrap();
    scenario.faults.retain(|rule| rule.fault.name() == "host_down");
    let mut world = begin(Arc::new(scenario), Options::default());
    assert!(conclude(&mut world, &mut |_| {}).is_good());
    world
}

/// Whether the true state confirms a reason for a machine that has not converged.
fn confirms(world: &World, said: Blocker, host: u32) -> bool {
    let strays = strays(world, false);
    let stray = strays.iter().find(|stray| stray.host == Some(host)).unwrap();
    Truth::of(world, world.mind().unwrap().2).confirms(said, stray)
}

#[test]
fn whatever_is_left_undone_is_explained() {
    let world = ended();
    let strays = strays(&world, false);
    assert!(strays.len() > 20, "{}", strays.len());
    assert_eq!(unexplained(&world, &strays), Vec::<String>::new());
}

#[test]
fn reasons_are_held_against_the_truth() {
    let world = ended();
    let until = Timestamp::ZERO;
    let failed = (0..30).find(|host| {
        world.hosts[*host as usize].journal().iter().any(|(_, ended)| matches!(ended, Ended::Failed(_)))
    });
    let (lost, paused, failed) = (1, 3, failed.unwrap());
    let version = world.mind().unwrap().2.clone().version_object("webd-1.1.0");
    let release = Blocker::ReleaseFailed { version, cause: CauseKind::ProbeFailed };
    for (said, true_of) in
        [(Blocker::Unreachable { until }, lost), (Blocker::Paused, paused), (release, failed)]
    {
        for host in [lost, paused, failed] {
            assert_eq!(confirms(&world, said, host), host == true_of, "{said:?} of host {host}");
        }
    }
    let spent = |limit| Blocker::MaxUnavailable { occupied: 0, limit };
    assert!(confirms(&world, spent(2), paused) && !confirms(&world, spent(20), paused));
    let at_risk = |limit| Blocker::MaxFailures { at_work: limit, limit };
    assert!(confirms(&world, at_risk(2), paused) && !confirms(&world, at_risk(20), paused));
    let many = |limit| Blocker::TooManyFailures { failed: 0, limit };
    assert!(confirms(&world, many(2), paused) && !confirms(&world, many(20), paused));
    for said in [
        Blocker::InFlight,
        Blocker::AwaitingOwnWrite,
        Blocker::Superseding,
        Blocker::SessionLimit,
        Blocker::InvalidSpec,
        Blocker::UnknownVersion(version),
        Blocker::NoArtefact(version),
        Blocker::MissingParameter(version),
        Blocker::DuplicateHost,
        Blocker::IdentityMismatch,
        Blocker::StoreRegressed { seen: Epoch(9) },
        Blocker::HostAhead { seen: Epoch(9) },
    ] {
        assert!(!confirms(&world, said, paused), "{said:?}");
    }
}

/// A host that is back is no true reason, even if the operator has not noticed it.
#[test]
fn a_reason_that_has_passed_is_none() {
    let mut world = ended();
    assert!(world.hosts[1].power_on());
    let doubts = unexplained(&world, &strays(&world, false));
    assert!(doubts.iter().any(|doubt| doubt.starts_with("m-00001 ")), "{doubts:?}");
}
