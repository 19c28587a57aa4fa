//! Details of the conditions of what owns rollouts, with the reasons that they belong to and what they are to people.

use seaworthy_model::detail::{FleetDetail, Found, GateName, Regress, Skew, Wait};
use seaworthy_model::gate_check::{GateCheck, Silence};
use seaworthy_model::lease::Epoch;
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::requirement::VersionNumber;
use seaworthy_model::strategy::Evidence;
use seaworthy_model::time::Timestamp;

pub(crate) fn skew(at_least: &str, below: &str, found: Found) -> Skew {
    let bound = |text: &str| if text.is_empty() { None } else { VersionNumber::parse(text) };
    Skew { version: "kubelet-1.36.0".into(), at_least: bound(at_least), below: bound(below), found }
}

pub(crate) fn beside(version: &str) -> Found {
    Found::Version { component: "runc".into(), version: version.into() }
}

fn gate() -> GateName {
    GateName { component: "webd".into(), generation: 7, batch: 2 }
}

fn bake(is_last: bool) -> FleetDetail {
    FleetDetail::Bake { gate: gate(), until: Timestamp::from_millis(1_795_000_000_000), is_last }
}

pub(crate) fn of_fleets() -> Vec<(FleetReason, FleetDetail, &'static str)> {
    let wait = |component: &str, first: &str| Wait { component: component.into(), first: first.into() };
    vec![
        (
            FleetReason::StoreRegressed,
            FleetDetail::Regress(Regress::LeaseGone(Epoch(3))),
            "the Lease of epoch 3 is gone",
        ),
        (
            FleetReason::VersionSkew,
            FleetDetail::Skew(skew("1.2.0", "", beside("runc-1.1.0"))),
            "kubelet-1.36.0 requires runc at least 1.2.0, and runc-1.1.0 would be with it",
        ),
        (
            FleetReason::ConfirmationNeeded,
            FleetDetail::Reach { component: "webd".into(), machines: 900, limit: 100 },
            "webd reaches 900 machines, 100 need no confirmation",
        ),
        (
            FleetReason::TooManyLost,
            FleetDetail::Lost { lost: 4, failed: 1, limit: 5 },
            "4 were lost at work, 1 failed, 5 may fail",
        ),
        (
            FleetReason::TooManyUnavailable,
            FleetDetail::Unavailable { unavailable: 9, limit: 8 },
            "9 are unavailable, 8 may be",
        ),
        (FleetReason::MachinesLeftOut, FleetDetail::LeftOut { left: 12, failed: 0 }, "12 left"),
        (
            FleetReason::MachinesLeftOut,
            FleetDetail::LeftOut { left: 12, failed: 3 },
            "12 left, 3 of them failed",
        ),
        (
            FleetReason::RollingOut,
            FleetDetail::Waits([wait("kubelet", "runc"), wait("webd", "kubelet")].into()),
            "kubelet waits until runc was rolled out; webd waits until kubelet was rolled out",
        ),
        (
            FleetReason::RollingOut,
            FleetDetail::Other("another build's words".into()),
            "another build's words",
        ),
    ]
    .into_iter()
    .chain(of_gates())
    .chain(of_limits())
    .collect()
}

fn of_gates() -> [(FleetReason, FleetDetail, &'static str); 6] {
    [
        (
            FleetReason::Baking,
            bake(false),
            "webd/7/2 until 2026-11-18T11:06:40Z, before the next batch starts",
        ),
        (FleetReason::Baking, bake(true), "webd/7/2 until 2026-11-18T11:06:40Z, before it is complete"),
        (
            FleetReason::GateFailed,
            FleetDetail::Gate(
                gate(),
                Evidence {
                    changed: 101,
                    failed: 1,
                    unavailable: 5,
                    silent: 2,
                    untouched: 9_899,
                    untouched_unavailable: 12,
                    ..Evidence::default()
                },
            ),
            "webd/7/2: 101 changed, 1 failed, 5 went down, 2 silent; of 9899 others 12 went down",
        ),
        (
            FleetReason::GateFailed,
            FleetDetail::Gate(
                gate(),
                Evidence {
                    changed: 3,
                    untouched: 9,
                    series: 7,
                    probes: 2,
                    unstarted: 1,
                    ..Evidence::default()
                },
            ),
            "webd/7/2: 3 changed, 0 failed, 0 went down, 0 silent; of 9 others 0 went down; the query found 7 \
             series; of 2 probe pods 1 did not start",
        ),
        (
            FleetReason::GateInconclusive,
            FleetDetail::Unanswered(
                gate(),
                GateCheck::Query,
                Silence::Told("503: no endpoints: none".into()),
            ),
            "webd/7/2: the query was not answered: 503: no endpoints: none",
        ),
        (
            FleetReason::GateInconclusive,
            FleetDetail::Unanswered(gate(), GateCheck::ProbePods, Silence::NothingToProbe),
            "webd/7/2: the probe pods tell nothing: no changed machine has a Node that is ready",
        ),
    ]
}

fn of_limits() -> [(FleetReason, FleetDetail, &'static str); 5] {
    let overlap = |decides| FleetDetail::Overlap { component: "webd".into(), other: "gpu".into(), decides };
    [
        (FleetReason::Overlap, overlap(true), "it decides about webd on those that gpu selects, too"),
        (FleetReason::Overlap, overlap(false), "gpu decides about webd on those that both select"),
        (FleetReason::TooManyFailures, FleetDetail::Failures { failed: 3, limit: 2 }, "3 failed, 2 may"),
        (
            FleetReason::TooManyUndrained,
            FleetDetail::Undrained { machines: 9, limit: 8 },
            "9 cannot be drained, 8 are left out",
        ),
        (
            FleetReason::ArtefactUnavailable,
            FleetDetail::Unfetched {
                version: "webd-1.1.0".into(),
                failed: 4,
                asked: 5,
                why: "http://artefacts/webd: could not fetch it: 404".into(),
            },
            "webd-1.1.0: 4 of 5 machines could not fetch it: http://artefacts/webd: could not fetch it: 404",
        ),
    ]
}
