//! The data of a page.

use seaworthy_fleet::history::History;
use seaworthy_fleet::{Scenario, Summary};

/// A run that has ended.
pub(in crate::sim) struct Run<'a> {
    /// The scenario.
    pub(in crate::sim) scenario: &'a Scenario,
    /// Its result.
    pub(in crate::sim) summary: &'a Summary,
    /// Its events.
    pub(in crate::sim) history: &'a History,
    /// The command that repeats the run.
    pub(in crate::sim) again: &'a str,
}
