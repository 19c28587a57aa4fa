//! A whole zone is cut off or loses its power, and returns all at once.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan};
use crate::scenario::{Length, Range};
use crate::world::{Injection, START};

/// A zone that goes down.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ZoneDown {
    /// Which.
    pub zone: u32,
    /// When.
    pub at: Length,
    /// For how long; for ever when left out.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// What is lost.
    #[serde(default)]
    pub loses: Loses,
}

/// What a zone loses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Loses {
    /// Power: what was under way is cut short.
    #[default]
    Power,
    /// The network: what was under way goes on.
    Network,
}

impl Model for ZoneDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let from = START + self.at.0;
        if from >= plan.quiet() {
            return;
        }
        let lasting = self.lasting.map(|range| plan.within(range.0, u64::from(self.zone), word("lasting")));
        let hosts = (0..plan.hosts()).filter(|&host| plan.zone(host) == self.zone);
        for host in hosts.collect::<Vec<_>>() {
            let pair = match self.loses {
                Loses::Power => (Injection::PowerOff(host), Injection::PowerOn(host)),
                Loses::Network => (Injection::Cut(host), Injection::Mend(host)),
            };
            plan.strike(from, lasting, pair);
        }
    }

    fn out_of_range(&self, _hosts: u32, zones: u32) -> Option<String> {
        (self.zone >= zones).then(|| format!("there is no zone {} among {zones}", self.zone))
    }
}
