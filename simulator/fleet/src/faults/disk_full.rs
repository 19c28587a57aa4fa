//! The disk of a host is full for a while: downloads and unpacking find no room. Running services continue, and the
//! journal is written, because the host program reserves room for it.

use serde::Deserialize;

use seaworthy_kernel::word;

use super::{Model, Plan, When};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Hosts whose disk is full.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiskFull {
    /// In which part of the fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What share of the hosts.
    #[serde(default)]
    pub share: Portion,
    /// These hosts, by their numbers.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// At these times.
    #[serde(default)]
    pub at: Vec<Length>,
    /// At some time in here, each host at its own.
    #[serde(default)]
    pub between: Option<Range>,
    /// Until somebody has made room.
    pub lasting: Range,
}

impl Model for DiskFull {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let when = When { at: self.at.clone(), between: self.between };
        for host in plan.targets(self.scope.as_ref(), self.share, &self.hosts) {
            let owner = u64::from(host);
            for (occurrence, from) in plan.times(&when, owner).into_iter().enumerate() {
                let lasting = plan.within(self.lasting.0, owner, word("lasting") ^ occurrence as u64);
                plan.strike(from, Some(lasting), (Injection::Fill(host), Injection::MakeRoom(host)));
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        super::missing_target(fleet, self.scope.as_ref(), &self.hosts)
    }
}
