use super::*;

const INSTALL: &str = include_str!("../../../../../scenarios/fast/install.yaml");

fn enumeration() -> Enumeration {
    let mut document = Document::read("install.yaml", INSTALL).unwrap();
    document.set_machines(3);
    Enumeration::new("install.yaml", document, Seed(1), Options::default()).unwrap()
}

/// Every rule finds points, every fault comes to pass, and every fork converges.
#[test]
fn every_fork_of_a_small_fleet_converges() {
    let mut enumeration = enumeration();
    let count = enumeration.count;
    let mut rules = std::collections::BTreeMap::new();
    while let Some(fork) = enumeration.next_fork() {
        let forked = fork.run();
        assert!(forked.came, "{:?}", forked.strikes);
        assert_eq!(forked.attempt.failure, None, "{}", enumeration.plan(&forked.strikes));
        *rules.entry(forked.rule).or_insert(0usize) += 1;
    }
    assert_eq!(rules.len(), Rule::ALL.len(), "{rules:?}");
    assert_eq!(rules.values().sum::<usize>(), count);
    assert_eq!(
        (rules[&Rule::CrashBefore], rules[&Rule::CrashAfter]),
        (enumeration.writes, enumeration.writes)
    );
}

/// A fork is a short cut: the plan that is printed for it has the same history from the start.
#[test]
fn the_plan_of_a_fork_replays_it() {
    let mut enumeration = enumeration();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(fork) = enumeration.next_fork() {
        if !seen.insert(fork.rule) && fork.strikes[0].at().0.as_millis() % 7 != 0 {
            continue;
        }
        let forked = fork.run();
        let mut world = enumeration.plan(&forked.strikes).world("plan", Options::default()).unwrap();
        let replayed = attempt(&mut world).summary.map(|summary| summary.trace_hash);
        assert_eq!(
            forked.attempt.summary.map(|summary| summary.trace_hash),
            replayed,
            "{:?}",
            forked.strikes
        );
    }
    assert_eq!(seen.len(), Rule::ALL.len());
}
