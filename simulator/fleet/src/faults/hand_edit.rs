//! Fault 21: a user changes a host by hand: edits a config file, stops the service, replaces its binary.

use std::time::Duration;

use seaworthy_model::host::Drift;
use serde::Deserialize;

use seaworthy_kernel::{Span, Timestamp, word};

use super::Model;
use super::plan::{Plan, When, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope, Window};

/// Hosts on which something is changed by hand.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HandEdit {
    /// In which part of the fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
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
    /// Again and again in this distance, as a tool does that manages the same files: between the times of `between`, or
    /// until it becomes quiet.
    #[serde(default)]
    pub every: Option<Range>,
    /// One of these is changed; any when left out.
    #[serde(default)]
    pub what: Vec<What>,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// A config file of the release.
    Files,
    /// A link on the host.
    Links,
    /// The service is stopped.
    NotRunning,
    /// Another binary runs.
    WrongBinary,
}

impl What {
    const ALL: [Self; 4] = [Self::Files, Self::Links, Self::NotRunning, Self::WrongBinary];

    const fn drift(self) -> Drift {
        match self {
            Self::Files => Drift::FILES,
            Self::Links => Drift::LINKS,
            Self::NotRunning => Drift::NOT_RUNNING,
            Self::WrongBinary => Drift::WRONG_BINARY,
        }
    }
}

const AT_ONCE: Span = Span { least: Duration::ZERO, most: Duration::ZERO };

impl HandEdit {
    fn times(&self, plan: &Plan<'_>, when: &When, owner: u64) -> Vec<Timestamp> {
        let Some(every) = self.every else { return plan.times(when, owner) };
        let between = self.between.map_or_else(Window::default, Window);
        let mut times: Vec<Timestamp> = self.at.iter().map(|at| plan.origin() + at.0).collect();
        let windows = plan.windows(every, Range(AT_ONCE), between, owner);
        times.extend(windows.into_iter().map(|(at, _)| at));
        times
    }
}

impl Model for HandEdit {
    fn schedule(&self, plan: &mut Plan<'_>) {
        let aim = aim!(self);
        let what = if self.what.is_empty() { &What::ALL[..] } else { &self.what };
        for host in plan.targets(&aim) {
            for (occurrence, at) in self.times(plan, &aim.when, u64::from(host)).into_iter().enumerate() {
                let index = plan.below(u64::from(host), word("what") ^ occurrence as u64, what.len() as u64);
                if let Some(what) = what.get(usize::try_from(index).unwrap_or_default()) {
                    plan.at(at, Injection::Spoil(host, what.drift()));
                }
            }
        }
    }

    fn out_of_range(&self, fleet: &Fleet) -> Option<String> {
        aim!(self).problem(fleet)
    }
}
