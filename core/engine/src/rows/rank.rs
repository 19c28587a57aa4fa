//! A machine's rank in a rollout, which is compared with the rollout's threshold.

use seaworthy_model::draw::{mix, word};
use seaworthy_model::id::Uid;
use seaworthy_model::package_version::Rollout;

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

const fn high(uid: Uid) -> u64 {
    (uid.0 >> 64) as u64
}

const fn low(uid: Uid) -> u64 {
    uid.0 as u64
}

#[cfg(test)]
mod tests {
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
}
