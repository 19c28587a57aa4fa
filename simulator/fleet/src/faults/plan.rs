//! What faults are told: the fleet, the window in which they may act, and their draws.

use std::time::Duration;

use seaworthy_kernel::{Draws, Share, Span, Timestamp, word};
use serde::Deserialize;

use crate::scenario::{Length, Range};
use crate::world::{Injection, START};

/// When a fault may strike: `[from, to]` since the start. The quiet phase cuts it off.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub struct Window(pub Range);

impl Default for Window {
    fn default() -> Self {
        Self(Range(Span { least: Duration::ZERO, most: Duration::MAX / 2 }))
    }
}

/// When a fault strikes: at simple times, or once at a time that is drawn from a window.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct When {
    /// At these times since the start.
    pub at: Vec<Length>,
    /// At some time in here.
    pub between: Option<Range>,
}

/// A fault that plans what it does at times of its own.
#[derive(Debug)]
pub struct Plan<'a> {
    draws: &'a Draws,
    key: u64,
    hosts: u32,
    zones: u32,
    quiet: Timestamp,
    planned: &'a mut Vec<(Timestamp, Injection)>,
}

impl<'a> Plan<'a> {
    /// A plan for a fault with this `key`, on a fleet of so many hosts and zones, that ends when it becomes `quiet`.
    pub const fn new(
        draws: &'a Draws,
        key: u64,
        (hosts, zones): (u32, u32),
        quiet: Timestamp,
        planned: &'a mut Vec<(Timestamp, Injection)>,
    ) -> Self {
        Self { draws, key, hosts, zones, quiet, planned }
    }

    /// How many hosts there are.
    #[must_use]
    pub const fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The zone of a host: neighbours are in different zones.
    #[must_use]
    pub const fn zone(&self, host: u32) -> u32 {
        if self.zones == 0 { 0 } else { host % self.zones }
    }

    /// So many of all hosts, drawn without repetition, in order.
    #[must_use]
    pub fn choose(&self, share: Share) -> Vec<u32> {
        let count = share.of(self.hosts) as usize;
        let mut ranked: Vec<(u64, u32)> =
            (0..self.hosts).map(|host| (self.draws.bits(self.key, u64::from(host), 0), host)).collect();
        ranked.sort_unstable();
        let mut chosen: Vec<u32> = ranked.into_iter().take(count).map(|(_, host)| host).collect();
        chosen.sort_unstable();
        chosen
    }

    /// The times at which something strikes `owner`.
    #[must_use]
    pub fn times(&self, when: &When, owner: u64) -> Vec<Timestamp> {
        let mut times: Vec<Timestamp> = when.at.iter().map(|at| START + at.0).collect();
        if let Some(between) = when.between {
            times.push(START + self.within(between.0, owner, word("when")));
        }
        if times.is_empty() {
            let span = Span { least: Duration::ZERO, most: self.quiet.since(START) };
            times.push(START + self.within(span, owner, word("when")));
        }
        times.retain(|at| *at < self.quiet);
        times
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

    /// When it ends at the latest.
    #[must_use]
    pub const fn quiet(&self) -> Timestamp {
        self.quiet
    }

    /// Strikes at `from`, and takes it back after `lasting` or when it becomes quiet; never, when that is `None`.
    pub fn strike(&mut self, from: Timestamp, lasting: Option<Duration>, (on, off): (Injection, Injection)) {
        self.at(from, on);
        if let Some(lasting) = lasting {
            self.at((from + lasting).min(self.quiet), off);
        }
    }

    /// Does something once.
    pub fn at(&mut self, at: Timestamp, injection: Injection) {
        self.planned.push((at, injection));
    }
}

/// A point at which a fault may strike.
#[derive(Clone, Copy, Debug)]
pub struct Chance<'a> {
    /// The draws of the run.
    pub draws: &'a Draws,
    /// The key of the fault.
    pub key: u64,
    /// What would be struck.
    pub owner: u64,
    /// Which time, for this owner.
    pub occurrence: u64,
    /// Now.
    pub now: Timestamp,
    /// When it becomes quiet.
    pub quiet: Timestamp,
}

impl Chance<'_> {
    /// Whether the fault strikes here, with probability `share`.
    #[must_use]
    pub fn hits(&self, window: Window, share: Share) -> bool {
        let since = self.now.since(START);
        let open = since >= window.0.0.least && since <= window.0.0.most && self.now < self.quiet;
        open && self.draws.chance(self.key, self.owner, self.occurrence, share)
    }

    /// A number below `bound`. `what` tells several draws at one point apart.
    #[must_use]
    pub fn below(&self, what: &str, bound: u64) -> u64 {
        self.draws.below(self.key ^ word(what), self.owner, self.occurrence, bound)
    }

    /// A length of time.
    #[must_use]
    pub fn within(&self, what: &str, span: Span) -> Duration {
        self.draws.within(self.key ^ word(what), self.owner, self.occurrence, span)
    }

    /// An outage of that length, cut off where it becomes quiet.
    #[must_use]
    pub fn outage(&self, what: &str, span: Span) -> Duration {
        self.within(what, span).min(self.quiet.since(self.now))
    }
}
