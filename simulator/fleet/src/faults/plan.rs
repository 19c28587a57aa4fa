//! The inputs of faults: the fleet, the window in which they may act, and their draws.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use seaworthy_kernel::{Draws, Share, Span, Timestamp, word};
use serde::Deserialize;

use super::Ledger;
use crate::vocabulary::{Fleet, Injection, Length, Portion, Range, Scheduled, Scope, Window};

/// The times at which a fault strikes: given times, and a time that is drawn from a window.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct When {
    /// The given times, since the start of the run, or since the trigger fired.
    pub at: Vec<Length>,
    /// The window from which one time is drawn.
    pub between: Option<Range>,
}

/// The hosts that a fault strikes, and when.
#[derive(Clone, Debug)]
pub struct Aim<'a> {
    /// The part of the fleet that the fault strikes.
    pub scope: Option<&'a Scope>,
    /// The share of this part that the fault strikes.
    pub share: Portion,
    /// Further hosts that the fault strikes, by number.
    pub hosts: &'a [u32],
    /// The times of the strikes. A time from a window is drawn separately for each host.
    pub when: When,
}

impl Aim<'_> {
    /// The first host or part of the aim that the fleet does not have.
    #[must_use]
    pub fn problem(&self, fleet: &Fleet) -> Option<String> {
        let missing = self.hosts.iter().find(|host| **host >= fleet.machines);
        let host = missing.map(|host| format!("there is no host {host} among {}", fleet.machines));
        host.or_else(|| self.scope.and_then(|scope| scope.problem(fleet)))
    }
}

/// The [`Aim`] of a fault whose settings have the usual names.
macro_rules! aim {
    ($fault:expr) => {
        $crate::faults::plan::Aim {
            scope: $fault.scope.as_ref(),
            share: $fault.share,
            hosts: &$fault.hosts,
            when: $crate::faults::plan::When { at: $fault.at.clone(), between: $fault.between },
        }
    };
}

pub(super) use aim;

/// A host that a fault strikes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The host.
    pub host: u32,
    /// The time of the strike.
    pub at: Timestamp,
    /// The number of the strike on this host, from 0.
    pub occurrence: u64,
}

/// The origin of the times of a fault.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time from which the times of the fault are counted: the start of the run, or the instant at which its
    /// trigger fired.
    pub origin: Timestamp,
    /// Whether a trigger fired.
    pub triggered: bool,
    /// The host at which the trigger fired.
    pub here: Option<u32>,
    /// The start of the quiet phase.
    pub quiet: Timestamp,
}

/// A fault that plans its actions at times of its own.
#[derive(Debug)]
pub struct Plan<'a> {
    draws: &'a Draws,
    key: u64,
    fleet: &'a Fleet,
    moment: Moment,
    planned: &'a mut Vec<Scheduled>,
}

impl<'a> Plan<'a> {
    /// A plan for a fault with this `key`, that begins at this `moment`.
    pub const fn new(
        draws: &'a Draws,
        key: u64,
        fleet: &'a Fleet,
        moment: Moment,
        planned: &'a mut Vec<Scheduled>,
    ) -> Self {
        Self { draws, key, fleet, moment, planned }
    }

    /// The time from which times are counted.
    #[must_use]
    pub const fn origin(&self) -> Timestamp {
        self.moment.origin
    }

    /// Whether a trigger has fired. Then a fault without times of its own strikes at once.
    #[must_use]
    pub const fn is_triggered(&self) -> bool {
        self.moment.triggered
    }

    /// The hosts of a scope, in order.
    #[must_use]
    pub fn hosts_in(&self, scope: &Scope) -> Vec<u32> {
        scope.hosts(self.fleet, self.draws, self.key, self.moment.here)
    }

    /// Strikes each host of an aim, at each of its times.
    pub fn each_target(&mut self, aim: &Aim<'_>, mut strike: impl FnMut(&mut Self, Target)) {
        for host in self.targets(aim) {
            for (occurrence, at) in (0..).zip(self.times(&aim.when, u64::from(host))) {
                strike(self, Target { host, at, occurrence });
            }
        }
    }

    /// The duration of the strike on a target.
    #[must_use]
    pub fn lasting(&self, range: Range, target: Target) -> Duration {
        self.within(range.0, u64::from(target.host), word("lasting") ^ target.occurrence)
    }

    /// The hosts of an aim: those of its scope, or a share of them, and those that it names.
    #[must_use]
    pub fn targets(&self, aim: &Aim<'_>) -> Vec<u32> {
        let mut targets = aim.hosts.to_vec();
        let share = (aim.share != Portion::default()).then_some(aim.share);
        match (aim.scope, share) {
            (None, None) => {}
            (scope, share) => {
                let scope = scope.cloned().unwrap_or_default();
                targets.extend(self.hosts_in(&Scope { share: share.or(scope.share), ..scope }));
            }
        }
        targets
    }

    /// The times at which something strikes `owner`.
    #[must_use]
    pub fn times(&self, when: &When, owner: u64) -> Vec<Timestamp> {
        let origin = self.moment.origin;
        let mut times: Vec<Timestamp> = when.at.iter().map(|at| origin + at.0).collect();
        if let Some(between) = when.between {
            times.push(origin + self.within(between.0, owner, word("when")));
        }
        if times.is_empty() && self.moment.triggered {
            times.push(origin);
        }
        if times.is_empty() {
            let span = Span { least: Duration::ZERO, most: self.moment.quiet.since(origin) };
            times.push(origin + self.within(span, owner, word("when")));
        }
        times.retain(|at| *at < self.moment.quiet);
        times
    }

    /// Windows of the length `lasting`, each `every` after the one before, for `owner`.
    #[must_use]
    pub fn windows(
        &self,
        every: Range,
        lasting: Range,
        between: Window,
        owner: u64,
    ) -> Vec<(Timestamp, Timestamp)> {
        /// The least progress between windows. Without it, windows of no length would never reach the end.
        const LEAST: Duration = Duration::from_millis(1);
        let quiet = self.moment.quiet;
        let end = (self.moment.origin + between.0.0.most).min(quiet);
        let mut at = self.moment.origin + between.0.0.least;
        let mut windows = Vec::new();
        for window in 0u64.. {
            let from = at + self.within(every.0, owner, 2 * window);
            if from >= end {
                break;
            }
            let until = (from + self.within(lasting.0, owner, 2 * window + 1)).min(quiet);
            windows.push((from, until));
            at = until.max(at + LEAST);
        }
        windows
    }

    /// A length of time for `owner`.
    #[must_use]
    pub fn within(&self, span: Span, owner: u64, occurrence: u64) -> Duration {
        self.draws.within(self.key, owner, occurrence, span)
    }

    /// A number below `bound` for `owner`.
    #[must_use]
    pub fn below(&self, owner: u64, occurrence: u64, bound: u64) -> u64 {
        self.draws.below(self.key, owner, occurrence, bound)
    }

    /// The latest end of the fault.
    #[must_use]
    pub const fn quiet(&self) -> Timestamp {
        self.moment.quiet
    }

    /// Injects the first of the two at `from`, and the second after `lasting` or at the start of the quiet phase. When
    /// `lasting` is `None`, the second never comes.
    pub fn strike(&mut self, from: Timestamp, lasting: Option<Duration>, (on, off): (Injection, Injection)) {
        let end = lasting.map(|lasting| ((from + lasting).min(self.moment.quiet), off));
        self.planned.push(Scheduled { at: from, injection: on, end });
    }

    /// Schedules an injection with a given end.
    pub fn add(&mut self, scheduled: Scheduled) {
        self.planned.push(scheduled);
    }

    /// Schedules an injection without an end.
    pub fn at(&mut self, at: Timestamp, injection: Injection) {
        self.planned.push(Scheduled { at, injection, end: None });
    }
}

/// A point at which a fault may strike.
#[derive(Clone, Copy, Debug)]
pub struct Chance<'a> {
    /// The draws of the run.
    pub draws: &'a Draws,
    /// The key of the fault.
    pub key: u64,
    /// The subject of the strike.
    pub owner: u64,
    /// The number of the occurrence, for this owner.
    pub occurrence: u64,
    /// The present time.
    pub now: Timestamp,
    /// The time from which the windows of the fault are counted: the start of the run, or the instant at which its
    /// trigger fired.
    pub origin: Timestamp,
    /// The start of the quiet phase.
    pub quiet: Timestamp,
    /// The number of strikes of the fault at this point.
    pub struck: &'a Cell<u64>,
    /// The ledger that records or dictates strikes.
    pub ledger: Option<&'a RefCell<Box<Ledger>>>,
    /// Whether this is a renewal of the Lease. A run has thousands of them a day even when idle, so they do not count
    /// as write points, and a fault that strikes once skips them.
    pub is_renewal: bool,
}

impl Chance<'_> {
    /// Whether the fault strikes here, with probability `share`.
    #[must_use]
    pub fn hits(&self, window: Window, share: Share) -> bool {
        let since = self.now.since(self.origin);
        let open = since >= window.0.0.least && since <= window.0.0.most && self.now < self.quiet;
        let drew = open && self.draws.chance(self.key, self.owner, self.occurrence, share);
        let hits = self.ledger.map_or(drew, |ledger| ledger.borrow_mut().hits(drew));
        self.struck.set(self.struck.get() + u64::from(hits));
        hits
    }

    /// A number below `bound`. `what` distinguishes several draws at one point.
    #[must_use]
    pub fn below(&self, what: &str, bound: u64) -> u64 {
        let drew = self.draws.below(self.key ^ word(what), self.owner, self.occurrence, bound);
        self.ledger.map_or(drew, |ledger| ledger.borrow_mut().number(what, drew))
    }

    /// A length of time.
    #[must_use]
    pub fn within(&self, what: &str, span: Span) -> Duration {
        let drew = self.draws.within(self.key ^ word(what), self.owner, self.occurrence, span);
        self.ledger.map_or(drew, |ledger| ledger.borrow_mut().length(what, drew))
    }

    /// An outage of that length, which ends at the start of the quiet phase at the latest.
    #[must_use]
    pub fn outage(&self, what: &str, span: Span) -> Duration {
        self.within(what, span).min(self.quiet.since(self.now))
    }
}
