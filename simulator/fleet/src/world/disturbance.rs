//! Current disturbances: outages, limits, delays, lies. Faults start and end them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::meta::FINALIZER;
use seaworthy_model::node::Health;

use super::World;
use super::api_server::{Cursor, KINDS, Preconditions, Stored};
use super::writer::Writer;
use crate::vocabulary::{Occasion, START, machine_name};

/// The finalizer of another controller.
const FOREIGN_FINALIZER: &str = "example.com/inventory";

/// Current disturbances.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    /// Until when the API server does not answer.
    pub(super) api_down: Timestamp,
    /// Until when no artefact can be downloaded.
    pub(super) registry_down: Timestamp,
    bucket: Option<Bucket>,
    /// By kind: the lag of its watches, and its end.
    lags: [(Duration, Timestamp); KINDS.len()],
    /// By kind: the contents of the API server's caches, and their time.
    caches: [Vec<(Timestamp, Cache)>; KINDS.len()],
    /// Slow hosts, with the factor by which everything takes longer.
    slow: BTreeMap<u32, u16>,
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
            bucket: None,
            lags: [(Duration::ZERO, START); KINDS.len()],
            caches: Default::default(),
            slow: BTreeMap::new(),
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

    /// How long something takes on a host that would take `length` on a healthy one.
    pub(super) fn slowed(&self, host: u32, length: Duration) -> Duration {
        length * self.slow.get(&host).map_or(1, |factor| u32::from(*factor))
    }
}

impl World {
    pub(super) fn api_down(&mut self, until: Timestamp) {
        self.disturbance.api_down = self.disturbance.api_down.max(until);
        self.note_occasion(Occasion::ApiDown);
    }

    pub(super) fn registry_down(&mut self, until: Timestamp) {
        self.disturbance.registry_down = self.disturbance.registry_down.max(until);
    }

    pub(super) fn throttle(&mut self, per_second: u32, burst: u32, until: Timestamp) {
        let full_at = self.now();
        self.disturbance.bucket = Some(Bucket { per_second, burst, until, full_at });
    }

    /// Watches of a kind deliver nothing until then.
    pub(super) fn hold_watch(&mut self, kind: Kind, until: Timestamp) {
        let table = table(kind);
        self.holds[table] = self.holds[table].max(until);
        self.note_occasion(Occasion::WatchHeld);
    }

    pub(super) fn lag_watch(&mut self, kind: Kind, lag: Duration, until: Timestamp) {
        self.disturbance.lags[table(kind)] = (lag, until);
    }

    /// A cache of the API server keeps the present objects of a kind.
    pub(super) fn cache(&mut self, kind: Kind) {
        let collection = self.api.collection(kind);
        let objects = collection.objects().into_iter().map(Arc::clone).collect();
        let cache = Cache { objects, cursor: collection.cursor() };
        let now = self.now();
        self.disturbance.caches[table(kind)].push((now, cache));
    }

    /// Connects every watch of a kind to the cache of the time `since`, which does not advance until `until`.
    pub(super) fn travel(&mut self, kind: Kind, since: Timestamp, until: Timestamp) {
        let caches = &mut self.disturbance.caches[table(kind)];
        let Some(place) = caches.iter().position(|(at, _)| *at == since) else { return };
        let (_, cache) = caches.swap_remove(place);
        self.note_occasion(Occasion::TimeTravelled);
        self.hold_watch(kind, until);
        self.bind_to_cache(kind, &cache);
    }

    pub(super) fn slow(&mut self, host: u32, factor: u16) {
        if factor > 1 {
            self.note_occasion(Occasion::HostSlowed);
            self.disturbance.slow.insert(host, factor);
        } else {
            self.disturbance.slow.remove(&host);
        }
    }

    pub(super) fn fill(&mut self, host: u32) {
        *self.disturbance.full.entry(host).or_default() += 1;
    }

    pub(super) fn make_room(&mut self, host: u32) {
        if let Some(causes) = self.disturbance.full.get_mut(&host) {
            *causes -= 1;
            if *causes == 0 {
                self.disturbance.full.remove(&host);
            }
        }
    }

    pub(super) fn compact(&mut self) {
        self.api.compact();
        for kind in KINDS {
            self.relist(kind);
        }
    }

    pub(super) fn add_finalizer(&mut self, host: u32) {
        self.change_finalizers(host, |finalizers| finalizers.push(FOREIGN_FINALIZER.into()));
    }

    pub(super) fn drop_finalizer(&mut self, host: u32) {
        self.change_finalizers(host, |finalizers| finalizers.retain(|one| **one != *FOREIGN_FINALIZER));
    }

    pub(super) fn strip_finalizer(&mut self, host: u32) {
        self.change_finalizers(host, |finalizers| finalizers.retain(|one| **one != *FINALIZER));
    }

    /// Another controller changes the finalizers of a Machine. A refusal does not matter: the Machine may be gone, or
    /// take no more finalizers.
    fn change_finalizers(&mut self, host: u32, change: impl FnOnce(&mut Vec<String>)) {
        let (name, now) = (machine_name(host), self.now());
        let written = self.api.update((Kind::Machine, &name), Preconditions::default(), now, |object| {
            change(Arc::make_mut(&mut object.metadata_mut().finalizers));
        });
        if let Ok(written) = written
            && written.committed
        {
            self.note_occasion(Occasion::FinalizersChanged);
            self.committed(&written, Writer::Other);
        }
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
