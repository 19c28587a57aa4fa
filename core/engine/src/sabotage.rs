//! Ways to break the engine on purpose, so that tests can prove that checks and simulator notice. Without the feature
//! `sabotage`, which nothing but tests turns on, no switch exists.

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sabotage {
    /// `maxUnavailable` is not looked at.
    BudgetUnchecked,
}
