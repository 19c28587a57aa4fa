//! Current disturbances: outages, limits, delays, lies. Faults start and end them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;

use super::api_server::{Cursor, KINDS, Stored};
use crate::vocabulary::START;

/// Current disturbances.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    /// Until when the API server does not answer.
    pub(super) api_down: Timestamp,
    /// Until when no artefact can be downloaded.
    pub(super) registry_down: Timestamp,
    /// Until when the metrics of the cluster cannot be asked.
    pub(super) metrics_down: Timestamp,
    bucket: Option<Bucket>,
    /// By kind: until when its watches deliver nothing.
    holds: [Timestamp; KINDS.len()],
    /// By kind: the lag of its watches, and its end.
    lags: [(Duration, Timestamp); KINDS.len()],
    /// By kind: the contents of the API server's caches, and their time.
    caches: [Vec<(Timestamp, Cache)>; KINDS.len()],
    /// Slow hosts.
    slow: BTreeMap<u32, Slowness>,
    /// Hosts from which the API server cannot be reached although they are connected, with the number of causes.
    deaf: BTreeMap<u32, u16>,
    /// Hosts whose disk is full, with the number of causes.
    full: BTreeMap<u32, u16>,
    /// Nodes with a false condition, and that condition.
    pub(super) lies: BTreeMap<u32, Health>,
}

/// The contents of a cache of the API server: the objects of a kind as they were, and the place from which a watch
/// continues.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) objects: Vec<Arc<Stored>>,
    pub(super) cursor: Cursor,
}

/// How slow a host is.
#[derive(Clone, Copy, Debug)]
struct Slowness {
    /// The factor by which everything takes longer.
    factor: u16,
    /// The run and the end of the step that began last.
    step: Option<(u32, Timestamp)>,
}

/// A token bucket: how far ahead of the long-term rate the requests are.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    per_second: u32,
    burst: u32,
    until: Timestamp,
    /// When the bucket is full again.
    full_at: Timestamp,
}

impl Default for Disturbance {
    fn default() -> Self {
        Self {
            api_down: START,
            registry_down: START,
            metrics_down: START,
            bucket: None,
            holds: [START; KINDS.len()],
            lags: [(Duration::ZERO, START); KINDS.len()],
            caches: Default::default(),
            slow: BTreeMap::new(),
            deaf: BTreeMap::new(),
            full: BTreeMap::new(),
            lies: BTreeMap::new(),
        }
    }
}

impl Bucket {
    /// Takes a token. False when the bucket is empty.
    fn take(&mut self, now: Timestamp) -> bool {
        let token = Duration::from_secs(1) / self.per_second;
        let full_at = self.full_at.max(now) + token;
        if full_at.since(now) > token * (self.burst + 1) {
            return false;
        }
        self.full_at = full_at;
        true
    }
}

impl Disturbance {
    /// Whether a request is let through at `now`.
    pub(super) fn admits(&mut self, now: Timestamp) -> bool {
        self.bucket.as_mut().filter(|bucket| now < bucket.until).is_none_or(|bucket| bucket.take(now))
    }

    /// The lag of the watches of a kind at `now`.
    pub(super) fn lag(&self, kind: Kind, now: Timestamp) -> Duration {
        let (lag, until) = self.lags[table(kind)];
        if now < until { lag } else { Duration::ZERO }
    }

    /// Whether requests may be refused or watches of a kind lag at `now`.
    pub(super) fn delays(&self, kind: Kind, now: Timestamp) -> bool {
        let throttles = self.bucket.as_ref().is_some_and(|bucket| now < bucket.until);
        throttles || now < self.api_down || self.lag(kind, now) > Duration::ZERO
    }

    /// Whether there is room on the disk of a host.
    pub(super) fn has_room(&self, host: u32) -> bool {
        !self.full.contains_key(&host)
    }

    /// Limits requests to so many a second, with so many at once.
    pub(super) fn throttle(&mut self, per_second: u32, burst: u32, until: Timestamp, now: Timestamp) {
        self.bucket = Some(Bucket { per_second, burst, until, full_at: now });
    }

    /// Lets watches of a kind deliver nothing until then.
    pub(super) fn hold(&mut self, kind: Kind, until: Timestamp) {
        let held = &mut self.holds[table(kind)];
        *held = until.max(*held);
    }

    /// Until when watches of a kind deliver nothing.
    pub(super) fn held_until(&self, kind: Kind) -> Timestamp {
        self.holds[table(kind)].max(self.api_down)
    }

    /// Lets watches of a kind lag until then.
    pub(super) fn lag_by(&mut self, kind: Kind, lag: Duration, until: Timestamp) {
        self.lags[table(kind)] = (lag, until);
    }

    /// Stores the present contents of a cache.
    pub(super) fn store(&mut self, kind: Kind, now: Timestamp, cache: Cache) {
        self.caches[table(kind)].push((now, cache));
    }

    /// Takes out the contents of the cache of that time.
    pub(super) fn take_cache(&mut self, kind: Kind, of: Timestamp) -> Option<Cache> {
        let caches = &mut self.caches[table(kind)];
        let place = caches.iter().position(|(at, _)| *at == of)?;
        Some(caches.swap_remove(place).1)
    }

    /// Makes everything on a host take so many times as long. Returns the factor before, and the run and the end of the
    /// last step that began then, if the host was slow.
    pub(super) fn slow(&mut self, host: u32, factor: u16) -> Option<(u16, Option<(u32, Timestamp)>)> {
        let before = self.slow.remove(&host).map(|slow| (slow.factor, slow.step));
        if factor > 1 {
            self.slow.insert(host, Slowness { factor, step: None });
        }
        before
    }

    /// Notes when the present step of a host ends, if the host is slow.
    pub(super) fn note_step(&mut self, host: u32, run: u32, ends: Timestamp) {
        if let Some(slow) = self.slow.get_mut(&host) {
            slow.step = Some((run, ends));
        }
    }

    /// One more cause keeps what runs on a host from reaching the API server.
    pub(super) fn deafen(&mut self, host: u32) {
        *self.deaf.entry(host).or_default() += 1;
    }

    /// One cause less.
    pub(super) fn undeafen(&mut self, host: u32) {
        if let Some(causes) = self.deaf.get_mut(&host) {
            *causes -= 1;
            if *causes == 0 {
                self.deaf.remove(&host);
            }
        }
    }

    /// Whether something keeps what runs on a host from reaching the API server.
    pub(super) fn is_deaf(&self, host: u32) -> bool {
        self.deaf.contains_key(&host)
    }

    /// One more cause fills the disk of a host. True when there was room until now.
    pub(super) fn fill(&mut self, host: u32) -> bool {
        let causes = self.full.entry(host).or_default();
        *causes += 1;
        *causes == 1
    }

    /// One cause less fills the disk of a host. True when there is room now.
    pub(super) fn make_room(&mut self, host: u32) -> bool {
        let Some(causes) = self.full.get_mut(&host) else { return false };
        *causes -= 1;
        if *causes == 0 {
            self.full.remove(&host);
        }
        self.has_room(host)
    }

    /// How long something takes on a host that would take `length` on a healthy one.
    pub(super) fn slowed(&self, host: u32, length: Duration) -> Duration {
        length * self.slow.get(&host).map_or(1, |slow| u32::from(slow.factor))
    }
}

fn table(kind: Kind) -> usize {
    KINDS.iter().position(|of| *of == kind).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_the_rate() {
        let mut bucket = Bucket { per_second: 2, burst: 3, until: Timestamp::MAX, full_at: START };
        let taken = |bucket: &mut Bucket, at| (0..10).filter(|_| bucket.take(at)).count();
        assert_eq!(taken(&mut bucket, START), 4);
        assert_eq!(taken(&mut bucket, START + Duration::from_millis(499)), 0);
        assert_eq!(taken(&mut bucket, START + Duration::from_secs(1)), 2);
        assert_eq!(taken(&mut bucket, START + Duration::from_secs(100)), 4);
    }
}
