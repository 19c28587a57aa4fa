//! A machine's rank in a rollout, which is compared with the rollout's threshold, and the thresholds of its batches.

use seaworthy_model::draw::{mix, word};
use seaworthy_model::id::Uid;
use seaworthy_model::package_version::Rollout;
use seaworthy_model::quantity::CountOrPercent;

/// The key of a rollout: all inputs of a rank but the machine. It is made of durable values only, so that every process
/// computes the same ranks: no interned id goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankKey(u64);

impl RankKey {
    /// The key of the rollout of `component` that `owner` began at `generation`.
    #[must_use]
    pub fn new(owner: Uid, generation: u64, component: &str) -> Self {
        Self(mix(&[high(owner), low(owner), generation, word(component)]))
    }

    /// The key as a number.
    pub(crate) const fn number(self) -> u64 {
        self.0
    }

    /// The rank of a machine: below [`Rollout::EVERYBODY`].
    #[must_use]
    pub fn rank(self, machine: Uid) -> u32 {
        let drawn = (mix(&[self.0, high(machine), low(machine)]) >> 32) as u32;
        drawn.min(Rollout::EVERYBODY - 1)
    }
}

/// The first end of a batch above `below`, given the ranks of all machines, sorted. A batch ends just above the rank of the last machine that is in it, so machines
/// of equal rank are in one batch.
#[must_use]
pub fn end_of_batch(ranks: &[u32], batches: &[CountOrPercent], below: u32) -> u32 {
    let total = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
    let ends = batches.iter().map(|batch| match ranks.get(batch.of(total) as usize - 1) {
        Some(last) if (batch.of(total) as usize) < ranks.len() => last + 1,
        Some(_) | None => Rollout::EVERYBODY,
    });
    ends.chain([Rollout::EVERYBODY]).find(|end| *end > below).unwrap_or(Rollout::EVERYBODY)
}

const fn high(uid: Uid) -> u64 {
    (uid.0 >> 64) as u64
}

const fn low(uid: Uid) -> u64 {
    uid.0 as u64
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use seaworthy_model::quantity::CountOrPercent::{Count, Percent};

    use super::*;

    /// Ranks are durable through the thresholds that were recorded for them.
    #[test]
    fn golden_rank() {
        let key = RankKey::new(Uid(7), 3, "kubelet");
        assert_eq!(key.rank(Uid(11)), RankKey::new(Uid(7), 3, "kubelet").rank(Uid(11)));
        assert_ne!(key.rank(Uid(11)), key.rank(Uid(12)));
        assert_ne!(key.rank(Uid(11)), RankKey::new(Uid(7), 4, "kubelet").rank(Uid(11)));
        assert_ne!(key.rank(Uid(11)), RankKey::new(Uid(7), 3, "containerd").rank(Uid(11)));
    }

    #[test]
    fn ranks_spread_evenly() {
        let key = RankKey::new(Uid(1), 1, "webd");
        let below_half = (0..10_000u128).filter(|&uid| key.rank(Uid(uid)) < u32::MAX / 2).count();
        assert!((4800..5200).contains(&below_half), "{below_half}");
    }

    #[test]
    fn a_batch_ends_above_its_last_machine() {
        let ranks: Vec<u32> = (1..=200).map(|rank| rank * 10).collect();
        let batches = [Count(1), Percent(1), Percent(10), Percent(50)];
        let mut ends = Vec::from([0]);
        while ends.last() != Some(&Rollout::EVERYBODY) {
            ends.push(end_of_batch(&ranks, &batches, ends[ends.len() - 1]));
        }
        assert_eq!(ends, [0, 11, 21, 201, 1001, Rollout::EVERYBODY]);
    }

    #[test]
    fn machines_of_equal_rank_are_in_one_batch() {
        assert_eq!(end_of_batch(&[5, 5, 5, 9], &[Count(1)], 0), 6);
        assert_eq!(end_of_batch(&[5, 5, 5, 9], &[Count(1), Count(2)], 6), Rollout::EVERYBODY);
    }

    #[test]
    fn a_batch_of_everybody_is_the_last() {
        assert_eq!(end_of_batch(&[5], &[Percent(1)], 0), Rollout::EVERYBODY);
        assert_eq!(end_of_batch(&[], &[Count(3)], 0), Rollout::EVERYBODY);
        assert_eq!(end_of_batch(&[1, 2], &[Percent(100)], 0), Rollout::EVERYBODY);
    }
}
