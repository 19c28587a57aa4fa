//! Hosts lose their power or the network for a while, or for ever.

use serde::Deserialize;

use super::Model;
use super::plan::{Plan, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope};

/// Hosts go down: they lose power or the network.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostDown {
    /// The part of the fleet whose hosts go down. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the hosts in `scope` that go down. All hosts in `scope` if omitted, or none if `scope` is omitted
    /// too.
    #[serde(default)]
    pub share: Portion,
    /// The hosts that go down in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which the hosts go down, since the start of the run, or since the fault's trigger fired. If `at`
    /// and `between` are omitted, they go down when the trigger of the fault fires, or without a trigger at a random
    /// time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each host, at which it goes down, in
    /// addition to `at`.
    #[serde(default)]
    pub between: Option<Range>,
    /// The duration of the outage. Forever if omitted.
    #[serde(default)]
    pub lasting: Option<Range>,
    /// What the hosts lose. Power if omitted.
    #[serde(default)]
    pub loses: Loses,
}

/// What a host loses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Loses {
    /// The host loses power: what was under way is interrupted.
    #[default]
    Power,
    /// The host loses the network: what was under way continues.
    Network,
    /// Operators cannot connect to the host. Its kubelet still reaches the API server.
    Ssh,
    /// The kubelet of the host cannot reach the API server. Operators can still connect to the host.
    ApiServer,
}

impl Loses {
    /// The injection of the loss, and the one that ends it.
    pub(super) const fn injections(self, host: u32) -> (Injection, Injection) {
        match self {
            Self::Power => (Injection::PowerOff(host), Injection::PowerOn(host)),
            Self::Network => (Injection::Cut(host), Injection::Mend(host)),
            Self::Ssh => (Injection::CutSsh(host), Injection::MendSsh(host)),
            Self::ApiServer => (Injection::CutKubelet(host), Injection::MendKubelet(host)),
        }
    }
}

impl Model for HostDown {
    fn schedule(&self, plan: &mut Plan<'_>) {
        plan.each_target(&aim!(self), |plan, target| {
            let lasting = self.lasting.map(|range| plan.lasting(range, target));
            plan.strike(target.at, lasting, self.loses.injections(target.host));
        });
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
