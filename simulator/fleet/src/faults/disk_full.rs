//! The disk of a host is full for a while: downloads and unpacking find no room. Running services continue, and the
//! journal is written, because the host program reserves room for it.

use serde::Deserialize;

use super::Model;
use super::plan::{Plan, aim};
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
        plan.each_target(&aim!(self), |plan, target| {
            let (host, lasting) = (target.host, plan.lasting(self.lasting, target));
            plan.strike(target.at, Some(lasting), (Injection::Fill(host), Injection::MakeRoom(host)));
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
