//! The disk of a host is full for a while: downloads and unpacking find no room. Running services continue, and the
//! journal is written, because the host program reserves room for it.

use serde::Deserialize;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// The disks of hosts are full for a while.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiskFull {
    /// The part of the fleet whose hosts are affected. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the hosts in `scope` that are affected. All hosts in `scope` if omitted, or none if `scope` is
    /// omitted too.
    #[serde(default)]
    pub share: Portion,
    /// The hosts that are affected in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which the disks become full, since the start of the run, or since the fault's trigger fired. If
    /// `at` and `between` are omitted, they become full when the trigger of the fault fires, or without a trigger at a
    /// random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each host, at which its disk becomes full,
    /// in addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The time until somebody has made room on the disk.
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
