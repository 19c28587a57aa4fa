//! How a run differs from what its scenario file says.

use seaworthy_kernel::Seed;

#[cfg(feature = "sabotage")]
pub use seaworthy_engine::sabotage::Sabotage;

/// How a run differs from what its scenario file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Another seed.
    pub seed: Option<Seed>,
    /// Only for tests of the simulator itself.
    #[cfg(feature = "sabotage")]
    pub sabotage: Option<Broken>,
}

impl Options {
    /// Another seed, if there is one, and nothing else.
    #[must_use]
    pub const fn seeded(seed: Option<Seed>) -> Self {
        Self {
            seed,
            #[cfg(feature = "sabotage")]
            sabotage: None,
        }
    }
}

/// What is broken on purpose, to see that it is found.
#[cfg(feature = "sabotage")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The switch of the engine.
    pub engine: Sabotage,
    /// Whether the checks after each turn are left out too, so that the oracle is alone.
    pub unchecked: bool,
}
