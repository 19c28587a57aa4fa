use super::*;

use crate::observers::Observers;

const UPGRADE: &str = include_str!("../../../../../scenarios/fast/upgrade.yaml");
const STORM: &str = include_str!("../../../../../scenarios/fast/storm.yaml");

fn file(name: &str, text: &str) -> (String, Document) {
    (name.to_owned(), Document::read(name, text).unwrap())
}

fn swarm() -> Swarm {
    Swarm::new(vec![file("upgrade.yaml", UPGRADE), file("storm.yaml", STORM)], Some(40))
}

#[test]
fn members_differ_in_fleet_budget_and_faults_and_are_the_same_again() {
    let swarm = swarm();
    let members: Vec<Member> = (1..=60).map(|seed| swarm.member(Seed(seed)).unwrap()).collect();
    let count = |of: fn(&Member) -> String| {
        members.iter().map(of).collect::<std::collections::BTreeSet<String>>().len()
    };
    assert_eq!(count(|member| member.file.clone()), 2);
    assert!(count(|member| member.machines().to_string()) > 15);
    assert!(count(|member| format!("{:?}", member.document.list("faults"))) > 50);
    assert!(members.iter().all(|member| (1..=40).contains(&member.machines())));
    for (seed, member) in (1..).zip(&members) {
        assert_eq!(swarm.member(Seed(seed)).unwrap().document, member.document);
    }
}

#[test]
fn an_exact_swarm_has_fleets_of_one_size() {
    let swarm = swarm().exactly();
    assert!((1..=20).all(|seed| swarm.member(Seed(seed)).unwrap().machines() == 40));
}

/// Otherwise large fleets do little else than start their operator anew.
#[test]
fn a_larger_fleet_has_no_more_crashes_than_that_of_the_file() {
    let storm = |machines| Swarm::new(vec![file("storm.yaml", STORM)], Some(machines)).exactly();
    let (usual, large) = (storm(60), storm(6_000));
    let share = |swarm: &Swarm, seed| -> Option<u32> {
        let member = swarm.member(Seed(seed)).unwrap();
        let faults = member.document.list("faults").iter();
        let share = faults.filter_map(|fault| fault.get("operatorCrash")?.get("share")?.as_str());
        share.map(|share| Portion::parse(share).unwrap().0.0).max()
    };
    let shares = (1..=20).map(|seed| (share(&usual, seed), share(&large, seed)));
    let shares: Vec<_> = shares.filter_map(|(usual, large)| Some((usual?, large?))).collect();
    assert!(!shares.is_empty());
    assert!(shares.iter().all(|(usual, large)| *large <= usual / 50), "{shares:?}");
}

#[test]
fn a_member_is_the_same_with_its_file_alone() {
    let alone = Swarm::new(vec![file("storm.yaml", STORM)], Some(40));
    let swarm = swarm();
    let storms = (1..=20).map(|seed| swarm.member(Seed(seed)).unwrap());
    let storms: Vec<Member> = storms.filter(|member| member.file == "storm.yaml").collect();
    assert!(!storms.is_empty());
    for member in storms {
        assert_eq!(alone.member(member.seed).unwrap().document, member.document);
    }
}

#[test]
fn the_plan_of_a_member_replays_it() {
    let member = swarm().member(Seed(11)).unwrap();
    let plan = member.plan(Options::default());
    let replayed = attempt(&mut plan.world("plan", Options::default()).unwrap());
    assert_eq!(
        replayed.summary.unwrap().trace_hash,
        member.run(Options::default()).summary.unwrap().trace_hash
    );
}

/// Machines that fell after a rollout had changed them keep their units, and these never come back. Those that were lost at
/// work may have failed, and nobody learns whether they have.
#[test]
fn a_fleet_that_loses_hosts_for_good_has_units_and_failures_left() {
    const DIES: &str = include_str!("../../../../../scenarios/incidents/third_of_the_fleet_dies_during.yaml");
    let swarm = Swarm::new(vec![file("dies.yaml", DIES)], Some(40));
    let mut losses = 0;
    for seed in 1..=40 {
        let document = swarm.member(Seed(seed)).unwrap().document;
        let fleet = fleet_of(&document).unwrap();
        let is_lost = |host: &u32| [1, 4, 7].contains(&fleet.zone_of(*host));
        let lost = (0..fleet.machines).filter(is_lost).count();
        losses += u32::from(lost > 0);
        let applied = document.list("timeline").last().unwrap().pointer("/apply/0").unwrap();
        for defaults in
            [document.list("manifests").iter().find(|it| it["kind"] == applied["kind"]), Some(applied)]
        {
            for field in ["maxUnavailable", "maxFailures"] {
                let limit = serde_json::from_value(defaults.unwrap()["spec"][field].clone()).unwrap();
                let limit = count_or_percent(&limit).of(fleet.machines) as usize;
                assert!(limit > lost, "seed {seed}: {field} {limit} for {lost} of {}", fleet.machines);
            }
        }
    }
    assert!(losses > 20, "{losses}");
}

/// Two runs that differ in one strike are the same until then: the comparison names just that event.
#[test]
fn the_first_difference_of_two_runs_is_named() {
    let member = swarm().member(Seed(11)).unwrap();
    let (attempt, record) = member.recorded(Options::default());
    let (again, same) = member.recorded(Options::default());
    assert_eq!((attempt, None), (again, record.divergence(&same)));
    let mut world = begin(Arc::clone(member.scenario()), Options::seeded(Some(Seed(11))));
    Observers::change(&mut world, |observers| observers.record = Some(Box::default()));
    let at = crate::vocabulary::START + std::time::Duration::from_secs(600);
    let injection = crate::vocabulary::Injection::PowerOff(0);
    world.schedule(&crate::vocabulary::Scheduled { at, injection, end: None });
    let _ = crate::run::attempt::attempt(&mut world);
    let divergence = record.divergence(Observers::of(&world).record.as_ref().unwrap()).unwrap();
    assert!(divergence.number > 0);
    assert!(divergence.second.unwrap().starts_with("10m00s Fault(PowerOff(0))"));
}

/// What is installed in the end depends on the history if people delete the defaults.
#[test]
fn what_the_swarm_does_not_judge_is_told() {
    const DELETED: &str =
        include_str!("../../../../../scenarios/regressions/drift_after_default_deleted.yaml");
    let swarm = Swarm::new(vec![file("deleted.yaml", DELETED), file("storm.yaml", STORM)], None);
    assert_eq!(swarm.left_out().get("installed"), Some(&1));
    assert!(!swarm.left_out().contains_key("converged"));
    let swarm = Swarm::new(vec![file("upgrade.yaml", UPGRADE)], None);
    assert!(!swarm.left_out().contains_key("installed"));
}
