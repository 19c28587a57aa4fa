//! The runs of a swarm that failed.

use std::collections::BTreeMap;

use seaworthy_fleet::Failure;
use seaworthy_fleet::swarm::Divergence;
use serde::Serialize;

/// A run that failed.
pub(super) struct Failed {
    pub(super) seed: u64,
    pub(super) file: String,
    pub(super) machines: u32,
    pub(super) what: Wrong,
}

/// How it failed.
pub(super) enum Wrong {
    /// It broke an invariant, or did not converge.
    Failed(Failure),
    /// A second run with the same seed differed.
    Diverged(Divergence),
}

/// Runs that failed in the same way.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    /// The invariant that was broken.
    pub(super) invariant: String,
    /// The file of the scenario.
    pub(super) scenario: String,
    /// The seeds, in their order.
    pub(super) seeds: Vec<u64>,
}

impl Failed {
    /// The invariant that was broken.
    fn invariant(&self) -> &str {
        match &self.what {
            Wrong::Failed(failure) => &failure.invariant,
            Wrong::Diverged(_) => "determinism",
        }
    }

    /// What happened, in one line.
    pub(super) fn words(&self) -> String {
        let Self { seed, file, machines, what } = self;
        match what {
            Wrong::Failed(Failure { invariant, detail }) => {
                format!("seed {seed}: {file} with {machines} machines: {invariant}: {detail}")
            }
            Wrong::Diverged(divergence) => {
                format!(
                    "seed {seed}: {file} with {machines} machines: two runs are not the same from {divergence}"
                )
            }
        }
    }
}

/// Groups runs that failed in the same way, the most frequent first.
pub(super) fn groups(failed: &[Failed]) -> Vec<Group> {
    let mut alike: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for one in failed {
        alike.entry((one.invariant(), &one.file)).or_default().push(one.seed);
    }
    let group = |((invariant, scenario), mut seeds): ((&str, &str), Vec<u64>)| {
        seeds.sort_unstable();
        Group { invariant: invariant.to_owned(), scenario: scenario.to_owned(), seeds }
    };
    let mut groups: Vec<Group> = alike.into_iter().map(group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.seeds.len()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(seed: u64, file: &str, invariant: &str) -> Failed {
        let what = Wrong::Failed(Failure { invariant: invariant.into(), detail: format!("as {seed} does") });
        Failed { seed, file: file.into(), machines: 7, what }
    }

    #[test]
    fn what_failed_alike_stands_together_and_the_most_frequent_first() {
        let all = [
            failed(9, "storm.yaml", "budget"),
            failed(4, "upgrade.yaml", "converged"),
            failed(3, "storm.yaml", "converged"),
            failed(1, "upgrade.yaml", "converged"),
        ];
        let told: Vec<(String, String, Vec<u64>)> =
            groups(&all).into_iter().map(|group| (group.invariant, group.scenario, group.seeds)).collect();
        let expected = [
            ("converged", "upgrade.yaml", vec![1, 4]),
            ("budget", "storm.yaml", vec![9]),
            ("converged", "storm.yaml", vec![3]),
        ];
        assert_eq!(told, expected.map(|(one, other, seeds)| (one.to_owned(), other.to_owned(), seeds)));
        assert_eq!(all[0].words(), "seed 9: storm.yaml with 7 machines: budget: as 9 does");
    }
}
