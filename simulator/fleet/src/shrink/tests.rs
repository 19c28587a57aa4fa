use seaworthy_kernel::Seed;

use super::*;
use crate::plan::{Document, Timed};
use crate::scenario::Length;
use crate::world::Injection;

const UPGRADE: &str = include_str!("../../../../scenarios/fast/upgrade.yaml");

/// What cannot hold: the scenario expects that no operation is needed. A plan with a hundred strikes that have nothing to
/// do with it becomes one with none, on one machine.
#[test]
fn what_has_nothing_to_do_with_the_failure_goes() {
    let mut document = Document::read("upgrade.yaml", UPGRADE).unwrap();
    document.relax();
    document.list_mut("eventually").push(serde_json::json!({"maxOperations": 0}));
    *document.list_mut("faults") =
        vec![serde_json::json!({"hostDown": {}}), serde_json::json!({"lostReply": {"share": "1%"}})];
    let down = |host| {
        let end = crate::plan::End {
            at: Length(std::time::Duration::from_secs(9_000)),
            does: Injection::PowerOn(host),
        };
        let at = Length(std::time::Duration::from_secs(60 * u64::from(host)));
        Strike::Timed(Timed {
            fault: "host_down".into(),
            at,
            does: Injection::PowerOff(host),
            end: Some(end),
        })
    };
    let plan = ResolvedPlan { scenario: document, seed: Seed(1), strikes: (0..60).map(down).collect() };
    let mut steps = 0;
    let shrunk = shrink(plan, Options::default(), &mut |_| steps += 1).unwrap();
    assert_eq!(shrunk.failure.invariant, "converged");
    assert_eq!((shrunk.plan.scenario.machines(), shrunk.plan.strikes.len()), (1, 0));
    let left = |field| shrunk.plan.scenario.list(field).len();
    assert_eq!((left("faults"), left("eventually")), (0, 1), "{}", shrunk.plan);
    assert!(left("timeline") <= 1 && left("manifests") <= 2, "{}", shrunk.plan);
    assert!(steps > 0 && shrunk.tried > steps);
}

#[test]
fn what_does_not_fail_is_not_made_smaller() {
    let mut document = Document::read("upgrade.yaml", UPGRADE).unwrap();
    document.relax();
    let plan = ResolvedPlan { scenario: document, seed: Seed(1), strikes: Vec::new() };
    assert!(shrink(plan, Options::default(), &mut |_| {}).is_none());
}
