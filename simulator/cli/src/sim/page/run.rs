//! What a page is made of.

use seaworthy_fleet::history::History;
use seaworthy_fleet::{Scenario, Summary};

/// A run that is over.
pub(in crate::sim) struct Run<'a> {
    /// The scenario.
    pub(in crate::sim) scenario: &'a Scenario,
    /// What came of it.
    pub(in crate::sim) summary: &'a Summary,
    /// What happened.
    pub(in crate::sim) history: &'a History,
    /// The command that does the same again.
    pub(in crate::sim) again: &'a str,
}
