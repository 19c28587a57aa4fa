//! Keyed draws for models: a random-looking value as a pure function of (seed, purpose, owner, occurrence). There is no
//! shared stream, so adding or removing a fault shifts no other draw.

use std::time::Duration;

use seaworthy_model::draw::{Seed, below};

/// The source of all draws of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    seed: u64,
}

/// A length of time between two bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lower bound.
    pub least: Duration,
    /// The upper bound.
    pub most: Duration,
}

impl Span {
    /// A span between two numbers of milliseconds.
    #[must_use]
    pub const fn millis(least: u64, most: u64) -> Self {
        Self { least: Duration::from_millis(least), most: Duration::from_millis(most) }
    }

    /// A span of one length.
    #[must_use]
    pub const fn exactly(length: Duration) -> Self {
        Self { least: length, most: length }
    }
}

/// A probability or a part of a whole, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u32);

impl Share {
    /// None.
    pub const NONE: Self = Self(0);
    /// All.
    pub const ALL: Self = Self(1_000_000);

    /// This share of `total`, rounded to the nearest.
    #[must_use]
    pub fn of(self, total: u32) -> u32 {
        let parts = u64::from(total) * u64::from(self.0) + u64::from(Self::ALL.0) / 2;
        u32::try_from(parts / u64::from(Self::ALL.0)).unwrap_or(u32::MAX)
    }
}

impl Draws {
    /// Draws for `seed`.
    #[must_use]
    pub const fn new(seed: Seed) -> Self {
        Self { seed: seed.0 }
    }

    /// 64 bits.
    #[must_use]
    pub fn bits(&self, purpose: u64, owner: u64, occurrence: u64) -> u64 {
        seaworthy_model::draw::mix(&[self.seed, purpose, owner, occurrence])
    }

    /// A number below `bound`; 0 when that is 0.
    #[must_use]
    pub fn below(&self, purpose: u64, owner: u64, occurrence: u64, bound: u64) -> u64 {
        below(&[self.seed, purpose, owner, occurrence], bound)
    }

    /// A length of time within `span`, in whole milliseconds.
    #[must_use]
    pub fn within(&self, purpose: u64, owner: u64, occurrence: u64, span: Span) -> Duration {
        let least = u64::try_from(span.least.as_millis()).unwrap_or(u64::MAX);
        let most = u64::try_from(span.most.as_millis()).unwrap_or(u64::MAX);
        let width = most.saturating_sub(least).saturating_add(1);
        Duration::from_millis(least + self.below(purpose, owner, occurrence, width))
    }

    /// True with probability `share`.
    #[must_use]
    pub fn chance(&self, purpose: u64, owner: u64, occurrence: u64, share: Share) -> bool {
        self.below(purpose, owner, occurrence, u64::from(Share::ALL.0)) < u64::from(share.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: Draws = Draws::new(Seed(7));

    #[test]
    fn draws_depend_on_every_part_of_the_key() {
        let reference = DRAWS.bits(1, 2, 3);
        assert_eq!(reference, DRAWS.bits(1, 2, 3));
        let others = [
            Draws::new(Seed(8)).bits(1, 2, 3),
            DRAWS.bits(0, 2, 3),
            DRAWS.bits(1, 0, 3),
            DRAWS.bits(1, 2, 0),
        ];
        assert!(others.iter().all(|&other| other != reference));
    }

    #[test]
    fn spans_include_both_ends() {
        let span = Span::millis(3, 5);
        let mut seen = [false; 3];
        for occurrence in 0..100 {
            let drawn = DRAWS.within(1, 2, occurrence, span).as_millis();
            seen[usize::try_from(drawn - 3).unwrap()] = true;
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!(DRAWS.within(1, 2, 3, Span::exactly(Duration::from_secs(1))), Duration::from_secs(1));
    }

    #[test]
    fn chances_hold_on_average() {
        let hits = (0..100_000).filter(|&n| DRAWS.chance(1, n, 0, Share(20_000))).count();
        assert!((1_800..2_200).contains(&hits), "{hits}");
        assert!(!DRAWS.chance(1, 2, 3, Share::NONE));
        assert!(DRAWS.chance(1, 2, 3, Share::ALL));
        assert_eq!((Share(20_000).of(10_000), Share::ALL.of(7), Share(1).of(7)), (200, 7, 0));
    }
}
