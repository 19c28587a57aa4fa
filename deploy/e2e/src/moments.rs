//! Random moments, reproducible from a seed.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// Numbers from 0 to 1 (splitmix64), from the seed in `SEAWORTHY_E2E_SEED`, or from the time.
#[derive(Clone, Debug)]
pub struct Moments {
    seed: u64,
    state: u64,
}

impl Moments {
    /// Takes the seed.
    ///
    /// # Errors
    /// `SEAWORTHY_E2E_SEED` is no number.
    pub fn begin() -> Result<Self> {
        let seed = match std::env::var("SEAWORTHY_E2E_SEED") {
            Ok(text) => text.parse().with_context(|| format!("SEAWORTHY_E2E_SEED is no number: {text}"))?,
            Err(_) => u64::from(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos()),
        };
        Ok(Self { seed, state: seed })
    }

    /// The next number.
    pub fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let whole = u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap_or(u32::MAX);
        f64::from(whole) / f64::from(u32::MAX)
    }
}

impl fmt::Display for Moments {
    /// The seed, and how to repeat the same moments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.seed;
        write!(f, "seed of the moments: {seed} (SEAWORTHY_E2E_SEED={seed} repeats them)")
    }
}
