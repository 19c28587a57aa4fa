use seaworthy_kernel::Seed;

use super::*;
use crate::run::plan::Document;
use crate::vocabulary::{Injection, Length, Timed};

const UPGRADE: &str = include_str!("../../../../../scenarios/fast/upgrade.yaml");

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
        let end = crate::vocabulary::End {
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
    let again = outcome(&shrunk.plan.to_string(), Options::default(), false).unwrap();
    assert_eq!(again.failure, shrunk.failure, "as a file it fails alike");
}

#[test]
fn what_does_not_fail_is_not_made_smaller() {
    let mut document = Document::read("upgrade.yaml", UPGRADE).unwrap();
    document.relax();
    let plan = ResolvedPlan { scenario: document, seed: Seed(1), strikes: Vec::new() };
    assert!(shrink(plan, Options::default(), &mut |_| {}).is_none());
}

const LEASE_LOST: &str = include_str!("../../../../../scenarios/fast/lease_lost.yaml");

/// The Lease is deleted, an adoption is recorded, and the scenario expects what cannot hold.
fn lease_lost() -> ResolvedPlan {
    let mut document = Document::read("lease_lost.yaml", LEASE_LOST).unwrap();
    document.relax();
    document.set_machines(2);
    document.list_mut("eventually").insert(0, serde_json::json!({"maxOperations": 0}));
    ResolvedPlan { scenario: document, seed: Seed(1), strikes: Vec::new() }
}

fn adopts(plan: &ResolvedPlan) -> usize {
    plan.scenario.list("timeline").iter().position(|moment| moment["adopt"] == true).unwrap()
}

#[test]
fn what_people_have_to_do_is_not_left_out() {
    let plan = lease_lost();
    assert!(converges_without_faults(&plan, Options::default()));
    let mut nobody_adopts = plan.clone();
    nobody_adopts.scenario.list_mut("timeline").remove(adopts(&plan));
    assert!(!converges_without_faults(&nobody_adopts, Options::default()));

    let Broken { failure, kind, .. } = outcome(&plan.to_string(), Options::default(), false).unwrap();
    let mut shrinker = Shrinker {
        best: plan.clone(),
        failure,
        // Even to somebody who takes every failure to converge for the same.
        kind: outcome(&nobody_adopts.to_string(), Options::default(), false).unwrap().kind,
        people_suffice: true,
        options: Options::default(),
        tried: 0,
        seen: BTreeSet::new(),
        progress: &mut |_| {},
    };
    assert_ne!(shrinker.kind, kind, "one waits for people");
    assert!(!shrinker.take(nobody_adopts.clone()));
    assert_eq!(shrinker.best, plan);
    shrinker.seen.clear();
    shrinker.people_suffice = false;
    assert!(shrinker.take(nobody_adopts));
}

#[test]
fn another_way_to_fail_is_not_the_same() {
    let plan = lease_lost();
    let kind_of = |plan: &ResolvedPlan| outcome(&plan.to_string(), Options::default(), false).unwrap().kind;
    let mut other = plan.clone();
    other.scenario.list_mut("eventually").remove(0);
    other.scenario.list_mut("timeline").remove(adopts(&plan));
    assert!(kind_of(&other).contains("StoreRegressed"), "{}", kind_of(&other));
    assert_ne!(kind_of(&other), kind_of(&plan));
    let shrunk = shrink(plan.clone(), Options::default(), &mut |_| {}).unwrap();
    assert_eq!(kind_of(&shrunk.plan), kind_of(&plan));
    assert!(converges_without_faults(&shrunk.plan, Options::default()), "{}", shrunk.plan);
}
