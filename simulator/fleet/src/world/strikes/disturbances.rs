//! Faults that disturb the API server, its watches and objects, and hosts.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::{Span, Timestamp, word};
use seaworthy_model::id::Kind;
use seaworthy_model::meta::FINALIZER;

use crate::vocabulary::{Occasion, machine_name};
use crate::world::World;
use crate::world::api_server::{KINDS, Preconditions};
use crate::world::disturbance::Cache;
use crate::world::writer::Writer;

/// The finalizer of another controller.
const FOREIGN_FINALIZER: &str = "example.com/inventory";

/// kubelet looks at its disks this often.
const EVICTION_LOOK: Span = Span::millis(100, 10_000);
/// So long after the last look at a full disk kubelet reports that there is room
/// (`--eviction-pressure-transition-period`).
const PRESSURE_LASTS: Duration = Duration::from_secs(300);

impl World {
    pub(in crate::world) fn api_down(&mut self, until: Timestamp) {
        self.disturbance.api_down = self.disturbance.api_down.max(until);
        self.note_occasion(Occasion::ApiDown);
    }

    pub(in crate::world) fn registry_down(&mut self, until: Timestamp) {
        self.disturbance.registry_down = self.disturbance.registry_down.max(until);
    }

    pub(in crate::world) fn metrics_down(&mut self, until: Timestamp) {
        self.disturbance.metrics_down = self.disturbance.metrics_down.max(until);
    }

    pub(in crate::world) fn throttle(&mut self, per_second: u32, burst: u32, until: Timestamp) {
        let now = self.now();
        self.disturbance.throttle(per_second, burst, until, now);
    }

    /// Watches of a kind deliver nothing until then.
    pub(in crate::world) fn hold_watch(&mut self, kind: Kind, until: Timestamp) {
        self.disturbance.hold(kind, until);
        self.note_occasion(Occasion::WatchHeld);
    }

    pub(in crate::world) fn lag_watch(&mut self, kind: Kind, lag: Duration, until: Timestamp) {
        self.disturbance.lag_by(kind, lag, until);
    }

    /// A cache of the API server keeps the present objects of a kind.
    pub(in crate::world) fn cache(&mut self, kind: Kind) {
        let collection = self.api_servers.home().collection(kind);
        let objects = collection.objects().into_iter().map(Arc::clone).collect();
        let cache = Cache { objects, cursor: collection.cursor() };
        let now = self.now();
        self.disturbance.store(kind, now, cache);
    }

    /// Connects every watch of a kind to the cache of the time `since`, which does not advance until `until`.
    pub(in crate::world) fn travel(&mut self, kind: Kind, since: Timestamp, until: Timestamp) {
        let Some(cache) = self.disturbance.take_cache(kind, since) else { return };
        self.note_occasion(Occasion::TimeTravelled);
        self.hold_watch(kind, until);
        self.bind_to_cache(kind, &cache);
    }

    pub(in crate::world) fn fill(&mut self, host: u32) {
        if self.disturbance.fill(host) {
            let delay = self.draws.within(word("full"), u64::from(host), self.now().millis(), EVICTION_LOOK);
            self.pressure_changes(host, true, delay);
        }
    }

    pub(in crate::world) fn make_room(&mut self, host: u32) {
        if self.disturbance.make_room(host) {
            self.pressure_changes(host, false, PRESSURE_LASTS);
        }
    }

    pub(in crate::world) fn compact(&mut self) {
        self.api_servers.home_mut().compact();
        for kind in KINDS {
            self.relist(kind);
        }
    }

    pub(in crate::world) fn add_finalizer(&mut self, host: u32) {
        self.change_finalizers(host, |finalizers| finalizers.push(FOREIGN_FINALIZER.into()));
    }

    pub(in crate::world) fn drop_finalizer(&mut self, host: u32) {
        self.change_finalizers(host, |finalizers| finalizers.retain(|one| **one != *FOREIGN_FINALIZER));
    }

    pub(in crate::world) fn strip_finalizer(&mut self, host: u32) {
        self.change_finalizers(host, |finalizers| finalizers.retain(|one| **one != *FINALIZER));
    }

    /// Another controller changes the finalizers of a Machine. A refusal does not matter: the Machine may be gone, or
    /// take no more finalizers.
    fn change_finalizers(&mut self, host: u32, change: impl FnOnce(&mut Vec<String>)) {
        let (name, now) = (machine_name(host), self.now());
        let written = self.api_servers.home_mut().update(
            (Kind::Machine, &name),
            Preconditions::default(),
            now,
            |object| {
                change(Arc::make_mut(&mut object.metadata_mut().finalizers));
            },
        );
        if let Ok(written) = written
            && written.committed
        {
            self.note_occasion(Occasion::FinalizersChanged);
            self.committed(&written, Writer::Other);
        }
    }
}
