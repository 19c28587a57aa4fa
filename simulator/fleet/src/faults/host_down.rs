//! Hosts lose their power for a while, or for ever.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::scenario::{Length, Portion, Range};
use crate::world::Injection;

/// Hosts that go down.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostDown {
    /// What share of all hosts.
    #[serde(default)]
    pub share: Portion,
    /// These hosts, by their numbers.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// At these times since the start.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here, each host at its own.
    #[serde(default)]
    pub between: Option<Range>,
    /// For how long; for ever when left out.
    #[serde(default)]
    pub lasting: Option<Range>,
}

impl Model for HostDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        let chosen = plan.choose(self.share.0);
        for &host in self.hosts.iter().chain(&chosen) {
            for (occurrence, from) in plan.times(&when, u64::from(host)).into_iter().enumerate() {
                let key = word("lasting") ^ occurrence as u64;
                let lasting = self.lasting.map(|range| plan.within(range.0, u64::from(host), key));
                plan.strike(from, lasting, (Injection::PowerOff(host), Injection::PowerOn(host)));
            }
        }
    }

    fn out_of_range(&self, hosts: u32, _zones: u32) -> Option<String> {
        let host = self.hosts.iter().find(|&&host| host >= hosts)?;
        Some(format!("there is no host {host} among {hosts}"))
    }
}
