//! Fault 21: a user changes a host by hand: edits a config file, stops the service, replaces its binary.

use std::time::Duration;

use seaworthy_model::host::Drift;
use serde::Deserialize;

use seaworthy_kernel::{Span, Timestamp, word};

use super::Model;
use super::plan::{Plan, When, aim};
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scope, Window};

/// Users change something on hosts by hand.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HandEdit {
    /// The part of the fleet whose hosts are changed. If omitted, `share` applies to the whole fleet.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The share of the hosts in `scope` that are changed. All hosts in `scope` if omitted, or none if `scope` is
    /// omitted too.
    #[serde(default)]
    pub share: Portion,
    /// The hosts that are changed in addition, by number.
    #[serde(default)]
    pub hosts: Vec<u32>,
    /// The times at which a host is changed, since the start of the run, or since the fault's trigger fired. If `at`,
    /// `between` and `every` are omitted, it is changed when the trigger of the fault fires, or without a trigger at a
    /// random time before the quiet phase.
    #[serde(default)]
    pub at: Vec<Length>,
    /// A window, `[from, to]`, from which one time is drawn, separately for each host, at which it is changed, in
    /// addition to `at`. With `every`, the window in which the changes are repeated.
    #[serde(default)]
    pub between: Option<Range>,
    /// The interval between repeated changes, as by a tool that manages the same files. They happen within the window
    /// `between`, or until the quiet phase if that is omitted.
    #[serde(default)]
    pub every: Option<Range>,
    /// The kinds of changes, of which one is drawn each time. All kinds if omitted.
    #[serde(default)]
    pub what: Vec<What>,
}

/// A kind of change by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// A config file of the release is edited.
    Files,
    /// A link on the host is changed.
    Links,
    /// The service is stopped.
    NotRunning,
    /// The service runs another binary.
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
